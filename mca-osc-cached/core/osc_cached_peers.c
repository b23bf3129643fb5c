/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The targets of a window that are used: see the header for the layout.
 */
#include "osc_cached_peers.h"

#include <string.h>

struct osc_cached_peers_chunk_t {
    osc_cached_peers_chunk_t *next;
    uint32_t size; /* peers */
    uint32_t used; /* of these */
    osc_cached_peer_t peers[];
};

const osc_cached_peer_t osc_cached_nobody = {.rank = INT32_MIN, .state = OSC_CACHED_PEER_BUSY};

static void set_slots(osc_cached_peers_t *peers, osc_cached_peer_t **slots, uint32_t num_slots)
{
    peers->slots = slots;
    peers->num_slots = num_slots;
    for (peers->shift = 32; 1 < num_slots; num_slots /= 2) {
        --peers->shift;
    }
    for (uint32_t i = 0; i < peers->num_slots; ++i) {
        slots[i] = (osc_cached_peer_t *) &osc_cached_nobody;
    }
}

static void free_slots(osc_cached_peers_t *peers, osc_cached_peer_t **slots, uint32_t num_slots)
{
    if (slots != peers->few) {
        peers->alloc.free(peers->alloc.context, slots, num_slots * sizeof(*slots));
    }
}

static size_t chunk_bytes(uint32_t size)
{
    return sizeof(osc_cached_peers_chunk_t) + size * sizeof(osc_cached_peer_t);
}

void osc_cached_peers_create(osc_cached_peers_t *peers, uint32_t num_ranks,
                             const osc_cached_alloc_t *alloc)
{
    *peers = (osc_cached_peers_t){.num_ranks = num_ranks, .alloc = *alloc};
    peers->recent = (osc_cached_peer_t *) &osc_cached_nobody;
    set_slots(peers, peers->few, OSC_CACHED_PEERS_FEW);
}

void osc_cached_peers_destroy(osc_cached_peers_t *peers)
{
    osc_cached_peers_chunk_t *chunk;

    while (NULL != (chunk = peers->first_chunk)) {
        peers->first_chunk = chunk->next;
        peers->alloc.free(peers->alloc.context, chunk, chunk_bytes(chunk->size));
    }
    free_slots(peers, peers->slots, peers->num_slots);
}

osc_cached_peer_t *osc_cached_peers_find_slowly(const osc_cached_peers_t *peers, int rank)
{
    uint32_t hash = osc_cached_peers_hash(rank), slot = hash >> peers->shift;

    while (rank != peers->slots[slot]->rank && !osc_cached_is_nobody(peers->slots[slot])) {
        slot = osc_cached_peers_next_slot(peers, hash, slot);
    }
    return peers->slots[slot];
}

/* Enter a peer that is not there. */
static void enter(osc_cached_peers_t *peers, osc_cached_peer_t *peer)
{
    uint32_t hash = osc_cached_peers_hash(peer->rank), slot = hash >> peers->shift;

    while (!osc_cached_is_nobody(peers->slots[slot])) {
        slot = osc_cached_peers_next_slot(peers, hash, slot);
    }
    peers->slots[slot] = peer;
}

/* Slots for one more peer. */
static bool has_slot(osc_cached_peers_t *peers)
{
    uint32_t before = peers->num_slots;
    osc_cached_peer_t **old = peers->slots, **slots;

    if (peers->num_peers < before / 2) {
        return true;
    }
    slots = peers->alloc.alloc(peers->alloc.context, 64, 2 * (size_t) before * sizeof(*slots));
    if (NULL == slots) {
        return false;
    }
    set_slots(peers, slots, 2 * before);
    for (uint32_t i = 0; i < before; ++i) {
        if (!osc_cached_is_nobody(old[i])) {
            enter(peers, old[i]);
        }
    }
    free_slots(peers, old, before);
    return true;
}

/* Memory for one more peer. */
static bool has_room(osc_cached_peers_t *peers)
{
    osc_cached_peers_chunk_t *last = peers->last_chunk, *chunk;
    uint32_t size = (NULL == last) ? 1 : 2 * last->size;
    uint32_t left = peers->num_ranks - peers->num_peers;

    if (NULL != last && last->used < last->size) {
        return true;
    }
    size = (size < OSC_CACHED_PEERS_CHUNK) ? size : OSC_CACHED_PEERS_CHUNK;
    size = (size < left) ? size : left;
    chunk = (0 < size) ? peers->alloc.alloc(peers->alloc.context,
                                            _Alignof(osc_cached_peers_chunk_t), chunk_bytes(size))
                       : NULL;
    if (NULL == chunk) {
        return false;
    }
    chunk->next = NULL;
    chunk->size = size;
    chunk->used = 0;
    if (NULL == last) {
        peers->first_chunk = chunk;
    } else {
        last->next = chunk;
    }
    peers->last_chunk = chunk;
    return true;
}

osc_cached_peer_t *osc_cached_peers_add(osc_cached_peers_t *peers, int rank)
{
    osc_cached_peer_t *peer = osc_cached_peers_find(peers, rank);

    if (!osc_cached_is_nobody(peer)) {
        return peer;
    }
    if (!has_slot(peers) || !has_room(peers)) {
        peers->lacking = true;
        return peer;
    }
    peer = &peers->last_chunk->peers[peers->last_chunk->used++];
    *peer = (osc_cached_peer_t){.rank = rank, .profit = OSC_CACHED_PROFIT_START};
    enter(peers, peer);
    ++peers->num_peers;
    return peer;
}

osc_cached_peer_t *osc_cached_peers_next(const osc_cached_peers_t *peers,
                                         osc_cached_peers_place_t *place)
{
    if (NULL == place->chunk) {
        place->chunk = peers->first_chunk;
        place->next = 0;
    } else if (place->next == place->chunk->size && NULL != place->chunk->next) {
        place->chunk = place->chunk->next;
        place->next = 0;
    }
    return (NULL != place->chunk && place->next < place->chunk->used)
               ? &place->chunk->peers[place->next++]
               : NULL;
}

int osc_cached_peers_verify(const osc_cached_peers_t *peers)
{
    osc_cached_peers_place_t place = {0};
    const osc_cached_peer_t *peer;
    uint32_t in_chunks = 0, in_slots = 0;

    if (peers->num_slots < OSC_CACHED_PEERS_FEW || 0 != (peers->num_slots & (peers->num_slots - 1))
        || UINT64_C(1) << (32 - peers->shift) != peers->num_slots
        || peers->num_slots / 2 < peers->num_peers) {
        return 1;
    }
    while (NULL != (peer = osc_cached_peers_next(peers, &place))) {
        if (peer->rank < 0 || peer != osc_cached_peers_find(peers, peer->rank)) {
            return 2;
        }
        ++in_chunks;
    }
    for (uint32_t i = 0; i < peers->num_slots; ++i) {
        in_slots += !osc_cached_is_nobody(peers->slots[i]);
    }
    if (in_chunks != peers->num_peers || in_slots != peers->num_peers) {
        return 3;
    }
    return (peers->num_peers <= peers->num_ranks) ? 0 : 4;
}
