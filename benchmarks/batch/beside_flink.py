"""Spark beside Flink on the same Parquet files, as in `spark_parquet`, with as many events as Flink manages in time.

Of the ten million events of `spark_parquet` Flink finishes none of the questions in its 120 s; of these, Spark spends
most of its time on starting tasks.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.batch.spark_parquet import SHARES, Inputs, check, inputs_of, on_flink, on_spark
from benchmarks.measure import Scale, SelfTimed

NAME = "beside_flink"
EVENTS: dict[Scale, int] = {"tiny": 4_000, "full": 200_000}


def load(scale: Scale) -> Inputs:
    return inputs_of(EVENTS[scale], scale)


def _variants() -> dict[str, Callable[[Inputs], Any] | SelfTimed]:
    variants: dict[str, Callable[[Inputs], Any] | SelfTimed] = {}
    for share in SHARES:
        variants[f"spark, {share} relevant, 1,000 keys"] = partial(on_spark, 0, share)
        variants[f"flink sql, {share} relevant, 1,000 keys"] = SelfTimed(partial(on_flink, 0, share))
    return variants


VARIANTS = _variants()

__all__ = ["NAME", "VARIANTS", "check", "load"]
