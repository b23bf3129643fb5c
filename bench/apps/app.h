/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the example programs share: arguments, memory, random numbers, and the report.
 *
 * Rank 0 prints one "key value" per line on stdout: contrib/bench and contrib/demo read them.  Keys
 * that end in _seconds are times, and differ from run to run; "check" is ok, WRONG or absent; all
 * other keys are the same in every correct run with the same arguments.
 */
#ifndef OMPI_LOCALITY_APP_H
#define OMPI_LOCALITY_APP_H

#include <errno.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APP_UNUSED __attribute__((unused))

static int app_rank, app_size;

/* An argument --name=number or --name (a switch), with its least and largest value. */
typedef struct {
    const char *name;
    long *value;
    long least, most; /* a switch: 0, 0 */
} app_number_t;

/* An argument --name=text. */
typedef struct {
    const char *name;
    const char **value;
} app_text_t;

APP_UNUSED static _Noreturn void app_die(const char *what, const char *detail)
{
    fprintf(stderr, "rank %d: %s%s%s\n", app_rank, what, NULL == detail ? "" : ": ",
            NULL == detail ? "" : detail);
    MPI_Abort(MPI_COMM_WORLD, 2);
    abort();
}

APP_UNUSED static void *app_allocate(size_t bytes)
{
    void *memory = calloc(1, 0 < bytes ? bytes : 1);

    if (NULL == memory) {
        app_die("no memory", NULL);
    }
    return memory;
}

static bool app_read_number(const char *argument, const app_number_t *number)
{
    size_t length = strlen(number->name);
    char *rest;
    long value;

    if (0 != strncmp(argument, number->name, length)) {
        return false;
    }
    if (0 == number->least && 0 == number->most) {
        if ('\0' != argument[length]) {
            return false;
        }
        *number->value = 1;
        return true;
    }
    if ('=' != argument[length]) {
        return false;
    }
    errno = 0;
    value = strtol(argument + length + 1, &rest, 10);
    if (rest == argument + length + 1 || '\0' != *rest || ERANGE == errno || value < number->least
        || value > number->most) {
        char range[96];
        snprintf(range, sizeof(range), "--%s is a number from %ld to %ld", number->name,
                 number->least, number->most);
        app_die(argument - 2, range);
    }
    *number->value = value;
    return true;
}

/* Both tables end with a NULL name.  An unknown argument ends the program with the usage text. */
APP_UNUSED static void app_read_arguments(int argc, char **argv, const app_number_t *numbers,
                                          const app_text_t *texts, const char *usage)
{
    for (int i = 1; i < argc; ++i) {
        bool known = false;

        if (0 == strncmp(argv[i], "--", 2)) {
            for (const app_number_t *n = numbers; NULL != n->name && !known; ++n) {
                known = app_read_number(argv[i] + 2, n);
            }
            for (const app_text_t *t = texts; NULL != t && NULL != t->name && !known; ++t) {
                size_t length = strlen(t->name);
                if (0 == strncmp(argv[i] + 2, t->name, length) && '=' == argv[i][2 + length]) {
                    *t->value = argv[i] + 3 + length;
                    known = true;
                }
            }
        }
        if (!known) {
            fprintf(stderr, "%s: unknown argument %s\nusage: %s\n", argv[0], argv[i], usage);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
    }
}

APP_UNUSED static void app_begin(int *argc, char ***argv, int thread_level)
{
    int provided;

    MPI_Init_thread(argc, argv, thread_level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &app_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &app_size);
    if (provided < thread_level) {
        app_die("this Open MPI has less thread support than the program needs", NULL);
    }
}

/* Ends the program where this MPI library has no tags from 0 to largest: 32767 is promised. */
APP_UNUSED static void app_need_tags(long largest)
{
    int *limit, known;

    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &limit, &known);
    if (known && largest > *limit) {
        char text[96];
        snprintf(text, sizeof(text), "%ld is needed, %d is the largest; use smaller arguments",
                 largest, *limit);
        app_die("this MPI library has too few tags for this problem", text);
    }
}

/* splitmix64: the i-th random number needs no state, so every process can make every number */
APP_UNUSED static uint64_t app_random_at(uint64_t seed, uint64_t i)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15u + (i + 1) * 0xbf58476d1ce4e5b9u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Collective: the sum over all processes (exact: no order of additions matters), on rank 0. */
APP_UNUSED static uint64_t app_sum(uint64_t mine)
{
    uint64_t all = 0;

    MPI_Reduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    return all;
}

/* Collective: the slowest process' time, on rank 0. */
APP_UNUSED static double app_slowest(double mine)
{
    double all = 0;

    MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return all;
}

APP_UNUSED static void app_report_count(const char *key, uint64_t value)
{
    if (0 == app_rank) {
        printf("%s %llu\n", key, (unsigned long long) value);
    }
}

APP_UNUSED static void app_report_seconds(const char *key, double value)
{
    if (0 == app_rank) {
        printf("%s %.9f\n", key, value);
    }
}

/*
 * Collective, outside of epochs, when the window has its contents: reads a byte from each other
 * process that exposes any.  Connections are made at their first use, which takes as long as
 * thousands of gets: it is not to be measured.  Afterwards everybody may write to the window again.
 */
APP_UNUSED static void app_connect(MPI_Win window, uint64_t bytes_here)
{
    uint64_t *bytes = app_allocate((size_t) app_size * sizeof(*bytes));
    char *to = app_allocate((size_t) app_size);

    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    MPI_Win_sync(window); /* what this process has stored is there for the others */
    MPI_Allgather(&bytes_here, 1, MPI_UINT64_T, bytes, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    for (int rank = 0; rank < app_size; ++rank) {
        if (rank != app_rank && 0 < bytes[rank]) {
            MPI_Get(to + rank, 1, MPI_BYTE, rank, 0, 1, MPI_BYTE, window);
        }
    }
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    free(bytes);
    free(to);
}

/* Collective: rank 0's verdict becomes every process' exit code, 0 or 1. */
APP_UNUSED static int app_end(bool checked, bool right)
{
    int wrong = 0 == app_rank && checked && !right;

    if (0 == app_rank && checked) {
        printf("check %s\n", wrong ? "WRONG" : "ok");
    }
    MPI_Bcast(&wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return wrong;
}

#endif
