/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* llamatch_advice: what lists would have cost, counted from the engine's arrays and compared with
 * the naive model, and what follows from that. */
#include "llamatch_advice.h"
#include "llamatch_model.h"
#include "llamatch_test_engine.h"

#include <stdlib.h>

static uint64_t now, first_step, later_steps;
static bool is_first;

/* The step after the first reading is that of a search with cold caches. */
static uint64_t test_clock(void)
{
    uint64_t here = now;

    now += is_first ? first_step : later_steps;
    is_first = false;
    return here;
}

static void steps(uint64_t first, uint64_t later)
{
    first_step = first;
    later_steps = later;
}

/* Lists whose elements take 2 ns each, whatever their length. */
static const llamatch_lists_t lists = {test_clock, 10, {{2, 2, 2, 2, 2, 2}, {3, 3, 3, 3, 3, 3}}};

static fixture_t f;
static model_t model;
static llamatch_watch_t watch;
static llamatch_advice_t advice, other;
static char text[LLAMATCH_ADVICE_BYTES];

static void start(llamatch_kind_t kind)
{
    begin(&f, 16, kind, 40);
    memset(&model, 0, sizeof(model));
    memset(&advice, 0, sizeof(advice));
    llamatch_watch_init(&watch, &lists);
    steps(10, 10);
}

/* A message, or a receive, is about to search: what it would pass of lists. */
static uint64_t watch_message(int32_t source, int32_t tag)
{
    uint64_t before = watch.seen.passed;

    watch.interval = 1;
    is_first = true;
    llamatch_watch_message(&watch, &f.engine, &f.peers[source], tag);
    return watch.seen.passed - before;
}

static uint64_t watch_receive(int32_t source, int32_t tag, size_t ranks)
{
    uint64_t before = watch.seen.passed;

    watch.interval = 1;
    is_first = true;
    llamatch_watch_receive(&watch, &f.engine, peer_of(&f, source), tag, ranks);
    return watch.seen.passed - before;
}

/* --- samples -------------------------------------------------------------------------------- */

static void message_comes(int32_t source, int32_t tag, int item)
{
    uint64_t depth;
    size_t at = model_match(&model.posted, source, tag, &depth);

    assert_int_equal(depth, watch_message(source, tag));
    if (at < model.posted.count) {
        assert_ptr_equal(ITEM(model.posted.entries[at].item), match(&f, source, tag));
        model_remove(&model.posted, at);
    } else {
        assert_null(match(&f, source, tag));
        arrive(&f, source, tag, item);
        model_arrive(&model, source, tag, item);
    }
}

static void receive_comes(int32_t source, int32_t tag, int item)
{
    uint64_t depth, passed;
    size_t at = model_search(&model, source, tag, &depth);
    bool found = at < model.unexpected.count;

    passed = watch_receive(source, tag, 0);
    if (ANY == source) { /* peers that are asked */
        depth += found ? watch.peers / model.num_order : watch.peers;
    }
    assert_int_equal(depth, passed);
    if (found) {
        assert_ptr_equal(ITEM(model.unexpected.entries[at].item), receive(&f, source, tag));
        model_take(&model, at, ANY == source);
    } else {
        assert_null(receive(&f, source, tag));
        post(&f, source, tag, item);
        model_add(&model.posted, source, tag, item);
    }
}

/* Phases of messages and receives, in front of each other and deep, with every engine. */
static void test_passed(void **state)
{
    uint64_t seed = 7;
    int item = 0;

    (void) state;
    EACH_KIND(kind)
    {
        start(kind);
        for (int phase = 0; phase < 12; ++phase) {
            uint32_t lead = (phase % 2) ? 80 : 20, tags = (phase % 3) ? 400 : 4;

            for (int i = 0; i < 600; ++i) {
                int32_t source = (int32_t) test_random(&seed, (phase < 6) ? 2 : 5);
                int32_t tag = (int32_t) test_random(&seed, tags);

                item = (item + 1) % (1 << 20);
                if (test_random(&seed, 100) < lead) {
                    message_comes(source, (0 == tag) ? -7 : tag, item);
                } else {
                    receive_comes(0 == test_random(&seed, 10) ? ANY : source,
                                  0 == test_random(&seed, 30) ? LLAMATCH_ANY_TAG : tag, item);
                }
                assert_int_equal(0, llamatch_engine_verify(&f.engine));
            }
        }
        end(&f);
    }
}

/* What a search leaves behind is not different for having been sampled: the lane keeps its form. */
static void test_form(void **state)
{
    (void) state;
    start(LLAMATCH_AUTO);
    for (int i = 0; i < 100; ++i) {
        post(&f, 0, i, i);
    }
    assert_true(llamatch_lane_is_open(&f.peers[0].posted));
    assert_int_equal(90, watch_message(0, 89));
    assert_int_equal(100, watch_message(0, 1000));
    assert_int_equal(1, watch_message(0, 0));
    assert_true(llamatch_lane_is_open(&f.peers[0].posted));
    end(&f);
}

/* All of the first searches, then one of 128 to 383; the searches that they stand for are all. */
static void test_intervals(void **state)
{
    uint64_t searches = 0, samples = 0;

    (void) state;
    start(LLAMATCH_AUTO);
    post(&f, 0, 1, 1);
    for (int i = 0; i < 100000; ++i) {
        if (0 == --watch.left) {
            is_first = true;
            llamatch_watch_message(&watch, &f.engine, &f.peers[0], 1);
            ++samples;
            assert_in_range(watch.interval, (samples <= LLAMATCH_SAMPLED_FIRST) ? 1 : 128,
                            (samples <= LLAMATCH_SAMPLED_FIRST) ? 1 : 383);
        }
        ++searches;
    }
    assert_int_equal(samples, watch.seen.samples);
    assert_in_range(watch.seen.searches, searches - 383, searches);
    assert_in_range(samples, 100000 / 270, 100000 / 240 + 64);
    end(&f);
}

/* Peers that a receive for any source asks in vain, and ranks that nobody knows. */
static void test_any_source(void **state)
{
    (void) state;
    start(LLAMATCH_AUTO);
    for (int s = 0; s < 6; ++s) {
        arrive(&f, s, 3, s);
    }
    assert_int_equal(6 + 6 + 8, watch_receive(ANY, 4, 64)); /* messages, peers, pointers */
    assert_int_equal(1 + (6 + 8) / 6, watch_receive(ANY, 3, 64));
    assert_int_equal(2, watch.seen.wildcards);
    for (int s = 0; s < 6; ++s) {
        assert_non_null(receive(&f, ANY, 3));
    }
    assert_int_equal(6 + 8, watch_receive(ANY, 3, 64)); /* there is nothing */
    assert_int_equal(0, watch_receive(2, 3, 64));
    assert_int_equal(3, watch.seen.searches);
    end(&f);
}

/* Times: of lists without their first element, of the search, and of the caches. */
static void test_times(void **state)
{
    (void) state;
    start(LLAMATCH_AUTO);
    for (int i = 0; i < 50; ++i) {
        post(&f, 0, i, i);
    }
    steps(500, 110);
    (void) watch_message(0, 30);
    assert_true(60 == watch.seen.list_ns);
    assert_true(100 == watch.seen.search_ns); /* without the clock */
    assert_true(390 == watch.seen.cold_ns);
    steps(10000000, 110); /* the system had something else to do */
    (void) watch_message(0, 30);
    assert_true(390 + 250 * (4 + 31.0 / 16) == watch.seen.cold_ns);
    steps(110, 500); /* never less than nothing */
    (void) watch_message(0, 0);
    assert_true(390 + 250 * (4 + 31.0 / 16) == watch.seen.cold_ns);
    assert_true(120 == watch.seen.list_ns);
    assert_true(200 == watch.seen.search_ns);
    end(&f);
}

/* Lists of several peers cost what one list of all their entries would. */
static void test_several_lists(void **state)
{
    static const llamatch_lists_t growing = {
        test_clock, 0, {{1, 2, 3, 4, 5, 6}, {2, 3, 4, 5, 6, 7}}};

    (void) state;
    start(LLAMATCH_AUTO);
    watch.lists = &growing;
    for (int i = 0; i < 17; ++i) {
        post(&f, 0, i, i);
    }
    (void) watch_message(0, 16);
    assert_true(16 == watch.seen.list_ns);
    for (int i = 0; i < 51; ++i) {
        post(&f, 1 + i % 3, i, 100 + i);
    }
    (void) watch_message(0, 16);
    assert_true(16 + 16 * 2 == watch.seen.list_ns);
    for (int i = 0; i < 68; ++i) {
        arrive(&f, 4 + i / 17, i % 17, i);
    }
    (void) watch_receive(4, 16, 0);
    assert_true(16 + 16 * 2 + 16 * 3 == watch.seen.list_ns);
    end(&f);
}

/* --- lists ---------------------------------------------------------------------------------- */

static void test_lists(void **state)
{
    llamatch_lists_t measured;
    const llamatch_lists_t growing = {test_clock, 0, {{1, 2, 3, 4, 5, 6}, {2, 2, 3, 4, 5, 6}}};

    (void) state;
    steps(7, 7);
    assert_true(llamatch_lists_measure(&measured, test_clock));
    assert_true(7 == measured.clock_ns);
    for (int i = 0; i < LLAMATCH_LIST_SIZES; ++i) {
        assert_true(measured.ns[false][i] == 7.0 / (1024 + (16 << 2 * i)));
        assert_true(measured.ns[true][i] == 7.0 / (1024 + (16 << 2 * i)));
    }
    assert_true(0 == llamatch_lists_ns(&growing, false, 0, 0));
    assert_true(16 == llamatch_lists_ns(&growing, false, 16, 16));
    assert_true(32 == llamatch_lists_ns(&growing, true, 16, 16));
    assert_true(40 * 1.5
                == llamatch_lists_ns(&growing, false, 40, 40)); /* half way from 16 to 64 */
    assert_true(128 == llamatch_lists_ns(&growing, false, 64, 64));
    assert_true(160 * 2.5 == llamatch_lists_ns(&growing, false, 160, 160));
    assert_true(16384 * 6.0 == llamatch_lists_ns(&growing, false, 16384, 16384));
    assert_true(100000 * 6.0 == llamatch_lists_ns(&growing, false, 100000, 100000));
    assert_true(10 * 2.5 == llamatch_lists_ns(&growing, false, 10, 160)); /* of several lists */
}

/* --- advice --------------------------------------------------------------------------------- */

static void has(const char *wanted)
{
    if (NULL == strstr(text, wanted)) {
        print_error("no \"%s\" in\n%s\n", wanted, text);
        fail();
    }
}

/* A communicator of a process. */
static void add_comm(llamatch_advice_t *to, const char *name, double list_ns, double search_ns,
                     double cold_ns)
{
    llamatch_watch_t seen;
    llamatch_engine_t engine = {.most_posted = 70, .most_unexpected = 7};

    llamatch_watch_init(&seen, &lists);
    seen.peers = 3;
    seen.seen = (llamatch_seen_t){.samples = 10,
                                  .searches = 1000,
                                  .wildcards = 250,
                                  .passed = 4500,
                                  .passed_max = 60,
                                  .list_ns = list_ns,
                                  .search_ns = search_ns,
                                  .cold_ns = cold_ns};
    llamatch_advice_add(to, name, &seen, &engine);
}

static void print(void)
{
    llamatch_advice_print(&advice, text, sizeof(text));
}

static void json(void)
{
    llamatch_advice_json(&advice, text, sizeof(text));
}

static void test_deep(void **state)
{
    (void) state;
    memset(&advice, 0, sizeof(advice));
    advice.run_ns = 2e9;
    add_comm(&advice, "MPI_COMM_WORLD", 1.5e9, 0.25e9, 1e6);
    print();
    has("advice after 2.00 s of processor time (");
    has("\n  MPI_COMM_WORLD: use llamatch: ob1's lists would have taken 1.25 s longer "
        "(1000 searches would have visited 4.5 entries on average and 60 at most; up to 70 entries "
        "waited; 3 peers; 25 % with wildcards)\n");
    has("\n  Run with: --mca pml llamatch\n");
    json();
    assert_string_equal(
        "{\"pml_llamatch_advise\": {\"communicators\": [{\"communicator\": \"MPI_COMM_WORLD\", "
        "\"recommendation\": [\"pml=llamatch\"], \"predicted_saving_seconds\": 1.250000, "
        "\"total_seconds\": 3.250000, \"reason\": \"ob1's lists would have taken 1.25 s "
        "longer (1000 searches would have visited 4.5 entries on average and 60 at most; up to 70 "
        "entries waited; 3 peers; 25 % with wildcards)\"}], \"recommendation\": "
        "[\"pml=llamatch\"], "
        "\"predicted_saving_seconds\": 1.250000, \"total_seconds\": 3.250000}}\n",
        text);
}

static void test_nothing(void **state)
{
    llamatch_watch_t once;
    llamatch_engine_t engine = {.most_posted = 1};

    (void) state;
    memset(&advice, 0, sizeof(advice));
    print();
    assert_string_equal("pml/llamatch: nothing to gain: no receive and no message ever waited\n",
                        text);
    json();
    has("{\"communicators\": [], \"recommendation\": [], ");
    advice.run_ns = 1e9;
    llamatch_watch_init(&once, &lists);
    once.seen = (llamatch_seen_t){.samples = 1, .searches = 1, .passed = 2, .passed_max = 2};
    llamatch_advice_add(&advice, "once", &once, &engine);
    print();
    has(" (1 search would have visited 2.0 entries on average");
    memset(&advice.rows, 0, sizeof(advice.rows));
    advice.count = 0;
    add_comm(&advice, "short", 9e6, 1e5, 2e6); /* less than a hundredth */
    print();
    has("\n  short: nothing to gain: ob1's lists are as fast (");
    has("\n  pml/llamatch changes nothing here: run with or without it\n");
    json();
    has("\"recommendation\": [], \"predicted_saving_seconds\": 0.000000, \"total_seconds\": "
        "1.008900");
    add_comm(&advice, "slower", 1e6, 5e6, 0);
    json();
    has("\"total_seconds\": 0.996000");
}

static void test_cold(void **state)
{
    (void) state;
    memset(&advice, 0, sizeof(advice));
    advice.run_ns = 1e9;
    add_comm(&advice, "cold", 1e6, 0, 100e6);
    print();
    has("\n  cold: use llamatch with its heater: ob1's lists are as fast; cold queues cost 100 ms; "
        "a heater saves about half of that if each process has a free core (");
    has("\n  Run with: --mca pml llamatch --mca pml_llamatch_heater 1 --bind-to core\n");
    json();
    has("[\"pml=llamatch\", \"pml_llamatch_heater=1\"], \"predicted_saving_seconds\": 0.050000");
    advice.no_core = true;
    print();
    has("cold: nothing to gain: ob1's lists are as fast; a heater would need a free "
        "core for each process (");
    json();
    has("], \"recommendation\": [], ");
    advice.no_core = false;
    add_comm(&advice, "deep", 200e6, 1e6, 0);
    json();
    assert_true(strstr(text, "\"deep\"") < strstr(text, "\"cold\""));
    advice.heated = true;
    print();
    has("cold: nothing to gain: ob1's lists are as fast; what the heater saved is not known "
        "from a run with it (");
}

/* Communicators of one name are one, and what several processes save at the same time counts once.
 * What each of many communicators saves is little, but not together. */
static void test_rows(void **state)
{
    char name[32];

    (void) state;
    memset(&advice, 0, sizeof(advice));
    memset(&other, 0, sizeof(other));
    advice.run_ns = 1e9;
    other.run_ns = 2e9;
    add_comm(&advice, "twice", 0.25e9, 0, 0);
    add_comm(&advice, "twice", 0.25e9, 0, 0);
    add_comm(&other, "twice", 1e9, 0, 0);
    add_comm(&other, "\"\\\n\xc3\xa9\xff\xe2\x82", 15e6, 0, 0);
    llamatch_advice_join(&advice, &other);
    assert_int_equal(2, advice.count);
    assert_int_equal(2, advice.rows[0].processes);
    assert_int_equal(3000, advice.rows[0].seen.searches);
    json();
    has("\"twice\", \"recommendation\": [\"pml=llamatch\"], \"predicted_saving_seconds\": "
        "1.000000, "
        "\"total_seconds\": 3.000000");
    has("{\"communicator\": \"\\\"\\\\\\u000a\xc3\xa9???\", \"recommendation\": [], ");

    memset(&advice, 0, sizeof(advice));
    advice.run_ns = 1e9;
    for (int i = 0; i < 100; ++i) {
        snprintf(name, sizeof(name), "comm %d", i);
        add_comm(&advice, name, 5e6 + 1000 * i, 0, 0);
    }
    assert_int_equal(LLAMATCH_ADVICE_ROWS, advice.count);
    assert_string_equal("(others)", advice.rows[LLAMATCH_ADVICE_ROWS - 1].name);
    assert_int_equal(37000, advice.rows[LLAMATCH_ADVICE_ROWS - 1].seen.searches);
    print();
    has("\n  (others): use llamatch: ");
    has("\n  and 54 more (pml_llamatch_advise json has all)\n  Run with: --mca pml llamatch\n");
    json();
    assert_int_equal('\n', text[strlen(text) - 1]);
    llamatch_advice_json(&advice, text, 100); /* is cut off */
    assert_int_equal(99, strlen(text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_passed),    cmocka_unit_test(test_form),
        cmocka_unit_test(test_intervals), cmocka_unit_test(test_any_source),
        cmocka_unit_test(test_times),     cmocka_unit_test(test_several_lists),
        cmocka_unit_test(test_lists),     cmocka_unit_test(test_deep),
        cmocka_unit_test(test_nothing),   cmocka_unit_test(test_cold),
        cmocka_unit_test(test_rows),
    };

    return cmocka_run_group_tests_name("llamatch_advice", tests, NULL, NULL);
}
