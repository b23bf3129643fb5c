/* What a user is advised of matching: one line per communicator, or JSON, from rank 0 only, for all
 * processes of the job.
 *
 * test: for=pml-llamatch ranks=3 transport=shm,tcp args="1 deep"
 * test: for=pml-llamatch transport=shm args="json deep"
 * test: for=pml-llamatch transport=shm args="1 late"
 * test: for=pml-llamatch ranks=3 transport=shm args="true short"
 * test: for=pml-llamatch transport=shm args="json short"
 * test: for=pml-llamatch transport=shm args="1 cold"
 * test: for=pml-llamatch ranks=3 transport=shm args="mixed short"
 * test: for=pml-llamatch ranks=3 transport=shm args="others short"
 * test: for=pml-llamatch transport=shm args="0 deep"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "told.h"

/* ob1 passes 34 million elements per step: some hundred ms. */
enum { DEEP = 8192, STEPS = 2, SHORT = 500, BURST = 512, COLD_BYTES = 4 << 20 };

static MPI_Request requests[DEEP];
static MPI_Comm comm;

/* Rank 0 gets messages of rank 1 in reverse order. With late, they are there before their receives.
 */
static void deep(int late)
{
    for (int step = 0; step < STEPS; ++step) {
        if (late) {
            for (int i = 0; i < DEEP && 1 == test_rank; ++i) {
                OK(MPI_Send(NULL, 0, MPI_INT, 0, i, comm));
            }
            test_barrier();
        }
        for (int i = DEEP - 1; 0 <= i && 0 == test_rank; --i) {
            OK(MPI_Irecv(NULL, 0, MPI_INT, 1, i, comm, &requests[i]));
        }
        test_barrier();
        for (int i = 0; i < DEEP && 1 == test_rank && !late; ++i) {
            OK(MPI_Send(NULL, 0, MPI_INT, 0, i, comm));
        }
        if (0 == test_rank) {
            OK(MPI_Waitall(DEEP, requests, MPI_STATUSES_IGNORE));
        }
        test_barrier();
    }
}

/* One message at a time around the ring. */
static void shallow(void)
{
    for (int i = 0; i < SHORT; ++i) {
        OK(MPI_Irecv(NULL, 0, MPI_INT, (test_rank + test_size - 1) % test_size, i, comm, requests));
        OK(MPI_Send(NULL, 0, MPI_INT, (test_rank + 1) % test_size, i, comm));
        OK(MPI_Wait(requests, MPI_STATUS_IGNORE));
    }
}

/* Rank 0 computes with other data before each of some bursts, in which receives are matched at
 * random. */
static void cold(void)
{
    static char other_data[COLD_BYTES];

    for (int step = 0; step < STEPS; ++step) {
        for (int i = 0; i < DEEP && 0 == test_rank; ++i) {
            OK(MPI_Irecv(NULL, 0, MPI_INT, 1, i, comm, &requests[i]));
        }
        for (int i = 0; i < DEEP; i += BURST) {
            for (int k = 0; k < COLD_BYTES && 0 == test_rank; k += 64) {
                ++other_data[k];
            }
            test_barrier();
            for (int k = i; k < i + BURST && 1 == test_rank; ++k) {
                OK(MPI_Send(NULL, 0, MPI_INT, 0, k * 4001 % DEEP, comm));
            }
            for (int k = i; k < i + BURST && 0 == test_rank; ++k) {
                OK(MPI_Wait(&requests[k * 4001 % DEEP], MPI_STATUS_IGNORE));
            }
        }
    }
}

/* The value of the parameter for a process: some jobs have different ones. */
static const char *value_of(const char *kind)
{
    int rank = atoi(getenv("OMPI_COMM_WORLD_RANK"));

    return (0 == strcmp(kind, "mixed"))    ? ((0 == rank)   ? "1"
                                              : (1 == rank) ? "0"
                                                            : "json")
           : (0 == strcmp(kind, "others")) ? ((0 == rank) ? "0" : "1")
                                           : kind;
}

int main(int argc, char **argv)
{
    const char *kind = argv[1], *what = argv[2];
    int bad = 0, is_short = 0 == strcmp(what, "short"), is_json = 0 == strcmp(kind, "json");
    int is_off = 0 == strcmp(kind, "0") || 0 == strcmp(kind, "others");

    told_begin();
    setenv("OMPI_MCA_pml_llamatch_advise", value_of(kind), 1);
    test_init(&argc, &argv);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_name(comm, "queues \"of\" interest"));
    if (is_short) {
        shallow();
    } else if (0 == strcmp(what, "cold")) {
        cold();
    } else {
        deep(0 == strcmp(what, "late"));
    }
    if (is_short) { /* else it is there until the end */
        OK(MPI_Comm_free(&comm));
    }
    told_end();

    if (0 != test_rank || is_off) {
        return told_wrong("llamatch", 0);
    }
    if (is_json) {
        bad |= told_lacks("{\"pml_llamatch_advise\": {\"communicators\": [{");
        bad |=
            told_lacks(is_short ? "{\"communicator\": \"queues \\\"of\\\" interest\", "
                                  "\"recommendation\": [], \"predicted_saving_seconds\": 0.000000, "
                                : "{\"communicator\": \"queues \\\"of\\\" interest\", "
                                  "\"recommendation\": [\"pml=llamatch\"");
        return bad | ('\n' != told[strlen(told) - 1]);
    }
    bad |= told_lacks("pml/llamatch: advice after ");
    if (is_short) {
        bad |= told_lacks("\n  queues \"of\" interest: nothing to gain: ");
        bad |= told_lacks("\n  pml/llamatch changes nothing here: run with or without it\n");
    } else { /* with its heater or without: that depends on the machine's caches */
        bad |= told_lacks("\n  queues \"of\" interest: use llamatch");
        bad |= told_lacks("up to 8192 entries waited; ");
        bad |= told_lacks("\n  Run with: --mca pml llamatch");
    }
    return bad;
}
