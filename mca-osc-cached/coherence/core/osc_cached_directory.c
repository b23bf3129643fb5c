/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Who has copies of which block.
 */
#include "osc_cached_directory.h"

#include <string.h>

#define FIRST_LINES 64
#define FIRST_HOLDS 8

_Static_assert(64 == sizeof(osc_cached_line_t), "a line of the directory is a cache line");

static void *get_memory(const osc_cached_directory_t *directory, uint64_t count, size_t bytes)
{
    const osc_cached_alloc_t *alloc = directory->config.alloc;
    void *memory = alloc->alloc(alloc->context, 64, (size_t) count * bytes);

    if (NULL != memory) {
        memset(memory, 0, (size_t) count * bytes);
    }
    return memory;
}

static void give_memory(const osc_cached_directory_t *directory, void *memory, uint64_t count,
                        size_t bytes)
{
    const osc_cached_alloc_t *alloc = directory->config.alloc;

    alloc->free(alloc->context, memory, (size_t) count * bytes);
}

int osc_cached_directory_init(osc_cached_directory_t *directory,
                              const osc_cached_directory_config_t *config)
{
    if (config->rank >= config->ranks || NULL == config->alloc) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    *directory = (osc_cached_directory_t){.config = *config};
    directory->member = get_memory(directory, config->ranks, sizeof(directory->member[0]));
    return NULL == directory->member ? OSC_CACHED_NO_MEMORY : OSC_CACHED_OK;
}

/* Lines */

static osc_cached_slot_t *slots_of(osc_cached_line_t *line)
{
    return line->longer ? line->u.array.slots : line->u.slot;
}

static void forget_array(const osc_cached_directory_t *directory, osc_cached_line_t *line)
{
    if (line->longer) {
        give_memory(directory, line->u.array.slots, line->u.array.room, sizeof(osc_cached_slot_t));
        line->longer = 0;
    }
}

void osc_cached_directory_fini(osc_cached_directory_t *directory)
{
    for (uint32_t i = 0; i < directory->lines; i++) {
        forget_array(directory, &directory->line[i]);
    }
    give_memory(directory, directory->line, directory->lines, sizeof(directory->line[0]));
    give_memory(directory, directory->hold, directory->holds, sizeof(directory->hold[0]));
    give_memory(directory, directory->member, directory->config.ranks,
                sizeof(directory->member[0]));
    *directory = (osc_cached_directory_t){.lines = 0};
}

/* Where a search begins. */
static uint32_t home(const osc_cached_directory_t *directory, uint64_t block)
{
    return (uint32_t) ((block * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (directory->lines - 1);
}

/* The line of a block, or the empty one where it would be. */
static osc_cached_line_t *seek(const osc_cached_directory_t *directory, uint64_t block)
{
    uint32_t i = home(directory, block);

    while (directory->line[i].there && block != directory->line[i].block) {
        i = (i + 1) & (directory->lines - 1);
    }
    return &directory->line[i];
}

static osc_cached_line_t *find(const osc_cached_directory_t *directory, uint64_t block)
{
    osc_cached_line_t *line;

    if (0 == directory->used) {
        return NULL;
    }
    line = seek(directory, block);
    return line->there ? line : NULL;
}

static bool grow(osc_cached_directory_t *directory)
{
    uint32_t lines = directory->lines;
    osc_cached_line_t *old = directory->line, *line;

    if (lines > UINT32_MAX / 4) {
        return false;
    }
    line = get_memory(directory, 0 == lines ? FIRST_LINES : 2 * lines, sizeof(*line));
    if (NULL == line) {
        return false;
    }
    directory->line = line;
    directory->lines = 0 == lines ? FIRST_LINES : 2 * lines;
    for (uint32_t i = 0; i < lines; i++) {
        if (old[i].there) {
            *seek(directory, old[i].block) = old[i];
        }
    }
    give_memory(directory, old, lines, sizeof(old[0]));
    return true;
}

/* The line of a block, made if there is none; NULL: no room. The caller fills it at once. */
static osc_cached_line_t *make(osc_cached_directory_t *directory, uint64_t block)
{
    osc_cached_line_t *line = find(directory, block);

    if (NULL != line) {
        return line;
    }
    if (directory->used >= directory->config.max_lines
        || (directory->used >= directory->lines / 2 && !grow(directory))) {
        return NULL;
    }
    line = seek(directory, block);
    *line = (osc_cached_line_t){.block = block, .there = 1};
    ++directory->used;
    return line;
}

/* A line with nothing in it leaves; those behind it move up. */
static void leave_if_empty(osc_cached_directory_t *directory, osc_cached_line_t *line)
{
    uint32_t mask = directory->lines - 1, hole = (uint32_t) (line - directory->line), i;

    if (0 < line->slots || 0 < line->holds) {
        return;
    }
    forget_array(directory, line);
    for (i = (hole + 1) & mask; directory->line[i].there; i = (i + 1) & mask) {
        if (((i - home(directory, directory->line[i].block)) & mask) >= ((i - hole) & mask)) {
            directory->line[hole] = directory->line[i];
            hole = i;
        }
    }
    directory->line[hole] = (osc_cached_line_t){.there = 0};
    --directory->used;
}

static osc_cached_slot_t *slot_of(osc_cached_line_t *line, uint32_t rank)
{
    osc_cached_slot_t *slot = slots_of(line);

    for (uint32_t i = 0; i < line->slots; i++) {
        if (rank == slot[i].rank) {
            return &slot[i];
        }
    }
    return NULL;
}

/* Room for one more slot. */
static bool has_room(osc_cached_directory_t *directory, osc_cached_line_t *line)
{
    uint32_t room = line->longer ? line->u.array.room : OSC_CACHED_LINE_SLOTS;
    osc_cached_slot_t *longer;

    if (line->slots < room) {
        return true;
    }
    longer = get_memory(directory, 2 * (uint64_t) room, sizeof(*longer));
    if (NULL == longer) {
        return false;
    }
    memcpy(longer, slots_of(line), room * sizeof(*longer));
    forget_array(directory, line);
    line->longer = 1;
    line->u.array.slots = longer;
    line->u.array.room = 2 * room;
    return true;
}

/* A slot with a name is no more. */
static void unname(osc_cached_directory_t *directory, osc_cached_slot_t *slot)
{
    --directory->member[slot->rank].shares;
    --directory->shares;
    slot->name = 0;
}

static void remove_slot(osc_cached_line_t *line, osc_cached_slot_t *slot)
{
    *slot = slots_of(line)[--line->slots];
}

/* Messages */

static uint32_t sharer_of(const osc_cached_directory_t *directory, uint32_t rank)
{
    return NULL == directory->config.node ? rank : directory->config.node[rank];
}

static void send(const osc_cached_directory_t *directory, const osc_cached_post_t *post,
                 osc_cached_message_t message)
{
    message.owner = directory->config.rank;
    post->send(post->context, &message);
}

static void send_inv(osc_cached_directory_t *directory, uint32_t rank, uint64_t first,
                     uint64_t count, const osc_cached_post_t *post)
{
    ++directory->counts.invalidations;
    send(directory, post,
         (osc_cached_message_t){
             .kind = OSC_CACHED_MESSAGE_INV, .peer = rank, .first = first, .count = count});
}

/* Holds */

static bool is_whole(const osc_cached_hold_t *hold)
{
    return OSC_CACHED_ALL_BLOCKS == hold->count;
}

static bool contains(const osc_cached_hold_t *hold, uint64_t block)
{
    return 0 != hold->count && block - hold->first < hold->count;
}

static bool is_held(const osc_cached_directory_t *directory, const osc_cached_line_t *line)
{
    return directory->closed || 0 < directory->whole || 0 < directory->whole_acks
           || (NULL != line && (0 < line->holds || 0 < line->acks));
}

static void send_held(const osc_cached_directory_t *directory, const osc_cached_hold_t *hold,
                      const osc_cached_post_t *post)
{
    send(directory, post,
         (osc_cached_message_t){.kind = OSC_CACHED_MESSAGE_HELD,
                                .peer = hold->rank,
                                .name = hold->name,
                                .first = hold->first,
                                .count = hold->count});
}

/* A hold may have waited for the last thing. */
static void held_if_done(osc_cached_directory_t *directory, osc_cached_hold_t *hold,
                         const osc_cached_post_t *post)
{
    if (0 == hold->waits && !hold->waits_whole) {
        --directory->waiting;
        send_held(directory, hold, post);
    }
}

/* Closed, and all copies are gone: who held or holds something hears of it. */
static void tell_closed(osc_cached_directory_t *directory, const osc_cached_post_t *post)
{
    if (!directory->closed || osc_cached_directory_is_shared(directory)) {
        return;
    }
    for (uint32_t i = 0; i < directory->config.ranks; i++) {
        if (directory->member[i].wanting) {
            directory->member[i].wanting = false;
            send(directory, post,
                 (osc_cached_message_t){
                     .kind = OSC_CACHED_MESSAGE_HELD, .peer = i, .count = OSC_CACHED_ALL_BLOCKS});
        }
    }
}

/* No ACK is awaited for this line any more. */
static void line_acked(osc_cached_directory_t *directory, const osc_cached_line_t *line,
                       const osc_cached_post_t *post)
{
    --directory->acks;
    for (uint32_t i = 0; i < directory->holds && 0 < directory->waiting; i++) {
        osc_cached_hold_t *hold = &directory->hold[i];

        if (0 < hold->waits && contains(hold, line->block)) {
            --hold->waits;
            held_if_done(directory, hold, post);
        }
    }
    tell_closed(directory, post);
}

/* No ACK of an INV of all blocks is awaited any more. */
static void whole_acked(osc_cached_directory_t *directory, const osc_cached_post_t *post)
{
    for (uint32_t i = 0; i < directory->holds && 0 < directory->waiting; i++) {
        osc_cached_hold_t *hold = &directory->hold[i];

        if (hold->waits_whole) {
            hold->waits_whole = false;
            held_if_done(directory, hold, post);
        }
    }
    tell_closed(directory, post);
}

/* R4: all who share the block hear of it, but for one, who knows. */
static void invalidate(osc_cached_directory_t *directory, osc_cached_line_t *line, uint32_t but,
                       const osc_cached_post_t *post)
{
    uint32_t before = line->acks;

    for (uint32_t i = 0; i < line->slots;) {
        osc_cached_slot_t *slot = &slots_of(line)[i];

        if (0 != slot->name) {
            unname(directory, slot);
            if (but == slot->rank) {
                remove_slot(line, slot);
                continue;
            }
            ++line->acks;
            send_inv(directory, slot->rank, line->block, 1, post);
        }
        ++i;
    }
    directory->acks += 0 == before && 0 < line->acks;
}

/* All who share anything hear of it once. */
static void invalidate_all(osc_cached_directory_t *directory, const osc_cached_post_t *post)
{
    if (0 == directory->shares) {
        return;
    }
    for (uint32_t i = 0; i < directory->config.ranks; i++) {
        if (0 < directory->member[i].shares) {
            directory->member[i].acking = true;
            ++directory->whole_acks;
            send_inv(directory, i, 0, OSC_CACHED_ALL_BLOCKS, post);
        }
    }
    for (uint32_t i = 0; i < directory->lines;) {
        osc_cached_line_t *line = &directory->line[i];

        for (uint32_t k = 0; k < line->slots;) {
            osc_cached_slot_t *slot = &slots_of(line)[k];

            if (0 == slot->name) {
                ++k;
            } else {
                unname(directory, slot);
                remove_slot(line, slot);
            }
        }
        if (line->there && 0 == line->slots && 0 == line->holds) {
            leave_if_empty(directory, line); /* another one may be here now */
        } else {
            ++i;
        }
    }
}

void osc_cached_directory_close(osc_cached_directory_t *directory, const osc_cached_post_t *post)
{
    directory->closed = true;
    invalidate_all(directory, post);
    tell_closed(directory, post);
}

/* A hold with this name, which is not there yet; NULL: no memory. */
static osc_cached_hold_t *new_hold(osc_cached_directory_t *directory, uint32_t rank, uint32_t name)
{
    osc_cached_member_t *member = &directory->member[rank];
    osc_cached_hold_t *hold;
    uint32_t number;

    if (0 == directory->unused) {
        uint32_t room = 0 == directory->holds ? FIRST_HOLDS : 2 * directory->holds;

        hold = room > directory->holds ? get_memory(directory, room, sizeof(*hold)) : NULL;
        if (NULL == hold) {
            return NULL;
        }
        if (0 < directory->holds) {
            memcpy(hold, directory->hold, directory->holds * sizeof(*hold));
        }
        for (uint32_t i = directory->holds; i < room; i++) {
            hold[i].next = i + 1 < room ? i + 2 : 0;
        }
        give_memory(directory, directory->hold, directory->holds, sizeof(*hold));
        directory->unused = directory->holds + 1;
        directory->hold = hold;
        directory->holds = room;
    }
    number = directory->unused - 1;
    hold = &directory->hold[number];
    directory->unused = hold->next;
    *hold = (osc_cached_hold_t){.rank = rank, .name = name, .next = member->holds};
    member->holds = number + 1;
    return hold;
}

/* R4; name 0, which has no hold, is not used. */
static void begin_hold(osc_cached_directory_t *directory, osc_cached_message_t wanted,
                       const osc_cached_post_t *post)
{
    /* the writer knows; but others of its node may have a copy since */
    uint32_t but = NULL == directory->config.node ? wanted.peer : UINT32_MAX;
    osc_cached_hold_t *hold = NULL;
    uint64_t made = 0;

    ++directory->counts.holds;
    if (!directory->closed) {
        hold = new_hold(directory, wanted.peer, wanted.name);
    }
    if (NULL == hold) {
        directory->member[wanted.peer].wanting = true;
        osc_cached_directory_close(directory, post);
        return;
    }
    hold->first = wanted.first;
    hold->count = wanted.count;
    if (wanted.count > OSC_CACHED_HOLD_BLOCKS
        || (wanted.whole && !osc_cached_directory_is_shared(directory))) {
        hold->count = OSC_CACHED_ALL_BLOCKS;
    }
    while (!is_whole(hold) && made < hold->count) {
        osc_cached_line_t *line = make(directory, hold->first + made);

        if (NULL == line) { /* no room: those that were held are free again */
            while (0 < made) {
                line = find(directory, hold->first + --made);
                --line->holds;
                leave_if_empty(directory, line);
            }
            hold->count = OSC_CACHED_ALL_BLOCKS;
            break;
        }
        ++line->holds;
        ++made;
    }
    if (is_whole(hold)) {
        hold->first = 0;
        ++directory->counts.whole_holds;
        ++directory->whole;
        invalidate_all(directory, post);
        hold->waits = directory->acks;
    } else {
        for (uint64_t i = 0; i < hold->count; i++) {
            osc_cached_line_t *line = find(directory, hold->first + i);

            invalidate(directory, line, but, post);
            hold->waits += 0 < line->acks;
        }
    }
    hold->waits_whole = 0 < directory->whole_acks;
    ++directory->waiting;
    held_if_done(directory, hold, post);
}

/* A hold is over, or its owner is; those who wait, wait for ACKs, not for it. */
static void end_hold(osc_cached_directory_t *directory, uint32_t *link)
{
    uint32_t number = *link - 1;
    osc_cached_hold_t *hold = &directory->hold[number];

    if (is_whole(hold)) {
        --directory->whole;
    } else {
        for (uint64_t i = 0; i < hold->count; i++) {
            osc_cached_line_t *line = find(directory, hold->first + i);

            --line->holds;
            leave_if_empty(directory, line);
        }
    }
    directory->waiting -= 0 < hold->waits || hold->waits_whole;
    *link = hold->next;
    *hold = (osc_cached_hold_t){.next = directory->unused};
    directory->unused = number + 1;
}

static void end_hold_of(osc_cached_directory_t *directory, uint32_t rank, uint32_t name)
{
    uint32_t *link = &directory->member[rank].holds;

    while (0 != *link) {
        osc_cached_hold_t *hold = &directory->hold[*link - 1];

        if (name == hold->name) {
            if (0 == hold->waits && !hold->waits_whole) {
                end_hold(directory, link);
            }
            return;
        }
        link = &hold->next;
    }
}

static bool has_hold(const osc_cached_directory_t *directory, uint32_t rank, uint32_t name)
{
    uint32_t number = directory->member[rank].holds;

    while (0 != number && name != directory->hold[number - 1].name) {
        number = directory->hold[number - 1].next;
    }
    return 0 != number;
}

uint32_t osc_cached_directory_hold(osc_cached_directory_t *directory, uint64_t first,
                                   uint64_t count, const osc_cached_post_t *post)
{
    do {
        ++directory->names; /* of 2^32 holds ago one may still be there */
    } while (0 == directory->names
             || has_hold(directory, directory->config.rank, directory->names));
    begin_hold(directory,
               (osc_cached_message_t){.peer = directory->config.rank,
                                      .name = directory->names,
                                      .first = first,
                                      .count = count},
               post);
    return directory->names;
}

void osc_cached_directory_free(osc_cached_directory_t *directory, uint32_t name)
{
    end_hold_of(directory, directory->config.rank, name);
}

/* R8: who holds this block, and knows it, is asked to let go; the owner itself does so anyway. */
static void recall(osc_cached_directory_t *directory, uint64_t block, const osc_cached_post_t *post)
{
    if (0 == directory->config.recall || ++directory->directs < directory->config.recall) {
        return;
    }
    directory->directs = 0;
    for (uint32_t i = 0; i < directory->holds; i++) {
        osc_cached_hold_t *hold = &directory->hold[i];

        if (contains(hold, block) && !hold->recalled && directory->config.rank != hold->rank) {
            hold->recalled = true;
            ++directory->counts.recalls;
            send(directory, post,
                 (osc_cached_message_t){.kind = OSC_CACHED_MESSAGE_RECALL,
                                        .peer = hold->rank,
                                        .name = hold->name,
                                        .first = hold->first,
                                        .count = hold->count});
        }
    }
}

/* Requests */

bool osc_cached_directory_must_protect(const osc_cached_directory_t *directory, uint64_t block)
{
    const osc_cached_line_t *line = find(directory, block);

    return directory->config.protect && !is_held(directory, line)
           && (NULL == line || 0 == line->slots);
}

static void send_data(const osc_cached_directory_t *directory, osc_cached_line_t *line,
                      uint32_t reader, uint64_t block, uint32_t name, const osc_cached_post_t *post)
{
    send(directory, post,
         (osc_cached_message_t){.kind = OSC_CACHED_MESSAGE_DATA,
                                .peer = reader,
                                .first = block,
                                .count = 1,
                                .name = name,
                                .alone = NULL != line && 1 == line->slots - line->acks
                                         && NULL != slot_of(line, sharer_of(directory, reader))});
}

/* Another sharer than this one, in turn; NULL: there is none. */
static osc_cached_slot_t *forwarder(osc_cached_line_t *line, uint32_t but)
{
    for (uint32_t i = 0; i < line->slots; i++) {
        osc_cached_slot_t *slot = &slots_of(line)[line->turn++ % line->slots];

        if (but != slot->rank && 0 != slot->name) {
            return slot;
        }
    }
    return NULL;
}

/* P3: a sharer is the only one, or is not any more. A hint: it may come late. */
static void send_last(osc_cached_directory_t *directory, const osc_cached_line_t *line,
                      const osc_cached_slot_t *slot, bool alone, const osc_cached_post_t *post)
{
    if (directory->config.cooperate) {
        ++directory->counts.lasts;
        send(directory, post,
             (osc_cached_message_t){.kind = OSC_CACHED_MESSAGE_LAST,
                                    .peer = slot->rank,
                                    .first = line->block,
                                    .count = 1,
                                    .name = slot->name,
                                    .alone = alone});
    }
}

/* R2: the reader is entered, under this name. @return its line, or NULL: it cannot be */
static osc_cached_line_t *enter(osc_cached_directory_t *directory,
                                const osc_cached_message_t *message, unsigned flags,
                                const osc_cached_post_t *post)
{
    uint32_t sharer = sharer_of(directory, message->peer);
    osc_cached_line_t *line = find(directory, message->first);
    osc_cached_slot_t *slot;

    if (is_held(directory, line)
        || (directory->config.protect && 0 == (flags & OSC_CACHED_FILL_PROTECTED)
            && (NULL == line || 0 == line->slots))) {
        return NULL;
    }
    line = make(directory, message->first);
    if (NULL == line) {
        return NULL;
    }
    slot = slot_of(line, sharer);
    if (NULL == slot) {
        if (!has_room(directory, line)) {
            return NULL; /* there are others in this line */
        }
        slot = &slots_of(line)[line->slots++];
        *slot = (osc_cached_slot_t){.rank = sharer};
        if (2 == line->slots) {
            send_last(directory, line, &slots_of(line)[0], false, post);
        }
        ++directory->member[sharer].shares;
        ++directory->shares;
    }
    slot->name = message->name;
    return line;
}

static void fill(osc_cached_directory_t *directory, const osc_cached_message_t *message,
                 unsigned flags, const osc_cached_post_t *post)
{
    osc_cached_line_t *line = enter(directory, message, flags, post);
    osc_cached_slot_t *slot = NULL;

    ++directory->counts.fills;
    if (NULL == line) {
        ++directory->counts.directs;
        send(directory, post,
             (osc_cached_message_t){.kind = OSC_CACHED_MESSAGE_DIRECT,
                                    .peer = message->peer,
                                    .first = message->first,
                                    .count = 1,
                                    .name = message->name});
        recall(directory, message->first, post);
        return;
    }
    if (0 != (flags & OSC_CACHED_FILL_FORWARD)) {
        slot = forwarder(line, sharer_of(directory, message->peer));
    }
    if (NULL == slot) {
        send_data(directory, line, message->peer, message->first, message->name, post);
        return;
    }
    ++directory->counts.forwards;
    send(directory, post,
         (osc_cached_message_t){.kind = OSC_CACHED_MESSAGE_FWD,
                                .peer = slot->rank,
                                .reader = message->peer,
                                .first = message->first,
                                .count = 1,
                                .name = message->name});
}

/* R10: counts only with the name that is registered. */
static void evict(osc_cached_directory_t *directory, const osc_cached_message_t *message,
                  const osc_cached_post_t *post)
{
    osc_cached_line_t *line = find(directory, message->first);
    osc_cached_slot_t *slot =
        NULL == line ? NULL : slot_of(line, sharer_of(directory, message->peer));

    if (NULL == slot || 0 == slot->name || message->name != slot->name) {
        return;
    }
    ++directory->counts.evictions;
    unname(directory, slot);
    remove_slot(line, slot);
    if (1 == line->slots) {
        send_last(directory, line, &slots_of(line)[0], true, post);
    }
    leave_if_empty(directory, line);
}

/* A slot without a name is acknowledged. */
static void slot_acked(osc_cached_directory_t *directory, osc_cached_line_t *line,
                       osc_cached_slot_t *slot, const osc_cached_post_t *post)
{
    remove_slot(line, slot);
    if (0 == --line->acks) {
        line_acked(directory, line, post);
    }
    leave_if_empty(directory, line);
}

static void rank_acked(osc_cached_directory_t *directory, uint32_t rank,
                       const osc_cached_post_t *post)
{
    if (directory->member[rank].acking) {
        directory->member[rank].acking = false;
        if (0 == --directory->whole_acks) {
            whole_acked(directory, post);
        }
    }
}

static void ack(osc_cached_directory_t *directory, const osc_cached_message_t *message,
                const osc_cached_post_t *post)
{
    osc_cached_line_t *line;
    osc_cached_slot_t *slot;

    if (OSC_CACHED_ALL_BLOCKS == message->count) {
        rank_acked(directory, sharer_of(directory, message->peer), post);
        return;
    }
    line = find(directory, message->first);
    slot = NULL == line ? NULL : slot_of(line, sharer_of(directory, message->peer));
    if (NULL != slot && 0 == slot->name) {
        slot_acked(directory, line, slot, post);
    }
}

void osc_cached_directory_receive(osc_cached_directory_t *directory,
                                  const osc_cached_message_t *message, unsigned flags,
                                  const osc_cached_post_t *post)
{
    if (message->peer >= directory->config.ranks || message->reader >= directory->config.ranks
        || 0 == message->count || directory->member[message->peer].dead
        || (0 == message->name && OSC_CACHED_MESSAGE_ACK != message->kind)) {
        return; /* of a dead process, or damaged */
    }
    switch (message->kind) {
    case OSC_CACHED_MESSAGE_FILL:
        fill(directory, message, flags, post);
        break;
    case OSC_CACHED_MESSAGE_BACK: /* R9: whatever has happened since, the reader has heard of it */
        ++directory->counts.backs;
        send_data(directory, find(directory, message->first), message->reader, message->first,
                  message->name, post);
        break;
    case OSC_CACHED_MESSAGE_ACK:
        ack(directory, message, post);
        break;
    case OSC_CACHED_MESSAGE_HOLD:
        begin_hold(directory, *message, post);
        break;
    case OSC_CACHED_MESSAGE_FREE:
        end_hold_of(directory, message->peer, message->name);
        break;
    case OSC_CACHED_MESSAGE_EVICT:
        evict(directory, message, post);
        break;
    default:
        break;
    }
}

uint64_t osc_cached_directory_mark_of(const osc_cached_directory_t *directory, uint64_t block,
                                      uint32_t reader)
{
    osc_cached_line_t *line = find(directory, block);
    const osc_cached_slot_t *slot =
        (NULL == line) ? NULL : slot_of(line, sharer_of(directory, reader));

    return (NULL == slot || 0 == slot->name || is_held(directory, line))
               ? 0
               : osc_cached_directory_mark(directory);
}

void osc_cached_directory_dead(osc_cached_directory_t *directory, uint32_t rank,
                               const osc_cached_post_t *post)
{
    osc_cached_member_t *member = &directory->member[rank];

    ++directory->deaths;
    member->dead = true;
    member->wanting = false;
    while (0 != member->holds) {
        end_hold(directory, &member->holds);
    }
    for (uint32_t i = 0; i < directory->lines;) {
        osc_cached_line_t *line = &directory->line[i];
        osc_cached_slot_t *slot = line->there ? slot_of(line, rank) : NULL;

        if (NULL == slot) {
            ++i;
        } else if (0 == slot->name) {
            slot_acked(directory, line, slot, post);
        } else {
            unname(directory, slot);
            remove_slot(line, slot);
            leave_if_empty(directory, line);
        }
    }
    rank_acked(directory, rank, post);
    tell_closed(directory, post);
}

bool osc_cached_directory_slow(const osc_cached_directory_t *directory, uint64_t first,
                               uint64_t count, uint32_t *rank)
{
    for (uint32_t i = 0; i < directory->config.ranks && 0 < directory->whole_acks; i++) {
        if (directory->member[i].acking) {
            *rank = i;
            return true;
        }
    }
    for (uint32_t i = 0; i < directory->lines && 0 < directory->acks; i++) {
        osc_cached_line_t *line = &directory->line[i];

        for (uint32_t k = 0; k < line->slots && line->block - first < count; k++) {
            if (0 == slots_of(line)[k].name) {
                *rank = slots_of(line)[k].rank;
                return true;
            }
        }
    }
    return false;
}

/* Invariants */

static int verify_line(const osc_cached_directory_t *directory, osc_cached_line_t *line)
{
    uint32_t acks = 0, holds = 0;

    if (line != find(directory, line->block) || (0 == line->slots && 0 == line->holds)) {
        return 1;
    }
    for (uint32_t i = 0; i < line->slots; i++) {
        osc_cached_slot_t *slot = &slots_of(line)[i];

        acks += 0 == slot->name;
        if (slot != slot_of(line, slot->rank)) {
            return 2;
        }
    }
    for (uint32_t i = 0; i < directory->holds; i++) {
        holds += !is_whole(&directory->hold[i]) && contains(&directory->hold[i], line->block);
    }
    if (acks != line->acks) {
        return 2;
    }
    if (is_held(directory, line) && line->slots != acks) {
        return 3;
    }
    return holds == line->holds ? 0 : 4;
}

static int verify_hold(const osc_cached_directory_t *directory, const osc_cached_hold_t *hold)
{
    uint32_t waits = 0;

    for (uint32_t i = 0; i < directory->lines; i++) {
        waits += 0 < directory->line[i].acks && contains(hold, directory->line[i].block);
    }
    return waits == hold->waits && (!hold->waits_whole || 0 < directory->whole_acks) ? 0 : 5;
}

int osc_cached_directory_verify(const osc_cached_directory_t *directory)
{
    uint32_t used = 0, waiting = 0, whole = 0, acks = 0, whole_acks = 0;
    uint64_t shares = 0;
    int broken = 0;

    for (uint32_t i = 0; i < directory->lines && 0 == broken; i++) {
        if (directory->line[i].there) {
            broken = verify_line(directory, &directory->line[i]);
            ++used;
            acks += 0 < directory->line[i].acks;
            shares += directory->line[i].slots - directory->line[i].acks;
        }
    }
    if (0 != broken) {
        return broken;
    }
    if (used != directory->used || acks != directory->acks) {
        return 1;
    }
    if (shares != directory->shares) {
        return 3;
    }
    for (uint32_t i = 0; i < directory->config.ranks; i++) {
        shares -= directory->member[i].shares;
        whole_acks += directory->member[i].acking;
    }
    if (0 != shares || whole_acks != directory->whole_acks) {
        return 3;
    }
    for (uint32_t i = 0; i < directory->holds && 0 == broken; i++) {
        if (0 != directory->hold[i].count) {
            broken = verify_hold(directory, &directory->hold[i]);
            waiting += 0 < directory->hold[i].waits || directory->hold[i].waits_whole;
            whole += is_whole(&directory->hold[i]);
        }
    }
    if (0 != broken || waiting != directory->waiting || whole != directory->whole) {
        return 5;
    }
    return directory->closed && 0 < directory->shares ? 6 : 0;
}
