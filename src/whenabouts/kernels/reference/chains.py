"""Chains of uncertain times by looking at every possible world (spec of imprecise time, sections 1 to 3).

Problem: what is the confidence of a candidate, and when can its events happen? Idea: give every member one instant of
its distribution, keep the worlds in which the nodes are in strictly increasing order inside the window, and add up.
Invariant: fractions throughout; a world counts exactly if its probability is positive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import NamedTuple

Time = Mapping[int, Fraction]  # instant -> its probability
Chain = Sequence[Sequence[Time]]  # nodes; those with several members are unordered groups


class World(NamedTuple):
    """One instant per member, in order of the nodes."""

    instants: tuple[int, ...]
    probability: Fraction


def worlds(chain: Chain, span: int | None) -> Iterator[World]:
    """The worlds in which the nodes follow one another and the last instant is at most `span` after the first."""
    partial = [World((), Fraction(1))]
    first: dict[tuple[int, ...], int] = {}
    behind: dict[tuple[int, ...], int] = {}  # by instants so far: when the last node was complete
    for node in chain:
        longer = []
        for world in partial:
            for times in product(*(time.items() for time in node)):
                instants = tuple(t for t, _ in times)
                start = first.get(world.instants, min(instants))
                in_order = min(instants) > behind.get(world.instants, min(instants) - 1)
                if in_order and (span is None or max(instants) - start <= span):
                    probability = world.probability
                    for _, p in times:
                        probability *= p
                    if probability > 0:
                        longer.append(World(world.instants + instants, probability))
                        first[longer[-1].instants] = start
                        behind[longer[-1].instants] = max(instants)
        partial = longer
    yield from partial


def confidence(chain: Chain, span: int | None) -> Fraction:
    return sum((world.probability for world in worlds(chain, span)), Fraction(0))


def ranges(chain: Chain, span: int | None) -> list[tuple[int, int]] | None:
    """The first and last possible instant of every member; None if the chain is impossible."""
    instants = [world.instants for world in worlds(chain, span)]
    return [(min(column), max(column)) for column in zip(*instants, strict=True)] if instants else None


def expected_total(classes: Sequence[Sequence[tuple[Time, Fraction]]], span: int | None) -> Fraction:
    """The mean sum, over all chains of one event of each class, of the product of their values; with 1 their number."""
    found = Fraction(0)
    for chosen in product(*classes):
        found += prod(value for _, value in chosen) * confidence([[time] for time, _ in chosen], span)
    return found
