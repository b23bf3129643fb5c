/* For test/mpi/selection: makes one window of each kind and prints how that went; no test by
 * itself.
 *
 * One line per kind: "create: ok" or "create: error class N"; with -DDEVEL (developer headers) and
 * components that are DSOs also the file that frees the window (osc/cached leaves MPI_Get to the
 * component under it where nothing is cached), and the file that serves MPI_Get. Then the libraries of one-sided
 * communication that are loaded, ours left out.
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

static void report(const char *kind, int rc, MPI_Win *win)
{
    int class = 0;

    MPI_Error_class(rc, &class);
    if (MPI_SUCCESS != rc) {
        if (0 == test_rank) {
            printf("%s: error class %d%s\n", kind, class,
                   MPI_ERR_WIN == class ? " (MPI_ERR_WIN)" : "");
        }
        return;
    }
    if (0 == test_rank) {
        printf("%s: ok ", kind);
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
    int memory[4], *base;
    MPI_Win win = MPI_WIN_NULL;

    test_init(&argc, &argv);
    report("create", MPI_Win_create(memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win),
           &win);
    report("allocate", MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), &win);
    report("dynamic", MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win), &win);
    report("shared", MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win),
           &win);
    if (0 == test_rank) {
        libraries();
    }
    return test_done();
}
