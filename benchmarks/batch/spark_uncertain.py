"""Spark in two tasks at a time, a million events of uncertain time over 1,000 keys: SEQ(A, B, C) in 1, 2, 8 partitions.

The events lie in eight Parquet files; a key has one about every tick, each of them uniform over 2 * HALF_WIDTH + 1
ticks, one in TYPES of them an A, windows of WINDOW ticks. Every variant reads the files and hands over the id and the
confidence of every match, which must be those of one process; starting Spark is in the first call only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

import whenabouts as wa
from benchmarks import data
from benchmarks.measure import Scale
from benchmarks.sessions import spark

NAME = "spark_uncertain"
EVENTS: dict[Scale, int] = {"tiny": 5_000, "full": 1_000_000}
KEYS: dict[Scale, int] = {"tiny": 10, "full": 1_000}
TYPES, HALF_WIDTH, WINDOW = 20, 5, 30
PARTITIONS = (1, 2, 8)
STRATEGIES = ("any", "next")
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Input:
    folder: Path
    wanted: dict[str, pa.Table]  # by strategy: match_id, confidence
    events: int

    def __len__(self) -> int:
        return self.events


def query(strategy: str) -> Any:
    text = f"PATTERN SEQ(A a, B b, C c) WHERE [key] AND skip_till_{strategy}_match WITHIN {WINDOW}"
    return wa.query(text, time=("lower", "upper"))


def load(scale: Scale) -> Input:
    n, keys = EVENTS[scale], KEYS[scale]
    folder = data.parquet(data.imprecise_types, n, n_types=TYPES, keys=keys, half_width=HALF_WIDTH, files=8)
    return Input(folder, {strategy: _alone(folder, strategy) for strategy in STRATEGIES}, n)


def _alone(folder: Path, strategy: str) -> pa.Table:
    rows = query(strategy).match(ds.dataset(folder).to_table())
    return rows.select(["match_id", "confidence"]).sort_by("match_id")


def in_one_process(strategy: str, given: Input) -> tuple[str, pa.Table]:
    return strategy, _alone(given.folder, strategy)


def on_spark(strategy: str, partitions: int, given: Input) -> tuple[str, pa.Table]:
    events = spark(partitions, exactly=True).read.parquet(str(given.folder))
    rows = query(strategy).match(events).select("match_id", "confidence").toArrow()
    return strategy, rows.sort_by("match_id")


def _variants() -> dict[str, Callable[[Input], Any]]:
    variants: dict[str, Callable[[Input], Any]] = {}
    for strategy in STRATEGIES:
        variants[f"skip till {strategy}, one process"] = partial(in_one_process, strategy)
        for partitions in PARTITIONS:
            name = f"skip till {strategy}, spark, {partitions} partition{'s'[: partitions > 1]}"
            variants[name] = partial(on_spark, strategy, partitions)
    return variants


VARIANTS = _variants()


def check(given: Input, answer: tuple[str, pa.Table]) -> None:
    strategy, found = answer
    wanted = given.wanted[strategy]
    if not wanted.num_rows:
        raise AssertionError("one process found nothing to compare")
    if found.column("match_id").to_pylist() != wanted.column("match_id").to_pylist():
        raise AssertionError(f"{found.num_rows} matches, which are not the {wanted.num_rows} of one process")
    ours, theirs = (np.asarray(rows.column("confidence")) for rows in (found, wanted))
    if not np.allclose(ours, theirs, rtol=0, atol=TOLERANCE):
        raise AssertionError(f"confidences differ by {np.abs(ours - theirs).max()} from those of one process")


def figures(answer: tuple[str, pa.Table]) -> dict[str, int]:
    return {"matches": answer[1].num_rows}
