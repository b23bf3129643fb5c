/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Buffered sends: those that the network cannot take yet, and persistent ones.
 */
#ifndef PML_LLAMATCH_BSEND_H
#define PML_LLAMATCH_BSEND_H

#include "ompi_config.h"

#include "ompi/mca/pml/base/pml_base_sendreq.h"

BEGIN_C_DECLS

/**
 * Pack a message into the buffer that the user has attached, and send it from there.
 *
 * In place of mca_pml_base_bsend_request_start, which counts the message without a lock in a libmpi
 * that is not patched: MPI_Buffer_detach then hangs, or does not wait, when threads send at once.
 *
 * @return OMPI_SUCCESS; OMPI_ERR_BUFFER when no buffer is attached, or it is full; OMPI_ERROR
 */
int mca_pml_llamatch_bsend_start(mca_pml_base_send_request_t *request);

/**
 * Make a persistent request whose last message has gone send from the user's buffer again.
 *
 * A message that was in the attached buffer leaves the request with a convertor for its copy there.
 */
void mca_pml_llamatch_bsend_reset(mca_pml_base_send_request_t *request);

END_C_DECLS

#endif /* PML_LLAMATCH_BSEND_H */
