/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What differs between Open MPI 4.1, 5.0 and 6.0.
 */

#ifndef OSC_CACHED_COMPAT_H
#define OSC_CACHED_COMPAT_H

#include "ompi_config.h"

#include "opal/datatype/opal_datatype.h"
#include "opal/mca/base/mca_base_framework.h"
#include "opal/util/info.h"
#include "opal/util/show_help.h"
#include "ompi/group/group.h"
#include "ompi/mca/osc/osc.h"
#include "ompi/proc/proc.h"
#include "ompi/runtime/params.h"

#ifdef OMPI_OSC_BASE_VERSION_4_0_0 /* 6.0 */
#define OSC_CACHED_BASE_VERSION OMPI_OSC_BASE_VERSION_4_0_0
typedef size_t ompi_osc_cached_count_t; /* of elements */
typedef ptrdiff_t ompi_osc_cached_disp_unit_t;
#define OSC_CACHED_MPI_DISP_UNIT MPI_AINT
/** opal_show_help(), for texts that Open MPI does not have; see osc_cached_compat.c */
#define OSC_CACHED_OWN_HELP 1
#define opal_show_help ompi_osc_cached_show_help
int ompi_osc_cached_show_help(const char *name, const char *topic, int want_header, ...);
#else
#define OSC_CACHED_BASE_VERSION OMPI_OSC_BASE_VERSION_3_0_0
typedef int ompi_osc_cached_count_t;
typedef int ompi_osc_cached_disp_unit_t;
#define OSC_CACHED_MPI_DISP_UNIT MPI_INT
#endif

/** The value of an info key, which may be cut. @return false: it is not given; info may be NULL */
bool ompi_osc_cached_read_key(opal_info_t *info, const char *key, char *value, size_t size);

/** Is it a process of our node? */
bool ompi_osc_cached_is_near(ompi_group_t *group, int rank);

/** Are so many items of a type one run of bytes?  6.0 asks with a count of 32 bits. */
static inline bool ompi_osc_cached_is_one_run(const opal_datatype_t *type,
                                              ompi_osc_cached_count_t count)
{
    return opal_datatype_is_contiguous_memory_layout(type, (1 == count) ? 1 : 2);
}

/** A component of the list of those that are linked into libmpi: 6.0 has pointers to pointers. */
typedef __typeof__(((mca_base_framework_t *) NULL)
                       ->framework_static_components) ompi_osc_cached_static_t;

static inline const mca_base_component_t *
ompi_osc_cached_static_component(ompi_osc_cached_static_t item, int major)
{
    const void *component = *(const void *const *) item;

    return (6 <= major) ? *(const mca_base_component_t *const *) component : component;
}

#if OMPI_MAJOR_VERSION >= 5 && OPAL_ENABLE_FT_MPI
/* weak: a release without it can load the component, which then steps aside */
#pragma weak ompi_ftmpi_enabled

/** Does the job go on when a process dies? */
static inline bool ompi_osc_cached_survives_deaths(void)
{
    return NULL != &ompi_ftmpi_enabled && ompi_ftmpi_enabled;
}

/** Does Open MPI know that a process has died?  One that it never met has not. */
static inline bool ompi_osc_cached_is_dead(opal_process_name_t name)
{
    ompi_proc_t *proc = (ompi_proc_t *) ompi_proc_lookup(name);

    return NULL != proc && !ompi_proc_is_active(proc);
}

#define OSC_CACHED_ERR_DEAD MPI_ERR_PROC_FAILED
#else
static inline bool ompi_osc_cached_survives_deaths(void)
{
    return false;
}

static inline bool ompi_osc_cached_is_dead(opal_process_name_t name)
{
    (void) name;
    return false;
}

#define OSC_CACHED_ERR_DEAD OMPI_ERR_UNREACH
#endif

#endif /* OSC_CACHED_COMPAT_H */
