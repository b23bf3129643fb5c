/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * One part of an operation on the memory of a window: checked first, then done as a whole.
 */
#ifndef OSC_CACHED_EXECUTE_H
#define OSC_CACHED_EXECUTE_H

#include "osc_cached_layout.h"
#include "osc_cached_wire.h"

/**
 * May the request (GET, PUT, ACC, FETCH or CAS) touch a memory of @p size bytes in this way?
 *
 * @param layout  NULL: contiguous bytes
 */
osc_cached_refused_t osc_cached_execute_check(const osc_cached_request_t *request,
                                              const osc_cached_layout_t *layout, uint64_t size);

/**
 * Do it; it must have been checked. GET copies @p length bytes from @p offset of the request on:
 * for the others use those of the request itself.
 *
 * @param base    the window's memory
 * @param data    the request's data (CAS: the new value, and behind it what it is compared with)
 * @param result  for GET, FETCH and CAS: what was there before, request->length bytes
 */
void osc_cached_execute(const osc_cached_request_t *request, const osc_cached_layout_t *layout,
                        char *base, const void *data, void *result);

#endif /* OSC_CACHED_EXECUTE_H */
