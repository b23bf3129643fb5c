/* M3: a message with an extended header may come before its communicator exists.
 * test: for=pml ranks=2,3,5 transport=shm,tcp limit=20
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The first messages on a communicator made from a group have a header with its long name in front
 * of the usual one. The ranks agree on the name by PMIx, then make the communicator, then talk on
 * it. To be late, rank 0 looks for messages when PMIx is done, before it makes the communicator:
 * those of the others are there before it (O7).
 */
#define _GNU_SOURCE
#include "test.h"

#include <dlfcn.h>
#include <time.h>

static int late;

/* Called by Open MPI in place of PMIx's own, which it calls. */
int PMIx_Group_destruct(const char *group, const void *info, size_t ninfo);

int PMIx_Group_destruct(const char *group, const void *info, size_t ninfo)
{
    int (*real)(const char *, const void *, size_t);
    int rc, flag;

    *(void **) &real = dlsym(RTLD_NEXT, "PMIx_Group_destruct");
    rc = real(group, info, ninfo);
    for (int i = 0; late && i < 100; ++i) {
        struct timespec pause = {0, 1000000};

        nanosleep(&pause, NULL);
        OK(MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    }
    return rc;
}

int main(int argc, char **argv)
{
    test_init(&argc, &argv);
    if (0x0500 > test_openmpi()) {
        test_skip("communicators cannot be made from a group");
    }
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
    for (int round = 0; round < 4; ++round) {
        MPI_Group group;
        MPI_Comm comm;
        char tag[32];
        int sum;

        snprintf(tag, sizeof(tag), "m3_extended_header %d", round);
        OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
        late = 0 == test_rank;
        OK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
        late = 0;
        OK(MPI_Allreduce(&test_rank, &sum, 1, MPI_INT, MPI_SUM, comm));
        CHECK(test_size * (test_size - 1) / 2 == sum, "round %d: sum %d", round, sum);
        OK(MPI_Comm_free(&comm));
        OK(MPI_Group_free(&group));
    }
#endif
    return test_done();
}
