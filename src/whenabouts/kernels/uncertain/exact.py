"""One exact confidence: where cells end, what it will cost, and the sum over first instants.

Problem: the same sum can be taken in one sweep, or in one for each first instant, which the window may ask for and
which turns places that depend on the first instant into numbers. Idea: estimate both. First instants are sampled like
all others where they are many: the confidence is a polynomial of the first instant between two crossings of cell ends.
Invariant: memory is allocated for the largest chain so far and reused.
Reference: spec of imprecise time, section 3.
"""

from __future__ import annotations

from typing import NamedTuple

from numba import njit

from whenabouts.kernels.types import aside, leaf
from whenabouts.kernels.uncertain.envelope import EARLIER, LATER, new_layout
from whenabouts.kernels.uncertain.grid import CROWD, Grid, add_cell, new_grid, nodes_of, one_cell, weigh
from whenabouts.kernels.uncertain.rules import NODES, WIDE
from whenabouts.kernels.uncertain.straight import Square, new_square
from whenabouts.kernels.uncertain.sweep import BITS, Desk, focus, is_bit, new_desk, sole_member, sweep
from whenabouts.kernels.uncertain.windowed import TOO_MUCH

SQUARE = 512  # ticks of an instant up to which steps are made tick by tick with arrays over all ticks


class Tools(NamedTuple):
    """Working memory for one chain after the other."""

    desk: Desk
    source: Grid
    target: Grid
    outer: Grid
    square: Square


@njit
def prepare(chains, forbidders):
    instants, disturbers = largest(chains, forbidders)
    return new_layout(instants, disturbers), Tools(
        new_desk(64, 256, disturbers, 1), new_grid(64, 256, 1), new_grid(64, 256, 1), new_grid(64, 256, 1),
        new_square(instants, 1),
    )  # fmt: skip


@njit
def roomy(tools, cuts, nodes, rows):
    """The tools, or larger ones with the same cuts."""
    desk, grid = tools.desk, tools.source
    if cuts < desk.cuts.size and nodes <= grid.tick.size and rows <= grid.values.shape[0]:
        return tools
    cuts = desk.cuts.size if cuts < desk.cuts.size else 2 * cuts
    nodes, rows = max(nodes, grid.tick.size), max(rows, grid.values.shape[0])
    larger = new_desk(cuts, nodes, desk.ahead.size, rows)
    larger.cuts[: desk.cuts.size] = desk.cuts
    larger.cuts[-1] = desk.cuts[-1]
    return Tools(
        larger, new_grid(cuts, nodes, rows), new_grid(cuts, nodes, rows), new_grid(2 * cuts, nodes + cuts * WIDE, 1),
        tools.square,
    )  # fmt: skip


@njit
def wide_square(square, ticks):
    """The square, or another one with room for so many ticks."""
    if ticks <= square.sums.size:
        return square
    return new_square(square.mass.shape[0] - 1, 2 * ticks)


@njit
def with_square(tools, ticks):
    """The tools with room for steps between so many ticks."""
    return Tools(tools.desk, tools.source, tools.target, tools.outer, wide_square(tools.square, ticks))


@njit
def largest(chains, forbidders):
    """The most instants and the most rows of a chain."""
    instants, rows = 1, 0
    for m in range(chains.ends.size):
        instants = max(instants, 2 * (chains.ends[m] - (chains.ends[m - 1] if m > 0 else 0)))
        rows = max(rows, forbidders.ends[m] - (forbidders.ends[m - 1] if m > 0 else 0))
    return instants, rows


@aside
def is_dense(layout, count, narrow):
    """Whether ticks are kept one by one: if they are few, and always for groups."""
    wide = False
    for i in range(count):
        if layout.body[i]:
            return True
        wide = wide or layout.hi[i] - layout.lo[i] >= narrow
    return not wide


@aside
def most_ticks(layout, count):
    ticks = 1
    for i in range(count):
        ticks = max(ticks, layout.hi[i] - layout.lo[i] + 1)
    return ticks


@aside
def cuts_needed(times, chains, m, layout, n):
    """How many ends of cells there are at most, pieces included."""
    cuts = 2
    for j in range(chains.ends[m] - (chains.ends[m - 1] if m > 0 else 0)):
        e = sole_member(chains, m, j)
        cuts += times.first[e + 1] - times.first[e] + 1
    for x in range(n):
        e = layout.event[x]
        cuts += 3 * (times.first[e + 1] - times.first[e] + 1)
    return cuts * (2 + n // CROWD) + 1


@njit
def cut(times, chains, m, layout, count, n, cuts, span):
    """Sort the ends of the cells of a chain into `cuts`; returns how many nodes there can be."""
    lo, hi = layout.lo[0], layout.hi[count - 1]
    cuts[0], cuts[1], size = lo, hi + 1, 2
    for i in range(count):
        size = add_ends(times, sole_member(chains, m, layout.node[i]), 0, lo, hi, cuts, size)
    for x in range(n):
        size = add_ends(times, layout.event[x], 0, lo, hi, cuts, size)
        if layout.places[x, count - 1] & EARLIER:
            size = add_ends(times, layout.event[x], span + 1, lo, hi, cuts, size)
        if layout.places[x, 0] & LATER:
            size = add_ends(times, layout.event[x], -span - 1, lo, hi, cuts, size)
    cuts[:size].sort()
    kept = 1
    for c in range(1, size):
        if cuts[c] != cuts[kept - 1]:
            cuts[kept] = cuts[c]
            kept += 1
    size = kept
    for c in range(kept - 1):
        events = count
        for x in range(n):
            e = layout.event[x]
            events += times.lower[e] < cuts[c + 1] and times.upper[e] >= cuts[c]
        pieces = min(1 + events // CROWD, 1 + n // CROWD, cuts[c + 1] - cuts[c])
        for p in range(1, pieces):
            cuts[size] = cuts[c] + (cuts[c + 1] - cuts[c]) * p // pieces
            size += 1
    cuts[:size].sort()
    cuts[-1] = size
    nodes = 0
    for c in range(size - 1):
        nodes += min(cuts[c + 1] - cuts[c], WIDE)
    return nodes


@leaf
def add_ends(times, e, shift, lo, hi, cuts, size):
    """Add the ends of the event's segments, shifted, that lie inside lo..hi."""
    for k in range(times.first[e], times.first[e + 1] + 1):
        end = (times.start[k] if k < times.first[e + 1] else times.upper[e] + 1) + shift
        if lo < end <= hi:
            cuts[size] = end
            size += 1
    return size


@aside
def nodes_about(layout, cuts, i, dense):
    """About how many nodes instant i has."""
    ticks = layout.hi[i] - layout.lo[i] + 1
    if dense:
        return float(ticks)
    cells = 0
    for c in range(cuts[-1] - 1):
        cells += cuts[c] <= layout.hi[i] and cuts[c + 1] > layout.lo[i]
    return float(min(ticks, 10 * cells))


@aside
def work(layout, cuts, n, count, fixed, dense):
    """About how many products one sweep needs; focus() comes first."""
    total, before = 0.0, 1.0 if fixed else nodes_about(layout, cuts, 0, dense)
    for i in range(1, count):
        nodes = nodes_about(layout, cuts, i, dense)
        factors, bits = 2, 0
        for x in range(n):
            if layout.head[x] <= i <= layout.tail[x]:
                factors += 1
                bits += is_bit(layout, x)
        total += before * nodes * factors * 2.0**bits
        before = nodes
    return total


@aside
def choose(layout, cuts, count, n, span, dense):
    """How to sum over first instants: those below `alone` one by one, the others together if `freely`.

    Also returns the rows (sets of bits) needed, and about how many products.
    """
    lo, hi = layout.lo[0], layout.hi[0]
    together = max(lo, layout.hi[count - 1] - span) if span >= 0 else lo
    bits = focus(layout, n, count, False)
    costs = work(layout, cuts, n, count, False, dense)
    if together == lo and bits == 0:
        return lo, True, 1, costs
    bits_alone = focus(layout, n, count, True)
    costs_alone = work(layout, cuts, n, count, True, dense) * nodes_about(layout, cuts, 0, dense)
    if bits > BITS:
        costs = TOO_MUCH
    if bits_alone > BITS:
        costs_alone = TOO_MUCH
    if together > hi or costs > costs_alone:
        return hi + 1, False, 1 << min(bits_alone, BITS), costs_alone
    if together == lo:
        return lo, True, 1 << min(bits, BITS), costs
    return together, True, 1 << min(max(bits, bits_alone), BITS), max(costs, costs_alone)


@aside
def is_simple(layout, count, n):
    """Whether there are only single events of few ticks, and no disturber needs a bit; focus() without a fixed one."""
    if count < 2 or most_ticks(layout, count) > SQUARE:
        return False
    for i in range(count):
        if layout.body[i]:
            return False
    return focus(layout, n, count, False) == 0


@aside
def confidence(times, chains, m, layout, count, n, rules, desk, source, target, outer, span, alone, freely, dense):
    """The confidence of one chain, the first instants below `alone` one by one."""
    total, most, window = 0.0, layout.hi[count - 1], span + 1
    if freely:
        focus(layout, n, count, False)
        total += sweep(
            times, chains, m, layout, count, n, rules, desk, source, target,
            alone, layout.hi[0], most, 0, dense, window,
        )  # fmt: skip
    if alone > layout.lo[0]:
        focus(layout, n, count, True)
        starts(layout, count, n, desk.cuts, rules, outer, alone, dense, span)
        for c in range(outer.size[0]):
            weigh(outer, c, rules, desk.weights, desk.shares, outer.values[0, outer.at[c] : outer.at[c + 1]])
        for q in range(nodes_of(outer)):
            first = outer.tick[q]
            end = most if span < 0 else min(most, first + span)
            total += outer.values[0, q] * sweep(
                times, chains, m, layout, count, n, rules, desk, source, target, first, first, end, 1, dense, window
            )
    return max(total, 0.0)


@aside
def starts(layout, count, n, cuts, rules, outer, alone, dense, span):
    """The cells of first instants below `alone`: cut where a cell begins, or where the window's end crosses one."""
    lo = layout.lo[0]
    if dense:
        one_cell(outer, lo, alone - 1)
        return
    outer.size[0], outer.at[0] = 0, 0
    degree = min(NODES - 1, count + n)
    for x in range(n):
        degree = min(NODES - 1, degree + max(0, layout.tail[x] - layout.head[x]))
    c, d = 0, 0
    while lo < alone:
        while c < cuts[-1] and cuts[c] <= lo:
            c += 1
        while d < cuts[-1] and cuts[d] - span - 1 <= lo:
            d += 1
        end = min(alone, cuts[c]) if c < cuts[-1] else alone
        if span >= 0 and d < cuts[-1]:
            end = min(end, cuts[d] - span - 1)
        add_cell(rules, outer, lo, end - lo, degree)
        lo = end
