/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether caching pays: what is believed of measured times, and what is decided from it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "osc_cached_profit.h"

static const osc_cached_profit_costs_t costs = {.hit_ns = 50, .miss_ns = 100, .copy_ns = 50};

static uint64_t random_state = 20261115;

static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t) (random_state >> 33) % limit;
}

/* A process that loses its core makes some gets a thousand times longer. */
static void test_outliers_do_not_spoil_it(void **state)
{
    osc_cached_profit_t profit = OSC_CACHED_PROFIT_START;

    (void) state;
    for (int i = 0; i < 100000; ++i) {
        uint64_t ns = 20000 + random_below(2000);
        osc_cached_profit_timed(&profit, (0 == random_below(10)) ? 1000 * ns : ns);
    }
    assert_in_range(profit.get_ns, 19000, 24000);
}

/* The first get to a target makes the connection, which may take seconds. */
static void test_first_get_does_not_count(void **state)
{
    osc_cached_profit_t profit = OSC_CACHED_PROFIT_START;

    (void) state;
    osc_cached_profit_timed(&profit, UINT64_C(14000000));
    for (int i = 1; i < OSC_CACHED_PROFIT_TIMED; ++i) {
        osc_cached_profit_timed(&profit, 20000 + i);
    }
    assert_int_equal(20001, profit.get_ns);
}

/* What waits for another get saves the real one, and costs what a miss costs. */
static void test_joins(void **state)
{
    const osc_cached_profit_costs_t ours = {.hit_ns = 50, .miss_ns = 200, .copy_ns = 100};
    osc_cached_profit_t profit = OSC_CACHED_PROFIT_START;

    (void) state;
    osc_cached_profit_timed(&profit, 1000);
    for (int i = 0; i < 100; ++i) {
        (void) osc_cached_profit_count(&profit, i < 10);
        if (10 <= i) {
            osc_cached_profit_joined(&profit);
        }
    }
    assert_int_equal(10 * 950 + 90 * 700, osc_cached_profit_saved(&profit, &ours));
    profit.get_ns = 250;
    assert_int_equal(10 * 200, osc_cached_profit_saved(&profit, &ours));
    profit.get_ns = 0;
    assert_int_equal(0, osc_cached_profit_saved(&profit, &ours));
    for (int i = 0; i < 70000; ++i) { /* does not wrap */
        (void) osc_cached_profit_count(&profit, false);
        osc_cached_profit_joined(&profit);
    }
    profit.get_ns = 1000;
    assert_int_equal(10 * 950 + 65535 * UINT64_C(700), osc_cached_profit_saved(&profit, &ours));
    osc_cached_profit_decide(&profit, &ours);
    assert_int_equal(0, osc_cached_profit_saved(&profit, &ours));
    assert_int_equal(OSC_CACHED_WATCHED, osc_cached_profit_state(&profit));
}

/* In the first epoch, before anything is complete: where issuing a get is cheaper than the work of
 * the cache, that work ends within 10,000 gets. */
static void test_early(void **state)
{
    const osc_cached_profit_costs_t ours = {.hit_ns = 50, .miss_ns = 1000, .copy_ns = 0};
    static const struct {
        uint32_t issue_ns, below;
        osc_cached_profit_state_t is;
    } cases[] = {{120, 400, OSC_CACHED_CHEAP},
                 {120, 0, OSC_CACHED_SAMPLED},
                 {900, 400, OSC_CACHED_SAMPLED},
                 {900000, 400, OSC_CACHED_WATCHED}};

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        osc_cached_profit_t profit = OSC_CACHED_PROFIT_START;
        int gets = 1;

        while (!osc_cached_profit_count(&profit, false)) {
            ++gets;
        }
        assert_true(gets < 10000);
        osc_cached_profit_decide_early(&profit, &ours, cases[i].issue_ns, cases[i].below);
        assert_int_equal(cases[i].is, osc_cached_profit_state(&profit));
        assert_int_equal(0, profit.timed);
        assert_int_equal(0, profit.get_ns);
    }
}

static void test_follows_a_change(void **state)
{
    osc_cached_profit_t profit = OSC_CACHED_PROFIT_START;

    (void) state;
    for (int i = 0; i < 50; ++i) {
        osc_cached_profit_timed(&profit, 100);
    }
    for (int i = 0; i < 500; ++i) {
        osc_cached_profit_timed(&profit, 20000);
    }
    assert_in_range(profit.get_ns, 15000, 20000);
    for (int i = 0; i < 50; ++i) {
        osc_cached_profit_timed(&profit, 100);
    }
    assert_in_range(profit.get_ns, 100, 150);
    osc_cached_profit_timed(&profit, UINT64_MAX); /* does not wrap */
    assert_in_range(profit.get_ns, 100, 150);
}

/* Looks up keys with a chance to hit; returns how many were looked up. */
static uint64_t run(osc_cached_profit_t *profit, uint64_t gets, uint32_t hits_in_1000)
{
    uint64_t looked = 0;

    for (uint64_t i = 0; i < gets; ++i) {
        uint64_t hash = (uint64_t) random_below(UINT32_MAX) << 32;
        if (osc_cached_profit_looks(profit, hash)) {
            ++looked;
            if (osc_cached_profit_count(profit, random_below(1000) < hits_in_1000)) {
                osc_cached_profit_decide(profit, &costs);
            }
        }
    }
    return looked;
}

/* Rule N1: where nothing is reused and a get costs 1 us, hardly a key is looked up after 10,000. */
static void test_no_reuse_is_sampled(void **state)
{
    osc_cached_profit_t profit = OSC_CACHED_PROFIT_START;

    (void) state;
    osc_cached_profit_timed(&profit, 1000);
    run(&profit, 10000, 0);
    assert_int_equal(OSC_CACHED_SAMPLED, osc_cached_profit_state(&profit));
    assert_in_range(run(&profit, 1000000, 0), 1, 1000000 / 256); /* less and less */
}

/* The paper's micro-benchmark: 1000 different gets at first, and then they come again. */
static void test_an_empty_cache_may_fill(void **state)
{
    osc_cached_profit_t profit = OSC_CACHED_PROFIT_START;

    (void) state;
    osc_cached_profit_timed(&profit, 1000);
    assert_int_equal(1000, run(&profit, 1000, 0));
    assert_int_equal(3000, run(&profit, 3000, 1000));
    assert_int_equal(OSC_CACHED_WATCHED, osc_cached_profit_state(&profit));
}

/* Over a slow network a useless lookup is below the noise: everything stays watched. */
static void test_slow_network_stays_watched(void **state)
{
    osc_cached_profit_t profit = OSC_CACHED_PROFIT_START;

    (void) state;
    osc_cached_profit_timed(&profit, 20000);
    assert_int_equal(100000, run(&profit, 100000, 0));
    assert_int_equal(OSC_CACHED_WATCHED, osc_cached_profit_state(&profit));
}

static void test_comes_back_when_data_is_reused(void **state)
{
    osc_cached_profit_t profit = OSC_CACHED_PROFIT_START;

    (void) state;
    osc_cached_profit_timed(&profit, 1000);
    run(&profit, 20000, 0);
    assert_int_equal(OSC_CACHED_SAMPLED, osc_cached_profit_state(&profit));
    run(&profit, 100000, 900);
    assert_int_equal(OSC_CACHED_WATCHED, osc_cached_profit_state(&profit));
    assert_int_equal(0, profit.patience); /* and starts with the short sample again */
}

/* Data that is read round and round comes back to the cache, however long a round is: the sample
 * sees the reuse, and then there is time for the rest of the data to come in. */
static void test_long_rounds_come_back(void **state)
{
    enum { PLACES = 65536, PASSES = 24 };
    static bool cached[PLACES];
    osc_cached_profit_t profit = OSC_CACHED_PROFIT_START;
    uint32_t hits = 0;

    (void) state;
    osc_cached_profit_timed(&profit, 650);
    for (int pass = 0; pass < PASSES; ++pass) {
        hits = 0;
        for (uint64_t place = 0; place < PLACES; ++place) {
            if (osc_cached_profit_looks(&profit, 64 * place)) {
                hits += cached[place];
                if (osc_cached_profit_count(&profit, cached[place])) {
                    osc_cached_profit_decide(&profit, &costs);
                }
                cached[place] = true;
            }
        }
    }
    assert_in_range(hits, PLACES * 9 / 10, PLACES);
}

/* A program whose sample looks better than the whole does not go to and fro for ever. */
static void test_patience_grows(void **state)
{
    osc_cached_profit_t profit = OSC_CACHED_PROFIT_START;
    int changes = 0;

    (void) state;
    osc_cached_profit_timed(&profit, 1000);
    for (int i = 0; i < 2000000; ++i) {
        osc_cached_profit_state_t before = osc_cached_profit_state(&profit);
        /* the sample sees reuse that the whole does not have room for */
        run(&profit, 1, (OSC_CACHED_SAMPLED == before) ? 500 : 0);
        changes += before != osc_cached_profit_state(&profit);
    }
    assert_in_range(changes, 2, 40);
}

/* Two gets of a sample stand for many between them; those of other targets stand for themselves. */
static void test_distance(void **state)
{
    osc_cached_profit_t profit = OSC_CACHED_PROFIT_START;

    (void) state;
    profit.looked = 1000;
    assert_int_equal(50, osc_cached_profit_distance(&profit, 50, 1000)); /* all are watched */
    profit.passed = OSC_CACHED_PROFIT_PLACES / 32 * 31;
    assert_int_equal(50 * 32, osc_cached_profit_distance(&profit, 50, 1000));
    profit.passed = OSC_CACHED_PROFIT_PLACES / 1024 * 1023;
    assert_int_equal(50 * 1024, osc_cached_profit_distance(&profit, 50, 1000));
    /* a tenth of the looked-up gets, the others have other targets */
    assert_in_range(osc_cached_profit_distance(&profit, 50, 10000), 45 + 5 * 1024,
                    45 + 5 * 1024 + 100);
    /* the round has just begun */
    profit.looked = 0;
    assert_int_equal(50 * 1024, osc_cached_profit_distance(&profit, 50, 0));
    /* another thread has found the target cheap since the get was looked up */
    profit.passed = OSC_CACHED_PROFIT_PLACES;
    assert_int_equal(50, osc_cached_profit_distance(&profit, 50, 0));
}

/* How many of some places are looked up. */
static uint32_t looked_up(const osc_cached_profit_t *profit, uint64_t stride)
{
    uint32_t looked = 0;

    for (uint64_t i = 0; i < 65536; ++i) {
        looked += osc_cached_profit_looks(profit, i * stride);
    }
    return looked;
}

/* All, a sample or none, whatever lies between the places; and always the same ones. */
static void test_places(void **state)
{
    osc_cached_profit_t profit = OSC_CACHED_PROFIT_START, rare = OSC_CACHED_PROFIT_START;

    (void) state;
    profit.passed = OSC_CACHED_PROFIT_PLACES / 32 * 31;
    rare.passed = OSC_CACHED_PROFIT_PLACES / 1024 * 1023;
    for (int shift = 0; shift <= 44; ++shift) {
        assert_in_range(looked_up(&profit, UINT64_C(1) << shift), 65536 / 48, 65536 / 24);
        assert_in_range(looked_up(&rare, UINT64_C(1) << shift), 65536 / 2048, 65536 / 512);
    }
    for (uint64_t place = 0; place < 65536; ++place) {
        assert_true(osc_cached_profit_looks(&profit, place)
                    || !osc_cached_profit_looks(&rare, place));
    }
    assert_true(osc_cached_profit_looks(&rare, 0));
    profit.passed = 0;
    assert_int_equal(65536, looked_up(&profit, 64));
    profit.passed = OSC_CACHED_PROFIT_PLACES;
    assert_int_equal(0, looked_up(&profit, 64));
}

static void test_cheap_target(void **state)
{
    osc_cached_profit_t profit = OSC_CACHED_PROFIT_START;

    (void) state;
    for (int i = 0; i < OSC_CACHED_PROFIT_TIMED - 1; ++i) {
        osc_cached_profit_timed(&profit, 100);
        osc_cached_profit_compare(&profit, 400);
        assert_int_equal(OSC_CACHED_WATCHED,
                         osc_cached_profit_state(&profit)); /* not by one measurement */
    }
    osc_cached_profit_timed(&profit, 100);
    osc_cached_profit_compare(&profit, 400);
    assert_int_equal(OSC_CACHED_CHEAP, osc_cached_profit_state(&profit));
    /* a little above the limit is not yet a change */
    profit.get_ns = 450;
    osc_cached_profit_compare(&profit, 400);
    assert_int_equal(OSC_CACHED_CHEAP, osc_cached_profit_state(&profit));
    profit.get_ns = 700;
    osc_cached_profit_compare(&profit, 400);
    assert_int_equal(OSC_CACHED_WATCHED, osc_cached_profit_state(&profit));
    profit.get_ns = 10;
    osc_cached_profit_compare(&profit, 0);
    assert_int_equal(OSC_CACHED_WATCHED,
                     osc_cached_profit_state(&profit)); /* 0: nothing is cheap */
}

static void test_saved(void **state)
{
    osc_cached_profit_t profit = {.get_ns = 1050, .hits = 7};

    (void) state;
    assert_int_equal(7000, osc_cached_profit_saved(&profit, &costs));
    profit.get_ns = 40; /* a hit that costs more than a get saves nothing */
    assert_int_equal(0, osc_cached_profit_saved(&profit, &costs));
}

/* A round that costs more than it saves must be paid back before anything counts as saved. */
static void test_settle(void **state)
{
    osc_cached_profit_t profit = {.get_ns = 1050, .hits = 7, .looked = 17, .timed = 4};
    uint64_t debt = 0;

    (void) state;
    assert_int_equal(7000 - 10 * 150, osc_cached_profit_settle(&profit, &costs, &debt));
    assert_int_equal(0, debt);
    profit.looked = 107;
    assert_int_equal(0, osc_cached_profit_settle(&profit, &costs, &debt));
    assert_int_equal(100 * 150 - 7000, debt);
    profit.hits = profit.looked = 20;
    assert_int_equal(20000 - 8000, osc_cached_profit_settle(&profit, &costs, &debt));
    assert_int_equal(0, debt);
    profit.timed = 0; /* nobody knows what a get costs */
    profit.hits = 0;
    assert_int_equal(0, osc_cached_profit_settle(&profit, &costs, &debt));
    assert_int_equal(0, debt);
}

/* A clock that takes time itself. */
static struct {
    uint64_t now;
    uint32_t reading;
} model_clock;

static uint64_t model_now(void)
{
    return model_clock.now += model_clock.reading;
}

static uint64_t model_since(uint64_t begin, uint32_t readings)
{
    return osc_cached_profit_elapsed(begin, model_now(), readings, model_clock.reading);
}

/* What is said to be saved is what a run without the cache would take longer, within 20 %: runs of
 * a program with and without it on a model clock, measured as the owner does. */
static void test_saved_is_true(void **state)
{
    static const struct {
        uint32_t get, hit, miss, copy, reading, hits; /* ns; hits of 100 gets */
    } runs[] = {
        {15000, 40, 200, 30, 30, 95}, {645, 35, 200, 30, 30, 95}, {645, 35, 200, 30, 200, 95},
        {645, 35, 200, 30, 50, 50},   {175, 35, 200, 30, 50, 90}, {175, 35, 100, 10, 50, 60},
        {1200, 60, 150, 20, 25, 20},
    };
    enum { GETS = 200000, EACH = 64, BATCH = 16 };

    (void) state;
    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); ++i) {
        osc_cached_profit_t profit = OSC_CACHED_PROFIT_START;
        osc_cached_profit_costs_t ours = {.hit_ns = 50, .miss_ns = 150};
        uint64_t with = 0, without = 0, saved = 0, debt = 0;

        model_clock.now = 0;
        model_clock.reading = runs[i].reading;
        for (int k = 0; k < GETS; ++k) {
            bool hit = random_below(100) < runs[i].hits, measured = 0 == k % EACH;
            uint64_t begin = measured ? model_now() : 0;

            without += runs[i].get;
            if (hit) {
                model_clock.now += runs[i].hit;
                with += runs[i].hit;
                if (measured) {
                    osc_cached_profit_follow(&ours.hit_ns, model_since(begin, 1));
                }
            } else {
                uint64_t issued;

                issued = measured ? model_now() : 0;
                if (0 == k % BATCH) {
                    uint64_t first = model_now();

                    model_clock.now += runs[i].get;
                    osc_cached_profit_timed(&profit, model_since(first, 1));
                    first = model_now();
                    model_clock.now += runs[i].copy;
                    osc_cached_profit_follow(&ours.copy_ns, model_since(first, 1));
                }
                begin += measured ? model_now() - issued : 0;
                model_clock.now += runs[i].miss;
                with += runs[i].get + runs[i].miss + runs[i].copy;
                if (measured) {
                    osc_cached_profit_follow(&ours.miss_ns, model_since(begin, 2));
                }
            }
            if (osc_cached_profit_count(&profit, hit)) {
                saved += osc_cached_profit_settle(&profit, &ours, &debt);
                osc_cached_profit_decide(&profit, &ours);
                profit.passed = 0; /* as if the user wanted it: every get is looked up */
            }
        }
        saved += osc_cached_profit_settle(&profit, &ours, &debt);
        printf("  get %u, hit %u, %u %% hits: %.1f us saved, %.1f said\n", runs[i].get, runs[i].hit,
               runs[i].hits, ((double) without - (double) with) / 1000, (double) saved / 1000);
        assert_true(with < without);
        assert_in_range(saved, (without - with) * 8 / 10, (without - with) * 12 / 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outliers_do_not_spoil_it),
        cmocka_unit_test(test_first_get_does_not_count),
        cmocka_unit_test(test_joins),
        cmocka_unit_test(test_early),
        cmocka_unit_test(test_follows_a_change),
        cmocka_unit_test(test_no_reuse_is_sampled),
        cmocka_unit_test(test_an_empty_cache_may_fill),
        cmocka_unit_test(test_slow_network_stays_watched),
        cmocka_unit_test(test_comes_back_when_data_is_reused),
        cmocka_unit_test(test_long_rounds_come_back),
        cmocka_unit_test(test_patience_grows),
        cmocka_unit_test(test_distance),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_cheap_target),
        cmocka_unit_test(test_saved),
        cmocka_unit_test(test_settle),
        cmocka_unit_test(test_saved_is_true),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
