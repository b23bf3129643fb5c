/*
 * One thread of the matching fuzzer. See match.h.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "match.h"

/* A receive as planned. */
struct wish {
    int source, tag, method;
};

/* A receive or a matched probe of which it is known what it gets. */
struct known {
    struct channel *ch;
    struct receive *r;
    MPI_Message handle; /* MPI_MESSAGE_NULL: it is under way */
    struct message m;
};

struct send {
    struct channel *ch;
    uint8_t *buffer;
    int to, tag, bytes;
    bool persistent, idle;
};

struct work {
    struct actor *actor;
    struct shape shape;
    int round, wave;
    rng_t rng;
    struct message *plan[MAX_CHANNELS][MAX_WAVES][MAX_RANKS];
    int planned[MAX_CHANNELS][MAX_WAVES][MAX_RANKS];
    struct known *known;
    int num_known, max_known;
    struct send *sends;
    MPI_Request *requests; /* of sends */
    int num_sends, max_sends;
};

static bool busy(const struct work *w, const struct channel *ch)
{
    return w->shape.busy >> ch->index & 1;
}

/* --- receives */

static struct receive *receive_make(const struct work *w, int source, int tag)
{
    struct receive *r = calloc(1, sizeof(*r));

    r->source = source;
    r->tag = tag;
    r->request = MPI_REQUEST_NULL;
    r->buffer = malloc(w->shape.bytes + 1);
    return r;
}

static void receive_free(struct receive *r)
{
    free(r->buffer);
    free(r);
}

/* What was received was looked at. */
static void receive_done(struct channel *ch, struct receive *r)
{
    if (!r->persistent) {
        receive_free(r);
        return;
    }
    r->done = false;
    ch->idle = realloc(ch->idle, (ch->num_idle + 1) * sizeof(ch->idle[0]));
    ch->idle[ch->num_idle++] = r;
}

static struct receive *receive_start(struct work *w, struct channel *ch, int source, int tag,
                                     bool persistent)
{
    struct receive *r;

    for (int i = 0; persistent && i < ch->num_idle; ++i) {
        r = ch->idle[i];
        if (r->source == source && r->tag == tag) {
            ch->idle[i] = ch->idle[--ch->num_idle];
            OK(MPI_Start(&r->request));
            return r;
        }
    }
    r = receive_make(w, source, tag);
    r->persistent = persistent;
    if (persistent) {
        OK(MPI_Recv_init(r->buffer, w->shape.bytes, MPI_BYTE, source, tag, ch->comm, &r->request));
        OK(MPI_Start(&r->request));
    } else {
        OK(MPI_Irecv(r->buffer, w->shape.bytes, MPI_BYTE, source, tag, ch->comm, &r->request));
    }
    return r;
}

/* It has to complete; a hang would say less. */
static void receive_wait(struct channel *ch, struct receive *r, const char *what)
{
    double end = match_now() + options.limit;
    int flag = 0;

    while (!flag) {
        OK(MPI_Test(&r->request, &flag, &r->status));
        if (!flag && match_now() > end) {
            wrong(ch, "%s does not complete: source %d, tag %d", what, r->source, r->tag);
        }
    }
    r->done = true;
}

static void remember(struct work *w, struct known known)
{
    if (w->num_known == w->max_known) {
        w->max_known = 2 * w->max_known + 64;
        w->known = realloc(w->known, w->max_known * sizeof(w->known[0]));
    }
    w->known[w->num_known++] = known;
}

/* Messages held by a matched probe are received, some only later; what is under way completes. */
static void land(struct work *w, bool all)
{
    int n = 0;

    for (int i = 0; i < w->num_known; ++i) {
        struct known *k = &w->known[i];

        if (MPI_MESSAGE_NULL == k->handle) {
            receive_wait(k->ch, k->r, "a receive for a message that has arrived");
        } else if (all || rng_chance(&w->rng, 50)) {
            if (rng_chance(&w->rng, 50)) {
                OK(MPI_Mrecv(k->r->buffer, w->shape.bytes, MPI_BYTE, &k->handle, &k->r->status));
                k->r->done = true;
            } else {
                OK(MPI_Imrecv(k->r->buffer, w->shape.bytes, MPI_BYTE, &k->handle, &k->r->request));
                receive_wait(k->ch, k->r, "the receive for a matched message");
            }
        } else {
            w->known[n++] = *k;
            continue;
        }
        model_must_have(k->ch, k->r, &k->m);
        receive_done(k->ch, k->r);
    }
    w->num_known = n;
}

/* What a probe found, or NULL, is what the model has. */
static struct message *probed(struct channel *ch, int source, int tag, bool found,
                              const MPI_Status *status)
{
    struct message *m = NULL;
    int peer, bytes, n = model_available(ch, source, tag, &peer);

    if (found && status->MPI_SOURCE >= 0 && status->MPI_SOURCE < ch->peers) {
        m = model_first(ch, status->MPI_SOURCE, source, tag);
        MPI_Get_count(status, MPI_BYTE, &bytes);
    }
    if (found ? NULL == m || status->MPI_TAG != m->tag || bytes != m->bytes : n > 0) {
        wrong(ch, "a probe (source %d, tag %d) found %s (source %d, tag %d), %d peers have a match",
              source, tag, found ? "a wrong message" : "nothing", found ? status->MPI_SOURCE : -1,
              found ? status->MPI_TAG : -1, n);
    }
    return m;
}

static void probe(struct work *w, struct channel *ch, int source, int tag)
{
    MPI_Status status;
    int flag;

    OK(MPI_Iprobe(source, tag, ch->comm, &flag, &status));
    ++w->actor->ops[PROBES];
    probed(ch, source, tag, flag, &status);
}

/* Nothing is on its way: the model knows what happens. */
static void receive_exactly(struct work *w, struct channel *ch, const struct wish *wish)
{
    int peer, flag = 1, source = wish->source, tag = wish->tag;
    int n = model_available(ch, source, tag, &peer);
    struct receive *r;
    struct message *m;
    MPI_Message handle;
    MPI_Status status;

    ++w->actor->ops[RECEIVES];
    if (MPROBE == wish->method || IMPROBE == wish->method) {
        if (MPROBE == wish->method && n > 0) {
            OK(MPI_Mprobe(source, tag, ch->comm, &handle, &status));
        } else {
            OK(MPI_Improbe(source, tag, ch->comm, &flag, &handle, &status));
        }
        ++w->actor->ops[PROBES];
        m = probed(ch, source, tag, flag, &status);
        if (NULL != m) {
            remember(w,
                     (struct known){ch, receive_make(w, source, tag), handle, model_take(ch, m)});
            return;
        }
    } else if (PROBE_RECV == wish->method) {
        if (n > 0) {
            OK(MPI_Probe(source, tag, ch->comm, &status));
        } else {
            OK(MPI_Iprobe(source, tag, ch->comm, &flag, &status));
        }
        ++w->actor->ops[PROBES];
        m = probed(ch, source, tag, flag, &status);
        if (NULL != m) { /* that is what a receive from there has to get; ob1 may find another */
            source = m->source;
        }
    }
    if (0 == n) {
        model_post(ch, receive_start(w, ch, source, tag, PERSISTENT_RECV == wish->method));
        return;
    }
    if (RECV == wish->method || PROBE_RECV == wish->method) {
        r = receive_make(w, source, tag);
        OK(MPI_Recv(r->buffer, w->shape.bytes, MPI_BYTE, source, tag, ch->comm, &r->status));
        r->done = true;
    } else {
        r = receive_start(w, ch, source, tag, PERSISTENT_RECV == wish->method);
        if (1 == n) {
            m = model_first(ch, peer, source, tag);
            remember(w, (struct known){ch, r, MPI_MESSAGE_NULL, model_take(ch, m)});
            return;
        }
        receive_wait(ch, r, "a receive that several messages match");
    }
    m = model_first(ch, r->status.MPI_SOURCE, source, tag);
    if (NULL == m) {
        wrong(ch, "a receive (source %d, tag %d) got a message of source %d, which has no match",
              source, tag, r->status.MPI_SOURCE);
    }
    model_must_have(ch, r, m);
    model_take(ch, m);
    receive_done(ch, r);
}

/* Messages come in meanwhile: the model looks at the results later. */
static void receive_freely(struct work *w, struct channel *ch, const struct wish *wish)
{
    int flag = 0, probed_bytes, bytes;
    struct receive *r = NULL;
    MPI_Message handle;
    MPI_Status status;

    ++w->actor->ops[RECEIVES];
    if (PROBE_RECV == wish->method) {
        ++w->actor->ops[PROBES];
        OK(MPI_Iprobe(wish->source, wish->tag, ch->comm, &flag, &status));
        if (flag) {
            r = receive_make(w, status.MPI_SOURCE, status.MPI_TAG);
            OK(MPI_Recv(r->buffer, w->shape.bytes, MPI_BYTE, r->source, r->tag, ch->comm,
                        &r->status));
            MPI_Get_count(&status, MPI_BYTE, &probed_bytes);
            MPI_Get_count(&r->status, MPI_BYTE, &bytes);
            if (probed_bytes != bytes) {
                wrong(ch, "a probe found %d bytes, the receive (source %d, tag %d) after it %d",
                      probed_bytes, r->source, r->tag, bytes);
            }
        }
    } else if (MPROBE == wish->method || IMPROBE == wish->method) {
        ++w->actor->ops[PROBES];
        OK(MPI_Improbe(wish->source, wish->tag, ch->comm, &flag, &handle, &status));
        if (flag) {
            r = receive_make(w, wish->source, wish->tag);
            OK(MPI_Mrecv(r->buffer, w->shape.bytes, MPI_BYTE, &handle, &r->status));
        }
    }
    if (NULL != r) {
        r->done = true;
    } else {
        r = receive_start(w, ch, wish->source, wish->tag, PERSISTENT_RECV == wish->method);
    }
    model_post(ch, r);
}

/* Some receive that is posted. */
static void cancel(struct work *w, struct channel *ch, bool exact, uint32_t which)
{
    struct receive *r;
    int cancelled;

    if (0 == ch->num_posted) {
        return;
    }
    r = ch->posted[which % ch->num_posted];
    if (r->done || (r->fence && !exact)) {
        return;
    }
    ++w->actor->ops[CANCELS];
    OK(MPI_Cancel(&r->request));
    receive_wait(ch, r, "a cancelled receive");
    OK(MPI_Test_cancelled(&r->status, &cancelled));
    if (cancelled) {
        model_unpost(ch, r);
        receive_done(ch, r);
    } else if (exact) {
        wrong(ch, "a receive without a match (source %d, tag %d) was not cancelled", r->source,
              r->tag);
    }
}

/* The receives of this wave. */
static struct wish *wishes(struct work *w, const struct channel *ch, int *n_out)
{
    struct wish *list = NULL;
    int n = 0;

    for (int p = 0; p < ch->peers; ++p) {
        for (int v = 0; v < w->shape.waves; ++v) {
            const struct message *batch = w->plan[ch->index][v][p];

            for (int i = 0; i < w->planned[ch->index][v][p]; ++i) {
                if (batch[i].receive_wave == w->wave) {
                    list = realloc(list, (n + 1) * sizeof(*list));
                    list[n++] = (struct wish){batch[i].any_source ? MPI_ANY_SOURCE : p,
                                              batch[i].any_tag ? MPI_ANY_TAG : batch[i].tag,
                                              batch[i].method};
                }
            }
        }
    }
    for (int i = 0; i < n; ++i) {
        int j = i;

        if (REVERSE == w->shape.order && i < n / 2) {
            j = n - 1 - i;
        } else if (SHUFFLED == w->shape.order) {
            j = i + (int) rng_below(&w->rng, n - i);
        }
        struct wish other = list[j];
        list[j] = list[i];
        list[i] = other;
    }
    *n_out = n;
    return list;
}

/* Receive, and now and then something else. */
static void receive_step(struct work *w, struct channel *ch, const struct wish *wish, bool exact)
{
    int source = (int) rng_below(&w->rng, ch->peers + 1);
    struct wish never = {source < ch->peers ? source : MPI_ANY_SOURCE,
                         channel_tag(ch, NEVER_SENT + (int) rng_below(&w->rng, 1000)), IRECV};
    uint32_t what = rng_below(&w->rng, 100), which = rng_below(&w->rng, 1 << 30);

    if (what < 3) {
        cancel(w, ch, exact, which);
    } else if (what < 6) {
        exact ? receive_exactly(w, ch, &never) : receive_freely(w, ch, &never);
    } else if (what < 10 && exact) {
        probe(w, ch, never.source, never.tag);
    } else if (what < 14 && exact) {
        probe(w, ch, never.source, wish->tag);
    } else if (what < 16 && exact && !ch->shared) {
        probe(w, ch, never.source, MPI_ANY_TAG);
    }
    exact ? receive_exactly(w, ch, wish) : receive_freely(w, ch, wish);
    if (ch->num_posted > w->actor->deepest[0]) {
        w->actor->deepest[0] = ch->num_posted;
    }
}

/* --- sends */

static void send_message(struct work *w, struct channel *ch, int to, const struct message *m)
{
    struct send *s = NULL;
    int i = 0;

    ++w->actor->ops[SENDS];
    for (i = 0; PERSISTENT_SEND == m->mode && i < w->num_sends; ++i) {
        s = &w->sends[i];
        if (s->idle && s->ch == ch && s->to == to && s->tag == m->tag && s->bytes == m->bytes) {
            plan_fill(ch, w->round, match_rank, ch->world[to], m, s->buffer);
            s->idle = false;
            OK(MPI_Start(&w->requests[i]));
            return;
        }
    }
    if (w->num_sends == w->max_sends) {
        w->max_sends = 2 * w->max_sends + 64;
        w->sends = realloc(w->sends, w->max_sends * sizeof(w->sends[0]));
        w->requests = realloc(w->requests, w->max_sends * sizeof(w->requests[0]));
    }
    i = w->num_sends;
    s = &w->sends[i];
    *s = (struct send){ch,       malloc(m->bytes + 1),       to,   m->tag,
                       m->bytes, PERSISTENT_SEND == m->mode, false};
    plan_fill(ch, w->round, match_rank, ch->world[to], m, s->buffer);
    if (BREAK_DATA == options.broken && 1 == match_rank && m->bytes > 0 && 3 == m->number >> 8) {
        ++s->buffer[m->bytes - 1];
    }
    switch (m->mode) {
    case SEND:
        OK(MPI_Send(s->buffer, m->bytes, MPI_BYTE, to, m->tag, ch->comm));
        free(s->buffer);
        return;
    case ISEND:
        OK(MPI_Isend(s->buffer, m->bytes, MPI_BYTE, to, m->tag, ch->comm, &w->requests[i]));
        break;
    case ISSEND:
        OK(MPI_Issend(s->buffer, m->bytes, MPI_BYTE, to, m->tag, ch->comm, &w->requests[i]));
        break;
    case READY_SEND:
        OK(MPI_Irsend(s->buffer, m->bytes, MPI_BYTE, to, m->tag, ch->comm, &w->requests[i]));
        break;
    case PERSISTENT_SEND:
        if (m->tag % 2) {
            OK(MPI_Ssend_init(s->buffer, m->bytes, MPI_BYTE, to, m->tag, ch->comm,
                              &w->requests[i]));
        } else {
            OK(MPI_Send_init(s->buffer, m->bytes, MPI_BYTE, to, m->tag, ch->comm, &w->requests[i]));
        }
        OK(MPI_Start(&w->requests[i]));
        break;
    }
    ++w->num_sends;
}

/* Forgets sends that are complete; `all`: waits for them, and forgets the persistent ones too. */
static void reap(struct work *w, bool all)
{
    int *done = malloc((w->num_sends + 1) * sizeof(int)), n, kept = 0;

    if (all) {
        OK(MPI_Waitall(w->num_sends, w->requests, MPI_STATUSES_IGNORE));
        for (n = 0; n < w->num_sends; ++n) {
            done[n] = n;
        }
    } else {
        OK(MPI_Testsome(w->num_sends, w->requests, &n, done, MPI_STATUSES_IGNORE));
    }
    for (int i = 0; MPI_UNDEFINED != n && i < n; ++i) {
        struct send *s = &w->sends[done[i]];

        if (s->persistent && !all) {
            s->idle = true;
            continue;
        }
        if (s->persistent) {
            OK(MPI_Request_free(&w->requests[done[i]]));
        }
        free(s->buffer);
        s->buffer = NULL;
    }
    for (int i = 0; i < w->num_sends; ++i) {
        if (NULL != w->sends[i].buffer) {
            w->requests[kept] = w->requests[i];
            w->sends[kept++] = w->sends[i];
        }
    }
    w->num_sends = kept;
    free(done);
}

/* The library's own messages, which a receive for any tag must not take. */
static void collective(struct work *w, struct channel *ch, rng_t *rng)
{
    int mine = match_rank + w->round, sum = 0, expected = 0, *all, inter;

    ++w->actor->ops[COLLECTIVES];
    OK(MPI_Comm_test_inter(ch->comm, &inter));
    all = calloc(ch->peers + 1024, sizeof(int));
    for (int p = 0; p < ch->peers; ++p) {
        expected += ch->world[p] + w->round;
    }
    switch (rng_below(rng, inter ? 3 : 4)) {
    case 0:
        OK(MPI_Barrier(ch->comm));
        break;
    case 1:
        OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, ch->comm));
        if (sum != expected) {
            wrong(ch, "MPI_Allreduce: %d, expected %d", sum, expected);
        }
        break;
    case 2:
        OK(MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, ch->comm));
        for (int p = 0; p < ch->peers; ++p) {
            if (all[p] != ch->world[p] + w->round) {
                wrong(ch, "MPI_Allgather: %d from source %d, expected %d", all[p], p,
                      ch->world[p] + w->round);
            }
        }
        break;
    case 3: {
        int root = (int) rng_below(rng, ch->peers), n = (int) rng_size(rng, 1024);

        all[n - 1] = ch->world[root] == match_rank ? mine : -1;
        OK(MPI_Bcast(all, n, MPI_INT, root, ch->comm));
        if (all[n - 1] != ch->world[root] + w->round) {
            wrong(ch, "MPI_Bcast of %d numbers: %d from source %d, expected %d", n, all[n - 1],
                  root, ch->world[root] + w->round);
        }
        break;
    }
    }
    free(all);
}

static void break_order(struct message *batch, int n)
{
    for (int i = 0; i + 2 < n; ++i) {
        if (batch[i].tag == batch[i + 1].tag && batch[i + 1].bytes > 0) {
            struct message m = batch[i];

            batch[i] = batch[i + 1];
            batch[i + 1] = m;
            ++i;
        }
    }
}

/* All sends of a wave, to all peers in turn; in a free one, with receives in between. */
static void send_wave(struct work *w, struct channel *ch, bool exact)
{
    rng_t alike = plan_stream(FOR_WAVE, ch->thread, w->round, w->wave, ch->index);
    int collectives = ch->shared ? 0 : (int) rng_below(&alike, 3);
    struct message *batch[MAX_RANKS];
    int n[MAX_RANKS], sent[MAX_RANKS] = {0}, left = 0, half, posts = 0, posted = 0;
    struct wish *list = exact ? NULL : wishes(w, ch, &posts);

    for (int p = 0; p < ch->peers; ++p) {
        batch[p] = plan_batch(ch, &w->shape, w->round, w->wave, match_rank, ch->world[p], &n[p]);
        left += n[p];
        if (BREAK_ORDER == options.broken && 1 == match_rank) {
            break_order(batch[p], n[p]);
        }
    }
    half = (left + 1) / 2;
    if (collectives > 1) {
        collective(w, ch, &alike);
    }
    while (left > 0) {
        int p = (int) rng_below(&w->rng, ch->peers), burst = 1 + (int) rng_below(&w->rng, 8);

        for (; burst > 0 && sent[p] < n[p]; --burst, --left) {
            if (left == half && collectives > 0) {
                collective(w, ch, &alike);
            }
            send_message(w, ch, p, &batch[p][sent[p]++]);
        }
        for (burst = (int) rng_below(&w->rng, 8); burst > 0 && posted < posts; --burst) {
            receive_step(w, ch, &list[posted++], false);
        }
    }
    while (posted < posts) {
        receive_step(w, ch, &list[posted++], false);
    }
    for (int p = 0; p < ch->peers; ++p) {
        free(batch[p]);
    }
    free(list);
}

/* --- rounds */

static void post_wave(struct work *w, struct channel *ch)
{
    int n;
    struct wish *list = wishes(w, ch, &n);

    for (int i = 0; i < n; ++i) {
        receive_step(w, ch, &list[i], true);
    }
    free(list);
}

static void expect_wave(struct work *w, struct channel *ch)
{
    for (int p = 0; p < ch->peers; ++p) {
        int n = w->planned[ch->index][w->wave][p];
        struct receive *r = receive_start(w, ch, p, channel_tag(ch, FENCE + w->wave), false);

        r->fence = true;
        model_post(ch, r);
        ch->num_incoming[p] = n;
        ch->incoming[p] = malloc(n * sizeof(struct message));
        memcpy(ch->incoming[p], w->plan[ch->index][w->wave][p], n * sizeof(struct message));
    }
}

static void settle_wave(struct work *w, struct channel *ch, bool exact)
{
    int arrived = 0;

    model_settle(ch, exact, receive_done);
    for (int i = ch->num_posted - 1; i >= 0; --i) {
        if (ch->posted[i]->fence) {
            cancel(w, ch, true, (uint32_t) i);
        }
    }
    for (int p = 0; p < ch->peers; ++p) {
        arrived += ch->num_arrived[p];
    }
    if (arrived > w->actor->deepest[1]) {
        w->actor->deepest[1] = arrived;
    }
}

/* Ranks do not send before all have posted. */
static void barrier(struct work *w)
{
    rng_t alike = plan_stream(FOR_WAVE, w->actor->thread, w->round, w->wave, MAX_CHANNELS);
    struct channel *ch = &w->actor->channels[rng_below(&alike, 2)]; /* both have all ranks */

    OK(MPI_Barrier(ch->shared || rng_chance(&alike, 50) ? w->actor->control : ch->comm));
}

/* The end of a round: nothing stays. */
static void drain(struct work *w, struct channel *ch)
{
    int flag;

    while (ch->num_posted > 0) {
        cancel(w, ch, true, rng_below(&w->rng, 1 << 30));
    }
    for (int p = 0; p < ch->peers; ++p) {
        while (ch->num_arrived[p] > 0) {
            const struct message *m = &ch->arrived[p][rng_below(&w->rng, ch->num_arrived[p])];
            struct wish wish = {p, m->tag, m->method};

            if (rng_chance(&w->rng, 50)) {
                wish.source = MPI_ANY_SOURCE;
            }
            if (!ch->shared && !rng_chance(&w->rng, 50)) {
                wish.tag = MPI_ANY_TAG;
            }
            receive_exactly(w, ch, &wish);
        }
    }
    land(w, true);
    if (!ch->shared) {
        OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, ch->comm, &flag, MPI_STATUS_IGNORE));
        if (flag) {
            wrong(ch, "a message is left that nobody sent");
        }
    }
    for (int i = 0; i < ch->num_idle; ++i) {
        OK(MPI_Request_free(&ch->idle[i]->request));
        receive_free(ch->idle[i]);
    }
    ch->num_idle = 0;
}

static void run_wave(struct work *w)
{
    bool exact = !(w->shape.free >> w->wave & 1);
    struct channel *first = w->actor->channels, *end = first + w->actor->num_channels;

    for (struct channel *ch = first; ch < end; ++ch) {
        ch->wave = w->wave;
        if (busy(w, ch)) {
            if (exact) {
                post_wave(w, ch);
            }
            expect_wave(w, ch);
        }
    }
    barrier(w);
    for (struct channel *ch = first; ch < end; ++ch) {
        if (busy(w, ch)) {
            send_wave(w, ch, exact);
        }
    }
    for (struct channel *ch = first; ch < end; ++ch) {
        if (busy(w, ch)) {
            settle_wave(w, ch, exact);
        }
    }
    land(w, false);
    reap(w, false);
}

static void run_round(struct work *w)
{
    struct channel *first = w->actor->channels, *end = first + w->actor->num_channels;

    w->shape = plan_shape(w->actor->thread, w->round, w->actor->num_channels);
    w->rng = rng_seeded(options.seed, FOR_ACTOR, w->round, match_rank << 8 | w->actor->thread);
    for (struct channel *ch = first; ch < end; ++ch) {
        ch->round = w->round;
        for (int v = 0; busy(w, ch) && v < w->shape.waves; ++v) {
            for (int p = 0; p < ch->peers; ++p) {
                int n;
                struct message *batch =
                    plan_batch(ch, &w->shape, w->round, v, ch->world[p], match_rank, &n);

                for (int i = 0; i < n; ++i) {
                    batch[i].source = p;
                }
                w->plan[ch->index][v][p] = batch;
                w->planned[ch->index][v][p] = n;
            }
        }
    }
    for (w->wave = 0; w->wave < w->shape.waves; ++w->wave) {
        run_wave(w);
    }
    for (struct channel *ch = first; ch < end; ++ch) {
        drain(w, ch);
        for (int v = 0; busy(w, ch) && v < w->shape.waves; ++v) {
            for (int p = 0; p < ch->peers; ++p) {
                free(w->plan[ch->index][v][p]);
            }
        }
    }
    reap(w, true);
}

void *actor_run(void *actor)
{
    struct work w = {.actor = actor};

    for (int i = 0; i < w.actor->rounds; ++i) {
        w.round = w.actor->first_round + i;
        run_round(&w);
    }
    for (int c = 0; c < w.actor->num_channels; ++c) {
        struct channel *ch = &w.actor->channels[c];

        free(ch->posted);
        free(ch->idle);
        for (int p = 0; p < ch->peers; ++p) {
            free(ch->arrived[p]);
        }
    }
    free(w.known);
    free(w.sends);
    free(w.requests);
    return NULL;
}
