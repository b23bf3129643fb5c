/*
 * vGASNet's Figs 8, 9 and 10: all processes but the owner read one segment, which is a file, in
 * order or at random, and put single bytes to one block of it. The segment fits into the pool of
 * each reader, or is 2 or 4 times as large. What the owner reads does not stay in its memory. Of a
 * pass of all readers,
 *
 *     ms       until the last one is through
 *     blocks   that the owner had to read from its file
 *     sent     blocks that readers sent each other
 *
 * with private pools, the paper's policy and ours (osc_cached_cooperate); of a put and its flush,
 * the time, with nothing cached ("GASNet"), too. All read the block before every tenth put.
 *
 *     cooperate [--rounds=N] [--file=NAME] [--delay=MICROSECONDS]
 *
 * The delay is added to each read of a file that waits: storage that is slow beside the network, on
 * a machine where messages are slow, too.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "micro.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BLOCK = 65536, POOL = 16, LARGEST = 4 * POOL, WORDS = BLOCK / 8 };
enum { PUTS = 100, PUTS_PER_READ = 10, READS = 8 }; /* more than an owner turns away */
enum { PRIVATE, PAPER, AUTO, OFF, POLICIES };

static const char *const policies[] = {"private", "paper", "auto", "off"};

/* A segment of so many blocks, with one policy. */
struct segment {
    int blocks, file;
    long *base;
    MPI_Win win;
    MPI_T_pvar_handle reads, sent, invalidations;
    double *ms, *read, *forwarded, *ns;
};

static int processes;
static long *got, delay;

/* In the place of the C library's. */
ssize_t pread(int file, void *to, size_t bytes, off_t from)
{
    if (0 < delay) {
        usleep((useconds_t) delay);
    }
    return (ssize_t) syscall(SYS_pread64, file, to, bytes, from);
}

static MPI_T_pvar_handle open_counter(MPI_Win *win, const char *name)
{
    MPI_T_pvar_handle handle;
    int count;

    OK(MPI_T_pvar_handle_alloc(micro_session, micro_find_pvar(name), win, &handle, &count));
    return handle;
}

/* Over all processes. */
static double count(MPI_T_pvar_handle handle)
{
    unsigned long mine = 0, all = 0;

    OK(MPI_T_pvar_read(micro_session, handle, &mine));
    OK(MPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD));
    return (double) all;
}

static void make(struct segment *s, int blocks, int policy, long rounds)
{
    MPI_Aint bytes = (0 == micro_rank) ? (MPI_Aint) blocks * BLOCK : BLOCK;
    char path[4096], pool[32];
    MPI_Info info;

    snprintf(path, sizeof(path), "%s.%s.%d.%d", micro_option("file", "/tmp/cooperate-bench"),
             policies[policy], blocks, micro_rank);
    snprintf(pool, sizeof(pool), "%d", POOL * BLOCK);
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "alloc_type", "storage"));
    OK(MPI_Info_set(info, "storage_alloc_filename", path));
    OK(MPI_Info_set(info, "storage_alloc_unlink", "true"));
    OK(MPI_Info_set(info, "ompi_osc_cached_mode", (OFF == policy) ? "off" : "coherent"));
    OK(MPI_Info_set(info, "ompi_osc_cached_stores", "sync"));
    OK(MPI_Info_set(info, "ompi_osc_cached_cooperate", policies[policy]));
    OK(MPI_Info_set(info, "ompi_osc_cached_adaptive", "false"));
    OK(MPI_Info_set(info, "ompi_osc_cached_memory", pool));
    *s = (struct segment){.blocks = blocks, .file = -1};
    OK(MPI_Win_allocate(bytes, sizeof(long), info, MPI_COMM_WORLD, &s->base, &s->win));
    OK(MPI_Info_free(&info));
    if (0 == micro_rank) {
        for (int i = 0; i < blocks * WORDS; ++i) {
            s->base[i] = i;
        }
        s->file = open(path, O_RDWR);
        if (-1 == s->file || 0 != fsync(s->file)
            || 0 != madvise(s->base, (size_t) bytes, MADV_DONTNEED)) {
            perror(path);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    OK(MPI_Win_fence(0, s->win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, s->win));
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, s->win));
    s->reads = open_counter(&s->win, "osc_cached_file_read_waits");
    s->sent = open_counter(&s->win, "osc_cached_cooperate_forwards");
    s->invalidations = open_counter(&s->win, "osc_cached_coherence_invalidations");
    s->ms = micro_memory((size_t) rounds * sizeof(double));
    s->read = micro_memory((size_t) rounds * sizeof(double));
    s->forwarded = micro_memory((size_t) rounds * sizeof(double));
    s->ns = micro_memory((size_t) rounds * sizeof(double));
}

static void destroy(struct segment *s)
{
    OK(MPI_T_pvar_handle_free(micro_session, &s->reads));
    OK(MPI_T_pvar_handle_free(micro_session, &s->sent));
    OK(MPI_T_pvar_handle_free(micro_session, &s->invalidations));
    OK(MPI_Win_unlock_all(s->win));
    OK(MPI_Win_free(&s->win));
    if (-1 != s->file) {
        close(s->file);
    }
    free(s->ms);
    free(s->read);
    free(s->forwarded);
    free(s->ns);
}

/* All wait for all; what the owner has read meanwhile leaves its memory. */
static void wait_for_all(struct segment *s)
{
    MPI_Request request;
    int done = 0;

    OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    while (!done) {
        if (0 == micro_rank) {
            (void) posix_fadvise(s->file, 0, 0, POSIX_FADV_DONTNEED);
            usleep(50);
        }
        OK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    }
}

static void pass(struct segment *s, bool random, long round, bool counts)
{
    double reads = count(s->reads), sent = count(s->sent), begin;

    OK(MPI_Barrier(MPI_COMM_WORLD));
    begin = micro_now_ns();
    for (int i = 0; 0 < micro_rank && i < s->blocks; ++i) {
        int block = random ? rand() % s->blocks : i;

        OK(MPI_Get(got, WORDS, MPI_LONG, 0, (MPI_Aint) block * WORDS, WORDS, MPI_LONG, s->win));
        OK(MPI_Win_flush(0, s->win));
        if ((long) block * WORDS != got[0] || (long) (block + 1) * WORDS - 1 != got[WORDS - 1]) {
            fprintf(stderr, "wrong bytes in block %d\n", block);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    wait_for_all(s);
    if (counts) {
        s->ms[round] = (micro_now_ns() - begin) / 1e6;
        s->read[round] = count(s->reads) - reads;
        s->forwarded[round] = count(s->sent) - sent;
    }
}

static void reading(int blocks, bool random, long rounds)
{
    const char *order = random ? "at random" : "in order";
    struct segment s[OFF];
    char what[64];

    for (int i = 0; i < OFF; ++i) {
        make(&s[i], blocks, i, rounds);
        pass(&s[i], random, 0, false);
    }
    for (long round = 0; round < rounds; ++round) {
        for (int i = 0; i < OFF; ++i) {
            pass(&s[i], random, round, true);
        }
    }
    for (int i = 0; 0 == micro_rank && i < OFF; ++i) {
        snprintf(what, sizeof(what), "%s, %s", order, policies[i]);
        micro_print("cooperate", what, (size_t) blocks * BLOCK, "pass", "ms", s[i].ms, rounds);
        micro_print("cooperate", what, (size_t) blocks * BLOCK, "read", "blocks", s[i].read,
                    rounds);
        micro_print("cooperate", what, (size_t) blocks * BLOCK, "sent", "blocks", s[i].forwarded,
                    rounds);
    }
    for (int i = PAPER; 0 == micro_rank && i < OFF; ++i) {
        snprintf(what, sizeof(what), "%s, private/%s", order, policies[i]);
        micro_print_ratio("cooperate", what, (size_t) blocks * BLOCK, "pass", s[PRIVATE].ms,
                          s[i].ms, 1, 0, rounds);
    }
    for (int i = 0; i < OFF; ++i) {
        destroy(&s[i]);
    }
    fflush(stdout);
}

/* All have the block again, where it is kept: who has put to it lets go when it was asked for. */
static void read_again(struct segment *s)
{
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; 0 < micro_rank && i < READS; ++i) {
        OK(MPI_Get(got, WORDS, MPI_LONG, 0, 0, WORDS, MPI_LONG, s->win));
        OK(MPI_Win_flush(0, s->win));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Each puts to a byte of its own; now and then all read the block. @return ns of one put, over all
 * who put */
static double put_and_read(struct segment *s)
{
    double spent = 0, all = 0;
    char byte = 1;

    for (int k = 0; k < PUTS; ++k) {
        double begin;

        if (0 == k % PUTS_PER_READ) {
            read_again(s);
        }
        if (0 < micro_rank) {
            begin = micro_now_ns();
            OK(MPI_Put(&byte, 1, MPI_BYTE, 0, micro_rank, 1, MPI_BYTE, s->win));
            OK(MPI_Win_flush(0, s->win));
            spent += micro_now_ns() - begin;
        }
    }
    OK(MPI_Reduce(&spent, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD));
    return all / PUTS / (processes - 1);
}

static void putting(long rounds)
{
    struct segment s[POLICIES];
    char what[64];

    for (int i = 0; i < POLICIES; ++i) {
        make(&s[i], POOL, i, rounds);
    }
    for (long round = 0; round < rounds; ++round) {
        for (int i = 0; i < POLICIES; ++i) {
            s[i].ns[round] = put_and_read(&s[i]);
        }
    }
    /* who puts needs no message for its own copy */
    for (int i = 0; 2 < processes && i < OFF; ++i) {
        if (0 == count(s[i].invalidations)) {
            fprintf(stderr, "%s: nothing was invalidated\n", policies[i]);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    for (int i = 0; 0 == micro_rank && i < POLICIES; ++i) {
        micro_print("cooperate", policies[i], 1, "put", "ns", s[i].ns, rounds);
        if (i < OFF) {
            snprintf(what, sizeof(what), "%s/off", policies[i]);
            micro_print_ratio("cooperate", what, 1, "put", s[i].ns, s[OFF].ns, 1, 0, rounds);
        }
    }
    for (int i = 0; i < POLICIES; ++i) {
        destroy(&s[i]);
    }
}

int main(int argc, char **argv)
{
    long rounds;

    micro_init_thread(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    rounds = micro_positive("rounds", 11);
    delay = micro_number("delay", 0);
    got = micro_memory(BLOCK);
    srand(1 + (unsigned) micro_rank);
    for (int random = 0; random < 2; ++random) {
        for (int blocks = POOL / 2; blocks <= LARGEST; blocks *= (POOL / 2 == blocks) ? 4 : 2) {
            reading(blocks, random, rounds);
        }
    }
    if (0 == delay) { /* a put reads its page first, too */
        putting(rounds);
    }
    free(got);
    return micro_done();
}
