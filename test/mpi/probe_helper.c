/* What helpers take, one per process or one per node (mca-osc-cached/helper/README.md); no test by
 * itself. Every process adds to every other one, then one line for all of this node: threads, file
 * descriptors and private memory more than before the window, and the median of MPI_Accumulate and
 * MPI_Win_flush of one word by the last rank at the one before it, while the others wait in MPI.
 *
 *     mpirun --mca osc cached --mca osc_cached_helper on --mca osc_cached_helper_per node
 * probe_helper
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

enum { WORDS = 4096, SUMS = 2001, THREADS = 0, FILES, KILOBYTES, NUMBERS };

static int compare(const void *a, const void *b)
{
    return (*(const double *) a > *(const double *) b)
           - (*(const double *) a < *(const double *) b);
}

static void look(long *numbers)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long more;

    numbers[THREADS] = has_entries("/proc/self/task");
    numbers[FILES] = has_entries("/proc/self/fd");
    numbers[KILOBYTES] = 0;
    while (NULL != file && NULL != fgets(line, sizeof(line), file)) {
        if (1 == sscanf(line, "Private_Clean: %ld", &more)
            || 1 == sscanf(line, "Private_Dirty: %ld", &more)) {
            numbers[KILOBYTES] += more;
        }
    }
    if (NULL != file) {
        fclose(file);
    }
}

static void add(MPI_Win win)
{
    static long ones[WORDS];

    OK(MPI_Win_lock_all(0, win));
    for (int i = 0; i < test_size; ++i) {
        OK(MPI_Accumulate(ones, WORDS, MPI_LONG, i, 0, WORDS, MPI_LONG, MPI_SUM, win));
    }
    OK(MPI_Win_unlock_all(win));
    test_barrier();
}

static double median(MPI_Win win)
{
    static double times[SUMS];
    long one = 1;

    OK(MPI_Win_lock_all(0, win));
    for (int i = 0; i < SUMS && test_size - 1 == test_rank; ++i) {
        double begin = MPI_Wtime();

        OK(MPI_Accumulate(&one, 1, MPI_LONG, test_rank - 1, 0, 1, MPI_LONG, MPI_SUM, win));
        OK(MPI_Win_flush(test_rank - 1, win));
        times[i] = MPI_Wtime() - begin;
    }
    OK(MPI_Win_unlock_all(win));
    qsort(times, SUMS, sizeof(times[0]), compare);
    OK(MPI_Bcast(times, SUMS, MPI_DOUBLE, test_size - 1, MPI_COMM_WORLD));
    return times[SUMS / 2];
}

int main(int argc, char **argv)
{
    long before[NUMBERS], after[NUMBERS], all[NUMBERS] = {0}, *base;
    double seconds;
    MPI_Win win;

    test_init(&argc, &argv);
    win = keyed_window(NULL, WORDS * sizeof(long), sizeof(long), &base, "ompi_osc_cached_helper",
                       "off", NULL);
    add(win); /* what the inner component needs */
    look(before);
    OK(MPI_Win_free(&win));
    win = test_win_make(NULL, WORDS * sizeof(long), sizeof(long), &base);
    add(win);
    look(after);
    for (int i = 0; i < NUMBERS; ++i) {
        after[i] -= before[i];
    }
    OK(MPI_Reduce(after, all, NUMBERS, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD));
    seconds = median(win);
    if (0 == test_rank) {
        printf("%d ranks: %ld threads, %ld files, %.1f MB, %.2f us\n", test_size, all[THREADS],
               all[FILES], (double) all[KILOBYTES] / 1024, seconds * 1e6);
    }
    OK(MPI_Win_free(&win));
    return test_done();
}
