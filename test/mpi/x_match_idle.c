/* Peers that nobody talks to take nothing from the memory of the queues: many communicators, no
 * message on any of them.
 *
 * test: for=pml-llamatch ranks=4 transport=shm
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { COMMS = 200, EACH = 5, ONE_ARRAY = 4096 }; /* at least an array of the default size */

int main(int argc, char **argv)
{
    MPI_Comm comm[COMMS];
    MPI_Request request[COMMS * EACH];
    struct counters c;
    unsigned long before, after;

    test_init(&argc, &argv);
    counters_open_all(&c, "pml_llamatch_", MPI_T_BIND_NO_OBJECT, NULL);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm[0])); /* what making one needs once */
    test_barrier();
    before = counter(&c, "arena_used");
    for (int i = 1; i < COMMS; ++i) {
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]));
    }
    test_barrier();
    after = counter(&c, "arena_used");
    CHECK(after <= before + ONE_ARRAY, "%lu bytes in use before, %lu after %d communicators",
          before, after, COMMS);
    /* One receive on each needs no array; more of them are seen, and leave nothing. */
    for (int i = 0; i < COMMS * EACH; ++i) {
        if (COMMS == i) {
            CHECK(counter(&c, "arena_used") <= after + ONE_ARRAY,
                  "%lu bytes in use, %lu with one receive each", after, counter(&c, "arena_used"));
        }
        OK(MPI_Irecv(NULL, 0, MPI_INT, (test_rank + 1) % test_size, 0, comm[i % COMMS],
                     &request[i]));
    }
    CHECK(counter(&c, "arena_used") >= after + COMMS * 64ul, "%lu bytes in use, %lu with receives",
          after, counter(&c, "arena_used"));
    test_barrier();
    for (int i = 0; i < COMMS * EACH; ++i) {
        OK(MPI_Send(NULL, 0, MPI_INT, (test_rank + test_size - 1) % test_size, 0, comm[i % COMMS]));
    }
    OK(MPI_Waitall(COMMS * EACH, request, MPI_STATUSES_IGNORE));
    CHECK(counter(&c, "arena_used") <= after + ONE_ARRAY, "%lu bytes in use before, %lu after all",
          after, counter(&c, "arena_used"));
    for (int i = 0; i < COMMS; ++i) {
        OK(MPI_Comm_free(&comm[i]));
    }
    counters_close(&c);
    return test_done();
}
