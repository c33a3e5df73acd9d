"""Match rows over uncertain time: from chains of events to signatures with confidence, ranges and finality.

Problem: kernels speak of chains, one order of events each, in ticks; a match row is a signature, which may come about
in several orders, in the units of the table. Idea: group by step as for exact time, carry the ranges along, and unite
rows with equal ids: orders exclude one another, so confidences add up and ranges are united.
Invariant: times in rows are whole ticks: `start` is the first unit of its tick, `end` the last one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whenabouts.errors import UnsupportedError
from whenabouts.events.times import LIMIT
from whenabouts.kernels import entries as en
from whenabouts.kernels.batch import Batch
from whenabouts.kernels.lower import Lowered
from whenabouts.kernels.program import F64, I64
from whenabouts.kernels.run import Budget
from whenabouts.kernels.uncertain.points import point_matches
from whenabouts.kernels.uncertain.run import ALL, AT_ONCE, NEVER, Order, Possible, possible_matches
from whenabouts.kernels.uncertain.supported import several_orders, unordered
from whenabouts.kernels.uncertain.weighing import Wanted
from whenabouts.matches import record
from whenabouts.matches.collect import digests_of, first_and_last, ids_at, rows_of
from whenabouts.matches.expected import expected
from whenabouts.plan.bound import Bound
from whenabouts.plan.pattern import Output

KINDS = pa.array([record.EXACT, record.BOUNDED, record.ESTIMATED])


def uncertain_rows(
    bound: Bound,
    lowered: Lowered,
    table: pa.Table,
    batch: Batch,
    budget: Budget,
    *,
    order: Order | None,
    aggregates: Mapping[str, Any],
) -> tuple[pa.Table, int]:
    """The match rows, or the expected totals, of a batch; and the number of starts given up."""
    united = several_orders(bound)
    wanted = _wanted(bound, united=united)

    def listed() -> Possible:
        if order is Order.POINTS and unordered(bound):
            raise UnsupportedError(
                "unsupported",
                "the point-based engine finds closures as sequences, not as sets",
                hint='leave out CLOSURE set, or use evaluation="auto"',
            )
        if order is Order.POINTS:
            return point_matches(bound, lowered, batch, budget, aggregates, least=wanted.least)
        return possible_matches(bound, lowered, batch, budget, aggregates, wanted=wanted, order=order)

    if bound.query.output is Output.TOTAL:
        return expected(bound, lowered, table, batch, listed, order)
    found = listed()
    rows = _rows(bound, lowered, table, batch, found, united=united, aggregates=aggregates)
    return rows, int(found.output.fill[2])


def _wanted(bound: Bound, *, united: bool) -> Wanted:
    """What the query leaves out of its chains; nothing where the confidences of several add up."""
    query = bound.query
    if united or query.output is Output.TOTAL:
        return ALL
    least = 0.0 if query.confidence is None else query.confidence.least
    return Wanted(least, -1 if query.top is None else query.top)


def _rows(
    bound: Bound,
    lowered: Lowered,
    table: pa.Table,
    batch: Batch,
    found: Possible,
    *,
    united: bool,
    aggregates: Mapping[str, Any],
) -> pa.Table:
    program, out = lowered.program, found.output
    count = int(out.fill[0])
    places = np.arange(out.events.size, dtype=np.int32)
    grouped = en.entries_of(out.ends, places, out.steps, count, len(program.steps))
    if unordered(bound):
        grouped = _by_id(bound, table, batch, out.events, grouped)
    earliest, latest = found.earliest[grouped.events], found.latest[grouped.events]
    grouped = grouped._replace(events=out.events[grouped.events])
    firsts, _ = first_and_last(out, count)
    digests = digests_of(bound, program, table, batch, grouped)
    times, keep = _Times(found.start, found.end, found.confidence, found.error, found.kind, found.final), None
    if united and count:
        keep, times = _united(digests[: 32 * count], grouped, times, earliest, latest)
    zone = table.schema.field(bound.schema.roles.lower).type
    filled = {
        record.START: _clock(times.start * bound.tick, zone),
        record.END: _clock(times.end * bound.tick + bound.tick - 1, zone),
        record.CONFIDENCE: pa.array(times.confidence),
        record.KIND: KINDS.take(pa.array(times.kind)),
        record.ERROR: pa.array(times.error),
        record.RANGES: _ranges(program.steps, grouped, earliest * bound.tick, (latest + 1) * bound.tick - 1, zone),
        record.FINAL_AT: _final(times.final, bound.tick, zone),
    }
    rows = rows_of(bound, program, table, batch, grouped, digests, firsts, filled, aggregates)
    return rows if keep is None else rows.filter(pa.array(keep))


def _by_id(bound: Bound, table: pa.Table, batch: Batch, events: Any, grouped: en.Entries) -> en.Entries:
    """Groups have no order of their own: their events stand in the order of the ids, and of equal ids by row."""
    rows = batch.rows[events[grouped.events]]
    sizes = np.diff(grouped.items)
    columns = {"group": np.repeat(np.arange(sizes.size), sizes), "id": ids_at(bound, table, rows), "row": rows}
    order = pc.sort_indices(pa.table(columns), [(name, "ascending") for name in columns])
    return grouped._replace(events=grouped.events[np.asarray(order)])


class _Times:
    """One entry per row."""

    def __init__(self, start: I64, end: I64, confidence: F64, error: F64, kind: Any, final: I64) -> None:
        self.start, self.end, self.confidence, self.error = start, end, confidence, error
        self.kind, self.final = kind, final


def _united(digests: Any, grouped: en.Entries, times: _Times, earliest: I64, latest: I64) -> tuple[Any, _Times]:
    """Which rows stand for their signature, and the times of all rows, united in those; widens the ranges in place."""
    _, first, owner = np.unique(digests.view("S32"), return_index=True, return_inverse=True)
    head = first[owner]
    keep = np.zeros(head.size, np.bool_)
    keep[first] = True
    new = _Times(*(np.array(c) for c in vars(times).values()))
    others = np.flatnonzero(~keep)
    np.add.at(new.confidence, head[others], times.confidence[others])
    np.add.at(new.error, head[others], times.error[others])
    np.minimum.at(new.start, head[others], times.start[others])
    np.maximum.at(new.end, head[others], times.end[others])
    np.maximum.at(new.kind, head[others], times.kind[others])
    np.maximum.at(new.final, head[others], times.final[others])
    new.confidence = np.minimum(new.confidence, 1.0)
    begins = grouped.items[grouped.bounds]
    sizes = np.diff(begins)[others]
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    source, target = np.repeat(begins[others], sizes) + within, np.repeat(begins[head[others]], sizes) + within
    np.minimum.at(earliest, target, earliest[source])
    np.maximum.at(latest, target, latest[source])
    return keep, new


def _clock(values: I64, kind: pa.DataType) -> Any:
    """Units of the clock as values of the lower time column's type."""
    column = pa.array(values)
    if pa.types.is_date(kind):
        return column.cast(pa.timestamp("s")).cast(kind, safe=False)
    return column.cast(kind)


def _final(final: I64, tick: int, kind: pa.DataType) -> Any:
    """NULL if final at once; the greatest time of the clock if never while input may come."""
    units = np.where(final == NEVER, _greatest(kind), np.where(final == AT_ONCE, 0, final) * tick)
    column = pa.array(units, mask=final == AT_ONCE)
    return column.cast(pa.timestamp("s")).cast(kind, safe=False) if pa.types.is_date(kind) else column.cast(kind)


def _greatest(kind: pa.DataType) -> int:
    """The greatest time of a clock which Python, Spark and the other readers of a table can still represent."""
    if pa.types.is_integer(kind):
        return min(int(np.iinfo(kind.to_pandas_dtype()).max), LIMIT - 1)
    last_day = "2262-04-11" if pa.types.is_timestamp(kind) and kind.unit == "ns" else "9999-12-31"
    unit: Any = kind.unit if pa.types.is_timestamp(kind) else "s"
    return int(np.datetime64(last_day, unit).astype(np.int64))


def _ranges(steps: tuple[str, ...], grouped: en.Entries, lower: I64, upper: I64, kind: pa.DataType) -> Any:
    spans = pa.StructArray.from_arrays([_clock(lower, kind), _clock(upper, kind)], ["lower", "upper"])
    lists = pa.ListArray.from_arrays(pa.array(grouped.items), spans)
    names = pa.array(steps, pa.string()).take(pa.array(grouped.step))
    return pa.MapArray.from_arrays(pa.array(grouped.bounds), names, lists)
