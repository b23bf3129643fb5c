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
#include <unistd.h>

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
#define PAGE 4096 /* blocks of one node are rounded up to this */

typedef struct llamatch_pool_block {
    llamatch_pool_class_t *class;
    _Atomic(struct llamatch_pool_block *) next; /* of all blocks, oldest first */
    struct llamatch_pool_block *prev;
    struct llamatch_pool_block *bin_next;
    struct llamatch_pool_block *bin_prev;
    uint32_t used;                  /* nodes */
    uint32_t hint;                  /* all words before this one are full */
    _Atomic uint64_t in_use[WORDS]; /* written under the mutex, read by the heater */
} llamatch_pool_block_t;

_Static_assert(sizeof(llamatch_pool_block_t) <= HEADER_BYTES, "the header has outgrown its place");
_Static_assert(0 == HEADER_BYTES % LLAMATCH_LINE, "nodes must be line-aligned");

struct llamatch_pool {
    _Atomic(llamatch_pool_block_t *) first; /* of all blocks */
    llamatch_pool_block_t *last;
    pthread_mutex_t mutex;
    llamatch_allocator_t allocator;
    atomic_size_t bytes;      /* of all blocks; written under the mutex */
    atomic_size_t used_bytes; /* of all nodes in use; written under the mutex */
    size_t num_empty;         /* blocks */
    size_t pins;
    uint32_t patience; /* puts until empty blocks are given back */
    uint32_t num_classes;
    llamatch_pool_class_t classes[LLAMATCH_POOL_CLASSES];
};

static size_t round_up(size_t value, size_t step)
{
    return (value + step - 1) / step * step;
}

static size_t load(const atomic_size_t *counter)
{
    return atomic_load_explicit((atomic_size_t *) counter, memory_order_relaxed);
}

/* Under the mutex there is one writer, so no read-modify-write is needed. */
static void add(atomic_size_t *counter, size_t value)
{
    atomic_store_explicit(counter, load(counter) + value, memory_order_relaxed);
}

/* --- pages ---------------------------------------------------------------------------------- */

static void *pages_alloc(void *context, size_t alignment, size_t bytes)
{
    size_t page = (size_t) sysconf(_SC_PAGESIZE);
    size_t all, head;
    char *raw;

    (void) context;
    bytes = round_up(bytes, page);
    all = bytes + alignment;
    raw = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (MAP_FAILED == (void *) raw) {
        return NULL;
    }
    head = round_up((uintptr_t) raw, alignment) - (uintptr_t) raw;
    if (0 < head) {
        (void) munmap(raw, head);
    }
    if (head < alignment) {
        (void) munmap(raw + head + bytes, alignment - head);
    }
    return raw + head;
}

static void pages_free(void *context, void *memory, size_t bytes)
{
    (void) context;
    (void) munmap(memory, round_up(bytes, (size_t) sysconf(_SC_PAGESIZE)));
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
    uint32_t bits = c->capacity - w * WORD_BITS;

    return (bits < WORD_BITS) ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
}

/* Bin of a block with this many nodes in use; 0 is for empty ones, the highest for the fullest. */
static uint32_t bin_of(const llamatch_pool_class_t *c, uint32_t used)
{
    return (0 == used) ? 0 : 1 + used * (LLAMATCH_POOL_BINS - 1) / c->capacity;
}

static void bin_insert(llamatch_pool_class_t *c, llamatch_pool_block_t *block, uint32_t bin)
{
    block->bin_prev = NULL;
    block->bin_next = c->bins[bin];
    if (NULL != block->bin_next) {
        block->bin_next->bin_prev = block;
    }
    c->bins[bin] = block;
    c->mask |= 1U << bin;
}

static void bin_remove(llamatch_pool_class_t *c, llamatch_pool_block_t *block, uint32_t bin)
{
    if (NULL != block->bin_next) {
        block->bin_next->bin_prev = block->bin_prev;
    }
    if (NULL != block->bin_prev) {
        block->bin_prev->bin_next = block->bin_next;
    } else {
        c->bins[bin] = block->bin_next;
        if (NULL == block->bin_next) {
            c->mask &= ~(1U << bin);
        }
    }
}

/* Count one node more or less as in use, and move the block to the bin that this means. */
static void block_use(llamatch_pool_class_t *c, llamatch_pool_block_t *block, uint32_t used)
{
    uint32_t from = bin_of(c, block->used), to = bin_of(c, used);

    if (from != to) {
        if (from < LLAMATCH_POOL_BINS) {
            bin_remove(c, block, from);
        }
        if (to < LLAMATCH_POOL_BINS) {
            bin_insert(c, block, to);
        }
    }
    block->used = used;
}

static bool is_roomy(const llamatch_pool_class_t *c)
{
    return 0 == c->pool->pins
           && (c->num_blocks <= 1
               || (c->num_blocks <= LLAMATCH_POOL_ROOMY_BLOCKS
                   && 2 * c->num_used >= c->num_blocks * c->capacity));
}

static void update_roomy(llamatch_pool_class_t *c)
{
    atomic_store_explicit(&c->roomy, is_roomy(c), memory_order_relaxed);
}

static llamatch_pool_block_t *block_map(llamatch_pool_class_t *c)
{
    llamatch_pool_t *pool = c->pool;
    llamatch_pool_block_t *block =
        pool->allocator.alloc(pool->allocator.context, LLAMATCH_POOL_BLOCK, c->block_bytes);

    if (NULL == block) {
        return NULL;
    }
    block->class = c;
    atomic_init(&block->next, NULL);
    block->prev = pool->last;
    block->used = 0;
    block->hint = 0;
    for (size_t w = 0; w < WORDS; ++w) {
        atomic_init(&block->in_use[w], 0);
    }
    ASAN_POISON_MEMORY_REGION(node_at(block, c, 0), c->block_bytes - HEADER_BYTES);
    bin_insert(c, block, 0);
    ++c->num_blocks;
    ++pool->num_empty;
    add(&pool->bytes, c->block_bytes);
    /* Published last: the heater may read it from here on. */
    atomic_store_explicit((NULL == pool->last) ? &pool->first : &pool->last->next, block,
                          memory_order_release);
    pool->last = block;
    pool->patience = LLAMATCH_POOL_PATIENCE;
    return block;
}

/* Give an empty block back. */
static void block_unmap(llamatch_pool_class_t *c, llamatch_pool_block_t *block)
{
    llamatch_pool_t *pool = c->pool;
    llamatch_pool_block_t *next = next_of(block, memory_order_relaxed);

    atomic_store_explicit((NULL == block->prev) ? &pool->first : &block->prev->next, next,
                          memory_order_relaxed);
    if (NULL == next) {
        pool->last = block->prev;
    } else {
        next->prev = block->prev;
    }
    bin_remove(c, block, 0);
    --c->num_blocks;
    --pool->num_empty;
    add(&pool->bytes, -c->block_bytes);
    ASAN_UNPOISON_MEMORY_REGION(block, c->block_bytes);
    pool->allocator.free(pool->allocator.context, block, c->block_bytes);
}

static bool has_too_much(const llamatch_pool_t *pool)
{
    return 0 < pool->num_empty && 0 == pool->pins
           && load(&pool->bytes) > 2 * load(&pool->used_bytes) + LLAMATCH_POOL_BLOCK;
}

/* Give empty blocks back: the largest first, and of equal ones not those of the class that is in
   use right now. Not the common case of a put, so it may look at all classes. */
static void trim(llamatch_pool_t *pool, const llamatch_pool_class_t *in_use)
{
    while (has_too_much(pool)) {
        llamatch_pool_class_t *largest = NULL;

        for (uint32_t i = 0; i < pool->num_classes; ++i) {
            llamatch_pool_class_t *c = &pool->classes[i];

            if (NULL != c->bins[0]
                && (NULL == largest || largest->block_bytes < c->block_bytes
                    || (largest == in_use && largest->block_bytes == c->block_bytes))) {
                largest = c;
            }
        }
        block_unmap(largest, largest->bins[0]);
        update_roomy(largest);
    }
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
    *pool_out = pool;
    return LLAMATCH_OK;
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
        size_t bytes = block->class->block_bytes;

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
        c->block_bytes = round_up(HEADER_BYTES + node_bytes, PAGE);
    }
    atomic_init(&c->roomy, is_roomy(c));
}

llamatch_pool_class_t *llamatch_pool_class(llamatch_pool_t *pool, size_t node_bytes,
                                           size_t key_bytes)
{
    llamatch_pool_class_t *found = NULL;

    if (0 == node_bytes || node_bytes > SIZE_MAX / 2 || key_bytes > node_bytes) {
        return NULL;
    }
    node_bytes = round_up(node_bytes, LLAMATCH_LINE);
    (void) pthread_mutex_lock(&pool->mutex);
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
    (void) pthread_mutex_unlock(&pool->mutex);
    return found;
}

/* Mark the lowest free node of a block with room as used. */
static uint32_t block_take(llamatch_pool_block_t *block)
{
    uint32_t w = block->hint;
    uint64_t word = word_of(block, w);
    uint32_t bit;

    while (UINT64_MAX == word) {
        word = word_of(block, ++w);
    }
    bit = (uint32_t) __builtin_ctzll(~word);
    atomic_store_explicit(&block->in_use[w], word | UINT64_C(1) << bit, memory_order_relaxed);
    block->hint = w;
    return w * WORD_BITS + bit;
}

void *llamatch_pool_get(llamatch_pool_class_t *c)
{
    llamatch_pool_t *pool = c->pool;
    llamatch_pool_block_t *block;
    void *node = NULL;

    (void) pthread_mutex_lock(&pool->mutex);
    block = (0 != c->mask) ? c->bins[31 - __builtin_clz(c->mask)] : block_map(c);
    if (NULL != block) {
        pool->num_empty -= 0 == block->used;
        node = node_at(block, c, block_take(block));
        block_use(c, block, block->used + 1);
        ++c->num_used;
        add(&pool->used_bytes, c->node_bytes);
        update_roomy(c);
        ASAN_UNPOISON_MEMORY_REGION(node, c->node_bytes);
    }
    (void) pthread_mutex_unlock(&pool->mutex);
    return node;
}

void llamatch_pool_put(llamatch_pool_class_t *c, void *node)
{
    llamatch_pool_t *pool = c->pool;
    llamatch_pool_block_t *block = block_of(node);
    uint32_t i, w;

    if (NULL == node) {
        return;
    }
    i = (uint32_t) ((size_t) ((char *) node - node_at(block, c, 0)) / c->node_bytes);
    w = i / WORD_BITS;
    ASAN_POISON_MEMORY_REGION(node, c->node_bytes);
    (void) pthread_mutex_lock(&pool->mutex);
    atomic_store_explicit(&block->in_use[w], word_of(block, w) & ~(UINT64_C(1) << (i % WORD_BITS)),
                          memory_order_relaxed);
    if (w < block->hint) {
        block->hint = w;
    }
    block_use(c, block, block->used - 1);
    pool->num_empty += 0 == block->used;
    --c->num_used;
    add(&pool->used_bytes, -c->node_bytes);
    if (has_too_much(pool) && (0 == pool->patience || 0 == --pool->patience)) {
        trim(pool, c);
    }
    update_roomy(c);
    (void) pthread_mutex_unlock(&pool->mutex);
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

static void add_pins(llamatch_pool_t *pool, size_t pins)
{
    (void) pthread_mutex_lock(&pool->mutex);
    pool->pins += pins;
    trim(pool, NULL);
    for (uint32_t i = 0; i < pool->num_classes; ++i) {
        update_roomy(&pool->classes[i]);
    }
    (void) pthread_mutex_unlock(&pool->mutex);
}

void llamatch_pool_pin(llamatch_pool_t *pool)
{
    add_pins(pool, 1);
}

void llamatch_pool_unpin(llamatch_pool_t *pool)
{
    add_pins(pool, (size_t) -1);
}

static bool is_set(const atomic_bool *flag)
{
    return NULL != flag && atomic_load_explicit((atomic_bool *) flag, memory_order_relaxed);
}

static size_t block_heat(const llamatch_pool_block_t *block, size_t max_bytes, llamatch_heat_t how,
                         const atomic_bool *stop)
{
    const llamatch_pool_class_t *c = block->class;
    size_t key = round_up(c->key_bytes, LLAMATCH_LINE), done = 0;

    if (0 == key) {
        return 0;
    }
    for (uint32_t w = 0; w < num_words(c) && done < max_bytes; ++w) {
        for (uint64_t bits = word_of(block, w); 0 != bits && done < max_bytes; bits &= bits - 1) {
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
    size_t done = 0;

    while (NULL != block && done < max_bytes && !is_set(stop)) {
        done += block_heat(block, max_bytes - done, how, stop);
        block = next_of(block, memory_order_acquire);
    }
    return done;
}

/* --- invariants ----------------------------------------------------------------------------- */

static bool bits_are_right(const llamatch_pool_block_t *block)
{
    const llamatch_pool_class_t *c = block->class;
    uint32_t used = 0;

    for (uint32_t w = 0; w < WORDS; ++w) {
        uint64_t word = word_of(block, w);
        uint64_t valid = (w < num_words(c)) ? valid_bits(c, w) : 0;

        if (0 != (word & ~valid) || (w < block->hint && word != valid)) {
            return false;
        }
        used += (uint32_t) __builtin_popcountll(word);
    }
    return used == block->used;
}

static bool bins_are_right(const llamatch_pool_class_t *c)
{
    size_t in_bins = 0;

    for (uint32_t bin = 0; bin < LLAMATCH_POOL_BINS; ++bin) {
        const llamatch_pool_block_t *prev = NULL;

        if ((NULL != c->bins[bin]) != (0 != (c->mask & 1U << bin))) {
            return false;
        }
        for (const llamatch_pool_block_t *b = c->bins[bin]; NULL != b; prev = b, b = b->bin_next) {
            if (b->class != c || bin_of(c, b->used) != bin || b->bin_prev != prev
                || ++in_bins > c->num_blocks) {
                return false;
            }
        }
    }
    for (const llamatch_pool_block_t *b = first_of(c->pool, memory_order_relaxed); NULL != b;
         b = next_of(b, memory_order_relaxed)) {
        in_bins += b->class == c && b->used == c->capacity;
    }
    return in_bins == c->num_blocks;
}

static bool counts_are_right(const llamatch_pool_t *pool)
{
    size_t bytes = 0, used_bytes = 0, empty = 0;

    for (uint32_t i = 0; i < pool->num_classes; ++i) {
        const llamatch_pool_class_t *c = &pool->classes[i];
        size_t blocks = 0, used = 0;

        for (const llamatch_pool_block_t *b = atomic_load_explicit(
                 (_Atomic(llamatch_pool_block_t *) *) &pool->first, memory_order_relaxed);
             NULL != b; b = next_of(b, memory_order_relaxed)) {
            if (b->class == c) {
                ++blocks;
                used += b->used;
                empty += 0 == b->used;
            }
        }
        if (blocks != c->num_blocks || used != c->num_used) {
            return false;
        }
        bytes += blocks * c->block_bytes;
        used_bytes += used * c->node_bytes;
    }
    return bytes == load(&pool->bytes) && used_bytes == load(&pool->used_bytes)
           && empty == pool->num_empty;
}

static int verify(const llamatch_pool_t *pool)
{
    const llamatch_pool_block_t *block, *prev = NULL;

    for (block = first_of(pool, memory_order_relaxed); NULL != block;
         prev = block, block = next_of(block, memory_order_relaxed)) {
        if (block_of(block) != block || block->prev != prev) {
            return 1;
        }
        if (!bits_are_right(block)) {
            return 2;
        }
    }
    if (pool->last != prev) {
        return 1;
    }
    for (uint32_t i = 0; i < pool->num_classes; ++i) {
        if (!bins_are_right(&pool->classes[i])) {
            return 3;
        }
    }
    if (!counts_are_right(pool)) {
        return 4;
    }
    if (has_too_much(pool) && 0 == pool->patience) {
        return 5;
    }
    for (uint32_t i = 0; i < pool->num_classes; ++i) {
        if (llamatch_pool_roomy(&pool->classes[i]) != is_roomy(&pool->classes[i])) {
            return 6;
        }
    }
    return 0;
}

int llamatch_pool_verify(const llamatch_pool_t *pool)
{
    pthread_mutex_t *mutex = (pthread_mutex_t *) &pool->mutex;
    int broken;

    (void) pthread_mutex_lock(mutex);
    broken = verify(pool);
    (void) pthread_mutex_unlock(mutex);
    return broken;
}
