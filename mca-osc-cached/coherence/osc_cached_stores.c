/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Write protection by userfaultfd.  It must see system calls, too, which needs CAP_SYS_PTRACE, or
 * the right to open /dev/userfaultfd, or vm.unprivileged_userfaultfd: a userfaultfd for user mode
 * alone lets read(2) into a protected page fail, and so breaks correct programs.
 *
 * No events but faults are asked for.  Those of fork, munmap and madvise let these calls wait
 * until somebody reads the descriptor: fork() holds the lock of malloc meanwhile, and who reads
 * may need it; and a window that was never freed is unmapped when nobody reads any more.
 *
 * Before Linux 6.4, private pages that nobody has touched are not protected: they are populated,
 * with the kernel's page of zeros.
 *
 * A page that is stored to soon after it was armed is not worth it: its first FREE traps cost
 * nothing, then it is left alone for 1 ms, 2 ms, ... 8 s; when it was shared for 64 times that,
 * the count starts again.  And the owner as a whole: what its stores wait for is a debt, of which 2
 * % of the time that passes are paid.
 *
 * I1  a page that is OPEN is not protected, or just about to be
 * I2  waiting is the number of pages that are WAITING
 * I3  closed is the number of pages that are not OPEN
 *
 * The lock is held for all that changes a page, and never while trapped() is called.
 *
 * Needs nothing of Open MPI: test/unit/test_osc_cached_stores.c.
 */

#include "osc_cached_stores.h"
#include "osc_cached_mapping.h"
#include "osc_cached_uffd.h"

static const char *const texts[OSC_CACHED_STORES_REASONS] = {
    [OSC_CACHED_STORES_NOTICED] = "stores are noticed",
    [OSC_CACHED_STORES_NO_KERNEL] = "the kernel cannot protect this memory (userfaultfd, Linux "
                                    "5.7; shared memory: 5.19)",
    [OSC_CACHED_STORES_NO_RIGHT] = "the process may not use userfaultfd for system calls "
                                   "(CAP_SYS_PTRACE, /dev/userfaultfd or "
                                   "vm.unprivileged_userfaultfd)",
    [OSC_CACHED_STORES_NO_FILES] =
        "too many of the process's file descriptors are in use (ulimit -n)",
    [OSC_CACHED_STORES_NO_PAGE] = "no page of memory belongs to the window alone",
    [OSC_CACHED_STORES_NO_MEMORY] = "there is no memory for the state of the pages",
    [OSC_CACHED_STORES_NOT_MAPPED] = "the window's memory is not in /proc/self/maps",
    [OSC_CACHED_STORES_DEVICE] = "a device may write to the window's memory",
    [OSC_CACHED_STORES_SHARED] = "other processes may store to the window's memory",
    [OSC_CACHED_STORES_SYSV] = "the kernel cannot protect System V segments (UCX_TLS=^sysv "
                               "takes others)",
    [OSC_CACHED_STORES_FILE] = "the window's memory is a mapped file, or a part of it is",
    [OSC_CACHED_STORES_HUGE] = "the window's memory has huge pages",
    [OSC_CACHED_STORES_BUSY] = "another window, or another library, watches this memory",
    [OSC_CACHED_STORES_SMALL] = "blocks are smaller than pages (ompi_osc_cached_block)",
    [OSC_CACHED_STORES_OURS] = "the window's memory is where malloc takes memory from",
    [OSC_CACHED_STORES_DEATHS] =
        "a store could wait for ever for a process that has died, in a job with\n"
        "fault tolerance",
};

const char *ompi_osc_cached_stores_text(ompi_osc_cached_stores_reason_t reason)
{
    return texts[reason];
}

#if OSC_CACHED_UFFD

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14 */
#endif

enum { OPEN, PROTECTED, WAITING };

enum {
    FREE = 3, /* traps */
    TRAPS_MAX = FREE + 14,
    MICROSECOND = 1000,            /* ns */
    MILLISECOND = 1000,            /* us */
    SHARE = 50,                    /* of the time that stores may take: 1/50 */
    DEBT_MAX = 1000 * MICROSECOND, /* ns of waiting that are always allowed */
};

typedef struct {
    uint64_t when : 48; /* us: PROTECTED since; OPEN: may be armed from then on */
    uint64_t traps : 8; /* soon after it was armed */
    uint64_t state : 8;
} page_t;

struct ompi_osc_cached_watch {
    ompi_osc_cached_stores_config_t config;
    pthread_mutex_t lock;
    int descriptor;
    bool watched;       /* by it, and by nobody else */
    size_t page;        /* bytes */
    char *base;         /* of page 0 */
    size_t first, last; /* that are the window's alone; last is the one behind */
    bool populates;
    size_t waiting, closed;
    uint64_t since; /* somebody waits, ns */
    uint64_t debt;  /* ns */
    uint64_t paid;  /* when the debt was reckoned, ns */
    bool tired;
    page_t pages[];
};

static char *address(const ompi_osc_cached_watch_t *stores, size_t page)
{
    return stores->base + page * stores->page;
}

/* us that a page is left alone */
static uint64_t pause_after(unsigned traps)
{
    return (traps <= FREE) ? 0 : (uint64_t) MILLISECOND << (traps - FREE - 1);
}

/* What the owner has waited for lately. */
static void reckon(ompi_osc_cached_watch_t *stores, uint64_t now, uint64_t more)
{
    uint64_t less = (now - stores->paid) / SHARE;

    stores->debt = ((stores->debt > less) ? stores->debt - less : 0) + more;
    stores->paid = now;
    stores->tired = stores->debt > (stores->tired ? DEBT_MAX / 2 : DEBT_MAX);
}

/* Opening */

bool ompi_osc_cached_stores_can_be_noticed(void)
{
    enum { UNKNOWN, CAN, CANNOT };
    static _Atomic int known = UNKNOWN;
    int descriptor;

    if (UNKNOWN == atomic_load(&known)) {
        bool can = 0 == ompi_osc_cached_uffd_open(0, &descriptor)
                   && 0 == ompi_osc_cached_uffd_api(descriptor, OSC_CACHED_UFFD_WP);

        if (-1 != descriptor) {
            (void) close(descriptor);
        }
        atomic_store(&known, can ? CAN : CANNOT);
    }
    return CAN == atomic_load(&known);
}

/* Kernels refuse what they do not know. */
static int choose_features(ompi_osc_cached_watch_t *stores, bool shared)
{
    uint64_t features = OSC_CACHED_UFFD_WP | (shared ? OSC_CACHED_UFFD_WP_SHMEM : 0);

    if (!stores->config.populates
        && 0
               == ompi_osc_cached_uffd_api(stores->descriptor,
                                           features | OSC_CACHED_UFFD_WP_UNPOPULATED)) {
        return 0;
    }
    stores->populates = true;
    return ompi_osc_cached_uffd_api(stores->descriptor, features);
}

static ompi_osc_cached_stores_reason_t refusal(ompi_osc_cached_mapping_t mapping,
                                               ompi_osc_cached_stores_reason_t otherwise)
{
    switch (mapping) {
    case OSC_CACHED_MAPPING_SYSV:
        return OSC_CACHED_STORES_SYSV;
    case OSC_CACHED_MAPPING_FILE:
    case OSC_CACHED_MAPPING_MIXED:
        return OSC_CACHED_STORES_FILE;
    case OSC_CACHED_MAPPING_HUGE:
        return OSC_CACHED_STORES_HUGE;
    default:
        return otherwise;
    }
}

/* Whether the kernel protects this memory, page by page. */
static int watch(ompi_osc_cached_watch_t *stores)
{
    char *from = address(stores, stores->first);
    int error = ompi_osc_cached_uffd_watch(stores->descriptor, from,
                                           (stores->last - stores->first) * stores->page);

    stores->watched = 0 == error;
    if (stores->watched) { /* which huge pages refuse */
        error = ompi_osc_cached_uffd_protect(stores->descriptor, from, stores->page, false);
    }
    return error;
}

static ompi_osc_cached_stores_reason_t start(ompi_osc_cached_watch_t *stores)
{
    const ompi_osc_cached_stores_config_t *config = &stores->config;
    ompi_osc_cached_mapping_t mapping;
    int error;

    mapping = ompi_osc_cached_mapping(address(stores, stores->first),
                                      (stores->last - stores->first) * stores->page);
    if (OSC_CACHED_MAPPING_NONE == mapping) {
        return OSC_CACHED_STORES_NOT_MAPPED;
    }
    if (OSC_CACHED_MAPPING_PRIVATE != mapping && !config->inner) {
        return refusal(mapping, OSC_CACHED_STORES_SHARED);
    }
    error = ompi_osc_cached_uffd_open(0, &stores->descriptor);
    if (0 != error) {
        return (EPERM == error)    ? OSC_CACHED_STORES_NO_RIGHT
               : (EMFILE == error) ? OSC_CACHED_STORES_NO_FILES
                                   : OSC_CACHED_STORES_NO_KERNEL;
    }
    error = choose_features(stores, OSC_CACHED_MAPPING_PRIVATE != mapping);
    if (0 != error) {
        return OSC_CACHED_STORES_NO_KERNEL;
    }
    stores->populates = stores->populates && OSC_CACHED_MAPPING_PRIVATE == mapping;
    error = watch(stores);
    if (0 == error) {
        return OSC_CACHED_STORES_NOTICED;
    }
    return refusal(mapping,
                   (EBUSY == error) ? OSC_CACHED_STORES_BUSY : OSC_CACHED_STORES_NO_KERNEL);
}

ompi_osc_cached_watch_t *ompi_osc_cached_stores_open(const ompi_osc_cached_stores_config_t *config,
                                                     ompi_osc_cached_stores_reason_t *reason)
{
    size_t page = (size_t) sysconf(_SC_PAGESIZE);
    uintptr_t from = (uintptr_t) config->base, skew = from % page;
    size_t last = (skew + config->size) / page, first = (0 != skew);
    ompi_osc_cached_watch_t *stores;

    if (config->device || last <= first) {
        *reason = config->device ? OSC_CACHED_STORES_DEVICE : OSC_CACHED_STORES_NO_PAGE;
        return NULL;
    }
    stores = calloc(1, sizeof(*stores) + last * sizeof(page_t));
    if (NULL == stores) {
        *reason = OSC_CACHED_STORES_NO_MEMORY;
        return NULL;
    }
    stores->config = *config;
    stores->descriptor = -1;
    stores->page = page;
    stores->base = (char *) config->base - skew;
    stores->first = first;
    stores->last = last;
    stores->paid = config->now();
    (void) pthread_mutex_init(&stores->lock, NULL);
    *reason = start(stores);
    if (OSC_CACHED_STORES_NOTICED != *reason) {
        ompi_osc_cached_stores_close(stores);
        return NULL;
    }
    return stores;
}

int ompi_osc_cached_stores_descriptor(const ompi_osc_cached_watch_t *stores)
{
    return stores->descriptor;
}

void ompi_osc_cached_stores_pages(const ompi_osc_cached_watch_t *stores, uint64_t from, uint64_t to,
                                  size_t *first, size_t *count)
{
    uint64_t skew = (uint64_t) ((char *) stores->config.base - stores->base);

    *first = (size_t) ((skew + from) / stores->page);
    *count = (size_t) ((skew + to + stores->page - 1) / stores->page) - *first;
}

void ompi_osc_cached_stores_bytes(const ompi_osc_cached_watch_t *stores, size_t page,
                                  uint64_t *from, uint64_t *to)
{
    uint64_t skew = (uint64_t) ((char *) stores->config.base - stores->base);
    uint64_t begin = (uint64_t) page * stores->page, end = begin + stores->page;

    *from = (begin < skew) ? 0 : begin - skew;
    *to = (end - skew < stores->config.size) ? end - skew : stores->config.size;
}

/* Protection */

/* Where a part is not there any more, whoever waits for it must go on, too. */
static void unprotect(ompi_osc_cached_watch_t *stores, size_t first, size_t count)
{
    if (0
        == ompi_osc_cached_uffd_protect(stores->descriptor, address(stores, first),
                                        count * stores->page, false)) {
        return;
    }
    for (size_t i = first; i < first + count; ++i) {
        if (0
            != ompi_osc_cached_uffd_protect(stores->descriptor, address(stores, i), stores->page,
                                            false)) {
            ompi_osc_cached_uffd_wake(stores->descriptor, address(stores, i), stores->page);
        }
    }
}

static bool may_be_armed(const ompi_osc_cached_watch_t *stores, size_t first, size_t count,
                         uint64_t now)
{
    if (stores->tired || first < stores->first || stores->last < first + count) {
        return false;
    }
    for (const page_t *page = stores->pages + first; page < stores->pages + first + count; ++page) {
        if (WAITING == page->state || (OPEN == page->state && now / MICROSECOND < page->when)) {
            return false;
        }
    }
    return true;
}

/* @return whether the kernel has done it */
static bool protect(ompi_osc_cached_watch_t *stores, size_t first, size_t count)
{
    char *from = address(stores, first);
    size_t bytes = count * stores->page;

    return (!stores->populates || 0 == madvise(from, bytes, MADV_POPULATE_READ))
           && 0 == ompi_osc_cached_uffd_protect(stores->descriptor, from, bytes, true);
}

bool ompi_osc_cached_stores_arm(ompi_osc_cached_watch_t *stores, size_t first, size_t count)
{
    size_t missing = 0;
    uint64_t now;
    bool armed;

    (void) pthread_mutex_lock(&stores->lock);
    now = stores->config.now();
    reckon(stores, now, 0);
    armed = may_be_armed(stores, first, count, now);
    for (size_t i = first; armed && i < first + count; ++i) {
        missing += PROTECTED != stores->pages[i].state;
    }
    if (armed && 0 < missing) {
        armed = protect(stores, first, count);
        for (size_t i = first; i < first + count; ++i) {
            page_t *page = &stores->pages[i];

            if (PROTECTED == page->state) {
                continue;
            }
            if (armed) {
                page->state = PROTECTED;
                page->when = now / MICROSECOND;
                ++stores->closed;
            } else {
                unprotect(stores, i, 1);
            }
        }
    }
    (void) pthread_mutex_unlock(&stores->lock);
    return armed;
}

/* Nobody waits for this page any more. */
static void end_waiting(ompi_osc_cached_watch_t *stores, page_t *page, uint64_t now)
{
    page->when = now / MICROSECOND + pause_after(page->traps);
    if (0 == --stores->waiting) {
        reckon(stores, now, now - stores->since);
    }
}

void ompi_osc_cached_stores_release(ompi_osc_cached_watch_t *stores, size_t first, size_t count)
{
    size_t last = first + count, closed = 0;
    uint64_t now;

    first = (first < stores->first) ? stores->first : first;
    last = (stores->last < last) ? stores->last : last;
    (void) pthread_mutex_lock(&stores->lock);
    now = stores->config.now();
    for (size_t i = first; 0 < stores->closed && i < last; ++i) {
        closed += OPEN != stores->pages[i].state;
    }
    stores->closed -= closed;
    if (0 < closed) {
        unprotect(stores, first, last - first);
        for (size_t i = first; i < last; ++i) {
            page_t *page = &stores->pages[i];

            if (WAITING == page->state) {
                end_waiting(stores, page, now);
            } else if (PROTECTED == page->state) {
                page->when = 0;
            }
            page->state = OPEN;
        }
    }
    (void) pthread_mutex_unlock(&stores->lock);
}

bool ompi_osc_cached_stores_pays(ompi_osc_cached_watch_t *stores)
{
    bool pays;

    (void) pthread_mutex_lock(&stores->lock);
    reckon(stores, stores->config.now(), 0);
    pays = !stores->tired;
    (void) pthread_mutex_unlock(&stores->lock);
    return pays;
}

/* Traps */

/* @return whether this is the first store that waits for the page */
static bool begin_waiting(ompi_osc_cached_watch_t *stores, size_t number)
{
    uint64_t now = stores->config.now(), shared;
    page_t *page = &stores->pages[number];
    unsigned traps;

    if (OPEN == page->state) { /* told before the page was released */
        unprotect(stores, number, 1);
    }
    if (PROTECTED != page->state) {
        return false;
    }
    page->state = WAITING;
    shared = now / MICROSECOND - page->when;
    traps = (page->traps < TRAPS_MAX) ? (unsigned) page->traps + 1 : TRAPS_MAX;
    page->traps = (shared < 64 * (MILLISECOND + pause_after(traps))) ? traps : 1;
    if (0 == stores->waiting++) {
        stores->since = now;
    }
    return true;
}

void ompi_osc_cached_stores_handle(ompi_osc_cached_watch_t *stores)
{
    struct uffd_msg messages[16];
    ssize_t bytes = read(stores->descriptor, messages, sizeof(messages));

    for (ssize_t i = 0; (i + 1) * (ssize_t) sizeof(messages[0]) <= bytes; ++i) {
        uintptr_t at = (uintptr_t) messages[i].arg.pagefault.address;
        size_t page = (at - (uintptr_t) stores->base) / stores->page;
        bool first;

        if (UFFD_EVENT_PAGEFAULT != messages[i].event) {
            continue;
        }
        (void) pthread_mutex_lock(&stores->lock);
        first = begin_waiting(stores, page);
        (void) pthread_mutex_unlock(&stores->lock);
        if (first) {
            stores->config.trapped(stores->config.context, page);
        }
    }
}

/* A child that has the descriptor, too, would keep what close() alone would end. */
void ompi_osc_cached_stores_close(ompi_osc_cached_watch_t *stores)
{
    if (NULL == stores) {
        return;
    }
    if (-1 != stores->descriptor) {
        size_t count = stores->last - stores->first;

        if (stores->watched) { /* old kernels would end that of somebody else */
            ompi_osc_cached_stores_release(stores, stores->first, count);
            (void) ompi_osc_cached_uffd_unwatch(stores->descriptor, address(stores, stores->first),
                                                count * stores->page);
        }
        (void) close(stores->descriptor);
    }
    (void) pthread_mutex_destroy(&stores->lock);
    free(stores);
}

#else /* another system */

bool ompi_osc_cached_stores_can_be_noticed(void)
{
    return false;
}

ompi_osc_cached_watch_t *ompi_osc_cached_stores_open(const ompi_osc_cached_stores_config_t *config,
                                                     ompi_osc_cached_stores_reason_t *reason)
{
    (void) config;
    *reason = OSC_CACHED_STORES_NO_KERNEL;
    return NULL;
}

void ompi_osc_cached_stores_close(ompi_osc_cached_watch_t *stores)
{
    (void) stores;
}

int ompi_osc_cached_stores_descriptor(const ompi_osc_cached_watch_t *stores)
{
    (void) stores;
    return -1;
}

void ompi_osc_cached_stores_handle(ompi_osc_cached_watch_t *stores)
{
    (void) stores;
}

void ompi_osc_cached_stores_pages(const ompi_osc_cached_watch_t *stores, uint64_t from, uint64_t to,
                                  size_t *first, size_t *count)
{
    (void) stores;
    (void) from;
    (void) to;
    *first = *count = 0;
}

void ompi_osc_cached_stores_bytes(const ompi_osc_cached_watch_t *stores, size_t page,
                                  uint64_t *from, uint64_t *to)
{
    (void) stores;
    (void) page;
    *from = *to = 0;
}

bool ompi_osc_cached_stores_arm(ompi_osc_cached_watch_t *stores, size_t first, size_t count)
{
    (void) stores;
    (void) first;
    (void) count;
    return false;
}

void ompi_osc_cached_stores_release(ompi_osc_cached_watch_t *stores, size_t first, size_t count)
{
    (void) stores;
    (void) first;
    (void) count;
}

bool ompi_osc_cached_stores_pays(ompi_osc_cached_watch_t *stores)
{
    (void) stores;
    return false;
}

#endif
