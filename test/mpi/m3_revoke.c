/* M3: a revoked communicator lets nobody wait: posted receives fail, and senders of unreceived messages are released.
 * test: for=pml ranks=2,4 transport=shm,tcp limit=60 mca-5.0="mpi_ft_enable=1"
 * test: for=pml ranks=2,4 transport=tcp limit=60 mca-5.0="mpi_ft_enable=1 btl_tcp_progress_thread=1"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Rank 0 has unexpected messages of both protocols from everybody when it revokes the communicator.
 */
#include "test.h"

#include <mpi-ext.h>

#if defined(OMPI_HAVE_MPI_EXT_FTMPI) && OMPI_HAVE_MPI_EXT_FTMPI
enum { BIG = 100000, SMALL = 10 };

/* What a call on the communicator may return after the revoke. */
static void released(const char *what, int rc, int success_too)
{
    int class = -1;

    MPI_Error_class(rc, &class);
    CHECK(MPIX_ERR_REVOKED == class || (success_too && MPI_SUCCESS == rc), "%s: error class %d", what, class);
}

static void revoke(int round)
{
    static int big[BIG];
    MPI_Comm comm;
    MPI_Request recv, anysource, send[SMALL + 1];
    int flag, in[2], small = 1;

    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    OK(MPI_Irecv(&in[0], 1, MPI_INT, (test_rank + 1) % test_size, 77, comm, &recv));
    OK(MPI_Irecv(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, 78, comm, &anysource));
    if (0 == test_rank) {
        for (int r = 1; r < test_size; ++r) {
            OK(MPI_Probe(r, 2, comm, MPI_STATUS_IGNORE)); /* the last one: all are here */
        }
        OK(MPIX_Comm_revoke(comm));
    } else {
        for (int i = 0; i < SMALL; ++i) {
            OK(MPI_Isend(&small, 1, MPI_INT, 0, 1, comm, &send[i]));
        }
        OK(MPI_Isend(big, BIG, MPI_INT, 0, 2, comm, &send[SMALL]));
        for (int i = 0; i <= SMALL; ++i) {
            released("send", MPI_Wait(&send[i], MPI_STATUS_IGNORE), 1);
        }
    }
    released("receive", MPI_Wait(&recv, MPI_STATUS_IGNORE), 0);
    released("any-source receive", MPI_Wait(&anysource, MPI_STATUS_IGNORE), 0);
    released("new receive", MPI_Recv(in, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE), 0);
    OK(MPIX_Comm_is_revoked(comm, &flag));
    CHECK(flag, "round %d: not revoked", round);
    test_barrier(); /* the world works on */
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    const char *enabled = getenv("OMPI_MCA_mpi_ft_enable");

    test_init(&argc, &argv);
    if (NULL == enabled || 0 == strcmp("0", enabled)) {
        test_skip("fault tolerance is not enabled (mpi_ft_enable)");
    }
    for (int round = 0; round < 5; ++round) {
        revoke(round);
    }
    return test_done();
}
#else
int main(int argc, char **argv)
{
    test_init(&argc, &argv);
    test_skip("this Open MPI has no fault tolerance");
    return 0;
}
#endif
