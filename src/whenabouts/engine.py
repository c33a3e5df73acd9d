"""The one page to read first: text -> plan -> program -> matches.

    parse      language    query text or builder          -> Query     (what was asked)
    bind       language    Query, Schema                  -> Bound     (names, types, units)
    rewrite    plan        Bound                          -> Bound     (simpler, same meaning)
    lower      kernels     Bound                          -> Program   (arrays and machine code)
    prepare    kernels     table, Program                 -> Batch     (relevant events, sorted, encoded)
    match      kernels     Batch, Program                 -> events and steps of every match
    collect    matches     those                          -> match rows

Spark runs the same stages: the driver binds and rewrites, each task lowers, prepares, matches and collects.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from whenabouts.errors import WhenaboutsError
from whenabouts.events.schema import Roles, Schema
from whenabouts.events.table import schema_of, to_arrow
from whenabouts.kernels.batch import Batch, prepare
from whenabouts.kernels.lower import Lowered, lower
from whenabouts.kernels.run import Budget, matches
from whenabouts.language.aggregates import registered
from whenabouts.language.bind import bind
from whenabouts.matches.collect import collect
from whenabouts.plan.automaton import ambiguous
from whenabouts.plan.bound import Bound
from whenabouts.plan.pattern import Output, Query
from whenabouts.plan.rewrites import rewrite


class BadRowsWarning(UserWarning):
    """Rows were set aside because they lack a time or a key; `PatternQuery.run` returns them with the reason."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A query compiled for a schema."""

    bound: Bound
    lowered: Lowered
    merge: bool  # several ways through the pattern can give one match
    aggregates: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Run:
    """The outcome of matching one table."""

    matches: Any  # the kind of table that was given
    bad_rows: Any  # the rows set aside, with a column `reason`
    counters: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Options:
    """How to read the events and how much memory a match may take."""

    roles: Roles = field(default_factory=Roles)
    granularity: str | None = None
    budget: Budget = field(default_factory=Budget)


@lru_cache(maxsize=256)
def _compiled(query: Query, columns: tuple[Any, ...], roles: Roles, granularity: str | None, without: frozenset[str]) -> Plan:
    schema = Schema({c.name: c for c in columns}, roles)
    bound = rewrite(bind(query, schema, granularity), without)
    aggregates = registered()
    lowered = lower(bound, aggregates)
    return Plan(bound, lowered, ambiguous(lowered.program.automaton), aggregates)


def compile_query(query: Query, schema: Schema, granularity: str | None = None, without: frozenset[str] = frozenset()) -> Plan:
    """Bind, rewrite and lower; equal questions are compiled once per process."""
    try:
        return _compiled(query, tuple(schema.columns.values()), schema.roles, granularity, without)
    except WhenaboutsError as error:
        raise error.with_text(query.text) if query.text else error from None


def match_table(plan: Plan, table: pa.Table, budget: Budget) -> tuple[pa.Table, Batch, dict[str, int]]:
    """Match an Arrow table: the work of one process, and of one Spark task."""
    bound, program = plan.bound, plan.lowered.program
    batch = prepare(bound, program, table)
    query = bound.query
    limit = None if plan.merge else query.limit
    out = matches(bound, plan.lowered, batch, budget, limit, plan.aggregates)
    rows = collect(bound, program, table, batch, out, merge=plan.merge, aggregates=plan.aggregates)
    if query.limit is not None:
        rows = rows.slice(0, query.limit)
    counters = {
        "events": table.num_rows,
        "relevant": int(np.count_nonzero(batch.events.bits)),
        "matches": rows.num_rows,
        "bad_rows": sum(r.size for _, r in batch.bad),
        "dropped_starts": int(out.fill[2]),
    }
    return rows, batch, counters


def run_table(query: Query, data: Any, options: Options) -> Run:
    """Match any table of events in this process."""
    table, restore = to_arrow(data)
    schema = schema_of(table.schema, options.roles)
    plan = compile_query(query, schema, options.granularity)
    rows, batch, counters = match_table(plan, table, options.budget)
    return Run(restore(rows), restore(bad_rows(table, batch)), counters)


def bad_rows(table: pa.Table, batch: Batch) -> pa.Table:
    """The rows set aside, with their reason."""
    parts = [
        table.take(pa.array(rows)).append_column("reason", pa.array([reason] * rows.size, pa.string()))
        for reason, rows in batch.bad
    ]
    empty = table.slice(0, 0).append_column("reason", pa.array([], pa.string()))
    return pa.concat_tables([empty, *parts])


def warn_about(counters: Mapping[str, int]) -> None:
    if counters["bad_rows"]:
        warnings.warn(
            f"{counters['bad_rows']} rows were set aside (null time or key); query.run(table).bad_rows shows them",
            BadRowsWarning,
            stacklevel=3,
        )


__all__ = ["Options", "Output", "Plan", "Run", "compile_query", "match_table", "run_table", "warn_about"]
