"""One question about one table, asked in this process and on Spark, and whether both answers are equal.

Invariant: matches are compared one by one by their ids, and the confidences of equal ids with one another.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from whenabouts.app.asking import match_here, session_for, spark_errors, spark_table
from whenabouts.engine import PatternQuery

Say = Callable[[str], None]
ROUNDING = 1e-12  # both engines add up the same numbers, not always in the same order


@dataclass(slots=True)
class Answer:
    """What became of one question."""

    name: str
    question: str
    query: PatternQuery
    events: pa.Table
    local: pa.Table | None = None
    spark: pa.Table | None = None
    local_seconds: float | None = None
    spark_seconds: float | None = None

    @property
    def matches(self) -> pa.Table:
        return self.local if self.local is not None else self.spark

    @property
    def equal(self) -> bool | None:
        """Whether both engines gave the same matches; None if only one was asked."""
        if self.local is None or self.spark is None:
            return None
        here, there = _confidences(self.local), _confidences(self.spark)
        same_ids = [i for i, _ in here] == [i for i, _ in there]
        return same_ids and all(
            math.isclose(one, other, abs_tol=ROUNDING) for (_, one), (_, other) in zip(here, there, strict=True)
        )

    def numbers(self) -> dict[str, Any]:
        """The answer as JSON."""
        return {
            "query": self.name,
            "question": self.question,
            "matches": self.matches.num_rows,
            "local_seconds": self.local_seconds,
            "spark_seconds": self.spark_seconds,
            "equal": self.equal,
        }


def ask_here(answers: Sequence[Answer], say: Say) -> None:
    """Ask every question in this process."""
    for answer in answers:
        say(f"{answer.name} in this process: {answer.question}")
        outcome = match_here(answer.query, answer.events)
        answer.local, answer.local_seconds = outcome.matches, outcome.seconds


def ask_on_spark(answers: Sequence[Answer], say: Say) -> float:
    """Ask every question on Spark; the seconds until Spark was ready."""
    say("starting Spark …")
    began = time.perf_counter()
    with session_for("whenabouts demo") as session, spark_errors():
        session.range(1).count()
        ready = time.perf_counter() - began
        for events in {id(answer.events): answer.events for answer in answers}.values():
            with spark_table(session, events) as frame:
                for answer in (a for a in answers if a.events is events):
                    say(f"{answer.name} on Spark: {answer.question}")
                    start = time.perf_counter()
                    answer.spark = answer.query.match(frame).toArrow()
                    answer.spark_seconds = time.perf_counter() - start
    return round(ready, 3)


def _confidences(matches: pa.Table) -> list[tuple[str, float]]:
    return sorted(zip(matches["match_id"].to_pylist(), matches["confidence"].to_pylist(), strict=True))
