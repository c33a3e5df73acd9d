"""The scalar functions of the language over plain Python values, one line each (`plan.typing.FUNCTIONS` lists them).

A function with a NULL argument is NULL, except for the few that are about NULL. Where floating point has no answer the
result is NaN or infinite as in IEEE 754, and NaN is read as NULL by the caller; the exceptions are in the table's text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from whenabouts.events.schema import UNITS_PER_SECOND

SECONDS_PER_DAY = 86_400


def alike(values: Sequence[Any]) -> Sequence[Any]:
    """Whole numbers become floats beside a float; NULL stays."""
    if not any(isinstance(v, float) for v in values):
        return values
    return [None if v is None else float(v) for v in values]


def remainder(left: Any, right: Any) -> Any:
    """`x % y` with the sign of x, NULL for y = 0."""
    if right == 0:
        return None
    if isinstance(left, int) and isinstance(right, int):
        return abs(left) % abs(right) * (1 if left >= 0 else -1)
    return None if math.isinf(left) else math.fmod(*alike((left, right)))


def _whole(rule: Callable[[float], int]) -> Callable[[Any], Any]:
    """A rounding that keeps the type."""

    def rounded(x: Any) -> Any:
        return x if isinstance(x, int) or math.isinf(x) else float(rule(x))

    return rounded


def _half_away(x: float) -> int:
    nearest = math.floor(abs(x))
    nearest += abs(x) - nearest >= 0.5
    return int(math.copysign(nearest, x))


def _float(rule: Callable[..., Any], *arguments: Any) -> float:
    """IEEE arithmetic, where Python would raise."""
    with np.errstate(all="ignore"):
        return float(rule(*(np.float64(x) for x in arguments)))


STRICT: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "sign": lambda x: (x > 0) - (x < 0),
    "floor": _whole(math.floor),
    "ceil": _whole(math.ceil),
    "round": _whole(_half_away),
    "sqrt": lambda x: _float(np.sqrt, x) if x >= 0 else None,
    "ln": lambda x: _float(np.log, x) if x > 0 else None,
    "exp": lambda x: _float(np.exp, x),
    "power": lambda x, y: _float(np.power, x, y),
    "mod": remainder,
    "lower": str.lower,
    "upper": str.upper,
    "trim": lambda s: s.strip(" "),
    "length": len,
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "contains": lambda s, part: part in s,
}

# These see NULLs.
LENIENT: Mapping[str, Callable[..., Any]] = {
    "coalesce": lambda *values: next((v for v in values if v is not None), None),
    "nullif": lambda x, y: None if x == y else x,
    "greatest": lambda *values: max((v for v in values if v is not None), default=None),
    "least": lambda *values: min((v for v in values if v is not None), default=None),
}

# These get seconds since the epoch. 1 January 1970 was a Thursday.
CALENDAR: Mapping[str, Callable[[int], int]] = {
    "hour": lambda seconds: seconds % SECONDS_PER_DAY // 3600,
    "minute": lambda seconds: seconds % 3600 // 60,
    "day_of_week": lambda seconds: (seconds // SECONDS_PER_DAY + 3) % 7 + 1,
}


def call(function: str, arguments: Sequence[Any], unit: str | None) -> Any:
    """The value of a function; `unit` is what its times count."""
    if function in LENIENT:
        return LENIENT[function](*arguments)
    if any(a is None for a in arguments):
        return None
    if function in CALENDAR:
        return CALENDAR[function](arguments[0] // UNITS_PER_SECOND[unit or "s"])
    return STRICT[function](*arguments)
