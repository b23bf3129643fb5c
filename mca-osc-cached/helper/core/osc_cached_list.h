/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Doubly linked lists of structures that contain their links.
 */
#ifndef OSC_CACHED_LIST_H
#define OSC_CACHED_LIST_H

#include <stdbool.h>
#include <stddef.h>

/** A member of a list, and the list itself: a circle through its head. */
typedef struct osc_cached_link {
    struct osc_cached_link *next;
    struct osc_cached_link *prev;
} osc_cached_link_t;

/** An empty list, or a member of none. */
static inline void osc_cached_list_init(osc_cached_link_t *link)
{
    link->next = link;
    link->prev = link;
}

static inline bool osc_cached_list_is_empty(const osc_cached_link_t *head)
{
    return head == head->next;
}

/** Insert before a member, or with the list's head at its end. */
static inline void osc_cached_list_add(osc_cached_link_t *next, osc_cached_link_t *link)
{
    link->next = next;
    link->prev = next->prev;
    next->prev->next = link;
    next->prev = link;
}

/** Take out of its list; a member of none stays one. */
static inline void osc_cached_list_remove(osc_cached_link_t *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    osc_cached_list_init(link);
}

/** The structure that contains a link. */
#define OSC_CACHED_LIST_OF(link, type, member) \
    ((type *) (void *) ((char *) (link) -offsetof(type, member)))

#endif /* OSC_CACHED_LIST_H */
