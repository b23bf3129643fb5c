/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * osc_cached_top: what the cache does while the job runs, for "ompi-locality top".
 *
 * A thread writes the counters of all windows to a file once a second, so that no call of the
 * program has to look at the clock, and a process that computes or waits is seen, too.  The file is
 * replaced as a whole: a reader never sees half of it.  It goes away with the process.
 *
 *     # osc_cached top 1
 *     process RANK HOST PID
 *     window NUMBER GETS HITS BYTES_SERVED BYTES_FETCHED INNER [NAME]
 *
 * The thread reads counters, which are atomic, and what does not change in the life of a window;
 * gates of threaded windows are emptied as by any other thread.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_setname_np */
#endif

#include "ompi_config.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/util/proc.h"
#include "ompi/constants.h"

#include "osc_cached_compat.h"
#include "osc_cached_top.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ends; /* by the monotonic clock */
static pthread_t thread;
static bool begun = false, runs = false, stops = false;
static char name[4096], new_name[4096 + 8];
static FILE *text; /* while it is collected */

static unsigned long count(const ompi_osc_cached_window_t *window, int stat)
{
    return atomic_load_explicit(&window->stats[stat], memory_order_relaxed);
}

/* The list of windows is locked: to memory, which does not wait for a file system. */
static int write_window(ompi_osc_cached_window_t *window)
{
    char shown[sizeof(window->name)];

    memcpy(shown, window->name, sizeof(shown));
    for (char *c = shown; '\0' != *c; ++c) {
        *c = ((unsigned char) *c < ' ') ? ' ' : *c; /* one line each */
    }
    ompi_osc_cached_window_lock(window);
    (void) fprintf(text, "window %d %lu %lu %lu %lu %s %s\n", window->number,
                   count(window, OSC_CACHED_STAT_gets) + count(window, OSC_CACHED_STAT_rgets),
                   count(window, OSC_CACHED_STAT_hits) + count(window, OSC_CACHED_STAT_joins),
                   count(window, OSC_CACHED_STAT_bytes_served),
                   count(window, OSC_CACHED_STAT_bytes_fetched), window->inner_name, shown);
    ompi_osc_cached_window_unlock(window);
    return OMPI_SUCCESS;
}

static bool write_file(void)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *file;
    bool good;

    text = open_memstream(&bytes, &size);
    if (NULL == text) {
        return false;
    }
    (void) fprintf(text, "# osc_cached top 1\nprocess %d %s %d\n",
                   (int) opal_proc_local_get()->proc_name.vpid, opal_process_info.nodename,
                   (int) getpid());
    (void) ompi_osc_cached_window_each(write_window);
    good = 0 == fclose(text);
    file = good ? fopen(new_name, "w") : NULL;
    good = NULL != file && size == fwrite(bytes, 1, size, file);
    good = NULL != file && 0 == fclose(file) && good;
    free(bytes);
    return good && 0 == rename(new_name, name);
}

static void *work(void *unused)
{
    struct timespec next;

    (void) unused;
    (void) clock_gettime(CLOCK_MONOTONIC, &next);
    (void) pthread_mutex_lock(&lock);
    while (!stops) {
        int ret = 0;

        ++next.tv_sec;
        while (!stops && 0 == ret) {
            ret = pthread_cond_timedwait(&ends, &lock, &next);
        }
        if (!stops) {
            (void) write_file(); /* a full file system may have room again */
        }
    }
    (void) pthread_mutex_unlock(&lock);
    return NULL;
}

static bool start(void)
{
    pthread_condattr_t attributes;
    sigset_t all, before;

    (void) pthread_condattr_init(&attributes);
    (void) pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void) pthread_cond_init(&ends, &attributes);
    (void) pthread_condattr_destroy(&attributes);
    (void) sigfillset(&all);
    (void) pthread_sigmask(SIG_SETMASK, &all, &before);
    runs = 0 == pthread_create(&thread, NULL, work, NULL);
    (void) pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (runs) {
        (void) pthread_setname_np(thread, "osc_cached_top"); /* for top -H and the like */
    }
    return runs;
}

void ompi_osc_cached_top_init(void)
{
    const char *wanted = ompi_osc_cached_params.top;

    if (NULL == wanted || '\0' == wanted[0]) {
        return;
    }
    (void) pthread_mutex_lock(&lock);
    if (!begun) {
        begun = true;
        errno = 0;
        snprintf(name, sizeof(name), "%s.%d", wanted, (int) opal_proc_local_get()->proc_name.vpid);
        snprintf(new_name, sizeof(new_name), "%s.new", name);
        if (!write_file() || !start()) {
            opal_show_help("help-mpi-osc-cached.txt", "top", true,
                           (0 == errno) ? "there is no thread left" : strerror(errno),
                           opal_process_info.nodename, wanted, name);
        }
    }
    (void) pthread_mutex_unlock(&lock);
}

void ompi_osc_cached_top_finalize(void)
{
    if (runs) {
        (void) pthread_mutex_lock(&lock);
        stops = true;
        (void) pthread_cond_signal(&ends);
        (void) pthread_mutex_unlock(&lock);
        (void) pthread_join(thread, NULL);
        (void) pthread_cond_destroy(&ends);
        (void) unlink(name);
    }
    begun = runs = stops = false;
}
