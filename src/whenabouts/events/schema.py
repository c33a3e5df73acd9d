"""What a table of events looks like to a query: columns with types, and the role some columns play.

A schema is independent of where the table lives (Arrow, a data frame, Spark), so that binding a query needs no data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


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
class Roles:
    """Which columns carry identity, type and time. `lower`/`upper` differ only for uncertain time."""

    id: str | None = "id"  # None: the row number
    type: str | None = "type"
    lower: str = "time"
    upper: str = "time"
    pmf: str | None = None

    @property
    def exact(self) -> bool:
        return self.lower == self.upper and self.pmf is None


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
