/*
 * Invalidation of a window with many entries: by the info key ("true"), and by the extension's
 * function where this Open MPI has it.  Neither is faster than Open MPI's way from the call to the
 * component, so that is measured too: the same key on a window that has no cache, the same key with
 * the value it has already ("false"), and a key that nobody knows.  Each measured call finds a full
 * cache.
 *
 *     invalidate [--rounds=N] [--entries=N,...] [--case=SUFFIX]
 *
 * What an invalidation leaves behind is paid by later gets, if at all: "refill" is the time of the
 * get that brings an entry back, beside the first fill and beside the same get without a cache.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "micro.h"

int MPIX_Win_cache_invalidate(MPI_Win win) __attribute__((weak));

enum { UNKNOWN_KEY, FALSE_KEY, TRUE_KEY, BY_FUNCTION, FALSE_NO_CACHE, TRUE_NO_CACHE, WAYS };

static const char *const way_names[WAYS] = {"unknown key",
                                            "key=false",
                                            "key=true",
                                            "function",
                                            "key=false, window without cache",
                                            "key=true, window without cache"};
static MPI_Info infos[BY_FUNCTION], other_values[2];
static struct micro_window baseline, cached;
static unsigned char buffer[64];

static double clock_ns; /* what reading the clock adds to a measured call */

static bool possible(int way)
{
    return BY_FUNCTION != way || NULL != MPIX_Win_cache_invalidate;
}

static void invalidate(int way, struct micro_window *w)
{
    if (BY_FUNCTION == way) {
        MPIX_Win_cache_invalidate(w->win);
    } else {
        MPI_Win_set_info(w->win, infos[way]);
    }
}

/* The call has been made before, where it invalidates nothing: what is measured is not the code
 * that is fetched from memory after a million gets. */
static double invalidate_ns(int way)
{
    int call = FALSE_NO_CACHE == way ? FALSE_KEY : TRUE_NO_CACHE == way ? TRUE_KEY : way;
    double start, end;

    for (int i = 0; i < 4; ++i) {
        invalidate(call, &baseline);
        invalidate(FALSE_KEY, &cached);
        MPI_Win_set_info(cached.win, other_values[i % 2]);
    }
    start = micro_now_ns();
    invalidate(call, FALSE_NO_CACHE <= way ? &baseline : &cached);
    end = micro_now_ns();
    return end - start - clock_ns;
}

static double gets_ns(struct micro_window *w, size_t count, size_t n)
{
    struct micro_gets g = {w, buffer, 8, 8, count, 1, 0};
    double start = micro_now_ns();

    micro_get_flush(&g, (long) n);
    return (micro_now_ns() - start) / (double) n;
}

static void measure(size_t entries, size_t addresses, long rounds)
{
    double *ns[WAYS], *plain = malloc((size_t) rounds * sizeof(double)), *again, first;
    const char *suffix = micro_option("case", "");
    char what[64];
    long n = 0;

    snprintf(what, sizeof(what), "%zu entries%s", entries, suffix);
    again = malloc((size_t) rounds * sizeof(double));
    for (int way = 0; way < WAYS; ++way) {
        ns[way] = malloc((size_t) rounds * sizeof(double));
    }
    first = gets_ns(&cached, addresses, entries);
    for (n = 0; n < rounds; ++n) {
        plain[n] = gets_ns(&baseline, addresses, entries < 10000 ? entries : 10000);
        for (int way = 0; way < WAYS; ++way) {
            if (possible(way)) {
                again[n] = gets_ns(&cached, addresses, entries);
                if (0 == n && TRUE_KEY == way) {
                    micro_print_one("invalidate", what, 8, "entries in the index", "",
                                    micro_count(&cached, MICRO_INDEX_ENTRIES));
                }
                ns[way][n] = invalidate_ns(way);
            }
        }
    }
    for (int way = 0; way < WAYS; ++way) {
        if (possible(way)) {
            micro_print("invalidate", what, 8, way_names[way], "ns", ns[way], rounds);
        }
    }
    /* What "true" takes more than "false", less what it takes more where there is no cache. */
    for (n = 0; n < rounds; ++n) {
        ns[TRUE_KEY][n] -= ns[FALSE_KEY][n];
        ns[TRUE_NO_CACHE][n] -= ns[FALSE_NO_CACHE][n];
    }
    micro_print_difference("invalidate", what, 8, "invalidation alone", ns[TRUE_KEY],
                           ns[TRUE_NO_CACHE], rounds);
    micro_print("invalidate", what, 8, "get, baseline", "ns", plain, rounds);
    micro_print_one("invalidate", what, 8, "get, first fill", "ns", first);
    micro_print("invalidate", what, 8, "get, refill", "ns", again, rounds);
    for (int way = 0; way < WAYS; ++way) {
        free(ns[way]);
    }
    free(plain);
    free(again);
}

static double clock_cost(void)
{
    double costs[101];

    for (int i = 0; i < 101; ++i) {
        double start = micro_now_ns();
        costs[i] = micro_now_ns() - start;
    }
    return micro_median(costs, 101).median;
}

int main(int argc, char **argv)
{
    static const char *const off[] = {"ompi_osc_cached_mode", "off", NULL};
    const char *list;

    micro_init(&argc, &argv);
    clock_ns = clock_cost();
    for (int way = 0; way < BY_FUNCTION; ++way) {
        OK(MPI_Info_create(&infos[way]));
    }
    OK(MPI_Info_set(infos[UNKNOWN_KEY], "ompi_locality_no_such_key", "true"));
    OK(MPI_Info_set(infos[FALSE_KEY], "ompi_osc_cached_invalidate", "false"));
    OK(MPI_Info_set(infos[TRUE_KEY], "ompi_osc_cached_invalidate", "true"));
    for (int i = 0; i < 2; ++i) {
        OK(MPI_Info_create(&other_values[i]));
        OK(MPI_Info_set(other_values[i], "ompi_osc_cached_sample", 0 == i ? "17" : "16"));
    }
    list = micro_option("entries", "1000,100000,1000000");
    while ('\0' != *list) {
        char *end, memory[32], places[32];
        size_t entries = strtoul(list, &end, 10), addresses = 1;
        long rounds = micro_number("rounds", 401);
        while (addresses < entries) {
            addresses *= 2;
        }
        snprintf(memory, sizeof(memory), "%zu", entries * 64 + entries * 16 + (1 << 20));
        snprintf(places, sizeof(places), "%zu", entries + entries / 4);
        const char *const always[] = {"ompi_osc_cached_mode",
                                      "always",
                                      "ompi_osc_cached_memory",
                                      memory,
                                      "ompi_osc_cached_entries",
                                      places,
                                      NULL};
        /* A refill takes time: fewer rounds of many entries. */
        rounds = entries > 10000 ? 15 + rounds * 1000 / (long) entries : rounds;
        micro_window_make(&baseline, addresses * 8, off);
        micro_window_make(&cached, addresses * 8, always);
        MICRO_MEASURE(measure(entries, addresses, rounds));
        micro_window_free(&cached);
        micro_window_free(&baseline);
        list = ',' == *end ? end + 1 : end;
    }
    for (int way = 0; way < BY_FUNCTION; ++way) {
        OK(MPI_Info_free(&infos[way]));
    }
    OK(MPI_Info_free(&other_values[0]));
    OK(MPI_Info_free(&other_values[1]));
    return micro_done();
}
