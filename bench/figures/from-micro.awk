# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# For contrib/bench: from what micro-benchmarks printed (round, network, series, x, then micro.h's columns) to the table
# of a figure. Their case is the series, unless the first file (lines "pattern of case: quantity", "series: quantity")
# says otherwise; if it says anything, nothing else is kept.
#
#   awk -F'\t' -v OFS='\t' -v figure=NAME -f statistics.awk -f from-micro.awk renames raw.tsv

BEGIN { print "figure", "network", "series", "x", "quantity", "unit", "median", "low", "high", "samples" }
FILENAME == ARGV[1] {
    pattern[++renames] = $1
    split($2, to, ": ")
    series[renames] = to[1]
    quantity[renames] = to[2]
    next
}
/^#/ || NF < 13 { next }
{
    name = $6
    what = $8
    for (r = 1; r <= renames && !matches(pattern[r], $6 ": " $8); ++r) {
    }
    if (r <= renames) {
        if (series[r] != "*") name = series[r]
        what = quantity[r]
    }
    if (!renames || r <= renames) print figure, $2, name, $7, what, $9, $10, $11, $12, $13
}
