/* H1: MPI_Win_flush_all, MPI_Win_flush after it and MPI_Win_unlock_all complete what the inner component does.
 * test: for=osc-cached needs=cache ranks=2,3 transport=shm,tcp limit=60 mca="osc_cached_helper=on osc_cached_stores=off"
 * test: for=osc-cached needs=cache ranks=2,3 transport=shm,tcp limit=60 mca="osc_cached_helper=on osc_cached_mode=always osc_cached_bypass_below=1000000000"
 *
 * By itself, osc/rdma's flush of all forgets targets that were locked one by one. First with nothing cached, then with
 * targets that are passed by because they are cheap.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

enum { N = 1 << 14, ROUNDS = 40, FLUSHES = 4, PLACES = ROUNDS * FLUSHES };

static int base[PLACES * N], *got, place;
static MPI_Win win;

static int value(int rank, int i)
{
    return 1 + rank * PLACES * N + i;
}

/* One get from each other process, of what was not fetched before. */
static void get_all(void)
{
    memset(got, 0, (size_t) (test_size * N) * sizeof(int));
    for (int t = 0; t < test_size; ++t) {
        if (t != test_rank) {
            OK(MPI_Get(got + t * N, N, MPI_INT, t, place * N, N, MPI_INT, win));
        }
    }
}

static void check(int t, int round, const char *after)
{
    int wrong = 0;

    for (int i = 0; i < N; ++i) {
        wrong += value(t, place * N + i) != got[t * N + i];
    }
    CHECK(0 == wrong, "round %d: %d of %d items wrong after %s", round, wrong, N, after);
}

/* And the next time it is another place. */
static void check_all(int round, const char *after)
{
    for (int t = 0; t < test_size; ++t) {
        if (t != test_rank) {
            check(t, round, after);
        }
    }
    ++place;
}

static void epoch(int round)
{
    for (int t = 0; t < test_size; ++t) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, t, 0, win));
    }
    get_all();
    OK(MPI_Win_flush_all(win));
    check_all(round, "MPI_Win_flush_all");
    get_all();
    OK(MPI_Win_flush_local_all(win));
    check_all(round, "MPI_Win_flush_local_all");
    get_all();
    OK(MPI_Win_flush_all(win));
    for (int t = 0; t < test_size; ++t) {
        OK(MPI_Win_flush(t, win));
    }
    check_all(round, "MPI_Win_flush");
    for (int t = 0; t < test_size; ++t) {
        OK(MPI_Win_unlock(t, win));
    }
    OK(MPI_Win_lock_all(0, win));
    get_all();
    OK(MPI_Win_unlock_all(win));
    check_all(round, "MPI_Win_unlock_all");
}

int main(int argc, char **argv)
{
    struct counters c;
    int *mine;

    test_init(&argc, &argv);
    got = malloc((size_t) (test_size * N) * sizeof(int));
    win = test_win_make(base, sizeof(base), sizeof(int), &mine);
    for (int i = 0; i < PLACES * N; ++i) {
        base[i] = value(test_rank, i);
    }
    counters_open(&c, &win);
    test_barrier();
    for (int round = 0; round < ROUNDS; ++round) {
        if (0 == round % 10) {
            helper_rest();
        }
        epoch(round);
    }
    CHECK(0 < counter(&c, "helper_locks"), "there is no helper");
    counters_close(&c);
    test_barrier();
    OK(MPI_Win_free(&win));
    free(got);
    return test_done();
}
