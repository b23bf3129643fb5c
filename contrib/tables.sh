# shellcheck shell=bash disable=SC2154
# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by the tables.sh of a component: the tables of its man page, made of the files that the C
# code is made of.
#
#   tables.sh            compare those in the page; a difference is printed, exit code 1
#   tables.sh --update   put them into the page
#   tables.sh --man      print the page with lists in their place: man cannot show wide tables
#
# A table stands between the lines "<!-- table: NAME -->" and "<!-- end of table -->". The component
# sets page, the file, and defines "table NAME", which prints one. Then it calls: tables_main "$@"

fail()
{
    echo "${0##*/}: $*" >&2
    exit 1
}

# entries FILE MACRO...: one line per entry of a .def file, its macros being as given.
entries()
{
    local file=$1 macro
    local -a macros=()

    shift
    for macro; do
        macros+=("-D$macro")
    done
    "${CC:-cc}" -E -P -x c "${macros[@]}" "$file" |
        sed -e '/@/!d' -e 's/\\"//g' -e 's/" *"//g' -e 's/ *@ */|/g' -e 's/"//g' -e 's/ *$//'
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

# Wide tables, and all that are generated, with each row as: **first column** (the middle ones), last one.
page_with_lists()
{
    awk '
        function end_of_table(    r, i, line) {
            for (r = 1; r <= rows; ++r) {
                if (!inside && 100 > widest) { print row[r]; continue }
                columns = split(row[r], cell, / *[|] */)
                if (1 == r) for (i = 2; i < columns; ++i) head[i] = cell[i]
                if (3 > r) continue
                line = "**" cell[2] "** ("
                for (i = 3; i < columns - 1; ++i)
                    line = line (3 < i ? "; " : "") ("default" == head[i] ? "default " : "") cell[i]
                printf "%s)\n:   %s.\n\n", line, cell[columns - 1]
            }
            rows = widest = 0
        }
        /^[|]/ { row[++rows] = $0; if (widest < length($0)) widest = length($0); next }
        { end_of_table() }
        /^<!-- table: / { inside = 1 }
        /^<!-- end of table -->/ { inside = 0 }
        { print }
        END { end_of_table() }' "$page"
}

tables_main()
{
    local filled

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
}
