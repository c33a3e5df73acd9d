"""Checks of a whole query that need no table; text and builder go through the same function.

Sizes first (the walkers after it recurse), then the pattern, then what conditions and RETURN items say about its steps.
Invariant: a query that passes has the meaning docs/semantics.md gives it, and `render` prints text that parses to it.
"""

from __future__ import annotations

from dataclasses import replace

from whenabouts.errors import QueryError, UnsupportedError
from whenabouts.language.bounds import check_confidence, check_limit, check_size, check_text
from whenabouts.language.limits import INT64_MAX
from whenabouts.language.references import check_condition, check_item, check_total
from whenabouts.language.shapes import check_shapes
from whenabouts.plan.expressions import Attribute, Pick
from whenabouts.plan.pattern import Measure, Output, Query, StepInfo, Strategy, Window, own_columns, steps_of_query


def check(query: Query) -> Query:
    """The query, with `RETURN b` of a closure b settled to mean all its events; raises what is wrong with it."""
    check_size(query.patterns, (*query.where, *(m.expr for m in query.measures)))
    check_shapes(query)
    steps = steps_of_query(query)
    for condition in query.where:
        check_condition(condition, steps)
    query = replace(query, measures=tuple(_settled(m, steps) for m in query.measures))
    for item in query.measures:
        (check_total if query.output is Output.TOTAL else check_item)(item.expr, steps)
    _check_names(query)
    _check_output(query)
    if query.window is not None:
        _check_window(query.window)
    return query


def _settled(measure: Measure, steps: dict[str, StepInfo]) -> Measure:
    match measure.expr:
        case Attribute(step, None, Pick.CURRENT) if step in steps and steps[step].many:
            return Measure(replace(measure.expr, pick=Pick.EACH), measure.name)
        case _:
            return measure


def _check_names(query: Query) -> None:
    for key in query.equivalence:
        check_text(key)
        if not key:
            raise QueryError("syntax", "a key column has an empty name")
    row = "the row of totals" if query.output is Output.TOTAL else "every match row"
    taken = dict.fromkeys(own_columns(query.output, exact=True), f"{row} has a column")
    for item in query.measures:
        check_text(item.name)
        if not item.name or item.name in taken:
            what = taken.get(item.name, "no name is not a name:")
            message = f"{what} {item.name[:60]!r}"
            raise QueryError("duplicate-name", message, span=item.expr.span, hint="name the item: … AS other_name")
        taken[item.name] = "two RETURN items are called"


def _check_output(query: Query) -> None:
    if query.output is Output.TOTAL and not query.measures:
        raise QueryError("syntax", "RETURN TOTAL needs at least one aggregate", hint="RETURN TOTAL count(*)")
    if query.output is Output.COLLAPSED and query.measures:
        raise UnsupportedError("unsupported", "RETURN COLLAPSED takes no items", span=query.measures[0].expr.span)
    if query.output is Output.COLLAPSED and query.strategy is not Strategy.ANY:
        message = "RETURN COLLAPSED stands for matches under skip_till_any_match"
        raise UnsupportedError("unsupported", message, hint="add AND skip_till_any_match to WHERE")
    _check_rows(query)


def _check_rows(query: Query) -> None:
    """The clauses that choose among match rows."""
    if query.limit is not None:
        check_limit(query.limit)
        if query.output is Output.TOTAL:
            message = "LIMIT with RETURN TOTAL would add up an arbitrary part of the matches"
            raise UnsupportedError("unsupported", message, hint="leave LIMIT out")
    if query.confidence is not None:
        check_confidence(query.confidence)
        _refuse_total(query, "CONFIDENCE")
    if query.top is not None:
        check_limit(query.top, clause="TOP")
        _refuse_total(query, "TOP")
        if query.limit is not None:
            message = "TOP keeps the most confident matches, LIMIT any: a query has one of the two"
            raise QueryError("syntax", message, span=query.spans.get("LIMIT"), hint="leave LIMIT out")


def _refuse_total(query: Query, clause: str) -> None:
    if query.output is Output.TOTAL:
        message = f"{clause} chooses among match rows, which RETURN TOTAL does not have"
        hint = f"leave {clause} out; over uncertain time totals are expected values, which weigh by confidence"
        raise UnsupportedError("unsupported", message, span=query.spans.get(clause), hint=hint)


def _check_window(window: Window) -> None:
    is_int = isinstance(window.amount, int)
    if not 0 < window.amount <= INT64_MAX:  # also refuses NaN
        raise QueryError("limit", "a window must be longer than 0 and fit into 64 bits", span=window.span)
    if window.unit == "event" and not is_int:
        raise QueryError("syntax", "the number of events must be a whole number", span=window.span)
    if window.unit == "event" and window.inclusive:
        message = "WITHIN … EVENTS includes both ends already"
        raise QueryError("syntax", message, span=window.span, hint="leave INCLUSIVE out")
