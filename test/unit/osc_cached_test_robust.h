/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether locks outlive their owners here.
 */
#ifndef OSC_CACHED_TEST_ROBUST_H
#define OSC_CACHED_TEST_ROBUST_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* An emulator may not know robust locks. */
static bool is_robust(void)
{
    pthread_mutex_t *lock =
        mmap(NULL, sizeof(*lock), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attributes;
    int result, status;
    pid_t child;

    assert_ptr_not_equal(MAP_FAILED, lock);
    assert_int_equal(0, pthread_mutexattr_init(&attributes));
    assert_int_equal(0, pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED));
    assert_int_equal(0, pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST));
    assert_int_equal(0, pthread_mutex_init(lock, &attributes));
    child = fork();
    assert_int_not_equal(-1, child);
    if (0 == child) {
        _exit(pthread_mutex_lock(lock));
    }
    assert_int_equal(child, waitpid(child, &status, 0));
    result = pthread_mutex_trylock(lock);
    if (EOWNERDEAD == result) {
        assert_int_equal(0, pthread_mutex_unlock(lock));
    }
    assert_int_equal(0, munmap(lock, sizeof(*lock)));
    if (EOWNERDEAD != result) {
        print_message("robust locks do not work here\n");
    }
    return EOWNERDEAD == result;
}

#endif /* OSC_CACHED_TEST_ROBUST_H */
