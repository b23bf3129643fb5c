/* R1 to R8, O1, O2: what is known to be written is read, whoever wrote it and however it became
 * known. Each word has a token, which its only writer has. Who gets a token reads the word, adds 1
 * by any operation, completes that in any way, and gives the token to anybody, with all that it
 * knows of all words. Meanwhile everybody reads runs of words anywhere: none may be older than is
 * known.
 *
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync" ranks=3 transport=shm,tcp
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync share=off" ranks=3 transport=tcp
 * test: for=osc-cached needs=cache cache="mode=coherent" ranks=3 transport=shm
 *
 * Where stores are detected (the default), the owner's own ones are told of by a message alone.
 *
 * Arguments, all optional: how often each token is given on, what chance begins with, and anything:
 * then it says what was counted. Other seeds and ranks: --args="12 SEED" --ranks=2,4,6 of test/mpi/run.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

enum {
    BLOCK = 512,            /* words */
    BLOCKS = 3,             /* of each rank */
    EACH = 2,               /* words of a block that have tokens */
    TOKENS = BLOCKS * EACH, /* of each rank */
    MAX_RANKS = 8,
    BYTES = BLOCKS * BLOCK * (int) sizeof(long),
    RUN = 3 * BLOCK, /* the longest read */
    UNNAMED = 1,     /* a word without a token */
    READS = 6,       /* before a flush, at most */
    KINDS = 9,
    END = 1, /* tags */
    TOKEN = 2
};

static uint64_t state;
static MPI_Win win;
static long *base, known[MAX_RANKS * TOKENS + 1];
static struct counters counted;
static int locked;   /* by MPI_Win_lock_all */
static int detected; /* plain stores are */

static int below(int n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int) ((state >> 33) % (uint64_t) n);
}

/* Where a token's word is. */
static MPI_Aint place(int token)
{
    return token % TOKENS / EACH * BLOCK + token % EACH * (BLOCK / EACH) + 3;
}

static void enter(int target)
{
    if (!locked) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
    }
}

/* Nothing is complete before, and all is then. */
static void complete(int target)
{
    int way = below(4);

    if (!locked) {
        OK(MPI_Win_unlock(target, win));
    } else if (0 == way) {
        OK(MPI_Win_flush_all(win));
    } else if (1 == way && 0 == below(16)) {
        OK(MPI_Win_unlock_all(win));
        locked = 0;
    } else {
        if (2 == way) {
            OK(MPI_Win_flush_local(target, win));
        }
        OK(MPI_Win_flush(target, win));
    }
}

/* Some runs of a target, the same perhaps more than once. */
static void read_some(int target)
{
    static long run[READS][RUN];
    int count = 1 + below(READS), first[READS], length[READS];

    if (!locked && 0 == below(2)) {
        OK(MPI_Win_lock_all(0, win));
        locked = 1;
    }
    enter(target);
    for (int i = 0; i < count; ++i) {
        MPI_Request request;

        if (0 < i && 0 == below(3)) {
            first[i] = first[i - 1];
            length[i] = length[i - 1];
        } else if (0 == below(3)) {
            first[i] = below(BLOCKS * BLOCK / 64) * 64;
            length[i] =
                1 + below(BLOCKS * BLOCK - first[i] < RUN ? BLOCKS * BLOCK - first[i] : RUN);
        } else { /* one word, so that there are hits */
            first[i] = (int) place(below(TOKENS));
            length[i] = 1;
        }
        if (0 == below(8)) {
            OK(MPI_Rget(run[i], length[i], MPI_LONG, target, first[i], length[i], MPI_LONG, win,
                        &request));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            OK(MPI_Get(run[i], length[i], MPI_LONG, target, first[i], length[i], MPI_LONG, win));
        }
    }
    complete(target);
    for (int i = 0; i < count; ++i) {
        for (int k = 0; k < TOKENS; ++k) {
            int at = (int) place(k) - first[i], token = target * TOKENS + k;

            if (0 <= at && at < length[i]) {
                CHECK(run[i][at] >= known[token],
                      "word %d of %d: %ld, but %ld is known (run of %d)", k, target, run[i][at],
                      known[token], length[i]);
            }
        }
    }
}

/* Read a word of somebody else until it is a hit, but not for ever. */
static void keep_one(void)
{
    unsigned long hits = counter(&counted, "hits");
    int target = (test_rank + 1 + below(test_size - 1)) % test_size, k = below(TOKENS);
    long got;

    for (int i = 0; i < 24 && counter(&counted, "hits") == hits; ++i) {
        enter(target);
        OK(MPI_Get(&got, 1, MPI_LONG, target, place(k), 1, MPI_LONG, win));
        complete(target);
        CHECK(got >= known[target * TOKENS + k], "word %d of %d: %ld, but %ld is known", k, target,
              got, known[target * TOKENS + k]);
    }
}

/* Where no store of the tokens has met a copy: keep copies, and store. */
static void store_waits(void)
{
    int target = (test_rank + 1) % test_size;
    long got;

    for (int round = 1; round <= 64 && 0 == coherent_sum(&counted, "coherence_traps"); ++round) {
        for (int i = 0; i < 2; ++i) {
            enter(target);
            OK(MPI_Get(&got, 1, MPI_LONG, target, UNNAMED, 1, MPI_LONG, win));
            complete(target);
            CHECK(got == round - 1, "%ld stored, %ld read", round - 1L, got);
        }
        test_barrier();
        *(volatile long *) &base[UNNAMED] = round;
        test_barrier();
    }
}

/* Add 1 to a token's word. */
static void write_word(int token)
{
    static long one = 1, result, word, expected;
    int target = token / TOKENS, kind = below(KINDS);
    MPI_Aint disp = place(token);
    MPI_Request request = MPI_REQUEST_NULL;

    expected = known[token];
    word = expected + 1;
    if (target == test_rank && 0 == below(2)) {
        *(volatile long *) &base[disp] = word;
        atomic_thread_fence(memory_order_seq_cst);
        if (detected) {
            return;
        }
        if (locked) {
            OK(MPI_Win_sync(win));
        } else {
            int any = below(test_size);

            OK(MPI_Win_lock(MPI_LOCK_SHARED, any, 0, win));
            OK(MPI_Win_unlock(any, win));
        }
        return;
    }
    enter(target);
    switch (kind) {
    case 0:
        OK(MPI_Rput(&word, 1, MPI_LONG, target, disp, 1, MPI_LONG, win, &request));
        break;
    case 1:
        OK(MPI_Accumulate(&one, 1, MPI_LONG, target, disp, 1, MPI_LONG, MPI_SUM, win));
        break;
    case 2:
        OK(MPI_Raccumulate(&one, 1, MPI_LONG, target, disp, 1, MPI_LONG, MPI_SUM, win, &request));
        break;
    case 3:
        OK(MPI_Get_accumulate(&one, 1, MPI_LONG, &result, 1, MPI_LONG, target, disp, 1, MPI_LONG,
                              MPI_SUM, win));
        break;
    case 4:
        OK(MPI_Rget_accumulate(&one, 1, MPI_LONG, &result, 1, MPI_LONG, target, disp, 1, MPI_LONG,
                               MPI_SUM, win, &request));
        break;
    case 5:
        OK(MPI_Fetch_and_op(&one, &result, MPI_LONG, target, disp, MPI_SUM, win));
        break;
    case 6:
        OK(MPI_Compare_and_swap(&word, &expected, &result, MPI_LONG, target, disp, win));
        break;
    default:
        OK(MPI_Put(&word, 1, MPI_LONG, target, disp, 1, MPI_LONG, win));
        break;
    }
    if (MPI_REQUEST_NULL != request) {
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    complete(target);
}

/* Give a token to anybody: all that is known, and last its name. */
static void give(int token)
{
    long message[MAX_RANKS * TOKENS + 1];

    memcpy(message, known, sizeof(message));
    message[MAX_RANKS * TOKENS] = token;
    OK(MPI_Bsend(message, MAX_RANKS * TOKENS + 1, MPI_LONG, below(test_size), TOKEN,
                 MPI_COMM_WORLD));
}

static void take(int hops, int *ended)
{
    long message[MAX_RANKS * TOKENS + 1], got = -1;
    int token, target;

    OK(MPI_Recv(message, MAX_RANKS * TOKENS + 1, MPI_LONG, MPI_ANY_SOURCE, TOKEN, MPI_COMM_WORLD,
                MPI_STATUS_IGNORE));
    for (int i = 0; i < MAX_RANKS * TOKENS; ++i) {
        known[i] = message[i] > known[i] ? message[i] : known[i];
    }
    token = (int) message[MAX_RANKS * TOKENS];
    target = token / TOKENS;
    enter(target);
    OK(MPI_Get(&got, 1, MPI_LONG, target, place(token), 1, MPI_LONG, win));
    complete(target);
    CHECK(got == known[token], "its token has come, word %d of %d: %ld, not %ld", token % TOKENS,
          target, got, known[token]);
    if (known[token] == hops) {
        ++*ended;
        return;
    }
    write_word(token);
    ++known[token];
    give(token);
}

static void ask(const char *key, char value[32])
{
    MPI_Info info;
    int flag;

    OK(MPI_Win_get_info(win, &info));
    OK(MPI_Info_get(info, key, 31, value, &flag));
    OK(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    char mode[32] = "", stores[32] = "";
    static char bytes[2 * MAX_RANKS * TOKENS * (sizeof(known) + MPI_BSEND_OVERHEAD)];
    void *detached;
    int size;
    int hops, ended = 0, told = 0, all = 0, there;

    test_init(&argc, &argv);
    hops = 1 < argc ? atoi(argv[1]) : 3;
    state =
        2 < argc ? (uint64_t) atoi(argv[2]) * 1000 + (uint64_t) test_rank : (uint64_t) test_rank;
    OK(MPI_Buffer_attach(bytes, sizeof(bytes)));
    base = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    win = test_win_make(base, BYTES, sizeof(long), &base);
    ask("ompi_osc_cached_mode", mode);
    ask("ompi_osc_cached_stores", stores);
    detected = 0 == strcmp("detect", stores);
    if (detected && 0 != strcmp("coherent", mode)) {
        test_skip("stores cannot be detected here");
    }
    counters_open(&counted, &win);
    test_barrier();
    for (int i = 0; i < TOKENS; ++i) {
        give(test_rank * TOKENS + i);
    }
    while (all < test_size * TOKENS) {
        OK(MPI_Iprobe(MPI_ANY_SOURCE, TOKEN, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE));
        if (there) {
            take(hops, &ended);
        }
        for (int i = below(8); 0 < i; --i) {
            read_some(below(test_size));
        }
        keep_one();
        for (; told < ended; ++told) { /* one more */
            for (int i = 0; i < test_size; ++i) {
                OK(MPI_Send(NULL, 0, MPI_INT, i, END, MPI_COMM_WORLD));
            }
        }
        for (there = 1; there;) {
            OK(MPI_Iprobe(MPI_ANY_SOURCE, END, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE));
            if (there) {
                OK(MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, END, MPI_COMM_WORLD,
                            MPI_STATUS_IGNORE));
                ++all;
            }
        }
    }
    if (locked) {
        OK(MPI_Win_unlock_all(win));
        locked = 0;
    }
    if (3 < argc && 0 == test_rank) {
        printf("gets %lu hits %lu fills %lu holds %lu dropped %lu syncs %lu\n",
               counter(&counted, "gets"), counter(&counted, "hits"),
               counter(&counted, "coherence_fills"), counter(&counted, "coherence_holds"),
               counter(&counted, "coherence_dropped"), counter(&counted, "coherence_syncs"));
    }
    if (detected) {
        store_waits();
    }
    CHECK(0 < coherent_sum(&counted, "hits"), "never a hit");
    CHECK(0 < coherent_sum(&counted, "coherence_dropped"), "nothing was invalidated");
    CHECK(!detected || 0 < coherent_sum(&counted, "coherence_traps"), "no store has waited");
    CHECK(0 == coherent_sum(&counted, "mismatches"), "hits were wrong");
    counters_close(&counted);
    OK(MPI_Win_free(&win));
    OK(MPI_Buffer_detach(&detached, &size));
    munmap(base, BYTES);
    return test_done();
}
