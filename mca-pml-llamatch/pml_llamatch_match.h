/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * ob1's matching hook, mapped onto our engine.
 *
 * ob1 5.0 has a compile-time interface for other matching engines: a posted queue ("prq") and an
 * unexpected queue ("umq") per communicator, and the functions below by these names. 4.1 gets the
 * same calls by its patch. Both queues are one engine here, so that they share per-peer state.
 *
 * Every function is called with the communicator's matching lock held, or before the communicator
 * is visible to anybody else; ob1 removes what it has found before it gives the lock back, which
 * is why the found message can be remembered in the queues themselves.
 */
#ifndef PML_LLAMATCH_MATCH_H
#define PML_LLAMATCH_MATCH_H

#include "ompi_config.h"

#include "opal/prefetch.h"
#include "opal/util/output.h"
#include "ompi/communicator/communicator.h"
#include "ompi/mca/pml/pml_constants.h"
#include "ompi/mca/pml/base/pml_base_request.h"
#include "ompi/peruse/peruse-internal.h"

#include "llamatch_engine.h"
#include "pml_llamatch_tuning.h"

#define MCA_PML_LLAMATCH_CUSTOM_MATCH 1

_Static_assert(LLAMATCH_ANY_TAG == OMPI_ANY_TAG, "the core's ANY_TAG must be MPI's");
_Static_assert(LLAMATCH_ANY_SOURCE == OMPI_ANY_SOURCE, "the core's ANY_SOURCE must be MPI's");

typedef struct mca_pml_llamatch_queues {
    llamatch_engine_t *engine;
    llamatch_hold_t hold; /**< the unexpected message that the last search found */
} custom_match_prq;

typedef custom_match_prq custom_match_umq;

/** ob1 hands pointers to these around between search and removal; we do not need them. */
typedef llamatch_node_t custom_match_umq_node;

/** @return NULL when there is no memory; add_comm then fails */
static inline custom_match_prq *custom_match_prq_init(void)
{
    llamatch_config_t config = llamatch_config_default;
    custom_match_prq *queues = (custom_match_prq *) malloc(sizeof(*queues));

    if (NULL != queues) {
        config.entries = (uint32_t) mca_pml_llamatch_tuning.entries;
        if (LLAMATCH_OK != llamatch_engine_create(&config, &queues->engine)) {
            free(queues);
            queues = NULL;
        }
    }
    return queues;
}

static inline void custom_match_prq_destroy(custom_match_prq *prq)
{
    if (NULL != prq) {
        llamatch_engine_destroy(prq->engine);
        free(prq);
    }
}

/** The unexpected queue is the other half of the same engine. */
static inline custom_match_umq *custom_match_umq_init(custom_match_prq *prq)
{
    return prq;
}

static inline void custom_match_umq_destroy(custom_match_umq *umq)
{
    (void) umq;
}

/** @param payload  a receive request; ob1's begins with the base request */
static inline void custom_match_prq_append(custom_match_prq *prq, void *payload, int tag,
                                           int source)
{
    mca_pml_base_request_t *request = (mca_pml_base_request_t *) payload;
    uint64_t seq;

    if (OPAL_UNLIKELY(LLAMATCH_OK
                      != llamatch_engine_post(prq->engine, source, tag, payload, &seq))) {
        mca_pml_llamatch_out_of_memory("a posted receive");
    }
    /* ob1's own number is 32 bits wide and wraps; ours finds the request again at a cancel. */
    request->req_sequence = seq;
#if OMPI_WANT_PERUSE
    if (MCA_PML_REQUEST_PROBE != request->req_type && MCA_PML_REQUEST_MPROBE != request->req_type) {
        PERUSE_TRACE_COMM_EVENT(PERUSE_COMM_REQ_INSERT_IN_POSTED_Q, request, PERUSE_RECV);
    }
#endif
}

static inline void *custom_match_prq_find_dequeue_verify(custom_match_prq *prq, int tag, int peer)
{
    void *payload = llamatch_engine_match(prq->engine, peer, tag);

#if OMPI_WANT_PERUSE
    if (NULL != payload) {
        PERUSE_TRACE_COMM_EVENT(PERUSE_COMM_REQ_REMOVE_FROM_POSTED_Q,
                                (mca_pml_base_request_t *) payload, PERUSE_RECV);
    }
#endif
    return payload;
}

/** @return 1 when the request was there */
static inline int custom_match_prq_cancel(custom_match_prq *prq, void *payload)
{
    mca_pml_base_request_t *request = (mca_pml_base_request_t *) payload;

    return LLAMATCH_OK
           == llamatch_engine_cancel(prq->engine, request->req_peer, request->req_sequence);
}

/** Receives posted for one peer; those for any source are nobody's in particular. */
static inline unsigned custom_match_prq_peer_size(const custom_match_prq *prq, int peer)
{
    return (unsigned) llamatch_engine_num_posted(prq->engine, peer);
}

/**
 * @p tag and @p source are the message's. They are not read from the fragment: a fragment that
 * came before its communicator existed can have another header in front.
 */
static inline void custom_match_umq_append(custom_match_umq *umq, int tag, int source,
                                           void *payload)
{
    if (OPAL_UNLIKELY(LLAMATCH_OK != llamatch_engine_arrive(umq->engine, source, tag, payload))) {
        mca_pml_llamatch_out_of_memory("an unexpected message");
    }
}

static inline void *custom_match_umq_find_verify_hold(custom_match_umq *umq, int tag, int peer,
                                                      custom_match_umq_node **hold_prev,
                                                      custom_match_umq_node **hold_elem,
                                                      int *hold_index)
{
    *hold_prev = NULL;
    *hold_elem = NULL;
    *hold_index = 0;
    return llamatch_engine_search(umq->engine, peer, tag, &umq->hold);
}

/** Source of the message that was found last. */
static inline int custom_match_umq_hold_source(const custom_match_umq *umq)
{
    return umq->hold.source;
}

static inline void custom_match_umq_remove_hold(custom_match_umq *umq, custom_match_umq_node *prev,
                                                custom_match_umq_node *elem, int index)
{
    (void) prev;
    (void) elem;
    (void) index;
    llamatch_engine_take(umq->engine, &umq->hold);
}

/** Remove the messages for which @p visit returns true (a revoke does). */
static inline void custom_match_umq_walk(custom_match_umq *umq, llamatch_visit_fn_t visit,
                                         void *context)
{
    (void) llamatch_engine_walk_unexpected(umq->engine, visit, context);
}

static inline unsigned custom_match_umq_peer_size(const custom_match_umq *umq, int peer)
{
    return (unsigned) llamatch_engine_num_unexpected(umq->engine, peer);
}

static inline bool custom_match_dump_entry(void *context, int32_t tag, void *item)
{
    opal_output(0, "%s %p tag %d", (const char *) context, item, (int) tag);
    return false;
}

static inline void custom_match_prq_dump(custom_match_prq *prq)
{
    (void) llamatch_engine_walk_posted(prq->engine, custom_match_dump_entry, (void *) "req");
}

static inline void custom_match_umq_dump(custom_match_umq *umq)
{
    (void) llamatch_engine_walk_unexpected(umq->engine, custom_match_dump_entry, (void *) "frag");
}

#endif /* PML_LLAMATCH_MATCH_H */
