"""Which chains of uncertain times are possible at all, and when each of their events can happen.

Problem: a chain of intervals in strictly increasing order, inside a window, can be impossible although every two of
its neighbours fit; and what remains of an interval depends on all the others. Idea: difference constraints. The least
solution is found by pushing lower bounds forward, then once more from the window; the greatest one symmetrically
(spec of imprecise time, section 2). A prefix needs two numbers only: the earliest instant of its last node, and the
latest instant of its first one.
Invariant: the constraints are closed under componentwise minimum and maximum, so the least and the greatest instants of
all events are each taken together, in one solution; where a time has no holes every instant between is possible too.
"""

from __future__ import annotations

from whenabouts.kernels.types import aside, leaf
from whenabouts.kernels.uncertain.times import segment_of

EARLIEST, LATEST = -(1 << 62), 1 << 62  # `last` and `latest` of the empty prefix


@leaf
def extend(last, latest, depth, lower, upper):
    """(last, latest) of a prefix of `depth` nodes with one more node, an event in lower..upper.

    `last` is the earliest instant of the last node, `latest` the latest one of the first.
    """
    return max(last + 1, lower), min(latest, upper - depth)


@leaf
def join(before, last, latest, depth, lower, upper):
    """The same if the event joins the group that is the last node; `before` and `depth` are those without that node."""
    return max(last, before + 1, lower), min(latest, upper - depth)


@leaf
def possible(before, last, latest, depth, upper, rest, span):
    """Whether a prefix stays possible after an event with this upper bound was added as or to its last node.

    `before` and `depth` are those without that node, `rest` is how many nodes must follow. Exact without holes; with
    holes it never refuses what is possible.
    """
    if before >= upper:
        return False
    return span < 0 or (depth + rest <= span and last + rest - latest <= span)


@leaf
def first_of(ends, n):
    """Where entry n begins, if it ends at ends[n]."""
    return ends[n - 1] if n > 0 else 0


@leaf
def at_or_after(times, e, t):
    """The first instant from t on at which e can happen; upper[e] + 1 if there is none."""
    if t <= times.lower[e]:
        return times.lower[e]
    if t > times.upper[e]:
        return times.upper[e] + 1
    k = segment_of(times, e, t)
    if times.mass[k] > 0.0:
        return t
    while times.mass[k] == 0.0:
        k += 1
    return times.start[k]


@leaf
def at_or_before(times, e, t):
    """The last instant up to t at which e can happen; lower[e] - 1 if there is none."""
    if t >= times.upper[e]:
        return times.upper[e]
    if t < times.lower[e]:
        return times.lower[e] - 1
    k = segment_of(times, e, t)
    if times.mass[k] > 0.0:
        return t
    while times.mass[k] == 0.0:
        k -= 1
    return times.start[k + 1] - 1


@aside
def raise_earliest(times, node_ends, members, low, high, earliest, floor):
    """Push lower bounds through the nodes low..high-1, the first of which is not before `floor`.

    Returns the earliest instant at which the last node is complete, or LATEST if the chain is impossible.
    """
    origin = first_of(node_ends, low)
    m = origin
    for n in range(low, high):
        complete = floor
        while m < node_ends[n]:
            e = members[m]
            t = at_or_after(times, e, max(earliest[m - origin], floor))
            if t > times.upper[e]:
                return LATEST
            earliest[m - origin] = t
            complete = max(complete, t)
            m += 1
        floor = complete + 1
    return floor - 1


@aside
def lower_latest(times, node_ends, members, low, high, latest, ceiling):
    """Push upper bounds back through the nodes; the last is not behind `ceiling`. Returns the latest first instant."""
    origin = first_of(node_ends, low)
    m = node_ends[high - 1] - 1
    for n in range(high - 1, low - 1, -1):
        begun = ceiling
        while m >= first_of(node_ends, n):
            t = at_or_before(times, members[m], min(latest[m - origin], ceiling))
            latest[m - origin] = t
            begun = min(begun, t)
            m -= 1
        ceiling = begun - 1
    return ceiling + 1


@aside
def ranges(times, node_ends, members, low, high, span, earliest, latest):
    """Whether the chain of the nodes low..high-1 is possible; if so, the first and last instant of every member.

    They are written to the front of `earliest` and `latest`, in the order of `members`.
    """
    if 0 <= span < high - low - 1:
        return False
    origin = first_of(node_ends, low)
    count = node_ends[high - 1] - origin
    for i in range(count):
        earliest[i], latest[i] = times.lower[members[origin + i]], times.upper[members[origin + i]]
    # Without holes the second round is the last one: around the window the bounds cannot grow any further.
    floor, complete = EARLIEST, LATEST
    while floor < complete - span or complete == LATEST:
        floor = EARLIEST if complete == LATEST else complete - span
        complete = raise_earliest(times, node_ends, members, low, high, earliest, floor)
        if complete == LATEST:
            return False
        if span < 0:
            break
    ceiling, begun = LATEST, EARLIEST
    while ceiling > begun + span or begun == EARLIEST:
        ceiling = LATEST if begun == EARLIEST else begun + span
        begun = lower_latest(times, node_ends, members, low, high, latest, ceiling)
        if span < 0:
            break
    return True
