# shellcheck shell=bash disable=SC2034
# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# Shared by the packaging tests: results, runs of program.c, and what installed packages show.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source-path=SCRIPTDIR source=../mpi/launch.sh
source "$here/../mpi/launch.sh"

passed=0 failed=0 skipped=0
suite=${0##*/}

# check NAME COMMAND...: its exit code is the result; what it says is shown when it fails
check() {
    local name=$1 said
    shift
    if said=$("$@" 2>&1); then
        echo "PASS $suite: $name"
        passed=$((passed + 1))
    else
        echo "FAIL $suite: $name"
        printf '%s\n' "$said" | tail -n 30 | sed 's/^/    /'
        failed=$((failed + 1))
    fi
}

# skip NAME REASON
skip() {
    echo "SKIP $suite: $1: $2"
    skipped=$((skipped + 1))
}

# summary: the last line of a test, and its exit code
summary() {
    ((skipped == 0)) || printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
    ((skipped > 0)) || printf '%d passed, %d failed\n' "$passed" "$failed"
    ((failed == 0))
}

# make_scratch: a directory for this test, $scratch, removed at its end
make_scratch() {
    scratch=$(mktemp -d /tmp/oltest.XXXXXX) || exit 2
    trap 'rm -rf "$scratch"' EXIT
    trap 'exit 130' INT TERM
}

# program_built: $scratch/program of the Open MPI of mpi_setup
program_built() {
    "$MPICC" -std=gnu11 -O1 -Wall -o "$scratch/program" "$here/program.c"
}

# plain_switches: what any user needs to run two processes here, and no choice of components
plain_switches() {
    mpi_switches none shm 2
    plain=(-np 2 --bind-to none --mca mpi_yield_when_idle 1 --mca opal_common_ucx_tls any
        --mca opal_common_ucx_devices any)
    if [[ $MPI_SERIES == 4.* ]]; then plain+=(--oversubscribe); else plain+=(--map-by :OVERSUBSCRIBE); fi
}

# program_says TEXT VARIABLE... -- SWITCH...: two processes of the program end with "right", and print these
# lines, each of TEXT, to stdout or stderr
program_says() {
    local texts=$1 text
    local -a variables=()
    shift
    while [[ $1 != -- ]]; do variables+=("$1") && shift; done
    shift
    rm -rf "$scratch/run"
    mkdir "$scratch/run"
    mpi_launch 60 "$scratch/run" "$scratch/program" "$MPIRUN" "${plain[@]}" "$@" "$scratch/program" "${variables[@]}" ||
        { cat "$scratch"/run/std* && return 1; }
    while IFS= read -r text; do
        grep -qF -- "$text" "$scratch"/run/std{out,err} && continue
        printf 'no "%s" in:\n' "$text"
        cat "$scratch"/run/std*
        return 1
    done <<<"right"$'\n'"$texts"
}

# doctor_line_works: ompi-locality doctor runs, and the line that it ends with gives hits
doctor_line_works() {
    local said line
    said=$(env "${MPI_ENV[@]}" ompi-locality doctor 2>&1) || { printf '%s\n' "$said" && return 1; }
    line=$(tail -n 1 <<<"$said")
    said=$(env "${MPI_ENV[@]}" sh -c "$line" 2>&1) && [[ $said =~ [1-9][0-9.]*\ %\ from\ the\ cache ]] ||
        { printf '%s\n' "$line" "$said" && return 1; }
}

# options ARGUMENT...: --mpi=PREFIX|system and --component-path=DIR, as test/mpi/run has them
options() {
    local arg
    mpi='' components=''
    for arg; do
        case $arg in
        --mpi=?*) mpi=${arg#*=} ;;
        --component-path=?*) components=${arg#*=} ;;
        --help | -h) usage && exit 0 ;;
        *) mpi_die "unknown option $arg (see --help)" ;;
        esac
    done
    [[ -n $mpi ]] || mpi_die "--mpi=PREFIX|system is needed (see --help)"
    mpi_setup "$mpi" "$components"
    mpi_has osc cached && mpi_has pml llamatch ||
        mpi_die "Open MPI $MPI_VERSION knows no osc/cached and pml/llamatch${components:+ in $components}"
    plain_switches
}

# adopt FILE: take over the results that a test of ours wrote to FILE
adopt() {
    local last
    last=$(tail -n 1 "$1")
    grep -avE '^[0-9]+ passed, [0-9]+ failed' "$1"
    if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)?$ ]]; then
        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
        skipped=$((skipped + ${BASH_REMATCH[4]:-0}))
    else
        check "${1##*/} ended with a count" false
    fi
}

# --- In a private copy of this machine's files, with the packages installed ---------------------

# files: every file of the system, except what dpkg, apt and ldconfig keep to themselves
files() {
    find /usr /etc /var /opt -xdev ! -path '/var/lib/dpkg*' ! -path '/var/lib/apt*' ! -path '/var/cache/*' \
        ! -path '/var/log/*' ! -path '/var/tmp/*' \( -type d -printf '%p %m %u\n' -o -printf '%p %s %m %u %l\n' \) | sort
}

components() {
    local all
    all=$(ompi_info --parsable) || return 1
    grep '^mca:' <<<"$all" | sort
}

# usual: what a run without any flag says, and which PML it chose
usual() {
    program_says "" osc pml -- --mca pml_base_verbose 10 || return 1
    cat "$scratch/run/stdout"
    sed -n 's/.*select: component \(.*\) selected/\1/p' "$scratch/run/stderr" | sort -u
}

keep_usual() {
    usual >"$scratch/usual" || { cat "$scratch/usual" && return 1; }
}

as_before() {
    diff <(components) "$scratch/components" && diff <(usual) "$scratch/usual"
}

# shows FRAMEWORK COMPONENT TEXT: does ompi_info end well, and show it?
shows() {
    local text
    text=$(ompi_info --param "$1" "$2" --level 9) || { echo "ompi_info --param $1 $2: exit code $?" && return 1; }
    [[ $text == *"$3"* ]]
}

has_components() {
    local listed
    listed=$(components) || return 1
    [[ $listed == *"mca:osc:cached:version:"* && $listed == *"mca:pml:llamatch:version:"* ]] &&
        shows osc cached osc_cached_mode && shows pml llamatch pml_llamatch_engine
}

# One process without mpirun and its daemon, which lose help texts in 4.1.
help_texts() {
    local said
    said=$(env "${MPI_ENV[@]}" OMPI_MCA_ess_singleton_isolated=1 OMPI_MCA_osc=cached \
        OMPI_MCA_osc_cached_mode=nonsense OMPI_MCA_pml=llamatch OMPI_MCA_pml_llamatch_engine=nonsense "$scratch/program" 2>&1)
    printf '%s\n' "$said"
    [[ $said == *osc_cached_mode* && $said == *pml_llamatch_engine* && $said != *Sorry* && $said == *right* ]]
}

nothing_left() {
    diff <(files) "$scratch/files" && as_before
}
