/* H23: a process that others use the helper of is killed, in a job with fault tolerance: they get the error, of a
 * request on its way, of operations after it, of an exclusive lock that the dead process had; and go on with each other.
 * test: for=osc-cached needs=cache ranks=3 transport=shm,tcp limit=60 mca="osc_cached_helper=on" mpirun-5.0="--with-ft ulfm" allow="Epoll MOD|send_msg: write failed|UCX +ERROR connect.*Connection refused|UCX_TCP_MAX_CONN_RETRIES|^---|WARNING: The selected|^operation, yet|^When using|^However, fail|^In this framework|^failure scenarios|more processes have sent help"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "helper.h"

#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#ifndef MPI_ERR_PROC_FAILED /* before 5.0 */
#define MPI_ERR_PROC_FAILED MPI_ERR_OTHER
#endif

enum { SUMS = 1000 };

static MPI_Win locks, sums; /* the first is locked by who dies, the second by all */
static const long one = 1;

/* All that may be waiting for a process that has stopped for ever. */
static void lose(void)
{
    long got = -1;
    MPI_Request request;

    OK(MPI_Rget_accumulate(&one, 1, MPI_LONG, &got, 1, MPI_LONG, 2, 0, 1, MPI_LONG, MPI_SUM, sums,
                           &request));
    FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_PROC_FAILED);
    FAILS(MPI_Accumulate(&one, 1, MPI_LONG, 2, 0, 1, MPI_LONG, MPI_SUM, sums), MPI_ERR_PROC_FAILED);
    FAILS(MPI_Win_flush_local(2, sums), MPI_ERR_PROC_FAILED);
    FAILS(MPI_Win_flush_local_all(sums), MPI_ERR_PROC_FAILED);
    FAILS(MPI_Win_flush(2, sums), MPI_ERR_PROC_FAILED);
    OK(MPI_Put(&one, 1, MPI_LONG, 1, 1, 1, MPI_LONG, sums));
    FAILS(MPI_Win_flush_all(sums), MPI_ERR_PROC_FAILED); /* and the put is done */
    OK(MPI_Get(&got, 1, MPI_LONG, 1, 1, 1, MPI_LONG, sums));
    OK(MPI_Win_flush(1, sums));
    CHECK(1 == got, "%ld", got);
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, locks), MPI_ERR_PROC_FAILED);
    FAILS(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, locks), MPI_ERR_PROC_FAILED);
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, locks), MPI_ERR_PROC_FAILED);
}

/* Those who are left. */
static void go_on(struct counters *c)
{
    unsigned long operations = counter(c, "helper_operations");
    long got = -1, two = 2;

    for (int i = 0; i < SUMS; ++i) {
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, sums));
        OK(MPI_Win_flush(1, sums));
    }
    OK(MPI_Fetch_and_op(NULL, &got, MPI_LONG, 1, 0, MPI_NO_OP, sums));
    OK(MPI_Win_flush(1, sums));
    CHECK(SUMS + 1 == got, "%ld", got); /* one was the dead process's */
    CHECK(SUMS < counter(c, "helper_operations") - operations, "by the helper");
    FAILS(MPI_Win_unlock_all(sums), MPI_ERR_PROC_FAILED);
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, sums)); /* the dead process had a shared one */
    OK(MPI_Put(&two, 1, MPI_LONG, 1, 1, 1, MPI_LONG, sums));
    OK(MPI_Accumulate(&one, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, sums));
    OK(MPI_Win_unlock(1, sums));
    OK(MPI_Win_lock_all(0, sums));
    OK(MPI_Get(&got, 1, MPI_LONG, 1, 1, 1, MPI_LONG, sums));
    OK(MPI_Win_flush(1, sums));
    CHECK(2 == got, "%ld", got);
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, locks));
    OK(MPI_Win_unlock(0, locks));
}

static int is_stopped(pid_t pid)
{
    char path[64], state = ' ';
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%ld/stat", (long) pid);
    file = fopen(path, "r");
    CHECK(NULL != file && 1 == fscanf(file, "%*d (%*[^)]) %c", &state), "%s", path);
    if (NULL != file) {
        fclose(file);
    }
    return 'T' == state;
}

int main(int argc, char **argv)
{
    const char *enabled = getenv("OMPI_MCA_mpi_ft_enable");
    pid_t pid = getpid();
    struct counters c;
    long *base;

    test_init(&argc, &argv);
    if (NULL == enabled || 0 == strcmp("0", enabled)) {
        test_skip("fault tolerance is not enabled (mpi_ft_enable)");
    }
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    locks = test_win_make(NULL, sizeof(long), sizeof(long), &base);
    sums = test_win_make(NULL, 2 * sizeof(long), sizeof(long), &base);
    base[0] = base[1] = 0;
    counters_open(&c, &sums);
    test_barrier();
    if (0 == test_rank) {
        OK(MPI_Win_lock_all(0, sums));
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 2, 0, 1, MPI_LONG, MPI_SUM, sums));
        OK(MPI_Win_flush(2, sums));
    }
    test_barrier();
    if (2 == test_rank) {
        OK(MPI_Win_lock_all(0, sums)); /* and never gives them back */
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, sums));
        OK(MPI_Win_flush(1, sums));
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, locks));
        OK(MPI_Send(&pid, sizeof(pid), MPI_BYTE, 1, 0, MPI_COMM_WORLD));
        raise(SIGSTOP);
    } else if (1 == test_rank) {
        OK(MPI_Recv(&pid, sizeof(pid), MPI_BYTE, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        while (!is_stopped(pid)) {
        }
        OK(MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD));
        sleep(1); /* the others wait for it */
        CHECK(0 == kill(pid, SIGKILL), "it cannot be killed");
        OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else {
        OK(MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        lose();
        go_on(&c);
        OK(MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
    }
    _exit(0 != test_failures); /* MPI_Win_free and MPI_Finalize are for all processes */
}
