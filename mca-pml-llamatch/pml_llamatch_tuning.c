/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The component's start and end around the generated sources: the release check, parameters, and
 * which communicators there are.
 */
#include "ompi_config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/mca/base/mca_base_vari.h"
#include "opal/util/argv.h"
#include "opal/util/output.h"
#include "opal/util/show_help.h"
#include "ompi/constants.h"
#include "ompi/mca/pml/base/base.h"
#if OMPI_MAJOR_VERSION < 5
#include "ompi/mca/rte/rte.h"
#else
#include "ompi/runtime/ompi_rte.h"
#endif

#if __has_include("osc_cached_spelling.h") /* where osc/cached is, too */
#include "osc_cached_hidden.h"
#include "osc_cached_spelling.h"
#endif

#include "llamatch_simd.h"
#include "pml_llamatch_glue.h"

llamatch_pool_t *mca_pml_llamatch_pool;
llamatch_setup_t mca_pml_llamatch_setups[LLAMATCH_NUM_KINDS];
mca_pml_llamatch_tuning_t mca_pml_llamatch_tuning;

/* --- parameters ----------------------------------------------------------------------------- */

const mca_base_var_enum_value_t mca_pml_llamatch_engines[] = {{LLAMATCH_AUTO, "auto"},
                                                              {LLAMATCH_LLA, "lla"},
                                                              {LLAMATCH_HASH, "hash"},
                                                              {LLAMATCH_LIST, "list"},
                                                              {0, NULL}};

static const mca_base_var_enum_value_t heaters[] = {
    {LLAMATCH_HEATER_OFF, "0"},     {LLAMATCH_HEATER_ON, "1"},    {LLAMATCH_HEATER_FORCE, "force"},
    {LLAMATCH_HEATER_OFF, "false"}, {LLAMATCH_HEATER_ON, "true"}, {0, NULL}};

static const mca_base_var_enum_value_t advices[] = {
    {LLAMATCH_ADVISE_OFF, "0"},     {LLAMATCH_ADVISE_TEXT, "1"},    {LLAMATCH_ADVISE_JSON, "json"},
    {LLAMATCH_ADVISE_OFF, "false"}, {LLAMATCH_ADVISE_TEXT, "true"}, {0, NULL}};

/* The first one, and those of llamatch_simd_paths: what this CPU does not have is taken out. */
static mca_base_var_enum_value_t paths[] = {{0, "auto"}, {1, "avx512"}, {2, "avx2"}, {3, "sse2"},
                                            {4, "neon"}, {5, "scalar"}, {0, NULL}};

static const mca_base_var_enum_value_t truths[] = {
    {false, "0"}, {true, "1"}, {false, "false"}, {true, "true"}, {0, NULL}};

typedef enum { COUNT, POWER, BYTES, WORD } kind_t;

/* The words and numbers of pml_llamatch_params.def. */
static struct parameter {
    const char *name;
    const char *help;
    mca_base_var_info_lvl_t level;
    kind_t kind;
    const mca_base_var_enum_value_t *words; /* of a WORD */
    int64_t least, most;                    /* of all others */
    const char *standard;
    int64_t *value;
    const char *text; /* of a WORD: what Open MPI has for it */
    int index;        /* by which Open MPI knows it */
} parameters[] = {
#define ENGINES mca_pml_llamatch_engines
#define HEATERS heaters
#define ADVICES advices
#define PATHS paths
#define TRUTHS truths
#define LLAMATCH_WORD(name, words, standard, level, help)                \
    {#name, help,     OPAL_INFO_LVL_##level,         WORD,     words, 0, \
     0,     standard, &mca_pml_llamatch_tuning.name, standard, -1},
#define LLAMATCH_NUMBER(name, unit, standard, least, most, level, help) \
    {#name,                                                             \
     help,                                                              \
     OPAL_INFO_LVL_##level,                                             \
     unit,                                                              \
     NULL,                                                              \
     (int64_t) (least),                                                 \
     (int64_t) (most),                                                  \
     standard,                                                          \
     &mca_pml_llamatch_tuning.name,                                     \
     standard,                                                          \
     -1},
#include "pml_llamatch_params.def"
};

#define NUM_PARAMETERS (sizeof(parameters) / sizeof(parameters[0]))

static void find_paths(void)
{
    const llamatch_simd_path_t *all;
    size_t count = llamatch_simd_paths(&all);

    for (size_t i = 0; i < count; ++i) {
        paths[i + 1] = (mca_base_var_enum_value_t){(int) i + 1, all[i].name};
    }
    paths[count + 1].string = NULL;
}

bool mca_pml_llamatch_read_word(const mca_base_var_enum_value_t *words, const char *text,
                                int *value)
{
    for (; NULL != text && NULL != words->string; ++words) {
        if (0 == strcmp(text, words->string)) {
            *value = words->value;
            return true;
        }
    }
    return false;
}

const char *mca_pml_llamatch_word(const mca_base_var_enum_value_t *words, int value)
{
    while (NULL != words->string && value != words->value) {
        ++words;
    }
    return words->string;
}

void mca_pml_llamatch_list_words(const mca_base_var_enum_value_t *words, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; NULL != words[i].string && used < size; ++i) {
        used += (size_t) snprintf(text + used, size - used, "%s%s", (0 == i) ? "" : ", ",
                                  words[i].string);
    }
}

static bool read_number(const struct parameter *parameter, const char *text, int64_t *value)
{
    static const char suffixes[] = "KMG";
    const char *suffix;
    long long read;
    char *end;
    int shift;

    /* not what strtoll takes beside numbers: white space and signs */
    if (NULL == text || 0 == strspn(text + ('-' == text[0]), "0123456789")) {
        return false;
    }
    errno = 0;
    read = strtoll(text, &end, 10);
    if (BYTES == parameter->kind && '\0' != *end) {
        suffix = strchr(suffixes, *end & ~('a' - 'A'));
        if (NULL == suffix || '\0' == *suffix) {
            return false;
        }
        shift = 10 * (int) (suffix - suffixes + 1);
        if (read < 0 || parameter->most >> shift < read) {
            return false;
        }
        read <<= shift;
        ++end;
    }
    if (0 != errno || '\0' != *end || read < parameter->least || parameter->most < read
        || (POWER == parameter->kind && 0 != (read & (read - 1)))) {
        return false;
    }
    *value = read;
    return true;
}

static bool read_text(const struct parameter *parameter, const char *text)
{
    int value;

    if (WORD != parameter->kind) {
        return read_number(parameter, text, parameter->value);
    }
    if (mca_pml_llamatch_read_word(parameter->words, text, &value)) {
        *parameter->value = value;
        return true;
    }
    return false;
}

/* What the user wrote for a parameter, or the default. A number is one to Open MPI and to MPI_T,
 * too, but Open MPI takes "12x" for 12 and "x" for 0. */
static const char *text_of(const struct parameter *parameter)
{
    const mca_base_var_t *var;
    const char *text = NULL;
    char *variable = NULL;

    if (WORD == parameter->kind) {
        return parameter->text;
    }
    if (OPAL_SUCCESS != mca_base_var_get(parameter->index, &var)) {
        return parameter->standard;
    }
    if (NULL != var->mbv_file_value) {
        text = ((const mca_base_var_file_value_t *) var->mbv_file_value)->mbvfv_value;
    } else if (OPAL_SUCCESS == mca_base_var_env_name(var->mbv_full_name, &variable)) {
        text = getenv(variable);
        free(variable);
    }
    return (NULL == text) ? parameter->standard : text;
}

/* A limit as the man page has it: 1024G. */
static const char *limit(int64_t value, kind_t kind, char text[24])
{
    static const char *const suffixes[] = {"", "K", "M", "G"};
    int suffix = 0;

    for (; BYTES == kind && suffix < 3 && 0 < value && 0 == value % 1024; ++suffix) {
        value /= 1024;
    }
    snprintf(text, 24, "%" PRId64 "%s", value, suffixes[suffix]);
    return text;
}

/* What a user needs to know of a value that is not used. */
static int describe(const struct parameter *parameter, char *text, size_t size)
{
    const char *wrong = text_of(parameter);
    char allowed[128];

    if (WORD == parameter->kind) {
        mca_pml_llamatch_list_words(parameter->words, allowed, sizeof(allowed));
    } else {
        char least[24], most[24];

        snprintf(allowed, sizeof(allowed), "%s from %s to %s",
                 (POWER == parameter->kind)   ? "a power of two"
                 : (BYTES == parameter->kind) ? "a number of bytes (K, M, G)"
                                              : "a whole number",
                 limit(parameter->least, parameter->kind, least),
                 limit(parameter->most, parameter->kind, most));
    }
    return snprintf(text, size,
                    "\n\n  Parameter:    pml_llamatch_%s\n  Value:        %s\n"
                    "  Allowed:      %s\n  Used instead: %s",
                    parameter->name, (NULL == wrong) ? "" : wrong, allowed, parameter->standard);
}

/* One help text for all bad values: Open MPI shows a text once, whatever is in it. */
static void read_parameters(void)
{
    char bad[4096] = "";
    size_t used = 0;

    for (size_t i = 0; i < NUM_PARAMETERS; ++i) {
        if (!read_text(&parameters[i], text_of(&parameters[i]))) {
            (void) read_text(&parameters[i], parameters[i].standard);
            if (used < sizeof(bad)) {
                used += (size_t) describe(&parameters[i], bad + used, sizeof(bad) - used);
            }
        }
    }
    if (0 < used) {
        opal_show_help(LLAMATCH_HELP_FILE, "bad_value", true, mca_pml_llamatch_host(), bad);
    }
#ifdef OSC_CACHED_SPELLING_H
    if ('\0' != *ompi_osc_cached_misspelt("pml_llamatch_")) {
        opal_show_help(LLAMATCH_HELP_FILE, "misspelt", false, ompi_osc_cached_spelling.text);
    }
#endif
}

static void register_parameters(void)
{
    const mca_base_component_t *component = &mca_pml_llamatch_component.pmlm_version;

    find_paths();
    for (size_t i = 0; i < NUM_PARAMETERS; ++i) {
        struct parameter *parameter = &parameters[i];

        parameter->text = parameter->standard;
        (void) read_text(parameter, parameter->standard);
        parameter->index = mca_base_component_var_register(
            component, parameter->name, parameter->help,
            (WORD == parameter->kind) ? MCA_BASE_VAR_TYPE_STRING : MCA_BASE_VAR_TYPE_INT64_T, NULL,
            0, 0, parameter->level, MCA_BASE_VAR_SCOPE_READONLY,
            (WORD == parameter->kind) ? (void *) &parameter->text : (void *) parameter->value);
        if (!read_text(parameter, text_of(parameter))) {
            (void) read_text(parameter, parameter->standard); /* said when it is used */
        }
    }
}

/* --- switches: written at run time ---------------------------------------------------------- */

static int heater_paused; /* what Open MPI has for it */

/* Open MPI asks for the name of a value, and does not take the name, before it writes the value. */
static int (*name_of_value)(mca_base_var_enum_t *self, const int value, char **name);

static int heater_paused_written(mca_base_var_enum_t *self, const int value, char **name)
{
    int ret = name_of_value(self, value, name);

    if (OPAL_SUCCESS == ret && NULL == name && value != heater_paused) {
        mca_pml_llamatch_heater_pause(0 != value);
    }
    return ret;
}

static void register_switches(void)
{
    static const mca_base_var_enum_value_t values[] = {{false, "false"}, {true, "true"}, {0, NULL}};
    mca_base_var_enum_t *names = NULL;

    if (heater_paused) { /* before an earlier end of this component */
        mca_pml_llamatch_heater_pause(false);
    }
    heater_paused = false;
    if (OPAL_SUCCESS != mca_base_var_enum_create("pml_llamatch_switch", values, &names)) {
        return;
    }
    name_of_value = names->string_from_value;
#define LLAMATCH_SWITCH(name, level, help)                                                      \
    names->string_from_value = name##_written;                                                  \
    (void) mca_base_component_var_register(                                                     \
        &mca_pml_llamatch_component.pmlm_version, #name, help, MCA_BASE_VAR_TYPE_INT, names, 0, \
        MCA_BASE_VAR_FLAG_SETTABLE, OPAL_INFO_LVL_##level, MCA_BASE_VAR_SCOPE_LOCAL, &name);
#include "pml_llamatch_params.def"
    OBJ_RELEASE(names);
    if (heater_paused) {
        mca_pml_llamatch_heater_pause(true);
    }
}

/* --- the release ---------------------------------------------------------------------------- */

const char *mca_pml_llamatch_host(void)
{
    static char host[256];

    if ('\0' == host[0] && 0 != gethostname(host, sizeof(host) - 1)) {
        strcpy(host, "unknown");
    }
    return host;
}

/* Is this component named in the list of PMLs that the user gave? */
static bool asked_for(void)
{
    char **selection = NULL, **names;
    bool found = false;
    int index = mca_base_var_find("ompi", "pml", NULL, NULL);

    if (0 > index || OPAL_SUCCESS != mca_base_var_get_value(index, &selection, NULL, NULL)
        || NULL == selection || NULL == selection[0]) {
        return false;
    }
    names = opal_argv_split(selection[0], ',');
    for (int i = 0; NULL != names && NULL != names[i]; ++i) {
        found = found || 0 == strcmp(names[i], "llamatch");
    }
    opal_argv_free(names);
    return found;
}

static bool same_release(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length, major = -1, minor = -1, release = -1;

    /* Allowed before MPI_Init; the P name, because a tool may have put itself before the other. */
    (void) PMPI_Get_library_version(version, &length);
    if (3 == sscanf(version, "Open MPI v%d.%d.%d", &major, &minor, &release)
        && OMPI_MAJOR_VERSION == major && OMPI_MINOR_VERSION == minor
        && OMPI_RELEASE_VERSION == release) {
        return true;
    }
    /* Unasked it stays silent: then it is only a left-over file in the component directory. */
    if (asked_for()) {
        version[strcspn(version, ",")] = '\0';
        if ((6 <= OMPI_MAJOR_VERSION) == (6 <= major)) {
            opal_show_help(LLAMATCH_HELP_FILE, "wrong_release", true, mca_pml_llamatch_host(),
                           OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION, version);
        } else {
            /* opal_show_help is a variable until 5.0, a function since 6.0 */
            opal_output(
                0,
                "pml/llamatch on host %s was built for Open MPI %d.%d.%d, but this is %s: it "
                "is not used. Build it for this release.",
                mca_pml_llamatch_host(), OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION,
                OMPI_RELEASE_VERSION, version);
        }
    }
    return false;
}

#if defined(OSC_CACHED_HIDDEN_H)
/* The release that this file was compiled for, to be found in a copy. */
#define STRING_OF_(x) #x
#define STRING_OF(x) STRING_OF_(x)
/* clang-format off */
static const char built_for[] = "pml/llamatch built for Open MPI v" STRING_OF(OMPI_MAJOR_VERSION) "."
    STRING_OF(OMPI_MINOR_VERSION) "." STRING_OF(OMPI_RELEASE_VERSION);
/* clang-format on */

static void tell_of_hidden_copy(void)
{
    char used[PATH_MAX], hidden[PATH_MAX];

    if (ompi_osc_cached_hides_copy(built_for, "mca_pml_llamatch.so", built_for, used, hidden)) {
        opal_show_help(LLAMATCH_HELP_FILE, "hidden_copy", true, used, hidden,
                       mca_pml_llamatch_host());
    }
}
#endif

/* --- communicators -------------------------------------------------------------------------- */

static llamatch_pool_t *objects; /* not the arena, which is empty when all queues are */

/* An odd number of lines: the same line of many objects is in all sets of a cache. */
static llamatch_pool_class_t *nodes_of(const opal_class_t *type)
{
    size_t lines = (type->cls_sizeof + LLAMATCH_LINE - 1) / LLAMATCH_LINE;

    return llamatch_pool_class(objects, (lines | 1) * LLAMATCH_LINE, 0);
}

opal_object_t *mca_pml_llamatch_new(opal_class_t *type)
{
    opal_object_t *object = llamatch_pool_get(nodes_of(type));

    if (NULL != object) {
        OBJ_CONSTRUCT_INTERNAL(object, type);
    }
    return object;
}

void mca_pml_llamatch_release(opal_object_t *object)
{
    llamatch_pool_class_t *nodes = nodes_of(object->obj_class);

    OBJ_DESTRUCT(object);
    llamatch_pool_put(nodes, object);
}

void mca_pml_llamatch_tuning_add_comm(struct ompi_communicator_t *comm)
{
    mca_pml_llamatch_info_subscribe(comm); /* may exchange the engine, so before anybody sees it */
    mca_pml_llamatch_advise_add_comm(comm);
}

void mca_pml_llamatch_tuning_del_comm(struct ompi_communicator_t *comm)
{
    /* another thread that has completed a probe of it may still have the lock */
    LLAMATCH_MATCHING_LOCK(&comm->c_pml_comm->matching_lock);
    LLAMATCH_MATCHING_UNLOCK(&comm->c_pml_comm->matching_lock);
    if (comm->c_pml_comm->queues->pauses_heater) {
        mca_pml_llamatch_heater_pause(false);
    }
    mca_pml_llamatch_summary_add(comm);
    mca_pml_llamatch_advise_del_comm(comm);
    mca_pml_llamatch_pvar_freed(comm);
}

const char *mca_pml_llamatch_name(const struct ompi_communicator_t *comm)
{
    return ('\0' == comm->c_name[0]) ? "(no name)" : comm->c_name;
}

/* --- start and end -------------------------------------------------------------------------- */

static bool selected;

int mca_pml_llamatch_tuning_register(void)
{
#if defined(LLAMATCH_HELP_DIR)
    /* Dropped into an installed Open MPI, our texts are not in its data directory. */
    opal_show_help_add_dir(LLAMATCH_HELP_DIR);
#endif
    if (!same_release()) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
#if defined(OSC_CACHED_HIDDEN_H)
    if (asked_for()) {
        tell_of_hidden_copy();
    }
#endif
    register_parameters();
    register_switches();
    mca_pml_llamatch_pvar_register();
    return OMPI_SUCCESS;
}

bool mca_pml_llamatch_tuning_init(void)
{
    read_parameters();
    mca_pml_llamatch_heater_publish();
    mca_pml_llamatch_advise_publish();
    if (LLAMATCH_OK != llamatch_pool_create(NULL, &mca_pml_llamatch_pool)
        || LLAMATCH_OK != llamatch_pool_create(NULL, &objects)) {
        return false;
    }
    llamatch_pool_set_threads(mca_pml_llamatch_pool, &opal_uses_threads);
    llamatch_pool_set_threads(objects, &opal_uses_threads);
    return true;
}

/* Where a posted receive is: ob1's own number, which orders its lists, is free for that. */
static void posted_moved(void *payload, uint64_t node)
{
    ((mca_pml_base_request_t *) payload)->req_sequence = node;
}

void mca_pml_llamatch_tuning_enable(void)
{
    int64_t path = mca_pml_llamatch_tuning.simd; /* one of paths, of which auto is the first */
    llamatch_config_t config = llamatch_config_default;
    const llamatch_simd_path_t *all;

    (void) llamatch_simd_paths(&all);
    selected = true;
    mca_pml_llamatch_heater_start();
    mca_pml_llamatch_advise_start();
    config.pool = mca_pml_llamatch_pool;
    config.entries = (uint32_t) mca_pml_llamatch_tuning.entries;
    config.find = all[(0 < path) ? path - 1 : 0].find;
    config.moved = posted_moved;
    config.hot = mca_pml_llamatch_hot;
    for (int kind = 0; kind < LLAMATCH_NUM_KINDS; ++kind) {
        config.kind = (llamatch_kind_t) kind;
        if (LLAMATCH_OK != llamatch_setup_init(&mca_pml_llamatch_setups[kind], &config)) {
            mca_pml_llamatch_out_of_memory("the matching engine");
        }
    }
}

void mca_pml_llamatch_tuning_fini(void)
{
    if (selected) {
        mca_pml_llamatch_summary_print();
    }
    selected = false;
    mca_pml_llamatch_advise_stop();
    mca_pml_llamatch_pvar_fini();
    mca_pml_llamatch_heater_stop();
    llamatch_pool_destroy(mca_pml_llamatch_pool);
    llamatch_pool_destroy(objects);
    mca_pml_llamatch_pool = NULL;
    objects = NULL;
}

/* --- texts ---------------------------------------------------------------------------------- */

const char *mca_pml_llamatch_inherited_help(const char *name)
{
    static const struct {
        const char *name;
        const char *help;
    } texts[] = {
#define LLAMATCH_INHERITED(param, text) {#param, text},
#include "pml_llamatch_params.def"
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
        if (0 == strcmp(name, texts[i].name)) {
            return texts[i].help;
        }
    }
    return NULL;
}

void mca_pml_llamatch_out_of_memory(const char *what)
{
    opal_show_help(LLAMATCH_HELP_FILE, "out_of_memory", true, what, mca_pml_llamatch_host());
    ompi_rte_abort(1, "pml/llamatch: out of memory for %s", what);
    abort(); /* not reached; some run-time layers return */
}
