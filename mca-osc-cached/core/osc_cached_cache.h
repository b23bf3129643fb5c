/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The cache of one window: what CLaMPI's paper calls C_w = (I_w, S_w), sections III-B to III-E.
 *
 *     index (cuckoo)          entries, one line each                 storage
 *     | fingerprint, entry |->| key, stamp, state, bytes, offset |->|### bytes ###|
 *                                       ^
 *     target: generation, head -> records: get A fills entry 7 -> get B waits for entry 7 -> ...
 *
 * A get asks osc_cached_cache_get. When the bytes are there they are copied to its buffer at once
 * (a hit). When another get is fetching them it waits for that one (a join). Otherwise the caller
 * issues the real get, first, and then calls osc_cached_cache_insert, which makes a PENDING entry
 * while the network works. When a synchronisation has completed the real gets of a target,
 * osc_cached_cache_complete copies the bytes from the users' buffers into the storage, in the order
 * of the gets, and from there into the buffers of those that wait.
 *
 *     MISSING --insert--> PENDING --complete--> CACHED --eviction, or found invalid--> MISSING
 *                         PENDING, lent --complete--> MISSING
 *
 * Joins only. Where nothing is served after the synchronisation that completes it, no entry needs
 * its bytes: a get lends its buffer, from which those that wait for it are copied. Its entry has
 * one unit of the storage, whatever its size. That needs all gets of a target to be completed
 * together, by one thread.
 *
 * Validity. An entry carries a stamp: the sum of its target's generation and of the cache's, as
 * they were before its get was issued. Both only grow, so the sum is the same exactly when neither
 * has changed. Invalidation adds one, to a target's or to all, at any number of entries (N2). Dead
 * entries are found when their key is asked for, and preferred by eviction. After an invalidation
 * of all the first insertion clears index and storage; where records name entries still, or the
 * table is large or nearly empty, a hand collects them instead, that moves on by a few entries with
 * each insertion. For eviction and hand, which do not know the targets, an entry remembers the
 * cache's generation as well.
 * The owner may add a third term, which follows from the bytes that the entry has and never is
 * twice the same (more): generations of blocks, that other processes' writes count up.
 *
 * Weak caching: an insertion makes a bounded number of evictions; when that is not enough, the get
 * is simply not kept (a failing access). With the scheme duel it is not kept either when what would
 * leave for it is worth more (a declined access). What leaves, by scheme:
 *
 * - duel: osc_cached_duel.h; the index is at most 7/8 full: at that limit no hole is used, and at
 *   least one entry leaves.
 * - full, temporal, positional: osc_cached_evict.h, the paper's: a sample of the index; when the
 *   index has no place, one on the insertion's path.
 *
 * Growing and shrinking keep all entries and can happen at any time, because nobody but this file
 * writes into the storage: the real get goes to the user's buffer.
 *
 * Nothing here is locked; the owner holds its lock.
 *
 * Invariants (osc_cached_cache_verify returns the number of the first broken one):
 *  I1 index and storage obey theirs.
 *  I2 an entry is in the index under its key exactly when it is not MISSING; no key twice.
 *  I3 the storage has no used regions but those of entries in the index.
 *  I4 pins of an entry is the number of records that name it; a PENDING entry has its fill record
 *     and no bytes, a CACHED one has some, and no record lends.
 *  I5 the records of a target are in the order of their sequence numbers; parked ones have none.
 *  I6 a record that waits stands behind the one that fills its entry, or the entry is CACHED.
 *  I7 holes are found as the scheme wants it.
 *  I8 no entry has the key that is known to be absent.
 *  I9 while all_dead is set, all entries are dead.
 */
#ifndef OSC_CACHED_CACHE_H
#define OSC_CACHED_CACHE_H

#include "osc_cached_adapt.h"
#include "osc_cached_alloc.h"
#include "osc_cached_duel.h"
#include "osc_cached_evict.h"
#include "osc_cached_index.h"
#include "osc_cached_key.h"
#include "osc_cached_storage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** How a get was served: the paper's access types, and those that the owner needs beside them. */
typedef enum {
    OSC_CACHED_HIT,         /**< copied from the cache */
    OSC_CACHED_PARTIAL,     /**< the first bytes were there, the rest is fetched */
    OSC_CACHED_JOIN,        /**< waits for a get of the same bytes */
    OSC_CACHED_DIRECT,      /**< fetched and kept, nothing left for it */
    OSC_CACHED_CONFLICTING, /**< fetched and kept, an entry left the index for it */
    OSC_CACHED_CAPACITY,    /**< fetched and kept, entries left the storage for it */
    OSC_CACHED_FAILING,     /**< fetched and not kept: no room, or no memory */
    OSC_CACHED_DECLINED,    /**< fetched and not kept: worth less than what would leave for it */
    OSC_CACHED_UNSHARED,    /**< fetched and not kept: the owner says so */
    OSC_CACHED_MISSING,     /**< not there: issue the get, then insert */
    OSC_CACHED_ACCESSES
} osc_cached_access_t;

/** Where a get wants its bytes. */
typedef struct {
    void *address;
    void *type; /**< NULL: one run of bytes; else the owner's description, see the copy function */
    size_t count;      /**< of the type */
    void *from;        /**< the owner's: how the bytes lie at the target; used by nobody here */
    size_t from_count; /**< of from */
} osc_cached_buffer_t;

/** Copy bytes to or from a buffer with a type. */
typedef void (*osc_cached_copy_fn_t)(const osc_cached_buffer_t *buffer, void *bytes, size_t size,
                                     bool to_buffer);

/** A record with this buffer has ended; called for buffers with a type or a from. */
typedef void (*osc_cached_done_fn_t)(const osc_cached_buffer_t *buffer);

/** The memory that all caches of the owner share. */
typedef struct {
    /** Bytes that may still be reserved. */
    uint64_t (*available)(void *context);
    /** Take bytes; false: there are not that many. */
    bool (*reserve)(void *context, uint64_t bytes);
    void (*give_back)(void *context, uint64_t bytes);
    void *context;
} osc_cached_budget_t;

typedef struct {
    uint32_t entries; /**< slots of the index at the start */
    uint64_t memory;  /**< bytes of storage at the start */
    /** begin with less, and take the rest in steps when it is needed: most windows of a program
     * that makes many are small, and memory that was never used costs a page fault each 4 KiB */
    bool gradual;
    uint32_t
        block; /**< bytes that a small get fetches, the owner's; 0: itself (osc_cached_block.h) */
    uint64_t reach; /**< bytes of the window that are known to be there */
    /** bytes of the largest entry; 0: a quarter of the storage, or an eighth of what it may become
     */
    uint64_t max_entry;
    uint32_t evictions; /**< most entries that leave the storage for one get */
    uint32_t sample;    /**< index positions that an eviction looks at */
    osc_cached_scheme_t scheme;
    bool adaptive;
    uint64_t seed;
    osc_cached_adapt_params_t adapt;
    osc_cached_copy_fn_t copy;  /**< may be NULL when no buffer has a type */
    osc_cached_done_fn_t done;  /**< may be NULL */
    osc_cached_budget_t budget; /**< functions NULL: no limit */
} osc_cached_config_t;

/** What the cache keeps of a target; all 0 at the start. The owner has the array of them. */
typedef struct {
    uint64_t generation;
    uint32_t head; /**< first record plus 1; 0: none */
    uint32_t tail; /**< last record plus 1; 0: none */
} osc_cached_target_t;

/** The owner's term of the stamp of bytes at a target. */
typedef uint64_t (*osc_cached_more_fn_t)(const void *context, int32_t target, uint64_t address,
                                         size_t bytes);

/**
 * An entry has its bytes, and nobody waits for it any more.
 *
 * @param more  the owner's term of its stamp
 * @return whether the owner has them now: then the entry leaves
 */
typedef bool (*osc_cached_filled_fn_t)(void *context, const osc_cached_entry_t *entry,
                                       uint64_t more, void *bytes);

/** Sequence number of a record that is parked. */
#define OSC_CACHED_CACHE_PARKED UINT64_MAX

/** A get whose bytes are on the way. */
typedef struct {
    osc_cached_buffer_t buffer;
    uint64_t sequence; /**< the owner's, growing; 0: free */
    uint32_t entry;
    uint32_t offset; /**< first byte of the entry that is fetched, or wanted */
    uint32_t bytes;
    uint32_t prev; /**< record plus 1; 0: none */
    uint32_t next; /**< record plus 1; 0: none; free records: the next of them */
    bool fills;    /**< the entry; else it waits for the one that does */
    bool lends;    /**< it fills nothing: its buffer is the entry's bytes for those that wait */
} osc_cached_record_t;

typedef struct {
    /* what a hit needs, first: on some processors near fields are read in pairs */
    uint64_t generation;
    uint64_t gets;      /**< number of this get: the paper's i */
    uint64_t got_bytes; /**< sum of their sizes */
    bool open;          /**< index and storage exist */
    bool joins_only;    /**< the owner's: nothing is served after it was completed; see above */
    osc_cached_config_t config;
    osc_cached_alloc_t alloc;
    osc_cached_index_t index;
    osc_cached_storage_t storage; /**< with the entries */
    osc_cached_duel_t duel;
    osc_cached_target_t parked; /**< no target: records of blocks that are not issued yet */
    osc_cached_record_t *records;
    uint32_t max_records;    /**< size of the array */
    uint32_t num_records;    /**< in use */
    uint32_t fresh_records;  /**< records from this one on were never used */
    uint32_t free_record;    /**< chain of free records: record plus 1; 0: none */
    uint32_t last_records;   /**< that were needed when the array was given back */
    uint64_t max_bytes;      /**< of an entry */
    uint64_t least_memory;   /**< bytes of storage at the start: it does not shrink below */
    uint32_t later_slots;    /**< gradual: that the index takes when it needs them; 0: it has all */
    uint64_t later_memory;   /**< bytes of storage, the same */
    uint64_t distance;       /**< gets from the one before of the same data to the last hit */
    uint32_t sweep;          /**< next entry to look at for being dead */
    uint32_t sweep_left;     /**< entries still to look at */
    bool all_dead;           /**< none was made since the last invalidation of all */
    uint64_t reserved;       /**< bytes of the budget */
    uint64_t evictions;      /**< entries that left for others */
    osc_cached_key_t absent; /**< of no entry: it was looked for; target -1: none is known */
    uint64_t absent_hash;
    uint64_t resizes; /**< of index and storage */
    /** entries found lately, by key: see osc_cached_cache_find_again; all are entries while open */
    osc_cached_entry_t *memo[256];
    /** since the last adaptation */
    struct {
        uint64_t first_get;
        uint64_t access[OSC_CACHED_ACCESSES]; /**< but not of hits: the other gets are */
        uint64_t misses;                      /**< gets that were not hits */
        uint64_t visited, occupied;
        /** not kept, and would be with a larger index or storage */
        uint64_t no_slot, no_room;
        uint32_t most_entries; /**< after an insertion */
        uint64_t most_used;    /**< bytes, the same */
        bool at_bound;         /**< the index could not grow before the end */
    } interval;
    /** the owner's term of stamps: see Validity; NULL: there is none. With one, entries are not
     * extended, and found by osc_cached_cache_get alone */
    osc_cached_more_fn_t more;
    const void *more_context;
    osc_cached_filled_fn_t filled; /**< NULL: entries stay; only with a third term */
    void *filled_context;
} osc_cached_cache_t;

#define OSC_CACHED_CACHE_NONE UINT32_MAX

/** Largest entry: byte counts have 32 bits. */
#define OSC_CACHED_CACHE_MAX_ENTRY (UINT64_C(1) << 31)

/**
 * Prepare a cache. No memory is taken before osc_cached_cache_open.
 *
 * @return OSC_CACHED_OK or OSC_CACHED_BAD_ARGUMENT
 */
int osc_cached_cache_create(osc_cached_cache_t *cache, const osc_cached_config_t *config,
                            const osc_cached_alloc_t *alloc);

/** Ends all records without a copy. */
void osc_cached_cache_destroy(osc_cached_cache_t *cache);

/** Make index and storage now. Smaller ones when the budget does not allow those asked for; gradual
 * ones become smaller than asked for when they cannot grow, which counts as a change of sizes. */
int osc_cached_cache_open(osc_cached_cache_t *cache);

/** The stamp of a get that is about to be issued, without the owner's term. */
static inline uint64_t osc_cached_cache_stamp(const osc_cached_cache_t *cache,
                                              const osc_cached_target_t *target)
{
    return target->generation + cache->generation;
}

/** The same with it. */
static inline uint64_t osc_cached_cache_whole_stamp(const osc_cached_cache_t *cache,
                                                    const osc_cached_target_t *target,
                                                    uint64_t address, int32_t rank, size_t bytes)
{
    uint64_t stamp = osc_cached_cache_stamp(cache, target);

    return (NULL == cache->more) ? stamp
                                 : stamp + cache->more(cache->more_context, rank, address, bytes);
}

/** Whether an entry has the stamp of now; one that is PENDING may have. */
static inline bool osc_cached_cache_is_valid(const osc_cached_cache_t *cache,
                                             const osc_cached_target_t *target,
                                             const osc_cached_entry_t *entry)
{
    if (NULL == cache->more) {
        return entry->stamp == osc_cached_cache_stamp(cache, target);
    }
    return entry->stamp
           == osc_cached_cache_whole_stamp(cache, target, entry->address, entry->target,
                                           (OSC_CACHED_ENTRY_PENDING == entry->state)
                                               ? cache->records[entry->fill].bytes
                                               : entry->bytes);
}

/** Nothing that was fetched from this target so far will be served. */
static inline void osc_cached_cache_invalidate_target(osc_cached_target_t *target)
{
    ++target->generation;
}

/** Nothing that was fetched so far will be served. */
static inline void osc_cached_cache_invalidate(osc_cached_cache_t *cache)
{
    ++cache->generation;
    cache->sweep_left = cache->storage.num_fresh;
    cache->all_dead = cache->open;
}

static inline bool osc_cached_cache_is_of(const osc_cached_entry_t *entry, osc_cached_key_t key)
{
    /* target and layout at once */
    uint64_t own, wanted;

    memcpy(&own, &entry->target, sizeof(own));
    memcpy(&wanted, &key.target, sizeof(wanted));
    return entry->address == key.address && own == wanted;
}

/** index match function */
static inline bool osc_cached_cache_match(void *entries, uint32_t number, osc_cached_key_t key)
{
    return osc_cached_cache_is_of((const osc_cached_entry_t *) entries + number, key);
}

/** Whether no entry has a key, as the last osc_cached_cache_seek has found out. */
static inline bool osc_cached_cache_is_absent(const osc_cached_cache_t *cache, osc_cached_key_t key)
{
    return osc_cached_key_equal(cache->absent, key);
}

/** Whether a get of so many bytes may be kept, or lent to others. */
static inline bool osc_cached_cache_takes(const osc_cached_cache_t *cache, size_t bytes)
{
    return bytes <= cache->max_bytes || (cache->joins_only && bytes <= OSC_CACHED_CACHE_MAX_ENTRY);
}

/** The valid entry of a key, or NULL. */
static inline osc_cached_entry_t *osc_cached_cache_find(const osc_cached_cache_t *cache,
                                                        const osc_cached_target_t *target,
                                                        osc_cached_key_t key, uint64_t hash)
{
    uint32_t number = osc_cached_index_lookup(&cache->index, hash, key, osc_cached_cache_match,
                                              cache->storage.entries);

    if (OSC_CACHED_INDEX_NONE == number
        || !osc_cached_cache_is_valid(cache, target, &cache->storage.entries[number])) {
        return NULL;
    }
    return &cache->storage.entries[number];
}

/** The same, and it is remembered when no entry has the key. @param plain  there is no third term
 */
__attribute__((__always_inline__)) static inline osc_cached_entry_t *
osc_cached_cache_seek(osc_cached_cache_t *cache, const osc_cached_target_t *target,
                      osc_cached_key_t key, uint64_t hash, bool plain)
{
    uint32_t number = osc_cached_index_lookup(&cache->index, hash, key, osc_cached_cache_match,
                                              cache->storage.entries);

    if (OSC_CACHED_INDEX_NONE == number) {
        cache->absent = key;
        cache->absent_hash = hash;
        return NULL;
    }
    if (plain ? cache->storage.entries[number].stamp != osc_cached_cache_stamp(cache, target)
              : !osc_cached_cache_is_valid(cache, target, &cache->storage.entries[number])) {
        return NULL;
    }
    return &cache->storage.entries[number];
}

/** The place of a key in the memo. */
static inline osc_cached_entry_t **osc_cached_cache_memo(osc_cached_cache_t *cache,
                                                         osc_cached_key_t key)
{
    uint64_t mixed = key.address ^ key.address >> 8 ^ (uint64_t) (uint32_t) key.target << 3;

    return &cache->memo[mixed / 8 % 256];
}

/**
 * An entry that has at least so many bytes of a key, or NULL, asking first the entry that was found
 * when the key was asked for last: that takes half the time that the index takes. For caches
 * without a third term.
 *
 * @param bytes  at least 1; a hit of none is whatever it finds
 */
static inline osc_cached_entry_t *osc_cached_cache_find_again(osc_cached_cache_t *cache,
                                                              const osc_cached_target_t *target,
                                                              osc_cached_key_t key, size_t bytes)
{
    osc_cached_entry_t **memo = osc_cached_cache_memo(cache, key), *entry = *memo;

    /* it may be another entry by now, or none: only a whole match is believed */
    if (__builtin_expect(osc_cached_cache_is_of(entry, key)
                             && entry->stamp == osc_cached_cache_stamp(cache, target)
                             && bytes <= entry->bytes,
                         1)) {
        return entry;
    }
    entry =
        osc_cached_cache_seek(cache, target, key, osc_cached_index_hash(&cache->index, key), true);
    if (NULL == entry || entry->bytes < bytes) {
        return NULL;
    }
    *memo = entry;
    return entry;
}

/** Copy bytes of an entry to a buffer. */
static inline void osc_cached_cache_copy(const osc_cached_cache_t *cache,
                                         const osc_cached_entry_t *entry, size_t skip,
                                         const osc_cached_buffer_t *buffer, size_t bytes)
{
    void *from = (char *) osc_cached_storage_at(&cache->storage, entry->offset) + skip;

    if (NULL == buffer->type) {
        memcpy(buffer->address, from, bytes);
    } else {
        cache->config.copy(buffer, from, bytes, true);
    }
}

/** Count a hit of an entry that has enough bytes. @return gets since the one before */
static inline uint32_t osc_cached_cache_hit(osc_cached_cache_t *cache, osc_cached_entry_t *entry,
                                            size_t bytes)
{
    uint64_t gets = cache->gets + 1, got_bytes = cache->got_bytes + bytes;

    cache->gets = gets;
    cache->got_bytes = got_bytes;
    return osc_cached_duel_hit(&cache->duel, entry, (uint32_t) gets);
}

/** Count a get that is not a hit. */
static inline void osc_cached_cache_missed(osc_cached_cache_t *cache, size_t bytes)
{
    ++cache->gets;
    ++cache->interval.misses;
    cache->got_bytes += bytes;
}

/** osc_cached_cache_get when it is not a hit. */
osc_cached_access_t osc_cached_cache_get_slowly(osc_cached_cache_t *cache,
                                                osc_cached_target_t *target,
                                                osc_cached_entry_t *entry,
                                                const osc_cached_buffer_t *buffer, size_t bytes,
                                                uint64_t sequence, size_t *have);

/**
 * Begin a get. The cache must be open.
 *
 * @param hash      osc_cached_index_hash of the key
 * @param bytes     at least 1
 * @param sequence  of this get, larger than all before
 * @param have      set for PARTIAL: bytes that are here; copy them with osc_cached_cache_copy
 * @return HIT: done; JOIN: will be filled by osc_cached_cache_complete; PARTIAL: *have bytes are
 *         here, issue a get of the rest, then osc_cached_cache_extend; MISSING: issue a get, then
 *         osc_cached_cache_insert; FAILING: issue a get, and that is all
 */
static inline osc_cached_access_t
osc_cached_cache_get(osc_cached_cache_t *cache, osc_cached_target_t *target, osc_cached_key_t key,
                     uint64_t hash, const osc_cached_buffer_t *buffer, size_t bytes,
                     uint64_t sequence, size_t *have)
{
    osc_cached_entry_t *entry = osc_cached_cache_seek(cache, target, key, hash, false);

    if (NULL != entry && bytes <= entry->bytes) {
        cache->distance = osc_cached_cache_hit(cache, entry, bytes);
        osc_cached_cache_copy(cache, entry, 0, buffer, bytes);
        return OSC_CACHED_HIT;
    }
    osc_cached_cache_missed(cache, bytes);
    if (NULL == entry) {
        return OSC_CACHED_MISSING;
    }
    return osc_cached_cache_get_slowly(cache, target, entry, buffer, bytes, sequence, have);
}

/** Whether there is, or may be, room for what so many gets ask for, all different. */
bool osc_cached_cache_has_room(const osc_cached_cache_t *cache, uint64_t gets);

/** The valid entry that osc_cached_cache_get has just found, to copy what it has. */
static inline bool osc_cached_cache_copy_first(const osc_cached_cache_t *cache,
                                               const osc_cached_target_t *target,
                                               osc_cached_key_t key, uint64_t hash,
                                               const osc_cached_buffer_t *buffer, size_t bytes)
{
    osc_cached_entry_t *entry = osc_cached_cache_find(cache, target, key, hash);

    if (NULL == entry || entry->bytes < bytes) {
        return false;
    }
    osc_cached_cache_copy(cache, entry, 0, buffer, bytes);
    return true;
}

/**
 * Keep what an issued get will bring.
 *
 * @param stamp     osc_cached_cache_whole_stamp from before the get was issued
 * @param sequence  given now, larger than all before
 * @param record    set to the record's number when the get will be kept; may be NULL
 * @return DIRECT, CONFLICTING, CAPACITY: there is a PENDING entry; FAILING, DECLINED: there is none
 */
osc_cached_access_t osc_cached_cache_insert(osc_cached_cache_t *cache, osc_cached_target_t *target,
                                            osc_cached_key_t key, uint64_t hash,
                                            const osc_cached_buffer_t *buffer, size_t bytes,
                                            uint64_t stamp, uint64_t sequence, uint32_t *record);

/**
 * A get of bytes inside of a valid entry.
 *
 * @param skip   bytes from the entry's to the get's begin
 * @param joins  whether the get may wait for another one
 * @return HIT, or JOIN, as of osc_cached_cache_get; MISSING: nothing happened, it is not there
 */
osc_cached_access_t osc_cached_cache_get_inside(osc_cached_cache_t *cache,
                                                osc_cached_target_t *target,
                                                osc_cached_entry_t *entry, uint32_t skip,
                                                const osc_cached_buffer_t *buffer, size_t bytes,
                                                bool joins, uint64_t sequence);

/**
 * Keep what a get will bring that is about to be issued for another one, a part of it. Only if
 * there is room that nobody uses. Both are recorded and parked, found by nobody and completed by
 * nothing, until osc_cached_cache_block_issued or osc_cached_cache_abandon: the owner need not hold
 * its lock meanwhile.
 *
 * @param buffer  of the get that is issued
 * @param skip    bytes from its begin to that of the other one,
 * @param to      which wants these
 * @param wanted  bytes
 * @param record  set to the record of the first
 * @return whether it will be kept; if not, nothing happened
 */
bool osc_cached_cache_insert_block(osc_cached_cache_t *cache, osc_cached_key_t key, uint64_t hash,
                                   const osc_cached_buffer_t *buffer, size_t bytes, uint32_t skip,
                                   const osc_cached_buffer_t *to, size_t wanted, uint32_t *record);

/**
 * It was issued: the two are on their way, with sequence and sequence + 1.
 *
 * @param stamp  osc_cached_cache_stamp from before the get was issued
 * @return the record of the get that waits
 */
uint32_t osc_cached_cache_block_issued(osc_cached_cache_t *cache, osc_cached_target_t *target,
                                       uint32_t record, uint64_t stamp, uint64_t sequence);

/** It was not, and nothing will come of it. */
void osc_cached_cache_abandon(osc_cached_cache_t *cache, uint32_t record);

/**
 * Keep the rest of a partial hit as well, if there is room without an eviction.
 *
 * @param from    first byte that the issued get brings, at most what the entry has
 * @param bytes   of the whole entry when it has arrived
 * @param buffer  of the rest
 * @return whether it will be kept
 */
bool osc_cached_cache_extend(osc_cached_cache_t *cache, osc_cached_target_t *target,
                             osc_cached_key_t key, uint64_t hash, size_t from, size_t bytes,
                             const osc_cached_buffer_t *buffer, uint64_t stamp, uint64_t sequence);

/** All gets from this target with a sequence number up to this one have brought their bytes. */
void osc_cached_cache_complete(osc_cached_cache_t *cache, osc_cached_target_t *target,
                               uint64_t sequence);

/** One get has brought its bytes. Nothing happens when it was completed before. */
void osc_cached_cache_complete_one(osc_cached_cache_t *cache, osc_cached_target_t *target,
                                   uint32_t record, uint64_t sequence);

/**
 * What a get brings cannot be taken from its buffer: it will not be kept, and no get waits for it
 * from now on.  Those that do already are the owner's to withdraw.
 */
void osc_cached_cache_disown(osc_cached_cache_t *cache, uint32_t record);

/**
 * A get that waits for another one does so no longer; the owner fetches its bytes.
 *
 * @return its buffer, for which the done function is not called
 */
osc_cached_buffer_t osc_cached_cache_withdraw(osc_cached_cache_t *cache,
                                              osc_cached_target_t *target, uint32_t record);

/**
 * Change the sizes now, whatever the adaptation thinks. Entries leave only when what is asked for
 * cannot hold them.
 *
 * @return OSC_CACHED_OK, or with sizes as before OSC_CACHED_FULL, OSC_CACHED_NO_MEMORY,
 *         OSC_CACHED_BAD_ARGUMENT
 */
int osc_cached_cache_resize_index(osc_cached_cache_t *cache, uint32_t entries);
int osc_cached_cache_resize_storage(osc_cached_cache_t *cache, uint64_t memory);

/** Slots of the index and bytes of storage that the cache has, or takes when it needs them. */
uint32_t osc_cached_cache_slots(const osc_cached_cache_t *cache);
uint64_t osc_cached_cache_memory(const osc_cached_cache_t *cache);

/** Another scheme, from now on. */
void osc_cached_cache_set_scheme(osc_cached_cache_t *cache, osc_cached_scheme_t scheme);

/** Look at the sizes if it is time to, as an insertion does: for phases without a miss. */
void osc_cached_cache_look(osc_cached_cache_t *cache);

/** Bytes taken from the budget. */
static inline uint64_t osc_cached_cache_footprint(const osc_cached_cache_t *cache)
{
    return cache->reserved;
}

/** @return 0, or the number of the first broken invariant of this file */
int osc_cached_cache_verify(const osc_cached_cache_t *cache, const osc_cached_target_t *targets,
                            uint32_t num_targets);

#endif /* OSC_CACHED_CACHE_H */
