"""The confidence of a chain without forbidden regions: how likely its nodes happen in order, inside the window.

Problem: thousands of candidates, each over any number of ticks. Idea: tight ranges first (`feasible`), which make the
impossible exactly 0 and the cells few; then cells (`cells`) and the window over them (`window`). Any part of a chain is
at least as likely as the chain, so the confidence of a prefix bounds that of all its continuations.
Invariant: the cost depends on the number of segments, not on the number of ticks; nothing is allocated per chain.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from whenabouts.kernels.types import aside, leaf
from whenabouts.kernels.uncertain.cells import cut, lay_out, sizes_of, work_for
from whenabouts.kernels.uncertain.feasible import first_of, ranges
from whenabouts.kernels.uncertain.window import in_window


@leaf
def rounded(confidence):
    """1 if rounding has made more of it; what exceeds 1 by more is an error and must be seen."""
    return 1.0 if 1.0 < confidence < 1.0 + 1e-12 else confidence


@aside
def confidence(times, node_ends, members, low, high, span, method, work):
    """The probability that the nodes low..high-1 happen in strictly increasing time inside the window.

    Not less than that of any chain that has these nodes among others: a bound for pruning. Leaves the feasible ranges
    of the members in work.earliest and work.latest if it is not 0.
    """
    if not ranges(times, node_ends, members, low, high, span, work.earliest, work.latest):
        return 0.0
    count = sizes_of(work, node_ends, low, high)
    states, steps = lay_out(work, high - low)
    cells = cut(times, members, first_of(node_ends, low), count, work)
    return rounded(in_window(work, high - low, states, steps, cells, span, method))


@njit
def work_of(times, chains):
    """Space for any of the chains."""
    count = states = steps = cells = stack = 0
    for m in range(chains.ends.size):
        low, high = first_of(chains.ends, m), chains.ends[m]
        origin, end = first_of(chains.node_ends, low), chains.node_ends[high - 1]
        own_states, own_steps, own_cells = 1, 0, 0
        for n in range(low, high):
            size = chains.node_ends[n] - first_of(chains.node_ends, n)
            own_states += (1 << size) - 1
            own_steps += 3**size - (1 << size)
        for k in range(origin, end):
            e = chains.members[k]
            own_cells += times.first[e + 1] - times.first[e] + 1
        count, states, steps = max(count, end - origin), max(states, own_states), max(steps, own_steps)
        cells, stack = max(cells, own_cells), max(stack, own_cells * own_states * own_states)
    return work_for(count, states, steps, cells, stack)


def confidences(times, chains, span, method):
    """The confidence of every chain; `method` is of `window`."""
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
