/* F6: gets from windows on files of other processes of the node are copies, in every epoch, where
 * the inner component serves the window over shared memory; not of own writes on their way, of
 * several runs of bytes, and of what is not in the file.  Who polls with them makes progress, with large
 * ones soon: what counts is work.
 * test: for=osc-cached ranks=2,4 transport=shm limit=60 args=auto
 * test: for=osc-cached ranks=2,4 transport=shm limit=60 args=near mca="osc_cached_storage_route=inner"
 * test: for=osc-cached ranks=2,4 transport=shm limit=60 args=near mca="osc_cached_storage_route=inner osc_cached_helper=on"
 * test: for=osc-cached ranks=2 transport=tcp limit=60 args=none mca="osc_cached_storage_route=inner"
 * test: for=osc-cached ranks=2,4 transport=shm,tcp limit=60 args=none mca="osc_cached_storage_route=helper"
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "storage.h"

enum { LONGS = 32768, BIG = 1 << 20 };

static int near, target, origin;
static struct counters c;
static long *base;
static MPI_Win win;

/* Units differ. */
static MPI_Aint at(int i)
{
    return (0 == target % 2) ? i : i * (MPI_Aint) sizeof(long);
}

/* A get that is a copy, or not; from what it copies on it may be looked at after the epoch. */
static void get(long *to, int i, int count, int copies)
{
    unsigned long before = counter(&c, "file_near");

    *to = -1;
    OK(MPI_Get(to, count, MPI_LONG, target, at(i), count, MPI_LONG, win));
    COUNTS(&c, "file_near", before + (unsigned long) (near && copies), "get of %d at %d", count, i);
}

static void active(void)
{
    MPI_Group all, from, to;
    long got[2];

    OK(MPI_Win_get_group(win, &all));
    OK(MPI_Group_incl(all, 1, &origin, &from));
    OK(MPI_Group_incl(all, 1, &target, &to));
    for (int round = 0; round < 50; ++round) {
        base[0] = base[LONGS - 1] = 100 * round + test_rank;
        OK(MPI_Win_fence(0, win));
        get(&got[0], 0, 1, 1);
        get(&got[1], LONGS - 1, 1, 1);
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        CHECK(100 * round + target == got[0] && got[0] == got[1], "fence: %ld %ld", got[0], got[1]);
        base[0] = -100 * round - test_rank;
        OK(MPI_Win_post(from, 0, win));
        OK(MPI_Win_start(to, 0, win));
        get(&got[0], 0, 1, 1);
        OK(MPI_Win_complete(win));
        OK(MPI_Win_wait(win));
        CHECK(-100 * round - target == got[0], "start: %ld", got[0]);
    }
    FAILS(MPI_Get(got, 1, MPI_LONG, target, 0, 1, MPI_LONG, win), MPI_ERR_RMA_SYNC);
    OK(MPI_Group_free(&all));
    OK(MPI_Group_free(&from));
    OK(MPI_Group_free(&to));
}

/* Who puts into the memory of our target tells us: the process behind it. */
static void passive(MPI_Datatype every_other)
{
    int there = (target + 1) % test_size, writes = (test_rank + test_size - 1) % test_size;
    int tells = (writes + test_size - 1) % test_size;
    long mine, got[2];

    for (int round = 0; round < 50; ++round) {
        mine = 1000 * round + writes;
        OK(MPI_Win_lock(MPI_LOCK_SHARED, writes, 0, win));
        OK(MPI_Put(&mine, 1, MPI_LONG, writes, (0 == writes % 2) ? 1 : 8, 1, MPI_LONG, win));
        OK(MPI_Win_flush(writes, win));
        OK(MPI_Sendrecv(NULL, 0, MPI_INT, tells, 1, NULL, 0, MPI_INT, there, 1, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
        OK(MPI_Win_unlock(writes, win));
        OK(MPI_Win_lock((0 == round % 2) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, win));
        get(got, 1, 1, 1);
        OK(MPI_Win_unlock(target, win));
        CHECK(1000 * round + target == got[0], "another one's put: %ld", got[0]);
        test_barrier();
    }
    OK(MPI_Win_lock_all(0, win));
    for (long round = 0; round < 50; ++round) {
        OK(MPI_Put(&round, 1, MPI_LONG, target, at(2), 1, MPI_LONG, win));
        get(got, 2, 1, 0);
        OK(MPI_Win_flush(target, win));
        CHECK(round == got[0], "own put: %ld", got[0]);
        get(got, 2, 2, 1);
        OK(MPI_Win_flush_all(win));
        CHECK(round == got[0] && 3000 + target == got[1], "after a flush: %ld %ld", got[0], got[1]);
    }
    OK(MPI_Get(got, 2, MPI_LONG, target, at(1), 1, every_other, win));
    OK(MPI_Win_flush(target, win));
    CHECK(1000 * 49 + target == got[0] && 3000 + target == got[1], "two runs: %ld %ld", got[0],
          got[1]);
    OK(MPI_Win_unlock_all(win));
}

/* The flag comes when the message has arrived, which this process has to send. */
static void poll(void)
{
    static char big[BIG];
    MPI_Request request = MPI_REQUEST_NULL;
    long flag = 0;

    base[4] = 0;
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    if (0 == test_rank) {
        OK(MPI_Isend(big, BIG, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &request));
        while (0 == flag) {
            OK(MPI_Get(&flag, 1, MPI_LONG, 1, at(4), 1, MPI_LONG, win));
            OK(MPI_Win_flush(1, win));
        }
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else if (1 == test_rank) {
        OK(MPI_Recv(big, BIG, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        base[4] = 1;
        OK(MPI_Win_sync(win));
    }
    OK(MPI_Win_unlock_all(win));
}

/* How many large gets until a message is seen that is there?  MPI_Test would make progress. */
static void large(void)
{
    enum { TRIES = 20, FEW = 8 };
    static long all[LONGS];
    volatile int word;
    int gets, least = 1000;

    OK(MPI_Win_lock_all(0, win));
    for (int i = 0; i < TRIES && FEW < least; ++i) {
        MPI_Request request;

        word = 0;
        if (0 == test_rank) {
            OK(MPI_Irecv((void *) &word, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &request));
        }
        test_barrier();
        if (1 == test_rank) {
            (void) usleep(10000); /* the other one has left the barrier */
            OK(MPI_Send(&(int){1}, 1, MPI_INT, 0, 3, MPI_COMM_WORLD));
        } else if (0 == test_rank) {
            (void) usleep(50000);
            for (gets = 0; 0 == word && gets < 1000; ++gets) {
                OK(MPI_Get(all, LONGS, MPI_LONG, 1, at(0), LONGS, MPI_LONG, win));
                OK(MPI_Win_flush(1, win));
            }
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            least = (0 < gets && gets < least) ? gets : least;
        }
        OK(MPI_Bcast(&least, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
    CHECK(least <= FEW, "a message was seen after %d large gets", least);
    OK(MPI_Win_unlock_all(win));
}

/* The first half is in memory. */
static void in_part(void)
{
    long got[2];

    OK(MPI_Win_lock(MPI_LOCK_SHARED, test_rank, 0, win));
    for (int i = 0; i < LONGS; ++i) {
        base[i] = i + test_rank;
    }
    OK(MPI_Win_unlock(test_rank, win));
    test_barrier();
    OK(MPI_Win_lock_all(0, win));
    for (int i = 0; i + 1 < LONGS; i += LONGS / 8 - 1) {
        get(got, i, 2, LONGS / 2 <= i);
        OK(MPI_Win_flush(target, win));
        CHECK(i + target == got[0] && i + 1 + target == got[1], "at %d: %ld %ld", i, got[0],
              got[1]);
    }
    get(got, LONGS / 2 - 1, 2, 0);
    OK(MPI_Win_unlock_all(win));
    CHECK(LONGS / 2 - 1 + target == got[0], "in both: %ld", got[0]);
}

int main(int argc, char **argv)
{
    MPI_Datatype every_other;

    storage_begin();
    test_init(&argc, &argv);
    target = (test_rank + 1) % test_size;
    origin = (test_rank + test_size - 1) % test_size;
    near = test_inner_is("ucx")
           && (0 == strcmp(argv[1], "near")
               || (0 == strcmp(argv[1], "auto") && !storage_gets_are_late()));
    OK(MPI_Type_vector(2, 1, 2, MPI_LONG, &every_other));
    OK(MPI_Type_commit(&every_other));
    for (int half = 0; half < 2; ++half) {
        OK(storage_allocate(LONGS * sizeof(long), (0 == test_rank % 2) ? sizeof(long) : 1, &base,
                            &win, "window", "storage_alloc_factor", (0 == half) ? "1" : "0.5",
                            NULL));
        OK((0 == unlink(storage_name("window"))) ? MPI_SUCCESS : MPI_ERR_FILE);
        counters_open(&c, &win);
        if (1 == half) {
            in_part();
        } else {
            base[3] = 3000 + test_rank;
            active();
            test_barrier();
            passive(every_other);
            poll();
            if (near) {
                large();
            }
        }
        counters_close(&c);
        OK(MPI_Win_free(&win));
    }
    OK(MPI_Type_free(&every_other));
    storage_end();
    return test_done();
}
