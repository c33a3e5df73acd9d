"""The match loop of the deterministic strategies: contiguity, skip till next match, latest.

Problem: from every start event, follow the ways the strategy allows until the match can go on no more.
Idea: starts never influence one another, so each is explored alone, depth first, on one small stack of partial matches;
memory is the depth of one match times its branching, never the number of open runs of the stream.
Invariant: a frame on the stack is a prefix of the definition (docs/semantics.md, 6); it is expanded exactly once.
Reference: thesis 2.1.1 (strategies) and 2.2 (runs); specs of imprecise time, N1 to N3, for ties.
"""

from __future__ import annotations

import numpy as np

from whenabouts.kernels.guards import edge_blocked, end_blocked, late_blocked
from whenabouts.kernels.types import FRAME, Frames, aside, ask, full, leaf, new_output, room, within

NEXT, PARTITION, STRICT, LATEST = 0, 1, 2, 3
FRESH, DONE, RESTED = 0, 1, 2  # frame states: to be expanded; expanded; to be expanded, its prefix already reported
OK, OVER_BUDGET, OVER_LIMIT, FULL = 0, 1, 2, 3


def follow(tables, events, limits, strategy, prefixes, check, bind, final, forbid, ri, rf):
    """All matches of all starts; returns the output and a status."""
    out = new_output(1024 + events.time.size // 2)  # untouched memory costs nothing, growing does
    size = limits.budget + 1
    frames = Frames(np.empty(size, FRAME), np.empty((size, ri.size), np.int64), np.empty((size, rf.size), np.float64))
    found = np.empty((size, 3), np.int64)
    edges = np.empty(size, np.int64)
    at = np.array([0, 0, -1])
    while True:
        status = follow_on(
            tables,
            events,
            limits,
            strategy,
            prefixes,
            check,
            bind,
            final,
            forbid,
            frames,
            found,
            edges,
            out,
            at,
            ri,
            rf,
        )
        if status != FULL:
            return out, status
        out = room(out, size)


@aside
def follow_on(
    tables, events, limits, strategy, prefixes, check, bind, final, forbid, frames, found, edges, out, at, ri, rf
):
    """Follow the starts from `at` (run, start, top of the stack) on until they end or the output is full.

    The output grows outside: an array that may be replaced inside the loop would be counted at every start.
    """
    alone = strategy != LATEST and not prefixes
    while at[0] < events.runs.size - 1:
        run = (events.runs[at[0]], events.runs[at[0] + 1])
        s = max(at[1], run[0])
        while s < run[1]:
            at[1] = s
            key = events.key[s] if strategy == STRICT else -1
            if at[2] < 0:
                if events.bits[s] & tables.positions[-1].out_mask == 0 or not within(events, limits, s, s):
                    s += 1
                    continue
                if alone and full(out, min(run[1] - s, limits.budget)):
                    return FULL
                at[2] = begin(tables, events, check, bind, frames, s, ri, rf)
                if at[2] == 0 and alone:
                    at[2] = run_alone(
                        tables,
                        events,
                        limits,
                        strategy != NEXT,
                        check,
                        bind,
                        final,
                        forbid,
                        frames,
                        run,
                        key,
                        out,
                        edges,
                    )
                    if limits.limit >= 0 and out.fill[0] >= limits.limit:
                        return OVER_LIMIT
            if at[2] >= 0:
                status = explore(
                    tables, events, limits, strategy, prefixes, check, bind, final, forbid, frames, found, edges,
                    out, at, run, key, ri, rf,
                )  # fmt: skip
                if status != OK:
                    return status
            s += 1
        at[0] += 1
    return OK


@leaf
def explore(
    tables,
    events,
    limits,
    strategy,
    prefixes,
    check,
    bind,
    final,
    forbid,
    frames,
    found,
    edges,
    out,
    at,
    run,
    key,
    ri,
    rf,
):
    """Expand the prefixes on the stack, up to at[2], until it is empty."""
    while at[2] >= 0:
        top = at[2]
        if frames.stack[top].state == DONE:
            at[2] -= 1
            continue
        if full(out, top + 1):
            return FULL
        low = frames.stack[top].group
        if prefixes and frames.stack[top].state == FRESH:
            report(tables, events, limits, final, forbid, frames, low, top, run, key, out, edges)
        at[2], went_on = expand(
            tables, events, limits, strategy, prefixes, check, bind, forbid, frames, top, run, key, found, ri, rf
        )
        if at[2] < 0:
            if limits.drop == 0:
                return OVER_BUDGET
            out.fill[2] += 1
            break
        if not (went_on or prefixes):
            report(tables, events, limits, final, forbid, frames, low, top, run, key, out, edges)
        if limits.limit >= 0 and out.fill[0] >= limits.limit:
            return OVER_LIMIT
    return OK


@leaf
def push(frames, at, event, position, parent, edge, stopped, since, state, ri, rf):
    frame = frames.stack[at]
    frame.event, frame.position, frame.parent, frame.edge = event, position, parent, edge
    frame.stopped, frame.since, frame.state = stopped, since, state
    for i in range(ri.size):
        frames.ints[at, i] = ri[i]
    for i in range(rf.size):
        frames.floats[at, i] = rf[i]


@leaf
def close_group(frames, low, end):
    for i in range(low, end):
        frames.stack[i].group, frames.stack[i].group_end = low, end


@leaf
def begin(tables, events, check, bind, frames, s, ri, rf):
    """Push the prefixes that consist of the start event alone, one group per step; returns the top."""
    top = -1
    start = tables.positions[-1]
    for first in range(start.out_lo, start.out_hi):
        own = tables.positions[tables.edges[first].target]
        step = own.step
        seen = False
        for e in range(start.out_lo, first):
            other = tables.positions[tables.edges[e].target]
            seen = seen or (other.step == step and other.pattern == own.pattern)
        if seen or not (events.bits[s] >> step) & 1:
            continue
        low = top + 1
        for edge in range(first, start.out_hi):
            target = tables.edges[edge].target
            number = tables.positions[target].checked
            if tables.positions[target].step != step or tables.positions[target].pattern != own.pattern:
                continue
            if number < 0 or ask(check, number, s, events, ri, rf):
                top += 1
                push(frames, top, s, target, -1, edge, 0, events.after[s], FRESH, ri, rf)
                ask(bind, step, s, events, frames.ints[top], frames.floats[top])
        close_group(frames, low, top + 1)
    return top


@aside
def options(tables, events, check, frames, low, top, j, end, key, found):
    """What the prefix can take at the instant j..end-1: rows (event, edge, frame), by event; -1: over budget."""
    n = 0
    for e in range(j, end):
        bits = events.bits[e]
        if key >= 0 and events.key[e] != key:
            continue
        for f in range(low, top + 1):
            position, stopped = frames.stack[f].position, frames.stack[f].stopped
            if bits & tables.positions[position].out_mask == 0:
                continue
            for edge in range(tables.positions[position].out_lo, tables.positions[position].out_hi):
                target, loop = tables.edges[edge].target, tables.edges[edge].loop
                if not (bits >> tables.positions[target].step) & 1 or (loop >= 0 and (stopped >> loop) & 1):
                    continue
                number = tables.positions[target].checked
                if number >= 0 and not ask(check, number, e, events, frames.ints[f], frames.floats[f]):
                    continue
                if n == found.shape[0]:
                    return -1
                found[n, 0], found[n, 1], found[n, 2] = e, edge, f
                n += 1
    return n


@leaf
def further(tables, found, n, c):
    """Whether option c only continues a closure: no way to take this event for this step is a step forward."""
    e, step = found[c, 0], tables.positions[tables.edges[found[c, 1]].target].step
    first = c
    while first > 0 and found[first - 1, 0] == e:
        first -= 1
    while first < n and found[first, 0] == e:
        edge = tables.edges[found[first, 1]]
        if edge.loop < 0 and tables.positions[edge.target].step == step:
            return False
        first += 1
    return True


@leaf
def expand(tables, events, limits, strategy, prefixes, check, bind, forbid, frames, at, run, key, found, ri, rf):
    """Push what the prefix (a group of frames) goes on to.

    Returns the new top (-1: over budget), and whether the prefix went on.
    """
    low, top = frames.stack[at].group, at
    mask = np.uint64(0)
    for f in range(low, at + 1):
        frames.stack[f].state = DONE
        mask |= tables.positions[frames.stack[f].position].out_mask
    if mask == 0:
        return top, False
    position = tables.positions[frames.stack[at].position]
    replaceable = strategy == LATEST and position.many == 0
    own = np.uint64(1) << np.uint64(position.step)
    if replaceable:
        mask |= own
    went_on = False
    j = frames.stack[at].since
    contiguous = strategy == PARTITION or strategy == STRICT
    while j < run[1] and within(events, limits, frames.stack[0].event, j):
        end = events.after[j]
        relevant = np.uint64(0)
        for e in range(j, end):
            relevant |= events.bits[e]
        consumed = contiguous
        if relevant & mask != 0:
            n = options(tables, events, check, frames, low, at, j, end, key, found)
            if n < 0:
                return -1, True
            top, taken, moved = take(tables, events, limits, strategy, bind, forbid, frames, top, key, found, n)
            if top < 0:
                return -1, True
            went_on = went_on or n > 0
            consumed = consumed or (n > 0 and (strategy == NEXT or moved != 0))
            if prefixes and taken != 0 and moved != FORWARD and (strategy == NEXT or strategy == LATEST):
                top = rest(frames, low, at, top, taken, end)
            if replaceable and relevant & own != 0 and not consumed:
                for e in range(j, end):
                    consumed = consumed or replaces(tables, events, check, frames, at, e, key, ri, rf)
        if consumed:
            break
        j = end
    return top, went_on


@leaf
def run_alone(tables, events, limits, contiguous, check, bind, final, forbid, frames, run, key, out, edges):
    """The usual case without the machinery for branches and ties: follow a prefix while there is one way at a time.

    The prefix grows in the output, where its match will stand; the registers stay in row 0. Returns the top: the frame
    from which the general loop has to go on, or -1 at the end.
    """
    first, p = frames.stack[0].event, frames.stack[0].position
    ri, rf = frames.ints[0], frames.floats[0]
    begin, n, event = out.fill[1], 1, first
    out.events[begin], out.steps[begin], edges[0] = first, tables.positions[p].step, frames.stack[0].edge
    while True:
        position = tables.positions[p]
        ways, found = 0, -1
        j = events.after[event]
        while position.out_mask != 0 and j < run[1] and within(events, limits, first, j):
            bits = events.bits[j]
            if events.after[j] != j + 1:
                ways = 2
            elif bits & position.out_mask != 0 and (key < 0 or events.key[j] == key):
                for edge in range(position.out_lo, position.out_hi):
                    target = tables.positions[tables.edges[edge].target]
                    if (bits >> target.step) & 1 and (
                        target.checked < 0 or ask(check, target.checked, j, events, ri, rf)
                    ):
                        ways += 1
                        found = edge
            if ways or contiguous:
                break
            j += 1
        if ways == 0:
            path = out.events[begin : begin + n]
            if accepts(tables, events, final, p, event, ri, rf) and not blocked(
                tables, events, limits, forbid, p, path, edges, n, run, key, ri, rf
            ):
                out.fill[0] += 1
                out.fill[1] += n
                out.ends[out.fill[0] - 1] = begin + n
            return -1
        if ways > 1 or n + 1 >= frames.stack.size:
            lay_out(tables, frames, out.events[begin : begin + n], edges, j, ri, rf)
            return n - 1
        if edge_blocked(tables, events, forbid, found, event, j, key, ri, rf):
            return -1
        event, p = j, tables.edges[found].target
        out.events[begin + n], out.steps[begin + n], edges[n] = j, tables.positions[p].step, found
        n += 1
        ask(bind, tables.positions[p].step, j, events, ri, rf)


@aside
def lay_out(tables, frames, path, edges, since, ri, rf):
    """Make frames of a path, the last of which the general loop can expand."""
    top = path.size - 1
    for i in range(top + 1):
        frame = frames.stack[i]
        frame.event, frame.position, frame.parent, frame.edge = path[i], tables.edges[edges[i]].target, i - 1, edges[i]
        frame.state = DONE
    frame = frames.stack[top]
    frame.stopped, frame.since, frame.state = 0, since, FRESH
    frame.group, frame.group_end = top, top + 1
    if top > 0:
        for i in range(ri.size):
            frames.ints[top, i] = ri[i]
        for i in range(rf.size):
            frames.floats[top, i] = rf[i]


STAYED, CLOSURE, FORWARD = (
    0,
    1,
    2,
)  # how a prefix used an instant: not so that it is used up; in a closure only; for good


@aside
def take(tables, events, limits, strategy, bind, forbid, frames, top, key, found, n):
    """Push the options a strategy lets a prefix take at one instant, a group for each (event, step).

    Returns the top, the closures continued (a bit each), and how the instant was used.
    """
    forward, several = -1, False  # the event that steps forward, if it is one
    for c in range(n):
        if not further(tables, found, n, c):
            several = several or (forward >= 0 and forward != found[c, 0])
            forward = found[c, 0]
    continued, moved = 0, STAYED
    for c in range(n):
        e, step = found[c, 0], tables.positions[tables.edges[found[c, 1]].target].step
        repeated = False
        b = c - 1
        while b >= 0 and found[b, 0] == e:
            repeated = repeated or tables.positions[tables.edges[found[b, 1]].target].step == step
            b -= 1
        if repeated:
            continue
        only = further(tables, found, n, c)
        if only and strategy == NEXT and (several or (forward >= 0 and forward != e)):
            continue  # another event of this instant takes the step after the closure
        if not only and (strategy == NEXT or tables.positions[tables.edges[found[c, 1]].target].many == 1):
            moved = FORWARD
        elif only:
            moved = max(moved, CLOSURE)
        first = top + 1
        for d in range(c, n):
            edge = found[d, 1]
            target, loop = tables.edges[edge].target, tables.edges[edge].loop
            if found[d, 0] != e or tables.positions[target].step != step:
                continue
            f = found[d, 2]
            if only and loop >= 0:
                continued |= 1 << loop
            ri, rf = frames.ints[f], frames.floats[f]
            if edge_blocked(tables, events, forbid, edge, frames.stack[f].event, e, key, ri, rf):
                continue
            if top + 2 >= limits.budget:
                return -1, continued, moved
            stopped = frames.stack[f].stopped
            if loop >= 0:
                stopped &= (1 << (loop + 1)) - 1  # closures inside this one begin anew
            top += 1
            push(frames, top, e, target, f, edge, stopped, events.after[e], FRESH, ri, rf)
            ask(bind, step, e, events, frames.ints[top], frames.floats[top])
        close_group(frames, first, top + 1)
    return top, continued, moved


@aside
def rest(frames, low, at, top, stopped, since):
    """CLOSURE PREFIXES: the prefix also goes on with these closures stopped."""
    first = top + 1
    for f in range(low, at + 1):
        top += 1
        frame = frames.stack[f]
        push(
            frames, top, frame.event, frame.position, frame.parent, frame.edge, frame.stopped | stopped, since, RESTED,
            frames.ints[f], frames.floats[f],
        )  # fmt: skip
    close_group(frames, first, top + 1)
    return top


@aside
def replaces(tables, events, check, frames, at, e, key, ri, rf):
    """Strategy latest: could event e have been bound instead of the prefix's own event, given what came before?"""
    step, pattern = (
        tables.positions[frames.stack[at].position].step,
        tables.positions[frames.stack[at].position].pattern,
    )
    if not (events.bits[e] >> step) & 1 or (key >= 0 and events.key[e] != key):
        return False
    parent = frames.stack[at].parent
    low = frames.stack[parent].group if parent >= 0 else -1
    end = frames.stack[parent].group_end if parent >= 0 else 0
    for f in range(low, end):
        position = tables.positions[frames.stack[f].position if f >= 0 else -1]
        ints, floats = ri, rf
        if f >= 0:
            ints, floats = frames.ints[f], frames.floats[f]
        for edge in range(position.out_lo, position.out_hi):
            target = tables.edges[edge].target
            if tables.positions[target].step == step and tables.positions[target].pattern == pattern:
                number = tables.positions[target].checked
                if number < 0 or ask(check, number, e, events, ints, floats):
                    return True
    return False


@leaf
def report(tables, events, limits, final, forbid, frames, low, top, run, key, out, edges):
    """Append the match of the prefix to the output if one of its frames may end here."""
    for at in range(low, top + 1):
        ri, rf = frames.ints[at], frames.floats[at]
        if report_frame(tables, events, limits, final, forbid, frames, at, run, key, out, edges, ri, rf):
            break


@leaf
def report_frame(tables, events, limits, final, forbid, frames, at, run, key, out, edges, ri, rf):
    """Append the frame's match and say so, if it may end here."""
    position = frames.stack[at].position
    if not accepts(tables, events, final, position, frames.stack[at].event, ri, rf):
        return False
    n = 0
    f = at
    while f >= 0:
        n += 1
        f = frames.stack[f].parent
    begin = out.fill[1]
    path = out.events[begin : begin + n]
    f = at
    for i in range(n - 1, -1, -1):
        frame = frames.stack[f]
        path[i] = frame.event
        out.steps[begin + i] = tables.positions[frame.position].step
        edges[i] = frame.edge
        f = frame.parent
    if blocked(tables, events, limits, forbid, position, path, edges, n, run, key, ri, rf):
        return False
    out.ends[out.fill[0]] = begin + n
    out.fill[0] += 1
    out.fill[1] += n
    return True


@leaf
def accepts(tables, events, final, position, event, ri, rf):
    """Whether a match may end at the position, as far as its own events say."""
    if tables.positions[position].final_lo == tables.positions[position].final_hi:
        return False
    number = tables.positions[position].final_checked
    return number < 0 or ask(final, number, event, events, ri, rf)


@leaf
def blocked(tables, events, limits, forbid, position, path, edges, n, run, key, ri, rf):
    """Whether something absent from the match occurs, of what only the complete match can tell."""
    return tables.parts.size > 0 and (
        end_blocked(tables, events, limits, forbid, position, path[0], path[n - 1], run, key, ri, rf)
        or late_blocked(tables, events, limits, forbid, path, edges, n, run, key, ri, rf)
    )
