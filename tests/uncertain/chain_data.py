"""Random uncertain times and chains, for the reference (fractions) and for the kernels (arrays)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from whenabouts.kernels.reference.chains import Chain, Time
from whenabouts.kernels.uncertain.times import Chains, Times


class Segment(NamedTuple):
    """Ticks start..end with this weight each; weights are relative."""

    start: int
    end: int
    weight: int


Segments = Sequence[Segment]


def uniform(lower: int, upper: int) -> Segments:
    return [Segment(lower, upper, 1)]


def total(segments: Segments) -> int:
    return sum(s.weight * (s.end - s.start + 1) for s in segments)


def pmf(segments: Segments) -> Time:
    weight = total(segments)
    return {t: Fraction(s.weight, weight) for s in segments if s.weight for t in range(s.start, s.end + 1)}


def tick_by_tick(segments: Segments) -> Segments:
    return [Segment(t, t, s.weight) for s in segments for t in range(s.start, s.end + 1)]


def arrays(events: Sequence[Segments]) -> Times:
    """The events as the kernels see them; masses before and behind are added from either end."""
    first = np.cumsum([0, *(len(e) for e in events)])
    mass = [[s.weight / total(e) for s in e] for e in events]
    area = [[m * (s.end - s.start + 1) for m, s in zip(ms, e, strict=True)] for ms, e in zip(mass, events, strict=True)]
    return Times(
        np.array([e[0].start for e in events], np.int64),
        np.array([e[-1].end for e in events], np.int64),
        first.astype(np.int64),
        np.array([s.start for e in events for s in e], np.int64),
        np.array([m for ms in mass for m in ms], np.float64),
        np.array([sum(a[:i]) for a in area for i in range(len(a))], np.float64),
        np.array([sum(a[:i:-1]) for a in area for i in range(len(a))], np.float64),
    )


def one_chain(sizes: Sequence[int]) -> Chains:
    """A chain of the events 0, 1, .. in order, in nodes of these sizes."""
    ends = np.cumsum(sizes).astype(np.int64)
    return Chains(np.array([len(sizes)]), ends, np.arange(ends[-1], dtype=np.int32))


def nodes_of(events: Sequence[Segments], sizes: Sequence[int]) -> Chain:
    rest = [pmf(e) for e in events]
    return [[rest.pop(0) for _ in range(size)] for size in sizes]


def random_segments(rng: random.Random, start: int, *, holes: bool = True, longest: int = 5) -> Segments:
    """A few segments of different weight; holes stand between two others."""
    count = rng.randint(1, 3)
    found = []
    for i in range(count):
        end = start + rng.randint(0, max(1, longest // count) - 1)
        hole = holes and 0 < i < count - 1 and rng.random() < 0.5
        found.append(Segment(start, end, 0 if hole else rng.randint(1, 4)))
        start = end + 1
    return found


class Case(NamedTuple):
    """A chain and its window; span -1: none."""

    events: Sequence[Segments]
    sizes: Sequence[int]
    span: int

    @property
    def within(self) -> int | None:
        return None if self.span < 0 else self.span

    @property
    def chain(self) -> Chain:
        return nodes_of(self.events, self.sizes)


def random_case(rng: random.Random, *, groups: bool = False, holes: bool = True) -> Case:
    sizes = [rng.randint(1, 3) if groups else 1 for _ in range(rng.randint(1, 3 if groups else 6))]
    while sum(sizes) > 6:
        sizes.pop()
    pace = rng.choice((0, 1, 2, 4) if groups else (0, 1, 2))
    events = []
    for node, size in enumerate(sizes):
        for _ in range(size):
            start = pace * node + rng.randint(0, 3)
            longest = 4 if sum(sizes) > 4 else 6
            events.append(random_segments(rng, start, holes=holes, longest=longest))
    reach = pace * len(sizes) + 6
    return Case(events, sizes, rng.choice((-1, rng.randint(0, reach), rng.randint(len(sizes) - 1, reach), 100)))


def same(found: float, wanted: Fraction) -> bool:
    """Equal up to rounding; 0 only if impossible."""
    return abs(Fraction(found) - wanted) <= wanted * Fraction(1, 10**12)
