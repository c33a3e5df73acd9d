"""How ticks, units of the time column and lengths of time relate in one bound query.

The granularity says how many units of the column make a tick; for a clock of plain integers it says instead how long
one unit lasts, which is what gives `WITHIN 15 seconds` a meaning there. All conversions are exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from whenabouts.errors import QueryError, Span
from whenabouts.events.schema import Schema
from whenabouts.language.durations import NANOSECONDS, clock_nanoseconds, nanoseconds, parse_granularity
from whenabouts.language.limits import INT64_MAX
from whenabouts.plan.bound import Extent
from whenabouts.plan.pattern import Window
from whenabouts.plan.render import render_window


@dataclass(frozen=True, slots=True)
class Clock:
    """`unit_length`: nanoseconds of one unit of the time column, None if unknown; `tick`: units per tick."""

    column: str
    unit_length: Fraction | None
    tick: int = 1

    def nanoseconds_per_unit(self, what: str, span: Span | None) -> Fraction:
        """The length of one unit; an error if the clock is a plain integer nobody declared the length of."""
        if self.unit_length is None:
            message = f"the time column {self.column!r} counts plain integers: how many make {what} is not known"
            hint = 'write a plain number of ticks, or declare the length of one: granularity="1 s"'
            raise QueryError("type-mismatch", message, span=span, hint=hint)
        return self.unit_length


def clock_of(schema: Schema, granularity: str | None) -> Clock:
    """The clock of a table under a granularity."""
    column, unit = schema.roles.lower, schema.time_unit
    length = None if unit is None else Fraction(clock_nanoseconds(unit))
    if granularity is None:
        return Clock(column, length)
    if not isinstance(granularity, str):
        raise QueryError("type-mismatch", f'a granularity is text such as "1 s", not {granularity!r}')
    amount, name = parse_granularity(granularity)
    if name is None:
        return Clock(column, length, _whole_tick(amount, granularity, unit))
    declared = amount * NANOSECONDS[name]
    if length is None:
        return Clock(column, declared)
    return Clock(column, length, _whole_tick(declared / length, granularity, unit))


def _whole_tick(ticks: Fraction, granularity: str, unit: str | None) -> int:
    if ticks.denominator != 1 or not 1 <= ticks <= INT64_MAX:
        message = f"the granularity {granularity!r} is not a whole number of units of the clock ({unit or 'ticks'})"
        raise QueryError("type-mismatch", message, hint="choose a multiple of the column's unit")
    return int(ticks)


def extent_of(window: Window, clock: Clock) -> Extent:
    """The window in whole ticks (docs/semantics.md, section 5) or events."""
    if window.unit == "event":
        return Extent(int(window.amount), events=True)
    if window.unit is None:
        ticks = Fraction(repr(window.amount))
    else:
        unit_length = clock.nanoseconds_per_unit(render_window(window), window.span)
        ticks = nanoseconds(window.amount, window.unit) / (unit_length * clock.tick)
    span = math.floor(ticks) if window.inclusive else math.ceil(ticks) - 1
    if span > INT64_MAX:
        raise QueryError("limit", f"the window {render_window(window)} does not fit into 64 bits", span=window.span)
    return Extent(span)
