"""Clauses -> query: what stands in WHERE is sorted, RETURN items get their names.

WHERE is a conjunction in which keys (`[attr]`) and the strategy may stand among the predicates; here they are told
apart. Sizes are checked first, so that everything from here on may walk the query recursively.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from lark import Token

from whenabouts.errors import QueryError, Span
from whenabouts.language import forms
from whenabouts.language.bounds import check_size
from whenabouts.language.tokens import span_of
from whenabouts.plan.expressions import Attribute, Call, Expr, Literal, conjuncts
from whenabouts.plan.pattern import (
    Closure,
    Confidence,
    Measure,
    Output,
    Pattern,
    Query,
    Strategy,
    Window,
    steps_of_query,
)
from whenabouts.plan.render import derived_name, render_expr
from whenabouts.plan.typing import shorten

CLAUSES = ("WHERE", "WITHIN", "CLOSURE", "CONFIDENCE", "RETURN", "TOP", "LIMIT")


STRATEGY = "strategy"  # its place among the spans of a query: it is no clause of its own


class Item(NamedTuple):
    """One RETURN item; the alias is None where none is written."""

    expr: Expr
    alias: str | None = None


class Returned(NamedTuple):
    """The RETURN clause."""

    output: Output
    items: tuple[Item, ...] = ()


NOTHING_RETURNED = Returned(Output.EACH)


class Condition(NamedTuple):
    """The WHERE clause: the condition, and the strategy in front of `{ … }` if written so."""

    condition: Expr
    strategy: Expr | None = None


class Clause(NamedTuple):
    """One clause: its first word and what follows."""

    keyword: Token
    value: Condition | Window | Closure | Confidence | Returned | int
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Clauses:
    """All clauses of a query, by lower-case keyword ("returns": `return` is a word of Python)."""

    where: Condition | None = None
    within: Window | None = None
    closure: Closure = Closure.MAXIMAL
    confidence: Confidence | None = None
    returns: Returned = NOTHING_RETURNED
    top: int | None = None
    limit: int | None = None


def assemble(patterns: tuple[Pattern, ...], clauses: Iterable[Clause]) -> Query:
    """A query from its clauses; only sizes are checked yet."""
    given: dict[str, Any] = {}
    spans: dict[str, Span] = {}
    for keyword, value, span in clauses:
        name = {"RETURN": "returns"}.get(keyword.type, keyword.type.lower())
        if name in given:
            hint = "join conditions with AND" if keyword.type == "WHERE" else None
            raise QueryError("syntax", f"{keyword.type} is given twice", span=span_of(keyword), hint=hint)
        given[name] = value
        spans[keyword.type] = span or span_of(keyword)
    parts = Clauses(**given)
    items = tuple(expanded for item in parts.returns.items for expanded in _expanded(item))
    check_size(patterns, (*(parts.where or ()), *(item.expr for item in items)))
    query = Query(
        patterns,
        window=parts.within,
        closure=parts.closure,
        output=parts.returns.output,
        measures=tuple(measure(item.expr, item.alias) for item in items),
        confidence=parts.confidence,
        top=parts.top,
        limit=parts.limit,
        spans=spans,
    )
    return query if parts.where is None else _with_conditions(query, parts.where)


def measure(expr: Expr, alias: str | None = None) -> Measure:
    """A RETURN item with its name."""
    name = derived_name(expr) if alias is None else alias
    if name is None:
        message = f"the result column of {shorten(render_expr(expr))} needs a name"
        raise QueryError("syntax", message, span=expr.span, hint="add a name: RETURN … AS difference")
    return Measure(expr, name)


def _expanded(item: Item) -> tuple[Item, ...]:
    """`a.(x, y)` are two items."""
    if not isinstance(item.expr, Call):
        return (item,)
    if item.expr.function != forms.EXPANSION:
        misplaced = forms.misplaced(item.expr)
        if misplaced is not None:
            raise misplaced
        return (item,)
    if item.alias is not None:
        message = f"one name, {item.alias}, for several columns"
        raise QueryError("syntax", message, span=item.expr.span, hint="write the items one by one: a.x AS p, a.y AS q")
    return tuple(Item(column) for column in item.expr.arguments)


def _with_conditions(query: Query, where: Condition) -> Query:
    steps = steps_of_query(query)
    positive = {name for name, info in steps.items() if not info.absent}
    strategies: list[tuple[Strategy, Span | None]] = []
    keys: dict[str, Span | None] = {}
    predicates: list[Expr] = []
    if where.strategy is not None:
        strategy = _strategy(where.strategy, positive)
        if strategy is None:
            hint = "WHERE skip_till_any_match(a, b) { a.v > b.v }"
            message = "only a strategy can stand in front of { … }"
            raise QueryError("syntax", message, span=where.strategy.span, hint=hint)
        strategies.append((strategy, where.strategy.span))
    for item in conjuncts(where.condition):
        if isinstance(item, Call) and item.function == forms.EQUIVALENCE:
            for name in item.arguments:
                if isinstance(name, Literal):
                    keys.setdefault(str(name.value), name.span)
        elif (strategy := _strategy(item, positive)) is not None:
            strategies.append((strategy, item.span))
        else:
            predicates.append(item)
    if len(strategies) > 1:
        raise QueryError("duplicate-name", "two selection strategies are given", span=strategies[1][1])
    chosen, span = strategies[0] if strategies else (query.strategy, None)
    spans = {**query.spans, **{place_of_key(k): at for k, at in keys.items() if at is not None}}
    spans |= {} if span is None else {STRATEGY: span}
    keyed = replace(query, where=tuple(predicates), equivalence=tuple(keys))
    return replace(keyed, strategy=chosen, spans=spans)


def place_of_key(name: str) -> str:
    """The place of a key column among the spans of a query."""
    return f"[{name}]"


def _strategy(item: Expr, positive: set[str]) -> Strategy | None:
    """The strategy an item names, if it does: `latest`, `skip_till_any_match(a, b[])`."""
    match item:
        case Attribute(step, None) if step not in positive and step.lower() in forms.STRATEGIES:
            return Strategy(step.lower())
        case Call(function, arguments) if function in forms.STRATEGIES:
            named = {a.step for a in arguments if isinstance(a, Attribute) and a.name is None}
            if named != positive or len(arguments) != len(positive):
                hint = f"{function} without a list means the same; or write {function}({', '.join(sorted(positive))})"
                message = f"{function} must list every step of the pattern that is not absent, once"
                raise QueryError("wrong-reference", message, span=item.span, hint=hint)
            return Strategy(function)
        case _:
            return None
