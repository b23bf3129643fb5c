/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Cooperative caching of windows on files, in mode coherent: DATA brings the bytes of a block, into
 * a pool of frames of this process, and who has a block in its pool sends it to others in the place
 * of its owner.
 *
 *     owner    FILL --> in memory, or nobody else has it: read it, DATA   (_fill, _send)
 *                       else: FWD to a sharer
 *     sharer   FWD  --> DATA from its frame, or BACK                      (_hear, _send)
 *     reader   DATA --> a frame, and the gets that wait for it            (_hear)
 *              get  --> a copy of frames, or FILL, and it waits           (_get)
 *
 * What leaves a pool, and who forwards, is for core/osc_cached_keep.h to say; who may keep what,
 * for core/osc_cached_copies.h.  A frame is valid while its stamp is the one of now.
 *
 * All functions are called with the lock of the helper's server.
 */

#ifndef OSC_CACHED_COOPERATE_H
#define OSC_CACHED_COOPERATE_H

#include "osc_cached_coherence.h"
#include "core/osc_cached_directory.h"
#include "core/osc_cached_keep.h"

BEGIN_C_DECLS

typedef struct {
    ompi_osc_cached_cooperate_t policy; /**< not off */
    struct ompi_osc_cached_helper_t *helper;
    osc_cached_copies_t *copies;
    const osc_cached_directory_t *directory;
    const osc_cached_post_t *post;
    uint64_t size; /**< bytes of our own memory */
    /** Send a message with data, of malloc(), or NULL. */
    void (*send)(void *context, const osc_cached_message_t *message, void *data, uint32_t bytes);
    void *context;
    /** The lock. */
    void (*enter)(void *context);
    void (*leave)(void *context);
} ompi_osc_cached_cooperate_config_t;

typedef struct ompi_osc_cached_cooperation_t ompi_osc_cached_cooperation_t;

/** A get that is to be fetched past the pool. */
typedef struct {
    char *buffer;
    uint64_t address; /**< in the target's memory */
    size_t bytes;
    int target;
} ompi_osc_cached_fetch_t;

/** @return NULL: there is no memory */
ompi_osc_cached_cooperation_t *
ompi_osc_cached_cooperate_create(const ompi_osc_cached_cooperate_config_t *config);
void ompi_osc_cached_cooperate_destroy(ompi_osc_cached_cooperation_t *cooperation);

/** A FILL has come. @return OSC_CACHED_FILL_FORWARD, or 0 */
unsigned ompi_osc_cached_cooperate_fill(ompi_osc_cached_cooperation_t *cooperation, uint64_t block);
/** A DATA is to be sent, of our memory or of a frame. */
void ompi_osc_cached_cooperate_send(ompi_osc_cached_cooperation_t *cooperation,
                                    const osc_cached_message_t *message);
/** A message for our copies has come, with data. */
void ompi_osc_cached_cooperate_hear(ompi_osc_cached_cooperation_t *cooperation,
                                    const osc_cached_message_t *message, const void *data,
                                    uint32_t bytes);

/**
 * A get; see ompi_osc_cached_coherence_get.
 *
 * @param pool  bytes that the window may keep, which the first get asks for; 0: half of what there
 *              is
 */
ompi_osc_cached_pool_t ompi_osc_cached_cooperate_get(ompi_osc_cached_cooperation_t *cooperation,
                                                     const ompi_osc_cached_fetch_t *get, bool waits,
                                                     uint64_t pool);
/** Is any get of a target, or of OSC_CACHED_EVERYBODY, waiting? */
bool ompi_osc_cached_cooperate_waits(const ompi_osc_cached_cooperation_t *cooperation, int target);
/** All gets that wait are to be fetched: somebody has died. */
void ompi_osc_cached_cooperate_give_up(ompi_osc_cached_cooperation_t *cooperation);
/** Gets that wait, whose buffers are exposed, are to be fetched: blocks are not copied to them. */
void ompi_osc_cached_cooperate_withdraw(ompi_osc_cached_cooperation_t *cooperation);
/** Gets that wait, or are to be fetched.  Needs no lock. */
uint32_t ompi_osc_cached_cooperate_gets(const ompi_osc_cached_cooperation_t *cooperation);
/** Take one of those that are to be fetched. @return false: there is none */
bool ompi_osc_cached_cooperate_take(ompi_osc_cached_cooperation_t *cooperation, int target,
                                    ompi_osc_cached_fetch_t *fetch);

/** Times that a copy became the only one. */
uint64_t ompi_osc_cached_cooperate_lasts(const ompi_osc_cached_cooperation_t *cooperation);

END_C_DECLS

#endif /* OSC_CACHED_COOPERATE_H */
