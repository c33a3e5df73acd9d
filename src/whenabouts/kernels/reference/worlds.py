"""All matches over uncertain time, by enumeration of the possible worlds: the definition, slowly.

Problem: the times of events are independent distributions; say which matches are possible, when, and how probable each
is. Idea: a world gives every event of the table one instant of its support, with the product of their masses. In each
world times are exact, and `matching.match` says what the matches are. A match over uncertain time is a signature: its
confidence adds up the worlds in which it is a match, whatever the order in which it came about there.
Invariant: probabilities are fractions, never rounded; a signature with confidence 0 is not reported.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import TypeAlias

from whenabouts.errors import UnsupportedError
from whenabouts.kernels.reference.linear import linear_of, regions, require_regions
from whenabouts.kernels.reference.matching import Signature, match
from whenabouts.kernels.reference.unordered import match_unordered
from whenabouts.kernels.reference.values import NO_AGGREGATES, Aggregates, Event
from whenabouts.plan.bound import Bound, Extent

Pmf: TypeAlias = Mapping[int, Fraction]  # tick -> mass, positive
Instants: TypeAlias = tuple[int, ...]

DRAWN = "time drawn for this world"  # the column that holds it; a query cannot name it


@dataclass(frozen=True, slots=True)
class UncertainMatch:
    """A signature that is a match in some world.

    `points` are the instants of its events, in the order in which the signature names them, in all those worlds.
    """

    signature: Signature
    confidence: Fraction
    points: frozenset[Instants]

    @property
    def rows(self) -> tuple[int, ...]:
        return tuple(row for _, rows in self.signature for row in rows)

    @property
    def start(self) -> int:
        """The earliest instant of a first event."""
        return min(map(min, self.points))

    @property
    def end(self) -> int:
        """The latest instant of a last event."""
        return max(map(max, self.points))

    @property
    def feasible(self) -> dict[int, frozenset[int]]:
        """For each row the instants it takes."""
        return {row: frozenset(taken) for row, taken in zip(self.rows, zip(*self.points, strict=True), strict=True)}


def match_uncertain(
    bound: Bound,
    events: Sequence[Event],
    pmfs: Sequence[Pmf],
    *,
    aggregates: Aggregates = NO_AGGREGATES,
    closure_as_set: bool = False,
) -> list[UncertainMatch]:
    """All matches of positive confidence, in a canonical order; `pmfs[i]` is the time of row i, in ticks of the query.

    A closure binds a sequence in time order, so that each order is a signature of its own. With `closure_as_set` it
    binds a set, as `unordered` defines it, with its rows in the order of their numbers.
    """
    exact = in_a_world(bound)
    judge = match_unordered if closure_as_set else match
    known: dict[object, list[Signature]] = {}
    confidence: dict[Signature, Fraction] = defaultdict(Fraction)
    points: dict[Signature, set[Instants]] = defaultdict(set)
    for world in product(*pmfs):
        order = order_of(world, bound.extent)
        if order not in known:
            drawn = [{**event, DRAWN: time} for event, time in zip(events, world, strict=True)]
            known[order] = judge(exact, drawn, aggregates)
        if known[order]:
            probability = math.prod((pmf[time] for pmf, time in zip(pmfs, world, strict=True)), start=Fraction(1))
        for signature in known[order]:
            confidence[signature] += probability
            points[signature].add(tuple(world[row] for _, rows in signature for row in rows))
    return [UncertainMatch(s, confidence[s], frozenset(points[s])) for s in sorted(confidence)]


def in_a_world(bound: Bound) -> Bound:
    """The query over the events of a world, whose exact time is a tick in the column DRAWN."""
    schema = bound.schema
    columns = {**schema.columns, DRAWN: replace(schema.time, name=DRAWN)}
    roles = replace(schema.roles, lower=DRAWN, upper=DRAWN, pmf=None)
    return replace(bound, schema=replace(schema, columns=columns, roles=roles), tick=1)


def order_of(world: Instants, extent: Extent | None) -> tuple[Instants, Instants]:
    """All that matching reads of the times of a world: their order, and which of them one window holds."""
    instants = sorted(set(world))
    ranks = {instant: rank for rank, instant in enumerate(instants)}
    span = None if extent is None or extent.events else extent.span
    reach = () if span is None else tuple(bisect_right(instants, instant + span) for instant in instants)
    return tuple(ranks[time] for time in world), reach


def final_tau(bound: Bound, found: UncertainMatch, *, closure_as_set: bool = False) -> float | None:
    """The least tau such that no event whose times are all >= tau can change the match; None if no event can.

    It is infinite where a region without a window reaches to the end of time. Spec of imprecise time, section 5: E2
    over the point matches themselves, which have no region under E1. That conditions may keep events from harming the
    match is not considered. Linear patterns only.
    """
    require_regions(bound)
    if len(bound.query.patterns) > 1:
        raise UnsupportedError("unsupported", "a match of UNION may be final by either of its patterns")
    linear = linear_of(bound.query.patterns[0])
    latest: list[float] = []
    for point in found.points:
        at = dict(zip(found.rows, point, strict=True))
        groups = dict(found.signature)
        times = [sorted(at[row] for row in groups[part.step.name]) for part in linear.parts]
        harmful = regions(bound, linear, times, unordered=closure_as_set)
        latest += [region.high - 1 for region in harmful if region.high - region.low > 1]
    return max(latest) + 1 if latest else None
