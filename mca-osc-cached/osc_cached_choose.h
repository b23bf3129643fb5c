/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Settings of windows that are chosen from outside of the program (osc_cached_rules): what a rule
 * says for a window counts as if the program had given the info key.
 */

#ifndef OSC_CACHED_CHOOSE_H
#define OSC_CACHED_CHOOSE_H

#include "osc_cached_window.h"

BEGIN_C_DECLS

/** Read the rules; wrong ones are reported and not used. */
void ompi_osc_cached_choose_init(void);
/**
 * Add keys to the info object of a window that is being created.
 *
 * @param early    those that are needed before the processes of the window have agreed on it,
 *                 or all the others
 * @param largest  bytes of its largest part, unless early
 */
void ompi_osc_cached_choose(opal_info_t *info, int flavor, int processes, uint64_t largest,
                            bool early);
/** Rules that look at the name, which a window gets later: at its first call. */
void ompi_osc_cached_choose_by_name(ompi_osc_cached_window_t *window);
/** Beside the table of the job: the first process names the rules that none of its windows
 * matched; they may be misspelt, or have quotes. */
void ompi_osc_cached_choose_finalize(void);

END_C_DECLS

#endif /* OSC_CACHED_CHOOSE_H */
