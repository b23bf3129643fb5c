/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * ob1's matching hook, mapped onto our engine.
 *
 * ob1 5.0 has a compile-time interface for other matching engines: a posted and an unexpected queue
 * per communicator. Both are one engine here, and the functions below, which the patches of both
 * series call, get the peer's state instead of its rank.
 *
 * Every function is called with the communicator's matching lock held, or before the communicator
 * is visible to anybody else.
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

#include "llamatch_advice.h"
#include "pml_llamatch_tuning.h"

#define MCA_PML_LLAMATCH_CUSTOM_MATCH 1

_Static_assert(LLAMATCH_ANY_TAG == OMPI_ANY_TAG, "the core's ANY_TAG must be MPI's");

/** Part of ob1's state of a communicator; llamatch_peer_t is part of ob1's state of a peer. */
typedef struct mca_pml_llamatch_queues {
    llamatch_engine_t engine;
    bool fixed;         /**< the engine's kind; from add_comm on */
    bool pauses_heater; /**< by the info key */
} mca_pml_llamatch_queues_t;

/** Peers that a communicator itself has pointers to: with these it is an odd number of lines. */
#define MCA_PML_LLAMATCH_FEW_PROCS 14

/** As the parameters say. The info key may still have another kind in mind (add_comm). */
static inline void mca_pml_llamatch_queues_init(mca_pml_llamatch_queues_t *queues)
{
    queues->fixed = false;
    queues->pauses_heater = false;
    llamatch_engine_init(&queues->engine, &mca_pml_llamatch_setups[mca_pml_llamatch_tuning.engine]);
}

/** mca_pml_llamatch_match_posted for a search that is a sample, and _unexpected where some are,
 * when advice is asked for (pml_llamatch_advise.c). What is counted here, and what there, costs
 * least when nobody asks. */
void *mca_pml_llamatch_sample_posted(mca_pml_llamatch_queues_t *queues, llamatch_peer_t *peer,
                                     int tag);
llamatch_message_t mca_pml_llamatch_watch_unexpected(mca_pml_llamatch_queues_t *queues,
                                                     llamatch_peer_t *peer,
                                                     const mca_pml_base_request_t *request);

/**
 * @param payload  a receive request; ob1's begins with the base request
 * @param peer     NULL for any source
 */
static inline void mca_pml_llamatch_append_posted(mca_pml_llamatch_queues_t *queues,
                                                  llamatch_peer_t *peer, int tag, void *payload)
{
    mca_pml_base_request_t *request = (mca_pml_base_request_t *) payload;

    if (OPAL_UNLIKELY(
            LLAMATCH_OK
            != llamatch_engine_post(&queues->engine, peer, tag, payload, &request->req_sequence))) {
        mca_pml_llamatch_out_of_memory("a posted receive");
    }
#if OMPI_WANT_PERUSE
    if (MCA_PML_REQUEST_PROBE != request->req_type && MCA_PML_REQUEST_MPROBE != request->req_type) {
        PERUSE_TRACE_COMM_EVENT(PERUSE_COMM_REQ_INSERT_IN_POSTED_Q, request, PERUSE_RECV);
    }
#endif
}

/** Find and remove the first receive that a message matches. */
static inline void *mca_pml_llamatch_take_posted(mca_pml_llamatch_queues_t *queues,
                                                 llamatch_peer_t *peer, int tag)
{
    void *payload = llamatch_engine_match(&queues->engine, peer, tag);

    if (NULL != payload) {
        ((mca_pml_base_request_t *) payload)->req_sequence = 0; /* a late cancel finds nothing */
#if OMPI_WANT_PERUSE
        PERUSE_TRACE_COMM_EVENT(PERUSE_COMM_REQ_REMOVE_FROM_POSTED_Q,
                                (mca_pml_base_request_t *) payload, PERUSE_RECV);
#endif
    }
    return payload;
}

static inline void *mca_pml_llamatch_match_posted(mca_pml_llamatch_queues_t *queues,
                                                  llamatch_peer_t *peer, int tag)
{
    if (OPAL_UNLIKELY(NULL != queues->engine.watch) && 0 == --queues->engine.watch->left) {
        return mca_pml_llamatch_sample_posted(queues, peer, tag);
    }
    return mca_pml_llamatch_take_posted(queues, peer, tag);
}

/**
 * @param peer  NULL for any source, and where the request itself leads to its queue
 * @return false when it is not posted: another thread has matched it, or it was cancelled before
 */
static inline bool mca_pml_llamatch_cancel_posted(mca_pml_llamatch_queues_t *queues,
                                                  llamatch_peer_t *peer, void *payload)
{
    mca_pml_base_request_t *request = (mca_pml_base_request_t *) payload;
    int status = llamatch_engine_cancel(&queues->engine, peer, payload, request->req_sequence);

    request->req_sequence = 0; /* it is in no array any more */
    return LLAMATCH_OK == status;
}

/**
 * @p tag is the message's. It is not read from the fragment: a fragment that came before its
 * communicator existed can have another header in front.
 */
static inline void mca_pml_llamatch_append_unexpected(mca_pml_llamatch_queues_t *queues,
                                                      llamatch_peer_t *peer, int tag, void *payload)
{
    if (OPAL_UNLIKELY(LLAMATCH_OK != llamatch_engine_arrive(&queues->engine, peer, tag, payload))) {
        mca_pml_llamatch_out_of_memory("an unexpected message");
    }
}

/**
 * The first message that a request matches. Probes leave it there; receives, and probes that hold
 * their message, remove it.
 *
 * @param peer  NULL for any source
 */
__opal_attribute_always_inline__ static inline llamatch_message_t
mca_pml_llamatch_take_unexpected(mca_pml_llamatch_queues_t *queues, llamatch_peer_t *peer,
                                 const mca_pml_base_request_t *request)
{
    if (!llamatch_engine_has_messages(&queues->engine, peer)) {
        return (llamatch_message_t){NULL, peer};
    }
    if (OPAL_UNLIKELY(MCA_PML_REQUEST_IPROBE == request->req_type
                      || MCA_PML_REQUEST_PROBE == request->req_type)) {
        return llamatch_engine_probe(&queues->engine, peer, request->req_tag);
    }
    return llamatch_engine_receive(&queues->engine, peer, request->req_tag);
}

__opal_attribute_always_inline__ static inline llamatch_message_t
mca_pml_llamatch_match_unexpected(mca_pml_llamatch_queues_t *queues, llamatch_peer_t *peer,
                                  const mca_pml_base_request_t *request)
{
    if (OPAL_UNLIKELY(NULL != queues->engine.watch)) {
        return mca_pml_llamatch_watch_unexpected(queues, peer, request);
    }
    return mca_pml_llamatch_take_unexpected(queues, peer, request);
}

static inline bool mca_pml_llamatch_dump_entry(void *context, int32_t tag, void *item)
{
    opal_output(0, "%s %p tag %d", (const char *) context, item, (int) tag);
    return false;
}

static inline void mca_pml_llamatch_dump_queues(mca_pml_llamatch_queues_t *queues)
{
    opal_output(0, "expected receives\n");
    (void) llamatch_engine_walk_posted(&queues->engine, mca_pml_llamatch_dump_entry,
                                       (void *) "req");
    opal_output(0, "unexpected frag\n");
    (void) llamatch_engine_walk_unexpected(&queues->engine, mca_pml_llamatch_dump_entry,
                                           (void *) "frag");
}

#endif /* PML_LLAMATCH_MATCH_H */
