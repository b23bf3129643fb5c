# shellcheck shell=bash
# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# Functions shared by the commands in contrib/.  To be sourced; safe under
# `set -euo pipefail`.  Everything for humans goes to stderr, so that stdout
# stays free for what a command prints for other programs.

# Numbers have a point, in whatever language messages are.
[ -z "${LC_ALL-}" ] || { LANG=$LC_ALL && unset LC_ALL LC_MESSAGES LC_COLLATE LC_CTYPE LC_TIME LANGUAGE; }
export LANG LC_NUMERIC=C

# --- Talking -----------------------------------------------------------------

say()
{
    printf '%s\n' "$*" >&2
}

# die SENTENCE: the one clear sentence, then a failing exit.
die()
{
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# misused WHY: the command line is wrong. Of a command that has a function usage.
misused()
{
    usage >&2
    printf '\n%s: %s\n' "${0##*/}" "$*" >&2
    exit 2
}

# elapsed SECONDS -> 1:05
elapsed()
{
    printf '%d:%02d' $(($1 / 60)) $(($1 % 60))
}

# run_job LOG COMMAND...: with its output in LOG, in a process group of its own,
# so that an interrupt can end all of it at once (perl and make would wait for
# their children).
job=
job_can_be_ended=yes
run_job()
{
    local log=$1 rc=0
    shift
    set -m
    "$@" >"$log" 2>&1 </dev/null &
    job=$!
    set +m
    wait "$job" || rc=$?
    job=
    return "$rc"
}

# on_interrupt SENTENCE: what is said when a signal ends this script, after the
# running job was ended.
on_interrupt()
{
    interrupt_text=$1
    trap interrupted INT TERM HUP
}

interrupted()
{
    trap '' INT TERM HUP
    if [ -n "$job" ]; then
        if [ "$job_can_be_ended" = yes ]; then
            kill -TERM -- "-$job" 2>/dev/null || :
        else
            say ""
            say "Waiting until the packages are installed ..."
        fi
        wait "$job" 2>/dev/null || :
    fi
    say ""
    say "$interrupt_text"
    exit 130
}

on_interrupt "Interrupted."

# phase NAME LOG COMMAND...: runs COMMAND with its output in LOG.  A failure
# names the cause when the log shows a well-known one, and always the log.
phase()
{
    local name=$1 log=$2 start=$SECONDS rc=0
    shift 2
    mkdir -p "${log%/*}" 2>/dev/null || die "cannot write to ${log%/*}: is the disk full?"
    say "==> $name (log: $log)"
    run_job "$log" "$@" || rc=$?
    phase_end "$name" "$log" "$start" "$rc"
}

# phase_end NAME LOG START RC: the second half of phase.
phase_end()
{
    local name=$1 log=$2 start=$3 rc=$4
    if [ "$rc" -eq 0 ]; then
        say "    $name: done in $(elapsed $((SECONDS - start)))"
        return 0
    fi
    if grep -q 'No space left on device\|Disk quota exceeded' "$log" 2>/dev/null; then
        die "$name failed because the disk is full; free some space and run this again (log: $log)."
    fi
    { grep -E -i '(^|[^a-z])(error|fatal)[: ]|\*\*\*' "$log" 2>/dev/null || tail -n 5 "$log"; } |
        head -n 5 | sed 's/^/    | /' >&2
    die "$name failed (exit code $rc); see the log: $log"
}

# --- Folders and locks ---------------------------------------------------------

cache_root()
{
    printf '%s\n' "${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/ompi-locality"
}

# need_space DIR MEGABYTES
need_space()
{
    local free
    mkdir -p "$1" 2>/dev/null || die "cannot create the directory $1."
    free=$(df -Pm "$1" | awk 'NR == 2 { print $4 }')
    [ "${free:-$2}" -ge "$2" ] ||
        die "not enough disk space in $1: $2 MB are needed, $free MB are free."
}

# take_lock FILE: until this process ends.  Its children inherit the lock, so a
# build that survives the death of this script still keeps the others away.
take_lock()
{
    if ! { mkdir -p "${1%/*}" && : >>"$1"; } 2>/dev/null; then
        die "cannot write $1: is the disk full, or the directory not yours?"
    fi
    exec 9>"$1"
    if ! flock -n 9; then
        say "Waiting for another run that holds $1 ..."
        flock 9 || die "cannot lock $1."
    fi
}

# with_lock FILE COMMAND...
with_lock()
{
    local file=$1
    shift
    (
        take_lock "$file"
        "$@"
    )
}

# --- Packages ------------------------------------------------------------------

missing_packages()
{
    local p
    for p in "$@"; do
        # maybe of several architectures
        [[ $(dpkg-query -W -f '${db:Status-Status} ' "$p" 2>/dev/null) =~ (^|\ )installed\  ]] ||
            printf '%s\n' "$p"
    done
}

# need_packages PACKAGE...: installs what is missing when that is possible
# without asking, else prints the command and changes nothing.
need_packages()
{
    local -a missing become=() env=(env DEBIAN_FRONTEND=noninteractive)
    local log package
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        say "No dpkg and apt here: assuming that these are installed: $*"
        return 0
    fi
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
            die "packages are missing, install them with: sudo apt-get install ${missing[*]}"
        fi
        become=(sudo -n)
    fi
    log=$(cache_root)/logs/packages.log
    phase "Refreshing the package lists" "$log" "${become[@]}" "${env[@]}" apt-get -q update
    for package in "${missing[@]}"; do
        apt-cache show "$package" >/dev/null 2>&1 ||
            die "the package $package is not in the archives of this machine's apt configuration."
    done
    phase "Fetching packages" "$log" \
        "${become[@]}" "${env[@]}" apt-get -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 --download-only install "${missing[@]}"
    # another installation may be under way; packages are not left half installed
    job_can_be_ended=no
    phase "Installing ${missing[*]}" "$log" \
        "${become[@]}" "${env[@]}" apt-get -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 install "${missing[@]}"
    job_can_be_ended=yes
}

# --- Source packages -----------------------------------------------------------

# verify_sha256 FILE SHA256
verify_sha256()
{
    local sum
    sum=$(sha256sum -- "$1") || return 1
    [ "${sum%% *}" = "$2" ]
}

# apt_mirror: "[options] URI" of the first archive of this machine that carries
# the running release itself (not its security or update suites), read from
# both formats of apt's configuration.
apt_mirror()
{
    local etc=${APT_ETC:-/etc/apt} release
    # shellcheck source=/dev/null
    release=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
    {
        { cat "$etc"/sources.list.d/*.sources 2>/dev/null || :; } |
            awk -v release="$release" '
                function flush_stanza() {
                    if (uri != "" && index(" " suites " ", " " release " ") && enabled)
                        print "[" opts " ]", uri
                    uri = suites = opts = ""; enabled = 1
                }
                BEGIN { enabled = 1 }
                /^[ \t]*#/ { next }
                /^[ \t]*$/ { flush_stanza(); next }
                tolower($1) == "uris:" { uri = $2 }
                tolower($1) == "suites:" { $1 = ""; suites = $0 }
                tolower($1) == "enabled:" && tolower($2) == "no" { enabled = 0 }
                tolower($1) == "signed-by:" && $2 ~ /^\// { opts = opts " signed-by=" $2 }
                tolower($1) == "trusted:" { opts = opts " trusted=" $2 }
                END { flush_stanza() }'
        { cat "$etc"/sources.list "$etc"/sources.list.d/*.list 2>/dev/null || :; } |
            awk -v release="$release" '
                $1 == "deb" || $1 == "deb-src" {
                    opts = ""
                    if (match($0, /\[[^]]*\]/)) {
                        n = split(substr($0, RSTART + 1, RLENGTH - 2), word, " ")
                        for (i = 1; i <= n; i++)
                            if (word[i] ~ /^(signed-by|trusted)=/) opts = opts " " word[i]
                        sub(/\[[^]]*\]/, "")
                    }
                    if ($3 == release) print "[" opts " ]", $2
                }'
    } | sed -n 1p
}

# private_apt DIR COMMAND ARGS...: apt with its own lists, in DIR.
private_apt()
{
    local dir=$1 command=$2
    shift 2
    "$command" -q -o Dir::Etc::sourcelist="$dir/list" -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::State::lists="$dir/lists" -o Dir::Cache="$dir/cache" \
        -o APT::Sandbox::User="$(id -un)" "$@"
}

# fetch_source PACKAGE VERSION SUITE SHA256 DESTDIR: has the upstream tarball of
# a Debian source package in DESTDIR and prints its path.  VERSION is the
# upstream one.  An empty SHA256 means the one in the package's .dsc, which apt
# has verified.  Does not touch the system's apt configuration.
fetch_source()
{
    with_lock "$(cache_root)/downloads.lock" fetch_source_locked "$@"
}

fetch_source_locked()
{
    local package=$1 version=$2 suite=$3 sha=$4 dest=$5
    local what="the source of $1 $2" mirror apt log debian file distribution sections=main
    local otherwise=${fetch_hint:+; $fetch_hint} # of a command that can be given a tarball
    mkdir -p "$dest" || die "cannot create the directory $dest."
    log=$(cache_root)/logs/fetch-$package-$version.log
    for file in "$dest/${package}_$version.orig.tar".*; do
        case $file in *.asc | *.sig | *.partial | *'*') continue ;; esac
        [ -n "$sha" ] || sha=$(dsc_sha256 "$dest" "${file##*/}")
        # No checksum: it was fetched without its .dsc, with which apt compares it below.
        [ -n "$sha" ] || continue
        if verify_sha256 "$file" "$sha"; then
            printf '%s\n' "$file"
            return 0
        fi
        say "Removing $file: its checksum is wrong."
        rm -f "$file"
    done
    command -v apt-get >/dev/null || die "cannot fetch $what without apt$otherwise."
    mirror=$(apt_mirror)
    [ -n "$mirror" ] || die "cannot fetch $what: no archive found in this machine's apt configuration$otherwise."
    apt=$(cache_root)/apt/$suite
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "${log%/*}"
    # shellcheck source=/dev/null
    distribution=$(. /etc/os-release && printf '%s' "${ID:-debian}")
    [ "$distribution" != ubuntu ] || sections='main universe'
    printf 'deb-src %s %s %s\n' "$mirror" "$suite" "$sections" >"$apt/list"
    say "==> Fetching $what (${distribution^} $suite; log: $log)"
    if ! private_apt "$apt" apt-get --error-on=any update >"$log" 2>&1; then
        die "cannot fetch $what: the archive of this machine's apt configuration cannot be read or has no suite $suite (no network?)$otherwise; see the log: $log"
    fi
    debian=$(private_apt "$apt" apt-cache showsrc "$package" 2>>"$log" |
        awk -v p="$package" -v v="$version" '
            $1 == "Package:" { name = $2 }
            $1 == "Version:" { d = $2; u = d; sub(/^[0-9]+:/, "", u); sub(/-[^-]*$/, "", u)
                               if (name == p && u == v) { print d; exit } }')
    [ -n "$debian" ] || die "${distribution^} $suite does not have $package $version$otherwise."
    if ! (cd "$dest" && private_apt "$apt" apt-get --download-only --only-source ${sha:+--tar-only} \
        source "$package=$debian") >>"$log" 2>&1; then
        ! grep -q 'No space left' "$log" || die "cannot fetch $what: the disk is full."
        die "cannot fetch $what; see the log: $log"
    fi
    for file in "$dest/${package}_$version.orig.tar".*; do
        case $file in *.asc | *.sig) continue ;; esac
        [ -n "$sha" ] || sha=$(dsc_sha256 "$dest" "${file##*/}")
        if ! verify_sha256 "$file" "$sha"; then
            rm -f "$file"
            die "the checksum of ${file##*/} is wrong: expected sha256 $sha; the file was removed."
        fi
        printf '%s\n' "$file"
        return 0
    done
    die "cannot find the tarball of $package $version after the download; see the log: $log"
}

# dsc_sha256 DIR FILE: the checksum that a .dsc in DIR gives for FILE.
dsc_sha256()
{
    { cat "$1"/*.dsc 2>/dev/null || :; } | awk -v f="$2" '
        /^Checksums-Sha256:/ { on = 1; next }
        /^[^ ]/ { on = 0 }
        on && $3 == f { print $1; exit }'
}

# patches_for RELEASE SERIES: the patches of the file SERIES that RELEASE needs. What stands
# behind a patch says which one no longer does: "NAME # before 5.0.8"; quilt takes it for a comment.
patches_for()
{
    local name comment before
    while read -r name comment; do
        case $name in '' | '#'*) continue ;; esac
        before=${comment#'# before '}
        [ -n "$comment" ] && [ "$(printf '%s\n' "$before" "$1" | sort -V | head -n 1)" = "$before" ] ||
            printf '%s\n' "$name"
    done <"$2"
}

# unpack_source TARBALL: has the tarball unpacked in the cache and prints the
# directory.  All or nothing: the directory appears when it is complete.
unpack_source()
{
    local folder temporary
    folder=$(cache_root)/sources/$(basename "$1" | sed 's/\.tar\..*//')
    if [ ! -d "$folder" ]; then
        mkdir -p "${folder%/*}"
        temporary=$(mktemp -d "$folder.XXXXXX")
        if ! tar -xf "$1" -C "$temporary" --strip-components=1 --no-same-owner; then
            rm -rf "$temporary"
            die "cannot unpack $1: is the disk full, or xz missing?"
        fi
        mv -T "$temporary" "$folder" 2>/dev/null || rm -rf "$temporary"
    fi
    printf '%s\n' "$folder"
}

# foreign_packages ARCHITECTURE PACKAGE...: has the packages of another architecture, of this machine's release,
# unpacked in a directory of the cache, and prints it.  Nothing is installed.
foreign_packages()
{
    with_lock "$(cache_root)/downloads.lock" foreign_packages_locked "$@"
}

foreign_packages_locked()
{
    local architecture=$1 release mirror root apt log deb
    local -a for_other
    shift
    # shellcheck source=/dev/null
    release=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
    root=$(cache_root)/foreign/$release-$architecture
    if [ "$(cat "$root/packages" 2>/dev/null)" = "$*" ]; then
        printf '%s\n' "$root"
        return 0
    fi
    mirror=$(apt_mirror)
    [ -n "$mirror" ] || die "cannot fetch packages of $architecture: no archive found in this machine's apt configuration."
    apt=$(cache_root)/apt/$release-$architecture
    log=$(cache_root)/logs/foreign-$architecture.log
    rm -rf "$root" "$apt/cache"
    mkdir -p "$root" "$apt/lists/partial" "$apt/cache/archives/partial" "${log%/*}"
    printf 'deb %s %s main\n' "$mirror" "$release" >"$apt/list"
    : >"$apt/status"
    for_other=(-o APT::Architecture="$architecture" -o APT::Architectures="$architecture" -o Dir::State::status="$apt/status")
    say "==> Fetching $* of $architecture (log: $log)"
    if ! { private_apt "$apt" apt-get "${for_other[@]}" --error-on=any update &&
        cd "$apt/cache" && private_apt "$apt" apt-get "${for_other[@]}" download "$@"; } >"$log" 2>&1; then
        die "cannot fetch packages of $architecture (no network?); see the log: $log"
    fi
    for deb in "$apt/cache"/*.deb; do
        dpkg-deb -x "$deb" "$root" || die "cannot unpack $deb: is the disk full?"
    done
    printf '%s\n' "$*" >"$root/packages"
    printf '%s\n' "$root"
}

# --- Building and running ------------------------------------------------------

# progress_make LOG TOTAL COMMAND...: runs a silent-rules make with its output
# in LOG and shows how many of about TOTAL steps are done: a bar on a terminal,
# a line per minute otherwise.  Returns the command's exit code.
progress_make()
{
    local log=$1 total=$2 rc=0 ticker
    shift 2
    : >"$log"
    progress_ticker "$log" "$total" $$ 9>&- &
    ticker=$!
    run_job "$log" "$@" || rc=$?
    kill "$ticker" 2>/dev/null || :
    wait "$ticker" 2>/dev/null || :
    [ ! -t 2 ] || printf '\r\033[K' >&2
    return "$rc"
}

progress_ticker()
{
    local log=$1 total=$2 parent=$3 start=$SECONDS next=60 n percent bar
    while sleep 1 && kill -0 "$parent" 2>/dev/null; do
        [ -t 2 ] || [ $((SECONDS - start)) -ge "$next" ] || continue
        n=$(grep -c '^  [A-Z][A-Z]' "$log" || :)
        percent=$((n * 100 / total))
        [ "$percent" -lt 100 ] || percent=99
        if [ -t 2 ]; then
            printf -v bar '%*s' $((percent / 4)) ''
            printf '\r    [%-25s] %2d %% %s' "${bar// /#}" "$percent" "$(elapsed $((SECONDS - start)))" >&2
        else
            say "    $percent % after $(elapsed $((SECONDS - start)))"
            next=$((next + 60))
        fi
    done
}

# has_rdma: is there a network device that UCX would use by default?
has_rdma()
{
    [ -n "$(ls -A "${SYSFS:-/sys}/class/infiniband" 2>/dev/null)" ]
}

# mpi_run_env: lets mpirun work for root, and only then.
mpi_run_env()
{
    [ "$(id -u)" -eq 0 ] || return 0
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
}

# What building the components for the distribution's Open MPI takes.
# shellcheck disable=SC2034 # used by the commands that source this
dropin_packages=(gcc libc6-dev make autoconf automake libtool openmpi-bin libopenmpi-dev
    libpmix-dev libhwloc-dev libucx-dev)

# The tree these commands belong to.
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# take_work_folder NAME: has a folder of the cache for what the command NAME builds
# of the tree in $top, to this process alone until it ends, and sets $work to it.
take_work_folder()
{
    local root
    root=$(cache_root)
    work=$root/work-$1-$(printf '%s' "$top" | sha256sum | cut -c1-12)
    take_lock "$work.lock"
    mkdir -p "$work" || die "cannot create the directory $work."
    touch "$work"
    # Those of clones that nobody uses any more.
    find "$root" -maxdepth 1 -name 'work-*' -mtime +14 -exec rm -rf {} +
}

# copy_changed FROM TO: the files named on standard input. Equal ones keep their times, the others
# get the present one: that of a file that was changed during a build is older than what was built.
copy_changed()
{
    local from=$1 to=$2 file folder
    mkdir -p "$to" || return 1
    while IFS= read -r file; do
        cmp -s "$from/$file" "$to/$file" && continue
        folder=$to/$file folder=${folder%/*}
        # Renamed into place, so that no half a file is ever compiled.
        { [ -d "$folder" ] || mkdir -p "$folder"; } && cp --preserve=mode "$from/$file" "$to/.copy" &&
            mv -f "$to/.copy" "$to/$file" || return 1
    done
}

# stage_tree: a copy of the tree in $top in $work/tree, with configure made.
# Builds from there leave the tree alone, and do not mind when somebody has
# configured it in place.
stage_tree()
{
    local tree=$work/tree files
    local -a parts=(.ci .clang-format LICENSE Makefile.am NEWS README.md autogen.sh bench command
        configure.ac contrib mca-osc-cached mca-pml-llamatch ompi-patches test)
    files=$(cd "$top" && find "${parts[@]}" m4/locality*.m4 -type f ! -name '*.o' ! -name '*.lo' \
        ! -name '*.la' ! -name .dirstamp ! -path '*/.libs/*' ! -path '*/.deps/*' ! -path '*/generated/*' |
        LC_ALL=C sort)
    [ "$files" = "$(cat "$work/files" 2>/dev/null)" ] || rm -rf "$tree" "$work/files"
    mkdir -p "$tree"
    printf '%s\n' "$files" | copy_changed "$top" "$tree" ||
        die "cannot copy the tree to $tree: is the disk full?"
    printf '%s\n' "$files" >"$work/files"
    if [ ! -x "$tree/configure" ] || [ -n "$(find "$tree"/{configure.ac,Makefile.am,m4/locality*.m4} \
        "$tree"/mca-*/sources.am -newer "$tree/configure")" ]; then
        phase "Making configure" "$work/logs/autogen.log" "$tree/autogen.sh"
    fi
}

# build_dropin NAME OMPI_PREFIX [CONFIGURE_ARGUMENT...]: builds the components of
# the staged tree for an installed Open MPI, in $work/NAME, and sets $dropin to
# the directory that holds them.
build_dropin()
{
    local build=$work/$1 prefix=$2 key
    shift 2
    dropin=$build/components
    key=$(printf '%s\n' "$prefix" "${CC:-}" "${CFLAGS:-}" "$@" "$("$prefix/bin/ompi_info" --version)" |
        cat - "$work/tree/configure" | sha256sum)
    if [ "$(cat "$build/key" 2>/dev/null)" != "$key" ]; then
        rm -rf "$build"
        mkdir -p "$build/build"
        phase "Configuring the components for the Open MPI in $prefix" "$build/logs/configure.log" \
            in_folder "$build/build" "$work/tree/configure" --with-ompi="$prefix" \
            --with-component-dir="$dropin" "$@"
        printf '%s\n' "$key" >"$build/key"
    fi
    phase "Building the components for the Open MPI in $prefix" "$build/logs/make.log" \
        make -C "$build/build" -j"$(nproc)" V=0 install
}

in_folder()
{
    cd "$1" && shift && "$@"
}
