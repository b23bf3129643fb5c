/*
 * Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "osc_cached_profit.h"

void osc_cached_profit_follow(uint32_t *typical, uint64_t ns)
{
    uint32_t value = (UINT32_MAX / 2 < ns) ? UINT32_MAX / 2 : (uint32_t) ns;

    if (value < *typical) {
        *typical -= (*typical - value + 3) / 4;
    } else {
        /* steps up are a third of the steps down, and never a leap */
        uint32_t more = value - *typical;
        *typical += ((more < *typical) ? more : *typical) / 12 + (0 < more);
    }
}

void osc_cached_profit_timed(osc_cached_profit_t *profit, uint64_t ns)
{
    uint32_t value = (UINT32_MAX / 2 < ns) ? UINT32_MAX / 2 : (uint32_t) ns;

    if (OSC_CACHED_PROFIT_TIMED <= profit->timed) {
        osc_cached_profit_follow(&profit->get_ns, ns);
    } else if (0 == profit->timed || value < profit->get_ns) {
        /* the first one also makes the connection */
        profit->get_ns = value;
    }
    if (profit->timed < UINT16_MAX) {
        ++profit->timed;
    }
}

/* One place of so many, a power of two, is looked up. */
static uint64_t passed_at(uint32_t rate)
{
    return OSC_CACHED_PROFIT_PLACES - OSC_CACHED_PROFIT_PLACES / rate;
}

uint64_t osc_cached_profit_distance(const osc_cached_profit_t *profit, uint64_t distance,
                                    uint64_t gets)
{
    /* the gets of this target stand for others; those of other targets are all there are */
    double share =
        (profit->looked < gets) ? ((double) profit->looked + 1) / ((double) gets + 1) : 1;

    return distance + (uint64_t) ((double) distance * share * (osc_cached_profit_rate(profit) - 1));
}

uint64_t osc_cached_profit_settle(const osc_cached_profit_t *profit,
                                  const osc_cached_profit_costs_t *costs, uint64_t *debt)
{
    uint64_t saved = osc_cached_profit_saved(profit, costs), spent;

    if (0 == profit->timed) {
        return 0;
    }
    spent = osc_cached_profit_spent(profit, costs) + *debt;
    *debt = (saved < spent) ? spent - saved : 0;
    return (saved < spent) ? 0 : saved - spent;
}

void osc_cached_profit_decide(osc_cached_profit_t *profit, const osc_cached_profit_costs_t *costs)
{
    uint64_t saved = osc_cached_profit_saved(profit, costs);
    uint64_t spent = osc_cached_profit_spent(profit, costs);

    profit->round = OSC_CACHED_PROFIT_ROUND;
    if (0 < profit->timed && OSC_CACHED_CHEAP != osc_cached_profit_state(profit)) {
        uint32_t rate = osc_cached_profit_rate(profit);

        if (0 == profit->passed) {
            if (saved < spent && (uint64_t) profit->looked * profit->get_ns < 64 * spent) {
                profit->passed = passed_at(OSC_CACHED_PROFIT_SAMPLE);
                profit->patience = (0 == profit->patience) ? OSC_CACHED_PROFIT_FIRST
                                   : (profit->patience < OSC_CACHED_PROFIT_LAST)
                                       ? 2 * profit->patience
                                       : OSC_CACHED_PROFIT_LAST;
            } else if (2 * spent < saved) {
                profit->patience = 0;
            }
        } else if (2 * spent < saved) {
            profit->passed = 0;
            profit->round += profit->patience * rate;
        } else if (rate < OSC_CACHED_PROFIT_RAREST) {
            profit->passed = passed_at(2 * rate);
        }
    }
    profit->looked = 0;
    profit->hits = 0;
    profit->joins = 0;
}

void osc_cached_profit_decide_early(osc_cached_profit_t *profit,
                                    const osc_cached_profit_costs_t *costs, uint32_t issue_ns,
                                    uint32_t below)
{
    profit->get_ns = issue_ns;
    profit->timed = OSC_CACHED_PROFIT_TIMED;
    osc_cached_profit_decide(profit, costs);
    osc_cached_profit_compare(profit, below);
    profit->get_ns = 0;
    profit->timed = 0;
}

void osc_cached_profit_compare(osc_cached_profit_t *profit, uint32_t below)
{
    if (OSC_CACHED_CHEAP == osc_cached_profit_state(profit)) {
        /* not at the same value as below: it would go to and fro */
        if (below + below / 2 <= profit->get_ns || 0 == below) {
            profit->passed = 0;
        }
    } else if (OSC_CACHED_PROFIT_TIMED <= profit->timed && profit->get_ns < below) {
        profit->passed = OSC_CACHED_PROFIT_PLACES;
        profit->looked = 0;
        profit->hits = 0;
        profit->joins = 0;
    }
}
