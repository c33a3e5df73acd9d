"""The confidence of one chain of few ticks whose window does not bind, in time linear in its ticks.

Problem: a disturber between two instants s < t multiplies by a(s) + b(t), its mass up to s and from t on, and going
through all pairs of instants costs their square for each step. Idea: the product over k such disturbers is the sum,
over the sets of those that are early, of a product of a's at s and one of b's at t. Each set needs one running sum over
s; sets are built and closed one disturber at a time, so that a step costs 2^k times the ticks.
Invariant: only sums and products of masses. Reference: spec of imprecise time, 3.3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from whenabouts.kernels.program import F64, I64
from whenabouts.kernels.types import aside, leaf
from whenabouts.kernels.uncertain.envelope import AT, BEFORE, BEHIND, EARLIER, LATER, ONWARD, UPTO
from whenabouts.kernels.uncertain.sweep import sole_member

SETS = 6  # disturbers between two instants beyond which their sets are too many
CROWD = 24  # and beyond which they are not written down


class Square(NamedTuple):
    """Working memory: ticks are counted from the first one of their instant."""

    mass: F64  # [instant, tick]: of the event, and of the disturbers that depend on this instant alone
    ahead: F64  # [instant, disturber between it and the one before, tick of the source]
    behind: F64  # [instant, disturber, tick of the target]
    crossing: I64  # [instant]: how many there are
    lines: F64  # [instant, tick]
    sums: F64
    sets: F64  # [set of disturbers, tick of the source]
    running: F64  # [set]: summed over the ticks so far
    terms: F64


@njit
def new_square(instants, ticks):
    i = instants + 1
    return Square(
        np.empty((i, ticks)), np.empty((i, CROWD, ticks)), np.empty((i, CROWD, ticks)), np.zeros(i, np.int64),
        np.empty((i, ticks)), np.empty(ticks), np.empty((1 << SETS, ticks)), np.empty(1 << SETS), np.empty(1 << SETS),
    )  # fmt: skip


@leaf
def crossings(layout, n, i):
    """How many disturbers depend on instants i-1 and i."""
    crossing = 0
    for x in range(n):
        crossing += layout.head[x] == i - 1 and layout.tail[x] == i
    return crossing


@aside
def is_straight(layout, count, n, span):
    """Whether the window leaves all instants free of one another, and no step has too many disturbers."""
    if 0 <= span < layout.hi[count - 1] - layout.lo[0]:
        return False
    for i in range(1, count):
        if crossings(layout, n, i) > SETS:
            return False
    return True


@aside
def straight(times, chains, m, layout, count, n, span, square):
    """The confidence of a chain of single events for which `is_straight`, without disturbers that need a bit."""
    line_up(times, chains, m, layout, count, n, span + 1, square)
    for i in range(1, count):
        step_by_sets(layout, square, i, square.mass[i - 1], 0, square.mass[i], layout.hi[i] - layout.lo[i] + 1)
    total = 0.0
    for q in range(layout.hi[count - 1] - layout.lo[count - 1] + 1):
        total += square.mass[count - 1, q]
    return total


@aside
def step_by_sets(layout, square, i, early, begin, late, ticks):
    """Multiply the first `ticks` masses of instant i by the sum over all instants before it.

    `early` holds the weights of instant i-1, from tick `begin` on.
    """
    sources, crossing, sets, sums = (
        layout.hi[i - 1] - layout.lo[i - 1] + 1,
        square.crossing[i],
        square.sets,
        square.running,
    )
    for r in range(begin, sources):
        sets[0, r] = early[r]
    for k in range(crossing):
        ahead = square.ahead[i, k]
        for s in range(1 << k):
            have, more = sets[s], sets[s + (1 << k)]
            for r in range(begin, sources):
                more[r] = have[r] * ahead[r]
    for s in range(1 << crossing):
        sums[s] = 0.0
    r, shift = begin, layout.lo[i] - layout.lo[i - 1]
    for q in range(ticks):
        while r < sources and r < q + shift:
            for s in range(1 << crossing):
                sums[s] += sets[s, r]
            r += 1
        late[q] *= closed_sets(square, i, crossing, q)


@aside
def closed_sets(square, i, crossing, q):
    """The sum over all sets of their running sum times the masses, from tick q on, of the disturbers not in them."""
    terms = square.terms
    for s in range(1 << crossing):
        terms[s] = square.running[s]
    for k in range(crossing - 1, -1, -1):
        behind = square.behind[i, k, q]
        for s in range(1 << k):
            terms[s] = terms[s] * behind + terms[s + (1 << k)]
    return terms[0]


@aside
def line_up(times, chains, m, layout, count, n, window, square):
    """Write down all masses, and those of the disturbers between two instants, ahead and behind."""
    for i in range(count):
        masses(times, layout, sole_member(chains, m, layout.node[i]), n, i, window, square.lines[i], square.mass[i])
        crossing = 0
        for x in range(n):
            if i > 0 and layout.head[x] == i - 1 and layout.tail[x] == i:
                e = layout.event[x]
                lo, ticks = layout.lo[i - 1], layout.hi[i - 1] - layout.lo[i - 1] + 1
                places_over(times, e, layout.places[x, i - 1], lo, ticks, window, square.ahead[i, crossing])
                lo, ticks = layout.lo[i], layout.hi[i] - layout.lo[i] + 1
                places_over(times, e, layout.places[x, i], lo, ticks, window, square.behind[i, crossing])
                crossing += 1
        square.crossing[i] = crossing


@aside
def masses(times, layout, e, n, i, window, line, out):
    """The masses of the event of instant i, times the factors of those that depend on this instant alone."""
    lo, ticks = layout.lo[i], layout.hi[i] - layout.lo[i] + 1
    places_over(times, e, AT, lo, ticks, window, out)
    for x in range(n):
        if layout.head[x] == i and layout.tail[x] == i:
            places_over(times, layout.event[x], layout.places[x, i], lo, ticks, window, line)
            for q in range(ticks):
                out[q] *= line[q]


@aside
def places_over(times, e, places, lo, ticks, window, out):
    """`place_mass` of the event on so many ticks from `lo` on."""
    for q in range(ticks):
        out[q] = 0.0
    if places & AT:
        add_between(times, e, lo, ticks, 0, out)
    if places & UPTO:
        add_upto(times, e, lo, ticks, out)
    if places & BEFORE:
        add_upto(times, e, lo - 1, ticks, out)
    if places & EARLIER:
        add_upto(times, e, lo - window, ticks, out)
    if places & ONWARD:
        add_onward(times, e, lo, ticks, out)
    if places & BEHIND:
        add_onward(times, e, lo + 1, ticks, out)
    if places & LATER:
        add_onward(times, e, lo + window, ticks, out)


@aside
def add_between(times, e, lo, ticks, side, out):
    """Add to every tick P(T = it), or with side -1 P(T <= it), with side 1 P(T >= it), where the event has mass."""
    for k in range(times.first[e], times.first[e + 1]):
        start = times.start[k]
        end = times.start[k + 1] - 1 if k + 1 < times.first[e + 1] else times.upper[e]
        q, stop = max(start - lo, 0), min(end - lo + 1, ticks)
        mass = times.mass[k]
        if side == 0:
            while q < stop:
                out[q] += mass
                q += 1
        elif side < 0:
            before = times.before[k]
            while q < stop:
                out[q] += before + mass * (lo + q - start + 1)
                q += 1
        else:
            behind = times.behind[k]
            while q < stop:
                out[q] += behind + mass * (end - lo - q + 1)
                q += 1


@aside
def add_upto(times, e, lo, ticks, out):
    """Add P(T <= t) for every tick t."""
    add_between(times, e, lo, ticks, -1, out)
    for q in range(max(times.upper[e] + 1 - lo, 0), ticks):
        out[q] += 1.0


@aside
def add_onward(times, e, lo, ticks, out):
    """Add P(T >= t) for every tick t."""
    add_between(times, e, lo, ticks, 1, out)
    for q in range(min(times.lower[e] - lo, ticks)):
        out[q] += 1.0
