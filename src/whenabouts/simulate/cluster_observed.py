"""A simulated cluster day as its operators see it: log lines that are off by a little, readings by half a period.

Problem: the start of a task is written down by the clock of another machine, and what gmond reports for a period of
15 seconds may have been measured at any moment of it, so nobody knows whether a task was running at a peak.
Idea: the day that `cluster` simulates is what was logged; around each logged time lies an interval, and when the event
happened is drawn from it (see `observed` for why in this order). Nothing is cut off at the ends of the day.
Invariants: intervals have one width per source and start and end with a tick; the same seed gives the same truth.
Reference: section 3.7.2 of the thesis (0.5 s to either side for Hadoop, 7.5 s for Ganglia, ticks of 0.1 s).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whenabouts.simulate.cluster import ClusterDay
from whenabouts.simulate.cluster_log import Ints
from whenabouts.simulate.observed import Observed

READINGS = ("CPU", "Memory", "LoadStd")


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """How far, in seconds, an event may be from where it was logged, to either side.

    Nodes take their value of `reading_seconds` in turn: several values are machines that are read more or less often.
    """

    log_seconds: float = 0.5
    reading_seconds: tuple[float, ...] = (7.5,)
    tick_ms: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        if self.tick_ms < 1:
            raise ValueError(f"tick_ms is {self.tick_ms}, it must be positive")
        if not self.reading_seconds:
            raise ValueError("reading_seconds is empty, it needs a value")
        for seconds in (self.log_seconds, *self.reading_seconds):
            milliseconds = round(seconds * 1000)
            if milliseconds <= 0 or milliseconds % self.tick_ms:
                raise ValueError(f"{seconds} s is not a positive number of ticks of {self.tick_ms} ms")


MIXED = Precision(reading_seconds=(7.5, 5.0, 4.0, 3.0, 2.0, 1.0))
"""Some nodes are read more often than others: the confidences of a query are then anything between 0 and 1."""


def observe(day: ClusterDay, precision: Precision | None = None) -> Observed:
    """The day as observed; its columns are those of `ClusterDay.events`, with lower and upper (in ms) for time.

    Asked with a granularity that divides `tick_ms`, or with none, a query sees times that are uniform over its ticks.
    """
    precision = precision or Precision()
    rng = np.random.default_rng(precision.seed)
    logged = day.events["time"].to_numpy().astype("datetime64[ms]").astype(np.int64)
    centre = logged // precision.tick_ms * precision.tick_ms
    radius = _radius(day.events, precision)
    true = rng.integers(centre - radius, centre + radius)
    bounds = {"lower": _moments(centre - radius), "upper": _moments(centre + radius - 1)}
    columns = {name: day.events[name] for name in day.events.column_names}
    kept = {name: columns.pop(name) for name in ("id", "type")}
    del columns["time"]
    return Observed(pa.table(kept | bounds | columns), _moments(true), _moments(centre))


def _radius(events: pa.Table, precision: Precision) -> Ints:
    """For each event, how many milliseconds it may be off; what is read of no single node as for the worst of them."""
    log, *readings = (round(s * 1000) for s in (precision.log_seconds, *precision.reading_seconds))
    nodes = pc.unique(events["node"]).drop_null().sort()
    number = pc.index_in(events["node"], value_set=nodes).fill_null(-1).to_numpy()
    of_node = np.where(number < 0, max(readings), np.array(readings)[number % len(readings)])
    is_reading = pc.is_in(events["type"], value_set=pa.array(READINGS)).to_numpy()
    return np.where(is_reading, of_node, log)


def _moments(milliseconds: Ints) -> pa.Array:
    return pa.array(milliseconds, pa.timestamp("ms"))
