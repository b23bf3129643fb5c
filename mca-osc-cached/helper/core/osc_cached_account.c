/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The origin's account of one target.
 */
#include "osc_cached_account.h"

void osc_cached_account_init(osc_cached_account_t *account)
{
    *account = (osc_cached_account_t){.state = OSC_CACHED_ACCOUNT_CLOSED};
}

osc_cached_account_step_t osc_cached_account_step(const osc_cached_account_t *account,
                                                  uint64_t token, bool begins, uint32_t *bytes)
{
    uint64_t outstanding = account->sent - account->acked;

    switch (account->state) {
    case OSC_CACHED_ACCOUNT_CLOSED:
        return OSC_CACHED_ACCOUNT_ASK;
    case OSC_CACHED_ACCOUNT_ASKING:
        return OSC_CACHED_ACCOUNT_WAIT;
    default:
        break;
    }
    if (account->revoked && begins && 0 < account->sent) {
        return 0 == outstanding ? OSC_CACHED_ACCOUNT_RELEASE : OSC_CACHED_ACCOUNT_WAIT;
    }
    if (0 < account->spares && token == account->series) {
        *bytes = account->spare_bytes > account->chunk ? account->spare_bytes : account->chunk;
        return outstanding < account->buffers + account->spares ? OSC_CACHED_ACCOUNT_SEND
                                                                : OSC_CACHED_ACCOUNT_WAIT;
    }
    *bytes = account->chunk;
    return outstanding < account->buffers ? OSC_CACHED_ACCOUNT_SEND : OSC_CACHED_ACCOUNT_WAIT;
}

void osc_cached_account_asked(osc_cached_account_t *account)
{
    account->state = OSC_CACHED_ACCOUNT_ASKING;
}

void osc_cached_account_released(osc_cached_account_t *account)
{
    uint64_t before = osc_cached_account_all_done(account);

    osc_cached_account_init(account);
    account->before = before;
}

uint64_t osc_cached_account_sent(osc_cached_account_t *account, uint64_t token, uint32_t announce,
                                 bool last)
{
    if (0 < announce && !last && 0 == account->series) {
        account->series = token;
    }
    if (last && token == account->series) {
        account->series = 0;
        account->spares = 0;
    }
    return account->sent++;
}

void osc_cached_account_reply(osc_cached_account_t *account, const osc_cached_reply_t *reply)
{
    if (OSC_CACHED_WIRE_GRANT == reply->kind && OSC_CACHED_ACCOUNT_ASKING == account->state) {
        account->state = OSC_CACHED_ACCOUNT_OPEN;
        account->session = reply->session;
        account->buffers = reply->buffers;
        account->chunk = reply->chunk;
        account->room = reply->room;
        account->revoked = reply->session == account->overtaken;
        return;
    }
    if (OSC_CACHED_WIRE_REVOKE == reply->kind && OSC_CACHED_ACCOUNT_ASKING == account->state) {
        account->overtaken = reply->session; /* its GRANT is still on its way */
        return;
    }
    if (OSC_CACHED_WIRE_LATER == reply->kind && 0 == reply->token
        && OSC_CACHED_ACCOUNT_ASKING == account->state) {
        account->state = OSC_CACHED_ACCOUNT_CLOSED;
        return;
    }
    if (OSC_CACHED_ACCOUNT_OPEN != account->state || reply->session != account->session) {
        return;
    }
    if (reply->done > account->acked && reply->done <= account->sent) {
        account->acked = reply->done;
    }
    if (OSC_CACHED_WIRE_REVOKE == reply->kind) {
        account->revoked = true;
    } else if (OSC_CACHED_WIRE_ACK == reply->kind && 0 < reply->buffers && 0 != account->series
               && reply->token == account->series) {
        account->spares = reply->buffers;
        account->spare_bytes = reply->chunk;
    }
}

uint32_t osc_cached_account_layout(osc_cached_account_t *account, uint64_t key)
{
    for (uint32_t i = 0; i < OSC_CACHED_LAYOUTS; i++) {
        if (key == account->known[i].key) {
            account->known[i].used = ++account->clock;
            return i + 1;
        }
    }
    return 0;
}

bool osc_cached_account_teach(osc_cached_account_t *account, uint64_t key, uint32_t blocks,
                              uint32_t *number)
{
    osc_cached_known_t *oldest = NULL, *free = NULL;

    for (uint32_t i = 0; i < OSC_CACHED_LAYOUTS; i++) {
        osc_cached_known_t *known = &account->known[i];

        if (0 == known->key) {
            free = known;
        } else if (NULL == oldest || known->used < oldest->used) {
            oldest = known;
        }
    }
    if (NULL != free && blocks <= account->room - account->blocks) {
        *free = (osc_cached_known_t){.key = key, .used = ++account->clock, .blocks = blocks};
        account->blocks += blocks;
        *number = (uint32_t) (free - account->known) + 1;
        return true;
    }
    *number = (uint32_t) (oldest - account->known) + 1;
    account->blocks -= oldest->blocks;
    *oldest = (osc_cached_known_t){.key = 0};
    return false;
}

int osc_cached_account_verify(const osc_cached_account_t *account)
{
    uint32_t blocks = 0;

    for (uint32_t i = 0; i < OSC_CACHED_LAYOUTS; i++) {
        blocks += account->known[i].blocks;
    }
    if (account->acked > account->sent
        || (OSC_CACHED_ACCOUNT_OPEN != account->state && (0 != account->sent || 0 != blocks))) {
        return 1;
    }
    return (blocks == account->blocks && blocks <= account->room) ? 0 : 3;
}
