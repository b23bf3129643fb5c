/*
 * The micro-benchmark of "Transparent Caching for RMA Systems" (Di Girolamo, Vella, Hoefler; IPDPS
 * 2017, section IV-A) through MPI: N = 1000 different gets of 2^0 .. 2^16 bytes, of which Z are
 * drawn by N(N/2, N/4); storage 4 MiB, about half of all data.
 *
 *     paper [--window=allocate|create] [--rounds=N] [--case=SUFFIX] [--gets=Z] [--churn=Z]
 *
 * "start index": Z = 4000 gets from several index sizes (figure 9); hits must not depend on it.
 * "churn": Z = 100,000 gets, how full the storage stays (figure 10), for each eviction scheme.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "micro.h"

#define DIFFERENT 1000
#define CHUNK 100 /* gets between two changes from one window to the other, or two looks */
#define SEED 20170529
#define WINDOW_BYTES ((size_t) 16 << 20) /* about twice what a set of gets needs */

static struct {
    size_t offset, bytes;
} gets[DIFFERENT];
static size_t total_bytes;
static struct micro_window baseline, cached;
static unsigned char *buffer;

static double uniform(uint64_t *state) /* splitmix64 */
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (double) ((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

static int sample(uint64_t *state)
{
    for (;;) {
        double r = sqrt(-2 * log(1 - uniform(state))) * cos(2 * acos(-1) * uniform(state));
        double i = floor(DIFFERENT / 2.0 + r * DIFFERENT / 4.0);
        if (0 <= i && i < DIFFERENT) {
            return (int) i;
        }
    }
}

/* Another set, the same on both ranks. */
static void make_gets(uint64_t seed)
{
    total_bytes = 0;
    for (int i = 0; i < DIFFERENT; ++i) {
        gets[i].bytes = (size_t) 1 << (int) (uniform(&seed) * 17);
        gets[i].offset = total_bytes;
        total_bytes += (gets[i].bytes + 63) / 64 * 64;
    }
    if (total_bytes > WINDOW_BYTES) {
        fprintf(stderr, "the window is too small\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static double run_chunk_ns(struct micro_window *w, const int *sequence, long n)
{
    double start = micro_now_ns();

    for (long i = 0; i < n; ++i) {
        int bytes = (int) gets[sequence[i]].bytes;
        MPI_Get(buffer, bytes, MPI_BYTE, MICRO_TARGET, (MPI_Aint) gets[sequence[i]].offset, bytes,
                MPI_BYTE, w->win);
        MPI_Win_flush(MICRO_TARGET, w->win);
    }
    start = micro_now_ns() - start;
    for (size_t i = 0; i < gets[sequence[n - 1]].bytes; ++i) {
        if (buffer[i] != micro_byte(gets[sequence[n - 1]].offset + i)) {
            fprintf(stderr, "wrong byte %zu of get %d\n", i, sequence[n - 1]);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    return start;
}

struct result {
    double data, baseline_ms, cached_ms, hits, resizes, most_hits, storage, lowest, median_full;
};

/* Z gets; both windows in turn unless only the cached one is wanted. */
static struct result run(uint64_t seed, long z, bool both)
{
    int *sequence = malloc((size_t) z * sizeof(int));
    double *occupancy = malloc((size_t) (z / CHUNK + 1) * sizeof(double));
    bool seen[DIFFERENT] = {false};
    struct result r = {.lowest = NAN, .median_full = NAN};
    long looks = 0;

    for (long i = 0; i < z; ++i) {
        sequence[i] = sample(&seed);
        r.most_hits += seen[sequence[i]];
        seen[sequence[i]] = true;
    }
    for (long i = 0; i < z; i += CHUNK) {
        long n = z - i < CHUNK ? z - i : CHUNK;
        if (both) {
            r.baseline_ms += run_chunk_ns(&baseline, sequence + i, n) / 1e6;
        }
        r.cached_ms += run_chunk_ns(&cached, sequence + i, n) / 1e6;
        /* From when it is full for the first time. */
        if (micro_count(&cached, MICRO_CAPACITY) + micro_count(&cached, MICRO_FAILING) > 0) {
            occupancy[looks++] = 100 * micro_count(&cached, MICRO_STORAGE_USED)
                                 / micro_count(&cached, MICRO_STORAGE_CAPACITY);
        }
    }
    r.hits = micro_count(&cached, MICRO_HITS);
    r.resizes = micro_count(&cached, MICRO_RESIZES);
    r.storage = micro_count(&cached, MICRO_STORAGE_CAPACITY);
    if (looks > 0) {
        r.median_full = micro_median(occupancy, looks).median;
        r.lowest = occupancy[0];
        for (long i = 1; i < looks; ++i) {
            r.lowest = occupancy[i] < r.lowest ? occupancy[i] : r.lowest;
        }
    }
    free(occupancy);
    free(sequence);
    return r;
}

static void print(const char *what, const char *quantity, const char *unit,
                  const struct result *results, size_t field, long n)
{
    double *values = malloc((size_t) n * sizeof(double));

    for (long i = 0; i < n; ++i) {
        memcpy(&values[i], (const char *) &results[i] + field, sizeof(double));
    }
    if (!isnan(values[0])) {
        micro_print("paper", what, 0, quantity, unit, values, n);
    }
    free(values);
}

#define PRINT(quantity, unit, field) \
    print(what, quantity, unit, results, offsetof(struct result, field), rounds)

static void start_index(long entries, long rounds, long z)
{
    struct result *results = calloc((size_t) rounds, sizeof(*results));
    double *base = malloc((size_t) rounds * sizeof(double)), *mine;
    char number[32], what[64];

    mine = malloc((size_t) rounds * sizeof(double));
    snprintf(number, sizeof(number), "%ld", entries);
    snprintf(what, sizeof(what), "start index %ld%s", entries, micro_option("case", ""));
    const char *const always[] = {"ompi_osc_cached_mode",
                                  "always",
                                  "ompi_osc_cached_memory",
                                  "4194304",
                                  "ompi_osc_cached_entries",
                                  number,
                                  NULL};
    for (long i = 0; i < rounds; ++i) {
        make_gets(SEED + (uint64_t) i);
        micro_window_make(&cached, WINDOW_BYTES, always);
        MICRO_MEASURE(results[i] = run(SEED + (uint64_t) i, z, true));
        results[i].data = (double) total_bytes;
        micro_window_free(&cached);
        base[i] = results[i].baseline_ms;
        mine[i] = results[i].cached_ms;
    }
    if (MICRO_ORIGIN == micro_rank) {
        PRINT("data", "bytes", data);
        PRINT("hits", "", hits);
        PRINT("hits of an endless cache", "", most_hits);
        PRINT("resizes", "", resizes);
        PRINT("storage at the end", "bytes", storage);
        PRINT("baseline, all gets", "ms", baseline_ms);
        PRINT("cached, all gets", "ms", cached_ms);
        micro_print_ratio("paper", what, 0, "baseline/cached", base, mine, 1, 0, rounds);
    }
    free(results);
    free(base);
    free(mine);
}

static void churn(const char *scheme, long z)
{
    struct result results[1];
    long rounds = 1;
    char what[64];

    snprintf(what, sizeof(what), "churn, scheme %s%s", scheme, micro_option("case", ""));
    const char *const always[] = {"ompi_osc_cached_mode",
                                  "always",
                                  "ompi_osc_cached_memory",
                                  "4194304",
                                  "ompi_osc_cached_entries",
                                  "1500",
                                  "ompi_osc_cached_scheme",
                                  scheme,
                                  NULL};
    make_gets(SEED);
    micro_window_make(&cached, WINDOW_BYTES, always);
    MICRO_MEASURE(results[0] = run(SEED, z, false));
    micro_window_free(&cached);
    if (MICRO_ORIGIN == micro_rank) {
        PRINT("storage used, median", "%", median_full);
        PRINT("storage used, lowest", "%", lowest);
        PRINT("hits", "", hits);
        PRINT("hits of an endless cache", "", most_hits);
    }
}

int main(int argc, char **argv)
{
    static const char *const off[] = {"ompi_osc_cached_mode", "off", NULL};
    static const char *const schemes[] = {"full", "temporal", "positional"};
    static const long starts[] = {200, 400, 1000, 1500, 2000, 4000};
    long churn_gets;

    micro_init(&argc, &argv);
    churn_gets = micro_number("churn", 100000);
    buffer = micro_memory(65536);
    micro_window_make(&baseline, WINDOW_BYTES, off);
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); ++i) {
        start_index(starts[i], micro_number("rounds", 7), micro_number("gets", 4000));
    }
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]) && 0 < churn_gets; ++i) {
        churn(schemes[i], churn_gets);
    }
    micro_window_free(&baseline);
    return micro_done();
}
