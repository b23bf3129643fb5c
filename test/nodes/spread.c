/*
 * Are the ranks really on several nodes? Ranks that share memory (MPI_COMM_TYPE_SHARED) must be those with one
 * host name, there must be as many host names as the argument says, and no node has two ranks more than another.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    char(*names)[MPI_MAX_PROCESSOR_NAME];
    int rank, size, len, same = 0, wanted, near, leader, nodes, fewest, most, wrong;
    MPI_Comm node;

    MPI_Init(&argc, &argv);
    wanted = argc > 1 ? atoi(argv[1]) : 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(name, &len);
    names = calloc((size_t) size, sizeof(*names));
    if (NULL == names) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Allgather(name, sizeof(name), MPI_CHAR, names, sizeof(name), MPI_CHAR, MPI_COMM_WORLD);
    for (int i = 0; i < size; ++i) {
        same += 0 == strcmp(name, names[i]);
    }
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &near);
    MPI_Comm_rank(node, &leader);
    leader = 0 == leader;
    MPI_Allreduce(&leader, &nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&near, &fewest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&near, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    wrong = near != same || nodes != wanted || most - fewest > 1;
    if (wrong) {
        fprintf(stderr,
                "rank %d on %s: %d ranks have this host name, %d share memory; %d nodes, wanted %d; "
                "%d to %d ranks on a node\n",
                rank, name, same, near, nodes, wanted, fewest, most);
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_free(&node);
    free(names);
    MPI_Finalize();
    return wrong > 0;
}
