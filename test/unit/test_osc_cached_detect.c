/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_detect, with the directory and the kernel that is there: exit code 77 where stores
 * cannot be noticed. The test is the network and the other processes: it answers what the directory
 * sends when it likes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_detect.h"
#include "osc_cached_test_random.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RANKS = 4, PAGES = 32, QUEUE = 4096, RANDOM_STORES = 5000, RANDOM_TRAPS = 200 };

static size_t page;

/* An owner, rank 0, and what is on its way from it. */
typedef struct {
    pthread_mutex_t lock;
    osc_cached_directory_t directory;
    osc_cached_post_t post;
    ompi_osc_cached_detect_t *detect;
    char *memory, *base;
    osc_cached_message_t queue[QUEUE];
    size_t queued;
    _Atomic uint64_t slow_from, slow_to, slow_times;
} owner_t;

static _Atomic uint64_t clock_ns;

static uint64_t now(void)
{
    return atomic_load(&clock_ns);
}

static void enter(void *context)
{
    pthread_mutex_lock(&((owner_t *) context)->lock);
}

static void leave(void *context)
{
    pthread_mutex_unlock(&((owner_t *) context)->lock);
}

static void send_message(void *context, const osc_cached_message_t *message)
{
    owner_t *owner = context;

    if (OSC_CACHED_MESSAGE_HELD == message->kind) {
        ompi_osc_cached_detect_open_pages(owner->detect, message->first, message->count);
    }
    if (0 == message->peer) {
        (void) ompi_osc_cached_detect_held(owner->detect, message->name);
    } else if (owner->queued < QUEUE) {
        owner->queue[owner->queued++] = *message;
    } else {
        abort();
    }
}

static void tell_slow(void *context, uint64_t from, uint64_t to)
{
    owner_t *owner = context;

    atomic_store(&owner->slow_from, from);
    atomic_store(&owner->slow_to, to);
    atomic_fetch_add(&owner->slow_times, 1);
}

/* A window that begins after some bytes of its first page, and ends with as many of a last one, in
 * blocks of so many bytes, a power of two. */
static void start(owner_t *owner, size_t skew, size_t block)
{
    osc_cached_directory_config_t directory = {
        .ranks = RANKS, .max_lines = 1 << 10, .protect = true, .alloc = &osc_cached_alloc_default};
    ompi_osc_cached_detect_config_t config = {.size = PAGES * page,
                                              .block_shift = (uint8_t) __builtin_ctzll(block),
                                              .directory = &owner->directory,
                                              .post = &owner->post,
                                              .enter = enter,
                                              .leave = leave,
                                              .context = owner,
                                              .now = now,
                                              .slow = UINT64_C(20000000000),
                                              .tell_slow = tell_slow};
    ompi_osc_cached_stores_reason_t reason;

    memset(owner, 0, sizeof(*owner));
    pthread_mutex_init(&owner->lock, NULL);
    owner->post = (osc_cached_post_t){.send = send_message, .context = owner};
    assert_int_equal(OSC_CACHED_OK, osc_cached_directory_init(&owner->directory, &directory));
    owner->memory =
        mmap(NULL, (PAGES + 1) * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(MAP_FAILED, owner->memory);
    config.base = owner->base = owner->memory + skew;
    owner->detect = ompi_osc_cached_detect_open(&config, &reason);
    assert_non_null(owner->detect);
}

static void receive(owner_t *owner, osc_cached_message_t message)
{
    unsigned flags = 0;

    enter(owner);
    if (OSC_CACHED_MESSAGE_FILL == message.kind) {
        flags = ompi_osc_cached_detect_fill(owner->detect, message.first);
    }
    osc_cached_directory_receive(&owner->directory, &message, flags, &owner->post);
    ompi_osc_cached_detect_settle(owner->detect);
    assert_int_equal(0, osc_cached_directory_verify(&owner->directory));
    leave(owner);
}

static uint64_t traps_of(owner_t *owner)
{
    uint64_t traps;

    enter(owner);
    traps = ompi_osc_cached_detect_traps(owner->detect);
    leave(owner);
    return traps;
}

/* The oldest message, if there is one. */
static bool fetch(owner_t *owner, osc_cached_message_t *message)
{
    bool there;

    enter(owner);
    there = 0 < owner->queued;
    if (there) {
        *message = owner->queue[0];
        memmove(owner->queue, owner->queue + 1, --owner->queued * sizeof(owner->queue[0]));
    }
    leave(owner);
    return there;
}

static osc_cached_message_t expect(owner_t *owner, uint8_t kind)
{
    osc_cached_message_t message;

    while (!fetch(owner, &message)) {
        sched_yield();
    }
    assert_int_equal(kind, message.kind);
    return message;
}

static void acknowledge(owner_t *owner, osc_cached_message_t invalidation)
{
    invalidation.kind = OSC_CACHED_MESSAGE_ACK;
    receive(owner, invalidation);
}

static void fill(owner_t *owner, uint32_t rank, uint64_t block, uint32_t name)
{
    receive(owner, (osc_cached_message_t){.kind = OSC_CACHED_MESSAGE_FILL,
                                          .peer = rank,
                                          .first = block,
                                          .count = 1,
                                          .name = name});
}

static void finish(owner_t *owner)
{
    osc_cached_message_t message;

    enter(owner);
    osc_cached_directory_close(&owner->directory, &owner->post);
    leave(owner);
    while (fetch(owner, &message)) {
        if (OSC_CACHED_MESSAGE_INV == message.kind) {
            acknowledge(owner, message);
        }
    }
    assert_false(osc_cached_directory_is_shared(&owner->directory));
    ompi_osc_cached_detect_close(owner->detect);
    memset(owner->memory, 1, (PAGES + 1) * page);
    osc_cached_directory_fini(&owner->directory);
    pthread_mutex_destroy(&owner->lock);
    assert_int_equal(0, munmap(owner->memory, (PAGES + 1) * page));
}

/* A thread of the program. */
typedef struct {
    char *at;
    pthread_t thread;
    _Atomic bool done;
} writer_t;

static void *store(void *argument)
{
    writer_t *writer = argument;

    __atomic_store_n(writer->at, 1, __ATOMIC_RELAXED);
    atomic_store(&writer->done, true);
    return NULL;
}

static void begin(writer_t *writer, char *at)
{
    writer->at = at;
    atomic_store(&writer->done, false);
    assert_int_equal(0, pthread_create(&writer->thread, NULL, store, writer));
}

static void end(writer_t *writer)
{
    pthread_join(writer->thread, NULL);
    assert_true(atomic_load(&writer->done));
}

/* A store waits for the ACKs of all who have copies, and the next FILL protects the page again. */
static void test_store(void **state)
{
    osc_cached_message_t first, second;
    writer_t writer;
    owner_t owner;

    (void) state;
    start(&owner, 0, 4096);
    for (int round = 0; round < 3; ++round) {
        fill(&owner, 1, 5 * page >> 12, 11);
        expect(&owner, OSC_CACHED_MESSAGE_DATA);
        fill(&owner, 2, 5 * page >> 12, 12);
        expect(&owner, OSC_CACHED_MESSAGE_DATA);
        owner.base[4 * page] = owner.base[7 * page] = 1;
        begin(&writer, owner.base + 5 * page);
        first = expect(&owner, OSC_CACHED_MESSAGE_INV);
        second = expect(&owner, OSC_CACHED_MESSAGE_INV);
        fill(&owner, 3, 5 * page >> 12, 13); /* meanwhile */
        expect(&owner, OSC_CACHED_MESSAGE_DIRECT);
        acknowledge(&owner, first);
        assert_false(atomic_load(&writer.done));
        acknowledge(&owner, second);
        end(&writer);
        owner.base[5 * page] = 2; /* nobody has a copy */
    }
    assert_int_equal(3, traps_of(&owner));
    fill(&owner, 1, 5 * page >> 12, 14); /* three times were enough */
    expect(&owner, OSC_CACHED_MESSAGE_DATA);
    finish(&owner);
}

/* A store that waits for long is told of once, and others do not wait for that. */
static void test_slow(void **state)
{
    osc_cached_message_t message;
    writer_t slow, quick;
    owner_t owner;

    (void) state;
    start(&owner, 0, 4096);
    for (uint64_t round = 1; round <= 2; ++round) {
        fill(&owner, 1, 5 * page >> 12, 11);
        expect(&owner, OSC_CACHED_MESSAGE_DATA);
        begin(&slow, owner.base + 5 * page + 9);
        message = expect(&owner, OSC_CACHED_MESSAGE_INV);
        usleep(250000); /* the thread has looked */
        assert_int_equal(round - 1, atomic_load(&owner.slow_times));
        atomic_fetch_add(&clock_ns, UINT64_C(20000000001));
        while (round != atomic_load(&owner.slow_times)) {
            sched_yield();
        }
        assert_int_equal(5 * page, atomic_load(&owner.slow_from));
        assert_int_equal(6 * page, atomic_load(&owner.slow_to));
        usleep(250000);
        assert_int_equal(round, atomic_load(&owner.slow_times));
        assert_false(atomic_load(&slow.done));
        acknowledge(&owner, message);
        end(&slow);
        atomic_fetch_add(&clock_ns, UINT64_C(10000000000000)); /* it shares again */
    }
    fill(&owner, 1, 7 * page >> 12, 12);
    expect(&owner, OSC_CACHED_MESSAGE_DATA);
    begin(&quick, owner.base + 7 * page);
    acknowledge(&owner, expect(&owner, OSC_CACHED_MESSAGE_INV));
    end(&quick);
    assert_int_equal(2, atomic_load(&owner.slow_times));
    fill(&owner, 1, 5 * page >> 12, 13);
    expect(&owner, OSC_CACHED_MESSAGE_DATA);
    begin(&slow, owner.base + 5 * page + 9);
    message = expect(&owner, OSC_CACHED_MESSAGE_INV);
    for (uint32_t i = 0; i < 50 && 2 == atomic_load(&owner.slow_times); ++i) {
        usleep(20000);
        atomic_fetch_add(&clock_ns, UINT64_C(10000000000000));
        fill(&owner, 1, 7 * page >> 12, 14 + i);
        expect(&owner, OSC_CACHED_MESSAGE_DATA);
        begin(&quick, owner.base + 7 * page);
        acknowledge(&owner, expect(&owner, OSC_CACHED_MESSAGE_INV));
        end(&quick);
    }
    assert_int_equal(3, atomic_load(&owner.slow_times)); /* also while others trap */
    acknowledge(&owner, message);
    end(&slow);
    finish(&owner);
}

/* Copies that went by themselves: a store waits for nobody. */
static void test_evicted(void **state)
{
    owner_t owner;

    (void) state;
    start(&owner, 0, 4096);
    fill(&owner, 1, 2 * page >> 12, 11);
    expect(&owner, OSC_CACHED_MESSAGE_DATA);
    receive(&owner, (osc_cached_message_t){.kind = OSC_CACHED_MESSAGE_EVICT,
                                           .peer = 1,
                                           .first = 2 * page >> 12,
                                           .count = 1,
                                           .name = 11});
    owner.base[2 * page] = 1;
    assert_int_equal(1, traps_of(&owner));
    finish(&owner);
}

/* Blocks and pages that do not begin together: all blocks of a page are withdrawn; at the ends of
 * the window there are other data. */
static void test_skewed(void **state)
{
    osc_cached_message_t first, second;
    writer_t writer;
    owner_t owner;

    (void) state;
    start(&owner, 100, page);
    fill(&owner, 1, 0, 11);
    expect(&owner, OSC_CACHED_MESSAGE_DIRECT);
    fill(&owner, 1, PAGES - 1, 12);
    expect(&owner, OSC_CACHED_MESSAGE_DIRECT);
    fill(&owner, 1, PAGES, 13); /* there is no such block */
    expect(&owner, OSC_CACHED_MESSAGE_DIRECT);
    fill(&owner, 1, 3, 14);
    expect(&owner, OSC_CACHED_MESSAGE_DATA);
    fill(&owner, 2, 4, 15);
    expect(&owner, OSC_CACHED_MESSAGE_DATA);
    begin(&writer, owner.memory + 4 * page + 50); /* block 3, in a page that block 4 has, too */
    first = expect(&owner, OSC_CACHED_MESSAGE_INV);
    second = expect(&owner, OSC_CACHED_MESSAGE_INV);
    assert_int_equal(7, first.first + second.first);
    acknowledge(&owner, second);
    assert_false(atomic_load(&writer.done));
    acknowledge(&owner, first);
    end(&writer);
    finish(&owner);
}

/* Who holds blocks may write to the pages that are all in them, also a thread that must not wait:
 * the one that has the lock. */
static void test_held(void **state)
{
    osc_cached_message_t hold = {
        .kind = OSC_CACHED_MESSAGE_HOLD, .peer = 2, .first = 3, .count = 3, .name = 7};
    osc_cached_message_t message;
    writer_t writer;
    owner_t owner;

    (void) state;
    start(&owner, 100, page);
    for (uint32_t i = 2; i <= 6; ++i) {
        fill(&owner, 1, i, 10 + i);
        expect(&owner, OSC_CACHED_MESSAGE_DATA);
    }
    receive(&owner, hold);
    for (int i = 0; i < 3; ++i) {
        acknowledge(&owner, expect(&owner, OSC_CACHED_MESSAGE_INV));
    }
    expect(&owner, OSC_CACHED_MESSAGE_HELD);
    enter(&owner);
    memset(owner.memory + 4 * page, 1, 2 * page); /* of blocks 3 to 5 */
    leave(&owner);
    assert_int_equal(0, traps_of(&owner));
    begin(&writer, owner.memory + 6 * page + 50); /* block 5, in a page that block 6 has, too */
    message = expect(&owner, OSC_CACHED_MESSAGE_INV);
    assert_int_equal(6, message.first);
    assert_false(atomic_load(&writer.done));
    acknowledge(&owner, message);
    end(&writer);
    hold.kind = OSC_CACHED_MESSAGE_FREE;
    receive(&owner, hold);
    fill(&owner, 1, 4, 20); /* and protected again */
    expect(&owner, OSC_CACHED_MESSAGE_DATA);
    begin(&writer, owner.memory + 5 * page);
    acknowledge(&owner, expect(&owner, OSC_CACHED_MESSAGE_INV));
    end(&writer);
    fill(&owner, 1, 2, 21); /* all blocks: all pages */
    expect(&owner, OSC_CACHED_MESSAGE_DATA);
    hold = (osc_cached_message_t){
        .kind = OSC_CACHED_MESSAGE_HOLD, .peer = 2, .count = OSC_CACHED_ALL_BLOCKS, .name = 8};
    receive(&owner, hold);
    acknowledge(&owner, expect(&owner, OSC_CACHED_MESSAGE_INV));
    expect(&owner, OSC_CACHED_MESSAGE_HELD);
    enter(&owner);
    memset(owner.memory, 1, (PAGES + 1) * page);
    leave(&owner);
    assert_int_equal(2, traps_of(&owner));
    finish(&owner);
}

static int threads_at_first; /* when no test is at work */

static int count_threads(void)
{
    DIR *folder = opendir("/proc/self/task");
    int count = 0;

    while (NULL != readdir(folder)) {
        ++count;
    }
    closedir(folder);
    return count;
}

/* Linux lists a thread for a moment after pthread_join(3) has returned. */
static void wait_for_threads_to_leave(void)
{
    while (threads_at_first != count_threads()) {
        sched_yield();
    }
}

static void *tell_number(void *number)
{
    *(long *) number = syscall(SYS_gettid);
    return NULL;
}

/* After a first thread has come and gone: the thread sanitizer starts one of its own with it. */
static void count_threads_at_first(void)
{
    pthread_t thread;
    char path[64];
    long number;

    if (0 != pthread_create(&thread, NULL, tell_number, &number)
        || 0 != pthread_join(thread, NULL)) {
        abort();
    }
    snprintf(path, sizeof(path), "/proc/self/task/%ld", number);
    while (0 == access(path, F_OK)) {
        sched_yield();
    }
    threads_at_first = count_threads();
}

/* Nothing is watched, and no thread is there, until somebody wants a copy. */
static void test_idle(void **state)
{
    owner_t owner;

    (void) state;
    wait_for_threads_to_leave();
    start(&owner, 0, 4096);
    memset(owner.base, 1, PAGES * page);
    assert_int_equal(threads_at_first, count_threads());
    fill(&owner, 1, 5 * page >> 12, 11);
    expect(&owner, OSC_CACHED_MESSAGE_DATA);
    assert_int_equal(threads_at_first + 1, count_threads());
    finish(&owner);
    wait_for_threads_to_leave();
    start(&owner, 0, 4096);
    assert_int_equal(threads_at_first, count_threads());
    finish(&owner);
}

/* A block of many pages is protected as a whole. */
static void test_large_blocks(void **state)
{
    osc_cached_message_t message;
    writer_t writer;
    owner_t owner;

    (void) state;
    start(&owner, 0, 4 * page);
    fill(&owner, 1, 2, 11);
    expect(&owner, OSC_CACHED_MESSAGE_DATA);
    begin(&writer, owner.base + 11 * page + 7);
    message = expect(&owner, OSC_CACHED_MESSAGE_INV);
    assert_int_equal(2, message.first);
    acknowledge(&owner, message);
    end(&writer);
    fill(&owner, 1, 2, 12);
    expect(&owner, OSC_CACHED_MESSAGE_DATA);
    finish(&owner);
}

/* An owner whose stores wait too long takes everything back, and shares again later. */
static void test_withdraws(void **state)
{
    osc_cached_message_t message;
    writer_t writer;
    owner_t owner;

    (void) state;
    start(&owner, 0, 4096);
    for (uint32_t i = 0; i < 3; ++i) {
        fill(&owner, 1, i * page >> 12, 10 + i);
        expect(&owner, OSC_CACHED_MESSAGE_DATA);
    }
    for (uint32_t i = 0; i < 2; ++i) {
        begin(&writer, owner.base + i * page);
        message = expect(&owner, OSC_CACHED_MESSAGE_INV);
        atomic_fetch_add(&clock_ns, 2000000); /* 2 ms */
        acknowledge(&owner, message);
        if (1 == i) { /* with the second one: all blocks */
            message = expect(&owner, OSC_CACHED_MESSAGE_INV);
            assert_true(OSC_CACHED_ALL_BLOCKS == message.count);
            acknowledge(&owner, message);
        }
        end(&writer);
    }
    owner.base[2 * page] = 1; /* released with the others */
    assert_int_equal(2, traps_of(&owner));
    fill(&owner, 1, 2 * page >> 12, 20);
    expect(&owner, OSC_CACHED_MESSAGE_DIRECT);
    atomic_fetch_add(&clock_ns, UINT64_C(1000000000));
    fill(&owner, 1, 2 * page >> 12, 21);
    expect(&owner, OSC_CACHED_MESSAGE_DATA);
    finish(&owner);
}

/* Random stores beside random readers: whoever has a copy has the last store that is complete. */

typedef struct {
    owner_t owner;
    _Atomic uint64_t completed[PAGES];
    _Atomic bool enough, done;
} play_t;

static _Atomic uint64_t *word(play_t *play, size_t number)
{
    return (_Atomic uint64_t *) (play->owner.base + number * page);
}

static void *play_store(void *argument)
{
    play_t *play = argument;
    uint64_t random = 5;

    for (uint64_t i = 1; i <= RANDOM_STORES || !atomic_load(&play->enough); ++i) {
        size_t number = random_below(&random, PAGES);

        /* the clock stands still while a store waits: nothing is shared too often */
        atomic_fetch_add(&clock_ns, (0 == i % 256) ? UINT64_C(10000000000) : 0);
        atomic_store_explicit(word(play, number), i, memory_order_relaxed);
        atomic_store(&play->completed[number], i);
    }
    atomic_store(&play->done, true);
    return NULL;
}

static void test_random(void **state)
{
    static play_t play;
    uint64_t copies[RANKS][PAGES] = {0}, random = seed_get(17), kept = 0, name = 0;
    bool valid[RANKS][PAGES] = {0};
    osc_cached_message_t message, late[64];
    size_t lates = 0;
    pthread_t writer;

    (void) state;
    printf("seed: %llu\n", (unsigned long long) random);
    start(&play.owner, 0, page);
    assert_int_equal(0, pthread_create(&writer, NULL, play_store, &play));
    while (!atomic_load(&play.done) || 0 < lates) {
        size_t block = random_below(&random, PAGES);
        uint32_t rank = 1 + random_below(&random, RANKS - 1);

        atomic_store(&play.enough, RANDOM_TRAPS <= traps_of(&play.owner));
        if (!valid[rank][block]) {
            fill(&play.owner, rank, block, (uint32_t) ++name);
        }
        if (0 < lates && 0 == random_below(&random, 2)) { /* the INV arrives */
            message = late[--lates];
            if (OSC_CACHED_ALL_BLOCKS == message.count) {
                memset(valid[message.peer], 0, sizeof(valid[0]));
            } else {
                valid[message.peer][message.first] = false;
            }
            acknowledge(&play.owner, message);
        }
        while (lates < 64 && fetch(&play.owner, &message)) {
            if (OSC_CACHED_MESSAGE_DATA == message.kind) { /* at once; INVs come later */
                copies[message.peer][message.first] =
                    atomic_load(word(&play, (size_t) message.first));
                valid[message.peer][message.first] = true;
                ++kept;
            } else if (OSC_CACHED_MESSAGE_INV == message.kind) {
                late[lates++] = message;
            }
        }
        for (size_t i = 0; i < PAGES; ++i) {
            for (int k = 1; k < RANKS; ++k) {
                if (valid[k][i]) {
                    assert_true(atomic_load(&play.completed[i]) <= copies[k][i]);
                }
            }
        }
    }
    pthread_join(writer, NULL);
    printf("%llu stores waited, %llu copies\n", (unsigned long long) traps_of(&play.owner),
           (unsigned long long) kept);
    finish(&play.owner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store),     cmocka_unit_test(test_evicted),
        cmocka_unit_test(test_skewed),    cmocka_unit_test(test_large_blocks),
        cmocka_unit_test(test_withdraws), cmocka_unit_test(test_random),
        cmocka_unit_test(test_held),      cmocka_unit_test(test_idle),
        cmocka_unit_test(test_slow),
    };
    ompi_osc_cached_stores_config_t config = {.now = now, .inner = true};
    ompi_osc_cached_stores_reason_t reason;
    ompi_osc_cached_watch_t *watch;

    page = config.size = (size_t) sysconf(_SC_PAGESIZE);
    config.base = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    watch = ompi_osc_cached_stores_open(&config, &reason);
    if (NULL == watch) {
        printf("%s\n", ompi_osc_cached_stores_text(reason));
        return 77;
    }
    ompi_osc_cached_stores_close(watch);
    (void) alarm(300); /* what never comes is a failure, too */
    count_threads_at_first();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
