/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif

#include "ompi_config.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ompi/constants.h"
#include "ompi/mca/coll/coll.h"

#include "osc_cached_compat.h"
#include "osc_cached_descriptor.h"
#include "osc_cached_helper_node.h"

/* What a process tells of its memory, which has no name: nothing is left behind, whenever a process
 * ends.  Others open it by the process that has it. */
enum {
    HELPER, /* rank whose process has the helper of its node */
    GOOD,   /* there is memory */
    SIZE,   /* bytes */
    WHERE,  /* see osc_cached_descriptor.h */
    FIELDS = WHERE + OSC_CACHED_TOLD
};

static void *map(int fd, size_t size)
{
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    return (MAP_FAILED == base) ? NULL : base;
}

/* @return the descriptor, or -1 */
static int allocate(ompi_osc_cached_part_t *mine)
{
    struct rlimit limit;
    int fd = memfd_create("osc_cached", MFD_CLOEXEC);

    /* beyond the limit of files, which this is, a signal would end the process */
    if (0 <= fd && 0 == getrlimit(RLIMIT_FSIZE, &limit) && mine->size <= limit.rlim_cur
        && 0 == ftruncate(fd, (off_t) mine->size)) {
        mine->base = map(fd, mine->size);
    }
    if (0 <= fd && NULL == mine->base) {
        (void) close(fd);
        fd = -1;
    }
    return fd;
}

/* The memory of another process of our node. @return NULL: it cannot be reached */
static void *reach(const int64_t *told)
{
    int fd = ompi_osc_cached_reach_descriptor(&told[WHERE], O_RDWR);
    void *base = (0 <= fd) ? map(fd, (size_t) told[SIZE]) : NULL;

    if (0 <= fd) {
        (void) close(fd);
    }
    return base;
}

/* The first process of our node. */
static int first_of_node(ompi_communicator_t *comm)
{
    int rank = ompi_comm_rank(comm);

    for (int i = 0; i < rank; ++i) {
        if (ompi_osc_cached_is_near(comm->c_local_group, i)) {
            return i;
        }
    }
    return rank;
}

static void tell(const ompi_osc_cached_part_t *mine, int fd, int64_t *told)
{
    told[GOOD] = ompi_osc_cached_tell_descriptor(fd, &told[WHERE]) || 0 == mine->size;
}

/* Map what the helper of our node serves. */
static bool map_all(ompi_osc_cached_node_t *node, const int64_t (*told)[FIELDS], int size)
{
    int rank = node->mine.rank;

    for (int i = 0; i < size; ++i) {
        node->parts += told[rank][HELPER] == told[i][HELPER];
    }
    node->part = calloc((size_t) node->parts + 1, sizeof(*node->part));
    node->parts = 0;
    for (int i = 0; i < size && NULL != node->part; ++i) {
        ompi_osc_cached_part_t part = {.rank = i, .size = (size_t) told[i][SIZE]};

        node->helpers[i] = (int) told[i][HELPER];
        if (told[rank][HELPER] != told[i][HELPER]) {
            continue;
        }
        if (i == rank) {
            part = node->mine;
        } else if (0 < part.size) {
            part.base = reach(told[i]);
            if (NULL == part.base) {
                return false;
            }
        }
        node->part[node->parts++] = part;
    }
    return NULL != node->part;
}

ompi_osc_cached_node_t *ompi_osc_cached_node_create(ompi_communicator_t *comm, size_t size,
                                                    const char **why)
{
    int count = ompi_comm_size(comm), rank = ompi_comm_rank(comm), good, fd = -1;
    ompi_osc_cached_node_t *node = calloc(1, sizeof(*node));
    int64_t(*told)[FIELDS] = calloc((size_t) count + 1, sizeof(*told));
    bool all = NULL != node && NULL != told;

    *why = NULL;
    if (all) {
        node->helpers = malloc((size_t) count * sizeof(*node->helpers));
        node->mine = (ompi_osc_cached_part_t){.rank = rank, .size = size};
        fd = (0 < size) ? allocate(&node->mine) : -1;
        all = NULL != node->helpers && (0 == size || 0 <= fd);
    }
    if (!all) {
        *why = "The system gives no memory that two processes can map.";
    }
    /* when one process has no memory nobody waits for it */
    good = all;
    all = OMPI_SUCCESS
              == comm->c_coll->coll_allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, comm,
                                              comm->c_coll->coll_allreduce_module)
          && good;
    if (all) {
        told[count][HELPER] = first_of_node(comm);
        told[count][SIZE] = (int64_t) size;
        tell(&node->mine, fd, told[count]);
        good =
            OMPI_SUCCESS
            == comm->c_coll->coll_allgather(told[count], FIELDS, MPI_INT64_T, told, FIELDS,
                                            MPI_INT64_T, comm, comm->c_coll->coll_allgather_module);
        good = good && told[rank][GOOD] && map_all(node, (const int64_t(*)[FIELDS]) told, count);
        if (!good) {
            *why = "A process cannot map the memory of another one of its node (/proc/PID/fd).";
        }
        all = OMPI_SUCCESS
                  == comm->c_coll->coll_allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, comm,
                                                  comm->c_coll->coll_allreduce_module)
              && good;
    }
    if (0 <= fd) {
        (void) close(fd);
    }
    free(told);
    if (!all) {
        ompi_osc_cached_node_destroy(node);
        node = NULL;
    }
    return node;
}

void ompi_osc_cached_node_destroy(ompi_osc_cached_node_t *node)
{
    if (NULL == node) {
        return;
    }
    for (int i = 0; i < node->parts; ++i) {
        if (node->mine.rank != node->part[i].rank && NULL != node->part[i].base) {
            (void) munmap(node->part[i].base, node->part[i].size);
        }
    }
    if (NULL != node->mine.base) {
        (void) munmap(node->mine.base, node->mine.size);
    }
    free(node->part);
    free(node->helpers);
    free(node);
}
