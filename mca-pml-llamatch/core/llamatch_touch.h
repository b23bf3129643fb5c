/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Reading a cache line only to have it in a cache.
 *
 * The owner of the line may write to it at the same time, with plain stores. In C that would be a
 * data race even with an atomic load, so on the usual processors the load is one instruction of
 * assembly: outside of C's memory model, and the value is thrown away. Elsewhere it is a relaxed
 * atomic load. A load is used and not a prefetch, because a prefetch may be dropped.
 */
#ifndef LLAMATCH_TOUCH_H
#define LLAMATCH_TOUCH_H

#include "llamatch_memory.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/** How a line is kept warm. */
typedef enum {
    LLAMATCH_HEAT_LOAD = 0,        /**< load it: warms the caches of the heating core */
    LLAMATCH_HEAT_LOAD_DEMOTE = 1, /**< load it, then CLDEMOTE: moves it to the shared cache */
} llamatch_heat_t;

/** Load one word of the line at @p address, which is 4-byte aligned. */
static inline void llamatch_touch_line(const void *address)
{
#if defined(__x86_64__)
    uint32_t value;
    __asm__ volatile("movl (%1), %0" : "=r"(value) : "r"(address));
#elif defined(__aarch64__)
    uint32_t value;
    __asm__ volatile("ldr %w0, [%1]" : "=r"(value) : "r"(address));
#else
    (void) atomic_load_explicit((const _Atomic uint32_t *) address, memory_order_relaxed);
#endif
}

/** Ask that the line moves to the shared cache. A no-operation on processors without CLDEMOTE. */
static inline void llamatch_demote_line(const void *address)
{
#if defined(__x86_64__)
    /* cldemote (%rax), spelled in bytes for assemblers that do not know it */
    __asm__ volatile(".byte 0x0f, 0x1c, 0x00" : : "a"(address));
#else
    (void) address;
#endif
}

/** Lines between two looks at the flag that ends a walk: 64 KiB, some 10 us from a cold memory. */
#define LLAMATCH_TOUCH_PIECE ((size_t) 1024 * LLAMATCH_LINE)

/**
 * Touch every line of [address, address + bytes); address is line-aligned.
 *
 * @param stop  ends the walk when it becomes true; NULL: never
 * @return bytes touched
 */
static inline size_t llamatch_touch(const void *address, size_t bytes, llamatch_heat_t how,
                                    const atomic_bool *stop)
{
    const char *line = address;
    size_t done = 0;

    while (done < bytes
           && !(NULL != stop && atomic_load_explicit((atomic_bool *) stop, memory_order_relaxed))) {
        size_t piece = (bytes - done < LLAMATCH_TOUCH_PIECE) ? bytes - done : LLAMATCH_TOUCH_PIECE;

        for (size_t at = 0; at < piece; at += LLAMATCH_LINE) {
            llamatch_touch_line(line + done + at);
        }
        for (size_t at = 0; LLAMATCH_HEAT_LOAD_DEMOTE == how && at < piece; at += LLAMATCH_LINE) {
            llamatch_demote_line(line + done + at);
        }
        done += piece;
    }
    return done;
}

/**
 * What a search touches before it comes to an array: structures of communicators and peers that are
 * not the arena's and may be freed at any time, so they are prefetched. That never faults, whatever
 * became of the address, and needs no lock on either side. A table of fixed size: of two addresses
 * with the same slot the later one counts, so what a pass can cost is bounded.
 */
#define LLAMATCH_HOT_SLOTS 256
#define LLAMATCH_HOT_BYTES \
    ((size_t) 5 * LLAMATCH_LINE) /* of each: a peer, or what matching reads of an engine */

typedef struct llamatch_hot {
    _Atomic uintptr_t slots[LLAMATCH_HOT_SLOTS]; /**< 0: none */
} llamatch_hot_t;

static inline void llamatch_hot_add(llamatch_hot_t *hot, const void *address)
{
    uint64_t hash = (uint64_t) (uintptr_t) address * UINT64_C(0x9e3779b97f4a7c15);

    atomic_store_explicit(&hot->slots[hash >> 56], (uintptr_t) address, memory_order_relaxed);
}

/** Forget all. Who adds one at the same time may lose it. */
static inline void llamatch_hot_clear(llamatch_hot_t *hot)
{
    for (size_t i = 0; i < LLAMATCH_HOT_SLOTS; ++i) {
        atomic_store_explicit(&hot->slots[i], 0, memory_order_relaxed);
    }
}

/** @return bytes touched, at most @p max_bytes */
static inline size_t llamatch_hot_touch(llamatch_hot_t *hot, size_t max_bytes)
{
    size_t done = 0;

    for (size_t i = 0; i < LLAMATCH_HOT_SLOTS && LLAMATCH_HOT_BYTES <= max_bytes - done; ++i) {
        const char *address =
            (const char *) atomic_load_explicit(&hot->slots[i], memory_order_relaxed);

        for (size_t at = 0; NULL != address && at < LLAMATCH_HOT_BYTES; at += LLAMATCH_LINE) {
            __builtin_prefetch(address + at);
        }
        done += (NULL != address) ? LLAMATCH_HOT_BYTES : 0;
    }
    return done;
}

#endif /* LLAMATCH_TOUCH_H */
