/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory and messages of one process among many: the cores of osc/cached and pml/llamatch, without
 * MPI, with as many ranks as are asked for. workload.h says what the process does; measure.c does
 * the same with MPI, and tells the same quantities from the components' own counters.
 *
 *     scale --small RANKS...   what a run can be compared with
 *     scale RANKS...           what no machine here can run
 *
 * Prints part, ranks, pattern, quantity, value. Bytes are those that the cores asked for.
 */
#include "llamatch_engine.h"
#include "osc_cached_cache.h"
#include "osc_cached_client.h"
#include "osc_cached_copies.h"
#include "osc_cached_directory.h"
#include "osc_cached_operation.h"
#include "osc_cached_peers.h"
#include "osc_cached_server.h"
#include "workload.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SHARERS = 100000 }; /* of one block */

static void need(bool right, const char *what)
{
    if (!right) {
        fprintf(stderr, "scale: %s\n", what);
        exit(1);
    }
}

/* Memory that is counted */

static uint64_t taken; /* bytes */

static void *count_alloc(void *context, size_t alignment, size_t bytes)
{
    void *memory = osc_cached_alloc_default.alloc(context, alignment, bytes);

    need(NULL != memory, "no memory");
    taken += bytes;
    return memory;
}

static void count_free(void *context, void *memory, size_t bytes)
{
    taken -= (NULL != memory) ? bytes : 0;
    osc_cached_alloc_default.free(context, memory, bytes);
}

static const osc_cached_alloc_t counted = {count_alloc, count_free, NULL};

/* --- The cache ----------------------------------------------------------------------------------
 */

static uint64_t budget_left;

static uint64_t budget_available(void *context)
{
    (void) context;
    return budget_left;
}

static bool budget_reserve(void *context, uint64_t bytes)
{
    (void) context;
    if (budget_left < bytes) {
        return false;
    }
    budget_left -= bytes;
    return true;
}

static void budget_give_back(void *context, uint64_t bytes)
{
    (void) context;
    budget_left += bytes;
}

/* As make_config of osc_cached_component.c makes it of the default parameters. */
static osc_cached_config_t cache_config(void)
{
    return (osc_cached_config_t){
        .entries = 4096,
        .memory = 4 << 20,
        .gradual = true,
        .reach = WORKLOAD_BLOCKS * WORKLOAD_BYTES,
        .evictions = 1,
        .sample = 16,
        .scheme = OSC_CACHED_SCHEME_DUEL,
        .adaptive = true,
        .seed = 1,
        .adapt = osc_cached_adapt_defaults,
        .budget = {budget_available, budget_reserve, budget_give_back, NULL},
    };
}

static void simulate_cache(uint32_t ranks, uint32_t pattern)
{
    static char buffer[WORKLOAD_BYTES];
    workload_t workload = {.random = 1, .ranks = ranks, .pattern = pattern};
    const char *name = workload_patterns[pattern];
    osc_cached_config_t config = cache_config();
    osc_cached_cache_t cache;
    osc_cached_peers_t peers;
    uint64_t hits = 0, before = taken, without_peers;

    memset(&cache, 0, sizeof(cache));
    memset(&peers, 0, sizeof(peers));
    budget_left = WORKLOAD_MEMORY;
    need(OSC_CACHED_OK == osc_cached_cache_create(&cache, &config, &counted)
             && OSC_CACHED_OK == osc_cached_cache_open(&cache),
         "no cache");
    osc_cached_peers_create(&peers, ranks, &counted);
    for (uint64_t get = 1; get <= WORKLOAD_GETS; ++get) {
        osc_cached_buffer_t to = {.address = buffer};
        osc_cached_key_t key = {.address = 0};
        osc_cached_peer_t *peer;
        uint32_t target, block;
        uint64_t hash, stamp;
        size_t have;

        workload_next(&workload, &target, &block);
        peer = osc_cached_peers_find(&peers, (int) target);
        if (osc_cached_is_nobody(peer)) {
            peer = osc_cached_peers_add(&peers, (int) target);
        }
        key.target = (int32_t) target;
        key.address = (uint64_t) block * WORKLOAD_BYTES;
        hash = osc_cached_index_hash(&cache.index, key);
        stamp = osc_cached_cache_stamp(&cache, &peer->cache);
        if (OSC_CACHED_HIT
            == osc_cached_cache_get(&cache, &peer->cache, key, hash, &to, WORKLOAD_BYTES, get,
                                    &have)) {
            ++hits;
            continue;
        }
        (void) osc_cached_cache_insert(&cache, &peer->cache, key, hash, &to, WORKLOAD_BYTES, stamp,
                                       get, NULL);
        osc_cached_cache_complete(&cache, &peer->cache, get);
    }
    workload_tell("cache", ranks, name, "hits", (double) hits);
    workload_tell("cache", ranks, name, "fetches", (double) (WORKLOAD_GETS - hits));
    workload_tell("cache", ranks, name, "index_entries", cache.index.count);
    workload_tell("cache", ranks, name, "storage_used",
                  (double) osc_cached_storage_used_bytes(&cache.storage));
    workload_tell("cache", ranks, name, "budget_taken",
                  (double) osc_cached_cache_footprint(&cache));
    workload_tell("cache", ranks, name, "targets", peers.num_peers);
    without_peers = taken;
    osc_cached_peers_destroy(&peers);
    workload_tell("cache", ranks, name, "bytes of targets", (double) (without_peers - taken));
    osc_cached_cache_destroy(&cache);
    need(before == taken, "the cache keeps memory");
}

/* --- The helper ---------------------------------------------------------------------------------
 */

static const osc_cached_window_id_t window_id = {.creator = 1, .number = 1};

typedef struct message {
    struct message *next;
    bool is_reply;
    uint32_t origin;
    size_t bytes;
    unsigned char header[OSC_CACHED_REQUEST_BYTES];
    char data[];
} message_t;

static message_t *first_message, **last_message = &first_message;
static osc_cached_server_t *server;
static osc_cached_client_t **clients; /* by rank; NULL: none that remembers anything */
static uint32_t updating;             /* rank */
static uint64_t requests, replies;

static void launch(message_t *message)
{
    message->next = NULL;
    *last_message = message;
    last_message = &message->next;
}

static message_t *new_message(size_t bytes)
{
    message_t *message = calloc(1, sizeof(*message) + bytes);

    need(NULL != message, "no memory");
    message->bytes = bytes;
    return message;
}

static osc_cached_sending_t server_send(void *context, uint64_t origin,
                                        const osc_cached_reply_t *reply, const void *data,
                                        void *cookie)
{
    message_t *message = new_message(reply->length);

    (void) context;
    (void) cookie;
    message->is_reply = true;
    message->origin = (uint32_t) origin - 1;
    osc_cached_reply_encode(reply, message->header);
    if (0 < reply->length) {
        memcpy(message->data, data, reply->length);
    }
    ++replies;
    launch(message);
    return OSC_CACHED_SENT;
}

static void *client_reserve(void *context, size_t data_bytes)
{
    (void) context;
    return new_message(data_bytes)->header;
}

static bool client_send(void *context, osc_cached_remote_t *remote, void *header, size_t data_bytes)
{
    message_t *message = (message_t *) (void *) ((char *) header - offsetof(message_t, header));
    osc_cached_client_t **client = context;

    (void) remote;
    message->bytes = data_bytes;
    message->origin = (uint32_t) (client - clients);
    ++requests;
    launch(message);
    return true;
}

static osc_cached_client_t *client_of(uint32_t rank)
{
    if (NULL == clients[rank]) {
        osc_cached_client_config_t config = {.alloc = &osc_cached_alloc_default,
                                             .name = rank + 1,
                                             .reserve = client_reserve,
                                             .send = client_send,
                                             .context = &clients[rank]};

        clients[rank] = malloc(sizeof(**clients));
        need(NULL != clients[rank], "no memory");
        osc_cached_client_init(clients[rank], &config);
    }
    return clients[rank];
}

static void forget(uint32_t rank)
{
    osc_cached_client_fini(clients[rank]);
    free(clients[rank]);
    clients[rank] = NULL;
}

/* A client whose session has ended is as it was at first. */
static void forget_released(uint32_t rank)
{
    if (rank != updating && NULL != clients[rank]
        && OSC_CACHED_ACCOUNT_CLOSED == osc_cached_client_remote(clients[rank], 1)->account.state) {
        forget(rank);
    }
}

/* Deliver all messages, in their order; then the helper has nothing to do, and tells what is done.
 */
static void settle_network(void)
{
    do {
        while (NULL != first_message) {
            message_t *message = first_message;

            first_message = message->next;
            if (NULL == first_message) {
                last_message = &first_message;
            }
            if (message->is_reply) {
                osc_cached_client_receive(client_of(message->origin), message->header,
                                          OSC_CACHED_REPLY_BYTES, message->data, message->bytes);
            } else {
                osc_cached_server_receive(server, message->header, OSC_CACHED_REQUEST_BYTES,
                                          message->data, message->bytes);
                forget_released(message->origin);
            }
            free(message);
        }
        osc_cached_server_tell(server);
    } while (NULL != first_message);
}

static void pack(osc_cached_call_t *call, uint64_t offset, void *to, size_t bytes)
{
    (void) call;
    (void) offset;
    memset(to, 0, bytes);
}

/* An accumulate of 8 bytes, and a flush. */
static void update(uint32_t rank)
{
    osc_cached_client_t *client = client_of(rank);
    osc_cached_remote_t *remote = osc_cached_client_remote(client, 1);
    osc_cached_call_t call = {.request = {.kind = OSC_CACHED_WIRE_ACC,
                                          .window = window_id,
                                          .count = 8,
                                          .operation = OSC_CACHED_SUM,
                                          .element = OSC_CACHED_INT64},
                              .total = 8,
                              .pack = pack};
    osc_cached_refusals_t refusals;
    osc_cached_mark_t mark;

    need(NULL != remote, "no memory");
    osc_cached_client_watch(remote, window_id, &refusals);
    updating = rank;
    while (OSC_CACHED_PUSH_WAIT == osc_cached_client_push(client, remote, &call)) {
        settle_network();
    }
    mark = osc_cached_client_mark(client, remote);
    do {
        settle_network();
    } while (!osc_cached_client_is_done(remote, mark));
    need(OSC_CACHED_REFUSED_NOT == osc_cached_client_refused(&refusals), "refused");
    osc_cached_client_unwatch(&refusals);
}

/* All ranks but 0 update memory of rank 0: one after the other, or in turns. */
static void simulate_helper(uint32_t ranks, bool turns)
{
    const char *name = turns ? "in turns" : "one after the other";
    static char memory[64];
    uint64_t before = taken, updates = (uint64_t) (ranks - 1) * WORKLOAD_UPDATES;
    /* as server_create of osc_cached_helper_process.c makes it of the default parameters */
    osc_cached_server_config_t config = {.alloc = &counted,
                                         .name = 1,
                                         .memory = 64 << 20,
                                         .origins = ranks,
                                         .buffers = 16,
                                         .chunk = 32000,
                                         .min_chunk = 3008,
                                         .replies = 2,
                                         .room = 512,
                                         .spares = 4,
                                         .spare_bytes = 32000,
                                         .send = server_send};
    const osc_cached_server_counts_t *counts;

    requests = replies = 0;
    clients = calloc(ranks, sizeof(*clients));
    need(NULL != clients && OSC_CACHED_OK == osc_cached_server_create(&config, &server)
             && OSC_CACHED_OK == osc_cached_server_open(server, window_id, memory, sizeof(memory)),
         "no server");
    for (uint64_t i = 0; i < updates; ++i) {
        uint32_t rank = 1 + (uint32_t) (turns ? i % (ranks - 1) : i / WORKLOAD_UPDATES);

        update(rank);
    }
    counts = osc_cached_server_counts(server);
    workload_tell("helper", ranks, name, "updates", (double) updates);
    workload_tell("helper", ranks, name, "helper_accumulate_requests",
                  (double) counts->requests[OSC_CACHED_WIRE_ACC]);
    workload_tell("helper", ranks, name, "helper_sessions", (double) counts->sessions);
    workload_tell("helper", ranks, name, "helper_revoked", (double) counts->revoked);
    workload_tell("helper", ranks, name, "helper_acks", (double) counts->acks);
    workload_tell("helper", ranks, name, "helper_memory_most", (double) counts->used_max);
    workload_tell("helper", ranks, name, "bytes at the target", (double) (taken - before));
    workload_tell("helper", ranks, name, "messages per update",
                  (double) (requests + replies) / (double) updates);
    for (uint32_t rank = 0; rank < ranks; ++rank) {
        if (NULL != clients[rank]) {
            forget(rank);
        }
    }
    free(clients);
    osc_cached_server_destroy(server);
    need(before == taken, "the helper keeps memory");
}

/* What the origin remembers of its targets, which is never forgotten. */
static void simulate_origin(uint32_t ranks, uint32_t pattern)
{
    workload_t workload = {.random = 1, .ranks = ranks, .pattern = pattern};
    osc_cached_client_config_t config = {.alloc = &counted, .name = 1};
    osc_cached_client_t client;
    uint64_t before = taken;

    osc_cached_client_init(&client, &config);
    for (uint32_t i = 0; i < WORKLOAD_GETS; ++i) {
        uint32_t target, block;

        workload_next(&workload, &target, &block);
        need(NULL != osc_cached_client_remote(&client, target + 1), "no memory");
    }
    workload_tell("origin", ranks, workload_patterns[pattern], "bytes at the origin",
                  (double) (taken - before));
    osc_cached_client_fini(&client);
    need(before == taken, "the client keeps memory");
}

/* --- Coherence ----------------------------------------------------------------------------------
 */

static osc_cached_directory_t directory;
static osc_cached_copies_t copies; /* of one process at a time */
static uint64_t to_owner, from_owner;
static uint32_t *invalidated; /* who has an INV */
static uint32_t num_invalidated;
static bool is_held;

/* What the owner sends. A reader that was invalidated acknowledges later, as it would. */
static void from_directory(void *context, const osc_cached_message_t *message)
{
    (void) context;
    ++from_owner;
    if (OSC_CACHED_MESSAGE_INV == message->kind) {
        invalidated[num_invalidated++] = message->peer;
    }
    is_held = is_held || OSC_CACHED_MESSAGE_HELD == message->kind;
}

static const osc_cached_post_t owner_post = {.send = from_directory};

static void to_directory(osc_cached_message_kind_t kind, uint32_t rank, uint64_t block,
                         uint32_t name)
{
    osc_cached_message_t message = {
        .kind = (uint8_t) kind, .first = block, .count = 1, .peer = rank, .name = name};

    ++to_owner;
    osc_cached_directory_receive(&directory, &message, OSC_CACHED_FILL_PROTECTED, &owner_post);
}

/* Rank 0 owns memory whose blocks are read; then rank 1 writes the first of them. */
static void simulate_coherence(uint32_t ranks, uint32_t pattern, bool small)
{
    const char *name = small ? "all read" : workload_patterns[pattern];
    osc_cached_directory_config_t config = {
        .ranks = ranks, .max_lines = 1 << 18, .recall = 4, .alloc = &counted};
    osc_cached_copies_config_t own = {
        .ranks = ranks, .rank = 1, .max_blocks = 1 << 14, .block_shift = 12, .alloc = &counted};
    uint32_t blocks = WORKLOAD_BLOCKS * WORKLOAD_BYTES / WORKLOAD_PAGE;
    uint64_t before = taken, random = 1, fills, of_ranks;

    to_owner = from_owner = 0;
    num_invalidated = 0;
    is_held = false;
    invalidated = malloc(ranks * sizeof(*invalidated));
    need(NULL != invalidated && OSC_CACHED_OK == osc_cached_directory_init(&directory, &config),
         "no directory");
    if (small) {
        for (uint32_t rank = 1; rank < ranks; ++rank) {
            for (uint32_t block = 0; block < WORKLOAD_PAGES; ++block) {
                to_directory(OSC_CACHED_MESSAGE_FILL, rank, block, block + 1);
            }
        }
    } else if (WORKLOAD_NEIGHBOURS == pattern) {
        bool done[6] = {false};

        for (uint32_t n = 0; n < 6; ++n) {
            uint32_t rank = workload_neighbour(ranks, n);

            for (uint32_t other = 0; other < n; ++other) {
                done[n] = done[n] || workload_neighbour(ranks, other) == rank;
            }
            for (uint32_t block = 0;
                 block < WORKLOAD_HALO * WORKLOAD_BYTES / WORKLOAD_PAGE && !done[n]; ++block) {
                to_directory(OSC_CACHED_MESSAGE_FILL, rank, block, block + 1);
            }
        }
    } else {
        /* the gets that all processes send here; a block that a process has is not asked for again.
         * power law: everybody reads the first block */
        uint64_t words = ((uint64_t) ranks * blocks + 63) / 64, *has = calloc(words, 8);

        need(NULL != has, "no memory");
        for (uint64_t i = 0; i < (WORKLOAD_POWER_LAW == pattern ? ranks - 1 : WORKLOAD_GETS); ++i) {
            uint32_t rank = (WORKLOAD_POWER_LAW == pattern)
                                ? (uint32_t) i + 1
                                : 1 + (uint32_t) (workload_random(&random) % (ranks - 1));
            uint32_t block = (WORKLOAD_POWER_LAW == pattern)
                                 ? 0
                                 : (uint32_t) (workload_random(&random) % blocks);
            uint64_t bit = (uint64_t) rank * blocks + block;

            if (0 == (has[bit / 64] >> bit % 64 & 1)) {
                has[bit / 64] |= UINT64_C(1) << bit % 64;
                to_directory(OSC_CACHED_MESSAGE_FILL, rank, block, block + 1);
            }
        }
        free(has);
    }
    fills = to_owner;
    workload_tell("coherence", ranks, name, "blocks asked for", (double) fills);
    workload_tell("coherence", ranks, name, "bytes at the owner", (double) (taken - before));
    to_directory(OSC_CACHED_MESSAGE_HOLD, 1, 0, 1);
    for (uint32_t i = 0; i < num_invalidated; ++i) {
        to_directory(OSC_CACHED_MESSAGE_ACK, invalidated[i], 0, 0);
    }
    need(is_held && 0 == osc_cached_directory_verify(&directory), "the block is not held");
    workload_tell("coherence", ranks, name, "coherence_invalidations",
                  (double) directory.counts.invalidations);
    workload_tell("coherence", ranks, name, "helper_notes", (double) to_owner);
    workload_tell("coherence", ranks, name, "messages of the write",
                  (double) (to_owner + from_owner - 2 * fills));
    osc_cached_directory_fini(&directory);
    need(before == taken, "the directory keeps memory");
    need(OSC_CACHED_OK == osc_cached_copies_init(&copies, &own), "no copies");
    /* the component has for each rank a name (8 bytes), two lists (4 each) and five marks (1 each)
     */
    of_ranks = 21 * (uint64_t) ranks;
    workload_tell("coherence", ranks, name, "bytes at a reader",
                  (double) (taken - before + of_ranks));
    osc_cached_copies_fini(&copies);
    free(invalidated);
}

/* --- Matching -----------------------------------------------------------------------------------
 */

/* Receives of some peers, and then their messages, the last one first. */
static void simulate_matching(uint32_t ranks, uint32_t used, uint32_t each, const char *name)
{
    llamatch_config_t config = llamatch_config_default;
    llamatch_pool_t *pool = NULL;
    llamatch_setup_t setup;
    llamatch_engine_t engine;
    llamatch_stats_t posted, unexpected;
    llamatch_peer_t *peers = aligned_alloc(64, (used * sizeof(*peers) + 63) / 64 * 64);
    uint64_t *places = malloc((uint64_t) used * each * sizeof(*places));
    size_t arena;

    need(NULL != peers && NULL != places && LLAMATCH_OK == llamatch_pool_create(NULL, &pool),
         "no memory");
    config.pool = pool;
    need(LLAMATCH_OK == llamatch_setup_init(&setup, &config), "no engine");
    llamatch_engine_init(&engine, &setup);
    for (uint32_t peer = 0; peer < used; ++peer) {
        llamatch_peer_init(&peers[peer]);
    }
    for (uint32_t tag = 0; tag < each; ++tag) {
        for (uint32_t peer = 0; peer < used; ++peer) {
            uint64_t *place = &places[(uint64_t) peer * each + tag];

            need(LLAMATCH_OK
                     == llamatch_engine_post(&engine, &peers[peer], (int32_t) tag, place, place),
                 "no memory");
        }
    }
    workload_tell("matching", ranks, name, "arena_used", (double) llamatch_pool_used_bytes(pool));
    arena = llamatch_pool_bytes(pool);
    for (uint32_t tag = each; 0 < tag--;) {
        for (uint32_t peer = 0; peer < used; ++peer) {
            need(&places[(uint64_t) peer * each + tag]
                     == llamatch_engine_match(&engine, &peers[peer], (int32_t) tag),
                 "another receive");
        }
    }
    llamatch_engine_stats(&engine, &posted, &unexpected);
    workload_tell("matching", ranks, name, "posted_length_max", (double) posted.length_max);
    workload_tell("matching", ranks, name, "posted_matches", (double) posted.matches);
    workload_tell("matching", ranks, name, "posted_depth_sum", (double) posted.depth_sum);
    workload_tell("matching", ranks, name, "bytes",
                  (double) arena + (double) used * sizeof(llamatch_peer_t) + 8.0 * ranks);
    llamatch_engine_fini(&engine);
    llamatch_pool_destroy(pool);
    free(peers);
    free(places);
}

int main(int argc, char **argv)
{
    bool small = 1 < argc && 0 == strcmp("--small", argv[1]);

    setvbuf(stdout, NULL, _IOLBF, 0);
    need(1 < argc, "usage: scale [--small] RANKS...");
    for (int i = 1 + small; i < argc; ++i) {
        char *end;
        unsigned long ranks = strtoul(argv[i], &end, 10);

        need('\0' == *end && 2 <= ranks && ranks <= 1 << 24, "ranks: a number from 2 on");
        for (uint32_t pattern = 0; pattern < WORKLOAD_PATTERNS; ++pattern) {
            simulate_cache((uint32_t) ranks, pattern);
            if (!small) {
                simulate_origin((uint32_t) ranks, pattern);
            }
            /* the directory looks through the sharers of a block for each that it enters: 5 x 10^11
             * steps for a million of them */
            if (!small && (WORKLOAD_POWER_LAW != pattern || ranks <= MOST_SHARERS)) {
                simulate_coherence((uint32_t) ranks, pattern, false);
            }
        }
        if (small) {
            simulate_coherence((uint32_t) ranks, 0, true);
            simulate_matching((uint32_t) ranks, (uint32_t) ranks - 1, WORKLOAD_RECEIVES,
                              "all peers");
        } else {
            simulate_matching((uint32_t) ranks, 6, WORKLOAD_RECEIVES, "neighbours");
            simulate_matching((uint32_t) ranks, (uint32_t) ranks - 1, 1, "all peers");
            simulate_helper((uint32_t) ranks, false);
        }
        simulate_helper((uint32_t) ranks, true);
    }
    return 0;
}
