#!/bin/sh
#
# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# Makes pml/llamatch's sources from the pml/ob1 of an Open MPI source tree: renames ob1 to
# llamatch in file names and contents, applies the fixes of ob1 that the tree does not have (those
# of ../ompi-patches/<series> and patches/<series>-*.patch, as far as the series file beside them says
# that this release needs them, renamed in the same way), then
# patches/<series>.patch, all without fuzz. Inside an Open MPI tree ../ompi-patches is not there:
# such a tree is patched already. Writes:
#
#   OUTPUT_DIR/pml_llamatch*.[ch]             the component, with our matching engine behind it
#   OUTPUT_DIR/help-mpi-pml-llamatch.txt      our help topics and ob1's
#   OUTPUT_DIR/include/                       headers that an installed Open MPI lacks
#   OUTPUT_DIR/generated.stamp, .list         what it was made from, and what was made
#
# With --clone only a second ob1 by the name of obclone is made, with ob1's own lists: the control of
# the benchmarks.
#
# Only files whose contents change are written, each by a rename, and nothing is written at all
# when the stamp says that the inputs are the same; an interrupted run is simply run again. The
# source tree is only read.

set -eu
LC_ALL=C
export LC_ALL

usage() {
    cat <<'END'
Usage: generate.sh [--no-patch | --clone] OMPI_SOURCE_TREE OUTPUT_DIR

  --no-patch   only rename and fix (to refresh a patch: edit a copy, diff -u the two)
  --clone      only rename, to obclone, and fix
END
}

die() {
    printf 'generate.sh: %s\n' "$*" >&2
    exit 1
}

apply=yes
name=llamatch
case "${1-}" in
-h | --help)
    usage
    exit 0
    ;;
--no-patch)
    apply=no
    shift
    ;;
--clone)
    apply=no
    name=obclone
    shift
    ;;
esac
if [ $# -ne 2 ]; then
    usage >&2
    exit 2
fi
tree=$1
out=$2
here=$(cd "$(dirname "$0")" && pwd)
NAME=$(printf '%s\n' "$name" | tr '[:lower:]' '[:upper:]')
ob1=$tree/ompi/mca/pml/ob1

if [ ! -f "$tree/VERSION" ] || [ ! -f "$ob1/pml_ob1_recvfrag.c" ]; then
    die "$tree is not an Open MPI source tree (VERSION or ompi/mca/pml/ob1 is missing)."
fi
major=$(sed -n 's/^major=//p' "$tree/VERSION")
minor=$(sed -n 's/^minor=//p' "$tree/VERSION")
release=$(sed -n 's/^release=//p' "$tree/VERSION")
series=$major.$minor
patch=$here/patches/$series.patch
if [ ! -f "$patch" ] && [ "$apply" = yes ]; then
    known=
    for file in "$here"/patches/?.?.patch; do
        file=${file##*/}
        known="$known ${file%.patch}"
    done
    die "$tree is Open MPI $series.$release, but there is no patch for series $series (known:$known)."
fi

fixes=
for file in "$here/../ompi-patches/$series"/*-pml-ob1-*.patch "$here/patches/$series"-*.patch; do
    [ -f "$file" ] || continue
    before=$(sed -n "s/^${file##*/} # before $series\\.//p" "${file%/*}/series" 2>/dev/null || :)
    [ "$release" -lt "${before:-1000}" ] || continue
    fixes="$fixes${fixes:+
}$file"
done

# Headers that neither --with-devel-headers nor Debian's libopenmpi-dev install, as
# "where in the tree:where below include".
headers='ompi/peruse/peruse.h:ompi/peruse/peruse.h
opal/mca/timer/linux/timer_linux.h:opal/mca/timer/linux/timer_linux.h'
if [ "$series" != 4.1 ]; then
    headers="$headers
opal/include/opal/prefetch.h:opal/include/opal/prefetch.h
opal/mca/threads/pthreads/threads_pthreads.h:opal/mca/threads/pthreads/threads_pthreads.h
opal/mca/threads/pthreads/threads_pthreads_mutex.h:opal/mca/threads/pthreads/threads_pthreads_mutex.h
opal/mca/threads/pthreads/threads_pthreads_threads.h:opal/mca/threads/pthreads/threads_pthreads_threads.h"
fi

# The stamp holds a checksum of every input; equal stamps mean equal outputs.
inputs() {
    printf 'Open MPI %s.%s name=%s apply=%s\n' "$series" "$release" "$name" "$apply"
    for file in "$ob1"/pml_ob1*.[ch] "$ob1"/help-mpi-pml-ob1.txt "$here/generate.sh" \
        "$here/sources.am" "$here/help-mpi-pml-llamatch.txt"; do
        printf '%s ' "${file##*/}"
        cksum <"$file"
    done
    printf '%s\n' "$fixes" | while read -r file; do
        [ -z "$file" ] || cksum <"$file"
    done
    if [ "$apply" = yes ]; then
        printf 'patch '
        cksum <"$patch"
    fi
    printf '%s\n' "$headers" | while IFS=: read -r from to; do
        [ -f "$tree/$from" ] || die "$tree/$from is missing: Open MPI changed, adapt generate.sh."
        printf '%s ' "$to"
        cksum <"$tree/$from"
    done
}

# Is everything there that the last run made?
all_there() {
    while read -r file; do
        [ -f "$out/$file" ] || return 1
    done <"$out/generated.list"
}

stamp=$out/generated.stamp
wanted=$(inputs)
if [ -f "$stamp" ] && [ -f "$out/generated.list" ] && [ "$wanted" = "$(cat "$stamp")" ] && all_there; then
    exit 0
fi
command -v patch >/dev/null || die "the program patch is needed (Debian: apt-get install patch)."

mkdir -p "$out"
# Beside the output, so that a rename is enough to publish a file.
work=$out/.generate.$$
trap 'rm -rf "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
new=$work/new
rm -rf "$work"
mkdir "$work" "$new"

# rename_text FILE: includes by full path become plain ones, as the sources no longer live in the
# tree. The last two names are global without a prefix in 4.1, and would clash with ob1's in a
# static build.
rename_text() {
    sed -e 's|"ompi/mca/pml/ob1/|"|' \
        -e "s/ob1/$name/g" -e "s/OB1/$NAME/g" \
        -e "s/^append_frag_to_ordered_list/ompi_pml_${name}_&/" \
        -e "s/\\([^_a-z]\\)append_frag_to_ordered_list/\\1ompi_pml_${name}_append_frag_to_ordered_list/g" \
        -e "s/^check_cantmatch_for_match/ompi_pml_${name}_&/" \
        -e "s/\\([^_a-z]\\)check_cantmatch_for_match/\\1ompi_pml_${name}_check_cantmatch_for_match/g" \
        "$1"
}

# run_patch FOLDER [-R]: the patch on stdin
run_patch() {
    (cd "$1" && shift && patch -p1 --fuzz=0 --no-backup-if-mismatch --force --posix "$@") >"$work/patch.log" 2>&1
}

# 1. Rename. The clone of 5.0 also needs the header that says that there is no custom matching.
mkdir "$new/custommatch"
for file in "$ob1"/pml_ob1*.[ch] "$ob1"/custommatch/pml_ob1_custom_match.h; do
    [ -f "$file" ] || continue
    renamed=$(printf '%s\n' "${file#"$ob1"/}" | sed "s/ob1/$name/")
    rename_text "$file" >"$new/$renamed"
done
[ "$name" != llamatch ] || rm -rf "$new/custommatch"

# 2. Are these the files we know? The CUDA file of 4.1 is not built (Debian has no CUDA there).
list=llamatch_generated_$major$minor
expected=$(sed -n -e "/^$list *=/,/[^\\\\]\$/s/.*\/\([a-z_]*\.c\).*/\1/p" "$here/sources.am" | sort)
found=$(for file in "$new/pml_$name"*.c; do printf '%s\n' "${file##*/}"; done |
    sed '/_cuda\.c$/d' | sort)
if [ "$expected" != "$found" ] && [ "$apply" = yes ]; then
    die "pml/ob1 of Open MPI $series.$release has other files than expected; compare ompi/mca/pml/ob1 with $list in sources.am."
fi

# 3. Fix ob1, unless the tree has all fixes: then they come off a copy, the last one first.
mkdir "$work/fixes"
printf '%s\n' "$fixes" | while read -r file; do
    [ -z "$file" ] || rename_text "$file" | sed "s|\([ab]\)/ompi/mca/pml/$name/|\1/|g" >"$work/fixes/${file##*/}"
done
cp -R "$new" "$work/unfixed"
missing=
for file in $(cd "$work/fixes" && printf '%s\n' * | sort -r); do
    [ -f "$work/fixes/$file" ] || continue
    if run_patch "$work/unfixed" -R --dry-run <"$work/fixes/$file"; then
        run_patch "$work/unfixed" -R <"$work/fixes/$file"
    else
        missing="$file $missing"
    fi
done
for file in $missing; do
    run_patch "$new" <"$work/fixes/$file" || {
        cat "$work/patch.log" >&2
        die "$file does not apply to pml/ob1 of Open MPI $series.$release, and it is not there either."
    }
done

# 4. Put our engine in.
if [ "$apply" = yes ] && ! run_patch "$new" <"$patch"; then
    cat "$work/patch.log" >&2
    die "patches/$series.patch does not apply to pml/ob1 of Open MPI $series.$release: ob1 changed, refresh the patch, or the fixes of ompi-patches/$series are missing."
fi

# 5. Help topics: ours, then ob1's (one file, because both go by the component's name).
{
    [ "$name" != llamatch ] || cat "$here/help-mpi-pml-llamatch.txt"
    printf '#\n# Topics of pml/ob1, from which this component is made:\n#\n'
    sed -e "s/ob1/$name/g" -e "s/OB1/$NAME/g" "$ob1/help-mpi-pml-ob1.txt"
} >"$new/help-mpi-pml-$name.txt"

# 6. Headers.
printf '%s\n' "$headers" | while IFS=: read -r from to; do
    mkdir -p "$new/include/${to%/*}"
    cat "$tree/$from" >"$new/include/$to"
done

# 7. Publish what changed, remove what is no longer made, and the stamp last.
(cd "$new" && find . -type f) | sort >"$work/list"
while read -r file; do
    file=${file#./}
    if [ ! -f "$out/$file" ] || ! cmp -s "$new/$file" "$out/$file"; then
        case $file in
        */*) mkdir -p "$out/${file%/*}" ;;
        esac
        mv -f "$new/$file" "$out/$file"
    fi
done <"$work/list"
for old in "$out/pml_$name"*.[ch]; do
    if [ -f "$old" ] && ! grep -qxF "./${old##*/}" "$work/list"; then
        rm -f "$old"
    fi
done
mv -f "$work/list" "$out/generated.list"
printf '%s\n' "$wanted" >"$work/stamp"
mv -f "$work/stamp" "$stamp"
