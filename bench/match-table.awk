# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# For bench/match: results.tsv as a table for people. One line per case: ns of ob1 (heater: without one), and the
# speed-up of each other subject. Below it, what missed its target.
#
#   awk -F'\t' -f match-table.awk results.tsv

function number(x) {
    return x > 0 && x < 0.1 ? sprintf("%.2g", x) : x < 10 ? sprintf("%.2f", x) : x < 100 ? sprintf("%.1f", x) : sprintf("%.0f", x)
}

function title(benchmark,    c) {
    printf "\n%-36s %8s %-25s", benchmark, "bytes", ""
    for (c = 1; c <= columns; ++c) {
        if ((benchmark, name[c]) in used) {
            printf " %13s", name[c] (name[c] ~ /^(ob1|heater-off|scalar)$/ && benchmark !~ /^(instructions|memory)$/ ? ", ns" : "")
        }
    }
    print ""
}

BEGIN {
    columns = split("ob1 clone auto lla hash list ucx heater-off heater-on heater-paused heater-force", name, " ")
    for (c = 1; c <= columns; ++c) column[name[c]] = c
}
NR == 1 { next }
{
    if (!($2 in column)) {
        column[$2] = ++columns
        name[columns] = $2
    }
    used[$3, $2] = 1
    ++verdicts[$13]
    if ($13 ~ /missed/) {
        missed[++misses] = sprintf("  %-6s %-12s %-34s %8s B  %-24s %8s [%s, %s]  target %s%s", $2, $3, $4, $5, $6, number($8),
            number($9), number($10), $12, ($13 ~ /\?/ ? "  (inside of the interval)" : ""))
    }
    quantity = $6
    ratio = sub(/^(ob1|heater-off|scalar)\/x /, "", quantity)
    if (quantity ~ /\/x |^x - /) next
    row = $3 "\t" $4 "\t" $5 "\t" quantity
    if (!(row in seen)) {
        seen[row] = 1
        rows[++count] = row
    }
    if (ratio || $2 ~ /^(ob1|heater-off|scalar)$/) text[row, $2] = number($8)
    else if (!((row, $2) in text)) text[row, $2] = number($8) ($7 == "ns" ? " ns" : "")
}
END {
    for (i = 1; i <= count; ++i) {
        split(rows[i], part, "\t")
        if (part[1] != last) title(last = part[1])
        printf "  %-34s %8s %-25s", part[2], part[3], part[4]
        for (c = 1; c <= columns; ++c) {
            if ((part[1], name[c]) in used) printf " %13s", text[rows[i], name[c]]
        }
        print ""
    }
    if (misses) print "\nMissed:"
    for (i = 1; i <= misses; ++i) print missed[i]
    printf "\nResults with a target: %d met, %d missed\n", verdicts["met"] + verdicts["met?"],
        verdicts["missed"] + verdicts["missed?"]
}
