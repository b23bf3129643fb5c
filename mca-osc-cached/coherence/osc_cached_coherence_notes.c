/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of the directory and of copies, as notes from helper to helper.
 */

#include "ompi_config.h"

#include "osc_cached_coherence_state.h"
#include "osc_cached_note.h"
#include "osc_cached_trace.h"

/* Counters that anybody may read. */
static void publish_counts(coherence_t *c)
{
    const unsigned long values[OSC_CACHED_COHERENCE_COUNTS] = {
        (unsigned long) c->copies.counts.fills,
        (unsigned long) c->copies.counts.directs,
        (unsigned long) c->copies.counts.holds,
        (unsigned long) c->copies.counts.recalls,
        (unsigned long) c->dropped,
        (unsigned long) c->directory.counts.invalidations,
        (unsigned long) c->syncs,
        (unsigned long) (c->traps
                         + ((NULL == c->detect) ? 0 : ompi_osc_cached_detect_traps(c->detect))),
        (unsigned long) c->copies.counts.kept,
        (unsigned long) c->copies.counts.forwards,
        (unsigned long) c->copies.counts.backs,
        (unsigned long) c->copies.counts.evictions,
        (unsigned long) ((NULL == c->cooperation)
                             ? 0
                             : ompi_osc_cached_cooperate_lasts(c->cooperation)),
    };

    for (int i = 0; i < OSC_CACHED_COHERENCE_COUNTS; ++i) {
        atomic_store_explicit(&c->counts[i], values[i], memory_order_relaxed);
    }
}

void ompi_osc_cached_coherence_leave(coherence_t *c)
{
    publish_counts(c);
    ompi_osc_cached_helper_leave();
}

/* --- To others */

void ompi_osc_cached_coherence_send_bytes(void *context, const osc_cached_message_t *message,
                                          void *data, uint32_t bytes)
{
    coherence_t *c = context;
    osc_cached_request_t note =
        osc_cached_note_of(message, c->id, c->rank, c->names[message->reader]);

    note.length = bytes;
    ompi_osc_cached_helper_note(c->names[message->peer], note, data);
}

void ompi_osc_cached_coherence_send(void *context, const osc_cached_message_t *message)
{
    coherence_t *c = context;

    if (OSC_CACHED_MESSAGE_HELD == message->kind && NULL != c->detect) {
        ompi_osc_cached_detect_open_pages(c->detect, message->first, message->count);
    }
    if (c->rank == message->peer) {
        if (OSC_CACHED_MESSAGE_HELD == message->kind
            && (NULL == c->detect || !ompi_osc_cached_detect_held(c->detect, message->name))) {
            ompi_osc_cached_coherence_own_is_held(c, message->name);
        }
    } else if (NULL != c->cooperation && OSC_CACHED_MESSAGE_DATA == message->kind) {
        ompi_osc_cached_cooperate_send(c->cooperation, message);
    } else {
        ompi_osc_cached_coherence_send_bytes(c, message, NULL, 0);
    }
}

/* --- The trace, if there is one */

/* A FILL that was answered, or an INV.  Late: an INV has come before, and the block is not kept. */
static void trace_message(const coherence_t *c, const osc_cached_message_t *message, bool kept)
{
    uint8_t shift = c->copies.config.block_shift;
    const char *what = "fill", *which = kept ? "granted" : "late";

    if (OSC_CACHED_MESSAGE_INV == message->kind) {
        what = "inv";
        which = "received";
    } else if (OSC_CACHED_MESSAGE_DIRECT == message->kind) {
        which = "refused";
    } else if (OSC_CACHED_MESSAGE_DATA != message->kind) {
        return;
    }
    ompi_osc_cached_trace_line(
        c->number, what, which, (int) message->owner, message->first << shift,
        (OSC_CACHED_ALL_BLOCKS == message->count) ? 0 : message->count << shift);
}

void ompi_osc_cached_coherence_trace_trap(void *context, uint64_t from, uint64_t to)
{
    const coherence_t *c = context;

    ompi_osc_cached_trace_line(c->number, "trap", "store", (int) c->rank, from, to - from);
}

/* --- From others */

/* Who waits for us wants to know for whom we wait, or we have asked that. */
static void hear_of_slow(coherence_t *c, const osc_cached_message_t *message)
{
    osc_cached_message_t answer = *message;

    if (message->owner != c->rank) {
        c->slow = (int) message->reader;
    } else if (osc_cached_directory_slow(&c->directory, 0, OSC_CACHED_ALL_BLOCKS, &answer.reader)) {
        ompi_osc_cached_coherence_send(c, &answer);
    }
}

void ompi_osc_cached_coherence_bury(coherence_t *c, uint32_t rank)
{
    if (c->rank != rank && !c->is_dead[rank]) {
        c->is_dead[rank] = true;
        if (NULL != c->detect) {
            /* what it has sent may be executed when it holds nothing any more */
            osc_cached_directory_close(&c->directory, &c->post);
        }
        osc_cached_directory_dead(&c->directory, rank, &c->post);
        osc_cached_copies_dead(&c->copies, rank);
        if (NULL != c->detect) {
            ompi_osc_cached_detect_settle(c->detect);
        }
    }
}

void ompi_osc_cached_coherence_hear(void *context, const osc_cached_request_t *note,
                                    const void *data)
{
    osc_cached_message_t message = osc_cached_note_message(note);
    coherence_t *c = context;
    uint64_t kept = c->copies.counts.kept;
    unsigned flags = 0;

    if (!osc_cached_note_is_good(&message, c->copies.config.ranks, c->rank)) {
        return;
    }
    if (OSC_CACHED_MESSAGE_SLOW == message.kind) {
        hear_of_slow(c, &message);
    } else if (OSC_CACHED_MESSAGE_DEAD == message.kind) {
        ompi_osc_cached_coherence_bury(c, message.reader);
    } else if (OSC_CACHED_MESSAGE_IS_FOR_OWNER(message.kind)) {
        if (message.owner == c->rank) {
            if (NULL != c->detect && OSC_CACHED_MESSAGE_FILL == message.kind) {
                flags = ompi_osc_cached_detect_fill(c->detect, message.first);
            }
            if (NULL != c->cooperation && OSC_CACHED_MESSAGE_FILL == message.kind) {
                flags |= ompi_osc_cached_cooperate_fill(c->cooperation, message.first);
            }
            osc_cached_directory_receive(&c->directory, &message, flags, &c->post);
            if (NULL != c->detect) {
                ompi_osc_cached_detect_settle(c->detect);
            }
        }
    } else if (message.owner != c->rank) {
        c->answered +=
            OSC_CACHED_MESSAGE_DATA == message.kind || OSC_CACHED_MESSAGE_DIRECT == message.kind;
        c->dropped += OSC_CACHED_MESSAGE_INV == message.kind;
        if (OSC_CACHED_MESSAGE_RECALL == message.kind) {
            ompi_osc_cached_coherence_end_pass(c, message.owner);
        }
        if (NULL != c->cooperation) {
            ompi_osc_cached_cooperate_hear(c->cooperation, &message, data, note->length);
        } else {
            (void) osc_cached_copies_receive(&c->copies, &message, NULL, &c->post);
        }
        if (OPAL_UNLIKELY(c->traced)) {
            trace_message(c, &message, kept < c->copies.counts.kept);
        }
    }
    publish_counts(c);
}

void ompi_osc_cached_coherence_hear_stray(void *context, const osc_cached_request_t *note,
                                          const void *data)
{
    osc_cached_request_t answer;
    uint64_t name;

    if (osc_cached_note_unknown(note, &answer, &name)) {
        ompi_osc_cached_helper_note(name, answer, NULL);
    }
}
