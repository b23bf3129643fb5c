/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "osc_cached_file.h"

#include <stdio.h>
#include <string.h>

enum { ALLOC_TYPE, FILENAME, OFFSET, FACTOR, ORDER, UNLINK, DISCARD, PERMISSIONS, ACCESS };

const char *const osc_cached_file_keys[OSC_CACHED_FILE_KEYS] = {
    [ALLOC_TYPE] = "alloc_type",         [FILENAME] = "storage_alloc_filename",
    [OFFSET] = "storage_alloc_offset",   [FACTOR] = "storage_alloc_factor",
    [ORDER] = "storage_alloc_order",     [UNLINK] = "storage_alloc_unlink",
    [DISCARD] = "storage_alloc_discard", [PERMISSIONS] = "file_perm",
    [ACCESS] = "access_style",
};

void osc_cached_file_wish_init(osc_cached_file_wish_t *wish)
{
    memset(wish, 0, sizeof(*wish));
    wish->factor = 1;
    wish->permissions = 0600;
}

/* One of two words. */
static bool is_second(const char *value, const char *first, const char *second, bool *is)
{
    bool known = 0 == strcmp(value, first) || 0 == strcmp(value, second);

    if (known) {
        *is = 0 == strcmp(value, second);
    }
    return known;
}

/* Digits only, below a limit. */
static bool read_whole(const char *value, int base, uint64_t limit, uint64_t *number)
{
    const char *digits = (8 == base) ? "01234567" : "0123456789";
    uint64_t read = 0;

    if ('\0' == *value || strlen(value) != strspn(value, digits)) {
        return false;
    }
    for (; '\0' != *value; ++value) {
        unsigned digit = (unsigned) (*value - '0');

        if ((limit - digit) / (unsigned) base < read) {
            return false;
        }
        read = read * (unsigned) base + digit;
    }
    *number = read;
    return true;
}

/* A share, from 0 to 1; not with strtod, which reads it as the program's locale writes it. */
static bool read_share(const char *value, double *share)
{
    double digits = 0, scale = 0; /* 0: before the point */
    bool found = false;

    for (; '\0' != *value; ++value) {
        if ('.' == *value && 0 == scale) {
            scale = 1;
        } else if ('0' <= *value && *value <= '9') {
            found = true;
            digits = 10 * digits + (*value - '0');
            scale *= 10;
        } else {
            return false;
        }
    }
    digits /= (0 < scale) ? scale : 1;
    if (!found || !(0 <= digits && digits <= 1)) {
        return false;
    }
    *share = digits;
    return true;
}

/* MPI's words for files, separated by commas. */
static bool read_access(const char *value, osc_cached_file_access_t *access)
{
    static const struct {
        const char *word;
        int access; /* -1: says nothing of the order */
    } words[] = {
        {"read_once", OSC_CACHED_FILE_SEQUENTIAL},
        {"write_once", -1},
        {"read_mostly", -1},
        {"write_mostly", -1},
        {"sequential", OSC_CACHED_FILE_SEQUENTIAL},
        {"reverse_sequential", OSC_CACHED_FILE_NORMAL},
        {"random", OSC_CACHED_FILE_RANDOM},
    };
    osc_cached_file_access_t read = OSC_CACHED_FILE_RANDOM;

    for (;;) {
        size_t length = strcspn(value, ","), i;

        for (i = 0; i < sizeof(words) / sizeof(words[0]); ++i) {
            if (length == strlen(words[i].word) && 0 == strncmp(value, words[i].word, length)) {
                break;
            }
        }
        if (sizeof(words) / sizeof(words[0]) == i) {
            return false;
        }
        if (0 <= words[i].access) {
            read = (osc_cached_file_access_t) words[i].access;
        }
        if ('\0' == value[length]) {
            *access = read;
            return true;
        }
        value += length + 1;
    }
}

const char *osc_cached_file_wish_take(osc_cached_file_wish_t *wish, int key, const char *value)
{
    uint64_t number;

    switch (key) {
    case ALLOC_TYPE:
        return is_second(value, "memory", "storage", &wish->on_storage) ? NULL : "memory, storage";
    case FILENAME:
        if ('\0' == *value || sizeof(wish->name) <= strlen(value)) {
            return "a file name";
        }
        strcpy(wish->name, value);
        return NULL;
    case OFFSET:
        return read_whole(value, 10, INT64_MAX, &wish->offset) ? NULL : "a number of bytes";
    case FACTOR:
        if (0 != strcmp(value, "auto") && !read_share(value, &wish->factor)) {
            return "0 to 1, auto";
        }
        wish->automatic = 0 == strcmp(value, "auto");
        return NULL;
    case ORDER:
        return is_second(value, "memory_first", "storage_first", &wish->storage_first)
                   ? NULL
                   : "memory_first, storage_first";
    case UNLINK:
        return is_second(value, "false", "true", &wish->unlinks) ? NULL : "true, false";
    case DISCARD:
        return is_second(value, "false", "true", &wish->discards) ? NULL : "true, false";
    case PERMISSIONS:
        if (!read_whole(value, 8, 0777, &number)) {
            return "0 to 777, octal";
        }
        wish->permissions = (unsigned) number;
        return NULL;
    default:
        return read_access(value, &wish->access)
                   ? NULL
                   : "random, sequential, reverse_sequential, read_once, read_mostly, write_once, "
                     "write_mostly";
    }
}

void osc_cached_file_wish_write(const osc_cached_file_wish_t *wish, int key, char *value)
{
    static const char *const styles[] = {[OSC_CACHED_FILE_RANDOM] = "random",
                                         [OSC_CACHED_FILE_SEQUENTIAL] = "sequential",
                                         [OSC_CACHED_FILE_NORMAL] = "reverse_sequential"};
    size_t length;

    switch (key) {
    case ALLOC_TYPE:
        strcpy(value, wish->on_storage ? "storage" : "memory");
        break;
    case FILENAME:
        strcpy(value, wish->name);
        break;
    case OFFSET:
        (void) snprintf(value, OSC_CACHED_FILE_VALUE, "%llu", (unsigned long long) wish->offset);
        break;
    case FACTOR:
        if (wish->automatic) {
            strcpy(value, "auto");
            break;
        }
        (void) snprintf(value, OSC_CACHED_FILE_VALUE, "%.15f", wish->factor);
        value[1] = '.'; /* whatever the program's locale has */
        for (length = strlen(value); 1 < length && NULL != strchr(".0", value[length - 1]);) {
            value[--length] = '\0';
        }
        break;
    case ORDER:
        strcpy(value, wish->storage_first ? "storage_first" : "memory_first");
        break;
    case UNLINK:
        strcpy(value, wish->unlinks ? "true" : "false");
        break;
    case DISCARD:
        strcpy(value, wish->discards ? "true" : "false");
        break;
    case PERMISSIONS:
        (void) snprintf(value, OSC_CACHED_FILE_VALUE, "%o", wish->permissions);
        break;
    default:
        strcpy(value, styles[wish->access]);
        break;
    }
}

const char *osc_cached_file_plan(const osc_cached_file_wish_t *wish, uint64_t size, uint64_t page,
                                 uint64_t memory, osc_cached_file_plan_t *plan)
{
    uint64_t first;

    if (0 != wish->offset % page) {
        return "storage_alloc_offset is not a multiple of the page size";
    }
    if ((uint64_t) INT64_MAX - wish->offset < size) {
        return "storage_alloc_offset and the size of the window make a file that is too large";
    }
    if (!wish->automatic) {
        memory = (uint64_t) ((double) size * (1 - wish->factor));
    }
    memory = (memory < size) ? memory : size;
    first = wish->storage_first ? size - memory : memory;
    if (first < size) {
        /* to a whole page: more in the file, less in memory */
        first = first / page * page + ((wish->storage_first && 0 != first % page) ? page : 0);
        first = (first < size) ? first : size;
    }
    *plan = wish->storage_first ? (osc_cached_file_plan_t){0, first, first, size - first}
                                : (osc_cached_file_plan_t){first, size - first, 0, first};
    if (0 < plan->file_size && '\0' == wish->name[0]) {
        return "storage_alloc_filename is missing";
    }
    return NULL;
}
