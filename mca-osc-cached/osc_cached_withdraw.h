/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Gets whose buffers are exposed by a window before they are complete.
 */

#ifndef OSC_CACHED_WITHDRAW_H
#define OSC_CACHED_WITHDRAW_H

#include "osc_cached_window.h"

BEGIN_C_DECLS

/** Memory was exposed, and is about to be written by others: gets of any window whose buffers are
 * there fetch by themselves what was to be copied from or to them later. */
int ompi_osc_cached_withdraw(void);

END_C_DECLS

#endif /* OSC_CACHED_WITHDRAW_H */
