/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_shared, by one process: random operations against a reference; what stays and what
 * leaves; memory that cannot be had; damage.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include "osc_cached_test_shared.h"

#include <unistd.h>

/* The stamp of what was fetched before anything was invalidated. */
#define FRESH (2 * OSC_CACHED_SHARED_STEP)

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
            osc_cached_shared_publish(&segment.shared, key_of(0, i), FRESH, &buffer, SMALL, NULL));
        assert_true(0 == i % 2 || hit(&segment.shared, key_of(0, i), words, SMALL));
    }
    for (uint32_t i = 0; i < 2; ++i) {
        fill(key_of(1, i), i, words, LARGE);
        assert_true(
            osc_cached_shared_publish(&segment.shared, key_of(1, i), FRESH, &buffer, LARGE, NULL));
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
            osc_cached_shared_publish(&segment.shared, key_of(0, i), FRESH, &buffer, bytes, NULL));
        for (int j = 0; 1 != i && j < OSC_CACHED_SHARED_USES; ++j) {
            assert_true(hit(&segment.shared, key_of(0, i), words, bytes));
        }
    }
    segment.shared.header->hand = 8; /* at the fourth */
    for (uint32_t i = 0; i < 2; ++i) {
        fill(key_of(1, 0), 0, words, sizeof(words));
        assert_int_equal(i, osc_cached_shared_publish(&segment.shared, key_of(1, 0), FRESH, &buffer,
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

/* When a process gets no more memory, the next one that keeps something does, for both. */
static void others_pay_for_growth(void **state)
{
    osc_cached_shared_config_t config = small;
    memory_t theirs = {0, 0, 0};
    osc_cached_shared_t other;
    segment_t segment;
    uint64_t limit;

    (void) state;
    config.max_memory = 1 << 22;
    config.max_slots = 4096;
    segment_open(&segment, config);
    assert_int_equal(OSC_CACHED_OK,
                     osc_cached_shared_attach(&other, segment.memory, &config, grow, &theirs));
    limit = segment.shared.header->limit;
    segment.given.fails_at = 1;
    for (uint32_t i = 0; i < PLACES; ++i) {
        assert_true(fetch(&segment.shared, key_of(0, i)));
    }
    assert_true(0 < atomic_load(&segment.shared.header->evictions));
    assert_int_equal(limit, segment.shared.header->limit);
    assert_true(fetch(&other, key_of(1, 0)));
    assert_true(limit < segment.shared.header->limit);
    limit = segment.shared.header->limit;
    for (uint32_t i = 0; i < PLACES; ++i) {
        assert_true(fetch(&segment.shared, key_of(0, i)));
        assert_true(fetch(&other, key_of(1, i)));
    }
    assert_true(4 * limit <= segment.shared.header->limit);
    assert_true(0 < theirs.bytes);
    assert_int_equal(0, osc_cached_shared_verify(&segment.shared));
    segment_close(&segment);
}

/* Where lines can be had, one that could be served hardly ever leaves because its bucket is full.
 */
static void a_full_bucket_gets_more_lines(void **state)
{
    int evicted = 0;

    (void) state;
    for (uint64_t seed = 1; seed <= 50; ++seed) {
        osc_cached_shared_config_t config = small;
        segment_t segment;

        config.memory = config.max_memory = 1 << 22;
        config.slots = 128; /* half of them will be in use */
        config.max_slots = 4096;
        config.seed = seed;
        segment_open(&segment, config);
        for (uint32_t i = 0; i < PLACES * 2 / 3; ++i) {
            assert_true(fetch(&segment.shared, key_of(0, i)));
        }
        evicted += 0 < atomic_load(&segment.shared.header->evictions);
        assert_in_range(segment.shared.header->slots, config.slots, 4 * config.slots);
        assert_int_equal(0, osc_cached_shared_verify(&segment.shared));
        segment_close(&segment);
    }
    assert_in_range(evicted, 0, 1); /* of 50; 17 if only the lines in use count */
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
    assert_true(
        osc_cached_shared_publish(&segment.shared, key_of(0, 1), FRESH, &buffer, LARGE, NULL));
    assert_true(hit(&segment.shared, key_of(0, 1), found, LARGE));
    assert_true(is_whole(key_of(0, 1), found, LARGE));
    assert_int_equal(0, osc_cached_shared_verify(&segment.shared));
    segment_close(&segment);
    /* where there is no memory, it is not */
    segment_open(&segment, small);
    segment.given.fails_at = 1;
    assert_false(
        osc_cached_shared_publish(&segment.shared, key_of(0, 1), FRESH, &buffer, LARGE, NULL));
    assert_true(fetch(&segment.shared, key_of(0, 2)));
    assert_int_equal(0, osc_cached_shared_verify(&segment.shared));
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
        uint32_t what = random_below(&random, 8);
        uint64_t value = (uint64_t) random_below(&random, 1u << 30) << random_below(&random, 34);
        osc_cached_shared_line_t *line;
        _Atomic uint64_t *generation;

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
        case 6: /* all that the units of a line know, as a stray memset would leave it */
            for (uint64_t unit = 0; unit < (uint32_t) atomic_load(&line->place);
                 unit += OSC_CACHED_SHARED_UNIT) {
                atomic_store(&shared->owners[(atomic_load(&line->place) >> 32)
                                             + unit / OSC_CACHED_SHARED_UNIT],
                             0 == value % 2 ? 0 : UINT32_MAX);
            }
            break;
        case 7: /* cleared, or as little as another counter would add */
            generation = (0 == random_below(&random, 2)) ? &shared->header->generation
                                                         : &shared->targets[1].generation;
            atomic_store(generation,
                         (0 == random_below(&random, 2)) ? 0 : atomic_load(generation) + 1);
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
        (void) fetch(&other, key_of(1, PLACES)); /* a change */
        if (6 == what) {                         /* the hand comes by */
            for (uint32_t j = PLACES; j < 4 * PLACES; ++j) {
                (void) fetch(&other, key_of(1, j));
            }
            for (uint32_t j = 0; j < PLACES; ++j) {
                if (hit(&other, key_of(1, j), words, bytes_of(key_of(1, j)))) {
                    assert_true(is_whole(key_of(1, j), words, bytes_of(key_of(1, j))));
                }
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
        cmocka_unit_test(others_pay_for_growth),
        cmocka_unit_test(a_full_bucket_gets_more_lines),
        cmocka_unit_test(a_large_entry_has_room),
        cmocka_unit_test(damage_is_noticed),
    };

    (void) alarm(300); /* what never comes is a failure, too */
    return cmocka_run_group_tests(tests, setup, NULL);
}
