"""What could spoil a chain: rows that say where an event outside must not happen.

Problem: selection and negation forbid other events in parts of the time of a match. Idea: a row per event and gap, in
terms of the nodes of the chain; which events are relevant is decided by the registers of the prefix before the gap.
Invariant: no event that could spoil the chain in some world is missing; one that cannot is only a waste of time.
Reference: spec of imprecise time, section 1 (M4, N1 to N3).
"""

from __future__ import annotations

import numpy as np

from whenabouts.kernels.types import aside, ask, leaf
from whenabouts.kernels.uncertain.prefix import FOREVER, end_of_window, first_after, member


@leaf
def add_row(stack, n, x, low, high, closed):
    """Append a row; returns the new number of rows, -1 over budget."""
    if n < 0 or n >= stack.rows.size:
        return -1
    row = stack.rows[n]
    row.event, row.low, row.high, row.closed = x, low, high, closed
    return n + 1


@aside
def passed_over(times, stack, depth):
    """Skip till next match: no relevant event between an event of the chain and the one chosen next.

    An instant at which the chain only continues a closure must not hold another event that steps forward.
    """
    n = 0
    for i in range(depth + 1):
        frame = stack.frames[i]
        end = FOREVER
        continued = False
        if i < depth:
            end = times.upper[stack.frames[i + 1].event]
            continued = stack.frames[i + 1].further == 1
        previous = -1
        for c in range(frame.begin, frame.end):
            option = stack.options[c]
            x = option.event
            if times.lower[x] > end or member(stack, depth, x):
                continue
            closed = continued and option.further == 0
            if x == previous and n > 0 and stack.rows[n - 1].event == x:
                stack.rows[n - 1].closed = max(stack.rows[n - 1].closed, np.int64(closed))
            else:
                n = add_row(stack, n, x, i, i + 1, closed)
                if n < 0:
                    return n
            previous = x
    return n


@aside
def absent_rows(tables, events, times, reach, task, forbid, ri, rf, stack, run, depth, n):
    """Rows for the absent parts in each gap of the chain, before it and after it."""
    for i in range(depth + 1):
        edge = stack.frames[i].edge
        for g in range(tables.edges[edge].guard_lo, tables.edges[edge].guard_hi):
            part = tables.guards[g]
            ints, floats = ri, rf
            if tables.parts[part].late == 1:
                ints, floats = stack.ints[depth], stack.floats[depth]
            elif i > 0:
                ints, floats = stack.ints[i - 1], stack.floats[i - 1]
            begin = stack.frames[depth].low - task.span - 1 if task.span >= 0 else -FOREVER
            if i > 0:
                begin = stack.frames[i - 1].low
            end = times.upper[stack.frames[i].event]
            n = absent_in(
                tables, events, times, reach, forbid, stack, run, depth, n, part, i - 1, begin, end, ints, floats
            )
    position = tables.positions[stack.frames[depth].position]
    for way in range(position.final_lo, min(position.final_hi, position.final_lo + 1)):
        for g in range(tables.ways[way].lo, tables.ways[way].hi):
            end = end_of_window(task, stack.frames[depth].start)
            n = absent_in(
                tables, events, times, reach, forbid, stack, run, depth, n, tables.final_guards[g], depth,
                stack.frames[depth].low, end, stack.ints[depth], stack.floats[depth],
            )  # fmt: skip
    return n


@aside
def absent_in(tables, events, times, reach, forbid, stack, run, depth, n, part, gap, begin, end, ints, floats):
    """Rows for the events of an absent part that may lie after node `gap`, between the ticks begin and end."""
    bit = tables.absent_bits[tables.parts[part].lo]
    asks = tables.asks[bit]
    x = first_after(reach, run, begin + 1)
    while n >= 0 and x < run[1] and times.lower[x] <= end:
        possible = (events.bits[x] >> bit) & 1 and times.upper[x] > begin and not member(stack, depth, x)
        if possible and (asks < 0 or ask(forbid, asks, x, events, ints, floats)):
            n = add_row(stack, n, x, gap, gap + 1, 0)
        x += 1
    return n


@aside
def tidied(rows, n):
    """Sort rows by event and place, unite those of one event that coincide or adjoin; returns how many are left."""
    for i in range(1, n):
        event, low, high, closed = rows[i].event, rows[i].low, rows[i].high, rows[i].closed
        j = i - 1
        while j >= 0 and (rows[j].event > event or (rows[j].event == event and rows[j].low > low)):
            rows[j + 1] = rows[j]
            j -= 1
        rows[j + 1].event, rows[j + 1].low, rows[j + 1].high, rows[j + 1].closed = event, low, high, closed
    kept = 0
    for i in range(n):
        if kept > 0 and rows[kept - 1].event == rows[i].event:
            before = rows[kept - 1]
            if before.low == rows[i].low:
                before.closed = max(before.closed, rows[i].closed)
                continue
            if before.closed == 1 and before.high == rows[i].low:
                before.high, before.closed = rows[i].high, rows[i].closed
                continue
        if kept < i:
            rows[kept] = rows[i]
        kept += 1
    return kept
