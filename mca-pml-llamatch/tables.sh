#!/bin/bash
# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# The tables of the man page, made of the files that the C code is made of; see contrib/tables.sh.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=contrib/tables.sh
. ../contrib/tables.sh
page=pml_llamatch.7.md

# words LIST: the words that users may write, from the list of them in the C code.
words()
{
    sed -n "/_t [a-z_]*$1\[\]/{:more; /};/!{N; b more}; s/{[A-Za-z0-9_]*, \"\([a-z0-9]*\)\"}/@\1@/gp}" pml_llamatch_tuning.c |
        grep -o '@[a-z0-9]*@' | tr -d @ | paste -sd, | sed 's/,/, /g'
}

# parameters KIND...
parameters()
{
    local kind name standard least most help values told

    echo '| name | values | default | meaning |'
    echo '| --- | --- | --- | --- |'
    while IFS='|' read -r kind name standard least most help; do
        [[ " $* " == *" $kind "* ]] || continue
        case $kind in
        COUNT | BYTES) values="$(number "$least" "$kind") to $(number "$most" "$kind")" ;;
        POWER) values="powers of two from $least to $most" ;;
        SWITCH) values='false, true' ;;
        INHERITED) values='a number' ;;
        *)
            values=$(words "$(tr '[:upper:]' '[:lower:]' <<<"$kind")")
            [[ -n $values ]] || fail "pml_llamatch_tuning.c: no words for $name"
            ;;
        esac
        # ompi_info shows the text only, so that it tells the default, too
        told=${help##*(default: } told=${told%)}
        [[ -z $standard || $told == "$standard" ]] ||
            fail "pml_llamatch_params.def: the default of $name is $standard, and its text tells $told"
        echo "| pml_llamatch_$name | $values | $told | ${help% (default: *} |"
    done <<<"$(entries pml_llamatch_params.def \
        'LLAMATCH_WORD(name, words, standard, level, help)=words @ name @ standard @ @ @ help' \
        'LLAMATCH_NUMBER(name, unit, standard, least, most, level, help)=unit @ name @ standard @ least @ most @ help' \
        'LLAMATCH_SWITCH(name, level, help)=SWITCH @ name @ @ @ @ help' \
        'LLAMATCH_INHERITED(name, help)=INHERITED @ name @ @ @ @ help')"
}

info_keys()
{
    local key values help

    echo '| key | values | meaning |'
    echo '| --- | --- | --- |'
    while IFS='|' read -r key values help; do
        [ ${#key} -le 27 ] || fail "pml_llamatch_info.def: Open MPI 4.1 takes keys of up to 27 characters: $key"
        echo "| $key | $values | $help |"
    done <<<"$(entries pml_llamatch_info.def 'LLAMATCH_INFO(key, function, values, help)=key @ values @ help')"
}

# variables KIND PREFIX
variables()
{
    local kind name class help

    echo '| name | class | meaning |'
    echo '| --- | --- | --- |'
    while IFS='|' read -r kind name class help; do
        [ "$kind" = "$1" ] || continue
        class=$(tr '[:upper:]' '[:lower:]' <<<"$class")
        echo "| $2$name | ${class/highwatermark/high watermark} | $help |"
    done <<<"$(entries core/llamatch_stats.def \
        'LLAMATCH_QUEUE_STAT(name, class, help)=queue @ name @ class @ help' \
        'LLAMATCH_ENGINE_STAT(name, type, class, help)=engine @ name @ class @ help' \
        'LLAMATCH_PROCESS_STAT(name, type, class, help)=process @ name @ class @ help')"
}

# table NAME
table()
{
    case $1 in
    parameters) parameters ENGINES HEATERS PATHS TRUTHS ADVICES COUNT POWER BYTES SWITCH ;;
    inherited) parameters INHERITED ;;
    info_keys) info_keys ;;
    queue_variables) variables queue '' ;;
    communicator_variables) variables engine pml_llamatch_ ;;
    process_variables) variables process pml_llamatch_ ;;
    *) fail "$page: there is no table $1" ;;
    esac
}

tables_main "$@"
