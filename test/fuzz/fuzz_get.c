/*
 * The gets of an actor, of its own choice.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "fuzz_actor.h"

static void choose_basic(struct actor *a, struct spot *s, size_t unit, size_t at, size_t bytes)
{
    int base = (int) rng_below(&a->rng, BASES);

    s->at = at / unit * unit;
    while (s->at % base_bytes[base] || bytes % base_bytes[base]) {
        --base;
    }
    s->there = layout_basic(base);
    s->count = (int) (bytes / base_bytes[base]);
}

/* Near something got lately: equal, shorter, longer, behind it, overlapping it. */
static void choose_near(struct actor *a, struct spot *s, const struct peer *p, size_t unit)
{
    const struct spot *old = &p->recent[rng_below(&a->rng, p->recents)];
    size_t span = layout_span(old->there, old->count);

    switch (rng_below(&a->rng, 10)) {
    case 0:
        choose_basic(a, s, unit, old->at, 1 + rng_below(&a->rng, (uint32_t) span + 1));
        break;
    case 1:
        choose_basic(a, s, unit, old->at, span + rng_size(&a->rng, 300));
        break;
    case 2:
        choose_basic(a, s, unit, old->at + span, 1 + rng_below(&a->rng, (uint32_t) span + 1));
        break;
    case 3:
        choose_basic(a, s, unit, old->at + span / 2, 1 + rng_below(&a->rng, (uint32_t) span + 1));
        break;
    case 4:
        choose_basic(a, s, unit, old->at, span);
        break;
    default:
        *s = *old;
    }
}

static void choose_new(struct actor *a, struct spot *s, const struct part *p)
{
    size_t most = options.get_bytes < p->bytes ? options.get_bytes : p->bytes;

    s->at = rng_below(&a->rng, (uint32_t) p->bytes) / p->unit * p->unit;
    if (rng_chance(&a->rng, 35) && !without(WITHOUT_TYPES)) {
        int base = (int) rng_below(&a->rng, BASES);
        s->at = s->at / 120 * 120; /* a multiple of all units but 16, and of all base types */
        if (0 == s->at % p->unit) {
            s->there = layout_any(&a->rng, base, true);
            s->count = 1 + (int) rng_below(&a->rng, 5);
            return;
        }
    }
    choose_basic(a, s, p->unit, s->at, rng_size(&a->rng, (uint32_t) most));
}

/* Bytes of this target that this actor may read now; false: none found. */
static bool choose_spot(struct actor *a, int window, int target, struct spot *s)
{
    const struct part *part = &windows[window].part[target];
    struct peer *p = &a->peer[window][target];

    for (int try = 0; try < 6; ++try) {
        bool again = p->recents > 0 && rng_chance(&a->rng, 75);

        if (again) {
            choose_near(a, s, p, part->unit);
        } else {
            choose_new(a, s, part);
        }
        if (s->at + layout_span(s->there, s->count) > part->bytes
            || layout_bytes(s->there, s->count) > options.get_bytes
            || !actor_may_read(a, window, target, s)) {
            continue;
        }
        if (!actor_no_write(a, window, target, s)) {
            if (!is_passive(windows[window].sync)) {
                continue;
            }
            /* an own write that is still under way: complete it, then it must be seen */
            actor_need_epoch(a, window, target);
            actor_flush(a, window, target, true);
        }
        if (!again || rng_chance(&a->rng, 20)) {
            p->recent[p->recents < RECENT ? p->recents++ : (int) rng_below(&a->rng, RECENT)] = *s;
        }
        return true;
    }
    return false;
}

static void empty_get(struct actor *a, int window, int target)
{
    struct window *w = &windows[window];
    const struct layout *l = layout_any(&a->rng, BASE_INT, false);
    uint8_t nothing[64];

    if (rng_chance(&a->rng, 50)) {
        OK(MPI_Get(nothing, 8, MPI_INT, MPI_PROC_NULL, 0, 8, MPI_INT, w->win));
    } else {
        OK(MPI_Get(nothing, 0, l->type, target, 0, 0, MPI_INT, w->win));
    }
    ++a->count[OP_GETS];
}

static void call_get(struct actor *a, const struct record *r, const struct layout *origin,
                     int count)
{
    const struct window *w = &windows[r->window];
    const struct spot *s = &r->spot;
    MPI_Aint disp = (MPI_Aint) (s->at + s->there->before) / w->part[r->target].unit;
    MPI_Datatype here = origin->type, there = s->there->type;
    void *to = real_of(a, r) + origin->before;
    bool copies = rng_chance(&a->rng, 5); /* of the types, freed while the get is under way */

    if (copies) {
        OK(MPI_Type_dup(origin->type, &here));
        OK(MPI_Type_dup(s->there->type, &there));
    }
    if (r->request >= 0) {
        OK(MPI_Rget(to, count, here, r->target, disp, s->count, there, w->win,
                    &a->request[r->request]));
        ++a->count[OP_RGETS];
    } else {
        OK(MPI_Get(to, count, here, r->target, disp, s->count, there, w->win));
        ++a->count[OP_GETS];
    }
    if (copies) {
        OK(MPI_Type_free(&here));
        OK(MPI_Type_free(&there));
    }
}

bool actor_get(struct actor *a)
{
    int window = (int) rng_below(&a->rng, options.windows),
        target = (int) rng_below(&a->rng, fuzz_size);
    struct window *w = &windows[window];
    uint8_t packed[1 << 17];
    const struct layout *origin;
    struct record *r;
    struct spot s;
    int count, request = -1;

    if (target == fuzz_rank && rng_chance(&a->rng, 80)) {
        target = (target + 1) % fuzz_size;
    }
    if (SYNC_PSCW == w->sync && !w->group[fuzz_rank][target]) {
        return false;
    }
    actor_need_epoch(a, window, target);
    if (rng_chance(&a->rng, 1)) {
        empty_get(a, window, target);
        return true;
    }
    if (0 == w->part[target].bytes || !choose_spot(a, window, target, &s)) {
        return false;
    }
    origin = layout_basic(s.there->base);
    if (rng_chance(&a->rng, 40) && !without(WITHOUT_TYPES)) {
        origin = layout_pick(&a->rng, s.there->base, s.there->items * s.count);
    }
    count = s.there->items * s.count / origin->items;
    if (!actor_has_room(a, layout_span(origin, count))) {
        return false;
    }
    if (is_passive(w->sync) && rng_chance(&a->rng, 15) && !without(WITHOUT_RGETS)) {
        request = actor_free_request(a);
    }
    r = actor_take_buffer(a, window, target, layout_span(origin, count));
    r->spot = s;
    r->request = request;
    layout_pack(s.there, s.count, w->part[target].now + s.at, packed);
    layout_unpack(origin, count, packed, want_of(a, r));
    if (BREAK_MODEL == options.broken && !a->spoilt && a->round > 1 && s.count > 0) {
        a->spoilt = true;
        want_of(a, r)[origin->block[0].at] ^= 1;
    }
    call_get(a, r, origin, count);
    actor_mark_read(a, window, target, &s);
    return true;
}
