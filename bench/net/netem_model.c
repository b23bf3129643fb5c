/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The model of netem_model.h, and the networks that it knows by name.
 */

#include "netem_model.h"

#include <string.h>

/*
 * aries  Cray XC, the network of the CLaMPI paper.  Its Fig. 1 has 2 to 3 us for remote gets;
 * foMPI, which it used, was modelled by its authors on the network before (Gerstenberger, Besta,
 *        Hoefler, "Enabling highly-scalable remote memory access programming with MPI-3 one sided",
 *        SC 2013) as 1.9 us + 0.17 ns per byte for a get and 0.416 us for handing over a message.
 *        Bandwidth: 9.2 to 9.5 GB/s for puts of 64 to 256 KiB, measured with Open MPI over uGNI
 *        (github.com/open-mpi/ompi/pull/4919; small ones there: 1.8 million per second).
 *        So o + 2 L = 2 us with o = 0.4 us.
 * hdr    InfiniBand with 4 lanes of 50 Gb/s (github.com/open-mpi/ompi/pull/4946): 25 GB/s, 24.6
 *        when a packet of 4096 bytes has 66 of headers.  Reads of 1.91 us and writes of 0.93 us one
 *        way are reported for cards of this family (github.com/linux-rdma/perftest/issues/131); of
 *        these, o = 0.15 us are the processor's.
 * g      Both NICs take more messages than one processor can hand over: o covers it.
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
