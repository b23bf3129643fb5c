/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The budget of the process, large blocks, memory of devices, and memory that windows expose.
 */

#ifndef OSC_CACHED_MEMORY_H
#define OSC_CACHED_MEMORY_H

#include "ompi_config.h"

#include <stdatomic.h>

#include "ompi/win/win.h"

#include "core/osc_cached_cache.h"

BEGIN_C_DECLS

extern const osc_cached_alloc_t ompi_osc_cached_alloc;
extern const osc_cached_budget_t ompi_osc_cached_budget;
/** Take the budget from the parameters. */
void ompi_osc_cached_memory_init(void);
/** No window is left. */
void ompi_osc_cached_memory_finalize(void);

/** Bytes of address space that all windows together have for files and segments of their node; they
 * ask ompi_osc_cached_may_map() with what they want in addition. */
extern _Atomic uint64_t ompi_osc_cached_mapped;

/** Whether an address is in a device's memory. */
void ompi_osc_cached_devices_init(void);
bool ompi_osc_cached_is_on_device_slowly(const void *address);
extern bool ompi_osc_cached_has_devices;

static inline bool ompi_osc_cached_is_on_device(const void *address)
{
    return ompi_osc_cached_has_devices && ompi_osc_cached_is_on_device_slowly(address);
}

/** Memory that others may write through a window of this process, from now on, and no more. Gets
 * into that memory can be on their way: see ompi_osc_cached_withdraw(). */
void ompi_osc_cached_expose(const ompi_win_t *win, const void *base, size_t size);
/** Whether it is memory of another window, too. */
bool ompi_osc_cached_is_exposed_twice(const ompi_win_t *win, const void *base, size_t size);
/** base NULL: all of a window */
void ompi_osc_cached_conceal(const ompi_win_t *win, const void *base);
/** Whether a buffer overlaps such memory. */
bool ompi_osc_cached_is_exposed_slowly(const void *base, size_t size);
extern _Atomic uintptr_t ompi_osc_cached_exposed_from, ompi_osc_cached_exposed_to;

static inline bool ompi_osc_cached_is_exposed(const void *base, size_t size)
{
    uintptr_t from = (uintptr_t) base;

    return from < atomic_load_explicit(&ompi_osc_cached_exposed_to, memory_order_relaxed)
           && atomic_load_explicit(&ompi_osc_cached_exposed_from, memory_order_relaxed)
                  < from + size
           && ompi_osc_cached_is_exposed_slowly(base, size);
}

END_C_DECLS

#endif /* OSC_CACHED_MEMORY_H */
