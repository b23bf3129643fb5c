/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* osc_cached_advise: what a cache would do, against what one does. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "osc_cached_advise.h"
#include "osc_cached_test_random.h"

#define PLENTY 0x1p40

static osc_cached_advise_t *advise;
static double sums[OSC_CACHED_ADVISE_SUMS];

static int make(void **state)
{
    (void) state;
    advise = osc_cached_advise_create(&osc_cached_alloc_default, 1);
    return NULL == advise;
}

static int destroy(void **state)
{
    (void) state;
    osc_cached_advise_destroy(advise);
    return 0;
}

/* A get of some bytes, with these at the target. */
static void get(int target, uint64_t address, uint32_t bytes, uint64_t content)
{
    uint64_t hash = osc_cached_advise_hash(target, address);

    if (osc_cached_advise_count(advise, hash, target)) {
        osc_cached_advise_get(advise, hash, target, bytes);
        osc_cached_advise_compare(advise, hash, target, bytes, content);
    }
}

/* The end of a batch. */
static void synchronise(uint64_t ns)
{
    if (advise->timing && 0 < advise->batch_gets) {
        osc_cached_advise_measured(advise, ns);
    } else {
        (void) osc_cached_advise_pass(advise);
    }
}

static osc_cached_prediction_t predict(osc_cached_advise_life_t life, double memory)
{
    osc_cached_advise_read(advise, sums);
    return osc_cached_advise_predict(sums, life, memory);
}

static void near_to(double value, double wanted, double off)
{
    if (!(fabs(value - wanted) <= off)) {
        print_error("%g is not %g\n", value, wanted);
        fail();
    }
}

static void test_no_memory(void **state)
{
    (void) state;
    osc_cached_advise_destroy(NULL);
    osc_cached_advise_read(advise, sums);
    near_to(osc_cached_advise_repeated(sums), 1, 0); /* of nothing */
    near_to(predict(OSC_CACHED_ADVISE_ALWAYS, PLENTY).saving_ns, 0, 0);
    near_to(osc_cached_advise_get_ns(sums), 0, 0);
}

/* Few keys: exact, and data that needs more memory than there is does not come again in time. */
static void test_sweeps(void **state)
{
    enum { PLACES = 500, ROUNDS = 10, BYTES = 256 };
    double all = PLACES * (BYTES + OSC_CACHED_ADVISE_ENTRY);

    (void) state;
    for (int round = 0; round < ROUNDS; ++round) {
        for (uint64_t i = 0; i < PLACES; ++i) {
            get(1, i * BYTES, BYTES, i);
        }
    }
    assert_true(osc_cached_advise_verify(advise));
    near_to(predict(OSC_CACHED_ADVISE_ALWAYS, PLENTY).hit_rate, 0.9, 1e-9);
    near_to(predict(OSC_CACHED_ADVISE_ALWAYS, 1.5 * all).hit_rate, 0.9, 1e-9);
    near_to(predict(OSC_CACHED_ADVISE_ALWAYS, 0.9 * all).hit_rate, 0, 1e-9);
    near_to(predict(OSC_CACHED_ADVISE_TRANSPARENT, PLENTY).hit_rate, 0, 1e-9);
    assert_in_range((uint64_t) predict(OSC_CACHED_ADVISE_ALWAYS, PLENTY).memory, (uint64_t) all,
                    (uint64_t) (1.5 * all));
    assert_int_equal((int) sums[OSC_CACHED_ADVISE_CHECKED + OSC_CACHED_ADVISE_ALWAYS],
                     (ROUNDS - 1) * PLACES);
    assert_int_equal((int) sums[OSC_CACHED_ADVISE_DIFFERED + OSC_CACHED_ADVISE_ALWAYS], 0);
}

/* More keys than are followed, at random, and one of them half of the time: the sample says what a
 * model that follows all of them says. */
static void test_sample(void **state)
{
    enum { PLACES = 100000, GETS = 500000 };
    static uint8_t seen[PLACES];
    uint64_t random = seed_get(18), hits = 0;

    (void) state;
    memset(seen, 0, sizeof(seen));
    for (int i = 0; i < GETS; ++i) {
        uint32_t place = (0 == random_below(&random, 2)) ? 77 : random_below(&random, PLACES);

        hits += seen[place];
        seen[place] = 1;
        get((int) place % 3, (uint64_t) place * 64, 64, 0);
    }
    assert_true(0 < advise->mask);
    assert_true(osc_cached_advise_verify(advise));
    near_to(predict(OSC_CACHED_ADVISE_ALWAYS, PLENTY).hit_rate, (double) hits / GETS, 0.01);
    near_to(osc_cached_advise_repeated(sums), (double) hits / GETS, 0.01);
    near_to(sums[OSC_CACHED_ADVISE_MEMORY]
                / ((double) (GETS - hits) * (64.0 + OSC_CACHED_ADVISE_ENTRY)),
            1, 0.1);
    /* the one is a hit with next to no memory, the others are not: reuse is 100,000 keys apart */
    near_to(predict(OSC_CACHED_ADVISE_ALWAYS, 65536).hit_rate, 0.5, 0.02);
}

/* Gets that take less than what is worth a cache are watched now and then, and counted all. */
static void test_rest(void **state)
{
    enum { GETS = 300000 };

    (void) state;
    for (int cheap = 0; cheap < 3; ++cheap) { /* nothing is, 300 ns are not, 150 ns are */
        uint64_t watched = 0;

        if (0 < cheap) {
            osc_cached_advise_destroy(advise);
            assert_int_equal(0, make(state));
        }
        advise->cheap_ns = (0 == cheap) ? 0 : 200;
        for (uint64_t i = 0; i < GETS; ++i) {
            if (!osc_cached_advise_rests(advise)) {
                ++watched;
                get(1, i % 100 * 64, 64, 0);
                if (advise->timing) {
                    osc_cached_advise_issued(advise, 64, 100);
                }
            }
            synchronise((1 == cheap) ? 200 : 50);
            synchronise(1000); /* of no gets */
        }
        assert_true(osc_cached_advise_verify(advise));
        assert_in_range(watched, (2 == cheap) ? 64 : GETS, (2 == cheap) ? GETS / 50 : GETS);
        near_to(predict(OSC_CACHED_ADVISE_ALWAYS, PLENTY).total_ns,
                GETS * ((1 == cheap) ? 300.0 : 150.0), GETS * ((2 == cheap) ? 3.0 : 1.0));
        near_to(sums[OSC_CACHED_ADVISE_GETS], GETS, (2 == cheap) ? GETS / 50 : 0);
        /* first gets are taken to be as frequent later as in the beginning */
        near_to(osc_cached_advise_repeated(sums), 1, (2 == cheap) ? 0.25 : 0.01);
    }
}

/* Less than one get of 32 may be followed in the long run, or what is asked of large ones. */
static void test_work(void **state)
{
    enum { GETS = 1000000 };
    uint64_t followed = 0, random = seed_get(19);

    (void) state;
    for (int i = 0; i < GETS; ++i) {
        uint64_t hash = osc_cached_advise_hash(0, random_below(&random, 1000));

        if (osc_cached_advise_count(advise, hash, 0)) {
            osc_cached_advise_get(advise, hash, 0, 4096);
            ++followed;
        }
    }
    assert_true(followed < GETS / 32);
    near_to(predict(OSC_CACHED_ADVISE_ALWAYS, PLENTY).hit_rate, 1, 0.01);
}

static void test_lives(void **state)
{
    static const double wanted[OSC_CACHED_ADVISE_LIVES] = {
        /* of 6 gets of one key, after the first: */
        [OSC_CACHED_ADVISE_REPEATS] = 5 / 6.0,
        [OSC_CACHED_ADVISE_ALWAYS] = 4 / 6.0,      /* not after the own write */
        [OSC_CACHED_ADVISE_USER] = 3 / 6.0,        /* nor after the invalidation */
        [OSC_CACHED_ADVISE_TRANSPARENT] = 1 / 6.0, /* in the second fence epoch alone */
    };

    (void) state;
    get(1, 64, 8, 0); /* passive */
    get(1, 64, 8, 0);
    advise->epoch = 1;
    osc_cached_advise_written(advise, 1, false);
    osc_cached_advise_written(advise, 2, true); /* has nothing to do with it */
    get(1, 64, 8, 1);
    get(1, 64, 8, 1);
    advise->epoch = 2;
    get(1, 64, 4, 2); /* fewer bytes are there, too */
    osc_cached_advise_invalidated(advise);
    advise->epoch = 3;
    get(1, 64, 8, 2);
    for (int life = 0; life < OSC_CACHED_ADVISE_LIVES; ++life) {
        osc_cached_advise_read(advise, sums);
        sums[OSC_CACHED_ADVISE_DIFFERED + OSC_CACHED_ADVISE_REPEATS] = 0;
        near_to(osc_cached_advise_predict(sums, (osc_cached_advise_life_t) life, PLENTY).hit_rate,
                wanted[life], 1e-9);
    }
    osc_cached_advise_read(advise, sums);
    assert_int_equal((int) sums[OSC_CACHED_ADVISE_INVALIDATIONS], 1);
    assert_int_equal((int) sums[OSC_CACHED_ADVISE_ATOMICS], 1);
}

/* More bytes than before are not a hit, the same again are. */
static void test_longer(void **state)
{
    (void) state;
    get(1, 64, 8, 0);
    get(1, 64, 16, 0);
    get(1, 64, 16, 0);
    get(1, 64, 8, 0);
    near_to(predict(OSC_CACHED_ADVISE_ALWAYS, PLENTY).hit_rate, 0.5, 1e-9);
    assert_true(osc_cached_advise_verify(advise));
}

static void test_compare(void **state)
{
    (void) state;
    get(1, 64, 8, 1);
    get(1, 64, 8, 2); /* somebody has written it */
    osc_cached_advise_written(advise, 1, false);
    get(1, 64, 8, 3); /* we have */
    osc_cached_advise_invalidated(advise);
    get(1, 64, 8, 4); /* the program knows */
    get(1, 64, 8, 4);
    get(1, 64, 4, 5); /* another length */
    osc_cached_advise_read(advise, sums);
    assert_int_equal((int) sums[OSC_CACHED_ADVISE_CHECKED + OSC_CACHED_ADVISE_REPEATS], 4);
    assert_int_equal((int) sums[OSC_CACHED_ADVISE_DIFFERED + OSC_CACHED_ADVISE_REPEATS], 3);
    assert_int_equal((int) sums[OSC_CACHED_ADVISE_CHECKED + OSC_CACHED_ADVISE_ALWAYS], 3);
    assert_int_equal((int) sums[OSC_CACHED_ADVISE_DIFFERED + OSC_CACHED_ADVISE_ALWAYS], 2);
    assert_int_equal((int) sums[OSC_CACHED_ADVISE_CHECKED + OSC_CACHED_ADVISE_USER], 2);
    assert_int_equal((int) sums[OSC_CACHED_ADVISE_DIFFERED + OSC_CACHED_ADVISE_USER], 1);
    assert_int_equal((int) sums[OSC_CACHED_ADVISE_CHECKED + OSC_CACHED_ADVISE_TRANSPARENT], 0);
    /* a get of a key that is not followed any more */
    osc_cached_advise_compare(advise, osc_cached_advise_hash(1, 12345), 1, 8, 0);
}

/* Every byte counts, and so does their number. */
static void test_checksum(void **state)
{
    char data[300];

    (void) state;
    memset(data, 0, sizeof(data));
    for (size_t bytes = 1; bytes < sizeof(data); ++bytes) {
        uint64_t before = osc_cached_advise_checksum(data, bytes);

        assert_int_equal(before, osc_cached_advise_checksum(data, bytes));
        assert_int_not_equal(before, osc_cached_advise_checksum(data, bytes - 1));
        for (size_t i = 0; i < bytes; ++i) {
            data[i] ^= 64;
            assert_int_not_equal(before, osc_cached_advise_checksum(data, bytes));
            data[i] ^= 64;
        }
    }
}

/* Gets that take 1 us each and flushes that take a latency and something for each get: what a cache
 * is predicted to save against what it saves in this model. */
static void save_of(uint32_t batch, uint32_t places, uint64_t latency, uint64_t each)
{
    enum { BATCHES = 20000, CALL = 1000 };
    static uint8_t seen[65536];
    uint64_t random = seed_get(20), before = 0, after = 0;

    memset(seen, 0, sizeof(seen));
    for (int i = 0; i < BATCHES; ++i) {
        uint32_t gets = 1 + random_below(&random, 2 * batch - 1), misses = 0;

        for (uint32_t k = 0; k < gets; ++k) {
            uint32_t place = random_below(&random, places);

            misses += !seen[place];
            seen[place] = 1;
            get(1, (uint64_t) place * 64, 64, 0);
            if (advise->timing) {
                osc_cached_advise_issued(advise, 64, CALL);
            }
        }
        synchronise(latency + gets * each);
        before += gets * CALL + latency + gets * each;
        after += misses * CALL + ((0 < misses) ? latency + misses * each : 0);
    }
    near_to(predict(OSC_CACHED_ADVISE_ALWAYS, PLENTY).total_ns / (double) before, 1, 0.05);
    near_to(predict(OSC_CACHED_ADVISE_ALWAYS, PLENTY).saving_ns / (double) (before - after), 1,
            0.1);
    near_to(osc_cached_advise_get_ns(sums) * sums[OSC_CACHED_ADVISE_GETS] / (double) before, 1,
            0.05);
}

static void test_single_gets(void **state)
{
    (void) state;
    save_of(1, 5000, 15000, 0);
}

static void test_batches(void **state)
{
    (void) state;
    save_of(16, 65536, 15000, 2000);
}

static void test_batches_that_wait(void **state)
{
    (void) state;
    save_of(16, 20000, 50000, 0);
}

/* Nothing was asked for twice: a cache costs something. */
static void test_no_reuse(void **state)
{
    (void) state;
    for (uint64_t i = 0; i < 100000; ++i) {
        get(1, i * 64, 64, 0);
        if (advise->timing) {
            osc_cached_advise_issued(advise, 64, 1000);
        }
        synchronise(10000);
    }
    near_to(predict(OSC_CACHED_ADVISE_ALWAYS, PLENTY).hit_rate, 0, 0.02);
    near_to(osc_cached_advise_repeated(sums), 0, 0.02);
    assert_true(predict(OSC_CACHED_ADVISE_ALWAYS, PLENTY).saving_ns
                < 0.02 * predict(OSC_CACHED_ADVISE_ALWAYS, PLENTY).total_ns);
    synchronise(10000); /* without gets it is none */
    osc_cached_advise_read(advise, sums);
    assert_int_equal((int) sums[OSC_CACHED_ADVISE_BATCHES], 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_no_memory, make, destroy),
        cmocka_unit_test_setup_teardown(test_sweeps, make, destroy),
        cmocka_unit_test_setup_teardown(test_sample, make, destroy),
        cmocka_unit_test_setup_teardown(test_work, make, destroy),
        cmocka_unit_test_setup_teardown(test_rest, make, destroy),
        cmocka_unit_test_setup_teardown(test_lives, make, destroy),
        cmocka_unit_test_setup_teardown(test_longer, make, destroy),
        cmocka_unit_test_setup_teardown(test_compare, make, destroy),
        cmocka_unit_test_setup_teardown(test_checksum, make, destroy),
        cmocka_unit_test_setup_teardown(test_single_gets, make, destroy),
        cmocka_unit_test_setup_teardown(test_batches, make, destroy),
        cmocka_unit_test_setup_teardown(test_batches_that_wait, make, destroy),
        cmocka_unit_test_setup_teardown(test_no_reuse, make, destroy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
