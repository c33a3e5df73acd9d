"""The chains that a search has found, in arrays that grow, and as the confidence kernels take them.

Problem: how many chains there are, and how many rows each needs, is known only at the end. Idea: write until an array
is full, then give the search a larger copy and let it try its start again.
Invariant: `Found` says all that a confidence depends on beside the times of the events.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from whenabouts.kernels.program import I64
from whenabouts.kernels.types import aside, ask, grown, leaf
from whenabouts.kernels.uncertain.prefix import DONE, FULL, OVER_BUDGET, OVER_LIMIT
from whenabouts.kernels.uncertain.spoilers import absent_rows, around_nodes, passed_over, tidied
from whenabouts.kernels.uncertain.times import I32, U8, Chains, Forbidders, Regions


class Found(NamedTuple):
    """Chains m = events[ends[m-1]:ends[m]] with the step of each event, and rows row_ends[m-1]..row_ends[m]-1.

    The rows of `Forbidders`, and, in the same way, the regions that events not yet seen must stay out of.
    """

    ends: I64
    events: I32
    steps: U8
    row_ends: I64
    row_event: I32
    row_low: I32
    row_from_last: U8
    row_high: I32
    row_closed: U8
    watch_ends: I64
    watch_low: I32
    watch_from_last: U8
    watch_high: I32
    fill: I64  # [chains, entries, rows, starts given up, run, start, watched regions]


@njit
def new_found(size):
    return Found(
        np.empty(size, np.int64), np.empty(4 * size, np.int32), np.empty(4 * size, np.uint8), np.empty(size, np.int64),
        np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.uint8), np.empty(size, np.int32),
        np.empty(size, np.uint8), np.empty(size, np.int64), np.empty(4 * size, np.int32), np.empty(4 * size, np.uint8),
        np.empty(4 * size, np.int32), np.zeros(7, np.int64),
    )  # fmt: skip


@njit
def roomier(found):
    """The same with twice the space."""
    return Found(
        grown(found.ends, found.ends.size + 1), grown(found.events, found.events.size + 1),
        grown(found.steps, found.steps.size + 1), grown(found.row_ends, found.row_ends.size + 1),
        grown(found.row_event, found.row_event.size + 1), grown(found.row_low, found.row_low.size + 1),
        grown(found.row_from_last, found.row_from_last.size + 1), grown(found.row_high, found.row_high.size + 1),
        grown(found.row_closed, found.row_closed.size + 1), grown(found.watch_ends, found.watch_ends.size + 1),
        grown(found.watch_low, found.watch_low.size + 1),
        grown(found.watch_from_last, found.watch_from_last.size + 1),
        grown(found.watch_high, found.watch_high.size + 1), found.fill,
    )  # fmt: skip


@aside
def append(tables, events, times, reach, task, check, final, forbid, ri, rf, stack, found, run, depth):
    """Append the prefix as a chain if it may end here."""
    frame = stack.frames[depth]
    position = tables.positions[frame.position]
    if position.final_lo == position.final_hi:
        return DONE
    ints, floats = stack.ints[depth], stack.floats[depth]
    if position.final_checked >= 0 and not ask(final, position.final_checked, frame.event, events, ints, floats):
        return DONE
    n = 0
    if task.selective == 1 and task.unordered == 1:
        n = around_nodes(tables, events, times, reach, task, check, ri, rf, stack, run, depth)
    elif task.selective == 1:
        n = passed_over(times, stack, depth)
    if n >= 0 and tables.parts.size > 0:
        n = absent_rows(tables, events, times, reach, task, forbid, stack, run, depth, n)
    if n < 0:
        return OVER_BUDGET
    n = tidied(stack.rows, n)
    fill = found.fill
    chain, entry, row = fill[0], fill[1], fill[2]
    if chain >= found.ends.size or entry + depth >= found.events.size or row + n > found.row_event.size:
        return FULL
    watched = watch(tables, task, stack, found, depth)
    if watched < 0:
        return FULL
    for i in range(depth + 1):
        found.events[entry + i] = stack.frames[i].event
        found.steps[entry + i] = tables.positions[stack.frames[i].position].step
    for i in range(n):
        kept = stack.rows[i]
        found.row_event[row + i], found.row_from_last[row + i] = kept.event, kept.from_last
        found.row_low[row + i], found.row_high[row + i] = kept.low, kept.high
        found.row_closed[row + i] = kept.closed
    fill[0], fill[1], fill[2], fill[6] = chain + 1, entry + depth + 1, row + n, watched
    found.ends[chain], found.row_ends[chain], found.watch_ends[chain] = fill[1], fill[2], watched
    return OVER_LIMIT if task.limit >= 0 and fill[0] >= task.limit else DONE


@aside
def watch(tables, task, stack, found, depth):
    """Write down the regions in which an event still to come could spoil the chain; the new fill, or -1: no space."""
    n = found.fill[6]
    if n + 2 * depth + 4 > found.watch_low.size:
        return -1
    for i in range(depth + 1):
        frame = stack.frames[i]
        position, edge = tables.positions[frame.position], tables.edges[frame.edge]
        if edge.guard_lo < edge.guard_hi:
            n = add_watch(found, n, frame.node - 1, 1, frame.node)
        if task.selective == 0:
            continue
        if task.unordered == 1:
            if frame.opener == i and (i > 0 or position.many == 1):
                n = add_watch(found, n, max(frame.node - 1, 0), 0, frame.node + position.many)
        elif position.out_mask != 0:
            high = i + 1
            while high <= depth and stack.frames[high].further == 1:
                high += 1  # a step forward would end the closure here, too
            n = add_watch(found, n, i, 1, high)
    last = stack.frames[depth]
    position = tables.positions[last.position]
    if position.final_lo < position.final_hi and tables.ways[position.final_lo].lo < tables.ways[position.final_lo].hi:
        n = add_watch(found, n, last.node, 1, last.node + 1)
    return n


@leaf
def add_watch(found, n, low, from_last, high):
    found.watch_low[n], found.watch_from_last[n], found.watch_high[n] = low, from_last, high
    return n + 1


def chains_of(found: Found, *, unordered: bool) -> Chains:
    """The chains; every node is one event, or where closures are unordered, all events of a step."""
    chains, entries = int(found.fill[0]), int(found.fill[1])
    ends, members = found.ends[:chains], found.events[:entries]
    if not unordered:
        return Chains(ends, np.arange(1, entries + 1, dtype=np.int64), members)
    last = np.diff(found.steps[:entries], append=np.uint8(0)) != 0
    last[ends - 1] = True
    return Chains(np.cumsum(last, dtype=np.int64)[ends - 1], np.flatnonzero(last) + 1, members)


def regions_of(found: Found) -> Regions:
    """The regions that events still to come must stay out of."""
    chains, rows = int(found.fill[0]), int(found.fill[6])
    return Regions(
        found.watch_ends[:chains], found.watch_low[:rows], found.watch_from_last[:rows], found.watch_high[:rows]
    )


def forbidders_of(found: Found) -> Forbidders:
    """The rows as the confidence kernels take them."""
    chains, rows = int(found.fill[0]), int(found.fill[2])
    return Forbidders(
        found.row_ends[:chains], found.row_event[:rows], found.row_low[:rows], found.row_from_last[:rows],
        found.row_high[:rows], found.row_closed[:rows],
    )  # fmt: skip
