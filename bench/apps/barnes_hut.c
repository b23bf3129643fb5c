/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Bodies that attract each other, by the method of Barnes and Hut (Nature 324, 1986): a group of
 * bodies that is far away acts like one body in its centre of mass.
 *
 * The bodies are in an octree (octree.h) that is distributed over the processes.  To find the force
 * on a body, a process walks down the tree.  Cells and points of another process are read with
 * MPI_Get, one by one, when the walk comes to them.  The next body is near the last one and needs
 * nearly the same cells, so most of them are asked for many times.
 *
 * Each step has two phases: forces, in which windows are only read; and movement, after which each
 * process builds its part of the tree anew, in place.  The program tells osc/cached about that:
 * the window is made in its mode "user", and what was kept is invalidated after each force phase.
 * To any other MPI library these are unknown info keys, which it ignores.
 *
 * With --checkpoint=NAME the bodies are in a window on the file NAME.RANK, too (osc/cached; any
 * other library takes memory), after each step.  A job that finds such files goes on where the last
 * one ended; --kill=N ends it in step N, as a crash would.
 *
 * The result is the same to the last bit for any number of processes, and with any cache.
 * communication_seconds is an estimate: every 31st access to another process is timed, and its time
 * counted 31 times.  All other times are measured.
 *
 * build: mpicc -std=gnu11 -O2 barnes_hut.c -o barnes_hut -lm
 * usage: mpirun -np P barnes_hut [--bodies=N] [--steps=N] [--seed=N] [--theta-percent=N]
 *            [--cache=none|block] [--cache-memory=BYTES] [--cache-block=BYTES] [--check]
 *            [--checkpoint=NAME] [--kill=N]
 */
#include "app.h"
#include "block_cache.h"
#include "octree.h"

#include <signal.h>

#define TIME_STEP 0.01
#define SOFTENING 0.02   /* a length: nearer bodies attract each other no more than from there */
#define PLUMMER_MASS 0.9 /* share of the model's mass: the cube around the rest is nearly empty */
#define RANDOMS_PER_BODY 64 /* random numbers set aside for each body */
#define SAMPLING 31         /* every so many accesses the clock is read, which takes time as well */

typedef struct {
    long bodies, steps, seed, theta_percent, cache_memory, cache_block, check, kill;
    const char *cache, *checkpoint;
} options_t;

/* The bodies of a process after a step.  There are two of them in its file, for even and for odd
 * steps: while one is written, the other one is good. */
typedef struct {
    uint64_t step; /* 0: none */
    uint64_t processes, all, count;
    body_t bodies[];
} checkpoint_t;

typedef struct {
    uint64_t gets, bytes, block_hits;
    uint64_t cells;    /* in the tree of the last step */
    uint64_t checksum; /* over all bits of all positions */
    uint64_t resumed;  /* steps that an earlier job has done */
    double force_seconds, communication_seconds;
} result_t;

typedef struct {
    const options_t *options;
    MPI_Comm comm;
    int rank, size;
    MPI_Win window; /* over tree->memory */
    octree_t *tree;
    body_t *bodies; /* this process', sorted by key */
    int64_t count;
    block_cache_t *cache; /* NULL: none */
    char *buffer;         /* where a get without it goes */
    uint64_t accesses;    /* to other processes' memory */
    MPI_Win saved;        /* over checkpoints; MPI_WIN_NULL: none */
    char *checkpoints;
    result_t result;
} simulation_t;

static double random_share(const options_t *options, uint64_t body, uint64_t i)
{
    uint64_t number = app_random_at((uint64_t) options->seed, body * RANDOMS_PER_BODY + i);

    return (double) (number >> 11) / 9007199254740992.0; /* 2^53 */
}

static void random_direction(const options_t *options, uint64_t body, uint64_t i, double length,
                             double *vector)
{
    double z = 2 * random_share(options, body, i) - 1;
    double angle = 2 * M_PI * random_share(options, body, i + 1);
    double flat = sqrt(1 - z * z);

    vector[0] = length * flat * cos(angle);
    vector[1] = length * flat * sin(angle);
    vector[2] = length * z;
}

/* A star cluster at rest: Plummer's model (Aarseth, Henon, Wielen, Astron. Astrophys. 37, 1974). */
static body_t make_body(const options_t *options, uint64_t number)
{
    body_t body = {.mass = 1.0 / (double) options->bodies, .number = number};
    double mass = PLUMMER_MASS * random_share(options, number, 0);
    double radius = 1 / sqrt(pow(mass > 0 ? mass : 1e-9, -2.0 / 3.0) - 1);
    double escape = sqrt(2.0) * pow(1 + radius * radius, -0.25), share = 0;

    /* of the escape velocity, distributed as x^2 (1 - x^2)^3.5: by rejection */
    for (uint64_t i = 5; i + 1 < RANDOMS_PER_BODY; i += 2) {
        share = random_share(options, number, i);
        if (0.1 * random_share(options, number, i + 1)
            < share * share * pow(1 - share * share, 3.5)) {
            break;
        }
    }
    random_direction(options, number, 1, radius, body.position);
    random_direction(options, number, 3, share * escape, body.velocity);
    return body;
}

static int compare_bodies(const void *left, const void *right)
{
    const body_t *a = left, *b = right;

    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return a->number < b->number ? -1 : a->number > b->number;
}

/* The cube around all bodies, their keys, and who gets which branches. */
static void divide_space(simulation_t *sim)
{
    int64_t bodies_of_branch[OCTREE_BRANCHES] = {0};
    double most = 0;

    for (int64_t i = 0; i < sim->count; ++i) {
        for (int d = 0; d < 3; ++d) {
            most = fmax(most, fabs(sim->bodies[i].position[d]));
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, sim->comm);
    sim->tree->edge = 2 * most;
    for (int64_t i = 0; i < sim->count; ++i) {
        sim->bodies[i].key = octree_key(sim->tree, sim->bodies[i].position);
        ++bodies_of_branch[octree_branch(sim->bodies[i].key)];
    }
    MPI_Allreduce(MPI_IN_PLACE, bodies_of_branch, OCTREE_BRANCHES, MPI_INT64_T, MPI_SUM, sim->comm);
    octree_share(sim->tree, bodies_of_branch, sim->size);
}

/* Every body goes to the process that owns its branch. */
static void exchange_bodies(simulation_t *sim)
{
    int *numbers = app_allocate((size_t) sim->size * 4 * sizeof(int));
    int *send = numbers, *send_at = send + sim->size;
    int *receive = send_at + sim->size, *receive_at = receive + sim->size;
    body_t *received;
    MPI_Datatype type;

    for (int64_t i = 0; i < sim->count; ++i) {
        ++send[sim->tree->owner[octree_branch(sim->bodies[i].key)]];
    }
    MPI_Alltoall(send, 1, MPI_INT, receive, 1, MPI_INT, sim->comm);
    for (int p = 1; p < sim->size; ++p) {
        send_at[p] = send_at[p - 1] + send[p - 1];
        receive_at[p] = receive_at[p - 1] + receive[p - 1];
    }
    sim->count = receive_at[sim->size - 1] + receive[sim->size - 1];
    received = app_allocate((size_t) sim->count * sizeof(body_t));
    MPI_Type_contiguous(sizeof(body_t), MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Alltoallv(sim->bodies, send, send_at, type, received, receive, receive_at, type, sim->comm);
    MPI_Type_free(&type);
    free(numbers);
    free(sim->bodies);
    sim->bodies = received;
}

/* Every process gets the branches that others own; then it can make the rest of the top. */
static void exchange_branches(simulation_t *sim)
{
    int *bytes = app_allocate((size_t) sim->size * 2 * sizeof(int)), *at = bytes + sim->size;

    for (int b = 0; b < OCTREE_BRANCHES; ++b) {
        bytes[sim->tree->owner[b]] += (int) sizeof(cell_t);
    }
    for (int p = 1; p < sim->size; ++p) {
        at[p] = at[p - 1] + bytes[p - 1];
    }
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_BYTE, &sim->tree->top[OCTREE_FIRST_BRANCH], bytes, at,
                   MPI_BYTE, sim->comm);
    free(bytes);
    octree_build_top(sim->tree);
}

/* Collective, when nobody reads the window.  Afterwards everybody may. */
static void build_tree(simulation_t *sim)
{
    divide_space(sim);
    qsort(sim->bodies, (size_t) sim->count, sizeof(body_t), compare_bodies);
    exchange_bodies(sim);
    qsort(sim->bodies, (size_t) sim->count, sizeof(body_t), compare_bodies);
    octree_build(sim->tree, sim->bodies, sim->count, sim->rank);
    exchange_branches(sim);
    MPI_Win_sync(sim->window); /* the stores above, before the gets of others */
    MPI_Barrier(sim->comm);
}

static const void *get(simulation_t *sim, int owner, int64_t place, int bytes)
{
    MPI_Get(sim->buffer, bytes, MPI_BYTE, owner, place, bytes, MPI_BYTE, sim->window);
    MPI_Win_flush(owner, sim->window);
    ++sim->result.gets;
    sim->result.bytes += (uint64_t) bytes;
    return sim->buffer;
}

/* What is in any process' memory; it may be used until the next call. */
static const void *look(simulation_t *sim, int owner, int64_t place, int bytes)
{
    const void *found;
    bool timed;
    double start = 0;

    if (OCTREE_TOP == owner) {
        return (const char *) sim->tree->top + place;
    }
    if (sim->rank == owner) {
        return sim->tree->memory + place;
    }
    timed = 0 == ++sim->accesses % SAMPLING;
    if (timed) {
        start = MPI_Wtime();
    }
    found = NULL == sim->cache ? get(sim, owner, place, bytes)
                               : block_cache_read(sim->cache, owner, place, bytes);
    if (timed) {
        sim->result.communication_seconds += SAMPLING * (MPI_Wtime() - start);
    }
    return found;
}

static void attract(const double *at, const double *center, double mass, double *acceleration)
{
    double x = center[0] - at[0], y = center[1] - at[1], z = center[2] - at[2];
    double square = x * x + y * y + z * z + SOFTENING * SOFTENING;
    double factor = mass / (square * sqrt(square));

    acceleration[0] += factor * x;
    acceleration[1] += factor * y;
    acceleration[2] += factor * z;
}

/* By the bodies of a leaf.  On the last level there may be more of them than are read at once. */
static void attract_all(simulation_t *sim, const double *at, const cell_t *leaf,
                        double *acceleration)
{
    int64_t left = leaf->bodies, place = leaf->place;
    int owner = leaf->owner; /* the leaf itself is gone when the points are there */

    while (0 < left) {
        int points = (int) (left < OCTREE_LEAF_BODIES ? left : OCTREE_LEAF_BODIES);
        int bytes = points * (int) sizeof(point_t);
        const point_t *point = look(sim, owner, place, bytes);

        for (int i = 0; i < points; ++i) {
            attract(at, point[i].position, point[i].mass, acceleration);
        }
        left -= points;
        place += bytes;
    }
}

static bool far_enough(const double *at, const cell_t *cell, double theta)
{
    double x = cell->center[0] - at[0], y = cell->center[1] - at[1], z = cell->center[2] - at[2];

    return cell->edge * cell->edge < theta * theta * (x * x + y * y + z * z);
}

/* A walk through the tree, always in the same order: the sum is the same to the last bit. */
static void find_force(simulation_t *sim, const double *at, double *acceleration)
{
    struct {
        int owner;
        int64_t place;
    } stack[8 * (OCTREE_BITS + 1)];
    int height = 1;
    double theta = (double) sim->options->theta_percent / 100;

    stack[0].owner = OCTREE_TOP;
    stack[0].place = 0;
    while (0 < height) {
        --height;
        const cell_t *cell =
            look(sim, stack[height].owner, stack[height].place, (int) sizeof(cell_t));
        if (0 == cell->bodies) {
            continue;
        }
        if (far_enough(at, cell, theta)) {
            attract(at, cell->center, cell->mass, acceleration);
        } else if (0 == cell->children) {
            attract_all(sim, at, cell, acceleration);
        } else {
            for (int child = cell->children - 1; 0 <= child; --child) {
                stack[height].owner = cell->owner;
                stack[height].place = cell->place + child * (int64_t) sizeof(cell_t);
                ++height;
            }
        }
    }
}

/* Nobody writes in this phase: it begins and ends with all processes. */
static double (*find_forces(simulation_t *sim))[3]
{
    double(*accelerations)[3] = app_allocate((size_t) sim->count * sizeof(*accelerations));
    double start = MPI_Wtime();

    for (int64_t i = 0; i < sim->count; ++i) {
        find_force(sim, sim->bodies[i].position, accelerations[i]);
    }
    MPI_Barrier(sim->comm);
    MPI_Win_sync(sim->window); /* the gets of others, before the stores of the next build_tree() */
    sim->result.force_seconds += MPI_Wtime() - start;
    return accelerations;
}

/* Collective: what was read so far is about to change. */
static void invalidate(simulation_t *sim)
{
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "ompi_osc_cached_invalidate", "true");
    MPI_Win_set_info(sim->window, info);
    MPI_Info_free(&info);
    if (NULL != sim->cache) {
        block_cache_invalidate(sim->cache);
    }
}

/* Leapfrog: velocities are half a step ahead of positions. */
static void move_bodies(simulation_t *sim, double (*accelerations)[3])
{
    for (int64_t i = 0; i < sim->count; ++i) {
        for (int d = 0; d < 3; ++d) {
            sim->bodies[i].velocity[d] += TIME_STEP * accelerations[i][d];
            sim->bodies[i].position[d] += TIME_STEP * sim->bodies[i].velocity[d];
        }
    }
}

static void make_window(simulation_t *sim)
{
    long all = sim->options->bodies, most = 64 + 4 * all / sim->size;
    MPI_Info info;

    sim->tree = app_allocate(sizeof(*sim->tree));
    sim->tree->room = octree_room(most < all ? most : all);
    MPI_Info_create(&info);
    MPI_Info_set(info, "ompi_osc_cached_mode", "user");
    MPI_Win_allocate(sim->tree->room, 1, info, sim->comm, &sim->tree->memory, &sim->window);
    MPI_Info_free(&info);
    MPI_Win_set_name(sim->window, MPI_COMM_SELF == sim->comm ? "serial" : "octree");
    if (MPI_COMM_SELF != sim->comm) {
        app_connect(sim->window, (uint64_t) sim->tree->room);
        invalidate(sim); /* what was read to connect is no part of a tree */
    }
    MPI_Win_lock_all(MPI_MODE_NOCHECK, sim->window);
}

static void make_bodies(simulation_t *sim)
{
    int64_t first = sim->options->bodies * sim->rank / sim->size;
    int64_t end = sim->options->bodies * (sim->rank + 1) / sim->size;

    sim->count = end - first;
    sim->bodies = app_allocate((size_t) sim->count * sizeof(body_t));
    for (int64_t i = first; i < end; ++i) {
        sim->bodies[i - first] = make_body(sim->options, (uint64_t) i);
    }
}

/* One of the two. */
static checkpoint_t *checkpoint_of(const simulation_t *sim, uint64_t step)
{
    size_t bytes = sizeof(checkpoint_t) + (size_t) sim->options->bodies * sizeof(body_t);

    return (checkpoint_t *) (sim->checkpoints + step % 2 * bytes);
}

static void open_checkpoints(simulation_t *sim)
{
    size_t bytes = sizeof(checkpoint_t) + (size_t) sim->options->bodies * sizeof(body_t);
    char name[4096];
    MPI_Info info;

    snprintf(name, sizeof(name), "%s.%d", sim->options->checkpoint, sim->rank);
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_type", "storage");
    MPI_Info_set(info, "storage_alloc_filename", name);
    MPI_Info_set(info, "ompi_osc_cached_mode", "off");
    MPI_Win_allocate((MPI_Aint) (2 * bytes), 1, info, sim->comm, &sim->checkpoints, &sim->saved);
    MPI_Info_free(&info);
    MPI_Win_set_name(sim->saved, "checkpoint");
    MPI_Win_lock_all(MPI_MODE_NOCHECK, sim->saved);
}

/* The newest step that all processes have; its bodies, or none. */
static uint64_t restore(simulation_t *sim)
{
    uint64_t newest = 0;

    for (uint64_t i = 0; i < 2; ++i) {
        const checkpoint_t *c = checkpoint_of(sim, i);

        if (0 < c->step
            && (c->processes != (uint64_t) sim->size
                || c->all != (uint64_t) sim->options->bodies)) {
            app_die("--checkpoint is of another number of processes or bodies", NULL);
        }
        newest = (newest < c->step) ? c->step : newest;
    }
    MPI_Allreduce(MPI_IN_PLACE, &newest, 1, MPI_UINT64_T, MPI_MIN, sim->comm);
    if (0 < newest) {
        const checkpoint_t *c = checkpoint_of(sim, newest);

        if (newest != c->step) {
            app_die("the files of --checkpoint are of different jobs", NULL);
        }
        sim->count = (int64_t) c->count;
        sim->bodies = app_allocate((size_t) sim->count * sizeof(body_t));
        memcpy(sim->bodies, c->bodies, (size_t) sim->count * sizeof(body_t));
    }
    return newest;
}

/* Each part is on the device before the next one is begun. */
static void save(simulation_t *sim, uint64_t step)
{
    checkpoint_t *c = checkpoint_of(sim, step);

    c->step = 0;
    MPI_Win_sync(sim->saved);
    c->processes = (uint64_t) sim->size;
    c->all = (uint64_t) sim->options->bodies;
    c->count = (uint64_t) sim->count;
    memcpy(c->bodies, sim->bodies, (size_t) sim->count * sizeof(body_t));
    MPI_Win_sync(sim->saved);
    c->step = step;
    MPI_Win_sync(sim->saved);
}

static void finish(simulation_t *sim)
{
    const octree_t *tree = sim->tree;
    int64_t cells = (tree->used - octree_first_cell(sim->count)) / (int64_t) sizeof(cell_t);
    uint64_t bits;

    for (int64_t i = 0; i < sim->count; ++i) {
        for (int d = 0; d < 3; ++d) {
            memcpy(&bits, &sim->bodies[i].position[d], sizeof(bits));
            sim->result.checksum += app_random_at(bits, 3 * sim->bodies[i].number + (uint64_t) d);
        }
    }
    sim->result.cells = (uint64_t) cells;
    for (int b = 0; b < OCTREE_BRANCHES; ++b) {
        sim->result.cells +=
            sim->rank == tree->owner[b] && 0 < tree->top[OCTREE_FIRST_BRANCH + b].bodies;
    }
    for (int i = 0; 0 == sim->rank && i < OCTREE_FIRST_BRANCH; ++i) {
        sim->result.cells += 0 < tree->top[i].bodies;
    }
    if (NULL != sim->cache) {
        sim->result.gets = sim->cache->gets;
        sim->result.bytes = sim->cache->bytes;
        sim->result.block_hits = sim->cache->hits;
        block_cache_free(sim->cache);
    }
    MPI_Win_unlock_all(sim->window);
    MPI_Win_free(&sim->window);
    if (MPI_WIN_NULL != sim->saved) {
        MPI_Win_unlock_all(sim->saved);
        MPI_Win_free(&sim->saved);
    }
    free(sim->tree);
    free(sim->bodies);
    free(sim->buffer);
}

/* Collective over comm: this process' part of the result. */
static result_t simulate(const options_t *options, MPI_Comm comm)
{
    const int longest = OCTREE_LEAF_BODIES * (int) sizeof(point_t);
    simulation_t sim = {.options = options, .comm = comm, .saved = MPI_WIN_NULL};
    block_cache_t cache;

    MPI_Comm_rank(comm, &sim.rank);
    MPI_Comm_size(comm, &sim.size);
    make_window(&sim);
    if (NULL != options->checkpoint && MPI_COMM_SELF != comm) {
        open_checkpoints(&sim);
        sim.result.resumed = restore(&sim);
    }
    if (0 == sim.result.resumed) {
        make_bodies(&sim);
    }
    sim.buffer = app_allocate((size_t) longest);
    if (0 == strcmp(options->cache, "block")) {
        cache = block_cache_make(sim.window, sim.tree->room, sim.size, options->cache_memory,
                                 options->cache_block, longest);
        sim.cache = &cache;
    }
    for (long step = (long) sim.result.resumed; step < options->steps; ++step) {
        build_tree(&sim);
        if (step + 1 == options->kill && sim.rank == sim.size - 1 && MPI_COMM_SELF != comm) {
            raise(SIGKILL);
        }
        double(*accelerations)[3] = find_forces(&sim);
        invalidate(&sim);
        move_bodies(&sim, accelerations);
        free(accelerations);
        if (MPI_WIN_NULL != sim.saved) {
            save(&sim, (uint64_t) step + 1);
        }
    }
    finish(&sim);
    return sim.result;
}

static void read_options(int argc, char **argv, options_t *options)
{
    const app_number_t numbers[] = {{"bodies", &options->bodies, 1, 100000000},
                                    {"steps", &options->steps, 1, 1000000},
                                    {"seed", &options->seed, 0, 1000000000},
                                    {"theta-percent", &options->theta_percent, 0, 100},
                                    {"cache-memory", &options->cache_memory, 1, 1L << 40},
                                    {"cache-block", &options->cache_block, 1, 1 << 20},
                                    {"check", &options->check, 0, 0},
                                    {"kill", &options->kill, 1, 1000000},
                                    {NULL, NULL, 0, 0}};
    const app_text_t texts[] = {
        {"cache", &options->cache}, {"checkpoint", &options->checkpoint}, {NULL, NULL}};

    app_read_arguments(argc, argv, numbers, texts,
                       "barnes_hut [--bodies=N] [--steps=N] [--seed=N] [--theta-percent=N] "
                       "[--cache=none|block] [--cache-memory=BYTES] [--cache-block=BYTES] "
                       "[--check] [--checkpoint=NAME] [--kill=N]");
    if (0 != strcmp(options->cache, "none") && 0 != strcmp(options->cache, "block")) {
        app_die("--cache is none or block", NULL);
    }
}

int main(int argc, char **argv)
{
    options_t options = {.bodies = 2000,
                         .steps = 2,
                         .seed = 1,
                         .theta_percent = 50,
                         .cache_memory = 1 << 20,
                         .cache_block = sizeof(cell_t),
                         .cache = "none"};
    bool right = true;

    app_begin(&argc, &argv, MPI_THREAD_SINGLE);
    read_options(argc, argv, &options);

    double start = MPI_Wtime();
    result_t mine = simulate(&options, MPI_COMM_WORLD);
    double total = app_slowest(MPI_Wtime() - start), force = app_slowest(mine.force_seconds);
    uint64_t checksum = app_sum(mine.checksum), cells = app_sum(mine.cells);

    app_report_count("bodies", (uint64_t) options.bodies);
    app_report_count("processes", (uint64_t) app_size);
    app_report_count("steps", (uint64_t) options.steps);
    if (NULL != options.checkpoint) {
        app_report_count("resumed", mine.resumed);
    }
    app_report_count("gets", app_sum(mine.gets));
    app_report_count("bytes", app_sum(mine.bytes));
    if (0 == strcmp(options.cache, "block")) {
        app_report_count("block_hits", app_sum(mine.block_hits));
    }
    app_report_count("cells", cells);
    app_report_count("checksum", checksum);
    app_report_seconds("force_seconds", force);
    app_report_seconds("body_seconds",
                       force * app_size / (double) options.bodies / (double) options.steps);
    app_report_seconds("communication_seconds", app_slowest(mine.communication_seconds));
    app_report_seconds("total_seconds", total);
    if (0 == app_rank && options.check) {
        result_t serial = simulate(&options, MPI_COMM_SELF);
        right = serial.checksum == checksum && serial.cells == cells;
    }
    return app_end(options.check, right);
}
