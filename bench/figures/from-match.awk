# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# For contrib/bench: from results.tsv of bench/match to the table of a figure. Its cases "one, 1024, warm" are depth 1024
# of the quantity "posted one, ..." (other caches and patterns are left to its own table); "posted, 1024" are 1024 peers;
# those of match_threads are a decomposition each.
#
#   awk -F'\t' -v OFS='\t' -v figure=NAME -f from-match.awk results.tsv

BEGIN {
    print "figure", "network", "series", "x", "quantity", "unit", "median", "low", "high", "samples"
    name["auto"] = "llamatch"
    name["lla"] = "llamatch, engine lla"
    name["ucx"] = "pml/ucx"
}
FNR == 1 || $3 == "memory" || $6 ~ /^(clone|ucx|heater-off)\/x|^x - / || ($5 > 1 && $3 != "threads") { next }
{
    x = $4
    kind = ""
    parts = split($4, part, ", ")
    if ($3 ~ /^(peers|engine|engine memory)$/) {
        x = part[parts]
        if (x == "all") next
        kind = substr($4, 1, length($4) - length(x))
    } else if (parts == 3) {
        if (part[3] != "warm" || part[1] !~ /^(one|any)$/) next
        x = part[2]
        kind = $3 " " part[1] ", "
    } else if ($3 == "threads") {
        x = part[1]
    }
    series = $2 in name ? name[$2] : $2
    sub(/^ob1\/x/, "speed-up over ob1,", $6)
    print figure, ($3 ~ /^engine/ ? "local" : "shm"), series, x, kind $6, $7, $8, $9, $10, $11
}
