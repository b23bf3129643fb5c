/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The name that a user may have meant: how many letters must be inserted, removed, replaced or
 * swapped with their neighbour to get from one word to another.
 */

#ifndef OSC_CACHED_NEAREST_H
#define OSC_CACHED_NEAREST_H

#include <stddef.h>
#include <string.h>

/** Letters of a word that are looked at; no name of a parameter has more. */
enum { OSC_CACHED_NEAREST_MAX = 63 };

/** Edits from one word to another (optimal string alignment). */
static inline unsigned osc_cached_distance(const char *from, const char *to)
{
    unsigned rows[3][OSC_CACHED_NEAREST_MAX + 1]; /* the row before last, the last, this one */
    size_t m = strlen(from), n = strlen(to);

    m = (m < OSC_CACHED_NEAREST_MAX) ? m : OSC_CACHED_NEAREST_MAX;
    n = (n < OSC_CACHED_NEAREST_MAX) ? n : OSC_CACHED_NEAREST_MAX;
    for (size_t j = 0; j <= n; ++j) {
        rows[1][j] = (unsigned) j;
    }
    for (size_t i = 1; i <= m; ++i) {
        rows[2][0] = (unsigned) i;
        for (size_t j = 1; j <= n; ++j) {
            unsigned best = rows[1][j - 1] + (from[i - 1] != to[j - 1]);

            if (rows[1][j] + 1 < best) {
                best = rows[1][j] + 1;
            }
            if (rows[2][j - 1] + 1 < best) {
                best = rows[2][j - 1] + 1;
            }
            if (1 < i && 1 < j && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]
                && rows[0][j - 2] + 1 < best) {
                best = rows[0][j - 2] + 1;
            }
            rows[2][j] = best;
        }
        memcpy(rows[0], rows[1], sizeof(rows[0]));
        memcpy(rows[1], rows[2], sizeof(rows[1]));
    }
    return rows[1][n];
}

#endif /* OSC_CACHED_NEAREST_H */
