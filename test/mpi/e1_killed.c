/* E1: processes of a node die one after the other, with the lock of the node's cache, at any moment, while all of them
 * hit in it, keep data there and throw other data out: who is left gets the right bytes, and waits for nobody. With
 * "maker" the first one to die is the process that has made the segment. That is memory without a name, of which nothing
 * can be left in /dev/shm.
 *
 * test: for=osc-cached needs=cache cache="mode=always share=on window_memory=8K adaptive=0" ranks=6 transport=shm limit=60 mpirun-5.0="--with-ft ulfm" allow="Epoll MOD|send_msg: write failed|UCX +ERROR connect.*Connection refused|UCX_TCP_MAX_CONN_RETRIES|^---|WARNING: The selected|^operation, yet|^When using|^However, fail|^In this framework|^failure scenarios|more processes have sent help"
 * test: for=osc-cached needs=cache cache="mode=user share=on" ranks=5 transport=shm limit=60 mpirun-5.0="--with-ft ulfm" allow="Epoll MOD|send_msg: write failed|UCX +ERROR connect.*Connection refused|UCX_TCP_MAX_CONN_RETRIES|^---|WARNING: The selected|^operation, yet|^When using|^However, fail|^In this framework|^failure scenarios|more processes have sent help"
 * test: for=osc-cached needs=cache cache="mode=user share=on" ranks=5 transport=shm limit=60 args=maker mpirun-5.0="--with-ft ulfm" allow="Epoll MOD|send_msg: write failed|UCX +ERROR connect.*Connection refused|UCX_TCP_MAX_CONN_RETRIES|^---|WARNING: The selected|^operation, yet|^When using|^However, fail|^In this framework|^failure scenarios|more processes have sent help"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* RTLD_NEXT */

#include "counters.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 65536, MOST = 24, PER_LOOK = 200, ROBUST = 16 /* of a mutex, in glibc */ };

/* With these roles: the first and the last have the data, and do not die; nor does the second. */
static int role, first_role; /* this process's, and that of rank 0 */

static uint64_t state = 88172645463325252;
static int dies; /* with the next lock: 1 at once, else later */

static int below(int limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int) (state % (uint64_t) limit);
}

/* Whether this process has mapped a segment, and none that is a file. (What Open MPI and UCX leave
 * in /dev/shm when a process is killed cannot be told from what others are using there.) */
static int has_no_name(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    int segments = 0, files = 0;

    while (NULL != maps && NULL != fgets(line, sizeof(line), maps)) {
        segments += NULL != strstr(line, "osc_cached_node");
        files += NULL != strstr(line, "osc_cached_node") && NULL == strstr(line, " /memfd:");
    }
    if (NULL != maps) {
        fclose(maps);
    }
    return 0 < segments && 0 == files;
}

/* Called by the component instead of the C library's. */
int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    static int (*real)(pthread_mutex_t *);
    int ret;

    if (NULL == real) {
        void *symbol = dlsym(RTLD_NEXT, "pthread_mutex_trylock");

        memcpy(&real, &symbol, sizeof(real));
    }
    ret = real(mutex);
    if (0 != dies && 0 != (mutex->__data.__kind & ROBUST) && (0 == ret || EOWNERDEAD == ret)) {
        struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
        struct itimerspec soon = {.it_value = {.tv_nsec = 1 + below(20000)}};
        timer_t timer;

        if (1 == dies || 0 != timer_create(CLOCK_MONOTONIC, &event, &timer)
            || 0 != timer_settime(timer, 0, &soon, NULL)) {
            raise(SIGKILL);
        }
    }
    return ret;
}

static int rank_of(int which)
{
    return (which - first_role + test_size) % test_size;
}

static long word_of(int target, int i)
{
    return 1000000L * target + i;
}

static void read_some(MPI_Win win)
{
    for (int k = 0; k < PER_LOOK; ++k) {
        int target = rank_of(0 != below(2) && 0 != role ? 0 : test_size - 1);
        int count = 1 + below(MOST), at = below(0 == below(2) ? 64 : WORDS - MOST);
        long got[MOST];

        if (target == test_rank) {
            target = rank_of(0);
        }
        memset(got, 0, sizeof(got));
        OK(MPI_Get(got, count, MPI_LONG, target, at, count, MPI_LONG, win));
        OK(MPI_Win_flush(target, win));
        for (int i = 0; i < count; ++i) {
            CHECK(word_of(target, at + i) == got[i], "%ld at %d of rank %d", got[i], at + i,
                  target);
        }
    }
}

/* Everybody but the first reads until it is told to stop, or to die. */
static void read_until_told(MPI_Win win)
{
    MPI_Request request;
    int told = 0;

    OK(MPI_Irecv(&dies, 1, MPI_INT, rank_of(0), 0, MPI_COMM_WORLD, &request));
    while (!told || 0 != dies) {
        read_some(win);
        if (!told) {
            OK(MPI_Test(&request, &told, MPI_STATUS_IGNORE));
        }
    }
}

static void let_die(MPI_Win win, int rank, int pid, int how)
{
    int count = 5 + below(20);

    for (int k = 0; k < count; ++k) {
        read_some(win);
    }
    OK(MPI_Send(&how, 1, MPI_INT, rank, 0, MPI_COMM_WORLD));
    while (0 == kill(pid, 0)) {
        read_some(win);
    }
}

int main(int argc, char **argv)
{
    const char *enabled = getenv("OMPI_MCA_mpi_ft_enable");
    int pid = (int) getpid(), pids[16];
    unsigned long recoveries, theirs;
    struct counters c;
    MPI_Win win;
    long *base;

    test_init(&argc, &argv);
    if (NULL == enabled || 0 == strcmp("0", enabled)) {
        test_skip("fault tolerance is not enabled (mpi_ft_enable)");
    }
    first_role = argc > 1 ? 2 : 0;
    role = (test_rank + first_role) % test_size;
    state += 1000003u * (unsigned) test_rank + (unsigned) getppid();
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    win = test_win_make(NULL, sizeof(long[WORDS]), sizeof(long), &base);
    counters_open(&c, &win);
    for (int i = 0; i < WORDS; ++i) {
        base[i] = word_of(test_rank, i);
    }
    OK(MPI_Allgather(&pid, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Win_sync(win));
    test_barrier();
    if (0 < role) {
        read_until_told(win);
    } else {
        for (int i = 2; i < test_size - 1; ++i) {
            let_die(win, rank_of(i), pids[rank_of(i)], i < test_size - 2 ? 1 + below(2) : 1);
        }
        for (int k = 0; k < 50; ++k) { /* the last one had the lock */
            read_some(win);
        }
        OK(MPI_Send(&dies, 1, MPI_INT, rank_of(1), 0, MPI_COMM_WORLD));
        OK(MPI_Send(&dies, 1, MPI_INT, rank_of(test_size - 1), 0, MPI_COMM_WORLD));
    }
    CHECK(0 < counter(&c, "node_hits"), "nothing was shared");
    recoveries = counter(&c, "node_recoveries");
    if (0 < role) {
        OK(MPI_Send(&recoveries, 1, MPI_UNSIGNED_LONG, rank_of(0), 0, MPI_COMM_WORLD));
        OK(MPI_Recv(NULL, 0, MPI_INT, rank_of(0), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else {
        for (int i = 0; i < 2; ++i) {
            OK(MPI_Recv(&theirs, 1, MPI_UNSIGNED_LONG, rank_of(0 == i ? 1 : test_size - 1), 0,
                        MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            recoveries += theirs;
        }
        CHECK(0 < recoveries, "nobody had to recover");
        CHECK(has_no_name(), "the segment is a file, or there is none");
        /* nobody needs us any more */
        OK(MPI_Send(NULL, 0, MPI_INT, rank_of(1), 1, MPI_COMM_WORLD));
        OK(MPI_Send(NULL, 0, MPI_INT, rank_of(test_size - 1), 1, MPI_COMM_WORLD));
    }
    _exit(0 != test_failures); /* MPI_Win_free and MPI_Finalize are for all processes */
}
