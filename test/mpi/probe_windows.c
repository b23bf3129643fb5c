/* For test/mpi/selection: makes one window of each kind, reads through those that have memory, and
 * prints how that went; no test by itself.
 *
 * One line per kind: "create: ok", "create: error class N" or "create: wrong"; with -DDEVEL
 * (developer headers) and components that are DSOs also the file that frees the window (osc/cached
 * leaves MPI_Get to the component under it where nothing is cached), and the file that serves
 * MPI_Get. Then the libraries of one-sided communication that are loaded, ours left out.
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifdef DEVEL
#define _GNU_SOURCE
#include "ompi_config.h"
#include "ompi/mca/osc/osc.h"
#include "ompi/win/win.h"
#include <dlfcn.h>
#endif
#include "test.h"

#ifdef DEVEL
static const char *file_of(void *function)
{
    Dl_info info;
    const char *name;

    if (0 != dladdr(function, &info) && NULL != info.dli_fname) {
        name = strrchr(info.dli_fname, '/');
        name = NULL == name ? info.dli_fname : name + 1;
        if (0 == strncmp(name, "mca_osc_", 8)) {
            return name;
        }
    }
    return "";
}
#endif

static void servers(MPI_Win win)
{
#ifdef DEVEL
    ompi_osc_base_module_t *module = ((struct ompi_win_t *) win)->w_osc_module;

    printf("%s get %s", file_of((void *) module->osc_free), file_of((void *) module->osc_get));
#endif
    (void) win;
}

/* Whether every process can read what another one has; memory: of this process, NULL: none. */
static int reads(MPI_Win win, int *memory)
{
    int other = (test_rank + 1) % test_size, got = -1, wrong;

    if (NULL == memory) {
        return 1;
    }
    OK(MPI_Win_fence(0, win));
    memory[1] = 1000 + test_rank;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get(&got, 1, MPI_INT, other, sizeof(int), 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    wrong = 1000 + other != got;
    OK(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    return !wrong;
}

static void report(const char *kind, int rc, MPI_Win *win, int *memory)
{
    int class = 0, right;

    MPI_Error_class(rc, &class);
    if (MPI_SUCCESS != rc) {
        if (0 == test_rank) {
            printf("%s: error class %d%s\n", kind, class,
                   MPI_ERR_WIN == class ? " (MPI_ERR_WIN)" : "");
        }
        return;
    }
    right = reads(*win, memory);
    if (0 == test_rank) {
        printf("%s: %s ", kind, right ? "ok" : "wrong");
        servers(*win);
        printf("\n");
    }
    MPI_Win_free(win);
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

static void libraries(void)
{
    char line[4096], *seen[64];
    int n = 0;
    FILE *maps = fopen("/proc/self/maps", "r");

    while (NULL != maps && NULL != fgets(line, sizeof(line), maps) && n < 64) {
        char *name = strrchr(line, '/');
        int known = 0;
        if (NULL == name || (NULL == strstr(name, "mca_osc_") && NULL == strstr(name, "libuc"))
            || NULL != strstr(name, "cached")) {
            continue;
        }
        name[strcspn(name, "\n")] = '\0';
        for (int i = 0; i < n; ++i) {
            known |= 0 == strcmp(seen[i], name + 1);
        }
        if (!known) {
            seen[n++] = strdup(name + 1);
        }
    }
    if (NULL != maps) {
        fclose(maps);
    }
    qsort(seen, n, sizeof(seen[0]), compare);
    printf("loaded:");
    for (int i = 0; i < n; ++i) {
        printf(" %s", seen[i]);
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    int memory[4], *base = NULL, rc;
    MPI_Win win = MPI_WIN_NULL;

    test_init(&argc, &argv);
    report("create", MPI_Win_create(memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win),
           &win, memory);
    rc = MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    report("allocate", rc, &win, base);
    report("dynamic", MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win), &win, NULL);
    rc = MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    report("shared", rc, &win, base);
    if (0 == test_rank) {
        libraries();
    }
    return test_done();
}
