/*
 * Files of which most is not in memory, in the place of the C library's: a helper that does not find
 * bytes there has a thread read them, and serves others meanwhile.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "fuzz.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FOUND = 3 }; /* one of so many reads finds its bytes */

ssize_t preadv2(int file, const struct iovec *vector, int count, off_t from, int flags)
{
    static atomic_uint reads;

    if (options.cold && 0 != atomic_fetch_add(&reads, 1) % FOUND) {
        errno = EAGAIN;
        return -1;
    }
    return (ssize_t) syscall(SYS_preadv2, file, vector, count, from, 0, flags);
}
