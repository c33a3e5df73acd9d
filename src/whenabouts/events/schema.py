"""What a table of events looks like to a query: columns with types, and the role some columns play.

A schema is independent of where the table lives (Arrow, a data frame, Spark), so that binding a query needs no data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction


class DType(StrEnum):
    """The value types of the language. TIME counts units since the epoch, DURATION counts units."""

    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    STRING = "string"
    TIME = "time"
    DURATION = "duration"
    NULL = "null"  # the type of the literal NULL alone


UNITS_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its type and, for TIME and DURATION, the unit it counts."""

    name: str
    dtype: DType
    unit: str | None = None  # "s", "ms", "us", "ns"; None for a plain integer clock


@dataclass(frozen=True, slots=True)
class Shape:
    """How a time is distributed over its interval: "uniform", "triangular" or "normal".

    The peak is the recorded time, or the middle of an interval given by two columns. A normal time is cut off at the
    ends of the interval, which are `sigmas` standard deviations from the peak, on either side.
    """

    kind: str = "uniform"
    sigmas: float = 3.0


@dataclass(frozen=True, slots=True)
class ErrorColumn:
    """The error of each row, in a column of integers (units of the clock) or of durations."""

    name: str
    per_unit: Fraction = Fraction(1)  # units of the clock per unit of the column; settled by binding


Reach = int | str | ErrorColumn  # units of the clock, a length of time such as "500 ms", or a column


@dataclass(frozen=True, slots=True)
class Error:
    """The event happened at most `before` before and `after` after its recorded time; binding leaves no text."""

    before: Reach
    after: Reach


@dataclass(frozen=True, slots=True)
class ErrorBySource:
    """An error for each value of a column; other values have the default or, without one, make a bad row."""

    column: str
    errors: tuple[tuple[str, Error], ...]
    default: Error | None = None


@dataclass(frozen=True, slots=True)
class Roles:
    """Which columns carry identity, type and time.

    Time is exact (one column), a closed interval (`lower` and `upper` differ), or recorded with an `error` (one column
    again). On its interval it has a `shape`, or the masses in the list column `pmf`.
    """

    id: str | None = "id"  # None: the row number
    type: str | None = "type"
    lower: str = "time"
    upper: str = "time"
    pmf: str | None = None
    error: Error | ErrorBySource | None = None
    shape: Shape = field(default_factory=Shape)

    @property
    def exact(self) -> bool:
        return self.lower == self.upper and self.pmf is None and self.error is None

    @property
    def time_columns(self) -> tuple[str, ...]:
        """The columns that say when an event happened, as recorded."""
        return tuple(dict.fromkeys((self.lower, self.upper)))

    @property
    def error_columns(self) -> tuple[str, ...]:
        """The columns the error is read from."""
        if isinstance(self.error, Error):
            sides = (self.error.before, self.error.after)
            return tuple(dict.fromkeys(side.name for side in sides if isinstance(side, ErrorColumn)))
        return () if self.error is None else (self.error.column,)

    @property
    def uncertainty_columns(self) -> tuple[str, ...]:
        """All columns that are read to know when an event happened."""
        return (*self.time_columns, *self.error_columns, *(() if self.pmf is None else (self.pmf,)))


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of an event table, by name, with their roles."""

    columns: Mapping[str, Column]
    roles: Roles = field(default_factory=Roles)

    @property
    def time(self) -> Column:
        return self.columns[self.roles.lower]

    @property
    def time_unit(self) -> str | None:
        """The unit of the clock, or None when time is a plain integer."""
        return self.time.unit
