/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sequences of gets to replay: those of a trace that osc_cached_trace wrote, or made ones.
 */
#ifndef OMPI_LOCALITY_GETS_H
#define OMPI_LOCALITY_GETS_H

#include "paper.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GETS_WINDOWS = 1024 }; /* that a trace may have */

struct get {
    uint64_t address; /* with the target's number above */
    uint32_t bytes;
    uint32_t datum; /* number of the different data */
    long next;      /* get of the same datum, or the number of gets */
};

struct gets {
    struct get *get;
    long num, room;
    uint32_t num_data;
    uint32_t *bytes; /* of each datum: of its largest get */
    uint32_t *size;  /* of each datum, in the units of a policy's storage */
};

static _Noreturn inline void gets_die(const char *what, const char *detail)
{
    fprintf(stderr, "%s: %s\n", what, detail);
    exit(2);
}

static inline void *gets_memory(size_t number, size_t bytes)
{
    void *memory = calloc(number, bytes);

    if (NULL == memory) {
        gets_die("gets", "no memory");
    }
    return memory;
}

static inline void gets_add(struct gets *gets, uint64_t address, uint64_t bytes)
{
    if (gets->room == gets->num) {
        gets->room = 0 == gets->room ? 65536 : 2 * gets->room;
        gets->get = realloc(gets->get, (size_t) gets->room * sizeof(gets->get[0]));
        if (NULL == gets->get) {
            gets_die("gets", "no memory");
        }
    }
    gets->get[gets->num++] = (struct get){.address = address, .bytes = (uint32_t) bytes};
}

/* The gets of one window, without those of a process from itself, which are not cached: the name
 * ends in a dot and the rank. @return the window of which the most bytes are read */
static inline long gets_of_window(struct gets *gets, FILE *file, const char *name, long window)
{
    const char *dot = strrchr(name, '.');
    long self = NULL == dot ? -1 : strtol(dot + 1, NULL, 10), most = 0;
    uint64_t read[GETS_WINDOWS] = {0};
    char line[256];

    rewind(file);
    if (NULL == fgets(line, sizeof(line), file) || 0 != strcmp(line, "# osc_cached trace 1\n")) {
        gets_die(name, "not a trace of osc/cached");
    }
    while (NULL != fgets(line, sizeof(line), file)) {
        uint64_t address, bytes;
        long w, target;

        if ('#' == line[0]) {
            continue;
        }
        if (4 != sscanf(line, "%*u %ld %ld %" SCNu64 " %" SCNu64, &w, &target, &address, &bytes)
            || w < 0 || GETS_WINDOWS <= w || UINT32_MAX < bytes) {
            gets_die(name, line);
        }
        if (self != target && 0 < bytes) {
            read[w] += bytes;
            most = read[most] < read[w] ? w : most;
            if (w == window) {
                gets_add(gets, (uint64_t) target << 48 | address, bytes);
            }
        }
    }
    return most;
}

/* The gets of the window of which the most bytes are read. */
static inline void gets_read(struct gets *gets, const char *name)
{
    FILE *file = fopen(name, "r");

    if (NULL == file) {
        gets_die(name, strerror(errno));
    }
    (void) gets_of_window(gets, file, name, gets_of_window(gets, file, name, -1));
    fclose(file);
    if (0 == gets->num) {
        gets_die(name, "no get from another process");
    }
}

/* Made ones: 20,000 data of 2^3 .. 2^16 bytes, unless stated */

enum { GETS_DATA = 20000, GETS_MADE = 200000, GETS_STRIDE = 65536 };

static inline uint32_t gets_below(uint64_t *seed, uint32_t limit)
{
    return (uint32_t) (paper_uniform(seed) * limit);
}

/* A get of a datum whose size depends on nothing but its number. */
static inline void gets_add_datum(struct gets *gets, uint32_t datum)
{
    uint64_t seed = datum;

    gets_add(gets, (uint64_t) datum * GETS_STRIDE, UINT64_C(8) << gets_below(&seed, 14));
}

/* Popularity: the share of the data of each rank and those before it, 1 / rank^power each. */
static inline double *gets_zipf(uint32_t data, double power)
{
    double *sum = gets_memory(data, sizeof(double)), all = 0;

    for (uint32_t i = 0; i < data; ++i) {
        sum[i] = all += pow(i + 1, -power);
    }
    for (uint32_t i = 0; i < data; ++i) {
        sum[i] /= all;
    }
    return sum;
}

static inline uint32_t gets_rank(const double *sum, uint32_t data, uint64_t *seed)
{
    double x = paper_uniform(seed);
    uint32_t low = 0, high = data - 1;

    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (sum[middle] < x) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static inline void gets_shuffle(uint32_t *order, uint32_t n, uint64_t *seed)
{
    for (uint32_t i = 0; i < n; ++i) {
        uint32_t j = gets_below(seed, i + 1);

        order[i] = order[j];
        order[j] = i;
    }
}

/* Popularity by Zipf; with a period, reshuffled after so many gets. */
static inline void gets_make_zipf(struct gets *gets, double power, long period)
{
    double *sum = gets_zipf(GETS_DATA, power);
    uint32_t *order = gets_memory(GETS_DATA, sizeof(uint32_t));
    uint64_t seed = 1;

    for (long i = 0; i < GETS_MADE; ++i) {
        if (0 == i || (0 < period && 0 == i % period)) {
            gets_shuffle(order, GETS_DATA, &seed);
        }
        gets_add_datum(gets, order[gets_rank(sum, GETS_DATA, &seed)]);
    }
    free(sum);
    free(order);
}

/* A hot set of 2,000 data by Zipf 1.0, and every so many gets a run through the next cold ones; of
 * these there are so many, over and over. */
static inline void gets_make_scans(struct gets *gets, long every, long run, uint32_t cold)
{
    enum { HOT = 2000 };
    double *sum = gets_zipf(HOT, 1);
    uint64_t seed = 1;
    uint32_t next = 0;

    while (gets->num < GETS_MADE) {
        for (long i = 0; i < every; ++i) {
            gets_add_datum(gets, gets_rank(sum, HOT, &seed));
        }
        for (long i = 0; i < run; ++i) {
            gets_add_datum(gets, HOT + next++ % cold);
        }
    }
    free(sum);
}

/* A working set of 400 data that moves on: each is used 4 times, then never again. */
static inline void gets_make_moving(struct gets *gets)
{
    enum { LIVE = 400, USES = 4, DATA = 10000 };
    uint32_t live[LIVE], left[LIVE], next = 0, alive = 0;
    uint64_t seed = 1;

    while (next < DATA || 0 < alive) {
        uint32_t i;

        while (alive < LIVE && next < DATA) {
            live[alive] = next++;
            left[alive++] = USES;
        }
        i = gets_below(&seed, alive);
        gets_add_datum(gets, live[i]);
        if (0 == --left[i]) {
            live[i] = live[--alive];
            left[i] = left[alive];
        }
    }
}

static inline void gets_make_paper(struct gets *gets)
{
    enum { Z = 100000 };
    static struct paper_get set[PAPER_DIFFERENT];
    int *sequence = gets_memory(Z, sizeof(int));

    (void) paper_gets(set, PAPER_SEED);
    paper_sequence(sequence, Z, PAPER_SEED);
    for (long i = 0; i < Z; ++i) {
        gets_add(gets, set[sequence[i]].offset, set[sequence[i]].bytes);
    }
    free(sequence);
}

#define GETS_MADE_ALL "paper,zipf.8,zipf1,zipf1.2,scans,loop,phases,moving"

static inline void gets_make(struct gets *gets, const char *name)
{
    if (0 == strcmp(name, "paper")) {
        gets_make_paper(gets);
    } else if (0 == strncmp(name, "zipf", 4)) {
        gets_make_zipf(gets, strtod(name + 4, NULL), 0);
    } else if (0 == strcmp(name, "phases")) {
        gets_make_zipf(gets, 1, GETS_MADE / 5);
    } else if (0 == strcmp(name, "scans")) {
        gets_make_scans(gets, 9000, 1000, GETS_DATA);
    } else if (0 == strcmp(name, "loop")) {
        gets_make_scans(gets, 1, 1, 4000);
    } else if (0 == strcmp(name, "moving")) {
        gets_make_moving(gets);
    } else {
        gets_die(name, "no such sequence");
    }
}

/* Numbers */

struct gets_place {
    uint64_t address;
    long get;
};

static inline int gets_by_address(const void *a, const void *b)
{
    const struct gets_place *x = a, *y = b;

    if (x->address != y->address) {
        return x->address < y->address ? -1 : 1;
    }
    return x->get < y->get ? -1 : 1;
}

/* Numbers the data, and links the gets of each. */
static inline void gets_number(struct gets *gets)
{
    struct gets_place *order = gets_memory((size_t) gets->num, sizeof(order[0]));

    for (long i = 0; i < gets->num; ++i) {
        order[i] = (struct gets_place){gets->get[i].address, i};
    }
    qsort(order, (size_t) gets->num, sizeof(order[0]), gets_by_address);
    gets->bytes = gets_memory((size_t) gets->num, sizeof(gets->bytes[0]));
    gets->size = gets_memory((size_t) gets->num, sizeof(gets->size[0]));
    for (long i = 0; i < gets->num; ++i) {
        struct get *get = &gets->get[order[i].get];
        bool last = i + 1 == gets->num || order[i + 1].address != order[i].address;

        get->next = last ? gets->num : order[i + 1].get;
        get->datum = gets->num_data;
        if (gets->bytes[get->datum] < get->bytes) {
            gets->bytes[get->datum] = get->bytes;
        }
        gets->num_data += last;
    }
    free(order);
}

/* @return all data, in units of so many bytes, which size then has */
static inline uint64_t gets_measure(struct gets *gets, uint32_t unit)
{
    uint64_t all = 0;

    for (uint32_t i = 0; i < gets->num_data; ++i) {
        gets->size[i] = gets->bytes[i] / unit + (0 != gets->bytes[i] % unit);
        all += gets->size[i];
    }
    return all;
}

static inline void gets_free(struct gets *gets)
{
    free(gets->get);
    free(gets->bytes);
    free(gets->size);
    memset(gets, 0, sizeof(*gets));
}

#endif
