/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * I1  all pages of a block that has sharers are protected
 * I2  each page that is waited for is in a hold of the list
 *
 * The directory is not called from within itself: HELD only marks a hold, whose end is
 * ompi_osc_cached_detect_settle.
 *
 * Needs nothing of Open MPI: test/unit/test_osc_cached_detect.c.
 */

#include "osc_cached_detect.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { LOOK_MS = 100 }; /* between two looks for stores that wait for long */

/* Blocks that are held so that stores to some pages may continue. */
typedef struct hold {
    struct hold *next;
    size_t first, count; /* pages */
    uint32_t name;       /* 0: the directory has not told it yet */
    bool held;
    bool told;      /* that it takes long */
    uint64_t since; /* ns */
} hold_t;

struct ompi_osc_cached_detect {
    ompi_osc_cached_detect_config_t config;
    ompi_osc_cached_watch_t *watch; /* NULL: nobody has asked for a copy yet */
    bool failed;                    /* it could not be had then: nothing is shared */
    size_t pages;
    hold_t *holds;
    hold_t all;       /* of all blocks, for which there is always memory */
    bool withdrawing; /* it is in the list */
    bool waits;       /* some store may wait; the thread's */
    uint64_t traps;
    pthread_t thread;
    int wake; /* the thread ends when there is something to read */
};

/* The directory may say at once that it is there. */
static void take(ompi_osc_cached_detect_t *detect, hold_t *hold, uint64_t first, uint64_t count)
{
    hold->since = detect->config.now();
    hold->name = 0;
    hold->held = false;
    hold->next = detect->holds;
    detect->holds = hold;
    hold->name =
        osc_cached_directory_hold(detect->config.directory, first, count, detect->config.post);
}

/* Take back all copies, and leave the pages alone.  Told: it is another hold that a store waits
 * for.
 */
static void withdraw(ompi_osc_cached_detect_t *detect, bool told)
{
    if (detect->withdrawing) {
        detect->all.told = detect->all.told && told;
        return;
    }
    detect->withdrawing = true;
    detect->all.first = 0;
    detect->all.count = detect->pages;
    detect->all.told = told;
    take(detect, &detect->all, 0, OSC_CACHED_ALL_BLOCKS);
}

bool ompi_osc_cached_detect_held(ompi_osc_cached_detect_t *detect, uint32_t name)
{
    for (hold_t *hold = detect->holds; NULL != hold; hold = hold->next) {
        if (0 == name || name == hold->name || 0 == hold->name) {
            hold->held = true;
            if (0 != name) {
                return true;
            }
        }
    }
    return false;
}

void ompi_osc_cached_detect_settle(ompi_osc_cached_detect_t *detect)
{
    hold_t **link = &detect->holds, *hold;

    while (NULL != (hold = *link)) {
        if (!hold->held) {
            link = &hold->next;
            continue;
        }
        *link = hold->next;
        ompi_osc_cached_stores_release(detect->watch, hold->first, hold->count);
        osc_cached_directory_free(detect->config.directory, hold->name);
        if (&detect->all == hold) {
            detect->withdrawing = false;
        } else {
            free(hold);
        }
    }
}

/* The first store to a page. */
static void trapped(void *context, size_t page)
{
    ompi_osc_cached_detect_t *detect = context;
    const ompi_osc_cached_detect_config_t *config = &detect->config;
    hold_t *hold = malloc(sizeof(*hold));
    uint64_t from, to, first;

    ompi_osc_cached_stores_bytes(detect->watch, page, &from, &to);
    first = from >> config->block_shift;
    if (NULL != config->tell_trap) {
        config->tell_trap(config->context, from, to);
    }
    config->enter(config->context);
    ++detect->traps;
    if (NULL != hold) {
        hold->first = page;
        hold->count = 1;
        hold->told = false;
        take(detect, hold, first, ((to - 1) >> config->block_shift) + 1 - first);
    }
    if (NULL == hold || !ompi_osc_cached_stores_pays(detect->watch)) {
        withdraw(detect, NULL != hold);
    }
    ompi_osc_cached_detect_settle(detect);
    detect->waits = NULL != detect->holds;
    config->leave(config->context);
}

/* Tell of a store that has waited for long. */
static void look_for_slow(ompi_osc_cached_detect_t *detect)
{
    const ompi_osc_cached_detect_config_t *config = &detect->config;
    uint64_t from = 0, to = 0;

    config->enter(config->context);
    for (hold_t *hold = detect->holds; NULL != hold && 0 == to; hold = hold->next) {
        if (!hold->told && config->slow < config->now() - hold->since) {
            hold->told = true;
            ompi_osc_cached_stores_bytes(detect->watch, hold->first, &from, &to);
            if (&detect->all == hold) {
                to = config->size; /* somewhere */
            }
        }
    }
    detect->waits = NULL != detect->holds;
    config->leave(config->context);
    if (0 < to) {
        config->tell_slow(config->context, from, to);
    }
}

static void *wait_for_stores(void *argument)
{
    ompi_osc_cached_detect_t *detect = argument;
    struct pollfd polled[2] = {
        {.fd = ompi_osc_cached_stores_descriptor(detect->watch), .events = POLLIN},
        {.fd = detect->wake, .events = POLLIN},
    };

    for (;;) {
        int ready = poll(polled, 2, (detect->waits && 0 < detect->config.slow) ? LOOK_MS : -1);

        if (0 < ready) {
            if (0 != (POLLIN & polled[0].revents)) {
                ompi_osc_cached_stores_handle(detect->watch);
            }
            if (0 != polled[1].revents) {
                return NULL;
            }
        }
        if (detect->waits && 0 < detect->config.slow) { /* also while other stores trap */
            look_for_slow(detect);
        }
    }
}

static ompi_osc_cached_stores_config_t watched(ompi_osc_cached_detect_t *detect)
{
    const ompi_osc_cached_detect_config_t *config = &detect->config;

    return (ompi_osc_cached_stores_config_t){.base = config->base,
                                             .size = config->size,
                                             .inner = config->inner,
                                             .device = config->device,
                                             .trapped = trapped,
                                             .context = detect,
                                             .now = config->now};
}

/* What it needs of the system. */
static bool start(ompi_osc_cached_detect_t *detect)
{
    sigset_t all, before;
    int error;

    detect->wake = eventfd(0, EFD_CLOEXEC);
    if (-1 == detect->wake) {
        return false;
    }
    /* a handler of the program may store to the window */
    (void) sigfillset(&all);
    (void) pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&detect->thread, NULL, wait_for_stores, detect);
    (void) pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (0 != error) {
        (void) close(detect->wake);
        return false;
    }
    return true;
}

void ompi_osc_cached_detect_open_pages(ompi_osc_cached_detect_t *detect, uint64_t first,
                                       uint64_t count)
{
    uint64_t size = detect->config.size, from = first << detect->config.block_shift, to = size;
    uint64_t page_from, page_to;
    size_t page, pages;

    if (NULL == detect->watch || size <= from) {
        return;
    }
    if (count <= (size - from) >> detect->config.block_shift) {
        to = (first + count) << detect->config.block_shift;
    }
    ompi_osc_cached_stores_pages(detect->watch, from, to, &page, &pages);
    ompi_osc_cached_stores_bytes(detect->watch, page, &page_from, &page_to);
    if (page_from < from) {
        ++page;
        --pages;
    }
    if (0 < pages) {
        ompi_osc_cached_stores_bytes(detect->watch, page + pages - 1, &page_from, &page_to);
        pages -= to < page_to;
        ompi_osc_cached_stores_release(detect->watch, page, pages);
    }
}

/* The first copy is asked for. */
static bool begin(ompi_osc_cached_detect_t *detect)
{
    ompi_osc_cached_stores_config_t stores = watched(detect);
    ompi_osc_cached_stores_reason_t reason;
    size_t first;

    if (!detect->failed) {
        detect->watch = ompi_osc_cached_stores_open(&stores, &reason);
    }
    if (NULL != detect->watch && !start(detect)) {
        ompi_osc_cached_stores_close(detect->watch);
        detect->watch = NULL;
    }
    detect->failed = NULL == detect->watch;
    if (!detect->failed) {
        ompi_osc_cached_stores_pages(detect->watch, 0, detect->config.size, &first, &detect->pages);
    }
    return !detect->failed;
}

unsigned ompi_osc_cached_detect_fill(ompi_osc_cached_detect_t *detect, uint64_t block)
{
    uint64_t from = block << detect->config.block_shift;
    uint64_t to = (block + 1) << detect->config.block_shift, size = detect->config.size;
    size_t first, count;

    if (from >= size || !osc_cached_directory_must_protect(detect->config.directory, block)
        || (NULL == detect->watch && !begin(detect))) {
        return 0;
    }
    ompi_osc_cached_stores_pages(detect->watch, from, (to < size) ? to : size, &first, &count);
    return ompi_osc_cached_stores_arm(detect->watch, first, count) ? OSC_CACHED_FILL_PROTECTED : 0;
}

uint64_t ompi_osc_cached_detect_traps(const ompi_osc_cached_detect_t *detect)
{
    return detect->traps;
}

/* Life */

ompi_osc_cached_detect_t *ompi_osc_cached_detect_open(const ompi_osc_cached_detect_config_t *config,
                                                      ompi_osc_cached_stores_reason_t *reason)
{
    ompi_osc_cached_detect_t *detect = calloc(1, sizeof(*detect));
    ompi_osc_cached_stores_config_t stores;
    ompi_osc_cached_watch_t *trial;

    if (NULL == detect) {
        *reason = OSC_CACHED_STORES_NO_MEMORY;
        return NULL;
    }
    detect->config = *config;
    stores = watched(detect);
    trial = ompi_osc_cached_stores_open(&stores, reason);
    if (NULL == trial) {
        free(detect);
        return NULL;
    }
    ompi_osc_cached_stores_close(trial);
    return detect;
}

void ompi_osc_cached_detect_close(ompi_osc_cached_detect_t *detect)
{
    static const uint64_t one = 1;

    if (NULL == detect) {
        return;
    }
    if (NULL != detect->watch) {
        while (sizeof(one) != write(detect->wake, &one, sizeof(one))) {
        }
        (void) pthread_join(detect->thread, NULL);
        ompi_osc_cached_stores_close(detect->watch); /* who waits still continues */
        (void) close(detect->wake);
    }
    while (NULL != detect->holds) {
        hold_t *hold = detect->holds;

        detect->holds = hold->next;
        if (&detect->all != hold) {
            free(hold);
        }
    }
    free(detect);
}
