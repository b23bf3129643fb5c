# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# For bench/match: from targets and raw.tsv (round, subject, then what a program printed) to results.tsv. Medians over
# the rounds with 95 % confidence intervals; ratios and differences are taken round by round. "ob1/x latency" is ob1's
# latency over the subject's: above 1, the subject is faster.
#
#   awk -F'\t' -v OFS='\t' -v openmpi=VERSION -f statistics.awk -f match-results.awk match-targets.tsv raw.tsv

# The last target that fits, and whether it is met.
function judge(subject, at, quantity,    field, want, t, i, found) {
    split(openmpi OFS subject OFS at OFS quantity, field, OFS)
    found = "-" OFS "-"
    for (t = 1; t <= targets; ++t) {
        split(target[t], want, "\t")
        for (i = 1; i <= 6 && matches(want[i], field[i]); ++i) {
        }
        if (i > 6) {
            found = want[7] " " want[8] OFS verdict(median, low, high, want[7], want[8] + 0)
        }
    }
    return found
}

function report(subject, at, quantity, unit, list) {
    if (list != "") {
        statistics(list)
        printf "%s\t%s\t%s\t%s\t%s\t%.6g\t%.6g\t%.6g\t%d\t%s\n", openmpi, subject, at, quantity, unit, median, low, high,
            samples, judge(subject, at, quantity)
    }
}

function add(at, measure, by, who, round, number,    key) {
    key = at OFS measure
    if (!(key in unit)) {
        order[++keys] = key
        place[key] = at
        quantity[key] = measure
        unit[key] = by
    }
    value[key, who, round] = number
}

# All rounds of a subject: op is "" for the value, "/" for base/value, "-" for value - base.
function rounds_of(key, who, base, op,    r, list, x, y) {
    list = ""
    for (r = 1; r <= rounds; ++r) {
        if (!((key, who, r) in value) || (op != "" && !((key, base, r) in value))) {
            continue
        }
        x = value[key, who, r]
        y = value[key, base, r]
        if (op == "") list = list " " x
        else if (op == "-") list = list " " x - y
        else if (x > 0) list = list " " y / x
    }
    return list
}

# The same measure of two cases: a ratio of its own.
function compare(large, small, at, name, who, round) {
    if ((small, who, round) in value && (large, who, round) in value) {
        add(at, name, "x", who, round, value[large, who, round] / value[small, who, round])
    }
}

# How the time per message grows when the queue doubles or with the number of peers, and the time of a probe with the
# communicator.
function derive(who, round,    kinds, k, n, of_peers, orders, o, before, after, most, growth) {
    split("posted unexpected", kinds, " ")
    for (k = 1; k <= 2; ++k) {
        before = "drain" OFS kinds[k] ", "
        after = OFS 1 OFS "per message"
        if (!((before 16 after, who, round) in value) || !((before 8192 after, who, round) in value)) {
            continue
        }
        most = 0
        for (n = 32; n <= 8192; n *= 2) {
            growth = value[before n after, who, round] / value[before (n / 2) after, who, round]
            most = growth > most ? growth : most
        }
        growth = (value[before 8192 after, who, round] / value[before 16 after, who, round]) ^ (1 / 9)
        add(before "16 to 8192" OFS 1, "growth per doubling", "x", who, round, growth)
        add(before "16 to 8192" OFS 1, "greatest growth", "x", who, round, most)
    }
    compare("probe" OFS "64 ranks" OFS 0 OFS "MPI_Iprobe", "probe" OFS "2 ranks" OFS 0 OFS "MPI_Iprobe",
        "probe" OFS "all sizes" OFS 0, "64 ranks/2 ranks", who, round)
    n = split("post + match|arrive + receive|arrive + any source", kinds, "|")
    orders = split("| shuffled| 6 each", of_peers, "|")
    for (k = 1; k <= n; ++k) {
        for (o = 1; o <= orders; ++o) {
            before = "engine" OFS kinds[k] of_peers[o] ", "
            after = OFS 0 OFS "per message"
            compare(before 65536 after, before 16 after, before "all" OFS 0, "65536 peers/16 peers", who, round)
        }
    }
}

FNR == NR {
    if ($0 !~ /^#/) target[++targets] = $0
    next
}
NF >= 8 {
    if (!($2 in known)) {
        known[$2] = 1
        subject[++subjects] = $2
    }
    rounds = $1 + 0 > rounds ? $1 + 0 : rounds
    add($3 OFS $4 OFS $5, $6, $7, $2, $1 + 0, $8)
}
END {
    bases = split("ob1 clone ucx heater-off scalar", base, " ")
    for (s = 1; s <= subjects; ++s) {
        for (r = 1; r <= rounds; ++r) derive(subject[s], r)
    }
    print "openmpi", "subject", "benchmark", "case", "bytes", "quantity", "unit", "median", "low", "high", "samples",
        "target", "verdict"
    for (k = 1; k <= keys; ++k) {
        key = order[k]
        for (s = 1; s <= subjects; ++s) {
            who = subject[s]
            report(who, place[key], quantity[key], unit[key], rounds_of(key, who, "", ""))
            if (place[key] ~ /^(self|instructions)/ && who != "clone") {
                report(who, place[key], "x - clone", unit[key], rounds_of(key, who, "clone", "-"))
            }
            for (b = 1; b <= bases && unit[key] == "ns"; ++b) {
                if (who != base[b]) {
                    report(who, place[key], base[b] "/x " quantity[key], "x", rounds_of(key, who, base[b], "/"))
                }
            }
        }
    }
}
