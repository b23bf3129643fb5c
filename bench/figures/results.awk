# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# For contrib/bench: from what the runs of a figure printed (round, network, series, x, key, value) to its table. Times
# and shares are medians over the rounds. A speed-up is the baseline's time over the series', round by round: above 1, the
# series is faster. The best of some series is that of the least median; the others are compared with it round by round.
#
# Lines "#point, network, series, x" give the order of the table; without: as the runs came.
#
#   awk -F'\t' -v figure=NAME -v times='KEY KEY' -v baselines='NAME|NAME' -v best=PATTERN
#       -f statistics.awk -f results.awk raw.tsv

function report(point, quantity, unit, list) {
    if (list != "") {
        statistics(list)
        printf "%s\t%s\t%s\t%s\t%.6g\t%.6g\t%.6g\t%d\n", figure, point, quantity, unit, median, low, high, samples
    }
}

# All rounds of a key; with a base: the base's value over this one's.
function rounds_of(point, key, base,    r, list) {
    for (r = 1; r <= rounds; ++r) {
        if (!((point, key, r) in value)) continue
        if (base == "") list = list " " value[point, key, r]
        else if ((base, key, r) in value && value[point, key, r] > 0)
            list = list " " value[base, key, r] / value[point, key, r]
    }
    return list
}

# The point of another series at the same place, or its only one.
function partner(point, name,    part) {
    split(point, part, "\t")
    if ((part[1] "\t" name "\t" part[3]) in known) return part[1] "\t" name "\t" part[3]
    return part[1] "\t" name "\t-"
}

# Shares of the gets, in percent, and how often the cache changed its sizes.
function counters(point, r,    gets, k) {
    gets = value[point, "osc.gets", r]
    if (gets <= 0) return
    add(point, "resizes", "", r, value[point, "osc.resizes", r] + 0)
    for (k = 1; k <= kinds; ++k)
        add(point, "share: " kind[k], "%", r, 100 * value[point, "osc." kind[k], r] / gets)
    add(point, "hits", "%", r, 100 * (value[point, "osc.hits", r] + value[point, "osc.partial_hits", r] \
        + value[point, "osc.joins", r]) / gets)
}

function add(point, key, unit, r, number) {
    value[point, key, r] = number
    if (!(key in units)) {
        derived[++deriveds] = key
        units[key] = unit
    }
}

function best_of(network,    p, part, found, least) {
    for (p = 1; p <= points; ++p) {
        split(order[p], part, "\t")
        if (part[1] != network || !(order[p] in known) || !matches(best, part[2])) continue
        statistics(rounds_of(order[p], time[1], ""))
        if (found == "" || median < least) {
            found = order[p]
            least = median
        }
    }
    return found
}

BEGIN {
    wanted = split(times, time, " ")
    bases = split(baselines, base, "|")
    kinds = split("hits partial_hits joins direct conflicting capacity failing declined bypassed", kind, " ")
}
$1 == "#point" {
    order[++points] = $2 "\t" $3 "\t" $4
    listed[order[points]] = 1
    next
}
/^#/ { next }
{
    point = $2 "\t" $3 "\t" $4
    known[point] = 1
    if (!(point in listed)) {
        listed[point] = 1
        order[++points] = point
    }
    rounds = $1 + 0 > rounds ? $1 + 0 : rounds
    value[point, $5, $1 + 0] = $6
}
END {
    print "figure", "network", "series", "x", "quantity", "unit", "median", "low", "high", "samples"
    for (p = 1; p <= points; ++p) {
        if (!(order[p] in known)) continue
        for (r = 1; r <= rounds; ++r) counters(order[p], r)
        split(order[p], part, "\t")
        for (t = 1; t <= wanted; ++t) {
            name = time[t]
            sub(/_seconds$/, " time", name)
            report(order[p], name, "s", rounds_of(order[p], time[t], ""))
        }
        for (b = 1; b <= bases; ++b) {
            other = partner(order[p], base[b])
            if (part[2] != base[b] && other in known)
                report(order[p], "speed-up over " base[b], "x", rounds_of(order[p], time[1], other))
        }
        if (best != "" && !matches(best, part[2]) && part[2] != base[1]) {
            other = best_of(part[1])
            if (other != "")
                report(order[p], "speed-up over the best fixed", "x", rounds_of(order[p], time[1], other))
        }
        for (d = 1; d <= deriveds; ++d) report(order[p], derived[d], units[derived[d]], rounds_of(order[p], derived[d], ""))
    }
}
