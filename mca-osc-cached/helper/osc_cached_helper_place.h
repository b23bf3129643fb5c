/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the helper's thread runs: on a core that no process of the job runs on, the nearest one, or
 * else where its process runs.  The choice is llamatch's (mca-pml-llamatch/core/llamatch_cores.h),
 * which places its heater so; it needs hwloc.
 */

#ifndef OSC_CACHED_HELPER_PLACE_H
#define OSC_CACHED_HELPER_PLACE_H

#include "ompi_config.h"

#include <pthread.h>
#include <stddef.h>

BEGIN_C_DECLS

/** Find out on which processors this process runs, before it has a helper. */
void ompi_osc_cached_helper_look_around(void);

/** These processors: a list such as "0,2-3"; "": not known. */
const char *ompi_osc_cached_helper_processors(void);

/** What the thread has got. */
typedef enum {
    OSC_CACHED_PLACE_OWN, /**< a processor that was free, or that the user has named, whoever else
                             runs there */
    OSC_CACHED_PLACE_SHARED, /**< none is free: ompi_osc_cached_helper_move_on can be called */
    OSC_CACHED_PLACE_FIXED,  /**< it shares those of its process, and stays there */
} ompi_osc_cached_place_t;

/**
 * Choose for the thread of this process, and bind it.
 *
 * @param processors  of the processes of this node, in an order that all of them know
 * @param me          which of them is this one
 */
ompi_osc_cached_place_t ompi_osc_cached_helper_place(pthread_t thread,
                                                     const char *const *processors, unsigned count,
                                                     unsigned me);

/** To the next of the processors that it may use; called by the thread itself. */
void ompi_osc_cached_helper_move_on(void);

/** The processors that the thread may use now, as a list; "": not known. */
void ompi_osc_cached_helper_where(pthread_t thread, char *list, size_t bytes);

END_C_DECLS

#endif /* OSC_CACHED_HELPER_PLACE_H */
