/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * An allocator for the matching core's tests: counts what is in use, checks that sizes come back
 * as they went out, and fails at the Nth request.
 */
#ifndef LLAMATCH_TEST_ALLOC_H
#define LLAMATCH_TEST_ALLOC_H

#include "llamatch_queue.h"

#include <stdlib.h>

typedef struct {
    size_t in_use;    /* blocks */
    size_t bytes;     /* in use */
    size_t requests;  /* so far */
    size_t fail_at;   /* 0: never; else the request with this number (from 1) fails */
    bool wrong_sizes; /* a block came back with another size */
} test_alloc_t;

/* Kept in the line in front of the memory. */
typedef struct {
    char *block;
    size_t bytes;
} test_alloc_head_t;

static void *test_alloc_get(void *context, size_t alignment, size_t bytes)
{
    test_alloc_t *alloc = context;
    test_alloc_head_t *head;
    char *block;

    if (++alloc->requests == alloc->fail_at) {
        return NULL;
    }
    block = aligned_alloc(alignment, alignment + (bytes + alignment - 1) / alignment * alignment);
    if (NULL == block) {
        abort();
    }
    head = (test_alloc_head_t *) (block + alignment - LLAMATCH_LINE);
    head->block = block;
    head->bytes = bytes;
    ++alloc->in_use;
    alloc->bytes += bytes;
    return block + alignment;
}

static void test_alloc_put(void *context, void *memory, size_t bytes)
{
    test_alloc_t *alloc = context;
    test_alloc_head_t *head = (test_alloc_head_t *) ((char *) memory - LLAMATCH_LINE);

    if (head->bytes != bytes) {
        alloc->wrong_sizes = true;
    }
    --alloc->in_use;
    alloc->bytes -= bytes;
    free(head->block);
}

static inline llamatch_allocator_t test_alloc_make(test_alloc_t *alloc)
{
    llamatch_allocator_t allocator = {test_alloc_get, test_alloc_put, alloc};
    test_alloc_t zero = {0, 0, 0, 0, false};

    *alloc = zero;
    return allocator;
}

/* xorshift64*: small, and the same everywhere. */
static inline uint32_t test_random(uint64_t *state, uint32_t below)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (uint32_t) (((*state * UINT64_C(2685821657736338717)) >> 33) % below);
}

static inline uint64_t test_seed(uint64_t fallback)
{
    const char *text = getenv("LLAMATCH_SEED");
    uint64_t seed = (NULL != text) ? strtoull(text, NULL, 0) : fallback;

    return (0 != seed) ? seed : 1; /* 0 is xorshift's fixed point */
}

#endif
