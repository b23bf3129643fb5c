/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Descriptors of ours in a program that needs some itself, and memory and room behind them.
 */
#ifndef OSC_CACHED_DESCRIPTOR_H
#define OSC_CACHED_DESCRIPTOR_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

/** Whether a new descriptor, or -1, may be kept: half of all are left to the program.  They are
 * numbered without gaps, as a rule. */
static inline bool ompi_osc_cached_may_keep(int descriptor)
{
    struct rlimit most;

    return 0 <= descriptor
           && (0 != getrlimit(RLIMIT_NOFILE, &most) || (rlim_t) descriptor < most.rlim_cur / 2);
}

/**
 * Room for bytes of a file.  What was there before a failure is not given back.
 *
 * @param in_memory  its file system is: there, some kernels begin again at each signal, so that a
 *                   timer could keep a large request from ever coming to an end
 * @return 0 or errno
 */
static inline int ompi_osc_cached_reserve_room(int descriptor, uint64_t from, uint64_t bytes,
                                               bool in_memory)
{
    enum { STEP = 1 << 20 };
    uint64_t step;
    int error = 0;

    while (0 < bytes && (0 == error || EINTR == error)) {
        step = (in_memory && STEP < bytes) ? STEP : bytes;
        error = posix_fallocate(descriptor, (off_t) from, (off_t) step);
        if (0 == error) {
            from += step;
            bytes -= step;
        }
    }
    return error;
}

#endif /* OSC_CACHED_DESCRIPTOR_H */
