/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * Layouts: built, described, read, walked.
 *
 * A description is: number of blocks, extent, then for each block the distance of its offset from
 * the end of the first run of the block before, its run, runs, and its stride if there are several
 * runs. All are numbers of 1 to 10 bytes, 7 bits each, the lowest first; signed ones with the sign
 * in the lowest bit.
 */
#include "osc_cached_layout.h"

#include <string.h>

#define MOST OSC_CACHED_LAYOUT_BYTES

/* The smallest description of a block: offset, run, runs. */
#define BLOCK_BYTES 3

osc_cached_layout_t *osc_cached_layout_new(const osc_cached_alloc_t *alloc, uint32_t room,
                                           int64_t extent)
{
    osc_cached_layout_t *layout;

    layout = alloc->alloc(alloc->context, sizeof(void *), osc_cached_layout_size(room));
    if (NULL != layout) {
        *layout = (osc_cached_layout_t){.extent = extent, .room = room};
    }
    return layout;
}

void osc_cached_layout_free(const osc_cached_alloc_t *alloc, osc_cached_layout_t *layout)
{
    if (NULL != layout) {
        alloc->free(alloc->context, layout, osc_cached_layout_size(layout->room));
    }
}

static bool is_small(int64_t value)
{
    return -MOST <= value && value <= MOST;
}

/* Append a block whose numbers have been read or found. @return whether they can be */
static bool add_block(osc_cached_layout_t *layout, osc_cached_block_t block)
{
    int64_t first = block.offset, last, low, high;

    if (0 == block.run || 0 == block.runs || block.run > (uint64_t) MOST
        || block.runs > (uint64_t) MOST || !is_small(block.offset) || !is_small(block.stride)
        || __builtin_mul_overflow((int64_t) block.runs - 1, block.stride, &last)
        || __builtin_add_overflow(last, first, &last) || !is_small(last)
        || block.runs > ((uint64_t) MOST - layout->packed) / block.run) {
        return false;
    }
    low = first < last ? first : last;
    high = (first > last ? first : last) + (int64_t) block.run;
    if (!is_small(high)) {
        return false;
    }
    block.before = layout->packed;
    layout->packed += block.run * block.runs;
    layout->low = (0 == layout->blocks || low < layout->low) ? low : layout->low;
    layout->high = (0 == layout->blocks || high > layout->high) ? high : layout->high;
    layout->block[layout->blocks++] = block;
    return true;
}

int osc_cached_layout_add(osc_cached_layout_t *layout, int64_t offset, uint64_t bytes)
{
    osc_cached_block_t block = {.offset = offset, .run = bytes, .runs = 1};
    const osc_cached_layout_t before = *layout;
    const osc_cached_block_t *last = 0 < layout->blocks ? &layout->block[layout->blocks - 1] : NULL;
    bool joins = false;

    if (0 == bytes) {
        return OSC_CACHED_OK;
    }
    if (!is_small(offset) || !is_small(layout->extent)) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    if (NULL != last && 1 == last->runs && last->offset + (int64_t) last->run == offset) {
        block = *last; /* the same run goes on */
        joins = true;
        if (__builtin_add_overflow(block.run, bytes, &block.run)) {
            return OSC_CACHED_BAD_ARGUMENT;
        }
    } else if (NULL != last && last->run == bytes
               && (1 == last->runs
                   || last->offset + (int64_t) last->runs * last->stride == offset)) {
        block = *last; /* one more at the same distance */
        joins = true;
        block.stride = (1 == last->runs) ? offset - last->offset : last->stride;
        ++block.runs;
    }
    if (joins) { /* in the place of the last one */
        --layout->blocks;
        layout->packed = last->before;
    } else if (layout->blocks == layout->room) {
        return OSC_CACHED_FULL;
    }
    if (!add_block(layout, block)) {
        *layout = before;
        return OSC_CACHED_BAD_ARGUMENT;
    }
    if (joins) { /* low and high only grow */
        layout->low = before.low < layout->low ? before.low : layout->low;
        layout->high = before.high > layout->high ? before.high : layout->high;
    }
    return OSC_CACHED_OK;
}

/* --- Descriptions ---------------------------------------------------------------------------- */

typedef struct {
    unsigned char *at;
    unsigned char *end;
    bool full;
} writer_t;

static void write_number(writer_t *writer, uint64_t value)
{
    do {
        if (writer->at == writer->end) {
            writer->full = true;
            return;
        }
        *writer->at++ = (unsigned char) ((value & 127) | (value > 127 ? 128 : 0));
        value >>= 7;
    } while (0 != value);
}

static void write_signed(writer_t *writer, int64_t value)
{
    write_number(writer, (uint64_t) value << 1 ^ (uint64_t) (value < 0 ? -1 : 0));
}

typedef struct {
    const unsigned char *at;
    const unsigned char *end;
    bool bad;
} reader_t;

static uint64_t read_number(reader_t *reader)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64 && reader->at < reader->end; shift += 7) {
        unsigned char byte = *reader->at++;

        if (63 == shift && byte > 1) {
            break;
        }
        value |= (uint64_t) (byte & 127) << shift;
        if (byte < 128) {
            return value;
        }
    }
    reader->bad = true;
    return 0;
}

static int64_t read_signed(reader_t *reader)
{
    uint64_t value = read_number(reader);
    int64_t half = (int64_t) (value >> 1);

    return 0 == (value & 1) ? half : -half - 1;
}

size_t osc_cached_layout_write(const osc_cached_layout_t *layout, void *to, size_t bytes)
{
    writer_t writer = {.at = to, .end = (unsigned char *) to + bytes};
    int64_t expected = 0;

    write_number(&writer, layout->blocks);
    write_signed(&writer, layout->extent);
    for (uint32_t i = 0; i < layout->blocks; i++) {
        const osc_cached_block_t *block = &layout->block[i];

        write_signed(&writer, block->offset - expected);
        write_number(&writer, block->run);
        write_number(&writer, block->runs);
        if (1 < block->runs) {
            write_signed(&writer, block->stride);
        }
        expected = block->offset + (int64_t) block->run;
    }
    return writer.full ? 0 : (size_t) (writer.at - (unsigned char *) to);
}

uint32_t osc_cached_layout_count(const void *from, size_t bytes)
{
    reader_t reader = {.at = from, .end = (const unsigned char *) from + bytes};
    uint64_t count = read_number(&reader);

    /* no more than the bytes can describe: what they ask for is allocated before they are read */
    return (reader.bad || count > bytes / BLOCK_BYTES || count > UINT32_MAX) ? 0 : (uint32_t) count;
}

int osc_cached_layout_read(const osc_cached_alloc_t *alloc, const void *from, size_t bytes,
                           uint32_t max_blocks, osc_cached_layout_t **result)
{
    reader_t reader = {.at = from, .end = (const unsigned char *) from + bytes};
    uint32_t count = osc_cached_layout_count(from, bytes);
    osc_cached_layout_t *layout;
    int64_t extent, expected = 0;

    if (0 == count || count > max_blocks) {
        return OSC_CACHED_BAD_ARGUMENT;
    }
    (void) read_number(&reader);
    extent = read_signed(&reader);
    layout = osc_cached_layout_new(alloc, count, extent);
    if (NULL == layout) {
        return OSC_CACHED_NO_MEMORY;
    }
    reader.bad = reader.bad || !is_small(extent);
    while (layout->blocks < count && !reader.bad) {
        osc_cached_block_t block = {.offset = 0};
        int64_t distance = read_signed(&reader);

        block.run = read_number(&reader);
        block.runs = read_number(&reader);
        block.stride = (1 < block.runs) ? read_signed(&reader) : 0;
        if (!is_small(distance) || !is_small(expected)) {
            break;
        }
        block.offset = expected + distance;
        if (reader.bad || !add_block(layout, block)) {
            break;
        }
        expected = block.offset + (int64_t) block.run;
    }
    if (layout->blocks < count || reader.at != reader.end) {
        osc_cached_layout_free(alloc, layout);
        return OSC_CACHED_BAD_ARGUMENT;
    }
    *result = layout;
    return OSC_CACHED_OK;
}

bool osc_cached_layout_fits(const osc_cached_layout_t *layout, uint64_t at, uint64_t count,
                            uint64_t size)
{
    int64_t start = (int64_t) at; /* below 0: an element of a datatype with a negative extent */
    int64_t last, low = layout->low, high = layout->high;

    if (0 == count) {
        return true;
    }
    if (!is_small(start) || count > (uint64_t) MOST
        || __builtin_mul_overflow((int64_t) (count - 1), layout->extent, &last)
        || !is_small(last)) {
        return false;
    }
    low += start + (last < 0 ? last : 0);
    high += start + (last > 0 ? last : 0);
    return 0 <= low && (uint64_t) high <= size;
}

/* --- Walking --------------------------------------------------------------------------------- */

void osc_cached_cursor_seek(osc_cached_cursor_t *cursor, const osc_cached_layout_t *layout,
                            uint64_t offset)
{
    uint64_t within = offset % layout->packed;
    uint32_t low = 0, high = layout->blocks;

    while (high - low > 1) { /* the last block with before <= within */
        uint32_t middle = low + (high - low) / 2;

        if (layout->block[middle].before <= within) {
            low = middle;
        } else {
            high = middle;
        }
    }
    within -= layout->block[low].before;
    *cursor = (osc_cached_cursor_t){
        .layout = layout,
        .element = (int64_t) (offset / layout->packed) * layout->extent,
        .block = low,
        .run = within / layout->block[low].run,
        .done = within % layout->block[low].run,
    };
}

uint64_t osc_cached_cursor_next(osc_cached_cursor_t *cursor, uint64_t most, int64_t *offset)
{
    const osc_cached_block_t *block = &cursor->layout->block[cursor->block];
    uint64_t bytes = block->run - cursor->done;

    *offset = cursor->element + block->offset + (int64_t) cursor->run * block->stride
              + (int64_t) cursor->done;
    if (bytes > most) {
        cursor->done += most;
        return most;
    }
    cursor->done = 0;
    if (++cursor->run == block->runs) {
        cursor->run = 0;
        if (++cursor->block == cursor->layout->blocks) {
            cursor->block = 0;
            cursor->element += cursor->layout->extent;
        }
    }
    return bytes;
}

void osc_cached_cursor_pack(osc_cached_cursor_t *cursor, const char *memory, void *to,
                            uint64_t bytes)
{
    char *next = to;
    int64_t offset;

    while (0 < bytes) {
        uint64_t taken = osc_cached_cursor_next(cursor, bytes, &offset);

        memcpy(next, memory + offset, taken);
        next += taken;
        bytes -= taken;
    }
}

void osc_cached_cursor_unpack(osc_cached_cursor_t *cursor, char *memory, const void *from,
                              uint64_t bytes)
{
    const char *next = from;
    int64_t offset;

    while (0 < bytes) {
        uint64_t taken = osc_cached_cursor_next(cursor, bytes, &offset);

        memcpy(memory + offset, next, taken);
        next += taken;
        bytes -= taken;
    }
}

int osc_cached_layout_verify(const osc_cached_layout_t *layout)
{
    int64_t low = INT64_MAX, high = INT64_MIN;
    uint64_t before = 0;

    if (0 == layout->blocks || layout->blocks > layout->room) {
        return 1;
    }
    for (uint32_t i = 0; i < layout->blocks; i++) {
        const osc_cached_block_t *block = &layout->block[i];
        int64_t last = block->offset + (int64_t) (block->runs - 1) * block->stride;

        if (0 == block->run || 0 == block->runs) {
            return 1;
        }
        if (before != block->before) {
            return 2;
        }
        before += block->run * block->runs;
        low = block->offset < low ? block->offset : low;
        low = last < low ? last : low;
        high = block->offset + (int64_t) block->run > high ? block->offset + (int64_t) block->run
                                                           : high;
        high = last + (int64_t) block->run > high ? last + (int64_t) block->run : high;
        if (!is_small(block->stride)) {
            return 3;
        }
    }
    if (before != layout->packed || before > (uint64_t) MOST) {
        return 2;
    }
    return (low == layout->low && high == layout->high && is_small(low) && is_small(high)
            && is_small(layout->extent))
               ? 0
               : 3;
}
