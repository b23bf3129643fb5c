/* What a user sees: one summary per process on stderr (pml_llamatch_stats), and not a word without.
 *
 * test: for=pml-llamatch ranks=2 transport=shm,tcp
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "test.h"

#include <unistd.h>

static char path[] = "/tmp/olseeing.XXXXXX";

/* Lines of the file that begin with a text, blanks counting as one. */
static int lines_with(const char *text)
{
    char line[1024], squeezed[1024];
    int found = 0;
    FILE *file = fopen(path, "r");

    while (NULL != file && NULL != fgets(line, sizeof(line), file)) {
        size_t n = 0;

        for (size_t i = 0; '\0' != line[i]; ++i) {
            if (' ' != line[i] || (0 < n && ' ' != squeezed[n - 1])) {
                squeezed[n++] = line[i];
            }
        }
        squeezed[n] = '\0';
        found += NULL != strstr(squeezed, text);
    }
    if (NULL != file) {
        fclose(file);
    }
    return found;
}

static int wrong(const char *text, int wanted)
{
    int found = lines_with(text);

    if (found != wanted) {
        printf("rank %d: %d lines with \"%s\", wanted %d\n", test_rank, found, text, wanted);
    }
    return found != wanted;
}

int main(int argc, char **argv)
{
    MPI_Request requests[8];
    MPI_Comm comm, nameless;
    char text[64];
    int bad = 0;

    /* before MPI_Init: stderr goes to a file */
    if (0 > mkstemp(path) || NULL == freopen(path, "w", stderr)) {
        return 1;
    }
    setenv("OMPI_MCA_pml_llamatch_stats", "1", 1);
    test_init(&argc, &argv);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_name(comm, "seen"));
    for (int i = 0; 0 == test_rank && i < 8; ++i) {
        OK(MPI_Irecv(NULL, 0, MPI_INT, 1, i, comm, &requests[i]));
    }
    test_barrier();
    for (int i = 8; 1 == test_rank && i-- > 0;) { /* each passes all others */
        OK(MPI_Send(NULL, 0, MPI_INT, 0, i, comm));
    }
    if (0 == test_rank) {
        OK(MPI_Waitall(8, requests, MPI_STATUSES_IGNORE));
    }
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &nameless));
    OK(MPI_Comm_set_name(nameless, ""));
    if (0 == test_rank) {
        OK(MPI_Irecv(NULL, 0, MPI_INT, 1, 0, nameless, &requests[0]));
    }
    test_barrier();
    if (1 == test_rank) {
        OK(MPI_Send(NULL, 0, MPI_INT, 0, 0, nameless));
    } else if (0 == test_rank) {
        OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    }
    OK(MPI_Comm_free(&nameless));
    MPI_Finalize();
    fflush(stderr);

    snprintf(text, sizeof(text), "pml/llamatch: process %d\n", test_rank);
    bad |= wrong(text, 1);
    bad |= wrong("seen, rank 0 of 2, engine auto", 0 == test_rank);
    /* matches, most, searches, depth, deepest, hashes: 8 + 7 + ... + 1 in 8 */
    bad |= wrong("posted 8 8 8 4.5 8 0", 0 == test_rank);
    bad |= wrong("(no name), rank 0 of 2", 0 == test_rank);
    bad |= wrong("MPI_COMM_WORLD, rank", 1);
    bad |= wrong("total of ", 1);
    bad |= wrong("arena: ", 1);
    bad |= wrong("heater", 1);
    unlink(path);
    return bad;
}
