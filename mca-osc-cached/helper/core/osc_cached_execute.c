/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Operations on the memory of a window.
 */
#include "osc_cached_execute.h"

#include "osc_cached_operation.h"

#include <string.h>

/* Elements that do not lie together are combined in a copy of this size: a multiple of all element
 * sizes up to 32 bytes (6, 12, 20 among them). */
#define COPY_BYTES 960

osc_cached_refused_t osc_cached_execute_check(const osc_cached_request_t *request,
                                              const osc_cached_layout_t *layout, uint64_t size)
{
    uint64_t total = request->count, end;
    size_t element = osc_cached_element_bytes(request->element);

    if (NULL == layout) {
        if (request->at > size || total > size - request->at) {
            return OSC_CACHED_REFUSED_RANGE;
        }
    } else if (!osc_cached_layout_fits(layout, request->at, request->count, size)
               || __builtin_mul_overflow(layout->packed, request->count, &total)) {
        return OSC_CACHED_REFUSED_RANGE;
    }
    if (__builtin_add_overflow(request->offset, request->length, &end) || end > total) {
        return OSC_CACHED_REFUSED_LENGTH;
    }
    if ((OSC_CACHED_WIRE_ACC == request->kind || OSC_CACHED_WIRE_FETCH == request->kind)
        && (0 != request->length % element || 0 != request->offset % element)) {
        return OSC_CACHED_REFUSED_LENGTH;
    }
    return OSC_CACHED_REFUSED_NOT;
}

/* Does each run of the layout consist of whole elements? */
static bool has_whole_elements(const osc_cached_layout_t *layout, size_t element)
{
    for (uint32_t i = 0; i < layout->blocks; i++) {
        if (0 != layout->block[i].run % element) {
            return false;
        }
    }
    return true;
}

static void combine(const osc_cached_request_t *request, const osc_cached_layout_t *layout,
                    char *memory, const char *data)
{
    size_t element = osc_cached_element_bytes(request->element);
    bool whole = has_whole_elements(layout, element);
    uint64_t left = request->length;
    osc_cached_cursor_t cursor;

    osc_cached_cursor_seek(&cursor, layout, request->offset);
    while (0 < left) {
        uint64_t bytes;

        if (whole) {
            int64_t offset;

            bytes = osc_cached_cursor_next(&cursor, left, &offset);
            osc_cached_operation_apply(request->operation, request->element, memory + offset, data,
                                       bytes / element);
        } else {
            char copy[COPY_BYTES];
            osc_cached_cursor_t start = cursor;

            bytes = COPY_BYTES / element * element;
            bytes = left < bytes ? left : bytes;
            osc_cached_cursor_pack(&cursor, memory, copy, bytes);
            osc_cached_operation_apply(request->operation, request->element, copy, data,
                                       bytes / element);
            osc_cached_cursor_unpack(&start, memory, copy, bytes);
        }
        data += bytes;
        left -= bytes;
    }
}

void osc_cached_execute(const osc_cached_request_t *request, const osc_cached_layout_t *layout,
                        char *base, const void *data, void *result)
{
    size_t element = osc_cached_element_bytes(request->element);
    uint64_t length = request->length;
    osc_cached_cursor_t cursor;
    char *memory;

    if (0 == length) {
        return;
    }
    memory = base + (int64_t) request->at + (NULL == layout ? request->offset : 0);
    if (OSC_CACHED_WIRE_PUT != request->kind && OSC_CACHED_WIRE_ACC != request->kind) {
        if (NULL == layout) {
            memcpy(result, memory, length);
        } else {
            osc_cached_cursor_seek(&cursor, layout, request->offset);
            osc_cached_cursor_pack(&cursor, memory, result, length);
        }
    }
    switch (request->kind) {
    case OSC_CACHED_WIRE_PUT:
        if (NULL == layout) {
            memcpy(memory, data, length);
        } else {
            osc_cached_cursor_seek(&cursor, layout, request->offset);
            osc_cached_cursor_unpack(&cursor, memory, data, length);
        }
        break;
    case OSC_CACHED_WIRE_ACC:
    case OSC_CACHED_WIRE_FETCH:
        if (OSC_CACHED_NO_OP == request->operation) {
            break;
        }
        if (NULL == layout) {
            osc_cached_operation_apply(request->operation, request->element, memory, data,
                                       length / element);
        } else {
            combine(request, layout, memory, data);
        }
        break;
    case OSC_CACHED_WIRE_CAS:
        if (0 == memcmp(result, (const char *) data + length, length)) {
            memcpy(memory, data, length);
        }
        break;
    default:
        break;
    }
}
