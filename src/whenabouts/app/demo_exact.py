"""The first part of the demo: times are exact, and the simulator knows every answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from rich import box
from rich.table import Table

from whenabouts.app.answers import Answer
from whenabouts.app.terminal import Terminal
from whenabouts.app.timeline_text import Track, draw, short
from whenabouts.app.truth import Verdict, judge
from whenabouts.engine import query
from whenabouts.simulate.cluster import ClusterDay
from whenabouts.simulate.cluster_queries import MONITORING

ASKED = ("Q1", "Q2", "Q3", "Q4", "Q6", "steady_imbalance", "max_cpu")
DRAWN = {
    "max_cpu": "Task {task} maxed out the CPU of {node} and finished; then the CPU calmed down (CPU in %)",
    "Q3": "Reducer {task} was held up by its last data pull: {period:.1f} s, {mean_period:.1f} s on average (in s)",
    "steady_imbalance": "Load imbalance only grew while reducer {task} ran (standard deviation of the load)",
}


@dataclass(slots=True)
class Judged:
    """A monitoring query, its answer, and whether it is true."""

    answer: Answer
    verdict: Verdict | None = None

    @property
    def right(self) -> bool:
        return self.answer.equal is not False and self.verdict is not None and self.verdict.right

    def numbers(self) -> dict[str, Any]:
        verdict = self.verdict
        truth = None if verdict is None else {k: getattr(verdict, k) for k in ("found", "missed", "invented")}
        return self.answer.numbers() | {"truth": truth}


def ask_about(day: ClusterDay) -> list[Judged]:
    """The questions, not yet asked."""
    asked = []
    for name in ASKED:
        monitoring = MONITORING[name]
        events = day.only(*monitoring.among) if monitoring.among else day.events
        asked.append(Judged(Answer(name, monitoring.question, query(monitoring.text, name=name), events)))
    return asked


def judge_all(asked: Sequence[Judged], day: ClusterDay) -> None:
    for one in asked:
        one.verdict = judge(one.answer.name, one.answer.matches, day)


def show(terminal: Terminal, asked: Sequence[Judged], day: ClusterDay) -> None:
    """Print the answers, and a match of some of them as a timeline."""
    terminal.say(
        f"1. A simulated day of a cluster, every time exact: {day.events.num_rows:,} events, {_how_long(day)}."
    )
    terminal.show(_summary(asked))
    for text in _drawings(asked, day, terminal.width):
        terminal.say(f"\n{text}")


def _how_long(day: ClusterDay) -> str:
    times = pc.min_max(day.events["time"]).as_py()
    return short(times["max"] - times["min"])


def _summary(asked: Sequence[Judged]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 1, 0))
    table.add_column("query and question")
    for title in ("matches", "local s", "Spark s"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("equal", no_wrap=True)
    table.add_column("known truth")
    for one in asked:
        table.add_row(*cells_of(one.answer), str(one.verdict))
    return table


def cells_of(answer: Answer) -> list[str]:
    """Question, matches, seconds here and on Spark, and whether the answers are equal."""
    seconds = [f"{s:.2f}" if s is not None else "-" for s in (answer.local_seconds, answer.spark_seconds)]
    equal = {None: "-", True: "yes", False: "NO"}[answer.equal]
    return [f"{answer.name}: {answer.question}", f"{answer.matches.num_rows:,}", *seconds, equal]


def _drawings(asked: Sequence[Judged], day: ClusterDay, width: int) -> list[str]:
    """One match of some queries, as a timeline."""
    matches_of = {one.answer.name: one.answer.matches for one in asked}
    drawn = []
    for name, title in DRAWN.items():
        matches = matches_of[name]
        if matches.num_rows:
            row = matches.sort_by("start").slice(0, 1).to_pylist()[0]
            drawn.append(draw(f"{name}: {title.format(**row)}", tracks_of(row, day.events), width))
    return drawn


def tracks_of(row: Mapping[str, Any], events: pa.Table) -> list[Track]:
    """The events of a match, step by step, with what was measured."""
    steps = dict(row["events"])
    ids = pa.array([i for step in steps.values() for i in step])
    rows = {r["id"]: r for r in events.filter(pc.is_in(events["id"], value_set=ids)).to_pylist()}
    return [_track(step, [rows[i] for i in found]) for step, found in steps.items() if found]


def _track(step: str, rows: Sequence[Mapping[str, Any]]) -> Track:
    times: list[datetime] = [r["time"] for r in rows]
    values = (next((r[c] for c in ("value", "period", "size") if r[c] is not None), None) for r in rows)
    return Track(step, rows[0]["type"], times, ["" if v is None else f"{v:.3g}" for v in values])
