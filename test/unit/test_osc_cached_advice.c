/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* osc_cached_advice: what a user is advised to set. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "osc_cached_advice.h"
#include "osc_cached_rules.h"

static osc_cached_advice_t advice;
static char text[OSC_CACHED_ADVICE_BYTES];

/* A window with a million gets of 5 us, one per flush, of which a part repeats at once. */
static osc_cached_advice_row_t a_row(const char *name, double repeats)
{
    osc_cached_advice_row_t row = {.inner = "ucx", .windows = 1, .processes = 2, .cacheable = true};
    double *sums = row.sums[OSC_CACHED_ADVICE_FAR];

    snprintf(row.name, sizeof(row.name), "%s", name);
    sums[OSC_CACHED_ADVISE_GETS] = sums[OSC_CACHED_ADVISE_BATCHES] = 1e6;
    row.most_gets[OSC_CACHED_ADVICE_FAR] = 1e6 / row.processes;
    sums[OSC_CACHED_ADVISE_REFERENCES] = 1e6;
    sums[OSC_CACHED_ADVISE_DISTINCT] = 1e6 * (1 - repeats);
    sums[OSC_CACHED_ADVISE_MEMORY] = sums[OSC_CACHED_ADVISE_DISTINCT] * 1024;
    sums[OSC_CACHED_ADVISE_TIMED_GETS] = sums[OSC_CACHED_ADVISE_TIMED_BATCHES] = 1000;
    sums[OSC_CACHED_ADVISE_BATCH_GETS] = sums[OSC_CACHED_ADVISE_BATCH_SQUARES] = 1000;
    sums[OSC_CACHED_ADVISE_GET_NS] = 1000 * 1000.0;
    sums[OSC_CACHED_ADVISE_GET_BYTES] = 1000 * 64.0;
    sums[OSC_CACHED_ADVISE_BATCH_NS] = sums[OSC_CACHED_ADVISE_BATCH_PRODUCT] = 1000 * 4000.0;
    for (int life = 0; life < OSC_CACHED_ADVISE_TRANSPARENT; ++life) {
        sums[OSC_CACHED_ADVISE_CHECKED + life] = 12345;
        sums[OSC_CACHED_ADVISE_SERVED + life * OSC_CACHED_ADVISE_BUCKETS + 20] = 1e6 * repeats;
    }
    return row;
}

static void begin(void)
{
    memset(&advice, 0, sizeof(advice));
    advice.memory = 0x1p28;
    advice.cheap_ns = 400;
}

static void has(const char *wanted)
{
    if (NULL == strstr(text, wanted)) {
        print_error("no \"%s\" in\n%s\n", wanted, text);
        fail();
    }
}

static void says(const osc_cached_advice_row_t *row, const char *wanted, const char *run)
{
    begin();
    osc_cached_advice_add(&advice, row);
    osc_cached_advice_print(&advice, text, sizeof(text));
    has("osc/cached: advice (nothing was cached in this run; 2 processes, times of the one "
        "with the most gets)\n");
    has(wanted);
    has(run);
}

static void test_verdicts(void **state)
{
    osc_cached_advice_row_t row = a_row("graph", 0.83);
    double *sums = row.sums[OSC_CACHED_ADVICE_FAR];

    (void) state;
    says(&row,
         "  graph: mode always would have served 83 % of 1.00 M gets and saved 2.03 of 2.5 s with "
         "256 KiB; no byte differed between repeated gets (12.3 k checked)\n",
         "  Run with: --mca osc cached --mca osc_cached_mode always\n");

    sums[OSC_CACHED_ADVISE_DIFFERED + OSC_CACHED_ADVISE_ALWAYS] = 17;
    sums[OSC_CACHED_ADVISE_DIFFERED + OSC_CACHED_ADVISE_REPEATS] = 17;
    says(&row,
         "bytes differed in 17 of 12.3 k repeated gets: mode always would be wrong; mode coherent "
         "could serve about 76 % of 1.00 M gets and save 1.86 of 2.5 s, and so could mode user "
         "with MPIX_Win_cache_invalidate or the info key ompi_osc_cached_invalidate where data "
         "changes\n",
         "  Run without osc/cached\n  Or try, if the program is correct in MPI's separate memory "
         "model (osc_cached(7), CONSISTENCY): --mca osc cached --mca osc_cached_stores sync\n");
    sums[OSC_CACHED_ADVISE_DIFFERED + OSC_CACHED_ADVISE_REPEATS] = 170; /* of other gets, too */
    says(&row, "repeated gets: mode always would be wrong\n", "  Run without osc/cached\n");
    assert_null(strstr(text, "Or try"));

    sums[OSC_CACHED_ADVISE_INVALIDATIONS] = 3;
    says(&row, "  graph: mode user would have served 83 % of",
         "  Run with: --mca osc cached --mca osc_cached_mode user\n");

    sums[OSC_CACHED_ADVISE_SERVED + OSC_CACHED_ADVISE_TRANSPARENT * OSC_CACHED_ADVISE_BUCKETS] =
        0.8e6;
    says(&row, "  graph: mode transparent would have served 80 % of 1.00 M gets",
         "  Run with: --mca osc cached\n");

    row = a_row("graph", 0.83);
    memset(&row.sums[OSC_CACHED_ADVICE_FAR][OSC_CACHED_ADVISE_CHECKED], 0,
           OSC_CACHED_ADVISE_LIVES * sizeof(double));
    says(&row, "whether bytes change was not checked: run with osc_cached_verify 1\n",
         "osc_cached_mode always\n");

    row = a_row("", 0.02);
    says(&row, "  (no name): nothing to gain: 2 % of 1.00 M gets repeat\n",
         "  Run without osc/cached\n");

    row = a_row("near", 0.83);
    sums[OSC_CACHED_ADVISE_GET_NS] = 1000 * 60;
    sums[OSC_CACHED_ADVISE_BATCH_NS] = sums[OSC_CACHED_ADVISE_BATCH_PRODUCT] = 1000 * 40;
    says(&row, "  near: nothing to gain: a get takes 100 ns, about as long as a hit\n",
         "  Run without osc/cached\n");

    row = a_row("written", 0.83);
    for (int life = OSC_CACHED_ADVISE_ALWAYS; life < OSC_CACHED_ADVISE_LIVES; ++life) {
        sums[OSC_CACHED_ADVISE_SERVED + life * OSC_CACHED_ADVISE_BUCKETS + 20] = 0;
    }
    says(&row,
         "  written: mode always gains nothing: 83 % of 1.00 M gets repeat, but the process writes "
         "to the target between them; mode coherent could serve about 83 % of 1.00 M gets and save "
         "2.03 of 2.5 s\n",
         "  Run without osc/cached\n  Or try, ");
    sums[OSC_CACHED_ADVISE_DIFFERED + OSC_CACHED_ADVISE_REPEATS] =
        sums[OSC_CACHED_ADVISE_CHECKED + OSC_CACHED_ADVISE_REPEATS];
    says(&row,
         "  written: nothing to gain: 83 % of 1.00 M gets repeat, but the process writes to "
         "the target between them\n",
         "  Run without osc/cached\n");
    assert_null(strstr(text, "Or try"));

    row = a_row("changes", 0.83);
    for (int life = 0; life < OSC_CACHED_ADVISE_LIVES; ++life) {
        sums[OSC_CACHED_ADVISE_DIFFERED + life] = sums[OSC_CACHED_ADVISE_CHECKED + life];
    }
    says(
        &row,
        "  changes: bytes differed in 12.3 k of 12.3 k repeated gets: mode always would be wrong\n",
        "  Run without osc/cached\n");
    assert_null(strstr(text, "Or try"));

    row = a_row("large", 0.83);
    for (int life = 0; life < OSC_CACHED_ADVISE_LIVES; ++life) {
        double *served = &sums[OSC_CACHED_ADVISE_SERVED + life * OSC_CACHED_ADVISE_BUCKETS];

        served[50] = served[20];
        served[20] = 0;
    }
    says(&row,
         "  large: nothing to gain with the memory that a process may use: 83 % of 1.00 M gets "
         "repeat, but their data needs 83.0 MiB (osc_cached_memory)\n",
         "  Run without osc/cached\n");

    row = a_row("idle", 0);
    memset(row.sums, 0, sizeof(row.sums));
    says(&row, "  idle: nothing to gain: it was not read by MPI_Get or MPI_Rget\n",
         "  Run without osc/cached\n");
    row.sums[OSC_CACHED_ADVICE_NEAR][OSC_CACHED_ADVISE_ATOMICS] =
        20000; /* helpers are for others */
    says(&row, "  idle: nothing to gain: it was not read by MPI_Get or MPI_Rget\n",
         "  Run without osc/cached\n");
    row.sums[OSC_CACHED_ADVICE_FAR][OSC_CACHED_ADVISE_ATOMICS] = 20000;
    says(&row,
         "  idle: nothing to cache: it was not read by MPI_Get or MPI_Rget; 20.0 k accumulates and "
         "atomics went to other nodes, where a helper may execute them while its process "
         "computes\n",
         "  Run without osc/cached, unless a run with its helpers is faster: --mca osc cached\n");
    row.cacheable = false;
    says(&row, "  idle: shared and dynamic windows, and those of osc/sm, are never cached\n", "");
}

/* Gets of the same node are as fast as hits, the others are not. */
static void test_sides(void **state)
{
    osc_cached_advice_row_t row = a_row("graph", 0.8), near = a_row("graph", 0.8);
    osc_cached_advice_told_t told;
    double *sums = row.sums[OSC_CACHED_ADVICE_NEAR];

    (void) state;
    begin();
    memcpy(sums, near.sums[OSC_CACHED_ADVICE_FAR], sizeof(row.sums[0]));
    row.most_gets[OSC_CACHED_ADVICE_NEAR] = near.most_gets[OSC_CACHED_ADVICE_FAR];
    sums[OSC_CACHED_ADVISE_GET_NS] = 1000 * 60;
    sums[OSC_CACHED_ADVISE_BATCH_NS] = sums[OSC_CACHED_ADVISE_BATCH_PRODUCT] = 1000 * 40;
    told = osc_cached_advice_of(&advice, &row);
    assert_int_equal(told.verdict, OSC_CACHED_ADVICE_SERVES);
    assert_true(0.39 < told.hit_rate && told.hit_rate < 0.41);
    assert_true(2.5e9 < told.total_ns && told.total_ns < 2.6e9);
    assert_true(1.9e9 < told.saving_ns && told.saving_ns < 2.1e9);
}

/* The times of a program are those of its slowest process. */
static void test_busiest(void **state)
{
    osc_cached_advice_row_t row = a_row("graph", 0.83);
    osc_cached_advice_told_t alike, told;

    (void) state;
    begin();
    alike = osc_cached_advice_of(&advice, &row);
    row.most_gets[OSC_CACHED_ADVICE_FAR] = row.sums[OSC_CACHED_ADVICE_FAR][OSC_CACHED_ADVISE_GETS];
    told = osc_cached_advice_of(&advice, &row);
    assert_true(told.verdict == alike.verdict && told.hit_rate == alike.hit_rate
                && told.get_ns == alike.get_ns && told.memory == alike.memory);
    assert_true(told.total_ns == 2 * alike.total_ns && told.saving_ns == 2 * alike.saving_ns);
}

/* Windows that want different things get rules. */
static void test_rules(void **state)
{
    osc_cached_advice_row_t row = a_row("my graph", 0.83);

    (void) state;
    begin();
    osc_cached_advice_add(&advice, &row);
    osc_cached_advice_add(&advice, &row);
    row = a_row("table", 0);
    osc_cached_advice_add(&advice, &row);
    osc_cached_advice_print(&advice, text, sizeof(text));
    has("  my graph (2 windows): mode always would have served 83 % of 2.00 M gets");
    has("  Run with: --mca osc cached --mca osc_cached_rules \"name=my?graph: mode=always\"\n");
    row = a_row("tree", 0.5);
    row.sums[OSC_CACHED_ADVICE_FAR][OSC_CACHED_ADVISE_INVALIDATIONS] = 1;
    osc_cached_advice_add(&advice, &row);
    osc_cached_advice_json(&advice, text, sizeof(text));
    has("], \"recommendation\": [\"osc=cached\", \"osc_cached_rules=name=my?graph: mode=always; "
        "name=tree: mode=user\"], ");

    /* without a name of the program's own it cannot be chosen alone */
    for (int i = 0; i < 2; ++i) {
        begin();
        row = a_row((0 == i) ? "" : "ucx window 3", 0.83);
        osc_cached_advice_add(&advice, &row);
        row = a_row("table", 0);
        osc_cached_advice_add(&advice, &row);
        osc_cached_advice_print(&advice, text, sizeof(text));
        has("; give it a name (MPI_Win_set_name), so that osc_cached_rules can choose it\n");
        has("  Run without osc/cached\n");
        osc_cached_advice_json(&advice, text, sizeof(text));
        has("], \"recommendation\": [], \"predicted_saving_seconds\": 0.000000, ");
    }
}

static bool is_any(const char *values, const char *value)
{
    (void) values;
    (void) value;
    return true;
}

/* However many rules are recommended, they can be read. */
static void test_many_rules(void **state)
{
    static const osc_cached_rules_setting_t mode = {"mode", "any", false};
    static osc_cached_rules_t rules;
    char name[OSC_CACHED_ADVICE_NAME], *begin_of, *end;
    osc_cached_advice_row_t row = a_row("table", 0);
    size_t where;

    (void) state;
    begin();
    osc_cached_advice_add(&advice, &row);
    for (int i = 1; i < OSC_CACHED_ADVICE_ROWS; ++i) {
        snprintf(name, sizeof(name), "%d%062d", i % 10, i);
        row = a_row(name, 0.83);
        osc_cached_advice_add(&advice, &row);
    }
    osc_cached_advice_json(&advice, text, sizeof(text));
    begin_of = strstr(text, "osc_cached_rules=") + strlen("osc_cached_rules=");
    end = strchr(begin_of, '"');
    *end = '\0';
    assert_null(osc_cached_rules_read(&rules, begin_of, &mode, 1, is_any, &where));
    assert_int_equal(rules.count, OSC_CACHED_ADVICE_ROWS - 1);
}

/* Those with the most to gain come first. */
static void test_order(void **state)
{
    osc_cached_advice_row_t row = a_row("nothing", 0);

    (void) state;
    begin();
    osc_cached_advice_add(&advice, &row);
    row = a_row("some", 0.5);
    osc_cached_advice_add(&advice, &row);
    row = a_row("most", 0.9);
    osc_cached_advice_add(&advice, &row);
    osc_cached_advice_print(&advice, text, sizeof(text));
    assert_true(strstr(text, "  most: ") < strstr(text, "  some: "));
    assert_true(strstr(text, "  some: ") < strstr(text, "  nothing: "));
    osc_cached_advice_json(&advice, text, sizeof(text));
    assert_true(strstr(text, "\"most\"") < strstr(text, "\"some\""));
    assert_true(strstr(text, "\"some\"") < strstr(text, "\"nothing\""));
}

static void test_json(void **state)
{
    osc_cached_advice_row_t row = a_row("a \"graph\"", 0.83);

    (void) state;
    begin();
    osc_cached_advice_add(&advice, &row);
    osc_cached_advice_json(&advice, text, sizeof(text));
    has("{\"osc_cached_advise\": {\"windows\": [{\"window\": \"a \\\"graph\\\"\", \"windows\": 1, "
        "\"inner\": \"ucx\", \"processes\": 2, \"recommendation\": [\"osc=cached\", "
        "\"osc_cached_mode=always\"], \"gets\": 1000000, \"repeated_rate\": 0.8300, "
        "\"predicted_hit_rate\": 0.8300, \"predicted_saving_seconds\": 2.0");
    has("\"total_seconds\": 2.500000, \"memory_bytes\": 262144, \"checked\": 12345, "
        "\"differed\": 0, \"reason\": \"mode always would have");
    has("], \"recommendation\": [\"osc=cached\", \"osc_cached_mode=always\"], "
        "\"predicted_saving_seconds\": 2.0");
    assert_int_equal(text[strlen(text) - 1], '\n');
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);

    /* what may be tried beside what is recommended */
    row = a_row("changes", 0.5);
    row.sums[OSC_CACHED_ADVICE_FAR][OSC_CACHED_ADVISE_DIFFERED + OSC_CACHED_ADVISE_ALWAYS] = 1;
    osc_cached_advice_add(&advice, &row);
    osc_cached_advice_json(&advice, text, sizeof(text));
    has("], \"candidate\": [\"osc=cached\", \"osc_cached_rules=name=a??graph?: mode=always\", "
        "\"osc_cached_stores=sync\"], \"candidate_saving_seconds\": 3.2");
    has(", \"recommendation\": [\"osc=cached\", \"osc_cached_rules=name=a??graph?: mode=always\"], "
        "\"predicted_saving_seconds\": 2.0");
    row = a_row("a \"graph\"", 0.83);

    /* what is not recommended saves nothing */
    row.sums[OSC_CACHED_ADVICE_FAR][OSC_CACHED_ADVISE_DIFFERED + OSC_CACHED_ADVISE_ALWAYS] = 1;
    begin();
    osc_cached_advice_add(&advice, &row);
    osc_cached_advice_json(&advice, text, sizeof(text));
    has("\"recommendation\": [], \"gets\": 1000000, \"repeated_rate\": 0.8300, "
        "\"predicted_hit_rate\": 0.0000, \"predicted_saving_seconds\": 0.000000, ");
}

/* Any number of windows with the longest names: the text is complete. */
static void test_many(void **state)
{
    osc_cached_advice_row_t row;

    (void) state;
    begin();
    for (int i = 0; i < 2 * OSC_CACHED_ADVICE_ROWS; ++i) {
        char name[OSC_CACHED_ADVICE_NAME];

        snprintf(name, sizeof(name), "%063d", i);
        row = a_row(name, 0.5);
        row.sums[OSC_CACHED_ADVICE_FAR][OSC_CACHED_ADVISE_DIFFERED + OSC_CACHED_ADVISE_ALWAYS] = 1;
        osc_cached_advice_add(&advice, &row);
    }
    assert_int_equal(advice.count, OSC_CACHED_ADVICE_ROWS);
    osc_cached_advice_print(&advice, text, sizeof(text));
    has("  (others) (65 windows): bytes differed");
    has("  Run without osc/cached\n");
    osc_cached_advice_json(&advice, text, sizeof(text));
    has("}}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_rules), cmocka_unit_test(test_order),
        cmocka_unit_test(test_verdicts),   cmocka_unit_test(test_sides),
        cmocka_unit_test(test_busiest),    cmocka_unit_test(test_rules),
        cmocka_unit_test(test_json),       cmocka_unit_test(test_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
