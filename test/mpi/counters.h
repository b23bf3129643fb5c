/*
 * The counters of a window or a communicator (MPI_T performance variables osc_cached_*,
 * pml_llamatch_*), and windows with info keys.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef OMPI_LOCALITY_COUNTERS_H
#define OMPI_LOCALITY_COUNTERS_H

#include "test.h"

enum { COUNTERS_MAX = 96, COUNTERS_VALUES = 16 };

struct counters {
    int n;
    char name[COUNTERS_MAX][48];
    MPI_T_pvar_handle handle[COUNTERS_MAX];
    MPI_Datatype type[COUNTERS_MAX];
    unsigned long first[COUNTERS_MAX];
};

static MPI_T_pvar_session counters_session = MPI_T_PVAR_SESSION_NULL;

/* The values of one; what is of another type than unsigned long is made one. */
__attribute__((unused)) static void counters_values(struct counters *c, int i,
                                                    unsigned long *values)
{
    union {
        unsigned long counts[COUNTERS_VALUES];
        double real;
        int state;
    } v;

    memset(&v, 0, sizeof(v));
    OK(MPI_T_pvar_read(counters_session, c->handle[i], &v));
    memcpy(values, v.counts, sizeof(v.counts));
    if (MPI_INT == c->type[i]) {
        values[0] = (unsigned long) v.state;
    } else if (MPI_DOUBLE == c->type[i]) {
        values[0] = (unsigned long) (v.real * 1000 + 0.5); /* thousandths */
    }
}

__attribute__((unused)) static unsigned long counters_read(struct counters *c, int i)
{
    unsigned long values[COUNTERS_VALUES];

    counters_values(c, i, values);
    return values[0];
}

/* Opens all whose name begins with a prefix, on an object that must not move; NULL: on none. */
__attribute__((unused)) static void counters_open_all(struct counters *c, const char *prefix,
                                                      int wanted_bind, void *object)
{
    int n, provided, count;

    if (MPI_T_PVAR_SESSION_NULL == counters_session) {
        OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
        OK(MPI_T_pvar_session_create(&counters_session));
    }
    c->n = 0;
    OK(MPI_T_pvar_get_num(&n));
    for (int i = 0; i < n && c->n < COUNTERS_MAX; ++i) {
        char name[256];
        int len = sizeof(name), verbosity, class, bind, readonly, continuous, atomic;
        MPI_Datatype datatype;
        MPI_T_enum enumtype;

        if (MPI_SUCCESS
                == MPI_T_pvar_get_info(i, name, &len, &verbosity, &class, &datatype, &enumtype,
                                       NULL, NULL, &bind, &readonly, &continuous, &atomic)
            && 0 == strncmp(name, prefix, strlen(prefix)) && wanted_bind == bind) {
            len = snprintf(c->name[c->n], sizeof(c->name[0]), "%s", name + strlen(prefix));
            CHECK(len < (int) sizeof(c->name[0]), "%s is longer than a counter's name", name);
            OK(MPI_T_pvar_handle_alloc(counters_session, i, object, &c->handle[c->n], &count));
            CHECK(count <= COUNTERS_VALUES, "%s has %d values", name, count);
            c->type[c->n] = datatype;
            c->first[c->n] = MPI_T_PVAR_CLASS_COUNTER == class ? counters_read(c, c->n) : 0;
            ++c->n;
        }
    }
    CHECK(c->n > 0 || test_is_plain(), "there are no counters %s", prefix);
}

__attribute__((unused)) static void counters_open(struct counters *c, MPI_Win *win)
{
    counters_open_all(c, "osc_cached_", MPI_T_BIND_MPI_WIN, win);
}

/* Calls and events since counters_open; sizes as they are. */
__attribute__((unused)) static unsigned long counter(struct counters *c, const char *name)
{
    for (int i = 0; i < c->n; ++i) {
        if (0 == strcmp(name, c->name[i])) {
            return counters_read(c, i) - c->first[i];
        }
    }
    if (!test_is_plain()) {
        test_fail(__FILE__, __LINE__, name, "there is no such counter");
    }
    return 0;
}

__attribute__((unused)) static void counters_close(struct counters *c)
{
    for (int i = 0; i < c->n; ++i) {
        OK(MPI_T_pvar_handle_free(counters_session, &c->handle[i]));
    }
}

#define COUNTS(c, name, wanted, ...)                                                   \
    do {                                                                               \
        unsigned long got_ = counter((c), (name)), wanted_ = (unsigned long) (wanted); \
        if (got_ != wanted_ && !test_is_plain()) {                                     \
            test_fail(__FILE__, __LINE__, name, __VA_ARGS__);                          \
            fprintf(stderr, "    counter %s: %lu, wanted %lu\n", name, got_, wanted_); \
        }                                                                              \
    } while (0)

/* Every get has exactly one outcome. */
__attribute__((unused)) static void counters_add_up(struct counters *c)
{
    static const char *const outcomes[] = {"hits",        "partial_hits", "joins",   "direct",
                                           "conflicting", "capacity",     "failing", "bypassed",
                                           "declined",    "unshared"};
    unsigned long sum = 0, gets = counter(c, "gets") + counter(c, "rgets");

    for (unsigned i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); ++i) {
        sum += counter(c, outcomes[i]);
    }
    CHECK(gets == sum, "%lu gets, but %lu outcomes", gets, sum);
}

/* A window with info keys: pairs of key and value, ended by NULL. MPI_Win_allocate when mine is
 * NULL. */
__attribute__((unused, sentinel)) static MPI_Win keyed_window(void *mine, MPI_Aint bytes,
                                                              int disp_unit, void *base_out, ...)
{
    MPI_Info info;
    MPI_Win win;
    va_list ap;
    const char *key;

    OK(MPI_Info_create(&info));
    va_start(ap, base_out);
    while (NULL != (key = va_arg(ap, const char *))) {
        OK(MPI_Info_set(info, key, va_arg(ap, const char *)));
    }
    va_end(ap);
    if (NULL != mine) {
        OK(MPI_Win_create(mine, bytes, disp_unit, info, MPI_COMM_WORLD, &win));
        *(void **) base_out = mine;
    } else {
        OK(MPI_Win_allocate(bytes, disp_unit, info, MPI_COMM_WORLD, base_out, &win));
    }
    OK(MPI_Info_free(&info));
    test_win(win);
    return win;
}

#endif
