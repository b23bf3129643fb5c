/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a user is advised to set for the windows of a job, in words and as JSON.
 *
 * A row is a window, or several with the same name and inner component, as in osc_cached_table.h.
 */

#ifndef OSC_CACHED_ADVICE_H
#define OSC_CACHED_ADVICE_H

#include "osc_cached_advise.h"

enum {
    OSC_CACHED_ADVICE_ROWS = 64,
    OSC_CACHED_ADVICE_NAME = 64, /**< bytes */
    /** bytes that are enough for any text, and for any JSON */
    OSC_CACHED_ADVICE_BYTES = (OSC_CACHED_ADVICE_ROWS + 2) * 2048
};

/** Targets of a window: their gets take different times. */
typedef enum {
    OSC_CACHED_ADVICE_NEAR, /**< on the same node */
    OSC_CACHED_ADVICE_FAR,
    OSC_CACHED_ADVICE_SIDES
} osc_cached_advice_side_t;

typedef struct {
    char name[OSC_CACHED_ADVICE_NAME];
    const char *inner; /**< lives as long as the process */
    uint32_t windows;
    uint32_t processes; /**< whose sums these are, of a window */
    bool cacheable;     /**< else such windows are never cached */
    double sums[OSC_CACHED_ADVICE_SIDES][OSC_CACHED_ADVISE_SUMS];
    /** gets of the process that has most: a program takes as long as its slowest process */
    double most_gets[OSC_CACHED_ADVICE_SIDES];
} osc_cached_advice_row_t;

typedef struct {
    int count;       /**< all 0 at the start */
    double memory;   /**< bytes that a process may use to keep data */
    double cheap_ns; /**< gets that take less are not cached */
    osc_cached_advice_row_t rows[OSC_CACHED_ADVICE_ROWS];
} osc_cached_advice_t;

/** Why a window is, or is not, worth a cache. */
typedef enum {
    OSC_CACHED_ADVICE_NEVER,    /**< it is never cached */
    OSC_CACHED_ADVICE_NO_GETS,  /**< there were none */
    OSC_CACHED_ADVICE_DISTINCT, /**< too few gets repeat */
    OSC_CACHED_ADVICE_CHEAP,    /**< gets are as fast as hits */
    OSC_CACHED_ADVICE_WRITTEN,  /**< own writes between repeated gets */
    OSC_CACHED_ADVICE_LARGE,    /**< they do not fit into memory */
    OSC_CACHED_ADVICE_CHANGES,  /**< bytes differed */
    OSC_CACHED_ADVICE_SERVES,   /**< it is worth it */
} osc_cached_advice_verdict_t;

/** What is told of a window. */
typedef struct {
    osc_cached_advice_verdict_t verdict;
    osc_cached_advise_life_t life; /**< that is recommended, or would be */
    double gets, repeated;         /**< the part of the gets that repeat */
    double get_ns;                 /**< of a get */
    double saving_ns, total_ns;    /**< of the process with the most gets */
    double hit_rate, memory;       /**< means of its processes */
    double checked, differed;      /**< repeated gets */
    double coherent_ns; /**< that a coherent cache could save, where others would not; 0: nothing */
    double atomics;     /**< of processes on other nodes: a helper there may execute them */
} osc_cached_advice_told_t;

/** Add a window (row->windows is 1). */
void osc_cached_advice_add(osc_cached_advice_t *advice, const osc_cached_advice_row_t *row);
osc_cached_advice_told_t osc_cached_advice_of(const osc_cached_advice_t *advice,
                                              const osc_cached_advice_row_t *row);
/** For people: a line for each window, and what to type. */
void osc_cached_advice_print(const osc_cached_advice_t *advice, char *text, size_t size);
/** For programs: one JSON object in one line. */
void osc_cached_advice_json(const osc_cached_advice_t *advice, char *text, size_t size);

#endif /* OSC_CACHED_ADVICE_H */
