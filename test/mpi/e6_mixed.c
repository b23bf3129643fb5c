/* E6: in a coherent window whose processes share a cache in other modes, too, a process keeps data in
 * mode user that no owner knows of: it is no hit for those in mode coherent, and not for a writer.
 *
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync share=on" ranks=4 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

enum { WORDS = 4096, PLACE = 1041, ROUNDS = 20, USER = 0, READER = 1, WRITER = 2, OWNER = 3 };

int main(int argc, char **argv)
{
    struct counters c;
    MPI_Win win;
    long *base, got;

    test_init(&argc, &argv);
    coherent_window(&win, WORDS, &base, &c);
    if (!coherent_is(win)) {
        test_skip("no coherent window here");
    }
    OK(MPI_Win_lock_all(0, win));
    if (OWNER != test_rank) {
        (void) coherent_get(win, OWNER, WORDS - 1);
    }
    test_set_key(win, "ompi_osc_cached_mode", (USER == test_rank) ? "user" : "coherent");
    OK(MPI_Win_flush_all(win)); /* from here on */
    test_barrier();
    for (long round = 0; round < ROUNDS; ++round) {
        if (USER == test_rank) {
            test_set_key(win, "ompi_osc_cached_invalidate", "true");
            for (int i = 0; i < 3; ++i) {
                got = coherent_get(win, OWNER, PLACE);
                CHECK(round == got, "mode user has %ld, wanted %ld", got, round);
            }
        }
        test_barrier();
        if (WRITER == test_rank) {
            long value = round + 1;

            OK(MPI_Put(&value, 1, MPI_LONG, OWNER, PLACE, 1, MPI_LONG, win));
            OK(MPI_Win_flush(OWNER, win));
            got = coherent_get(win, OWNER, PLACE);
            CHECK(value == got, "the writer has %ld, wanted %ld", got, value);
        }
        test_barrier();
        if (READER == test_rank) {
            got = coherent_get(win, OWNER, PLACE);
            CHECK(round + 1 == got, "mode coherent has %ld, wanted %ld", got, round + 1);
        }
        test_barrier();
    }
    if (USER == test_rank) {
        CHECK(0 < counter(&c, "hits"), "mode user kept nothing");
    } else if (READER
               == test_rank) { /* what a process in mode coherent keeps is the others', too */
        CHECK(coherent_warm(win, &c, OWNER, PLACE, ROUNDS), "mode coherent keeps nothing");
        CHECK(0 < counter(&c, "node_bytes"), "there is no segment");
    }
    test_barrier(); /* an owner that waits in MPI_Win_free gives no copies */
    OK(MPI_Win_unlock_all(win));
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
