"""All matches of a linear pattern whose closures bind unordered groups: section 1 of the spec of imprecise time.

Problem: where times are uncertain the order within a group is uncertain too, and a query that does not read it should
not tell its orders apart. Idea: a closure binds a set, whose members may be tied; try all choices of groups, and accept
one by the rules M1 to M4 and, under skip_till_next_match, N1 and N2, as they stand there.
Invariant: a condition here cannot see the order of a group. Whether an event is relevant is judged with the members
strictly before it, for it could have been taken then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from whenabouts.errors import UnsupportedError
from whenabouts.kernels.reference.absence import absent_in_gap
from whenabouts.kernels.reference.conditions import Condition, conditions_of
from whenabouts.kernels.reference.linear import Linear, linear_of, regions, require_regions
from whenabouts.kernels.reference.matching import Signature
from whenabouts.kernels.reference.stream import Stream, streams_of
from whenabouts.kernels.reference.values import NO_AGGREGATES, Aggregates, Event
from whenabouts.plan.bound import Bound
from whenabouts.plan.expressions import Aggregate, Pick, attributes, walk

Group = tuple[int, ...]  # rows in time order


def match_unordered(bound: Bound, events: Sequence[Event], aggregates: Aggregates = NO_AGGREGATES) -> list[Signature]:
    """All matches over exact time, in a canonical order; the rows of a group are in the order of their numbers."""
    require_regions(bound)
    conditions = conditions_of(bound)
    refuse_order(bound)
    found: set[Signature] = set()
    for pattern in bound.query.patterns:
        linear = linear_of(pattern)
        for stream in streams_of(bound, events, conditions, aggregates):
            found.update(_Search(bound, linear, stream, conditions).matches())
    return sorted(found)


def refuse_order(bound: Bound) -> None:
    """Raise if a condition reads the order of a closure."""
    many = {name for name, info in bound.steps.items() if info.many}
    for expr in bound.query.where:
        ordered = any(a.step in many and a.pick not in (Pick.CURRENT, Pick.EACH) for a in attributes(expr))
        if ordered or any(isinstance(e, Aggregate) and e.function in ("first", "last") for e in walk(expr)):
            message = "a condition reads the order of a group, but groups have none here"
            raise UnsupportedError("unsupported", message, span=expr.span)


@dataclass(frozen=True, slots=True)
class _Search:
    """The matches of one pattern in one stream."""

    bound: Bound
    linear: Linear
    stream: Stream
    conditions: tuple[Condition, ...]

    def matches(self) -> Iterator[Signature]:
        for groups in self.choices(()):
            if self.accepts(groups):
                at = self.rows(groups)
                yield tuple((step, tuple(sorted(at[step]))) for step in self.bound.steps if step in at)

    def choices(self, groups: tuple[Group, ...]) -> Iterator[tuple[Group, ...]]:
        """Non-empty groups of events of the right types, each behind the one before (M2), inside the window (M3)."""
        if len(groups) == len(self.linear.parts):
            yield groups
            return
        part = self.linear.parts[len(groups)]
        behind = self.stream.between(groups[-1][-1] if groups else None, None)
        rows = [row for row in behind if self.stream.fits(row, part.step)]
        for size in range(part.least, min(len(rows), part.most or len(rows)) + 1):
            for group in combinations(rows, size):
                if self.stream.within((groups or (group,))[0][0], group[-1]):
                    yield from self.choices((*groups, group))

    def accepts(self, groups: tuple[Group, ...]) -> bool:
        """M1 and M4 (an absent step reads the complete match); N1 and N2."""
        rows = self.rows(groups)
        taken = [row for group in groups for row in group]
        if not self.holding(rows, frozenset()):
            return False
        for place, absent in self.linear.absents:
            gap = sum(len(group) for group in groups[:place])
            if not absent_in_gap(absent, gap, taken, rows, self.stream, self.conditions):
                return False
        times = [[self.stream.time(row) for row in group] for group in groups]
        others = [row for row in self.stream.rows if row not in taken]
        return not any(
            region.part is not None
            and region.low < self.stream.time(x) < region.high
            and self.relevant(groups, region.part, x)
            for region in regions(self.bound, self.linear, times, unordered=True)
            for x in others
        )

    def relevant(self, groups: tuple[Group, ...], place: int, x: int) -> bool:
        """Type, and all conjuncts that x decides together with what was selected before it."""
        part = self.linear.parts[place]
        now = self.stream.time(x)
        prefix = [tuple(row for row in group if self.stream.time(row) < now) for group in groups[:place]]
        later = self.linear.parts[place if part.many else place + 1 :]
        growing = frozenset(p.step.name for p in later)
        return self.stream.fits(x, part.step) and self.holding(self.rows((*prefix, (x,))), growing)

    def rows(self, groups: Sequence[Group]) -> Mapping[str, Group]:
        return {part.step.name: group for part, group in zip(self.linear.parts, groups, strict=False)}

    def holding(self, rows: Mapping[str, Group], growing: frozenset[str]) -> bool:
        scope = self.stream.scope(rows)
        return all(c.holds(scope) for c in self.conditions if c.decided(rows, growing))
