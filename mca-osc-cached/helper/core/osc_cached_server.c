/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The server: windows, memory, replies.
 */
#include "osc_cached_server_internal.h"

#include "osc_cached_execute.h"

#include <stdatomic.h>

void *osc_cached_server_get_memory(osc_cached_server_t *server, size_t bytes)
{
    return server->config.alloc->alloc(server->config.alloc->context, sizeof(void *), bytes);
}

void osc_cached_server_give_memory(osc_cached_server_t *server, void *memory, size_t bytes)
{
    server->config.alloc->free(server->config.alloc->context, memory, bytes);
}

bool osc_cached_server_charge(osc_cached_server_t *server, uint64_t bytes)
{
    if (bytes > server->config.memory - server->used) {
        return false;
    }
    server->used += bytes;
    if (server->used > server->counts.used_max) {
        server->counts.used_max = server->used;
    }
    return true;
}

osc_cached_sending_t osc_cached_server_reply(osc_cached_server_t *server,
                                             osc_cached_session_t *session, uint64_t origin,
                                             osc_cached_reply_t reply, const void *data,
                                             void *cookie)
{
    reply.target = server->config.name;
    if (NULL != session && OSC_CACHED_SESSION_WAITING != session->state) {
        reply.session = session->number;
        reply.done = session->next;
        session->told = session->next;
        osc_cached_list_remove(&session->untold);
    }
    /* What the reply tells of must be in memory before it: the origin may tell others. */
    atomic_thread_fence(memory_order_release);
    return server->config.send(server->config.context, origin, &reply, data, cookie);
}

void osc_cached_server_reply_plain(osc_cached_server_t *server, osc_cached_session_t *session,
                                   uint64_t origin, osc_cached_wire_kind_t kind, uint64_t token)
{
    (void) osc_cached_server_reply(server, session, origin,
                                   (osc_cached_reply_t){.kind = (uint8_t) kind, .token = token},
                                   NULL, NULL);
}

void osc_cached_server_refuse(osc_cached_server_t *server, osc_cached_session_t *session,
                              uint64_t origin, osc_cached_window_id_t window, uint64_t token,
                              osc_cached_refused_t why)
{
    ++server->counts.refused;
    (void) osc_cached_server_reply(server, session, origin,
                                   (osc_cached_reply_t){.kind = OSC_CACHED_WIRE_FAILED,
                                                        .status = (uint8_t) why,
                                                        .window = window,
                                                        .token = token},
                                   NULL, NULL);
}

void osc_cached_server_free_waiter(osc_cached_server_t *server, osc_cached_waiter_t *waiter)
{
    osc_cached_server_give_memory(server, waiter, sizeof(*waiter));
    server->used -= sizeof(*waiter);
    --server->waiters;
}

void osc_cached_server_held(const osc_cached_server_t *server, osc_cached_served_t *window,
                            uint64_t origin, bool held)
{
    if (!server->config.survives || window->lock.exclusive) {
        return;
    }
    if (!held) {
        (void) osc_cached_map_remove(&window->holders, origin, 0);
    } else if (NULL == osc_cached_map_get(&window->holders, origin, 0)) {
        /* without memory for it, nobody gets the lock of one that has died */
        (void) osc_cached_map_add(&window->holders, origin, 0, window);
    }
}

/* Who waited has the lock. */
static void tell_locked(osc_cached_server_t *server, osc_cached_served_t *window,
                        osc_cached_waiter_t *waiter)
{
    osc_cached_server_held(server, window, waiter->origin, true);
    osc_cached_server_reply_plain(server, osc_cached_map_get(&server->by_origin, waiter->origin, 0),
                                  waiter->origin, OSC_CACHED_WIRE_LOCKED, waiter->token);
    osc_cached_server_free_waiter(server, waiter);
}

/* After the lock was given back, or one who waited has gone. */
void osc_cached_server_pass_lock_on(osc_cached_server_t *server, osc_cached_served_t *window)
{
    osc_cached_waiter_t *waiter;

    while (NULL != (waiter = osc_cached_lock_next(&window->lock))) {
        tell_locked(server, window, waiter);
    }
}

uint64_t osc_cached_server_waiters(const osc_cached_server_t *server)
{
    return server->waiters;
}

void osc_cached_server_age(osc_cached_server_t *server)
{
    for (osc_cached_link_t *link = server->windows.next; link != &server->windows;
         link = link->next) {
        osc_cached_served_t *window = OSC_CACHED_LIST_OF(link, osc_cached_served_t, link);
        osc_cached_waiter_t *waiter;

        while (NULL != (waiter = osc_cached_lock_overtake(&window->lock, server->age))) {
            tell_locked(server, window, waiter);
        }
    }
    ++server->age;
}

osc_cached_refused_t osc_cached_server_local(osc_cached_server_t *server,
                                             const osc_cached_request_t *request,
                                             const osc_cached_layout_t *layout, const void *data,
                                             void *result)
{
    osc_cached_served_t *window = osc_cached_server_window(server, request->window);
    osc_cached_refused_t why;

    if (NULL == window) {
        return OSC_CACHED_REFUSED_WINDOW;
    }
    why = osc_cached_execute_check(request, layout, window->size);
    if (OSC_CACHED_REFUSED_NOT == why) {
        osc_cached_execute(request, layout, window->base, data, result);
    }
    return why;
}

/* --- Windows, origins, the server itself ------------------------------------------------------ */

int osc_cached_server_open(osc_cached_server_t *server, osc_cached_window_id_t id, void *base,
                           uint64_t size)
{
    osc_cached_served_t *window;

    if (NULL != osc_cached_server_window(server, id)) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    window = osc_cached_server_get_memory(server, sizeof(*window));
    if (NULL == window) {
        return OSC_CACHED_NO_MEMORY;
    }
    *window = (osc_cached_served_t){.id = id, .base = base, .size = size};
    osc_cached_lock_init(&window->lock);
    osc_cached_map_init(&window->holders, server->config.alloc);
    if (OSC_CACHED_OK
        != osc_cached_map_add(&server->by_window, id.creator, osc_cached_server_second(id),
                              window)) {
        osc_cached_server_give_memory(server, window, sizeof(*window));
        return OSC_CACHED_NO_MEMORY;
    }
    osc_cached_list_add(&server->windows, &window->link);
    return OSC_CACHED_OK;
}

void osc_cached_server_count(osc_cached_server_t *server, osc_cached_window_id_t id,
                             _Atomic unsigned long *served)
{
    osc_cached_server_window(server, id)->served = served;
}

void osc_cached_server_listen(osc_cached_server_t *server, osc_cached_window_id_t id,
                              osc_cached_listen_fn_t listen, void *context)
{
    osc_cached_served_t *window = osc_cached_server_window(server, id);

    window->listen = listen;
    window->listener = context;
}

void osc_cached_server_use_store(osc_cached_server_t *server, osc_cached_window_id_t id,
                                 osc_cached_store_t store, void *context)
{
    osc_cached_served_t *window = osc_cached_server_window(server, id);

    window->store = store;
    window->store_context = context;
}

void osc_cached_server_close(osc_cached_server_t *server, osc_cached_window_id_t id)
{
    osc_cached_served_t *window =
        osc_cached_map_remove(&server->by_window, id.creator, osc_cached_server_second(id));
    osc_cached_waiter_t *waiter;

    if (NULL == window) {
        return;
    }
    while (NULL != (waiter = osc_cached_lock_forget(&window->lock))) {
        osc_cached_server_refuse(server, osc_cached_map_get(&server->by_origin, waiter->origin, 0),
                                 waiter->origin, id, waiter->token, OSC_CACHED_REFUSED_WINDOW);
        osc_cached_server_free_waiter(server, waiter);
    }
    osc_cached_list_remove(&window->link);
    osc_cached_map_fini(&window->holders);
    osc_cached_server_give_memory(server, window, sizeof(*window));
}

/* The lock of a window, some of whose holders and waiters may have died. */
static void forget_lock(osc_cached_server_t *server, osc_cached_served_t *window,
                        bool (*is_dead)(void *context, uint64_t origin), void *context)
{
    osc_cached_lock_t *lock = &window->lock;
    osc_cached_link_t *link = lock->queue.next;
    bool all = lock->exclusive && is_dead(context, lock->owner);

    while (link != &lock->queue) {
        osc_cached_waiter_t *waiter = OSC_CACHED_LIST_OF(link, osc_cached_waiter_t, link);
        bool dead = is_dead(context, waiter->origin);

        link = link->next;
        if (!dead && all) {
            osc_cached_server_refuse(
                server, osc_cached_map_get(&server->by_origin, waiter->origin, 0), waiter->origin,
                window->id, waiter->token, OSC_CACHED_REFUSED_LOST);
        }
        if (dead || all) {
            osc_cached_list_remove(&waiter->link);
            osc_cached_server_free_waiter(server, waiter);
        }
    }
    lock->dead = lock->dead || all;
    for (uint32_t i = 0; i < window->holders.cells; ++i) {
        osc_cached_map_cell_t *cell = &window->holders.cell[i];

        if (NULL != cell->value && is_dead(context, cell->first)) {
            (void) osc_cached_map_remove(&window->holders, cell->first, 0);
            lock->shared -=
                0 < lock->shared; /* it is 0 where somebody gave back what it never had */
            i = UINT32_MAX;       /* others have moved up: from the beginning */
        }
    }
    osc_cached_server_pass_lock_on(server, window);
}

void osc_cached_server_forget(osc_cached_server_t *server,
                              bool (*is_dead)(void *context, uint64_t origin), void *context)
{
    osc_cached_link_t *const lists[] = {&server->waiting, &server->sessions};

    for (osc_cached_link_t *link = server->windows.next; link != &server->windows;
         link = link->next) {
        forget_lock(server, OSC_CACHED_LIST_OF(link, osc_cached_served_t, link), is_dead, context);
    }
    for (int i = 0; i < 2; i++) {
        for (osc_cached_link_t *link = lists[i]->next, *next; link != lists[i]; link = next) {
            osc_cached_session_t *session = OSC_CACHED_LIST_OF(link, osc_cached_session_t, link);

            next = link->next;
            if (is_dead(context, session->origin)) {
                osc_cached_session_end(server, session);
            }
        }
    }
    osc_cached_session_serve_waiting(server);
}

int osc_cached_server_create(const osc_cached_server_config_t *config, osc_cached_server_t **result)
{
    osc_cached_server_t *server;

    if (0 == config->buffers || 0 == config->replies || config->buffers + config->spares > 64
        || 0 == config->min_chunk || config->chunk < config->min_chunk || 0 == config->room
        || 0 != config->chunk % 16 || 0 != config->min_chunk % 16 || 0 != config->spare_bytes % 16
        || config->chunk > INT32_MAX || config->spare_bytes > INT32_MAX) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    server = config->alloc->alloc(config->alloc->context, sizeof(void *), sizeof(*server));
    if (NULL == server) {
        return OSC_CACHED_NO_MEMORY;
    }
    *server = (osc_cached_server_t){.config = *config};
    osc_cached_map_init(&server->by_origin, config->alloc);
    osc_cached_map_init(&server->by_window, config->alloc);
    osc_cached_list_init(&server->sessions);
    osc_cached_list_init(&server->waiting);
    osc_cached_list_init(&server->untold);
    osc_cached_list_init(&server->gone);
    osc_cached_list_init(&server->windows);
    server->free_spares = config->spares;
    if (!osc_cached_server_charge(server, (uint64_t) config->spares * config->spare_bytes)
        || config->memory - server->used
               < osc_cached_session_size(server)
                     + osc_cached_session_grant_size(server, 1, config->min_chunk)) {
        osc_cached_server_give_memory(server, server, sizeof(*server));
        return OSC_CACHED_BAD_ARGUMENT; /* not even one origin could be served */
    }
    *result = server;
    return OSC_CACHED_OK;
}

void osc_cached_server_destroy(osc_cached_server_t *server)
{
    const osc_cached_alloc_t *alloc;

    if (NULL == server) {
        return;
    }
    alloc = server->config.alloc;
    while (!osc_cached_list_is_empty(&server->windows)) {
        osc_cached_served_t *window =
            OSC_CACHED_LIST_OF(server->windows.next, osc_cached_served_t, link);
        osc_cached_waiter_t *waiter;

        while (NULL != (waiter = osc_cached_lock_forget(&window->lock))) {
            osc_cached_server_free_waiter(server, waiter);
        }
        osc_cached_list_remove(&window->link);
        osc_cached_map_fini(&window->holders);
        osc_cached_server_give_memory(server, window, sizeof(*window));
    }
    while (!osc_cached_list_is_empty(&server->waiting)) {
        osc_cached_session_end(
            server, OSC_CACHED_LIST_OF(server->waiting.next, osc_cached_session_t, link));
    }
    while (!osc_cached_list_is_empty(&server->sessions)) {
        osc_cached_session_end(
            server, OSC_CACHED_LIST_OF(server->sessions.next, osc_cached_session_t, link));
    }
    osc_cached_map_fini(&server->by_origin);
    osc_cached_map_fini(&server->by_window);
    alloc->free(alloc->context, server, sizeof(*server));
}

const osc_cached_server_counts_t *osc_cached_server_counts(const osc_cached_server_t *server)
{
    return &server->counts;
}

uint64_t osc_cached_server_used(const osc_cached_server_t *server)
{
    return server->used;
}

int osc_cached_server_verify(const osc_cached_server_t *server)
{
    uint64_t used = (uint64_t) server->config.spares * server->config.spare_bytes;
    uint32_t spares = server->free_spares, sessions = 0, ending = 0;
    const osc_cached_link_t *lists[] = {&server->waiting, &server->sessions, &server->gone};

    for (int i = 0; i < 3; i++) {
        for (osc_cached_link_t *link = lists[i]->next; link != lists[i]; link = link->next) {
            const osc_cached_session_t *session =
                OSC_CACHED_LIST_OF(link, osc_cached_session_t, link);
            uint64_t before = session->next;

            used += session->charge;
            spares += session->spares;
            if (2 == i) {
                if (OSC_CACHED_STORING != session->storing) {
                    return 2;
                }
                continue;
            }
            ++sessions;
            ending += OSC_CACHED_SESSION_ENDING == session->state;
            if ((OSC_CACHED_SESSION_WAITING == session->state) != (0 == i)
                || session != osc_cached_map_get(&server->by_origin, session->origin, 0)) {
                return 2;
            }
            for (osc_cached_link_t *h = session->held.next; h != &session->held; h = h->next) {
                uint64_t number = OSC_CACHED_LIST_OF(h, osc_cached_held_t, link)->request.number;

                if (number < before || number - session->next >= 64) {
                    return 3;
                }
                before = number + 1;
            }
        }
    }
    for (osc_cached_link_t *link = server->windows.next; link != &server->windows;
         link = link->next) {
        const osc_cached_served_t *window = OSC_CACHED_LIST_OF(link, osc_cached_served_t, link);

        if (0 != osc_cached_lock_verify(&window->lock)) {
            return 4;
        }
        for (osc_cached_link_t *w = window->lock.queue.next; w != &window->lock.queue;
             w = w->next) {
            used += sizeof(osc_cached_waiter_t);
        }
    }
    if (sessions != server->by_origin.count || ending != server->ending) {
        return 2;
    }
    if (spares != server->config.spares) {
        return 5;
    }
    return (used == server->used && used <= server->config.memory) ? 0 : 1;
}
