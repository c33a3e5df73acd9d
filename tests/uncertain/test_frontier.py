"""A stream that matches what it keeps, forgets what cannot matter, and emits what is final: the answer of the batch."""

import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tests.uncertain.engines import plan_for, table_of
from tests.uncertain.random_cases import PROFILES, random_uncertain_case
from whenabouts.engine import Plan, match_table
from whenabouts.kernels.run import Budget
from whenabouts.kernels.uncertain.retention import ALWAYS, kept_until
from whenabouts.timeline.frontier import NOWHERE, Frontier

END = 1 << 40


def in_order_of_arrival(rng: random.Random, events: list[dict]) -> list[dict]:
    """An order in which no event begins after a later one has ended (bounds as in the table, masses aside)."""
    left, order = list(events), []
    while left:
        open_to = min(e["upper"] for e in left)
        order.append(rng.choice([e for e in left if e["lower"] <= open_to]))
        left.remove(order[-1])
    return order


def by_id(rows: pa.Table) -> dict[str, dict]:
    return {row["match_id"]: row for row in rows.to_pylist()}


def streamed(plan: Plan, events: list[dict], frontier: Frontier) -> tuple[dict[str, dict], int]:
    """The rows in the order in which they become final, and how many events were forgotten on the way."""
    emitted: dict[str, dict] = {}
    kept: list[dict] = []
    forgotten = 0
    for event in [*events, None]:
        if event is not None:
            assert not frontier.late(np.array([event["lower"]]))[0]
            kept.append(event)
            frontier = frontier.seen(np.array([event["lower"]]), np.array([event["upper"]]))
        at = END if event is None else frontier.at
        rows, batch, _ = match_table(plan, table_of(kept), Budget())
        for row in rows.to_pylist():
            if row["final_at"] is None or row["final_at"] <= at:
                emitted.setdefault(row["match_id"], row)
        until = np.full(len(kept), NOWHERE)
        until[batch.rows] = kept_until(
            plan.bound, plan.lowered.program, batch.events.bits, batch.times.upper, frontier.widest
        )
        forgotten += int(np.count_nonzero(until < at)) if event is not None else 0
        kept = [e for e, limit in zip(kept, until, strict=True) if limit >= at]
    return emitted, forgotten


@pytest.mark.parametrize("profile", ["any", "next", "any closures", "next closures", "negation", "shared classes"])
def test_the_stream_gives_the_batch(profile: str) -> None:
    matched = forgotten = 0
    for seed in range(25):
        case = random_uncertain_case(seed, replace(PROFILES[profile], time=14, windows=("ticks",)))
        plan = plan_for(case.bound)
        if plan is None or case.bound.extent is None:
            continue
        rng = random.Random(seed)
        events = in_order_of_arrival(rng, case.events)
        wanted = by_id(match_table(plan, table_of(events), Budget())[0])
        found, gone = streamed(plan, events, Frontier(widest=max(e["upper"] - e["lower"] + 1 for e in events)))
        assert found.keys() == wanted.keys(), (seed, case.text, events)
        for match_id, row in wanted.items():
            assert found[match_id]["confidence"] == pytest.approx(row["confidence"], abs=1e-12), (seed, case.text)
            assert found[match_id]["ranges"] == row["ranges"], (seed, case.text)
        matched, forgotten = matched + len(wanted), forgotten + gone
    assert matched > 10
    assert forgotten > 5


def test_the_frontier_by_order_of_arrival_and_by_watermark() -> None:
    start = Frontier()
    assert start.at == NOWHERE
    seen = start.seen(np.array([3, 10]), np.array([7, 12]))
    assert seen.at == 10 - 5 + 1  # five instants at most: an unseen event may begin at 6 and end at 10
    assert seen.late(np.array([5, 6])).tolist() == [True, False]
    assert seen.promised(8).at == 9
    assert seen.promised(2).at == 6
    wide = seen.seen(np.array([0]), np.array([19]))
    assert wide.at == 6  # a wider event does not take back what was promised
    assert Frontier(ordered=False).seen(np.array([3]), np.array([7])).at == NOWHERE


def test_without_a_window_nothing_is_forgotten() -> None:
    case = random_uncertain_case(1, replace(PROFILES["any"], windows=("none",)))
    plan = plan_for(case.bound)
    assert plan is not None
    until = kept_until(plan.bound, plan.lowered.program, np.ones(2, np.uint64), np.array([1, 2]), 1)
    assert (until == ALWAYS).all()
