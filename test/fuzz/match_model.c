/*
 * The naive model: per communicator one list of receives, and per peer one of messages. See
 * match.h.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "match.h"
#include <stdarg.h>

int channel_tag(const struct channel *ch, int tag)
{
    return tag * ch->tag_step + ch->tag_first;
}

bool accepts(int source, int tag, const struct message *m)
{
    return (MPI_ANY_SOURCE == source || m->source == source)
           && (MPI_ANY_TAG == tag || m->tag == tag);
}

struct message *model_first(struct channel *ch, int peer, int source, int tag)
{
    for (int i = 0; i < ch->num_arrived[peer]; ++i) {
        if (accepts(source, tag, &ch->arrived[peer][i])) {
            return &ch->arrived[peer][i];
        }
    }
    return NULL;
}

int model_available(struct channel *ch, int source, int tag, int *peer)
{
    int n = 0;

    for (int p = 0; p < ch->peers; ++p) {
        if (NULL != model_first(ch, p, source, tag)) {
            *peer = p;
            ++n;
        }
    }
    return n;
}

struct message model_take(struct channel *ch, struct message *m)
{
    struct message taken = *m, *list = ch->arrived[taken.source];
    int left = --ch->num_arrived[taken.source] - (int) (m - list);

    memmove(m, m + 1, left * sizeof(*m));
    return taken;
}

static void model_arrive(struct channel *ch, const struct message *m)
{
    int n = ch->num_arrived[m->source]++;

    ch->arrived[m->source] = realloc(ch->arrived[m->source], (n + 1) * sizeof(*m));
    ch->arrived[m->source][n] = *m;
}

void model_post(struct channel *ch, struct receive *r)
{
    if (ch->num_posted == ch->max_posted) {
        ch->max_posted = 2 * ch->max_posted + 64;
        ch->posted = realloc(ch->posted, ch->max_posted * sizeof(ch->posted[0]));
    }
    ch->posted[ch->num_posted++] = r;
}

static void unpost_at(struct channel *ch, int i)
{
    memmove(&ch->posted[i], &ch->posted[i + 1], (--ch->num_posted - i) * sizeof(ch->posted[0]));
}

void model_unpost(struct channel *ch, struct receive *r)
{
    int i = 0;

    while (ch->posted[i] != r) {
        ++i;
    }
    unpost_at(ch, i);
}

/* --- words for what is wrong */

void wrong(const struct channel *ch, const char *format, ...)
{
    char text[1200];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    fprintf(
        stderr,
        "match_fuzz: seed %llu, rank %d, thread %d, communicator %d (%s), round %d, wave %d: %s\n",
        (unsigned long long) options.seed, match_rank, ch->thread, ch->index, ch->kind, ch->round,
        ch->wave, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static const char *words_receive(const struct channel *ch, const struct receive *r, char *text,
                                 size_t size)
{
    char got[300] = "nothing yet";
    int place = 0, bytes;

    while (place < ch->num_posted && ch->posted[place] != r) {
        ++place;
    }
    if (r->done) {
        MPI_Get_count(&r->status, MPI_BYTE, &bytes);
        snprintf(got, sizeof(got), "source %d, tag %d, %d bytes: ", r->status.MPI_SOURCE,
                 r->status.MPI_TAG, bytes);
        plan_describe(r->buffer, bytes, got + strlen(got), sizeof(got) - strlen(got));
    }
    snprintf(text, size, "receive (source %d, tag %d%s; %d before it of %d posted) got %s",
             r->source, r->tag, r->persistent ? ", persistent" : "", place, ch->num_posted, got);
    return text;
}

static const char *words_message(const struct channel *ch, const struct message *m, char *text,
                                 size_t size)
{
    snprintf(text, size, "message number %u of wave %u (source %d, rank %d, tag %d, %d bytes)",
             m->number >> 8, m->number & 0xff, m->source, ch->world[m->source], m->tag, m->bytes);
    return text;
}

static void wrong_pair(const struct channel *ch, const struct receive *r, const struct message *m,
                       const char *what)
{
    char one[600], two[300];

    wrong(ch, "%s: expected %s, %s", what, words_message(ch, m, two, sizeof(two)),
          words_receive(ch, r, one, sizeof(one)));
}

bool model_got(const struct channel *ch, const struct receive *r, const struct message *m)
{
    int bytes;

    MPI_Get_count(&r->status, MPI_BYTE, &bytes);
    return r->status.MPI_SOURCE == m->source && r->status.MPI_TAG == m->tag && bytes == m->bytes
           && plan_is(ch, ch->round, ch->world[m->source], match_rank, m, r->buffer);
}

void model_must_have(const struct channel *ch, const struct receive *r, const struct message *m)
{
    if (!model_got(ch, r, m)) {
        wrong_pair(ch, r, m, "wrong message");
    }
}

/* --- the end of a wave */

/* The receives that are not complete, for MPI_Testsome. */
struct pending {
    MPI_Request *requests;
    MPI_Status *statuses;
    int *done;
    struct receive **of;
    int n;
};

static struct pending pending_make(const struct channel *ch)
{
    int n = ch->num_posted + 1;
    struct pending p = {malloc(n * sizeof(MPI_Request)), malloc(n * sizeof(MPI_Status)),
                        malloc(n * sizeof(int)), malloc(n * sizeof(struct receive *)), 0};

    for (int i = 0; i < ch->num_posted; ++i) {
        if (!ch->posted[i]->done) {
            p.of[p.n] = ch->posted[i];
            p.requests[p.n++] = ch->posted[i]->request;
        }
    }
    return p;
}

static void pending_free(struct pending *p)
{
    free(p->requests);
    free(p->statuses);
    free(p->done);
    free(p->of);
}

/* Has one more completed? */
static bool pending_test(struct pending *p)
{
    int n;

    OK(MPI_Testsome(p->n, p->requests, &n, p->done, p->statuses));
    if (MPI_UNDEFINED == n) { /* none is left: somebody has to make progress */
        int flag;

        OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
        return false;
    }
    for (int i = 0; i < n; ++i) {
        struct receive *r = p->of[p->done[i]];

        r->request = p->requests[p->done[i]];
        r->status = p->statuses[i];
        r->done = true;
    }
    return n > 0;
}

/* The first posted that accepts the message; -1: none. */
static int first_posted(const struct channel *ch, const struct message *m)
{
    for (int i = 0; i < ch->num_posted; ++i) {
        if (accepts(ch->posted[i]->source, ch->posted[i]->tag, m)) {
            return i;
        }
    }
    return -1;
}

/* Lets messages arrive as long as what was received explains it. Returns a peer whose next message
 * is not explained, -1: none is left. */
static int explain(struct channel *ch, int *next,
                   void (*finished)(struct channel *ch, struct receive *r))
{
    int blocked;
    bool more;

    do {
        blocked = -1;
        more = false;
        for (int p = 0; p < ch->peers; ++p) {
            while (next[p] < ch->num_incoming[p]) {
                const struct message *m = &ch->incoming[p][next[p]];
                int i = first_posted(ch, m);

                if (0 > i) {
                    model_arrive(ch, m);
                } else {
                    struct receive *r = ch->posted[i];

                    if (!r->done || r->status.MPI_SOURCE != p) {
                        blocked = p;
                        break;
                    }
                    model_must_have(ch, r, m);
                    unpost_at(ch, i);
                    finished(ch, r);
                }
                ++next[p];
                more = true;
            }
        }
    } while (more && 0 <= blocked);
    return blocked;
}

static void settle_exact(struct channel *ch, struct pending *pending,
                         void (*finished)(struct channel *ch, struct receive *r))
{
    double end = match_now() + options.limit;
    int next[MAX_RANKS] = {0}, p;

    while (0 <= (p = explain(ch, next, finished))) {
        while (!pending_test(pending)) {
            if (match_now() > end) {
                const struct message *m = &ch->incoming[p][next[p]];

                wrong_pair(ch, ch->posted[first_posted(ch, m)], m, "no order of arrival explains");
            }
        }
    }
    for (int i = 0; i < ch->num_posted; ++i) {
        if (ch->posted[i]->done) {
            char text[600];

            wrong(ch, "not to be explained: %s",
                  words_receive(ch, ch->posted[i], text, sizeof(text)));
        }
    }
}

/* Was every peer's message, in order, given to the first posted of the receives that got something
 * from this peer, and can nothing that is left over match? If not, and `say`: what is wrong. */
static bool explained_freely(struct channel *ch, bool say)
{
    struct message none = {.source = -1};
    const struct message *bad = NULL;
    struct receive *r = NULL;

    for (int i = 0; i < ch->num_posted; ++i) {
        ch->posted[i]->taken = false;
    }
    for (int p = 0; p < ch->peers && NULL == bad; ++p) {
        for (int k = 0; k < ch->num_arrived[p] && NULL == bad; ++k) {
            struct message *m = &ch->arrived[p][k];
            int i, passed = -1;

            for (i = 0; i < ch->num_posted; ++i) {
                r = ch->posted[i];
                if (!accepts(r->source, r->tag, m)) {
                    continue;
                }
                if (!r->done) {
                    passed = i; /* whether it was matched or not, this one had to be first */
                    break;
                }
                if (r->status.MPI_SOURCE == p && !r->taken) {
                    break;
                }
            }
            m->receive_wave = -1; /* not matched */
            if (0 <= passed || (i < ch->num_posted && !model_got(ch, r, m))) {
                bad = m;
            } else if (i < ch->num_posted) {
                r->taken = true;
                m->receive_wave = 0;
            }
        }
    }
    for (int i = 0; i < ch->num_posted && NULL == bad; ++i) {
        if (ch->posted[i]->done && !ch->posted[i]->taken) {
            r = ch->posted[i];
            bad = &none;
        }
    }
    if (NULL != bad && say) {
        if (bad == &none) {
            char text[600];

            wrong(ch, "nobody sent this: %s", words_receive(ch, r, text, sizeof(text)));
        }
        wrong_pair(ch, r, bad, "wrong message or order");
    }
    return NULL == bad;
}

static void settle_freely(struct channel *ch, struct pending *pending,
                          void (*finished)(struct channel *ch, struct receive *r))
{
    double end = match_now() + options.limit;
    bool settled, changed;
    int n;

    for (int p = 0; p < ch->peers; ++p) {
        for (int k = 0; k < ch->num_incoming[p]; ++k) {
            model_arrive(ch, &ch->incoming[p][k]);
        }
    }
    do {
        double now = match_now(), wait;

        settled = explained_freely(ch, false);
        /* that took its time: not after each of many */
        wait = match_now() + 2 * (match_now() - now);
        for (changed = false; !settled && (!changed || match_now() < wait);) {
            changed |= pending_test(pending);
            if (match_now() > end) {
                settled = explained_freely(ch, true);
            }
        }
    } while (!settled);
    for (int p = 0; p < ch->peers; ++p) {
        n = 0;
        for (int k = 0; k < ch->num_arrived[p]; ++k) {
            if (0 > ch->arrived[p][k].receive_wave) {
                ch->arrived[p][n++] = ch->arrived[p][k];
            }
        }
        ch->num_arrived[p] = n;
    }
    n = 0;
    for (int i = 0; i < ch->num_posted; ++i) {
        if (ch->posted[i]->taken) {
            finished(ch, ch->posted[i]);
        } else {
            ch->posted[n++] = ch->posted[i];
        }
    }
    ch->num_posted = n;
}

void model_settle(struct channel *ch, bool exact,
                  void (*finished)(struct channel *ch, struct receive *r))
{
    struct pending pending = pending_make(ch);

    if (exact) {
        settle_exact(ch, &pending, finished);
    } else {
        settle_freely(ch, &pending, finished);
    }
    pending_free(&pending);
    for (int p = 0; p < ch->peers; ++p) {
        free(ch->incoming[p]);
        ch->incoming[p] = NULL;
        ch->num_incoming[p] = 0;
    }
}
