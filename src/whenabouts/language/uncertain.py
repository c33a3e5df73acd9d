"""What a query may not ask over uncertain time, and what only uncertain time gives a meaning.

An uncertain time has no value that could be subtracted or compared before the worlds are told apart (spec of imprecise
time, section 1), and matching knows neighbours in time only by probability: no contiguity, no counting of events.
Every refusal says what to write instead. Columns that bound a time stay readable, as columns like any other.
"""

from __future__ import annotations

from collections.abc import Iterator

from whenabouts.errors import QueryError, UnsupportedError
from whenabouts.events.schema import Schema
from whenabouts.language.assembly import STRATEGY
from whenabouts.plan.expressions import Aggregate, Arithmetic, Expr, Negate, Pick, attributes, walk
from whenabouts.plan.pattern import (
    UNCERTAIN_COLUMNS,
    Absent,
    Closure,
    Output,
    Query,
    Sequence,
    Strategy,
    walk_pattern,
)
from whenabouts.plan.render import render_expr, render_pattern
from whenabouts.plan.typing import shorten

STRATEGIES = (Strategy.ANY, Strategy.NEXT)
CLOSURES = (Closure.MAXIMAL, Closure.SET)
EXPECTED = ("count", "sum")  # aggregates with an expected value that needs no list of matches
ORDERED = (Pick.PREVIOUS, Pick.FIRST, Pick.LAST, Pick.EACH_BEFORE, Pick.EACH_UPTO)


def check_times(query: Query, schema: Schema) -> None:
    """Hold a query with named columns and plain values against the kind of time of its events."""
    if schema.roles.exact:
        if query.closure is Closure.SET:
            message = "CLOSURE set is a reading of closures over uncertain time; over exact time they are sequences"
            hint = 'leave it out, or say how uncertain times are: wa.query(text, time=("lower", "upper"))'
            raise QueryError("unsupported", message, span=query.spans.get("CLOSURE"), hint=hint)
        return
    _check_clauses(query)
    _check_absent(query)
    _check_output(query)
    for expr in _expressions(query):
        _check_arithmetic(expr, schema)
        if query.closure is Closure.SET:
            _check_order(expr)


def _expressions(query: Query) -> Iterator[Expr]:
    yield from query.where
    yield from (item.expr for item in query.measures)


def _check_clauses(query: Query) -> None:
    if query.strategy not in STRATEGIES:
        message = f"{query.strategy} needs neighbours in time, which uncertain times do not have"
        hint = "use skip_till_any_match or skip_till_next_match"
        raise UnsupportedError("unsupported", message, span=query.spans.get(STRATEGY), hint=hint)
    if query.window is not None and query.window.unit == "event":
        message = "WITHIN … EVENTS counts events between others, which uncertain times leave open"
        raise UnsupportedError("unsupported", message, span=query.window.span, hint="give a length of time: WITHIN 10")
    if query.closure not in CLOSURES:
        message = f"CLOSURE {query.closure} is not supported over uncertain time"
        hint = "leave it out, or write CLOSURE set for unordered closures"
        raise UnsupportedError("unsupported", message, span=query.spans.get("CLOSURE"), hint=hint)


def _check_absent(query: Query) -> None:
    for pattern in query.patterns:
        for node in walk_pattern(pattern):
            if isinstance(node, Absent) and isinstance(node.part, Sequence) and len(node.part.parts) > 1:
                message = f"{shorten(render_pattern(node))}: an absent sequence is not supported over uncertain time"
                hint = "single events can be absent: !(N n)"
                raise UnsupportedError("unsupported", message, span=node.span, hint=hint)


def _check_output(query: Query) -> None:
    if query.output is Output.COLLAPSED:
        message = "RETURN COLLAPSED is not supported over uncertain time"
        hint = "CLOSURE set gives one match for all orders of the same events"
        raise UnsupportedError("unsupported", message, span=query.spans.get("RETURN"), hint=hint)
    for item in query.measures:
        if query.output is not Output.TOTAL and item.name in UNCERTAIN_COLUMNS:
            message = f"over uncertain time every match row has a column {item.name!r}"
            raise QueryError("duplicate-name", message, span=item.expr.span, hint="name the item: … AS other_name")
        function = item.expr.function if isinstance(item.expr, Aggregate) else None
        if query.output is Output.TOTAL and function not in EXPECTED:
            message = f"{function} over all possible matches has no expected value that can be added up"
            hint = "count and sum have: RETURN TOTAL count(*), sum(b[].v)"
            raise UnsupportedError("unsupported", message, span=item.expr.span, hint=hint)


def _check_arithmetic(expr: Expr, schema: Schema) -> None:
    """`c.time - a.time` would be computed from what was recorded, as if it were exact."""
    for node in walk(expr):
        if not isinstance(node, Arithmetic | Negate):
            continue
        if any(a.name in schema.roles.time_columns for a in attributes(node)):
            message = f"{shorten(render_expr(node))} computes with an uncertain time as if it were exact"
            hint = "WITHIN bounds the length of a match; the columns themselves can be compared and returned"
            raise UnsupportedError("unsupported", message, span=node.span, hint=hint)


def _check_order(expr: Expr) -> None:
    for reference in attributes(expr):
        if reference.pick in ORDERED:
            message = f"{shorten(render_expr(reference))} needs an order, which CLOSURE set does not have"
            hint = f"read all of {reference.step}, as in max({reference.step}[].v), or leave CLOSURE set out"
            raise UnsupportedError("unsupported", message, span=reference.span, hint=hint)
