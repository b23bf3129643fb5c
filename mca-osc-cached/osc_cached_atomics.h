/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For files with paths that must stay short; included right after ompi_config.h, before any
 * function.  gcc 10 and later call a function for an atomic addition on ARM: then every argument of
 * the path has to be saved around it.
 */

#ifndef OSC_CACHED_ATOMICS_H
#define OSC_CACHED_ATOMICS_H

#if defined(__aarch64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 10
#pragma GCC target("no-outline-atomics")
#endif

#endif /* OSC_CACHED_ATOMICS_H */
