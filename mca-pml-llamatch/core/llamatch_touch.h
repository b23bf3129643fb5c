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

#endif /* LLAMATCH_TOUCH_H */
