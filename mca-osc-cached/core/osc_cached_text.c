/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "osc_cached_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void osc_cached_text_add(osc_cached_text_t *text, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(text->at, text->left, format, arguments);
    va_end(arguments);
    if (0 < length) {
        size_t used = ((size_t) length < text->left) ? (size_t) length : text->left - 1;

        text->at += used;
        text->left -= used;
    }
}

/* Bytes of the UTF-8 character that begins here; 0: none does. */
static size_t letter_bytes(const char *at)
{
    const unsigned char *byte = (const unsigned char *) at;
    size_t bytes = (byte[0] < 0x80)                      ? 1
                   : (byte[0] < 0xc2 || 0xf4 < byte[0]) ? 0
                   : (byte[0] < 0xe0)                    ? 2
                   : (byte[0] < 0xf0)                    ? 3
                                                         : 4;

    for (size_t i = 1; i < bytes; ++i) {
        if (0x80 != (byte[i] & 0xc0)) {
            return 0;
        }
    }
    /* longer than need be, one half of a pair of UTF-16, or beyond the last one */
    return ((0xe0 == byte[0] && byte[1] < 0xa0) || (0xed == byte[0] && 0xa0 <= byte[1])
            || (0xf0 == byte[0] && byte[1] < 0x90) || (0xf4 == byte[0] && 0x90 <= byte[1]))
               ? 0
               : bytes;
}

void osc_cached_text_string(osc_cached_text_t *text, const char *string)
{
    size_t bytes;

    osc_cached_text_add(text, "\"");
    for (; '\0' != *string; string += (0 == bytes) ? 1 : bytes) {
        unsigned char letter = (unsigned char) *string;

        bytes = letter_bytes(string);
        if ('"' == letter || '\\' == letter) {
            osc_cached_text_add(text, "\\%c", letter);
        } else if (letter < 0x20) {
            osc_cached_text_add(text, "\\u%04x", letter);
        } else {
            osc_cached_text_add(text, "%.*s", (0 == bytes) ? 1 : (int) bytes,
                                (0 == bytes) ? "?" : string);
        }
    }
    osc_cached_text_add(text, "\"");
}

/* Three digits and a unit. */
static void scaled(double value, double step, const char *const units[], int num_units,
                   char text[16])
{
    int unit = 0;

    /* not 1000 of one unit, but 1.00 of the next */
    while (unit + 1 < num_units && step <= value * 1.0005) {
        value /= step;
        ++unit;
    }
    snprintf(text, 16, "%.*f%s",
             (0 == unit && value == (double) (uint64_t) value) ? 0
             : (value < 9.995)                                 ? 2
             : (value < 99.95)                                 ? 1
                                                               : 0,
             value, units[unit]);
}

void osc_cached_text_number(uint64_t value, char text[16])
{
    static const char *const units[] = {"", " k", " M", " G", " T", " P", " E"};

    if (value < 10000) {
        snprintf(text, 16, "%" PRIu64, value);
        return;
    }
    scaled((double) value, 1000, units, 7, text);
}

void osc_cached_text_bytes(uint64_t value, char text[16])
{
    static const char *const units[] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};

    scaled((double) value, 1024, units, 7, text);
}

void osc_cached_text_time(uint64_t ns, char text[16])
{
    static const char *const units[] = {" ns", " us", " ms", " s"};

    scaled((double) ns, 1000, units, 4, text);
}
