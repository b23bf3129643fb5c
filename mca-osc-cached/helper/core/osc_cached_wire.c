/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Bytes of the helper's messages.
 *
 *     request  0 kind  1 operation  2 element  3 last  4 layout  8 origin  16 creator  24 number of
 *              the window  28 session  32 number  40 token  48 at  56 count  64 offset  72 length
 *              76 announce  80 part of the window  84 zero
 *     reply    0 kind  1 status  2 zero  4 session  8 target  16 done  24 token  32 offset
 *              40 length  44 buffers  48 chunk  52 room
 *     FAILED   32 creator  40 zero  44 number of the window  48 part of the window  52 zero
 */
#include "osc_cached_wire.h"

#include "osc_cached_operation.h"

/* Compilers make one load or store of each where the machine is little endian. */
static void put32(unsigned char *to, uint32_t value)
{
    to[0] = (unsigned char) value;
    to[1] = (unsigned char) (value >> 8);
    to[2] = (unsigned char) (value >> 16);
    to[3] = (unsigned char) (value >> 24);
}

static void put64(unsigned char *to, uint64_t value)
{
    put32(to, (uint32_t) value);
    put32(to + 4, (uint32_t) (value >> 32));
}

static uint32_t get32(const unsigned char *from)
{
    return from[0] | (uint32_t) from[1] << 8 | (uint32_t) from[2] << 16 | (uint32_t) from[3] << 24;
}

static uint64_t get64(const unsigned char *from)
{
    return get32(from) | (uint64_t) get32(from + 4) << 32;
}

void osc_cached_request_encode(const osc_cached_request_t *request, void *header)
{
    unsigned char *to = header;

    to[0] = request->kind;
    to[1] = request->operation;
    to[2] = request->element;
    to[3] = request->last;
    put32(to + 4, request->layout);
    put64(to + 8, request->origin);
    put64(to + 16, request->window.creator);
    put32(to + 24, request->window.number);
    put32(to + 28, request->session);
    put64(to + 32, request->number);
    put64(to + 40, request->token);
    put64(to + 48, request->at);
    put64(to + 56, request->count);
    put64(to + 64, request->offset);
    put32(to + 72, request->length);
    put32(to + 76, request->announce);
    put32(to + 80, request->window.part);
    put32(to + 84, 0);
}

void osc_cached_reply_encode(const osc_cached_reply_t *reply, void *header)
{
    unsigned char *to = header;

    to[0] = reply->kind;
    to[1] = reply->status;
    to[2] = 0;
    to[3] = 0;
    put32(to + 4, reply->session);
    put64(to + 8, reply->target);
    put64(to + 16, reply->done);
    put64(to + 24, reply->token);
    if (OSC_CACHED_WIRE_FAILED == reply->kind) {
        put64(to + 32, reply->window.creator);
        put32(to + 40, 0);
        put32(to + 44, reply->window.number);
        put32(to + 48, reply->window.part);
        put32(to + 52, 0);
        return;
    }
    put64(to + 32, reply->offset);
    put32(to + 40, reply->length);
    put32(to + 44, reply->buffers);
    put32(to + 48, reply->chunk);
    put32(to + 52, reply->room);
}

/* Does the request carry what its kind says, and nothing else? */
static bool is_request(const osc_cached_request_t *request, size_t data_bytes)
{
    size_t element_bytes = osc_cached_element_bytes(request->element);

    switch (request->kind) {
    case OSC_CACHED_WIRE_ASK:
    case OSC_CACHED_WIRE_RELEASE:
    case OSC_CACHED_WIRE_UNLOCK:
        return 0 == data_bytes && 0 == request->length;
    case OSC_CACHED_WIRE_LOCK:
        return 0 == data_bytes && 0 == request->length && request->count <= 1;
    case OSC_CACHED_WIRE_TYPE:
        return data_bytes == request->length && 0 != request->layout;
    case OSC_CACHED_WIRE_GET:
        return 0 == data_bytes;
    case OSC_CACHED_WIRE_PUT:
        return data_bytes == request->length;
    case OSC_CACHED_WIRE_ACC:
        return data_bytes == request->length && OSC_CACHED_NO_OP != request->operation
               && osc_cached_operation_is_defined(request->operation, request->element);
    case OSC_CACHED_WIRE_FETCH:
        return data_bytes == (OSC_CACHED_NO_OP == request->operation ? 0 : request->length)
               && osc_cached_operation_is_defined(request->operation, request->element);
    case OSC_CACHED_WIRE_CAS:
        return 0 != element_bytes && element_bytes == request->length
               && 2 * element_bytes == data_bytes && 0 == request->layout
               && element_bytes == request->count;
    case OSC_CACHED_WIRE_NOTE:
        return data_bytes == request->length && 0 < request->operation
               && request->operation <= OSC_CACHED_WIRE_NOTES && 0 < request->count
               && request->count <= UINT64_MAX - request->at;
    default:
        return false;
    }
}

bool osc_cached_request_decode(const void *header, size_t header_bytes, size_t data_bytes,
                               osc_cached_request_t *request)
{
    const unsigned char *from = header;
    osc_cached_request_t read;

    if (OSC_CACHED_REQUEST_BYTES != header_bytes || from[3] > 1 || 0 != get32(from + 84)) {
        return false;
    }
    read = (osc_cached_request_t){
        .kind = from[0],
        .operation = from[1],
        .element = from[2],
        .last = 0 != from[3],
        .layout = get32(from + 4),
        .origin = get64(from + 8),
        .window = {.creator = get64(from + 16),
                   .number = get32(from + 24),
                   .part = get32(from + 80)},
        .session = get32(from + 28),
        .number = get64(from + 32),
        .token = get64(from + 40),
        .at = get64(from + 48),
        .count = get64(from + 56),
        .offset = get64(from + 64),
        .length = get32(from + 72),
        .announce = get32(from + 76),
    };
    if (!is_request(&read, data_bytes)) {
        return false;
    }
    *request = read;
    return true;
}

bool osc_cached_reply_decode(const void *header, size_t header_bytes, size_t data_bytes,
                             osc_cached_reply_t *reply)
{
    const unsigned char *from = header;

    if (OSC_CACHED_REPLY_BYTES != header_bytes || from[0] < OSC_CACHED_WIRE_GRANT
        || from[0] >= OSC_CACHED_WIRE_REPLIES || from[1] >= OSC_CACHED_REFUSED_END || 0 != from[2]
        || 0 != from[3] || (OSC_CACHED_WIRE_FAILED == from[0]) != (0 != from[1])
        || data_bytes != get32(from + 40) || (0 != data_bytes && OSC_CACHED_WIRE_DATA != from[0])
        || (OSC_CACHED_WIRE_FAILED == from[0] && 0 != get32(from + 52))) {
        return false;
    }
    *reply = (osc_cached_reply_t){
        .kind = from[0],
        .status = from[1],
        .session = get32(from + 4),
        .target = get64(from + 8),
        .done = get64(from + 16),
        .token = get64(from + 24),
    };
    if (OSC_CACHED_WIRE_FAILED == reply->kind) {
        reply->window = (osc_cached_window_id_t){
            .creator = get64(from + 32), .number = get32(from + 44), .part = get32(from + 48)};
    } else {
        reply->offset = get64(from + 32);
        reply->length = get32(from + 40);
        reply->buffers = get32(from + 44);
        reply->chunk = get32(from + 48);
        reply->room = get32(from + 52);
    }
    return true;
}
