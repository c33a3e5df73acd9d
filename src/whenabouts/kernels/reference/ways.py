"""The ways forward of a pattern: what it can take next, and what then remains (partial derivatives, Antimirov 1996).

Problem: sequences, closures, groups, alternatives, any order and absent parts nest freely. Idea: a *residual* is the
pattern that remains to be matched. `ways` lists what it can take next; each way names the step, the new residual, the
absent parts passed, and the closure of which it is a further element. `endings` lists how it can take nothing. A
further element of a closure is one it takes when it has an element and its minimum already: the first element of B* or
B{0,2} is a step forward. No element of a closure can be empty: such patterns are refused when they are checked.
Invariant: a closure in a residual that was entered stands at the top level of the residual's sequence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import count, product

from whenabouts.plan.pattern import (
    Absent,
    AllOf,
    Choice,
    Closure,
    Pattern,
    Repeat,
    Sequence,
    Step,
    parts_of,
    walk_pattern,
)

Passed = frozenset[Absent]

NOTHING = Sequence(())
NONE_PASSED: Passed = frozenset()


@dataclass(frozen=True, slots=True)
class Loop(Pattern):
    """A closure under way: `need` more elements must, `room` more may follow (None: any number)."""

    part: Pattern
    label: int  # which closure of the pattern this is
    need: int
    room: int | None
    entered: bool = False  # it has an element already


@dataclass(frozen=True, slots=True)
class Way:
    """One way forward: take an event for `step`; `further` is the closure that already has its minimum, if any."""

    step: Step
    rest: Pattern
    passed: Passed = NONE_PASSED
    further: int | None = None


def residual_of(pattern: Pattern, closure: Closure) -> Pattern:
    """The whole pattern as residual: every closure labelled, and cut to its minimum under SHORTEST."""
    labels = count()

    def convert(node: Pattern) -> Pattern:
        match node:
            case Sequence(parts) | Choice(parts) | AllOf(parts):
                return replace(node, parts=tuple(convert(p) for p in parts))
            case Repeat(part, low, high):
                room = max(low, 1) if closure is Closure.SHORTEST else high
                return Loop(convert(part), next(labels), low, room)
            case _:
                return node  # a step, or an absent part, which is judged by itself

    return convert(pattern)


@cache
def endings(residual: Pattern) -> frozenset[Passed]:
    """The ways to take nothing more: for each the absent parts it passes. Empty if something must still be taken."""
    match residual:
        case Absent():
            return frozenset({frozenset({residual})})
        case Sequence(parts) | AllOf(parts):
            return _together([endings(p) for p in parts])
        case Choice(parts):
            return frozenset().union(*(endings(p) for p in parts))
        case Loop(need=0):
            return frozenset({NONE_PASSED})
        case _:
            return frozenset()


def _together(parts: list[frozenset[Passed]]) -> frozenset[Passed]:
    found = frozenset({NONE_PASSED})
    for part in parts:
        found = frozenset(a | b for a in found for b in part)
    return found


@cache
def ways(residual: Pattern) -> tuple[Way, ...]:
    """All ways to take one more event."""
    return tuple(dict.fromkeys(_ways(residual)))


def _ways(residual: Pattern) -> Iterator[Way]:
    match residual:
        case Step():
            yield Way(residual, NOTHING)
        case Sequence(parts) if parts:
            head, rest = parts[0], Sequence(parts[1:])
            yield from (replace(way, rest=_then(way.rest, rest)) for way in ways(head))
            for passed, way in product(endings(head), ways(rest)):
                yield replace(way, passed=passed | way.passed)
        case Choice(parts):
            yield from (way for part in parts for way in ways(part))
        case AllOf(parts):
            for i, part in enumerate(parts):
                yield from ways(_then(part, AllOf(parts[:i] + parts[i + 1 :])) if len(parts) > 1 else part)
        case Loop():
            yield from _another_element(residual)


def _another_element(loop: Loop) -> Iterator[Way]:
    if loop.room == 0:
        return
    room = None if loop.room is None else loop.room - 1
    again = replace(loop, need=max(loop.need - 1, 0), room=room, entered=True)
    for way in ways(loop.part):
        further = loop.label if loop.entered and loop.need == 0 else way.further
        yield replace(way, rest=_then(way.rest, again), further=further)


def _then(first: Pattern, rest: Pattern) -> Pattern:
    """`first` followed by `rest`, flat, without what can take nothing."""
    parts = [p for side in (first, rest) for p in (side.parts if isinstance(side, Sequence) else (side,))]
    kept = tuple(p for p in parts if not _spent(p))
    return kept[0] if len(kept) == 1 else Sequence(kept)


def _spent(part: Pattern) -> bool:
    return (isinstance(part, Loop) and part.room == 0) or part in (NOTHING, AllOf(()))


def stopped(residual: Pattern, label: int) -> Pattern:
    """The residual in which the closure `label`, which has its minimum, takes no further element."""
    parts = residual.parts if isinstance(residual, Sequence) else (residual,)
    kept = tuple(p for p in parts if not (isinstance(p, Loop) and p.label == label and p.entered and p.need == 0))
    return _then(Sequence(kept), NOTHING)


@cache
def growing(residual: Pattern) -> frozenset[str]:
    """The steps that some way forward, sooner or later, can still take an event for."""
    if isinstance(residual, Absent):
        return frozenset()
    if isinstance(residual, Step):
        return frozenset({residual.name})
    parts = (residual.part,) if isinstance(residual, Loop) else parts_of(residual)
    return frozenset().union(*(growing(p) for p in parts))


def step_names(pattern: Pattern) -> frozenset[str]:
    """The steps of a pattern as written."""
    return frozenset(node.name for node in walk_pattern(pattern) if isinstance(node, Step))
