"""Uncertain times as segments of constant mass per tick.

Problem: a time is a closed interval of ticks with a distribution on it: uniform over millions of ticks, a histogram, a
bell, one number per tick. Idea: keep runs of ticks with equal mass, so that a uniform time is one segment whatever the
clock. Every function makes all events at once; nothing loops over events.
Invariant (spec of imprecise time, sections 1 and 11): bounds have mass; the masses before and behind a segment are
added up from either end, never obtained as 1 - x; what was given is never renormalised.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from whenabouts.events.schema import Shape
from whenabouts.timeline.shapes import mass_of_half

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]

MOST_SEGMENTS = 64  # of a shape other than uniform: one per tick up to here, beyond that this many of equal width
TOLERANCE = 1e-9  # how far the masses of a list may be from adding up to 1


class Segments(NamedTuple):
    """Event e has the segments first[e]..first[e+1]-1, in time order and without gaps from lower[e] to upper[e]."""

    lower: I64
    upper: I64
    first: I64
    start: I64  # first tick
    mass: F64  # per tick; 0 only between two others (a hole)
    before: F64
    behind: F64


class Bins(NamedTuple):
    """Event e has the bins first[e]..first[e+1]-1 (at least one), side by side from tick lower[e] on."""

    lower: I64
    first: I64
    ticks: I64  # how many
    mass: F64  # of the whole bin


class Lists(NamedTuple):
    """Event e has the numbers values[first[e]] to values[first[e+1]-1]; perhaps none."""

    first: I64
    values: F64

    @property
    def counts(self) -> I64:
        return np.diff(self.first)


def uniform(lower: I64, upper: I64) -> Segments:
    """Every tick from lower to upper is equally likely."""
    n, ticks = lower.size, (upper - lower + 1).astype(np.float64)
    nothing = np.zeros(n)
    return Segments(lower, upper, np.arange(n + 1, dtype=np.int64), lower.copy(), 1.0 / ticks, nothing, nothing.copy())


def shaped(shape: Shape, lower: I64, upper: I64, peak: I64 | None = None) -> Segments:
    """A shape laid over the ticks from lower to upper, its peak in the middle of the tick `peak` or of the interval.

    A segment has exactly the mass of the shape over its ticks. Up to MOST_SEGMENTS ticks that is one segment per tick;
    longer intervals are cut into MOST_SEGMENTS parts that differ in width by at most one tick.
    """
    if shape.kind == "uniform":
        return uniform(lower, upper)
    ticks = upper - lower + 1
    twice = ticks if peak is None else 2 * (peak - lower) + 1  # the distance of the peak from the left edge, doubled
    some, which = _distinct(ticks, twice)
    own = segments_of(_bins_of(shape, ticks[some], twice[some]))
    moved = taken(own, which)
    shift = np.repeat(lower, np.diff(moved.first))
    return moved._replace(lower=moved.lower + lower, upper=moved.upper + lower, start=moved.start + shift)


def listed(lower: I64, upper: I64, tick: int, lists: Lists) -> Segments:
    """Equal bins with the given masses on the closed intervals lower..upper, in units of the clock, `tick` per tick.

    A list whose length divides the number of ticks touched has bins of whole ticks. Otherwise its length must divide
    the number of units; its bins are then summed into ticks, each spread evenly over its units.
    """
    counts = np.maximum(lists.counts, 1)
    first_tick = lower // tick
    ticks = upper // tick - first_tick + 1
    whole = ticks % counts == 0
    origin = np.where(whole, first_tick * tick, lower)
    width = np.where(whole, ticks // counts * tick, (upper - lower + 1) // counts)
    if not (origin % tick).any() and not (width % tick).any():
        return segments_of(Bins(origin // tick, lists.first, np.repeat(width // tick, lists.counts), lists.values))
    return segments_of(_summed_into_ticks(origin, width, tick, lists))


def wrong_length(lower: I64, upper: I64, tick: int, counts: I64) -> npt.NDArray[np.bool_]:
    """Which lists `listed` cannot lay over their intervals."""
    divisor = np.maximum(counts, 1)
    ticks = upper // tick - lower // tick + 1
    return (counts == 0) | ((ticks % divisor != 0) & ((upper - lower + 1) % divisor != 0))


def wrong_masses(lists: Lists) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Which lists hold something that is no mass, and which do not add up to 1; an empty list does neither."""
    filled = np.flatnonzero(lists.counts)
    heads = lists.first[filled]
    strange, unfinished = np.zeros(lists.counts.size, np.bool_), np.zeros(lists.counts.size, np.bool_)
    if filled.size:
        is_mass = np.isfinite(lists.values) & (lists.values >= 0)
        strange[filled] = ~np.logical_and.reduceat(is_mass, heads)
        sums = np.add.reduceat(np.where(is_mass, lists.values, 0.0), heads)
        unfinished[filled] = np.abs(sums - 1.0) > TOLERANCE
    return strange, unfinished & ~strange


def taken(segments: Segments, which: I64) -> Segments:
    """The events `which`, in that order, repetitions included."""
    counts = np.diff(segments.first)[which]
    first = _ends(counts)
    at = np.repeat(segments.first[which] - first[:-1], counts) + np.arange(first[-1])
    own = (segments.start[at], segments.mass[at], segments.before[at], segments.behind[at])
    return Segments(segments.lower[which], segments.upper[which], first, *own)


# ---------------------------------------------------------------- bins -> segments


def segments_of(bins: Bins) -> Segments:
    """Drop the empty bins at both ends, join neighbours of equal mass per tick, add up from both ends."""
    n, size = bins.lower.size, bins.ticks.size
    event = np.repeat(np.arange(n), np.diff(bins.first))
    at, heads = np.arange(size), bins.first[:-1]
    opens = np.minimum.reduceat(np.where(bins.mass > 0, at, size), heads) if n else heads
    closes = np.maximum.reduceat(np.where(bins.mass > 0, at, -1), heads) if n else heads
    before = np.cumsum(bins.ticks) - bins.ticks
    start = bins.lower[event] + (before - before[heads][event])
    kept = np.flatnonzero((at >= opens[event]) & (at <= closes[event]))
    event, per_tick = event[kept], bins.mass[kept] / bins.ticks[kept]
    joins = np.zeros(kept.size, np.bool_)
    joins[1:] = (event[1:] == event[:-1]) & (per_tick[1:] == per_tick[:-1])
    parts = np.flatnonzero(~joins)
    first = _ends(np.bincount(event[parts], minlength=n))
    weight = np.add.reduceat(bins.mass[kept], parts) if parts.size else np.zeros(0)
    return Segments(
        start[opens],
        start[closes] + bins.ticks[closes] - 1,
        first,
        start[kept[parts]],
        per_tick[parts],
        *_from_both_ends(first, weight),
    )


def _from_both_ends(first: I64, weight: F64) -> tuple[F64, F64]:
    """Per segment, the mass of its event's earlier and of its later ones; one pass per number of segments."""
    before, behind = np.zeros(weight.size), np.zeros(weight.size)
    counts = np.diff(first)
    for count in np.unique(counts[counts > 1]):
        at = first[:-1][counts == count][:, None] + np.arange(count)
        weights = weight[at]
        before[at[:, 1:]] = np.cumsum(weights[:, :-1], axis=1)
        behind[at[:, :-1]] = np.cumsum(weights[:, :0:-1], axis=1)[:, ::-1]
    return before, behind


def _ends(counts: Any) -> I64:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


# ---------------------------------------------------------------- shapes and lists -> bins


def _distinct(ticks: I64, twice: I64) -> tuple[I64, I64]:
    """One event of each kind, and the kind of every event: shapes differ only by width and place of the peak."""
    _, of_width = np.unique(ticks, return_inverse=True)
    peaks, of_peak = np.unique(twice, return_inverse=True)
    _, some, which = np.unique(of_width * peaks.size + of_peak, return_index=True, return_inverse=True)
    return some, which


def _bins_of(shape: Shape, ticks: I64, twice: I64) -> Bins:
    """The parts of shapes that start at tick 0."""
    counts = np.minimum(ticks, MOST_SEGMENTS)
    first = _ends(counts)
    event = np.repeat(np.arange(ticks.size), counts)
    part = np.arange(first[-1]) - first[event]
    whole, rest = ticks // counts, ticks % counts
    edge = part * whole[event] + part * rest[event] // counts[event]
    after = (part + 1) * whole[event] + (part + 1) * rest[event] // counts[event]
    width, peak = ticks.astype(np.float64)[event], (twice / 2.0)[event]
    low, high = edge.astype(np.float64), after.astype(np.float64)
    rising = mass_of_half(shape, np.minimum(low, peak) / peak, np.minimum(high, peak) / peak)
    back = width - peak
    falling = mass_of_half(shape, np.minimum(width - high, back) / back, np.minimum(width - low, back) / back)
    return Bins(np.zeros(ticks.size, np.int64), first, after - edge, rising * (peak / width) + falling * (back / width))


def _summed_into_ticks(origin: I64, width: I64, tick: int, lists: Lists) -> Bins:
    """Bins of `width` units from `origin` on, as bins of whole ticks.

    A bin falls into a piece of the tick in which it begins, whole ticks, and a piece of the tick in which it ends;
    neighbouring pieces of one tick are added up.
    """
    event = np.repeat(np.arange(origin.size), lists.counts)
    low = origin[event] + (np.arange(event.size) - lists.first[event]) * width[event]
    high = low + width[event]
    opens, closes = -(-low // tick), high // tick
    inside = opens > closes  # within one tick, touching neither of its ends
    head = np.where(inside, high - low, opens * tick - low)
    ticks = np.where(inside, 0, closes - opens)
    tail = np.where(inside, 0, high - closes * tick)
    units = np.stack([head, ticks * tick, tail], axis=1).ravel()
    used = np.flatnonzero(units)
    at = np.stack([opens - 1, opens, closes], axis=1).ravel()[used]
    length = np.stack([np.ones_like(ticks), ticks, np.ones_like(ticks)], axis=1).ravel()[used]
    partial, owner = used % 3 != 1, event[used // 3]
    joins = np.zeros(used.size, np.bool_)
    joins[1:] = (owner[1:] == owner[:-1]) & partial[1:] & partial[:-1] & (at[1:] == at[:-1])
    mass = lists.values[used // 3] * (units[used] / width[owner])
    parts = np.flatnonzero(~joins)
    summed = np.add.reduceat(mass, parts) if parts.size else mass
    first = _ends(np.bincount(owner[parts], minlength=origin.size))
    return Bins(origin // tick, first, length[parts], summed)
