/* M3: communicators with mpi_assert_no_any_source, _no_any_tag, _exact_length or _allow_overtaking work as others do.
 * test: for=pml ranks=2,4 transport=shm,tcp limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { N = 100 };

static int left, right;

static MPI_Comm with_hint(const char *key)
{
    MPI_Comm comm;
    MPI_Info info;

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, key, "true"));
    OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
    OK(MPI_Info_free(&info));
    return comm;
}

/* Eager messages, each with a tag of its own: the order between them is not asked for. */
static void exchange(MPI_Comm comm, const char *key)
{
    MPI_Request recv[N];
    MPI_Status status;
    int in[N], out, sum;

    for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < N; ++i) {
            if (0 == round % 2) {
                OK(MPI_Irecv(&in[i], 1, MPI_INT, left, i, comm, &recv[i]));
            }
        }
        test_barrier();
        for (int i = 0; i < N; ++i) {
            out = 10000 * round + 100 * test_rank + i;
            OK(MPI_Send(&out, 1, MPI_INT, right, i, comm));
        }
        if (round % 2) {
            test_barrier();
        }
        for (int i = N - 1; i >= 0; --i) {
            if (0 == round % 2) {
                OK(MPI_Wait(&recv[i], &status));
            } else {
                OK(MPI_Recv(&in[i], 1, MPI_INT, left, i, comm, &status));
            }
            CHECK(10000 * round + 100 * left + i == in[i] && left == status.MPI_SOURCE, "%s: receive %d got %d", key, i,
                  in[i]);
        }
        OK(MPI_Allreduce(&test_rank, &sum, 1, MPI_INT, MPI_SUM, comm));
        CHECK(test_size * (test_size - 1) / 2 == sum, "%s: sum %d", key, sum);
    }
}

int main(int argc, char **argv)
{
    static const char *keys[] = {"mpi_assert_no_any_source", "mpi_assert_no_any_tag", "mpi_assert_exact_length",
                                 "mpi_assert_allow_overtaking"};

    test_init(&argc, &argv);
    left = (test_rank + test_size - 1) % test_size;
    right = (test_rank + 1) % test_size;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); ++i) {
        MPI_Comm comm = with_hint(keys[i]);

        exchange(comm, keys[i]);
        OK(MPI_Comm_free(&comm));
    }
    return test_done();
}
