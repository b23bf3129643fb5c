/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * In the place of a header of Open MPI 5.0 and 6.0 that Debian's libopenmpi-dev lacks: what
 * opal/mca/threads/mutex.h and wait_sync.h take from it.  Found only where the real one is not.
 */

#ifndef OSC_CACHED_THREADS_PTHREADS_MUTEX_H
#define OSC_CACHED_THREADS_PTHREADS_MUTEX_H

#include <pthread.h>

#include "opal/class/opal_object.h"
#include "opal/constants.h"

typedef pthread_mutex_t opal_thread_internal_mutex_t;
typedef pthread_cond_t opal_thread_internal_cond_t;

#define OPAL_THREAD_INTERNAL_MUTEX_INITIALIZER PTHREAD_MUTEX_INITIALIZER
#define OPAL_THREAD_INTERNAL_COND_INITIALIZER PTHREAD_COND_INITIALIZER

/* does not compile when a recursive one is asked for: nobody does */
#define opal_thread_internal_mutex_init(mutex, recursive) \
    ((void) sizeof(char[(recursive) ? -1 : 1]), (void) pthread_mutex_init((mutex), NULL))
#define opal_thread_internal_mutex_destroy(mutex) ((void) pthread_mutex_destroy(mutex))
#define opal_thread_internal_mutex_lock(mutex) ((void) pthread_mutex_lock(mutex))
#define opal_thread_internal_mutex_unlock(mutex) ((void) pthread_mutex_unlock(mutex))
#define opal_thread_internal_mutex_trylock(mutex) (0 != pthread_mutex_trylock(mutex))

#define opal_thread_internal_cond_init(cond) ((void) pthread_cond_init((cond), NULL))
#define opal_thread_internal_cond_destroy(cond) ((void) pthread_cond_destroy(cond))
#define opal_thread_internal_cond_wait(cond, mutex) ((void) pthread_cond_wait((cond), (mutex)))
#define opal_thread_internal_cond_signal(cond) ((void) pthread_cond_signal(cond))
#define opal_thread_internal_cond_broadcast(cond) ((void) pthread_cond_broadcast(cond))

#endif /* OSC_CACHED_THREADS_PTHREADS_MUTEX_H */
