/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For test/mpi/badinput: messages that pass each other, with whatever parameters and info keys
 * ("badinput KEY VALUE"...) it is given. The keys are set when a communicator is made and once more
 * when it has been used. Rank 0 prints what is in force then, and "fine" when all messages were
 * right.
 */
#include "test.h"

enum { N = 500 };

static void use(MPI_Comm comm)
{
    static MPI_Request requests[N];
    static int got[N];
    int to = (test_rank + 1) % test_size, from = (test_rank + test_size - 1) % test_size;

    for (int i = 0; i < N; ++i) {
        OK(MPI_Irecv(&got[i], 1, MPI_INT, (i % 2) ? from : MPI_ANY_SOURCE, i, comm, &requests[i]));
    }
    for (int i = N; i-- > 0;) {
        int value = 1000 * test_rank + i, tag = i + N; /* nobody waits for these yet */

        OK(MPI_Send(&value, 1, MPI_INT, to, tag, comm));
        OK(MPI_Send(&value, 1, MPI_INT, to, i, comm));
    }
    OK(MPI_Waitall(N, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < N; ++i) {
        CHECK(1000 * from + i == got[i], "tag %d: %d", i, got[i]);
        OK(MPI_Recv(&got[i], 1, MPI_INT, MPI_ANY_SOURCE, i + N, comm, MPI_STATUS_IGNORE));
        CHECK(1000 * from + i == got[i], "unexpected tag %d: %d", i + N, got[i]);
    }
}

int main(int argc, char **argv)
{
    MPI_Info info, used;
    MPI_Comm comm;
    int flag;

    test_init(&argc, &argv);
    OK(MPI_Info_create(&info));
    for (int i = 1; i + 1 < argc; i += 2) {
        OK(MPI_Info_set(info, argv[i], argv[i + 1]));
    }
    OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
    use(comm);
    OK(MPI_Comm_set_info(comm, info));
    OK(MPI_Comm_get_info(comm, &used));
    for (int i = 1; 0 == test_rank && i + 1 < argc; i += 2) {
        char value[MPI_MAX_INFO_VAL + 1] = "";

        OK(MPI_Info_get(used, argv[i], MPI_MAX_INFO_VAL, value, &flag));
        printf("%s=%s\n", argv[i], value);
    }
    OK(MPI_Info_free(&used));
    OK(MPI_Info_free(&info));
    use(comm);
    OK(MPI_Comm_free(&comm));
    if (0 == test_rank && 0 == test_failures) {
        printf("fine\n");
    }
    return test_done();
}
