"""Where each conjunct of WHERE is decided: on one event, on entering a position of the automaton, or at the end.

Problem: a conjunct may read several steps, earlier elements and whole groups; patterns branch, so what is bound when
depends on the way taken. Idea: a conjunct is decided on entering position q iff all steps it reads directly are bound
(known statically or asked at run time) and no group it reads as a whole can grow after q. b[i] read by a *later* step
holds for all elements; it becomes a comparison with max or min of the group ("universal").
Invariant: on every accepting way each applicable conjunct is decided at least once, on values that are final for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from whenabouts.errors import UnsupportedError
from whenabouts.plan.automaton import START, Automaton, automaton_of, may_be_bound, reachable_steps, surely_bound
from whenabouts.plan.bound import Bound
from whenabouts.plan.expressions import (
    Aggregate,
    And,
    Attribute,
    Compare,
    Expr,
    Pick,
    attributes,
    children,
    steps_of,
    transform,
)
from whenabouts.plan.pattern import steps_of_query


@dataclass(frozen=True, slots=True)
class Check:
    """A conjunct to evaluate: only if the steps in `needs` are bound, and only after or only on a first element."""

    expr: Expr
    needs: tuple[str, ...] = ()
    after_first: bool = False
    only_first: bool = False  # it reads nothing of the closure but its first element


@dataclass(frozen=True, slots=True)
class Placement:
    """All conjuncts of a query by the moment they are decided."""

    automaton: Automaton
    filters: Mapping[str, tuple[Expr, ...]]  # step (absent ones too) -> conjuncts on one event
    checks: Mapping[int, tuple[Check, ...]]  # position -> on binding the candidate
    finals: Mapping[int, tuple[Check, ...]]  # final position -> on accepting there
    forbids: Mapping[str, tuple[Check, ...]]  # absent step -> conjuncts with other steps
    late_guards: frozenset[int]  # absent parts that can be judged only on the complete match


@dataclass(frozen=True, slots=True)
class _Reading:
    """What one conjunct reads."""

    expr: Expr
    direct: frozenset[str]
    whole: frozenset[str]  # groups read as a whole
    relative: frozenset[str]  # steps whose earlier elements are read from the current one
    iterated: frozenset[str]  # closures read element by element
    beyond_first: frozenset[str]  # closures for whose first element it does not apply


_BACKWARD = (Pick.PREVIOUS, Pick.FIRST, Pick.EACH_BEFORE)


def _read(expr: Expr, many: frozenset[str]) -> _Reading:
    direct: set[str] = set()
    whole: set[str] = set()
    relative: set[str] = set()

    def visit(node: Expr, *, inside: bool) -> None:
        if isinstance(node, Attribute):
            if node.pick is Pick.EACH or (inside and node.pick is Pick.CURRENT):
                whole.add(node.step)
            else:
                direct.add(node.step)
            if node.pick is Pick.LAST:
                whole.add(node.step)
            if node.pick in (Pick.PREVIOUS, Pick.EACH_BEFORE, Pick.EACH_UPTO):
                relative.add(node.step)
        for child in children(node):
            visit(child, inside=inside or isinstance(node, Aggregate))

    visit(expr, inside=False)
    found = list(attributes(expr))
    iterated = {a.step for a in found if a.pick is Pick.CURRENT and a.step in many and a.step in direct}
    beyond = {a.step for a in found if a.pick in _BACKWARD and (a.step in iterated or a.step in relative)}
    return _Reading(
        expr, frozenset(direct), frozenset(whole), frozenset(relative), frozenset(iterated), frozenset(beyond)
    )


def place(bound: Bound) -> Placement:
    """Decide for every conjunct of the query when it is decided."""
    query = bound.query
    automaton = automaton_of(query)
    steps = steps_of_query(query)
    absent = {s for s, info in steps.items() if info.absent}
    many = frozenset(s for s, info in steps.items() if info.many)
    filters: dict[str, list[Expr]] = {s: [] for s in steps}
    forbids: dict[str, list[_Reading]] = {s: [] for s in absent}
    cross: list[_Reading] = []
    for expr in query.where:
        reading = _read(expr, many)
        mentioned = steps_of(expr)
        if len(mentioned) <= 1 and not reading.whole and all(a.pick is Pick.CURRENT for a in attributes(expr)):
            for s in mentioned or steps:  # a constant condition concerns every step
                filters[s].append(expr)
        elif mentioned & absent:
            (name,) = mentioned & absent
            forbids[name].append(reading)
        else:
            cross.append(reading)
    placer = _Placer(automaton, many)
    positions = range(len(automaton.steps))
    return Placement(
        automaton,
        {s: tuple(items) for s, items in filters.items()},
        {q: tuple(placer.on_entering(q, cross)) for q in positions},
        {p: tuple(placer.on_accepting(p, cross)) for p in sorted(automaton.final_positions)},
        {s: tuple(_forbid_check(s, r, steps=many) for r in readings) for s, readings in forbids.items()},
        placer.late(forbids),
    )


def _forbid_check(step: str, reading: _Reading, *, steps: frozenset[str]) -> Check:
    others = reading.direct - {step}
    if reading.iterated or reading.relative or reading.whole - steps:
        raise UnsupportedError(
            "unsupported",
            "an absent step can be compared with single steps and with b[1], b[last] of a closure only",
            span=reading.expr.span,
            hint="compare with b[1] or b[last], or with an aggregate in a conjunct of its own",
        )
    return Check(reading.expr, tuple(sorted(others)))


class _Placer:
    def __init__(self, automaton: Automaton, many: frozenset[str]) -> None:
        self.automaton, self.many = automaton, many
        self.after = reachable_steps(automaton)
        self.sure = surely_bound(automaton)
        self.before = may_be_bound(automaton)

    def on_entering(self, q: int, cross: Iterable[_Reading]) -> Iterable[Check]:
        step = self.automaton.steps[q]
        sources = [e.source for e in self.automaton.edges if e.target == q]
        for r in cross:
            complete = not (r.whole & self.after[q])
            if step in r.direct:
                if self._misplaced(step, r, q):
                    raise _too_late(r)
                if (r.relative and step not in r.relative) or not complete:
                    continue
                yield self.check(r, q, step)
            elif r.whole and complete and any(r.whole & self.after[p] for p in sources):
                yield self.check(r, q, None)

    def _misplaced(self, step: str, r: _Reading, q: int) -> bool:
        """b[i] against b[i-1] can be judged at b only, with everything else it reads already there."""
        if not r.relative:
            return False
        if step in r.relative:
            return bool(r.whole & self.after[q])
        return bool(r.relative & self.before[q])

    def on_accepting(self, p: int, cross: Iterable[_Reading]) -> Iterable[Check]:
        for r in cross:
            if r.whole & self.after[p]:
                yield self.check(r, p, None)

    def check(self, r: _Reading, q: int, current: str | None) -> Check:
        """The conjunct as evaluated at q: elements of closures that came earlier are all meant."""
        expr = r.expr
        for b in sorted(r.iterated):
            if b != current and b in self.before[q] | self.sure[q]:
                expr = _universal(expr, b)
        needs = r.direct - self.sure[q] - ({current} if current else set())
        if current is None:
            return Check(expr, tuple(sorted(needs)))
        picks = {a.pick for a in attributes(r.expr) if a.step == current}
        return Check(expr, tuple(sorted(needs)), current in r.beyond_first, picks == {Pick.FIRST} and not r.whole)

    def late(self, forbids: Mapping[str, list[_Reading]]) -> frozenset[int]:
        """Guards at the beginning, and those that read a step bound only after their gap, right behind it included."""
        found = set()
        for e in self.automaton.edges:
            for g in e.guards:
                names = self.automaton.absents[g]
                reads = frozenset().union(*(r.direct | r.whole for n in names for r in forbids[n])) - set(names)
                behind = self.after[e.target] | {self.automaton.steps[e.target]}
                if e.source == START or reads & behind:
                    found.add(g)
        return frozenset(found)


_ALL_ELEMENTS = {"<": "max", "<=": "max", ">": "min", ">=": "min"}
_MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


def _universal(expr: Expr, step: str) -> Expr:
    """`b[i].v < c.v` for all elements: max(b[].v) < c.v, and no element's v is NULL."""
    if isinstance(expr, Compare):
        left, right, op = expr.left, expr.right, expr.op
        if step in steps_of(right):
            left, right, op = right, left, _MIRROR[op]
        if steps_of(left) == {step} and step not in steps_of(right) and op != "!=" and not _aggregates(left):
            argument = transform(left, _each)
            count = Compare("=", Aggregate("count", argument), Aggregate("count", Attribute(step, None, Pick.EACH)))
            functions = (_ALL_ELEMENTS[op],) if op != "=" else ("min", "max")
            tests = (Compare(op, Aggregate(f, argument), right, span=expr.span) for f in functions)
            return And((*tests, count), span=expr.span)
    raise UnsupportedError(
        "unsupported",
        f"this condition on the elements {step}[i] is decided only after the closure, and is not a plain comparison",
        span=expr.span,
        hint=f"use =, <, <=, >, >= with {step}[i] alone on one side, or an aggregate such as max({step}[].v)",
    )


def _each(node: Expr) -> Expr:
    return Attribute(node.step, node.name, Pick.EACH, span=node.span) if isinstance(node, Attribute) else node


def _aggregates(expr: Expr) -> bool:
    return isinstance(expr, Aggregate) or any(_aggregates(c) for c in children(expr))


def _too_late(r: _Reading) -> UnsupportedError:
    (step, *_) = sorted(r.relative)
    return UnsupportedError(
        "unsupported",
        f"this condition compares elements of {step}[] with one another and with a step that may be bound later",
        span=r.expr.span,
        hint="split the condition, or read only steps that come before the closure",
    )
