# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# For the report: the ratios of a figure (unit x) as Markdown tables, a column per x, with their 95 % intervals.
#
#   awk -F'\t' -v axis=LABEL -f statistics.awk -f ratios.awk NAME.tsv

# Numbers in their order, whatever series had them first.
function add_column(name, value,  c) {
    for (c = ++columns[name]; c > 1 && value ~ /^[0-9.]+$/ && value + 0 < x[name, c - 1] + 0; --c) x[name, c] = x[name, c - 1]
    x[name, c] = value
}
FNR == 1 || $6 != "x" { next }
{
    row = $5 "\t" $2 "\t" $3
    if (!($5 in known)) { known[$5]; quantity[++quantities] = $5 }
    if (!(row in rows)) { rows[row]; order[++count] = row }
    if (!(($5, $4) in seen)) { seen[$5, $4]; add_column($5, $4) }
    cell[row, $4] = brief($7) spread($8, $9, $10)
}
END {
    for (q = 1; q <= quantities; ++q) {
        name = quantity[q]
        head = "| " name " | |"
        rule = "| --- | --- |"
        for (c = 1; c <= columns[name]; ++c) {
            label = axis
            sub(/ \(bytes\)$/, "", label)
            head = head " " (x[name, c] == "-" ? "" : (c == 1 && label != "" ? label " " : "") \
                (axis ~ /bytes/ && x[name, c] ~ /^[0-9]+$/ ? bytes_text(x[name, c]) : x[name, c])) " |"
            rule = rule " --- |"
        }
        print "\n" head "\n" rule
        for (i = 1; i <= count; ++i) {
            split(order[i], part, "\t")
            if (part[1] != name) continue
            line = "| " part[2] " | " part[3] " |"
            for (c = 1; c <= columns[name]; ++c) line = line " " cell[order[i], x[name, c]] " |"
            print line
        }
    }
}
