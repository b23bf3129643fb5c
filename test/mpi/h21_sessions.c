/* H21: several threads come with a session, after the helper: one uses a window of before, one a window of the session.
 * test: for=osc-cached needs=cache ranks=2 transport=shm,tcp limit=60 threads=2 cflags=-pthread mca="osc_cached_helper=on"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

#include <pthread.h>

#if 5 > OMPI_MAJOR_VERSION

int main(int argc, char **argv)
{
    test_init(&argc, &argv);
    test_skip("this Open MPI has no sessions");
}

#else

enum { SUMS = 20000 };

static const long one = 1;

static pthread_barrier_t both;

/* Only the helper has something to do. */
static void *sum(void *arg)
{
    MPI_Win win = *(MPI_Win *) arg;
    int target = (test_rank + 1) % test_size;

    for (long i = 0; i < SUMS; ++i) {
        long got = -1;

        if (0 == i % 1000 && PTHREAD_BARRIER_SERIAL_THREAD == pthread_barrier_wait(&both)) {
            helper_rest(); /* while the other one waits, and so does not call MPI either */
        }
        if (0 == i % 1000) {
            (void) pthread_barrier_wait(&both);
        }
        OK(MPI_Fetch_and_op(&one, &got, MPI_LONG, target, 0, MPI_SUM, win));
        OK(MPI_Win_flush(target, win));
        CHECK(i == got, "%ld instead of %ld", got, i);
    }
    return NULL;
}

static MPI_Comm session_comm(MPI_Session *session)
{
    MPI_Group group;
    MPI_Info info;
    MPI_Comm comm;

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE"));
    OK(MPI_Session_init(info, MPI_ERRORS_RETURN, session));
    OK(MPI_Info_free(&info));
    OK(MPI_Group_from_session_pset(*session, "mpi://WORLD", &group));
    OK(MPI_Comm_create_from_group(group, "h21", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    OK(MPI_Group_free(&group));
    return comm;
}

int main(int argc, char **argv)
{
    MPI_Session session;
    long *base[2];
    pthread_t thread;
    struct counters c;
    MPI_Win win[2];
    MPI_Comm comm;

    test_init(&argc, &argv);
    test_needs_threads_of_windows();
    win[0] = test_win_make(NULL, sizeof(long), sizeof(long), &base[0]);
    counters_open(&c, &win[0]);
    comm = session_comm(&session);
    OK(MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, comm, &base[1], &win[1]));
    test_win(win[1]);
    *base[0] = *base[1] = 0;
    test_barrier();
    OK(MPI_Win_lock_all(0, win[0]));
    OK(MPI_Win_lock_all(0, win[1]));
    CHECK(0 == pthread_barrier_init(&both, NULL, 2), "no barrier");
    CHECK(0 == pthread_create(&thread, NULL, sum, &win[1]), "no thread");
    sum(&win[0]);
    CHECK(0 == pthread_join(thread, NULL), "no thread");
    OK(MPI_Win_unlock_all(win[0]));
    OK(MPI_Win_unlock_all(win[1]));
    CHECK(SUMS <= counter(&c, "helper_operations"), "by the helper");
    counters_close(&c);
    test_barrier();
    OK(MPI_Win_free(&win[1]));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Session_finalize(&session));
    OK(MPI_Win_free(&win[0]));
    return test_done();
}

#endif
