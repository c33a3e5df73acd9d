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
def add_row(stack, n, x, low, from_last, high, closed):
    """Append a row; returns the new number of rows, -1 over budget."""
    if n < 0 or n >= stack.rows.size:
        return -1
    row = stack.rows[n]
    row.event, row.low, row.from_last, row.high, row.closed = x, low, from_last, high, closed
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
                n = add_row(stack, n, x, i, 1, i + 1, closed)
                if n < 0:
                    return n
            previous = x
    return n


@aside
def around_nodes(tables, events, times, reach, task, check, ri, rf, stack, run, depth):
    """Skip till next match with groups: rows for N1 and N2 of section 1.

    A relevant event may not be left out between the first instant of the node before and a single event, nor there and
    up to the first instant of the next node if the node is a group. What is relevant is said by the registers of the
    prefix before the node: where it would depend on time, `supported` has refused the query.
    """
    n = 0
    for i in range(depth + 1):
        frame = stack.frames[i]
        position = tables.positions[frame.position]
        if frame.opener != i or (i == 0 and position.many == 0):
            continue
        ints, floats, low = ri, rf, np.int64(0)
        begin, end = times.lower[frame.event], times.upper[frame.event]
        if i > 0:
            ints, floats, low = stack.ints[i - 1], stack.floats[i - 1], frame.node - 1
            before = stack.frames[stack.frames[i - 1].opener]
            begin = max(before.before + 1, times.lower[before.event])
        high = frame.node + position.many
        if position.many == 1:
            end = end_of_window(task, stack.frames[depth].start) + 1
            for k in range(i + 1, depth + 1):
                if stack.frames[k].node == high:
                    end = times.upper[stack.frames[k].event]
                    break
        n = rows_between(
            tables.positions[frame.position].step, position.checked, check, low, 0, high, begin, end,
            events, times, reach, stack, run, depth, n, ints, floats,
        )  # fmt: skip
    return n


@aside
def rows_between(
    bit, asks, test, low, from_last, high, begin, end, events, times, reach, stack, run, depth, n, ints, floats
):
    """Rows for the events of a step that meet its conditions and may lie between the ticks begin and end."""
    x = first_after(reach, run, begin + 1)
    while n >= 0 and x < run[1] and times.lower[x] <= end:
        may = (events.bits[x] >> bit) & 1 and times.upper[x] > begin and not member(stack, depth, x)
        if may and (asks < 0 or ask(test, asks, x, events, ints, floats)):
            n = add_row(stack, n, x, low, from_last, high, 0)
        x += 1
    return n


@aside
def absent_rows(tables, events, times, reach, task, forbid, stack, run, depth, n):
    """Rows for the absent parts in each gap of the chain, before it and after it."""
    for i in range(depth + 1):
        edge = stack.frames[i].edge
        for g in range(tables.edges[edge].guard_lo, tables.edges[edge].guard_hi):
            part = tables.guards[g]
            known = depth if tables.parts[part].late == 1 else i  # with the event right behind the gap
            begin = stack.frames[depth].low - task.span - 1 if task.span >= 0 else -FOREVER
            if i > 0:
                begin = stack.frames[i - 1].low
            end = times.upper[stack.frames[i].event]
            node = stack.frames[i].node
            bit = tables.absent_bits[tables.parts[part].lo]
            n = rows_between(
                bit, tables.asks[bit], forbid, node - 1, 1, node, begin, end,
                events, times, reach, stack, run, depth, n, stack.ints[known], stack.floats[known],
            )  # fmt: skip
    position = tables.positions[stack.frames[depth].position]
    for way in range(position.final_lo, min(position.final_hi, position.final_lo + 1)):
        for g in range(tables.ways[way].lo, tables.ways[way].hi):
            last = stack.frames[depth]
            bit = tables.absent_bits[tables.parts[tables.final_guards[g]].lo]
            n = rows_between(
                bit, tables.asks[bit], forbid, last.node, 1, last.node + 1, last.low, end_of_window(task, last.start),
                events, times, reach, stack, run, depth, n, stack.ints[depth], stack.floats[depth],
            )  # fmt: skip
    return n


@aside
def tidied(rows, n):
    """Sort rows by event and place, unite those of one event that overlap or adjoin; returns how many are left.

    The instants that rows name stand in one order, whatever the times: a row that begins before another ends overlaps.
    """
    for i in range(1, n):
        event, low, from_last = rows[i].event, rows[i].low, rows[i].from_last
        high, closed = rows[i].high, rows[i].closed
        j = i - 1
        while j >= 0 and later(rows[j], event, low, from_last):
            rows[j + 1] = rows[j]
            j -= 1
        row = rows[j + 1]
        row.event, row.low, row.from_last, row.high, row.closed = event, low, from_last, high, closed
    kept = 0
    for i in range(n):
        if kept > 0 and rows[kept - 1].event == rows[i].event:
            before = rows[kept - 1]
            if rows[i].low < before.high or (before.closed == 1 and rows[i].low == before.high):
                if rows[i].high > before.high:
                    before.high, before.closed = rows[i].high, rows[i].closed
                elif rows[i].high == before.high:
                    before.closed = max(before.closed, rows[i].closed)
                continue
        if kept < i:
            rows[kept] = rows[i]
        kept += 1
    return kept


@leaf
def later(row, event, low, from_last):
    """Whether a row stands behind one of this event that begins there."""
    if row.event != event:
        return row.event > event
    return row.low > low or (row.low == low and row.from_last > from_last)
