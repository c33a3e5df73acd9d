"""Queries in Python: the same plans as query text, without text.

    a, b, c = step("A", "a"), step("B", "b"), step("C", "c")
    query = seq(a, b.plus(), absent(step("N", "n")), c).where(b.i["v"] > b.prev["v"]).within(10).build()

Everything is immutable: each call returns a new object, so parts can be shared between queries. Invariant: `build` goes
through the checks of the parser, so both accept and refuse the same queries, in the same words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeVar

from whenabouts.errors import QueryError, did_you_mean
from whenabouts.language.assembly import measure
from whenabouts.language.bounds import check_confidence, check_size
from whenabouts.language.check import check
from whenabouts.language.durations import from_timedelta, unit_named
from whenabouts.language.values import Events, Operand, Value, call, expression, python_value
from whenabouts.plan.expressions import Expr, Pick, conjuncts
from whenabouts.plan.pattern import (
    DEFAULT_NAME,
    Absent,
    AllOf,
    Choice,
    Closure,
    Confidence,
    Output,
    Pattern,
    Query,
    Repeat,
    Sequence,
    Step,
    Strategy,
    Window,
)

E = TypeVar("E", Strategy, Closure)

__all__ = ["Draft", "Part", "StepPart", "absent", "all_of", "any_of", "call", "seq", "step", "union"]


class Clauses:
    """The clauses that turn a pattern into a query; every method returns a new draft."""

    __slots__ = ()

    def draft(self) -> Query:
        """The query so far, unchecked."""
        raise NotImplementedError

    def build(self, name: str = DEFAULT_NAME) -> Query:
        """The finished query, checked like parsed text."""
        return replace(check(self.draft()), name=name)

    def where(self, *conditions: Value) -> Draft:
        """Further conditions; all of them must hold."""
        query = self.draft()
        exprs = [expression(condition) for condition in conditions]
        check_size((), exprs)
        return Draft(replace(query, where=query.where + tuple(c for e in exprs for c in conjuncts(e))))

    def key(self, *columns: str) -> Draft:
        """`[attr]`: all steps, absent ones included, agree in these columns."""
        query = self.draft()
        return Draft(replace(query, equivalence=tuple(dict.fromkeys(query.equivalence + columns))))

    def match_by(self, strategy: Strategy | str) -> Draft:
        """The selection strategy, for example "skip_till_any_match"."""
        return Draft(replace(self.draft(), strategy=_chosen(Strategy, strategy, "strategy")))

    def within(self, amount: float | timedelta, unit: str | None = None, *, inclusive: bool = False) -> Draft:
        """The window: `within(10)` ticks, `within(15, "seconds")`, `within(20, "events")`, `within(timedelta(…))`."""
        if isinstance(amount, timedelta):
            amount, unit = from_timedelta(amount)
        amount = python_value(amount)  # type: ignore[assignment]
        if isinstance(amount, bool) or not isinstance(amount, int | float):
            raise QueryError("type-mismatch", f"a window is a number or a timedelta, not {amount!r}")
        if unit is not None:
            unit = "event" if unit in ("event", "events") else unit_named(unit, None)
        return Draft(replace(self.draft(), window=Window(amount, unit, inclusive)))

    def closure(self, mode: Closure | str) -> Draft:
        """How much a closure takes: "maximal", "prefixes" or "shortest"; "set": unordered, over uncertain time."""
        return Draft(replace(self.draft(), closure=_chosen(Closure, mode, "closure mode")))

    def confidence(self, least: float, *, above: bool = False) -> Draft:
        """CONFIDENCE >= least, or > least: leave out rows of matches that are less probable."""
        least = python_value(least)  # type: ignore[assignment]
        if isinstance(least, bool) or not isinstance(least, int | float):
            raise QueryError("type-mismatch", f"a confidence is a number, not {least!r}")
        check_confidence(Confidence(least, above))
        return Draft(replace(self.draft(), confidence=Confidence(float(least), above)))

    def top(self, count: int) -> Draft:
        """TOP count BY CONFIDENCE: only the most confident rows."""
        return Draft(replace(self.draft(), top=_whole(count, "a number of matches")))

    def returns(self, *items: Value | Events | StepPart, **named: Value | Events | StepPart) -> Draft:
        """Further RETURN items; a keyword names the result column."""
        return self._measures(Output.EACH, items, named)

    def total(self, *items: Value, **named: Value) -> Draft:
        """RETURN TOTAL: aggregates over all matches."""
        return self._measures(Output.TOTAL, items, named)

    def collapsed(self) -> Draft:
        """RETURN COLLAPSED: one row per start event."""
        return Draft(replace(self.draft(), output=Output.COLLAPSED))

    def limit(self, count: int) -> Draft:
        """At most this many matches."""
        return Draft(replace(self.draft(), limit=_whole(count, "a limit")))

    def _measures(
        self, output: Output, items: tuple[Returnable, ...], named: dict[str, Value] | dict[str, Returnable]
    ) -> Draft:
        pairs = [(_returned(item), None) for item in items] + [(_returned(item), name) for name, item in named.items()]
        check_size((), (expr for expr, _ in pairs))
        query = self.draft()
        if query.measures and query.output is not output:
            message = f"a query cannot return items per match and totals, {query.output} came first"
            raise QueryError("syntax", message, hint="use either returns(…) or total(…)")
        return Draft(replace(query, output=output, measures=query.measures + tuple(measure(*pair) for pair in pairs)))


@dataclass(frozen=True, slots=True)
class Draft(Clauses):
    """A query under construction."""

    query: Query

    def draft(self) -> Query:
        return self.query


@dataclass(frozen=True, slots=True)
class Part(Clauses):
    """A pattern, or a part of one."""

    pattern: Pattern

    def draft(self) -> Query:
        return Query((self.pattern,))

    def plus(self) -> Part:
        """`+`: once or more."""
        return self.at_least(1)

    def star(self) -> Part:
        """`*`: any number of times."""
        return self.at_least(0)

    def optional(self) -> Part:
        """`?`: at most once."""
        return self.times(0, 1)

    def at_least(self, low: int) -> Part:
        """`{low,}`."""
        return Part(Repeat(self.pattern, _count(low), None))

    def times(self, low: int, high: int | None = None) -> Part:
        """`{low,high}`, or exactly `low` times."""
        return Part(Repeat(self.pattern, _count(low), _count(low if high is None else high)))


@dataclass(frozen=True, slots=True)
class StepPart(Part):
    """A single step; `a["v"]` reads its event, the properties read the events of a closure over it."""

    pattern: Step

    def __getitem__(self, column: str) -> Value:
        return self.i[column]

    @property
    def i(self) -> Events:
        """`b[i]`: each element in turn."""
        return Events(self.pattern.name, Pick.CURRENT)

    @property
    def prev(self) -> Events:
        """`b[i-1]`: the element before."""
        return Events(self.pattern.name, Pick.PREVIOUS)

    @property
    def first(self) -> Events:
        """`b[1]`."""
        return Events(self.pattern.name, Pick.FIRST)

    @property
    def last(self) -> Events:
        """`b[last]`."""
        return Events(self.pattern.name, Pick.LAST)

    @property
    def all(self) -> Events:
        """`b[]`: all elements, for aggregates and RETURN."""
        return Events(self.pattern.name, Pick.EACH)

    @property
    def before(self) -> Events:
        """`b[..i-1]`: the elements before the current one, for aggregates."""
        return Events(self.pattern.name, Pick.EACH_BEFORE)

    @property
    def upto(self) -> Events:
        """`b[..i]`: the elements up to the current one, for aggregates."""
        return Events(self.pattern.name, Pick.EACH_UPTO)


Returnable = Value | Events | StepPart


def step(type: str | None, name: str | None = None) -> StepPart:
    """One event of a type (None: any type); without a name it is called like its type in lower case."""
    for value in (type, name):
        if not isinstance(value, str | None):
            raise QueryError("type-mismatch", f"a step has a type and a name, both strings, not {value!r}")
    if type is None and name is None:
        raise QueryError("syntax", "this step needs a name", hint='step(None, "e")')
    return StepPart(Step(type, (type or "").lower() if name is None else name))


def seq(*parts: Part) -> Part:
    """SEQ: one after the other."""
    return Part(Sequence(_patterns(parts)))


def all_of(*parts: Part) -> Part:
    """AND: all parts in any order."""
    return Part(AllOf(_patterns(parts)))


def any_of(*parts: Part) -> Part:
    """Alternatives: exactly one of the parts."""
    patterns = _patterns(parts)
    return Part(patterns[0] if len(patterns) == 1 else Choice(patterns))


def absent(part: Part) -> Part:
    """`!( … )`: no such event in this gap of a `seq`."""
    return Part(Absent(_patterns((part,))[0]))


def union(*parts: Part) -> Draft:
    """UNION: the matches of each pattern."""
    return Draft(Query(_patterns(parts)))


def _patterns(parts: tuple[object, ...]) -> tuple[Pattern, ...]:
    for part in parts:
        if not isinstance(part, Part):
            hint = 'step("A", "a"), seq(…), any_of(…), all_of(…), absent(…); clauses come after the whole pattern'
            raise QueryError("type-mismatch", f"a pattern cannot contain a {type(part).__name__}", hint=hint)
    return tuple(part.pattern for part in parts if isinstance(part, Part))


def _returned(item: Returnable | Operand) -> Expr:
    return expression(item.i if isinstance(item, StepPart) else item)


def _count(number: int) -> int:
    return _whole(number, "a quantifier")


def _whole(given: int, what: str) -> int:
    number = python_value(given)
    if isinstance(number, bool) or not isinstance(number, int):
        raise QueryError("type-mismatch", f"{what} is a whole number, not {number!r}")
    return number


def _chosen(options: type[E], value: E | str, what: str) -> E:
    try:
        return options(str(value).lower().replace(" ", "_"))
    except ValueError:
        hint = did_you_mean(str(value), map(str, options))
        raise QueryError("unknown-name", f"there is no {what} {str(value)[:60]!r}", hint=hint) from None
