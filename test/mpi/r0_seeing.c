/* What a user sees of coherence in the trace: a line for each FILL that was answered, for each INV
 * that has come, and, where stores are detected, for each store that waited for copies to go.
 *
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync share=off" ranks=3 transport=shm,tcp limit=60
 * test: for=osc-cached needs=cache cache="helper=on" args=detect ranks=3 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "coherent.h"
#include "seeing.h"

enum { OWNER, WRITER, READER, AT = 9000, MOST = 1 << 30, BLOCK = 4096 };

_Alignas(65536) static long words[16384]; /* whole pages */
static char folder[] = "/tmp/olcoherent.XXXXXX";

/* A line for each time; what comes while the window is freed is not counted. */
static int wrong(const char *trace, const char *text, unsigned long counted, int least)
{
    return seen_wrong(folder, trace, text, least < (int) counted ? (int) counted : least,
                      0 == least && 0 == counted ? 0 : MOST);
}

int main(int argc, char **argv)
{
    unsigned long granted, refused, dropped, traps, hits;
    char trace[32], at[64];
    struct counters c;
    int bad, detect;
    MPI_Win win;
    void *base;
    long one = 1;

    see(folder, "OMPI_MCA_osc_cached_stats");
    test_init(&argc, &argv);
    detect = 1 < argc;
    snprintf(trace, sizeof(trace), "trace.%d", test_rank);
    win = test_win_make(words, sizeof(words), sizeof(long), &base);
    if (!coherent_is(win)) {
        see_no_more(folder, trace, 0);
        test_skip("stores cannot be detected here");
    }
    counters_open(&c, &win);
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    if (READER == test_rank) {
        CHECK(coherent_warm(win, &c, OWNER, AT, 0), "never a hit");
    }
    test_barrier();
    if (OWNER == test_rank && detect) {
        *(volatile long *) &words[AT] = 1;
        __sync_synchronize();
    } else if (WRITER == test_rank && !detect) {
        OK(MPI_Put(&one, 1, MPI_LONG, OWNER, AT, 1, MPI_LONG, win));
        OK(MPI_Win_flush(OWNER, win));
    }
    test_barrier();
    if (WRITER == test_rank) { /* it holds what the reader asks for, until that is too often */
        OK(MPI_Put(&one, 1, MPI_LONG, OWNER, AT, 1, MPI_LONG, win));
        OK(MPI_Win_flush(OWNER, win));
    }
    test_barrier();
    if (READER == test_rank) {
        CHECK(coherent_warm(win, &c, OWNER, AT, 1), "never a hit again");
        hits = counter(&c, "hits");
        CHECK(1 == coherent_get(win, OWNER, AT), "another value");
        COUNTS(&c, "hits", hits + 1, "one more");
    }
    OK(MPI_Win_unlock_all(win));
    test_barrier();
    granted = counter(&c, "cooperate_kept");
    refused = counter(&c, "coherence_directs");
    dropped = counter(&c, "coherence_dropped");
    traps = counter(&c, "coherence_traps");
    counters_close(&c);
    OK(MPI_Win_free(&win));
    bad = test_done();
    fflush(stderr);

    bad |= wrong(trace, "#fill granted ", granted, READER == test_rank ? 2 : 0);
    bad |= wrong(trace, "#fill refused ", refused, READER == test_rank);
    bad |= wrong(trace, "#inv received ", dropped, READER == test_rank);
    bad |= wrong(trace, "#trap store ", traps, OWNER == test_rank && detect);
    if (READER == test_rank) { /* of which bytes */
        snprintf(at, sizeof(at), " 0 %d %d %d\n", OWNER, AT * 8 / BLOCK * BLOCK, BLOCK);
        bad |= seen_wrong(folder, trace, at, (BLOCK == sysconf(_SC_PAGESIZE)) ? 2 : 0, MOST);
        bad |= seen_wrong(folder, trace, " hit\n", 3, MOST);
    }
    see_no_more(folder, trace, bad);
    return bad;
}
