/* The performance variables of a communicator tell the lengths and searches that a known sequence
 * of messages makes.
 *
 * test: for=pml-llamatch ranks=2 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { DEEP = 8192 };

static struct counters c;
static MPI_Comm comm;
static MPI_Request requests[DEEP];

static void set_engine(const char *engine)
{
    MPI_Info info;

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "ompi_pml_llamatch_engine", engine));
    OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
    OK(MPI_Info_free(&info));
    counters_open_all(&c, "pml_llamatch_", MPI_T_BIND_MPI_COMM, &comm);
}

static void end_engine(void)
{
    test_barrier();
    counters_close(&c);
    OK(MPI_Comm_free(&comm));
}

/* One of the searches by depth. */
static unsigned long depth(const char *name, int i)
{
    unsigned long values[COUNTERS_VALUES];

    for (int k = 0; k < c.n; ++k) {
        if (0 == strcmp(name, c.name[k])) {
            counters_values(&c, k, values);
            return values[i];
        }
    }
    test_fail(__FILE__, __LINE__, name, "there is no such counter");
    return 0;
}

/* Rank 1 sends; rank 0 has got everything that was sent before. */
static void send(int tag)
{
    if (1 == test_rank) {
        OK(MPI_Send(NULL, 0, MPI_INT, 0, tag, comm));
    }
}

static void posted(void)
{
    if (0 == test_rank) {
        for (int i = 0; i < 10; ++i) {
            OK(MPI_Irecv(NULL, 0, MPI_INT, 1, i, comm, &requests[i]));
        }
        for (int i = 10; i < 15; ++i) {
            OK(MPI_Irecv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 90 + i, comm, &requests[i]));
        }
        COUNTS(&c, "posted_length", 15, "10 receives and 5 for any source");
        COUNTS(&c, "posted_length_max", 15, "10 receives and 5 for any source");
        COUNTS(&c, "posted_searches", 0, "nothing was sent");
    }
    test_barrier();
    send(9);
    if (0 == test_rank) {
        OK(MPI_Wait(&requests[9], MPI_STATUS_IGNORE));
        COUNTS(&c, "posted_length", 14, "one is gone");
        COUNTS(&c, "posted_length_max", 15, "high water");
        COUNTS(&c, "posted_matches", 1, "tag 9");
        COUNTS(&c, "posted_searches", 1, "tag 9");
        COUNTS(&c, "posted_depth_sum", 10, "tag 9");
        COUNTS(&c, "posted_depth_max", 10, "tag 9");
        COUNTS(&c, "posted_depth_mean", 10000, "tag 9");
        CHECK(1 == depth("posted_depths", 3), "8 to 15: %lu", depth("posted_depths", 3));
    }
    test_barrier();
    send(0);   /* the first */
    send(104); /* behind 8 for this source and 4 others for any */
    send(500); /* none of 8 and 4: unexpected */
    send(1);   /* the first */
    if (0 == test_rank) {
        OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
        COUNTS(&c, "posted_length", 11, "four are gone");
        COUNTS(&c, "posted_matches", 4, "tags 9, 0, 104, 1");
        COUNTS(&c, "posted_searches", 5, "tags 9, 0, 104, 500, 1");
        COUNTS(&c, "posted_depth_sum", 10 + 1 + 13 + 12 + 1, "tags 9, 0, 104, 500, 1");
        COUNTS(&c, "posted_depth_max", 13, "tag 104");
        COUNTS(&c, "posted_depth_mean", 7400, "37 in 5");
        CHECK(2 == depth("posted_depths", 0), "depth 1: %lu", depth("posted_depths", 0));
        CHECK(3 == depth("posted_depths", 3), "8 to 15: %lu", depth("posted_depths", 3));
        COUNTS(&c, "unexpected_length", 1, "tag 500");
        COUNTS(&c, "unexpected_searches", 0, "no receive since");
        OK(MPI_Recv(NULL, 0, MPI_INT, 1, 500, comm, MPI_STATUS_IGNORE));
        COUNTS(&c, "unexpected_length", 0, "tag 500");
        COUNTS(&c, "unexpected_length_max", 1, "tag 500");
        COUNTS(&c, "unexpected_matches", 1, "tag 500");
        COUNTS(&c, "unexpected_depth_sum", 1, "tag 500");
        for (int i = 0; i < 15; ++i) {
            if (MPI_REQUEST_NULL != requests[i] && 0 != i && 14 != i) {
                OK(MPI_Cancel(&requests[i]));
            }
        }
        OK(MPI_Waitall(15, requests, MPI_STATUSES_IGNORE));
        COUNTS(&c, "posted_length", 0, "all were cancelled");
        COUNTS(&c, "posted_matches", 4, "a cancel is no match");
    }
}

static void unexpected(void)
{
    for (int i = 0; i < 10; ++i) {
        send(i);
    }
    test_barrier(); /* not on comm: a message may still be on its way */
    if (0 == test_rank) {
        unsigned long before, sum;
        int flag = 0;

        while (!flag) {
            OK(MPI_Iprobe(1, 9, comm, &flag, MPI_STATUS_IGNORE));
        }
        before = counter(&c, "unexpected_searches");
        sum = counter(&c, "unexpected_depth_sum");
        COUNTS(&c, "unexpected_length", 10, "10 messages");
        OK(MPI_Iprobe(1, 9, comm, &flag, MPI_STATUS_IGNORE)); /* leaves it */
        OK(MPI_Recv(NULL, 0, MPI_INT, 1, 9, comm, MPI_STATUS_IGNORE));
        OK(MPI_Iprobe(1, 77, comm, &flag, MPI_STATUS_IGNORE)); /* passes all */
        CHECK(!flag, "a message with tag %d", 77);
        COUNTS(&c, "unexpected_length", 9, "one is gone");
        COUNTS(&c, "unexpected_searches", before + 3, "two probes and a receive");
        COUNTS(&c, "unexpected_depth_sum", sum + 10 + 10 + 9, "two probes and a receive");
        for (int i = 0; i < 9; ++i) {
            OK(MPI_Recv(NULL, 0, MPI_INT, 1, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE));
        }
        COUNTS(&c, "unexpected_length", 0, "all are gone");
        COUNTS(&c, "unexpected_matches", 10 + 1, "all were received");
    }
}

/* From the last one to the first: the hash comes and goes. */
static void reverse(const char *engine)
{
    for (int i = 0; 0 == test_rank && i < DEEP; ++i) {
        OK(MPI_Irecv(NULL, 0, MPI_INT, 1, i, comm, &requests[i]));
    }
    test_barrier();
    for (int i = DEEP; i > DEEP / 2; --i) {
        send(i - 1);
    }
    if (0 == test_rank) {
        OK(MPI_Waitall(DEEP / 2, requests + DEEP / 2, MPI_STATUSES_IGNORE));
        if (0 == strcmp("lla", engine)) {
            COUNTS(&c, "posted_indexed", 0, "engine lla");
            COUNTS(&c, "hashes", 0, "engine lla");
            COUNTS(&c, "posted_depth_max", DEEP, "engine lla");
        } else {
            CHECK(1 <= counter(&c, "posted_indexed"), "engine %s", engine);
            COUNTS(&c, "hashes", 1, "the only long queue");
            CHECK(counter(&c, "posted_depth_sum") < DEEP * 100UL, "engine %s: passed %lu", engine,
                  counter(&c, "posted_depth_sum"));
        }
    }
    test_barrier();
    for (int i = DEEP / 2; i > 0; --i) {
        send(i - 1);
    }
    if (0 == test_rank) {
        OK(MPI_Waitall(DEEP, requests, MPI_STATUSES_IGNORE));
        COUNTS(&c, "posted_length", 0, "engine %s", engine);
        COUNTS(&c, "posted_length_max", DEEP, "engine %s", engine);
        COUNTS(&c, "posted_matches", DEEP, "engine %s", engine);
        COUNTS(&c, "posted_indexed", counter(&c, "posted_dropped") + counter(&c, "hashes"),
               "engine %s: what was made is there or was given up", engine);
        if (0 == strcmp("auto", engine)) {
            COUNTS(&c, "hashes", 0, "the queue is empty");
        }
    }
}

/* What has no counters: no communicator, and one that was freed. */
static void gone(void)
{
    MPI_T_pvar_handle handle;
    MPI_Comm other;
    char name[256];
    int n, count, bind, len, verbosity, class, readonly, continuous, atomic;
    unsigned long values[COUNTERS_VALUES];
    MPI_Datatype datatype;
    MPI_T_enum enumtype;

    OK(MPI_T_pvar_get_num(&n));
    for (int i = 0; i < n; ++i) {
        len = sizeof(name);
        if (MPI_SUCCESS
                != MPI_T_pvar_get_info(i, name, &len, &verbosity, &class, &datatype, &enumtype,
                                       NULL, NULL, &bind, &readonly, &continuous, &atomic)
            || (0 != strncmp(name, "pml_llamatch_posted_depth", 25)
                && 0 != strcmp(name, "pml_llamatch_engine")
                && 0 != strcmp(name, "pml_llamatch_hashes"))) {
            continue;
        }
        other = MPI_COMM_NULL;
        CHECK(MPI_SUCCESS != MPI_T_pvar_handle_alloc(counters_session, i, &other, &handle, &count)
                  || MPI_SUCCESS != MPI_T_pvar_read(counters_session, handle, values),
              "%s of MPI_COMM_NULL", name);
        OK(MPI_Comm_dup(MPI_COMM_SELF, &other));
        OK(MPI_T_pvar_handle_alloc(counters_session, i, &other, &handle, &count));
        OK(MPI_T_pvar_read(counters_session, handle, values));
        OK(MPI_Comm_free(&other));
        CHECK(MPI_SUCCESS != MPI_T_pvar_read(counters_session, handle, values),
              "%s of a communicator that was freed", name);
        OK(MPI_T_pvar_handle_free(counters_session, &handle));
    }
}

/* The values of an engine have names. */
static void names(void)
{
    static const char *const wanted[] = {"auto", "lla", "hash", "list"};
    char name[256];
    int index, count, value, bind, len, verbosity, class, readonly, continuous, atomic;
    MPI_Datatype datatype;
    MPI_T_enum enumtype;

    OK(MPI_T_pvar_get_index("pml_llamatch_engine", MPI_T_PVAR_CLASS_STATE, &index));
    OK(MPI_T_pvar_get_info(index, NULL, NULL, &verbosity, &class, &datatype, &enumtype, NULL, NULL,
                           &bind, &readonly, &continuous, &atomic));
    CHECK(MPI_T_ENUM_NULL != enumtype, "there are no names");
    len = sizeof(name);
    OK(MPI_T_enum_get_info(enumtype, &count, name, &len));
    CHECK(4 == count, "%d names", count);
    for (int i = 0; i < 4 && i < count; ++i) {
        len = sizeof(name);
        OK(MPI_T_enum_get_item(enumtype, i, &value, name, &len));
        CHECK(i == value && 0 == strcmp(wanted[i], name), "%d is %s", value, name);
    }
}

int main(int argc, char **argv)
{
    static const char *const engines[] = {"auto", "lla", "hash"};

    test_init(&argc, &argv);
    set_engine("lla");
    COUNTS(&c, "engine", 1, "lla");
    posted();
    test_barrier();
    unexpected();
    end_engine();
    for (int i = 0; i < 3; ++i) {
        set_engine(engines[i]);
        COUNTS(&c, "engine", i, "engine %s", engines[i]);
        reverse(engines[i]);
        end_engine();
    }
    gone();
    names();
    return test_done();
}
