"""The point-based engine: uncertain events as point events, matched by the engine for exact time.

Problem: a second way to the same answers, which shares neither the search for candidates nor the calculus of
confidences with the event-based one. Idea: an event becomes one point per tick of positive mass, and the matcher of
exact time finds all point matches of the positive part under skip till any match. Those that use an event twice are
dropped; the others are grouped into chains. A point match has the product of its masses, times the probability that
each event that could spoil it is at a tick where it does not; a chain has the sum over its point matches.
Reference: the point-based framework of the VLDB 2010 paper, sections 4 and 5; spec of imprecise time, section 1.
Invariant: everything is looked at tick by tick and nothing is left out, so the cost grows with the ticks of a match.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types

from whenabouts.errors import BudgetError
from whenabouts.kernels.batch import Batch
from whenabouts.kernels.lower import Lowered, initial_registers
from whenabouts.kernels.program import F64, I64, Tables
from whenabouts.kernels.run import Budget, matches
from whenabouts.kernels.signatures import CONDITION_TYPE, EVENTS, FLOATS, INTS, TABLES, UPDATE_TYPE, compiled
from whenabouts.kernels.types import Events, Output, aside, ask, instants
from whenabouts.kernels.uncertain.run import AT_ONCE, NEVER, Possible, is_disturbed
from whenabouts.kernels.uncertain.times import EXACT, Times
from whenabouts.plan.bound import Bound
from whenabouts.plan.pattern import Strategy

MOST_POINTS = 2_000_000
FAR = 1 << 62
FREE, OPEN, CLOSED = 0, 1, 2  # a gap: an event may be in it; may not; may not be at its end either
BEYOND = 1e-9  # sums of masses exceed 1 by no more


class Points(NamedTuple):
    """Event e is at tick[k] with probability mass[k], for first[e] <= k < first[e+1], in ascending order."""

    first: I64
    tick: I64
    mass: F64


class Family(NamedTuple):
    """The chains of one length: chain c has the point matches ends[c-1]..ends[c]-1. Entries of a row in time order."""

    events: I64  # [chain, place]
    edges: I64  # [chain, place]: how the automaton takes the event
    ends: I64
    points: I64  # [point match, place]


def point_count(times: Times) -> int:
    """How many ticks have mass, over all events."""
    return int(_widths(times).sum(dtype=np.float64))


def points_of(times: Times) -> Points:
    """Every tick of positive mass as a point."""
    widths, total = _widths(times), point_count(times)
    if total > MOST_POINTS:
        raise BudgetError(
            "budget",
            f"the events have {total:,} instants; point-based evaluation takes {MOST_POINTS:,} at most",
            hint='use evaluation="auto", which does not count instants, or a coarser granularity="…"',
        )
    which = np.repeat(np.arange(widths.size), widths)
    tick = times.start[which] + np.arange(total) - (np.cumsum(widths) - widths)[which]
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(widths)])
    return Points(ends[times.first], tick, times.mass[which])


def _widths(times: Times) -> I64:
    """The ticks of each segment that has mass."""
    stop = np.empty_like(times.start)
    stop[:-1] = times.start[1:]
    stop[times.first[1:] - 1] = times.upper + 1
    return np.where(times.mass > 0.0, stop - times.start, 0)


def point_matches(
    bound: Bound, lowered: Lowered, batch: Batch, budget: Budget, aggregates: Mapping[str, Any], *, least: float = 0.0
) -> Possible:
    """All chains that are a match with positive confidence, and with at least this one."""
    times: Any = batch.times
    points = points_of(times)
    judged = [_NOTHING]
    for family, steps in _families(bound, lowered, batch, points, budget, aggregates):
        one = _judged(bound, lowered, batch, points, family, steps, aggregates)
        kept = np.flatnonzero((one.confidence > 0.0) & (one.confidence >= least))
        judged.append(_Judged(*(column[kept] for column in one)))
    events, steps, earliest, latest, confidence, final = (
        np.concatenate([column.ravel() for column in columns]) for columns in zip(*judged, strict=True)
    )
    sizes = np.concatenate([np.full(one.final.size, one.events.shape[1]) for one in judged])
    fill = np.array([final.size, events.size, 0, 0])
    output = Output(np.cumsum(sizes), events.astype(np.int32), steps.astype(np.uint8), fill)
    kind = np.full(final.size, EXACT, np.uint8)
    return Possible(output, confidence, np.zeros(final.size), kind, earliest, latest, final)


# --- point matches ---------------------------------------------------------------------------------------------------


def _families(
    bound: Bound, lowered: Lowered, batch: Batch, points: Points, budget: Budget, aggregates: Mapping[str, Any]
) -> Iterator[tuple[Family, I64]]:
    """The chains with their steps, by length, with all their point matches."""
    program = lowered.program
    point_batch, owner, source = _as_points(batch, points, program.bound_steps)
    positive = replace(bound, query=replace(bound.query, strategy=Strategy.ANY))
    without = replace(lowered, program=replace(program, tables=_without_absent_parts(program.tables)))
    try:  # a start given up would be missing from the sums, not from the matches: drop is no choice here
        out = matches(positive, without, point_batch, replace(budget, drop=False), None, aggregates)
    except BudgetError as error:
        raise BudgetError(
            "budget",
            f"point-based evaluation: {error.message}",
            hint='use evaluation="auto", which lists no point matches',
        ) from error
    count = int(out.fill[0])
    ends = out.ends[:count]
    begins = np.concatenate([np.zeros(1, np.int64), ends])[:count]
    for length in np.unique(ends - begins):
        at = begins[ends - begins == length, None] + np.arange(length)
        used, steps = out.events[at], out.steps[at].astype(np.int64)
        ordered = np.sort(owner[used], axis=1)
        once = (ordered[:, 1:] != ordered[:, :-1]).all(axis=1)
        used, steps = used[once], steps[once]
        chains, chain = np.unique(np.hstack([owner[used], steps]), axis=0, return_inverse=True)
        if not len(chains):
            continue
        chain = chain.reshape(-1)
        by_chain = np.argsort(chain, kind="stable")
        steps = chains[:, length:]
        family = Family(
            np.ascontiguousarray(chains[:, :length]),
            _edges_of(program.tables, steps),
            np.cumsum(np.bincount(chain)),
            np.ascontiguousarray(source[used[by_chain]]),
        )
        yield family, steps


def _as_points(batch: Batch, points: Points, bound_steps: int) -> tuple[Batch, I64, I64]:
    """A batch of the points that can be a step of a match; the event and the point that each of its events is."""
    events = batch.events
    owner = np.repeat(np.arange(events.time.size), np.diff(points.first))
    run = np.repeat(np.arange(events.runs.size - 1), np.diff(events.runs))[owner]
    bits = events.bits[owner] & np.uint64((1 << bound_steps) - 1)
    some = np.flatnonzero(bits)
    source = some[np.lexsort((points.tick[some], run[some]))]
    owner, time = owner[source], points.tick[source]
    runs = np.searchsorted(run[source], np.arange(events.runs.size)).astype(np.int64)
    instant, after = instants(time, runs)
    columns = (np.take(events.floats, owner, axis=1), np.take(events.ints, owner, axis=1))
    arrays = Events(time, bits[source], np.take(events.key, owner), runs, instant, after, *columns)
    return Batch(arrays, batch.rows[owner], ()), owner, source


def _without_absent_parts(tables: Tables) -> Tables:
    """The automaton of the positive part: what must be absent is a matter of probability."""
    edges, ways = tables.edges.copy(), tables.ways.copy()
    for name, value in (("guard_lo", 0), ("guard_hi", 0), ("asks", 0), ("plain", 1)):
        edges[name] = value
    ways["lo"] = ways["hi"] = 0
    nothing = np.zeros(0, np.int64)
    return tables._replace(
        edges=edges, ways=ways, guards=nothing, final_guards=nothing, parts=tables.parts[:0], absent_bits=nothing
    )


def _edges_of(tables: Tables, steps: I64) -> I64:
    """For each row of steps the edges of the only accepting way that binds them."""
    distinct, row = np.unique(steps, axis=0, return_inverse=True)
    ways = np.array([_way(tables, way) for way in distinct], np.int64).reshape(distinct.shape)
    return np.ascontiguousarray(ways[row.reshape(-1)])


def _way(tables: Tables, steps: I64) -> list[int]:
    positions, edges = tables.positions, tables.edges
    start = len(positions) - 1
    levels: list[dict[int, int]] = [{start: -1}]  # position -> the edge it was reached by
    for step in steps:
        levels.append({
            int(edges["target"][edge]): edge
            for p in levels[-1]
            for edge in range(positions["out_lo"][p], positions["out_hi"][p])
            if positions["step"][edges["target"][edge]] == step
        })  # fmt: skip
    (at,) = (p for p in levels[-1] if positions["final_lo"][p] < positions["final_hi"][p])
    way = []
    for level in reversed(levels[1:]):
        way.append(level[at])
        at = int(edges["source"][way[-1]])
    return way[::-1]


# --- confidences and ranges ------------------------------------------------------------------------------------------


class _Judged(NamedTuple):
    """Chains of one length: four matrices with a row per chain, and a number per chain."""

    events: Any
    steps: Any
    earliest: Any
    latest: Any
    confidence: Any
    final: Any


_none = np.zeros((0, 1), np.int64)
_NOTHING = _Judged(_none, _none, _none, _none, np.zeros(0), np.zeros(0, np.int64))


def _judged(
    bound: Bound,
    lowered: Lowered,
    batch: Batch,
    points: Points,
    family: Family,
    steps: I64,
    aggregates: Mapping[str, Any],
) -> _Judged:
    """What the point matches of each chain add up to."""
    ticks = points.tick[family.points]
    weight = points.mass[family.points].prod(axis=1)
    final = np.full(weight.size, AT_ONCE, np.int64)
    if is_disturbed(bound, lowered):
        c, span = lowered.conditions, -1 if bound.extent is None else bound.extent.span
        selective = int(bound.query.strategy is Strategy.NEXT)
        undisturbed, final = compiled(spared, SPARED)(
            lowered.program.tables, batch.events, points, family, span, selective, c.check, c.bind, c.forbid,
            *initial_registers(lowered, aggregates),
        )  # fmt: skip
        weight *= undisturbed
    begins = np.concatenate([np.zeros(1, np.int64), family.ends[:-1]])
    possible = weight > 0.0
    total = np.add.reduceat(weight, begins)
    return _Judged(
        family.events,
        steps,
        np.minimum.reduceat(np.where(possible[:, None], ticks, FAR), begins),
        np.maximum.reduceat(np.where(possible[:, None], ticks, -FAR), begins),
        np.where((total > 1.0) & (total < 1.0 + BEYOND), 1.0, total),
        np.maximum.reduceat(np.where(possible, final, AT_ONCE), begins),
    )


def spared(tables, events, points, family, span, selective, check, bind, forbid, ri, rf):
    """For each point match: how likely no event spoils it, and from which tick on nothing unseen can."""
    size, length = family.points.shape
    spare, final = np.ones(size), np.full(size, AT_ONCE, np.int64)
    ints, floats = np.empty((length + 1, ri.size), np.int64), np.empty((length + 1, rf.size))
    ints[0, :], floats[0, :] = ri, rf
    gaps = np.zeros(length + 1, np.int64)
    begin = 0
    for c in range(family.ends.size):
        end = family.ends[c]
        remember(tables, events, bind, family, c, ints, floats)
        for m in range(begin, end):
            final[m] = closes(tables, points, family, c, m, span, selective)
        r = np.searchsorted(events.runs, family.events[c, 0], side="right")
        for x in range(events.runs[r - 1], events.runs[r]):
            if spoils(tables, events, family, c, x, selective, check, forbid, ints, floats, gaps):
                for m in range(begin, end):
                    spare[m] *= outside(points, family, m, x, gaps, span)
        begin = end
    return spare, final


@aside
def remember(tables, events, bind, family, c, ints, floats):
    """The registers of every prefix: row n is that of the first n events."""
    for i in range(family.edges.shape[1]):
        for k in range(ints.shape[1]):
            ints[i + 1, k] = ints[i, k]
        for k in range(floats.shape[1]):
            floats[i + 1, k] = floats[i, k]
        step = tables.positions[tables.edges[family.edges[c, i]].target].step
        ask(bind, step, family.events[c, i], events, ints[i + 1], floats[i + 1])


@aside
def spoils(tables, events, family, c, x, selective, check, forbid, ints, floats, gaps):
    """In which gaps event x must not be; gap n is before event n, the last one behind all. False: in none."""
    length = family.edges.shape[1]
    for i in range(length):
        if family.events[c, i] == x:
            return False
    some = False
    for gap in range(length + 1):
        gaps[gap] = FREE
        if selective == 1 and gap > 0:
            gaps[gap] = is_relevant(tables, events, family, c, x, gap, check, ints, floats)
        if gaps[gap] == FREE and is_absent(tables, events, family, c, x, gap, forbid, ints, floats):
            gaps[gap] = OPEN
        some = some or gaps[gap] != FREE
    return some


@aside
def is_relevant(tables, events, family, c, x, gap, check, ints, floats):
    """Whether the events before the gap could go on with x; CLOSED: x would step forward where the chain does not."""
    position = tables.positions[tables.edges[family.edges[c, gap - 1]].target]
    further = gap < family.edges.shape[1] and tables.edges[family.edges[c, gap]].loop >= 0
    found = FREE
    for edge in range(position.out_lo, position.out_hi):
        target = tables.positions[tables.edges[edge].target]
        if (events.bits[x] >> target.step) & 1 and (
            target.checked < 0 or ask(check, target.checked, x, events, ints[gap], floats[gap])
        ):
            found = max(found, CLOSED if further and tables.edges[edge].loop < 0 else OPEN)
    return found


@aside
def is_absent(tables, events, family, c, x, gap, forbid, ints, floats):
    """Whether x is an event that must be absent from the gap."""
    length = family.edges.shape[1]
    guards = tables.guards
    if gap < length:
        edge = tables.edges[family.edges[c, gap]]
        low, high = edge.guard_lo, edge.guard_hi
    else:
        way = tables.ways[tables.positions[tables.edges[family.edges[c, gap - 1]].target].final_lo]
        guards, low, high = tables.final_guards, way.lo, way.hi
    for g in range(low, high):
        part = tables.parts[guards[g]]
        bit = tables.absent_bits[part.lo]
        known = length if part.late == 1 else gap
        if (events.bits[x] >> bit) & 1 and (
            tables.asks[bit] < 0 or ask(forbid, tables.asks[bit], x, events, ints[known], floats[known])
        ):
            return True
    return False


@aside
def opening(points, family, m, gap, span):
    """The tick at which the gap begins, itself not in it."""
    if gap > 0:
        return points.tick[family.points[m, gap - 1]]
    return -FAR if span < 0 else points.tick[family.points[m, family.points.shape[1] - 1]] - span - 1


@aside
def closing(points, family, m, gap, span):
    """The tick at which the gap ends."""
    if gap < family.points.shape[1]:
        return points.tick[family.points[m, gap]]
    return FAR if span < 0 else points.tick[family.points[m, 0]] + span + 1


@aside
def outside(points, family, m, x, gaps, span):
    """The probability that x is in none of its gaps."""
    mass = 0.0
    for k in range(points.first[x], points.first[x + 1]):
        t = points.tick[k]
        free = True
        for gap in range(gaps.size):
            if gaps[gap] != FREE and opening(points, family, m, gap, span) < t:
                end = closing(points, family, m, gap, span)
                free = free and (t > end if gaps[gap] == CLOSED else t >= end)
        if free:
            mass += points.mass[k]
    return mass


@aside
def closes(tables, points, family, c, m, span, selective):
    """From which tick on an event that nobody has seen yet cannot spoil the point match."""
    length = family.edges.shape[1]
    final = AT_ONCE
    for gap in range(length + 1):
        if gap < length:
            edge = tables.edges[family.edges[c, gap]]
            watched = edge.guard_lo < edge.guard_hi
        else:
            way = tables.ways[tables.positions[tables.edges[family.edges[c, gap - 1]].target].final_lo]
            watched = way.lo < way.hi
        end = gap
        if selective == 1 and gap > 0:
            position = tables.positions[tables.edges[family.edges[c, gap - 1]].target]
            watched = watched or position.out_mask != 0
            while position.out_mask != 0 and end < length and tables.edges[family.edges[c, end]].loop >= 0:
                end += 1  # a step forward would end the closure, also at the instants of its further elements
        if watched and end == length and span < 0:
            return NEVER
        last = closing(points, family, m, end, span)
        if watched and last - opening(points, family, m, gap, span) >= 2:
            final = max(final, last)
    return final


_i, _matrix = np.zeros(1, np.int64), np.zeros((1, 1), np.int64)
POINTS = typeof(Points(_i, _i, np.zeros(1)))
FAMILY = typeof(Family(_matrix, _matrix, _i, _matrix))
SPARED = types.Tuple((FLOATS, INTS))(
    TABLES, EVENTS, POINTS, FAMILY, types.int64, types.int64, CONDITION_TYPE, UPDATE_TYPE, CONDITION_TYPE, INTS, FLOATS
)
