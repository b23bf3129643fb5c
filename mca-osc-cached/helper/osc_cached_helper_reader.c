/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* preadv2, pthread_setname_np */
#endif

#include "ompi_config.h"

#include "osc_cached_helper_reader.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/osc_cached_execute.h"

/* Runs shorter than this are cut out of what is read with one call. */
enum { SPAN = 4096 };

/* That the kernel is asked of at once. */
enum { PAGES = 64 };

typedef struct job {
    struct job *next;
    osc_cached_request_t request;
    const osc_cached_layout_t *layout;
    const void *data;
    void *result;
    void (*ended)(void *cookie, bool good);
    void *cookie;
} job_t;

struct ompi_osc_cached_reader_t {
    ompi_osc_cached_mapped_file_t file;
    void (*ended)(void *cookie, bool good);
    pthread_t thread;
    pthread_mutex_t lock; /* of the jobs */
    pthread_cond_t wanted;
    job_t *first, **last;
    bool stops;
    pthread_mutex_t changing; /* held by who changes the window: others see all of it or nothing */
    ompi_osc_cached_reader_counts_t counts;
};

/* --- Reading */

/* Bytes of the file, from the window's start on. */
static osc_cached_stored_t read_file(const ompi_osc_cached_mapped_file_t *file, uint64_t from,
                                     char *to, uint64_t bytes, bool waits)
{
    off_t at = (off_t) (file->offset + from - file->start);
    ssize_t got;

    while (0 < bytes) {
        if (waits) {
            got = pread(file->descriptor, to, (size_t) bytes, at);
        } else {
#ifdef RWF_NOWAIT
            struct iovec vector = {.iov_base = to, .iov_len = (size_t) bytes};

            got = preadv2(file->descriptor, &vector, 1, at, RWF_NOWAIT);
            if ((-1 == got && (EAGAIN == errno || EOPNOTSUPP == errno || ENOSYS == errno))
                || (0 <= got && (uint64_t) got < bytes)) {
                return OSC_CACHED_STORE_LATER;
            }
#else
            return OSC_CACHED_STORE_LATER;
#endif
        }
        if (-1 == got && EINTR == errno) {
            continue;
        }
        if (0 >= got) { /* 0: others have cut the file */
            return OSC_CACHED_STORE_FAILED;
        }
        to += got;
        at += got;
        bytes -= (uint64_t) got;
    }
    return OSC_CACHED_STORE_DONE;
}

/* Bytes of the window, of which a part may be memory. */
static osc_cached_stored_t read_window(const ompi_osc_cached_mapped_file_t *file, uint64_t from,
                                       char *to, uint64_t bytes, bool waits)
{
    osc_cached_stored_t stored = OSC_CACHED_STORE_DONE;

    while (0 < bytes && OSC_CACHED_STORE_DONE == stored) {
        bool in_file = file->start <= from && from < file->end;
        uint64_t end = in_file ? file->end : (from < file->start) ? file->start : file->size;
        uint64_t piece = (end - from < bytes) ? end - from : bytes;

        if (in_file) {
            stored = read_file(file, from, to, piece, waits);
        } else {
            memcpy(to, file->base + from, piece);
        }
        from += piece;
        to += piece;
        bytes -= piece;
    }
    return stored;
}

/* What a request names, packed. */
static osc_cached_stored_t read_packed(const ompi_osc_cached_mapped_file_t *file,
                                       const osc_cached_request_t *request,
                                       const osc_cached_layout_t *layout, char *to, bool waits)
{
    uint64_t left = request->length, first = 0, length = 0;
    osc_cached_stored_t stored = OSC_CACHED_STORE_DONE;
    osc_cached_cursor_t cursor;
    char span[SPAN]; /* bytes first to first + length of the window */

    if (NULL == layout) {
        return read_window(file, request->at + request->offset, to, left, waits);
    }
    osc_cached_cursor_seek(&cursor, layout, request->offset);
    while (0 < left && OSC_CACHED_STORE_DONE == stored) {
        int64_t offset;
        uint64_t bytes = osc_cached_cursor_next(&cursor, left, &offset);
        uint64_t from = request->at + (uint64_t) offset;

        if (from / SPAN != (from + bytes - 1) / SPAN) {
            stored = read_window(file, from, to, bytes, waits);
        } else {
            if (0 == length || from / SPAN != first / SPAN) {
                first = from / SPAN * SPAN;
                length = (file->size - first < SPAN) ? file->size - first : SPAN;
                stored = read_window(file, first, span, length, waits);
            }
            memcpy(to, span + (from - first), bytes);
        }
        to += bytes;
        left -= bytes;
    }
    return stored;
}

static void count(ompi_osc_cached_reader_t *reader, uint64_t bytes, bool waited)
{
    atomic_fetch_add_explicit(&reader->counts.reads, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&reader->counts.bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&reader->counts.waits, waited, memory_order_relaxed);
}

/* --- The thread */

static void change(ompi_osc_cached_reader_t *reader, const osc_cached_request_t *request,
                   const osc_cached_layout_t *layout, const void *data, void *result)
{
    (void) pthread_mutex_lock(&reader->changing);
    osc_cached_execute(request, layout, reader->file.base, data, result);
    (void) pthread_mutex_unlock(&reader->changing);
}

/* @return whether the device has no error */
static bool carry_out(ompi_osc_cached_reader_t *reader, const job_t *job)
{
    bool gets = OSC_CACHED_WIRE_GET == job->request.kind;
    char *pages = gets ? job->result : malloc(job->request.length);
    bool good = NULL != pages
                && OSC_CACHED_STORE_DONE
                       == read_packed(&reader->file, &job->request, job->layout, pages, true);

    if (!gets) {
        free(pages);
        if (good) {
            change(reader, &job->request, job->layout, job->data, job->result);
        }
    }
    count(reader, job->request.length, gets);
    return good;
}

static void *work(void *arg)
{
    ompi_osc_cached_reader_t *reader = arg;
    job_t *job;

    for (;;) {
        (void) pthread_mutex_lock(&reader->lock);
        while (NULL == reader->first && !reader->stops) {
            (void) pthread_cond_wait(&reader->wanted, &reader->lock);
        }
        job = reader->first;
        if (NULL != job) {
            reader->first = job->next;
            reader->last = (NULL == reader->first) ? &reader->first : reader->last;
        }
        (void) pthread_mutex_unlock(&reader->lock);
        if (NULL == job) {
            return NULL;
        }
        job->ended(job->cookie, carry_out(reader, job));
        free(job);
    }
}

/* Now, or by the thread; cookie NULL: now or not at all. */
static osc_cached_stored_t begin(ompi_osc_cached_reader_t *reader,
                                 const osc_cached_request_t *request,
                                 const osc_cached_layout_t *layout, const void *data, void *result,
                                 void (*ended)(void *cookie, bool good), void *cookie)
{
    osc_cached_stored_t stored = OSC_CACHED_STORE_LATER;
    job_t *job;

    if (0 == request->length) {
        return OSC_CACHED_STORE_DONE;
    }
    if (OSC_CACHED_WIRE_GET == request->kind) {
        stored = read_packed(&reader->file, request, layout, result, false);
    }
    if (OSC_CACHED_STORE_LATER != stored) {
        count(reader, request->length, false);
        return stored;
    }
    if (NULL == cookie) {
        return OSC_CACHED_STORE_LATER;
    }
    job = malloc(sizeof(*job));
    if (NULL == job) {
        return OSC_CACHED_STORE_FAILED;
    }
    *job = (job_t){NULL, *request, layout, data, result, ended, cookie};
    (void) pthread_mutex_lock(&reader->lock);
    *reader->last = job;
    reader->last = &job->next;
    (void) pthread_cond_signal(&reader->wanted);
    (void) pthread_mutex_unlock(&reader->lock);
    return OSC_CACHED_STORE_LATER;
}

osc_cached_stored_t ompi_osc_cached_reader_store(void *context, const osc_cached_request_t *request,
                                                 const osc_cached_layout_t *layout,
                                                 const void *data, void *result, void *cookie)
{
    ompi_osc_cached_reader_t *reader = context;

    return begin(reader, request, layout, data, result, reader->ended, cookie);
}

osc_cached_stored_t ompi_osc_cached_reader_read(ompi_osc_cached_reader_t *reader, uint64_t at,
                                                uint32_t bytes, void *to,
                                                void (*ended)(void *cookie, bool good),
                                                void *cookie)
{
    osc_cached_request_t request = {
        .kind = OSC_CACHED_WIRE_GET, .at = at, .count = bytes, .length = bytes};

    return begin(reader, &request, NULL, NULL, to, ended, cookie);
}

bool ompi_osc_cached_reader_has_in_memory(const ompi_osc_cached_reader_t *reader, uint64_t at,
                                          uint64_t bytes)
{
    const ompi_osc_cached_mapped_file_t *file = &reader->file;
    uintptr_t page = (uintptr_t) sysconf(_SC_PAGESIZE), base = (uintptr_t) file->base;
    uintptr_t end = base + ((at + bytes < file->end) ? at + bytes : file->end);
    uintptr_t begin = (base + ((at < file->start) ? file->start : at)) / page * page;
    unsigned char pages[PAGES];

    while (begin < end) {
        uintptr_t count = (end - begin + page - 1) / page;

        count = (count < PAGES) ? count : PAGES;
        if (0 != mincore((void *) begin, count * page, pages)) {
            return false;
        }
        for (uintptr_t i = 0; i < count; ++i) {
            if (0 == (pages[i] & 1)) {
                return false;
            }
        }
        begin += count * page;
    }
    return true;
}

osc_cached_refused_t ompi_osc_cached_reader_local(ompi_osc_cached_reader_t *reader,
                                                  const osc_cached_request_t *request,
                                                  const osc_cached_layout_t *layout,
                                                  const void *data, void *result)
{
    osc_cached_refused_t why = osc_cached_execute_check(request, layout, reader->file.size);

    if (OSC_CACHED_REFUSED_NOT == why) {
        change(reader, request, layout, data, result);
    }
    return why;
}

const ompi_osc_cached_reader_counts_t *
ompi_osc_cached_reader_counts(const ompi_osc_cached_reader_t *reader)
{
    return &reader->counts;
}

/* --- Life */

ompi_osc_cached_reader_t *ompi_osc_cached_reader_create(const ompi_osc_cached_mapped_file_t *file,
                                                        void (*ended)(void *cookie, bool good))
{
    ompi_osc_cached_reader_t *reader = calloc(1, sizeof(*reader));
    sigset_t all, before;
    int ret;

    if (NULL == reader) {
        return NULL;
    }
    reader->file = *file;
    reader->ended = ended;
    reader->last = &reader->first;
    (void) pthread_mutex_init(&reader->lock, NULL);
    (void) pthread_mutex_init(&reader->changing, NULL);
    (void) pthread_cond_init(&reader->wanted, NULL);
    /* signals are the program's */
    (void) sigfillset(&all);
    (void) pthread_sigmask(SIG_SETMASK, &all, &before);
    ret = pthread_create(&reader->thread, NULL, work, reader);
    (void) pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (0 != ret) {
        free(reader);
        return NULL;
    }
    (void) pthread_setname_np(reader->thread, "osc_cached_file"); /* for top -H and the like */
    return reader;
}

void ompi_osc_cached_reader_destroy(ompi_osc_cached_reader_t *reader)
{
    if (NULL == reader) {
        return;
    }
    (void) pthread_mutex_lock(&reader->lock);
    reader->stops = true;
    (void) pthread_cond_signal(&reader->wanted);
    (void) pthread_mutex_unlock(&reader->lock);
    (void) pthread_join(reader->thread, NULL);
    (void) pthread_cond_destroy(&reader->wanted);
    (void) pthread_mutex_destroy(&reader->changing);
    (void) pthread_mutex_destroy(&reader->lock);
    free(reader);
}
