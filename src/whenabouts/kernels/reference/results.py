"""What RETURN asks for, computed from the matches (docs/semantics.md, section 7).

Problem: the kernels compute measures, totals and collapsed rows without listing the matches. Idea: compute them from
the list. A collapsed row may name more events than its matches use; `choices` lists everything it could stand for, so
that a row is right if it covers its matches, and its `safe` is right if every choice is a match.
Invariant: nothing here depends on the order of the matches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from whenabouts.kernels.reference.matching import Signature
from whenabouts.kernels.reference.stream import Key, key_columns, key_of, tick_of
from whenabouts.kernels.reference.values import NO_AGGREGATES, Aggregates, Event, Scope, Value, aggregated, evaluate
from whenabouts.kernels.reference.ways import endings, residual_of, ways
from whenabouts.plan.bound import Bound
from whenabouts.plan.expressions import Aggregate, Attribute, Expr, Literal, Pick, transform
from whenabouts.plan.pattern import Closure, Pattern


def measures(
    bound: Bound, signature: Signature, events: Sequence[Event], aggregates: Aggregates = NO_AGGREGATES
) -> dict[str, Value | list[Value]]:
    """The RETURN items of one match; `b[].v` alone is a list."""
    scope = Scope(events, dict(signature), bound.schema, aggregates)
    return {m.name: _measure(m.expr, scope) for m in bound.query.measures}


def _measure(expr: Expr, scope: Scope) -> Value | list[Value]:
    if isinstance(expr, Attribute) and expr.pick is Pick.EACH:
        return [evaluate(expr, element) for element in scope.elements(expr)]
    return evaluate(expr, scope)


def totals(bound: Bound, matches: Sequence[Signature], events: Sequence[Event]) -> dict[Key, dict[str, Value]]:
    """The items of RETURN TOTAL for each key that has a match; for the key () always, if the query has no key."""
    scopes: dict[Key, list[Scope]] = {} if key_columns(bound) else {(): []}
    for signature in matches:
        key = key_of(bound, events[_rows(signature)[0]])
        scopes.setdefault(key, []).append(Scope(events, dict(signature), bound.schema))
    nothing = Scope(events, {}, bound.schema)
    return {
        key: {m.name: evaluate(transform(m.expr, _Totalled(found)), nothing) for m in bound.query.measures}
        for key, found in scopes.items()
    }


@dataclass(frozen=True, slots=True)
class _Totalled:
    """A rule that replaces an aggregate by its value over all elements of all matches."""

    scopes: Sequence[Scope]

    def __call__(self, expr: Expr) -> Expr:
        if not isinstance(expr, Aggregate):
            return expr
        argument = expr.argument
        if argument is None:
            return Literal(len(self.scopes))
        elements = [element for scope in self.scopes for element in scope.elements(argument)]
        values = [evaluate(argument, element) for element in elements]
        return Literal(aggregated(expr.function, values, NO_AGGREGATES))


@dataclass(frozen=True, slots=True)
class Collapsed:
    """One row for all matches that begin with the event `start`."""

    start: int
    events: Signature  # the events that may take part, by step
    safe: bool  # every choice from them is a match


def collapsed(bound: Bound, matches: Sequence[Signature], events: Sequence[Event]) -> list[Collapsed]:
    """The collapsed rows with as few events as possible."""
    by_start: dict[int, list[Signature]] = {}
    for signature in matches:
        start = min(_rows(signature), key=lambda row: tick_of(bound, events[row]))
        by_start.setdefault(start, []).append(signature)
    rows = []
    for start, found in sorted(by_start.items()):
        united = {step: {row for s in found for row in dict(s).get(step, ())} for step in bound.steps}
        listed = tuple((step, tuple(sorted(those))) for step, those in united.items() if those)
        rows.append(Collapsed(start, listed, choices(bound, start, listed, events) <= set(found)))
    return rows


def choices(bound: Bound, start: int, listed: Signature, events: Sequence[Event]) -> set[Signature]:
    """Every way of choosing from the listed events along the pattern, in strict time order, that begins with `start`.

    Neither predicates nor windows nor absent parts are looked at.
    """
    found = set()
    for pattern in bound.query.patterns:
        for taken in _walks(residual_of(pattern, Closure.MAXIMAL), start, dict(listed), bound, events):
            rows = {step: tuple(r for s, r in taken if s == step) for step in bound.steps}
            found.add(tuple((step, those) for step, those in rows.items() if those))
    return found


def _walks(
    residual: Pattern, start: int, listed: Mapping[str, tuple[int, ...]], bound: Bound, events: Sequence[Event]
) -> Iterator[tuple[tuple[str, int], ...]]:
    time = {row: tick_of(bound, events[row]) for rows in listed.values() for row in rows}
    stack: list[tuple[tuple[tuple[str, int], ...], Pattern]] = [((), residual)]
    while stack:
        taken, rest = stack.pop()
        if taken and endings(rest):
            yield taken
        for way in ways(rest):
            name = way.step.name
            those = listed.get(name, ())
            after = [r for r in those if (time[r] > time[taken[-1][1]] if taken else r == start)]
            stack.extend(((*taken, (name, row)), way.rest) for row in after)


def _rows(signature: Signature) -> tuple[int, ...]:
    return tuple(row for _, rows in signature for row in rows)
