/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * Takes random steps with the code of mca-osc-cached/coherence/core, and writes each of them, and
 * the state after it, for test/model/coherence.pml: its steps must be possible there and must lead
 * to the same state.
 *
 *   osc_cached_coherence_trace SEED STEPS NODES MATES STORES(0, 1, 2) >trace.inc
 *   spin -DTRACE -DNODES=... coherence.pml
 *
 * Process n of the model is rank n, the owner is the last one.
 */
#include "osc_cached_copies.h"
#include "osc_cached_directory.h"
#include "osc_cached_test_random.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define MOST 3 /* processes but for the owner */
#define BLOCKS 2
#define GETS 2
#define FILLS 2
#define NAMES 4096
#define FLYING 256

#define require(condition)                                                 \
    do {                                                                   \
        if (!(condition)) {                                                \
            fprintf(stderr, "trace: line %d: %s\n", __LINE__, #condition); \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

enum { STORES_NONE, STORES_SYNC, STORES_DETECT };

/* as in the model */
enum { AT_IDLE, AT_FILL, AT_READING, AT_FWD, AT_BACK, AT_DATA, AT_DIRECT };
enum { NO_WRITE, HOLD, ACKING, HELDACK, GRANTED, FREEING, KEPT };

typedef struct {
    int at;
    uint32_t name, block;
} request_t;

typedef struct {
    bool waits, direct;
    uint32_t name, block;
} get_t;

typedef struct {
    osc_cached_copies_t copies;
    request_t request[FILLS];
    get_t get[GETS];
    struct {
        bool there;
        uint64_t stamp;
        uint32_t value;
    } piece[BLOCKS];
    struct {
        int at;
        uint32_t block, hold;
        bool landed, whole;
    } write;
    uint32_t renamed[NAMES]; /* the model's names of its FILLs */
} process_t;

static uint64_t seed;
static uint32_t nodes, mates, stores;
static process_t process[MOST];
static osc_cached_directory_t directory;
static _Atomic uint64_t shared[OSC_CACHED_GENERATIONS + MOST + 1];
static uint32_t leader[MOST + 1], names[MOST + 1];
static uint32_t memory[BLOCKS];
static bool armed[BLOCKS], stored[BLOCKS];
static struct own {
    bool active, held;
    uint32_t name, block;
} syncing, trapped, executing;
static struct {
    osc_cached_message_t message; /* peer: the sender */
    uint32_t to;
    bool reading;
    uint32_t value;
} flying[FLYING];
static uint32_t num_flying;
static uint32_t held[MOST], num_held; /* HELDs that this step sends */
static osc_cached_message_t last;     /* message that this step sends to a reader or peer */

static uint32_t below(uint32_t limit)
{
    return random_below(&seed, limit);
}

static void send(void *context, const osc_cached_message_t *message)
{
    uint32_t from = (uint32_t) (uintptr_t) context;

    if (OSC_CACHED_MESSAGE_HELD == message->kind) {
        if (nodes == message->peer) {
            struct own *own[] = {&syncing, &trapped, &executing};

            for (int i = 0; i < 3; i++) {
                own[i]->held |= own[i]->active && message->name == own[i]->name;
            }
            return;
        }
        held[num_held++] = message->peer;
    }
    if (OSC_CACHED_MESSAGE_LAST == message->kind) {
        return; /* a hint that is lost */
    }
    last = *message;
    require(num_flying < FLYING);
    flying[num_flying].message = *message;
    flying[num_flying].message.peer = from;
    flying[num_flying].to = message->peer;
    flying[num_flying].reading = OSC_CACHED_MESSAGE_DATA == message->kind && from == nodes;
    if (OSC_CACHED_MESSAGE_DATA == message->kind && from != nodes) {
        require(process[from].piece[message->first].there);
        flying[num_flying].value = process[from].piece[message->first].value;
    }
    ++num_flying;
}

static osc_cached_post_t post_of(uint32_t rank)
{
    return (osc_cached_post_t){send, (void *) (uintptr_t) rank};
}

static request_t *request_of(uint32_t n, uint32_t name, uint32_t *k)
{
    for (*k = 0; *k < FILLS; ++*k) {
        if (AT_IDLE != process[n].request[*k].at && name == process[n].request[*k].name) {
            return &process[n].request[*k];
        }
    }
    require(false);
    return NULL;
}

/* The state, as the model must have it */

static const osc_cached_block_entry_t *entry_of(uint32_t n, uint32_t b)
{
    for (uint32_t i = 0; i < process[n].copies.blocks; i++) {
        const osc_cached_block_entry_t *entry = &process[n].copies.block[i];

        if (OSC_CACHED_BLOCK_ABSENT != entry->state && b == entry->block
            && nodes == entry->target) {
            return entry;
        }
    }
    return NULL;
}

static void show_copy(uint32_t n, uint32_t b)
{
    const osc_cached_block_entry_t *entry = entry_of(n, b);
    uint64_t now = osc_cached_copies_stamp(&process[n].copies, nodes, b, 1);
    int state = 0;

    if (NULL != entry && OSC_CACHED_BLOCK_PENDING == entry->state) {
        state = 1;
    } else if (NULL != entry && OSC_CACHED_BLOCK_VALID == entry->state
               && now == entry->generation) {
        state = 2;
    }
    printf("assert(COPY(%u, %u).state == %d && COPY(%u, %u).name == %u && COPY(%u, %u).poisoned == "
           "%d && COPY(%u, %u).value == %u);\n",
           n, b, state, n, b, 0 == state ? 0 : process[n].renamed[entry->name % NAMES], n, b,
           1 == state && now != entry->generation, n, b,
           2 == state ? process[n].piece[b].value : 0);
}

static uint32_t name_in_directory(const osc_cached_line_t *line, uint32_t n)
{
    const osc_cached_slot_t *slot = line->longer ? line->u.array.slots : line->u.slot;

    for (uint32_t i = 0; i < line->slots; i++) {
        if (n == slot[i].rank && 0 != slot[i].name) {
            /* of a node: whoever has this name */
            return process[mates && 0 == n ? slot[i].name % 2 : n].renamed[slot[i].name % NAMES];
        }
    }
    return 0;
}

static void show_line(uint32_t b)
{
    const osc_cached_line_t *line = NULL;

    for (uint32_t i = 0; i < directory.lines; i++) {
        if (directory.line[i].there && b == directory.line[i].block) {
            line = &directory.line[i];
        }
    }
    printf("assert(memory[%u] == %u && dir[%u].holds == %u", b, memory[b], b,
           directory.whole + (NULL == line ? 0 : line->holds));
    for (uint32_t n = 0; n < nodes; n++) {
        int inv = 0;

        for (uint32_t i = 0; i < num_flying; i++) {
            const osc_cached_message_t *message = &flying[i].message;

            if (b == message->first && OSC_CACHED_MESSAGE_INV == message->kind
                && n == flying[i].to) {
                inv = 1;
            }
            if (b == message->first && OSC_CACHED_MESSAGE_ACK == message->kind
                && n == message->peer) {
                inv = 2;
            }
        }
        printf(" && dir[%u].sharer[%u] == %u && dir[%u].inv[%u] == %d", b, n,
               NULL == line ? 0 : name_in_directory(line, n), b, n, inv);
    }
    printf(");\n");
}

static void show(void)
{
    for (uint32_t b = 0; b < BLOCKS; b++) {
        show_line(b);
        for (uint32_t n = 0; n < nodes; n++) {
            show_copy(n, b);
        }
    }
    for (uint32_t n = 0; n < nodes; n++) {
        const process_t *me = &process[n];

        printf("assert(WR(%u).at == %d", n, me->write.at);
        for (uint32_t k = 0; k < FILLS; k++) {
            printf(" && REQ(%u, %u).at == %d", n, k, me->request[k].at);
        }
        for (uint32_t g = 0; g < GETS; g++) {
            printf(" && GET(%u, %u).waits == %d && GET(%u, %u).direct == %d", n, g,
                   me->get[g].waits, n, g, me->get[g].direct);
        }
        printf(");\n");
    }
    if (syncing.active) {
        printf("assert(ALL_ACKED == %d);\n", syncing.held);
    }
    if (trapped.active) {
        printf("assert(ACKED(%u) == %d);\n", trapped.block, trapped.held);
    }
    if (executing.active) {
        printf("assert(ACKED(%u) == %d);\n", executing.block, executing.held);
    }
}

/* A step was taken; HELDs that it sent are steps of their own in the model. */
static void taken(void)
{
    for (uint32_t i = 0; i < num_held; i++) {
        printf("STEP(HELD_IS_SENT(%u))\n", held[i]);
        process[held[i]].write.at = HELDACK;
    }
    num_held = 0;
    assert(0 == osc_cached_directory_verify(&directory));
    show();
}

/* Steps of a process */

static void get(uint32_t n, uint32_t b)
{
    process_t *me = &process[n], *mate = mates && n < 2 ? &process[1 - n] : me;
    uint32_t k = AT_IDLE == me->request[0].at ? 0 : 1, g, name = 0;
    uint64_t stamp = osc_cached_copies_stamp(&me->copies, nodes, b, 1), unused;
    bool dirty = NO_WRITE != me->write.at && me->write.at < FREEING
                 && (b == me->write.block || (GRANTED == me->write.at && me->write.whole));
    osc_cached_post_t post = post_of(n);

    for (g = 0; g < GETS && (me->get[g].waits || me->get[g].direct); g++) {
    }
    if (GETS == g || AT_IDLE != me->request[k].at || names[leader[n]] > 250) {
        return;
    }
    if (!dirty && me->piece[b].there && stamp == me->piece[b].stamp) {
        if (me->piece[b].value == memory[b]) {
            return; /* changes nothing, and is left out there */
        }
        printf("STEP(GET_BEGINS(%u, %u, %u, %u))\n", n, b, g, k);
        taken();
        return;
    }
    printf("STEP(GET_BEGINS(%u, %u, %u, %u))\n", n, b, g, k);
    if (!dirty && mate->piece[b].there && stamp == mate->piece[b].stamp) {
        taken();
        return;
    }
    num_held = 0;
    last.kind = 0;
    switch (osc_cached_copies_miss(&me->copies, nodes, b, 1, OSC_CACHED_ALL_PARTS, &unused, &name,
                                   &post)) {
    case OSC_CACHED_COPY_WAIT:
        me->get[g] = (get_t){.waits = true, .name = name, .block = b};
        if (OSC_CACHED_MESSAGE_FILL == last.kind) {
            me->request[k] = (request_t){.at = AT_FILL, .name = name, .block = b};
            require(name < NAMES);
            me->renamed[name] = ++names[leader[n]];
        }
        break;
    case OSC_CACHED_COPY_DIRECT:
        me->get[g] = (get_t){.direct = true, .block = b};
        break;
    default:
        require(false);
    }
    taken();
}

static void read_directly(uint32_t n, uint32_t g)
{
    if (process[n].get[g].direct) {
        process[n].get[g].direct = false;
        printf("STEP(GET_READS(%u, %u))\n", n, g);
        taken();
    }
}

static void evict(uint32_t n, uint32_t b)
{
    osc_cached_post_t post = post_of(n);

    for (uint32_t i = 0; i < num_flying; i++) {
        if (OSC_CACHED_MESSAGE_EVICT == flying[i].message.kind && n == flying[i].message.peer
            && b == flying[i].message.first) {
            return;
        }
    }
    if (osc_cached_copies_evict(&process[n].copies, nodes, b, &post)) {
        process[n].piece[b].there = false;
        printf("STEP(EVICTS_LOUDLY(%u, %u))\n", n, b);
        taken();
    }
}

/* RECALLs that nobody has sent: it lets go of what it keeps, and may hold all blocks later. */
static void let_go(osc_cached_copies_t *copies, const osc_cached_post_t *post)
{
    osc_cached_written_t *written = &copies->written[nodes];

    for (uint32_t i = 0; i <= OSC_CACHED_HOLDS; i++) {
        const osc_cached_own_hold_t *hold = (i == OSC_CACHED_HOLDS)   ? &written->whole
                                            : (NULL == written->hold) ? NULL
                                                                      : &written->hold[i];

        if (NULL != hold && 0 != hold->name) {
            (void) osc_cached_copies_receive(
                copies,
                &(osc_cached_message_t){.kind = OSC_CACHED_MESSAGE_RECALL,
                                        .peer = nodes,
                                        .owner = nodes,
                                        .first = hold->first,
                                        .count = hold->count,
                                        .name = hold->name},
                NULL, post);
        }
    }
    written->narrow = 0;
    written->recalls = 0;
}

static void put(uint32_t n, uint32_t b)
{
    process_t *me = &process[n];
    osc_cached_post_t post = post_of(n);

    switch (me->write.at) {
    case KEPT:
        if ((b != me->write.block && !me->write.whole) || 0 == below(3)) {
            let_go(&me->copies, &post);
            me->write.at = FREEING;
            printf("STEP(PUT_COMPLETES(%u))\n", n);
            taken();
            return;
        }
        /* fall through */
    case NO_WRITE:
        if (memory[b] > 200) {
            return;
        }
        me->write.hold = osc_cached_copies_write(&me->copies, nodes, b, 1, &post);
        me->write.block = b;
        me->write.landed = false;
        me->write.whole &= KEPT == me->write.at;
        me->write.at = KEPT == me->write.at ? GRANTED : HOLD;
        printf("STEP(PUT_BEGINS(%u, %u))\n", n, b);
        taken();
        return;
    default:
        break;
    }
    if (me->write.at < FREEING && !me->write.landed) {
        osc_cached_copies_written(&me->copies, nodes, me->write.hold);
        me->write.landed = true;
        ++memory[me->write.block];
        printf("STEP(PUT_LANDS(%u))\n", n);
        taken();
    } else if (me->write.landed && osc_cached_copies_is_held(&me->copies, nodes)
               && me->write.at < FREEING) {
        require(GRANTED == me->write.at); /* R6 */
        osc_cached_copies_complete(&me->copies, nodes, osc_cached_copies_mark(&me->copies), &post);
        me->write.at = KEPT;
        printf("STEP(PUT_COMPLETES(%u))\n", n);
        taken();
    }
}

/* Steps of the owner */

static void hold_own(struct own *own, uint64_t first, uint64_t count)
{
    osc_cached_post_t post = post_of(nodes);

    *own = (struct own){.active = true, .block = (uint32_t) first};
    own->name = directory.names + 1; /* HELD may come at once */
    require(own->name == osc_cached_directory_hold(&directory, first, count, &post));
}

static void end_own(struct own *own)
{
    osc_cached_directory_free(&directory, own->name);
    *own = (struct own){.active = false};
}

static void own(uint32_t b)
{
    bool at_rest = !syncing.active && !trapped.active;

    switch (below(4)) {
    case 0:
        if (at_rest && STORES_NONE != stores && memory[b] < 200) {
            if (STORES_DETECT == stores && armed[b]) {
                hold_own(&trapped, b, 1);
            } else {
                ++memory[b];
                stored[b] = STORES_SYNC == stores;
            }
            printf("STEP(OWNER_STORES(%u))\n", b);
            taken();
        }
        break;
    case 1:
        if (!executing.active && memory[b] < 200) {
            hold_own(&executing, b, 1);
            printf("STEP(OPERATION_ARRIVES(%u))\n", b);
            taken();
        } else if (executing.held && !(trapped.active && trapped.block == executing.block)) {
            armed[executing.block] = false;
            ++memory[executing.block];
            printf("STEP(OPERATION_IS_EXECUTED(%u))\n", executing.block);
            end_own(&executing);
            taken();
        }
        break;
    case 2:
        if (at_rest && (stored[0] || stored[1])) {
            hold_own(&syncing, 0, BLOCKS);
            printf("STEP(OWNER_SYNCS)\n");
            taken();
        } else if (syncing.held) {
            stored[0] = stored[1] = false;
            printf("STEP(OWNER_SYNCED)\n");
            end_own(&syncing);
            taken();
        }
        break;
    default:
        if (trapped.held) {
            armed[trapped.block] = false;
            ++memory[trapped.block];
            printf("STEP(STORE_GOES_ON(%u))\n", trapped.block);
            end_own(&trapped);
            taken();
        }
        break;
    }
}

/* Messages */

static void fill(const osc_cached_message_t *message)
{
    uint32_t n = message->peer, b = (uint32_t) message->first, k;
    request_t *request = request_of(n, message->name, &k);
    osc_cached_post_t post = post_of(nodes);
    unsigned flags = 0 == below(2) ? OSC_CACHED_FILL_FORWARD : 0;
    bool protects = osc_cached_directory_must_protect(&directory, b), refuses = false;

    if (protects) {
        refuses = 0 == below(4);
        flags |= refuses ? 0 : OSC_CACHED_FILL_PROTECTED;
        armed[b] |= !refuses;
    }
    osc_cached_directory_receive(&directory, message, flags, &post);
    switch (last.kind) {
    case OSC_CACHED_MESSAGE_FWD:
        request->at = AT_FWD;
        printf("STEP(FILL_FORWARDED(%u, %u, %u))\n", n, k, last.peer);
        break;
    case OSC_CACHED_MESSAGE_DATA:
        request->at = AT_READING;
        printf("STEP(FILL_SERVED(%u, %u))\n", n, k);
        break;
    case OSC_CACHED_MESSAGE_DIRECT:
        request->at = AT_DIRECT;
        printf("STEP(FILL_%s(%u, %u))\n", refuses ? "REFUSED" : "SERVED", n, k);
        break;
    default:
        require(false);
    }
}

static void answered(uint32_t n, const osc_cached_message_t *message, uint32_t value)
{
    process_t *me = &process[n];
    bool is_data = OSC_CACHED_MESSAGE_DATA == message->kind;
    osc_cached_post_t post = post_of(n);
    uint32_t b = (uint32_t) message->first, k;
    uint64_t stamp;

    if (osc_cached_copies_receive(&me->copies, message, &stamp, &post)) {
        me->piece[b].there = true;
        me->piece[b].stamp = stamp;
        me->piece[b].value = value;
    }
    for (uint32_t g = 0; g < GETS; g++) {
        if (me->get[g].waits && message->name == me->get[g].name) {
            me->get[g] = (get_t){.direct = !is_data, .block = b};
        }
    }
    request_of(n, message->name, &k)->at = AT_IDLE;
    printf("STEP(%s_ARRIVES(%u, %u))\n", is_data ? "DATA" : "DIRECT", n, k);
}

static void deliver(uint32_t number)
{
    osc_cached_message_t message = flying[number].message;
    uint32_t to = flying[number].to, value = flying[number].value, b = (uint32_t) message.first, k;
    osc_cached_post_t post = post_of(to);
    request_t *request;

    if (flying[number].reading) {
        flying[number].reading = false;
        flying[number].value = memory[b];
        request = request_of(to, message.name, &k);
        request->at = AT_DATA;
        printf("STEP(READ_DONE(%u, %u))\n", to, k);
        taken();
        return;
    }
    flying[number] = flying[--num_flying];
    switch (message.kind) {
    case OSC_CACHED_MESSAGE_FILL:
        fill(&message);
        break;
    case OSC_CACHED_MESSAGE_DATA:
    case OSC_CACHED_MESSAGE_DIRECT:
        answered(to, &message, value);
        break;
    case OSC_CACHED_MESSAGE_FWD:
        request = request_of(message.reader, message.name, &k);
        (void) osc_cached_copies_receive(&process[to].copies, &message, NULL, &post);
        request->at = OSC_CACHED_MESSAGE_BACK == last.kind ? AT_BACK : AT_DATA;
        printf("STEP(FWD_ARRIVES(%u, %u))\n", message.reader, k);
        break;
    case OSC_CACHED_MESSAGE_BACK:
        request = request_of(message.reader, message.name, &k);
        osc_cached_directory_receive(&directory, &message, 0, &post);
        request->at = AT_READING;
        printf("STEP(BACK_ARRIVES(%u, %u))\n", message.reader, k);
        break;
    case OSC_CACHED_MESSAGE_INV:
        (void) osc_cached_copies_receive(&process[to].copies, &message, NULL, &post);
        printf("STEP(INV_ARRIVES(%u, %u))\n", to, b);
        break;
    case OSC_CACHED_MESSAGE_ACK:
        osc_cached_directory_receive(&directory, &message, 0, &post);
        printf("STEP(ACK_ARRIVES(%u, %u))\n", message.peer, b);
        break;
    case OSC_CACHED_MESSAGE_HOLD:
        process[message.peer].write.at = ACKING;
        osc_cached_directory_receive(&directory, &message, 0, &post);
        printf("STEP(HOLD_OF_%s_ARRIVES(%u))\n",
               OSC_CACHED_MESSAGE_HELD == last.kind && OSC_CACHED_ALL_BLOCKS == last.count
                   ? "ALL"
                   : "BLOCK",
               message.peer);
        break;
    case OSC_CACHED_MESSAGE_HELD:
        (void) osc_cached_copies_receive(&process[to].copies, &message, NULL, &post);
        process[to].write.at = GRANTED;
        process[to].write.whole = OSC_CACHED_ALL_BLOCKS == message.count;
        printf("STEP(HELD_ARRIVES(%u))\n", to);
        break;
    case OSC_CACHED_MESSAGE_FREE:
        process[message.peer].write.at = NO_WRITE;
        osc_cached_directory_receive(&directory, &message, 0, &post);
        printf("STEP(FREE_ARRIVES(%u))\n", message.peer);
        break;
    case OSC_CACHED_MESSAGE_EVICT:
        osc_cached_directory_receive(&directory, &message, 0, &post);
        printf("STEP(EVICT_ARRIVES(%u, %u))\n", message.peer, b);
        break;
    default:
        require(false);
    }
    taken();
}

static void begin(void)
{
    const osc_cached_directory_config_t owner = {.ranks = nodes + 1,
                                                 .rank = nodes,
                                                 .max_lines = 100,
                                                 .protect = STORES_DETECT == stores,
                                                 .node = mates ? leader : NULL,
                                                 .alloc = &osc_cached_alloc_default};

    require(OSC_CACHED_OK == osc_cached_directory_init(&directory, &owner));
    for (uint32_t n = 0; n <= nodes; n++) {
        osc_cached_copies_config_t reader = {.ranks = nodes + 1,
                                             .rank = n,
                                             .max_blocks = 16,
                                             .waits = true,
                                             .alloc = &osc_cached_alloc_default};

        leader[n] = mates && 1 == n ? 0 : n;
        if (nodes == n) {
            break;
        }
        if (mates && n < 2) {
            reader.generation = shared;
            reader.name_step = 2;
            reader.name_first = n;
        }
        require(OSC_CACHED_OK == osc_cached_copies_init(&process[n].copies, &reader));
        process[n].copies.written[nodes].narrow =
            true; /* holds of all blocks are not written here */
    }
}

int main(int argc, char **argv)
{
    uint32_t steps, calm, slow;

    require(6 == argc);
    seed = strtoull(argv[1], NULL, 0) * 2 + 1;
    steps = (uint32_t) strtoul(argv[2], NULL, 0);
    calm = 1 + seed / 2 % 3 * 6;
    slow = 1 + seed / 2 % 4 * 3;
    nodes = (uint32_t) strtoul(argv[3], NULL, 0);
    mates = (uint32_t) strtoul(argv[4], NULL, 0);
    stores = (uint32_t) strtoul(argv[5], NULL, 0);
    require(2 <= nodes && nodes <= MOST && stores <= STORES_DETECT);
    begin();
    printf("#define STEP(step) if step :: else -> assert(false) fi;\ninit {\n");
    for (uint32_t i = 0; i < steps; i++) {
        uint32_t n = below(nodes), b = below(BLOCKS), action = below(20);

        if (action < 10 && 0 < num_flying) {
            if (0 == below(slow)) {
                deliver(below(num_flying));
            }
        } else if (action < 13) {
            get(n, b);
        } else if (action < 15) {
            read_directly(n, below(GETS));
        } else if (action < 16) {
            evict(n, b);
        } else if (action < 18) {
            if (NO_WRITE != process[n].write.at || 0 == below(calm)) {
                put(n, b);
            }
        } else if (syncing.active || trapped.active || executing.active || 0 == below(calm)) {
            own(b);
        }
    }
    printf("printf(\"all steps taken\\n\")\n}\n");
    return 0;
}
