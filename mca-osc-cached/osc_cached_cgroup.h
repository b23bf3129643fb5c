/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Memory limits of control groups: what a batch system or a container leaves of the node's memory.
 */
#ifndef OSC_CACHED_CGROUP_H
#define OSC_CACHED_CGROUP_H

#include <stdint.h>

/**
 * Bytes that the control groups of this process, and those that they are in, allow to all their
 * processes together.
 *
 * @param root  "", or for tests a directory that stands for /
 * @return the smallest limit; UINT64_MAX: none is known
 */
uint64_t ompi_osc_cached_cgroup_limit(const char *root);

#endif /* OSC_CACHED_CGROUP_H */
