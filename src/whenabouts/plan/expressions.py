"""Expressions of the pattern language as data: no evaluation here, every walker lives in its own module.

An expression reads events through `Attribute`, which names a step, a column and *which* of the step's events is meant.
Spans never take part in equality, so a parsed query equals the same query built in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any

from whenabouts.errors import Span


class Pick(StrEnum):
    """Which event(s) of a step an attribute reads."""

    CURRENT = "current"  # a.v, b[i].v: the single event, or each element in turn
    PREVIOUS = "previous"  # b[i-1].v
    FIRST = "first"  # b[1].v
    LAST = "last"  # b[last].v: the last element of the complete group
    EACH = "each"  # b[].v, inside an aggregate: all elements of the complete group
    EACH_BEFORE = "before"  # b[1..i-1].v or b[..i-1].v, inside an aggregate: the elements before the current one
    EACH_UPTO = "upto"  # b[1..i].v or b[..i].v, inside an aggregate: the elements up to the current one


@dataclass(frozen=True, slots=True)
class Expr:
    """Base of all expression nodes."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Literal(Expr):
    """A constant; `None` is SQL's NULL. Booleans are not integers here."""

    value: int | float | str | bool | None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class DurationLiteral(Expr):
    """`15 seconds`; the unit is canonical: ns, us, ms, second, minute, hour, day, week."""

    amount: int | float
    unit: str


@dataclass(frozen=True, slots=True)
class Attribute(Expr):
    """A column of an event of a step. `name` is None where the event itself is meant: count(b[]), RETURN a."""

    step: str
    name: str | None
    pick: Pick = Pick.CURRENT


@dataclass(frozen=True, slots=True)
class Aggregate(Expr):
    """count, sum, avg, min, max, first, last or a registered aggregate over the events of one step.

    `argument` is None for count(*), which counts matches and exists only in RETURN TOTAL.
    """

    function: str
    argument: Expr | None


@dataclass(frozen=True, slots=True)
class Arithmetic(Expr):
    """`+ - * / %`."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Negate(Expr):
    """Unary minus."""

    operand: Expr


@dataclass(frozen=True, slots=True)
class Compare(Expr):
    """`= != < <= > >=`, canonical spelling."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class And(Expr):
    """Conjunction of two or more, flattened."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Or(Expr):
    """Disjunction of two or more, flattened."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Not(Expr):
    """Three-valued negation."""

    operand: Expr


@dataclass(frozen=True, slots=True)
class In(Expr):
    """`x IN (1, 2)`; items are literals."""

    operand: Expr
    items: tuple[Literal, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Between(Expr):
    """`x BETWEEN low AND high`, both inclusive."""

    operand: Expr
    low: Expr
    high: Expr
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Like(Expr):
    """SQL LIKE with `%`, `_` and backslash as escape; case-sensitive."""

    operand: Expr
    pattern: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class IsNull(Expr):
    """`x IS [NOT] NULL`."""

    operand: Expr
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """A scalar function of the documented list, lower-case name."""

    function: str
    arguments: tuple[Expr, ...]


def children(expr: Expr) -> Iterator[Expr]:
    """The direct sub-expressions, in source order."""
    for f in fields(expr):
        value = getattr(expr, f.name)
        if isinstance(value, Expr):
            yield value
        elif isinstance(value, tuple):
            yield from (item for item in value if isinstance(item, Expr))


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and everything below it, parents first."""
    stack = [expr]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(list(children(node))))


def transform(expr: Expr, rule: Callable[[Expr], Expr]) -> Expr:
    """Rebuild bottom-up, applying `rule` to every node; nodes that do not change are kept as they are."""
    changes: dict[str, Any] = {}
    for f in fields(expr):
        value = getattr(expr, f.name)
        new: Any = value
        if isinstance(value, Expr):
            new = transform(value, rule)
        elif isinstance(value, tuple) and value and isinstance(value[0], Expr):
            new = tuple(transform(item, rule) for item in value)
            if all(n is v for n, v in zip(new, value, strict=True)):
                new = value
        if new is not value:
            changes[f.name] = new
    return rule(replace(expr, **changes) if changes else expr)


def attributes(expr: Expr) -> Iterator[Attribute]:
    """Every event reference in the expression, those inside aggregates included."""
    return (node for node in walk(expr) if isinstance(node, Attribute))


def steps_of(expr: Expr) -> frozenset[str]:
    """The steps an expression mentions."""
    return frozenset(a.step for a in attributes(expr))


def conjuncts(expr: Expr | None) -> tuple[Expr, ...]:
    """The top-level AND items."""
    if expr is None:
        return ()
    return tuple(c for item in expr.items for c in conjuncts(item)) if isinstance(expr, And) else (expr,)
