# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# The table of applications in Markdown: all rows for the report, or those of the README. For the plot of them, lines of
# speed-up, its interval, application, network, and what is written beside the bar; with the rows of bench/applications, too, unless
# a figure has the same program. release: the Open MPI of the figures.
#
#   awk -F'\t' [-v short=1] -f statistics.awk -f readme.awk readme.tsv NAME.tsv...
#   awk -F'\t' -v plot=1 -v release=5.0.7 -f statistics.awk -f readme.awk readme.tsv NAME.tsv... [applications.md]

BEGIN {
    places["tcp"] = "one machine, loopback TCP"
    places["shm"] = "one machine, shared memory"
    places["two-nodes"] = "two nodes (namespaces of one machine), TCP"
    places["emulated-aries"] = "one machine, emulated Aries network"
    places["emulated-hdr"] = "one machine, emulated InfiniBand HDR"
}
FNR == NR {
    if ($0 !~ /^#/) row[++rows] = $0
    next
}
FILENAME ~ /\.md$/ {
    if (other == "" && match($0, /Open MPI [0-9][0-9.]*[0-9]/)) other = substr($0, RSTART, RLENGTH)
    if ($0 ~ /^\| *application *\|/) {
        cells = split($0, cell, / *\| */)
        for (i = 2; i < cells; ++i) at_cell[cell[i]] = i
    } else if ($0 ~ /^\|/ && $0 !~ /^\| *---/) {
        gsub(/`/, "")
        line[++lines] = $0
    }
    next
}
FNR == 1 { next }
{
    key = $1 "\t" $2 "\t" $4 "\t" $3 "\t" $5
    value[key] = $7
    text[key] = quantity_text($7, $6)
    interval[key] = spread($8, $9, $10)
    lowest[key] = $8
    highest[key] = $9
    if (!(($1, $2) in seen)) { seen[$1, $2]; network[$1, ++networks[$1]] = $2 }
}
# What bench/applications has measured: speed-ups are "1.25 [1.00, 1.30]", or without an interval.
function other_row(row,    cell, number, place, drawn_as) {
    split(row, cell, / *\| */)
    if (cell[at_cell["speed-up"]] !~ /^[0-9]/) return # did not run
    for (drawn_as in drawn) if (matches(drawn_as, cell[at_cell["application"]])) return
    if (split(cell[at_cell["speed-up"]], number, /[][, ]+/) < 3 || number[2] !~ /^[0-9]/) number[2] = number[3] = number[1]
    place = cell[at_cell["processes"]]
    sub(/.*, /, "", place)
    if (place == "TCP") place = "loopback TCP"
    printf "%s\t%s\t%s\t%s\t%s\t%s (%s / %s, %s%s)\n", number[1], number[2], number[3], cell[at_cell["application"]], place, number[1],
        cell[at_cell["without"]], cell[at_cell["with it"]], place, (other == "Open MPI " release ? "" : ", " other)
}
END {
    if (!plot) {
        print "| program | without | with | speed-up | hits | measured on |"
        print "| --- | --- | --- | --- | --- | --- |"
    }
    for (r = 1; r <= rows; ++r) {
        split(row[r], want, "\t")
        for (n = 1; n <= networks[want[2]]; ++n) {
            if (short && network[want[2], n] != want[7]) continue
            at = want[2] "\t" network[want[2], n] "\t" want[3] "\t"
            base = at want[5] "\t" want[4]
            if (!(base in value)) base = want[2] "\t" network[want[2], n] "\t-\t" want[5] "\t" want[4]
            ratio = at want[6] "\tspeed-up over " want[5]
            hits = at want[6] "\thits"
            if (!(base in value) || !(ratio in value)) continue
            place = network[want[2], n]
            if (place in places) place = places[place]
            if (plot) {
                sub(/^one machine, /, "", place)
                if (want[8] != "") drawn[want[8]]
                printf "%s\t%s\t%s\t%s\t%s\t%s (%s / %s, %s)\n", value[ratio], lowest[ratio], highest[ratio], want[1], place,
                    brief(value[ratio]), text[base], text[at want[6] "\t" want[4]], place
                continue
            }
            printf "| %s | %s, %s | %s, %s | **%s**%s | %s | %s |\n", want[1], want[5], text[base], want[6],
                text[at want[6] "\t" want[4]], brief(value[ratio]), interval[ratio], (hits in value ? text[hits] : ""), place
        }
    }
    for (r = 1; r <= lines; ++r) other_row(line[r])
}
