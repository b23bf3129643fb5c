/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 *
 * The info keys of a communicator (pml_llamatch_info.def).
 *
 * MPI_Comm_get_info reports what the callbacks return, so they return what is in force. (Open MPI
 * 4.1 reports what the program has asked for.)
 */
#include "ompi_config.h"

#include "opal/util/info_subscriber.h"
#include "opal/util/show_help.h"
#include "ompi/communicator/communicator.h"

#include "pml_llamatch_glue.h"

/* The info interface became const-correct in Open MPI 5.0. */
#if OMPI_MAJOR_VERSION >= 5
#define INFO_CONST const
#else
#define INFO_CONST
#endif

static const mca_base_var_enum_value_t heater_words[] = {
    {false, "run"}, {true, "pause"}, {0, NULL}};

/* @return the value, or the present one and a help text when it is none of the words */
static int read_value(const ompi_communicator_t *comm, const mca_base_var_enum_value_t *words,
                      const char *key, const char *text, int present)
{
    char allowed[128];
    int value;

    if (mca_pml_llamatch_read_word(words, text, &value)) {
        return value;
    }
    mca_pml_llamatch_list_words(words, allowed, sizeof(allowed));
    opal_show_help(LLAMATCH_HELP_FILE, "bad_info", true, mca_pml_llamatch_host(), comm->c_name, key,
                   (NULL == text) ? "" : text, allowed, mca_pml_llamatch_word(words, present));
    return present;
}

static INFO_CONST char *engine_changed(opal_infosubscriber_t *object, INFO_CONST char *key,
                                       INFO_CONST char *value)
{
    ompi_communicator_t *comm = (ompi_communicator_t *) object;
    mca_pml_llamatch_queues_t *queues;
    int kind, present;

    if (NULL == comm->c_pml_comm) {
        return value; /* being freed */
    }
    queues = comm->c_pml_comm->queues;
    present = (int) queues->engine.setup->kind;
    kind = read_value(comm, mca_pml_llamatch_engines, key, value, present);
    if (kind != present && queues->fixed) {
        opal_show_help(LLAMATCH_HELP_FILE, "late_info", true, mca_pml_llamatch_host(), comm->c_name,
                       key, value, mca_pml_llamatch_word(mca_pml_llamatch_engines, present));
    } else if (kind != present) {
        /* being created: there are no entries, and nobody else knows it */
        llamatch_engine_init(&queues->engine, &mca_pml_llamatch_setups[kind]);
    }
    queues->fixed = true;
    return (INFO_CONST char *) mca_pml_llamatch_word(mca_pml_llamatch_engines,
                                                     (int) queues->engine.setup->kind);
}

static INFO_CONST char *heater_changed(opal_infosubscriber_t *object, INFO_CONST char *key,
                                       INFO_CONST char *value)
{
    ompi_communicator_t *comm = (ompi_communicator_t *) object;
    mca_pml_llamatch_queues_t *queues;
    int pause;

    if (NULL == comm->c_pml_comm) {
        return value;
    }
    queues = comm->c_pml_comm->queues;
    pause = read_value(comm, heater_words, key, value, queues->pauses_heater);
    if (pause != (int) queues->pauses_heater) {
        queues->pauses_heater = 0 != pause;
        mca_pml_llamatch_heater_pause(queues->pauses_heater);
    }
    return (INFO_CONST char *) mca_pml_llamatch_word(heater_words, pause);
}

void mca_pml_llamatch_info_subscribe(ompi_communicator_t *comm)
{
    static const struct {
        const char *key;
        opal_key_interest_callback_t *changed;
    } keys[] = {
#define LLAMATCH_INFO(key, function, values, help) {#key, function},
#include "pml_llamatch_info.def"
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); ++i) {
        const char *unless_given = (engine_changed == keys[i].changed)
                                       ? mca_pml_llamatch_word(mca_pml_llamatch_engines,
                                                               (int) mca_pml_llamatch_tuning.engine)
                                       : heater_words[0].string;

        (void) opal_infosubscribe_subscribe(&comm->super, (INFO_CONST char *) keys[i].key,
                                            (INFO_CONST char *) unless_given, keys[i].changed);
    }
}
