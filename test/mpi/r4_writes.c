/* R1, R3 to R7: a get that begins after a write is complete, whoever wrote and however, returns
 * what was written, and copies are served until then. The last rank reads blocks of all others
 * until they are hits; the other ranks write, complete, and tell it by a message.
 *
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync verify=2" ranks=3,4 transport=shm,tcp
 * test: for=osc-cached needs=cache cache="stores=sync verify=2" ranks=3 transport=tcp
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync share=off" ranks=3 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

enum { WORDS = 4096, KINDS = 10 }; /* 8 blocks of 4 KiB */

/* Add 1 to a word of a target, by each kind of operation. */
static void write_word(int kind, long value, int target, MPI_Aint disp, MPI_Win win)
{
    static long one = 1, result, expected;
    static long word;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype strided;

    word = value;
    expected = value - 1;
    switch (kind) {
    case 0:
        OK(MPI_Put(&word, 1, MPI_LONG, target, disp, 1, MPI_LONG, win));
        break;
    case 1:
        OK(MPI_Rput(&word, 1, MPI_LONG, target, disp, 1, MPI_LONG, win, &request));
        break;
    case 2:
        OK(MPI_Accumulate(&one, 1, MPI_LONG, target, disp, 1, MPI_LONG, MPI_SUM, win));
        break;
    case 3:
        OK(MPI_Raccumulate(&one, 1, MPI_LONG, target, disp, 1, MPI_LONG, MPI_SUM, win, &request));
        break;
    case 4:
        OK(MPI_Get_accumulate(&one, 1, MPI_LONG, &result, 1, MPI_LONG, target, disp, 1, MPI_LONG,
                              MPI_SUM, win));
        break;
    case 5:
        OK(MPI_Rget_accumulate(&one, 1, MPI_LONG, &result, 1, MPI_LONG, target, disp, 1, MPI_LONG,
                               MPI_SUM, win, &request));
        break;
    case 6:
        OK(MPI_Fetch_and_op(&one, &result, MPI_LONG, target, disp, MPI_SUM, win));
        break;
    case 7:
        OK(MPI_Compare_and_swap(&word, &expected, &result, MPI_LONG, target, disp, win));
        break;
    case 8: /* the second of two blocks, which are 1024 words apart */
        OK(MPI_Type_vector(2, 1, 1024, MPI_LONG, &strided));
        OK(MPI_Type_commit(&strided));
        {
            static long both[2];

            both[0] = both[1] = value;
            OK(MPI_Put(both, 2, MPI_LONG, target, disp - 1024, 1, strided, win));
        }
        OK(MPI_Type_free(&strided));
        break;
    default:
        OK(MPI_Accumulate(&word, 1, MPI_LONG, target, disp, 1, MPI_LONG, MPI_REPLACE, win));
        break;
    }
    if (MPI_REQUEST_NULL != request) {
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
}

int main(int argc, char **argv)
{
    struct counters c;
    MPI_Win win;
    long *base, value = 1000;
    int reader;

    test_init(&argc, &argv);
    reader = test_size - 1;
    OK(MPI_Alloc_mem(WORDS * sizeof(long), MPI_INFO_NULL, &base));
    for (int i = 0; i < WORDS; ++i) {
        base[i] = value;
    }
    win = test_win_make(base, WORDS * sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    test_barrier();
    for (int kind = 0; kind < KINDS; ++kind) {
        for (int round = 0; round < 3; ++round) {
            int target = round % (test_size - 1), writer = (kind + round) % (test_size - 1);
            MPI_Aint disp = 1024 + 512 * (kind % 3) + 17;

            if (2 == round) { /* the owner itself */
                writer = target;
            }
            /* all words are equal here */
            if (test_rank == reader) {
                OK(MPI_Win_lock_all(0, win));
                CHECK(coherent_warm(win, &c, target, disp, value), "kind %d, round %d: never a hit",
                      kind, round);
                coherent_tell(writer);
                coherent_hear(writer);
                CHECK(value + 1 == coherent_get(win, target, disp),
                      "kind %d, round %d: writer %d, target %d: %ld", kind, round, writer, target,
                      coherent_get(win, target, disp));
                OK(MPI_Win_unlock_all(win));
            } else if (test_rank == writer) {
                if (1 == round % 2) {
                    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
                } else {
                    OK(MPI_Win_lock_all(0, win));
                }
                coherent_hear(reader);
                write_word(kind, value + 1, target, disp, win);
                if (1 == round % 2) {
                    OK(MPI_Win_unlock(target, win));
                    coherent_tell(reader);
                } else if (0 == kind % 2) {
                    OK(MPI_Win_flush(target, win));
                    coherent_tell(reader);
                    OK(MPI_Win_unlock_all(win));
                } else {
                    OK(MPI_Win_flush_all(win));
                    coherent_tell(reader);
                    OK(MPI_Win_unlock_all(win));
                }
            }
            test_barrier();
            ++value;
            for (int i = 0; i < WORDS; ++i) {
                base[i] = value;
            }
            OK(MPI_Win_fence(0, win)); /* all words are equal again, and others know */
            OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        }
    }
    CHECK(0 < coherent_sum(&c, "coherence_holds"), "nobody held a block");
    CHECK(0 < coherent_sum(&c, "coherence_invalidations"), "nothing was invalidated");
    CHECK(coherent_sum(&c, "coherence_invalidations") == coherent_sum(&c, "coherence_dropped"),
          "not all were heard");
    CHECK(0 == coherent_sum(&c, "mismatches"), "hits were wrong");
    OK(MPI_Win_free(&win));
    OK(MPI_Free_mem(base));
    return test_done();
}
