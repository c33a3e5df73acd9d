"""Where the matches of a chain may lie, and from when on nothing unseen can forbid them.

Problem: the least and the greatest instant of every node over all worlds in which the chain is a match. Idea: "x is not
certainly inside its region" means that the region begins at or behind x's first instant or ends at or before its last.
Such conditions, order and window hold for the componentwise least and greatest of two solutions, so narrowing the
ranges until nothing changes is exact, unless an event with a hole in its support has several regions, or for groups:
then the ends are tried one by one, by a loop of its own, which is compiled only where it is needed. Reference: spec of
imprecise time, section 4, and E2 of section 5.
Invariant: a range is never too narrow.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from whenabouts.kernels.types import aside, leaf
from whenabouts.kernels.uncertain.envelope import FAR, lay_out, new_layout, row_instants
from whenabouts.kernels.uncertain.exact import largest, prepare
from whenabouts.kernels.uncertain.feasible import first_of
from whenabouts.kernels.uncertain.forbidden import judge
from whenabouts.kernels.uncertain.sweep import sole_member
from whenabouts.kernels.uncertain.times import EXACT, segment_of

AT_ONCE = -(1 << 63)  # of final: no unseen event can forbid the match
NEVER = (1 << 63) - 1  # of final: no unseen event is ever too late to forbid the match
TRIES = 64  # ends tried one by one before the outer bound is taken


def quick_reaches(times, chains, forbidders, regions, span):
    """First and last instant of every node over all matches of its chain (first > last if it has none), and `final`.

    An unseen event whose lower bound is at least `final` cannot forbid any match of the chain; AT_ONCE: none can.
    Also whether narrowing was exact: elsewhere the bounds are outer ones, which `reaches` takes in.
    """
    size = chains.ends.size
    nodes = chains.ends[size - 1] if size > 0 else 0
    first, last, final = np.ones(nodes, np.int64), np.zeros(nodes, np.int64), np.full(size, AT_ONCE, np.int64)
    closed = np.ones(size, np.uint8)
    instants, disturbers = largest(chains, forbidders)
    layout = new_layout(instants, disturbers)
    lo, hi = np.empty(layout.lo.size, np.int64), np.empty(layout.lo.size, np.int64)
    for m in range(size):
        begin = first_of(chains.ends, m)
        count = lay_out(times, chains, m, layout)
        if count == 0 or not narrow(times, chains, forbidders, m, layout, count, span, -1, -1, 0):
            continue
        closed[m] = is_closed(times, chains, forbidders, m, layout, count)
        lo[:count], hi[:count] = layout.lo[:count], layout.hi[:count]
        nodes = chains.ends[m] - begin
        for j in range(nodes):
            first[begin + j], last[begin + j] = lo[layout.first_of[j]], hi[layout.last_of[j]]
        for k in range(first_of(regions.ends, m), regions.ends[m]):
            start, end = row_instants(layout, regions, k, nodes, count)
            if span < 0 and end == count:
                final[m] = NEVER
                continue
            u, v, c = least_gap(start, end, count, span)
            restore(times, chains, m, layout, lo, hi, count)
            if narrow(times, chains, forbidders, m, layout, count, span, u, v, c):
                final[m] = max(final[m], layout.hi[v] + (span + 1 if end == count else 0))
    return first, last, final, closed


def reaches(times, chains, forbidders, regions, span, rules, effort):
    """The same for chains where narrowing alone is not exact: the ends are tried one by one."""
    size = chains.ends.size
    nodes = chains.ends[size - 1] if size > 0 else 0
    first, last, final = np.ones(nodes, np.int64), np.zeros(nodes, np.int64), np.full(size, AT_ONCE, np.int64)
    layout, tools = prepare(chains, forbidders)
    lo, hi = np.empty(layout.lo.size, np.int64), np.empty(layout.lo.size, np.int64)
    for m in range(size):
        begin = first_of(chains.ends, m)
        count = lay_out(times, chains, m, layout)
        if count == 0 or not narrow(times, chains, forbidders, m, layout, count, span, -1, -1, 0):
            continue
        lo[:count], hi[:count] = layout.lo[:count], layout.hi[:count]
        possible = True
        for j in range(2 * count):
            i, up = j >> 1, (j & 1) == 1
            end, tools = probe(
                times, chains, forbidders, m, layout, count, span, rules, effort, tools, lo, hi, -1, i, 0, up
            )
            possible = possible and lo[i] <= end <= hi[i]
            if up:
                hi[i] = end
            else:
                lo[i] = end
        if not possible:
            continue
        nodes = chains.ends[m] - begin
        for j in range(nodes):
            first[begin + j], last[begin + j] = lo[layout.first_of[j]], hi[layout.last_of[j]]
        for k in range(first_of(regions.ends, m), regions.ends[m]):
            start, end = row_instants(layout, regions, k, nodes, count)
            if span < 0 and end == count:
                final[m] = NEVER
                continue
            u, v, c = least_gap(start, end, count, span)
            restore(times, chains, m, layout, lo, hi, count)
            if not narrow(times, chains, forbidders, m, layout, count, span, u, v, c):
                continue
            hi_v, hi[v] = hi[v], layout.hi[v]
            top, tools = probe(
                times, chains, forbidders, m, layout, count, span, rules, effort, tools, lo, hi, u, v, c, True
            )
            hi[v] = hi_v
            if top >= lo[v]:
                final[m] = max(final[m], top + (span + 1 if end == count else 0))
    return first, last, final


@leaf
def least_gap(start, end, count, span):
    """The condition t[u] - t[v] <= c under which a region holds an instant, and v, on which its end depends."""
    if start >= 0 and end < count:
        return start, end, -2
    if end < count:
        return (count - 1, end, span - 1) if span >= 0 else (-1, end, 0)
    return (start, 0, span - 1) if start >= 0 else (-1, 0, 0)


@leaf
def restore(times, chains, m, layout, lo, hi, count):
    lay_out(times, chains, m, layout)
    for i in range(count):
        layout.lo[i], layout.hi[i] = max(layout.lo[i], lo[i]), min(layout.hi[i], hi[i])


@njit
def probe(times, chains, forbidders, m, layout, count, span, rules, effort, tools, lo, hi, u, i, c, up):
    """The last (up) or first instant lo[i]..hi[i] that instant i takes in a match with t[u] - t[i] <= c.

    A bound that leaves out no match is returned where too many are tried, or one is too hard.
    """
    end, step = (hi[i], -1) if up else (lo[i], 1)
    for _ in range(TRIES):
        if end < lo[i] or end > hi[i]:
            break
        restore(times, chains, m, layout, lo, hi, count)
        layout.lo[i], layout.hi[i] = end, end
        if u >= 0:
            layout.hi[u] = min(layout.hi[u], end + c)
        value, _, kind, tools = judge(times, chains, forbidders, m, layout, count, span, rules, effort, tools)
        if value > 0.0 or kind != EXACT:
            break
        end += step
    return end, tools


@aside
def is_closed(times, chains, forbidders, m, layout, count):
    """Whether narrowing is exact: no group, and no event with several regions if there is a hole anywhere."""
    holes, several, before = False, False, np.int64(-1)
    for i in range(count):
        e = sole_member(chains, m, layout.node[i])
        if e < 0:
            return False
        holes = holes or has_hole(times, e)
    for r in range(forbidders.ends[m - 1] if m > 0 else 0, forbidders.ends[m]):
        e = forbidders.event[r]
        holes = holes or has_hole(times, e)
        several = several or e == before
        before = np.int64(e)
    return not (holes and several)


@leaf
def has_hole(times, e):
    for k in range(times.first[e], times.first[e + 1]):
        if times.mass[k] == 0.0:
            return True
    return False


@leaf
def possible_instant(times, e, t, step):
    """The nearest instant from t on, forwards (1) or backwards (-1), that the event may take; t for a group."""
    if e < 0:
        return t
    t = max(t, times.lower[e]) if step > 0 else min(t, times.upper[e])
    if t < times.lower[e] or t > times.upper[e]:
        return FAR * step
    k = segment_of(times, e, t)
    while times.mass[k] == 0.0:
        k += step
        t = times.start[k] if step > 0 else times.start[k + 1] - 1
    return t


@aside
def narrow(times, chains, forbidders, m, layout, count, span, u, v, c):
    """Narrow the ranges of the instants until order, window, every row and t[u] - t[v] <= c hold at either end."""
    lo, hi, body = layout.lo, layout.hi, layout.body
    nodes = layout.node[count - 1] + 1
    for side in range(2):
        changed = True
        while changed:
            changed = False
            for j in range(count):
                i = j if side == 0 else count - 1 - j
                e = sole_member(chains, m, layout.node[i])
                if side == 0:
                    t = lo[i]
                    if i > 0:
                        t = max(t, lo[i - 1] + 1 - body[i])
                    elif span >= 0:
                        t = max(t, lo[count - 1] - span)
                    if i == v and u >= 0:
                        t = max(t, lo[u] - c)
                    t = possible_instant(times, e, t, 1)
                    changed = changed or t != lo[i]
                    lo[i] = t
                else:
                    t = hi[i]
                    if i < count - 1:
                        t = min(t, hi[i + 1] - 1 + body[i + 1])
                    elif span >= 0:
                        t = min(t, hi[0] + span)
                    if i == u:
                        t = min(t, hi[v] + c)
                    t = possible_instant(times, e, t, -1)
                    changed = changed or t != hi[i]
                    hi[i] = t
                if lo[i] > hi[i]:
                    return False
            for r in range(forbidders.ends[m - 1] if m > 0 else 0, forbidders.ends[m]):
                moved = keep_clear(times, layout, forbidders, r, nodes, count, span, side)
                if moved < 0:
                    return False
                changed = changed or moved > 0
    return True


@leaf
def keep_clear(times, layout, forbidders, r, nodes, count, span, side):
    """Narrow by one row, "begins at or behind the event's first instant, or ends at or before its last".

    Returns 1 if a range changed, -1 if the row cannot be kept. Both ends are an instant plus a shift.
    """
    e = forbidders.event[r]
    start, end = row_instants(layout, forbidders, r, nodes, count)
    endless = start < 0 and span < 0
    unending = end == count and span < 0
    since, since_shift = (start, 0) if start >= 0 else (count - 1, -span - 1)
    until, until_shift = (end, np.int64(forbidders.closed[r])) if end < count else (0, np.int64(span + 1))
    if side == 0:
        if not unending and layout.lo[until] + until_shift <= times.upper[e]:
            return 0
        if endless:
            return -1
        least = times.lower[e] - since_shift
        if layout.lo[since] >= least:
            return 0
        layout.lo[since] = least
        return 1 if least <= layout.hi[since] else -1
    if not endless and layout.hi[since] + since_shift >= times.lower[e]:
        return 0
    if unending:
        return -1
    most = times.upper[e] - until_shift
    if layout.hi[until] <= most:
        return 0
    layout.hi[until] = most
    return 1 if most >= layout.lo[until] else -1
