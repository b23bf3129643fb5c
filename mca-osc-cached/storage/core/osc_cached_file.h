/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * What a program asks for by the info keys of a window on a file (those of mpi-storagewin), and
 * which bytes of the window lie in the file.
 *
 *     window   |<- memory ->|<------ file ------>|     order memory_first, factor 0.6
 *                           |                    |
 *     file     |<- offset ->|<------------------>|
 *
 * I1  memory and file together are the window, each byte once
 * I2  the second part begins at a page
 * I3  the offset is a multiple of the page
 */
#ifndef OSC_CACHED_FILE_H
#define OSC_CACHED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** bytes of a value, with its end; Open MPI's are shorter */
enum { OSC_CACHED_FILE_VALUE = 1025 };

/** How the program is going to read: what the kernel should read in advance. */
typedef enum {
    OSC_CACHED_FILE_RANDOM,     /**< nothing */
    OSC_CACHED_FILE_SEQUENTIAL, /**< much */
    OSC_CACHED_FILE_NORMAL,     /**< what it does by default */
} osc_cached_file_access_t;

typedef struct {
    bool on_storage; /**< alloc_type: else the window is none of ours */
    char name[OSC_CACHED_FILE_VALUE];
    uint64_t offset;    /**< bytes */
    bool automatic;     /**< factor auto: in memory what fits there */
    double factor;      /**< of the window, in the file */
    bool storage_first; /**< the window begins in the file */
    bool unlinks;       /**< the file is removed when the window is freed */
    bool discards;      /**< nothing is written when the window is freed */
    unsigned permissions;
    osc_cached_file_access_t access;
} osc_cached_file_wish_t;

/** Parts of a window, in bytes. */
typedef struct {
    uint64_t file_start, file_size;
    uint64_t memory_start, memory_size;
} osc_cached_file_plan_t;

/** Number of keys, and their names. */
enum { OSC_CACHED_FILE_KEYS = 9 };
extern const char *const osc_cached_file_keys[OSC_CACHED_FILE_KEYS];

/** Nothing was asked for. */
void osc_cached_file_wish_init(osc_cached_file_wish_t *wish);

/**
 * Take the value of a key.
 *
 * @param key  of osc_cached_file_keys
 * @return NULL, or which values are allowed; then the wish is as it was
 */
const char *osc_cached_file_wish_take(osc_cached_file_wish_t *wish, int key, const char *value);

/** The value of a key that is in force; value has room for OSC_CACHED_FILE_VALUE bytes. */
void osc_cached_file_wish_write(const osc_cached_file_wish_t *wish, int key, char *value);

/**
 * Divide a window of size bytes.
 *
 * @param page    bytes, a power of two
 * @param memory  bytes that there are, for automatic
 * @return NULL, or what is wrong
 */
const char *osc_cached_file_plan(const osc_cached_file_wish_t *wish, uint64_t size, uint64_t page,
                                 uint64_t memory, osc_cached_file_plan_t *plan);

#endif /* OSC_CACHED_FILE_H */
