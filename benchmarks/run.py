"""Run benchmarks, check their answers and print a table: python -m benchmarks.run --help."""

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.measure import Benchmark, WrongAnswer, measure
from benchmarks.report import report, table

FOLDERS = ("micro", "batch", "compare")
RESULTS = Path(__file__).parent / "results"


def found() -> Iterator[Benchmark]:
    """Every module directly in one of the folders is a benchmark; peers live in packages below."""
    for folder in FOLDERS:
        for module in pkgutil.iter_modules([str(Path(__file__).parent / folder)]):
            if not module.ispkg:
                yield Benchmark.of(importlib.import_module(f"benchmarks.{folder}.{module.name}"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1 if any answer was wrong; such a benchmark has no times and writes no results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--scale", choices=("tiny", "full"), default="full", help="tiny: only for the answers")
    parser.add_argument("--only", metavar="NAME", help="run one benchmark")
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="timed calls after the first (default: 5)")
    parser.add_argument("--write", action="store_true", help="rewrite results/NAME.txt and its plots")
    options = parser.parse_args(arguments)
    if options.write and options.scale == "tiny":
        parser.error("--write keeps times, and those of --scale tiny say nothing")
    if options.repeats < 1:
        parser.error("--repeats must be at least 1")
    benchmarks = {benchmark.name: benchmark for benchmark in found()}
    if options.only and options.only not in benchmarks:
        parser.error(f"no benchmark is named {options.only}; there are {', '.join(sorted(benchmarks))}")

    wrong = 0
    for benchmark in [benchmarks[options.only]] if options.only else benchmarks.values():
        try:
            rows = measure(benchmark, options.scale, options.repeats)
        except WrongAnswer as fault:
            print(f"wrong answer: {fault}\n", file=sys.stderr)
            wrong += 1
            continue
        conclusion = benchmark.conclusion(rows)
        print(table(rows, conclusion))
        if options.write:
            command = f"python -m benchmarks.run --only {benchmark.name} --repeats {options.repeats} --write"
            RESULTS.mkdir(exist_ok=True)
            (RESULTS / f"{benchmark.name}.txt").write_text(report(command, rows, conclusion), "utf-8")
            for name, drawing in benchmark.plots(rows).items():
                (RESULTS / f"{name}.svg").write_text(drawing, "utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
