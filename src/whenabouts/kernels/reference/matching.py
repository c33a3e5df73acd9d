"""All matches of a query, by following every way forward: the definition of docs/semantics.md, slowly.

Problem: say exactly which combinations of events match under each selection strategy. Idea: grow *prefixes*. A prefix
is the events taken so far, each for a step, with all *runs* that explain it: what then remains of the pattern (`ways`),
and which absent parts were passed in which gap. `options` lists the events relevant for a prefix, `kept` those which
its strategy lets it take, and the prefix goes on to each of them. Where each rule of the page is found:

1 ties, null     `stream`: strict order only; bad rows are set aside
2 patterns       `ways` (AND, closures, groups); UNION: `match` collects the matches of each pattern in one set
3 predicates     `conditions`; an option satisfies all conjuncts it decides, a match all that apply to it
4 negation       `absence`: judged on the complete match and therefore without influence on relevance
5 window         `Stream.within`: an event outside the window is not relevant
6 strategies     `kept`; closures that stop early: `explore` and `ways.stopped`; "Ends": `explore`
Partitions: `streams_of`. Under strict contiguity the key is a condition between the events of a match.

Invariant: two ways to bind the same events to the same steps are one prefix, so an answer depends on the orders of
steps a pattern allows and not on how it is written. LIMIT and the output form are not applied here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from whenabouts.errors import UnsupportedError
from whenabouts.kernels.reference.absence import absent_in_gap
from whenabouts.kernels.reference.conditions import Condition, conditions_of
from whenabouts.kernels.reference.stream import Stream, streams_of
from whenabouts.kernels.reference.values import NO_AGGREGATES, Aggregates, Event
from whenabouts.kernels.reference.ways import Passed, endings, growing, residual_of, stopped, ways
from whenabouts.plan.bound import Bound
from whenabouts.plan.pattern import Absent, Closure, Pattern, Strategy

# The bound steps in the order of the query, each with the rows of its events in time order.
Signature: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class Run:
    """One explanation of a prefix: what remains, and the absent parts passed, each with the number of events before."""

    rest: Pattern
    gaps: frozenset[tuple[int, Absent]] = frozenset()

    def passing(self, absents: Passed, taken: int) -> frozenset[tuple[int, Absent]]:
        return self.gaps | {(taken, absent) for absent in absents}


@dataclass(frozen=True, slots=True)
class Prefix:
    """Events taken so far as (step, row), all their explanations, and the prefix before the last event."""

    taken: tuple[tuple[str, int], ...]
    runs: frozenset[Run]
    before: Prefix | None = None

    @property
    def last(self) -> int | None:
        return self.taken[-1][1] if self.taken else None

    def rows(self, *more: tuple[str, int]) -> dict[str, tuple[int, ...]]:
        found: dict[str, tuple[int, ...]] = {}
        for step, row in (*self.taken, *more):
            found[step] = (*found.get(step, ()), row)
        return found


@dataclass(frozen=True, slots=True)
class Option:
    """A relevant event: the step it would be bound to and, if it only continues a closure, which one."""

    step: str
    row: int
    further: int | None  # only if there is no other way to take it for this step
    run: Run


def match(bound: Bound, events: Sequence[Event], aggregates: Aggregates = NO_AGGREGATES) -> list[Signature]:
    """All matches of the query, in a canonical order; events are numbered by their position in `events`.

    Times are integers, in units of the schema's clock: they are rounded down to the granularity here.
    """
    if not bound.schema.roles.exact:
        raise UnsupportedError("unsupported", "this reference defines matching over exact times only")
    conditions = conditions_of(bound)
    found: set[Signature] = set()
    for pattern in bound.query.patterns:
        for stream in streams_of(bound, events, conditions, aggregates):
            found.update(_Search(bound, stream, conditions).matches(pattern))
    return sorted(found)


@dataclass(frozen=True, slots=True)
class _Search:
    """The matches of one pattern in one stream."""

    bound: Bound
    stream: Stream
    conditions: tuple[Condition, ...]

    @property
    def closure(self) -> Closure:
        every = self.bound.query.strategy is Strategy.ANY
        return Closure.MAXIMAL if every else self.bound.query.closure

    def matches(self, pattern: Pattern) -> Iterator[Signature]:
        stack = [Prefix((), frozenset({Run(residual_of(pattern, self.closure))}))]
        while stack:
            prefix = stack.pop()
            options = self.kept(prefix)
            if self.reports(options) and self.complete(prefix):
                rows = prefix.rows()
                yield tuple((step, rows[step]) for step in self.bound.steps if step in rows)
            stack.extend(self.explore(prefix, options))

    def reports(self, options: list[Option]) -> bool:
        """Deterministic strategies report a match once, when it can go on no more; otherwise whenever it is one."""
        return self.bound.query.strategy is Strategy.ANY or self.closure is Closure.PREFIXES or not options

    def explore(self, prefix: Prefix, options: list[Option]) -> Iterator[Prefix]:
        """The prefix with each option taken; and, under PREFIXES, with each closure stopped that would go on."""
        together: dict[tuple[str, int], set[Run]] = {}
        for o in options:
            together.setdefault((o.step, o.row), set()).add(o.run)
        for event, runs in together.items():
            yield Prefix((*prefix.taken, event), frozenset(runs), prefix)
        if self.closure is Closure.PREFIXES:
            for label in {o.further for o in options if o.further is not None}:
                yield replace(prefix, runs=frozenset(replace(r, rest=stopped(r.rest, label)) for r in prefix.runs))

    def kept(self, prefix: Prefix) -> list[Option]:
        """The options the strategy lets the prefix take."""
        strategy = self.bound.query.strategy
        instants = self.stream.instants(prefix.last)
        if strategy is Strategy.ANY or not prefix.taken:  # every event that can be first starts matches of its own
            return [o for rows in instants for o in self.options(prefix, rows)]
        if strategy is Strategy.NEXT:
            first = next((found for rows in instants if (found := self.options(prefix, rows))), [])
            return without_further_in_ties(first)
        if strategy is Strategy.LATEST:
            return list(self.latest(prefix, instants))
        return self.options(prefix, next(instants, []))  # contiguity

    def latest(self, prefix: Prefix, instants: Iterator[list[int]]) -> Iterator[Option]:
        """Nothing may be left out that a closure could take, nor what could replace the last event of a single step."""
        step, _ = prefix.taken[-1]
        for rows in instants:
            options = self.options(prefix, rows)
            yield from options
            if any(self.bound.steps[o.step].many for o in options):
                return
            if prefix.before is None or self.bound.steps[step].many:
                continue
            if any(o.step == step for o in self.options(prefix.before, rows)):
                return

    def options(self, prefix: Prefix, rows: Sequence[int]) -> list[Option]:
        """What some way forward takes among these rows: right type, in the window, all conjuncts it decides hold."""
        found = []
        for row in rows:
            if not self.reachable(prefix, row):
                continue
            for run in prefix.runs:
                for way in ways(run.rest):
                    event = (way.step.name, row)
                    if self.stream.fits(row, way.step) and self.holding(prefix.rows(event), growing(way.rest)):
                        after = Run(way.rest, run.passing(way.passed, len(prefix.taken)))
                        found.append(Option(*event, way.further, after))
        forward = {(o.step, o.row) for o in found if o.further is None}
        return [replace(o, further=None) if (o.step, o.row) in forward else o for o in found]

    def reachable(self, prefix: Prefix, row: int) -> bool:
        """Whether the row has the key of the prefix and lies in its window."""
        if not prefix.taken:
            return self.stream.within(row, row)
        first = prefix.taken[0][1]
        return self.stream.akin(first, row) and self.stream.within(first, row)

    def holding(self, rows: Mapping[str, tuple[int, ...]], growing: frozenset[str]) -> bool:
        scope = self.stream.scope(rows)
        return all(c.holds(scope) for c in self.conditions if c.decided(rows, growing))

    def complete(self, prefix: Prefix) -> bool:
        """Whether the prefix is a match: nothing more is needed, all conjuncts that apply hold, absent is absent."""
        rows = prefix.rows()
        if not prefix.taken or not self.holding(rows, frozenset()):
            return False
        taken = [row for _, row in prefix.taken]
        return any(
            all(absent_in_gap(absent, gap, taken, rows, self.stream, self.conditions) for gap, absent in gaps)
            for run in prefix.runs
            for passed in endings(run.rest)
            for gaps in (run.passing(passed, len(taken)),)
        )


def without_further_in_ties(options: list[Option]) -> list[Option]:
    """Of one instant: where another event takes a step forward, an event does not continue a closure."""
    forward = {o.row for o in options if o.further is None}
    return [o for o in options if o.further is None or not forward - {o.row}]
