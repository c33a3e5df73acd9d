"""Candidate matches over uncertain time, with everything that could spoil them.

Problem: which chains of events can match in some world, and which other events must then happen elsewhere? Idea: depth
first from each start event, in the order of the pattern; a prefix is extended by an event iff the window still holds a
strictly increasing choice of instants (two numbers per prefix decide it), and, under skip till next match, iff no other
relevant event certainly lies between (NELT). The options of a prefix are at the same time the events that must not
happen before the one chosen.
Invariant: every chain with positive confidence is found, once; `Rows` says all that its confidence depends on beside
the times of its own events. Reference: spec of imprecise time, sections 1, 2, 4 and 6.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from whenabouts.kernels.program import F64, I64, Records
from whenabouts.kernels.types import aside, ask, grown, leaf
from whenabouts.kernels.uncertain.times import I32, U8, Chains, Forbidders, Regions

DONE, FULL, OVER_BUDGET, OVER_LIMIT = 0, 1, 2, 3
FOREVER = np.int64(1) << np.int64(62)

# A prefix of a chain: its last event, how it got there, and what it can go on to: options[begin:end].
FRAME = np.dtype([(n, "i8") for n in ("event", "position", "edge", "further", "low", "start", "begin", "end", "next")])
# What a prefix could take: `further` if the event only continues a closure; `ready` if a chain can go on with it.
OPTION = np.dtype([(n, "i8") for n in ("event", "edge", "further", "ready")])
# A row of `Forbidders` while it is collected.
ROW = np.dtype([(n, "i8") for n in ("event", "low", "high", "closed")])


class Stack(NamedTuple):
    """The prefix under way: a frame and a row of registers per event, and rows of forbidden regions."""

    frames: Records
    ints: I64
    floats: F64
    options: Records
    rows: Records


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
    watch_high: I32
    fill: I64  # [chains, entries, rows, starts given up, run, start, watched regions]


class Task(NamedTuple):
    """What to search for."""

    span: int  # last - first <= span ticks; -1: no window
    selective: int  # 1: skip till next match
    budget: int  # options and rows one start may hold at once
    drop: int  # 1: give up a start beyond its budget and count it
    limit: int  # chains to find at most; -1: all
    pivot: int  # the position whose events are rarest: starts are tried only near one of them; -1: all are tried
    arriving: int  # 1: for each event the chains it completes, in order of arrival (any state); 0: by their start


@njit
def new_found(size):
    return Found(
        np.empty(size, np.int64), np.empty(4 * size, np.int32), np.empty(4 * size, np.uint8), np.empty(size, np.int64),
        np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.uint8), np.empty(size, np.int32),
        np.empty(size, np.uint8), np.empty(size, np.int64), np.empty(4 * size, np.int32), np.empty(4 * size, np.int32),
        np.zeros(7, np.int64),
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
        grown(found.watch_low, found.watch_low.size + 1), grown(found.watch_high, found.watch_high.size + 1),
        found.fill,
    )  # fmt: skip


def search(tables, events, times, reach, task, check, bind, final, forbid, ri, rf):
    """All candidate chains of a batch, and a status. `reach[i]`: latest upper bound of the run's events up to i."""
    found = new_found(1024 + events.time.size // 4)
    size = task.budget + 2
    stack = Stack(
        np.empty(4096, FRAME), np.empty((4096, ri.size), np.int64), np.empty((4096, rf.size)),
        np.empty(size, OPTION), np.empty(size, ROW),
    )  # fmt: skip
    while True:
        status = search_on(tables, events, times, reach, task, check, bind, final, forbid, ri, rf, stack, found)
        if status != FULL:
            return found, status
        found = roomier(found)


@aside
def search_on(tables, events, times, reach, task, check, bind, final, forbid, ri, rf, stack, found):
    """Search from where `found.fill` says until the end, or until the output is full: then its start is tried again."""
    fill = found.fill
    while fill[4] < events.runs.size - 1:
        run = (events.runs[fill[4]], events.runs[fill[4] + 1])
        s = max(fill[5], run[0])
        while s < run[1]:
            fill[5] = s
            chains, entries, rows, watched = fill[0], fill[1], fill[2], fill[6]
            if worthwhile(tables, events, times, reach, task, run, s):
                status = from_anchor(
                    tables, events, times, reach, task, check, bind, final, forbid, ri, rf, stack, found, run, s
                )
                if status == FULL or status == OVER_BUDGET:
                    fill[0], fill[1], fill[2], fill[6] = chains, entries, rows, watched
                if status == OVER_BUDGET and task.drop == 1:
                    fill[3] += 1
                elif status != DONE:
                    return status
            s += 1
        fill[4] += 1
    return DONE


@leaf
def first_after(reach, run, t):
    """The first event of the run before which all end before tick t."""
    low, high = run[0], run[1]
    while low < high:
        middle = (low + high) >> 1
        if reach[middle] >= t:
            high = middle
        else:
            low = middle + 1
    return low


@leaf
def end_of_window(task, start):
    """The last instant of a chain whose first event happens at `start`."""
    return FOREVER if task.span < 0 else start + task.span


@aside
def worthwhile(tables, events, times, reach, task, run, s):
    """Whether chains can begin with event s and hold an event of the rare step; everything arrives."""
    if task.arriving == 1:
        return True
    if events.bits[s] & tables.positions[-1].out_mask == 0:
        return False
    if task.pivot < 0:
        return True
    bit = np.uint64(1) << np.uint64(tables.positions[task.pivot].step)
    end = end_of_window(task, times.upper[s])
    x = first_after(reach, run, times.lower[s])
    while x < run[1] and times.lower[x] <= end:
        if events.bits[x] & bit != 0 and times.upper[x] >= times.lower[s]:
            return True
        x += 1
    return False


@leaf
def from_anchor(tables, events, times, reach, task, check, bind, final, forbid, ri, rf, stack, found, run, s):
    """The chains that begin with event s; or, in order of arrival, those that s completes."""
    if task.arriving == 0:
        return from_start(
            tables, events, times, reach, task, check, bind, final, forbid, ri, rf, stack, found, run, s, -1
        )
    first = run[0] if task.span < 0 else first_after(reach, run, times.lower[s] - task.span)
    for start in range(first, s + 1):
        if events.bits[start] & tables.positions[-1].out_mask != 0 and times.lower[start] <= times.upper[s]:
            status = from_start(
                tables, events, times, reach, task, check, bind, final, forbid, ri, rf, stack, found, run, start, s
            )
            if status != DONE:
                return status
    return DONE


@aside
def from_start(tables, events, times, reach, task, check, bind, final, forbid, ri, rf, stack, found, run, s, newest):
    """Append all chains that begin with event s; `newest` >= 0: that contain this event and none behind it."""
    start = tables.positions[-1]
    for edge in range(start.out_lo, start.out_hi):
        position = tables.positions[tables.edges[edge].target]
        if not (events.bits[s] >> position.step) & 1:
            continue
        if position.checked >= 0 and not ask(check, position.checked, s, events, ri, rf):
            continue
        place(tables, events, bind, stack, 0, s, edge, 0, times.lower[s], times.upper[s], ri, rf)
        stack.frames[0].begin = 0
        status = descend(
            tables, events, times, reach, task, check, bind, final, forbid, ri, rf, stack, found, run, newest
        )
        if status != DONE:
            return status
    return DONE


@leaf
def place(tables, events, bind, stack, depth, e, edge, further, low, start, ri, rf):
    """Make event e the last of the prefix; the registers are those of the prefix before it."""
    frame = stack.frames[depth]
    frame.event, frame.position, frame.edge, frame.further = e, tables.edges[edge].target, edge, further
    frame.low, frame.start = low, start
    ints, floats = stack.ints[depth], stack.floats[depth]
    for i in range(ints.size):
        ints[i] = ri[i]
    for i in range(floats.size):
        floats[i] = rf[i]
    ask(bind, tables.positions[frame.position].step, e, events, ints, floats)


@leaf
def descend(tables, events, times, reach, task, check, bind, final, forbid, ri, rf, stack, found, run, newest):
    """All chains that continue the prefix of one event in frame 0."""
    depth = 0
    fresh = True
    while depth >= 0:
        frame = stack.frames[depth]
        if fresh:
            if not look_ahead(tables, events, times, reach, task, check, stack, run, depth):
                return OVER_BUDGET
            complete = newest < 0 or member(stack, depth, newest)
            if not complete and frame.low >= times.upper[newest]:
                frame.next = frame.end
            if complete:
                status = append(tables, events, times, reach, task, final, forbid, ri, rf, stack, found, run, depth)
                if status != DONE:
                    return status
        fresh = False
        if frame.next == frame.end:
            depth -= 1
            continue
        option = stack.options[frame.next]
        frame.next += 1
        if option.ready == 0 or (newest >= 0 and option.event > newest):
            continue
        if depth + 2 > stack.frames.size:
            return OVER_BUDGET
        e = option.event
        low, start = max(frame.low + 1, times.lower[e]), min(frame.start, times.upper[e] - depth - 1)
        place(
            tables, events, bind, stack, depth + 1, e, option.edge, option.further, low, start,
            stack.ints[depth], stack.floats[depth],
        )  # fmt: skip
        depth += 1
        stack.frames[depth].begin = frame.end
        fresh = True
    return DONE


@leaf
def member(stack, depth, x):
    for i in range(depth + 1):
        if stack.frames[i].event == x:
            return True
    return False


@leaf
def look_ahead(tables, events, times, reach, task, check, stack, run, depth):
    """List what the prefix could take, and mark with which options a chain can go on; False: over budget."""
    frame = stack.frames[depth]
    n = frame.begin
    position = tables.positions[frame.position]
    ints, floats = stack.ints[depth], stack.floats[depth]
    if position.out_mask != 0 and (task.span < 0 or depth < task.span):
        end = end_of_window(task, frame.start)
        x = first_after(reach, run, frame.low + 1)
        while x < run[1] and times.lower[x] <= end:
            bits = events.bits[x]
            if bits & position.out_mask != 0 and times.upper[x] > frame.low and not member(stack, depth, x):
                first = n
                for edge in range(position.out_lo, position.out_hi):
                    target = tables.positions[tables.edges[edge].target]
                    if not (bits >> target.step) & 1:
                        continue
                    if target.checked >= 0 and not ask(check, target.checked, x, events, ints, floats):
                        continue
                    if n == stack.options.size:
                        return False
                    option = stack.options[n]
                    option.event, option.edge, option.further = x, edge, tables.edges[edge].loop >= 0
                    option.ready = fits(times, task, frame.low, frame.start, depth, x)
                    n += 1
                settle_further(tables, stack, first, n)
            x += 1
    frame.end, frame.next = n, frame.begin
    if task.selective == 1 and n > frame.begin:
        drop_late(times, stack, depth)
    return True


@leaf
def fits(times, task, low, start, depth, x):
    """Whether the prefix can be followed by x: the O(1) test of section 2."""
    low, start = max(low + 1, times.lower[x]), min(start, times.upper[x] - depth - 1)
    return low <= times.upper[x] and (task.span < 0 or (low - start <= task.span and depth + 1 <= task.span))


@leaf
def settle_further(tables, stack, first, n):
    """A step that can also be taken forward does not only continue a closure."""
    for a in range(first, n):
        if stack.options[a].further == 0:
            step = tables.positions[tables.edges[stack.options[a].edge].target].step
            for b in range(first, n):
                if tables.positions[tables.edges[stack.options[b].edge].target].step == step:
                    stack.options[b].further = 0


@leaf
def drop_late(times, stack, depth):
    """NELT: no chain goes on with an event that always comes after another relevant one (section 4)."""
    frame = stack.frames[depth]
    earliest, second, owner = FOREVER, FOREVER, -1
    last = times.upper[frame.event]
    for c in range(frame.begin, frame.end):
        x = stack.options[c].event
        if times.lower[x] <= last or x == owner:
            continue
        if times.upper[x] < earliest:
            earliest, second, owner = times.upper[x], earliest, x
        elif times.upper[x] < second:
            second = times.upper[x]
    for c in range(frame.begin, frame.end):
        option = stack.options[c]
        limit = second if option.event == owner else earliest
        if max(frame.low + 1, times.lower[option.event]) > limit:
            option.ready = 0


# --- output ----------------------------------------------------------------------------------------------------------


@aside
def append(tables, events, times, reach, task, final, forbid, ri, rf, stack, found, run, depth):
    """Append the prefix as a chain if it may end here."""
    frame = stack.frames[depth]
    position = tables.positions[frame.position]
    if position.final_lo == position.final_hi:
        return DONE
    ints, floats = stack.ints[depth], stack.floats[depth]
    if position.final_checked >= 0 and not ask(final, position.final_checked, frame.event, events, ints, floats):
        return DONE
    n = 0
    if task.selective == 1:
        n = passed_over(times, stack, depth)
    if n >= 0 and tables.parts.size > 0:
        n = absent_rows(tables, events, times, reach, task, forbid, ri, rf, stack, run, depth, n)
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
        found.row_event[row + i], found.row_from_last[row + i] = kept.event, 1
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
        edge = tables.edges[stack.frames[i].edge]
        if edge.guard_lo < edge.guard_hi:
            found.watch_low[n], found.watch_high[n] = i - 1, i
            n += 1
        if task.selective == 1 and tables.positions[stack.frames[i].position].out_mask != 0:
            high = i + 1
            while high <= depth and stack.frames[high].further == 1:
                high += 1  # a step forward would end the closure here, too
            found.watch_low[n], found.watch_high[n] = i, high
            n += 1
    position = tables.positions[stack.frames[depth].position]
    if position.final_lo < position.final_hi and tables.ways[position.final_lo].lo < tables.ways[position.final_lo].hi:
        found.watch_low[n], found.watch_high[n] = depth, depth + 1
        n += 1
    return n


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


def chains_of(found: Found) -> Chains:
    """The chains, every node one event."""
    chains, entries = int(found.fill[0]), int(found.fill[1])
    return Chains(found.ends[:chains], np.arange(1, entries + 1, dtype=np.int64), found.events[:entries])


def regions_of(found: Found) -> Regions:
    """The regions that events still to come must stay out of."""
    chains, rows = int(found.fill[0]), int(found.fill[6])
    low = found.watch_low[:rows]
    return Regions(found.watch_ends[:chains], low, np.ones(rows, np.uint8), found.watch_high[:rows])


def forbidders_of(found: Found) -> Forbidders:
    """The rows as the confidence kernels take them."""
    chains, rows = int(found.fill[0]), int(found.fill[2])
    return Forbidders(
        found.row_ends[:chains], found.row_event[:rows], found.row_low[:rows], found.row_from_last[:rows],
        found.row_high[:rows], found.row_closed[:rows],
    )  # fmt: skip
