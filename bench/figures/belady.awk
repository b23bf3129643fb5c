# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# For the report: the tables of the figure belady.
#
#   awk -F'\t' -f statistics.awk -f belady.awk belady.tsv

FNR == 1 { next }
{
    size = $2
    sub(/^local, /, "", size)
    if (!(size in known_size)) { known_size[size]; sizes[++num_sizes] = size }
    if (!($3 in known_case) && $3 != "gets") { known_case[$3]; cases[++num_cases] = $3 }
    if (!($4 in known_trace)) { known_trace[$4]; traces[++num_traces] = $4 }
    value[size, $3, $4, $5] = $7
}

function row(first, c, quantity,    t, line) {
    line = "| " first " |"
    for (t = 1; t <= num_traces; ++t) line = line " " ((size, c, traces[t], quantity) in value ? sprintf("%.1f", value[size, c, traces[t], quantity]) : "") " |"
    print line
}

function heading(first,    t, line, rule) {
    line = "\n| " first " |"
    rule = "| --- |"
    for (t = 1; t <= num_traces; ++t) { line = line " " traces[t] " |"; rule = rule " --- |" }
    print line "\n" rule
}

# The best of those who know the future.
function offline(trace, quantity,    a, b) {
    a = value[size, "Belady", trace, quantity]
    b = value[size, "Belady by size", trace, quantity]
    return a > b ? a : b
}

# Mean over the traces of what a case has, over what Belady (of), or the best offline, has.
function mean(c, quantity, of,    t, sum, n, all) {
    for (t = 1; t <= num_traces; ++t) {
        if (traces[t] == "moving" || !((size, c, traces[t], quantity) in value)) continue
        all = of == "" ? offline(traces[t], quantity) : value[size, of, traces[t], quantity]
        sum += value[size, c, traces[t], quantity] / all
        ++n
    }
    return n ? sprintf("%.2f", sum / n) : ""
}

END {
    for (s = 1; s <= num_sizes; ++s) {
        size = sizes[s]
        heading("hits (%), storage " size)
        for (c = 1; c <= num_cases; ++c) row(cases[c], cases[c], "hits")
        heading("time saved (%), TCP, " size)
        for (c = 1; c <= num_cases; ++c) if (cases[c] != "before") row(cases[c], cases[c], "time saved, TCP")
    }
    line = "\n| means without moving |"
    rule = "| --- |"
    for (q = 1; q <= 3; ++q) {
        for (s = 1; s <= num_sizes; ++s) {
            line = line " " (s > 1 ? "" : q == 1 ? "hits / Belady\047s, " : "time saved / best offline, " (q == 2 ? "TCP, " : "Aries, ")) sizes[s] " |"
            rule = rule " --- |"
        }
    }
    print line "\n" rule
    for (c = 1; c <= num_cases; ++c) {
        line = "| " cases[c] " |"
        for (q = 1; q <= 3; ++q) {
            for (s = 1; s <= num_sizes; ++s) {
                size = sizes[s]
                line = line " " (q == 1 ? mean(cases[c], "hits", "Belady") : mean(cases[c], q == 2 ? "time saved, TCP" : "time saved, Aries", "")) " |"
            }
        }
        print line
    }
    print ""
    for (s = 1; s <= num_sizes; ++s) {
        size = sizes[s]
        for (t = 1; t <= num_traces; ++t) {
            difference = value[size, "duel", traces[t], "hits over before"]
            if (difference < 0) less = less (less == "" ? "" : "; ") traces[t] ", " size ": " sprintf("%.2f", difference)
        }
    }
    print less == "" ? "duel has at least the hits of before everywhere." : "duel has fewer hits than before (points): " less "."
}
