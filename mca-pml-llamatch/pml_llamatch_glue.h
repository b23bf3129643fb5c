/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * What our own files around the generated component share.
 */
#ifndef PML_LLAMATCH_GLUE_H
#define PML_LLAMATCH_GLUE_H

#include "ompi_config.h"

#include "opal/mca/base/mca_base_pvar.h"
#include "opal/mca/base/mca_base_var_enum.h"

#include "llamatch_heater.h"
#include "pml_llamatch.h"
#include "pml_llamatch_comm.h"
#include "pml_llamatch_component.h"
#include "pml_llamatch_tuning.h"

BEGIN_C_DECLS

#define LLAMATCH_HELP_FILE "help-mpi-pml-llamatch.txt"

/** For help texts. Not from Open MPI's structures: a wrong release may have moved it in them. */
const char *mca_pml_llamatch_host(void);

/** --- words that users write: lists that end with NULL (pml_llamatch_tuning.c) --- */

/** Values of pml_llamatch_heater. */
enum { LLAMATCH_HEATER_OFF, LLAMATCH_HEATER_ON, LLAMATCH_HEATER_FORCE };

/** Names of llamatch_kind_t. */
extern const mca_base_var_enum_value_t mca_pml_llamatch_engines[];

/** @return whether @p text is one of the words; @p value is set only then */
bool mca_pml_llamatch_read_word(const mca_base_var_enum_value_t *words, const char *text,
                                int *value);

/** The first word with this value. */
const char *mca_pml_llamatch_word(const mca_base_var_enum_value_t *words, int value);

/** All words, separated by commas. */
void mca_pml_llamatch_list_words(const mca_base_var_enum_value_t *words, char *text, size_t size);

/** --- counters: for performance variables and the summary --- */

static inline double mca_pml_llamatch_mean_depth(const llamatch_stats_t *stats)
{
    return (0 == stats->searches) ? 0 : (double) stats->depth_sum / (double) stats->searches;
}

/** --- info keys (pml_llamatch_info.c) --- */

void mca_pml_llamatch_info_subscribe(ompi_communicator_t *comm);

/** --- performance variables (pml_llamatch_pvar.c) --- */

void mca_pml_llamatch_pvar_register(void);
void mca_pml_llamatch_pvar_fini(void);

/** A handle of @p pvar is about to be bound to a communicator. */
void mca_pml_llamatch_pvar_bind(const mca_base_pvar_t *pvar, const void *comm);

/**
 * The queues of @p comm, for the reader of a handle that is bound to it. Nobody changes or frees
 * them until they are unlocked.
 *
 * @return NULL when it is not one of ours, or was freed, also when another one has its address;
 * then nothing is locked
 */
mca_pml_llamatch_queues_t *mca_pml_llamatch_pvar_lock(const mca_base_pvar_t *pvar,
                                                      const void *comm);
void mca_pml_llamatch_unlock_queues(mca_pml_llamatch_queues_t *queues);

/** A communicator will be gone. */
void mca_pml_llamatch_pvar_freed(const void *comm);

/** --- the summary (pml_llamatch_summary.c); nothing happens without pml_llamatch_stats --- */

/** Note what happened on a communicator that will be gone. */
void mca_pml_llamatch_summary_add(ompi_communicator_t *comm);

/** Print it, while the arena and the heater still exist. */
void mca_pml_llamatch_summary_print(void);

/** --- advice for the job (pml_llamatch_advise.c); nothing happens without pml_llamatch_advise ---
 */

/** Values of pml_llamatch_advise. */
enum { LLAMATCH_ADVISE_OFF, LLAMATCH_ADVISE_TEXT, LLAMATCH_ADVISE_JSON };

/** Tell the other processes that this one gives advice: before the component is selected. */
void mca_pml_llamatch_advise_publish(void);

/** From now on communicators are watched; advice is given in MPI_Finalize, or here. */
void mca_pml_llamatch_advise_start(void);
void mca_pml_llamatch_advise_stop(void);

/** A communicator's queues exist now; or will be gone. */
void mca_pml_llamatch_advise_add_comm(ompi_communicator_t *comm);
void mca_pml_llamatch_advise_del_comm(ompi_communicator_t *comm);

/** --- the heater of this process (pml_llamatch_heater.c) --- */

/** What it does; LLAMATCH_HEATER_NONE: there is none. */
typedef enum {
    LLAMATCH_HEATER_NONE,
    LLAMATCH_HEATER_RUNS,
    LLAMATCH_HEATER_PAUSED, /**< somebody asked for it */
    LLAMATCH_HEATER_IDLE    /**< all queues are empty */
} mca_pml_llamatch_heater_state_t;

/** Tell the other processes where this one is bound: before the component is selected. */
void mca_pml_llamatch_heater_publish(void);

/** Start it, if that is asked for and makes sense; else say why not. */
void mca_pml_llamatch_heater_start(void);

/** Wait for its end. */
void mca_pml_llamatch_heater_stop(void);

/** It pauses until each pause was undone. May be called at any time. */
void mca_pml_llamatch_heater_pause(bool pause);

/** @param stats  all zero when there is none */
mca_pml_llamatch_heater_state_t mca_pml_llamatch_heater_stats(llamatch_heater_stats_t *stats);

END_C_DECLS

#endif /* PML_LLAMATCH_GLUE_H */
