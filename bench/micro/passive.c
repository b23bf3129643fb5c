/*
 * MPI_Get and MPI_Win_flush in a passive epoch of a window that nobody has told anything, for runs
 * with and without `--mca osc cached`: see bench/flag.
 *
 *     passive [--window=allocate|create] [--rounds=N]
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "micro.h"

static void measure(struct micro_window *window, unsigned char *buffer, size_t bytes, long rounds)
{
    struct micro_gets gets = {window, buffer, bytes, bytes < 64 ? 64 : bytes, 1, 1, 0};
    struct micro_subject subject = {micro_get_flush, &gets, 0, NULL};

    micro_interleave(&subject, 1, rounds);
    micro_check(&gets);
    micro_print("passive", "get + flush", bytes, "time", "ns", subject.ns, rounds);
    free(subject.ns);
}

int main(int argc, char **argv)
{
    static const char *const nothing[] = {NULL};
    static const size_t sizes[] = {8, 512, 4096};
    static struct micro_window window;
    unsigned char *buffer;

    micro_init(&argc, &argv);
    buffer = micro_memory(4096);
    micro_window_make(&window, 4096, nothing);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
        MICRO_MEASURE(measure(&window, buffer, sizes[i], micro_number("rounds", 101)));
    }
    micro_window_free(&window);
    free(buffer);
    return micro_done();
}
