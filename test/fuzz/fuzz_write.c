/*
 * The writes of an actor: what the script that all ranks know tells it to do.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "fuzz_actor.h"

enum { ROOM_ITEMS = 2 }; /* more in a result */

/* The number of elements at the target: one more than there is data for, where there is room. */
static int target_count(const struct write *w)
{
    size_t end = w->at + layout_span(w->there, w->count + 1);

    return w->count + (options.room && end <= windows[w->window].part[w->target].bytes);
}

static void call_write(struct actor *a, const struct write *w, struct record *r, struct record *res)
{
    const struct window *win = &windows[w->window];
    MPI_Aint disp = (MPI_Aint) (w->at + w->there->before) / win->part[w->target].unit;
    MPI_Datatype type = w->there->type;
    MPI_Op op = plan_ops[w->op];
    MPI_Request *request = r->request >= 0 ? &a->request[r->request] : NULL;
    uint8_t *from = real_of(a, r) + w->origin->before, *to = NULL != res ? real_of(a, res) : NULL;
    MPI_Datatype origin = w->origin->type, result = layout_basic(w->there->base)->type;
    int results = w->there->items * w->count + (options.room ? ROOM_ITEMS : 0);

    switch (w->kind) {
    case PUT:
        OK(MPI_Put(from, w->origin_count, w->origin->type, w->target, disp, w->count, type,
                   win->win));
        break;
    case RPUT:
        OK(MPI_Rput(from, w->origin_count, w->origin->type, w->target, disp, w->count, type,
                    win->win, request));
        break;
    case ACC:
        OK(MPI_Accumulate(from, w->origin_count, origin, w->target, disp, target_count(w), type, op,
                          win->win));
        break;
    case RACC:
        OK(MPI_Raccumulate(from, w->origin_count, origin, w->target, disp, target_count(w), type,
                           op, win->win, request));
        break;
    case GET_ACC:
        OK(MPI_Get_accumulate(from, w->origin_count, origin, to, results, result, w->target, disp,
                              w->count, type, op, win->win));
        break;
    case RGET_ACC:
        OK(MPI_Rget_accumulate(from, w->origin_count, origin, to, results, result, w->target, disp,
                               w->count, type, op, win->win, request));
        break;
    case FETCH_OP:
        OK(MPI_Fetch_and_op(from, to, type, w->target, disp, op, win->win));
        break;
    default:
        /* the value to compare with lies behind the new one */
        OK(MPI_Compare_and_swap(from, from + 8, to, type, w->target, disp, win->win));
    }
}

static void store_locally(struct actor *a, const struct write *w)
{
    struct window *win = &windows[w->window];
    uint8_t packed[512];

    plan_data(w, packed);
    if (SYNC_LOCK == win->sync) {
        actor_unlock_all(a, false);
        OK(MPI_Win_lock(win->exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, fuzz_rank, 0,
                        win->win));
    }
    memcpy(win->base + w->at, packed, w->count);
    if (SYNC_LOCK == win->sync) {
        OK(MPI_Win_unlock(fuzz_rank, win->win));
    } else if (SYNC_LOCK_ALL == win->sync) {
        OK(MPI_Win_sync(win->win));
    }
    plan_apply(w, NULL);
    ++a->count[OP_STORES];
}

/* A get whose origin buffer lies in the window itself. */
static void get_here(struct actor *a, const struct write *w)
{
    struct window *win = &windows[w->window];

    OK(MPI_Get(win->base + w->at, w->count, MPI_BYTE, w->source,
               (MPI_Aint) w->source_at / win->part[w->source].unit, w->count, MPI_BYTE, win->win));
    if (SYNC_LOCK_ALL == win->sync) {
        OK(MPI_Win_flush(w->source, win->win));
        actor_target_done(a, w->window, w->source, true, "flush");
        OK(MPI_Win_sync(win->win));
    }
    plan_apply(w, NULL);
    ++a->count[OP_GETS];
}

void actor_write(struct actor *a, const struct write *w)
{
    static const int counts[WRITE_KINDS] = {OP_PUTS,    OP_PUTS,   OP_STORES,  OP_GETS,
                                            OP_ACCS,    OP_ACCS,   OP_ATOMICS, OP_ATOMICS,
                                            OP_ATOMICS, OP_ATOMICS};
    struct spot spot = {w->at, w->there, w->count};
    size_t bytes = layout_bytes(w->there, w->count);
    struct record *r, *res = NULL;
    uint8_t packed[4096 + 8], old[4096];
    int request = -1;

    if (is_passive(windows[w->window].sync)) {
        if (STORE != w->kind && GET_HERE != w->kind) {
            actor_need_epoch(a, w->window, w->target);
        }
        if (!actor_no_write(a, w->window, w->target, &spot)) {
            actor_need_epoch(a, w->window, w->target);
            actor_flush(a, w->window, w->target, true);
        } else if (!actor_no_read(a, w->window, w->target, &spot)) {
            /* of a get with a request that nobody has waited for: its epoch may have ended */
            actor_need_epoch(a, w->window, w->target);
            actor_flush(a, w->window, w->target, false);
        }
    }
    if (STORE == w->kind) {
        store_locally(a, w);
        return;
    }
    if (GET_HERE == w->kind) {
        get_here(a, w);
        return;
    }
    plan_data(w, packed);
    if (RPUT == w->kind || RACC == w->kind || RGET_ACC == w->kind) {
        request = actor_free_request(a);
    }
    r = actor_take_buffer(a, w->window, w->target, layout_span(w->origin, w->origin_count) + 16);
    r->request = request;
    if (w->kind >= GET_ACC) {
        res = actor_take_buffer(a, w->window, w->target,
                                bytes + (options.room ? ROOM_ITEMS * sizeof(long) : 0));
        res->request = request;
    }
    layout_unpack(w->origin, w->origin_count, packed, real_of(a, r));
    layout_unpack(w->origin, w->origin_count, packed, want_of(a, r));
    plan_apply(w, old);
    if (SWAP == w->kind) {
        if (!write_swaps(w)) {
            old[0] ^= 0x80;
        }
        memcpy(real_of(a, r) + 8, old, bytes);
        memcpy(want_of(a, r) + 8, old, bytes);
        if (!write_swaps(w)) {
            old[0] ^= 0x80;
        }
    }
    r->spot = spot;
    r->kind = w->kind;
    if (NULL != res) {
        memcpy(want_of(a, res), old, bytes);
        res->spot = spot;
        res->kind = w->kind;
    }
    call_write(a, w, r, res);
    actor_mark_wrote(a, w->window, w->target, &spot);
    ++a->count[counts[w->kind]];
    a->count[OP_REMOTE] +=
        fuzz_rank != w->target && (OP_ACCS == counts[w->kind] || OP_ATOMICS == counts[w->kind]);
}
