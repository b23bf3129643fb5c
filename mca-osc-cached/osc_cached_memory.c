/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory: the budget of the process, large blocks, memory of devices, and memory that windows
 * expose.
 *
 * Exposed memory.  The bytes of a get are copied from the user's buffer when the synchronisation
 * has completed it, and bytes that another get waited for are copied to its buffer then.  By that
 * time another process may have passed the same fence and may be writing to the memory of its
 * windows.  A buffer in such memory would be read too late, or written over.  So gets to buffers in
 * memory of a window, of any window of this process, go past the cache.  Memory may become part of
 * a window, by MPI_Win_create or MPI_Win_attach, while gets into it are on their way: then these
 * are not kept, and gets that wait for them, or wait with such a buffer, get their bytes by
 * themselves (test/mpi/x_exposed_late.c).
 */

#include "ompi_config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if OMPI_MAJOR_VERSION >= 5
#include "opal/mca/accelerator/accelerator.h"
#include "opal/mca/accelerator/base/base.h"
/* unknown to earlier releases, which must be able to load this component: it tells what is wrong */
#pragma weak opal_accelerator
#pragma weak opal_accelerator_base_selected_component
#endif
#include "opal/util/proc.h"

#include "core/osc_cached_ranges.h"
#include "osc_cached_cgroup.h"
#include "osc_cached_memory.h"
#include "osc_cached_params.h"

_Atomic uint64_t ompi_osc_cached_mapped;

enum { HUGE_PAGE = 2 << 20 }; /* bytes; blocks of this size are worth huge pages */

/* Budget */

static _Atomic uint64_t budget, reserved;

static uint64_t budget_available(void *context)
{
    uint64_t taken = atomic_load_explicit(&reserved, memory_order_relaxed);
    uint64_t total = atomic_load_explicit(&budget, memory_order_relaxed);

    (void) context;
    return (taken < total) ? total - taken : 0;
}

static bool budget_reserve(void *context, uint64_t bytes)
{
    uint64_t total = atomic_load_explicit(&budget, memory_order_relaxed);

    (void) context;
    if (total < bytes
        || total < bytes + atomic_fetch_add_explicit(&reserved, bytes, memory_order_relaxed)) {
        if (bytes <= total) {
            atomic_fetch_sub_explicit(&reserved, bytes, memory_order_relaxed);
        }
        return false;
    }
    return true;
}

static void budget_give_back(void *context, uint64_t bytes)
{
    (void) context;
    atomic_fetch_sub_explicit(&reserved, bytes, memory_order_relaxed);
}

const osc_cached_budget_t ompi_osc_cached_budget = {
    .available = budget_available,
    .reserve = budget_reserve,
    .give_back = budget_give_back,
};

void ompi_osc_cached_memory_init(void)
{
    uint64_t bytes = (uint64_t) ompi_osc_cached_numbers.memory;

    if (0 == bytes) {
        double node = (double) sysconf(_SC_PHYS_PAGES) * (double) sysconf(_SC_PAGESIZE);
        double allowed = (double) ompi_osc_cached_cgroup_limit("");
        double share = ((allowed < node) ? allowed : node) * 0.02
                       / (1.0 + (double) opal_process_info.num_local_peers);

        bytes = 256 << 20;
        if (0 < share && share < (double) bytes) {
            bytes = (uint64_t) share;
        }
    }
    atomic_store_explicit(&budget, bytes, memory_order_relaxed);
}

/* Blocks */

static void *alloc_block(void *context, size_t alignment, size_t bytes)
{
    void *memory = NULL;

    (void) context;
    if (HUGE_PAGE <= bytes && alignment < HUGE_PAGE) {
        alignment = HUGE_PAGE;
    }
    if (0 != posix_memalign(&memory, alignment, bytes)) {
        return NULL;
    }
#ifdef MADV_HUGEPAGE
    if (HUGE_PAGE <= bytes) {
        (void) madvise(memory, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
    }
#endif
    return memory;
}

static void free_block(void *context, void *memory, size_t bytes)
{
    (void) context;
    (void) bytes;
    free(memory);
}

const osc_cached_alloc_t ompi_osc_cached_alloc = {.alloc = alloc_block, .free = free_block};

/* Memory of devices, which the processor cannot copy */

bool ompi_osc_cached_has_devices = false;

void ompi_osc_cached_devices_init(void)
{
#if OMPI_MAJOR_VERSION >= 5
    ompi_osc_cached_has_devices =
        0
        != strcmp("null", opal_accelerator_base_selected_component.base_version.mca_component_name);
#elif defined(OPAL_CUDA_SUPPORT) && OPAL_CUDA_SUPPORT
    ompi_osc_cached_has_devices = true;
#endif
}

bool ompi_osc_cached_is_on_device_slowly(const void *address)
{
#if OMPI_MAJOR_VERSION >= 5
    int device;
    uint64_t flags;

    return 0 < opal_accelerator.check_addr(address, &device, &flags);
#else
    /* this release has no question for one address: nothing is kept where there could be a device
     */
    (void) address;
    return true;
#endif
}

/* Exposed memory */

static opal_mutex_t lock = OPAL_MUTEX_STATIC_INIT; /* of those who change the ranges */
static osc_cached_ranges_t ranges;
static _Atomic bool everything = false; /* there was no memory for a range */

_Atomic uintptr_t ompi_osc_cached_exposed_from = UINTPTR_MAX, ompi_osc_cached_exposed_to = 0;

/* All ranges together, for a first look; caller holds the lock. */
static void update_hull(void)
{
    uintptr_t from = UINTPTR_MAX, to = 0;

    (void) osc_cached_ranges_hull(&ranges, &from, &to);
    if (everything) {
        from = 0;
        to = UINTPTR_MAX;
    }
    atomic_store_explicit(&ompi_osc_cached_exposed_from, from, memory_order_relaxed);
    atomic_store_explicit(&ompi_osc_cached_exposed_to, to, memory_order_relaxed);
}

void ompi_osc_cached_expose(const ompi_win_t *win, const void *base, size_t size)
{
    opal_mutex_lock(&lock);
    if (OSC_CACHED_OK
        != osc_cached_ranges_add(&ranges, &osc_cached_alloc_default, win, (uintptr_t) base,
                                 (uintptr_t) base + size)) {
        everything = true;
    }
    update_hull();
    opal_mutex_unlock(&lock);
}

void ompi_osc_cached_conceal(const ompi_win_t *win, const void *base)
{
    opal_mutex_lock(&lock);
    osc_cached_ranges_remove(&ranges, win, NULL == base, (uintptr_t) base);
    update_hull();
    opal_mutex_unlock(&lock);
}

bool ompi_osc_cached_is_exposed_twice(const ompi_win_t *win, const void *base, size_t size)
{
    bool twice;

    opal_mutex_lock(&lock);
    twice = everything
            || osc_cached_ranges_others(&ranges, win, (uintptr_t) base, (uintptr_t) base + size);
    opal_mutex_unlock(&lock);
    return twice;
}

bool ompi_osc_cached_is_exposed_slowly(const void *base, size_t size)
{
    uintptr_t from = (uintptr_t) base, to = from + size;
    osc_cached_ranges_answer_t answer = osc_cached_ranges_ask(&ranges, from, to);

    if (OPAL_UNLIKELY(OSC_CACHED_RANGES_CHANGING == answer)) {
        opal_mutex_lock(&lock);
        answer = osc_cached_ranges_ask(&ranges, from, to);
        opal_mutex_unlock(&lock);
    }
    return OSC_CACHED_RANGES_APART != answer || everything;
}

void ompi_osc_cached_memory_finalize(void)
{
    osc_cached_ranges_destroy(&ranges, &osc_cached_alloc_default);
    ranges = (osc_cached_ranges_t){0};
    everything = false;
    update_hull();
}
