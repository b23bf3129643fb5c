/*
 * An actor: one thread of a rank with its own buffers. What it has outstanding, how that is
 * completed and compared. fuzz_actor.h says what it is.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "fuzz_actor.h"

struct actor *actor_make(int thread)
{
    struct actor *a = calloc(1, sizeof(*a));

    a->thread = thread;
    a->id = fuzz_rank * options.threads + thread;
    a->real = malloc(ARENA);
    a->want = malloc(ARENA);
    for (int i = 0; i < MAX_REQUESTS; ++i) {
        a->request[i] = MPI_REQUEST_NULL;
    }
    return a;
}

void actor_free(struct actor *a)
{
    for (int w = 0; w < MAX_WINDOWS; ++w) {
        for (int t = 0; t < MAX_RANKS; ++t) {
            free(a->peer[w][t].read);
            free(a->peer[w][t].wrote);
        }
    }
    free(a->real);
    free(a->want);
    free(a);
}

void actor_new_window(struct actor *a, int window)
{
    for (int t = 0; t < fuzz_size; ++t) {
        struct peer *p = &a->peer[window][t];
        size_t granules = windows[window].part[t].bytes / GRANULE + 1;

        free(p->read);
        free(p->wrote);
        memset(p, 0, sizeof(*p));
        p->read = calloc(granules, sizeof(p->read[0]));
        p->wrote = calloc(granules, sizeof(p->wrote[0]));
        p->read_now = p->wrote_now = 1;
    }
}

/* --- comparison */

static void report(struct actor *a, const struct record *r, size_t at, const char *how)
{
    static const char *const kinds[] = {
        "get",  "put",     "rput",     "store",    "get into the window", "acc",
        "racc", "get_acc", "rget_acc", "fetch_op", "compare_and_swap"};
    const struct window *w = &windows[r->window];
    size_t n = 0;

    if (++a->wrong > 5) {
        return; /* the first few are enough */
    }
    for (size_t i = r->start; i < r->start + r->bytes; ++i) {
        n += a->real[i] != a->want[i];
    }
    fprintf(
        stderr,
        "rma_fuzz: seed %llu: rank %d thread %d round %d: %s of window %d (life %d, era %d, mode "
        "%d, sync %d, unit %d) target %d, %d x %d items of %d bytes at %zu%s: %zu bytes differ, "
        "the first at offset %ld of the buffer: %02x, wanted %02x (after %s)\n",
        (unsigned long long) options.seed, fuzz_rank, a->thread, r->round, kinds[r->kind + 1],
        r->window, w->life, w->era, w->mode, w->sync, w->part[r->target].unit, r->target,
        r->spot.count, r->spot.there->items, base_bytes[r->spot.there->base], r->spot.at,
        r->request >= 0 ? " with a request" : "", n, (long) (at - r->start) - GUARD, a->real[at],
        a->want[at], how);
}

static void compare(struct actor *a, const struct record *r, const char *how)
{
    size_t i;

    if (0 == memcmp(a->real + r->start, a->want + r->start, r->bytes)) {
        return;
    }
    for (i = r->start; a->real[i] == a->want[i]; ++i) {
    }
    report(a, r, i, how);
}

static void forget(struct actor *a, int i)
{
    --a->peer[a->record[i].window][a->record[i].target].outstanding;
    a->record[i] = a->record[--a->records];
    if (0 == a->records) {
        a->used = 0;
    }
}

void actor_target_done(struct actor *a, int window, int target, bool remote, const char *how)
{
    struct peer *p = &a->peer[window][target];

    for (int i = a->records - 1; i >= 0 && p->outstanding > 0; --i) {
        struct record *r = &a->record[i];
        if (window == r->window && target == r->target) {
            compare(a, r, how);
            if (r->request < 0) {
                forget(a, i);
            }
        }
    }
    ++p->read_now;
    if (remote) {
        ++p->wrote_now;
        p->unflushed = false;
    }
}

void actor_window_done(struct actor *a, int window, const char *how)
{
    for (int t = 0; t < fuzz_size; ++t) {
        actor_target_done(a, window, t, true, how);
    }
}

static void request_done(struct actor *a, int request)
{
    --a->requests;
    for (int i = a->records - 1; i >= 0; --i) {
        if (request == a->record[i].request) {
            compare(a, &a->record[i], "its request");
            forget(a, i);
        }
    }
}

/* --- requests */

void actor_finish_requests(struct actor *a, bool all)
{
    MPI_Request before[MAX_REQUESTS];
    int n, some[MAX_REQUESTS], flag;

    if (0 == a->requests) {
        return;
    }
    memcpy(before, a->request, sizeof(before));
    switch (all ? 0 : rng_below(&a->rng, 5)) {
    case 0:
        OK(MPI_Waitall(MAX_REQUESTS, a->request, MPI_STATUSES_IGNORE));
        break;
    case 1:
        OK(MPI_Waitany(MAX_REQUESTS, a->request, &n, MPI_STATUS_IGNORE));
        break;
    case 2:
        OK(MPI_Testsome(MAX_REQUESTS, a->request, &n, some, MPI_STATUSES_IGNORE));
        break;
    case 3:
        OK(MPI_Testall(MAX_REQUESTS, a->request, &flag, MPI_STATUSES_IGNORE));
        break;
    default:
        n = (int) rng_below(&a->rng, MAX_REQUESTS);
        if (MPI_REQUEST_NULL != a->request[n] && rng_chance(&a->rng, 50)) {
            OK(MPI_Wait(&a->request[n], MPI_STATUS_IGNORE));
        } else if (MPI_REQUEST_NULL != a->request[n]) {
            OK(MPI_Test(&a->request[n], &flag, MPI_STATUS_IGNORE));
        }
    }
    for (int i = 0; i < MAX_REQUESTS; ++i) {
        if (MPI_REQUEST_NULL != before[i] && MPI_REQUEST_NULL == a->request[i]) {
            request_done(a, i);
        }
    }
}

int actor_free_request(struct actor *a)
{
    int i = 0;

    if (MAX_REQUESTS == a->requests) {
        actor_finish_requests(a, true);
    }
    while (MPI_REQUEST_NULL != a->request[i]) {
        ++i;
    }
    ++a->requests;
    return i;
}

/* --- completion in passive epochs */

static void lock_target(struct actor *a, int window, int target)
{
    struct window *w = &windows[window];
    int type = w->exclusive && rng_chance(&a->rng, 50) ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
    int assert = !w->exclusive && rng_chance(&a->rng, 20) ? MPI_MODE_NOCHECK : 0;

    OK(MPI_Win_lock(type, target, assert, w->win));
    a->peer[window][target].lock = type;
    a->locks += w->exclusive;
}

static void unlock_target(struct actor *a, int window, int target)
{
    struct window *w = &windows[window];

    if (options.flush_each) {
        OK(MPI_Win_flush(target, w->win));
    }
    OK(MPI_Win_unlock(target, w->win));
    a->peer[window][target].lock = 0;
    a->locks -= w->exclusive;
    actor_target_done(a, window, target, true, "unlock");
}

void actor_unlock_all(struct actor *a, bool only_exclusive)
{
    for (int w = 0; w < options.windows; ++w) {
        for (int t = 0; t < fuzz_size; ++t) {
            if (a->peer[w][t].lock && (!only_exclusive || windows[w].exclusive)) {
                unlock_target(a, w, t);
            }
        }
    }
}

void actor_need_epoch(struct actor *a, int window, int target)
{
    struct window *w = &windows[window];

    if (SYNC_LOCK != w->sync || a->peer[window][target].lock) {
        return;
    }
    if (w->exclusive && a->locks > 0) {
        actor_unlock_all(a, true); /* one at a time: no deadlock */
    }
    lock_target(a, window, target);
}

bool actor_is_locked(const struct actor *a, int window, int target)
{
    return SYNC_LOCK_ALL == windows[window].sync || 0 != a->peer[window][target].lock;
}

void actor_flush(struct actor *a, int window, int target, bool remote)
{
    static const char *const ways[] = {"flush",       "flush",       "flush_all",
                                       "flush_local", "flush_local", "flush_local_all"};
    MPI_Win win = windows[window].win;
    uint32_t way = !remote && a->quiet ? 3 + rng_below(&a->rng, 3)
                                       : rng_below(&a->rng, !remote    ? 6
                                                            : a->quiet ? 2
                                                                       : 3);

    ++a->count[OP_SYNCS];
    if (options.flush_each && (2 == way || 5 == way)) {
        --way;
    }
    if (3 <= way && without(WITHOUT_FLUSH_LOCALS)) {
        way = 1;
    }
    if (0 == way && SYNC_LOCK == windows[window].sync) {
        unlock_target(a, window, target);
        actor_need_epoch(a, window, target);
        return;
    }
    switch (way) {
    case 0:
    case 1:
        OK(MPI_Win_flush(target, win));
        break;
    case 2:
        OK(MPI_Win_flush_all(win));
        break;
    case 3:
    case 4:
        OK(MPI_Win_flush_local(target, win));
        break;
    default:
        OK(MPI_Win_flush_local_all(win));
    }
    for (int t = 0; t < fuzz_size; ++t) {
        if (t == target || ((2 == way || 5 == way) && actor_is_locked(a, window, t))) {
            actor_target_done(a, window, t, way < 3, ways[way]);
        }
    }
}

static void complete_passive(struct actor *a)
{
    actor_finish_requests(a, true);
    for (int w = 0; w < options.windows; ++w) {
        for (int t = 0; t < fuzz_size; ++t) {
            if (is_passive(windows[w].sync) && a->peer[w][t].outstanding > 0) {
                actor_flush(a, w, t, false);
            }
        }
    }
}

/* --- buffers */

static size_t room_for(size_t bytes)
{
    return (bytes + 2 * GUARD + 7) / 8 * 8;
}

struct record *actor_take_buffer(struct actor *a, int window, int target, size_t bytes)
{
    size_t all = room_for(bytes);
    struct record *r = &a->record[a->records];

    if (a->used + all > ARENA || MAX_RECORDS == a->records) {
        fprintf(stderr, "rma_fuzz: no room for a write that the others count on\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
        exit(1);
    }
    ++a->records;
    memset(r, 0, sizeof(*r));
    r->window = window;
    r->target = target;
    r->request = -1;
    r->kind = -1;
    r->round = a->round;
    r->start = a->used;
    r->bytes = all;
    a->used += all;
    ++a->peer[window][target].outstanding;
    for (size_t i = 0; i < all; i += 8) {
        uint64_t v = rng_next(&a->rng);
        memcpy(a->real + r->start + i, &v, 8);
    }
    memcpy(a->want + r->start, a->real + r->start, all);
    return r;
}

bool actor_has_room(struct actor *a, size_t bytes)
{
    if (a->used + room_for(bytes) > ARENA_GETS || a->records >= MAX_GETS) {
        complete_passive(a);
    }
    return a->used + room_for(bytes) <= ARENA_GETS && a->records < MAX_GETS;
}

/* --- what is outstanding */

struct range {
    const struct actor *actor;
    const struct part *part;
    uint32_t *mark, value;
    size_t at;
};

static bool unmarked(void *arg, size_t at, size_t bytes)
{
    struct range *r = arg;

    at += r->at;
    for (size_t g = at / GRANULE; g * GRANULE < at + bytes; ++g) {
        if (r->value == r->mark[g]) {
            return false;
        }
    }
    return true;
}

static bool set_mark(void *arg, size_t at, size_t bytes)
{
    struct range *r = arg;

    at += r->at;
    for (size_t g = at / GRANULE; g * GRANULE < at + bytes; ++g) {
        r->mark[g] = r->value;
    }
    return true;
}

static bool readable(void *arg, size_t at, size_t bytes)
{
    struct range *r = arg;

    at += r->at;
    for (size_t b = at / BLOCK; b * BLOCK < at + bytes; ++b) {
        if (r->part->owner[b] >= 0 && r->actor->id != r->part->owner[b]) {
            return false;
        }
    }
    return true;
}

bool actor_may_read(const struct actor *a, int w, int t, const struct spot *s)
{
    struct range r = {a, &windows[w].part[t], NULL, 0, s->at};

    return layout_visit(s->there, s->count, readable, &r);
}

bool actor_no_read(struct actor *a, int w, int t, const struct spot *s)
{
    struct peer *p = &a->peer[w][t];
    struct range r = {a, &windows[w].part[t], p->read, p->read_now, s->at};

    return layout_visit(s->there, s->count, unmarked, &r);
}

bool actor_no_write(struct actor *a, int w, int t, const struct spot *s)
{
    struct peer *p = &a->peer[w][t];
    struct range r = {a, &windows[w].part[t], p->wrote, p->wrote_now, s->at};

    return layout_visit(s->there, s->count, unmarked, &r);
}

void actor_mark_read(struct actor *a, int w, int t, const struct spot *s)
{
    struct peer *p = &a->peer[w][t];
    struct range r = {a, &windows[w].part[t], p->read, p->read_now, s->at};

    (void) layout_visit(s->there, s->count, set_mark, &r);
}

void actor_mark_wrote(struct actor *a, int w, int t, const struct spot *s)
{
    struct peer *p = &a->peer[w][t];
    struct range r = {a, &windows[w].part[t], p->wrote, p->wrote_now, s->at};

    p->unflushed = true;
    (void) layout_visit(s->there, s->count, set_mark, &r);
}
