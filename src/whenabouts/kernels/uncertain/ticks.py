"""Chains with large groups, tick by tick.

Problem: the states of a group of g members are its 2^g subsets. Idea: given when the node before was complete, the
members of a group are independent of one another, so that all are in (s, t] with the product of what each has there;
the group is complete at t if one of them, at least, is at t (spec of imprecise time, section 3.5). One row over the
ticks per node, and one pass for every start from which the window ends early. Polynomial in members, but not in the
number of digits of the clock: a group costs the square of its ticks.
Invariant: what is inside grows by additions, tick by tick; "at least one" is kept as a flag, never as 1 - none.
"""

from __future__ import annotations

from whenabouts.kernels.types import aside, leaf
from whenabouts.kernels.uncertain.feasible import EARLIEST


@leaf
def pass_single(work, member, cells, rows, last):
    """From row 0 to row 1: the node is one event."""
    begin, mass = work.cells
    below = 0.0
    for c in range(cells):
        for i in range(begin[c] - begin[0] + 1, min(begin[c + 1] - begin[0], last) + 1):
            below += rows[0, i - 1]
            rows[1, i] = below * mass[c, member]


@leaf
def pass_group(work, member, size, cells, rows, last):
    """From row 0 to row 1: the node is a group of `size` members."""
    begin, mass = work.cells
    inside = work.weight
    at = 0
    for s in range(last):
        if s > 0 and begin[at + 1] <= begin[0] + s:
            at += 1
        if rows[0, s] == 0.0:
            continue
        for b in range(size):
            inside[b] = 0.0
        for c in range(at, cells):
            for i in range(max(begin[c] - begin[0], s) + 1, min(begin[c + 1] - begin[0], last) + 1):
                none, some = 1.0, 0.0  # all inside (s, i]: none of them at i, or some
                for b in range(size):
                    p = mass[c, member + b]
                    some = some * (inside[b] + p) + none * p
                    none *= inside[b]
                    inside[b] += p
                rows[1, i] += rows[0, s] * some


@aside
def onward(work, nodes, node, cells, last):
    """The probability that the nodes from `node` on follow row 0 in order, up to entry `last`."""
    rows = work.rows
    member = 0
    for j in range(node):
        member += work.sizes[j]
    for j in range(node, nodes):
        for i in range(last + 1):
            rows[1, i] = 0.0
        if work.sizes[j] == 1:
            pass_single(work, member, cells, rows, last)
        else:
            pass_group(work, member, work.sizes[j], cells, rows, last)
        for i in range(last + 1):
            rows[0, i] = rows[1, i]
        member += work.sizes[j]
    total = 0.0
    for i in range(last + 1):
        total += rows[0, i]
    return total


@aside
def begin_at(work, cells, start, last):
    """Row 0: when the first node is complete, if the first of its members is at tick `start`."""
    begin, mass = work.cells
    row, inside, size = work.rows[0], work.weight, work.sizes[0]
    for i in range(last + 1):
        row[i] = 0.0
    at = 0
    while begin[at + 1] <= start:
        at += 1
    together = 1.0
    for b in range(size):
        together *= mass[at, b]
        inside[b] = 0.0
    row[start - begin[0] + 1] = together
    for c in range(at, cells):
        for i in range(max(begin[c], start + 1) - begin[0] + 1, min(begin[c + 1] - begin[0], last) + 1):
            neither, early, late, both = 1.0, 0.0, 0.0, 0.0  # whether some are at the start, at i
            for b in range(size):
                p, q, r = mass[at, b], mass[c, b], inside[b]
                both = both * (p + r + q) + early * q + late * p
                early = early * (p + r) + neither * p
                late = late * (r + q) + neither * q
                neither *= r
                inside[b] += q
            row[i] = both


@aside
def tick_by_tick(work, nodes, cells, span):
    """The probability that the nodes, cut into cells, happen in order inside the window."""
    begin = work.cells.begin
    end = begin[cells] - 1
    stop = begin[0] if span < 0 else max(begin[0], end - span)
    last = end - begin[0] + 1  # entry i of a row is tick begin[0] + i - 1
    for i in range(last + 1):
        work.rows[0, i] = 0.0
    work.rows[0, stop - begin[0]] = 1.0
    total = onward(work, nodes, 0, cells, last)
    for start in range(begin[0], stop):
        begin_at(work, cells, start, start + span - begin[0] + 1)
        total += onward(work, nodes, 1, cells, start + span - begin[0] + 1)
    return total


@leaf
def tick_cost(work, nodes, cells, span):
    """About how many steps `tick_by_tick` takes."""
    ticks = work.cells.begin[cells] - work.cells.begin[0]
    passes = 1.0 + (0 if span < 0 else max(0, ticks - 1 - span))
    cost, member, before = 0.0, 0, 1
    for j in range(nodes):
        size = work.sizes[j]
        complete = until = EARLIEST
        for m in work.kept[member : member + size]:
            complete, until = max(complete, work.earliest[m]), max(until, work.latest[m])
        cost += 4.0 * ticks if size == 1 else 4.0 * ticks + 2.0 * size * before * ticks
        before = until - complete + 1
        member += size
    return passes * cost
