/* H16: MPI_Put and MPI_Get of several blocks, and their R-forms, return while the target waits
 * outside MPI for what their origin does next, whatever they try: a trial that needs the target's
 * process ends with the program's flush.
 * test: for=osc-cached needs=cache ranks=2 transport=tcp,shm limit=60 mca="osc_cached_helper=on"
 * test: for=osc-cached needs=cache ranks=2 transport=tcp,shm limit=60 mca="osc_cached_helper=on" args=all
 * test: for=osc-cached needs=cache cache="mode=always" ranks=2 transport=tcp limit=60 mca="osc_cached_helper=on"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "helper.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROUNDS = 60, MOST = 128, WORDS = 4 * MOST, WAIT_US = 200 };

static volatile int *told; /* by the origin, to whoever maps it */
static int shared;

/* Memory of both, of which MPI knows nothing; on another node the target sleeps for some time. */
static void open_told(void)
{
    static int alone;
    char name[64] = "";
    int file;

    if (0 == test_rank) {
        snprintf(name, sizeof(name), "/dev/shm/h16_outside.%d", (int) getpid());
        file = open(name, O_CREAT | O_RDWR, 0600);
        CHECK(0 == ftruncate(file, sizeof(int)), "ftruncate");
        close(file);
    }
    OK(MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, MPI_COMM_WORLD));
    file = open(name, O_RDWR);
    told = &alone;
    if (-1 != file) {
        told = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        CHECK(MAP_FAILED != (void *) told, "mmap");
        close(file);
    }
    shared = -1 != file;
    test_barrier();
    if (0 == test_rank) {
        unlink(name);
    }
}

static void wait_outside(int round)
{
    for (int i = 0; shared ? round != *told : i < 10; ++i) {
        usleep(WAIT_US);
        if (i > 20 * 1000000 / WAIT_US) {
            printf("round %d: an operation waits for this process\n", round);
            fflush(stdout);
            *told = round;
            ++test_failures;
        }
    }
}

/* Blocks of a word, one after every second one. */
static void operate(MPI_Win win, int round, long *mine, MPI_Datatype blocks, MPI_Request *request)
{
    if (0 == round % 5) { /* beside one that the inner component has */
        OK(MPI_Put(&mine[0], 1, MPI_LONG, 1, WORDS - 1, 1, MPI_LONG, win));
    }
    switch (round % 4) {
    case 0:
        OK(MPI_Put(mine, 1, blocks, 1, 0, 1, blocks, win));
        break;
    case 1:
        OK(MPI_Get(mine, 1, blocks, 1, 0, 1, blocks, win));
        break;
    case 2:
        OK(MPI_Put(mine, 1, blocks, 1, 0, 1, blocks, win));
        OK(MPI_Put(mine, 1, blocks, 1, WORDS / 2, 1, blocks, win));
        break;
    default:
        OK(MPI_Rput(mine, 1, blocks, 1, 0, 1, blocks, win, request));
    }
}

int main(int argc, char **argv)
{
    static long mine[WORDS];
    int all, sizes[] = {8, 8, 8, MOST, MOST, 2};
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype blocks;
    struct counters c;
    long *base;
    MPI_Win win;

    test_init(&argc, &argv);
    all = 1 < argc;
    open_told();
    for (int i = 0; i < WORDS; ++i) {
        mine[i] = i;
    }
    win = test_win_make(NULL, WORDS * sizeof(long), sizeof(long), &base);
    counters_open(&c, &win);
    memcpy(base, mine, sizeof(mine));
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    for (int round = 1; round <= ROUNDS; ++round) {
        if (0 == test_rank) {
            OK(MPI_Type_vector(sizes[round % 6], 1, 2, MPI_LONG, &blocks));
            OK(MPI_Type_commit(&blocks));
            operate(win, round, mine, blocks, &request);
            *told = round; /* now the target goes on */
            OK(all ? MPI_Win_flush_all(win) : MPI_Win_flush(1, win));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            OK(MPI_Type_free(&blocks));
            for (int i = 0; i < WORDS / 2; ++i) {
                CHECK(i == mine[i], "round %d: [%d] is %ld", round, i, mine[i]);
            }
        } else {
            wait_outside(round);
        }
        test_barrier();
    }
    OK(MPI_Win_unlock_all(win));
    if (0 == test_rank && !test_is_plain()) {
        CHECK(0 < counter(&c, "helper_operations"), "the helper was never asked");
    }
    counters_close(&c);
    OK(MPI_Win_free(&win));
    return test_done();
}
