/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "osc_cached_rules.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    osc_cached_kind_t kind;
} kinds[] = {
    {"create", OSC_CACHED_KIND_CREATE},
    {"allocate", OSC_CACHED_KIND_ALLOCATE},
    {"dynamic", OSC_CACHED_KIND_DYNAMIC},
    {"shared", OSC_CACHED_KIND_SHARED},
};

/* Where the reader is. */
typedef struct {
    const char *at;
    const char *wrong; /* NULL: nothing */
    char *text;        /* room for what is wrong: then no rule needs its words */
    char *kept;        /* where the next name or value is copied to */
    const osc_cached_rules_setting_t *settings;
    int num_settings;
    bool (*is_allowed)(const char *values, const char *value);
} reader_t;

static bool refuse(reader_t *reader, const char *at, const char *why)
{
    reader->at = at;
    reader->wrong = why;
    return false;
}

static void skip(reader_t *reader)
{
    reader->at += strspn(reader->at, " ,\t\n");
}

static size_t word_length(const char *at)
{
    return strspn(at, "abcdefghijklmnopqrstuvwxyz_");
}

/* Whether the next letters are this word. */
static bool is_word(const char *at, const char *word)
{
    return strlen(word) == word_length(at) && 0 == strncmp(at, word, strlen(word));
}

/* Characters up to the next separator. */
static size_t value_length(const char *at)
{
    return strcspn(at, " ,\t\n:;");
}

/* The next value; where the text has a separator or its end, the copy has its end. */
static const char *keep(reader_t *reader)
{
    size_t length = value_length(reader->at);
    char *kept = reader->kept;

    memcpy(kept, reader->at, length);
    kept[length] = '\0';
    reader->kept += length + 1;
    reader->at += length;
    return kept;
}

static bool read_number(reader_t *reader, uint64_t *value)
{
    static const char suffixes[] = "KkMmGgTt";
    const char *begin = reader->at, *suffix;

    for (*value = 0; '0' <= *reader->at && *reader->at <= '9'; ++reader->at) {
        uint64_t digit = (uint64_t) (*reader->at - '0');

        if ((UINT64_MAX - digit) / 10 < *value) {
            return refuse(reader, begin, "this number is too large");
        }
        *value = 10 * *value + digit;
    }
    if (begin == reader->at) {
        return refuse(reader, begin, "a number is needed here");
    }
    suffix = ('\0' == *reader->at) ? NULL : strchr(suffixes, *reader->at);
    if (NULL != suffix) {
        int shift = 10 * (int) ((suffix - suffixes) / 2 + 1);

        if (UINT64_MAX >> shift < *value) {
            return refuse(reader, begin, "this number is too large");
        }
        *value <<= shift;
        ++reader->at;
    }
    return 0 == value_length(reader->at)
           || refuse(reader, reader->at, "a number is digits, and K, M, G or T");
}

/* "size > 1G" makes the range smaller. */
static bool read_range(reader_t *reader, uint64_t range[2])
{
    const char *begin;
    uint64_t value;
    bool equal;

    reader->at += word_length(reader->at);
    reader->at += strspn(reader->at, " \t");
    begin = reader->at;
    if ('=' != *begin && '<' != *begin && '>' != *begin) {
        return refuse(reader, begin, "=, <, >, <= or >= is needed here");
    }
    equal = '=' == begin[0] || '=' == begin[1];
    reader->at += 1 + ('=' != begin[0] && equal);
    reader->at += strspn(reader->at, " \t");
    if (!read_number(reader, &value)) {
        return false;
    }
    if (!equal && (('<' == *begin) ? 0 : UINT64_MAX) == value) {
        return refuse(reader, begin,
                      ('<' == *begin) ? "nothing is smaller than 0"
                                      : "nothing is larger than that");
    }
    if ('<' != *begin && range[0] < value + !equal) {
        range[0] = value + !equal;
    }
    if ('>' != *begin && value - !equal < range[1]) {
        range[1] = value - !equal;
    }
    return true;
}

/* KEY=, and something behind it. */
static bool read_equals(reader_t *reader)
{
    reader->at += word_length(reader->at);
    if ('=' != *reader->at) {
        return refuse(reader, reader->at, "= is needed here");
    }
    ++reader->at;
    return 0 < value_length(reader->at) || refuse(reader, reader->at, "a value is needed here");
}

static bool read_kind(reader_t *reader, unsigned *allowed)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); ++i) {
        if (strlen(kinds[i].name) == value_length(reader->at)
            && 0 == strncmp(reader->at, kinds[i].name, strlen(kinds[i].name))) {
            *allowed &= kinds[i].kind;
            reader->at += strlen(kinds[i].name);
            return true;
        }
    }
    return refuse(reader, reader->at, "a kind is create, allocate, dynamic or shared");
}

static bool read_condition(reader_t *reader, osc_cached_rule_t *rule)
{
    const char *begin = reader->at;

    if (is_word(begin, "size")) {
        return read_range(reader, rule->size);
    }
    if (is_word(begin, "processes")) {
        return read_range(reader, rule->processes);
    }
    if (is_word(begin, "kind")) {
        return read_equals(reader) && read_kind(reader, &rule->kinds);
    }
    if (!is_word(begin, "name")) {
        return refuse(reader, begin, "a condition is needed here: name, size, kind or processes");
    }
    if (NULL != rule->name) {
        return refuse(reader, begin, "a rule has one pattern of names");
    }
    if (!read_equals(reader)) {
        return false;
    }
    rule->name = keep(reader);
    return true;
}

static bool read_setting(reader_t *reader, osc_cached_rule_t *rule)
{
    const osc_cached_rules_setting_t *settings = reader->settings;
    const char *begin = reader->at;
    int i = 0;

    while (i < reader->num_settings && !is_word(begin, settings[i].key)) {
        ++i;
    }
    if (reader->num_settings == i) {
        return refuse(reader, begin,
                      (0 == word_length(begin)) ? "a setting is needed here"
                                                : "there is no such setting");
    }
    if (settings[i].early
        && (NULL != rule->name || 0 < rule->size[0] || rule->size[1] < UINT64_MAX)) {
        return refuse(reader, begin,
                      "name and size are not known yet when this is set: use other conditions");
    }
    if (!read_equals(reader)) {
        return false;
    }
    begin = reader->at;
    rule->values[i] = keep(reader);
    if (reader->is_allowed(settings[i].values, rule->values[i])) {
        return true;
    }
    snprintf(reader->text, OSC_CACHED_RULES_TEXT_MAX, "this value is not allowed, only %s",
             settings[i].values);
    return refuse(reader, begin, reader->text);
}

static bool read_rule(reader_t *reader, osc_cached_rule_t *rule)
{
    *rule =
        (osc_cached_rule_t){.size = {0, UINT64_MAX}, .processes = {0, UINT64_MAX}, .kinds = ~0u};
    do {
        if (!read_condition(reader, rule)) {
            return false;
        }
        skip(reader);
    } while (':' != *reader->at && ';' != *reader->at && '\0' != *reader->at);
    if (':' != *reader->at) {
        return refuse(reader, reader->at, ": and a setting are needed here");
    }
    ++reader->at;
    skip(reader);
    do {
        if (!read_setting(reader, rule)) {
            return false;
        }
        skip(reader);
        if (':' == *reader->at) {
            return refuse(reader, reader->at, "; is needed between two rules");
        }
    } while (';' != *reader->at && '\0' != *reader->at);
    return true;
}

const char *osc_cached_rules_read(osc_cached_rules_t *rules, const char *text,
                                  const osc_cached_rules_setting_t *settings, int num_settings,
                                  bool (*is_allowed)(const char *values, const char *value),
                                  size_t *where)
{
    reader_t reader = {.at = text,
                       .text = rules->text,
                       .kept = rules->text,
                       .settings = settings,
                       .num_settings = num_settings,
                       .is_allowed = is_allowed};

    rules->count = 0;
    rules->has_names = false;
    if (OSC_CACHED_RULES_TEXT_MAX <= strlen(text)) {
        (void) refuse(&reader, text + OSC_CACHED_RULES_TEXT_MAX - 1, "this is too long");
    }
    for (skip(&reader); NULL == reader.wrong && '\0' != *reader.at; skip(&reader)) {
        if (';' == *reader.at) {
            ++reader.at;
        } else if (OSC_CACHED_RULES_MAX == rules->count) {
            (void) refuse(&reader, reader.at, "there are too many rules");
        } else if (read_rule(&reader, &rules->rules[rules->count])) {
            rules->has_names |= NULL != rules->rules[rules->count].name;
            ++rules->count;
        }
    }
    if (NULL != reader.wrong) {
        rules->count = 0;
        rules->has_names = false;
        *where = (size_t) (reader.at - text);
    }
    return reader.wrong;
}

bool osc_cached_rules_matches(const char *pattern, const char *name)
{
    const char *star = NULL, *from = NULL; /* the last *, and where what it stands for may end */

    while ('\0' != *name) {
        if ('*' == *pattern) {
            star = ++pattern;
            from = name;
        } else if ('?' == *pattern || *name == *pattern) {
            ++pattern;
            ++name;
        } else if (NULL != star) {
            pattern = star;
            name = ++from;
        } else {
            return false;
        }
    }
    return '\0' == pattern[strspn(pattern, "*")];
}

static bool is_for(const osc_cached_rule_t *rule, const osc_cached_rules_window_t *window)
{
    return rule->size[0] <= window->size && window->size <= rule->size[1]
           && rule->processes[0] <= window->processes && window->processes <= rule->processes[1]
           && 0 != (rule->kinds & window->kind)
           && (NULL == rule->name
               || (NULL != window->name && osc_cached_rules_matches(rule->name, window->name)));
}

const char *osc_cached_rules_value(const osc_cached_rules_t *rules,
                                   const osc_cached_rules_window_t *window, int setting,
                                   bool *by_name)
{
    for (int i = rules->count - 1; 0 <= i; --i) {
        const osc_cached_rule_t *rule = &rules->rules[i];

        if (NULL != rule->values[setting] && is_for(rule, window)) {
            *by_name = NULL != rule->name;
            return rule->values[setting];
        }
    }
    return NULL;
}
