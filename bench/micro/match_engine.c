/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The matching engine alone, without MPI: what more peers than any machine here could run cost it,
 * and how fast each of its searches is.
 *
 * --what=peers   rounds through P peers, one entry each, beside doubly linked lists of what ob1 has
 *                for a peer ("lists"), in turns:
 *                  post + match         a receive for each peer, then a message from each
 *                  arrive + receive     a message from each peer, then a receive for each
 *                  arrive + any source  the same, received from any source
 *                in the order of the peers' addresses, or shuffled; also with six entries each
 * --what=memory  bytes per peer: the part of its state that matching adds, the whole state, and what
 *                the arena has mapped
 * --what=search  one search of D entries with each path of llamatch_simd.h, in turns. --repeat=N:
 *                N searches with --path=NAME and nothing else, to count their instructions
 *
 * Prints the subject, then what all micro-benchmarks print.
 * Arguments: --peers=16,256,... --depths=16,128,... --batches --ms --name (of the benchmark)
 */

#define _GNU_SOURCE
#include <stdbool.h>
#include <unistd.h>

#include "llamatch_engine.h"
#include "llamatch_simd.h"
#include "results.h"

#define TAG 1
#define MANY 6       /* entries, for which a peer needs an array: it holds 4 itself */
#define INHERITED 40 /* bytes before llamatch_peer_t in mca_pml_llamatch_comm_proc_t, from ob1 */
#define BATCH_NS 100000.0
#define MOST_BATCHES 101
#define LEAST_BATCHES 7

static void *memory(size_t bytes)
{
    void *got = aligned_alloc(64, (bytes + 63) / 64 * 64);

    if (NULL == got) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        exit(1);
    }
    memset(got, 0, bytes);
    return got;
}

static void need(bool right, const char *what)
{
    if (!right) {
        fprintf(stderr, "%s: wrong\n", what);
        exit(1);
    }
}

static double resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = 0;

    need(NULL != file && 1 == fscanf(file, "%*d %ld", &pages), "/proc/self/statm");
    fclose(file);
    return (double) pages * (double) sysconf(_SC_PAGESIZE);
}

/* Requests and messages. ob1's lists go through them. */

struct link {
    struct link *next, *prev;
};

struct item {
    struct link link;
    uint64_t place;
    int32_t tag;
    char rest[36]; /* a line each; requests are longer */
};

/* As long as ob1's state of a peer in Open MPI 5.0. */
struct list_peer {
    char before[40];
    struct link posted;
    char between[48];
    struct link unexpected;
    char after[48];
};

_Static_assert(168 == sizeof(struct list_peer), "mca_pml_ob1_comm_proc_t is that long");

static uint32_t peers, each = 1, *order; /* entries of each peer */
static struct item *items;
static struct list_peer *lists;
static llamatch_peer_t *engine_peers;
static llamatch_setup_t setup;
static llamatch_engine_t engine;
static llamatch_pool_t *pool;

/* The n-th of a peer, whose tag is TAG + n. */
static struct item *item_of(uint32_t peer, uint32_t n)
{
    return &items[(size_t) peer * each + n];
}

static void append(struct link *head, struct item *item, int32_t tag)
{
    item->tag = tag;
    item->link.next = head;
    item->link.prev = head->prev;
    head->prev->next = &item->link;
    head->prev = &item->link;
}

static struct item *take(struct link *head, int32_t tag)
{
    for (struct link *at = head->next; at != head; at = at->next) {
        struct item *item = (struct item *) at;
        if (tag == item->tag) {
            at->prev->next = at->next;
            at->next->prev = at->prev;
            return item;
        }
    }
    return NULL;
}

#define EACH_ENTRY(i, n)                \
    for (uint32_t n = 0; n < each; ++n) \
        for (uint32_t i = 0; i < peers; ++i)

static void lists_posted(void)
{
    EACH_ENTRY(i, n)
    {
        append(&lists[order[i]].posted, item_of(order[i], n), TAG + (int32_t) n);
    }
    EACH_ENTRY(i, n)
    {
        struct item *item = take(&lists[order[i]].posted, TAG + (int32_t) n);
        need(item == item_of(order[i], n), "lists, match");
        item->tag = 0;
    }
}

static void lists_unexpected(void)
{
    EACH_ENTRY(i, n)
    {
        append(&lists[order[i]].unexpected, item_of(order[i], n), TAG + (int32_t) n);
    }
    EACH_ENTRY(i, n)
    {
        struct item *item = take(&lists[order[i]].unexpected, TAG + (int32_t) n);
        need(item == item_of(order[i], n), "lists, receive");
        item->tag = 0;
    }
}

/* From the peer after the last one on, until one has a message. */
static void lists_any(void)
{
    uint32_t at = 0;

    EACH_ENTRY(i, n)
    {
        append(&lists[order[i]].unexpected, item_of(order[i], n), TAG + (int32_t) n);
    }
    EACH_ENTRY(i, n)
    {
        struct item *item = NULL;
        while (NULL == (item = take(&lists[at].unexpected, TAG + (int32_t) n))) {
            at = at + 1 < peers ? at + 1 : 0;
        }
        item->tag = 0;
        at = at + 1 < peers ? at + 1 : 0;
    }
}

static void engine_post_all(void)
{
    EACH_ENTRY(i, n)
    {
        struct item *item = item_of(order[i], n);
        need(LLAMATCH_OK
                 == llamatch_engine_post(&engine, &engine_peers[order[i]], TAG + (int32_t) n, item,
                                         &item->place),
             "post");
        item->tag = TAG;
    }
}

static void engine_match_all(void)
{
    EACH_ENTRY(i, n)
    {
        struct item *item =
            llamatch_engine_match(&engine, &engine_peers[order[i]], TAG + (int32_t) n);
        need(item == item_of(order[i], n), "match");
        item->tag = 0;
    }
}

static void engine_arrive_all(void)
{
    EACH_ENTRY(i, n)
    {
        struct item *item = item_of(order[i], n);
        need(LLAMATCH_OK
                 == llamatch_engine_arrive(&engine, &engine_peers[order[i]], TAG + (int32_t) n,
                                           item),
             "arrive");
        item->tag = TAG;
    }
}

static void engine_receive_all(void)
{
    EACH_ENTRY(i, n)
    {
        struct item *item =
            llamatch_engine_receive(&engine, &engine_peers[order[i]], TAG + (int32_t) n).item;
        need(item == item_of(order[i], n), "receive");
        item->tag = 0;
    }
}

static void engine_receive_any(void)
{
    EACH_ENTRY(i, n)
    {
        struct item *item = llamatch_engine_receive(&engine, NULL, TAG + (int32_t) n).item;
        need(NULL != item, "receive from any source");
        item->tag = 0;
    }
}

static void engine_posted(void)
{
    engine_post_all();
    engine_match_all();
}

static void engine_unexpected(void)
{
    engine_arrive_all();
    engine_receive_all();
}

static void engine_any(void)
{
    engine_arrive_all();
    engine_receive_any();
}

static void make_order(bool shuffled)
{
    uint64_t state = 1;

    for (uint32_t i = 0; i < peers; ++i) {
        uint32_t j = i;
        if (shuffled) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            j = (uint32_t) ((state >> 33) % (i + 1));
        }
        order[i] = order[j];
        order[j] = i;
    }
}

/* Turns */

struct subject {
    const char *name;
    void (*round)(void);
    double ns[MOST_BATCHES];
    long samples;
};

static double time_rounds(void (*round)(void), long n)
{
    double start = micro_now_ns();

    for (long i = 0; i < n; ++i) {
        round();
    }
    return micro_now_ns() - start;
}

/* The median of the fastest quarter, as in match.h. */
static void print_fastest(const char *subject, const char *benchmark, const char *kind,
                          uint32_t number, const char *quantity, double *ns, long samples)
{
    char what[96];

    qsort(ns, (size_t) samples, sizeof(double), micro_compare);
    snprintf(what, sizeof(what), "%s, %u", kind, number);
    printf("%s\t", subject);
    micro_print(benchmark, what, 0, quantity, "ns", ns, (samples + 3) / 4);
    fflush(stdout);
}

static void print_bytes(const char *subject, const char *kind, double bytes)
{
    char what[96];

    snprintf(what, sizeof(what), "%s, %u", kind, peers);
    printf("%s\t", subject);
    micro_print_one("engine memory", what, 0, "bytes per peer", "B", bytes);
}

static void take_turns(struct subject *subjects, int count, const char *kind)
{
    long most = micro_number("batches", 31), n = 1;
    double end;

    for (int s = 0; s < count; ++s) {
        subjects[s].round();
        subjects[s].samples = 0;
    }
    while (time_rounds(subjects[0].round, n) < BATCH_NS) {
        n *= 2;
    }
    end = micro_now_ns() + (double) micro_number("ms", 60) * 1e6;
    most = most < MOST_BATCHES ? most : MOST_BATCHES;
    for (long batch = 0; batch < most && (batch < LEAST_BATCHES || micro_now_ns() < end); ++batch) {
        for (int turn = 0; turn < count; ++turn) {
            struct subject *s = &subjects[(batch + turn) % count];
            s->ns[s->samples++] = time_rounds(s->round, n) / ((double) n * (double) peers * each);
        }
    }
    for (int s = 0; s < count; ++s) {
        print_fastest(subjects[s].name, "engine", kind, peers, "per message", subjects[s].ns,
                      subjects[s].samples);
    }
}

static void open_engine(void)
{
    llamatch_config_t config = llamatch_config_default;

    order = memory(peers * sizeof(*order));
    items = memory((size_t) peers * each * sizeof(*items));
    lists = memory(peers * sizeof(*lists));
    engine_peers = memory(peers * sizeof(*engine_peers));
    need(LLAMATCH_OK == llamatch_pool_create(NULL, &pool), "pool");
    config.pool = pool;
    need(LLAMATCH_OK == llamatch_setup_init(&setup, &config), "engine");
    llamatch_engine_init(&engine, &setup);
    for (uint32_t i = 0; i < peers; ++i) {
        llamatch_peer_init(&engine_peers[i]);
        lists[i].posted.next = lists[i].posted.prev = &lists[i].posted;
        lists[i].unexpected.next = lists[i].unexpected.prev = &lists[i].unexpected;
    }
    make_order(false);
}

static void close_engine(void)
{
    llamatch_engine_fini(&engine);
    llamatch_pool_destroy(pool);
    free(order);
    free(items);
    free(lists);
    free(engine_peers);
}

static void print_arena(const char *kind)
{
    print_bytes("engine", kind, (double) llamatch_pool_bytes(pool) / peers);
}

/* As mca_pml_llamatch_new takes it: an odd number of lines. */
static size_t whole_state(void)
{
    size_t lines = (INHERITED + sizeof(llamatch_peer_t) + LLAMATCH_LINE - 1) / LLAMATCH_LINE;

    return (lines | 1) * LLAMATCH_LINE;
}

static void measure_memory(void)
{
    double before;

    each = 1;
    open_engine();
    before = resident_bytes();
    print_bytes("lists", "peer", sizeof(struct list_peer));
    print_bytes("engine", "peer", sizeof(llamatch_peer_t));
    print_bytes("engine", "whole state", (double) whole_state());
    engine_post_all();
    print_bytes("engine", "peer and arena, 1 receive",
                (double) sizeof(llamatch_peer_t) + (double) llamatch_pool_bytes(pool) / peers);
    print_bytes("engine", "whole state and arena, 1 receive",
                (double) whole_state() + (double) llamatch_pool_bytes(pool) / peers);
    print_arena("arena, 1 receive");
    print_bytes("engine", "resident, 1 receive", (resident_bytes() - before) / peers);
    engine_match_all();
    engine_arrive_all();
    print_arena("arena, 1 unexpected");
    engine_receive_all();
    print_arena("arena, drained");
    close_engine();
    each = MANY;
    open_engine();
    engine_post_all();
    print_arena("arena, 6 receives");
    engine_match_all();
    print_arena("arena, drained of 6");
    for (int round = 0; round < 10; ++round) {
        engine_posted();
        engine_unexpected();
    }
    print_arena("arena, drained 10 times");
    close_engine();
}

struct order {
    const char *name;
    uint32_t each;
    bool shuffled;
};

static void measure_peers(void)
{
    static const struct order orders[] = {
        {"", 1, false}, {" shuffled", 1, true}, {" 6 each", MANY, false}};

    for (size_t o = 0; o < sizeof(orders) / sizeof(orders[0]); ++o) {
        struct subject posted[] = {{.name = "lists", .round = lists_posted},
                                   {.name = "engine", .round = engine_posted}};
        struct subject unexpected[] = {{.name = "lists", .round = lists_unexpected},
                                       {.name = "engine", .round = engine_unexpected}};
        struct subject any[] = {{.name = "lists", .round = lists_any},
                                {.name = "engine", .round = engine_any}};
        char kind[64];
        each = orders[o].each;
        open_engine();
        make_order(orders[o].shuffled);
        snprintf(kind, sizeof(kind), "post + match%s", orders[o].name);
        take_turns(posted, 2, kind);
        snprintf(kind, sizeof(kind), "arrive + receive%s", orders[o].name);
        take_turns(unexpected, 2, kind);
        snprintf(kind, sizeof(kind), "arrive + any source%s", orders[o].name);
        take_turns(any, 2, kind);
        close_engine();
    }
}

/* Searches */

struct searched {
    llamatch_setup_t setup;
    llamatch_engine_t engine;
    llamatch_peer_t peer;
    struct item last;
    uint64_t place;
};

/* The D entries in front never match, and no hash is made of them. */
static void fill(struct searched *s, llamatch_find_fn_t find, uint32_t depth)
{
    llamatch_config_t config = llamatch_config_default;

    config.pool = pool;
    config.kind = LLAMATCH_LLA;
    config.find = find;
    memset(s, 0, sizeof(*s));
    need(LLAMATCH_OK == llamatch_setup_init(&s->setup, &config), "engine");
    llamatch_engine_init(&s->engine, &s->setup);
    llamatch_peer_init(&s->peer);
    for (uint32_t i = 1; i < depth; ++i) {
        need(LLAMATCH_OK
                 == llamatch_engine_post(&s->engine, &s->peer, TAG + (int32_t) i, &s->last,
                                         &s->place),
             "post");
    }
}

/* The last of D entries matches, and is posted again. */
static double search(struct searched *s, long n)
{
    double start = micro_now_ns();

    for (long i = 0; i < n; ++i) {
        need(LLAMATCH_OK
                 == llamatch_engine_post(&s->engine, &s->peer, TAG, &s->last, &s->last.place),
             "post");
        need(&s->last == llamatch_engine_match(&s->engine, &s->peer, TAG), "match");
    }
    return micro_now_ns() - start;
}

static void measure_search(uint32_t depth)
{
    static struct searched searched[8];
    static double ns[8][MOST_BATCHES];
    const llamatch_simd_path_t *paths;
    int count = (int) llamatch_simd_paths(&paths);
    const char *benchmark = micro_option("name", "search");
    long most = micro_number("batches", 31), n = 1;

    most = most < MOST_BATCHES ? most : MOST_BATCHES;
    for (int p = 0; p < count; ++p) {
        fill(&searched[p], paths[p].find, depth);
    }
    while (search(&searched[0], n) < BATCH_NS) {
        n *= 2;
    }
    for (long batch = 0; batch < most; ++batch) {
        for (int turn = 0; turn < count; ++turn) {
            int p = (int) (batch + turn) % count;
            ns[p][batch] = search(&searched[p], n) / (double) n;
        }
    }
    for (int p = 0; p < count; ++p) {
        print_fastest(paths[p].name, benchmark, "last of", depth, "post + match", ns[p], most);
        llamatch_engine_fini(&searched[p].engine);
    }
}

/* @return false: this CPU has no such path */
static bool repeat(const char *path, uint32_t depth, long n)
{
    static struct searched searched;
    const llamatch_simd_path_t *paths;
    size_t count = llamatch_simd_paths(&paths);

    for (size_t p = 0; p < count; ++p) {
        if (0 == strcmp(path, paths[p].name)) {
            fill(&searched, paths[p].find, depth);
            (void) search(&searched, n);
            llamatch_engine_fini(&searched.engine);
            return true;
        }
    }
    return false;
}

static const char *next_number(const char *list, uint32_t *number)
{
    char *end;

    *number = (uint32_t) strtoul(list, &end, 10);
    return ',' == *end ? end + 1 : end;
}

int main(int argc, char **argv)
{
    const char *list, *path, *what;
    uint32_t depth;

    micro_argc = argc;
    micro_argv = argv;
    path = micro_option("path", NULL);
    what = micro_option("what", "peers");
    if (0 != strcmp("search", what)) {
        for (list = micro_option("peers", "16,256,4096,65536,1048576"); '\0' != *list;) {
            list = next_number(list, &peers);
            (0 == strcmp("memory", what) ? measure_memory : measure_peers)();
        }
        return 0;
    }
    need(LLAMATCH_OK == llamatch_pool_create(NULL, &pool), "pool");
    for (list = micro_option("depths", "16,128,1024,8192"); '\0' != *list;) {
        list = next_number(list, &depth);
        if (NULL == path) {
            measure_search(depth);
        } else if (!repeat(path, depth, micro_number("repeat", 1))) {
            return 77;
        }
    }
    llamatch_pool_destroy(pool);
    return 0;
}
