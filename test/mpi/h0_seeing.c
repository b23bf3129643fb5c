/* What a user sees of helpers: a summary per process on stderr, performance variables, and the
 * route of each operation in the trace.
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60 mca="osc_cached_helper=on osc_cached_stores=off"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "counters.h"
#include "seeing.h"

enum { SUMS = 40, BLOCKS = 600, BIG = 100000 };

static char folder[] = "/tmp/olhelper.XXXXXX";

static int wrong(const char *file, const char *text, int least, int most)
{
    return seen_wrong(folder, file, text, least, most);
}

static void use(MPI_Win win, long *buffer)
{
    int other = 1 - test_rank;
    MPI_Datatype strided;
    long one = 1, old, zero = 0;

    OK(MPI_Type_vector(BLOCKS, 1, 2, MPI_LONG, &strided));
    OK(MPI_Type_commit(&strided));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, other, 0, win));
    for (int i = 0; i < SUMS; ++i) {
        OK(MPI_Accumulate(&one, 1, MPI_LONG, other, 0, 1, MPI_LONG, MPI_SUM, win));
    }
    OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, other, 1, MPI_SUM, win));
    OK(MPI_Compare_and_swap(&one, &zero, &old, MPI_LONG, other, 2, win));
    /* more than the buffers of a session: announced, and given spares */
    OK(MPI_Accumulate(buffer, BIG, MPI_LONG, other, 8, BIG, MPI_LONG, MPI_SUM, win));
    OK(MPI_Win_flush(other, win));
    OK(MPI_Put(&one, 1, MPI_LONG, other, 4, 1, MPI_LONG, win));
    OK(MPI_Get(&old, 1, MPI_LONG, other, 5, 1, MPI_LONG, win));
    for (int i = 0; i < 20; ++i) { /* by one way or by the other */
        OK(MPI_Get(buffer, BLOCKS, MPI_LONG, other, 8, 1, strided, win));
        OK(MPI_Win_flush(other, win));
    }
    OK(MPI_Win_unlock(other, win));
    OK(MPI_Type_free(&strided));
}

int main(int argc, char **argv)
{
    char trace[32];
    long *base, *buffer = calloc(BIG, sizeof(long));
    struct counters c;
    int bad = 0;
    MPI_Win win;

    see(folder, "OMPI_MCA_osc_cached_helper_stats");

    test_init(&argc, &argv);
    counters_open_all(&c, "osc_cached_", MPI_T_BIND_NO_OBJECT, NULL);
    COUNTS(&c, "helper_sessions", 0, "before the first window");
    win = test_win_make(NULL, (BIG + 8) * sizeof(long), sizeof(long), &base);
    memset(base, 0, 8 * sizeof(long));
    test_barrier();
    use(win, buffer);
    test_barrier();
    COUNTS(&c, "helper_sessions", 1, "of the other process");
    COUNTS(&c, "helper_fetch_requests", 1, "MPI_Fetch_and_op");
    COUNTS(&c, "helper_swap_requests", 1, "MPI_Compare_and_swap");
    COUNTS(&c, "helper_lock_requests", 1, "MPI_Win_lock");
    COUNTS(&c, "helper_refused", 0, "nothing is wrong");
    COUNTS(&c, "helper_malformed", 0, "nothing is wrong");
    CHECK(SUMS + BIG * sizeof(long) / 32000 <= counter(&c, "helper_accumulate_requests"),
          "%lu requests for accumulates", counter(&c, "helper_accumulate_requests"));
    CHECK((SUMS + BIG + 2) * sizeof(long) <= counter(&c, "helper_bytes_moved"), "%lu bytes",
          counter(&c, "helper_bytes_moved"));
    CHECK(SUMS < counter(&c, "helper_requests"), "%lu requests", counter(&c, "helper_requests"));
    for (int i = 0; i < 5; ++i) {
        static const char *const some[] = {"helper_acks", "helper_grants", "helper_wakeups",
                                           "helper_cpu_ns", "helper_waits"};

        CHECK(0 < counter(&c, some[i]), "%s is 0", some[i]);
    }
    CHECK(counter(&c, "helper_memory_used") <= counter(&c, "helper_memory_most"), "%lu bytes used",
          counter(&c, "helper_memory_used"));
    CHECK(counter(&c, "helper_memory_most") <= 64 << 20, "%lu bytes used",
          counter(&c, "helper_memory_most"));
    OK(MPI_Win_free(&win));
    COUNTS(&c, "helper_unlock_requests", 1, "MPI_Win_unlock does not wait for it");
    counters_close(&c);
    bad = test_done();
    fflush(stderr);

    snprintf(trace, sizeof(trace), "trace.%d", test_rank);
    bad |= wrong("stderr",
                 0 == test_rank ? "osc/cached: helper of rank 0" : "osc/cached: helper of rank 1",
                 1, 1);
    bad |= wrong("stderr", "helper_swap_requests", 1, 1);
    bad |= wrong("stderr", "helper_cpu_ns", 1, 1);
    bad |= wrong(trace, "#helper accumulate ", SUMS + 1, SUMS + 1);
    bad |= wrong(trace, "#helper fetch ", 1, 1);
    bad |= wrong(trace, "#helper swap ", 1, 1);
    bad |= wrong(trace, "#inner put ", 1, 1);
    bad |= wrong(trace, " 40 8 bypassed", 1, 1);
    bad |= wrong(trace, " get ", 21, 21);
    bad |= wrong(trace, "#helper get ", 1, 20);
    see_no_more(folder, trace, bad);
    free(buffer);
    return bad;
}
