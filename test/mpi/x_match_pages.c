/* What matching needs of many communicators lies side by side: a message misses few pages, and the
 * sets of a cache are used evenly.
 *
 * test: for=pml-llamatch ranks=1 transport=shm devel=yes
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"
#include "ompi/communicator/communicator.h"

#include "test.h"

enum { COMMS = 256, PAGE = 4096, BYTES_EACH = 1024, LINE = 64, SETS = 256 };

int main(int argc, char **argv)
{
    MPI_Comm comm[COMMS];
    uintptr_t pages[COMMS];
    int num_pages = 0, most = 0, in_set[SETS] = {0};

    test_init(&argc, &argv);
    for (int i = 0; i < COMMS; ++i) {
        uintptr_t at, j = 0;

        OK(MPI_Comm_dup(MPI_COMM_SELF, &comm[i]));
        at = (uintptr_t) ((ompi_communicator_t *) comm[i])->c_pml_comm;
        while (j < (uintptr_t) num_pages && pages[j] != at / PAGE) {
            ++j;
        }
        if (j == (uintptr_t) num_pages) {
            pages[num_pages++] = at / PAGE;
        }
        ++in_set[at / LINE % SETS];
    }
    for (int i = 0; i < SETS; ++i) {
        most = (in_set[i] > most) ? in_set[i] : most;
    }
    CHECK(num_pages <= COMMS * BYTES_EACH / PAGE, "%d communicators begin on %d pages", COMMS,
          num_pages);
    CHECK(most <= 4 * COMMS / SETS, "%d of %d begin in the same of %d sets", most, COMMS, SETS);
    for (int i = 0; i < COMMS; ++i) {
        OK(MPI_Comm_free(&comm[i]));
    }
    return test_done();
}
