/* E1: somebody writes where it must not, into the cache that the processes of a node share: all of them notice, get the
 * right bytes, and use it no more; their own caches do its work.
 *
 * test: for=osc-cached needs=cache cache="mode=always share=on" ranks=3,4 transport=shm,tcp limit=60
 * test: for=osc-cached needs=cache cache="mode=user share=on verify=2" ranks=3 transport=shm limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

#include <stdbool.h>
#include <stdint.h>

enum { N = 64, WORDS = 8 /* of a line */ };

static int last; /* the target */

static void fetch_all(MPI_Win win)
{
    for (int i = 0; i < N; ++i) {
        long got = -1;

        OK(MPI_Get(&got, 1, MPI_LONG, last, i, 1, MPI_LONG, win));
        OK(MPI_Win_flush(last, win));
        CHECK(7000L * last + i == got, "%ld at %d", got, i);
    }
}

/* A line has, after its sequence number, its address, target and layout, stamp, place and a check of them: it gets the
 * place of another one. */
static int damage_lines(uint64_t *from, const uint64_t *to)
{
    int lines = 0;

    for (uint64_t *line = from; line + WORDS <= to; line += WORDS) {
        if (line[1] < N * sizeof(long) && 0 == line[1] % sizeof(long) && (uint64_t) last == line[2]
            && sizeof(long) == (uint32_t) line[4]) {
            line[4] += UINT64_C(1) << 32;
            ++lines;
        }
    }
    return lines;
}

static int damage(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char text[512];
    int lines = 0;

    CHECK(NULL != maps, "no list of mappings");
    while (NULL != maps && NULL != fgets(text, sizeof(text), maps)) {
        unsigned long from, to;

        if (NULL != strstr(text, "osc_cached_node") && 2 == sscanf(text, "%lx-%lx", &from, &to)) {
            lines += damage_lines((uint64_t *) from, (const uint64_t *) to);
        }
    }
    if (NULL != maps) {
        fclose(maps);
    }
    return lines;
}

int main(int argc, char **argv)
{
    unsigned long hits;
    struct counters c;
    bool reads;
    int mate;
    MPI_Win win;
    long *base;

    test_init(&argc, &argv);
    last = test_size - 1;
    mate = test_mate();
    reads = 0 == test_rank || mate == test_rank;
    win = test_win_make(NULL, N * sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    for (int i = 0; i < N; ++i) {
        base[i] = 7000L * test_rank + i;
    }
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Win_sync(win));
    test_barrier();
    if (0 == test_rank) {
        fetch_all(win);
    }
    test_barrier();
    if (reads) {
        fetch_all(win);
        COUNTS(&c, "node_hits", N, "before");
    }
    test_barrier();
    if (0 == test_rank) {
        int lines = damage();

        CHECK(N == lines, "%d lines", lines);
    }
    test_barrier();
    for (int round = 0; round < 2 && reads; ++round) {
        hits = counter(&c, "hits");
        fetch_all(win);
        COUNTS(&c, "node_hits", N, "nobody uses it");
        COUNTS(&c, "hits", hits + (0 == round ? 0 : N), "but each its own");
    }
    counters_add_up(&c);
    OK(MPI_Win_unlock_all(win));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
