/*
 * Mode coherent in passive epochs, beside mode always and beside no cache: windows of one run,
 * timed in turns.
 *
 *     coherent --what=hits|writes|sharers|bytes [--window=allocate|create] [--stores=sync|detect]
 *              [--rounds=N]
 *
 *     hits     MPI_Get of a copy, and a flush
 *     writes   MPI_Put, and a flush, where nobody has a copy
 *     sharers  the same, where processes have a copy of the block: one, two, ... all but the writer
 *              and the owner; beside a block of the same window that nobody has a copy of
 *     bytes    all processes but the owner put one byte each to one block, and flush; before every
 *              tenth put all of them read it
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* usleep */
#include "micro.h"

#include <unistd.h>

enum { NONE, ALWAYS, COHERENT, WAYS };
enum { BLOCK = 4096, BLOCKS = 64, LEARNING = 10000, READS = 100000, READS_AGAIN = 64 };
enum { ALONE = 40 * BLOCK }; /* address of a block that nobody has a copy of */

static struct micro_window windows[WAYS];
static unsigned char *buffer;

/* Reads a block until it is a hit, as it is when the owner has entered us. */
static void share(struct micro_gets *gets)
{
    double hits = micro_count(gets->window, MICRO_HITS);

    for (int i = 0; micro_count(gets->window, MICRO_HITS) == hits; ++i) {
        if (READS == i) {
            fprintf(stderr, "coherent: %d gets of a block, and no hit\n", READS);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        micro_get_flush(gets, 1);
    }
}

/* --- By the origin, while the target waits in MPI */

static void hits(size_t bytes, long rounds)
{
    struct micro_subject subject[WAYS] = {{0}};
    struct micro_gets gets[WAYS];
    double before = 0;

    for (int way = 0; way < WAYS; ++way) {
        gets[way] = (struct micro_gets){&windows[way], buffer, bytes, BLOCK, 1, 1, 0};
        subject[way] = (struct micro_subject){.run = micro_get_flush, .argument = &gets[way]};
        if (NONE != way) {
            share(&gets[way]);
        }
    }
    before =
        micro_count(&windows[COHERENT], MICRO_GETS) - micro_count(&windows[COHERENT], MICRO_HITS);
    micro_interleave(subject, WAYS, rounds);
    if (micro_count(&windows[COHERENT], MICRO_GETS) - micro_count(&windows[COHERENT], MICRO_HITS)
        != before) {
        fprintf(stderr, "coherent: not all gets were hits\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    micro_check(&gets[COHERENT]);
    micro_print("coherent", "hit", bytes, "baseline", "ns", subject[NONE].ns, rounds);
    micro_print("coherent", "hit", bytes, "mode always", "ns", subject[ALWAYS].ns, rounds);
    micro_print("coherent", "hit", bytes, "coherent", "ns", subject[COHERENT].ns, rounds);
    micro_print_ratio("coherent", "hit", bytes, "coherent/mode always", subject[COHERENT].ns,
                      subject[ALWAYS].ns, 1, 0, rounds);
    micro_print_ratio("coherent", "hit", bytes, "baseline/coherent", subject[NONE].ns,
                      subject[COHERENT].ns, 1, 0, rounds);
    for (int way = 0; way < WAYS; ++way) {
        free(subject[way].ns);
    }
}

/* Puts, each followed by a flush, to one place */
struct puts {
    struct micro_window *window;
    size_t bytes, at;
};

static void put_flush(void *argument, long n)
{
    struct puts *p = argument;

    for (long i = 0; i < n; ++i) {
        OK(MPI_Put(buffer, (int) p->bytes, MPI_BYTE, MICRO_TARGET, (MPI_Aint) p->at, (int) p->bytes,
                   MPI_BYTE, p->window->win));
        OK(MPI_Win_flush(MICRO_TARGET, p->window->win));
    }
}

static void writes(size_t bytes, long rounds)
{
    static const int ways[] = {NONE, COHERENT};
    struct micro_subject subject[2] = {{0}};
    struct puts puts[2];

    for (int s = 0; s < 2; ++s) {
        puts[s] = (struct puts){&windows[ways[s]], bytes, ALONE};
        subject[s] = (struct micro_subject){.run = put_flush, .argument = &puts[s]};
        put_flush(&puts[s], LEARNING);
    }
    micro_interleave(subject, 2, rounds);
    micro_print("coherent", "writes", bytes, "baseline", "ns", subject[0].ns, rounds);
    micro_print("coherent", "writes", bytes, "coherent", "ns", subject[1].ns, rounds);
    micro_print_ratio("coherent", "writes", bytes, "coherent/baseline", subject[1].ns,
                      subject[0].ns, 1, 0, rounds);
    free(subject[0].ns);
    free(subject[1].ns);
}

/* --- By all processes */

/* Sharers are elsewhere, where they take no processor from those that are measured. */
static void meet(bool asleep)
{
    MPI_Request request;
    int met = 0;

    OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    while (asleep && !met) {
        OK(MPI_Test(&request, &met, MPI_STATUS_IGNORE));
        (void) usleep(500);
    }
    if (!met) {
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
}

static void sharers(int num, long rounds)
{
    enum { WITH, WITHOUT };
    bool reads = micro_rank > MICRO_TARGET && micro_rank <= MICRO_TARGET + num;
    struct micro_gets gets = {&windows[COHERENT], buffer, 64, BLOCK, 1, 1, 0};
    struct puts puts[2] = {{&windows[COHERENT], 64, 0}, {&windows[COHERENT], 64, ALONE}};
    double *ns[2];

    for (int s = 0; s < 2; ++s) {
        ns[s] = malloc((size_t) rounds * sizeof(double));
    }
    for (long round = 0; round < rounds; ++round) {
        if (reads) {
            share(&gets);
        }
        meet(micro_rank > MICRO_TARGET);
        if (MICRO_ORIGIN == micro_rank) {
            for (int turn = 0; turn < 2; ++turn) {
                int s = (int) ((round + turn) % 2);
                double start = micro_now_ns();

                put_flush(&puts[s], 1);
                ns[s][round] = micro_now_ns() - start;
            }
        }
        meet(micro_rank > MICRO_TARGET);
    }
    if (MICRO_ORIGIN == micro_rank) {
        micro_print("coherent", "sharers", (size_t) num, "put to a shared block", "ns", ns[WITH],
                    rounds);
        micro_print("coherent", "sharers", (size_t) num, "put to another", "ns", ns[WITHOUT],
                    rounds);
        micro_print_ratio("coherent", "sharers", (size_t) num, "with/without sharers", ns[WITH],
                          ns[WITHOUT], 1, 0, rounds);
        fflush(stdout);
    }
    free(ns[WITH]);
    free(ns[WITHOUT]);
}

/* All but the owner have a copy then, unless it turns them away. */
static void share_with_all(int way)
{
    struct micro_gets gets = {&windows[way], buffer, 64, BLOCK, 1, 1, 0};
    double hits = NONE == way ? 0 : micro_count(&windows[way], MICRO_HITS);

    for (int i = 0; MICRO_TARGET != micro_rank && i < (NONE == way ? 1 : READS_AGAIN); ++i) {
        micro_get_flush(&gets, 1);
        if (NONE != way && micro_count(&windows[way], MICRO_HITS) > hits) {
            break;
        }
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* @return ns of a put, over all who put */
static double put_and_read(int way, int num)
{
    enum { BURSTS = 6, PUTS_PER_READ = 10 };
    struct puts puts = {&windows[way], 1, (size_t) micro_rank};
    double spent = 0, all = 0;

    for (int i = 0; i < BURSTS; ++i) {
        share_with_all(way);
        if (MICRO_TARGET != micro_rank) {
            double start = micro_now_ns();

            put_flush(&puts, PUTS_PER_READ);
            spent += micro_now_ns() - start;
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Reduce(&spent, &all, 1, MPI_DOUBLE, MPI_SUM, MICRO_ORIGIN, MPI_COMM_WORLD));
    return all / (BURSTS * PUTS_PER_READ * num);
}

/* Of copies of a window's memory that were called back; counts from now on */
static MPI_T_pvar_handle count_invalidations(struct micro_window *w)
{
    MPI_T_pvar_handle handle;
    int index = micro_find_pvar("osc_cached_coherence_invalidations"), count;

    OK(MPI_T_pvar_handle_alloc(micro_session, index, &w->win, &handle, &count));
    return handle;
}

/* @return over all processes */
static unsigned long counted(MPI_T_pvar_handle *handle)
{
    unsigned long mine = 0, all = 0;

    OK(MPI_T_pvar_read(micro_session, *handle, &mine));
    OK(MPI_T_pvar_handle_free(micro_session, handle));
    OK(MPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD));
    return all;
}

static void bytes_of_all(int num, long rounds)
{
    static const int ways[] = {NONE, COHERENT};
    MPI_T_pvar_handle handle = count_invalidations(&windows[COHERENT]);
    double *ns[2];

    for (int s = 0; s < 2; ++s) {
        ns[s] = malloc((size_t) rounds * sizeof(double));
    }
    for (long round = -2; round < rounds; ++round) {
        for (int turn = 0; turn < 2; ++turn) {
            int s = (int) ((round + turn + 2) % 2);
            double each = put_and_read(ways[s], num);

            if (round >= 0) {
                ns[s][round] = each;
            }
        }
    }
    /* Without a copy nothing is measured; who puts needs no message for its own. */
    if (0 == counted(&handle) && num > 1) {
        fprintf(stderr, "coherent: no copy was called back\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (MICRO_ORIGIN == micro_rank) {
        micro_print("coherent", "1-byte puts of all", (size_t) num, "baseline", "ns", ns[0],
                    rounds);
        micro_print("coherent", "1-byte puts of all", (size_t) num, "coherent", "ns", ns[1],
                    rounds);
        micro_print_ratio("coherent", "1-byte puts of all", (size_t) num, "coherent/baseline",
                          ns[1], ns[0], 1, 0, rounds);
        fflush(stdout);
    }
    free(ns[0]);
    free(ns[1]);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {8, 64, 512, 4096};
    const char *info[WAYS][5] = {
        {"ompi_osc_cached_mode", "off", NULL},
        {"ompi_osc_cached_mode", "always", NULL},
        {"ompi_osc_cached_mode", "coherent", "ompi_osc_cached_stores", NULL, NULL}};
    const char *what;
    long rounds;
    int size;

    micro_init_thread(&argc, &argv, MPI_THREAD_SINGLE);
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    what = micro_option("what", "hits");
    rounds = micro_positive("rounds", 101);
    info[COHERENT][3] = micro_option("stores", "sync");
    buffer = micro_memory(BLOCK);
    for (int way = 0; way < WAYS; ++way) {
        micro_window_make(&windows[way], BLOCKS * BLOCK, info[way]);
    }
    if (0 == strcmp(what, "hits") || 0 == strcmp(what, "writes")) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
            MICRO_MEASURE('h' == what[0] ? hits(sizes[i], rounds) : writes(sizes[i], rounds));
        }
    } else if (0 == strcmp(what, "sharers")) {
        for (int num = 1; num <= size - 2; ++num) {
            sharers(num, rounds);
        }
    } else {
        bytes_of_all(size - 1, rounds);
    }
    for (int way = WAYS - 1; way >= 0; --way) {
        micro_window_free(&windows[way]);
    }
    free(buffer);
    return micro_done();
}
