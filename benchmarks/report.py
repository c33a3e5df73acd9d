"""Results as text: a header that says where they come from, and a table."""

import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.measure import Row

COLUMNS = ("benchmark", "variant", "events", "median s", "min s", "max s", "first s", "events/s", "ratio", "")
LIBRARIES = ("pyspark", "pyarrow", "numba", "numpy")


def report(command: str, rows: Sequence[Row], conclusion: str = "") -> str:
    """The text of a results file: where it comes from, the table, and what follows from it."""
    header = {
        "command": command,
        "machine": machine(),
        "versions": ", ".join([f"python {platform.python_version()}", *map(_library, LIBRARIES)]),
        "commit": _commit(),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
    }
    return "".join(f"{name:<10}{value}\n" for name, value in header.items()) + "\n" + table(rows, conclusion)


def table(rows: Sequence[Row], conclusion: str = "") -> str:
    """Aligned columns, with one for each figure; a variant without a time ends in its reason instead."""
    figures = tuple(dict.fromkeys(name for row in rows for name in row.figures))
    columns = (*COLUMNS[:-1], *figures, COLUMNS[-1])
    lines = [columns, *(_cells(row, figures) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = "".join("  ".join(map(_aligned, columns, line, widths)).rstrip() + "\n" for line in lines)
    return f"{text}\n{conclusion}\n" if conclusion else text


def machine() -> str:
    """CPU model, usable cores, memory, and how busy it is."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{_cpu()}, {cores} cores, {memory:.0f} GiB, load {os.getloadavg()[0]:.1f}"


def _cells(row: Row, figures: Sequence[str]) -> tuple[str, ...]:
    name = (row.benchmark, row.variant, f"{row.events:,}")
    if not row.seconds:
        return (*name, "", "", "", "", "", "", *("" for _ in figures), row.note)
    times = (row.median, min(row.seconds), max(row.seconds), row.first)
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
    known = (f"{row.figures[figure]:,}" if figure in row.figures else "" for figure in figures)
    return (*name, *(f"{seconds:.4f}" for seconds in times), f"{row.events / row.median:,.0f}", ratio, *known, "")


def _aligned(column: str, cell: str, width: int) -> str:
    return f"{cell:<{width}}" if column in {"benchmark", "variant", ""} else f"{cell:>{width}}"


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def _library(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"no {name}"


def _commit() -> str:
    """Results that the same run has rewritten are no change of what it measures."""
    others = (":(top)", ":(top,exclude)benchmarks/results")
    commit = _git("rev-parse", "--short", "HEAD")
    changes = _git("status", "--porcelain", "--untracked-files=no", "--", *others)
    return (commit or "unknown") + (" and uncommitted changes" if changes else "")


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return done.stdout.strip()
