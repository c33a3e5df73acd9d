"""Confidence of a candidate chain with forbidden regions, as written down: every instant of every member, in fractions.

Given the instants of a chain, the events outside it are independent, so a choice of instants contributes the product of
its masses times, for each event with rows, the mass of that event outside all its regions (spec of imprecise time,
sections 3.2 and 5). Exponential in the members of the chain, and meant to be.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise, product
from typing import NamedTuple

Mass = Mapping[int, Fraction]  # the probability of each instant an event may have happened at


class Row(NamedTuple):
    """The event is not strictly between an instant of node `low` and the first of `high` (see times.Forbidders)."""

    event: int
    low: int
    from_last: bool
    high: int
    closed: bool = False


class Region(NamedTuple):
    """Where an event that has not been seen yet would forbid a match."""

    low: int
    from_last: bool
    high: int


class Node(NamedTuple):
    first: int
    last: int


class Outcome(NamedTuple):
    """What is known of a chain: `first` and `last` of the possible matches, and of each of their nodes."""

    confidence: Fraction
    first: int
    last: int
    nodes: tuple[Node, ...]
    final: float  # no unseen event with this lower bound or a later one matters; -inf: none ever does, inf: all may


def outcome(
    masses: Sequence[Mass],
    chain: Sequence[Sequence[int]],
    rows: Sequence[Row],
    span: int,
    regions: Sequence[Region] = (),
) -> Outcome | None:
    """The confidence of the chain and where it may lie; None if it cannot be a match."""
    confidence, final = Fraction(0), float("-inf")
    reached: list[tuple[Node, ...]] = []
    for nodes, mass in placements(masses, chain, span):
        weight = mass * avoidance(masses, rows, nodes, span)
        if not weight:
            continue
        confidence += weight
        reached.append(nodes)
        for region in regions:
            start, end = bounds(nodes, region, span)
            if end - start >= 2:
                final = max(final, end)
    if not reached:
        return None
    ranges = tuple(
        Node(min(nodes[i].first for nodes in reached), max(nodes[i].last for nodes in reached))
        for i in range(len(chain))
    )
    return Outcome(confidence, ranges[0].first, ranges[-1].last, ranges, final)


def placements(
    masses: Sequence[Mass], chain: Sequence[Sequence[int]], span: int
) -> Iterator[tuple[tuple[Node, ...], Fraction]]:
    """Every way the nodes can lie in order and within the window, with its mass."""
    members = [event for node in chain for event in node]
    for instants in product(*(masses[event].items() for event in members)):
        at = dict(zip(members, (t for t, _ in instants), strict=True))
        nodes = tuple(Node(min(at[e] for e in node), max(at[e] for e in node)) for node in chain)
        ordered = all(a.last < b.first for a, b in pairwise(nodes))
        if ordered and (span < 0 or nodes[-1].last - nodes[0].first <= span):
            mass = Fraction(1)
            for _, share in instants:
                mass *= share
            yield nodes, mass


def bounds(nodes: Sequence[Node], region: Row | Region, span: int) -> tuple[float, float]:
    """The ends of the open interval."""
    start: float
    end: float
    if region.low >= 0:
        start = nodes[region.low].last if region.from_last else nodes[region.low].first
    else:
        start = float("-inf") if span < 0 else nodes[-1].last - span - 1
    if region.high < len(nodes):
        end = nodes[region.high].first + (isinstance(region, Row) and region.closed)
    else:
        end = float("inf") if span < 0 else nodes[0].first + span + 1
    return start, end


def avoidance(masses: Sequence[Mass], rows: Sequence[Row], nodes: Sequence[Node], span: int) -> Fraction:
    """P(no event is in a region of its own)."""
    regions = defaultdict(list)
    for row in rows:
        regions[row.event].append(bounds(nodes, row, span))
    result = Fraction(1)
    for event, forbidden in regions.items():
        allowed = (p for t, p in masses[event].items() if not any(start < t < end for start, end in forbidden))
        result *= sum(allowed, Fraction(0))
    return result
