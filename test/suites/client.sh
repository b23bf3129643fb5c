# shellcheck shell=bash disable=SC2034
# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by test/suites/armci, coarrays, hpcc, hypre, nwchem and petsc: programs of other people, run with Open MPI's own
# components and with ours.
#
#   client_options NAME TEXT "$@"     reads the options that all have; TEXT says in --help what is run
#   client_open INPUT...              sets $build, a directory of the user's cache that depends on INPUT and the Open MPI
#   client_tarball PACKAGE VERSION SUITE SHA256  prints the path of the upstream tarball of a Debian source package
#   client_build COMMAND...           runs it once, in $build
#   client_test RANKS PROGRAM ARGUMENT...        runs it on both sides; $variant names how else it differs from others
#   client_end                        prints the last line and ends; $compared is how many hits were compared so far
#
# A suite may set $what, the default of --what, before, and define these functions, which are called in the directory that
# the program runs in:
#   client_prepare    has the files there that the program reads
#   client_wrong      prints why a run is wrong although it ended with exit code 0; its stdout is in ../stdout
#   client_result     prints what must be the same on both sides
#   client_seconds    prints the time of a run, for --rounds; by default that of mpirun, $seconds
suites=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../mpi/launch.sh disable=SC1091
source "$suites/../mpi/launch.sh"

what=osc:cached,pml:llamatch
client_prepare() { :; }
client_wrong() { :; }
client_result() { sort ../stdout; }
client_seconds() { echo "$seconds"; }

client_usage() {
    cat <<EOF
Usage: test/suites/$client --mpi=PREFIX|system [options]

$1

  --mpi=PREFIX|system     the Open MPI to test: an installation, or the one in PATH
  --component-path=DIR    directory with mca_osc_cached.so, mca_pml_llamatch.so (default: installed ones)
  --what=LIST             osc:cached, pml:llamatch; osc:cached:verify, which keeps all that it may, whatever the gets
                          cost, and compares each hit with the target; osc:cached:helper, windows with a helper, which
                          must have had something to do (default: $what)
  --transport=shm|tcp     default shm
  --full                  everything; default: a part that is fast
  --only=PATTERN          tests whose line ("program arguments") matches this shell pattern
  --limit=SECONDS         time limit of one run (default 60)
  --fresh                 run the stock components again where they are known to pass from an earlier run
  --rounds=N              then N more runs with the stock components and with ours, in turns: lines "TIME stock ours TEST", in seconds

Each program runs twice with osc/ucx and pml/ob1, then with ours. PASS: right with ours, and the same result, unless it
differs from run to run with the stock components too. FAIL: right with the stock components only, or another result.
SKIP: fails with the stock components, or they do not always pass ("unsteady"). The last line is "N passed, N failed,
N skipped". Exit code 0: nothing failed.
EOF
}

client_options() {
    local text=$2 arg w
    client=$1
    shift 2
    mpi='' components='' transport=shm full='' only='*' limit=60 fresh='' rounds=0
    for arg; do
        case $arg in
        --mpi=*) mpi=${arg#*=} ;;
        --component-path=*) components=${arg#*=} ;;
        --what=*) what=${arg#*=} ;;
        --transport=*) transport=${arg#*=} ;;
        --full) full=yes ;;
        --only=*) only=${arg#*=} ;;
        --limit=*) limit=${arg#*=} ;;
        --fresh) fresh=yes ;;
        --rounds=*) rounds=${arg#*=} ;;
        --help | -h) client_usage "$text" && exit 0 ;;
        *) mpi_die "unknown option $arg (see --help)" ;;
        esac
    done
    [[ -n $mpi ]] || mpi_die "--mpi=PREFIX|system is needed (see --help)"
    [[ $transport == shm || $transport == tcp ]] || mpi_die "unknown transport $transport (shm, tcp)"
    [[ $limit =~ ^[1-9][0-9]*$ && $rounds =~ ^[0-9]+$ ]] || mpi_die "--limit and --rounds take a number"
    mpi_setup "$mpi" "$components"
    for w in ${what//,/ }; do
        [[ $w =~ ^(osc:cached(:(verify|helper))?|pml:llamatch)$ ]] || mpi_die "unknown --what=$w"
        w=${w%:verify}
        w=${w%:helper}
        mpi_has "${w%%:*}" "${w#*:}" || mpi_die "Open MPI $MPI_VERSION knows no $w${components:+ in $components}"
    done
    passed=0 failed=0 skipped=0 variant='' requests=0 compared=0
}

# Debian's programs are linked with Debian's Open MPI.
client_needs_system() {
    [[ $mpi == system ]] || mpi_die "$client of Debian runs with Debian's Open MPI only (--mpi=system)"
}

client_open() {
    local key
    key=$(cksum <<<"$* $MPICC $MPI_VERSION $("$MPICC" --showme 2>/dev/null)" | cut -d' ' -f1)
    build=${XDG_CACHE_HOME:-$HOME/.cache}/ompi-locality/suites/$client-ompi-$MPI_VERSION-$key
    mkdir -p "$build" || exit 2
    exec 9>"$build/lock"
    flock -n 9 || { echo "Waiting for another run that uses $build" && flock 9; }
    scratch=$(mktemp -d /tmp/olclient.XXXXXX) || exit 2
    trap 'rm -rf "$scratch"' EXIT
    trap 'exit 130' INT TERM
}

client_tarball() (
    # shellcheck source=/dev/null
    source "$suites/../../contrib/lib.sh"
    fetch_source "$@" "$(cache_root)/downloads"
)

client_build() {
    local start=$SECONDS
    [[ ! -e $build/built ]] || return 0
    echo "Building $client with $MPICC (log: $build/build.log)"
    if ! (cd "$build" && "$@") >"$build/build.log" 2>&1; then
        tail -n 5 "$build/build.log" >&2
        mpi_die "$client does not build; see $build/build.log"
    fi
    touch "$build/built"
    echo "Built in $((SECONDS - start)) s"
}

# client_try SWITCHES DIR RANKS PROGRAM ARGUMENT...: one run; sets $why to "pass" or why not.
client_try() {
    local switches=$1 dir=$2 ranks=$3 program=$4 rc=0 noise component
    shift 4
    rm -rf "$dir"
    mkdir -p "$dir/run"
    cd "$dir/run" || exit 2
    client_prepare
    component=${switches%:verify}
    mpi_switches "${component%:helper}" "$transport" "$ranks" || exit 2
    if [[ $switches == *:verify ]]; then
        SWITCHES+=(--mca osc_cached_bypass_below 0 --mca osc_cached_profit 0
            --mca osc_cached_verify 2)
    elif [[ $switches == *:helper ]]; then
        SWITCHES+=(--mca osc_cached_helper on --mca osc_cached_helper_stats 1)
    fi
    seconds=$EPOCHREALTIME
    mpi_launch "$limit" "$dir" "$program" "$MPIRUN" "${SWITCHES[@]}" "$program" "$@" 9>&- || rc=$?
    seconds=$(awk "BEGIN { print $EPOCHREALTIME - $seconds }")
    [[ $switches != *:helper ]] || requests=$((requests + $(mpi_helper_requests "$dir")))
    noise=$(mpi_known_noise "$transport")
    compared=$((compared + $(sed -n 's/^osc.cached: \([0-9]*\) hits compared .*/\1/p' "$dir/stderr" | paste -sd+ | grep . || echo 0)))
    [[ $switches != *:verify ]] || noise+="${noise:+|}^osc.cached: [0-9]+ hits compared .* 0 differ$"
    [[ -z $noise ]] || sed -E -i "/$noise/d" "$dir/stdout" "$dir/stderr"
    if ((rc == 124)); then
        why="no end within $limit s"
    elif ((rc != 0)); then
        why="exit code $rc"
    elif grep -qE 'osc[/_]cached|llamatch' "$dir/stdout" "$dir/stderr"; then
        why="a message of the component"
    else
        why=$(client_wrong)
        why=${why:-pass}
    fi
}

# client_stock FOLDER RANKS PROGRAM ARGUMENT...: sets $why; the results of two runs that passed are kept in FOLDER.
client_stock() {
    local keep=$1 run
    shift
    why=pass
    [[ -n $fresh || ! -e $keep/2 ]] || return 0
    rm -rf "$keep"
    for run in 1 2; do
        client_try osc:ucx "$scratch/stock" "$@"
        [[ $why == pass ]] || return 0
        mkdir -p "$keep"
        client_result >"$keep/$run.new"
        mv "$keep/$run.new" "$keep/$run"
    done
}

# Ours failed where the stock components passed: how often do both?
client_again() {
    local switches=$1 label=$2 first=$why ours=0 stock=1
    shift 2
    cp -r "$scratch/ours" "$scratch/first"
    for _ in 1 2; do
        client_try osc:ucx "$scratch/stock" "$@"
        [[ $why != pass ]] || stock=$((stock + 1))
        client_try "$switches" "$scratch/ours" "$@"
        [[ $why != pass ]] || ours=$((ours + 1))
    done
    if ((stock < 3 && ours > 0)); then
        client_say SKIP "$label: unsteady, passes $ours of 3, with the stock components $stock of 3"
    else
        client_say FAIL "$label: $first; passes $ours of 3, with the stock components $stock of 3"
        tail -n 15 "$scratch/first"/{stdout,stderr,stacks} 2>/dev/null | sed 's/^/    /'
    fi
    rm -rf "$scratch/first"
}

# Both passed with different results: is that so with the stock components alone?
client_differs() {
    local keep=$1 label=$2
    shift 2
    for _ in 1 2 3; do
        cmp -s "$keep/1" "$keep/2" || break
        client_try osc:ucx "$scratch/stock" "$@"
        [[ $why != pass ]] || client_result >"$keep/2"
    done
    if cmp -s "$keep/1" "$keep/2"; then
        client_say FAIL "$label: another result"
        diff "$keep/1" "$scratch/result" | head -n 20 | sed 's/^/    /'
    else
        client_say PASS "$label (its result is never the same)"
    fi
}

# client_time SWITCHES LABEL RANKS PROGRAM ARGUMENT...: the times of both sides; runs that fail have none.
client_time() {
    local switches=$1 label=$2 side round
    local -A times
    shift 2
    for ((round = 1; round <= rounds; round++)); do
        for side in osc:ucx "$switches"; do
            client_try "$side" "$scratch/timed" "$@"
            [[ $why == pass ]] || continue 2
            times[$side]=$(client_seconds)
        done
        echo "TIME ${times[osc:ucx]} ${times[$switches]} $label"
    done
}

client_say() {
    case $1 in
    PASS) passed=$((passed + 1)) ;;
    FAIL) failed=$((failed + 1)) ;;
    *) skipped=$((skipped + 1)) ;;
    esac
    echo "$1 $2"
}

client_test() {
    local ranks=$1 program=$2 name keep w switches label
    shift 2
    name="${program##*/}${*:+ $*}${variant:+ ($variant)}"
    # shellcheck disable=SC2053
    [[ $name == $only ]] || return 0
    keep=$build/results/$transport-$ranks-${program##*/}-$(cksum <<<"$name" | cut -d' ' -f1)
    client_stock "$keep" "$ranks" "$program" "$@"
    if [[ $why != pass ]]; then
        client_say SKIP "$name [$transport, $ranks ranks]: fails with the stock components ($why)"
        return 0
    fi
    for w in ${what//,/ }; do
        switches=${w/pml:/osc:ucx+pml:}
        label="$name [${w//:/ }, $transport, $ranks ranks]"
        client_try "$switches" "$scratch/ours" "$ranks" "$program" "$@"
        if [[ $why != pass ]]; then
            client_again "$switches" "$label" "$ranks" "$program" "$@"
        elif client_result >"$scratch/result" && cmp -s "$keep/1" "$scratch/result"; then
            client_say PASS "$label"
        else
            client_differs "$keep" "$label" "$ranks" "$program" "$@"
        fi
        client_time "$switches" "$label" "$ranks" "$program" "$@"
    done
}

client_end() {
    ((passed + failed + skipped > 0)) || mpi_die "no test matches --only=$only"
    if ((requests > 0)); then
        client_say PASS "helpers got $requests requests"
    elif [[ ,$what, == *:helper,* ]]; then
        client_say FAIL "nobody asked a helper for anything"
    fi
    echo "$passed passed, $failed failed, $skipped skipped"
    ((failed == 0))
    exit
}
