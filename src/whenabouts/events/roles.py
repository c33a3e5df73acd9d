"""What a user says about times -> the roles of columns.

    time="at"                                     exact
    time=("lower", "upper")                       a closed interval per event
    time="at", error="500 ms"                     at most half a second before or after what is recorded
    time="at", error=("7 s", "8 s")               at most 7 s before, at most 8 s after
    time="at", error="accuracy"                   a column: integers in units of the clock, or durations
    time="at", error=ErrorTable("source", {"gps": "1 s", "clock": "20 ms"}, default="1 min")

A text that starts with a digit is a length of time, any other names a column; a number counts units of the time column.
Only what needs no table is checked here: binding turns lengths into units of the clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from whenabouts.errors import QueryError, did_you_mean
from whenabouts.events.schema import Error, ErrorBySource, ErrorColumn, Reach, Roles, Shape

Side = int | str | timedelta
Margin = Side | tuple[Side, Side]
SHAPES = ("uniform", "triangular", "normal")
MOST_SIGMAS = 30.0  # beyond, the tails are smaller than any float
INT64_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ErrorTable:
    """Errors that depend on where an event comes from: skew of its clock, period of its sensor.

    `column` names the source, `errors` maps its values to lengths of time, units of the clock, or a pair (before,
    after) of them. Rows of other sources have the `default` error or, without one, are set aside.
    """

    column: str
    errors: Mapping[str, Margin]
    default: Margin | None = None


def time_roles(
    columns: Roles, time: str | tuple[str, str], pmf: str | None, error: Margin | ErrorTable | None, shape: Shape
) -> Roles:
    """The roles `columns` has for id and type, with those of the time."""
    lower, upper = _columns_of(time)
    interval = lower != upper
    if interval and error is not None:
        message = "two time columns bound the time already, an error cannot be added"
        raise QueryError("type-mismatch", message, hint='either time=("lower", "upper") or time="at", error="500 ms"')
    if pmf is not None and not interval and error is None:
        message = "a pmf needs an interval to lie on"
        raise QueryError("type-mismatch", message, hint='name two time columns: time=("lower", "upper")')
    if shape.kind != "uniform" and pmf is not None:
        message = f"the pmf {pmf!r} gives the distribution already, shape {shape.kind!r} would be a second one"
        raise QueryError("type-mismatch", message, hint="leave out one of the two")
    if shape.kind != "uniform" and not interval and error is None:
        message = f"shape {shape.kind!r} needs an interval to lie on"
        raise QueryError("type-mismatch", message, hint='name two time columns, or an error: error="500 ms"')
    return Roles(columns.id, columns.type, lower, upper, column_of(pmf, "pmf"), _error_of(error), shape)


def shape_of(shape: str | tuple[str, float]) -> Shape:
    """`"uniform"`, `"triangular"`, `"normal"` (cut off at 3 standard deviations) or, for example, `("normal", 2)`."""
    kind, sigmas = shape if isinstance(shape, tuple) and len(shape) == 2 else (shape, None)
    if kind not in SHAPES or (sigmas is not None and kind != "normal"):
        hint = f'{did_you_mean(str(kind), SHAPES)}; or ("normal", 2) to cut off at 2 standard deviations'
        raise QueryError("unknown-name", f"there is no shape {shape!r}", hint=hint)
    if sigmas is None:
        return Shape(str(kind))
    if isinstance(sigmas, bool) or not isinstance(sigmas, int | float) or not 0 < sigmas <= MOST_SIGMAS:
        message = f"a normal time is cut off at 0 to {MOST_SIGMAS:g} standard deviations, not at {sigmas!r}"
        raise QueryError("limit", message)
    return Shape("normal", float(sigmas))


def column_of(name: object, role: str) -> str | None:
    """The name of a column that has a role, or None."""
    if name is None or isinstance(name, str):
        return name
    raise QueryError("type-mismatch", f"{role} names a column, not {name!r}", hint=f'{role}="…"')


def _columns_of(time: str | tuple[str, str]) -> tuple[str, str]:
    pair = (time, time) if isinstance(time, str) else time
    if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(isinstance(name, str) for name in pair):
        message = f"time names one column, or two, not {time!r}"
        raise QueryError("type-mismatch", message, hint='time="at" or time=("lower", "upper")')
    return pair[0], pair[1]


def _error_of(error: Margin | ErrorTable | None) -> Error | ErrorBySource | None:
    if error is None:
        return None
    if not isinstance(error, ErrorTable):
        return _margin(error)
    cases = tuple((str(source), _fixed(margin)) for source, margin in error.errors.items())
    return ErrorBySource(error.column, cases, None if error.default is None else _fixed(error.default))


def _fixed(margin: Margin) -> Error:
    """The error of a source, which is no column."""
    error = _margin(margin)
    for side in (error.before, error.after):
        if isinstance(side, ErrorColumn):
            message = f"the error of a source is a length of time, not {side.name!r}"
            raise QueryError("type-mismatch", message, hint='errors={"gps": "1 s"}')
    return error


def _margin(margin: Margin) -> Error:
    before, after = margin if isinstance(margin, tuple) and len(margin) == 2 else (margin, margin)
    return Error(_reach(before), _reach(after))


def _reach(side: object) -> Reach:
    hint = 'error="500 ms", error=3, error="column", error=("7 s", "8 s") or an ErrorTable'
    match side:
        case timedelta():
            whole = side // timedelta(microseconds=1)
            return _reach(f"{whole} us" if whole >= 0 else whole)
        case bool():
            raise QueryError("type-mismatch", f"an error is a length of time, not {side!r}", hint=hint)
        case int() if 0 <= side <= INT64_MAX:
            return side
        case int():
            raise QueryError("limit", f"an error must not be negative and fit into 64 bits, {side} does not", hint=hint)
        case str() if side.strip().lstrip("+-.")[:1].isdigit():
            return side
        case str() if side.strip():
            return ErrorColumn(side)
        case _:
            raise QueryError("type-mismatch", f"an error is a length of time, not {side!r}", hint=hint)
