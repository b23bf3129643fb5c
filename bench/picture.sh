# shellcheck shell=bash
# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by what draws with gnuplot.

# picture_terminal svg|png WIDTH HEIGHT [FONT]: gnuplot's command for such a picture. FONT: of an SVG.
picture_terminal()
{
    case $1 in
    svg) echo "set terminal svg size $2,$3 background '#ffffff' font ${4:-"'sans,12'"}" ;;
    png) echo "set terminal pngcairo size $2,$3 background '#ffffff' font 'sans,10'" ;;
    esac
}
