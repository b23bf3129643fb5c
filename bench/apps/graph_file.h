/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads a graph from a text file, in one of two formats, told apart by the first line:
 *
 *   Matrix Market, coordinate: "%%MatrixMarket matrix coordinate ...", comments, "rows columns
 *   entries", then "row column [value [imaginary part]]", counted from 1.  The matrix is square; an
 *   entry is an edge, its value is not used.  Symmetric or general: the graph is undirected anyway.
 *
 *   SNAP and other edge lists: "from to [value]" in any order, comments begin with # or %. Vertices
 *   are named by any non-negative numbers, not necessarily all of a range; they are numbered anew,
 *   in the same order.
 *
 * Rank 0 reads the file and sends the edges to the others: only it needs to see the file.  A line
 * that cannot be understood ends the program with the file's name and the line's number.
 */
#ifndef OMPI_LOCALITY_GRAPH_FILE_H
#define OMPI_LOCALITY_GRAPH_FILE_H

#include "graph.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <strings.h>

#define GRAPH_BLANK " \t\r\n"

typedef struct {
    FILE *stream;
    const char *name;
    char *line;
    size_t room;
    unsigned long number; /* of the line */
} graph_file_t;

/* The names that the file gives to the ends of its edges: 2 * edges of them. */
typedef struct {
    uint64_t *name;
    uint64_t count, room;
} graph_ends_t;

static _Noreturn void graph_file_die(const graph_file_t *file, const char *what)
{
    char where[512];

    if (0 == file->number) {
        app_die(file->name, what);
    }
    snprintf(where, sizeof(where), "%s:%lu", file->name, file->number);
    app_die(where, what);
}

/* Empty lines and comments are passed over, where asked for.  False at the end of the file. */
static bool graph_next_line(graph_file_t *file, bool with_comments)
{
    errno = 0;
    while (0 <= getline(&file->line, &file->room, file->stream)) {
        const char *text = file->line + strspn(file->line, GRAPH_BLANK);

        ++file->number;
        if (with_comments || ('\0' != *text && '#' != *text && '%' != *text)) {
            return true;
        }
    }
    if (0 != errno) {
        graph_file_die(file, strerror(errno));
    }
    return false;
}

/* A non-negative whole number, and nothing else before the next blank. */
static uint64_t graph_read_number(const graph_file_t *file, char **text, const char *expected)
{
    uint64_t number;

    *text += strspn(*text, GRAPH_BLANK);
    if (!isdigit((unsigned char) **text)) {
        graph_file_die(file, expected);
    }
    errno = 0;
    number = strtoull(*text, text, 10);
    if (ERANGE == errno) {
        graph_file_die(file, "the number is too large");
    }
    if ('\0' != **text && NULL == strchr(GRAPH_BLANK, **text)) {
        graph_file_die(file, expected);
    }
    return number;
}

/* What follows the two ends of an edge: numbers that are not used. */
static void graph_skip_values(const graph_file_t *file, const char *text, int least, int most,
                              const char *expected)
{
    int values = 0;
    char *rest;

    for (text += strspn(text, GRAPH_BLANK); '\0' != *text;
         text = rest + strspn(rest, GRAPH_BLANK)) {
        strtod(text, &rest);
        if (++values > most || rest == text
            || ('\0' != *rest && NULL == strchr(GRAPH_BLANK, *rest))) {
            graph_file_die(file, expected);
        }
    }
    if (values < least) {
        graph_file_die(file, expected);
    }
}

static void graph_add_ends(graph_ends_t *ends, uint64_t from, uint64_t to)
{
    if (ends->count + 2 > ends->room) {
        ends->room = 2 * ends->room + 1024;
        ends->name = realloc(ends->name, ends->room * sizeof(*ends->name));
        if (NULL == ends->name) {
            app_die("no memory", "for the edges of the graph");
        }
    }
    ends->name[ends->count++] = from;
    ends->name[ends->count++] = to;
}

static int graph_compare_names(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

    return (x > y) - (x < y);
}

/* Numbers the vertices in the order of their names. */
static graph_edges_t graph_number_ends(const graph_ends_t *ends)
{
    graph_edges_t edges = {0, ends->count / 2, app_allocate(ends->count / 2 * sizeof(*edges.edge))};
    uint64_t *names = app_allocate(ends->count * sizeof(*names));

    memcpy(names, ends->name, ends->count * sizeof(*names));
    qsort(names, ends->count, sizeof(*names), graph_compare_names);
    for (uint64_t i = 0; i < ends->count; ++i) {
        if (0 == i || names[i] != names[edges.vertices - 1]) {
            names[edges.vertices++] = names[i];
        }
    }
    for (uint64_t i = 0; i < ends->count; ++i) {
        uint64_t *found =
            bsearch(&ends->name[i], names, edges.vertices, sizeof(*names), graph_compare_names);

        *(0 == i % 2 ? &edges.edge[i / 2].from : &edges.edge[i / 2].to) =
            (graph_vertex_t) (found - names);
    }
    free(names);
    return edges;
}

static graph_edges_t graph_read_edge_list(graph_file_t *file)
{
    static const char expected[] = "expected two vertices, as non-negative numbers";
    graph_ends_t ends = {NULL, 0, 0};
    graph_edges_t edges = {0, 0, NULL};

    while (graph_next_line(file, false)) {
        char *text = file->line;
        uint64_t from = graph_read_number(file, &text, expected);
        uint64_t to = graph_read_number(file, &text, expected);

        graph_skip_values(file, text, 0, 1, expected);
        graph_add_ends(&ends, from, to);
    }
    if (0 < ends.count) {
        edges = graph_number_ends(&ends);
    }
    free(ends.name);
    return edges;
}

/* The first line; returns how many values an entry has. */
static int graph_read_matrix_header(const graph_file_t *file)
{
    char object[32] = "", format[32] = "", field[32] = "", symmetry[32] = "";

    for (char *c = file->line; '\0' != *c; ++c) {
        *c = (char) tolower((unsigned char) *c);
    }
    sscanf(file->line, "%%%%matrixmarket %31s %31s %31s %31s", object, format, field, symmetry);
    if (0 != strcmp("matrix", object) || 0 != strcmp("coordinate", format)) {
        graph_file_die(file, "only \"matrix coordinate\" is a list of edges");
    }
    if (0 != strcmp("general", symmetry) && 0 != strcmp("symmetric", symmetry)
        && 0 != strcmp("skew-symmetric", symmetry) && 0 != strcmp("hermitian", symmetry)) {
        graph_file_die(file, "expected general, symmetric, skew-symmetric or hermitian");
    }
    if (0 == strcmp("pattern", field)) {
        return 0;
    }
    if (0 == strcmp("real", field) || 0 == strcmp("integer", field)) {
        return 1;
    }
    if (0 != strcmp("complex", field)) {
        graph_file_die(file, "expected pattern, real, integer or complex");
    }
    return 2;
}

static graph_edges_t graph_read_matrix(graph_file_t *file)
{
    static const char sizes[] = "expected three numbers: rows, columns, entries";
    static const char entry[] = "expected row, column and the values that the first line announces";
    graph_edges_t edges = {0, 0, NULL};
    int values = graph_read_matrix_header(file);
    uint64_t columns, announced;
    char *text;

    if (!graph_next_line(file, false)) {
        graph_file_die(file, sizes);
    }
    text = file->line;
    edges.vertices = graph_read_number(file, &text, sizes);
    columns = graph_read_number(file, &text, sizes);
    announced = graph_read_number(file, &text, sizes);
    graph_skip_values(file, text, 0, 0, sizes);
    if (columns != edges.vertices || UINT32_MAX < columns || INT_MAX < announced) {
        graph_file_die(file, columns != edges.vertices ? "the matrix is not square"
                                                       : "the matrix is too large");
    }
    edges.edge = app_allocate(announced * sizeof(*edges.edge));
    for (; graph_next_line(file, false); ++edges.count) {
        uint64_t row, column;

        text = file->line;
        row = graph_read_number(file, &text, entry);
        column = graph_read_number(file, &text, entry);
        graph_skip_values(file, text, values, values, entry);
        if (1 > row || row > edges.vertices || 1 > column || column > edges.vertices) {
            graph_file_die(file, "row or column is outside of the matrix");
        }
        if (edges.count == announced) {
            graph_file_die(file, "more entries than the matrix has");
        }
        edges.edge[edges.count] =
            (graph_edge_t){(graph_vertex_t) (row - 1), (graph_vertex_t) (column - 1)};
    }
    if (edges.count != announced) {
        graph_file_die(file, "the file ends before the last entry of the matrix");
    }
    return edges;
}

static graph_edges_t graph_read_on_one_rank(const char *name)
{
    graph_file_t file = {fopen(name, "r"), name, NULL, 0, 0};
    graph_edges_t edges;

    if (NULL == file.stream) {
        app_die(name, strerror(errno));
    }
    if (graph_next_line(&file, true) && 0 == strncasecmp(file.line, "%%MatrixMarket", 14)) {
        edges = graph_read_matrix(&file);
    } else {
        rewind(file.stream);
        file.number = 0;
        edges = graph_read_edge_list(&file);
    }
    if (0 == edges.count) {
        app_die(name, "the graph has no edges");
    }
    if (UINT32_MAX < edges.vertices || INT_MAX < edges.count) {
        app_die(name, "the graph has too many vertices or edges");
    }
    free(file.line);
    fclose(file.stream);
    return edges;
}

/* Collective. */
static graph_edges_t graph_read_file(const char *name)
{
    graph_edges_t edges = {0, 0, NULL};
    uint64_t sizes[2];

    if (0 == app_rank) {
        edges = graph_read_on_one_rank(name);
    }
    sizes[0] = edges.vertices;
    sizes[1] = edges.count;
    MPI_Bcast(sizes, 2, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (0 != app_rank) {
        edges.vertices = sizes[0];
        edges.count = sizes[1];
        edges.edge = app_allocate(edges.count * sizeof(*edges.edge));
    }
    MPI_Bcast(edges.edge, (int) edges.count, MPI_UINT64_T, 0,
              MPI_COMM_WORLD); /* pairs of 32 bits */
    return edges;
}

#endif
