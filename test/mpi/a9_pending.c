/* A9: entries whose get is on its way are neither served nor driven out, however small the cache is
 * and while it grows and shrinks.
 *
 * test: for=osc-cached needs=cache cache="entries=16 window_memory=4K adaptive=0" ranks=2 transport=shm,tcp
 * test: for=osc-cached needs=cache cache="entries=16 window_memory=4K interval=16" ranks=2 transport=shm,tcp
 * test: for=osc-cached needs=cache cache="entries=64 window_memory=16K scheme=temporal sample=1" ranks=2
 *
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "counters.h"

enum { BYTES = 1 << 16, GETS = 1500, ROUNDS = 8, LONGEST = 700 };

static unsigned char buf[GETS][LONGEST];
static struct {
    int at, n;
} get[GETS];

static unsigned char value(int at)
{
    return (unsigned char) (at * 11 + (at >> 7));
}

static void round_of_gets(MPI_Win win, unsigned *seed)
{
    int most;

    memset(buf, 0xee, sizeof(buf));
    for (int k = 0; k < GETS; ++k) {
        if (k > 0 && 0 == rand_r(seed) % 3) { /* again, a little longer or shorter */
            get[k] = get[rand_r(seed) % k];
            get[k].n = 1 + (get[k].n + rand_r(seed) % 40) % LONGEST;
        } else {
            get[k].at = rand_r(seed) % (BYTES - 2 * LONGEST);
            most = rand_r(seed) % 4 ? 64 : LONGEST - 1;
            get[k].n = 1 + rand_r(seed) % most;
        }
        OK(MPI_Get(buf[k], get[k].n, MPI_BYTE, 1, get[k].at, get[k].n, MPI_BYTE, win));
        if (0 == rand_r(seed) % 400) {
            OK(MPI_Win_flush_local(1, win));
        }
    }
    OK(MPI_Win_flush(1, win));
    for (int k = 0; k < GETS; ++k) {
        for (int i = 0; i < LONGEST; ++i) {
            unsigned char want = i < get[k].n ? value(get[k].at + i) : 0xee;
            CHECK(want == buf[k][i], "get %d, %d bytes at %d: byte %d is %d, wanted %d", k,
                  get[k].n, get[k].at, i, buf[k][i], want);
        }
    }
}

int main(int argc, char **argv)
{
    unsigned char *base;
    unsigned seed = 4711;

    test_init(&argc, &argv);
    for (int always = 0; always < 2; ++always) {
        struct counters c;
        MPI_Win win = keyed_window(NULL, BYTES, 1, &base, "ompi_osc_cached_mode",
                                   always ? "always" : "user", NULL);

        counters_open(&c, &win);
        for (int i = 0; i < BYTES; ++i) {
            base[i] = value(i);
        }
        test_barrier();
        OK(MPI_Win_lock_all(0, win));
        if (0 == test_rank) {
            for (int round = 0; round < ROUNDS; ++round) {
                round_of_gets(win, &seed);
                if (!always) {
                    test_set_key(win, "ompi_osc_cached_invalidate", "true");
                }
            }
            CHECK(counter(&c, "joins") > 0, "%s: no get waited for another", "all");
            CHECK(counter(&c, "evictions") + counter(&c, "failing") > 0,
                  "%s: the cache was never full", "all");
            counters_add_up(&c);
        }
        test_barrier();
        OK(MPI_Win_unlock_all(win));
        counters_close(&c);
        OK(MPI_Win_free(&win));
    }
    return test_done();
}
