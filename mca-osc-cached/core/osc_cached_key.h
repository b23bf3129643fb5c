/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * What names cached bytes: the target's rank and the byte address (semantics A7). The size is not
 * part of the name, so that a get of fewer or more bytes at the same address finds the entry. Gets
 * that collect bytes from several places have the places in their name as well: the layout.
 *
 * The hash must spread keys whose addresses differ only in a few high bits, as matrix columns and
 * power-of-two records do. A fixed polynomial taken modulo a power of two does not: of 256 such
 * keys 1 to 3 were found again. Here every bit of the key changes every bit of the hash with
 * probability 1/2, and an owner with another seed gets another hash.
 */
#ifndef OSC_CACHED_KEY_H
#define OSC_CACHED_KEY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint64_t address; /**< bytes from the start of the target's window, or a virtual address */
    int32_t target;   /**< rank in the window's communicator */
    uint32_t layout;  /**< 0: one run of bytes; else which layout of several, the owner's number */
} osc_cached_key_t;

/** Two random numbers made of one seed. */
typedef struct {
    uint64_t offset;
    uint64_t factor; /**< odd */
} osc_cached_key_seed_t;

static inline bool osc_cached_key_equal(osc_cached_key_t a, osc_cached_key_t b)
{
    return a.address == b.address && a.target == b.target && a.layout == b.layout;
}

/** A bijection of 64 bits with full avalanche: the finaliser of splitmix64. */
static inline uint64_t osc_cached_key_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline osc_cached_key_seed_t osc_cached_key_seed(uint64_t seed)
{
    osc_cached_key_seed_t made;

    made.offset = osc_cached_key_mix(seed + UINT64_C(0x9e3779b97f4a7c15));
    made.factor = osc_cached_key_mix(seed + UINT64_C(0x3c6ef372fe94f82a)) | 1;
    return made;
}

/**
 * All addresses of one target and layout get different hashes. Other keys may share one (128 bits
 * do not fit in 64), which ones depends on the seed.
 */
static inline uint64_t osc_cached_key_hash(const osc_cached_key_seed_t *seed, osc_cached_key_t key)
{
    return osc_cached_key_mix((key.address ^ seed->offset)
                              + ((uint64_t) key.layout << 32 | (uint32_t) key.target)
                                    * seed->factor);
}

#endif /* OSC_CACHED_KEY_H */
