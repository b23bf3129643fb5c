/* Everything that completes the gets of all targets at once does so, with all ranks getting.
 *
 * test: for=osc ranks=2,3 transport=shm,tcp limit=120
 * test: for=osc-cached ranks=2,3 transport=shm,tcp limit=120 args=file
 * test: for=osc-cached ranks=2 transport=shm limit=120 args="file elsewhere"
 * test: for=osc-cached ranks=2 transport=shm limit=120 args="file memory"
 * test: for=osc-cached ranks=3 transport=shm limit=120 args=allocate mca="osc_cached_helper=on osc_cached_helper_per=node"
 * test: for=osc-cached ranks=3 transport=shm limit=120 args=allocate mca="osc_cached_helper=on osc_cached_helper_per=node osc_cached_helper_transfers=inner"
 * test: for=osc-cached ranks=2 transport=shm limit=120 args="allocate apart" mca="osc_cached_helper=on osc_cached_helper_per=node" expect="text:UCX does not reach the other processes"
 *
 * UCX has to ask the target for each get from a window made with MPI_Win_create over shared memory.
 * When the way there is full it queues gets, and ucp_worker_flush does not wait for those: osc/ucx
 * of a stock Open MPI returns with buffers not yet filled; ompi-patches mends it for 5.0. Windows of
 * MPI_Win_allocate, where nothing is late, may be such windows for osc/ucx: those on files, which
 * helpers serve then, and those with one helper per node, whose processes copy.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "storage.h"

enum { BYTES = 16384, LONGEST = 256, GETS = 1000, ROUNDS = 120 };

static unsigned char mem[BYTES], buf[GETS][LONGEST];
static int target[GETS], at[GETS], len[GETS], gets;
static unsigned seed;
static MPI_Win win;

static unsigned char byte_of(int rank, int i)
{
    return (unsigned char) (7 * i + (i >> 8) + 13 * rank);
}

/* Now and then the 1000 after which osc/ucx starts a flush by itself and counts from 0 again. */
static void start_gets(int round, int only)
{
    gets = 0 == round % 10 ? GETS : 1 + rand_r(&seed) % 60;
    memset(buf, 0xee, sizeof(buf));
    for (int i = 0; i < gets; ++i) {
        target[i] = only;
        while (only < 0 && (target[i] < 0 || target[i] == test_rank)) {
            target[i] = rand_r(&seed) % test_size;
        }
        at[i] = rand_r(&seed) % (BYTES - LONGEST);
        len[i] = 1 + rand_r(&seed) % LONGEST;
        OK(MPI_Get(buf[i], len[i], MPI_BYTE, target[i], at[i], len[i], MPI_BYTE, win));
    }
}

static void check_gets(int round, const char *after)
{
    int wrong = 0;

    for (int i = 0; i < gets; ++i) {
        for (int j = 0; j < len[i]; ++j) {
            if (byte_of(target[i], at[i] + j) != buf[i][j]) {
                ++wrong;
                break;
            }
        }
    }
    CHECK(0 == wrong, "round %d: %d of %d gets not complete after %s", round, wrong, gets, after);
}

static void flushes(void)
{
    OK(MPI_Win_lock_all(0, win));
    for (int round = 0; round < ROUNDS; ++round) {
        start_gets(round, -1);
        OK(MPI_Win_flush_all(win));
        check_gets(round, "MPI_Win_flush_all");
        start_gets(round, -1);
        OK(MPI_Win_flush_local_all(win));
        check_gets(round, "MPI_Win_flush_local_all");
    }
    OK(MPI_Win_unlock_all(win));
    test_barrier();
}

static void unlocks(void)
{
    int right = (test_rank + 1) % test_size;

    for (int round = 0; round < ROUNDS; ++round) {
        OK(MPI_Win_lock_all(0, win));
        start_gets(round, -1);
        OK(MPI_Win_unlock_all(win));
        check_gets(round, "MPI_Win_unlock_all");
        OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
        start_gets(round, right);
        OK(MPI_Win_unlock(right, win));
        check_gets(round, "MPI_Win_unlock");
    }
    test_barrier();
}

static void fences(void)
{
    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    for (int round = 0; round < ROUNDS; ++round) {
        start_gets(round, -1);
        OK(MPI_Win_fence(0, win));
        check_gets(round, "MPI_Win_fence");
    }
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

static void completes(void)
{
    MPI_Group world, others;

    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_excl(world, 1, &test_rank, &others));
    for (int round = 0; round < ROUNDS; ++round) {
        OK(MPI_Win_post(others, 0, win));
        OK(MPI_Win_start(others, 0, win));
        start_gets(round, -1);
        OK(MPI_Win_complete(win));
        check_gets(round, "MPI_Win_complete");
        OK(MPI_Win_wait(win));
    }
    OK(MPI_Group_free(&others));
    OK(MPI_Group_free(&world));
}

int main(int argc, char **argv)
{
    const char *how = (1 < argc) ? argv[1] : "create", *more = (2 < argc) ? argv[2] : "";
    int on_file = 0 == strcmp("file", how);
    unsigned char *base;

    if (0 == strcmp("elsewhere", more)) { /* what Open MPI's UCX reads first */
        setenv("MPI_UCX_TLS", getenv("UCX_TLS"), 1);
        setenv("UCX_TLS", "tcp,self", 1);
    } else if (0 == strcmp("apart", more)) { /* and helpers reach nobody */
        setenv("MPI_UCX_TLS", getenv("UCX_TLS"), 1);
        setenv("UCX_TLS", "self", 1);
    }
    test_init(&argc, &argv);
    if (0 == strcmp("apart", more) && !test_inner_is("ucx")) {
        fprintf(stderr, "UCX does not reach the other processes\n");
    }
    /* with UCX 1.18 those of MPI_Win_allocate, too */
    if (test_inner_is("ucx")
        && ((0 == strcmp("create", how) && test_openmpi() < 0x0500)
            || ((0 == strcmp("create", how) || 0 == strcmp("apart", more))
                && (test_stock_5_0() || 0x0600 == test_openmpi())))) {
        test_skip("osc/ucx of a stock Open MPI: MPI_Win_flush_all returns before the gets arrived");
    }
    seed = (unsigned) test_rank + 1;
    if (on_file) {
        storage_begin();
        OK(storage_allocate(BYTES, 1, &base, &win, "window", "storage_alloc_factor",
                            (0 == strcmp("memory", more)) ? "0" : "1", NULL));
    } else {
        win = test_win_make((0 == strcmp("create", how)) ? mem : NULL, BYTES, 1, &base);
    }
    for (int i = 0; i < BYTES; ++i) {
        base[i] = byte_of(test_rank, i);
    }
    test_barrier();
    flushes();
    unlocks();
    fences();
    completes();
    OK(MPI_Win_free(&win));
    if (on_file) {
        storage_end();
    }
    return test_done();
}
