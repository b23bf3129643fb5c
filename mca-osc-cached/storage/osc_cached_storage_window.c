/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Windows on files: created by agreement, written to their files, freed.
 *
 * Persistent is what MPI_Win_sync or MPI_Win_free of the process whose file it is has written.  The
 * page cache holds everything else: it outlives the process, but not the node.
 *
 * Pages may need to be written although nobody has seen that they were changed: by those who had
 * the file before and did not wait for the device, by processes that are already putting when this
 * one begins to watch its pages, and by those that put while it forgets which ones were changed
 * (../osc_cached_track.c).  So the first MPI_Win_sync covers the whole file, each one also what the
 * one before has found, and MPI_Win_free, when all writes are complete, the whole file again.  For
 * the kernel, a page that is clean costs nothing.
 */

#include "ompi_config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "opal/util/output.h"
#include "opal/util/proc.h"
#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/mca/osc/base/base.h"

#include "core/osc_cached_dirty.h"
#include "osc_cached_cgroup.h"
#include "osc_cached_compat.h"
#include "osc_cached_info.h"
#include "osc_cached_storage.h"
#include "osc_cached_storage_file.h"
#include "osc_cached_track.h"
#include "osc_cached_window.h"

#define HELP "help-mpi-osc-cached.txt"

/* of the keys that are ours alone */
#define PREFIX "storage_alloc_"

#if OMPI_MAJOR_VERSION >= 5
#define INFO_KEY(entry) ((entry)->ie_key->string)
#else
#define INFO_KEY(entry) ((entry)->ie_key)
#endif

typedef struct storage {
    struct storage *next;
    ompi_win_t *win;
    ompi_osc_cached_file_t file;
    ompi_osc_cached_track_t track;
    opal_mutex_t lock; /* of those who write to the file */
    bool given_up;     /* the file is to be as it was */
    bool fresh;        /* MPI_Win_sync was not called yet */
    bool failed; /* the last MPI_Win_sync: which pages are not written is not known any more */
    osc_cached_dirty_t found; /* by the last MPI_Win_sync: pages that were changed, or all */
    ompi_osc_base_module_sync_fn_t inner_sync;
    ompi_osc_base_module_free_fn_t inner_free;
} storage_t;

static opal_mutex_t lock = OPAL_MUTEX_STATIC_INIT; /* of the list */
static storage_t *storages = NULL;

static storage_t *find(const ompi_win_t *win)
{
    storage_t *storage;

    opal_mutex_lock(&lock);
    for (storage = storages; NULL != storage && win != storage->win; storage = storage->next) {
    }
    opal_mutex_unlock(&lock);
    return storage;
}

static void add(storage_t *storage)
{
    opal_mutex_lock(&lock);
    storage->next = storages;
    storages = storage;
    opal_mutex_unlock(&lock);
}

static void take_out(storage_t *storage)
{
    storage_t **link;

    opal_mutex_lock(&lock);
    for (link = &storages; storage != *link; link = &(*link)->next) {
    }
    *link = storage->next;
    opal_mutex_unlock(&lock);
}

/* Info keys */

static void show_bad_key(const char *key, const char *value, const char *allowed)
{
    opal_show_help(HELP, "storage-bad-key", true, opal_process_info.nodename, key, value, allowed);
}

bool ompi_osc_cached_storage_is_wanted(opal_info_t *info, int flavor)
{
    static bool told = false;
    char value[OSC_CACHED_FILE_VALUE];
    osc_cached_file_wish_t wish;
    const char *allowed;

    if (MPI_WIN_FLAVOR_ALLOCATE != flavor
        || !ompi_osc_cached_read_key(info, osc_cached_file_keys[0], value, sizeof(value))) {
        return false;
    }
    osc_cached_file_wish_init(&wish);
    allowed = osc_cached_file_wish_take(&wish, 0, value);
    if (NULL != allowed && !told) {
        told = true;
        opal_show_help(HELP, "storage-bad-type", true, opal_process_info.nodename,
                       osc_cached_file_keys[0], value, allowed);
    }
    return wish.on_storage;
}

static bool is_known(const char *key)
{
    for (int i = 0; i < OSC_CACHED_FILE_KEYS; ++i) {
        if (0 == strcmp(key, osc_cached_file_keys[i])) {
            return true;
        }
    }
    return false;
}

/* @return whether all keys are good; tells of one that is not */
static bool read_wish(opal_info_t *info, osc_cached_file_wish_t *wish)
{
    char value[OSC_CACHED_FILE_VALUE];
    opal_info_entry_t *entry;

    osc_cached_file_wish_init(wish);
    for (int i = 0; i < OSC_CACHED_FILE_KEYS; ++i) {
        const char *allowed = NULL;

        if (ompi_osc_cached_read_key(info, osc_cached_file_keys[i], value, sizeof(value))) {
            allowed = osc_cached_file_wish_take(wish, i, value);
        }
        if (NULL != allowed) {
            show_bad_key(osc_cached_file_keys[i], value, allowed);
            return false;
        }
    }
    OPAL_LIST_FOREACH(entry, &info->super, opal_info_entry_t)
    {
        const char *key = INFO_KEY(entry);

        if (0 == strncmp(key, PREFIX, strlen(PREFIX)) && !is_known(key)) {
            show_bad_key(key, "", "none: there is no such key");
            return false;
        }
    }
    return true;
}

/* Bytes of memory that a process may take for windows of factor auto: half of its share of what is
 * available. */
static uint64_t available_memory(void)
{
    uint64_t limit = ompi_osc_cached_cgroup_limit("");
    unsigned long kilobytes = 0;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "r");

    while (NULL != file && NULL != fgets(line, sizeof(line), file)
           && 1 != sscanf(line, "MemAvailable: %lu", &kilobytes)) {
    }
    if (NULL != file) {
        (void) fclose(file);
    }
    if ((uint64_t) kilobytes * 1024 < limit) {
        limit = (uint64_t) kilobytes * 1024;
    }
    return limit / 2 / (1 + (uint64_t) opal_process_info.num_local_peers);
}

/* Creation */

static void show_refusal(const ompi_osc_cached_file_t *file, ompi_osc_cached_file_state_t state,
                         int error)
{
    const char *name = file->wish.name, *host = opal_process_info.nodename;
    unsigned long size = (unsigned long) file->plan.file_size;
    unsigned long offset = (unsigned long) file->wish.offset;

    switch (state) {
    case OSC_CACHED_FILE_FULL:
        opal_show_help(HELP, "storage-full", true, strerror(error), host, name, offset, size,
                       (unsigned long) file->room);
        break;
    case OSC_CACHED_FILE_MEMORY:
        opal_show_help(HELP, "storage-memory", true, strerror(error), host, name, size,
                       (unsigned long) file->plan.memory_size);
        break;
    case OSC_CACHED_FILE_BUSY:
        opal_show_help(HELP, "storage-busy", true, host, name, offset, size);
        break;
    case OSC_CACHED_FILE_KIND:
        opal_show_help(HELP, "storage-kind", true, host, name);
        break;
    default:
        opal_show_help(HELP, "storage-file", true, strerror(error), host, name, offset, size);
        break;
    }
}

/* What this process needs of its own; false: it has told why not. */
static bool prepare(ompi_osc_cached_file_t *file, size_t size, opal_info_t *info)
{
    ompi_osc_cached_file_state_t state;
    const char *wrong;
    int error;

    file->descriptor = -1;
    if (!read_wish(info, &file->wish)) {
        return false;
    }
    wrong = osc_cached_file_plan(&file->wish, size, ompi_osc_cached_file_page(),
                                 file->wish.automatic ? available_memory() : 0, &file->plan);
    if (NULL != wrong) {
        opal_show_help(HELP, "storage-plan", true, wrong, opal_process_info.nodename,
                       file->wish.name, (unsigned long) file->wish.offset, (unsigned long) size,
                       (unsigned long) ompi_osc_cached_file_page());
        return false;
    }
    state = ompi_osc_cached_file_open(file, &error);
    if (OSC_CACHED_FILE_GOOD != state) {
        show_refusal(file, state, error);
        return false;
    }
    return true;
}

/* @return whether all processes say yes */
static bool agree(ompi_communicator_t *comm, bool mine)
{
    int yes = mine, all = 0;

    return OMPI_SUCCESS
               == comm->c_coll->coll_allreduce(&yes, &all, 1, MPI_INT, MPI_MIN, comm,
                                               comm->c_coll->coll_allreduce_module)
           && all;
}

bool ompi_osc_cached_storage_is_agreed(ompi_communicator_t *comm, bool wanted)
{
    int mine[2] = {wanted, !wanted}, least[2] = {0, 0};

    if (OMPI_SUCCESS
        != comm->c_coll->coll_allreduce(mine, least, 2, MPI_INT, MPI_MIN, comm,
                                        comm->c_coll->coll_allreduce_module)) {
        return false;
    }
    if (!least[0] && !least[1]) {
        opal_show_help(HELP, "storage-some", true, opal_process_info.nodename, ompi_comm_rank(comm),
                       wanted ? "yes" : "no");
    }
    return least[0] || least[1];
}

static uint64_t node_number(void)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (const char *name = opal_process_info.nodename; '\0' != *name; ++name) {
        hash = (hash ^ (unsigned char) *name) * UINT64_C(1099511628211);
    }
    return hash;
}

/* The page caches of two nodes know nothing of each other: on a network file system a file must
 * belong to the processes of one node.  Tells when it does not. */
static bool is_of_one_node(const ompi_osc_cached_file_t *file, ompi_communicator_t *comm)
{
    uint64_t mine[2] = {file->on_network ? file->identity : 0, node_number()};
    uint64_t *all = malloc((size_t) ompi_comm_size(comm) * sizeof(mine));
    int other = -1;

    if (!agree(comm, NULL != all)
        || OMPI_SUCCESS
               != comm->c_coll->coll_allgather(mine, 2, MPI_UINT64_T, all, 2, MPI_UINT64_T, comm,
                                               comm->c_coll->coll_allgather_module)) {
        free(all);
        return false;
    }
    for (int i = 0; i < ompi_comm_size(comm); ++i) {
        if (file->on_network && mine[0] == all[2 * i] && mine[1] != all[2 * i + 1]) {
            other = i;
        }
    }
    free(all);
    if (0 <= other) {
        opal_show_help(HELP, "storage-network", true, opal_process_info.nodename, file->wish.name,
                       other);
    }
    return 0 > other;
}

/* No process gets a window: who has not created its file closes it first; then nobody else has it.
 */
static void undo_all(storage_t *storage, ompi_communicator_t *comm)
{
    bool created = NULL != storage && storage->file.created;

    if (NULL != storage && !created) {
        ompi_osc_cached_file_undo(&storage->file);
    }
    (void) agree(comm, true);
    if (created) {
        ompi_osc_cached_file_undo(&storage->file);
    }
}

int ompi_osc_cached_storage_open(ompi_win_t *win, void **base, size_t size,
                                 ompi_communicator_t *comm, opal_info_t *info)
{
    storage_t *storage = calloc(1, sizeof(*storage));
    bool mine = NULL != storage && prepare(&storage->file, size, info);
    bool all = agree(comm, mine);

    if (all && !agree(comm, !storage->file.on_network)) {
        all = agree(comm, is_of_one_node(&storage->file, comm));
    }
    if (!all) {
        undo_all(storage, comm);
        free(storage);
        return OMPI_ERROR;
    }
    storage->win = win;
    storage->fresh = true;
    OBJ_CONSTRUCT(&storage->lock, opal_mutex_t);
    add(storage);
    *base = storage->file.base;
    return OMPI_SUCCESS;
}

void ompi_osc_cached_storage_tell(const ompi_win_t *win)
{
    const storage_t *storage = find(win);
    char value[OSC_CACHED_FILE_VALUE];

    for (int i = 0; i < OSC_CACHED_FILE_KEYS; ++i) {
        osc_cached_file_wish_write(&storage->file.wish, i, value);
        ompi_osc_cached_info_store(win, osc_cached_file_keys[i], value);
    }
}

bool ompi_osc_cached_storage_has(const ompi_win_t *win)
{
    return NULL != find(win);
}

bool ompi_osc_cached_storage_find(const ompi_win_t *win, ompi_osc_cached_mapped_file_t *stored)
{
    const storage_t *storage = find(win);

    if (NULL == storage || 0 == storage->file.plan.file_size) {
        return false;
    }
    *stored = (ompi_osc_cached_mapped_file_t){
        .descriptor = storage->file.descriptor,
        .base = storage->file.base,
        .size = storage->file.plan.file_size + storage->file.plan.memory_size,
        .start = storage->file.plan.file_start,
        .end = storage->file.plan.file_start + storage->file.plan.file_size,
        .offset = storage->file.wish.offset,
        .in_memory = storage->file.in_memory,
        .advice = ompi_osc_cached_file_advice(&storage->file),
    };
    return true;
}

/* Writing */

/* The counters of the window, if it has any: bytes of pages that were changed. */
static void count(const ompi_win_t *win, uint64_t bytes, uint64_t since)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_search(win);

    if (NULL != window) {
        if (0 < bytes) {
            ompi_osc_cached_count(window, OSC_CACHED_STAT_file_syncs);
            ompi_osc_cached_add(window, OSC_CACHED_STAT_file_synced, bytes);
        }
        if (0 < since) {
            ompi_osc_cached_count(window, OSC_CACHED_STAT_file_waits);
            ompi_osc_cached_add(window, OSC_CACHED_STAT_file_wait_ns,
                                ompi_osc_cached_now() - since);
        }
    }
}

/* 0 or errno */
static int write_range(const ompi_osc_cached_file_t *file, uint64_t from, uint64_t to, bool waits)
{
    uint64_t page = ompi_osc_cached_file_page();
    int ret;

    from = from / page * page; /* the first page begins where the file's part does */
    if (waits) {
        ret = msync(ompi_osc_cached_file_bytes(file) + from, (size_t) (to - from), MS_SYNC);
    } else {
#ifdef SYNC_FILE_RANGE_WRITE
        /* msync with MS_ASYNC does nothing in Linux */
        ret = sync_file_range(file->descriptor, (off_t) (file->wish.offset + from),
                              (off_t) (to - from), SYNC_FILE_RANGE_WRITE);
        if (0 != ret && ESPIPE != errno && ENOSYS != errno && EINVAL != errno) {
            return errno;
        }
        ret = 0;
#else
        ret = msync(ompi_osc_cached_file_bytes(file) + from, (size_t) (to - from), MS_ASYNC);
#endif
    }
    return (0 == ret) ? 0 : errno;
}

static void add_range(void *dirty, uint64_t from, uint64_t to)
{
    osc_cached_dirty_add(dirty, from, to);
}

static void all_pages(const storage_t *storage, osc_cached_dirty_t *dirty)
{
    memset(dirty, 0, sizeof(*dirty));
    osc_cached_dirty_add(dirty, 0, storage->file.plan.file_size);
}

/* The pages that were changed, as far as that is known. */
static void changed_pages(storage_t *storage, bool forgets, osc_cached_dirty_t *dirty)
{
    memset(dirty, 0, sizeof(*dirty));
    if (!ompi_osc_cached_track_read(&storage->track, forgets, add_range, dirty)) {
        all_pages(storage, dirty);
    }
}

/* After a failure, the kernel takes pages for clean that it has not written.  0 or errno */
static int undo_failure(const storage_t *storage)
{
    return storage->failed && !ompi_osc_cached_file_redirty(&storage->file) ? EIO : 0;
}

/* Write these pages, if there was no error before. */
static int write_back(storage_t *storage, const osc_cached_dirty_t *dirty, bool waits, int error)
{
    for (int i = 0; i < dirty->count && 0 == error; ++i) {
        error = write_range(&storage->file, dirty->ranges[i].from, dirty->ranges[i].to, waits);
    }
    storage->failed = 0 != error;
    if (0 == error) {
        return OMPI_SUCCESS;
    }
    opal_show_help(HELP, "storage-write", true, strerror(error), opal_process_info.nodename,
                   storage->win->w_name, storage->file.wish.name);
    return MPI_ERR_IO;
}

int ompi_osc_cached_storage_sync(const ompi_win_t *win)
{
    storage_t *storage = find(win);
    bool waits = OSC_CACHED_SYNC_SYNC == ompi_osc_cached_params.storage_sync;
    osc_cached_dirty_t found, dirty;
    uint64_t since, changed;
    int error, ret = OMPI_SUCCESS;

    if (NULL == storage || 0 == storage->file.plan.file_size
        || OSC_CACHED_SYNC_FREE == ompi_osc_cached_params.storage_sync) {
        return OMPI_SUCCESS;
    }
    opal_mutex_lock(&storage->lock);
    since = ompi_osc_cached_now();
    error = undo_failure(storage);
    changed_pages(storage, true, &found);
    changed = found.bytes;
    if (storage->fresh || storage->failed) {
        all_pages(storage, &found);
    }
    storage->fresh = false;
    dirty = osc_cached_dirty_join(&found, &storage->found);
    storage->found = found;
    if (0 < dirty.count) {
        ret = write_back(storage, &dirty, waits, error);
        count(win, changed, waits ? since : 0);
    }
    opal_mutex_unlock(&storage->lock);
    return ret;
}

static int sync_window(ompi_win_t *win)
{
    int ret = find(win)->inner_sync(win);

    return (OMPI_SUCCESS == ret) ? ompi_osc_cached_storage_sync(win) : ret;
}

void ompi_osc_cached_storage_count(const ompi_win_t *win)
{
    storage_t *storage = find(win);
    osc_cached_dirty_t dirty;

    if (NULL != storage && !storage->file.wish.discards && !storage->file.wish.unlinks
        && 0 < storage->file.plan.file_size) {
        changed_pages(storage, false, &dirty);
        if (0 < dirty.count) {
            count(win, dirty.bytes, 0);
        }
    }
}

static void destroy(storage_t *storage)
{
    take_out(storage);
    ompi_osc_cached_track_end(&storage->track);
    ompi_osc_cached_file_close(&storage->file);
    OBJ_DESTRUCT(&storage->lock);
    free(storage);
}

static int free_window(ompi_win_t *win)
{
    storage_t *storage = find(win);
    osc_cached_dirty_t dirty;
    int ret, written = OMPI_SUCCESS;

    win->w_osc_module->osc_sync = storage->inner_sync;
    win->w_osc_module->osc_free = storage->inner_free;
    /* Before the processes wait for each other in there: who returns first may create a window on
     * the bytes of another one, or a new file of the same name. */
    ompi_osc_cached_file_leave(&storage->file);
    ret = storage->inner_free(win); /* after which nobody writes to the memory any more */
    ompi_osc_cached_file_unlock(&storage->file);
    if (!storage->file.wish.discards && 0 < storage->file.plan.file_size
        && ompi_osc_cached_file_has_name(&storage->file)) {
        all_pages(storage, &dirty);
        written = write_back(storage, &dirty, true, undo_failure(storage));
    }
    if (storage->given_up && !storage->file.created) {
        ompi_osc_cached_file_undo(&storage->file);
    }
    destroy(storage);
    return (OMPI_SUCCESS != ret) ? ret : written;
}

void ompi_osc_cached_storage_give_up(const ompi_win_t *win)
{
    storage_t *storage = find(win);
    ompi_osc_cached_file_t *file = &storage->file;

    storage->given_up = true;
    file->wish.unlinks = file->created;
    file->wish.discards = true;
    opal_show_help(HELP, "storage-helper", true, opal_process_info.nodename, file->wish.name);
}

void ompi_osc_cached_storage_attach(ompi_win_t *win, int result, const char *why_not,
                                    ompi_communicator_t *refused, bool seen)
{
    storage_t *storage = find(win);

    if (OMPI_SUCCESS != result) {
        storage->track.faults = storage->track.pages = -1;
        opal_show_help(HELP, why_not, true, opal_process_info.nodename, storage->file.wish.name);
        if (NULL != refused) {
            undo_all(storage, refused);
        } else {
            ompi_osc_cached_file_undo(&storage->file);
        }
        destroy(storage);
        return;
    }
    ompi_osc_cached_track_begin(
        &storage->track,
        (0 < storage->file.plan.file_size) ? ompi_osc_cached_file_bytes(&storage->file) : NULL,
        seen ? storage->file.plan.file_size : 0);
    opal_output_verbose(MCA_BASE_VERBOSE_COMPONENT, ompi_osc_base_framework.framework_output,
                        "osc/cached: window on file %s, changed pages %s", storage->file.wish.name,
                        (-1 != storage->track.faults) ? "are known to the kernel"
                                                      : "are not known");
    storage->inner_sync = win->w_osc_module->osc_sync;
    storage->inner_free = win->w_osc_module->osc_free;
    win->w_osc_module->osc_sync = sync_window;
    win->w_osc_module->osc_free = free_window;
}
