/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * userfaultfd(2), as far as write protection goes.  All functions return 0, or errno.
 *
 * OSC_CACHED_UFFD  whether the system has it at all
 */
#ifndef OSC_CACHED_UFFD_H
#define OSC_CACHED_UFFD_H

#ifdef __linux__
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "osc_cached_descriptor.h"
#endif

#if defined(__linux__) && defined(SYS_userfaultfd) && defined(UFFDIO_WRITEPROTECT)

#define OSC_CACHED_UFFD 1

/* of Linux 6.7: headers may be older than the kernel */
enum {
    OSC_CACHED_UFFD_WP = 1 << 0,
    OSC_CACHED_UFFD_WP_SHMEM = 1 << 12,       /**< 5.19: shared memory, too */
    OSC_CACHED_UFFD_WP_UNPOPULATED = 1 << 13, /**< 6.4: pages that nobody has touched, too */
    OSC_CACHED_UFFD_WP_ASYNC = 1 << 15,       /**< 6.7: lifted by the first store */
    OSC_CACHED_UFFD_USER_MODE_ONLY = 1,       /**< system calls get EFAULT; needs no privilege */
};

static inline int ompi_osc_cached_uffd_api(int descriptor, uint64_t features)
{
    struct uffdio_api api = {.api = UFFD_API, .features = features};

    return (0 == ioctl(descriptor, UFFDIO_API, &api)) ? 0 : errno;
}

/**
 * Not where half of the descriptors are in use: the program may want the rest.
 *
 * @param flags        OSC_CACHED_UFFD_USER_MODE_ONLY, or 0: needs a privilege
 * @param[out] result  the descriptor, for poll(); -1 when it cannot be had
 */
static inline int ompi_osc_cached_uffd_open(int flags, int *result)
{
    int device, error = 0;

    flags |= O_CLOEXEC | O_NONBLOCK;
    *result = (int) syscall(SYS_userfaultfd, flags);
    if (-1 == *result) {
        error = errno;
        device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC); /* whose mode gives the right */
        if (-1 != device) {
            *result = ioctl(device, _IO(0xAA, 0), flags);
            error = (-1 == *result) ? errno : 0;
            (void) close(device);
        }
    }
    if (0 == error && !ompi_osc_cached_may_keep(*result)) {
        (void) close(*result);
        *result = -1;
        error = EMFILE;
    }
    return error;
}

static inline int ompi_osc_cached_uffd_watch(int descriptor, const void *from, uint64_t bytes)
{
    struct uffdio_register watch = {.range = {(uintptr_t) from, bytes},
                                    .mode = UFFDIO_REGISTER_MODE_WP};

    return (0 == ioctl(descriptor, UFFDIO_REGISTER, &watch)) ? 0 : errno;
}

static inline int ompi_osc_cached_uffd_unwatch(int descriptor, const void *from, uint64_t bytes)
{
    struct uffdio_range range = {(uintptr_t) from, bytes};

    return (0 == ioctl(descriptor, UFFDIO_UNREGISTER, &range)) ? 0 : errno;
}

/** Without protection, stores that wait continue. */
static inline int ompi_osc_cached_uffd_protect(int descriptor, const void *from, uint64_t bytes,
                                               bool protects)
{
    struct uffdio_writeprotect protection = {.range = {(uintptr_t) from, bytes},
                                             .mode = protects ? UFFDIO_WRITEPROTECT_MODE_WP : 0};

    return (0 == ioctl(descriptor, UFFDIO_WRITEPROTECT, &protection)) ? 0 : errno;
}

/** Stores that wait are tried again. */
static inline void ompi_osc_cached_uffd_wake(int descriptor, const void *from, uint64_t bytes)
{
    struct uffdio_range range = {(uintptr_t) from, bytes};

    (void) ioctl(descriptor, UFFDIO_WAKE, &range);
}

#else

#define OSC_CACHED_UFFD 0

#endif

#endif /* OSC_CACHED_UFFD_H */
