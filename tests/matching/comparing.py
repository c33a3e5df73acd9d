"""The same question to the reference and to the kernels, as comparable values."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from whenabouts.engine import Plan, match_table, plan_of
from whenabouts.errors import UnsupportedError
from whenabouts.kernels.reference.matching import match as reference
from whenabouts.kernels.run import Budget
from whenabouts.plan.bound import Bound
from whenabouts.plan.rewrites import rewrite

ARROW = pa.schema(
    [
        ("id", pa.int64()),
        ("type", pa.string()),
        ("time", pa.int64()),
        ("k", pa.int64()),
        ("v", pa.int64()),
        ("w", pa.float64()),
    ]
)

Signatures = list[tuple[tuple[str, tuple[Any, ...]], ...]]


def table_of(events: Sequence[Mapping[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(events), schema=ARROW)


def plan_for(bound: Bound, without: frozenset[str] = frozenset()) -> Plan | None:
    """The plan, or None where the kernels say that they do not support the query."""
    try:
        return plan_of(rewrite(bound, without), {})
    except UnsupportedError:
        return None


def expected(bound: Bound, events: Sequence[Mapping[str, Any]], key: tuple[str, ...]) -> Signatures:
    """The reference's answer. An equality chain over all steps is a key: partitions are part of the meaning."""
    found = reference(replace(bound, key=key), list(events))
    return sorted(tuple((step, tuple(events[i]["id"] for i in rows)) for step, rows in s if rows) for s in found)


def answered(plan: Plan, table: pa.Table) -> Signatures:
    rows, _, _ = match_table(plan, table, Budget())
    return sorted(signature(events) for events in rows.column("events").to_pylist())


def signature(events: Sequence[tuple[str, Sequence[Any]]]) -> tuple[tuple[str, tuple[Any, ...]], ...]:
    return tuple((step, tuple(ids)) for step, ids in events)
