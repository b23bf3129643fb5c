/* The engine of a communicator can be chosen by its info key when it is created, not later, and
 * with each of them every message goes where it belongs.
 *
 * test: for=pml-llamatch ranks=2 transport=shm,tcp limit=120 expect="text:too late"
 * test: for=pml-llamatch ranks=2 transport=shm mca="pml_llamatch_entries=2" expect="text:too late"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { N = 300, ENGINES = 4 };

static const char *const engines[ENGINES] = {"auto", "lla", "hash", "list"};
static MPI_Comm comm;

static void set(const char *key, const char *value)
{
    MPI_Info info;

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, key, value));
    OK(MPI_Comm_set_info(comm, info));
    OK(MPI_Info_free(&info));
}

static void in_force(const char *key, const char *wanted)
{
    char value[MPI_MAX_INFO_VAL + 1] = "(none)";
    MPI_Info info;
    int flag;

    OK(MPI_Comm_get_info(comm, &info));
    OK(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag));
    OK(MPI_Info_free(&info));
    CHECK(flag && 0 == strcmp(value, wanted), "%s is %s, wanted %s", key, value, wanted);
}

static void send(int value, int tag)
{
    OK(MPI_Send(&value, 1, MPI_INT, 0, tag, comm));
}

static void check(int got, int wanted, const char *what)
{
    CHECK(wanted == got, "%s: %d, wanted %d", what, got, wanted);
}

static void receive(int source, int tag, int wanted)
{
    int got = -1;

    OK(MPI_Recv(&got, 1, MPI_INT, source, tag, comm, MPI_STATUS_IGNORE));
    check(got, wanted, "unexpected message");
}

/* All tags, from the middle to both sides. */
static int middle_out(int i)
{
    return (i % 2) ? (N + i + 1) / 2 % N : (N - i) / 2;
}

/* Rank 1 sends 2 N messages that wait, then 2 N that were waited for, and in between another engine
 * is asked for. Of each tag there are two receives, for rank 1 and for any source, and two
 * messages, so that order matters. */
static void exchange(const char *engine, const char *late)
{
    static int got[N][2];
    static MPI_Request requests[N][2];
    MPI_Request cancelled;
    int flag;

    if (1 == test_rank) {
        for (int i = 0; i < 2 * N; ++i) {
            send(i, 1000 + i % N); /* each tag twice */
        }
    } else {
        for (int i = 0; i < N; ++i) {
            OK(MPI_Irecv(&got[i][0], 1, MPI_INT, 1, i, comm, &requests[i][0]));
            OK(MPI_Irecv(&got[i][1], 1, MPI_INT, MPI_ANY_SOURCE, i, comm, &requests[i][1]));
        }
        OK(MPI_Irecv(&flag, 1, MPI_INT, 1, 5000, comm, &cancelled));
        for (flag = 0; !flag;) {
            OK(MPI_Iprobe(1, 1000 + N - 1, comm, &flag, MPI_STATUS_IGNORE));
        }
    }
    set("ompi_pml_llamatch_engine", late);
    if (5 <= test_openmpi() >> 8) { /* 4.1 reports what was asked for */
        in_force("ompi_pml_llamatch_engine", engine);
    }
    test_barrier();
    if (1 == test_rank) {
        for (int i = 0; i < N; ++i) {
            send(2 * i, middle_out(i));
            send(2 * i + 1, middle_out(i));
        }
        return;
    }
    OK(MPI_Cancel(&cancelled));
    OK(MPI_Wait(&cancelled, MPI_STATUS_IGNORE));
    for (int i = N; i-- > 0;) { /* backwards; each tag's first message first */
        receive(1, 1000 + i, i);
        receive(MPI_ANY_SOURCE, 1000 + i, N + i);
    }
    for (int i = 0; i < N; ++i) {
        int tag = middle_out(i);

        OK(MPI_Waitall(2, requests[tag], MPI_STATUSES_IGNORE));
        check(got[tag][0], 2 * i, "first receive");
        check(got[tag][1], 2 * i + 1, "receive for any source");
    }
}

int main(int argc, char **argv)
{
    struct counters c;
    MPI_Info info;

    test_init(&argc, &argv);
    for (int before = 0; before < ENGINES; ++before) {
        for (int after = 0; after < ENGINES; ++after) {
            OK(MPI_Info_create(&info));
            OK(MPI_Info_set(info, "ompi_pml_llamatch_engine", engines[before]));
            OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
            OK(MPI_Info_free(&info));
            in_force("ompi_pml_llamatch_engine", engines[before]);
            in_force("ompi_pml_llamatch_heater", "run");
            counters_open_all(&c, "pml_llamatch_", MPI_T_BIND_MPI_COMM, &comm);
            COUNTS(&c, "engine", before, "made as %s", engines[before]);
            exchange(engines[before], engines[after]);
            COUNTS(&c, "engine", before, "%s was asked for late", engines[after]);
            COUNTS(&c, "posted_length", 0, "%s, %s", engines[before], engines[after]);
            COUNTS(&c, "unexpected_length", 0, "%s, %s", engines[before], engines[after]);
            set("ompi_pml_llamatch_heater", "pause"); /* there may be none */
            in_force("ompi_pml_llamatch_heater", "pause");
            test_barrier();
            counters_close(&c);
            OK(MPI_Comm_free(&comm));
        }
    }
    return test_done();
}
