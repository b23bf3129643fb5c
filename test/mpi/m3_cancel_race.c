/* M3: MPI_Cancel while another thread matches the receive: either the receive is cancelled and the
 * message is still there, or it is not cancelled and has the message; never both, never neither.
 * test: for=pml-llamatch ranks=1 threads=2 transport=shm limit=120
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <pthread.h>
#include <stdatomic.h>

#include "test.h"

enum { ROUNDS = 20000, SECONDS = 15, TAG = 7, STOP = -1 };

static atomic_int turn; /* the round that the sender may begin, or STOP */

static void wait_a_little(int steps)
{
    for (volatile int i = 0; i < steps; ++i) {
    }
}

static void *send_all(void *unused)
{
    for (int i = 1; i <= ROUNDS; ++i) {
        for (int now; (now = atomic_load(&turn)) < i;) {
            if (STOP == now) {
                return unused;
            }
        }
        wait_a_little(i % 200);
        OK(MPI_Send(&i, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD));
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t sender;
    double end;

    test_init_thread(&argc, &argv, MPI_THREAD_MULTIPLE);
    CHECK(0 == pthread_create(&sender, NULL, send_all, NULL), "no thread");
    end = MPI_Wtime() + SECONDS; /* threads that share a processor need long for a round */
    for (int i = 1; i <= ROUNDS && 0 == test_failures && MPI_Wtime() < end; ++i) {
        int value = -1, cancelled, there = 0;
        MPI_Request request;
        MPI_Status status;

        OK(MPI_Irecv(&value, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &request));
        atomic_store(&turn, i);
        wait_a_little(i * 37 % 600);
        OK(MPI_Cancel(&request));
        OK(MPI_Wait(&request, &status));
        OK(MPI_Test_cancelled(&status, &cancelled));
        if (!cancelled) {
            continue;
        }
        for (double late = MPI_Wtime() + 10; !there && MPI_Wtime() < late;) {
            OK(MPI_Iprobe(0, TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE));
        }
        CHECK(there, "round %d: cancelled, and its message is lost (the buffer has %d)", i, value);
        if (there) {
            OK(MPI_Recv(&value, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(i == value, "round %d: cancelled, then received %d", i, value);
        }
    }
    if (0 != test_failures) {
        MPI_Abort(MPI_COMM_WORLD, 1); /* the sender may wait for ever */
    }
    atomic_store(&turn, STOP);
    OK(pthread_join(sender, NULL));
    return test_done();
}
