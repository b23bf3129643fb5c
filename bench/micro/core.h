/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The cache's core without MPI, for benchmarks of what does not depend on a network: a get is a
 * lookup and, when the data is not there, an insertion that is completed at once.
 *
 *     cc -std=gnu11 -O2 -Imca-osc-cached/core bench/micro/NAME.c mca-osc-cached/core/[a-z]*.c -lm
 */
#ifndef OMPI_LOCALITY_CORE_H
#define OMPI_LOCALITY_CORE_H

#include "osc_cached_cache.h"
#include "results.h"

static const char *const core_schemes[] = {"full", "temporal", "positional", "duel"};

struct core {
    osc_cached_cache_t cache;
    osc_cached_target_t target;
    uint64_t gets;
    uint64_t visited, occupied; /* positions of the index that evictions saw */
};

/* Only arguments that the usage text shows are known. */
MICRO_UNUSED static void core_arguments(int argc, char **argv, const char *usage)
{
    micro_argc = argc;
    micro_argv = argv;
    for (int i = 1; i < argc; ++i) {
        char option[64];

        snprintf(option, sizeof(option), "[%.*s=", (int) strcspn(argv[i], "="), argv[i]);
        if (NULL == strchr(argv[i], '=') || NULL == strstr(usage, option)) {
            fprintf(stderr, "%s: unknown argument %s\nusage: %s\n", argv[0], argv[i], usage);
            exit(2);
        }
    }
}

MICRO_UNUSED static void *core_memory(size_t bytes)
{
    void *memory = calloc(1, bytes);

    if (NULL == memory) {
        fprintf(stderr, "%s: no memory for %zu bytes\n", micro_argv[0], bytes);
        exit(1);
    }
    return memory;
}

/* Sizes that do not change; otherwise as a window is by default. */
MICRO_UNUSED static osc_cached_config_t core_fixed(uint32_t entries, uint64_t memory,
                                                   osc_cached_scheme_t scheme)
{
    osc_cached_config_t config = {
        .entries = entries,
        .memory = memory,
        .evictions = 1,
        .sample = 16,
        .scheme = scheme,
        .seed = 1,
        .adapt = osc_cached_adapt_defaults,
    };

    return config;
}

MICRO_UNUSED static void core_open(struct core *core, const osc_cached_config_t *config)
{
    memset(core, 0, sizeof(*core));
    if (OSC_CACHED_OK != osc_cached_cache_create(&core->cache, config, NULL)
        || OSC_CACHED_OK != osc_cached_cache_open(&core->cache)) {
        fprintf(stderr, "%s: cannot make a cache of %llu bytes\n", micro_argv[0],
                (unsigned long long) config->memory);
        exit(1);
    }
}

MICRO_UNUSED static void core_close(struct core *core)
{
    if (0 != osc_cached_cache_verify(&core->cache, &core->target, 1)) {
        fprintf(stderr, "%s: the cache is broken\n", micro_argv[0]);
        exit(1);
    }
    osc_cached_cache_destroy(&core->cache);
}

/* A get. The buffer receives the bytes, or has those that are missing. */
MICRO_UNUSED static osc_cached_access_t core_get(struct core *core, uint64_t address, char *buffer,
                                                 size_t bytes)
{
    osc_cached_cache_t *cache = &core->cache;
    osc_cached_target_t *target = &core->target;
    osc_cached_key_t key = {.address = address};
    osc_cached_buffer_t to = {.address = buffer};
    uint64_t hash = osc_cached_index_hash(&cache->index, key), stamp, visited, occupied;
    osc_cached_access_t access;
    size_t have;

    ++core->gets;
    access = osc_cached_cache_get(cache, target, key, hash, &to, bytes, core->gets, &have);
    osc_cached_cache_look(cache);
    stamp = osc_cached_cache_stamp(cache, target);
    if (OSC_CACHED_PARTIAL == access) {
        to.address = buffer + have;
        (void) osc_cached_cache_extend(cache, target, key, hash, have, bytes, &to, stamp,
                                       core->gets);
    } else if (OSC_CACHED_MISSING == access) {
        visited = cache->interval.visited;
        occupied = cache->interval.occupied;
        access =
            osc_cached_cache_insert(cache, target, key, hash, &to, bytes, stamp, core->gets, NULL);
        core->visited += cache->interval.visited - visited;
        core->occupied += cache->interval.occupied - occupied;
    }
    osc_cached_cache_complete(cache, target, core->gets);
    return access;
}

#endif
