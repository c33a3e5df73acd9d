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

import importlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from whenabouts.errors import QueryError, SchemaError, WhenaboutsError, did_you_mean
from whenabouts.events.roles import ErrorTable, Margin, column_of, shape_of, time_roles
from whenabouts.events.schema import Roles, Schema
from whenabouts.events.table import schema_of, to_arrow
from whenabouts.kernels.batch import Batch, prepare
from whenabouts.kernels.explanation import explanation
from whenabouts.kernels.lower import Lowered, lower
from whenabouts.kernels.program import U64
from whenabouts.kernels.run import Budget, matches
from whenabouts.kernels.uncertain.run import Order
from whenabouts.kernels.uncertain.supported import require_supported
from whenabouts.language.aggregates import registered
from whenabouts.language.bind import bind
from whenabouts.language.builder import Clauses
from whenabouts.language.sase import parse
from whenabouts.matches.choice import chosen
from whenabouts.matches.collect import collect
from whenabouts.matches.totals import collapsed, total
from whenabouts.matches.uncertain import uncertain_rows
from whenabouts.plan.automaton import ambiguous
from whenabouts.plan.bound import Bound
from whenabouts.plan.pattern import Output, Query
from whenabouts.plan.render import render
from whenabouts.plan.rewrites import rewrite

AUTO = "auto"
MOST = 2**40  # partial matches or matches: more than any memory holds, and numbers of kernels fit 64 bits


class BadRowsWarning(UserWarning):
    """Rows were set aside because they lack a time or a key; `PatternQuery.bad_rows` returns them with the reason."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to read the events, how much memory matching may take, and how uncertain times are evaluated."""

    roles: Roles = field(default_factory=Roles)
    granularity: str | None = None
    budget: Budget = field(default_factory=Budget)
    evaluation: Order | None = None  # None: "auto", the planner's choice


@dataclass(frozen=True, slots=True)
class Plan:
    """A query compiled for a schema."""

    bound: Bound
    lowered: Lowered
    merge: bool  # several ways through the pattern can give one match
    aggregates: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Run:
    """The outcome of matching one table: matches, rows set aside with a column `reason`, and counters."""

    matches: Any
    bad_rows: Any
    counters: Mapping[str, int]


@lru_cache(maxsize=256)
def _compiled(
    query: Query, columns: tuple[Any, ...], roles: Roles, granularity: str | None, without: frozenset[str]
) -> Plan:
    schema = Schema({c.name: c for c in columns}, roles)
    return plan_of(rewrite(bind(query, schema, granularity), without), registered())


def plan_of(bound: Bound, aggregates: Mapping[str, Any]) -> Plan:
    """Lower a rewritten, bound query; a Spark task starts here."""
    lowered = lower(bound, aggregates)
    if not bound.schema.roles.exact:
        require_supported(bound, lowered.program.placement)
    return Plan(bound, lowered, ambiguous(lowered.program.automaton), aggregates)


def compile_query(
    query: Query, schema: Schema, granularity: str | None = None, without: frozenset[str] = frozenset()
) -> Plan:
    """Bind, rewrite and lower; equal questions are compiled once per process. `without` switches rewrites off."""
    try:
        return _compiled(query, tuple(schema.columns.values()), schema.roles, granularity, without)
    except WhenaboutsError as error:
        raise error.with_text(query.text) if query.text else error from None


def match_table(
    plan: Plan, table: pa.Table, budget: Budget, bits: U64 | None = None, order: Order | None = None
) -> tuple[pa.Table, Batch, dict[str, int]]:
    """Match an Arrow table: the work of one process, and of one Spark task. `bits`: see `prepare`.

    `order` is how uncertain events are evaluated; None leaves it to the planner.
    """
    bound, program, query = plan.bound, plan.lowered.program, plan.bound.query
    batch = prepare(bound, program, table, bits)
    dropped = 0
    if not bound.schema.roles.exact:
        rows, dropped = uncertain_rows(
            bound, plan.lowered, table, batch, budget, order=order, aggregates=plan.aggregates
        )
    elif query.output is Output.TOTAL:
        rows, dropped = total(bound, plan.lowered, table, batch, budget, merge=plan.merge, aggregates=plan.aggregates)
    elif query.output is Output.COLLAPSED:
        rows = collapsed(bound, plan.lowered, table, batch, budget, query.limit)
    else:
        limit = None if plan.merge else query.limit
        out = matches(bound, plan.lowered, batch, budget, limit, plan.aggregates)
        dropped = int(out.fill[2])
        rows = collect(bound, program, table, batch, out, merge=plan.merge, aggregates=plan.aggregates)
    rows = chosen(query, rows)
    counters = {
        "events": table.num_rows,
        "relevant": int(np.count_nonzero(batch.events.bits)),
        "matches": rows.num_rows,
        "bad_rows": sum(r.size for _, r in batch.bad),
        "dropped_starts": dropped,
    }
    return rows, batch, counters


def bad_rows(table: pa.Table, batch: Batch) -> pa.Table:
    """The rows set aside, with their reason."""
    parts = [
        table.take(pa.array(rows)).append_column("reason", pa.array([reason] * rows.size, pa.string()))
        for reason, rows in batch.bad
    ]
    empty = table.slice(0, 0).append_column("reason", pa.array([], pa.string()))
    return pa.concat_tables([empty, *parts])


@dataclass(frozen=True, slots=True)
class PatternQuery:
    """A query ready to be asked of any table of events. Made by `whenabouts.query`."""

    query: Query
    options: Options

    def check(self, schema: Any) -> None:
        """Raise if the query does not fit a schema: an Arrow schema, a table, or a Spark DataFrame."""
        side = _spark(schema)
        if side is not None:
            side.check(self, schema)
        else:
            compile_query(self.query, self._schema(schema), self.options.granularity)

    def explain(self, schema: Any) -> str:
        """Plan, program, choices and warnings for a schema, a table, or a Spark DataFrame, as text.

        Over uncertain time some choices depend on the data: they are shown for a table.
        """
        side = _spark(schema)
        if side is not None:
            return str(side.explain(self, schema))
        options = self.options
        plan = compile_query(self.query, self._schema(schema), options.granularity)
        batch = None
        if not (isinstance(schema, pa.Schema) or options.roles.exact):
            batch = prepare(plan.bound, plan.lowered.program, to_arrow(schema)[0])
        return explanation(
            plan.bound, plan.lowered, options.budget, merge=plan.merge, order=options.evaluation, batch=batch
        )

    def match(self, events: Any) -> Any:
        """The matches, as the same kind of table as `events`; lazily for a Spark DataFrame."""
        side = _spark(events)
        if side is not None:
            return side.match(self, events)
        run = self.run(events)
        if run.counters["bad_rows"]:
            warnings.warn(
                f"{run.counters['bad_rows']} rows set aside; query.bad_rows(events) has them with the reason",
                BadRowsWarning,
                stacklevel=2,
            )
        return run.matches

    def run(self, events: Any) -> Run:
        """The matches together with the rows that were set aside and counters; in one process."""
        if isinstance(events, list) and not events:
            return self._of_nothing()
        table, restore = to_arrow(events)
        plan = compile_query(self.query, schema_of(table.schema, self.options.roles), self.options.granularity)
        rows, batch, counters = match_table(plan, table, self.options.budget, order=self.options.evaluation)
        return Run(restore(rows), restore(bad_rows(table, batch)), counters)

    def _of_nothing(self) -> Run:
        """The answer to an empty list: it has no columns, so there is nothing to hold the query against."""
        if self.query.output is Output.TOTAL and not self.query.equivalence:
            message = "an empty list has no columns, and without them it is not known what these totals are of"
            raise SchemaError("schema", message, hint="pass an empty table that has the columns")
        return Run([], [], {"events": 0, "relevant": 0, "matches": 0, "bad_rows": 0, "dropped_starts": 0})

    def bad_rows(self, events: Any) -> Any:
        """The rows `match` sets aside, with a column `reason`; lazily for a Spark DataFrame."""
        side = _spark(events)
        if side is not None:
            return side.bad_rows(self, events)
        if isinstance(events, list) and not events:
            return []
        table, restore = to_arrow(events)
        plan = compile_query(self.query, schema_of(table.schema, self.options.roles), self.options.granularity)
        return restore(bad_rows(table, prepare(plan.bound, plan.lowered.program, table)))

    def _schema(self, schema: Any) -> Schema:
        arrow = schema if isinstance(schema, pa.Schema) else to_arrow(schema)[0].schema
        return schema_of(arrow, self.options.roles)

    def __str__(self) -> str:
        return render(self.query)


def query(
    pattern: str | Clauses | Query,
    *,
    id: str | None = "id",
    type: str | None = "type",
    time: str | tuple[str, str] = "time",
    pmf: str | None = None,
    error: Margin | ErrorTable | None = None,
    shape: str | tuple[str, float] = "uniform",
    granularity: str | None = None,
    name: str | None = None,
    budget: int = Budget().partial,
    max_matches: int = Budget().matches,
    on_budget: str = "fail",
    evaluation: str = "auto",
) -> PatternQuery:
    """A query from text or from the builder.

    `id`, `type`, `time` name the columns with these roles (id None: the row number); `granularity` such as "1 s" is the
    length of a tick. Uncertain time is `time=("lower", "upper")`, or has an `error` such as "500 ms", ("7 s", "8 s"), a
    column or an ErrorTable; its `shape` is "uniform", "triangular", "normal", or given by the list column `pmf`.
    `budget` bounds the partial matches held at once; a start that needs more fails the query or, with
    `on_budget="drop"`, is given up and counted. How uncertain times are evaluated, with the same matches: `evaluation`
    "auto" (the planner chooses an order), "query_order", "selectivity", "any_state", or tick by tick, "points".
    """
    if isinstance(pattern, str):
        parsed = parse(pattern)
    elif isinstance(pattern, Query):
        parsed = pattern
    else:
        parsed = pattern.build()
    if name is not None:
        parsed = replace(parsed, name=name)
    roles = time_roles(Roles(column_of(id, "id"), column_of(type, "type")), time, pmf, error, shape_of(shape))
    return PatternQuery(
        parsed, Options(roles, granularity, _budget(budget, max_matches, on_budget), _order_of(evaluation, roles))
    )


def _budget(partial: int, most: int, policy: str) -> Budget:
    if policy not in ("fail", "drop"):
        raise QueryError("unknown-name", f"on_budget={policy!r} is not a policy", hint='use "fail" or "drop"')
    for name, number, least in (("budget", partial, 16), ("max_matches", most, 1)):
        if isinstance(number, bool) or not isinstance(number, int | np.integer):
            raise QueryError("type-mismatch", f"{name} is a whole number, not {number!r}")
        if not least <= number <= MOST:
            raise QueryError("limit", f"{name} must be at least {least} and at most 2**40", hint="it is about memory")
    return Budget(int(partial), int(most), policy == "drop")


def _order_of(evaluation: str, roles: Roles) -> Order | None:
    """The order asked for; None if it is left to the planner."""
    if evaluation == AUTO:
        return None
    known = (AUTO, *(str(order) for order in Order))
    if evaluation not in known:
        raise QueryError(
            "unknown-name",
            f"evaluation={evaluation!r} is not a way of evaluation",
            hint=did_you_mean(evaluation, known),
        )
    if roles.exact:
        raise QueryError(
            "unsupported",
            f"evaluation={evaluation!r} says how uncertain times are matched, but these times are exact",
            hint='leave it out, or say how uncertain times are: wa.query(text, time=("lower", "upper"))',
        )
    return Order(evaluation)


def _spark(data: Any) -> Any:
    """The Spark room if the data lives there; imported only then, so that nothing else needs pyspark."""
    if data.__class__.__module__.startswith("pyspark."):
        return importlib.import_module("whenabouts.spark.batch")
    return None
