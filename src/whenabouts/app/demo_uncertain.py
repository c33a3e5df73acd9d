"""The second and third part of the demo: times as an observer has them, answers with a confidence.

Idea: the simulator knows which possible matches happened, so a confidence can be checked like any other answer: of the
matches with confidence 0.7 about 70 % happened, none happened that was not possible, and both engines agree. Beside it
stands what comes of taking recorded times for true. Invariant: a part is right only if all of that holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from rich import box
from rich.table import Table

from whenabouts.app.answers import Answer
from whenabouts.app.calibration import Calibration, calibrated, conclusion, describe_trusting, render, trusting_verdict
from whenabouts.app.demo_exact import cells_of
from whenabouts.app.terminal import Terminal
from whenabouts.app.timeline_text import HAPPENED, OBSERVED, POSSIBLE, RECORDED, Interval, draw_intervals
from whenabouts.app.truth import Verdict
from whenabouts.engine import query
from whenabouts.simulate.cluster import ClusterDay
from whenabouts.simulate.cluster_observed import MIXED, observe
from whenabouts.simulate.cluster_queries import max_cpu
from whenabouts.simulate.observed import Observed, signatures
from whenabouts.simulate.rfid import READERS, RfidConfig, simulate_rfid, tracking_query

TICK = "100 ms"
LEGEND = f"{OBSERVED} observed   {POSSIBLE} if this is a match   {RECORDED} recorded   {HAPPENED} the truth"
LOOSE_BINS = 1  # chance alone leaves a band in 1 of 20 cases, so that one of ten may well be left


@dataclass(slots=True)
class Part:
    """A question about observed events, its answer, and how it compares with what happened."""

    answer: Answer
    text: str
    granularity: str
    observed: Observed
    before: str  # what there is to know about the times
    drawn: str | None = None  # what a match says, from the columns of its first event; None: draw none
    calibration: Calibration | None = None
    trusting: Verdict | None = None

    @property
    def right(self) -> bool:
        c = self.calibration
        calibrates = c is not None and c.unforeseen == 0 and c.inside >= len(c.bins) - LOOSE_BINS
        return calibrates and self.answer.equal is not False

    def numbers(self) -> dict[str, Any]:
        c, t = self.calibration, self.trusting
        if c is None or t is None:
            return self.answer.numbers()
        bins = [{"low": b.low, "high": b.high, "matches": b.matches, "happened": b.happened} for b in c.bins]
        return self.answer.numbers() | {
            "happened": c.happened,
            "expected": c.expected,
            "unforeseen": c.unforeseen,
            "bins": bins,
            "bins_inside": c.inside,
            "trusting": {"found": t.found, "missed": t.missed, "invented": t.invented},
        }


def ask_about(day: ClusterDay, *, small: bool) -> list[Part]:
    """The questions, not yet asked."""
    tools = simulate_rfid(RfidConfig(reader=READERS[2], tools=15 if small else 90)).observed
    hot = "Which task maxed out the CPU?"

    def part(name: str, question: str, text: str, granularity: str, **rest: Any) -> Part:
        events = rest["observed"].events
        pmf = "pmf" if "pmf" in events.column_names else None
        asked = query(text, time=("lower", "upper"), pmf=pmf, granularity=granularity, name=name)
        return Part(Answer(name, question, asked, events), text, granularity, **rest)

    return [
        part(
            "max_cpu, next", hot, max_cpu("next"), TICK, observed=observe(day),
            before="2. The same day as its operators see it: the log is off by up to 0.5 s, and of a reading they "
            "know only that it was taken some time in a period of 15 s (±7.5 s). Which task was running at a peak?",
        ),
        part(
            "max_cpu, any", hot, max_cpu("any"), TICK, observed=observe(day, MIXED),
            before="The same day, had some of the nodes been read more often (±7.5 s to ±1 s):",
            drawn="task {task_id} maxed out the CPU of {node}, then finished, then the CPU calmed down",
        ),
        part(
            "tracking", "Which tools passed stations 1, 2, 3?", tracking_query(), "1 s", observed=tools,
            before="3. Tools in a hospital, read once a second by RFID readers that miss 3 of 10 readings: a tool may "
            "have come up to 18 s before it was first read; the longer before, the less probably.",
        ),
    ]  # fmt: skip


def judge_all(parts: Sequence[Part]) -> None:
    """Compare each answer with what happened, and with the answer of an engine that trusts recorded times."""
    for part in parts:
        truth = part.observed.truth(part.text, part.granularity)
        part.calibration = calibrated(part.answer.matches, truth)
        part.trusting = trusting_verdict(part.observed.trusting(part.text, part.granularity), truth)


def show(terminal: Terminal, parts: Sequence[Part]) -> None:
    """Print the parts, each with its confidences and with what trusting gives; one with all bins and a match."""
    for part in parts:
        if part.calibration is None or part.trusting is None:
            continue
        terminal.say(f"\n{fill(part.before, terminal.width)}")
        terminal.show(_summary(part, part.calibration))
        if part.drawn:
            terminal.say("Is a confidence what it says? Matches without common events, and how many happened:")
            terminal.show(render(part.calibration))
        else:
            terminal.say(fill(conclusion(part.calibration), terminal.width))
        terminal.say(fill(describe_trusting(part.trusting), terminal.width))
        if part.drawn:
            terminal.say(f"\n{drawing(part, part.drawn, terminal.width)}")


def _summary(part: Part, calibration: Calibration) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("query and question")
    for title in ("possible", "local s", "Spark s"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("equal", no_wrap=True)
    for title in ("expected", "happened"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_row(*cells_of(part.answer), f"{calibration.expected:,.1f}", f"{calibration.happened:,}")
    return table


def drawing(part: Part, subject: str, width: int) -> str:
    """A match that happened although recorded times deny it, if there is one; the most confident of them."""
    rows = part.answer.matches.sort_by([("confidence", "descending"), ("match_id", "ascending")]).to_pylist()
    if not rows:
        return "There is no possible match to draw."
    happened = set(signatures(part.observed.truth(part.text, part.granularity)))
    trusted = set(signatures(part.observed.trusting(part.text, part.granularity)))

    def surprise(row: Mapping[str, Any]) -> int:
        signature = tuple((step, tuple(ids)) for step, ids in row["events"])
        return (signature in happened) + (signature in happened and signature not in trusted)

    row = max(rows, key=surprise)  # the first, and so the most confident, of those that surprise most
    notes = ("It did not happen.", "It happened.", "It happened, which recorded times deny.")
    intervals, first = _intervals(part, row)
    title = f"{subject.format(**first)}: confidence {row['confidence']:.2f}\n{notes[surprise(row)]} {LEGEND}"
    return draw_intervals(f"{title[0].upper()}{title[1:]}", intervals, width)


def _intervals(part: Part, row: Mapping[str, Any]) -> tuple[list[Interval], Mapping[str, Any]]:
    """The events of a match, in the order of its steps, and the first of them as a row."""
    events, ranges = dict(row["events"]), dict(row["ranges"])
    ids = [i for step in events.values() for i in step]
    table = part.observed.events.append_column("recorded", part.observed.reported)
    table = table.append_column("happened", part.observed.happened)
    known = {r["id"]: r for r in table.filter(pc.is_in(table["id"], value_set=pa.array(ids))).to_pylist()}
    intervals = []
    for step, found in events.items():
        for i, span in zip(found, ranges[step], strict=True):
            event = known[i]
            what = event.get("location") or event["type"]
            value = "" if event.get("value") is None else f" {event['value']:g}"
            observed = (event["lower"], event["upper"])
            possible = (span["lower"], span["upper"])
            intervals.append(Interval(step, f"{what}{value}", observed, possible, event["recorded"], event["happened"]))
    return intervals, known[ids[0]]
