"""Time columns -> closed intervals in units of the clock, with a fault for every row that has none.

Problem: recorded times come as two bounds or as one time and an error that is fixed, per row, or per source; some are
missing or absurd. Idea: everything becomes two integer arrays and an array of fault numbers, column at a time.
Invariant: a row is either good or has exactly one fault, the first that applies in the order of FAULTS; data never
raises here. The roles must be those of a bound query, whose lengths of time are units of the clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from whenabouts.events.schema import Error, ErrorColumn, Reach, Roles

I64 = npt.NDArray[np.int64]
I8 = npt.NDArray[np.int8]

NULL_TIME = "null time"
OUT_OF_RANGE = "time out of range"
FAULTS = (
    "",  # good
    NULL_TIME,  # of a time recorded with an error
    "null bound",
    "null error",  # also: a source whose error is not known
    "negative error",
    OUT_OF_RANGE,
    "lower > upper",
    "null pmf",
    "pmf of wrong length",
    "negative or NaN mass",
    "pmf does not sum to 1",
)
LIMIT = 2**62  # bounds lie within -LIMIT and LIMIT, so that the length of an interval fits 64 bits


class Intervals(NamedTuple):
    """One interval per row of a table; the numbers of rows with a fault mean nothing."""

    lower: I64
    upper: I64
    recorded: I64 | None  # the recorded time, if it has an error
    fault: I8  # a place in FAULTS


def intervals_of(table: pa.Table, roles: Roles) -> Intervals:
    """The intervals of all rows."""
    fault = np.zeros(table.num_rows, np.int8)
    if roles.error is None:
        lower = _integers(table.column(roles.lower), fault, "null bound")
        upper = _integers(table.column(roles.upper), fault, "null bound")
        mark(fault, _beyond(lower) | _beyond(upper), OUT_OF_RANGE)
        mark(fault, lower > upper, "lower > upper")
        return Intervals(lower, upper, None, fault)
    recorded = _integers(table.column(roles.lower), fault, NULL_TIME)
    before, after = _errors(table, roles.error, fault)
    mark(fault, _beyond(recorded) | _beyond(before) | _beyond(after), OUT_OF_RANGE)
    lower, upper = recorded - before, recorded + after  # wraps around only where a part is out of range itself
    mark(fault, _beyond(lower) | _beyond(upper), OUT_OF_RANGE)
    return Intervals(lower, upper, recorded, fault)


def exact_faults(column: Any) -> I8 | None:
    """The faults of exact times; None if there are none. Two times within LIMIT are less than 2^63 apart."""
    fault = np.zeros(len(column), np.int8)
    values = _integers(column, fault, NULL_TIME)
    if values.min(initial=0) <= -LIMIT or values.max(initial=0) >= LIMIT:
        mark(fault, _beyond(values), OUT_OF_RANGE)
    return fault if fault.any() else None


def mark(fault: I8, where: Any, reason: str) -> None:
    """Give rows a fault unless they have one."""
    fault[where & (fault == 0)] = FAULTS.index(reason)


def bad_rows_of(fault: I8) -> list[tuple[str, I64]]:
    """Reason -> rows."""
    return [(FAULTS[code], np.flatnonzero(fault == code)) for code in np.unique(fault[fault > 0])]


def numbers_of_lists(column: Any) -> tuple[I64, npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """A list column as the end of each row's numbers, all numbers (NULL as NaN), and which rows have no list."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not pa.types.is_list(column.type):
        column = column.cast(pa.list_(column.type.value_type))
    counts = np.asarray(pc.fill_null(pc.list_value_length(column), 0)).astype(np.int64)
    first = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    values = column.flatten().cast(pa.float64())
    return first, np.asarray(pc.fill_null(values, np.nan)), np.asarray(pc.is_null(column))


# ---------------------------------------------------------------- one column


def _integers(column: Any, fault: I8, missing: str) -> I64:
    """A column of times, durations or integers as 64-bit numbers, 0 for NULL."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.null_count:
        mark(fault, np.asarray(pc.is_null(column)), missing)
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("s"))
    if pa.types.is_uint64(column.type):
        column = pc.min_element_wise(column, pa.scalar(LIMIT, pa.uint64()), skip_nulls=False)
    return np.asarray(pc.fill_null(column.cast(pa.int64()), 0))


def _beyond(values: I64) -> Any:
    return (values <= -LIMIT) | (values >= LIMIT)


# ---------------------------------------------------------------- errors


def _errors(table: pa.Table, error: Any, fault: I8) -> tuple[I64, I64]:
    """How far the time may be before and after the recorded one, per row."""
    if isinstance(error, Error):
        return _side(table, error.before, fault, up=True), _side(table, error.after, fault, up=False)
    sources = table.column(error.column).combine_chunks().cast(pa.string())
    known = pa.array([source for source, _ in error.errors], pa.string())
    which = np.asarray(pc.fill_null(pc.index_in(sources, value_set=known, skip_nulls=True), -1))
    errors = [e for _, e in error.errors]
    if error.default is None:
        mark(fault, which < 0, "null error")
    others = Error(0, 0) if error.default is None else error.default
    return _looked_up([*(e.before for e in errors), others.before], which), _looked_up(
        [*(e.after for e in errors), others.after], which
    )


def _looked_up(sides: Sequence[Reach], which: Any) -> I64:
    return np.array([_settled(side) for side in sides], np.int64)[which]


def _settled(side: Reach) -> int:
    assert isinstance(side, int)  # noqa: S101 - binding turns lengths of time into units of the clock
    return side


def _side(table: pa.Table, side: Reach, fault: I8, *, up: bool) -> I64:
    """The error to one side in units of the clock. The ends are rounded down, as times are to ticks: see `up`."""
    if not isinstance(side, ErrorColumn):
        return np.full(table.num_rows, _settled(side), np.int64)
    values = _integers(table.column(side.name), fault, "null error")
    mark(fault, values < 0, "negative error")
    up_to, down_to = side.per_unit.numerator, side.per_unit.denominator
    too_long = values > LIMIT // up_to
    mark(fault, too_long, OUT_OF_RANGE)
    scaled = np.where(too_long, 0, values) * up_to
    return -(-scaled // down_to) if up else scaled // down_to
