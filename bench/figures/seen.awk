# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# For the report: one line that says what a figure shows: from where to where the quantity of its first speed-up, or else
# of its first panel, goes for each series, network by network.
#
#   awk -F'\t' -v panel=PATTERN -f statistics.awk -f seen.awk NAME.tsv NAME.tsv

FNR == 1 { ++pass; next }
pass == 1 { if (wanted == "" && $5 ~ /^speed-up over |, speed-up over /) wanted = $5; next }
wanted != "" ? $5 == wanted : matches(panel, $5) || matches(panel, $3 ": " $5) {
    if (quantity == "") { quantity = $5; unit = $6 }
    if ($5 != quantity) next
    at = $2 "\t" $3
    if (!(at in least)) { order[++count] = at; least[at] = most[at] = $7 }
    if ($7 < least[at]) least[at] = $7
    if ($7 > most[at]) most[at] = $7
}
function text_of(x) { return unit ~ /^[mun]?s$/ ? quantity_text(x, unit) : brief(x) }
END {
    for (i = 1; i <= count; ++i) {
        split(order[i], part, "\t")
        if (said[part[1]] == "") networks[++network] = part[1]
        said[part[1]] = said[part[1]] (said[part[1]] == "" ? "" : "; ") part[2] " " text_of(least[order[i]]) \
            (most[order[i]] > least[order[i]] ? " to " text_of(most[order[i]]) : "")
    }
    for (i = 1; i <= network; ++i) line = line (i > 1 ? ". " : "") networks[i] ": " said[networks[i]]
    name = unit == "" || unit ~ /^[mun]?s$/ ? "" : unit == "x" ? ", times" : ", " unit
    if (count) print "Range per series (" quantity name "). " line "."
}
