"""Time the variants of a benchmark; every answer is checked, outside the time."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from types import ModuleType
from typing import Any, Literal

Scale = Literal["tiny", "full"]


class WrongAnswer(Exception):
    """A variant did not answer what the benchmark expects."""


class NotMeasured(Exception):
    """A variant has no time: it is not installed here, or hit its time limit. The message says which."""


@dataclass(frozen=True)
class SelfTimed:
    """A variant in another process: `run(data, times)` repeats it there and returns (answer, seconds) of each time."""

    run: Callable[[Any, int], Sequence[tuple[Any, float]]]


Variant = Callable[[Any], Any] | SelfTimed


@dataclass(frozen=True)
class Benchmark:
    """What a benchmark module says; its first variant is the baseline."""

    name: str
    load: Callable[[Scale], Any]
    check: Callable[[Any, Any], None]
    variants: Mapping[str, Variant]
    events: Callable[[Any], int] = len
    figures: Callable[[Any], Mapping[str, int]] = lambda answer: {}  # what else to list of an answer, by column
    conclusion: Callable[[Sequence["Row"]], str] = lambda rows: ""  # lines below the table
    plots: Callable[[Sequence["Row"]], Mapping[str, str]] = lambda rows: {}  # SVG by file name

    @classmethod
    def of(cls, module: ModuleType) -> "Benchmark":
        """NAME, load, check, and run or VARIANTS; others, such as events or figures, if the module has them."""
        optional = ("events", "figures", "conclusion", "plots")
        found = {name: getattr(module, name) for name in optional if hasattr(module, name)}
        variants = getattr(module, "VARIANTS", None) or {"run": module.run}
        return cls(module.NAME, module.load, module.check, variants, **found)


@dataclass(frozen=True)
class Row:
    """One line of the results table."""

    benchmark: str
    variant: str
    events: int
    seconds: tuple[float, ...] = ()  # without the first call
    first: float = 0.0  # the first call: compilation, class loading, cold caches
    ratio: float | None = None  # times as fast as the first variant that has a time
    note: str = ""  # why there are no seconds
    figures: Mapping[str, int] = field(default_factory=dict)  # of the last answer

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def measure(benchmark: Benchmark, scale: Scale, repeats: int) -> list[Row]:
    """One row per variant: a first call, then `repeats` more; raises WrongAnswer."""
    data = benchmark.load(scale)
    rows: list[Row] = []
    for variant, run in benchmark.variants.items():
        row = Row(benchmark.name, variant, benchmark.events(data))
        try:
            (first, *seconds), figures = _checked_times(benchmark, variant, run, data, repeats + 1)
        except NotMeasured as reason:
            rows.append(replace(row, note=str(reason)))
            continue
        baseline = next((other.seconds for other in rows if other.seconds), seconds)
        ratio = statistics.median(baseline) / statistics.median(seconds)
        rows.append(replace(row, seconds=tuple(seconds), first=first, ratio=ratio, figures=figures))
    return rows


def _checked_times(
    benchmark: Benchmark, variant: str, run: Variant, data: Any, times: int
) -> tuple[list[float], Mapping[str, int]]:
    """The seconds of every call, and the figures of the last answer."""
    timed = run.run(data, times) if isinstance(run, SelfTimed) else (_timed(run, data) for _ in range(times))
    seconds, figures = [], {}
    for answer, elapsed in timed:
        try:
            benchmark.check(data, answer)
            figures = benchmark.figures(answer)
        except Exception as fault:
            raise WrongAnswer(f"{benchmark.name}, {variant}: {fault}") from fault
        seconds.append(elapsed)
    return seconds, figures


def _timed(run: Callable[[Any], Any], data: Any) -> tuple[Any, float]:
    start = perf_counter()
    answer = run(data)
    return answer, perf_counter() - start
