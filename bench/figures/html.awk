# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# The report in HTML: headings, links to them, paragraphs, lists, tables, indented code and plots of the Markdown that the
# report is written in. Plots (SVG) are put into the page, so that it is one file.
#
#   awk -v folder=DIR -f html.awk report.md

function plain(text,    parts, i, line, rest, done) {
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    gsub(/>/, "\\&gt;", text)
    parts = split(text, part, "`")
    for (i = 1; i <= parts; ++i) line = line (i % 2 ? "" : "<code>") part[i] (i % 2 ? "" : "</code>")
    parts = split(line, part, /\*\*/)
    line = ""
    for (i = 1; i <= parts; ++i) line = line (i % 2 ? "" : "<b>") part[i] (i % 2 ? "" : "</b>")
    for (rest = line; match(rest, /\[[^]]*\]\([^) ]+\)/); rest = substr(rest, RSTART + RLENGTH)) {
        split(substr(rest, RSTART + 1, RLENGTH - 2), part, /\]\(/)
        done = done substr(rest, 1, RSTART - 1) "<a href=\"" part[2] "\">" part[1] "</a>"
    }
    return done rest
}

function anchor(text) {
    text = tolower(text)
    gsub(/[^a-z0-9 _-]/, "", text)
    gsub(/ /, "-", text)
    return text
}

function change(to) {
    if (inside == to) return
    if (inside == "table") print "</table>"
    if (inside != "" && inside != "table") print "</" inside ">"
    if (to != "") print "<" to ">"
    inside = to
    rows = 0
}

function picture(file,    data) {
    ("base64 -w0 '" folder "/" file "'") | getline data
    print "<img alt=\"" file "\" src=\"data:image/svg+xml;base64," data "\">"
}

BEGIN {
    print "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>ompi-locality: measured results</title>"
    print "<meta name=\"viewport\" content=\"width=device-width\"><style>"
    print "body { font: 15px/1.45 sans-serif; color: #222; max-width: 1160px; margin: 2em auto; padding: 0 1em; }"
    print "@media print { img, table { break-inside: avoid; } h2 { break-after: avoid; } }"
    print "h1, h2, h3 { line-height: 1.2; margin: 1.6em 0 0.5em; } h2 { border-bottom: 1px solid #ccc; padding-bottom: 0.2em; }"
    print "table { border-collapse: collapse; font-size: 13px; margin: 0.8em 0; display: block; overflow-x: auto; }"
    print "td, th { border: 1px solid #ddd; padding: 3px 8px; text-align: left; vertical-align: top; } th { background: #f4f4f4; }"
    print "td:not(:first-child) { white-space: nowrap; }"
    print "img { max-width: 100%; height: auto; display: block; margin: 0.8em 0; } code, pre { background: #f4f4f4; padding: 1px 4px; }"
    print "pre { padding: 0.6em; overflow-x: auto; } .met { color: #00693e; } .missed { color: #b3261e; font-weight: bold; }"
    print "</style></head><body>"
}
/^<!--/ { next }
/^#+ / {
    change("")
    level = length($1)
    sub(/^#+ /, "")
    print "<h" level " id=\"" anchor($0) "\">" plain($0) "</h" level ">"
    next
}
/^!\[/ {
    change("")
    sub(/.*\(/, "")
    sub(/\).*/, "")
    picture($0)
    next
}
/^\| ---/ { next }
/^\|/ {
    change("table")
    kind = rows++ ? "td" : "th"
    cells = split($0, cell, /\|/)
    line = "<tr>"
    for (i = 2; i < cells; ++i) {
        gsub(/^ +| +$/, "", cell[i])
        class = match(cell[i], /^(met|missed)/) ? " class=\"" substr(cell[i], RSTART, RLENGTH) "\"" : ""
        line = line "<" kind class ">" plain(cell[i]) "</" kind ">"
    }
    print line "</tr>"
    next
}
/^    / { change("pre"); print plain(substr($0, 5)); next }
/^- / { change("ul"); print "<li>" plain(substr($0, 3)) "</li>"; next }
/^$/ { change(""); next }
{ change("p"); print plain($0) }
END { change(""); print "</body></html>" }
