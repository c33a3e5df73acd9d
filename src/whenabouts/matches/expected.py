"""RETURN TOTAL over uncertain time: each match counts with its confidence, which gives the expectation over all worlds.

Problem: one row per key of expected counts and sums. Idea: from the sums of masses where matches need not be listed
(kernels/uncertain/totals.py decides), otherwise from the list of matches.
Invariant: a key without possible matches has no row; a query without a key always has one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from whenabouts.kernels import entries as en
from whenabouts.kernels.batch import Batch, resolver
from whenabouts.kernels.counting import values_of
from whenabouts.kernels.lower import Lowered
from whenabouts.kernels.program import F64, I64
from whenabouts.kernels.types import Values
from whenabouts.kernels.uncertain.run import Order, Possible
from whenabouts.kernels.uncertain.totals import expected_weights, why_list
from whenabouts.matches import record
from whenabouts.matches.collect import first_and_last
from whenabouts.matches.totals import summed
from whenabouts.plan import expressions as ex
from whenabouts.plan.bound import Bound


class _Totals(NamedTuple):
    """Per row: an event of its key, the expected number of matches; per row and column, of values, and their sum."""

    heads: I64
    matches: F64
    counts: F64
    sums: F64


def expected(
    bound: Bound,
    lowered: Lowered,
    table: pa.Table,
    batch: Batch,
    listed: Callable[[], Possible],
    order: Order | None,
) -> tuple[pa.Table, int]:
    """The expected totals, and the number of starts given up; `listed` lists the matches if that is necessary."""
    wanted, steps, dropped = summed(bound), lowered.program.steps, 0
    values = values_of(bound, steps, batch.rows, wanted, resolver(bound, table, batch.rows))
    if why_list(bound, lowered, order, batch) is None:
        totals = _without_list(bound, lowered, batch, values)
    else:
        found = listed()
        totals, dropped = _added_up(bound, lowered, batch, found, values), int(found.output.fill[2])
    schema = record.result_schema(bound, table.schema)
    columns: dict[str, Any] = {record.PATTERN: pa.repeat(bound.query.name, totals.matches.size)}
    for k in bound.key:
        columns[k] = table.column(k).take(pa.array(batch.rows[totals.heads]))
    for m in bound.query.measures:
        assert isinstance(m.expr, ex.Aggregate)  # noqa: S101 - the parser lets nothing else through
        amount = totals.matches
        if m.expr.argument is not None:
            of_column = totals.counts if m.expr.function == "count" else totals.sums
            amount = of_column[:, wanted.index(m.expr.argument)]
        columns[m.name] = pa.array(np.ascontiguousarray(amount))
    return pa.table([_plain(columns[f.name], f.type) for f in schema], schema=schema), dropped


def _plain(column: Any, kind: pa.DataType) -> Any:
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return column if column.type == kind else column.cast(kind)


def _without_list(bound: Bound, lowered: Lowered, batch: Batch, values: Values) -> _Totals:
    matches, counts, sums = expected_weights(bound, lowered, batch, values)
    rows = np.flatnonzero(matches > 0.0) if bound.key else np.arange(matches.size)
    return _Totals(batch.events.runs[:-1][rows], matches[rows], counts[rows], sums[rows])


def _added_up(bound: Bound, lowered: Lowered, batch: Batch, found: Possible, values: Values) -> _Totals:
    out = found.output
    size = int(out.fill[0])
    grouped = en.entries_of(out.ends, out.events, out.steps, size, len(lowered.program.steps))
    firsts, _ = first_and_last(out, size)
    owner = np.searchsorted(batch.events.runs, firsts, side="right") - 1
    keys, heads, group = np.unique(owner, return_index=True, return_inverse=True)
    rows = keys.size if bound.key else 1
    group = group if bound.key else np.zeros(size, np.int64)
    counts, sums = np.zeros((rows, values.step.size)), np.zeros((rows, values.step.size))
    for k, step in enumerate(values.step):
        offsets, events = en.events_of_step(grouped, int(step))
        total, count = en.reduce_lists(offsets, values.floats[k][events], values.valid[k][events], 0)
        counts[:, k] = np.bincount(group, found.confidence * count, rows)
        sums[:, k] = np.bincount(group, found.confidence * total, rows)
    matches = np.bincount(group, found.confidence, rows).astype(np.float64)
    return _Totals(firsts[heads], matches, counts, sums)
