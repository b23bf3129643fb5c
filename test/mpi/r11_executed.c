/* R11: accumulates and atomics, which the helper of the target executes, are writes as others: when
 * one is complete, nobody reads a copy of before, whether its origin was a third process or the
 * owner itself. And no atomic is served from a copy.
 *
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync verify=2" ranks=3,4 transport=shm,tcp
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync share=off" ranks=3 transport=tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

enum { OWNER, ORIGIN, WORDS = 4096, KINDS = 5, ROUNDS = 4 };

/* Add 1 to a word of the owner. @return what was there before, or -1 */
static long execute(int kind, long value, MPI_Aint disp, MPI_Win win)
{
    static long one, word, expected, result;

    one = 1;
    word = value + 1;
    expected = value;
    result = -1;
    switch (kind) {
    case 0:
        OK(MPI_Accumulate(&one, 1, MPI_LONG, OWNER, disp, 1, MPI_LONG, MPI_SUM, win));
        break;
    case 1:
        OK(MPI_Accumulate(&word, 1, MPI_LONG, OWNER, disp, 1, MPI_LONG, MPI_REPLACE, win));
        break;
    case 2:
        OK(MPI_Get_accumulate(&one, 1, MPI_LONG, &result, 1, MPI_LONG, OWNER, disp, 1, MPI_LONG,
                              MPI_SUM, win));
        break;
    case 3:
        OK(MPI_Fetch_and_op(&one, &result, MPI_LONG, OWNER, disp, MPI_SUM, win));
        break;
    default:
        OK(MPI_Compare_and_swap(&word, &expected, &result, MPI_LONG, OWNER, disp, win));
        break;
    }
    OK(MPI_Win_flush(OWNER, win));
    return result;
}

int main(int argc, char **argv)
{
    unsigned long hits, served;
    struct counters c;
    long *base, value = 0, got, nothing = 0;
    int reader;
    MPI_Win win;

    test_init(&argc, &argv);
    reader = test_size - 1;
    coherent_window(&win, WORDS, &base, &c);
    OK(MPI_Win_lock_all(0, win));
    for (int i = 0; i < KINDS * ROUNDS; ++i) {
        int kind = i % KINDS, origin = (0 == i / KINDS % 2) ? ORIGIN : OWNER;

        if (reader == test_rank) {
            CHECK(coherent_warm(win, &c, OWNER, 700, value), "kind %d: never a hit", kind);
            coherent_tell(origin);
            coherent_hear(origin);
            hits = counter(&c, "hits");
            OK(MPI_Fetch_and_op(&nothing, &got, MPI_LONG, OWNER, 700, MPI_NO_OP, win));
            OK(MPI_Win_flush(OWNER, win));
            CHECK(value + 1 == got, "kind %d of rank %d: an atomic says %ld", kind, origin, got);
            COUNTS(&c, "hits", hits, "an atomic is a hit");
            got = coherent_get(win, OWNER, 700);
            CHECK(value + 1 == got, "kind %d of rank %d: %ld, wanted %ld", kind, origin, got,
                  value + 1);
        } else if (origin == test_rank) {
            coherent_hear(reader);
            got = execute(kind, value, 700, win);
            CHECK(-1 == got || value == got, "kind %d: fetched %ld, wanted %ld", kind, got, value);
            coherent_tell(reader);
        }
        ++value;
    }
    OK(MPI_Win_unlock_all(win));
    test_barrier();
    served = counter(&c, "helper_served");
    CHECK(KINDS * ROUNDS / 2 <= served || OWNER != test_rank || !test_inner_is("ucx"),
          "the helper has executed %lu operations", served);
    CHECK(KINDS * ROUNDS <= coherent_sum(&c, "coherence_dropped"), "not all copies were dropped");
    CHECK(0 == coherent_sum(&c, "mismatches"), "hits were wrong");
    counters_close(&c);
    OK(MPI_Win_free(&win));
    OK(MPI_Free_mem(base));
    return test_done();
}
