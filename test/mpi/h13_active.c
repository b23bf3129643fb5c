/* H13: accumulates, and puts and gets of many blocks, in epochs of fences and of post, start,
 * complete, wait: the helper does them, and all are complete when the epoch ends, together with puts
 * and gets of one block, which the inner component does.
 * test: for=osc-cached needs=cache ranks=2,3 transport=shm,tcp limit=60 mca="osc_cached_helper=on"
 * test: for=osc-cached needs=cache ranks=2,3 transport=shm,tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_transfers=helper"
 * test: for=osc-cached needs=cache ranks=3 transport=shm,tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_per=node osc_cached_helper_transfers=helper"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

enum { BLOCKS = 300, STEP = 4, ROUNDS = 20 };

/* words of a window: a stripe of each origin, a sum, a word of each origin */
enum { STRIPE = BLOCKS * STEP };

static long stripe_words[BLOCKS], got[BLOCKS];
static MPI_Datatype stripe;
static long *base;
static unsigned long operations; /* that go to helpers, at least */

static long value(int origin, int round, int i)
{
    return 1000000L * (origin + 1) + 1000L * round + i;
}

static int word_of(int origin)
{
    return STRIPE + 1 + origin;
}

/* What an origin does in an epoch; target is the next rank. */
static void write_all(MPI_Win win, int target, int round)
{
    static long one, word; /* must live until the epoch ends */

    one = 1;
    word = value(test_rank, round, 7);
    for (int i = 0; i < BLOCKS; ++i) {
        stripe_words[i] = value(test_rank, round, i);
    }
    OK(MPI_Put(stripe_words, BLOCKS, MPI_LONG, target, 0, 1, stripe, win));
    OK(MPI_Put(&word, 1, MPI_LONG, target, word_of(test_rank), 1, MPI_LONG, win));
    for (int k = 0; k < 3; ++k) {
        OK(MPI_Accumulate(&one, 1, MPI_LONG, target, STRIPE, 1, MPI_LONG, MPI_SUM, win));
    }
    operations += 4;
}

/* What a target finds after it; origin is the rank before. */
static void check_all(int origin, int round)
{
    int wrong = 0;

    for (int i = 0; i < BLOCKS; ++i) {
        wrong += base[STEP * i] != value(origin, round, i) || 0 != base[STEP * i + 1];
    }
    CHECK(0 == wrong, "round %d: %d words of the stripe are wrong", round, wrong);
    CHECK(3 * (round + 1) == base[STRIPE], "round %d: the sum is %ld", round, base[STRIPE]);
    CHECK(value(origin, round, 7) == base[word_of(origin)], "round %d: the word is %ld", round,
          base[word_of(origin)]);
}

static void get_all(MPI_Win win, int target)
{
    memset(got, -1, sizeof(got));
    OK(MPI_Get(got, BLOCKS, MPI_LONG, target, 0, 1, stripe, win));
    ++operations;
}

/* Of what this rank itself has put there. */
static void check_got(int round)
{
    int wrong = 0;

    for (int i = 0; i < BLOCKS; ++i) {
        wrong += got[i] != value(test_rank, round, i);
    }
    CHECK(0 == wrong, "round %d: %d words of the get are wrong", round, wrong);
}

static void fences(MPI_Win win, int target, int origin, int round)
{
    OK(MPI_Win_fence(0, win));
    helper_rest();
    write_all(win, target, round);
    OK(MPI_Win_fence(0, win));
    check_all(origin, round);
    get_all(win, target);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    check_got(round);
}

static void posts(MPI_Win win, MPI_Group targets, MPI_Group origins, int target, int origin,
                  int round)
{
    unsigned long before = operations;

    OK(MPI_Win_post(origins, 0, win));
    helper_rest();
    OK(MPI_Win_start(targets, 0, win));
    write_all(win, target, round);
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    check_all(origin, round);
    OK(MPI_Win_post(origins, 0, win));
    OK(MPI_Win_start(targets, 0, win));
    get_all(win, target);
    OK(MPI_Win_complete(win));
    check_got(round);
    OK(MPI_Win_wait(win));
    if (test_inner_is("pt2pt")) {
        operations = before; /* its MPI_Win_start waits for nobody, and it does all by itself */
    }
}

int main(int argc, char **argv)
{
    struct counters c;
    unsigned long mine[2], all[2], wanted;
    int target, origin;
    MPI_Group world, targets, origins;
    MPI_Win win;

    test_init(&argc, &argv);
    target = (test_rank + 1) % test_size;
    origin = (test_rank + test_size - 1) % test_size;
    win = test_win_make(NULL, word_of(test_size) * sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    memset(base, 0, word_of(test_size) * sizeof(long));
    OK(MPI_Type_vector(BLOCKS, 1, STEP, MPI_LONG, &stripe));
    OK(MPI_Type_commit(&stripe));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, 1, &target, &targets));
    OK(MPI_Group_incl(world, 1, &origin, &origins));
    test_barrier();
    for (int i = 0; i < ROUNDS; ++i) {
        if (i < ROUNDS / 2) {
            fences(win, target, origin, i);
        } else {
            posts(win, targets, origins, target, origin, i);
        }
    }
    test_barrier();
    mine[0] = counter(&c, "helper_operations");
    mine[1] = counter(&c, "helper_served");
    OK(MPI_Allreduce(mine, all, 2, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD));
    wanted = operations * (unsigned long) test_size;
    CHECK(test_is_plain() || (all[0] >= wanted && all[1] == all[0]),
          "helpers did %lu of %lu operations, wanted %lu", all[1], all[0], wanted);
    OK(MPI_Group_free(&world));
    OK(MPI_Group_free(&targets));
    OK(MPI_Group_free(&origins));
    OK(MPI_Type_free(&stripe));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
