"""Inputs for comparisons: a stream, a window and the right answer; and the variants that answer it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks import data
from benchmarks.compare.flink.flink_peer import FlinkJob, Mode, run_flink
from benchmarks.compare.pandas_match_recognize.pandas_peer import run_pandas
from benchmarks.expected import Find, Summary, answer, summary
from benchmarks.measure import NotMeasured, Scale, SelfTimed, Variant

SIZES: dict[Scale, tuple[int, int]] = {"tiny": (300, 3), "full": (500_000, 1_000)}  # events, keys
EVENTS_IN_WINDOW = 10  # of each key
TIME_LIMIT = 120.0  # for each run of a peer


@dataclass(frozen=True)
class Case:
    """The same events in memory and as Parquet; `window` bounds the last time minus the first, inclusive."""

    events: pa.Table
    folder: Path
    window: int
    expected: Summary

    def __len__(self) -> int:
        return len(self.events)


def load_case(stream: Callable[..., pa.Table], find: Find, scale: Scale) -> Case:
    """A stream whose keys come in turn, so that windows hold EVENTS_IN_WINDOW events of each key."""
    n, keys = SIZES[scale]
    folder = data.parquet(stream, n, keys=keys, files=4)
    events, window = pq.read_table(folder), EVENTS_IN_WINDOW * keys
    return Case(events, folder, window, answer(find, events, window))


def check(case: Case, found: Summary | pa.Table) -> None:
    """Compare a peer's summary, or the match rows or the totals of whenabouts, with the right answer."""
    if isinstance(found, pa.Table) and "events" not in found.column_names:
        if pc.sum(found["n"]).as_py() != case.expected.matches:
            raise AssertionError(f"{pc.sum(found['n'])} matches instead of {case.expected.matches}")
        return
    if not isinstance(found, Summary):
        signatures = (chain.from_iterable(ids for _, ids in row) for row in found["events"].to_pylist())
        found = summary(map(tuple, signatures))
    if found != case.expected:
        raise AssertionError(f"{found} instead of {case.expected}")


def whenabouts(text: str, language: str = "query") -> Variant:
    """The query in one process, on the Arrow table."""

    def run(case: Case) -> Any:
        import whenabouts as wa

        if not hasattr(wa, language):
            raise NotMeasured("not written yet")
        return getattr(wa, language)(text.format(window=case.window)).match(case.events)

    return run


def flink(mode: Mode, query: str, **settings: Any) -> Variant:
    """Apache Flink; settings as in `FlinkJob`."""

    def run(case: Case, runs: int) -> Sequence[tuple[Summary, float]]:
        job = FlinkJob(mode, query, case.folder, case.window, **settings)
        return run_flink(job, timeout=TIME_LIMIT, runs=runs).runs()

    return SelfTimed(run)


def pandas_match_recognize(query: str) -> Variant:
    """The PyPI package on a pandas DataFrame."""

    def run(case: Case, runs: int) -> Sequence[tuple[Summary, float]]:
        return run_pandas(query, case.folder, case.window, timeout=TIME_LIMIT, runs=runs).runs()

    return SelfTimed(run)
