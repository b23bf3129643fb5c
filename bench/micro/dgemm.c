/*
 * vGASNet's Fig. 11: C = A x B, made of square blocks, in windows. Each process has some rows of
 * blocks of all three, and computes its blocks of C one after the other; it gets the blocks of B
 * from their owners, all of them for each of its rows. Gigaflops of a process,
 *
 *     memory       in windows in memory ("GASNet" of the paper)
 *     in memory    in windows on files that fit into memory
 *     out of core  in windows on files with twice the edge, and memory for half of that, and 8 MiB
 *                  for all else (control groups)
 *
 * and of the last two also in mode coherent, with pools that have room for half of B in all, and
 * are private, or cooperative by the paper's policy or ours (auto); then also how many blocks
 * processes other than their owners have sent.
 *
 *     dgemm [--rounds=N] [--edge=N] [--file=NAME] [--x=N]
 *
 * --x=N is printed in the place of the edge.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "limit.h"
#include "micro.h"

enum { EDGE = 128, BLOCK = EDGE * EDGE, ROOM = 8 << 20 }; /* of a block, in elements */

struct matrices {
    int edge, rows; /* in blocks; rows of this process */
    double *a, *b, *c, *got, *sum;
    MPI_Win win[3];
    MPI_T_pvar_handle sent; /* a counter of the second */
};

static int processes;
static size_t size; /* that is printed */

static double a_of(int i, int j)
{
    return (i + 2 * j) % 7 - 3;
}

static double b_of(int i, int j)
{
    return (3 * i + j) % 5 - 2;
}

/* @param cooperate  NULL: nothing is cached */
static struct matrices make(int edge, const char *name, const char *cooperate)
{
    struct matrices m = {.edge = edge, .rows = edge / processes};
    MPI_Aint bytes = (MPI_Aint) m.rows * edge * BLOCK * (MPI_Aint) sizeof(double);
    double **base[] = {&m.a, &m.b, &m.c};
    char path[4096], pool[32];
    int count;

    for (int i = 0; i < 3; ++i) {
        MPI_Info info;

        OK(MPI_Info_create(&info));
        if (NULL != name) {
            snprintf(path, sizeof(path), "%s.%s.%d.%d", micro_option("file", "/tmp/dgemm-bench"),
                     name, i, micro_rank);
            OK(MPI_Info_set(info, "alloc_type", "storage"));
            OK(MPI_Info_set(info, "storage_alloc_filename", path));
            OK(MPI_Info_set(info, "storage_alloc_unlink", "true"));
            OK(MPI_Info_set(info, "storage_alloc_discard", "true"));
            OK(MPI_Info_set(info, "access_style", "sequential")); /* blocks are read in order */
        }
        if (NULL != cooperate) {
            snprintf(pool, sizeof(pool), "%ld", (long) (bytes / 2));
            OK(MPI_Info_set(info, "ompi_osc_cached_mode", "coherent"));
            OK(MPI_Info_set(info, "ompi_osc_cached_stores", "sync"));
            OK(MPI_Info_set(info, "ompi_osc_cached_cooperate", cooperate));
            OK(MPI_Info_set(info, "ompi_osc_cached_adaptive", "false"));
            OK(MPI_Info_set(info, "ompi_osc_cached_memory", pool));
        }
        OK(MPI_Win_allocate(bytes, sizeof(double), info, MPI_COMM_WORLD, base[i], &m.win[i]));
        OK(MPI_Info_free(&info));
        OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, m.win[i]));
    }
    OK(MPI_T_pvar_handle_alloc(micro_session, micro_find_pvar("osc_cached_cooperate_forwards"),
                               &m.win[1], &m.sent, &count));
    m.got = micro_memory(BLOCK * sizeof(double));
    m.sum = micro_memory(BLOCK * sizeof(double));
    for (int i = 0; i < m.rows * EDGE; ++i) {
        for (int j = 0; j < edge * EDGE; ++j) {
            size_t at = (size_t) (i / EDGE * edge + j / EDGE) * BLOCK
                        + (size_t) (i % EDGE * EDGE + j % EDGE);

            m.a[at] = a_of(micro_rank * m.rows * EDGE + i, j);
            m.b[at] = b_of(micro_rank * m.rows * EDGE + i, j);
        }
    }
    for (int i = 0; i < 3; ++i) {
        OK(MPI_Win_sync(m.win[i]));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    return m;
}

static void destroy(struct matrices *m)
{
    OK(MPI_T_pvar_handle_free(micro_session, &m->sent));
    for (int i = 0; i < 3; ++i) {
        OK(MPI_Win_unlock_all(m->win[i]));
        OK(MPI_Win_free(&m->win[i]));
    }
    free(m->got);
    free(m->sum);
}

/* c += a x b */
static void multiply_blocks(double *restrict c, const double *restrict a, const double *restrict b)
{
    for (int i = 0; i < EDGE; ++i) {
        for (int k = 0; k < EDGE; ++k) {
            for (int j = 0; j < EDGE; ++j) {
                c[i * EDGE + j] += a[i * EDGE + k] * b[k * EDGE + j];
            }
        }
    }
}

/* @return gigaflops of this process */
static double multiply(struct matrices *m)
{
    double start, flops = 2.0 * m->rows * m->edge * m->edge * BLOCK * EDGE;

    OK(MPI_Barrier(MPI_COMM_WORLD));
    start = micro_now_ns();
    for (int at = 0; at < m->rows * m->edge; ++at) {
        int i = at / m->edge, j = at % m->edge;

        memset(m->sum, 0, BLOCK * sizeof(double));
        for (int n = 0; n < m->edge; ++n) {
            /* each begins with its own rows, so that not all ask the same one */
            int k = (n + micro_rank * m->rows) % m->edge, owner = k / m->rows;

            OK(MPI_Get(m->got, BLOCK, MPI_DOUBLE, owner,
                       (MPI_Aint) (k % m->rows * m->edge + j) * BLOCK, BLOCK, MPI_DOUBLE,
                       m->win[1]));
            OK(MPI_Win_flush(owner, m->win[1]));
            multiply_blocks(m->sum, m->a + (size_t) (i * m->edge + k) * BLOCK, m->got);
        }
        memcpy(m->c + (size_t) at * BLOCK, m->sum, BLOCK * sizeof(double));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    return flops / (micro_now_ns() - start);
}

static void check(const struct matrices *m)
{
    for (int n = 0; n < 50; ++n) {
        int i = n * 7919 % (m->rows * EDGE), j = n * 104729 % (m->edge * EDGE);
        double sum = 0;

        for (int k = 0; k < m->edge * EDGE; ++k) {
            sum += a_of(micro_rank * m->rows * EDGE + i, k) * b_of(k, j);
        }
        if (sum
            != m->c[(size_t) (i / EDGE * m->edge + j / EDGE) * BLOCK
                    + (size_t) (i % EDGE * EDGE + j % EDGE)]) {
            fprintf(stderr, "wrong product at %d, %d\n", i, j);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

/* @return how many blocks of B processes other than their owners have sent */
static double sent(const struct matrices *m)
{
    unsigned long mine;
    double all = 0, my;

    OK(MPI_T_pvar_read(micro_session, m->sent, &mine));
    my = (double) mine;
    OK(MPI_Allreduce(&my, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    return all;
}

static void print(const char *name, const char *quantity, const char *unit, double *values,
                  long rounds)
{
    if (0 == micro_rank) {
        micro_print("dgemm", name, size, quantity, unit, values, rounds);
        fflush(stdout);
    }
}

static void print_ratio(const char *name, double *left, double *right, long rounds)
{
    if (0 == micro_rank) {
        micro_print_ratio("dgemm", name, size, "of a process", left, right, 1, 0, rounds);
        fflush(stdout);
    }
}

/* In memory, and on files without a cache, with private and with cooperative pools: in turns, each
 * time in new windows, so that one has the memory at a time. */
enum { MEMORY, FILES, PRIVATE, PAPER, COOPERATIVE, WAYS };

static void measure(const char *name, int first, int edge, double *rate, long rounds)
{
    static const char *const policies[WAYS] = {NULL, NULL, "private", "paper", "auto"};
    double *blocks = micro_memory((WAYS - PAPER) * (size_t) rounds * sizeof(*blocks));
    char title[64];

    for (long round = 0; round < rounds; ++round) {
        for (int way = first; way < WAYS; ++way) {
            struct matrices m = make(edge / EDGE, (MEMORY == way) ? NULL : name, policies[way]);

            rate[way * rounds + round] = multiply(&m);
            check(&m);
            if (PRIVATE < way) {
                blocks[(way - PAPER) * rounds + round] = sent(&m);
            }
            destroy(&m);
        }
    }
    for (int way = first; way < WAYS; ++way) {
        snprintf(title, sizeof(title), "%s%s%s", (MEMORY == way) ? "memory" : name,
                 (NULL == policies[way]) ? "" : ", ", (NULL == policies[way]) ? "" : policies[way]);
        print(title, "of a process", "Gflop/s", rate + way * rounds, rounds);
        if (PRIVATE < way) {
            print(title, "sent", "blocks", blocks + (way - PAPER) * rounds, rounds);
            snprintf(title, sizeof(title), "%s, %s/private", name, policies[way]);
            print_ratio(title, rate + way * rounds, rate + PRIVATE * rounds, rounds);
        }
    }
    free(blocks);
}

int main(int argc, char **argv)
{
    double *rate;
    char group[256];
    int edge, possible;
    long rounds;
    size_t bytes;

    micro_init_thread(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    rounds = micro_positive("rounds", 11);
    edge = (int) micro_positive("edge", 512);
    size = (size_t) micro_positive("x", edge);
    if (0 != edge % (EDGE * processes)) {
        fprintf(stderr, "--edge must be a multiple of %d\n", EDGE * processes);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    rate = malloc(WAYS * (size_t) rounds * sizeof(*rate));
    measure("in memory", MEMORY, edge, rate, rounds);
    print_ratio("in memory/memory", rate + FILES * rounds, rate + MEMORY * rounds, rounds);
    /* ROOM: connections, tables and pools, which have no file */
    bytes = 3 * (size_t) (2 * edge) * (size_t) (2 * edge) * sizeof(double) / (size_t) processes;
    possible = limit_memory(group, sizeof(group), bytes / 2 + ROOM);
    OK(MPI_Allreduce(MPI_IN_PLACE, &possible, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (possible) {
        measure("out of core", FILES, 2 * edge, rate, rounds);
        leave_group(group);
    } else if (0 == micro_rank) {
        fprintf(stderr, "SKIP: no control group for memory can be created here\n");
    }
    free(rate);
    return micro_done();
}
