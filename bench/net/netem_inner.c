/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * osc/netem finds the component under it as osc/cached does: with the same code, for another
 * component and with its list of names.
 */

#include "ompi_config.h"

#define OSC_CACHED_INNER_OWNER "netem"
#define ompi_osc_cached_params netem_inner_params

#include "osc_cached_inner.c"

ompi_osc_cached_params_t netem_inner_params = {.inner = "ucx"};
