/* Settings of windows from outside (osc_cached_rules): by name at the window's first call, by size,
 * kind and number of processes when it is created; a later rule overrides an earlier one, and
 * MPI_Win_set_info all of them.
 *
 * test: for=osc-cached needs=cache cache="" ranks=2 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "counters.h"

enum { SMALL = 4096, LARGE = 2 << 20 };

static const char rules[] =
    "name=graph*: mode=always scheme=temporal; name=h?t: mode=always; size>1M: mode=off;"
    "kind=create, processes=1: mode=user, sample=7; kind=allocate: scheme=positional helper=on";

static void get_key(MPI_Win win, const char *key, char value[MPI_MAX_INFO_VAL + 1])
{
    MPI_Info info;
    int flag;

    OK(MPI_Win_get_info(win, &info));
    OK(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag));
    OK(MPI_Info_free(&info));
}

static void in_force(MPI_Win win, const char *what, const char *key, const char *wanted)
{
    char value[MPI_MAX_INFO_VAL + 1] = "(none)";

    get_key(win, key, value);
    CHECK(0 == strcmp(value, wanted), "%s: %s is %s, wanted %s", what, key, value, wanted);
}

/* Four gets of the same bytes: how many were hits. */
static unsigned long hits(struct counters *c, MPI_Win win)
{
    unsigned long before = counter(c, "hits");
    char got[16];

    for (int i = 0; i < 4; ++i) {
        OK(MPI_Get(got, 16, MPI_BYTE, 1 - test_rank, 0, 16, MPI_BYTE, win));
        OK(MPI_Win_flush(1 - test_rank, win));
    }
    return counter(c, "hits") - before;
}

/* A window with a name; key: what the program says when it creates it. */
static void named(const char *name, size_t bytes, const char *key, const char *value,
                  const char *mode, const char *scheme)
{
    struct counters c;
    MPI_Win win;
    char *base = malloc(LARGE);
    unsigned long served;

    win = keyed_window(base, bytes, 1, &base, key, value, NULL);
    counters_open(&c, &win);
    OK(MPI_Win_set_name(win, name));
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    in_force(win, name, "ompi_osc_cached_mode", mode);
    in_force(win, name, "ompi_osc_cached_scheme", scheme);
    served = hits(&c, win);
    CHECK((0 == strcmp(mode, "always") ? 3 : 0) == served, "%s: %lu hits", name, served);
    test_set_key(win, "ompi_osc_cached_mode", "always");
    in_force(win, name, "ompi_osc_cached_mode", "always");
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_lock_all(0, win)); /* not a first call */
    in_force(win, name, "ompi_osc_cached_mode", "always");
    OK(MPI_Win_unlock_all(win));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    free(base);
}

int main(int argc, char **argv)
{
    char *base, *own, helper[MPI_MAX_INFO_VAL + 1] = "";
    MPI_Win win, keyed;

    setenv("OMPI_MCA_osc_cached_rules", rules, 1);
    test_init(&argc, &argv);
    named("graph 1", SMALL, "ompi_osc_cached_sample", "3", "always", "temporal");
    named("hot", SMALL, "ompi_osc_cached_mode", "off", "always", "duel"); /* the rule counts */
    named("other", SMALL, "ompi_osc_cached_sample", "3", "transparent", "duel");
    named("graph 2", LARGE, "ompi_osc_cached_sample", "3", "off", "temporal"); /* the later rule */
    /* the largest part counts, for all */
    named("part", (0 == test_rank) ? LARGE : 64, "ompi_osc_cached_mode", "always", "off", "duel");

    if (!test_inner_is("rdma")) { /* which has no windows of one process */
        base = malloc(SMALL);
        OK(MPI_Win_create(base, SMALL, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win));
        in_force(win, "alone", "ompi_osc_cached_mode", "user");
        in_force(win, "alone", "ompi_osc_cached_sample", "7");
        OK(MPI_Win_free(&win));
        free(base);
    }
    OK(MPI_Win_allocate(SMALL, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    in_force(win, "allocated", "ompi_osc_cached_scheme", "positional");
    OK(MPI_Win_set_name(win, "graph 3"));
    in_force(win, "allocated", "ompi_osc_cached_mode", "transparent");
    OK(MPI_Win_fence(0, win));
    in_force(win, "allocated", "ompi_osc_cached_mode", "always");
    in_force(win, "allocated", "ompi_osc_cached_scheme", "positional"); /* a later rule */
    OK(MPI_Win_fence(0, win));
    /* as the info key would have done, whether there is a helper here or not */
    own = malloc(SMALL);
    keyed = keyed_window(own, SMALL, 1, &own, "ompi_osc_cached_helper", "on", NULL);
    get_key(keyed, "ompi_osc_cached_helper", helper);
    in_force(win, "allocated", "ompi_osc_cached_helper", helper);
    OK(MPI_Win_free(&keyed));
    free(own);
    OK(MPI_Win_free(&win));
    return test_done();
}
