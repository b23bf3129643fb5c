# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# For the report: a row of Markdown per target and network: the point that is furthest from it, and how many meet it.
# With loses=1 instead: where a series of ours is slower than its baseline, and the whole interval says so.
#
#   awk -F'\t' -v in_bytes=FIGURES -f statistics.awk -f targets.awk targets.tsv NAME.tsv...
#
# FIGURES, separated by blanks: their x are bytes.

function place_text() { return x_with_unit($4, index(" " in_bytes " ", " " $1 " ") ? "bytes" : "") }
function point_text() { return $3 ($4 == "-" ? "" : ", " place_text()) }
function value_text(x) { return $6 ~ /^[mun]?s$/ ? quantity_text(x, $6) : brief(x) }
function interval_text() { return $10 == 1 ? "" : " [" value_text($8) ", " value_text($9) "]" }

# A value of targets.tsv may have a unit of time behind it.
function wanted_text(value, part) { return split(value, part, " ") > 1 ? quantity_text(part[1], part[2]) : value }

FNR == NR {
    if ($0 !~ /^#/ && NF >= 8) target[++targets] = $0
    next
}
FNR == 1 { next }
loses && $6 == "x" && $5 ~ /speed-up over / && $5 !~ /the best fixed/ && !matches("block cache*|pml/ucx|pml/ob1|osc/ucx|ob1", $3) {
    at = $1 "\t" $2 "\t" $3 "\t" $5
    if (!(at in all)) place[++places] = at
    ++all[at]
    if ($9 >= 1) next
    ++lost[at]
    if (!(at in worst) || $7 < worst[at]) {
        worst[at] = $7
        shown[at] = brief($7) interval_text() ($4 == "-" ? "" : " at " place_text())
    }
}
!loses {
    for (t = 1; t <= targets; ++t) {
        split(target[t], want, "\t")
        for (i = 1; i <= 5 && matches(want[i], $i); ++i) {
        }
        if (i <= 5) continue
        at = t "\t" $2
        answer = verdict($7, $8, $9, want[6], want[7] + 0)
        ++all[at]
        met[at] += answer ~ /^met/
        distance = want[6] == "<=" ? $7 : -$7
        if (!(at in worst) || distance > worst[at]) {
            worst[at] = distance
            shown[at] = sprintf("%s | %s | %s %s | %s: %s%s | %s", $1, $2, want[6], wanted_text(want[7]), point_text(), \
                value_text($7), interval_text(), answer)
        }
        if (!(at in order)) { order[at]; name[t, ++networks[t]] = at }
    }
}
END {
    for (t = 1; t <= targets && !loses; ++t) {
        split(target[t], want, "\t")
        if (!networks[t]) printf "| %s | %s | | %s %s | not measured | |\n", want[8], want[1], want[6], wanted_text(want[7])
        for (n = 1; n <= networks[t]; ++n)
            printf "| %s | %s (%d of %d points meet it) |\n", want[8], shown[name[t, n]], met[name[t, n]], all[name[t, n]]
    }
    for (p = 1; p <= places; ++p) {
        if (!lost[place[p]]) continue
        split(place[p], part, "\t")
        base = what = part[4]
        sub(/.*speed-up over /, "", base)
        sub(/,? ?speed-up over .*/, "", what)
        printf "| %s | %s | %s | %s | %d of %d | %s |\n", part[1], part[2], part[3] (what == "" ? "" : ", " what), base,
            lost[place[p]], all[place[p]], shown[place[p]]
    }
}
