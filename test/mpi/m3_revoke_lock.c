/* M3: a message for a revoked communicator does not keep its lock.
 * test: for=pml ranks=2 transport=shm,tcp limit=20 mca-5.0="mpi_ft_enable=1"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A BTL with a progress thread makes ob1 lock always, also when the process has no other threads.
 * When a message is dropped because its communicator is revoked, the lock must be given back in the
 * same way (O4). The only such BTL that Open MPI comes with (tcp) says itself that there are
 * threads, which hides this; so the test sets ob1's variable.
 */
#define _GNU_SOURCE
#include "test.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <time.h>

#if defined(OMPI_HAVE_MPI_EXT_FTMPI) && OMPI_HAVE_MPI_EXT_FTMPI
enum { BIG = 100000 };

/* dl_iterate_phdr: looks for the variable in this library. */
static int find_variable(struct dl_phdr_info *info, size_t size, void *found)
{
    const char *pml = getenv("OMPI_MCA_pml");
    void *library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    char name[128];

    (void) size;
    snprintf(name, sizeof(name), "mca_pml_%s_matching_protection", NULL != pml ? pml : "ob1");
    if (NULL != library) {
        *(void **) found = dlsym(library, name);
        dlclose(library);
    }
    return NULL != *(void **) found;
}

static void drop(int count)
{
    static int buffer[BIG];
    MPI_Comm comm;
    int in, go = 0;

    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    if (0 == test_rank) {
        OK(MPIX_Comm_revoke(comm));
        OK(MPI_Recv(&go, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        FAILS(MPI_Recv(&in, 1, MPI_INT, 1, 1, comm, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED);
    } else {
        struct timespec pause = {0, 200000000};
        MPI_Request requests[2];

        /* Sent before anything is heard of the revoke. The first leaves the lock locked, the second
         * wants it. */
        nanosleep(&pause, NULL);
        for (int i = 0; i < 2; ++i) {
            OK(MPI_Isend(buffer, count, MPI_INT, 0, 1, comm, &requests[i]));
        }
        OK(MPI_Send(&go, 1, MPI_INT, 0, 2, MPI_COMM_WORLD));
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* with or without an error */
    }
    test_barrier();
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    const char *enabled = getenv("OMPI_MCA_mpi_ft_enable");
    bool *always_lock = NULL;

    test_init(&argc, &argv);
    if (NULL == enabled || 0 == strcmp("0", enabled)) {
        test_skip("fault tolerance is not enabled (mpi_ft_enable)");
    }
    dl_iterate_phdr(find_variable, &always_lock);
    if (NULL == always_lock) {
        test_skip("this PML hides its variables");
    }
    *always_lock = true;
    drop(1);
    drop(BIG);
    return test_done();
}
#else
int main(int argc, char **argv)
{
    test_init(&argc, &argv);
    test_skip("this Open MPI has no fault tolerance");
    return 0;
}
#endif
