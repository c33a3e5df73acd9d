"""Typed expressions -> expressions over plain values: no dates, no durations with units, no sugar.

Problem: kernels compare integers; people write `15 seconds`, `'2024-05-31'` and BETWEEN. Idea: normalise bottom-up,
then give every comparison one unit, that of the time and duration columns it reads (else that of the clock), and
convert its literals to it. Invariant: only exact conversions; what would be rounded is refused.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from whenabouts.errors import QueryError
from whenabouts.events.schema import DType, Schema
from whenabouts.language import forms
from whenabouts.language.clock import Clock
from whenabouts.language.dates import ticks_of_date
from whenabouts.language.durations import clock_nanoseconds, nanoseconds
from whenabouts.language.limits import INT64_MAX
from whenabouts.plan.expressions import (
    Aggregate,
    And,
    Attribute,
    Between,
    Call,
    Compare,
    DurationLiteral,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    Pick,
    transform,
)
from whenabouts.plan.render import render_expr
from whenabouts.plan.typing import CALENDAR_FUNCTIONS, FUNCTIONS, infer
from whenabouts.plan.units import Truth, domain, measured

FIRST_OF = {Pick.EACH: Pick.FIRST, Pick.EACH_BEFORE: Pick.FIRST, Pick.EACH_UPTO: Pick.FIRST}
LAST_OF = {Pick.EACH: Pick.LAST, Pick.EACH_BEFORE: Pick.PREVIOUS, Pick.EACH_UPTO: Pick.CURRENT}


def plain(expr: Expr, schema: Schema, clock: Clock) -> Expr:
    """The same expression without sugar, dates and durations; attributes already name columns, types already fit."""
    coercion = _Coercion(schema, clock)
    result = transform(transform(expr, normalise), coercion.rule)
    return result if isinstance(result, Truth) else coercion.without_durations(result)


def normalise(node: Expr) -> Expr:
    """One node without sugar: BETWEEN becomes comparisons, first(…) and last(…) become references."""
    match node:
        case Between(operand, low, high, negated):
            above = Compare(">=", operand, low, span=node.span)
            below = Compare("<=", operand, high, span=node.span)
            both = And((above, below), span=node.span)
            return Not(both, span=node.span) if negated else both
        case And(items):
            return forms.all_true(items, node.span)
        case Aggregate("first" | "last" as function, argument) if argument is not None:
            picks = FIRST_OF if function == "first" else LAST_OF
            return transform(argument, lambda n: replace(n, pick=picks[n.pick]) if isinstance(n, Attribute) else n)
        case _:
            return node


class _Coercion:
    """Bottom-up rules: each comparison settles the literals it compares, and the durations below it."""

    def __init__(self, schema: Schema, clock: Clock) -> None:
        self.schema = schema
        self.clock = clock

    def rule(self, node: Expr) -> Expr:
        match node:
            case Compare(_, left, right):
                left, right = self._aligned((left, right))
                return self.without_durations(replace(node, left=left, right=right))
            case In(operand, items):
                literals = tuple(i for i in self._aligned((operand, *items))[1:] if isinstance(i, Literal))
                return self.without_durations(replace(node, items=literals))
            case Call(function, arguments) if FUNCTIONS[function].result is None:
                return replace(node, arguments=self._aligned(arguments))
            case IsNull():
                return self.without_durations(node)
            case Call(function) if function in CALENDAR_FUNCTIONS:
                return self.without_durations(node)
            case _:
                return node

    def _aligned(self, siblings: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Values that are compared with one another, with their literals in the type of the others."""
        types = {infer(s, self.schema) for s in siblings if not isinstance(s, Literal)}
        if DType.TIME in types:
            unit = self._unit(*siblings)
            return tuple(self._date(s, unit) for s in siblings)
        if DType.FLOAT in types:
            return tuple(_as_float(s) for s in siblings)
        return siblings

    def _date(self, sibling: Expr, unit: str | None) -> Expr:
        if not (isinstance(sibling, Literal) and isinstance(sibling.value, str)):
            return sibling
        if unit is None:
            hint = "compare it with an integer, or use a timestamp column as the time"
            message = f"{sibling.value[:40]!r} is a date, but the clock counts plain integers"
            raise QueryError("type-mismatch", message, span=sibling.span, hint=hint)
        return Literal(ticks_of_date(sibling.value, unit, sibling.span), span=sibling.span)

    def without_durations(self, root: Expr) -> Expr:
        """Durations as integers, in the unit of the columns they are compared with."""
        unit = self._unit(root)
        if not any(isinstance(node, DurationLiteral) for node in domain(root)):
            return root
        return transform(root, lambda n: self._integer(n, unit) if isinstance(n, DurationLiteral) else n)

    def _integer(self, literal: DurationLiteral, unit: str | None) -> Literal:
        length = nanoseconds(literal.amount, literal.unit)
        if unit is None:
            ticks = length / self.clock.nanoseconds_per_unit(render_expr(literal), literal.span)
        else:
            ticks = length / clock_nanoseconds(unit)
        return Literal(_whole(ticks, literal, unit), span=literal.span)

    def _unit(self, *roots: Expr) -> str | None:
        """The one unit of all times and durations in these expressions, else the clock's."""
        found: dict[str | None, Attribute] = {}
        for node in (n for root in roots for n in measured(root, self.schema)):
            found.setdefault(self.schema.columns[node.name or ""].unit, node)
        if len(found) > 1:
            (one, first), (other, second) = list(found.items())[:2]
            counts = f"{render_expr(first)} counts {one or 'ticks'}, {render_expr(second)} counts {other or 'ticks'}"
            hint = "bring the columns to one unit in the table"
            raise QueryError("type-mismatch", counts, span=second.span, hint=hint)
        return next(iter(found)) if found else self.schema.time_unit


def _as_float(sibling: Expr) -> Expr:
    if isinstance(sibling, Literal) and type(sibling.value) is int:
        return Literal(float(sibling.value), span=sibling.span)
    return sibling


def _whole(ticks: Fraction, literal: DurationLiteral, unit: str | None) -> int:
    if ticks.denominator != 1:
        counts = f"whole units of {unit}" if unit else "whole ticks"
        message = f"{render_expr(literal)} is not a whole number: the column counts {counts}"
        raise QueryError("type-mismatch", message, span=literal.span)
    if abs(ticks) > INT64_MAX:
        raise QueryError("limit", f"{render_expr(literal)} does not fit into 64 bits", span=literal.span)
    return int(ticks)
