# shellcheck shell=bash
# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# Shared by the lint tests, which run in the top directory of the repository.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

skip()
{
    echo "$*"
    exit 77
}

# our_files: what git tracks or would track; in an unpacked release, all files.
our_files()
{
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files -co --exclude-standard | while IFS= read -r f; do
            if [ -f "$f" ]; then echo "$f"; fi
        done
    else
        find . -type f ! -path './.git/*' ! -name '*.o' ! -name '*.lo' ! -name Makefile.in -printf '%P\n'
    fi
}
