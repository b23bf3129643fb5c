/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Do the structures of the matching core fulfil the invariants that their headers state? Each
 * function returns 0, or the number of the first invariant that is broken: of a queue as it is, of
 * a lane plus 20, of an engine plus 100, of an index plus 200. A lane checks its queue as well, an
 * engine all its lanes and indexes.
 */
#ifndef LLAMATCH_VERIFY_H
#define LLAMATCH_VERIFY_H

#include "llamatch_engine.h"

int llamatch_queue_verify(const llamatch_queue_t *queue, const llamatch_shape_t *shape);
int llamatch_lane_verify(const llamatch_lane_t *lane, const llamatch_shape_t *shape);
int llamatch_index_verify(const llamatch_indexing_t *indexing, const llamatch_queue_t *queue,
                          const llamatch_shape_t *shape);
int llamatch_engine_verify(const llamatch_engine_t *engine);

#endif /* LLAMATCH_VERIFY_H */
