/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The cache that the processes of a node share: one segment of memory that each of them has mapped,
 * wherever it likes. Only numbers are in it, no pointers.
 *
 *     | header | targets | extra | layouts | owners | tags | lines | arena |     fixed places; all
 *                                                 but the first four have memory up to a limit
 *     target: generation, writes on their way
 *     hash -> bucket of 8 tags -> line: key, stamp, first unit, bytes, check -> bytes in the arena
 *     owner of a unit of the arena: the line that has it
 *
 * Hits take no lock. A line has a sequence number, which is odd while the line changes. A hit reads
 * it, then the line, copies the bytes, and reads it again: when it is the same, the bytes are those
 * of the line. When it is odd, or after TRIES changes, the hit is a miss. A line is emptied before
 * its units are given to another one, so whoever copies from them notices.
 *
 * Changes are made under one lock, robust and shared by the processes. Who does not get it within
 * some tries keeps nothing: nobody waits for a process that was stopped. When its owner has died
 * the next one recovers: lines that are odd are emptied, of the others those that do not obey the
 * invariants are, too, and the owners of all units are found anew. Nothing that can be seen by a
 * hit is half done at any moment, so hits go on meanwhile.
 *
 * Validity is as in osc_cached_cache.h: a line carries a stamp, the sum of its target's generation
 * and of the segment's, from before its bytes were asked for. Any process may add a STEP to either.
 * The caller may have another term instead of the target's (more), which it has in the extra part:
 * it must only grow.
 * Own writes: who writes to a target counts it as written to, and adds to its generation, in
 * this order, before the write is issued, and takes it off the count when it is complete; who
 * fetches reads the generation first, and keeps nothing of a target that is being written to.
 *
 * Layouts. A get of bytes that do not lie in one run has a layout in its key: a number that all
 * processes have for the same one (osc_cached_shared_layouts.h).
 *
 * Room. Units of the arena are given out in a circle. A line that was hit stays as often as that,
 * at most USES times, and at most PATIENCE of them per insertion; the others leave. Lines that stay
 * move up to where others have left, so that there are no gaps between them. Before something
 * leaves that could be served, the arena is doubled, and so are the lines when 5/8 of them are in
 * use, or an eighth and the bucket of a new key is full: what is there stays where it is. Lines are
 * split by one more bit of the hash. grow() gets memory for a part of the segment, before anybody
 * touches it.
 *
 * Damage. Each line and each layout has a check of its content. When one that did not change fails
 * it, the header does not look as it should, or a generation of the header or of a target is no
 * multiple of STEP that is possible, the segment is marked, and nobody uses it any more.
 *
 * Invariants (osc_cached_shared_verify returns the number of the first broken one; under the lock):
 *  I1 the numbers of the header are those that this process knows, or in their limits.
 *  I2 no line is odd; one that is not empty has the right check, tag and bucket.
 *  I3 units of lines are below the limit and belong to one line each, as their owners say.
 *  I4 as many lines are in use as the header says; no key twice.
 *  I5 the hand is at a free unit, at the first one of a line, or at the limit.
 *  I6 the layouts are right.
 */
#ifndef OSC_CACHED_SHARED_H
#define OSC_CACHED_SHARED_H

#include "osc_cached_alloc.h"
#include "osc_cached_cache.h"
#include "osc_cached_key.h"
#include "osc_cached_shared_layouts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* each hit compares it: a number that processors make with one instruction */
#define OSC_CACHED_SHARED_MAGIC (UINT64_C(0x6e6f) << 48)

/** What is added to a generation, and its first value: what a stray write leaves is hardly ever so
 * many times that as can have been added. With 2^64 divided by the golden ratio a sum with another
 * number that grows by ones is the same again only when the product of what was added to both has
 * more than 62 bits. */
#define OSC_CACHED_SHARED_STEP UINT64_C(0x9e3779b97f4a7c15)

enum {
    OSC_CACHED_SHARED_UNIT = 16,     /**< bytes of the arena that are given out together */
    OSC_CACHED_SHARED_WAYS = 8,      /**< lines of a bucket; their tags are half a line */
    OSC_CACHED_SHARED_TRIES = 8,     /**< of a hit whose line changes meanwhile */
    OSC_CACHED_SHARED_PATIENCE = 64, /**< lines that stay for an insertion because they were hit */
    OSC_CACHED_SHARED_USES = 3,      /**< hits that are counted, so often the hand passes by */
    OSC_CACHED_SHARED_MOVES = 1024,  /**< units of lines that stay, moved for an insertion */
    OSC_CACHED_SHARED_MEMO = 256,    /**< keys whose lines a process remembers */
};

typedef struct {
    uint64_t memory;     /**< bytes of the arena at the start */
    uint64_t max_memory; /**< that it may become; below 2^36 */
    uint32_t slots;      /**< lines at the start: a power of two, at least a bucket */
    uint32_t max_slots;  /**< the same, that they may become */
    uint32_t targets;    /**< are below this */
    uint64_t extra;      /**< bytes that are the caller's, 0 at first */
    uint64_t seed;       /**< of the hash */
} osc_cached_shared_config_t;

/** Get memory for these bytes of the segment. @return false: there is none */
typedef bool (*osc_cached_shared_grow_fn_t)(void *context, uint64_t offset, uint64_t bytes);

/** Memory for these bytes, which grow got just before, is not needed after all. */
typedef void (*osc_cached_shared_shrink_fn_t)(void *context, uint64_t offset, uint64_t bytes);

typedef struct {
    _Atomic uint64_t generation;
    _Atomic uint64_t writing; /**< processes whose writes are on their way */
} osc_cached_shared_target_t;

typedef struct {
    _Alignas(64) _Atomic uint64_t sequence; /**< odd: it is being changed */
    _Atomic uint64_t address;
    _Atomic uint64_t name; /**< target and layout */
    _Atomic uint64_t stamp;
    _Atomic uint64_t
        place; /**< first unit, and below it the number of bytes; 0: the line is empty */
    _Atomic uint64_t check; /**< of the four */
    _Atomic uint64_t used;  /**< hits that the hand has not asked for yet; up to USES */
} osc_cached_shared_line_t;

typedef struct {
    /* what a hit reads */
    _Alignas(64) _Atomic uint64_t magic; /**< another one: nobody uses it any more */
    _Atomic uint64_t generation;
    _Atomic uint64_t slots; /**< lines */
    _Atomic uint64_t limit; /**< units that have memory */
    /* written by the first process, once */
    _Alignas(64) osc_cached_shared_config_t config;
    /* under the lock; counters are read without it */
    _Alignas(64) pthread_mutex_t lock;
    uint64_t hand;     /**< unit that is given out next, if possible */
    uint64_t occupied; /**< lines that are not empty */
    _Atomic uint64_t recoveries;
    _Atomic uint64_t evictions;
    _Atomic uint64_t growths;
} osc_cached_shared_header_t;

/** A process's view of the segment. What the parts are is not read from the segment again. */
typedef struct {
    osc_cached_shared_header_t *header;
    osc_cached_shared_target_t *targets;
    void *extra;
    osc_cached_shared_layouts_t *layouts;
    _Atomic uint32_t *owners; /**< by unit: line plus 1, or nobody */
    _Atomic uint32_t *tags;
    osc_cached_shared_line_t *lines;
    char *arena;
    osc_cached_key_seed_t seed;
    osc_cached_shared_config_t config;
    osc_cached_shared_grow_fn_t grow;
    osc_cached_shared_shrink_fn_t shrink; /**< set after create or attach; NULL: none */
    void *context;
    osc_cached_more_fn_t more; /**< set after create or attach, by all; NULL: none */
    const void *more_context;
    _Atomic uint64_t recoveries; /**< of those of the header, this process's */
    uint32_t rest;               /**< insertions until grow is asked again */
    uint64_t layouts_used;       /**< bytes of layouts that were seen: never less */
    _Atomic uint32_t memo[OSC_CACHED_SHARED_MEMO]; /**< lines of keys that were hit lately */
} osc_cached_shared_t;

/** Bytes of the segment. The first osc_cached_shared_first(config) of them must have memory; grow
 * is asked for the others. @return 0: the configuration is not good */
uint64_t osc_cached_shared_size(const osc_cached_shared_config_t *config);
uint64_t osc_cached_shared_first(const osc_cached_shared_config_t *config);

/**
 * Make a segment, of bytes that are all 0.
 *
 * @param memory  aligned to 64 bytes
 * @return OSC_CACHED_OK, OSC_CACHED_BAD_ARGUMENT, or OSC_CACHED_NO_MEMORY when grow says so
 */
int osc_cached_shared_create(osc_cached_shared_t *shared, void *memory,
                             const osc_cached_shared_config_t *config,
                             osc_cached_shared_grow_fn_t grow, void *context);

/** Look at a segment that another process has made. @return OSC_CACHED_BAD_ARGUMENT: it is not one
 * with this configuration */
int osc_cached_shared_attach(osc_cached_shared_t *shared, void *memory,
                             const osc_cached_shared_config_t *config,
                             osc_cached_shared_grow_fn_t grow, void *context);

/**
 * The number of a layout: the same for equal ones, in all processes.
 *
 * @param count        of what is described
 * @param description  so many bytes
 * @return 0: there is no room for it
 */
uint32_t osc_cached_shared_layout(osc_cached_shared_t *shared, uint64_t count,
                                  const void *description, size_t bytes);

/** Nobody shall use the segment any more. */
void osc_cached_shared_condemn(osc_cached_shared_t *shared);

static inline bool osc_cached_shared_is_good(const osc_cached_shared_t *shared)
{
    return OSC_CACHED_SHARED_MAGIC
           == atomic_load_explicit(&shared->header->magic, memory_order_relaxed);
}

/** The stamp of bytes, with this function for its second term, which must be the one of the view. A
 * hit needs no order here: who knows of an invalidation sees it, and what happens meanwhile comes
 * after the hit. */
__attribute__((__always_inline__)) static inline uint64_t
osc_cached_shared_sum(const osc_cached_shared_t *shared, osc_cached_more_fn_t more, int32_t target,
                      uint64_t address, size_t bytes)
{
    uint64_t sum = atomic_load_explicit(&shared->header->generation, memory_order_relaxed);

    return (NULL == more) ? sum
                                + atomic_load_explicit(&shared->targets[target].generation,
                                                       memory_order_relaxed)
                          : sum + more(shared->more_context, target, address, bytes);
}

/** The stamp of a get that is about to be issued; read osc_cached_shared_is_written afterwards. */
static inline uint64_t osc_cached_shared_stamp(const osc_cached_shared_t *shared, int32_t target,
                                               uint64_t address, size_t bytes)
{
    uint64_t stamp = osc_cached_shared_sum(shared, shared->more, target, address, bytes);

    atomic_thread_fence(memory_order_acquire);
    return stamp;
}

/** Whether somebody's write to the target is on its way. */
static inline bool osc_cached_shared_is_written(const osc_cached_shared_t *shared, int32_t target)
{
    return 0 != atomic_load_explicit(&shared->targets[target].writing, memory_order_acquire);
}

/** A process is about to write to a target that it does not write to already. */
static inline void osc_cached_shared_write_begin(osc_cached_shared_t *shared, int32_t target)
{
    atomic_fetch_add(&shared->targets[target].writing, 1);
    atomic_fetch_add((NULL == shared->more) ? &shared->targets[target].generation
                                            : &shared->header->generation,
                     OSC_CACHED_SHARED_STEP);
}

/** All its writes there are complete. */
static inline void osc_cached_shared_write_end(osc_cached_shared_t *shared, int32_t target)
{
    atomic_fetch_sub(&shared->targets[target].writing, 1);
}

/** Nothing that was fetched so far will be served. */
static inline void osc_cached_shared_invalidate(osc_cached_shared_t *shared)
{
    atomic_fetch_add(&shared->header->generation, OSC_CACHED_SHARED_STEP);
}

static inline uint64_t osc_cached_shared_name(osc_cached_key_t key)
{
    return (uint64_t) key.layout << 32 | (uint32_t) key.target;
}

static inline uint64_t osc_cached_shared_check(uint64_t address, uint64_t name, uint64_t stamp,
                                               uint64_t place)
{
    /* any change of one of them changes it, and each hit has the time for it */
    return (address ^ name) + (stamp ^ place);
}

static inline uint64_t osc_cached_shared_units(uint64_t bytes)
{
    return (bytes + OSC_CACHED_SHARED_UNIT - 1) / OSC_CACHED_SHARED_UNIT;
}

/** Never 0, which is that of an empty line. */
static inline uint32_t osc_cached_shared_tag(uint64_t hash)
{
    return (uint32_t) (hash >> 32) | 1;
}

static inline void osc_cached_shared_copy(void *to, const void *from, size_t bytes)
{
#ifdef __SANITIZE_THREAD__
    /* it cannot know that what is read while it changes is thrown away */
    for (size_t i = 0; i < bytes; ++i) {
        __atomic_store_n((char *) to + i,
                         __atomic_load_n((const char *) from + i, __ATOMIC_RELAXED),
                         __ATOMIC_RELAXED);
    }
#else
    memmove(to, from, bytes); /* lines that move do so by less than their length, too */
#endif
}

/** What was read or written before it comes before what follows. */
static inline void osc_cached_shared_fence(void)
{
    atomic_thread_fence(memory_order_acq_rel);
}

/** What a look at a line has found. */
typedef enum {
    OSC_CACHED_SHARED_HIT,     /**< the bytes are in the buffer */
    OSC_CACHED_SHARED_MISS,    /**< it has the key, and no bytes to serve, or it changes */
    OSC_CACHED_SHARED_OTHER,   /**< it has another key, or none */
    OSC_CACHED_SHARED_CHANGED, /**< it has changed meanwhile: look again */
} osc_cached_shared_found_t;

/** Copy bytes of a line to an address, or with a function to a buffer that has a type, if it has
 * the key, and they are valid. */
__attribute__((__always_inline__)) static inline osc_cached_shared_found_t
osc_cached_shared_look(osc_cached_shared_t *shared, uint64_t slot, osc_cached_key_t key,
                       uint32_t skip, void *to, size_t bytes, const osc_cached_buffer_t *typed,
                       osc_cached_copy_fn_t copy, osc_cached_more_fn_t more)
{
    osc_cached_shared_line_t *line = &shared->lines[slot];
    uint64_t sequence = atomic_load_explicit(&line->sequence, memory_order_acquire);
    uint64_t address = atomic_load_explicit(&line->address, memory_order_relaxed);
    uint64_t own = atomic_load_explicit(&line->name, memory_order_relaxed);
    uint64_t stamp = atomic_load_explicit(&line->stamp, memory_order_relaxed);
    uint64_t place = atomic_load_explicit(&line->place, memory_order_relaxed);
    uint64_t check = atomic_load_explicit(&line->check, memory_order_relaxed);
    const char *from = shared->arena + (place >> 32) * OSC_CACHED_SHARED_UNIT + skip;
    uint64_t used;

    if (address != key.address || own != osc_cached_shared_name(key)) {
        return OSC_CACHED_SHARED_OTHER;
    }
    if (0 != sequence % 2) {
        return OSC_CACHED_SHARED_MISS;
    }
    /* what passes was written together, and units once given have memory for ever */
    if (check != osc_cached_shared_check(address, own, stamp, place)) {
        atomic_thread_fence(memory_order_acquire);
        if (sequence != atomic_load_explicit(&line->sequence, memory_order_relaxed)) {
            return OSC_CACHED_SHARED_CHANGED;
        }
        osc_cached_shared_condemn(shared);
        return OSC_CACHED_SHARED_MISS;
    }
    if ((uint32_t) place < skip + bytes
        || stamp != osc_cached_shared_sum(shared, more, key.target, address, (uint32_t) place)) {
        return (0 == place) ? OSC_CACHED_SHARED_OTHER : OSC_CACHED_SHARED_MISS; /* empty */
    }
    if (NULL == typed) {
        osc_cached_shared_copy(to, from, bytes);
    } else {
        copy(typed, (void *) from, bytes, true);
    }
    atomic_thread_fence(memory_order_acquire);
    if (sequence != atomic_load_explicit(&line->sequence, memory_order_relaxed)) {
        return OSC_CACHED_SHARED_CHANGED;
    }
    used = atomic_load_explicit(&line->used, memory_order_relaxed);
    if (used < OSC_CACHED_SHARED_USES) { /* of several at the same time one may be lost */
        atomic_store_explicit(&line->used, used + 1, memory_order_relaxed);
    }
    return OSC_CACHED_SHARED_HIT;
}

/** osc_cached_shared_hit when the line is not that of the last time, or has changed. */
bool osc_cached_shared_hit_slowly(osc_cached_shared_t *shared, osc_cached_key_t key, uint32_t skip,
                                  void *to, size_t bytes, const osc_cached_buffer_t *typed,
                                  osc_cached_copy_fn_t copy, bool remember);

/** Where the line of a key is remembered. */
static inline _Atomic uint32_t *osc_cached_shared_memo(osc_cached_shared_t *shared,
                                                       osc_cached_key_t key)
{
    uint64_t mixed = key.address ^ key.address >> 8 ^ (uint64_t) (uint32_t) key.target << 3;

    return &shared->memo[mixed / 8 % OSC_CACHED_SHARED_MEMO];
}

/**
 * Copy bytes of a line, if they are there.
 *
 * @param to     where; of a buffer with a type any
 * @param typed  NULL, or that buffer
 * @param skip   bytes from the begin of the line's
 * @param copy   for buffers with a type
 * @param more   that of the view, for compilers that know it
 * @param remember  where the line is: not each time, when several threads have the same view
 * @return whether they were; if not, anything may be in the buffer
 */
__attribute__((__always_inline__)) static inline bool
osc_cached_shared_hit(osc_cached_shared_t *shared, osc_cached_key_t key, uint32_t skip, void *to,
                      size_t bytes, const osc_cached_buffer_t *typed, osc_cached_copy_fn_t copy,
                      osc_cached_more_fn_t more, bool remember)
{
    osc_cached_shared_found_t found;
    uint32_t slot;

    if (!osc_cached_shared_is_good(shared)) {
        return false;
    }
    /* any line may be there: only its key is believed */
    slot = atomic_load_explicit(osc_cached_shared_memo(shared, key), memory_order_relaxed);
    found = osc_cached_shared_look(shared, slot, key, skip, to, bytes, typed, copy, more);
    return OSC_CACHED_SHARED_HIT == found
           || (OSC_CACHED_SHARED_MISS != found
               && osc_cached_shared_hit_slowly(shared, key, skip, to, bytes, typed, copy,
                                               remember));
}

/**
 * Keep what a get has brought.
 *
 * @param stamp   osc_cached_shared_stamp from before the get was issued
 * @param buffer  the bytes; with a type they are read by copy
 * @return whether it is there now; if not: it is not valid any more, or there is no room, or others
 *         change the segment
 */
bool osc_cached_shared_publish(osc_cached_shared_t *shared, osc_cached_key_t key, uint64_t stamp,
                               const osc_cached_buffer_t *buffer, size_t bytes,
                               osc_cached_copy_fn_t copy);

/** Bytes of the segment that have memory. */
uint64_t osc_cached_shared_memory(const osc_cached_shared_t *shared);

/** @return 0, or the number of the first broken invariant of this file; -1: the lock is not free */
int osc_cached_shared_verify(osc_cached_shared_t *shared);

#endif /* OSC_CACHED_SHARED_H */
