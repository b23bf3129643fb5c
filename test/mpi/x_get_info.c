/* MPI_Win_get_info tells the mode and the sizes in force, also when another key, the budget or the
 * adaptation has changed them.
 *
 * test: for=osc-cached needs=cache cache="memory=32M" ranks=2 transport=shm limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

static long number(MPI_Win win, const char *key)
{
    char value[64] = "";
    MPI_Info info;
    int there;

    OK(MPI_Win_get_info(win, &info));
    OK(MPI_Info_get(info, key, sizeof(value) - 1, value, &there));
    CHECK(there, "no %s", key);
    OK(MPI_Info_free(&info));
    return atol(value);
}

static void check_text(MPI_Win win, const char *key, const char *wanted)
{
    char value[64] = "";
    MPI_Info info;
    int there;

    OK(MPI_Win_get_info(win, &info));
    OK(MPI_Info_get(info, key, sizeof(value) - 1, value, &there));
    CHECK(there && 0 == strcmp(value, wanted), "%s is \"%s\", wanted \"%s\"", key, value, wanted);
    OK(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    enum { GETS = 4000, BYTES = 256 };
    char *base, buffer[BYTES];
    MPI_Info info;
    MPI_Win win;

    test_init(&argc, &argv);
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "ompi_osc_cached_mode", "always"));
    OK(MPI_Info_set(info, "ompi_osc_cached_memory", "1G"));
    OK(MPI_Info_set(info, "ompi_osc_cached_entries", "112"));
    OK(MPI_Info_set(info, "ompi_osc_cached_sample", "8"));
    OK(MPI_Info_set(info, "ompi_osc_cached_scheme", "temporal"));
    OK(MPI_Win_allocate((MPI_Aint) GETS * BYTES, 1, info, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Info_free(&info));
    test_win(win);
    check_text(win, "ompi_osc_cached_mode", "always");
    check_text(win, "CLAMPI_MODE", "2");
    check_text(win, "ompi_osc_cached_memory", "1073741824");
    check_text(win, "ompi_osc_cached_entries", "112");
    check_text(win, "ompi_osc_cached_sample", "8");
    check_text(win, "ompi_osc_cached_scheme", "temporal");
    check_text(win, "ompi_osc_cached_adaptive", "true");

    /* once it is used: what the budget of 32M allows, and as many entries as it took */
    OK(MPI_Win_lock_all(0, win));
    if (0 == test_rank) {
        for (int i = 0; i < GETS; ++i) {
            OK(MPI_Get(buffer, BYTES, MPI_BYTE, 1, (MPI_Aint) i * BYTES, BYTES, MPI_BYTE, win));
            OK(MPI_Win_flush(1, win));
        }
        CHECK(number(win, "ompi_osc_cached_memory") <= 32 << 20, "memory %ld",
              number(win, "ompi_osc_cached_memory"));
        CHECK(number(win, "ompi_osc_cached_entries") > 112, "entries %ld",
              number(win, "ompi_osc_cached_entries"));
    }
    OK(MPI_Win_unlock_all(win));

    test_set_key(win, "CLAMPI_MODE", "1");
    check_text(win, "ompi_osc_cached_mode", "transparent");
    check_text(win, "CLAMPI_MODE", "1");
    test_set_key(win, "ompi_osc_cached_mode", "user");
    check_text(win, "ompi_osc_cached_mode", "user");
    check_text(win, "CLAMPI_MODE", "3");
    OK(MPI_Win_free(&win));
    return test_done();
}
