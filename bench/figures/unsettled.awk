# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# For contrib/bench: the points (network, series, x) of a figure's table whose median is not sure yet: fewer than 6
# samples have no 95 % interval, and the interval shall be within 5 % of the median. A baseline takes part as long as
# anything at its place does.
#
#   awk -F'\t' -v quantity='KEY time' -v baselines='NAME|NAME' -f unsettled.awk FIGURE.tsv

function sure() {
    return $10 >= 6 && $8 >= 0.95 * $7 && $9 <= 1.05 * $7
}

BEGIN { bases = split(baselines, base, "|") }
$5 == quantity {
    point[++points] = $2 "\t" $3 "\t" $4
    if (!sure()) {
        unsure[points] = 1
        at[$2 "\t" $4] = at[$2 "\t-"] = 1
    }
}
END {
    for (p = 1; p <= points; ++p) {
        split(point[p], part, "\t")
        for (b = 1; b <= bases && !unsure[p]; ++b)
            if (part[2] == base[b] && (part[1] "\t" part[3]) in at) unsure[p] = 1
        if (unsure[p]) print point[p]
    }
}
