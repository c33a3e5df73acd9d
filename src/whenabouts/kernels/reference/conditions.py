"""The conjuncts of WHERE: whether one applies, when it is decided, and whether it holds (docs/semantics.md, section 3).

Problem: a conjunct may read single events, elements of closures, earlier elements, and whole groups. Idea: sort what
it reads into sets. `direct`: steps that must be bound for it to apply. `whole`: groups it reads as they finally are.
`indexed`: closures read element by element, of which it must hold for every combination; in those of `compared` it
reads earlier elements too, and leaves out the first.
Invariant: whether a decided conjunct holds never changes when more events are bound, except that new elements of an
indexed closure have to satisfy it as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from whenabouts.kernels.reference.values import GROUP_PICKS, Scope, evaluate, grouped
from whenabouts.plan.bound import Bound
from whenabouts.plan.expressions import Aggregate, Attribute, Expr, Pick, attributes, children, conjuncts

Rows = Mapping[str, tuple[int, ...]]

BACKWARD = frozenset({Pick.PREVIOUS, Pick.FIRST, Pick.EACH_BEFORE})
INDEXED = frozenset({Pick.CURRENT, Pick.PREVIOUS, Pick.EACH_BEFORE, Pick.EACH_UPTO})


@dataclass(frozen=True, slots=True)
class Condition:
    """One conjunct and what it reads."""

    expr: Expr
    direct: frozenset[str]
    whole: frozenset[str]
    indexed: tuple[str, ...]
    compared: frozenset[str]

    @property
    def of_one(self) -> str | None:
        """The step, if all the conjunct reads is one event of it."""
        found = {a.step for a in attributes(self.expr)}
        one = len(found) == 1 and not self.whole and all(a.pick is Pick.CURRENT for a in attributes(self.expr))
        return found.pop() if one else None

    def applies(self, rows: Rows) -> bool:
        return all(rows.get(step) for step in self.direct)

    def decided(self, rows: Rows, growing: frozenset[str]) -> bool:
        """All it reads is there to stay, given the steps that may still receive events."""
        return self.applies(rows) and not self.whole & growing

    def holds(self, scope: Scope) -> bool:
        """True, not NULL, for every combination of elements of the closures it reads by index."""
        choices = [range(step in self.compared, len(scope.rows.get(step, ()))) for step in self.indexed]
        return all(
            evaluate(self.expr, replace(scope, at=dict(zip(self.indexed, chosen, strict=True)))) is True
            for chosen in product(*choices)
        )


def conditions_of(bound: Bound) -> tuple[Condition, ...]:
    """Every top-level conjunct of the query."""
    many = frozenset(name for name, info in bound.steps.items() if info.many)
    return tuple(_condition(c, many) for item in bound.query.where for c in conjuncts(item))


def _condition(expr: Expr, many: frozenset[str]) -> Condition:
    found = list(attributes(expr))
    groups = list(_group_reads(expr))
    indexed = {a.step for a in found if a.step in many and a.pick in INDEXED}
    return Condition(
        expr,
        direct=frozenset(a.step for a in _outside(found, groups)),
        whole=frozenset(a.step for a in groups if a.pick not in (Pick.EACH_BEFORE, Pick.EACH_UPTO))
        | {a.step for a in found if a.pick is Pick.LAST},
        indexed=tuple(sorted(indexed)),
        compared=frozenset(a.step for a in found if a.step in indexed and a.pick in BACKWARD),
    )


def _outside(found: Sequence[Attribute], groups: Sequence[Attribute]) -> Iterator[Attribute]:
    """What is read directly: neither a group nor, inside an aggregate, an element of the group it runs over."""
    inside = {id(a) for a in groups}
    return (a for a in found if id(a) not in inside)


def _group_reads(expr: Expr) -> Iterator[Attribute]:
    """The attributes by which aggregates read the groups they run over."""
    if isinstance(expr, Aggregate) and expr.argument is not None:
        group = grouped(expr.argument)
        yield from (a for a in attributes(expr.argument) if group is not None and a.step == group.step)
    else:
        for child in children(expr):
            yield from _group_reads(child)
    if isinstance(expr, Attribute) and expr.pick in GROUP_PICKS:
        yield expr
