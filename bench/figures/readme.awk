# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# README's table of results in Markdown.
#
#   awk -F'\t' -f statistics.awk -f readme.awk readme.tsv NAME.tsv...

FNR == NR {
    if ($0 !~ /^#/) row[++rows] = $0
    next
}
FNR == 1 { next }
{
    key = $1 "\t" $2 "\t" $4 "\t" $3 "\t" $5
    value[key] = $7
    text[key] = quantity_text($7, $6)
    interval[key] = spread($8, $9, $10)
    if (!(($1, $2) in seen)) { seen[$1, $2]; network[$1, ++networks[$1]] = $2 }
}
END {
    print "| program | network | baseline | | ours | times as fast | hits |"
    print "| --- | --- | --- | --- | --- | --- | --- |"
    for (r = 1; r <= rows; ++r) {
        split(row[r], want, "\t")
        for (n = 1; n <= networks[want[2]]; ++n) {
            at = want[2] "\t" network[want[2], n] "\t" want[3] "\t"
            base = at want[5] "\t" want[4]
            if (!(base in value)) base = want[2] "\t" network[want[2], n] "\t-\t" want[5] "\t" want[4]
            ratio = at want[6] "\tspeed-up over " want[5]
            hits = at want[6] "\thits"
            if (!(base in value) || !(ratio in value)) continue
            place = network[want[2], n]
            sub(/^emulated-aries/, "Aries, emulated", place)
            sub(/^emulated-hdr/, "HDR, emulated", place)
            printf "| %s | %s | %s | %s | %s | **%s**%s | %s |\n", want[1], place, want[5], text[base],
                text[at want[6] "\t" want[4]], brief(value[ratio]), interval[ratio], (hits in value ? text[hits] : "")
        }
    }
}
