"""What every engine must answer: brute force over the events of one key at a time, in plain Python.

A match is the tuple of its event ids in pattern order. Answers are compared by number of matches and by a checksum over
all ids, which peers compute too: engines have been seen to return the right number of wrong matches.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, combinations
from typing import NamedTuple

import pyarrow as pa

Match = tuple[int, ...]


class Event(NamedTuple):
    id: int
    type: str
    time: int
    v: float


class Summary(NamedTuple):
    """All that is compared of a bag of matches."""

    matches: int
    checksum: int


Find = Callable[[list[Event], int], Iterator[Match]]
"""The matches among the events of one key, in time order, within a window."""


def summary(matches: Iterable[Match]) -> Summary:
    """Count matches and sum up a polynomial hash of each, modulo 2**64."""
    count = total = 0
    for match in matches:
        code = 0
        for event_id in match:
            code = code * 31 + event_id + 1
        count, total = count + 1, total + code
    return Summary(count, total % 2**64)


def answer(find: Find, events: pa.Table, window: int) -> Summary:
    """Summary of `find` over every key; `window` bounds the last time minus the first, inclusive."""
    return summary(chain.from_iterable(find(rows, window) for rows in _by_key(events)))


def kleene_any(rows: list[Event], window: int) -> Iterator[Match]:
    """SEQ(A, B+, C), skip till any match: every non-empty choice of the Bs between an A and a C."""
    for start, bs, end in _between(rows, window):
        for size in range(1, len(bs) + 1):
            for chosen in combinations(bs, size):
                yield (start, *chosen, end)


def seq3_any(rows: list[Event], window: int) -> Iterator[Match]:
    """SEQ(A, B, C), skip till any match."""
    for start, bs, end in _between(rows, window):
        for b in bs:
            yield (start, b, end)


def seq3_next(rows: list[Event], window: int) -> Iterator[Match]:
    """SEQ(A, B, C), skip till next match: from every A the first B after it, then the first C after that."""
    for i, first in enumerate(rows):
        if first.type != "A":
            continue
        wanted, found = "B", [first.id]
        for event in rows[i + 1 :]:
            if event.time - first.time > window:
                break
            if event.type == wanted:
                found.append(event.id)
                if wanted == "C":
                    yield tuple(found)
                    break
                wanted = "C"


def vshape(rows: list[Event], window: int) -> Iterator[Match]:
    """A start, falling values, one rise: ids of start, bottom and rise; the next V may begin at the rise."""
    start = 0
    while start < len(rows):
        end = start + 1
        while end < len(rows) and rows[end].v < rows[end - 1].v:
            end += 1
        rises = end < len(rows) and rows[end].v > rows[end - 1].v
        if end > start + 1 and rises and rows[end].time - rows[start].time <= window:
            yield rows[start].id, rows[end - 1].id, rows[end].id
            start = end
        else:
            start += 1


def _between(rows: list[Event], window: int) -> Iterator[tuple[int, list[int], int]]:
    """Every A with every C in its window, and the Bs between them."""
    for i, first in enumerate(rows):
        if first.type != "A":
            continue
        bs: list[int] = []
        for event in rows[i + 1 :]:
            if event.time - first.time > window:
                break
            if event.type == "B":
                bs.append(event.id)
            elif event.type == "C":
                yield first.id, bs, event.id


def _by_key(events: pa.Table) -> Iterator[list[Event]]:
    rows: dict[int, list[Event]] = {}
    ordered = events.sort_by("time")
    columns = (ordered[name].to_pylist() for name in ("key", "id", "type", "time", "v"))
    for key, *event in zip(*columns, strict=True):
        rows.setdefault(key, []).append(Event(*event))
    yield from rows.values()
