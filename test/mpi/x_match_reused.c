/* A communicator may get the address of one that was freed: handles of that one read nothing of it.
 * test: for=pml-llamatch ranks=4 transport=shm limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Bound to a communicator of one process, a handle has one value for each queue length; the
 * communicators that come after it have four processes.
 */
#include "counters.h"

enum { TRIES = 16, NOTHING = 0xab };

int main(int argc, char **argv)
{
    static struct counters old, new;
    unsigned char values[COUNTERS_VALUES * sizeof(unsigned long)];
    MPI_Comm small, comm[TRIES];
    int again = -1, anywhere = 0, reads;

    test_init(&argc, &argv);
    OK(MPI_Comm_dup(MPI_COMM_SELF, &small));
    counters_open_all(&old, "pml_llamatch_", MPI_T_BIND_MPI_COMM, &small);
    CHECK(2 < old.n, "only %d performance variables", old.n);
    comm[0] = small;
    OK(MPI_Comm_free(&small));
    small = comm[0]; /* its address, only to be compared */
    for (int i = 0; i < TRIES; ++i) {
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]));
        again = comm[i] == small ? i : again;
    }
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < old.n; ++i) {
            memset(values, NOTHING, sizeof(values));
            reads = MPI_SUCCESS == MPI_T_pvar_read(counters_session, old.handle[i], values);
            CHECK(!reads, "%s of a freed communicator can be read", old.name[i]);
            for (size_t byte = 0; byte < sizeof(values); ++byte) {
                CHECK(NOTHING == values[byte], "%s: byte %zu was written", old.name[i], byte);
            }
        }
        if (0 == round && 0 <= again) { /* handles of its own, at the same address */
            counters_open_all(&new, "pml_llamatch_", MPI_T_BIND_MPI_COMM, &comm[again]);
        }
        for (int i = 0; i < new.n; ++i) {
            (void) counters_read(&new, i);
        }
    }
    counters_close(&old);
    counters_close(&new);
    for (int i = 0; i < TRIES; ++i) {
        OK(MPI_Comm_free(&comm[i]));
    }
    reads = 0 <= again;
    OK(MPI_Allreduce(&reads, &anywhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    CHECK(anywhere, "no rank got the address again");
    return test_done();
}
