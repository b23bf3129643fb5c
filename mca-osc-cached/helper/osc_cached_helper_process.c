/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "ompi_config.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "opal/runtime/opal_progress.h"
#include "opal/util/proc.h"
#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"

#include "osc_cached_compat.h"
#include "osc_cached_params.h"
#include "osc_cached_window.h"
#include "core/osc_cached_move.h"
#include "osc_cached_helper_place.h"
#include "osc_cached_helper_process.h"
#include "osc_cached_helper_reader.h"
#include "osc_cached_helper_ucx.h"

enum {
    MIN_CHUNK = 3008,         /* bytes; the paper's smallest buffers, cut to a multiple of 16 */
    REPLIES = 2,              /* buffers of a session for data on its way back */
    LAYOUT_ROOM = 512,        /* blocks of layouts that a session keeps */
    SPINS = 32,               /* looks at the network before the processor is offered to others */
    RARELY = 64,              /* calls of progress; a look costs 0.6 us over TCP */
    SESSION_BYTES = 64 << 10, /* more than a session of small buffers takes of a target's memory */
    DEATHS = 100,             /* ms between two looks for processes that have died */
};

/* A note that could not be sent. */
typedef struct unsent {
    struct unsent *next;
    uint64_t name;
    osc_cached_request_t note;
    void *data;
} unsent_t;

static struct {
    osc_cached_ucx_t *ucx;       /* NULL: it does not run */
    osc_cached_server_t *server; /* NULL: it has no thread */
    osc_cached_client_t client;
    osc_cached_map_t addresses;   /* by name, of who has not died; written under both locks */
    pthread_mutex_t lock;         /* of the client */
    osc_cached_move_t move;       /* the server's lock */
    uint32_t windows;             /* numbers given */
    osc_cached_listen_fn_t stray; /* the server's lock: who hears notes of unknown windows */
    unsent_t *unsent;             /* the same: notes that could not be sent */
    uint64_t tried_at;            /* the same: when it was tried to send them again */
    uint64_t aged_at;             /* the same: when osc_cached_server_age was called */
    bool noted;                   /* the same: the thread has to look after notes */
    _Atomic uint32_t requests;    /* of R-forms, not complete */
    _Atomic uint32_t calls;       /* of progress() */
    uint64_t looked;              /* ns; for processes that have died, where the job goes on then */
} helper = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* several threads may make the first window at the same time */
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;

static void lock(void)
{
    (void) pthread_mutex_lock(&helper.lock);
}

static void unlock(void)
{
    (void) pthread_mutex_unlock(&helper.lock);
}

/* --- The thread's side */

static void on_request(void *context, const void *header, size_t header_bytes, const void *data,
                       size_t data_bytes)
{
    osc_cached_server_receive(helper.server, header, header_bytes, data, data_bytes);
}

static void on_sent(void *context, void *cookie)
{
    osc_cached_server_sent(helper.server, cookie);
}

/* @return whether it goes, or nobody waits for it because the other has died */
static bool send_note(uint64_t name, const osc_cached_request_t *note, void *data)
{
    const void *address = osc_cached_map_get(&helper.addresses, name, 0);
    osc_cached_sending_t sending;

    if (NULL == address) {
        free(data);
        return true;
    }
    sending = osc_cached_ucx_note(helper.ucx, name, address, note, data);
    helper.noted = helper.noted || OSC_CACHED_SENT != sending;
    return OSC_CACHED_LOST != sending;
}

static void send_unsent(void)
{
    unsent_t **link = &helper.unsent, *unsent;

    while (NULL != (unsent = *link)) {
        if (send_note(unsent->name, &unsent->note, unsent->data)) {
            *link = unsent->next;
            free(unsent);
        } else {
            link = &unsent->next;
        }
    }
}

enum {
    PATIENCE = 5, /* ms that shared requests wait behind exclusive ones, or up to twice as long */
    AGAIN = 100,  /* ms until notes that could not be sent are tried again */
};

static int on_idle(void *context)
{
    const osc_cached_server_counts_t *counts = osc_cached_server_counts(helper.server);

    if (OPAL_UNLIKELY(NULL != helper.unsent)
        && ompi_osc_cached_now() - helper.tried_at >= AGAIN * 1000000) {
        send_unsent(); /* which may itself be what woke the thread */
        helper.tried_at = ompi_osc_cached_now();
    }
    osc_cached_server_tell(helper.server);
    if (OPAL_UNLIKELY(osc_cached_move_is_due(&helper.move, counts->combined, counts->bytes))) {
        ompi_osc_cached_helper_move_on();
    }
    if (OPAL_LIKELY(0 == osc_cached_server_waiters(helper.server))) {
        return NULL == helper.unsent ? -1 : AGAIN;
    }
    if (ompi_osc_cached_now() - helper.aged_at >= PATIENCE * 1000000) {
        osc_cached_server_age(helper.server);
        helper.aged_at = ompi_osc_cached_now();
    }
    return PATIENCE;
}

static void on_stray(void *context, const osc_cached_request_t *note, const void *data)
{
    if (NULL != helper.stray) {
        helper.stray(NULL, note, data);
    }
}

static osc_cached_sending_t send_reply(void *context, uint64_t origin,
                                       const osc_cached_reply_t *reply, const void *data,
                                       void *cookie)
{
    return osc_cached_ucx_reply(helper.ucx, origin, reply, data, cookie);
}

/* --- The origin's side */

static opal_process_name_t process_name(uint64_t name)
{
    return (opal_process_name_t){.jobid = (opal_jobid_t) (name >> 32), .vpid = (opal_vpid_t) name};
}

static void on_reply(void *context, const void *header, size_t header_bytes, const void *data,
                     size_t data_bytes)
{
    osc_cached_client_receive(&helper.client, header, header_bytes, data, data_bytes);
}

static void on_lost(void *context, void *cookie)
{
    osc_cached_client_lost(&helper.client, cookie);
}

static void on_gone(void *context, void *cookie)
{
    osc_cached_remote_t *remote = cookie;

    (void) context;
    ++remote->gone;
}

static void *reserve(void *context, size_t data_bytes)
{
    return osc_cached_ucx_reserve(helper.ucx, data_bytes);
}

static bool send_request(void *context, osc_cached_remote_t *remote, void *message,
                         size_t data_bytes)
{
    osc_cached_sending_t sending =
        osc_cached_ucx_send(helper.ucx, remote->context, message, data_bytes, remote);

    remote->kept += OSC_CACHED_SENDING == sending;
    return OSC_CACHED_LOST != sending;
}

static bool is_dead(void *context, uint64_t name)
{
    (void) context;
    return ompi_osc_cached_is_dead(process_name(name));
}

/* A process has died, and answers no more; the lock is held. */
static void bury(uint64_t name)
{
    osc_cached_remote_t *remote = osc_cached_map_get(&helper.client.remotes, name, 0);

    osc_cached_ucx_lock(helper.ucx);
    free(osc_cached_map_remove(&helper.addresses, name, 0));
    osc_cached_ucx_unlock(helper.ucx, false);
    if (NULL != remote) {
        osc_cached_client_lost(&helper.client, remote);
    }
}

/* Somebody waits: has Open MPI heard of somebody else who has died? Looks now and then, in jobs
 * that go on then; the lock is held. */
static void look_for_dead(void)
{
    uint64_t now = ompi_osc_cached_survives_deaths() ? ompi_osc_cached_now() : 0;

    if (now < helper.looked + DEATHS * UINT64_C(1000000)) {
        return;
    }
    helper.looked = now;
    for (uint32_t i = 0; i < helper.addresses.cells; ++i) {
        uint64_t name = helper.addresses.cell[i].first;

        if (NULL != helper.addresses.cell[i].value && is_dead(NULL, name)) {
            bury(name);
            i = UINT32_MAX; /* others have moved up: from the beginning */
        }
    }
    if (NULL != helper.server) {
        osc_cached_ucx_lock(helper.ucx);
        osc_cached_server_forget(helper.server, is_dead, NULL);
        osc_cached_ucx_unlock(helper.ucx, true);
    }
}

/* Let something happen; the lock is held.  What we wait for may need Open MPI's own progress: of
 * our process, because the holder of a lock waits for us to take part in its put. */
static void let_progress(unsigned *spins)
{
    if (osc_cached_ucx_progress(helper.ucx)) {
        *spins = 0;
        return;
    }
    unlock();
    opal_progress();
    if (SPINS < ++*spins) {
        (void) sched_yield();
        lock();
        look_for_dead();
    } else {
        lock();
    }
}

/* What Open MPI calls wherever it waits.  Requests of R-forms complete here; without any, a look
 * now and then is for a target that wants its buffers back: others may wait for them, and we for
 * those.
 */
static int progress(void)
{
    uint32_t calls = atomic_load_explicit(&helper.calls, memory_order_relaxed) + 1;
    int events;

    atomic_store_explicit(&helper.calls, calls,
                          memory_order_relaxed); /* nobody needs all of them */
    if (0 == atomic_load_explicit(&helper.requests, memory_order_relaxed) && 0 != calls % RARELY) {
        return 0;
    }
    if (0 != pthread_mutex_trylock(&helper.lock)) {
        return 0; /* somebody else does it */
    }
    events = osc_cached_ucx_progress(helper.ucx);
    if (0 == events) {
        look_for_dead();
    }
    unlock();
    return events;
}

/* --- Life */

/* Of this process. Not OMPI_PROC_MY_NAME: with it a component of 4.1 would not even load in 5.0,
 * and could not step aside. */
static uint64_t my_name(void)
{
    const opal_process_name_t *name = &opal_proc_local_get()->proc_name;

    return (uint64_t) name->jobid << 32 | name->vpid;
}

static int make_server(void)
{
    const ompi_osc_cached_numbers_t *numbers = &ompi_osc_cached_numbers;
    osc_cached_server_config_t config = {
        .alloc = &osc_cached_alloc_default,
        .name = my_name(),
        .memory = (uint64_t) numbers->helper_memory,
        .origins = (uint64_t) ompi_proc_world_size(),
        .buffers = (uint32_t) numbers->helper_buffers,
        .chunk = (uint32_t) numbers->helper_chunk / 16 * 16,
        .min_chunk = MIN_CHUNK,
        .replies = REPLIES,
        .room = LAYOUT_ROOM,
        .spares = (uint32_t) numbers->helper_spares,
        .spare_bytes = (uint32_t) numbers->helper_spare_bytes / 16 * 16,
        .survives = ompi_osc_cached_survives_deaths(),
        .send = send_reply,
        .stray = on_stray,
    };

    return osc_cached_server_create(&config, &helper.server);
}

/* As an origin. */
static const char *start_asking(void)
{
    osc_cached_ucx_handlers_t handlers = {.request = on_request,
                                          .sent = on_sent,
                                          .idle = on_idle,
                                          .reply = on_reply,
                                          .lost = on_lost,
                                          .gone = on_gone};
    osc_cached_client_config_t config = {.alloc = &osc_cached_alloc_default,
                                         .name = my_name(),
                                         .reserve = reserve,
                                         .send = send_request};
    const char *why = NULL;

    ompi_osc_cached_helper_look_around();
    osc_cached_client_init(&helper.client, &config);
    osc_cached_map_init(&helper.addresses, &osc_cached_alloc_default);
    helper.ucx = osc_cached_ucx_start(&handlers, &why);
    if (NULL == helper.ucx) {
        osc_cached_client_fini(&helper.client);
        return why;
    }
    (void) opal_progress_register(progress);
    return NULL;
}

/* And as a target. */
static const char *start_serving(void)
{
    const char *why = NULL;

    if (OSC_CACHED_OK != make_server()) {
        return "there is no memory, or osc_cached_helper_memory is too small";
    }
    if (!osc_cached_ucx_serve(helper.ucx, &why)) {
        osc_cached_server_destroy(helper.server);
        helper.server = NULL;
        return why;
    }
    return NULL;
}

const char *ompi_osc_cached_helper_start(bool serves)
{
    const char *why = NULL;

    (void) pthread_mutex_lock(&starting);
    if (NULL == helper.ucx) {
        why = start_asking();
    }
    if (NULL == why && serves && NULL == helper.server) {
        why = start_serving();
    }
    (void) pthread_mutex_unlock(&starting);
    return why;
}

bool ompi_osc_cached_helper_is_running(void)
{
    bool running;

    (void) pthread_mutex_lock(&starting);
    running = NULL != helper.ucx;
    (void) pthread_mutex_unlock(&starting);
    return running;
}

bool ompi_osc_cached_helper_serves(void)
{
    bool serves;

    (void) pthread_mutex_lock(&starting);
    serves = NULL != helper.server;
    (void) pthread_mutex_unlock(&starting);
    return serves;
}

void ompi_osc_cached_helper_settle(const char *const *processors, unsigned count, unsigned me)
{
    const ompi_osc_cached_numbers_t *numbers = &ompi_osc_cached_numbers;
    ompi_osc_cached_place_t place;

    osc_cached_ucx_lock(helper.ucx);
    place = ompi_osc_cached_helper_place(osc_cached_ucx_thread(helper.ucx), processors, count, me);
    helper.move.threshold =
        (OSC_CACHED_PLACE_SHARED == place) ? (uint64_t) numbers->helper_move : 0;
    osc_cached_ucx_spin(
        helper.ucx, (OSC_CACHED_PLACE_OWN == place) ? (uint64_t) (numbers->helper_spin * 1000) : 0);
    osc_cached_ucx_unlock(helper.ucx, false);
}

void ompi_osc_cached_helper_runs_on(char *list, size_t bytes)
{
    *list = '\0';
    if (ompi_osc_cached_helper_serves()) {
        ompi_osc_cached_helper_where(osc_cached_ucx_thread(helper.ucx), list, bytes);
    }
}

void ompi_osc_cached_helper_stop(void)
{
    if (NULL == helper.ucx) {
        return;
    }
    (void) opal_progress_unregister(progress);
    osc_cached_ucx_stop(helper.ucx);
    helper.ucx = NULL;
    osc_cached_client_fini(&helper.client);
    osc_cached_server_destroy(helper.server);
    helper.server = NULL;
    while (NULL != helper.unsent) {
        unsent_t *unsent = helper.unsent;

        helper.unsent = unsent->next;
        free(unsent->data);
        free(unsent);
    }
    for (uint32_t i = 0; i < helper.addresses.cells; ++i) {
        free(helper.addresses.cell[i].value);
    }
    osc_cached_map_fini(&helper.addresses);
}

void ompi_osc_cached_helper_counts(unsigned long *counts)
{
    osc_cached_server_counts_t server = {0};
    osc_cached_client_counts_t client = {0};
    osc_cached_ucx_counts_t thread = {0};
    uint64_t used = 0, moves = 0;

    (void) pthread_mutex_lock(&starting);
    if (NULL != helper.server) {
        osc_cached_ucx_lock(helper.ucx);
        server = *osc_cached_server_counts(helper.server);
        used = osc_cached_server_used(helper.server);
        thread = osc_cached_ucx_counts(helper.ucx);
        moves = helper.move.moves;
        osc_cached_ucx_unlock(helper.ucx, false);
    }
    if (NULL != helper.ucx) {
        lock();
        client = helper.client.counts;
        unlock();
    }
    (void) pthread_mutex_unlock(&starting);
#define OSC_CACHED_HELPER_STAT(name, value, help) *counts++ = (unsigned long) (value);
#define OSC_CACHED_HELPER_LEVEL(name, value, help) *counts++ = (unsigned long) (value);
#include "osc_cached_helper_stats.def"
}

const void *ompi_osc_cached_helper_address(size_t *bytes)
{
    return osc_cached_ucx_address(helper.ucx, bytes);
}

bool ompi_osc_cached_helper_knows(uint64_t name)
{
    bool known;

    lock();
    known = NULL != osc_cached_map_get(&helper.addresses, name, 0);
    unlock();
    return known;
}

bool ompi_osc_cached_helper_asks(uint64_t name)
{
    const osc_cached_remote_t *remote;
    bool asks;

    lock();
    remote = osc_cached_map_get(&helper.client.remotes, name, 0);
    asks = NULL != remote && NULL != remote->context;
    unlock();
    return asks;
}

bool ompi_osc_cached_helper_is_asked_by(uint64_t name)
{
    bool asked;

    osc_cached_ucx_lock(helper.ucx);
    asked = osc_cached_ucx_is_asked_by(helper.ucx, name);
    osc_cached_ucx_unlock(helper.ucx, false);
    return asked;
}

bool ompi_osc_cached_helper_is_noted(uint64_t name)
{
    bool noted;

    osc_cached_ucx_lock(helper.ucx);
    noted = osc_cached_ucx_is_noted(helper.ucx, name);
    osc_cached_ucx_unlock(helper.ucx, false);
    return noted;
}

bool ompi_osc_cached_helper_learn(uint64_t name, const void *address, size_t bytes)
{
    void *copy;
    bool learnt;

    lock();
    learnt = NULL != osc_cached_map_get(&helper.addresses, name, 0);
    if (!learnt) {
        copy = malloc(bytes);
        if (NULL != copy) {
            memcpy(copy, address, bytes);
            osc_cached_ucx_lock(helper.ucx); /* the thread reads them */
            learnt = OSC_CACHED_OK == osc_cached_map_add(&helper.addresses, name, 0, copy);
            osc_cached_ucx_unlock(helper.ucx, false);
            if (!learnt) {
                free(copy);
            }
        }
    }
    unlock();
    return learnt;
}

uint32_t ompi_osc_cached_helper_number(void)
{
    uint32_t number;

    (void) pthread_mutex_lock(&starting);
    number = helper.windows++;
    (void) pthread_mutex_unlock(&starting);
    return number;
}

int ompi_osc_cached_helper_open(osc_cached_window_id_t id, void *base, uint64_t size,
                                _Atomic unsigned long *served, ompi_osc_cached_reader_t *reader)
{
    int ret;

    osc_cached_ucx_lock(helper.ucx);
    ret = osc_cached_server_open(helper.server, id, base, size);
    if (OSC_CACHED_OK == ret) {
        osc_cached_server_count(helper.server, id, served);
        if (NULL != reader) {
            osc_cached_server_use_store(helper.server, id, ompi_osc_cached_reader_store, reader);
        }
    }
    osc_cached_ucx_unlock(helper.ucx, false);
    return (OSC_CACHED_OK == ret) ? OMPI_SUCCESS : OMPI_ERR_OUT_OF_RESOURCE;
}

void ompi_osc_cached_helper_close(osc_cached_window_id_t id)
{
    osc_cached_ucx_lock(helper.ucx);
    osc_cached_server_close(helper.server, id);
    osc_cached_ucx_unlock(helper.ucx, true);
}

void ompi_osc_cached_helper_stored(void *cookie, bool good)
{
    osc_cached_ucx_lock(helper.ucx);
    osc_cached_server_stored(helper.server, cookie, good);
    osc_cached_ucx_unlock(helper.ucx, true);
}

/* --- Notes */

void ompi_osc_cached_helper_listen(osc_cached_window_id_t id, osc_cached_listen_fn_t listen,
                                   void *context)
{
    osc_cached_ucx_lock(helper.ucx);
    osc_cached_server_listen(helper.server, id, listen, context);
    osc_cached_ucx_unlock(helper.ucx, false);
}

void ompi_osc_cached_helper_listen_to_strays(osc_cached_listen_fn_t listen)
{
    osc_cached_ucx_lock(helper.ucx);
    helper.stray = listen;
    osc_cached_ucx_unlock(helper.ucx, false);
}

void ompi_osc_cached_helper_enter(void)
{
    osc_cached_ucx_lock(helper.ucx);
    helper.noted = false;
}

void ompi_osc_cached_helper_leave(void)
{
    osc_cached_ucx_unlock(helper.ucx, helper.noted);
}

uint32_t ompi_osc_cached_helper_queued(void)
{
    return osc_cached_ucx_queued(helper.ucx);
}

void ompi_osc_cached_helper_note(uint64_t name, osc_cached_request_t note, void *data)
{
    note.kind = OSC_CACHED_WIRE_NOTE;
    note.origin = my_name();
    if (!send_note(name, &note, data)) {
        unsent_t *unsent;

        do { /* no memory for some hundred bytes: others will give some back */
            unsent = malloc(sizeof(*unsent));
        } while (NULL == unsent);
        *unsent = (unsent_t){.next = helper.unsent, .name = name, .note = note, .data = data};
        helper.unsent = unsent;
    }
}

/* --- Operations */

int ompi_osc_cached_helper_error(osc_cached_refused_t why)
{
    switch (why) {
    case OSC_CACHED_REFUSED_NOT:
        return OMPI_SUCCESS;
    case OSC_CACHED_REFUSED_RANGE:
    case OSC_CACHED_REFUSED_LENGTH:
        return MPI_ERR_RMA_RANGE;
    case OSC_CACHED_REFUSED_LOCK:
        return MPI_ERR_RMA_SYNC;
    case OSC_CACHED_REFUSED_WINDOW:
        return MPI_ERR_WIN;
    case OSC_CACHED_REFUSED_IO:
        return MPI_ERR_IO;
    case OSC_CACHED_REFUSED_LOST:
        return ompi_osc_cached_survives_deaths() ? OSC_CACHED_ERR_DEAD : OMPI_ERR_UNREACH;
    default:
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
}

osc_cached_remote_t *ompi_osc_cached_helper_reach(uint64_t name)
{
    osc_cached_remote_t *remote;
    const void *address;

    lock();
    remote = osc_cached_client_remote(&helper.client, name);
    if (NULL != remote && NULL == remote->context) {
        address = osc_cached_map_get(&helper.addresses, name, 0);
        if (NULL != address) {
            remote->context = osc_cached_ucx_connect(helper.ucx, address);
        } else if (ompi_osc_cached_survives_deaths()) { /* it has died */
            osc_cached_client_lost(&helper.client, remote);
        }
        if (NULL == remote->context && !remote->lost) {
            remote = NULL;
        }
    }
    unlock();
    return remote;
}

void ompi_osc_cached_helper_watch(osc_cached_remote_t *remote, osc_cached_window_id_t id,
                                  osc_cached_refusals_t *refusals)
{
    lock();
    osc_cached_client_watch(remote, id, refusals);
    unlock();
}

void ompi_osc_cached_helper_unwatch(osc_cached_remote_t *remote, osc_cached_refusals_t *refusals)
{
    lock();
    osc_cached_client_unwatch(refusals);
    /* a process of another job may live longer than we do, and has no use for our session then */
    if (osc_cached_list_is_empty(&remote->refusals) && my_name() >> 32 != remote->name >> 32) {
        osc_cached_client_leave(&helper.client, remote);
        (void) osc_cached_ucx_progress(helper.ucx);
    }
    unlock();
}

/* May a target have too little memory for all processes at a time, so that some give theirs back?
 */
static bool is_scarce(void)
{
    const ompi_osc_cached_numbers_t *numbers = &ompi_osc_cached_numbers;
    double spares = numbers->helper_spares * numbers->helper_spare_bytes;

    return numbers->helper_memory - spares < (double) SESSION_BYTES * ompi_proc_world_size();
}

/* What is on its way is waited for, but not long: the inner component may then wait for others
 * without letting us hear of it. */
void ompi_osc_cached_helper_give_back(void)
{
    enum { LONG = 1000000000 }; /* ns: for a process that has stopped, or reads a file */
    uint64_t begin = ompi_osc_cached_now();
    unsigned spins = 0;

    if (!is_scarce()) {
        return;
    }
    lock();
    for (osc_cached_link_t *link = helper.client.all.next; link != &helper.client.all;
         link = link->next) {
        osc_cached_remote_t *remote = OSC_CACHED_LIST_OF(link, osc_cached_remote_t, link);
        osc_cached_mark_t mark = osc_cached_client_mark(&helper.client, remote);

        while (!osc_cached_client_is_done(remote, mark) && ompi_osc_cached_now() - begin < LONG) {
            let_progress(&spins);
        }
        osc_cached_client_leave(&helper.client, remote);
    }
    (void) osc_cached_ucx_progress(helper.ucx);
    unlock();
}

static int submit(osc_cached_remote_t *remote, osc_cached_call_t *call)
{
    osc_cached_push_t pushed;
    unsigned spins = 0;

    while (OSC_CACHED_PUSH_WAIT
           == (pushed = osc_cached_client_push(&helper.client, remote, call))) {
        let_progress(&spins);
    }
    return (OSC_CACHED_PUSH_SENT == pushed) ? OMPI_SUCCESS
           : (OSC_CACHED_PUSH_LOST == pushed)
               ? ompi_osc_cached_helper_error(OSC_CACHED_REFUSED_LOST)
               : OMPI_ERR_OUT_OF_RESOURCE;
}

int ompi_osc_cached_helper_submit(osc_cached_remote_t *remote, osc_cached_call_t *call)
{
    int ret;

    lock();
    ret = submit(remote, call);
    unlock();
    return ret;
}

typedef struct {
    osc_cached_refused_t why;
    bool over;
} locking_t;

static void locked(osc_cached_call_t *call, osc_cached_refused_t why)
{
    locking_t *locking = call->context;

    locking->why = why;
    locking->over = true;
}

int ompi_osc_cached_helper_lock(osc_cached_remote_t *remote, osc_cached_window_id_t id,
                                bool exclusive)
{
    locking_t locking = {.over = false};
    osc_cached_call_t call = {
        .request = {.kind = OSC_CACHED_WIRE_LOCK, .window = id, .count = exclusive},
        .end = locked,
        .context = &locking};
    unsigned spins = 0;
    int ret;

    lock();
    ret = submit(remote, &call);
    while (OMPI_SUCCESS == ret && !locking.over) {
        let_progress(&spins);
        if (!locking.over) { /* the target may have sent us away: then it is asked again */
            ret = submit(remote, &call);
        }
    }
    unlock();
    return (OMPI_SUCCESS == ret) ? ompi_osc_cached_helper_error(locking.why) : ret;
}

int ompi_osc_cached_helper_unlock(osc_cached_remote_t *remote, osc_cached_window_id_t id)
{
    osc_cached_call_t call = {.request = {.kind = OSC_CACHED_WIRE_UNLOCK, .window = id}};
    unsigned spins = 0;
    uint64_t kept;
    int ret;

    lock();
    ret = submit(remote, &call);
    kept = remote->kept;
    while (OMPI_SUCCESS == ret && remote->gone < kept && !remote->lost) {
        let_progress(&spins); /* others wait for the lock, and our program may now compute */
    }
    unlock();
    return ret;
}

int ompi_osc_cached_helper_flush(osc_cached_remote_t *remote, osc_cached_refusals_t *refusals)
{
    osc_cached_refused_t why;
    osc_cached_mark_t mark;
    unsigned spins = 0;
    bool lost;

    lock();
    mark = osc_cached_client_mark(&helper.client, remote);
    while (!osc_cached_client_is_done(remote, mark)) {
        let_progress(&spins);
    }
    why = osc_cached_client_refused(refusals);
    lost = remote->lost;
    unlock();
    return ompi_osc_cached_helper_error(lost ? OSC_CACHED_REFUSED_LOST : why);
}

int ompi_osc_cached_helper_flush_local(osc_cached_remote_t *remote,
                                       const osc_cached_refusals_t *refusals)
{
    osc_cached_refused_t why;
    osc_cached_mark_t mark;
    unsigned spins = 0;
    bool lost;

    lock();
    mark = osc_cached_client_mark(&helper.client, remote);
    while (!osc_cached_client_is_answered(remote, mark)) {
        let_progress(&spins);
    }
    why =
        refusals->why; /* the next flush tells it, too: it may be of an operation without answer */
    lost = remote->lost;
    unlock();
    return ompi_osc_cached_helper_error(lost ? OSC_CACHED_REFUSED_LOST : why);
}

void ompi_osc_cached_helper_request_begun(void)
{
    atomic_fetch_add_explicit(&helper.requests, 1, memory_order_relaxed);
}

void ompi_osc_cached_helper_request_completed(void)
{
    atomic_fetch_sub_explicit(&helper.requests, 1, memory_order_relaxed);
}

int ompi_osc_cached_helper_local(const osc_cached_request_t *request,
                                 const osc_cached_layout_t *layout, const void *data, void *result)
{
    osc_cached_refused_t why;

    osc_cached_ucx_lock(helper.ucx);
    why = osc_cached_server_local(helper.server, request, layout, data, result);
    osc_cached_ucx_unlock(helper.ucx, false);
    return ompi_osc_cached_helper_error(why);
}
