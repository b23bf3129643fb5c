/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The MCA variables (osc_cached_params.def), and how users write names and numbers.
 */

#ifndef OSC_CACHED_PARAMS_H
#define OSC_CACHED_PARAMS_H

#include "ompi_config.h"

#include <stdbool.h>
#include <stddef.h>

#include "opal/mca/base/mca_base_var.h"

#include "core/osc_cached_evict.h"
#include "core/osc_cached_lifetime.h"

BEGIN_C_DECLS

/** Whether processes send each other blocks of windows on files that they have, in mode coherent;
 * of several values the least counts. */
typedef enum {
    OSC_CACHED_COOPERATE_OFF,     /**< gets are kept, not blocks */
    OSC_CACHED_COOPERATE_PRIVATE, /**< blocks, from their owners only */
    OSC_CACHED_COOPERATE_PAPER,
    OSC_CACHED_COOPERATE_AUTO,
} ompi_osc_cached_cooperate_t;

/** Bytes of a block of coherence. */
#define OSC_CACHED_BLOCK_LEAST 4096
#define OSC_CACHED_BLOCK_MOST 0x1p22

/** Which windows have a helper. */
typedef enum {
    OSC_CACHED_HELPER_OFF,
    OSC_CACHED_HELPER_AUTO,
    OSC_CACHED_HELPER_ON,
} ompi_osc_cached_helper_wish_t;

/** Which way puts and gets go in such windows. */
typedef enum {
    OSC_CACHED_TRANSFERS_COST,
    OSC_CACHED_TRANSFERS_HELPER,
    OSC_CACHED_TRANSFERS_INNER,
} ompi_osc_cached_transfers_t;

/** Who has one. */
typedef enum {
    OSC_CACHED_PER_PROCESS,
    OSC_CACHED_PER_NODE,
} ompi_osc_cached_per_t;

/** Where its thread runs, beside the number of a processor. */
enum { OSC_CACHED_CPU_AUTO = -1, OSC_CACHED_CPU_PROCESS = -2 };

/** What is told of windows at the end. */
typedef enum {
    OSC_CACHED_STATS_OFF,
    OSC_CACHED_STATS_JOB,
    OSC_CACHED_STATS_RANKS,
    OSC_CACHED_STATS_JSON,
} ompi_osc_cached_stats_t;

/** What is advised at the end. */
typedef enum {
    OSC_CACHED_ADVISE_OFF,
    OSC_CACHED_ADVISE_TEXT,
    OSC_CACHED_ADVISE_JSON,
} ompi_osc_cached_advise_kind_t;

/** When a window on a file is written to it. */
typedef enum {
    OSC_CACHED_SYNC_SYNC,
    OSC_CACHED_SYNC_ASYNC,
    OSC_CACHED_SYNC_FREE,
} ompi_osc_cached_storage_sync_t;

/** Who serves puts and gets of a window on a file. */
typedef enum {
    OSC_CACHED_FILE_ROUTE_AUTO,
    OSC_CACHED_FILE_ROUTE_INNER,
    OSC_CACHED_FILE_ROUTE_HELPER,
} ompi_osc_cached_storage_route_t;

/** Values of the MCA variables of osc_cached_params.def. */
typedef struct {
#define OSC_CACHED_FIELD_STRING char *
#define OSC_CACHED_FIELD_BOOL bool
#define OSC_CACHED_FIELD_MODE int
#define OSC_CACHED_FIELD_SCHEME int
#define OSC_CACHED_FIELD_PASSIVE int
#define OSC_CACHED_FIELD_STORES int
#define OSC_CACHED_FIELD_COOPERATE int
#define OSC_CACHED_FIELD_HELPER int
#define OSC_CACHED_FIELD_TRANSFERS int
#define OSC_CACHED_FIELD_SYNC int
#define OSC_CACHED_FIELD_PER int
#define OSC_CACHED_FIELD_STATS int
#define OSC_CACHED_FIELD_ADVISE int
#define OSC_CACHED_FIELD_FILE_ROUTE int
#define OSC_CACHED_PARAM(name, kind, def, level, scope, help) OSC_CACHED_FIELD_##kind name;
#define OSC_CACHED_NUMBER(name, unit, def, least, most, level, scope, help)
#include "osc_cached_params.def"
} ompi_osc_cached_params_t;

/** The numbers among them. */
typedef struct {
#define OSC_CACHED_FIELD_COUNT unsigned long
#define OSC_CACHED_FIELD_BYTES unsigned long
#define OSC_CACHED_FIELD_BLOCK unsigned long
#define OSC_CACHED_FIELD_RATIO double
#define OSC_CACHED_FIELD_CPU int
#define OSC_CACHED_PARAM(name, kind, def, level, scope, help)
#define OSC_CACHED_NUMBER(name, unit, def, least, most, level, scope, help) \
    OSC_CACHED_FIELD_##unit name;
#include "osc_cached_params.def"
} ompi_osc_cached_numbers_t;

/** How a number is written. */
typedef enum {
    OSC_CACHED_UNIT_COUNT, /**< digits */
    OSC_CACHED_UNIT_BYTES, /**< digits, and K, M or G */
    OSC_CACHED_UNIT_BLOCK, /**< the same, 0 or a power of two */
    OSC_CACHED_UNIT_RATIO, /**< with a fraction */
    OSC_CACHED_UNIT_CPU,   /**< digits, auto or process */
} ompi_osc_cached_unit_t;

extern ompi_osc_cached_params_t ompi_osc_cached_params;
extern ompi_osc_cached_numbers_t ompi_osc_cached_numbers;

/** Names and values; the last name is NULL. */
extern const mca_base_var_enum_value_t ompi_osc_cached_modes[];
extern const mca_base_var_enum_value_t ompi_osc_cached_schemes[];
extern const mca_base_var_enum_value_t ompi_osc_cached_stores[];
extern const mca_base_var_enum_value_t ompi_osc_cached_cooperations[];

/**
 * Register the variables and read them.
 *
 * @param warns  somebody will use them: tell of bad ones
 */
int ompi_osc_cached_params_register(const mca_base_component_t *component, bool warns);

/** Read a number; false: not one, or not between least and most. */
bool ompi_osc_cached_read_number(const char *text, ompi_osc_cached_unit_t unit, double least,
                                 double most, double *value);
/** Write it for the user. */
void ompi_osc_cached_write_number(double value, ompi_osc_cached_unit_t unit, char *text,
                                  size_t size);
/** The same as users write it, and the man page does: 4K instead of 4096. */
void ompi_osc_cached_write_short(double value, ompi_osc_cached_unit_t unit, char *text,
                                 size_t size);

END_C_DECLS

#endif /* OSC_CACHED_PARAMS_H */
