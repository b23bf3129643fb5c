/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Copies of others' blocks, and writes to them.
 */
#include "osc_cached_copies.h"

#include <string.h>

#define WAYS 4
#define MOST_REFUSED 6 /* the next FILL after 127 more misses at the most */

static void *get_memory(const osc_cached_copies_t *copies, uint64_t count, size_t bytes)
{
    const osc_cached_alloc_t *alloc = copies->config.alloc;
    void *memory = alloc->alloc(alloc->context, 64, (size_t) count * bytes);

    if (NULL != memory) {
        memset(memory, 0, (size_t) count * bytes);
    }
    return memory;
}

static void give_memory(const osc_cached_copies_t *copies, void *memory, uint64_t count,
                        size_t bytes)
{
    const osc_cached_alloc_t *alloc = copies->config.alloc;

    alloc->free(alloc->context, memory, (size_t) count * bytes);
}

int osc_cached_copies_init(osc_cached_copies_t *copies, const osc_cached_copies_config_t *config)
{
    if (config->rank >= config->ranks || NULL == config->alloc
        || config->max_blocks > UINT32_MAX / 2) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    *copies = (osc_cached_copies_t){.config = *config, .blocks = 4 * WAYS};
    while (copies->blocks < config->max_blocks) {
        copies->blocks *= 2;
    }
    copies->names = config->name_first;
    copies->generation = config->generation;
    if (NULL == copies->generation) {
        copies->generation = get_memory(copies, osc_cached_copies_generations(config->ranks),
                                        sizeof(copies->generation[0]));
    }
    copies->block = get_memory(copies, copies->blocks, sizeof(copies->block[0]));
    copies->written = get_memory(copies, config->ranks, sizeof(copies->written[0]));
    if (NULL == copies->generation || NULL == copies->block || NULL == copies->written) {
        osc_cached_copies_fini(copies);
        return OSC_CACHED_NO_MEMORY;
    }
    return OSC_CACHED_OK;
}

void osc_cached_copies_fini(osc_cached_copies_t *copies)
{
    for (uint32_t i = 0; NULL != copies->written && i < copies->config.ranks; i++) {
        give_memory(copies, copies->written[i].hold, OSC_CACHED_HOLDS,
                    sizeof(osc_cached_own_hold_t));
    }
    give_memory(copies, copies->written, copies->config.ranks, sizeof(copies->written[0]));
    give_memory(copies, copies->block, copies->blocks, sizeof(copies->block[0]));
    if (NULL == copies->config.generation) {
        give_memory(copies, copies->generation, osc_cached_copies_generations(copies->config.ranks),
                    sizeof(copies->generation[0]));
    }
    *copies = (osc_cached_copies_t){.blocks = 0};
}

static void send(const osc_cached_post_t *post, uint32_t target, osc_cached_message_t message)
{
    message.owner = target;
    message.peer = target;
    post->send(post->context, &message);
}

static uint32_t next_name(osc_cached_copies_t *copies)
{
    uint32_t step = 0 == copies->config.name_step ? 1 : copies->config.name_step;

    /* 2^32 requests later nothing is on its way that has the same name; holds may still have it */
    if (copies->names > UINT32_MAX - step) {
        copies->names = copies->config.name_first;
    }
    copies->names += step;
    return copies->names;
}

/* Copies of these blocks are none from now on, also those that are on their way. */
static void drop(osc_cached_copies_t *copies, uint32_t target, uint64_t first, uint64_t count)
{
    if (count > OSC_CACHED_HOLD_BLOCKS) {
        atomic_fetch_add_explicit(&copies->generation[OSC_CACHED_GENERATIONS + target], 1,
                                  memory_order_release);
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        atomic_fetch_add_explicit(&copies->generation[osc_cached_copies_slot(target, first + i)], 1,
                                  memory_order_release);
    }
}

/* Blocks */

static osc_cached_block_entry_t *set_of(const osc_cached_copies_t *copies, uint32_t target,
                                        uint64_t block)
{
    uint64_t mixed = (block + ((uint64_t) target << 40)) * UINT64_C(0xd6e8feb86659fd93);

    return &copies->block[((mixed >> 32) & (copies->blocks / WAYS - 1)) * WAYS];
}

static osc_cached_block_entry_t *find(const osc_cached_copies_t *copies, uint32_t target,
                                      uint64_t block)
{
    osc_cached_block_entry_t *set = set_of(copies, target, block);

    for (uint32_t i = 0; i < WAYS; i++) {
        if (OSC_CACHED_BLOCK_ABSENT != set[i].state && block == set[i].block
            && target == set[i].target) {
            return &set[i];
        }
    }
    return NULL;
}

uint64_t osc_cached_copies_sum(const osc_cached_copies_t *copies, uint32_t target, uint64_t first,
                               uint64_t count)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < count; i++) {
        sum += atomic_load_explicit(&copies->generation[osc_cached_copies_slot(target, first + i)],
                                    memory_order_acquire);
    }
    return sum;
}

static bool is_current(const osc_cached_copies_t *copies, const osc_cached_block_entry_t *entry)
{
    return entry->generation == osc_cached_copies_stamp(copies, entry->target, entry->block, 1);
}

/* Misses are counted; at once, or after so many that came again, it is asked for. */
static void set_seen(const osc_cached_copies_t *copies, osc_cached_block_entry_t *entry)
{
    entry->state = OSC_CACHED_BLOCK_SEEN;
    entry->parts = 0;
    entry->name = 0;
    entry->alone = false;
    entry->skip = copies->config.waits ? 0 : (uint8_t) ((2U << entry->refused) - 1);
}

/* The entry of a block; of those of its set, one that is worth little leaves. */
static osc_cached_block_entry_t *make(osc_cached_copies_t *copies, uint32_t target, uint64_t block)
{
    osc_cached_block_entry_t *entry = find(copies, target, block), *set;

    if (NULL != entry) {
        return entry;
    }
    set = set_of(copies, target, block);
    entry = &set[copies->turn++ % WAYS];
    for (uint32_t i = 0; i < WAYS; i++) {
        if (OSC_CACHED_BLOCK_ABSENT == set[i].state) {
            entry = &set[i];
            break;
        }
        if (OSC_CACHED_BLOCK_SEEN == set[i].state || !is_current(copies, &set[i])) {
            entry = &set[i];
        }
    }
    *entry = (osc_cached_block_entry_t){.target = target, .block = block};
    set_seen(copies, entry);
    return entry;
}

/* Is one of these blocks being written by this process? */
static bool is_dirty(const osc_cached_written_t *written, uint64_t first, uint64_t count)
{
    if (0 == written->dirty) {
        return false;
    }
    if (written->whole.dirty) {
        return true;
    }
    for (uint32_t i = 0; NULL != written->hold && i < OSC_CACHED_HOLDS; i++) {
        const osc_cached_own_hold_t *hold = &written->hold[i];

        if (hold->dirty
            && (first <= hold->first ? hold->first - first < count
                                     : first - hold->first < hold->count)) {
            return true;
        }
    }
    return false;
}

/* One block of a miss. */
static osc_cached_copy_t miss_block(osc_cached_copies_t *copies, uint32_t target, uint64_t block,
                                    uint64_t parts, uint32_t *name, const osc_cached_post_t *post)
{
    osc_cached_block_entry_t *entry = make(copies, target, block);
    bool current = is_current(copies, entry);

    if (OSC_CACHED_BLOCK_VALID == entry->state) {
        if (current) {
            return OSC_CACHED_COPY_KEEP;
        }
        set_seen(copies, entry);
    }
    if (OSC_CACHED_BLOCK_PENDING == entry->state) {
        if (current) { /* R3: joins only what no invalidation has met */
            *name = entry->name;
            return copies->config.waits ? OSC_CACHED_COPY_WAIT : OSC_CACHED_COPY_DIRECT;
        }
        entry->skip = 0;
    }
    if (0 < entry->skip) {
        entry->skip -= 0 != (entry->parts & parts);
        entry->parts |= parts;
    }
    if (0 < entry->skip) {
        return OSC_CACHED_COPY_DIRECT;
    }
    entry->state = OSC_CACHED_BLOCK_PENDING;
    entry->generation = osc_cached_copies_stamp(copies, target, block, 1);
    entry->name = *name = next_name(copies);
    ++copies->counts.fills;
    send(post, target,
         (osc_cached_message_t){
             .kind = OSC_CACHED_MESSAGE_FILL, .first = block, .count = 1, .name = *name});
    return copies->config.waits ? OSC_CACHED_COPY_WAIT : OSC_CACHED_COPY_DIRECT;
}

osc_cached_copy_t osc_cached_copies_miss(osc_cached_copies_t *copies, uint32_t target,
                                         uint64_t first, uint64_t count, uint64_t parts,
                                         uint64_t *stamp, uint32_t *name,
                                         const osc_cached_post_t *post)
{
    const osc_cached_written_t *written = &copies->written[target];
    osc_cached_copy_t all = OSC_CACHED_COPY_KEEP;

    if (copies->config.rank == target || written->closed || count > OSC_CACHED_KEEP_BLOCKS
        || is_dirty(written, first, count)) {
        return OSC_CACHED_COPY_DIRECT;
    }
    *stamp = osc_cached_copies_stamp(copies, target, first, count);
    for (uint64_t i = 0; i < count; i++) {
        osc_cached_copy_t copy =
            miss_block(copies, target, first + i, (0 == i) ? parts : 1, name, post);

        if (OSC_CACHED_COPY_KEEP != copy) {
            all = copy;
        }
    }
    return all;
}

bool osc_cached_copies_evict(osc_cached_copies_t *copies, uint32_t target, uint64_t block,
                             const osc_cached_post_t *post)
{
    osc_cached_block_entry_t *entry = find(copies, target, block);

    if (NULL == entry || OSC_CACHED_BLOCK_VALID != entry->state || !is_current(copies, entry)) {
        return false;
    }
    /* who waits for DATA drops it with its frame; blocks with the same counter stay valid */
    if (!copies->config.waits || NULL != copies->config.generation) {
        drop(copies, target, block, 1);
    }
    ++copies->counts.evictions;
    send(post, target,
         (osc_cached_message_t){
             .kind = OSC_CACHED_MESSAGE_EVICT, .first = block, .count = 1, .name = entry->name});
    set_seen(copies, entry);
    return true;
}

osc_cached_block_state_t osc_cached_copies_state(const osc_cached_copies_t *copies, uint32_t target,
                                                 uint64_t block, bool *alone)
{
    const osc_cached_block_entry_t *entry = find(copies, target, block);

    *alone = false;
    if (NULL == entry) {
        return OSC_CACHED_BLOCK_ABSENT;
    }
    if (OSC_CACHED_BLOCK_VALID == entry->state) {
        if (!is_current(copies, entry)) {
            return OSC_CACHED_BLOCK_SEEN;
        }
        *alone = entry->alone;
    }
    return (osc_cached_block_state_t) entry->state;
}

/* Holds */

static osc_cached_own_hold_t *hold_at(osc_cached_written_t *written, uint32_t i)
{
    if (OSC_CACHED_HOLDS == i) {
        return &written->whole;
    }
    return NULL == written->hold ? NULL : &written->hold[i];
}

/* The hold of this name, or NULL. */
static osc_cached_own_hold_t *hold_named(osc_cached_written_t *written, uint32_t name)
{
    for (uint32_t i = 0; i <= OSC_CACHED_HOLDS; i++) {
        osc_cached_own_hold_t *hold = hold_at(written, i);

        if (NULL != hold && 0 != name && name == hold->name) {
            return hold;
        }
    }
    return NULL;
}

/* A name that no hold of the target has: those that are kept keep theirs. */
static uint32_t hold_name(osc_cached_copies_t *copies, uint32_t target)
{
    uint32_t name = next_name(copies);

    while (NULL != hold_named(&copies->written[target], name)) {
        name = next_name(copies);
    }
    return name;
}

/* One that contains all these blocks, or NULL. */
static osc_cached_own_hold_t *hold_of(osc_cached_written_t *written, uint64_t first, uint64_t count)
{
    for (uint32_t i = 0; i <= OSC_CACHED_HOLDS; i++) {
        osc_cached_own_hold_t *hold = hold_at(written, i);

        if (NULL != hold && 0 != hold->name && first >= hold->first
            && first - hold->first <= hold->count && count <= hold->count - (first - hold->first)) {
            return hold;
        }
    }
    return NULL;
}

static void free_hold(osc_cached_copies_t *copies, uint32_t target, osc_cached_own_hold_t *hold,
                      const osc_cached_post_t *post)
{
    if (!copies->written[target].closed) {
        ++copies->counts.frees;
        send(post, target,
             (osc_cached_message_t){.kind = OSC_CACHED_MESSAGE_FREE,
                                    .first = hold->first,
                                    .count = hold->count,
                                    .name = hold->name});
    }
    *hold = (osc_cached_own_hold_t){.name = 0};
}

/* An unused hold for so many blocks; one that is kept for later leaves for it. NULL: that of all */
static osc_cached_own_hold_t *unused_hold(osc_cached_copies_t *copies, uint32_t target,
                                          uint64_t count, const osc_cached_post_t *post)
{
    osc_cached_written_t *written = &copies->written[target];
    osc_cached_own_hold_t *oldest = NULL;

    if (count > OSC_CACHED_HOLD_BLOCKS) {
        return NULL;
    }
    if (NULL == written->hold) {
        written->hold = get_memory(copies, OSC_CACHED_HOLDS, sizeof(written->hold[0]));
    }
    for (uint32_t i = 0; NULL != written->hold && i < OSC_CACHED_HOLDS; i++) {
        osc_cached_own_hold_t *hold = &written->hold[i];

        if (0 == hold->name) {
            return hold;
        }
        if (hold->held && !hold->dirty && (NULL == oldest || hold->used < oldest->used)) {
            oldest = hold;
        }
    }
    if (NULL != oldest) {
        free_hold(copies, target, oldest, post);
    }
    return oldest;
}

uint32_t osc_cached_copies_write(osc_cached_copies_t *copies, uint32_t target, uint64_t first,
                                 uint64_t count, const osc_cached_post_t *post)
{
    osc_cached_written_t *written = &copies->written[target];
    osc_cached_own_hold_t *hold;

    drop(copies, target, first, count);
    if (written->closed) {
        return 0;
    }
    hold = hold_of(written, first, count);
    if (NULL == hold) {
        hold = unused_hold(copies, target, count, post);
        if (NULL == hold) {
            hold = &written->whole; /* not used: it would contain these blocks */
            first = 0;
            count = OSC_CACHED_ALL_BLOCKS;
        }
        *hold = (osc_cached_own_hold_t){
            .first = first, .count = count, .name = hold_name(copies, target)};
        ++copies->counts.holds;
        send(post, target,
             (osc_cached_message_t){.kind = OSC_CACHED_MESSAGE_HOLD,
                                    .first = first,
                                    .count = count,
                                    .name = hold->name,
                                    .whole = 0 == written->narrow});
        written->narrow -= 0 < written->narrow;
    }
    if (!hold->dirty) {
        hold->dirty = true;
        ++written->dirty;
        written->asked += !hold->held;
    }
    ++hold->issuing;
    return hold->name;
}

void osc_cached_copies_written(osc_cached_copies_t *copies, uint32_t target, uint32_t name)
{
    osc_cached_own_hold_t *hold = hold_named(&copies->written[target], name);

    ++copies->writes;
    if (NULL != hold) {
        --hold->issuing;
        hold->used = copies->writes;
    }
}

bool osc_cached_copies_holds_all(osc_cached_copies_t *copies, uint32_t target)
{
    osc_cached_own_hold_t *hold = hold_of(&copies->written[target], 0, OSC_CACHED_ALL_BLOCKS);

    return copies->written[target].closed || (NULL != hold && hold->held && !hold->recalled);
}

void osc_cached_copies_complete(osc_cached_copies_t *copies, uint32_t target, uint64_t mark,
                                const osc_cached_post_t *post)
{
    osc_cached_written_t *written = &copies->written[target];

    for (uint32_t i = 0; 0 < written->dirty && i <= OSC_CACHED_HOLDS; i++) {
        osc_cached_own_hold_t *hold = hold_at(written, i);

        if (NULL != hold && hold->dirty && hold->held && 0 == hold->issuing && hold->used <= mark) {
            hold->dirty = false;
            --written->dirty;
            if (hold->recalled || written->closed) {
                free_hold(copies, target, hold, post);
            }
        }
    }
}

/* A hold is there; the owner may have given more than was asked for. */
static void held(osc_cached_written_t *written, osc_cached_own_hold_t *hold)
{
    if (!hold->held) {
        hold->held = true;
        written->asked -= hold->dirty;
    }
}

/* Nobody keeps copies of this target any more: every hold is there, and needs no FREE. */
static void close_target(osc_cached_written_t *written)
{
    written->closed = true;
    for (uint32_t i = 0; i <= OSC_CACHED_HOLDS; i++) {
        osc_cached_own_hold_t *hold = hold_at(written, i);

        if (NULL != hold && 0 != hold->name) {
            held(written, hold);
        }
    }
}

void osc_cached_copies_dead(osc_cached_copies_t *copies, uint32_t target)
{
    drop(copies, target, 0, OSC_CACHED_ALL_BLOCKS);
    close_target(&copies->written[target]);
}

/* Messages */

static bool data(osc_cached_copies_t *copies, const osc_cached_message_t *message, uint64_t *stamp)
{
    osc_cached_block_entry_t *entry = find(copies, message->owner, message->first);

    if (NULL == entry || OSC_CACHED_BLOCK_PENDING != entry->state || message->name != entry->name) {
        return false; /* of a request that another one has followed */
    }
    if (!is_current(copies, entry)) {
        ++copies->counts.poisoned;
        set_seen(copies, entry);
        return false;
    }
    ++copies->counts.kept;
    entry->state = OSC_CACHED_BLOCK_VALID;
    entry->alone = message->alone;
    entry->refused = 0;
    if (NULL != stamp) {
        *stamp = entry->generation;
    }
    return true;
}

static void direct(osc_cached_copies_t *copies, const osc_cached_message_t *message)
{
    osc_cached_block_entry_t *entry = find(copies, message->owner, message->first);

    ++copies->counts.directs;
    if (NULL != entry && OSC_CACHED_BLOCK_PENDING == entry->state && message->name == entry->name) {
        entry->refused += entry->refused < MOST_REFUSED;
        set_seen(copies, entry);
    }
}

/* R9 */
static void forward(osc_cached_copies_t *copies, const osc_cached_message_t *message,
                    const osc_cached_post_t *post)
{
    osc_cached_block_entry_t *entry = find(copies, message->owner, message->first);
    osc_cached_message_t reply = {.kind = OSC_CACHED_MESSAGE_DATA,
                                  .peer = message->reader,
                                  .owner = message->owner,
                                  .first = message->first,
                                  .count = 1,
                                  .name = message->name};

    if (NULL != entry && OSC_CACHED_BLOCK_VALID == entry->state && is_current(copies, entry)) {
        ++copies->counts.forwards;
        entry->alone = false;
    } else {
        ++copies->counts.backs;
        reply = osc_cached_copies_back(&reply);
    }
    post->send(post->context, &reply);
}

osc_cached_message_t osc_cached_copies_back(const osc_cached_message_t *data)
{
    osc_cached_message_t back = *data;

    back.kind = OSC_CACHED_MESSAGE_BACK;
    back.peer = data->owner;
    back.reader = data->peer;
    return back;
}

static void recall(osc_cached_copies_t *copies, const osc_cached_message_t *message,
                   const osc_cached_post_t *post)
{
    osc_cached_written_t *written = &copies->written[message->owner];
    osc_cached_own_hold_t *hold = hold_named(written, message->name);

    ++copies->counts.recalls;
    written->narrow = (uint32_t) OSC_CACHED_NARROW << written->recalls;
    written->recalls += written->recalls < OSC_CACHED_RECALLS;
    if (NULL != hold) {
        hold->recalled = true;
        if (hold->held && !hold->dirty) {
            free_hold(copies, message->owner, hold, post);
        }
    }
}

/* HELD: of one hold, perhaps of more blocks than were asked for, or of all there will ever be. */
static void grant(osc_cached_written_t *written, const osc_cached_message_t *message)
{
    osc_cached_own_hold_t *hold = hold_named(written, message->name);

    if (0 == message->name) {
        close_target(written);
    } else if (NULL != hold) {
        hold->first = message->first;
        hold->count = message->count;
        held(written, hold);
    }
}

bool osc_cached_copies_receive(osc_cached_copies_t *copies, const osc_cached_message_t *message,
                               uint64_t *stamp, const osc_cached_post_t *post)
{
    osc_cached_block_entry_t *entry;
    osc_cached_message_t reply;

    if (message->owner >= copies->config.ranks || message->peer >= copies->config.ranks
        || message->reader >= copies->config.ranks || 0 == message->count) {
        return false; /* damaged */
    }
    switch (message->kind) {
    case OSC_CACHED_MESSAGE_DATA:
        return data(copies, message, stamp);
    case OSC_CACHED_MESSAGE_DIRECT:
        direct(copies, message);
        break;
    case OSC_CACHED_MESSAGE_FWD:
        forward(copies, message, post);
        break;
    case OSC_CACHED_MESSAGE_INV: /* no lock: nothing but generations is touched */
        drop(copies, message->owner, message->first, message->count);
        reply = *message;
        reply.kind = OSC_CACHED_MESSAGE_ACK;
        post->send(post->context, &reply);
        break;
    case OSC_CACHED_MESSAGE_HELD:
        grant(&copies->written[message->owner], message);
        break;
    case OSC_CACHED_MESSAGE_RECALL:
        recall(copies, message, post);
        break;
    case OSC_CACHED_MESSAGE_LAST:
        entry = find(copies, message->owner, message->first);
        if (NULL != entry && OSC_CACHED_BLOCK_VALID == entry->state
            && message->name == entry->name) {
            ++copies->counts.lasts;
            entry->alone = message->alone;
        }
        break;
    default:
        break;
    }
    return false;
}

/* Invariants */

static int verify_target(osc_cached_written_t *written)
{
    uint32_t asked = 0, dirty = 0;

    for (uint32_t i = 0; i <= OSC_CACHED_HOLDS; i++) {
        const osc_cached_own_hold_t *hold = hold_at(written, i);

        if (NULL == hold) {
            continue;
        }
        if (0 == hold->name && (hold->held || hold->dirty || hold->recalled)) {
            return 2;
        }
        dirty += hold->dirty;
        asked += hold->dirty && !hold->held;
    }
    return asked == written->asked && dirty == written->dirty ? 0 : 3;
}

int osc_cached_copies_verify(const osc_cached_copies_t *copies)
{
    int broken = 0;

    for (uint32_t i = 0; i < copies->blocks; i++) {
        const osc_cached_block_entry_t *entry = &copies->block[i];

        if (OSC_CACHED_BLOCK_ABSENT != entry->state
            && (entry != find(copies, entry->target, entry->block)
                || (OSC_CACHED_BLOCK_SEEN == entry->state) != (0 == entry->name))) {
            return 1;
        }
    }
    for (uint32_t i = 0; i < copies->config.ranks && 0 == broken; i++) {
        broken = verify_target(&copies->written[i]);
    }
    return broken;
}
