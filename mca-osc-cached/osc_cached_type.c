/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Datatypes (rule A8).  The cache keeps the packed bytes of a get.
 *
 * Origin: a buffer that is not one run of bytes is read and written with Open MPI's convertor,
 * which leaves gaps alone.
 *
 * Target: bytes that do not lie in one run are kept under their address and the number of their
 * layout.  Two gets have the same layout when the descriptions of their datatypes, by which Open
 * MPI sends a datatype to another process, and their counts are equal, byte by byte: it does not
 * matter whether it is the same datatype, or one that was made anew.  A window knows the last few
 * layouts; their numbers are not used again, so entries of a forgotten one are just not found any
 * more.  In a window whose cache the processes of a node share, numbers are those of the node, as
 * long as there is room for them: a layout that was forgotten gets the same one again.
 *
 * Every byte of a description is written, so that equal ones compare equal (test/mpi/a8_layouts.c).
 * Only Open MPI 6.0, and one for machines that cannot read
 * unaligned words, or for heterogeneous ones (OPAL_ALIGN_WORD_SIZE_INTEGERS), leaves gaps as malloc
 * gave them: there a datatype that was made anew may get another number.  That costs hits;
 * different layouts are told apart all the same, because their descriptions differ outside of the
 * gaps.
 */

#include "ompi_config.h"

#include <stdlib.h>
#include <string.h>

#include "opal/datatype/opal_convertor.h"
#include "ompi/constants.h"
#include "ompi/datatype/ompi_datatype.h"

#include "osc_cached_memory.h"
#include "osc_cached_type.h"

enum {
    LAYOUTS = 64,            /* per window; a program has few shapes of data */
    DESCRIPTION_MAX = 16384, /* bytes; longer ones take longer to compare than to fetch */
};

/* The first number that ompi_osc_cached_type_is_own, and how many there are. */
#define OWN_NUMBERS (UINT32_C(1) << 31)

typedef struct {
    uint32_t number; /* 0: free */
    ompi_osc_cached_count_t count;
    size_t length; /* bytes */
    void *description;
} layout_t;

typedef struct ompi_osc_cached_layouts_t {
    uint32_t given; /* numbers */
    layout_t layouts[LAYOUTS];
} layouts_t;

/* To or from the memory of a device, which Open MPI's convertor knows. */
static void copy_by_convertor(opal_convertor_t *convertor, void *bytes, size_t size, bool to_buffer)
{
    struct iovec iov = {bytes, size};
    uint32_t num_iov = 1;
    size_t done = size;

    (void) (to_buffer ? opal_convertor_unpack(convertor, &iov, &num_iov, &done)
                      : opal_convertor_pack(convertor, &iov, &num_iov, &done));
}

/* By the runs that inner components see, too: the pack and unpack functions of Open MPI 5.0 are
 * wrong for complex numbers whose distance is no multiple of their size. */
static void copy_runs(opal_convertor_t *convertor, char *bytes, size_t size, bool to_buffer)
{
    struct iovec runs[32];
    bool done = false;

    while (0 < size && !done) {
        uint32_t count = sizeof(runs) / sizeof(runs[0]);
        size_t ignored = SIZE_MAX;

        done = 0 != opal_convertor_raw(convertor, runs, &count, &ignored);
        for (uint32_t i = 0; i < count && 0 < size; ++i) {
            size_t run = (runs[i].iov_len < size) ? runs[i].iov_len : size;

            memcpy(to_buffer ? runs[i].iov_base : bytes, to_buffer ? bytes : runs[i].iov_base, run);
            bytes += run;
            size -= run;
        }
    }
}

void ompi_osc_cached_type_copy(const osc_cached_buffer_t *buffer, void *bytes, size_t size,
                               bool to_buffer)
{
    const ompi_datatype_t *type = buffer->type;
    bool on_device = ompi_osc_cached_is_on_device(buffer->address);
    opal_convertor_t convertor;

    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    if (on_device && to_buffer) {
        (void) opal_convertor_copy_and_prepare_for_recv(
            ompi_mpi_local_convertor, &type->super, buffer->count, buffer->address, 0, &convertor);
    } else {
        (void) opal_convertor_copy_and_prepare_for_send(
            ompi_mpi_local_convertor, &type->super, buffer->count, buffer->address, 0, &convertor);
    }
    if (on_device) {
        copy_by_convertor(&convertor, bytes, size, to_buffer);
    } else {
        copy_runs(&convertor, bytes, size, to_buffer);
    }
    OBJ_DESTRUCT(&convertor);
}

void ompi_osc_cached_type_done(const osc_cached_buffer_t *buffer)
{
    ompi_datatype_t *type = buffer->type, *from = buffer->from;

    if (NULL != type) {
        OBJ_RELEASE(type);
    }
    if (NULL != from) {
        OBJ_RELEASE(from);
    }
}

void ompi_osc_cached_type_keep(const osc_cached_buffer_t *buffer)
{
    if (NULL != buffer->type) {
        OBJ_RETAIN((ompi_datatype_t *) buffer->type);
    }
    if (NULL != buffer->from) {
        OBJ_RETAIN((ompi_datatype_t *) buffer->from);
    }
}

uint32_t ompi_osc_cached_type_layout(ompi_osc_cached_window_t *window, ompi_datatype_t *type,
                                     ompi_osc_cached_count_t count)
{
    size_t length = ompi_datatype_pack_description_length(type);
    const void *description = NULL;
    layout_t *layout;

    if (0 == length || DESCRIPTION_MAX < length
        || OMPI_SUCCESS != ompi_datatype_get_pack_description(type, &description)
        || NULL == description) {
        return 0;
    }
    if (NULL == window->layouts) {
        window->layouts = calloc(1, sizeof(*window->layouts));
        if (NULL == window->layouts) {
            return 0;
        }
    }
    for (int i = 0; i < LAYOUTS; ++i) {
        layout = &window->layouts->layouts[i];
        if (count == layout->count && length == layout->length
            && 0 == memcmp(description, layout->description, length)) {
            return layout->number;
        }
    }
    if (OWN_NUMBERS == window->layouts->given) {
        return 0;
    }
    layout = &window->layouts->layouts[window->layouts->given % LAYOUTS];
    free(layout->description);
    memset(layout, 0, sizeof(*layout));
    layout->description = malloc(length);
    if (NULL == layout->description) {
        return 0;
    }
    memcpy(layout->description, description, length);
    layout->length = length;
    layout->count = count;
    layout->number = OWN_NUMBERS + window->layouts->given++;
    if (NULL != window->sharing) {
        uint32_t number = window->node_layout(window, (uint64_t) count, description, length);

        layout->number = (0 < number) ? number : layout->number;
    }
    return layout->number;
}

void ompi_osc_cached_type_forget(ompi_osc_cached_window_t *window)
{
    if (NULL != window->layouts) {
        for (int i = 0; i < LAYOUTS; ++i) {
            free(window->layouts->layouts[i].description);
        }
        free(window->layouts);
        window->layouts = NULL;
    }
}
