/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Searches of a queue with the vector instructions that this CPU has.
 *
 * All do the same: per node, compare blocks of LLAMATCH_BLOCK tags with the key and leave out what
 * is not live. They differ in how many tags one instruction compares.
 */
#ifndef LLAMATCH_SIMD_H
#define LLAMATCH_SIMD_H

#include "llamatch_queue.h"

typedef struct llamatch_simd_path {
    const char *name; /**< "avx512", "avx2", "sse2", "neon" or "scalar" */
    llamatch_find_fn_t find;
} llamatch_simd_path_t;

/** The searches that run on this CPU, fastest first; the last one is always "scalar". */
size_t llamatch_simd_paths(const llamatch_simd_path_t **paths_out);

#endif /* LLAMATCH_SIMD_H */
