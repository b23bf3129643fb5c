/* M3: a receive for any source that has matched a process that lives is completed by it, also when another one fails.
 * test: for=pml ranks=4 transport=shm,tcp limit=60 mpirun-5.0="--with-ft ulfm" mca-5.0="smsc=^cma,xpmem,knem" allow="Epoll MOD|send_msg: write failed"
 * test: for=pml ranks=4 transport=shm,tcp limit=60 args=threads mpirun-5.0="--with-ft ulfm" mca-5.0="smsc=^cma,xpmem,knem" allow="Epoll MOD|send_msg: write failed"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Rank 2 sends long messages to rank 0 and sleeps outside of MPI when they have begun, so that they
 * have matched and are not complete. Rank 1 dies while rank 0 receives the first one on an
 * intercommunicator, rank 3 while it receives the first one on MPI_COMM_WORLD. The output that is
 * allowed is that of m3_probe_failed.c.
 */
#include "test.h"

#include <mpi-ext.h>

#if defined(OMPI_HAVE_MPI_EXT_FTMPI) && OMPI_HAVE_MPI_EXT_FTMPI
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { GO = 1, BEGUN, LONG, LOST, SENT };
enum { RECV, SENDRECV, IRECV, PERSISTENT, WAYS };
enum { LENGTH = 1 << 18, NOTHING = -1 };

static int data[LENGTH];

static int class_of(int rc)
{
    int class = -1;

    MPI_Error_class(rc, &class);
    return class;
}

static void fill(int first, int step)
{
    for (int i = 0; i < LENGTH; ++i) {
        data[i] = first + step * i;
    }
}

static int count_wrong(int first, int step)
{
    int count = 0;

    for (int i = 0; i < LENGTH; ++i) {
        count += first + step * i != data[i];
    }
    return count;
}

static void signal_to(int rank, int tag, MPI_Comm comm)
{
    OK(MPI_Send(NULL, 0, MPI_INT, rank, tag, comm));
}

static void signal_from(int rank, int tag, MPI_Comm comm)
{
    OK(MPI_Recv(NULL, 0, MPI_INT, rank, tag, comm, MPI_STATUS_IGNORE));
}

/* Rank 0 learns of a message, and gets the rest of it when this process calls MPI again. */
static void begin(int tag, MPI_Comm comm, MPI_Request *request, int milliseconds)
{
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};

    signal_from(0, GO, comm);
    OK(MPI_Isend(data, LENGTH, MPI_INT, 0, tag, comm, request));
    signal_to(0, BEGUN, comm);
    (void) nanosleep(&time, NULL);
}

static void begun(int rank, MPI_Comm comm)
{
    signal_to(rank, GO, comm);
    signal_from(rank, BEGUN, comm);
}

static void die(MPI_Comm comm)
{
    MPI_Request request;

    begin(LOST, comm, &request, 100);
    raise(SIGKILL);
}

static void send_all(MPI_Comm comm)
{
    MPI_Request request;

    for (int way = RECV; way < WAYS; ++way) {
        fill(way, 1);
        begin(LONG, comm, &request, RECV == way ? 600 : 100);
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        signal_to(0, SENT, comm);
    }
}

/* Only MPI_Recv meets the failure while it waits: it begins nothing when it knows of one. */
static void receive(int way, MPI_Comm comm, int sender, int dying, MPI_Request *request)
{
    static int lost[LENGTH];
    MPI_Request other;
    MPI_Status status;
    int rc, lost_rc, flag, count;

    if (RECV == way) {
        OK(MPI_Irecv(lost, LENGTH, MPI_INT, MPI_ANY_SOURCE, LOST, comm, &other));
        begun(sender, comm);
        begun(dying, comm);
        rc = MPI_Recv(data, LENGTH, MPI_INT, MPI_ANY_SOURCE, LONG, comm, &status);
        if (MPIX_ERR_PROC_FAILED == class_of(rc) && MPI_ANY_SOURCE == status.MPI_SOURCE) {
            /* it was called too late, and has not begun */
            rc = MPI_Recv(data, LENGTH, MPI_INT, sender, LONG, comm, &status);
        }
        OK(MPI_Cancel(&other));
        lost_rc = MPI_Wait(&other, MPI_STATUS_IGNORE); /* fails when the cancel came too early */
        CHECK(MPI_SUCCESS == lost_rc || MPIX_ERR_PROC_FAILED == class_of(lost_rc),
              "of the process that died: error class %d", class_of(lost_rc));
    } else if (SENDRECV == way) {
        begun(sender, comm);
        rc = MPI_Sendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, data, LENGTH, MPI_INT, MPI_ANY_SOURCE,
                          LONG, comm, &status);
        if (MPIX_ERR_PROC_FAILED == class_of(rc)) {
            /* libmpi says so whatever came of the receive, and gives no status of it */
            status.MPI_SOURCE = sender;
            OK(MPI_Status_set_elements(&status, MPI_INT, LENGTH));
            rc = MPI_SUCCESS;
        }
    } else {
        if (IRECV == way) {
            OK(MPI_Irecv(data, LENGTH, MPI_INT, MPI_ANY_SOURCE, LONG, comm, request));
        } else {
            OK(MPI_Recv_init(data, LENGTH, MPI_INT, MPI_ANY_SOURCE, LONG, comm, request));
            OK(MPI_Start(request));
        }
        begun(sender, comm);
        OK(MPI_Cancel(request)); /* too late */
        if (PERSISTENT == way) {
            OK(MPIX_Comm_failure_ack(comm)); /* a persistent one is pending until then */
        }
        rc = MPI_Wait(request, &status);
        OK(MPI_Test_cancelled(&status, &flag));
        CHECK(!flag, "way %d: cancelled", way);
    }
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(MPI_SUCCESS == rc, "way %d: error class %d", way, class_of(rc));
    CHECK(sender == status.MPI_SOURCE && LENGTH == count, "way %d: %d numbers from %d", way, count,
          status.MPI_SOURCE);
    CHECK(0 == count_wrong(way, 1), "way %d: %d numbers are wrong", way, count_wrong(way, 1));

    fill(NOTHING, 0);
    signal_from(sender, SENT, comm);
    CHECK(0 == count_wrong(NOTHING, 0), "way %d: %d numbers came after the receive had ended", way,
          count_wrong(NOTHING, 0));
    if (0 < test_failures) {
        MPI_Abort(MPI_COMM_WORLD, 1); /* what follows may hang */
    }
}

static void receive_all(MPI_Comm inter)
{
    MPI_Request request;
    MPI_Status status;
    int value = 7;

    for (int way = RECV; way < WAYS; ++way) {
        receive(way, inter, 1, 0, &request);
    }
    OK(MPI_Request_free(&request));
    OK(MPIX_Comm_failure_ack(MPI_COMM_WORLD));
    for (int way = RECV; way < WAYS; ++way) {
        receive(way, MPI_COMM_WORLD, 2, 3, &request);
    }
    /* it is still for any source */
    OK(MPI_Start(&request));
    OK(MPI_Send(&value, 1, MPI_INT, 0, LONG, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, &status));
    CHECK(0 == status.MPI_SOURCE && value == data[0], "%d from %d", data[0], status.MPI_SOURCE);
    signal_to(2, GO, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const char *enabled = getenv("OMPI_MCA_mpi_ft_enable");
    MPI_Comm local, inter;

    test_init_thread(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    if (NULL == enabled || 0 == strcmp("0", enabled)) {
        test_skip("fault tolerance is not enabled (mpi_ft_enable)");
    }
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0 == test_rank, test_rank, &local));
    OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 0 == test_rank, 0, &inter));
    OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    test_barrier();
    if (0 == test_rank) {
        receive_all(inter);
    } else if (1 == test_rank) {
        die(inter);
    } else if (2 == test_rank) {
        send_all(inter);
        send_all(MPI_COMM_WORLD);
        /* rank 0 has got it all, or has ended */
        (void) MPI_Recv(NULL, 0, MPI_INT, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        die(MPI_COMM_WORLD);
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
