/* The model of the emulated network (bench/net/netem_model.h): exact times, by hand.
 *
 * Built and run by test/mpi/netem, without MPI.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "netem_model.h"

#include <stdio.h>

static int failures = 0;

#define IS(what, wanted)                                                                      \
    do {                                                                                      \
        unsigned long got_ = (unsigned long) (what), wanted_ = (unsigned long) (wanted);      \
        if (got_ != wanted_) {                                                                \
            fprintf(stderr, "line %d: %s is %lu, not %lu\n", __LINE__, #what, got_, wanted_); \
            ++failures;                                                                       \
        }                                                                                     \
    } while (0)

/* G is 10 ns */
static const netem_network_t network = {
    .latency = 1000, .overhead = 100, .gap = 30, .bandwidth = 100};

static void one_operation(void)
{
    netem_nic_t nic = {0};
    netem_times_t get = netem_model_operation(&network, &nic, 5000, 0, 11, true);

    IS(get.origin, 5000 + 100 + 2 * 1000 + 10 * 10);
    IS(get.target, get.origin);

    nic = (netem_nic_t){0};
    netem_times_t put = netem_model_operation(&network, &nic, 5000, 11, 0, false);
    IS(put.origin, 5000 + 100 + 10 * 10);
    IS(put.target, put.origin + 2 * 1000);

    nic = (netem_nic_t){0};
    netem_times_t swap = netem_model_operation(&network, &nic, 5000, 16, 8, true);
    IS(swap.origin, 5000 + 100 + 15 * 10 + 2 * 1000 + 7 * 10);
}

static void one_after_the_other(void)
{
    netem_nic_t nic = {0};
    netem_times_t first, second;

    /* two at once: the second has to wait for the gap, and for the data of the first */
    first = netem_model_operation(&network, &nic, 0, 0, 1001, true);
    second = netem_model_operation(&network, &nic, 0, 0, 1, true);
    IS(first.origin, 100 + 2000 + 10000);
    IS(second.origin, first.origin + 30);

    /* a small put behind a large one */
    nic = (netem_nic_t){0};
    first = netem_model_operation(&network, &nic, 0, 1001, 0, false);
    second = netem_model_operation(&network, &nic, 0, 1, 0, false);
    IS(second.origin, first.origin + 30);

    /* the processor is slower than the gap: overheads add up, latencies do not */
    nic = (netem_nic_t){0};
    for (int i = 0; i < 10; ++i) {
        first = netem_model_operation(&network, &nic, 100 * (uint64_t) i, 0, 1, true);
    }
    IS(first.origin, 10 * 100 + 2000);
}

static void known_networks(void)
{
    netem_nic_t nic = {0};

    IS(netem_model_operation(&netem_model_preset("aries")->network, &nic, 0, 0, 64, true).origin,
       2006);
    nic = (netem_nic_t){0};
    IS(netem_model_operation(&netem_model_preset("hdr")->network, &nic, 0, 0, 64, true).origin,
       1912);
    nic = (netem_nic_t){0};
    IS(netem_model_operation(&netem_model_preset("none")->network, &nic, 7, 0, 64, true).origin, 7);
    IS(NULL == netem_model_preset("gemini"), 1);
}

int main(void)
{
    one_operation();
    one_after_the_other();
    known_networks();
    IS(netem_model_barrier(&network, 1), 0);
    IS(netem_model_barrier(&network, 2), 1200);
    IS(netem_model_barrier(&network, 5), 3 * 1200);
    return 0 != failures;
}
