/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Text for people and for programs, written into a buffer that may be too small: then it is cut.
 */

#ifndef OSC_CACHED_TEXT_H
#define OSC_CACHED_TEXT_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    char *at;    /**< where the next letter goes */
    size_t left; /**< bytes, the terminator included; at least 1 */
} osc_cached_text_t;

__attribute__((format(printf, 2, 3))) void osc_cached_text_add(osc_cached_text_t *text,
                                                               const char *format, ...);
/** A JSON string; bytes that are no UTF-8 become "?". */
void osc_cached_text_string(osc_cached_text_t *text, const char *string);

/** Numbers as people read them: "1.20 M", "52.4 KiB", "40.2 ms". */
void osc_cached_text_number(uint64_t value, char text[16]);
void osc_cached_text_bytes(uint64_t value, char text[16]);
void osc_cached_text_time(uint64_t ns, char text[16]);

#endif /* OSC_CACHED_TEXT_H */
