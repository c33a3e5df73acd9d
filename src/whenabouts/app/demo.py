"""The demo: a simulated day of a cluster, the questions of its operators, and whether the answers are right.

Idea: nobody has to believe an engine. The same queries are asked in this process and on Spark, match ids are compared
one by one, and both with what the simulator knows to have happened. Invariant: exit code 1 whenever anything differs.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from rich import box
from rich.table import Table

from whenabouts.app.asking import match_here, session_for, spark_errors, spark_table
from whenabouts.app.terminal import DONE, FAILED, Terminal
from whenabouts.app.timeline_text import Track, draw, short
from whenabouts.app.truth import Verdict, judge
from whenabouts.engine import PatternQuery, query
from whenabouts.simulate.cluster import SMALL, ClusterConfig, ClusterDay, simulate_cluster
from whenabouts.simulate.cluster_queries import MONITORING, MonitoringQuery

ASKED = ("Q1", "Q2", "Q3", "Q4", "Q6", "steady_imbalance", "max_cpu")
DRAWN = {
    "max_cpu": "Task {task} maxed out the CPU of {node} and finished; then the CPU calmed down (CPU in %)",
    "Q3": "Reducer {task} was held up by its last data pull: {period:.1f} s, {mean_period:.1f} s on average (in s)",
    "steady_imbalance": "Load imbalance only grew while reducer {task} ran (standard deviation of the load)",
}


@dataclass(slots=True)
class Answer:
    """What became of one question."""

    asked: MonitoringQuery
    query: PatternQuery
    local: pa.Table | None = None
    spark: pa.Table | None = None
    local_seconds: float | None = None
    spark_seconds: float | None = None
    verdict: Verdict | None = None

    @property
    def matches(self) -> pa.Table:
        return self.local if self.local is not None else self.spark

    @property
    def equal(self) -> bool | None:
        """Whether both engines gave the same matches; None if only one was asked."""
        if self.local is None or self.spark is None:
            return None
        return _ids(self.local) == _ids(self.spark)

    @property
    def right(self) -> bool:
        return self.equal is not False and self.verdict is not None and self.verdict.right


def show(terminal: Terminal, *, engine: str, small: bool) -> int:
    """Run the demo, print what it found; the exit code."""
    began = time.perf_counter()
    answers = {name: Answer(MONITORING[name], query(MONITORING[name].text, name=name)) for name in ASKED}
    with terminal.working("simulating a day of a cluster …") as say:
        day = simulate_cluster(SMALL if small else ClusterConfig())
        if engine != "spark":
            for name, answer in answers.items():
                say(f"{name} in this process: {answer.asked.question}")
                _ask_here(answer, day)
        start = _ask_spark(answers, day, say) if engine != "local" else None
        say("comparing with what the simulator knows …")
        for name, answer in answers.items():
            answer.verdict = judge(name, answer.matches, day)
    right = all(answer.right for answer in answers.values())
    terminal.say(f"A simulated day of a cluster: {day.events.num_rows:,} events, {_how_long(day)}.")
    terminal.show(_summary(answers))
    for text in _drawings(answers, day, terminal.width):
        terminal.say(f"\n{text}")
    seconds = time.perf_counter() - began
    terminal.say(f"\n{_conclusion(answers, start)} {seconds:.0f} s in all.")
    content = {"events": day.events.num_rows, "queries": [_plain(name, a) for name, a in answers.items()]}
    terminal.answer(content | {"spark_start_seconds": start, "seconds": round(seconds, 3)}, ok=right)
    return DONE if right else FAILED


def _ask_here(answer: Answer, day: ClusterDay) -> None:
    among = answer.asked.among
    outcome = match_here(answer.query, day.only(*among) if among else day.events)
    answer.local, answer.local_seconds = outcome.matches, outcome.seconds


def _ask_spark(answers: Mapping[str, Answer], day: ClusterDay, say: Any) -> float:
    """Ask every question on Spark; the seconds until Spark was ready."""
    say("starting Spark …")
    began = time.perf_counter()
    with session_for("whenabouts demo") as session, spark_table(session, day.events) as frame, spark_errors():
        frame.count()
        ready = time.perf_counter() - began
        for name, answer in answers.items():
            say(f"{name} on Spark: {answer.asked.question}")
            among = answer.asked.among
            start = time.perf_counter()
            answer.spark = answer.query.match(frame.where(frame["type"].isin(*among)) if among else frame).toArrow()
            answer.spark_seconds = time.perf_counter() - start
    return round(ready, 3)


def _ids(matches: pa.Table) -> list[str]:
    return sorted(matches.column("match_id").to_pylist())


def _how_long(day: ClusterDay) -> str:
    times = pc.min_max(day.events["time"]).as_py()
    return short(times["max"] - times["min"])


def _summary(answers: Mapping[str, Answer]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 1, 0))
    table.add_column("query and question")
    for title in ("matches", "local s", "Spark s"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("equal", no_wrap=True)
    table.add_column("known truth")
    for name, answer in answers.items():
        seconds = [f"{s:.2f}" if s is not None else "-" for s in (answer.local_seconds, answer.spark_seconds)]
        equal = {None: "-", True: "yes", False: "NO"}[answer.equal]
        table.add_row(
            f"{name}: {answer.asked.question}", f"{answer.matches.num_rows:,}", *seconds, equal, str(answer.verdict)
        )
    return table


def _drawings(answers: Mapping[str, Answer], day: ClusterDay, width: int) -> list[str]:
    """One match of some queries, as a timeline."""
    drawn = []
    for name, title in DRAWN.items():
        matches = answers[name].matches
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


def _conclusion(answers: Mapping[str, Answer], spark_start: float | None) -> str:
    wrong = [name for name, answer in answers.items() if not answer.right]
    if wrong:
        return f"WRONG: the answers to {', '.join(wrong)} differ."
    spark = f" Both engines agree; Spark was ready after {spark_start:.0f} s." if spark_start is not None else ""
    alone = any(a.equal is None for a in answers.values())
    return "Every answer agrees with what the simulator knows." + (spark if not alone else "")


def _plain(name: str, answer: Answer) -> dict[str, Any]:
    verdict = answer.verdict
    return {
        "query": name,
        "question": answer.asked.question,
        "matches": answer.matches.num_rows,
        "local_seconds": answer.local_seconds,
        "spark_seconds": answer.spark_seconds,
        "equal": answer.equal,
        "truth": None if verdict is None else {k: getattr(verdict, k) for k in ("found", "missed", "invented")},
    }
