/* Performance variables are read, and info keys set, while other threads match, and while
 * communicators come and go.
 *
 * test: for=pml-llamatch ranks=2 transport=shm,tcp threads=3 limit=120
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

#include <pthread.h>
#include <stdatomic.h>

enum { ROUNDS = 200, WINDOW = 64 };

static MPI_Comm busy;
static atomic_int done;

/* Messages, all passing each other. */
static void *match(void *arg)
{
    MPI_Request requests[WINDOW];
    int got[WINDOW];

    (void) arg;
    for (int round = 0; round < ROUNDS; ++round) {
        for (int i = 0; i < WINDOW; ++i) {
            OK(MPI_Irecv(&got[i], 1, MPI_INT, 1 - test_rank, i, busy, &requests[i]));
        }
        for (int i = WINDOW; i-- > 0;) {
            int value = round * WINDOW + i;
            OK(MPI_Send(&value, 1, MPI_INT, 1 - test_rank, i, busy));
        }
        OK(MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < WINDOW; ++i) {
            CHECK(round * WINDOW + i == got[i], "round %d, tag %d: %d", round, i, got[i]);
        }
    }
    atomic_store(&done, 1);
    return NULL;
}

/* Looks, and pauses the heater, if there is one, each second time. */
static void *look(void *arg)
{
    struct counters *c = arg;
    MPI_Info info;

    OK(MPI_Info_create(&info));
    for (int i = 0; !atomic_load(&done); ++i) {
        unsigned long most = counter(c, "posted_length_max");

        CHECK(counter(c, "posted_length") <= 2 * WINDOW && most <= 2 * WINDOW, "most %lu", most);
        CHECK(counter(c, "posted_matches") <= ROUNDS * WINDOW, "round %d", i);
        (void) counter(c, "posted_depth_mean");
        (void) counter(c, "hashes");
        OK(MPI_Info_set(info, "ompi_pml_llamatch_heater", (i % 2) ? "run" : "pause"));
        OK(MPI_Comm_set_info(busy,
                             info)); /* local in fact: nothing here depends on the other side */
    }
    OK(MPI_Info_free(&info));
    return NULL;
}

int main(int argc, char **argv)
{
    struct counters c;
    pthread_t threads[2];
    MPI_Comm brief;

    test_init_thread(&argc, &argv, MPI_THREAD_MULTIPLE);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &busy));
    counters_open_all(&c, "pml_llamatch_", MPI_T_BIND_MPI_COMM, &busy);
    pthread_create(&threads[0], NULL, match, NULL);
    pthread_create(&threads[1], NULL, look, &c);
    while (!atomic_load(&done)) {
        OK(MPI_Comm_dup(MPI_COMM_SELF, &brief));
        OK(MPI_Comm_free(&brief));
    }
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    COUNTS(&c, "posted_matches", ROUNDS * WINDOW - counter(&c, "unexpected_matches"),
           "every message was matched once");
    COUNTS(&c, "posted_length", 0, "nothing is left");
    COUNTS(&c, "unexpected_length", 0, "nothing is left");
    test_barrier();
    counters_close(&c);
    OK(MPI_Comm_free(&busy));
    return test_done();
}
