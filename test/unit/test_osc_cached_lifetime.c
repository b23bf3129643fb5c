/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * All combinations of settings, epochs and machines: what the code chooses is what the first table
 * of CONSISTENCY in the man page says, which has one row for each.  And which epoch follows another
 * one: the table in the header of osc_cached_epoch.h.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_epoch.h"
#include "osc_cached_lifetime.h"

#include <stdio.h>
#include <string.h>

enum { COLUMNS = 5, ROWS = 32, BYTES = 128 };

static char table[ROWS][COLUMNS][BYTES];
static int rows;

static const char *const modes[] = {"off", "transparent", "always", "user", "coherent"};
static const char *const stores[] = {"detect", "sync", "none", "off"};
static const char *const epochs[] = {"fence", "start", "lock", "lock_all"};

/* The cells of a row "| a | b | ... |". */
static void read_row(char *line)
{
    int column = 0;

    assert_true(rows < ROWS);
    for (char *cell = strtok(line, "|"); NULL != cell && column < COLUMNS;
         cell = strtok(NULL, "|"), ++column) {
        size_t length;

        cell += strspn(cell, " ");
        length = strlen(cell);
        while (0 < length && ' ' == cell[length - 1]) {
            --length;
        }
        assert_true(length < BYTES);
        memcpy(table[rows][column], cell, length);
        table[rows][column][length] = '\0';
    }
    assert_int_equal(COLUMNS, column);
    ++rows;
}

static int read_table(void **state)
{
    FILE *page = fopen(MAN_PAGE, "r");
    char line[4096];
    int at = -1; /* rows of the table so far, with its two first lines */

    (void) state;
    if (NULL == page) {
        return -1;
    }
    while (NULL != fgets(line, sizeof(line), page)) {
        line[strcspn(line, "\n")] = '\0';
        if (0 == strcmp("| mode | stores | coherent (+) | epoch | data fetched since |", line)) {
            at = 0;
        } else if (0 <= at && '|' != line[0]) {
            break;
        } else if (0 <= at && 0 < at++) {
            read_row(line);
        }
    }
    fclose(page);
    return (0 < rows) ? 0 : -1;
}

/* Whether "any" or a list such as "sync, none" has a name. */
static bool has(const char *cell, const char *name)
{
    size_t length = strlen(name);

    if (0 == strcmp("any", cell)) {
        return true;
    }
    for (const char *item = cell; NULL != item; item = strchr(item, ',')) {
        item += strspn(item, ", ");
        if (0 == strncmp(item, name, length) && ('\0' == item[length] || ',' == item[length])) {
            return true;
        }
    }
    return false;
}

static const char *text_of(osc_cached_lifetime_t lifetime, const char *epoch,
                           ompi_osc_cached_mode_t asked)
{
    switch (lifetime) {
    case OSC_CACHED_LIFETIME_EPOCH:
        return (0 == strcmp("fence", epoch)) ? "the last MPI_Win_fence" : "MPI_Win_start";
    case OSC_CACHED_LIFETIME_WRITE:
        return "the last complete write by anybody";
    case OSC_CACHED_LIFETIME_INVALIDATION:
        return "the last invalidation";
    case OSC_CACHED_LIFETIME_WINDOW:
        return "the window was created";
    case OSC_CACHED_LIFETIME_FLUSH: /* instead of what stands there */
        return "never served (\\*)";
    default:
        return (OSC_CACHED_MODE_OFF == asked) ? "never served" : "never served (\\*)";
    }
}

/* One window: what the code makes of it, and the row of the table. */
static void compare(ompi_osc_cached_mode_t mode, ompi_osc_cached_stores_t store,
                    ompi_osc_cached_passive_t scope, bool on_file, bool helper, bool noticed,
                    const char *epoch)
{
    bool passive = 0 == strncmp("lock", epoch, 4);
    /* the code: who wants it, and has a helper, and memory that can be watched, has it */
    bool wanted = osc_cached_insists_on_coherence(mode, store)
                  || osc_cached_accepts_coherence(mode, store, scope, on_file);
    bool coherent =
        wanted && helper && (OSC_CACHED_STORES_DETECT != store || (noticed && !on_file));
    osc_cached_lifetime_t lifetime = osc_cached_lifetime(
        osc_cached_mode_in_force(mode, store, coherent), coherent, passive, scope);
    /* the page: (+) */
    bool can =
        helper && OSC_CACHED_STORES_OFF != store
        && (OSC_CACHED_STORES_DETECT != store
            || (noticed && !on_file
                && (OSC_CACHED_MODE_TRANSPARENT != mode || OSC_CACHED_PASSIVE_NONE == scope)));
    int found = 0;

    for (int i = 0; i < rows; ++i) {
        if (has(table[i][0], modes[mode]) && has(table[i][1], stores[store])
            && has(table[i][2], can ? "yes" : "no") && has(table[i][3], epoch)) {
            ++found;
            assert_string_equal(table[i][4], text_of(lifetime, epoch, mode));
        }
    }
    assert_int_equal(1, found);
    if (OSC_CACHED_LIFETIME_FLUSH == lifetime || OSC_CACHED_LIFETIME_NOTHING == lifetime) {
        assert_int_equal(OSC_CACHED_LIFETIME_FLUSH == lifetime,
                         OSC_CACHED_MODE_OFF != mode && OSC_CACHED_PASSIVE_FLUSH == scope);
    }
}

static void test_all(void **state)
{
    (void) state;
    for (int mode = OSC_CACHED_MODE_OFF; mode <= OSC_CACHED_MODE_COHERENT; ++mode) {
        for (int store = OSC_CACHED_STORES_DETECT; store <= OSC_CACHED_STORES_OFF; ++store) {
            for (int machine = 0; machine < 16; ++machine) {
                for (int epoch = 0; epoch < 4; ++epoch) {
                    compare((ompi_osc_cached_mode_t) mode, (ompi_osc_cached_stores_t) store,
                            (machine & 1) ? OSC_CACHED_PASSIVE_FLUSH : OSC_CACHED_PASSIVE_NONE,
                            machine & 2, machine & 4, machine & 8, epochs[epoch]);
                }
            }
        }
    }
}

enum {
    EPOCHS = OSC_CACHED_EPOCH_MIXED + 1,
    EVENTS = OSC_CACHED_EVENT_UNLOCK_ALL + 1,
    NONE = OSC_CACHED_EPOCH_NONE,
    FENCE = OSC_CACHED_EPOCH_FENCE,
    START = OSC_CACHED_EPOCH_START,
    LOCK = OSC_CACHED_EPOCH_LOCK,
    ALL = OSC_CACHED_EPOCH_LOCK_ALL,
    MIXED = OSC_CACHED_EPOCH_MIXED,
};

/* By the epoch of before and the event: fence, last fence, start, complete, lock, unlock, lock_all,
 * unlock_all; when no target is locked after it (in LOCK: only after unlock), and when some are. */
static const int next_epochs[2][EPOCHS][EVENTS] = {
    {
        [NONE] = {FENCE, NONE, START, NONE, LOCK, NONE, ALL, NONE},
        [FENCE] = {FENCE, NONE, START, FENCE, LOCK, FENCE, ALL, NONE},
        [START] = {FENCE, NONE, START, NONE, LOCK, START, ALL, NONE},
        [LOCK] = {FENCE, NONE, START, LOCK, LOCK, NONE, ALL, NONE},
        [ALL] = {FENCE, NONE, START, ALL, MIXED, ALL, ALL, NONE},
        [MIXED] = {FENCE, NONE, START, MIXED, MIXED, MIXED, ALL, NONE},
    },
    {
        [NONE] = {FENCE, NONE, START, NONE, LOCK, NONE, ALL, LOCK},
        [FENCE] = {FENCE, NONE, START, FENCE, LOCK, FENCE, ALL, LOCK},
        [START] = {FENCE, NONE, START, NONE, LOCK, START, ALL, LOCK},
        [LOCK] = {FENCE, NONE, START, LOCK, LOCK, LOCK, ALL, LOCK},
        [ALL] = {FENCE, NONE, START, ALL, MIXED, ALL, ALL, LOCK},
        [MIXED] = {FENCE, NONE, START, MIXED, MIXED, MIXED, ALL, LOCK},
    },
};

static void test_epochs(void **state)
{
    (void) state;
    for (int locks = 0; locks < 3; ++locks) {
        for (int epoch = 0; epoch < EPOCHS; ++epoch) {
            for (int event = 0; event < EVENTS; ++event) {
                assert_int_equal(next_epochs[0 < locks][epoch][event],
                                 osc_cached_epoch_next((osc_cached_epoch_t) epoch,
                                                       (osc_cached_event_t) event, locks));
            }
        }
    }
    for (int epoch = 0; epoch < EPOCHS; ++epoch) {
        assert_int_equal(FENCE == epoch || START == epoch,
                         osc_cached_epoch_is_active((osc_cached_epoch_t) epoch));
        assert_int_equal(LOCK == epoch || ALL == epoch || MIXED == epoch,
                         osc_cached_epoch_is_passive((osc_cached_epoch_t) epoch));
        assert_int_equal(FENCE == epoch || ALL == epoch,
                         osc_cached_epoch_has_all((osc_cached_epoch_t) epoch));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_epochs),
    };

    return cmocka_run_group_tests(tests, read_table, NULL);
}
