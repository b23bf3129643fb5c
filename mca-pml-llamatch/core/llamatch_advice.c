/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Samples of searches, what lists would have cost, and what follows from that: see the header.
 */
#include "llamatch_advice.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- lists ---------------------------------------------------------------------------------- */

/* As ob1's receive request, 768 bytes: the list's pointers and the tag are in different lines;
 * those of a message are side by side. Volatile, for nobody looks at what a walk has found. */
typedef struct element {
    char before[16];
    struct element *volatile next;
    char between[40];
    volatile int32_t message_tag;
    char behind[424];
    volatile int32_t receive_tag;
    char rest[272];
} element_t;

_Static_assert(768 == sizeof(element_t), "as in ob1");

/* Each length is walked so often, and the best time counts: others are those of the system. */
#define WALKS 5

/* Elements from one that is left to the next at most; at least 1. */
#define GAPS 3

static size_t list_size(int which)
{
    return (size_t) 16 << 2 * which;
}

/* A closed list of some of the elements, in the order of their addresses: requests that are waited
 * for together are freed, and used again, one after the other. Gaps are where matches were taken.
 */
static void link_elements(element_t *elements, size_t count)
{
    element_t *element = elements;
    uint32_t random = 1;

    for (; 0 < count; --count) {
        random = random * 1664525 + 1013904223;
        element->message_tag = 0;
        element->receive_tag = 0;
        element->next = (1 == count) ? elements : element + 1 + (random >> 16) % GAPS;
        element = element->next;
    }
}

static void walk_elements(const element_t *element, size_t count, bool messages)
{
    for (; 0 < count && 0 == (messages ? element->message_tag : element->receive_tag); --count) {
        element = element->next;
    }
}

/* ns per element of a list; lists->clock_ns gets those of the clock. */
static double measure_list(llamatch_lists_t *lists, element_t *elements, size_t length,
                           bool messages)
{
    size_t passed = 1024 + length;
    double least = 1e18;

    link_elements(elements, length);
    for (int i = 0; i < WALKS; ++i) {
        uint64_t begin = lists->clock(), middle = lists->clock(), end;

        walk_elements(elements, passed, messages);
        end = lists->clock();
        if ((double) (middle - begin) < lists->clock_ns) {
            lists->clock_ns = (double) (middle - begin);
        }
        if ((double) (end - middle) < least) {
            least = (double) (end - middle);
        }
    }
    return least / (double) passed;
}

bool llamatch_lists_measure(llamatch_lists_t *lists, llamatch_clock_fn_t clock)
{
    element_t *elements = malloc(GAPS * list_size(LLAMATCH_LIST_SIZES - 1) * sizeof(*elements));

    if (NULL == elements) {
        return false;
    }
    lists->clock = clock;
    lists->clock_ns = 1e18;
    for (int i = 0; i < LLAMATCH_LIST_SIZES; ++i) {
        lists->ns[false][i] = measure_list(lists, elements, list_size(i), false);
        lists->ns[true][i] = measure_list(lists, elements, list_size(i), true);
    }
    free(elements);
    return true;
}

double llamatch_lists_ns(const llamatch_lists_t *lists, bool messages, uint64_t elements,
                         uint64_t among)
{
    const double *ns = lists->ns[messages];
    double each;
    int i = 1;

    while (i + 1 < LLAMATCH_LIST_SIZES && list_size(i) < among) {
        ++i;
    }
    if (among <= list_size(0) || list_size(i) <= among) {
        each = ns[(among <= list_size(0)) ? 0 : i];
    } else { /* on the line between the two lengths that were measured */
        each = ns[i - 1]
               + (ns[i] - ns[i - 1]) * ((double) among - (double) list_size(i - 1))
                     / (double) (list_size(i) - list_size(i - 1));
    }
    return (double) elements * each;
}

/* --- samples -------------------------------------------------------------------------------- */

/* ns that a line from memory takes at most: what took longer was the system, or another process. */
#define LINE_NS 250

void llamatch_watch_init(llamatch_watch_t *watch, const llamatch_lists_t *lists)
{
    memset(watch, 0, sizeof(*watch));
    watch->left = 1;
    watch->interval = 1;
    watch->random = 1;
    watch->lists = lists;
}

static uint64_t number_at(const llamatch_shape_t *shape, llamatch_pos_t pos)
{
    return (NULL == pos.node) ? UINT64_MAX : llamatch_node_slots(shape, pos.node)[pos.index].seq;
}

/* The number of the first entry of a lane that a message, or a receive, matches; UINT64_MAX: none.
 * As the engine's search, but that the lane keeps its form and nothing is counted. */
static uint64_t first_match(const llamatch_engine_t *engine, llamatch_lane_t *lane, bool of_message,
                            int32_t tag, uint64_t *examined)
{
    const llamatch_setup_t *setup = engine->setup;
    const llamatch_shape_t *shape = of_message ? &setup->posted_shape : &setup->unexpected_shape;
    llamatch_key_t key = of_message ? llamatch_key_of_message(tag) : llamatch_key_of_receive(tag);
    uint64_t number, other;

    if (0 == lane->live) {
        return UINT64_MAX;
    }
    if (llamatch_lane_has_front(lane)) {
        uint32_t index = llamatch_lane_find(lane, key);

        *examined += llamatch_lane_depth(lane, index);
        if (LLAMATCH_SHORT_MAX != index) {
            return lane->slots[index].seq;
        }
        if (llamatch_lane_is_short(lane)) {
            return UINT64_MAX;
        }
    }
    if (!llamatch_lane_has_index(lane) || (!of_message && LLAMATCH_ANY_TAG == tag)) {
        return number_at(shape,
                         llamatch_queue_find(&lane->queue, shape, key, UINT64_MAX, examined));
    }
    number =
        number_at(shape, llamatch_index_find(&setup->indexing, &lane->queue, shape, tag, examined));
    if (of_message && 0 <= tag && 0 != lane->queue.index->any_tags) {
        other = number_at(shape, llamatch_index_find(&setup->indexing, &lane->queue, shape,
                                                     LLAMATCH_ANY_TAG, examined));
        number = (other < number) ? other : number;
    }
    return number;
}

static uint64_t count_of(const llamatch_lane_t *lane)
{
    return (0 == lane->live) ? 0 : llamatch_lane_count(lane);
}

/* Entries of a lane up to a number. */
static uint64_t entries_until(const llamatch_lane_t *lane, const llamatch_shape_t *shape,
                              uint64_t number)
{
    uint64_t count = 0;

    if (0 == lane->live || UINT64_MAX == number) {
        return count_of(lane);
    }
    if (llamatch_lane_has_front(lane)) {
        for (uint64_t live = lane->live;
             0 != live && lane->slots[__builtin_ctzll(live)].seq <= number; live &= live - 1) {
            ++count;
        }
    }
    if (llamatch_lane_is_short(lane)) {
        return count;
    }
    for (const llamatch_node_t *node = lane->queue.head; NULL != node && node->first_seq <= number;
         node = node->next) {
        if (NULL != node->next && node->next->first_seq <= number) {
            count += node->live;
        } else {
            for (uint32_t i = llamatch_node_next(node, 0);
                 i < node->end && llamatch_node_slots(shape, node)[i].seq <= number;
                 i = llamatch_node_next(node, i + 1)) {
                ++count;
            }
        }
    }
    return count;
}

/* Before a sample: the next one. @return how many searches this one stands for */
static uint64_t begin_sample(llamatch_watch_t *watch, const llamatch_engine_t *engine)
{
    uint64_t stands_for = watch->interval;

    if (0
        == (watch->seen.samples
            & (watch->seen.samples - 1))) { /* not each time: there may be many */
        watch->peers = 0;
        for (const llamatch_peer_t *peer = engine->peers; NULL != peer; peer = peer->next) {
            ++watch->peers;
        }
    }
    if (LLAMATCH_SAMPLED_FIRST < ++watch->seen.samples) {
        watch->random = watch->random * 1664525 + 1013904223;
        watch->interval = 128 + (watch->random >> 24);
    }
    watch->left = watch->interval;
    return stands_for;
}

/* A search, of messages or of receives, that lists have something to pass for: of a part of all
 * entries that wait, the others of which are searched in the same way. */
static void end_sample(llamatch_watch_t *watch, uint64_t stands_for, bool messages, bool is_wild,
                       uint64_t passed, double part, uint64_t examined, const uint64_t times[3])
{
    llamatch_seen_t *seen = &watch->seen;
    double warm_ns = (double) (times[2] - times[1]);
    double cold_ns = (double) (times[1] - times[0]) - warm_ns, weight = (double) stands_for;
    double cold_most = LINE_NS * (4 + (double) examined / 16);

    seen->searches += stands_for;
    seen->wildcards += is_wild ? stands_for : 0;
    seen->passed += passed * stands_for;
    if (seen->passed_max < passed) {
        seen->passed_max = passed;
    }
    if (LLAMATCH_SMALL_ENTRIES < passed && 0 < cold_ns) {
        seen->cold_ns += weight * ((cold_ns < cold_most) ? cold_ns : cold_most);
    }
    if (1 < passed) {
        double search_ns = warm_ns - watch->lists->clock_ns;

        seen->list_ns += weight
                         * llamatch_lists_ns(watch->lists, messages, passed - 1,
                                             (uint64_t) ((double) (passed - 1) / part));
        seen->search_ns += weight * ((search_ns < cold_most) ? search_ns : cold_most);
    }
}

static double part_of(uint64_t entries, uint64_t all)
{
    return (0 < entries && entries < all) ? (double) entries / (double) all : 1;
}

void llamatch_watch_message(llamatch_watch_t *watch, llamatch_engine_t *engine,
                            llamatch_peer_t *peer, int32_t tag)
{
    const llamatch_shape_t *shape = &engine->setup->posted_shape;
    uint64_t stands_for = begin_sample(watch, engine), times[3], number = 0, passed;
    uint64_t examined = 0;

    if (0 == peer->posted.live && 0 == engine->wild.live) {
        return;
    }
    times[0] = watch->lists->clock();
    for (int i = 1; i < 3; ++i) {
        uint64_t other;

        examined = 0;
        number = first_match(engine, &peer->posted, true, tag, &examined);
        other = first_match(engine, &engine->wild, true, tag, &examined);
        number = (other < number) ? other : number;
        times[i] = watch->lists->clock();
    }
    passed =
        entries_until(&peer->posted, shape, number) + entries_until(&engine->wild, shape, number);
    end_sample(watch, stands_for, false, 0 != engine->wild.live, passed,
               part_of(count_of(&peer->posted) + count_of(&engine->wild), engine->num_posted),
               examined, times);
}

/* Search the messages of a peer; *passed, unless NULL, gets what a list would be passed of.
 * @return whether there is one */
static bool search_messages(const llamatch_engine_t *engine, llamatch_peer_t *peer, int32_t tag,
                            uint64_t *passed, uint64_t *examined)
{
    uint64_t number = first_match(engine, &peer->unexpected, false, tag, examined);

    if (NULL != passed) {
        *passed += entries_until(&peer->unexpected, &engine->setup->unexpected_shape, number);
    }
    return UINT64_MAX != number;
}

/* The same of all peers, in the order of the ring. ob1 asks all that it knows one after the other,
 * from the one that had a message last time on: those with messages are taken for evenly spread.
 * That it does not know the peer of a rank it learns from a pointer, eight of which are in a line.
 */
static void search_peers(const llamatch_watch_t *watch, const llamatch_engine_t *engine,
                         int32_t tag, size_t ranks, uint64_t *passed, uint64_t *examined)
{
    llamatch_peer_t *peer = engine->ring;
    uint64_t asked = watch->peers + ranks / 8, with_messages = 0;
    bool found = false;

    if (NULL != peer) {
        do {
            if (0 != peer->unexpected.live) {
                ++with_messages;
                found = found || search_messages(engine, peer, tag, passed, examined);
            }
            peer = peer->ring_next;
        } while (peer != engine->ring && with_messages < 256 && !(found && NULL == passed));
    }
    if (NULL != passed) {
        *passed += found ? asked / with_messages : asked;
    }
}

void llamatch_watch_receive(llamatch_watch_t *watch, llamatch_engine_t *engine,
                            llamatch_peer_t *peer, int32_t tag, size_t ranks)
{
    uint64_t stands_for = begin_sample(watch, engine), times[4], passed = 0, examined = 0;

    if (NULL != peer && 0 == peer->unexpected.live) {
        return;
    }
    times[0] = watch->lists->clock();
    for (int i = 1; i < 4; ++i) {
        uint64_t *counted = (3 == i) ? &passed : NULL;

        examined = 0;
        if (NULL != peer) {
            (void) search_messages(engine, peer, tag, counted, &examined);
        } else {
            search_peers(watch, engine, tag, ranks, counted, &examined);
        }
        times[i] = watch->lists->clock();
    }
    if (0 < passed) {
        end_sample(watch, stands_for, true, NULL == peer, passed,
                   (NULL == peer) ? 1
                                  : part_of(count_of(&peer->unexpected), engine->num_unexpected),
                   examined, times);
    }
}

/* --- advice --------------------------------------------------------------------------------- */

/* Less than this part of the run is not worth a setting: runs differ by more. */
#define WORTH_IT 0.01

/* Of what it costs that queues are not in a process's own caches. The heater has them in one that
 * is shared, from which they still have to come. */
#define HEATER_SAVES 0.5

static double larger(double a, double b)
{
    return (a < b) ? b : a;
}

static void add_seen(llamatch_seen_t *to, const llamatch_seen_t *seen)
{
    to->samples += seen->samples;
    to->searches += seen->searches;
    to->wildcards += seen->wildcards;
    to->passed += seen->passed;
    to->passed_max = (to->passed_max < seen->passed_max) ? seen->passed_max : to->passed_max;
    to->list_ns += seen->list_ns;
    to->search_ns += seen->search_ns;
    to->cold_ns += seen->cold_ns;
}

/* The row with this name, or a new one, or that of all which are too many. */
static llamatch_row_t *row_of(llamatch_advice_t *advice, const char *name)
{
    llamatch_row_t *row = advice->rows, *last = &advice->rows[LLAMATCH_ADVICE_ROWS - 1];

    while (row < advice->rows + advice->count
           && 0 != strncmp(row->name, name, LLAMATCH_ADVICE_NAME - 1)) {
        ++row;
    }
    if (row < advice->rows + advice->count) {
        return row;
    }
    if (row > last) {
        snprintf(last->name, sizeof(last->name), "(others)");
        return last;
    }
    ++advice->count;
    memset(row, 0, sizeof(*row));
    snprintf(row->name, sizeof(row->name), "%s", name);
    return row;
}

void llamatch_advice_add(llamatch_advice_t *advice, const char *name, const llamatch_watch_t *watch,
                         const llamatch_engine_t *engine)
{
    llamatch_row_t *row;
    uint32_t most = (engine->most_posted < engine->most_unexpected) ? engine->most_unexpected
                                                                    : engine->most_posted;

    if (0 == watch->seen.searches) {
        return;
    }
    row = row_of(advice, name);
    row->processes = 1;
    row->peers = (row->peers < watch->peers) ? watch->peers : row->peers;
    row->waiting = (row->waiting < most) ? most : row->waiting;
    add_seen(&row->seen, &watch->seen);
    row->saved_ns = row->seen.list_ns - row->seen.search_ns;
    row->cold_ns = row->seen.cold_ns;
}

void llamatch_advice_join(llamatch_advice_t *advice, const llamatch_advice_t *other)
{
    advice->heated |= other->heated;
    advice->no_core |= other->no_core;
    advice->run_ns = larger(advice->run_ns, other->run_ns);
    for (uint32_t i = 0; i < other->count; ++i) {
        const llamatch_row_t *from = &other->rows[i];
        llamatch_row_t *row = row_of(advice, from->name);

        row->saved_ns =
            (0 == row->processes) ? from->saved_ns : larger(row->saved_ns, from->saved_ns);
        row->cold_ns = larger(row->cold_ns, from->cold_ns);
        row->processes += from->processes;
        row->peers = (row->peers < from->peers) ? from->peers : row->peers;
        row->waiting = (row->waiting < from->waiting) ? from->waiting : row->waiting;
        add_seen(&row->seen, &from->seen);
    }
}

/* What a row comes to. */
typedef struct {
    bool engine, heater; /* is it worth it? */
    bool no_core;        /* the heater would be, with more cores */
    double saved_ns;     /* by what is worth it */
    double run_ns;       /* of the job with ob1 */
} judgement_t;

static judgement_t judge(const llamatch_advice_t *advice, const llamatch_row_t *row)
{
    judgement_t judgement = {.run_ns = larger(1, advice->run_ns + row->saved_ns)};
    double worth_it = WORTH_IT * judgement.run_ns, by_heater = HEATER_SAVES * row->cold_ns;

    judgement.heater = !advice->heated && !advice->no_core && by_heater >= worth_it;
    judgement.no_core = !advice->heated && advice->no_core && by_heater >= worth_it;
    judgement.engine = row->saved_ns >= worth_it;
    judgement.saved_ns =
        (judgement.engine ? row->saved_ns : 0) + (judgement.heater ? by_heater : 0);
    return judgement;
}

/* --- text ----------------------------------------------------------------------------------- */

typedef struct {
    char *at;
    size_t left;
} text_t;

__attribute__((format(printf, 2, 3))) static void add(text_t *text, const char *format, ...)
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

static void add_time(text_t *text, double ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    int unit = 0;

    for (; unit < 3 && 999.5 <= ns; ++unit) {
        ns /= 1000;
    }
    add(text, "%.*f %s",
        (ns < 9.995 && 0 < unit)   ? 2
        : (ns < 99.95 && 0 < unit) ? 1
                                   : 0,
        ns, units[unit]);
}

static const char *verdict(const llamatch_advice_t *advice, const llamatch_row_t *row)
{
    judgement_t judgement = judge(advice, row);

    return judgement.heater   ? "use llamatch with its heater"
           : judgement.engine ? "use llamatch"
                              : "nothing to gain";
}

static const char *of_many(uint64_t count)
{
    return (1 == count) ? "" : "s";
}

static void add_reason(text_t *text, const llamatch_advice_t *advice, const llamatch_row_t *row)
{
    const llamatch_seen_t *seen = &row->seen;
    judgement_t judgement = judge(advice, row);

    if (judgement.engine) {
        add(text, "ob1's lists would have taken ");
        add_time(text, row->saved_ns);
        add(text, " longer");
    } else {
        add(text, "ob1's lists are as fast");
    }
    if (judgement.heater) {
        add(text, "; cold queues cost ");
        add_time(text, row->cold_ns);
        add(text, "; a heater saves about half of that if each process has a free core");
    } else if (judgement.no_core) {
        add(text, "; a heater would need a free core for each process");
    } else if (advice->heated) {
        add(text, "; what the heater saved is not known from a run with it");
    }
    add(text,
        " (%" PRIu64 " search%s would have visited %.1f entries on average and %" PRIu64
        " at most; up to %" PRIu64 " %s waited; %" PRIu32 " peer%s; %.0f %% with wildcards)",
        seen->searches, (1 == seen->searches) ? "" : "es", (double) seen->passed / (double) seen->searches, seen->passed_max,
        row->waiting, (1 == row->waiting) ? "entry" : "entries", row->peers, of_many(row->peers),
        100 * (double) seen->wildcards / (double) seen->searches);
}

/* What all rows of the job come to, if they were one. */
static llamatch_row_t sum_of(const llamatch_advice_t *advice)
{
    llamatch_row_t sum = {.name = ""};

    for (uint32_t i = 0; i < advice->count; ++i) {
        sum.saved_ns += larger(0, advice->rows[i].saved_ns);
        sum.cold_ns += advice->rows[i].cold_ns;
    }
    return sum;
}

/* The row that most is saved with of those that were not shown. */
static uint32_t next_row(const llamatch_advice_t *advice, const bool shown[])
{
    uint32_t best = LLAMATCH_ADVICE_ROWS;
    double most = 0;

    for (uint32_t i = 0; i < advice->count; ++i) {
        double saved_ns = judge(advice, &advice->rows[i]).saved_ns;

        if (!shown[i] && (LLAMATCH_ADVICE_ROWS == best || most < saved_ns)) {
            best = i;
            most = saved_ns;
        }
    }
    return best;
}

void llamatch_advice_print(const llamatch_advice_t *advice, char *buffer, size_t size)
{
    bool shown[LLAMATCH_ADVICE_ROWS] = {false};
    llamatch_row_t sum = sum_of(advice);
    text_t text = {buffer, size};

    if (0 == advice->count) {
        add(&text, "pml/llamatch: nothing to gain: no receive and no message ever waited\n");
        return;
    }
    add(&text, "pml/llamatch: advice after ");
    add_time(&text, advice->run_ns);
    add(&text,
        " of processor time (from samples; times are those of the process that gains most)\n");
    for (uint32_t n = 0; n < advice->count && n < LLAMATCH_ADVICE_SHOWN; ++n) {
        uint32_t i = next_row(advice, shown);

        shown[i] = true;
        add(&text, "  %s: %s: ", advice->rows[i].name, verdict(advice, &advice->rows[i]));
        add_reason(&text, advice, &advice->rows[i]);
        add(&text, "\n");
    }
    if (LLAMATCH_ADVICE_SHOWN < advice->count) {
        add(&text, "  and %" PRIu32 " more (pml_llamatch_advise json has all)\n",
            advice->count - LLAMATCH_ADVICE_SHOWN);
    }
    add(&text, "  %s\n",
        judge(advice, &sum).heater
            ? "Run with: --mca pml llamatch --mca pml_llamatch_heater 1 --bind-to core"
        : judge(advice, &sum).engine ? "Run with: --mca pml llamatch"
                                     : "pml/llamatch changes nothing here: run with or without it");
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

/* Bytes that are no UTF-8 become "?". */
static void add_string(text_t *text, const char *string)
{
    size_t bytes;

    add(text, "\"");
    for (; '\0' != *string; string += (0 == bytes) ? 1 : bytes) {
        unsigned char letter = (unsigned char) *string;

        bytes = letter_bytes(string);
        if ('"' == letter || '\\' == letter || letter < 0x20) {
            add(text, (letter < 0x20) ? "\\u%04x" : "\\%c", letter);
        } else {
            add(text, "%.*s", (0 == bytes) ? 1 : (int) bytes, (0 == bytes) ? "?" : string);
        }
    }
    add(text, "\"");
}

static void add_settings(text_t *text, const llamatch_advice_t *advice, const llamatch_row_t *row)
{
    judgement_t judgement = judge(advice, row);

    add(text,
        "\"recommendation\": [%s%s], \"predicted_saving_seconds\": %.6f, \"total_seconds\": %.6f",
        (judgement.engine || judgement.heater) ? "\"pml=llamatch\"" : "",
        judgement.heater ? ", \"pml_llamatch_heater=1\"" : "", judgement.saved_ns / 1e9,
        judgement.run_ns / 1e9);
}

void llamatch_advice_json(const llamatch_advice_t *advice, char *buffer, size_t size)
{
    bool shown[LLAMATCH_ADVICE_ROWS] = {false};
    llamatch_row_t sum = sum_of(advice);
    text_t text = {buffer, size};

    add(&text, "{\"pml_llamatch_advise\": {\"communicators\": [");
    for (uint32_t n = 0; n < advice->count; ++n) {
        uint32_t i = next_row(advice, shown);

        shown[i] = true;
        add(&text, "%s{\"communicator\": ", (0 == n) ? "" : ", ");
        add_string(&text, advice->rows[i].name);
        add(&text, ", ");
        add_settings(&text, advice, &advice->rows[i]);
        add(&text, ", \"reason\": \"");
        add_reason(&text, advice, &advice->rows[i]);
        add(&text, "\"}");
    }
    add(&text, "], ");
    add_settings(&text, advice, &sum);
    add(&text, "}}\n");
}
