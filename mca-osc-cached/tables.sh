#!/bin/bash
# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# The tables of the man page, made of the files that the C code is made of.
#
#   tables.sh            compare those in osc_cached.7.md; a difference is printed, exit code 1
#   tables.sh --update   put them into osc_cached.7.md
#   tables.sh --man      print the page with lists in their place: man cannot show wide tables
#
# A table stands between the lines "<!-- table: NAME -->" and "<!-- end of table -->".

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
page=osc_cached.7.md

fail()
{
    echo "${0##*/}: $*" >&2
    exit 1
}

# rows FILE: one line per entry of a .def file: its kind and what the table needs, separated by "|".
rows()
{
    "${CC:-cc}" -E -P -x c \
        -D'OSC_CACHED_PARAM(name, kind, standard, level, scope, help)=kind @ name @ standard @ @ @ help' \
        -D'OSC_CACHED_NUMBER(name, unit, standard, least, most, level, scope, help)=unit @ name @ standard @ least @ most @ help' \
        -D'OSC_CACHED_INFO(key, function, values, help)=info @ key @ values @ help' \
        -D'OSC_CACHED_STAT(name, help)=counter @ name @ help' \
        -D'OSC_CACHED_LEVEL(name, help)=size @ name @ help' \
        "$1" | sed -e '/@/!d' -e 's/" *"//g' -e 's/ *@ */|/g' -e 's/"//g' -e 's/ *$//'
}

# names ARRAY: the names that users may write, from the array of them in the C code.
names()
{
    sed -n "/_t $1\[\]/,/};/s/.*string = \"\(.*\)\".*/\1/p" osc_cached_info.c | paste -sd, | sed 's/,/, /g'
}

# number VALUE UNIT: as a user would write it.
number()
{
    local value suffix result

    if [ "$2" = RATIO ]; then
        echo "$1"
        return
    fi
    value=$(printf %.0f "$1")
    result=$value
    if [ "$2" = BYTES ]; then
        for suffix in K M G; do
            if [ "$value" = 0 ] || [ $((value % 1024)) != 0 ]; then
                break
            fi
            value=$((value / 1024))
            result=$value$suffix
        done
    fi
    echo "$result"
}

table_parameters()
{
    local kind name standard least most help values told

    echo '| name | values | default | meaning |'
    echo '| --- | --- | --- | --- |'
    while IFS='|' read -r kind name standard least most help; do
        case $kind in
        COUNT | BYTES | RATIO) values="$(number "$least" "$kind") to $(number "$most" "$kind")" ;;
        STRING) values=text standard=${standard/NULL/none} ;;
        BOOL) values=$(names truths) ;;
        MODE) values=$(names modes) ;;
        SCHEME) values=$(names schemes) ;;
        PASSIVE) values=$(names passive_scopes) ;;
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

# table NAME
table()
{
    local def data

    case $1 in
    parameters) def=osc_cached_params.def ;;
    info_keys) def=osc_cached_info.def ;;
    counters) def=core/osc_cached_stats.def ;;
    *) fail "$page: there is no table $1" ;;
    esac
    data=$(rows $def) || fail "cannot read $def with ${CC:-cc}"
    "table_$1" "$data"
}

# The page with the tables as they should be.
filled_page()
{
    local line inside=

    while IFS= read -r line; do
        case $line in
        '<!-- table: '*' -->')
            inside=${line#<!-- table: }
            inside=${inside% -->}
            printf '%s\n\n' "$line"
            table "$inside"
            echo
            ;;
        '<!-- end of table -->') inside= ;;
        esac
        [ -n "$inside" ] || printf '%s\n' "$line"
    done <"$page"
    [ -z "$inside" ] || fail "$page: table $inside has no end"
}

# Each row as: **first column** (the middle ones), last one.
page_with_lists()
{
    awk -F ' *[|] *' '
        /^<!-- table: / { inside = 1; row = 0 }
        /^<!-- end of table -->/ { inside = 0 }
        !inside || !/^[|]/ { print; next }
        1 == ++row { for (i = 2; i < NF; ++i) head[i] = $i }
        2 < row {
            line = "**" $2 "** ("
            for (i = 3; i < NF - 1; ++i)
                line = line (3 < i ? "; " : "") ("default" == head[i] ? "default " : "") $i
            printf "%s)\n:   %s.\n\n", line, $(NF - 1)
        }' "$page"
}

case ${1-} in
--man)
    page_with_lists
    ;;
--update)
    filled=$(filled_page)
    printf '%s\n' "$filled" >"$page"
    ;;
'')
    filled=$(filled_page)
    if ! diff -u --label "$page" --label "$page, as it should be" "$page" - <<<"$filled"; then
        fail "a table of the man page is out of date; \"$0 --update\" mends it"
    fi
    ;;
*) fail "unknown option $1" ;;
esac
