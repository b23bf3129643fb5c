/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Rules that choose the settings of windows from outside of the program:
 *
 *     name=graph*: mode=always memory=64M; size>1G kind=allocate: mode=off
 *
 *     rules       rule { ";" rule }
 *     rule        condition { condition } ":" setting { setting }
 *     condition   name=PATTERN | kind=KIND | size OP NUMBER | processes OP NUMBER
 *     OP          = < > <= >=
 *     setting     KEY=VALUE
 *
 * Spaces and commas separate.  In a PATTERN, * stands for any characters and ? for one; the others
 * stand for themselves.  All conditions of a rule must hold.  All rules that match a window count,
 * a later one overrides an earlier one.
 *
 * A window gets its name after it was created.  So a rule without a condition on the name is for
 * its creation, the others are for the moment at which the name is looked at.
 */

#ifndef OSC_CACHED_RULES_H
#define OSC_CACHED_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    OSC_CACHED_RULES_MAX = 64,         /**< rules */
    OSC_CACHED_RULES_TEXT_MAX = 8192,  /**< bytes of all of them */
    OSC_CACHED_RULES_SETTINGS_MAX = 16 /**< keys */
};

/** Bits of the kinds of windows. */
typedef enum {
    OSC_CACHED_KIND_CREATE = 1,
    OSC_CACHED_KIND_ALLOCATE = 2,
    OSC_CACHED_KIND_DYNAMIC = 4,
    OSC_CACHED_KIND_SHARED = 8,
} osc_cached_kind_t;

/** A setting that rules may have. */
typedef struct {
    const char *key;
    const char *values; /**< that are allowed, in the words of whoever checks them */
    bool early;         /**< needed before sizes are known: no condition on size or name */
} osc_cached_rules_setting_t;

typedef struct {
    const char *name;               /**< NULL: any */
    uint64_t size[2], processes[2]; /**< least, most */
    unsigned kinds;
    const char *values[OSC_CACHED_RULES_SETTINGS_MAX]; /**< NULL: not set */
} osc_cached_rule_t;

typedef struct {
    int count;
    bool has_names; /**< some rule looks at the name */
    osc_cached_rule_t rules[OSC_CACHED_RULES_MAX];
    char text[OSC_CACHED_RULES_TEXT_MAX]; /**< that names and values point to */
} osc_cached_rules_t;

/** A window to be matched. */
typedef struct {
    const char *name; /**< NULL: not known yet, rules that look at it do not match */
    uint64_t size;    /**< bytes of its largest part */
    uint64_t processes;
    osc_cached_kind_t kind;
} osc_cached_rules_window_t;

/**
 * Read rules.
 *
 * @param[out] rules  none when the text is wrong
 * @param is_allowed  whether a setting may have a value
 * @param[out] where  the character that is wrong
 * @return NULL, or what is wrong
 */
const char *osc_cached_rules_read(osc_cached_rules_t *rules, const char *text,
                                  const osc_cached_rules_setting_t *settings, int num_settings,
                                  bool (*is_allowed)(const char *values, const char *value),
                                  size_t *where);
/**
 * The value of a setting for a window; NULL: no rule has one.
 *
 * @param[out] by_name  the rule that has it looks at the name
 */
const char *osc_cached_rules_value(const osc_cached_rules_t *rules,
                                   const osc_cached_rules_window_t *window, int setting,
                                   bool *by_name);

/** Whether a pattern matches a name. */
bool osc_cached_rules_matches(const char *pattern, const char *name);

#endif /* OSC_CACHED_RULES_H */
