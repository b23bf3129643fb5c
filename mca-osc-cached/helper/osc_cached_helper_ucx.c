/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2, pthread_setname_np */
#endif

#include "osc_cached_helper_ucx.h"

#if defined(__has_include) && !defined(OSC_CACHED_WITHOUT_UCX)
#if __has_include(<ucp/api/ucp.h>)
#include <ucp/api/ucp.h>
#endif
#endif

#ifndef UCP_API_VERSION /* built without UCX */

osc_cached_ucx_t *osc_cached_ucx_start(const osc_cached_ucx_handlers_t *handlers, const char **why)
{
    (void) handlers;
    *why = "osc/cached was built without UCX";
    return NULL;
}

/* The rest is never called. */

bool osc_cached_ucx_serve(osc_cached_ucx_t *ucx, const char **why)
{
    (void) ucx;
    (void) why;
    return false;
}

void osc_cached_ucx_stop(osc_cached_ucx_t *ucx)
{
    (void) ucx;
}

const void *osc_cached_ucx_address(const osc_cached_ucx_t *ucx, size_t *bytes)
{
    (void) ucx;
    *bytes = 0;
    return NULL;
}

pthread_t osc_cached_ucx_thread(const osc_cached_ucx_t *ucx)
{
    (void) ucx;
    return pthread_self();
}

osc_cached_ucx_counts_t osc_cached_ucx_counts(const osc_cached_ucx_t *ucx)
{
    (void) ucx;
    return (osc_cached_ucx_counts_t){0};
}

void osc_cached_ucx_spin(osc_cached_ucx_t *ucx, uint64_t ns)
{
    (void) ucx;
    (void) ns;
}

void osc_cached_ucx_lock(osc_cached_ucx_t *ucx)
{
    (void) ucx;
}

void osc_cached_ucx_wake(osc_cached_ucx_t *ucx)
{
    (void) ucx;
}

void osc_cached_ucx_unlock(osc_cached_ucx_t *ucx, bool sent)
{
    (void) ucx;
    (void) sent;
}

void *osc_cached_ucx_connect(osc_cached_ucx_t *ucx, const void *address)
{
    (void) ucx;
    (void) address;
    return NULL;
}

void *osc_cached_ucx_reserve(osc_cached_ucx_t *ucx, size_t data_bytes)
{
    (void) ucx;
    (void) data_bytes;
    return NULL;
}

osc_cached_sending_t osc_cached_ucx_send(osc_cached_ucx_t *ucx, void *endpoint, void *message,
                                         size_t data_bytes, void *cookie)
{
    (void) ucx;
    (void) endpoint;
    (void) message;
    (void) data_bytes;
    (void) cookie;
    return OSC_CACHED_LOST;
}

bool osc_cached_ucx_progress(osc_cached_ucx_t *ucx)
{
    (void) ucx;
    return false;
}

uint32_t osc_cached_ucx_queued(const osc_cached_ucx_t *ucx)
{
    (void) ucx;
    return 0;
}

osc_cached_sending_t osc_cached_ucx_note(osc_cached_ucx_t *ucx, uint64_t name, const void *address,
                                         const osc_cached_request_t *note, void *data)
{
    (void) ucx;
    (void) name;
    (void) address;
    (void) note;
    (void) data;
    return OSC_CACHED_LOST;
}

bool osc_cached_ucx_is_noted(const osc_cached_ucx_t *ucx, uint64_t name)
{
    (void) ucx;
    (void) name;
    return false;
}

bool osc_cached_ucx_is_asked_by(const osc_cached_ucx_t *ucx, uint64_t origin)
{
    (void) ucx;
    (void) origin;
    return false;
}

osc_cached_sending_t osc_cached_ucx_reply(osc_cached_ucx_t *ucx, uint64_t origin,
                                          const osc_cached_reply_t *reply, const void *data,
                                          void *cookie)
{
    (void) ucx;
    (void) origin;
    (void) reply;
    (void) data;
    (void) cookie;
    return OSC_CACHED_LOST;
}

#else

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The functions of UCX that we use. */
#define UCX_FUNCTIONS(F)          \
    F(config_read)                \
    F(config_modify)              \
    F(config_release)             \
    F(init_version)               \
    F(cleanup)                    \
    F(worker_create)              \
    F(worker_destroy)             \
    F(worker_get_address)         \
    F(worker_release_address)     \
    F(worker_get_efd)             \
    F(worker_arm)                 \
    F(worker_progress)            \
    F(worker_set_am_recv_handler) \
    F(ep_create)                  \
    F(ep_close_nbx)               \
    F(am_send_nbx)                \
    F(request_check_status)       \
    F(request_free)

static struct {
#define FIELD(name) __typeof__(ucp_##name) *name;
    UCX_FUNCTIONS(FIELD)
#undef FIELD
} ucp;

enum { REQUEST_ID = 1, REPLY_ID = 2, NOTE_ID = 3 }; /* active messages */

static const char no_worker[] =
    "UCX has no worker that wakes a thread (are there file descriptors left?)";

/* A message on its way. */
typedef struct message {
    osc_cached_ucx_t *ucx;
    void *cookie;                                   /* of the caller */
    void *owned;                                    /* data of a note, or NULL */
    unsigned char header[OSC_CACHED_REQUEST_BYTES]; /* the longer one of both */
    char data[];
} message_t;

/* The data of a request follows its header, as the client wants it. */
_Static_assert(offsetof(message_t, data) == offsetof(message_t, header) + OSC_CACHED_REQUEST_BYTES,
               "there is a gap between header and data");
_Static_assert(OSC_CACHED_REPLY_BYTES <= OSC_CACHED_REQUEST_BYTES, "replies have longer headers");

/* An endpoint of the origin's side, to be closed at the end. */
typedef struct endpoint {
    struct endpoint *next;
    ucp_ep_h ep;
} endpoint_t;

struct osc_cached_ucx {
    osc_cached_ucx_handlers_t handlers;
    ucp_context_h context;
    ucp_worker_h serving; /* the thread's; NULL: there is none */
    ucp_worker_h asking;  /* the origin's side */
    ucp_address_t *address;
    size_t address_bytes;
    int event_fd;
    int pipe[2]; /* wakes the thread */
    pthread_t thread;
    pthread_mutex_t lock; /* of serving, origins and the server */
    _Atomic bool stops;
    _Atomic uint32_t waiting; /* others, for the lock */
    _Atomic bool called;      /* since the thread asked the handler idle */
    uint64_t wakeups, overslept, awake;
    uint64_t spin_ns;         /* that the thread looks for more before it sleeps */
    uint32_t queued;          /* notes with data that are not gone */
    osc_cached_map_t origins; /* UCX's endpoints back to them, by name */
    osc_cached_map_t noted;   /* UCX's endpoints to other threads, by name */
    endpoint_t *connected;
};

static bool load(const char **why)
{
    void *library = dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);

    *why = "libucp.so.0 cannot be loaded, or is too old";
    if (NULL == library) {
        return false;
    }
#define LOOK_UP(name)                                                             \
    {                                                                             \
        void *symbol = dlsym(library, "ucp_" #name);                              \
        if (NULL == symbol) {                                                     \
            return false;                                                         \
        }                                                                         \
        memcpy(&ucp.name, &symbol, sizeof(symbol)); /* from data to a function */ \
    }
    UCX_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    return true;
}

/* --- The target's side */

static ucs_status_t on_request(void *arg, const void *header, size_t header_bytes, void *data,
                               size_t data_bytes, const ucp_am_recv_param_t *param)
{
    osc_cached_ucx_t *ucx = arg;
    osc_cached_request_t request;

    if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)
        || !(param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP)) {
        return UCS_OK; /* nobody of ours sends such messages */
    }
    if (osc_cached_request_decode(header, header_bytes, data_bytes, &request)
        && param->reply_ep != osc_cached_map_get(&ucx->origins, request.origin, 0)) {
        (void) osc_cached_map_remove(&ucx->origins, request.origin, 0);
        while (OSC_CACHED_OK
               != osc_cached_map_add(&ucx->origins, request.origin, 0, param->reply_ep)) {
            ; /* no memory for some bytes: others will give some back */
        }
    }
    ucx->handlers.request(ucx->handlers.context, header, header_bytes, data, data_bytes);
    return UCS_OK;
}

/* A note has no reply, and its sender's endpoint is none to reply to. */
static ucs_status_t on_note(void *arg, const void *header, size_t header_bytes, void *data,
                            size_t data_bytes, const ucp_am_recv_param_t *param)
{
    osc_cached_ucx_t *ucx = arg;

    if (!(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)) {
        ucx->handlers.request(ucx->handlers.context, header, header_bytes, data, data_bytes);
    }
    return UCS_OK;
}

static void on_reply_sent(void *request, ucs_status_t status, void *arg)
{
    message_t *message = arg;

    (void) status;
    ucp.request_free(request);
    if (NULL != message->cookie) {
        message->ucx->handlers.sent(message->ucx->handlers.context, message->cookie);
    }
    if (NULL != message->owned) {
        --message->ucx->queued;
        free(message->owned);
    }
    free(message);
}

/* Send a message whose header is encoded, and free it when it is sent or lost. */
static osc_cached_sending_t send_message(message_t *message, ucp_ep_h ep, unsigned id,
                                         size_t header_bytes, const void *data, size_t length)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS
                                                 | UCP_OP_ATTR_FIELD_CALLBACK
                                                 | UCP_OP_ATTR_FIELD_USER_DATA,
                                 .flags = UCP_AM_SEND_FLAG_EAGER,
                                 .cb.send = on_reply_sent,
                                 .user_data = message};
    ucs_status_ptr_t sending =
        ucp.am_send_nbx(ep, id, message->header, header_bytes, data, length, &param);

    if (!UCS_PTR_IS_PTR(sending)) {
        free(message);
        return UCS_PTR_IS_ERR(sending) ? OSC_CACHED_LOST : OSC_CACHED_SENT;
    }
    return OSC_CACHED_SENDING;
}

bool osc_cached_ucx_is_asked_by(const osc_cached_ucx_t *ucx, uint64_t origin)
{
    return NULL != osc_cached_map_get(&ucx->origins, origin, 0);
}

osc_cached_sending_t osc_cached_ucx_reply(osc_cached_ucx_t *ucx, uint64_t origin,
                                          const osc_cached_reply_t *reply, const void *data,
                                          void *cookie)
{
    ucp_ep_h ep = osc_cached_map_get(&ucx->origins, origin, 0);
    message_t *message;

    if (NULL == ep) {
        return OSC_CACHED_LOST;
    }
    do { /* no memory for some hundred bytes: others will give some back */
        message = malloc(sizeof(*message));
    } while (NULL == message);
    message->ucx = ucx;
    message->cookie = cookie;
    message->owned = NULL;
    osc_cached_reply_encode(reply, message->header);
    return send_message(message, ep, REPLY_ID, OSC_CACHED_REPLY_BYTES, data, reply->length);
}

void osc_cached_ucx_lock(osc_cached_ucx_t *ucx)
{
    atomic_fetch_add_explicit(&ucx->waiting, 1, memory_order_relaxed);
    (void) pthread_mutex_lock(&ucx->lock);
    atomic_fetch_sub_explicit(&ucx->waiting, 1, memory_order_relaxed);
}

void osc_cached_ucx_wake(osc_cached_ucx_t *ucx)
{
    static const char byte = 0;

    atomic_store_explicit(&ucx->called, true, memory_order_relaxed);
    /* a full pipe wakes it just as well */
    (void) !write(ucx->pipe[1], &byte, 1);
}

void osc_cached_ucx_unlock(osc_cached_ucx_t *ucx, bool sent)
{
    (void) pthread_mutex_unlock(&ucx->lock);
    if (sent) {
        osc_cached_ucx_wake(ucx);
    }
}

/* Milliseconds.  It happened with UCX 1.13, over TCP, on a machine with far more processes than
 * processors, that a message waited for a minute, until something else woke the thread. */
enum { LONGEST_SLEEP = 1000 };

static uint64_t now(void)
{
    struct timespec time;

    (void) clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t) time.tv_sec * 1000000000 + (uint64_t) time.tv_nsec;
}

static bool is_wanted(const osc_cached_ucx_t *ucx)
{
    return 0 < atomic_load_explicit(&ucx->waiting, memory_order_relaxed);
}

/* The lock was given back: others get it before the thread takes it again, which would be faster.
 */
static void give_way(const osc_cached_ucx_t *ucx)
{
    enum { LONG = 1000000 }; /* ns; one of them may have been stopped */
    uint64_t until = is_wanted(ucx) ? now() + LONG : 0;

    while (is_wanted(ucx) && now() < until) {
        (void) sched_yield();
    }
}

/* Look for more for a while; the lock is held. @return whether there was more, or somebody has
 * called, who has something for the handler idle */
static bool spin(osc_cached_ucx_t *ucx)
{
    uint64_t until = (0 < ucx->spin_ns) ? now() + ucx->spin_ns : 0;

    while (now() < until) {
        (void) pthread_mutex_unlock(&ucx->lock);
        give_way(ucx);
        (void) pthread_mutex_lock(&ucx->lock);
        if (0 != ucp.worker_progress(ucx->serving)) {
            ++ucx->awake;
            return true;
        }
        if (atomic_load_explicit(&ucx->called, memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

static void *serve(void *arg)
{
    osc_cached_ucx_t *ucx = arg;
    struct pollfd fds[2] = {{.fd = ucx->event_fd, .events = POLLIN},
                            {.fd = ucx->pipe[0], .events = POLLIN}};
    char bytes[64];
    bool sleeps = false, woken = true, more;
    int most;

    while (!atomic_load_explicit(&ucx->stops, memory_order_acquire)) {
        (void) pthread_mutex_lock(&ucx->lock);
        ucx->wakeups += sleeps;
        /* not for ever: others may want the lock */
        for (int i = 0; i < 64 && 0 != ucp.worker_progress(ucx->serving); ++i) {
            ucx->overslept += !woken;
            woken = true;
        }
        atomic_store_explicit(&ucx->called, false, memory_order_relaxed);
        most = ucx->handlers.idle(ucx->handlers.context);
        more = spin(ucx);
        woken = woken || more;
        sleeps = !more && UCS_OK == ucp.worker_arm(ucx->serving);
        (void) pthread_mutex_unlock(&ucx->lock);
        if (!sleeps) {
            give_way(ucx);
        } else {
            woken = 0 != poll(fds, 2, 0 <= most ? most : LONGEST_SLEEP) || 0 <= most;
            if (0 != fds[1].revents) {
                (void) !read(ucx->pipe[0], bytes, sizeof(bytes));
            }
        }
    }
    return NULL;
}

pthread_t osc_cached_ucx_thread(const osc_cached_ucx_t *ucx)
{
    return ucx->thread;
}

osc_cached_ucx_counts_t osc_cached_ucx_counts(const osc_cached_ucx_t *ucx)
{
    osc_cached_ucx_counts_t counts = {
        .wakeups = ucx->wakeups, .overslept = ucx->overslept, .awake = ucx->awake};
    clockid_t clock;
    struct timespec time;

    if (NULL != ucx->serving && 0 == pthread_getcpuclockid(ucx->thread, &clock)
        && 0 == clock_gettime(clock, &time)) {
        counts.cpu_ns = (uint64_t) time.tv_sec * 1000000000 + (uint64_t) time.tv_nsec;
    }
    return counts;
}

void osc_cached_ucx_spin(osc_cached_ucx_t *ucx, uint64_t ns)
{
    ucx->spin_ns = ns;
}

static void close_endpoint(ucp_worker_h worker, ucp_ep_h ep)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                 .flags = UCP_EP_CLOSE_FLAG_FORCE};
    ucs_status_ptr_t closing = ucp.ep_close_nbx(ep, &param);

    if (UCS_PTR_IS_PTR(closing)) {
        while (UCS_INPROGRESS == ucp.request_check_status(closing)) {
            (void) ucp.worker_progress(worker);
        }
        ucp.request_free(closing);
    }
}

/* The endpoint to another thread; NULL: it cannot be reached. */
static ucp_ep_h endpoint_to(osc_cached_ucx_t *ucx, uint64_t name, const void *address)
{
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = address};
    ucp_ep_h ep = osc_cached_map_get(&ucx->noted, name, 0);

    if (NULL != ep || UCS_OK != ucp.ep_create(ucx->serving, &params, &ep)) {
        return ep;
    }
    if (OSC_CACHED_OK != osc_cached_map_add(&ucx->noted, name, 0, ep)) {
        close_endpoint(ucx->serving, ep);
        return NULL;
    }
    return ep;
}

uint32_t osc_cached_ucx_queued(const osc_cached_ucx_t *ucx)
{
    return ucx->queued;
}

bool osc_cached_ucx_is_noted(const osc_cached_ucx_t *ucx, uint64_t name)
{
    return NULL != osc_cached_map_get(&ucx->noted, name, 0);
}

osc_cached_sending_t osc_cached_ucx_note(osc_cached_ucx_t *ucx, uint64_t name, const void *address,
                                         const osc_cached_request_t *note, void *data)
{
    ucp_ep_h ep = endpoint_to(ucx, name, address);
    message_t *message = NULL == ep ? NULL : malloc(sizeof(*message));
    osc_cached_sending_t sending;

    if (NULL == message) {
        return OSC_CACHED_LOST;
    }
    message->ucx = ucx;
    message->cookie = NULL;
    message->owned = data;
    osc_cached_request_encode(note, message->header);
    sending = send_message(message, ep, NOTE_ID, OSC_CACHED_REQUEST_BYTES, data, note->length);
    if (OSC_CACHED_SENT == sending) {
        free(data);
    }
    ucx->queued += NULL != data && OSC_CACHED_SENDING == sending;
    return sending;
}

/* --- The origin's side */

static ucs_status_t on_reply(void *arg, const void *header, size_t header_bytes, void *data,
                             size_t data_bytes, const ucp_am_recv_param_t *param)
{
    osc_cached_ucx_t *ucx = arg;

    if (!(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)) {
        ucx->handlers.reply(ucx->handlers.context, header, header_bytes, data, data_bytes);
    }
    return UCS_OK;
}

static void on_request_sent(void *request, ucs_status_t status, void *arg)
{
    message_t *message = arg;

    ucp.request_free(request);
    if (UCS_OK != status && UCS_ERR_CANCELED != status) { /* that is the end of the endpoint */
        message->ucx->handlers.lost(message->ucx->handlers.context, message->cookie);
    }
    if (UCS_ERR_CANCELED != status) {
        message->ucx->handlers.gone(message->ucx->handlers.context, message->cookie);
    }
    free(message);
}

void *osc_cached_ucx_connect(osc_cached_ucx_t *ucx, const void *address)
{
    endpoint_t *endpoint = malloc(sizeof(*endpoint));
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = address};

    if (NULL == endpoint || UCS_OK != ucp.ep_create(ucx->asking, &params, &endpoint->ep)) {
        free(endpoint);
        return NULL;
    }
    endpoint->next = ucx->connected;
    ucx->connected = endpoint;
    return endpoint->ep;
}

void *osc_cached_ucx_reserve(osc_cached_ucx_t *ucx, size_t data_bytes)
{
    message_t *message = malloc(sizeof(*message) + data_bytes);

    if (NULL == message) {
        return NULL;
    }
    message->ucx = ucx;
    return message->header;
}

osc_cached_sending_t osc_cached_ucx_send(osc_cached_ucx_t *ucx, void *endpoint, void *header,
                                         size_t data_bytes, void *cookie)
{
    message_t *message = (message_t *) (void *) ((char *) header - offsetof(message_t, header));
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS
                                                 | UCP_OP_ATTR_FIELD_CALLBACK
                                                 | UCP_OP_ATTR_FIELD_USER_DATA,
                                 .flags = UCP_AM_SEND_FLAG_EAGER | UCP_AM_SEND_FLAG_REPLY,
                                 .cb.send = on_request_sent,
                                 .user_data = message};

    ucs_status_ptr_t sending;

    (void) ucx;
    message->cookie = cookie;
    sending = ucp.am_send_nbx(endpoint, REQUEST_ID, message->header, OSC_CACHED_REQUEST_BYTES,
                              message->data, data_bytes, &param);
    if (UCS_PTR_IS_PTR(sending)) {
        return OSC_CACHED_SENDING;
    }
    free(message);
    return UCS_PTR_IS_ERR(sending) ? OSC_CACHED_LOST : OSC_CACHED_SENT;
}

bool osc_cached_ucx_progress(osc_cached_ucx_t *ucx)
{
    return 0 != ucp.worker_progress(ucx->asking);
}

/* --- Life */

const void *osc_cached_ucx_address(const osc_cached_ucx_t *ucx, size_t *bytes)
{
    *bytes = ucx->address_bytes;
    return ucx->address;
}

static bool handle(osc_cached_ucx_t *ucx, ucp_worker_h worker, unsigned id,
                   ucp_am_recv_callback_t handler)
{
    ucp_am_handler_param_t receives = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS
                      | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .id = id,
        .flags = UCP_AM_FLAG_WHOLE_MSG,
        .cb = handler,
        .arg = ucx};

    return UCS_OK == ucp.worker_set_am_recv_handler(worker, &receives);
}

static bool make_worker(osc_cached_ucx_t *ucx, ucp_worker_h *worker)
{
    ucp_worker_params_t params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                  .thread_mode = UCS_THREAD_MODE_SERIALIZED};

    return UCS_OK == ucp.worker_create(ucx->context, &params, worker);
}

static bool make_asking(osc_cached_ucx_t *ucx, const char **why)
{
    ucp_params_t params = {.field_mask =
                               UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED,
                           .features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP,
                           .mt_workers_shared = 1};
    ucp_config_t *config;
    ucs_status_t status;

    *why = "UCX has no context for active messages";
    if (UCS_OK != ucp.config_read(NULL, NULL, &config)) {
        return false;
    }
    /* one connection to each process, not one for each network device */
    (void) ucp.config_modify(config, "MAX_EAGER_LANES", "1");
    (void) ucp.config_modify(config, "MAX_RNDV_LANES", "1");
    status = ucp.init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &ucx->context);
    ucp.config_release(config);
    if (UCS_OK != status) {
        ucx->context = NULL;
        return false;
    }
    *why = no_worker;
    return make_worker(ucx, &ucx->asking) && handle(ucx, ucx->asking, REPLY_ID, on_reply);
}

static bool make_serving(osc_cached_ucx_t *ucx, const char **why)
{
    *why = no_worker;
    return make_worker(ucx, &ucx->serving) && handle(ucx, ucx->serving, REQUEST_ID, on_request)
           && handle(ucx, ucx->serving, NOTE_ID, on_note)
           && UCS_OK == ucp.worker_get_efd(ucx->serving, &ucx->event_fd)
           && UCS_OK == ucp.worker_get_address(ucx->serving, &ucx->address, &ucx->address_bytes);
}

static bool start_thread(osc_cached_ucx_t *ucx, const char **why)
{
    sigset_t all, before;
    int ret;

    *why = "there is no file descriptor or thread left";
    if (0 != pipe2(ucx->pipe, O_CLOEXEC | O_NONBLOCK)) {
        ucx->pipe[0] = -1;
        return false;
    }
    (void) fcntl(ucx->event_fd, F_SETFD, FD_CLOEXEC);
    /* signals are the program's */
    (void) sigfillset(&all);
    (void) pthread_sigmask(SIG_SETMASK, &all, &before);
    ret = pthread_create(&ucx->thread, NULL, serve, ucx);
    (void) pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (0 == ret) {
        (void) pthread_setname_np(ucx->thread, "osc_cached"); /* for top -H and the like */
    }
    return 0 == ret;
}

/* Give back what the thread had; it has ended. */
static void stop_serving(osc_cached_ucx_t *ucx)
{
    if (NULL != ucx->address) {
        ucp.worker_release_address(ucx->serving, ucx->address);
        ucx->address = NULL;
        ucx->address_bytes = 0;
    }
    for (uint32_t i = 0; i < ucx->noted.cells; ++i) {
        if (NULL != ucx->noted.cell[i].value) {
            close_endpoint(ucx->serving, ucx->noted.cell[i].value);
        }
    }
    osc_cached_map_fini(&ucx->noted);
    if (NULL != ucx->serving) {
        ucp.worker_destroy(ucx->serving);
        ucx->serving = NULL;
    }
    if (0 <= ucx->pipe[0]) {
        (void) close(ucx->pipe[0]);
        (void) close(ucx->pipe[1]);
        ucx->pipe[0] = -1;
    }
}

/* Give back what there is. */
static void take_down(osc_cached_ucx_t *ucx)
{
    while (NULL != ucx->connected) {
        endpoint_t *endpoint = ucx->connected;

        ucx->connected = endpoint->next;
        close_endpoint(ucx->asking, endpoint->ep);
        free(endpoint);
    }
    if (NULL != ucx->asking) {
        ucp.worker_destroy(ucx->asking);
    }
    stop_serving(ucx);
    osc_cached_map_fini(&ucx->origins);
    if (NULL != ucx->context) {
        ucp.cleanup(ucx->context);
    }
    (void) pthread_mutex_destroy(&ucx->lock);
    free(ucx);
}

/* Whether there are as many descriptors as both workers need: the first context of a process that
 * has fewer ends it by a signal. */
static bool has_descriptors(void)
{
    enum { NEEDED = 16 };
    int fds[NEEDED], count = 0;

    while (count < NEEDED && -1 != (fds[count] = open("/dev/null", O_RDONLY | O_CLOEXEC))) {
        ++count;
    }
    for (int i = 0; i < count; ++i) {
        (void) close(fds[i]);
    }
    return NEEDED == count;
}

osc_cached_ucx_t *osc_cached_ucx_start(const osc_cached_ucx_handlers_t *handlers, const char **why)
{
    osc_cached_ucx_t *ucx;

    if (!load(why)) {
        return NULL;
    }
    if (!has_descriptors()) {
        *why = no_worker;
        return NULL;
    }
    *why = "there is no memory";
    ucx = calloc(1, sizeof(*ucx));
    if (NULL == ucx) {
        return NULL;
    }
    ucx->handlers = *handlers;
    ucx->pipe[0] = -1;
    (void) pthread_mutex_init(&ucx->lock, NULL);
    osc_cached_map_init(&ucx->origins, &osc_cached_alloc_default);
    osc_cached_map_init(&ucx->noted, &osc_cached_alloc_default);
    if (!make_asking(ucx, why)) {
        take_down(ucx);
        return NULL;
    }
    return ucx;
}

bool osc_cached_ucx_serve(osc_cached_ucx_t *ucx, const char **why)
{
    if (NULL != ucx->serving) {
        return true;
    }
    if (!make_serving(ucx, why) || !start_thread(ucx, why)) {
        stop_serving(ucx);
        return false;
    }
    return true;
}

void osc_cached_ucx_stop(osc_cached_ucx_t *ucx)
{
    if (NULL != ucx->serving) {
        atomic_store_explicit(&ucx->stops, true, memory_order_release);
        osc_cached_ucx_wake(ucx);
        (void) pthread_join(ucx->thread, NULL);
    }
    take_down(ucx);
}

#endif
