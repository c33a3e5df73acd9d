"""The confidence of one chain with disturbers: a sweep over its instants.

Problem: sum, over all instants of the chain, its masses times the probability that every event outside avoids its
regions. Idea: go from instant to instant with a function of the latest. A disturber whose factor depends on one instant
or on two neighbours is multiplied in; one that keeps more places is a bit, "already placed where it may be", set with
the mass of each place as the sweep passes it (spec of imprecise time, 3.3 and MASK in 3.4). With the first instant held
fixed, places that depend on it are numbers. Invariant: only sums and products of masses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from whenabouts.kernels.program import F64, I64
from whenabouts.kernels.types import aside, leaf
from whenabouts.kernels.uncertain.envelope import place_mass, step_mass
from whenabouts.kernels.uncertain.grid import (
    degree_over,
    divide,
    lagrange,
    nodes_of,
    one_cell,
    read,
    share_nodes,
    weigh,
)
from whenabouts.kernels.uncertain.rules import NODES, rule_point, rule_size
from whenabouts.kernels.uncertain.times import mass_at

BITS = 16  # disturbers kept as bits at once


class Desk(NamedTuple):
    """Working memory of the sweep."""

    cuts: I64  # sorted ends of cells; the last entry is their number
    alive: I64  # the disturbers with a bit
    hopping: I64  # those between the two instants at hand
    stepping: I64  # bits of those that may be in between
    behind: F64  # [hopping, node of the target]: mass behind the hop
    ahead: F64  # [hopping]: mass ahead of it, at the source
    ends: F64  # [hopping, 2]: the same at the first and last tick of the source's cell
    fixed: F64  # mass of a disturber at places that depend on a fixed first instant
    factor: F64  # per node of the target
    now: F64  # values of the source
    placed: F64
    weights: F64
    shares: F64
    sums: F64


@njit
def new_desk(cuts, nodes, disturbers, rows):
    i, x = np.int64, disturbers + 1
    return Desk(
        np.empty(cuts + 1, i), np.empty(BITS + 1, i), np.empty(x, i), np.empty(BITS + 1, i), np.empty((x, nodes)),
        np.empty(x), np.empty((x, 2)), np.empty(x), np.empty(nodes), np.empty(rows), np.empty(rows),
        np.empty(NODES), np.empty(NODES), np.empty(NODES),
    )  # fmt: skip


@aside
def focus(layout, n, count, fixed):
    """Note the first and last instant every disturber depends on, apart from a fixed first one; count the bits needed.

    A disturber without any has head = count.
    """
    for x in range(n):
        head, tail = count, -1
        for i in range(count):
            free = not fixed or i > 0
            if (free and layout.places[x, i]) or layout.steps[x, i]:
                head, tail = min(head, i), max(tail, i + layout.steps[x, i])
        layout.head[x], layout.tail[x] = head, tail
    most = 0
    for i in range(count):
        bits = 0
        for x in range(n):
            bits += is_bit(layout, x) and layout.head[x] <= i <= layout.tail[x]
        most = max(most, bits)
    return most


@leaf
def is_bit(layout, x):
    if layout.tail[x] > layout.head[x] + 1:
        return True
    return layout.tail[x] > layout.head[x] and layout.steps[x, layout.head[x]] != 0


@aside
def sweep(times, chains, m, layout, count, n, rules, desk, source, target, lo, hi, most, fixed, dense, window):
    """The confidence over first instants lo..hi (one, if fixed) and instants up to `most`; focus() comes first."""
    total = 1.0
    for x in range(n):
        desk.fixed[x] = 0.0
        if fixed and layout.head[x] > 0:
            desk.fixed[x] = place_mass(times, layout.event[x], layout.places[x, 0], lo, window)
            if layout.head[x] == count:
                total *= desk.fixed[x]
    if total == 0.0:
        return 0.0
    bits = 0
    for i in range(count):
        low, high = (lo, hi) if i == 0 else (max(layout.lo[i], lo), min(layout.hi[i], most))
        if low > high:
            return 0.0
        grid, rows = (source, 1 << bits) if i == 0 else (target, 1 << bits)
        event = sole_member(chains, m, layout.node[i])
        if dense or (fixed and i == 0):
            one_cell(grid, low, high)
        else:
            divide(times, layout, n, desk.cuts, event, rules, source, grid, i, low, high, lo + fixed, most, window)
        if i == 0:
            for q in range(nodes_of(grid)):
                grid.values[0, q] = 1.0
        else:
            hop(times, chains, m, layout, n, rules, desk, source, grid, i, bits, rows, window)
        if event >= 0:
            for q in range(nodes_of(grid)):
                mass = mass_at(times, event, grid.tick[q])
                for b in range(rows):
                    grid.values[b, q] *= mass
        bits = meet(times, layout, n, desk, grid, i, bits, window)
        if i > 0:
            source, target = target, source
    return total * gather_sum(rules, desk, source)


@leaf
def sole_member(chains, m, node):
    """The event of a node, or -1 for a group."""
    n = node + (chains.ends[m - 1] if m > 0 else 0)
    first = chains.node_ends[n - 1] if n > 0 else 0
    return np.int64(chains.members[first]) if chains.node_ends[n] == first + 1 else np.int64(-1)


@leaf
def gather_sum(rules, desk, grid):
    total = 0.0
    for c in range(grid.size[0]):
        first, count = grid.at[c], grid.at[c + 1] - grid.at[c]
        all_ticks = count == grid.width[c]
        if not all_ticks:
            weigh(grid, c, rules, desk.weights, desk.shares, desk.sums)
        for r in range(count):
            total += grid.values[0, first + r] * (1.0 if all_ticks else desk.sums[r])
    return max(total, 0.0)


@aside
def meet(times, layout, n, desk, grid, i, bits, window):
    """At instant i: multiply by the disturbers that depend on it alone, place the others; returns how many bits."""
    nodes = nodes_of(grid)
    for x in range(n):
        if layout.head[x] == i and layout.tail[x] == i:
            for q in range(nodes):
                mass = desk.fixed[x] + place_mass(times, layout.event[x], layout.places[x, i], grid.tick[q], window)
                for b in range(1 << bits):
                    grid.values[b, q] *= mass
    j = 0
    while j < bits:
        x = desk.alive[j]
        if layout.places[x, i]:
            for q in range(nodes):
                mass = place_mass(times, layout.event[x], layout.places[x, i], grid.tick[q], window)
                for b in range(1 << bits):
                    if not (b >> j) & 1:
                        grid.values[b | (1 << j), q] += grid.values[b, q] * mass
        if layout.tail[x] > i:
            j += 1
            continue
        bits -= 1
        for b in range(1 << bits):
            old = ((b >> j) << (j + 1)) | (1 << j) | (b & ((1 << j) - 1))
            for q in range(nodes):
                grid.values[b, q] = grid.values[old, q]
        for k in range(j, bits):
            desk.alive[k] = desk.alive[k + 1]
    for x in range(n):
        if layout.head[x] == i and is_bit(layout, x):
            for q in range(nodes):
                mass = desk.fixed[x] + place_mass(times, layout.event[x], layout.places[x, i], grid.tick[q], window)
                for b in range(1 << bits):
                    grid.values[b | (1 << bits), q] = grid.values[b, q] * mass
            desk.alive[bits] = x
            bits += 1
    return bits


@aside
def hop(times, chains, m, layout, n, rules, desk, source, target, i, bits, rows, window):
    """From the function of instant i-1 to the sums, over all earlier instants, that instant i needs."""
    crossing, stepping, nodes = 0, 0, nodes_of(target)
    for x in range(n):
        if layout.head[x] == i - 1 and layout.tail[x] == i and not is_bit(layout, x):
            desk.hopping[crossing] = x
            for q in range(nodes):
                desk.behind[crossing, q] = place_mass(
                    times, layout.event[x], layout.places[x, i], target.tick[q], window
                )
            crossing += 1
    for j in range(bits):
        if layout.steps[desk.alive[j], i - 1]:
            desk.stepping[stepping] = j
            stepping += 1
    for b in range(rows):
        for q in range(nodes):
            target.values[b, q] = 0.0
    body = layout.body[i]
    q = 0
    for c in range(source.size[0]):
        first, last, start, width = source.at[c], source.at[c + 1], source.start[c], source.width[c]
        if last - first == width:
            for r in range(first, last):
                tick = source.tick[r]
                while q < nodes and target.tick[q] < tick + 1 - body:
                    q += 1
                for k in range(crossing):
                    x = desk.hopping[k]
                    desk.ahead[k] = desk.fixed[x] + place_mass(
                        times, layout.event[x], layout.places[x, i - 1], tick, window
                    )
                for b in range(rows):
                    desk.now[b] = source.values[b, r]
                if body:
                    for p in range(q, nodes):
                        desk.factor[p] = group_mass(times, chains, m, layout.node[i], tick, target.tick[p])
                spread(times, layout, desk, target, q, nodes, crossing, stepping, rows, body, tick, 1, 0.0)
            continue
        for k in range(crossing):
            x = desk.hopping[k]
            for side in range(2):
                desk.ends[k, side] = desk.fixed[x] + place_mass(
                    times, layout.event[x], layout.places[x, i - 1], start + side * (width - 1), window
                )
        degree = degree_over(times, layout, n, i, start, source.degree[c], window)
        lagrange(source, c, desk.weights)
        while q < nodes and target.tick[q] <= start:
            q += 1
        while q < nodes and target.tick[q] < start + width:
            part = target.tick[q] - start
            add_part(times, layout, rules, desk, source, target, c, part, degree, q, q + 1, crossing, stepping, rows)
            q += 1
        add_part(times, layout, rules, desk, source, target, c, width, degree, q, nodes, crossing, stepping, rows)


@leaf
def add_part(times, layout, rules, desk, source, target, c, part, degree, q, end, crossing, stepping, rows):
    """Add the sum over the first `part` ticks of a wide cell to the nodes q..end-1 behind them."""
    if q == end:
        return
    width = source.width[c]
    points = rule_size(part, degree)
    for g in range(points):
        x, weight = rule_point(rules, part, points, g)
        share_nodes(source, c, x, desk.weights, desk.shares)
        read(source, c, rows, desk.shares, desk.now)
        for b in range(rows):
            desk.now[b] *= weight
        along = x / (width - 1)
        for k in range(crossing):
            desk.ahead[k] = desk.ends[k, 0] * (1.0 - along) + desk.ends[k, 1] * along
        spread(times, layout, desk, target, q, end, crossing, stepping, rows, 0, source.start[c], part, x)


@aside
def spread(times, layout, desk, target, begin, end, crossing, stepping, rows, prepared, start, width, x):
    """Add what comes from one instant, x ticks behind `start` in a cell of such a width, to nodes of the target."""
    if not prepared:
        for q in range(begin, end):
            desk.factor[q] = 1.0
    for k in range(crossing):
        ahead = desk.ahead[k]
        if ahead >= 1.0:
            continue
        for q in range(begin, end):
            desk.factor[q] *= ahead + desk.behind[k, q]
    if stepping == 0:
        for b in range(rows):
            value = desk.now[b]
            if value != 0.0:
                for q in range(begin, end):
                    target.values[b, q] += value * desk.factor[q]
        return
    for q in range(begin, end):
        for b in range(rows):
            desk.placed[b] = desk.now[b]
        for k in range(stepping):
            bit = 1 << desk.stepping[k]
            mass = part_mass(times, layout.event[desk.alive[desk.stepping[k]]], start, width, x, target.tick[q])
            for b in range(rows):
                if not b & bit:
                    desk.placed[b | bit] += desk.placed[b] * mass
        for b in range(rows):
            target.values[b, q] += desk.placed[b] * desk.factor[q]


@leaf
def part_mass(times, e, start, width, x, tick):
    """P(start + x < T <= tick), linear in x over the cell."""
    if width == 1:
        return step_mass(times, e, start, tick)
    along = x / (width - 1)
    return (1.0 - along) * step_mass(times, e, start, tick) + along * step_mass(times, e, start + width - 1, tick)


@aside
def group_mass(times, chains, m, node, first, last):
    """P(the group's first instant is `first` and its last is `last`)."""
    n = node + (chains.ends[m - 1] if m > 0 else 0)
    lowest = chains.node_ends[n - 1] if n > 0 else 0
    none, low, high, both = 1.0, 0.0, 0.0, 1.0 if first == last else 0.0  # which of the two a member has taken so far
    for j in range(lowest, chains.node_ends[n]):
        e = chains.members[j]
        at_first, at_last = mass_at(times, e, first), mass_at(times, e, last)
        if first == last:
            both *= at_first
            continue
        inside = step_mass(times, e, first, last - 1)
        both = both * (at_first + inside + at_last) + low * at_last + high * at_first
        low = low * (at_first + inside) + none * at_first
        high = high * (inside + at_last) + none * at_last
        none *= inside
    return both
