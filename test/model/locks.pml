/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The locks of several targets: a Spin model, see README.md.  The state of a lock is that of osc_cached_lock.h.
 *
 * Sharers have shared locks of several targets at the same time: in an epoch of MPI_Win_lock_all first that of their own memory
 * and then the others in any order, by several threads at the same time, or those of MPI_Win_lock in any order.  Others have one
 * exclusive lock at a time.
 */

/* The configuration, chosen by test/model/run */

#ifndef TARGETS
#define TARGETS 2
#endif
#ifndef SHARERS
#define SHARERS 2
#endif
#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef OWN
#define OWN 1 /* sharers begin with their own memory: MPI_Win_lock_all */
#endif
#ifndef EPOCHS
#define EPOCHS 1
#endif
#ifndef FIRST
#define FIRST 0 /* target of writers */
#endif
#ifndef THREADS
#define THREADS 1 /* of a sharer: so many locks at most are asked for at the same time */
#endif

/* The rule that is broken on purpose */

#ifndef BREAK
#define BREAK 0
#endif
#define PATIENT  1 /* who has other locks waits its turn */
#define AGAIN    4 /* and comes again for ever */
#define BEHIND   5 /* and waits behind others while there is an exclusive holder */
#define TOGETHER 2 /* an exclusive lock is granted beside shared ones */
#define KEPT     3 /* a lock that is given back is not passed on */

#define SHARED    0
#define EXCLUSIVE 1
#define ANOTHER   2
#define URGENT    3
#define EVERYBODY (SHARERS + WRITERS)

typedef lock_t {
    byte shared;
    bool exclusive;
    byte waits;                 /* how many */
    byte who[EVERYBODY];
    byte kind[EVERYBODY];
    bool has[EVERYBODY]
};
lock_t locks[TARGETS];

#define POSSIBLE(n, k) (!locks[n].exclusive && (locks[n].shared == 0 || (k) != EXCLUSIVE || BREAK == TOGETHER))

inline grant(at, origin, form)
{
    if
    :: (form) == EXCLUSIVE -> assert(locks[at].shared == 0 && !locks[at].exclusive); locks[at].exclusive = true
    :: else -> assert(!locks[at].exclusive); locks[at].shared++
    fi;
    locks[at].has[origin] = true
}

/* osc_cached_lock_try, osc_cached_lock_again, osc_cached_lock_wait; comes: the answer was to come again */
inline ask(at, origin, form)
{
    atomic {
        if
        :: POSSIBLE(at, form) && (locks[at].waits == 0 || (form) == URGENT) -> grant(at, origin, form); comes = false
        :: else ->
            if
            :: (form) == ANOTHER && !locks[at].exclusive && BREAK != PATIENT -> comes = true
            :: else ->
                i = locks[at].waits;
                do /* who has other locks waits before all */
                :: i > 0 && (form) >= ANOTHER && BREAK != PATIENT && BREAK != BEHIND ->
                    locks[at].who[i] = locks[at].who[i - 1];
                    locks[at].kind[i] = locks[at].kind[i - 1];
                    i--
                :: else -> break
                od;
                locks[at].who[i] = origin;
                locks[at].kind[i] = (form);
                locks[at].waits++;
                i = 0;
                comes = false
            fi
        fi
    }
}

/* osc_cached_lock_release, osc_cached_lock_next */
inline release(at, origin)
{
    atomic {
        assert(locks[at].has[origin]);
        locks[at].has[origin] = false;
        if
        :: locks[at].exclusive -> locks[at].exclusive = false
        :: else -> locks[at].shared--
        fi;
        do
        :: locks[at].waits > 0 && POSSIBLE(at, locks[at].kind[0]) && BREAK != KEPT ->
            first = locks[at].who[0];
            its = locks[at].kind[0];
            grant(at, first, its);
            locks[at].waits--;
            i = 0;
            do
            :: i < locks[at].waits -> locks[at].who[i] = locks[at].who[i + 1]; locks[at].kind[i] = locks[at].kind[i + 1]; i++
            :: else -> locks[at].who[i] = 0; locks[at].kind[i] = 0; break
            od;
            i = 0;
            first = 0;
            its = 0
        :: else -> break
        od
    }
}

#define ASKS(t)                                                                                    \
    :: !asked[t] && asks < THREADS && (!OWN || mine[me % TARGETS] || t == me % TARGETS)            \
       && !(urgent[t] && BREAK == AGAIN && locks[t].waits > 0) ->                                  \
        ask(t, me, (taken == 0 -> SHARED : (urgent[t] && BREAK != AGAIN -> URGENT : ANOTHER)));    \
        urgent[t] = comes; asked[t] = !comes; asks = asks + !comes                                 \
    :: asked[t] && !mine[t] && locks[t].has[me] -> mine[t] = true; taken++; asks--

proctype sharer(byte me)
{
    byte i, first, its, t, taken, asks, epochs;
    bool mine[TARGETS], asked[TARGETS], urgent[TARGETS], comes;

    do
    :: epochs < EPOCHS ->
        do
        ASKS(0)
        ASKS(1)
#if TARGETS > 2
        ASKS(2)
#endif
#if TARGETS > 3
        ASKS(3)
#endif
        :: asks == 0 && (taken == TARGETS || (!OWN && taken > 0)) -> break
        od;
        t = 0;
        do
        :: t < TARGETS ->
            if
            :: mine[t] -> release(t, me); mine[t] = false; asked[t] = false; taken--
            :: else
            fi;
            urgent[t] = false;
            t++
        :: else -> break
        od;
        t = 0;
        epochs++
    :: else -> break
    od
}

proctype writer(byte me; byte target)
{
    byte i, first, its, epochs;
    bool comes;

    do
    :: epochs < EPOCHS ->
        ask(target, me, EXCLUSIVE);
        locks[target].has[me];
        assert(locks[target].shared == 0);
        release(target, me);
        epochs++
    :: else -> break
    od
}

init {
    byte p;

    atomic {
        do
        :: p < SHARERS -> run sharer(p); p++
        :: else -> break
        od;
        p = 0;
        do
        :: p < WRITERS -> run writer(SHARERS + p, FIRST + p % (TARGETS - FIRST)); p++
        :: else -> break
        od
    }
}
