/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/*
 * osc_cached_holes: both ways to find a hole, against a search of all of them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_holes.h"
#include "osc_cached_test_random.h"

#include <stdbool.h>
#include <string.h>

enum { NODES = 300 };

/* As the owner has them: nodes are parts of something larger. */
typedef struct {
    char other[12];
    osc_cached_avl_node_t node;
} owner_t;

typedef struct {
    osc_cached_holes_t holes;
    owner_t owners[NODES];
    bool in[NODES];
    uint64_t added[NODES]; /* when */
    uint64_t clock;
} fixture_t;

static void begin(fixture_t *f, osc_cached_holes_kind_t kind)
{
    memset(f, 0, sizeof(*f));
    osc_cached_holes_rebase(&f->holes, &f->owners[0].node, sizeof(owner_t), NODES);
    osc_cached_holes_clear(&f->holes, kind);
    assert_int_equal(0, osc_cached_holes_verify(&f->holes));
}

static void add(fixture_t *f, uint32_t i, uint32_t size)
{
    f->owners[i].node.size = size;
    f->owners[i].node.address = i << 22; /* larger than all sizes */
    f->in[i] = true;
    f->added[i] = ++f->clock;
    osc_cached_holes_add(&f->holes, i);
}

static void take(fixture_t *f, uint32_t i)
{
    f->in[i] = false;
    osc_cached_holes_remove(&f->holes, i);
}

static uint32_t bin_begin(uint32_t size);

static void cut(fixture_t *f, uint32_t i, uint32_t units)
{
    uint32_t size = f->owners[i].node.size, address = f->owners[i].node.address;

    /* who stays in the bin keeps the place there */
    f->added[i] = (bin_begin(size) == bin_begin(size - units)) ? f->added[i] : ++f->clock;
    osc_cached_holes_cut(&f->holes, i, units);
    assert_int_equal(size - units, f->owners[i].node.size);
    assert_int_equal(address + units, f->owners[i].node.address);
}

/* The smallest size of the bin that a size belongs to, by the table of the header. */
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

static uint32_t expected_in_bins(const fixture_t *f, uint32_t size)
{
    uint32_t best = OSC_CACHED_HOLES_NONE, bin = UINT32_MAX;
    uint64_t before = UINT64_MAX;

    for (uint32_t i = 0; i < NODES; ++i) {
        uint32_t own = f->in[i] ? bin_begin(f->owners[i].node.size) : 0;

        /* the last of the first bin of which all are large enough */
        if (size <= own && (own < bin || (own == bin && f->added[best] < f->added[i]))) {
            bin = own;
            best = i;
        }
    }
    for (int n = 0; n < OSC_CACHED_HOLES_SCAN && OSC_CACHED_HOLES_NONE == best; ++n) {
        uint32_t next = OSC_CACHED_HOLES_NONE;

        for (uint32_t i = 0; i < NODES; ++i) {
            if (f->in[i] && bin_begin(f->owners[i].node.size) == bin_begin(size)
                && f->added[i] < before
                && (OSC_CACHED_HOLES_NONE == next || f->added[next] < f->added[i])) {
                next = i;
            }
        }
        if (OSC_CACHED_HOLES_NONE == next) {
            break;
        }
        before = f->added[next];
        best = (size <= f->owners[next].node.size) ? next : best;
    }
    return best;
}

static uint32_t expected_best_fit(const fixture_t *f, uint32_t size)
{
    uint32_t best = OSC_CACHED_HOLES_NONE;

    for (uint32_t i = 0; i < NODES; ++i) {
        if (f->in[i] && size <= f->owners[i].node.size
            && (OSC_CACHED_HOLES_NONE == best
                || f->owners[i].node.size < f->owners[best].node.size)) {
            best = i;
        }
    }
    return best;
}

static void test_model(void **state)
{
    uint64_t seed = seed_get(7);
    static fixture_t f;
    uint32_t found = 0, none = 0;

    (void) state;
    for (int run = 0; run < 40; ++run) {
        bool bins = 0 == run % 2;
        uint32_t log = 1 + (uint32_t) run / 2;

        begin(&f, bins ? OSC_CACHED_HOLES_IN_BINS : OSC_CACHED_HOLES_BEST_FIT);
        for (int step = 0; step < 4000; ++step) {
            uint32_t i = random_below(&seed, NODES);
            uint32_t size = 1 + random_below(&seed, UINT32_C(1) << random_below(&seed, log + 1));
            uint32_t want = bins ? expected_in_bins(&f, size) : expected_best_fit(&f, size);

            assert_int_equal(want, osc_cached_holes_find(&f.holes, size));
            ++*(OSC_CACHED_HOLES_NONE == want ? &none : &found);
            if (f.in[i] && 1 < f.owners[i].node.size && 0 == random_below(&seed, 2)) {
                cut(&f, i, 1 + random_below(&seed, f.owners[i].node.size - 1));
            } else if (f.in[i]) {
                take(&f, i);
            } else if (0 == random_below(&seed, 3)) {
                add(&f, i, size);
            }
            if (0 == step % 64) {
                assert_int_equal(0, osc_cached_holes_verify(&f.holes));
            }
        }
        osc_cached_holes_clear(&f.holes, f.holes.kind);
        assert_int_equal(OSC_CACHED_HOLES_NONE, osc_cached_holes_find(&f.holes, 1));
    }
    assert_true(1000 < found && 1000 < none);
}

static void test_bins(void **state)
{
    static const uint32_t sizes[] = {1,  2,  3,  4,  5,  6,     7,     8,      9,
                                     10, 15, 16, 19, 20, 65535, 65536, 114687, 114688};
    static fixture_t f;

    (void) state;
    begin(&f, OSC_CACHED_HOLES_IN_BINS);
    for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
        add(&f, 5, sizes[i]);
        assert_int_equal(5, osc_cached_holes_find(&f.holes, sizes[i])); /* itself, always */
        assert_int_equal(5, osc_cached_holes_find(&f.holes, 1));
        assert_int_equal(OSC_CACHED_HOLES_NONE, osc_cached_holes_find(&f.holes, sizes[i] + 1));
        take(&f, 5);
    }
    add(&f, 1, UINT32_MAX);
    assert_int_equal(1, osc_cached_holes_find(&f.holes, UINT32_MAX));
    /* a large bin is searched for a few steps, and no further */
    for (uint32_t i = 2; i < 10; ++i) {
        add(&f, i, 200000);
        assert_int_equal(i < 9 ? 1 : OSC_CACHED_HOLES_NONE,
                         osc_cached_holes_find(&f.holes, 200001));
    }
    assert_int_equal(0, osc_cached_holes_verify(&f.holes));
}

static void test_verify_sees_damage(void **state)
{
    static fixture_t f;

    (void) state;
#define BROKEN(number, damage, repair)                               \
    do {                                                             \
        damage;                                                      \
        assert_int_equal(number, osc_cached_holes_verify(&f.holes)); \
        repair;                                                      \
        assert_int_equal(0, osc_cached_holes_verify(&f.holes));      \
    } while (0)
    begin(&f, OSC_CACHED_HOLES_IN_BINS);
    add(&f, 0, 8);
    add(&f, 1, 9);
    add(&f, 2, 10);
    BROKEN(2, ++f.holes.count, --f.holes.count);
    BROKEN(2, --f.holes.count, ++f.holes.count);
    BROKEN(2, f.owners[0].node.child[0] = 2, f.owners[0].node.child[0] = 1);
    BROKEN(3, f.owners[0].node.size = 10, f.owners[0].node.size = 8);
    BROKEN(4, f.holes.map ^= 2, f.holes.map ^= 2);
    BROKEN(4, f.holes.map ^= 1 << 8, f.holes.map ^= 1 << 8);
    begin(&f, OSC_CACHED_HOLES_BEST_FIT);
    add(&f, 0, 8);
    add(&f, 1, 9);
    BROKEN(1, ++f.holes.count, --f.holes.count);
    BROKEN(1, f.owners[0].node.size = 10, f.owners[0].node.size = 8);
#undef BROKEN
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bins),
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_verify_sees_damage),
    };

    return cmocka_run_group_tests_name("osc_cached_holes", tests, NULL, NULL);
}
