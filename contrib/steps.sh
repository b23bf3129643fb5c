# shellcheck shell=bash
# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# The frame of contrib/check: steps, their results and their times.  To be sourced after lib.sh.

logs='' skips='' # to be set: the directory for the output of the steps, the list of what may be skipped
kept='' # a directory for the results of steps that passed, which a later run of the same command and sources need not repeat
passed=0 failed=0 skipped=0
group='' # the step of contrib/check --list that what runs belongs to
declare -a rows=() begun=()
beside='' # the process that runs steps beside those of this one

# count PASSED FAILED SKIPPED
count()
{
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
}

# cpu_seconds: sets $cpu to what this shell and its children have used until now; not those beside it, which become part of that
# when they end.
cpu_seconds()
{
    local file=$logs/.times-$BASHPID
    times >"$file" # no $(times): that would be another process
    cpu=$(awk '{ for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); sum += 60 * t[1] + t[2] } }
        END { printf "%d", sum }' "$file")
    rm "$file"
    if [ -n "$beside" ] && [ -s "$logs/.beside-cpu" ] && ! kill -0 "$beside" 2>/dev/null; then
        cpu=$((cpu - $(cat "$logs/.beside-cpu")))
    fi
}

# begin NAME, end: what takes time between them has a line in the table, and $passed, $failed and $skipped
# have what it added.
begin()
{
    cpu_seconds
    begun=("$1" "$SECONDS" "$cpu" "$passed" "$failed" "$skipped")
}

end()
{
    cpu_seconds
    rows+=("$group|${begun[0]}|$((SECONDS - begun[1]))|$((cpu - begun[2]))|$((passed - begun[3]))|$((failed - begun[4]))|$((skipped - begun[5]))")
    printf -- '-- %s: %s\n' "${begun[0]}" "$(elapsed $((SECONDS - begun[1])))"
    begun=()
}

# timed NAME COMMAND...: what tests need, with a line in the table.
timed()
{
    begin "$1"
    "${@:2}"
    end
}

# step NAME COMMAND...: runs a test command, shows its output and adds up its last line "N passed,
# N failed[, N skipped]".  A command that ends without such a line is one failure more, and so is each
# line "SKIP TEST: REASON" that the list of skips does not allow, a skip without such a line, and a step in which
# nothing was tested, unless all of it was skipped for one reason.
step()
{
    local name=$1 log rc=0 line
    shift
    log=$logs/${name//[^A-Za-z0-9.]/-}.log
    ! is_kept "$name" "$log" "$@" || return 0
    printf '... %s\n' "$name"
    begin "$name"
    ("$@") >"$log" 2>&1 9>&- || rc=$? # who is interrupted in a function would write the table to its log
    line=$(tail -n 1 "$log")
    if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)?$ ]]; then
        count "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" "${BASH_REMATCH[4]:-0}"
        [ "$rc" -eq 0 ] || [ "${BASH_REMATCH[2]}" -gt 0 ] || count 0 1 0
        if [ "${BASH_REMATCH[1]}" -eq 0 ] && [ "${BASH_REMATCH[2]}" -eq 0 ] && [ "${BASH_REMATCH[4]:-0}" -ne 1 ]; then
            printf 'FAIL %s: nothing was tested\n' "$name" >>"$log"
            count 0 1 0
        fi
        judge_skips "$name" "$log" "${BASH_REMATCH[4]:-0}"
    else
        printf 'FAIL %s: ended with exit code %s and without a count (log: %s)\n' "$name" "$rc" "$log" >>"$log"
        count 0 1 0
    fi
    {
        flock 8 # steps beside this one end, too
        printf '\n== %s\n' "$name"
        cat "$log"
        end
    } 8>"$logs/.printing"
    keep "$log" "$@"
}

# inputs_of COMMAND...: a checksum of the command and of the files that it may read, from those of all sources in $kept/.sources.
# No test but lint's reads the frame of the check. Tests of one room, test/ROOM, read no documents, no published results and no
# other rooms but those that all use.
inputs_of()
{
    local room=${1#"$top/test/"} others=
    case $room in
    lint/*) others='/' ;;
    "$1" | packaging/* | releases/* | command/* | bench/*) others='contrib/(check|steps.sh)$|test/skips$' ;;
    *) others="contrib/(check|steps.sh)\$|test/skips\$|.*[.]md\$|NEWS\$|bench/results/|test/(?!(mpi|nodes|unit|${room%%/*})/)[^/]*/" ;;
    esac
    {
        printf '%s\n' "$@" "${OSC_CACHED_OPERATIONS-}" "${LLAMATCH_OPERATIONS-}" "${ASAN_OPTIONS-}" "${LOCALITY_LONG_TESTS-}" "${programs-}"
        grep -vP "^.{66}($others)" "$kept/.sources"
    } | sha256sum
}

# keep LOG COMMAND...: the result of the last step, if nothing failed. is_kept NAME LOG COMMAND...: takes it instead of running the
# step, if the same command reads the same files and what it skipped is still allowed.
keep()
{
    local row=${rows[-1]} field
    IFS='|' read -ra field <<<"$row"
    [ -n "$kept" ] && [ "${field[5]}" -eq 0 ] || return 0
    { printf '%s\n' "$row" && inputs_of "${@:2}"; } >"$kept/${1##*/}.row"
    cp "$1" "$kept/${1##*/}"
}

is_kept()
{
    local row field
    [ -n "$kept" ] && [ -s "$kept/${2##*/}.row" ] && [ "$(sed 1d "$kept/${2##*/}.row")" = "$(inputs_of "${@:3}")" ] || return 1
    row=$(head -n 1 "$kept/${2##*/}.row")
    IFS='|' read -ra field <<<"$row"
    cp "$kept/${2##*/}" "$2"
    (failed=0 && judge_skips "$1" "$2" "${field[6]}" && [ "$failed" -eq 0 ]) || return 1
    count "${field[4]}" 0 "${field[6]}"
    rows+=("$row")
    printf -- '-- %s: passed before, %s\n' "$1" "$(elapsed "${field[2]}")"
}

# run_beside COMMAND GROUP...: COMMAND with each of these steps, in the background; their results come with wait_beside.
# Those of this shell go on meanwhile: half of a test is waiting, or has one process. When this shell has no other steps,
# help_beside COMMAND takes those that nobody has begun.
run_beside()
{
    local command=$1
    shift
    printf '%s\n' "$@" >"$logs/.groups"
    set -m # a group of processes of its own, which finish can end
    (
        set +m
        rows=() passed=0 failed=0 skipped=0 ended=no
        trap end_beside EXIT
        help_beside "$command"
        ended=yes
    ) &
    beside=$!
    set +m
}

help_beside()
{
    local group
    while take_group; do
        "$1" "$group"
    done
}

# take_group: the next of these steps is $group; there is none any more: 1
take_group()
{
    exec 7>"$logs/.taking"
    flock 7
    group=$(head -n 1 "$logs/.groups")
    sed -i 1d "$logs/.groups"
    exec 7>&-
    [ -n "$group" ]
}

end_beside()
{
    [ ${#begun[@]} -eq 0 ] || end # in the middle of this
    [ "$ended" = yes ] || [ "$failed" -gt 0 ] || count 0 1 0
    printf '%s\n' "$passed $failed $skipped" "${rows[@]}" >"$logs/.beside"
    cpu_seconds
    printf '%s\n' "$cpu" >"$logs/.beside-cpu"
}

wait_beside()
{
    local p=0 f=1 s=0
    local -a others=()
    [ -n "$beside" ] || return 0
    wait "$beside" || :
    beside=
    [ ! -s "$logs/.beside" ] || { read -r p f s && mapfile -t others; } <"$logs/.beside"
    rm -f "$logs"/.beside{,-cpu} "$logs/.groups"
    count "$p" "$f" "$s"
    rows+=("${others[@]}")
}

# one NAME COMMAND...: a command whose exit code is the result.
one()
{
    local name=$1
    shift
    if "$@"; then
        printf 'PASS %s\n1 passed, 0 failed\n' "$name"
    else
        printf 'FAIL %s\n0 passed, 1 failed\n' "$name"
        return 1
    fi
}

# quietly COMMAND...: its output only when it fails.
quietly()
{
    local out
    out=$("$@" 2>&1) || { printf '%s\n' "$out" | tail -n 60; return 1; }
}

# make_check DIR [ARGUMENT...]: the unit tests of a build directory ($programs names some of them, else all),
# with more arguments for make, counted from automake's summary; cmocka's own skips too, one line each.
make_check()
{
    local build=$1 rc=0 out left_out
    shift
    rm -f "$build"/test_*.{log,trs} # of those that do not run this time
    out=$(make -C "$build" -j"$(nproc)" V=0 check ${programs:+"check_PROGRAMS=$programs"} "$@" 2>&1) || rc=$?
    printf '%s\n' "$out" | grep -E '^(PASS|FAIL|ERROR):|error:' || :
    left_out=$(
        sed -n 's/^SKIP: \(.*\)/SKIP \1: all of it/p' <<<"$out"
        cd "$build" && awk '/^\[  SKIPPED \] [a-z]/ && $4 !~ /:$/ && !seen[FILENAME, $4]++ {
            print "SKIP", substr(FILENAME, 1, length(FILENAME) - 4), $4 ": nothing to see in this build" }' test_*.log
    )
    [ -z "$left_out" ] || printf '%s\n' "$left_out"
    [ "$rc" -eq 0 ] || cat "$build/test-suite.log" 2>/dev/null || printf '%s\n' "$out" | tail -n 30
    printf '%s\n' "$out" | awk -v rc="$rc" -v s="$(grep -c . <<<"$left_out")" '
        /^# (PASS|XFAIL):/ { p += $3 } /^# (FAIL|XPASS|ERROR):/ { f += $3 }
        END { if (rc && !f) f = 1; printf "%d passed, %d failed, %d skipped\n", p, f, s }'
    return "$rc"
}

# --- What may be skipped ---------------------------------------------------------

# judge_skips STEP LOG COUNT: skips that are not allowed are failures, named here.
judge_skips()
{
    local name=$1 log=$2 count=$3 text seen=0
    while IFS= read -r text; do
        seen=$((seen + 1))
        ! allowed_skip "$name" "$text" || continue
        printf 'FAIL %s: not in the list of skips (%s): SKIP %s\n' "$name" "${skips##*/}" "$text" >>"$log"
        count 0 1 -1
    done < <(sed -n 's/^SKIP //p' "$log")
    [ "$seen" -eq "$count" ] || {
        printf 'FAIL %s: %s skipped, but %s lines say what and why\n' "$name" "$count" "$seen" >>"$log"
        count 0 1 0
    }
}

# read_skips: the lines of the list, "STEP | TEST | MACHINE | REASON", without comments.
read_skips()
{
    sed -e '/^#/d' -e '/^[[:space:]]*$/d' "$skips"
}

# allowed_skip STEP TEXT: is "SKIP TEXT" of this step in the list, for a machine like this one?
allowed_skip()
{
    local step=$1 text=$2 steps tests machine line word
    while IFS= read -r line; do
        IFS='|' read -r steps tests machine _ <<<"${line// | /|}"
        # shellcheck disable=SC2053 # patterns
        [[ $step == $steps && ($text == $tests || $text == $tests:\ *) ]] || continue
        for word in $machine; do
            machine_is "$word" || continue 2
        done
        return 0
    done < <(read_skips)
    return 1
}

# machine_is WORD: one word of the list's third column.
machine_is()
{
    case $1 in
    any) ;;
    not-*) machine_words "${1#not-}" && ! machine_is "${1#not-}" ;;
    no-*) machine_words "${1#no-}" && ! machine_is "${1#no-}" ;;
    root) [ "$(id -u)" -eq 0 ] ;;
    x86_64 | aarch64) [ "$(uname -m)" = "$1" ] ;;
    debian-*) [ "$(. /etc/os-release && echo "$ID-${VERSION_ID:-${VERSION_CODENAME:-}}")" = "$1" ] ;;
    mount-namespace) can_mount true ;;
    overlay) can_mount sh -c 'cd /mnt && mkdir u w v && mount -t overlay -o lowerdir=/,upperdir=u,workdir=w none v' ;;
    rdma) has_rdma ;;
    userfaultfd) linux_since 5.19 && (. "${BASH_SOURCE[0]%/*}/../test/mpi/launch.sh" && mpi_stores_are_noticed) ;;
    page-scan) linux_since 6.7 ;;
    *) return 1 ;;
    esac
}

linux_since()
{
    [ "$(printf '%s\n' "$1" "$(uname -r)" | sort -V | head -n 1)" = "$1" ]
}

# machine_words WORD...: are all of them known?
machine_words()
{
    local word
    for word; do
        case ${word#no*-} in
        any | root | x86_64 | aarch64 | debian-?* | mount-namespace | overlay | rdma | userfaultfd | page-scan) ;;
        *) return 1 ;;
        esac
    done
}

# can_mount COMMAND...: may this user, perhaps by sudo, mount file systems that nobody else sees, and does COMMAND
# succeed with one in /mnt?
can_mount()
{
    local -a become=()
    [ "$(id -u)" -eq 0 ] || become=(sudo -n)
    "${become[@]}" unshare --mount --propagation private sh -c 'mount -t tmpfs none /mnt && "$@"' sh "$@" 2>/dev/null
}

# --- The end ------------------------------------------------------------------------

# table: the steps in the order of their first part, each with its parts. Some ran at the same time.
table()
{
    [ ${#rows[@]} -eq 0 ] || printf '%s\n' "${rows[@]}" | awk -F '|' -v elapsed="$SECONDS" '
        function clock(s) { return sprintf("%d:%02d", s / 60, s % 60) }
        function row(name, n) {
            printf "%-72s %8s %8s %7s %7s %8s\n", name, clock(n["time"]), clock(n["cpu"]), n["p"], n["f"], n["s"]
        }
        function part(i,  f, n) {
            split(line[i], f, "|")
            n["time"] = f[3]; n["cpu"] = f[4]; n["p"] = f[5]; n["f"] = f[6]; n["s"] = f[7]
            row("  " f[2], n)
        }
        function add(group,  v) {
            time[group] += $3; cpu[group] += $4; p[group] += $5; f[group] += $6; s[group] += $7
        }
        function whole(group,  n) {
            n["time"] = time[group]; n["cpu"] = cpu[group]; n["p"] = p[group]; n["f"] = f[group]; n["s"] = s[group]
            row(group, n)
        }
        { line[NR] = $0; of[NR] = $1; if (!($1 in time)) order[++groups] = $1; add($1); add("all") }
        END {
            printf "%-72s %8s %8s %7s %7s %8s\n", "step", "minutes", "CPU", "passed", "failed", "skipped"
            for (g = 1; g <= groups; g++) {
                whole(order[g])
                for (i = 1; i <= NR; i++) if (of[i] == order[g]) part(i)
            }
            time["all"] = elapsed
            whole("all")
        }'
}

# what_failed: of each step with failures, where its log is and what it said of them, so that the end of a long output has it.
what_failed()
{
    local row name log
    local -a field
    for row in "${rows[@]}"; do
        IFS='|' read -ra field <<<"$row"
        [ "${field[5]}" -gt 0 ] || continue
        name=${field[1]}
        log=$logs/${name//[^A-Za-z0-9.]/-}.log
        printf '\nFailed in %s%s:\n' "$name" "$([ ! -e "$log" ] || echo " (log: $log)")"
        [ ! -e "$log" ] || awk '/^(FAIL|ERROR)|^\[ +(ERROR|FAILED) |error:|ERROR: [A-Z]|[Aa]ssertion/ { left = 12 } 0 < left-- && shown++ < 60' "$log"
    done
}

# finish: the table, what failed and the last line, also when something that tests need could not be built.
finish()
{
    local rc=$?
    if [ "$rc" -ne 0 ] && [ "$failed" -eq 0 ]; then
        count 0 1 0
    fi
    [ ${#begun[@]} -eq 0 ] || end # in the middle of this
    [ -z "$beside" ] || kill -- "-$beside" 2>/dev/null || :
    wait_beside
    printf '\n'
    table
    what_failed
    printf '\n%d passed, %d failed%s\n' "$passed" "$failed" "$([ "$skipped" -eq 0 ] || echo ", $skipped skipped")"
    [ "$failed" -eq 0 ] || exit 1
}
