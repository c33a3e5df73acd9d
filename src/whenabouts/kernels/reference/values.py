"""The value of an expression: SQL's three-valued logic over plain Python values.

Problem: predicates and RETURN items read one event, an element of a closure, or a whole group, and any value may be
missing. Idea: one function per node kind; `Scope` knows which events the steps are bound to, which element `b[i]` means
and, inside an aggregate, which element `b[]` means. Missing is None, and NaN and whole numbers beyond 64 bits are read
as None wherever they appear. Invariant: no value returned here is one of those; a comparison with None is None, never
False; whole numbers meet floats as floats.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from typing import Any, Protocol, TypeAlias

from whenabouts.errors import QueryError
from whenabouts.events.schema import DType, Schema
from whenabouts.kernels.reference.functions import LENIENT, alike, call, remainder
from whenabouts.plan.expressions import (
    Aggregate,
    And,
    Arithmetic,
    Attribute,
    Between,
    Call,
    Compare,
    Expr,
    In,
    IsNull,
    Like,
    Literal,
    Negate,
    Not,
    Or,
    Pick,
    attributes,
)
from whenabouts.plan.typing import infer
from whenabouts.plan.units import unit_of

Value: TypeAlias = int | float | str | bool | None
Event: TypeAlias = Mapping[str, Any]


class Fold(Protocol):
    """A registered aggregate: `step` for each value that is not NULL, then `final`."""

    @property
    def init(self) -> tuple[float, ...]: ...
    @property
    def step(self) -> Callable[[tuple[float, ...], float], tuple[float, ...]]: ...
    @property
    def final(self) -> Callable[[tuple[float, ...]], float]: ...


Aggregates: TypeAlias = Mapping[str, Fold]

NO_AGGREGATES: Aggregates = {}
FITS = (-(2**63), 2**63)
GROUP_PICKS = frozenset({Pick.EACH, Pick.EACH_BEFORE, Pick.EACH_UPTO})


@dataclass(frozen=True, slots=True)
class Scope:
    """What an attribute refers to: rows bound to each step, and the elements in question."""

    events: Sequence[Event]
    rows: Mapping[str, tuple[int, ...]]
    schema: Schema
    aggregates: Aggregates = field(default_factory=dict)
    at: Mapping[str, int] = field(default_factory=dict)  # step -> index of the element written b[i]
    each: Mapping[str, int] = field(default_factory=dict)  # step -> index of the element an aggregate has come to

    def value(self, attribute: Attribute) -> Value:
        """The column of the event the attribute picks; None if there is no such event."""
        rows, index = self.rows.get(attribute.step, ()), self.index(attribute)
        if not 0 <= index < len(rows):
            return None
        row = rows[index]
        if attribute.name is not None:
            return known(self.events[row][attribute.name])
        column = self.schema.roles.id
        return row if column is None else known(self.events[row][column])

    def index(self, attribute: Attribute) -> int:
        step = attribute.step
        if step in self.each:
            return self.each[step]
        match attribute.pick:
            case Pick.FIRST:
                return 0
            case Pick.LAST:
                return len(self.rows.get(step, ())) - 1
            case Pick.PREVIOUS:
                return self.at.get(step, 0) - 1
            case _:
                return self.at.get(step, 0)

    def elements(self, argument: Expr) -> Iterator[Scope]:
        """One scope per event an aggregate runs over."""
        group = grouped(argument)
        if group is None:
            raise QueryError("wrong-reference", "an aggregate needs a step to run over", span=argument.span)
        count = len(self.rows.get(group.step, ()))
        if group.pick is Pick.EACH_BEFORE:
            count = min(count, self.at.get(group.step, 0))
        elif group.pick is Pick.EACH_UPTO:
            count = min(count, self.at.get(group.step, 0) + 1)
        return (replace(self, each={group.step: index}) for index in range(count))


def grouped(argument: Expr) -> Attribute | None:
    """The attribute that says which group an aggregate runs over; count(a.v) of a single step means its one event."""
    found = list(attributes(argument))
    return next((a for a in found if a.pick in GROUP_PICKS), found[0] if found else None)


def known(value: Any) -> Value:
    """NaN is NULL, and so is a whole number that does not fit 64 bits."""
    beyond = (
        math.isnan(value) if isinstance(value, float) else isinstance(value, int) and not FITS[0] <= value < FITS[1]
    )
    return None if beyond else value


def evaluate(expr: Expr, scope: Scope) -> Value:
    """The value of `expr`; None is NULL (and, for a condition, neither true nor false)."""
    rule = _RULES.get(type(expr))
    if rule is None:
        raise QueryError("unsupported", f"{type(expr).__name__} has no value before the query is bound", span=expr.span)
    return known(rule(expr, scope))


COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _compare(expr: Compare, scope: Scope) -> Value:
    return compared(expr.op, evaluate(expr.left, scope), evaluate(expr.right, scope))


def compared(op: str, left: Value, right: Value) -> bool | None:
    """SQL comparison."""
    return None if left is None or right is None else COMPARE[op](*alike((left, right)))


def all_of(values: Iterator[Value]) -> bool | None:
    """Three-valued AND: false wins over NULL, NULL over true."""
    found = list(values)
    if any(v is False for v in found):
        return False
    return None if any(v is None for v in found) else True


def inverted(value: Value) -> bool | None:
    """Three-valued NOT."""
    return None if value is None else not value


def any_of(values: Iterator[Value]) -> bool | None:
    """Three-valued OR."""
    return inverted(all_of(inverted(v) for v in values))


def _in(expr: In, scope: Scope) -> Value:
    value = evaluate(expr.operand, scope)
    found = any_of(compared("=", value, evaluate(item, scope)) for item in expr.items)
    return inverted(found) if expr.negated else found


def _between(expr: Between, scope: Scope) -> Value:
    value = evaluate(expr.operand, scope)
    bounds = ((">=", expr.low), ("<=", expr.high))
    found = all_of(compared(op, value, evaluate(bound, scope)) for op, bound in bounds)
    return inverted(found) if expr.negated else found


@cache
def _like_regex(pattern: str) -> re.Pattern[str]:
    parts, characters = [], iter(pattern)
    for c in characters:
        if c == "\\":
            parts.append(re.escape(next(characters, c)))
        else:
            parts.append({"%": ".*", "_": "."}.get(c, re.escape(c)))
    return re.compile("".join(parts), re.DOTALL)


def _like(expr: Like, scope: Scope) -> Value:
    value = evaluate(expr.operand, scope)
    found = None if value is None else _like_regex(expr.pattern).fullmatch(str(value)) is not None
    return inverted(found) if expr.negated else found


def _is_null(expr: IsNull, scope: Scope) -> Value:
    return (evaluate(expr.operand, scope) is None) != expr.negated


def _arithmetic(expr: Arithmetic, scope: Scope) -> Value:
    left: Any = evaluate(expr.left, scope)
    right: Any = evaluate(expr.right, scope)
    if left is None or right is None or (expr.op in "/%" and right == 0):
        return None
    rules = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "%": remainder}
    operands = map(float, (left, right)) if expr.op == "/" else alike((left, right))
    result: Value = rules[expr.op](*operands)
    return result


def _negate(expr: Negate, scope: Scope) -> Value:
    value: Any = evaluate(expr.operand, scope)
    return None if value is None else -value


def _average(values: list[Any]) -> Value:
    return float(sum(values)) / len(values)


# Over the values that are not NULL, at least one, in time order.
AGGREGATES: Mapping[str, Callable[[list[Any]], Value]] = {
    "sum": sum,
    "avg": _average,
    "min": min,
    "max": max,
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
}


def aggregated(function: str, values: list[Value], aggregates: Aggregates) -> Value:
    """An aggregate over these values: NULLs are ignored, and over nothing `count` is 0, every other aggregate NULL."""
    found: list[Any] = [v for v in values if v is not None]
    if function == "count":
        return len(found)
    if function in aggregates and found:
        fold = aggregates[function]
        return known(fold.final(reduce(fold.step, map(float, found), fold.init)))
    return AGGREGATES[function](found) if found else None


def _aggregate(expr: Aggregate, scope: Scope) -> Value:
    if expr.argument is None:
        raise QueryError("wrong-reference", "count(*) counts matches: only in RETURN TOTAL", span=expr.span)
    argument = expr.argument
    values = [evaluate(argument, element) for element in scope.elements(argument)]
    return aggregated(expr.function, values, scope.aggregates)


def _call(expr: Call, scope: Scope) -> Value:
    arguments: list[Any] = [evaluate(a, scope) for a in expr.arguments]
    if expr.function in LENIENT and infer(expr, scope.schema) is DType.FLOAT:
        arguments = [None if a is None else float(a) for a in arguments]
    result: Value = call(expr.function, arguments, unit_of(expr, scope.schema))
    return result


_RULES: Mapping[type[Expr], Callable[[Any, Scope], Value]] = {
    Literal: lambda expr, _: expr.value,
    Attribute: lambda expr, scope: scope.value(expr),
    Aggregate: _aggregate,
    Arithmetic: _arithmetic,
    Negate: _negate,
    Compare: _compare,
    And: lambda expr, scope: all_of(evaluate(item, scope) for item in expr.items),
    Or: lambda expr, scope: any_of(evaluate(item, scope) for item in expr.items),
    Not: lambda expr, scope: inverted(evaluate(expr.operand, scope)),
    In: _in,
    Between: _between,
    Like: _like,
    IsNull: _is_null,
    Call: _call,
}
