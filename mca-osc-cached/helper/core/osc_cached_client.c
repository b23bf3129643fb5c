/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Operations of this process at other processes.
 */
#include "osc_cached_client.h"

#include "osc_cached_operation.h"

/* Most bytes that one GET asks for: its length is a 32 bit number. */
#define GET_BYTES ((uint32_t) 1 << 30)

void osc_cached_client_init(osc_cached_client_t *client, const osc_cached_client_config_t *config)
{
    *client = (osc_cached_client_t){.config = *config};
    osc_cached_map_init(&client->remotes, config->alloc);
    osc_cached_map_init(&client->calls, config->alloc);
    osc_cached_list_init(&client->all);
}

void osc_cached_client_fini(osc_cached_client_t *client)
{
    const osc_cached_alloc_t *alloc = client->config.alloc;

    while (!osc_cached_list_is_empty(&client->all)) {
        osc_cached_remote_t *remote =
            OSC_CACHED_LIST_OF(client->all.next, osc_cached_remote_t, link);

        osc_cached_list_remove(&remote->link);
        alloc->free(alloc->context, remote, sizeof(*remote));
    }
    osc_cached_map_fini(&client->remotes);
    osc_cached_map_fini(&client->calls);
}

osc_cached_remote_t *osc_cached_client_remote(osc_cached_client_t *client, uint64_t name)
{
    const osc_cached_alloc_t *alloc = client->config.alloc;
    osc_cached_remote_t *remote = osc_cached_map_get(&client->remotes, name, 0);

    if (NULL != remote) {
        return remote;
    }
    remote = alloc->alloc(alloc->context, sizeof(void *), sizeof(*remote));
    if (NULL == remote) {
        return NULL;
    }
    *remote = (osc_cached_remote_t){.name = name};
    osc_cached_account_init(&remote->account);
    osc_cached_list_init(&remote->refusals);
    osc_cached_list_init(&remote->answers);
    if (OSC_CACHED_OK != osc_cached_map_add(&client->remotes, name, 0, remote)) {
        alloc->free(alloc->context, remote, sizeof(*remote));
        return NULL;
    }
    osc_cached_list_add(&client->all, &remote->link);
    return remote;
}

/* Send a request in memory that was reserved for it. */
static void post(osc_cached_client_t *client, osc_cached_remote_t *remote,
                 osc_cached_request_t request, void *message, size_t data_bytes)
{
    request.origin = client->config.name;
    request.session = remote->account.session;
    osc_cached_request_encode(&request, message);
    ++client->counts.requests;
    if (!client->config.send(client->config.context, remote, message, data_bytes)) {
        osc_cached_client_lost(client, remote);
    }
}

/* Send a request of the session's life. @return whether there was memory */
static bool post_plain(osc_cached_client_t *client, osc_cached_remote_t *remote,
                       osc_cached_wire_kind_t kind)
{
    void *message = client->config.reserve(client->config.context, 0);

    if (NULL == message) {
        return false;
    }
    post(client, remote,
         (osc_cached_request_t){.kind = (uint8_t) kind, .number = remote->account.sent}, message,
         0);
    return true;
}

static bool has_answer(const osc_cached_call_t *call)
{
    switch (call->request.kind) {
    case OSC_CACHED_WIRE_GET:
    case OSC_CACHED_WIRE_FETCH:
    case OSC_CACHED_WIRE_CAS:
    case OSC_CACHED_WIRE_LOCK:
        return true;
    default:
        return false;
    }
}

/* One more call in the table. No flush waits for a lock: how long another process holds it may
 * depend on what follows the flush. @return whether there was memory */
static bool expect(osc_cached_client_t *client, osc_cached_call_t *call)
{
    if (OSC_CACHED_OK != osc_cached_map_add(&client->calls, call->request.token, 0, call)) {
        return false;
    }
    if (OSC_CACHED_WIRE_LOCK == call->request.kind) {
        ++client->locks;
    } else {
        osc_cached_list_add(&call->remote->answers, &call->link);
    }
    return true;
}

/* And one less. */
static void forget(osc_cached_client_t *client, osc_cached_call_t *call)
{
    (void) osc_cached_map_remove(&client->calls, call->request.token, 0);
    if (OSC_CACHED_WIRE_LOCK == call->request.kind) {
        --client->locks;
    } else {
        osc_cached_list_remove(&call->link);
    }
}

/* The answer is there, or there will be none. */
static void finish(osc_cached_client_t *client, osc_cached_call_t *call)
{
    forget(client, call);
    call->end(call, call->refused);
}

void osc_cached_client_lost(osc_cached_client_t *client, osc_cached_remote_t *remote)
{
    osc_cached_link_t *link, *next;

    remote->lost = true;
    for (link = remote->answers.next; link != &remote->answers; link = next) {
        osc_cached_call_t *call = OSC_CACHED_LIST_OF(link, osc_cached_call_t, link);

        next = link->next;
        if (!call->pushing) { /* else its thread does it, as for locks */
            call->refused = OSC_CACHED_REFUSED_LOST;
            finish(client, call);
        }
    }
}

/* Bytes of data that follow the header of a part. */
static size_t data_of(const osc_cached_request_t *part)
{
    switch (part->kind) {
    case OSC_CACHED_WIRE_PUT:
    case OSC_CACHED_WIRE_ACC:
        return part->length;
    case OSC_CACHED_WIRE_FETCH:
        return OSC_CACHED_NO_OP == part->operation ? 0 : part->length;
    case OSC_CACHED_WIRE_CAS:
        return 2 * (size_t) part->length;
    default:
        return 0;
    }
}

/* The next part of a call; at most @p bytes of data may go with it. */
static osc_cached_request_t cut(const osc_cached_call_t *call, uint32_t bytes)
{
    osc_cached_request_t part = call->request;
    uint64_t left = call->total - call->sent;
    size_t element;

    part.offset = call->sent;
    switch (part.kind) {
    case OSC_CACHED_WIRE_ACC:
    case OSC_CACHED_WIRE_FETCH: /* parts end with elements */
        element = osc_cached_element_bytes(part.element);
        bytes -= (uint32_t) (bytes % element);
        break;
    case OSC_CACHED_WIRE_GET:
        bytes = GET_BYTES;
        break;
    case OSC_CACHED_WIRE_CAS:
        part.count = call->total;
        bytes = (uint32_t) call->total;
        break;
    default:
        break;
    }
    part.length = (uint32_t) (left < bytes ? left : bytes);
    part.last = part.length == left;
    if (0 == call->sent && !part.last
        && (OSC_CACHED_WIRE_PUT == part.kind || OSC_CACHED_WIRE_ACC == part.kind)) {
        uint64_t parts = (left - part.length + bytes - 1) / bytes;

        part.announce = (uint32_t) (parts < UINT32_MAX ? parts : UINT32_MAX);
    }
    return part;
}

/* Let the target know the layout of a call, or forget another one first. @return whether there was
 * memory */
static bool teach(osc_cached_client_t *client, osc_cached_remote_t *remote, osc_cached_call_t *call,
                  uint32_t bytes)
{
    unsigned char *message = client->config.reserve(client->config.context, bytes);
    osc_cached_request_t request = {.kind = OSC_CACHED_WIRE_TYPE, .window = call->request.window};

    if (NULL == message) {
        return false;
    }
    if (osc_cached_account_teach(&remote->account, call->key, call->layout->blocks,
                                 &request.layout)) {
        request.length = (uint32_t) osc_cached_layout_write(
            call->layout, message + OSC_CACHED_REQUEST_BYTES, bytes);
    }
    request.number = osc_cached_account_sent(&remote->account, call->request.token, 0, false);
    post(client, remote, request, message, request.length);
    return true;
}

/* Send one request, of which at most @p bytes are data. @return whether there was memory */
static bool advance(osc_cached_client_t *client, osc_cached_remote_t *remote,
                    osc_cached_call_t *call, uint32_t bytes)
{
    osc_cached_request_t part;
    unsigned char *message;
    size_t data_bytes;

    if (NULL != call->layout) {
        call->request.layout = osc_cached_account_layout(&remote->account, call->key);
        if (0 == call->request.layout) {
            if (!teach(client, remote, call, bytes)) {
                return false;
            }
            call->begun = true;
            return true;
        }
    }
    part = cut(call, bytes);
    data_bytes = data_of(&part);
    message = client->config.reserve(client->config.context, data_bytes);
    if (NULL == message) {
        return false;
    }
    if (0 < data_bytes) {
        call->pack(call, part.offset, message + OSC_CACHED_REQUEST_BYTES, data_bytes);
    }
    part.number = osc_cached_account_sent(&remote->account, part.token, part.announce, part.last);
    call->begun = true;
    call->sent += part.length;
    call->complete = part.last;
    post(client, remote, part, message, data_bytes);
    return true;
}

/* A call is new: it gets a name. @return whether there was memory */
static bool enter(osc_cached_client_t *client, osc_cached_remote_t *remote, osc_cached_call_t *call)
{
    call->remote = remote;
    call->request.token = ++client->token;
    if (has_answer(call) && !expect(client, call)) {
        call->remote = NULL;
        return false;
    }
    return true;
}

/* One more request, or what has to be done before. */
static osc_cached_push_t step(osc_cached_client_t *client, osc_cached_remote_t *remote,
                              osc_cached_call_t *call)
{
    osc_cached_account_t *account = &remote->account;
    uint32_t bytes = 0;

    switch (osc_cached_account_step(account, call->request.token, !call->begun, &bytes)) {
    case OSC_CACHED_ACCOUNT_ASK:
        if (!post_plain(client, remote, OSC_CACHED_WIRE_ASK)) {
            return OSC_CACHED_PUSH_NO_MEMORY;
        }
        osc_cached_account_asked(account);
        return OSC_CACHED_PUSH_WAIT;
    case OSC_CACHED_ACCOUNT_RELEASE:
        if (!post_plain(client, remote, OSC_CACHED_WIRE_RELEASE)) {
            return OSC_CACHED_PUSH_NO_MEMORY;
        }
        osc_cached_account_released(account);
        return OSC_CACHED_PUSH_SENT;
    case OSC_CACHED_ACCOUNT_WAIT:
        return OSC_CACHED_PUSH_WAIT;
    default:
        return advance(client, remote, call, bytes) ? OSC_CACHED_PUSH_SENT
                                                    : OSC_CACHED_PUSH_NO_MEMORY;
    }
}

osc_cached_push_t osc_cached_client_push(osc_cached_client_t *client, osc_cached_remote_t *remote,
                                         osc_cached_call_t *call)
{
    osc_cached_push_t pushed = OSC_CACHED_PUSH_SENT;

    if (NULL == call->remote && !enter(client, remote, call)) {
        return OSC_CACHED_PUSH_NO_MEMORY;
    }
    if (!call->pushing) {
        call->pushing = true;
        ++remote->pushing;
    }
    while (OSC_CACHED_PUSH_SENT == pushed && !call->complete && !remote->lost
           && OSC_CACHED_REFUSED_NOT == call->refused) {
        pushed = step(client, remote, call);
    }
    if (remote->lost) {
        pushed = OSC_CACHED_PUSH_LOST;
    }
    if (OSC_CACHED_PUSH_WAIT == pushed) {
        client->counts.waits += !call->waited;
        call->waited = true;
        return pushed;
    }
    call->pushing = false;
    --remote->pushing;
    if (OSC_CACHED_PUSH_SENT != pushed) {
        if (has_answer(call)) {
            forget(client, call);
        }
    } else if (OSC_CACHED_REFUSED_NOT != call->refused) {
        finish(client, call);
    }
    if (remote->account.revoked) { /* its last reply has come while this was pushing */
        osc_cached_client_leave(client, remote);
    }
    return pushed;
}

/* Keep why an operation was refused, where somebody will ask. */
static void keep_refusal(const osc_cached_remote_t *remote, const osc_cached_reply_t *reply)
{
    for (osc_cached_link_t *link = remote->refusals.next; link != &remote->refusals;
         link = link->next) {
        osc_cached_refusals_t *refusals = OSC_CACHED_LIST_OF(link, osc_cached_refusals_t, link);

        if (reply->window.creator == refusals->window.creator
            && reply->window.number == refusals->window.number
            && reply->window.part == refusals->window.part) {
            refusals->why = reply->status;
        }
    }
}

/* What a reply says of a call. */
static void answer(osc_cached_client_t *client, osc_cached_remote_t *remote,
                   const osc_cached_reply_t *reply, const void *data)
{
    osc_cached_call_t *call = osc_cached_map_get(&client->calls, reply->token, 0);

    if (OSC_CACHED_WIRE_FAILED == reply->kind
        && (NULL == call || OSC_CACHED_WIRE_LOCK != call->request.kind)) { /* who locks waits */
        keep_refusal(remote, reply);
    }
    if (NULL == call || remote != call->remote) {
        return;
    }
    switch (reply->kind) {
    case OSC_CACHED_WIRE_DATA:
        if (reply->offset > call->total || reply->length > call->total - reply->offset
            || NULL == call->unpack) {
            ++client->counts.malformed;
            return;
        }
        call->unpack(call, reply->offset, data, reply->length);
        call->answered += reply->length;
        if (call->answered < call->total) {
            return;
        }
        break;
    case OSC_CACHED_WIRE_LOCKED:
        if (OSC_CACHED_WIRE_LOCK != call->request.kind) {
            ++client->counts.malformed;
            return;
        }
        break;
    case OSC_CACHED_WIRE_FAILED:
        call->refused = reply->status;
        break;
    case OSC_CACHED_WIRE_LATER: /* the lock: to be pushed again */
        call->begun = false;
        call->complete = false;
        return;
    default:
        return;
    }
    if (!call->pushing) { /* else its thread does it */
        finish(client, call);
    }
}

void osc_cached_client_leave(osc_cached_client_t *client, osc_cached_remote_t *remote)
{
    if (0 == remote->pushing && !remote->lost && OSC_CACHED_ACCOUNT_OPEN == remote->account.state
        && osc_cached_account_is_quiet(&remote->account)
        && post_plain(client, remote, OSC_CACHED_WIRE_RELEASE)) {
        osc_cached_account_released(&remote->account);
    }
}

void osc_cached_client_receive(osc_cached_client_t *client, const void *header, size_t header_bytes,
                               const void *data, size_t data_bytes)
{
    osc_cached_remote_t *remote = NULL;
    osc_cached_reply_t reply;

    if (osc_cached_reply_decode(header, header_bytes, data_bytes, &reply)) {
        remote = osc_cached_map_get(&client->remotes, reply.target, 0);
    }
    if (NULL == remote) {
        ++client->counts.malformed;
        return;
    }
    osc_cached_account_reply(&remote->account, &reply);
    if (0 != reply.token) {
        answer(client, remote, &reply, data);
    }
    if (remote->account.revoked) { /* others wait for the session */
        osc_cached_client_leave(client, remote);
    }
}

void osc_cached_client_watch(osc_cached_remote_t *remote, osc_cached_window_id_t window,
                             osc_cached_refusals_t *refusals)
{
    *refusals = (osc_cached_refusals_t){.window = window};
    osc_cached_list_add(&remote->refusals, &refusals->link);
}

void osc_cached_client_unwatch(osc_cached_refusals_t *refusals)
{
    osc_cached_list_remove(&refusals->link);
}

osc_cached_refused_t osc_cached_client_refused(osc_cached_refusals_t *refusals)
{
    osc_cached_refused_t why = refusals->why;

    refusals->why = OSC_CACHED_REFUSED_NOT;
    return why;
}

int osc_cached_client_verify(const osc_cached_client_t *client)
{
    uint64_t answers = client->locks;

    for (const osc_cached_link_t *link = client->all.next; link != &client->all;
         link = link->next) {
        const osc_cached_remote_t *remote = OSC_CACHED_LIST_OF(link, osc_cached_remote_t, link);

        uint64_t token = 0;

        if (0 != osc_cached_account_verify(&remote->account)) {
            return 1;
        }
        for (const osc_cached_link_t *call = remote->answers.next; call != &remote->answers;
             call = call->next) {
            uint64_t next = OSC_CACHED_LIST_OF(call, osc_cached_call_t, link)->request.token;

            if (next <= token) {
                return 2;
            }
            token = next;
            ++answers;
        }
    }
    return answers == client->calls.count ? 0 : 2;
}
