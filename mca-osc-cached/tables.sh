#!/bin/bash
# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# The tables of the man page, made of the files that the C code is made of; see contrib/tables.sh.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=contrib/tables.sh
. ../contrib/tables.sh
page=osc_cached.7.md

# rows FILE: one line per entry of a .def file: its kind and what the table needs, separated by "|".
rows()
{
    entries "$1" \
        'OSC_CACHED_PARAM(name, kind, standard, level, scope, help)=kind @ name @ standard @ @ @ help' \
        'OSC_CACHED_NUMBER(name, unit, standard, least, most, level, scope, help)=unit @ name @ standard @ least @ most @ help' \
        'OSC_CACHED_INFO(key, function, values, help)=info @ key @ values @ help' \
        'OSC_CACHED_STAT(name, help)=counter @ name @ help' \
        'OSC_CACHED_LEVEL(name, help)=size @ name @ help' \
        'OSC_CACHED_HELPER_STAT(name, value, help)=counter @ name @ help' \
        'OSC_CACHED_HELPER_LEVEL(name, value, help)=size @ name @ help'
}

# names ARRAY: the names that users may write, from the array of them in the C code.
names()
{
    sed -n "/_t \(ompi_osc_cached_\)\{0,1\}$1\[\]/,/};/s/.*string = \"\(.*\)\".*/\1/p" osc_cached_params.c osc_cached_info.c |
        paste -sd, | sed "s/,/, /g"
}

table_parameters()
{
    local kind name standard least most help values told

    echo '| name | values | default | meaning |'
    echo '| --- | --- | --- | --- |'
    while IFS='|' read -r kind name standard least most help; do
        case $kind in
        BLOCK) values="0, or a power of two from $(number "$least" BYTES) to $(number "$most" BYTES)" ;;
        CPU) values="auto, process, $least to $most" ;;
        COUNT | BYTES | RATIO) values="$(number "$least" "$kind") to $(number "$most" "$kind")" ;;
        STRING) values=text standard=${standard/NULL/none} ;;
        BOOL) values=$(names truths) ;;
        MODE) values=$(names modes) ;;
        SCHEME) values=$(names schemes) ;;
        PASSIVE) values=$(names passive_scopes) ;;
        STORES) values=$(names stores) ;;
        COOPERATE) values=$(names cooperations) ;;
        HELPER) values=$(names helper_wishes) ;;
        TRANSFERS) values=$(names transfers) ;;
        SYNC) values=$(names storage_syncs) ;;
        PER) values=$(names helper_places) ;;
        STATS) values=$(names stats_kinds) ;;
        ADVISE) values=$(names advise_kinds) ;;
        FILE_ROUTE) values=$(names storage_routes) ;;
        *) fail "$name is of a kind that this script does not know: $kind" ;;
        esac
        case $standard in
        OSC_CACHED_*) standard=$(tr '[:upper:]' '[:lower:]' <<<"${standard#OSC_CACHED_"$kind"_}") ;;
        esac
        # ompi_info shows the text only, so that it tells the default, too
        told=${help##*(default: }
        [ "${told%)}" = "$standard" ] ||
            fail "osc_cached_params.def: the default of $name is $standard, and its text tells ${told%)}"
        echo "| osc_cached_$name | $values | $standard | ${help% (default: *} |"
    done <<<"$1"
}

table_info_keys()
{
    local key values help

    echo '| key | values | meaning |'
    echo '| --- | --- | --- |'
    while IFS='|' read -r _ key values help; do
        [ ${#key} -le 27 ] || fail "osc_cached_info.def: Open MPI 4.1 takes keys of up to 27 characters: $key"
        echo "| $key | $values | $help |"
    done <<<"$1"
}

table_counters()
{
    local class name help

    echo '| name | class | meaning |'
    echo '| --- | --- | --- |'
    while IFS='|' read -r class name help; do
        echo "| osc_cached_$name | $class | $help |"
    done <<<"$1"
}

table_helper_counters()
{
    table_counters "$1"
}

# table NAME
table()
{
    local def data

    case $1 in
    parameters) def=osc_cached_params.def ;;
    info_keys) def=osc_cached_info.def ;;
    counters) def=core/osc_cached_stats.def ;;
    helper_counters) def=helper/osc_cached_helper_stats.def ;;
    *) fail "$page: there is no table $1" ;;
    esac
    data=$(rows $def) || fail "cannot read $def with ${CC:-cc}"
    "table_$1" "$data"
}

tables_main "$@"
