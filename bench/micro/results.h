/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What all micro-benchmarks share, also those without MPI: arguments, the clock, and results.
 * Output on stdout, one line per result, separated by tabs:
 *
 *     benchmark case x quantity unit median low high samples
 *
 * x is the size of a get in bytes, or what else the benchmark varies.  low and high bound the
 * median with 95 % confidence; they come from order statistics (no distribution is assumed).
 */
#ifndef OMPI_LOCALITY_RESULTS_H
#define OMPI_LOCALITY_RESULTS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MICRO_UNUSED __attribute__((unused))

static int micro_argc;
static char **micro_argv;

MICRO_UNUSED static double micro_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e9 + (double) t.tv_nsec;
}

/* Value of the argument --NAME=VALUE. */
MICRO_UNUSED static const char *micro_option(const char *name, const char *otherwise)
{
    size_t length = strlen(name);

    for (int i = 1; i < micro_argc; ++i) {
        const char *argument = micro_argv[i];
        if (0 == strncmp(argument, "--", 2) && 0 == strncmp(argument + 2, name, length)
            && '=' == argument[2 + length]) {
            return argument + 3 + length;
        }
    }
    return otherwise;
}

MICRO_UNUSED static long micro_number(const char *name, long otherwise)
{
    const char *text = micro_option(name, NULL);

    return NULL == text ? otherwise : strtol(text, NULL, 10);
}

MICRO_UNUSED static long micro_positive(const char *name, long otherwise)
{
    const char *text = micro_option(name, NULL);
    char *end = NULL;
    long number = NULL == text ? otherwise : strtol(text, &end, 10);

    if (number < 1 || (NULL != end && '\0' != *end)) {
        fprintf(stderr, "%s: --%s=%s: a number above 0 is needed\n", micro_argv[0], name, text);
        exit(2);
    }
    return number;
}

static int micro_compare(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

struct micro_result {
    double median, low, high;
};

MICRO_UNUSED static struct micro_result micro_median(const double *values, long n)
{
    double *sorted = malloc((size_t) n * sizeof(double));
    double half = 0.98 * sqrt((double) n); /* 1.96 standard deviations of a binomial, over two */
    long low = (long) floor((double) n / 2 - half) - 1, high = (long) ceil((double) n / 2 + half);
    struct micro_result r;

    memcpy(sorted, values, (size_t) n * sizeof(double));
    qsort(sorted, (size_t) n, sizeof(double), micro_compare);
    r.median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
    r.low = sorted[low < 0 ? 0 : low];
    r.high = sorted[high >= n ? n - 1 : high];
    free(sorted);
    return r;
}

MICRO_UNUSED static void micro_print(const char *benchmark, const char *what, size_t x,
                                     const char *quantity, const char *unit, const double *values,
                                     long n)
{
    struct micro_result r = micro_median(values, n);

    printf("%s\t%s\t%zu\t%s\t%s\t%.6g\t%.6g\t%.6g\t%ld\n", benchmark, what, x, quantity, unit,
           r.median, r.low, r.high, n);
}

MICRO_UNUSED static void micro_print_one(const char *benchmark, const char *what, size_t x,
                                         const char *quantity, const char *unit, double value)
{
    if (!isnan(value)) {
        micro_print(benchmark, what, x, quantity, unit, &value, 1);
    }
}

/* Round by round: factor * a + offset, over or minus b. */
MICRO_UNUSED static void micro_print_ratio(const char *benchmark, const char *what, size_t x,
                                           const char *quantity, const double *a, const double *b,
                                           double factor, double offset, long n)
{
    double *ratio = malloc((size_t) n * sizeof(double));

    for (long i = 0; i < n; ++i) {
        ratio[i] = a[i] / (factor * b[i] + offset);
    }
    micro_print(benchmark, what, x, quantity, "x", ratio, n);
    free(ratio);
}

MICRO_UNUSED static void micro_print_difference(const char *benchmark, const char *what, size_t x,
                                                const char *quantity, const double *a,
                                                const double *b, long n)
{
    double *difference = malloc((size_t) n * sizeof(double));

    for (long i = 0; i < n; ++i) {
        difference[i] = a[i] - b[i];
    }
    micro_print(benchmark, what, x, quantity, "ns", difference, n);
    free(difference);
}

#endif
