/*
 * What the small MPI test programs share: checks that name the line and the rank, one exit code for
 * the job.
 *
 * A program prints nothing when it passes. In the first lines of its header comment:
 *   test: for=osc ranks=2,4 transport=shm,tcp limit=60
 * (see "test/mpi/run --help" for all fields). Exit code 77, through test_skip(), means "cannot be
 * tested here".
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef OMPI_LOCALITY_TEST_H
#define OMPI_LOCALITY_TEST_H

#include <mpi.h>

#include <dlfcn.h>
#include <mpi-ext.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int test_rank = -1, test_size, test_failures;

#define CHECK(cond, ...)                                       \
    do {                                                       \
        if (!(cond)) {                                         \
            test_fail(__FILE__, __LINE__, #cond, __VA_ARGS__); \
        }                                                      \
    } while (0)

/* An MPI call that must succeed. */
#define OK(call)                                        \
    do {                                                \
        int rc_ = (call);                               \
        if (MPI_SUCCESS != rc_) {                       \
            test_fatal(__FILE__, __LINE__, #call, rc_); \
        }                                               \
    } while (0)

/* An MPI call that must fail with this error class. */
#define FAILS(call, wanted)                                                                     \
    do {                                                                                        \
        int rc_ = (call), class_ = -1;                                                          \
        MPI_Error_class(rc_, &class_);                                                          \
        CHECK((wanted) == class_, "%s: error class %d, wanted %d (" #wanted ")", #call, class_, \
              (wanted));                                                                        \
    } while (0)

__attribute__((unused, format(printf, 4, 5))) static void
test_fail(const char *file, int line, const char *what, const char *fmt, ...)
{
    va_list ap;

    /* The first few are enough: a broken byte range would print thousands. */
    if (++test_failures > 5) {
        return;
    }
    fprintf(stderr, "%s:%d: rank %d: %s: ", file, line, test_rank, what);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}

__attribute__((unused)) static void test_fatal(const char *file, int line, const char *what, int rc)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len;

    MPI_Error_string(rc, text, &len);
    fprintf(stderr, "%s:%d: rank %d: %s: %s\n", file, line, test_rank, what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

/* Errors come back as codes, on communicators, and on windows made later with test_win(). */
__attribute__((unused)) static void test_init_thread(int *argc, char ***argv, int wanted)
{
    int provided;

    MPI_Init_thread(argc, argv, wanted, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &test_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test_size);
    CHECK(provided >= wanted, "thread level %d, wanted %d", provided, wanted);
}

__attribute__((unused)) static void test_init(int *argc, char ***argv)
{
    test_init_thread(argc, argv, MPI_THREAD_SINGLE);
}

__attribute__((unused)) static void test_win(MPI_Win win)
{
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
}

/* Window of `bytes` on every rank, MPI_Win_create when `mine` is given, else MPI_Win_allocate. */
__attribute__((unused)) static MPI_Win test_win_make(void *mine, MPI_Aint bytes, int disp_unit,
                                                     void *base_out)
{
    MPI_Win win;

    if (NULL != mine) {
        OK(MPI_Win_create(mine, bytes, disp_unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        *(void **) base_out = mine;
    } else {
        OK(MPI_Win_allocate(bytes, disp_unit, MPI_INFO_NULL, MPI_COMM_WORLD, base_out, &win));
    }
    test_win(win);
    return win;
}

/* One info key of a window. */
__attribute__((unused)) static void test_set_key(MPI_Win win, const char *key, const char *value)
{
    MPI_Info info;

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, key, value));
    OK(MPI_Win_set_info(win, info));
    OK(MPI_Info_free(&info));
}

__attribute__((unused)) static void test_barrier(void)
{
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* The first rank after 0 that runs on rank 0's node. Collective. */
__attribute__((unused)) static int test_mate(void)
{
    int zero = test_rank, mate;
    MPI_Comm node;

    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Bcast(&zero, 1, MPI_INT, 0, node));
    OK(MPI_Comm_free(&node));
    mate = 0 == zero && 0 < test_rank ? test_rank : test_size;
    OK(MPI_Allreduce(MPI_IN_PLACE, &mate, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    return mate;
}

/* Collective; every rank leaves with the same exit code. */
__attribute__((unused)) static int test_done(void)
{
    int all = 0;

    OK(MPI_Allreduce(&test_failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    MPI_Finalize();
    return 0 != all;
}

/* Collective. */
__attribute__((unused)) static void test_skip(const char *why)
{
    if (0 == test_rank) {
        printf("SKIP: %s\n", why);
        fflush(stdout);
    }
    test_barrier();
    MPI_Finalize();
    exit(77);
}

/* Is this the component under osc/cached, or alone, in this run (--inner of test/mpi/run)? */
__attribute__((unused)) static int test_inner_is(const char *name)
{
    const char *inner = getenv("LOCALITY_TEST_INNER");

    return 0 == strcmp(NULL == inner ? "ucx" : inner, name);
}

/* Has osc/sm the windows of MPI_Win_allocate, where it can? */
__attribute__((unused)) static int test_takes_sm(void)
{
    const char *inner = getenv("LOCALITY_TEST_INNER");

    return NULL != inner && 0 == strncmp(inner, "sm", 2);
}

extern int MPIX_Win_cache_invalidate(MPI_Win win) __attribute__((weak));

/* Do gets from memory of MPI_Win_create come later than the end of an active epoch (osc/ucx over
 * shared memory, without our patches)? */
__attribute__((unused)) static int test_gets_are_late(void)
{
    const char *tls = getenv("UCX_TLS");

    return test_inner_is("ucx") && NULL == MPIX_Win_cache_invalidate
           && (NULL == tls || NULL == strstr(tls, "tcp"));
}

/* The same of memory of MPI_Win_allocate, as with UCX 1.18: in active epochs nothing is kept. */
__attribute__((unused)) static int test_all_gets_are_late(void)
{
    void (*get_version)(unsigned *major, unsigned *minor, unsigned *release) = NULL;
    void *library = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD), *symbol = NULL;
    unsigned major = 0, minor = 0, release = 0;

    if (NULL != library) {
        symbol = dlsym(library, "ucp_get_version");
        memcpy(&get_version, &symbol, sizeof(symbol));
    }
    if (NULL != get_version) {
        get_version(&major, &minor, &release);
    }
    return test_gets_are_late() && (1 < major || 18 <= minor);
}

/* Collective */
__attribute__((unused)) static void test_skip_if_all_gets_are_late(void)
{
    if (test_all_gets_are_late()) {
        test_skip("osc/ucx of a stock Open MPI, UCX 1.18: nothing is kept in active epochs");
    }
}

/* A UCX with assertions, and an Open MPI that uses it against the rules? See mpi_setup of
 * test/mpi/launch.sh. */
__attribute__((unused)) static int test_ucx_asserts(void)
{
    return test_inner_is("ucx") && NULL != getenv("LOCALITY_TEST_UCX_ASSERTS");
}

/* Collective */
__attribute__((unused)) static void test_needs_threads_of_ucx(void)
{
    if (test_ucx_asserts()) {
        test_skip("osc/ucx of Open MPI 5.0 shares workers of one thread, and this UCX ends the "
                  "program");
    }
}

/* Collective */
__attribute__((unused)) static void test_needs_threads_of_windows(void)
{
    test_needs_threads_of_ucx();
    if (test_inner_is("pt2pt")) {
        test_skip("osc/pt2pt has no windows with MPI_THREAD_MULTIPLE");
    }
}

/* A run without osc/cached, only to see whether its inner component survives the program. */
__attribute__((unused)) static int test_is_plain(void)
{
    return NULL != getenv("LOCALITY_TEST_PLAIN");
}

/* Release of the Open MPI that runs, not of the one compiled with: 0x0401, 0x0500, ... */
__attribute__((unused)) static int test_openmpi(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    const char *v;
    int len, major = 0, minor = 0;

    MPI_Get_library_version(text, &len);
    v = strstr(text, "Open MPI v");
    if (NULL != v) {
        sscanf(v, "Open MPI v%d.%d", &major, &minor);
    }
    return major << 8 | minor;
}

/* Does this run avoid shared memory (--transport of test/mpi/run)? */
__attribute__((unused)) static int test_over_tcp(void)
{
    const char *tls = getenv("UCX_TLS");

    return NULL != tls && NULL != strstr(tls, "tcp");
}

/* osc/rdma of 4.1 over btl/vader crashes in MPI_Compare_and_swap, without osc/cached, too. */
__attribute__((unused)) static int test_swap_crashes(void)
{
    return 0x0401 == test_openmpi() && test_inner_is("rdma");
}

/* osc/rdma of 4.1 looks for a network even where there is nobody to talk to. Collective. */
__attribute__((unused)) static void test_needs_small_windows(void)
{
    if (0x0401 == test_openmpi() && (test_inner_is("rdma") || test_inner_is("sm+rdma"))) {
        test_skip("osc/rdma of Open MPI 4.1 refuses windows of one process");
    }
}

/* Open MPI 5.0 without the fixes of ompi-patches? The last patch of the series adds the extension:
 * where it is, the fixes are. */
__attribute__((unused)) static int test_stock_5_0(void)
{
#if defined(OMPI_HAVE_MPI_EXT_CACHED)
    return 0;
#else
    return 0x0500 == test_openmpi();
#endif
}

/* Threads that end while others flush. */
__attribute__((unused)) static void test_needs_threads_that_end(void)
{
    test_needs_threads_of_windows();
    if (test_inner_is("ucx") && (test_stock_5_0() || 0x0600 == test_openmpi())) {
        test_skip("osc/ucx of a stock Open MPI crashes when one thread ends while others "
                  "flush, and waits for ever in MPI_Win_free over TCP");
    }
}

#if 6 == OMPI_MAJOR_VERSION
/* 6.0.0rc2 takes the address of a handle for that of its object, so what lies behind the variable
 * decides whether MPI_T_pvar_handle_alloc calls the object invalid. Zeros there are valid. */
__attribute__((unused)) static int test_pvar_handle_alloc(MPI_T_pvar_session session, int index,
                                                          void *object, MPI_T_pvar_handle *handle,
                                                          int *count)
{
    enum { ROOM = 16384 }; /* bytes, more than a window or a communicator has */
    void **room = (NULL == object) ? NULL : calloc(1, ROOM);

    if (NULL != room) {
        memcpy(room, object, sizeof(*room));
    }
    /* never freed: a handle may keep the address */
    return MPI_T_pvar_handle_alloc(session, index, room, handle, count);
}
#define MPI_T_pvar_handle_alloc test_pvar_handle_alloc
#endif

#endif
