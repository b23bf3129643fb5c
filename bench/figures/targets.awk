# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# For the report: a row of Markdown per target and network: the point that is furthest from it, and how many meet it.
# With loses=1 instead: where a series is slower than its baseline, and the whole interval says so.
#
#   awk -F'\t' -f statistics.awk -f targets.awk targets.tsv NAME.tsv...

function point_text() { return $3 ($4 == "-" ? "" : ", " $4) }

FNR == NR {
    if ($0 !~ /^#/ && NF >= 8) target[++targets] = $0
    next
}
FNR == 1 { next }
loses && $6 == "x" && $5 ~ /speed-up over / && $5 !~ /the best fixed/ && $9 < 1 {
    base = $5
    sub(/.*speed-up over /, "", base)
    printf "- %s, %s, %s: %s times as fast as %s [%s, %s]\n", $1, $2, point_text(), brief($7), base, brief($8), brief($9)
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
            shown[at] = sprintf("%s | %s | %s %s | %s: %s [%s, %s] | %s", $1, $2, want[6], want[7], point_text(), brief($7), \
                brief($8), brief($9), answer)
        }
        if (!(at in order)) { order[at]; name[t, ++networks[t]] = at }
    }
}
END {
    for (t = 1; t <= targets && !loses; ++t) {
        split(target[t], want, "\t")
        if (!networks[t]) printf "| %s | %s | | %s %s | not measured | |\n", want[8], want[1], want[6], want[7]
        for (n = 1; n <= networks[t]; ++n)
            printf "| %s | %s, %d of %d points |\n", want[8], shown[name[t, n]], met[name[t, n]], all[name[t, n]]
    }
}
