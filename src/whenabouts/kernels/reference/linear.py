"""Linear patterns, and where an event outside a match forbids it (spec of imprecise time, section 1).

Problem: over uncertain time a closure may be read as an unordered group, and a match is final once no region of time
that can harm it lies ahead. Idea: a linear pattern is a list of parts, each a single step or a closure of one, and
absent single steps in the gaps between them; for the times of a complete match every rule of selection (N1 to N3) and
of negation (M4) is then an open interval which certain events must avoid.
Invariant: times of a match are given part by part, in time order within a part.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from whenabouts.errors import UnsupportedError
from whenabouts.plan.bound import Bound
from whenabouts.plan.pattern import Absent, Closure, Pattern, Repeat, Step, Strategy, walk_pattern
from whenabouts.plan.pattern import Sequence as InOrder


@dataclass(frozen=True, slots=True)
class Part:
    """A positive component: one event, or from `least` to `most` (None: any number)."""

    step: Step
    many: bool
    least: int = 1
    most: int | None = 1


@dataclass(frozen=True, slots=True)
class Linear:
    """Parts in strictly increasing time; an absent part stands before the part of its number, the last behind all."""

    parts: tuple[Part, ...]
    absents: tuple[tuple[int, Absent], ...]


@dataclass(frozen=True, slots=True)
class Region:
    """No event that `part` could take, or that `part` is None and negation forbids, lies strictly between."""

    low: float
    high: float
    part: int | None = None


def linear_of(pattern: Pattern) -> Linear:
    """The pattern as a list of parts; refused if it is more than that."""
    parts: list[Part] = []
    absents: list[tuple[int, Absent]] = []
    for node in pattern.parts if isinstance(pattern, InOrder) else (pattern,):
        match node:
            case Step():
                parts.append(Part(node, many=False))
            case Repeat(Step() as step, low, high) if low > 0:
                parts.append(Part(step, high is None or high > 1, low, high))
            case Absent(Step()):
                absents.append((len(parts), node))
            case _:
                raise UnsupportedError(
                    "unsupported",
                    "more than a sequence of steps, their closures + and absent steps",
                    span=node.span,
                )
    return Linear(tuple(parts), tuple(absents))


def require_regions(bound: Bound) -> None:
    """Refuse what the spec of imprecise time does not define by regions of time."""
    query = bound.query
    if query.strategy not in (Strategy.ANY, Strategy.NEXT):
        raise UnsupportedError("unsupported", f"{query.strategy} has no regions of time")
    if query.strategy is Strategy.NEXT and query.closure not in (Closure.MAXIMAL, Closure.SET):
        raise UnsupportedError("unsupported", f"CLOSURE {query.closure} has no regions of time")
    counted = (
        n for p in query.patterns for n in walk_pattern(p) if isinstance(n, Repeat) and (n.low, n.high) != (1, None)
    )
    if query.strategy is Strategy.NEXT and any(counted):
        raise UnsupportedError("unsupported", "a counted closure that takes all it can has no regions of time")
    if bound.extent is not None and bound.extent.events:
        raise UnsupportedError("unsupported", "a window of events has no regions of time")


def regions(bound: Bound, linear: Linear, times: Sequence[Sequence[int]], *, unordered: bool) -> Iterator[Region]:
    """All regions of a match with these times."""
    window = math.inf if bound.extent is None else bound.extent.span + 1
    start, end = times[0][0], times[-1][-1]
    for gap, _ in linear.absents:
        low = times[gap - 1][-1] if gap else end - window
        yield Region(low, times[gap][0] if gap < len(times) else start + window)
    if bound.query.strategy is Strategy.ANY:
        return
    for j, (part, own) in enumerate(zip(linear.parts, times, strict=True)):
        before = times[j - 1][0] if j else None  # the start: after one element the next part is enabled
        after = times[j + 1][0] if j + 1 < len(times) else start + window
        if part.many and unordered:
            yield Region(start if before is None else before, after, j)
            continue
        bounds = [*([] if before is None else [before]), *own, *([after] if part.many else [])]
        yield from (Region(low, high, j) for low, high in pairwise(bounds))
