/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * The policies and the sequences of gets of bench/micro, against hand-worked ones: a letter is a
 * datum, of so many units as sizes says (1 where it says nothing), and 1 is a hit.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "policy_belady.h"
#include "policy_lru.h"
#include "policy_s3fifo.h"
#include "policy_sieve.h"
#include "policy_wtinylfu.h"

#include <unistd.h>

typedef void policy_fn_t(const struct gets *gets, uint64_t capacity, bool *hit);

static void expect(policy_fn_t *policy, uint64_t capacity, const char *sizes, const char *letters,
                   const char *hits)
{
    struct gets gets = {0};
    char seen[128];
    bool *hit;

    for (const char *c = letters; '\0' != *c; ++c) {
        const char *size = strchr(sizes, *c);

        gets_add(&gets, (uint64_t) *c, NULL == size ? 1 : strtoul(size + 1, NULL, 10));
    }
    gets_number(&gets);
    (void) gets_measure(&gets, 1);
    hit = gets_memory((size_t) gets.num, sizeof(hit[0]));
    policy(&gets, capacity, hit);
    assert_true((size_t) gets.num < sizeof(seen));
    for (long i = 0; i < gets.num; ++i) {
        seen[i] = hit[i] ? '1' : '0';
    }
    seen[gets.num] = '\0';
    assert_string_equal(hits, seen);
    free(hit);
    gets_free(&gets);
}

static void test_lru(void **state)
{
    (void) state;
    expect(policy_lru, 2, "", "abacba", "001000");
    /* c lets a go, a lets c go, c lets b go */
    expect(policy_lru, 3, "c2", "abcbac", "000100");
    expect(policy_lru, 1, "b2", "abab", "0010");
}

static void test_sieve(void **state)
{
    (void) state;
    /* d: a is spared, b leaves. b: c leaves. e: d is spared, b leaves. b: from the tail again, a is
     * spared, d leaves */
    expect(policy_sieve, 3, "", "abcadbadebad", "000100110010");
    /* c needs two: a is spared, b leaves; then, from the tail again, a leaves */
    expect(policy_sieve, 2, "c2", "abacab", "001000");
    expect(policy_sieve, 1, "b2", "abab", "0010");
}

static void test_s3fifo(void **state)
{
    (void) state;
    /* Small queue 1, ghosts 9.
     *   k: a leaves      a: a ghost, to main; b leaves      l: c, with two hits, to main; d leaves
     *   b, d: ghosts; e, f leave      m: g, with two hits, to main; h leaves
     *   h, i: ghosts; i, j leave      n: k leaves      j, k, l: ghosts; l, m, n leave
     *   o: nothing is small, a leaves main      p: o leaves      a: no ghost; p leaves
     *   o: a ghost; a leaves      q: c goes round, b leaves */
    expect(policy_s3fifo, 10, "", "abcdefghijccgkalcbdgmhinjklopacoqcb",
           "00000000001110001001000000000010010");
    /* the only small one leaves for one that needs all */
    expect(policy_s3fifo, 2, "b2", "abba", "0010");
    expect(policy_s3fifo, 1, "b2", "abab", "0010");
}

static void test_wtinylfu(void **state)
{
    (void) state;
    /* No window. d is once as much as b, which stays; twice is more. b, twice, is more than c. c,
     * twice, is not more than d. */
    expect(policy_wtinylfu, 3, "", "abcaddbcd", "000100001");
    /* as often as a and b together is not enough */
    expect(policy_wtinylfu, 3, "d2", "abcdddd", "0000001");
    /* A window of 2: d drives out b, which is not more than a; b then drives out d. */
    expect(policy_wtinylfu, 200, "a198", "abcdcba", "0000101");
    /* larger than the main part, and than all of it */
    expect(policy_wtinylfu, 100, "a100b101", "aabbc", "00000");
    /* Four may be protected: with a, b goes back to probation, and leaves for f, got more often. */
    expect(policy_wtinylfu, 5, "", "abcdebcdeaafffffab", "000001111110001110");
}

static void test_sketch(void **state)
{
    struct policy_sketch sketch = sketch_create(9); /* halved after 100 */

    (void) state;
    assert_int_equal(100, sketch.period);
    for (int i = 0; i < 20; ++i) {
        assert_int_equal(i < 15 ? i : 15, sketch_estimate(&sketch, 7));
        sketch_add(&sketch, 7);
    }
    for (int i = 20; i < 99; ++i) {
        sketch_add(&sketch, 7);
    }
    assert_int_equal(15, sketch_estimate(&sketch, 7));
    sketch_add(&sketch, 7);
    assert_int_equal(7, sketch_estimate(&sketch, 7));
    assert_int_equal(50, sketch.counted);
    free(sketch.count);
}

static void test_belady(void **state)
{
    (void) state;
    /* c comes last and is not kept */
    expect(policy_belady, 2, "", "abcabc", "000110");
    expect(policy_belady_by_size, 2, "", "abcabc", "000110");
    /* b comes after a, but a is three times as large */
    expect(policy_belady, 3, "a3", "abab", "0010");
    expect(policy_belady_by_size, 3, "a3", "abab", "0001");
    expect(policy_belady, 1, "b2", "abab", "0010");
}

static void test_upper_bound(void **state)
{
    (void) state;
    expect(policy_upper_bound, 1, "", "aabb", "0101");
    /* more than can be had: 4 units of storage times gets are 2 for each */
    expect(policy_upper_bound, 1, "", "abab", "0011");
    /* areas of 4, 2 and 3 in 6 */
    expect(policy_upper_bound, 1, "", "abcbac", "000101");
    expect(policy_upper_bound, 1, "b2", "bb", "00");
}

static void test_numbers(void **state)
{
    static const uint64_t addresses[] = {300, 100, 300, 200, 100};
    static const uint32_t bytes[] = {17, 1, 5, 16, 33}, data[] = {2, 0, 2, 1, 0};
    static const long next[] = {2, 4, 5, 5, 5};
    struct gets gets = {0};

    (void) state;
    for (int i = 0; i < 5; ++i) {
        gets_add(&gets, addresses[i], bytes[i]);
    }
    gets_number(&gets);
    assert_int_equal(3, gets.num_data);
    for (int i = 0; i < 5; ++i) {
        assert_int_equal(data[i], gets.get[i].datum);
        assert_int_equal(next[i], gets.get[i].next);
    }
    assert_int_equal(3 + 1 + 2, gets_measure(&gets, 16));
    assert_int_equal(3, gets.size[0]);
    gets_free(&gets);
}

static void test_trace(void **state)
{
    /* of rank 9: without it the random name might begin with the number of another one */
    char name[] = "/tmp/gets.XXXXXX.9";
    char text[] = "# osc_cached trace 1\n"
                  "# time_ns window target address bytes outcome\n"
                  "1 0 1 8 100 direct\n"
                  "2 1 2 16 90 direct\n"
                  "3 1 2 16 90 hit\n"
                  "4 1 1 24 0 direct\n";
    int file = mkstemps(name, 2);
    struct gets gets = {0};

    (void) state;
    assert_true(0 <= file);
    assert_int_equal(sizeof(text) - 1, write(file, text, sizeof(text) - 1));
    assert_int_equal(0, close(file));
    gets_read(&gets, name); /* of window 1 the most is read */
    assert_int_equal(2, gets.num);
    assert_true((UINT64_C(2) << 48 | 16) == gets.get[1].address);
    assert_int_equal(90, gets.get[1].bytes);
    assert_int_equal(0, unlink(name));
    gets_free(&gets);
}

/* The same each time, and of the right kind. */
static void test_made(void **state)
{
    char list[] = GETS_MADE_ALL, *end = list;

    (void) state;
    for (char *name = strtok_r(list, ",", &end); NULL != name; name = strtok_r(NULL, ",", &end)) {
        struct gets gets = {0}, again = {0};

        gets_make(&gets, name);
        gets_make(&again, name);
        assert_int_equal(gets.num, again.num);
        for (long i = 0; i < gets.num; ++i) {
            assert_true(gets.get[i].address == again.get[i].address);
            assert_int_equal(gets.get[i].bytes, again.get[i].bytes);
            assert_in_range(gets.get[i].bytes, 0 == strcmp(name, "paper") ? 1 : 8, 65536);
        }
        gets_number(&gets);
        if (0 == strcmp(name, "moving")) {
            assert_int_equal(4 * gets.num_data, gets.num);
        }
        if (0 == strcmp(name, "loop")) { /* every second get is of one that was not got for long */
            assert_int_equal(gets.get[1].datum, gets.get[8001].datum);
            assert_int_equal(8001, gets.get[1].next);
        }
        gets_free(&gets);
        gets_free(&again);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lru),         cmocka_unit_test(test_sieve),
        cmocka_unit_test(test_s3fifo),      cmocka_unit_test(test_wtinylfu),
        cmocka_unit_test(test_sketch),      cmocka_unit_test(test_belady),
        cmocka_unit_test(test_upper_bound), cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_trace),       cmocka_unit_test(test_made),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
