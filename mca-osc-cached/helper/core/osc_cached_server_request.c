/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * What requests do, and in which order.
 */
#include "osc_cached_server_internal.h"

#include "osc_cached_execute.h"

#include <stdatomic.h>
#include <string.h>

/* A buffer for a reply with data, or NULL while all are being sent. */
static osc_cached_reply_buffer_t *free_reply(const osc_cached_server_t *server,
                                             const osc_cached_session_t *session)
{
    for (uint32_t i = 0; i < server->config.replies; i++) {
        if (!session->reply[i]->busy) {
            return session->reply[i];
        }
    }
    return NULL;
}

static void reply_data(osc_cached_server_t *server, osc_cached_session_t *session,
                       osc_cached_reply_buffer_t *buffer, uint64_t token, uint64_t offset,
                       uint32_t length)
{
    osc_cached_reply_t reply = {
        .kind = OSC_CACHED_WIRE_DATA, .token = token, .offset = offset, .length = length};

    buffer->busy = true; /* the transport may say that it is gone before it returns */
    if (OSC_CACHED_SENDING
        != osc_cached_server_reply(server, session, session->origin, reply, buffer->data, buffer)) {
        buffer->busy = false;
    }
}

static void lock(osc_cached_server_t *server, osc_cached_session_t *session,
                 osc_cached_served_t *window, const osc_cached_request_t *request)
{
    bool exclusive = 0 != request->count;
    osc_cached_waiter_t *waiter = NULL;

    if (window->lock.dead) {
        osc_cached_server_refuse(server, session, request->origin, request->window, request->token,
                                 OSC_CACHED_REFUSED_LOST);
        return;
    }
    if (osc_cached_lock_try(&window->lock, request->origin, exclusive)) {
        osc_cached_server_held(server, window, request->origin, true);
        osc_cached_server_reply_plain(server, session, request->origin, OSC_CACHED_WIRE_LOCKED,
                                      request->token);
        return;
    }
    if (osc_cached_server_charge(server, sizeof(*waiter))) {
        waiter = osc_cached_server_get_memory(server, sizeof(*waiter));
        if (NULL == waiter) {
            server->used -= sizeof(*waiter);
        }
    }
    if (NULL == waiter) {
        ++server->counts.later;
        osc_cached_server_reply_plain(server, session, request->origin, OSC_CACHED_WIRE_LATER,
                                      request->token);
        return;
    }
    *waiter = (osc_cached_waiter_t){.origin = request->origin,
                                    .token = request->token,
                                    .since = server->age,
                                    .exclusive = exclusive};
    ++server->waiters;
    osc_cached_lock_wait(&window->lock, waiter);
}

/* The request whose turn it was is done, or refused. */
static void advance(osc_cached_session_t *session)
{
    do {
        ++session->next;
        session->lost >>= 1;
    } while (0 != (session->lost & 1));
}

/* A layout replaces the one with the same number; without data it only goes. */
static osc_cached_refused_t remember_layout(osc_cached_server_t *server,
                                            osc_cached_session_t *session,
                                            const osc_cached_request_t *request, const void *data)
{
    osc_cached_layout_t *layout;

    if (request->layout > OSC_CACHED_LAYOUTS) {
        return OSC_CACHED_REFUSED_LAYOUT;
    }
    osc_cached_session_free_layout(server, session, request->layout);
    if (0 == request->length) {
        return OSC_CACHED_REFUSED_NOT;
    }
    if (OSC_CACHED_OK
        != osc_cached_layout_read(server->config.alloc, data, request->length,
                                  server->config.room - session->blocks, &layout)) {
        return OSC_CACHED_REFUSED_LAYOUT;
    }
    session->blocks += layout->blocks;
    session->layout[request->layout - 1] = layout;
    return OSC_CACHED_REFUSED_NOT;
}

/* Spare buffers for the parts that an operation announces. */
static void grant_spares(osc_cached_server_t *server, osc_cached_session_t *session,
                         const osc_cached_request_t *request)
{
    uint32_t spares =
        request->announce < server->free_spares ? request->announce : server->free_spares;

    if (0 == spares || 0 < session->spares || request->last) {
        return;
    }
    server->free_spares -= spares;
    session->spares = spares;
    session->series = request->token;
    ++server->counts.grants;
    (void) osc_cached_server_reply(server, session, session->origin,
                                   (osc_cached_reply_t){.kind = OSC_CACHED_WIRE_ACK,
                                                        .token = request->token,
                                                        .buffers = spares,
                                                        .chunk = server->config.spare_bytes},
                                   NULL, NULL);
}

/* Do a part on the memory of a window, or let its storage do it: only what is held can be done
 * later. */
static osc_cached_stored_t perform(osc_cached_session_t *session, const osc_cached_served_t *window,
                                   const osc_cached_layout_t *layout,
                                   const osc_cached_request_t *part, const void *data,
                                   osc_cached_reply_buffer_t *into, bool held)
{
    char *result = (NULL == into) ? NULL : into->data;
    osc_cached_storing_t storing = session->storing;
    osc_cached_stored_t stored;

    if (NULL == window->store) {
        osc_cached_execute(part, layout, window->base, data, result);
        return OSC_CACHED_STORE_DONE;
    }
    if (OSC_CACHED_STORING_NOT != storing) {
        session->storing = OSC_CACHED_STORING_NOT;
        return (OSC_CACHED_STORING_DONE == storing) ? OSC_CACHED_STORE_DONE
                                                    : OSC_CACHED_STORE_FAILED;
    }
    stored =
        window->store(window->store_context, part, layout, data, result, held ? session : NULL);
    if (OSC_CACHED_STORE_LATER == stored && held) {
        session->storing = OSC_CACHED_STORING;
        session->into = into;
    }
    return stored;
}

/* Where an answer goes to: what storage has filled, or what is free; NULL: nothing is. */
static osc_cached_reply_buffer_t *find_reply(const osc_cached_server_t *server,
                                             const osc_cached_session_t *session)
{
    return (OSC_CACHED_STORING_NOT == session->storing) ? free_reply(server, session)
                                                        : session->into;
}

/* The device has an error. */
static void fail(osc_cached_server_t *server, osc_cached_session_t *session,
                 const osc_cached_request_t *request)
{
    advance(session);
    osc_cached_server_refuse(server, session, session->origin, request->window, request->token,
                             OSC_CACHED_REFUSED_IO);
}

/* Send what fits of a GET, which is the first of the held requests unless all of it fits at once.
 * @return whether it is done */
static bool answer_get(osc_cached_server_t *server, osc_cached_session_t *session,
                       osc_cached_served_t *window, const osc_cached_layout_t *layout,
                       osc_cached_request_t *request, bool held)
{
    while (0 < request->length) {
        osc_cached_reply_buffer_t *buffer = find_reply(server, session);
        osc_cached_request_t part = *request;
        osc_cached_stored_t stored;

        if (NULL == buffer) {
            return false;
        }
        if (part.length > session->chunk) {
            part.length = session->chunk;
        }
        stored = perform(session, window, layout, &part, NULL, buffer, held);
        if (OSC_CACHED_STORE_LATER == stored) {
            return false;
        }
        if (OSC_CACHED_STORE_FAILED == stored) {
            fail(server, session, request);
            return true;
        }
        server->counts.bytes += part.length;
        request->offset += part.length;
        request->length -= part.length;
        if (0 == request->length) {
            advance(session);
        }
        reply_data(server, session, buffer, request->token, part.offset, part.length);
    }
    return true;
}

/* The last part of an operation is done. */
static void count(const osc_cached_served_t *window, const osc_cached_request_t *request)
{
    if (request->last && NULL != window->served) {
        atomic_fetch_add_explicit(window->served, 1, memory_order_relaxed);
    }
}

/* Do an operation on memory. @return whether it is done; if not, it is to be called again when a
 * reply buffer is free, or storage has done it */
static bool operate(osc_cached_server_t *server, osc_cached_session_t *session,
                    osc_cached_request_t *request, const void *data, bool held)
{
    osc_cached_served_t *window = osc_cached_server_window(server, request->window);
    const osc_cached_layout_t *layout = NULL;
    osc_cached_refused_t why = OSC_CACHED_REFUSED_NOT;
    bool answers = OSC_CACHED_WIRE_FETCH == request->kind || OSC_CACHED_WIRE_CAS == request->kind;
    osc_cached_reply_buffer_t *buffer = NULL;
    osc_cached_stored_t stored;

    if (OSC_CACHED_STORING == session->storing) {
        return false;
    }
    if (NULL == window) {
        why = OSC_CACHED_REFUSED_WINDOW;
    } else if (0 != request->layout) {
        layout =
            request->layout <= OSC_CACHED_LAYOUTS ? session->layout[request->layout - 1] : NULL;
        why = NULL == layout ? OSC_CACHED_REFUSED_LAYOUT : OSC_CACHED_REFUSED_NOT;
    }
    if (OSC_CACHED_REFUSED_NOT == why) {
        why = osc_cached_execute_check(request, layout, window->size);
    }
    if (OSC_CACHED_REFUSED_NOT == why && answers && request->length > session->chunk) {
        why = OSC_CACHED_REFUSED_LENGTH;
    }
    if (OSC_CACHED_REFUSED_NOT != why) {
        session->storing = OSC_CACHED_STORING_NOT; /* the window was closed meanwhile */
        advance(session);
        osc_cached_server_refuse(server, session, session->origin, request->window, request->token,
                                 why);
        return true;
    }
    if (OSC_CACHED_WIRE_GET == request->kind && 0 < request->length) {
        if (!answer_get(server, session, window, layout, request, held)) {
            return false;
        }
        count(window, request);
        return true;
    }
    if (answers && 0 < request->length) {
        buffer = find_reply(server, session);
        if (NULL == buffer) {
            return false;
        }
    }
    stored = perform(session, window, layout, request, data, buffer, held);
    if (OSC_CACHED_STORE_LATER == stored) {
        return false;
    }
    if (OSC_CACHED_STORE_FAILED == stored) {
        fail(server, session, request);
        return true;
    }
    server->counts.bytes += request->length;
    if (OSC_CACHED_WIRE_PUT != request->kind) {
        server->counts.combined += request->length;
    }
    advance(session);
    count(window, request);
    if (NULL != buffer) {
        reply_data(server, session, buffer, request->token, request->offset, request->length);
    }
    return true;
}

/* Do a request whose turn it is. @return whether it is done; the session may be gone then */
static bool serve(osc_cached_server_t *server, osc_cached_session_t *session,
                  osc_cached_request_t *request, const void *data, bool held, bool *gone)
{
    osc_cached_refused_t why = OSC_CACHED_REFUSED_NOT;
    osc_cached_served_t *window;

    switch (request->kind) {
    case OSC_CACHED_WIRE_GET:
    case OSC_CACHED_WIRE_PUT:
    case OSC_CACHED_WIRE_ACC:
    case OSC_CACHED_WIRE_FETCH:
    case OSC_CACHED_WIRE_CAS:
        if (!operate(server, session, request, data, held)) {
            return false;
        }
        break;
    case OSC_CACHED_WIRE_RELEASE:
        *gone = true;
        osc_cached_session_release(server, session);
        return true;
    case OSC_CACHED_WIRE_TYPE:
        advance(session);
        why = remember_layout(server, session, request, data);
        break;
    default: /* LOCK, UNLOCK */
        advance(session);
        window = osc_cached_server_window(server, request->window);
        if (NULL == window) {
            why = OSC_CACHED_REFUSED_WINDOW;
        } else if (OSC_CACHED_WIRE_LOCK == request->kind) {
            lock(server, session, window, request);
        } else if (osc_cached_lock_release(&window->lock, request->origin)) {
            osc_cached_server_held(server, window, request->origin, false);
            osc_cached_server_pass_lock_on(server, window);
        } else {
            why = OSC_CACHED_REFUSED_LOCK;
        }
        break;
    }
    if (OSC_CACHED_REFUSED_NOT != why) {
        osc_cached_server_refuse(server, session, session->origin, request->window, request->token,
                                 why);
    }
    if (request->last && 0 < session->spares && request->token == session->series) {
        osc_cached_session_give_spares_back(server, session);
    }
    return true;
}

/* Tell the origin, now or before sleeping, how far we are. */
static void acknowledge(osc_cached_server_t *server, osc_cached_session_t *session, bool now)
{
    uint64_t untold = session->next - session->told;

    if (0 == untold) {
        return;
    }
    if (now || untold >= (4 <= session->buffers ? session->buffers / 2 : 1)) {
        ++server->counts.acks;
        osc_cached_server_reply_plain(server, session, session->origin, OSC_CACHED_WIRE_ACK, 0);
    } else if (osc_cached_list_is_empty(&session->untold)) {
        osc_cached_list_add(&server->untold, &session->untold);
    }
}

/* Do the held requests whose turn it is. */
static void serve_held(osc_cached_server_t *server, osc_cached_session_t *session)
{
    bool gone = false;

    while (!osc_cached_list_is_empty(&session->held)) {
        osc_cached_held_t *held = OSC_CACHED_LIST_OF(session->held.next, osc_cached_held_t, link);

        if (held->request.number != session->next
            || !serve(server, session, &held->request, held->data, true, &gone)) {
            break;
        }
        if (gone) {
            return;
        }
        osc_cached_list_remove(&held->link);
        osc_cached_server_give_memory(server, held, sizeof(*held) + held->bytes);
    }
    acknowledge(server, session, false);
}

/* Keep a request for later. @return whether there is memory */
static bool hold(osc_cached_server_t *server, osc_cached_session_t *session,
                 const osc_cached_request_t *request, const void *data, size_t data_bytes)
{
    osc_cached_held_t *held = osc_cached_server_get_memory(server, sizeof(*held) + data_bytes);
    osc_cached_link_t *next = &session->held;

    if (NULL == held) {
        return false;
    }
    held->request = *request;
    held->bytes = (uint32_t) data_bytes;
    if (0 < data_bytes) {
        memcpy(held->data, data, data_bytes);
    }
    while (next->prev != &session->held
           && OSC_CACHED_LIST_OF(next->prev, osc_cached_held_t, link)->request.number
                  > request->number) {
        next = next->prev;
    }
    osc_cached_list_add(next, &held->link);
    return true;
}

/* Is a request with this number expected, and not here yet? */
static bool is_expected(const osc_cached_session_t *session, uint64_t number)
{
    uint64_t ahead = number - session->next;

    if (ahead >= session->buffers + session->spares || 0 != (session->lost >> ahead & 1)) {
        return false;
    }
    for (const osc_cached_link_t *link = session->held.next; link != &session->held;
         link = link->next) {
        if (number == OSC_CACHED_LIST_OF(link, osc_cached_held_t, link)->request.number) {
            return false;
        }
    }
    return true;
}

/* A note for who listens to its window. */
static void note(osc_cached_server_t *server, const osc_cached_request_t *request, const void *data)
{
    osc_cached_served_t *window = osc_cached_server_window(server, request->window);

    if (NULL != window && NULL != window->listen) {
        window->listen(window->listener, request, data);
    } else if (NULL != server->config.stray) {
        server->config.stray(server->config.context, request, data);
    }
}

void osc_cached_server_receive(osc_cached_server_t *server, const void *header, size_t header_bytes,
                               const void *data, size_t data_bytes)
{
    osc_cached_request_t request;
    osc_cached_session_t *session;
    uint64_t ahead;
    bool gone = false;

    if (!osc_cached_request_decode(header, header_bytes, data_bytes, &request)) {
        ++server->counts.malformed;
        return;
    }
    ++server->counts.requests[request.kind];
    if (OSC_CACHED_WIRE_ASK == request.kind) {
        osc_cached_session_ask(server, request.origin);
        return;
    }
    if (OSC_CACHED_WIRE_NOTE == request.kind) {
        note(server, &request, data);
        return;
    }
    session = osc_cached_map_get(&server->by_origin, request.origin, 0);
    if (NULL == session || OSC_CACHED_SESSION_WAITING == session->state
        || session->number != request.session || !is_expected(session, request.number)
        || (data_bytes > session->chunk
            && (data_bytes > server->config.spare_bytes || 0 == session->spares))) {
        osc_cached_server_refuse(server, NULL, request.origin, request.window, request.token,
                                 OSC_CACHED_REFUSED_OTHER);
        return;
    }
    ahead = request.number - session->next;
    osc_cached_list_remove(&session->link); /* the one used last goes to the end */
    osc_cached_list_add(&server->sessions, &session->link);
    if (0 < request.announce) {
        grant_spares(server, session, &request);
    }
    if (0 == ahead && osc_cached_list_is_empty(&session->held)) {
        if (serve(server, session, &request, data, false, &gone)) {
            if (!gone) {
                acknowledge(server, session, false);
            }
            return;
        }
    } else {
        server->counts.early += (0 != ahead);
    }
    if (!hold(server, session, &request, data, data_bytes)) {
        if (0 == ahead) {
            advance(session);
        } else {
            session->lost |= (uint64_t) 1 << ahead;
        }
        osc_cached_server_refuse(server, session, request.origin, request.window, request.token,
                                 OSC_CACHED_REFUSED_OTHER);
    }
    serve_held(server, session);
}

void osc_cached_server_sent(osc_cached_server_t *server, void *cookie)
{
    osc_cached_reply_buffer_t *buffer = cookie;

    buffer->busy = false;
    if (NULL == buffer->session) { /* the session has ended since */
        osc_cached_server_give_memory(server, buffer, sizeof(*buffer) + buffer->bytes);
    } else {
        serve_held(server, buffer->session);
    }
}

void osc_cached_server_stored(osc_cached_server_t *server, void *cookie, bool good)
{
    osc_cached_session_t *session = cookie;

    session->storing = good ? OSC_CACHED_STORING_DONE : OSC_CACHED_STORING_FAILED;
    if (session->is_gone) {
        osc_cached_session_bury(server, session);
    } else {
        serve_held(server, session);
    }
}

void osc_cached_server_tell(osc_cached_server_t *server)
{
    while (!osc_cached_list_is_empty(&server->untold)) {
        acknowledge(server, OSC_CACHED_LIST_OF(server->untold.next, osc_cached_session_t, untold),
                    true);
    }
}
