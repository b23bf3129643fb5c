/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The locks of several targets: a Spin model, see README.md.  The state of a lock is that of osc_cached_lock.h.
 *
 * Sharers have shared locks of several targets at the same time: in an epoch of MPI_Win_lock_all first that of their own memory
 * and then the others in any order, by several threads at the same time, or those of MPI_Win_lock in any order.  Writers have one
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
#ifndef TELLS
#define TELLS 0 /* sharers end an epoch when the next one has told that it has its locks */
#endif

/* The rule that is broken on purpose */

#ifndef BREAK
#define BREAK 0
#endif
#define PATIENT  1 /* shared requests never overtake exclusive ones */
#define TOGETHER 2 /* an exclusive lock is granted beside shared ones */
#define KEPT     3 /* a lock that is given back is not passed on */
#define BESIDE   4 /* shared requests overtake an exclusive holder, too */

#define SHARED    0
#define EXCLUSIVE 1
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

/* osc_cached_lock_try, osc_cached_lock_wait */
inline ask(at, origin, form)
{
    atomic {
        if
        :: POSSIBLE(at, form) && locks[at].waits == 0 -> grant(at, origin, form)
        :: else ->
            locks[at].who[locks[at].waits] = origin;
            locks[at].kind[locks[at].waits] = (form);
            locks[at].waits++
        fi
    }
}

/* Who waits at this place has the lock. */
inline serve(at, place)
{
    first = locks[at].who[place];
    its = locks[at].kind[place];
    grant(at, first, its);
    locks[at].waits--;
    i = place;
    do
    :: i < locks[at].waits -> locks[at].who[i] = locks[at].who[i + 1]; locks[at].kind[i] = locks[at].kind[i + 1]; i++
    :: else -> locks[at].who[i] = 0; locks[at].kind[i] = 0; break
    od;
    i = 0;
    first = 0;
    its = 0
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
        :: locks[at].waits > 0 && POSSIBLE(at, locks[at].kind[0]) && BREAK != KEPT -> serve(at, 0)
        :: else -> break
        od
    }
}

/* osc_cached_lock_overtake: who waits may be old at any time */
#define OLD(t, n) :: atomic { n < locks[t].waits && locks[t].kind[n] == SHARED && (!locks[t].exclusive || BREAK == BESIDE) \
                              && BREAK != PATIENT -> serve(t, n) }
#define ALL_OLD(t) OLD(t, 0) OLD(t, 1) OLD(t, 2) OLD(t, 3) OLD(t, 4)

active proctype age()
{
    byte i, first, its;

end:
    do
    ALL_OLD(0)
    ALL_OLD(1)
#if TARGETS > 2
    ALL_OLD(2)
#endif
#if TARGETS > 3
    ALL_OLD(3)
#endif
    od
}

byte told[SHARERS]; /* epochs in which it had its locks */

#define ASKS(t)                                                                                    \
    :: !asked[t] && asks < THREADS && (!OWN || mine[me % TARGETS] || t == me % TARGETS) ->         \
        ask(t, me, SHARED); asked[t] = true; asks++                                                \
    :: asked[t] && !mine[t] && locks[t].has[me] -> mine[t] = true; taken++; asks--

proctype sharer(byte me)
{
    byte i, first, its, t, taken, asks, epochs;
    bool mine[TARGETS], asked[TARGETS];

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
        told[me]++;
        !TELLS || me + 1 == SHARERS || told[me + 1] > epochs;
        t = 0;
        do
        :: t < TARGETS ->
            if
            :: mine[t] -> release(t, me); mine[t] = false; asked[t] = false; taken--
            :: else
            fi;
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
