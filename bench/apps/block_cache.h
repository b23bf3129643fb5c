/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a program without osc/cached would have: a software cache of its own in front of MPI_Get.
 *
 * It is block-based with direct mapping, as the one that the CLaMPI paper compares with: the memory
 * of each process is cut into blocks, and each block has one place in the cache.  The places of a
 * process' blocks follow each other, so that blocks are in each other's way only if they are a
 * whole cache apart; those of another process start somewhere else.  A hit is not copied if it lies
 * in one block.
 */
#ifndef OMPI_LOCALITY_BLOCK_CACHE_H
#define OMPI_LOCALITY_BLOCK_CACHE_H

#include "app.h"

typedef struct {
    MPI_Win window;
    int64_t window_bytes;  /* of every process */
    int64_t block;         /* bytes */
    uint64_t blocks;       /* places */
    uint64_t between;      /* places from one process' first block to the next process' */
    uint64_t *content;     /* of each place: process and number of its block, 0: empty */
    char *memory, *joined; /* the blocks; what lies in several of them, put together */
    uint64_t gets, bytes, hits;
} block_cache_t;

/* Requests are at most longest bytes; there must be room for one. */
static block_cache_t block_cache_make(MPI_Win window, int64_t window_bytes, int processes,
                                      int64_t memory, int64_t block, int64_t longest)
{
    block_cache_t cache = {.window = window, .window_bytes = window_bytes, .block = block};

    if (memory / block < longest / block + 2) {
        app_die("--cache-memory is too small for blocks of this size", NULL);
    }
    cache.blocks = (uint64_t) (memory / block);
    cache.between = cache.blocks / (uint64_t) processes;
    cache.content = app_allocate(cache.blocks * sizeof(*cache.content));
    cache.memory = app_allocate(cache.blocks * (uint64_t) block);
    cache.joined = app_allocate((size_t) (longest + 2 * block));
    return cache;
}

static void block_cache_free(block_cache_t *cache)
{
    free(cache->content);
    free(cache->memory);
    free(cache->joined);
}

static void block_cache_invalidate(block_cache_t *cache)
{
    memset(cache->content, 0, cache->blocks * sizeof(*cache->content));
}

/* The block's place in the cache.  Sets *missing if it has to be fetched, which is then begun. */
static char *block_cache_find(block_cache_t *cache, int target, int64_t number, bool *missing)
{
    uint64_t name = (uint64_t) (target + 1) << 40 | (uint64_t) number;
    uint64_t place = ((uint64_t) target * cache->between + (uint64_t) number) % cache->blocks;
    char *at = cache->memory + place * (uint64_t) cache->block;
    int64_t first = number * cache->block, left = cache->window_bytes - first;
    int bytes = (int) (left < cache->block ? left : cache->block);

    if (name != cache->content[place]) {
        MPI_Get(at, bytes, MPI_BYTE, target, first, bytes, MPI_BYTE, cache->window);
        cache->content[place] = name;
        cache->bytes += (uint64_t) bytes;
        ++cache->gets;
        *missing = true;
    }
    return at;
}

/* The bytes stay where they are until the next call. */
static const void *block_cache_read(block_cache_t *cache, int target, int64_t from, int64_t bytes)
{
    int64_t first = from / cache->block, last = (from + bytes - 1) / cache->block;
    const char *result = cache->joined + from % cache->block;
    bool missing = false;

    if (first == last) {
        result = block_cache_find(cache, target, first, &missing) + from % cache->block;
    } else {
        for (int64_t number = first; number <= last; ++number) {
            block_cache_find(cache, target, number, &missing);
        }
    }
    if (missing) {
        MPI_Win_flush(target, cache->window);
    } else {
        ++cache->hits;
    }
    for (int64_t number = first; first < last && number <= last; ++number) {
        bool none = false;
        memcpy(cache->joined + (number - first) * cache->block,
               block_cache_find(cache, target, number, &none), (size_t) cache->block);
    }
    return result;
}

#endif
