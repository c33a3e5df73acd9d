"""The confidence of one chain whose window binds, for all its first instants at once.

Problem: which last instants are allowed depends on the first one, so the first is held fixed and the sweep repeated for
each. Idea: where every disturber depends on one instant or on two neighbours, the factors of a step are the same for
all first instants. They are made once, and a step carries one row of values per first instant; at the last step, rows
added up from the latest first instant downwards are the sum over all that its window allows.
Invariant: only sums and products of masses. Reference: spec of imprecise time, 3.3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from whenabouts.kernels.program import F64
from whenabouts.kernels.types import aside
from whenabouts.kernels.uncertain.envelope import AT, BEFORE, BEHIND, EARLIER, LATER, ONWARD, UPTO
from whenabouts.kernels.uncertain.sweep import sole_member


class Square(NamedTuple):
    """Working memory: ticks are counted from the first one of their instant."""

    mass: F64  # [instant, tick]: of the event, and of the disturbers that depend on this instant alone
    ahead: F64  # [disturber, tick of the source]
    behind: F64  # [disturber, tick of the target]
    rows: F64  # [first instant, tick of the source]
    other: F64  # [first instant, tick of the target]
    line: F64
    sums: F64


@njit
def new_square(instants, disturbers, ticks):
    return Square(
        np.empty((instants + 1, ticks)), np.empty((disturbers + 1, ticks)), np.empty((disturbers + 1, ticks)),
        np.empty((ticks, ticks)), np.empty((ticks, ticks)), np.empty(ticks), np.empty(ticks),
    )  # fmt: skip


@aside
def square_work(layout, count, n):
    """About how many products `all_starts` needs."""
    rows, total = layout.hi[0] - layout.lo[0] + 1.0, 0.0
    for i in range(1, count):
        pairs = 0.5 * (layout.hi[i - 1] - layout.lo[i - 1] + 1.0) * (layout.hi[i] - layout.lo[i] + 1.0)
        factors = 2.0 + (rows if 1 < i < count - 1 else 0.0)
        for x in range(n):
            factors += layout.head[x] == i - 1 and layout.tail[x] == i
        total += pairs * factors
    return total


@aside
def all_starts(times, chains, m, layout, count, n, span, square):
    """The confidence of a chain of two or more single events, without disturbers that need a bit."""
    for i in range(count):
        e = sole_member(chains, m, layout.node[i])
        masses(times, layout, e, n, i, span + 1, square.line, square.mass[i])
    rows, other = square.rows, square.other
    for i in range(1, count):
        crossing = line_up(times, layout, n, i, span + 1, square)
        if i == count - 1:
            break
        if i == 1:
            first_step(layout, crossing, square, rows)
        else:
            next_step(layout, crossing, square, i, rows, other, span)
            rows, other = other, rows
    return last_step(layout, crossing, square, count, rows, span)


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
def line_up(times, layout, n, i, window, square):
    """Masses of the disturbers between instants i-1 and i, ahead and behind; returns how many there are."""
    crossing = 0
    for x in range(n):
        if layout.head[x] == i - 1 and layout.tail[x] == i:
            for j, out in ((i - 1, square.ahead[crossing]), (i, square.behind[crossing])):
                lo, ticks = layout.lo[j], layout.hi[j] - layout.lo[j] + 1
                places_over(times, layout.event[x], layout.places[x, j], lo, ticks, window, out)
            crossing += 1
    return crossing


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


@aside
def first_step(layout, crossing, square, rows):
    """From each first instant to instant 1."""
    ticks, shift = layout.hi[1] - layout.lo[1] + 1, layout.lo[0] + 1 - layout.lo[1]
    for b in range(layout.hi[0] - layout.lo[0] + 1):
        begin = min(max(b + shift, 0), ticks)
        rows[b, :begin] = 0.0
        row = rows[b, begin:ticks]
        scale(row, square.mass[0, b], square.mass[1, begin:ticks])
        for k in range(crossing):
            times_sum(row, square.ahead[k, b], square.behind[k, begin:ticks])


@aside
def next_step(layout, crossing, square, i, rows, other, span):
    """From instant i-1 to instant i, for each first instant."""
    ticks, shift = layout.hi[i] - layout.lo[i] + 1, layout.lo[i - 1] + 1 - layout.lo[i]
    starts = layout.hi[0] - layout.lo[0] + 1
    other[:starts, :ticks] = 0.0
    for r in range(layout.hi[i - 1] - layout.lo[i - 1] + 1):
        begin = min(max(r + shift, 0), ticks)
        line = square.line[begin:ticks]
        scale(line, 1.0, square.mass[i, begin:ticks])
        for k in range(crossing):
            times_sum(line, square.ahead[k, r], square.behind[k, begin:ticks])
        for b in range(min(starts, layout.lo[i - 1] + r - layout.lo[0])):
            if rows[b, r] != 0.0:
                end = min(ticks, layout.lo[0] + b + span - layout.lo[i] + 1)
                add_scaled(other[b, begin : max(begin, end)], rows[b, r], line)


@aside
def last_step(layout, crossing, square, count, rows, span):
    """The sum over the last instants, and over all before them that the window allows."""
    i = count - 1
    first, before, lo = layout.lo[0], layout.lo[i - 1], layout.lo[i]
    starts, sources = layout.hi[0] - first + 1, layout.hi[i - 1] - before + 1
    if i > 1:
        for b in range(starts - 2, -1, -1):
            add_scaled(rows[b, :sources], 1.0, rows[b + 1, :sources])
    square.sums[:sources] = 0.0
    for q in range(layout.hi[i] - lo + 1):
        b = max(lo + q - span - first, 0)
        if b >= starts:
            break
        begin = min(max(first + b + (i > 1) - before, 0), sources)
        end = max(begin, min(lo + q - before, sources))
        line = square.line[begin:end]
        scale(line, square.mass[i, q], rows[b, begin:end] if i > 1 else square.mass[0, begin:end])
        for k in range(crossing):
            times_sum(line, square.behind[k, q], square.ahead[k, begin:end])
        add_scaled(square.sums[begin:end], 1.0, line)
    total = 0.0
    for r in range(sources):
        total += square.sums[r]
    return total


# --- lines of numbers: loops from 0 over whole views are what the compiler does several at once -----------------------


@aside
def scale(out, factor, line):
    for q in range(out.size):
        out[q] = factor * line[q]


@aside
def times_sum(out, term, line):
    for q in range(out.size):
        out[q] *= term + line[q]


@aside
def add_scaled(out, factor, line):
    for q in range(out.size):
        out[q] += factor * line[q]
