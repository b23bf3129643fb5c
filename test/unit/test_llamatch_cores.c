/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* llamatch_cores: where the heater goes, on machines of hwloc's synthetic kind. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "llamatch_cores.h"

#include <pthread.h>
#include <string.h>

/* Four cores with two hardware threads each (PUs 0 and 1, 2 and 3, ...), one L3. */
#define SMT "pack:1 l3:1 l2:4 l1:1 core:1 pu:2"
/* Two sockets of four cores; the two cores of a module share an L2. */
#define MODULES "pack:2 l3:1 l2:2 l1:2 core:1 pu:1"
/* This project's kind of machine: two cores. */
#define TWO "pack:1 l3:1 l2:2 l1:1 core:1 pu:1"

/* Ranks of a node at most. */
enum { MOST = 8 };

typedef struct {
    hwloc_topology_t topology;
    hwloc_bitmap_t sets[MOST];
    hwloc_const_cpuset_t ranks[MOST];
    llamatch_cores_input_t input;
    llamatch_cores_choice_t choice;
} fixture_t;

static void begin(fixture_t *f, const char *machine)
{
    static const llamatch_cores_input_t plain = {.wish = LLAMATCH_CORES_AUTO};

    assert_int_equal(0, hwloc_topology_init(&f->topology));
    assert_int_equal(0,
                     hwloc_topology_set_flags(f->topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED));
    assert_int_equal(0, hwloc_topology_set_synthetic(f->topology, machine));
    assert_int_equal(0, hwloc_topology_load(f->topology));
    for (int i = 0; i < MOST; ++i) {
        f->sets[i] = hwloc_bitmap_alloc();
    }
    f->input = plain;
    f->input.topology = f->topology;
    f->input.ranks = f->ranks;
}

static void end(fixture_t *f)
{
    for (int i = 0; i < MOST; ++i) {
        hwloc_bitmap_free(f->sets[i]);
    }
    hwloc_topology_destroy(f->topology);
}

/* Lists as in "0,2-3"; NULL: not bound, or not known. */
static void add_rank(fixture_t *f, const char *list)
{
    unsigned i = f->input.num_ranks++;

    assert_int_equal(0, hwloc_bitmap_list_sscanf(f->sets[i], (NULL == list) ? "" : list));
    f->ranks[i] = (NULL == list) ? NULL : f->sets[i];
}

static void choose_as(fixture_t *f, unsigned me)
{
    f->input.me = me;
    memset(&f->choice, 0x5a, sizeof(f->choice)); /* everything must be set */
    llamatch_cores_choose(&f->input, &f->choice);
}

/* One rank, and others that use these. */
static void choose(fixture_t *f, const char *mine, const char *used)
{
    f->input.num_ranks = 0;
    add_rank(f, mine);
    add_rank(f, used);
    choose_as(f, 0);
}

static void expect(const fixture_t *f, int pu, unsigned level)
{
    assert_int_equal(LLAMATCH_CORES_OK, f->choice.reason);
    assert_true(f->choice.start);
    assert_int_equal(pu, f->choice.pu);
    assert_int_equal(level, f->choice.cache_level);
}

static void expect_off(const fixture_t *f, llamatch_cores_reason_t reason)
{
    assert_int_equal(reason, f->choice.reason);
    assert_false(f->choice.start);
    assert_int_equal(-1, f->choice.pu);
    assert_int_equal(0, f->choice.cache_level);
    assert_int_equal(LLAMATCH_HEAT_LOAD, f->choice.how);
}

static void set_inclusive(fixture_t *f, hwloc_obj_type_t type, const char *value)
{
    hwloc_obj_t cache = NULL;

    while (NULL != (cache = hwloc_get_next_obj_by_type(f->topology, type, cache))) {
        assert_int_equal(0, hwloc_obj_add_info(cache, "Inclusive", value));
    }
}

static void test_deepest_shared_cache(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, SMT);
    choose(&f, "2", ""); /* bound to a hardware thread: the other one of the core */
    expect(&f, 3, 1);
    assert_true(0 < f.choice.cache_bytes);
    choose(&f, "2-3", ""); /* bound to the core: one of its two */
    assert_int_equal(1, f.choice.cache_level);
    assert_true(2 == f.choice.pu || 3 == f.choice.pu);
    choose(&f, "2", "3"); /* a peer has the other one: a core that nobody uses */
    expect(&f, 0, 3);
    choose(&f, "0-3", ""); /* two cores: outside of them */
    expect(&f, 4, 3);
    choose(&f, "0-3", "4-7"); /* all others are taken: one of its own */
    expect(&f, 0, 3);
    end(&f);
    begin(&f, MODULES);
    choose(&f, "5", ""); /* the core beside it shares an L2 */
    expect(&f, 4, 2);
    choose(&f, "5", "4");
    expect(&f, 6, 3);
    choose(&f, "4-5", ""); /* one of its own is nearer than one outside */
    expect(&f, 4, 2);
    choose(&f, "4-6", "");
    expect(&f, 7, 3);
    end(&f);
}

static void test_spares_peers(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, SMT);
    choose(&f, "0", "1,3,5"); /* cores 1 and 2 are half used, core 3 is idle */
    expect(&f, 6, 3);
    choose(&f, "0", "1,3,5,6"); /* no idle core: the first free thread */
    expect(&f, 2, 3);
    choose(&f, "0", "1-7");
    expect_off(&f, LLAMATCH_CORES_NONE_FREE);
    end(&f);
    begin(&f, TWO);
    choose(&f, "0", "1"); /* two ranks on two cores */
    expect_off(&f, LLAMATCH_CORES_NONE_FREE);
    choose(&f, "1", ""); /* one rank */
    expect(&f, 0, 3);
    end(&f);
}

/* Each core has one heater at most; who comes too late has none. */
static void test_ranks_spread(void **state)
{
    static const struct {
        const char *machine;
        const char *ranks[MOST];
        int pus[MOST]; /* -1: none is free */
        unsigned sharers;
    } cases[] = {
        {"pack:1 l3:1 l2:8 l1:1 core:1 pu:1", {"0", "1", "2", "3"}, {4, 5, 6, 7}, 4},
        {"pack:1 l3:1 l2:8 l1:1 core:1 pu:1", {"0", "1", "2", "3-4", "7"}, {5, 6, -1, 3, -1}, 5},
        {"pack:1 l3:1 l2:4 l1:1 core:1 pu:2", {"0", "2", "4", "6"}, {1, 3, 5, 7}, 1},
        {"pack:1 l3:1 l2:4 l1:1 core:1 pu:2", {"0", "1", "2", "3"}, {4, 6, -1, -1}, 4},
        {"pack:2 l3:1 l2:4 l1:1 core:1 pu:1", {"0", "1", "4", "5"}, {2, 3, 6, 7}, 2},
        {"pack:2 l3:1 l2:2 l1:1 core:1 pu:1", {"0", "2", "3"}, {1, -1, -1}, 1},
        {"pack:1 l3:1 l2:2 l1:1 core:1 pu:1", {"0", "1"}, {-1, -1}, 0},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        fixture_t f;

        begin(&f, cases[i].machine);
        for (int r = 0; r < MOST && NULL != cases[i].ranks[r]; ++r) {
            add_rank(&f, cases[i].ranks[r]);
        }
        for (unsigned r = 0; r < f.input.num_ranks; ++r) {
            choose_as(&f, r);
            assert_int_equal(cases[i].pus[r], f.choice.pu);
            assert_int_equal(-1 != cases[i].pus[r], f.choice.start);
            assert_int_equal(-1 == cases[i].pus[r] ? 1 : cases[i].sharers, f.choice.sharers);
        }
        end(&f);
    }
}

/* A rank whose binding is not known may be anywhere. */
static void test_not_known(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, MODULES);
    add_rank(&f, NULL);
    add_rank(&f, "0");
    choose_as(&f, 1);
    expect_off(&f, LLAMATCH_CORES_NONE_FREE);
    f.input.wish = LLAMATCH_CORES_FORCE;
    choose_as(&f, 1);
    assert_true(f.choice.start);
    assert_int_equal(2, f.choice.sharers);
    end(&f);
}

static void test_unbound(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, SMT);
    choose(&f, NULL, "");
    expect_off(&f, LLAMATCH_CORES_UNBOUND);
    choose(&f, "0-7", ""); /* bound to everything */
    expect_off(&f, LLAMATCH_CORES_UNBOUND);
    f.input.wish = LLAMATCH_CORES_FORCE;
    choose(&f, NULL, "");
    assert_true(f.choice.start);
    assert_int_equal(-1, f.choice.pu); /* as unbound as the rank */
    assert_int_equal(LLAMATCH_CORES_UNBOUND, f.choice.reason);
    end(&f);
}

static void test_one_pu(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, "pack:1 l3:1 core:1 pu:1");
    choose(&f, NULL, "");
    expect_off(&f, LLAMATCH_CORES_ONE_PU);
    choose(&f, "0", "");
    expect_off(&f, LLAMATCH_CORES_ONE_PU);
    f.input.wish = LLAMATCH_CORES_FORCE;
    choose(&f, "0", "0");
    assert_true(f.choice.start);
    assert_int_equal(0, f.choice.pu);
    assert_int_equal(LLAMATCH_CORES_ONE_PU, f.choice.reason);
    end(&f);
}

static void test_no_shared_cache(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, MODULES);
    choose(&f, "0", "1-3"); /* free ones on the other socket only */
    expect_off(&f, LLAMATCH_CORES_NO_SHARED_CACHE);
    choose(&f, "0,4", ""); /* a binding across sockets */
    expect_off(&f, LLAMATCH_CORES_NO_SHARED_CACHE);
    f.input.wish = LLAMATCH_CORES_FORCE;
    choose(&f, "0,4", "");
    assert_true(f.choice.start);
    assert_int_equal(-1, f.choice.pu);
    end(&f);
    begin(&f, "pack:1 core:4 pu:1"); /* a machine that tells no caches */
    choose(&f, "0", "");
    expect_off(&f, LLAMATCH_CORES_NO_SHARED_CACHE);
    end(&f);
}

/* A helper goes where nobody runs: an idle core before a hardware thread beside a rank, near before
 * far, and far before none. */
static void test_spare(void **state)
{
    static const struct {
        const char *machine;
        const char *ranks[MOST];
        int pus[MOST]; /* -1: none is free */
    } cases[] = {
        {SMT, {"2"}, {0}},                         /* not 3, beside the rank */
        {SMT, {"0-1", "2-3", "4-5"}, {6, -1, -1}}, /* a core has one at most */
        {SMT, {"0", "2", "4", "6"}, {1, 3, 5, 7}}, /* no idle core: the threads beside */
        {SMT, {"0-3", "4-7"}, {-1, -1}},           /* never its own */
        {MODULES, {"5"}, {4}},                     /* the nearest one */
        {MODULES, {"5", "4"}, {6, 7}},
        {MODULES, {"0", "1-3"}, {4, 5}},            /* the other socket */
        {MODULES, {"0,4"}, {1}},                    /* a binding across sockets */
        {"pack:1 core:4 pu:1", {"0", "1"}, {2, 3}}, /* a machine that tells no caches */
        {SMT, {"0", "20"}, {2, 4}}, /* a process that may use what this one does not see */
        {TWO, {"0", "1"}, {-1, -1}},
        {TWO, {"0-1"}, {-1}},
        {TWO, {NULL}, {-1}},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        fixture_t f;

        begin(&f, cases[i].machine);
        f.input.wish = LLAMATCH_CORES_SPARE;
        add_rank(&f, cases[i].ranks[0]);
        for (int r = 1; r < MOST && NULL != cases[i].ranks[r]; ++r) {
            add_rank(&f, cases[i].ranks[r]);
        }
        for (unsigned r = 0; r < f.input.num_ranks; ++r) {
            choose_as(&f, r);
            assert_int_equal(cases[i].pus[r], f.choice.pu);
            assert_int_equal(-1 != cases[i].pus[r], f.choice.start);
        }
        end(&f);
    }
}

static void allow(fixture_t *f, const char *list)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();

    assert_int_equal(0, hwloc_bitmap_list_sscanf(set, list));
    assert_int_equal(0, hwloc_topology_allow(f->topology, set, NULL, HWLOC_ALLOW_FLAG_CUSTOM));
    hwloc_bitmap_free(set);
}

static void test_allowed(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, SMT);
    allow(&f, "2,5-7");
    choose(&f, "2", ""); /* its own neighbour is not allowed */
    expect(&f, 5, 3);
    allow(&f, "2,5");
    choose(&f, "2", "5");
    expect_off(&f, LLAMATCH_CORES_NONE_FREE);
    choose(&f, "2,5", "");
    expect_off(&f, LLAMATCH_CORES_UNBOUND);
    allow(&f, "2");
    choose(&f, "2", "");
    expect_off(&f, LLAMATCH_CORES_ONE_PU);
    end(&f);
    begin(&f, SMT);
    f.input.confined = true;
    choose(&f, "2-5", "");
    expect_off(&f, LLAMATCH_CORES_UNBOUND);
    choose(&f, "2", "");
    expect_off(&f, LLAMATCH_CORES_ONE_PU);
    end(&f);
}

static void test_named(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, MODULES);
    f.input.wish = LLAMATCH_CORES_PU;
    f.input.pu = 1;
    choose(&f, "0", "1"); /* even one that a peer uses */
    expect(&f, 1, 2);
    f.input.pu = 0;
    choose(&f, "0", ""); /* even its own */
    expect(&f, 0, 1);
    f.input.pu = 7;
    choose(&f, "0", ""); /* even far away */
    expect(&f, 7, 0);
    choose(&f, NULL, ""); /* even when unbound */
    expect(&f, 7, 0);
    f.input.pu = 8;
    choose(&f, "0", "");
    expect_off(&f, LLAMATCH_CORES_NO_SUCH_PU);
    f.input.pu = 2;
    f.input.confined = true;
    choose(&f, "0-1", "");
    expect_off(&f, LLAMATCH_CORES_NOT_ALLOWED);
    end(&f);
}

static void test_force(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, TWO);
    f.input.wish = LLAMATCH_CORES_FORCE;
    choose(&f, "0", ""); /* nothing is against it: as without */
    expect(&f, 1, 3);
    choose(&f, "0", "1"); /* at its own cost, not at the peer's */
    assert_true(f.choice.start);
    assert_int_equal(0, f.choice.pu);
    assert_int_equal(LLAMATCH_CORES_NONE_FREE, f.choice.reason);
    end(&f);
}

static void test_how(void **state)
{
    fixture_t f;

    (void) state;
    begin(&f, SMT); /* nothing is known about the caches */
    f.input.has_cldemote = true;
    choose(&f, "0", "1");
    assert_int_equal(LLAMATCH_HEAT_LOAD, f.choice.how);
    set_inclusive(&f, HWLOC_OBJ_L3CACHE, "1");
    choose(&f, "0", "1");
    assert_int_equal(LLAMATCH_HEAT_LOAD, f.choice.how);
    end(&f);
    begin(&f, SMT);
    set_inclusive(&f, HWLOC_OBJ_L3CACHE, "0");
    set_inclusive(&f, HWLOC_OBJ_L1CACHE, "0");
    f.input.has_cldemote = true;
    choose(&f, "0", "1");
    assert_int_equal(LLAMATCH_HEAT_LOAD_DEMOTE, f.choice.how);
    choose(&f, "0", ""); /* through the core's own caches no demotion is needed */
    expect(&f, 1, 1);
    assert_int_equal(LLAMATCH_HEAT_LOAD, f.choice.how);
    f.input.has_cldemote = false;
    choose(&f, "0", "1");
    assert_int_equal(LLAMATCH_HEAT_LOAD, f.choice.how);
    end(&f);
}

static void test_texts(void **state)
{
    (void) state;
    for (int r = LLAMATCH_CORES_OK; r <= LLAMATCH_CORES_NO_MEMORY; ++r) {
        const char *text = llamatch_cores_reason_text((llamatch_cores_reason_t) r);

        assert_non_null(text);
        assert_int_equal('.', text[strlen(text) - 1]);
        for (; NULL != text; text = strchr(text + 1, '\n')) {
            assert_in_range(strcspn(text + 1, "\n"), 0, 72);
        }
    }
    (void) llamatch_cores_has_cldemote(); /* either answer is right */
}

static int foreign;

/* In the place of hwloc's: the topology is of a hwloc that is not ours. */
int hwloc_topology_abi_check(hwloc_topology_t topology)
{
    (void) topology;
    return -foreign;
}

static void test_mine(void **state)
{
    hwloc_topology_t topology;
    hwloc_bitmap_t set;

    (void) state;
    assert_int_equal(0, hwloc_topology_init(&topology));
    assert_int_equal(0, hwloc_topology_load(topology));
    set = llamatch_cores_mine(topology);
    if (hwloc_topology_get_support(topology)->cpubind->get_thisproc_cpubind) {
        assert_non_null(set);
        assert_false(hwloc_bitmap_iszero(set));
    }
    hwloc_bitmap_free(set);
    foreign = 1;
    assert_null(llamatch_cores_mine(topology));
    foreign = 0;
    hwloc_topology_destroy(topology);
}

typedef struct {
    llamatch_cores_place_t place;
    int result;
    hwloc_bitmap_t bound;
} bound_t;

static void *bind_thread(void *argument)
{
    bound_t *bound = argument;

    bound->result = llamatch_cores_bind(&bound->place);
    (void) hwloc_get_cpubind(bound->place.topology, bound->bound, HWLOC_CPUBIND_THREAD);
    return NULL;
}

static void run_bound(bound_t *bound)
{
    pthread_t thread;

    assert_int_equal(0, pthread_create(&thread, NULL, bind_thread, bound));
    assert_int_equal(0, pthread_join(thread, NULL));
}

/* On the machine that this runs on. */
static void test_bind(void **state)
{
    fixture_t f;
    bound_t bound;
    hwloc_bitmap_t before = hwloc_bitmap_alloc();

    (void) state;
    bound.bound = hwloc_bitmap_alloc();
    assert_int_equal(0, hwloc_topology_init(&bound.place.topology));
    assert_int_equal(0, hwloc_topology_load(bound.place.topology));
    if (0 == hwloc_get_cpubind(bound.place.topology, before, HWLOC_CPUBIND_THREAD)
        && hwloc_topology_get_support(bound.place.topology)->cpubind->set_thisthread_cpubind) {
        bound.place.pu = hwloc_bitmap_last(before);
        run_bound(&bound);
        assert_int_equal(0, bound.result);
        assert_int_equal(1, hwloc_bitmap_weight(bound.bound));
        assert_true(hwloc_bitmap_isset(bound.bound, (unsigned) bound.place.pu));
        bound.place.pu = -1;
        run_bound(&bound);
        assert_int_equal(0, bound.result);
        assert_true(hwloc_bitmap_isequal(before, bound.bound));
        bound.place.pu = 1 << 20;
        run_bound(&bound);
        assert_int_not_equal(0, bound.result);
    }
    hwloc_topology_destroy(bound.place.topology);
    begin(&f, TWO); /* another machine */
    bound.place.topology = f.topology;
    bound.place.pu = 0;
    run_bound(&bound);
    assert_int_not_equal(0, bound.result);
    end(&f);
    hwloc_bitmap_free(bound.bound);
    hwloc_bitmap_free(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deepest_shared_cache),
        cmocka_unit_test(test_spares_peers),
        cmocka_unit_test(test_ranks_spread),
        cmocka_unit_test(test_not_known),
        cmocka_unit_test(test_unbound),
        cmocka_unit_test(test_one_pu),
        cmocka_unit_test(test_no_shared_cache),
        cmocka_unit_test(test_spare),
        cmocka_unit_test(test_allowed),
        cmocka_unit_test(test_named),
        cmocka_unit_test(test_force),
        cmocka_unit_test(test_how),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_mine),
        cmocka_unit_test(test_bind),
    };

    return cmocka_run_group_tests_name("llamatch_cores", tests, NULL, NULL);
}
