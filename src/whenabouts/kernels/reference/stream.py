"""The events a query looks at: bad rows set aside, streams by key, instants, windows.

Problem: order, ties, keys and windows enter every rule. Idea: one view of the table, asked by row number, that answers
all questions about time and key. Under strict contiguity the stream is the whole input and the key a condition between
events; under every other strategy the stream is the events of one key.
Invariant: rows with equal time are never ordered: all answers are the same for every order of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from whenabouts.events.times import LIMIT
from whenabouts.kernels.reference.conditions import Condition
from whenabouts.kernels.reference.values import Aggregates, Event, Scope, known
from whenabouts.plan.bound import Bound
from whenabouts.plan.pattern import Step, Strategy

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Stream:
    """The rows of one stream, in time order."""

    bound: Bound
    events: Sequence[Event]
    rows: tuple[int, ...]
    aggregates: Aggregates = field(default_factory=dict)

    def scope(self, bound_rows: Mapping[str, tuple[int, ...]]) -> Scope:
        """What attributes mean when these rows are bound."""
        return Scope(self.events, bound_rows, self.bound.schema, self.aggregates)

    def time(self, row: int) -> int:
        return tick_of(self.bound, self.events[row])

    def fits(self, row: int, step: Step) -> bool:
        """Whether the event has the type of the step."""
        return has_type(self.bound, self.events[row], step.type)

    def akin(self, row: int, other: int) -> bool:
        """Whether the rows have the same key."""
        return key_of(self.bound, self.events[row]) == key_of(self.bound, self.events[other])

    def within(self, first: int, last: int) -> bool:
        """Whether the window holds both rows, `first` being the earlier one."""
        extent = self.bound.extent
        if extent is None:
            return True
        begin, end = self.time(first), self.time(last)
        if not extent.events:
            return end - begin <= extent.span
        inside = [r for r in self.rows if begin <= self.time(r) <= end]
        return len(inside) <= extent.span

    def between(self, after: int | None, before: int | None) -> list[int]:
        """The rows at a time strictly between those of two rows; None is the edge of the input."""
        return [
            r
            for r in self.rows
            if (after is None or self.time(r) > self.time(after))
            and (before is None or self.time(r) < self.time(before))
        ]

    def instants(self, after: int | None) -> Iterator[list[int]]:
        """The rows after `after`, those of one instant together, in time order."""
        for _, together in groupby(self.between(after, None), key=self.time):
            yield list(together)


def tick_of(bound: Bound, event: Event) -> int:
    """The time of an event, rounded down to the granularity."""
    return int(event[bound.schema.roles.lower]) // bound.tick


def key_columns(bound: Bound) -> tuple[str, ...]:
    """The columns in which all steps agree."""
    return tuple(dict.fromkeys((*bound.key, *bound.query.equivalence)))


def key_of(bound: Bound, event: Event) -> Key:
    return tuple(known(event[c]) for c in key_columns(bound))


def has_type(bound: Bound, event: Event, wanted: str | None) -> bool:
    """Whether the event is of this type; None is any type."""
    column = bound.schema.roles.type
    return wanted is None or (column is not None and event[column] == wanted)


def streams_of(
    bound: Bound, events: Sequence[Event], conditions: Sequence[Condition], aggregates: Aggregates
) -> list[Stream]:
    """The streams a query is matched on, without bad rows."""
    good = [row for row in range(len(events)) if not is_bad(bound, events, row, conditions)]
    good.sort(key=lambda row: tick_of(bound, events[row]))
    if bound.query.strategy is Strategy.STRICT:
        return [Stream(bound, events, tuple(good), aggregates)]
    parts: dict[Key, list[int]] = {}
    for row in good:
        parts.setdefault(key_of(bound, events[row]), []).append(row)
    return [Stream(bound, events, tuple(rows), aggregates) for rows in parts.values()]


def is_bad(bound: Bound, events: Sequence[Event], row: int, conditions: Sequence[Condition]) -> bool:
    """A row without a time, or without a key although a step wants it: type and conditions on one event are right.

    Times are so near to 0 that the difference of any two fits 64 bits.
    """
    time = known(events[row][bound.schema.roles.lower])
    if not isinstance(time, int) or abs(time) >= LIMIT:
        return True
    if None not in key_of(bound, events[row]):
        return False
    return any(
        has_type(bound, events[row], info.type)
        and all(c.holds(Scope(events, {step: (row,)}, bound.schema)) for c in conditions if c.of_one == step)
        for step, info in bound.steps.items()
    )
