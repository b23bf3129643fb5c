/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * MPI_T performance variables (core/llamatch_stats.def).
 *
 * Those of a communicator are read under its matching lock. A tool may read a handle after its
 * communicator was freed, and another one may have got its address.
 */
#include "ompi_config.h"

#include <stdlib.h>

#include "opal/mca/base/mca_base_pvar.h"
#include "ompi/constants.h"

#include "pml_llamatch_glue.h"

#define READ_ONLY (MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS)

/* --- handles -------------------------------------------------------------------------------- */

/*
 * A handle knows its communicator by the address, and that is all we are told when it is read. So
 * we note which communicators have handles, and which of these were freed; before anything is done
 * with a handle, all those of freed ones lose their address. Open MPI calls us with MPI_T's lock
 * held: its lists of handles do not change meanwhile. MPI_Comm_free does not have that lock, and
 * only notes.
 */
typedef struct binding {
    struct binding *next;
    const void *comm;
    bool freed;
} binding_t;

static binding_t *bindings; /* at most one of a communicator that was not freed */
static opal_mutex_t bindings_lock = OPAL_MUTEX_STATIC_INIT;
static const char freed_comm; /* its address is that of no communicator */

/* Handles of all variables of this component that are bound to @p comm. */
static void detach_handles(int group, const void *comm)
{
    int count = 0;

    (void) mca_base_pvar_get_count(&count);
    for (int i = 0; i < count; ++i) {
        const mca_base_pvar_t *pvar;
        opal_list_item_t *item;

        if (OPAL_SUCCESS != mca_base_pvar_get(i, &pvar) || group != pvar->group_index) {
            continue;
        }
        OPAL_LIST_FOREACH(item, (opal_list_t *) &pvar->bound_handles, opal_list_item_t)
        {
            char *place = (char *) item - offsetof(mca_base_pvar_handle_t, list2);
            mca_base_pvar_handle_t *handle = (void *) place;

            if (comm == handle->obj_handle) {
                handle->obj_handle = (void *) &freed_comm;
            }
        }
    }
}

/* @return the binding of a communicator that was not freed; bindings_lock is held */
static binding_t *find_binding(const mca_base_pvar_t *pvar, const void *comm)
{
    binding_t *found = NULL, **at = &bindings, *binding;

    while (NULL != (binding = *at)) {
        if (binding->freed) {
            detach_handles(pvar->group_index, binding->comm);
            *at = binding->next;
            free(binding);
            continue;
        }
        if (comm == binding->comm) {
            found = binding;
        }
        at = &binding->next;
    }
    return found;
}

void mca_pml_llamatch_pvar_bind(const mca_base_pvar_t *pvar, const void *comm)
{
    /* else it may be another PML's */
    bool ours = mca_pml_llamatch.enabled && NULL != ((ompi_communicator_t *) comm)->c_pml_comm;
    binding_t *binding;

    opal_mutex_lock(&bindings_lock);
    if (NULL == find_binding(pvar, comm) && ours) {
        binding = malloc(sizeof(*binding)); /* without it the handle reads nothing */
        if (NULL != binding) {
            binding->next = bindings;
            binding->comm = comm;
            binding->freed = false;
            bindings = binding;
        }
    }
    opal_mutex_unlock(&bindings_lock);
}

mca_pml_llamatch_queues_t *mca_pml_llamatch_pvar_lock(const mca_base_pvar_t *pvar, const void *comm)
{
    mca_pml_llamatch_comm_t *state;

    opal_mutex_lock(&bindings_lock);
    if (NULL == find_binding(pvar, comm)) {
        opal_mutex_unlock(&bindings_lock);
        return NULL;
    }
    state = ((ompi_communicator_t *) comm)->c_pml_comm;
    LLAMATCH_MATCHING_LOCK(&state->matching_lock);
    return state->queues;
}

void mca_pml_llamatch_unlock_queues(mca_pml_llamatch_queues_t *queues)
{
    char *state = (char *) queues - offsetof(mca_pml_llamatch_comm_t, queues);

    LLAMATCH_MATCHING_UNLOCK(&((mca_pml_llamatch_comm_t *) state)->matching_lock);
    opal_mutex_unlock(&bindings_lock);
}

void mca_pml_llamatch_pvar_freed(const void *comm)
{
    opal_mutex_lock(&bindings_lock);
    for (binding_t *binding = bindings; NULL != binding; binding = binding->next) {
        if (comm == binding->comm) {
            binding->freed = true;
        }
    }
    opal_mutex_unlock(&bindings_lock);
}

void mca_pml_llamatch_pvar_fini(void)
{
    binding_t *binding;

    while (NULL != (binding = bindings)) {
        bindings = binding->next;
        free(binding);
    }
}

/* --- of the queues of a communicator -------------------------------------------------------- */

/* One field of llamatch_stats_t. */
typedef struct {
    const char *name;
    const char *help;
    int class;
    bool unexpected;
    size_t offset;
    int count;
} queue_stat_t;

static const queue_stat_t queue_stats[] = {
#define LLAMATCH_QUEUE_STAT(name, class, help)                   \
    {"posted_" #name,                                            \
     "Posted receives: " help,                                   \
     MCA_BASE_PVAR_CLASS_##class,                                \
     false,                                                      \
     offsetof(llamatch_stats_t, name),                           \
     sizeof(((llamatch_stats_t *) 0)->name) / sizeof(uint64_t)}, \
        {"unexpected_" #name,                                    \
         "Unexpected messages: " help,                           \
         MCA_BASE_PVAR_CLASS_##class,                            \
         true,                                                   \
         offsetof(llamatch_stats_t, name),                       \
         sizeof(((llamatch_stats_t *) 0)->name) / sizeof(uint64_t)},
#include "llamatch_stats.def"
};

static int read_queue_stat(const mca_base_pvar_t *pvar, void *value, void *comm)
{
    mca_pml_llamatch_queues_t *queues = mca_pml_llamatch_pvar_lock(pvar, comm);
    const queue_stat_t *stat = pvar->ctx;
    llamatch_stats_t stats[2];
    const uint64_t *values;

    if (NULL == queues) {
        return OMPI_ERR_NOT_FOUND;
    }
    llamatch_engine_stats(&queues->engine, &stats[false], &stats[true]);
    mca_pml_llamatch_unlock_queues(queues);
    values = (const uint64_t *) ((const char *) &stats[stat->unexpected] + stat->offset);
    for (int i = 0; i < stat->count; ++i) {
        ((unsigned long *) value)[i] = (unsigned long) values[i];
    }
    return OMPI_SUCCESS;
}

/* Must not fail, also for a communicator of another PML: Open MPI 4.1 and 5.0 would crash. */
static int notify(mca_base_pvar_t *pvar, mca_base_pvar_event_t event, void *comm, int *count)
{
    if (MCA_BASE_PVAR_HANDLE_BIND == event) {
        mca_pml_llamatch_pvar_bind(pvar, comm);
        *count =
            (read_queue_stat == pvar->get_value) ? ((const queue_stat_t *) pvar->ctx)->count : 1;
    }
    return OMPI_SUCCESS;
}

/* --- of a communicator's engine ------------------------------------------------------------- */

/* A function that reads one value of an engine. */
#define READ_ENGINE(name, type, expression)                                         \
    static int read_##name(const mca_base_pvar_t *pvar, void *value, void *comm)    \
    {                                                                               \
        mca_pml_llamatch_queues_t *queues = mca_pml_llamatch_pvar_lock(pvar, comm); \
        llamatch_stats_t posted, unexpected;                                        \
                                                                                    \
        if (NULL == queues) {                                                       \
            return OMPI_ERR_NOT_FOUND;                                              \
        }                                                                           \
        llamatch_engine_stats(&queues->engine, &posted, &unexpected);               \
        *(type *) value = (type) (expression);                                      \
        mca_pml_llamatch_unlock_queues(queues);                                     \
        return OMPI_SUCCESS;                                                        \
    }

READ_ENGINE(posted_depth_mean, double, mca_pml_llamatch_mean_depth(&posted))
READ_ENGINE(unexpected_depth_mean, double, mca_pml_llamatch_mean_depth(&unexpected))
READ_ENGINE(engine, int, queues->engine.setup->kind)
READ_ENGINE(hashes, unsigned long, llamatch_engine_num_indexed(&queues->engine))

/* --- of the process ------------------------------------------------------------------------- */

static const mca_base_var_enum_value_t heater_states[] = {{LLAMATCH_HEATER_NONE, "off"},
                                                          {LLAMATCH_HEATER_RUNS, "run"},
                                                          {LLAMATCH_HEATER_PAUSED, "pause"},
                                                          {LLAMATCH_HEATER_IDLE, "idle"},
                                                          {0, NULL}};

/* The same of the process: of its heater, or of its arena if it has one. */
#define READ_PROCESS(name, type, expression)                                     \
    static int read_##name(const mca_base_pvar_t *pvar, void *value, void *none) \
    {                                                                            \
        llamatch_heater_stats_t stats;                                           \
        int state = (int) mca_pml_llamatch_heater_stats(&stats);                 \
                                                                                 \
        (void) pvar;                                                             \
        (void) none;                                                             \
        (void) state;                                                            \
        *(type *) value = (type) (expression);                                   \
        return OMPI_SUCCESS;                                                     \
    }
#define OF_ARENA(bytes) ((NULL == mca_pml_llamatch_pool) ? 0 : bytes(mca_pml_llamatch_pool))

READ_PROCESS(arena_bytes, unsigned long, OF_ARENA(llamatch_pool_bytes))
READ_PROCESS(arena_used, unsigned long, OF_ARENA(llamatch_pool_used_bytes))
READ_PROCESS(heater_state, int, state)
READ_PROCESS(heater_passes, unsigned long, stats.passes)
READ_PROCESS(heater_bytes, unsigned long, stats.bytes_last)
READ_PROCESS(heater_ns, unsigned long, stats.ns_last)

/* --- all ------------------------------------------------------------------------------------ */

/* mca_base_pvar_dump of all releases (patch 0017 mends 5.0) has no room for a third line, the names
 * of values, and ompi_info crashes: it gets none. The variable's text has them, and MPI_T and
 * ompi_info --parsable take them one by one. */
#if OMPI_MAJOR_VERSION < 5
static int no_line(mca_base_var_enum_t *self, char **line)
{
#else
static int no_line(mca_base_var_enum_t *self, char **line, mca_base_var_enum_dump_type_t type)
{
    (void) type;
#endif
    (void) self;
    (void) line;
    return OPAL_ERR_NOT_SUPPORTED;
}

static mca_base_var_enum_t *names_of(const char *name, const mca_base_var_enum_value_t *values)
{
    mca_base_var_enum_t *names = NULL;

    if (OPAL_SUCCESS != mca_base_var_enum_create(name, values, &names)) {
        return NULL;
    }
    names->dump = no_line;
    return names;
}

void mca_pml_llamatch_pvar_register(void)
{
    const mca_base_component_t *component = &mca_pml_llamatch_component.pmlm_version;
    mca_base_var_enum_t *engines = names_of("pml_llamatch_engine", mca_pml_llamatch_engines);
    mca_base_var_enum_t *states = names_of("pml_llamatch_heater_state", heater_states);

    for (size_t i = 0; i < sizeof(queue_stats) / sizeof(queue_stats[0]); ++i) {
        const queue_stat_t *stat = &queue_stats[i];

        (void) mca_base_component_pvar_register(component, stat->name, stat->help, OPAL_INFO_LVL_4,
                                                stat->class, MCA_BASE_VAR_TYPE_UNSIGNED_LONG, NULL,
                                                MCA_BASE_VAR_BIND_MPI_COMM, READ_ONLY,
                                                read_queue_stat, NULL, notify, (void *) stat);
    }
#define NAMES_OF(reader) \
    ((read_engine == (reader)) ? engines : (read_heater_state == (reader)) ? states : NULL)
#define LLAMATCH_ENGINE_STAT(name, type, class, help)                                              \
    (void) mca_base_component_pvar_register(component, #name, "Matching: " help, OPAL_INFO_LVL_4,  \
                                            MCA_BASE_PVAR_CLASS_##class, MCA_BASE_VAR_TYPE_##type, \
                                            NAMES_OF(read_##name), MCA_BASE_VAR_BIND_MPI_COMM,     \
                                            READ_ONLY, read_##name, NULL, notify, NULL);
#define LLAMATCH_PROCESS_STAT(name, type, class, help)                                             \
    (void) mca_base_component_pvar_register(component, #name, "Matching: " help, OPAL_INFO_LVL_4,  \
                                            MCA_BASE_PVAR_CLASS_##class, MCA_BASE_VAR_TYPE_##type, \
                                            NAMES_OF(read_##name), MCA_BASE_VAR_BIND_NO_OBJECT,    \
                                            READ_ONLY, read_##name, NULL, NULL, NULL);
#include "llamatch_stats.def"
    if (NULL != engines) {
        OBJ_RELEASE(engines);
    }
    if (NULL != states) {
        OBJ_RELEASE(states);
    }
}
