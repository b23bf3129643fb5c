/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* osc_cached_table: what a job is told of its windows. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "osc_cached_table.h"
#include "osc_cached_text.h"

static osc_cached_table_t table;
static char text[OSC_CACHED_TABLE_BYTES];

static osc_cached_row_t a_row(const char *name, const char *mode, uint64_t gets, uint64_t hits)
{
    osc_cached_row_t row = {
        .mode = mode, .inner = "ucx", .windows = 1, .processes = 4, .cacheable = true};

    snprintf(row.name, sizeof(row.name), "%s", name);
    row.passes_passive = 0 == strcmp(mode, "transparent");
    row.sums[OSC_CACHED_STAT_gets] = gets;
    row.sums[OSC_CACHED_STAT_hits] = hits;
    row.sums[OSC_CACHED_STAT_locks] = 1;
    return row;
}

static void has(const char *wanted)
{
    if (NULL == strstr(text, wanted)) {
        print_error("no \"%s\" in\n%s\n", wanted, text);
        fail();
    }
}

static void test_numbers(void **state)
{
    static const struct {
        void (*write)(uint64_t value, char text[16]);
        uint64_t value;
        const char *wanted;
    } numbers[] = {
        {osc_cached_text_number, 0, "0"},
        {osc_cached_text_number, 9999, "9999"},
        {osc_cached_text_number, 10000, "10.0 k"},
        {osc_cached_text_number, 999499, "999 k"},
        {osc_cached_text_number, 999600, "1.00 M"},
        {osc_cached_text_number, 1234567, "1.23 M"},
        {osc_cached_text_number, UINT64_MAX, "18.4 E"},
        {osc_cached_text_bytes, 0, "0 B"},
        {osc_cached_text_bytes, 1023, "1023 B"},
        {osc_cached_text_bytes, 1024, "1.00 KiB"},
        {osc_cached_text_bytes, 823296, "804 KiB"},
        {osc_cached_text_bytes, UINT64_MAX, "16.0 EiB"},
        {osc_cached_text_time, 0, "0 ns"},
        {osc_cached_text_time, 41, "41 ns"},
        {osc_cached_text_time, 40203711, "40.2 ms"},
        {osc_cached_text_time, UINT64_C(3400000000), "3.40 s"},
        {osc_cached_text_time, UINT64_C(123456000000000), "123456 s"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); ++i) {
        char written[16];

        numbers[i].write(numbers[i].value, written);
        assert_string_equal(written, numbers[i].wanted);
    }
}

static void test_table(void **state)
{
    osc_cached_row_t row = a_row("graph", "always", 1000000, 829000);

    (void) state;
    table.count = 0;
    row.sums[OSC_CACHED_STAT_joins] = 1000;
    row.sums[OSC_CACHED_STAT_ns_saved] = UINT64_C(3400000000);
    row.sums[OSC_CACHED_STAT_storage_used] = 823296;
    osc_cached_table_add(&table, &row);
    row = a_row("work", "transparent", 500, 0);
    row.sums[OSC_CACHED_STAT_bypassed] = 500;
    for (int i = 0; i < 40; ++i) {
        osc_cached_table_add(&table, &row);
    }
    assert_int_equal(table.count, 2);
    osc_cached_table_print(&table, text, sizeof(text));
    has("osc/cached: 1.02 M gets of 4 processes in 41 windows, 81.4 % from the cache; 3.40 s "
        "saved");
    has("  graph                      1 always      ucx        1.00 M    83.0 %");
    has("   3.40 s    804 KiB\n");
    has("  work                      40 transparent ucx        20.0 k     0.0 %");
    has("    20.0 k bypassed: mode transparent keeps nothing between lock and unlock; "
        "if the window is only read: osc_cached_mode always\n");
    assert_null(strstr(text, "compared"));
    assert_null(strstr(text, "more"));
    osc_cached_table_verified(&table, text, sizeof(text)); /* nothing was served */
    assert_string_equal(text, "osc/cached: 0 hits compared with the target's memory, 0 differ\n");

    row.in_sysv = true;
    osc_cached_table_add(&table, &row);
    osc_cached_table_print(&table, text, sizeof(text));
    has("osc_cached_mode always; else UCX_TLS=^sysv, so that stores can be detected\n");
    row = a_row("", "off", 7, 0);
    row.sums[OSC_CACHED_STAT_bypassed] = 7;
    row.sums[OSC_CACHED_STAT_verified] = 12345;
    osc_cached_table_add(&table, &row);
    osc_cached_table_print(&table, text, sizeof(text));
    has("osc/cached: 12345 hits compared with the target's memory, 0 differ\n");
    has("  (no name) ");
    has("    7 bypassed: mode off\n");
    table.count = 0;
    row = a_row("one", "always", 1, 0);
    row.processes = 1;
    osc_cached_table_add(&table, &row);
    osc_cached_table_print(&table, text, sizeof(text));
    has("osc/cached: 1 get of 1 process in 1 window, 0.0 % from the cache; ");
    row.sums[OSC_CACHED_STAT_verified] = 12345;
    osc_cached_table_add(&table, &row);
    osc_cached_table_verified(&table, text, sizeof(text));
    assert_string_equal(text,
                        "osc/cached: 12345 hits compared with the target's memory, 0 differ\n");
}

/* All counters of the node, of coherence, of cooperation and of files, where there are some. */
static void test_groups(void **state)
{
    osc_cached_row_t row = a_row("shared", "coherent", 100, 60);

    (void) state;
    table.count = 0;
    osc_cached_table_add(&table, &row);
    osc_cached_table_print(&table, text, sizeof(text));
    assert_null(strstr(text, "coherence"));
    assert_null(strstr(text, "cooperate"));
    for (int i = OSC_CACHED_STAT_coherence_fills; i <= OSC_CACHED_STAT_cooperate_lasts; ++i) {
        row.sums[i] = (uint64_t) (i - OSC_CACHED_STAT_coherence_fills);
    }
    osc_cached_table_add(&table, &row);
    osc_cached_table_print(&table, text, sizeof(text));
    has("\n    coherence: 1 directs, 2 holds, 3 recalls, 4 dropped, 5 invalidations, 6 syncs, "
        "7 traps\n"
        "    cooperate: 8 kept, 9 forwards, 10 backs, 11 evictions, 12 lasts\n");
    assert_null(strstr(text, "file"));
    assert_null(strstr(text, "node"));
    row.sums[OSC_CACHED_STAT_node_hits] = 20000;
    row.sums[OSC_CACHED_STAT_node_bytes] = 1 << 20; /* each process tells the same */
    row.sums[OSC_CACHED_STAT_node_recoveries] = 2;
    osc_cached_table_add(&table, &row);
    osc_cached_table_print(&table, text, sizeof(text));
    has("\n    node: 20.0 k hits, 2 recoveries\n    coherence: ");
    for (int i = OSC_CACHED_STAT_file_reads; i <= OSC_CACHED_STAT_file_wait_ns; ++i) {
        row.sums[i] = (uint64_t) (i - OSC_CACHED_STAT_file_reads + 1);
    }
    osc_cached_table_add(&table, &row);
    osc_cached_table_print(&table, text, sizeof(text));
    has("\n    file: 1 reads, 2 bytes_read, 3 read_waits, 4 near, 5 syncs, 6 synced, 7 waits, 8 "
        "wait_ns\n");
}

/* One reason each. */
static void test_reasons(void **state)
{
    osc_cached_row_t row = a_row("w", "always", 9, 0);

    (void) state;
    row.sums[OSC_CACHED_STAT_bypassed] = 9;
    row.sums[OSC_CACHED_SUM_TARGETS] = 3;
    for (int i = 0; i < 4; ++i) {
        static const char *const wanted[] = {
            "gets from the process itself, gets while its own writes are in flight, or gets",
            "caching did not pay off for 2 of 3 targets (osc_cached_profit)",
            "1 of 3 targets are as fast as the cache (osc_cached_bypass_below)",
            "windows of osc/sm, shared and dynamic ones are not cached",
        };

        row.sums[OSC_CACHED_SUM_SAMPLED] = (1 <= i) ? 2 : 0;
        row.sums[OSC_CACHED_SUM_CHEAP] = (2 <= i) ? 1 : 0;
        row.cacheable = i < 3;
        table.count = 0;
        osc_cached_table_add(&table, &row);
        osc_cached_table_print(&table, text, sizeof(text));
        has(wanted[i]);
    }
}

/* More windows than rows: the largest are shown, and nothing is lost. */
static void test_many(void **state)
{
    enum { MANY = 1000 };

    (void) state;
    table.count = 0;
    for (int i = 0; i < MANY; ++i) {
        char name[16];
        osc_cached_row_t row;

        snprintf(name, sizeof(name), "window %d", i);
        row = a_row(name, "always", 10 + (uint64_t) i, 5);
        osc_cached_table_add(&table, &row);
    }
    assert_int_equal(table.count, OSC_CACHED_TABLE_ROWS);
    osc_cached_table_print(&table, text, sizeof(text));
    has("in 1000 windows");
    has("  window 62 ");
    has("  (others) ");
    has("  and 54 more");
    assert_null(strstr(text, "  window 1 "));
    osc_cached_table_json(&table, text, sizeof(text));
    assert_string_equal(text + strlen(text) - 4, "]}}\n");
    has("{\"osc_cached\": {\"total\": {\"windows\": 1000, \"processes\": 4,");
}

static void test_json(void **state)
{
    osc_cached_row_t row = a_row("a \"b\"\\\n", "off", 8, 4);

    (void) state;
    table.count = 0;
    memset(&row.sums, 0xff, sizeof(row.sums));
    osc_cached_table_add(&table, &row);
    osc_cached_table_json(&table, text, sizeof(text));
    has("\"windows\": [{\"name\": \"a \\\"b\\\"\\\\\\u000a\", \"mode\": \"off\", \"inner\": "
        "\"ucx\", "
        "\"bypassed_because\": \"mode off\", \"windows\": 1, \"processes\": 4, \"hit_rate\": ");
    has("\"ns_saved\": 18446744073709551615");
    /* UTF-8 stays; what is none, or was cut off, does not make the JSON invalid */
    table.count = 0;
    snprintf(row.name, sizeof(row.name),
             "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80|\xff \xc0\xaf \xe0\x80\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x82");
    osc_cached_table_add(&table, &row);
    osc_cached_table_json(&table, text, sizeof(text));
    has("\"name\": \"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80|? ?? ??? ??? ???? ??\", ");
    /* a small buffer is not left */
    for (size_t size = 1; size < 600; ++size) {
        memset(text, 'x', sizeof(text));
        osc_cached_table_json(&table, text, size);
        assert_true(strlen(text) < size && 'x' == text[size]);
        memset(text, 'x', sizeof(text));
        osc_cached_table_print(&table, text, size);
        assert_true(strlen(text) < size && 'x' == text[size]);
    }
    table.count = 0;
    for (int i = 0; i < OSC_CACHED_TABLE_ROWS; ++i) {
        snprintf(
            row.name, sizeof(row.name), "%d%.*s", i, 60,
            "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1");
        osc_cached_table_add(&table, &row);
    }
    osc_cached_table_json(&table, text, sizeof(text));
    assert_string_equal(text + strlen(text) - 4, "]}}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_table), cmocka_unit_test(test_groups),
        cmocka_unit_test(test_reasons), cmocka_unit_test(test_many),  cmocka_unit_test(test_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
