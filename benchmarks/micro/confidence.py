"""Confidence of chains of six uncertain events on clocks of 20 to 15,000,000 ticks per event: time per candidate."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.increasing import Weights, counted, interpolated, scaled
from benchmarks.measure import Scale
from whenabouts.kernels.signatures import compiled
from whenabouts.kernels.uncertain.chain import confidences
from whenabouts.kernels.uncertain.signatures import CONFIDENCES
from whenabouts.kernels.uncertain.times import Chains, Times, times_of
from whenabouts.kernels.uncertain.window import CHEAPEST

NAME = "confidence"
SIZES: dict[Scale, int] = {"tiny": 200, "full": 20_000}
LENGTH = 6
UNITS = 2  # an event lasts two units; bounds and windows are whole units
WINDOW = 4
GRANULARITIES = (20, 1_000, 15_000_000)  # ticks per event
PROFILE = 20  # ticks of an event whose probabilities are all different
SAMPLE = 10  # so many answers are checked per variant
SUPPORT = range(10, 11 + LENGTH)


@dataclass(frozen=True)
class Candidates:
    """Chain m has the events LENGTH*m .. of all clocks; lower bounds are in units."""

    lower: NDArray[np.int64]
    weights: NDArray[np.int64]  # per event and tick, for the variants with a profile
    times: dict[int, Times]  # by ticks per event; 0: with a profile
    chains: Chains

    def __len__(self) -> int:
        return self.chains.ends.size


def load(scale: Scale) -> Candidates:
    rng, n = np.random.default_rng(1), SIZES[scale]
    lower = np.sort(rng.integers(0, 5, (n, LENGTH)), axis=1).ravel()
    weights = rng.integers(1, 9, (n * LENGTH, PROFILE))
    times = {ticks: times_of(*_bounds(lower, ticks)) for ticks in GRANULARITIES} | {0: _profile(lower, weights)}
    nodes = np.arange(1, n * LENGTH + 1)
    chains = Chains(np.arange(LENGTH, n * LENGTH + 1, LENGTH), nodes, (nodes - 1).astype(np.int32))
    return Candidates(lower, weights, times, chains)


def _bounds(lower: NDArray[np.int64], ticks: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return lower * (ticks // UNITS), (lower + UNITS) * (ticks // UNITS) - 1


def _profile(lower: NDArray[np.int64], weights: NDArray[np.int64]) -> Times:
    first, last = _bounds(lower, PROFILE)
    mass = weights / weights.sum(axis=1, keepdims=True)
    return Times(
        first,
        last,
        np.arange(0, mass.size + 1, PROFILE),
        (first[:, None] + np.arange(PROFILE)).ravel(),
        mass.ravel(),
        (np.cumsum(mass, axis=1) - mass).ravel(),
        (np.cumsum(mass[:, ::-1], axis=1)[:, ::-1] - mass).ravel(),
    )


@dataclass(frozen=True)
class Asked:
    """A variant: ticks per event, 0 for the profile; the window in units, -1 for none."""

    ticks: int
    window: int

    @property
    def unit(self) -> int:
        return (self.ticks or PROFILE) // UNITS

    @property
    def span(self) -> int:
        return -1 if self.window < 0 else self.window * self.unit


def ask(asked: Asked, data: Candidates) -> tuple[Asked, NDArray[np.float64]]:
    return asked, compiled(confidences, CONFIDENCES)(data.times[asked.ticks], data.chains, asked.span, CHEAPEST)


def _name(asked: Asked) -> str:
    clock = f"{asked.ticks:,} ticks" if asked.ticks else f"{PROFILE} ticks, profile"
    return clock if asked.window < 0 else f"{clock}, window"


VARIANTS: dict[str, Callable[[Candidates], Any]] = {
    _name(asked): partial(ask, asked)
    for asked in (Asked(ticks, window) for ticks in (*GRANULARITIES, 0) for window in (-1, WINDOW))
}


def check(data: Candidates, answer: tuple[Asked, NDArray[np.float64]]) -> None:
    asked, found = answer
    for m in range(SAMPLE):
        wanted = _exact(data, asked, m)
        if abs(Fraction(float(found[m])) - wanted) > wanted / 10**12:
            raise AssertionError(f"{_name(asked)}: {found[m]} instead of {float(wanted)}")


def _exact(data: Candidates, asked: Asked, m: int) -> Fraction:
    """The confidence of chain m, from the number of increasing tuples."""
    places = range(m * LENGTH, (m + 1) * LENGTH)
    if asked.ticks == 0:
        events = [Weights(int(data.lower[i]) * asked.unit, data.weights[i].tolist()) for i in places]
        return Fraction(counted(events, asked.span), prod(sum(e.weights) for e in events))
    units = [(int(data.lower[i]), int(data.lower[i]) + UNITS - 1) for i in places]

    def at(ticks: int) -> int:
        bounds, span = scaled(units, asked.window, 0, ticks)
        return counted([Weights.uniform(*b) for b in bounds], span)

    tuples = interpolated([(ticks, at(ticks)) for ticks in SUPPORT], asked.unit)
    return tuples / asked.ticks**LENGTH
