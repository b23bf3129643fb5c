/*
 * What every rank computes alike from the seed: the windows, their synchronisation in each round,
 * who owns which bytes, and all writes. So each rank knows at any time what every byte it may read
 * must be, without asking.
 *
 * No race by construction. A block of BLOCK bytes has an owner for a while (an "era"): the only
 * actor (a thread of a rank) that writes or reads it. Blocks without an owner are read by everybody
 * and written by nobody. Owners change only between rounds, behind a synchronisation that makes all
 * writes visible; how often depends on the mode:
 *
 *   transparent   any time
 *   user          and then every rank invalidates the window
 *   always        never in the life of a window (its owners still see their own writes, rule A1)
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "fuzz.h"

struct window windows[MAX_WINDOWS];
/* not MPI_MAX: that of Open MPI 4.1 is wrong for MPI_UNSIGNED_LONG */
const MPI_Op plan_ops[] = {MPI_SUM, MPI_REPLACE, MPI_BOR, MPI_BXOR, MPI_NO_OP};
enum { OP_SUM, OP_REPLACE, OP_BOR, OP_BXOR, OP_NO_OP, OPS };

rng_t rng_make(int purpose, uint64_t a, uint64_t b)
{
    return rng_seeded(options.seed, purpose, a, b);
}

/* --- rounds */

bool is_passive(int sync)
{
    return SYNC_LOCK == sync || SYNC_LOCK_ALL == sync;
}

int plan_sync(const struct window *w, int round)
{
    /* some windows keep their kind of synchronisation for several rounds */
    rng_t rng = rng_make(FOR_ROUND, w->index, round >> (w->index % 3));
    int kind;

    if (options.threads > 1) {
        return SYNC_LOCK_ALL;
    }
    do {
        kind = (int) rng_below(&rng, SYNC_KINDS);
    } while (!(options.sync & 1 << kind));
    return kind;
}

bool plan_ends_life(const struct window *w, int round)
{
    rng_t rng = rng_make(FOR_ROUND, 100 + w->index, round);

    return rng_chance(&rng, options.threads > 1 ? 2 : 6);
}

bool plan_ends_era(const struct window *w, int round)
{
    rng_t rng = rng_make(FOR_ROUND, 200 + w->index, round);

    switch (options.mode) {
    case MODE_ALWAYS:
        return BREAK_FOREIGN == options.broken && rng_chance(&rng, 50);
    case MODE_USER:
        return rng_chance(&rng, 20);
    default:
        return rng_chance(&rng, 50);
    }
}

void plan_round(struct window *w, int round)
{
    rng_t rng = rng_make(FOR_ROUND, 300 + w->index, round);

    w->sync = plan_sync(w, round);
    w->goes_on = !plan_ends_life(w, round) && plan_sync(w, round + 1) == w->sync;
    w->read_only = rng_chance(&rng, 25);
    w->exclusive = rng_chance(&rng, 50);
    w->stores = rng_chance(&rng, 40);
    for (int o = 0; o < fuzz_size; ++o) {
        for (int t = 0; t < fuzz_size; ++t) {
            w->group[o][t] = rng_chance(&rng, o == t ? 20 : 65);
        }
    }
}

/* --- windows and owners */

void plan_window(struct window *w)
{
    static const int units[] = {1, 1, 2, 4, 8, 8, 16, 12, 24, 40};
    rng_t rng = rng_make(FOR_WINDOW, w->index, w->life);

    w->era = 0;
    w->allocated = 0 == options.memory ? rng_chance(&rng, 50) : 2 == options.memory;
    w->mode = MODE_MIXED == options.mode
                  ? (int[]){MODE_TRANSPARENT, MODE_ALWAYS, MODE_USER, MODE_OFF}[rng_below(&rng, 4)]
                  : options.mode;
    for (int r = 0; r < fuzz_size; ++r) {
        struct part *p = &w->part[r];
        size_t blocks;

        p->bytes = options.window_bytes >> rng_below(&rng, 4);
        p->bytes = (p->bytes - rng_below(&rng, (uint32_t) p->bytes / 2)) / 8 * 8;
        if (rng_chance(&rng, 3)) {
            p->bytes = 0;
        }
        p->unit = units[rng_below(&rng, sizeof(units) / sizeof(units[0]))];
        blocks = (p->bytes + BLOCK - 1) / BLOCK;
        p->now = malloc(p->bytes + 1);
        p->owner = malloc((blocks + 1) * sizeof(p->owner[0]));
        p->owned = malloc((blocks + 1) * sizeof(p->owned[0]));
        p->written = calloc(p->bytes / GRANULE + 1, sizeof(p->written[0]));
        for (size_t i = 0; i < p->bytes; i += 8) {
            uint64_t v = rng_next(&rng);
            memcpy(p->now + i, &v, 8);
        }
    }
    plan_owners(w);
}

void plan_owners(struct window *w)
{
    rng_t rng = rng_make(FOR_OWNERS, w->index, (uint64_t) w->life << 32 | w->era);
    int actors = fuzz_size * options.threads;

    for (int r = 0; r < fuzz_size; ++r) {
        struct part *p = &w->part[r];
        int blocks = (int) ((p->bytes + BLOCK - 1) / BLOCK);
        uint32_t share = 10 + rng_below(&rng, 45);
        uint16_t count[MAX_ACTORS + 1] = {0};

        for (int b = 0; b < blocks;) {
            int run = 1 + (int) rng_below(&rng, 6),
                owner = rng_chance(&rng, share) ? (int) rng_below(&rng, actors) : -1;
            for (; run > 0 && b < blocks; --run, ++b) {
                p->owner[b] = (int16_t) owner;
                if (owner >= 0) {
                    ++count[owner];
                }
            }
        }
        p->first[0] = 0;
        for (int a = 0; a < actors; ++a) {
            p->first[a + 1] = p->first[a] + count[a];
            count[a] = p->first[a];
        }
        for (int b = 0; b < blocks; ++b) {
            if (p->owner[b] >= 0) {
                p->owned[count[p->owner[b]]++] = (uint16_t) b;
            }
        }
    }
}

void plan_forget(struct window *w)
{
    for (int r = 0; r < fuzz_size; ++r) {
        struct part *p = &w->part[r];
        free(p->now);
        free(p->owner);
        free(p->owned);
        free(p->written);
        memset(p, 0, sizeof(*p));
    }
}

/* --- writes */

static size_t common_multiple(size_t a, size_t b)
{
    size_t m = a;

    while (m % b) {
        m += a;
    }
    return m;
}

/* A place for `span` bytes in [low, high), a multiple of `step`; false: there is none. */
static bool place(rng_t *rng, size_t low, size_t high, size_t span, size_t step, size_t *at)
{
    size_t first = (low + step - 1) / step * step;

    if (first + span > high) {
        return false;
    }
    *at = first + rng_below(rng, (uint32_t) ((high - span - first) / step) + 1) * step;
    return true;
}

/* Changes the rank's own memory, not through a displacement. */
static bool is_local(enum write_kind kind)
{
    return STORE == kind || GET_HERE == kind;
}

static bool choose_shape(rng_t *rng, struct write *w, size_t low, size_t high)
{
    size_t unit = windows[w->window].part[w->target].unit;
    int base = (int) rng_below(rng, BASES);

    if (w->kind >= ACC) {
        base = BASE_INT + (int) rng_below(rng, 2);
        w->origin = w->there = layout_basic(base);
        w->count = FETCH_OP == w->kind || SWAP == w->kind ? 1 : 1 + (int) rng_below(rng, 8);
        if (options.strided && !without(WITHOUT_TYPES) && w->kind < FETCH_OP && rng_chance(rng, 40)) {
            w->there = layout_any(rng, base, false);
            w->count = (int) rng_below(rng, 4);
            w->origin = rng_chance(rng, 40) ? layout_pick(rng, base, w->there->items * w->count)
                                            : layout_basic(base);
        }
        w->op = (int) rng_below(rng, GET_ACC == w->kind || FETCH_OP == w->kind ? OPS : OP_NO_OP);
    } else if (STORE == w->kind || GET_HERE == w->kind) {
        w->origin = w->there = layout_basic(BASE_BYTE);
        w->count = (int) rng_size(rng, STORE == w->kind ? 200 : 64);
    } else if (rng_chance(rng, 40) && !without(WITHOUT_TYPES)) {
        w->there = layout_any(rng, base, false);
        w->count = (int) rng_below(rng, 4);
    } else {
        w->there = layout_basic(base);
        w->count = (int) rng_size(rng, 500 / base_bytes[base]);
    }
    if (w->kind < STORE) {
        w->origin = rng_chance(rng, 40) && !without(WITHOUT_TYPES)
                        ? layout_pick(rng, base, w->there->items * w->count)
                        : layout_basic(base);
    }
    w->origin_count = w->there->items * w->count / w->origin->items;
    return place(rng, low, high, layout_span(w->there, w->count),
                 common_multiple(is_local(w->kind) ? 1 : unit, base_bytes[w->there->base]), &w->at);
}

struct fresh {
    uint32_t *written, stamp;
    size_t at;
};

static bool is_fresh(void *arg, size_t at, size_t bytes)
{
    struct fresh *f = arg;

    at += f->at;
    for (size_t g = at / GRANULE; g * GRANULE < at + bytes; ++g) {
        if (f->stamp == f->written[g]) {
            return false;
        }
    }
    return true;
}

static bool mark_written(void *arg, size_t at, size_t bytes)
{
    struct fresh *f = arg;

    at += f->at;
    for (size_t g = at / GRANULE; g * GRANULE < at + bytes; ++g) {
        f->written[g] = f->stamp;
    }
    return true;
}

bool without(int what)
{
    return options.without & 1 << what;
}

static bool is_left_out(enum write_kind kind)
{
    switch (kind) {
    case PUT:
    case RPUT:
        return without(WITHOUT_PUTS);
    case STORE:
    case GET_HERE:
        return false;
    case ACC:
    case RACC:
        return without(WITHOUT_ACCUMULATES);
    case GET_ACC:
    case RGET_ACC:
        return without(WITHOUT_GET_ACCUMULATES);
    default:
        return without(WITHOUT_ATOMICS);
    }
}

/* Bytes that nobody writes in this round, for a GET_HERE. */
static bool choose_source(rng_t *rng, int rank, struct write *w)
{
    const struct window *win = &windows[w->window];
    const struct part *p;
    int b;

    w->source = (int) rng_below(rng, fuzz_size);
    p = &win->part[w->source];
    if (p->bytes < BLOCK || (SYNC_PSCW == win->sync && !win->group[rank][w->source])) {
        return false;
    }
    b = (int) rng_below(rng, (uint32_t) (p->bytes / BLOCK));
    return p->owner[b] < 0
           && place(rng, (size_t) b * BLOCK, (size_t) (b + 1) * BLOCK, w->count, p->unit,
                    &w->source_at);
}

static bool choose_write(rng_t *rng, int actor, int round, struct write *w)
{
    int rank = actor / options.threads, percent;
    struct window *win;
    struct part *p;
    size_t low, high;
    int mine, b;

    w->window = (int) rng_below(rng, options.windows);
    w->target = (int) rng_below(rng, fuzz_size);
    w->salt = rng_next(rng);
    percent = (int) rng_below(rng, 100);
    win = &windows[w->window];
    p = &win->part[w->target];
    mine = p->first[actor + 1] - p->first[actor];
    if (win->read_only || 0 == mine || (SYNC_PSCW == win->sync && !win->group[rank][w->target])) {
        return false;
    }
    b = p->owned[p->first[actor] + rng_below(rng, mine)];
    low = (size_t) b * BLOCK;
    for (high = low + BLOCK; high < p->bytes && actor == p->owner[high / BLOCK]; high += BLOCK) {
    }
    high = high < p->bytes ? high : p->bytes;

    if (w->target == rank && percent < 50) {
        w->kind = percent < 25 || SYNC_LOCK == win->sync ? STORE : GET_HERE;
    } else {
        static const int upto[WRITE_KINDS] = {40, 55, 55, 55, 65, 70, 78, 83, 93, 100};
        for (w->kind = PUT; percent >= upto[w->kind]; ++w->kind) {
        }
        if ((!is_passive(win->sync) || without(WITHOUT_REQUESTS))
            && (RPUT == w->kind || RACC == w->kind || RGET_ACC == w->kind)) {
            --w->kind;
        }
    }
    if (is_left_out(w->kind) || (is_local(w->kind) && !win->stores)) {
        return false;
    }
    if (!choose_shape(rng, w, low, high) || (GET_HERE == w->kind && !choose_source(rng, rank, w))) {
        return false;
    }
    if (!is_passive(win->sync)) {
        /* nothing orders two writes, or a write and a read, within such an epoch */
        struct fresh f = {p->written, (uint32_t) round + 1, w->at};
        if (!layout_visit(w->there, w->count, is_fresh, &f)) {
            return false;
        }
        (void) layout_visit(w->there, w->count, mark_written, &f);
    }
    return true;
}

int plan_script(int actor, int round, struct write *script)
{
    rng_t rng = rng_make(FOR_SCRIPT, actor, round);
    int wanted = (int) rng_below(&rng, (uint32_t) options.per_round / 2), n = 0;

    if (rng_chance(&rng, 35)) {
        return 0; /* whoever only reads needs the fewest synchronisations */
    }

    for (int i = 0; i < wanted && n < MAX_SCRIPT; ++i) {
        bool found = false;
        for (int try = 0; try < 4 && !found; ++try) {
            memset(&script[n], 0, sizeof(script[n]));
            found = choose_write(&rng, actor, round, &script[n]);
        }
        n += found;
    }
    return n;
}

void plan_data(const struct write *w, uint8_t *packed)
{
    size_t bytes = layout_bytes(w->there, w->count);
    rng_t rng = {w->salt};

    if (GET_HERE == w->kind) {
        memcpy(packed, windows[w->window].part[w->source].now + w->source_at, bytes);
        return;
    }
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t v = rng_next(&rng);
        memcpy(packed + i, &v, bytes - i < 8 ? bytes - i : 8);
    }
}

static uint64_t load(const uint8_t *at, size_t bytes)
{
    uint32_t v4;
    uint64_t v8;

    if (4 == bytes) {
        memcpy(&v4, at, 4);
        return v4;
    }
    memcpy(&v8, at, 8);
    return v8;
}

static void store(uint8_t *at, size_t bytes, uint64_t value)
{
    uint32_t v4 = (uint32_t) value;

    memcpy(at, 4 == bytes ? (void *) &v4 : (void *) &value, bytes);
}

bool write_swaps(const struct write *w)
{
    return w->salt & 1;
}

static uint64_t combined(int op, uint64_t old, uint64_t with)
{
    switch (op) {
    case OP_SUM:
        return old + with;
    case OP_REPLACE:
        return with;
    case OP_BOR:
        return old | with;
    case OP_BXOR:
        return old ^ with;
    default:
        return old;
    }
}

void plan_apply(const struct write *w, uint8_t *fetched)
{
    uint8_t packed[4096 + 8], before[4096], *now = windows[w->window].part[w->target].now + w->at;
    size_t one = base_bytes[w->there->base];

    plan_data(w, packed);
    layout_pack(w->there, w->count, now, before);
    if (NULL != fetched) {
        memcpy(fetched, before, layout_bytes(w->there, w->count));
    }
    if (w->kind < ACC) {
        layout_unpack(w->there, w->count, packed, now);
        return;
    }
    for (int i = 0; i < w->there->items * w->count; ++i) {
        uint64_t old = load(before + i * one, one), with = load(packed + i * one, one);
        if (SWAP != w->kind) {
            store(packed + i * one, one, combined(w->op, old, with));
        } else if (!write_swaps(w)) {
            store(packed + i * one, one, old);
        }
    }
    layout_unpack(w->there, w->count, packed, now);
}
