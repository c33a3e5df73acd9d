"""The same question over uncertain time to the reference and to an engine, as comparable values."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from tests.uncertain.random_cases import pmfs_of
from whenabouts.engine import Plan, match_table, plan_of
from whenabouts.errors import UnsupportedError
from whenabouts.kernels.reference.worlds import final_tau, match_uncertain
from whenabouts.kernels.run import Budget
from whenabouts.kernels.uncertain.run import Order
from whenabouts.plan.bound import Bound
from whenabouts.plan.pattern import Closure
from whenabouts.plan.rewrites import rewrite

Ids = tuple[tuple[str, tuple[Any, ...]], ...]
TOLERANCE = 1e-12
NO_TIME = 1 << 61  # final_at of a match that is never final


@dataclass(frozen=True)
class Answer:
    """What is compared of one match, but its confidence; instants by step in the order of its ids.

    `final` is when it can change no more (None: at once), compared for unordered closures only.
    """

    start: int
    end: int
    ranges: tuple[tuple[str, tuple[tuple[int, int], ...]], ...]
    final: float | None = None


def table_of(events: Sequence[dict[str, Any]]) -> pa.Table:
    """With masses spelt out for every row: a null list is a bad row."""
    kind = pa.string() if any(isinstance(e["id"], str) for e in events) else pa.int64()
    named = {"id": kind, "type": pa.string(), "lower": pa.int64(), "upper": pa.int64()}
    schema = pa.schema({**named, "pmf": pa.list_(pa.float64()), "k": pa.int64(), "v": pa.int64()})
    rows = []
    for event in events:
        width = event["upper"] - event["lower"] + 1
        rows.append({**event, "pmf": [1 / width] * width if event["pmf"] is None else event["pmf"]})
    return pa.Table.from_pylist(rows, schema=schema)


def plan_for(bound: Bound) -> Plan | None:
    """The plan, or None where the kernels say that they do not support the query."""
    roles = replace(bound.schema.roles, pmf="pmf")
    try:
        return plan_of(rewrite(replace(bound, schema=replace(bound.schema, roles=roles))), {})
    except UnsupportedError:
        return None


def answers(plan: Plan, table: pa.Table, order: Order | None = None) -> tuple[dict[Ids, float], dict[Ids, Answer]]:
    """Confidences and answers of an engine by signature; every row once."""
    rows, _, _ = match_table(plan, table, Budget(), order=order)
    confidence, found = {}, {}
    for row in rows.to_pylist():
        ids = tuple((step, tuple(events)) for step, events in row["events"])
        ranges = tuple((step, tuple((r["lower"], r["upper"]) for r in spans)) for step, spans in row["ranges"])
        assert ids not in found, f"{ids} twice"
        assert (row["confidence_kind"], row["confidence_error"]) == ("exact", 0)
        final = row["final_at"] if plan.bound.query.closure is Closure.SET else None
        never = final is not None and final >= NO_TIME
        answer = Answer(row["start"], row["end"], ranges, float("inf") if never else final)
        confidence[ids], found[ids] = row["confidence"], answer
    return confidence, found


def as_sets(bound: Bound) -> Bound:
    """The same query with CLOSURE set."""
    return replace(bound, query=replace(bound.query, closure=Closure.SET))


def truth(bound: Bound, events: Sequence[dict[str, Any]]) -> tuple[dict[Ids, float], dict[Ids, Answer]]:
    """The same from the reference."""
    confidence, found = {}, {}
    sets = bound.query.closure is Closure.SET
    for m in match_uncertain(bound, events, pmfs_of(list(events)), closure_as_set=sets):
        ids = tuple((step, tuple(events[row]["id"] for row in rows)) for step, rows in m.signature if rows)
        at = m.feasible
        ranges = tuple((step, tuple((min(at[r]), max(at[r])) for r in rows)) for step, rows in m.signature if rows)
        final = final_tau(bound, m, closure_as_set=True) if sets else None
        confidence[ids], found[ids] = float(m.confidence), Answer(m.start, m.end, ranges, final)
    return confidence, found


def same_confidences(found: dict[Ids, float], wanted: dict[Ids, float]) -> bool:
    return found.keys() == wanted.keys() and all(abs(found[s] - wanted[s]) <= TOLERANCE for s in wanted)
