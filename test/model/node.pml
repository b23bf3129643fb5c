/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One cache for the processes of a node: hits without a lock, changes under one, death of its owner,
 * growth, own writes and invalidations: a Spin model, see README.md. The steps are those of
 * mca-osc-cached/node/core/osc_cached_shared.{h,c}.
 *
 * Two keys with a line each, an arena of one unit that grows to two, and two words per unit, so that
 * bytes can be torn. A word tells its key and the version of the target's memory that it was fetched at.
 */

/* The configuration, chosen by test/model/run */

#ifndef FETCHERS
#define FETCHERS 1 /* processes */
#endif
#ifndef FETCHES
#define FETCHES 2 /* in all */
#endif
#ifndef CHANGES
#define CHANGES 1 /* own writes and invalidations, in all */
#endif
#ifndef STORES
#define STORES 1 /* of processes on other nodes, that nobody is told of */
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef UNITS
#define UNITS 1 /* 2: the arena may grow */
#endif

/* The rule that is broken on purpose */

#ifndef BREAK
#define BREAK 0
#endif
#define ODD     1  /* a line that is being changed is served */
#define AGAIN   2  /* the sequence number is not read again after the copy */
#define EMPTIED 3  /* units are written over before the line that has them is emptied */
#define STAMP   4  /* a hit does not look at the generation */
#define OWN     5  /* an own write makes no new generation */
#define WRITING 6  /* what is fetched is kept while somebody writes */
#define ASKED   7  /* who fetches asks for writers before it reads the generation */
#define TOLD    8  /* who writes makes the new generation before it is counted */
#define RECOVER 9  /* recovery makes odd lines even, and keeps them */
#define GROWTH  10 /* the arena is larger before it has the memory */
#define BYTES   11 /* the line is written before the bytes */
#define FRESH   12 /* the stamp is read when the bytes are kept, not before they are fetched */
#define MOVED   13 /* a line that moves keeps its sequence number */

#ifndef PROBE
#define PROBE 0
#endif

/* --- State ------------------------------------------------------------------------------------ */

byte memory;     /* version of the target's memory */
byte least;      /* that a hit may still return */
byte generation;
byte writing;    /* own writes on their way */

byte lock;       /* 0: free; 1: taken; 2: its owner has died */
byte sequence[2], key[2], stamp[2], unit[2]; /* lines; the line of key k is k - 1; key 0: empty */
byte owner[2];   /* of units: line plus 1 */
byte first[2], second[2]; /* words of the arena */
byte limit = 1;
bool has[2];     /* a unit has memory */

byte fetches, changes, stores, deaths, recoveries, moves;

#define WORD(k, version) ((k) * 16 + (version))
#define IS_OLDER(word, version) ((word) % 16 < (version))

/* --- A process that hits ---------------------------------------------------------------------- */

active proctype reader()
{
    byte k, before, own, mark, place, a, b, begun;
    bool again;

end:
    do
    :: true ->
        again = false;
        if
        :: k = 1
        :: k = 2
        fi;
        begun = least;
retry:
        before = sequence[k - 1];
        d_step {
            own = key[k - 1];
            mark = stamp[k - 1];
            place = unit[k - 1]
        };
        if
        :: before % 2 == 1 && BREAK != ODD -> goto miss
        :: else
        fi;
        if
        :: own != k || place >= limit -> goto miss
        :: else
        fi;
        if
        :: mark != generation && BREAK != STAMP -> goto miss
        :: else
        fi;
        assert(has[place]); /* else a signal */
        a = first[place];
        b = second[place];
        if
        :: before == sequence[k - 1] || BREAK == AGAIN ->
            assert(a == b);              /* torn */
            assert(a / 16 == k);         /* another key's */
            assert(!IS_OLDER(a, begun)); /* too old */
            assert(PROBE != 1);
            assert(PROBE != 2 || recoveries == 0);
            assert(PROBE != 3 || place == 0);
            assert(PROBE != 4 || !again);
            assert(PROBE != 5 || moves == 0 || k == 2)
        :: else ->
            if
            :: !again ->
                again = true;
                goto retry
            :: else
            fi
        fi;
miss:
        skip
    od
}

/* --- Processes that miss, fetch and keep ------------------------------------------------------ */

#define MAY_DIE                                          \
    if                                                   \
    :: deaths < DEATHS ->                                \
        deaths++;                                        \
        lock = 2;                                        \
        goto over                                        \
    :: true                                              \
    fi

/* Each is a process of its own after a death. */
proctype fetcher()
{
    byte k, mark, bytes, place, line;
    bool busy;

end:
    do
    :: atomic { fetches < FETCHES -> fetches++ };
        if
        :: k = 1
        :: k = 2
        fi;
        if
        :: BREAK == ASKED -> busy = writing > 0
        :: else
        fi;
        mark = generation;
        if
        :: BREAK != ASKED -> busy = writing > 0
        :: else
        fi;
        if
        :: busy && BREAK != WRITING -> goto over
        :: else
        fi;
        bytes = WORD(k, memory);
        if
        :: BREAK == FRESH -> mark = generation
        :: else
        fi;
        if
        :: atomic { lock == 0 -> lock = 1 }
        :: atomic { lock == 2 -> lock = 1 };
            /* recovery */
            line = 0;
            do
            :: line < 2 ->
                MAY_DIE;
                if
                :: sequence[line] % 2 == 1 && BREAK != RECOVER ->
                    key[line] = 0;
                    sequence[line]++
                :: sequence[line] % 2 == 1 && BREAK == RECOVER -> sequence[line]++
                :: else
                fi;
                line++
            :: else -> break
            od;
            atomic {
                owner[0] = 0;
                owner[1] = 0;
                if
                :: key[0] != 0 -> owner[unit[0]] = 1
                :: else
                fi;
                if
                :: key[1] != 0 ->
                    assert(owner[unit[1]] == 0 || BREAK != 0);
                    owner[unit[1]] = 2
                :: else
                fi
            };
            recoveries = 1
        :: lock == 1 -> goto over /* not kept */
        fi;
        if
        :: key[k - 1] == k && stamp[k - 1] == mark -> goto unlock /* another was first */
        :: else
        fi;
        /* the key's old entry leaves */
        if
        :: key[k - 1] != 0 ->
            sequence[k - 1]++;
            MAY_DIE;
            key[k - 1] = 0;
            sequence[k - 1]++;
            owner[unit[k - 1]] = 0
        :: else
        fi;
        /* room */
        if
        :: owner[0] != 0 && limit < UNITS ->
            if
            :: BREAK == GROWTH -> limit = 2
            :: else
            fi;
            MAY_DIE;
            has[1] = true;
            limit = 2
        :: true
        fi;
        if
        :: place = 0
        :: limit == 2 -> place = 1
        fi;
        if
        :: owner[place] != 0 && BREAK != EMPTIED ->
            line = owner[place] - 1;
            sequence[line]++;
            MAY_DIE;
            key[line] = 0;
            sequence[line]++;
            owner[place] = 0
        :: else
        fi;
        if
        :: limit == 2 && owner[place] == 0 && owner[1 - place] != 0 ->
            /* the line that is there moves here */
            line = owner[1 - place] - 1;
            sequence[line] = sequence[line] + (BREAK != MOVED);
            first[place] = first[1 - place];
            MAY_DIE;
            second[place] = second[1 - place];
            owner[1 - place] = 0;
            owner[place] = line + 1;
            MAY_DIE;
            unit[line] = place;
            sequence[line] = sequence[line] + (BREAK != MOVED);
            place = 1 - place;
            moves = 1
        :: true
        fi;
        if
        :: BREAK == BYTES -> goto write
        :: else
        fi;
copy:
        assert(has[place]);
        first[place] = bytes;
        MAY_DIE;
        second[place] = bytes;
        if
        :: BREAK == BYTES -> goto unlock
        :: BREAK == EMPTIED && owner[place] != 0 ->
            line = owner[place] - 1;
            sequence[line]++;
            key[line] = 0;
            sequence[line]++
        :: else
        fi;
write:
        owner[place] = k;
        MAY_DIE;
        sequence[k - 1]++;
        key[k - 1] = k;
        MAY_DIE;
        stamp[k - 1] = mark;
        unit[k - 1] = place;
        sequence[k - 1]++;
        if
        :: BREAK == BYTES -> goto copy
        :: else
        fi;
unlock:
        lock = 0;
over:
        skip
    od
}

/* --- Writes ----------------------------------------------------------------------------------- */

proctype program()
{
    byte version;

end:
    do
    :: atomic { changes < CHANGES -> changes++ };
        if
        :: true -> /* an own write */
            if
            :: BREAK == TOLD -> generation++; writing++
            :: BREAK == OWN -> writing++
            :: else -> writing++; generation++
            fi;
            memory++;
            version = memory;
            least = version; /* own reads from now on, which go past the cache until it is complete */
            writing--
        :: true -> /* an invalidation */
            version = memory;
            generation++;
            d_step {
                if
                :: version > least -> least = version
                :: else
                fi
            }
        fi
    :: atomic { stores < STORES -> stores++; memory++ }
    od
}

init {
    atomic {
        has[0] = true;
        run fetcher();
#if FETCHERS > 1
        run fetcher();
#endif
        run program()
    }
}
