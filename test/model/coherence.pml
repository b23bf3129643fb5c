/*
 * Copyright (c) 2026 The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Coherent caching of gets with a directory at the owner of the memory: a Spin model.
 *
 * One owner, which has the memory and the directory, and NODES other processes, each with a cache.  A
 * process gets, puts and evicts; the owner stores into its own memory and synchronises.  Messages are
 * delivered in any order and as late as one likes; what a handler does upon one message is one step.
 *
 * Every write adds one to its block, so that a value says how old it is.  When a write is complete,
 * its process may tell anybody by any means, so from then on (`told`) no get that is begun may return
 * an older value.  This is the property; the other one is that nothing waits for ever (invalid end
 * states, searched by Spin without being asked).
 *
 *   spin -a [-DNAME=VALUE ...] coherence.pml
 *   gcc -O2 -w -DSAFETY -DNOFAIR -DCOLLAPSE -DMEMLIM=4000 -o pan pan.c && ./pan -m1000000
 *
 * Rules R1 to R11, O1 to O4: see mca-osc-cached/coherence/README.md.  BREAK=RULE drops a rule:
 * the search must then find an error.  PROBE=n: an error says that situation n happens at all, so that the model
 * proves something.
 *
 * TRACE: no search: the steps in trace.inc, which test/unit/osc_cached_coherence_trace.c has written, are
 * taken one by one, and after each of them the state must be the code's.
 */

#ifndef NODES
#define NODES 2  /* processes other than the owner: 2 or 3 */
#endif
#ifndef BLOCKS
#define BLOCKS 1 /* 1 or 2 */
#endif
#ifndef GETS
#define GETS 2   /* that a process can have on their way: 1 or 2 */
#endif
#ifndef FILLS
#define FILLS 2  /* requests that a process can have on their way, also for a block: 1 or 2 */
#endif
#ifndef IDS
#define IDS 3    /* requests that a process can make at all */
#endif
#ifndef WRITES
#define WRITES 2 /* versions of a block beyond the first */
#endif
#ifndef PUTTERS
#define PUTTERS 7 /* bit n: process n puts; 0: only the owner writes */
#endif
#ifndef GETTERS
#define GETTERS 7 /* bit n: process n gets */
#endif

#ifndef LAZY
#define LAZY 0   /* 1: a writer may keep a block for its next write */
#endif

#ifndef AGAIN
#define AGAIN 0  /* 1: a process that has a block fetches parts of it again, by one-sided gets */
#endif

#ifndef EXECUTES
#define EXECUTES 0 /* 1: the owner's helper executes operations of others (R11) */
#endif

#ifndef MATES
#define MATES 0   /* 1: processes 0 and 1 share a cache and are one sharer, whose messages 0 gets */
#endif

#ifndef WHOLE
#define WHOLE 0  /* 1: a hold may be of all blocks */
#endif

#ifndef FULL
#define FULL 0   /* 1: the directory may have no room for a sharer */
#endif

#ifndef LEAVES
#define LEAVES 0 /* 1: processes free the window, with messages on their way; the owner last (O4) */
#endif

#ifndef STORES
#define STORES SYNC
#endif
#define NONE   0 /* the owner does not store */
#define SYNC   1 /* its stores count as written at its next synchronisation call */
#define DETECT 2 /* its stores count at once: pages of shared blocks are write-protected */

#ifndef BREAK
#define BREAK 0
#endif
#define ACKS       1  /* the owner does not wait for the sharers' acknowledgements */
#define WAIT       2  /* the writer does not wait for the owner's acknowledgement */
#define POISON     3  /* an invalidation does not touch a fill that is on its way */
#define JOIN       4  /* a get joins a fill that an invalidation has met */
#define MATCH      5  /* a reply is taken for the request that its block has now */
#define NOTICE     6  /* an eviction notice counts whatever request it belongs to */
#define REGISTER   7  /* the owner enters a sharer when the data leaves, not before it is read */
#define REPORT     8  /* the sharer is entered when it reports that it has the data (the paper's step 7) */
#define HELD       9  /* blocks that are being written are given out to be cached */
#define FREE       10 /* the writer lets go of a block before its data has arrived there */
#define OWN        11 /* the writer keeps its own copy */
#define DIRTY      12 /* the writer fetches into its cache while its write is on its way */
#define OWNER_SYNC 13 /* the owner's synchronisation does not invalidate */
#define FORWARD    14 /* a peer forwards what it has, valid or not */
#define PROTECT    15 /* a page is not protected again before its blocks are given out */
#define TRAP       16 /* the owner's store goes on before the sharers have acknowledged */
#define EARLY_HOLD 17 /* two writers: the first that is done lets go for both */
#define STAMP      18 /* what a get brings is kept, though the block has left and come back meanwhile (AGAIN) */
#define EXECUTE    19 /* the helper executes operations without invalidating (EXECUTES) */
#define OWN_NODE   20 /* a writer's own node hears of no INV (MATES) */
#define UPGRADE    21 /* a hold becomes one of all blocks though the writer has copies of others (WHOLE) */
#define UNKNOWN    22 /* messages for a window that is not known are dropped (LEAVES) */
#define OWN_PUT    23 /* the owner's flush of a put to itself does not invalidate */

#ifndef PROBE
#define PROBE 0
#endif
#define REACHED(n) assert(PROBE != n)

/* A copy in a cache */
#define ABSENT  0
#define PENDING 1 /* request `name` is on its way */
#define VALID   2

/* Where a request is */
#define IDLE    0
#define FILL    1 /* FILL: on its way to the owner */
#define READING 2 /* the owner reads memory or storage, and handles other messages meanwhile */
#define FWD     3 /* FWD: on its way to a peer */
#define BACK    4 /* BACK: the peer had nothing; on its way to the owner */
#define DATA    5 /* DATA: on its way to the process that asked */
#define DIRECT  6 /* DIRECT, "go past the cache": likewise */
#define REPORTS 7 /* only for BREAK=REPORT */

/* Where a write is */
#define HOLD    1 /* HOLD: on its way to the owner */
#define ACKING  2 /* the owner waits for acknowledgements of sharers */
#define HELDACK 3 /* HELD: on its way to the writer */
#define GRANTED 4 /* the writer knows that nobody has a copy */
#define FREEING 5 /* FREE: on its way to the owner; the write is complete */
#define KEPT    6 /* no write is on its way, but the block is kept for the next one (LAZY) */

typedef Copy {
    byte state;
    byte name;     /* of the request that fetches or has fetched it */
    byte value;
    bit poisoned   /* an invalidation has come while it was PENDING */
}

typedef Request { byte at; byte name; byte value; bit block; byte peer }
typedef Get     { bit waits; bit direct; bit block; byte name; byte least }
typedef Write   { byte at; bit block; bit landed; bit whole; byte value }

typedef Node {
    Copy copy[BLOCKS];
    Request request[FILLS];
    Get get[GETS];
    Write write;
#if AGAIN
    Request again;           /* READING, DATA or IDLE */
#endif
    byte names;              /* given out so far */
    byte leaving[BLOCKS]     /* EVICT on its way: the name in it, or 0 */
}

typedef Directory {
    byte sharer[NODES];      /* the name of the request that made it one, or 0 */
    byte holds;              /* writers of the block */
    byte inv[NODES]          /* 1: INV on its way; 2: its acknowledgement */
}

Node node[NODES];
Directory dir[BLOCKS];
byte memory[BLOCKS];
byte begun[BLOCKS];          /* writes that were begun */
byte told[BLOCKS];           /* newest version that somebody may have heard of */
byte stored[BLOCKS];         /* the owner's newest store, if it has not been synchronised, else 0 */
byte owner_at;               /* 1: in a synchronisation call, or a flush; 2, 3: in a store to block 0, 1 that was trapped */
byte executing;              /* 1, 2: an operation on block 0, 1 waits until nobody has a copy */
bit armed[BLOCKS];           /* the page of the block is write-protected */
bit left[NODES + 1];         /* has freed the window; the last one is the owner */
byte i, x, r;

#define ME(n)       node[n]
#define COPY(n, b)  node[n].copy[b]
#define REQ(n, k)   node[n].request[k]
#define RB(n, k)    node[n].request[k].block
#define RCOPY(n, k) node[n].copy[node[n].request[k].block]
#define GET(n, g)   node[n].get[g]
#define WR(n)       node[n].write
#define WB(n)       node[n].write.block
#define ACKED(b)   (dir[b].inv[0] == 0 && dir[b].inv[1] == 0 && (NODES < 3 || dir[b].inv[NODES - 1] == 0))

/* R4, nodes: who gets messages for a process, and who shares its cache */
#if MATES
#define SHARER(n)  (n == 1 -> 0 : n)
#define MATE(n)    (n < 2 -> 1 - n : n)
#define NAMER(n)   (n == 1 -> 0 : n)
#else
#define SHARER(n)  n
#define MATE(n)    n
#define NAMER(n)   n
#endif
/* the writer does not hear of its own write; but others of its node may have asked since */
#define BUT(n)     (MATES && BREAK != OWN_NODE -> NODES : SHARER(n))

#define LATER(v, w) if :: v < w -> v = w :: else fi

#define check(n, g, v) \
    assert(v >= GET(n, g).least); /* the property */ \
    assert(v <= memory[GET(n, g).block]); \
    GET(n, g).waits = 0; GET(n, g).direct = 0; GET(n, g).block = 0; GET(n, g).name = 0; GET(n, g).least = 0

/* The answer to a request reaches the gets that wait for it. */
#define answer(n, k, v, ok) \
    r = 0; \
    do \
    :: r < GETS -> \
        if \
        :: node[n].get[r].waits && node[n].get[r].name == REQ(n, k).name && node[n].get[r].block == RB(n, k) -> \
            if \
            :: ok -> check(n, r, v) \
            :: else -> node[n].get[r].waits = 0; node[n].get[r].direct = 1 \
            fi \
        :: else \
        fi; \
        r++ \
    :: else -> break \
    od; \
    r = 0

#define idle(n, k) REQ(n, k).at = IDLE; REQ(n, k).name = 0; REQ(n, k).value = 0; REQ(n, k).block = 0; REQ(n, k).peer = 0

/* R4: everybody who has the block, or is about to, hears of it; the writer w knows. */
#define invalidate(b, w) \
    i = 0; \
    do \
    :: i < NODES -> \
        if \
        :: dir[b].sharer[i] && i != w -> assert(dir[b].inv[i] == 0); dir[b].inv[i] = 1 \
        :: else \
        fi; \
        dir[b].sharer[i] = 0; \
        i++ \
    :: else -> break \
    od; \
    i = 0

/* A process makes a request for a block. */
#define ask(n, b, k) \
    node[NAMER(n)].names++; \
    REQ(n, k).at = FILL; REQ(n, k).name = node[NAMER(n)].names; REQ(n, k).block = b; \
    COPY(n, b).state = PENDING; COPY(n, b).name = node[NAMER(n)].names; COPY(n, b).poisoned = 0; COPY(n, b).value = 0

/* A copy is none any more, also if it is on its way. */
#define lose(n, b) \
    if \
    :: COPY(n, b).state == VALID -> COPY(n, b).state = ABSENT; COPY(n, b).name = 0; COPY(n, b).value = 0 \
    :: COPY(n, b).state == PENDING -> COPY(n, b).poisoned = 1 \
    :: else \
    fi

#define lose_node(n, b) lose(n, b); if :: MATES && n < 2 -> lose(MATE(n), b) :: else fi

#define begin_get(n, b, g, k) \
    GET(n, g).block = b; GET(n, g).least = told[b]; \
    if \
    :: WR(n).at != 0 && WR(n).at < FREEING && (WB(n) == b || WR(n).whole && WR(n).at == GRANTED) && BREAK != DIRTY && BREAK != OWN -> \
        GET(n, g).direct = 1                                  /* R7: own write on its way */ \
    :: else -> \
        if \
        :: COPY(n, b).state == VALID -> REACHED(1); check(n, g, COPY(n, b).value) \
        :: MATES && COPY(n, b).state != VALID && COPY(MATE(n), b).state == VALID -> REACHED(10); \
            check(n, g, COPY(MATE(n), b).value) \
        :: !(MATES && COPY(MATE(n), b).state == VALID) && COPY(n, b).state == PENDING && (!COPY(n, b).poisoned || BREAK == JOIN) -> \
            GET(n, g).waits = 1; GET(n, g).name = COPY(n, b).name   /* joins */ \
        :: else -> \
            if \
            :: REQ(n, k).at == IDLE && node[NAMER(n)].names < IDS && !(BREAK == REPORT && WR(n).at) -> \
                if :: COPY(n, b).state == PENDING -> REACHED(2) :: else fi; \
                ask(n, b, k);                                 /* R3: a new request, not a join */ \
                GET(n, g).waits = 1; GET(n, g).name = node[NAMER(n)].names \
            :: else -> GET(n, g).direct = 1                   /* no room: an uncached get */ \
            fi \
        fi \
    fi

/* R5 */
#define REFUSED(n, k) ((dir[RB(n, k)].holds && BREAK != HELD) || left[NODES])

/* The owner has a request in its hands that is not answered yet.  O2: the page is protected before. */
#define serve(n, k) \
    if \
    :: REFUSED(n, k) -> REQ(n, k).at = DIRECT \
    :: else -> \
        if :: STORES == DETECT -> armed[RB(n, k)] = (BREAK != PROTECT) :: else fi; \
        if :: BREAK != REGISTER && BREAK != REPORT -> dir[RB(n, k)].sharer[SHARER(n)] = REQ(n, k).name :: else fi; /* R2 */ \
        REQ(n, k).at = READING \
    fi

/* Steps of a process n with block b, its get g and its request k */

/* of several free ones the first is used: they are all alike */
#define FIRST_FREE(n, k, g) ((k == 0) == (FILLS == 1 || node[n].request[0].at == IDLE) \
    && (g == 0 || node[n].get[0].waits || node[n].get[0].direct))

/* a hit that returns the newest value changes nothing: left out */
#define GET_BEGINS(n, b, g, k) \
    :: d_step { !left[n] && !GET(n, g).waits && !GET(n, g).direct && FIRST_FREE(n, k, g) && (GETTERS >> n) % 2 \
        && !(COPY(n, b).state == VALID && COPY(n, b).value == memory[b]) \
        && (node[NAMER(n)].names < IDS || COPY(n, b).state != ABSENT) -> begin_get(n, b, g, k) }

/* a get past the cache reads the memory when it likes */
#define GET_READS(n, g) :: d_step { GET(n, g).direct -> check(n, g, memory[GET(n, g).block]) }

#define EVICTS(n, b) \
    :: d_step { COPY(n, b).state == VALID -> COPY(n, b).state = ABSENT; COPY(n, b).name = 0; COPY(n, b).value = 0 } /* silently */ \
    EVICTS_LOUDLY(n, b)

#define EVICTS_LOUDLY(n, b) \
    :: d_step { COPY(n, b).state == VALID && !ME(n).leaving[b] -> \
        ME(n).leaving[b] = COPY(n, b).name; lose_node(n, b) }

#define PUT_BEGINS(n, b) \
    :: d_step { !left[n] && (PUTTERS >> n) % 2 && (!WR(n).at || (WR(n).at == KEPT && (WB(n) == b || WR(n).whole))) && begun[b] < WRITES -> \
        begun[b]++; WB(n) = b; WR(n).landed = 0; \
        if :: WR(n).at == KEPT -> REACHED(8); WR(n).at = GRANTED :: else -> WR(n).at = HOLD; WR(n).whole = 0 fi; \
        if :: BREAK != OWN -> lose_node(n, b) :: else fi }

#define PUT_LANDS(n) \
    :: d_step { WR(n).at && WR(n).at < FREEING && !WR(n).landed -> memory[WB(n)]++; WR(n).value = memory[WB(n)]; WR(n).landed = 1 }

/* a synchronisation that completes the write; R6: only then the block is let go */
#define PUT_COMPLETES(n) \
    :: d_step { (WR(n).at == GRANTED || (BREAK == WAIT && WR(n).at == HELDACK) || (BREAK == WAIT && WR(n).at == ACKING)) && WR(n).landed -> \
        LATER(told[WB(n)], WR(n).value); WR(n).value = 0; WR(n).landed = 0; \
        if :: LAZY -> WR(n).at = KEPT :: else -> WR(n).at = FREEING fi } \
    :: d_step { WR(n).at == KEPT -> WR(n).at = FREEING } /* R8: when it likes, or is asked to */ \
    :: d_step { BREAK == FREE && WR(n).at == GRANTED && !WR(n).landed && dir[WB(n)].holds -> \
        dir[WB(n)].holds--; WR(n).at = GRANTED }

/* R2: a process that is a sharer needs no message to fetch; R3: what comes is kept for that time only */
#if AGAIN
#define FETCHES(n, b) \
    :: d_step { COPY(n, b).state == VALID && node[n].again.at == IDLE -> \
        node[n].again.at = READING; node[n].again.block = b; node[n].again.name = COPY(n, b).name } \
    :: d_step { node[n].again.at == READING && node[n].again.block == b -> \
        node[n].again.value = memory[b]; node[n].again.at = DATA } \
    :: d_step { node[n].again.at == DATA && node[n].again.block == b -> \
        if \
        :: COPY(n, b).state == VALID && (COPY(n, b).name == node[n].again.name || BREAK == STAMP) -> \
            COPY(n, b).value = node[n].again.value \
        :: else -> REACHED(9) \
        fi; \
        node[n].again.at = IDLE; node[n].again.block = 0; node[n].again.name = 0; node[n].again.value = 0 }
#else
#define FETCHES(n, b)
#endif

/* Messages */

#define FILL_SERVED(n, k) \
    :: d_step { REQ(n, k).at == FILL -> serve(n, k) }

#define FILL_FORWARDED(n, k, p) \
    :: d_step { REQ(n, k).at == FILL && !REFUSED(n, k) && SHARER(n) != p && dir[RB(n, k)].sharer[p] -> \
        REQ(n, k).peer = p; REQ(n, k).at = FWD; \
        if :: BREAK != REPORT -> dir[RB(n, k)].sharer[SHARER(n)] = REQ(n, k).name :: else fi }

/* no room, or a page that is written too often is not protected again */
#define FILL_REFUSED(n, k) \
    :: d_step { (FULL || STORES == DETECT) && REQ(n, k).at == FILL -> REQ(n, k).at = DIRECT }

#if NODES == 3
#define FILL_FORWARDED_TO_ANY(n, k) FILL_FORWARDED(n, k, 0) FILL_FORWARDED(n, k, 1) FILL_FORWARDED(n, k, 2)
#else
#define FILL_FORWARDED_TO_ANY(n, k) FILL_FORWARDED(n, k, 0) FILL_FORWARDED(n, k, 1)
#endif
#if FULL
#define FILL_ARRIVES(n, k) FILL_SERVED(n, k) FILL_FORWARDED_TO_ANY(n, k) FILL_REFUSED(n, k)
#else
#define FILL_ARRIVES(n, k) FILL_SERVED(n, k) FILL_FORWARDED_TO_ANY(n, k)
#endif

#define READ_DONE(n, k) \
    :: d_step { REQ(n, k).at == READING -> REQ(n, k).value = memory[RB(n, k)]; REQ(n, k).at = DATA; \
        if :: BREAK == REGISTER -> REQ(n, k).peer = 1 :: else fi } \
    :: d_step { BREAK == REGISTER && REQ(n, k).at == DATA && REQ(n, k).peer == 1 -> REQ(n, k).peer = 0; \
        if :: dir[RB(n, k)].holds == 0 -> dir[RB(n, k)].sharer[SHARER(n)] = REQ(n, k).name :: else -> REQ(n, k).at = DIRECT fi }

/* R9 */
#define FWD_ARRIVES(n, k) \
    :: d_step { REQ(n, k).at == FWD -> x = REQ(n, k).peer; \
        if \
        :: node[x].copy[RB(n, k)].state == VALID || (BREAK == FORWARD && node[x].copy[RB(n, k)].state == PENDING) -> \
            REACHED(3); REQ(n, k).value = node[x].copy[RB(n, k)].value; REQ(n, k).at = DATA \
        :: else -> REQ(n, k).at = BACK \
        fi; x = 0; REQ(n, k).peer = 0 }

/* R9: whatever has happened since it became a sharer, the one who asked has heard of it */
#define BACK_ARRIVES(n, k) \
    :: d_step { REQ(n, k).at == BACK -> REACHED(4); \
        if :: left[NODES] -> REQ(n, k).at = DIRECT :: else -> REQ(n, k).at = READING fi }

#define DATA_ARRIVES(n, k) \
    :: d_step { REQ(n, k).at == DATA && (BREAK != REGISTER || REQ(n, k).peer == 0) -> \
        answer(n, k, REQ(n, k).value, 1); \
        if \
        :: RCOPY(n, k).state == PENDING && (RCOPY(n, k).name == REQ(n, k).name || BREAK == MATCH) -> \
            if \
            :: RCOPY(n, k).poisoned && BREAK != POISON -> REACHED(5); \
                RCOPY(n, k).state = ABSENT; RCOPY(n, k).name = 0; RCOPY(n, k).poisoned = 0   /* R3: served, not kept */ \
            :: else -> RCOPY(n, k).state = VALID; RCOPY(n, k).value = REQ(n, k).value; RCOPY(n, k).poisoned = 0 \
            fi \
        :: else -> REACHED(6) \
        fi; \
        if :: BREAK == REPORT && RCOPY(n, k).state == VALID -> REQ(n, k).at = REPORTS :: else -> idle(n, k) fi } \
    :: d_step { BREAK == REPORT && REQ(n, k).at == REPORTS -> \
        if :: RCOPY(n, k).state == VALID -> dir[RB(n, k)].sharer[SHARER(n)] = REQ(n, k).name :: else fi; idle(n, k) }

#define DIRECT_ARRIVES(n, k) \
    :: d_step { REQ(n, k).at == DIRECT -> \
        answer(n, k, 0, 0); \
        if \
        :: RCOPY(n, k).state == PENDING && RCOPY(n, k).name == REQ(n, k).name -> RCOPY(n, k).state = ABSENT; RCOPY(n, k).name = 0; RCOPY(n, k).poisoned = 0 \
        :: else \
        fi; \
        idle(n, k) }

/* R10 */
#define EVICT_ARRIVES(n, b) \
    :: d_step { ME(n).leaving[b] -> \
        if \
        :: dir[b].sharer[SHARER(n)] == ME(n).leaving[b] || BREAK == NOTICE -> dir[b].sharer[SHARER(n)] = 0 \
        :: else -> skip \
        fi; ME(n).leaving[b] = 0 }

/* of a process that has left: nothing but the acknowledgement */
#define INV_ARRIVES(n, b) \
    :: d_step { dir[b].inv[n] == 1 && !(BREAK == UNKNOWN && left[n]) -> dir[b].inv[n] = 2; lose_node(n, b) }
#define ACK_ARRIVES(n, b) \
    :: d_step { dir[b].inv[n] == 2 -> dir[b].inv[n] = 0 }

#if BLOCKS == 2
#define OTHER(b)     (1 - b)
#define OTHERS_UNSHARED(b) (!dir[1 - b].sharer[0] && !dir[1 - b].sharer[1] && !dir[1 - b].sharer[NODES - 1])
#else
#define OTHER(b)     b
#define OTHERS_UNSHARED(b) 1
#endif
#define UNSHARED(b)  (!dir[b].sharer[0] && !dir[b].sharer[1] && !dir[b].sharer[NODES - 1] && ACKED(b))

#define HOLD_ARRIVES(n) HOLD_OF_BLOCK_ARRIVES(n) HOLD_OF_ALL_ARRIVES(n) HELD_IS_SENT(n) HELD_ARRIVES(n)

#define HOLD_OF_BLOCK_ARRIVES(n) \
    :: d_step { WR(n).at == HOLD -> dir[WB(n)].holds++; invalidate(WB(n), BUT(n)); WR(n).at = ACKING }

#define HELD_IS_SENT(n) \
    :: d_step { WR(n).at == ACKING && (ACKED(WB(n)) && (!WR(n).whole || ACKED(OTHER(WB(n)))) || BREAK == ACKS) -> WR(n).at = HELDACK }

#define HELD_ARRIVES(n) \
    :: d_step { WR(n).at == HELDACK -> WR(n).at = GRANTED }

/* All blocks are held: nobody, the writer included, is exempt; if there is nobody, it costs nothing. */
#if WHOLE
#define HOLD_OF_ALL_ARRIVES(n) \
    :: d_step { BLOCKS == 2 && WR(n).at == HOLD -> \
        if :: OTHERS_UNSHARED(WB(n)) -> REACHED(11) :: else -> REACHED(12) fi; \
        WR(n).whole = 1; dir[WB(n)].holds++; dir[OTHER(WB(n))].holds++; \
        invalidate(WB(n), (BREAK == UPGRADE -> n : NODES)); invalidate(OTHER(WB(n)), (BREAK == UPGRADE -> n : NODES)); \
        WR(n).at = ACKING }
#else
#define HOLD_OF_ALL_ARRIVES(n)
#endif

#define FREE_ARRIVES(n) \
    :: d_step { WR(n).at == FREEING -> \
        if :: WR(n).whole -> dir[OTHER(WB(n))].holds-- :: else fi; \
        if \
        :: BREAK == EARLY_HOLD -> dir[WB(n)].holds = 0 \
        :: dir[WB(n)].holds && BREAK != EARLY_HOLD -> dir[WB(n)].holds-- \
        :: else \
        fi; WR(n).at = 0; WB(n) = 0; WR(n).landed = 0; WR(n).value = 0; WR(n).whole = 0 }

/* O4: the window is freed when nothing of this process waits; requests and messages may be on their way. */
#if LEAVES
#define GONE(n) \
    :: d_step { GET(n, 0).waits -> GET(n, 0).waits = 0; GET(n, 0).name = 0; GET(n, 0).direct = 1 } /* beside FILL, or tired */ \
    :: d_step { !left[n] && !WR(n).at && !node[n].get[0].waits && !node[n].get[0].direct && !node[n].get[GETS - 1].waits \
        && !node[n].get[GETS - 1].direct -> left[n] = 1; \
        if :: dir[0].inv[n] == 1 -> REACHED(13) :: else fi; \
        COPY(n, 0).state = ABSENT; COPY(n, 0).name = 0; COPY(n, 0).value = 0; COPY(n, 0).poisoned = 0 }
#define OWNER_GONE \
    :: d_step { !left[NODES] && left[0] && left[1] && left[NODES - 1] && owner_at == 0 && executing == 0 -> left[NODES] = 1; \
        if :: node[0].request[0].at == FILL -> REACHED(14) :: else fi }
#else
#define GONE(n)
#define OWNER_GONE
#endif

/* The owner itself */

#define OWNER_STORES(b) \
    /* a store that somebody hears of only after a synchronisation call */ \
    :: d_step { STORES == SYNC && owner_at == 0 && begun[b] < WRITES && !left[NODES] -> \
        begun[b]++; memory[b]++; stored[b] = memory[b] } \
    /* a store to a page that is not protected: seen at once */ \
    :: d_step { STORES == DETECT && owner_at == 0 && begun[b] < WRITES && !armed[b] -> \
        begun[b]++; memory[b]++; told[b] = memory[b] } \
    /* a store to a protected one */ \
    :: d_step { STORES == DETECT && owner_at == 0 && begun[b] < WRITES && armed[b] -> REACHED(7); \
        begun[b]++; owner_at = 2 + b; dir[b].holds++; invalidate(b, NODES) }
#define STORE_GOES_ON(b) \
    :: d_step { owner_at == 2 + b && (ACKED(b) || BREAK == TRAP) -> \
        armed[b] = 0; memory[b]++; told[b] = memory[b]; owner_at = 0; dir[b].holds-- }

/* R11: invalidate, wait, unprotect, apply, reply; who asked is a sharer like the others */
#if EXECUTES
#define OPERATION_ARRIVES(b) \
    :: d_step { executing == 0 && begun[b] < WRITES && !left[NODES] -> begun[b]++; executing = 1 + b; \
        if :: BREAK != EXECUTE -> dir[b].holds++; invalidate(b, NODES) :: else fi }
#define OPERATION_IS_EXECUTED(b) \
    :: d_step { executing == 1 + b && (ACKED(b) || BREAK == EXECUTE) && owner_at != 2 + b -> \
        armed[b] = 0; memory[b]++; LATER(told[b], memory[b]); executing = 0; \
        if :: BREAK != EXECUTE -> dir[b].holds-- :: else fi }
#else
#define OPERATION_ARRIVES(b)
#define OPERATION_IS_EXECUTED(b)
#endif
#define OWNER(b) OWNER_STORES(b) STORE_GOES_ON(b) OPERATION_ARRIVES(b) OPERATION_IS_EXECUTED(b)

#if BLOCKS == 2
#define ALL_STORED (stored[0] || stored[1])
#define ALL_ACKED  (ACKED(0) && ACKED(1))
#define EACH(f)    f(0); f(1)
#else
#define ALL_STORED (stored[0])
#define ALL_ACKED  ACKED(0)
#define EACH(f)    f(0)
#endif
/* a put of the owner to itself is a store, its flush a synchronisation */
#define SYNC_BROKEN (BREAK == OWNER_SYNC || BREAK == OWN_PUT)
#define SYNC_HOLD(b) if :: !SYNC_BROKEN -> dir[b].holds++; invalidate(b, NODES) :: else fi
#define SYNC_FREE(b) if :: stored[b] -> LATER(told[b], stored[b]); stored[b] = 0 :: else fi; \
                     if :: !SYNC_BROKEN -> dir[b].holds-- :: else fi

/* O1 */
#define OWNER_SYNCS \
    :: d_step { STORES == SYNC && owner_at == 0 && ALL_STORED -> owner_at = 1; EACH(SYNC_HOLD) }
#define OWNER_SYNCED \
    :: d_step { owner_at == 1 && (ALL_ACKED || SYNC_BROKEN) -> EACH(SYNC_FREE); owner_at = 0 }

/* All steps */

#if GETS == 2
#define FOR_GETS(f, n) f(n, 0) f(n, 1)
#define BEGIN(n, b, k) GET_BEGINS(n, b, 0, k) GET_BEGINS(n, b, 1, k)
#else
#define FOR_GETS(f, n) f(n, 0)
#define BEGIN(n, b, k) GET_BEGINS(n, b, 0, k)
#endif
#define REQUEST(n, k) FILL_ARRIVES(n, k) READ_DONE(n, k) FWD_ARRIVES(n, k) BACK_ARRIVES(n, k) \
                      DATA_ARRIVES(n, k) DIRECT_ARRIVES(n, k)
#if FILLS == 2
#define FOR_FILLS(n) REQUEST(n, 0) REQUEST(n, 1)
#define BLOCK(n, b)  BEGIN(n, b, 0) BEGIN(n, b, 1) EVICTS(n, b) FETCHES(n, b) PUT_BEGINS(n, b) EVICT_ARRIVES(n, b) INV_ARRIVES(n, b) ACK_ARRIVES(n, b)
#else
#define FOR_FILLS(n) REQUEST(n, 0)
#define BLOCK(n, b)  BEGIN(n, b, 0) EVICTS(n, b) FETCHES(n, b) PUT_BEGINS(n, b) EVICT_ARRIVES(n, b) INV_ARRIVES(n, b) ACK_ARRIVES(n, b)
#endif
#if BLOCKS == 2
#define FOR_BLOCKS(n) BLOCK(n, 0) BLOCK(n, 1)
#define OWNERS        OWNER(0) OWNER(1)
#else
#define FOR_BLOCKS(n) BLOCK(n, 0)
#define OWNERS        OWNER(0)
#endif
#define NODE(n) FOR_BLOCKS(n) FOR_GETS(GET_READS, n) FOR_FILLS(n) PUT_LANDS(n) PUT_COMPLETES(n) \
                HOLD_ARRIVES(n) FREE_ARRIVES(n) GONE(n)
#if NODES == 3
#define FOR_NODES NODE(0) NODE(1) NODE(2)
#else
#define FOR_NODES NODE(0) NODE(1)
#endif

#define QUIET(n) (!WR(n).at && node[n].request[0].at == IDLE && node[n].request[FILLS - 1].at == IDLE \
                  && !node[n].get[0].waits && !node[n].get[GETS - 1].waits)

#ifdef TRACE
#include "trace.inc"
#else
init {
    do
    FOR_NODES
    OWNERS
    OWNER_SYNCS
    OWNER_SYNCED
    OWNER_GONE
    /* the end: nothing is on its way; then nobody may be waiting or registered wrongly */
    :: atomic { timeout -> break }
    od;
    assert(QUIET(0) && QUIET(1) && QUIET(NODES - 1) && owner_at == 0 && executing == 0);
    assert(BREAK == EARLY_HOLD || dir[0].holds == 0 && dir[BLOCKS - 1].holds == 0)
}
#endif
