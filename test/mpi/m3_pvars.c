/* M3: the queue lengths that MPI_T shows are those of each peer.
 * test: for=pml ranks=3,4 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Barriers are on another communicator, as their messages count too. ob1 of Open MPI 4.1.4
 * and 5.0.7 leaves out receives for any source, and shows an intercommunicator's local group (O6).
 */
#include "test.h"

static MPI_T_pvar_session session;
static int llamatch;

static int find(const char *what)
{
    int count, found = -1;

    MPI_T_pvar_get_num(&count);
    for (int i = 0; i < count; ++i) {
        char name[256], wanted[256];
        int length = sizeof(name), verbosity, class, bind, readonly, continuous, atomic;
        MPI_Datatype type;
        MPI_T_enum values;

        if (MPI_SUCCESS
            != MPI_T_pvar_get_info(i, name, &length, &verbosity, &class, &type, &values, NULL, NULL,
                                   &bind, &readonly, &continuous, &atomic)) {
            continue;
        }
        snprintf(wanted, sizeof(wanted), "pml_%s_%s", llamatch ? "llamatch" : "ob1", what);
        if (0 == strcmp(name, wanted)) {
            found = i;
        }
    }
    return found;
}

/* Value of one pvar for all peers of a communicator; returns their number. */
static int lengths(const char *what, MPI_Comm comm, unsigned *values)
{
    MPI_T_pvar_handle handle;
    int count = -1, index = find(what);

    if (0 > index) {
        return -1;
    }
    OK(MPI_T_pvar_handle_alloc(session, index, &comm, &handle, &count));
    OK(MPI_T_pvar_read(session, handle, values));
    OK(MPI_T_pvar_handle_free(session, &handle));
    return count;
}

static void check(const char *what, MPI_Comm comm, int peers, const unsigned *wanted)
{
    unsigned values[64];
    int count = lengths(what, comm, values);

    CHECK(peers == count, "%s: %d peers, wanted %d", what, count, peers);
    for (int i = 0; i < peers && i < count; ++i) {
        CHECK(wanted[i] == values[i], "%s[%d] = %u, wanted %u", what, i, values[i], wanted[i]);
    }
}

/* One process here, all others there: each side has another number of peers. */
static void intercommunicator(MPI_Comm comm)
{
    MPI_Comm half, inter;
    MPI_Request requests[64];
    unsigned wanted[64] = {0}, none[64] = {0};
    int color = 0 != test_rank, remote;

    OK(MPI_Comm_split(comm, color, test_rank, &half));
    OK(MPI_Intercomm_create(half, 0, comm, color ? 0 : 1, 3, &inter));
    OK(MPI_Comm_remote_size(inter, &remote));
    for (int r = 0; r < remote; ++r) {
        OK(MPI_Irecv(NULL, 0, MPI_INT, r, 1, inter, &requests[r]));
        wanted[r] = 1;
    }
    check("posted_recvq_length", inter, remote, wanted);
    check("unexpected_msgq_length", inter, remote, none);
    test_barrier();
    for (int r = 0; r < remote; ++r) {
        OK(MPI_Send(NULL, 0, MPI_INT, r, 1, inter));
    }
    OK(MPI_Waitall(remote, requests, MPI_STATUSES_IGNORE));
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&half));
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Request requests[64], wild[2];
    unsigned wanted[64] = {0}, none[64] = {0};
    int provided, n = 0;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    test_init(&argc, &argv);
    OK(MPI_T_pvar_session_create(&session));
    llamatch = NULL != getenv("OMPI_MCA_pml") && 0 == strcmp("llamatch", getenv("OMPI_MCA_pml"));
    if (0 > find("posted_recvq_length")) {
        test_skip("this PML does not show its queue lengths");
    }
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (0 == test_rank) {
        /* Rank r: r receives. */
        for (int r = 1; r < test_size; ++r) {
            for (int i = 0; i < r; ++i) {
                OK(MPI_Irecv(NULL, 0, MPI_INT, r, 1, comm, &requests[n++]));
            }
            wanted[r] = (unsigned) r;
        }
        check("posted_recvq_length", comm, test_size, wanted);
        check("unexpected_msgq_length", comm, test_size, none);
        for (int i = 0; i < 2; ++i) {
            OK(MPI_Irecv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 2, comm, &wild[i]));
        }
        for (int r = 0; r < test_size; ++r) {
            wanted[r] += 2;
        }
        check("posted_recvq_length", comm, test_size, wanted);
        for (int i = 0; i < 2; ++i) {
            OK(MPI_Cancel(&wild[i]));
            OK(MPI_Wait(&wild[i], MPI_STATUS_IGNORE));
        }
        memset(wanted, 0, sizeof(wanted));
    }
    test_barrier();
    for (int i = 0; i < test_rank; ++i) {
        OK(MPI_Send(NULL, 0, MPI_INT, 0, 1, comm));
    }
    OK(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 2 * test_rank; ++i) {
        OK(MPI_Send(NULL, 0, MPI_INT, 0, i, comm));
    }
    if (0 != test_rank) {
        OK(MPI_Send(NULL, 0, MPI_INT, 0, 1000, comm));
    } else {
        for (int r = 1; r < test_size; ++r) {
            OK(MPI_Recv(NULL, 0, MPI_INT, r, 1000, comm,
                        MPI_STATUS_IGNORE)); /* so the others are here */
            wanted[r] = 2 * (unsigned) r;
        }
        check("posted_recvq_length", comm, test_size, none);
        check("unexpected_msgq_length", comm, test_size, wanted);
        for (int r = 1; r < test_size; ++r) {
            for (int i = 0; i < 2 * r; ++i) {
                OK(MPI_Recv(NULL, 0, MPI_INT, r, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE));
            }
        }
        check("unexpected_msgq_length", comm, test_size, none);
    }
    test_barrier();

    intercommunicator(comm);
    OK(MPI_Comm_free(&comm));
    OK(MPI_T_pvar_session_free(&session));
    MPI_T_finalize();
    return test_done();
}
