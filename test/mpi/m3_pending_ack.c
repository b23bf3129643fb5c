/* M3: the acknowledgement of a long message that has to wait for a fragment is sent whole.
 * test: for=pml ranks=3 transport=shm limit=60 mca-5.0="smsc=^cma,xpmem,knem btl_sm_free_list_num=8 btl_sm_free_list_max=8 btl_sm_free_list_inc=1 btl_sm_fbox_max=0" mca-4.1="btl_vader_single_copy_mechanism=none btl_vader_free_list_num=8 btl_vader_free_list_max=8 btl_vader_free_list_inc=1 btl_vader_fbox_max=0"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Rank 1 has all fragments on their way to rank 2, which does not look, when it receives the long
 * message of rank 0. Rank 2 looks only when that was asked for, which a file tells it.
 */
#include "test.h"

#include <time.h>
#include <unistd.h>

enum { MANY = 64, LONG = 1 << 20, ROUNDS = 4 };

static void nap(void)
{
    struct timespec time = {0, 1000000};

    (void) nanosleep(&time, NULL);
}

/* A place that all processes see without MPI. */
static void flag_name(char *name, size_t size, int round, const char *what)
{
    snprintf(name, size, "%s/m3_pending_ack.%d.%s",
             NULL == getenv("TMPDIR") ? "/tmp" : getenv("TMPDIR"), round, what);
}

static void raise_flag(int round, const char *what)
{
    char name[512];
    FILE *file;

    flag_name(name, sizeof(name), round, what);
    file = fopen(name, "w");
    CHECK(NULL != file, "cannot write %s", name);
    if (NULL != file) {
        fclose(file);
    }
}

static void wait_for_flag(int round, const char *what)
{
    char name[512];

    flag_name(name, sizeof(name), round, what);
    while (0 != access(name, F_OK)) {
        nap();
    }
}

int main(int argc, char **argv)
{
    static int out[LONG], in[LONG], small[MANY];
    MPI_Request requests[MANY + 1];
    int flag;

    test_init(&argc, &argv);
    for (int round = 0; round < ROUNDS; ++round) {
        test_barrier();
        if (0 == test_rank) {
            for (int i = 0; i < LONG; ++i) {
                out[i] = round * LONG + i;
            }
            OK(MPI_Isend(out, LONG, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[0]));
            OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        } else if (1 == test_rank) {
            do { /* it has come */
                OK(MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
            } while (!flag);
            for (int i = 0; i < MANY; ++i) {
                small[i] = i;
                OK(MPI_Isend(&small[i], 1, MPI_INT, 2, 2, MPI_COMM_WORLD, &requests[i]));
            }
            OK(MPI_Irecv(in, LONG, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[MANY]));
            raise_flag(round, "asked");
            OK(MPI_Waitall(MANY + 1, requests, MPI_STATUSES_IGNORE));
            for (int i = 0; i < LONG; ++i) {
                CHECK(round * LONG + i == in[i], "round %d: in[%d] = %d", round, i, in[i]);
            }
        } else {
            wait_for_flag(round, "asked");
            for (int i = 0; i < MANY; ++i) {
                OK(MPI_Recv(&small[i], 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
                CHECK(i == small[i], "round %d: message %d is %d", round, i, small[i]);
            }
        }
    }
    return test_done();
}
