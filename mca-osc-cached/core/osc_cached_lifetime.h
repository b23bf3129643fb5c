/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * How long a window may keep what a get has brought: what follows from the settings, the epoch, and
 * what the machine has.  test/unit/test_osc_cached_lifetime.c compares it, for all combinations,
 * with the first table of CONSISTENCY in the man page.
 */
#ifndef OSC_CACHED_LIFETIME_H
#define OSC_CACHED_LIFETIME_H

#include <stdbool.h>

typedef enum {
    OSC_CACHED_MODE_OFF,
    OSC_CACHED_MODE_TRANSPARENT,
    OSC_CACHED_MODE_ALWAYS,
    OSC_CACHED_MODE_USER,
    OSC_CACHED_MODE_COHERENT,
} ompi_osc_cached_mode_t;

/** What mode transparent keeps in a passive epoch. */
typedef enum {
    OSC_CACHED_PASSIVE_NONE,
    OSC_CACHED_PASSIVE_FLUSH,
} ompi_osc_cached_passive_t;

/** How others learn of a process's stores to its own window. */
typedef enum {
    OSC_CACHED_STORES_DETECT,
    OSC_CACHED_STORES_SYNC,
    OSC_CACHED_STORES_NONE,
    OSC_CACHED_STORES_OFF,
} ompi_osc_cached_stores_t;

/** Data is served until ... */
typedef enum {
    OSC_CACHED_LIFETIME_NOTHING,      /**< it is not kept */
    OSC_CACHED_LIFETIME_EPOCH,        /**< the end of the epoch */
    OSC_CACHED_LIFETIME_FLUSH,        /**< the next flush, lock or sync */
    OSC_CACHED_LIFETIME_WRITE,        /**< somebody writes it */
    OSC_CACHED_LIFETIME_INVALIDATION, /**< the program says so */
    OSC_CACHED_LIFETIME_WINDOW,       /**< the window is freed */
} osc_cached_lifetime_t;

/** Whether a process cannot do without coherence, and so without a helper. */
static inline bool osc_cached_insists_on_coherence(ompi_osc_cached_mode_t mode,
                                                   ompi_osc_cached_stores_t stores)
{
    return OSC_CACHED_STORES_OFF != stores
           && (OSC_CACHED_MODE_COHERENT == mode
               || (OSC_CACHED_MODE_TRANSPARENT == mode && OSC_CACHED_STORES_DETECT != stores));
}

/** Whether it takes coherence for passive epochs, where it is to be had. */
static inline bool osc_cached_accepts_coherence(ompi_osc_cached_mode_t mode,
                                                ompi_osc_cached_stores_t stores,
                                                ompi_osc_cached_passive_t scope, bool on_file)
{
    return OSC_CACHED_MODE_TRANSPARENT == mode && OSC_CACHED_STORES_DETECT == stores
           && OSC_CACHED_PASSIVE_NONE == scope && !on_file;
}

/** The mode that a window has when it is asked for one. */
static inline ompi_osc_cached_mode_t osc_cached_mode_in_force(ompi_osc_cached_mode_t mode,
                                                              ompi_osc_cached_stores_t stores,
                                                              bool coherent)
{
    if (OSC_CACHED_MODE_COHERENT == mode && !coherent) {
        return OSC_CACHED_MODE_TRANSPARENT;
    }
    if (OSC_CACHED_MODE_TRANSPARENT == mode && coherent && OSC_CACHED_STORES_DETECT != stores) {
        return OSC_CACHED_MODE_COHERENT; /* the program said so, by osc_cached_stores */
    }
    return mode;
}

/** Whether data lives until somebody writes it.
 *
 * @param mode      in force
 * @param coherent  the window has a directory
 * @param passive   the epoch is one of lock or lock_all */
static inline bool osc_cached_lives_until_write(ompi_osc_cached_mode_t mode, bool coherent,
                                                bool passive)
{
    return OSC_CACHED_MODE_COHERENT == mode
           || (coherent && OSC_CACHED_MODE_TRANSPARENT == mode && passive);
}

/** How long data is kept; parameters as above. @param scope  osc_cached_passive_scope */
static inline osc_cached_lifetime_t osc_cached_lifetime(ompi_osc_cached_mode_t mode, bool coherent,
                                                        bool passive,
                                                        ompi_osc_cached_passive_t scope)
{
    if (osc_cached_lives_until_write(mode, coherent, passive)) {
        return OSC_CACHED_LIFETIME_WRITE;
    }
    switch (mode) {
    case OSC_CACHED_MODE_ALWAYS:
        return OSC_CACHED_LIFETIME_WINDOW;
    case OSC_CACHED_MODE_USER:
        return OSC_CACHED_LIFETIME_INVALIDATION;
    case OSC_CACHED_MODE_TRANSPARENT:
        return !passive                            ? OSC_CACHED_LIFETIME_EPOCH
               : OSC_CACHED_PASSIVE_FLUSH == scope ? OSC_CACHED_LIFETIME_FLUSH
                                                   : OSC_CACHED_LIFETIME_NOTHING;
    default:
        return OSC_CACHED_LIFETIME_NOTHING;
    }
}

#endif /* OSC_CACHED_LIFETIME_H */
