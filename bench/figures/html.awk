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
    if (inside != "") print "</" inside ">" (inside == "table" ? "</div>" : "")
    if (to != "") print (to == "table" ? "<div class=\"wide\">" : "") "<" to ">"
    inside = to
    rows = 0
}

function picture(file, text,    data) {
    ("base64 -w0 '" folder "/" file "'") | getline data
    print "<div class=\"wide\"><img alt=\"" text "\" src=\"data:image/svg+xml;base64," data "\"></div>"
}

BEGIN {
    print "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>ompi-locality: measured results</title>"
    print "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
    print "<meta name=\"color-scheme\" content=\"light dark\"><style>"
    # Colours by name, so that all of the dark ones are here.
    print ":root { color-scheme: light dark; --text: #222; --page: #fff; --line: #ccc; --shade: #f4f4f4; --link: #0b57d0; --met: #00693e; --missed: #b3261e; }"
    print "@media (prefers-color-scheme: dark) { :root { --text: #ddd; --page: #1b1d20; --line: #4a4d52; --shade: #2a2d31; --link: #8ab4f8;"
    print "    --met: #6fd3a0; --missed: #ff9a90; } }"
    print "body { font: 15px/1.45 sans-serif; color: var(--text); background: var(--page); max-width: 1160px; margin: 2em auto; padding: 0 1em;"
    print "    overflow-wrap: break-word; }"
    print "a { color: var(--link); }"
    print "h1, h2, h3 { line-height: 1.2; margin: 1.6em 0 0.5em; } h2 { border-bottom: 1px solid var(--line); padding-bottom: 0.2em; }"
    # What is wider than the screen scrolls by itself.
    print ".wide, pre { overflow-x: auto; } .wide { margin: 0.8em 0; }"
    print "table { border-collapse: collapse; font-size: 13px; }"
    print "td, th { border: 1px solid var(--line); padding: 3px 8px; text-align: left; vertical-align: top; } th { background: var(--shade); }"
    print "td:not(:first-child) { white-space: nowrap; } td:first-child { min-width: 10em; overflow-wrap: normal; }"
    # Plots have black text. In a narrow window they scroll, too: their text would be too small to read.
    print "img { max-width: 100%; height: auto; display: block; background: #fff; } .wide img { margin: 0; }"
    print "code, pre { background: var(--shade); padding: 1px 4px; border-radius: 3px; } pre { padding: 0.6em; }"
    print ".met { color: var(--met); } .missed { color: var(--missed); font-weight: bold; }"
    print "@media (max-width: 700px) { body { margin: 1em auto; } ul { padding-left: 1.2em; } h1 { font-size: 1.6em; } h2 { font-size: 1.25em; }"
    print "    .wide img { max-width: none; zoom: 0.8; } }"
    print "@media print {"
    print "    :root { color-scheme: light; --text: #000; --page: #fff; --line: #999; --shade: #fff; --link: #000; --met: #00693e; --missed: #b3261e; }"
    print "    body { max-width: none; margin: 0; padding: 0; font-size: 10pt; } a { text-decoration: none; }"
    print "    .wide, pre { overflow: visible; } table { font-size: 8pt; } td:not(:first-child) { white-space: normal; }"
    print "    img, tr { break-inside: avoid; } h2, h3, h2 + p { break-after: avoid; }"
    print "    .wide img { max-width: 100%; max-height: 90vh; }"
    print "}"
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
    match($0, /\]\([^()]*\)$/)
    picture(substr($0, RSTART + 2, RLENGTH - 3), plain(substr($0, 3, RSTART - 3)))
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
