"""Candidate matches over uncertain time, with everything that could spoil them.

Problem: which chains of events can match in some world, and which other events must then happen elsewhere? Idea: depth
first from each start event, in the order of the pattern; a prefix is extended by an event iff the window still holds a
strictly increasing choice of instants (two numbers per prefix decide it), and, under skip till next match, iff no other
relevant event certainly lies between (NELT). The options of a prefix are at the same time the events that must not
happen before the one chosen. An unordered group takes its events by their number, so that it is found once.
Invariant: every chain with positive confidence is found, once.
Reference: spec of imprecise time, sections 1, 2, 4 and 6.
"""

from __future__ import annotations

import numpy as np

from whenabouts.kernels.types import aside, ask, leaf
from whenabouts.kernels.uncertain.feasible import EARLIEST, extend, join, possible
from whenabouts.kernels.uncertain.found import append, new_found, roomier
from whenabouts.kernels.uncertain.prefix import (
    DONE,
    FOREVER,
    FRAME,
    FULL,
    OPTION,
    OVER_BUDGET,
    ROW,
    Stack,
    end_of_window,
    first_after,
    member,
)


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
        frame = stack.frames[0]
        frame.node, frame.opener, frame.before, frame.begin = 0, 0, EARLIEST, 0
        frame.low, frame.until, frame.start = times.lower[s], times.upper[s], times.upper[s]
        place(tables, events, bind, stack, 0, s, edge, 0, ri, rf)
        status = descend(
            tables, events, times, reach, task, check, bind, final, forbid, ri, rf, stack, found, run, newest
        )
        if status != DONE:
            return status
    return DONE


@leaf
def place(tables, events, bind, stack, depth, e, edge, further, ri, rf):
    """Make event e the last of the prefix; the registers are those of the prefix before it."""
    frame = stack.frames[depth]
    frame.event, frame.position, frame.edge, frame.further = e, tables.edges[edge].target, edge, further
    ints, floats = stack.ints[depth], stack.floats[depth]
    for i in range(ints.size):
        ints[i] = ri[i]
    for i in range(floats.size):
        floats[i] = rf[i]
    ask(bind, tables.positions[frame.position].step, e, events, ints, floats)


@leaf
def follow(times, stack, depth, option):
    """Say when the frame behind this one can happen, for an event that joins the group of the last or follows it."""
    frame, new = stack.frames[depth], stack.frames[depth + 1]
    lower, upper = times.lower[option.event], times.upper[option.event]
    if option.joins == 1:
        new.node, new.opener, new.before, new.until = frame.node, frame.opener, frame.before, min(frame.until, upper)
        new.low, new.start = join(frame.before, frame.low, frame.start, frame.node, lower, upper)
    else:
        new.node, new.opener, new.before, new.until = frame.node + 1, depth + 1, frame.low, upper
        new.low, new.start = extend(frame.low, frame.start, new.node, lower, upper)
    new.begin = frame.end


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
            if not complete and (frame.before if gathers(tables, task, frame) else frame.low) >= times.upper[newest]:
                frame.next = frame.end
            if complete:
                status = append(
                    tables, events, times, reach, task, check, final, forbid, ri, rf, stack, found, run, depth
                )
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
        if task.selective == 1 and task.unordered == 1 and overlooks(tables, times, stack, depth, option):
            continue
        follow(times, stack, depth, option)
        place(
            tables, events, bind, stack, depth + 1, option.event, option.edge, option.further,
            stack.ints[depth], stack.floats[depth],
        )  # fmt: skip
        depth += 1
        fresh = True
    return DONE


@leaf
def gathers(tables, task, frame):
    """Whether the last event is in a group that may take more."""
    return task.unordered == 1 and tables.positions[frame.position].many == 1


@leaf
def look_ahead(tables, events, times, reach, task, check, stack, run, depth):
    """List what the prefix could take, and mark with which options a chain can go on; False: over budget."""
    frame = stack.frames[depth]
    n = frame.begin
    position = tables.positions[frame.position]
    ints, floats = stack.ints[depth], stack.floats[depth]
    grouped = gathers(tables, task, frame)
    if position.out_mask != 0 and (task.span < 0 or frame.node < task.span or grouped):
        end = end_of_window(task, frame.start)
        x = first_after(reach, run, frame.low + 1)
        if grouped:
            x = min(x, frame.event + 1)
        while x < run[1] and times.lower[x] <= end:
            bits = events.bits[x]
            behind = times.upper[x] > frame.low
            if bits & position.out_mask != 0 and (behind or grouped) and not member(stack, depth, x):
                first = n
                for edge in range(position.out_lo, position.out_hi):
                    target = tables.positions[tables.edges[edge].target]
                    joins = grouped and target.step == position.step
                    if not (bits >> target.step) & 1 or not (x > frame.event if joins else behind):
                        continue
                    if target.checked >= 0 and not ask(check, target.checked, x, events, ints, floats):
                        continue
                    if n == stack.options.size:
                        return False
                    option = stack.options[n]
                    option.event, option.edge, option.further = x, edge, tables.edges[edge].loop >= 0
                    option.joins, option.ready = joins, fits(times, task, frame, joins, x)
                    n += 1
                settle_further(tables, stack, first, n)
            x += 1
    frame.end, frame.next = n, frame.begin
    if task.selective == 1 and n > frame.begin:
        drop_late(tables, times, task, stack, depth)
    return True


@leaf
def fits(times, task, frame, joins, x):
    """Whether the prefix can go on with x: the O(1) test of section 2."""
    lower, upper = times.lower[x], times.upper[x]
    before, depth = frame.low, frame.node + 1
    low, start = extend(frame.low, frame.start, depth, lower, upper)
    if joins:
        before, depth = frame.before, frame.node
        low, start = join(before, frame.low, frame.start, depth, lower, upper)
    return possible(before, low, start, depth, upper, 0, task.span)


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
def drop_late(tables, times, task, stack, depth):
    """NELT: no chain goes on with an event that always comes after another relevant one (section 4).

    A group takes both; what it must not leave out is the matter of `overlooks`.
    """
    frame = stack.frames[depth]
    earliest, second, owner = FOREVER, FOREVER, -1
    for c in range(frame.begin, frame.end):
        option = stack.options[c]
        x = option.event
        if times.lower[x] <= frame.until or x == owner or enters_group(tables, task, option):
            continue
        if times.upper[x] < earliest:
            earliest, second, owner = times.upper[x], earliest, x
        elif times.upper[x] < second:
            second = times.upper[x]
    for c in range(frame.begin, frame.end):
        option = stack.options[c]
        if enters_group(tables, task, option):
            continue
        limit = second if option.event == owner else earliest
        if max(frame.low + 1, times.lower[option.event]) > limit:
            option.ready = 0


@leaf
def enters_group(tables, task, option):
    return task.unordered == 1 and tables.positions[tables.edges[option.edge].target].many == 1


@aside
def overlooks(tables, times, stack, depth, option):
    """Whether with this option a group certainly lacks an event that it should have taken (N2)."""
    frame, e = stack.frames[depth], option.event
    if option.joins == 1:
        low = max(frame.low, frame.before + 1, times.lower[e])
        return lacks(times, stack, depth, frame.opener, low, e)
    low = max(frame.low + 1, times.lower[e])
    if tables.positions[frame.position].many == 1 and lacks(times, stack, depth, frame.opener, low - 1, FOREVER):
        return True
    many = tables.positions[tables.edges[option.edge].target].many == 1
    return many and lacks(times, stack, depth, depth + 1, low, e)


@leaf
def lacks(times, stack, depth, opener, last, limit):
    """Whether an event before number `limit`, relevant for the group from frame `opener`, is surely in its time.

    The time of a group begins with the node before it, or with itself, and has not ended at tick `last`.
    """
    source = stack.frames[max(opener - 1, 0)]
    since, kind = (stack.frames[depth].until, 1) if opener == 0 else (source.until, 0)
    for c in range(source.begin, source.end):
        option = stack.options[c]
        x = option.event
        surely = times.lower[x] > since and times.upper[x] <= last
        if surely and option.joins == kind and x < limit and not member(stack, depth, x):
            return True
    return False
