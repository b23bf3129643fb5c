/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * What the tests of coherence/core share: messages that are kept to be looked at, and an allocator
 * that fails after some requests. Include it after cmocka.h.
 */
#ifndef OSC_CACHED_TEST_MESSAGES_H
#define OSC_CACHED_TEST_MESSAGES_H

#include "osc_cached_alloc.h"
#include "osc_cached_message.h"

static osc_cached_message_t sent[64];
static unsigned num_sent, num_seen;

/* All messages of a test are about the memory of one process, whose rank is the context. */
static void keep(void *context, const osc_cached_message_t *message)
{
    assert_true(num_sent < sizeof(sent) / sizeof(sent[0]));
    assert_int_equal(message->owner, *(const int *) context);
    sent[num_sent++] = *message;
}

static int allocations = -1; /* that succeed; negative: all do */

static void *counted_alloc(void *context, size_t alignment, size_t bytes)
{
    if (0 == allocations) {
        return NULL;
    }
    --allocations;
    return osc_cached_alloc_default.alloc(context, alignment, bytes);
}

static void plain_free(void *context, void *memory, size_t bytes)
{
    osc_cached_alloc_default.free(context, memory, bytes);
}

static const osc_cached_alloc_t alloc = {counted_alloc, plain_free, NULL};

#endif /* OSC_CACHED_TEST_MESSAGES_H */
