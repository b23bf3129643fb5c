/* A process that has copies is killed, in a job with fault tolerance: a writer's flush does not wait for it,
 * nor a later one at another owner (4 ranks), nor a store of an owner, and the survivors go on. Without fault tolerance (ends) the job ends with an error, and nobody waits for ever.
 *
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync" ranks=3,4 transport=shm,tcp limit=60 mpirun-5.0="--with-ft ulfm" allow="Epoll MOD|send_msg: write failed|UCX +ERROR connect.*Connection refused|UCX_TCP_MAX_CONN_RETRIES|^---|WARNING: The selected|^operation, yet|^When using|^However, fail|^In this framework|^failure scenarios|more processes have sent help"
 * test: for=osc-cached needs=cache cache="mode=coherent" args=stores ranks=3 transport=tcp limit=60 mpirun-5.0="--with-ft ulfm" expect="text:in a job with" allow=".*"
 * test: for=osc-cached needs=cache cache="mode=coherent stores=sync" args="ends" ranks=3 transport=tcp limit=60 expect="killed:process rank "
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coherent.h"

#include <signal.h>
#include <unistd.h>

enum { WORDS = 1 << 17, PLACE = 9007 /* in a page of the window alone */ };

int main(int argc, char **argv)
{
    const char *enabled = getenv("OMPI_MCA_mpi_ft_enable");
    struct counters c;
    MPI_Win win;
    long *base, word = 5;
    int stores = 1 < argc && 0 == strcmp("stores", argv[1]);

    test_init(&argc, &argv);
    if ((argc < 2 || stores) && (NULL == enabled || 0 == strcmp("0", enabled))) {
        test_skip("fault tolerance is not enabled (mpi_ft_enable)");
    }
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Alloc_mem(WORDS * sizeof(long), MPI_INFO_NULL, &base));
    memset(base, 0, WORDS * sizeof(long));
    win = test_win_make(base, WORDS * sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    if (2 == test_rank) {
        for (int i = 0; i < 2000 && stores; ++i) {
            (void) coherent_get(win, 0, PLACE);
        }
        CHECK(stores || coherent_warm(win, &c, 0, PLACE, 0), "never a hit");
        CHECK(test_size <= 3 || coherent_warm(win, &c, 3, PLACE, 0),
              "never a hit at the other owner");
        coherent_tell(1);
        coherent_hear(1); /* it has heard: what is on its way may die with this process */
        raise(SIGKILL);
    } else if (1 == test_rank) {
        coherent_hear(2);
        coherent_tell(2);
        usleep(200000); /* it is dead */
        for (int i = 0; i < 3 && !stores; ++i, ++word) {
            OK(MPI_Put(&word, 1, MPI_LONG, 0, PLACE, 1, MPI_LONG, win));
            OK(MPI_Win_flush(0, win));
            CHECK(word == coherent_get(win, 0, PLACE), "an old value");
        }
        if (3 < test_size) { /* whose owner has not heard of it */
            --word;
            OK(MPI_Put(&word, 1, MPI_LONG, 3, PLACE, 1, MPI_LONG, win));
            OK(MPI_Win_flush(3, win));
            CHECK(word == coherent_get(win, 3, PLACE), "an old value");
            coherent_tell(3);
            coherent_hear(3);
        }
        coherent_tell(0);
        coherent_hear(0);
    } else {
        coherent_hear(1);
        if (stores) {
            *(volatile long *) &base[PLACE] = 7;
        }
        OK(MPI_Win_sync(win));
        CHECK(7 == *(volatile long *) &base[PLACE], "%ld", base[PLACE]);
        coherent_tell(1);
    }
    _exit(0 != test_failures); /* MPI_Win_free and MPI_Finalize are for all processes */
}
