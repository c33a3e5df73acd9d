"""Expressions in Python: `b.i["v"] > b.prev["v"]` builds the node that `b[i].v > b[i-1].v` parses to.

A `Value` wraps an expression and turns operators into nodes; nothing is evaluated. Since Python decides the truth of
`and`, `or`, `not` and of chained comparisons itself, those raise an error that names `&`, `|` and `~`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from whenabouts.errors import QueryError
from whenabouts.language import forms
from whenabouts.language.durations import from_timedelta
from whenabouts.plan.expressions import (
    Aggregate,
    Arithmetic,
    Attribute,
    Between,
    Compare,
    DurationLiteral,
    Expr,
    In,
    IsNull,
    Like,
    Literal,
    Negate,
    Not,
    Pick,
)

Constant = int | float | str | bool | timedelta | datetime | None


class Value:
    """A value or condition of a query under construction."""

    __slots__ = ("expr",)
    __hash__ = None  # type: ignore[assignment]  # == builds a comparison
    __array_ufunc__ = None  # NumPy's numbers leave operators to us, on both sides

    def __init__(self, expr: Expr) -> None:
        self.expr = expr

    def __repr__(self) -> str:
        return f"Value({self.expr!r})"

    def __bool__(self) -> bool:
        raise QueryError(
            "type-mismatch",
            "a condition of a query has no truth value in Python",
            hint="write & | ~ for AND OR NOT, and (a < b) & (b < c) for a < b < c",
        )

    # ---- arithmetic

    def __add__(self, other: Operand) -> Value:
        return _arithmetic("+", self, other)

    def __radd__(self, other: Operand) -> Value:
        return _arithmetic("+", other, self)

    def __sub__(self, other: Operand) -> Value:
        return _arithmetic("-", self, other)

    def __rsub__(self, other: Operand) -> Value:
        return _arithmetic("-", other, self)

    def __mul__(self, other: Operand) -> Value:
        return _arithmetic("*", self, other)

    def __rmul__(self, other: Operand) -> Value:
        return _arithmetic("*", other, self)

    def __truediv__(self, other: Operand) -> Value:
        return _arithmetic("/", self, other)

    def __rtruediv__(self, other: Operand) -> Value:
        return _arithmetic("/", other, self)

    def __mod__(self, other: Operand) -> Value:
        return _arithmetic("%", self, other)

    def __rmod__(self, other: Operand) -> Value:
        return _arithmetic("%", other, self)

    def __neg__(self) -> Value:
        return Value(forms.negative(self.expr))

    # ---- conditions

    def __eq__(self, other: Operand) -> Value:  # type: ignore[override]
        return Value(Compare("=", self.expr, expression(other)))

    def __ne__(self, other: Operand) -> Value:  # type: ignore[override]
        return Value(Compare("!=", self.expr, expression(other)))

    def __lt__(self, other: Operand) -> Value:
        return Value(Compare("<", self.expr, expression(other)))

    def __le__(self, other: Operand) -> Value:
        return Value(Compare("<=", self.expr, expression(other)))

    def __gt__(self, other: Operand) -> Value:
        return Value(Compare(">", self.expr, expression(other)))

    def __ge__(self, other: Operand) -> Value:
        return Value(Compare(">=", self.expr, expression(other)))

    def __and__(self, other: Operand) -> Value:
        return Value(forms.all_true((self.expr, expression(other))))

    def __or__(self, other: Operand) -> Value:
        return Value(forms.any_true((self.expr, expression(other))))

    def __invert__(self) -> Value:
        if isinstance(self.expr, In | Between | Like | IsNull):
            return Value(replace(self.expr, negated=not self.expr.negated))
        return Value(Not(self.expr))

    def isin(self, items: Iterable[Constant]) -> Value:
        """`x IN (…)`."""
        literals = [expression(item) for item in items]
        constants = tuple(item for item in literals if isinstance(item, Literal))
        if not constants or len(constants) < len(literals):
            raise QueryError("type-mismatch", "isin takes one or more plain constants")
        return Value(In(self.expr, constants))

    def between(self, low: Operand, high: Operand) -> Value:
        """`x BETWEEN low AND high`."""
        return Value(Between(self.expr, expression(low), expression(high)))

    def like(self, pattern: str) -> Value:
        """`x LIKE 'pattern'`."""
        if not isinstance(pattern, str):
            raise QueryError("type-mismatch", f"LIKE takes a string, not {type(pattern).__name__}")
        return Value(Like(self.expr, pattern))

    def is_null(self) -> Value:
        """`x IS NULL`; `~x.is_null()` is `x IS NOT NULL`."""
        return Value(IsNull(self.expr))


@dataclass(frozen=True, slots=True)
class Events:
    """Which events of a step are meant; `events["v"]` is a column of them, `events` itself their ids."""

    step: str
    pick: Pick

    def __getitem__(self, column: str) -> Value:
        if not isinstance(column, str):
            raise QueryError("type-mismatch", f"a column is named by a string, not {column!r}")
        return Value(Attribute(self.step, column, self.pick))


Operand = Value | Events | Constant


def python_value(value: object) -> object:
    """A NumPy number, truth value or string as Python's; anything else as it is."""
    if isinstance(value, np.bool_ | np.integer | np.floating | np.str_) and not isinstance(value, np.timedelta64):
        return float(value) if isinstance(value, np.floating) else value.item()
    return value


def expression(operand: object) -> Expr:
    """The node for whatever may stand beside a `Value`."""
    operand = python_value(operand)
    match operand:
        case Value():
            return operand.expr
        case Events(step, pick):
            return Attribute(step, None, pick)
        case None | bool() | int() | float() | str():
            return Literal(operand)
        case timedelta():
            amount, unit = from_timedelta(abs(operand))
            duration = DurationLiteral(amount, unit)
            return Negate(duration) if operand < timedelta(0) else duration
        case datetime():
            return Literal(operand.isoformat(" "))
        case _:
            hint = "int, float, str, bool, None, timedelta, datetime or a column of a step such as a['v']"
            raise QueryError("type-mismatch", f"a query cannot contain a {type(operand).__name__}", hint=hint)


def call(function: str, *arguments: Operand) -> Value:
    """A function or aggregate: `call("avg", b.all["v"])`; `call("count")` counts matches in `total`."""
    if function == "count" and not arguments:
        return Value(Aggregate("count", None))
    return Value(forms.call(function, tuple(expression(argument) for argument in arguments)))


def _arithmetic(op: str, left: Operand, right: Operand) -> Value:
    return Value(Arithmetic(op, expression(left), expression(right)))
