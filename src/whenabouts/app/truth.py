"""Do the answers of the monitoring queries agree with what the simulator put into its day?

Idea: an answer and a truth are both a key (which events, in which roles) with numbers; an answer is found if its key is
a true one and the numbers agree. What Q6 must find is no table of the simulator: a plain loop over the events says it.
Invariant: found + missed is the number of truths, found + invented the number of answers.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from whenabouts.simulate.cluster import ClusterDay

Numbers = tuple[float, ...]
Row = Mapping[str, Any]
Keyed = tuple[tuple[Any, ...], Numbers]


@dataclass(frozen=True, slots=True)
class Verdict:
    """How many true answers were given, how many were not, and how many given answers are not true."""

    found: int
    missed: int
    invented: int

    @property
    def right(self) -> bool:
        return self.missed == self.invented == 0

    def __str__(self) -> str:
        wrong = [f"{n} {what}" for n, what in ((self.missed, "missed"), (self.invented, "invented")) if n]
        return ", ".join([f"all {self.found:,} found" if self.right else f"{self.found:,} found", *wrong])


def judge(name: str, matches: pa.Table, day: ClusterDay) -> Verdict:
    """Compare the matches of a monitoring query with the truth about its day."""
    answer_of, truths_of = JUDGED[name]
    truths = dict(truths_of(day))
    found, invented = set(), 0
    for row in matches.to_pylist():
        key, numbers = answer_of({**row, "events": dict(row["events"])})
        if key in truths and key not in found and all(map(_close, numbers, truths[key])):
            found.add(key)
        else:
            invented += 1
    return Verdict(len(found), len(truths) - len(found), invented)


def _close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


def _events(*steps: str) -> Callable[[Row], tuple[int, ...]]:
    return lambda row: tuple(event for step in steps for event in row["events"][step])


def _answers(key: Callable[[Row], tuple[Any, ...]], *numbers: str) -> Callable[[Row], Keyed]:
    return lambda row: (key(row), tuple(row[n] for n in numbers))


def _truths(table: str, keys: Iterable[str], *numbers: str) -> Callable[[ClusterDay], Iterable[Keyed]]:
    def keyed(day: ClusterDay) -> Iterable[Keyed]:
        for row in getattr(day.truth, table).to_pylist():
            parts = [row[k] if isinstance(row[k], list) else [row[k]] for k in keys]
            yield tuple(event for part in parts for event in part), tuple(row[n] for n in numbers)

    return keyed


def greedy_climbs(day: ClusterDay) -> Iterable[Keyed]:
    """Per reducer: its start, each LoadStd that is not below the last one taken, its end; how many, and how high."""
    tasks: dict[str, list[Row]] = defaultdict(list)
    for row in day.only("ReducerStart", "LoadStd", "ReducerEnd").to_pylist():
        tasks[row["task_id"]].append(row)
    for first, *loads, last in tasks.values():
        taken: list[Row] = []
        for load in loads:
            if not taken or load["value"] >= taken[-1]["value"]:
                taken.append(load)
        if taken:
            key = (first["id"], *(load["id"] for load in taken), last["id"])
            yield key, (len(taken), taken[-1]["value"])


def _job_and_last(row: Row) -> tuple[Any, ...]:
    return row["job"], row["events"]["b"][-1]


_FROM_START_TO_END = _events("a", "c")
_PERIODS = ("mean_period", "max_period")

JUDGED: Mapping[str, tuple[Callable[[Row], Keyed], Callable[[ClusterDay], Iterable[Keyed]]]] = {
    "Q1": (_answers(_FROM_START_TO_END, *_PERIODS), _truths("jobs", ("start", "end"), "mean_mapper", "max_mapper")),
    "Q2": (_answers(_FROM_START_TO_END, *_PERIODS), _truths("jobs", ("start", "end"), "mean_reducer", "max_reducer")),
    "Q3": (
        _answers(_events("a", "b"), "period", "mean_period"),
        _truths("stragglers", ("start", "pulls"), "period", "mean_period"),
    ),
    "Q4": (
        _answers(lambda row: (row["job"], row["events"]["b"][-1]), "queued"),
        _truths("queue", ("job_id", "data_io"), "queued"),
    ),
    "Q6": (_answers(_events("a", "b", "c"), "climbs", "load_std"), greedy_climbs),
    "steady_imbalance": (_answers(_events("a", "b", "c")), _truths("imbalanced", ("start", "loads", "end"))),
    "max_cpu": (_answers(_events("a", "b", "c", "d")), _truths("hot_tasks", ("start", "peak", "finish", "calm"))),
}
