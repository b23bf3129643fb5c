/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The targets of a window, with what is known of each: only those that are used take memory.
 *
 *     slots, by rank             chunks of peers, 128 bytes each
 *     | . | * | . | * | . |      | peer 0 |   | peer 1 | peer 2 |   | peer 3 | ...
 *           |       '--------------------------^
 *           '-----------------------^
 *
 * Slots are a power of two, at most half of them in use. Of the rank times the golden ratio, the
 * upper bits tell which slot is looked at first, the middle ones how far away the next one is:
 * neighbours and strides are spread evenly, and where a stride is not (those that are Fibonacci
 * numbers) the steps still differ. An empty slot holds the address of nobody, a peer with a rank
 * that no target has, so that a search compares ranks and nothing else. Peers never move.
 *
 * When there is no memory for a target it is not there, and `lacking` says that such a target
 * exists.
 *
 * Nothing here is locked; the owner holds its lock.
 *
 * Invariants (osc_cached_peers_verify returns the number of the first broken one):
 *  I1 the number of slots is a power of two, at least FEW, and at least twice that of peers.
 *  I2 each peer of the chunks is found by its rank, and ranks are not negative.
 *  I3 as many slots are in use as there are peers.
 *  I4 there are no more peers than ranks.
 */
#ifndef OSC_CACHED_PEERS_H
#define OSC_CACHED_PEERS_H

#include "osc_cached_alloc.h"
#include "osc_cached_cache.h"
#include "osc_cached_profit.h"

#include <stdbool.h>
#include <stdint.h>

/**
 * What is outstanding at a target: the state of a peer.
 *
 *             counted    uncounted  flush or unlock  of all targets,
 *             operation  get        of the target    or end of epoch
 *     IDLE    BUSY       LOOSE      IDLE             IDLE              a flush may stay local
 *     LOOSE   BOTH       LOOSE      IDLE             LOOSE             it goes to the inner one
 *     BUSY    BUSY       BOTH       IDLE (1)         IDLE (1)          the same; in the busy list
 *     BOTH    BOTH       BOTH       IDLE (1)         LOOSE (2)         the same; in the busy list
 *
 * Uncounted are gets that are passed through because caching them does not pay.
 * (1) BUSY when another thread has issued something meanwhile.  (2) BOTH, then.
 */
typedef enum {
    OSC_CACHED_PEER_IDLE = 0,
    OSC_CACHED_PEER_LOOSE = 1,
    OSC_CACHED_PEER_BUSY = 2,
    OSC_CACHED_PEER_BOTH = 3, /**< BUSY and LOOSE */
} osc_cached_peer_state_t;

/** What is known of one target. All 0 at the start, but for rank and profit. */
typedef struct osc_cached_peer_t {
    /* the first line: all that a hit and its flush need */
    _Alignas(64) osc_cached_profit_t profit;
    osc_cached_target_t cache;
    int32_t rank;
    uint8_t state;        /**< osc_cached_peer_state_t */
    bool accessible;      /**< locked, or in the group of MPI_Win_start */
    bool untimed;         /**< gets are not measured until the next synchronisation */
    bool reported;        /**< a difference that verification found */
    uint32_t writing;     /**< own writes that are being issued */
    uint32_t batch_timed; /**< real gets that were measured since the last synchronisation */

    /* the second line: what is outstanding, and what it costs */
    uint64_t issued;          /**< sequence number of the last operation to it */
    uint64_t completed;       /**< up to here all are complete at the target */
    uint64_t completed_local; /**< up to here all are complete at the origin */
    uint64_t written;         /**< sequence number of the last own write to it */
    struct osc_cached_peer_t *next_busy, *prev_busy;
    uint32_t round;      /**< number of the cache's gets, modulo 2^32, when profit's round began */
    uint32_t batch_gets; /**< real gets since the last synchronisation */
    uint32_t batch_ns;   /**< that those measured took; at most UINT32_MAX */
    uint32_t batches;    /**< synchronisations with real gets */
} osc_cached_peer_t;

_Static_assert(128 == sizeof(osc_cached_peer_t), "a peer is two lines");

enum {
    OSC_CACHED_PEERS_FEW = 8,    /**< slots at the start: one line */
    OSC_CACHED_PEERS_CHUNK = 256 /**< peers of the largest chunk; the first has one, the next two */
};

typedef struct osc_cached_peers_chunk_t osc_cached_peers_chunk_t;

typedef struct {
    osc_cached_peer_t **slots;
    osc_cached_peer_t
        *recent;    /**< the last one that was found: a get and its flush have the same */
    uint32_t shift; /**< of a hash: what is left is below num_slots */
    uint32_t num_slots;
    uint32_t num_peers;
    uint32_t num_ranks;
    bool lacking; /**< there was no memory for a target */
    osc_cached_peers_chunk_t *first_chunk, *last_chunk;
    osc_cached_alloc_t alloc;
    osc_cached_peer_t *few[OSC_CACHED_PEERS_FEW]; /**< the slots at the start */
} osc_cached_peers_t;

/** A place among the peers; all 0 at the start. */
typedef struct {
    osc_cached_peers_chunk_t *chunk;
    uint32_t next; /**< peer of the chunk */
} osc_cached_peers_place_t;

/** In the place of a target that has no peer: BUSY, so that the slow path looks at it. */
extern const osc_cached_peer_t osc_cached_nobody;

static inline bool osc_cached_is_nobody(const osc_cached_peer_t *peer)
{
    return &osc_cached_nobody == peer;
}

/** No target is used yet. @param num_ranks  targets are below this */
void osc_cached_peers_create(osc_cached_peers_t *peers, uint32_t num_ranks,
                             const osc_cached_alloc_t *alloc);

void osc_cached_peers_destroy(osc_cached_peers_t *peers);

static inline uint32_t osc_cached_peers_hash(int rank)
{
    return (uint32_t) rank * UINT32_C(0x9e3779b1);
}

/** The slot after one that holds another target. Steps are odd: all slots are seen. */
static inline uint32_t osc_cached_peers_next_slot(const osc_cached_peers_t *peers, uint32_t hash,
                                                  uint32_t slot)
{
    return (slot + (hash >> 8 | 1)) & (peers->num_slots - 1);
}

/** The rest of osc_cached_peers_find. */
osc_cached_peer_t *osc_cached_peers_find_slowly(const osc_cached_peers_t *peers, int rank);

/** The peer of a target, or nobody, who must not be written to. */
static inline osc_cached_peer_t *osc_cached_peers_find(const osc_cached_peers_t *peers, int rank)
{
    osc_cached_peer_t *peer = peers->slots[osc_cached_peers_hash(rank) >> peers->shift];

    return (rank == peer->rank) ? peer : osc_cached_peers_find_slowly(peers, rank);
}

/** The same, asking first the one that was found last. */
static inline osc_cached_peer_t *osc_cached_peers_find_again(osc_cached_peers_t *peers, int rank)
{
    if (rank != peers->recent->rank) {
        peers->recent = osc_cached_peers_find(peers, rank);
    }
    return peers->recent;
}

/** The same without a function call, for those who can do without an answer: also nobody when the
 * first slot holds another one. */
static inline osc_cached_peer_t *osc_cached_peers_glance(osc_cached_peers_t *peers, int rank)
{
    osc_cached_peer_t *peer = peers->recent;

    if (rank != peer->rank) {
        peer = peers->slots[osc_cached_peers_hash(rank) >> peers->shift];
        if (rank != peer->rank) {
            return (osc_cached_peer_t *) &osc_cached_nobody;
        }
        peers->recent = peer;
    }
    return peer;
}

/** The peer of a target, from now on. Without memory: nobody, and `lacking` is set. */
osc_cached_peer_t *osc_cached_peers_add(osc_cached_peers_t *peers, int rank);

/** One peer after the other, in the order in which they were added, then NULL. Those that are added
 * meanwhile are also visited. */
osc_cached_peer_t *osc_cached_peers_next(const osc_cached_peers_t *peers,
                                         osc_cached_peers_place_t *place);

/** @return 0, or the number of the first broken invariant of this file */
int osc_cached_peers_verify(const osc_cached_peers_t *peers);

#endif /* OSC_CACHED_PEERS_H */
