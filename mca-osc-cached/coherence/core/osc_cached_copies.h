/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The copies that a process has of others' blocks, and its writes to them: the reader's and the
 * writer's side of the coherence protocol, for one window.
 *
 * Generations. Each block has one of OSC_CACHED_GENERATIONS atomic counters, shared with others
 * that have the same hash, and each target one more. An entry of the cache is valid while the sum
 * of those of its blocks and its target, the stamp, is what it was before its get was issued:
 *
 *     INV = an addition, by whoever handles messages, without a lock; a hit compares sums (R1, R3)
 *
 * Blocks. A small table remembers which blocks this process is a sharer of, or has asked for. It
 * forgets what it has no room for: then the block is asked for once more.
 *
 *              miss                FILL                DATA, generation as it was
 *     ABSENT ---------> SEEN  --------------> PENDING ------------------------------> VALID
 *       ^                ^   (missed again)     |                                       |
 *       |                +----------------------+                                       |
 *       |                   DIRECT, or DATA of another generation (poisoned)            |
 *       +-------------------------------------------------------------------------------+
 *                      another generation: INV, own write, eviction
 *
 * A PENDING block of another generation is poisoned: nobody joins it, a miss asks anew under a new
 * name, and what comes under the old name serves those who wait for it and is not kept.
 *
 * Windows in memory (config.waits not set): DATA only confirms. Gets go out beside FILL and are not
 * kept; once the block is VALID, what a get brings is kept. FILL is sent when a block is missed
 * again (or, where copies do not pay, the same part of it, of some parts), and after a DIRECT not
 * before twice as many misses as before.
 *
 * Windows on files (config.waits): DATA brings the block, and gets wait for it.
 *
 * Writes. A write needs a hold of its blocks, and drops this process's own copies of them (R7). A
 * hold is kept for later writes (R8), which then send nothing; all blocks of a target may be one
 * hold, see osc_cached_directory.h. At most OSC_CACHED_HOLDS of a target, then all of it is held.
 *
 *     none --write, HOLD--> asked --HELD--> held, dirty --complete--> held, clean --> FREE
 *                             dirty              ^---------write--------+    (RECALL, or no room)
 *
 * While a hold is dirty, gets of its blocks go past the cache.
 *
 * Threads: osc_cached_copies_stamp, and osc_cached_copies_receive of an INV, need no lock; all else
 * does.
 *
 * Invariants (osc_cached_copies_verify returns the number of the first broken one):
 *  I1 a block is in the table once, in its set; SEEN has no name, PENDING and VALID have one.
 *  I2 a hold with a name is asked for or held, one without is neither, nor dirty or recalled.
 *  I3 asked is the number of holds that are dirty and not held.
 */
#ifndef OSC_CACHED_COPIES_H
#define OSC_CACHED_COPIES_H

#include "osc_cached_alloc.h"
#include "osc_cached_message.h"

#include <stdatomic.h>

enum {
    OSC_CACHED_GENERATIONS = 4096, /**< 32 KiB: of a false invalidation per 4096 */
    OSC_CACHED_KEEP_BLOCKS = 4,    /**< what covers more is not kept */
    OSC_CACHED_NARROW = 16,        /**< HOLDs of single blocks after the first RECALL, */
    OSC_CACHED_RECALLS = 6,        /**< twice as many after each, so often */
    OSC_CACHED_HOLDS = 8           /**< of a target; the last one can only be of all its blocks */
};

#define OSC_CACHED_ALL_PARTS UINT64_MAX

typedef struct osc_cached_copies_config {
    uint32_t ranks;      /**< of the window */
    uint32_t rank;       /**< of this process */
    uint32_t max_blocks; /**< in the table; rounded up to a power of two, 16 at least */
    uint8_t block_shift; /**< a block has 2^this bytes */
    bool waits;          /**< DATA brings the block's bytes, and misses wait for it */
    /** Processes with one cache: osc_cached_copies_generations() of these that all of them use,
     * which are 0 at first; NULL: of its own */
    _Atomic uint64_t *generation;
    uint32_t name_step;  /**< how many they are; 0: one */
    uint32_t name_first; /**< which of them this is, from 0: no two use the same name */
    const osc_cached_alloc_t *alloc;
} osc_cached_copies_config_t;

/** What has happened; one line per counter. */
typedef struct osc_cached_copies_counts {
    uint64_t fills;     /**< FILLs sent */
    uint64_t kept;      /**< DATAs that made a block VALID */
    uint64_t poisoned;  /**< DATAs of another generation */
    uint64_t directs;   /**< DIRECTs */
    uint64_t forwards;  /**< FWDs answered by DATA */
    uint64_t backs;     /**< FWDs answered by BACK */
    uint64_t holds;     /**< HOLDs sent */
    uint64_t recalls;   /**< RECALLs */
    uint64_t frees;     /**< FREEs sent */
    uint64_t evictions; /**< EVICTs sent */
    uint64_t lasts;     /**< LASTs */
} osc_cached_copies_counts_t;

typedef enum {
    OSC_CACHED_BLOCK_ABSENT, /**< nothing is known */
    OSC_CACHED_BLOCK_SEEN,   /**< misses are counted */
    OSC_CACHED_BLOCK_PENDING,
    OSC_CACHED_BLOCK_VALID
} osc_cached_block_state_t;

/** What is known of a block. */
typedef struct osc_cached_block_entry {
    uint64_t block;
    union {
        uint64_t generation; /**< PENDING, VALID: when it was asked for */
        uint64_t parts;      /**< SEEN: of its 64 parts, those where gets that missed began */
    };
    uint32_t target;
    uint32_t name;   /**< PENDING, VALID: of the request */
    uint8_t state;   /**< osc_cached_block_state_t */
    uint8_t skip;    /**< SEEN: misses that came again until the next FILL */
    uint8_t refused; /**< DIRECTs in a row */
    bool alone;      /**< VALID: nobody else has a copy */
} osc_cached_block_entry_t;

/** A hold at a target; name 0: none. */
typedef struct osc_cached_own_hold {
    uint64_t first;
    uint64_t count;
    uint64_t used; /**< the number of the last write under it */
    uint32_t name;
    uint32_t issuing; /**< writes between osc_cached_copies_write and osc_cached_copies_written */
    bool held;        /**< HELD has come */
    bool dirty;       /**< a write under it is not complete */
    bool recalled;
} osc_cached_own_hold_t;

/** A target of writes. */
typedef struct osc_cached_written {
    uint32_t asked;              /**< holds that are dirty and not held */
    uint32_t dirty;              /**< holds that are dirty */
    uint32_t narrow;             /**< HOLDs until all blocks may be held again: others read there */
    uint8_t recalls;             /**< RECALLs, up to OSC_CACHED_RECALLS */
    bool closed;                 /**< nobody keeps copies of it any more */
    osc_cached_own_hold_t *hold; /**< OSC_CACHED_HOLDS, or NULL: none yet */
    osc_cached_own_hold_t whole; /**< of all blocks */
} osc_cached_written_t;

typedef struct osc_cached_copies {
    osc_cached_copies_config_t config;
    _Atomic uint64_t *generation; /**< of hashes of blocks, then of targets */
    osc_cached_block_entry_t *block;
    uint32_t blocks; /**< entries of the table, a power of two */
    osc_cached_written_t *written;
    uint32_t names;  /**< given out so far, to FILLs and HOLDs */
    uint64_t writes; /**< that were issued */
    uint32_t turn;   /**< who leaves the table */
    osc_cached_copies_counts_t counts;
} osc_cached_copies_t;

/** Counters of a window of so many ranks. */
static inline uint64_t osc_cached_copies_generations(uint32_t ranks)
{
    return (uint64_t) OSC_CACHED_GENERATIONS + ranks;
}

/** @return OSC_CACHED_OK, OSC_CACHED_NO_MEMORY or OSC_CACHED_BAD_ARGUMENT */
int osc_cached_copies_init(osc_cached_copies_t *copies, const osc_cached_copies_config_t *config);

void osc_cached_copies_fini(osc_cached_copies_t *copies);

/** The blocks of these bytes; at least one. */
static inline void osc_cached_copies_blocks(const osc_cached_copies_t *copies, uint64_t offset,
                                            uint64_t bytes, uint64_t *first, uint64_t *count)
{
    *first = offset >> copies->config.block_shift;
    *count = ((offset + (0 == bytes ? 0 : bytes - 1)) >> copies->config.block_shift) - *first + 1;
}

/** The bit of that of the 64 parts of its first block which a get begins in. */
static inline uint64_t osc_cached_copies_part(const osc_cached_copies_t *copies, uint64_t offset)
{
    uint64_t inside = offset & ((UINT64_C(1) << copies->config.block_shift) - 1);

    return UINT64_C(1) << (inside * 64 >> copies->config.block_shift);
}

/** The same for one part of 16, 0 for the others; always the same ones, so that a second miss of
 * one of them is noticed. */
static inline uint64_t osc_cached_copies_sampled_part(const osc_cached_copies_t *copies,
                                                      uint64_t offset)
{
    uint64_t number =
        copies->config.block_shift < 6 ? offset : offset >> (copies->config.block_shift - 6);

    return 0 == number * UINT64_C(0x9e3779b97f4a7c15) >> 60 ? osc_cached_copies_part(copies, offset)
                                                            : 0;
}

/** The counter of a block. */
static inline uint32_t osc_cached_copies_slot(uint32_t target, uint64_t block)
{
    uint64_t mixed = (block + ((uint64_t) target << 40)) * UINT64_C(0x9e3779b97f4a7c15);

    return (uint32_t) (mixed >> 52) % OSC_CACHED_GENERATIONS;
}

/** The sum of the generations of some blocks. */
uint64_t osc_cached_copies_sum(const osc_cached_copies_t *copies, uint32_t target, uint64_t first,
                               uint64_t count);

/**
 * The third term of the stamp of an entry of the cache: to be taken before its get is issued, and
 * compared when it is found. Any thread, no lock.
 *
 * @param count  at least 1, and at most OSC_CACHED_KEEP_BLOCKS, else the get must not be kept
 */
static inline uint64_t osc_cached_copies_stamp(const osc_cached_copies_t *copies, uint32_t target,
                                               uint64_t first, uint64_t count)
{
    uint64_t sum =
        atomic_load_explicit(&copies->generation[OSC_CACHED_GENERATIONS + target],
                             memory_order_acquire)
        + atomic_load_explicit(&copies->generation[osc_cached_copies_slot(target, first)],
                               memory_order_acquire);

    if (__builtin_expect(1 < count, 0)) { /* most gets are of one block: nothing is called there */
        sum += osc_cached_copies_sum(copies, target, first + 1, count - 1);
    }
    return sum;
}

/** The same for bytes. */
static inline uint64_t osc_cached_copies_stamp_of(const osc_cached_copies_t *copies,
                                                  uint32_t target, uint64_t offset, uint64_t bytes)
{
    uint64_t first, count;

    osc_cached_copies_blocks(copies, offset, bytes, &first, &count);
    return osc_cached_copies_stamp(copies, target, first, count);
}

/** What becomes of a get that the cache does not have. */
typedef enum {
    OSC_CACHED_COPY_DIRECT, /**< fetch it, keep nothing */
    OSC_CACHED_COPY_KEEP,   /**< fetch it by one-sided gets, keep it under the stamp */
    OSC_CACHED_COPY_WAIT    /**< wait for DATA or DIRECT with the name; config.waits only */
} osc_cached_copy_t;

/**
 * A get has missed; called before it is issued. May send FILL: where DATA brings no bytes, when a
 * get of one of these parts of the block has missed before.
 *
 * @param count  of blocks; with config.waits 1
 * @param parts  osc_cached_copies_part; OSC_CACHED_ALL_PARTS: also when what is in the same block
 * is asked for, and not only the same; 0: none
 * @param stamp  KEEP: osc_cached_copies_stamp of now
 * @param name   WAIT: of the request
 */
osc_cached_copy_t osc_cached_copies_miss(osc_cached_copies_t *copies, uint32_t target,
                                         uint64_t first, uint64_t count, uint64_t parts,
                                         uint64_t *stamp, uint32_t *name,
                                         const osc_cached_post_t *post);

/**
 * A message for this process's copies has come: DATA, DIRECT, FWD, INV, HELD, RECALL, LAST.
 * Of a node with one cache the first process gets INV for all.
 *
 * The DATA that a FWD is answered by needs the bytes of the block from the cache; without them the
 * caller sends BACK in its place, osc_cached_copies_back.
 *
 * @param stamp  of DATA that is kept: the stamp for it; may be NULL
 * @return of DATA: whether the block is VALID now, so that its bytes are kept; without that they
 *         serve those who wait for this name, and that is all. Else false
 */
bool osc_cached_copies_receive(osc_cached_copies_t *copies, const osc_cached_message_t *message,
                               uint64_t *stamp, const osc_cached_post_t *post);

/** The BACK to be sent in the place of a DATA for another reader. */
osc_cached_message_t osc_cached_copies_back(const osc_cached_message_t *data);

/**
 * A write is about to be issued: own copies are dropped; HOLD is sent unless there is a hold.
 * Called before the inner put, which osc_cached_copies_written follows.
 *
 * @param count  OSC_CACHED_ALL_BLOCKS, with first 0: all
 * @return the name of the hold; 0: none is needed
 */
uint32_t osc_cached_copies_write(osc_cached_copies_t *copies, uint32_t target, uint64_t first,
                                 uint64_t count, const osc_cached_post_t *post);

/** The write under this hold has been issued. */
void osc_cached_copies_written(osc_cached_copies_t *copies, uint32_t target, uint32_t name);

/** Does this process keep a hold of all blocks, that was not asked back?  Then nobody has copies.
 */
bool osc_cached_copies_holds_all(osc_cached_copies_t *copies, uint32_t target);

/** Number of the last write that was issued: a synchronisation that begins now completes it. */
static inline uint64_t osc_cached_copies_mark(const osc_cached_copies_t *copies)
{
    return copies->writes;
}

/**
 * R6: may a synchronisation that completes the writes to this target return, and those that tell
 * others by themselves (unlock, fence, complete) begin?
 */
static inline bool osc_cached_copies_is_held(const osc_cached_copies_t *copies, uint32_t target)
{
    return 0 == copies->written[target].asked;
}

/**
 * Writes to this target are complete there, and osc_cached_copies_is_held was true after they were
 * issued. Holds that were asked back are freed.
 *
 * @param mark  osc_cached_copies_mark of before the synchronisation: these writes
 */
void osc_cached_copies_complete(osc_cached_copies_t *copies, uint32_t target, uint64_t mark,
                                const osc_cached_post_t *post);

/** This process drops a block, if it is VALID, and tells the owner (P3). With config.waits and
 * generations of its own the caller drops the bytes that DATA brought. @return whether it did */
bool osc_cached_copies_evict(osc_cached_copies_t *copies, uint32_t target, uint64_t block,
                             const osc_cached_post_t *post);

/** What is known of a block: VALID only in the generation of now, else SEEN or ABSENT. */
osc_cached_block_state_t osc_cached_copies_state(const osc_cached_copies_t *copies, uint32_t target,
                                                 uint64_t block, bool *alone);

/**
 * The owner has died: nothing of it is kept, and nobody waits for it.
 *
 * Who waits for DATA that another process was to forward may wait for a dead one without knowing:
 * a caller that has waited for long hands a DIRECT of its own making to osc_cached_copies_receive,
 * and fetches the block itself.
 */
void osc_cached_copies_dead(osc_cached_copies_t *copies, uint32_t target);

/** @return 0, or the number of the first broken invariant of this file */
int osc_cached_copies_verify(const osc_cached_copies_t *copies);

#endif /* OSC_CACHED_COPIES_H */
