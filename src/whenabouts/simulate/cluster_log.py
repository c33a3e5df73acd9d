"""Collecting simulated events column by column.

Problem: a simulator thinks in tasks and nodes, a day is one table in time order, and the truth has to name events
whose ids exist only once all of them are in order.
Idea: every group of events is added as arrays and gets *places*; sorting at the end turns places into ids.
Invariant: ids and times both increase strictly along the table.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

START = np.datetime64("2015-06-01T00:00:00", "us")
SECOND = 1_000_000  # times are microseconds since START until the table is built
MILLISECOND = 1_000


def micros(seconds: Floats | float) -> Ints:
    """To whole microseconds."""
    return np.rint(np.asarray(seconds) * SECOND).astype(np.int64)


def seconds(duration: Ints) -> Floats:
    """To seconds with millisecond precision, as a job log reports them."""
    return np.round(duration / SECOND, 3)


@dataclass(frozen=True, slots=True)
class Runs:
    """Several things per owner, stored one owner after the other: thing i belongs to `owner[i]`."""

    owner: Ints
    counts: Ints

    @classmethod
    def of(cls, counts: Ints) -> "Runs":
        """The layout in which owner i has `counts[i]` things."""
        return cls(np.repeat(np.arange(len(counts)), counts), counts)

    @property
    def first(self) -> Ints:
        """For each thing, the position of its owner's first one."""
        return (np.cumsum(self.counts) - self.counts)[self.owner]

    @property
    def last(self) -> Ints:
        """For each owner, the position of its last thing (every owner has one)."""
        return np.cumsum(self.counts) - 1

    @property
    def rank(self) -> Ints:
        """For each thing, its number among its owner's, from 0."""
        return np.arange(len(self.owner)) - self.first

    def cumulate(self, values: Floats) -> Floats:
        """Running sum that starts again at each owner."""
        total = np.cumsum(values)
        return total - (total - values)[self.first]

    def lists(self, values: Ints, owners: Ints) -> pa.ListArray:
        """The values of some owners (ascending), one list each."""
        ends = np.concatenate([[0], np.cumsum(self.counts[owners])])
        return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(values[np.isin(self.owner, owners)]))


class EventLog:
    """Events in the order in which they were thought of."""

    CODES = ("node", "job_id", "task_id")
    NUMBERS = ("value", "period", "size")

    def __init__(self) -> None:
        self._types: list[str] = []
        self._blocks: dict[str, list[Ints | Floats]] = {
            name: [] for name in ("type", "time", *self.CODES, *self.NUMBERS)
        }
        self._size = 0

    def add(self, kind: str, time: Ints, **columns: Ints | Floats) -> Ints:
        """Add events of one type; returns their places. Nodes, jobs and tasks are given as positions in their names."""
        count = len(time)
        self._types.append(kind)
        filled = {
            "type": np.full(count, len(self._types) - 1),
            "time": time,
            **dict.fromkeys(self.CODES, np.full(count, -1)),
            **dict.fromkeys(self.NUMBERS, np.full(count, np.nan)),
            **columns,
        }
        for name, blocks in self._blocks.items():
            blocks.append(filled[name])
        self._size += count
        return np.arange(self._size - count, self._size)

    def sort(self, names: dict[str, list[str]]) -> tuple[pa.Table, Ints]:
        """The event table in time order, and the id that each place got."""
        columns = {name: np.concatenate(blocks) for name, blocks in self._blocks.items()}
        order = np.argsort(columns["time"], kind="stable")
        rows = np.arange(self._size)
        # A tie would leave the order of two events open, so of two equal times the later place moves on.
        time = np.maximum.accumulate(columns["time"][order].astype(np.int64) - rows) + rows
        ids = np.empty(self._size, np.int64)
        ids[order] = rows + 1
        arrays = {"id": pa.array(rows + 1)}
        arrays["type"] = pa.array(self._types).take(pa.array(columns["type"][order]))
        arrays["time"] = pa.array(START + time.astype("timedelta64[us]"))
        for name in self.CODES:
            codes = columns[name][order]
            arrays[name] = pa.array(names[name], pa.string()).take(pa.array(codes, mask=codes < 0))
        for name in self.NUMBERS:
            arrays[name] = pa.array(columns[name][order], from_pandas=True)
        return pa.table(arrays), ids
