/*
 * Random receives, messages, probes and cancels, checked against a naive model of MPI's order. See
 * match.h and --help.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "match.h"
#include <getopt.h>
#include <pthread.h>
#include <time.h>

enum { ROUNDS = 6 }; /* in the life of communicators */

struct options options = {.ops = 50000,
                          .threads = 1,
                          .depth = 4000,
                          .bytes = 300000,
                          .wild = 50,
                          .free_waves = 30,
                          .limit = 30};
int match_rank, match_size;
static struct actor actors[MAX_THREADS];

void match_fatal(const char *file, int line, const char *what, int rc)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len;

    MPI_Error_string(rc, text, &len);
    fprintf(stderr, "%s:%d: rank %d, seed %llu: %s: %s\n", file, line, match_rank,
            (unsigned long long) options.seed, what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

double match_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static void usage(void)
{
    puts("match_fuzz: random receives, messages, probes and cancels, checked against a model\n"
         "  --seed=N           the program; 0: from the clock\n"
         "  --ops=N            operations over all ranks, about (50000)\n"
         "  --threads=N        1 to 4, some communicators of their own and some shared (1)\n"
         "  --depth=N          longest queue of a communicator, about (4000)\n"
         "  --bytes=N          largest message (300000)\n"
         "  --wild=PERCENT     up to so many receives for any source, and for any tag (50)\n"
         "  --free=PERCENT     waves with receives and messages at the same time (30)\n"
         "  --limit=SECONDS    for what has to happen (30)\n"
         "  --info=KEY=VALUES  an info key of communicators, with one of these (joined by commas)\n"
         "  --break=order      one rank sends in another order: the run must fail\n"
         "  --break=data       one rank sends another byte: the run must fail");
}

static void parse(int argc, char **argv)
{
    static const struct option known[] = {
        {"seed", 1, NULL, 's'},  {"ops", 1, NULL, 'o'},   {"threads", 1, NULL, 't'},
        {"depth", 1, NULL, 'd'}, {"bytes", 1, NULL, 'b'}, {"wild", 1, NULL, 'w'},
        {"free", 1, NULL, 'f'},  {"limit", 1, NULL, 'l'}, {"info", 1, NULL, 'i'},
        {"break", 1, NULL, 'x'}, {"help", 0, NULL, 'h'},  {NULL, 0, NULL, 0}};
    int c;

    while ((c = getopt_long(argc, argv, "", known, NULL)) >= 0) {
        switch (c) {
        case 's':
            options.seed = strtoull(optarg, NULL, 0);
            break;
        case 'o':
            options.ops = atol(optarg);
            break;
        case 't':
            options.threads = atoi(optarg);
            break;
        case 'd':
            options.depth = atoi(optarg);
            break;
        case 'b':
            options.bytes = atoi(optarg);
            break;
        case 'w':
            options.wild = atoi(optarg);
            break;
        case 'f':
            options.free_waves = atoi(optarg);
            break;
        case 'l':
            options.limit = atoi(optarg);
            break;
        case 'i':
            options.info_key = strtok(optarg, "=");
            options.info_values = strtok(NULL, "=");
            break;
        case 'x':
            options.broken = 0 == strcmp(optarg, "order")  ? BREAK_ORDER
                             : 0 == strcmp(optarg, "data") ? BREAK_DATA
                                                           : BREAKS;
            break;
        case 'h':
            usage();
            exit(0);
        default:
            exit(2);
        }
    }
    if (options.ops < 1 || options.threads < 1 || options.threads > MAX_THREADS || options.depth < 1
        || options.bytes < 1 || options.bytes > MAX_BYTES || options.wild < 0 || options.wild > 100
        || options.free_waves < 0 || options.free_waves > 100 || options.limit < 1
        || BREAKS == options.broken || (NULL != options.info_key && NULL == options.info_values)) {
        fprintf(stderr, "match_fuzz: a value is out of range (see --help)\n");
        exit(2);
    }
}

/* --- communicators */

/* One of the values of --info, the same on every rank. */
static MPI_Info comm_info(int first_round, int which)
{
    rng_t rng = plan_stream(FOR_COMM, 0, first_round, 0, which);
    const char *value = options.info_values;
    int values = 1;
    MPI_Info info;
    char text[64];

    for (const char *c = value; '\0' != *c; ++c) {
        values += ',' == *c;
    }
    for (int n = (int) rng_below(&rng, values); n > 0; --n) {
        value = strchr(value, ',') + 1;
    }
    snprintf(text, sizeof(text), "%.*s", (int) strcspn(value, ","), value);
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, options.info_key, text));
    return info;
}

/* All ranks, the other way round. */
static void make_reversed(MPI_Comm *comm)
{
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -match_rank, comm));
}

/* Lower and upper half. */
static void make_inter(MPI_Comm *comm)
{
    int upper = match_rank >= match_size / 2;
    MPI_Comm half;

    OK(MPI_Comm_split(MPI_COMM_WORLD, upper, match_rank, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : match_size / 2, 99, comm));
    OK(MPI_Comm_free(&half));
}

static void make_split(MPI_Comm *comm)
{
    OK(MPI_Comm_split(MPI_COMM_WORLD, match_rank % 2, match_rank, comm));
}

static void make_self(MPI_Comm *comm)
{
    OK(MPI_Comm_dup(MPI_COMM_SELF, comm));
}

static void make_dup(MPI_Comm *comm)
{
    OK(MPI_Comm_dup(MPI_COMM_WORLD, comm));
}

static const struct {
    const char *name;
    void (*make)(MPI_Comm *comm);
} kinds[MAX_CHANNELS] = {{"duplicate of world", make_dup},
                         {"world, reversed", make_reversed},
                         {"every second rank", make_split},
                         {"intercommunicator", make_inter},
                         {"duplicate of self", make_self}};

/* `comm`: made by another thread, or MPI_COMM_NULL. */
static void channel_open(struct channel *ch, int thread, int index, int first_round, bool shared,
                         MPI_Comm comm)
{
    MPI_Group world, group;
    int inter, ranks[MAX_RANKS];

    *ch = (struct channel){.kind = kinds[index].name, .thread = thread, .index = index};
    ch->shared = shared;
    ch->tag_step = ch->shared ? options.threads : 1;
    ch->tag_first = ch->shared ? thread : 0;
    ch->comm = comm;
    if (MPI_COMM_NULL == comm) {
        kinds[index].make(&ch->comm);
        if (NULL != options.info_key) {
            MPI_Info info = comm_info(first_round, thread * MAX_CHANNELS + index);
            MPI_Comm without = ch->comm;

            OK(MPI_Comm_dup_with_info(without, info, &ch->comm)); /* a key may count only then */
            OK(MPI_Comm_free(&without));
            OK(MPI_Info_free(&info));
        }
        OK(MPI_Comm_set_errhandler(ch->comm, MPI_ERRORS_RETURN));
    }
    OK(MPI_Comm_test_inter(ch->comm, &inter));
    if (inter) {
        OK(MPI_Comm_remote_group(ch->comm, &group));
    } else {
        OK(MPI_Comm_group(ch->comm, &group));
    }
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_size(group, &ch->peers));
    for (int p = 0; p < ch->peers; ++p) {
        ranks[p] = p;
    }
    OK(MPI_Group_translate_ranks(group, ch->peers, ranks, world, ch->world));
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&world));
}

/* With threads: they share the first two kinds. */
static void open_all(int first_round)
{
    for (int t = 0; t < options.threads; ++t) {
        struct actor *a = &actors[t];

        a->thread = t;
        a->first_round = first_round;
        a->rounds = ROUNDS;
        a->num_channels = 0;
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &a->control));
        for (int k = 0; k < MAX_CHANNELS; ++k) {
            bool shared = options.threads > 1 && k < 2;

            channel_open(&a->channels[k], t, k, first_round, shared,
                         shared && t > 0 ? actors[0].channels[k].comm : MPI_COMM_NULL);
        }
        a->num_channels = MAX_CHANNELS;
    }
}

static void close_all(void)
{
    for (int t = 0; t < options.threads; ++t) {
        for (int k = 0; k < actors[t].num_channels; ++k) {
            if (!actors[t].channels[k].shared || 0 == t) {
                OK(MPI_Comm_free(&actors[t].channels[k].comm));
            }
        }
        OK(MPI_Comm_free(&actors[t].control));
    }
}

static void run_all(void)
{
    pthread_t threads[MAX_THREADS];

    for (int t = 1; t < options.threads; ++t) {
        if (0 != pthread_create(&threads[t], NULL, actor_run, &actors[t])) {
            match_fatal(__FILE__, __LINE__, "pthread_create", MPI_ERR_OTHER);
        }
    }
    actor_run(&actors[0]);
    for (int t = 1; t < options.threads; ++t) {
        pthread_join(threads[t], NULL);
    }
}

static long total(long sum[OPS], long deepest[2])
{
    long mine[OPS] = {0}, deep[2] = {0}, all = 0;

    for (int t = 0; t < options.threads; ++t) {
        for (int i = 0; i < OPS; ++i) {
            mine[i] += actors[t].ops[i];
        }
        for (int i = 0; i < 2; ++i) {
            deep[i] = deep[i] > actors[t].deepest[i] ? deep[i] : actors[t].deepest[i];
        }
    }
    OK(MPI_Allreduce(mine, sum, OPS, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    OK(MPI_Allreduce(deep, deepest, 2, MPI_LONG, MPI_MAX, MPI_COMM_WORLD));
    for (int i = 0; i < OPS; ++i) {
        all += sum[i];
    }
    return all;
}

int main(int argc, char **argv)
{
    long sum[OPS], deepest[2], all;
    int provided, wanted;

    parse(argc, argv);
    wanted = options.threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, wanted, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &match_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &match_size);
    if (match_size < 2 || match_size > MAX_RANKS || provided < wanted) {
        fprintf(stderr, "match_fuzz: 2 to %d ranks and thread level %d are needed\n", MAX_RANKS,
                wanted);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (0 == options.seed) {
        options.seed = (uint64_t) time(NULL);
    }
    OK(MPI_Bcast(&options.seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
    plan_init();
    int round = 0;
    do {
        open_all(round);
        run_all();
        close_all();
        round += ROUNDS;
        all = total(sum, deepest);
    } while (all < options.ops);
    if (0 == match_rank) {
        printf("operations %ld rounds %d wrong 0: sends %ld receives %ld probes %ld cancels %ld "
               "collectives %ld posted %ld unexpected %ld\n",
               all, round, sum[SENDS], sum[RECEIVES], sum[PROBES], sum[CANCELS], sum[COLLECTIVES],
               deepest[0], deepest[1]);
    }
    MPI_Finalize();
    return 0;
}
