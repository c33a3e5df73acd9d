"""Run another engine in a process of its own, several times, each against a time limit.

The process prints one line of JSON per run: {"matches", "checksum", "events", "seconds"}, in the sense of `expected`.
"""

import json
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.expected import Summary
from benchmarks.measure import NotMeasured

CACHE = Path(__file__).parent / ".cache"
"""Where peers are installed; not under version control."""


@dataclass(frozen=True)
class PeerResult:
    """What a peer answered; `seconds` has one entry per finished run, the first with nothing warm."""

    summary: Summary | None
    events: int
    seconds: tuple[float, ...]
    total_seconds: float  # of the whole process: start, loading, every run
    problem: str = ""  # "did not finish in 120 s"

    def runs(self) -> list[tuple[Summary, float]]:
        """Answer and seconds of every run, or NotMeasured."""
        if self.problem or self.summary is None:
            raise NotMeasured(self.problem)
        return [(self.summary, seconds) for seconds in self.seconds]


def run_peer(command: Sequence[str], *, runs: int, timeout: float, env: Mapping[str, str] | None = None) -> PeerResult:
    """`timeout` bounds each run; the first includes the start of the process and loading the events."""
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=errors, text=True) as process:
            try:
                lines, expired = _read_lines(process, runs, timeout)
                if len(lines) == runs:
                    process.wait(timeout)
            finally:
                process.kill()  # nothing but this process
        if len(lines) < runs and not expired:
            errors.seek(0)
            raise RuntimeError(f"{command[0]} failed:\n{errors.read()[-2000:]}")
    total, problem = time.perf_counter() - start, f"did not finish in {timeout:g} s" if expired else ""
    summaries = {Summary(line["matches"], int(line["checksum"])) for line in lines}
    if len(summaries) > 1:
        raise RuntimeError(f"{command[0]} answered differently from run to run: {sorted(summaries)}")
    events = lines[0]["events"] if lines else 0
    return PeerResult(next(iter(summaries), None), events, tuple(line["seconds"] for line in lines), total, problem)


def _read_lines(process: "subprocess.Popen[str]", runs: int, timeout: float) -> tuple[list[Any], bool]:
    lines: list[Any] = []
    expired = threading.Event()

    def end() -> None:
        expired.set()
        process.kill()

    for _ in range(runs):
        timer = threading.Timer(timeout, end)
        timer.start()
        line = process.stdout.readline() if process.stdout else ""
        timer.cancel()
        if not line:
            break
        lines.append(json.loads(line))
    return lines, expired.is_set()
