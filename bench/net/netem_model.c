/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The model of netem_model.h, and the networks that it knows by name.
 */

#include "netem_model.h"

#include <string.h>

/*
 * aries  Cray XC, the network of the CLaMPI paper (IPDPS 2017), whose Fig. 1 has 2 to 3 us for
 *        remote gets: o + 2 L = 2 us.  Open MPI over uGNI reaches 9.2 to 9.5 GB/s with puts of 64
 *        to 256 KiB, and 1.8 million small puts per second, 0.56 us each
 *        (github.com/open-mpi/ompi/pull/4919); foMPI is thinner: o = 0.4 us.
 * hdr    InfiniBand with 4 lanes of 50 Gb/s (github.com/open-mpi/ompi/pull/4946), 25 GB/s, of which
 *        98 % are left beside headers.  For cards of this family reads of 1.91 us and writes of
 *        0.93 us one way are reported (github.com/linux-rdma/perftest/issues/131):
 *        o + 2 L = 1.91 us.
 *
 * How a get's 2 us are shared between o and L is our choice; it matters to gets that overlap.  Both
 * NICs take messages faster than one processor can hand them over: g is small.
 */
static const netem_preset_t presets[] = {
    {"aries", {.latency = 800, .overhead = 400, .gap = 10, .bandwidth = 9500}},
    {"hdr", {.latency = 880, .overhead = 150, .gap = 5, .bandwidth = 24600}},
    {"none", {.latency = 0}},
};

const netem_preset_t *netem_model_preset(const char *name)
{
    for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); ++i) {
        if (0 == strcmp(name, presets[i].name)) {
            return &presets[i];
        }
    }
    return NULL;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return (a < b) ? b : a;
}

/* (k - 1) G */
static uint64_t stream(const netem_network_t *network, size_t bytes)
{
    return (0 < bytes && 0 < network->bandwidth) ? (bytes - 1) * 1000 / network->bandwidth : 0;
}

netem_times_t netem_model_operation(const netem_network_t *network, netem_nic_t *nic,
                                    uint64_t called, size_t sent, size_t fetched, bool fetches)
{
    uint64_t leave = later(called + network->overhead, nic->send_again);
    netem_times_t times;

    times.origin = leave + stream(network, sent);
    nic->send_again = times.origin + network->gap;
    times.target = times.origin + 2 * network->latency;
    if (fetches) {
        times.target = later(times.target, nic->receive_again) + stream(network, fetched);
        times.origin = times.target;
        nic->receive_again = times.target + network->gap;
    }
    return times;
}

uint64_t netem_model_barrier(const netem_network_t *network, int processes)
{
    uint64_t ns = 0;

    for (int64_t reached = 1; reached < processes; reached *= 2) {
        ns += 2 * network->overhead + network->latency;
    }
    return ns;
}
