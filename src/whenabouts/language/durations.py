"""Lengths of time: spelled units, exact nanoseconds, granularities.

All arithmetic is exact (fractions of integers), so `0.1 s` is 100 ms on every clock. Invariant: a canonical unit is a
key of `NANOSECONDS`, and every accepted spelling leads to one.
"""

from __future__ import annotations

import difflib
import re
from datetime import timedelta
from fractions import Fraction

from whenabouts.errors import QueryError, Span

NANOSECONDS = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "second": 1_000_000_000,
    "minute": 60_000_000_000,
    "hour": 3_600_000_000_000,
    "day": 86_400_000_000_000,
    "week": 604_800_000_000_000,
}
SPELLINGS = {
    "ns": ("ns", "nanosecond", "nanoseconds", "nanos"),
    "us": ("us", "µs", "μs", "microsecond", "microseconds", "micros"),  # micro sign and Greek mu
    "ms": ("ms", "millisecond", "milliseconds", "millis", "msec"),
    "second": ("s", "sec", "secs", "second", "seconds"),
    "minute": ("min", "mins", "minute", "minutes"),
    "hour": ("h", "hr", "hrs", "hour", "hours"),
    "day": ("d", "day", "days"),
    "week": ("w", "week", "weeks"),
}
UNITS = {spelling: unit for unit, spellings in SPELLINGS.items() for spelling in spellings}
CLOCK_UNITS = {"s": "second", "ms": "ms", "us": "us", "ns": "ns"}
REFUSED = {
    "m": "write min for minutes, ms for milliseconds",
    "month": "months have no fixed length; write days",
    "months": "months have no fixed length; write days",
    "year": "years have no fixed length; write days",
    "years": "years have no fixed length; write days",
}
LENGTH = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)?\s*([^\W\d]\w*)?\s*")


def unit_named(word: str, span: Span | None, keywords: tuple[str, ...] = ()) -> str:
    """The canonical unit of a spelling; `keywords` are words that could have been meant instead."""
    unit = UNITS.get(word) or UNITS.get(word.lower())
    if unit is not None:
        return unit
    hint = REFUSED.get(word.lower())
    if hint is None:
        known = [*UNITS, *(k.lower() for k in keywords)]
        near = difflib.get_close_matches(word.lower()[:100], known, n=1, cutoff=0.6)
        shown = near[0].upper() if near and near[0].upper() in keywords else near[0] if near else None
        hint = f"did you mean {shown}?" if shown else "the units are ns, us, ms, seconds, minutes, hours, days, weeks"
    raise QueryError("syntax", f"{word} is not a unit of time", span=span, hint=hint)


def nanoseconds(amount: float, unit: str) -> Fraction:
    """Exactly; a float stands for the decimal number it is printed as."""
    return Fraction(repr(amount)) * NANOSECONDS[unit]


def clock_nanoseconds(clock: str) -> int:
    """The length of one unit of a time column."""
    return NANOSECONDS[CLOCK_UNITS[clock]]


def from_timedelta(delta: timedelta) -> tuple[int, str]:
    """The amount in the largest of weeks … microseconds that keeps it whole; seconds up to a minute and so on."""
    microseconds = (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds
    for unit in ("day", "hour", "minute", "second", "ms"):
        length = NANOSECONDS[unit] // 1_000
        if microseconds and microseconds % length == 0:
            return microseconds // length, unit
    return microseconds, "us"


def parse_granularity(text: str) -> tuple[Fraction, str | None]:
    """`1 s`, `100 ms`, `minute`, or a plain number of clock units: the amount and its unit, if any."""
    amount, unit = parse_length(text, "a granularity", "granularity")
    if amount <= 0:
        raise QueryError("syntax", f"the granularity {text!r} has no length", hint="a tick lasts longer than 0")
    return amount, unit


def parse_length(text: str, what: str, option: str) -> tuple[Fraction, str | None]:
    """A length of time that is the value of an option: the amount and its unit, if any."""
    found = LENGTH.fullmatch(text) if len(text) <= 100 else None
    if found is None or not (found[1] or found[2]):
        hint = f'a length of time such as {option}="1 s"'
        raise QueryError("syntax", f"{text[:40]!r} is not {what}", hint=hint)
    unit = None if found[2] is None else unit_named(found[2], None)
    return Fraction(found[1] or "1"), unit
