# shellcheck shell=bash
# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause

# replace_once FILE OLD NEW: OLD, which may have several lines, must be in FILE once, and becomes NEW
replace_once() {
    OLD=$2 NEW=$3 awk '
        { text = text $0 "\n" }
        END {
            old = ENVIRON["OLD"]
            at = index(text, old)
            rest = substr(text, at + length(old))
            if (at == 0 || index(rest, old) > 0)
                exit 1
            printf "%s%s%s", substr(text, 1, at - 1), ENVIRON["NEW"], rest
        }' "$1" >"$1.replaced" || { rm -f "$1.replaced" && return 1; }
    mv "$1.replaced" "$1"
}
