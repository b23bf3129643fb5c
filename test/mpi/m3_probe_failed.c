/* M3: probes of a process that has failed end with an error, and find what it had sent.
 * test: for=pml ranks=3 transport=shm,tcp limit=60 mpirun-5.0="--with-ft ulfm" allow="Epoll MOD|send_msg: write failed"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Rank 1 sends a message and dies; rank 0 looks for another one. Rank 2 lives, and sends when it is
 * asked. libevent and PMIx say in one run of fifty that the connections of the dead process are gone, with
 * ob1, too.
 */
#include "test.h"

#include <mpi-ext.h>

#if defined(OMPI_HAVE_MPI_EXT_FTMPI) && OMPI_HAVE_MPI_EXT_FTMPI
#include <signal.h>
#include <unistd.h>

enum { SENT = 1, NEVER_SENT, GO };

static int class_of(int rc)
{
    int class = -1;

    MPI_Error_class(rc, &class);
    return class;
}

static void look(void)
{
    MPI_Message message;
    int flag = 0, rc, value = 0;

    OK(MPI_Send(&value, 1, MPI_INT, 1, GO, MPI_COMM_WORLD));
    /* mpirun tells of the failure; the limit of the test is the limit of the wait */
    do {
        rc = MPI_Iprobe(1, NEVER_SENT, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    } while (MPI_SUCCESS == rc && !flag);
    CHECK(MPIX_ERR_PROC_FAILED == class_of(rc), "MPI_Iprobe: error class %d", class_of(rc));
    rc = MPI_Improbe(1, NEVER_SENT, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
    CHECK(MPIX_ERR_PROC_FAILED == class_of(rc), "MPI_Improbe: error class %d", class_of(rc));
    rc = MPI_Iprobe(MPI_ANY_SOURCE, NEVER_SENT, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK(MPIX_ERR_PROC_FAILED == class_of(rc), "MPI_Iprobe, any source: error class %d",
          class_of(rc));

    OK(MPI_Iprobe(1, SENT, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(flag, "what had been sent before the failure is gone");
    OK(MPI_Iprobe(2, NEVER_SENT, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag, "a message that nobody sent");

    OK(MPIX_Comm_failure_ack(MPI_COMM_WORLD));
    OK(MPI_Iprobe(MPI_ANY_SOURCE, NEVER_SENT, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag, "a message that nobody sent");
    OK(MPI_Send(&value, 1, MPI_INT, 2, GO, MPI_COMM_WORLD));
    do {
        OK(MPI_Iprobe(MPI_ANY_SOURCE, SENT, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    } while (!flag);
}

int main(int argc, char **argv)
{
    const char *enabled = getenv("OMPI_MCA_mpi_ft_enable");
    int value = 0;

    test_init(&argc, &argv);
    if (NULL == enabled || 0 == strcmp("0", enabled)) {
        test_skip("fault tolerance is not enabled (mpi_ft_enable)");
    }
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    test_barrier();
    if (0 == test_rank) {
        look();
    } else {
        if (1 == test_rank) {
            OK(MPI_Send(&value, 1, MPI_INT, 0, SENT, MPI_COMM_WORLD));
        }
        OK(MPI_Recv(&value, 1, MPI_INT, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (1 == test_rank) {
            raise(SIGKILL);
        }
        /* rank 0 ends as soon as it is there */
        (void) MPI_Send(&value, 1, MPI_INT, 0, SENT, MPI_COMM_WORLD);
    }
    fflush(stdout);
    /* MPI_Finalize of 5.0.7 crashes or hangs after a failure, with ob1 too */
    _exit(0 != test_failures);
}
#else
int main(int argc, char **argv)
{
    test_init(&argc, &argv);
    test_skip("this Open MPI has no fault tolerance");
    return 0;
}
#endif
