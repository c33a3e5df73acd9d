"""The confidence of a chain without forbidden regions: how likely its nodes happen in order, inside the window.

Problem: thousands of candidates, each over any number of ticks. Idea: tight ranges first (`feasible`), which make the
impossible exactly 0 and the cells few; then cells (`cells`) and the window over them (`window`), or, where groups have
too many subsets, ticks (`settle`, `ticks`). Any part of a chain is at least as likely as the chain, so the confidence
of a prefix bounds that of all its continuations.
Invariant: without groups the cost depends on the segments, not on the ticks; nothing is allocated per chain.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from whenabouts.kernels.types import aside, leaf
from whenabouts.kernels.uncertain.cells import cut, lay_out, work_for
from whenabouts.kernels.uncertain.feasible import first_of, ranges
from whenabouts.kernels.uncertain.settle import keep_all, settle
from whenabouts.kernels.uncertain.ticks import tick_by_tick, tick_cost
from whenabouts.kernels.uncertain.window import CHEAPEST, in_window

TICKS, NEITHER = 3, 4  # beside the methods of `window`: for groups
MOST_MEMBERS, MOST_STATES, MOST_STEPS = 8, 300, 7000  # of a group; of all groups of a chain, by subsets
MOST_TICKS, MOST_COST = 1 << 16, 1e9  # of one chain with groups: about a second
MOST_STACK = 1 << 24  # numbers kept while sliding; beyond, every piece has a pass of its own


@leaf
def rounded(confidence):
    """1 if rounding has made more of it; what exceeds 1 by more is an error and must be seen."""
    return 1.0 if 1.0 < confidence < 1.0 + 1e-12 else confidence


@leaf
def subsets(work, nodes):
    """The states and steps of the nodes; no states if groups make too many."""
    single = added = steps = 0
    for j in range(nodes):
        size = work.sizes[j]
        if size > MOST_MEMBERS:
            return 0, 0
        if size == 1:
            single += 1
        else:
            added += (1 << size) - 1
            steps += 3**size - (1 << size)
    return (1 + single + added, single + steps) if added <= MOST_STATES else (0, 0)


@leaf
def way_with_groups(work, nodes, count, cells, span, method):
    """The cheaper of states and ticks for a chain with groups; NEITHER if both would take too long."""
    states, steps = subsets(work, nodes)
    ticks = work.cells.begin[cells] - work.cells.begin[0]
    by_states, by_ticks = np.inf, np.inf
    if states > 0 and method != TICKS:
        by_states = 1.0 * cells * steps * (1 if ticks == cells else count)
        if 0 <= span < ticks - 1:
            by_states *= states
    if ticks <= MOST_TICKS and method in (CHEAPEST, TICKS):
        by_ticks = tick_cost(work, nodes, cells, span)
    if min(by_states, by_ticks) > MOST_COST:
        return NEITHER
    return TICKS if by_ticks < by_states else method


@aside
def confidence(times, node_ends, members, low, high, span, method, work):
    """The probability that the nodes low..high-1 happen in strictly increasing time inside the window.

    Not less than that of any chain that has these nodes among others: a bound for pruning. NaN if a large group meets
    a fine clock, so that neither its subsets nor the ticks can be gone through. Leaves the feasible ranges of the
    members in work.earliest and work.latest if it is not 0.
    """
    if not ranges(times, node_ends, members, low, high, span, work.earliest, work.latest):
        return 0.0
    nodes, count = keep_all(node_ends, low, high, work)
    factor, grouped = 1.0, count > nodes
    if grouped:
        nodes, count, factor = settle(times, node_ends, members, low, high, span, work)
        if nodes == 0:
            return rounded(factor)
    cells = cut(times, members, first_of(node_ends, low), count, work)
    if grouped:
        method = way_with_groups(work, nodes, count, cells, span, method)
        if method == NEITHER:
            return np.nan
        if method == TICKS:
            return rounded(factor * tick_by_tick(work, nodes, cells, span))
    states, steps = lay_out(work, nodes)
    return rounded(factor * in_window(work, nodes, states, steps, cells, span, method))


@njit
def work_of(times, chains):
    """Space for any of the chains."""
    count = states = steps = cells = stack = ticks = 0
    for m in range(chains.ends.size):
        low, high = first_of(chains.ends, m), chains.ends[m]
        origin, end = first_of(chains.node_ends, low), chains.node_ends[high - 1]
        own_cells, first, last = 0, times.lower[chains.members[origin]], times.upper[chains.members[origin]]
        for k in range(origin, end):
            e = chains.members[k]
            own_cells += times.first[e + 1] - times.first[e] + 1
            first, last = min(first, times.lower[e]), max(last, times.upper[e])
        own_states, own_steps = 1 + high - low, high - low
        if end - origin > high - low:  # after settling, any size can be left
            own_states, own_steps = 1 + end - origin + MOST_STATES, end - origin + MOST_STEPS
            ticks = max(ticks, min(last - first + 1, MOST_TICKS))
        count, states, steps = max(count, end - origin), max(states, own_states), max(steps, own_steps)
        cells, stack = max(cells, own_cells), max(stack, (own_cells + 1) * own_states * own_states)
    return work_for(count, states, steps, cells, min(stack, MOST_STACK), ticks)


def confidences(times, chains, span, method):
    """The confidence of every chain; `method` is of `window`, or TICKS."""
    work = work_of(times, chains)
    found = np.empty(chains.ends.size)
    for m in range(chains.ends.size):
        low, high = first_of(chains.ends, m), chains.ends[m]
        found[m] = confidence(times, chains.node_ends, chains.members, low, high, span, method, work)
    return found


def feasible_ranges(times, chains, span):
    """Per chain whether it is possible; per member, in their order, its first and last instant in the chain.

    The range of a match is from the least first instant in its first node to the greatest last one in its last node.
    """
    possible = np.zeros(chains.ends.size, np.uint8)
    earliest, latest = np.zeros(chains.members.size, np.int64), np.zeros(chains.members.size, np.int64)
    for m in range(chains.ends.size):
        low, high = first_of(chains.ends, m), chains.ends[m]
        origin = first_of(chains.node_ends, low)
        possible[m] = ranges(
            times, chains.node_ends, chains.members, low, high, span, earliest[origin:], latest[origin:]
        )
    return possible, earliest, latest
