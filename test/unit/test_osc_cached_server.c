/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* osc_cached_server and osc_cached_account, one request after the other: what is refused, parts of
 * a window, notes, locks, origins that go, damaged messages. */
#include "osc_cached_test_server.h"

#include "osc_cached_account.h"
#include "osc_cached_lock.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DATA 4096

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
    osc_cached_server_config_t config = config_default();
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
    osc_cached_server_config_t config = config_default();
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

static bool is_it(void *context, uint64_t origin)
{
    return origin == *(const uint64_t *) context;
}

/* An origin has died. */
static void forget(osc_cached_server_t *server, uint64_t origin)
{
    osc_cached_server_forget(server, is_it, &origin);
}

enum { SHARED, EXCLUSIVE };

/* Several origins, which ask for a lock one after the other. */
typedef struct {
    osc_cached_server_t *server;
    uint64_t memory;
    uint32_t session[8];
    osc_cached_reply_t last[8]; /* by origin */
} lockers_t;

static osc_cached_sending_t hand_out(void *context, uint64_t origin,
                                     const osc_cached_reply_t *reply, const void *data,
                                     void *cookie)
{
    lockers_t *lockers = context;

    (void) data;
    (void) cookie;
    lockers->last[origin] = *reply;
    return OSC_CACHED_SENT;
}

static void lockers_open(lockers_t *lockers)
{
    osc_cached_server_config_t config = config_default();

    *lockers = (lockers_t){.memory = 0};
    config.send = hand_out;
    config.context = lockers;
    config.survives = true;
    assert_int_equal(osc_cached_server_create(&config, &lockers->server), OSC_CACHED_OK);
    assert_int_equal(osc_cached_server_open(lockers->server, window_id, &lockers->memory, 8),
                     OSC_CACHED_OK);
}

static void send_plain(lockers_t *lockers, uint64_t origin, osc_cached_wire_kind_t kind,
                       uint64_t count, uint64_t number)
{
    unsigned char header[OSC_CACHED_REQUEST_BYTES];
    osc_cached_request_t request = {.kind = (uint8_t) kind,
                                    .origin = origin,
                                    .session = lockers->session[origin],
                                    .number = number,
                                    .window = window_id,
                                    .count = count};

    osc_cached_request_encode(&request, header);
    lockers->last[origin].kind = 0;
    osc_cached_server_receive(lockers->server, header, sizeof(header), NULL, 0);
    assert_int_equal(osc_cached_server_verify(lockers->server), 0);
}

/* @return the answer to its first request, or 0 */
static int ask_for_lock(lockers_t *lockers, uint64_t origin, int exclusive)
{
    send_plain(lockers, origin, OSC_CACHED_WIRE_ASK, 0, 0);
    lockers->session[origin] = lockers->last[origin].session;
    send_plain(lockers, origin, OSC_CACHED_WIRE_LOCK, (uint64_t) exclusive, 0);
    return lockers->last[origin].kind;
}

/* A shared lock of who has died is free, and so is its place in the queue. */
static void test_dead_shared(void **state)
{
    lockers_t l;
    uint64_t used;
    (void) state;

    lockers_open(&l);
    used = osc_cached_server_used(l.server);
    assert_int_equal(ask_for_lock(&l, 1, SHARED), OSC_CACHED_WIRE_LOCKED);
    assert_int_equal(ask_for_lock(&l, 2, SHARED), OSC_CACHED_WIRE_LOCKED);
    assert_int_equal(ask_for_lock(&l, 3, EXCLUSIVE), 0);
    assert_int_equal(ask_for_lock(&l, 4, EXCLUSIVE), 0);
    forget(l.server, 1);
    forget(l.server, 1);                 /* again and again */
    assert_int_equal(l.last[3].kind, 0); /* the other one lives */
    forget(l.server, 3);
    assert_int_equal(l.last[4].kind, 0);
    forget(l.server, 2);
    assert_int_equal(l.last[4].kind, OSC_CACHED_WIRE_LOCKED);
    send_plain(&l, 4, OSC_CACHED_WIRE_UNLOCK, 0, 1);
    assert_int_equal(ask_for_lock(&l, 5, SHARED), OSC_CACHED_WIRE_LOCKED);
    send_plain(&l, 5, OSC_CACHED_WIRE_UNLOCK, 0, 1);
    forget(l.server, 4);
    forget(l.server, 5); /* it had given it back */
    assert_int_equal(ask_for_lock(&l, 6, EXCLUSIVE), OSC_CACHED_WIRE_LOCKED);
    forget(l.server, 6);
    assert_int_equal(osc_cached_server_verify(l.server), 0);
    assert_int_equal(osc_cached_server_used(l.server), used);
    osc_cached_server_destroy(l.server);
    assert_int_equal(live_bytes, 0);
}

/* Who waits for a shared lock behind an exclusive request overtakes it after some time. */
static void test_old_shared(void **state)
{
    lockers_t l;
    (void) state;

    lockers_open(&l);
    assert_int_equal(ask_for_lock(&l, 1, SHARED), OSC_CACHED_WIRE_LOCKED);
    assert_int_equal(osc_cached_server_waiters(l.server), 0);
    osc_cached_server_age(l.server);
    assert_int_equal(ask_for_lock(&l, 2, EXCLUSIVE), 0);
    assert_int_equal(ask_for_lock(&l, 3, SHARED), 0);
    assert_int_equal(osc_cached_server_waiters(l.server), 2);
    osc_cached_server_age(l.server); /* it may have waited for no time at all */
    assert_int_equal(l.last[3].kind, 0);
    assert_int_equal(ask_for_lock(&l, 4, SHARED), 0);
    osc_cached_server_age(l.server);
    assert_int_equal(l.last[3].kind, OSC_CACHED_WIRE_LOCKED);
    assert_int_equal(l.last[4].kind, 0);
    assert_int_equal(osc_cached_server_waiters(l.server), 2);
    assert_int_equal(osc_cached_server_verify(l.server), 0);
    forget(l.server, 3); /* it has the lock */
    send_plain(&l, 1, OSC_CACHED_WIRE_UNLOCK, 0, 1);
    assert_int_equal(l.last[2].kind, OSC_CACHED_WIRE_LOCKED);
    osc_cached_server_age(l.server);
    osc_cached_server_age(l.server);
    assert_int_equal(l.last[4].kind, 0); /* not beside an exclusive holder */
    send_plain(&l, 2, OSC_CACHED_WIRE_UNLOCK, 0, 1);
    assert_int_equal(l.last[4].kind, OSC_CACHED_WIRE_LOCKED);
    assert_int_equal(osc_cached_server_waiters(l.server), 0);
    osc_cached_server_destroy(l.server);
    assert_int_equal(live_bytes, 0);
}

static osc_cached_sending_t count_grants(void *context, uint64_t origin,
                                         const osc_cached_reply_t *reply, const void *data,
                                         void *cookie)
{
    (void) origin;
    (void) data;
    (void) cookie;
    *(int *) context += OSC_CACHED_WIRE_GRANT == reply->kind;
    return OSC_CACHED_SENT;
}

/* With the default memory, each of a thousand processes has a session though none of them ends. */
static void test_thousand_origins(void **state)
{
    enum { ORIGINS = 1000 };
    osc_cached_server_config_t config = config_default();
    unsigned char header[OSC_CACHED_REQUEST_BYTES];
    osc_cached_server_t *server;
    int grants = 0;
    (void) state;

    config.memory = 64 << 20;
    config.origins = ORIGINS;
    config.buffers = 16;
    config.chunk = config.spare_bytes = 32000;
    config.min_chunk = 3008;
    config.room = 512;
    config.spares = 4;
    config.send = count_grants;
    config.context = &grants;
    assert_int_equal(osc_cached_server_create(&config, &server), OSC_CACHED_OK);
    for (uint64_t i = 0; i < ORIGINS; ++i) {
        osc_cached_request_t request = {.kind = OSC_CACHED_WIRE_ASK, .origin = 100 + i};

        osc_cached_request_encode(&request, header);
        osc_cached_server_receive(server, header, sizeof(header), NULL, 0);
    }
    assert_int_equal(osc_cached_server_verify(server), 0);
    assert_int_equal(grants, ORIGINS);
    osc_cached_server_destroy(server);
    assert_int_equal(live_bytes, 0);
}

/* An exclusive one is not: who waits for it is refused, and who asks for it later. */
static void test_dead_exclusive(void **state)
{
    lockers_t l;
    (void) state;

    lockers_open(&l);
    assert_int_equal(ask_for_lock(&l, 1, EXCLUSIVE), OSC_CACHED_WIRE_LOCKED);
    assert_int_equal(ask_for_lock(&l, 2, SHARED), 0);
    assert_int_equal(ask_for_lock(&l, 3, EXCLUSIVE), 0);
    forget(l.server, 4);
    assert_int_equal(l.last[2].kind, 0);
    forget(l.server, 1);
    assert_int_equal(l.last[2].kind, OSC_CACHED_WIRE_FAILED);
    assert_int_equal(l.last[2].status, OSC_CACHED_REFUSED_LOST);
    assert_int_equal(l.last[3].status, OSC_CACHED_REFUSED_LOST);
    assert_int_equal(ask_for_lock(&l, 5, SHARED), OSC_CACHED_WIRE_FAILED);
    assert_int_equal(l.last[5].status, OSC_CACHED_REFUSED_LOST);
    osc_cached_server_destroy(l.server);
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
    osc_cached_server_config_t config = config_default();
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
    osc_cached_server_config_t config = config_default();
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
    forget(server, 3);
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
    osc_cached_server_config_t config = config_default();
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
            forget(server, request.origin);
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
        cmocka_unit_test(test_lock_is_fair),
        cmocka_unit_test(test_stale_reply),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_any_bytes),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_dead_shared),
        cmocka_unit_test(test_old_shared),
        cmocka_unit_test(test_thousand_origins),
        cmocka_unit_test(test_dead_exclusive),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_any_bytes_storage),
        cmocka_unit_test(test_storage_gone),
    };

    return cmocka_run_group_tests_name("osc_cached_server", tests, NULL, NULL);
}
