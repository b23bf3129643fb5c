/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* osc_cached_client against osc_cached_server, both in each of some processes, on a network that
 * delays and reorders: order, completion, answers, locks, refusals, no memory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_client.h"
#include "osc_cached_operation.h"
#include "osc_cached_server.h"
#include "osc_cached_test_random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROCESSES 5
#define SLICE 512  /* bytes of each window that belong to one process */
#define SHARED 128 /* bytes at its start that belong to all: sums, and at the end a counter */
#define COUNTER (SHARED - 8)
#define WINDOW (SHARED + PROCESSES * SLICE)

static const osc_cached_window_id_t window_id = {.creator = 1, .number = 9};

/* --- Processes and the network ------------------------------------------------------------------
 */

typedef struct process {
    uint32_t rank; /* its name is this plus 1 */
    osc_cached_client_t client;
    osc_cached_server_t *server;
    char memory[WINDOW];
    uint64_t random;
    char expected[PROCESSES][SLICE]; /* what our slice at each process has */
    int64_t sums[PROCESSES][SHARED / 8];
    struct operation *present; /* is being pushed */
    enum { FREE, LOCKING, READING, WRITING, SENT, FLUSHING, UNLOCKING } section;
    osc_cached_mark_t mark; /* of the flush */
    uint32_t locked_at;
    int64_t seen;
    uint64_t done;
    uint64_t open; /* operations that wait for an answer */
    uint64_t operations[PROCESSES];
    _Atomic unsigned long served;
} process_t;

typedef struct message {
    struct message *next;
    bool is_reply;
    uint32_t from, to;
    size_t bytes;
    void *cookie; /* to be told that it is sent */
    unsigned char header[OSC_CACHED_REQUEST_BYTES];
    char data[];
} message_t;

static process_t world[PROCESSES];
static message_t *flying;
static size_t in_flight;
static size_t reorder;      /* any of so many of the oldest is delivered; 1: in order */
static uint64_t chance;     /* of the network */
static bool no_memory;      /* for messages, at times */
static uint64_t refused;    /* operations */
static uint64_t until_lost; /* requests, the last of which does not go; 0: all go */

static void launch(message_t *message)
{
    message_t **end = &flying;

    while (NULL != *end) {
        end = &(*end)->next;
    }
    message->next = NULL;
    *end = message;
    ++in_flight;
}

static message_t *new_message(size_t bytes)
{
    message_t *message = calloc(1, sizeof(*message) + bytes);

    assert_non_null(message);
    message->bytes = bytes;
    return message;
}

static osc_cached_sending_t server_send(void *context, uint64_t origin,
                                        const osc_cached_reply_t *reply, const void *data,
                                        void *cookie)
{
    const process_t *process = context;
    message_t *message = new_message(reply->length);
    bool later = NULL != cookie && 0 == random_below(&chance, 2);

    message->is_reply = true;
    message->from = process->rank;
    message->to = (uint32_t) origin - 1;
    message->cookie = later ? cookie : NULL;
    osc_cached_reply_encode(reply, message->header);
    if (0 < reply->length) {
        memcpy(message->data, data, reply->length);
    }
    launch(message);
    return later ? OSC_CACHED_SENDING : OSC_CACHED_SENT;
}

static void *client_reserve(void *context, size_t data_bytes)
{
    message_t *message;

    (void) context;
    if (no_memory && 0 == random_below(&chance, 4)) {
        return NULL;
    }
    message = new_message(data_bytes);
    return message->header;
}

static bool client_send(void *context, osc_cached_remote_t *remote, void *header, size_t data_bytes)
{
    const process_t *process = context;
    message_t *message = (message_t *) (void *) ((char *) header - offsetof(message_t, header));

    assert_true(data_bytes <= message->bytes);
    message->bytes = data_bytes;
    message->from = process->rank;
    message->to = (uint32_t) remote->name - 1;
    if (0 < until_lost && 0 == --until_lost) {
        free(message);
        return false;
    }
    launch(message);
    return true;
}

static void deliver(void)
{
    message_t **at = &flying, *message;

    if (0 == in_flight) {
        return;
    }
    for (size_t i = random_below(&chance, (uint32_t) (in_flight < reorder ? in_flight : reorder));
         i > 0; i--) {
        at = &(*at)->next;
    }
    message = *at;
    *at = message->next;
    --in_flight;
    if (message->is_reply) {
        osc_cached_client_receive(&world[message->to].client, message->header,
                                  OSC_CACHED_REPLY_BYTES, message->data, message->bytes);
        if (NULL != message->cookie) {
            osc_cached_server_sent(world[message->from].server, message->cookie);
        }
    } else {
        osc_cached_server_receive(world[message->to].server, message->header,
                                  OSC_CACHED_REQUEST_BYTES, message->data, message->bytes);
    }
    free(message);
}

static osc_cached_server_config_t config_default(void)
{
    return (osc_cached_server_config_t){
        .alloc = &osc_cached_alloc_default,
        .memory = 100000,
        .buffers = 4,
        .chunk = 64,
        .min_chunk = 64,
        .replies = 2,
        .room = 8,
        .spares = 3,
        .spare_bytes = 128,
        .send = server_send,
    };
}

static void world_create(uint64_t seed, osc_cached_server_config_t config)
{
    memset(world, 0, sizeof(world));
    chance = seed;
    reorder = 1 + random_below(&chance, 12);
    no_memory = false;
    refused = 0;
    until_lost = 0;
    for (uint32_t i = 0; i < PROCESSES; i++) {
        process_t *process = &world[i];
        osc_cached_client_config_t client = {.alloc = &osc_cached_alloc_default,
                                             .name = i + 1,
                                             .reserve = client_reserve,
                                             .send = client_send,
                                             .context = process};

        process->rank = i;
        process->random = seed + 99 * (i + 1);
        osc_cached_client_init(&process->client, &client);
        config.name = i + 1;
        config.context = process;
        assert_int_equal(osc_cached_server_create(&config, &process->server), OSC_CACHED_OK);
        assert_int_equal(
            osc_cached_server_open(process->server, window_id, process->memory, WINDOW),
            OSC_CACHED_OK);
        osc_cached_server_count(process->server, window_id, &process->served);
    }
}

static void world_destroy(void)
{
    while (0 < in_flight) {
        deliver();
    }
    for (uint32_t i = 0; i < PROCESSES; i++) {
        assert_int_equal(osc_cached_client_verify(&world[i].client), 0);
        assert_int_equal(world[i].client.counts.malformed, 0);
        osc_cached_client_fini(&world[i].client);
        osc_cached_server_destroy(world[i].server);
    }
}

/* --- Operations ---------------------------------------------------------------------------------
 */

typedef struct operation {
    osc_cached_call_t call;
    process_t *process;
    uint32_t target;
    bool checks; /* the answer is expected */
    bool *over;  /* set at the end */
    osc_cached_refused_t why;
    uint64_t answered;
    char data[SLICE];
    char result[SLICE];
    char expected[SLICE];
} operation_t;

static void pack(osc_cached_call_t *call, uint64_t offset, void *to, size_t bytes)
{
    operation_t *operation = call->context;

    assert_true(offset + bytes <= SLICE);
    memcpy(to, operation->data + offset, bytes);
}

static void unpack(osc_cached_call_t *call, uint64_t offset, const void *from, size_t bytes)
{
    operation_t *operation = call->context;

    assert_true(offset + bytes <= call->total);
    memcpy(operation->result + offset, from, bytes);
    operation->answered += bytes;
}

static void end(osc_cached_call_t *call, osc_cached_refused_t why)
{
    operation_t *operation = call->context;
    process_t *process = operation->process;

    --process->open;
    if (OSC_CACHED_REFUSED_NOT != why) {
        ++refused;
    } else if (operation->checks) {
        assert_int_equal(operation->answered, call->total);
        assert_memory_equal(operation->result, operation->expected, call->total);
    }
    if (LOCKING == process->section && OSC_CACHED_WIRE_LOCK == call->request.kind) {
        process->section = READING;
    } else if (READING == process->section && OSC_CACHED_WIRE_GET == call->request.kind
               && COUNTER == call->request.at) {
        memcpy(&process->seen, operation->result, 8);
        process->section = WRITING;
    }
    if (NULL != operation->over) {
        *operation->over = true;
    }
    if (process->present == operation) {
        process->present = NULL;
    }
    free(operation);
}

static operation_t *begin(process_t *process, uint32_t target, osc_cached_wire_kind_t kind,
                          uint64_t at, uint64_t total)
{
    operation_t *operation = calloc(1, sizeof(*operation));

    assert_non_null(operation);
    operation->process = process;
    operation->target = target;
    operation->call = (osc_cached_call_t){
        .request = {.kind = (uint8_t) kind, .window = window_id, .at = at, .count = total},
        .total = total,
        .pack = pack,
        .unpack = unpack,
        .end = end,
        .context = operation};
    process->open += OSC_CACHED_WIRE_PUT != kind && OSC_CACHED_WIRE_ACC != kind
                     && OSC_CACHED_WIRE_UNLOCK != kind;
    process->operations[target] += OSC_CACHED_WIRE_LOCK != kind && OSC_CACHED_WIRE_UNLOCK != kind;
    process->present = operation;
    return operation;
}

/* Every second 8 bytes of a half of the slice. */
static osc_cached_layout_t *strides;

static size_t strided(size_t i)
{
    return i / (SLICE / 4) * (SLICE / 2) + i % (SLICE / 4) / 8 * 16 + i % 8;
}

/* Give it two elements of a layout. @return where the packed bytes are, as a function of i */
static bool use_strides(operation_t *operation)
{
    if (0 != random_below(&operation->process->random, 2)) {
        return false;
    }
    operation->call.layout = strides;
    operation->call.key = 5 + random_below(&operation->process->random, 12); /* or another one */
    operation->call.request.count = 2;
    operation->call.total = SLICE / 2;
    return true;
}

static void fill(operation_t *operation)
{
    for (size_t i = 0; i < SLICE; i++) {
        operation->data[i] = (char) random_below(&operation->process->random, 256);
    }
}

/* One of the operations on our own slice, whose results we know. */
static void choose_own(process_t *process, uint32_t target)
{
    char *expected = process->expected[target];
    uint64_t at = SHARED + process->rank * SLICE;
    operation_t *operation;
    uint64_t cell;
    bool stride;

    switch (random_below(&process->random, 6)) {
    case 0:
        operation = begin(process, target, OSC_CACHED_WIRE_PUT, at, SLICE);
        fill(operation);
        stride = use_strides(operation);
        for (size_t i = 0; i < operation->call.total; i++) {
            expected[stride ? strided(i) : i] = operation->data[i];
        }
        break;
    case 1: /* elements of 12 bytes, which are no part of a chunk */
        operation = begin(process, target, OSC_CACHED_WIRE_ACC, at, SLICE / 12 * 12);
        operation->call.request.operation = OSC_CACHED_REPLACE;
        operation->call.request.element = OSC_CACHED_DOUBLE_INT;
        fill(operation);
        memcpy(expected, operation->data, SLICE / 12 * 12);
        break;
    case 2:
        operation = begin(process, target, OSC_CACHED_WIRE_GET, at, SLICE);
        operation->checks = true;
        stride = use_strides(operation);
        for (size_t i = 0; i < operation->call.total; i++) {
            operation->expected[i] = expected[stride ? strided(i) : i];
        }
        break;
    case 3: /* fetch, and add */
        operation = begin(process, target, OSC_CACHED_WIRE_FETCH, at, SLICE);
        operation->checks = true;
        operation->call.request.operation = OSC_CACHED_SUM;
        operation->call.request.element = OSC_CACHED_UINT64;
        fill(operation);
        stride = use_strides(operation);
        for (size_t i = 0; i < operation->call.total; i += 8) {
            char *place = expected + (stride ? strided(i) : i);
            uint64_t value, more;

            memcpy(&value, place, 8);
            memcpy(operation->expected + i, &value, 8);
            memcpy(&more, operation->data + i, 8);
            value += more;
            memcpy(place, &value, 8);
        }
        break;
    case 4: /* an atomic get */
        operation = begin(process, target, OSC_CACHED_WIRE_FETCH, at, SLICE);
        operation->checks = true;
        operation->call.request.operation = OSC_CACHED_NO_OP;
        operation->call.request.element = OSC_CACHED_UINT64;
        memcpy(operation->expected, expected, SLICE);
        break;
    default: /* one that stores, or one that does not */
        cell = 8 * random_below(&process->random, SLICE / 8);
        operation = begin(process, target, OSC_CACHED_WIRE_CAS, at + cell, 8);
        operation->checks = true;
        operation->call.request.element = OSC_CACHED_INT64;
        fill(operation);
        memcpy(operation->expected, expected + cell, 8);
        if (0 == random_below(&process->random, 2)) {
            memcpy(operation->data + 8, expected + cell, 8);
        }
        if (0 == memcmp(operation->data + 8, expected + cell, 8)) {
            memcpy(expected + cell, operation->data, 8);
        }
        break;
    }
}

/* Read the counter, add 1, write it, under a lock. */
static void go_on_in_section(process_t *process)
{
    osc_cached_remote_t *remote =
        osc_cached_client_remote(&process->client, process->locked_at + 1);
    operation_t *operation;
    int64_t more;

    switch (process->section) {
    case READING:
        if (0 == process->open) {
            (void) begin(process, process->locked_at, OSC_CACHED_WIRE_GET, COUNTER, 8);
        }
        break;
    case WRITING:
        operation = begin(process, process->locked_at, OSC_CACHED_WIRE_PUT, COUNTER, 8);
        more = process->seen + 1;
        memcpy(operation->data, &more, 8);
        process->section = SENT;
        break;
    case SENT:
        process->mark = osc_cached_client_mark(&process->client, remote);
        process->section = FLUSHING;
        break;
    case FLUSHING:
        if (osc_cached_client_is_done(remote, process->mark)) {
            process->section = UNLOCKING;
            (void) begin(process, process->locked_at, OSC_CACHED_WIRE_UNLOCK, 0, 0);
        }
        break;
    case UNLOCKING:
        process->section = FREE;
        break;
    default:
        break;
    }
}

static void choose(process_t *process)
{
    uint32_t target = random_below(&process->random, PROCESSES);
    operation_t *operation;
    int64_t value;

    ++process->done;
    switch (random_below(&process->random, 8)) {
    case 0:
        value = 8 * random_below(&process->random, COUNTER / 8);
        operation = begin(process, target, OSC_CACHED_WIRE_ACC, (uint64_t) value, 8);
        operation->call.request.operation = OSC_CACHED_SUM;
        operation->call.request.element = OSC_CACHED_INT64;
        fill(operation);
        operation->data[7] = 0;
        process->sums[target][value / 8] += *(int64_t *) (void *) operation->data;
        break;
    case 1:
        operation = begin(process, target, OSC_CACHED_WIRE_LOCK, 0, 0);
        operation->call.request.count = 1;
        process->section = LOCKING;
        process->locked_at = target;
        process->sums[target][COUNTER / 8] += 1;
        break;
    default:
        choose_own(process, target);
        break;
    }
}

static bool is_idle(const osc_cached_client_t *client)
{
    bool idle = true;

    for (const osc_cached_link_t *link = client->all.next; link != &client->all;
         link = link->next) {
        const osc_cached_remote_t *remote = OSC_CACHED_LIST_OF(link, osc_cached_remote_t, link);

        idle = idle && osc_cached_client_is_done(remote, osc_cached_client_mark(client, remote));
    }
    return idle;
}

/* Let a process do what it can. @return whether it has more to do */
static bool act(process_t *process, uint64_t operations)
{
    osc_cached_remote_t *remote;
    operation_t *operation;

    if (NULL == process->present) {
        if (FREE != process->section) {
            go_on_in_section(process);
        } else if (process->done < operations && process->open < 8) {
            choose(process);
        }
    }
    operation = process->present;
    if (NULL != operation) {
        remote = osc_cached_client_remote(&process->client, operation->target + 1);
        assert_non_null(remote);
        if (OSC_CACHED_PUSH_SENT
            == osc_cached_client_push(&process->client, remote, &operation->call)) {
            osc_cached_wire_kind_t kind = operation->call.request.kind;

            if (OSC_CACHED_WIRE_PUT == kind || OSC_CACHED_WIRE_ACC == kind
                || OSC_CACHED_WIRE_UNLOCK == kind) {
                free(operation);
                process->present = NULL;
            } else if (OSC_CACHED_WIRE_LOCK != kind) {
                process->present = NULL; /* end frees it */
            }
        }
    }
    assert_int_equal(osc_cached_client_verify(&process->client), 0);
    return NULL != process->present || FREE != process->section || process->done < operations
           || 0 < process->open || !is_idle(&process->client);
}

static void run(uint64_t operations)
{
    uint64_t silent = 0;
    bool busy = true;

    while (busy) {
        busy = false;
        for (uint32_t i = 0; i < PROCESSES; i++) {
            busy = act(&world[i], operations) || busy;
            if (0 == random_below(&chance, 2)) {
                deliver();
            }
        }
        if (0 == in_flight) {
            assert_true(++silent < 100000); /* nobody waits for ever */
            for (uint32_t i = 0; i < PROCESSES; i++) {
                osc_cached_server_tell(world[i].server);
            }
        }
    }
}

static void world_check(void)
{
    for (uint32_t t = 0; t < PROCESSES; t++) {
        uint64_t operations = 0;

        for (uint32_t k = 0; k < PROCESSES; k++) {
            operations += world[k].operations[t];
        }
        assert_int_equal(world[t].served, operations);
        for (size_t i = 0; i < SHARED / 8; i++) {
            int64_t sum = 0, found;

            for (uint32_t k = 0; k < PROCESSES; k++) {
                sum += world[k].sums[t][i];
            }
            memcpy(&found, world[t].memory + 8 * i, 8);
            assert_int_equal(found, sum);
        }
        for (uint32_t k = 0; k < PROCESSES; k++) {
            assert_memory_equal(world[t].memory + SHARED + k * SLICE, world[k].expected[t], SLICE);
        }
    }
}

/* --- Tests --------------------------------------------------------------------------------------
 */

static void test_random_traffic(void **state)
{
    uint64_t seed = seed_get(20261116), waits = 0, revoked = 0, grants = 0, early = 0;
    (void) state;

    printf("seed %llu\n", (unsigned long long) seed);
    for (uint32_t round = 0; round < 40; round++) {
        osc_cached_server_config_t config = config_default();

        config.buffers = 1 + round % 6;
        config.spares = round % 4;
        if (0 == round % 3) { /* room for two sessions only: others wait, and are told to end */
            config.memory = 9500;
        }
        world_create(seed + round, config);
        run(300);
        world_check();
        for (uint32_t i = 0; i < PROCESSES; i++) {
            const osc_cached_server_counts_t *counts = osc_cached_server_counts(world[i].server);

            waits += world[i].client.counts.waits;
            revoked += counts->revoked;
            grants += counts->grants;
            early += counts->early;
            assert_int_equal(counts->refused, 0);
            assert_int_equal(counts->malformed, 0);
            assert_true(counts->used_max <= config.memory);
        }
        assert_int_equal(refused, 0);
        world_destroy();
    }
    assert_true(0 < waits && 0 < revoked && 0 < grants && 0 < early);
}

/* Push to the end, with what the network brings meanwhile. */
static osc_cached_push_t push(process_t *process, operation_t *operation)
{
    osc_cached_remote_t *remote = osc_cached_client_remote(&process->client, operation->target + 1);
    osc_cached_push_t pushed;

    while (OSC_CACHED_PUSH_WAIT
           == (pushed = osc_cached_client_push(&process->client, remote, &operation->call))) {
        deliver();
        osc_cached_server_tell(world[operation->target].server);
    }
    process->present = NULL;
    return pushed;
}

static void flush(process_t *process, osc_cached_remote_t *remote)
{
    osc_cached_mark_t mark = osc_cached_client_mark(&process->client, remote);

    while (!osc_cached_client_is_done(remote, mark)) {
        deliver();
        osc_cached_server_tell(world[remote->name - 1].server);
    }
    assert_int_equal(osc_cached_client_verify(&process->client), 0);
}

/* What the target refuses is told at the next flush of that window, and ends what waits for an
 * answer. */
static void test_refusals(void **state)
{
    process_t *process = &world[0];
    osc_cached_remote_t *remote;
    osc_cached_refusals_t refusals, others[3];
    operation_t *operation;
    bool over = false;
    (void) state;

    world_create(3, config_default());
    remote = osc_cached_client_remote(&process->client, 2);
    for (unsigned i = 0; i < 3; i++) { /* each differs in one part of the name */
        osc_cached_window_id_t other = window_id;

        other.creator += 0 == i;
        other.number += 1 == i;
        other.part += 2 == i;
        osc_cached_client_watch(remote, other, &others[i]);
    }
    osc_cached_client_watch(remote, window_id, &refusals);
    operation = begin(process, 1, OSC_CACHED_WIRE_PUT, WINDOW - 4, 200);
    assert_int_equal(push(process, operation), OSC_CACHED_PUSH_SENT);
    free(operation);
    flush(process, remote);
    assert_int_equal(osc_cached_client_refused(&refusals), OSC_CACHED_REFUSED_RANGE);
    assert_int_equal(osc_cached_client_refused(&refusals), OSC_CACHED_REFUSED_NOT);

    operation = begin(process, 1, OSC_CACHED_WIRE_FETCH, WINDOW - 8, SLICE);
    operation->call.request.element = OSC_CACHED_UINT64;
    operation->over = &over;
    assert_int_equal(push(process, operation), OSC_CACHED_PUSH_SENT);
    flush(process, remote);
    assert_true(over);
    assert_int_equal(refused, 1);
    assert_int_equal(osc_cached_client_refused(&refusals), OSC_CACHED_REFUSED_RANGE);

    operation = begin(process, 1, OSC_CACHED_WIRE_UNLOCK, 0, 0);
    assert_int_equal(push(process, operation), OSC_CACHED_PUSH_SENT);
    free(operation);
    flush(process, remote);
    assert_int_equal(osc_cached_client_refused(&refusals), OSC_CACHED_REFUSED_LOCK);

    osc_cached_client_unwatch(&refusals);
    operation = begin(process, 1, OSC_CACHED_WIRE_UNLOCK, 0, 0);
    assert_int_equal(push(process, operation), OSC_CACHED_PUSH_SENT);
    free(operation);
    flush(process, remote);
    assert_int_equal(osc_cached_client_refused(&refusals), OSC_CACHED_REFUSED_NOT);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(osc_cached_client_refused(&others[i]), OSC_CACHED_REFUSED_NOT);
    }
    world_destroy();
}

/* A flush waits for what was sent before it, and ends though there is always more. */
static void test_flush_ends(void **state)
{
    enum { BEFORE = 8, STEPS = 10000 };
    process_t *process = &world[0];
    (void) state;

    for (uint64_t seed = 1; seed <= 100; seed++) {
        bool over[BEFORE] = {false};
        osc_cached_remote_t *remote;
        osc_cached_mark_t mark;
        uint64_t steps = 0;
        operation_t *operation;

        world_create(seed, config_default());
        remote = osc_cached_client_remote(&process->client, 2);
        for (int i = 0; i < BEFORE; i++) {
            operation = begin(process, 1, 0 == i % 2 ? OSC_CACHED_WIRE_GET : OSC_CACHED_WIRE_PUT,
                              SHARED, SLICE);
            operation->over = &over[i];
            assert_int_equal(push(process, operation), OSC_CACHED_PUSH_SENT);
            if (0 != i % 2) {
                free(operation);
            }
        }
        assert_false(0 == in_flight);
        mark = osc_cached_client_mark(&process->client, remote);
        while (!osc_cached_client_is_done(remote, mark)) {
            assert_true(++steps < STEPS);
            operation = begin(
                process, 1, 0 == steps % 2 ? OSC_CACHED_WIRE_GET : OSC_CACHED_WIRE_PUT, SHARED, 64);
            assert_int_equal(push(process, operation), OSC_CACHED_PUSH_SENT);
            if (0 != steps % 2) {
                free(operation);
            }
            assert_false(osc_cached_client_is_done(
                remote, osc_cached_client_mark(&process->client, remote)));
        }
        for (int i = 0; i < BEFORE; i += 2) {
            assert_true(over[i]);
        }
        flush(process, remote);
        assert_int_equal(process->open, 0);
        world_destroy();
    }
}

/* Without memory for a message an operation ends, and the next ones go on. */
static void test_no_memory(void **state)
{
    process_t *process = &world[0];
    uint64_t failures = 0;
    (void) state;

    for (uint64_t seed = 1; seed <= 100; seed++) {
        osc_cached_remote_t *remote;

        world_create(seed, config_default());
        remote = osc_cached_client_remote(&process->client, 2);
        no_memory = true;
        for (int i = 0; i < 50; i++) {
            operation_t *operation = begin(
                process, 1, 0 == i % 2 ? OSC_CACHED_WIRE_PUT : OSC_CACHED_WIRE_GET, SHARED, SLICE);
            bool answers = 0 != i % 2;
            osc_cached_push_t pushed;

            (void) use_strides(operation);
            pushed = push(process, operation);
            failures += OSC_CACHED_PUSH_NO_MEMORY == pushed;
            if (!answers || OSC_CACHED_PUSH_NO_MEMORY == pushed) {
                process->open -= answers;
                free(operation);
            }
            assert_int_equal(osc_cached_client_verify(&process->client), 0);
        }
        no_memory = false;
        flush(process, remote);
        assert_int_equal(process->open, 0);
        world_destroy();
    }
    assert_true(0 < failures);
}

/* When a request cannot be sent, everything at that process ends, and nothing elsewhere. */
static void test_lost(void **state)
{
    process_t *process = &world[0];
    (void) state;

    for (uint64_t after = 0; after <= 60; after++) {
        osc_cached_remote_t *remote, *other;
        operation_t *operation, *lock;
        osc_cached_mark_t mark;
        bool over = false;
        int lost = 0;

        world_create(after + 1, config_default());
        remote = osc_cached_client_remote(&process->client, 2);
        other = osc_cached_client_remote(&process->client, 3);
        /* a lock that another process has */
        operation = begin(&world[3], 1, OSC_CACHED_WIRE_LOCK, 0, 0);
        operation->call.request.count = 1;
        operation->over = &over;
        assert_int_equal(push(&world[3], operation), OSC_CACHED_PUSH_SENT);
        while (!over) {
            deliver();
        }
        lock = begin(process, 1, OSC_CACHED_WIRE_LOCK, 0, 0);
        assert_int_equal(push(process, lock), OSC_CACHED_PUSH_SENT);
        flush(process, remote);
        until_lost = after;
        for (int i = 0; i < 20 || (0 < after && 0 == lost); i++) {
            bool answers = 0 != i % 2;
            osc_cached_push_t pushed;

            operation = begin(process, 1, answers ? OSC_CACHED_WIRE_GET : OSC_CACHED_WIRE_PUT,
                              SHARED, SLICE);
            (void) use_strides(operation);
            pushed = push(process, operation);
            lost += OSC_CACHED_PUSH_LOST == pushed;
            assert_true(0 == lost || OSC_CACHED_PUSH_LOST == pushed); /* for ever */
            if (!answers || OSC_CACHED_PUSH_LOST == pushed) {
                process->open -= answers;
                free(operation);
            }
            assert_int_equal(osc_cached_client_verify(&process->client), 0);
        }
        mark = osc_cached_client_mark(&process->client, remote);
        if (0 == after) { /* it is known later */
            assert_false(osc_cached_client_is_done(remote, mark));
            osc_cached_client_lost(&process->client, remote);
        }
        assert_true(osc_cached_client_is_done(remote, mark));
        assert_int_equal(process->open, 1);
        assert_int_equal(osc_cached_client_push(&process->client, remote, &lock->call),
                         OSC_CACHED_PUSH_LOST);
        free(lock);
        process->open = 0;
        operation = begin(process, 2, OSC_CACHED_WIRE_GET, SHARED, SLICE);
        assert_int_equal(push(process, operation), OSC_CACHED_PUSH_SENT);
        flush(process, other);
        assert_int_equal(process->open, 0);
        world_destroy();
    }
}

/* Replies of any bytes change nothing that they may not. */
static void test_any_bytes(void **state)
{
    process_t *process = &world[0];
    uint64_t random = seed_get(11), malformed = 0;
    unsigned char header[OSC_CACHED_REPLY_BYTES];
    char data[SLICE];
    (void) state;

    world_create(5, config_default());
    for (int i = 0; i < 100000; i++) {
        osc_cached_reply_t reply = {
            .kind = (uint8_t) (OSC_CACHED_WIRE_GRANT + random_below(&random, 7)),
            .target = random_below(&random, 4),
            .session = random_below(&random, 3),
            .done = random_below(&random, 5),
            .token = random_below(&random, 100000),
            .offset = random_below(&random, 2 * SLICE),
            .length = random_below(&random, SLICE),
            .buffers = 1 + random_below(&random, 4),
            .chunk = 64,
            .room = 8,
        };

        (void) osc_cached_client_remote(&process->client, 2);
        if (OSC_CACHED_WIRE_DATA != reply.kind) {
            reply.length = 0;
        }
        osc_cached_reply_encode(&reply, header);
        header[random_below(&random, sizeof(header))] ^=
            (unsigned char) (random_below(&random, 4) / 3);
        osc_cached_client_receive(&process->client, header, sizeof(header), data, reply.length);
        if (NULL == process->present) {
            (void) begin(process, 1, OSC_CACHED_WIRE_GET, SHARED, SLICE);
        } else if (OSC_CACHED_PUSH_SENT
                   == osc_cached_client_push(&process->client,
                                             osc_cached_client_remote(&process->client, 2),
                                             &process->present->call)) {
            process->present = NULL; /* or end has freed it */
        }
        assert_int_equal(osc_cached_client_verify(&process->client), 0);
    }
    malformed = process->client.counts.malformed;
    assert_true(0 < malformed);
    /* what still waits for an answer is ours to free */
    for (uint32_t i = 0; i < process->client.calls.cells; i++) {
        osc_cached_call_t *call = process->client.calls.cell[i].value;

        if (NULL != call && (NULL == process->present || call != &process->present->call)) {
            free(call->context);
        }
    }
    free(process->present);
    while (NULL != flying) {
        message_t *message = flying;

        flying = message->next;
        free(message);
    }
    in_flight = 0;
    for (uint32_t i = 0; i < PROCESSES; i++) {
        osc_cached_client_fini(&world[i].client);
        osc_cached_server_destroy(world[i].server);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_traffic), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_flush_ends),     cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_lost),           cmocka_unit_test(test_any_bytes),
    };
    int ret;

    strides = osc_cached_layout_new(&osc_cached_alloc_default, 1, SLICE / 2);
    for (int run_number = 0; NULL != strides && run_number < SLICE / 32; run_number++) {
        (void) osc_cached_layout_add(strides, run_number * 16, 8);
    }
    ret = cmocka_run_group_tests_name("osc_cached_client", tests, NULL, NULL);
    osc_cached_layout_free(&osc_cached_alloc_default, strides);
    return ret;
}
