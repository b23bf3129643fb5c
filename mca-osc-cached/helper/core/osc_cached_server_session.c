/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Sessions: who may send how much to this target.
 */
#include "osc_cached_server_internal.h"

#include <string.h>

/* Of one half of the memory a new session gets at most this part of what is free. The other half is
 * for all the processes that may come: each gets its part, or the smallest grant. */
#define SHARE 8

/* This part of the memory is kept for sessions that wait. */
#define WAITING_SHARE 64

size_t osc_cached_session_size(const osc_cached_server_t *server)
{
    return sizeof(osc_cached_session_t)
           + server->config.replies * sizeof(osc_cached_reply_buffer_t *);
}

/* What a session is charged beyond its own structure: requests on their way or held, replies,
 * layouts. */
uint64_t osc_cached_session_grant_size(const osc_cached_server_t *server, uint32_t buffers,
                                       uint32_t chunk)
{
    return (uint64_t) buffers * (chunk + sizeof(osc_cached_held_t))
           + (uint64_t) server->config.replies * (chunk + sizeof(osc_cached_reply_buffer_t))
           + (uint64_t) server->config.room * sizeof(osc_cached_block_t)
           + OSC_CACHED_LAYOUTS * sizeof(osc_cached_layout_t);
}

void osc_cached_session_give_spares_back(osc_cached_server_t *server, osc_cached_session_t *session)
{
    server->free_spares += session->spares;
    session->spares = 0;
}

void osc_cached_session_free_layout(osc_cached_server_t *server, osc_cached_session_t *session,
                                    uint32_t number)
{
    osc_cached_layout_t **layout = &session->layout[number - 1];

    if (NULL != *layout) {
        session->blocks -= (*layout)->blocks;
        osc_cached_layout_free(server->config.alloc, *layout);
        *layout = NULL;
    }
}

/* Give back what a grant consists of. */
static void free_grant(osc_cached_server_t *server, osc_cached_session_t *session)
{
    for (uint32_t i = 0; i < server->config.replies; i++) {
        osc_cached_reply_buffer_t *buffer = session->reply[i];

        if (NULL != buffer && buffer->busy) {
            buffer->session = NULL; /* osc_cached_server_sent frees it */
        } else if (NULL != buffer) {
            osc_cached_server_give_memory(server, buffer, sizeof(*buffer) + session->chunk);
        }
        session->reply[i] = NULL;
    }
    for (uint32_t i = 1; i <= OSC_CACHED_LAYOUTS; i++) {
        osc_cached_session_free_layout(server, session, i);
    }
    while (!osc_cached_list_is_empty(&session->held)) {
        osc_cached_held_t *held = OSC_CACHED_LIST_OF(session->held.next, osc_cached_held_t, link);

        osc_cached_list_remove(&held->link);
        osc_cached_server_give_memory(server, held, sizeof(*held) + held->bytes);
    }
    osc_cached_session_give_spares_back(server, session);
}

/* Give back what a session has. */
static void bury(osc_cached_server_t *server, osc_cached_session_t *session)
{
    osc_cached_list_remove(&session->link);
    free_grant(server, session);
    server->used -= session->charge;
    osc_cached_server_give_memory(server, session, osc_cached_session_size(server));
}

void osc_cached_session_end(osc_cached_server_t *server, osc_cached_session_t *session)
{
    (void) osc_cached_map_remove(&server->by_origin, session->origin, 0);
    server->ending -= OSC_CACHED_SESSION_ENDING == session->state;
    osc_cached_list_remove(&session->untold);
    if (OSC_CACHED_STORING == session->storing) { /* its memory is in use: bury it then */
        osc_cached_list_remove(&session->link);
        osc_cached_list_add(&server->gone, &session->link);
        session->is_gone = true;
        return;
    }
    bury(server, session);
}

/* Memory that sessions may be granted. */
static uint64_t free_memory(const osc_cached_server_t *server)
{
    uint64_t kept = server->config.memory / WAITING_SHARE + server->used;

    return (kept < server->config.memory) ? server->config.memory - kept : 0;
}

/* Choose the largest grant that takes at most its share of the memory, else the smallest. */
static void choose_grant(const osc_cached_server_t *server, uint32_t *buffers, uint32_t *chunk)
{
    uint64_t half = server->config.memory / 2, share = 0, of_each;

    if (server->used < half) {
        share = (half - server->used) / SHARE;
    }
    if (0 < server->config.origins) {
        of_each = (half - server->config.memory / WAITING_SHARE) / server->config.origins;
        of_each = (of_each < free_memory(server)) ? of_each : free_memory(server);
        share = (share + osc_cached_session_size(server) < of_each)
                    ? of_each - osc_cached_session_size(server)
                    : share;
    }
    *buffers = server->config.buffers;
    *chunk = server->config.chunk;
    while (1 < *buffers && osc_cached_session_grant_size(server, *buffers, *chunk) > share) {
        *buffers /= 2;
    }
    while (*chunk > server->config.min_chunk
           && osc_cached_session_grant_size(server, *buffers, *chunk) > share) {
        *chunk = *chunk / 32 * 16;
        *chunk = *chunk < server->config.min_chunk ? server->config.min_chunk : *chunk;
    }
}

/* Give a waiting session its buffers. @return whether there was memory */
static bool grant(osc_cached_server_t *server, osc_cached_session_t *session)
{
    uint64_t bytes;

    choose_grant(server, &session->buffers, &session->chunk);
    bytes = osc_cached_session_grant_size(server, session->buffers, session->chunk);
    if ((!osc_cached_list_is_empty(&server->sessions) && bytes > free_memory(server))
        || !osc_cached_server_charge(server, bytes)) {
        return false;
    }
    for (uint32_t i = 0; i < server->config.replies; i++) {
        osc_cached_reply_buffer_t *buffer =
            osc_cached_server_get_memory(server, sizeof(*buffer) + session->chunk);

        session->reply[i] = buffer;
        if (NULL == buffer) {
            free_grant(server, session);
            server->used -= bytes;
            return false;
        }
        *buffer = (osc_cached_reply_buffer_t){.session = session, .bytes = session->chunk};
    }
    session->charge += bytes;
    session->state = OSC_CACHED_SESSION_OPEN;
    session->next = 0;
    session->told = 0;
    server->last_session += (UINT32_MAX == server->last_session) ? 2 : 1; /* 0 is none */
    session->number = server->last_session;
    osc_cached_list_remove(&session->link);
    osc_cached_list_add(&server->sessions, &session->link);
    ++server->counts.sessions;
    (void) osc_cached_server_reply(server, session, session->origin,
                                   (osc_cached_reply_t){.kind = OSC_CACHED_WIRE_GRANT,
                                                        .buffers = session->buffers,
                                                        .chunk = session->chunk,
                                                        .room = server->config.room},
                                   NULL, NULL);
    return true;
}

/* Let so many sessions end, the ones used longest ago, that this many do. */
static void revoke(osc_cached_server_t *server, uint32_t wanted)
{
    for (osc_cached_link_t *link = server->sessions.next;
         link != &server->sessions && server->ending < wanted; link = link->next) {
        osc_cached_session_t *session = OSC_CACHED_LIST_OF(link, osc_cached_session_t, link);

        if (OSC_CACHED_SESSION_OPEN == session->state) {
            session->state = OSC_CACHED_SESSION_ENDING;
            ++server->ending;
            ++server->counts.revoked;
            osc_cached_server_reply_plain(server, session, session->origin, OSC_CACHED_WIRE_REVOKE,
                                          0);
        }
    }
}

void osc_cached_session_serve_waiting(osc_cached_server_t *server)
{
    uint32_t waiting = 0;

    while (!osc_cached_list_is_empty(&server->waiting)
           && grant(server, OSC_CACHED_LIST_OF(server->waiting.next, osc_cached_session_t, link))) {
    }
    for (osc_cached_link_t *link = server->waiting.next;
         link != &server->waiting && waiting < SHARE; link = link->next) {
        ++waiting;
    }
    revoke(server, waiting);
}

void osc_cached_session_bury(osc_cached_server_t *server, osc_cached_session_t *session)
{
    bury(server, session);
    osc_cached_session_serve_waiting(server);
}

/* There is no memory to remember an origin. It asks again, and something is to be free then. */
static void send_away(osc_cached_server_t *server, uint64_t origin)
{
    ++server->counts.later;
    osc_cached_server_reply_plain(server, NULL, origin, OSC_CACHED_WIRE_LATER, 0);
    revoke(server, SHARE);
}

void osc_cached_session_ask(osc_cached_server_t *server, uint64_t origin)
{
    osc_cached_session_t *session = osc_cached_map_get(&server->by_origin, origin, 0);
    size_t bytes = osc_cached_session_size(server);

    if (NULL != session) {
        /* It has sent RELEASE before, which is still on its way; or has asked twice. */
        session->asks_again = OSC_CACHED_SESSION_WAITING != session->state;
        return;
    }
    if (!osc_cached_server_charge(server, bytes)) {
        send_away(server, origin);
        return;
    }
    session = osc_cached_server_get_memory(server, bytes);
    if (NULL == session
        || OSC_CACHED_OK != osc_cached_map_add(&server->by_origin, origin, 0, session)) {
        if (NULL != session) {
            osc_cached_server_give_memory(server, session, bytes);
        }
        server->used -= bytes;
        send_away(server, origin);
        return;
    }
    memset(session, 0, bytes);
    session->origin = origin;
    session->charge = bytes;
    session->state = OSC_CACHED_SESSION_WAITING;
    osc_cached_list_init(&session->held);
    osc_cached_list_init(&session->untold);
    osc_cached_list_add(&server->waiting, &session->link);
    osc_cached_session_serve_waiting(server);
}

void osc_cached_session_release(osc_cached_server_t *server, osc_cached_session_t *session)
{
    uint64_t origin = session->origin;
    bool again = session->asks_again;

    osc_cached_session_end(server, session);
    osc_cached_session_serve_waiting(server);
    if (again) {
        osc_cached_session_ask(server, origin);
    }
}
