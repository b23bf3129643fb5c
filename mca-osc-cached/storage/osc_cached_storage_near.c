/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Gets that are copies: a process maps the files of the others of its node, to read them.
 *
 *     MPI_Get -> cache -> here -> copy
 *                          +---> helper, inner component: what is not one run of bytes on both
 *                                sides, or not in the file of a process that is mapped
 *
 * To the inner component the memory is that of MPI_Win_create, for which osc/ucx sends messages
 * even to processes of its node; memory of MPI_Win_allocate it maps, and a get is a copy, too. That
 * is right for every epoch that has begun when MPI_Get is called: whatever the target has stored
 * before is in the page cache, of which each process of the node sees the same pages.
 *
 * To read only.  Pages are watched where they are mapped (osc_cached_track.h), so MPI_Win_sync of
 * the target would not find what others put by a mapping of their own.
 *
 * Own writes.  Until they are complete at the target gets follow them, as without us: a counter is
 * the number of the last write to a target, others are that of the last one before a
 * synchronisation that has completed those to it, or to all.  A write is counted when it was handed
 * on, and synchronisations look at the count before, so threads need nothing more.
 */

#include "ompi_config.h"

#include "osc_cached_atomics.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/mca/coll/coll.h"

#include "helper/osc_cached_helper.h"
#include "osc_cached_compat.h"
#include "osc_cached_descriptor.h"
#include "osc_cached_memory.h"
#include "osc_cached_storage.h"
#include "osc_cached_window.h"

/* What others can wait for progress: a program may poll with gets, which may be large, and whose
 * pages may have to be read. */
enum {
    QUIET = 128, /* gets, */
    PAGE = 4096  /* or so many bytes each */
};

/* What a process tells of its part of the window. */
enum {
    START, /* bytes of it before those that are in the file, */
    BYTES, /* which are so many; 0: none */
    OFFSET,
    ADVICE,
    WHERE, /* see osc_cached_descriptor.h */
    FIELDS = WHERE + OSC_CACHED_TOLD
};

typedef struct {
    const char *base; /* NULL: not mapped */
    uint64_t start, bytes;
    _Atomic uint64_t written, completed; /* own writes */
} part_t;

typedef struct ompi_osc_cached_near_t {
    ompi_osc_base_module_t below; /* of the helper, or the inner component */
    _Atomic uint64_t writes, completed;
    _Atomic uint64_t quiet;
    int first, count; /* ranks of parts */
    part_t parts[];
} near_t;

/* NULL: not one of those that are mapped */
static inline part_t *part_of(near_t *near, int target)
{
    int i = target - near->first;

    return (0 <= i && i < near->count && NULL != near->parts[i].base) ? &near->parts[i] : NULL;
}

/* Own writes */

static void raise_to(_Atomic uint64_t *counter, uint64_t value)
{
    uint64_t old = atomic_load(counter);

    while (old < value && !atomic_compare_exchange_weak(counter, &old, value)) {
    }
}

static bool is_dirty(near_t *near, part_t *part)
{
    uint64_t written = atomic_load_explicit(&part->written, memory_order_relaxed);

    return atomic_load_explicit(&part->completed, memory_order_relaxed) < written
           && atomic_load_explicit(&near->completed, memory_order_relaxed) < written;
}

#define OSC_CACHED_WRITES(slot, stat, writes_, disp, of, type, result, parameters, arguments) \
    static int near_##slot parameters                                                         \
    {                                                                                         \
        near_t *near = ompi_osc_cached_window_of(win)->near;                                  \
        part_t *part = part_of(near, target);                                                 \
        int ret = near->below.osc_##slot arguments;                                           \
                                                                                              \
        if (NULL != part) {                                                                   \
            raise_to(&part->written, 1 + atomic_fetch_add(&near->writes, 1));                 \
        }                                                                                     \
        return ret;                                                                           \
    }
#include "osc_cached_writes.def"

/* What completes own writes, to all targets or to one of them, which may have no part. */
#define COMPLETES(slot, completed_, parameters, arguments)   \
    static int near_##slot parameters                        \
    {                                                        \
        near_t *near = ompi_osc_cached_window_of(win)->near; \
        uint64_t writes = atomic_load(&near->writes);        \
        int ret = near->below.osc_##slot arguments;          \
        _Atomic uint64_t *counter = completed_;              \
                                                             \
        if (OMPI_SUCCESS == ret && NULL != counter) {        \
            raise_to(counter, writes);                       \
        }                                                    \
        return ret;                                          \
    }
#define OF_ALL (&near->completed)
#define OF_ONE ((NULL == part_of(near, target)) ? NULL : &part_of(near, target)->completed)

COMPLETES(fence, OF_ALL, (int mpi_assert, ompi_win_t *win), (mpi_assert, win))
COMPLETES(complete, OF_ALL, (ompi_win_t * win), (win))
COMPLETES(unlock, OF_ONE, (int target, ompi_win_t *win), (target, win))
COMPLETES(unlock_all, OF_ALL, (ompi_win_t * win), (win))
COMPLETES(flush, OF_ONE, (int target, ompi_win_t *win), (target, win))
COMPLETES(flush_all, OF_ALL, (ompi_win_t * win), (win))

/* Gets */

/* The bytes of a get; NULL: they are not all mapped, or not one run on both sides. */
static inline const char *find(const ompi_osc_cached_window_t *window, const part_t *part,
                               ompi_osc_cached_count_t origin_count, const opal_datatype_t *origin,
                               int target, ptrdiff_t disp, ompi_osc_cached_count_t count,
                               const opal_datatype_t *type)
{
    size_t unit = (0 < window->disp_unit) ? window->disp_unit : window->disp_units[target];
    size_t bytes = (size_t) count * type->size;
    /* far away for those before it */
    uint64_t at = (uint64_t) disp * unit + (uint64_t) type->true_lb - part->start;

    return (ompi_osc_cached_is_one_run(type, count)
            && ompi_osc_cached_is_one_run(origin, origin_count)
            && (size_t) origin_count * origin->size == bytes && 0 < bytes && bytes <= part->bytes
            && at <= part->bytes - bytes)
               ? part->base + at
               : NULL;
}

/* Is there an epoch for it?  Gets of nothing ask only that. */
static inline bool has_epoch(const ompi_osc_cached_window_t *window, int target)
{
    return (NULL != window->helper)
               ? ompi_osc_cached_helper_may_copy(window, target)
               : OMPI_SUCCESS
                     == window->near->below.osc_get(NULL, 0, MPI_BYTE, target, 0, 0, MPI_BYTE,
                                                    window->win);
}

static int near_get(void *origin_addr, ompi_osc_cached_count_t origin_count,
                    struct ompi_datatype_t *origin_dt, int target, ptrdiff_t target_disp,
                    ompi_osc_cached_count_t target_count, struct ompi_datatype_t *target_dt,
                    ompi_win_t *win)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);
    near_t *near = window->near;
    part_t *part = part_of(near, target);
    const char *bytes = NULL;
    size_t size;
    uint64_t quiet;

    if (NULL != part && !is_dirty(near, part) && !ompi_osc_cached_is_on_device(origin_addr)) {
        bytes = find(window, part, origin_count, &origin_dt->super, target, target_disp,
                     target_count, &target_dt->super);
    }
    if (NULL == bytes || !has_epoch(window, target)) {
        return near->below.osc_get(origin_addr, origin_count, origin_dt, target, target_disp,
                                   target_count, target_dt, win);
    }
    /* what began the epoch may have been no more than a look at memory, what ends it a store */
    atomic_thread_fence(memory_order_acquire);
    size = (size_t) target_count * target_dt->super.size;
    memcpy((char *) origin_addr + origin_dt->super.true_lb, bytes, size);
    atomic_thread_fence(memory_order_release);
    ompi_osc_cached_count(window, OSC_CACHED_STAT_file_near);
    quiet = 1 + size / PAGE + atomic_load_explicit(&near->quiet, memory_order_relaxed);
    atomic_store_explicit(&near->quiet, (QUIET <= quiet) ? 0 : quiet, memory_order_relaxed);
    if (OPAL_UNLIKELY(QUIET <= quiet)) {
        ompi_osc_cached_progress_only(window);
    }
    return OMPI_SUCCESS;
}

/* Life */

static void install(ompi_osc_cached_window_t *window)
{
    ompi_osc_base_module_t *module = window->win->w_osc_module;

    window->near->below = *module;
    module->osc_get = near_get;
#define OSC_CACHED_WRITES(slot, ...) module->osc_##slot = near_##slot;
#include "osc_cached_writes.def"
    module->osc_fence = near_fence;
    module->osc_complete = near_complete;
    module->osc_unlock = near_unlock;
    module->osc_unlock_all = near_unlock_all;
    module->osc_flush = near_flush;
    module->osc_flush_all = near_flush_all;
}

/* Those of other processes of the node that have any. */
static bool is_near(ompi_communicator_t *comm, int rank, const int64_t *told)
{
    return rank != ompi_comm_rank(comm) && 0 < told[BYTES]
           && ompi_osc_cached_is_near(comm->c_local_group, rank);
}

static void map(part_t *part, const int64_t *told)
{
    int descriptor = ompi_osc_cached_reach_descriptor(&told[WHERE], O_RDONLY);
    void *base;

    if (0 > descriptor) {
        return;
    }
    base = mmap(NULL, (size_t) told[BYTES], PROT_READ, MAP_SHARED, descriptor, told[OFFSET]);
    (void) close(descriptor);
    if (MAP_FAILED != base) {
        (void) madvise(base, (size_t) told[BYTES], (int) told[ADVICE]);
        part->base = base;
        part->start = (uint64_t) told[START];
        part->bytes = (uint64_t) told[BYTES];
        atomic_fetch_add(&ompi_osc_cached_mapped, part->bytes);
    }
}

/* @return NULL: there is none, or no memory */
static near_t *map_all(ompi_communicator_t *comm, const int64_t (*told)[FIELDS])
{
    int first = 0, last = ompi_comm_size(comm) - 1;
    uint64_t bytes = 0;
    near_t *near;

    for (int i = 0; i <= last; ++i) {
        bytes += is_near(comm, i, told[i]) ? (uint64_t) told[i][BYTES] : 0;
    }
    if (!ompi_osc_cached_may_map(atomic_load(&ompi_osc_cached_mapped) + bytes)) {
        return NULL;
    }
    while (first <= last && !is_near(comm, first, told[first])) {
        ++first;
    }
    while (first <= last && !is_near(comm, last, told[last])) {
        --last;
    }
    near = (first <= last) ? calloc(1, sizeof(*near) + (size_t) (last - first + 1) * sizeof(part_t))
                           : NULL;
    if (NULL != near) {
        near->first = first;
        near->count = last - first + 1;
        for (int i = first; i <= last; ++i) {
            if (is_near(comm, i, told[i])) {
                map(&near->parts[i - first], told[i]);
            }
        }
    }
    return near;
}

static void tell(const ompi_win_t *win, int64_t *told)
{
    ompi_osc_cached_mapped_file_t file;

    if (ompi_osc_cached_storage_find(win, &file)
        && ompi_osc_cached_tell_descriptor(file.descriptor, &told[WHERE])) {
        told[START] = (int64_t) file.start;
        told[BYTES] = (int64_t) (file.end - file.start);
        told[OFFSET] = (int64_t) file.offset;
        told[ADVICE] = file.advice;
    }
}

void ompi_osc_cached_storage_attach_near(ompi_osc_cached_window_t *window,
                                         ompi_communicator_t *comm, bool wanted)
{
    int size = ompi_comm_size(comm), all;
    int64_t(*told)[FIELDS] = NULL;

    if (wanted && NULL != window && (0 != window->disp_unit || NULL != window->disp_units)) {
        told = calloc((size_t) size + 1, sizeof(*told));
    }
    /* when one process has no memory nobody waits for it */
    all = NULL != told;
    if (OMPI_SUCCESS
            == comm->c_coll->coll_allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm,
                                            comm->c_coll->coll_allreduce_module)
        && all) {
        tell(window->win, told[size]);
        if (OMPI_SUCCESS
            == comm->c_coll->coll_allgather(told[size], FIELDS, MPI_INT64_T, told, FIELDS,
                                            MPI_INT64_T, comm,
                                            comm->c_coll->coll_allgather_module)) {
            window->near = map_all(comm, (const int64_t(*)[FIELDS]) told);
        }
    }
    free(told);
    if (NULL != window && NULL != window->near) {
        install(window);
    }
}

void ompi_osc_cached_storage_release_near(near_t *near)
{
    for (int i = 0; NULL != near && i < near->count; ++i) {
        if (NULL != near->parts[i].base) {
            (void) munmap((void *) near->parts[i].base, (size_t) near->parts[i].bytes);
            atomic_fetch_sub(&ompi_osc_cached_mapped, near->parts[i].bytes);
        }
    }
    free(near);
}
