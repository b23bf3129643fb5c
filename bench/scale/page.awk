# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# The page of bench/scale/run, in Markdown.
#
#   awk -F'\t' -v release=TEXT -v passed=N -f page.awk scale.tsv

function bytes(x) {
    return x < 1024 ? x " B" : x < 1048576 ? digits(x / 1024) " KiB" : digits(x / 1048576) " MiB"
}

function digits(x) {
    return x >= 99.5 || x == int(x) ? sprintf("%.0f", x) : x >= 9.95 ? sprintf("%.1f", x) : sprintf("%.2f", x)
}

# Of the quantity of a part with so many ranks, as text.
function cell(part, ranks, pattern, quantity, kind,    x) {
    x = value["predicted", part, ranks, pattern, quantity]
    return x == "" ? "" : kind == "bytes" ? bytes(x) : digits(x)
}

# table PART PATTERNS QUANTITY KIND HEADING: a row per pattern, a column per number of ranks
function table(part, patterns, quantity, kind, heading,    n, name, i, j) {
    printf "\n| %s |", heading
    for (j = 1; j <= 5; ++j) printf " %s |", words[j]
    printf "\n| --- |"
    for (j = 1; j <= 5; ++j) printf " --- |"
    print ""
    n = split(patterns, name, ",")
    for (i = 1; i <= n; ++i) {
        printf "| %s |", name[i]
        for (j = 1; j <= 5; ++j) printf " %s |", cell(part, large[j], name[i], quantity, kind)
        print ""
    }
}

BEGIN {
    split("100 1000 10000 100000 1000000", large, " ")
    split("10^2 10^3 10^4 10^5 10^6", words, " ")
    all = "neighbours,uniform,power law"
}
FNR == 1 { next }
{
    value[$1, $2, $3, $4, $5] = $6
    if ($1 == "measured" && !(($2, $4, $5) in seen)) {
        seen[$2, $4, $5]
        row[++rows] = $2 "\t" $4 "\t" $5
    }
    if ($1 == "predicted" && $2 == "cache" && $5 == "hits") value[$1, $2, $3, $4, "hit rate"] = $6 / 200
}
END {
    print "<!-- Copyright (c) 2026      The ompi-locality authors.  All rights reserved. -->"
    print "<!-- SPDX-License-Identifier: BSD-3-Clause -->\n"
    print "# Memory and messages per process, up to a million processes\n"
    print "Written by `bench/scale/run --out=bench/results`; data in [scale.tsv](scale.tsv). Nothing here is a time. No machine with"
    print "this many processes was used: `bench/scale/scale.c` runs the cores of the components (cache, helper, directory, matching),"
    print "the code that the components consist of, for one process and with the state of all its peers. The same program predicts what"
    print "performance variables (MPI_T) show in runs with 2, 4 and 8 processes: " passed " values, all equal (" release ").\n"
    print "## What grows with the number of processes\n"
    reader = (value["predicted", "coherence", 1000000, "neighbours", "bytes at a reader"] \
        - value["predicted", "coherence", 1000, "neighbours", "bytes at a reader"]) / 999000
    owner = (value["predicted", "coherence", 1000000, "neighbours", "bytes at the owner"] \
        - value["predicted", "coherence", 1000, "neighbours", "bytes at the owner"]) / 999000
    origin = value["predicted", "origin", 1000, "uniform", "bytes at the origin"] / 999
    targets = value["predicted", "cache", 1000, "uniform", "bytes of targets"] / 999
    printf "- **Cache**: nothing. A process has %.0f bytes for each target that it has used, and a budget for data and index.\n", targets
    printf "- **Helper, at the target**: nothing above `osc_cached_helper_memory` (64 MiB). Sessions of more origins than fit are taken back\n"
    printf "  and granted again: an update then takes up to %s messages instead of %s.\n", \
        cell("helper", 1000000, "in turns", "messages per update"), cell("helper", 100, "in turns", "messages per update")
    printf "- **Helper, at the origin**: %.1f KiB for each target that was ever used, which are not given back: a process that updates\n", origin / 1024
    printf "  targets at random has %s after 20000 updates.\n", cell("origin", 1000000, "uniform", "bytes at the origin", "bytes")
    printf "- **Mode coherent**: %.0f bytes for each process of the window, in each process and for each window: %s with a million. Use\n", \
        reader + owner, bytes((reader + owner) * 1000000)
    printf "  modes `always` and `user` there. A write to a block that everybody has read takes %s messages with 100000 processes,\n", \
        cell("coherence", 100000, "power law", "messages of the write")
    printf "  one after the other from its owner; of what only neighbours read, %s. The directory enters the n-th sharer of a block in n steps:\n", \
        cell("coherence", 1000000, "neighbours", "messages of the write")
    print "  5 x 10^9 for 100000 sharers, a hundred times as many for a million, which was not simulated."
    printf "- **Matching**: 8 bytes for each process of a communicator, as in pml/ob1, and %.0f for the queues of each\n", \
        (value["predicted", "matching", 1000000, "all peers", "bytes"] - value["predicted", "matching", 1000, "all peers", "bytes"]) / 999000 - 8
    print "  peer that was received from; its whole state, with what ob1 keeps there, takes 320. The tables count the engine\047s part only."
    print "\n## Assumptions\n"
    print "- Default parameters, but for a cache budget that is set to 4 MiB per process (`osc_cached_memory`), a fixed seed, and"
    print "  caching that is not given up when it saves no time (`osc_cached_profit` 0, `osc_cached_bypass_below` 0)."
    print "- Rank 0 makes 20000 gets of 256 bytes, each followed by a flush; each process has 256 KiB of window memory. *neighbours*: 64 blocks of"
    print "  each of six processes of a cube; *uniform*: any block of any process; *power law*: the i-th of all blocks is read about in proportion"
    print "  to 1/i, and frequent ones are spread over all processes."
    print "- Helper: all processes but one make 8 accumulates of 8 bytes to memory of rank 0, each followed by a flush: *in turns* (the worst"
    print "  case for sessions) or *one after the other*. Messages are delivered in order, and answered at once. There are no locks (MPI_MODE_NOCHECK): with them, a process has a session with its own helper as well."
    print "- Mode coherent: blocks of 4 KiB. *neighbours*: six processes read 4 blocks; *uniform*: rank 0 sees as many gets as each process"
    print "  makes, from processes at random; *power law*: everybody has read the first block. Then one process writes the first block."
    print "- Matching: *neighbours*: 32 receives from each of six processes, messages in the opposite order; *all peers*: a receive from each process."
    print "- Counted are bytes that the cores ask for, and in mode coherent 21 for each process that the component has beside them. Those of"
    print "  the directory, of readers, origins, targets and peers have no variable to compare with: only their messages are measured."
    print "- Not counted: what Open MPI and UCX have for each process (connections; the address of each helper, which a window with helpers"
    print "  gathers: UCX's, some hundred bytes), and threads."
    print "\n## Predicted and measured\n"
    print "Both are the same number; a difference fails the test. Rank 0 of 2, 4 and 8 processes:\n"
    print "| part | pattern | variable | 2 | 4 | 8 |\n| --- | --- | --- | --- | --- | --- |"
    for (r = 1; r <= rows; ++r) {
        split(row[r], want, "\t")
        printf "| %s | %s | %s |", want[1], want[2], want[3]
        for (j = 2; j <= 8; j *= 2) printf " %s |", value["measured", want[1], j, want[2], want[3]]
        print ""
    }
    print "\n`fetches` is the sum of `direct`, `conflicting`, `capacity`, `failing` and `declined`: gets that went to the network."
    print "\n## Cache"
    table("cache", all, "hit rate", "", "hit rate (%) with this many processes")
    table("cache", all, "fetches", "", "gets that go to the network, of 20000")
    table("cache", all, "budget_taken", "bytes", "storage, index and outstanding gets")
    table("cache", all, "bytes of targets", "bytes", "state of the targets")
    print "\n## Helper"
    table("helper", "one after the other,in turns", "messages per update", "", "messages per update, requests and replies")
    table("helper", "one after the other,in turns", "helper_sessions", "", "sessions granted")
    table("helper", "one after the other,in turns", "helper_memory_most", "bytes", "charged to osc_cached_helper_memory at the target")
    table("helper", "one after the other,in turns", "bytes at the target", "bytes", "of these, allocated")
    table("origin", all, "bytes at the origin", "bytes", "at an origin, after 20000 updates")
    print "\n## Mode coherent"
    table("coherence", all, "bytes at a reader", "bytes", "at a process that reads, per window")
    table("coherence", all, "bytes at the owner", "bytes", "directory at the owner, per window")
    table("coherence", all, "messages of the write", "", "messages of a write to a block that was read")
    print "\n## Matching"
    table("matching", "neighbours,all peers", "bytes", "bytes", "queues and peers of a communicator")
    table("matching", "neighbours,all peers", "posted_depth_sum", "", "entries that the searches looked at")
    table("matching", "neighbours,all peers", "posted_matches", "", "messages")
}
