/*
 * What a cache could make expensive beside gets: windows that live for one get, many windows, long
 * epochs in which nothing comes again, and others after them in which the same words do, several
 * threads, and many gets of the same bytes in one epoch.  For runs with and without
 * `--mca osc cached`: see bench/flag.
 *
 *     limits [--window=allocate|create] [--rounds=N] [--threads=yes]
 *
 * The hits of several threads are measured with --threads=yes alone, as MPI is initialized in
 * another way for them.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "micro.h"

#include <pthread.h>

static const char *const always[] = {"ompi_osc_cached_mode", "always", NULL};
static const char *const nothing[] = {NULL};

/* MPI_Win_create, two fences with a get between them, MPI_Win_free: ns per window. */
static void short_windows(long rounds)
{
    enum { WINDOWS = 20 };
    double memory[1024], word, *ns = malloc((size_t) rounds * sizeof(double));

    for (long round = -1; round < rounds; ++round) { /* the first one warms up */
        double start = micro_now_ns();
        for (int i = 0; i < WINDOWS; ++i) {
            MPI_Win win;
            OK(MPI_Win_create(memory, sizeof(memory), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD,
                              &win));
            OK(MPI_Win_fence(0, win));
            OK(MPI_Get(&word, 1, MPI_DOUBLE, 1 - micro_rank, 0, 1, MPI_DOUBLE, win));
            OK(MPI_Win_fence(0, win));
            OK(MPI_Win_free(&win));
        }
        if (0 <= round) {
            ns[round] = (micro_now_ns() - start) / WINDOWS;
        }
    }
    if (MICRO_ORIGIN == micro_rank) {
        micro_print("limits", "short-lived window", 1, "time", "ns", ns, rounds);
    }
    free(ns);
}

static void time_hits(struct micro_window *window, unsigned char *buffer, size_t others,
                      long rounds)
{
    struct micro_gets gets = {window, buffer, 8, 8, 64, 1, 0};
    struct micro_subject subject = {micro_get_flush, &gets, 0, NULL};

    micro_interleave(&subject, 1, rounds);
    micro_check(&gets);
    micro_print("limits", "hit beside windows", others, "time", "ns", subject.ns, rounds);
    free(subject.ns);
}

/* The buffer of the gets lies below the memory of all other windows. */
static void many_windows(long rounds)
{
    enum { MOST = 1000, APART = 64, BEHIND = 1 << 20 };
    unsigned char *memory = micro_memory(BEHIND + MOST * APART);
    struct micro_window window;
    MPI_Win others[MOST];

    micro_window_make(&window, 4096, always);
    MICRO_MEASURE(time_hits(&window, memory, 0, rounds));
    for (int i = 0; i < MOST; ++i) {
        OK(MPI_Win_create(memory + BEHIND + i * APART, APART, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                          &others[i]));
    }
    MICRO_MEASURE(time_hits(&window, memory, MOST, rounds));
    for (int i = 0; i < MOST; ++i) {
        OK(MPI_Win_free(&others[i]));
    }
    micro_window_free(&window);
    free(memory);
}

/* A window between fences, of the words 0, 1, 2, ... */
static void make_words(size_t words, struct micro_window *window)
{
    double *values;

    micro_window_make(window, words * sizeof(double), nothing);
    values = (double *) window->base;
    for (size_t i = 0; MICRO_TARGET == micro_rank && i < words; ++i) {
        values[i] = (double) i;
    }
    OK(MPI_Win_unlock_all(window->win));
    OK(MPI_Win_fence(0, window->win));
}

static void free_words(struct micro_window *window)
{
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window->win));
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, window->win)); /* micro_window_free ends it */
    micro_window_free(window);
}

/* An epoch with gets of random words; the time of both fences is in it. @return ns per get */
static double epoch(MPI_Win win, double *buffer, long gets, size_t words)
{
    static uint32_t random = 12345;
    uint32_t first = random;
    double start = micro_now_ns();

    for (long i = 0; MICRO_ORIGIN == micro_rank && i < gets; ++i) {
        random = random * 1103515245 + 12345;
        MPI_Get(buffer + i, 1, MPI_DOUBLE, MICRO_TARGET,
                (MPI_Aint) ((random >> 8) % words * sizeof(double)), 1, MPI_DOUBLE, win);
    }
    OK(MPI_Win_fence(0, win));
    start = micro_now_ns() - start;
    for (long i = 0; MICRO_ORIGIN == micro_rank && i < gets; ++i) {
        first = first * 1103515245 + 12345;
        if (buffer[i] != (double) ((first >> 8) % words)) {
            fprintf(stderr, "wrong word: get %ld of an epoch\n", i);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    return start / (double) gets;
}

/* After the first 10,000 gets. */
static void time_epochs(MPI_Win win, const char *what, long gets, size_t words, long rounds)
{
    double *ns = malloc((size_t) rounds * sizeof(double));
    double *buffer = micro_memory((size_t) gets * sizeof(double));

    for (long done = 0; done < 10000; done += gets) {
        (void) epoch(win, buffer, gets, words);
    }
    for (long round = 0; round < rounds; ++round) {
        ns[round] = epoch(win, buffer, gets, words);
    }
    if (MICRO_ORIGIN == micro_rank) {
        micro_print("limits", what, (size_t) gets, "time", "ns", ns, rounds);
    }
    free(buffer);
    free(ns);
}

/* And then with the same few words in each epoch. */
static void without_reuse(long gets, long rounds)
{
    enum { WORDS = 1 << 20, FEW = 16 };
    struct micro_window window;

    make_words(WORDS, &window);
    time_epochs(window.win, "epoch without reuse, gets", gets, WORDS, rounds);
    time_epochs(window.win, "epoch, reuse is back, gets", gets, FEW, rounds);
    free_words(&window);
}

/* KiB, of /proc/self/status */
static double most_memory(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    double most = 0;

    while (NULL != file && NULL != fgets(line, sizeof(line), file)) {
        (void) sscanf(line, "VmHWM: %lf", &most);
    }
    if (NULL != file) {
        fclose(file);
    }
    return most;
}

/* A million gets of a thousand words in one epoch: those of a word that is on its way join it. */
static void joins(void)
{
    enum { GETS = 1000000, WORDS = 1000, EPOCHS = 5 };
    double ns[EPOCHS], memory, *buffer = micro_memory(GETS * sizeof(double));
    struct micro_window window;

    make_words(WORDS, &window);
    memory = most_memory();
    for (int i = 0; i < EPOCHS; ++i) {
        ns[i] = epoch(window.win, buffer, GETS, WORDS);
    }
    memory = most_memory() - memory;
    if (MICRO_ORIGIN == micro_rank) {
        micro_print("limits", "the same words in one epoch", GETS, "time", "ns", ns, EPOCHS);
        /* at least 1, as numbers of both runs are divided */
        micro_print_one("limits", "memory of that, KiB", GETS, "memory", "KiB",
                        memory < 1 ? 1 : memory);
    }
    free_words(&window);
    free(buffer);
}

/* --- Several threads */

static pthread_barrier_t both;

struct worker {
    struct micro_gets gets;
    double *ns;
    long rounds;
};

static void *work(void *argument)
{
    enum { GETS = 2000 };
    struct worker *me = argument;

    micro_get_flush(&me->gets, GETS);
    for (long round = 0; round < me->rounds; ++round) {
        (void) pthread_barrier_wait(&both);
        double start = micro_now_ns();
        micro_get_flush(&me->gets, GETS);
        me->ns[round] = (micro_now_ns() - start) / GETS;
    }
    return NULL;
}

/* ns that a hit takes in one of them; all read the same words.
 *
 * @param[out] throughput  hits per ns of all threads, by round
 */
static void thread_hits(struct micro_window *window, int count, long rounds, double *throughput)
{
    struct worker workers[2];
    pthread_t threads[2];

    pthread_barrier_init(&both, NULL, (unsigned) count);
    for (int i = 0; i < count; ++i) {
        workers[i].gets = (struct micro_gets){window, micro_memory(4096), 8, 8, 64, 1, 0};
        workers[i].ns = malloc((size_t) rounds * sizeof(double));
        workers[i].rounds = rounds;
        if (0 != pthread_create(&threads[i], NULL, work, &workers[i])) {
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    for (int i = 0; i < count; ++i) {
        pthread_join(threads[i], NULL);
        micro_check(&workers[i].gets);
    }
    micro_print("limits", "hit, threads", (size_t) count, "time", "ns", workers[0].ns, rounds);
    for (long round = 0; round < rounds; ++round) {
        throughput[round] = 0;
        for (int i = 0; i < count; ++i) {
            throughput[round] += 1 / workers[i].ns[round];
        }
    }
    for (int i = 0; i < count; ++i) {
        free(workers[i].gets.buffer);
        free(workers[i].ns);
    }
    pthread_barrier_destroy(&both);
}

int main(int argc, char **argv)
{
    bool threads = false;
    long rounds;

    for (int i = 1; i < argc; ++i) {
        threads = threads || 0 == strcmp(argv[i], "--threads=yes");
    }
    if (threads) {
        static struct micro_window window;
        double *throughput[2];

        micro_init_thread(&argc, &argv, MPI_THREAD_MULTIPLE);
        rounds = micro_number("rounds", 51);
        micro_window_make(&window, 4096, always);
        for (int i = 0; i < 2; ++i) {
            throughput[i] = malloc((size_t) rounds * sizeof(double));
            MICRO_MEASURE(thread_hits(&window, i + 1, rounds, throughput[i]));
        }
        MICRO_MEASURE(micro_print_ratio("limits", "throughput over one thread, threads", 2, "ratio",
                                        throughput[1], throughput[0], 1, 0, rounds));
        free(throughput[0]);
        free(throughput[1]);
        micro_window_free(&window);
        return micro_done();
    }
    micro_init(&argc, &argv);
    rounds = micro_number("rounds", 51);
    short_windows(rounds);
    many_windows(rounds);
    without_reuse(100, rounds);
    without_reuse(10000, rounds);
    joins();
    return micro_done();
}
