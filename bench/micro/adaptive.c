/*
 * How long the paper's micro-benchmark takes through MPI (figure 9), by the size of the index at
 * the start: sizes fixed, sizes that adapt, and without a cache.
 *
 *     adaptive [--window=allocate|create] [--rounds=N] [--case=SUFFIX] [--gets=Z]
 *
 * Z = 20,000 gets (paper.h) from an empty cache, each followed by a flush.  The storage begins with
 * 4 MiB, about half of all data; "fixed, 16 MiB" has room for all.  x is the number of index slots
 * at the start.  Each round has its own gets; all settings take turns in it, in another order each
 * time.  "adaptive/best fixed" compares with the fastest of all fixed settings, round by round.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "micro.h"
#include "paper.h"

#define CHUNK 100                        /* gets between two looks at their bytes */
#define WINDOW_BYTES ((size_t) 16 << 20) /* about twice what a set of gets needs */

enum { MS, HITS, RESIZES, SLOTS, STORAGE, QUANTITIES };

static const struct {
    const char *name, *unit;
} quantities[QUANTITIES] = {{"all gets", "ms"},
                            {"hits", ""},
                            {"resizes", ""},
                            {"slots at the end", ""},
                            {"storage at the end", "bytes"}};

static const struct series {
    const char *name;
    const char *mode, *memory, *adaptive;
} series[] = {{"fixed, 4 MiB", "always", "4194304", "false"},
              {"fixed, 16 MiB", "always", "16777216", "false"},
              {"adaptive, 4 MiB", "always", "4194304", "true"},
              {"plain", "off", "4194304", "false"}};
enum { ADAPTIVE = 2, PLAIN, SERIES };

static const long starts[] = {200, 400, 700, 1000, 1500, 2000, 4000};
enum { STARTS = sizeof(starts) / sizeof(starts[0]) };

static struct paper_get gets[PAPER_DIFFERENT];
static unsigned char *buffer;
static double *results[SERIES][STARTS][QUANTITIES]; /* one value per round */

static double run_chunk_ns(struct micro_window *w, const int *sequence, long n)
{
    const struct paper_get *last = &gets[sequence[n - 1]];
    double start = micro_now_ns();

    for (long i = 0; i < n; ++i) {
        const struct paper_get *get = &gets[sequence[i]];
        MPI_Get(buffer, (int) get->bytes, MPI_BYTE, MICRO_TARGET, (MPI_Aint) get->offset,
                (int) get->bytes, MPI_BYTE, w->win);
        MPI_Win_flush(MICRO_TARGET, w->win);
    }
    start = micro_now_ns() - start;
    for (size_t i = 0; i < last->bytes; ++i) {
        if (buffer[i] != micro_byte(last->offset + i)) {
            fprintf(stderr, "wrong byte %zu of get %d\n", i, sequence[n - 1]);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    return start;
}

static void measure(struct micro_window *w, const int *sequence, long z, double result[QUANTITIES])
{
    double ns = 0;

    for (long i = 0; i < z; i += CHUNK) {
        ns += run_chunk_ns(w, sequence + i, z - i < CHUNK ? z - i : CHUNK);
    }
    result[MS] = ns / 1e6;
    result[HITS] = micro_count(w, MICRO_HITS);
    result[RESIZES] = micro_count(w, MICRO_RESIZES);
    result[SLOTS] = micro_count(w, MICRO_INDEX_CAPACITY);
    result[STORAGE] = micro_count(w, MICRO_STORAGE_CAPACITY);
}

/* Collective. */
static void run(const struct series *s, int start, const int *sequence, long z,
                double result[QUANTITIES])
{
    struct micro_window w;
    char slots[32];
    const char *const info[] = {"ompi_osc_cached_mode",
                                s->mode,
                                "ompi_osc_cached_memory",
                                s->memory,
                                "ompi_osc_cached_entries",
                                slots,
                                "ompi_osc_cached_adaptive",
                                s->adaptive,
                                NULL};

    snprintf(slots, sizeof(slots), "%ld", starts[start]);
    micro_window_make(&w, WINDOW_BYTES, info);
    MICRO_MEASURE(measure(&w, sequence, z, result));
    micro_window_free(&w);
}

static void run_round(long round, int *sequence, long z)
{
    const int settings = SERIES * STARTS;

    if (paper_gets(gets, PAPER_SEED + (uint64_t) round) > WINDOW_BYTES) {
        fprintf(stderr, "the window is too small\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    paper_sequence(sequence, z, PAPER_SEED + (uint64_t) round);
    for (int turn = 0; turn < settings; ++turn) {
        /* all of them: 9 and their number have no common factor */
        int setting = (int) ((turn * 9 + round * 5) % settings);
        int s = setting % SERIES, start = setting / SERIES;
        double result[QUANTITIES];

        run(&series[s], start, sequence, z, result);
        for (int q = 0; q < QUANTITIES && MICRO_ORIGIN == micro_rank; ++q) {
            results[s][start][q][round] = result[q];
        }
    }
}

static void print(long rounds)
{
    const double *best = NULL;
    char what[64];

    for (int s = 0; s < SERIES; ++s) {
        for (int start = 0; start < STARTS; ++start) {
            snprintf(what, sizeof(what), "%s%s", series[s].name, micro_option("case", ""));
            for (int q = 0; q < (PLAIN == s ? HITS : QUANTITIES); ++q) {
                micro_print("adaptive", what, (size_t) starts[start], quantities[q].name,
                            quantities[q].unit, results[s][start][q], rounds);
            }
            if (s < ADAPTIVE
                && (NULL == best
                    || micro_median(results[s][start][MS], rounds).median
                           < micro_median(best, rounds).median)) {
                best = results[s][start][MS];
            }
            if (ADAPTIVE == s) {
                micro_print_ratio("adaptive", what, (size_t) starts[start], "adaptive/best fixed",
                                  results[s][start][MS], best, 1, 0, rounds);
                micro_print_ratio("adaptive", what, (size_t) starts[start], "plain/adaptive",
                                  results[PLAIN][start][MS], results[s][start][MS], 1, 0, rounds);
            }
        }
    }
}

int main(int argc, char **argv)
{
    long rounds, z;
    int *sequence;

    micro_init(&argc, &argv);
    rounds = micro_positive("rounds", 7);
    z = micro_positive("gets", 20000);
    buffer = micro_memory(PAPER_LARGEST);
    sequence = micro_memory((size_t) z * sizeof(int));
    for (int i = 0; i < SERIES * STARTS * QUANTITIES; ++i) {
        (&results[0][0][0])[i] = micro_memory((size_t) rounds * sizeof(double));
    }
    for (long round = 0; round < rounds; ++round) {
        run_round(round, sequence, z);
    }
    if (MICRO_ORIGIN == micro_rank) {
        print(rounds);
    }
    return micro_done();
}
