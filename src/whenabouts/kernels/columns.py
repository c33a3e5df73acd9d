"""Expressions over single events, column at a time.

Everything that reads one event only (type tests, constants, LIKE, functions of strings) is evaluated here with Arrow's
vectorised functions, before matching; the match loops see bits and numbers. Three-valued logic is Arrow's Kleene logic.
Invariant: NaN never survives: it is read as NULL, and functions undefined for their argument yield NULL, as do
operations on whole numbers whose result does not fit 64 bits. Whole numbers meet floats as floats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whenabouts.errors import DataError
from whenabouts.events.schema import Column, DType, Schema
from whenabouts.plan import expressions as ex
from whenabouts.plan.expressions import Expr
from whenabouts.plan.units import unit_of

INT64_MAX = 2**63 - 1
Resolve = Callable[[ex.Attribute], Any]  # an attribute -> its Arrow array, times as integers


def evaluate(expr: Expr, resolve: Resolve, schema: Schema) -> Any:
    """The column (or scalar, for a constant) of an expression whose attributes `resolve` can supply."""
    try:
        return _Evaluator(resolve, schema).value(expr)
    except pa.ArrowInvalid as error:
        raise DataError("data", f"an expression cannot be evaluated: {error}", span=expr.span) from error


def plain(values: Any, column: Column) -> Any:
    """A table column in the form expressions work on: integers for times, NULL for NaN, no dictionaries."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if column.dtype in (DType.TIME, DType.DURATION, DType.INT):
        if pa.types.is_date(values.type):
            values = values.cast(pa.timestamp("s"))
        return _signed(values, column) if pa.types.is_uint64(values.type) else values.cast(pa.int64())
    if column.dtype is DType.FLOAT:
        return without_nan(values.cast(pa.float64()))
    if column.dtype is DType.STRING and not pa.types.is_string(values.type):
        return values.cast(pa.string())
    return values


def _signed(values: Any, column: Column) -> Any:
    """Unsigned 64-bit integers as signed ones."""
    most = pc.max(values).as_py()
    if most is not None and most > INT64_MAX:
        message = f"the column {column.name!r} holds {most}, which does not fit into 64 bits with a sign"
        raise DataError("data", message, hint="cast it in the table, to float64 for instance, or drop those rows")
    return values.cast(pa.int64())


def without_nan(column: Any) -> Any:
    nan = pc.is_nan(column)
    return pc.if_else(nan, pa.scalar(None, column.type), column) if pc.any(nan).as_py() else column


class _Evaluator:
    def __init__(self, resolve: Resolve, schema: Schema) -> None:
        self.resolve, self.schema = resolve, schema

    def value(self, expr: Expr) -> Any:
        match expr:
            case ex.Attribute():
                return self.resolve(expr)
            case ex.Literal(value):
                return pa.scalar(value)
            case ex.Arithmetic(op, left, right):
                return _arithmetic(op, self.value(left), self.value(right))
            case ex.Negate(operand):
                return _negated(self.value(operand))
            case ex.Call(function, arguments):
                return self.call(expr, function, arguments)
            case _:
                return self.condition(expr)

    def condition(self, expr: Expr) -> Any:
        match expr:
            case ex.Compare(op, left, right):
                return _COMPARE[op](*_alike(self.value(left), self.value(right)))
            case ex.And(items):
                return _fold(pc.and_kleene, [self.boolean(i) for i in items])
            case ex.Or(items):
                return _fold(pc.or_kleene, [self.boolean(i) for i in items])
            case ex.Not(operand):
                return pc.invert(self.boolean(operand))
            case ex.IsNull(operand, negated):
                inner = self.value(operand)
                return pc.is_valid(inner) if negated else pc.is_null(inner)
            case ex.Like(operand, pattern, negated):
                found = pc.match_like(self.value(operand), pattern)
                return pc.invert(found) if negated else found
            case ex.In(operand, items, negated):
                found = self.contained(operand, items)
                return pc.invert(found) if negated else found
        raise AssertionError(f"{type(expr).__name__} reads more than one event")

    def boolean(self, expr: Expr) -> Any:
        value = self.value(expr)
        return value.cast(pa.bool_()) if pa.types.is_null(value.type) else value

    def contained(self, operand: Expr, items: tuple[ex.Literal, ...]) -> Any:
        inner = self.value(operand)
        options = [i.value for i in items if i.value is not None]
        found = _fold(pc.or_kleene, [pc.equal(*_alike(inner, pa.scalar(o))) for o in options[:1]])
        if len(options) > 1:
            if any(isinstance(o, float) for o in options) or pa.types.is_floating(inner.type):
                inner, options = _floats(inner), [float(o) for o in options]
            kind = inner.type if pa.types.is_string(inner.type) else pa.array(options).type
            if pa.types.is_floating(inner.type) or pa.types.is_floating(kind):
                kind, inner = pa.float64(), pc.add(_floats(inner), 0.0)  # lists tell 0.0 and -0.0 apart
            found = pc.is_in(inner.cast(kind), value_set=pa.array(options, kind))
            found = pc.if_else(pc.is_valid(inner), found, pa.scalar(None, pa.bool_()))
        if len(options) < len(items):  # x IN (1, NULL) is never false
            found = pc.or_kleene(found, pa.scalar(None, pa.bool_()))
        return found

    def call(self, expr: Expr, function: str, arguments: tuple[Expr, ...]) -> Any:
        if function in _PATTERNED:
            pattern = arguments[1]
            assert isinstance(pattern, ex.Literal)  # noqa: S101 - the binder lets only literals through
            return _PATTERNED[function](self.value(arguments[0]), pattern.value)
        values = [self.value(a) for a in arguments]
        if function in _CALENDAR:
            unit = unit_of(expr, self.schema) or "s"
            return pc.cast(_CALENDAR[function](pc.cast(values[0], pa.timestamp(unit))), pa.int64())
        return _FUNCTIONS[function](*values)


def _fold(combine: Callable[[Any, Any], Any], items: list[Any]) -> Any:
    whole = items[0] if items else pa.scalar(value=False)
    for item in items[1:]:
        whole = combine(whole, item)
    return whole


def _alike(*values: Any) -> tuple[Any, ...]:
    """The values in one type: NULL takes that of the others, and whole numbers become floats beside a float."""
    kinds = [v.type for v in values if not pa.types.is_null(v.type)]
    if not kinds:
        return values
    kind = pa.float64() if any(pa.types.is_floating(k) for k in kinds) else kinds[0]
    return tuple(_typed(v, kind) for v in values)


def _typed(value: Any, kind: Any) -> Any:
    if pa.types.is_null(value.type):
        return pa.scalar(None, kind)
    return _floats(value) if pa.types.is_floating(kind) else value


def _floats(values: Any) -> Any:
    """As floats, rounded where a whole number has too many digits."""
    return pc.cast(values, pa.float64(), safe=False)


_COMPARE = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def _arithmetic(op: str, left: Any, right: Any) -> Any:
    left, right = _alike(left, right)
    if op == "/":
        return without_nan(pc.divide(_floats(left), _nonzero(_floats(right))))
    floating = pa.types.is_floating(left.type)
    if op == "%":
        return _float_remainder(left, right) if floating else _remainder(left, _nonzero(right))
    return without_nan(_WRAPPING[op](left, right)) if floating else _whole_numbers(op, left, right)


_WRAPPING = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}
_CHECKED = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}


def _whole_numbers(op: str, left: Any, right: Any) -> Any:
    """Sum, difference or product; NULL where it does not fit 64 bits."""
    try:
        return _CHECKED[op](left, right)
    except pa.ArrowInvalid:  # in some row; what has wrapped around is 2^64 or more away from the truth
        wrapped = _WRAPPING[op](left, right)
        away = pc.abs(pc.subtract(_floats(wrapped), _WRAPPING[op](_floats(left), _floats(right))))
        return pc.if_else(pc.less(away, 2.0**63), wrapped, pa.scalar(None, wrapped.type))


def _negated(value: Any) -> Any:
    return pc.negate(value) if pa.types.is_floating(value.type) else _whole_numbers("-", pa.scalar(0), value)


def _absolute(value: Any) -> Any:
    return pc.abs(value) if pa.types.is_floating(value.type) else pc.if_else(pc.less(value, 0), _negated(value), value)


def _remainder(left: Any, right: Any) -> Any:
    """Of whole numbers; Arrow truncates their division, as SQL's % needs."""
    right = pc.if_else(pc.equal(right, -1), pa.scalar(1), right)  # the quotient by -1 may not fit
    return pc.subtract(left, pc.multiply(pc.divide(left, right), right))


def _float_remainder(left: Any, right: Any) -> Any:
    with np.errstate(invalid="ignore"):
        result = np.fmod(_numbers(left), _numbers(right))
    kept = pa.array(np.atleast_1d(result), from_pandas=True)
    return kept if result.ndim else kept[0]


def _numbers(values: Any) -> Any:
    """Floats for numpy, NULL as NaN."""
    filled = pc.fill_null(values, np.nan)
    return np.float64(filled.as_py()) if isinstance(filled, pa.Scalar) else np.asarray(filled)


def _nonzero(values: Any) -> Any:
    return pc.if_else(pc.equal(values, 0), pa.scalar(None, values.type), values)


def _float(function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(*values: Any) -> Any:
        return without_nan(function(*(_floats(v) for v in values)))

    return apply


def _logarithm(value: Any) -> Any:
    return pc.ln(pc.if_else(pc.greater(value, 0), value, pa.scalar(None, pa.float64())))


def _whole(function: Callable[..., Any]) -> Callable[..., Any]:
    """floor, ceil and round keep the type of their argument."""

    def apply(value: Any) -> Any:
        return value if pa.types.is_integer(value.type) else function(value)

    return apply


def _unless_equal(a: Any, b: Any) -> Any:
    return pc.if_else(pc.fill_null(pc.equal(a, b), fill_value=False), pa.scalar(None, a.type), a)


def _round(value: Any) -> Any:
    return pc.round(value, round_mode="half_towards_infinity")


_PATTERNED: dict[str, Callable[[Any, Any], Any]] = {
    "starts_with": lambda v, p: pc.starts_with(v, pattern=p),
    "ends_with": lambda v, p: pc.ends_with(v, pattern=p),
    "contains": lambda v, p: pc.match_substring(v, pattern=p),
}

_CALENDAR: dict[str, Callable[[Any], Any]] = {
    "hour": pc.hour,
    "minute": pc.minute,
    "day_of_week": lambda v: pc.day_of_week(v, count_from_zero=False, week_start=1),
}

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": _absolute,
    "sign": lambda v: pc.cast(pc.sign(v), pa.int64()),
    "floor": _whole(pc.floor),
    "ceil": _whole(pc.ceil),
    "round": _whole(_round),
    "sqrt": _float(pc.sqrt),
    "ln": _float(_logarithm),
    "exp": _float(pc.exp),
    "power": _float(pc.power),
    "mod": lambda a, b: _arithmetic("%", a, b),
    "lower": pc.utf8_lower,
    "upper": pc.utf8_upper,
    "trim": lambda v: pc.utf8_trim(v, characters=" "),
    "length": lambda v: pc.cast(pc.utf8_length(v), pa.int64()),
    "coalesce": lambda *values: pc.coalesce(*_alike(*values)),
    "nullif": lambda *values: _unless_equal(*_alike(*values)),
    "greatest": lambda *values: pc.max_element_wise(*_alike(*values)),
    "least": lambda *values: pc.min_element_wise(*_alike(*values)),
}
