/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* llamatch_engine: 10^7 random operations against the naive model (LLAMATCH_OPERATIONS sets another
 * number). */
#include "llamatch_test_engine.h"
#include "llamatch_model.h"

/* Some 20 seconds; sanitizers take five times as long. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MODEL_OPERATIONS 1000000
#else
#define MODEL_OPERATIONS 10000000
#endif

#define NUM_COMMS 3

typedef struct {
    llamatch_setup_t setup;
    llamatch_engine_t engine;
    llamatch_peer_t peers[MODEL_SOURCES];
    int32_t sources;
    uint32_t entries;
    llamatch_kind_t kind;
    model_t model;
    int free_items[2 * MODEL_MAX + 16]; /* stack */
    size_t num_free;
} comm_t;

/* How a stretch of operations looks like. */
typedef struct {
    uint32_t messages; /* of 1000 operations */
    uint32_t receives; /* of 1000 operations; the rest is probes, cancels, walks */
    uint32_t cap;      /* most entries of a list */
    uint32_t wild;     /* of 100 receives: for any source */
    uint32_t any_tag;  /* of 100 receives: for any tag */
    uint32_t tags;     /* different tags */
    bool one_source;   /* all with source 0 */
    char drain;        /* 0: no; receives and messages for entries in the (f)ront, at the (b)ack or
                          at (r)andom */
} phase_t;

static const phase_t phases[] = {
    {450, 440, 30, 20, 15, 8, false, 0},      /* short, balanced */
    {650, 250, 300, 20, 15, 12, false, 0},    /* messages lead */
    {250, 650, 300, 20, 15, 12, false, 0},    /* receives lead */
    {30, 960, 3000, 5, 1, 3000, true, 0},     /* many receives, ... */
    {960, 20, 3000, 5, 1, 3000, true, 'b'},   /* ... and their messages, last one first */
    {960, 20, 3000, 0, 0, 3000, true, 0},     /* many messages, ... */
    {20, 960, 3000, 5, 1, 3000, true, 'b'},   /* ... and their receives */
    {30, 960, 1000, 30, 5, 20, false, 0},     /* of few tags */
    {950, 30, 1000, 30, 5, 20, false, 'r'},   /* at random */
    {950, 30, 1500, 0, 0, 20, false, 0},      /* the same with messages */
    {30, 950, 1500, 30, 5, 20, false, 'r'},   /*  */
    {20, 950, 2000, 60, 1, 2000, false, 0},   /* many for any source */
    {950, 20, 2000, 60, 1, 2000, false, 'r'}, /*  */
    {30, 960, 2000, 2, 1, 2000, true, 0},     /* an index is made at random, ... */
    {960, 20, 2000, 2, 1, 2000, true, 'r'},   /*  */
    {900, 80, 2000, 2, 1, 2000, true, 'f'},   /* ... and useless in front */
    {600, 340, 110, 2, 1, 3, true, 0},        /* bursts behind a few others, ... */
    {340, 600, 110, 2, 1, 3, true, 0},        /* ... also of receives */
};

#define NUM_PHASES (sizeof(phases) / sizeof(phases[0]))

typedef struct {
    llamatch_pool_t *pool;
    comm_t comms[NUM_COMMS];
    uint64_t seed;
    const phase_t *phase;
} world_t;

/* Indices made and given up by engines of each kind. */
static uint64_t num_indexed[LLAMATCH_NUM_KINDS], num_dropped[LLAMATCH_NUM_KINDS];

static uint32_t choose(world_t *w, uint32_t below)
{
    return test_random(&w->seed, below);
}

static bool percent(world_t *w, uint32_t of)
{
    return choose(w, 100) < of;
}

/* A message's tag. */
static int32_t random_tag(world_t *w)
{
    static const int32_t special[] = {INT32_MIN, -1000, -3, -2, 0, INT32_MAX};

    if (percent(w, 5)) {
        return special[choose(w, sizeof(special) / sizeof(special[0]))];
    }
    return (int32_t) choose(w, w->phase->tags);
}

static int32_t random_source(world_t *w, const comm_t *c)
{
    return (w->phase->one_source && percent(w, 90)) ? 0
                                                    : (int32_t) choose(w, (uint32_t) c->sources);
}

static size_t random_place(world_t *w, size_t count)
{
    size_t near = choose(w, (uint32_t) ((count < 4) ? count : 4));

    return ('f' == w->phase->drain)   ? near
           : ('b' == w->phase->drain) ? count - 1 - near
                                      : choose(w, (uint32_t) count);
}

static llamatch_peer_t *comm_peer(comm_t *c, int32_t source)
{
    return (ANY == source) ? NULL : &c->peers[source];
}

/* How much deeper one kind of queue was searched than the model knows of; at most one search. */
static uint64_t new_depth(comm_t *c, bool of_posted)
{
    llamatch_stats_t posted, unexpected;
    const llamatch_stats_t *known = of_posted ? &c->model.posted.stats : &c->model.unexpected.stats;

    llamatch_engine_stats(&c->engine, &posted, &unexpected);
    return (of_posted ? &posted : &unexpected)->depth_sum - known->depth_sum;
}

static void step_message(world_t *w, comm_t *c)
{
    model_list_t *posted = &c->model.posted;
    int32_t source = random_source(w, c), tag = random_tag(w);
    uint64_t expected, depth;
    bool exact;
    void *got;
    size_t i;

    if (0 != w->phase->drain && 0 < posted->count) {
        const model_entry_t *target = &posted->entries[random_place(w, posted->count)];

        source = (ANY == target->source) ? source : target->source;
        tag = (LLAMATCH_ANY_TAG == target->tag) ? tag : target->tag;
    }
    exact = !llamatch_lane_has_index(&c->peers[source].posted)
            && !llamatch_lane_has_index(&c->engine.wild);
    i = model_match(posted, source, tag, &expected);
    got = llamatch_engine_match(&c->engine, &c->peers[source], tag);
    depth = new_depth(c, true);
    if (0 < expected) {
        model_searched(posted, depth);
    }
    if (exact) {
        /* Where two lanes are merged, some newer ones may be looked at as well: of one array, or of
         * a short lane. */
        uint32_t newer = (c->entries < LLAMATCH_SHORT_MAX && LLAMATCH_AUTO == c->kind)
                             ? LLAMATCH_SHORT_MAX
                             : c->entries;

        assert_in_range(depth, expected, expected + ((i < posted->count) ? newer : 0));
    }
    if (i < posted->count) {
        int item = posted->entries[i].item;

        assert_ptr_equal(ITEM(item), got);
        model_remove(posted, i);
        ++posted->stats.matches;
        c->free_items[c->num_free++] = item;
        return;
    }
    assert_null(got);
    if (c->model.unexpected.count < w->phase->cap) {
        int item = c->free_items[--c->num_free];

        assert_int_equal(LLAMATCH_OK,
                         llamatch_engine_arrive(&c->engine, &c->peers[source], tag, ITEM(item)));
        model_arrive(&c->model, source, tag, item);
    }
}

/* A receive, or only a probe, or a probe that holds what it finds. */
static void step_receive(world_t *w, comm_t *c, bool may_take, bool may_post)
{
    model_list_t *unexpected = &c->model.unexpected, *posted = &c->model.posted;
    int32_t source = random_source(w, c), tag = random_tag(w);
    void *first = NULL;
    uint64_t expected, depth;
    llamatch_message_t message;
    size_t i;

    if (0 != w->phase->drain && 0 < unexpected->count) {
        const model_entry_t *target = &unexpected->entries[random_place(w, unexpected->count)];

        source = target->source;
        tag = target->tag;
    }
    if (percent(w, w->phase->wild)) {
        source = ANY;
    }
    if (percent(w, w->phase->any_tag)) {
        tag = LLAMATCH_ANY_TAG;
    }
    i = model_search(&c->model, source, tag, &expected);
    for (int time = 0; time < (may_take ? 1 : 2); ++time) {
        bool exact = 0 == llamatch_engine_num_indexed(&c->engine);

        message = may_take ? llamatch_engine_receive(&c->engine, comm_peer(c, source), tag)
                           : llamatch_engine_probe(&c->engine, comm_peer(c, source), tag);
        depth = new_depth(c, false);
        if (0 < expected) {
            model_searched(unexpected, depth);
        }
        if (exact) {
            assert_int_equal(expected, depth);
        }
        if (0 < time) {
            assert_ptr_equal(first, message.item); /* a probe finds again what it found */
        }
        first = message.item;
    }
    if (i < unexpected->count) {
        assert_ptr_equal(ITEM(unexpected->entries[i].item), message.item);
        assert_ptr_equal(&c->peers[unexpected->entries[i].source], message.peer);
        if (may_take) {
            c->free_items[c->num_free++] = unexpected->entries[i].item;
            model_take(&c->model, i, ANY == source);
        }
        return;
    }
    assert_null(message.item);
    if (may_post && posted->count < w->phase->cap) {
        int item = c->free_items[--c->num_free];

        assert_int_equal(LLAMATCH_OK, llamatch_engine_post(&c->engine, comm_peer(c, source), tag,
                                                           ITEM(item), &things[item].place));
        model_add(posted, source, tag, item);
    }
}

static void step_cancel(world_t *w, comm_t *c)
{
    model_list_t *posted = &c->model.posted;

    if (0 < posted->count) {
        size_t i = choose(w, (uint32_t) posted->count);
        const model_entry_t *entry = &posted->entries[i];

        assert_int_equal(LLAMATCH_OK,
                         llamatch_engine_cancel(&c->engine, comm_peer(c, entry->source),
                                                ITEM(entry->item), things[entry->item].place));
        c->free_items[c->num_free++] = entry->item;
        model_remove(posted, i);
    }
}

/* A walk takes what the model marks for it. */
static bool marked[1 << 20];

static bool is_marked(void *context, int32_t tag, void *item)
{
    (void) tag;
    ++*(size_t *) context;
    return marked[item_of(item)];
}

static void step_walk(world_t *w, comm_t *c)
{
    bool posted = choose(w, 2);
    model_list_t *list = posted ? &c->model.posted : &c->model.unexpected;
    uint32_t share = (uint32_t[]){2, 50, 90, 100}[choose(w, 4)];
    size_t kept = 0, count = list->count, visited = 0, removed;

    for (size_t i = 0; i < count; ++i) {
        marked[list->entries[i].item] = percent(w, share);
    }
    removed = posted ? llamatch_engine_walk_posted(&c->engine, is_marked, &visited)
                     : llamatch_engine_walk_unexpected(&c->engine, is_marked, &visited);
    for (size_t i = 0; i < count; ++i) {
        if (marked[list->entries[i].item]) {
            c->free_items[c->num_free++] = list->entries[i].item;
        } else {
            list->entries[kept++] = list->entries[i];
        }
    }
    list->count = kept;
    list->stats.length = kept;
    assert_int_equal(count, visited);
    assert_int_equal(count - kept, removed);
    for (int32_t s = 0; !posted && s < c->sources; ++s) {
        if (!model_has_messages(&c->model, s)) {
            model_order_remove(&c->model, s);
        }
    }
}

static void account(const comm_t *c)
{
    llamatch_stats_t posted, unexpected;

    llamatch_engine_stats(&c->engine, &posted, &unexpected);
    num_indexed[c->kind] += posted.indexed + unexpected.indexed;
    num_dropped[c->kind] += posted.dropped + unexpected.dropped;
}

static void check_stats(const llamatch_stats_t *model, const llamatch_stats_t *engine)
{
    assert_int_equal(model->length, engine->length);
    assert_int_equal(model->length_max, engine->length_max);
    assert_int_equal(model->matches, engine->matches);
    assert_int_equal(model->searches, engine->searches);
    assert_int_equal(model->depth_sum, engine->depth_sum);
    assert_int_equal(model->depth_max, engine->depth_max);
    for (int i = 0; i < LLAMATCH_DEPTHS; ++i) {
        assert_int_equal(model->depths[i], engine->depths[i]);
    }
}

static void check_comm(comm_t *c)
{
    uint32_t counts[MODEL_SOURCES + 1][2] = {{0, 0}};
    llamatch_stats_t posted, unexpected;

    assert_int_equal(0, llamatch_engine_verify(&c->engine));
    llamatch_engine_stats(&c->engine, &posted, &unexpected);
    check_stats(&c->model.posted.stats, &posted);
    check_stats(&c->model.unexpected.stats, &unexpected);
    /* Each receive is where was told last. */
    for (size_t i = 0; i < c->model.posted.count; ++i) {
        const model_entry_t *entry = &c->model.posted.entries[i];
        const llamatch_lane_t *lane =
            (ANY == entry->source) ? &c->engine.wild : &c->peers[entry->source].posted;
        uint64_t place = things[entry->item].place;

        if (llamatch_lane_has_front(lane)
            && LLAMATCH_SHORT_MAX != llamatch_lane_index_of(lane, ITEM(entry->item))) {
            assert_true(llamatch_lane_is_short(lane) || llamatch_place_has_lane(place)
                        || place == (uintptr_t) lane->queue.head);
        } else {
            assert_false(llamatch_lane_is_short(lane));
            assert_non_null(
                llamatch_lane_find_item(lane, &c->setup.posted_shape, place, ITEM(entry->item))
                    .node);
        }
        ++counts[entry->source + 1][0];
    }
    for (size_t i = 0; i < c->model.unexpected.count; ++i) {
        ++counts[c->model.unexpected.entries[i].source + 1][1];
    }
    assert_int_equal(counts[0][0], llamatch_lane_count(&c->engine.wild));
    for (int32_t s = 0; s < c->sources; ++s) {
        assert_int_equal(counts[s + 1][0], llamatch_lane_count(&c->peers[s].posted));
        assert_int_equal(counts[s + 1][1], llamatch_lane_count(&c->peers[s].unexpected));
    }
}

static void step(world_t *w, comm_t *c)
{
    uint32_t what = choose(w, 1000), rest;

    if (what < w->phase->messages) {
        step_message(w, c);
        return;
    }
    if (what < w->phase->messages + w->phase->receives) {
        step_receive(w, c, true, true);
        return;
    }
    rest = choose(w, 1000);
    if (rest < 400) {
        step_receive(w, c, false, false);
    } else if (rest < 600) {
        step_receive(w, c, true, false);
    } else if (rest < 990) {
        step_cancel(w, c);
    } else {
        step_walk(w, c);
    }
}

/* One pool, three communicators with other kinds, entries and searches. */
static void world_begin(world_t *w, uint64_t seed, uint32_t variant)
{
    static llamatch_hot_t hot; /* of a heater: first entries need an array then */
    const llamatch_simd_path_t *paths;
    size_t num_paths = llamatch_simd_paths(&paths);

    memset(w, 0, sizeof(*w));
    w->seed = seed;
    assert_int_equal(LLAMATCH_OK, llamatch_pool_create(NULL, &w->pool));
    for (uint32_t n = 0; n < NUM_COMMS; ++n) {
        comm_t *c = &w->comms[n];
        llamatch_config_t config = llamatch_config_default;
        uint32_t v = variant + n * 31;

        config.pool = w->pool;
        config.entries = 2U << v % 9;
        config.kind = (llamatch_kind_t) (v / 9 % LLAMATCH_NUM_KINDS);
        config.find = paths[v / 36 % num_paths].find;
        config.moved = thing_moved;
        config.index_above = (uint32_t[]){8, 64, LLAMATCH_INDEX_ABOVE, 8}[v % 4];
        config.hot = (0 == (variant + n) % 3) ? &hot : NULL;
        assert_int_equal(LLAMATCH_OK, llamatch_setup_init(&c->setup, &config));
        llamatch_engine_init(&c->engine, &c->setup);
        c->entries = config.entries;
        c->kind = config.kind;
        c->sources = (int32_t[]){3, 50, 1}[n];
        for (int32_t s = 0; s < c->sources; ++s) {
            llamatch_peer_init(&c->peers[s]);
        }
        for (int i = 0; i < 2 * MODEL_MAX + 16; ++i) {
            c->free_items[c->num_free++] = (int) n * (2 * MODEL_MAX + 16) + i;
        }
    }
}

static void world_end(world_t *w)
{
    for (int n = 0; n < NUM_COMMS; ++n) {
        account(&w->comms[n]);
        llamatch_engine_fini(&w->comms[n].engine);
    }
    assert_int_equal(0, llamatch_pool_used_bytes(w->pool));
    llamatch_pool_destroy(w->pool);
}

static void test_model(void **state)
{
    static const char *const names[LLAMATCH_NUM_KINDS] = {"auto", "lla", "hash", "list"};
    static world_t w;
    const llamatch_simd_path_t *paths;
    uint32_t variants = 36 * (uint32_t) llamatch_simd_paths(&paths);
    const char *text = getenv("LLAMATCH_OPERATIONS");
    unsigned long operations = (NULL != text) ? strtoul(text, NULL, 0) : MODEL_OPERATIONS;
    unsigned long each = operations / variants + 1, phase_length = 6000;
    uint64_t seed = test_seed(20260202);

    (void) state;
    printf("seed: LLAMATCH_SEED=%llu\n", (unsigned long long) seed);
    num_moved = 0;
    for (uint32_t variant = 0; variant < variants; ++variant) {
        world_begin(&w, seed + variant, variant);
        for (unsigned long n = 0; n < each; ++n) {
            comm_t *c = &w.comms[choose(&w, NUM_COMMS)];

            if (0 == n % phase_length) {
                w.phase = &phases[(n / phase_length + variant) % NUM_PHASES];
            }
            step(&w, c);
            if (0 == n % 997 || n + 1 == each) {
                for (int i = 0; i < NUM_COMMS; ++i) {
                    check_comm(&w.comms[i]);
                }
                assert_int_equal(0, llamatch_pool_verify(w.pool));
            }
        }
        world_end(&w);
    }
    printf("%lu operations, %zu entries moved; indices made and dropped:", each * variants,
           num_moved);
    EACH_KIND(kind)
    {
        printf(" %s %llu %llu", names[kind], (unsigned long long) num_indexed[kind],
               (unsigned long long) num_dropped[kind]);
    }
    printf("\n");
    if (400000 <= operations) { /* so that there were enough */
        assert_true(0 < num_moved);
        assert_true(0 < num_indexed[LLAMATCH_AUTO] && 0 < num_dropped[LLAMATCH_AUTO]);
        assert_true(0 < num_indexed[LLAMATCH_HASH]);
    }
    assert_true(0 == num_dropped[LLAMATCH_HASH]);
    assert_true(0 == num_indexed[LLAMATCH_LLA] && 0 == num_indexed[LLAMATCH_LIST]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),
    };

    return cmocka_run_group_tests_name("llamatch_model", tests, NULL, NULL);
}
