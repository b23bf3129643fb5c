/*
 * Random RMA programs without a race, checked byte for byte against a model. See fuzz.h and --help.
 *
 * A round: every window gets a kind of synchronisation, its epoch is opened, all actors carry out
 * their operations, the epoch is closed, and every rank adds what the others wrote to its model. No
 * more is done to order the rounds than MPI demands: fence after fence and post/start after
 * post/start have no barrier in between.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "fuzz.h"
#include <getopt.h>
#include <pthread.h>
#include <time.h>

struct options options = {.ops = 20000,
                          .per_round = 60,
                          .threads = 1,
                          .windows = 2,
                          .sync = (1 << SYNC_KINDS) - 1,
                          .window_bytes = 16384,
                          .get_bytes = 4096};
int fuzz_rank, fuzz_size;
static const char *const mode_names[] = {"transparent", "always", "user", "mixed", "off"};
static const char *const sync_names[] = {"fence", "pscw", "lock", "lock_all"};
static const char *const without_names[] = {"requests", "rgets", "accumulates", "get_accumulates",
                                            "atomics",  "puts",  "types",       "flush_locals"};
static struct actor *actors[MAX_THREADS];

void fuzz_fatal(const char *file, int line, const char *what, int rc)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len;

    MPI_Error_string(rc, text, &len);
    fprintf(stderr, "%s:%d: rank %d, seed %llu: %s: %s\n", file, line, fuzz_rank,
            (unsigned long long) options.seed, what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static void usage(void)
{
    puts("rma_fuzz: random RMA programs without a race, checked byte for byte\n"
         "  --seed=N           the program; 0: from the clock\n"
         "  --ops=N            operations over all ranks (20000)\n"
         "  --seconds=N        instead: as long as this\n"
         "  --per-round=N      operations of a thread between two synchronisations of all (60)\n"
         "  --mode=NAME        transparent, always, user, off, or mixed: another one now and then\n"
         "  --scope-flush      obey the rule of osc_cached_passive_scope=flush\n"
         "  --threads=N        1 to 4; more than 1: only lock_all epochs\n"
         "  --windows=N        1 to 4 at a time\n"
         "  --memory=NAME      create, allocate or both\n"
         "  --sync=LIST        of fence,pscw,lock,lock_all\n"
         "  --window-bytes=N   largest part of a window\n"
         "  --get-bytes=N      largest get\n"
         "  --info=KEY=VALUE   one more info key for every window; may be repeated\n"
         "  --changes          change info keys in the middle of everything\n"
         "  --flush-each       complete the operations of each target by a flush of that target\n"
         "  --files=DIR        windows of MPI_Win_allocate are on files in this directory\n"
         "  --cold             helpers find the bytes of most gets from files not in memory\n"
         "  --strided          accumulates with derived datatypes, too\n"
         "  --room             accumulates have more room, there or in results, than data\n"
         "  --without=LIST     of requests (but "
         "rget),rgets,accumulates,get_accumulates,atomics,puts,types,flush_locals\n"
         "  --break=model      expect one wrong byte: the run must fail\n"
         "  --break=foreign    mode always, although others write: the run must fail if bytes are "
         "kept");
}

static const char *info_keys[16];
static int info_key_count;

static int number_of(const char *name, const char *const *names, int n)
{
    for (int i = 0; i < n; ++i) {
        if (0 == strcmp(name, names[i])) {
            return i;
        }
    }
    fprintf(stderr, "rma_fuzz: unknown name %s\n", name);
    exit(2);
}

static void parse(int argc, char **argv)
{
    static const char *const memories[] = {"both", "create", "allocate"};
    static const char *const breaks[] = {"nothing", "model", "foreign"};
    static const struct option known[] = {{"seed", 1, NULL, 's'},
                                          {"ops", 1, NULL, 'o'},
                                          {"seconds", 1, NULL, 'n'},
                                          {"per-round", 1, NULL, 'p'},
                                          {"mode", 1, NULL, 'm'},
                                          {"scope-flush", 0, NULL, 'f'},
                                          {"threads", 1, NULL, 't'},
                                          {"windows", 1, NULL, 'w'},
                                          {"memory", 1, NULL, 'y'},
                                          {"sync", 1, NULL, 'k'},
                                          {"window-bytes", 1, NULL, 'b'},
                                          {"get-bytes", 1, NULL, 'g'},
                                          {"info", 1, NULL, 'i'},
                                          {"changes", 0, NULL, 'c'},
                                          {"flush-each", 0, NULL, 'e'},
                                          {"without", 1, NULL, 'u'},
                                          {"break", 1, NULL, 'x'},
                                          {"strided", 0, NULL, 'd'},
                                          {"files", 1, NULL, 'l'},
                                          {"room", 0, NULL, 'r'},
                                          {"help", 0, NULL, 'h'},
                                          {"cold", 0, NULL, 'a'},
                                          {NULL, 0, NULL, 0}};
    int c;

    while ((c = getopt_long(argc, argv, "", known, NULL)) >= 0) {
        switch (c) {
        case 's':
            options.seed = strtoull(optarg, NULL, 0);
            break;
        case 'o':
            options.ops = atol(optarg);
            break;
        case 'n':
            options.seconds = atoi(optarg);
            break;
        case 'p':
            options.per_round = atoi(optarg);
            break;
        case 'm':
            options.mode = number_of(optarg, mode_names, 5);
            break;
        case 'f':
            options.scope_flush = true;
            break;
        case 't':
            options.threads = atoi(optarg);
            break;
        case 'w':
            options.windows = atoi(optarg);
            break;
        case 'y':
            options.memory = number_of(optarg, memories, 3);
            break;
        case 'k':
            options.sync = 0;
            for (char *word = strtok(optarg, ","); NULL != word; word = strtok(NULL, ",")) {
                options.sync |= 1 << number_of(word, sync_names, SYNC_KINDS);
            }
            break;
        case 'b':
            options.window_bytes = strtoul(optarg, NULL, 0);
            break;
        case 'g':
            options.get_bytes = strtoul(optarg, NULL, 0);
            break;
        case 'i':
            if (NULL == strchr(optarg, '=') || info_key_count == 16) {
                fprintf(stderr, "rma_fuzz: --info=KEY=VALUE, at most 16\n");
                exit(2);
            }
            info_keys[info_key_count++] = optarg;
            break;
        case 'c':
            options.changes = true;
            break;
        case 'e':
            options.flush_each = true;
            break;
        case 'd':
            options.strided = true;
            break;
        case 'r':
            options.room = true;
            break;
        case 'l':
            options.files = optarg;
            break;
        case 'a':
            options.cold = true;
            break;
        case 'u':
            for (char *word = strtok(optarg, ","); NULL != word; word = strtok(NULL, ",")) {
                options.without |= 1 << number_of(word, without_names, WITHOUT_KINDS);
            }
            break;
        case 'x':
            options.broken = number_of(optarg, breaks, 3);
            break;
        case 'h':
            usage();
            exit(0);
        default:
            exit(2);
        }
    }
    if (options.flush_each) {
        options.sync &= 1 << SYNC_LOCK | 1 << SYNC_LOCK_ALL;
    }
    if (BREAK_FOREIGN == options.broken) {
        options.mode = MODE_ALWAYS;
    }
    if (options.threads < 1 || options.threads > MAX_THREADS || options.windows < 1
        || options.windows > MAX_WINDOWS || options.per_round < 2 || options.ops < 1
        || options.per_round > 2 * MAX_SCRIPT || 0 == options.sync || options.window_bytes < 1024
        || options.window_bytes > 1 << 20 || options.get_bytes < 1 || options.get_bytes > 1 << 16) {
        fprintf(stderr, "rma_fuzz: a number is out of range\n");
        exit(2);
    }
}

/* --- windows */

static void set_mode(MPI_Info info, int mode)
{
    OK(MPI_Info_set(info, "ompi_osc_cached_mode", mode_names[mode]));
}

static const char *file_of(const struct window *w)
{
    static char name[512];

    snprintf(name, sizeof(name), "%s/window.%llu.%d.%d", options.files,
             (unsigned long long) options.seed, w->index, fuzz_rank);
    return name;
}

/* What a freed window has left in its file; a component without such windows has none. */
static void check_file(const struct window *w)
{
    const struct part *mine = &w->part[fuzz_rank];
    FILE *file = fopen(file_of(w), "r");

    for (size_t i = 0; NULL != file && i < mine->bytes; ++i) {
        if (mine->now[i] != fgetc(file)) {
            fprintf(stderr, "rma_fuzz: rank %d: bytes differ in the file of window %d at %zu\n",
                    fuzz_rank, w->index, i);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    if (NULL != file) {
        fclose(file);
    }
}

static void make_window(struct window *w)
{
    struct part *mine;
    MPI_Info info;

    plan_window(w);
    mine = &w->part[fuzz_rank];
    OK(MPI_Info_create(&info));
    set_mode(info, w->mode);
    for (int i = 0; i < info_key_count; ++i) {
        char key[64];
        snprintf(key, sizeof(key), "%.*s", (int) strcspn(info_keys[i], "="), info_keys[i]);
        OK(MPI_Info_set(info, key, strchr(info_keys[i], '=') + 1));
    }
    if (NULL != options.files) {
        OK(MPI_Info_set(info, "alloc_type", "storage"));
        OK(MPI_Info_set(info, "storage_alloc_filename", file_of(w)));
    }
    if (w->allocated) {
        OK(MPI_Win_allocate(mine->bytes, mine->unit, info, MPI_COMM_WORLD, &w->base, &w->win));
    } else {
        w->base = w->memory; /* the same memory again: nothing old may come back */
        OK(MPI_Win_create(w->base, mine->bytes, mine->unit, info, MPI_COMM_WORLD, &w->win));
    }
    OK(MPI_Info_free(&info));
    OK(MPI_Win_set_errhandler(w->win, MPI_ERRORS_RETURN));
    if (mine->bytes > 0) {
        memcpy(w->base, mine->now, mine->bytes);
    }
    counters_open(w->index);
    for (int i = 0; i < options.threads; ++i) {
        actor_new_window(actors[i], w->index);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void free_window(struct window *w)
{
    const struct part *mine = &w->part[fuzz_rank];

    if (NULL != options.files && w->allocated) {
        /* short runs, too, write to files */
        OK(MPI_Win_lock_all(0, w->win));
        OK(MPI_Win_sync(w->win));
        OK(MPI_Win_unlock_all(w->win));
    }
    counters_close(w->index);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mine->bytes > 0 && 0 != memcmp(w->base, mine->now, mine->bytes)) {
        fprintf(stderr, "rma_fuzz: rank %d: the memory of window %d is not what was written\n",
                fuzz_rank, w->index);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    OK(MPI_Win_free(&w->win));
    if (NULL != options.files && w->allocated) {
        check_file(w);
    }
    plan_forget(w);
    ++w->life;
}

static void invalidate(struct window *w)
{
    MPI_Info info;

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "ompi_osc_cached_invalidate", "true"));
    OK(MPI_Win_set_info(w->win, info));
    OK(MPI_Info_free(&info));
}

/* Bytes have new owners. What is kept of them must be forgotten, where MPI's rules do not say so by
 * an invalidation, or, in mode mixed, by another mode. */
static void new_era(struct window *w)
{
    int before = w->mode;

    ++w->era;
    plan_owners(w);
    if (MODE_MIXED == options.mode) {
        rng_t rng = rng_make(FOR_OWNERS, 100 + w->index, (uint64_t) w->life << 32 | w->era);
        MPI_Info info;

        w->mode = (int[]){MODE_TRANSPARENT, MODE_ALWAYS, MODE_USER, MODE_OFF}[rng_below(&rng, 4)];
        OK(MPI_Info_create(&info));
        set_mode(info, w->mode);
        OK(MPI_Win_set_info(w->win, info));
        OK(MPI_Info_free(&info));
    }
    if (MODE_USER == options.mode || (MODE_MIXED == options.mode && before == w->mode)
        || (MODE_MIXED == options.mode && options.changes)) {
        invalidate(w);
    }
}

/* --- epochs */

static MPI_Group group_of(const struct window *w, bool targets, int *n)
{
    MPI_Group all, group;
    int ranks[MAX_RANKS];

    *n = 0;
    for (int r = 0; r < fuzz_size; ++r) {
        if (targets ? w->group[fuzz_rank][r] : w->group[r][fuzz_rank]) {
            ranks[(*n)++] = r;
        }
    }
    OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
    OK(MPI_Group_incl(all, *n, ranks, &group));
    OK(MPI_Group_free(&all));
    return group;
}

/* What MPI_Win_fence asserts of the epochs around it must be the same everywhere: shared. */
static void open_epoch(struct window *w, rng_t *rng, rng_t *shared)
{
    MPI_Group from, to;
    int origins, targets;

    switch (w->sync) {
    case SYNC_FENCE:
        if (!w->fence_open) {
            OK(MPI_Win_fence((rng_chance(shared, 50) ? MPI_MODE_NOPRECEDE : 0)
                                 | (w->read_only ? MPI_MODE_NOPUT : 0),
                             w->win));
        }
        break;
    case SYNC_PSCW:
        from = group_of(w, false, &origins);
        to = group_of(w, true, &targets);
        if (origins > 0) {
            OK(MPI_Win_post(from, w->read_only && rng_chance(rng, 50) ? MPI_MODE_NOPUT : 0,
                            w->win));
        }
        if (targets > 0) {
            OK(MPI_Win_start(to, 0, w->win));
        }
        OK(MPI_Group_free(&from));
        OK(MPI_Group_free(&to));
        break;
    case SYNC_LOCK_ALL:
        if (!w->lock_all_open) {
            OK(MPI_Win_lock_all(rng_chance(rng, 30) ? MPI_MODE_NOCHECK : 0, w->win));
            w->lock_all_open = true;
        }
        break;
    }
}

static void close_epoch(struct window *w, rng_t *rng, rng_t *shared)
{
    MPI_Group group;
    int n, done = 0;

    switch (w->sync) {
    case SYNC_FENCE:
        n = w->goes_on || rng_chance(shared, 30) ? 0 : MPI_MODE_NOSUCCEED;
        OK(MPI_Win_fence(n | (w->read_only && rng_chance(rng, 50) ? MPI_MODE_NOSTORE : 0), w->win));
        w->fence_open = w->goes_on;
        break;
    case SYNC_PSCW:
        group = group_of(w, true, &n);
        OK(MPI_Group_free(&group));
        if (n > 0) {
            OK(MPI_Win_complete(w->win));
        }
        group = group_of(w, false, &n);
        OK(MPI_Group_free(&group));
        if (n > 0) {
            for (int i = 0; i < 20 && !done && rng_chance(rng, 80); ++i) {
                OK(MPI_Win_test(w->win, &done));
            }
            if (!done) {
                OK(MPI_Win_wait(w->win));
            }
        }
        break;
    case SYNC_LOCK_ALL:
        if (!w->goes_on || rng_chance(rng, 20)) {
            OK(MPI_Win_unlock_all(w->win));
            w->lock_all_open = false;
        }
        break;
    }
    if (!is_passive(w->sync)) {
        actor_window_done(actors[0], w->index, SYNC_FENCE == w->sync ? "fence" : "complete");
    }
}

/* --- threads */

static pthread_barrier_t turn;
static int current_round;

static void *thread_main(void *arg)
{
    struct actor *a = arg;

    for (;;) {
        pthread_barrier_wait(&turn);
        if (current_round < 0) {
            return NULL;
        }
        actor_round(a, current_round);
        pthread_barrier_wait(&turn);
    }
}

static void act(int round)
{
    if (1 == options.threads) {
        actor_round(actors[0], round);
        return;
    }
    current_round = round;
    pthread_barrier_wait(&turn);
    if (round >= 0) {
        pthread_barrier_wait(&turn);
    }
}

/* --- rounds */

/* Add what the others wrote in this round. */
static void learn(int round)
{
    static struct write script[MAX_SCRIPT];

    for (int actor = 0; actor < fuzz_size * options.threads; ++actor) {
        if (actor / options.threads != fuzz_rank) {
            int n = plan_script(actor, round, script);
            for (int i = 0; i < n; ++i) {
                plan_apply(&script[i], NULL);
            }
        }
    }
}

static void one_round(int round)
{
    rng_t mine = rng_make(FOR_ACTOR, 1000 + fuzz_rank, round),
          shared = rng_make(FOR_ROUND, 1000, round);
    bool barrier = rng_chance(&shared, 10);

    for (int i = 0; i < options.windows; ++i) {
        plan_round(&windows[i], round);
    }
    for (int i = 0; i < options.windows; ++i) {
        open_epoch(&windows[i], &mine, &shared);
    }
    act(round);
    learn(round);
    for (int i = 0; i < options.windows; ++i) {
        struct window *w = &windows[i];

        close_epoch(w, &mine, &shared);
        barrier = barrier || is_passive(w->sync)
                  || (SYNC_PSCW == w->sync && is_passive(plan_sync(w, round + 1)));
    }
    if (barrier) {
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    for (int i = 0; i < options.windows; ++i) {
        if (plan_ends_life(&windows[i], round)) {
            free_window(&windows[i]);
            make_window(&windows[i]);
        } else if (plan_ends_era(&windows[i], round)) {
            new_era(&windows[i]);
        }
    }
}

/* One more round?  Rank 0's clock is asked now and then only: its word orders the ranks. */
static bool goes_on(int round)
{
    static double end;
    int more = 1;

    if (0 == options.seconds) {
        return round <= options.ops / ((long) options.per_round * fuzz_size * options.threads);
    }
    if (0 == round) {
        end = MPI_Wtime() + options.seconds;
    }
    if (0 == round % 16) {
        more = MPI_Wtime() < end;
        OK(MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
    return more;
}

static int finish(int rounds)
{
    const char *names[16];
    long count[16] = {0}, all[16], ops = 0, wrong = 0, mine[2], sum[2], bad;
    int n = 0;

    for (int i = 0; i < options.threads; ++i) {
        ops += actor_ops(actors[i], names, count, 16, &n);
        wrong += actor_wrong(actors[i]);
        actor_free(actors[i]);
    }
    mine[0] = ops;
    mine[1] = wrong;
    OK(MPI_Allreduce(mine, sum, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    OK(MPI_Reduce(count, all, n, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD));
    bad = counters_print(stdout);
    if (0 == fuzz_rank) {
        printf("operations %ld rounds %d wrong %ld:", sum[0], rounds, sum[1]);
        for (int i = 0; i < n; ++i) {
            printf(" %s %ld", names[i], all[i]);
        }
        printf("\n");
        fflush(stdout);
    }
    return sum[1] > 0 || bad > 0;
}

int main(int argc, char **argv)
{
    pthread_t thread[MAX_THREADS];
    int provided, wanted, rounds, rc;

    parse(argc, argv);
    wanted = options.threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, wanted, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &fuzz_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &fuzz_size);
    if (fuzz_size > MAX_RANKS || provided < wanted) {
        fprintf(stderr, "rma_fuzz: at most %d ranks, thread level %d is needed\n", MAX_RANKS,
                wanted);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (0 == options.seed) {
        options.seed = (uint64_t) time(NULL);
    }
    OK(MPI_Bcast(&options.seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
    if (0 == fuzz_rank) {
        printf("seed %llu\n", (unsigned long long) options.seed);
        fflush(stdout);
    }
    layout_init();
    counters_init();
    for (int i = 0; i < options.threads; ++i) {
        actors[i] = actor_make(i);
    }
    for (int i = 0; i < options.windows; ++i) {
        windows[i].index = i;
        windows[i].memory = malloc(options.window_bytes + 8);
        make_window(&windows[i]);
    }
    if (options.threads > 1) {
        pthread_barrier_init(&turn, NULL, options.threads + 1);
        for (int i = 0; i < options.threads; ++i) {
            pthread_create(&thread[i], NULL, thread_main, actors[i]);
        }
    }
    for (rounds = 0; goes_on(rounds); ++rounds) {
        one_round(rounds);
    }
    for (int i = 0; i < options.windows; ++i) {
        struct window *w = &windows[i];
        if (w->fence_open) {
            OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
        }
        if (w->lock_all_open) {
            OK(MPI_Win_unlock_all(w->win));
        }
        free_window(w);
        free(w->memory);
    }
    if (options.threads > 1) {
        act(-1);
        for (int i = 0; i < options.threads; ++i) {
            pthread_join(thread[i], NULL);
        }
        pthread_barrier_destroy(&turn);
    }
    rc = finish(rounds);
    layout_finish();
    counters_finish();
    MPI_Finalize();
    return rc;
}
