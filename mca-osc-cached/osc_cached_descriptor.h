/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Descriptors of ours in a program that needs some itself, memory and room behind them, and those
 * of other processes of the node.
 */
#ifndef OSC_CACHED_DESCRIPTOR_H
#define OSC_CACHED_DESCRIPTOR_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/** Whether a new descriptor, or -1, may be kept: half of all are left to the program.  They are
 * numbered without gaps, as a rule. */
static inline bool ompi_osc_cached_may_keep(int descriptor)
{
    struct rlimit most;

    return 0 <= descriptor
           && (0 != getrlimit(RLIMIT_NOFILE, &most) || (rlim_t) descriptor < most.rlim_cur / 2);
}

/** Whether so many bytes may be mapped: where there is a limit, half of it is left to the program.
 */
static inline bool ompi_osc_cached_may_map(uint64_t bytes)
{
    struct rlimit most;

    return 0 != getrlimit(RLIMIT_AS, &most) || RLIM_INFINITY == most.rlim_cur
           || bytes <= most.rlim_cur / 2;
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

/** What a process tells of a descriptor of its own: others of its node open it by that. */
enum {
    OSC_CACHED_TOLD_PROCESS,
    OSC_CACHED_TOLD_DESCRIPTOR,
    OSC_CACHED_TOLD_DEVICE, /**< and inode: the process of this number may be another one */
    OSC_CACHED_TOLD_INODE,
    OSC_CACHED_TOLD
};

/** @return whether there is anything to tell */
static inline bool ompi_osc_cached_tell_descriptor(int descriptor, int64_t told[OSC_CACHED_TOLD])
{
    struct stat status;

    if (0 > descriptor || 0 != fstat(descriptor, &status)) {
        return false;
    }
    told[OSC_CACHED_TOLD_PROCESS] = getpid();
    told[OSC_CACHED_TOLD_DESCRIPTOR] = descriptor;
    told[OSC_CACHED_TOLD_DEVICE] = (int64_t) status.st_dev;
    told[OSC_CACHED_TOLD_INODE] = (int64_t) status.st_ino;
    return true;
}

/** Open what another process has, whether it has a name or not.
 * @return a descriptor, or -1: it cannot be reached */
static inline int ompi_osc_cached_reach_descriptor(const int64_t told[OSC_CACHED_TOLD], int flags)
{
    char path[64];
    struct stat status;
    int descriptor;

    snprintf(path, sizeof(path), "/proc/%lld/fd/%lld", (long long) told[OSC_CACHED_TOLD_PROCESS],
             (long long) told[OSC_CACHED_TOLD_DESCRIPTOR]);
    /* in another name space it may be anything */
    descriptor = open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (0 <= descriptor
        && (0 != fstat(descriptor, &status)
            || told[OSC_CACHED_TOLD_DEVICE] != (int64_t) status.st_dev
            || told[OSC_CACHED_TOLD_INODE] != (int64_t) status.st_ino)) {
        (void) close(descriptor);
        descriptor = -1;
    }
    return descriptor;
}

#endif /* OSC_CACHED_DESCRIPTOR_H */
