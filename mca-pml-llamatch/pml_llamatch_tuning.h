/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Parameters of pml/llamatch, and what the generated component calls around its own start.
 */
#ifndef PML_LLAMATCH_TUNING_H
#define PML_LLAMATCH_TUNING_H

#include "ompi_config.h"

#include <stdbool.h>
#include <stdint.h>

#include "opal/class/opal_object.h"

#include "llamatch_engine.h"

struct ompi_communicator_t;

BEGIN_C_DECLS

/** What is in force: one field per word and number of pml_llamatch_params.def. */
typedef struct mca_pml_llamatch_tuning {
#define LLAMATCH_WORD(name, words, standard, level, help) int64_t name;
#define LLAMATCH_NUMBER(name, unit, standard, least, most, level, help) int64_t name;
#include "pml_llamatch_params.def"
} mca_pml_llamatch_tuning_t;

extern mca_pml_llamatch_tuning_t mca_pml_llamatch_tuning;

/** Where the arrays of all communicators come from. */
extern llamatch_pool_t *mca_pml_llamatch_pool;

/** Of engines, by their kind. */
extern llamatch_setup_t mca_pml_llamatch_setups[LLAMATCH_NUM_KINDS];

/** What else the heater heats; NULL: there is none (pml_llamatch_heater.c). */
extern llamatch_hot_t *mca_pml_llamatch_hot;

/**
 * First thing in the component's register function: refuses to be loaded into another release of
 * Open MPI, then registers our parameters and performance variables.
 *
 * @return OMPI_SUCCESS, or OMPI_ERR_NOT_AVAILABLE (the component then does not exist)
 */
int mca_pml_llamatch_tuning_register(void);

/**
 * Called when the component was asked for: read the parameters (bad ones are replaced, and said),
 * and make the pool.
 *
 * @return false when there is no memory; the component is then not used
 */
bool mca_pml_llamatch_tuning_init(void);

/** The component was selected. */
void mca_pml_llamatch_tuning_enable(void);

/** The component's end, selected or not: all communicators are gone. */
void mca_pml_llamatch_tuning_fini(void);

/**
 * OBJ_NEW and the last OBJ_RELEASE for what a message touches of communicators and peers. They lie
 * side by side. From malloc they were as far apart as all that a communicator needs, which came to
 * nearly two pages: a page each, and few sets of the caches for all.
 *
 * @return NULL when there is no memory
 */
#define MCA_PML_LLAMATCH_NEW(type) ((type *) mca_pml_llamatch_new(OBJ_CLASS(type)))
opal_object_t *mca_pml_llamatch_new(opal_class_t *type);
void mca_pml_llamatch_release(opal_object_t *object);

/** A communicator's queues exist now; or will be gone. */
void mca_pml_llamatch_tuning_add_comm(struct ompi_communicator_t *comm);
void mca_pml_llamatch_tuning_del_comm(struct ompi_communicator_t *comm);

/** Its name, or that it has none: spawned and merged ones do not. */
const char *mca_pml_llamatch_name(const struct ompi_communicator_t *comm);

/** Help text for a parameter that ob1 registers without one, or NULL. */
const char *mca_pml_llamatch_inherited_help(const char *name);

/** Matching cannot go on: a message must not be lost. Does not return. */
void mca_pml_llamatch_out_of_memory(const char *what);

END_C_DECLS

#endif /* PML_LLAMATCH_TUNING_H */
