/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_peers: against an array by rank; strides; an allocator that fails; peers that are
 * added while others are visited; how many bytes a window takes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_peers.h"
#include "osc_cached_test_random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Counts what is in use, checks that sizes come back, fails from the Nth request on. */
typedef struct {
    size_t bytes;
    size_t requests;
    size_t fail_from; /* 0: never */
} count_t;

static void *count_alloc(void *context, size_t alignment, size_t bytes)
{
    count_t *count = context;
    size_t *memory;

    ++count->requests;
    if (0 < count->fail_from && count->fail_from <= count->requests) {
        return NULL;
    }
    assert_true(alignment <= 64);
    memory = osc_cached_alloc_default.alloc(NULL, 64, 64 + bytes);
    assert_non_null(memory);
    memory[0] = bytes;
    memset((char *) memory + 64, 0xa5, bytes);
    count->bytes += bytes;
    return (char *) memory + 64;
}

static void count_free(void *context, void *memory, size_t bytes)
{
    count_t *count = context;

    if (NULL != memory) {
        assert_int_equal(bytes, *(size_t *) ((char *) memory - 64));
        count->bytes -= bytes;
        free((char *) memory - 64);
    }
}

static void test_model(void **state)
{
    enum { RANKS = 3000 };
    static osc_cached_peer_t *model[RANKS];
    uint64_t random = seed_get(1);
    uint32_t used = 0;
    count_t count = {0};
    osc_cached_peers_t peers;
    osc_cached_alloc_t alloc = {count_alloc, count_free, &count};

    (void) state;
    osc_cached_peers_create(&peers, RANKS, &alloc);
    memset(model, 0, sizeof(model));
    for (int step = 0; step < 20000; ++step) {
        int rank = (int) random_below(&random, 1 + random_below(&random, RANKS));
        osc_cached_peer_t *peer = osc_cached_peers_find(&peers, rank);

        assert_ptr_equal((NULL == model[rank]) ? &osc_cached_nobody : model[rank], peer);
        assert_ptr_equal(peer, osc_cached_peers_find_again(&peers, rank));
        if (0 == random_below(&random, 3)) {
            peer = osc_cached_peers_add(&peers, rank);
            assert_int_equal(rank, peer->rank);
            if (NULL == model[rank]) {
                osc_cached_peer_t fresh = {.rank = rank, .profit = OSC_CACHED_PROFIT_START};

                assert_memory_equal(&fresh, peer, sizeof(fresh));
                assert_int_equal(0, (uintptr_t) peer % 64);
                peer->issued = (uint64_t) step + 1;
                model[rank] = peer;
                ++used;
            }
            assert_ptr_equal(model[rank], peer);
            assert_true(0 < peer->issued);
            assert_ptr_equal(peer, osc_cached_peers_find_again(&peers, rank));
        }
        assert_int_equal(used, peers.num_peers);
        assert_int_equal(0, (0 == step % 16) ? osc_cached_peers_verify(&peers) : 0);
    }
    assert_false(peers.lacking);
    osc_cached_peers_destroy(&peers);
    assert_int_equal(0, count.bytes);
}

/* Ranks that no target has are never found. */
static void test_nobody(void **state)
{
    static const int ranks[] = {-1, -2, -32766, INT32_MIN + 1};
    count_t count = {0};
    osc_cached_alloc_t alloc = {count_alloc, count_free, &count};
    osc_cached_peers_t peers;
    osc_cached_peers_place_t place = {0};

    (void) state;
    osc_cached_peers_create(&peers, 100, &alloc);
    assert_null(osc_cached_peers_next(&peers, &place));
    for (int added = 0; added < 100; ++added) {
        for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); ++i) {
            assert_true(osc_cached_is_nobody(osc_cached_peers_find(&peers, ranks[i])));
            assert_true(osc_cached_is_nobody(osc_cached_peers_find_again(&peers, ranks[i])));
        }
        assert_false(osc_cached_is_nobody(osc_cached_peers_add(&peers, added)));
    }
    /* a rank that does not exist has no place either */
    assert_true(osc_cached_is_nobody(osc_cached_peers_add(&peers, 100)));
    assert_true(peers.lacking);
    osc_cached_peers_destroy(&peers);
}

/* Of all strides, a search looks at few slots: neighbours, rows, columns, nodes. */
static void test_strides(void **state)
{
    static const int strides[] = {1,   2,   3,   7,    13,   48,   55,   64,   100,
                                  128, 144, 377, 1000, 1024, 1597, 4096, 4181, 65536};

    uint64_t all_steps = 0, all_used = 0;

    (void) state;
    for (size_t i = 0; i < sizeof(strides) / sizeof(strides[0]); ++i) {
        for (uint32_t used = 1; used < 1024; used = 2 * used + 1) {
            count_t count = {0};
            osc_cached_alloc_t alloc = {count_alloc, count_free, &count};
            osc_cached_peers_t peers;
            uint64_t steps = 0;

            osc_cached_peers_create(&peers, 1 << 30, &alloc);
            for (uint32_t k = 0; k < used; ++k) {
                (void) osc_cached_peers_add(&peers, (int) k * strides[i]);
            }
            assert_int_equal(0, osc_cached_peers_verify(&peers));
            for (uint32_t k = 0; k < used; ++k) {
                int rank = (int) k * strides[i];
                uint32_t hash = osc_cached_peers_hash(rank), slot = hash >> peers.shift;

                for (; rank != peers.slots[slot]->rank; ++steps) {
                    slot = osc_cached_peers_next_slot(&peers, hash, slot);
                }
            }
            assert_true(steps <= 4 * used);
            all_steps += steps;
            all_used += used;
            osc_cached_peers_destroy(&peers);
        }
    }
    /* at random it would be as many: load 1/2 */
    assert_true(2 * all_steps <= all_used);
}

/* Memory ends with the Nth request, and is there again later. */
static void test_failing_allocations(void **state)
{
    enum { RANKS = 300 };

    (void) state;
    for (size_t fail_from = 1; fail_from < 20; ++fail_from) {
        count_t count = {.fail_from = fail_from};
        osc_cached_alloc_t alloc = {count_alloc, count_free, &count};
        osc_cached_peers_t peers;
        uint32_t used = 0;

        osc_cached_peers_create(&peers, RANKS, &alloc);
        for (int rank = 0; rank < RANKS; ++rank) {
            osc_cached_peer_t *peer = osc_cached_peers_add(&peers, rank);

            used += !osc_cached_is_nobody(peer);
            assert_ptr_equal(peer, osc_cached_peers_find(&peers, rank));
            assert_int_equal((int) used <= rank, peers.lacking);
            assert_int_equal(0, osc_cached_peers_verify(&peers));
        }
        assert_int_equal(used, peers.num_peers);
        count.fail_from = 0;
        for (int rank = RANKS - 1; 0 <= rank; --rank) {
            assert_int_equal(rank, osc_cached_peers_add(&peers, rank)->rank);
        }
        assert_int_equal(RANKS, peers.num_peers);
        assert_int_equal(0, osc_cached_peers_verify(&peers));
        osc_cached_peers_destroy(&peers);
        assert_int_equal(0, count.bytes);
    }
}

static void test_visit(void **state)
{
    count_t count = {0};
    osc_cached_alloc_t alloc = {count_alloc, count_free, &count};
    osc_cached_peers_t peers;
    osc_cached_peers_place_t place = {0};
    osc_cached_peer_t *peer;
    int next = 0;

    (void) state;
    osc_cached_peers_create(&peers, 2000, &alloc);
    for (int i = 0; i < 600; ++i) {
        (void) osc_cached_peers_add(&peers, 3 * i);
    }
    while (NULL != (peer = osc_cached_peers_next(&peers, &place))) {
        assert_int_equal(3 * next, peer->rank);
        if (0 == next % 100) {
            (void) osc_cached_peers_add(&peers, 3 * (int) peers.num_peers);
        }
        ++next;
    }
    assert_int_equal(606 + 1, next);
    assert_null(osc_cached_peers_next(&peers, &place));
    osc_cached_peers_destroy(&peers);
}

/* What README.md says. */
static char *read_readme(void)
{
    size_t room = 1 << 20;
    FILE *file = fopen(README, "r");
    char *text;

    assert_non_null(file);
    text = calloc(1, room);
    assert_non_null(text);
    assert_true(fread(text, 1, room - 1, file) < room - 1);
    fclose(file);
    return text;
}

/* Append " 1,234,567 |". */
static void append_number(char *line, size_t room, size_t number)
{
    char digits[32];
    int count = snprintf(digits, sizeof(digits), "%zu", number);
    size_t end = strlen(line);

    assert_true(end + 50 < room);
    line[end++] = ' ';
    for (int i = 0; i < count; ++i) {
        if (0 < i && 0 == (count - i) % 3) {
            line[end++] = ',';
        }
        line[end++] = digits[i];
    }
    strcpy(line + end, " |");
}

/* The table of README.md. */
static void test_bytes(void **state)
{
    char *readme = read_readme();

    (void) state;
    print_message("bytes of the targets of a window\n%10s %10s %10s %12s\n", "ranks", "1 used",
                  "16 used", "all used");
    for (uint32_t ranks = 100; ranks <= 1000000; ranks *= 10) {
        uint32_t uses[] = {1, 16, ranks};
        size_t bytes[3];
        char line[256] = "\n|";

        for (int i = 0; i < 3; ++i) {
            count_t count = {0};
            osc_cached_alloc_t alloc = {count_alloc, count_free, &count};
            osc_cached_peers_t peers;

            osc_cached_peers_create(&peers, ranks, &alloc);
            assert_int_equal(0, count.bytes);
            for (uint32_t k = 0; k < uses[i]; ++k) {
                (void) osc_cached_peers_add(&peers, (int) (k * (ranks / uses[i])));
            }
            assert_int_equal(uses[i], peers.num_peers);
            bytes[i] = sizeof(peers) + count.bytes;
            osc_cached_peers_destroy(&peers);
        }
        print_message("%10u %10zu %10zu %12zu\n", (unsigned) ranks, bytes[0], bytes[1], bytes[2]);
        append_number(line, sizeof(line), ranks);
        for (int i = 0; i < 3; ++i) {
            append_number(line, sizeof(line), bytes[i]);
        }
        if (NULL == strstr(readme, line)) {
            fail_msg("README.md has no line %s", line + 1);
        }
        assert_true(bytes[0] <= 512);
        assert_true(bytes[1] <= 5000);
        assert_true(bytes[2] <= 160 * (size_t) ranks + 512);
    }
    free(readme);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),   cmocka_unit_test(test_nobody),
        cmocka_unit_test(test_strides), cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_visit),   cmocka_unit_test(test_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
