/*
 * What noticing the owner's stores costs, without MPI: a store that waits for a helper thread,
 * which polls and lets it continue at once; protecting pages, one by one and many at a time; naming
 * the pages that were stored to (osc_cached_track), and what a loop over memory costs whose huge
 * pages were split.
 *
 *     stores [--rounds=N] [--pages=N] [--megabytes=N]
 *
 * x is the number of pages, or the size of the memory in MiB.  Rounds take all cases in turns.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "core.h"

#include "coherence/osc_cached_stores.h"
#include "osc_cached_track.h"

#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PRIVATE, SHARED, KINDS, SINGLE = 64, MIB = 1 << 20, HUGE = 2 * MIB };

static size_t page;
static long pages;

static struct watched {
    const char *name;
    char *memory;
    ompi_osc_cached_watch_t *stores;
    pthread_t helper;
} watched[KINDS] = {{.name = "private"}, {.name = "shared"}};

static char *map(size_t bytes, int flags)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);

    if (MAP_FAILED == memory) {
        fprintf(stderr, "stores: no memory\n");
        exit(1);
    }
    return memory;
}

/* A clock of rounds, so that nothing is stored to too often. */
static _Atomic uint64_t minutes;

static uint64_t now(void)
{
    return minutes * UINT64_C(60000000000);
}

static void trapped(void *context, size_t number)
{
    struct watched *w = context;

    ompi_osc_cached_stores_release(w->stores, number, 1);
}

static void *help(void *argument)
{
    struct watched *w = argument;
    struct pollfd polled = {.fd = ompi_osc_cached_stores_descriptor(w->stores), .events = POLLIN};

    for (;;) {
        if (0 < poll(&polled, 1, -1)) {
            ompi_osc_cached_stores_handle(w->stores);
        }
    }
    return NULL;
}

static void watch(struct watched *w, size_t bytes, int flags)
{
    ompi_osc_cached_stores_config_t config = {
        .size = bytes, .inner = true, .trapped = trapped, .context = w, .now = now};
    ompi_osc_cached_stores_reason_t reason;

    config.base = w->memory = map(bytes, flags);
    memset(w->memory, 1, bytes);
    w->stores = ompi_osc_cached_stores_open(&config, &reason);
    if (NULL == w->stores) {
        fprintf(stderr, "stores: %s\n", ompi_osc_cached_stores_text(reason));
        exit(1);
    }
    if (0 != pthread_create(&w->helper, NULL, help, w)) {
        exit(1);
    }
}

/* ns of a store to each of some pages: the mean, or the fastest: others may have the processor
 * meanwhile, the helper's too */
static double store(char *memory, long count, int fastest)
{
    double first = micro_now_ns(), least = INFINITY;

    for (long i = 0; i < count; ++i) {
        double since = fastest ? micro_now_ns() : 0;

        *(volatile char *) (memory + (size_t) i * page) += 1;
        if (fastest) {
            least = fmin(least, micro_now_ns() - since);
        }
    }
    return fastest ? least : (micro_now_ns() - first) / (double) count;
}

static void arm(struct watched *w, long first, long count)
{
    if (!ompi_osc_cached_stores_arm(w->stores, (size_t) first, (size_t) count)) {
        fprintf(stderr, "stores: cannot be armed\n");
        exit(1);
    }
}

enum { TRAP, FREE_STORE, ARM_ONE, ARM_MANY, RELEASE_MANY, STORES };

static void measure(struct watched *w, double result[STORES])
{
    double since;

    minutes += 1;
    since = micro_now_ns();
    arm(w, 0, pages);
    result[ARM_MANY] = (micro_now_ns() - since) / (double) pages;
    result[TRAP] = store(w->memory, SINGLE, 1);
    result[FREE_STORE] = store(w->memory, SINGLE, 0);
    since = micro_now_ns();
    ompi_osc_cached_stores_release(w->stores, 0, (size_t) pages);
    result[RELEASE_MANY] = (micro_now_ns() - since) / (double) pages;
    minutes += 1;
    since = micro_now_ns();
    for (long i = 0; i < SINGLE; ++i) {
        arm(w, i, 1);
    }
    result[ARM_ONE] = (micro_now_ns() - since) / SINGLE;
    ompi_osc_cached_stores_release(w->stores, 0, SINGLE);
}

static void count_pages(void *context, uint64_t from, uint64_t to)
{
    *(uint64_t *) context += (to - from) / page;
}

enum { TRACK_STORE, TRACK_CLEAN, TRACK_DIRTY, TRACKS };

/* Names pages afterwards. */
static void measure_track(ompi_osc_cached_track_t *track, double result[TRACKS])
{
    uint64_t found = 0;
    double since;

    (void) ompi_osc_cached_track_read(track, true, count_pages, &found);
    found = 0;
    since = micro_now_ns();
    if (!ompi_osc_cached_track_read(track, true, count_pages, &found) || 0 != found) {
        result[TRACK_STORE] = result[TRACK_CLEAN] = result[TRACK_DIRTY] = NAN;
        return;
    }
    result[TRACK_CLEAN] = (micro_now_ns() - since) / (double) pages;
    result[TRACK_STORE] = store(track->base, pages, 1);
    since = micro_now_ns();
    (void) ompi_osc_cached_track_read(track, true, count_pages, &found);
    result[TRACK_DIRTY] = (micro_now_ns() - since) / (double) pages;
    if ((uint64_t) pages != found) {
        fprintf(stderr, "stores: %ld pages were stored to, %llu are named\n", pages,
                (unsigned long long) found);
        exit(1);
    }
}

/* The owner's own work: ns of an addition, in order and at random. */
static double work(char *memory, size_t bytes, int at_random)
{
    uint64_t *words = (uint64_t *) memory, at = 1;
    size_t count = bytes / sizeof(*words), done = at_random ? 1 << 16 : count;
    double since = micro_now_ns();

    for (size_t i = 0; i < done; ++i) {
        at = at_random ? (at * UINT64_C(6364136223846793005) + 1442695040888963407) : i;
        words[(at_random ? at >> 24 : at) % count] += i;
    }
    return (micro_now_ns() - since) / (double) done;
}

static char *huge_pages(size_t bytes)
{
    char *memory = map(bytes + HUGE, MAP_PRIVATE);

    memory += (HUGE - (uintptr_t) memory % HUGE) % HUGE;
    (void) madvise(memory, bytes, MADV_HUGEPAGE);
    memset(memory, 1, bytes);
    return memory;
}

/* Memory whose pages were protected one by one in some order and released: huge ones are split. */
static char *split_pages(size_t bytes)
{
    char *memory = huge_pages(bytes);
    struct watched w = {.memory = memory};
    ompi_osc_cached_stores_config_t config = {
        .base = memory, .size = bytes, .trapped = trapped, .context = &w, .now = now};
    ompi_osc_cached_stores_reason_t reason;

    w.stores = ompi_osc_cached_stores_open(&config, &reason);
    for (size_t i = 0; i < bytes / page; i += 2) {
        arm(&w, (long) i, 1);
    }
    ompi_osc_cached_stores_close(w.stores);
    return memory;
}

/* Whether the kernel gave huge pages at all, MiB. */
static double huge_megabytes(void)
{
    double kilobytes = 0, more;
    char line[256];
    FILE *file = fopen("/proc/self/smaps_rollup", "r");

    while (NULL != file && NULL != fgets(line, sizeof(line), file)) {
        if (1 == sscanf(line, "AnonHugePages: %lf", &more)) {
            kilobytes += more;
        }
    }
    if (NULL != file) {
        fclose(file);
    }
    return kilobytes / 1024;
}

static void print(const char *what, size_t x, const char *quantity, const double *results,
                  int which, int of, long rounds)
{
    double *values = core_memory((size_t) rounds * sizeof(double));

    for (long i = 0; i < rounds; ++i) {
        values[i] = results[i * of + which];
    }
    if (!isnan(values[0])) {
        micro_print("stores", what, x, quantity, "ns", values, rounds);
    }
    free(values);
}

static void stores(long rounds)
{
    double *results[KINDS], *tracks = core_memory((size_t) rounds * TRACKS * sizeof(double));
    ompi_osc_cached_track_t track;

    ompi_osc_cached_track_begin(&track, map((size_t) pages * page, MAP_PRIVATE),
                                (size_t) pages * page);
    for (int k = 0; k < KINDS; ++k) {
        results[k] = core_memory((size_t) rounds * STORES * sizeof(double));
        watch(&watched[k], (size_t) pages * page, PRIVATE == k ? MAP_PRIVATE : MAP_SHARED);
        measure(&watched[k], results[k]); /* once for nothing */
    }
    for (long i = 0; i < rounds; ++i) {
        for (int k = 0; k < KINDS; ++k) {
            measure(&watched[k], results[k] + i * STORES);
        }
        measure_track(&track, tracks + i * TRACKS);
    }
    for (int k = 0; k < KINDS; ++k) {
        print(watched[k].name, 1, "store that waits, fastest of 64", results[k], TRAP, STORES,
              rounds);
        print(watched[k].name, 1, "the next store", results[k], FREE_STORE, STORES, rounds);
        print(watched[k].name, 1, "arm a page", results[k], ARM_ONE, STORES, rounds);
        print(watched[k].name, (size_t) pages, "arm many, each", results[k], ARM_MANY, STORES,
              rounds);
        print(watched[k].name, (size_t) pages, "release many, each", results[k], RELEASE_MANY,
              STORES, rounds);
    }
    print("tracked", 1, "first store, fastest", tracks, TRACK_STORE, TRACKS, rounds);
    print("tracked", (size_t) pages, "scan, none changed, each", tracks, TRACK_CLEAN, TRACKS,
          rounds);
    print("tracked", (size_t) pages, "scan, all changed, each", tracks, TRACK_DIRTY, TRACKS,
          rounds);
}

static void compute(long rounds, size_t megabytes)
{
    static const char *const names[] = {"work in order", "work at random"};
    size_t bytes = megabytes * MIB;
    char *huge = huge_pages(bytes), *split;
    double *whole = core_memory((size_t) rounds * sizeof(double));
    double *parts = core_memory((size_t) rounds * sizeof(double));

    micro_print_one("stores", "huge pages", megabytes, "before", "MiB", huge_megabytes());
    split = split_pages(bytes);
    micro_print_one("stores", "huge pages", megabytes, "with split ones", "MiB", huge_megabytes());
    for (int at_random = 0; at_random < 2; ++at_random) {
        for (long i = 0; i < rounds; ++i) {
            whole[i] = work(huge, bytes, at_random);
            parts[i] = work(split, bytes, at_random);
        }
        micro_print("stores", names[at_random], megabytes, "huge pages", "ns", whole, rounds);
        micro_print_ratio("stores", names[at_random], megabytes, "split/huge", parts, whole, 1, 0,
                          rounds);
    }
}

int main(int argc, char **argv)
{
    long rounds;

    core_arguments(argc, argv, "stores [--rounds=N] [--pages=N] [--megabytes=N]");
    rounds = micro_positive("rounds", 51);
    pages = micro_positive("pages", 4096);
    page = (size_t) sysconf(_SC_PAGESIZE);
    if (pages < SINGLE) {
        fprintf(stderr, "stores: --pages: at least %d\n", SINGLE);
        return 2;
    }
    stores(rounds);
    compute(rounds, (size_t) micro_positive("megabytes", 256));
    return 0;
}
