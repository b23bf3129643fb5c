/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Messages of the coherence protocol as notes of the helper (../helper/core/osc_cached_wire.h),
 * and the answers to those of windows that are not known.
 *
 *     note       message
 *     operation  kind
 *     at, count  first block, blocks
 *     token      name
 *     layout     rank of whom it comes from
 *     offset     rank of whom it goes to: who does not know the window answers as this one
 *     session    owner
 *     announce   reader
 *     number     process name of the reader, of FWD and BACK: the same
 *     element    whole
 *     last       alone
 *
 * Include it after helper/osc_cached_helper.h, or, without Open MPI, after osc_cached_wire.h.
 */
#ifndef OSC_CACHED_NOTE_H
#define OSC_CACHED_NOTE_H

#include "core/osc_cached_message.h"

/**
 * @param message  its peer is whom it goes to
 * @param reader   process name of its reader
 */
static inline osc_cached_request_t osc_cached_note_of(const osc_cached_message_t *message,
                                                      osc_cached_window_id_t window,
                                                      uint32_t sender, uint64_t reader)
{
    return (osc_cached_request_t){
        .operation = message->kind,
        .window = window,
        .at = message->first,
        .count = message->count,
        .token = message->name,
        .layout = sender,
        .offset = message->peer,
        .session = message->owner,
        .announce = message->reader,
        .number = reader,
        .element = message->whole,
        .last = message->alone,
    };
}

/** The message that has come; its peer is whom it comes from. */
static inline osc_cached_message_t osc_cached_note_message(const osc_cached_request_t *note)
{
    return (osc_cached_message_t){
        .kind = note->operation,
        .first = note->at,
        .count = note->count,
        .name = (uint32_t) note->token,
        .peer = note->layout,
        .owner = note->session,
        .reader = note->announce,
        .whole = 0 != note->element,
        .alone = note->last,
    };
}

/** Whether a message that has come can be one for this rank; else it is damaged. */
static inline bool osc_cached_note_is_good(const osc_cached_message_t *message, uint32_t ranks,
                                           uint32_t rank)
{
    return message->peer < ranks && message->owner < ranks && message->reader < ranks
           && message->peer != rank;
}

static inline void osc_cached_note_keep(void *context, const osc_cached_message_t *message)
{
    *(osc_cached_message_t *) context = *message;
}

/**
 * O4: a note of a window that is not known has come; see osc_cached_message_unknown.
 *
 * @param[out] name  of the process that gets the answer
 * @return whether there is one
 */
static inline bool osc_cached_note_unknown(const osc_cached_request_t *note,
                                           osc_cached_request_t *answer, uint64_t *name)
{
    osc_cached_message_t message = osc_cached_note_message(note), reply = {.kind = 0};
    osc_cached_post_t post = {.send = osc_cached_note_keep, .context = &reply};

    osc_cached_message_unknown(&message, &post);
    if (0 == reply.kind) {
        return false;
    }
    *answer = osc_cached_note_of(&reply, note->window, (uint32_t) note->offset, note->number);
    *name = (reply.peer == message.peer) ? note->origin : note->number;
    return true;
}

#endif /* OSC_CACHED_NOTE_H */
