/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* osc_cached_server and osc_cached_account on a network that delays and reorders: order, atomicity,
 * locks, series, bounded memory, storage, failing allocations, damaged messages. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_account.h"
#include "osc_cached_execute.h"
#include "osc_cached_operation.h"
#include "osc_cached_lock.h"
#include "osc_cached_server.h"
#include "osc_cached_test_random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TARGET UINT64_C(0x7000)
#define MAX_DATA 4096

/* --- Memory that is counted and fails ----------------------------------------------------------
 */

static size_t live_bytes;
static uint64_t fail_state; /* 0: never; else one allocation of 8 fails */

static void *count_alloc(void *context, size_t alignment, size_t bytes)
{
    (void) context;
    if (0 != fail_state && 0 == random_below(&fail_state, 8)) {
        return NULL;
    }
    live_bytes += bytes;
    return osc_cached_alloc_default.alloc(NULL, alignment, bytes);
}

static void count_free(void *context, void *memory, size_t bytes)
{
    (void) context;
    if (NULL != memory) {
        live_bytes -= bytes;
    }
    osc_cached_alloc_default.free(NULL, memory, bytes);
}

static const osc_cached_alloc_t counting = {count_alloc, count_free, NULL};

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

/* --- Storage: what was asked for is done at once, or later, or has an error --------------------
 */

#define MAX_JOBS 64

typedef struct job {
    osc_cached_request_t request;
    const osc_cached_layout_t *layout;
    const void *data;
    void *result;
    void *cookie;
} job_t;

typedef struct storage {
    uint64_t random;
    char *memory;
    uint32_t errors; /* one of so many operations fails; 0: none */
    uint32_t count;
    job_t job[MAX_JOBS];
    uint64_t at_once, later, failed;
} storage_t;

static bool storage_fails(storage_t *storage)
{
    bool fails = 0 < storage->errors && 0 == random_below(&storage->random, storage->errors);

    storage->failed += fails;
    return fails;
}

static osc_cached_stored_t store(void *context, const osc_cached_request_t *request,
                                 const osc_cached_layout_t *layout, const void *data, void *result,
                                 void *cookie)
{
    storage_t *storage = context;

    if (OSC_CACHED_WIRE_GET == request->kind && 0 == random_below(&storage->random, 2)) {
        if (storage_fails(storage)) {
            return OSC_CACHED_STORE_FAILED;
        }
        ++storage->at_once;
        osc_cached_execute(request, layout, storage->memory, data, result);
        return OSC_CACHED_STORE_DONE;
    }
    if (NULL != cookie) {
        assert_true(storage->count < MAX_JOBS);
        ++storage->later;
        for (uint32_t i = 0; i < storage->count; i++) { /* one of a session at a time */
            assert_ptr_not_equal(storage->job[i].cookie, cookie);
        }
        storage->job[storage->count++] = (job_t){*request, layout, data, result, cookie};
    }
    return OSC_CACHED_STORE_LATER;
}

/* One of the operations ends. */
static void storage_work(storage_t *storage, osc_cached_server_t *server)
{
    uint32_t which;
    job_t job;
    bool good;

    if (0 == storage->count) {
        return;
    }
    which = random_below(&storage->random, storage->count);
    job = storage->job[which];
    storage->job[which] = storage->job[--storage->count];
    good = !storage_fails(storage);
    if (good) {
        osc_cached_execute(&job.request, job.layout, storage->memory, job.data, job.result);
    }
    osc_cached_server_stored(server, job.cookie, good);
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

static const osc_cached_window_id_t window_id = {.creator = 1, .number = 9};

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

static osc_cached_server_config_t config_default(world_t *world)
{
    osc_cached_server_config_t config = {
        .alloc = &counting,
        .name = TARGET,
        .memory = 100000,
        .buffers = 4,
        .chunk = 64,
        .min_chunk = 16,
        .replies = 2,
        .room = 8,
        .spares = 3,
        .spare_bytes = 128,
        .send = net_send,
        .context = &world->network,
    };
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
            if (osc_cached_account_is_ending(&origin->account)
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
        osc_cached_server_config_t config = config_default(&world);
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
        osc_cached_server_config_t config = config_default(&world);
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
    osc_cached_server_config_t config = config_default(&world);
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
        osc_cached_server_config_t config = config_default(&world);
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
                    if (osc_cached_account_is_ending(&world.origins[k].account)
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

static osc_cached_sending_t swallow(void *context, uint64_t origin, const osc_cached_reply_t *reply,
                                    const void *data, void *cookie)
{
    osc_cached_reply_t *last = context;

    (void) origin;
    (void) data;
    (void) cookie;
    *last = *reply;
    return OSC_CACHED_SENT;
}

/* What a request may not do. */
static void test_refusals(void **state)
{
    osc_cached_reply_t last = {.kind = 0};
    world_t world = {.inside = 0};
    osc_cached_server_config_t config = config_default(&world);
    osc_cached_server_t *server;
    char memory[64] = {0}, header[OSC_CACHED_REQUEST_BYTES], data[64] = {0};
    uint32_t session;
    uint64_t number = 0;
    static const struct {
        osc_cached_request_t request;
        size_t bytes;
        osc_cached_refused_t why;
    } tries[] = {
        {{.kind = OSC_CACHED_WIRE_PUT, .at = 60, .count = 8, .length = 8},
         8,
         OSC_CACHED_REFUSED_RANGE},
        {{.kind = OSC_CACHED_WIRE_PUT, .at = UINT64_MAX, .count = 8, .length = 8},
         8,
         OSC_CACHED_REFUSED_RANGE},
        {{.kind = OSC_CACHED_WIRE_GET, .at = 0, .count = UINT64_MAX, .length = 8},
         0,
         OSC_CACHED_REFUSED_RANGE},
        {{.kind = OSC_CACHED_WIRE_PUT, .at = 0, .count = 8, .offset = 4, .length = 8},
         8,
         OSC_CACHED_REFUSED_LENGTH},
        {{.kind = OSC_CACHED_WIRE_PUT, .at = 0, .count = 8, .offset = UINT64_MAX, .length = 8},
         8,
         OSC_CACHED_REFUSED_LENGTH},
        {{.kind = OSC_CACHED_WIRE_PUT, .count = 1, .length = 8, .layout = 3},
         8,
         OSC_CACHED_REFUSED_LAYOUT},
        {{.kind = OSC_CACHED_WIRE_PUT, .count = 1, .length = 8, .layout = UINT32_MAX},
         8,
         OSC_CACHED_REFUSED_LAYOUT},
        {{.kind = OSC_CACHED_WIRE_TYPE, .layout = 65, .length = 4}, 4, OSC_CACHED_REFUSED_LAYOUT},
        {{.kind = OSC_CACHED_WIRE_TYPE, .layout = 1, .length = 4}, 4, OSC_CACHED_REFUSED_LAYOUT},
        {{.kind = OSC_CACHED_WIRE_ACC, .count = 16, .length = 12, .element = OSC_CACHED_INT64},
         12,
         OSC_CACHED_REFUSED_LENGTH},
        {{.kind = OSC_CACHED_WIRE_ACC,
          .count = 16,
          .length = 8,
          .offset = 4,
          .element = OSC_CACHED_INT64},
         8,
         OSC_CACHED_REFUSED_LENGTH},
        {{.kind = OSC_CACHED_WIRE_UNLOCK}, 0, OSC_CACHED_REFUSED_LOCK},
        {{.kind = OSC_CACHED_WIRE_LOCK, .window = {.creator = 5}}, 0, OSC_CACHED_REFUSED_WINDOW},
        {{.kind = OSC_CACHED_WIRE_GET, .count = 8, .length = 8, .window = {.creator = 5}},
         0,
         OSC_CACHED_REFUSED_WINDOW},
        {{.kind = OSC_CACHED_WIRE_GET, .count = 8, .length = 8, .session = 77},
         0,
         OSC_CACHED_REFUSED_OTHER},
        {{.kind = OSC_CACHED_WIRE_GET, .count = 8, .length = 8, .number = 1000},
         0,
         OSC_CACHED_REFUSED_OTHER},
    };
    (void) state;

    config.send = swallow;
    config.context = &last;
    assert_int_equal(osc_cached_server_create(&config, &server), OSC_CACHED_OK);
    assert_int_equal(osc_cached_server_open(server, window_id, memory, sizeof(memory)),
                     OSC_CACHED_OK);
    assert_int_equal(osc_cached_server_open(server, window_id, memory, sizeof(memory)),
                     OSC_CACHED_BAD_ARGUMENT);
    osc_cached_request_encode(&(osc_cached_request_t){.kind = OSC_CACHED_WIRE_ASK, .origin = 3},
                              header);
    osc_cached_server_receive(server, header, sizeof(header), NULL, 0);
    assert_int_equal(last.kind, OSC_CACHED_WIRE_GRANT);
    session = last.session;
    for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
        osc_cached_request_t request = tries[i].request;

        request.origin = 3;
        request.token = i + 100;
        request.session += session;
        request.number += number;
        if (0 == request.window.creator) {
            request.window = window_id;
        }
        osc_cached_request_encode(&request, header);
        osc_cached_server_receive(server, header, sizeof(header), data, tries[i].bytes);
        assert_int_equal(last.kind, OSC_CACHED_WIRE_FAILED);
        assert_int_equal(last.status, tries[i].why);
        assert_int_equal(last.token, i + 100);
        assert_int_equal(osc_cached_server_verify(server), 0);
        number += OSC_CACHED_REFUSED_OTHER != tries[i].why;
    }
    for (size_t i = 0; i < sizeof(memory); i++) {
        assert_int_equal(memory[i], 0);
    }
    osc_cached_server_destroy(server);
    assert_int_equal(live_bytes, 0);
}

/* The helper of a node: each rank has its own memory and its own lock. */
static void test_parts(void **state)
{
    enum { RANKS = 3 };
    osc_cached_reply_t last = {.kind = 0};
    world_t world = {.inside = 0};
    osc_cached_server_config_t config = config_default(&world);
    osc_cached_server_t *server;
    unsigned char header[OSC_CACHED_REQUEST_BYTES];
    uint64_t memory[RANKS] = {0}, one = 1, number = 0;
    uint32_t session;
    (void) state;

    config.send = swallow;
    config.context = &last;
    assert_int_equal(osc_cached_server_create(&config, &server), OSC_CACHED_OK);
    for (uint32_t i = 0; i < RANKS; i++) {
        osc_cached_window_id_t id = window_id;

        id.part = i + 1;
        assert_int_equal(osc_cached_server_open(server, id, &memory[i], (0 == i) ? 0 : 8),
                         OSC_CACHED_OK);
    }
    osc_cached_request_encode(&(osc_cached_request_t){.kind = OSC_CACHED_WIRE_ASK, .origin = 3},
                              header);
    osc_cached_server_receive(server, header, sizeof(header), NULL, 0);
    session = last.session;
    /* an exclusive lock and a sum for each; the first has no memory; there is neither part 0 nor 4
     */
    for (uint32_t part = 0; part <= RANKS + 1; part++) {
        osc_cached_request_t request = {.kind = OSC_CACHED_WIRE_LOCK,
                                        .origin = 3,
                                        .session = session,
                                        .number = number++,
                                        .count = 1,
                                        .window = window_id};

        request.window.part = part;
        osc_cached_request_encode(&request, header);
        osc_cached_server_receive(server, header, sizeof(header), NULL, 0);
        assert_int_equal(last.kind, (0 == part || RANKS < part) ? OSC_CACHED_WIRE_FAILED
                                                                : OSC_CACHED_WIRE_LOCKED);
        request.kind = OSC_CACHED_WIRE_ACC;
        request.operation = OSC_CACHED_SUM;
        request.element = OSC_CACHED_UINT64;
        request.number = number++;
        request.length = (uint32_t) (request.count = 8);
        request.last = true;
        osc_cached_request_encode(&request, header);
        last.kind = 0;
        osc_cached_server_receive(server, header, sizeof(header), &one, 8);
        osc_cached_server_tell(server);
        assert_int_equal(last.kind, (part <= 1 || RANKS < part) ? OSC_CACHED_WIRE_FAILED
                                                                : OSC_CACHED_WIRE_ACK);
        assert_int_equal(osc_cached_server_verify(server), 0);
    }
    assert_int_equal(memory[0], 0);
    assert_int_equal(memory[1], 1);
    assert_int_equal(memory[2], 1);
    osc_cached_server_destroy(server);
    assert_int_equal(live_bytes, 0);
}

typedef struct {
    osc_cached_request_t last;
    char first; /* byte of its data */
    int heard;
} listener_t;

static void hear(void *context, const osc_cached_request_t *note, const void *data)
{
    listener_t *listener = context;

    listener->last = *note;
    listener->first = 0 < note->length ? *(const char *) data : 0;
    ++listener->heard;
}

/* Notes go to who listens to their window, else to who hears strays; none is answered. */
static void test_notes(void **state)
{
    listener_t listener = {.heard = 0}, strays = {.heard = 0};
    world_t world = {.inside = 0};
    osc_cached_server_config_t config = config_default(&world);
    osc_cached_request_t note = {.kind = OSC_CACHED_WIRE_NOTE,
                                 .operation = 3,
                                 .origin = 9,
                                 .window = window_id,
                                 .at = 7,
                                 .count = 2,
                                 .token = 11};
    osc_cached_server_t *server;
    unsigned char header[OSC_CACHED_REQUEST_BYTES];
    (void) state;

    config.send = NULL; /* nobody may send */
    config.stray = hear;
    config.context = &strays;
    assert_int_equal(osc_cached_server_create(&config, &server), OSC_CACHED_OK);
    osc_cached_request_encode(&note, header);
    osc_cached_server_receive(server, header, sizeof(header), NULL, 0);
    assert_int_equal(strays.heard, 1);
    assert_int_equal(osc_cached_server_open(server, window_id, NULL, 0), OSC_CACHED_OK);
    osc_cached_server_receive(server, header, sizeof(header), NULL, 0);
    assert_int_equal(strays.heard, 2);
    osc_cached_server_listen(server, window_id, hear, &listener);
    osc_cached_server_receive(server, header, sizeof(header), NULL, 0);
    assert_int_equal(listener.heard, 1);
    assert_int_equal(listener.last.operation, 3);
    assert_int_equal(listener.last.origin, 9);
    assert_int_equal(listener.last.at, 7);
    assert_int_equal(listener.last.count, 2);
    assert_int_equal(listener.last.token, 11);
    note.length = 3;
    osc_cached_request_encode(&note, header);
    osc_cached_server_receive(server, header, sizeof(header), "abc", 3);
    assert_int_equal(listener.heard, 2);
    assert_int_equal(listener.first, 'a');
    osc_cached_server_receive(server, header, sizeof(header), "abc", 2); /* none */
    assert_int_equal(osc_cached_server_counts(server)->malformed, 1);
    osc_cached_server_close(server, window_id);
    note.length = 0;
    osc_cached_request_encode(&note, header);
    osc_cached_server_receive(server, header, sizeof(header), NULL, 0);
    assert_int_equal(strays.heard, 3);
    assert_int_equal(listener.heard, 2);
    assert_int_equal(osc_cached_server_counts(server)->requests[OSC_CACHED_WIRE_NOTE], 5);
    assert_int_equal(osc_cached_server_verify(server), 0);
    osc_cached_server_destroy(server);
    assert_int_equal(live_bytes, 0);
}

static osc_cached_sending_t swallow_each(void *context, uint64_t origin,
                                         const osc_cached_reply_t *reply, const void *data,
                                         void *cookie)
{
    osc_cached_reply_t of_no_session;

    return swallow(origin < 5 && 0 != reply->session ? (osc_cached_reply_t *) context + origin
                                                     : &of_no_session,
                   origin, reply, data, cookie);
}

/* A late acknowledgement of an earlier session says nothing of the present one. */
static void test_stale_reply(void **state)
{
    osc_cached_account_t account;
    osc_cached_reply_t grant = {
        .kind = OSC_CACHED_WIRE_GRANT, .session = 1, .buffers = 4, .chunk = 64, .room = 8};
    osc_cached_reply_t ack = {.kind = OSC_CACHED_WIRE_ACK, .session = 1, .done = 1};
    (void) state;

    osc_cached_account_init(&account);
    for (; grant.session <= 2; grant.session++) {
        osc_cached_account_asked(&account);
        osc_cached_account_reply(&account, &grant);
        (void) osc_cached_account_sent(&account, grant.session, 0, true);
        osc_cached_account_reply(&account, &ack); /* of the first session, again */
        assert_true((1 == grant.session) == osc_cached_account_is_quiet(&account));
        if (1 == grant.session) {
            osc_cached_account_released(&account);
        }
    }
}

/* Who waits for an exclusive lock is not passed by others, who could have a shared one. */
static void test_lock_is_fair(void **state)
{
    osc_cached_lock_t lock;
    osc_cached_waiter_t first = {.origin = 2, .exclusive = true}, second = {.origin = 3};
    (void) state;

    osc_cached_lock_init(&lock);
    assert_true(osc_cached_lock_try(&lock, 1, false));
    assert_false(osc_cached_lock_try(&lock, 2, true));
    osc_cached_lock_wait(&lock, &first);
    assert_false(osc_cached_lock_try(&lock, 3, false));
    osc_cached_lock_wait(&lock, &second);
    assert_null(osc_cached_lock_next(&lock));
    assert_true(osc_cached_lock_release(&lock, 1));
    assert_ptr_equal(osc_cached_lock_next(&lock), &first);
    assert_null(osc_cached_lock_next(&lock));
    assert_true(osc_cached_lock_release(&lock, 2));
    assert_ptr_equal(osc_cached_lock_next(&lock), &second);
}

/* An origin goes while storage works for it: what that uses stays until it ends. */
static void test_storage_gone(void **state)
{
    osc_cached_reply_t last = {.kind = 0};
    world_t world = {.inside = 0};
    osc_cached_server_config_t config = config_default(&world);
    char memory[8] = {0}, data[8] = "1234567", header[OSC_CACHED_REQUEST_BYTES];
    storage_t storage = {.random = 1, .memory = memory};
    osc_cached_request_t request = {.kind = OSC_CACHED_WIRE_ASK, .origin = 3};
    osc_cached_server_t *server;
    size_t before;
    (void) state;

    config.send = swallow;
    config.context = &last;
    assert_int_equal(osc_cached_server_create(&config, &server), OSC_CACHED_OK);
    assert_int_equal(osc_cached_server_open(server, window_id, memory, 8), OSC_CACHED_OK);
    osc_cached_server_use_store(server, window_id, store, &storage);
    osc_cached_request_encode(&request, header);
    osc_cached_server_receive(server, header, sizeof(header), NULL, 0);
    request = (osc_cached_request_t){.kind = OSC_CACHED_WIRE_PUT,
                                     .origin = 3,
                                     .session = last.session,
                                     .window = window_id,
                                     .count = 8,
                                     .length = 8,
                                     .last = true};
    osc_cached_request_encode(&request, header);
    osc_cached_server_receive(server, header, sizeof(header), data, 8);
    assert_int_equal(storage.count, 1);
    before = live_bytes;
    osc_cached_server_forget(server, 3);
    assert_int_equal(live_bytes, before);
    assert_int_equal(osc_cached_server_verify(server), 0);
    storage_work(&storage, server);
    assert_true(live_bytes < before);
    assert_memory_equal(memory, data, 8);
    assert_int_equal(osc_cached_server_verify(server), 0);
    osc_cached_server_destroy(server);
    assert_int_equal(live_bytes, 0);
}

/* Any bytes: the server lives, and its memory is as it was or as an accepted request says.
 * @param on_storage  whose operations may end when their session, or the window, has gone */
static void any_bytes(bool on_storage)
{
    osc_cached_reply_t last[5] = {{.kind = 0}}; /* of each origin */
    world_t world = {.inside = 0};
    osc_cached_server_config_t config = config_default(&world);
    osc_cached_server_t *server;
    uint64_t random = seed_get(7);
    char *memory = malloc(64); /* what lies beside it is the sanitizer's */
    storage_t storage = {.random = random, .memory = memory, .errors = 9};

    config.send = swallow_each;
    config.context = last;
    memset(memory, 0, 64);
    assert_int_equal(osc_cached_server_create(&config, &server), OSC_CACHED_OK);
    assert_int_equal(osc_cached_server_open(server, window_id, memory, 64), OSC_CACHED_OK);
    if (on_storage) {
        osc_cached_server_use_store(server, window_id, store, &storage);
    }
    for (int i = 0; i < 300000; i++) {
        unsigned char header[OSC_CACHED_REQUEST_BYTES];
        char data[MAX_DATA];
        size_t bytes = random_below(&random, 3) * random_below(&random, 40);
        uint32_t origin = 1 + random_below(&random, 4);
        osc_cached_request_t request = {
            .kind = (uint8_t) (1 + random_below(&random, 10)),
            .operation = (uint8_t) random_below(&random, OSC_CACHED_OPERATIONS),
            .element = (uint8_t) random_below(&random, OSC_CACHED_ELEMENTS),
            .last = random_below(&random, 2),
            .origin = origin,
            .window = window_id,
            .session = last[origin].session,
            .number = last[origin].done + random_below(&random, 6) / 5,
            .at = random_below(&random, 70),
            .count = random_below(&random, 20),
            .offset = random_below(&random, 20),
            .length = (uint32_t) bytes,
            .layout = random_below(&random, 3),
            .announce = random_below(&random, 3),
        };

        for (size_t k = 0; k < bytes; k++) {
            data[k] = (char) random_below(&random, 0 == i % 2 ? 4 : 256);
        }
        osc_cached_request_encode(&request, header);
        if (0 == random_below(&random, 4)) {
            header[random_below(&random, sizeof(header))] =
                (unsigned char) random_below(&random, 256);
        }
        osc_cached_server_receive(server, header,
                                  0 == random_below(&random, 50) ? 7 : sizeof(header), data, bytes);
        if (0 == i % 64) {
            osc_cached_server_tell(server);
            assert_int_equal(osc_cached_server_verify(server), 0);
        }
        if (0 == random_below(&random, on_storage ? 100 : 1000)) {
            osc_cached_server_forget(server, request.origin);
        }
        if (0 == random_below(&random, 4)) {
            storage_work(&storage, server);
        }
        if (on_storage && 0 == random_below(&random, 1000)) {
            osc_cached_server_close(server, window_id);
            assert_int_equal(osc_cached_server_open(server, window_id, memory, 64), OSC_CACHED_OK);
            osc_cached_server_use_store(server, window_id, store, &storage);
        }
    }
    assert_true(0 < osc_cached_server_counts(server)->bytes);
    assert_true(0 < osc_cached_server_counts(server)->malformed);
    osc_cached_server_close(server, window_id);
    while (0 < storage.count) {
        storage_work(&storage, server);
    }
    assert_int_equal(osc_cached_server_verify(server), 0);
    osc_cached_server_destroy(server);
    free(memory);
    assert_int_equal(live_bytes, 0);
}

static void test_any_bytes(void **state)
{
    (void) state;
    any_bytes(false);
}

static void test_any_bytes_storage(void **state)
{
    (void) state;
    any_bytes(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_traffic),
        cmocka_unit_test(test_million_origins),
        cmocka_unit_test(test_lock_is_fair),
        cmocka_unit_test(test_stale_reply),
        cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_any_bytes),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_storage_errors),
        cmocka_unit_test(test_any_bytes_storage),
        cmocka_unit_test(test_storage_gone),
    };

    return cmocka_run_group_tests_name("osc_cached_server", tests, NULL, NULL);
}
