"""Pattern -> position automaton (Glushkov): one position per occurrence of a step, edges between positions.

Problem: sequences, closures, groups, alternatives, any-order and absent parts nest freely; a matcher wants a table.
Idea: every sub-pattern is a fragment with the positions it can start and end with and the ways to match nothing; an
absent part is a fragment without positions whose only "empty way" carries a guard, so that concatenation puts the guard
on exactly the edges that span its gap. Counted closures are unrolled; AND is laid out over subsets, not permutations.
Invariant: words along the automaton = the orders in which steps can be bound; positions are numbered in source order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeVar

from whenabouts.errors import QueryError, UnsupportedError
from whenabouts.plan.pattern import Absent, AllOf, Choice, Closure, Pattern, Query, Repeat, Sequence, Step, Strategy

T = TypeVar("T")

MAX_POSITIONS = 256
START = -1

Guards = frozenset[int]
NO_GUARD: Guards = frozenset()


@dataclass(frozen=True, slots=True, order=True)
class Edge:
    """A way forward. `loop` >= 0: a further element of that closure, which already has its minimum."""

    source: int
    target: int
    guards: tuple[int, ...]
    loop: int


@dataclass(frozen=True, slots=True)
class Automaton:
    """Positions with their step names, edges (source START: beginnings), and the guards of each accepting way."""

    steps: tuple[str, ...]
    pattern: tuple[int, ...]  # position -> which of the patterns of a UNION it belongs to
    edges: tuple[Edge, ...]
    finals: tuple[tuple[int, tuple[int, ...]], ...]
    absents: tuple[tuple[str, ...], ...]  # chains of steps, none of which may occur in its gap

    def outgoing(self, position: int) -> tuple[Edge, ...]:
        return tuple(e for e in self.edges if e.source == position)

    @property
    def final_positions(self) -> frozenset[int]:
        return frozenset(p for p, _ in self.finals)


@dataclass(slots=True)
class _Fragment:
    first: list[tuple[int, Guards]]
    last: list[tuple[int, Guards]]
    empty: list[Guards]


def automaton_of(query: Query) -> Automaton:
    """The automaton of all patterns of the query, side by side (UNION).

    CLOSURE SHORTEST is the automaton without further elements; it says nothing about skip_till_any_match.
    """
    whole = _Builder().build(query.patterns)
    if query.closure is Closure.SHORTEST and query.strategy is not Strategy.ANY:
        whole = replace(whole, edges=tuple(e for e in whole.edges if e.loop < 0))
    return whole


class _Builder:
    def __init__(self) -> None:
        self.steps: list[str] = []
        self.edges: dict[tuple[int, int, Guards], int] = {}
        self.absents: list[tuple[str, ...]] = []
        self.loops = 0

    def build(self, patterns: Iterable[Pattern]) -> Automaton:
        finals: set[tuple[int, tuple[int, ...]]] = set()
        owner: list[int] = []
        for number, pattern in enumerate(patterns):
            whole = self.fragment(pattern)
            owner += [number] * (len(self.steps) - len(owner))
            for p, guards in whole.first:
                self.connect(START, p, guards, loop=-1)
            finals |= {(p, tuple(sorted(guards))) for p, guards in whole.last}
        edges = sorted(Edge(s, t, tuple(sorted(g)), loop) for (s, t, g), loop in self.edges.items())
        return Automaton(tuple(self.steps), tuple(owner), tuple(edges), tuple(sorted(finals)), tuple(self.absents))

    def connect(self, source: int, target: int, guards: Guards, *, loop: int) -> None:
        """Add an edge; of two equal ones the step forward wins over the further element, the inner over the outer."""
        key = (source, target, guards)
        old = self.edges.get(key)
        if old is None or loop < 0:
            self.edges[key] = loop

    def fragment(self, pattern: Pattern) -> _Fragment:
        match pattern:
            case Step(_, name):
                if len(self.steps) >= MAX_POSITIONS:
                    raise QueryError(
                        "limit",
                        f"the pattern needs more than {MAX_POSITIONS} positions with its counted closures unrolled",
                        span=pattern.span,
                        hint="use smaller counts such as {2,10}, or + with a predicate on count(b[..i-1])",
                    )
                self.steps.append(name)
                here = [(len(self.steps) - 1, NO_GUARD)]
                return _Fragment(here, list(here), [])
            case Absent(part):
                chains = _chains(part)
                self.absents += chains
                return _Fragment([], [], [frozenset(range(len(self.absents) - len(chains), len(self.absents)))])
            case Sequence(parts):
                return self.chain([self.fragment(p) for p in parts])
            case Choice(parts):
                return _union([self.fragment(p) for p in parts])
            case AllOf(parts):
                return self.any_order(parts)
            case Repeat():
                return self.repeat(pattern)
        raise AssertionError(f"no layout for {type(pattern).__name__}")

    def join(self, left: _Fragment, right: _Fragment, *, loop: int = -1) -> _Fragment:
        """left then right; `loop` tags the edges when right is a further element."""
        for (p, g), (q, h) in product(left.last, right.first):
            self.connect(p, q, g | h, loop=loop)
        first = left.first + [(q, e | h) for e in left.empty for q, h in right.first]
        last = right.last + [(p, g | e) for e in right.empty for p, g in left.last]
        return _Fragment(_distinct(first), _distinct(last), _distinct(e | f for e in left.empty for f in right.empty))

    def chain(self, fragments: list[_Fragment]) -> _Fragment:
        whole = fragments[0]
        for f in fragments[1:]:
            whole = self.join(whole, f)
        return whole

    def repeat(self, pattern: Repeat) -> _Fragment:
        """Unroll: `low` mandatory copies, then a loop on the last one or nested optional copies."""
        loop = self.loops
        self.loops += 1
        low, high = pattern.low, pattern.high
        copies = [self.fragment(pattern.part) for _ in range(max(low, 1) if high is None else low)]
        if high is None:
            body = copies[-1]
            for (p, g), (q, h) in product(body.last, body.first):
                self.connect(p, q, g | h, loop=loop)
        whole = self.chain(copies) if copies else _Fragment([], [], [NO_GUARD])
        if high is None:
            return whole if low else _optional(whole)
        optional: _Fragment | None = None
        for k in range(high - low):  # from the innermost copy outwards: X(X(X)?)?
            one = self.fragment(pattern.part)
            further = low > 0 or k < high - low - 1
            optional = _optional(one if optional is None else self.join(one, optional, loop=loop))
            if k == high - low - 1:
                return self.join(whole, optional, loop=loop if further and low > 0 else -1)
        return whole

    def any_order(self, parts: tuple[Pattern, ...]) -> _Fragment:
        """A copy of each part for every set of parts bound before it: n 2^(n-1) copies instead of n! orders.

        Parts that can be skipped need not be bound; skipping leaves no trace, so that every prefix has one place.
        """
        n = len(parts)
        needed = sum(1 << i for i, p in enumerate(parts) if not _can_be_empty(p))
        copies: dict[tuple[int, int], _Fragment] = {}
        for bound, x in product(range(1 << n), range(n)):
            if not bound >> x & 1:
                copies[x, bound] = self.fragment(parts[x])
        for (_, bound), right in copies.items():
            for y in range(n):
                if bound >> y & 1:
                    left = copies[y, bound & ~(1 << y)]
                    for (p, g), (q, h) in product(left.last, right.first):
                        self.connect(p, q, g | h, loop=-1)
        first = [w for x in range(n) for w in copies[x, 0].first]
        last = [w for (x, bound), f in copies.items() if needed & ~(bound | 1 << x) == 0 for w in f.last]
        return _Fragment(_distinct(first), _distinct(last), [NO_GUARD] if needed == 0 else [])


def _can_be_empty(pattern: Pattern) -> bool:
    match pattern:
        case Repeat(part, low):
            return low == 0 or _can_be_empty(part)
        case Choice(parts):
            return any(map(_can_be_empty, parts))
        case Sequence(parts) | AllOf(parts):
            return all(map(_can_be_empty, parts))
        case _:
            return isinstance(pattern, Absent)


def _chains(part: Pattern) -> list[tuple[str, ...]]:
    """An absent part as chains of single steps: absent alternatives are all absent."""
    match part:
        case Step(_, name):
            return [(name,)]
        case Choice(parts):
            return [c for p in parts for c in _chains(p)]
        case Sequence(parts):
            return [tuple(s for c in way for s in c) for way in product(*map(_chains, parts))]
        case _:
            raise UnsupportedError(
                "unsupported",
                "an absent part may hold single steps, sequences and alternatives only",
                span=part.span,
                hint="write closures and AND as alternatives or several absent parts",
            )


def _optional(f: _Fragment) -> _Fragment:
    return _Fragment(f.first, f.last, _distinct([NO_GUARD, *f.empty]))


def _union(fragments: list[_Fragment]) -> _Fragment:
    return _Fragment(
        _distinct(w for f in fragments for w in f.first),
        _distinct(w for f in fragments for w in f.last),
        _distinct(e for f in fragments for e in f.empty),
    )


def _distinct(items: Iterable[T]) -> list[T]:
    return list(dict.fromkeys(items))


def reachable_steps(automaton: Automaton) -> dict[int, frozenset[str]]:
    """For START and every position: the steps that can still be bound after it (one edge or more)."""
    after: dict[int, set[str]] = {p: set() for p in range(START, len(automaton.steps))}
    changed = True
    while changed:
        changed = False
        for e in automaton.edges:
            new = after[e.target] | {automaton.steps[e.target]}
            if not new <= after[e.source]:
                after[e.source] |= new
                changed = True
    return {p: frozenset(s) for p, s in after.items()}


def surely_bound(automaton: Automaton) -> dict[int, frozenset[str]]:
    """For every position: the steps bound on all ways to it, itself included (greatest fixpoint)."""
    everything = frozenset(automaton.steps)
    before: dict[int, frozenset[str]] = dict.fromkeys(range(len(automaton.steps)), everything)
    before[START] = frozenset()
    changed = True
    while changed:
        changed = False
        for p, step in enumerate(automaton.steps):
            incoming = [before[e.source] for e in automaton.edges if e.target == p]
            new = (frozenset.intersection(*incoming) if incoming else frozenset()) | {step}
            if new != before[p]:
                before[p], changed = new, True
    return before


def may_be_bound(automaton: Automaton) -> dict[int, frozenset[str]]:
    """For every position: the steps some way to it has bound before it."""
    before: dict[int, set[str]] = {p: set() for p in range(START, len(automaton.steps))}
    changed = True
    while changed:
        changed = False
        for e in automaton.edges:
            new = before[e.source] | ({automaton.steps[e.source]} if e.source != START else set())
            if not new <= before[e.target]:
                before[e.target] |= new
                changed = True
    return {p: frozenset(s) for p, s in before.items()}


def ambiguous(automaton: Automaton) -> bool:
    """Whether two different ways can bind the same steps in the same order (so that equal matches must be merged)."""
    steps, outgoing = automaton.steps, {p: automaton.outgoing(p) for p in range(START, len(automaton.steps))}
    useful = _useful(automaton)
    seen: set[tuple[int, int, bool]] = set()
    stack: list[tuple[int, int, bool]] = [(START, START, False)]
    while stack:
        p, q, apart = stack.pop()
        for a, b in product(outgoing[p], outgoing[q]):
            if steps[a.target] != steps[b.target] or a.target not in useful or b.target not in useful:
                continue
            state = (a.target, b.target, apart or a.target != b.target or a.guards != b.guards)
            if state not in seen:
                seen.add(state)
                stack.append(state)
    final_ways = list(automaton.finals)
    by_position: dict[int, list[tuple[int, ...]]] = {}
    for p, guards in final_ways:
        by_position.setdefault(p, []).append(guards)
    return any(p in by_position and q in by_position and (apart or len(by_position[p]) > 1) for p, q, apart in seen)


def _useful(automaton: Automaton) -> set[int]:
    """Positions from which an end can be reached."""
    useful = {p for p, _ in automaton.finals}
    grown = True
    while grown:
        new = {e.source for e in automaton.edges if e.target in useful} | useful
        grown = new != useful
        useful = new
    return useful
