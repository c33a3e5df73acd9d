"""Whether what must be absent is absent (docs/semantics.md, section 4), judged on the complete match.

Problem: a forbidden event may be described by predicates on any step of the match, also on later ones. Idea: wait
until the match is complete; then look for an occurrence of the absent pattern among the events strictly inside the gap.
Invariant: no event of the match is inside a gap; an occurrence satisfies every conjunct that mentions a step of it and
applies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from whenabouts.errors import UnsupportedError
from whenabouts.kernels.reference.conditions import Condition, Rows
from whenabouts.kernels.reference.stream import Stream
from whenabouts.kernels.reference.ways import endings, residual_of, step_names, ways
from whenabouts.plan.expressions import steps_of
from whenabouts.plan.pattern import Absent, Closure, Pattern, walk_pattern


def absent_in_gap(
    absent: Absent, gap: int, taken: Sequence[int], rows: Rows, stream: Stream, conditions: Sequence[Condition]
) -> bool:
    """Whether `absent` does not occur after the first `gap` of the `taken` events and before the others."""
    if any(isinstance(node, Absent) for node in walk_pattern(absent.part)):
        raise UnsupportedError("unsupported", "an absent part inside an absent part", span=absent.span)
    names = step_names(absent.part)
    asked = [c for c in conditions if names & steps_of(c.expr)]
    inside = [r for r in _gap(gap, taken, stream) if stream.akin(r, taken[0])]
    for found in _occurrences(residual_of(absent.part, Closure.MAXIMAL), inside, stream):
        scope = stream.scope({**rows, **found})
        if all(c.holds(scope) for c in asked if c.applies(scope.rows)):
            return False
    return True


def _gap(gap: int, taken: Sequence[int], stream: Stream) -> list[int]:
    """The rows strictly inside a gap; before and after the match as far as the window reaches."""
    if gap == 0:
        return [r for r in stream.between(None, taken[0]) if stream.within(r, taken[-1])]
    if gap == len(taken):
        return [r for r in stream.between(taken[-1], None) if stream.within(taken[0], r)]
    return stream.between(taken[gap - 1], taken[gap])


def _occurrences(residual: Pattern, rows: Sequence[int], stream: Stream) -> Iterator[Mapping[str, tuple[int, ...]]]:
    """All bindings of the absent pattern to some of the rows, in strictly increasing time."""
    stack: list[tuple[dict[str, tuple[int, ...]], int | None, Pattern]] = [({}, None, residual)]
    while stack:
        found, last, rest = stack.pop()
        if found and endings(rest):
            yield found
        for row in rows:
            if last is not None and stream.time(row) <= stream.time(last):
                continue
            for way in ways(rest):
                name = way.step.name
                if stream.fits(row, way.step):
                    stack.append(({**found, name: (*found.get(name, ()), row)}, row, way.rest))
