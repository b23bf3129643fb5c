/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Arena of nodes: see the header for layout and invariants.
 */
#define _DEFAULT_SOURCE 1 /* MAP_ANONYMOUS */

#include "llamatch_pool.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

/* A node that was given back is poisoned, so that the address sanitizer sees a late use of it. */
#if defined(__SANITIZE_ADDRESS__)
#define POOL_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POOL_ASAN 1
#endif
#endif
#if defined(POOL_ASAN)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) ((void) (address), (void) (bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) ((void) (address), (void) (bytes))
#endif

#define HEADER_BYTES 256
#define WORD_BITS 64
#define WORDS (LLAMATCH_POOL_BLOCK / LLAMATCH_LINE / WORD_BITS)

typedef struct llamatch_pool_block {
    _Atomic(llamatch_pool_class_t *) class;     /* of an empty block: the last one it had */
    _Atomic(struct llamatch_pool_block *) next; /* of all blocks, oldest first */
    struct llamatch_pool_block *prev;
    struct llamatch_pool_block *list_next; /* of a bin, or of the empty ones */
    struct llamatch_pool_block *list_prev;
    uint32_t used;                  /* nodes */
    _Atomic uint64_t in_use[WORDS]; /* written under the mutex, read by the heater */
} llamatch_pool_block_t;

_Static_assert(sizeof(llamatch_pool_block_t) <= HEADER_BYTES, "the header has outgrown its place");
_Static_assert(0 == HEADER_BYTES % LLAMATCH_LINE, "nodes must be line-aligned");

enum { COMMON = 0, LARGE = 1 }; /* blocks of LLAMATCH_POOL_BLOCK, and of one node */

struct llamatch_pool {
    _Atomic(llamatch_pool_block_t *) first; /* of all blocks */
    llamatch_pool_block_t *last;
    pthread_mutex_t mutex;
    const bool *threads; /* NULL, or whether there are several */
    llamatch_allocator_t allocator;
    atomic_size_t bytes;      /* of all blocks; written under the mutex */
    atomic_size_t used_bytes; /* of all nodes in use; written under the mutex */
    llamatch_pool_block_t *empty[2];
    size_t empty_bytes;                 /* of these blocks */
    size_t keep;                        /* bytes that may stay mapped */
    size_t returned;                    /* bytes that have come back in this round */
    size_t peaks[LLAMATCH_POOL_ROUNDS]; /* bytes of blocks in use, this round first */
    size_t pins;
    uint32_t num_classes;
    llamatch_pool_class_t classes[LLAMATCH_POOL_CLASSES];
};

static size_t load(const atomic_size_t *counter)
{
    return atomic_load_explicit((atomic_size_t *) counter, memory_order_relaxed);
}

/* Under the mutex there is one writer, so no read-modify-write is needed. */
static void add(atomic_size_t *counter, size_t value)
{
    atomic_store_explicit(counter, load(counter) + value, memory_order_relaxed);
}

/* Returns whether there is something to unlock. */
static bool lock(const llamatch_pool_t *pool)
{
    bool wanted = NULL == pool->threads || *pool->threads;

    if (wanted) {
        (void) pthread_mutex_lock((pthread_mutex_t *) &pool->mutex);
    }
    return wanted;
}

static void unlock(const llamatch_pool_t *pool, bool locked)
{
    if (locked) {
        (void) pthread_mutex_unlock((pthread_mutex_t *) &pool->mutex);
    }
}

/* --- pages ---------------------------------------------------------------------------------- */

static char *map(uintptr_t where, size_t bytes)
{
    void *pages =
        mmap((void *) where, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return (MAP_FAILED == pages) ? NULL : pages;
}

/* Pages at this place if nothing else is there, or where they are aligned as well; NULL: not so. */
static char *map_near(uintptr_t where, size_t bytes, size_t alignment)
{
    char *raw = map(where, bytes);

    if (NULL != raw && 0 != (uintptr_t) raw % alignment) {
        (void) munmap(raw, bytes);
        raw = NULL;
    }
    return raw;
}

/* Below what was mapped last, as most systems go, or above it, as others do: some blocks are one
 * mapping then. */
static void *pages_alloc(void *context, size_t alignment, size_t bytes)
{
    static atomic_uintptr_t lowest, highest; /* of the last blocks that lie together */
    uintptr_t below = atomic_load_explicit(&lowest, memory_order_relaxed);
    uintptr_t above = atomic_load_explicit(&highest, memory_order_relaxed);
    char *raw = map_near((below > bytes) ? below - bytes : 0, bytes, alignment);

    (void) context;
    if (NULL == raw) {
        raw = map_near(above, bytes, alignment);
    }
    if (NULL == raw) { /* elsewhere */
        raw = map(0, bytes + alignment);
        if (NULL != raw) {
            size_t head = llamatch_round_up((uintptr_t) raw, alignment) - (uintptr_t) raw;

            (void) munmap(raw + head + bytes, alignment - head);
            if (0 < head) {
                (void) munmap(raw, head);
                raw += head;
            }
        }
    }
    if ((uintptr_t) raw + bytes != below) {
        atomic_store_explicit(&highest, (uintptr_t) raw + bytes, memory_order_relaxed);
    }
    if ((uintptr_t) raw != above) {
        atomic_store_explicit(&lowest, (uintptr_t) raw, memory_order_relaxed);
    }
    return raw;
}

static void pages_free(void *context, void *memory, size_t bytes)
{
    (void) context;
    (void) munmap(memory, bytes);
}

static const llamatch_allocator_t pages = {pages_alloc, pages_free, NULL};

/* --- blocks --------------------------------------------------------------------------------- */

static llamatch_pool_block_t *block_of(const void *node)
{
    return (llamatch_pool_block_t *) ((uintptr_t) node & ~(uintptr_t) (LLAMATCH_POOL_BLOCK - 1));
}

static char *node_at(const llamatch_pool_block_t *block, const llamatch_pool_class_t *c, size_t i)
{
    return (char *) block + HEADER_BYTES + i * c->node_bytes;
}

static uint64_t word_of(const llamatch_pool_block_t *block, size_t w)
{
    return atomic_load_explicit((_Atomic uint64_t *) &block->in_use[w], memory_order_relaxed);
}

static llamatch_pool_block_t *first_of(const llamatch_pool_t *pool, memory_order order)
{
    return atomic_load_explicit((_Atomic(llamatch_pool_block_t *) *) &pool->first, order);
}

static llamatch_pool_block_t *next_of(const llamatch_pool_block_t *block, memory_order order)
{
    return atomic_load_explicit((_Atomic(llamatch_pool_block_t *) *) &block->next, order);
}

static uint32_t num_words(const llamatch_pool_class_t *c)
{
    return (c->capacity + WORD_BITS - 1) / WORD_BITS;
}

/* The bits of word w that are nodes. */
static uint64_t valid_bits(const llamatch_pool_class_t *c, uint32_t w)
{
    return llamatch_low_bits(c->capacity - w * WORD_BITS);
}

static llamatch_pool_class_t *class_of(const llamatch_pool_block_t *block)
{
    return atomic_load_explicit((_Atomic(llamatch_pool_class_t *) *) &block->class,
                                memory_order_relaxed);
}

static bool is_large(const llamatch_pool_class_t *c)
{
    return LLAMATCH_POOL_BLOCK != c->block_bytes;
}

/* The list for a block with this many nodes in use; NULL for a full one. */
static llamatch_pool_block_t **list_for(llamatch_pool_class_t *c, uint32_t used)
{
    if (0 == used) {
        return &c->pool->empty[is_large(c) ? LARGE : COMMON];
    }
    return (used == c->capacity) ? NULL : &c->bins[used * c->per_bin >> 20];
}

static void list_insert(llamatch_pool_block_t **list, llamatch_pool_block_t *block)
{
    block->list_prev = NULL;
    block->list_next = *list;
    if (NULL != *list) {
        (*list)->list_prev = block;
    }
    *list = block;
}

static void list_remove(llamatch_pool_block_t **list, llamatch_pool_block_t *block)
{
    if (NULL != block->list_next) {
        block->list_next->list_prev = block->list_prev;
    }
    if (NULL != block->list_prev) {
        block->list_prev->list_next = block->list_next;
    } else {
        *list = block->list_next;
    }
}

/* This many nodes of a block are in use now: move it to the list that this means. */
static void block_use(llamatch_pool_class_t *c, llamatch_pool_block_t *block, uint32_t used)
{
    llamatch_pool_block_t **from = list_for(c, block->used), **to = list_for(c, used);

    block->used = used;
    if (from != to) {
        if (NULL != from) {
            list_remove(from, block);
        }
        if (NULL != to) {
            list_insert(to, block);
        }
    }
}

static llamatch_pool_block_t *block_map(llamatch_pool_class_t *c)
{
    llamatch_pool_t *pool = c->pool;
    llamatch_pool_block_t *block =
        pool->allocator.alloc(pool->allocator.context, LLAMATCH_POOL_BLOCK, c->block_bytes);

    if (NULL == block) {
        return NULL;
    }
    atomic_init(&block->class, c);
    atomic_init(&block->next, NULL);
    block->prev = pool->last;
    block->used = 0;
    for (size_t w = 0; w < WORDS; ++w) {
        atomic_init(&block->in_use[w], 0);
    }
    ASAN_POISON_MEMORY_REGION(node_at(block, c, 0), c->block_bytes - HEADER_BYTES);
    list_insert(list_for(c, 0), block);
    pool->empty_bytes += c->block_bytes;
    add(&pool->bytes, c->block_bytes);
    /* Published last: the heater may read it from here on. */
    atomic_store_explicit((NULL == pool->last) ? &pool->first : &pool->last->next, block,
                          memory_order_release);
    pool->last = block;
    return block;
}

/* Give an empty block back. */
static void block_unmap(llamatch_pool_t *pool, llamatch_pool_block_t *block)
{
    llamatch_pool_class_t *c = class_of(block);
    llamatch_pool_block_t *next = next_of(block, memory_order_relaxed);

    atomic_store_explicit((NULL == block->prev) ? &pool->first : &block->prev->next, next,
                          memory_order_relaxed);
    if (NULL == next) {
        pool->last = block->prev;
    } else {
        next->prev = block->prev;
    }
    list_remove(list_for(c, 0), block);
    pool->empty_bytes -= c->block_bytes;
    add(&pool->bytes, -c->block_bytes);
    ASAN_UNPOISON_MEMORY_REGION(block, c->block_bytes);
    pool->allocator.free(pool->allocator.context, block, c->block_bytes);
}

/* --- how much stays mapped ------------------------------------------------------------------ */

static size_t busy_bytes(const llamatch_pool_t *pool)
{
    return load(&pool->bytes) - pool->empty_bytes;
}

/* What the peaks say: the second highest. */
static size_t wanted(const llamatch_pool_t *pool)
{
    size_t highest = 0, second = LLAMATCH_POOL_FLOOR;

    for (int i = 0; i < LLAMATCH_POOL_ROUNDS; ++i) {
        size_t lower = (pool->peaks[i] < highest) ? pool->peaks[i] : highest;

        highest = (pool->peaks[i] > highest) ? pool->peaks[i] : highest;
        second = (lower > second) ? lower : second;
    }
    return second;
}

/* The first node of an empty block is taken. */
static void block_opened(llamatch_pool_t *pool, const llamatch_pool_class_t *c)
{
    pool->empty_bytes -= c->block_bytes;
    if (busy_bytes(pool) > pool->peaks[0]) {
        pool->peaks[0] = busy_bytes(pool);
        pool->keep = wanted(pool);
    }
}

static void end_round(llamatch_pool_t *pool)
{
    memmove(pool->peaks + 1, pool->peaks, sizeof(pool->peaks) - sizeof(pool->peaks[0]));
    pool->peaks[0] = load(&pool->used_bytes);
    pool->returned = 0;
    pool->keep = wanted(pool);
}

/* Give an empty block back if more is mapped than shall be kept. Returns whether it did. */
static bool trim(llamatch_pool_t *pool)
{
    llamatch_pool_block_t *block =
        (NULL != pool->empty[LARGE]) ? pool->empty[LARGE] : pool->empty[COMMON];

    if (load(&pool->bytes) <= pool->keep || NULL == block || 0 < pool->pins) {
        return false;
    }
    block_unmap(pool, block);
    return true;
}

/* --- the arena ------------------------------------------------------------------------------ */

int llamatch_pool_create(const llamatch_allocator_t *allocator, llamatch_pool_t **pool_out)
{
    llamatch_allocator_t from = (NULL != allocator) ? *allocator : pages;
    llamatch_pool_t *pool = from.alloc(from.context, LLAMATCH_LINE, sizeof(*pool));

    if (NULL == pool) {
        return LLAMATCH_ERR_NO_MEMORY;
    }
    memset(pool, 0, sizeof(*pool));
    if (0 != pthread_mutex_init(&pool->mutex, NULL)) {
        from.free(from.context, pool, sizeof(*pool));
        return LLAMATCH_ERR_NO_MEMORY;
    }
    pool->allocator = from;
    pool->keep = wanted(pool);
    *pool_out = pool;
    return LLAMATCH_OK;
}

llamatch_allocator_t llamatch_pool_allocator(const llamatch_pool_t *pool)
{
    return pool->allocator;
}

void llamatch_pool_set_threads(llamatch_pool_t *pool, const bool *threads)
{
    pool->threads = threads;
}

void llamatch_pool_destroy(llamatch_pool_t *pool)
{
    llamatch_pool_block_t *block, *next;
    llamatch_allocator_t allocator;

    if (NULL == pool) {
        return;
    }
    allocator = pool->allocator;
    for (block = first_of(pool, memory_order_relaxed); NULL != block; block = next) {
        size_t bytes = class_of(block)->block_bytes;

        next = next_of(block, memory_order_relaxed);
        ASAN_UNPOISON_MEMORY_REGION(block, bytes);
        allocator.free(allocator.context, block, bytes);
    }
    (void) pthread_mutex_destroy(&pool->mutex);
    allocator.free(allocator.context, pool, sizeof(*pool));
}

static void class_init(llamatch_pool_class_t *c, llamatch_pool_t *pool, size_t node_bytes,
                       size_t key_bytes)
{
    c->pool = pool;
    c->node_bytes = node_bytes;
    c->key_bytes = key_bytes;
    c->capacity = (uint32_t) ((LLAMATCH_POOL_BLOCK - HEADER_BYTES) / node_bytes);
    c->block_bytes = LLAMATCH_POOL_BLOCK;
    if (c->capacity <= 1) {
        c->capacity = 1;
        c->block_bytes = llamatch_round_up(HEADER_BYTES + node_bytes, LLAMATCH_POOL_BLOCK);
    }
    c->reciprocal = (uint32_t) (((size_t) 1 << 16) * LLAMATCH_LINE / node_bytes + 1);
    c->per_bin = (LLAMATCH_POOL_BINS << 20) / c->capacity + 1;
}

llamatch_pool_class_t *llamatch_pool_class(llamatch_pool_t *pool, size_t node_bytes,
                                           size_t key_bytes)
{
    llamatch_pool_class_t *found = NULL;
    bool locked;

    if (0 == node_bytes || node_bytes > SIZE_MAX / 2 || key_bytes > node_bytes) {
        return NULL;
    }
    node_bytes = llamatch_round_up(node_bytes, LLAMATCH_LINE);
    locked = lock(pool);
    for (uint32_t i = 0; i < pool->num_classes && NULL == found; ++i) {
        llamatch_pool_class_t *c = &pool->classes[i];

        if (c->node_bytes == node_bytes && c->key_bytes == key_bytes) {
            found = c;
        }
    }
    if (NULL == found && pool->num_classes < LLAMATCH_POOL_CLASSES) {
        found = &pool->classes[pool->num_classes++];
        class_init(found, pool, node_bytes, key_bytes);
    }
    unlock(pool, locked);
    return found;
}

/* Mark the lowest free node of a block with room as used. */
static uint32_t block_take(llamatch_pool_block_t *block)
{
    uint32_t w = 0, bit;
    uint64_t word = word_of(block, w);

    while (UINT64_MAX == word) {
        word = word_of(block, ++w);
    }
    bit = (uint32_t) __builtin_ctzll(~word);
    atomic_store_explicit(&block->in_use[w], word | UINT64_C(1) << bit, memory_order_relaxed);
    return w * WORD_BITS + bit;
}

/* Which node of its block? */
static uint32_t index_of(const llamatch_pool_class_t *c, const void *node)
{
    uintptr_t offset = (uintptr_t) node % LLAMATCH_POOL_BLOCK - HEADER_BYTES;

    return (uint32_t) (offset / LLAMATCH_LINE) * c->reciprocal >> 16;
}

static void block_give_back(llamatch_pool_class_t *c, const void *node)
{
    llamatch_pool_block_t *block = block_of(node);
    uint32_t i = index_of(c, node), w = i / WORD_BITS;

    atomic_store_explicit(&block->in_use[w], word_of(block, w) & ~(UINT64_C(1) << (i % WORD_BITS)),
                          memory_order_relaxed);
    block_use(c, block, block->used - 1);
    if (0 == block->used) {
        c->pool->empty_bytes += c->block_bytes;
    }
}

static uint32_t num_at_hand(const llamatch_pool_class_t *c)
{
    return atomic_load_explicit(&c->num_at_hand, memory_order_relaxed);
}

static void *take_at_hand(llamatch_pool_class_t *c)
{
    uint32_t last = num_at_hand(c) - 1;

    atomic_store_explicit(&c->num_at_hand, last, memory_order_relaxed);
    return c->at_hand[last];
}

/* No node is at hand any more. */
static void put_away(llamatch_pool_class_t *c)
{
    while (llamatch_pool_has_at_hand(c)) {
        block_give_back(c, take_at_hand(c));
    }
}

static void put_all_away(llamatch_pool_t *pool)
{
    for (uint32_t i = 0; i < pool->num_classes; ++i) {
        put_away(&pool->classes[i]);
    }
}

/* A block of this class with room, or NULL when there is no memory. */
static llamatch_pool_block_t *block_with_room(llamatch_pool_class_t *c)
{
    llamatch_pool_block_t *block = NULL;

    for (int bin = LLAMATCH_POOL_BINS - 1; 0 <= bin && NULL == block; --bin) {
        block = c->bins[bin];
    }
    if (NULL != block) {
        return block;
    }
    put_all_away(c->pool);
    block = *list_for(c, 0);
    while (NULL != block && class_of(block)->block_bytes != c->block_bytes) {
        block = block->list_next;
    }
    if (NULL == block) {
        block = block_map(c);
    }
    if (NULL != block) {
        atomic_store_explicit(&block->class, c, memory_order_release); /* for the heater */
        block_opened(c->pool, c);
    }
    return block;
}

void *llamatch_pool_get(llamatch_pool_class_t *c)
{
    llamatch_pool_t *pool = c->pool;
    bool locked = lock(pool);
    void *node = NULL;

    if (llamatch_pool_has_at_hand(c)) {
        node = take_at_hand(c);
    } else {
        llamatch_pool_block_t *block = block_with_room(c);

        if (NULL != block) {
            node = node_at(block, c, block_take(block));
            block_use(c, block, block->used + 1);
            c->last = block;
        }
    }
    if (NULL != node) {
        add(&pool->used_bytes, c->node_bytes);
        ASAN_UNPOISON_MEMORY_REGION(node, c->node_bytes);
    }
    unlock(pool, locked);
    return node;
}

void llamatch_pool_put(llamatch_pool_class_t *c, void *node)
{
    llamatch_pool_t *pool = c->pool;
    bool locked, is_over;

    ASAN_POISON_MEMORY_REGION(node, c->node_bytes);
    locked = lock(pool);
    add(&pool->used_bytes, -c->node_bytes);
    pool->returned += c->node_bytes;
    is_over = pool->returned >= LLAMATCH_POOL_ROUND
              && (load(&pool->used_bytes) <= LLAMATCH_POOL_BLOCK
                  || pool->returned / LLAMATCH_POOL_CHURN >= pool->peaks[0]);
    if (block_of(node) == c->last && num_at_hand(c) < LLAMATCH_POOL_AT_HAND && !is_over
        && load(&pool->bytes) <= pool->keep && 0 == pool->pins) {
        c->at_hand[num_at_hand(c)] = node;
        atomic_store_explicit(&c->num_at_hand, num_at_hand(c) + 1, memory_order_relaxed);
    } else {
        block_give_back(c, node);
        if (is_over) {
            put_all_away(pool);
            end_round(pool);
        }
        (void) trim(pool);
    }
    unlock(pool, locked);
}

size_t llamatch_pool_bytes(const llamatch_pool_t *pool)
{
    return load(&pool->bytes);
}

size_t llamatch_pool_used_bytes(const llamatch_pool_t *pool)
{
    return load(&pool->used_bytes);
}

/* --- the heater's side ---------------------------------------------------------------------- */

void llamatch_pool_pin(llamatch_pool_t *pool)
{
    bool locked = lock(pool);

    ++pool->pins;
    put_all_away(pool); /* it would be heated */
    unlock(pool, locked);
}

void llamatch_pool_unpin(llamatch_pool_t *pool)
{
    bool locked = lock(pool);

    --pool->pins;
    while (trim(pool)) {
    }
    unlock(pool, locked);
}

static bool is_set(const atomic_bool *flag)
{
    return NULL != flag && atomic_load_explicit((atomic_bool *) flag, memory_order_relaxed);
}

static size_t block_heat(const llamatch_pool_block_t *block, size_t max_bytes, llamatch_heat_t how,
                         const atomic_bool *stop)
{
    /* acquire: the class may be younger than the block */
    const llamatch_pool_class_t *c = atomic_load_explicit(
        (_Atomic(llamatch_pool_class_t *) *) &block->class, memory_order_acquire);
    size_t key = llamatch_round_up(c->key_bytes, LLAMATCH_LINE), done = 0;

    if (0 == key) {
        return 0;
    }
    for (uint32_t w = 0; w < num_words(c) && done < max_bytes; ++w) {
        uint64_t bits = word_of(block, w) & valid_bits(c, w); /* it may be another class's by now */

        for (; 0 != bits && done < max_bytes; bits &= bits - 1) {
            size_t i = (size_t) w * WORD_BITS + (size_t) __builtin_ctzll(bits);
            size_t bytes = (key < max_bytes - done) ? key : max_bytes - done;

            done += llamatch_touch(node_at(block, c, i), bytes, how, stop);
            if (is_set(stop)) {
                return done;
            }
        }
    }
    return done;
}

size_t llamatch_pool_heat(const llamatch_pool_t *pool, size_t max_bytes, llamatch_heat_t how,
                          const atomic_bool *stop)
{
    const llamatch_pool_block_t *block = first_of(pool, memory_order_acquire);
    size_t done = 0, looked = 0;

    /* of an empty block a line is read, too: after a burst there may be very many of them */
    while (NULL != block && done < max_bytes && looked < max_bytes && !is_set(stop)) {
        size_t heated = block_heat(block, max_bytes - done, how, stop);

        done += heated;
        looked += (0 == heated) ? LLAMATCH_LINE : 0;
        block = next_of(block, memory_order_acquire);
    }
    return done;
}

/* --- invariants ----------------------------------------------------------------------------- */

static bool bits_are_right(const llamatch_pool_block_t *block)
{
    const llamatch_pool_class_t *c = class_of(block);
    uint32_t used = 0;

    for (uint32_t w = 0; w < WORDS; ++w) {
        uint64_t word = word_of(block, w);
        uint64_t valid = (w < num_words(c)) ? valid_bits(c, w) : 0;

        if (0 != (word & ~valid)) {
            return false;
        }
        used += (uint32_t) __builtin_popcountll(word);
    }
    return used == block->used;
}

/* Count the blocks of a list, of one class or of any; SIZE_MAX when one should not be there. */
static size_t list_length(llamatch_pool_block_t **list, const llamatch_pool_class_t *c)
{
    const llamatch_pool_block_t *prev = NULL;
    size_t length = 0;

    for (const llamatch_pool_block_t *b = *list; NULL != b; prev = b, b = b->list_next) {
        if ((NULL != c && class_of(b) != c) || list_for(class_of(b), b->used) != list
            || b->list_prev != prev) {
            return SIZE_MAX;
        }
        ++length;
    }
    return length;
}

/* I3: what the lists hold is as many blocks as should be in any. */
static bool lists_are_right(llamatch_pool_t *pool, size_t num_listed)
{
    size_t length = list_length(&pool->empty[COMMON], NULL);
    size_t listed = length + list_length(&pool->empty[LARGE], NULL);
    bool right = SIZE_MAX != length && length <= listed;

    for (uint32_t i = 0; right && i < pool->num_classes * LLAMATCH_POOL_BINS; ++i) {
        llamatch_pool_class_t *c = &pool->classes[i / LLAMATCH_POOL_BINS];

        length = list_length(&c->bins[i % LLAMATCH_POOL_BINS], c);
        right = SIZE_MAX != length;
        listed += length;
    }
    return right && listed == num_listed;
}

/* I6 */
static bool at_hand_is_right(const llamatch_pool_class_t *c)
{
    bool right = true;

    for (uint32_t i = 0; i < num_at_hand(c); ++i) {
        uint32_t bit = index_of(c, c->at_hand[i]);

        right = right && block_of(c->at_hand[i]) == c->last && class_of(c->last) == c
                && 0 != (word_of(c->last, bit / WORD_BITS) >> bit % WORD_BITS & 1);
    }
    return right;
}

static int verify(llamatch_pool_t *pool)
{
    const llamatch_pool_block_t *block, *prev = NULL;
    size_t bytes = 0, used_bytes = 0, empty_bytes = 0, num_listed = 0, at_hand = 0;

    for (uint32_t i = 0; i < pool->num_classes; ++i) {
        if (!at_hand_is_right(&pool->classes[i])) {
            return 6;
        }
        at_hand += num_at_hand(&pool->classes[i]) * pool->classes[i].node_bytes;
    }

    for (block = first_of(pool, memory_order_relaxed); NULL != block;
         prev = block, block = next_of(block, memory_order_relaxed)) {
        const llamatch_pool_class_t *c = class_of(block);

        if (block_of(block) != block || block->prev != prev) {
            return 1;
        }
        if (!bits_are_right(block)) {
            return 2;
        }
        num_listed += block->used < c->capacity;
        bytes += c->block_bytes;
        used_bytes += block->used * c->node_bytes;
        empty_bytes += (0 == block->used) ? c->block_bytes : 0;
    }
    if (pool->last != prev) {
        return 1;
    }
    if (!lists_are_right(pool, num_listed)) {
        return 3;
    }
    if (bytes != load(&pool->bytes) || used_bytes != load(&pool->used_bytes) + at_hand
        || empty_bytes != pool->empty_bytes) {
        return 4;
    }
    return (pool->keep == wanted(pool)) ? 0 : 5;
}

int llamatch_pool_verify(const llamatch_pool_t *pool)
{
    bool locked = lock(pool);
    int broken = verify((llamatch_pool_t *) pool);

    unlock(pool, locked);
    return broken;
}
