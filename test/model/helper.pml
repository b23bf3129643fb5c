/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sessions, order, acknowledgements and locks between two origins and the helper at a target: a Spin
 * model, see README.md.  The states are those of osc_cached_account.h, osc_cached_server.h and osc_cached_lock.h.
 *
 * The network delivers each message once, at any time and in any order.  What the server holds until its
 * turn comes is a message that has not been delivered yet.
 */

/* The configuration, chosen by test/model/run */

#ifndef ORIGINS
#define ORIGINS 2
#endif
#ifndef GRANTS
#define GRANTS 1 /* sessions that the target has memory for */
#endif
#ifndef WAITERS
#define WAITERS 1 /* origins that the target has memory to remember while they wait; 0: they ask again */
#endif
#ifndef BUFFERS
#define BUFFERS 2 /* requests of a session on their way */
#endif
#ifndef OPERATIONS
#define OPERATIONS 2 /* of each origin */
#endif

/* The rule that is broken on purpose */

#ifndef BREAK
#define BREAK 0
#endif
#define ORDER    1  /* a request is done when it arrives */
#define EARLY    2  /* a request is acknowledged before it is done */
#define CREDIT   3  /* an origin sends more than its buffers */
#define QUIET    4  /* a session is released while requests are on their way */
#define OVERTAKE 5  /* a REVOKE that overtakes its GRANT is forgotten */
#define AGAIN    6  /* an ASK that overtakes the RELEASE before it is forgotten */
#define UNTOLD   7  /* what was done is told after BUFFERS only, not before the helper sleeps */
#define WAITING  8  /* an origin that waits for a lock keeps its revoked session */
#define SHARED   9  /* a lock is granted while another has it */
#define STALE    10 /* an acknowledgement of an earlier session counts */
#define HANDOVER 11 /* a lock that is given back is not passed on */
#define UNUSED   12 /* a session that was revoked at once ends before it was used */

/* --- State ------------------------------------------------------------------------------------ */

#define MESSAGES 4 /* of one origin on their way, in each direction */

#define ASK     1
#define RELEASE 2
#define ACC     3
#define LOCK    4
#define UNLOCK  5
#define GRANT   6
#define REVOKE  7
#define LATER   8
#define ACK     9
#define LOCKED  10
mtype = { CLOSED, ASKING, OPEN };         /* osc_cached_account_state_t */
mtype = { ABSENT, QUEUED, SERVED, ENDING }; /* osc_cached_session_state_t; QUEUED: WAITING */

/* A bag of messages, the largest first: which of several equal states it is does not matter.  A message is
 * its kind, session, number (request: its own; reply: requests done), and which request of the origin it is. */
#define PACK(k, s, n, i) ((k) << 12 | (s) << 8 | (n) << 4 | (i))
#define KIND(m) ((m) >> 12 & 15)
#define SESSION(m) ((m) >> 8 & 15)
#define NUMBER(m) ((m) >> 4 & 15)
#define ID(m) ((m) & 15)

typedef messages { int m[MESSAGES] };
messages requests[ORIGINS], replies[ORIGINS];

/* at the target */
mtype state[ORIGINS] = ABSENT;
byte session[ORIGINS], next[ORIGINS], told[ORIGINS], done[ORIGINS];
bool asks_again[ORIGINS], locking[ORIGINS];
byte sessions, last_session, ending;
byte queue[ORIGINS], queued;              /* origins that wait for a session */
byte holder = ORIGINS, waiting[ORIGINS], waiters; /* the lock */

/* at the origins */
byte issued[ORIGINS];
byte inside;

inline post(where, message)
{
    d_step {
        assert(where.m[MESSAGES - 1] == 0);
        slot = MESSAGES - 1;
        do
        :: slot > 0 && where.m[slot - 1] < (message) -> where.m[slot] = where.m[slot - 1]; slot--
        :: else -> break
        od;
        where.m[slot] = (message);
        slot = 0
    }
}

inline take(where, i, message)
{
    d_step {
        message = where.m[i];
        slot = i;
        do
        :: slot < MESSAGES - 1 -> where.m[slot] = where.m[slot + 1]; slot++
        :: else -> break
        od;
        where.m[MESSAGES - 1] = 0;
        slot = 0
    }
}

/* --- An origin -------------------------------------------------------------------------------- */

#define ACCOUNT_QUIET (sent == acked)

inline handle(o, i)
{
    /* osc_cached_account_reply */
    take(replies[o], i, message);
    if
    :: KIND(message) == GRANT ->
        assert(account == ASKING);
        account = OPEN;
        mine = SESSION(message);
        revoked = (overtaken == mine && BREAK != OVERTAKE)
    :: KIND(message) == LATER ->
        account = CLOSED
    :: KIND(message) == REVOKE && account == ASKING ->
        overtaken = SESSION(message)
    :: else ->
        if
        :: account == OPEN && (SESSION(message) == mine || BREAK == STALE) ->
            if
            :: NUMBER(message) > acked -> acked = NUMBER(message)
            :: else
            fi;
            if
            :: KIND(message) == REVOKE -> revoked = true
            :: else
            fi
        :: else
        fi;
        if
        :: KIND(message) == LOCKED ->
            assert(inside == 0); /* mutual exclusion */
            inside++;
            locked = true
        :: else
        fi
    fi;
    message = 0
}

/* Take any reply that has arrived. */
#define RECEIVE(o, i) :: atomic { replies[o].m[i] != 0 -> handle(o, i) }
#define RECEIVE_ANY(o) RECEIVE(o, 0) RECEIVE(o, 1) RECEIVE(o, 2) RECEIVE(o, 3)

inline forget_session()
{
    account = CLOSED;
    sent = 0;
    acked = 0;
    mine = 0;
    overtaken = 0;
    revoked = false
}

/* End a revoked session as soon as nothing is on its way. */
#define RELEASE_IF(o, condition)                                                       \
    :: atomic {                                                                        \
        account == OPEN && revoked && (ACCOUNT_QUIET || BREAK == QUIET) && (condition) \
        -> post(requests[o], PACK(RELEASE, mine, sent, issued[o])); forget_session()         \
    }

/* Send one request, whatever it takes: osc_cached_account_step. */
inline request(o, k)
{
    do
    RECEIVE_ANY(o)
    RELEASE_IF(o, sent > 0 || BREAK == UNUSED)
    :: atomic { account == CLOSED -> account = ASKING; post(requests[o], PACK(ASK, 0, 0, 0)) }
    :: atomic {
        account == OPEN && (!revoked || (sent == 0 && BREAK != UNUSED)) && (sent - acked < BUFFERS || (BREAK == CREDIT && sent - acked == BUFFERS))
        -> assert(session[o] == mine && sent - next[o] < BUFFERS); /* memory of the target */
        post(requests[o], PACK(k, mine, sent, issued[o])); sent++; issued[o]++; break
    }
    od
}

proctype origin(byte me)
{
    mtype account = CLOSED;
    byte sent, acked, mine, overtaken, slot, operations;
    bool revoked, locked;
    int message;

    do
    :: operations < OPERATIONS ->
        operations++;
        if
        :: request(me, ACC)
        :: request(me, LOCK);
            do /* wait for the lock */
            RECEIVE_ANY(me)
            RELEASE_IF(me, BREAK != WAITING)
            :: atomic { locked -> locked = false; break }
            od;
            request(me, ACC);
            atomic { inside--; skip };
            request(me, UNLOCK)
        fi
    :: operations == OPERATIONS -> break
    od;
    do /* flush */
    RECEIVE_ANY(me)
    RELEASE_IF(me, true)
    :: ACCOUNT_QUIET -> break
    od;
    assert(done[me] == issued[me]); /* complete */
end:
    do
    RECEIVE_ANY(me)
    RELEASE_IF(me, true)
    od
}

/* --- The target ------------------------------------------------------------------------------- */

#define REPLY(o, k) post(replies[o], PACK(k, session[o], next[o] + (BREAK == EARLY -> 1 : 0), 0)); told[o] = next[o]

inline grant(o)
{
    sessions++;
    assert(sessions <= GRANTS);
    last_session++;
    assert(last_session < 16); /* each was used: there are not more than requests */
    session[o] = last_session;
    state[o] = SERVED;
    next[o] = 0;
    told[o] = 0;
    REPLY(o, GRANT)
}

/* Tell a session to end: with two origins there is only one choice. */
inline revoke()
{
    other = 0;
    do
    :: other < ORIGINS && ending == 0 ->
        if
        :: state[other] == SERVED -> state[other] = ENDING; ending++; REPLY(other, REVOKE)
        :: else
        fi;
        other++
    :: else -> break
    od;
    other = 0
}

inline ask(o)
{
    if
    :: sessions < GRANTS -> grant(o)
    :: sessions == GRANTS && queued < WAITERS ->
        state[o] = QUEUED;
        queue[queued] = o;
        queued++;
        revoke()
    :: else ->
        post(replies[o], PACK(LATER, 0, 0, 0));
        revoke()
    fi
}

inline release(o)
{
    sessions--;
    if
    :: state[o] == ENDING -> ending--
    :: else
    fi;
    state[o] = ABSENT;
    session[o] = 0;
    next[o] = 0;
    told[o] = 0;
    if
    :: queued > 0 ->
        next_one = queue[0];
        queued--;
        queue[0] = queue[queued];
        queue[queued] = 0;
        grant(next_one);
        next_one = 0;
        if
        :: queued > 0 -> revoke()
        :: else
        fi
    :: else
    fi;
    if
    :: asks_again[o] -> asks_again[o] = false; ask(o)
    :: else
    fi
}

inline serve(o, i)
{
    take(requests[o], i, message);
    if
    :: KIND(message) == ASK ->
        if
        :: state[o] == ABSENT -> ask(o)
        :: else -> asks_again[o] = (BREAK != AGAIN)
        fi
    :: else ->
        assert(state[o] == SERVED || state[o] == ENDING);
        assert(SESSION(message) == session[o]);
        assert(ID(message) == done[o]); /* order */
        next[o]++;
        if
        :: KIND(message) == RELEASE -> release(o)
        :: KIND(message) == ACC -> done[o]++
        :: KIND(message) == LOCK ->
            done[o]++;
            if
            :: (holder == ORIGINS && waiters == 0) || BREAK == SHARED -> holder = o; REPLY(o, LOCKED)
            :: else -> waiting[waiters] = o; waiters++
            fi
        :: KIND(message) == UNLOCK ->
            done[o]++;
            assert(holder == o || BREAK == SHARED);
            holder = ORIGINS;
            if
            :: waiters > 0 && BREAK != HANDOVER ->
                holder = waiting[0];
                waiters--;
                waiting[0] = waiting[waiters];
                waiting[waiters] = 0;
                if
                :: state[holder] == SERVED || state[holder] == ENDING -> REPLY(holder, LOCKED)
                :: else -> post(replies[holder], PACK(LOCKED, 0, 0, 0))
                fi
            :: else
            fi
        fi
    fi;
    message = 0
}

/* A request whose turn it is; ASK has none. */
#define TURN(o, i)                                                                                   \
    (requests[o].m[i] != 0                                                                           \
     && (KIND(requests[o].m[i]) == ASK || BREAK == ORDER                                             \
         || (NUMBER(requests[o].m[i]) == next[o] && SESSION(requests[o].m[i]) == session[o])))
#define SERVE(o, i) :: atomic { TURN(o, i) -> serve(o, i) }

/* What was done is told at any time, in one message for all of it; one such message at a time. */
#define TOLD(o, i) (KIND(replies[o].m[i]) != ACK)
#define TELL(o)                                                                                       \
    :: atomic {                                                                                       \
        next[o] > told[o] && (BREAK != UNTOLD || next[o] - told[o] >= BUFFERS)                        \
        && TOLD(o, 0) && TOLD(o, 1) && TOLD(o, 2) && TOLD(o, 3) -> REPLY(o, ACK)                      \
    }

active proctype target()
{
    byte slot, other, next_one;
    int message;

    atomic { run origin(0); run origin(1) };
end:
    do
    SERVE(0, 0) SERVE(0, 1) SERVE(0, 2) SERVE(0, 3)
    SERVE(1, 0) SERVE(1, 1) SERVE(1, 2) SERVE(1, 3)
    TELL(0)
    TELL(1)
    od
}
