/* H16: contiguous puts and gets at a target that computes: when one had to wait for it, the helper
 * does the next ones; nothing is issued twice, so no late copy overwrites what came after it.
 * test: for=osc-cached needs=cache ranks=2 transport=tcp limit=60 mca="osc_cached_helper=on osc_cached_stores=off"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

#include <time.h>

enum { FIRST = 6, TRIES = 20, AWAY = 100 };
enum { PUT, GOT, FINISHED, WORDS };

static void sleep_ms(int ms)
{
    struct timespec a_while = {.tv_nsec = 1000000L * ms};

    nanosleep(&a_while, NULL);
}

/* A put, which another rank sees after this. */
static void put(MPI_Win win, long value)
{
    OK(MPI_Put(&value, 1, MPI_LONG, 0, PUT, 1, MPI_LONG, win));
    OK(MPI_Win_flush(0, win));
}

/* The target: it announces that it will be away, until a put has found that out. */
static void be_away_a_while(void)
{
    int found = 0;

    while (!found) {
        OK(MPI_Send(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD));
        sleep_ms(200);
        OK(MPI_Recv(&found, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

/* Returns the last value. */
static long find_it_away(MPI_Win win, struct counters *c)
{
    long value = 0;
    unsigned long before;
    int found = test_is_plain();

    for (int i = 0; i < FIRST; ++i) {
        put(win, ++value);
    }
    OK(MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD)); /* it has been here until now */
    for (int i = 0; i < TRIES && (0 == i || !found); ++i) {
        OK(MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        put(win, ++value);
        before = counter(c, "helper_operations");
        put(win, ++value);
        found = test_is_plain() || before < counter(c, "helper_operations") || TRIES - 1 == i;
        OK(MPI_Send(&found, 1, MPI_INT, 0, 0, MPI_COMM_WORLD));
    }
    return value;
}

int main(int argc, char **argv)
{
    struct counters c;
    long *base, value = 0, got = 0, one = 1;
    time_t begin;
    MPI_Win win;
    int flag;

    test_init(&argc, &argv);
    win = test_win_make(NULL, WORDS * sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    memset(base, 0, WORDS * sizeof(long));
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    if (0 == test_rank) {
        OK(MPI_Recv(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        be_away_a_while();
        begin = time(NULL);
        for (int ms = 0; 0 == __atomic_load_n(&base[FINISHED], __ATOMIC_ACQUIRE)
                         && time(NULL) < begin + 40;
             ++ms) {
            sleep_ms(1);
            if (test_is_plain() || ms % 1000 > 980) { /* the inner component may be tried */
                OK(MPI_Iprobe(1, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
            }
        }
        CHECK(1 == base[FINISHED], "the other rank has not finished");
    } else if (1 == test_rank) {
        value = find_it_away(win, &c);
        for (int i = 0; i < AWAY; ++i) {
            put(win, ++value);
            OK(MPI_Get(&got, 1, MPI_LONG, 0, PUT, 1, MPI_LONG, win));
            OK(MPI_Win_flush(0, win));
            CHECK(value == got, "put %ld, got %ld", value, got);
        }
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, FINISHED, 1, MPI_LONG, MPI_SUM, win));
    }
    OK(MPI_Win_unlock_all(win));
    test_barrier();
    OK(MPI_Bcast(&value, 1, MPI_LONG, 1, MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, test_rank, 0, win));
    CHECK(0 != test_rank || value == base[PUT], "%ld was put last, %ld is there", value, base[PUT]);
    OK(MPI_Win_unlock(test_rank, win));
    /* osc/rdma copies to and from processes of the node: it waits for nobody */
    CHECK(test_is_plain() || test_inner_is("rdma") || 1 != test_rank
              || AWAY < counter(&c, "helper_operations"),
          "the helper did only %lu operations", counter(&c, "helper_operations"));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
