/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * What kind of memory a window lies in: who else may store to it, and whether the kernel can
 * protect it.  UCX for instance maps a POSIX or a System V segment for MPI_Win_allocate.
 */
#ifndef OSC_CACHED_MAPPING_H
#define OSC_CACHED_MAPPING_H

#include <stddef.h>

typedef enum {
    OSC_CACHED_MAPPING_NONE,      /**< not mapped, or not all of it, or nobody knows */
    OSC_CACHED_MAPPING_PRIVATE,   /**< anonymous memory of this process alone: heap, stack, mmap */
    OSC_CACHED_MAPPING_ANONYMOUS, /**< shared with children of this process */
    OSC_CACHED_MAPPING_MEMFD,     /**< shared, memfd_create() */
    OSC_CACHED_MAPPING_POSIX,     /**< shared, shm_open() */
    OSC_CACHED_MAPPING_SYSV,      /**< shared, shmget() */
    OSC_CACHED_MAPPING_HUGE,      /**< of huge pages that were set aside */
    OSC_CACHED_MAPPING_FILE,      /**< of a file, or a private copy of one */
    OSC_CACHED_MAPPING_MIXED      /**< more than one of them */
} ompi_osc_cached_mapping_t;

ompi_osc_cached_mapping_t ompi_osc_cached_mapping(const void *base, size_t size);

#endif /* OSC_CACHED_MAPPING_H */
