/* The info keys of a window do what they say, when it is made and later, and MPI_Win_get_info tells
 * what is in force.
 *
 * test: for=osc-cached needs=cache cache="" ranks=2 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { N = 1000 };

static struct counters c;
static MPI_Win win;

/* 100 gets, twice; how many of the second ones hit. */
static unsigned long second_hits(void)
{
    unsigned long hits = 0;

    for (int pass = 0; pass < 2; ++pass) {
        hits = counter(&c, "hits");
        for (int i = 0; i < 100; ++i) {
            int got = -1;
            OK(MPI_Get(&got, 1, MPI_INT, 1, 9 * i, 1, MPI_INT, win));
            OK(MPI_Win_flush(1, win));
            CHECK(9 * i == got, "[%d] = %d", 9 * i, got);
        }
    }
    return counter(&c, "hits") - hits;
}

static void get_key(const char *key, char *value)
{
    MPI_Info info;
    int flag;

    OK(MPI_Win_get_info(win, &info));
    OK(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag));
    OK(MPI_Info_free(&info));
    CHECK(flag, "no %s", key);
}

static void in_force(const char *key, const char *wanted)
{
    char value[MPI_MAX_INFO_VAL + 1] = "(none)";

    get_key(key, value);
    CHECK(0 == strcmp(value, wanted), "%s is %s, wanted %s", key, value, wanted);
}

static long number(const char *key)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";

    get_key(key, value);
    return atol(value);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *key, *value, *mode;
        unsigned long hits;
    } starts[] = {{"ompi_osc_cached_mode", "always", "always", 100},
                  {"ompi_osc_cached_mode", "off", "off", 0},
                  {"ompi_osc_cached_mode", "transparent", "transparent", 0},
                  {"CLAMPI_MODE", "1", "transparent", 0},
                  {"CLAMPI_MODE", "2", "always", 100},
                  {"CLAMPI_MODE", "3", "user", 100},
                  {"ompi_osc_cached_scheme", "temporal", "transparent", 0}};
    int *base;

    test_init(&argc, &argv);
    for (unsigned k = 0; k < sizeof(starts) / sizeof(starts[0]); ++k) {
        unsigned long hits;

        win = keyed_window(NULL, N * sizeof(int), sizeof(int), &base, starts[k].key,
                           starts[k].value, NULL);
        counters_open(&c, &win);
        for (int i = 0; i < N; ++i) {
            base[i] = i;
        }
        in_force("ompi_osc_cached_mode", starts[k].mode);
        test_barrier();
        OK(MPI_Win_lock_all(0, win));
        if (0 == test_rank) {
            hits = second_hits();
            CHECK(starts[k].hits == hits, "%s=%s: %lu hits", starts[k].key, starts[k].value, hits);
        }
        OK(MPI_Win_unlock_all(win));

        /* another mode, other sizes */
        test_set_key(win, "ompi_osc_cached_mode", "user");
        test_set_key(win, "ompi_osc_cached_entries", "3000");
        test_set_key(win, "ompi_osc_cached_memory", "256K");
        test_set_key(win, "ompi_osc_cached_adaptive", "false");
        test_set_key(win, "ompi_osc_cached_sample", "4");
        in_force("ompi_osc_cached_mode", "user");
        in_force("ompi_osc_cached_sample", "4");
        in_force("ompi_osc_cached_adaptive", "false");
        OK(MPI_Win_lock_all(0, win));
        if (0 == test_rank) {
            hits = second_hits();
            CHECK(100 == hits, "%s=%s, then user: %lu hits", starts[k].key, starts[k].value, hits);
            CHECK(3000 <= number("ompi_osc_cached_entries"), "%ld entries",
                  number("ompi_osc_cached_entries"));
            CHECK(0 < counter(&c, "storage_capacity")
                      && counter(&c, "storage_capacity") <= 256 * 1024,
                  "room for %lu bytes", counter(&c, "storage_capacity"));
            test_set_key(win, "ompi_osc_cached_mode", "off"); /* in the middle of an epoch */
            hits = counter(&c, "hits");
            CHECK(0 == second_hits(), "%s=%s, then off", starts[k].key, starts[k].value);
            COUNTS(&c, "hits", hits, "mode off");
        }
        OK(MPI_Win_unlock_all(win));
        test_barrier();
        counters_close(&c);
        OK(MPI_Win_free(&win));
    }
    return test_done();
}
