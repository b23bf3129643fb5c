/*
 * A round of an actor: its writes, gets and synchronisation in random order, and how it ends.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "fuzz_actor.h"

static const char *const op_names[OP_NAMES] = {"gets",    "rgets",  "puts",  "accumulates",
                                               "atomics", "stores", "syncs", "remote"};

/* Another size, scheme or mode, or nothing of the past, while gets are under way: must not be seen.
 */
static void change_keys(struct actor *a, struct window *w)
{
    static const struct {
        const char *key, *value[4];
    } keys[] = {{"ompi_osc_cached_entries", {"16", "60", "500", "4096"}},
                {"ompi_osc_cached_memory", {"4096", "8K", "8200", "1M"}},
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
        actor_finish_requests(a, rng_chance(&a->rng, 30));
    } else if (is_passive(w->sync) && actor_is_locked(a, window, target)) {
        if (!a->quiet && rng_chance(&a->rng, 10)) {
            OK(MPI_Win_sync(w->win));
        } else {
            actor_flush(a, window, target, !a->quiet && rng_chance(&a->rng, 40));
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
            actor_target_done(a, window, t, true, "flush at the end of the round");
        } else {
            local = true;
            if (p->outstanding > 0 || rng_chance(&a->rng, 30)) {
                OK(MPI_Win_flush_local(t, w->win));
                actor_target_done(a, window, t, false, "flush_local at the end of the round");
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
        actor_finish_requests(a, true);
    }
    actor_unlock_all(a, false);
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
                actor_target_done(a, w, t, true, "flush at the end of the round");
            }
        }
    }
    actor_finish_requests(a, true);
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
            actor_mark_wrote(a, w->window, w->target, &s);
        }
    }
    n = options.per_round / 2 + (int) rng_below(&a->rng, options.per_round);
    n = n > a->script_length ? n : a->script_length;
    for (int i = 0; i < n; ++i) {
        int left = a->script_length - next;
        if (left > 0 && rng_below(&a->rng, n - i) < (uint32_t) left) {
            actor_write(a, &a->script[next++]);
        } else {
            for (int try = 0; try < 4 && !actor_get(a); ++try) {
            }
        }
        if (rng_chance(&a->rng, 12)) {
            random_sync(a);
        }
    }
    while (next < a->script_length) {
        actor_write(a, &a->script[next++]);
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
