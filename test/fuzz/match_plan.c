/*
 * What is sent in a round. See match.h.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "match.h"

/* Messages name themselves, as far as they are long enough; then come bytes of a table. */
struct label {
    uint32_t number, tag, bytes;
    uint8_t from, to, thread, channel;
    uint32_t round, seed;
};

enum { TABLE = 1 << 16 };

static rng_t stream(int purpose, int thread, int round, int wave, int channel, int from, int to)
{
    return rng_seeded(options.seed, purpose, (uint64_t) round << 16 | thread << 8 | wave,
                      (uint64_t) channel << 32 | from << 8 | to);
}

rng_t plan_stream(int purpose, int thread, int round, int wave, int channel)
{
    return stream(purpose, thread, round, wave, channel, 0, 0);
}

struct shape plan_shape(int thread, int round, int channels)
{
    static const int bytes[] = {16, 16, 16, 256, 256, 4300, 4300, 33000, 66000, 300000};
    const int depths[] = {4, 16, 16, 60, 130, 130, 500, 2000, options.depth};
    rng_t rng = stream(FOR_SHAPE, thread, round, 0, 0, 0, 0);
    struct shape s;

    s.waves = 2 + (int) rng_below(&rng, MAX_WAVES - 1);
    s.bytes = bytes[rng_below(&rng, 10)];
    s.bytes = s.bytes < options.bytes ? s.bytes : options.bytes;
    s.depth = 1 + (int) rng_below(&rng, depths[rng_below(&rng, 9)]);
    s.depth = s.depth < options.depth ? s.depth : options.depth;
    if ((long) s.depth * s.bytes > 4 << 20) {
        s.depth = (4 << 20) / s.bytes;
    }
    s.tags = (int[]){1, 3, 20, 300, 10000}[rng_below(&rng, 5)];
    s.order = (int) rng_below(&rng, 3);
    s.wild_source = rng_chance(&rng, 60) ? (int) rng_below(&rng, options.wild + 1) : 0;
    s.wild_tag = rng_chance(&rng, 60) ? (int) rng_below(&rng, options.wild + 1) : 0;
    /* at depth, one or two communicators; else any */
    s.busy = 1 << rng_below(&rng, channels) | 1 << rng_below(&rng, channels);
    if (s.depth < 100) {
        s.busy |= (int) rng_below(&rng, 1 << channels);
    }
    s.free = 0;
    for (int w = 0; w < s.waves; ++w) {
        s.free |= rng_chance(&rng, options.free_waves) << w;
    }
    return s;
}

static int plan_bytes(rng_t *rng, const struct shape *s)
{
    /* eager limits of the transports, less the headers */
    static const int edges[] = {64, 256, 1024, 4096, 32768, 65536, 131072};
    int bytes = (int) rng_below(rng, 41);

    if (rng_chance(rng, 30)) {
        bytes = edges[rng_below(rng, 7)] + 16;
        bytes -= (int) rng_below(rng, 100);
    } else if (rng_chance(rng, 10)) {
        bytes = (int) rng_size(rng, s->bytes);
    }
    return bytes < 0 ? 0 : bytes > s->bytes ? s->bytes : bytes;
}

struct message *plan_batch(const struct channel *ch, const struct shape *s, int round, int wave,
                           int from, int to, int *n)
{
    rng_t rng = stream(FOR_BATCH, ch->thread, round, wave, ch->index, from, to);
    int most = s->depth / match_size, count, base = (int) rng_below(&rng, 3);
    struct message *batch;

    count = rng_chance(&rng, 20) ? 0 : 1 + (int) rng_below(&rng, most + 1);
    batch = calloc(count + 1, sizeof(*batch));
    for (int i = 0; i <= count; ++i) {
        struct message *m = &batch[i];
        int what = (int) rng_below(&rng, 100);

        m->number = (uint32_t) i << 8 | wave;
        m->tag = (int) rng_below(&rng, s->tags);
        if (1 != base && count < s->tags) {
            m->tag = 0 == base ? i : count - i; /* each its own */
        }
        m->bytes = plan_bytes(&rng, s);
        m->mode = what < 20 ? SEND : what < 80 ? ISEND : what < 90 ? ISSEND : PERSISTENT_SEND;
        if (SEND == m->mode && m->bytes > 24) {
            m->mode = ISEND; /* a blocking send may wait for its receive, unless the header and it
                                are eager */
        } else if (PERSISTENT_SEND == m->mode) {
            m->bytes = m->tag % (s->bytes + 1); /* so that the same is sent again */
        }
        /* the receive: posted up to two waves before, or a wave after, or not at all */
        what = (int) rng_below(&rng, 100);
        m->receive_wave = (int8_t) (what < 3    ? MAX_WAVES
                                    : what < 13 ? wave - 2
                                    : what < 30 ? wave - 1
                                    : what < 65 ? wave
                                                : wave + 1);
        m->receive_wave = m->receive_wave < 0 ? 0 : m->receive_wave;
        m->any_source = rng_chance(&rng, s->wild_source);
        m->any_tag = rng_chance(&rng, s->wild_tag) && !ch->shared;
        what = (int) rng_below(&rng, 100);
        m->method = what < 70   ? IRECV
                    : what < 80 ? PERSISTENT_RECV
                    : what < 85 ? RECV
                    : what < 90 ? PROBE_RECV
                    : what < 95 ? MPROBE
                                : IMPROBE;
        if (i == count) {
            m->tag = FENCE + wave;
            m->bytes = (int) rng_below(&rng, 41) % (s->bytes + 1);
            m->mode = (uint8_t) (rng_chance(&rng, 50) ? READY_SEND : ISEND);
            m->receive_wave = MAX_WAVES;
        }
        m->tag = channel_tag(ch, m->tag);
    }
    *n = count + 1;
    return batch;
}

/* --- bytes */

static uint8_t table_bytes[TABLE + MAX_BYTES];

void plan_init(void)
{
    rng_t rng = rng_seeded(4711, 0, 0, 0);

    for (size_t i = 0; i < sizeof(table_bytes); ++i) {
        table_bytes[i] = (uint8_t) rng_next(&rng);
    }
}

static const uint8_t *table(uint32_t number)
{
    return table_bytes + number * 2654435761u % TABLE;
}

static int label_make(const struct channel *ch, int round, int from, int to,
                      const struct message *m, struct label *l)
{
    *l = (struct label){.number = m->number >> 8 ^ m->number << 24, /* short ones differ */
                        .tag = (uint32_t) m->tag,
                        .bytes = (uint32_t) m->bytes,
                        .from = (uint8_t) from,
                        .to = (uint8_t) to,
                        .thread = (uint8_t) ch->thread,
                        .channel = (uint8_t) ch->index,
                        .round = (uint32_t) round,
                        .seed = (uint32_t) options.seed};
    return m->bytes < (int) sizeof(*l) ? m->bytes : (int) sizeof(*l);
}

void plan_fill(const struct channel *ch, int round, int from, int to, const struct message *m,
               uint8_t *data)
{
    struct label label;
    int n = label_make(ch, round, from, to, m, &label);

    memcpy(data, &label, n);
    memcpy(data + n, table(label.number), m->bytes - n);
}

bool plan_is(const struct channel *ch, int round, int from, int to, const struct message *m,
             const uint8_t *data)
{
    struct label label;
    int n = label_make(ch, round, from, to, m, &label);

    return 0 == memcmp(data, &label, n) && 0 == memcmp(data + n, table(label.number), m->bytes - n);
}

void plan_describe(const uint8_t *data, int bytes, char *text, size_t size)
{
    struct label l;

    if (bytes < (int) sizeof(l.number)) {
        snprintf(text, size, "too short to say which, first byte %d", bytes > 0 ? data[0] : -1);
        return;
    }
    memcpy(&l.number, data, sizeof(l.number));
    snprintf(text, size, "number %u of wave %u", l.number & 0xffffff, l.number >> 24);
    if (bytes < (int) sizeof(l)) {
        return;
    }
    memcpy(&l, data, sizeof(l));
    snprintf(text, size,
             "number %u of wave %u from rank %u to rank %u, thread %u, communicator %u, tag %u, "
             "%u bytes, round %u, seed %u",
             l.number & 0xffffff, l.number >> 24, l.from, l.to, l.thread, l.channel, l.tag, l.bytes,
             l.round, l.seed);
}
