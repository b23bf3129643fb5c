/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Halo exchange of an over-decomposed grid: many small cells per process, served by several
 * threads.
 *
 *     mpirun -np 2 halo [--cells=XxYxZ] [--stencil=5|9|7|27] [--points=N] [--threads=N] [--steps=N]
 *                       [--seed=N] [--check]
 *
 * Each process owns a box of cells, each cell a cube (5 and 9 points: a square) of points.  In each
 * step a point becomes the mean of itself and its neighbours.  Cells exchange their borders: inside
 * of the box by copying, over its surface by messages.  All receives of a step are posted before
 * the first message is sent, so the posted queue of a process has the length that follows from box
 * and stencil: with the boxes of Table 1 of "The Case for Semi-Permanent Cache Occupancy"
 * (ICPP'18), the lengths of that table.  Threads take the next cell of a shuffled list, as a task
 * scheduler would give them: borders are sent in another order than they were asked for.
 *
 * The domain is periodic with a shift: one box further in any direction is the next process.
 * --check compares with a serial run, point by point, without cells.
 */

#include "app.h"

#include <pthread.h>

#define MOST_SIDE 256
#define MOST_CELLS 4096
#define DIRECTIONS 27
#define HERE 13 /* the direction to nowhere */

typedef struct {
    int at[3];         /* in the box */
    double *old, *new; /* points with one layer of halo */
    MPI_Request receive[DIRECTIONS], send[DIRECTIONS];
} cell_t;

/* Those points of a cell that belong to a direction. */
typedef struct {
    int start[3], size[3];
    MPI_Datatype type;
} border_t;

static long points = 4, threads = 4, steps = 50, seed = 1, stencil = 27, check;
static const char *cells_text = "8x8x4";

static int box[3];  /* cells of a process */
static int side[3]; /* points of a cell, without halo */
static bool is_neighbour[DIRECTIONS];
static border_t edge[DIRECTIONS], halo[DIRECTIONS]; /* what is sent, what is received */
static int num_cells;
static cell_t *cells;

static MPI_Comm barrier_comm; /* its messages stay out of the queues that are of interest */
static pthread_barrier_t barrier;
static int order[MOST_CELLS]; /* of cells, another one for each phase */
static int next_in_order;
static double exchange_seconds;

/* Where things are */

static void offset_of(int direction, int *offset)
{
    offset[0] = direction / 9 - 1;
    offset[1] = direction / 3 % 3 - 1;
    offset[2] = direction % 3 - 1;
}

static int index_of(int x, int y, int z)
{
    return (x * (side[1] + 2) + y) * (side[2] + 2) + z;
}

/* The cell in this direction; how many boxes further it is, and whether it is in another box. */
static int neighbour_of(const cell_t *cell, int direction, int *boxes, bool *outside)
{
    int at[3];

    offset_of(direction, at);
    *boxes = 0;
    *outside = false;
    for (int i = 0; i < 3; ++i) {
        at[i] += cell->at[i];
        if (at[i] < 0 || at[i] >= box[i]) {
            *boxes += at[i] < 0 ? -1 : 1;
            *outside = true;
            at[i] = at[i] < 0 ? box[i] - 1 : 0;
        }
    }
    return (at[0] * box[1] + at[1]) * box[2] + at[2];
}

static int process_at(int process, int boxes)
{
    return (process + boxes + 3 * app_size) % app_size;
}

/* Number of a point in the whole domain; coordinates are those of points in the box. */
static uint64_t point_number(int process, const int *point)
{
    uint64_t number = (uint64_t) process;

    for (int i = 0; i < 3; ++i) {
        number = number * (uint64_t) (box[i] * side[i]) + (uint64_t) point[i];
    }
    return number;
}

static double first_value(uint64_t point)
{
    return (double) (app_random_at((uint64_t) seed, point) >> 11);
}

/* Each bit and each place counts. */
static uint64_t digest(double value, uint64_t point)
{
    uint64_t pattern;

    memcpy(&pattern, &value, sizeof(pattern));
    return pattern * (2 * point + 1);
}

/* What is done to a cell; messages are named after the receiver's cell and direction */

static void post_receives(int c)
{
    for (int d = 0; d < DIRECTIONS; ++d) {
        int boxes;
        bool outside;
        (void) neighbour_of(&cells[c], d, &boxes, &outside);
        if (is_neighbour[d] && outside) {
            MPI_Irecv(cells[c].old, 1, halo[d].type, process_at(app_rank, boxes),
                      c * DIRECTIONS + d, MPI_COMM_WORLD, &cells[c].receive[d]);
        }
    }
}

static void copy_border(const double *from, const border_t *source, double *to,
                        const border_t *target)
{
    const int *s = source->start, *t = target->start, *size = source->size;

    for (int x = 0; x < size[0]; ++x) {
        for (int y = 0; y < size[1]; ++y) {
            memcpy(&to[index_of(t[0] + x, t[1] + y, t[2])],
                   &from[index_of(s[0] + x, s[1] + y, s[2])], (size_t) size[2] * sizeof(double));
        }
    }
}

static void send_borders(int c)
{
    for (int d = 0; d < DIRECTIONS; ++d) {
        int boxes, other, back = DIRECTIONS - 1 - d;
        bool outside;
        other = neighbour_of(&cells[c], d, &boxes, &outside);
        if (is_neighbour[d] && outside) {
            MPI_Isend(cells[c].old, 1, edge[d].type, process_at(app_rank, boxes),
                      other * DIRECTIONS + back, MPI_COMM_WORLD, &cells[c].send[d]);
        } else if (is_neighbour[d]) {
            copy_border(cells[other].old, &edge[back], cells[c].old, &halo[d]);
        }
    }
}

static void wait_for_borders(int c)
{
    MPI_Waitall(DIRECTIONS, cells[c].receive, MPI_STATUSES_IGNORE);
    MPI_Waitall(DIRECTIONS, cells[c].send, MPI_STATUSES_IGNORE);
}

static void compute(int c)
{
    double *old = cells[c].old, *new = cells[c].new;
    int step[DIRECTIONS], n = 0, offset[3];

    for (int d = 0; d < DIRECTIONS; ++d) {
        if (is_neighbour[d] || HERE == d) {
            offset_of(d, offset);
            step[n++] = index_of(offset[0], offset[1], offset[2]);
        }
    }
    for (int x = 1; x <= side[0]; ++x) {
        for (int y = 1; y <= side[1]; ++y) {
            for (int at = index_of(x, y, 1); at < index_of(x, y, 1 + side[2]); ++at) {
                double sum = 0;
                for (int i = 0; i < n; ++i) {
                    sum += old[at + step[i]];
                }
                new[at] = sum / n;
            }
        }
    }
    cells[c].old = new;
    cells[c].new = old;
}

/* Threads */

static void shuffle(uint64_t phase)
{
    for (int i = 0; i < num_cells; ++i) {
        int j = (int) (app_random_at(phase, (uint64_t) i) % (uint64_t) (i + 1));
        order[i] = order[j];
        order[j] = i;
    }
    next_in_order = 0;
}

/* All threads together do something to every cell.  The first one decides on the order. */
static void for_all_cells(void (*what)(int), bool is_first, uint64_t phase)
{
    int i;

    if (is_first) {
        shuffle(phase);
    }
    pthread_barrier_wait(&barrier);
    while ((i = __atomic_fetch_add(&next_in_order, 1, __ATOMIC_RELAXED)) < num_cells) {
        what(order[i]);
    }
    pthread_barrier_wait(&barrier);
}

static void *take_steps(void *argument)
{
    bool is_first = NULL != argument; /* the one that also measures and waits for other processes */
    uint64_t phase = (uint64_t) (seed * app_size + app_rank) << 32;

    for (long s = 0; s < steps; ++s, phase += 4) {
        double start = 0;
        for_all_cells(post_receives, is_first, phase);
        if (is_first) {
            MPI_Barrier(barrier_comm);
            start = MPI_Wtime();
        }
        for_all_cells(send_borders, is_first, phase + 1);
        for_all_cells(wait_for_borders, is_first, phase + 2);
        if (is_first) {
            exchange_seconds += MPI_Wtime() - start;
        }
        for_all_cells(compute, is_first, phase + 3);
    }
    return NULL;
}

static void run_threads(void)
{
    pthread_t *others = app_allocate((size_t) threads * sizeof(*others));

    pthread_barrier_init(&barrier, NULL, (unsigned) threads);
    for (long t = 1; t < threads; ++t) {
        if (0 != pthread_create(&others[t], NULL, take_steps, NULL)) {
            app_die("cannot start the threads", NULL);
        }
    }
    (void) take_steps(&barrier);
    for (long t = 1; t < threads; ++t) {
        pthread_join(others[t], NULL);
    }
    pthread_barrier_destroy(&barrier);
    free(others);
}

/* Beginning and end */

static void read_shape(void)
{
    bool flat = 5 == stencil || 9 == stencil;
    char rest;
    int n = sscanf(cells_text, "%4dx%4dx%4d%c", &box[0], &box[1], &box[2], &rest);

    if (!flat && 7 != stencil && 27 != stencil) {
        app_die("--stencil is 5 or 9 (two dimensions), 7 or 27 (three)", NULL);
    }
    if (flat && 2 == n) {
        box[2] = 1;
        n = 3;
    }
    num_cells = 1;
    for (int i = 0; i < 3; ++i) {
        n = box[i] < 1 || box[i] > MOST_SIDE ? 0 : n;
        num_cells = 3 == n ? num_cells * box[i] : 0;
        side[i] = flat && 2 == i ? 1 : (int) points;
    }
    if (3 != n || num_cells > MOST_CELLS || (flat && 1 != box[2])) {
        app_die(cells_text,
                "--cells is like 8x8x4, with a stencil of two dimensions like 32x32; at "
                "most 256 in a direction and 4096 in all");
    }
    app_need_tags((long) num_cells * DIRECTIONS - 1);
    for (int d = 0; d < DIRECTIONS; ++d) {
        int offset[3], distance;
        offset_of(d, offset);
        distance = abs(offset[0]) + abs(offset[1]) + abs(offset[2]);
        is_neighbour[d] = 0 < distance && (1 == distance || 9 == stencil || 27 == stencil)
                          && !(flat && 0 != offset[2]);
    }
}

static void make_border(border_t *border, int direction, bool is_halo)
{
    int all[3], offset[3];

    offset_of(direction, offset);
    for (int i = 0; i < 3; ++i) {
        all[i] = side[i] + 2;
        border->size[i] = 0 == offset[i] ? side[i] : 1;
        border->start[i] = offset[i] <= 0 ? 1 : side[i];
        border->start[i] += is_halo ? offset[i] : 0;
    }
    MPI_Type_create_subarray(3, all, border->size, border->start, MPI_ORDER_C, MPI_DOUBLE,
                             &border->type);
    MPI_Type_commit(&border->type);
}

static void make_cells(void)
{
    size_t bytes = (size_t) index_of(side[0] + 2, 0, 0) * sizeof(double);

    for (int d = 0; d < DIRECTIONS; ++d) {
        make_border(&edge[d], d, false);
        make_border(&halo[d], d, true);
    }
    cells = app_allocate((size_t) num_cells * sizeof(*cells));
    for (int c = 0; c < num_cells; ++c) {
        cells[c].at[0] = c / box[2] / box[1];
        cells[c].at[1] = c / box[2] % box[1];
        cells[c].at[2] = c % box[2];
        cells[c].old = app_allocate(bytes);
        cells[c].new = app_allocate(bytes);
        for (int d = 0; d < DIRECTIONS; ++d) {
            cells[c].receive[d] = cells[c].send[d] = MPI_REQUEST_NULL;
        }
    }
}

static void free_cells(void)
{
    for (int d = 0; d < DIRECTIONS; ++d) {
        MPI_Type_free(&edge[d].type);
        MPI_Type_free(&halo[d].type);
    }
    for (int c = 0; c < num_cells; ++c) {
        free(cells[c].old);
        free(cells[c].new);
    }
    free(cells);
}

/* Sets the points of this process, or sums up their digests. */
static uint64_t visit_points(bool set)
{
    uint64_t sum = 0;

    for (int c = 0; c < num_cells; ++c) {
        for (int i = 0; i < side[0] * side[1] * side[2]; ++i) {
            int in[3] = {i / side[2] / side[1], i / side[2] % side[1], i % side[2]}, point[3];
            double *value = &cells[c].old[index_of(in[0] + 1, in[1] + 1, in[2] + 1)];
            for (int k = 0; k < 3; ++k) {
                point[k] = cells[c].at[k] * side[k] + in[k];
            }
            if (set) {
                *value = first_value(point_number(app_rank, point));
            }
            sum += digest(*value, point_number(app_rank, point));
        }
    }
    return sum;
}

/* Length of the posted queue: receives of this process in a step. */
static uint64_t count_receives(void)
{
    uint64_t count = 0;

    for (int c = 0; c < num_cells; ++c) {
        for (int d = 0; d < DIRECTIONS; ++d) {
            int boxes;
            bool outside;
            (void) neighbour_of(&cells[c], d, &boxes, &outside);
            count += is_neighbour[d] && outside;
        }
    }
    return count;
}

/* The serial run */

static double mean_at(const double *old, int process, const int *point)
{
    double sum = 0;
    int n = 0;

    for (int d = 0; d < DIRECTIONS; ++d) {
        int other[3], boxes = 0;
        if (!is_neighbour[d] && HERE != d) {
            continue;
        }
        offset_of(d, other);
        for (int i = 0; i < 3; ++i) {
            int all = box[i] * side[i];
            other[i] += point[i];
            boxes += other[i] < 0 ? -1 : other[i] >= all;
            other[i] = (other[i] + all) % all;
        }
        sum += old[point_number(process_at(process, boxes), other)];
        ++n;
    }
    return sum / n;
}

static uint64_t serial_checksum(void)
{
    int all[3] = {box[0] * side[0], box[1] * side[1], box[2] * side[2]};
    size_t per_process = (size_t) all[0] * (size_t) all[1] * (size_t) all[2];
    size_t count = per_process * (size_t) app_size;
    double *old = app_allocate(count * sizeof(*old)), *new = app_allocate(count * sizeof(*new));
    uint64_t sum = 0;

    for (size_t i = 0; i < count; ++i) {
        old[i] = first_value(i);
    }
    for (long s = 0; s < steps; ++s) {
        double *swap = old;
        for (size_t i = 0; i < count; ++i) {
            int in = (int) (i % per_process);
            int point[3] = {in / all[2] / all[1], in / all[2] % all[1], in % all[2]};
            new[i] = mean_at(old, (int) (i / per_process), point);
        }
        old = new;
        new = swap;
    }
    for (size_t i = 0; i < count; ++i) {
        sum += digest(old[i], i);
    }
    free(old);
    free(new);
    return sum;
}

int main(int argc, char **argv)
{
    const app_number_t numbers[] = {{"stencil", &stencil, 5, 27},
                                    {"points", &points, 1, 16},
                                    {"threads", &threads, 1, 512},
                                    {"steps", &steps, 1, 100000},
                                    {"seed", &seed, 0, 1000000},
                                    {"check", &check, 0, 0},
                                    {NULL, NULL, 0, 0}};
    const app_text_t texts[] = {{"cells", &cells_text}, {NULL, NULL}};
    uint64_t length, checksum;
    double total, exchange;

    app_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    app_read_arguments(argc, argv, numbers, texts,
                       "halo [--cells=XxYxZ] [--stencil=5|9|7|27] [--points=N] [--threads=N] "
                       "[--steps=N] [--seed=N] [--check]");
    read_shape();
    MPI_Comm_dup(MPI_COMM_WORLD, &barrier_comm);
    make_cells();
    (void) visit_points(true);
    length = count_receives();

    MPI_Barrier(barrier_comm);
    total = MPI_Wtime();
    run_threads();
    total = app_slowest(MPI_Wtime() - total);
    exchange = app_slowest(exchange_seconds);
    checksum = app_sum(visit_points(false));

    app_report_count("processes", (uint64_t) app_size);
    app_report_count("cells", (uint64_t) num_cells);
    app_report_count("queue_length", length);
    app_report_count("messages", length * (uint64_t) steps * (uint64_t) app_size);
    app_report_count("checksum", checksum);
    app_report_seconds("exchange_seconds", exchange);
    app_report_seconds("message_seconds", exchange / (double) (length * (uint64_t) steps));
    app_report_seconds("total_seconds", total);
    MPI_Comm_free(&barrier_comm);
    free_cells();
    return app_end(check, 0 != app_rank || !check || checksum == serial_checksum());
}
