/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Cuckoo index: see the header for layout and invariants.
 */
#include "osc_cached_index.h"
#include "osc_cached_bits.h"

#include <string.h>

_Static_assert(OSC_CACHED_INDEX_LINE == sizeof(osc_cached_index_line_t),
               "a line of slots must be a cache line");
_Static_assert(0 == (uint32_t) (OSC_CACHED_INDEX_NONE + 1), "an empty slot must read as NONE");

/* xorshift64*: the high bits are good, and the state is never 0. */
static uint32_t next_random(osc_cached_index_t *index)
{
    uint64_t x = index->random;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    index->random = x;
    return (uint32_t) ((x * UINT64_C(2685821657736338717)) >> 32);
}

static size_t table_bytes(uint32_t num_pairs)
{
    return (size_t) num_pairs * 2 * OSC_CACHED_INDEX_LINE;
}

static osc_cached_index_line_t *table_create(const osc_cached_alloc_t *alloc, uint32_t num_pairs)
{
    osc_cached_index_line_t *lines =
        alloc->alloc(alloc->context, OSC_CACHED_INDEX_LINE, table_bytes(num_pairs));

    if (NULL != lines) {
        memset(lines, 0, table_bytes(num_pairs));
    }
    return lines;
}

static uint32_t pairs_of_slots(uint32_t num_slots)
{
    uint32_t pairs =
        num_slots / OSC_CACHED_INDEX_SLOTS_MIN + (0 != num_slots % OSC_CACHED_INDEX_SLOTS_MIN);

    return (0 == pairs) ? 1 : pairs;
}

int osc_cached_index_create(osc_cached_index_t *index, uint32_t num_slots, uint32_t path_max,
                            uint64_t seed, const osc_cached_alloc_t *alloc)
{
    osc_cached_index_t made;

    if (0 == path_max) {
        path_max = OSC_CACHED_INDEX_PATH_DEFAULT;
    }
    if (num_slots > OSC_CACHED_INDEX_SLOTS_MAX || path_max > OSC_CACHED_INDEX_PATH_MAX) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    made.alloc = (NULL != alloc) ? *alloc : osc_cached_alloc_default;
    made.num_pairs = pairs_of_slots(num_slots);
    made.count = 0;
    made.seed = osc_cached_key_seed(seed);
    made.path_hash = 0;
    made.path_length = 0;
    made.path_max = path_max;
    made.patience = path_max;
    made.random = osc_cached_key_mix(seed) | 1;
    made.lines = table_create(&made.alloc, made.num_pairs);
    if (NULL == made.lines) {
        return OSC_CACHED_NO_MEMORY;
    }
    made.path = made.alloc.alloc(made.alloc.context, OSC_CACHED_INDEX_LINE,
                                 path_max * sizeof(made.path[0]));
    if (NULL == made.path) {
        made.alloc.free(made.alloc.context, made.lines, table_bytes(made.num_pairs));
        return OSC_CACHED_NO_MEMORY;
    }
    *index = made;
    return OSC_CACHED_OK;
}

void osc_cached_index_destroy(osc_cached_index_t *index)
{
    index->alloc.free(index->alloc.context, index->path, index->path_max * sizeof(index->path[0]));
    index->alloc.free(index->alloc.context, index->lines, table_bytes(index->num_pairs));
    index->path = NULL;
    index->lines = NULL;
    index->num_pairs = 0;
    index->count = 0;
    index->path_length = 0;
}

void osc_cached_index_clear(osc_cached_index_t *index)
{
    memset(index->lines, 0, table_bytes(index->num_pairs));
    index->count = 0;
    index->path_length = 0;
    index->patience = index->path_max;
}

static uint32_t *fingerprint_at(const osc_cached_index_t *index, uint32_t position)
{
    return &index->lines[position / OSC_CACHED_INDEX_LINE_SLOTS]
                .fingerprint[position % OSC_CACHED_INDEX_LINE_SLOTS];
}

/* Its number plus 1. */
static uint32_t *entry_at(const osc_cached_index_t *index, uint32_t position)
{
    return &index->lines[position / OSC_CACHED_INDEX_LINE_SLOTS]
                .entry[position % OSC_CACHED_INDEX_LINE_SLOTS];
}

uint32_t osc_cached_index_lookup_slowly(const osc_cached_index_t *index, uint64_t hash,
                                        osc_cached_key_t key, osc_cached_index_match_fn_t match,
                                        void *context)
{
    uint32_t fingerprint = osc_cached_index_fingerprint(hash);
    uint32_t number = osc_cached_index_even_line(index, hash);

    for (int side = 0; side < 2; ++side) {
        const osc_cached_index_line_t *line = &index->lines[number];

        for (uint32_t i = 0; i < OSC_CACHED_INDEX_LINE_SLOTS; ++i) {
            if (line->fingerprint[i] == fingerprint && 0 != line->entry[i]
                && match(context, line->entry[i] - 1, key)) {
                return line->entry[i] - 1;
            }
        }
        number = osc_cached_index_other_line(index, fingerprint, number);
    }
    return OSC_CACHED_INDEX_NONE;
}

/* The line in which whoever stands at a position could stand too: its key is not needed (I4). */
static uint32_t line_away(const osc_cached_index_t *index, uint32_t position)
{
    return osc_cached_index_other_line(index, *fingerprint_at(index, position),
                                       position / OSC_CACHED_INDEX_LINE_SLOTS);
}

/* Position of an empty slot of a line, or NONE. */
static uint32_t find_empty(const osc_cached_index_t *index, uint32_t line)
{
    for (uint32_t i = 0; i < OSC_CACHED_INDEX_LINE_SLOTS; ++i) {
        if (0 == index->lines[line].entry[i]) {
            return line * OSC_CACHED_INDEX_LINE_SLOTS + i;
        }
    }
    return OSC_CACHED_INDEX_NONE;
}

/* A position may be on a path only once, or moving along the path would lose an entry. */
static bool on_path(const osc_cached_index_t *index, uint32_t length, uint32_t position)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < length; ++i) {
        found |= (uint32_t) (index->path[i].position == position);
    }
    return 0 != found;
}

/* A random slot of a line that is not on the path; NONE: a dead end. */
static uint32_t next_position(osc_cached_index_t *index, uint32_t length, uint32_t line)
{
    uint32_t random = next_random(index);

    for (uint32_t i = 0; i < OSC_CACHED_INDEX_LINE_SLOTS; ++i) {
        uint32_t position =
            line * OSC_CACHED_INDEX_LINE_SLOTS + (random + i) % OSC_CACHED_INDEX_LINE_SLOTS;

        if (!on_path(index, length, position)) {
            return position;
        }
    }
    return OSC_CACHED_INDEX_NONE;
}

/*
 * Walk from a line of a new key until one of the visited entries could move to an empty slot.
 * Changes nothing but index->path[0..*length).
 *
 * @return position of that slot, or NONE
 */
static uint32_t walk(osc_cached_index_t *index, uint32_t line, uint32_t limit, uint32_t *length)
{
    uint32_t steps = 0, empty = OSC_CACHED_INDEX_NONE;

    while (OSC_CACHED_INDEX_NONE == empty && steps < limit) {
        uint32_t position = next_position(index, steps, line);

        if (OSC_CACHED_INDEX_NONE == position) {
            break;
        }
        index->path[steps].position = position;
        index->path[steps].entry = osc_cached_index_at(index, position);
        ++steps;
        line = line_away(index, position);
        empty = find_empty(index, line);
    }
    *length = steps;
    return empty;
}

/* Move the first `length` entries of the path up by one, the last to `last`, and put the new one.
 */
static void shift_path(osc_cached_index_t *index, uint32_t length, uint32_t last, uint64_t hash,
                       uint32_t entry)
{
    while (0 < length) {
        uint32_t from = index->path[--length].position;

        *fingerprint_at(index, last) = *fingerprint_at(index, from);
        *entry_at(index, last) = *entry_at(index, from);
        last = from;
    }
    *fingerprint_at(index, last) = osc_cached_index_fingerprint(hash);
    *entry_at(index, last) = entry + 1;
}

/*
 * The slots of lines with an entry's number plus 1, or 0: the empty ones, in one word: bit i of
 * slot i of the first, bit 8 + i of the second, how many they are from bit 16 and from bit 20 on.
 * Without a branch, as osc_cached_index_scan.
 */
enum { SECOND = 8, ONE_OF_FIRST = 1 << 16, ONE_OF_SECOND = 1 << 20 };

#if defined(__GNUC__)
typedef osc_cached_index_quad_t marks_t;

/* @param shift, one  constants */
__attribute__((__always_inline__)) static inline marks_t
mark(const osc_cached_index_line_t *line, uint32_t entry, uint32_t shift, uint32_t one)
{
    const osc_cached_index_quad_t *x = (const void *) line;
    const osc_cached_index_quad_t e = {entry, entry, entry, entry};
    const osc_cached_index_quad_t low = {1, 2, 4, 8}, high = {16, 32, 64, 128};

    return ((x[2] == e) & (low << shift | one)) + ((x[3] == e) & (high << shift | one));
}

static inline uint32_t slots_of(marks_t marks)
{
    osc_cached_index_pair_t sums = (osc_cached_index_pair_t) marks;
    uint64_t sum = sums[0] + sums[1];

    return (uint32_t) (sum + (sum >> 32));
}
#else
typedef uint32_t marks_t;

static inline marks_t mark(const osc_cached_index_line_t *line, uint32_t entry, uint32_t shift,
                           uint32_t one)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < OSC_CACHED_INDEX_LINE_SLOTS; ++i) {
        sum += (entry == line->entry[i]) ? UINT32_C(1) << (shift + i) | one : 0;
    }
    return sum;
}

static inline uint32_t slots_of(marks_t marks)
{
    return marks;
}
#endif

static inline uint32_t slots_with(const osc_cached_index_line_t *a,
                                  const osc_cached_index_line_t *b, uint32_t entry)
{
    return slots_of(mark(a, entry, 0, ONE_OF_FIRST) + mark(b, entry, SECOND, ONE_OF_SECOND));
}

/* A new key whose lines are full: by a path from one of them that leads to an empty slot. */
static int insert_by_path(osc_cached_index_t *index, uint64_t hash, uint32_t entry, uint32_t line,
                          uint32_t limit)
{
    uint32_t length, empty = walk(index, line, limit, &length);

    if (OSC_CACHED_INDEX_NONE == empty) {
        index->path_length = length;
        index->path_hash = hash;
        return OSC_CACHED_FULL;
    }
    shift_path(index, length, empty, hash, entry);
    index->path_length = 0;
    ++index->count;
    return OSC_CACHED_OK;
}

/*
 * Insert a new key, or refuse it when the path ends before there is an empty slot.
 *
 * The emptier line is taken first: with it 1,000,000 slots fill to 98.5 %, with always the even one
 * first to 98.0 % (paths of 192), and an insertion at 90 % costs a quarter less.
 */
static inline int insert_within(osc_cached_index_t *index, uint64_t hash, uint32_t entry,
                                uint32_t limit)
{
    uint32_t fingerprint = osc_cached_index_fingerprint(hash);
    uint32_t even = osc_cached_index_even_line(index, hash);
    uint32_t odd = osc_cached_index_other_line(index, fingerprint, even);
    uint32_t empty = slots_with(&index->lines[even], &index->lines[odd], 0), slot;
    osc_cached_index_line_t *line;

    if (0 == empty) {
        return insert_by_path(index, hash, entry, (0 == next_random(index) % 2) ? even : odd,
                              limit);
    }
    if (empty / ONE_OF_SECOND <= empty / ONE_OF_FIRST % 16) {
        line = &index->lines[even];
        slot = osc_cached_lowest_bit(empty);
    } else {
        line = &index->lines[odd];
        slot = osc_cached_lowest_bit(empty >> SECOND);
    }
    line->fingerprint[slot] = fingerprint;
    line->entry[slot] = entry + 1;
    index->path_length = 0;
    ++index->count;
    return OSC_CACHED_OK;
}

int osc_cached_index_insert(osc_cached_index_t *index, uint64_t hash, uint32_t entry)
{
    uint32_t patience = index->patience;
    int status;

    if (OSC_CACHED_INDEX_NONE == entry) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    status = insert_within(index, hash, entry, patience);
    /* See "Patience" in the header. */
    if (OSC_CACHED_OK == status) {
        patience += OSC_CACHED_INDEX_PATIENCE_MIN;
    } else {
        patience /= 2;
        if (patience < OSC_CACHED_INDEX_PATIENCE_MIN) {
            patience = OSC_CACHED_INDEX_PATIENCE_MIN;
        }
    }
    index->patience = (patience < index->path_max) ? patience : index->path_max;
    return status;
}

int osc_cached_index_replace(osc_cached_index_t *index, uint64_t hash, uint32_t entry,
                             uint32_t victim)
{
    if (victim >= index->path_length || hash != index->path_hash
        || OSC_CACHED_INDEX_NONE == entry) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    shift_path(index, victim, index->path[victim].position, hash, entry);
    index->path_length = 0;
    return OSC_CACHED_OK;
}

/* An entry is in one line, and more often in the even one, which is asked alone. */
int osc_cached_index_remove(osc_cached_index_t *index, uint64_t hash, uint32_t entry)
{
    uint32_t number = osc_cached_index_even_line(index, hash), found, slot;
    osc_cached_index_line_t *line = &index->lines[number];

    if (OSC_CACHED_INDEX_NONE == entry) {
        return OSC_CACHED_NOT_FOUND;
    }
    found = slots_of(mark(line, entry + 1, 0, ONE_OF_FIRST));
    if (0 == found) {
        number = osc_cached_index_other_line(index, osc_cached_index_fingerprint(hash), number);
        line = &index->lines[number];
        found = slots_of(mark(line, entry + 1, 0, ONE_OF_FIRST));
        if (0 == found) {
            return OSC_CACHED_NOT_FOUND;
        }
    }
    slot = osc_cached_lowest_bit(found);
    line->fingerprint[slot] = 0;
    line->entry[slot] = 0;
    index->path_length = 0;
    --index->count;
    return OSC_CACHED_OK;
}

uint32_t osc_cached_index_random_position(osc_cached_index_t *index)
{
    return (uint32_t) (((uint64_t) next_random(index) * osc_cached_index_num_slots(index)) >> 32);
}

int osc_cached_index_resize(osc_cached_index_t *index, uint32_t num_slots,
                            osc_cached_index_key_fn_t key_of, void *context)
{
    osc_cached_index_t made = *index;
    uint32_t old_slots = osc_cached_index_num_slots(index);
    int status = OSC_CACHED_OK;

    if (num_slots > OSC_CACHED_INDEX_SLOTS_MAX) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    index->path_length = 0; /* its memory is used below */
    made.num_pairs = pairs_of_slots(num_slots);
    if (made.num_pairs == index->num_pairs) {
        return OSC_CACHED_OK;
    }
    made.count = 0;
    made.path_length = 0;
    made.patience = made.path_max;
    if (index->count > osc_cached_index_num_slots(&made)) {
        return OSC_CACHED_FULL;
    }
    made.lines = table_create(&made.alloc, made.num_pairs);
    if (NULL == made.lines) {
        return OSC_CACHED_NO_MEMORY;
    }
    /* A key's even line is as far into the new table as into the old: memory is read and written
     * in streams. */
    for (uint32_t position = 0; position < old_slots && OSC_CACHED_OK == status; ++position) {
        uint32_t entry = osc_cached_index_at(index, position);

        if (OSC_CACHED_INDEX_NONE != entry) {
            uint64_t hash = osc_cached_index_hash(&made, key_of(context, entry));

            status = insert_within(&made, hash, entry, made.path_max);
        }
    }
    if (OSC_CACHED_OK != status) {
        made.alloc.free(made.alloc.context, made.lines, table_bytes(made.num_pairs));
        return status;
    }
    index->alloc.free(index->alloc.context, index->lines, table_bytes(index->num_pairs));
    *index = made;
    return OSC_CACHED_OK;
}

static int verify_slot(const osc_cached_index_t *index, uint32_t position,
                       osc_cached_index_key_fn_t key_of, void *context)
{
    uint32_t entry = osc_cached_index_at(index, position);
    uint32_t line = position / OSC_CACHED_INDEX_LINE_SLOTS;
    uint32_t even = (0 == line % 2) ? line : line_away(index, position);
    uint32_t odd = osc_cached_index_other_line(index, *fingerprint_at(index, position), even);
    uint64_t hash;
    uint32_t copies;

    if (osc_cached_index_other_line(index, *fingerprint_at(index, position),
                                    line_away(index, position))
        != line) {
        return 4;
    }
    if (NULL == key_of) {
        return 0;
    }
    hash = osc_cached_index_hash(index, key_of(context, entry));
    if (osc_cached_index_fingerprint(hash) != *fingerprint_at(index, position)
        || osc_cached_index_even_line(index, hash) != even) {
        return 4;
    }
    copies = slots_with(&index->lines[even], &index->lines[odd], entry + 1);
    return (1 == copies / ONE_OF_SECOND + copies / ONE_OF_FIRST % 16) ? 0 : 5;
}

static int verify_path(const osc_cached_index_t *index)
{
    uint32_t even = osc_cached_index_even_line(index, index->path_hash);
    uint32_t odd =
        osc_cached_index_other_line(index, osc_cached_index_fingerprint(index->path_hash), even);

    if (index->path_length > index->path_max) {
        return 6;
    }
    for (uint32_t i = 0; i < index->path_length; ++i) {
        osc_cached_index_step_t step = index->path[i];
        uint32_t line = step.position / OSC_CACHED_INDEX_LINE_SLOTS;

        if (OSC_CACHED_INDEX_NONE == step.entry
            || osc_cached_index_at(index, step.position) != step.entry
            || (line != even && line != odd) || on_path(index, i, step.position)) {
            return 6;
        }
        even = odd = line_away(index, step.position);
    }
    return 0;
}

int osc_cached_index_verify(const osc_cached_index_t *index, osc_cached_index_key_fn_t key_of,
                            void *context)
{
    uint32_t count = 0;
    int broken = 0;

    if (0 == index->num_pairs || 0 != (uintptr_t) index->lines % OSC_CACHED_INDEX_LINE) {
        return 1;
    }
    for (uint32_t i = 0; i < osc_cached_index_num_slots(index) && 0 == broken; ++i) {
        if (OSC_CACHED_INDEX_NONE != osc_cached_index_at(index, i)) {
            ++count;
            broken = verify_slot(index, i, key_of, context);
        } else if (0 != *fingerprint_at(index, i)) {
            broken = 3;
        }
    }
    if (0 == broken && count != index->count) {
        broken = 2;
    }
    if (0 == broken) {
        broken = verify_path(index);
    }
    if (0 == broken && (0 == index->patience || index->patience > index->path_max)) {
        broken = 7;
    }
    return broken;
}
