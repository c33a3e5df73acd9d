"""The types of expressions, and the table of scalar functions.

Problem: a query must be refused before it runs when its types do not fit, with a message that shows both sides. Idea:
one rule per node kind over seven value types; arithmetic is a table. Two readings share the rules: *as written*, where
a number is no time ("15 what?") unless the clock itself is a plain integer, and *bound* (the default), where literal
times and durations have already become integers. Invariant: what passes as written passes after binding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

from whenabouts.errors import QueryError, did_you_mean
from whenabouts.events.schema import DType, Schema
from whenabouts.plan.expressions import (
    Aggregate,
    And,
    Arithmetic,
    Attribute,
    Between,
    Call,
    Compare,
    DurationLiteral,
    Expr,
    In,
    IsNull,
    Like,
    Literal,
    Negate,
    Not,
    Or,
    walk,
)
from whenabouts.plan.render import render_expr

INT, FLOAT, BOOL, STRING = DType.INT, DType.FLOAT, DType.BOOL, DType.STRING
TIME, DURATION, NULL = DType.TIME, DType.DURATION, DType.NULL

NUMBER = frozenset({INT, FLOAT})
QUANTITY = NUMBER | {DURATION}
TEXT = frozenset({STRING})
MOMENT = frozenset({TIME})
ANY = frozenset(DType)
ORDERED = NUMBER | {STRING, TIME, DURATION}
SUMMABLE = {"min": QUANTITY | MOMENT, "max": QUANTITY | MOMENT}  # others: QUANTITY

WORDS = {
    INT: "an integer",
    FLOAT: "a float",
    BOOL: "a truth value",
    STRING: "a string",
    TIME: "a time",
    DURATION: "a duration",
    NULL: "NULL",
}


@dataclass(frozen=True, slots=True)
class Function:
    """A scalar function; result None is the common type of the arguments, `variadic` repeats the last parameter."""

    parameters: tuple[frozenset[DType], ...]
    result: DType | None
    sentence: str
    variadic: bool = False

    def takes(self, count: int) -> bool:
        least = len(self.parameters)
        return count >= least if self.variadic else count == least

    def arity(self) -> str:
        least = len(self.parameters)
        return f"{'at least ' if self.variadic else ''}{least} argument{'s' if least > 1 else ''}"


FUNCTIONS: dict[str, Function] = {
    "abs": Function((QUANTITY,), None, "The absolute value."),
    "sign": Function((QUANTITY,), INT, "-1, 0 or 1."),
    "floor": Function((NUMBER,), None, "The next whole number at or below; the type stays."),
    "ceil": Function((NUMBER,), None, "The next whole number at or above; the type stays."),
    "round": Function((NUMBER,), None, "The nearest whole number, halves away from zero; the type stays."),
    "sqrt": Function((NUMBER,), FLOAT, "The square root; NULL below zero."),
    "ln": Function((NUMBER,), FLOAT, "The natural logarithm; NULL at or below zero."),
    "exp": Function((NUMBER,), FLOAT, "e to the power of the argument."),
    "power": Function((NUMBER, NUMBER), FLOAT, "The first argument to the power of the second."),
    "mod": Function((NUMBER, NUMBER), None, "The same as x % y: the remainder, with the sign of x."),
    "lower": Function((TEXT,), STRING, "In lower case."),
    "upper": Function((TEXT,), STRING, "In upper case."),
    "trim": Function((TEXT,), STRING, "Without spaces at both ends."),
    "length": Function((TEXT,), INT, "The number of characters."),
    "starts_with": Function((TEXT, TEXT), BOOL, "Whether the first string starts with the second."),
    "ends_with": Function((TEXT, TEXT), BOOL, "Whether the first string ends with the second."),
    "contains": Function((TEXT, TEXT), BOOL, "Whether the second string occurs in the first."),
    "coalesce": Function((ANY,), None, "The first argument that is not NULL.", variadic=True),
    "nullif": Function((ANY, ANY), None, "NULL if both arguments are equal, else the first."),
    "greatest": Function((ORDERED, ORDERED), None, "The largest argument; NULLs are skipped.", variadic=True),
    "least": Function((ORDERED, ORDERED), None, "The smallest argument; NULLs are skipped.", variadic=True),
    "hour": Function((MOMENT,), INT, "The hour of the day in UTC, 0 to 23."),
    "minute": Function((MOMENT,), INT, "The minute of the hour in UTC, 0 to 59."),
    "day_of_week": Function((MOMENT,), INT, "The day of the week in UTC, Monday is 1, Sunday is 7."),
}
CALENDAR_FUNCTIONS = frozenset({"hour", "minute", "day_of_week"})
AGGREGATES = ("count", "sum", "avg", "min", "max", "first", "last")


def _arithmetic_table() -> dict[tuple[str, DType, DType], DType]:
    table: dict[tuple[str, DType, DType], DType] = {}
    for left, right in ((INT, INT), (INT, FLOAT), (FLOAT, INT), (FLOAT, FLOAT)):
        for op in "+-*%":
            table[op, left, right] = INT if left is right is INT else FLOAT
        table["/", left, right] = FLOAT
    for op in "+-%":
        table[op, DURATION, DURATION] = DURATION
    for op in "+-*":
        table[op, DURATION, FLOAT] = table[op, FLOAT, DURATION] = FLOAT
    for other in (INT, FLOAT, DURATION):
        table["/", DURATION, other] = FLOAT
    table["*", DURATION, INT] = table["*", INT, DURATION] = DURATION
    table["-", TIME, TIME] = DURATION
    table["+", TIME, DURATION] = table["-", TIME, DURATION] = table["+", DURATION, TIME] = TIME
    table["%", TIME, DURATION] = DURATION
    return table


ARITHMETIC = _arithmetic_table()


def infer(expr: Expr, schema: Schema, *, written: bool = False) -> DType:
    """The type of an expression whose attributes name columns; raises a type-mismatch otherwise.

    `b[].v` has the type of its elements. With `written` the rules for query text apply: an integer is no time.
    """
    return _Typing(schema, written=written).of(expr)


class _Typing:
    """The rules; `loose` lets integers stand for times and durations."""

    def __init__(self, schema: Schema, *, written: bool) -> None:
        self.schema = schema
        self.written = written
        self.loose = not written or schema.time_unit is None
        self.known: dict[int, DType] = {}  # by identity: a node asked for by two rules is typed once

    def of(self, expr: Expr) -> DType:
        kind = self.known.get(id(expr))
        if kind is None:
            kind = self.known[id(expr)] = RULES[type(expr)](self, expr)
        return kind

    # -- leaves

    def literal(self, expr: Literal) -> DType:
        kinds = {type(None): NULL, bool: BOOL, int: INT, float: FLOAT, str: STRING}
        return kinds[type(expr.value)]

    def duration(self, _: DurationLiteral) -> DType:
        return DURATION

    def attribute(self, expr: Attribute) -> DType:
        name = self.schema.roles.id if expr.name is None else expr.name
        if name is None:
            return INT  # the row number
        column = self.schema.columns.get(name)
        if column is None:
            hint = did_you_mean(name, self.schema.columns)
            raise QueryError("unknown-name", f"there is no column {name!r}", span=expr.span, hint=hint)
        return column.dtype

    # -- values

    def aggregate(self, expr: Aggregate) -> DType:
        argument = None if expr.argument is None else self.of(expr.argument)
        if expr.function == "count" or argument is None:
            return INT
        if expr.function in {"first", "last"}:
            return argument
        allowed = SUMMABLE.get(expr.function, QUANTITY)
        if argument is not NULL and argument not in allowed:
            self._wrong_argument(expr.function, allowed, expr.argument, argument)
        return argument if expr.function in {"sum", "min", "max"} else FLOAT

    def call(self, expr: Call) -> DType:
        function = FUNCTIONS.get(expr.function)
        if function is None or not function.takes(len(expr.arguments)):
            raise AssertionError(f"unchecked call of {expr.function}")
        parameters = function.parameters + function.parameters[-1:] * (len(expr.arguments) - len(function.parameters))
        types = [self.of(argument) for argument in expr.arguments]
        for argument, given, allowed in zip(expr.arguments, types, parameters, strict=True):
            stands_for_time = given is INT and self.loose and TIME in allowed
            if given is not NULL and given not in allowed and not stands_for_time:
                self._wrong_argument(expr.function, allowed, argument, given)
        if expr.function in CALENDAR_FUNCTIONS and self.schema.time_unit is None:
            raise QueryError(
                "type-mismatch",
                f"{expr.function} needs a calendar, but the clock counts plain integers",
                span=expr.span,
                hint="use a timestamp column as the time",
            )
        return self._common(expr, types) if function.result is None else function.result

    def arithmetic(self, expr: Arithmetic) -> DType:
        left, right = self.of(expr.left), self.of(expr.right)
        if NULL in (left, right):
            other = right if left is NULL else left
            return FLOAT if expr.op == "/" else other
        options = [(left, right)]
        if self.loose:
            options += [(DURATION if left is INT else left, right), (left, DURATION if right is INT else right)]
        for pair in options:
            result = ARITHMETIC.get((expr.op, *pair))
            if result is not None and (expr.op in "*/" or self._same_measure(expr.left, left, expr.right, right)):
                return result
        return self._mismatch(f"cannot compute {{}} {expr.op} {{}}", expr, expr.left, expr.right, left, right)

    def negate(self, expr: Negate) -> DType:
        kind = self.of(expr.operand)
        if kind not in QUANTITY | {NULL}:
            self._wrong_argument("minus", QUANTITY, expr.operand, kind)
        return kind

    # -- conditions

    def compare(self, expr: Compare) -> DType:
        self._comparable(expr.op, expr, expr.left, expr.right)
        return BOOL

    def junction(self, expr: And | Or) -> DType:
        for item in expr.items:
            self._condition(item)
        return BOOL

    def negation(self, expr: Not) -> DType:
        self._condition(expr.operand)
        return BOOL

    def in_list(self, expr: In) -> DType:
        for item in expr.items:
            self._comparable("=", item, expr.operand, item)
        return BOOL

    def between(self, expr: Between) -> DType:
        self._comparable(">=", expr, expr.operand, expr.low)
        self._comparable("<=", expr, expr.operand, expr.high)
        return BOOL

    def like(self, expr: Like) -> DType:
        kind = self.of(expr.operand)
        if kind not in (STRING, NULL):
            self._wrong_argument("LIKE", TEXT, expr.operand, kind)
        return BOOL

    def is_null(self, expr: IsNull) -> DType:
        self.of(expr.operand)
        return BOOL

    # -- what fits

    def _condition(self, expr: Expr) -> None:
        kind = self.of(expr)
        if kind not in (BOOL, NULL):
            refuse_condition(expr, kind)

    def _comparable(self, op: str, whole: Expr, left: Expr, right: Expr) -> None:
        first, second = self.of(left), self.of(right)
        if not self._fits(left, first, right, second):
            self._mismatch("cannot compare {} with {}", whole, left, right, first, second)
        if BOOL in (first, second) and op not in ("=", "!="):
            self._mismatch(f"{op} needs an order, which {{}} and {{}} do not have", whole, left, right, first, second)

    def _fits(self, left: Expr, first: DType, right: Expr, second: DType) -> bool:
        pair = {first, second}
        if NULL in pair or first is second or pair == NUMBER:
            return True
        if self.loose and pair in ({INT, DURATION}, {INT, TIME}):
            return True
        if pair == {FLOAT, DURATION}:
            return self._same_measure(left, first, right, second)
        date = left if first is STRING else right
        return self.written and pair == {STRING, TIME} and isinstance(date, Literal)

    def _same_measure(self, left: Expr, first: DType, right: Expr, second: DType) -> bool:
        """A float is a duration only if computed from times or durations, such as 0.5 * avg(b[].took)."""
        if self.loose or {first, second} != {FLOAT, DURATION}:
            return True
        number = left if first is FLOAT else right
        return any(
            isinstance(node, DurationLiteral) or (isinstance(node, Attribute) and self.of(node) in (TIME, DURATION))
            for node in walk(number)
        )

    def _common(self, call: Call, types: list[DType]) -> DType:
        chosen, kind = call.arguments[0], types[0]
        for argument, other in zip(call.arguments, types, strict=True):
            if not self._fits(chosen, kind, argument, other):
                self._mismatch("{} and {} have no type in common", call, chosen, argument, kind, other)
            if kind is NULL or _wider(other, kind):
                chosen, kind = argument, other
        return kind

    def _wrong_argument(self, function: str, allowed: Iterable[DType], argument: Expr | None, given: DType) -> NoReturn:
        *others, last = (WORDS[t] for t in DType if t in allowed and t is not NULL)
        needs = f"{', '.join(others)} or {last}" if others else last
        shown = "" if argument is None else shorten(render_expr(argument))
        span = None if argument is None else argument.span
        raise QueryError("type-mismatch", f"{function} needs {needs}, but {shown} is {WORDS[given]}", span=span)

    def _mismatch(self, sentence: str, whole: Expr, left: Expr, right: Expr, first: DType, second: DType) -> NoReturn:
        sides = [f"{shorten(render_expr(e))} ({WORDS[t]})" for e, t in ((left, first), (right, second))]
        hint = _hint({first, second}, loose=self.loose)
        raise QueryError("type-mismatch", sentence.format(*sides), span=whole.span, hint=hint)


def _wider(other: DType, kind: DType) -> bool:
    """Whether `other` is the type of a list that holds both."""
    return (kind is INT and other in {FLOAT, DURATION, TIME}) or (kind is DURATION and other is FLOAT)


def _hint(pair: set[DType], *, loose: bool) -> str | None:
    if not loose and DURATION in pair and pair & NUMBER:
        return "write a duration with its unit, such as 15 seconds"
    if not loose and TIME in pair and pair & {INT, FLOAT, DURATION}:
        return "a time compares with another time or with a date string such as '2024-05-31 12:00:00'"
    return None


def refuse_condition(expr: Expr, kind: DType) -> NoReturn:
    """Raise: a value stands where something true or false is needed."""
    message = f"a condition is needed, but {shorten(render_expr(expr))} is {WORDS[kind]}"
    raise QueryError("type-mismatch", message, span=expr.span, hint="compare it with something")


def shorten(text: str, length: int = 60) -> str:
    """At most `length` characters of a text, for messages."""
    return text if len(text) <= length else text[: length - 1] + "…"


RULES: dict[type[Expr], Callable[[_Typing, Any], DType]] = {
    Literal: _Typing.literal,
    DurationLiteral: _Typing.duration,
    Attribute: _Typing.attribute,
    Aggregate: _Typing.aggregate,
    Call: _Typing.call,
    Arithmetic: _Typing.arithmetic,
    Negate: _Typing.negate,
    Compare: _Typing.compare,
    And: _Typing.junction,
    Or: _Typing.junction,
    Not: _Typing.negation,
    In: _Typing.in_list,
    Between: _Typing.between,
    Like: _Typing.like,
    IsNull: _Typing.is_null,
}
