/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_shared: random operations against a reference; processes and threads that hit beside
 * others that keep, write, invalidate and grow; processes that are killed or stopped with the lock;
 * memory that cannot be had; damage. Content tells its key and its version, in each word.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_shared.h"
#include "osc_cached_test_random.h"
#include "osc_cached_test_robust.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

static void *map(uint64_t bytes)
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

static bool grow(void *context, uint64_t offset, uint64_t bytes)
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

static void shrink(void *context, uint64_t offset, uint64_t bytes)
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

static void segment_open(segment_t *segment, osc_cached_shared_config_t config)
{
    *segment = (segment_t){.size = osc_cached_shared_size(&config)};
    assert_int_not_equal(0, segment->size);
    segment->memory = map(segment->size);
    assert_int_equal(OSC_CACHED_OK, osc_cached_shared_create(&segment->shared, segment->memory,
                                                             &config, grow, &segment->given));
    segment->shared.shrink = shrink;
}

static void segment_close(segment_t *segment)
{
    assert_int_equal(0, munmap(segment->memory, segment->size));
}

static osc_cached_key_t key_of(int target, uint32_t place)
{
    return (osc_cached_key_t){.address = place * UINT64_C(4096), .target = target};
}

static size_t bytes_of(osc_cached_key_t key)
{
    return 8 * (2 + (size_t) (osc_cached_key_mix(key.address + 3) % (WORDS_MAX - 1)));
}

static uint64_t word_of(osc_cached_key_t key, uint64_t version, size_t i)
{
    return osc_cached_key_mix(key.address + (uint64_t) key.target * 1000003 + version * 77 + i);
}

static void fill(osc_cached_key_t key, uint64_t version, uint64_t *words, size_t bytes)
{
    words[0] = version;
    for (size_t i = 1; i < bytes / 8; ++i) {
        words[i] = word_of(key, version, i);
    }
}

/* Whether all words are of one version of the key. */
static bool is_whole(osc_cached_key_t key, const uint64_t *words, size_t bytes)
{
    for (size_t i = 1; i < bytes / 8; ++i) {
        if (word_of(key, words[0], i) != words[i]) {
            return false;
        }
    }
    return true;
}

static bool hit(osc_cached_shared_t *shared, osc_cached_key_t key, uint64_t *words, size_t bytes)
{
    return osc_cached_shared_hit(shared, key, 0, words, bytes, NULL, NULL, shared->more, true);
}

/* A get that missed: its bytes are those of this moment. */
static bool fetch(osc_cached_shared_t *shared, osc_cached_key_t key)
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

static void change(osc_cached_shared_t *shared, int target)
{
    osc_cached_shared_write_begin(shared, target);
    atomic_fetch_add(&world->versions[target], 1);
    osc_cached_shared_write_end(shared, target);
}

/* One process alone */

static void what_is_kept_is_found(void **state)
{
    segment_t segment;
    osc_cached_shared_t other;
    uint64_t words[WORDS_MAX + 1];
    osc_cached_key_t key = key_of(1, 5);
    size_t bytes = bytes_of(key);

    (void) state;
    segment_open(&segment, small);
    assert_int_equal(OSC_CACHED_OK,
                     osc_cached_shared_attach(&other, segment.memory, &small, grow, NULL));
    assert_false(hit(&other, key, words, bytes));
    assert_true(fetch(&segment.shared, key));
    assert_true(hit(&other, key, words, bytes));
    assert_true(is_whole(key, words, bytes));
    assert_false(hit(&other, key, words, bytes + 1)); /* more than it has */
    assert_true(osc_cached_shared_hit(&other, key, 16, words, bytes - 16, NULL, NULL, NULL, true));
    assert_int_equal(word_of(key, 0, 2), words[0]);
    assert_false(osc_cached_shared_hit(&other, key, 16, words, bytes - 15, NULL, NULL, NULL, true));
    key.layout = 1;
    assert_false(hit(&other, key, words, 8));
    segment_close(&segment);
}

static void one_process_invalidates_for_all(void **state)
{
    segment_t segment;
    osc_cached_shared_t other;
    uint64_t words[WORDS_MAX + 1], stamp;
    osc_cached_key_t key = key_of(1, 5);
    osc_cached_buffer_t buffer = {.address = words};

    (void) state;
    segment_open(&segment, small);
    assert_int_equal(OSC_CACHED_OK,
                     osc_cached_shared_attach(&other, segment.memory, &small, grow, NULL));
    assert_true(fetch(&other, key));
    osc_cached_shared_invalidate(&segment.shared);
    assert_false(hit(&other, key, words, 8));
    /* what was on its way meanwhile is not kept */
    stamp = osc_cached_shared_stamp(&other, 1, 0, 0);
    osc_cached_shared_invalidate(&segment.shared);
    assert_false(osc_cached_shared_publish(&other, key, stamp, &buffer, 8, NULL));
    /* own writes: of one target, and until they are complete nobody keeps anything */
    assert_true(fetch(&other, key));
    assert_true(fetch(&other, key_of(2, 5)));
    osc_cached_shared_write_begin(&segment.shared, 1);
    assert_false(hit(&other, key, words, 8));
    assert_true(hit(&other, key_of(2, 5), words, 8));
    assert_false(fetch(&other, key));
    osc_cached_shared_write_end(&segment.shared, 1);
    assert_true(fetch(&other, key));
    segment_close(&segment);
}

/* The caller's own term, here counters of blocks of 4096 bytes, which all processes have. */

enum { BLOCKS = 16 };

static uint64_t counters(const void *context, int32_t target, uint64_t address, size_t bytes)
{
    const osc_cached_shared_t *shared = context;
    _Atomic uint64_t *counter = shared->extra;
    uint64_t sum = 0;

    (void) target;
    for (uint64_t i = address / 4096; i <= (address + bytes - 1) / 4096; ++i) {
        sum += atomic_load(&counter[i % BLOCKS]);
    }
    return sum;
}

static void stamps_have_a_term_of_the_caller(void **state)
{
    osc_cached_shared_config_t config = small;
    segment_t segment;
    osc_cached_shared_t other;
    uint64_t words[1024] = {0};
    osc_cached_buffer_t buffer = {.address = words};
    osc_cached_key_t key = key_of(1, 5), both = {.address = 6 * 4096 - 8, .target = 1};
    _Atomic uint64_t *counter;

    (void) state;
    config.extra = BLOCKS * sizeof(uint64_t);
    segment_open(&segment, config);
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT, /* without the extra part */
                     osc_cached_shared_attach(&other, segment.memory, &small, grow, NULL));
    assert_int_equal(OSC_CACHED_OK,
                     osc_cached_shared_attach(&other, segment.memory, &config, grow, NULL));
    segment.shared.more = other.more = counters;
    segment.shared.more_context = &segment.shared;
    other.more_context = &other;
    counter = other.extra;
    for (int i = 0; i < BLOCKS; ++i) {
        assert_int_equal(0, counter[i]);
    }
    assert_true(osc_cached_shared_publish(
        &other, key, osc_cached_shared_stamp(&other, 1, key.address, 64), &buffer, 64, NULL));
    assert_true(osc_cached_shared_publish(
        &other, both, osc_cached_shared_stamp(&other, 1, both.address, 16), &buffer, 16, NULL));
    assert_true(hit(&segment.shared, key, words, 8));
    assert_true(hit(&segment.shared, both, words, 8));
    atomic_fetch_add(&counter[6], 1); /* only its second block, which the hit does not ask for */
    assert_true(hit(&segment.shared, key, words, 8));
    assert_false(hit(&segment.shared, both, words, 8));
    atomic_fetch_add(&counter[5], 1);
    assert_false(hit(&segment.shared, key, words, 8));
    assert_int_equal(0, osc_cached_shared_verify(&other));
    segment_close(&segment);
}

static void configurations_are_looked_at(void **state)
{
    osc_cached_shared_config_t bad[] = {small, small, small, small, small, small};
    segment_t segment;
    osc_cached_shared_t other;

    (void) state;
    bad[0].slots = 24;
    bad[1].max_slots = 8;
    bad[2].memory = 0;
    bad[3].max_memory = small.memory - 1;
    bad[4].slots = 4;
    bad[5].max_memory = UINT64_C(1) << 36;
    segment_open(&segment, small);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
        assert_int_equal(0, osc_cached_shared_size(&bad[i]));
        assert_int_equal(OSC_CACHED_BAD_ARGUMENT,
                         osc_cached_shared_create(&other, segment.memory, &bad[i], grow, NULL));
        assert_int_equal(OSC_CACHED_BAD_ARGUMENT,
                         osc_cached_shared_attach(&other, segment.memory, &bad[i], grow, NULL));
    }
    bad[0] = small;
    bad[0].seed = 8;
    assert_int_equal(OSC_CACHED_BAD_ARGUMENT,
                     osc_cached_shared_attach(&other, segment.memory, &bad[0], grow, NULL));
    segment_close(&segment);
}

/* A line that changes at this moment is not served; nor is another key's with the same tag. */
static void lines_are_looked_at(void **state)
{
    osc_cached_shared_config_t config = small;
    osc_cached_shared_t *shared;
    uint64_t words[WORDS_MAX + 1], hash;
    segment_t segment;

    (void) state;
    config.slots = config.max_slots = OSC_CACHED_SHARED_WAYS; /* one bucket */
    segment_open(&segment, config);
    shared = &segment.shared;
    assert_true(fetch(shared, key_of(0, 1)));
    atomic_fetch_add(&shared->lines[0].sequence, 1);
    assert_false(hit(shared, key_of(0, 1), words, 8));
    atomic_fetch_add(&shared->lines[0].sequence, 1);
    assert_true(hit(shared, key_of(0, 1), words, 8));
    hash = osc_cached_key_hash(&shared->seed, key_of(1, 1));
    atomic_store(&shared->tags[0], osc_cached_shared_tag(hash));
    assert_false(hit(shared, key_of(1, 1), words, 8));
    segment_close(&segment);
}

/* Random operations: a hit brings what was kept last, and nothing that was invalidated. What is in
 * the arena is also what the numbers say. */
static void operate(osc_cached_shared_config_t config, uint64_t fails_at, uint32_t operations)
{
    uint64_t random = seed_get(5), kept[TARGETS][PLACES] = {{0}}, words[WORDS_MAX + 1], hits = 0;
    segment_t segment;

    segment_open(&segment, config);
    segment.given.fails_at = fails_at;
    for (uint32_t i = 0; i < operations; ++i) {
        int target = (int) random_below(&random, TARGETS);
        uint32_t place = random_below(&random, PLACES), what = random_below(&random, 1000);
        osc_cached_key_t key = key_of(target, place);

        if (0 == what) {
            osc_cached_shared_invalidate(&segment.shared);
            memset(kept, 0, sizeof(kept));
        } else if (what < 5) {
            change(&segment.shared, target);
            memset(kept[target], 0, sizeof(kept[target]));
        } else if (what < 10) {
            assert_int_equal(0, osc_cached_shared_verify(&segment.shared));
        } else if (hit(&segment.shared, key, words, bytes_of(key))) {
            assert_true(is_whole(key, words, bytes_of(key)));
            assert_int_equal(kept[target][place], words[0] + 1);
            ++hits;
        } else if (fetch(&segment.shared, key)) {
            kept[target][place] = atomic_load(&world->versions[target]) + 1;
            assert_true(hit(&segment.shared, key, words, bytes_of(key)));
        }
    }
    assert_int_equal(0, osc_cached_shared_verify(&segment.shared));
    assert_in_range(hits, operations / 20, operations);
    assert_int_equal(segment.given.bytes + osc_cached_shared_first(&config),
                     osc_cached_shared_memory(&segment.shared));
    segment_close(&segment);
}

static void operations_follow_the_reference(void **state)
{
    osc_cached_shared_config_t config = small;

    (void) state;
    operate(config, 0, operations_of(1, 100));
    config.slots = config.max_slots = 64; /* too few */
    operate(config, 0, operations_of(1, 100));
    config = small;
    config.memory = config.max_memory; /* too little, and fixed */
    operate(config, 0, operations_of(1, 100));
    config.max_memory = 1 << 22;
    config.max_slots = 4096; /* all of it */
    operate(config, 0, operations_of(1, 100));
}

static void what_cannot_grow_works(void **state)
{
    segment_t segment = {.size = osc_cached_shared_size(&small)};

    (void) state;
    segment.memory = map(segment.size);
    for (uint64_t i = 1; i <= 4; ++i) {
        segment.given = (memory_t){.fails_at = i};
        assert_int_equal(OSC_CACHED_NO_MEMORY,
                         osc_cached_shared_create(&segment.shared, segment.memory, &small, grow,
                                                  &segment.given));
    }
    segment_close(&segment);
    /* a growth whose second part fails gives back the first one */
    for (uint64_t i = 5; i <= 17; ++i) {
        segment_t other;
        uint64_t random = i;

        segment_open(&other, small);
        other.given.fails_at = i;
        for (int j = 0; j < 5000; ++j) {
            (void) fetch(&other.shared, key_of((int) random_below(&random, TARGETS),
                                               random_below(&random, PLACES)));
        }
        assert_int_equal(0, osc_cached_shared_verify(&other.shared));
        assert_int_equal(other.given.bytes + osc_cached_shared_first(&small),
                         osc_cached_shared_memory(&other.shared));
        segment_close(&other);
    }
}

/* What was hit stays, however much passes by; what was not leaves first. */
static void what_was_hit_stays(void **state)
{
    osc_cached_shared_config_t config = small;
    segment_t segment;
    uint64_t words[WORDS_MAX + 1], kept = 0;

    (void) state;
    config.memory = config.max_memory = 65536;
    config.slots = config.max_slots = 1024;
    segment_open(&segment, config);
    for (uint32_t i = 0; i < 8; ++i) {
        assert_true(fetch(&segment.shared, key_of(0, i)));
    }
    for (uint32_t i = 0; i < 500; ++i) {
        for (uint32_t j = 0; j < 8; ++j) {
            kept += hit(&segment.shared, key_of(0, j), words, 8);
        }
        assert_true(fetch(&segment.shared, key_of(1, i)));
    }
    assert_int_equal(8 * 500, kept);
    segment_close(&segment);
}

/* Lines that were hit, with others between them: there is room for a large one without any of them
 * leaving. */
static void lines_that_stay_leave_no_gaps(void **state)
{
    enum { LINES = 16, SMALL = 2 * OSC_CACHED_SHARED_UNIT, LARGE = 4 * SMALL };
    osc_cached_shared_config_t config = small;
    uint64_t words[LARGE / 8];
    osc_cached_buffer_t buffer = {.address = words};
    segment_t segment;

    (void) state;
    config.memory = config.max_memory = LINES * SMALL;
    config.slots = config.max_slots = 512;
    segment_open(&segment, config);
    for (uint32_t i = 0; i < LINES; ++i) {
        fill(key_of(0, i), i, words, SMALL);
        assert_true(
            osc_cached_shared_publish(&segment.shared, key_of(0, i), 0, &buffer, SMALL, NULL));
        assert_true(0 == i % 2 || hit(&segment.shared, key_of(0, i), words, SMALL));
    }
    for (uint32_t i = 0; i < 2; ++i) {
        fill(key_of(1, i), i, words, LARGE);
        assert_true(
            osc_cached_shared_publish(&segment.shared, key_of(1, i), 0, &buffer, LARGE, NULL));
        assert_int_equal(4 * (i + 1), atomic_load(&segment.shared.header->evictions));
        assert_int_equal(0, osc_cached_shared_verify(&segment.shared));
    }
    for (uint32_t i = 1; i < LINES; i += 2) {
        assert_true(hit(&segment.shared, key_of(0, i), words, SMALL));
        assert_true(i == words[0] && is_whole(key_of(0, i), words, SMALL));
    }
    for (uint32_t i = 0; i < 2; ++i) {
        assert_true(hit(&segment.shared, key_of(1, i), words, LARGE));
        assert_true(i == words[0] && is_whole(key_of(1, i), words, LARGE));
    }
    segment_close(&segment);
}

/* The same, and there is no room although lines have moved past where the hand was: nothing is
 * broken, and next time there is. */
static void the_hand_moves_with_lines(void **state)
{
    static const size_t units[] = {3, 2, 3, 4, 4};
    osc_cached_shared_config_t config = small;
    uint64_t words[8];
    osc_cached_buffer_t buffer = {.address = words};
    segment_t segment;

    (void) state;
    config.memory = config.max_memory = 16 * OSC_CACHED_SHARED_UNIT;
    config.slots = config.max_slots = 512;
    segment_open(&segment, config);
    for (uint32_t i = 0; i < 5; ++i) {
        size_t bytes = units[i] * OSC_CACHED_SHARED_UNIT;

        fill(key_of(0, i), 0, words, bytes);
        assert_true(
            osc_cached_shared_publish(&segment.shared, key_of(0, i), 0, &buffer, bytes, NULL));
        for (int j = 0; 1 != i && j < OSC_CACHED_SHARED_USES; ++j) {
            assert_true(hit(&segment.shared, key_of(0, i), words, bytes));
        }
    }
    segment.shared.header->hand = 8; /* at the fourth */
    for (uint32_t i = 0; i < 2; ++i) {
        fill(key_of(1, 0), 0, words, sizeof(words));
        assert_int_equal(i, osc_cached_shared_publish(&segment.shared, key_of(1, 0), 0, &buffer,
                                                      sizeof(words), NULL));
        assert_int_equal(0, osc_cached_shared_verify(&segment.shared));
    }
    segment_close(&segment);
}

/* Growing moves nothing, and keeps all that has a place. */
static void growth_keeps_everything(void **state)
{
    osc_cached_shared_config_t config = small;
    uint64_t words[WORDS_MAX + 1], found = 0;
    segment_t segment;

    (void) state;
    config.max_memory = 1 << 22;
    config.max_slots = 4096;
    segment_open(&segment, config);
    for (uint32_t i = 0; i < PLACES; ++i) {
        assert_true(fetch(&segment.shared, key_of(0, i)));
    }
    for (uint32_t i = 0; i < PLACES; ++i) {
        found += hit(&segment.shared, key_of(0, i), words, bytes_of(key_of(0, i)));
    }
    assert_int_equal(PLACES - atomic_load(&segment.shared.header->evictions), found);
    assert_in_range(found, PLACES - 4, PLACES); /* a bucket may be full */
    assert_true(0 < atomic_load(&segment.shared.header->growths));
    segment_close(&segment);
}

/* An entry that is larger than the arena at the start is kept, also by an empty segment, which has
 * nothing that could leave. */
static void a_large_entry_has_room(void **state)
{
    enum { LARGE = 60000 };
    static uint64_t words[LARGE / 8], found[LARGE / 8];
    osc_cached_buffer_t buffer = {.address = words};
    segment_t segment;

    (void) state;
    segment_open(&segment, small);
    assert_true(small.memory < LARGE && LARGE <= small.max_memory / 4);
    fill(key_of(0, 1), 0, words, LARGE);
    assert_true(osc_cached_shared_publish(&segment.shared, key_of(0, 1), 0, &buffer, LARGE, NULL));
    assert_true(hit(&segment.shared, key_of(0, 1), found, LARGE));
    assert_true(is_whole(key_of(0, 1), found, LARGE));
    assert_int_equal(0, osc_cached_shared_verify(&segment.shared));
    segment_close(&segment);
    /* where there is no memory, it is not */
    segment_open(&segment, small);
    segment.given.fails_at = 1;
    assert_false(osc_cached_shared_publish(&segment.shared, key_of(0, 1), 0, &buffer, LARGE, NULL));
    assert_true(fetch(&segment.shared, key_of(0, 2)));
    assert_int_equal(0, osc_cached_shared_verify(&segment.shared));
    segment_close(&segment);
}

/* Several */

/* Hit until the end, or until something is wrong. A hit is not older than what was complete before
 * it began. */
static int read_on(osc_cached_shared_t *shared, uint64_t random)
{
    uint64_t words[WORDS_MAX + 1];

    while (0 == atomic_load(&world->stop)) {
        osc_cached_key_t key =
            key_of((int) random_below(&random, TARGETS), random_below(&random, PLACES));
        uint64_t version = atomic_load(&world->versions[key.target]);

        if (hit(shared, key, words, bytes_of(key))) {
            if (!is_whole(key, words, bytes_of(key))) {
                return 2;
            }
            if (words[0] < version) {
                return 3;
            }
            atomic_fetch_add(&world->hits, 1);
        }
    }
    return osc_cached_shared_is_good(shared) ? 0 : 4;
}

static int write_on(osc_cached_shared_t *shared, uint64_t random, uint64_t steps)
{
    for (uint64_t i = 0; i < steps; ++i) {
        int target = (int) random_below(&random, TARGETS);
        uint32_t what = random_below(&random, 2000);

        if (0 == what) {
            osc_cached_shared_invalidate(shared);
        } else if (what < 10) {
            change(shared, target);
        } else {
            (void) fetch(shared, key_of(target, random_below(&random, PLACES)));
        }
    }
    return 0;
}

/* A process with a mapping of its own. */
static pid_t start(segment_t *segment, uint64_t number, uint64_t steps)
{
    pid_t child = fork();

    assert_int_not_equal(-1, child);
    if (0 == child) {
        osc_cached_shared_t shared;

        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (OSC_CACHED_OK
            != osc_cached_shared_attach(&shared, segment->memory, &segment->shared.config, grow,
                                        &segment->given)) {
            _exit(5);
        }
        _exit((0 == steps) ? read_on(&shared, number) : write_on(&shared, number, steps));
    }
    return child;
}

static void assert_ended(pid_t child)
{
    int status;

    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status);
}

static void begin(void)
{
    atomic_store(&world->stop, 0);
    atomic_store(&world->hits, 0);
}

/* Readers end when they have hit something, however late they begin. */
static void stop(segment_t *segment)
{
    uint64_t random = 41;

    while (0 == atomic_load(&world->hits)) {
        (void) fetch(&segment->shared,
                     key_of((int) random_below(&random, TARGETS), random_below(&random, PLACES)));
        (void) sched_yield();
    }
    atomic_store(&world->stop, 1);
}

static void processes_see_whole_entries(void **state)
{
    uint32_t steps = operations_of(1, 200);
    segment_t segment;
    pid_t readers[2], writers[2];

    (void) state;
    begin();
    segment_open(&segment, small);
    for (uint64_t i = 0; i < 2; ++i) {
        readers[i] = start(&segment, i + 1, 0);
        writers[i] = start(&segment, i + 11, steps);
    }
    assert_ended(writers[0]);
    assert_ended(writers[1]);
    stop(&segment);
    assert_ended(readers[0]);
    assert_ended(readers[1]);
    assert_int_equal(0, osc_cached_shared_verify(&segment.shared));
    assert_int_equal(0, atomic_load(&segment.shared.header->recoveries));
    segment_close(&segment);
}

static void *read_in_thread(void *argument)
{
    segment_t *segment = argument;
    osc_cached_shared_t shared;

    if (OSC_CACHED_OK
        != osc_cached_shared_attach(&shared, segment->memory, &small, grow, &segment->given)) {
        return (void *) 1;
    }
    return (void *) (intptr_t) read_on(&shared, (uintptr_t) &shared | 1);
}

static void threads_see_whole_entries(void **state)
{
    segment_t segment;
    pthread_t readers[2];
    void *result;

    (void) state;
    begin();
    segment_open(&segment, small);
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(0, pthread_create(&readers[i], NULL, read_in_thread, &segment));
    }
    assert_int_equal(0, write_on(&segment.shared, 17, operations_of(1, 500)));
    stop(&segment);
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(0, pthread_join(readers[i], &result));
        assert_null(result);
    }
    assert_int_equal(0, osc_cached_shared_verify(&segment.shared));
    segment_close(&segment);
}

/* Death */

static _Atomic int *in_the_lock;

/* Bytes of a buffer with a type are copied under the lock: some of them, and then this. */
static void copy_and_die(const osc_cached_buffer_t *buffer, void *bytes, size_t size,
                         bool to_buffer)
{
    assert_false(to_buffer);
    memcpy(bytes, buffer->address, size / 2);
    atomic_store(in_the_lock, 1);
    (void) kill(getpid(), *(const int *) buffer->type);
    memcpy((char *) bytes + size / 2, (const char *) buffer->address + size / 2, size - size / 2);
}

/* A process that gets this signal while it has the lock. */
static pid_t start_victim(segment_t *segment, int signal)
{
    pid_t child;

    atomic_store(in_the_lock, 0);
    child = fork();
    assert_int_not_equal(-1, child);
    if (0 == child) {
        uint64_t words[WORDS_MAX + 1];
        osc_cached_key_t key = key_of(0, PLACES);
        osc_cached_buffer_t buffer = {.address = words, .type = &signal};

        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        fill(key, 0, words, BYTES_MAX);
        (void) osc_cached_shared_publish(&segment->shared, key,
                                         osc_cached_shared_stamp(&segment->shared, 0, 0, 0),
                                         &buffer, BYTES_MAX, copy_and_die);
        _exit(0);
    }
    while (0 == atomic_load(in_the_lock)) {
        siginfo_t ended = {.si_pid = 0};

        /* it gets the lock; it may have got it, and died, since the last look */
        assert_int_equal(0, waitid(P_PID, (id_t) child, &ended, WEXITED | WNOHANG | WNOWAIT));
        assert_true(0 == ended.si_pid || 0 != atomic_load(in_the_lock));
        (void) sched_yield();
    }
    return child;
}

static void assert_killed(pid_t child)
{
    int status;

    assert_int_equal(child, waitpid(child, &status, 0));
    assert_true(WIFSIGNALED(status) && SIGKILL == WTERMSIG(status));
}

/* Killed 100 times with the lock, half of them at any moment: nothing is torn, and nobody hangs. */
static void the_lock_outlives_its_owners(void **state)
{
    uint64_t random = seed_get(23), kills = 0;
    segment_t segment;
    pid_t readers[2];

    (void) state;
    if (!is_robust()) {
        skip();
    }
    begin();
    segment_open(&segment, small);
    readers[0] = start(&segment, 1, 0);
    readers[1] = start(&segment, 2, 0);
    while (atomic_load(&segment.shared.header->recoveries) < 100) {
        struct timespec moment = {0, (long) random_below(&random, 1000000)};
        pid_t victim;

        if (0 == random_below(&random, 2)) {
            victim = start_victim(&segment, SIGKILL);
        } else {
            victim = start(&segment, random_below(&random, 1000) + 1, UINT64_MAX);
            (void) nanosleep(&moment, NULL);
            assert_int_equal(0, kill(victim, SIGKILL));
        }
        assert_killed(victim);
        assert_int_equal(0, osc_cached_shared_verify(&segment.shared));
        assert_in_range(++kills, 1, 5000);
    }
    stop(&segment);
    assert_ended(readers[0]);
    assert_ended(readers[1]);
    segment_close(&segment);
}

/* A process that was stopped with the lock: others go on, hit, and keep nothing. */
static void nobody_waits_for_a_stopped_process(void **state)
{
    segment_t segment;
    uint64_t words[WORDS_MAX + 1];
    pid_t victim;
    int status;

    (void) state;
    segment_open(&segment, small);
    assert_true(fetch(&segment.shared, key_of(1, 1)));
    victim = start_victim(&segment, SIGSTOP);
    assert_int_equal(victim, waitpid(victim, &status, WUNTRACED));
    assert_true(WIFSTOPPED(status)); /* else SIGCONT may come first */
    assert_true(hit(&segment.shared, key_of(1, 1), words, 8));
    assert_false(fetch(&segment.shared, key_of(1, 2)));
    assert_int_equal(-1, osc_cached_shared_verify(&segment.shared));
    osc_cached_shared_invalidate(&segment.shared);
    assert_false(hit(&segment.shared, key_of(1, 1), words, 8));
    assert_int_equal(0, kill(victim, SIGCONT));
    assert_ended(victim);
    assert_true(fetch(&segment.shared, key_of(1, 2)));
    assert_int_equal(0, osc_cached_shared_verify(&segment.shared));
    segment_close(&segment);
}

/* Recovery: what a dead process has left half done is dropped, the rest is kept. */
static void recovery_keeps_what_is_whole(void **state)
{
    segment_t segment;
    uint64_t words[WORDS_MAX + 1], found = 0, before = 0;
    osc_cached_shared_t *shared = &segment.shared;

    (void) state;
    if (!is_robust()) {
        skip();
    }
    segment_open(&segment, small);
    for (uint32_t i = 0; i < PLACES; ++i) {
        (void) fetch(shared, key_of(1, i));
    }
    for (uint32_t i = 0; i < PLACES; ++i) {
        before += hit(shared, key_of(1, i), words, 8);
    }
    assert_killed(start_victim(&segment, SIGKILL));
    /* as if it had died elsewhere, too: a line that changes, and units that nobody has */
    for (uint64_t slot = 0, odd = 0; slot < atomic_load(&shared->header->slots) && odd < 3;
         ++slot) {
        if (0 != atomic_load(&shared->lines[slot].place)) {
            atomic_fetch_add(&shared->lines[slot].sequence, 1);
            ++odd;
        }
    }
    atomic_store(&shared->owners[3], 1);
    shared->header->occupied = 9999;
    assert_int_equal(0, osc_cached_shared_verify(shared));
    assert_int_equal(1, atomic_load(&shared->header->recoveries));
    for (uint32_t i = 0; i < PLACES; ++i) {
        if (hit(shared, key_of(1, i), words, bytes_of(key_of(1, i)))) {
            assert_true(is_whole(key_of(1, i), words, bytes_of(key_of(1, i))));
            ++found;
        }
    }
    /* three, and those that left for what was about to be kept */
    assert_in_range(found, before / 2, before - 3);
    segment_close(&segment);
}

/* A line that was kept with its last steps missing, of which one is the hand's: after a lap it may
 * be anywhere in it. */
static void recovery_moves_the_hand(void **state)
{
    segment_t segment;
    osc_cached_shared_t *shared = &segment.shared, other;
    uint64_t words[WORDS_MAX + 1];
    pid_t child;

    (void) state;
    if (!is_robust()) {
        skip();
    }
    segment_open(&segment, small);
    assert_int_equal(OSC_CACHED_OK,
                     osc_cached_shared_attach(&other, segment.memory, &small, grow, NULL));
    assert_true(OSC_CACHED_SHARED_UNIT < bytes_of(key_of(1, 1)));
    assert_true(fetch(shared, key_of(1, 1)));
    child = fork();
    assert_int_not_equal(-1, child);
    if (0 == child) {
        if (0 != pthread_mutex_lock(&shared->header->lock)) {
            _exit(1);
        }
        shared->header->hand = 1;
        _exit(0);
    }
    assert_ended(child);
    assert_true(fetch(shared, key_of(1, 2)));
    assert_true(hit(shared, key_of(1, 1), words, 8));
    assert_true(hit(shared, key_of(1, 2), words, 8));
    assert_int_equal(1, atomic_load(&other.header->recoveries));
    assert_int_equal(1, atomic_load(&shared->recoveries)); /* whose is it? */
    assert_int_equal(0, atomic_load(&other.recoveries));
    assert_int_equal(0, osc_cached_shared_verify(shared));
    shared->header->hand = 1;
    assert_int_equal(5, osc_cached_shared_verify(shared));
    segment_close(&segment);
}

/* Damage */

/* Somebody writes where it must not, anywhere but into bytes: no wrong bytes, no signal, and what
 * is noticed is dropped by all. */
static void damage_is_noticed(void **state)
{
    uint64_t random = seed_get(31), noticed = 0, words[WORDS_MAX + 1];
    uint32_t times = operations_of(1, 50000);

    (void) state;
    for (uint32_t i = 0; i < times; ++i) {
        segment_t segment;
        osc_cached_shared_t *shared = &segment.shared, other;
        uint32_t what = random_below(&random, 6);
        uint64_t value = (uint64_t) random_below(&random, 1u << 30) << random_below(&random, 34);
        osc_cached_shared_line_t *line;

        segment_open(&segment, small);
        assert_int_equal(OSC_CACHED_OK, osc_cached_shared_attach(&other, segment.memory, &small,
                                                                 grow, &segment.given));
        for (uint32_t j = 0; j < PLACES; ++j) {
            (void) fetch(shared, key_of(1, j));
        }
        do {
            line = &shared->lines[random_below(&random, 64)];
        } while (0 == atomic_load(&line->place));
        switch (what) {
        case 0:
            atomic_store(&line->stamp, value);
            atomic_store(&line->name, value + 1);
            break;
        case 1:
            atomic_fetch_add(&line->place, UINT64_C(1) << 32); /* the bytes of another */
            break;
        case 2:
            atomic_store(&shared->owners[random_below(&random, 256)], (uint32_t) value);
            break;
        case 3:
            shared->header->config.max_slots = 3;
            break;
        case 4:
            atomic_store(&shared->header->slots, value | 1);
            break;
        default:
            atomic_store(&shared->header->magic, value);
            break;
        }
        for (uint32_t j = 0; j < PLACES; ++j) {
            osc_cached_key_t key = key_of(1, j);

            if (hit(&other, key, words, bytes_of(key))) {
                assert_true(is_whole(key, words, bytes_of(key)));
            } else {
                (void) fetch(&other, key);
            }
        }
        if (!osc_cached_shared_is_good(shared)) {
            ++noticed;
            assert_false(hit(shared, key_of(1, 1), words, 8));
            assert_false(fetch(shared, key_of(1, 1)));
            assert_int_equal(1, osc_cached_shared_verify(shared));
        } else {
            assert_int_equal(2, what); /* the hand has not come by */
        }
        segment_close(&segment);
    }
    assert_in_range(noticed, times / 2, times);
}

static int setup(void **state)
{
    (void) state;
    world = map(sizeof(*world));
    in_the_lock = map(sizeof(*in_the_lock));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_is_found),
        cmocka_unit_test(one_process_invalidates_for_all),
        cmocka_unit_test(stamps_have_a_term_of_the_caller),
        cmocka_unit_test(configurations_are_looked_at),
        cmocka_unit_test(lines_are_looked_at),
        cmocka_unit_test(operations_follow_the_reference),
        cmocka_unit_test(what_cannot_grow_works),
        cmocka_unit_test(what_was_hit_stays),
        cmocka_unit_test(lines_that_stay_leave_no_gaps),
        cmocka_unit_test(the_hand_moves_with_lines),
        cmocka_unit_test(growth_keeps_everything),
        cmocka_unit_test(a_large_entry_has_room),
        cmocka_unit_test(processes_see_whole_entries),
        cmocka_unit_test(threads_see_whole_entries),
        cmocka_unit_test(the_lock_outlives_its_owners),
        cmocka_unit_test(nobody_waits_for_a_stopped_process),
        cmocka_unit_test(recovery_keeps_what_is_whole),
        cmocka_unit_test(recovery_moves_the_hand),
        cmocka_unit_test(damage_is_noticed),
    };

    (void) alarm(300); /* what never comes is a failure, too */
    return cmocka_run_group_tests(tests, setup, NULL);
}
