/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* osc_cached_copies: misses, answers, invalidations, holds, each by itself. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_copies.h"
#include "osc_cached_test_messages.h"

#include <pthread.h>

#define TARGET 1
#define RANKS 3

static int owner = TARGET;
static const osc_cached_post_t post = {keep, &owner};
static osc_cached_copies_t copies;

static int begin(bool waits)
{
    const osc_cached_copies_config_t config = {
        .ranks = RANKS, .max_blocks = 64, .block_shift = 12, .waits = waits, .alloc = &alloc};

    num_sent = num_seen = 0;
    return osc_cached_copies_init(&copies, &config);
}

static const osc_cached_message_t *sent_is(osc_cached_message_kind_t kind, uint64_t first,
                                           uint64_t count)
{
    assert_true(num_seen < num_sent);
    assert_int_equal(sent[num_seen].kind, kind);
    assert_int_equal(sent[num_seen].first, first);
    assert_int_equal(sent[num_seen].count, count);
    assert_int_equal(osc_cached_copies_verify(&copies), 0);
    return &sent[num_seen++];
}

#define SENT(kind, ...) sent_is(OSC_CACHED_MESSAGE_##kind, __VA_ARGS__)

static bool receive(osc_cached_message_kind_t kind, uint64_t first, uint64_t count, uint32_t name)
{
    osc_cached_message_t message = {.kind = kind,
                                    .peer = TARGET,
                                    .owner = TARGET,
                                    .reader = 2,
                                    .first = first,
                                    .count = count,
                                    .name = name};
    bool kept = osc_cached_copies_receive(&copies, &message, NULL, &post);

    assert_int_equal(osc_cached_copies_verify(&copies), 0);
    return kept;
}

#define RECEIVE(kind, ...) receive(OSC_CACHED_MESSAGE_##kind, __VA_ARGS__)

static osc_cached_copy_t miss(uint64_t first, uint64_t count)
{
    uint64_t stamp;
    uint32_t name;

    return osc_cached_copies_miss(&copies, TARGET, first, count, OSC_CACHED_ALL_PARTS, &stamp,
                                  &name, &post);
}

static osc_cached_block_state_t state_of(uint64_t block)
{
    bool alone;

    return osc_cached_copies_state(&copies, TARGET, block, &alone);
}

static void end(void)
{
    assert_int_equal(num_seen, num_sent);
    assert_int_equal(osc_cached_copies_verify(&copies), 0);
    osc_cached_copies_fini(&copies);
}

/* A block becomes VALID. @return its name */
static uint32_t fetch(uint64_t block)
{
    uint32_t name;

    assert_int_equal(miss(block, 1), OSC_CACHED_COPY_DIRECT);
    assert_int_equal(num_seen, num_sent); /* nothing at the first miss */
    assert_int_equal(miss(block, 1), OSC_CACHED_COPY_DIRECT);
    name = SENT(FILL, block, 1)->name;
    assert_int_equal(miss(block, 1), OSC_CACHED_COPY_DIRECT);
    assert_int_equal(num_seen, num_sent); /* nor while it is PENDING */
    assert_true(RECEIVE(DATA, block, 1, name));
    assert_int_equal(state_of(block), OSC_CACHED_BLOCK_VALID);
    return name;
}

/* What is asked for once is not worth a FILL, however many gets of a block there are. */
static void test_parts(void **state)
{
    uint64_t stamp, sampled = 0;
    uint32_t name;
    (void) state;

    assert_int_equal(begin(false), OSC_CACHED_OK);
    assert_int_equal(osc_cached_copies_part(&copies, 3 * 4096), 1);
    assert_int_equal(osc_cached_copies_part(&copies, 3 * 4096 + 64), 2);
    assert_int_equal(osc_cached_copies_part(&copies, 4 * 4096 - 1), UINT64_C(1) << 63);
    for (uint64_t offset = 0; offset < 4096 * 64; offset += 64) {
        uint64_t part = osc_cached_copies_sampled_part(&copies, offset);

        sampled += 0 != part;
        assert_true(0 == part || osc_cached_copies_part(&copies, offset) == part);
        assert_int_equal(osc_cached_copies_sampled_part(&copies, offset + 63), part);
    }
    assert_in_range(sampled, 4096 / 16 - 64, 4096 / 16 + 64);
    for (uint64_t i = 0; i < 64; ++i) {
        assert_int_equal(
            osc_cached_copies_miss(&copies, TARGET, 5, 1, UINT64_C(1) << i, &stamp, &name, &post),
            OSC_CACHED_COPY_DIRECT);
    }
    assert_int_equal(num_seen, num_sent);
    assert_int_equal(osc_cached_copies_miss(&copies, TARGET, 5, 1, 8, &stamp, &name, &post),
                     OSC_CACHED_COPY_DIRECT);
    SENT(FILL, 5, 1);
    for (int i = 0; i < 3; ++i) { /* none of its parts */
        assert_int_equal(osc_cached_copies_miss(&copies, TARGET, 6, 1, 0, &stamp, &name, &post),
                         OSC_CACHED_COPY_DIRECT);
    }
    assert_int_equal(num_seen, num_sent);
    end();
}

static void test_memory(void **state)
{
    uint64_t first, count, stamp;
    uint32_t name;
    (void) state;

    assert_int_equal(begin(false), OSC_CACHED_OK);
    osc_cached_copies_blocks(&copies, 4095, 2, &first, &count);
    assert_int_equal(first, 0);
    assert_int_equal(count, 2);
    (void) fetch(5);
    (void) fetch(6);
    stamp = osc_cached_copies_stamp(&copies, TARGET, 5, 2);
    assert_int_equal(miss(5, 2), OSC_CACHED_COPY_KEEP);
    assert_int_equal(miss(5, 3), OSC_CACHED_COPY_DIRECT); /* 7 is not there */
    assert_int_equal(miss(1, 5), OSC_CACHED_COPY_DIRECT); /* too many */
    assert_int_equal(osc_cached_copies_stamp(&copies, TARGET, 5, 2), stamp);
    RECEIVE(INV, 6, 1, 0);
    SENT(ACK, 6, 1);
    assert_int_not_equal(osc_cached_copies_stamp(&copies, TARGET, 5, 2), stamp);
    assert_int_equal(state_of(6), OSC_CACHED_BLOCK_SEEN);
    assert_int_equal(state_of(5), OSC_CACHED_BLOCK_VALID);
    assert_int_equal(miss(6, 1), OSC_CACHED_COPY_DIRECT);
    assert_int_equal(miss(6, 1), OSC_CACHED_COPY_DIRECT);
    name = SENT(FILL, 6, 1)->name;
    RECEIVE(INV, 0, OSC_CACHED_ALL_BLOCKS, 0); /* R3 */
    SENT(ACK, 0, OSC_CACHED_ALL_BLOCKS);
    assert_int_equal(state_of(5), OSC_CACHED_BLOCK_SEEN);
    assert_int_equal(miss(6, 1), OSC_CACHED_COPY_DIRECT); /* anew, under a new name */
    assert_int_not_equal(SENT(FILL, 6, 1)->name, name);
    assert_false(RECEIVE(DATA, 6, 1, name));
    assert_true(RECEIVE(DATA, 6, 1, name + 1));
    end();
}

static void test_direct(void **state)
{
    (void) state;
    assert_int_equal(begin(false), OSC_CACHED_OK);
    for (int i = 0, misses = 0; i < 4; i++) {
        while (num_seen == num_sent) {
            assert_int_equal(miss(5, 1), OSC_CACHED_COPY_DIRECT);
            ++misses;
        }
        assert_int_equal(misses, (4 << i) - 2); /* 2, 4 more, 8 more ... */
        RECEIVE(DIRECT, 5, 1, SENT(FILL, 5, 1)->name);
    }
    end();
}

static void test_files(void **state)
{
    uint64_t stamp;
    uint32_t name, joined;
    (void) state;

    assert_int_equal(begin(true), OSC_CACHED_OK);
    assert_int_equal(
        osc_cached_copies_miss(&copies, TARGET, 5, 1, OSC_CACHED_ALL_PARTS, &stamp, &name, &post),
        OSC_CACHED_COPY_WAIT);
    assert_int_equal(SENT(FILL, 5, 1)->name, name);
    assert_int_equal(
        osc_cached_copies_miss(&copies, TARGET, 5, 1, OSC_CACHED_ALL_PARTS, &stamp, &joined, &post),
        OSC_CACHED_COPY_WAIT);
    assert_int_equal(joined, name);
    RECEIVE(FWD, 5, 1, 77); /* R9: PENDING */
    assert_int_equal(SENT(BACK, 5, 1)->reader, 2);
    RECEIVE(INV, 5, 1, 0);
    SENT(ACK, 5, 1);
    assert_int_equal(
        osc_cached_copies_miss(&copies, TARGET, 5, 1, OSC_CACHED_ALL_PARTS, &stamp, &joined, &post),
        OSC_CACHED_COPY_WAIT);
    SENT(FILL, 5, 1);
    assert_int_not_equal(joined, name);
    assert_false(RECEIVE(DATA, 5, 1, name));
    assert_true(RECEIVE(DATA, 5, 1, joined));
    RECEIVE(FWD, 5, 1, 77);
    assert_int_equal(SENT(DATA, 5, 1)->peer, 2);
    for (int i = 1; 0 <= i; i--) { /* P3 */
        osc_cached_message_t last = {.kind = OSC_CACHED_MESSAGE_LAST,
                                     .peer = TARGET,
                                     .owner = TARGET,
                                     .first = 5,
                                     .count = 1,
                                     .name = joined,
                                     .alone = 1 == i};
        bool alone;

        (void) osc_cached_copies_receive(&copies, &last, NULL, &post);
        (void) osc_cached_copies_state(&copies, TARGET, 5, &alone);
        assert_int_equal(alone, i);
    }
    assert_true(osc_cached_copies_evict(&copies, TARGET, 5, &post));
    assert_int_equal(SENT(EVICT, 5, 1)->name, joined);
    assert_false(osc_cached_copies_evict(&copies, TARGET, 5, &post));
    end();
}

static void write_to(uint64_t first, uint64_t count)
{
    osc_cached_copies_written(&copies, TARGET,
                              osc_cached_copies_write(&copies, TARGET, first, count, &post));
}

static void complete(void)
{
    osc_cached_copies_complete(&copies, TARGET, osc_cached_copies_mark(&copies), &post);
}

static void test_writes(void **state)
{
    uint64_t mark;
    uint32_t name;
    (void) state;

    assert_int_equal(begin(false), OSC_CACHED_OK);
    (void) fetch(5);
    write_to(5, 1);
    assert_true(SENT(HOLD, 5, 1)->whole);
    name = sent[num_seen - 1].name;
    assert_int_equal(state_of(5), OSC_CACHED_BLOCK_SEEN);     /* R7 */
    assert_false(osc_cached_copies_is_held(&copies, TARGET)); /* R6 */
    assert_int_equal(miss(5, 1), OSC_CACHED_COPY_DIRECT);
    RECEIVE(RECALL, 5, 1, name); /* overtakes HELD */
    RECEIVE(HELD, 5, 1, name);
    assert_true(osc_cached_copies_is_held(&copies, TARGET));
    mark = osc_cached_copies_mark(&copies);
    write_to(5, 1); /* of another thread */
    osc_cached_copies_complete(&copies, TARGET, mark, &post);
    assert_int_equal(num_seen, num_sent);
    assert_int_equal(miss(5, 1), OSC_CACHED_COPY_DIRECT); /* not counted: dirty */
    complete();
    assert_int_equal(SENT(FREE, 5, 1)->name, name);
    write_to(5, 2);
    assert_false(SENT(HOLD, 5, 2)->whole); /* it was asked back */
    name = sent[num_seen - 1].name;
    RECEIVE(HELD, 5, 2, name);
    complete();
    write_to(6, 1); /* R8 */
    complete();
    RECEIVE(RECALL, 5, 2, name);
    SENT(FREE, 5, 2);
    RECEIVE(RECALL, 5, 2, name);
    end();
}

/* A hold of all blocks that nobody wants back; one that is closed needs none. */
static void test_holds_all(void **state)
{
    uint32_t name;
    (void) state;

    assert_int_equal(begin(false), OSC_CACHED_OK);
    assert_false(osc_cached_copies_holds_all(&copies, TARGET));
    write_to(5, 1);
    SENT(HOLD, 5, 1);
    name = sent[num_seen - 1].name;
    assert_false(osc_cached_copies_holds_all(&copies, TARGET));
    RECEIVE(HELD, 0, OSC_CACHED_ALL_BLOCKS, name); /* more than was asked for */
    assert_true(osc_cached_copies_holds_all(&copies, TARGET));
    RECEIVE(RECALL, 0, OSC_CACHED_ALL_BLOCKS, name);
    assert_false(osc_cached_copies_holds_all(&copies, TARGET));
    complete();
    SENT(FREE, 0, OSC_CACHED_ALL_BLOCKS);
    write_to(5, 1);
    SENT(HOLD, 5, 1);
    name = sent[num_seen - 1].name;
    RECEIVE(HELD, 5, 1, name);
    assert_false(osc_cached_copies_holds_all(&copies, TARGET));
    RECEIVE(HELD, 0, OSC_CACHED_ALL_BLOCKS, 0);
    assert_true(osc_cached_copies_holds_all(&copies, TARGET));
    end();
}

/* After a RECALL blocks are held one by one, until nobody seems to read there any more. */
static void test_narrow(void **state)
{
    (void) state;
    assert_int_equal(begin(false), OSC_CACHED_OK);
    for (uint64_t i = 0; i < 3; i++) {
        uint32_t name = 0;
        uint64_t holds = 0;
        bool whole;

        do {
            write_to(1000 * i + 10 * holds, 1);
            while (num_seen < num_sent && OSC_CACHED_MESSAGE_FREE == sent[num_seen].kind) {
                ++num_seen;
            }
            whole = SENT(HOLD, 1000 * i + 10 * holds, 1)->whole;
            name = sent[num_seen - 1].name;
            RECEIVE(HELD, 1000 * i + 10 * holds, 1, name);
            complete();
            ++holds;
            num_seen = num_sent = 0;
        } while (!whole);
        assert_int_equal(holds, 1 + (0 == i ? 0 : OSC_CACHED_NARROW << (i - 1)));
        RECEIVE(RECALL, 0, 1, name);
        num_seen = num_sent;
    }
    end();
}

static void test_many_holds(void **state)
{
    uint32_t name;
    (void) state;
    assert_int_equal(begin(false), OSC_CACHED_OK);
    for (uint64_t i = 0; i < OSC_CACHED_HOLDS; i++) {
        write_to(10 * i, 1);
        SENT(HOLD, 10 * i, 1);
    }
    write_to(500, 1); /* all are needed: all blocks */
    SENT(HOLD, 0, OSC_CACHED_ALL_BLOCKS);
    write_to(600, 1);
    for (unsigned i = 0; i < OSC_CACHED_HOLDS + 1; i++) {
        assert_false(osc_cached_copies_is_held(&copies, TARGET));
        RECEIVE(HELD, sent[i].first, sent[i].count, sent[i].name);
    }
    assert_true(osc_cached_copies_is_held(&copies, TARGET));
    complete();
    RECEIVE(RECALL, 0, OSC_CACHED_ALL_BLOCKS, sent[OSC_CACHED_HOLDS].name);
    SENT(FREE, 0, OSC_CACHED_ALL_BLOCKS);
    name = osc_cached_copies_write(&copies, TARGET, 0, 1, &post);
    complete();       /* not that one, which is being issued */
    write_to(700, 1); /* of the others the one used longest ago leaves */
    SENT(FREE, 10, 1);
    SENT(HOLD, 700, 1);
    osc_cached_copies_written(&copies, TARGET, name);
    RECEIVE(HELD, 0, OSC_CACHED_ALL_BLOCKS, 0); /* nobody keeps copies any more */
    assert_true(osc_cached_copies_is_held(&copies, TARGET));
    write_to(800, 1);
    complete();
    end();
}

/* R8: a hold that is kept keeps its name, also when 2^32 others have been given since. */
static void test_names(void **state)
{
    uint32_t name, other;
    (void) state;

    assert_int_equal(begin(false), OSC_CACHED_OK);
    write_to(0, 1);
    name = SENT(HOLD, 0, 1)->name;
    RECEIVE(HELD, 0, 1, name);
    complete();
    copies.names = name - 1;
    write_to(500, 1);
    other = SENT(HOLD, 500, 1)->name;
    assert_int_not_equal(name, other);
    RECEIVE(HELD, 500, 1, other);
    assert_true(osc_cached_copies_is_held(&copies, TARGET));
    complete();
    RECEIVE(RECALL, 0, 1, name);
    assert_int_equal(SENT(FREE, 0, 1)->name, name);
    end();
}

#define INVALIDATIONS 100000

static void acked(void *context, const osc_cached_message_t *message)
{
    assert_int_equal(message->kind, OSC_CACHED_MESSAGE_ACK);
    ++*(unsigned *) context;
}

static void *invalidate(void *unused)
{
    static const osc_cached_message_t inv = {
        .kind = OSC_CACHED_MESSAGE_INV, .peer = TARGET, .owner = TARGET, .first = 5, .count = 1};
    unsigned acks = 0;
    const osc_cached_post_t count = {acked, &acks};
    (void) unused;

    for (int i = 0; i < INVALIDATIONS; i++) {
        (void) osc_cached_copies_receive(&copies, &inv, NULL, &count);
    }
    assert_int_equal(acks, INVALIDATIONS);
    return NULL;
}

/* INV takes no lock: nothing that the others use but generations is touched (thread sanitizer). */
static void test_threads(void **state)
{
    uint64_t stamp = 0, next;
    pthread_t thread;
    (void) state;

    assert_int_equal(begin(false), OSC_CACHED_OK);
    assert_int_equal(pthread_create(&thread, NULL, invalidate, NULL), 0);
    do {
        next = osc_cached_copies_stamp(&copies, TARGET, 4, 3);
        assert_true(next >= stamp);
        stamp = next;
        (void) miss(5, 1);
        num_seen = num_sent = 0;
    } while (stamp < INVALIDATIONS);
    assert_int_equal(pthread_join(thread, NULL), 0);
    end();
}

static void test_no_memory(void **state)
{
    (void) state;
    for (int i = 0; i < 3; i++) {
        allocations = i;
        assert_int_equal(begin(false), OSC_CACHED_NO_MEMORY);
    }
    allocations = 3;
    assert_int_equal(begin(false), OSC_CACHED_OK);
    write_to(5, 1); /* no room for a hold of some blocks */
    SENT(HOLD, 0, OSC_CACHED_ALL_BLOCKS);
    osc_cached_copies_dead(&copies, TARGET);
    assert_true(osc_cached_copies_is_held(&copies, TARGET));
    complete();
    allocations = -1;
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),     cmocka_unit_test(test_memory),
        cmocka_unit_test(test_direct),    cmocka_unit_test(test_files),
        cmocka_unit_test(test_writes),    cmocka_unit_test(test_holds_all),
        cmocka_unit_test(test_narrow),    cmocka_unit_test(test_many_holds),
        cmocka_unit_test(test_names),     cmocka_unit_test(test_threads),
        cmocka_unit_test(test_no_memory),
    };

    allocations = -1;
    return cmocka_run_group_tests_name("osc_cached_copies", tests, NULL, NULL);
}
