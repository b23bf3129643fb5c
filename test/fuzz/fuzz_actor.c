/*
 * An actor: one thread of a rank with its own buffers. It carries out its writes of the round (the
 * script that all ranks know) and as many gets of its own choice, completes them in all legal ways,
 * and compares.
 *
 * Every operation has a place of its own in two arenas of the same shape: `real`, which MPI is
 * given, and `want`, what it must look like when the operation is complete: data where the datatype
 * says, and the random bytes from before in its gaps and around it.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "fuzz.h"

enum {
    ARENA = 2 << 20,      /* bytes */
    ARENA_GETS = 1 << 20, /* bytes of it that gets may fill: the writes must be done */
    GUARD = 24,           /* bytes around a buffer */
    MAX_RECORDS = 4096,
    MAX_GETS = 3000,   /* records of gets */
    MAX_REQUESTS = 24, /* UCX of 5.0 aborts with 255 of a process over TCP */
    RECENT = 12
};

/* remote: those of the accumulates and atomics that went to another process */
enum { OP_GETS, OP_RGETS, OP_PUTS, OP_ACCS, OP_ATOMICS, OP_STORES, OP_SYNCS, OP_REMOTE, OP_NAMES };
static const char *const op_names[OP_NAMES] = {"gets",    "rgets",  "puts",  "accumulates",
                                               "atomics", "stores", "syncs", "remote"};

/* Bytes of a target. */
struct spot {
    size_t at;
    const struct layout *there;
    int count;
};

struct record {
    int window, target, request; /* request: -1 for none */
    int round, kind;             /* kind: of enum write_kind, or -1 for a get */
    struct spot spot;
    size_t start, bytes; /* in the arenas, with guards */
};

/* What an actor knows of one target of one window. */
struct peer {
    uint32_t *read,
        *wrote; /* per granule: equal to ..._now when such an operation is outstanding */
    uint32_t read_now, wrote_now;
    struct spot recent[RECENT];
    int recents, outstanding;
    bool unflushed; /* has writes that may not have reached the target */
    int lock;       /* 0: not locked, else the lock type */
};

struct actor {
    int id, thread, round;
    rng_t rng;
    uint8_t *real, *want;
    size_t used;
    struct record record[MAX_RECORDS];
    int records, requests, locks;
    MPI_Request request[MAX_REQUESTS];
    struct peer peer[MAX_WINDOWS][MAX_RANKS];
    struct write script[MAX_SCRIPT];
    int script_length;
    long count[OP_NAMES], wrong;
    int quiet;   /* 1, 2: no synchronisation that is not needed, so that what is wrongly kept lives
                    long;   2: by flushes of one target */
    bool spoilt; /* BREAK_MODEL has done its work */
};

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

/* Operations on the target are complete here; `remote`: and there. */
static void target_done(struct actor *a, int window, int target, bool remote, const char *how)
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
        target_done(a, window, t, true, how);
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

static void finish_requests(struct actor *a, bool all)
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

static int free_request(struct actor *a)
{
    int i = 0;

    if (MAX_REQUESTS == a->requests) {
        finish_requests(a, true);
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
    target_done(a, window, target, true, "unlock");
}

static void unlock_all_targets(struct actor *a, bool only_exclusive)
{
    for (int w = 0; w < options.windows; ++w) {
        for (int t = 0; t < fuzz_size; ++t) {
            if (a->peer[w][t].lock && (!only_exclusive || windows[w].exclusive)) {
                unlock_target(a, w, t);
            }
        }
    }
}

/* The epoch that an access to this target needs is open. */
static void need_epoch(struct actor *a, int window, int target)
{
    struct window *w = &windows[window];

    if (SYNC_LOCK != w->sync || a->peer[window][target].lock) {
        return;
    }
    if (w->exclusive && a->locks > 0) {
        unlock_all_targets(a, true); /* one at a time: no deadlock */
    }
    lock_target(a, window, target);
}

static bool is_locked(const struct actor *a, int window, int target)
{
    return SYNC_LOCK_ALL == windows[window].sync || 0 != a->peer[window][target].lock;
}

/* Complete the operations on this target, at the target too if `remote`, in one of the ways. */
static void flush_target(struct actor *a, int window, int target, bool remote)
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
        need_epoch(a, window, target);
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
        if (t == target || ((2 == way || 5 == way) && is_locked(a, window, t))) {
            target_done(a, window, t, way < 3, ways[way]);
        }
    }
}

static void complete_passive(struct actor *a)
{
    finish_requests(a, true);
    for (int w = 0; w < options.windows; ++w) {
        for (int t = 0; t < fuzz_size; ++t) {
            if (is_passive(windows[w].sync) && a->peer[w][t].outstanding > 0) {
                flush_target(a, w, t, false);
            }
        }
    }
}

/* --- buffers */

static size_t room_for(size_t bytes)
{
    return (bytes + 2 * GUARD + 7) / 8 * 8;
}

/* A record with a buffer for `bytes`, both arenas filled with the same noise. */
static struct record *take_buffer(struct actor *a, int window, int target, size_t bytes)
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

/* Room for a get of so many bytes; completes what is outstanding when there is none. */
static bool has_room(struct actor *a, size_t bytes)
{
    if (a->used + room_for(bytes) > ARENA_GETS || a->records >= MAX_GETS) {
        complete_passive(a);
    }
    return a->used + room_for(bytes) <= ARENA_GETS && a->records < MAX_GETS;
}

static uint8_t *real_of(struct actor *a, const struct record *r)
{
    return a->real + r->start + GUARD;
}

static uint8_t *want_of(struct actor *a, const struct record *r)
{
    return a->want + r->start + GUARD;
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

static bool may_read(void *arg, size_t at, size_t bytes)
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

static bool no_read(struct actor *a, int w, int t, const struct spot *s)
{
    struct peer *p = &a->peer[w][t];
    struct range r = {a, &windows[w].part[t], p->read, p->read_now, s->at};

    return layout_visit(s->there, s->count, unmarked, &r);
}

static bool no_write(struct actor *a, int w, int t, const struct spot *s)
{
    struct peer *p = &a->peer[w][t];
    struct range r = {a, &windows[w].part[t], p->wrote, p->wrote_now, s->at};

    return layout_visit(s->there, s->count, unmarked, &r);
}

static void mark_read(struct actor *a, int w, int t, const struct spot *s)
{
    struct peer *p = &a->peer[w][t];
    struct range r = {a, &windows[w].part[t], p->read, p->read_now, s->at};

    (void) layout_visit(s->there, s->count, set_mark, &r);
}

static void mark_wrote(struct actor *a, int w, int t, const struct spot *s)
{
    struct peer *p = &a->peer[w][t];
    struct range r = {a, &windows[w].part[t], p->wrote, p->wrote_now, s->at};

    p->unflushed = true;
    (void) layout_visit(s->there, s->count, set_mark, &r);
}

/* --- writes */

static void call_write(struct actor *a, const struct write *w, struct record *r, struct record *res)
{
    const struct window *win = &windows[w->window];
    MPI_Aint disp = (MPI_Aint) (w->at + w->there->before) / win->part[w->target].unit;
    MPI_Datatype type = w->there->type;
    MPI_Op op = plan_ops[w->op];
    MPI_Request *request = r->request >= 0 ? &a->request[r->request] : NULL;
    uint8_t *from = real_of(a, r) + w->origin->before, *to = NULL != res ? real_of(a, res) : NULL;
    MPI_Datatype origin = w->origin->type, result = layout_basic(w->there->base)->type;
    int results = w->there->items * w->count;

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
        OK(MPI_Accumulate(from, w->origin_count, origin, w->target, disp, w->count, type, op,
                          win->win));
        break;
    case RACC:
        OK(MPI_Raccumulate(from, w->origin_count, origin, w->target, disp, w->count, type, op,
                           win->win, request));
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
        unlock_all_targets(a, false);
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
        target_done(a, w->window, w->source, true, "flush");
        OK(MPI_Win_sync(win->win));
    }
    plan_apply(w, NULL);
    ++a->count[OP_GETS];
}

static void do_write(struct actor *a, const struct write *w)
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
            need_epoch(a, w->window, w->target);
        }
        if (!no_write(a, w->window, w->target, &spot)) {
            need_epoch(a, w->window, w->target);
            flush_target(a, w->window, w->target, true);
        } else if (!no_read(a, w->window, w->target, &spot)) {
            /* of a get with a request that nobody has waited for: its epoch may have ended */
            need_epoch(a, w->window, w->target);
            flush_target(a, w->window, w->target, false);
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
        request = free_request(a);
    }
    r = take_buffer(a, w->window, w->target, layout_span(w->origin, w->origin_count) + 16);
    r->request = request;
    if (w->kind >= GET_ACC) {
        res = take_buffer(a, w->window, w->target, bytes);
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
    mark_wrote(a, w->window, w->target, &spot);
    ++a->count[counts[w->kind]];
    a->count[OP_REMOTE] +=
        fuzz_rank != w->target && (OP_ACCS == counts[w->kind] || OP_ATOMICS == counts[w->kind]);
}

/* --- gets */

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
        struct range r = {a, part, NULL, 0, 0};
        bool again = p->recents > 0 && rng_chance(&a->rng, 75);

        if (again) {
            choose_near(a, s, p, part->unit);
        } else {
            choose_new(a, s, part);
        }
        r.at = s->at;
        if (s->at + layout_span(s->there, s->count) > part->bytes
            || layout_bytes(s->there, s->count) > options.get_bytes
            || !layout_visit(s->there, s->count, may_read, &r)) {
            continue;
        }
        if (!no_write(a, window, target, s)) {
            if (!is_passive(windows[window].sync)) {
                continue;
            }
            /* an own write that is still under way: complete it, then it must be seen */
            need_epoch(a, window, target);
            flush_target(a, window, target, true);
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

static bool do_get(struct actor *a)
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
    need_epoch(a, window, target);
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
    if (!has_room(a, layout_span(origin, count))) {
        return false;
    }
    if (is_passive(w->sync) && rng_chance(&a->rng, 15) && !without(WITHOUT_RGETS)) {
        request = free_request(a);
    }
    r = take_buffer(a, window, target, layout_span(origin, count));
    r->spot = s;
    r->request = request;
    layout_pack(s.there, s.count, w->part[target].now + s.at, packed);
    layout_unpack(origin, count, packed, want_of(a, r));
    if (BREAK_MODEL == options.broken && !a->spoilt && a->round > 1 && s.count > 0) {
        a->spoilt = true;
        want_of(a, r)[origin->block[0].at] ^= 1;
    }
    call_get(a, r, origin, count);
    mark_read(a, window, target, &s);
    return true;
}

/* --- a round */

/* Another size, scheme or mode, or nothing of the past, while gets are under way: must not be seen.
 */
static void change_keys(struct actor *a, struct window *w)
{
    static const struct {
        const char *key, *value[4];
    } keys[] = {{"ompi_osc_cached_entries", {"16", "60", "500", "4096"}},
                {"ompi_osc_cached_memory", {"4096", "9000", "64K", "1M"}},
                {"ompi_osc_cached_scheme", {"full", "temporal", "positional", "duel"}},
                {"ompi_osc_cached_sample", {"1", "2", "16", "64"}},
                {"ompi_osc_cached_adaptive", {"true", "false", "true", "false"}},
                {"ompi_osc_cached_invalidate", {"true", "true", "true", "true"}},
                {"ompi_osc_cached_mode", {"off", "transparent", "always", "user"}}};
    /* the last one only where the rest of the program obeys the rules of all modes */
    uint32_t k = rng_below(&a->rng, MODE_MIXED == options.mode ? 7 : 6), v = rng_below(&a->rng, 4);
    MPI_Info info;

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, keys[k].key, keys[k].value[v]));
    OK(MPI_Win_set_info(w->win, info));
    OK(MPI_Info_free(&info));
}

static void random_sync(struct actor *a)
{
    int window = (int) rng_below(&a->rng, options.windows),
        target = (int) rng_below(&a->rng, fuzz_size);
    struct window *w = &windows[window];

    if (options.changes && 0 == a->thread && rng_chance(&a->rng, 20)) {
        change_keys(a, w);
    } else if (rng_chance(&a->rng, 30)) {
        finish_requests(a, rng_chance(&a->rng, 30));
    } else if (is_passive(w->sync) && is_locked(a, window, target)) {
        if (!a->quiet && rng_chance(&a->rng, 10)) {
            OK(MPI_Win_sync(w->win));
        } else {
            flush_target(a, window, target, !a->quiet && rng_chance(&a->rng, 40));
        }
    }
}

/* As little as possible: writes must have arrived, gets need only be complete here. */
static void end_each(struct actor *a, int window)
{
    struct window *w = &windows[window];
    bool local = false, all = options.flush_each
                              || (options.scope_flush
                                  && (2 == a->quiet || (0 == a->quiet && rng_chance(&a->rng, 50))));

    for (int t = 0; t < fuzz_size; ++t) {
        struct peer *p = &a->peer[window][t];

        if (all || p->unflushed || without(WITHOUT_FLUSH_LOCALS)
            || (!a->quiet && rng_chance(&a->rng, 20))) {
            OK(MPI_Win_flush(t, w->win));
            target_done(a, window, t, true, "flush at the end of the round");
        } else {
            local = true;
            if (p->outstanding > 0 || rng_chance(&a->rng, 30)) {
                OK(MPI_Win_flush_local(t, w->win));
                target_done(a, window, t, false, "flush_local at the end of the round");
            }
        }
    }
    if (local && options.scope_flush) {
        OK(MPI_Win_sync(w->win)); /* a local flush does not end what is kept */
    }
}

/* The actor's own end of its passive epochs: nothing of it is outstanding, everybody may see it. */
static void end_passive(struct actor *a)
{
    bool late = rng_chance(&a->rng, 20); /* requests may be completed after the epoch */

    if (!late) {
        finish_requests(a, true);
    }
    unlock_all_targets(a, false);
    for (int w = 0; w < options.windows; ++w) {
        if (SYNC_LOCK_ALL != windows[w].sync) {
            continue;
        }
        if (options.flush_each || a->quiet || rng_chance(&a->rng, 50)) {
            end_each(a, w);
        } else if (rng_chance(&a->rng, 50)) {
            OK(MPI_Win_flush_all(windows[w].win));
            actor_window_done(a, w, "flush_all at the end of the round");
        } else {
            for (int t = 0; t < fuzz_size; ++t) {
                OK(MPI_Win_flush(t, windows[w].win));
                target_done(a, w, t, true, "flush at the end of the round");
            }
        }
    }
    finish_requests(a, true);
}

void actor_round(struct actor *a, int round)
{
    int n, next = 0;

    a->round = round;
    a->rng = rng_make(FOR_ACTOR, a->id, round);
    {
        rng_t rng = rng_make(FOR_ACTOR, 2000 + a->id, round / 4);
        a->quiet = (int[]){0, 0, 1, 2}[rng_below(&rng, 4)];
    }
    a->script_length = plan_script(a->id, round, a->script);
    for (int i = 0; i < a->script_length; ++i) {
        const struct write *w = &a->script[i];
        struct spot s = {w->at, w->there, w->count};
        if (!is_passive(windows[w->window].sync)) {
            mark_wrote(a, w->window, w->target, &s);
        }
    }
    n = options.per_round / 2 + (int) rng_below(&a->rng, options.per_round);
    n = n > a->script_length ? n : a->script_length;
    for (int i = 0; i < n; ++i) {
        int left = a->script_length - next;
        if (left > 0 && rng_below(&a->rng, n - i) < (uint32_t) left) {
            do_write(a, &a->script[next++]);
        } else {
            for (int try = 0; try < 4 && !do_get(a); ++try) {
            }
        }
        if (rng_chance(&a->rng, 12)) {
            random_sync(a);
        }
    }
    while (next < a->script_length) {
        do_write(a, &a->script[next++]);
    }
    end_passive(a);
}

long actor_ops(const struct actor *a, const char **names, long *count, int max, int *n)
{
    long sum = 0;

    *n = OP_NAMES < max ? OP_NAMES : max;
    for (int i = 0; i < *n; ++i) {
        names[i] = op_names[i];
        count[i] += a->count[i];
        sum += OP_SYNCS <= i ? 0 : a->count[i];
    }
    return sum;
}

long actor_wrong(const struct actor *a)
{
    return a->wrong;
}
