"""Time cut into cells, and what happens to a chain in a cell.

Problem: a chain is complete when its nodes have happened in order; adding up tick by tick takes as long as the clock
is fine. Idea: the *states* of a chain say which of its members have happened: one after each node, and within a group
one for each subset. At every tick some members may happen, so a tick multiplies the row of state probabilities by
I + N, where N holds the mass of each *step* from state to state. In a cell, between two neighbouring bounds of
segments, all ticks have the same N, which is nilpotent, so w ticks are
    (I + N)^w = sum over m of C(w, m) N^m
with at most as many terms as there are members, however many ticks. A cell of one tick costs what a tick costs.
Invariant: additions and products of nonnegative numbers only; steps go from a lower state to a higher one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from whenabouts.kernels.program import F64, I64
from whenabouts.kernels.types import aside, leaf
from whenabouts.kernels.uncertain.times import segment_of

F64_2 = npt.NDArray[np.float64]


class Steps(NamedTuple):
    """The steps between states, in one direction: forward from `source` to `target`, backward the other way round.

    Equal targets stand together, and no target is a source later on, so that a row can be multiplied in its place.
    """

    source: I64
    target: I64
    block: I64  # which members happen: the weight of a step in a cell is weight[block]


class Active(NamedTuple):
    """The steps that have mass in a cell."""

    source: I64
    target: I64
    mass: F64


class Cells(NamedTuple):
    """Cell c is begin[c]..begin[c+1]-1; mass[c] holds the mass per tick of each member of the chain."""

    begin: I64
    mass: F64_2


class Work(NamedTuple):
    """Space for one chain, reused for the next. Matrices have one row per state."""

    earliest: I64  # per member
    latest: I64
    segment: I64
    kept: I64  # which members are looked at, those of a node together
    sizes: I64  # of them, per node
    forward: Steps
    backward: Steps
    active: Active
    weight: F64
    column: F64_2  # a row or column vector
    spare: F64_2  # all 0 between calls
    opening: F64_2
    closing: F64_2
    left: F64_2
    right: F64_2
    front: F64_2
    back: F64_2
    share: F64
    stack: F64
    place: I64  # per cell: where its part of `stack` begins
    cells: Cells
    rows: F64_2  # two, over ticks


@njit
def work_for(members, states, steps, cells, stack, ticks):
    """Space for chains of at most so many members, states, steps, cells, rows of a stack, and ticks one by one."""
    return Work(
        np.empty(members, np.int64),
        np.empty(members, np.int64),
        np.empty(members, np.int64),
        np.empty(members, np.int64),
        np.empty(members, np.int64),
        Steps(np.empty(steps, np.int64), np.empty(steps, np.int64), np.empty(steps, np.int64)),
        Steps(np.empty(steps, np.int64), np.empty(steps, np.int64), np.empty(steps, np.int64)),
        Active(np.empty(steps, np.int64), np.empty(steps, np.int64), np.empty(steps)),
        np.empty(max(states, members)),
        np.empty((states, 1)),
        np.zeros((states, states)),
        np.empty((states, states)),
        np.empty((states, states)),
        np.empty((states, states)),
        np.empty((states, states)),
        np.empty((states, states)),
        np.empty((states, states)),
        np.empty(2 * states),
        np.empty(stack),
        np.empty(cells + 1, np.int64),
        Cells(np.empty(cells + 1, np.int64), np.empty((cells, members))),
        np.empty((2, ticks + 1)),
    )


@aside
def cut(times, members, origin, count, work):
    """Cut the time of the `count` members kept, within their ranges, into cells; returns how many."""
    begin, mass = work.cells
    t, end = work.earliest[work.kept[0]], work.latest[work.kept[0]] + 1
    for i in range(count):
        m = work.kept[i]
        t, end = min(t, work.earliest[m]), max(end, work.latest[m] + 1)
        work.segment[i] = segment_of(times, members[origin + m], work.earliest[m])
    c = 0
    while t < end:
        following = end
        for i in range(count):
            m = work.kept[i]
            mass[c, i] = 0.0
            if t < work.earliest[m]:
                following = min(following, work.earliest[m])
            elif t <= work.latest[m]:
                k, behind = work.segment[i], times.first[members[origin + m] + 1]
                if k + 1 < behind and times.start[k + 1] <= t:
                    k += 1
                    work.segment[i] = k
                mass[c, i] = times.mass[k]
                following = min(following, work.latest[m] + 1)
                if k + 1 < behind:
                    following = min(following, times.start[k + 1])
        begin[c] = t
        c += 1
        t = following
    begin[c] = end
    return c


@aside
def lay_out(work, nodes):
    """Write down the steps between the states of `nodes` nodes with work.sizes members; returns (states, steps).

    Node j has the states `state` (none of it) to state + 2^size - 1 (all of it): the subset is a bit mask. Its last
    state is the first of the next node. Block state + D are the members D of it.
    """
    state = steps = 0
    for j in range(nodes):
        every = (1 << work.sizes[j]) - 1
        for have in range(every):
            add = missing = every & ~have
            while add > 0:
                work.backward.source[steps] = state + have + add
                work.backward.target[steps] = state + have
                work.backward.block[steps] = state + add
                steps += 1
                add = (add - 1) & missing
        state += every
    k = 0
    for j in range(nodes - 1, -1, -1):
        every = (1 << work.sizes[j]) - 1
        state -= every
        for have in range(every, 0, -1):
            add = have
            while add > 0:
                work.forward.source[k] = state + have - add
                work.forward.target[k] = state + have
                work.forward.block[k] = state + add
                k += 1
                add = (add - 1) & have
    return work.forward.target[0] + 1, steps


@leaf
def weigh(work, nodes, c):
    """The mass per tick of every block in cell c: all its members happen at the same tick."""
    state = member = 0
    for j in range(nodes):
        for b in range(work.sizes[j]):
            bit = 1 << b
            p = work.cells.mass[c, member]
            work.weight[state + bit] = p
            for others in range(1, bit):
                work.weight[state + bit + others] = p * work.weight[state + others]
            member += 1
        state += (1 << work.sizes[j]) - 1


@leaf
def select(work, steps, count, least):
    """Make the steps with mass active, if neither end is below state `least`; returns how many there are."""
    n = 0
    for k in range(count):
        w = work.weight[steps.block[k]]
        if w > 0.0 and steps.source[k] >= least and steps.target[k] >= least:
            work.active.source[n] = steps.source[k]
            work.active.target[n] = steps.target[k]
            work.active.mass[n] = w
            n += 1
    return n


@leaf
def one_tick(rows, width, active, n):
    """Multiply the first `width` columns of `rows` by I + N."""
    for k in range(n):
        s, t, f = active.source[k], active.target[k], active.mass[k]
        for r in range(width):
            rows[t, r] += f * rows[s, r]


@leaf
def next_term(rows, width, active, n, scale, before, spare):
    """Put `before` * N * scale into `spare`, and add it to `rows`; returns how many steps may still give something."""
    kept = k = 0
    while k < n:
        t = active.target[k]
        start = k
        while k < n and active.target[k] == t:
            s, f = active.source[k], active.mass[k] * scale
            for r in range(width):
                term = f * before[s, r]
                spare[t, r] = term if k == start else spare[t, r] + term
            k += 1
        some = False
        for r in range(width):
            rows[t, r] += spare[t, r]
            some |= spare[t, r] > 0.0
        if some:
            kept = k
    return kept


@aside
def advance(rows, width, active, n, ticks, spare):
    """Multiply the first `width` columns of `rows` by (I + N)^ticks, where N are the first n active steps.

    Term m of the sum stands in `spare`; it follows from the one before by N * (ticks - m + 1) / m, so that nothing
    large is ever multiplied by something small. Steps at the end that give nothing any more are dropped.
    """
    if ticks == 1:
        one_tick(rows, width, active, n)
        return
    m = 1
    while n > 0 and m <= ticks:
        kept = next_term(rows, width, active, n, (ticks - m + 1) / m, rows if m == 1 else spare, spare)
        if m == ticks:
            kept = 0
        for k in range(kept, n):  # what is dropped leaves zeros behind
            for r in range(width):
                spare[active.target[k], r] = 0.0
        n = kept
        m += 1
