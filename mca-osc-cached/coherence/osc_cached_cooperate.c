/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Frames, gets that wait for blocks, and reads of our own file for others.
 *
 * Reads.  Readers that ask for a block while it is being read get the same bytes, if nobody has
 * begun to write since the read began: what is complete before a get begins was held before (R2).
 * What the owner keeps is what the page cache of its system keeps.
 */

#include "ompi_config.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "osc_cached_cooperate.h"
#include "osc_cached_memory.h"
#include "helper/osc_cached_helper.h"

enum {
    MOST_FRAMES = 1 << 15, /* half of the blocks that copies remember */
    MOST_BLOCKS = 64,      /* of a get */
    SMALL = 16,            /* gets of less than such a part of a block ask at its second miss */
};

/* A get that waits for blocks. */
typedef struct get {
    struct get *next;
    ompi_osc_cached_fetch_t fetch;
    uint32_t left; /* blocks */
    bool direct; /* one of them cannot be had, or the buffer is exposed: nothing is copied to it */
} get_t;

/* One of its blocks. */
typedef struct wait {
    struct wait *next;
    get_t *get;
    uint64_t block;
    uint32_t name; /* of the request */
} wait_t;

/* A reader that waits for a read of our file. */
typedef struct asked {
    struct asked *next;
    osc_cached_message_t data; /* to be sent */
} asked_t;

typedef struct reading {
    struct reading *next;
    ompi_osc_cached_cooperation_t *cooperation;
    uint64_t block;
    uint64_t mark; /* of the directory, when it began */
    asked_t *asked;
    char *data;
    uint32_t bytes;
} reading_t;

struct ompi_osc_cached_cooperation_t {
    ompi_osc_cached_cooperate_config_t config;
    uint64_t block; /* bytes */

    /* the pool; frames 0: there is none yet */
    osc_cached_keep_t keep;
    char *memory;
    uint64_t *stamp; /* by frame */
    uint32_t *bytes;
    uint64_t reserved;
    bool refused; /* there is no memory for it */

    uint32_t seen[OSC_CACHED_GENERATIONS]; /* by hash: the last block that was missed */
    get_t *gets;
    wait_t *waits;
    _Atomic uint32_t num_gets;
    reading_t *readings;
    uint64_t lasts;
};

/* --- The pool */

static char *frame_at(const ompi_osc_cached_cooperation_t *c, uint32_t frame)
{
    return c->memory + frame * c->block;
}

/* At the first get, when the window has its keys. */
static bool has_pool(ompi_osc_cached_cooperation_t *c, uint64_t bytes)
{
    const osc_cached_budget_t *budget = &ompi_osc_cached_budget;
    uint64_t room = budget->available(budget->context), frames;

    if (NULL != c->memory || c->refused) {
        return NULL != c->memory;
    }
    c->refused = true;
    frames = ((0 == bytes) ? room / 2 : (bytes < room) ? bytes : room) / c->block;
    frames = (frames < MOST_FRAMES) ? frames : MOST_FRAMES;
    if (0 == frames || !budget->reserve(budget->context, frames * c->block)) {
        return false;
    }
    c->reserved = frames * c->block;
    c->stamp = calloc(frames, sizeof(*c->stamp));
    c->bytes = calloc(frames, sizeof(*c->bytes));
    if (NULL == c->stamp || NULL == c->bytes
        || OSC_CACHED_OK
               != osc_cached_keep_init(&c->keep,
                                       (OSC_CACHED_COOPERATE_PAPER == c->config.policy)
                                           ? OSC_CACHED_KEEP_HALVES
                                           : OSC_CACHED_KEEP_LAST,
                                       (uint32_t) frames, &osc_cached_alloc_default)) {
        return false;
    }
    /* frames that are never used take no memory */
    c->memory = mmap(NULL, c->reserved, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (MAP_FAILED == c->memory) {
        c->memory = NULL;
        osc_cached_keep_fini(&c->keep);
        return false;
    }
    return true;
}

/* The frame of a block that is valid now; others leave. */
static uint32_t find_frame(ompi_osc_cached_cooperation_t *c, uint32_t target, uint64_t block)
{
    uint32_t frame =
        (NULL == c->memory) ? OSC_CACHED_NO_FRAME : osc_cached_keep_find(&c->keep, target, block);

    if (OSC_CACHED_NO_FRAME != frame
        && c->stamp[frame] != osc_cached_copies_stamp(c->config.copies, target, block, 1)) {
        osc_cached_keep_remove(&c->keep, frame);
        frame = OSC_CACHED_NO_FRAME;
    }
    return frame;
}

/* A block has come that may be kept. */
static void keep_block(ompi_osc_cached_cooperation_t *c, const osc_cached_message_t *message,
                       const void *data, uint32_t bytes, uint64_t stamp)
{
    bool alone = message->alone && OSC_CACHED_COOPERATE_PRIVATE != c->config.policy;
    osc_cached_left_t left;
    uint32_t frame;
    bool full;

    frame = osc_cached_keep_find(&c->keep, message->owner, message->first);
    if (OSC_CACHED_NO_FRAME != frame) {
        osc_cached_keep_remove(&c->keep, frame);
    }
    frame = osc_cached_keep_add(&c->keep, message->owner, message->first, alone, &left, &full);
    if (full) {
        (void) osc_cached_copies_evict(c->config.copies, left.target, left.block, c->config.post);
    }
    c->stamp[frame] = stamp;
    c->bytes[frame] = bytes;
    memcpy(frame_at(c, frame), data, bytes);
}

/* P3: the pool knows what copies know. */
static void set_alone(ompi_osc_cached_cooperation_t *c, const osc_cached_message_t *message)
{
    uint32_t frame = find_frame(c, message->owner, message->first);
    bool alone;

    if (OSC_CACHED_NO_FRAME != frame
        && OSC_CACHED_BLOCK_VALID
               == osc_cached_copies_state(c->config.copies, message->owner, message->first,
                                          &alone)) {
        c->lasts += alone && !c->keep.frame[frame].alone;
        osc_cached_keep_set_alone(&c->keep, frame, alone);
    }
}

/* --- Gets */

/* The part of a get that lies in a block. @return false: there are no such bytes */
static bool copy_part(const ompi_osc_cached_cooperation_t *c, const ompi_osc_cached_fetch_t *get,
                      uint64_t block, const char *data, uint32_t bytes)
{
    uint64_t begin = block * c->block, end = begin + c->block, last = get->address + get->bytes;
    uint64_t from = (get->address > begin) ? get->address : begin;
    uint64_t to = (last < end) ? last : end;

    if (to - begin > bytes) {
        return false;
    }
    memcpy(get->buffer + (from - get->address), data + (from - begin), to - from);
    return true;
}

/* Small gets from all over a window are not worth whole blocks. */
static bool is_first(ompi_osc_cached_cooperation_t *c, const ompi_osc_cached_fetch_t *get,
                     uint64_t block)
{
    uint32_t target = (uint32_t) get->target, *seen;
    uint32_t tag = (uint32_t) block + target * 0x9e3779b9U + 1;
    bool first, alone;

    if (OSC_CACHED_COOPERATE_PAPER == c->config.policy || get->bytes >= c->block / SMALL
        || OSC_CACHED_BLOCK_PENDING
               == osc_cached_copies_state(c->config.copies, target, block, &alone)) {
        return false;
    }
    seen = &c->seen[osc_cached_copies_slot(target, block)];
    first = tag != *seen;
    *seen = tag;
    return first;
}

/* Ask for a block, or join who has asked. @return false: the get is to be fetched */
static bool ask(ompi_osc_cached_cooperation_t *c, get_t *get, uint64_t block)
{
    uint32_t target = (uint32_t) get->fetch.target;
    wait_t *wait = malloc(sizeof(*wait));
    osc_cached_copy_t copy;
    uint64_t stamp;

    if (NULL == wait) {
        return false;
    }
    copy = osc_cached_copies_miss(c->config.copies, target, block, 1, OSC_CACHED_ALL_PARTS, &stamp,
                                  &wait->name, c->config.post);
    if (OSC_CACHED_COPY_KEEP == copy) { /* we share it, and have no frame */
        (void) osc_cached_copies_evict(c->config.copies, target, block, c->config.post);
        copy = osc_cached_copies_miss(c->config.copies, target, block, 1, OSC_CACHED_ALL_PARTS,
                                      &stamp, &wait->name, c->config.post);
    }
    if (OSC_CACHED_COPY_WAIT != copy) {
        free(wait);
        return false;
    }
    wait->get = get;
    wait->block = block;
    wait->next = c->waits;
    c->waits = wait;
    ++get->left;
    return true;
}

static void count_gets(ompi_osc_cached_cooperation_t *c, int more)
{
    atomic_store_explicit(
        &c->num_gets, atomic_load_explicit(&c->num_gets, memory_order_relaxed) + (uint32_t) more,
        memory_order_release);
}

ompi_osc_cached_pool_t ompi_osc_cached_cooperate_get(ompi_osc_cached_cooperation_t *c,
                                                     const ompi_osc_cached_fetch_t *wanted,
                                                     bool waits, uint64_t pool)
{
    uint64_t first, count;
    uint32_t missing = 0;
    get_t *get;

    osc_cached_copies_blocks(c->config.copies, wanted->address, wanted->bytes, &first, &count);
    if (MOST_BLOCKS < count || !has_pool(c, pool) || count > c->keep.frames) {
        return OSC_CACHED_POOL_PASS;
    }
    for (uint64_t block = first; block < first + count; ++block) {
        uint32_t frame = find_frame(c, (uint32_t) wanted->target, block);

        if (OSC_CACHED_NO_FRAME == frame
            || !copy_part(c, wanted, block, frame_at(c, frame), c->bytes[frame])) {
            ++missing;
        } else {
            osc_cached_keep_use(&c->keep, frame);
        }
    }
    if (0 == missing) {
        return OSC_CACHED_POOL_HIT;
    }
    get = waits ? malloc(sizeof(*get)) : NULL;
    if (NULL == get) {
        return OSC_CACHED_POOL_PASS;
    }
    *get = (get_t){.next = c->gets, .fetch = *wanted};
    for (uint64_t block = first; block < first + count && !get->direct; ++block) {
        if (OSC_CACHED_NO_FRAME == find_frame(c, (uint32_t) wanted->target, block)) {
            get->direct = is_first(c, wanted, block) || !ask(c, get, block);
        }
    }
    if (0 == get->left) {
        free(get);
        return OSC_CACHED_POOL_PASS;
    }
    c->gets = get;
    count_gets(c, 1);
    return OSC_CACHED_POOL_WAITS;
}

static void forget_get(ompi_osc_cached_cooperation_t *c, get_t *get)
{
    get_t **link = &c->gets;

    while (get != *link) {
        link = &(*link)->next;
    }
    *link = get->next;
    free(get);
    count_gets(c, -1);
}

/* DATA or DIRECT: those who wait for it, under this name, have it; data NULL: they have not. */
static void serve_waits(ompi_osc_cached_cooperation_t *c, const osc_cached_message_t *message,
                        const void *data, uint32_t bytes)
{
    wait_t **link = &c->waits, *wait;

    while (NULL != (wait = *link)) {
        get_t *get = wait->get;

        if (message->first != wait->block || message->name != wait->name
            || message->owner != (uint32_t) get->fetch.target) {
            link = &wait->next;
            continue;
        }
        *link = wait->next;
        free(wait);
        if (NULL == data || get->direct
            || !copy_part(c, &get->fetch, message->first, data, bytes)) {
            get->direct = true;
        }
        if (0 == --get->left && !get->direct) {
            forget_get(c, get);
        }
    }
}

bool ompi_osc_cached_cooperate_waits(const ompi_osc_cached_cooperation_t *c, int target)
{
    for (const get_t *get = c->gets; NULL != get; get = get->next) {
        if (0 < get->left && (OSC_CACHED_EVERYBODY == target || target == get->fetch.target)) {
            return true;
        }
    }
    return false;
}

void ompi_osc_cached_cooperate_give_up(ompi_osc_cached_cooperation_t *c)
{
    while (NULL != c->waits) {
        wait_t *wait = c->waits;

        c->waits = wait->next;
        --wait->get->left;
        wait->get->direct = true;
        free(wait);
    }
}

void ompi_osc_cached_cooperate_withdraw(ompi_osc_cached_cooperation_t *c)
{
    for (get_t *get = c->gets; NULL != get; get = get->next) {
        get->direct =
            get->direct || ompi_osc_cached_is_exposed(get->fetch.buffer, get->fetch.bytes);
    }
}

uint32_t ompi_osc_cached_cooperate_gets(const ompi_osc_cached_cooperation_t *c)
{
    return atomic_load_explicit(&c->num_gets, memory_order_acquire);
}

bool ompi_osc_cached_cooperate_take(ompi_osc_cached_cooperation_t *c, int target,
                                    ompi_osc_cached_fetch_t *fetch)
{
    for (get_t *get = c->gets; NULL != get; get = get->next) {
        if (0 == get->left && (OSC_CACHED_EVERYBODY == target || target == get->fetch.target)) {
            *fetch = get->fetch;
            forget_get(c, get);
            return true;
        }
    }
    return false;
}

/* --- Messages for copies */

void ompi_osc_cached_cooperate_hear(ompi_osc_cached_cooperation_t *c,
                                    const osc_cached_message_t *heard, const void *data,
                                    uint32_t bytes)
{
    osc_cached_message_t message = *heard;
    uint64_t stamp = 0;

    if (OSC_CACHED_MESSAGE_DATA == message.kind && (0 == bytes || c->block < bytes)) {
        message.kind = OSC_CACHED_MESSAGE_DIRECT; /* damaged */
    }
    if (osc_cached_copies_receive(c->config.copies, &message, &stamp, c->config.post)) {
        keep_block(c, &message, data, bytes, stamp);
    }
    switch (message.kind) {
    case OSC_CACHED_MESSAGE_DATA:
        serve_waits(c, &message, data, bytes);
        break;
    case OSC_CACHED_MESSAGE_DIRECT:
        serve_waits(c, &message, NULL, 0);
        break;
    case OSC_CACHED_MESSAGE_FWD:
    case OSC_CACHED_MESSAGE_LAST:
        set_alone(c, &message);
        break;
    default:
        break;
    }
}

/* --- For others */

/* A read of this block since whose begin nobody has written it, or NULL. */
static reading_t *reading_of(const ompi_osc_cached_cooperation_t *c, uint64_t block)
{
    reading_t *reading = c->readings;

    while (NULL != reading
           && (block != reading->block
               || osc_cached_directory_mark(c->config.directory) != reading->mark)) {
        reading = reading->next;
    }
    return reading;
}

unsigned ompi_osc_cached_cooperate_fill(ompi_osc_cached_cooperation_t *c, uint64_t block)
{
    uint64_t at = block * c->block;
    bool in_memory;

    if (OSC_CACHED_COOPERATE_PRIVATE == c->config.policy || at >= c->config.size) {
        return 0;
    }
    in_memory = NULL != reading_of(c, block)
                || ompi_osc_cached_helper_has_in_memory(
                    c->config.helper, at,
                    (c->config.size - at < c->block) ? c->config.size - at : c->block);
    return osc_cached_keep_forwards((OSC_CACHED_COOPERATE_PAPER == c->config.policy)
                                        ? OSC_CACHED_KEEP_HALVES
                                        : OSC_CACHED_KEEP_LAST,
                                    in_memory, ompi_osc_cached_helper_queued())
               ? OSC_CACHED_FILL_FORWARD
               : 0;
}

/* Without the bytes a reader fetches them itself. */
static void send_direct(ompi_osc_cached_cooperation_t *c, const osc_cached_message_t *data)
{
    osc_cached_message_t direct = *data;

    direct.kind = OSC_CACHED_MESSAGE_DIRECT;
    direct.alone = false;
    c->config.send(c->config.context, &direct, NULL, 0);
}

static void send_copy(ompi_osc_cached_cooperation_t *c, const osc_cached_message_t *message,
                      const void *data, uint32_t bytes)
{
    void *copy = malloc(bytes);

    if (NULL == copy) {
        send_direct(c, message);
    } else {
        memcpy(copy, data, bytes);
        c->config.send(c->config.context, message, copy, bytes);
    }
}

/* A read has ended: in its thread, without the lock. */
static void have_read(void *cookie, bool good)
{
    reading_t *reading = cookie, **link;
    ompi_osc_cached_cooperation_t *c = reading->cooperation;
    asked_t *asked;

    c->config.enter(c->config.context);
    for (link = &c->readings; reading != *link; link = &(*link)->next) {
    }
    *link = reading->next;
    while (NULL != (asked = reading->asked)) {
        reading->asked = asked->next;
        if (good) {
            send_copy(c, &asked->data, reading->data, reading->bytes);
        } else {
            send_direct(c, &asked->data);
        }
        free(asked);
    }
    c->config.leave(c->config.context);
    free(reading->data);
    free(reading);
}

/* One more reader of a block that is being read. */
static void join(reading_t *reading, asked_t *asked, const osc_cached_message_t *message)
{
    *asked = (asked_t){.next = reading->asked, .data = *message};
    reading->asked = asked;
}

/* A block of our memory, now or when it has been read. */
static void send_own(ompi_osc_cached_cooperation_t *c, const osc_cached_message_t *message)
{
    uint64_t at = message->first * c->block;
    uint64_t left = (message->first < c->config.size / c->block + 1 && at < c->config.size)
                        ? c->config.size - at
                        : 0;
    uint32_t bytes = (uint32_t) ((left < c->block) ? left : c->block);
    reading_t *reading = reading_of(c, message->first);
    asked_t *asked = malloc(sizeof(*asked));
    char *data;

    if (NULL != asked && NULL != reading) {
        join(reading, asked, message);
        return;
    }
    reading = malloc(sizeof(*reading));
    data = malloc((0 < bytes) ? bytes : 1);
    if (NULL == asked || NULL == reading || NULL == data || 0 == bytes) {
        goto direct;
    }
    *reading = (reading_t){
        .cooperation = c,
        .block = message->first,
        .mark = osc_cached_directory_mark_of(c->config.directory, message->first, message->peer),
        .data = data,
        .bytes = bytes};
    switch (ompi_osc_cached_helper_read(c->config.helper, at, bytes, data, have_read, reading)) {
    case OSC_CACHED_STORE_DONE:
        c->config.send(c->config.context, message, data, bytes);
        free(asked);
        free(reading);
        return;
    case OSC_CACHED_STORE_LATER: /* it cannot end before we give up the lock */
        join(reading, asked, message);
        reading->next = c->readings;
        c->readings = reading;
        return;
    default:
        break;
    }

direct:
    send_direct(c, message);
    free(asked);
    free(reading);
    free(data);
}

void ompi_osc_cached_cooperate_send(ompi_osc_cached_cooperation_t *c,
                                    const osc_cached_message_t *message)
{
    osc_cached_message_t back;
    uint32_t frame;

    if (message->owner == c->config.copies->config.rank) {
        send_own(c, message);
        return;
    }
    frame = find_frame(c, message->owner, message->first);
    if (OSC_CACHED_NO_FRAME != frame) {
        send_copy(c, message, frame_at(c, frame), c->bytes[frame]);
        return;
    }
    --c->config.copies->counts.forwards;
    ++c->config.copies->counts.backs;
    back = osc_cached_copies_back(message);
    c->config.send(c->config.context, &back, NULL, 0);
}

uint64_t ompi_osc_cached_cooperate_lasts(const ompi_osc_cached_cooperation_t *c)
{
    return c->lasts;
}

/* --- Life */

ompi_osc_cached_cooperation_t *
ompi_osc_cached_cooperate_create(const ompi_osc_cached_cooperate_config_t *config)
{
    ompi_osc_cached_cooperation_t *c = calloc(1, sizeof(*c));

    if (NULL != c) {
        c->config = *config;
        c->block = UINT64_C(1) << config->copies->config.block_shift;
    }
    return c;
}

void ompi_osc_cached_cooperate_destroy(ompi_osc_cached_cooperation_t *c)
{
    if (NULL == c) {
        return;
    }
    ompi_osc_cached_cooperate_give_up(c);
    while (NULL != c->gets) {
        forget_get(c, c->gets);
    }
    if (NULL != c->memory) {
        (void) munmap(c->memory, c->reserved);
        osc_cached_keep_fini(&c->keep);
    }
    if (0 < c->reserved) {
        ompi_osc_cached_budget.give_back(ompi_osc_cached_budget.context, c->reserved);
    }
    free(c->stamp);
    free(c->bytes);
    free(c);
}
