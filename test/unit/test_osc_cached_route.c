/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* osc_cached_route: it finds the cheaper way on networks as measured, changes it when costs change,
 * and a wrong guess costs 2 % of a run at most. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_route.h"
#include "osc_cached_test_random.h"

#include <stdio.h>

/* What operations cost, in nanoseconds. */
typedef struct {
    const char *name;
    double block, inner_byte;    /* the inner component */
    double request, helper_byte; /* the helper */
    bool direct;                 /* no flush of the inner component waits for the target */
} network_t;

static const network_t networks[] = {
    {"tcp", 5000, 0.5, 13000, 0.6, false},
    {"shared memory, created", 400, 0.05, 2100, 0.15, false},
    {"shared memory, allocated", 30, 0.03, 2000, 0.15, true},
};

typedef struct {
    double time, inner, helper; /* nanoseconds: taken, and had all gone one way */
    uint64_t taken[OSC_CACHED_ROUTES];
    uint64_t batches, timed;
} result_t;

static double cost(const network_t *network, osc_cached_way_t way, uint64_t blocks, uint64_t bytes)
{
    return OSC_CACHED_ROUTE_INNER == way
               ? (double) blocks * network->block + (double) bytes * network->inner_byte
               : network->request + (double) bytes * network->helper_byte;
}

/* The first operation of a batch: is it timed? */
static bool begin(osc_cached_route_t *route, osc_cached_way_t way, uint64_t blocks, uint64_t bytes,
                  result_t *result)
{
    bool timed = osc_cached_route_is_timed(route, way, blocks, bytes);

    ++result->batches;
    result->timed += timed;
    return timed;
}

static void end(osc_cached_route_t *route, bool timed, double ns, result_t *result)
{
    if (timed) {
        osc_cached_route_flushed(route, (uint64_t) ns);
    } else {
        osc_cached_route_passed(route);
    }
    result->time += ns;
}

/* Batches of 1 to most operations of so many blocks, with noise of 20 %; a flush more takes a
 * request more. */
static void run(osc_cached_route_t *route, const network_t *network, uint64_t *random,
                uint64_t batches, uint32_t most, uint64_t blocks, uint64_t block_bytes,
                result_t *result)
{
    uint64_t bytes = blocks * block_bytes;

    route->direct = network->direct;
    for (uint64_t i = 0; i < batches; i++) {
        uint32_t operations = 1 + random_below(random, most);
        double ns = 0, noise = 0.9 + random_below(random, 200) / 1000.0;
        bool timed = false;

        for (uint32_t k = 0; k < operations; k++) {
            osc_cached_way_t way = osc_cached_route_choose(route, blocks, bytes, true);
            bool flush;

            if (0 == route->operations) {
                timed = begin(route, way, blocks, bytes, result);
            }
            flush = osc_cached_route_sent(route, way, blocks, bytes);
            /* who would wait for the target's process is not flushed but by the program */
            assert_false(flush && OSC_CACHED_ROUTE_INNER == way && !network->direct);
            ++result->taken[way];
            ns += noise * cost(network, way, blocks, bytes);
            result->inner += noise * cost(network, OSC_CACHED_ROUTE_INNER, blocks, bytes);
            result->helper += noise * cost(network, OSC_CACHED_ROUTE_HELPER, blocks, bytes);
            if (flush) {
                ns += OSC_CACHED_ROUTE_INNER == way ? network->block : network->request;
                end(route, timed, ns, result);
                ns = 0;
            }
        }
        end(route, timed, ns, result);
    }
}

static double best(const result_t *result)
{
    return result->inner < result->helper ? result->inner : result->helper;
}

static void test_finds_the_cheaper_way(void **state)
{
    static const uint64_t blocks[] = {2, 8, 64, 512, 4096}, bytes[] = {8, 64, 512};
    uint64_t random = seed_get(3);
    (void) state;

    for (size_t n = 0; n < sizeof(networks) / sizeof(networks[0]); n++) {
        for (size_t b = 0; b < 5; b++) {
            for (size_t s = 0; s < 3; s++) {
                for (uint32_t most = 1; most <= 1000; most *= 10) {
                    osc_cached_route_t route = {.total = 0};
                    result_t result = {.time = 0};

                    run(&route, &networks[n], &random, 100000 / most + 1000, most, blocks[b],
                        bytes[s], &result);
                    if (result.time > 1.02 * best(&result)
                        && (result.inner > 1.3 * result.helper
                            || result.helper > 1.3 * result.inner)) {
                        printf("%s, %u blocks of %u, batches of %u: %.4f\n", networks[n].name,
                               (unsigned) blocks[b], (unsigned) bytes[s], most,
                               result.time / best(&result));
                        fail();
                    }
                    /* where both are much the same the bonus may keep the dearer one */
                    assert_true(result.time <= 1.3 * best(&result));
                }
            }
        }
    }
}

/* Operations of two kinds, each of which is cheaper another way. */
static void test_chooses_for_each_operation(void **state)
{
    osc_cached_route_t route = {.total = 0};
    uint64_t random = seed_get(5);
    result_t few = {.time = 0}, many = {.time = 0};
    (void) state;

    for (int i = 0; i < 5000; i++) {
        run(&route, &networks[2], &random, 1, 4, 4, 8, &few);
        run(&route, &networks[2], &random, 1, 4, 4096, 8, &many);
    }
    assert_true(few.time + many.time <= 1.02 * (few.inner + many.helper));
    assert_true(few.taken[OSC_CACHED_ROUTE_INNER] > 10 * few.taken[OSC_CACHED_ROUTE_HELPER]);
    assert_true(many.taken[OSC_CACHED_ROUTE_HELPER] > 10 * many.taken[OSC_CACHED_ROUTE_INNER]);
    assert_true(few.inner < 0.5 * few.helper && many.helper < 0.5 * many.inner);
}

/* The target stops to answer the inner component, or the helper becomes slow. */
static void test_costs_change(void **state)
{
    osc_cached_route_t route = {.total = 0};
    uint64_t random = seed_get(7);
    network_t network = networks[2];
    result_t result = {.time = 0};
    (void) state;

    run(&route, &network, &random, 1000, 4, 16, 8, &result); /* the inner component is cheaper */
    assert_true(result.taken[OSC_CACHED_ROUTE_INNER] > 50 * result.taken[OSC_CACHED_ROUTE_HELPER]);
    network.block = 1e5;
    result = (result_t){.time = 0};
    run(&route, &network, &random, 1000, 4, 16, 8, &result);
    assert_true(result.taken[OSC_CACHED_ROUTE_HELPER] > 50 * result.taken[OSC_CACHED_ROUTE_INNER]);
    network = networks[2];
    result = (result_t){.time = 0};
    run(&route, &network, &random, 1000000, 4, 16, 8, &result);
    assert_true(result.taken[OSC_CACHED_ROUTE_INNER] > result.taken[OSC_CACHED_ROUTE_HELPER]);
}

/* Short batches are timed now and then, long ones always; where the inner component is cheaper the
 * way is back there soon after the helper was cheaper for some time. */
static void test_times_few_short_batches(void **state)
{
    osc_cached_route_t route = {.total = 0};
    uint64_t random = seed_get(9);
    network_t slow = networks[2];
    result_t result = {.time = 0};
    (void) state;

    run(&route, &networks[2], &random, 8000, 1, 16, 8, &result);
    assert_true(result.timed < result.batches / 3);
    assert_true(result.taken[OSC_CACHED_ROUTE_INNER] > 100 * result.taken[OSC_CACHED_ROUTE_HELPER]);
    slow.block = 1000;
    result = (result_t){.time = 0};
    run(&route, &slow, &random, 1000, 1, 16, 8, &result);
    assert_true(result.taken[OSC_CACHED_ROUTE_HELPER] > 10 * result.taken[OSC_CACHED_ROUTE_INNER]);
    result = (result_t){.time = 0};
    run(&route, &networks[2], &random, 100000, 1, 16, 8, &result);
    result = (result_t){.time = 0};
    run(&route, &networks[2], &random, 1000, 1, 16, 8, &result);
    assert_true(result.taken[OSC_CACHED_ROUTE_INNER] > 100 * result.taken[OSC_CACHED_ROUTE_HELPER]);

    result = (result_t){.time = 0};
    route = (osc_cached_route_t){.total = 0};
    run(&route, &networks[0], &random, 1000, 1, 16, 8, &result); /* over TCP */
    assert_int_equal(result.batches, result.timed);
}

/* Nothing is learnt from a batch that was not timed. */
static void test_forgets(void **state)
{
    osc_cached_route_t route = {.total = 0};
    (void) state;

    assert_int_equal(osc_cached_route_choose(&route, 10, 800, true), OSC_CACHED_ROUTE_INNER);
    (void) osc_cached_route_sent(&route, OSC_CACHED_ROUTE_INNER, 10, 800);
    osc_cached_route_forget(&route);
    assert_true(0 == route.rate[OSC_CACHED_ROUTE_INNER] && 0 == route.operations);
    osc_cached_route_flushed(&route, 1000); /* nothing was sent */
    assert_true(0 == route.rate[OSC_CACHED_ROUTE_INNER]);
    assert_int_equal(osc_cached_route_choose(&route, 10, 800, true), OSC_CACHED_ROUTE_INNER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_the_cheaper_way),
        cmocka_unit_test(test_chooses_for_each_operation),
        cmocka_unit_test(test_costs_change),
        cmocka_unit_test(test_times_few_short_batches),
        cmocka_unit_test(test_forgets),
    };

    return cmocka_run_group_tests_name("osc_cached_route", tests, NULL, NULL);
}
