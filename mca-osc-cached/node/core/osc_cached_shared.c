/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Changes of the segment, and recovery: see the header for why this is right.
 *
 * The order of steps is what makes a death at any moment harmless. An insertion chooses units,
 * empties the lines that have them, writes the bytes, and then the line. A doubling of the lines
 * writes each that moves to its new place, where nobody looks yet, and empties the old one; the new
 * number of lines is told last. Bytes that move do so while their line is odd, over units that
 * nobody has.
 */
#define _POSIX_C_SOURCE 200809L /* robust mutexes */

#include "osc_cached_shared.h"

#include <errno.h>
#include <sched.h>

enum {
    LOCK_TRIES = 100,    /* with a yield in between */
    GROW_REST = 4096,    /* insertions after grow has failed */
    LEAST_GROWTH = 4096, /* units */
    LONG_COPY = 32768,   /* bytes that memmove may write past the caches */
};

/* The owner of a unit that no line has: neither what stray zeros nor what stray ones would say. */
#define NOBODY UINT32_C(0xf4eef4ee)

typedef osc_cached_shared_line_t line_t;
typedef osc_cached_shared_header_t header_t;

/* Where the parts begin, and the end. */
typedef struct {
    uint64_t targets, extra, layouts, owners, tags, lines, arena, end;
} parts_t;

static uint64_t in_pages(uint64_t bytes)
{
    return (bytes + 65535) / 65536 * 65536; /* of any page size */
}

static parts_t parts_of(const osc_cached_shared_config_t *config)
{
    uint64_t units = config->max_memory / OSC_CACHED_SHARED_UNIT, slots = config->max_slots;
    parts_t parts;

    parts.targets = (sizeof(header_t) + 63) / 64 * 64;
    parts.extra = parts.targets + config->targets * sizeof(osc_cached_shared_target_t);
    parts.extra = (parts.extra + 63) / 64 * 64;
    parts.layouts = (parts.extra + config->extra + 63) / 64 * 64;
    parts.owners = in_pages(parts.layouts + sizeof(osc_cached_shared_layouts_t));
    parts.tags = in_pages(parts.owners + units * sizeof(uint32_t));
    parts.lines = in_pages(parts.tags + slots * sizeof(uint32_t));
    parts.arena = in_pages(parts.lines + slots * sizeof(line_t));
    parts.end = parts.arena + units * OSC_CACHED_SHARED_UNIT;
    return parts;
}

static bool is_power(uint32_t number)
{
    return 0 != number && 0 == (number & (number - 1));
}

uint64_t osc_cached_shared_size(const osc_cached_shared_config_t *config)
{
    bool good = is_power(config->slots) && is_power(config->max_slots)
                && OSC_CACHED_SHARED_WAYS <= config->slots && config->slots <= config->max_slots
                && config->max_slots < NOBODY && OSC_CACHED_SHARED_UNIT <= config->memory
                && config->memory <= config->max_memory && config->max_memory < UINT64_C(1) << 36;

    return good ? parts_of(config).end : 0;
}

uint64_t osc_cached_shared_first(const osc_cached_shared_config_t *config)
{
    return parts_of(config).owners;
}

static void place_parts(osc_cached_shared_t *shared, void *memory,
                        const osc_cached_shared_config_t *config, osc_cached_shared_grow_fn_t grow,
                        void *context)
{
    parts_t parts = parts_of(config);
    char *base = memory;

    *shared = (osc_cached_shared_t){
        .header = memory,
        .targets = (osc_cached_shared_target_t *) (void *) (base + parts.targets),
        .extra = base + parts.extra,
        .layouts = (osc_cached_shared_layouts_t *) (void *) (base + parts.layouts),
        .owners = (_Atomic uint32_t *) (void *) (base + parts.owners),
        .tags = (_Atomic uint32_t *) (void *) (base + parts.tags),
        .lines = (line_t *) (void *) (base + parts.lines),
        .arena = base + parts.arena,
        .seed = osc_cached_key_seed(config->seed),
        .config = *config,
        .grow = grow,
        .context = context,
    };
}

/* Memory for things of two parts, before they are used: for both, or for none. */
static bool grow_parts(const osc_cached_shared_t *shared, const void *part, size_t size,
                       const _Atomic uint32_t *numbers, uint64_t first, uint64_t count)
{
    const char *base = (const char *) shared->header;
    uint64_t offset = (uint64_t) ((const char *) part - base) + first * size;

    if (!shared->grow(shared->context, offset, count * size)) {
        return false;
    }
    if (shared->grow(shared->context,
                     (uint64_t) ((const char *) numbers - base) + first * sizeof(*numbers),
                     count * sizeof(*numbers))) {
        return true;
    }
    if (NULL != shared->shrink) {
        shared->shrink(shared->context, offset, count * size);
    }
    return false;
}

static bool grow_lines(const osc_cached_shared_t *shared, uint64_t first, uint64_t count)
{
    return grow_parts(shared, shared->lines, sizeof(line_t), shared->tags, first, count);
}

static bool grow_arena(const osc_cached_shared_t *shared, uint64_t first, uint64_t count)
{
    return grow_parts(shared, shared->arena, OSC_CACHED_SHARED_UNIT, shared->owners, first, count);
}

static void own_units(const osc_cached_shared_t *shared, uint64_t first, uint64_t units,
                      uint32_t owner)
{
    for (uint64_t i = first; i < first + units; ++i) {
        atomic_store_explicit(&shared->owners[i], owner, memory_order_relaxed);
    }
}

int osc_cached_shared_create(osc_cached_shared_t *shared, void *memory,
                             const osc_cached_shared_config_t *config,
                             osc_cached_shared_grow_fn_t grow, void *context)
{
    uint64_t units = config->memory / OSC_CACHED_SHARED_UNIT;
    pthread_mutexattr_t attributes;
    int failed;

    if (0 == osc_cached_shared_size(config)) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    place_parts(shared, memory, config, grow, context);
    if (!grow_lines(shared, 0, config->slots) || !grow_arena(shared, 0, units)
        || 0 != pthread_mutexattr_init(&attributes)) {
        return OSC_CACHED_NO_MEMORY;
    }
    failed = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    failed =
        (0 != failed) ? failed : pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    failed = (0 != failed) ? failed : pthread_mutex_init(&shared->header->lock, &attributes);
    (void) pthread_mutexattr_destroy(&attributes);
    if (0 != failed) {
        return OSC_CACHED_NO_MEMORY;
    }
    own_units(shared, 0, units, NOBODY);
    shared->header->config = *config;
    for (uint32_t i = 0; i < config->targets; ++i) {
        atomic_store(&shared->targets[i].generation, OSC_CACHED_SHARED_STEP);
    }
    atomic_store(&shared->header->generation, OSC_CACHED_SHARED_STEP);
    atomic_store(&shared->header->slots, config->slots);
    atomic_store(&shared->header->limit, units);
    atomic_store(&shared->header->magic, OSC_CACHED_SHARED_MAGIC);
    return OSC_CACHED_OK;
}

static bool is_same(const osc_cached_shared_config_t *a, const osc_cached_shared_config_t *b)
{
    return a->memory == b->memory && a->max_memory == b->max_memory && a->slots == b->slots
           && a->max_slots == b->max_slots && a->targets == b->targets && a->extra == b->extra
           && a->seed == b->seed;
}

int osc_cached_shared_attach(osc_cached_shared_t *shared, void *memory,
                             const osc_cached_shared_config_t *config,
                             osc_cached_shared_grow_fn_t grow, void *context)
{
    if (0 == osc_cached_shared_size(config)) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    place_parts(shared, memory, config, grow, context);
    return (osc_cached_shared_is_good(shared) && is_same(config, &shared->header->config))
               ? OSC_CACHED_OK
               : OSC_CACHED_BAD_ARGUMENT;
}

void osc_cached_shared_condemn(osc_cached_shared_t *shared)
{
    atomic_store(&shared->header->magic, 0);
}

bool osc_cached_shared_hit_slowly(osc_cached_shared_t *shared, osc_cached_key_t key, uint32_t skip,
                                  void *to, size_t bytes, const osc_cached_buffer_t *typed,
                                  osc_cached_copy_fn_t copy, bool remember)
{
    uint64_t hash = osc_cached_key_hash(&shared->seed, key);
    uint64_t slots = atomic_load_explicit(&shared->header->slots, memory_order_acquire);
    uint64_t slot = (hash * OSC_CACHED_SHARED_WAYS) & (slots - 1);
    uint32_t tag = osc_cached_shared_tag(hash);

    if (shared->config.max_slots <= slots - 1) {
        return false;
    }
    for (uint64_t end = slot + OSC_CACHED_SHARED_WAYS; slot < end; ++slot) {
        osc_cached_shared_found_t found = OSC_CACHED_SHARED_CHANGED;

        if (tag != atomic_load_explicit(&shared->tags[slot], memory_order_relaxed)) {
            continue;
        }
        for (int tries = 0; tries < OSC_CACHED_SHARED_TRIES; ++tries) {
            found = osc_cached_shared_look(shared, slot, key, skip, to, bytes, typed, copy,
                                           shared->more);
            if (OSC_CACHED_SHARED_CHANGED != found) {
                break;
            }
        }
        if (OSC_CACHED_SHARED_HIT == found && remember) {
            atomic_store_explicit(osc_cached_shared_memo(shared, key), (uint32_t) slot,
                                  memory_order_relaxed);
        }
        if (OSC_CACHED_SHARED_OTHER != found) {
            return OSC_CACHED_SHARED_HIT == found;
        }
    }
    return false;
}

/* Lines */

static uint64_t slots_of(const osc_cached_shared_t *shared)
{
    return atomic_load_explicit(&shared->header->slots, memory_order_relaxed);
}

static uint64_t limit_of(const osc_cached_shared_t *shared)
{
    return atomic_load_explicit(&shared->header->limit, memory_order_relaxed);
}

static uint64_t place_of(const line_t *line)
{
    return atomic_load_explicit(&line->place, memory_order_relaxed);
}

static bool is_empty(const line_t *line)
{
    return 0 == place_of(line);
}

static uint64_t first_of(const line_t *line)
{
    return place_of(line) >> 32;
}

static uint64_t units_of(const line_t *line)
{
    return osc_cached_shared_units((uint32_t) place_of(line));
}

static osc_cached_key_t key_of(const line_t *line)
{
    uint64_t name = atomic_load_explicit(&line->name, memory_order_relaxed);

    return (osc_cached_key_t){
        .address = atomic_load_explicit(&line->address, memory_order_relaxed),
        .target = (int32_t) (uint32_t) name,
        .layout = (uint32_t) (name >> 32),
    };
}

/* Whether nothing can be served from a line. */
static bool is_dead(const osc_cached_shared_t *shared, const line_t *line)
{
    osc_cached_key_t key = key_of(line);

    return atomic_load_explicit(&line->stamp, memory_order_relaxed)
           != osc_cached_shared_stamp(shared, key.target, key.address, (uint32_t) place_of(line));
}

/* From now on nothing is served from the line, until it is written. */
static uint64_t begin_change(line_t *line)
{
    uint64_t sequence = atomic_load_explicit(&line->sequence, memory_order_relaxed) | 1;

    atomic_store_explicit(&line->sequence, sequence, memory_order_relaxed);
    osc_cached_shared_fence();
    return sequence;
}

static void write_line(line_t *line, osc_cached_key_t key, uint64_t stamp, uint64_t place)
{
    uint64_t sequence = begin_change(line), name = osc_cached_shared_name(key);

    atomic_store_explicit(&line->address, key.address, memory_order_relaxed);
    atomic_store_explicit(&line->name, name, memory_order_relaxed);
    atomic_store_explicit(&line->stamp, stamp, memory_order_relaxed);
    atomic_store_explicit(&line->place, place, memory_order_relaxed);
    atomic_store_explicit(&line->check, osc_cached_shared_check(key.address, name, stamp, place),
                          memory_order_relaxed);
    atomic_store_explicit(&line->used, 0, memory_order_relaxed);
    atomic_store_explicit(&line->sequence, sequence + 1, memory_order_release);
}

static void empty_line(osc_cached_shared_t *shared, uint64_t slot)
{
    static const osc_cached_key_t nothing = {0, -1, 0};

    atomic_store_explicit(&shared->tags[slot], 0, memory_order_relaxed);
    write_line(&shared->lines[slot], nothing, 0, 0);
    osc_cached_shared_fence(); /* what follows may change its bytes */
}

/* A line leaves, with its units; its owners must be right. */
static void drop_line(osc_cached_shared_t *shared, uint64_t slot)
{
    const line_t *line = &shared->lines[slot];
    uint64_t first = first_of(line), units = units_of(line);

    empty_line(shared, slot);
    own_units(shared, first, units, NOBODY);
    --shared->header->occupied;
}

static uint64_t bucket_of(uint64_t hash, uint64_t slots)
{
    return (hash * OSC_CACHED_SHARED_WAYS) & (slots - 1);
}

/* Whether a line, which is not empty, is as it should be, apart from its units' owners. */
static bool is_right(const osc_cached_shared_t *shared, uint64_t slot)
{
    const line_t *line = &shared->lines[slot];
    osc_cached_key_t key = key_of(line);
    uint64_t hash = osc_cached_key_hash(&shared->seed, key);

    return 0 < (uint32_t) place_of(line) && 0 <= key.target
           && (uint32_t) key.target < shared->config.targets
           && atomic_load_explicit(&line->check, memory_order_relaxed)
                  == osc_cached_shared_check(
                      key.address, osc_cached_shared_name(key),
                      atomic_load_explicit(&line->stamp, memory_order_relaxed), place_of(line))
           && first_of(line) + units_of(line) <= limit_of(shared)
           && slot / OSC_CACHED_SHARED_WAYS * OSC_CACHED_SHARED_WAYS
                  == bucket_of(hash, slots_of(shared))
           && osc_cached_shared_tag(hash)
                  == atomic_load_explicit(&shared->tags[slot], memory_order_relaxed);
}

/* The same of one that is about to be used: who finds that it is not ends the segment. */
static bool is_trusted(osc_cached_shared_t *shared, uint64_t slot)
{
    if (slot < slots_of(shared) && !is_empty(&shared->lines[slot]) && is_right(shared, slot)) {
        return true;
    }
    osc_cached_shared_condemn(shared);
    return false;
}

static bool is_free(const osc_cached_shared_t *shared, uint64_t first, uint64_t units)
{
    for (uint64_t i = first; i < first + units; ++i) {
        if (NOBODY != atomic_load_explicit(&shared->owners[i], memory_order_relaxed)) {
            return false;
        }
    }
    return true;
}

/* The lock */

/* Its owner has died. When we do, too, the next one begins again. */
static void recover(osc_cached_shared_t *shared)
{
    header_t *header = shared->header;

    header->occupied = 0;
    own_units(shared, 0, limit_of(shared), NOBODY);
    for (uint64_t slot = 0; slot < slots_of(shared); ++slot) {
        line_t *line = &shared->lines[slot];

        if (0 != atomic_load_explicit(&line->sequence, memory_order_relaxed) % 2
            || (!is_empty(line)
                && (!is_right(shared, slot) || !is_free(shared, first_of(line), units_of(line))))) {
            empty_line(shared, slot);
        } else if (!is_empty(line)) {
            own_units(shared, first_of(line), units_of(line), (uint32_t) slot + 1);
            ++header->occupied;
        }
    }
    header->hand = 0; /* it may be within the units of the last line that was kept */
    atomic_fetch_add(&header->recoveries, 1);
    atomic_fetch_add(&shared->recoveries, 1);
}

/* Whether so many STEPs can have been added: at a million in a second that takes half a year. */
static bool is_generation(_Atomic uint64_t *generation)
{
    static const uint64_t inverse = UINT64_C(0xf1de83e19937733d); /* of STEP, modulo 2^64 */

    return atomic_load_explicit(generation, memory_order_relaxed) * inverse - 1 < UINT64_C(1) << 44;
}

static bool has_right_limits(const osc_cached_shared_t *shared)
{
    uint64_t slots = slots_of(shared), limit = limit_of(shared);

    return osc_cached_shared_is_good(shared) && shared->config.slots <= slots
           && slots <= shared->config.max_slots && 0 == (slots & (slots - 1))
           && shared->config.memory / OSC_CACHED_SHARED_UNIT <= limit
           && limit <= shared->config.max_memory / OSC_CACHED_SHARED_UNIT
           && is_generation(&shared->header->generation) && shared->header->hand <= limit
           && is_same(&shared->config, &shared->header->config);
}

static bool take_lock(osc_cached_shared_t *shared)
{
    pthread_mutex_t *lock = &shared->header->lock;
    int result = EBUSY;

    if (!osc_cached_shared_is_good(shared)) {
        return false;
    }
    for (int i = 0; EBUSY == result && i < LOCK_TRIES; ++i) {
        if (0 < i) {
            (void) sched_yield();
        }
        result = pthread_mutex_trylock(lock);
    }
    if (0 != result && EOWNERDEAD != result) {
        if (EBUSY != result) {
            osc_cached_shared_condemn(shared);
        }
        return false;
    }
    if (!has_right_limits(shared)) {
        osc_cached_shared_condemn(shared);
    } else if (EOWNERDEAD == result) {
        recover(shared);
    }
    if (EOWNERDEAD == result) {
        (void) pthread_mutex_consistent(lock);
    }
    if (!osc_cached_shared_is_good(shared)) {
        (void) pthread_mutex_unlock(lock);
        return false;
    }
    return true;
}

static void release_lock(osc_cached_shared_t *shared)
{
    (void) pthread_mutex_unlock(&shared->header->lock);
}

/* Room */

/* Twice as many lines, if that is possible. */
static void double_lines(osc_cached_shared_t *shared)
{
    uint64_t slots = slots_of(shared);

    if (0 < shared->rest || shared->config.max_slots < 2 * slots) {
        return;
    }
    if (!grow_lines(shared, slots, slots)) {
        shared->rest = GROW_REST;
        return;
    }
    for (uint64_t slot = slots; slot < 2 * slots; ++slot) {
        empty_line(shared, slot); /* somebody may have died here before */
    }
    for (uint64_t slot = 0; slot < slots; ++slot) {
        line_t *line = &shared->lines[slot], *moved = line + slots;
        osc_cached_key_t key = key_of(line);
        uint64_t hash = osc_cached_key_hash(&shared->seed, key);

        if (is_empty(line) || 0 == (bucket_of(hash, 2 * slots) & slots)) {
            continue;
        }
        if (!is_trusted(shared, slot)) {
            return;
        }
        write_line(moved, key, atomic_load_explicit(&line->stamp, memory_order_relaxed),
                   place_of(line));
        atomic_store_explicit(&shared->tags[slot + slots], osc_cached_shared_tag(hash),
                              memory_order_relaxed);
        own_units(shared, first_of(line), units_of(line), (uint32_t) (slot + slots) + 1);
        empty_line(shared, slot);
    }
    atomic_store_explicit(&shared->header->slots, 2 * slots, memory_order_release);
    atomic_fetch_add(&shared->header->growths, 1);
}

/* More units, if that is possible. */
static bool more_units(osc_cached_shared_t *shared)
{
    uint64_t limit = limit_of(shared), more = limit;
    uint64_t left = shared->config.max_memory / OSC_CACHED_SHARED_UNIT - limit;

    if (0 < shared->rest || 0 == left) {
        return false;
    }
    more = (more < LEAST_GROWTH) ? LEAST_GROWTH : more;
    more = (left < more) ? left : more;
    while (!grow_arena(shared, limit, more)) {
        more /= 2;
        if (more < LEAST_GROWTH) {
            shared->rest = GROW_REST;
            return false;
        }
    }
    own_units(shared, limit, more, NOBODY);
    atomic_store_explicit(&shared->header->limit, limit + more, memory_order_release);
    atomic_fetch_add(&shared->header->growths, 1);
    return true;
}

/* Whether a line stays for now, because it was hit. */
static bool stays(osc_cached_shared_t *shared, line_t *line, int *patience)
{
    uint64_t used = atomic_load_explicit(&line->used, memory_order_relaxed);

    if (0 == *patience || 0 == used || is_dead(shared, line)) {
        return false;
    }
    --*patience;
    atomic_store_explicit(&line->used, used - 1, memory_order_relaxed);
    return true;
}

/* Give these units to nobody. */
static void clear_units(osc_cached_shared_t *shared, uint64_t first, uint64_t units)
{
    for (uint64_t i = first; i < first + units; ++i) {
        uint32_t owner = atomic_load_explicit(&shared->owners[i], memory_order_relaxed);

        if (NOBODY != owner) {
            if (!is_dead(shared, &shared->lines[owner - 1])) {
                atomic_fetch_add(&shared->header->evictions, 1);
            }
            drop_line(shared, owner - 1);
        }
    }
}

/* A line that stays moves to units before its own, which nobody has. */
static void move_line(osc_cached_shared_t *shared, uint64_t slot, uint64_t first)
{
    line_t *line = &shared->lines[slot];
    uint64_t used = atomic_load_explicit(&line->used, memory_order_relaxed);
    uint64_t old = first_of(line), units = units_of(line), bytes = (uint32_t) place_of(line);

    (void) begin_change(line);
    osc_cached_shared_copy(shared->arena + first * OSC_CACHED_SHARED_UNIT,
                           shared->arena + old * OSC_CACHED_SHARED_UNIT, bytes);
    own_units(shared, old, units, NOBODY);
    own_units(shared, first, units, (uint32_t) slot + 1);
    write_line(line, key_of(line), atomic_load_explicit(&line->stamp, memory_order_relaxed),
               first << 32 | bytes);
    atomic_store_explicit(&line->used, used, memory_order_relaxed);
}

/* The first of so many units, from which lines may have to leave. What room there is before a line
 * that stays is moved behind it. @return false: there is no room */
static bool find_units(osc_cached_shared_t *shared, uint64_t units, uint64_t *first)
{
    uint64_t start = shared->header->hand, run = 0, moves = OSC_CACHED_SHARED_MOVES;
    int patience = OSC_CACHED_SHARED_PATIENCE, laps = 0;
    bool grows = true;

    while (limit_of(shared) < units) { /* whatever leaves: there would be no room */
        if (!more_units(shared)) {
            return false;
        }
    }
    while (run < units) {
        uint64_t unit = start + run;
        uint32_t owner;
        line_t *line;

        if (limit_of(shared) <= unit) {
            if (2 < ++laps) {
                return false;
            }
            start = run = 0;
            continue;
        }
        owner = atomic_load_explicit(&shared->owners[unit], memory_order_relaxed);
        if (NOBODY == owner) {
            ++run;
            continue;
        }
        if (!is_trusted(shared, owner - 1)) {
            return false;
        }
        line = &shared->lines[owner - 1];
        if (first_of(line) != unit) {
            osc_cached_shared_condemn(shared);
            return false;
        }
        if (grows && !is_dead(shared, line)) {
            uint64_t limit = limit_of(shared);

            grows = false;
            if (more_units(shared)) {
                start = limit;
                run = 0;
                continue;
            }
        }
        if (!stays(shared, line, &patience)) {
            run += units_of(line);
        } else if (0 < run && units_of(line) <= moves) {
            moves -= units_of(line);
            clear_units(shared, start, run);
            move_line(shared, owner - 1, start);
            start += units_of(line);
            shared->header->hand = start;
        } else {
            start = unit + units_of(line);
            run = 0;
        }
    }
    *first = start;
    return true;
}

/* Whether one that could be served has to leave the bucket of a new key. */
static bool is_bucket_full(const osc_cached_shared_t *shared, uint64_t hash)
{
    uint64_t slot = bucket_of(hash, slots_of(shared)), end = slot + OSC_CACHED_SHARED_WAYS;

    while (slot < end && !is_empty(&shared->lines[slot])
           && !is_dead(shared, &shared->lines[slot])) {
        ++slot;
    }
    return end == slot;
}

/* A line of the key's bucket that is free now: an empty one, or a dead one, or one that was not hit
 * since it was asked last, or one of them. */
static uint64_t find_slot(osc_cached_shared_t *shared, uint64_t hash)
{
    uint64_t bucket = bucket_of(hash, slots_of(shared)), found;
    uint64_t end = bucket + OSC_CACHED_SHARED_WAYS;

    for (found = bucket; found < end; ++found) {
        if (is_empty(&shared->lines[found])) {
            return found;
        }
    }
    for (found = bucket; found < end && !is_dead(shared, &shared->lines[found]); ++found) {
    }
    if (end == found) {
        atomic_fetch_add(&shared->header->evictions, 1);
        for (found = bucket; found < end; ++found) {
            if (0 == atomic_exchange(&shared->lines[found].used, 0)) {
                break;
            }
        }
        found = (end == found) ? bucket + (hash >> 60) % OSC_CACHED_SHARED_WAYS : found;
    }
    drop_line(shared, found);
    return found;
}

/* Whether all lines of a bucket are as they should be. */
static bool is_bucket_trusted(osc_cached_shared_t *shared, uint64_t bucket)
{
    for (uint64_t slot = bucket; slot < bucket + OSC_CACHED_SHARED_WAYS; ++slot) {
        if (!is_empty(&shared->lines[slot]) && !is_trusted(shared, slot)) {
            return false;
        }
    }
    return true;
}

/* The line that has a key, or the number of lines. */
static uint64_t find_key(const osc_cached_shared_t *shared, osc_cached_key_t key, uint64_t hash)
{
    uint64_t bucket = bucket_of(hash, slots_of(shared));

    for (uint64_t slot = bucket; slot < bucket + OSC_CACHED_SHARED_WAYS; ++slot) {
        if (!is_empty(&shared->lines[slot])
            && osc_cached_key_equal(key_of(&shared->lines[slot]), key)) {
            return slot;
        }
    }
    return slots_of(shared);
}

/* Caller has the lock. */
static bool insert(osc_cached_shared_t *shared, osc_cached_key_t key, uint64_t stamp,
                   const osc_cached_buffer_t *buffer, size_t bytes, osc_cached_copy_fn_t copy)
{
    uint64_t hash = osc_cached_key_hash(&shared->seed, key), slot, first = 0;
    uint64_t units = osc_cached_shared_units(bytes);
    char *to;

    shared->rest -= 0 < shared->rest;
    if (!is_bucket_trusted(shared, bucket_of(hash, slots_of(shared)))) {
        return false;
    }
    slot = find_key(shared, key, hash);
    if (slot < slots_of(shared)) {
        const line_t *line = &shared->lines[slot];

        if (stamp == atomic_load_explicit(&line->stamp, memory_order_relaxed)
            && bytes <= (uint32_t) place_of(line)) {
            return true;
        }
        drop_line(shared, slot);
    }
    if (5 * slots_of(shared) <= 8 * shared->header->occupied
        || (slots_of(shared) <= 8 * shared->header->occupied && is_bucket_full(shared, hash))) {
        double_lines(shared);
    }
    if (!find_units(shared, units, &first)) {
        return false;
    }
    clear_units(shared, first, units);
    slot = find_slot(shared, hash);
    to = shared->arena + first * OSC_CACHED_SHARED_UNIT;
    if (LONG_COPY <= bytes) { /* else they may be seen before the lines are empty */
        atomic_thread_fence(memory_order_seq_cst);
    }
    if (NULL == buffer->type) {
        osc_cached_shared_copy(to, buffer->address, bytes);
    } else {
        copy(buffer, to, bytes, false);
    }
    own_units(shared, first, units, (uint32_t) slot + 1);
    write_line(&shared->lines[slot], key, stamp, first << 32 | bytes);
    atomic_store_explicit(&shared->tags[slot], osc_cached_shared_tag(hash), memory_order_relaxed);
    ++shared->header->occupied;
    shared->header->hand = first + units;
    return true;
}

bool osc_cached_shared_publish(osc_cached_shared_t *shared, osc_cached_key_t key, uint64_t stamp,
                               const osc_cached_buffer_t *buffer, size_t bytes,
                               osc_cached_copy_fn_t copy)
{
    bool kept;

    if (!is_generation(&shared->targets[key.target].generation)) {
        osc_cached_shared_condemn(shared);
    }
    /* an entry that takes more than a quarter of all would leave before it pays */
    if (0 == bytes || shared->config.max_memory / 4 < bytes || UINT32_MAX < bytes
        || stamp != osc_cached_shared_stamp(shared, key.target, key.address, bytes)
        || !take_lock(shared)) {
        return false;
    }
    kept = insert(shared, key, stamp, buffer, bytes, copy);
    release_lock(shared);
    return kept;
}

uint32_t osc_cached_shared_layout(osc_cached_shared_t *shared, uint64_t count,
                                  const void *description, size_t bytes)
{
    osc_cached_shared_layouts_t *layouts = shared->layouts;
    uint64_t used = atomic_load_explicit(&layouts->used, memory_order_relaxed);
    uint32_t number = 0;
    bool good = osc_cached_shared_is_good(shared) && shared->layouts_used <= used
                && osc_cached_shared_layouts_find(layouts, count, description, bytes, &number);

    shared->layouts_used = used;
    if (good && 0 == number && osc_cached_shared_layouts_have_room(layouts, bytes)
        && take_lock(shared)) { /* others may have added it meanwhile */
        good = osc_cached_shared_layouts_find(layouts, count, description, bytes, &number);
        if (good && 0 == number) {
            number = osc_cached_shared_layouts_add(layouts, count, description, bytes);
        }
        release_lock(shared);
    }
    if (!good) {
        osc_cached_shared_condemn(shared);
    }
    return good ? number : 0;
}

uint64_t osc_cached_shared_memory(const osc_cached_shared_t *shared)
{
    return osc_cached_shared_first(&shared->config)
           + slots_of(shared) * (sizeof(line_t) + sizeof(uint32_t))
           + limit_of(shared) * (OSC_CACHED_SHARED_UNIT + sizeof(uint32_t));
}

/* Whether no line has units before the hand and at it. */
static bool is_hand_right(const osc_cached_shared_t *shared)
{
    uint64_t hand = shared->header->hand;
    uint32_t owner = (hand < limit_of(shared))
                         ? atomic_load_explicit(&shared->owners[hand], memory_order_relaxed)
                         : NOBODY;

    return NOBODY == owner || hand == first_of(&shared->lines[owner - 1]);
}

static int find_broken(osc_cached_shared_t *shared)
{
    uint64_t occupied = 0, owned = 0, units = 0;

    if (!has_right_limits(shared)) {
        return 1;
    }
    for (uint64_t slot = 0; slot < slots_of(shared); ++slot) {
        const line_t *line = &shared->lines[slot];

        if (0 != atomic_load(&line->sequence) % 2 || (!is_empty(line) && !is_right(shared, slot))) {
            return 2;
        }
        if (is_empty(line)) {
            continue;
        }
        ++occupied;
        units += units_of(line);
        for (uint64_t i = 0; i < units_of(line); ++i) {
            if (slot + 1 != atomic_load(&shared->owners[first_of(line) + i])) {
                return 3;
            }
        }
        if (slot
            != find_key(shared, key_of(line), osc_cached_key_hash(&shared->seed, key_of(line)))) {
            return 4;
        }
    }
    for (uint64_t i = 0; i < limit_of(shared); ++i) {
        owned += NOBODY != atomic_load(&shared->owners[i]);
    }
    if (owned != units) {
        return 3;
    }
    if (occupied != shared->header->occupied) {
        return 4;
    }
    return !is_hand_right(shared)                                 ? 5
           : osc_cached_shared_layouts_are_right(shared->layouts) ? 0
                                                                  : 6;
}

int osc_cached_shared_verify(osc_cached_shared_t *shared)
{
    int broken;

    if (!take_lock(shared)) {
        return osc_cached_shared_is_good(shared) ? -1 : 1;
    }
    broken = find_broken(shared);
    release_lock(shared);
    return broken;
}
