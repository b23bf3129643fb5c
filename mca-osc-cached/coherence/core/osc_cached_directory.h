/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The directory of one window at the owner of its memory: who has copies of which block, and who
 * writes. One line of 64 bytes per block that is shared or held, in a hash table:
 *
 *     | block | holds | slots | acks | turn | rank, name | rank, name | ... 5 of them, or an array
 * |
 *
 * A slot with a name is a sharer, entered before the block is read (R2). A slot with name 0 was
 * struck off by an INV whose ACK has not come.
 *
 *     FILL  of a block that nobody holds: the reader is entered; DATA, or FWD to another sharer
 *           else: DIRECT (R5); every so many of them the holders are asked to let go, RECALL (R8)
 *     HOLD  holds + 1, INV to all sharers but the writer, HELD after their ACKs (R4)
 *     FREE  holds - 1
 *
 * All of the window can be held at the cost of one hold: that is a count beside the table, and
 * takes one INV per process that has copies, the writer included, which has dropped only what it
 * writes. A HOLD that allows it (whole) gets all blocks when nobody has a copy of any; one of more
 * than OSC_CACHED_HOLD_BLOCKS blocks, or for which there is no room in the table, in any case.
 *
 * Protection (O2, config.protect). A block whose page was not protected has no sharers, and when
 * one is entered the page must be. A store that is trapped, or whatever else unprotects the page,
 * holds the block before: so afterwards it has none.
 *
 * Closed. Without memory for a hold, or when the owner does not want to share any more, the
 * directory closes: all copies are invalidated, FILL gets DIRECT and HOLD gets HELD from then on. A
 * HELD of all blocks with name 0 says so: no HOLD is needed any more.
 *
 * A sharer can stand for several processes with one cache (a node): then names are unique among
 * them, and INV goes to the first of them, also when one of them writes: others may have asked for
 * the block since it dropped its copy.
 *
 * Not thread-safe: the caller has a lock.
 *
 * Invariants (osc_cached_directory_verify returns the number of the first broken one):
 *  I1 a line is where a search for its block finds it; it has a slot or a hold.
 *  I2 a rank has at most one slot in a line; acks is the number of those with name 0.
 *  I3 shares of a rank, and of all, are the numbers of slots with names; held blocks have none.
 *  I4 holds of a line is the number of holds that contain its block and are not of all blocks.
 *  I5 a hold that waits has something to wait for.
 *  I6 closed: no slot has a name.
 */
#ifndef OSC_CACHED_DIRECTORY_H
#define OSC_CACHED_DIRECTORY_H

#include "osc_cached_alloc.h"
#include "osc_cached_message.h"

typedef struct osc_cached_directory_config {
    uint32_t ranks;     /**< of the window */
    uint32_t rank;      /**< the owner's */
    uint32_t max_lines; /**< blocks in the table; then FILL gets DIRECT */
    uint32_t recall;    /**< DIRECTs until holders are asked to let go; 0: never */
    bool protect;       /**< O2: blocks are shared only while their pages are protected */
    bool cooperate;     /**< P3: sharers hear when they are alone, and when no more */
    const uint32_t
        *node; /**< the first rank of each rank's node, one sharer together; NULL: none */
    const osc_cached_alloc_t *alloc;
} osc_cached_directory_config_t;

/** What has happened; one line per counter. */
typedef struct osc_cached_directory_counts {
    uint64_t fills;         /**< FILLs that came */
    uint64_t directs;       /**< of these, not shared */
    uint64_t forwards;      /**< of these, sent on to a sharer */
    uint64_t backs;         /**< of these, back again */
    uint64_t invalidations; /**< INVs sent */
    uint64_t holds;         /**< HOLDs, and the owner's own */
    uint64_t whole_holds;   /**< of these, of all blocks */
    uint64_t recalls;       /**< RECALLs sent */
    uint64_t evictions;     /**< EVICTs that counted */
    uint64_t lasts;         /**< LASTs sent */
} osc_cached_directory_counts_t;

/** A sharer of a block; name 0: its ACK is awaited. */
typedef struct osc_cached_slot {
    uint32_t rank;
    uint32_t name;
} osc_cached_slot_t;

enum { OSC_CACHED_LINE_SLOTS = 5 };

/** A block that is shared or held. */
typedef struct osc_cached_line {
    uint64_t block;
    uint32_t holds;      /**< that contain it, but for those of all blocks */
    uint32_t slots;      /**< used */
    uint32_t acks;       /**< of these, those with name 0 */
    uint32_t turn : 30;  /**< who forwards next */
    uint32_t there : 1;  /**< 0: nothing is in this line */
    uint32_t longer : 1; /**< the slots are in an array */
    union {
        osc_cached_slot_t slot[OSC_CACHED_LINE_SLOTS];
        struct {
            osc_cached_slot_t *slots;
            uint32_t room;
        } array;
    } u;
} osc_cached_line_t;

/** A hold of somebody. */
typedef struct osc_cached_hold {
    uint64_t first;
    uint64_t count; /**< OSC_CACHED_ALL_BLOCKS: all; 0: this hold is not used */
    uint32_t rank;  /**< whose */
    uint32_t name;
    uint32_t waits;   /**< blocks in it with ACKs awaited */
    uint32_t next;    /**< the next one of this rank, or the next unused one, plus 1 */
    bool waits_whole; /**< waits for ACKs of INVs of all blocks, too */
    bool recalled;
} osc_cached_hold_t;

/** What is known of a rank. */
typedef struct osc_cached_member {
    uint32_t shares; /**< slots with its name */
    uint32_t holds;  /**< its first hold plus 1 */
    bool acking;     /**< has an INV of all blocks */
    bool wanting;    /**< closed: is to hear of it */
    bool dead;
} osc_cached_member_t;

typedef struct osc_cached_directory {
    osc_cached_directory_config_t config;
    osc_cached_line_t *line; /**< the table */
    uint32_t lines;          /**< its size: 0 or a power of two */
    uint32_t used;           /**< lines that are not empty */
    osc_cached_hold_t *hold;
    uint32_t holds;   /**< room for so many */
    uint32_t unused;  /**< the first unused one plus 1 */
    uint32_t waiting; /**< holds that wait */
    osc_cached_member_t *member;
    uint64_t shares;     /**< slots with names */
    uint32_t acks;       /**< lines with slots without */
    uint32_t whole;      /**< holds of all blocks */
    uint32_t whole_acks; /**< ranks that have an INV of all blocks */
    uint32_t directs;    /**< since the last RECALL */
    uint32_t names;      /**< of the owner's holds, so far */
    uint32_t deaths;     /**< of ranks */
    bool closed;
    osc_cached_directory_counts_t counts;
} osc_cached_directory_t;

/** @return OSC_CACHED_OK, OSC_CACHED_NO_MEMORY or OSC_CACHED_BAD_ARGUMENT */
int osc_cached_directory_init(osc_cached_directory_t *directory,
                              const osc_cached_directory_config_t *config);

void osc_cached_directory_fini(osc_cached_directory_t *directory);

/** What the caller knows when a FILL comes. */
enum {
    OSC_CACHED_FILL_FORWARD = 1,  /**< another sharer had better answer (P2) */
    OSC_CACHED_FILL_PROTECTED = 2 /**< the block's page is write-protected now (O2) */
};

/**
 * O2: must the page of this block be protected before osc_cached_directory_receive gets this FILL,
 * with OSC_CACHED_FILL_PROTECTED? Without, it is answered by DIRECT.
 */
bool osc_cached_directory_must_protect(const osc_cached_directory_t *directory, uint64_t block);

/**
 * A message for the owner has come.
 *
 * Of the messages sent in return, DATA is sent when the block has been read, if it is to have bytes
 * (files); until then anything may come and go. HELD for the owner's own rank is not a message: it
 * tells that a hold of osc_cached_directory_hold is there.
 *
 * @param flags  of FILL: OSC_CACHED_FILL_*, or 0
 */
void osc_cached_directory_receive(osc_cached_directory_t *directory,
                                  const osc_cached_message_t *message, unsigned flags,
                                  const osc_cached_post_t *post);

/**
 * The owner itself writes these blocks: R11 before an operation is executed, O1 before it tells
 * others that it has stored, O2 when a store was trapped. HELD for its rank and this name comes at
 * once or later, in any case by @p post; then the memory may be written, and
 * osc_cached_directory_free is to follow.
 *
 * @param count  OSC_CACHED_ALL_BLOCKS, with first 0: all
 * @return the name
 */
uint32_t osc_cached_directory_hold(osc_cached_directory_t *directory, uint64_t first,
                                   uint64_t count, const osc_cached_post_t *post);

/** The owner's hold of this name, which is HELD, ends. */
void osc_cached_directory_free(osc_cached_directory_t *directory, uint32_t name);

/** Does anybody have a copy, or might? If not, the owner need not hold anything (O1). */
static inline bool osc_cached_directory_is_shared(const osc_cached_directory_t *directory)
{
    return 0 != directory->shares || 0 != directory->acks || 0 != directory->whole_acks;
}

/** What is read of a block now may be given to whom asks for it later, too, as long as this is what
 * osc_cached_directory_mark says: nobody has written anything since. */
static inline uint64_t osc_cached_directory_mark(const osc_cached_directory_t *directory)
{
    return 1 + directory->counts.holds + directory->deaths;
}

/** The same where it is read for a reader that asked before (R9). Nobody writes without a hold only
 * while that has a share; without one the block may be written already, or at any time.
 * @return 0: this read is for this reader alone */
uint64_t osc_cached_directory_mark_of(const osc_cached_directory_t *directory, uint64_t block,
                                      uint32_t reader);

/** Share nothing any more. All copies are gone when osc_cached_directory_is_shared says so. */
void osc_cached_directory_close(osc_cached_directory_t *directory, const osc_cached_post_t *post);

/** A process has died: what it was to acknowledge is acknowledged, what it holds is free. */
void osc_cached_directory_dead(osc_cached_directory_t *directory, uint32_t rank,
                               const osc_cached_post_t *post);

/**
 * A rank whose ACK is awaited for one of these blocks, for the line that names slow ones.
 *
 * @param count  OSC_CACHED_ALL_BLOCKS, with first 0: all
 * @return whether there is one
 */
bool osc_cached_directory_slow(const osc_cached_directory_t *directory, uint64_t first,
                               uint64_t count, uint32_t *rank);

/** @return 0, or the number of the first broken invariant of this file */
int osc_cached_directory_verify(const osc_cached_directory_t *directory);

#endif /* OSC_CACHED_DIRECTORY_H */
