/*
 * Random numbers of the fuzzers: the same on every rank that asks for the same stream.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef OMPI_LOCALITY_FUZZ_RANDOM_H
#define OMPI_LOCALITY_FUZZ_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint64_t state;
} rng_t;

/* A stream of numbers for a purpose, told apart by a and b. */
rng_t rng_seeded(uint64_t seed, int purpose, uint64_t a, uint64_t b);
uint64_t rng_next(rng_t *rng);
uint32_t rng_below(rng_t *rng, uint32_t n);
bool rng_chance(rng_t *rng, uint32_t percent);
/* Few large numbers, many small ones; 1 to n. */
uint32_t rng_size(rng_t *rng, uint32_t n);

#endif
