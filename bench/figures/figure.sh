# shellcheck shell=bash disable=SC2034
# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by contrib/bench and the programs beside this file: the words that a *.figure file is written in.
#
#   title TEXT              what is shown
#   paper TEXT              which picture or table of which paper it repeats
#   program NAME            bench/apps/NAME.c; micro/NAME: bench/micro/NAME.c; core/NAME: the same, on the core of
#                           osc/cached alone, without MPI; match: bench/match
#   table_of NAME           no runs of its own: the shares (%) of another figure's table
#   ranks N                 processes
#   threads N               of each process (default 1)
#   networks NAME...        tcp shm aries hdr; nodes: two of test/nodes, with TCP between them
#   arguments WORD...       of the program (of bench/match: names of its benchmarks)
#   quick WORD...           the same for --quick (of bench/match: options without --quick)
#   axis LABEL linear|log|text VALUE...   what is varied: %x in ranks, arguments and series; with values A:B, %x and %y
#   series NAME WHAT WORD...    WHAT as in test/mpi/launch.sh; a word is --argument, MCA_PARAMETER=VALUE
#                           program=NAME, or traces: --traces=FILE,... of bench/traces and --before=FILE; of
#                           bench/match: its subjects, and match
#   graph NAME              the file that bench/apps/NAME writes: %g in arguments
#   times KEY...            keys of the program that are times; the first one decides how often is repeated
#   baselines NAME...       series that the others are compared with (a word each, blanks as _)
#   best PATTERN            the others are also compared with the best of these series
#   may_differ KEY...       results that need not be the same in all series
#   panel QUANTITY lines|bars|stacked LABEL [log]    one row of the picture; QUANTITY is a pattern
#                           (of the quantity, or of "series: quantity"); log: the y axis; quarter:SERIES: 25 % of it
#   rename FROM TO          of a micro-benchmark: "case: quantity" (a pattern) becomes "series: quantity" (series *: the
#                           case); then nothing else is kept
#   window NAME             hits and shares are those of the windows of this name (default: all)
#   note TEXT               said below the picture
#   seconds N               after this time no new round is begun
#   least_rounds N          before that, so many rounds of all series (default 6)
#
# A series without %x is run once per round, and drawn as a level.

# shellcheck disable=SC2317 # called by the files
figure_words()
{
    title() { fig_title=$*; }
    paper() { fig_paper=$*; }
    table_of() { fig_from=$1; }
    program() { fig_program=$1; }
    ranks() { fig_ranks=$1; }
    threads() { fig_threads=$1; }
    networks() { fig_networks=("$@"); }
    arguments() { fig_arguments=("$@"); }
    quick() { fig_quick=("$@"); }
    axis() { fig_axis=$1 fig_scale=$2 && shift 2 && fig_x=("$@"); }
    series() { fig_series+=("$1") fig_what+=("$2") && shift 2 && fig_words+=("$*"); }
    graph() { fig_graph=$1; }
    times() { fig_times=("$@"); }
    baselines() { fig_baselines=("${@//_/ }"); }
    best() { fig_best=$1; }
    may_differ() { fig_may_differ=("$@"); }
    panel() { fig_panels+=("$1"$'\t'"$2"$'\t'"$3"$'\t'"${4:-}"); }
    rename() { fig_renames+=("$1"$'\t'"$2"); }
    window() { fig_window=$1; }
    note() { fig_note=$*; }
    least_rounds() { fig_least_rounds=$1; }
    seconds() { fig_seconds=$1; }
}
figure_words

figures=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# figure_names: all that there are; first those with a number, by number.
figure_names()
{
    local file
    for file in "$figures"/*.figure; do
        file=${file##*/}
        printf '%s\n' "${file%.figure}"
    done | sort -V | awk '/^fig[0-9]/ { print; next } { rest = rest $0 "\n" } END { printf "%s", rest }'
}

# figure_read NAME: sets fig and fig_*
figure_read()
{
    [ -f "$figures/$1.figure" ] || return 1
    fig=$1 fig_title=$1 fig_paper='' fig_from='' fig_program='' fig_ranks=2 fig_threads=1 fig_networks=(tcp) fig_arguments=() fig_quick=() fig_graph=''
    fig_axis='' fig_scale=linear fig_x=() fig_series=() fig_what=() fig_words=() fig_times=() fig_baselines=()
    fig_best='' fig_may_differ=() fig_panels=() fig_renames=() fig_window='' fig_note='' fig_seconds=90 fig_least_rounds=6
    # shellcheck source=/dev/null
    . "$figures/$1.figure" || die "there is a mistake in $1.figure."
}

# network_label NAME: what is emulated is called so, everywhere.
network_label()
{
    case $1 in
    aries | hdr) printf 'emulated-%s' "$1" ;;
    nodes) printf 'two-nodes' ;;
    *) printf '%s' "$1" ;;
    esac
}
