/* N1: what the cache says it has saved is at most what its gets would have cost: the time of a
 * synchronisation is shared by the gets of all targets that it completes.
 *
 * test: for=osc-cached needs=cache ranks=3 mca="osc_cached_bypass_below=0"
 *
 * Rank 1 comes late to each fence, and so the gets of rank 0 from ranks 1 and 2 take long.  Most of
 * them are of words that are on their way.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <unistd.h>

#include "counters.h"

enum { EPOCHS = 4, TARGETS = 2, WORDS = 8, TIMES = 8, LATE_US = 20000 };

static int got[TARGETS][WORDS][TIMES];

static void get_all(MPI_Win win, int epoch)
{
    for (int time = 0; time < TIMES; ++time) {
        for (int word = 0; word < WORDS; ++word) {
            for (int target = 0; target < TARGETS; ++target) {
                OK(MPI_Get(&got[target][word][time], 1, MPI_INT, target + 1, epoch * WORDS + word,
                           1, MPI_INT, win));
            }
        }
    }
}

static void check_all(int epoch)
{
    for (int i = 0; i < TARGETS * WORDS * TIMES; ++i) {
        int target = i / (WORDS * TIMES), word = i / TIMES % WORDS, time = i % TIMES;
        int wanted = 1000 * (target + 1) + epoch * WORDS + word;

        CHECK(wanted == got[target][word][time], "target %d, word %d: %d, wanted %d", target + 1,
              word, got[target][word][time], wanted);
    }
}

int main(int argc, char **argv)
{
    struct counters c;
    double begin, ns;
    MPI_Win win;
    int *base;

    test_init(&argc, &argv);
    test_skip_if_all_gets_are_late();
    win = test_win_make(NULL, EPOCHS * WORDS * sizeof(int), sizeof(int), &base);
    for (int i = 0; i < EPOCHS * WORDS; ++i) {
        base[i] = 1000 * test_rank + i;
    }
    counters_open(&c, &win);
    begin = MPI_Wtime();
    OK(MPI_Win_fence(0, win));
    for (int epoch = 0; epoch < EPOCHS; ++epoch) {
        if (0 == test_rank) {
            get_all(win, epoch);
        } else if (1 == test_rank) {
            usleep(LATE_US);
        }
        OK(MPI_Win_fence(0, win));
        if (0 == test_rank) {
            check_all(epoch);
        }
    }
    ns = (MPI_Wtime() - begin) * 1e9;
    if (0 == test_rank) {
        unsigned long served = counter(&c, "hits") + counter(&c, "joins");
        unsigned long real = counter(&c, "gets") - served, saved = counter(&c, "ns_saved");
        double most = ns * (double) served / (double) real;

        counters_add_up(&c);
        CHECK(EPOCHS * TARGETS * WORDS * (TIMES - 1) == served, "%lu of %lu gets were served",
              served, real + served);
        CHECK(0 < saved, "nothing was saved in %.0f ns", ns);
        CHECK((double) saved <= most, "%lu ns saved, %.0f at the most: %.0f ns, %lu of %lu served",
              saved, most, ns, served, real + served);
    }
    counters_close(&c);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    OK(MPI_Win_free(&win));
    return test_done();
}
