/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The info keys of a window (osc_cached_info.def).
 *
 * MPI_Win_get_info reports what the callbacks return, so they return what is in force; what changes
 * later, or by another key, is stored by ompi_osc_cached_info_tell().
 *
 * Two names of the mode.  MPI_Win_set_info calls back for one key after the other, in the program's
 * order, and tells nobody what else the info object has.  When it has both names, the alias does
 * not count: not even when it comes last, see is_overruled().
 */

#include "ompi_config.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/class/opal_pointer_array.h"
#include "opal/util/info_subscriber.h"
#include "opal/util/proc.h"
#include "ompi/constants.h"
#include "ompi/info/info.h"

#include "core/osc_cached_block.h"
#include "osc_cached_compat.h"
#include "osc_cached_info.h"

/* the info interface became const-correct in Open MPI 5.0 */
#if OMPI_MAJOR_VERSION >= 5
#define INFO_CONST const
#define INFO_KEY(entry) ((entry)->ie_key->string)
#define INFO_VALUE(entry) ((entry)->ie_value->string)
#else
#define INFO_CONST
#define INFO_KEY(entry) ((entry)->ie_key)
#define INFO_VALUE(entry) ((entry)->ie_value)
#endif

/* all info objects of the program; a release that does not give it away can still load us */
#pragma weak ompi_info_f_to_c_table

static const mca_base_var_enum_value_t clampi_modes[] = {
    {.value = OSC_CACHED_MODE_OFF, .string = "0"},
    {.value = OSC_CACHED_MODE_TRANSPARENT, .string = "1"},
    {.value = OSC_CACHED_MODE_ALWAYS, .string = "2"},
    {.value = OSC_CACHED_MODE_USER, .string = "3"},
    {.value = 0, .string = NULL},
};

static const mca_base_var_enum_value_t truths[] = {
    {.value = false, .string = "false"},
    {.value = true, .string = "true"},
    {.value = 0, .string = NULL},
};

static const mca_base_var_enum_value_t switches[] = {
    {.value = false, .string = "off"},
    {.value = true, .string = "on"},
    {.value = 0, .string = NULL},
};

static void refuse(const ompi_osc_cached_window_t *window, const char *key, const char *value,
                   const char *allowed, const char *present)
{
    opal_show_help("help-mpi-osc-cached.txt", "bad-info", true, opal_process_info.nodename,
                   window->win->w_name, key, NULL == value ? "" : value, allowed, present);
}

/* One of some names. */
static bool read_name(const ompi_osc_cached_window_t *window, const char *key, const char *value,
                      const mca_base_var_enum_value_t *names, int present, int *number)
{
    char allowed[128] = "";

    for (int i = 0; NULL != names[i].string; ++i) {
        size_t used = strlen(allowed);

        if (NULL != value && 0 == strcmp(value, names[i].string)) {
            *number = names[i].value;
            return true;
        }
        snprintf(allowed + used, sizeof(allowed) - used, "%s%s", (0 == i) ? "" : ", ",
                 names[i].string);
    }
    refuse(window, key, value, allowed, names[present].string);
    return false;
}

/* A number. */
static bool read_count(const ompi_osc_cached_window_t *window, const char *key, const char *value,
                       ompi_osc_cached_unit_t unit, double least, double most, double present,
                       double *number)
{
    char allowed[128], from[32], to[32], now[32];

    if (ompi_osc_cached_read_number(value, unit, least, most, number)) {
        return true;
    }
    ompi_osc_cached_write_short(least, unit, from, sizeof(from));
    ompi_osc_cached_write_short(most, unit, to, sizeof(to));
    ompi_osc_cached_write_number(present, unit, now, sizeof(now));
    snprintf(allowed, sizeof(allowed), "%s%s to %s",
             (OSC_CACHED_UNIT_BLOCK == unit) ? "0, or a power of two from " : "", from, to);
    refuse(window, key, value, allowed, now);
    return false;
}

void ompi_osc_cached_info_store(const ompi_win_t *win, const char *key, const char *value)
{
    opal_info_t *info = win->super.s_info;

    if (NULL == info) {
        return;
    }
    (void) opal_info_set(info, key, value);
#if OMPI_MAJOR_VERSION < 5
    {
        /* this release reports what the user had asked for, which it keeps under another name */
        char asked[OPAL_MAX_INFO_KEY + 1];
        snprintf(asked, sizeof(asked), OPAL_INFO_SAVE_PREFIX "%s", key);
        (void) opal_info_set(info, asked, value);
    }
#endif
}

static void tell(ompi_osc_cached_window_t *window, const char *key, const char *value)
{
    ompi_osc_cached_info_store(window->win, key, value);
}

/* The library has no coherence; what comes nearest. */
static const char *clampi_mode(const ompi_osc_cached_window_t *window)
{
    return clampi_modes[(OSC_CACHED_MODE_COHERENT == window->mode) ? OSC_CACHED_MODE_TRANSPARENT
                                                                   : window->mode]
        .string;
}

void ompi_osc_cached_info_tell(ompi_osc_cached_window_t *window)
{
    const osc_cached_cache_t *cache = &window->cache;
    char text[32];

    tell(window, "ompi_osc_cached_mode", ompi_osc_cached_modes[window->mode].string);
    tell(window, "CLAMPI_MODE", clampi_mode(window));
    ompi_osc_cached_write_number((double) osc_cached_cache_memory(cache), OSC_CACHED_UNIT_BYTES,
                                 text, sizeof(text));
    tell(window, "ompi_osc_cached_memory", text);
    ompi_osc_cached_write_number(osc_cached_cache_slots(cache), OSC_CACHED_UNIT_COUNT, text,
                                 sizeof(text));
    tell(window, "ompi_osc_cached_entries", text);
    ompi_osc_cached_write_number(cache->config.sample, OSC_CACHED_UNIT_COUNT, text, sizeof(text));
    tell(window, "ompi_osc_cached_sample", text);
    ompi_osc_cached_write_number(cache->config.block, OSC_CACHED_UNIT_BLOCK, text, sizeof(text));
    tell(window, "ompi_osc_cached_block_fetch", text);
    tell(window, "ompi_osc_cached_scheme", ompi_osc_cached_schemes[cache->config.scheme].string);
    tell(window, "ompi_osc_cached_adaptive", truths[cache->config.adaptive].string);
    tell(window, "ompi_osc_cached_stores", ompi_osc_cached_stores[window->stores].string);
    tell(window, "ompi_osc_cached_cooperate",
         ompi_osc_cached_cooperations[window->cooperate].string);
    ompi_osc_cached_write_number(window->coherence_block, OSC_CACHED_UNIT_BLOCK, text,
                                 sizeof(text));
    tell(window, "ompi_osc_cached_block", text);
    tell(window, "ompi_osc_cached_helper", switches[NULL != window->helper].string);
    tell(window, "ompi_osc_cached_share", switches[NULL != window->sharing].string);
    window->told_resizes = cache->resizes;
}

static void set_mode(ompi_osc_cached_window_t *window, int mode)
{
    if (OSC_CACHED_MODE_COHERENT == mode && NULL == window->coherence && window->subscribed) {
        opal_show_help(
            "help-mpi-osc-cached.txt", "no-coherence", true,
            "It was not asked for when the window was created, or could not be had then.",
            opal_process_info.nodename);
    }
    mode = (int) ompi_osc_cached_mode_in_force(window, (ompi_osc_cached_mode_t) mode);
    if (mode == (int) window->mode) {
        return;
    }
    ompi_osc_cached_window_lock(window);
    if (window->cacheable) {
        /* what the old mode has kept is nothing for the new one */
        ompi_osc_cached_window_forget(window);
    }
    if (!(window->ways & OSC_CACHED_WAY_LOOKUP) && OSC_CACHED_EPOCH_NONE != window->epoch) {
        /* in the middle of an epoch: there may be operations that were not counted */
        ompi_osc_cached_lose_count(window);
    }
    window->mode = (ompi_osc_cached_mode_t) mode;
    ompi_osc_cached_window_update(window);
    if (window->subscribed) {
        /* not before all keys were read: this would write over those to come */
        ompi_osc_cached_info_tell(window);
    }
    ompi_osc_cached_window_unlock(window);
}

/* what a key says to ask for the value in force */
#define NOT_GIVEN ""

/* Whether a value is a program's: not a question, and not what was in force before the program said
 * anything. */
static bool is_given(ompi_osc_cached_window_t *window, const char *value)
{
    bool given = 0 != strcmp(value, NOT_GIVEN)
                 && (NULL == window->unless_given || 0 != strcmp(value, window->unless_given));

    if (!window->subscribed) {
        window->given |= given;
    }
    return given;
}

/* Whether an info object of the program holds these very strings as keys, in this order; the first
 * is to say @p name. */
static bool are_in_one_info(const char *first, const char *name, const char *second)
{
    opal_pointer_array_t *table = &ompi_info_f_to_c_table;
    bool found = false;

    if (NULL == table) {
        return true;
    }
    /* an info object leaves the table before it is destroyed */
    opal_mutex_lock(&table->lock);
    for (int i = 0; i < table->size && !found; ++i) {
        ompi_info_t *info = table->addr[i];
        opal_info_entry_t *entry;
        bool behind = false;

        if (NULL == info) {
            continue;
        }
        opal_mutex_lock(info->super.i_lock);
        OPAL_LIST_FOREACH(entry, &info->super.super, opal_info_entry_t)
        {
            found |= behind && second == INFO_KEY(entry);
            /* after: they may be at the same place in turn; and what was there has been freed */
            behind |= first == INFO_KEY(entry) && 0 == strcmp(INFO_KEY(entry), name);
        }
        opal_mutex_unlock(info->super.i_lock);
    }
    opal_mutex_unlock(&table->lock);
    return found;
}

/* Whether the info object that brings the alias has brought our own key before it.  A callback sees
 * the key's string in the info object itself: the one with both strings is it.  (Copies made by
 * MPI_Info_dup share strings in 5.0.  So only an own key that came after the last alias is asked
 * for: then a copy without one of the keys does what it says after its original was used, too.) */
static bool is_overruled(ompi_osc_cached_window_t *window, const char *alias)
{
    const char *own = window->mode_key;

    window->mode_key = NULL;
    return NULL != own && are_in_one_info(own, "ompi_osc_cached_mode", alias);
}

static INFO_CONST char *mode_changed(ompi_osc_cached_window_t *window, INFO_CONST char *key,
                                     INFO_CONST char *value)
{
    int mode;

    window->mode_key = key;
    if (is_given(window, value)
        && read_name(window, key, value, ompi_osc_cached_modes, window->mode, &mode)) {
        set_mode(window, mode);
    }
    return (INFO_CONST char *) ompi_osc_cached_modes[window->mode].string;
}

static INFO_CONST char *clampi_mode_changed(ompi_osc_cached_window_t *window, INFO_CONST char *key,
                                            INFO_CONST char *value)
{
    int mode;

    if (is_overruled(window, key)) {
#if OMPI_MAJOR_VERSION < 5
        /* would report what the program has asked for, unless it was ignored */
        return NULL;
#endif
    } else if (is_given(window, value)
               && read_name(window, key, value, clampi_modes,
                            (OSC_CACHED_MODE_COHERENT == window->mode) ? OSC_CACHED_MODE_TRANSPARENT
                                                                       : (int) window->mode,
                            &mode)) {
        set_mode(window, mode);
    }
    return (INFO_CONST char *) clampi_mode(window);
}

/* A text that lives as long as the process: Open MPI copies it, but only after the return. */
static INFO_CONST char *number_text(double value)
{
    static char texts[8][32];
    static _Atomic unsigned next;
    char *text = texts[atomic_fetch_add_explicit(&next, 1, memory_order_relaxed) % 8] + 31;
    uint64_t rest = (uint64_t) value;

    /* a whole number; each window writes some, and printf takes 10 times as long */
    *text = '\0';
    do {
        *--text = (char) ('0' + rest % 10);
        rest /= 10;
    } while (0 < rest);
    return text;
}

enum { MEMORY_LEAST = 4096 };
#define MEMORY_MOST 0x1p35

static INFO_CONST char *memory_changed(ompi_osc_cached_window_t *window, INFO_CONST char *key,
                                       INFO_CONST char *value)
{
    const osc_cached_cache_t *cache = &window->cache;
    double bytes, present;
    bool given;

    ompi_osc_cached_window_lock(window);
    present = (double) cache->config.memory;
    ompi_osc_cached_window_unlock(window);
    given = is_given(window, value)
            && read_count(window, key, value, OSC_CACHED_UNIT_BYTES, MEMORY_LEAST, MEMORY_MOST,
                          present, &bytes);
    ompi_osc_cached_window_lock(window);
    if (given && window->cacheable) {
        (void) osc_cached_cache_resize_storage(&window->cache, (uint64_t) bytes);
    }
    bytes = (double) osc_cached_cache_memory(cache);
    ompi_osc_cached_window_unlock(window);
    return number_text(bytes);
}

void ompi_osc_cached_info_sizes(opal_info_t *info, osc_cached_config_t *config)
{
    char value[32];
    double bytes;

    if (ompi_osc_cached_read_key(info, "ompi_osc_cached_memory", value, sizeof(value))
        && ompi_osc_cached_read_number(value, OSC_CACHED_UNIT_BYTES, MEMORY_LEAST, MEMORY_MOST,
                                       &bytes)) {
        config->memory = (uint64_t) bytes;
    }
    if (ompi_osc_cached_read_key(info, "ompi_osc_cached_adaptive", value, sizeof(value))) {
        for (int i = 0; NULL != truths[i].string; ++i) {
            config->adaptive =
                (0 == strcmp(truths[i].string, value)) ? truths[i].value : config->adaptive;
        }
    }
}

static INFO_CONST char *entries_changed(ompi_osc_cached_window_t *window, INFO_CONST char *key,
                                        INFO_CONST char *value)
{
    const osc_cached_cache_t *cache = &window->cache;
    double entries, present;
    bool given;

    ompi_osc_cached_window_lock(window);
    present = (double) cache->config.entries;
    ompi_osc_cached_window_unlock(window);
    given = is_given(window, value)
            && read_count(window, key, value, OSC_CACHED_UNIT_COUNT, 16, 0x1p28, present, &entries);
    ompi_osc_cached_window_lock(window);
    if (given && window->cacheable) {
        (void) osc_cached_cache_resize_index(&window->cache, (uint32_t) entries);
    }
    entries = (double) osc_cached_cache_slots(cache);
    ompi_osc_cached_window_unlock(window);
    return number_text(entries);
}

static INFO_CONST char *sample_changed(ompi_osc_cached_window_t *window, INFO_CONST char *key,
                                       INFO_CONST char *value)
{
    double sample;

    if (is_given(window, value)
        && read_count(window, key, value, OSC_CACHED_UNIT_COUNT, 1, 1024,
                      window->cache.config.sample, &sample)) {
        ompi_osc_cached_window_lock(window);
        window->cache.config.sample = (uint32_t) sample;
        ompi_osc_cached_window_unlock(window);
    }
    return number_text(window->cache.config.sample);
}

static INFO_CONST char *block_fetch_changed(ompi_osc_cached_window_t *window, INFO_CONST char *key,
                                            INFO_CONST char *value)
{
    double block;

    if (is_given(window, value)
        && read_count(window, key, value, OSC_CACHED_UNIT_BLOCK, OSC_CACHED_BLOCK_MIN,
                      OSC_CACHED_BLOCK_MAX, window->cache.config.block, &block)) {
        ompi_osc_cached_window_lock(window);
        window->cache.config.block = (uint32_t) block;
        ompi_osc_cached_window_unlock(window);
    }
    return number_text(window->cache.config.block);
}

static INFO_CONST char *scheme_changed(ompi_osc_cached_window_t *window, INFO_CONST char *key,
                                       INFO_CONST char *value)
{
    int scheme;

    if (is_given(window, value)
        && read_name(window, key, value, ompi_osc_cached_schemes, window->cache.config.scheme,
                     &scheme)) {
        ompi_osc_cached_window_lock(window);
        osc_cached_cache_set_scheme(&window->cache, (osc_cached_scheme_t) scheme);
        ompi_osc_cached_window_unlock(window);
    }
    return (INFO_CONST char *) ompi_osc_cached_schemes[window->cache.config.scheme].string;
}

static INFO_CONST char *adaptive_changed(ompi_osc_cached_window_t *window, INFO_CONST char *key,
                                         INFO_CONST char *value)
{
    int adaptive;

    if (is_given(window, value)
        && read_name(window, key, value, truths, window->cache.config.adaptive, &adaptive)) {
        ompi_osc_cached_window_lock(window);
        window->cache.config.adaptive = 0 != adaptive;
        ompi_osc_cached_window_unlock(window);
    }
    return (INFO_CONST char *) truths[window->cache.config.adaptive].string;
}

/* Decided when the window was created. */
static INFO_CONST char *stores_changed(ompi_osc_cached_window_t *window, INFO_CONST char *key,
                                       INFO_CONST char *value)
{
    int wanted;

    if (is_given(window, value)) {
        (void) read_name(window, key, value, ompi_osc_cached_stores, (int) window->stores, &wanted);
    }
    return (INFO_CONST char *) ompi_osc_cached_stores[window->stores].string;
}

static INFO_CONST char *cooperate_changed(ompi_osc_cached_window_t *window, INFO_CONST char *key,
                                          INFO_CONST char *value)
{
    int wanted;

    if (is_given(window, value)) {
        (void) read_name(window, key, value, ompi_osc_cached_cooperations, (int) window->cooperate,
                         &wanted);
    }
    return (INFO_CONST char *) ompi_osc_cached_cooperations[window->cooperate].string;
}

static INFO_CONST char *block_changed(ompi_osc_cached_window_t *window, INFO_CONST char *key,
                                      INFO_CONST char *value)
{
    double wanted;

    if (is_given(window, value)) {
        (void) read_count(window, key, value, OSC_CACHED_UNIT_BLOCK, OSC_CACHED_BLOCK_LEAST,
                          OSC_CACHED_BLOCK_MOST, window->coherence_block, &wanted);
    }
    return number_text(window->coherence_block);
}

/* Decided when the window was created, by all processes together. */
static INFO_CONST char *helper_changed(ompi_osc_cached_window_t *window, INFO_CONST char *key,
                                       INFO_CONST char *value)
{
    int wanted;

    if (is_given(window, value)) {
        (void) read_name(window, key, value, switches, NULL != window->helper, &wanted);
    }
    return (INFO_CONST char *) switches[NULL != window->helper].string;
}

/* The same. */
static INFO_CONST char *share_changed(ompi_osc_cached_window_t *window, INFO_CONST char *key,
                                      INFO_CONST char *value)
{
    int wanted;

    if (is_given(window, value)) {
        (void) read_name(window, key, value, switches, NULL != window->sharing, &wanted);
    }
    return (INFO_CONST char *) switches[NULL != window->sharing].string;
}

static INFO_CONST char *invalidate(ompi_osc_cached_window_t *window, INFO_CONST char *key,
                                   INFO_CONST char *value)
{
    int now;

    if (is_given(window, value) && read_name(window, key, value, truths, false, &now) && now) {
        ompi_osc_cached_count(window, OSC_CACHED_STAT_invalidations);
        ompi_osc_cached_window_invalidate(window);
    }
    return (INFO_CONST char *) "false";
}

/* Open MPI names who has subscribed; the functions above take its window. */
#define OSC_CACHED_INFO(key, function, values, help)                                     \
    static INFO_CONST char *on_##function(opal_infosubscriber_t *subscriber,             \
                                          INFO_CONST char *name, INFO_CONST char *value) \
    {                                                                                    \
        ompi_osc_cached_window_t *window =                                               \
            ompi_osc_cached_window_search((ompi_win_t *) subscriber);                    \
        return NULL == window ? value : function(window, name, value);                   \
    }
#include "osc_cached_info.def"

static const struct {
    const char *key;
    opal_key_interest_callback_t *changed;
} keys[] = {
#define OSC_CACHED_INFO(key, function, values, help) {#key, on_##function},
#include "osc_cached_info.def"
};

enum { KEYS = sizeof(keys) / sizeof(keys[0]), TEXTS = 2 /* entries of a key: see tell() */ };

/* Whether an info object has one of our keys. */
static bool has_keys(const opal_info_t *info)
{
    opal_info_entry_t *entry;

    OPAL_LIST_FOREACH(entry, &info->super, opal_info_entry_t)
    {
        for (int i = 0; i < KEYS; ++i) {
            if (0 == strcmp(keys[i].key, INFO_KEY(entry))) {
                return true;
            }
        }
    }
    return false;
}

/* What Open MPI has for our keys in a window: one list of callbacks and one or two info entries
 * each, 60 to 80 pieces of memory. That is more than all the rest of a window that lives for a
 * moment. So all windows whose program gave no keys have the same lists, which leave a window
 * before it is destroyed, and a window that ends leaves its entries to the next one. */
typedef struct {
    opal_info_entry_t *entries[KEYS][TEXTS]; /* the second may be NULL */
} belongings_t;

static opal_mutex_t lock = OPAL_MUTEX_STATIC_INIT;
static opal_list_t *callbacks[KEYS]; /* of all windows; NULL: there was none yet */
static belongings_t left[4];         /* windows that are made and freed together, mostly fewer */
static int num_left = 0;

/* Whether it is an info entry of one of our keys. */
static bool is_of(const opal_list_item_t *item, int i)
{
    const char *key = INFO_KEY((const opal_info_entry_t *) item);

#if OMPI_MAJOR_VERSION < 5
    if (0 == strncmp(key, OPAL_INFO_SAVE_PREFIX, sizeof(OPAL_INFO_SAVE_PREFIX) - 1)) {
        key += sizeof(OPAL_INFO_SAVE_PREFIX) - 1;
    }
#endif
    return 0 == strcmp(keys[i].key, key);
}

/* The info entries of a window, if they are as they were made; the program may have changed that.
 */
static bool find_belongings(opal_infosubscriber_t *object, belongings_t *all)
{
    opal_list_t *info = &object->s_info->super;
    opal_list_item_t *item = opal_list_get_first(info);

    while (opal_list_get_end(info) != item && !is_of(item, 0)) {
        item = opal_list_get_next(item);
    }
    for (int i = 0; i < KEYS; ++i) {
        for (int k = 0; k < TEXTS; ++k) {
            all->entries[i][k] = NULL;
            if (opal_list_get_end(info) != item && is_of(item, i)) {
                all->entries[i][k] = (opal_info_entry_t *) item;
                item = opal_list_get_next(item);
            }
        }
        if (NULL == all->entries[i][0]) {
            return false;
        }
    }
    return true;
}

/* The callbacks of a key in a window; NULL: none. */
static opal_list_t *callbacks_of(opal_infosubscriber_t *object, int i)
{
    void *list = NULL;

    (void) opal_hash_table_get_value_ptr(&object->s_subscriber_table, keys[i].key,
                                         strlen(keys[i].key), &list);
    return list;
}

/* The lists of the first window become those of all; caller holds the lock. @return whether they do
 */
static bool share_callbacks(opal_infosubscriber_t *object)
{
    for (int i = 0; i < KEYS; ++i) {
        opal_list_t *list = callbacks_of(object, i);

        if (NULL == list || 1 != opal_list_get_size(list)) {
            return false; /* somebody else wants to know, too */
        }
    }
    for (int i = 0; i < KEYS; ++i) {
        callbacks[i] = callbacks_of(object, i);
    }
    return true;
}

void ompi_osc_cached_info_leave(ompi_osc_cached_window_t *window)
{
    opal_infosubscriber_t *object = &window->win->super;
    belongings_t *mine;

    opal_mutex_lock(&lock);
    for (int i = 0; i < KEYS && window->has_common_callbacks; ++i) {
        (void) opal_hash_table_remove_value_ptr(&object->s_subscriber_table, keys[i].key,
                                                strlen(keys[i].key));
    }
    mine = &left[num_left];
    if (window->subscribed && num_left < (int) (sizeof(left) / sizeof(left[0]))
        && find_belongings(object, mine)) {
        ++num_left;
        for (int i = 0; i < KEYS; ++i) {
            for (int k = 0; k < TEXTS && NULL != mine->entries[i][k]; ++k) {
                opal_list_remove_item(&object->s_info->super, &mine->entries[i][k]->super);
            }
        }
    }
    opal_mutex_unlock(&lock);
}

/* Whether the callbacks of all windows are known; then what another window has left, or nothing. */
static bool take_left(belongings_t *mine)
{
    bool known;

    opal_mutex_lock(&lock);
    known = NULL != callbacks[0];
    if (known && 0 < num_left) {
        *mine = left[--num_left];
    } else {
        memset(mine, 0, sizeof(*mine));
    }
    opal_mutex_unlock(&lock);
    return known;
}

void ompi_osc_cached_info_finalize(void)
{
    for (; 0 < num_left; --num_left) {
        for (int i = 0; i < KEYS; ++i) {
            for (int k = 0; k < TEXTS && NULL != left[num_left - 1].entries[i][k]; ++k) {
                OBJ_RELEASE(left[num_left - 1].entries[i][k]);
            }
        }
    }
    for (int i = 0; i < KEYS && NULL != callbacks[i]; ++i) {
        OPAL_LIST_RELEASE(callbacks[i]);
        callbacks[i] = NULL;
    }
}

static INFO_CONST char *in_force(ompi_osc_cached_window_t *window, int i)
{
    return keys[i].changed(&window->win->super, (INFO_CONST char *) keys[i].key,
                           (INFO_CONST char *) NOT_GIVEN);
}

/* Open MPI looks for each key among all that the window has, several times, which takes most of the
 * time: where there are none of ours, it shall find none but the present one. */
static int subscribe(ompi_osc_cached_window_t *window, bool none)
{
    opal_info_t **info = &window->win->super.s_info, *all = *info;
    opal_info_t *fresh = none ? OBJ_NEW(opal_info_t) : NULL;
    int ret = OMPI_SUCCESS;

    for (int i = 0; i < KEYS && OMPI_SUCCESS == ret; ++i) {
        INFO_CONST char *value = in_force(window, i);

        window->unless_given = value;
        *info = (NULL == fresh) ? all : fresh;
        ret = opal_infosubscribe_subscribe(&window->win->super, (INFO_CONST char *) keys[i].key,
                                           value, keys[i].changed);
        window->unless_given = NULL;
        if (NULL != fresh) {
            opal_list_join(&all->super, opal_list_get_end(&all->super), &fresh->super);
            *info = all;
        }
    }
    if (NULL != fresh) {
        OBJ_RELEASE(fresh);
    }
    if (none && OMPI_SUCCESS == ret) {
        opal_mutex_lock(&lock);
        window->has_common_callbacks = NULL == callbacks[0] && share_callbacks(&window->win->super);
        opal_mutex_unlock(&lock);
    }
    return ret;
}

/* The same with the callbacks of all windows, and what another one has left. */
static int subscribe_again(ompi_osc_cached_window_t *window, const belongings_t *mine)
{
    opal_infosubscriber_t *object = &window->win->super;
    opal_info_t *all = object->s_info;
    opal_info_t *fresh = (NULL == mine->entries[0][0]) ? OBJ_NEW(opal_info_t) : NULL;

    window->has_common_callbacks = true;
    for (int i = 0; i < KEYS; ++i) {
        const char *value = in_force(window, i);
        bool same = NULL != mine->entries[i][0];

        (void) opal_hash_table_set_value_ptr(&object->s_subscriber_table, keys[i].key,
                                             strlen(keys[i].key), callbacks[i]);
        for (int k = 0; k < TEXTS && NULL != mine->entries[i][k]; ++k) {
            same = same && 0 == strcmp(value, INFO_VALUE(mine->entries[i][k]));
            opal_list_append(&all->super, &mine->entries[i][k]->super);
        }
        object->s_info = (NULL == fresh) ? all : fresh;
        if (!same) {
            tell(window, keys[i].key, value);
        }
        object->s_info = all;
        if (NULL != fresh) {
            opal_list_join(&all->super, opal_list_get_end(&all->super), &fresh->super);
        }
    }
    if (NULL != fresh) {
        OBJ_RELEASE(fresh);
    }
    return OMPI_SUCCESS;
}

/* The window's own info has what the program gave, and Open MPI 4.1 tells all of that. */
static void remove_keys(const ompi_osc_cached_window_t *window)
{
    for (int i = 0; i < KEYS && NULL != window->win->super.s_info; ++i) {
        (void) opal_info_delete(window->win->super.s_info, (INFO_CONST char *) keys[i].key);
    }
}

int ompi_osc_cached_info_subscribe(ompi_osc_cached_window_t *window)
{
    const opal_info_t *info = window->win->super.s_info;
    bool none = NULL != info && !has_keys(info);
    belongings_t mine;
    int ret;

    if (!window->cacheable) {
        remove_keys(window);
        return OMPI_SUCCESS;
    }
    ret = (none && take_left(&mine)) ? subscribe_again(window, &mine) : subscribe(window, none);
    window->subscribed = true;
    if (window->given) {
        /* else all is as it was when Open MPI was told of it */
        ompi_osc_cached_info_tell(window);
    }
    return ret;
}
