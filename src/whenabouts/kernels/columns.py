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
from whenabouts.events.schema import DType, Schema
from whenabouts.plan import expressions as ex
from whenabouts.plan.expressions import Expr

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


def plain(column: Any, dtype: DType) -> Any:
    """A table column in the form expressions work on: integers for times, NULL for NaN, no dictionaries."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if dtype in (DType.TIME, DType.DURATION):
        if pa.types.is_date(column.type):
            column = column.cast(pa.timestamp("s"))
        return column.cast(pa.int64())
    if dtype is DType.INT:
        return column.cast(pa.int64())
    if dtype is DType.FLOAT:
        return without_nan(column.cast(pa.float64()))
    if dtype is DType.STRING and not pa.types.is_string(column.type):
        return column.cast(pa.string())
    return column


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
                return self.call(function, arguments)
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
            kind = inner.type if pa.types.is_string(inner.type) else pa.array(options).type
            found = pc.is_in(inner.cast(kind), value_set=pa.array(options, kind))
            found = pc.if_else(pc.is_valid(inner), found, pa.scalar(None, pa.bool_()))
        if len(options) < len(items):  # x IN (1, NULL) is never false
            found = pc.or_kleene(found, pa.scalar(None, pa.bool_()))
        return found

    def call(self, function: str, arguments: tuple[Expr, ...]) -> Any:
        if function in _PATTERNED:
            pattern = arguments[1]
            assert isinstance(pattern, ex.Literal)  # noqa: S101 - the binder lets only literals through
            return _PATTERNED[function](self.value(arguments[0]), pattern.value)
        values = [self.value(a) for a in arguments]
        if function in _CALENDAR:
            first = arguments[0]
            column = self.schema.columns.get(first.name or "") if isinstance(first, ex.Attribute) else None
            unit = (column.unit if column else self.schema.time_unit) or "s"
            return pc.cast(_CALENDAR[function](pc.cast(values[0], pa.timestamp(unit))), pa.int64())
        return _FUNCTIONS[function](*values)


def _fold(combine: Callable[[Any, Any], Any], items: list[Any]) -> Any:
    whole = items[0] if items else pa.scalar(value=False)
    for item in items[1:]:
        whole = combine(whole, item)
    return whole


def _comparable(left: Any, right: Any) -> tuple[Any, Any]:
    """NULL takes the other side's type."""
    if pa.types.is_null(left.type):
        left = pa.scalar(None, right.type)
    if pa.types.is_null(right.type):
        right = pa.scalar(None, left.type)
    return left, right


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
        left, right = pc.cast(left, pa.float64()), pc.cast(right, pa.float64())
        return without_nan(pc.divide(left, _nonzero(right)))
    if op == "%":
        right = _nonzero(right)
        if pa.types.is_floating(left.type) or pa.types.is_floating(right.type):
            quotient = pc.trunc(pc.divide(pc.cast(left, pa.float64()), pc.cast(right, pa.float64())))
        else:
            quotient = pc.divide(left, right)  # Arrow truncates integer division, as SQL's % needs
        return pc.subtract(left, pc.multiply(quotient, right))
    result = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}[op](left, right)
    return without_nan(result) if pa.types.is_floating(result.type) else result


def _nonzero(values: Any) -> Any:
    return pc.if_else(pc.equal(values, 0), pa.scalar(None, values.type), values)


def _float(function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(*values: Any) -> Any:
        result = without_nan(function(*(pc.cast(v, pa.float64()) for v in values)))
        return pc.if_else(pc.is_finite(result), result, pa.scalar(None, pa.float64()))

    return apply


def _whole(function: Callable[..., Any]) -> Callable[..., Any]:
    """floor, ceil and round keep the type of their argument."""

    def apply(value: Any) -> Any:
        return value if pa.types.is_integer(value.type) else function(value)

    return apply


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
    "coalesce": pc.coalesce,
    "nullif": lambda a, b: pc.if_else(pc.fill_null(pc.equal(a, b), fill_value=False), pa.scalar(None, a.type), a),
    "greatest": pc.max_element_wise,
    "least": pc.min_element_wise,
}
