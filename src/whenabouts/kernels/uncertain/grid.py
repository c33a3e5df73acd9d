"""Functions of one instant, kept by cells: pieces of the timeline between all the bounds that matter for a chain.

Problem: the cost of a confidence must not grow with the fineness of the clock. Idea: within a cell every mass per tick
is constant, so whatever is summed is a polynomial there; a wide cell keeps as many values as its degree needs (its
nodes), a narrow one all of its ticks. Invariant: every value belongs to a tick, and none is negative.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from whenabouts.kernels.program import F64, I64
from whenabouts.kernels.types import aside, leaf
from whenabouts.kernels.uncertain.envelope import AT, EARLIER, LATER
from whenabouts.kernels.uncertain.rules import NODES, is_smooth, node_tick, rule_point, rule_size
from whenabouts.kernels.uncertain.times import mass_at

CROWD = 20  # events with mass in one cell before it is cut into pieces, which keeps degrees low


class Grid(NamedTuple):
    """Values at the nodes of the cells of one instant, one row per set of bits (see sweep.py)."""

    start: I64
    width: I64
    degree: I64
    at: I64  # nodes at[c]..at[c+1]-1 belong to cell c
    tick: I64
    values: F64
    size: I64  # [cells]


@njit
def new_grid(cells, nodes, rows):
    i = np.int64
    return Grid(
        np.empty(cells, i), np.empty(cells, i), np.empty(cells, i), np.empty(cells + 1, i), np.empty(nodes, i),
        np.empty((rows, nodes)), np.zeros(1, i),
    )  # fmt: skip


@leaf
def nodes_of(grid):
    return grid.at[grid.size[0]]


@leaf
def add_cell(rules, grid, start, width, degree):
    c = grid.size[0]
    if c == 0:
        grid.at[0] = 0
    nodes = min(degree + 1, NODES)
    first = grid.at[c]
    if is_smooth(width, nodes):
        for r in range(nodes):
            grid.tick[first + r] = start + node_tick(rules, width, nodes, r)
    else:
        nodes = width
        for r in range(nodes):
            grid.tick[first + r] = start + r
    grid.start[c], grid.width[c], grid.degree[c], grid.at[c + 1] = start, width, degree, first + nodes
    grid.size[0] = c + 1


@leaf
def one_cell(grid, low, high):
    """All ticks low..high."""
    grid.size[0], grid.start[0], grid.width[0], grid.degree[0] = 1, low, high - low + 1, 0
    grid.at[0], grid.at[1] = 0, high - low + 1
    for q in range(high - low + 1):
        grid.tick[q] = low + q


@leaf
def varies(times, layout, x, places, tick, window):
    """Whether the masses at these places change within the cell that begins at the tick."""
    e = layout.event[x]
    lower, upper = times.lower[e], times.upper[e]
    if places & ~(AT | EARLIER | LATER) and lower <= tick <= upper:
        return True
    if places & EARLIER and lower <= tick - window <= upper:
        return True
    return places & LATER and lower <= tick + window <= upper


@aside
def degree_here(times, layout, n, i, start, before, window):
    """The degree, in a cell, of the function of instant i; `before` is that of the instant before, -1 if it is 0."""
    degree = 0 if before < 0 else before + 1
    for x in range(n):
        if i < layout.head[x] or i > layout.tail[x]:
            continue
        if varies(times, layout, x, layout.places[x, i], start, window):
            degree += 1
        elif i > 0 and layout.head[x] < i and before >= 0:
            degree += varies(times, layout, x, layout.places[x, i - 1], start, window)
        if i > 0 and layout.head[x] < i and layout.steps[x, i - 1]:
            degree += varies(times, layout, x, 1, start, window)
    return degree


@aside
def degree_over(times, layout, n, i, start, degree, window):
    """The degree, in a cell of instant i-1, of what is summed there for instant i."""
    for x in range(n):
        if layout.head[x] < i <= layout.tail[x]:
            degree += varies(times, layout, x, layout.places[x, i - 1] | layout.steps[x, i - 1], start, window)
    return degree


@aside
def divide(times, layout, n, cuts, event, rules, source, target, i, lo, hi, least, most, window):
    """The cells of instant i that meet lo..hi, for a single event; cuts[-1] is how many cuts there are.

    They are shortened to least..most only, which holds for all instants: cells of two instants are equal or disjoint.
    """
    target.size[0] = 0
    target.at[0] = 0
    near = 0
    for c in range(cuts[-1] - 1):
        start, end = max(cuts[c], least), min(cuts[c + 1], most + 1)
        if end <= start or end <= lo or start > hi or mass_at(times, event, start) == 0.0:
            continue
        before = -1
        if i > 0:
            while near < source.size[0] and source.start[near] < start:
                near += 1
            if near < source.size[0] and source.start[near] == start:
                before = source.degree[near]
        add_cell(rules, target, start, end - start, degree_here(times, layout, n, i, start, before, window))


@leaf
def lagrange(grid, c, weights):
    """The barycentric weights of a cell's nodes."""
    first, last, scale = grid.at[c], grid.at[c + 1], 4.0 / grid.width[c]
    for r in range(first, last):
        product = 1.0
        for q in range(first, last):
            if q != r:
                product *= (grid.tick[r] - grid.tick[q]) * scale
        weights[r - first] = 1.0 / product


@leaf
def share_nodes(grid, c, x, weights, shares):
    """What each node of the cell counts for at x ticks from its start."""
    first, count = grid.at[c], grid.at[c + 1] - grid.at[c]
    total = 0.0
    for r in range(count):
        distance = x - (grid.tick[first + r] - grid.start[c])
        if distance == 0.0:
            for q in range(count):
                shares[q] = 0.0
            shares[r] = 1.0
            return
        shares[r] = weights[r] / distance
        total += shares[r]
    for r in range(count):
        shares[r] /= total


@leaf
def read(grid, c, rows, shares, out):
    """The values of a cell for such shares."""
    first, count = grid.at[c], grid.at[c + 1] - grid.at[c]
    for b in range(rows):
        value = 0.0
        for r in range(count):
            value += shares[r] * grid.values[b, first + r]
        out[b] = max(value, 0.0)


@aside
def weigh(grid, c, rules, weights, shares, out):
    """The weight of each node in the sum over the cell's ticks."""
    count, width = grid.at[c + 1] - grid.at[c], grid.width[c]
    for r in range(count):
        out[r] = 1.0 if count == width else 0.0
    if count == width:
        return
    lagrange(grid, c, weights)
    points = rule_size(width, count - 1)
    for g in range(points):
        x, weight = rule_point(rules, width, points, g)
        share_nodes(grid, c, x, weights, shares)
        for r in range(count):
            out[r] += weight * shares[r]
