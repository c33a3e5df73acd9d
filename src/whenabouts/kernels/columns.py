"""Expressions over single events, column at a time.

Everything that reads one event only (type tests, constants, LIKE, functions of strings) is evaluated here with Arrow's
vectorised functions, before matching; the match loops see bits and numbers. Three-valued logic is Arrow's Kleene logic.
Invariant: NaN never survives: it is read as NULL, and functions undefined for their argument yield NULL.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
        if "overflow" in str(error):
            raise DataError(
                "data", f"integer overflow while evaluating an expression: {error}", span=expr.span
            ) from error
        raise


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
                return pc.negate_checked(self.value(operand))
            case ex.Call(function, arguments):
                return self.call(expr, function, arguments)
            case _:
                return self.condition(expr)

    def condition(self, expr: Expr) -> Any:
        match expr:
            case ex.Compare(op, left, right):
                return _COMPARE[op](*_comparable(self.value(left), self.value(right)))
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
        found = _fold(pc.or_kleene, [pc.equal(*_comparable(inner, pa.scalar(o))) for o in options[:1]])
        if len(options) > 1:
            if any(isinstance(o, float) for o in options) or pa.types.is_floating(inner.type):
                inner, options = pc.cast(inner, pa.float64(), safe=False), [float(o) for o in options]
            kind = inner.type if pa.types.is_string(inner.type) else pa.array(options).type
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


def _comparable(*values: Any) -> tuple[Any, ...]:
    """In one type: NULL takes that of the others, and integers next to floats become floats, however large."""
    kinds = {v.type for v in values if not pa.types.is_null(v.type)}
    if any(pa.types.is_floating(k) for k in kinds):
        return tuple(_as_float(v) for v in values)
    kind = next(iter(kinds), pa.null())
    return tuple(pa.scalar(None, kind) if pa.types.is_null(v.type) else v for v in values)


def _as_float(value: Any) -> Any:
    """The nearest float, as SQL has it; Arrow alone refuses integers beyond 2**53."""
    return pc.cast(value, pa.float64(), safe=False)


_COMPARE = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def _arithmetic(op: str, left: Any, right: Any) -> Any:
    left, right = _comparable(left, right)
    if op == "/":
        left, right = _as_float(left), _as_float(right)
        return without_nan(pc.divide(left, _nonzero(right)))
    if op == "%":
        right = _nonzero(right)
        quotient = pc.divide(left, right)  # Arrow truncates integer division, as SQL's % needs
        quotient = pc.trunc(quotient) if pa.types.is_floating(left.type) else quotient
        return pc.subtract(left, pc.multiply(quotient, right))
    result = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}[op](left, right)
    return without_nan(result) if pa.types.is_floating(result.type) else result


def _nonzero(values: Any) -> Any:
    return pc.if_else(pc.equal(values, 0), pa.scalar(None, values.type), values)


def _float(function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(*values: Any) -> Any:
        result = without_nan(function(*(_as_float(v) for v in values)))
        return pc.if_else(pc.is_finite(result), result, pa.scalar(None, pa.float64()))

    return apply


def _whole(function: Callable[..., Any]) -> Callable[..., Any]:
    """floor, ceil and round keep the type of their argument."""

    def apply(value: Any) -> Any:
        return value if pa.types.is_integer(value.type) else function(value)

    return apply


def _round(value: Any) -> Any:
    return pc.round(value, round_mode="half_towards_infinity")


def _nullif(a: Any, b: Any) -> Any:
    return pc.if_else(pc.fill_null(pc.equal(a, b), fill_value=False), pa.scalar(None, a.type), a)


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
    "abs": pc.abs_checked,
    "sign": lambda v: pc.cast(pc.sign(v), pa.int64()),
    "floor": _whole(pc.floor),
    "ceil": _whole(pc.ceil),
    "round": _whole(_round),
    "sqrt": _float(pc.sqrt),
    "ln": _float(pc.ln),
    "exp": _float(pc.exp),
    "power": _float(pc.power),
    "mod": lambda a, b: _arithmetic("%", a, b),
    "lower": pc.utf8_lower,
    "upper": pc.utf8_upper,
    "trim": lambda v: pc.utf8_trim(v, characters=" "),
    "length": lambda v: pc.cast(pc.utf8_length(v), pa.int64()),
    "coalesce": lambda *values: pc.coalesce(*_comparable(*values)),
    "nullif": lambda a, b: _nullif(*_comparable(a, b)),
    "greatest": lambda *values: pc.max_element_wise(*_comparable(*values)),
    "least": lambda *values: pc.min_element_wise(*_comparable(*values)),
}
