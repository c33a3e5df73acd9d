"""The same question over uncertain time to the reference and to an engine, as comparable values."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from tests.uncertain.random_cases import pmfs_of
from whenabouts.engine import Plan, match_table, plan_of
from whenabouts.errors import UnsupportedError
from whenabouts.kernels.reference.worlds import match_uncertain
from whenabouts.kernels.run import Budget
from whenabouts.kernels.uncertain.run import Order
from whenabouts.plan.bound import Bound
from whenabouts.plan.rewrites import rewrite

Ids = tuple[tuple[str, tuple[Any, ...]], ...]
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Answer:
    """What is compared of one match, but its confidence; instants by step in the order of its ids."""

    start: int
    end: int
    ranges: tuple[tuple[str, tuple[tuple[int, int], ...]], ...]


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
        confidence[ids], found[ids] = row["confidence"], Answer(row["start"], row["end"], ranges)
    return confidence, found


def truth(bound: Bound, events: Sequence[dict[str, Any]]) -> tuple[dict[Ids, float], dict[Ids, Answer]]:
    """The same from the reference."""
    confidence, found = {}, {}
    for m in match_uncertain(bound, events, pmfs_of(list(events))):
        ids = tuple((step, tuple(events[row]["id"] for row in rows)) for step, rows in m.signature if rows)
        at = m.feasible
        ranges = tuple((step, tuple((min(at[r]), max(at[r])) for r in rows)) for step, rows in m.signature if rows)
        confidence[ids], found[ids] = float(m.confidence), Answer(m.start, m.end, ranges)
    return confidence, found


def same_confidences(found: dict[Ids, float], wanted: dict[Ids, float]) -> bool:
    return found.keys() == wanted.keys() and all(abs(found[s] - wanted[s]) <= TOLERANCE for s in wanted)
