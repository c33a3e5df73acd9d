"""Uncertain times, chains and forbidden regions as arrays: what the kernels of uncertain time pass to one another.

Problem: an event's time is a distribution over a few ticks or over millions. Idea: a probability mass function is kept
as segments of constant mass per tick, so that a uniform time is one segment whatever the clock, a histogram a few, and
an arbitrary pmf one per tick. Masses before and behind a segment are added up from either end.
Invariant: nothing is ever computed as 1 - x, so what is impossible is exactly 0 (spec of imprecise time, section 3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from whenabouts.kernels.program import F64, I64
from whenabouts.kernels.types import leaf

I32 = npt.NDArray[np.int32]
U8 = npt.NDArray[np.uint8]

EXACT, BOUNDED, ESTIMATED = 0, 1, 2  # what a confidence is


class Times(NamedTuple):
    """When events may have happened: event e has the segments first[e]..first[e+1]-1; its bounds have mass."""

    lower: I64
    upper: I64
    first: I64
    start: I64  # first tick of a segment; it ends before the event's next one, the last at upper[e]
    mass: F64  # per tick of the segment; may be 0 between two others (a hole)
    before: F64  # mass of the event before the segment, added from the left
    behind: F64  # mass of the event behind the segment, added from the right


class Chains(NamedTuple):
    """Candidate matches: chain m has the nodes ends[m-1]..ends[m]-1 in strictly increasing time.

    Node n has the members node_ends[n-1]..node_ends[n]-1: one event, or the events of an unordered group, which lie
    strictly between the neighbouring nodes and may be tied with one another.
    """

    ends: I64
    node_ends: I64
    members: I32


class Forbidders(NamedTuple):
    """Where events outside a match must not happen: chain m has the rows ends[m-1]..ends[m]-1.

    A row says that `event` is not in the open interval from the last (from_last 1) or first (0) instant of node `low`
    to the first instant of node `high`, nodes counted from 0 within the chain. low -1: from (last instant of the
    chain - W), where W = span + 1; high = number of nodes: to (first instant of the chain + W); without a window these
    reach to the beginning and the end of time. Where closed is 1 the interval includes the first instant of node
    `high`, which then is a node. Rows of one event stand together, in time order, disjoint, and
    with an instant between them that none includes.
    """

    ends: I64
    event: I32
    low: I32
    from_last: U8
    high: I32
    closed: U8


class Regions(NamedTuple):
    """Where an unseen event could spoil a match: rows as in Forbidders, of chain m ends[m-1]..ends[m]-1."""

    ends: I64
    low: I32
    from_last: U8
    high: I32


@leaf
def segment_of(times, e, t):
    """The segment of event e that holds tick t; lower[e] <= t <= upper[e]."""
    low, high = times.first[e], times.first[e + 1] - 1
    while low < high:
        middle = (low + high + 1) >> 1
        if times.start[middle] <= t:
            low = middle
        else:
            high = middle - 1
    return low


@leaf
def mass_at(times, e, t):
    """P(T = t)."""
    if t < times.lower[e] or t > times.upper[e]:
        return 0.0
    return times.mass[segment_of(times, e, t)]


@leaf
def upto(times, e, t):
    """P(T <= t)."""
    if t < times.lower[e]:
        return 0.0
    if t >= times.upper[e]:
        return 1.0
    k = segment_of(times, e, t)
    return times.before[k] + times.mass[k] * (t - times.start[k] + 1)


@leaf
def onward(times, e, t):
    """P(T >= t)."""
    if t > times.upper[e]:
        return 0.0
    if t <= times.lower[e]:
        return 1.0
    k = segment_of(times, e, t)
    end = times.start[k + 1] - 1 if k + 1 < times.first[e + 1] else times.upper[e]
    return times.behind[k] + times.mass[k] * (end - t + 1)


@leaf
def avoids(times, e, s, t):
    """P(not s < T < t), for s < t."""
    return upto(times, e, s) + onward(times, e, t)


def times_of(lower: I64, upper: I64) -> Times:
    """Uniform times on closed intervals."""
    n, width = lower.size, (upper - lower + 1).astype(np.float64)
    first = np.arange(n + 1, dtype=np.int64)
    return Times(lower, upper, first, lower.copy(), 1.0 / width, np.zeros(n), np.zeros(n))
