# shellcheck shell=bash disable=SC2034
# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by test/mpi/run, test/mpi/selection, test/suites/mpich and others: which Open MPI, how it is called, and runs
# that end in time and leave nothing behind.
#
#   mpi_setup PREFIX|system [COMPONENT_DIR]   sets MPICC MPIRUN MPI_VERSION MPI_SERIES MPI_ENV
#   mpi_inners LIST                           checks the value of --inner, and sets MPI_AUTO to what "auto" is here
#   mpi_inner_refuses INNER TRANSPORT         prints why Open MPI's own INNER does not run there; nothing: it does
#   mpi_switches WHAT TRANSPORT RANKS [THREADS]  sets SWITCHES (mpirun arguments) and SWITCH_ENV
#     WHAT: osc:cached wraps $MPI_INNER (default ucx); osc:inner is the same component alone
#     TRANSPORT: shm, tcp, or an emulated network over shared memory (bench/net): aries, hdr;
#     fails where that cannot be built, and SWITCHES is then of no use
#     LOCALITY_PML in the environment: the PML where WHAT names none (default ob1)
#     on nodes (mpi_on_nodes) there is one transport, nodes: shared memory inside a node, TCP between them
#   mpi_nodes_have_helpers                    do windows of osc:cached have helpers here, by default?
#   mpi_helper_requests DIR                   after a run with osc_cached_helper_stats: prints how many requests helpers got, and
#                                             takes their summaries from DIR/stderr
#   mpi_stores_are_noticed                    can osc_cached_stores detect be had here, as far as one can tell?
#   mpi_no_yield                              changes SWITCHES
#   mpi_on_nodes N FOLDER... -- ARGUMENT...   runs the calling script once more with its arguments, on the first of N nodes
#                                             (test/nodes/nodes) that also see these directories; returns there
#   mpi_scratch                               prints a new directory for programs and their files
#   mpi_launch LIMIT DIR PROGRAM COMMAND...   runs it; sets nothing, returns its exit code, 124 when the limit passed
#                                             (LOCALITY_SLOW times as long where that is set: on a busy machine)
# DIR receives stdout, stderr, and for a hang: stacks.

mpi_die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 2
}

# Numbers have a point, in whatever language messages are.
[[ -z ${LC_ALL-} ]] || { LANG=$LC_ALL && unset LC_ALL LC_MESSAGES LC_COLLATE LC_CTYPE LC_TIME LANGUAGE; }
export LANG LC_NUMERIC=C

mpi_nodes=$(cd "${BASH_SOURCE[0]%/*}/../nodes" && pwd)

mpi_on_nodes() {
    local n=$1 reason rc=0
    local -a share=()
    [[ -z ${LOCALITY_NODES:-} ]] || return 0
    shift
    while [[ $1 != -- ]]; do
        [[ ! -d $1 ]] || share+=("--share=$(cd "$1" && pwd)")
        shift
    done
    shift
    reason=$("$mpi_nodes/nodes" with "$n" true 2>&1) || rc=$?
    if ((rc == 77)); then
        printf 'SKIP %s on %s nodes: %s\n0 passed, 0 failed, 1 skipped\n' "${0##*/}" "$n" "${reason//$'\n'/; }"
        exit 0
    fi
    ((rc == 0)) || mpi_die "$reason"
    exec "$mpi_nodes/nodes" "${share[@]}" with "$n" "$0" "$@"
}

# Where on nodes all see it.
mpi_scratch() {
    local folder=/tmp
    [[ -z ${LOCALITY_NODES:-} ]] || folder=/tmp/nodes
    mktemp -d "$folder/oltest.XXXXXX"
}

mpi_setup() {
    local where=$1 components=${2:-}
    if [[ $where == system ]]; then
        MPICC=$(type -P mpicc.openmpi || type -P mpicc) || mpi_die "no mpicc in PATH (Debian: libopenmpi-dev)"
        MPIRUN=$(type -P mpirun.openmpi || type -P mpirun) || mpi_die "no mpirun in PATH (Debian: openmpi-bin)"
        MPI_INFO=$(type -P ompi_info) || mpi_die "no ompi_info in PATH (Debian: libopenmpi-dev)"
    else
        [[ -x $where/bin/mpicc && -x $where/bin/mpirun && -x $where/bin/ompi_info ]] ||
            mpi_die "no Open MPI in $where (mpicc, mpirun and ompi_info are needed)"
        where=$(cd "$where" && pwd)
        MPICC=$where/bin/mpicc MPIRUN=$where/bin/mpirun MPI_INFO=$where/bin/ompi_info
    fi
    MPI_VERSION=$("$MPI_INFO" --version | sed -n 's/^Open MPI v\([0-9][^ ]*\).*/\1/p')
    [[ -n $MPI_VERSION ]] || mpi_die "$MPI_INFO does not say which Open MPI this is"
    MPI_SERIES=${MPI_VERSION%.*}
    MPI_ENV=()
    if [[ $where != system ]]; then
        MPI_ENV+=("PATH=$where/bin:$PATH" "LD_LIBRARY_PATH=$where/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}")
    fi
    if ((EUID == 0)); then
        MPI_ENV+=(OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
            PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1)
    fi
    if [[ -n $components ]]; then
        components=$(cd "$components" 2>/dev/null && pwd) || mpi_die "no directory $2"
        mpi_component_path "$components"
        MPI_ENV+=("${COMPONENT_ENV[@]}")
    fi
    # common/ucx of 5.0 makes UCX's workers for one thread and lets several use them, one after the other. A UCX that was
    # built with assertions (Debian 13) ends the program, unless patch 0020 is in.
    if [[ $MPI_SERIES == 5.0 ]] && ! grep -qs OMPI_HAVE_MPI_EXT_CACHED "$where/include/mpi-ext.h" &&
        grep -qs ucs_async_check_owner_thread /usr/lib/*/libucp.so.0; then
        MPI_ENV+=(LOCALITY_TEST_UCX_ASSERTS=1)
    fi
    MPI_WHERE=$where MPI_COMPONENTS=$components MPI_NETEM='' MPI_AUTO=''
    [[ -z ${LOCALITY_NODES:-} ]] || mpi_need_spread
}

# Nothing that runs on nodes may pass with all its ranks on one.
mpi_need_spread() {
    local scratch names rc=0
    read -r -a names <<<"$LOCALITY_NODES"
    scratch=$(mpi_scratch) || exit 2
    "$MPICC" -O2 "$mpi_nodes/spread.c" -o "$scratch/spread" || mpi_die "cannot build $mpi_nodes/spread.c with $MPICC"
    mpi_switches none nodes $((2 * ${#names[@]}))
    mpi_launch 60 "$scratch" "$scratch/spread" "$MPIRUN" "${SWITCHES[@]}" "$scratch/spread" "${#names[@]}" || rc=$?
    if ((rc != 0)); then
        cat "$scratch/stdout" "$scratch/stderr" >&2
        mpi_die "Open MPI $MPI_VERSION does not spread ranks over the nodes $LOCALITY_NODES as it was told (exit code $rc)"
    fi
    rm -rf "$scratch"
}

# mpi_machine: what a page of results says first: Open MPI, processors, load.
mpi_machine() {
    local processor
    processor=$(LC_ALL=C lscpu | sed -n '/^ *Model name: *-*$/d; s/^ *Model name: *//p' | head -n 1)
    printf 'Open MPI %s, %s%s, %d processors, load %s' "$MPI_VERSION" "$(uname -m)" "${processor:+ ($processor)}" "$(nproc)" \
        "$(cut -d' ' -f1 /proc/loadavg)"
}

# Where this Open MPI keeps NAME.
mpi_path() {
    "$MPI_INFO" --path "$1" --parsable | sed -n "s/^path:$1://p"
}

# Sets HEADERS: flags for what Debian's libopenmpi-dev lacks, and where it has pmix.h (see configure).
mpi_headers() {
    local include
    include=$(mpi_path incdir)
    HEADERS=(-idirafter "${BASH_SOURCE[0]%/*}/../../mca-osc-cached/headers" -idirafter "${include%/*/*}/pmix2/include")
}

# Sets COMPONENT_ENV, for components in FOLDER[:FOLDER] too. The value replaces the default path, so the default is named;
# 4.1 (all components are DSOs) would not even find its launcher without it. PMIx reads the same variable and must keep
# its own.
mpi_component_path() {
    local default pmix
    default=$(mpi_path pkglibdir)
    COMPONENT_ENV=("OMPI_MCA_mca_base_component_path=$1:$default")
    if [[ $MPI_SERIES != 4.* ]]; then
        pmix=${default%/*/*/*}/pmix2/lib/pmix # Debian
        [[ -d $pmix ]] || pmix=${default%/*}/pmix
        COMPONENT_ENV+=("PMIX_MCA_mca_base_component_path=$pmix")
    fi
}

# Sets COMPONENT_ENV to what makes mpirun look into the default directories, those of the user whose home is HOME too: nothing,
# except with Debian 13's PMIx, which hides them (see configure).
mpi_default_folders() {
    local home=$1 default
    default=$(mpi_path pkglibdir)
    COMPONENT_ENV=()
    if [[ $MPI_SERIES == 5.0 ]] &&
        grep -q '^ *mca_base_component_path' "${default%/*/*/*}/pmix2/share/pmix-mca-params.conf" 2>/dev/null; then
        [[ ! -d $home/.openmpi/components ]] || default=$home/.openmpi/components
        mpi_component_path "$default"
    fi
}

# The emulated network in the place of osc/ucx: adds to SWITCHES and SWITCH_ENV. Fails where it cannot be built, which it
# has then said.
mpi_emulate() {
    local what=$1 preset=$2
    if [[ -z $MPI_NETEM ]]; then
        MPI_NETEM=$("${BASH_SOURCE[0]%/*}/../../bench/net/build" --mpi="$MPI_WHERE") || return 1
    fi
    mpi_component_path "$MPI_NETEM${MPI_COMPONENTS:+:$MPI_COMPONENTS}"
    SWITCH_ENV+=("${COMPONENT_ENV[@]}" "UCX_TLS=posix,self")
    SWITCHES+=(--mca osc_netem_preset "$preset")
    case +$what+ in
    *+osc:ucx+*) SWITCHES+=(--mca osc netem) ;;
    *+osc:cached+*) SWITCHES+=(--mca osc cached --mca osc_cached_inner netem) ;;
    *) mpi_die "the emulated network $preset is for osc:ucx and osc:cached, not for $what" ;;
    esac
}

# Lines that a stock Open MPI prints by itself, as an extended regular expression; empty: none. Never widen it to
# hide a message of ours.
mpi_known_noise() {
    # UCX over TCP: processes close their endpoints in MPI_Finalize one after the other, and the slower ones find the
    # connection gone. Seen with plain osc/ucx of 4.1.4 and 5.0.7 (UCX 1.13.1; 1.18 has other words), with more than two
    # processes in every second run; after the program's last call, harmless.
    if [[ $1 == tcp || $1 == nodes ]]; then
        echo -n 'UCX  (ERROR|WARN)  ?(req 0x[0-9a-f]+: error during flush|disconnect failed): (Endpoint timeout|Connection reset by remote peer)'
    fi
    # The launchers of 4.1 and 5.0 put each remote shell into a process group of its own, which is too late when that has run its
    # command already.
    [[ $1 != nodes ]] || echo -n '|plm:[rs]sh: Warning: setpgid\([0-9,]+\) failed in parent with errno=Permission denied'
    # osc/ucx of 5.0, for each window that it refuses, in two lines.
    [[ $1 != nodes || ${MPI_INNER:-} != auto ]] || echo -n '|OSC UCX component priority set inside component query failed|^ $'
}

# The components that osc:cached wraps, for --help.
mpi_inner_help() {
    cat <<'EOF'
  --inner=LIST            the components that osc:cached wraps and is compared with: ucx rdma sm+rdma pt2pt auto, one after
                          the other (default ucx). sm+rdma: sm, and rdma for the windows that sm refuses; auto: what
                          Open MPI chooses
EOF
}

mpi_inners() {
    local inner name text
    for inner in ${1//,/ }; do
        for name in ${inner//+/ }; do
            [[ $name == auto ]] || mpi_has osc "$name" || mpi_die "Open MPI $MPI_VERSION knows no osc:$name (--inner=$inner)"
        done
        [[ $inner == auto ]] || continue
        text=$(env "${MPI_ENV[@]}" "$MPI_INFO" --all --parsable) ||
            mpi_die "ompi_info of Open MPI $MPI_VERSION fails"
        # What Open MPI chooses: osc/ucx, unless its parameter file says no (Debian), and osc/sm before it within a node. Between
        # nodes osc/ucx of 5.0 is not told that it may do without RDMA (mpi_switches).
        MPI_AUTO=ucx
        [[ -z ${LOCALITY_NODES:-} || $MPI_SERIES == 4.* || -n $(ls -A /sys/class/infiniband 2>/dev/null) ]] || MPI_AUTO=rdma
        [[ $'\n'$text != *$'\n'mca:osc:base:param:osc:value:^*([^$'\n'])ucx* ]] || MPI_AUTO=rdma
        [[ -n ${LOCALITY_NODES:-} ]] || MPI_AUTO=sm+$MPI_AUTO
    done
}

mpi_inner_refuses() {
    case $MPI_SERIES,${1/auto/${MPI_AUTO#sm+}},$2 in
    *,*sm*,tcp | *,*sm*,nodes) echo "osc/sm is for processes that share memory" ;;
    4.*,*rdma*,tcp | 4.*,*rdma*,nodes) echo "osc/rdma of Open MPI 4.1 does not run over TCP" ;;
    esac
}

# Adds the switches that name what osc:cached wraps, or, for osc:inner, the same component alone.
mpi_inner_switches() {
    local inner=${MPI_INNER:-ucx} name
    SWITCH_ENV+=("LOCALITY_TEST_INNER=${inner/auto/$MPI_AUTO}")
    [[ -z ${LOCALITY_NODES:-} ]] || SWITCHES+=(-x LOCALITY_TEST_INNER) # elsewhere processes inherit it
    if [[ $1 == osc:cached ]]; then
        SWITCHES+=(--mca osc cached --mca osc_cached_inner "${inner//+/,}")
        return
    fi
    SWITCH_ENV+=(LOCALITY_TEST_PLAIN=1)
    if [[ $inner != auto ]]; then
        SWITCHES+=(--mca osc "${inner//+/,}")
        # Open MPI goes by priority, osc_cached_inner by the order.
        for name in ${inner//+/ }; do
            [[ $name == "${inner%%+*}" ]] || SWITCHES+=(--mca "osc_${name}_priority" 1)
        done
    fi
}

# Does osc/ucx run with several threads here (see mpi_setup)?
mpi_ucx_has_threads() {
    [[ " ${MPI_ENV[*]} " != *' LOCALITY_TEST_UCX_ASSERTS=1 '* ]]
}

# mpi_sanitized: adds to SWITCH_ENV what a sanitizer needs: nobody else changes the functions that it intercepts, and no
# address that it uses itself is asked for.
mpi_sanitized() {
    SWITCH_ENV+=(OMPI_MCA_memory=^patcher UCX_MEM_MMAP_HOOK_MODE=none PMIX_MCA_gds=hash)
}

# Have windows of several nodes a helper by default?
mpi_nodes_have_helpers() {
    [[ -n ${LOCALITY_NODES:-} && -z $(ls -A /sys/class/infiniband /sys/class/cxi 2>/dev/null) ]]
}

mpi_helper_requests() {
    local helper='^((\[[^]]*\] )?osc/cached: helper of rank| *helper_[a-z_]+ +[0-9])' err=$1/stderr
    grep -aE "$helper" "$err" |
        awk '{ for (i = 1; i < NF; i++) if ($i ~ /_requests$/) n += $(i + 1) } END { print n + 0 }'
    grep -avE "$helper" "$err" >"$err.rest"
    mv "$err.rest" "$err"
}

# Is component "osc cached" known to this Open MPI?
mpi_has() {
    local text
    text=$(env "${MPI_ENV[@]}" "$MPI_INFO" --parsable 2>/dev/null) || return 1
    [[ $'\n'$text == *$'\n'"mca:$1:$2:"* ]]
}

# What ompi_info says of FRAMEWORK COMPONENT, one fact per line; fails when it does. Not to be piped: that hides a crash.
mpi_info() {
    env "${MPI_ENV[@]}" "$MPI_INFO" --param "$1" "$2" --level 9 --parsable
}

# Ranks in turn: also two ranks are on two nodes.
mpi_node_switches() {
    local node slots hosts='' names
    read -r -a names <<<"$LOCALITY_NODES"
    slots=$((($1 + ${#names[@]} - 1) / ${#names[@]}))
    for node in "${names[@]}"; do
        hosts+=${hosts:+,}$node:$slots
    done
    SWITCHES+=(--host "$hosts")
    if [[ $MPI_SERIES == 4.* ]]; then
        SWITCHES+=(--mca plm_rsh_agent "$mpi_nodes/rsh" --map-by node --oversubscribe)
    else
        SWITCHES+=(--prtemca plm_ssh_agent "$mpi_nodes/rsh" --map-by node:OVERSUBSCRIBE)
    fi
    [[ $MPI_WHERE == system ]] || SWITCHES+=(--prefix "$MPI_WHERE")
}

# WHAT: osc:NAME, osc:inner, pml:NAME, or both joined by "+"; "none": only what the machine needs.
mpi_switches() {
    local what=$1 transport=$2 ranks=$3 threads=${4:-1} part pml=${LOCALITY_PML:-ob1} btl
    SWITCHES=(-np "$ranks" --bind-to none)
    SWITCH_ENV=()
    # Always: a core with two hardware threads is two processors to nproc and one slot to Open MPI.
    if [[ -n ${LOCALITY_NODES:-} ]]; then
        mpi_node_switches "$ranks"
    elif [[ $MPI_SERIES == 4.* ]]; then
        SWITCHES+=(--oversubscribe)
    else
        SWITCHES+=(--map-by :OVERSUBSCRIBE)
    fi
    if ((ranks * threads >= $(nproc))); then # somebody else uses the machine too
        SWITCHES+=(--mca mpi_yield_when_idle 1)
    fi
    # No RDMA device: osc/ucx of 5.0 refuses to work over shared memory and TCP unless told. Between nodes "auto" is what users
    # have who tell it nothing.
    if [[ -z $(ls -A /sys/class/infiniband 2>/dev/null) && ( -z ${LOCALITY_NODES:-} || ${MPI_INNER:-} != auto ) ]]; then
        SWITCHES+=(--mca opal_common_ucx_tls any --mca opal_common_ucx_devices any)
    fi
    for part in ${what//+/ }; do
        case $part in
        osc:*)
            [[ $transport != @(aries|hdr) ]] || continue # see mpi_emulate
            if [[ $part == osc:@(cached|inner) ]]; then
                mpi_inner_switches "$part"
            else
                SWITCHES+=(--mca osc "${part#osc:}")
            fi
            ;;
        pml:*) pml=${part#pml:} ;;
        none) ;;
        *) mpi_die "unknown --what=$part" ;;
        esac
    done
    btl=sm
    [[ $MPI_SERIES != 4.* ]] || btl=vader
    # posix, not sm: System V segments of a process that crashed or was killed stay, until the machine has none left.
    case $transport in
    shm) SWITCH_ENV+=("UCX_TLS=posix,self") ;;
    tcp) SWITCH_ENV+=("UCX_TLS=tcp,self") btl=tcp ;;
    nodes) SWITCH_ENV+=("UCX_TLS=posix,tcp,self") btl+=,tcp ;;
    aries | hdr) mpi_emulate "$what" "$transport" || return 1 ;;
    esac
    # btl/tcp of Debian 13 and forky finds no way from this machine's address to itself.
    [[ $transport != tcp || $MPI_WHERE != system || $MPI_SERIES == 4.* ]] || SWITCHES+=(--mca btl_tcp_if_include lo)
    SWITCHES+=(--mca pml "$pml" --mca btl "$btl,self")
}

# userfaultfd is for this user (CAP_SYS_PTRACE is bit 19), and nothing writes to memory past the page tables. Small windows have
# whole pages only where these are small.
mpi_stores_are_noticed() {
    [[ $(getconf PAGESIZE) == 4096 ]] || return 1
    [[ -z $(ls -A /sys/class/infiniband /sys/class/cxi 2>/dev/null) && ! -e /dev/xpmem && ! -e /dev/knem ]] &&
        { [[ -w /dev/userfaultfd ]] || grep -qsx 1 /proc/sys/vm/unprivileged_userfaultfd ||
            (((0x$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status) >> 19) & 1)); }
}

# For benchmarks: processes that have a processor each need not yield while they wait, and a baseline that yields is a
# slow one.
mpi_no_yield() {
    local i
    for i in "${!SWITCHES[@]}"; do
        [[ ${SWITCHES[i]} != mpi_yield_when_idle ]] || SWITCHES[i + 1]=0
    done
}

# Processes of a session; mpirun puts each rank into a process group of its own, but all stay in its session.
mpi_session() {
    local file line
    for file in /proc/[0-9]*/stat; do
        { read -r line <"$file"; } 2>/dev/null || continue
        # shellcheck disable=SC2086
        set -- "$1" ${line##*) }
        [[ $5 != "$1" || $2 == Z ]] || { file=${file#/proc/} && echo "${file%/stat}"; }
    done
}

mpi_end_session() {
    local i pids
    kill -TERM "$1" 2>/dev/null # mpirun stops its ranks and removes its files
    for ((i = 0; i < 50; i++)); do
        pids=$(mpi_session "$1")
        [[ -n $pids ]] || return 0
        sleep 0.1
    done
    # shellcheck disable=SC2086
    kill -KILL $pids 2>/dev/null
    sleep 0.2
}

mpi_stacks() { # PROGRAM TMPDIR
    local pid
    for pid in /proc/[0-9]*; do # those on other nodes are of other sessions
        pid=${pid#/proc/}
        [[ $(readlink "/proc/$pid/exe") == "$1" ]] || continue
        tr '\0' '\n' <"/proc/$pid/environ" | grep -qxF "TMPDIR=$2" || continue # of another run
        printf -- '-- process %s (rank %s)\n' "$pid" \
            "$(tr '\0' '\n' <"/proc/$pid/environ" | sed -n 's/^OMPI_COMM_WORLD_RANK=//p')"
        if type -P gdb >/dev/null; then
            timeout -k 1 30 gdb -nx -batch -iex 'set debuginfod enabled off' -p "$pid" \
                -ex 'thread apply all bt 24' 2>/dev/null | grep -E '^(Thread|#)'
        elif type -P eu-stack >/dev/null; then
            timeout -k 1 30 eu-stack -p "$pid" 2>/dev/null
        else
            echo "no gdb and no eu-stack here: $(cat "/proc/$pid/wchan" 2>/dev/null)"
        fi
    done
}

# mpi_stumbled DIR COMMAND...: prints what Open MPI itself did wrong in a run that failed; nothing: it may have been us.
# While a virtual machine stands still, Open MPI cannot always be started, and says so before it opens any component; or a process
# that has finalized does not wait for mpirun to notice (PMIx gives it some seconds), and mpirun takes its end, with exit
# code 0, for an accident. And in 4.1 a thread now and then goes on in MPI_Finalize while what it executes is unloaded (without our
# components in 2 of 800 runs): a segmentation fault, without a stack, in a job that has no thread of ours. Its
# MPI_Comm_spawn now and then waits for ever for what mpirun is to tell (without our components in 11 of about 90 runs with 8 each).
mpi_stumbled() {
    local dir=$1
    shift
    if [[ -e $dir/stacks ]]; then # it did not end
        [[ $MPI_SERIES != 4.1 ]] || ! grep -q 'in PMIx_Lookup' "$dir/stacks" || ! grep -q 'in PMPI_Comm_spawn' "$dir/stacks" ||
            echo "MPI_Comm_spawn waits for mpirun"
    elif grep -aoE -m 1 'ompi_rte_init failed|exiting improperly' "$dir/stderr" 2>/dev/null; then
        return
    elif [[ $MPI_SERIES == 4.1 && -z ${LOCALITY_NODES:-} && "${SWITCH_ENV[*]} $*" != *@(helper|llamatch|coherent)* ]] &&
        mpi_died_in_thread "$dir/stderr"; then
        echo "a thread of Open MPI after its end"
    fi
}

# mpi_died_in_thread FILE: a segmentation fault without a stack; where UCX tells of it, not in the thread of main()
mpi_died_in_thread() {
    local line
    ! grep -qsaE '\] \[ *[0-9]+\] |==== backtrace' "$1" || return 1
    ! grep -qsa 'Failing at address' "$1" || return 0
    line=$(grep -sa -m 1 'Caught signal 11 (Segmentation fault: address not mapped' "$1")
    [[ $line =~ :([0-9]+)\ *:[0-9]+:([0-9]+)\] && ${BASH_REMATCH[1]} != "${BASH_REMATCH[2]}" ]]
}

# Once more then, three times at most, which the file "again" beside the output tells.
mpi_launch() {
    local rc try stumbled
    for try in 1 2 3; do
        rc=0
        rm -f "$2/stacks"
        mpi_launch_once "$@" || rc=$?
        ((rc != 0 && try < 3)) && stumbled=$(mpi_stumbled "${@:2}") && [[ -n $stumbled ]] || return "$rc"
        printf '    (%s is started again: %s)\n' "${3##*/}" "$stumbled" >&2
        mv "$2/stderr" "$2/again"
    done
}

# mpi_stolen: sets $stolen to the seconds that others had the processors of this virtual machine, on average.
mpi_stolen() {
    local -a cpu
    read -ra cpu </proc/stat
    stolen=$((${cpu[8]:-0} / $(nproc) / 100)) # the kernel counts in hundredths of a second
}

mpi_launch_once() {
    local limit=$1 dir=$2 program=$3 temporary=$2/tmp pid rc=0 now=$SECONDS end stolen stolen_before
    shift 3
    mkdir -p "$dir/tmp"
    [[ -z ${LOCALITY_NODES:-} ]] || temporary=/tmp # each node's own
    # A background job of a script leads no process group, so setsid needs no fork: its pid is the session's id.
    env "${MPI_ENV[@]}" "${SWITCH_ENV[@]}" TMPDIR="$temporary" setsid "$@" \
        </dev/null >"$dir/stdout" 2>"$dir/stderr" &
    pid=$!
    # shellcheck disable=SC2064
    trap "trap '' INT TERM; mpi_end_session $pid; exit 130" INT TERM
    mpi_stolen
    stolen_before=$stolen end=$((SECONDS + limit * ${LOCALITY_SLOW:-1}))
    while kill -0 "$pid" 2>/dev/null; do
        # A virtual machine that was stopped for a while: nobody stole that time, the clock just jumps.
        ((SECONDS - now <= 5)) || end=$((end + SECONDS - now))
        now=$SECONDS
        if ((SECONDS >= end)) && mpi_stolen && ((SECONDS >= end + stolen - stolen_before)); then
            mpi_stacks "$program" "$temporary" >"$dir/stacks" 2>&1
            mpi_end_session "$pid"
            rc=124
            break
        fi
        sleep 0.04
    done
    if ((rc == 0)); then
        wait "$pid" || rc=$?
        [[ -z $(mpi_session "$pid") ]] || mpi_end_session "$pid"
    else
        wait "$pid" 2>/dev/null
    fi
    trap - INT TERM
    rm -rf "$dir/tmp"
    return "$rc"
}
