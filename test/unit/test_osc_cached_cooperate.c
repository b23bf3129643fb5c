/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * Cooperative caching with the whole of coherence/core: readers of one owner's file, each with a
 * pool of frames; how many blocks are read from the file. Messages arrive at once, so only the
 * policies make a difference.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_copies.h"
#include "osc_cached_directory.h"
#include "osc_cached_keep.h"
#include "osc_cached_test_random.h"

#define OWNER 0
#define READERS 8
#define FRAMES 100
#define MESSAGES 64

typedef enum {
    PRIVATE, /* nobody forwards, and nobody cares for last copies */
    HALVES,  /* the paper's */
    LAST     /* rules P1 to P3 */
} way_t;

typedef struct {
    osc_cached_copies_t copies;
    osc_cached_keep_t keep;
} process_t;

static way_t way;
static process_t process[1 + READERS]; /* of the owner only the pool is used */
static osc_cached_directory_t directory;
static osc_cached_demand_t demand;
static osc_cached_message_t queue[MESSAGES];
static uint32_t senders[MESSAGES], num_queued;
static uint64_t reads, forwards;

static void send(void *context, const osc_cached_message_t *message)
{
    assert_true(num_queued < MESSAGES);
    senders[num_queued] = *(const uint32_t *) context;
    queue[num_queued++] = *message;
}

/* A block gets a frame; the one that leaves is dropped, and its owner told. */
static void keep(uint32_t rank, uint64_t block, bool alone)
{
    const osc_cached_post_t post = {send, &rank};
    osc_cached_left_t left;
    bool full;

    (void) osc_cached_keep_add(&process[rank].keep, OWNER, block, alone, &left, &full);
    if (full && OWNER != rank) {
        (void) osc_cached_copies_evict(&process[rank].copies, OWNER, left.block, &post);
    }
}

/* The owner sends a block: from its pool, or from the file; then it may keep it. */
static bool read_block(uint64_t block)
{
    uint32_t frame = osc_cached_keep_find(&process[OWNER].keep, OWNER, block);

    if (OSC_CACHED_NO_FRAME != frame) {
        osc_cached_keep_use(&process[OWNER].keep, frame);
        return true;
    }
    ++reads;
    if (LAST == way && demand.fits) {
        keep(OWNER, block, false);
        return true;
    }
    return false;
}

static void at_owner(const osc_cached_message_t *message)
{
    uint32_t rank = OWNER;
    const osc_cached_post_t post = {send, &rank};
    bool in_memory =
        OSC_CACHED_NO_FRAME != osc_cached_keep_find(&process[OWNER].keep, OWNER, message->first);
    unsigned flags = 0;

    if (OSC_CACHED_MESSAGE_FILL == message->kind) {
        (void) osc_cached_demand_ask(&demand, message->first);
        if (PRIVATE != way
            && osc_cached_keep_forwards(
                HALVES == way ? OSC_CACHED_KEEP_HALVES : OSC_CACHED_KEEP_LAST, in_memory, 0)) {
            flags = OSC_CACHED_FILL_FORWARD;
        }
    }
    osc_cached_directory_receive(&directory, message, flags, &post);
}

static void at_reader(uint32_t rank, const osc_cached_message_t *message)
{
    process_t *me = &process[rank];
    const osc_cached_post_t post = {send, &rank};
    uint32_t frame = osc_cached_keep_find(&me->keep, OWNER, message->first);
    bool alone = message->alone && PRIVATE != way, kept;

    if (OSC_CACHED_MESSAGE_DATA == message->kind && OWNER == message->peer) {
        alone &= !read_block(message->first);
    }
    kept = osc_cached_copies_receive(&me->copies, message, NULL, &post);
    if (kept) {
        assert_int_equal(frame, OSC_CACHED_NO_FRAME);
        keep(rank, message->first, alone);
    } else if (OSC_CACHED_MESSAGE_FWD == message->kind && OSC_CACHED_NO_FRAME != frame) {
        ++forwards;
        osc_cached_keep_set_alone(&me->keep, frame, false);
    } else if (OSC_CACHED_MESSAGE_LAST == message->kind && OSC_CACHED_NO_FRAME != frame
               && PRIVATE != way) {
        osc_cached_keep_set_alone(&me->keep, frame, message->alone);
    }
}

static void deliver_all(void)
{
    for (uint32_t i = 0; i < num_queued; i++) {
        osc_cached_message_t message = queue[i];
        uint32_t to = message.peer;

        message.peer = senders[i];
        if (OSC_CACHED_MESSAGE_IS_FOR_OWNER(message.kind)) {
            at_owner(&message);
        } else {
            at_reader(to, &message);
        }
    }
    num_queued = 0;
}

static void get(uint32_t rank, uint64_t block)
{
    process_t *me = &process[rank];
    const osc_cached_post_t post = {send, &rank};
    uint32_t frame = osc_cached_keep_find(&me->keep, OWNER, block), name;
    uint64_t stamp;

    if (OSC_CACHED_NO_FRAME != frame) {
        osc_cached_keep_use(&me->keep, frame);
        return;
    }
    if (OSC_CACHED_COPY_KEEP
        == osc_cached_copies_miss(&me->copies, OWNER, block, 1, OSC_CACHED_ALL_PARTS, &stamp, &name,
                                  &post)) {
        fail(); /* a VALID block has a frame */
    }
    deliver_all();
}

/*
 * Blocks read from the file in the second and third pass over the data, all readers together.
 *
 * @param in_order  all read block after block; else each in an order of its own
 */
static uint64_t reads_of(way_t how, uint32_t blocks, bool in_order)
{
    const osc_cached_directory_config_t owner = {.ranks = 1 + READERS,
                                                 .rank = OWNER,
                                                 .max_lines = 100000,
                                                 .cooperate = true,
                                                 .alloc = &osc_cached_alloc_default};
    uint64_t random = seed_get(3);

    way = how;
    forwards = 0;
    assert_int_equal(osc_cached_directory_init(&directory, &owner), OSC_CACHED_OK);
    assert_int_equal(osc_cached_demand_init(&demand, FRAMES, &osc_cached_alloc_default),
                     OSC_CACHED_OK);
    for (uint32_t i = 0; i <= READERS; i++) {
        const osc_cached_copies_config_t reader = {.ranks = 1 + READERS,
                                                   .rank = i,
                                                   .max_blocks = 16 * FRAMES,
                                                   .waits = true,
                                                   .alloc = &osc_cached_alloc_default};

        assert_int_equal(osc_cached_copies_init(&process[i].copies, &reader), OSC_CACHED_OK);
        assert_int_equal(
            osc_cached_keep_init(&process[i].keep,
                                 HALVES == how ? OSC_CACHED_KEEP_HALVES : OSC_CACHED_KEEP_LAST,
                                 FRAMES, &osc_cached_alloc_default),
            OSC_CACHED_OK);
    }
    for (uint32_t pass = 0; pass < 3; pass++) {
        if (1 == pass) {
            reads = 0;
        }
        for (uint32_t i = 0; i < blocks * READERS; i++) {
            get(1 + i % READERS, in_order ? i / READERS : random_below(&random, blocks));
        }
    }
    for (uint32_t i = 0; i <= READERS; i++) {
        assert_int_equal(osc_cached_keep_verify(&process[i].keep), 0);
        assert_int_equal(osc_cached_copies_verify(&process[i].copies), 0);
        osc_cached_keep_fini(&process[i].keep);
        osc_cached_copies_fini(&process[i].copies);
    }
    assert_int_equal(osc_cached_directory_verify(&directory), 0);
    osc_cached_directory_fini(&directory);
    osc_cached_demand_fini(&demand);
    return reads;
}

static void test_passes(void **state)
{
    (void) state;
    for (uint32_t times = 2; times <= 8; times *= 2) {
        for (int in_order = 1; 0 <= in_order; in_order--) {
            uint64_t result[3];

            for (way_t how = PRIVATE; how <= LAST; how++) {
                result[how] = reads_of(how, times * FRAMES, 1 == in_order);
            }
            print_message("    %u pools of data, %s: private %llu, halves %llu, last %llu\n", times,
                          in_order ? "in order" : "at random", (unsigned long long) result[PRIVATE],
                          (unsigned long long) result[HALVES], (unsigned long long) result[LAST]);
            assert_true(0 < forwards);
            assert_true(result[LAST] <= result[HALVES] && result[HALVES] < result[PRIVATE]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_passes),
    };

    return cmocka_run_group_tests_name("osc_cached_cooperate", tests, NULL, NULL);
}
