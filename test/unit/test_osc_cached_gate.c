/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_gate: threads that hit beside threads that insert, evict, invalidate, resize and add
 * targets. Each hit must bring the version of this moment; every hit and flush is counted once.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_gate.h"
#include "osc_cached_test_random.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    TARGETS = 6,
    PLACES = 64, /* of a target */
    READERS = 3,
    WRITERS = 2,
    STEPS = 20000, /* of a writer, at least */
    HITS = 20000,  /* of a reader */
    BYTES_MAX = 700
};

/* A window, as its owner has it. */
typedef struct {
    pthread_mutex_t lock;
    osc_cached_gate_t gate;
    osc_cached_cache_t cache;
    osc_cached_peers_t peers;
    osc_cached_profit_costs_t costs;
    osc_cached_gate_counts_t counts;
    uint64_t sequence;
    uint64_t versions[TARGETS]; /* of what the target's memory holds */
} window_t;

static window_t window;
static _Atomic int readers_left;

static void lock(void)
{
    osc_cached_gate_counts_t more;

    assert_int_equal(0, pthread_mutex_lock(&window.lock));
    osc_cached_gate_close(&window.gate);
    more = osc_cached_gate_collect(&window.gate, &window.cache, &window.costs);
    window.counts.hits += more.hits;
    window.counts.bytes += more.bytes;
    window.counts.flushes += more.flushes;
    window.counts.others += more.others;
}

static void unlock(void)
{
    osc_cached_gate_open(&window.gate);
    assert_int_equal(0, pthread_mutex_unlock(&window.lock));
}

static osc_cached_key_t key_of(int target, uint32_t place)
{
    return (osc_cached_key_t){.address = place * UINT64_C(1024), .target = target};
}

static size_t bytes_of(osc_cached_key_t key)
{
    return 1 + (size_t) ((key.address / 1024 * 37 + (uint64_t) key.target * 101) % BYTES_MAX);
}

static unsigned char byte_of(osc_cached_key_t key, uint64_t version, size_t i)
{
    return (unsigned char) (version * 131 + (uint64_t) key.target * 17 + key.address / 1024 * 29
                            + i);
}

static bool is_right(osc_cached_key_t key, uint64_t version, const unsigned char *buffer,
                     size_t bytes)
{
    for (size_t i = 0; i < bytes; ++i) {
        if (byte_of(key, version, i) != buffer[i]) {
            return false;
        }
    }
    return true;
}

/* Caller has closed the gate. */
static void check_all(void)
{
    osc_cached_target_t targets[TARGETS] = {{0}};
    osc_cached_peers_place_t place = {0};
    const osc_cached_peer_t *peer;
    uint64_t looked = 0;

    while (NULL != (peer = osc_cached_peers_next(&window.peers, &place))) {
        targets[peer->rank] = peer->cache;
        looked += peer->profit.looked;
        assert_int_equal(peer->profit.looked, peer->profit.hits);
    }
    assert_int_equal(window.counts.hits, looked);
    assert_int_equal(0, osc_cached_gate_verify(&window.gate));
    assert_int_equal(0, osc_cached_peers_verify(&window.peers));
    assert_int_equal(0, osc_cached_cache_verify(&window.cache, targets, TARGETS));
}

/* What a miss does, and all that may follow it before anybody else looks. */
static void fetch(osc_cached_key_t key)
{
    osc_cached_cache_t *cache = &window.cache;
    osc_cached_peer_t *peer = osc_cached_peers_add(&window.peers, key.target);
    unsigned char bytes[BYTES_MAX + 1];
    osc_cached_buffer_t buffer = {.address = bytes};
    uint64_t hash = osc_cached_index_hash(&cache->index, key);
    size_t size = bytes_of(key);

    if (NULL != osc_cached_cache_find(cache, &peer->cache, key, hash)) {
        return;
    }
    for (size_t i = 0; i < size; ++i) {
        bytes[i] = byte_of(key, window.versions[key.target], i);
    }
    ++cache->gets;
    (void) osc_cached_cache_insert(cache, &peer->cache, key, hash, &buffer, size,
                                   osc_cached_cache_stamp(cache, &peer->cache), ++window.sequence,
                                   NULL);
    osc_cached_cache_complete(cache, &peer->cache, window.sequence);
}

static void *writer(void *argument)
{
    uint64_t random = seed_get(1) + (uintptr_t) argument;

    for (int step = 0; step < STEPS || 0 < atomic_load(&readers_left); ++step) {
        int target = (int) random_below(&random, TARGETS);
        uint32_t what = random_below(&random, 1000);

        lock();
        if (0 == what) {
            osc_cached_cache_invalidate(&window.cache);
            for (int i = 0; i < TARGETS; ++i) {
                ++window.versions[i];
            }
        } else if (what < 4) {
            osc_cached_peer_t *peer = osc_cached_peers_add(&window.peers, target);

            osc_cached_cache_invalidate_target(&peer->cache);
            ++window.versions[target];
        } else if (what < 8) {
            (void) osc_cached_cache_resize_storage(&window.cache,
                                                   4096 + random_below(&random, 60000));
        } else if (what < 12) {
            (void) osc_cached_cache_resize_index(&window.cache, 16 + random_below(&random, 500));
        } else if (what < 20) {
            check_all();
        } else {
            fetch(key_of(target, random_below(&random, PLACES)));
        }
        unlock();
    }
    return NULL;
}

typedef struct {
    uint64_t hits, bytes, flushes, wrong;
    uint64_t seed;
} reader_t;

static void *reader(void *argument)
{
    reader_t *own = argument;

    while (own->hits < HITS) {
        osc_cached_key_t key =
            key_of((int) random_below(&own->seed, TARGETS), random_below(&own->seed, PLACES));
        size_t bytes = 1 + random_below(&own->seed, (uint32_t) bytes_of(key));
        osc_cached_lane_t *lane = osc_cached_gate_enter(&window.gate);
        unsigned char buffer[BYTES_MAX + 1];
        osc_cached_peer_t *peer;

        if (NULL == lane) {
            lock(); /* as one who needs the lock after all */
            unlock();
            continue;
        }
        peer = osc_cached_peers_find(&window.peers, key.target);
        if (!osc_cached_is_nobody(peer)
            && osc_cached_gate_hit(lane, &window.cache, peer, key, 0, buffer, bytes)) {
            ++own->hits;
            own->bytes += bytes;
            own->wrong += !is_right(key, window.versions[key.target], buffer, bytes);
        }
        if (0 == random_below(&own->seed, 4)) {
            ++lane->flushes;
            ++own->flushes;
        }
        osc_cached_gate_leave(lane);
    }
    atomic_fetch_sub(&readers_left, 1);
    return NULL;
}

static void begin(uint32_t entries, uint64_t memory, osc_cached_scheme_t scheme)
{
    osc_cached_config_t config = {.entries = entries,
                                  .memory = memory,
                                  .evictions = 4,
                                  .sample = 8,
                                  .scheme = scheme,
                                  .seed = seed_get(1),
                                  .adapt = osc_cached_adapt_defaults};

    memset(&window, 0, sizeof(window));
    assert_int_equal(0, pthread_mutex_init(&window.lock, NULL));
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_create(&window.cache, &config, NULL));
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_open(&window.cache));
    osc_cached_peers_create(&window.peers, TARGETS, &osc_cached_alloc_default);
}

static void end(void)
{
    osc_cached_peers_destroy(&window.peers);
    osc_cached_cache_destroy(&window.cache);
    assert_int_equal(0, pthread_mutex_destroy(&window.lock));
}

static void hammer(osc_cached_scheme_t scheme)
{
    pthread_t threads[READERS + WRITERS];
    reader_t readers[READERS];
    reader_t sum = {0};

    begin(128, 32768, scheme);
    atomic_store(&readers_left, READERS);
    for (int i = 0; i < READERS + WRITERS; ++i) {
        if (i < READERS) {
            readers[i] = (reader_t){.seed = seed_get(1) + 1000 + (uint64_t) i};
        }
        assert_int_equal(
            0, pthread_create(&threads[i], NULL, (i < READERS) ? reader : writer,
                              (i < READERS) ? (void *) &readers[i] : (void *) (uintptr_t) i));
    }
    for (int i = 0; i < READERS + WRITERS; ++i) {
        assert_int_equal(0, pthread_join(threads[i], NULL));
    }
    for (int i = 0; i < READERS; ++i) {
        sum.hits += readers[i].hits;
        sum.bytes += readers[i].bytes;
        sum.flushes += readers[i].flushes;
        sum.wrong += readers[i].wrong;
    }
    lock();
    check_all();
    assert_int_equal(0, sum.wrong);
    assert_int_equal(sum.hits, window.counts.hits);
    assert_int_equal(sum.bytes, window.counts.bytes);
    assert_int_equal(sum.flushes, window.counts.flushes);
    unlock();
    end();
}

static void test_hammer_duel(void **state)
{
    (void) state;
    hammer(OSC_CACHED_SCHEME_DUEL);
}

static void test_hammer_full(void **state)
{
    (void) state;
    hammer(OSC_CACHED_SCHEME_FULL);
}

/* A lane at rest is entered; a closed gate is not, nor is a lane that another one has. */
static void test_gate(void **state)
{
    static osc_cached_gate_t gate;
    osc_cached_lane_t *lane, *same;

    (void) state;
    memset(&gate, 0, sizeof(gate));
    lane = osc_cached_gate_enter(&gate);
    assert_non_null(lane);
    assert_null(osc_cached_gate_enter(&gate));
    osc_cached_gate_leave(lane);
    same = osc_cached_gate_enter(&gate);
    assert_ptr_equal(lane, same);
    osc_cached_gate_leave(same);
    osc_cached_gate_close(&gate);
    assert_null(osc_cached_gate_enter(&gate));
    assert_int_equal(0, osc_cached_gate_verify(&gate));
    osc_cached_gate_open(&gate);
    lane = osc_cached_gate_enter(&gate);
    assert_non_null(lane);
    lane->flushes = 1;
    osc_cached_gate_leave(lane);
    assert_int_equal(1, osc_cached_gate_verify(&gate));
}

/* More peers than a lane has places for, and an entry that is asked for all the time. */
static void test_counts(void **state)
{
    enum { ROUNDS = 50 };
    osc_cached_lane_t *lane;
    unsigned char buffer[BYTES_MAX + 1], last;
    uint64_t before, hits = 0;

    (void) state;
    begin(128, 65536, OSC_CACHED_SCHEME_FULL);
    lock();
    for (int target = 0; target < TARGETS; ++target) {
        fetch(key_of(target, 0));
    }
    before = window.cache.gets;
    unlock();
    for (int i = 0; i < ROUNDS * TARGETS; ++i) {
        int target = (i < ROUNDS) ? 0 : i % TARGETS;
        osc_cached_key_t key = key_of(target, 0);

        lane = osc_cached_gate_enter(&window.gate);
        assert_non_null(lane);
        assert_true(osc_cached_gate_hit(lane, &window.cache,
                                        osc_cached_peers_find(&window.peers, target), key, 0,
                                        buffer, bytes_of(key)));
        lane->hit_ns = 70;
        osc_cached_gate_leave(lane);
        assert_true(is_right(key, 0, buffer, bytes_of(key)));
        ++hits;
    }
    lane = osc_cached_gate_enter(&window.gate);
    assert_non_null(lane);
    /* one byte more than there is */
    assert_false(osc_cached_gate_hit(lane, &window.cache, osc_cached_peers_find(&window.peers, 1),
                                     key_of(1, 0), 0, buffer, bytes_of(key_of(1, 0)) + 1));
    assert_false(osc_cached_gate_hit(lane, &window.cache, osc_cached_peers_find(&window.peers, 1),
                                     key_of(1, 1), 0, buffer, 1));
    /* the last byte, and one behind it */
    assert_true(osc_cached_gate_hit(lane, &window.cache, osc_cached_peers_find(&window.peers, 1),
                                    key_of(1, 0), (uint32_t) bytes_of(key_of(1, 0)) - 1, &last, 1));
    ++hits;
    assert_int_equal(byte_of(key_of(1, 0), 0, bytes_of(key_of(1, 0)) - 1), last);
    assert_false(osc_cached_gate_hit(lane, &window.cache, osc_cached_peers_find(&window.peers, 1),
                                     key_of(1, 0), (uint32_t) bytes_of(key_of(1, 0)), &last, 1));
    /* of another cache */
    osc_cached_gate_count(lane, osc_cached_peers_find(&window.peers, 1), 100);
    ++hits;
    osc_cached_gate_leave(lane);
    lock();
    check_all();
    assert_int_equal(hits, window.counts.hits);
    assert_int_equal(1, window.counts.others);
    assert_int_equal(before + hits, window.cache.gets);
    assert_true(0 < window.costs.hit_ns);
    /* hits alone end a round, too */
    assert_false(osc_cached_gate_round_ends(osc_cached_peers_find(&window.peers, 0)));
    osc_cached_peers_find(&window.peers, 0)->profit.round = ROUNDS;
    assert_true(osc_cached_gate_round_ends(osc_cached_peers_find(&window.peers, 0)));
    unlock();
    end();
}

/* Two entries with one place in the memo, asked for in turns as by two threads: it changes now and
 * then, not each time, and hits are right whatever is in it. */
static void test_memo(void **state)
{
    enum { TURNS = 1600 };
    osc_cached_key_t keys[2] = {key_of(1, 0), key_of(1, 1)};
    unsigned char buffer[BYTES_MAX + 1];
    const osc_cached_entry_t *before;
    osc_cached_lane_t *lane;
    int changes = 0;

    (void) state;
    begin(1024, 1 << 20, OSC_CACHED_SCHEME_FULL);
    for (int i = 2; osc_cached_cache_memo(&window.cache, keys[0])
                    != osc_cached_cache_memo(&window.cache, keys[1]);
         ++i) {
        keys[1] = key_of(1, i);
    }
    lock();
    fetch(keys[0]);
    fetch(keys[1]);
    unlock();
    before = *osc_cached_cache_memo(&window.cache, keys[0]);
    for (int i = 0; i < TURNS; ++i) {
        osc_cached_key_t key = keys[i % 2];

        lane = osc_cached_gate_enter(&window.gate);
        assert_non_null(lane);
        assert_true(osc_cached_gate_hit(lane, &window.cache,
                                        osc_cached_peers_find(&window.peers, 1), key, 0, buffer,
                                        bytes_of(key)));
        osc_cached_gate_leave(lane);
        assert_true(is_right(key, 0, buffer, bytes_of(key)));
        changes += before != *osc_cached_cache_memo(&window.cache, key);
        before = *osc_cached_cache_memo(&window.cache, key);
    }
    assert_in_range(changes, 1, TURNS / 4);
    lock(); /* and collected */
    unlock();
    end();
}

/* An entry that is asked for all the time does not change with each hit: threads that share it
 * would wait for each other. */
static void test_ages(void **state)
{
    enum { ENTRIES = 32, TURNS = 2 * OSC_CACHED_GATE_AGES_MAX / ENTRIES };
    unsigned char buffer[BYTES_MAX + 1];
    osc_cached_key_t key = key_of(1, 0);
    osc_cached_peer_t *peer;
    osc_cached_entry_t *entry;
    uint32_t before;
    int changes;

    (void) state;
    begin(1024, 1 << 20, OSC_CACHED_SCHEME_FULL);
    lock();
    for (uint32_t i = 0; i < ENTRIES; ++i) {
        fetch(key_of(1, i));
    }
    unlock();
    peer = osc_cached_peers_find(&window.peers, 1);
    entry = osc_cached_cache_find(&window.cache, &peer->cache, key,
                                  osc_cached_index_hash(&window.cache.index, key));
    assert_non_null(entry);
    for (int evicts = 0; evicts < 2; ++evicts) {
        window.cache.evictions = (uint64_t) evicts;
        changes = 0;
        before = entry->last;
        for (uint32_t i = 0; i < TURNS * ENTRIES; ++i) {
            osc_cached_lane_t *lane = osc_cached_gate_enter(&window.gate);

            assert_non_null(lane);
            key = key_of(1, i % ENTRIES);
            assert_true(
                osc_cached_gate_hit(lane, &window.cache, peer, key, 0, buffer, bytes_of(key)));
            osc_cached_gate_leave(lane);
            changes += before != entry->last;
            before = entry->last;
        }
        /* where entries leave for others, their ages count */
        assert_in_range(changes, evicts ? TURNS - 1 : 1, evicts ? TURNS : TURNS / 10);
        lock();
        unlock();
    }
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gate),        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_memo),        cmocka_unit_test(test_ages),
        cmocka_unit_test(test_hammer_duel), cmocka_unit_test(test_hammer_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
