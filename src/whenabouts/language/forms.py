"""Building blocks the grammar's rules and the Python builder share, so that both build equal plans.

AND and OR are flattened, a minus before a number belongs to the number, and a function name decides between scalar call
and aggregate. Forms that are no values on their own (`[attr]`, `a.(x, y)`) travel as calls of a name no user can write
until the clause they stand in takes them apart.
"""

from __future__ import annotations

from collections.abc import Iterable

from lark import Token

from whenabouts.errors import QueryError, Span
from whenabouts.language.aggregates import is_aggregate
from whenabouts.language.tokens import span_of
from whenabouts.plan.expressions import Aggregate, And, Call, Expr, Literal, Negate, Or
from whenabouts.plan.pattern import Pattern, Strategy

EQUIVALENCE = "[]"  # [attr, …] in WHERE
EXPANSION = "()"  # a.(x, y) in RETURN
STRATEGIES = tuple(str(s) for s in Strategy)


def misplaced(form: Call) -> QueryError | None:
    """The error for a form that stands where only values may."""
    if form.function == EQUIVALENCE:
        message, hint = "[attr] can stand only in WHERE, joined with AND", "WHERE [node] AND a.v > 5"
    elif form.function == EXPANSION:
        message, hint = "several columns of an event can stand only as a RETURN item", "RETURN a.(x, y)"
    elif form.function in STRATEGIES:
        return misplaced_strategy(form.function, form.span)
    else:
        return None
    return QueryError("syntax", message, span=form.span, hint=hint)


def misplaced_strategy(name: str, span: Span | None) -> QueryError:
    """The error for a selection strategy inside a condition or value."""
    return QueryError("syntax", f"{name.lower()} can stand only in WHERE, joined with AND", span=span)


def cover(first: Token | Expr | Pattern, last: Token | Expr | Pattern) -> Span | None:
    """From the start of the first to the end of the last."""
    start = span_of(first) if isinstance(first, Token) else first.span
    end = span_of(last) if isinstance(last, Token) else last.span
    return None if start is None or end is None else Span(start.start, end.end)


def all_true(items: Iterable[Expr], span: Span | None = None) -> Expr:
    """AND without nesting."""
    flat = tuple(part for item in items for part in (item.items if isinstance(item, And) else (item,)))
    return flat[0] if len(flat) == 1 else And(flat, span=span)


def any_true(items: Iterable[Expr], span: Span | None = None) -> Expr:
    """OR without nesting."""
    flat = tuple(part for item in items for part in (item.items if isinstance(item, Or) else (item,)))
    return flat[0] if len(flat) == 1 else Or(flat, span=span)


def negative(operand: Expr, span: Span | None = None) -> Expr:
    """Unary minus."""
    if isinstance(operand, Literal) and isinstance(operand.value, int | float) and not isinstance(operand.value, bool):
        return Literal(-operand.value, span=span)
    return Negate(operand, span=span)


def call(name: str, arguments: tuple[Expr, ...], span: Span | None = None) -> Expr:
    """A scalar call or an aggregate; whether the function exists is checked with the whole query."""
    function = name.lower()
    if not is_aggregate(function):
        return Call(function, arguments, span=span)
    if len(arguments) == 1:
        return Aggregate(function, arguments[0], span=span)
    hint = f"{function}(b[].v) over the events of a closure b"
    if function == "count" and not arguments:
        hint = "count(b[]) for the events of a closure, count(*) for matches in RETURN TOTAL"
    elif function in ("min", "max"):
        hint = f"to compare several values write {'least' if function == 'min' else 'greatest'}( … )"
    message = f"{function} takes one argument, {len(arguments)} are given"
    raise QueryError("type-mismatch", message, span=span, hint=hint)
