/* A14: what was cached does not open a door: a get without access to its target is refused as by
 * the inner component, and writes nothing if that is osc/ucx, which refuses all of them.
 *
 * test: for=osc-cached cache="mode=always helper=off" ranks=3,4 transport=shm,tcp compare=osc:inner
 *
 * Rank 0 prints the class of each call; the runner compares with a run of the inner component
 * alone, whose locks these are without a helper (with one: h15_errors).
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

enum { N = 16 };

static MPI_Win win;

/* Both calls; `allowed`: they must return these bytes, else MPI_ERR_RMA_SYNC. */
static void attempt(const char *when, int t, int allowed)
{
    MPI_Request req = MPI_REQUEST_NULL;
    static int buffers[2][N]; /* those of a fence epoch are filled at its end */
    int class, rc;

    for (int way = 0; way < 2; ++way) {
        int *got = buffers[way];

        memset(got, 0x55, sizeof(buffers[0]));
        if (0 == way) {
            rc = MPI_Get(got, N, MPI_INT, t, 0, N, MPI_INT, win);
        } else {
            rc = MPI_Rget(got, N / 2, MPI_INT, t, 0, N / 2, MPI_INT, win, &req);
        }
        MPI_Error_class(rc, &class);
        printf("%s: %s from %d: class %d\n", when, way ? "MPI_Rget" : "MPI_Get", t, class);
        if (!allowed && test_inner_is("ucx")) {
            CHECK(MPI_ERR_RMA_SYNC == class, "%s, target %d: class %d", when, t, class);
            CHECK(0x55555555 == got[0], "%s, target %d: a refused get wrote", when, t);
        }
        if (MPI_SUCCESS == rc && way) {
            OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
        }
        if (allowed > 1 && MPI_SUCCESS == rc) { /* complete: a passive epoch */
            OK(MPI_Win_flush(t, win));
            CHECK(100 * t == got[0], "%s, target %d: %d", when, t, got[0]);
        }
    }
    rc = MPI_Get(buffers[0], -1, MPI_INT, t, 0, N, MPI_INT, win);
    MPI_Error_class(rc, &class);
    printf("%s: a negative count: class %d\n", when, class);
    rc = MPI_Get(buffers[0], N, MPI_INT, t, 0, N, MPI_DATATYPE_NULL, win);
    MPI_Error_class(rc, &class);
    printf("%s: no datatype: class %d\n", when, class);
}

static int class_of(const char *when, const char *call, int rc)
{
    int class = -1;

    MPI_Error_class(rc, &class);
    printf("%s: %s: class %d\n", when, call, class);
    return class;
}

/* A hit is an access: what osc/rdma and osc/pt2pt refuse after one, they refuse after a hit. */
static void begin_after_get(const char *when)
{
    static int got[N]; /* filled at the end of the epoch */

    OK(MPI_Get(got, N, MPI_INT, 1, 0, N, MPI_INT, win));
    if (MPI_SUCCESS
        == class_of(when, "MPI_Win_lock", MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win))) {
        attempt("lock after a get", 1, 2);
        attempt("lock after a get", 2, 1);
        class_of(when, "MPI_Win_unlock", MPI_Win_unlock(1, win));
    }
}

int main(int argc, char **argv)
{
    int *base, zero = 0, one = 1;
    MPI_Group world, first, second;

    test_init(&argc, &argv);
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, 1, &zero, &first));
    OK(MPI_Group_incl(world, 1, &one, &second));
    win = test_win_make(NULL, N * sizeof(int), sizeof(int), &base);
    for (int i = 0; i < N; ++i) {
        base[i] = 100 * test_rank + i;
    }
    test_barrier();
    if (0 == test_rank) {
        OK(MPI_Win_lock_all(0, win));
        attempt("lock_all", 1, 2);
        attempt("lock_all", 2, 2);
        attempt("lock_all again", 1, 2);
        OK(MPI_Win_unlock_all(win));
        attempt("after unlock_all", 1, 0);
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
        attempt("lock of 1", 1, 2);
        attempt("lock of 1", 2, 0);
        OK(MPI_Win_unlock(1, win));
        attempt("after unlock", 1, 0);
        OK(MPI_Win_start(second, 0, win));
        attempt("start of 1", 2, 0);
        OK(MPI_Win_complete(win));
        attempt("after complete", 1, 0);
    } else if (1 == test_rank) {
        OK(MPI_Win_post(first, 0, win));
        OK(MPI_Win_wait(win));
    }
    test_barrier();
    OK(MPI_Win_fence(0, win));
    if (0 == test_rank) {
        attempt("fence", 1, 1);
    }
    OK(MPI_Win_fence(0, win));
    if (0 == test_rank) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
        attempt("lock between fences", 1, 2);
        OK(MPI_Win_unlock(1, win));
    }
    OK(MPI_Win_fence(0, win));
    if (0 == test_rank) {
        begin_after_get("fence");
    }
    test_barrier();
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    if (0 == test_rank) {
        attempt("after the last fence", 2, 0);
        OK(MPI_Win_lock_all(0, win));
        begin_after_get("lock_all");
        attempt("lock_all after a lock", 1, 1);
        class_of("lock_all", "MPI_Win_unlock_all", MPI_Win_unlock_all(win));
        attempt("after the last unlock_all", 1, 1);
    }
    test_barrier();
    OK(MPI_Win_free(&win));
    MPI_Group_free(&world);
    MPI_Group_free(&first);
    MPI_Group_free(&second);
    return test_done();
}
