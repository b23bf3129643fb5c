/* R9, P1 to P3: cooperative caching of windows on files. Processes send each other blocks that the
 * owner would have to read (FWD), tell it when they have them no more (BACK, EVICT), and the last
 * copy of a block stays longest; whoever knows of a write reads it, beside all that. Cold: nothing
 * of a file is in memory, and reading it takes some time.
 *
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync block=4K window_memory=32K adaptive=false verify=2" ranks=4 transport=shm cflags=-rdynamic args="cold verify"
 * test: for=osc-cached needs=cache cache="stores=sync block=4K window_memory=32K adaptive=false storage_route=helper" ranks=4 transport=tcp cflags=-rdynamic args="cold helper"
 * test: for=osc-cached needs=cache cache="stores=none cooperate=paper block=4K window_memory=32K adaptive=false storage_route=helper" ranks=4 transport=shm,tcp cflags=-rdynamic args="paper cold helper"
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync cooperate=private block=4K window_memory=32K adaptive=false" ranks=4 transport=shm cflags=-rdynamic args=private
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "coherent.h"
#include "cold.h"
#include "storage.h"

#include <stdbool.h>

enum { BLOCK = 512, BLOCKS = 32, POOL = 8, ROUNDS = 40, RANKS = 4, READS = 4 }; /* longs; blocks */

static bool verify; /* then nobody reads while another one writes */

/* In the place of the C library's. */
ssize_t pread(int file, void *to, size_t bytes, off_t from)
{
    if (1 < cold) {
        usleep(30000);
    }
    return (ssize_t) syscall(SYS_pread64, file, to, bytes, from);
}

static long value(int rank, int block, int i)
{
    return 1000000L * (rank + 1) + 1000 * block + i;
}

static unsigned long hits_of(struct counters *c)
{
    return counter(c, "hits");
}

/* All of a block of rank 0. */
static void read_block(MPI_Win win, int block)
{
    static long got[BLOCK];

    memset(got, 0, sizeof(got));
    OK(MPI_Get(got, BLOCK, MPI_LONG, 0, (MPI_Aint) block * BLOCK, BLOCK, MPI_LONG, win));
    OK(MPI_Win_flush(0, win));
    for (int i = 0; i < BLOCK; ++i) {
        CHECK(value(0, block, i) == got[i], "%d of block %d: %ld", i, block, got[i]);
    }
}

/* Who has what, step by step. */
static void keeping(MPI_Win win, struct counters *c, const char *policy)
{
    unsigned long hits, forwards;
    long two[2 * BLOCK];

    OK(MPI_Win_lock_all(0, win));
    if (0 < test_rank) {
        read_block(win, 31); /* now it is locked */
    }
    forwards = coherent_sum(c, "cooperate_forwards");
    if (1 == test_rank) {
        for (int i = 0; i < POOL; ++i) {
            read_block(win, i);
        }
        hits = hits_of(c);
        for (int i = POOL - 1; i >= 0; --i) {
            read_block(win, i);
        }
        CHECK(hits + POOL == hits_of(c), "%lu hits", hits_of(c) - hits);
        hits = hits_of(c);
        OK(MPI_Get(two, 2 * BLOCK, MPI_LONG, 0, BLOCK + BLOCK / 2, 2 * BLOCK, MPI_LONG, win));
        OK(MPI_Win_flush_all(win));
        CHECK(value(0, 1, BLOCK / 2) == two[0] && value(0, 3, 0) == two[BLOCK + BLOCK / 2],
              "of three blocks: %ld %ld", two[0], two[BLOCK + BLOCK / 2]);
        CHECK(hits + 1 == hits_of(c), "three blocks are no hit");
    }
    test_barrier();
    if (2 == test_rank) {
        read_block(win, 0);
        read_block(win, 1);
    }
    test_barrier();
    forwards = coherent_sum(c, "cooperate_forwards") - forwards;
    CHECK((0 == strcmp(policy, "private")) == (0 == forwards), "%s: %lu forwards", policy,
          forwards);
    if (0 != strcmp(policy, "private")) {
        CHECK(0 < counter(c, "cooperate_forwards") || 1 != test_rank,
              "rank 1 has forwarded nothing");
        if (1 == test_rank) { /* block 0 leaves, and rank 2 hears that it has the last copy */
            for (int i = 0; i < 2 * POOL; ++i) {
                read_block(win, POOL + i);
            }
            CHECK(0 < counter(c, "cooperate_evictions"), "nothing left the pool");
        } else if (2 == test_rank) {
            for (int i = 0; i < 100000 && 0 == counter(c, "cooperate_lasts"); ++i) {
                usleep(100);
            }
            CHECK(0 < counter(c, "cooperate_lasts"), "rank 2 does not know that it is alone");
        }
        test_barrier();
    }
    if (0 == strcmp(policy, "auto")) {
        if (3 == test_rank) {
            for (int i = 0; i < POOL; ++i) {
                read_block(win, 16 + i);
            }
        }
        test_barrier();
        if (2 == test_rank) { /* others have these */
            for (int i = 0; i < POOL; ++i) {
                read_block(win, 16 + i);
            }
            hits = hits_of(c);
            read_block(win, 0);
            CHECK(hits < hits_of(c), "the last copy has left");
        }
        test_barrier();
    }
    OK(MPI_Win_unlock_all(win));
}

/* Ask for a block that is being read for another rank: who is asked to forward has nothing yet. */
static void together(MPI_Win win, struct counters *c)
{
    cold = 2;
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    for (int i = 0; i < BLOCKS && 0 == coherent_sum(c, "cooperate_backs"); ++i) {
        test_barrier();
        if (0 < test_rank) {
            read_block(win, i);
        }
    }
    OK(MPI_Win_unlock_all(win));
    CHECK(0 < coherent_sum(c, "cooperate_backs"), "nobody was asked for what it did not have");
    cold = 1;
}

static long known[RANKS][BLOCKS]; /* first words, of writes that are complete */

static void look(MPI_Win win, int target, int block, int word)
{
    static long got[BLOCK];
    int count = (word) ? 1 : BLOCK;

    OK(MPI_Get(got, count, MPI_LONG, target, (MPI_Aint) block * BLOCK, count, MPI_LONG, win));
    OK(MPI_Win_flush(target, win));
    CHECK(got[0] >= known[target][block], "block %d of %d: %ld, %ld was complete before", block,
          target, got[0], known[target][block]);
    CHECK(word || value(target, block, BLOCK - 1) == got[BLOCK - 1], "block %d of %d: end %ld",
          block, target, got[BLOCK - 1]);
}

/* A token goes around, with what was written so far; who has it writes. */
static void writing(MPI_Win win, long *base, const char *policy)
{
    int right = (test_rank + 1) % test_size, left = (test_rank + test_size - 1) % test_size;
    long one = 1, old;

    for (int rank = 0; rank < RANKS; ++rank) {
        for (int block = 0; block < BLOCKS; ++block) {
            known[rank][block] = value(rank, block, 0);
        }
    }
    srand(17 + (unsigned) test_rank);
    OK(MPI_Win_lock_all(0, win));
    for (int round = 0; round < ROUNDS; ++round) {
        int target = rand() % test_size, block = rand() % BLOCKS, here = 0;
        long *word = &known[target][block];

        while (!here && (0 < round || 0 < test_rank)) {
            OK(MPI_Iprobe(left, 7, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE));
            if (!here && !verify) {
                look(win, rand() % test_size, rand() % BLOCKS, rand() % 2);
                usleep(500);
            }
        }
        if (here) {
            OK(MPI_Recv(known, RANKS * BLOCKS, MPI_LONG, left, 7, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
        }
        for (int i = 0; i < READS; ++i) {
            look(win, rand() % test_size, rand() % BLOCKS, rand() % 2);
        }
        ++*word;
        if (target == test_rank && 0 != strcmp(policy, "paper")) { /* stores: sync */
            base[block * BLOCK] = *word;
            OK(MPI_Win_sync(win));
        } else if (0 == rand() % 2) {
            OK(MPI_Put(word, 1, MPI_LONG, target, (MPI_Aint) block * BLOCK, 1, MPI_LONG, win));
        } else {
            OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, target, (MPI_Aint) block * BLOCK, MPI_SUM,
                                win));
        }
        OK(MPI_Win_flush(target, win));
        look(win, target, block, rand() % 2);
        OK(MPI_Send(known, RANKS * BLOCKS, MPI_LONG, right, 7, MPI_COMM_WORLD));
    }
    if (0 == test_rank) {
        OK(MPI_Recv(known, RANKS * BLOCKS, MPI_LONG, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    OK(MPI_Bcast(known, RANKS * BLOCKS, MPI_LONG, 0, MPI_COMM_WORLD));
    for (int target = 0; target < test_size; ++target) {
        for (int block = 0; block < BLOCKS; ++block) {
            look(win, target, block, 0);
        }
    }
    OK(MPI_Win_unlock_all(win));
}

/* Fences, and gets that wait while others do: all of it at once. */
static void fences(MPI_Win win)
{
    static long got[BLOCKS][BLOCK];
    int target = (test_rank + 1) % test_size;
    MPI_Request request;
    long last;

    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < BLOCKS; ++i) {
        OK(MPI_Get(got[i], BLOCK, MPI_LONG, target, (MPI_Aint) i * BLOCK, BLOCK, MPI_LONG, win));
        OK(MPI_Get(got[i], 2, MPI_LONG, target, (MPI_Aint) i * BLOCK, 2, MPI_LONG, win));
    }
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    for (int i = 0; i < BLOCKS; ++i) {
        for (int k = 1; k < BLOCK; ++k) {
            CHECK(value(target, i, k) == got[i][k], "%d of block %d: %ld", k, i, got[i][k]);
        }
    }
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
    for (int i = 0; i < 3; ++i) {
        OK(MPI_Rget(&last, 1, MPI_LONG, target, BLOCK * BLOCKS - 1, 1, MPI_LONG, win, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(value(target, BLOCKS - 1, BLOCK - 1) == last, "rget: %ld", last);
        last = 0;
        OK(MPI_Get(&last, 1, MPI_LONG, target, BLOCK * BLOCKS - 1, 1, MPI_LONG, win));
        OK(MPI_Win_flush_local(target, win));
        CHECK(value(target, BLOCKS - 1, BLOCK - 1) == last, "get: %ld", last);
    }
    OK(MPI_Win_unlock(target, win));
}

int main(int argc, char **argv)
{
    const char *policy = "auto";
    bool alone = false; /* the helpers serve the window */
    struct counters c;
    long *base;
    MPI_Win win;

    test_init(&argc, &argv);
    for (int i = 1; i < argc; ++i) {
        cold |= 0 == strcmp(argv[i], "cold");
        alone |= 0 == strcmp(argv[i], "helper");
        verify |= 0 == strcmp(argv[i], "verify");
        policy =
            (0 == strcmp(argv[i], "paper") || 0 == strcmp(argv[i], "private")) ? argv[i] : policy;
    }
    storage_begin();
    OK(storage_allocate(BLOCKS * BLOCK * sizeof(long), sizeof(long), &base, &win, "blocks", NULL));
    counters_open(&c, &win);
    for (int i = 0; i < BLOCKS * BLOCK; ++i) {
        base[i] = value(test_rank, i / BLOCK, i % BLOCK);
    }
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    keeping(win, &c, policy);
    if (0 == strcmp(policy, "paper")) {
        together(win, &c);
    }
    writing(win, base, policy);
    test_barrier();
    if (alone) { /* UCX ends fences too early inside of a node */
        fences(win);
    }
    test_barrier();
    CHECK(0 < coherent_sum(&c, "coherence_invalidations"), "nothing was invalidated");
    CHECK(0 < coherent_sum(&c, "cooperate_kept"), "nothing was kept");
    CHECK(coherent_sum(&c, "cooperate_forwards") + coherent_sum(&c, "cooperate_backs") > 0
              || 0 == strcmp(policy, "private"),
          "nothing was forwarded");
    counters_add_up(&c);
    counters_close(&c);
    OK(MPI_Win_free(&win));
    storage_end();
    return test_done();
}
