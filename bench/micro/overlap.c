/*
 * The portion of the communication that can be overlapped with computation (the paper's figure 8),
 * for the plain get (a window with mode off) and for gets that are not in the cache.
 *
 *     overlap [--window=allocate|create] [--rounds=N] [--case=SUFFIX]
 *
 * In each round: MPI_Get and MPI_Win_flush, which take t; then MPI_Get, computation of the length
 * c, and MPI_Win_flush, which take t_c.  c is the median of t.  The overlap is 1 - (t_c - c) / t:
 * 100 % when all that is left is the computation, 0 % when it comes on top.  The computation makes
 * no call of MPI.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "kinds.h"

#define FIRST_ROUNDS 31 /* to know c */

static unsigned char *buffer;

/* Time that passes while the process has other work to do. */
static void compute(double ns)
{
    double end = micro_now_ns() + ns;

    while (micro_now_ns() < end) {
    }
}

struct overlapped {
    struct kind_gets *kind;
    double compute_ns;
};

static void get_compute_flush(void *argument, long n)
{
    struct overlapped *o = argument;
    struct micro_gets *g = &o->kind->gets;
    MPI_Win win = g->window->win;

    for (long i = 0; i < n; ++i) {
        kind_wrap(o->kind);
        MPI_Get(g->buffer, (int) g->bytes, MPI_BYTE, MICRO_TARGET, (MPI_Aint) (g->next * g->stride),
                (int) g->bytes, MPI_BYTE, win);
        compute(o->compute_ns);
        MPI_Win_flush(MICRO_TARGET, win);
        g->next = (g->next + g->step) & (g->count - 1);
    }
}

/* kind NULL: the plain get. */
static void measure(struct micro_window *w, const struct kind *kind, size_t bytes, long rounds)
{
    struct kind_gets gets = {.gets = kind_plain(w, buffer, bytes)};
    struct overlapped overlapped = {&gets, 0};
    struct micro_subject subject[2] = {{.run = kind_get_flush, .argument = &gets},
                                       {.run = get_compute_flush, .argument = &overlapped}};
    double *overlap = malloc((size_t) rounds * sizeof(double)), share = NAN;
    char what[64];

    snprintf(what, sizeof(what), "%s%s", NULL == kind ? "plain" : kind->name,
             micro_option("case", ""));
    if (NULL != kind) {
        kind_begin(&gets, w, kind, buffer, bytes);
    }
    micro_interleave(subject, 1, FIRST_ROUNDS);
    overlapped.compute_ns = micro_median(subject[0].ns, FIRST_ROUNDS).median;
    micro_interleave(subject, 2, rounds);
    if (NULL != kind) {
        share = kind_end(&gets, kind);
    }
    for (long i = 0; i < rounds; ++i) {
        overlap[i] = 100 * (1 - (subject[1].ns[i] - overlapped.compute_ns) / subject[0].ns[i]);
    }
    micro_print("overlap", what, bytes, "get and flush", "ns", subject[0].ns, rounds);
    micro_print_one("overlap", what, bytes, "computation", "ns", overlapped.compute_ns);
    micro_print("overlap", what, bytes, "get, computation, flush", "ns", subject[1].ns, rounds);
    micro_print_one("overlap", what, bytes, "share of this kind", "%", share);
    micro_print("overlap", what, bytes, "overlap", "%", overlap, rounds);
    free(overlap);
    free(subject[0].ns);
    free(subject[1].ns);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {8, 64, 512, 1024, 4096, 8192, 16384, 32768, KINDS_LARGEST};
    static const int shown[] = {KIND_DIRECT, KIND_CAPACITY, KIND_FAILING};
    static const char *const off[] = {"ompi_osc_cached_mode", "off", NULL};
    struct micro_window w;
    long rounds;

    micro_init(&argc, &argv);
    rounds = micro_number("rounds", 401);
    buffer = micro_memory(KINDS_LARGEST);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
        micro_window_make(&w, KINDS_WINDOW_BYTES, off);
        MICRO_MEASURE(measure(&w, NULL, sizes[i], rounds));
        micro_window_free(&w);
        for (size_t k = 0; k < sizeof(shown) / sizeof(shown[0]); ++k) {
            if (sizes[i] >= kinds[shown[k]].smallest) {
                kind_window_make(&w, &kinds[shown[k]], sizes[i]);
                MICRO_MEASURE(measure(&w, &kinds[shown[k]], sizes[i], rounds));
                micro_window_free(&w);
            }
        }
    }
    free(buffer);
    return micro_done();
}
