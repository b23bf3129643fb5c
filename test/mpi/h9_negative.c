/* H9: elements of a datatype with a negative extent may begin before the target's memory, if their
 * bytes do not; the helper takes them, also when there are so many blocks that each element is
 * sent apart.
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_transfers=helper"
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60 mca="osc_cached_helper=on osc_cached_helper_per=node"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

enum { BLOCKS = 100, ELEMENTS = 2, BACK = 2000, FIRST = 4000, WORDS = 8192, MOST = 1000000 };

static int places[BLOCKS], lengths[BLOCKS];
static long wanted[ELEMENTS * BLOCKS * 2], got[ELEMENTS * BLOCKS * 2];
static int words;

static MPI_Datatype make_type(void)
{
    MPI_Datatype blocks, type;

    for (int i = 0, at = FIRST; i < BLOCKS; ++i) {
        places[i] = at;
        lengths[i] = 1 + i % 2;
        at += lengths[i] + 2 + 7 * i % 5; /* no regular ones */
    }
    for (int e = 0; e < ELEMENTS; ++e) {
        for (int i = 0; i < BLOCKS; ++i) {
            for (int k = 0; k < lengths[i]; ++k) {
                wanted[words++] = places[i] + k - e * BACK;
            }
        }
    }
    OK(MPI_Type_indexed(BLOCKS, lengths, places, MPI_LONG, &blocks));
    OK(MPI_Type_create_resized(blocks, 0, -(MPI_Aint) (BACK * sizeof(long)), &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Type_free(&blocks));
    return type;
}

/* The words that the datatype has at the target, which were added to so often. */
static void check(MPI_Win win, MPI_Datatype type, long added)
{
    int wrong = 0;

    memset(got, 0xff, sizeof(got));
    OK(MPI_Get(got, words, MPI_LONG, 1, 0, ELEMENTS, type, win));
    OK(MPI_Win_flush(1, win));
    for (int i = 0; i < words; ++i) {
        wrong += got[i] != wanted[i] + added;
    }
    CHECK(0 == wrong, "%d of %d words are wrong", wrong, words);
}

int main(int argc, char **argv)
{
    struct counters c;
    unsigned long did, copies, wanted;
    MPI_Datatype type;
    MPI_Win win;
    long *base;

    test_init(&argc, &argv);
    win = test_win_make(NULL, WORDS * sizeof(long), sizeof(long), &base);
    for (int i = 0; i < WORDS; ++i) {
        base[i] = i;
    }
    type = make_type();
    counters_open(&c, &win);
    test_barrier();
    if (0 == test_rank) {
        OK(MPI_Win_lock_all(0, win));
        check(win, type, 0);
        for (int i = 0; i < words; ++i) {
            got[i] = MOST;
        }
        OK(MPI_Accumulate(got, words, MPI_LONG, 1, 0, ELEMENTS, type, MPI_SUM, win));
        OK(MPI_Win_flush(1, win));
        check(win, type, MOST);
        OK(MPI_Win_unlock_all(win));
    } else {
        helper_rest_long();
    }
    OK(MPI_Type_free(&type));
    test_barrier();
    /* the sum, and the gets, where those have no other way */
    copies = counter(&c, "helper_copies");
    did = counter(&c, "helper_operations") + copies;
    wanted = (helper_moves_all() || 0 < copies) ? 3 : 1;
    CHECK(0 != test_rank || wanted <= did, "helpers did %lu operations, wanted %lu", did, wanted);
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
