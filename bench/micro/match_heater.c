/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the heater is worth, and what it costs, without MPI: the random accesses of section 4.3 of
 * "The Case for Semi-Permanent Cache Occupancy" (ICPP'18).
 *
 * A round: a phase of computing (a sweep of writes that clears a cache), then one access to each
 * line of a region, in random order, each address read from the line before. The region is not
 * heated, or heated by a heater that runs, or that is paused; they take turns. Two times are taken:
 *
 *   access   ns per line of the region: what matching would see
 *   sweep    ns per line of the phase of computing: what the application pays
 *
 * Arguments: --rounds, --period=NS, --cpu=N of this thread, --heater-cpu=N, --l2, --l3 (bytes).
 */

#include "match.h"

#include "llamatch_heater.h"

#define LINE 64

enum { COLD, HEATED, PAUSED, STATES };

static const char *const state_names[STATES] = {"not heated", "heated", "paused"};

static int pin(void *cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(*(int *) cpu, &set);
    return sched_setaffinity(0, sizeof(set), &set);
}

/* Each line holds the address of another: one cycle through all of them. */
static void **make_cycle(char *memory, size_t bytes)
{
    size_t count = bytes / LINE;
    uint32_t *order = micro_memory(count * sizeof(*order));
    uint64_t state = 1;

    for (size_t i = 0; i < count; ++i) {
        order[i] = (uint32_t) i;
    }
    for (size_t i = count - 1; i > 0; --i) {
        size_t j;
        state = state * 6364136223846793005u + 1442695040888963407u;
        j = (size_t) ((state >> 33) % (i + 1));
        uint32_t swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    for (size_t i = 0; i < count; ++i) {
        *(void **) (memory + order[i] * (size_t) LINE) =
            memory + order[(i + 1) % count] * (size_t) LINE;
    }
    free(order);
    return (void **) memory;
}

static void **volatile sink;

static double walk(void **at, size_t count)
{
    double start = micro_now_ns();

    for (size_t i = 0; i < count; ++i) {
        at = *at;
    }
    sink = at;
    return (micro_now_ns() - start) / (double) count;
}

static void measure(llamatch_heater_t *heater, llamatch_pool_t *pool, struct match_clear *clear,
                    size_t bytes, long rounds)
{
    llamatch_pool_class_t *heated = llamatch_pool_class(pool, bytes, bytes);
    double *access[STATES], *sweep[STATES];
    char *cold = micro_memory(bytes);
    char what[96];

    for (int s = 0; s < STATES; ++s) {
        access[s] = micro_memory((size_t) rounds * sizeof(double));
        sweep[s] = micro_memory((size_t) rounds * sizeof(double));
    }
    for (long round = 0; round < rounds; ++round) {
        for (int turn = 0; turn < STATES; ++turn) {
            int state = (int) (round + turn) % STATES;
            char *memory = (COLD == state) ? cold : llamatch_pool_get(heated);
            void **region;
            double start;
            if (NULL == memory) {
                fprintf(stderr, "no memory for the heater\n");
                exit(1);
            }
            region = make_cycle(memory, bytes);
            if (PAUSED == state) {
                llamatch_heater_pause(heater);
            }
            (void) walk(region, bytes / LINE);
            start = micro_now_ns();
            match_clear(clear);
            sweep[state][round] = (micro_now_ns() - start) * LINE / (double) clear->bytes;
            access[state][round] = walk(region, bytes / LINE);
            if (PAUSED == state) {
                llamatch_heater_resume(heater);
            }
            if (COLD != state) {
                llamatch_pool_put(heated, memory);
            }
        }
    }
    snprintf(what, sizeof(what), "%zu KiB, %s", bytes / 1024, clear->name);
    for (int s = 0; s < STATES; ++s) {
        char quantity[64];
        snprintf(quantity, sizeof(quantity), "access, %s", state_names[s]);
        micro_print("region", what, bytes, quantity, "ns", access[s], rounds);
        snprintf(quantity, sizeof(quantity), "sweep, %s", state_names[s]);
        micro_print("region", what, bytes, quantity, "ns", sweep[s], rounds);
    }
    micro_print_ratio("region", what, bytes, "not heated/heated access", access[COLD],
                      access[HEATED], 1, 0, rounds);
    micro_print_ratio("region", what, bytes, "not heated/paused access", access[COLD],
                      access[PAUSED], 1, 0, rounds);
    micro_print_ratio("region", what, bytes, "heated/not heated sweep", sweep[HEATED], sweep[COLD],
                      1, 0, rounds);
    fflush(stdout);
    for (int s = 0; s < STATES; ++s) {
        free(access[s]);
        free(sweep[s]);
    }
    free(cold);
}

int main(int argc, char **argv)
{
    static const char *const clears[] = {"l2", "llc"};
    llamatch_heater_config_t config = {.max_bytes = SIZE_MAX, .begin = pin};
    llamatch_heater_t *heater;
    llamatch_pool_t *pool;
    int cpu, heater_cpu;

    micro_argc = argc;
    micro_argv = argv;
    cpu = (int) micro_number("cpu", 0);
    heater_cpu = (int) micro_number("heater-cpu", sysconf(_SC_NPROCESSORS_ONLN) - 1);
    config.period_ns = (uint64_t) micro_number("period", 20000);
    config.context = &heater_cpu;
    if (LLAMATCH_OK != llamatch_pool_create(NULL, &pool)) {
        return 1;
    }
    config.pool = pool;
    if (0 != pin(&cpu) || LLAMATCH_OK != llamatch_heater_create(&config, &heater)) {
        fprintf(stderr, "cannot use processors %d and %d\n", cpu, heater_cpu);
        return 1;
    }
    for (size_t c = 0; c < sizeof(clears) / sizeof(clears[0]); ++c) {
        struct match_clear clear = match_clear_make(clears[c]);
        for (size_t bytes = 4096; bytes <= (size_t) 16 * 1024 * 1024; bytes *= 8) {
            measure(heater, pool, &clear, bytes, micro_number("rounds", 21));
        }
        free(clear.memory);
    }
    llamatch_heater_destroy(heater);
    llamatch_pool_destroy(pool);
    return 0;
}
