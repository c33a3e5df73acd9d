"""How many increasing tuples there are: exactly, in integers, on clocks of any granularity, without whenabouts."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple


class Weights(NamedTuple):
    """The relative probability of an event at `lower`, `lower` + 1, .."""

    lower: int
    weights: Sequence[int]

    @classmethod
    def uniform(cls, lower: int, upper: int) -> "Weights":
        return cls(lower, [1] * (upper - lower + 1))


def counted(events: Sequence[Weights], span: int) -> int:
    """The sum of the products of weights over t_1 < t_2 < .., last - first <= span (-1: any), tick by tick."""
    low = min(event.lower for event in events)
    end = max(event.lower + len(event.weights) for event in events)
    columns = [[0] * (e.lower - low) + [*e.weights] + [0] * (end - e.lower - len(e.weights)) for e in events]
    if span < 0:
        return sum(_following(columns[0], columns[1:]))
    found = 0
    for start, weight in enumerate(columns[0]):
        if weight:
            alone = [0] * start + [weight] + [0] * (end - low - start - 1)
            found += sum(_following(alone, columns[1:])[: start + span + 1])
    return found


def _following(first: list[int], columns: Sequence[list[int]]) -> list[int]:
    """Sums by the instant of the last event."""
    ways = first
    for column in columns:
        ways = [w * before for w, before in zip(column, accumulate(ways[:-1], initial=0), strict=True)]
    return ways


def interpolated(points: Sequence[tuple[int, int]], x: int) -> Fraction:
    """The value at x of the polynomial through the points (Lagrange)."""
    value = Fraction(0)
    for i, (xi, yi) in enumerate(points):
        term = Fraction(yi)
        for j, (xj, _) in enumerate(points):
            if i != j:
                term *= Fraction(x - xj, xi - xj)
        value += term
    return value


def scaled(units: Sequence[tuple[int, int]], reach: int, extra: int, ticks: int) -> tuple[list[tuple[int, int]], int]:
    """Intervals of whole units, and a window of `reach` units and `extra` ticks (reach -1: none), on a finer clock.

    The number of increasing tuples is a polynomial in `ticks`, of the degree of the number of intervals, once a unit
    has more ticks than there are intervals and extra ticks: the constraints are differences, whose corners are whole.
    """
    bounds = [(a * ticks, (b + 1) * ticks - 1) for a, b in units]
    return bounds, -1 if reach < 0 else reach * ticks + extra
