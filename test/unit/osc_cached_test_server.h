/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* What the tests of osc_cached_server share: memory that is counted and fails, storage, a
 * configuration, and a send function that only remembers. */
#ifndef OSC_CACHED_TEST_SERVER_H
#define OSC_CACHED_TEST_SERVER_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_execute.h"
#include "osc_cached_operation.h"
#include "osc_cached_server.h"
#include "osc_cached_test_random.h"

#define TARGET UINT64_C(0x7000)

static const osc_cached_window_id_t window_id = {.creator = 1, .number = 9};

/* --- Memory that is counted and fails ----------------------------------------------------------
 */

static size_t live_bytes;
static uint64_t fail_state; /* 0: never; else one allocation of 8 fails */

static void *count_alloc(void *context, size_t alignment, size_t bytes)
{
    (void) context;
    if (0 != fail_state && 0 == random_below(&fail_state, 8)) {
        return NULL;
    }
    live_bytes += bytes;
    return osc_cached_alloc_default.alloc(NULL, alignment, bytes);
}

static void count_free(void *context, void *memory, size_t bytes)
{
    (void) context;
    if (NULL != memory) {
        live_bytes -= bytes;
    }
    osc_cached_alloc_default.free(NULL, memory, bytes);
}

static const osc_cached_alloc_t counting = {count_alloc, count_free, NULL};

/* --- Storage: what was asked for is done at once, or later, or has an error --------------------
 */

#define MAX_JOBS 64

typedef struct job {
    osc_cached_request_t request;
    const osc_cached_layout_t *layout;
    const void *data;
    void *result;
    void *cookie;
} job_t;

typedef struct storage {
    uint64_t random;
    char *memory;
    uint32_t errors; /* one of so many operations fails; 0: none */
    uint32_t count;
    job_t job[MAX_JOBS];
    uint64_t at_once, later, failed;
} storage_t;

static bool storage_fails(storage_t *storage)
{
    bool fails = 0 < storage->errors && 0 == random_below(&storage->random, storage->errors);

    storage->failed += fails;
    return fails;
}

static osc_cached_stored_t store(void *context, const osc_cached_request_t *request,
                                 const osc_cached_layout_t *layout, const void *data, void *result,
                                 void *cookie)
{
    storage_t *storage = context;

    if (OSC_CACHED_WIRE_GET == request->kind && 0 == random_below(&storage->random, 2)) {
        if (storage_fails(storage)) {
            return OSC_CACHED_STORE_FAILED;
        }
        ++storage->at_once;
        osc_cached_execute(request, layout, storage->memory, data, result);
        return OSC_CACHED_STORE_DONE;
    }
    if (NULL != cookie) {
        assert_true(storage->count < MAX_JOBS);
        ++storage->later;
        for (uint32_t i = 0; i < storage->count; i++) { /* one of a session at a time */
            assert_ptr_not_equal(storage->job[i].cookie, cookie);
        }
        storage->job[storage->count++] = (job_t){*request, layout, data, result, cookie};
    }
    return OSC_CACHED_STORE_LATER;
}

/* One of the operations ends. */
static void storage_work(storage_t *storage, osc_cached_server_t *server)
{
    uint32_t which;
    job_t job;
    bool good;

    if (0 == storage->count) {
        return;
    }
    which = random_below(&storage->random, storage->count);
    job = storage->job[which];
    storage->job[which] = storage->job[--storage->count];
    good = !storage_fails(storage);
    if (good) {
        osc_cached_execute(&job.request, job.layout, storage->memory, job.data, job.result);
    }
    osc_cached_server_stored(server, job.cookie, good);
}

static osc_cached_server_config_t config_default(void)
{
    osc_cached_server_config_t config = {
        .alloc = &counting,
        .name = TARGET,
        .memory = 100000,
        .buffers = 4,
        .chunk = 64,
        .min_chunk = 16,
        .replies = 2,
        .room = 8,
        .spares = 3,
        .spare_bytes = 128,
    };
    return config;
}

#endif /* OSC_CACHED_TEST_SERVER_H */
