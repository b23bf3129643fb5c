/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations that the helper at the target does: accumulates and atomics, and puts and gets where
 * that is cheaper.  Other puts and gets are the inner component's, for which its passive epoch
 * begins here.
 *
 * A call returns when all of it was sent: how much may be on its way is what the target has
 * granted, and nothing is queued here.  The buffer of an origin may be reused then; results come
 * until the next flush.  So the request of an R-form without a result is complete when it is
 * returned; that of one with a result completes with the last answer, while anything waits or
 * tests.
 */

#include "ompi_config.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/constants.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/request/request.h"

#include "osc_cached_memory.h"
#include "osc_cached_trace.h"
#include "osc_cached_type.h"
#include "core/osc_cached_execute.h"
#include "osc_cached_helper_epoch.h"
#include "osc_cached_helper_reader.h"
#include "osc_cached_helper_shape.h"
#include "osc_cached_helper_target.h"
#include "osc_cached_helper_window.h"

/* of one operation on our own memory, during which the helper waits */
enum { LOCAL_BYTES = 1 << 20 };

/* A buffer of the program. */
typedef struct {
    void *address;
    ompi_osc_cached_count_t count;
    ompi_datatype_t *type;
} buffer_t;

/* Where the answers of an operation go. */
typedef struct {
    char *bytes;             /* packed: the program's own memory, or a copy */
    buffer_t buffer;         /* of the program, when it is a copy: there may be more room in it */
    uint64_t size;           /* bytes that come */
    ompi_request_t *request; /* of an R-form; NULL: it is none */
    _Atomic uint32_t why;    /* osc_cached_refused_t: not all answers came */
    _Atomic uint32_t users;  /* calls that are not answered, and who sends them */
} result_t;

/* A call with an answer. */
typedef struct {
    osc_cached_call_t call;
    const char *data;
    char *to;
    result_t *result;
} fetch_t;

static bool is_one_run(const buffer_t *buffer)
{
    return ompi_osc_cached_is_one_run(&buffer->type->super, buffer->count);
}

/* Can the processor copy it as it is? */
static bool is_plain(const buffer_t *buffer)
{
    return is_one_run(buffer) && !ompi_osc_cached_is_on_device(buffer->address);
}

static char *first_byte(const buffer_t *buffer)
{
    ptrdiff_t lb, extent;

    (void) ompi_datatype_get_true_extent(buffer->type, &lb, &extent);
    /* a place at the target has no address here */
    return (char *) ((uintptr_t) buffer->address + (uintptr_t) lb);
}

static uint64_t bytes_of(const buffer_t *buffer)
{
    return (uint64_t) buffer->type->super.size * (uint64_t) buffer->count;
}

/* The first @p size bytes of a buffer. */
static void copy(const buffer_t *buffer, void *bytes, uint64_t size, bool to_buffer)
{
    osc_cached_buffer_t cached = {
        .address = buffer->address, .type = buffer->type, .count = buffer->count};

    ompi_osc_cached_type_copy(&cached, bytes, size, to_buffer);
}

/* --- Requests of R-forms */

static int cancel_request(ompi_request_t *request, int complete)
{
    return MPI_ERR_REQUEST; /* the standard allows it for no request of RMA */
}

static int free_request(ompi_request_t **request)
{
    if (REQUEST_COMPLETED != (*request)->req_complete) {
        return MPI_ERR_REQUEST; /* nor this */
    }
    OMPI_REQUEST_FINI(*request);
    OBJ_RELEASE(*request);
    *request = MPI_REQUEST_NULL;
    return OMPI_SUCCESS;
}

static ompi_request_t *new_request(ompi_win_t *win)
{
    ompi_request_t *request = OBJ_NEW(ompi_request_t);

    if (NULL != request) {
        OMPI_REQUEST_INIT(request, false);
        request->req_type = OMPI_REQUEST_WIN;
        request->req_mpi_object.win = win;
        request->req_state = OMPI_REQUEST_ACTIVE;
        request->req_free = free_request;
        request->req_cancel = cancel_request;
        request->req_status = ompi_request_empty.req_status;
    }
    return request;
}

/* --- Results */

static void release(result_t *result)
{
    osc_cached_refused_t why;

    if (1 < atomic_fetch_sub_explicit(&result->users, 1, memory_order_acq_rel)) {
        return;
    }
    why = atomic_load_explicit(&result->why, memory_order_relaxed);
    if (NULL != result->buffer.type) {
        if (OSC_CACHED_REFUSED_NOT == why) { /* else the copy has bytes that nobody wrote */
            copy(&result->buffer, result->bytes, result->size, true);
        }
        OBJ_RELEASE(result->buffer.type);
        free(result->bytes);
    }
    if (NULL != result->request) {
        result->request->req_status.MPI_ERROR = ompi_osc_cached_helper_error(why);
        ompi_osc_cached_helper_request_completed();
        /* a thread that sees it sees the result: ompi_request_complete publishes without an order */
        atomic_thread_fence(memory_order_release);
        (void) ompi_request_complete(result->request, true);
    }
    free(result);
}

static void refuse(result_t *result, osc_cached_refused_t why)
{
    atomic_store_explicit(&result->why, (uint32_t) why, memory_order_relaxed);
}

/* @param size     bytes that come
 * @param request  completes with it; NULL: there is none */
static result_t *expect(const buffer_t *buffer, uint64_t size, ompi_request_t *request)
{
    result_t *result = calloc(1, sizeof(*result));

    if (NULL == result) {
        return NULL;
    }
    result->users = 1;
    result->size = size;
    if (is_plain(buffer) && !ompi_osc_cached_is_exposed(first_byte(buffer), size)) {
        result->bytes = first_byte(buffer);
    } else { /* a store to a protected page waits, perhaps for a lock that we have by then */
        result->bytes = malloc(size);
        if (NULL == result->bytes) {
            free(result);
            return NULL;
        }
        result->buffer = *buffer;
        OBJ_RETAIN(buffer->type);
    }
    result->request = request;
    if (NULL != request) {
        ompi_osc_cached_helper_request_begun();
    }
    return result;
}

static void pack(osc_cached_call_t *call, uint64_t offset, void *to, size_t bytes)
{
    memcpy(to, (const char *) call->context + offset, bytes);
}

static void pack_fetch(osc_cached_call_t *call, uint64_t offset, void *to, size_t bytes)
{
    const fetch_t *fetch = call->context;

    memcpy(to, fetch->data + offset, bytes);
}

static void unpack_fetch(osc_cached_call_t *call, uint64_t offset, const void *from, size_t bytes)
{
    const fetch_t *fetch = call->context;

    memcpy(fetch->to + offset, from, bytes);
}

/* A refusal is told at the next flush, and by the request. */
static void end_fetch(osc_cached_call_t *call, osc_cached_refused_t why)
{
    fetch_t *fetch = call->context;

    if (OSC_CACHED_REFUSED_NOT != why) {
        refuse(fetch->result, why);
    }
    release(fetch->result);
    free(fetch);
}

/* --- Operations */

/* An operation, and what was found out about it. */
typedef struct {
    osc_cached_request_t request; /* kind, window, operation, element */
    buffer_t origin;
    buffer_t result; /* without a type: there is none */
    buffer_t target; /* its address is that of the window's first byte, 0 */
    const char *data;
    result_t *to;
    const ompi_osc_cached_part_t *mapped; /* a put or a get that is a copy there, or NULL */
} operation_t;

/* One part that is one request for the client: at, count and layout are in the request. It is for
 * the bytes from @p from on of the packed stream, which has @p before bytes before it, up to @p
 * total. */
static int send_part(ompi_osc_cached_helper_target_t *target, const operation_t *operation,
                     osc_cached_request_t request, const ompi_osc_cached_piece_t *piece,
                     uint64_t before, uint64_t from, uint64_t total)
{
    osc_cached_call_t call = {.request = request, .total = total, .sent = from, .answered = from};
    fetch_t *fetch;
    int ret;

    if (NULL != piece) {
        call.layout = piece->layout;
        call.key = piece->key;
    }
    if (NULL == operation->to) {
        call.pack = pack;
        call.context = (void *) (operation->data + before);
        ret = ompi_osc_cached_helper_submit(target->remote, &call);
        ompi_osc_cached_target_sent(target);
        return ret;
    }
    fetch = malloc(sizeof(*fetch));
    if (NULL == fetch) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    call.pack = pack_fetch;
    call.unpack = unpack_fetch;
    call.end = end_fetch;
    call.context = fetch;
    *fetch = (fetch_t){.call = call,
                       .data = (NULL == operation->data) ? NULL : operation->data + before,
                       .to = operation->to->bytes + before,
                       .result = operation->to};
    atomic_fetch_add_explicit(&operation->to->users, 1, memory_order_relaxed);
    ret = ompi_osc_cached_helper_submit(target->remote, &fetch->call);
    ompi_osc_cached_target_sent(target);
    if (OMPI_SUCCESS != ret) {
        end_fetch(&fetch->call, OSC_CACHED_REFUSED_NOT); /* nobody else will */
    }
    return ret;
}

/* A put or a get on memory that we map is a copy. */
static int copy_part(const ompi_osc_cached_part_t *mapped, const osc_cached_request_t *request,
                     const osc_cached_layout_t *layout, const void *data, void *result)
{
    osc_cached_refused_t why = osc_cached_execute_check(request, layout, mapped->size);

    if (OSC_CACHED_REFUSED_NOT == why) {
        osc_cached_execute(request, layout, mapped->base, data, result);
        /* it is complete before the next one begins, also for those who look at the memory */
        atomic_thread_fence(memory_order_seq_cst);
    }
    return ompi_osc_cached_helper_error(why);
}

/* The same on our own memory, or on memory that we map. */
static int do_part(const ompi_osc_cached_helper_t *helper, const operation_t *operation,
                   osc_cached_request_t request, const ompi_osc_cached_piece_t *piece,
                   uint64_t before, uint64_t from, uint64_t total)
{
    size_t element = osc_cached_element_bytes(request.element);
    uint32_t most = (uint32_t) (LOCAL_BYTES / element * element);
    int ret = OMPI_SUCCESS;

    for (uint64_t done = from; done < total && OMPI_SUCCESS == ret; done += request.length) {
        const osc_cached_layout_t *layout = (NULL == piece) ? NULL : piece->layout;
        const char *data = (NULL == operation->data) ? NULL : operation->data + before + done;
        char *to = (NULL == operation->to) ? NULL : operation->to->bytes + before + done;

        request.offset = done;
        request.length = (uint32_t) (total - done < most ? total - done : most);
        ret = (NULL != operation->mapped) ? copy_part(operation->mapped, &request, layout, data, to)
              : (NULL != helper->reader)  ? ompi_osc_cached_helper_error(
                     ompi_osc_cached_reader_local(helper->reader, &request, layout, data, to))
                                         : ompi_osc_cached_helper_local(&request, layout, data, to);
    }
    return ret;
}

static int do_or_send(const ompi_osc_cached_helper_t *helper,
                      ompi_osc_cached_helper_target_t *target, const operation_t *operation,
                      osc_cached_request_t request, const ompi_osc_cached_piece_t *piece,
                      uint64_t before, uint64_t from, uint64_t total)
{
    return (target->ours || NULL != operation->mapped)
               ? do_part(helper, operation, request, piece, before, from, total)
               : send_part(target, operation, request, piece, before, from, total);
}

/* The bytes @p from to @p total of an operation, whose data is one run of bytes at the origin. The
 * target may have more room. */
static int transfer(const ompi_osc_cached_helper_t *helper, ompi_osc_cached_helper_target_t *target,
                    operation_t *operation, const ompi_osc_cached_shape_t *shape, uint64_t at,
                    uint64_t from, uint64_t total)
{
    const buffer_t *buffer = &operation->target;
    osc_cached_request_t request = operation->request;
    uint64_t before = 0;
    int ret = OMPI_SUCCESS;

    if (NULL == shape) { /* one run at the target, too */
        request.at = at + (uint64_t) (uintptr_t) first_byte(buffer);
        request.count = total;
        return do_or_send(helper, target, operation, request, NULL, 0, from, total);
    }
    if (1 == shape->pieces) {
        request.at = at;
        request.count = (uint64_t) buffer->count;
        return do_or_send(helper, target, operation, request, &shape->piece[0], 0, from, total);
    }
    for (uint64_t i = from / shape->packed; before < total && OMPI_SUCCESS == ret; ++i) {
        for (uint32_t k = 0; k < shape->pieces && before < total && OMPI_SUCCESS == ret; ++k) {
            const ompi_osc_cached_piece_t *piece = &shape->piece[k];
            uint64_t bytes = piece->layout->packed, begin;

            before = i * shape->packed + piece->before;
            begin = (before < from) ? from - before : 0;
            bytes = (before + bytes > total) ? total - before : bytes;
            request.at = at + i * (uint64_t) shape->extent;
            request.count = 1;
            if (begin < bytes) {
                ret = do_or_send(helper, target, operation, request, piece, before, begin, bytes);
            }
            before += piece->layout->packed;
        }
    }
    return ret;
}

/* What an operation fetches, and what its data changes; what it only fetches lies behind that. */
static int transfer_all(const ompi_osc_cached_helper_t *helper,
                        ompi_osc_cached_helper_target_t *target, operation_t *operation,
                        const ompi_osc_cached_shape_t *shape, uint64_t at, uint64_t changed,
                        uint64_t total)
{
    int ret = OMPI_SUCCESS;

    if (0 < changed) {
        ret = transfer(helper, target, operation, shape, at, 0, changed);
    }
    if (changed < total && OMPI_SUCCESS == ret) {
        operation->request.operation = OSC_CACHED_NO_OP;
        operation->data = NULL;
        ret = transfer(helper, target, operation, shape, at, changed, total);
    }
    return ret;
}

/* What the elements are for this operation; false: it is not defined for them. */
static bool choose_element(osc_cached_request_t *request, int element)
{
    if (0 > element || !osc_cached_operation_is_defined(request->operation, (unsigned) element)) {
        element = OSC_CACHED_BYTES;
    }
    request->element = (uint8_t) element;
    return osc_cached_operation_is_defined(request->operation, (unsigned) element);
}

static ompi_osc_cached_disp_unit_t unit_of(const ompi_osc_cached_helper_t *helper, int rank)
{
    const ompi_osc_cached_window_t *window = helper->window;

    return (NULL != window->disp_units) ? window->disp_units[rank] : window->disp_unit;
}

/* The trace names the route of each operation. */
static void trace(const ompi_osc_cached_helper_t *helper, const char *route, unsigned kind,
                  int rank, ptrdiff_t disp, uint64_t bytes)
{
    static const char *const names[] = {[OSC_CACHED_WIRE_GET] = "get",
                                        [OSC_CACHED_WIRE_PUT] = "put",
                                        [OSC_CACHED_WIRE_ACC] = "accumulate",
                                        [OSC_CACHED_WIRE_FETCH] = "fetch",
                                        [OSC_CACHED_WIRE_CAS] = "swap"};

    if (OPAL_UNLIKELY(helper->window->traced)) {
        ompi_osc_cached_trace_line(helper->window->number, route, names[kind], rank,
                                   (uint64_t) disp * (uint64_t) unit_of(helper, rank), bytes);
    }
}

/* Count an operation that went to the helper. */
static void count(ompi_win_t *win, uint64_t bytes)
{
    ompi_osc_cached_window_t *window = ompi_osc_cached_window_of(win);

    ompi_osc_cached_count(window, OSC_CACHED_STAT_helper_operations);
    ompi_osc_cached_add(window, OSC_CACHED_STAT_helper_bytes, (unsigned long) bytes);
}

/* Do an operation at a target to which there is an epoch. Where data goes there may be more room
 * than data: origins have less than the target for what is written, and targets less than the
 * result for what is read.
 * @param number   osc_cached_operation_t, or -1
 * @param request  of an R-form, to be set; NULL: it is none */
static int operate(ompi_osc_cached_helper_t *helper, ompi_osc_cached_helper_target_t *target,
                   operation_t *operation, ptrdiff_t disp, int number, ompi_request_t **request)
{
    ompi_osc_cached_shape_t *shape = NULL;
    ompi_request_t *waits = NULL;
    int element, ret;
    bool fetches = NULL != operation->result.type;
    bool is_atomic = OSC_CACHED_WIRE_ACC == operation->request.kind
                     || OSC_CACHED_WIRE_FETCH == operation->request.kind;
    uint64_t room = bytes_of(&operation->target);
    uint64_t changed = (OSC_CACHED_NO_OP == number) ? 0 : bytes_of(&operation->origin);
    uint64_t total = fetches ? room : changed;
    uint64_t at = (uint64_t) disp * (uint64_t) unit_of(helper, target->rank);
    char *packed = NULL;

    trace(helper, (NULL == operation->mapped) ? "helper" : "copy", operation->request.kind,
          target->rank, disp, total);
    if (NULL != request) {
        *request = &ompi_request_empty;
    }
    if (target->ours || NULL != operation->mapped) {
        ompi_osc_cached_helper_was_quiet(helper);
    }
    if (0 == total) {
        return OMPI_SUCCESS;
    }
    if (0 > number) {
        return MPI_ERR_OP;
    }
    operation->request.operation = (uint8_t) number;
    operation->request.window = ompi_osc_cached_helper_id(helper, target->rank);
    if (ompi_datatype_is_predefined(operation->target.type) && is_one_run(&operation->target)) {
        element = ompi_osc_cached_shape_element(operation->target.type);
    } else {
        shape = ompi_osc_cached_shape_get(operation->target.type);
        if (NULL == shape) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
        element = shape->element;
    }
    ret = MPI_ERR_OP;
    if (!choose_element(&operation->request, element)) {
        goto put_shape;
    }
    ret = MPI_ERR_ARG;
    if (changed > room || (fetches && room > bytes_of(&operation->result))
        || (is_atomic && 0 != changed % osc_cached_element_bytes(operation->request.element))) {
        goto put_shape;
    }
    ret = OMPI_ERR_OUT_OF_RESOURCE;
    if (0 == changed) {
        operation->data = NULL;
    } else if (is_plain(&operation->origin)) {
        operation->data = first_byte(&operation->origin);
    } else {
        operation->data = packed = malloc(changed);
        if (NULL == packed) {
            goto put_shape;
        }
        copy(&operation->origin, packed, changed, false);
    }
    if (fetches) {
        waits = (NULL != request) ? new_request(helper->win) : NULL;
        operation->to =
            (NULL != request && NULL == waits) ? NULL : expect(&operation->result, total, waits);
        if (NULL == operation->to) {
            goto drop_request;
        }
    }
    if (NULL == operation->mapped) {
        count(helper->win, total);
    } else {
        ompi_osc_cached_count(ompi_osc_cached_window_of(helper->win),
                              OSC_CACHED_STAT_helper_copies);
    }
    ret = transfer_all(helper, target, operation, is_one_run(&operation->target) ? NULL : shape, at,
                       changed, total);
    if (NULL != operation->to) {
        if (OMPI_SUCCESS != ret) {
            refuse(operation->to, OSC_CACHED_REFUSED_OTHER);
        }
        release(operation->to);
    }
    if (NULL != waits && OMPI_SUCCESS == ret) {
        *request = waits;
        waits = NULL;
    } else if (NULL != waits) { /* parts of it may be on their way */
        (void) ompi_osc_cached_helper_flush_local(target->remote, &target->refusals);
    }
drop_request:
    if (NULL != waits) {
        OBJ_RELEASE(waits);
    }
    free(packed);
put_shape:
    if (NULL != shape) {
        ompi_osc_cached_shape_put(shape);
    }
    return ret;
}

/* --- The functions of a module */

/* R-forms are for passive epochs; elsewhere the inner component has its error, if it can. */
static bool is_passive(const ompi_osc_cached_helper_t *helper,
                       const ompi_osc_cached_helper_target_t *to)
{
    return NULL != to && (helper->all || to->locked || helper->alone);
}

/* Of the datatype of a target. @return 0: no memory */
static uint64_t blocks_of(const ompi_osc_cached_helper_t *helper,
                          ompi_osc_cached_helper_target_t *to, const buffer_t *target)
{
    ompi_osc_cached_shape_t *shape;
    uint64_t blocks;

    if (target->type == to->shape.type && target->type->super.size == to->shape.bytes
        && target->type->super.true_ub == to->shape.end) {
        return to->shape.blocks * (uint64_t) target->count;
    }
    shape = ompi_osc_cached_shape_get(target->type);
    if (NULL == shape) {
        return 0;
    }
    blocks = shape->runs;
    ompi_osc_cached_shape_put(shape);
    if (!helper->threaded) {
        to->shape.type = target->type;
        to->shape.bytes = target->type->super.size;
        to->shape.end = target->type->super.true_ub;
        to->shape.blocks = blocks;
    }
    return blocks * (uint64_t) target->count;
}

/* The way of a put or a get where there is a choice: that of the inner component if @p to is NULL.
 */
static int choose_way(ompi_osc_cached_helper_t *helper, int rank, const buffer_t *target,
                      bool requested, ompi_osc_cached_helper_target_t **to, uint64_t *blocks,
                      osc_cached_way_t *way)
{
    int ret = ompi_osc_cached_helper_access(helper, rank, to);

    *way = OSC_CACHED_ROUTE_INNER;
    *blocks = is_one_run(target) ? 1 : (NULL == *to) ? 2 : blocks_of(helper, *to, target);
    if ((requested && !is_passive(helper, *to)) || 0 == *blocks) {
        *to = NULL;
        return OMPI_SUCCESS;
    }
    if (OMPI_SUCCESS == ret && NULL != *to) {
        *way = ompi_osc_cached_helper_route(helper, *to, *blocks, bytes_of(target));
    }
    return ret;
}

/* A put or a get, or its R-form, by the inner component. */
static inline __opal_attribute_always_inline__ int
move_inside(ompi_osc_cached_helper_t *helper, bool puts, void *origin_addr,
            ompi_osc_cached_count_t origin_count, struct ompi_datatype_t *origin_dt, int target,
            ptrdiff_t target_disp, ompi_osc_cached_count_t target_count,
            struct ompi_datatype_t *target_dt, ompi_win_t *win, ompi_request_t **request)
{
    const ompi_osc_base_module_t *inner = &helper->inner;
    ompi_osc_cached_helper_target_t *passive;
    int ret = ompi_osc_cached_helper_inner_access(helper, target, &passive);

    if (OMPI_SUCCESS != ret) {
        return ret;
    }
    if (NULL != request) {
        ret = puts ? inner->osc_rput(origin_addr, origin_count, origin_dt, target, target_disp,
                                     target_count, target_dt, win, request)
                   : inner->osc_rget(origin_addr, origin_count, origin_dt, target, target_disp,
                                     target_count, target_dt, win, request);
    } else {
        ret = puts ? inner->osc_put(origin_addr, origin_count, origin_dt, target, target_disp,
                                    target_count, target_dt, win)
                   : inner->osc_get(origin_addr, origin_count, origin_dt, target, target_disp,
                                    target_count, target_dt, win);
    }
    if (NULL != passive) {
        ompi_osc_cached_helper_inner_issued(
            helper, passive, (uint64_t) target_dt->super.size * (uint64_t) target_count);
    }
    return ret;
}

/* The memory of a target, if we map it. */
static const ompi_osc_cached_part_t *part_of(const ompi_osc_cached_helper_t *helper,
                                             const ompi_osc_cached_helper_target_t *to)
{
    return (helper->alone && to->rank == helper->rank) ? &helper->mine : to->mapped;
}

/* A put or a get, or its R-form, by the helper; with @p mapped a copy. */
static int move_outside(ompi_osc_cached_helper_t *helper, ompi_osc_cached_helper_target_t *to,
                        const ompi_osc_cached_part_t *mapped, osc_cached_wire_kind_t kind,
                        const buffer_t *origin, const buffer_t *target, ptrdiff_t disp,
                        ompi_request_t **request)
{
    bool puts = OSC_CACHED_WIRE_PUT == kind;
    operation_t operation = {.request = {.kind = kind}, .target = *target, .mapped = mapped};

    *(puts ? &operation.origin : &operation.result) = *origin;
    return operate(helper, to, &operation, disp, puts ? OSC_CACHED_REPLACE : OSC_CACHED_NO_OP,
                   request);
}

/* A put or a get, or its R-form, by the way that is chosen.  To ourselves, and where there is no
 * choice, it is the inner component's.  Inline: that one may take less time than some calls do. */
static inline __opal_attribute_always_inline__ int
move(osc_cached_wire_kind_t kind, void *origin_addr, ompi_osc_cached_count_t origin_count,
     struct ompi_datatype_t *origin_dt, int target, ptrdiff_t target_disp,
     ompi_osc_cached_count_t target_count, struct ompi_datatype_t *target_dt, ompi_win_t *win,
     ompi_request_t **request)
{
    ompi_osc_cached_helper_t *helper = ompi_osc_cached_helper_of(win);
    ompi_osc_cached_helper_target_t *to = NULL;
    buffer_t origin = {origin_addr, origin_count, origin_dt};
    buffer_t buffer = {NULL, target_count, target_dt};
    uint64_t bytes = bytes_of((OSC_CACHED_WIRE_PUT == kind) ? &origin : &buffer);
    bool fits = bytes <= bytes_of((OSC_CACHED_WIRE_PUT == kind) ? &buffer : &origin);
    bool contiguous = is_one_run(&buffer);
    uint64_t blocks = contiguous ? 1 : 2;
    osc_cached_way_t way = OSC_CACHED_ROUTE_INNER;
    int ret = OMPI_SUCCESS;

    if (helper->looks) {
        ret = ompi_osc_cached_helper_access(helper, target, &to);
        if (OMPI_SUCCESS != ret) {
            return ret;
        }
        if (NULL != to && (helper->alone || NULL != to->mapped)
            && (NULL == request || is_passive(helper, to)) && (fits || helper->alone)) {
            return move_outside(helper, to, part_of(helper, to), kind, &origin, &buffer,
                                target_disp, request);
        }
        to = NULL;
    }
    if (fits && target != helper->rank && ompi_osc_cached_helper_has_choice(helper, contiguous)) {
        buffer_t used = buffer; /* the target may have more room than there is data */

        if (bytes < bytes_of(&buffer)) {
            used.count = (0 < bytes) ? 1 + (bytes - 1) / target_dt->super.size : 1;
        }
        ret = choose_way(helper, target, &used, NULL != request, &to, &blocks, &way);
        if (OMPI_SUCCESS != ret) {
            return ret;
        }
    }
    if (OSC_CACHED_ROUTE_HELPER == way) {
        ret = move_outside(helper, to, NULL, kind, &origin, &buffer, target_disp, request);
    } else {
        trace(helper, "inner", kind, target, target_disp, bytes);
        ret = move_inside(helper, OSC_CACHED_WIRE_PUT == kind, origin_addr, origin_count, origin_dt,
                          target, target_disp, target_count, target_dt, win, request);
    }
    if (OMPI_SUCCESS == ret && NULL != to) {
        ret = ompi_osc_cached_helper_routed(helper, to, way, blocks, bytes, NULL != request);
    }
    return ret;
}

static int put(const void *origin_addr, ompi_osc_cached_count_t origin_count,
               struct ompi_datatype_t *origin_dt, int target, ptrdiff_t target_disp,
               ompi_osc_cached_count_t target_count, struct ompi_datatype_t *target_dt,
               ompi_win_t *win)
{
    return move(OSC_CACHED_WIRE_PUT, (void *) origin_addr, origin_count, origin_dt, target,
                target_disp, target_count, target_dt, win, NULL);
}

static int rput(const void *origin_addr, ompi_osc_cached_count_t origin_count,
                struct ompi_datatype_t *origin_dt, int target, ptrdiff_t target_disp,
                ompi_osc_cached_count_t target_count, struct ompi_datatype_t *target_dt,
                ompi_win_t *win, struct ompi_request_t **request)
{
    return move(OSC_CACHED_WIRE_PUT, (void *) origin_addr, origin_count, origin_dt, target,
                target_disp, target_count, target_dt, win, request);
}

static int get(void *origin_addr, ompi_osc_cached_count_t origin_count,
               struct ompi_datatype_t *origin_dt, int target, ptrdiff_t target_disp,
               ompi_osc_cached_count_t target_count, struct ompi_datatype_t *target_dt,
               ompi_win_t *win)
{
    return move(OSC_CACHED_WIRE_GET, origin_addr, origin_count, origin_dt, target, target_disp,
                target_count, target_dt, win, NULL);
}

static int rget(void *origin_addr, ompi_osc_cached_count_t origin_count,
                struct ompi_datatype_t *origin_dt, int target, ptrdiff_t target_disp,
                ompi_osc_cached_count_t target_count, struct ompi_datatype_t *target_dt,
                ompi_win_t *win, struct ompi_request_t **request)
{
    return move(OSC_CACHED_WIRE_GET, origin_addr, origin_count, origin_dt, target, target_disp,
                target_count, target_dt, win, request);
}

static int accumulate(const void *origin_addr, ompi_osc_cached_count_t origin_count,
                      struct ompi_datatype_t *origin_dt, int target, ptrdiff_t target_disp,
                      ompi_osc_cached_count_t target_count, struct ompi_datatype_t *target_dt,
                      struct ompi_op_t *op, ompi_win_t *win)
{
    ompi_osc_cached_helper_t *helper = ompi_osc_cached_helper_of(win);
    operation_t operation = {.request.kind = OSC_CACHED_WIRE_ACC};
    ompi_osc_cached_helper_target_t *to;
    int ret = ompi_osc_cached_helper_access(helper, target, &to);

    if (OMPI_SUCCESS != ret) {
        return ret;
    }
    if (NULL == to) {
        return helper->inner.osc_accumulate(origin_addr, origin_count, origin_dt, target,
                                            target_disp, target_count, target_dt, op, win);
    }
    if (MPI_NO_OP == op) {
        return OMPI_SUCCESS;
    }
    operation.origin = (buffer_t){(void *) origin_addr, origin_count, origin_dt};
    operation.target = (buffer_t){NULL, target_count, target_dt};
    return operate(helper, to, &operation, target_disp, ompi_osc_cached_shape_operation(op), NULL);
}

static int raccumulate(const void *origin_addr, ompi_osc_cached_count_t origin_count,
                       struct ompi_datatype_t *origin_dt, int target, ptrdiff_t target_disp,
                       ompi_osc_cached_count_t target_count, struct ompi_datatype_t *target_dt,
                       struct ompi_op_t *op, ompi_win_t *win, struct ompi_request_t **request)
{
    ompi_osc_cached_helper_t *helper = ompi_osc_cached_helper_of(win);
    operation_t operation = {.request.kind = OSC_CACHED_WIRE_ACC};
    ompi_osc_cached_helper_target_t *to;
    int ret = ompi_osc_cached_helper_access(helper, target, &to);

    if (OMPI_SUCCESS != ret) {
        return ret;
    }
    if (!is_passive(helper, to)) {
        return helper->inner.osc_raccumulate(origin_addr, origin_count, origin_dt, target,
                                             target_disp, target_count, target_dt, op, win,
                                             request);
    }
    operation.origin = (buffer_t){(void *) origin_addr, origin_count, origin_dt};
    operation.target = (buffer_t){NULL, target_count, target_dt};
    if (MPI_NO_OP == op) {
        *request = &ompi_request_empty;
        return OMPI_SUCCESS;
    }
    return operate(helper, to, &operation, target_disp, ompi_osc_cached_shape_operation(op),
                   request);
}

static int get_accumulate(const void *origin_addr, ompi_osc_cached_count_t origin_count,
                          struct ompi_datatype_t *origin_dt, void *result_addr,
                          ompi_osc_cached_count_t result_count, struct ompi_datatype_t *result_dt,
                          int target, ptrdiff_t target_disp, ompi_osc_cached_count_t target_count,
                          struct ompi_datatype_t *target_dt, struct ompi_op_t *op, ompi_win_t *win)
{
    ompi_osc_cached_helper_t *helper = ompi_osc_cached_helper_of(win);
    operation_t operation = {.request.kind = OSC_CACHED_WIRE_FETCH};
    ompi_osc_cached_helper_target_t *to;
    int ret = ompi_osc_cached_helper_access(helper, target, &to);

    if (OMPI_SUCCESS != ret) {
        return ret;
    }
    if (NULL == to) {
        return helper->inner.osc_get_accumulate(origin_addr, origin_count, origin_dt, result_addr,
                                                result_count, result_dt, target, target_disp,
                                                target_count, target_dt, op, win);
    }
    operation.origin = (buffer_t){(void *) origin_addr, origin_count, origin_dt};
    operation.result = (buffer_t){result_addr, result_count, result_dt};
    operation.target = (buffer_t){NULL, target_count, target_dt};
    return operate(helper, to, &operation, target_disp, ompi_osc_cached_shape_operation(op), NULL);
}

static int rget_accumulate(const void *origin_addr, ompi_osc_cached_count_t origin_count,
                           struct ompi_datatype_t *origin_dt, void *result_addr,
                           ompi_osc_cached_count_t result_count, struct ompi_datatype_t *result_dt,
                           int target, ptrdiff_t target_disp, ompi_osc_cached_count_t target_count,
                           struct ompi_datatype_t *target_dt, struct ompi_op_t *op, ompi_win_t *win,
                           struct ompi_request_t **request)
{
    ompi_osc_cached_helper_t *helper = ompi_osc_cached_helper_of(win);
    operation_t operation = {.request.kind = OSC_CACHED_WIRE_FETCH};
    ompi_osc_cached_helper_target_t *to;
    int ret = ompi_osc_cached_helper_access(helper, target, &to);

    if (OMPI_SUCCESS != ret) {
        return ret;
    }
    if (!is_passive(helper, to)) {
        return helper->inner.osc_rget_accumulate(origin_addr, origin_count, origin_dt, result_addr,
                                                 result_count, result_dt, target, target_disp,
                                                 target_count, target_dt, op, win, request);
    }
    operation.origin = (buffer_t){(void *) origin_addr, origin_count, origin_dt};
    operation.result = (buffer_t){result_addr, result_count, result_dt};
    operation.target = (buffer_t){NULL, target_count, target_dt};
    return operate(helper, to, &operation, target_disp, ompi_osc_cached_shape_operation(op),
                   request);
}

static int fetch_and_op(const void *origin_addr, void *result_addr, struct ompi_datatype_t *dt,
                        int target, ptrdiff_t target_disp, struct ompi_op_t *op, ompi_win_t *win)
{
    ompi_osc_cached_helper_t *helper = ompi_osc_cached_helper_of(win);
    operation_t operation = {.request.kind = OSC_CACHED_WIRE_FETCH};
    ompi_osc_cached_helper_target_t *to;
    int ret = ompi_osc_cached_helper_access(helper, target, &to);

    if (OMPI_SUCCESS != ret) {
        return ret;
    }
    if (NULL == to) {
        return helper->inner.osc_fetch_and_op(origin_addr, result_addr, dt, target, target_disp, op,
                                              win);
    }
    operation.origin = (buffer_t){(void *) origin_addr, 1, dt};
    operation.result = (buffer_t){result_addr, 1, dt};
    operation.target = (buffer_t){NULL, 1, dt};
    return operate(helper, to, &operation, target_disp, ompi_osc_cached_shape_operation(op), NULL);
}

static int compare_and_swap(const void *origin_addr, const void *compare_addr, void *result_addr,
                            struct ompi_datatype_t *dt, int target, ptrdiff_t target_disp,
                            ompi_win_t *win)
{
    static const uint8_t elements[] = {[1] = OSC_CACHED_UINT8,
                                       [2] = OSC_CACHED_UINT16,
                                       [4] = OSC_CACHED_UINT32,
                                       [8] = OSC_CACHED_UINT64};
    size_t bytes = dt->super.size;
    char both[16];
    ompi_osc_cached_helper_t *helper = ompi_osc_cached_helper_of(win);
    operation_t operation = {.request.kind = OSC_CACHED_WIRE_CAS};
    ompi_osc_cached_helper_target_t *to;
    int ret = ompi_osc_cached_helper_access(helper, target, &to);

    if (OMPI_SUCCESS != ret) {
        return ret;
    }
    if (NULL == to) {
        return helper->inner.osc_compare_and_swap(origin_addr, compare_addr, result_addr, dt,
                                                  target, target_disp, win);
    }
    if (sizeof(elements) <= bytes
        || bytes != osc_cached_element_bytes(elements[bytes])) { /* only integers are allowed */
        return MPI_ERR_TYPE;
    }
    if (OPAL_UNLIKELY(ompi_osc_cached_has_devices)) {
        copy(&(buffer_t){(void *) origin_addr, 1, dt}, both, bytes, false);
        copy(&(buffer_t){(void *) compare_addr, 1, dt}, both + bytes, bytes, false);
    } else {
        memcpy(both, origin_addr, bytes);
        memcpy(both + bytes, compare_addr, bytes);
    }
    operation.request.window = ompi_osc_cached_helper_id(helper, target);
    operation.request.element = elements[bytes];
    operation.request.at = (uint64_t) target_disp * (uint64_t) unit_of(helper, target);
    operation.request.count = bytes;
    operation.data = both;
    operation.to = expect(&(buffer_t){result_addr, 1, dt}, bytes, NULL);
    if (NULL == operation.to) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    count(win, bytes);
    trace(helper, "helper", OSC_CACHED_WIRE_CAS, target, target_disp, bytes);
    if (to->ours) {
        ompi_osc_cached_helper_was_quiet(helper);
    }
    ret = do_or_send(helper, to, &operation, operation.request, NULL, 0, 0, bytes);
    if (OMPI_SUCCESS != ret) {
        refuse(operation.to, OSC_CACHED_REFUSED_OTHER);
    }
    release(operation.to);
    return ret;
}

const ompi_osc_base_module_t ompi_osc_cached_helper_operations = {
    .osc_put = put,
    .osc_get = get,
    .osc_rput = rput,
    .osc_rget = rget,
    .osc_accumulate = accumulate,
    .osc_raccumulate = raccumulate,
    .osc_get_accumulate = get_accumulate,
    .osc_rget_accumulate = rget_accumulate,
    .osc_fetch_and_op = fetch_and_op,
    .osc_compare_and_swap = compare_and_swap,
};
