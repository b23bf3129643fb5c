/* The window's counters (MPI_T performance variables osc_cached_*): exact, per window, and safe
 * after MPI_Win_free.
 *
 * test: for=osc-cached ranks=2 transport=shm limit=60
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

static MPI_T_pvar_session session;

struct counter {
    MPI_T_pvar_handle handle;
    unsigned long first;
};

static int find(const char *wanted, int *class)
{
    int n, type, verbosity, bind, readonly, continuous, atomic;
    MPI_Datatype datatype;
    MPI_T_enum enumtype;

    OK(MPI_T_pvar_get_num(&n));
    for (int i = 0; i < n; ++i) {
        char name[256], text[1024];
        int name_len = sizeof(name), text_len = sizeof(text);
        OK(MPI_T_pvar_get_info(i, name, &name_len, &verbosity, &type, &datatype, &enumtype, text,
                               &text_len, &bind, &readonly, &continuous, &atomic));
        if (0 == strcmp(name, wanted)) {
            CHECK(MPI_T_BIND_MPI_WIN == bind, "%s is bound to %d", name, bind);
            CHECK(MPI_UNSIGNED_LONG == datatype, "%s has another type", name);
            CHECK('\0' != text[0], "%s has no description", name);
            *class = type;
            return i;
        }
    }
    return -1;
}

static unsigned long value(struct counter *c)
{
    unsigned long v = ~0ul;

    OK(MPI_T_pvar_read(session, c->handle, &v));
    return v - c->first;
}

static struct counter open_counter(const char *name, MPI_Win *win)
{
    struct counter c = {MPI_T_PVAR_HANDLE_NULL, 0};
    int count = 0, class, index = find(name, &class);

    CHECK(index >= 0, "no performance variable %s", name);
    if (index < 0) {
        exit(1);
    }
    CHECK(MPI_T_PVAR_CLASS_COUNTER == class || MPI_T_PVAR_CLASS_SIZE == class, "%s has class %d",
          name, class);
    OK(MPI_T_pvar_handle_alloc(session, index, win, &c.handle, &count));
    CHECK(1 == count, "%s has %d values", name, count);
    c.first = value(&c);
    return c;
}

int main(int argc, char **argv)
{
    enum { GETS, RGETS, PUTS, ACCUMULATES, FETCHES, FENCES, LOCKS, UNLOCKS, FLUSHES, SYNCS, KINDS };
    static const char *names[KINDS] = {"gets",   "rgets", "puts",    "accumulates", "fetches",
                                       "fences", "locks", "unlocks", "flushes",     "syncs"};
    static const unsigned long wanted[KINDS] = {7, 2, 5, 2, 3, 0, 2, 2, 5, 1};
    struct counter c[2][KINDS];
    MPI_Win win[2];
    MPI_Request req;
    int *base, buf[8] = {0}, res[8] = {0}, t, provided;
    unsigned long after = 0;

    test_init(&argc, &argv);
    t = 1 - test_rank;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    for (int w = 0; w < 2; ++w) {
        win[w] = test_win_make(NULL, 64, sizeof(int), &base);
        for (int k = 0; k < KINDS; ++k) {
            char name[64];
            snprintf(name, sizeof(name), "osc_cached_%s", names[k]);
            c[w][k] = open_counter(name, &win[w]);
        }
    }
    test_barrier();

    OK(MPI_Win_lock_all(0, win[0]));
    for (int i = 0; i < 7; ++i) {
        OK(MPI_Get(&buf[i], 1, MPI_INT, t, i, 1, MPI_INT, win[0]));
    }
    OK(MPI_Get(buf, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT,
               win[0])); /* never reaches a component */
    OK(MPI_Win_flush(t, win[0]));
    OK(MPI_Win_flush_all(win[0]));
    OK(MPI_Win_flush_local(t, win[0]));
    OK(MPI_Win_flush_local_all(win[0]));
    for (int i = 0; i < 2; ++i) {
        OK(MPI_Rget(&buf[i], 1, MPI_INT, t, i, 1, MPI_INT, win[0], &req));
        OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
    }
    for (int i = 0; i < 4; ++i) {
        OK(MPI_Put(&buf[i], 1, MPI_INT, t, 8 + i, 1, MPI_INT, win[0]));
    }
    OK(MPI_Rput(&buf[4], 1, MPI_INT, t, 12, 1, MPI_INT, win[0], &req));
    OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
    OK(MPI_Win_flush(t, win[0]));
    OK(MPI_Win_sync(win[0]));
    OK(MPI_Win_unlock_all(win[0]));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, t, 0, win[0]));
    OK(MPI_Accumulate(buf, 1, MPI_INT, t, 13, 1, MPI_INT, MPI_SUM, win[0]));
    OK(MPI_Raccumulate(buf, 1, MPI_INT, t, 13, 1, MPI_INT, MPI_SUM, win[0], &req));
    OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
    OK(MPI_Get_accumulate(buf, 1, MPI_INT, res, 1, MPI_INT, t, 13, 1, MPI_INT, MPI_SUM, win[0]));
    OK(MPI_Fetch_and_op(buf, res, MPI_INT, t, 14, MPI_SUM, win[0]));
    OK(MPI_Compare_and_swap(buf, buf, res, MPI_INT, t, 15, win[0]));
    OK(MPI_Win_unlock(t, win[0]));

    for (int k = 0; k < KINDS; ++k) {
        CHECK(wanted[k] == value(&c[0][k]), "osc_cached_%s = %lu, wanted %lu", names[k],
              value(&c[0][k]), wanted[k]);
        CHECK(0 == value(&c[1][k]), "osc_cached_%s of the other window = %lu", names[k],
              value(&c[1][k]));
    }
    OK(MPI_Win_fence(0, win[1]));
    OK(MPI_Get(buf, 1, MPI_INT, t, 0, 1, MPI_INT, win[1]));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win[1]));
    CHECK(1 == value(&c[1][GETS]) && 2 == value(&c[1][FENCES]),
          "second window: %lu gets, %lu fences", value(&c[1][GETS]), value(&c[1][FENCES]));
    CHECK(wanted[GETS] == value(&c[0][GETS]), "first window: %lu gets", value(&c[0][GETS]));

    /* Handles that outlive their window: any answer, no crash. Another window may have taken its
     * place. */
    OK(MPI_Win_free(&win[0]));
    MPI_T_pvar_read(session, c[0][GETS].handle, &after);
    win[0] = test_win_make(NULL, 64, sizeof(int), &base);
    MPI_T_pvar_read(session, c[0][GETS].handle, &after);
    OK(MPI_Win_free(&win[0]));
    OK(MPI_Win_free(&win[1]));
    for (int w = 0; w < 2; ++w) {
        for (int k = 0; k < KINDS; ++k) {
            MPI_T_pvar_read(session, c[w][k].handle, &after);
            MPI_T_pvar_handle_free(session, &c[w][k].handle);
        }
    }
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    return test_done();
}
