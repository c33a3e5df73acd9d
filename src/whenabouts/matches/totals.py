"""RETURN TOTAL and RETURN COLLAPSED as tables.

The kernels deliver, per run of events, weights over all its matches; here they become one row per key. What does not
fit into 64 bits is NULL, never a wrong number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whenabouts.events.schema import DType
from whenabouts.kernels import entries as en
from whenabouts.kernels.batch import Batch, resolver
from whenabouts.kernels.collapse import collapse
from whenabouts.kernels.counting import LISTING, count_matches, values_of, way_of_counting
from whenabouts.kernels.lower import Lowered
from whenabouts.kernels.program import F64, I64
from whenabouts.kernels.run import Budget, limits_of, matches
from whenabouts.kernels.signatures import COLLAPSE, compiled
from whenabouts.kernels.totals import FIELDS
from whenabouts.kernels.types import Output, Values
from whenabouts.matches.collect import collect, digests_of, first_and_last
from whenabouts.matches.record import PATTERN, result_schema
from whenabouts.plan import expressions as ex
from whenabouts.plan.bound import Bound
from whenabouts.plan.pattern import Strategy
from whenabouts.plan.typing import infer

FITS = 2.0**63
TRUSTED = 2.0**95  # rounding errors of sums of so much, over a million events, are less than 2^62


def total(
    bound: Bound,
    lowered: Lowered,
    table: pa.Table,
    batch: Batch,
    budget: Budget,
    *,
    merge: bool,
    aggregates: Mapping[str, Any],
) -> tuple[pa.Table, int]:
    """One row per key with a match (exactly one without a key), and the number of starts given up."""
    wanted = summed(bound)
    way = way_of_counting(bound, lowered, merge=merge, columns=len(wanted))
    steps = lowered.program.steps
    values = values_of(bound, steps, batch.rows, wanted, resolver(bound, table, batch.rows))
    if way == LISTING:
        ints, floats, heads, dropped = _listed(
            bound, lowered, table, batch, budget, values, merge=merge, aggregates=aggregates
        )
    else:
        ints, floats, dropped = count_matches(way, bound, lowered, batch, values, budget, aggregates)
        heads = batch.events.runs[:-1]
    if bound.key:
        found = floats[:, 0] > 0
        ints, floats, heads = ints[found], floats[found], heads[found]
    return _rows(bound, table, batch, wanted, ints, floats, heads), dropped


def summed(bound: Bound) -> list[ex.Expr]:
    """The distinct arguments of the totals; count(*) needs none."""
    arguments = [m.expr.argument for m in bound.query.measures if isinstance(m.expr, ex.Aggregate)]
    return list(dict.fromkeys(a for a in arguments if a is not None))


def _rows(
    bound: Bound, table: pa.Table, batch: Batch, wanted: list[ex.Expr], ints: I64, floats: F64, heads: I64
) -> pa.Table:
    schema = result_schema(bound, table.schema)
    rows = pa.array(batch.rows[heads]) if bound.key else None
    columns: list[Any] = [pa.repeat(bound.query.name, len(ints))]
    for k in bound.key:
        column = table.column(k).take(rows)
        columns.append(column.cast(schema.field(k).type))
    for m in bound.query.measures:
        assert isinstance(m.expr, ex.Aggregate)  # noqa: S101 - the parser lets nothing else through
        at = 0 if m.expr.argument is None else 1 + FIELDS * wanted.index(m.expr.argument)
        kind = None if m.expr.argument is None else _kind(bound, m.expr.argument)
        columns.append(_column(m.expr.function, kind, at, ints, floats).cast(schema.field(m.name).type))
    return pa.table(columns, names=[PATTERN, *bound.key, *(m.name for m in bound.query.measures)]).cast(schema)


def _kind(bound: Bound, argument: ex.Expr) -> DType:
    if isinstance(argument, ex.Attribute) and argument.name is None:
        return DType.INT
    return infer(argument, bound.schema)


def _column(function: str, kind: DType | None, at: int, ints: I64, floats: F64) -> Any:
    count = floats[:, at]
    if function == "count":
        return pa.array(ints[:, at], mask=~_exact(ints[:, at], count, count))
    empty = count == 0
    if function in ("min", "max"):
        extremes = (floats if kind is DType.FLOAT else ints)[:, at + (2 if function == "min" else 3)]
        return pa.array(extremes, mask=empty)
    sums, whole = floats[:, at + 1], ints[:, at + 1]
    with np.errstate(invalid="ignore", over="ignore"):
        largest = np.maximum(np.abs(floats[:, at + 2]), np.abs(floats[:, at + 3]))
        exact = _exact(whole, sums, count * largest) & (kind is not DType.FLOAT)
        if function == "avg":
            mean = np.where(exact, whole.astype(np.float64), sums) / np.where(empty, 1, count)
            return pa.array(mean, mask=empty | np.isnan(mean))
    if kind is DType.FLOAT:
        return pa.array(sums, mask=empty | np.isnan(sums))
    return pa.array(whole, mask=empty | ~exact)


def _exact(whole: I64, rounded: F64, added: F64) -> npt.NDArray[np.bool_]:
    """Whether a number known modulo 2^64 is the whole number: the rounded one is near. `added`: of all absolute values.

    What has wrapped around is 2^64 or more away, so that no number near a border is taken for another.
    """
    with np.errstate(invalid="ignore"):
        near: npt.NDArray[np.bool_] = (np.abs(whole - rounded) < FITS) & (added < TRUSTED)
    return near


def _listed(
    bound: Bound,
    lowered: Lowered,
    table: pa.Table,
    batch: Batch,
    budget: Budget,
    values: Values,
    *,
    merge: bool,
    aggregates: Mapping[str, Any],
) -> tuple[I64, F64, I64, int]:
    """The same weights from the list of matches."""
    out = matches(bound, lowered, batch, budget, None, aggregates)
    count = int(out.fill[0])
    grouped = en.entries_of(out.ends, out.events, out.steps, count, len(lowered.program.steps))
    keep = np.ones(count, np.bool_)
    if merge and count:
        keep = en.distinct(digests_of(bound, lowered.program, table, batch, grouped), count)
    firsts, _ = first_and_last(out, count)
    strict = bound.query.strategy is Strategy.STRICT and bound.key
    owner = batch.events.key[firsts] if strict else np.searchsorted(batch.events.runs, firsts, side="right") - 1
    groups, heads_at, group = np.unique(owner[keep], return_index=True, return_inverse=True)
    size = len(groups) if bound.key else 1
    group = group if bound.key else np.zeros(int(keep.sum()), np.int64)
    width = 1 + FIELDS * values.step.size
    ints, floats = np.zeros((size, width), np.int64), np.zeros((size, width))
    np.add.at(ints[:, 0], group, 1)
    floats[:, 0] = ints[:, 0]
    for k, bit in enumerate(values.step):
        offsets, events = en.events_of_step(grouped, int(bit))
        for what, column, target in ((0, values.ints[k], ints), (0, values.floats[k], floats)):
            _fold(target, group, keep, k, what, en.reduce_lists(offsets, column[events], values.valid[k][events], what))
        for what in (1, 2):
            for column, target in ((values.ints[k], ints), (values.floats[k], floats)):
                _fold(
                    target,
                    group,
                    keep,
                    k,
                    what,
                    en.reduce_lists(offsets, column[events], values.valid[k][events], what),
                )
    heads = firsts[keep][heads_at] if bound.key else np.zeros(1, np.int64)
    return ints, floats, heads, int(out.fill[2])


def _fold(target: Any, group: I64, keep: Any, k: int, what: int, reduced: tuple[Any, I64]) -> None:
    """Fold per-match sums (what 0), minima (1) or maxima (2) into the groups."""
    result, counted = reduced[0][keep], reduced[1][keep]
    at = 1 + FIELDS * k
    some = counted > 0
    if what == 0:
        np.add.at(target[:, at], group, counted)
        np.add.at(target[:, at + 1], group, result)
        return
    extreme = np.full(target.shape[0], np.inf if what == 1 else -np.inf)
    if target.dtype.kind == "i":
        info = np.iinfo(np.int64)
        extreme = np.full(target.shape[0], info.max if what == 1 else info.min)
    (np.minimum if what == 1 else np.maximum).at(extreme, group[some], result[some])
    target[:, at + 1 + what] = extreme


def collapsed(
    bound: Bound, lowered: Lowered, table: pa.Table, batch: Batch, budget: Budget, limit: int | None
) -> pa.Table:
    """One row per start event."""
    limits = limits_of(bound, budget, budget.matches if limit is None else limit)
    out = Output(*(np.asarray(a) for a in compiled(collapse, COLLAPSE)(lowered.program.tables, batch.events, limits)))
    p = lowered.program.placement
    conditions = any(p.checks.values()) or any(p.finals.values()) or bool(lowered.program.automaton.absents)
    safe = np.full(int(out.fill[0]), not conditions)
    plain = replace(bound, query=replace(bound.query, measures=()))
    return collect(plain, lowered.program, table, batch, out, safe=safe)
