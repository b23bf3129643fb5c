/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * How well the cache's core does with one parameter or another, without MPI: every get is a lookup
 * and, when the data is not there, an insertion that is completed at once.
 *
 *     cc -std=gnu11 -O2 -Imca-osc-cached/core bench/micro/sweep.c mca-osc-cached/core/[a-z]*.c -lm
 *     sweep [--seeds=N] [start | evictions | params]...
 *
 * start      the paper's micro-benchmark (IPDPS 2017, IV-A) with adaptation, from several index
 *            sizes (figure 9)
 * evictions  fixed sizes, by scheme, number of evictions per get, and sample: how full the
 *            storage stays (figure 10), and hits
 * params     one parameter of the adaptation changed at a time
 *
 * Workloads (sizes are powers of two, their exponents uniform; 4 MiB and 28 MiB more to be had):
 *
 *     paper   4,000 of 1,000 gets of 2^0..2^16 B by N(N/2, N/4): 7.7 MB
 *     zipf    100,000 of 20,000 gets of 2^6..2^12 B, the i-th with probability ~ 1/i: 23 MB
 *     sparse  the same; no more to be had, and the index begins with 65536 slots
 *     scan    100,000 in a circle of 2,000 gets of 2^0..2^14 B: 4.4 MB
 *     stream  100,000 different gets of 2^0..2^14 B
 *     phases  200,000: 10,000 of 2,000 gets of 2^6..2^14 B (7.3 MB), then 10,000 of 500 of
 *             them, and so on; all is invalidated each time
 *     shift   100,000: half of them any of 10,000 gets of 64 B, then any of 200 of 4 KiB; in 1 MiB
 */
#include "osc_cached_cache.h"
#include "paper.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MiB (UINT64_C(1) << 20)
#define MAX_BYTES (1 << 16)
#define LARGEST(a, b) ((a) > (b) ? (a) : (b))

static int seeds = 5;
static char buffer[MAX_BYTES];

static double now_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double) t.tv_sec * 1e9 + (double) t.tv_nsec;
}

/* Workloads */

typedef enum { PAPER, ZIPF, SPARSE, SCAN, STREAM, PHASES, SHIFT, WORKLOADS } workload_t;

static const struct {
    const char *name;
    int different;
    int min_exponent, max_exponent; /* of sizes */
    long gets;
    uint32_t entries;
    uint64_t memory, more; /* bytes at the start, and that can be had */
} workloads[WORKLOADS] = {
    {"paper", 1000, 0, 16, 4000, 4096, 4 * MiB, 28 * MiB},
    {"zipf", 20000, 6, 12, 100000, 4096, 4 * MiB, 28 * MiB},
    {"sparse", 20000, 6, 12, 100000, 65536, 4 * MiB, 0},
    {"scan", 2000, 0, 14, 100000, 4096, 4 * MiB, 28 * MiB},
    {"stream", 100000, 0, 14, 100000, 4096, 4 * MiB, 28 * MiB},
    {"phases", 2000, 6, 14, 200000, 4096, 4 * MiB, 28 * MiB},
    {"shift", 10200, 6, 6, 100000, 20000, MiB, 0},
};

static int draw(workload_t workload, long i, long num_gets, uint64_t *random)
{
    int n = workloads[workload].different;
    double x;

    switch (workload) {
    case PAPER:
        return paper_draw(n, random);
    case ZIPF:
    case SPARSE:
        return (int) pow(n, paper_uniform(random)) - 1; /* density 1/i */
    case PHASES:
        return (int) (paper_uniform(random) * (0 == i / 10000 % 2 ? n : 500));
    case SHIFT:
        x = paper_uniform(random);
        return (int) (i < num_gets / 2 ? 200 + x * (n - 200) : x * 200);
    default:
        return (int) (i % n);
    }
}

/* Runs */

/* A test's memory limit. */
typedef struct {
    uint64_t left;
} budget_t;

static uint64_t available(void *budget)
{
    return ((budget_t *) budget)->left;
}

static bool reserve(void *budget, uint64_t bytes)
{
    if (bytes > ((budget_t *) budget)->left) {
        return false;
    }
    ((budget_t *) budget)->left -= bytes;
    return true;
}

static void give_back(void *budget, uint64_t bytes)
{
    ((budget_t *) budget)->left += bytes;
}

typedef struct {
    double hits;    /* number */
    double least;   /* hits, of all seeds */
    double bytes;   /* share of the bytes that hits had */
    double resizes; /* number */
    double evicted; /* per get */
    double q;       /* occupied of visited positions */
    double hit_ns;  /* median, with the copy */
    double miss_ns; /* median, without it */
    double cpu_ns;  /* of the processor, per get, with all copies, resizes, and the benchmark */
    double full;    /* mean share of the storage, since the first get without room */
    double lowest;  /* of the same */
    double mib;     /* mean size of the storage */
    double slots;   /* at the end */
    double access[OSC_CACHED_ACCESSES];
} result_t;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

static double median(double *values, long n)
{
    if (0 == n) {
        return 0;
    }
    qsort(values, (size_t) n, sizeof(values[0]), by_value);
    return values[n / 2];
}

/* Sizes 0: those of the workload. */
static osc_cached_config_t default_config(void)
{
    osc_cached_config_t config = {
        .evictions = 1,
        .sample = 16,
        .scheme = OSC_CACHED_SCHEME_FULL,
        .adaptive = true,
        .adapt = osc_cached_adapt_defaults,
    };

    return config;
}

static void run_once(workload_t workload, long num_gets, const osc_cached_config_t *wanted,
                     uint64_t seed, result_t *result)
{
    int different = workloads[workload].different;
    int exponents = workloads[workload].max_exponent - workloads[workload].min_exponent + 1;
    size_t *bytes = malloc((size_t) different * sizeof(bytes[0]));
    double *hit_ns = malloc((size_t) num_gets * sizeof(double));
    double *miss_ns = malloc((size_t) num_gets * sizeof(double));
    long hits = 0, misses = 0, full_gets = 0;
    uint64_t random = seed, visited = 0, occupied = 0;
    budget_t budget = {1024 * MiB};
    osc_cached_config_t config = *wanted;
    osc_cached_target_t target = {0};
    osc_cached_buffer_t to = {.address = buffer};
    osc_cached_cache_t cache;
    bool filled = false;
    double all_bytes = 0, cpu;

    for (int i = 0; i < different; ++i) {
        bytes[i] = (size_t) 1 << (workloads[workload].min_exponent
                                  + (int) (paper_uniform(&random) * exponents));
        bytes[i] = (SHIFT == workload && i < 200) ? 4096 : bytes[i];
    }
    config.seed = seed;
    config.entries = (0 == config.entries) ? workloads[workload].entries : config.entries;
    config.memory = workloads[workload].memory;
    config.budget = (osc_cached_budget_t){available, reserve, give_back, &budget};
    if (OSC_CACHED_OK != osc_cached_cache_create(&cache, &config, NULL)
        || OSC_CACHED_OK != osc_cached_cache_open(&cache)) {
        fprintf(stderr, "sweep: cannot make a cache\n");
        exit(1);
    }
    budget.left = workloads[workload].more;
    memset(result, 0, sizeof(*result));
    cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    result->lowest = 1;
    for (long i = 0; i < num_gets; ++i) {
        int get = draw(workload, i, num_gets, &random);
        osc_cached_key_t key = {.address = (uint64_t) get * MAX_BYTES, .target = 0};
        uint64_t seen_before = cache.interval.visited, entries_before = cache.interval.occupied;
        osc_cached_access_t access;
        double start, end, full;
        uint64_t hash;
        size_t have;

        if (PHASES == workload && 0 == i % 10000) {
            osc_cached_cache_invalidate(&cache);
        }
        start = now_ns(CLOCK_MONOTONIC);
        hash = osc_cached_index_hash(&cache.index, key);
        access = osc_cached_cache_get(&cache, &target, key, hash, &to, bytes[get], (uint64_t) i + 1,
                                      &have);
        if (OSC_CACHED_MISSING == access) {
            access = osc_cached_cache_insert(&cache, &target, key, hash, &to, bytes[get],
                                             osc_cached_cache_stamp(&cache, &target),
                                             (uint64_t) i + 1, NULL);
            end = now_ns(CLOCK_MONOTONIC);
            osc_cached_cache_complete(&cache, &target, (uint64_t) i + 1);
            miss_ns[misses++] = end - start;
        } else {
            end = now_ns(CLOCK_MONOTONIC);
            hit_ns[hits++] = end - start;
            result->bytes += (double) bytes[get];
            osc_cached_cache_look(&cache);
        }
        ++result->access[access];
        all_bytes += (double) bytes[get];
        if (cache.interval.visited > seen_before) { /* lost when an interval ends here */
            visited += cache.interval.visited - seen_before;
            occupied += cache.interval.occupied - entries_before;
        }
        filled = filled || OSC_CACHED_CAPACITY == access || OSC_CACHED_FAILING == access;
        full = (double) osc_cached_storage_used_bytes(&cache.storage)
               / (double) osc_cached_storage_capacity(&cache.storage);
        if (filled) {
            ++full_gets;
            result->full += full;
            result->lowest = fmin(result->lowest, full);
        }
        result->mib += (double) osc_cached_storage_capacity(&cache.storage) / MiB;
    }
    result->cpu_ns = (now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (double) num_gets;
    result->hits = result->access[OSC_CACHED_HIT];
    result->bytes /= all_bytes;
    result->resizes = (double) cache.resizes;
    result->evicted = (double) cache.evictions / (double) num_gets;
    result->q = (double) occupied / (double) LARGEST(visited, 1);
    result->hit_ns = median(hit_ns, hits);
    result->miss_ns = median(miss_ns, misses);
    result->full /= (double) LARGEST(full_gets, 1);
    result->mib /= (double) num_gets;
    result->slots = osc_cached_index_num_slots(&cache.index);
    if (0 != osc_cached_cache_verify(&cache, &target, 1)) {
        fprintf(stderr, "sweep: the cache is broken\n");
        exit(1);
    }
    osc_cached_cache_destroy(&cache);
    free(bytes);
    free(hit_ns);
    free(miss_ns);
}

/* Means over all seeds, but the least hits, the lowest of lowest, and medians of times: others work
 * here, too. */
static result_t run(workload_t workload, long num_gets, const osc_cached_config_t *config)
{
    result_t sum, *all = malloc((size_t) seeds * sizeof(all[0]));
    double *times = malloc((size_t) seeds * sizeof(double)), *to = (double *) &sum;

    memset(&sum, 0, sizeof(sum));
    for (int k = 0; k < seeds; ++k) {
        const double *from = (const double *) &all[k];

        run_once(workload, (0 == num_gets) ? workloads[workload].gets : num_gets, config,
                 (uint64_t) k + 1, &all[k]);
        for (size_t i = 0; i < sizeof(sum) / sizeof(double); ++i) {
            to[i] += from[i] / seeds;
        }
    }
    sum.lowest = 1;
    sum.least = INFINITY;
    for (int k = 0; k < seeds; ++k) {
        sum.lowest = fmin(sum.lowest, all[k].lowest);
        sum.least = fmin(sum.least, all[k].hits);
        times[k] = all[k].cpu_ns;
    }
    sum.cpu_ns = median(times, seeds);
    free(all);
    free(times);
    return sum;
}

/* Tables */

static void start(void)
{
    static const uint32_t entries[] = {200, 400, 1000, 1500, 2000, 4000};
    osc_cached_config_t config = default_config();

    printf("paper's micro-benchmark, 4000 gets, by the index at the start\n");
    printf("%8s %8s %6s %6s %6s %6s %6s %6s %6s %6s %7s %5s %7s %7s %8s\n", "adaptive", "entries",
           "hits", "least", "direct", "confl", "capac", "fail", "resize", "slots", "MiB avg", "q",
           "hit ns", "miss ns", "cpu ns");
    for (int adaptive = 1; adaptive >= 0; --adaptive) {
        for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); ++i) {
            result_t r;

            config.adaptive = adaptive;
            config.entries = entries[i];
            r = run(PAPER, 0, &config);
            printf("%8s %8u %6.0f %6.0f %6.0f %6.0f %6.0f %6.0f %6.1f %6.0f %7.1f %5.2f %7.0f "
                   "%7.0f %8.0f\n",
                   adaptive ? "yes" : "no", entries[i], r.hits, r.least,
                   r.access[OSC_CACHED_DIRECT], r.access[OSC_CACHED_CONFLICTING],
                   r.access[OSC_CACHED_CAPACITY], r.access[OSC_CACHED_FAILING], r.resizes, r.slots,
                   r.mib, r.q, r.hit_ns, r.miss_ns, r.cpu_ns);
        }
    }
}

/* Without adaptation: the paper's churn, zipf, shift. */
static void print_fixed(const osc_cached_config_t *wanted)
{
    static const char *const schemes[] = {"full", "temporal", "positional"};
    osc_cached_config_t config = *wanted;
    result_t churn, zipf, shift;

    config.adaptive = false;
    config.entries = 1500;
    churn = run(PAPER, 100000, &config);
    config.entries = 0;
    zipf = run(ZIPF, 0, &config);
    shift = run(SHIFT, 0, &config);
    printf("%-10s %6u %9u %6.2f %7.2f %6.2f %6.2f %6.2f %6.3f %5.2f %5.0f %5.0f %8.2f %7.2f %5.0f "
           "%8.2f\n",
           schemes[config.scheme], config.sample, config.evictions, churn.hits / 1000,
           churn.bytes * 100, churn.access[OSC_CACHED_FAILING] / 1000, churn.full * 100,
           churn.lowest * 100, churn.evicted, churn.q, churn.miss_ns, churn.cpu_ns,
           zipf.hits / 1000, zipf.bytes * 100, zipf.cpu_ns, shift.hits / 1000);
    fflush(stdout);
}

static void evictions(void)
{
    static const uint32_t most[] = {1, 2, 3, 4, 6, 8, 16, 64};
    static const uint32_t samples[] = {1, 2, 4, 8, 32, 64, 128};
    osc_cached_config_t config = default_config();

    printf("\nno adaptation, by the most evictions per get and by the sample\n");
    printf("%-27s %-61s  %-22s %8s\n", "", "churn: the paper's, 100,000 gets, 1500 entries", "zipf",
           "shift");
    printf("%-10s %6s %9s %6s %7s %6s %6s %6s %6s %5s %5s %5s %8s %7s %5s %8s\n", "scheme",
           "sample", "evictions", "hits %", "bytes %", "fail %", "full %", "lowest", "evict", "q",
           "miss", "cpu", "hits %", "bytes %", "cpu", "hits %");
    for (int scheme = 0; scheme < 3; ++scheme) {
        for (size_t i = 0; i < sizeof(most) / sizeof(most[0]); ++i) {
            config.scheme = (osc_cached_scheme_t) scheme;
            config.evictions = most[i];
            print_fixed(&config);
        }
    }
    config = default_config();
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); ++i) {
        config.sample = samples[i];
        print_fixed(&config);
    }
}

#define FIELD(name, ...)                                  \
    {                                                     \
        offsetof(osc_cached_adapt_params_t, name), #name, \
        {                                                 \
            __VA_ARGS__                                   \
        }                                                 \
    }
static const struct {
    size_t offset;
    const char *name;
    double values[7];
} fields[] = {
    FIELD(interval, 32, 64, 128, 256, 512, 1024, 4096),
    FIELD(conflict_threshold, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2),
    FIELD(index_increase, 1.1, 1.25, 1.5, 2, 3, 4, 8),
    FIELD(index_decrease, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9),
    FIELD(sparsity, 0.02, 0.05, 0.1, 0.2, 0.25, 0.3, 0.375),
    FIELD(capacity_threshold, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2),
    FIELD(memory_increase, 1.1, 1.25, 1.5, 2, 3, 4, 8),
    FIELD(memory_decrease, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9),
    FIELD(stable_threshold, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99),
    FIELD(free_threshold, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95),
};

static void print_params(const char *name, double value, const osc_cached_config_t *config)
{
    printf("%-18s %6g", name, value);
    for (int w = -1; w < SHIFT; ++w) { /* the paper's twice: from a small and a large index */
        osc_cached_config_t changed = *config;
        result_t r;

        changed.entries = (-1 == w) ? 200 : 0;
        r = run((-1 == w) ? PAPER : (workload_t) w, 0, &changed);
        printf("  %5.2f %3.0f %4.1f %5.0f", r.hits * 100 / (double) workloads[w < 0 ? 0 : w].gets,
               r.resizes, r.mib, r.cpu_ns);
    }
    printf("\n");
    fflush(stdout);
}

static void params(void)
{
    osc_cached_config_t config = default_config();

    printf("\none parameter changed; hits (%%), resizes, mean MiB of storage, "
           "cpu ns per get\n");
    printf("%-25s", "");
    for (int w = -1; w < SHIFT; ++w) {
        printf("  %-20s", (w < 0) ? "paper from 200" : workloads[w].name);
    }
    printf("\n");
    print_params("defaults", 0, &config);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); ++i) {
        for (size_t k = 0; k < sizeof(fields[i].values) / sizeof(double); ++k) {
            osc_cached_config_t changed = config;
            void *field = (char *) &changed.adapt + fields[i].offset;

            if (0 == i) {
                *(uint32_t *) field = (uint32_t) fields[i].values[k];
            } else {
                *(double *) field = fields[i].values[k];
            }
            print_params(fields[i].name, fields[i].values[k], &changed);
        }
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } tables[] = {{"start", start}, {"evictions", evictions}, {"params", params}};
    bool all = true;

    for (int i = 1; i < argc; ++i) {
        if (0 == strncmp(argv[i], "--seeds=", 8) && 0 < atoi(argv[i] + 8)) {
            seeds = atoi(argv[i] + 8);
        } else if (0 != strcmp(argv[i], "start") && 0 != strcmp(argv[i], "evictions")
                   && 0 != strcmp(argv[i], "params")) {
            fprintf(stderr, "usage: sweep [--seeds=N] [start | evictions | params]...\n");
            return 2;
        } else {
            all = false;
        }
    }
    for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); ++t) {
        bool chosen = all;

        for (int i = 1; i < argc; ++i) {
            chosen = chosen || 0 == strcmp(argv[i], tables[t].name);
        }
        if (chosen) {
            tables[t].print();
        }
    }
    return 0;
}
