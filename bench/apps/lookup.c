/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Random lookups in a hash table that is spread over the processes, with MPI one-sided
 * communication.
 *
 *     mpirun -np 2 lookup [--log2-slots=N] [--lookups=N] [--warm-up=N] [--seed=N]
 *                         [--batch=N] [--updates=N] [--fence] [--allocate] [--check]
 *
 * The table has 2^log2-slots slots, half of them in use, in buckets of 64 bytes, split by blocks
 * over the processes.  Each process looks up random keys, one half of which are in the table, and
 * fetches the bucket where a key should be, and the next one when that is full.  Every key is as
 * likely as every other: with a table that is much larger than a cache there is nothing to keep.
 * That is what the program is for: a cache cannot help here, and must not hurt.
 *
 * --lookups=N is the number of lookups of each process, --warm-up=N that of others before them that
 * are neither timed nor counted.  --batch=N: so many of them are under way together.  --updates=N:
 * each process also changes N values of others meanwhile, and looks whether it then sees what it
 * has changed.  --fence: a fence ends each batch, as in the simplest one-sided programs; otherwise
 * one epoch of MPI_Win_lock_all and flushes.  --allocate: the table is in memory from
 * MPI_Win_allocate, which processes of one node read directly, instead of MPI_Win_create.  --check
 * compares with a serial run on rank 0.
 *
 * Plain MPI-3 RMA; knows nothing of any cache.
 *
 * What is printed: slots, lookups and updates (of all processes), processes, gets, found, checksum
 * over the values found, and of the slowest process lookup_seconds and total_seconds (with the
 * making of the table).
 */

#include "app.h"

#include <limits.h>

enum { SLOTS = 4 }; /* of a bucket: 64 bytes */

/* A value is the number of its key, and above it how often it was changed. */
#define CHANGE (UINT64_C(1) << 40)

typedef struct {
    uint64_t key, value; /* number 0: the slot is empty */
} slot_t;

static uint64_t number_of(const slot_t *slot)
{
    return slot->value % CHANGE;
}

typedef struct {
    slot_t slot[SLOTS];
} bucket_t;

/* Displacements are in words. */
enum { WORDS = sizeof(bucket_t) / sizeof(uint64_t) };

typedef struct {
    long log2_slots, lookups, warm_up, seed, batch, updates, fence, allocate, check;
} options_t;

/* The buckets of one process; without a window: all of them, for the serial run. */
typedef struct {
    uint64_t buckets, block; /* in all, and in each process (the last ones may have fewer) */
    uint64_t first, count;   /* mine */
    uint64_t used;           /* slots of mine */
    bucket_t *bucket;
    MPI_Win window;
} table_t;

/* A lookup under way. */
typedef struct {
    uint64_t number, key, at; /* at: the bucket to look into */
    bucket_t bucket;
} lookup_t;

typedef struct {
    uint64_t gets, updates, found, checksum;
} result_t;

/* The i-th of the keys of a table; each number is another key. */
static uint64_t key_at(const options_t *o, uint64_t i)
{
    return app_random_at((uint64_t) o->seed, i);
}

/* A key that is too much for its bucket goes to the next one of the same process. */
static uint64_t next_bucket(const table_t *t, uint64_t at)
{
    uint64_t first = at / t->block * t->block;
    uint64_t end = first + t->block < t->buckets ? first + t->block : t->buckets;

    return at + 1 < end ? at + 1 : first;
}

static void insert(table_t *t, uint64_t key, uint64_t value)
{
    uint64_t at = key % t->buckets;

    if (at - t->first >= t->count) {
        return;
    }
    if (++t->used == t->count * SLOTS) { /* a search ends at an empty slot */
        app_die("the table is too small for so many processes", "a larger --log2-slots is needed");
    }
    for (;; at = next_bucket(t, at)) {
        for (slot_t *slot = t->bucket[at - t->first].slot, *end = slot + SLOTS; slot < end;
             ++slot) {
            if (0 == number_of(slot)) {
                *slot = (slot_t){key, value};
                return;
            }
        }
    }
}

/* The part of some processes, from rank on, still without memory. */
static table_t plan_table(const options_t *o, uint64_t rank, uint64_t processes)
{
    table_t t = {.buckets = (UINT64_C(1) << o->log2_slots) / SLOTS, .window = MPI_WIN_NULL};
    uint64_t end;

    t.block = (t.buckets + (uint64_t) app_size - 1) / (uint64_t) app_size;
    end = (rank + processes) * t.block;
    t.first = rank * t.block < t.buckets ? rank * t.block : t.buckets;
    t.count = (end < t.buckets ? end : t.buckets) - t.first;
    return t;
}

/* Every process makes all keys and keeps those that belong to it. */
static void fill_table(const options_t *o, table_t *t)
{
    uint64_t keys = t->buckets * SLOTS / 2;

    memset(t->bucket, 0, t->count * sizeof(*t->bucket));
    for (uint64_t i = 0; i < keys; ++i) {
        insert(t, key_at(o, i), i + 1);
    }
}

/* Looks into the bucket that was fetched.  False: the key may be in the next one. */
static bool look(const table_t *t, lookup_t *lookup, result_t *result)
{
    for (int i = 0; i < SLOTS; ++i) {
        const slot_t *slot = &lookup->bucket.slot[i];

        if (0 == number_of(slot)) {
            return true;
        }
        if (slot->key == lookup->key) {
            ++result->found;
            result->checksum += app_random_at(number_of(slot), lookup->number);
            return true;
        }
    }
    lookup->at = next_bucket(t, lookup->at);
    return false;
}

/* Another process' bucket is on its way until the next synchronisation. */
static void fetch(const table_t *t, lookup_t *lookup, result_t *result)
{
    if (lookup->at - t->first < t->count) {
        lookup->bucket = t->bucket[lookup->at - t->first];
        return;
    }
    MPI_Get(&lookup->bucket, sizeof(bucket_t), MPI_BYTE, (int) (lookup->at / t->block),
            (MPI_Aint) (lookup->at % t->block) * WORDS, sizeof(bucket_t), MPI_BYTE, t->window);
    ++result->gets;
}

/* Changes some value of another process, and looks at it. */
static void update(const options_t *o, const table_t *t, uint64_t number)
{
    const uint64_t change = CHANGE;
    uint64_t at = app_random_at((uint64_t) o->seed + 1, number) % t->buckets, before, after;
    MPI_Aint word;
    int rank;

    while (at - t->first < t->count) {
        at = (at + t->block) % t->buckets;
    }
    rank = (int) (at / t->block);
    word = (MPI_Aint) (at % t->block * WORDS + number % SLOTS * 2 + 1);
    MPI_Fetch_and_op(&change, &before, MPI_UINT64_T, rank, word, MPI_SUM, t->window);
    MPI_Win_flush(rank, t->window);
    MPI_Get(&after, 1, MPI_UINT64_T, rank, word, 1, MPI_UINT64_T, t->window);
    MPI_Win_flush(rank, t->window);
    if (after / CHANGE <= before / CHANGE) {
        app_die("a value is older than this process' own change of it", NULL);
    }
}

/* A batch of lookups, until all are done; with fences, until those of all processes are. */
static void look_up_batch(const options_t *o, const table_t *t, lookup_t *batch, long count,
                          result_t *result)
{
    long more = count;

    while (0 < more) {
        long left = 0;

        for (long i = 0; i < count; ++i) {
            fetch(t, &batch[i], result);
        }
        if (o->fence) {
            MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT, t->window);
        } else if (MPI_WIN_NULL != t->window) {
            MPI_Win_flush_all(t->window);
        }
        for (long i = 0; i < count; ++i) {
            if (!look(t, &batch[i], result)) {
                batch[left++] = batch[i];
            }
        }
        count = more = left;
        if (o->fence) {
            MPI_Allreduce(MPI_IN_PLACE, &more, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
        }
    }
}

static result_t look_up_all(const options_t *o, const table_t *t, uint64_t number, long lookups)
{
    const uint64_t first = number;
    const uint64_t updates = MPI_WIN_NULL == t->window ? 0 : (uint64_t) o->updates;
    lookup_t *batch = app_allocate((size_t) o->batch * sizeof(*batch));
    result_t result = {0, 0, 0, 0};

    for (long done = 0; done < lookups; done += o->batch) {
        long count = lookups - done < o->batch ? lookups - done : o->batch;

        for (long i = 0; i < count; ++i, ++number) {
            uint64_t dice = app_random_at(~(uint64_t) o->seed, number);
            uint64_t key = key_at(o, dice % (t->buckets * SLOTS));

            batch[i] = (lookup_t){.number = number, .key = key, .at = key % t->buckets};
        }
        look_up_batch(o, t, batch, count, &result);
        /* evenly among the lookups */
        while (result.updates * (uint64_t) lookups < updates * (uint64_t) (done + count)) {
            update(o, t, first + result.updates++);
        }
    }
    free(batch);
    return result;
}

static uint64_t first_number(const options_t *o, int rank)
{
    return (uint64_t) rank * (uint64_t) o->lookups;
}

/* The lookups of all processes in a table that is here as a whole. */
static result_t serial_run(const options_t *o)
{
    options_t serial = *o;
    table_t t = plan_table(o, 0, (uint64_t) app_size);
    result_t all = {0, 0, 0, 0};

    serial.fence = 0;
    t.bucket = app_allocate(t.count * sizeof(*t.bucket));
    fill_table(o, &t);
    for (int rank = 0; rank < app_size; ++rank) {
        result_t result = look_up_all(&serial, &t, first_number(o, rank), o->lookups);
        all.found += result.found;
        all.checksum += result.checksum;
    }
    free(t.bucket);
    return all;
}

static void read_options(int argc, char **argv, options_t *o)
{
    const app_number_t numbers[] = {{"log2-slots", &o->log2_slots, 4, 34},
                                    {"lookups", &o->lookups, 1, LONG_MAX / 65536},
                                    {"warm-up", &o->warm_up, 0, LONG_MAX / 65536},
                                    {"seed", &o->seed, 0, LONG_MAX},
                                    {"batch", &o->batch, 1, 1000000},
                                    {"updates", &o->updates, 0, 1000000},
                                    {"fence", &o->fence, 0, 0},
                                    {"allocate", &o->allocate, 0, 0},
                                    {"check", &o->check, 0, 0},
                                    {NULL, NULL, 0, 0}};

    app_read_arguments(argc, argv, numbers, NULL,
                       "lookup [--log2-slots=N] [--lookups=N] [--warm-up=N] [--seed=N] [--batch=N] "
                       "[--updates=N] [--fence] [--allocate] [--check]");
    if (0 < o->updates && (o->fence || 2 > app_size)) {
        app_die("--updates needs two processes, and no --fence", "leave one of them out");
    }
}

/* Collective: the memory of the table and its window. */
static void expose_table(const options_t *o, table_t *t)
{
    MPI_Aint bytes = (MPI_Aint) (t->count * sizeof(bucket_t));

    if (o->allocate) {
        MPI_Win_allocate(bytes, sizeof(uint64_t), MPI_INFO_NULL, MPI_COMM_WORLD, &t->bucket,
                         &t->window);
    } else {
        t->bucket = app_allocate((size_t) bytes);
        MPI_Win_create(t->bucket, bytes, sizeof(uint64_t), MPI_INFO_NULL, MPI_COMM_WORLD,
                       &t->window);
    }
    MPI_Win_set_name(t->window, "table");
}

/* How often values of this process were changed. */
static uint64_t count_changes(const table_t *t)
{
    uint64_t changes = 0;

    for (uint64_t i = 0; i < t->count * SLOTS; ++i) {
        changes += t->bucket[i / SLOTS].slot[i % SLOTS].value / CHANGE;
    }
    return changes;
}

/* Collective: makes the table, looks everything up, and reports. */
static result_t distributed_run(const options_t *o)
{
    double start = MPI_Wtime(), seconds;
    table_t table = plan_table(o, (uint64_t) app_rank, 1), *t = &table;
    result_t warm_up, result, all;
    uint64_t changes;

    expose_table(o, t);
    fill_table(o, t);
    app_connect(t->window, t->count * sizeof(bucket_t));
    if (o->fence) {
        MPI_Win_fence(MPI_MODE_NOPRECEDE, t->window);
    } else {
        MPI_Win_lock_all(MPI_MODE_NOCHECK, t->window);
    }
    warm_up = look_up_all(o, t, UINT64_MAX / 2, o->warm_up);
    MPI_Barrier(MPI_COMM_WORLD);
    seconds = MPI_Wtime();
    result = look_up_all(o, t, first_number(o, app_rank), o->lookups);
    seconds = MPI_Wtime() - seconds;
    if (o->fence) {
        MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOSUCCEED, t->window);
    } else {
        MPI_Win_unlock_all(t->window);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_lock(MPI_LOCK_SHARED, app_rank, 0, t->window);
    changes = count_changes(t);
    MPI_Win_unlock(app_rank, t->window);
    MPI_Win_free(&t->window);
    if (!o->allocate) {
        free(t->bucket);
    }

    if (app_sum(changes) != app_sum(warm_up.updates + result.updates)) {
        app_die("changes of values are missing, or there are too many", NULL);
    }
    all.gets = app_sum(result.gets);
    all.updates = app_sum(result.updates);
    all.found = app_sum(result.found);
    all.checksum = app_sum(result.checksum);
    app_report_count("slots", t->buckets * SLOTS);
    app_report_count("lookups", (uint64_t) o->lookups * (uint64_t) app_size);
    app_report_count("updates", all.updates);
    app_report_count("processes", (uint64_t) app_size);
    app_report_count("gets", all.gets);
    app_report_count("found", all.found);
    app_report_count("checksum", all.checksum);
    app_report_seconds("lookup_seconds", app_slowest(seconds));
    app_report_seconds("total_seconds", app_slowest(MPI_Wtime() - start));
    return all;
}

int main(int argc, char **argv)
{
    options_t o = {.log2_slots = 22, .lookups = 100000, .seed = 1, .batch = 16};
    bool right = true;

    app_begin(&argc, &argv, MPI_THREAD_SINGLE);
    read_options(argc, argv, &o);

    result_t all = distributed_run(&o);
    if (o.check && 0 == app_rank) {
        result_t serial = serial_run(&o);
        right = serial.found == all.found && serial.checksum == all.checksum;
    }
    return app_end(o.check, right);
}
