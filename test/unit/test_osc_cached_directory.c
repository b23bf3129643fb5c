/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* osc_cached_directory: each message by itself, holds of all blocks, no room, no memory, deaths. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_directory.h"
#include "osc_cached_test_messages.h"

#define OWNER 0
#define RANKS 12

static int owner = OWNER;
static const osc_cached_post_t post = {keep, &owner};
static osc_cached_directory_t directory;

static void begin(osc_cached_directory_config_t config)
{
    allocations = -1;
    num_sent = num_seen = 0;
    config.ranks = RANKS;
    config.rank = OWNER;
    config.alloc = &alloc;
    config.max_lines = 0 == config.max_lines ? 1000 : config.max_lines;
    assert_int_equal(osc_cached_directory_init(&directory, &config), OSC_CACHED_OK);
}

static void receive_with(unsigned flags, osc_cached_message_kind_t kind, uint32_t peer,
                         uint64_t first, uint64_t count, uint32_t name)
{
    osc_cached_message_t message = {
        .kind = kind, .peer = peer, .first = first, .count = count, .name = name};

    osc_cached_directory_receive(&directory, &message, flags, &post);
    assert_int_equal(osc_cached_directory_verify(&directory), 0);
}

#define RECEIVE(kind, ...) receive_with(0, OSC_CACHED_MESSAGE_##kind, __VA_ARGS__)

/* The next message sent. */
static const osc_cached_message_t *sent_is(osc_cached_message_kind_t kind, uint32_t peer,
                                           uint64_t first, uint64_t count, uint32_t name)
{
    const osc_cached_message_t *message = &sent[num_seen];

    assert_true(num_seen < num_sent);
    ++num_seen;
    assert_int_equal(message->kind, kind);
    assert_int_equal(message->peer, peer);
    assert_int_equal(message->first, first);
    assert_int_equal(message->count, count);
    assert_int_equal(message->name, name);
    return message;
}

#define SENT(kind, ...) sent_is(OSC_CACHED_MESSAGE_##kind, __VA_ARGS__)

static void nothing_sent(void)
{
    assert_int_equal(num_seen, num_sent);
}

static void end(void)
{
    nothing_sent();
    osc_cached_directory_fini(&directory);
}

static void test_sharers_and_writer(void **state)
{
    (void) state;
    begin((osc_cached_directory_config_t){.recall = 2});
    RECEIVE(FILL, 1, 7, 1, 10);
    assert_true(SENT(DATA, 1, 7, 1, 10)->alone);
    RECEIVE(FILL, 2, 7, 1, 20);
    assert_false(SENT(DATA, 2, 7, 1, 20)->alone);
    RECEIVE(HOLD, 2, 7, 1, 21); /* R4: all but the writer */
    SENT(INV, 1, 7, 1, 0);
    nothing_sent();
    RECEIVE(FILL, 3, 7, 1, 30); /* R5 */
    SENT(DIRECT, 3, 7, 1, 30);
    RECEIVE(HOLD, 4, 7, 1, 40); /* waits for the same ACK */
    nothing_sent();
    RECEIVE(ACK, 1, 7, 1, 0);
    SENT(HELD, 2, 7, 1, 21);
    SENT(HELD, 4, 7, 1, 40);
    RECEIVE(FREE, 2, 7, 1, 21);
    RECEIVE(FILL, 3, 7, 1, 31); /* R5: two writers; R8 */
    SENT(DIRECT, 3, 7, 1, 31);
    SENT(RECALL, 4, 7, 1, 40);
    RECEIVE(FREE, 4, 7, 1, 40);
    RECEIVE(FILL, 3, 7, 1, 32);
    SENT(DATA, 3, 7, 1, 32);
    RECEIVE(EVICT, 3, 7, 1, 31); /* R10 */
    assert_true(osc_cached_directory_is_shared(&directory));
    RECEIVE(EVICT, 3, 7, 1, 32);
    assert_false(osc_cached_directory_is_shared(&directory));
    assert_int_equal(directory.used, 0);
    end();
}

static void test_forwards(void **state)
{
    osc_cached_message_t back = {.kind = OSC_CACHED_MESSAGE_BACK,
                                 .peer = 1,
                                 .reader = 2,
                                 .first = 7,
                                 .count = 1,
                                 .name = 20};
    (void) state;

    begin((osc_cached_directory_config_t){.cooperate = true});
    receive_with(OSC_CACHED_FILL_FORWARD, OSC_CACHED_MESSAGE_FILL, 1, 7, 1, 10);
    SENT(DATA, 1, 7, 1, 10); /* nobody else has it */
    receive_with(OSC_CACHED_FILL_FORWARD, OSC_CACHED_MESSAGE_FILL, 2, 7, 1, 20);
    assert_false(SENT(LAST, 1, 7, 1, 10)->alone); /* P3 */
    assert_int_equal(SENT(FWD, 1, 7, 1, 20)->reader, 2);
    osc_cached_directory_receive(&directory, &back, 0, &post); /* R9 */
    SENT(DATA, 2, 7, 1, 20);
    RECEIVE(EVICT, 1, 7, 1, 10);
    assert_true(SENT(LAST, 2, 7, 1, 20)->alone);
    end();
}

/* A block is read once for all that ask for it, unless somebody may have written it since. */
static void test_shared_reads(void **state)
{
    uint64_t mark;
    (void) state;

    begin((osc_cached_directory_config_t){.recall = 0});
    RECEIVE(FILL, 1, 7, 1, 10);
    SENT(DATA, 1, 7, 1, 10);
    mark = osc_cached_directory_mark_of(&directory, 7, 1);
    RECEIVE(FILL, 2, 7, 1, 20);
    SENT(DATA, 2, 7, 1, 20);
    assert_int_equal(mark, osc_cached_directory_mark(&directory));
    RECEIVE(HOLD, 3, 7, 1, 30);
    SENT(INV, 1, 7, 1, 0);
    SENT(INV, 2, 7, 1, 0);
    assert_int_not_equal(mark, osc_cached_directory_mark(&directory));
    /* for a reader that has heard of it: this one asked before, and is served while it is held */
    assert_int_equal(osc_cached_directory_mark_of(&directory, 7, 1), 0);
    RECEIVE(ACK, 1, 7, 1, 0);
    RECEIVE(ACK, 2, 7, 1, 0);
    SENT(HELD, 3, 7, 1, 30);
    assert_int_equal(osc_cached_directory_mark_of(&directory, 7, 1), 0);
    RECEIVE(FREE, 3, 7, 1, 30);
    assert_int_equal(osc_cached_directory_mark_of(&directory, 7, 1), 0); /* the owner may write */
    RECEIVE(FILL, 2, 7, 1, 21);
    SENT(DATA, 2, 7, 1, 21);
    mark = osc_cached_directory_mark_of(&directory, 7, 2);
    assert_int_not_equal(mark, 0);
    osc_cached_directory_dead(&directory, 2, &post); /* the owner may write */
    assert_int_not_equal(mark, osc_cached_directory_mark(&directory));
    end();
}

static void test_many_sharers(void **state)
{
    (void) state;
    begin((osc_cached_directory_config_t){.recall = 0});
    for (uint32_t i = 1; i < RANKS; i++) {
        RECEIVE(FILL, i, 3, 1, 100 + i);
        SENT(DATA, i, 3, 1, 100 + i);
    }
    RECEIVE(HOLD, 5, 2, 3, 1);                 /* 2, 3 and 4 */
    for (uint32_t i = 1; i < RANKS - 1; i++) { /* in any order */
        assert_int_not_equal(sent[num_seen].peer, 5);
        SENT(INV, sent[num_seen].peer, 3, 1, 0);
    }
    for (uint32_t i = RANKS - 1; 0 < i; i--) {
        nothing_sent();
        RECEIVE(ACK, i, 3, 1, 0); /* the writer's counts as none */
    }
    SENT(HELD, 5, 2, 3, 1);
    RECEIVE(FREE, 5, 2, 3, 1);
    assert_int_equal(directory.used, 0);
    end();
}

static void test_whole(void **state)
{
    osc_cached_message_t hold = {.kind = OSC_CACHED_MESSAGE_HOLD,
                                 .peer = 1,
                                 .first = 7,
                                 .count = 1,
                                 .name = 5,
                                 .whole = true};
    (void) state;

    begin((osc_cached_directory_config_t){.recall = 1});
    osc_cached_directory_receive(&directory, &hold, 0, &post); /* nobody has a copy */
    SENT(HELD, 1, 0, OSC_CACHED_ALL_BLOCKS, 5);
    RECEIVE(FILL, 2, 1000, 1, 20);
    SENT(DIRECT, 2, 1000, 1, 20);
    SENT(RECALL, 1, 0, OSC_CACHED_ALL_BLOCKS, 5);
    RECEIVE(FREE, 1, 0, OSC_CACHED_ALL_BLOCKS, 5);
    RECEIVE(FILL, 1, 8, 1, 6);
    RECEIVE(FILL, 2, 9, 1, 21);
    RECEIVE(FILL, 2, 10, 1, 22);
    num_seen = num_sent;
    osc_cached_directory_receive(&directory, &hold, 0, &post); /* the writer itself has one */
    SENT(HELD, 1, 7, 1, 5);
    RECEIVE(FREE, 1, 7, 1, 5);
    RECEIVE(HOLD, 1, 0, OSC_CACHED_HOLD_BLOCKS + 1, 7); /* one INV each, also to the writer */
    SENT(INV, 1, 0, OSC_CACHED_ALL_BLOCKS, 0);
    SENT(INV, 2, 0, OSC_CACHED_ALL_BLOCKS, 0);
    RECEIVE(HOLD, 3, 100, 1, 30);
    RECEIVE(ACK, 2, 0, OSC_CACHED_ALL_BLOCKS, 0);
    nothing_sent();
    RECEIVE(ACK, 1, 0, OSC_CACHED_ALL_BLOCKS, 0);
    SENT(HELD, 1, 0, OSC_CACHED_ALL_BLOCKS, 7);
    SENT(HELD, 3, 100, 1, 30);
    end();
}

static void test_owner(void **state)
{
    uint32_t name;
    (void) state;

    begin((osc_cached_directory_config_t){.recall = 1});
    name = osc_cached_directory_hold(&directory, 0, OSC_CACHED_ALL_BLOCKS, &post);
    SENT(HELD, OWNER, 0, OSC_CACHED_ALL_BLOCKS, name);
    RECEIVE(FILL, 2, 1, 1, 20);
    SENT(DIRECT, 2, 1, 1, 20); /* no RECALL to itself */
    osc_cached_directory_free(&directory, name);
    RECEIVE(FILL, 2, 1, 1, 21);
    SENT(DATA, 2, 1, 1, 21);
    name = osc_cached_directory_hold(&directory, 1, 2, &post);
    SENT(INV, 2, 1, 1, 0);
    osc_cached_directory_free(&directory, name); /* not yet HELD: nothing */
    RECEIVE(ACK, 2, 1, 1, 0);
    SENT(HELD, OWNER, 1, 2, name);
    osc_cached_directory_free(&directory, name);
    assert_int_equal(directory.used, 0);
    name = osc_cached_directory_hold(&directory, 1, 1, &post);
    SENT(HELD, OWNER, 1, 1, name);
    directory.names = name - 1; /* 2^32 holds later it is still held */
    assert_int_not_equal(name, osc_cached_directory_hold(&directory, 7, 1, &post));
    SENT(HELD, OWNER, 7, 1, directory.names);
    osc_cached_directory_free(&directory, directory.names);
    osc_cached_directory_free(&directory, name);
    assert_int_equal(directory.used, 0);
    end();
}

static void test_protect(void **state)
{
    uint32_t name;
    (void) state;

    begin((osc_cached_directory_config_t){.protect = true});
    assert_true(osc_cached_directory_must_protect(&directory, 5));
    RECEIVE(FILL, 2, 5, 1, 20); /* O2 */
    SENT(DIRECT, 2, 5, 1, 20);
    receive_with(OSC_CACHED_FILL_PROTECTED, OSC_CACHED_MESSAGE_FILL, 2, 5, 1, 21);
    SENT(DATA, 2, 5, 1, 21);
    assert_false(osc_cached_directory_must_protect(&directory, 5));
    RECEIVE(FILL, 3, 5, 1, 30);
    SENT(DATA, 3, 5, 1, 30);
    name = osc_cached_directory_hold(&directory, 5, 1, &post); /* a store is trapped */
    SENT(INV, 2, 5, 1, 0);
    SENT(INV, 3, 5, 1, 0);
    assert_false(osc_cached_directory_must_protect(&directory, 5)); /* that would not help */
    RECEIVE(ACK, 2, 5, 1, 0);
    RECEIVE(ACK, 3, 5, 1, 0);
    SENT(HELD, OWNER, 5, 1, name);
    osc_cached_directory_free(&directory, name);
    assert_true(osc_cached_directory_must_protect(&directory, 5));
    end();
}

static void test_full(void **state)
{
    (void) state;
    begin((osc_cached_directory_config_t){.max_lines = 2});
    RECEIVE(FILL, 1, 1, 1, 10);
    SENT(DATA, 1, 1, 1, 10);
    RECEIVE(FILL, 1, 2, 1, 11);
    SENT(DATA, 1, 2, 1, 11);
    RECEIVE(FILL, 1, 3, 1, 12);
    SENT(DIRECT, 1, 3, 1, 12);
    RECEIVE(HOLD, 2, 2, 2, 20); /* no room for it: all blocks */
    SENT(INV, 1, 0, OSC_CACHED_ALL_BLOCKS, 0);
    RECEIVE(ACK, 1, 0, OSC_CACHED_ALL_BLOCKS, 0);
    SENT(HELD, 2, 0, OSC_CACHED_ALL_BLOCKS, 20);
    end();
}

static void test_closed(void **state)
{
    (void) state;
    begin((osc_cached_directory_config_t){.recall = 0});
    RECEIVE(FILL, 1, 1, 1, 10);
    SENT(DATA, 1, 1, 1, 10);
    allocations = 0; /* none for a hold: nothing is shared any more */
    RECEIVE(HOLD, 2, 1, 1, 20);
    SENT(INV, 1, 0, OSC_CACHED_ALL_BLOCKS, 0);
    RECEIVE(HOLD, 3, 9, 1, 30);
    RECEIVE(FILL, 1, 1, 1, 11);
    SENT(DIRECT, 1, 1, 1, 11);
    RECEIVE(ACK, 1, 0, OSC_CACHED_ALL_BLOCKS, 0);
    SENT(HELD, 2, 0, OSC_CACHED_ALL_BLOCKS, 0);
    SENT(HELD, 3, 0, OSC_CACHED_ALL_BLOCKS, 0);
    RECEIVE(HOLD, 3, 9, 1, 31);
    SENT(HELD, 3, 0, OSC_CACHED_ALL_BLOCKS, 0);
    end();
}

static void test_dead(void **state)
{
    uint32_t slow = 0;
    (void) state;

    begin((osc_cached_directory_config_t){.recall = 0});
    for (uint32_t i = 1; i < 4; i++) {
        RECEIVE(FILL, i, 1, 1, 10 * i);
        RECEIVE(FILL, i, 2, 1, 10 * i + 1);
    }
    num_seen = num_sent;
    RECEIVE(HOLD, 4, 1, 1, 40);
    RECEIVE(HOLD, 5, 1, 1, 50);
    num_seen = num_sent;
    RECEIVE(ACK, 1, 1, 1, 0);
    RECEIVE(ACK, 2, 1, 1, 0);
    assert_true(osc_cached_directory_slow(&directory, 0, OSC_CACHED_ALL_BLOCKS, &slow));
    assert_int_equal(slow, 3);
    assert_true(osc_cached_directory_slow(&directory, 1, 1, &slow));
    assert_false(osc_cached_directory_slow(&directory, 2, 10, &slow));
    osc_cached_directory_dead(&directory, 5, &post); /* a writer that waits */
    assert_int_equal(osc_cached_directory_verify(&directory), 0);
    nothing_sent();
    osc_cached_directory_dead(&directory, 3, &post); /* the last one to acknowledge */
    assert_int_equal(osc_cached_directory_verify(&directory), 0);
    SENT(HELD, 4, 1, 1, 40);
    RECEIVE(FILL, 3, 1, 1, 33); /* a late one */
    nothing_sent();
    osc_cached_directory_dead(&directory, 4, &post); /* a writer */
    RECEIVE(FILL, 1, 1, 1, 12);
    SENT(DATA, 1, 1, 1, 12);
    end();
}

/* The Nth allocation and all after it fail: nothing is shared that cannot be entered, and nobody
 * waits for ever. */
static void test_no_memory(void **state)
{
    osc_cached_directory_config_t config = {
        .ranks = RANKS, .rank = OWNER, .max_lines = 1000, .alloc = &alloc};
    unsigned shared = 0, fails = 0;
    (void) state;

    for (int n = 0; 0 == n || 0 < fails; n++) {
        unsigned held = 0;

        num_sent = 0;
        allocations = n;
        fails = 1;
        if (OSC_CACHED_OK != osc_cached_directory_init(&directory, &config)) {
            assert_int_equal(n, 0);
            continue;
        }
        for (uint32_t rank = 1; rank < 8; rank++) {
            RECEIVE(FILL, rank, 1, 1, rank);
            RECEIVE(FILL, rank, 100 * rank, 1, 10 + rank);
        }
        shared = (unsigned) directory.shares;
        for (uint32_t rank = 8; rank < RANKS; rank++) {
            RECEIVE(HOLD, rank, 100 * (rank - 7), 1, rank);
            RECEIVE(HOLD, rank, 1, 2, 10 + rank);
        }
        for (unsigned i = 0; i < num_sent; i++) {
            if (OSC_CACHED_MESSAGE_INV == sent[i].kind) {
                RECEIVE(ACK, sent[i].peer, sent[i].first, sent[i].count, 0);
            }
        }
        for (unsigned i = 0; i < num_sent; i++) {
            held |= (OSC_CACHED_MESSAGE_HELD == sent[i].kind ? 1U : 0) << sent[i].peer;
        }
        assert_int_equal(held, 0xf00);
        assert_true(shared + directory.counts.directs == 14);
        fails = 0 == allocations;
        osc_cached_directory_fini(&directory);
    }
    assert_int_equal(shared, 14);
    num_seen = num_sent;
}

static void test_unknown(void **state)
{
    static const struct {
        osc_cached_message_kind_t kind, reply;
    } kinds[] = {{OSC_CACHED_MESSAGE_FILL, OSC_CACHED_MESSAGE_DIRECT},
                 {OSC_CACHED_MESSAGE_INV, OSC_CACHED_MESSAGE_ACK},
                 {OSC_CACHED_MESSAGE_HOLD, OSC_CACHED_MESSAGE_HELD},
                 {OSC_CACHED_MESSAGE_FWD, OSC_CACHED_MESSAGE_BACK}};
    (void) state;

    num_sent = num_seen = 0;
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        osc_cached_message_t message = {
            .kind = kinds[i].kind, .peer = 4, .reader = 5, .first = 6, .count = 1, .name = 7};

        osc_cached_message_unknown(&message, &post);
        sent_is(kinds[i].reply, 4, 6, 1, 7);
    }
    osc_cached_message_unknown(&(osc_cached_message_t){.kind = OSC_CACHED_MESSAGE_BACK,
                                                       .peer = 4,
                                                       .reader = 5,
                                                       .first = 6,
                                                       .count = 1,
                                                       .name = 7},
                               &post);
    SENT(DIRECT, 5, 6, 1, 7);
    osc_cached_message_unknown(&(osc_cached_message_t){.kind = OSC_CACHED_MESSAGE_FREE}, &post);
    nothing_sent();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sharers_and_writer),
        cmocka_unit_test(test_forwards),
        cmocka_unit_test(test_shared_reads),
        cmocka_unit_test(test_many_sharers),
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_owner),
        cmocka_unit_test(test_protect),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_closed),
        cmocka_unit_test(test_dead),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_unknown),
    };

    return cmocka_run_group_tests_name("osc_cached_directory", tests, NULL, NULL);
}
