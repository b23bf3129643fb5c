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

BEGIN_C_DECLS

/** One field per line of pml_llamatch_params.def. */
typedef struct mca_pml_llamatch_tuning {
#define LLAMATCH_C_TYPE_INT int
#define LLAMATCH_C_TYPE_BOOL bool
#define LLAMATCH_PARAM(name, type, value, level, scope, help) LLAMATCH_C_TYPE_##type name;
#define LLAMATCH_INHERITED(name, help)
#include "pml_llamatch_params.def"
} mca_pml_llamatch_tuning_t;

extern mca_pml_llamatch_tuning_t mca_pml_llamatch_tuning;

/**
 * First thing in the component's register function: refuses to be loaded into another release of
 * Open MPI, then registers our parameters.
 *
 * @return OMPI_SUCCESS, or OMPI_ERR_NOT_AVAILABLE (the component then does not exist)
 */
int mca_pml_llamatch_tuning_register(void);

/** Check the values; called when the component was asked for. Bad ones are replaced, and said. */
void mca_pml_llamatch_tuning_init(void);

/** Help text for a parameter that ob1 registers without one, or NULL. */
const char *mca_pml_llamatch_inherited_help(const char *name);

/** Matching cannot go on: a message must not be lost. Does not return. */
void mca_pml_llamatch_out_of_memory(const char *what);

END_C_DECLS

#endif /* PML_LLAMATCH_TUNING_H */
