"""What of a chain's forbidden regions matters: tight ranges, and every event outside as a sum of simple factors.

Problem: most rows cannot change a confidence, and those that can should cost as little as possible. Idea: lay the nodes
out as instants (an event: one; a group: its first and its last), narrow their ranges, and write the probability that an
outside event avoids all its regions as a sum over the places left to it: before the first region, between two, behind
the last. Each place is a function of one instant, or of the step between two neighbouring ones; places out of reach are
dropped (spec of imprecise time, sections 2 and 3.2). Invariant: sums of masses only, so that impossible stays 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from whenabouts.kernels.program import I64
from whenabouts.kernels.types import aside, leaf
from whenabouts.kernels.uncertain.times import U8, mass_at, onward, upto

FAR = 1 << 62

UPTO, AT, ONWARD = 1, 2, 4  # at or before the instant, at it, at or behind it
BEFORE, BEHIND = 32, 64  # before or behind it
EARLIER, LATER = 8, 16  # at or before the last instant - window; at or behind the first instant + window
ANYWHERE = 127

UNSEEN = -1


class Layout(NamedTuple):
    """The instants of one chain, and the events that can disturb it (row x of the matrices)."""

    node: I64  # of an instant
    body: U8  # 1: the last instant of a group, whose first is the one before
    lo: I64
    hi: I64
    first_of: I64  # instants of a node
    last_of: I64
    event: I64  # of a disturber
    places: U8  # [x, instant] flags: where x may be so that it avoids its regions
    steps: U8  # [x, i]: x may also be behind instant i and at or before instant i+1
    head: I64  # first and last instant the factor of x depends on
    tail: I64


@njit
def new_layout(instants, disturbers):
    i, x = instants + 1, disturbers + 1
    ints, flags = np.int64, np.uint8
    return Layout(
        np.empty(i, ints), np.empty(i, flags), np.empty(i, ints), np.empty(i, ints), np.empty(i, ints),
        np.empty(i, ints), np.empty(x, ints), np.empty((x, i), flags), np.empty((x, i), flags),
        np.empty(x, ints), np.empty(x, ints),
    )  # fmt: skip


@aside
def lay_out(times, chains, m, layout):
    """Write down the instants of chain m with the bounds of their events; returns how many."""
    count = 0
    begin = chains.ends[m - 1] if m > 0 else 0
    for n in range(begin, chains.ends[m]):
        j, end = chains.node_ends[n - 1] if n > 0 else 0, chains.node_ends[n]
        e = chains.members[j]
        lower, upper, latest_lower, earliest_upper = times.lower[e], times.upper[e], times.lower[e], times.upper[e]
        for i in range(j + 1, end):
            e = chains.members[i]
            lower, latest_lower = min(lower, times.lower[e]), max(latest_lower, times.lower[e])
            upper, earliest_upper = max(upper, times.upper[e]), min(earliest_upper, times.upper[e])
        layout.first_of[n - begin] = count
        layout.node[count], layout.body[count] = n - begin, 0
        layout.lo[count], layout.hi[count] = lower, earliest_upper
        if end - j > 1:
            count += 1
            layout.node[count], layout.body[count] = n - begin, 1
            layout.lo[count], layout.hi[count] = latest_lower, upper
        layout.last_of[n - begin] = count
        count += 1
    return count


@aside
def tighten(layout, count, span):
    """Narrow the ranges of the instants to what order and window leave; whether anything is left."""
    lo, hi, body = layout.lo, layout.hi, layout.body
    needed = 0
    for i in range(1, count):
        needed += 1 - body[i]
    if 0 <= span < needed:
        return False
    for _ in range(2):
        for i in range(1, count):
            lo[i] = max(lo[i], lo[i - 1] + 1 - body[i])
        if span >= 0:
            lo[0] = max(lo[0], lo[count - 1] - span)
    for _ in range(2):
        for i in range(count - 2, -1, -1):
            hi[i] = min(hi[i], hi[i + 1] - 1 + body[i + 1])
        if span >= 0:
            hi[count - 1] = min(hi[count - 1], hi[0] + span)
    for i in range(count):
        if lo[i] > hi[i]:
            return False
    return True


@leaf
def row_instants(layout, forbidders, r, nodes, count):
    """The instants a row lies between: -1 and `count` stand for the ends of the window."""
    low, high = forbidders.low[r], forbidders.high[r]
    start = -1
    if low >= 0:
        start = layout.last_of[low] if forbidders.from_last[r] else layout.first_of[low]
    return start, layout.first_of[high] if high < nodes else count


@leaf
def can_meet(layout, lower, upper, start, end, closed, count, span):
    """Whether an event with these bounds can be strictly between the two instants, or at the second if closed."""
    if start >= 0:
        least = layout.lo[start]
    else:
        least = layout.lo[count - 1] - span - 1 if span >= 0 else -FAR
    if end < count:
        most = layout.hi[end] + closed
    else:
        most = layout.hi[0] + span + 1 if span >= 0 else FAR
    return lower < most and upper > least


@aside
def gather(times, forbidders, m, nodes, layout, count, span):
    """Write down the disturbers of chain m; returns how many, or -1 if one of them is in the way for certain."""
    n = 0
    r, end = forbidders.ends[m - 1] if m > 0 else 0, forbidders.ends[m]
    while r < end:
        e = forbidders.event[r]
        lower, upper = times.lower[e], times.upper[e]
        places, steps = layout.places[n], layout.steps[n]
        for i in range(count):
            places[i], steps[i] = 0, 0
        since, behind = UNSEEN, 0
        while r < end and forbidders.event[r] == e:
            start, stop = row_instants(layout, forbidders, r, nodes, count)
            closed = forbidders.closed[r]
            r += 1
            if not can_meet(layout, lower, upper, start, stop, closed, count, span):
                continue
            if since != UNSEEN:
                allow(layout, places, steps, lower, upper, since, behind, start, count, span)
            elif start >= 0:
                places[start] |= UPTO
            elif span >= 0:
                places[count - 1] |= EARLIER
            since, behind = stop, closed
        if since == UNSEEN:
            continue
        if since < count:
            places[since] |= BEHIND if behind else ONWARD
        elif span >= 0:
            places[0] |= LATER
        layout.event[n] = e
        if not prune(layout, n, lower, upper, count, span):
            return -1
        n += 1
    return n


@leaf
def allow(layout, places, steps, lower, upper, start, behind, end, count, span):
    """An event may be from instant `start` on (or only behind it), up to instant `end`."""
    if not behind:
        places[start] |= AT
    for i in range(start, end):
        if layout.body[i + 1] or can_meet(layout, lower, upper, i, i + 1, 0, count, span):
            steps[i] = 1
        else:
            places[i + 1] |= AT


@leaf
def prune(layout, x, lower, upper, count, span):
    """Drop the places the disturber cannot reach, and note which instants are left; whether there are any."""
    places, steps, lo, hi = layout.places[x], layout.steps[x], layout.lo, layout.hi
    window = span + 1
    head, tail = count, -1
    for i in range(count):
        out = 0
        if lower > hi[i]:
            out |= UPTO | AT
        if upper < lo[i]:
            out |= ONWARD | AT
        if upper <= lo[i]:
            out |= BEHIND
        if lower > hi[i] - window:
            out |= EARLIER
        if upper < lo[i] + window:
            out |= LATER
        places[i] &= ANYWHERE - out
        if steps[i] and (lower > hi[i + 1] or upper <= lo[i]):
            steps[i] = 0
        if places[i] or steps[i]:
            head, tail = min(head, i), i + steps[i]
    layout.head[x], layout.tail[x] = head, tail
    return tail >= 0


@leaf
def place_mass(times, e, places, t, window):
    """The mass of the event at the places that depend on one instant, t."""
    mass = 0.0
    if places & UPTO:
        mass += upto(times, e, t)
    if places & AT:
        mass += mass_at(times, e, t)
    if places & ONWARD:
        mass += onward(times, e, t)
    if places & BEFORE:
        mass += upto(times, e, t - 1)
    if places & BEHIND:
        mass += onward(times, e, t + 1)
    if places & EARLIER:
        mass += upto(times, e, t - window)
    if places & LATER:
        mass += onward(times, e, t + window)
    return mass


@aside
def step_mass(times, e, s, t):
    """P(s < T <= t), added up without a difference."""
    a, b = max(s + 1, times.lower[e]), min(t, times.upper[e])
    mass = 0.0
    k = times.first[e]
    while a <= b:
        while k + 1 < times.first[e + 1] and times.start[k + 1] <= a:
            k += 1
        end = min(b, times.start[k + 1] - 1 if k + 1 < times.first[e + 1] else b)
        mass += times.mass[k] * (end - a + 1)
        a = end + 1
    return mass
