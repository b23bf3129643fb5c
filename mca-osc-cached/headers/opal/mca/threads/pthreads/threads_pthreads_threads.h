/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * In the place of a header of Open MPI 5.0 and 6.0 that Debian's libopenmpi-dev lacks: what
 * opal/mca/threads/threads.h takes from it.  Found only where the real one is not.
 */

#ifndef OSC_CACHED_THREADS_PTHREADS_THREADS_H
#define OSC_CACHED_THREADS_PTHREADS_THREADS_H

#include <pthread.h>

/** How to yield, as the parameters of Open MPI's threads component have it. */
OPAL_DECLSPEC extern void (*opal_threads_pthreads_yield_fn)(void);

static inline void opal_thread_yield(void)
{
    (*opal_threads_pthreads_yield_fn)();
}

#endif /* OSC_CACHED_THREADS_PTHREADS_THREADS_H */
