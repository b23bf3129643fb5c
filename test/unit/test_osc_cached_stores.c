/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_stores, with the kernel that is there: exit code 77 where stores cannot be noticed.
 *
 * One thread stands for the helper: it polls, and lets stores continue when the test says so.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_stores.h"
#include "osc_cached_test_random.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGES = 64, RANDOM_STORES = 100000, WRITERS = 2, SHARED = 5, RANDOM_TRAPS = 5000 };

static size_t page;

/* The clock of the tests: stands still, so that nothing waits for long. */
static _Atomic uint64_t clock_ns;

static uint64_t now(void)
{
    return atomic_load(&clock_ns);
}

/* An owner and its helper thread. */
typedef struct {
    char *memory;
    size_t pages;
    ompi_osc_cached_watch_t *stores;
    pthread_t helper;
    int wake[2]; /* the helper ends when there is something to read */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t traps;           /* that the helper was told of */
    unsigned char *trapped; /* by page */
} owner_t;

static void trap(void *context, size_t number)
{
    owner_t *owner = context;

    pthread_mutex_lock(&owner->lock);
    ++owner->traps;
    ++owner->trapped[number];
    pthread_cond_broadcast(&owner->changed);
    pthread_mutex_unlock(&owner->lock);
}

static void *help(void *argument)
{
    owner_t *owner = argument;
    struct pollfd polled[2] = {
        {.fd = ompi_osc_cached_stores_descriptor(owner->stores), .events = POLLIN},
        {.fd = owner->wake[0], .events = POLLIN},
    };

    for (;;) {
        if (0 < poll(polled, 2, -1) && 0 != (polled[0].revents & POLLIN)) {
            ompi_osc_cached_stores_handle(owner->stores);
        }
        if (0 != polled[1].revents) {
            return NULL;
        }
    }
}

static ompi_osc_cached_stores_config_t config_of(owner_t *owner)
{
    return (ompi_osc_cached_stores_config_t){.base = owner->memory,
                                             .size = owner->pages * page,
                                             .trapped = trap,
                                             .context = owner,
                                             .now = now};
}

static void start(owner_t *owner, const ompi_osc_cached_stores_config_t *config)
{
    ompi_osc_cached_stores_reason_t reason;

    owner->trapped = calloc(owner->pages, 1);
    owner->stores = ompi_osc_cached_stores_open(config, &reason);
    assert_string_equal(ompi_osc_cached_stores_text(OSC_CACHED_STORES_NOTICED),
                        ompi_osc_cached_stores_text(reason));
    assert_non_null(owner->stores);
    pthread_mutex_init(&owner->lock, NULL);
    pthread_cond_init(&owner->changed, NULL);
    assert_int_equal(0, pipe2(owner->wake, O_CLOEXEC));
    assert_int_equal(0, pthread_create(&owner->helper, NULL, help, owner));
}

static char *map(size_t pages, int flags, int descriptor)
{
    char *memory = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, flags, descriptor, 0);

    assert_ptr_not_equal(MAP_FAILED, memory);
    return memory;
}

static void open_private(owner_t *owner, size_t pages)
{
    ompi_osc_cached_stores_config_t config;

    *owner = (owner_t){.pages = pages, .memory = map(pages, MAP_PRIVATE | MAP_ANONYMOUS, -1)};
    config = config_of(owner);
    start(owner, &config);
}

static void stop(owner_t *owner)
{
    assert_int_equal(1, write(owner->wake[1], "", 1));
    pthread_join(owner->helper, NULL);
    ompi_osc_cached_stores_close(owner->stores);
    close(owner->wake[1]);
    close(owner->wake[0]);
    pthread_mutex_destroy(&owner->lock);
    pthread_cond_destroy(&owner->changed);
    free(owner->trapped);
}

static void finish(owner_t *owner)
{
    stop(owner);
    assert_int_equal(0, munmap(owner->memory, owner->pages * page));
}

static void wait_for_traps(owner_t *owner, size_t traps)
{
    pthread_mutex_lock(&owner->lock);
    while (owner->traps < traps) {
        pthread_cond_wait(&owner->changed, &owner->lock);
    }
    assert_int_equal(traps, owner->traps);
    pthread_mutex_unlock(&owner->lock);
}

static size_t traps_of(owner_t *owner)
{
    size_t traps;

    pthread_mutex_lock(&owner->lock);
    traps = owner->traps;
    pthread_mutex_unlock(&owner->lock);
    return traps;
}

/* A thread of the program that stores to some pages, one after the other. */
typedef struct {
    char *at;
    size_t count;
    char value;
    int from; /* a descriptor to read(2) from, in place of a store; 0: none */
    pthread_t thread;
    _Atomic bool done;
} writer_t;

/* In a thread that cmocka does not know. */
static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "test_osc_cached_stores: not so: %s\n", what);
        abort();
    }
}

static char peek(const char *at)
{
    return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

static void *store(void *argument)
{
    writer_t *writer = argument;

    for (size_t i = 0; i < writer->count; ++i) {
        if (0 != writer->from) {
            /* past the thread sanitizer: others look at this byte */
            require(1 == syscall(SYS_read, writer->from, writer->at + i * page, 1),
                    "read(2) reads a byte");
        } else {
            /* the thread sanitizer holds a lock meanwhile for all that are not relaxed */
            __atomic_store_n(writer->at + i * page, writer->value, __ATOMIC_RELAXED);
        }
    }
    atomic_store(&writer->done, true);
    return NULL;
}

static void begin(writer_t *writer)
{
    atomic_store(&writer->done, false);
    assert_int_equal(0, pthread_create(&writer->thread, NULL, store, writer));
}

static void end(writer_t *writer)
{
    pthread_join(writer->thread, NULL);
    assert_true(atomic_load(&writer->done));
}

static bool arm(owner_t *owner, size_t first, size_t count)
{
    return ompi_osc_cached_stores_arm(owner->stores, first, count);
}

static void release(owner_t *owner, size_t first, size_t count)
{
    ompi_osc_cached_stores_release(owner->stores, first, count);
}

/* A store to a protected page, before and after its release. */
static void expect_trap(owner_t *owner, size_t number, writer_t *writer)
{
    size_t traps = traps_of(owner);
    char before = peek(owner->memory + number * page);

    writer->at = owner->memory + number * page;
    writer->count = 1;
    begin(writer);
    wait_for_traps(owner, traps + 1);
    assert_false(atomic_load(&writer->done));
    assert_int_equal(before, peek(writer->at));
    assert_false(arm(owner, number, 1)); /* while somebody waits */
    release(owner, number, 1);
    end(writer);
    assert_int_equal(writer->value, peek(writer->at));
}

static void test_store_waits(void **state)
{
    writer_t writer = {.value = 7};
    owner_t owner;

    (void) state;
    open_private(&owner, PAGES);
    memset(owner.memory, 1, PAGES * page);
    assert_true(arm(&owner, 3, 1));
    assert_true(arm(&owner, 3, 1));
    assert_int_equal(1, peek(owner.memory + 3 * page)); /* loads do not wait */
    owner.memory[2 * page] = owner.memory[4 * page] = 2;
    assert_int_equal(0, traps_of(&owner));
    expect_trap(&owner, 3, &writer);
    owner.memory[3 * page + 1] = 3; /* until it is armed again */
    assert_int_equal(1, traps_of(&owner));
    assert_true(arm(&owner, 3, 1));
    writer.value = 8;
    expect_trap(&owner, 3, &writer);
    assert_true(arm(&owner, 3, 1)); /* and before the helper writes */
    release(&owner, 3, 1);
    owner.memory[3 * page + 1] = 4;
    assert_int_equal(2, traps_of(&owner));
    finish(&owner);
}

/* read(2) into a protected page waits, too, and gets no EFAULT. */
static void test_system_call(void **state)
{
    writer_t writer = {.value = 'x'};
    owner_t owner;
    int ends[2];

    (void) state;
    open_private(&owner, PAGES);
    assert_int_equal(0, pipe(ends));
    assert_int_equal(1, write(ends[1], "x", 1));
    writer.from = ends[0];
    assert_true(arm(&owner, 0, PAGES));
    expect_trap(&owner, 5, &writer);
    close(ends[0]);
    close(ends[1]);
    finish(&owner);
}

/* Two threads and one page: one call; two pages: each on its own. */
static void test_threads(void **state)
{
    writer_t writers[2] = {{.value = 1, .count = 1}, {.value = 2, .count = 1}};
    owner_t owner;

    (void) state;
    open_private(&owner, PAGES);
    assert_true(arm(&owner, 0, PAGES));
    for (int i = 0; i < 2; ++i) {
        writers[i].at = owner.memory + 9 * page + i;
        begin(&writers[i]);
    }
    wait_for_traps(&owner, 1);
    release(&owner, 9, 1);
    end(&writers[0]);
    end(&writers[1]);
    assert_int_equal(1, traps_of(&owner));
    for (int i = 0; i < 2; ++i) {
        writers[i].at = owner.memory + (size_t) (20 + i) * page;
        begin(&writers[i]);
    }
    wait_for_traps(&owner, 3);
    release(&owner, 21, 1);
    end(&writers[1]);
    assert_false(atomic_load(&writers[0].done));
    assert_int_equal(0, peek(owner.memory + 20 * page));
    release(&owner, 20, 1);
    end(&writers[0]);
    finish(&owner);
}

/* All memory that can be protected, touched before or not. */
static void test_kinds(void **state)
{
    writer_t writer = {.value = 9};
    char name[64];

    (void) state;
    snprintf(name, sizeof(name), "/test_osc_cached_stores.%ld", (long) getpid());
    for (int kind = 0; kind < 5; ++kind) {
        owner_t owner = {.pages = PAGES};
        ompi_osc_cached_stores_config_t config;
        int descriptor = -1;

        if (2 == kind) {
            descriptor = memfd_create("window", 0);
        } else if (3 == kind) {
            descriptor = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
            assert_int_equal(0, shm_unlink(name));
        }
        assert_true(-1 == descriptor || 0 == ftruncate(descriptor, (off_t) (PAGES * page)));
        owner.memory = map(PAGES,
                           (0 == kind || 4 == kind ? MAP_PRIVATE : MAP_SHARED)
                               | (-1 == descriptor ? MAP_ANONYMOUS : 0),
                           descriptor);
        owner.memory[page] = 1;
        config = config_of(&owner);
        config.inner = true;
        config.populates = 4 == kind; /* as before Linux 6.4 */
        start(&owner, &config);
        assert_true(arm(&owner, 1, 1));
        expect_trap(&owner, 1, &writer);
        assert_true(arm(&owner, 2, 3));
        assert_int_equal(0, peek(owner.memory + 4 * page));
        expect_trap(&owner, 4, &writer); /* read before, and not written */
        expect_trap(&owner, 3, &writer); /* never touched */
        finish(&owner);
        if (-1 != descriptor) {
            close(descriptor);
        }
    }
}

/* Many pages in one call; each store traps once, in whatever order. */
static void test_bulk(void **state)
{
    enum { MANY = 4096 };
    writer_t writer = {.value = 1, .count = MANY};
    owner_t owner;

    (void) state;
    open_private(&owner, MANY);
    assert_true(arm(&owner, 100, 1));
    assert_true(arm(&owner, 0, MANY));
    writer.at = owner.memory;
    begin(&writer);
    for (size_t i = 0; i < 100; ++i) {
        wait_for_traps(&owner, i + 1);
        assert_int_equal(1, owner.trapped[i]);
        assert_int_equal(0, peek(owner.memory + i * page));
        release(&owner, i, 1);
    }
    wait_for_traps(&owner, 101);
    release(&owner, 0, MANY); /* one that waits, and all behind it */
    end(&writer);
    assert_int_equal(101, traps_of(&owner));
    finish(&owner);
}

/* A window that begins and ends inside of pages: others store to these. */
static void test_edges(void **state)
{
    writer_t writer = {.value = 5};
    owner_t owner = {.pages = 8, .memory = map(8, MAP_PRIVATE | MAP_ANONYMOUS, -1)};
    ompi_osc_cached_stores_config_t config = config_of(&owner);
    size_t first, count;
    uint64_t from, to;

    (void) state;
    config.base = owner.memory + page + 100;
    config.size = 4 * page;
    start(&owner, &config);
    ompi_osc_cached_stores_pages(owner.stores, 0, 1, &first, &count);
    assert_int_equal(0, first);
    assert_int_equal(1, count);
    ompi_osc_cached_stores_pages(owner.stores, page - 101, page - 99, &first, &count);
    assert_int_equal(0, first);
    assert_int_equal(2, count);
    ompi_osc_cached_stores_pages(owner.stores, page - 100, 2 * page - 100, &first, &count);
    assert_int_equal(1, first);
    assert_int_equal(1, count);
    ompi_osc_cached_stores_bytes(owner.stores, 0, &from, &to);
    assert_int_equal(0, from);
    assert_int_equal(page - 100, to);
    ompi_osc_cached_stores_bytes(owner.stores, 4, &from, &to);
    assert_int_equal(4 * page - 100, from);
    assert_int_equal(4 * page, to);
    assert_false(arm(&owner, 0, 2));
    assert_false(arm(&owner, 3, 2));
    assert_false(arm(&owner, 9, 1));
    assert_true(arm(&owner, 1, 3));
    owner.memory[page] = owner.memory[page + 100] = owner.memory[5 * page] = 1;
    assert_int_equal(0, traps_of(&owner));
    release(&owner, 0, 9);
    owner.memory[2 * page] = 1;
    assert_true(arm(&owner, 1, 3));
    owner.memory += page; /* the one that it begins in */
    expect_trap(&owner, 3, &writer);
    owner.memory -= page;
    finish(&owner);
}

/* What a program should not do with a window, and must survive. */
static void test_unmapped(void **state)
{
    writer_t writer = {.value = 6, .count = 1};
    owner_t owner;

    (void) state;
    open_private(&owner, PAGES);
    assert_true(arm(&owner, 0, 8));
    assert_int_equal(0, munmap(owner.memory + page, page));
    release(&owner, 1, 1);
    assert_ptr_equal(owner.memory + page, mmap(owner.memory + page, page, PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
    owner.memory[page] = 1;
    assert_false(arm(&owner, 1, 1)); /* other memory */
    assert_false(arm(&owner, 0, 9));
    expect_trap(&owner, 0, &writer); /* what was protected still is, and nothing else */
    owner.memory[8 * page] = 1;
    assert_int_equal(1, traps_of(&owner));
    /* a thread that waits, meanwhile */
    writer.at = owner.memory + 3 * page;
    begin(&writer);
    wait_for_traps(&owner, 2);
    assert_ptr_equal(owner.memory + 3 * page,
                     mmap(owner.memory + 3 * page, page, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
    release(&owner, 2, 3);
    end(&writer);
    assert_int_equal(6, owner.memory[3 * page]);
    owner.memory[2 * page] = owner.memory[4 * page] = 1;
    assert_int_equal(2, traps_of(&owner));
    finish(&owner);
}

static void test_moved(void **state)
{
    owner_t owner;
    char *moved, *room = map(4, MAP_PRIVATE | MAP_ANONYMOUS, -1);

    (void) state;
    open_private(&owner, PAGES);
    owner.memory[5 * page] = 1;
    assert_true(arm(&owner, 4, 4));
    moved =
        mremap(owner.memory + 4 * page, 4 * page, 4 * page, MREMAP_MAYMOVE | MREMAP_FIXED, room);
    assert_ptr_equal(room, moved);
    moved[page] += 1; /* nobody watches it there */
    assert_int_equal(2, moved[page]);
    assert_int_equal(0, traps_of(&owner));
    release(&owner, 4, 4);
    assert_false(arm(&owner, 4, 1));
    assert_true(arm(&owner, 3, 1));
    assert_int_equal(0, munmap(moved, 4 * page));
    finish(&owner);
}

static void test_discarded(void **state)
{
    writer_t writer = {.value = 6};
    owner_t owner;

    (void) state;
    open_private(&owner, PAGES);
    owner.memory[0] = 1;
    assert_true(arm(&owner, 0, 1));
    assert_int_equal(0, madvise(owner.memory, page, MADV_DONTNEED));
    assert_int_equal(0, owner.memory[0]);
    owner.memory[0] = 2; /* not protected any more: documented */
    release(&owner, 0, 1);
    assert_true(arm(&owner, 0, 1));
    expect_trap(&owner, 0, &writer);
    finish(&owner);
}

/* A child's stores do not wait; the parent's do, and not for what the child has inherited. */
static void test_fork(void **state)
{
    writer_t writer = {.value = 6};
    owner_t owner;
    int ends[2], status;
    pid_t child;

    (void) state;
    assert_int_equal(0, pipe(ends));
    open_private(&owner, PAGES);
    memset(owner.memory, 1, page);
    assert_true(arm(&owner, 0, 2));
    child = fork();
    assert_true(0 <= child);
    if (0 == child) {
        char end_of_test;

        close(ends[1]);
        owner.memory[0] = owner.memory[page] = 3;
        (void) !read(ends[0], &end_of_test, 1); /* keeps the descriptor of its parent open */
        _exit(3 == owner.memory[0] ? 0 : 1);
    }
    assert_int_equal(1, peek(owner.memory));
    expect_trap(&owner, 0, &writer);
    assert_true(arm(&owner, 0, 1));
    writer.value = 7;
    expect_trap(&owner, 0, &writer);
    assert_true(arm(&owner, 0, 2));
    stop(&owner);
    owner.memory[0] = owner.memory[page] = 4;
    close(ends[1]);
    close(ends[0]);
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status);
    assert_int_equal(0, munmap(owner.memory, PAGES * page));
}

/* A store that waits continues when the window goes. */
static void test_close(void **state)
{
    writer_t writer = {.value = 6, .count = 1};
    owner_t owner;

    (void) state;
    open_private(&owner, PAGES);
    assert_true(arm(&owner, 0, PAGES));
    writer.at = owner.memory + 7 * page;
    begin(&writer);
    wait_for_traps(&owner, 1);
    stop(&owner);
    end(&writer);
    memset(owner.memory, 2, PAGES * page);
    assert_int_equal(0, munmap(owner.memory, PAGES * page));
}

/* Refusals */

static ompi_osc_cached_stores_reason_t refuse(const ompi_osc_cached_stores_config_t *config)
{
    ompi_osc_cached_stores_reason_t reason = OSC_CACHED_STORES_NOTICED;

    assert_null(ompi_osc_cached_stores_open(config, &reason));
    assert_true(OSC_CACHED_STORES_NOTICED != reason && reason < OSC_CACHED_STORES_REASONS);
    assert_true(10 < strlen(ompi_osc_cached_stores_text(reason)));
    return reason;
}

static void test_refused(void **state)
{
    owner_t owner = {.pages = 4, .memory = map(4, MAP_PRIVATE | MAP_ANONYMOUS, -1)};
    ompi_osc_cached_stores_config_t config = config_of(&owner);
    ompi_osc_cached_stores_reason_t reason;
    ompi_osc_cached_watch_t *first;

    (void) state;
    config.device = true;
    assert_int_equal(OSC_CACHED_STORES_DEVICE, refuse(&config));
    config = config_of(&owner);
    config.size = 0;
    assert_int_equal(OSC_CACHED_STORES_NO_PAGE, refuse(&config));
    config.base = owner.memory + 1;
    config.size = 2 * page - 2;
    assert_int_equal(OSC_CACHED_STORES_NO_PAGE, refuse(&config));
    config = config_of(&owner);
    first = ompi_osc_cached_stores_open(&config, &reason);
    assert_non_null(first);
    config.size = page;
    assert_int_equal(OSC_CACHED_STORES_BUSY, refuse(&config)); /* of another window */
    ompi_osc_cached_stores_close(first);
    ompi_osc_cached_stores_close(NULL);
    assert_int_equal(0, munmap(owner.memory + page, page));
    config.size = 2 * page;
    assert_int_equal(OSC_CACHED_STORES_NOT_MAPPED, refuse(&config));
    assert_int_equal(0, munmap(owner.memory, 4 * page));
}

static void test_refused_shared(void **state)
{
    char path[] = "test_osc_cached_stores.XXXXXX";
    int descriptor = mkstemp(path), segment = shmget(IPC_PRIVATE, 4 * page, IPC_CREAT | 0600);
    owner_t owner = {.pages = 4, .memory = map(4, MAP_SHARED | MAP_ANONYMOUS, -1)};
    ompi_osc_cached_stores_config_t config = config_of(&owner);
    ompi_osc_cached_stores_reason_t reason;
    ompi_osc_cached_watch_t *stores;

    (void) state;
    assert_int_equal(OSC_CACHED_STORES_SHARED, refuse(&config));
    assert_int_equal(0, munmap(owner.memory, 4 * page));

    assert_int_equal(0, ftruncate(descriptor, (off_t) (4 * page)));
    config.base = map(4, MAP_SHARED, descriptor);
    assert_int_equal(OSC_CACHED_STORES_FILE, refuse(&config));
    config.inner = true;
    stores = ompi_osc_cached_stores_open(&config, &reason); /* a build in a tmpfs: can be had */
    assert_true(NULL != stores || OSC_CACHED_STORES_FILE == reason);
    ompi_osc_cached_stores_close(stores);
    assert_int_equal(0, munmap(config.base, 4 * page));
    assert_int_equal(0, unlink(path));
    close(descriptor);

    config.base = shmat(segment, NULL, 0);
    assert_int_equal(0, shmctl(segment, IPC_RMID, NULL));
    assert_int_equal(OSC_CACHED_STORES_SYSV, refuse(&config));
    config.inner = false;
    assert_int_equal(OSC_CACHED_STORES_SYSV, refuse(&config));
    assert_int_equal(0, shmdt(config.base));
}

/* Without the right, no half measure that lets system calls fail. */
static void test_refused_right(void **state)
{
    owner_t owner = {.pages = 4, .memory = map(4, MAP_PRIVATE | MAP_ANONYMOUS, -1)};
    ompi_osc_cached_stores_config_t config = config_of(&owner);
    FILE *file = fopen("/proc/sys/vm/unprivileged_userfaultfd", "r");
    int everybody = (NULL != file) ? fgetc(file) : '1', status;
    pid_t child = fork();

    (void) state;
    if (NULL != file) {
        fclose(file);
    }
    assert_true(0 <= child);
    if (0 == child) {
        ompi_osc_cached_stores_reason_t reason;

        if (0 == getuid() && 0 != setresuid(65534, 65534, 65534)) {
            _exit(2);
        }
        if (0 == access("/dev/userfaultfd", R_OK | W_OK)) {
            everybody = '1';
        }
        (void) ompi_osc_cached_stores_open(&config, &reason);
        _exit(('1' == everybody ? OSC_CACHED_STORES_NOTICED : OSC_CACHED_STORES_NO_RIGHT)
              != reason);
    }
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status);
    assert_int_equal(0, munmap(owner.memory, 4 * page));
}

/* Pages and owners that trap often */

static void pass(uint64_t microseconds)
{
    atomic_fetch_add(&clock_ns, microseconds * 1000);
}

static void test_page_backs_off(void **state)
{
    writer_t writer = {.value = 1};
    uint64_t pause = 1000; /* us */
    owner_t owner;

    (void) state;
    open_private(&owner, PAGES);
    for (int i = 0; i < 3; ++i) {
        assert_true(arm(&owner, 4, 1));
        expect_trap(&owner, 4, &writer);
    }
    for (int i = 0; i < 20; ++i) { /* 1 ms, 2 ms, ... 8 s, and no more than that */
        assert_true(arm(&owner, 4, 1));
        expect_trap(&owner, 4, &writer);
        pass(pause - 1);
        assert_false(arm(&owner, 4, 1));
        assert_false(arm(&owner, 3, 2));
        assert_true(arm(&owner, 5, 1)); /* the others are not concerned */
        pass(1);
        pause = (pause < 8192000) ? 2 * pause : pause;
    }
    assert_true(arm(&owner, 4, 1));
    pass(64 * (1000 + pause)); /* that was worth it */
    expect_trap(&owner, 4, &writer);
    assert_true(arm(&owner, 4, 1));
    release(&owner, 4, 1); /* for the helper: no trap */
    assert_true(arm(&owner, 4, 1));
    expect_trap(&owner, 4, &writer);
    assert_true(arm(&owner, 4, 1));
    finish(&owner);
}

static void test_owner_backs_off(void **state)
{
    writer_t writer = {.value = 1, .count = 1};
    owner_t owner;

    (void) state;
    open_private(&owner, PAGES);
    assert_true(arm(&owner, 0, PAGES));
    assert_true(ompi_osc_cached_stores_pays(owner.stores));
    for (size_t i = 0; i < 3; ++i) { /* each waits for 400 us */
        assert_true(ompi_osc_cached_stores_pays(owner.stores));
        writer.at = owner.memory + i * page;
        begin(&writer);
        wait_for_traps(&owner, i + 1);
        pass(400);
        release(&owner, i, 1);
        end(&writer);
    }
    assert_false(ompi_osc_cached_stores_pays(owner.stores));
    assert_false(arm(&owner, 0, 1));
    release(&owner, 0, PAGES); /* what the caller does then */
    memset(owner.memory, 2, PAGES * page);
    pass(50 * 400); /* 2 % of it are paid */
    assert_false(ompi_osc_cached_stores_pays(owner.stores));
    pass(50 * 400);
    assert_true(ompi_osc_cached_stores_pays(owner.stores));
    assert_true(arm(&owner, 0, 1));
    finish(&owner);
}

/* Random stores, beside pages that are shared, checked and released at random */

typedef struct {
    ompi_osc_cached_watch_t *stores;
    char *memory;
    _Atomic uint64_t shared[PAGES]; /* odd: others have copies; counts changes */
    _Atomic uint64_t copies[PAGES]; /* what these have */
    _Atomic int writers;
    _Atomic bool done;
    size_t waits[PAGES], waiting; /* of the helper: pages whose copies are not back yet */
    size_t copied;                /* pages that others have copies of */
    _Atomic uint64_t traps;
} play_t;

static _Atomic uint64_t *word(play_t *play, size_t number)
{
    return (_Atomic uint64_t *) (play->memory + number * page);
}

static void play_trap(void *context, size_t number)
{
    play_t *play = context;

    assert_true(0 != atomic_load(&play->shared[number]) % 2);
    play->waits[play->waiting++] = number;
    atomic_fetch_add(&play->traps, 1);
}

static void *play_write(void *argument)
{
    play_t *play = argument;
    uint64_t seed = 1 + (uint64_t) atomic_fetch_sub(&play->writers, 1);
    uint64_t random = seed;

    for (uint64_t i = 1; i <= RANDOM_STORES / WRITERS || atomic_load(&play->traps) < RANDOM_TRAPS;
         ++i) {
        atomic_store_explicit(word(play, random_below(&random, PAGES)), i * WRITERS + seed,
                              memory_order_relaxed);
    }
    return NULL;
}

/* No store is seen in a page that others have copies of. */
static void *play_check(void *argument)
{
    play_t *play = argument;
    uint64_t *checks = calloc(1, sizeof(*checks));

    while (!atomic_load(&play->done)) {
        for (size_t i = 0; i < PAGES; ++i) {
            uint64_t before = atomic_load(&play->shared[i]), value, copy;

            if (0 == before % 2) {
                continue;
            }
            value = atomic_load(word(play, i));
            copy = atomic_load(&play->copies[i]);
            if (before == atomic_load(&play->shared[i])) {
                require(copy == value, "no store is seen in a shared page");
                ++*checks;
            }
        }
    }
    return checks;
}

/* The helper: shares a page, or takes one back, whoever waits for it. */
static void play_step(play_t *play, uint64_t *random)
{
    struct pollfd polled = {.fd = ompi_osc_cached_stores_descriptor(play->stores),
                            .events = POLLIN};
    size_t i = random_below(random, PAGES);

    /* it sleeps while there is nothing to do, as others do here */
    if (0 < poll(&polled, 1, 0 < play->waiting || play->copied < SHARED ? 0 : 1)) {
        ompi_osc_cached_stores_handle(play->stores);
    }
    if (0 < play->waiting && 0 == random_below(random, 3)) {
        i = play->waits[--play->waiting];
        atomic_fetch_add(&play->shared[i], 1); /* all copies are gone */
        ompi_osc_cached_stores_release(play->stores, i, 1);
        --play->copied;
    } else if (play->copied < SHARED && 0 == atomic_load(&play->shared[i]) % 2) {
        if (ompi_osc_cached_stores_arm(play->stores, i, 1)) {
            atomic_store(&play->copies[i], atomic_load(word(play, i)));
            atomic_fetch_add(&play->shared[i], 1);
            ++play->copied;
        }
    }
    if (0 == play->waiting) {
        pass(100000); /* so that nothing is shared too often */
    }
}

static void test_random(void **state)
{
    static play_t play;
    pthread_t writers[WRITERS], checker;
    ompi_osc_cached_stores_reason_t reason;
    uint64_t random = seed_get(16), *checks;
    void *result;

    (void) state;
    printf("seed: %llu\n", (unsigned long long) random);
    play.memory = map(PAGES, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    play.stores =
        ompi_osc_cached_stores_open(&(ompi_osc_cached_stores_config_t){.base = play.memory,
                                                                       .size = PAGES * page,
                                                                       .trapped = play_trap,
                                                                       .context = &play,
                                                                       .now = now},
                                    &reason);
    assert_non_null(play.stores);
    atomic_store(&play.writers, WRITERS);
    assert_int_equal(0, pthread_create(&checker, NULL, play_check, &play));
    for (int i = 0; i < WRITERS; ++i) {
        assert_int_equal(0, pthread_create(&writers[i], NULL, play_write, &play));
    }
    for (int i = 0; i < WRITERS;) {
        play_step(&play, &random);
        i += 0 == pthread_tryjoin_np(writers[i], NULL);
    }
    atomic_store(&play.done, true);
    assert_int_equal(0, pthread_join(checker, &result));
    checks = result;
    printf("%llu stores waited, %llu checks\n", (unsigned long long) atomic_load(&play.traps),
           (unsigned long long) *checks);
    assert_true(0 < *checks);
    free(checks);
    ompi_osc_cached_stores_close(play.stores);
    assert_int_equal(0, munmap(play.memory, PAGES * page));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_waits),    cmocka_unit_test(test_system_call),
        cmocka_unit_test(test_threads),        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_bulk),           cmocka_unit_test(test_edges),
        cmocka_unit_test(test_unmapped),       cmocka_unit_test(test_moved),
        cmocka_unit_test(test_discarded),      cmocka_unit_test(test_fork),
        cmocka_unit_test(test_close),          cmocka_unit_test(test_refused),
        cmocka_unit_test(test_refused_shared), cmocka_unit_test(test_refused_right),
        cmocka_unit_test(test_page_backs_off), cmocka_unit_test(test_owner_backs_off),
        cmocka_unit_test(test_random),
    };
    owner_t owner = {.pages = 1};
    ompi_osc_cached_stores_config_t config;
    ompi_osc_cached_stores_reason_t reason;
    ompi_osc_cached_watch_t *stores;

    page = (size_t) sysconf(_SC_PAGESIZE);
    owner.memory = map(1, MAP_SHARED | MAP_ANONYMOUS, -1);
    config = config_of(&owner);
    config.inner = true;
    stores = ompi_osc_cached_stores_open(&config, &reason);
    if (NULL == stores) {
        printf("%s\n", ompi_osc_cached_stores_text(reason));
        return 77;
    }
    ompi_osc_cached_stores_close(stores);
    (void) alarm(300); /* what never comes is a failure, too */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
