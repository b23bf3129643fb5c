/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_directory and osc_cached_copies on a network that delays and reorders.
 *
 * Each process owns some blocks, and gets and puts those of the others; its copies, gets and puts
 * are what the glue makes of the core. Every write adds one to its block, so that a value says how
 * old it is. When a write is complete, its process may tell anybody by any means: from then on
 * (told) no get that is begun may return an older value. And nobody waits for ever: at the end of
 * each world, with no new operations, all are done.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_copies.h"
#include "osc_cached_directory.h"
#include "osc_cached_test_random.h"

#include <string.h>

#define RANKS 5
#define BLOCKS 6
#define SPAN 4 /* blocks of a get, at the most */
#define GETS 4
#define PUTS 4
#define MESSAGES 4096

typedef enum {
    STORES_NONE,  /* an owner does not store */
    STORES_SYNC,  /* its stores count as written at its next synchronisation */
    STORES_DETECT /* its stores count at once: pages of shared blocks are write-protected */
} stores_t;

typedef struct {
    bool there;
    uint64_t stamp;
    uint32_t value[SPAN];
} piece_t;

typedef struct {
    enum { UNUSED, DIRECT, KEEP, WAIT } kind;
    bool read; /* the memory was read: value is what it brings */
    uint32_t target, count, name, age;
    uint64_t first, stamp;
    uint32_t least[SPAN], value[SPAN];
} get_t;

typedef struct {
    enum { NO_PUT, ISSUING, ISSUED } state;
    bool landed;
    uint32_t target, name;
    uint64_t first, count, number;
    uint32_t value[BLOCKS];
} put_t;

/* What the owner itself does with its memory; one at a time. */
typedef struct {
    enum { REST, SYNCING, TRAPPED, EXECUTING } state;
    bool held, skipped;
    uint32_t name;
    uint64_t first, count;
} self_t;

typedef struct {
    bool dead, noticed[RANKS]; /* by these */
    osc_cached_directory_t directory;
    osc_cached_copies_t copies;
    piece_t piece[RANKS][BLOCKS][SPAN];
    get_t get[GETS];
    put_t put[PUTS];
    bool flushing;
    uint32_t flush_target;
    uint64_t flush_mark;
    self_t self;
    uint32_t memory[BLOCKS], told[BLOCKS], stored[BLOCKS];
    bool protected[BLOCKS];
} process_t;

typedef struct {
    osc_cached_message_t message;
    uint32_t from, to;
    bool reading; /* DATA: the owner has not read it yet */
    uint32_t value;
} flying_t;

static struct {
    uint64_t random;
    uint32_t ranks, blocks;
    stores_t stores;
    bool waits, nodes, deaths, closes, ending;
    uint32_t fails; /* one allocation in so many */
    uint32_t calm;  /* one write where there could be so many */
    uint32_t slow;  /* one message arrives where there could be so many */
    uint32_t node[RANKS];
    _Atomic uint64_t generation[RANKS][OSC_CACHED_GENERATIONS + RANKS];
    process_t process[RANKS];
    flying_t flying[MESSAGES];
    uint32_t num_flying;
} world;

/* How often things happened, so that the test tests something. */
static struct {
    uint64_t hits, kept, poisoned, forwards, backs, traps, waits_for_ack, whole, recalls, closed,
        directs, deaths, executed, evictions, lasts, given_up, lazy;
} seen;

static uint32_t below(uint32_t limit)
{
    return random_below(&world.random, limit);
}

static void *failing_alloc(void *context, size_t alignment, size_t bytes)
{
    if (0 < world.fails && 0 == below(world.fails)) {
        return NULL;
    }
    return osc_cached_alloc_default.alloc(context, alignment, bytes);
}

static void plain_free(void *context, void *memory, size_t bytes)
{
    osc_cached_alloc_default.free(context, memory, bytes);
}

static const osc_cached_alloc_t alloc = {failing_alloc, plain_free, NULL};

/* Messages */

static void send(void *context, const osc_cached_message_t *message)
{
    uint32_t from = (uint32_t) ((process_t *) context - world.process);
    process_t *me = context;
    flying_t *flying;

    if (from == message->peer && OSC_CACHED_MESSAGE_HELD == message->kind) { /* its own hold */
        me->self.held |=
            0 == message->name || message->name == me->self.name || REST == me->self.state;
        return;
    }
    assert_true(world.num_flying < MESSAGES);
    flying = &world.flying[world.num_flying++];
    *flying = (flying_t){.message = *message, .from = from, .to = message->peer};
    flying->message.peer = from;
    switch (message->kind) {
    case OSC_CACHED_MESSAGE_DATA:
        if (!world.waits) {
            break;
        }
        if (from == message->owner) {
            flying->reading = true;
        } else {
            const piece_t *piece = &me->piece[message->owner][message->first][0];

            if (!piece->there) { /* dropped silently */
                flying->message = osc_cached_copies_back(message);
                flying->to = flying->message.peer;
                flying->message.peer = from;
                break;
            }
            flying->value = piece->value[0];
            ++seen.forwards;
        }
        break;
    case OSC_CACHED_MESSAGE_HELD:
        seen.whole += OSC_CACHED_ALL_BLOCKS == message->count;
        seen.closed += 0 == message->name;
        break;
    case OSC_CACHED_MESSAGE_RECALL:
        ++seen.recalls;
        break;
    case OSC_CACHED_MESSAGE_LAST:
        ++seen.lasts;
        break;
    default:
        break;
    }
}

static osc_cached_post_t post_of(process_t *me)
{
    return (osc_cached_post_t){send, me};
}

static void check(const get_t *get)
{
    for (uint32_t i = 0; i < get->count; i++) {
        if (get->value[i] < get->least[i]) {
            print_error(
                "%u ranks, %u blocks, stores %d, waits %d, nodes %d, deaths %d, fails %u: a "
                "get of %u blocks of %u from %u on returned %u, %u was complete before\n",
                world.ranks, world.blocks, world.stores, world.waits, world.nodes, world.deaths,
                world.fails, get->count, get->target, (unsigned) get->first, get->value[i],
                get->least[i]);
        }
        assert_true(get->value[i] >= get->least[i]); /* the property */
        assert_true(get->value[i] <= world.process[get->target].memory[get->first + i]);
    }
}

static void deliver_to_copies(process_t *me, const flying_t *flying)
{
    osc_cached_post_t post = post_of(me);
    const osc_cached_message_t *message = &flying->message;
    uint64_t stamp;
    bool kept = osc_cached_copies_receive(&me->copies, message, &stamp, &post);

    if (OSC_CACHED_MESSAGE_DATA == message->kind) {
        seen.kept += kept;
        if (kept && world.waits) {
            me->piece[message->owner][message->first][0] =
                (piece_t){.there = true, .stamp = stamp, .value = {flying->value}};
        }
    }
    if (OSC_CACHED_MESSAGE_DATA != message->kind && OSC_CACHED_MESSAGE_DIRECT != message->kind) {
        return;
    }
    for (uint32_t i = 0; i < GETS; i++) {
        get_t *get = &me->get[i];

        if (WAIT == get->kind && message->name == get->name && message->owner == get->target) {
            if (OSC_CACHED_MESSAGE_DIRECT == message->kind) {
                get->kind = DIRECT;
            } else {
                get->value[0] = flying->value;
                check(get);
                get->kind = UNUSED;
            }
        }
    }
}

static void deliver_to_owner(process_t *me, const flying_t *flying)
{
    osc_cached_post_t post = post_of(me);
    uint64_t block = flying->message.first;
    unsigned flags = 0;

    if (OSC_CACHED_MESSAGE_FILL == flying->message.kind) {
        flags = world.waits && 0 < below(3) ? OSC_CACHED_FILL_FORWARD : 0;
        if (osc_cached_directory_must_protect(&me->directory, block) && 0 < below(4)) {
            me->protected[block] = true;
            flags |= OSC_CACHED_FILL_PROTECTED;
        }
    }
    seen.backs += OSC_CACHED_MESSAGE_BACK == flying->message.kind;
    osc_cached_directory_receive(&me->directory, &flying->message, flags, &post);
}

static void deliver(void)
{
    uint32_t number = below(world.num_flying);
    flying_t flying = world.flying[number];
    process_t *me = &world.process[flying.to];

    if (flying.reading) {
        world.flying[number].reading = false;
        world.flying[number].value = world.process[flying.from].memory[flying.message.first];
        return;
    }
    world.flying[number] = world.flying[--world.num_flying];
    if (me->dead) {
        return;
    }
    if (OSC_CACHED_MESSAGE_IS_FOR_OWNER(flying.message.kind)) {
        deliver_to_owner(me, &flying);
    } else {
        deliver_to_copies(me, &flying);
    }
}

/* Gets */

static void begin_get(process_t *me, uint32_t rank)
{
    osc_cached_post_t post = post_of(me);
    get_t *get = &me->get[below(GETS)];
    uint32_t target = below(world.ranks);
    process_t *owner = &world.process[target];
    const piece_t *piece;

    if (UNUSED != get->kind || target == rank || me->noticed[target]
        || (world.deaths && world.process[target].dead)) {
        return;
    }
    *get = (get_t){.target = target, .count = 1, .first = below(world.blocks)};
    if (!world.waits && 0 == below(3)) {
        get->count = 1 + below(world.blocks - (uint32_t) get->first);
        get->count = get->count > SPAN ? SPAN : get->count;
    }
    for (uint32_t i = 0; i < get->count; i++) {
        get->least[i] = owner->told[get->first + i];
    }
    piece = &me->piece[target][get->first][get->count - 1];
    if (piece->there
        && piece->stamp == osc_cached_copies_stamp(&me->copies, target, get->first, get->count)) {
        ++seen.hits;
        memcpy(get->value, piece->value, sizeof(get->value));
        check(get);
        return;
    }
    get->name = 0;
    switch (osc_cached_copies_miss(&me->copies, target, get->first, get->count,
                                   OSC_CACHED_ALL_PARTS, &get->stamp, &get->name, &post)) {
    case OSC_CACHED_COPY_KEEP:
        /* of files all is fetched by messages; then nobody looks for it here */
        get->kind = world.waits ? DIRECT : KEEP;
        break;
    case OSC_CACHED_COPY_WAIT:
        get->kind = WAIT;
        break;
    default:
        get->kind = DIRECT;
        break;
    }
}

static void advance_get(process_t *me)
{
    get_t *get = &me->get[below(GETS)];
    osc_cached_post_t post = post_of(me);

    if (UNUSED == get->kind) {
        return;
    }
    if (WAIT == get->kind) { /* a process that was to answer may have died */
        if (world.deaths && ++get->age > 200) {
            osc_cached_message_t direct = {.kind = OSC_CACHED_MESSAGE_DIRECT,
                                           .peer = get->target,
                                           .owner = get->target,
                                           .first = get->first,
                                           .count = 1,
                                           .name = get->name};

            (void) osc_cached_copies_receive(&me->copies, &direct, NULL, &post);
            get->kind = DIRECT;
            ++seen.given_up;
        }
        return;
    }
    if (!get->read) {
        get->read = true;
        for (uint32_t i = 0; i < get->count; i++) {
            get->value[i] = world.process[get->target].memory[get->first + i];
        }
        return;
    }
    check(get);
    if (KEEP == get->kind) {
        piece_t *piece = &me->piece[get->target][get->first][get->count - 1];

        piece->there = true;
        piece->stamp = get->stamp;
        memcpy(piece->value, get->value, sizeof(piece->value));
        ++seen.kept;
    }
    get->kind = UNUSED;
}

static void evict(process_t *me, uint32_t rank)
{
    osc_cached_post_t post = post_of(me);
    uint32_t target = below(world.ranks);
    uint64_t block = below(world.blocks);

    if (target == rank || me->noticed[target]) {
        return;
    }
    if (0 < below(3)) {
        if (osc_cached_copies_evict(&me->copies, target, block, &post)) {
            me->piece[target][block][0].there = !world.waits && me->piece[target][block][0].there;
            ++seen.evictions;
        }
    } else {
        me->piece[target][block][0].there = false; /* silently */
    }
}

/* Puts */

static void begin_put(process_t *me, uint32_t rank)
{
    osc_cached_post_t post = post_of(me);
    put_t *put = &me->put[below(PUTS)];
    uint32_t target = below(world.ranks);

    if (NO_PUT != put->state || target == rank || me->noticed[target]) {
        return;
    }
    *put = (put_t){.state = ISSUING, .target = target, .first = below(world.blocks), .count = 1};
    if (0 == below(4)) {
        put->count = 1 + below(world.blocks - (uint32_t) put->first);
    }
    if (0 == below(50)) {
        put->first = 0;
        put->count = world.blocks;
        put->name = osc_cached_copies_write(&me->copies, target, 0, OSC_CACHED_ALL_BLOCKS, &post);
    } else {
        uint64_t holds = me->copies.counts.holds;

        put->name = osc_cached_copies_write(&me->copies, target, put->first, put->count, &post);
        seen.lazy += holds == me->copies.counts.holds;
    }
}

static void land(put_t *put)
{
    if (NO_PUT != put->state && !put->landed) {
        put->landed = true;
        for (uint64_t i = 0; i < put->count; i++) {
            put->value[i] = ++world.process[put->target].memory[put->first + i];
        }
    }
}

static void issue(process_t *me, put_t *put)
{
    if (ISSUING == put->state) {
        put->state = ISSUED;
        osc_cached_copies_written(&me->copies, put->target, put->name);
        put->number = osc_cached_copies_mark(&me->copies);
    }
}

static void later(uint32_t *value, uint32_t other)
{
    *value = *value < other ? other : *value;
}

/* Is this put one that the flush completes? */
static bool is_flushed(const process_t *me, const put_t *put)
{
    return ISSUED == put->state && put->target == me->flush_target && put->number <= me->flush_mark;
}

static void flush(process_t *me)
{
    osc_cached_post_t post = post_of(me);

    if (!me->flushing) {
        me->flushing = true;
        me->flush_target = below(world.ranks);
        me->flush_mark = osc_cached_copies_mark(&me->copies);
        return;
    }
    for (uint32_t i = 0; i < PUTS; i++) {
        if (is_flushed(me, &me->put[i]) && !me->put[i].landed && !me->noticed[me->flush_target]) {
            return;
        }
    }
    if (!osc_cached_copies_is_held(&me->copies, me->flush_target)) { /* R6 */
        return;
    }
    osc_cached_copies_complete(&me->copies, me->flush_target, me->flush_mark, &post);
    for (uint32_t i = 0; i < PUTS; i++) {
        put_t *put = &me->put[i];

        if (is_flushed(me, put)) {
            for (uint64_t k = 0; k < put->count && !world.process[put->target].dead; k++) {
                later(&world.process[put->target].told[put->first + k], put->value[k]);
            }
            put->state = NO_PUT;
        }
    }
    me->flushing = false;
}

/* The owner itself */

static void write_own(process_t *me, uint64_t first, uint64_t count)
{
    for (uint64_t i = first; i < first + count; i++) {
        later(&me->told[i], ++me->memory[i]);
    }
}

static void hold_own(process_t *me, int state, uint64_t first, uint64_t count, bool all)
{
    osc_cached_post_t post = post_of(me);

    me->self = (self_t){.state = REST, .first = first, .count = count};
    me->self.name = osc_cached_directory_hold(&me->directory, all ? 0 : first,
                                              all ? OSC_CACHED_ALL_BLOCKS : count, &post);
    me->self.state = state;
    seen.waits_for_ack += !me->self.held;
}

static void store(process_t *me)
{
    uint64_t block = below(world.blocks);

    if (STORES_SYNC == world.stores) { /* also a put to itself, before its flush */
        me->stored[block] = ++me->memory[block];
    } else if (STORES_DETECT == world.stores) {
        if (me->protected[block]) {
            ++seen.traps;
            hold_own(me, TRAPPED, block, 1, false);
        } else {
            write_own(me, block, 1);
        }
    }
}

static void begin_own(process_t *me)
{
    uint64_t first = below(world.blocks);
    osc_cached_post_t post = post_of(me);

    if (world.closes && 0 == below(100)) {
        osc_cached_directory_close(&me->directory, &post);
    }
    switch (below(4)) {
    case 0: /* O1 */
        if (STORES_SYNC == world.stores) {
            me->self.skipped = !osc_cached_directory_is_shared(&me->directory);
            if (me->self.skipped) {
                me->self.state = SYNCING;
                me->self.held = true;
            } else {
                hold_own(me, SYNCING, 0, world.blocks, true);
            }
        }
        break;
    case 1: /* R11 */
        ++seen.executed;
        hold_own(me, EXECUTING, first, 1 + below(world.blocks - (uint32_t) first), false);
        break;
    default:
        store(me);
        break;
    }
}

static void end_own(process_t *me)
{
    self_t *self = &me->self;

    if (!self->held) {
        return;
    }
    if (SYNCING == self->state) {
        for (uint64_t i = 0; i < world.blocks; i++) {
            later(&me->told[i], me->stored[i]);
        }
    } else {
        for (uint64_t i = self->first; i < self->first + self->count; i++) {
            me->protected[i] = false;
        }
        write_own(me, self->first, self->count);
    }
    if (!self->skipped) {
        osc_cached_directory_free(&me->directory, self->name);
    }
    *self = (self_t){.state = REST};
}

static void own(process_t *me)
{
    if (REST != me->self.state) {
        end_own(me);
    } else if (!world.ending && 0 == below(world.calm)) {
        begin_own(me);
    }
}

/* Deaths */

static void kill_one(uint32_t rank)
{
    process_t *me = &world.process[rank];

    me->dead = true;
    ++seen.deaths;
    for (uint32_t i = 0; i < PUTS; i++) {
        if (0 == below(2)) {
            land(&me->put[i]);
        }
        me->put[i].state = NO_PUT;
    }
    for (uint32_t i = 0; i < GETS; i++) {
        me->get[i].kind = UNUSED;
    }
    me->flushing = false;
}

static void notice(process_t *me, uint32_t rank)
{
    osc_cached_post_t post = post_of(me);

    me->noticed[rank] = true;
    osc_cached_directory_dead(&me->directory, rank, &post);
    osc_cached_copies_dead(&me->copies, rank);
    for (uint32_t i = 0; i < GETS; i++) {
        if (rank == me->get[i].target) {
            me->get[i].kind = UNUSED;
        }
    }
    for (uint32_t i = 0; i < PUTS; i++) {
        if (rank == me->put[i].target) {
            issue(me, &me->put[i]);
            land(&me->put[i]);
        }
    }
}

static void die(uint32_t rank)
{
    process_t *me = &world.process[rank];
    uint32_t other = below(world.ranks);

    if (world.process[other].dead && !me->noticed[other]) {
        notice(me, other);
    } else if (!world.ending && 0 == below(100) && world.ranks > 2 && 2 != other
               && !world.process[other].dead) {
        kill_one(other); /* number 2 lives */
    }
}

static void step(void)
{
    uint32_t rank = below(world.ranks), action = below(100);
    process_t *me = &world.process[rank];
    put_t *put = &me->put[below(PUTS)];

    if (0 < world.num_flying && (action < 45 || world.num_flying > MESSAGES / 2)) {
        if (world.ending || 0 == below(world.slow)) {
            deliver();
        }
    } else if (me->dead) {
        return;
    } else if (action < 60) {
        if (!world.ending) {
            begin_get(me, rank);
        }
    } else if (action < 75) {
        advance_get(me);
    } else if (action < 77) {
        if (!world.ending) {
            evict(me, rank);
        }
    } else if (action < 79) {
        if (!world.ending && 0 == below(world.calm)) {
            begin_put(me, rank);
        }
    } else if (action < 84) {
        issue(me, put);
    } else if (action < 89) {
        land(put);
    } else if (action < 94) {
        flush(me);
    } else if (action < 98) {
        own(me);
    } else if (world.deaths) {
        die(rank);
    }
}

static bool is_quiet(void)
{
    if (0 < world.num_flying) {
        return false;
    }
    for (uint32_t i = 0; i < world.ranks; i++) {
        const process_t *me = &world.process[i];

        if (me->dead) {
            continue;
        }
        if (REST != me->self.state) {
            return false;
        }
        for (uint32_t k = 0; k < GETS; k++) {
            if (UNUSED != me->get[k].kind) {
                return false;
            }
        }
        for (uint32_t k = 0; k < PUTS; k++) {
            if (NO_PUT != me->put[k].state) {
                return false;
            }
        }
        for (uint32_t k = 0; k < world.ranks; k++) {
            if (world.process[k].dead && !me->noticed[k]) {
                return false;
            }
        }
    }
    return true;
}

static void verify(void)
{
    for (uint32_t i = 0; i < world.ranks; i++) {
        assert_int_equal(osc_cached_directory_verify(&world.process[i].directory), 0);
        assert_int_equal(osc_cached_copies_verify(&world.process[i].copies), 0);
    }
}

static bool create(void)
{
    bool created = true;

    memset(world.process, 0, sizeof(world.process));
    memset(world.generation, 0, sizeof(world.generation));
    world.num_flying = 0;
    world.ending = false;
    world.ranks = 2 + below(RANKS - 1);
    world.blocks = 1 + below(BLOCKS);
    world.stores = below(3);
    world.waits = 0 == below(2) && STORES_DETECT != world.stores;
    world.fails = 0 == below(4) ? 2 + below(20) : 0;
    world.slow = 1 + below(3) * below(30);
    world.calm = 1 + below(3) * below(40);
    world.nodes = 0 == below(4);
    world.closes = 0 == below(8);
    world.deaths = !world.nodes && 0 == below(3);
    for (uint32_t i = 0; i < world.ranks; i++) {
        process_t *me = &world.process[i];
        osc_cached_directory_config_t directory = {.ranks = world.ranks,
                                                   .rank = i,
                                                   .max_lines = 1 + below(2 * BLOCKS),
                                                   .recall = below(5),
                                                   .cooperate = world.waits,
                                                   .protect = STORES_DETECT == world.stores,
                                                   .node = world.nodes ? world.node : NULL,
                                                   .alloc = &alloc};
        osc_cached_copies_config_t copies = {.ranks = world.ranks,
                                             .rank = i,
                                             .max_blocks = 16,
                                             .block_shift = 12,
                                             .waits = world.waits,
                                             .alloc = &alloc};

        world.node[i] = i & ~1U;
        if (world.nodes) {
            copies.generation = world.generation[world.node[i]];
            copies.name_step = 2;
            copies.name_first = i & 1;
        }
        created &= OSC_CACHED_OK == osc_cached_directory_init(&me->directory, &directory);
        created &= OSC_CACHED_OK == osc_cached_copies_init(&me->copies, &copies);
    }
    return created;
}

static void destroy(void)
{
    for (uint32_t i = 0; i < world.ranks; i++) {
        const process_t *me = &world.process[i];

        seen.poisoned += me->copies.counts.poisoned;
        seen.directs += me->copies.counts.directs;
        if (NULL != me->directory.member) {
            osc_cached_directory_fini(&world.process[i].directory);
        }
        if (0 < me->copies.blocks) {
            osc_cached_copies_fini(&world.process[i].copies);
        }
    }
}

static void test_random(void **state)
{
    uint64_t steps = operations_of(1, 1);
    const bool many = steps > 5000000;
    (void) state;

    world.random = seed_get(16);
    while (0 < steps) {
        uint32_t length = 200 + below(20000), left = 200000;
        if (create()) {
            for (; 0 < length && 0 < steps; length--, steps--) {
                step();
                if (0 == length % 512) {
                    verify();
                }
            }
            world.ending = true;
            while (!is_quiet() && 0 < left) {
                --left;
                step();
            }
            assert_true(is_quiet()); /* nobody waits for ever */
            verify();
        } else if (0 < steps) {
            --steps;
        }
        destroy();
    }
#define SHOW(what)                                                            \
    print_message("    %-14s %llu\n", #what, (unsigned long long) seen.what); \
    assert_true(0 < seen.what || !many)
    SHOW(hits);
    SHOW(kept);
    SHOW(poisoned);
    SHOW(directs);
    SHOW(forwards);
    SHOW(backs);
    SHOW(evictions);
    SHOW(lasts);
    SHOW(lazy);
    SHOW(recalls);
    SHOW(whole);
    SHOW(closed);
    SHOW(waits_for_ack);
    SHOW(traps);
    SHOW(executed);
    SHOW(deaths);
    SHOW(given_up);
}

/* A number that is often one that means something. */
static uint64_t any(void)
{
    static const uint64_t some[] = {0, 1, 2, 3, 64, 65, UINT32_MAX, UINT64_MAX - 1, UINT64_MAX};

    return 0 < below(4) ? some[below(sizeof(some) / sizeof(some[0]))]
                        : (uint64_t) below(UINT32_MAX) << below(32);
}

static void drop_message(void *context, const osc_cached_message_t *message)
{
    (void) context;
    assert_true(message->peer < world.ranks && message->owner < world.ranks);
}

/* A world, sooner or later: allocations may fail. */
static void create_some(void)
{
    while (!create()) {
        destroy();
    }
}

/* Any message at all: nothing is sent to ranks that do not exist, and the invariants hold. */
static void test_damaged(void **state)
{
    const osc_cached_post_t post = {drop_message, NULL};
    uint32_t steps = operations_of(1, 10);
    (void) state;

    world.random = seed_get(17);
    create_some();
    for (uint32_t i = 0; i < steps; i++) {
        process_t *me = &world.process[below(world.ranks)];
        osc_cached_message_t message = {.kind = (uint8_t) below(16),
                                        .first = any(),
                                        .count = any(),
                                        .peer = (uint32_t) any(),
                                        .owner = (uint32_t) any(),
                                        .reader = (uint32_t) any(),
                                        .name = (uint32_t) any(),
                                        .alone = 0 == below(2),
                                        .whole = 0 == below(2)};
        uint32_t target = below(world.ranks), name;
        uint64_t stamp;

        switch (below(8)) {
        case 0:
            (void) osc_cached_copies_miss(&me->copies, target, any(), 1, OSC_CACHED_ALL_PARTS,
                                          &stamp, &name, &post);
            break;
        case 1:
            osc_cached_copies_written(
                &me->copies, target,
                osc_cached_copies_write(&me->copies, target, below(9), 1, &post));
            break;
        case 2:
            osc_cached_copies_complete(&me->copies, target, osc_cached_copies_mark(&me->copies),
                                       &post);
            break;
        default:
            osc_cached_directory_receive(&me->directory, &message, below(4), &post);
            (void) osc_cached_copies_receive(&me->copies, &message, NULL, &post);
            break;
        }
        if (0 == i % 256) {
            verify();
        }
        if (0 == i % 20000) {
            destroy();
            create_some();
        }
    }
    destroy();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_damaged),
    };

    print_message("seed %llu (OSC_CACHED_SEED)\n", (unsigned long long) seed_get(16));
    return cmocka_run_group_tests_name("osc_cached_coherence", tests, NULL, NULL);
}
