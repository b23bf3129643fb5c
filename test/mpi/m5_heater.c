/* M5: the heater runs where it may, pauses when it is told to and when all queues are empty, and
 * disturbs nothing: communicators that are freed, children of fork, the end of the job. How many
 * communicators there are makes no difference to it.
 *
 * test: for=pml-llamatch ranks=2 transport=shm,tcp cflags=-rdynamic args=force
 * test: for=pml-llamatch ranks=2 transport=shm cflags=-rdynamic args=cpu
 * test: for=pml-llamatch ranks=1 transport=shm cflags=-rdynamic args=spare bind=core
 * test: for=pml-llamatch ranks=2 transport=shm cflags=-rdynamic args=full bind=core:overload-allowed allow=.
 * test: for=pml-llamatch ranks=2 transport=shm cflags=-rdynamic args=off expect="text:run with --bind-to core"
 * test: for=pml-llamatch ranks=2 transport=shm cflags=-rdynamic args=off cpus=0 expect="text:only one processor"
 * test: for=pml-llamatch ranks=2 transport=shm args="off foreign" cflags=-rdynamic expect="text:hwloc does not tell"
 * test: for=pml-llamatch ranks=2 transport=shm cflags=-rdynamic args=abort expect="error:MPI_ABORT"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "counters.h"

#include <dirent.h>
#include <limits.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OFF, RUN, PAUSE, IDLE }; /* pml_llamatch_heater_state */
enum { WAITING = 100, ROUNDS = 100 };

static int foreign;

/* In the place of hwloc's: the topology of Open MPI is of a hwloc that is not the component's. */
int hwloc_topology_abi_check(void *topology)
{
    (void) topology;
    return -foreign;
}

static struct counters c;
static MPI_Comm comm;
static cpu_set_t mine;

#define WAIT_UNTIL(condition)                                                                   \
    do {                                                                                        \
        for (int tries_ = 0; !(condition); ++tries_) {                                          \
            if (30000 < tries_) {                                                               \
                fprintf(stderr, "line %d: rank %d: not within 30 s: %s\n", __LINE__, test_rank, \
                        #condition);                                                            \
                MPI_Abort(MPI_COMM_WORLD, 1);                                                   \
            }                                                                                   \
            usleep(1000);                                                                       \
        }                                                                                       \
    } while (0)

static unsigned long state(void)
{
    return counter(&c, "heater_state");
}

static void runs(void)
{
    unsigned long passes = counter(&c, "heater_passes");

    WAIT_UNTIL(RUN == state());
    WAIT_UNTIL(passes + 5 <= counter(&c, "heater_passes"));
    CHECK(0 < counter(&c, "heater_bytes"), "%lu bytes", counter(&c, "heater_bytes"));
}

static void rests(unsigned long wanted)
{
    unsigned long passes;

    WAIT_UNTIL(wanted == state());
    passes = counter(&c, "heater_passes");
    usleep(20000);
    CHECK(counter(&c, "heater_passes") <= passes + 1, "%lu passes, then %lu", passes,
          counter(&c, "heater_passes"));
    CHECK(wanted == state(), "state %lu, wanted %lu", state(), wanted);
}

static void tell(MPI_Comm which, const char *value)
{
    MPI_Info info;

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "ompi_pml_llamatch_heater", value));
    OK(MPI_Comm_set_info(which, info));
    OK(MPI_Info_free(&info));
}

static void post(MPI_Comm where, MPI_Request *requests, int n)
{
    for (int i = 0; i < n; ++i) {
        OK(MPI_Irecv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 1000 + i, where, &requests[i]));
    }
}

static void cancel(MPI_Request *requests, int n)
{
    for (int i = 0; i < n; ++i) {
        OK(MPI_Cancel(&requests[i]));
    }
    OK(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
}

/* How often this thread gave its processor away because it had to wait, as for a lock. */
static long waits(void)
{
    struct rusage use;

    getrusage(RUSAGE_THREAD, &use);
    return use.ru_nvcsw;
}

static long waits_of_dups(int dups)
{
    long before = waits();

    for (int i = 0; i < dups; ++i) {
        MPI_Comm brief;

        OK(MPI_Comm_dup(MPI_COMM_SELF, &brief));
        OK(MPI_Comm_free(&brief));
    }
    return waits() - before;
}

/* A pass does as much as before when there are many more communicators. */
static void ignores_communicators(void)
{
    enum { MANY = 2000, DUPS = 10000, WAITS = 3, TRIES = 3 };
    static MPI_Comm many[MANY];
    unsigned long bytes;
    long waited = LONG_MAX;

    OK(MPI_Barrier(MPI_COMM_WORLD));
    runs();
    bytes = counter(&c, "heater_bytes");
    for (int i = 0; i < MANY; ++i) {
        OK(MPI_Comm_dup(MPI_COMM_SELF, &many[i]));
    }
    runs();
    for (int i = 0; i < TRIES && WAITS < waited; ++i) { /* the kernel may make it wait, too */
        waited = waits_of_dups(DUPS);
    }
    /* each time 20 and more if the heater held a lock in each of its passes */
    CHECK(waited <= WAITS, "%ld waits in %d calls of MPI_Comm_dup and MPI_Comm_free", waited, DUPS);
    runs();
    /* a line or two for who is in the next barrier already, none for each communicator */
    CHECK(counter(&c, "heater_bytes") < bytes + MANY, "%lu bytes, then %lu", bytes,
          counter(&c, "heater_bytes"));
    for (int i = 0; i < MANY; ++i) {
        OK(MPI_Comm_free(&many[i]));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void pauses_by_key(void)
{
    MPI_Comm other;

    tell(comm, "pause");
    rests(PAUSE);
    tell(comm, "pause"); /* the same again is not a second one */
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    tell(other, "pause");
    tell(comm, "run");
    rests(PAUSE); /* the other one's */
    OK(MPI_Comm_free(&other));
    runs();
}

static void pauses_by_variable(void)
{
    MPI_T_cvar_handle handle;
    int index, count, value = 1;

    OK(MPI_T_cvar_get_index("pml_llamatch_heater_paused", &index));
    OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
    OK(MPI_T_cvar_write(handle, &value));
    rests(PAUSE);
    OK(MPI_T_cvar_write(handle, &value)); /* the same again is not a second one */
    value = 7;
    CHECK(MPI_SUCCESS != MPI_T_cvar_write(handle, &value), "%d was taken", value);
    OK(MPI_T_cvar_read(handle, &value));
    CHECK(1 == value, "the variable is %d", value);
    value = 0;
    OK(MPI_T_cvar_write(handle, &value));
    runs();
    OK(MPI_T_cvar_handle_free(&handle));
}

static void survives(void)
{
    MPI_Request requests[WAITING];
    MPI_Comm brief;

    for (int i = 0; i < ROUNDS; ++i) {
        int sent[2] = {test_rank, i}, got[2] = {-1, -1};

        OK(MPI_Comm_dup(MPI_COMM_WORLD, &brief));
        post(brief, requests, WAITING);
        OK(MPI_Sendrecv(sent, 2, MPI_INT, (test_rank + 1) % test_size, i, got, 2, MPI_INT,
                        MPI_ANY_SOURCE, i, brief, MPI_STATUS_IGNORE));
        CHECK((test_rank + test_size - 1) % test_size == got[0] && i == got[1], "got %d, %d",
              got[0], got[1]);
        cancel(requests, WAITING);
        OK(MPI_Comm_free(&brief));
        if (0 == i % 10) {
            pid_t child = fork();
            int status = -1;

            if (0 == child) {
                free(malloc(100000));
                _exit(7);
            }
            waitpid(child, &status, 0);
            CHECK(WIFEXITED(status) && 7 == WEXITSTATUS(status), "child: status %d", status);
        }
    }
}

/* A thread of ours that is bound to one processor, which none of `set` is? */
static int thread_outside(const cpu_set_t *set)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;
    int found = 0;

    while (NULL != tasks && NULL != (entry = readdir(tasks))) {
        cpu_set_t its, both;
        int id = atoi(entry->d_name);

        if (0 < id && 0 == sched_getaffinity(id, sizeof(its), &its) && 1 == CPU_COUNT(&its)) {
            CPU_AND(&both, &its, set);
            found |= 0 == CPU_COUNT(&both);
        }
    }
    if (NULL != tasks) {
        closedir(tasks);
    }
    return found;
}

/* With no processor left, there is no heater. */
static void check_full(void)
{
    cpu_set_t all;

    OK(MPI_Allreduce(&mine, &all, sizeof(all), MPI_BYTE, MPI_BOR, MPI_COMM_WORLD));
    if (CPU_COUNT(&all) == sysconf(_SC_NPROCESSORS_ONLN)) {
        CHECK(OFF == state(), "state %lu on a full node", state());
    } else {
        CHECK(OFF == state() || thread_outside(&all), "%s", "the heater is on a rank's processor");
    }
}

int main(int argc, char **argv)
{
    const char *mode = argv[1];
    MPI_Request requests[WAITING];
    char cpu[16];
    int first = 0;

    foreign = 2 < argc;
    if (0 != sched_getaffinity(0, sizeof(mine), &mine)) {
        return 1;
    }
    while (first < CPU_SETSIZE - 1 && !CPU_ISSET(first, &mine)) {
        ++first;
    }
    setenv("OMPI_MCA_pml_llamatch_heater", 0 == strcmp("force", mode) ? "force" : "1", 1);
    if (0 == strcmp("cpu", mode) || 0 == strcmp("abort", mode)) {
        snprintf(cpu, sizeof(cpu), "%d", first);
        setenv("OMPI_MCA_pml_llamatch_heater_cpu", cpu, 1);
    }
    test_init(&argc, &argv);
    counters_open_all(&c, "pml_llamatch_", MPI_T_BIND_NO_OBJECT, NULL);
    if (0 == strcmp("full", mode)) {
        check_full();
        return test_done();
    }
    if (0 == strcmp("off", mode)) {
        CHECK(OFF == state(), "state %lu", state());
        survives();
        return test_done();
    }
    if (0 == strcmp("spare", mode) && OFF == state()) {
        test_skip("no processor that shares a cache with another is free");
    }
    CHECK(0 != strcmp("spare", mode) || thread_outside(&mine), "%s", "not on another processor");
    CHECK(OFF != state(), "%s: there is no heater", mode);
    rests(IDLE);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    post(comm, requests, WAITING);
    runs();
    if (0 == strcmp("abort", mode)) {
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    ignores_communicators();
    pauses_by_key();
    pauses_by_variable();
    survives();
    /* one after the other: a message of somebody who is further would be an entry of a queue */
    if (0 < test_rank) {
        OK(MPI_Recv(NULL, 0, MPI_INT, test_rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    cancel(requests, WAITING);
    rests(IDLE);
    if (1 < test_size) {
        OK(MPI_Send(NULL, 0, MPI_INT, (test_rank + 1) % test_size, 1, MPI_COMM_WORLD));
    }
    if (0 == test_rank && 1 < test_size) {
        OK(MPI_Recv(NULL, 0, MPI_INT, test_size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    tell(comm, "pause"); /* and free it so */
    OK(MPI_Comm_free(&comm));
    return test_done();
}
