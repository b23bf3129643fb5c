/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "ompi_config.h"

#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/pml/base/pml_base_bsend.h"

#include "pml_llamatch_bsend.h"

int mca_pml_llamatch_bsend_start(mca_pml_base_send_request_t *request)
{
    opal_convertor_t *convertor = &request->req_base.req_convertor;
    size_t bytes = request->req_bytes_packed;
    struct iovec packed;
    uint32_t pieces = 1;
    int rc;

    if (0 == bytes) {
        return OMPI_SUCCESS;
    }
    /* What large messages use: this one counts under the lock, in all releases. */
    rc = mca_pml_base_bsend_request_alloc((ompi_request_t *) request);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    packed.iov_base = (void *) request->req_addr;
    packed.iov_len = bytes;
    if (0 > opal_convertor_pack(convertor, &packed, &pieces, &bytes)) {
        mca_pml_base_bsend_request_fini((ompi_request_t *) request);
        return OMPI_ERROR;
    }
    opal_convertor_prepare_for_send(convertor, &ompi_mpi_packed.dt.super, bytes, request->req_addr);
    return OMPI_SUCCESS;
}

void mca_pml_llamatch_bsend_reset(mca_pml_base_send_request_t *request)
{
    mca_pml_base_request_t *base = &request->req_base;

    request->req_addr = base->req_addr; /* also after a start that found no room for a copy */
    if (0 == request->req_bytes_packed) {
        return; /* never had a convertor */
    }
    opal_convertor_copy_and_prepare_for_send(base->req_proc->super.proc_convertor,
                                             &base->req_datatype->super, base->req_count,
                                             base->req_addr, 0, &base->req_convertor);
}
