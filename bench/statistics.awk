# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# What the benchmarks' awk scripts share: medians with their intervals, and targets. To be given with -f before them.

# Is it one of the alternatives (joined by |) of a pattern (* is any text)?
function matches(pattern, text) {
    gsub(/[.+()\[\]\/]/, "\\\\&", pattern)
    gsub(/\*/, ".*", pattern)
    return text ~ "^(" pattern ")$"
}

# Sets median, low, high and samples of numbers separated by blanks; 95 % intervals from order statistics, as in micro.h.
function statistics(list,    n, sorted, i, j, number, half, first, last) {
    n = split(list, sorted, " ")
    for (i = 2; i <= n; ++i) {
        number = sorted[i]
        for (j = i - 1; j > 0 && sorted[j] + 0 > number + 0; --j) {
            sorted[j + 1] = sorted[j]
        }
        sorted[j + 1] = number
    }
    half = 0.98 * sqrt(n)
    first = int(n / 2 - half)
    last = int(n / 2 + half + 0.999999) + 1
    samples = n
    median = (sorted[int((n + 1) / 2)] + sorted[int(n / 2) + 1]) / 2
    low = sorted[first < 1 ? 1 : first]
    high = sorted[last > n ? n : last]
}

# Does a median meet its target (operator <= or >=)? "?": the target is inside of the interval.
function verdict(middle, least, most, operator, value) {
    return ((operator == "<=" ? middle <= value : middle >= value) ? "met" : "missed") \
        (least < value && value < most ? "?" : "")
}

# For people: three digits, and a time in the unit that fits.
function brief(x) {
    return x + 0 == 0 ? "0" : x >= 99.95 || x <= -99.95 ? sprintf("%.0f", x) : x >= 9.995 || x <= -9.995 ? sprintf("%.1f", x) \
        : x >= 0.0995 || x <= -0.0995 ? sprintf("%.2f", x) : sprintf("%.2g", x)
}

# The 95 % interval, which fewer than 6 samples do not have.
function spread(least, most, n) {
    return n >= 6 ? " [" brief(least) ", " brief(most) "]" : n > 1 ? " (" n " runs)" : ""
}

function bytes_text(x) {
    return x % 1024 != 0 || x == 0 ? x : x % 1048576 != 0 ? x / 1024 " KiB" : x / 1048576 " MiB"
}
# A point of an axis that has this label: bytes with their unit.
function x_with_unit(x, axis) {
    return axis !~ /bytes/ || x !~ /^[0-9]+$/ ? x : bytes_text(x) (x % 1024 == 0 && x > 0 ? "" : " bytes")
}
function quantity_text(x, unit,    scale) {
    scale = unit == "ms" ? 1e-3 : unit == "us" ? 1e-6 : unit == "ns" ? 1e-9 : 0
    if (scale) { x *= scale; unit = "s" }
    if (unit == "s")
        return x < 1e-6 ? brief(x * 1e9) " ns" : x < 1e-3 ? brief(x * 1e6) " us" : x < 1 ? brief(x * 1e3) " ms" \
            : brief(x) " s"
    return brief(x) (unit == "" ? "" : " " unit)
}
