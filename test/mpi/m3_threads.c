/* M3: MPI_THREAD_MULTIPLE: threads that post, send, probe and cancel at once, on one communicator.
 * test: for=pml ranks=2,4 transport=shm,tcp limit=120 cflags="-pthread"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Each thread has a tag of its own, so that it knows the order of its messages.
 */
#include "test.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 60, N = 16 };

static int left, right;
static int failures[THREADS];

static void *talk(void *argument)
{
    int me = *(int *) argument, tag = 10 + me, in[N], out[N], value, flag;
    MPI_Request recv[N], send[N], extra;
    MPI_Status status;

    for (int round = 0; round < ROUNDS; ++round) {
        /* Half of the receives are posted before the messages can come, the others after. */
        for (int i = 0; i < N / 2; ++i) {
            MPI_Irecv(&in[i], 1, MPI_INT, (i + me) % 2 ? left : MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &recv[i]);
        }
        MPI_Irecv(&value, 1, MPI_INT, me % 2 ? left : MPI_ANY_SOURCE, 500 + me, MPI_COMM_WORLD, &extra);
        for (int i = 0; i < N; ++i) {
            out[i] = 1000 * round + i;
            MPI_Isend(&out[i], 1, MPI_INT, right, tag, MPI_COMM_WORLD, &send[i]);
        }
        MPI_Waitall(N / 2, recv, MPI_STATUSES_IGNORE);
        for (int i = N / 2; i < N; ++i) {
            if (i % 3) {
                MPI_Recv(&in[i], 1, MPI_INT, left, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else {
                MPI_Message message;

                MPI_Mprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
                MPI_Mrecv(&in[i], 1, MPI_INT, &message, MPI_STATUS_IGNORE);
            }
        }
        MPI_Cancel(&extra);
        MPI_Wait(&extra, &status);
        MPI_Test_cancelled(&status, &flag);
        failures[me] += !flag;
        for (int i = 0; i < N; ++i) {
            failures[me] += 1000 * round + i != in[i];
        }
        MPI_Waitall(N, send, MPI_STATUSES_IGNORE);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];

    test_init_thread(&argc, &argv, MPI_THREAD_MULTIPLE);
    left = (test_rank + test_size - 1) % test_size;
    right = (test_rank + 1) % test_size;
    for (int i = 0; i < THREADS; ++i) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, talk, &numbers[i]);
    }
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(threads[i], NULL);
        CHECK(0 == failures[i], "thread %d: %d wrong", i, failures[i]);
    }
    return test_done();
}
