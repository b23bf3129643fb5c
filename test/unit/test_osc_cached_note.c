/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * Notes between processes of which some do not know the window any more (O4): who waits for an
 * answer has one that it accepts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "osc_cached_copies.h"
#include "osc_cached_directory.h"
#include "osc_cached_wire.h"

#include "osc_cached_note.h"

enum { OWNER, A, B, PROCESSES, MOST = 16, NAMES = 1000 };

static const osc_cached_window_id_t window = {.creator = NAMES, .number = 3};

/* Notes on their way: to a process, by its name. */
static struct {
    uint64_t name;
    osc_cached_request_t note;
} notes[MOST];
static unsigned num_sent, num_arrived;

static struct process {
    uint32_t rank;
    osc_cached_directory_t directory;
    osc_cached_copies_t copies;
    osc_cached_post_t post;
    bool knows;
    osc_cached_message_t last; /* that it has accepted */
} processes[PROCESSES];

static void send_note(uint64_t from, uint64_t to, osc_cached_request_t note)
{
    assert_true(num_sent < MOST);
    assert_in_range(to, NAMES, NAMES + PROCESSES - 1);
    note.origin = from;
    notes[num_sent].name = to;
    notes[num_sent++].note = note;
}

static void post(void *context, const osc_cached_message_t *message)
{
    const struct process *me = context;

    if (message->peer != me->rank) { /* as ompi_osc_cached_coherence_send does */
        send_note(NAMES + me->rank, NAMES + message->peer,
                  osc_cached_note_of(message, window, me->rank, NAMES + message->reader));
    }
}

static void receive(struct process *me, const osc_cached_request_t *note)
{
    osc_cached_message_t message = osc_cached_note_message(note);
    osc_cached_request_t answer;
    uint64_t name;

    if (!me->knows) {
        if (osc_cached_note_unknown(note, &answer, &name)) {
            send_note(NAMES + me->rank, name, answer);
        }
        return;
    }
    assert_true(osc_cached_note_is_good(&message, PROCESSES, me->rank));
    me->last = message;
    if (!OSC_CACHED_MESSAGE_IS_FOR_OWNER(message.kind)) {
        assert_int_not_equal(message.owner, me->rank);
        (void) osc_cached_copies_receive(&me->copies, &message, NULL, &me->post);
    } else if (message.owner == me->rank) {
        osc_cached_directory_receive(&me->directory, &message, OSC_CACHED_FILL_FORWARD, &me->post);
    }
}

/* One of them; who it was for. */
static uint32_t arrive(void)
{
    uint32_t rank = (uint32_t) (notes[num_arrived].name - NAMES);

    assert_true(num_arrived < num_sent);
    receive(&processes[rank], &notes[num_arrived++].note);
    return rank;
}

static void arrive_all(void)
{
    while (num_arrived < num_sent) {
        (void) arrive();
    }
}

static int begin(void **state)
{
    (void) state;
    num_sent = num_arrived = 0;
    for (uint32_t i = 0; i < PROCESSES; i++) {
        struct process *me = &processes[i];
        osc_cached_directory_config_t directory = {
            .ranks = PROCESSES, .rank = i, .max_lines = 64, .alloc = &osc_cached_alloc_default};
        osc_cached_copies_config_t copies = {.ranks = PROCESSES,
                                             .rank = i,
                                             .max_blocks = 16,
                                             .block_shift = 12,
                                             .waits = true,
                                             .alloc = &osc_cached_alloc_default};

        *me = (struct process){.rank = i, .knows = true, .post = {.send = post, .context = me}};
        assert_int_equal(osc_cached_directory_init(&me->directory, &directory), OSC_CACHED_OK);
        assert_int_equal(osc_cached_copies_init(&me->copies, &copies), OSC_CACHED_OK);
    }
    return 0;
}

static int end(void **state)
{
    (void) state;
    for (uint32_t i = 0; i < PROCESSES; i++) {
        osc_cached_directory_fini(&processes[i].directory);
        osc_cached_copies_fini(&processes[i].copies);
    }
    return 0;
}

/* A reader asks for block 5 of the owner, and waits. */
static void ask(uint32_t reader)
{
    uint64_t stamp;
    uint32_t name;

    assert_int_equal(osc_cached_copies_miss(&processes[reader].copies, OWNER, 5, 1,
                                            OSC_CACHED_ALL_PARTS, &stamp, &name,
                                            &processes[reader].post),
                     OSC_CACHED_COPY_WAIT);
}

static void is_last(uint32_t rank, osc_cached_message_kind_t kind, uint32_t peer)
{
    assert_int_equal(processes[rank].last.kind, kind);
    assert_int_equal(processes[rank].last.peer, peer);
    assert_int_equal(processes[rank].last.owner, OWNER);
}

static void test_known(void **state)
{
    bool alone;
    (void) state;

    ask(A);
    arrive_all();
    is_last(OWNER, OSC_CACHED_MESSAGE_FILL, A);
    is_last(A, OSC_CACHED_MESSAGE_DATA, OWNER);
    assert_int_equal(osc_cached_copies_state(&processes[A].copies, OWNER, 5, &alone),
                     OSC_CACHED_BLOCK_VALID);
    ask(B); /* A forwards */
    arrive_all();
    is_last(B, OSC_CACHED_MESSAGE_DATA, A);
}

static void test_fill(void **state)
{
    bool alone;
    (void) state;

    processes[OWNER].knows = false;
    ask(A);
    arrive_all();
    is_last(A, OSC_CACHED_MESSAGE_DIRECT, OWNER);
    assert_int_equal(osc_cached_copies_state(&processes[A].copies, OWNER, 5, &alone),
                     OSC_CACHED_BLOCK_SEEN);
}

static void test_inv(void **state)
{
    (void) state;

    ask(A);
    arrive_all();
    processes[A].knows = false;
    (void) osc_cached_directory_hold(&processes[OWNER].directory, 5, 1, &processes[OWNER].post);
    assert_true(osc_cached_directory_is_shared(&processes[OWNER].directory));
    arrive_all();
    is_last(OWNER, OSC_CACHED_MESSAGE_ACK, A);
    assert_false(osc_cached_directory_is_shared(&processes[OWNER].directory));
    assert_int_equal(osc_cached_directory_verify(&processes[OWNER].directory), 0);
}

static void test_close(void **state)
{
    (void) state;

    ask(A);
    arrive_all();
    processes[A].knows = false;
    osc_cached_directory_close(&processes[OWNER].directory, &processes[OWNER].post);
    arrive_all();
    assert_false(osc_cached_directory_is_shared(&processes[OWNER].directory));
}

static void test_hold(void **state)
{
    (void) state;

    processes[OWNER].knows = false;
    assert_int_not_equal(
        osc_cached_copies_write(&processes[A].copies, OWNER, 5, 1, &processes[A].post), 0);
    assert_false(osc_cached_copies_is_held(&processes[A].copies, OWNER));
    arrive_all();
    is_last(A, OSC_CACHED_MESSAGE_HELD, OWNER);
    assert_true(osc_cached_copies_is_held(&processes[A].copies, OWNER));
}

static void test_forward(void **state)
{
    (void) state;

    ask(A);
    arrive_all();
    processes[A].knows = false;
    ask(B);
    assert_int_equal(arrive(), OWNER); /* FILL */
    assert_int_equal(arrive(), A);     /* FWD */
    assert_int_equal(arrive(), OWNER);
    is_last(OWNER, OSC_CACHED_MESSAGE_BACK, A);
    assert_int_equal(processes[OWNER].last.reader, B);
    arrive_all();
    is_last(B, OSC_CACHED_MESSAGE_DATA, OWNER);
}

/* The owner leaves after it has sent the FILL on: the reader hears of it, not who sends it back. */
static void forward_back(bool answers)
{
    ask(A);
    arrive_all();
    processes[A].knows = answers;
    ask(B);
    assert_int_equal(arrive(), OWNER);
    processes[OWNER].knows = false;
    if (answers) { /* A has dropped it, and sends it back */
        assert_true(osc_cached_copies_evict(&processes[A].copies, OWNER, 5, &processes[A].post));
    }
    arrive_all();
    is_last(B, OSC_CACHED_MESSAGE_DIRECT, OWNER);
}

static void test_back(void **state)
{
    (void) state;
    forward_back(true);
}

static void test_back_of_unknown(void **state)
{
    (void) state;
    forward_back(false);
}

/* Who tells something hears nothing. */
static void test_quiet(void **state)
{
    static const osc_cached_message_kind_t kinds[] = {
        OSC_CACHED_MESSAGE_DATA,  OSC_CACHED_MESSAGE_DIRECT, OSC_CACHED_MESSAGE_ACK,
        OSC_CACHED_MESSAGE_HELD,  OSC_CACHED_MESSAGE_FREE,   OSC_CACHED_MESSAGE_RECALL,
        OSC_CACHED_MESSAGE_EVICT, OSC_CACHED_MESSAGE_LAST,   OSC_CACHED_MESSAGE_SLOW,
        OSC_CACHED_MESSAGE_DEAD};
    (void) state;

    processes[B].knows = false;
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        post(&processes[A],
             &(osc_cached_message_t){.kind = (uint8_t) kinds[i], .peer = B, .count = 1, .name = 1});
        assert_int_equal(arrive(), B);
        assert_int_equal(num_arrived, num_sent);
    }
}

static void test_damaged(void **state)
{
    (void) state;
    assert_true(osc_cached_note_is_good(&(osc_cached_message_t){.peer = 1}, 2, 0));
    assert_false(osc_cached_note_is_good(&(osc_cached_message_t){.peer = 0}, 2, 0));
    assert_false(osc_cached_note_is_good(&(osc_cached_message_t){.peer = 2}, 2, 0));
    assert_false(osc_cached_note_is_good(&(osc_cached_message_t){.peer = 1, .owner = 2}, 2, 0));
    assert_false(osc_cached_note_is_good(&(osc_cached_message_t){.peer = 1, .reader = 2}, 2, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_known, begin, end),
        cmocka_unit_test_setup_teardown(test_fill, begin, end),
        cmocka_unit_test_setup_teardown(test_inv, begin, end),
        cmocka_unit_test_setup_teardown(test_close, begin, end),
        cmocka_unit_test_setup_teardown(test_hold, begin, end),
        cmocka_unit_test_setup_teardown(test_forward, begin, end),
        cmocka_unit_test_setup_teardown(test_back, begin, end),
        cmocka_unit_test_setup_teardown(test_back_of_unknown, begin, end),
        cmocka_unit_test_setup_teardown(test_quiet, begin, end),
        cmocka_unit_test(test_damaged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
