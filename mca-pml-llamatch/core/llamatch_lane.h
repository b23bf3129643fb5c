/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * A lane: the entries of one source, or of one kind, in order. It is short or long.
 *
 * What most programs have most of the time is no, one or a few entries, and that must cost no more
 * than a list. A short lane has one array, and a word that says which of its entries are there:
 *
 *     lane     live 1011000..., end 4, room 8
 *     array    | tag 0 ... tag 7 | number and item 0 ... 7 |
 *
 * The first entry is the lowest bit, a new one comes to the end, and to take one clears its bit.
 * When there is no room behind the last one, the entries move to the start of the array if
 * they need no more than half of it. Otherwise they go to a larger array: from the lane's own to a
 * small one, and from there to that of a queue (llamatch_queue.h). With that full, too, the lane
 * becomes open: new entries go to the queue, and the first ones stay within reach, in one word as
 * before. When these are taken, the next word of the queue follows. So a message that matches the
 * first entry costs the same however long the lane is. For all else an open lane becomes long: the
 * queue gets the first entries, too, where they are. It is open again when a queue without index is
 * matched at its front for a whole array, and short when it is down to few entries in one array;
 * when it is empty, it gives its array back. So up to four entries, the usual case, are in the lane
 * itself: no other memory. The first one is in the first 64 bytes.
 *
 * What exists:
 *
 *     form       | room | tags  | live               | queue
 *     -----------+------+-------+--------------------+-----------------------------------
 *     no array   | 0    | none  | 0                  | no node
 *     own        | <= 4 | there | which entries      | none: the array is where it would be
 *     small      | <= 8 | there | which entries      | no node; the array is not a node
 *     short      | <= 64| there | which entries      | one node, which is empty to the queue
 *     open       | 0    | there | which of the first | all others; the first are in its first node
 *     long       | 0    | none  | all ones, or 0     | the entries, if any; may have an index
 *
 * Only the engine of kind AUTO has own, small, short and open lanes
 * (llamatch_shape_t::short_entries), and with a heater no own ones: it heats the arena, and each
 * first entry must come by (own_entries).
 *
 * Invariants (checked by the unit tests: llamatch_lane_verify in test/unit/llamatch_verify.h):
 *  I1 the form is one of those above; own, small and short: live has no bit at or beyond end, which
 *     is 0 when there are no entries, and room at most.
 *  I2 own, small and short: tags and slots are those of the array, and numbers grow strictly. Open:
 *     they are a word of the first node, in which the queue does not have the same entries.
 *  I3 the queue fulfils its own invariants; that of an open lane when it gets the first entries.
 */
#ifndef LLAMATCH_LANE_H
#define LLAMATCH_LANE_H

#include "llamatch_queue.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/** Entries of a short lane at most: the bits of a word. */
#define LLAMATCH_SHORT_MAX 64

/** Entries of a lane's own array; four tags are compared together. A burst of two entries that goes
 * to a small array and back costs 90 instructions per message more. */
#define LLAMATCH_OWN_ENTRIES 4

/* The usual case is to be a straight line: on the way of a message it is taken branches that cost.
 */
#if defined(__GNUC__)
#define LLAMATCH_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define LLAMATCH_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#else
#define LLAMATCH_LIKELY(condition) (condition)
#define LLAMATCH_UNLIKELY(condition) (condition)
#endif

/** How many bits are set. */
static inline uint32_t llamatch_lane_bits(uint64_t word)
{
#if defined(__x86_64__) && !defined(__POPCNT__) /* it would be a call of the compiler's library */
    word -= word >> 1 & UINT64_C(0x5555555555555555);
    word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
    word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (uint32_t) (word * UINT64_C(0x0101010101010101) >> 56);
#else
    return (uint32_t) __builtin_popcountll(word);
#endif
}

/** All zero: there is no entry yet. */
typedef struct llamatch_lane {
    uint64_t live;          /**< 0: there are no entries; see above */
    int32_t *tags;          /**< own, small, short and open: those of the array; else NULL */
    llamatch_slot_t *slots; /**< the same */
    uint16_t end;           /**< own, small and short: where the next entry comes */
    uint16_t room;          /**< the same: entries of the array that may be used */
    uint32_t passed;        /**< own: the queue's */
    int32_t own_tags[LLAMATCH_OWN_ENTRIES];
    union {
        llamatch_slot_t own_slots[LLAMATCH_OWN_ENTRIES]; /**< own */
        llamatch_queue_t queue;                          /**< all other forms */
    };
} llamatch_lane_t;

/** An entry that a search has found. Valid until the lane is changed. */
typedef struct llamatch_found {
    llamatch_slot_t *slot; /**< NULL: none */
    llamatch_pos_t pos;    /**< long: where in the queue; else only the index counts */
} llamatch_found_t;

/** Own, small or short? */
static inline bool llamatch_lane_is_short(const llamatch_lane_t *lane)
{
    return 0 != lane->room;
}

/** Are its first entries, if any, within reach? Own, small, short or open. */
static inline bool llamatch_lane_has_front(const llamatch_lane_t *lane)
{
    return NULL != lane->tags;
}

static inline bool llamatch_lane_is_open(const llamatch_lane_t *lane)
{
    return llamatch_lane_has_front(lane) && !llamatch_lane_is_short(lane);
}

static inline bool llamatch_lane_has_index(const llamatch_lane_t *lane)
{
    return !llamatch_lane_has_front(lane) && NULL != lane->queue.index;
}

static inline uint32_t llamatch_lane_count(const llamatch_lane_t *lane)
{
    return (llamatch_lane_is_short(lane) ? 0 : lane->queue.count)
           + (llamatch_lane_has_front(lane) ? llamatch_lane_bits(lane->live) : 0);
}

/** The first entry of a lane that has any within reach. */
static inline uint32_t llamatch_lane_first(const llamatch_lane_t *lane)
{
    return (uint32_t) __builtin_ctzll(lane->live);
}

static inline uint64_t llamatch_lane_first_seq(const llamatch_lane_t *lane)
{
    return lane->slots[llamatch_lane_first(lane)].seq;
}

/** Append to a lane that is short and has room. @return whether it is and has */
static inline bool llamatch_lane_push(llamatch_lane_t *lane, int32_t tag, uint64_t seq, void *item)
{
    size_t end = lane->end;

    if (LLAMATCH_UNLIKELY(end >= lane->room)) { /* also every long one */
        return false;
    }
    lane->end = (uint16_t) (end + 1);
    lane->live |= (uint64_t) 1 << end;
    lane->tags[end] = tag;
    lane->slots[end] = (llamatch_slot_t){seq, item};
    return true;
}

/**
 * Append to any lane. @p seq must be greater than that of every entry.
 *
 * @return LLAMATCH_OK, or LLAMATCH_ERR_NO_MEMORY with the lane unchanged. For a long lane, *pos is
 *         where it is
 */
int llamatch_lane_append(llamatch_lane_t *lane, const llamatch_shape_t *shape, int32_t tag,
                         uint64_t seq, void *item, llamatch_pos_t *pos);

/** Where cancel finds what was appended last. To a short lane: in the lane, plus 1, whatever form
 * that gets later, for the entries of a queue's first node stay in it. To others: in its node. */
static inline uint64_t llamatch_lane_place(const llamatch_lane_t *lane)
{
    return llamatch_lane_is_short(lane) ? (uintptr_t) lane + 1 : (uintptr_t) lane->queue.tail;
}

/** Does it tell the lane? */
static inline bool llamatch_place_has_lane(uint64_t place)
{
    return 0 != (place & 1);
}

static inline llamatch_lane_t *llamatch_place_lane(uint64_t place)
{
    return (llamatch_lane_t *) (uintptr_t) (place - 1);
}

/** Which of four tags are one of two? One bit each, the first one the lowest. */
static inline uint32_t llamatch_lane_four(const int32_t *tags, int32_t tag, int32_t other)
{
    uint32_t equal = 0;
#if defined(__SSE2__)
    __m128i four = _mm_loadu_si128((const __m128i *) tags);
    __m128i either = _mm_or_si128(_mm_cmpeq_epi32(four, _mm_set1_epi32(tag)),
                                  _mm_cmpeq_epi32(four, _mm_set1_epi32(other)));

    equal = (uint32_t) _mm_movemask_ps(_mm_castsi128_ps(either));
#elif defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    typedef int32_t four_t __attribute__((vector_size(16)));
    typedef int16_t half_t __attribute__((vector_size(8)));
    uint64_t halves;
    four_t four;
    half_t half;

    memcpy(&four, tags, sizeof(four));
    half = __builtin_convertvector((four == tag) | (four == other), half_t);
    memcpy(&halves, &half, sizeof(halves));
    if (LLAMATCH_UNLIKELY(0 != halves)) {
        halves &= UINT64_C(0x0008000400020001); /* one bit each, and these side by side */
        halves |= halves >> 32;
        equal = (uint32_t) (halves | halves >> 16) & 15;
    }
#else
    for (int i = 0; i < 4; ++i) {
        equal |= (uint32_t) ((tags[i] == tag) | (tags[i] == other)) << i;
    }
#endif
    return equal;
}

/** llamatch_lane_find for what is behind the first entry, those in live: with one of two tags. */
static inline uint32_t llamatch_lane_find_tag(const llamatch_lane_t *lane, int32_t tag,
                                              int32_t other, uint64_t live)
{
    while (0 != live) { /* what is gone is passed by, four at a time */
        uint32_t i = (uint32_t) __builtin_ctzll(live) / 4 * 4;
        uint64_t equal = llamatch_lane_four(lane->tags + i, tag, other) & live >> i;

        if (LLAMATCH_UNLIKELY(0 != equal)) { /* what is equal may be gone */
            return i + (uint32_t) __builtin_ctzll(equal);
        }
        live &= ~(UINT64_C(15) << i);
    }
    return LLAMATCH_SHORT_MAX;
}

/** The same with any of the user's tags. */
static inline uint32_t llamatch_lane_find_any(const llamatch_lane_t *lane, uint64_t live)
{
    for (; 0 != live; live &= live - 1) {
        if (0 <= lane->tags[__builtin_ctzll(live)]) {
            return (uint32_t) __builtin_ctzll(live);
        }
    }
    return LLAMATCH_SHORT_MAX;
}

/** Search some entries within reach for the first that the key accepts. @return LLAMATCH_SHORT_MAX:
 * none */
static inline uint32_t llamatch_lane_find_among(const llamatch_lane_t *lane, llamatch_key_t key,
                                                uint64_t live)
{
    return (INT32_MAX == key.floor) ? llamatch_lane_find_tag(lane, key.tag, key.other, live)
                                    : llamatch_lane_find_any(lane, live);
}

/** The same behind the first one. */
static inline uint32_t llamatch_lane_find_behind(const llamatch_lane_t *lane, llamatch_key_t key)
{
    return llamatch_lane_find_among(lane, key, lane->live & (lane->live - 1));
}

/** The same with the first one. */
static inline uint32_t llamatch_lane_find(const llamatch_lane_t *lane, llamatch_key_t key)
{
    uint32_t first = llamatch_lane_first(lane);

    return llamatch_key_accepts(key, lane->tags[first]) ? first
                                                        : llamatch_lane_find_behind(lane, key);
}

/** Entries that such a search has looked at. */
static inline uint32_t llamatch_lane_depth(const llamatch_lane_t *lane, uint32_t index)
{
    uint64_t looked_at =
        (LLAMATCH_SHORT_MAX <= index + 1) ? UINT64_MAX : ((uint64_t) 2 << index) - 1;

    looked_at &= lane->live; /* at least the first one */
#if defined(__x86_64__) && !defined(__POPCNT__)
    /* side by side, as they mostly are: no need to count */
    looked_at >>= __builtin_ctzll(looked_at);
    if (LLAMATCH_LIKELY(0 == (looked_at & (looked_at + 1)))) {
        return 64 - (uint32_t) __builtin_clzll(looked_at);
    }
#endif
    return llamatch_lane_bits(looked_at);
}

/** No entry is within reach any more: the next ones of an open lane are, or the array goes back,
 * and the lane has its own. */
void llamatch_lane_advance(llamatch_lane_t *lane, const llamatch_shape_t *shape);

/** Take an entry that is within reach. */
static inline void llamatch_lane_take(llamatch_lane_t *lane, const llamatch_shape_t *shape,
                                      uint32_t index)
{
    lane->live &= ~((uint64_t) 1 << index);
    if (0 == lane->live) {
        lane->end = 0;
        if (LLAMATCH_UNLIKELY(lane->tags != lane->own_tags)) {
            llamatch_lane_advance(lane, shape);
        }
    }
}

/** After an entry behind the first one was taken: if it was the last of the array, the next one
 * comes behind those that are left. Else ones that wait for long would make the others move every
 * few messages. */
static inline void llamatch_lane_trim(llamatch_lane_t *lane, uint32_t index)
{
    if (index + 1 == lane->end) { /* 0 in long ones, and in empty ones */
        lane->end = (uint16_t) (64 - __builtin_clzll(lane->live));
    }
}

/** Make an open lane long. */
void llamatch_lane_close(llamatch_lane_t *lane, const llamatch_shape_t *shape);

/** Make a long lane open, which has entries and no index. */
void llamatch_lane_open(llamatch_lane_t *lane, const llamatch_shape_t *shape);

/** llamatch_lane_changed for a lane that is empty or can be short again. */
void llamatch_lane_make_short(llamatch_lane_t *lane, const llamatch_shape_t *shape);

/** To be called after something was taken from the queue of a long lane. */
static inline void llamatch_lane_changed(llamatch_lane_t *lane, const llamatch_shape_t *shape)
{
    if (LLAMATCH_UNLIKELY(lane->queue.count <= shape->short_entries / 4 * 3
                          && (0 == lane->queue.count || lane->queue.head == lane->queue.tail))) {
        llamatch_lane_make_short(lane, shape);
    }
}

/** The entry within reach that has this item. @return LLAMATCH_SHORT_MAX: none has */
static inline uint32_t llamatch_lane_index_of(const llamatch_lane_t *lane, const void *item)
{
    uint64_t live = lane->live;

    while (0 != live && item != lane->slots[__builtin_ctzll(live)].item) {
        live &= live - 1;
    }
    return (0 == live) ? LLAMATCH_SHORT_MAX : (uint32_t) __builtin_ctzll(live);
}

/** The entry of a long lane that has this item; its place is what llamatch_lane_place told, or
 * shape->moved. @return node NULL: there is none */
llamatch_pos_t llamatch_lane_find_item(const llamatch_lane_t *lane, const llamatch_shape_t *shape,
                                       uint64_t place, const void *item);

/**
 * Visit all entries in order, and remove those for which @p visit returns true. There must be no
 * index. @return number of entries removed
 */
size_t llamatch_lane_walk(llamatch_lane_t *lane, const llamatch_shape_t *shape,
                          llamatch_visit_fn_t visit, void *context);

/** Forget all entries and give all memory back. There must be no index. */
void llamatch_lane_clear(llamatch_lane_t *lane, const llamatch_shape_t *shape);

#endif /* LLAMATCH_LANE_H */
