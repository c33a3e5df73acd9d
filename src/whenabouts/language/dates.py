"""Dates in query text -> integer units of a time column.

ISO 8601, exact to the nanosecond; a time without a zone is UTC, as in Arrow and Spark's storage. A moment that falls
between two units of the column is refused: it would silently be rounded.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from whenabouts.errors import QueryError, Span
from whenabouts.events.schema import UNITS_PER_SECOND
from whenabouts.language.limits import INT64_MAX, INT64_MIN

MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\d)"
    r"(?:[T ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d{1,9}))?"
    r"\s?(Z|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def ticks_of_date(text: str, unit: str, span: Span | None = None) -> int:
    """The moment a string names, in units since the epoch."""
    found = MOMENT.fullmatch(text.strip())
    if found is None:
        hint = "write '2024-05-31', '2024-05-31 12:00:00.5' or '2024-05-31T12:00:00+02:00'"
        raise QueryError("type-mismatch", f"{text[:40]!r} is not a date", span=span, hint=hint)
    day, time, fraction, zone = found.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{time or '00:00'}{zone or 'Z'}")
        seconds = (moment - EPOCH) // timedelta(seconds=1)
    except (ValueError, OverflowError):
        raise QueryError("type-mismatch", f"{text[:40]!r} is not a date of the calendar", span=span) from None
    nanoseconds = seconds * 1_000_000_000 + int((fraction or "").ljust(9, "0"))
    ticks, rest = divmod(nanoseconds, 1_000_000_000 // UNITS_PER_SECOND[unit])
    if rest:
        message = f"{text[:40]!r} is finer than the column, which counts {unit}"
        raise QueryError("type-mismatch", message, span=span)
    if not INT64_MIN <= ticks <= INT64_MAX:
        raise QueryError("limit", f"{text[:40]!r} does not fit into 64 bits of {unit}", span=span)
    return ticks
