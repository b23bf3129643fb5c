/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Datatypes and operations of MPI as the helper's core knows them.
 */

#ifndef OSC_CACHED_HELPER_SHAPE_H
#define OSC_CACHED_HELPER_SHAPE_H

#include "ompi_config.h"

#include "ompi/datatype/ompi_datatype.h"

#include "core/osc_cached_layout.h"
#include "core/osc_cached_operation.h"

BEGIN_C_DECLS

/** A part of a datatype whose layout is small enough for a message. */
typedef struct {
    osc_cached_layout_t *layout;
    uint64_t key;    /**< no other layout has it */
    uint64_t before; /**< packed bytes of the parts before */
} ompi_osc_cached_piece_t;

/** Where the bytes of a datatype lie, and what they are. */
typedef struct {
    int element;     /**< osc_cached_element_t of all of them, or -1 when they differ */
    int64_t extent;  /**< bytes from an element of the datatype to the next one */
    uint64_t packed; /**< bytes of one */
    uint64_t runs;   /**< of bytes that lie together, in one */
    uint32_t pieces;
    int users; /**< of the structure */
    size_t description_bytes;
    void *description; /**< of the datatype, as Open MPI sends it to other processes */
    ompi_osc_cached_piece_t *piece;
} ompi_osc_cached_shape_t;

/** The shape of a datatype, which does not need the datatype any more.  @return NULL: no memory */
ompi_osc_cached_shape_t *ompi_osc_cached_shape_get(ompi_datatype_t *type);
void ompi_osc_cached_shape_put(ompi_osc_cached_shape_t *shape);
/** Forget all; nobody uses one. */
void ompi_osc_cached_shape_finalize(void);

/** What a predefined datatype is; -1: none of ours. */
int ompi_osc_cached_shape_element(const ompi_datatype_t *type);
/** osc_cached_operation_t of a predefined operation; -1: none of ours. */
int ompi_osc_cached_shape_operation(const struct ompi_op_t *op);

END_C_DECLS

#endif /* OSC_CACHED_HELPER_SHAPE_H */
