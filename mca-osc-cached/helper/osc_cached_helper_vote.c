/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which windows have a helper, and the start of helpers.
 *
 * One arbiter.  Accumulates, atomics and locks of a window exclude each other at the target only if
 * all go to the helper: all processes decide together, when the window is created.
 */

#include "ompi_config.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "opal/util/info.h"
#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/runtime/mpiruntime.h"

#include "osc_cached_compat.h"
#include "osc_cached_memory.h"
#include "osc_cached_params.h"
#include "osc_cached_helper.h"
#include "osc_cached_helper_place.h"
#include "osc_cached_helper_process.h"
#include "osc_cached_helper_vote.h"
#include "storage/osc_cached_storage.h"

/* Another process cannot be reached: no more helpers, and no more messages of UCX. */
static _Atomic bool is_cut_off = false;

int ompi_osc_cached_helper_agree(ompi_communicator_t *comm, int *values, int count,
                                 struct ompi_op_t *op)
{
    return comm->c_coll->coll_allreduce(MPI_IN_PLACE, values, count, MPI_INT, op, comm,
                                        comm->c_coll->coll_allreduce_module);
}

/* --- Votes */

static bool knows_all(ompi_communicator_t *comm, const ompi_osc_cached_node_t *node)
{
    for (int i = 0; i < ompi_comm_size(comm); ++i) {
        if (!ompi_osc_cached_helper_knows(ompi_osc_cached_helper_name(
                comm->c_local_group, ompi_osc_cached_node_helper(node, i)))) {
            return false;
        }
    }
    return true;
}

/* off, auto or on for a window; each one is more than those before it.
 *
 * @param[out] named  on, by the info key */
static int wish_of(opal_info_t *info, bool *named)
{
    int wish = ompi_osc_cached_params.helper;
    char value[8] = "";

    if (OSC_CACHED_HELPER_OFF != wish) {
        (void) ompi_osc_cached_read_key(info, "ompi_osc_cached_helper", value, sizeof(value));
    }
    *named = 0 == strcmp(value, "on");
    return *named                        ? OSC_CACHED_HELPER_ON
           : (0 == strcmp(value, "off")) ? OSC_CACHED_HELPER_OFF
                                         : wish;
}

static void tell_refusal(const char *why, const char *instead)
{
    opal_show_help("help-mpi-osc-cached.txt", "helper-window", true, why, instead,
                   opal_process_info.nodename);
}

void ompi_osc_cached_helper_refuse(opal_info_t *info, int flavor)
{
    bool dynamic = MPI_WIN_FLAVOR_DYNAMIC == flavor, named;

    /* where processes reach each other's memory nobody waits for a target: the parameter, which is
     * for all windows, is no wish for these */
    if (OSC_CACHED_HELPER_ON == wish_of(info, &named) && (dynamic || named)) {
        tell_refusal(dynamic ? "it is a dynamic one"
                             : "its processes reach each other's memory directly",
                     dynamic ? "create the window with MPI_Win_create or MPI_Win_allocate,\nor do "
                               "not request a helper for it"
                             : "do not request a helper for it: nobody waits for a target there");
    }
}

bool ompi_osc_cached_helper_has_rdma(void)
{
    static const char *const classes[] = {"/sys/class/infiniband", "/sys/class/cxi"};
    bool found = false;

    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]) && !found; ++i) {
        DIR *folder = opendir(classes[i]);
        struct dirent *entry;

        if (NULL == folder) {
            continue;
        }
        while (!found && NULL != (entry = readdir(folder))) {
            found = '.' != entry->d_name[0];
        }
        (void) closedir(folder);
    }
    return found;
}

/* The next process of another node; the own rank: there is none. */
static int farther(ompi_communicator_t *comm)
{
    int size = ompi_comm_size(comm), rank = ompi_comm_rank(comm), i;

    for (i = 1; i < size && ompi_osc_cached_is_near(comm->c_local_group, (rank + i) % size); ++i) {
    }
    return (rank + i) % size;
}

bool ompi_osc_cached_helper_is_apart(ompi_communicator_t *comm)
{
    int size = ompi_comm_size(comm), rank = ompi_comm_rank(comm), i;

    /* it would most likely be the next process */
    for (i = 1; i < size && !ompi_osc_cached_is_near(comm->c_local_group, (rank + i) % size); ++i) {
    }
    return size <= i;
}

/* ompi-patches brings it: where it is, its fixes of osc/ucx are. */
#pragma weak MPIX_Win_cache_invalidate
int MPIX_Win_cache_invalidate(MPI_Win win);

/* May osc/ucx reach processes of the same node through shared memory?  What its UCX_TLS names and
 * is no network that we know is taken for it. */
static bool ucx_shares_memory(void)
{
    static const char *const networks[] = {"tcp", "self", "ib", "rc", "ud", "dc"};
    const char *word = getenv("MPI_UCX_TLS"); /* which it reads first */

    if (NULL == word) {
        word = getenv("UCX_TLS");
    }
    if (NULL == word || '\0' == *word) {
        return true;
    }
    while ('\0' != *word) {
        size_t i = 0, length = strcspn(word, ",");

        while (i < sizeof(networks) / sizeof(networks[0])
               && (length < strlen(networks[i])
                   || 0 != strncmp(word, networks[i], strlen(networks[i])))) {
            ++i;
        }
        if (sizeof(networks) / sizeof(networks[0]) == i) {
            return true;
        }
        word += length + (',' == word[length]);
    }
    return false;
}

/* Do gets from memory of MPI_Win_create come later than the end of an epoch or of a flush of all
 * targets?  From a process of the same node UCX asks for them by messages through shared memory.
 * When there is no room it queues them, and ucp_worker_flush forgets those. */
static bool has_late_gets(ompi_communicator_t *comm, const char *inner)
{
    return 0 == strcmp("ucx", inner) && NULL == MPIX_Win_cache_invalidate
           && !ompi_osc_cached_helper_is_apart(comm) && ucx_shares_memory();
}

/* UCX 1.18 does so with memory of MPI_Win_allocate, too. */
static bool is_late_in_all_memory(void)
{
    static _Atomic int known = -1; /* the same for all threads */
    void (*get_version)(unsigned *major, unsigned *minor, unsigned *release) = NULL;
    unsigned major = 0, minor = 0, release = 0;
    void *library, *symbol = NULL;

    if (0 > known) {
        library = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD); /* that of osc/ucx */
        if (NULL != library) {
            symbol = dlsym(library, "ucp_get_version");
            (void) dlclose(library);
        }
        if (NULL != symbol) {
            memcpy(&get_version, &symbol, sizeof(symbol)); /* from data to a function */
            get_version(&major, &minor, &release);
        }
        known = 1 < major || (1 == major && 18 <= minor);
    }
    return 0 < known;
}

bool ompi_osc_cached_helper_is_late(ompi_communicator_t *comm, const char *inner, int flavor)
{
    return (MPI_WIN_FLAVOR_CREATE == flavor
            || (MPI_WIN_FLAVOR_ALLOCATE == flavor && 0 == strcmp("ucx", inner)
                && is_late_in_all_memory()))
           && has_late_gets(comm, inner);
}

bool ompi_osc_cached_helper_all_are_near(ompi_communicator_t *comm)
{
    return ompi_comm_rank(comm) == farther(comm);
}

/* Are accumulates of several items wrong in memory of MPI_Win_create?  osc/rdma of 5.0 makes
 * network atomics of them. */
static bool has_wrong_sums(const char *inner)
{
#if 5 == OMPI_MAJOR_VERSION && defined(__x86_64__)
    return 0 == strcmp("rdma", inner);
#else
    (void) inner;
    return false;
#endif
}

/* Would operations of other processes go wrong that are right in memory of MPI_Win_allocate? */
static bool is_wrong_with(ompi_communicator_t *comm, const char *inner)
{
    return has_late_gets(comm, inner) || has_wrong_sums(inner);
}

/* May the inner component have the memory of this window? */
static ompi_osc_cached_for_inner_t is_for_inner(const ompi_win_t *win, ompi_communicator_t *comm,
                                                const char *inner)
{
    ompi_osc_cached_mapped_file_t file;

    if (!ompi_osc_cached_storage_has(win)
        || OSC_CACHED_FILE_ROUTE_INNER == ompi_osc_cached_params.storage_route) {
        return OSC_CACHED_FOR_INNER;
    }
    if (is_wrong_with(comm, inner)) { /* also where all of it is in memory */
        return OSC_CACHED_NOT_FOR_INNER;
    }
    if (!ompi_osc_cached_storage_find(win, &file)) {
        return OSC_CACHED_FOR_INNER;
    }
    /* pages of a file cannot be pinned */
    return OSC_CACHED_FILE_ROUTE_HELPER == ompi_osc_cached_params.storage_route
                   || (!file.in_memory && ompi_osc_cached_helper_has_rdma())
               ? OSC_CACHED_FOR_HELPER
               : OSC_CACHED_FOR_INNER;
}

bool ompi_osc_cached_helper_is_right_with(const ompi_win_t *win, ompi_communicator_t *comm,
                                          const char *inner)
{
    int right = OSC_CACHED_NOT_FOR_INNER != is_for_inner(win, comm, inner);

    return OMPI_SUCCESS == ompi_osc_cached_helper_agree(comm, &right, 1, MPI_MIN) && right;
}

void ompi_osc_cached_helper_vote(const ompi_win_t *win, ompi_communicator_t *comm,
                                 opal_info_t *info, int flavor, const void *base, const char *inner,
                                 bool needed, int64_t votes[OSC_CACHED_VOTES])
{
    int rank = ompi_comm_rank(comm);
    bool on_device = MPI_WIN_FLAVOR_CREATE == flavor && ompi_osc_cached_is_on_device(base), named;
    int wish = needed ? OSC_CACHED_HELPER_ON : wish_of(info, &named);

    if (on_device && !needed && OSC_CACHED_HELPER_ON == wish) {
        tell_refusal("its memory is that of a device",
                     "create the window in memory of the host, or do not\nrequest a helper for it");
    }
    votes[OSC_CACHED_VOTE_WISH] = (is_cut_off || on_device) ? OSC_CACHED_HELPER_OFF : wish;
    votes[OSC_CACHED_VOTE_NODE] = MPI_WIN_FLAVOR_ALLOCATE == flavor && !needed
                                  && OSC_CACHED_PER_NODE == ompi_osc_cached_params.helper_per;
    votes[OSC_CACHED_VOTE_RUNS] = OSC_CACHED_HELPER_OFF != votes[OSC_CACHED_VOTE_WISH]
                                  && !votes[OSC_CACHED_VOTE_NODE] && ompi_osc_cached_helper_serves()
                                  && knows_all(comm, NULL);
    votes[OSC_CACHED_VOTE_USELESS] = OSC_CACHED_HELPER_AUTO != votes[OSC_CACHED_VOTE_WISH]
                                     || rank == farther(comm) || ompi_osc_cached_helper_has_rdma();
    votes[OSC_CACHED_VOTE_NUMBER] =
        (0 == rank) ? (int64_t) ompi_osc_cached_helper_number() : INT64_MAX;
    votes[OSC_CACHED_VOTE_INNER] = is_for_inner(win, comm, inner);
}

bool ompi_osc_cached_helper_is_agreed(const int64_t votes[OSC_CACHED_VOTES])
{
    return (0 == votes[OSC_CACHED_VOTE_USELESS]
                    || OSC_CACHED_FOR_INNER != votes[OSC_CACHED_VOTE_INNER]
                ? OSC_CACHED_HELPER_AUTO
                : OSC_CACHED_HELPER_ON)
           <= votes[OSC_CACHED_VOTE_WISH];
}

/* Start the helpers of a window, and see whether they can serve it.  Collective. */
static bool can_serve(ompi_communicator_t *comm, const ompi_osc_cached_node_t *node,
                      int64_t votes[OSC_CACHED_VOTES])
{
    bool learnt;
    int good = ompi_osc_cached_helper_start_all(comm, node, votes, &learnt) && learnt
               && ompi_osc_cached_helper_reaches_others(comm, node, votes);

    votes[OSC_CACHED_VOTE_RUNS] =
        OMPI_SUCCESS == ompi_osc_cached_helper_agree(comm, &good, 1, MPI_MIN) && good;
    return 0 != votes[OSC_CACHED_VOTE_RUNS];
}

ompi_osc_cached_node_t *ompi_osc_cached_helper_allocate(ompi_communicator_t *comm, size_t size,
                                                        int64_t votes[OSC_CACHED_VOTES],
                                                        bool on_file, void **base)
{
    ompi_osc_cached_node_t *node = NULL;
    const char *why = NULL;

    if (ompi_osc_cached_helper_is_agreed(votes) && votes[OSC_CACHED_VOTE_NODE]) {
        node = ompi_osc_cached_node_create(comm, size, &why);
        if (NULL != node && !can_serve(comm, node, votes)) {
            /* nobody would copy, and the inner component would have memory of another kind */
            ompi_osc_cached_node_destroy(node);
            node = NULL;
            votes[OSC_CACHED_VOTE_WISH] = OSC_CACHED_HELPER_OFF;
        }
        if (NULL != node) {
            *base = node->mine.base;
        }
    } else if (ompi_osc_cached_helper_is_agreed(votes)
               && OSC_CACHED_PER_NODE == ompi_osc_cached_params.helper_per) {
        why = on_file ? "Its memory is a file, to which only its own process writes."
                      : "Its memory was not allocated by MPI_Win_allocate.";
    }
    if (NULL != why) {
        opal_show_help("help-mpi-osc-cached.txt", "helper-per", true, why,
                       opal_process_info.nodename);
    }
    return node;
}

void ompi_osc_cached_helper_release(ompi_osc_cached_node_t *memory)
{
    ompi_osc_cached_node_destroy(memory);
}

/* --- Start */

/* The processes of this node that we know of, in the order of their names, and the processors that
 * each of them runs on. */
static struct {
    opal_mutex_t lock;
    uint64_t *names;
    char **processors;
    unsigned count;
} neighbours = {.lock = OPAL_MUTEX_STATIC_INIT};

/* Without memory it stays unknown. */
static void remember(uint64_t name, const char *processors)
{
    unsigned i = 0, behind;
    uint64_t *names;
    char **lists, *copy;

    while (i < neighbours.count && neighbours.names[i] < name) {
        ++i;
    }
    if (i < neighbours.count && name == neighbours.names[i]) {
        return;
    }
    names = realloc(neighbours.names, (neighbours.count + 1) * sizeof(*names));
    neighbours.names = (NULL == names) ? neighbours.names : names;
    lists = realloc(neighbours.processors, (neighbours.count + 1) * sizeof(*lists));
    neighbours.processors = (NULL == lists) ? neighbours.processors : lists;
    copy = strdup(processors);
    if (NULL == names || NULL == lists || NULL == copy) {
        free(copy);
        return;
    }
    behind = neighbours.count++ - i;
    memmove(names + i + 1, names + i, behind * sizeof(*names));
    memmove(lists + i + 1, lists + i, behind * sizeof(*lists));
    names[i] = name;
    lists[i] = copy;
}

/* Place our thread among those of this node, when we know all processes of our job there, from one
 * window or from several.  What a process has told begins with the processors that it runs on. */
static void find_place(ompi_communicator_t *comm, const char *told, size_t bytes, bool serves)
{
    uint64_t mine = ompi_osc_cached_helper_name(comm->c_local_group, ompi_comm_rank(comm));
    unsigned me = 0, here = 0;

    opal_mutex_lock(&neighbours.lock);
    for (int i = 0; i < ompi_comm_size(comm); ++i) {
        if (ompi_osc_cached_is_near(comm->c_local_group, i)) {
            remember(ompi_osc_cached_helper_name(comm->c_local_group, i),
                     told + (size_t) i * bytes);
        }
    }
    for (unsigned i = 0; i < neighbours.count; ++i) {
        me = (mine == neighbours.names[i]) ? i : me;
        here += mine >> 32 == neighbours.names[i] >> 32;
    }
    if (serves && (unsigned) opal_process_info.num_local_peers + 1 == here) {
        ompi_osc_cached_helper_settle((const char *const *) neighbours.processors, neighbours.count,
                                      me);
    }
    opal_mutex_unlock(&neighbours.lock);
}

void ompi_osc_cached_helper_forget_neighbours(void)
{
    while (0 < neighbours.count) {
        free(neighbours.processors[--neighbours.count]);
    }
    free(neighbours.names);
    free(neighbours.processors);
    neighbours.names = NULL;
    neighbours.processors = NULL;
}

/* Tell all processes where all are: on which processors, and at which address, if they have a
 * helper; false: they have not met, and all know that.
 *
 * @param[out] learnt  this process knows all others */
static bool exchange_addresses(ompi_communicator_t *comm, bool *learnt)
{
    size_t bytes;
    const void *address = ompi_osc_cached_helper_address(&bytes);
    const char *processors = ompi_osc_cached_helper_processors();
    size_t before = strlen(processors) + 1;
    int size = ompi_comm_size(comm), most = (int) (before + 1 + bytes);
    bool good = OMPI_SUCCESS == ompi_osc_cached_helper_agree(comm, &most, 1, MPI_MAX);
    char *all = good ? calloc((size_t) size + 1, (size_t) most) : NULL;
    int ready = NULL != all;

    /* when one process has no memory nobody waits for it */
    if (OMPI_SUCCESS != ompi_osc_cached_helper_agree(comm, &ready, 1, MPI_MIN) || !ready) {
        free(all);
        return false;
    }
    memcpy(all + (size_t) size * (size_t) most, processors, before);
    if (0 < bytes) {
        all[(size_t) size * (size_t) most + before] = 1;
        memcpy(all + (size_t) size * (size_t) most + before + 1, address, bytes);
    }
    good =
        OMPI_SUCCESS
        == comm->c_coll->coll_allgather(all + (size_t) size * (size_t) most, most, MPI_BYTE, all,
                                        most, MPI_BYTE, comm, comm->c_coll->coll_allgather_module);
    *learnt = good;
    for (int i = 0; i < size && *learnt; ++i) {
        const char *told = all + (size_t) i * (size_t) most;

        before = strlen(told) + 1;
        if (1 == told[before]) {
            *learnt =
                ompi_osc_cached_helper_learn(ompi_osc_cached_helper_name(comm->c_local_group, i),
                                             told + before + 1, (size_t) most - before - 1);
        }
    }
    if (*learnt) {
        find_place(comm, all, (size_t) most, 0 < bytes);
    }
    free(all);
    return good;
}

/* There is no helper; who asked for one is told. */
static void tell_why(const int64_t votes[OSC_CACHED_VOTES], const char *why)
{
    if (OSC_CACHED_HELPER_ON == votes[OSC_CACHED_VOTE_WISH]) {
        opal_show_help("help-mpi-osc-cached.txt", "no-helper", true, why,
                       opal_process_info.nodename);
    }
}

/* Are there as many descriptors as UCX may still need to connect this process?  With TCP that is
 * one for each helper that it will ask, one for each process that will ask its own, and, for notes,
 * one for each other helper, or two for a moment, when both connect at the same time.  A UCX that
 * has none left ends this process or the other one by a signal. */
static bool can_connect(ompi_communicator_t *comm, const ompi_osc_cached_node_t *node, bool notes)
{
    enum { MORE = 16 }; /* for the helper itself */
    int rank = ompi_comm_rank(comm);
    bool serves = rank == ompi_osc_cached_node_helper(node, rank);
    bool asks = ompi_osc_cached_helper_is_running(), shares_memory = ucx_shares_memory();
    bool is_asked = asks && ompi_osc_cached_helper_serves();
    rlim_t needed = (serves ? is_asked : asks) ? 0 : MORE, used = 0;
    struct rlimit most;
    DIR *folder;

    if (ompi_osc_cached_helper_has_rdma() || 0 != getrlimit(RLIMIT_NOFILE, &most)) {
        return true;
    }
    for (int i = 0; i < ompi_comm_size(comm); ++i) {
        uint64_t name = ompi_osc_cached_helper_name(comm->c_local_group, i);

        if (rank != i && !(shares_memory && ompi_osc_cached_is_near(comm->c_local_group, i))) {
            needed += i == ompi_osc_cached_node_helper(node, i)
                      && !(asks && ompi_osc_cached_helper_asks(name));
            needed += serves && !(is_asked && ompi_osc_cached_helper_is_asked_by(name));
            needed += notes && !(is_asked && ompi_osc_cached_helper_is_noted(name)) ? 2 : 0;
        }
    }
    if (0 == needed) {
        return true;
    }
    folder = opendir("/proc/self/fd");
    if (NULL == folder) {
        return EMFILE != errno;
    }
    while (NULL != readdir(folder)) {
        ++used;
    }
    (void) closedir(folder);
    return used + needed <= most.rlim_cur;
}

bool ompi_osc_cached_helper_can_note(ompi_communicator_t *comm)
{
    return can_connect(comm, NULL, true);
}

bool ompi_osc_cached_helper_start_all(ompi_communicator_t *comm, const ompi_osc_cached_node_t *node,
                                      const int64_t votes[OSC_CACHED_VOTES], bool *learnt)
{
    int rank = ompi_comm_rank(comm), values[2];
    const char *why;

    *learnt = true;
    if (!ompi_osc_cached_helper_is_agreed(votes) || votes[OSC_CACHED_VOTE_RUNS]) {
        return ompi_osc_cached_helper_is_agreed(votes);
    }
    why = can_connect(comm, node, false)
              ? ompi_osc_cached_helper_start(rank == ompi_osc_cached_node_helper(node, rank))
              : "UCX may run out of descriptors when it connects the processes (are there file "
                "descriptors left?)";
    values[0] = NULL == why;
    values[1] = NULL == why && knows_all(comm, node);
    if (NULL != why) {
        tell_why(votes, why);
    }
    return OMPI_SUCCESS == ompi_osc_cached_helper_agree(comm, values, 2, MPI_MIN) && values[0]
           && (values[1] || exchange_addresses(comm, learnt));
}

bool ompi_osc_cached_helper_reaches_others(ompi_communicator_t *comm,
                                           const ompi_osc_cached_node_t *node,
                                           const int64_t votes[OSC_CACHED_VOTES])
{
    int rank = ompi_comm_rank(comm), peer = farther(comm);

    if (rank == peer) {
        peer = (rank + 1) % ompi_comm_size(comm);
    }
    is_cut_off = rank != peer
                 && NULL
                        == ompi_osc_cached_helper_reach(ompi_osc_cached_helper_name(
                            comm->c_local_group, ompi_osc_cached_node_helper(node, peer)));
    if (is_cut_off) { /* once: the next windows do not try */
        tell_why(votes, "UCX does not reach the other processes");
    }
    return !is_cut_off;
}

bool ompi_osc_cached_helper_serves_alone(ompi_communicator_t *comm, int64_t votes[OSC_CACHED_VOTES])
{
    return OSC_CACHED_FOR_INNER != votes[OSC_CACHED_VOTE_INNER]
           && ompi_osc_cached_helper_is_agreed(votes) && can_serve(comm, NULL, votes);
}

bool ompi_osc_cached_helper_must_serve(const int64_t votes[OSC_CACHED_VOTES])
{
    return OSC_CACHED_NOT_FOR_INNER == votes[OSC_CACHED_VOTE_INNER];
}

bool ompi_osc_cached_helper_lets_copy(const char *inner, const int64_t votes[OSC_CACHED_VOTES])
{
    return 0 == strcmp("ucx", inner) && ucx_shares_memory()
           && OSC_CACHED_FOR_INNER == votes[OSC_CACHED_VOTE_INNER];
}
