/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Segments of osc_cached_shared, and content that tells its key and its version, in each word.
 */
#ifndef OSC_CACHED_TEST_SHARED_H
#define OSC_CACHED_TEST_SHARED_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_shared.h"
#include "osc_cached_test_random.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    TARGETS = 4,
    PLACES = 96, /* of a target */
    BYTES_MAX = 4000,
    WORDS_MAX = BYTES_MAX / 8
};

/* What all processes see beside the segment: the memory of the targets, and when to stop. */
typedef struct {
    _Atomic uint64_t versions[TARGETS];
    _Atomic uint64_t hits;
    _Atomic int stop;
} world_t;

static world_t *world;

__attribute__((unused)) static void *map(uint64_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    assert_ptr_not_equal(MAP_FAILED, memory);
    return memory;
}

/* The memory function: which call fails, from now on, and what it was asked for. */
typedef struct {
    uint64_t calls, fails_at, bytes;
} memory_t;

__attribute__((unused)) static bool grow(void *context, uint64_t offset, uint64_t bytes)
{
    memory_t *memory = context;

    (void) offset;
    ++memory->calls;
    if (0 != memory->fails_at && memory->fails_at <= memory->calls) {
        return false;
    }
    memory->bytes += bytes;
    return true;
}

__attribute__((unused)) static void shrink(void *context, uint64_t offset, uint64_t bytes)
{
    memory_t *memory = context;

    (void) offset;
    assert_true(bytes <= memory->bytes);
    memory->bytes -= bytes;
}

typedef struct {
    void *memory;
    uint64_t size;
    memory_t given;
    osc_cached_shared_t shared;
} segment_t;

static const osc_cached_shared_config_t small = {.memory = 16384,
                                                 .max_memory = 262144,
                                                 .slots = 16,
                                                 .max_slots = 512,
                                                 .targets = TARGETS,
                                                 .seed = 7};

__attribute__((unused)) static void segment_open(segment_t *segment,
                                                 osc_cached_shared_config_t config)
{
    *segment = (segment_t){.size = osc_cached_shared_size(&config)};
    assert_int_not_equal(0, segment->size);
    segment->memory = map(segment->size);
    assert_int_equal(OSC_CACHED_OK, osc_cached_shared_create(&segment->shared, segment->memory,
                                                             &config, grow, &segment->given));
    segment->shared.shrink = shrink;
}

__attribute__((unused)) static void segment_close(segment_t *segment)
{
    assert_int_equal(0, munmap(segment->memory, segment->size));
}

__attribute__((unused)) static osc_cached_key_t key_of(int target, uint32_t place)
{
    return (osc_cached_key_t){.address = place * UINT64_C(4096), .target = target};
}

__attribute__((unused)) static size_t bytes_of(osc_cached_key_t key)
{
    return 8 * (2 + (size_t) (osc_cached_key_mix(key.address + 3) % (WORDS_MAX - 1)));
}

__attribute__((unused)) static uint64_t word_of(osc_cached_key_t key, uint64_t version, size_t i)
{
    return osc_cached_key_mix(key.address + (uint64_t) key.target * 1000003 + version * 77 + i);
}

__attribute__((unused)) static void fill(osc_cached_key_t key, uint64_t version, uint64_t *words,
                                         size_t bytes)
{
    words[0] = version;
    for (size_t i = 1; i < bytes / 8; ++i) {
        words[i] = word_of(key, version, i);
    }
}

/* Whether all words are of one version of the key. */
__attribute__((unused)) static bool is_whole(osc_cached_key_t key, const uint64_t *words,
                                             size_t bytes)
{
    for (size_t i = 1; i < bytes / 8; ++i) {
        if (word_of(key, words[0], i) != words[i]) {
            return false;
        }
    }
    return true;
}

__attribute__((unused)) static bool hit(osc_cached_shared_t *shared, osc_cached_key_t key,
                                        uint64_t *words, size_t bytes)
{
    return osc_cached_shared_hit(shared, key, 0, words, bytes, NULL, NULL, shared->more, true);
}

/* A get that missed: its bytes are those of this moment. */
__attribute__((unused)) static bool fetch(osc_cached_shared_t *shared, osc_cached_key_t key)
{
    uint64_t words[WORDS_MAX + 1];
    osc_cached_buffer_t buffer = {.address = words};
    uint64_t stamp = osc_cached_shared_stamp(shared, key.target, key.address, 0);

    if (osc_cached_shared_is_written(shared, key.target)) {
        return false;
    }
    fill(key, atomic_load(&world->versions[key.target]), words, bytes_of(key));
    return osc_cached_shared_publish(shared, key, stamp, &buffer, bytes_of(key), NULL);
}

__attribute__((unused)) static void change(osc_cached_shared_t *shared, int target)
{
    osc_cached_shared_write_begin(shared, target);
    atomic_fetch_add(&world->versions[target], 1);
    osc_cached_shared_write_end(shared, target);
}

#endif /* OSC_CACHED_TEST_SHARED_H */
