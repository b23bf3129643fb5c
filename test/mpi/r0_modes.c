/* Who gets mode coherent: with osc_cached_stores sync or none modes coherent and transparent do, in
 * passive epochs, too; by default windows without a helper do not. Keys and their values, good and
 * bad ones. With a helper mode transparent is coherent in passive epochs where stores can be
 * detected (default), and nowhere with osc_cached_stores off.
 *
 * test: for=osc-cached needs=cache cache="" ranks=2 transport=shm,tcp
 * test: for=osc-cached needs=cache cache="helper=off" args="insist" expect="text:Mode coherent was asked for" ranks=2 transport=tcp
 * test: for=osc-cached needs=cache cache="" args="insist-key" expect="text:which is off" ranks=2 transport=shm
 * test: for=osc-cached needs=cache cache="stores=off" args="insist" expect="text:osc_cached_stores is off" ranks=2 transport=tcp
 * test: for=osc-cached needs=cache cache="stores=sync" args="all" ranks=2 transport=tcp
 * test: for=osc-cached needs=cache cache="helper=on" args="default" ranks=2 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

_Alignas(65536) static long words[16384]; /* whole pages */

static void has_key(MPI_Win win, const char *key, const char *wanted)
{
    const char *value = coherent_key(win, key);

    CHECK(0 == strcmp(wanted, value), "%s is %s, wanted %s", key, value, wanted);
}

/* Whether gets of a passive epoch are kept in the window. */
static void try_window(MPI_Win win, int coherent, const char *mode, const char *stores,
                       const char *block)
{
    struct counters c;

    counters_open(&c, &win);
    has_key(win, "ompi_osc_cached_mode", mode);
    has_key(win, "ompi_osc_cached_stores", stores);
    has_key(win, "ompi_osc_cached_block", block);
    test_barrier();
    if (0 == test_rank) {
        OK(MPI_Win_lock_all(0, win));
        if (coherent) {
            CHECK(coherent_warm(win, &c, 1, 3, 0), "mode %s, stores %s: never a hit", mode, stores);
        } else {
            for (int i = 0; i < 50; ++i) {
                (void) coherent_get(win, 1, 3);
            }
            COUNTS(&c, "hits", 0, "mode %s, stores %s", mode, stores);
            COUNTS(&c, "coherence_fills", 0, "mode %s, stores %s", mode, stores);
        }
        OK(MPI_Win_unlock_all(win));
    }
    test_barrier();
    counters_close(&c);
    OK(MPI_Win_free(&win));
}

#define KEYS(...) keyed_window(words, sizeof(words), sizeof(long), &base, __VA_ARGS__, NULL)

int main(int argc, char **argv)
{
    char block[16];
    void *base;
    MPI_Win win;

    test_init(&argc, &argv);
    if (argc > 1 && 0 == strcmp("insist", argv[1])) { /* and cannot have it */
        win = KEYS("ompi_osc_cached_mode", "coherent");
        CHECK(!coherent_is(win), "it is coherent");
        has_key(win, "ompi_osc_cached_mode", "transparent");
        OK(MPI_Win_free(&win));
        return test_done();
    }
    if (argc > 1 && 0 == strcmp("default", argv[1])) {
        try_window(KEYS("ompi_osc_cached_stores", "off"), 0, "transparent", "off", "0");
        try_window(KEYS("ompi_osc_cached_helper", "off"), 0, "transparent", "detect", "0");
        try_window(KEYS("ompi_osc_cached_mode", "always"), 1, "always", "detect", "0");
        win = KEYS("ompi_osc_cached_mode", "coherent");
        if (!coherent_is(win)) {
            test_skip("stores cannot be detected here");
        }
        snprintf(block, sizeof(block), "%s", coherent_key(win, "ompi_osc_cached_block"));
        OK(MPI_Win_free(&win));
        try_window(test_win_make(words, sizeof(words), sizeof(long), &base), 1, "transparent",
                   "detect", block);
        try_window(KEYS("ompi_osc_cached_mode", "transparent"), 1, "transparent", "detect", block);
        win = KEYS("ompi_osc_cached_mode", "transparent");
        test_set_key(win, "ompi_osc_cached_mode", "coherent");
        try_window(win, 1, "coherent", "detect", block);
        /* nothing that belongs to the window alone */
        win = keyed_window(words, 100, sizeof(long), &base, NULL);
        CHECK(!coherent_is(win), "a window without a page of its own is coherent");
        OK(MPI_Win_free(&win));
        return test_done();
    }
    if (argc > 1 && 0 == strcmp("insist-key", argv[1])) {
        try_window(KEYS("ompi_osc_cached_mode", "coherent", "ompi_osc_cached_helper", "off"), 0,
                   "transparent", "detect", "0");
        return test_done();
    }
    if (argc > 1) {
        try_window(test_win_make(words, sizeof(words), sizeof(long), &base), 1, "coherent", "sync",
                   "4096");
        /* the window's key counts, and one process is enough to say no */
        try_window(KEYS("ompi_osc_cached_mode", "off"), 0, "off", "sync", "0");
        try_window(KEYS("ompi_osc_cached_stores", (0 == test_rank) ? "off" : "sync"), 0,
                   "transparent", (0 == test_rank) ? "off" : "sync", "0");
        return test_done();
    }
    try_window(KEYS("ompi_osc_cached_helper", "off"), 0, "transparent", "detect", "0");
    try_window(KEYS("ompi_osc_cached_stores", "sync"), 1, "coherent", "sync", "4096");
    try_window(KEYS("ompi_osc_cached_stores", "none", "ompi_osc_cached_mode", "transparent"), 1,
               "coherent", "none", "4096");
    try_window(KEYS("ompi_osc_cached_stores", "sync", "ompi_osc_cached_mode", "coherent",
                    "ompi_osc_cached_block", (0 == test_rank) ? "64K" : "8K"),
               1, "coherent", "sync", "8192");
    /* one process without a helper is enough, and nobody insists */
    try_window(KEYS("ompi_osc_cached_stores", "sync", "ompi_osc_cached_helper",
                    (0 == test_rank) ? "off" : "on"),
               0, "transparent", "detect", "0");
    /* off and on again, while others may cache */
    win = KEYS("ompi_osc_cached_stores", "none");
    test_set_key(win, "ompi_osc_cached_mode", "off");
    has_key(win, "ompi_osc_cached_mode", "off");
    test_set_key(win, "ompi_osc_cached_mode", "coherent");
    try_window(win, 1, "coherent", "none", "4096");
    return test_done();
}
