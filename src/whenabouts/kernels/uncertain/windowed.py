"""The confidence of one chain of few ticks whose window binds, for all its first instants at once.

Problem: which last instants are allowed depends on the first one, so the first is held fixed and the sweep repeated for
each. Idea: where every disturber depends on one instant or on two neighbours, the factors of a step are the same for
all first instants. They are made once (`straight`), and a step carries one row of values per first instant; at the last
step, rows added up from the latest first instant downwards are the sum over all that its window allows.
Invariant: only sums and products of masses. Reference: spec of imprecise time, 3.3.
"""

from __future__ import annotations

from whenabouts.kernels.types import aside
from whenabouts.kernels.uncertain.straight import line_up, masses
from whenabouts.kernels.uncertain.sweep import sole_member


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
def first_step(layout, crossing, square, rows):
    """From each first instant to instant 1."""
    ticks, shift = layout.hi[1] - layout.lo[1] + 1, layout.lo[0] + 1 - layout.lo[1]
    for b in range(layout.hi[0] - layout.lo[0] + 1):
        begin = min(max(b + shift, 0), ticks)
        rows[b, :begin] = 0.0
        row = rows[b, begin:ticks]
        scale(row, square.mass[0, b], square.mass[1, begin:ticks])
        for k in range(crossing):
            if square.ahead[k, b] < 1.0:
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
            if square.ahead[k, r] < 1.0:
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
            if square.behind[k, q] < 1.0:
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
