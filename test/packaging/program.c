/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the packaging tests run: gets and messages with checked results, as any program does them,
 * and "name value" of each MPI_T control variable named on the command line ("name unknown": there
 * is none). Rank 0 prints "right" when every byte was right on all processes.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES = 1000, ROUNDS = 3, MESSAGES = 200 };

static long value(int rank, int i)
{
    return 1000003L * rank + 7L * i;
}

/* Every process reads all of its neighbour's window, several times. */
static int gets_wrong(int rank, int size)
{
    int wrong = 0, neighbour = (rank + 1) % size;
    long *memory, got[VALUES];
    MPI_Win window;

    MPI_Win_allocate(sizeof(got), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_lock_all(0, window);
    for (int i = 0; i < VALUES; ++i) {
        memory[i] = value(rank, i);
    }
    MPI_Win_sync(window);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < ROUNDS; ++round) {
        memset(got, 0, sizeof(got));
        for (int i = 0; i < VALUES; i += 10) {
            MPI_Get(&got[i], 10, MPI_LONG, neighbour, i, 10, MPI_LONG, window);
        }
        MPI_Win_flush(neighbour, window);
        for (int i = 0; i < VALUES; ++i) {
            wrong += got[i] != value(neighbour, i);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    return wrong;
}

/* Messages are received in the opposite order, so that the queues become long. */
static int messages_wrong(int rank, int size)
{
    int wrong = 0, to = (rank + 1) % size, from = (rank + size - 1) % size;
    long sent[MESSAGES], got[MESSAGES];
    MPI_Request requests[2 * MESSAGES];

    for (int i = 0; i < MESSAGES; ++i) {
        sent[i] = value(rank, i);
        got[i] = 0;
        MPI_Irecv(&got[i], 1, MPI_LONG, from, MESSAGES - i, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < MESSAGES; ++i) {
        MPI_Isend(&sent[i], 1, MPI_LONG, to, MESSAGES - i, MPI_COMM_WORLD, &requests[MESSAGES + i]);
    }
    MPI_Waitall(2 * MESSAGES, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MESSAGES; ++i) {
        wrong += got[i] != value(from, i);
    }
    return wrong;
}

static void print_variable(const char *name)
{
    int index, length = 0, verbosity, bind, scope, count, number, items;
    char text[4096] = "unknown";
    MPI_Datatype type;
    MPI_T_enum choices;
    MPI_T_cvar_handle handle;

    if (MPI_SUCCESS == MPI_T_cvar_get_index(name, &index)
        && MPI_SUCCESS
               == MPI_T_cvar_get_info(index, NULL, &length, &verbosity, &type, &choices, NULL, NULL,
                                      &bind, &scope)
        && MPI_SUCCESS == MPI_T_cvar_handle_alloc(index, NULL, &handle, &count)) {
        if (MPI_CHAR == type && count <= (int) sizeof(text)) {
            MPI_T_cvar_read(handle, text);
        } else if (MPI_INT == type) {
            MPI_T_cvar_read(handle, &number);
            snprintf(text, sizeof(text), "%d", number);
            if (MPI_T_ENUM_NULL != choices) {
                MPI_T_enum_get_info(choices, &items, NULL, &length);
                for (int i = 0; i < items; ++i) {
                    char word[64];
                    int meaning, size = sizeof(word);
                    MPI_T_enum_get_item(choices, i, &meaning, word, &size);
                    if (meaning == number) {
                        snprintf(text, sizeof(text), "%s", word);
                    }
                }
            }
        }
        MPI_T_cvar_handle_free(&handle);
    }
    printf("%s %s\n", name, text);
}

int main(int argc, char **argv)
{
    int rank, size, threads, wrong;

    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &threads);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    wrong = gets_wrong(rank, size) + messages_wrong(rank, size);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (0 == rank) {
        for (int i = 1; i < argc; ++i) {
            print_variable(argv[i]);
        }
        printf("%s\n", 0 == wrong ? "right" : "WRONG");
    }
    MPI_T_finalize();
    MPI_Finalize();
    return 0 == wrong ? EXIT_SUCCESS : EXIT_FAILURE;
}
