/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * When would an operation be complete on this network?  The LogGP model of A. Alexandrov,
 * M. F. Ionescu, K. E. Schauser and C. Scheiman, "LogGP: incorporating long messages into the LogP
 * model", SPAA 1995:
 *
 *     L  latency      from the first byte leaving one NIC to its arrival at the other
 *     o  overhead     of the processor, for each operation that it hands to the NIC
 *     g  gap          between two messages of a NIC, from the last byte of one to the first of the
 *                     next
 *     G  gap per byte of a long message: k bytes take (k - 1) G
 *
 * LogGP knows messages between processors.  Here the target's processor takes no part (RDMA): its
 * overhead is not paid, and a read is two messages, a request without data and the reply.  For an
 * operation that was called at t, sends s bytes and fetches f:
 *
 *     leave    = max(t + o, the NIC can send again)        the processor is busy until t + o
 *     sent     = leave + (s - 1) G                         it can send again at sent + g
 *     arrived  = sent + L
 *     put      at the origin: sent; at the target, as the origin knows: arrived + L (the answer)
 *     get      reply = max(arrived + L, the NIC can receive again)
 *              complete = reply + (f - 1) G                it can receive again at complete + g
 *
 *     so one get alone takes  o + 2 L + (f - 1) G,  and n small ones to the flush
 *                             n max(o, g) + 2 L + ...
 *
 * Each process has a NIC of its own, as if each were on a node of its own; all others are equally
 * far.  Not modelled: what happens at a target that many read from, and in the network between.
 */

#ifndef NETEM_MODEL_H
#define NETEM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t latency;   /**< L, ns */
    uint64_t overhead;  /**< o, ns */
    uint64_t gap;       /**< g, ns */
    uint64_t bandwidth; /**< 1 / G, megabytes (10^6) per second; 0: G is 0 */
} netem_network_t;

/** The NIC of this process; all 0 at the start. */
typedef struct {
    uint64_t send_again;    /**< ns */
    uint64_t receive_again; /**< ns */
} netem_nic_t;

/** When an operation is complete, ns. */
typedef struct {
    uint64_t origin; /**< the origin's buffers may be used again */
    uint64_t target; /**< and the target has it */
} netem_times_t;

typedef struct {
    const char *name;
    netem_network_t network;
} netem_preset_t;

/** The preset of a name, or NULL. */
const netem_preset_t *netem_model_preset(const char *name);

/** Hand an operation to the NIC. */
netem_times_t netem_model_operation(const netem_network_t *network, netem_nic_t *nic,
                                    uint64_t called, size_t sent, size_t fetched, bool fetches);

/** What a barrier takes after the last process has arrived, ns: dissemination, 2 o + L a round. */
uint64_t netem_model_barrier(const netem_network_t *network, int processes);

#endif /* NETEM_MODEL_H */
