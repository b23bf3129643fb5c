/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * What the three files of the server share: its state (osc_cached_server.h explains it), memory,
 * and replies.
 *
 *     osc_cached_server.c           the server, windows, memory, replies
 *     osc_cached_server_session.c   who may send how much
 *     osc_cached_server_request.c   what requests do, in which order
 */
#ifndef OSC_CACHED_SERVER_INTERNAL_H
#define OSC_CACHED_SERVER_INTERNAL_H

#include "osc_cached_lock.h"
#include "osc_cached_server.h"

typedef enum {
    OSC_CACHED_SESSION_WAITING,
    OSC_CACHED_SESSION_OPEN,
    OSC_CACHED_SESSION_ENDING
} osc_cached_session_state_t;

/* The operation of a session that storage was asked for. */
typedef enum {
    OSC_CACHED_STORING_NOT,
    OSC_CACHED_STORING,
    OSC_CACHED_STORING_DONE, /* its request is to be served again, and is not asked for again */
    OSC_CACHED_STORING_FAILED
} osc_cached_storing_t;

/* A request that waits for its turn. */
typedef struct osc_cached_held {
    osc_cached_link_t link;
    osc_cached_request_t request;
    uint32_t bytes;
    char data[];
} osc_cached_held_t;

/* A buffer of replies. */
typedef struct osc_cached_reply_buffer {
    struct osc_cached_session *session; /* NULL: it is gone, and the buffer goes with the reply */
    uint32_t bytes;                     /* of data */
    bool busy;
    char data[];
} osc_cached_reply_buffer_t;

typedef struct osc_cached_session {
    osc_cached_link_t link;   /* in server->waiting, or in server->sessions by use */
    osc_cached_link_t untold; /* in server->untold, or in none */
    uint64_t origin;
    uint64_t next;   /* number of the request to be done next */
    uint64_t told;   /* what the origin was told of that */
    uint64_t series; /* token of the operation that has spares */
    osc_cached_link_t held;
    uint64_t charge;
    uint32_t number; /* of the session, as told to the origin */
    uint32_t buffers;
    uint32_t chunk;
    uint32_t spares; /* spare buffers that it has */
    uint32_t blocks; /* of all layouts */
    osc_cached_session_state_t state;
    uint64_t lost;   /* bit i: there was no memory to hold request next + i, which was refused */
    bool asks_again; /* an ASK overtook the RELEASE before it */
    bool is_gone;    /* while storage works for it */
    osc_cached_storing_t storing;
    osc_cached_reply_buffer_t *into; /* where its answer goes to, if it has one */
    osc_cached_layout_t *layout[OSC_CACHED_LAYOUTS];
    osc_cached_reply_buffer_t *reply[];
} osc_cached_session_t;

typedef struct osc_cached_served {
    osc_cached_link_t link;
    osc_cached_window_id_t id;
    char *base;
    uint64_t size;
    _Atomic unsigned long *served; /* operations; NULL: nobody wants to know */
    osc_cached_listen_fn_t listen; /* to notes; NULL: nobody does */
    void *listener;
    osc_cached_store_t store; /* NULL: base is memory */
    void *store_context;
    osc_cached_lock_t lock;
    osc_cached_map_t holders; /* of the shared lock, where origins may die; value: not NULL */
} osc_cached_served_t;

struct osc_cached_server {
    osc_cached_server_config_t config;
    osc_cached_map_t by_origin;
    osc_cached_map_t by_window;
    osc_cached_link_t sessions; /* open ones, the one used longest ago first */
    osc_cached_link_t waiting;  /* for memory, in the order in which they asked */
    osc_cached_link_t untold;
    osc_cached_link_t gone; /* sessions, while storage works for them */
    osc_cached_link_t windows;
    uint64_t used;
    uint64_t waiters; /* for locks */
    uint64_t age;     /* times that osc_cached_server_age was called */
    uint32_t ending;  /* sessions that were told to end */
    uint32_t free_spares;
    uint32_t last_session; /* number */
    osc_cached_server_counts_t counts;
};

/* --- osc_cached_server.c */

void *osc_cached_server_get_memory(osc_cached_server_t *server, size_t bytes);
void osc_cached_server_give_memory(osc_cached_server_t *server, void *memory, size_t bytes);

/** Count bytes as used. @return whether there are so many */
bool osc_cached_server_charge(osc_cached_server_t *server, uint64_t bytes);

/** The second half of its name in by_window. */
static inline uint64_t osc_cached_server_second(osc_cached_window_id_t id)
{
    return (uint64_t) id.part << 32 | id.number;
}

/** The window with this name, or NULL. */
static inline osc_cached_served_t *osc_cached_server_window(const osc_cached_server_t *server,
                                                            osc_cached_window_id_t id)
{
    return osc_cached_map_get(&server->by_window, id.creator, osc_cached_server_second(id));
}

/** Send a reply, which tells how far the session (or NULL) is. */
osc_cached_sending_t osc_cached_server_reply(osc_cached_server_t *server,
                                             osc_cached_session_t *session, uint64_t origin,
                                             osc_cached_reply_t reply, const void *data,
                                             void *cookie);
void osc_cached_server_reply_plain(osc_cached_server_t *server, osc_cached_session_t *session,
                                   uint64_t origin, osc_cached_wire_kind_t kind, uint64_t token);
void osc_cached_server_refuse(osc_cached_server_t *server, osc_cached_session_t *session,
                              uint64_t origin, osc_cached_window_id_t window, uint64_t token,
                              osc_cached_refused_t why);

void osc_cached_server_free_waiter(osc_cached_server_t *server, osc_cached_waiter_t *waiter);

/** An origin has the lock now, or has given it back. */
void osc_cached_server_held(const osc_cached_server_t *server, osc_cached_served_t *window,
                            uint64_t origin, bool held);

/** After a lock was given back, or one who waited has gone. */
void osc_cached_server_pass_lock_on(osc_cached_server_t *server, osc_cached_served_t *window);

/* --- osc_cached_server_session.c */

/** Memory of a session, without its grant, and of the grant: requests on their way or held,
 * replies, layouts. */
size_t osc_cached_session_size(const osc_cached_server_t *server);
uint64_t osc_cached_session_grant_size(const osc_cached_server_t *server, uint32_t buffers,
                                       uint32_t chunk);

void osc_cached_session_ask(osc_cached_server_t *server, uint64_t origin);

/** End a session; who waits gets what it had. */
void osc_cached_session_release(osc_cached_server_t *server, osc_cached_session_t *session);

/** Sessions that wait get what is free; for the next ones others are told to end. */
void osc_cached_session_serve_waiting(osc_cached_server_t *server);

/** End a session and nothing else. */
void osc_cached_session_end(osc_cached_server_t *server, osc_cached_session_t *session);

/** Storage works no more for a session that is gone; who waits gets what it had. */
void osc_cached_session_bury(osc_cached_server_t *server, osc_cached_session_t *session);

void osc_cached_session_free_layout(osc_cached_server_t *server, osc_cached_session_t *session,
                                    uint32_t number);
void osc_cached_session_give_spares_back(osc_cached_server_t *server,
                                         osc_cached_session_t *session);

#endif /* OSC_CACHED_SERVER_INTERNAL_H */
