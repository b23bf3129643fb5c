/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Random updates of a table that is spread over the processes, as RandomAccess of the HPC Challenge
 * has them, with MPI one-sided communication (that of the HPC Challenge sends messages).
 *
 *     mpirun -np 2 randomaccess [--log2-words=N] [--updates=N] [--batch=N] [--seed=N] [--check]
 *
 * The table has 2^log2-words words of 64 bits, split by blocks over the processes.  Each process
 * makes random numbers; each of them is combined with a word, whose place are the lowest bits of
 * the number, by exclusive or.  Nobody reads while others update, and no update may be lost: a
 * number that is combined twice leaves the word as it was.
 *
 * --updates=N is the number of updates of each process, --batch=N how many of them are under way
 * together (RandomAccess allows 1024).  --check combines all numbers once more, serially, with the
 * part of each process, which then must be as it was.
 *
 * What is printed: words, updates (of all processes), processes, checksum over the table, and of
 * the slowest process update_seconds.
 */

#include "app.h"

static long log2_words = 16, updates = 10000, batch = 64, seed = 1, check;

static uint64_t number_at(int rank, long i)
{
    return app_random_at((uint64_t) seed, (uint64_t) rank << 40 | (uint64_t) i);
}

/* Words of each process but the last one, which may have fewer. */
static uint64_t words_each(void)
{
    uint64_t size = (uint64_t) app_size;

    return ((UINT64_C(1) << log2_words) + size - 1) / size;
}

static uint64_t words_here(void)
{
    uint64_t all = UINT64_C(1) << log2_words, first = words_each() * (uint64_t) app_rank;

    return first >= all ? 0 : all - first < words_each() ? all - first : words_each();
}

static uint64_t place_of(uint64_t number)
{
    return number & ((UINT64_C(1) << log2_words) - 1);
}

/* What the table begins with. */
static void fill(uint64_t *table)
{
    for (uint64_t i = 0; i < words_here(); ++i) {
        table[i] = words_each() * (uint64_t) app_rank + i;
    }
}

static double update(MPI_Win window, uint64_t *numbers)
{
    double start;

    MPI_Win_lock_all(0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    for (long i = 0; i < updates; i += batch) {
        for (long k = i; k < i + batch && k < updates; ++k) {
            uint64_t *number = &numbers[k - i];

            *number = number_at(app_rank, k);
            MPI_Accumulate(number, 1, MPI_UINT64_T, (int) (place_of(*number) / words_each()),
                           (MPI_Aint) (place_of(*number) % words_each()), 1, MPI_UINT64_T, MPI_BXOR,
                           window);
        }
        MPI_Win_flush_all(window);
    }
    start = MPI_Wtime() - start;
    MPI_Win_unlock_all(window);
    return start;
}

/* Words of this process that are not as they were, after all updates are made once more. */
static uint64_t differences(const uint64_t *table)
{
    uint64_t first = words_each() * (uint64_t) app_rank, wrong = 0;
    uint64_t *again = app_allocate((size_t) words_here() * sizeof(*again));

    fill(again);
    for (int rank = 0; rank < app_size; ++rank) {
        for (long i = 0; i < updates; ++i) {
            uint64_t number = number_at(rank, i), place = place_of(number) - first;

            if (place < words_here()) { /* in front of the first it is a huge number */
                again[place] ^= number;
            }
        }
    }
    for (uint64_t i = 0; i < words_here(); ++i) {
        wrong += again[i] != table[i];
    }
    free(again);
    return wrong;
}

int main(int argc, char **argv)
{
    const app_number_t numbers[] = {{"log2-words", &log2_words, 1, 32},
                                    {"updates", &updates, 1, 1000000000},
                                    {"batch", &batch, 1, 1024},
                                    {"seed", &seed, 0, 1000000},
                                    {"check", &check, 0, 0},
                                    {NULL, NULL, 0, 0}};
    uint64_t *table, *under_way, sum = 0, wrong;
    double seconds;
    MPI_Win window;

    app_begin(&argc, &argv, MPI_THREAD_SINGLE);
    app_read_arguments(
        argc, argv, numbers, NULL,
        "randomaccess [--log2-words=N] [--updates=N] [--batch=N] [--seed=N] [--check]");
    under_way = app_allocate((size_t) batch * sizeof(*under_way));
    MPI_Alloc_mem((MPI_Aint) (words_each() * sizeof(*table)), MPI_INFO_NULL, &table);
    fill(table);
    MPI_Win_create(table, (MPI_Aint) (words_here() * sizeof(*table)), sizeof(*table), MPI_INFO_NULL,
                   MPI_COMM_WORLD, &window);
    MPI_Win_set_name(window, "table");
    app_connect(window, words_here() * sizeof(*table));
    seconds = app_slowest(update(window, under_way));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, app_rank, 0, window);
    for (uint64_t i = 0; i < words_here(); ++i) {
        sum += table[i] * (2 * (words_each() * (uint64_t) app_rank + i) + 1);
    }
    wrong = app_sum(check ? differences(table) : 0);
    MPI_Win_unlock(app_rank, window);
    sum = app_sum(sum);
    app_report_count("words", UINT64_C(1) << log2_words);
    app_report_count("updates", (uint64_t) updates * (uint64_t) app_size);
    app_report_count("processes", (uint64_t) app_size);
    app_report_count("checksum", sum);
    app_report_seconds("update_seconds", seconds);
    MPI_Win_free(&window);
    MPI_Free_mem(table);
    free(under_way);
    return app_end(check, 0 == wrong);
}
