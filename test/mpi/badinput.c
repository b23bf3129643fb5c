/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For test/mpi/badinput: gets, again and again, in all kinds of epochs, with whatever parameters
 * and info keys ("badinput KEY VALUE"...) it is given. The keys are set when a window is made and
 * once more when it has been used. Rank 0 prints what is in force then, and "fine" when all bytes
 * were right.
 */
#include "test.h"

enum { N = 4000 };

static void check(const int *got, int t, int from, int n, int stamp)
{
    for (int i = 0; i < n; ++i) {
        CHECK(stamp + 10000 * t + from + i == got[i], "target %d: [%d] = %d", t, from + i, got[i]);
    }
}

static void use(MPI_Win win, int *base, int stamp)
{
    static int got[300];
    int t = (test_rank + 1) % test_size;

    for (int i = 0; i < N; ++i) {
        base[i] = stamp + 10000 * test_rank + i;
    }
    OK(MPI_Win_fence(0, win));
    for (int pass = 0; pass < 3; ++pass) {
        OK(MPI_Get(got, 100, MPI_INT, t, 50, 100, MPI_INT, win));
        OK(MPI_Get(got + 100, 200, MPI_INT, t, 50, 200, MPI_INT, win));
        OK(MPI_Win_fence(2 == pass ? MPI_MODE_NOSUCCEED : 0, win));
        check(got, t, 50, 100, stamp);
        check(got + 100, t, 50, 200, stamp);
    }
    OK(MPI_Win_lock_all(0, win));
    for (int k = 0; k < 600; ++k) {
        int from = (k * 37) % (N - 300), n = 1 + (k * 13) % 299;

        OK(MPI_Get(got, n, MPI_INT, t, from, n, MPI_INT, win));
        OK(MPI_Win_flush(t, win));
        check(got, t, from, n, stamp);
    }
    OK(MPI_Win_unlock_all(win));
    test_barrier();
}

int main(int argc, char **argv)
{
    MPI_Info info, used;
    MPI_Win win;
    int *base, flag;

    test_init(&argc, &argv);
    OK(MPI_Info_create(&info));
    for (int i = 1; i + 1 < argc; i += 2) {
        OK(MPI_Info_set(info, argv[i], argv[i + 1]));
    }
    OK(MPI_Win_allocate(N * sizeof(int), sizeof(int), info, MPI_COMM_WORLD, &base, &win));
    test_win(win);
    use(win, base, 0);
    if (argc > 1) {
        OK(MPI_Win_set_info(win, info));
        OK(MPI_Win_get_info(win, &used));
        for (int i = 1; 0 == test_rank && i + 1 < argc; i += 2) {
            char value[MPI_MAX_INFO_VAL + 1] = "";
            OK(MPI_Info_get(used, argv[i], MPI_MAX_INFO_VAL, value, &flag));
            printf("%s=%s\n", argv[i], value);
        }
        OK(MPI_Info_free(&used));
        for (int r = 0; r < 2;
             ++r) { /* the bytes stay as they are: modes always and user are legal */
            use(win, base, 0);
        }
    }
    OK(MPI_Info_free(&info));
    OK(MPI_Win_free(&win));
    if (0 == test_rank && 0 == test_failures) {
        printf("fine\n");
    }
    return test_done();
}
