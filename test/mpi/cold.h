/*
 * Files of which nothing is in memory: functions in the place of the C library's, for programs that
 * are linked with -rdynamic.  How long reading takes is the program's own pread.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef OMPI_LOCALITY_COLD_H
#define OMPI_LOCALITY_COLD_H

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_int cold;

ssize_t preadv2(int file, const struct iovec *vector, int count, off_t from, int flags)
{
    if (cold) {
        errno = EAGAIN;
        return -1;
    }
    return (ssize_t) syscall(SYS_preadv2, file, vector, count, from, 0, flags);
}

int mincore(void *begin, size_t bytes, unsigned char *pages)
{
    if (cold) {
        pages[0] = 0;
        return 0;
    }
    return (int) syscall(SYS_mincore, begin, bytes, pages);
}

#endif /* OMPI_LOCALITY_COLD_H */
