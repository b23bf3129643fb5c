/* Info keys of windows that are made and freed one after the other, or several at a time: each has
 * its own values in force, whatever an earlier window was told, and takes new ones.
 *
 * test: for=osc-cached needs=cache ranks=2 transport=shm
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { WINDOWS = 7, KEYS_MAX = 64 };

static struct {
    int n;
    char key[KEYS_MAX][MPI_MAX_INFO_KEY], value[KEYS_MAX][64];
} at_first;

static double memory[WINDOWS][16];

static MPI_Win make(int i, MPI_Info info)
{
    MPI_Win win;

    OK(MPI_Win_create(memory[i], sizeof(memory[i]), 8, info, MPI_COMM_WORLD, &win));
    return win;
}

static void says(MPI_Win win, const char *key, const char *wanted, const char *when)
{
    char value[64] = "";
    MPI_Info info;
    int there;

    OK(MPI_Win_get_info(win, &info));
    OK(MPI_Info_get(info, key, sizeof(value) - 1, value, &there));
    CHECK(there && 0 == strcmp(value, wanted), "%s: %s = \"%s\", not \"%s\"", when, key, value,
          wanted);
    OK(MPI_Info_free(&info));
}

/* All keys are there once, with the values of the first window. */
static void check(MPI_Win win, const char *when)
{
    MPI_Info info;
    int n, there;

    OK(MPI_Win_get_info(win, &info));
    OK(MPI_Info_get_nkeys(info, &n));
    if (0 == at_first.n) {
        for (int i = 0; i < n && i < KEYS_MAX; ++i) {
            OK(MPI_Info_get_nthkey(info, i, at_first.key[i]));
            OK(MPI_Info_get(info, at_first.key[i], 63, at_first.value[i], &there));
            ++at_first.n;
        }
    }
    CHECK(n == at_first.n && n >= 10, "%s: %d keys, at first %d", when, n, at_first.n);
    OK(MPI_Info_free(&info));
    for (int i = 0; i < at_first.n; ++i) {
        says(win, at_first.key[i], at_first.value[i], when);
    }
}

/* It takes what it is told. */
static void change(MPI_Win win, const char *when)
{
    test_set_key(win, "ompi_osc_cached_mode", "user");
    says(win, "ompi_osc_cached_mode", "user", when);
    says(win, "CLAMPI_MODE", "3", when);
    test_set_key(win, "ompi_osc_cached_memory", "65536");
    says(win, "ompi_osc_cached_memory", "65536", when);
    test_set_key(win, "ompi_osc_cached_sample", "7");
    says(win, "ompi_osc_cached_sample", "7", when);
    test_set_key(win, "CLAMPI_MODE", "2");
    says(win, "ompi_osc_cached_mode", "always", when);
}

int main(int argc, char **argv)
{
    MPI_Win win, wins[WINDOWS];
    MPI_Info info;

    test_init(&argc, &argv);
    for (int round = 0; round < 3; ++round) {
        win = make(0, MPI_INFO_NULL);
        check(win, "one window");
        OK(MPI_Win_free(&win));
        win = make(0, MPI_INFO_NULL);
        check(win, "the next one");
        change(win, "the next one");
        OK(MPI_Win_free(&win));

        OK(MPI_Info_create(&info));
        OK(MPI_Info_set(info, "ompi_osc_cached_scheme", "temporal"));
        OK(MPI_Info_set(info, "some_other_key", "17"));
        win = make(0, info);
        says(win, "ompi_osc_cached_scheme", "temporal", "given");
        says(win, "ompi_osc_cached_mode", "transparent", "given");
        change(win, "given");
        OK(MPI_Win_free(&win));
        OK(MPI_Info_free(&info));

        for (int i = 0; i < WINDOWS; ++i) {
            wins[i] = make(i, MPI_INFO_NULL);
            check(wins[i], "several");
            if (0 == i % 2) {
                change(wins[i], "several");
            }
        }
        for (int i = 0; i < WINDOWS; ++i) {
            if (1 == i % 2) {
                check(wins[i], "several, later");
            }
            OK(MPI_Win_free(&wins[i]));
        }
    }
    return test_done();
}
