/* A6, A11: gets of the same bytes in an active epoch of the default mode are copied from the buffer
 * of the first: none of their bytes takes memory of the cache, so it does not matter how many they
 * are, and how large.
 *
 * test: for=osc-cached needs=cache cache="memory=8M" ranks=2 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { WORDS = 4 << 20, GETS = 2000, PIECE = 2048 /* words */, BUDGET = 8 << 20 };

static int *base, *first, *second;

static void fetch(MPI_Win win, int *to, int gets, int words)
{
    for (int i = 0; i < gets; ++i) {
        OK(MPI_Get(to + (size_t) i * words, words, MPI_INT, 1, (MPI_Aint) i * words, words, MPI_INT,
                   win));
    }
}

static void check(const int *got, int words, int round)
{
    int wrong = 0;

    for (int i = 0; i < words; ++i) {
        wrong += got[i] != round + 3 * i;
    }
    CHECK(0 == wrong, "round %d: %d wrong words", round, wrong);
}

int main(int argc, char **argv)
{
    MPI_Group world, zero, one;
    int ranks[2] = {0, 1};
    struct counters c;
    MPI_Win win;

    test_init(&argc, &argv);
    test_skip_if_all_gets_are_late();
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, 1, &ranks[0], &zero));
    OK(MPI_Group_incl(world, 1, &ranks[1], &one));
    first = malloc(WORDS * sizeof(int));
    second = malloc(WORDS * sizeof(int));
    win = test_win_make(NULL, WORDS * sizeof(int), sizeof(int), &base);
    counters_open(&c, &win);
    /* many small ones, together more than the budget; then one that is more than the budget */
    for (int round = 0; round < 4; ++round) {
        int gets = (round < 2) ? GETS : 1, words = (round < 2) ? PIECE : WORDS;
        unsigned long direct = counter(&c, "direct"), joins = counter(&c, "joins");

        for (int i = 0; i < WORDS; ++i) {
            base[i] = round + 3 * i;
        }
        memset(second, 0, WORDS * sizeof(int));
        test_barrier();
        if (0 == round % 2) {
            OK(MPI_Win_fence(0, win));
        } else if (1 == test_rank) {
            OK(MPI_Win_post(zero, 0, win));
        } else {
            OK(MPI_Win_start(one, 0, win));
        }
        if (0 == test_rank) {
            fetch(win, first, gets, words);
            fetch(win, second, gets, words);
            CHECK(counter(&c, "direct") - direct == (unsigned long) gets, "round %d: %lu direct",
                  round, counter(&c, "direct") - direct);
            CHECK(counter(&c, "joins") - joins == (unsigned long) gets, "round %d: %lu joins",
                  round, counter(&c, "joins") - joins);
            CHECK(counter(&c, "budget_taken") < BUDGET / 4, "round %d: %lu bytes", round,
                  counter(&c, "budget_taken"));
        }
        if (0 == round % 2) {
            OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        } else if (1 == test_rank) {
            OK(MPI_Win_wait(win));
        } else {
            OK(MPI_Win_complete(win));
        }
        if (0 == test_rank) {
            check(first, gets * words, round);
            check(second, gets * words, round);
        }
        test_barrier();
    }
    if (0 == test_rank) {
        COUNTS(&c, "index_entries", 0, "after the last epoch");
        counters_add_up(&c);
    }
    counters_close(&c);
    OK(MPI_Win_free(&win));
    MPI_Group_free(&world);
    MPI_Group_free(&zero);
    MPI_Group_free(&one);
    free(first);
    free(second);
    return test_done();
}
