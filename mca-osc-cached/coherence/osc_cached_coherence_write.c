/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes of this process.
 *
 * Passes.  Who holds all blocks of a target, and keeps that hold, writes there without the lock: it
 * only says that it is writing.  When the owner wants its blocks back, the thread takes the pass
 * away, and then looks whether somebody is writing; who writes says so, and then looks whether
 * there is a pass: one of them sees the other.  There is nothing that could be cached meanwhile:
 * whoever asks for a copy is refused, this process too.  Not with several threads, whose flushes do
 * not know which writes they complete.
 */

#include "ompi_config.h"

#include "osc_cached_coherence_state.h"

/* There are writes to a target that are not complete; the lock is held. */
static void set_dirty(coherence_t *c, uint32_t target)
{
    if (!c->is_dirty[target]) {
        c->is_dirty[target] = true;
        c->dirty[c->num_dirty] = target;
        OSC_CACHED_WRITE(c->num_dirty, c->num_dirty + 1);
    }
}

/* Whether a write needs nothing but this. */
static bool has_pass(coherence_t *c, int target)
{
    if (NULL == c->passes || !atomic_load_explicit(&c->passes[target], memory_order_relaxed)) {
        return false;
    }
    if (!atomic_load_explicit(&c->passing[target], memory_order_relaxed)) {
        atomic_store(&c->passing[target], true);
        atomic_thread_fence(memory_order_seq_cst);
        if (!atomic_load(&c->passes[target])) {
            atomic_store(&c->passing[target], false);
            return false;
        }
        if (!c->is_passed[target]) {
            c->is_passed[target] = true;
            c->passed[c->num_passed++] = (uint32_t) target;
        }
    }
    return true;
}

void ompi_osc_cached_coherence_end_pass(coherence_t *c, uint32_t target)
{
    uint32_t name;

    if (NULL == c->passes) {
        return;
    }
    atomic_store(&c->passes[target], false);
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load(&c->passing[target])) { /* from now on they are known */
        name = osc_cached_copies_write(&c->copies, target, 0, OSC_CACHED_ALL_BLOCKS, &c->post);
        osc_cached_copies_written(&c->copies, target, name);
        set_dirty(c, target);
    }
}

/* The blocks that an operation touches; all of them if that is not easy to say.  Wide: and those
 * beside them. */
static void blocks_of(const ompi_osc_cached_window_t *window, int target, ptrdiff_t disp,
                      size_t count, const struct ompi_datatype_t *type, bool wide, uint64_t *first,
                      uint64_t *blocks)
{
    const opal_datatype_t *layout = &type->super;
    ptrdiff_t extent = layout->ub - layout->lb, span = layout->true_ub - layout->true_lb;
    size_t unit = (0 < window->disp_unit) ? window->disp_unit : window->disp_units[target];
    ptrdiff_t begin = disp * (ptrdiff_t) unit + layout->true_lb;

    if (0 > begin || 0 > extent || 0 > span
        || (0 < extent && (size_t) (PTRDIFF_MAX / extent) <= count)) {
        *first = 0;
        *blocks = OSC_CACHED_ALL_BLOCKS;
        return;
    }
    osc_cached_copies_blocks(&window->coherence->copies, (uint64_t) begin,
                             (uint64_t) span + (uint64_t) extent * (count - 1), first, blocks);
    if (wide) {
        *blocks += 1 + (0 < *first);
        *first -= 0 < *first;
    }
}

void ompi_osc_cached_coherence_receive_slowly(ompi_osc_cached_window_t *window, const void *buffer,
                                              size_t count, const struct ompi_datatype_t *type)
{
    coherence_t *c = window->coherence;
    const opal_datatype_t *layout = &type->super;
    ptrdiff_t rest = (layout->ub - layout->lb) * (ptrdiff_t) (count - 1);
    uintptr_t from = (uintptr_t) buffer + (uintptr_t) (layout->true_lb + ((0 > rest) ? rest : 0));
    uintptr_t to = (uintptr_t) buffer + (uintptr_t) (layout->true_ub + ((0 < rest) ? rest : 0));

    if (from < (uintptr_t) c->base + c->size && (uintptr_t) c->base < to) {
        OSC_CACHED_WRITE(c->own_gets, true);
    }
}

int64_t ompi_osc_cached_coherence_write(ompi_osc_cached_window_t *window, int target,
                                        ptrdiff_t disp, size_t count,
                                        const struct ompi_datatype_t *type, bool executed)
{
    coherence_t *c = window->coherence;
    bool waits = executed && c->protects;
    uint64_t first, blocks;
    uint32_t name = 0;

    if (has_pass(c, target)) {
        return OSC_CACHED_NOT_HELD;
    }
    if (0 == count || 0 == type->super.size) {
        count = 1; /* of nothing: never mind */
    }
    blocks_of(window, target, disp, count, type, waits, &first, &blocks);
    ompi_osc_cached_helper_enter();
    if ((uint32_t) target == c->rank) {
        ++c->own_issuing;
        if (!c->own_dirty) {
            OSC_CACHED_WRITE(c->own_dirty, true);
            c->syncs += osc_cached_directory_is_shared(&c->directory);
            ompi_osc_cached_coherence_take_own(c);
        }
    } else {
        name = osc_cached_copies_write(&c->copies, (uint32_t) target, first, blocks, &c->post);
        set_dirty(c, (uint32_t) target);
    }
    ompi_osc_cached_coherence_leave(c);
    if (waits) {
        ompi_osc_cached_coherence_await_write(c, target);
    }
    return name;
}

void ompi_osc_cached_coherence_written(ompi_osc_cached_window_t *window, int target, int64_t name,
                                       bool forgotten)
{
    coherence_t *c = window->coherence;

    if (OSC_CACHED_NOT_HELD == name) {
        return;
    }
    ompi_osc_cached_helper_enter();
    if ((uint32_t) target == c->rank) {
        --c->own_issuing;
        ++c->own_writes;
    } else {
        osc_cached_copies_written(&c->copies, (uint32_t) target, (uint32_t) name);
    }
    ompi_osc_cached_coherence_leave(c);
    if (forgotten) { /* its flush will not come here: its blocks are held for ever */
        ompi_osc_cached_coherence_await_write(c, target);
    }
}
