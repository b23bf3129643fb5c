/* osc_cached_advise: a run without a cache tells what one would do: whose bytes repeat, whose
 * differ, what is in the epochs of fences. Everything that the program gets is right, and own
 * writes are seen.
 *
 * What depends on time is not looked at over shared memory, where a get may be as fast as a hit.
 *
 * test: for=osc-cached needs=cache cache="mode=always" ranks=2,3 transport=tcp args="text"
 * test: for=osc-cached needs=cache cache="mode=always stats=json" transport=shm args="json"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "told.h"

enum { PLACES = 16, ROUNDS = 8, BYTES = 64 };

static int lacks(const char *wanted)
{
    return 0 == told_count(wanted) && told_lacks(wanted);
}

/* A window with a value in all bytes. */
static MPI_Win make(const char *name, char **base)
{
    MPI_Win win = test_win_make(NULL, PLACES * BYTES, 1, base);

    OK(MPI_Win_set_name(win, name));
    memset(*base, 1, PLACES * BYTES);
    return win;
}

static void get(MPI_Win win, int place, char value, int rget)
{
    char buffer[BYTES];
    int target = (test_rank + 1) % test_size;
    MPI_Request request;

    if (rget) {
        OK(MPI_Rget(buffer, BYTES, MPI_BYTE, target, (MPI_Aint) place * BYTES, BYTES, MPI_BYTE, win,
                    &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        OK(MPI_Get(buffer, BYTES, MPI_BYTE, target, (MPI_Aint) place * BYTES, BYTES, MPI_BYTE,
                   win));
        OK(MPI_Win_flush(target, win));
    }
    CHECK(value == buffer[0] && value == buffer[BYTES - 1], "got %d, not %d", buffer[0], value);
}

/* All places, again and again, and a new value at times: by the owner, by others, or never. */
static void read_again(const char *name, int changes, int rget)
{
    char *base, value = 1, values[BYTES];
    MPI_Win win = make(name, &base);
    int target = (test_rank + 1) % test_size;

    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    for (int round = 0; round < ROUNDS; ++round) {
        for (int i = 0; i < PLACES; ++i) {
            get(win, i, value, rget);
        }
        if (changes) {
            test_barrier();
            ++value;
            memset(values, value, BYTES);
            for (int i = 0; i < PLACES; ++i) {
                OK(MPI_Put(values, BYTES, MPI_BYTE, (1 == changes) ? target : test_rank,
                           (MPI_Aint) i * BYTES, BYTES, MPI_BYTE, win));
            }
            OK(MPI_Win_flush_all(win));
            test_barrier();
        }
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
}

/* In epochs of fences, each place twice. */
static void read_in_fences(void)
{
    char *base, buffer[2][BYTES];
    MPI_Win win = make("fences", &base);

    OK(MPI_Win_fence(0, win));
    for (int round = 0; round < ROUNDS; ++round) {
        for (int i = 0; i < PLACES; ++i) {
            for (int k = 0; k < 2; ++k) {
                OK(MPI_Get(buffer[k], BYTES, MPI_BYTE, (test_rank + 1) % test_size,
                           (MPI_Aint) i * BYTES, BYTES, MPI_BYTE, win));
            }
        }
        OK(MPI_Win_fence(0, win));
        CHECK(1 == buffer[0][0] && 1 == buffer[1][BYTES - 1], "got %d", buffer[0][0]);
    }
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    const char *kind = argv[1];
    char *base;
    int bad = 0;
    MPI_Win win;

    told_begin();
    setenv("OMPI_MCA_osc_cached_helper_stats", "0", 1); /* asked for between nodes */
    /* JSON comes with osc_cached_stats json, too */
    setenv("OMPI_MCA_osc_cached_advise", "1", 1);
    test_init(&argc, &argv);
    read_again("same", 0, 0);
    read_again("same", 0, 0);
    read_again("requests", 0, 1);
    read_again("own writes", 1, 0);
    read_again("changes", 2, 0);
    read_in_fences();
    win = make("nobody", &base);
    OK(MPI_Win_free(&win));
    told_end();

    if (0 < test_failures) {
        printf("%s\n", told);
        return 1;
    }
    if (0 != test_rank) {
        return told_wrong("osc", 0);
    }
    if (0 == strcmp(kind, "json")) {
        bad |= lacks("\n{\"osc_cached_advise\": {\"windows\": [{\"window\": \"");
        bad |= lacks("{\"window\": \"same\", \"windows\": 2, \"inner\": \"");
        bad |= lacks("\"gets\": 512, \"repeated_rate\": 0.8750, ");
        bad |= lacks("\"checked\": 448, \"differed\": 0, ");   /* same */
        bad |= lacks("\"checked\": 224, \"differed\": 224, "); /* changes */
        bad |= lacks("\"reason\": \"nothing to gain: it was not read by MPI_Get or MPI_Rget\"}");
        return bad;
    }
    bad |= lacks("osc/cached: advice (nothing was cached in this run; ");
    bad |= lacks("\n  same (2 windows): mode always would have served 87.5 % of ");
    bad |= lacks("\n  requests: mode always would have served 87.5 % of ");
    bad |= lacks("; no byte differed between repeated gets (");
    bad |= lacks("\n  own writes: nothing to gain: ");
    bad |= lacks("\n  changes: bytes differed in ");
    bad |= lacks("\n  nobody: nothing to gain: it was not read by MPI_Get or MPI_Rget\n");
    bad |=
        lacks("\n  Run with: --mca osc cached --mca osc_cached_rules \"name=same: mode=always; ");
    return bad;
}
