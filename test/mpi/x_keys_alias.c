/* The mode has two names, ompi_osc_cached_mode and CLAMPI_MODE. When an info object has both, the
 * first counts, in any order, when the window is made and later; the second alone counts, too.
 *
 * test: for=osc-cached needs=cache cache="" ranks=2 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "test.h"

static MPI_Win win;
static int *base;

static void in_force(const char *wanted, const char *alias, const char *when)
{
    char value[MPI_MAX_INFO_VAL + 1] = "(none)";
    MPI_Info info;
    int flag;

    OK(MPI_Win_get_info(win, &info));
    OK(MPI_Info_get(info, "ompi_osc_cached_mode", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(flag && 0 == strcmp(value, wanted), "%s: mode is %s, wanted %s", when, value, wanted);
    /* 4.1 does not report what was ignored */
    OK(MPI_Info_get(info, "CLAMPI_MODE", MPI_MAX_INFO_VAL, value, &flag));
    CHECK((!flag && test_openmpi() < 0x0500) || (flag && 0 == strcmp(value, alias)),
          "%s: CLAMPI_MODE is %s, wanted %s", when, value, alias);
    OK(MPI_Info_free(&info));
}

/* Whether rank 0 still gets the old value after rank 1 has stored a new one. */
static int is_stale(void)
{
    static int last = 100;
    int got[2] = {-1, -1};

    OK(MPI_Win_flush_all(win)); /* a mode that changes within an epoch is at work from here on */
    for (int i = 0; i < 2; ++i) {
        if (1 == test_rank) {
            base[0] = ++last;
            OK(MPI_Win_sync(win));
        } else {
            ++last;
        }
        test_barrier();
        if (0 == test_rank) {
            OK(MPI_Get(&got[i], 1, MPI_INT, 1, 0, 1, MPI_INT, win));
            OK(MPI_Win_flush_all(win));
        }
        test_barrier();
    }
    return 0 == test_rank && got[1] != last;
}

static MPI_Info info_with(const char *const pairs[])
{
    MPI_Info info;

    OK(MPI_Info_create(&info));
    for (int i = 0; NULL != pairs[i]; i += 2) {
        OK(MPI_Info_set(info, pairs[i], pairs[i + 1]));
    }
    return info;
}

#define OWN "ompi_osc_cached_mode"
#define ALIAS "CLAMPI_MODE"

static void set(const char *const pairs[])
{
    MPI_Info info = info_with(pairs);

    OK(MPI_Win_set_info(win, info));
    OK(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    static const char *const orders[][7] = {
        {OWN, "transparent", ALIAS, "2", NULL},
        {ALIAS, "2", OWN, "transparent", NULL},
        {OWN, "transparent", "no_such_key", "1", ALIAS, "2", NULL},
    };
    MPI_Info both, copy, only;

    test_init(&argc, &argv);
    for (int k = 0; k < 3; ++k) {
        both = info_with(orders[k]);
        OK(MPI_Win_allocate(64, sizeof(int), both, MPI_COMM_WORLD, &base, &win));
        test_win(win);
        in_force("transparent", "1", "created");
        OK(MPI_Win_lock_all(0, win));
        CHECK(!is_stale(), "created, order %d", k);

        OK(MPI_Win_set_info(win, both));
        in_force("transparent", "1", "the same again");
        CHECK(!is_stale(), "the same again, order %d", k);

        /* the alias alone: it counts, whatever was set before */
        set((const char *const[]){ALIAS, "2", NULL});
        in_force("always", "2", "alias alone");
        CHECK(is_stale() || 1 == test_rank, "mode always does not cache, order %d", k);
        set((const char *const[]){OWN, "off", NULL});
        in_force("off", "0", "own key alone");
        CHECK(!is_stale(), "mode off, order %d", k);
        /* behind another key, where the own one was in an info object that has been freed */
        set((const char *const[]){"no_such_key_at_all__", "1", ALIAS, "2", NULL});
        in_force("always", "2", "alias behind another key");
        set((const char *const[]){OWN, "off", NULL});
        set((const char *const[]){ALIAS, "3", NULL});
        in_force("user", "3", "alias after own key");

        OK(MPI_Win_set_info(win, both));
        in_force("transparent", "1", "both again");
        CHECK(!is_stale(), "both again, order %d", k);

        /* a copy that lost a key says what is left in it */
        OK(MPI_Info_dup(both, &copy));
        OK(MPI_Info_dup(both, &only));
        OK(MPI_Info_delete(copy, OWN));
        OK(MPI_Info_delete(only, ALIAS));
        OK(MPI_Win_set_info(win, both));
        OK(MPI_Win_set_info(win, copy));
        in_force("always", "2", "copy with the alias");
        OK(MPI_Win_set_info(win, only));
        in_force("transparent", "1", "copy with the own key");
        OK(MPI_Win_set_info(win, both));
        in_force("transparent", "1", "both, with copies");
        OK(MPI_Info_free(&copy));
        OK(MPI_Info_free(&only));
        OK(MPI_Info_free(&both));
        OK(MPI_Win_unlock_all(win));
        OK(MPI_Win_free(&win));
    }
    return test_done();
}
