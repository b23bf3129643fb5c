/* O2: with osc_cached_stores=detect, which is the default, what a process stores to its own window
 * is seen by whoever hears of it by a message, without any call of RMA at the owner: stores,
 * memcpy, read(2), MPI_Recv into the window, stores of another thread. Whoever polls sees it, too.
 * Others have copies before, and get copies afterwards. (verify, which looks at the memory after
 * the hit, is told, and does not poll.)
 *
 * test: for=osc-cached needs=cache cache="mode=coherent" ranks=2,3 transport=shm,tcp
 * test: for=osc-cached needs=cache cache="mode=coherent verify=2" args="told" ranks=3
 * test: for=osc-cached needs=cache cache="mode=coherent" args="allocate" ranks=3
 * test: for=osc-cached needs=cache cache="mode=coherent share=off" ranks=3 transport=tcp
 * test: for=osc-cached needs=cache cache="helper=on" args="default" ranks=3 transport=shm,tcp
 * test: for=osc-cached needs=cache cache="helper=on block=64K verify=2" args="default told" ranks=3 transport=tcp
 *
 * No mode given (default): the same in mode transparent, in windows with a helper.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "coherent.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WORDS = 1 << 17, WAYS = 8, ROUNDS = 3, LARGE = 8192 };

/* Of each way: its place is in a block of its own, away from the ends of the window. */
static size_t place(int way)
{
    return (size_t) (way + 1) * (WORDS / (WAYS + 2));
}

static void *store(void *argument)
{
    long **what = argument;

    *(volatile long *) what[0] = *what[1];
    return NULL;
}

/* Rank 0: base[place] becomes value, in one way. */
static void change(int way, long value, long *base, MPI_Win win)
{
    static long words[LARGE];
    long *at = base + place(way), *what[2] = {at, &value};
    pthread_t thread;
    int ends[2];

    switch (way) {
    case 0: /* polled, not told */
    case 1:
        *(volatile long *) at = value;
        break;
    case 2:
        words[0] = value;
        memcpy(at, words, sizeof(words)); /* many pages */
        break;
    case 3:
        CHECK(0 == pipe(ends), "no pipe");
        CHECK(sizeof(value) == write(ends[1], &value, sizeof(value)), "cannot be written");
        CHECK(sizeof(value) == read(ends[0], at, sizeof(value)), "read(2) into the window fails");
        close(ends[0]);
        close(ends[1]);
        break;
    case 4:
        words[0] = value;
        OK(MPI_Sendrecv(words, LARGE, MPI_LONG, 0, 1, at, LARGE, MPI_LONG, 0, 1, MPI_COMM_SELF,
                        MPI_STATUS_IGNORE));
        break;
    case 5:
        CHECK(0 == pthread_create(&thread, NULL, store, what), "no thread");
        CHECK(0 == pthread_join(thread, NULL), "no end of it");
        break;
    case 6: /* by a put to itself */
        OK(MPI_Put(&value, 1, MPI_LONG, 0, (MPI_Aint) place(way), 1, MPI_LONG, win));
        OK(MPI_Win_flush(0, win));
        break;
    default: /* a neighbour */
        at[1] = -value;
        at[0] = value;
        break;
    }
    atomic_thread_fence(memory_order_seq_cst);
}

/* The others read until it is a hit. An owner that others keep from its processor, so that its
 * stores wait for long, shares nothing for a while. */
static void warm(MPI_Win win, struct counters *c, MPI_Aint disp, long wanted)
{
    unsigned long hits = counter(c, "hits");
    double since = MPI_Wtime();

    while (0 != test_rank && counter(c, "hits") == hits && MPI_Wtime() - since < 0.5) {
        long got = coherent_get(win, 0, disp);

        CHECK(wanted == got, "before: %ld, wanted %ld", got, wanted);
    }
}

static void one_round(int way, long value, long *base, struct counters *c, MPI_Win win)
{
    MPI_Aint disp = (MPI_Aint) place(way);
    long got;

    warm(win, c, disp, value - 1);
    test_barrier();
    if (0 == test_rank) {
        change(way, value, base, win);
        for (int i = 1; i < test_size && 0 != way; ++i) {
            coherent_tell(i);
        }
    } else if (0 == way) {
        double since = MPI_Wtime();

        do {
            got = coherent_get(win, 0, disp);
            CHECK(value == got || value - 1 == got, "polling: %ld, wanted %ld", got, value);
        } while (value != got && MPI_Wtime() - since < 30);
        CHECK(value == got, "polling: never seen");
    } else {
        coherent_hear(0);
        got = coherent_get(win, 0, disp);
        CHECK(value == got, "way %d: %ld, wanted %ld", way, got, value);
    }
    test_barrier();
}

/* Puts and atomics of others, to pages that are protected. */
static void others_write(struct counters *c, MPI_Win win)
{
    MPI_Aint disp = WORDS / 2 + 700;
    long one = 1, word;

    for (long i = 0; i < 6; ++i) {
        warm(win, c, disp, i);
        test_barrier();
        if (1 == test_rank) {
            word = i + 1;
            if (0 == i % 3) {
                OK(MPI_Put(&word, 1, MPI_LONG, 0, disp, 1, MPI_LONG, win));
            } else if (1 == i % 3) {
                OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, disp, 1, MPI_LONG, MPI_SUM, win));
            } else {
                OK(MPI_Fetch_and_op(&one, &word, MPI_LONG, 0, disp, MPI_SUM, win));
            }
            OK(MPI_Win_flush(0, win));
        }
        test_barrier();
        if (0 != test_rank) {
            word = coherent_get(win, 0, disp);
            CHECK(i + 1 == word, "written by another: %ld, wanted %ld", word, i + 1);
        }
        test_barrier();
    }
}

/* Operations that helpers execute, on blocks that others have copies of, and on those beside them,
 * which may lie in the same pages; by the owner, too. */
static void helpers_write(long *base, struct counters *c, MPI_Win win)
{
    MPI_Aint disp = 3 * WORDS / 4 + 11;
    long one = 1, got, i;

    for (i = 0; i < 40; ++i) {
        MPI_Aint beside = disp + ((0 == i % 2) ? -400 : 400);

        if (0 == i % 8) {
            warm(win, c, disp, i);
        }
        test_barrier();
        if (i % test_size == test_rank) {
            OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, beside, 1, MPI_LONG, MPI_SUM, win));
            OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, disp, 1, MPI_LONG, MPI_SUM, win));
            OK(MPI_Win_flush(0, win));
        }
        test_barrier();
        got = coherent_get(win, 0, disp);
        CHECK(i + 1 == got, "added by %ld: %ld, wanted %ld", i % test_size, got, i + 1);
        if (0 == test_rank) {
            CHECK(i / 2 + 1 == base[beside], "beside: %ld", base[beside]);
            base[disp + 1] = i; /* waits where others have copies */
        }
        test_barrier();
        got = coherent_get(win, 0, disp + 1);
        CHECK(i == got, "stored: %ld, wanted %ld", got, i);
    }
}

/* O3: in another window, too, the memory is not shared any more, and no store waits. */
static void second_window(long *base, struct counters *c, MPI_Win win)
{
    MPI_Aint disp = WORDS / 2 + 700;
    unsigned long traps;
    MPI_Win other;

    warm(win, c, disp, 6);
    OK(MPI_Win_create(base, WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                      &other));
    traps = coherent_sum(c, "coherence_traps");
    if (0 == test_rank) {
        memset(base, 0, WORDS * sizeof(long));
    }
    CHECK(traps == coherent_sum(c, "coherence_traps"), "a store has waited");
    CHECK(0 == coherent_get(win, 0, disp), "a copy has stayed");
    test_barrier();
    OK(MPI_Win_free(&other));
}

int main(int argc, char **argv)
{
    struct counters c;
    MPI_Win win;
    long *base, value = 0;
    int allocates, by_default, told;

    test_init(&argc, &argv);
    allocates = argc > 1 && 0 == strcmp("allocate", argv[1]);
    by_default = argc > 1 && 0 == strcmp("default", argv[1]);
    told = argc > 1 && 0 == strcmp("told", argv[argc - 1]);
    if (allocates) {
        OK(MPI_Win_allocate(WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                            &base, &win));
        memset(base, 0, WORDS * sizeof(long));
    } else {
        base = mmap(NULL, WORDS * sizeof(long), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                    -1, 0);
        OK(MPI_Win_create(base, WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                          &win));
    }
    if (!coherent_is(win)) {
        if (by_default) { /* who insists has it? */
            MPI_Win_free(&win);
            win = keyed_window(base, WORDS * sizeof(long), sizeof(long), (void **) &base,
                               "ompi_osc_cached_mode", "coherent", NULL);
            CHECK(!coherent_is(win), "mode coherent can be had, and is not the default");
        }
        test_skip("stores cannot be detected here");
    }
    CHECK(by_default == (0 == strcmp("transparent", coherent_key(win, "ompi_osc_cached_mode"))),
          "mode %s", coherent_key(win, "ompi_osc_cached_mode"));
    counters_open(&c, &win);
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    for (int round = 0; round < ROUNDS; ++round) {
        ++value;
        for (int way = told; way < WAYS; ++way) {
            one_round(way, value, base, &c, win);
        }
    }
    others_write(&c, win);
    helpers_write(base, &c, win);
    if (!allocates) {
        second_window(base, &c, win);
    }
    OK(MPI_Win_unlock_all(win));
    CHECK(0 < coherent_sum(&c, "coherence_traps"), "no store has waited");
    CHECK(0 < coherent_sum(&c, "hits"), "never a hit");
    CHECK(0 == coherent_sum(&c, "mismatches"), "hits were wrong");
    OK(MPI_Win_free(&win));
    if (!allocates) {
        memset(base, 1, WORDS * sizeof(long)); /* nobody waits any more */
        munmap(base, WORDS * sizeof(long));
    }
    return test_done();
}
