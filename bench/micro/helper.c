/*
 * The helper at the target against the inner component alone: two windows of one run, one with
 * ompi_osc_cached_helper on and one with off, timed in turns.
 *
 *     helper --what=operations|away|locks|origins|idle|bandwidth|latency [--window=allocate|create]
 *            [--rounds=N] [--pin=ORIGIN,TARGET] [--x=N] [--label=TEXT]
 *
 *     operations  one operation and a flush, the target waits in MPI_Recv
 *     away        the same, the target computes 20 ms between two looks at MPI
 *     locks       MPI_Win_lock, MPI_Put, MPI_Win_unlock
 *     origins     all processes but the target at once: accumulates, and exclusive locks
 *     idle        processor time of a helper that nobody asks for anything
 *     bandwidth   only the helper: 128 KB in blocks of 64 bytes and a flush, and its requests
 *     latency     only the helper: accumulate, fetch_and_op; the target waits, then computes
 *
 * --x and --label are what results of the last two are named.
 * --pin: processes run on these processors.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* sched_setaffinity */
#include "micro.h"

#include <sched.h>
#include <unistd.h>

enum { INNER, HELPER, WAYS };

#define BYTES (2 << 20)

static struct micro_window windows[WAYS];
static double *buffer, *result;

/* An operation that is measured, on one window. */
struct operation {
    void (*call)(struct operation *o);
    struct micro_window *window;
    int count;  /* elements, or blocks */
    int block;  /* bytes of a block */
    int repeat; /* operations per flush */
    MPI_Datatype strided;
};

static void get_blocks(struct operation *o)
{
    OK(MPI_Get(buffer, o->count * o->block, MPI_BYTE, MICRO_TARGET, 0, 1, o->strided,
               o->window->win));
}

static void put_blocks(struct operation *o)
{
    OK(MPI_Put(buffer, o->count * o->block, MPI_BYTE, MICRO_TARGET, 0, 1, o->strided,
               o->window->win));
}

static void get_bytes(struct operation *o)
{
    OK(MPI_Get(buffer, o->count, MPI_BYTE, MICRO_TARGET, 0, o->count, MPI_BYTE, o->window->win));
}

static void put_bytes(struct operation *o)
{
    OK(MPI_Put(buffer, o->count, MPI_BYTE, MICRO_TARGET, 0, o->count, MPI_BYTE, o->window->win));
}

static void accumulate(struct operation *o)
{
    OK(MPI_Accumulate(buffer, o->count, MPI_DOUBLE, MICRO_TARGET, 0, o->count, MPI_DOUBLE, MPI_SUM,
                      o->window->win));
}

static void accumulate_blocks(struct operation *o)
{
    OK(MPI_Accumulate(buffer, o->count * o->block / 8, MPI_DOUBLE, MICRO_TARGET, 0, 1, o->strided,
                      MPI_SUM, o->window->win));
}

static void get_accumulate(struct operation *o)
{
    OK(MPI_Get_accumulate(buffer, o->count, MPI_DOUBLE, result, o->count, MPI_DOUBLE, MICRO_TARGET,
                          0, o->count, MPI_DOUBLE, MPI_SUM, o->window->win));
}

static void fetch_and_op(struct operation *o)
{
    static long one = 1;

    OK(MPI_Fetch_and_op(&one, result, MPI_LONG, MICRO_TARGET, 0, MPI_SUM, o->window->win));
}

static void compare_and_swap(struct operation *o)
{
    static long one = 1;

    OK(MPI_Compare_and_swap(&one, &one, result, MPI_LONG, MICRO_TARGET, 0, o->window->win));
}

static void lock_put_unlock(struct operation *o)
{
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, MICRO_TARGET, 0, o->window->win));
    OK(MPI_Put(buffer, 8, MPI_BYTE, MICRO_TARGET, 0, 8, MPI_BYTE, o->window->win));
    OK(MPI_Win_unlock(MICRO_TARGET, o->window->win));
}

static void run(void *argument, long n)
{
    struct operation *o = argument;

    for (long i = 0; i < n; ++i) {
        for (int k = 0; k < o->repeat; ++k) {
            o->call(o);
        }
        if (lock_put_unlock != o->call) {
            OK(MPI_Win_flush(MICRO_TARGET, o->window->win));
        }
    }
}

/* Which share of puts and gets the helper was given, as routing has decided by now. */
static double share_of(struct operation *o)
{
    int index = micro_find_pvar("osc_cached_helper_operations"), count;
    MPI_T_pvar_handle handle;
    unsigned long before, after;

    OK(MPI_T_pvar_handle_alloc(micro_session, index, &o->window->win, &handle, &count));
    OK(MPI_T_pvar_read(micro_session, handle, &before));
    run(o, 64);
    OK(MPI_T_pvar_read(micro_session, handle, &after));
    OK(MPI_T_pvar_handle_free(micro_session, &handle));
    return (double) (after - before) / (64.0 * o->repeat);
}

static void report(const char *what, size_t x, struct micro_subject *subject, int repeat,
                   long rounds)
{
    for (int way = 0; way < WAYS; ++way) {
        for (long i = 0; i < rounds; ++i) {
            subject[way].ns[i] /= repeat;
        }
    }
    micro_print("helper", what, x, "inner", "ns", subject[INNER].ns, rounds);
    micro_print("helper", what, x, "helper", "ns", subject[HELPER].ns, rounds);
    micro_print_ratio("helper", what, x, "inner/helper", subject[INNER].ns, subject[HELPER].ns, 1,
                      0, rounds);
}

static void measure(const char *what, size_t x, struct operation like, long batch, long rounds)
{
    struct operation o[WAYS] = {like, like};
    struct micro_subject subject[WAYS] = {{.run = run, .argument = &o[INNER], .batch = batch},
                                          {.run = run, .argument = &o[HELPER], .batch = batch}};

    for (int way = 0; way < WAYS; ++way) {
        o[way].window = &windows[way];
        o[way].repeat = like.repeat > 0 ? like.repeat : 1;
        run(&o[way], batch > 0 ? 1 : 20); /* connections, routes */
    }
    micro_interleave(subject, WAYS, rounds);
    report(what, x, subject, o[HELPER].repeat, rounds);
    if (0 == batch && MPI_DATATYPE_NULL != like.strided && accumulate_blocks != like.call) {
        micro_print_one("helper", what, x, "by the helper", "x", share_of(&o[HELPER]));
    }
    free(subject[INNER].ns);
    free(subject[HELPER].ns);
}

static MPI_Datatype strided(int blocks, int bytes, MPI_Datatype of, int size)
{
    MPI_Datatype type;

    OK(MPI_Type_vector(blocks, bytes / size, 2 * bytes / size, of, &type));
    OK(MPI_Type_commit(&type));
    return type;
}

static void measure_blocks(const char *what, void (*call)(struct operation *), int blocks,
                           int bytes, long batch, long rounds)
{
    bool sums = accumulate_blocks == call;
    struct operation o = {.call = call,
                          .count = blocks,
                          .block = bytes,
                          .strided =
                              strided(blocks, bytes, sums ? MPI_DOUBLE : MPI_BYTE, sums ? 8 : 1)};
    char name[64];

    snprintf(name, sizeof(name), "%s %d x %d", what, blocks, bytes);
    measure(name, (size_t) blocks * (size_t) bytes, o, batch, rounds);
    OK(MPI_Type_free(&o.strided));
}

static void measure_elements(const char *what, void (*call)(struct operation *), int count,
                             int repeat, long batch, long rounds)
{
    struct operation o = {
        .call = call, .count = count, .repeat = repeat, .strided = MPI_DATATYPE_NULL};
    bool bytes = get_bytes == call || put_bytes == call;

    measure(what, (size_t) count * (bytes ? 1 : 8), o, batch, rounds);
}

static void operations(long rounds)
{
    static const int sizes[][2] = {{64, 64}, {512, 8}, {512, 64}, {64, 512}, {512, 512}};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
        measure_blocks("get", get_blocks, sizes[i][0], sizes[i][1], 0, rounds);
    }
    measure_blocks("put", put_blocks, 64, 64, 0, rounds);
    measure_blocks("put", put_blocks, 512, 64, 0, rounds);
    measure_blocks("accumulate", accumulate_blocks, 512, 64, 0, rounds);
    for (int count = 1; count <= 65536; count *= 32) {
        measure_elements("accumulate", accumulate, count, 1, 0, rounds);
    }
    measure_elements("accumulate", accumulate, 65536, 1, 0, rounds);
    measure_elements("get_accumulate", get_accumulate, 64, 1, 0, rounds);
    measure_elements("fetch_and_op", fetch_and_op, 1, 1, 0, rounds);
    measure_elements("compare_and_swap", compare_and_swap, 1, 1, 0, rounds);
    measure_elements("256 accumulates per flush", accumulate, 1, 256, 0, rounds);
    measure_elements("256 fetch_and_op per flush", fetch_and_op, 1, 256, 0, rounds);
    measure_elements("inner path: get", get_bytes, 8, 1, 0, rounds);
    measure_elements("inner path: put", put_bytes, 8, 1, 0, rounds);
}

static void away(long rounds)
{
    measure_elements("away: accumulate", accumulate, 1, 1, 1, rounds);
    measure_elements("away: fetch_and_op", fetch_and_op, 1, 1, 1, rounds);
    measure_blocks("away: get", get_blocks, 512, 64, 1, rounds);
}

/* The target computes 20 ms between two looks at MPI, until it is told that all was measured. */
static void compute_until_told(void)
{
    int told = 0;

    while (!told) {
        double end = micro_now_ns() + 20e6;

        while (micro_now_ns() < end) {
        }
        OK(MPI_Iprobe(MICRO_ORIGIN, 0, MPI_COMM_WORLD, &told, MPI_STATUS_IGNORE));
    }
}

/* All processes but the target at once; times are those of all together, per operation. */
static void origins(const char *what, void (*call)(struct operation *), int repeat, long rounds)
{
    int size;
    struct micro_subject subject[WAYS];

    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    for (int way = 0; way < WAYS; ++way) {
        subject[way].ns = malloc((size_t) rounds * sizeof(double));
    }
    for (long i = -1; i < rounds; ++i) {
        for (int turn = 0; turn < WAYS; ++turn) {
            int way = (int) ((i + turn + WAYS) % WAYS);
            struct operation o = {
                .call = call, .window = &windows[way], .count = 1, .repeat = repeat};
            double start;

            OK(MPI_Barrier(MPI_COMM_WORLD));
            start = micro_now_ns();
            if (MICRO_TARGET != micro_rank) {
                run(&o, 1);
            }
            OK(MPI_Barrier(MPI_COMM_WORLD));
            if (i >= 0) {
                subject[way].ns[i] = (micro_now_ns() - start) / (size - 1);
            }
        }
    }
    if (MICRO_ORIGIN == micro_rank) {
        report(what, (size_t) size - 1, subject, repeat, rounds);
        fflush(stdout);
    }
    free(subject[INNER].ns);
    free(subject[HELPER].ns);
}

static double cpu_ns(void)
{
    int index = micro_find_pvar("osc_cached_helper_cpu_ns"), count;
    MPI_T_pvar_handle handle;
    unsigned long value;

    OK(MPI_T_pvar_handle_alloc(micro_session, index, NULL, &handle, &count));
    OK(MPI_T_pvar_reset(micro_session, handle));
    (void) sleep(5);
    OK(MPI_T_pvar_read(micro_session, handle, &value));
    OK(MPI_T_pvar_handle_free(micro_session, &handle));
    return (double) value;
}

/* How the helper alone is, with the parameters of this run. */
static void measure_alone(const char *label, const char *quantity, long x, struct operation *o,
                          long batch, long rounds)
{
    struct micro_subject subject = {.run = run, .argument = o, .batch = batch};

    o->window = &windows[HELPER];
    o->repeat = 1;
    run(o, batch > 0 ? 1 : 20);
    micro_interleave(&subject, 1, rounds);
    micro_print("helper", label, (size_t) x, quantity, "ns", subject.ns, rounds);
    free(subject.ns);
}

static unsigned long read_process(const char *name, bool reset)
{
    static MPI_T_pvar_handle handle;
    unsigned long value = 0;
    int count;

    if (reset) {
        OK(MPI_T_pvar_handle_alloc(micro_session, micro_find_pvar(name), NULL, &handle, &count));
    }
    OK(MPI_T_pvar_read(micro_session, handle, &value));
    if (!reset) {
        OK(MPI_T_pvar_handle_free(micro_session, &handle));
    }
    return value;
}

static void bandwidth(const char *label, long x, long rounds)
{
    enum { BLOCKS = 2048, BLOCK = 64, PUTS = 16 };
    struct operation o = {.call = put_blocks,
                          .count = BLOCKS,
                          .block = BLOCK,
                          .strided = strided(BLOCKS, BLOCK, MPI_BYTE, 1)};
    unsigned long before;

    measure_alone(label, "128 KB", x, &o, 0, rounds);
    before = read_process("osc_cached_helper_requests", true);
    run(&o, PUTS);
    micro_print_one("helper", label, (size_t) x, "requests", "x",
                    (double) (read_process("osc_cached_helper_requests", false) - before) / PUTS);
    OK(MPI_Type_free(&o.strided));
}

static void latency(const char *label, long batch, long rounds)
{
    struct operation sum = {.call = accumulate, .count = 1, .strided = MPI_DATATYPE_NULL};
    struct operation fetch = {.call = fetch_and_op, .count = 1, .strided = MPI_DATATYPE_NULL};

    measure_alone(label, batch > 0 ? "accumulate, target computes" : "accumulate", 8, &sum, batch,
                  rounds);
    measure_alone(label, batch > 0 ? "fetch_and_op, target computes" : "fetch_and_op", 8, &fetch,
                  batch, rounds);
}

/* Before MPI starts: the helper asks where its process may run. */
static void pin(int argc, char **argv)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    int processors[2];
    cpu_set_t set;

    for (int i = 1; i < argc && NULL != rank; ++i) {
        if (2 == sscanf(argv[i], "--pin=%d,%d", &processors[0], &processors[1])) {
            CPU_ZERO(&set);
            CPU_SET((unsigned) processors[MICRO_TARGET == atoi(rank)], &set);
            if (0 != sched_setaffinity(0, sizeof(set), &set)) {
                perror(argv[i]);
                exit(1);
            }
        }
    }
}

static void epochs(bool begin)
{
    for (int way = 0; way < WAYS; ++way) {
        OK(begin ? MPI_Win_lock_all(MPI_MODE_NOCHECK, windows[way].win)
                 : MPI_Win_unlock_all(windows[way].win));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    static const char *const info[WAYS][5] = {
        {"ompi_osc_cached_mode", "off", "ompi_osc_cached_helper", "off", NULL},
        {"ompi_osc_cached_mode", "off", "ompi_osc_cached_helper", "on", NULL}};
    const char *what;
    char label[64];
    long rounds;

    pin(argc, argv);
    micro_init_thread(&argc, &argv, MPI_THREAD_SINGLE);
    what = micro_option("what", "operations");
    rounds = micro_positive("rounds", 101);
    snprintf(label, sizeof(label), "%s", micro_option("label", what));
    for (char *c = label; '\0' != *c; ++c) { /* no blanks in words of figures */
        *c = '_' == *c ? ' ' : *c;
    }
    buffer = micro_memory(BYTES);
    result = micro_memory(BYTES);
    for (int way = 0; way < WAYS; ++way) {
        micro_window_make(&windows[way], BYTES, info[way]);
    }
    if (0 == strcmp(what, "operations")) {
        MICRO_MEASURE(operations(rounds));
    } else if (0 == strcmp(what, "away")) {
        if (MICRO_TARGET == micro_rank) {
            compute_until_told();
        }
        MICRO_MEASURE(away(rounds));
    } else if (0 == strcmp(what, "bandwidth")) {
        MICRO_MEASURE(bandwidth(label, micro_positive("x", BYTES), rounds));
    } else if (0 == strcmp(what, "latency")) {
        MICRO_MEASURE(latency(label, 0, rounds));
        if (MICRO_TARGET == micro_rank) {
            compute_until_told();
        }
        MICRO_MEASURE(latency(label, 1, rounds));
    } else if (0 == strcmp(what, "idle")) {
        MICRO_MEASURE(
            micro_print_one("helper", "idle", 0, "share of a core", "%", 100 * cpu_ns() / 5e9));
    } else if (0 == strcmp(what, "locks")) {
        epochs(false);
        MICRO_MEASURE(measure_elements("lock-put-unlock", lock_put_unlock, 1, 1, 0, rounds));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        epochs(true);
    } else {
        origins("origins: accumulate", accumulate, 64, rounds);
        origins("origins: fetch_and_op", fetch_and_op, 16, rounds);
        epochs(false);
        origins("origins: lock-put-unlock", lock_put_unlock, 16, rounds);
        epochs(true);
    }
    for (int way = WAYS - 1; way >= 0; --way) {
        micro_window_free(&windows[way]);
    }
    free(buffer);
    free(result);
    return micro_done();
}
