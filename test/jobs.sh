# shellcheck shell=bash disable=SC2034
# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# Several tests at a time, with their output in the order in which they were started. To be sourced; $scratch is to be
# an empty directory.
#
#   job FUNCTION ARGUMENT...  in a shell of its own, with $scratch a directory of its own, as soon as fewer than $jobs are running
#   jobs_end                  waits for all; $passed, $failed and $skipped are then the numbers of lines "PASS ...",
#                             "FAIL ..." and "SKIP ..." that they have printed
#   jobs_stop                 for the trap of INT and TERM: ends all, with what they have started, and the script
#
# An exit code of such a shell other than 0 (FUNCTION has called exit) ends the script with it.

jobs=2 # at a time; two ranks leave one of two processors idle half of the time
jobs_started=0 jobs_shown=0 jobs_running=0
passed=0 failed=0 skipped=0

job() {
    local folder=$scratch/job$jobs_started
    if ((jobs_running >= jobs)); then
        wait -n
        jobs_running=$((jobs_running - 1))
        jobs_show
    fi
    mkdir "$folder" || exit 2
    (
        trap 'echo "$?" >"$folder.rc"' EXIT
        scratch=$folder
        "$@"
        exit 0
    ) >"$folder.out" 2>&1 &
    jobs_started=$((jobs_started + 1)) jobs_running=$((jobs_running + 1))
}

# The output of those that have ended, as soon as all before them have.
jobs_show() {
    local folder rc
    while ((jobs_shown < jobs_started)); do
        folder=$scratch/job$jobs_shown
        [[ -s $folder.rc ]] || return 0
        cat "$folder.out"
        passed=$((passed + $(grep -ac '^PASS ' "$folder.out")))
        failed=$((failed + $(grep -ac '^FAIL ' "$folder.out")))
        skipped=$((skipped + $(grep -ac '^SKIP ' "$folder.out")))
        rc=$(cat "$folder.rc")
        rm -rf "$folder" "$folder.rc" "$folder.out"
        jobs_shown=$((jobs_shown + 1))
        ((rc == 0)) || jobs_stop "$rc"
    done
}

jobs_end() {
    wait
    jobs_running=0
    jobs_show
    # A shell that something has killed leaves no exit code.
    ((jobs_shown == jobs_started)) || { cat "$scratch/job$jobs_shown.out" && jobs_stop 1; }
}

# All processes that process PID started, and those that they started.
jobs_descendants() {
    local file line pid child
    local -A children=()
    for file in /proc/[0-9]*/stat; do
        { read -r line <"$file"; } 2>/dev/null || continue
        pid=${file#/proc/}
        # shellcheck disable=SC2086
        set -- "$1" ${line##*) }
        children[$3]+=" ${pid%/stat}"
    done
    for pid in ${children[$1]:-}; do
        echo "$pid"
        # shellcheck disable=SC2086
        for child in ${children[$pid]:-}; do
            echo "$child"
            printf '%s\n' ${children[$child]:-}
        done
    done
}

jobs_stop() {
    local pid pids i
    trap '' INT TERM
    pids=$(jobs_descendants $$)
    # shellcheck disable=SC2086
    kill -TERM $pids 2>/dev/null
    for ((i = 0; i < 80; i++)); do # they end their runs first
        for pid in $pids; do
            [[ ! -d /proc/$pid || $(</proc/"$pid"/stat) == *') Z '* ]] || { sleep 0.1 && continue 2; }
        done 2>/dev/null
        break
    done
    exit "${1:-130}"
}
