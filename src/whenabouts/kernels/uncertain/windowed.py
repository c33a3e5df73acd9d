"""The confidence of one chain of few ticks whose window binds, first instants from the last one downwards.

Problem: which last instants are allowed depends on the first one, and a sweep for each first instant is slow. Idea: a
last instant t that the window cuts allows the first instants from t - span on. Going down, the weights of the instant
before the last are added up over the first instants so far; each last instant is closed when its bound is reached, and
those that the window does not cut are closed together at the end. Where every disturber depends on one instant or on
two neighbours, the factors of all steps are made once (`straight`).
Invariant: only sums and products of masses. Reference: spec of imprecise time, 3.3.
"""

from __future__ import annotations

from whenabouts.kernels.types import aside, leaf
from whenabouts.kernels.uncertain.straight import CROWD, SETS, crossings, line_up, step_by_sets

TOO_MUCH = 1e300  # work of what cannot be done


@aside
def windowed_work(layout, count, n):
    """About how many products `all_starts` needs; TOO_MUCH if a step has too many disturbers."""
    total = 0.0
    for i in range(1, count):
        crossing, ticks = crossings(layout, n, i), layout.hi[i] - layout.lo[i] + 1.0
        inner = 1 < i < count - 1
        if crossing > (SETS if inner else CROWD):
            return TOO_MUCH
        total += ticks * (4.0 * (1 << crossing) if inner else 1.0 + crossing)
    return total * (layout.hi[0] - layout.lo[0] + 1.0)


@aside
def all_starts(times, chains, m, layout, count, n, span, square):
    """The confidence of a chain of two or more single events, without disturbers that need a bit."""
    line_up(times, chains, m, layout, count, n, span + 1, square)
    last, before = count - 1, count - 2
    sources, ticks = layout.hi[before] - layout.lo[before] + 1, layout.hi[last] - layout.lo[last] + 1
    so_far, sums = square.lines[last], square.sums
    for r in range(sources):
        so_far[r] = sums[r] = 0.0
    shift = layout.lo[last] - layout.lo[before]
    for b in range(layout.hi[0] - layout.lo[0], -1, -1):
        begin = add_start(layout, square, before, b, so_far)
        q = layout.lo[0] + b + span - layout.lo[last]
        if b > 0 and 0 <= q < ticks:
            end = max(begin, min(sources, q + shift))
            add_product(
                sums[begin:end], square.mass[last, q], so_far[begin:end], square.behind[last], q, square.ahead[last],
                begin, square.crossing[last], square.lines[0],
            )  # fmt: skip
    total = 0.0
    for r in range(sources):
        total += sums[r]
    return total + uncut(layout, square, last, min(ticks, layout.lo[0] + span - layout.lo[last] + 1))


@leaf
def add_start(layout, square, before, b, so_far):
    """Add the weights, at the instant before the last, of first instant b; returns the first tick they reach."""
    if before == 0:
        so_far[b] += square.mass[0, b]
        return b
    ticks = layout.hi[1] - layout.lo[1] + 1
    begin = min(max(layout.lo[0] + b + 1 - layout.lo[1], 0), ticks)
    out = so_far if before == 1 else square.lines[1]
    if before > 1:
        for r in range(begin, ticks):
            out[r] = 0.0
    add_product(
        out[begin:ticks], square.mass[0, b], square.mass[1, begin:ticks], square.ahead[1], b, square.behind[1], begin,
        square.crossing[1], square.lines[0],
    )  # fmt: skip
    for i in range(2, before + 1):
        out, ticks = square.lines[i], layout.hi[i] - layout.lo[i] + 1
        for q in range(ticks):
            out[q] = square.mass[i, q]
        step_by_sets(layout, square, i, square.lines[i - 1], begin, out, ticks)
        begin = min(max(layout.lo[i - 1] + begin + 1 - layout.lo[i], 0), ticks)
    if before > 1:
        for q in range(begin, ticks):
            so_far[q] += out[q]
    return begin


@aside
def uncut(layout, square, last, ticks):
    """The sum over the last instants that allow every first one."""
    total, early, late = 0.0, square.lines[last], square.mass[last]
    if square.crossing[last] <= SETS:
        step_by_sets(layout, square, last, early, 0, late, ticks)
        for q in range(ticks):
            total += late[q]
        return total
    sources, sums = layout.hi[last - 1] - layout.lo[last - 1] + 1, square.sums
    for r in range(sources):
        sums[r] = 0.0
    for q in range(ticks):
        end = max(0, min(sources, q + layout.lo[last] - layout.lo[last - 1]))
        add_product(
            sums[:end], late[q], early[:end], square.behind[last], q, square.ahead[last], 0, square.crossing[last],
            square.lines[0],
        )  # fmt: skip
    for r in range(sources):
        total += sums[r]
    return total


@leaf
def add_product(out, factor, line, scalars, column, vectors, begin, crossing, spare):
    """out += factor * line * the product over k of scalars[k, column] + vectors[k, begin:].

    Loops from 0 over whole views are what the compiler does several at once.
    """
    if factor == 0.0:
        return
    size, left, only = out.size, 0, 0
    for k in range(crossing):
        if scalars[k, column] < 1.0:
            left, only = left + 1, k
    if left == 0:
        for r in range(size):
            out[r] += factor * line[r]
    elif left == 1:
        scalar, vector = scalars[only, column], vectors[only, begin : begin + size]
        for r in range(size):
            out[r] += factor * line[r] * (scalar + vector[r])
    else:
        work = spare[:size]
        for r in range(size):
            work[r] = factor * line[r]
        for k in range(crossing):
            scalar, vector = scalars[k, column], vectors[k, begin : begin + size]
            if scalar < 1.0:
                for r in range(size):
                    work[r] *= scalar + vector[r]
        for r in range(size):
            out[r] += work[r]
