/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_duel: its arithmetic, and a cache with this scheme against a model that is written
 * from the rules of the header: a plain array of regions, searched from end to end.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_cache.h"
#include "osc_cached_test_random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GET = 256, MOST = 65535, NONE = -1 };

/* The arithmetic */

static uint64_t decay(uint32_t shift, uint64_t count, uint32_t d)
{
    uint64_t p = UINT64_C(1) << shift;

    count -= count * (d % p) / (2 * p);
    for (uint64_t i = 0; i < d / p && 0 < count; ++i) {
        count /= 2;
    }
    return count;
}

static void test_decay(void **state)
{
    uint64_t seed = seed_get(3);

    (void) state;
    for (int i = 0; i < 200000; ++i) {
        osc_cached_duel_t duel = {.shift = 6 + random_below(&seed, 25)};
        uint32_t count = random_below(&seed, MOST + 1);
        uint32_t d = random_below(&seed, UINT32_C(1) << (duel.shift < 26 ? duel.shift + 5 : 31));
        osc_cached_entry_t entry = {.last = random_below(&seed, UINT32_MAX)};
        uint64_t after = decay(duel.shift, count, d);

        assert_int_equal(after, osc_cached_duel_decay(&duel, count, d));
        entry.count = (uint16_t) count;
        entry.gap = random_below(&seed, 2 * d + 2);
        assert_int_equal(4 * (uint64_t) entry.gap < d ? 0 : after,
                         osc_cached_duel_value(&duel, &entry, entry.last + d));
        entry.gap = random_below(&seed, UINT32_MAX);
        {
            osc_cached_entry_t before = entry;

            osc_cached_duel_hit(&duel, &entry, before.last + d);
            assert_int_equal(after + GET < MOST ? after + GET : MOST, entry.count);
            assert_int_equal(((uint64_t) before.gap + d) / 2, entry.gap);
            assert_int_equal((uint32_t) (before.last + d), entry.last);
        }
    }
}

static void test_ghosts(void **state)
{
    osc_cached_duel_t duel;
    uint64_t hash = UINT64_C(0x123456789abcdef1);
    uint32_t count, gap;

    (void) state;
    osc_cached_duel_create(&duel);
    osc_cached_duel_follow(&duel, 100, 0);
    assert_int_equal(512, 1 << duel.shift);
    /* without a table nothing is remembered */
    osc_cached_duel_remember(&duel, hash, 1000, 0);
    osc_cached_duel_recall(&duel, hash, 0, &count, &gap);
    assert_int_equal(GET, count);
    assert_int_equal(128, gap);
    osc_cached_duel_resize(&duel, 100, &osc_cached_alloc_default);
    osc_cached_duel_recall(&duel, hash, 0, &count, &gap);
    assert_int_equal(GET, count);
    osc_cached_duel_remember(&duel, hash, 1000, 64);
    osc_cached_duel_recall(&duel, hash, 64 + 512, &count, &gap);
    assert_int_equal(GET + 500, count);
    assert_int_equal(512, gap);
    osc_cached_duel_recall(&duel, hash, 65, &count, &gap);
    assert_int_equal(GET + 1000, count);
    assert_int_equal(64, gap); /* not 0 */
    osc_cached_duel_recall(&duel, hash ^ 1, 64, &count, &gap);
    assert_int_equal(GET, count); /* another one of the same slot */
    /* the same age in other units */
    osc_cached_duel_follow(&duel, 200, 64 + 512);
    assert_int_equal(1024, 1 << duel.shift);
    osc_cached_duel_recall(&duel, hash, 64 + 512, &count, &gap);
    assert_int_equal(512, gap);
    osc_cached_duel_follow(&duel, 86, 64 + 512); /* 12 x 86: not smaller yet */
    assert_int_equal(1024, 1 << duel.shift);
    osc_cached_duel_follow(&duel, 20, 64 + 512);
    assert_int_equal(128, 1 << duel.shift);
    osc_cached_duel_recall(&duel, hash, 64 + 512, &count, &gap);
    assert_int_equal(512, gap);
    /* bounds */
    osc_cached_duel_follow(&duel, 0, 0);
    assert_int_equal(64, 1 << duel.shift);
    osc_cached_duel_follow(&duel, UINT32_MAX, 0);
    assert_int_equal(30, duel.shift);
    osc_cached_duel_remember(&duel, hash, MOST, 5);
    osc_cached_duel_recall(&duel, hash, 5, &count, &gap);
    assert_int_equal(MOST, count);
    osc_cached_duel_destroy(&duel, &osc_cached_alloc_default);
}

/* The model */

enum { REGIONS_MAX = 4096, KEYS_MAX = 2000, RECORDS_MAX = 64, BYTES_MAX = 4096 };

typedef struct {
    bool hole;
    uint64_t key, added; /* added: when, of a hole */
    uint32_t units, bytes, count, last, gap, pins;
    bool pending;
    uint64_t target_generation, generation;
} region_t;

typedef struct {
    uint64_t key;
    bool fills;
    uint32_t bytes; /* of the entry when it has arrived */
} record_t;

typedef struct {
    osc_cached_cache_t c;
    osc_cached_target_t target;
    uint64_t sequence, clock;
    region_t regions[REGIONS_MAX];
    int num, hand;
    osc_cached_ghost_t *ghosts;
    record_t records[RECORDS_MAX];
    int num_records;
    uint32_t shift, entries;
    uint64_t generation, target_generation;
} model_t;

static model_t m;
static char space[BYTES_MAX];

static uint32_t redzone(void)
{
    return m.c.storage.redzone;
}

static uint32_t units_for(uint32_t bytes)
{
    return (bytes + 15) / 16 + redzone();
}

static uint64_t hash_of(uint64_t key)
{
    osc_cached_key_t full = {key, 0, 0};

    return osc_cached_index_hash(&m.c.index, full);
}

static int find(uint64_t key)
{
    for (int i = 0; i < m.num; ++i) {
        if (!m.regions[i].hole && m.regions[i].key == key) {
            return i;
        }
    }
    return NONE;
}

static bool is_valid(const region_t *region)
{
    return region->generation == m.generation && region->target_generation == m.target_generation;
}

static uint64_t value(const region_t *region)
{
    uint32_t d = (uint32_t) m.c.gets - region->last;

    return (region->generation != m.generation || 4 * (uint64_t) region->gap < d)
               ? 0
               : decay(m.shift, region->count, d);
}

static void used_again(region_t *region, uint32_t now)
{
    uint32_t d = now - region->last;
    uint64_t count = decay(m.shift, region->count, d) + GET;

    region->count = (uint32_t) (count < MOST ? count : MOST);
    region->gap = (uint32_t) (((uint64_t) region->gap + d) / 2);
    region->last = now;
}

static osc_cached_ghost_t *ghost_of(uint64_t key)
{
    return &m.ghosts[(hash_of(key) >> 32) * osc_cached_index_num_slots(&m.c.index) >> 32];
}

static void remember(uint64_t key, uint32_t count, uint32_t last)
{
    osc_cached_ghost_t *ghost = ghost_of(key);

    ghost->tag = (uint32_t) hash_of(key);
    ghost->count = (uint16_t) count;
    ghost->time = (uint16_t) (last >> (m.shift - 3));
}

static void drop(int i, int heir)
{
    m.hand = (i == m.hand) ? heir : m.hand;
    memmove(m.regions + i, m.regions + i + 1, (size_t) (m.num - i - 1) * sizeof(region_t));
    --m.num;
    m.hand -= (i < m.hand);
}

static void open_hole(int i, uint32_t units)
{
    m.regions[i] = (region_t){.hole = true, .units = units, .added = ++m.clock};
}

static void release(int i)
{
    uint32_t units = m.regions[i].units;

    m.entries -= 1;
    if (i + 1 < m.num && m.regions[i + 1].hole) {
        units += m.regions[i + 1].units;
        drop(i + 1, i);
    }
    if (0 < i && m.regions[i - 1].hole) {
        units += m.regions[i - 1].units;
        drop(i, i - 1);
        --i;
    }
    open_hole(i, units);
}

/* The start of region i becomes used; it is nobody's now. */
static void use(int i, uint64_t key, uint32_t bytes)
{
    uint32_t rest = m.regions[i].units - units_for(bytes);

    m.entries += 1;
    m.regions[i] = (region_t){.key = key, .bytes = bytes, .units = units_for(bytes)};
    if (0 == rest) {
        return;
    }
    if (i + 1 < m.num && m.regions[i + 1].hole) {
        open_hole(i + 1, rest + m.regions[i + 1].units);
    } else if ((uint32_t) m.num == m.c.storage.max_entries) {
        m.regions[i].units += rest;
    } else {
        memmove(m.regions + i + 2, m.regions + i + 1, (size_t) (m.num - i - 1) * sizeof(region_t));
        ++m.num;
        m.hand += i < m.hand;
        open_hole(i + 1, rest);
    }
}

static uint32_t bin_begin(uint32_t size)
{
    uint32_t power = 1;

    if (114688 <= size) {
        return 114688;
    }
    while (2 * power <= size) {
        power *= 2;
    }
    return (power < 4) ? size : size / (power / 4) * (power / 4);
}

/* As osc_cached_holes.h says it. */
static int find_hole(uint32_t size)
{
    uint32_t bin = UINT32_MAX;
    uint64_t before = UINT64_MAX;
    int best = NONE;

    for (int i = 0; i < m.num; ++i) {
        uint32_t own = m.regions[i].hole ? bin_begin(m.regions[i].units) : 0;

        if (size <= own
            && (own < bin || (own == bin && m.regions[best].added < m.regions[i].added))) {
            bin = own;
            best = i;
        }
    }
    for (int n = 0; n < OSC_CACHED_HOLES_SCAN && NONE == best; ++n) {
        int next = NONE;

        for (int i = 0; i < m.num; ++i) {
            if (m.regions[i].hole && bin_begin(m.regions[i].units) == bin_begin(size)
                && m.regions[i].added < before
                && (NONE == next || m.regions[next].added < m.regions[i].added)) {
                next = i;
            }
        }
        if (NONE == next) {
            break;
        }
        before = m.regions[next].added;
        best = (size <= m.regions[next].units) ? next : best;
    }
    return best;
}

/* Where a newcomer is kept, or NONE. */
static int duel(uint64_t key, uint32_t bytes, uint32_t count, osc_cached_access_t *access)
{
    uint32_t slots = osc_cached_index_num_slots(&m.c.index);
    bool full = slots * 7 / 8 <= m.entries;

    if (!full) {
        int hole = find_hole(units_for(bytes));

        if (NONE != hole) {
            use(hole, key, bytes);
            *access = OSC_CACHED_DIRECT;
            return hole;
        }
    }
    for (int try = 0; try < 2; ++try) {
        uint64_t sum = 0, units = 0;
        int n = 0, first = m.hand;
        bool lost = false, entry = !full;

        while (!lost && (units < units_for(bytes) || !entry)) {
            if (16 == n || m.num == first + n) {
                lost = true;
            } else {
                const region_t *region = &m.regions[first + n++];

                units += region->units;
                if (!region->hole) {
                    entry = true;
                    sum += value(region);
                    lost = count < sum || 0 < region->pins;
                }
            }
        }
        if (lost) {
            m.hand = (m.hand + 1) % m.num;
            continue;
        }
        for (int i = first; i < first + n; ++i) {
            if (!m.regions[i].hole) {
                remember(m.regions[i].key, m.regions[i].count, m.regions[i].last);
                m.entries -= 1;
            }
        }
        while (1 < n--) {
            m.regions[first].units += m.regions[first + 1].units;
            drop(first + 1, first);
        }
        use(first, key, bytes);
        m.hand = (first + 1) % m.num;
        *access = full ? OSC_CACHED_CONFLICTING : OSC_CACHED_CAPACITY;
        return first;
    }
    *access = OSC_CACHED_DECLINED;
    remember(key, count, (uint32_t) m.c.gets);
    return NONE;
}

static void follow(void)
{
    uint32_t now = (uint32_t) m.c.gets, before = m.shift;

    while (1u << m.shift < 3 * m.entries) {
        ++m.shift;
    }
    while (12 * m.entries < 1u << m.shift && 6 < m.shift) {
        --m.shift;
    }
    for (uint32_t i = 0; i < osc_cached_index_num_slots(&m.c.index) && before != m.shift; ++i) {
        uint64_t age = (uint16_t) ((now >> (before - 3)) - m.ghosts[i].time);

        age = (before < m.shift) ? age >> (m.shift - before) : age << (before - m.shift);
        m.ghosts[i].time = (uint16_t) ((now >> (m.shift - 3)) - age);
        m.ghosts[i].count = (age < 65536) ? m.ghosts[i].count : 0;
    }
}

static osc_cached_access_t model_insert(uint64_t key, uint32_t bytes)
{
    osc_cached_access_t access = OSC_CACHED_DIRECT;
    uint32_t now = (uint32_t) m.c.gets, count = GET, gap;
    const osc_cached_ghost_t *ghost;
    int i;

    follow();
    gap = (1u << m.shift) / 4;
    if (m.c.max_bytes < bytes) {
        return OSC_CACHED_FAILING;
    }
    i = find(key);
    if (NONE != i) {
        size_t room = 16 * (size_t) (m.regions[i].units - redzone());

        if (0 < m.regions[i].pins) {
            return OSC_CACHED_FAILING;
        }
        used_again(&m.regions[i], now);
        count = m.regions[i].count;
        gap = m.regions[i].gap;
        if (room < bytes || 2 * bytes + 16 < room) {
            release(i);
            i = NONE;
        }
    } else {
        ghost = ghost_of(key);
        if (0 < ghost->count && (uint32_t) hash_of(key) == ghost->tag) {
            uint32_t age = (uint16_t) ((now >> (m.shift - 3)) - ghost->time);

            age <<= m.shift - 3;
            count = (uint32_t) decay(m.shift, ghost->count, age) + GET;
            count = (count < MOST) ? count : MOST;
            gap = (0 < age) ? age : 1u << (m.shift - 3);
        }
    }
    if (osc_cached_storage_capacity(&m.c.storage) < bytes) {
        return OSC_CACHED_FAILING;
    }
    if (NONE == i) {
        i = duel(key, bytes, count, &access);
        if (NONE == i) {
            return access;
        }
    }
    m.regions[i].bytes = bytes;
    m.regions[i].count = count;
    m.regions[i].gap = gap;
    m.regions[i].last = now;
    m.regions[i].pins = 1;
    m.regions[i].pending = true;
    m.regions[i].generation = m.generation;
    m.regions[i].target_generation = m.target_generation;
    m.records[m.num_records++] = (record_t){key, true, bytes};
    return access;
}

/* Both sides */

static void compare(void)
{
    const osc_cached_storage_t *storage = &m.c.storage;
    uint32_t number = storage->head, offset = 0;

    assert_int_equal(0, osc_cached_cache_verify(&m.c, &m.target, 1));
    assert_int_equal(m.entries, m.c.index.count);
    assert_int_equal(m.shift, m.c.duel.shift);
    for (int i = 0; i < m.num; ++i) {
        const osc_cached_entry_t *entry = &storage->entries[number];
        const region_t *region = &m.regions[i];

        assert_int_not_equal(OSC_CACHED_STORAGE_NONE, number);
        assert_int_equal(offset, entry->offset);
        assert_int_equal(region->units, osc_cached_storage_units(storage, number));
        assert_int_equal(region->hole, OSC_CACHED_ENTRY_HOLE == entry->state);
        assert_int_equal(i == m.hand, number == storage->hand);
        if (!region->hole) {
            assert_int_equal(region->key, entry->address);
            assert_int_equal(region->pending, OSC_CACHED_ENTRY_PENDING == entry->state);
            assert_int_equal(region->pending ? 0 : region->bytes, entry->bytes);
            assert_int_equal(region->count, entry->count);
            assert_int_equal(region->gap, entry->gap);
            assert_int_equal(region->last, entry->last);
            assert_int_equal(region->pins, entry->pins);
        }
        offset += region->units;
        number = entry->after;
    }
    assert_int_equal(OSC_CACHED_STORAGE_NONE, number);
    assert_memory_equal(m.ghosts, m.c.duel.ghosts, m.c.duel.num_ghosts * sizeof(m.ghosts[0]));
}

static osc_cached_access_t insert(uint64_t key, uint32_t bytes)
{
    osc_cached_key_t full = {key, 0, 0};
    osc_cached_buffer_t buffer = {.address = space};

    return osc_cached_cache_insert(&m.c, &m.target, full, hash_of(key), &buffer, bytes,
                                   osc_cached_cache_stamp(&m.c, &m.target), ++m.sequence, NULL);
}

static void get(uint64_t key, uint32_t bytes, bool extends)
{
    osc_cached_key_t full = {key, 0, 0};
    osc_cached_buffer_t buffer = {.address = space};
    osc_cached_access_t access, expected = OSC_CACHED_MISSING;
    size_t have = 0;
    int i = find(key);

    access = osc_cached_cache_get(&m.c, &m.target, full, hash_of(key), &buffer, bytes, ++m.sequence,
                                  &have);
    if (NONE != i && is_valid(&m.regions[i])) {
        region_t *region = &m.regions[i];

        used_again(region, (uint32_t) m.c.gets);
        expected = (bytes <= region->bytes) ? region->pending ? OSC_CACHED_JOIN : OSC_CACHED_HIT
                   : region->pending        ? OSC_CACHED_FAILING
                                            : OSC_CACHED_PARTIAL;
        if (OSC_CACHED_JOIN == expected) {
            ++region->pins;
            m.records[m.num_records++] = (record_t){key, false, 0};
        }
    }
    assert_int_equal(expected, access);
    if (OSC_CACHED_MISSING == access) {
        expected = model_insert(key, bytes);
        assert_int_equal(expected, insert(key, bytes));
    } else if (OSC_CACHED_PARTIAL == access && extends) {
        bool can = 0 == m.regions[i].pins && bytes <= m.c.max_bytes;
        uint32_t more = units_for(bytes) - m.regions[i].units;

        assert_int_equal(m.regions[i].bytes, have);
        if (can && m.regions[i].units < units_for(bytes)) {
            if (i + 1 < m.num && m.regions[i + 1].hole && more <= m.regions[i + 1].units) {
                if (more == m.regions[i + 1].units) {
                    drop(i + 1, i);
                } else {
                    open_hole(i + 1, m.regions[i + 1].units - more);
                }
                m.regions[i].units += more;
            } else {
                int hole = find_hole(units_for(bytes));

                can = NONE != hole;
                if (can) {
                    region_t from = m.regions[i];
                    uint32_t units;

                    m.regions[i].key = UINT64_MAX; /* found anew below */
                    use(hole, key, bytes);
                    units = m.regions[find(key)].units;
                    from.units = units;
                    m.regions[find(key)] = from;
                    release(find(UINT64_MAX));
                    i = find(key);
                }
            }
        }
        buffer.address = space;
        assert_int_equal(
            can, osc_cached_cache_extend(&m.c, &m.target, full, hash_of(key), have, bytes, &buffer,
                                         osc_cached_cache_stamp(&m.c, &m.target), ++m.sequence));
        if (can) {
            m.regions[i].pins = 1;
            m.records[m.num_records++] = (record_t){key, true, bytes};
        }
    }
}

static void complete(void)
{
    osc_cached_cache_complete(&m.c, &m.target, m.sequence);
    for (int n = 0; n < m.num_records; ++n) {
        int i = find(m.records[n].key);

        if (m.records[n].fills) {
            m.regions[i].pending = false;
            m.regions[i].bytes = m.records[n].bytes;
        }
        if (0 == --m.regions[i].pins && !is_valid(&m.regions[i])) {
            release(i);
        }
    }
    m.num_records = 0;
}

/* One leaves, without a newcomer: that of the next 16 regions which is worth least, or the first
 * behind these. */
static void model_evict(void)
{
    uint64_t least = UINT64_MAX;
    int best = NONE;

    for (int n = 0; n < m.num && (n < 16 || NONE == best); ++n) {
        const region_t *region = &m.regions[m.hand];

        if (!region->hole && 0 == region->pins && value(region) < least) {
            least = value(region);
            best = m.hand;
        }
        m.hand = (m.hand + 1) % m.num;
    }
    assert_int_not_equal(NONE, best);
    remember(m.regions[best].key, m.regions[best].count, m.regions[best].last);
    release(best);
}

static void model_move_together(uint32_t units)
{
    bool lost = m.regions[m.hand].hole;

    for (int i = 0; i < m.num;) {
        if (m.regions[i].hole) {
            drop(i, 0);
        } else {
            units -= m.regions[i++].units;
        }
    }
    if (0 < units) {
        open_hole(m.num++, units);
    }
    m.hand = lost ? 0 : m.hand;
}

static uint32_t used_units(void)
{
    uint32_t units = 0;

    for (int i = 0; i < m.num; ++i) {
        units += m.regions[i].hole ? 0 : m.regions[i].units;
    }
    return units;
}

static void resize_storage(uint64_t bytes)
{
    complete();
    if (bytes / 16 == m.c.storage.capacity) {
        return;
    }
    while (bytes / 16 < used_units()) {
        model_evict();
    }
    model_move_together((uint32_t) (bytes / 16));
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_resize_storage(&m.c, bytes));
}

static void resize_index(uint32_t slots)
{
    complete();
    if (slots == osc_cached_index_num_slots(&m.c.index)) {
        return;
    }
    while (slots * 7 / 8 < m.entries) {
        model_evict();
    }
    if (slots < osc_cached_index_num_slots(&m.c.index) && slots * 9 / 8 + 2 < (uint32_t) m.num) {
        model_move_together(m.c.storage.capacity);
    }
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_resize_index(&m.c, slots));
    m.ghosts = realloc(m.ghosts, slots * sizeof(m.ghosts[0]));
    memset(m.ghosts, 0, slots * sizeof(m.ghosts[0]));
}

static void begin(uint32_t slots, uint64_t memory, uint64_t seed)
{
    osc_cached_config_t config = {.entries = slots,
                                  .memory = memory,
                                  .max_entry = BYTES_MAX,
                                  .sample = 1,
                                  .scheme = OSC_CACHED_SCHEME_DUEL,
                                  .seed = seed,
                                  .adapt = osc_cached_adapt_defaults};

    memset(&m, 0, sizeof(m));
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_create(&m.c, &config, NULL));
    assert_int_equal(OSC_CACHED_OK, osc_cached_cache_open(&m.c));
    m.shift = 6;
    m.ghosts = calloc(slots, sizeof(m.ghosts[0]));
    m.num = 1;
    open_hole(0, (uint32_t) (memory / 16));
    compare();
}

static void end(void)
{
    compare();
    osc_cached_cache_destroy(&m.c);
    free(m.ghosts);
}

static void test_model(void **state)
{
    static const struct {
        uint32_t slots, keys, max_bytes;
        uint64_t memory;
        uint32_t steps;
    } plans[] = {
        {1024, 300, 300, 16384, 60000}, /* a small storage */
        {16, 100, 64, 65536, 60000},    /* a small index: 14 entries */
        {1024, 1500, 2000, 65536, 40000}, {16, 40, 300, 2048, 60000}, /* both */
        {4096, 500, 100, 262144, 20000},                              /* room for all */
    };
    uint64_t seed = seed_get(20261116), shares = 0;

    (void) state;
    for (size_t plan = 0; plan < sizeof(plans) / sizeof(plans[0]); ++plan) {
        shares += plans[plan].steps;
    }
    printf("seed: OSC_CACHED_SEED=%llu\n", (unsigned long long) seed);
    for (size_t plan = 0; plan < sizeof(plans) / sizeof(plans[0]); ++plan) {
        uint32_t steps = operations_of(plans[plan].steps, shares);
        uint64_t declined, kept;

        begin(plans[plan].slots, plans[plan].memory, seed + plan);
        declined = kept = 0;
        for (uint32_t step = 0; step < steps; ++step) {
            uint32_t what = random_below(&seed, 1000), key = random_below(&seed, plans[plan].keys);
            uint32_t bytes = 1 + random_below(&seed, plans[plan].max_bytes);
            uint64_t before = m.c.interval.access[OSC_CACHED_DECLINED];

            key = (0 == what % 2) ? key % (1 + plans[plan].keys / 8) : key;
            bytes = (0 < what % 8) ? 1 + key * 37 % plans[plan].max_bytes : bytes;
            if (what < 900 && m.num_records < RECORDS_MAX - 2) {
                get(key, bytes, 0 == what % 3);
                declined += before < m.c.interval.access[OSC_CACHED_DECLINED];
                kept += 0 < m.num_records;
            } else if (what < 990) {
                complete();
            } else if (what < 994) {
                osc_cached_cache_invalidate_target(&m.target);
                ++m.target_generation;
            } else if (what < 996) {
                osc_cached_cache_invalidate(&m.c);
                m.c.sweep_left = 0;
                m.c.all_dead = false; /* dead entries stay, to be found by duels */
                ++m.generation;
            } else if (what < 997) {
                resize_storage(plans[plan].memory / 8 * (4 + random_below(&seed, 10)));
            } else if (what < 998) {
                /* an index of few lines, but more than two, may have no place below its limit */
                resize_index(16 == plans[plan].slots ? 16 : 512 << random_below(&seed, 4));
            } else if (what < 999) {
                osc_cached_cache_set_scheme(&m.c, OSC_CACHED_SCHEME_FULL);
                osc_cached_cache_set_scheme(&m.c, OSC_CACHED_SCHEME_DUEL);
                /* in the order of addresses, the last one last */
                for (int i = 0; i < m.num; ++i) {
                    m.regions[i].added = ++m.clock;
                }
            }
            if (0 == step % (step < plans[plan].steps ? 16 : 1024)) {
                compare();
            }
        }
        printf("  plan %zu: %u operations, %llu declined, %llu kept\n", plan, steps,
               (unsigned long long) declined, (unsigned long long) kept);
        assert_int_equal(4 == plan, declined < steps / 100);
        end();
    }
}

/* What a newcomer does to what is there. */
static void test_duels(void **state)
{
    (void) state;
    begin(1024, 1024 * (64 + 16 * (uint64_t) 0), 1);
    end();
    /* entries that are used again and again do not leave for those that are asked for once */
    begin(1024, 64 * 80, 1);
    for (uint64_t round = 0; round < 20; ++round) {
        for (uint64_t key = 0; key < 60; ++key) {
            get(key, 64, false);
            complete();
        }
    }
    for (uint64_t key = 1000; key < 1200; ++key) {
        get(key, 64, false);
        complete();
    }
    for (uint64_t key = 0; key < 60; ++key) {
        assert_int_not_equal(NONE, find(key));
    }
    /* asked for as often, others take their places: what is idle is worth nothing */
    for (uint64_t round = 0; round < 200; ++round) {
        for (uint64_t key = 2000; key < 2060; ++key) {
            get(key, 64, false);
            complete();
        }
    }
    for (uint64_t key = 2000; key < 2060; ++key) {
        assert_int_not_equal(NONE, find(key));
    }
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decay),
        cmocka_unit_test(test_ghosts),
        cmocka_unit_test(test_duels),
        cmocka_unit_test(test_model),
    };

    return cmocka_run_group_tests_name("osc_cached_duel", tests, NULL, NULL);
}
