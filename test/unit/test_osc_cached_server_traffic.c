/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* osc_cached_server and osc_cached_account on a network that delays and reorders: order, atomicity,
 * locks, series, bounded memory, storage with errors, failing allocations. */
#include "osc_cached_test_server.h"

#include "osc_cached_account.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- A network ---------------------------------------------------------------------------------
 */

typedef struct message {
    struct message *next;
    bool is_reply;
    uint64_t origin;
    osc_cached_reply_t reply;
    unsigned char header[OSC_CACHED_REQUEST_BYTES];
    size_t bytes;
    void *cookie; /* to be told that it is sent */
    char data[];
} message_t;

typedef struct network {
    uint64_t random;
    message_t *flying;
    size_t count;
    size_t reorder; /* any of so many of the oldest is delivered; 1: in order */
    osc_cached_server_t *server;
} network_t;

static void launch(network_t *network, message_t *message)
{
    message_t **end = &network->flying;

    while (NULL != *end) {
        end = &(*end)->next;
    }
    message->next = NULL;
    *end = message;
    ++network->count;
}

static message_t *land(network_t *network)
{
    size_t window = network->count < network->reorder ? network->count : network->reorder;
    message_t **at = &network->flying, *message;

    if (0 == network->count) {
        return NULL;
    }
    for (size_t i = random_below(&network->random, (uint32_t) window); i > 0; i--) {
        at = &(*at)->next;
    }
    message = *at;
    *at = message->next;
    --network->count;
    return message;
}

static message_t *new_message(const void *data, size_t bytes)
{
    message_t *message = calloc(1, sizeof(*message) + bytes);

    assert_non_null(message);
    message->bytes = bytes;
    if (0 < bytes) {
        memcpy(message->data, data, bytes);
    }
    return message;
}

static osc_cached_sending_t net_send(void *context, uint64_t origin,
                                     const osc_cached_reply_t *reply, const void *data,
                                     void *cookie)
{
    network_t *network = context;
    bool later = NULL != cookie && 0 == random_below(&network->random, 2);
    message_t *message = new_message(data, reply->length);
    unsigned char header[OSC_CACHED_REPLY_BYTES];

    osc_cached_reply_encode(reply, header);
    message->is_reply = true;
    message->origin = origin;
    assert_true(osc_cached_reply_decode(header, sizeof(header), reply->length, &message->reply));
    message->cookie = later ? cookie : NULL;
    launch(network, message);
    return later ? OSC_CACHED_SENDING : OSC_CACHED_SENT;
}

/* --- Origins -----------------------------------------------------------------------------------
 */

typedef enum { IDLE, PARTS, ANSWER, LOCKING } doing_t;

#define SLICE 512  /* bytes of window that belong to one origin */
#define SHARED 256 /* bytes at the start that belong to all */

typedef struct origin {
    uint64_t name;
    osc_cached_account_t account;
    uint64_t random;
    doing_t doing;
    osc_cached_request_t operation; /* the present one; offset: what was sent */
    uint64_t total;                 /* its packed bytes */
    char data[2 * SLICE];
    char result[2 * SLICE];
    uint64_t answered;    /* bytes of result that have come */
    char expected[SLICE]; /* what the origin's own slice has */
    int64_t sums[SHARED / 16];
    uint64_t token;
    int locked; /* steps of the critical section left */
    int64_t seen;
    uint64_t operations;
    bool refused;
    osc_cached_layout_t *layout; /* of its slice */
} origin_t;

typedef struct world {
    network_t network;
    origin_t *origins;
    uint32_t count;
    char *memory;
    uint64_t size;
    uint32_t inside; /* origins in the critical section */
    bool clean;      /* nothing may be refused */
    storage_t storage;
} world_t;

static void post(world_t *world, origin_t *origin, osc_cached_request_t request, const void *data,
                 size_t bytes)
{
    message_t *message = new_message(data, bytes);

    request.origin = origin->name;
    request.session = origin->account.session;
    osc_cached_request_encode(&request, message->header);
    launch(&world->network, message);
}

/* Send one message for the present operation, if the account allows it. */
static void push(world_t *world, origin_t *origin)
{
    osc_cached_request_t part = origin->operation;
    bool begins = 0 == part.offset && !origin->refused;
    uint32_t bytes = 0, number;
    uint64_t left = origin->total - part.offset;
    char description[256];

    switch (osc_cached_account_step(&origin->account, part.token, begins, &bytes)) {
    case OSC_CACHED_ACCOUNT_ASK:
        post(world, origin, (osc_cached_request_t){.kind = OSC_CACHED_WIRE_ASK}, NULL, 0);
        osc_cached_account_asked(&origin->account);
        return;
    case OSC_CACHED_ACCOUNT_RELEASE:
        post(
            world, origin,
            (osc_cached_request_t){.kind = OSC_CACHED_WIRE_RELEASE, .number = origin->account.sent},
            NULL, 0);
        osc_cached_account_released(&origin->account);
        return;
    case OSC_CACHED_ACCOUNT_WAIT:
        return;
    default:
        break;
    }
    if (0 != part.layout) { /* here: wanted; the number is the account's */
        part.layout = osc_cached_account_layout(&origin->account, origin->name);
        if (0 == part.layout) {
            bool whole = osc_cached_account_teach(&origin->account, origin->name,
                                                  origin->layout->blocks, &number);
            size_t length =
                whole ? osc_cached_layout_write(origin->layout, description, sizeof(description))
                      : 0;

            post(world, origin,
                 (osc_cached_request_t){
                     .kind = OSC_CACHED_WIRE_TYPE,
                     .layout = number,
                     .length = (uint32_t) length,
                     .number = osc_cached_account_sent(&origin->account, part.token, 0, false)},
                 description, length);
            return;
        }
    }
    switch (part.kind) {
    case OSC_CACHED_WIRE_PUT:
    case OSC_CACHED_WIRE_ACC:
        part.length = (uint32_t) (left < bytes ? left : bytes);
        part.last = part.length == left;
        part.announce =
            (begins && !part.last) ? (uint32_t) ((left - part.length + bytes - 1) / bytes) : 0;
        break;
    case OSC_CACHED_WIRE_CAS:
        break;
    default:
        part.length = (uint32_t) left;
        part.last = true;
        break;
    }
    part.number = osc_cached_account_sent(&origin->account, part.token, part.announce, part.last);
    post(world, origin, part, origin->data + (OSC_CACHED_WIRE_CAS == part.kind ? 0 : part.offset),
         OSC_CACHED_WIRE_GET == part.kind || OSC_CACHED_WIRE_LOCK == part.kind
                 || OSC_CACHED_WIRE_UNLOCK == part.kind
             ? 0
             : (OSC_CACHED_WIRE_CAS == part.kind ? 2 * part.length : part.length));
    origin->operation.offset += part.length;
    if (origin->operation.offset < origin->total) {
        return;
    }
    switch (part.kind) {
    case OSC_CACHED_WIRE_GET:
    case OSC_CACHED_WIRE_FETCH:
    case OSC_CACHED_WIRE_CAS:
        origin->doing = ANSWER;
        break;
    case OSC_CACHED_WIRE_LOCK:
        origin->doing = LOCKING;
        break;
    default:
        origin->doing = IDLE;
        break;
    }
}

static void begin(origin_t *origin, osc_cached_wire_kind_t kind, uint64_t at, uint64_t total)
{
    origin->doing = PARTS;
    origin->operation = (osc_cached_request_t){.kind = (uint8_t) kind,
                                               .window = window_id,
                                               .token = ++origin->token,
                                               .at = at,
                                               .count = total};
    origin->total = total;
    origin->answered = 0;
    ++origin->operations;
}

/* The slice of an origin, all of it, every second 8 bytes, as a layout. */
static uint64_t slice_at(const world_t *world, const origin_t *origin)
{
    return SHARED + (uint64_t) (origin - world->origins) * SLICE;
}

static void use_layout(origin_t *origin)
{
    origin->operation.layout = 1;
    origin->operation.count = 2; /* elements: each a half of the slice */
    origin->total = SLICE / 2;
}

/* The byte of the slice where packed byte i of two elements of the layout is. */
static size_t strided(size_t i)
{
    size_t element = i / (SLICE / 4), within = i % (SLICE / 4);

    return element * (SLICE / 2) + within / 8 * 16 + within % 8;
}

/* Choose what to do next. */
static void choose(world_t *world, origin_t *origin)
{
    uint32_t what = random_below(&origin->random, 7);
    uint64_t at;
    int64_t value;

    if (0 < origin->locked) { /* read, add one, write: right only if nobody else is inside */
        if (4 == origin->locked) {
            begin(origin, OSC_CACHED_WIRE_GET, SHARED - 8, 8);
        } else if (3 == origin->locked) {
            memcpy(&origin->seen, origin->result, 8);
            ++origin->seen;
            memcpy(origin->data, &origin->seen, 8);
            begin(origin, OSC_CACHED_WIRE_PUT, SHARED - 8, 8);
        } else if (2 == origin->locked) {
            begin(origin, OSC_CACHED_WIRE_UNLOCK, 0, 0);
            --world->inside;
        }
        if (1 == --origin->locked) {
            origin->locked = 0;
        }
        return;
    }
    switch (what) {
    case 0: /* a put to the own slice */
    case 1:
        begin(origin, OSC_CACHED_WIRE_PUT, slice_at(world, origin), SLICE);
        if (1 == what) {
            use_layout(origin);
        }
        for (size_t i = 0; i < origin->total; i++) {
            origin->data[i] = (char) random_below(&origin->random, 256);
            origin->expected[1 == what ? strided(i) : i] = origin->data[i];
        }
        break;
    case 2: /* and what is there */
    case 3:
        begin(origin, OSC_CACHED_WIRE_GET, slice_at(world, origin), SLICE);
        if (3 == what) {
            use_layout(origin);
        }
        break;
    case 4: /* a sum */
        at = 8 * random_below(&origin->random, SHARED / 16);
        value = (int64_t) random_below(&origin->random, 1000) - 500;
        memcpy(origin->data, &value, 8);
        origin->sums[at / 8] += value;
        begin(origin, OSC_CACHED_WIRE_ACC, at, 8);
        origin->operation.operation = OSC_CACHED_SUM;
        origin->operation.element = OSC_CACHED_INT64;
        break;
    case 5: /* a number that nobody else gets */
        value = 1;
        memcpy(origin->data, &value, 8);
        begin(origin, OSC_CACHED_WIRE_FETCH, SHARED - 16, 8);
        origin->operation.operation = OSC_CACHED_SUM;
        origin->operation.element = OSC_CACHED_INT64;
        break;
    default:
        begin(origin, OSC_CACHED_WIRE_LOCK, 0, 0);
        origin->operation.count = 1;
        break;
    }
}

static void answer(world_t *world, origin_t *origin, const osc_cached_reply_t *reply,
                   const char *data)
{
    bool strides = 0 != origin->operation.layout;

    osc_cached_account_reply(&origin->account, reply);
    assert_int_equal(osc_cached_account_verify(&origin->account), 0);
    if (OSC_CACHED_WIRE_FAILED == reply->kind) {
        assert_false(world->clean);
        origin->refused = true;
        return;
    }
    if (OSC_CACHED_WIRE_LATER == reply->kind && 0 != reply->token) {
        origin->operation.offset = 0; /* the lock: again */
        origin->doing = PARTS;
        return;
    }
    if (OSC_CACHED_WIRE_LOCKED == reply->kind) {
        assert_int_equal(origin->doing, LOCKING);
        assert_int_equal(reply->token, origin->operation.token);
        assert_int_equal(++world->inside, 1);
        origin->locked = 4;
        origin->doing = IDLE;
        return;
    }
    if (OSC_CACHED_WIRE_DATA != reply->kind) {
        return;
    }
    assert_int_equal(origin->doing, ANSWER);
    assert_int_equal(reply->token, origin->operation.token);
    assert_true(reply->offset + reply->length <= origin->total);
    memcpy(origin->result + reply->offset, data, reply->length);
    origin->answered += reply->length;
    if (origin->answered < origin->total) {
        return;
    }
    origin->doing = IDLE;
    if (OSC_CACHED_WIRE_GET == origin->operation.kind && 0 == origin->locked) {
        for (size_t i = 0; i < origin->total; i++) {
            assert_int_equal(origin->result[i], origin->expected[strides ? strided(i) : i]);
        }
    } else if (OSC_CACHED_WIRE_FETCH == origin->operation.kind) {
        origin->sums[SHARED / 16 - 1]++; /* how many numbers were drawn */
    }
}

static void deliver(world_t *world)
{
    message_t *message = land(&world->network);

    if (NULL == message) {
        return;
    }
    if (message->is_reply) {
        uint64_t index = message->origin - 1;

        assert_true(index < world->count);
        answer(world, &world->origins[index], &message->reply, message->data);
        if (NULL != message->cookie) {
            osc_cached_server_sent(world->network.server, message->cookie);
        }
    } else {
        osc_cached_server_receive(world->network.server, message->header, sizeof(message->header),
                                  message->data, message->bytes);
    }
    free(message);
}

static osc_cached_server_config_t config_of(world_t *world)
{
    osc_cached_server_config_t config = config_default();

    config.send = net_send;
    config.context = &world->network;
    return config;
}

static void world_create(world_t *world, uint32_t origins, uint64_t seed,
                         const osc_cached_server_config_t *config)
{
    world->count = origins;
    world->origins = calloc(origins, sizeof(origin_t));
    world->size = SHARED + (uint64_t) origins * SLICE;
    world->memory = calloc(1, world->size);
    assert_non_null(world->origins);
    assert_non_null(world->memory);
    world->clean = true;
    world->network.random = seed;
    world->network.reorder = 1 + random_below(&world->network.random, 12);
    assert_int_equal(osc_cached_server_create(config, &world->network.server), OSC_CACHED_OK);
    assert_int_equal(
        osc_cached_server_open(world->network.server, window_id, world->memory, world->size),
        OSC_CACHED_OK);
    for (uint32_t i = 0; i < origins; i++) {
        origin_t *origin = &world->origins[i];

        origin->name = i + 1;
        origin->random = seed + 77 * (i + 1);
        osc_cached_account_init(&origin->account);
        origin->layout = osc_cached_layout_new(&osc_cached_alloc_default, 1, SLICE / 2);
        assert_non_null(origin->layout);
        for (int run = 0; run < SLICE / 32; run++) {
            assert_int_equal(osc_cached_layout_add(origin->layout, run * 16, 8), OSC_CACHED_OK);
        }
    }
}

/* All origins have done so many operations, and wait for nothing. */
static void run(world_t *world, uint64_t operations)
{
    uint64_t silent = 0;
    bool busy = true;

    while (busy) {
        busy = false;
        for (uint32_t i = 0; i < world->count; i++) {
            origin_t *origin = &world->origins[i];

            if (IDLE == origin->doing && (origin->operations < operations || 0 < origin->locked)) {
                choose(world, origin);
            }
            if (PARTS == origin->doing) {
                push(world, origin);
            }
            if (origin->account.revoked && osc_cached_account_is_quiet(&origin->account)
                && OSC_CACHED_ACCOUNT_OPEN == origin->account.state && PARTS != origin->doing) {
                post(world, origin,
                     (osc_cached_request_t){.kind = OSC_CACHED_WIRE_RELEASE,
                                            .number = origin->account.sent},
                     NULL, 0);
                osc_cached_account_released(&origin->account);
            }
            busy = busy || IDLE != origin->doing || 0 < origin->locked
                   || origin->operations < operations
                   || !osc_cached_account_is_quiet(&origin->account);
            if (0 == random_below(&world->network.random, 2)) {
                deliver(world);
            }
        }
        if (0 == random_below(&world->network.random, 3)) {
            storage_work(&world->storage, world->network.server);
        }
        if (0 == world->network.count && 0 == world->storage.count) {
            osc_cached_server_tell(world->network.server);
            assert_true(++silent < 1000000); /* nobody waits for ever */
        }
        assert_int_equal(osc_cached_server_verify(world->network.server), 0);
    }
    while (0 < world->network.count) {
        deliver(world);
    }
}

static void world_check(world_t *world)
{
    for (size_t i = 0; i + 1 < SHARED / 16; i++) {
        int64_t sum = 0, found;

        for (uint32_t k = 0; k < world->count; k++) {
            sum += world->origins[k].sums[i];
        }
        memcpy(&found, world->memory + 8 * i, 8);
        assert_int_equal(found, sum);
    }
    for (uint32_t k = 0; k < world->count; k++) {
        assert_memory_equal(world->memory + SHARED + k * SLICE, world->origins[k].expected, SLICE);
    }
}

static void world_destroy(world_t *world)
{
    while (0 < world->network.count + world->storage.count) {
        deliver(world);
        storage_work(&world->storage, world->network.server);
    }
    osc_cached_server_destroy(world->network.server);
    for (uint32_t i = 0; i < world->count; i++) {
        osc_cached_layout_free(&osc_cached_alloc_default, world->origins[i].layout);
    }
    free(world->origins);
    free(world->memory);
    assert_int_equal(live_bytes, 0);
}

/* --- Tests -------------------------------------------------------------------------------------
 */

static void test_random_traffic(void **state)
{
    uint64_t seed = seed_get(20261116), fetched, locked;
    (void) state;

    printf("seed %llu\n", (unsigned long long) seed);
    for (uint32_t round = 0; round < 60; round++) {
        world_t world = {.inside = 0};
        osc_cached_server_config_t config = config_of(&world);
        const osc_cached_server_counts_t *counts;

        config.buffers = 1 + round % 6;
        config.spares = round % 4;
        if (0 == round % 3) { /* room for two sessions only: others wait, and are told to end */
            config.memory = 9000;
        }
        world_create(&world, 1 + round % 8, seed + round, &config);
        if (1 == round % 2) {
            world.storage = (storage_t){.random = seed + round, .memory = world.memory};
            osc_cached_server_use_store(world.network.server, window_id, store, &world.storage);
        }
        run(&world, 300);
        world_check(&world);
        counts = osc_cached_server_counts(world.network.server);
        memcpy(&fetched, world.memory + SHARED - 16, 8);
        memcpy(&locked, world.memory + SHARED - 8, 8);
        assert_int_equal(fetched, counts->requests[OSC_CACHED_WIRE_FETCH]);
        assert_int_equal(locked, counts->requests[OSC_CACHED_WIRE_UNLOCK]);
        assert_true(counts->used_max <= config.memory);
        assert_int_equal(counts->refused, 0);
        assert_int_equal(counts->malformed, 0);
        if (0 == round % 3 && 4 < world.count) {
            assert_true(0 < counts->revoked);
        }
        if (0 < config.spares) {
            assert_true(0 < counts->grants);
        }
        assert_int_equal(0 < world.storage.at_once && 0 < world.storage.later, round % 2);
        world_destroy(&world);
    }
}

/* A device with errors: each operation on it that has one is refused, and nothing else is. */
static void test_storage_errors(void **state)
{
    (void) state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        world_t world = {.inside = 0};
        osc_cached_server_config_t config = config_of(&world);
        const osc_cached_server_counts_t *counts;
        uint64_t done = 0;

        world_create(&world, 4, seed, &config);
        world.clean = false;
        world.storage = (storage_t){.random = seed, .memory = world.memory, .errors = 5};
        osc_cached_server_use_store(world.network.server, window_id, store, &world.storage);
        for (uint64_t steps = 0; steps < 4000; steps++) {
            origin_t *origin = &world.origins[random_below(&world.network.random, 4)];

            if (origin->refused) { /* it has ended, by that */
                origin->doing = IDLE;
                origin->refused = false;
            }
            if (IDLE == origin->doing && osc_cached_account_is_quiet(&origin->account)) {
                ++done;
                begin(origin, OSC_CACHED_WIRE_FETCH, SHARED - 16, 8);
                origin->operation.operation = OSC_CACHED_SUM;
                origin->operation.element = OSC_CACHED_INT64;
                memcpy(origin->data, &(int64_t){1}, 8);
            }
            if (PARTS == origin->doing) {
                push(&world, origin);
            }
            deliver(&world);
            storage_work(&world.storage, world.network.server);
            osc_cached_server_tell(world.network.server);
            assert_int_equal(osc_cached_server_verify(world.network.server), 0);
        }
        while (0 < world.network.count + world.storage.count) {
            deliver(&world);
            storage_work(&world.storage, world.network.server);
        }
        counts = osc_cached_server_counts(world.network.server);
        memcpy(&done, world.memory + SHARED - 16, 8);
        assert_true(0 < world.storage.failed);
        assert_int_equal(counts->refused, world.storage.failed);
        assert_int_equal(counts->requests[OSC_CACHED_WIRE_FETCH] - counts->refused, done);
        world_destroy(&world);
    }
}

/* One origin after the other, a million of them: memory is what the bound says. */
static void test_million_origins(void **state)
{
    world_t world = {.inside = 0};
    osc_cached_server_config_t config = config_of(&world);
    char header[OSC_CACHED_REQUEST_BYTES];
    uint64_t origins = 1000000, granted = 0, later = 0, sum;
    int64_t one = 1;
    (void) state;

    config.memory = 200000;
    world.memory = calloc(1, SHARED);
    world.size = SHARED;
    world.network.random = 5;
    world.network.reorder = 1;
    assert_int_equal(osc_cached_server_create(&config, &world.network.server), OSC_CACHED_OK);
    assert_int_equal(
        osc_cached_server_open(world.network.server, window_id, world.memory, world.size),
        OSC_CACHED_OK);
    for (uint64_t i = 0; i < origins; i++) { /* all ask at once */
        osc_cached_request_t request = {.kind = OSC_CACHED_WIRE_ASK, .origin = i + 1};

        osc_cached_request_encode(&request, header);
        osc_cached_server_receive(world.network.server, header, sizeof(header), NULL, 0);
        assert_true(osc_cached_server_used(world.network.server) <= config.memory);
        /* what was really allocated: that, the tables of origins and windows, the server */
        assert_true(live_bytes <= config.memory + 16384);
        for (message_t *message; NULL != (message = land(&world.network)); free(message)) {
            osc_cached_request_t reply = {
                .origin = message->origin, .session = message->reply.session, .window = window_id};

            if (OSC_CACHED_WIRE_GRANT == message->reply.kind) {
                ++granted;
                reply.kind = OSC_CACHED_WIRE_ACC; /* adds one, and ends its session */
                reply.count = 8;
                reply.length = 8;
                reply.operation = OSC_CACHED_SUM;
                reply.element = OSC_CACHED_INT64;
                reply.last = true;
                osc_cached_request_encode(&reply, header);
                osc_cached_server_receive(world.network.server, header, sizeof(header), &one, 8);
            } else if (OSC_CACHED_WIRE_REVOKE == message->reply.kind) {
                reply.kind = OSC_CACHED_WIRE_RELEASE;
                reply.number = 1;
                osc_cached_request_encode(&reply, header);
                osc_cached_server_receive(world.network.server, header, sizeof(header), NULL, 0);
            } else if (OSC_CACHED_WIRE_LATER == message->reply.kind) {
                ++later;
            }
        }
    }
    assert_int_equal(osc_cached_server_verify(world.network.server), 0);
    memcpy(&sum, world.memory, 8);
    assert_int_equal(sum, granted);
    assert_true(granted + later + 200 >= origins);
    assert_true(granted > origins / 2);
    osc_cached_server_destroy(world.network.server);
    free(world.memory);
    assert_int_equal(live_bytes, 0);
}

/* No memory now and then: requests are refused, nothing is damaged or lost. */
static void test_failing_allocations(void **state)
{
    (void) state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        world_t world = {.inside = 0};
        osc_cached_server_config_t config = config_of(&world);
        uint64_t steps = 0;

        world_create(&world, 5, seed, &config);
        world.clean = false;
        fail_state = seed;
        for (uint32_t i = 0; i < 5; i++) {
            world.origins[i].locked = 0;
        }
        while (++steps < 3000) { /* operations of one message, whose refusal ends them */
            origin_t *origin = &world.origins[random_below(&world.network.random, 5)];

            if (IDLE == origin->doing) {
                begin(origin, OSC_CACHED_WIRE_PUT, slice_at(&world, origin), 16);
            }
            if (PARTS == origin->doing) {
                push(&world, origin);
            }
            deliver(&world);
            osc_cached_server_tell(world.network.server);
            assert_int_equal(osc_cached_server_verify(world.network.server), 0);
        }
        fail_state = 0;
        for (uint32_t i = 0; i < 5; i++) { /* and with memory again all of them go on */
            origin_t *origin = &world.origins[i];

            for (steps = 0;
                 (PARTS == origin->doing || !osc_cached_account_is_quiet(&origin->account))
                 && steps < 10000;
                 steps++) {
                if (PARTS == origin->doing) {
                    push(&world, origin);
                }
                for (uint32_t k = 0; k < 5; k++) {
                    if (world.origins[k].account.revoked
                        && osc_cached_account_is_quiet(&world.origins[k].account)
                        && OSC_CACHED_ACCOUNT_OPEN == world.origins[k].account.state && k != i) {
                        post(&world, &world.origins[k],
                             (osc_cached_request_t){.kind = OSC_CACHED_WIRE_RELEASE,
                                                    .number = world.origins[k].account.sent},
                             NULL, 0);
                        osc_cached_account_released(&world.origins[k].account);
                    }
                }
                deliver(&world);
                osc_cached_server_tell(world.network.server);
            }
            assert_true(osc_cached_account_is_quiet(&origin->account));
        }
        world_destroy(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_traffic),
        cmocka_unit_test(test_million_origins),
        cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_storage_errors),
    };

    return cmocka_run_group_tests_name("osc_cached_server_traffic", tests, NULL, NULL);
}
