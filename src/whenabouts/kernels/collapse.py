"""RETURN COLLAPSED: per start event, the events that may take part in its matches.

Problem: a start can have exponentially many matches; often the set of events they are drawn from says enough.
Idea: from each start go forward over its window marking what can be reached, then backward marking what can still be
completed; both hold in the events listed. Conditions between events are not looked at (the thesis calls such an answer
collapsed, 4.2.2), so a row lists at least the events of every match of its start, in time linear in the window.
"""

from __future__ import annotations

import numpy as np

from whenabouts.kernels.totals import blocked_edge
from whenabouts.kernels.types import full, leaf, new_output, room, within


def collapse(tables, events, limits):
    """One entry per start that has a way to an end; events in time order, an event once for each step it may be."""
    out = new_output(1024)
    count, edges = tables.positions.size - 1, tables.edges.size
    forward = np.zeros((16, count), np.uint8)
    backward = np.zeros((16, count), np.uint8)
    ready = np.zeros(edges, np.uint8)
    gained = np.zeros(edges, np.uint8)
    for r in range(events.runs.size - 1):
        end = events.runs[r]
        for s in range(events.runs[r], events.runs[r + 1]):
            if events.bits[s] & tables.positions[-1].out_mask == 0 or not within(events, limits, s, s):
                continue
            end = max(end, s + 1)
            while end < events.runs[r + 1] and within(events, limits, s, end):
                end += 1
            if end - s > forward.shape[0]:
                forward = np.zeros((2 * (end - s), count), np.uint8)
                backward = np.zeros((2 * (end - s), count), np.uint8)
            mark_forward(tables, events, s, end, forward, ready, gained)
            mark_backward(tables, events, s, end, forward, backward, ready, gained)
            entries = (end - s) * count
            if full(out, entries):
                out = room(out, entries)
            list_marked(tables, s, end, backward, out)
            if limits.limit >= 0 and out.fill[0] >= limits.limit:
                return out
    return out


@leaf
def mark_forward(tables, events, s, end, forward, ready, gained):
    """forward[e - s, q] = some way from start s takes event e at position q."""
    count = tables.positions.size - 1
    ready[:] = 0
    forward[: end - s] = 0
    for edge in range(tables.positions[-1].out_lo, tables.positions[-1].out_hi):
        q = tables.edges[edge].target
        if (events.bits[s] >> tables.positions[q].step) & 1:
            forward[0, q] = 1
            ready[tables.positions[q].out_lo : tables.positions[q].out_hi] = 1
    j = events.after[s]
    while j < end:
        after = min(events.after[j], end)
        gained[:] = 0
        for e in range(j, after):
            for q in range(count):
                position = tables.positions[q]
                if (events.bits[e] >> position.step) & 1:
                    for k in range(position.in_lo, position.in_hi):
                        if ready[tables.into[k]]:
                            forward[e - s, q] = 1
                    if forward[e - s, q]:
                        gained[position.out_lo : position.out_hi] = 1
        cut(tables, events, j, after, ready)
        for edge in range(gained.size):
            ready[edge] |= gained[edge]
        j = after


@leaf
def mark_backward(tables, events, s, end, forward, backward, ready, gained):
    """backward[e - s, q] = the event is reached there and some way completes from there."""
    count = tables.positions.size - 1
    ready[:] = 0
    backward[: end - s] = 0
    j = end
    while j > s:
        low = max(events.instant[j - 1], s)
        gained[:] = 0
        for e in range(low, j):
            for q in range(count):
                if not forward[e - s, q]:
                    continue
                position = tables.positions[q]
                completes = position.final_lo < position.final_hi
                for edge in range(position.out_lo, position.out_hi):
                    completes = completes or ready[edge] == 1
                if completes:
                    backward[e - s, q] = 1
                    for k in range(position.in_lo, position.in_hi):
                        gained[tables.into[k]] = 1
        cut(tables, events, low, j, ready)
        for edge in range(gained.size):
            ready[edge] |= gained[edge]
        j = low


@leaf
def cut(tables, events, j, end, ready):
    """Take away the edges on which a single absent event without conditions of its own lies."""
    if tables.guards.size == 0:
        return
    for edge in range(ready.size):
        if (
            tables.edges[edge].asks == 0
            and tables.edges[edge].plain == 1
            and blocked_edge(tables, events, j, end, edge)
        ):
            ready[edge] = 0


@leaf
def list_marked(tables, s, end, marked, out):
    """Append the marked events; an event at two positions of one step is listed once."""
    at = out.fill[1]
    for e in range(end - s):
        seen = np.uint64(0)
        for q in range(tables.positions.size - 1):
            bit = np.uint64(1) << np.uint64(tables.positions[q].step)
            if marked[e, q] and not seen & bit:
                seen |= bit
                out.events[at] = s + e
                out.steps[at] = tables.positions[q].step
                at += 1
    if at > out.fill[1]:
        out.ends[out.fill[0]] = at
        out.fill[0] += 1
        out.fill[1] = at
