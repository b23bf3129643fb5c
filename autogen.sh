#!/bin/sh
# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# Makes ./configure. Needs autoconf, automake and libtool.
set -e
cd "$(dirname "$0")"
for tool in autoreconf automake libtoolize; do
    command -v "$tool" >/dev/null || {
        echo "autogen.sh: $tool is missing: install autoconf, automake and libtool" >&2
        exit 1
    }
done
exec autoreconf --install --force --warnings=all
