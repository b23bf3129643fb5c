/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Hits of our victim schemes beside what can be had at all with the same storage, offline, on the
 * core alone (core.h): for the paper's micro-benchmark (paper.h), or for the gets of a trace that
 * osc_cached_trace wrote.
 *
 *     belady [--gets=Z] [--trace=FILE] [--trace-window=N]
 *
 * --trace-window: of the windows in the trace; otherwise the one with the most bytes.  Gets of a
 * process from itself are left out (FILE ends in a dot and the rank): they are not cached.
 *
 * x is the storage in percent of the working set, which is all different data in whole lines.  The
 * index has room for all.  Cases:
 *
 *     duel, full, temporal, positional  our schemes, sizes fixed
 *     LRU             exact; the least recently used ones leave until there is room
 *     Belady          what is asked for again last leaves until there is room, or is not kept;
 *                     the optimum when all data has the same size, and not with several sizes
 *     Belady by size  the same by size times distance, the largest of 256; also not the optimum,
 *                     which is NP-hard
 *     upper bound     no policy has more hits: a hit takes its size in storage from the get before
 *                     to this one; the smallest of these areas that fit into storage times gets
 *                     (PFOO-L of Berger, Beckmann, Harchol-Balter, SIGMETRICS 2018)
 *     endless         nothing ever leaves
 *
 * LRU and Belady pack perfectly: they know no holes.
 */
#include "core.h"
#include "paper.h"

#include <errno.h>
#include <inttypes.h>

#define LINE 64
#define SAMPLE 256
#define WINDOWS 1024 /* that a trace may have */

struct get {
    uint64_t address; /* with the target's number above */
    uint32_t bytes;
    uint32_t datum; /* number of the different data */
    long next;      /* get of the same datum, or the number of gets */
};

static struct get *gets;
static long num_gets;
static uint32_t num_data;
static uint64_t working_set; /* lines */
static char *buffer;
static const char *benchmark = "belady-paper";

static uint64_t lines(uint64_t bytes)
{
    return (bytes + LINE - 1) / LINE;
}

static _Noreturn void die(const char *what, const char *detail)
{
    fprintf(stderr, "%s: %s: %s\n", micro_argv[0], what, detail);
    exit(2);
}

/* Input */

static void add_get(uint64_t address, uint64_t bytes)
{
    static long room;

    if (room == num_gets) {
        room = 0 == room ? 65536 : 2 * room;
        gets = realloc(gets, (size_t) room * sizeof(gets[0]));
        if (NULL == gets) {
            die("gets", "no memory");
        }
    }
    gets[num_gets++] = (struct get){.address = address, .bytes = (uint32_t) bytes};
}

static void read_paper(long z)
{
    static struct paper_get set[PAPER_DIFFERENT];
    int *sequence = core_memory((size_t) z * sizeof(int));

    (void) paper_gets(set, PAPER_SEED);
    paper_sequence(sequence, z, PAPER_SEED);
    for (long i = 0; i < z; ++i) {
        add_get(set[sequence[i]].offset, set[sequence[i]].bytes);
    }
    free(sequence);
}

/* The gets of one window. @return the window of which the most bytes are read */
static long read_trace(FILE *file, const char *name, long window)
{
    const char *dot = strrchr(name, '.');
    long self = NULL == dot ? -1 : strtol(dot + 1, NULL, 10), most = 0;
    uint64_t read[WINDOWS] = {0};
    char line[256];

    if (NULL == fgets(line, sizeof(line), file) || 0 != strcmp(line, "# osc_cached trace 1\n")) {
        die(name, "not a trace of osc/cached");
    }
    while (NULL != fgets(line, sizeof(line), file)) {
        uint64_t address, bytes;
        long w, target;

        if ('#' == line[0]) {
            continue;
        }
        if (4 != sscanf(line, "%*u %ld %ld %" SCNu64 " %" SCNu64, &w, &target, &address, &bytes)
            || w < 0 || WINDOWS <= w || UINT32_MAX < bytes) {
            die(name, line);
        }
        if (self != target && 0 < bytes) {
            read[w] += bytes;
            most = read[most] < read[w] ? w : most;
            if (w == window) {
                add_get((uint64_t) target << 48 | address, bytes);
            }
        }
    }
    rewind(file);
    return most;
}

static int by_address(const void *a, const void *b)
{
    const struct get *x = gets + *(const long *) a, *y = gets + *(const long *) b;

    if (x->address != y->address) {
        return x->address < y->address ? -1 : 1;
    }
    return x < y ? -1 : 1;
}

/* Numbers the data, links the gets of each, and adds up the largest of each. */
static void prepare(void)
{
    long *order = core_memory((size_t) num_gets * sizeof(long));
    uint64_t largest = 0, longest = 0;

    for (long i = 0; i < num_gets; ++i) {
        order[i] = i;
    }
    qsort(order, (size_t) num_gets, sizeof(long), by_address);
    for (long i = 0; i < num_gets; ++i) {
        struct get *get = &gets[order[i]];
        bool last = i + 1 == num_gets || gets[order[i + 1]].address != get->address;

        get->next = last ? num_gets : order[i + 1];
        get->datum = num_data;
        largest = largest < get->bytes ? get->bytes : largest;
        longest = longest < get->bytes ? get->bytes : longest;
        if (last) {
            ++num_data;
            working_set += lines(largest);
            largest = 0;
        }
    }
    buffer = core_memory(longest);
    free(order);
}

/* Ours */

static long ours(osc_cached_scheme_t scheme, uint64_t capacity)
{
    osc_cached_config_t config = core_fixed(num_data + num_data / 2 + 16, capacity * LINE, scheme);
    struct core core;
    long hits = 0;

    core_open(&core, &config);
    for (long i = 0; i < num_gets; ++i) {
        hits += OSC_CACHED_HIT == core_get(&core, gets[i].address, buffer, gets[i].bytes);
    }
    core_close(&core);
    return hits;
}

/* LRU and Belady: what is kept is in a heap, the next victim on top. */

enum policy { LRU, BELADY, BELADY_BY_SIZE };

static struct {
    uint32_t *heap; /* data */
    uint32_t count;
    struct {
        double rank; /* the largest leaves first */
        uint64_t held;
        uint32_t place; /* in the heap, plus 1; 0: not kept */
    } * data;
} kept;

static void heap_put(uint32_t place, uint32_t datum)
{
    kept.heap[place] = datum;
    kept.data[datum].place = place + 1;
}

/* Lets the datum at a place find its own. */
static void heap_settle(uint32_t place)
{
    uint32_t datum = kept.heap[place];
    double rank = kept.data[datum].rank;

    while (0 < place && kept.data[kept.heap[(place - 1) / 2]].rank < rank) {
        heap_put(place, kept.heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    for (;;) {
        uint32_t child = 2 * place + 1;

        if (child + 1 < kept.count
            && kept.data[kept.heap[child]].rank < kept.data[kept.heap[child + 1]].rank) {
            ++child;
        }
        if (kept.count <= child || kept.data[kept.heap[child]].rank <= rank) {
            break;
        }
        heap_put(place, kept.heap[child]);
        place = child;
    }
    heap_put(place, datum);
}

static void heap_remove(uint32_t place)
{
    kept.data[kept.heap[place]].place = 0;
    if (place < --kept.count) {
        heap_put(place, kept.heap[kept.count]);
        heap_settle(place);
    }
}

/* Distances change with time, so no heap has the largest of size times distance on top. */
static uint32_t largest_by_size(long now)
{
    static uint64_t random = 1;
    bool all = kept.count <= SAMPLE;
    uint32_t worst = 0;
    double most = -1;

    for (uint32_t i = 0; i < (all ? kept.count : SAMPLE); ++i) {
        /* that on top is among them: it is asked for last, or never */
        uint32_t place = all || 0 == i ? i : (uint32_t) (paper_uniform(&random) * kept.count);
        uint32_t datum = kept.heap[place];
        double area = (double) kept.data[datum].held * (kept.data[datum].rank - (double) now);

        if (most < area) {
            most = area;
            worst = place;
        }
    }
    return worst;
}

static long policy_hits(enum policy policy, uint64_t capacity)
{
    uint64_t used = 0;
    long hits = 0;

    kept.heap = core_memory(num_data * sizeof(kept.heap[0]));
    kept.data = core_memory(num_data * sizeof(kept.data[0]));
    kept.count = 0;
    for (long i = 0; i < num_gets; ++i) {
        uint32_t datum = gets[i].datum;
        uint64_t need = lines(gets[i].bytes), held = kept.data[datum].held;

        if (0 == kept.data[datum].place) {
            held = 0;
            heap_put(kept.count++, datum);
        }
        hits += need <= held;
        if (held < need) {
            used += need - held;
            kept.data[datum].held = need;
        }
        kept.data[datum].rank = LRU == policy              ? -(double) i
                                : gets[i].next == num_gets ? INFINITY
                                                           : (double) gets[i].next;
        heap_settle(kept.data[datum].place - 1);
        while (capacity < used) {
            uint32_t place = BELADY_BY_SIZE == policy ? largest_by_size(i) : 0;

            used -= kept.data[kept.heap[place]].held;
            heap_remove(place);
        }
    }
    free(kept.heap);
    free(kept.data);
    return hits;
}

/* The bound */

static long upper_bound(uint64_t capacity)
{
    double *areas = core_memory((size_t) num_gets * sizeof(double)), room;
    long n = 0, hits = 0;

    for (long i = 0; i < num_gets; ++i) {
        if (gets[i].next < num_gets && lines(gets[gets[i].next].bytes) <= capacity) {
            areas[n++] = (double) lines(gets[gets[i].next].bytes) * (double) (gets[i].next - i);
        }
    }
    qsort(areas, (size_t) n, sizeof(double), micro_compare);
    room = (double) capacity * (double) num_gets;
    while (hits < n && areas[hits] <= room) {
        room -= areas[hits++];
    }
    free(areas);
    return hits;
}

static void print(const char *what, size_t percent, long hits)
{
    micro_print_one(benchmark, what, percent, "hits", "%",
                    100. * (double) hits / (double) num_gets);
}

static void compare(size_t percent)
{
    uint64_t capacity = working_set * percent / 100;

    for (int scheme = 0; scheme < 4; ++scheme) {
        print(core_schemes[scheme], percent, ours((osc_cached_scheme_t) scheme, capacity));
    }
    print("LRU", percent, policy_hits(LRU, capacity));
    print("Belady", percent, policy_hits(BELADY, capacity));
    print("Belady by size", percent, policy_hits(BELADY_BY_SIZE, capacity));
    print("upper bound", percent, upper_bound(capacity));
    print("endless", percent, num_gets - num_data);
    micro_print_one(benchmark, "storage", percent, "size", "bytes", (double) (capacity * LINE));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const size_t percents[] = {5, 10, 20, 30, 40, 50, 60, 80, 100};
    const char *name;

    core_arguments(argc, argv, "belady [--gets=Z] [--trace=FILE] [--trace-window=N]");
    name = micro_option("trace", NULL);
    if (NULL == name) {
        read_paper(micro_positive("gets", 100000));
    } else {
        FILE *file = fopen(name, "r");
        long window = micro_number("trace-window", -1);

        if (NULL == file) {
            die(name, strerror(errno));
        }
        benchmark = "belady-trace";
        if (window < 0) {
            window = read_trace(file, name, -1);
        }
        (void) read_trace(file, name, window);
        fclose(file);
    }
    if (0 == num_gets) {
        die(name, "no get of this window");
    }
    prepare();
    micro_print_one(benchmark, "gets", 0, "number", "", (double) num_gets);
    micro_print_one(benchmark, "gets", 0, "different", "", num_data);
    micro_print_one(benchmark, "gets", 0, "working set", "bytes", (double) (working_set * LINE));
    for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); ++i) {
        compare(percents[i]);
    }
    free(gets);
    free(buffer);
    return 0;
}
