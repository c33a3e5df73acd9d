"""A certified interval for the confidence of one chain, in polynomial time.

Problem: disturbers that keep several places are what makes a confidence hard. Idea: pretend that such a disturber is
independent in each piece of its regions; that is an upper bound, and too large by at most the sum, over pairs of
pieces, of the weight of being in both, computed the same way (spec of imprecise time, section 3.4).
Invariant: the confidence is within error of value.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from whenabouts.kernels.types import aside
from whenabouts.kernels.uncertain.envelope import (
    AT,
    BEFORE,
    BEHIND,
    ONWARD,
    UPTO,
    Layout,
    can_meet,
    row_instants,
)
from whenabouts.kernels.uncertain.exact import choose, confidence, roomy
from whenabouts.kernels.uncertain.sweep import focus, is_bit

WHOLE = -1  # owner of a disturber that is not a piece


@njit
def interval(times, chains, forbidders, m, layout, count, n, rules, tools, span, nodes, dense, budget):
    """Value and error (1/2 each where nothing is known), and the tools."""
    focus(layout, n, count, True)
    most = (forbidders.ends[m] - (forbidders.ends[m - 1] if m > 0 else 0)) * count + n + 2
    pieces, pairs = beside(layout, count, most), beside(layout, count, most)
    owner = np.empty(most, np.int64)
    size = take_apart(times, forbidders, m, layout, count, n, span, pieces, owner)
    if size < 0:
        return 0.5, 0.5, tools
    alone, freely, rows, costs = choose(pieces, tools.desk.cuts, count, size, span, dense)
    both = 0
    for x in range(size):
        for y in range(x):
            both += owner[x] != WHOLE and owner[x] == owner[y]
    if rows > 4 or costs * (1 + 4 * both) > budget:
        return 0.5, 0.5, tools
    tools = roomy(tools, 0, nodes, 4 * rows)
    upper = confidence(
        times, chains, m, pieces, count, size, rules, tools.desk, tools.source, tools.target, tools.outer,
        span, alone, freely, dense,
    )  # fmt: skip
    slack = 0.0
    for x in range(size):
        for y in range(x):
            if owner[x] != WHOLE and owner[x] == owner[y]:
                kept = in_both(pieces, pairs, count, size, owner, x, y)
                slack += confidence(
                    times, chains, m, pairs, count, kept, rules, tools.desk, tools.source, tools.target, tools.outer,
                    span, alone, freely, dense,
                )  # fmt: skip
    lower = max(0.0, upper - slack)
    return 0.5 * (lower + upper), 0.5 * (upper - lower), tools


@njit
def beside(layout, count, disturbers):
    """A layout with the same instants, for other disturbers."""
    return Layout(
        layout.node, layout.body, layout.lo, layout.hi, layout.first_of, layout.last_of, np.empty(disturbers, np.int64),
        np.zeros((disturbers, count + 1), np.uint8), np.zeros((disturbers, count + 1), np.uint8),
        np.empty(disturbers, np.int64), np.empty(disturbers, np.int64),
    )  # fmt: skip


@aside
def take_apart(times, forbidders, m, layout, count, n, span, pieces, owner):
    """The disturbers, those with bits in pieces; returns how many, -1 if one has a piece at the window's end."""
    size = 0
    for x in range(n):
        e = layout.event[x]
        if not is_bit(layout, x):
            for i in range(count):
                pieces.places[size, i], pieces.steps[size, i] = layout.places[x, i], layout.steps[x, i]
            pieces.event[size], owner[size] = e, WHOLE
            size += 1
            continue
        lower, upper = times.lower[e], times.upper[e]
        for r in range(forbidders.ends[m - 1] if m > 0 else 0, forbidders.ends[m]):
            start, end = row_instants(layout, forbidders, r, layout.node[count - 1] + 1, count)
            closed = forbidders.closed[r]
            if forbidders.event[r] != e or not can_meet(layout, lower, upper, start, end, closed, count, span):
                continue
            if start < 0 or end == count:
                return -1
            for i in range(start, end):
                if layout.body[i + 1]:
                    pieces.places[size, i], pieces.places[size, i + 1] = UPTO, BEHIND
                    pieces.event[size], owner[size] = e, x
                    size += 1
                    continue
                if can_meet(layout, lower, upper, i, i + 1, 0, count, span):
                    pieces.places[size, i], pieces.places[size, i + 1] = UPTO, ONWARD
                    pieces.event[size], owner[size] = e, x
                    size += 1
                if (i + 1 < end or closed) and lower <= layout.hi[i + 1] and upper >= layout.lo[i + 1]:
                    pieces.places[size, i + 1] = BEFORE | BEHIND
                    pieces.event[size], owner[size] = e, x
                    size += 1
    return size


@aside
def in_both(pieces, pairs, count, size, owner, x, y):
    """The disturbers without those of one owner, and with that in two of its pieces (or at their ends) for certain."""
    kept = 0
    for z in range(size + 2):
        if z < size and owner[z] == owner[x]:
            continue
        old = z if z < size else x if z == size else y
        for i in range(count):
            places, steps = pieces.places[old, i], pieces.steps[old, i]
            if z >= size:
                steps = 1 if places & UPTO else 0
                places = AT if places & BEFORE else 0
            pairs.places[kept, i], pairs.steps[kept, i] = places, steps
        pairs.event[kept] = pieces.event[old]
        kept += 1
    return kept
