/*
 * vGASNet's Fig. 11, without cooperation: C = A x B, made of square blocks, in windows. Each
 * process has some rows of blocks of all three, and computes its blocks of C one after the other;
 * it gets the blocks of B from their owners. Gigaflops of a process,
 *
 *     memory       in windows in memory ("GASNet" of the paper)
 *     in memory    in windows on files that fit into memory
 *     out of core  in windows on files with twice the edge, and half of that as memory (control
 *                  groups)
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

enum { EDGE = 128, BLOCK = EDGE * EDGE }; /* of a block, in elements */

struct matrices {
    int edge, rows; /* in blocks; rows of this process */
    double *a, *b, *c, *got, *sum;
    MPI_Win win[3];
};

static int processes;

static double a_of(int i, int j)
{
    return (i + 2 * j) % 7 - 3;
}

static double b_of(int i, int j)
{
    return (3 * i + j) % 5 - 2;
}

static struct matrices make(int edge, const char *name)
{
    struct matrices m = {.edge = edge, .rows = edge / processes};
    MPI_Aint bytes = (MPI_Aint) m.rows * edge * BLOCK * (MPI_Aint) sizeof(double);
    double **base[] = {&m.a, &m.b, &m.c};
    char path[4096];

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
        OK(MPI_Win_allocate(bytes, sizeof(double), info, MPI_COMM_WORLD, base[i], &m.win[i]));
        OK(MPI_Info_free(&info));
        OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, m.win[i]));
    }
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
    OK(MPI_Barrier(MPI_COMM_WORLD));
    return m;
}

static void destroy(struct matrices *m)
{
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

static void print(const char *name, int edge, double *gflops, long rounds)
{
    if (0 == micro_rank) {
        micro_print("dgemm", name, (size_t) micro_positive("x", edge), "of a process", "Gflop/s",
                    gflops, rounds);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    struct matrices memory, file;
    double *rate;
    char group[256];
    int edge, possible;
    long rounds;
    size_t bytes;

    micro_init_thread(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    rounds = micro_positive("rounds", 11);
    edge = (int) micro_positive("edge", 512);
    if (0 != edge % (EDGE * processes)) {
        fprintf(stderr, "--edge must be a multiple of %d\n", EDGE * processes);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    rate = malloc(2 * (size_t) rounds * sizeof(*rate));
    memory = make(edge / EDGE, NULL);
    file = make(edge / EDGE, "small");
    for (long round = 0; round < rounds; ++round) {
        rate[round] = multiply(&memory);
        rate[rounds + round] = multiply(&file);
    }
    check(&memory);
    check(&file);
    print("memory", edge, rate, rounds);
    print("in memory", edge, rate + rounds, rounds);
    if (0 == micro_rank) {
        micro_print_ratio("dgemm", "in memory/memory", (size_t) micro_positive("x", edge),
                          "of a process", rate + rounds, rate, 1, 0, rounds);
    }
    destroy(&memory);
    destroy(&file);

    bytes = 3 * (size_t) (2 * edge) * (size_t) (2 * edge) * sizeof(double) / (size_t) processes;
    possible = limit_memory(group, sizeof(group), bytes / 2);
    OK(MPI_Allreduce(MPI_IN_PLACE, &possible, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    if (possible) {
        file = make(2 * edge / EDGE, "large");
        for (long round = 0; round < rounds; ++round) {
            rate[round] = multiply(&file);
        }
        check(&file);
        print("out of core", 2 * edge, rate, rounds);
        destroy(&file);
        leave_group(group);
    } else if (0 == micro_rank) {
        fprintf(stderr, "SKIP: no control group for memory can be created here\n");
    }
    free(rate);
    return micro_done();
}
