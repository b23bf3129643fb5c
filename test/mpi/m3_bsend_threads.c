/* M3: threads that buffer messages at once: MPI_Buffer_detach ends when all of them have gone.
 * test: for=pml ranks=2 threads=8 transport=shm limit=60 cflags="-pthread"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A receiver that does not look lets the sender run out of what it sends small messages with, so
 * that they go into the attached buffer. ob1 of Open MPI 4.1.4 and 5.0.7 counts them there without
 * a lock, and the job hangs, or crashes when the buffer went too early.
 */
#include <pthread.h>
#include <unistd.h>

#include "test.h"

enum { THREADS = 8, MESSAGES = 500, ROUNDS = 40, INTS = 4, MICROSECONDS = 8000 };

static int first;                     /* number of the first message of the round */
static pthread_barrier_t all_threads; /* that send */

static void *send_all(void *argument)
{
    int tag = *(int *) argument;

    pthread_barrier_wait(&all_threads);
    for (int i = first; i < first + MESSAGES; ++i) {
        int out[INTS] = {i, tag, i, tag};
        MPI_Request request;

        OK(MPI_Ibsend(out, INTS, MPI_INT, 1, tag, MPI_COMM_WORLD, &request));
        OK(MPI_Request_free(&request));
    }
    return NULL;
}

static void send_round(void)
{
    static char buffer[THREADS * MESSAGES * (INTS * sizeof(int) + MPI_BSEND_OVERHEAD)];
    int tags[THREADS], size;
    pthread_t threads[THREADS];
    void *detached;

    OK(MPI_Buffer_attach(buffer, sizeof(buffer)));
    for (int i = 0; i < THREADS; ++i) {
        tags[i] = i;
        CHECK(0 == pthread_create(&threads[i], NULL, send_all, &tags[i]), "no thread");
    }
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(threads[i], NULL);
    }
    OK(MPI_Buffer_detach(&detached, &size));
    CHECK(buffer == detached && (int) sizeof(buffer) == size, "another buffer, of %d bytes", size);
    memset(buffer, -1, sizeof(buffer)); /* what is still there is seen by the receiver */
}

static void receive_round(void)
{
    int in[INTS];

    usleep(MICROSECONDS);
    for (int i = first; i < first + MESSAGES; ++i) {
        for (int tag = 0; tag < THREADS; ++tag) {
            OK(MPI_Recv(in, INTS, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(i == in[0] && tag == in[1] && i == in[2] && tag == in[3],
                  "message %d of thread %d is %d, %d, %d, %d", i, tag, in[0], in[1], in[2], in[3]);
        }
    }
}

int main(int argc, char **argv)
{
    test_init_thread(&argc, &argv, MPI_THREAD_MULTIPLE);
    pthread_barrier_init(&all_threads, NULL, THREADS);
    for (int round = 0; round < ROUNDS; ++round) {
        test_barrier();
        first = round * MESSAGES;
        if (0 == test_rank) {
            send_round();
        } else {
            receive_round();
        }
    }
    return test_done();
}
