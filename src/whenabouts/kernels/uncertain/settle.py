"""Members of groups that need no looking at.

Problem: a large group has many subsets, but most of its members lie between the neighbouring nodes in any case. Idea:
once all ranges are tight, a member is *settled* if every order it takes part in holds for any instants in the ranges:
it is independent of the rest, and contributes the mass of its range.
Invariant: orders between nodes of which nothing is left hold too, because they held through a settled member.
"""

from __future__ import annotations

from whenabouts.kernels.types import aside, leaf
from whenabouts.kernels.uncertain.feasible import EARLIEST, LATEST, first_of
from whenabouts.kernels.uncertain.times import segment_of


@leaf
def mass_within(times, e, earliest, latest):
    """P(earliest <= T <= latest), by additions; both are instants of the event."""
    k, behind = segment_of(times, e, earliest), times.first[e + 1]
    total, t = 0.0, earliest
    while t <= latest:
        following = min(times.start[k + 1] if k + 1 < behind else latest + 1, latest + 1)
        total += times.mass[k] * (following - t)
        t = following
        k += 1
    return total


@leaf
def least(array, low, high):
    found = LATEST
    for i in range(low, high):
        found = min(found, array[i])
    return found


@leaf
def greatest(array, low, high):
    found = EARLIEST
    for i in range(low, high):
        found = max(found, array[i])
    return found


@aside
def keep_all(node_ends, low, high, work):
    """Keep all members; returns (nodes, members)."""
    for n in range(low, high):
        work.sizes[n - low] = node_ends[n] - first_of(node_ends, n)
    count = node_ends[high - 1] - first_of(node_ends, low)
    for i in range(count):
        work.kept[i] = i
    return high - low, count


@aside
def settle(times, node_ends, members, low, high, span, work):
    """Keep the members that are not settled; returns (nodes, members) left, and the factor of the others."""
    origin = first_of(node_ends, low)
    final = first_of(node_ends, high - 1) - origin, node_ends[high - 1] - origin
    first = least(work.earliest, 0, node_ends[low] - origin)
    last = greatest(work.latest, final[0], final[1])
    nodes, count, factor = 0, 0, 1.0
    before, begin = EARLIEST, 0
    for n in range(low, high):
        end = node_ends[n] - origin
        floor, ceiling = before + 1, LATEST
        if n + 1 < high:
            ceiling = least(work.earliest, end, node_ends[n + 1] - origin) - 1
        elif span >= 0:
            ceiling = first + span
        if n == low and span >= 0:
            floor = last - span
        size = 0
        for i in range(begin, end):
            if floor <= work.earliest[i] and work.latest[i] <= ceiling:
                factor *= mass_within(times, members[origin + i], work.earliest[i], work.latest[i])
            else:
                work.kept[count] = i
                count += 1
                size += 1
        if size > 0:
            work.sizes[nodes] = size
            nodes += 1
        before = greatest(work.latest, begin, end)
        begin = end
    return nodes, count, factor
