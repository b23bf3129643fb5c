/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_shared, by several: processes and threads that hit beside others that keep, write,
 * invalidate and grow; processes that are killed or stopped with the lock.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include "osc_cached_test_shared.h"
#include "osc_cached_test_robust.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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
        cmocka_unit_test(processes_see_whole_entries),
        cmocka_unit_test(threads_see_whole_entries),
        cmocka_unit_test(the_lock_outlives_its_owners),
        cmocka_unit_test(nobody_waits_for_a_stopped_process),
        cmocka_unit_test(recovery_keeps_what_is_whole),
        cmocka_unit_test(recovery_moves_the_hand),
    };

    (void) alarm(300); /* what never comes is a failure, too */
    return cmocka_run_group_tests(tests, setup, NULL);
}
