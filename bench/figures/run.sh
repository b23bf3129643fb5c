# shellcheck shell=bash disable=SC2034,SC2154
# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by contrib/bench, after contrib/lib.sh, test/mpi/launch.sh and figure.sh: one run of a program of a figure, from
# its source to lines in the raw table. Uses contrib/bench's options, and its directories $build, $out and $scratch; sets state
# and failed when something is wrong.

# compile NAME: a program as a figure names it; sets $binary.
compile()
{
    local source key core=$top/mca-osc-cached/core
    local -a command sources=() headers=()
    case $1 in
    core/*)
        source=$top/bench/micro/${1#*/}.c sources=("$core"/*.c) headers=("$core"/*.{h,def} "$core"/../node/core/*.h)
        [ "$1" != core/node ] || sources+=("$core"/../node/core/[a-z]*.c)
        command=(cc -I"$core" -I"$core/..")
        ;;
    micro/*) source=$top/bench/$1.c && command=("$MPICC") ;;
    *) source=$top/bench/apps/$1.c && command=("$MPICC") ;;
    esac
    binary=$build/figure-${1//\//-}
    [ -f "$source" ] || { say "    there is no ${source#"$top/"}"; return 1; }
    key=$(cat "$source" "${source%/*}"/*.h "${sources[@]}" "${headers[@]}" - <<<"${command[*]} $MPI_VERSION" | cksum)
    [ -x "$binary" ] && [ "$(cat "$binary.key" 2>/dev/null)" = "$key" ] && return 0
    rm -f "$binary.key"
    if ! "${command[@]}" -std=gnu11 -O2 -g -pthread "$source" "${sources[@]}" -o "$binary" -lm 2>"$build/log"; then
        say "    ${source#"$top/"} does not compile:"
        head -n 5 "$build/log" >&2
        return 1
    fi
    echo "$key" >"$binary.key"
}

# with_x TEXT X: %x and %y replaced.
with_x()
{
    local text=${1//%x/${2%%:*}}
    printf '%s' "${text//%y/${2#*:}}"
}

# prepare SERIES_NUMBER NETWORK X: sets command, kind, must_equal and, of launch.sh, SWITCH_ENV.
prepare()
{
    local number=$1 network=$2 x=$3 ranks word name=$fig_program traces graph=$out/raw/$fig_graph.snap i
    local -a mca=() own=() common=("${fig_arguments[@]}")
    [ -z "$quick" ] || [ ${#fig_quick[@]} -eq 0 ] || common=("${fig_quick[@]}")
    for word in $(with_x "${fig_words[number]}" "$x"); do
        case $word in
        program=*) name=${word#*=} ;;
        traces)
            traces=$("$top/bench/traces" --mpi="$mpi" ${components:+--component-path="$components"} ${quick:+--quick}) || return 1
            own+=(--traces="$traces" --before="$top/bench/micro/belady-before.tsv")
            ;;
        --*) own+=("$word") ;;
        *=*) mca+=(--mca "${word%%=*}" "${word#*=}") ;;
        *) die "figure $fig: a word of a series is --argument or PARAMETER=VALUE, not $word." ;;
        esac
    done
    # The same graph for all runs of a results directory.
    if [ -n "$fig_graph" ] && [ ! -s "$graph" ]; then
        "$top/bench/apps/$fig_graph" >"$graph.new" && mv "$graph.new" "$graph" || return 1
    fi
    for i in "${!common[@]}"; do
        common[i]=$(with_x "${common[i]//%g/$graph}" "$x")
    done
    ranks=$(with_x "$fig_ranks" "$x")
    compile "$name" || return 1
    kind=app
    [[ $name != */* ]] || kind=micro
    # What must give the same results: the same problem, whatever the network and the series.
    must_equal="$name $ranks ${common[*]}"
    if [[ $name == core/* ]]; then
        SWITCH_ENV=() command=("$binary" "${common[@]}" "${own[@]}")
        return 0
    fi
    LOCALITY_NODES=$([ "$network" != nodes ] || echo 'node1 node2') \
        mpi_switches "${fig_what[number]}" "$network" "$ranks" "$fig_threads" || return 1
    [ -n "$yields" ] || ((ranks * fig_threads > $(nproc))) || mpi_no_yield
    [[ ${fig_what[number]} != osc:cached || $kind == micro ]] || mca+=(--mca osc_cached_stats ranks)
    command=("$MPIRUN" "${SWITCHES[@]}" "${mca[@]}" "$binary" "${common[@]}" "${own[@]}")
    [ "$network" != nodes ] || command=("$mpi_nodes/nodes" --share="$build" ${components:+--share="$components"} with 2 "${command[@]}")
}

# has_nodes: can this machine make two? Said once if not.
has_nodes()
{
    if [ -z "${two_nodes:-}" ]; then
        two_nodes=yes
        "$mpi_nodes/nodes" with 2 true 2>"$build/log" ||
            { two_nodes=no && say "    Two nodes are left out: $(cat "$build/log")"; }
    fi
    [ "$two_nodes" = yes ]
}

# What osc/cached counted, summed over processes and windows (those of the figure), as "osc.NAME value" lines.
counted()
{
    awk -v wanted="$fig_window" '
        / osc\/cached: rank [0-9]+ window / { inside = wanted == "" || index($0, "window \"" wanted "\" "); next }
        !/^  [a-z_]+ +[0-9]/ { inside = 0 }
        inside { for (i = 1; i < NF; i += 2) sum[$i] += $(i + 1) }
        END { for (name in sum) print "osc." name, sum[name] }' "$1"
}

# keep ROUND NETWORK SERIES X: adds what the run printed to the raw table, at once.
keep()
{
    local at
    at=$(printf '%s\t%s\t%s\t%s\t' "$1" "$(network_label "$2")" "$3" "${4%%:*}")
    if [ "$kind" = micro ]; then
        sed "s|^|$at|" "$scratch/run/stdout"
    else
        { cat "$scratch/run/stdout" && counted "$scratch/run/stderr"; } |
            awk -v OFS='\t' -v at="$at" 'NF == 2 { print at $1, $2 }'
    fi >"$scratch/lines"
    [ -s "$scratch/lines" ] || { wrong "a run of $3 printed no result"; return 1; }
    cat "$scratch/lines" >>"$raw"
}

# The same results as the first run of the same problem?
compare_results()
{
    local now=$scratch/now first
    [ "$kind" = app ] || return 0
    first=$out/raw/$fig-$(cksum <<<"$must_equal" | cut -d' ' -f1).results
    awk -v differ=" ${fig_may_differ[*]} " 'NF == 2 && $1 !~ /_seconds$/ && !index(differ, " " $1 " ")' \
        "$scratch/run/stdout" >"$now"
    if [ ! -f "$first" ]; then
        mv "$now" "$first"
    elif ! cmp -s "$first" "$now"; then
        say "    the first run and this one:"
        diff "$first" "$now" >&2
        return 1
    fi
}

# wrong SENTENCE: the figure is not complete.
wrong()
{
    say "    $fig: $1"
    state=$1
    failed=1
}

# one_run ROUND SERIES_NUMBER NETWORK X
one_run()
{
    local round=$1 name=${fig_series[$2]} network=$3 x=$4 rc=0
    local label="$name, $3${x:+, x = ${x%%:*}}"
    if ! prepare "$2" "$network" "$x"; then
        wrong "$label cannot be run"
        return 1
    fi
    [ -z "$verbose" ] || say "${SWITCH_ENV[*]} ${command[*]}"
    rm -rf "$scratch/run"
    mpi_launch 300 "$scratch/run" "$binary" "${command[@]}" || rc=$?
    trap interrupted INT TERM HUP # launch.sh has removed it
    if [ "$rc" -ne 0 ]; then
        wrong "$label ended with exit code $rc"
        { tr -d '\0' <"$scratch/run/stderr" | head -n 20; cat "$scratch/run/stacks" 2>/dev/null; } >&2
        return 1
    fi
    if ! compare_results; then
        wrong "results differ: $label"
        return 1
    fi
    keep "$round" "$network" "$name" "${x:--}"
}
