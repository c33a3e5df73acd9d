"""Spark in two tasks at a time, ten million events in eight Parquet files: SEQ(A, B, C), skip till next match.

Four inputs: 1,000 or 100,000 keys, all events or 3 in 100 relevant; windows hold ten relevant events of a key. Flink
reads the same files in the same run. Every variant reads, matches and adds up all matches; starting Spark is not timed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset as ds

import whenabouts as wa
from benchmarks import data
from benchmarks.cases import TIME_LIMIT
from benchmarks.compare.flink.flink_peer import FlinkJob, run_flink
from benchmarks.expected import answer, seq3_next
from benchmarks.measure import Scale, SelfTimed
from benchmarks.sessions import spark

NAME = "spark_parquet"
EVENTS: dict[Scale, int] = {"tiny": 4_000, "full": 10_000_000}
KEYS: dict[Scale, tuple[int, int]] = {"tiny": (10, 200), "full": (1_000, 100_000)}
SHARES = {"3 %": 100, "all": 3}  # relevant events -> how many types there are
IN_WINDOW = 10
PARTITIONS = 8
QUERY = "PATTERN SEQ(A a, B b, C c) WHERE [key] AND skip_till_next_match WITHIN {} INCLUSIVE"


@dataclass(frozen=True)
class Input:
    folder: Path
    window: int
    wanted: tuple[int, int, int]  # matches, and the sums of their starts and ends


@dataclass(frozen=True)
class Inputs:
    """By number of keys and share."""

    inputs: dict[tuple[int, str], Input]
    events: int

    def __len__(self) -> int:
        return self.events


def load(scale: Scale) -> Inputs:
    return inputs_of(EVENTS[scale], scale)


def inputs_of(n: int, scale: Scale) -> Inputs:
    """So many events for every number of keys and share, each as eight files."""
    inputs = {}
    for size, keys in enumerate(KEYS[scale]):
        for share, types in SHARES.items():
            folder = data.parquet(data.uniform_types, n, n_types=types, keys=keys, files=8)
            window = IN_WINDOW * keys * types // 3
            inputs[size, share] = Input(folder, window, _wanted(folder, window, scale))
    return Inputs(inputs, n)


def _wanted(folder: Path, window: int, scale: Scale) -> tuple[int, int, int]:
    """By one process; at the small scale that is compared with brute force."""
    table = ds.dataset(folder).to_table()
    rows = wa.query(QUERY.format(window)).match(table)
    if scale == "tiny" and rows.num_rows != answer(seq3_next, table, window).matches:
        raise AssertionError("one process does not agree with brute force")
    start, end = (np.asarray(rows.column(name)) for name in ("start", "end"))
    return rows.num_rows, int(start.sum()), int(end.sum())


def on_spark(size: int, share: str, inputs: Inputs) -> tuple[Input, tuple[int, int, int]]:
    from pyspark.sql import functions as F  # noqa: N812

    chosen = inputs.inputs[size, share]
    events = spark(PARTITIONS).read.parquet(str(chosen.folder))
    matches = wa.query(QUERY.format(chosen.window)).match(events)
    (row,) = matches.agg(F.count(F.lit(1)), F.sum("start"), F.sum("end")).collect()
    return chosen, tuple(value or 0 for value in row)


def on_flink(size: int, share: str, inputs: Inputs, times: int) -> Sequence[tuple[Any, float]]:
    """Flink SQL as the other comparisons run it; it reports a checksum, of which only the number is compared."""
    chosen = inputs.inputs[size, share]
    job = FlinkJob("sql", "seq3", chosen.folder, chosen.window, source="file")
    found = run_flink(job, timeout=TIME_LIMIT, runs=min(times, 3)).runs()  # long runs: two after the first will do
    return [((chosen, summary), seconds) for summary, seconds in found]


def _variants() -> dict[str, Callable[[Inputs], Any] | SelfTimed]:
    variants: dict[str, Callable[[Inputs], Any] | SelfTimed] = {}
    for share in SHARES:
        for size, keys in enumerate(KEYS["full"]):
            variants[f"spark, {share} relevant, {keys:,} keys"] = partial(on_spark, size, share)
    for share in SHARES:
        variants[f"flink sql, {share} relevant, 1,000 keys"] = SelfTimed(partial(on_flink, 0, share))
    return variants


VARIANTS = _variants()


def check(inputs: Inputs, found: tuple[Input, Any]) -> None:
    chosen, answered = found
    if isinstance(answered, tuple) and len(answered) == len(chosen.wanted):
        if answered != chosen.wanted:
            raise AssertionError(f"{answered} instead of {chosen.wanted}")
    elif answered.matches != chosen.wanted[0]:
        raise AssertionError(f"{answered.matches} matches instead of {chosen.wanted[0]}")
