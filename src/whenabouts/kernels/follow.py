"""The match loop of the deterministic strategies: contiguity, skip till next match, latest.

Problem: from every start event, follow the ways the strategy allows until the match can go on no more.
Idea: starts never influence one another, so each is explored alone, depth first, on one small stack of partial matches;
memory is the depth of one match times its branching, never the number of open runs of the stream.
Invariant: a frame on the stack is a prefix of the definition (docs/semantics.md, 6); it is expanded exactly once.
Reference: thesis 2.1.1 (strategies) and 2.2 (runs); specs of imprecise time, N1 to N3, for ties.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from whenabouts.kernels.guards import edge_blocked, end_blocked, late_blocked
from whenabouts.kernels.types import FRAME, Frames, new_output, room, within

NEXT, PARTITION, STRICT, LATEST = 0, 1, 2, 3
FRESH, DONE, RESTED = 0, 1, 2  # frame states: to be expanded; expanded; to be expanded, its prefix already reported
OK, OVER_BUDGET, OVER_LIMIT = 0, 1, 2


def follow(tables, events, limits, strategy, prefixes, check, bind, final, forbid, ri, rf):  # type: ignore[no-untyped-def]
    """All matches of all starts; returns the output and a status."""
    out = new_output(1024)
    size = limits.budget + 1
    frames = Frames(np.empty(size, FRAME), np.empty((size, ri.size), np.int64), np.empty((size, rf.size), np.float64))
    candidates = np.empty(64, np.int64)
    start = tables.positions.size - 1
    for r in range(events.runs.size - 1):
        run = (events.runs[r], events.runs[r + 1])
        for s in range(run[0], run[1]):
            if events.bits[s] & tables.positions[start].out_mask == 0:
                continue
            key = events.key[s] if strategy == STRICT else -1
            for edge in range(tables.positions[start].out_lo, tables.positions[start].out_hi):
                position = tables.edges[edge].target
                if not (events.bits[s] >> tables.positions[position].step) & 1:
                    continue
                number = tables.positions[position].checked
                if number >= 0 and not check(number, s, events.floats, events.ints, ri, rf):
                    continue
                push(frames, 0, s, position, -1, edge, 0, FRESH, ri, rf)
                bind(tables.positions[position].step, s, events.floats, events.ints, frames.ints[0], frames.floats[0])
                top = 0
                while top >= 0:
                    if frames.stack[top].state == DONE:
                        top -= 1
                        continue
                    if prefixes and frames.stack[top].state == FRESH:
                        out = report(tables, events, limits, final, forbid, frames, top, run, key, out)
                    rest = frames.stack[top].state == RESTED
                    frames.stack[top].state = DONE
                    below = top
                    top, candidates, went_on = expand(
                        tables, events, limits, strategy, prefixes, check, bind, forbid, frames, top, run, key, candidates, (ri, rf)
                    )
                    if top < 0:
                        if limits.drop == 0:
                            return out, OVER_BUDGET
                        out.fill[2] += 1
                        break
                    if not (went_on or prefixes or rest):
                        out = report(tables, events, limits, final, forbid, frames, below, run, key, out)
                    if limits.limit >= 0 and out.fill[0] >= limits.limit:
                        return out, OVER_LIMIT
    return out, OK


@njit(cache=True)
def push(frames, at, event, position, parent, edge, stopped, state, ri, rf):  # type: ignore[no-untyped-def]
    frames.stack[at].event = event
    frames.stack[at].position = position
    frames.stack[at].parent = parent
    frames.stack[at].edge = edge
    frames.stack[at].stopped = stopped
    frames.stack[at].state = state
    for i in range(ri.size):
        frames.ints[at, i] = ri[i]
    for i in range(rf.size):
        frames.floats[at, i] = rf[i]


@njit(cache=True)
def expand(tables, events, limits, strategy, prefixes, check, bind, forbid, frames, at, run, key, found, zero):  # type: ignore[no-untyped-def]
    """Push what the frame goes on to. Returns the new top (-1: over budget), scratch space, and whether it went on."""
    top = at
    event, position = frames.stack[at].event, frames.stack[at].position
    mask = tables.positions[position].out_mask
    first = frames.stack[0].event
    replaceable = strategy == LATEST and tables.positions[position].many == 0
    if mask == 0:
        return top, found, False
    own = np.uint64(1) << np.uint64(tables.positions[position].step)
    ri, rf = frames.ints[at], frames.floats[at]
    went_on = False
    j = events.after[event]
    while j < run[1] and within(events, limits, first, j):
        n = 0
        forward, consumed, replaced = -1, strategy != LATEST, False
        end = events.after[j]
        for e in range(j, end):
            bits = events.bits[e]
            if bits & (mask | own) == 0 or (key >= 0 and events.key[e] != key):
                continue
            for edge in range(tables.positions[position].out_lo, tables.positions[position].out_hi):
                target, loop = tables.edges[edge].target, tables.edges[edge].loop
                if not (bits >> tables.positions[target].step) & 1 or (loop >= 0 and (frames.stack[at].stopped >> loop) & 1):
                    continue
                number = tables.positions[target].checked
                if number >= 0 and not check(number, e, events.floats, events.ints, ri, rf):
                    continue
                if 2 * n + 2 > found.size:
                    bigger = np.empty(2 * found.size, np.int64)
                    bigger[: found.size] = found
                    found = bigger
                found[2 * n], found[2 * n + 1] = e, edge
                n += 1
                if loop < 0:
                    forward = e if forward in (-1, e) else -2  # -2: several events step forward
            if replaceable and bits & own != 0:
                replaced = replaced or replaces(tables, events, check, frames, at, e, zero)
        rested = 0
        for c in range(n):
            e, edge = found[2 * c], found[2 * c + 1]
            loop, target = tables.edges[edge].loop, tables.edges[edge].target
            if loop >= 0 and strategy in (NEXT, LATEST) and forward not in (-1, e):
                continue  # another event of this instant takes the step after the closure
            went_on = True
            if tables.positions[target].many == 1:
                consumed = True
            if loop >= 0:
                rested |= 1 << loop
            if edge_blocked(tables, events, forbid, edge, event, e, key, ri, rf):
                continue
            if top + 2 >= limits.budget:
                return -1, found, went_on
            top += 1
            stopped = frames.stack[at].stopped
            if loop >= 0:
                stopped &= (1 << (loop + 1)) - 1  # closures inside this one begin anew
            push(frames, top, e, target, at, edge, stopped, FRESH, ri, rf)
            bind(tables.positions[target].step, e, events.floats, events.ints, frames.ints[top], frames.floats[top])
        if rested != 0 and prefixes and forward == -1:
            top += 1
            push(frames, top, event, position, frames.stack[at].parent, frames.stack[at].edge, frames.stack[at].stopped | rested, RESTED, ri, rf)
        if (n > 0 and consumed) or replaced or strategy in (PARTITION, STRICT):
            break
        j = end
    return top, found, went_on


@njit(cache=True)
def replaces(tables, events, check, frames, at, e, zero):  # type: ignore[no-untyped-def]
    """Strategy latest: could event e have been bound instead of the frame's own event, given the same prefix?"""
    position, parent = frames.stack[at].position, frames.stack[at].parent
    number = tables.positions[position].checked
    if number < 0:
        return True
    if parent < 0:
        return check(number, e, events.floats, events.ints, zero[0], zero[1])
    return check(number, e, events.floats, events.ints, frames.ints[parent], frames.floats[parent])


@njit(cache=True)
def report(tables, events, limits, final, forbid, frames, at, run, key, out):  # type: ignore[no-untyped-def]
    """Append the frame's match to the output if it may end here."""
    position = frames.stack[at].position
    if tables.positions[position].final_lo == tables.positions[position].final_hi:
        return out
    ri, rf = frames.ints[at], frames.floats[at]
    number = tables.positions[position].final_checked
    if number >= 0 and not final(number, frames.stack[at].event, events.floats, events.ints, ri, rf):
        return out
    n = 0
    f = at
    while f >= 0:
        n += 1
        f = frames.stack[f].parent
    out = room(out, n)
    begin = out.fill[1]
    edges = np.empty(n, np.int64)
    path = out.events[begin : begin + n]
    f = at
    for i in range(n - 1, -1, -1):
        path[i] = frames.stack[f].event
        out.steps[begin + i] = tables.positions[frames.stack[f].position].step
        edges[i] = frames.stack[f].edge
        f = frames.stack[f].parent
    if end_blocked(tables, events, limits, forbid, position, path[0], path[n - 1], run, key, ri, rf):
        return out
    if tables.parts.size > 0 and late_blocked(tables, events, limits, forbid, path, edges, n, run, key, ri, rf):
        return out
    out.ends[out.fill[0]] = begin + n
    out.fill[0] += 1
    out.fill[1] += n
    return out
