/* A12, A11: gets that wait for others of the same bytes take memory from osc_cached_memory, not
 * more, and give it back at the end of the epoch. Beyond that they are gets like any other.
 *
 * test: for=osc-cached needs=cache cache="memory=8M" ranks=2 transport=shm limit=120
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { GETS = 1000000, WORDS = 1000, BUDGET = 8 << 20 };

/* Kilobytes that the process had at most. */
static long most_kilobytes(void)
{
    char line[256];
    long value = 0;
    FILE *file = fopen("/proc/self/status", "r");

    while (NULL != file && NULL != fgets(line, sizeof(line), file)) {
        if (1 == sscanf(line, "VmHWM: %ld", &value)) {
            break;
        }
    }
    if (NULL != file) {
        fclose(file);
    }
    return value;
}

int main(int argc, char **argv)
{
    int *base, *got = malloc(GETS * sizeof(*got));
    unsigned long before = 0;
    struct counters c;
    long most = 0;
    MPI_Win win;

    test_init(&argc, &argv);
    test_skip_if_all_gets_are_late();
    if (test_inner_is("pt2pt") && !test_over_tcp()) {
        test_skip("osc/pt2pt waits for ever over shared memory: too many gets outstanding");
    }
    win = test_win_make(NULL, WORDS * sizeof(int), sizeof(int), &base);
    counters_open(&c, &win);
    for (int i = 0; i < WORDS; ++i) {
        base[i] = 1000 + i;
    }
    /* the first epoch shows what the rest of it all takes */
    for (int epoch = 0; epoch < 4; ++epoch) {
        unsigned long joins = counter(&c, "joins"), failing = counter(&c, "failing");
        int gets = (0 == epoch) ? 2 * WORDS : GETS;

        memset(got, 0, GETS * sizeof(*got));
        OK(MPI_Win_fence(0, win));
        if (0 == test_rank) {
            for (int i = 0; i < gets; ++i) {
                OK(MPI_Get(got + i, 1, MPI_INT, 1, i % WORDS, 1, MPI_INT, win));
            }
            joins = counter(&c, "joins") - joins;
            failing = counter(&c, "failing") - failing;
            CHECK(joins >= WORDS, "epoch %d: %lu joins", epoch, joins);
            CHECK(0 == epoch || failing > 0, "epoch %d: %lu failing", epoch, failing);
            CHECK(counter(&c, "budget_taken") <= BUDGET, "epoch %d: %lu bytes", epoch,
                  counter(&c, "budget_taken"));
        }
        OK(MPI_Win_fence(0, win));
        for (int i = 0; 0 == test_rank && i < gets; ++i) {
            CHECK(1000 + i % WORDS == got[i], "epoch %d: [%d] = %d", epoch, i, got[i]);
        }
        if (0 == epoch) {
            before = counter(&c, "budget_taken");
            most = most_kilobytes();
        } else {
            CHECK(counter(&c, "budget_taken") <= before, "epoch %d: %lu bytes, %lu before", epoch,
                  counter(&c, "budget_taken"), before);
        }
    }
    /* the emulated network itself remembers every get until it is complete */
    CHECK(most > 0 && (test_inner_is("netem") || most_kilobytes() - most < 2 * BUDGET / 1024),
          "%ld kilobytes more than %ld", most_kilobytes() - most, most);
    counters_add_up(&c);
    counters_close(&c);
    OK(MPI_Win_free(&win));
    free(got);
    return test_done();
}
