"""Which steps can an event be? Asked in Spark, before anything is shuffled or handed to Python.

Idea: type tests and conditions on one event become Spark columns; together they give one integer per row with a bit per
step. What Spark would not compute exactly like `kernels.columns` stays in Python, with the reason, and Spark's bits are
then a superset. Invariant: a pushed column has the value of its twin in every row, NULL included, and never raises:
NaN is read as NULL first (Spark holds it for the largest number), and nothing that can overflow is pushed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows
from pyspark.sql import types as st

from whenabouts.events.schema import DType, Schema
from whenabouts.kernels.batch import needs_all_events, step_expressions
from whenabouts.kernels.program import Program
from whenabouts.plan import expressions as ex
from whenabouts.plan.bound import Bound
from whenabouts.plan.render import render_expr
from whenabouts.plan.typing import infer
from whenabouts.spark.schema import column

INT_BITS = 31  # steps that fit an integer column
INT64 = 1 << 63
NUMBERS = {DType.INT, DType.FLOAT}
MOMENTS = {DType.INT, DType.TIME}
MANY_OPTIONS = 50
EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - of clocks without a zone
SECONDS_PER_DAY = 86_400


class StaysInPython(Exception):
    """Spark would not compute this exactly as defined; the message says why."""


@dataclass(frozen=True, slots=True)
class Pushed:
    """The bits as a column, a cheap necessary condition that file formats understand, and what was left over."""

    bits: Column
    of_type: Column | None
    remaining: Mapping[str, tuple[ex.Expr, ...]]
    notes: tuple[str, ...]  # for EXPLAIN: one line per step


def push(bound: Bound, program: Program, struct: st.StructType) -> Pushed:
    """Translate what can be translated of the filters of every step."""
    translator = Translator(bound.schema, struct)
    kind = _type_column(bound, struct)
    wide = len(program.steps) > INT_BITS
    bits, remaining, notes = [], {}, []
    for b, step in enumerate(program.steps):
        name = bound.steps[step].type
        tests = [kind == F.lit(name)] if kind is not None and name is not None else []
        left, said = [], [f"type = {name}"] if tests else []
        filters = program.placement.filters[step]
        for written, plain in zip(filters, step_expressions(filters), strict=True):
            try:
                tests.append(translator.value(plain))
                said.append(render_expr(written))
            except StaysInPython as reason:
                left.append(written)
                said.append(f"[in Python: {render_expr(written)}: {reason}]")
        remaining[step] = tuple(left)
        notes.append(f"{step}: {', '.join(said) or 'every event'}")
        one = F.lit(1 << b).cast("bigint" if wide else "int")
        bits.append(F.when(_all(tests), one).otherwise(F.lit(0).cast("bigint" if wide else "int")) if tests else one)
    whole = reduce(lambda x, y: x.bitwiseOR(y), bits)
    return Pushed(whole, _of_type(bound, program, kind), remaining, tuple(notes))


def _all(tests: Sequence[Column]) -> Column:
    return reduce(lambda x, y: x & y, tests)


def _type_column(bound: Bound, struct: st.StructType) -> Column | None:
    name = bound.schema.roles.type
    return None if name is None else column(struct[name])


def _of_type(bound: Bound, program: Program, kind: Column | None) -> Column | None:
    """type IN (…): implied by the bits, but Parquet and Delta can skip rows by it."""
    names = {bound.steps[s].type for s in program.steps}
    if kind is None or None in names or needs_all_events(bound):
        return None
    return kind.isin(sorted(str(n) for n in names))


class Translator:
    """Expressions over one event -> Spark columns. Times become integers, as in the kernels."""

    def __init__(self, schema: Schema, struct: st.StructType) -> None:
        self.schema, self.struct = schema, struct

    def value(self, expr: ex.Expr) -> Column:
        """The column of an expression, or StaysInPython."""
        rule = _RULES.get(type(expr))
        if rule is None:
            raise StaysInPython("arithmetic may overflow")
        return rule(self, expr)

    def dtype(self, expr: ex.Expr) -> DType:
        return infer(expr, self.schema)

    # -- leaves

    def attribute(self, expr: ex.Attribute) -> Column:
        field = self.struct[expr.name or ""]
        found, kind = column(field), field.dataType
        if isinstance(kind, st.StringType | st.BooleanType | st.LongType):
            return found
        if isinstance(kind, st.ByteType | st.ShortType | st.IntegerType):
            return found.cast("bigint")
        if isinstance(kind, st.DoubleType | st.FloatType):
            return F.nanvl(found.cast("double"), F.lit(None).cast("double"))
        if isinstance(kind, st.TimestampType):
            return F.unix_micros(found)
        if isinstance(kind, st.DateType):
            return F.unix_date(found).cast("bigint") * F.lit(SECONDS_PER_DAY).cast("bigint")
        raise StaysInPython(f"{expr.name} has type {kind.simpleString()}")

    def literal(self, expr: ex.Literal) -> Column:
        value = expr.value
        if isinstance(value, int) and not isinstance(value, bool):
            if not -INT64 <= value < INT64:
                raise StaysInPython("the number does not fit 64 bits")
            return F.lit(value).cast("bigint")
        if isinstance(value, str) and not value.isprintable():
            raise StaysInPython("the text holds control characters")
        return F.lit(value)

    # -- conditions

    def compare(self, expr: ex.Compare) -> Column:
        kinds = {self.dtype(expr.left), self.dtype(expr.right)} - {DType.NULL}
        if len(kinds) > 1 and not (kinds <= NUMBERS or kinds <= MOMENTS):
            raise StaysInPython("it compares values of two types")
        moment = self.moment(expr)
        if moment is not None:
            return moment
        return _COMPARE[expr.op](self.value(expr.left), self.value(expr.right))

    def moment(self, expr: ex.Compare) -> Column | None:
        """A timestamp against a constant: in Spark's own type, so that files and partitions can be skipped."""
        left, right, op = expr.left, expr.right, expr.op
        if isinstance(left, ex.Literal):
            left, right, op = right, left, _MIRRORED[op]
        if not (isinstance(left, ex.Attribute) and isinstance(right, ex.Literal) and type(right.value) is int):
            return None
        field = self.struct[left.name or ""]
        if isinstance(field.dataType, st.TimestampType) and -INT64 <= right.value < INT64:
            return _COMPARE[op](column(field), F.timestamp_micros(F.lit(right.value).cast("bigint")))
        if isinstance(field.dataType, st.TimestampNTZType):
            return _COMPARE[op](column(field), F.to_timestamp_ntz(F.lit(_as_text(right.value))))
        return None

    def junction(self, expr: ex.And | ex.Or) -> Column:
        items = [self.value(item) for item in expr.items]
        return reduce((lambda x, y: x & y) if isinstance(expr, ex.And) else (lambda x, y: x | y), items)

    def negation(self, expr: ex.Not) -> Column:
        return ~self.value(expr.operand)

    def is_null(self, expr: ex.IsNull) -> Column:
        inner = self.value(expr.operand)
        return inner.isNotNull() if expr.negated else inner.isNull()

    def like(self, expr: ex.Like) -> Column:
        if "\\" in expr.pattern:
            raise StaysInPython("the pattern escapes characters")
        if self.dtype(expr.operand) is DType.NULL:
            raise StaysInPython("NULL has no type")
        found = self.value(expr.operand).like(expr.pattern)
        return ~found if expr.negated else found

    def contained(self, expr: ex.In) -> Column:
        inner, kind = self.value(expr.operand), self.dtype(expr.operand)
        options = {self.dtype(item) for item in expr.items} - {DType.NULL}
        if kind is DType.FLOAT and any(item.value == 0 for item in expr.items):
            raise StaysInPython("0.0 and -0.0 differ in lists")
        if options - {kind} and not (kind is DType.FLOAT and options <= NUMBERS):
            raise StaysInPython("the list holds values of another type")
        if len(expr.items) > MANY_OPTIONS:
            raise StaysInPython(f"the list has more than {MANY_OPTIONS} items")
        found = reduce(lambda x, y: x | y, [inner == self.value(item) for item in expr.items])
        return ~found if expr.negated else found

    # -- functions

    def call(self, expr: ex.Call) -> Column:
        function = _FUNCTIONS.get(expr.function)
        if function is None:
            raise StaysInPython(f"Spark's {expr.function} may differ")
        if expr.function not in _ONE_SORT:
            kinds = {self.dtype(a) for a in expr.arguments}
            if len(kinds) > 1 or kinds == {DType.NULL}:
                raise StaysInPython("its arguments have several types")
        return function(*(self.value(a) for a in expr.arguments))


def _as_text(micros: int) -> str:
    """A moment as Spark reads it."""
    try:
        return (EPOCH + dt.timedelta(microseconds=micros)).isoformat(" ")
    except OverflowError as error:
        raise StaysInPython("the time is out of the calendar's range") from error


_COMPARE: dict[str, Callable[[Column, Column], Column]] = {
    "=": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
}
_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

_ONE_SORT = {"length", "trim", "starts_with", "ends_with", "contains"}  # functions of strings only
_FUNCTIONS: dict[str, Callable[..., Column]] = {
    "length": lambda v: F.char_length(v).cast("bigint"),
    "trim": F.trim,
    "starts_with": F.startswith,
    "ends_with": F.endswith,
    "contains": F.contains,
    "coalesce": F.coalesce,
    "greatest": F.greatest,
    "least": F.least,
}

_RULES: dict[type[ex.Expr], Callable[[Translator, Any], Column]] = {
    ex.Attribute: Translator.attribute,
    ex.Literal: Translator.literal,
    ex.Compare: Translator.compare,
    ex.And: Translator.junction,
    ex.Or: Translator.junction,
    ex.Not: Translator.negation,
    ex.IsNull: Translator.is_null,
    ex.Like: Translator.like,
    ex.In: Translator.contained,
    ex.Call: Translator.call,
}
