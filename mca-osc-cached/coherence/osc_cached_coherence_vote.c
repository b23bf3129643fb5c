/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a process wants of a new window, and whether it can have it: the first step of its creation,
 * before anything is agreed on (osc_cached_coherence_window.c).
 */

#include "ompi_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opal/util/info.h"
#include "opal/util/proc.h"

#include "osc_cached_coherence_state.h"
#include "osc_cached_compat.h"
#include "osc_cached_memory.h"

enum {
    FILE_BLOCK = 64 * 1024, /* bytes */
    MEMORY_BLOCK = 4096,
};

/* One of the names that a key, or else a parameter, may have. */
static int read_name(opal_info_t *info, const char *key, const mca_base_var_enum_value_t *names,
                     int standard)
{
    char value[16] = "";

    if (ompi_osc_cached_read_key(info, key, value, sizeof(value))) {
        for (int i = 0; NULL != names[i].string; ++i) {
            if (0 == strcmp(value, names[i].string)) {
                return names[i].value;
            }
        }
    }
    return standard;
}

ompi_osc_cached_wish_t ompi_osc_cached_coherence_wish(opal_info_t *info, bool on_file)
{
    ompi_osc_cached_wish_t wish = {
        .mode = read_name(info, "ompi_osc_cached_mode", ompi_osc_cached_modes,
                          ompi_osc_cached_params.mode),
        .stores = read_name(info, "ompi_osc_cached_stores", ompi_osc_cached_stores,
                            ompi_osc_cached_params.stores),
        .cooperate = read_name(info, "ompi_osc_cached_cooperate", ompi_osc_cached_cooperations,
                               ompi_osc_cached_params.cooperate)};
    char value[16] = "";
    double block;

    if (!ompi_osc_cached_read_key(info, "ompi_osc_cached_block", value, sizeof(value))
        || !ompi_osc_cached_read_number(value, OSC_CACHED_UNIT_BLOCK, OSC_CACHED_BLOCK_LEAST,
                                        OSC_CACHED_BLOCK_MOST, &block)) {
        block = ompi_osc_cached_numbers.block;
    }
    wish.block = (0 < block) ? (uint32_t) block : on_file ? FILE_BLOCK : MEMORY_BLOCK;
    if (OSC_CACHED_STORES_DETECT == wish.stores && wish.block < (size_t) sysconf(_SC_PAGESIZE)) {
        wish.block = (uint32_t) sysconf(_SC_PAGESIZE);
    }
    return wish;
}

/* No helper, by parameter or, for this window, by key; the parameter's off is for all. */
static bool is_helper_off(opal_info_t *info)
{
    char value[16] = "";

    return OSC_CACHED_HELPER_OFF == ompi_osc_cached_params.helper
           || (ompi_osc_cached_read_key(info, "ompi_osc_cached_helper", value, sizeof(value))
               && 0 == strcmp("off", value));
}

bool ompi_osc_cached_coherence_insists(const ompi_osc_cached_wish_t *wish)
{
    return osc_cached_insists_on_coherence((ompi_osc_cached_mode_t) wish->mode,
                                           (ompi_osc_cached_stores_t) wish->stores);
}

bool ompi_osc_cached_coherence_has_device(void)
{
    return ompi_osc_cached_has_devices || ompi_osc_cached_helper_has_rdma()
           || 0 == access("/dev/xpmem", F_OK) || 0 == access("/dev/knem", F_OK);
}

/* Whether stores could be detected, in the right memory. */
static bool can_detect(void)
{
    return ompi_osc_cached_stores_can_be_noticed() && !ompi_osc_cached_coherence_has_device()
           && !ompi_osc_cached_survives_deaths();
}

/* Whether it takes coherence for passive epochs, where it is to be had. */
static bool accepts(const ompi_osc_cached_wish_t *wish, bool on_file)
{
    return osc_cached_accepts_coherence(
               (ompi_osc_cached_mode_t) wish->mode, (ompi_osc_cached_stores_t) wish->stores,
               (ompi_osc_cached_passive_t) ompi_osc_cached_params.passive_scope, on_file)
           && can_detect();
}

/* Whether the memory of MPI_Win_allocate may begin at any page. */
static bool takes_any_page(opal_info_t *info)
{
    char value[32];

    return !ompi_osc_cached_read_key(info, "mpi_minimum_memory_alignment", value, sizeof(value))
           || strtol(value, NULL, 0) <= sysconf(_SC_PAGESIZE);
}

bool ompi_osc_cached_coherence_vote(ompi_communicator_t *comm, opal_info_t *info, bool on_file,
                                    int64_t votes[OSC_CACHED_VOTES])
{
    ompi_osc_cached_wish_t wish = ompi_osc_cached_coherence_wish(info, on_file);
    bool needed = ompi_osc_cached_coherence_insists(&wish) && !is_helper_off(info);

    votes[OSC_CACHED_VOTE_COHERENT] = needed || accepts(&wish, on_file);
    votes[OSC_CACHED_VOTE_OPEN] = OSC_CACHED_STORES_DETECT != wish.stores;
    votes[OSC_CACHED_VOTE_APART] = votes[OSC_CACHED_VOTE_COHERENT] && can_detect()
                                   && takes_any_page(info) && ompi_osc_cached_helper_is_apart(comm);
    votes[OSC_CACHED_VOTE_BLOCK] = wish.block;
    /* pages of files cannot be protected, and who detects stores shares only what it protects */
    votes[OSC_CACHED_VOTE_COOPERATE] = (on_file && OSC_CACHED_STORES_DETECT != wish.stores)
                                           ? wish.cooperate
                                           : OSC_CACHED_COOPERATE_OFF;
    return needed;
}

void ompi_osc_cached_coherence_explain(const ompi_osc_cached_window_t *window, opal_info_t *info,
                                       const ompi_osc_cached_wish_t *wish,
                                       ompi_osc_cached_stores_reason_t reason,
                                       const int64_t votes[OSC_CACHED_VOTES])
{
    const char *why = "Not all processes of the window can have it, or memory or file descriptors\n"
                      "(ulimit -n) are short.";
    char text[512];

    if (OSC_CACHED_STORES_NOTICED != reason) {
        snprintf(text, sizeof(text),
                 "Stores of a process to its own window cannot be detected here:\n"
                 "%s.\n"
                 "Where the program is correct in MPI's separate memory model, or nobody\n"
                 "stores, say so: osc_cached_stores sync, or none.",
                 ompi_osc_cached_stores_text(reason));
        why = text;
    } else if (OSC_CACHED_STORES_OFF == wish->stores) {
        why = "osc_cached_stores is off.";
    } else if (is_helper_off(info)) {
        why = "It needs the helper (osc_cached_helper), which is off.";
    } else if (!votes[OSC_CACHED_VOTE_COHERENT]) {
        why = "Not all processes of the window want it, or can have it.";
    } else if (!window->cacheable) {
        why = "Windows of this kind are not cached.";
    } else if (NULL == window->helper) {
        why = "It needs the helper (osc_cached_helper), which cannot run here.";
    }
    opal_show_help("help-mpi-osc-cached.txt", "no-coherence", true, why,
                   opal_process_info.nodename);
}
