/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Which cached entry holds a key: a cuckoo hash table (CLaMPI paper, III-C1) from (target, byte
 * address) to the number of an entry. The entries themselves, and so the full keys, are the
 * owner's; the table keeps 32 bits of a key's hash, the fingerprint, and asks the owner only when
 * those agree.
 *
 * Memory: an array of pairs of cache lines of 8 slots. A key may stand in any slot of one even and
 * one odd line, so a lookup reads these two lines and then the entry:
 *
 *     hash of the key, 64 bits:  | which even line (multiplied to range) | fingerprint |
 *
 *     pair 0   | line 0: fingerprint 0..7 | entry+1 0..7 | line 1: fingerprints | entries |
 *     pair 1   | line 2                                  | line 3                         |
 *      ...              even lines                                 odd lines
 *              0                          32             64                    96         128 bytes
 *
 * The odd line's pair number is f(fingerprint) - the even line's, modulo the number of pairs. So
 * the way from either line to the other needs the fingerprint only, and an insertion that moves
 * others never touches their descriptors. The number of pairs is arbitrary.
 *
 * Insertion: into the emptier line. When both are full, the paper's insertion path: a random entry
 * of one line would move to its own other line; when that is full too, a random entry of it, and so
 * on, until there is an empty slot or the path has its greatest length. The path is walked first
 * and the entries move afterwards; no position is on it twice, so none can be lost. When it is too
 * long nothing has moved: the owner sees the path, picks the one that leaves (a conflicting
 * access), and the rest of the move is done.
 *
 * Patience: a table that is full and stays full should not be searched to the end by each miss. A
 * refusal halves the length of the next path, down to 16 entries (as many as an eviction samples),
 * an insertion adds 16, up to path_max.
 *
 * Places per key: the paper's 4 single slots were tried first. In two lines they fill 100,000 slots
 * to 95.4 % with paths of 500 and 96.7 % with paths of 2000 before the first refusal (4 slots
 * anywhere, in 4 lines: 97.1 %); the 16 slots of the same two lines reach 98.4 % with paths of 128.
 * To compare whole lines is faster, too: 9 ns a lookup, and 25 ns when 4 pairs of slots are picked
 * out of them.
 *
 * Not locked: lookups may run together, anything else needs the owner's lock.
 *
 * Measured (Neoverse-V1, gcc 12 -O3, 4 KiB pages, another job on the other core; median ns of
 * independent random keys, hash included; a lookup that waits for the one before takes 19 and
 * 125 ns):
 *
 *                         1024 slots at 50, 90, 97 %     2^20 slots at 50, 90, 97 %
 *     hit                     8.1   8.1   8.1               37    38    38
 *     hit + owner's key       8.8   8.8   8.8               73    74    75
 *     no hit                  8.1   8.1   8.1               38    36    39
 *     insert                   31    36    65               56    88   450
 *     insert + replace in a table that stays full:  160 (1000 slots), 1700 (1,000,000)
 *     resize: 120 to 140 per entry (1,000,000)
 *
 * Filled when the first insertion is refused, paths of 128, strided keys:
 *
 *     slots      seeds    least   5 %     median  mean    most
 *     1,000      2000     97.1    98.6    99.3    99.3    100
 *     1,024      2000     97.7    98.5    99.3    99.3    100
 *     100,000    50       97.7    97.9    98.4    98.4    98.8
 *     1,000,000  20       97.6    97.7    98.1    98.0    98.4
 *     1,048,576  10       97.6            98.0    98.0    98.3
 *
 * Invariants (osc_cached_index_verify returns the number of the first broken one):
 *  I1 there is at least one pair of lines, and they are aligned to 64 bytes.
 *  I2 count is the number of slots that are not empty.
 *  I3 both words of an empty slot are 0.
 *  I4 an entry stands with its key's fingerprint, in its key's even line or in the line that
 *     osc_cached_index_other_line leads to from there; from either the other one is found.
 *  I5 no entry stands in two slots.
 *  I6 the path, if there is one, has at most path_max entries, each where it says, none twice; the
 *     first in a line of the new key, each other in the line that its predecessor could move to.
 *  I7 patience is in 1..path_max.
 */
#ifndef OSC_CACHED_INDEX_H
#define OSC_CACHED_INDEX_H

#include "osc_cached_alloc.h"
#include "osc_cached_key.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** No entry. Never the number of one. */
#define OSC_CACHED_INDEX_NONE UINT32_MAX

/** Bytes of a cache line, and slots in one. */
#define OSC_CACHED_INDEX_LINE 64
#define OSC_CACHED_INDEX_LINE_SLOTS 8u

/** Limits of the number of slots; what is asked for is rounded up to a multiple of the first. */
#define OSC_CACHED_INDEX_SLOTS_MIN 16u
#define OSC_CACHED_INDEX_SLOTS_MAX (UINT32_C(1) << 28) /* 2 GiB, for any size_t */

/** Longest insertion path, in displaced entries. */
#define OSC_CACHED_INDEX_PATH_DEFAULT 128u /* fills to 98 %, see above */
#define OSC_CACHED_INDEX_PATH_MAX 65536u

/** A search that has failed before goes on for at least this many entries (see patience). */
#define OSC_CACHED_INDEX_PATIENCE_MIN 16u

typedef struct {
    uint32_t fingerprint[OSC_CACHED_INDEX_LINE_SLOTS]; /**< low half of the key's hash; 0: empty */
    uint32_t entry[OSC_CACHED_INDEX_LINE_SLOTS];       /**< its number plus 1; 0: empty */
} osc_cached_index_line_t;

/** One entry of an insertion path and where it stands. */
typedef struct {
    uint32_t position;
    uint32_t entry;
} osc_cached_index_step_t;

typedef struct {
    osc_cached_index_line_t *lines;
    uint32_t num_pairs; /**< pairs of lines */
    uint32_t count;     /**< entries */
    osc_cached_key_seed_t seed;
    osc_cached_index_step_t *path; /**< of the last refused insertion */
    uint64_t path_hash;            /**< the hash it was asked with */
    uint32_t path_length;          /**< entries; 0: there is none, or it is out of date */
    uint32_t path_max;             /**< entries */
    uint32_t patience;             /**< entries; how long the next path may become */
    uint64_t random;               /**< state of the generator */
    osc_cached_alloc_t alloc;
} osc_cached_index_t;

/** Whether this entry has this key. Called when the fingerprints are equal. */
typedef bool (*osc_cached_index_match_fn_t)(void *context, uint32_t entry, osc_cached_key_t key);

/** The key of an entry. */
typedef osc_cached_key_t (*osc_cached_index_key_fn_t)(void *context, uint32_t entry);

/**
 * Make an empty index in *index.
 *
 * @param num_slots  wanted, at most SLOTS_MAX; rounded up, see osc_cached_index_num_slots
 * @param path_max   longest insertion path; 0 for the default
 * @param seed       of the hash and of the random walks
 * @param alloc      NULL for the default; copied
 * @return OSC_CACHED_OK, OSC_CACHED_NO_MEMORY or OSC_CACHED_BAD_ARGUMENT
 */
int osc_cached_index_create(osc_cached_index_t *index, uint32_t num_slots, uint32_t path_max,
                            uint64_t seed, const osc_cached_alloc_t *alloc);

void osc_cached_index_destroy(osc_cached_index_t *index);

/** Remove all entries. O(slots): 8 bytes are written of each. */
void osc_cached_index_clear(osc_cached_index_t *index);

static inline uint32_t osc_cached_index_num_slots(const osc_cached_index_t *index)
{
    return index->num_pairs * 2 * OSC_CACHED_INDEX_LINE_SLOTS;
}

/** What the other functions want to know of a key. Stays the same for the index's life. */
static inline uint64_t osc_cached_index_hash(const osc_cached_index_t *index, osc_cached_key_t key)
{
    return osc_cached_key_hash(&index->seed, key);
}

static inline uint32_t osc_cached_index_fingerprint(uint64_t hash)
{
    return (uint32_t) hash;
}

/** The even one of a key's two lines. */
static inline uint32_t osc_cached_index_even_line(const osc_cached_index_t *index, uint64_t hash)
{
    return 2 * (uint32_t) (((hash >> 32) * index->num_pairs) >> 32);
}

/** From one of the two lines of a key with this fingerprint to the other (I4). */
static inline uint32_t osc_cached_index_other_line(const osc_cached_index_t *index,
                                                   uint32_t fingerprint, uint32_t line)
{
    uint64_t spread = fingerprint * UINT32_C(0x9e3779b1);
    uint32_t sum = (uint32_t) ((spread * index->num_pairs) >> 32);
    uint32_t pair = line / 2;

    return 2 * ((sum >= pair) ? sum - pair : sum + index->num_pairs - pair) + (~line & 1);
}

/**
 * Compare a fingerprint with all slots of two lines, without a branch: whether one is equal can be
 * predicted, which one cannot.
 *
 * @param found  the slots' entries (plus 1), or-ed together; 0: there is none
 * @param times  how many fingerprints are equal
 *
 * GNU vectors are spelled out, because gcc 12 makes vector code of the plain loop with -O2 (9 ns a
 * lookup) and none with -O3 (18 ns).
 */
#if defined(__GNUC__)
typedef uint32_t osc_cached_index_quad_t __attribute__((__vector_size__(16), __may_alias__));
typedef uint64_t osc_cached_index_pair_t __attribute__((__vector_size__(16)));

static inline void osc_cached_index_scan(const osc_cached_index_line_t *a,
                                         const osc_cached_index_line_t *b, uint32_t fingerprint,
                                         uint32_t *found, uint32_t *times)
{
    const osc_cached_index_quad_t *x = (const void *) a, *y = (const void *) b;
    osc_cached_index_quad_t f = {fingerprint, fingerprint, fingerprint, fingerprint};
    osc_cached_index_quad_t x0 = x[0] == f, x1 = x[1] == f, y0 = y[0] == f, y1 = y[1] == f;
    osc_cached_index_pair_t entries =
        (osc_cached_index_pair_t) ((x[2] & x0) | (x[3] & x1) | (y[2] & y0) | (y[3] & y1));
    osc_cached_index_pair_t ones = (osc_cached_index_pair_t) - (x0 + x1 + y0 + y1);
    /* two slots in each half: the sums of ones are small, nothing is carried */
    uint64_t numbers = entries[0] | entries[1], matches = ones[0] + ones[1];

    *found = (uint32_t) (numbers | numbers >> 32);
    *times = (uint32_t) (matches + (matches >> 32));
}
#else
static inline void osc_cached_index_scan(const osc_cached_index_line_t *a,
                                         const osc_cached_index_line_t *b, uint32_t fingerprint,
                                         uint32_t *found, uint32_t *times)
{
    *found = 0;
    *times = 0;
    for (uint32_t i = 0; i < OSC_CACHED_INDEX_LINE_SLOTS; ++i) {
        uint32_t in_a = (a->fingerprint[i] == fingerprint) ? UINT32_MAX : 0;
        uint32_t in_b = (b->fingerprint[i] == fingerprint) ? UINT32_MAX : 0;

        *found |= (a->entry[i] & in_a) | (b->entry[i] & in_b);
        *times -= in_a + in_b;
    }
}
#endif

/** osc_cached_index_lookup when fingerprints collide: asks for each of them. */
uint32_t osc_cached_index_lookup_slowly(const osc_cached_index_t *index, uint64_t hash,
                                        osc_cached_key_t key, osc_cached_index_match_fn_t match,
                                        void *context);

/**
 * Find the entry of a key.
 *
 * Inline, so that the caller's match is too: a hit of the cache is little more than this. All slots
 * are compared without a branch, in a few vector instructions (osc_cached_index_scan).
 *
 * @return its number, or OSC_CACHED_INDEX_NONE
 */
static inline uint32_t osc_cached_index_lookup(const osc_cached_index_t *index, uint64_t hash,
                                               osc_cached_key_t key,
                                               osc_cached_index_match_fn_t match, void *context)
{
    uint32_t fingerprint = osc_cached_index_fingerprint(hash);
    uint32_t even = osc_cached_index_even_line(index, hash);
    uint32_t odd = osc_cached_index_other_line(index, fingerprint, even);
    const osc_cached_index_line_t *a = &index->lines[even], *b = &index->lines[odd];
    uint32_t found, times;

    osc_cached_index_scan(a, b, fingerprint, &found, &times);
    if (0 == found) {
        return OSC_CACHED_INDEX_NONE;
    }
    if (1 != times) {
        return osc_cached_index_lookup_slowly(index, hash, key, match, context);
    }
    return match(context, found - 1, key) ? found - 1 : OSC_CACHED_INDEX_NONE;
}

/**
 * Insert an entry whose key is not in the index.
 *
 * @return OSC_CACHED_OK; OSC_CACHED_BAD_ARGUMENT for OSC_CACHED_INDEX_NONE; OSC_CACHED_FULL when
 *         the insertion path ended without an empty slot: nothing has changed, and
 *         osc_cached_index_path tells which entries may leave so that osc_cached_index_replace
 *         succeeds
 */
int osc_cached_index_insert(osc_cached_index_t *index, uint64_t hash, uint32_t entry);

/**
 * The path of the last insertion, when that was refused: at least one entry, each at another
 * position; the first stands where the new entry would go. Valid until the index changes.
 *
 * @param length  set to the number of entries, 0 when there is no path
 */
static inline const osc_cached_index_step_t *osc_cached_index_path(const osc_cached_index_t *index,
                                                                   uint32_t *length)
{
    *length = index->path_length;
    return index->path;
}

/**
 * Complete the insertion that was refused: the entry of path[victim] leaves the index, those
 * before it on the path move up by one, the new entry takes the place of the first.
 *
 * @return OSC_CACHED_OK, or OSC_CACHED_BAD_ARGUMENT with nothing changed when the path is shorter
 * or of another hash, or the index has changed since
 */
int osc_cached_index_replace(osc_cached_index_t *index, uint64_t hash, uint32_t entry,
                             uint32_t victim);

/** Remove an entry, given the hash of its key. @return OSC_CACHED_OK or OSC_CACHED_NOT_FOUND */
int osc_cached_index_remove(osc_cached_index_t *index, uint64_t hash, uint32_t entry);

/** The entry at a position below osc_cached_index_num_slots, or OSC_CACHED_INDEX_NONE. */
static inline uint32_t osc_cached_index_at(const osc_cached_index_t *index, uint32_t position)
{
    return index->lines[position / OSC_CACHED_INDEX_LINE_SLOTS]
               .entry[position % OSC_CACHED_INDEX_LINE_SLOTS]
           - 1;
}

/** A random position, for a caller that samples entries. */
uint32_t osc_cached_index_random_position(osc_cached_index_t *index);

/**
 * Move all entries to a larger or smaller table. Hashes stay the same, positions do not. A path of
 * a refused insertion is forgotten.
 *
 * @param num_slots  as in osc_cached_index_create
 * @return OSC_CACHED_OK; with all entries where they were: OSC_CACHED_FULL when the new table
 *         cannot hold them all (expect it from 97 % on), OSC_CACHED_NO_MEMORY,
 *         OSC_CACHED_BAD_ARGUMENT
 */
int osc_cached_index_resize(osc_cached_index_t *index, uint32_t num_slots,
                            osc_cached_index_key_fn_t key_of, void *context);

/** @return 0, or the number of the first broken invariant of this file */
int osc_cached_index_verify(const osc_cached_index_t *index, osc_cached_index_key_fn_t key_of,
                            void *context);

#endif /* OSC_CACHED_INDEX_H */
