"""A table of events with uncertain times -> the arrays `Times`, in ticks of the query's granularity.

A tick counts if the closed interval touches it: lower // tick to upper // tick. A uniform time is equally likely in
each of those ticks, also in one that is touched by a single unit; the other shapes are laid over the same ticks. The
masses of a list stay where they are: bins of units are summed into ticks (`timeline.distributions.listed`).
Invariant: every row is encoded or set aside with one reason, and its masses are used as given.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from whenabouts.events.times import I8, Intervals, intervals_of, mark, numbers_of_lists
from whenabouts.kernels.program import I64
from whenabouts.kernels.uncertain.times import Times
from whenabouts.plan.bound import Bound
from whenabouts.timeline.distributions import Lists, Segments, listed, shaped, taken, wrong_length, wrong_masses


class Readings(NamedTuple):
    """What a table says about times: an interval per row, its fault, and its list of masses, if there are any."""

    intervals: Intervals
    lists: Lists | None

    @property
    def fault(self) -> I8:
        return self.intervals.fault


def readings_of(bound: Bound, table: pa.Table) -> Readings:
    """Read and judge the times of all rows."""
    roles = bound.schema.roles
    intervals = intervals_of(table, roles)
    if roles.pmf is None:
        return Readings(intervals, None)
    first, values, missing = numbers_of_lists(table.column(roles.pmf))
    lists, fault = Lists(first, values), intervals.fault
    mark(fault, missing, "null pmf")
    strange, unfinished = wrong_masses(lists)
    mark(fault, wrong_length(intervals.lower, intervals.upper, bound.tick, lists.counts), "pmf of wrong length")
    mark(fault, strange, "negative or NaN mass")
    mark(fault, unfinished, "pmf does not sum to 1")
    return Readings(intervals, lists)


def encode(bound: Bound, readings: Readings, rows: I64) -> Times:
    """The times of these rows, which have no fault, in this order."""
    intervals, tick = readings.intervals, bound.tick
    lower, upper = intervals.lower[rows], intervals.upper[rows]
    if readings.lists is not None:
        return Times(*listed(lower, upper, tick, _chosen(readings.lists, rows)))
    peak = None if intervals.recorded is None else intervals.recorded[rows] // tick
    return Times(*shaped(bound.schema.roles.shape, lower // tick, upper // tick, peak))


def reordered(times: Times, order: Any) -> Times:
    """The same events in another order."""
    return Times(*taken(Segments(*times), order))


def _chosen(lists: Lists, rows: I64) -> Lists:
    counts = lists.counts[rows]
    first = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    at = np.repeat(lists.first[rows] - first[:-1], counts) + np.arange(first[-1])
    return Lists(first, lists.values[at])
