/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* osc_cached_wire: what is encoded is read again, and nothing else is accepted. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "osc_cached_operation.h"
#include "osc_cached_test_random.h"
#include "osc_cached_wire.h"

#include <stdio.h>
#include <string.h>

static uint64_t any64(uint64_t *random)
{
    return (uint64_t) random_below(random, INT32_MAX) << 33
           ^ (uint64_t) random_below(random, INT32_MAX) << 11 ^ random_below(random, INT32_MAX);
}

/* Every kind, with the data that it has. */
static void test_requests(void **state)
{
    static const struct {
        osc_cached_request_t request;
        size_t data;
    } valid[] = {
        {{.kind = OSC_CACHED_WIRE_ASK}, 0},
        {{.kind = OSC_CACHED_WIRE_RELEASE}, 0},
        {{.kind = OSC_CACHED_WIRE_TYPE, .layout = 3, .length = 17}, 17},
        {{.kind = OSC_CACHED_WIRE_TYPE, .layout = 3}, 0},
        {{.kind = OSC_CACHED_WIRE_GET, .length = 9}, 0},
        {{.kind = OSC_CACHED_WIRE_PUT, .length = 9}, 9},
        {{.kind = OSC_CACHED_WIRE_ACC, .length = 8, .operation = OSC_CACHED_SUM}, 8},
        {{.kind = OSC_CACHED_WIRE_FETCH, .length = 8, .operation = OSC_CACHED_MAX}, 8},
        {{.kind = OSC_CACHED_WIRE_FETCH, .length = 8, .operation = OSC_CACHED_NO_OP}, 0},
        {{.kind = OSC_CACHED_WIRE_CAS, .length = 4, .count = 4, .element = OSC_CACHED_INT32}, 8},
        {{.kind = OSC_CACHED_WIRE_LOCK, .count = 1}, 0},
        {{.kind = OSC_CACHED_WIRE_UNLOCK}, 0},
        {{.kind = OSC_CACHED_WIRE_NOTE, .operation = 1, .count = 1}, 0},
        {{.kind = OSC_CACHED_WIRE_NOTE, .operation = 2, .count = 1, .length = 3}, 3},
        {{.kind = OSC_CACHED_WIRE_NOTE, .operation = OSC_CACHED_WIRE_NOTES, .count = 4096}, 0},
    };
    uint64_t random = seed_get(1);
    (void) state;

    for (size_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++) {
        osc_cached_request_t request = valid[i].request, read;
        unsigned char header[OSC_CACHED_REQUEST_BYTES], again[OSC_CACHED_REQUEST_BYTES];

        request.origin = any64(&random);
        request.window.creator = any64(&random);
        request.window.number = random_below(&random, INT32_MAX);
        request.window.part = random_below(&random, INT32_MAX);
        request.session = random_below(&random, INT32_MAX);
        request.number = any64(&random);
        request.token = any64(&random);
        request.at = any64(&random);
        request.offset = any64(&random);
        request.announce = random_below(&random, INT32_MAX);
        request.last = random_below(&random, 2);
        osc_cached_request_encode(&request, header);
        assert_true(osc_cached_request_decode(header, sizeof(header), valid[i].data, &read));
        osc_cached_request_encode(&read, again);
        assert_memory_equal(header, again, sizeof(header));
        assert_int_equal(read.origin, request.origin);
        assert_int_equal(read.window.creator, request.window.creator);
        assert_int_equal(read.window.number, request.window.number);
        assert_int_equal(read.window.part, request.window.part);
        assert_int_equal(read.session, request.session);
        assert_int_equal(read.number, request.number);
        assert_int_equal(read.token, request.token);
        assert_int_equal(read.at, request.at);
        assert_int_equal(read.count, request.count);
        assert_int_equal(read.offset, request.offset);
        assert_int_equal(read.length, request.length);
        assert_int_equal(read.announce, request.announce);
        /* other data than the kind has, or a header of another size */
        assert_false(osc_cached_request_decode(header, sizeof(header), valid[i].data + 1, &read));
        assert_false(osc_cached_request_decode(header, sizeof(header) - 1, valid[i].data, &read));
    }
}

static void refused(osc_cached_request_t request, size_t data)
{
    unsigned char header[OSC_CACHED_REQUEST_BYTES];
    osc_cached_request_t read;

    osc_cached_request_encode(&request, header);
    assert_false(osc_cached_request_decode(header, sizeof(header), data, &read));
}

static void test_refused_requests(void **state)
{
    (void) state;
    refused((osc_cached_request_t){.kind = 0}, 0);
    refused((osc_cached_request_t){.kind = OSC_CACHED_WIRE_REQUESTS}, 0);
    refused((osc_cached_request_t){.kind = OSC_CACHED_WIRE_LOCK, .count = 3}, 0);
    refused((osc_cached_request_t){.kind = OSC_CACHED_WIRE_NOTE, .count = 1}, 0);
    refused((osc_cached_request_t){.kind = OSC_CACHED_WIRE_NOTE, .operation = 1}, 0);
    refused((osc_cached_request_t){.kind = OSC_CACHED_WIRE_NOTE,
                                   .operation = OSC_CACHED_WIRE_NOTES + 1,
                                   .count = 1},
            0);
    refused(
        (osc_cached_request_t){
            .kind = OSC_CACHED_WIRE_NOTE, .operation = 1, .at = 2, .count = UINT64_MAX - 1},
        0);
    refused(
        (osc_cached_request_t){
            .kind = OSC_CACHED_WIRE_NOTE, .operation = 1, .count = 1, .length = 1},
        0);
    refused((osc_cached_request_t){.kind = OSC_CACHED_WIRE_TYPE, .length = 4}, 4);
    refused((osc_cached_request_t){.kind = OSC_CACHED_WIRE_ACC,
                                   .length = 8,
                                   .operation = OSC_CACHED_NO_OP},
            8);
    refused((osc_cached_request_t){.kind = OSC_CACHED_WIRE_ACC,
                                   .length = 8,
                                   .operation = OSC_CACHED_BAND,
                                   .element = OSC_CACHED_DOUBLE},
            8);
    refused((osc_cached_request_t){.kind = OSC_CACHED_WIRE_FETCH,
                                   .length = 8,
                                   .operation = OSC_CACHED_OPERATIONS},
            8);
    refused(
        (osc_cached_request_t){
            .kind = OSC_CACHED_WIRE_CAS, .length = 8, .count = 8, .element = OSC_CACHED_INT32},
        16);
    refused((osc_cached_request_t){.kind = OSC_CACHED_WIRE_CAS,
                                   .length = 0,
                                   .element = OSC_CACHED_ELEMENTS},
            0);
}

static void test_replies(void **state)
{
    unsigned char header[OSC_CACHED_REPLY_BYTES], again[OSC_CACHED_REPLY_BYTES];
    uint64_t random = seed_get(2);
    osc_cached_reply_t read;
    (void) state;

    for (unsigned kind = OSC_CACHED_WIRE_GRANT; kind < OSC_CACHED_WIRE_REPLIES; kind++) {
        osc_cached_reply_t reply = {.kind = (uint8_t) kind,
                                    .status = OSC_CACHED_WIRE_FAILED == kind
                                                  ? OSC_CACHED_REFUSED_RANGE
                                                  : OSC_CACHED_REFUSED_NOT,
                                    .target = any64(&random),
                                    .done = any64(&random),
                                    .token = any64(&random),
                                    .offset = any64(&random),
                                    .session = random_below(&random, INT32_MAX),
                                    .length = OSC_CACHED_WIRE_DATA == kind ? 12 : 0,
                                    .buffers = random_below(&random, INT32_MAX),
                                    .chunk = random_below(&random, INT32_MAX),
                                    .room = random_below(&random, INT32_MAX),
                                    .window = {.creator = any64(&random),
                                               .number = random_below(&random, INT32_MAX),
                                               .part = random_below(&random, INT32_MAX)}};

        osc_cached_reply_encode(&reply, header);
        assert_true(osc_cached_reply_decode(header, sizeof(header), reply.length, &read));
        osc_cached_reply_encode(&read, again);
        assert_memory_equal(header, again, sizeof(header));
        assert_int_equal(read.target, reply.target);
        if (OSC_CACHED_WIRE_FAILED == kind) {
            assert_memory_equal(&read.window, &reply.window, sizeof(reply.window));
        } else {
            assert_int_equal(read.room, reply.room);
        }
        assert_false(osc_cached_reply_decode(header, sizeof(header), reply.length + 1, &read));
        assert_false(osc_cached_reply_decode(header, sizeof(header) + 1, reply.length, &read));
        /* a status where none belongs, none where one does, and one that is none */
        header[1] = OSC_CACHED_WIRE_FAILED == kind ? OSC_CACHED_REFUSED_NOT : 1;
        assert_false(osc_cached_reply_decode(header, sizeof(header), reply.length, &read));
        header[1] = OSC_CACHED_REFUSED_END;
        assert_false(osc_cached_reply_decode(header, sizeof(header), reply.length, &read));
    }
}

/* Any bytes: what is accepted is what an encoder writes. */
static void test_any_bytes(void **state)
{
    uint64_t random = seed_get(3), accepted = 0;
    uint32_t inputs = operations_of(1, 1);
    (void) state;

    for (uint32_t i = 0; i < inputs; i++) {
        unsigned char bytes[OSC_CACHED_REQUEST_BYTES], again[OSC_CACHED_REQUEST_BYTES];
        size_t data = random_below(&random, 3) * 4;
        osc_cached_request_t request;
        osc_cached_reply_t reply;

        for (size_t k = 0; k < sizeof(bytes); k++) {
            bytes[k] = (unsigned char) (random_below(&random, 3) ? 0 : random_below(&random, 256));
        }
        bytes[0] = (unsigned char) random_below(&random, 80);
        bytes[40] = 0; /* of a reply: the length is as long as the data now and then */
        bytes[41] = bytes[42] = bytes[43] = 0;
        if (osc_cached_request_decode(bytes, sizeof(bytes), data, &request)) {
            ++accepted;
            osc_cached_request_encode(&request, again);
            assert_memory_equal(bytes, again, sizeof(bytes));
        }
        if (osc_cached_reply_decode(bytes, OSC_CACHED_REPLY_BYTES, 0, &reply)) {
            ++accepted;
            osc_cached_reply_encode(&reply, again);
            assert_memory_equal(bytes, again, OSC_CACHED_REPLY_BYTES);
        }
    }
    assert_true(accepted > inputs / 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_refused_requests),
        cmocka_unit_test(test_replies),
        cmocka_unit_test(test_any_bytes),
    };

    return cmocka_run_group_tests_name("osc_cached_wire", tests, NULL, NULL);
}
