"""Kernel output -> match rows.

Idea: everything is columns. Events are grouped by step once; ids, keys and measures are gathered from the source table
by row number; nothing is done per match in Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whenabouts.kernels import entries as en
from whenabouts.kernels.batch import Batch
from whenabouts.kernels.program import I64, Program
from whenabouts.kernels.types import Output as KernelOutput
from whenabouts.matches import record
from whenabouts.matches.measures import Measures
from whenabouts.plan.bound import Bound


def collect(
    bound: Bound,
    program: Program,
    table: pa.Table,
    batch: Batch,
    out: KernelOutput,
    *,
    merge: bool = False,
    safe: Any = None,
    aggregates: Mapping[str, Any] | None = None,
) -> pa.Table:
    """The match rows of one kernel call. `merge` drops equal matches; `safe` is the extra column of COLLAPSED."""
    count = int(out.fill[0])
    grouped = en.entries_of(out.ends, out.events, out.steps, count, len(program.steps))
    if safe is not None:
        grouped = _ties_by_id(grouped, batch, _ids(bound, table))
    digests = digests_of(bound, program, table, batch, grouped)
    firsts, lasts = first_and_last(out, count)
    times = table.column(bound.schema.roles.lower)
    filled = {
        record.START: _gather(times, pa.array(batch.rows[firsts])),
        record.END: _gather(times, pa.array(batch.rows[lasts])),
        record.CONFIDENCE: pa.array(np.ones(count)),
    }
    if safe is not None:
        filled[record.SAFE] = pa.array(safe)
    result = rows_of(bound, program, table, batch, grouped, digests, firsts, filled, aggregates or {})
    if merge and count:
        result = result.filter(pa.array(en.distinct(digests, count)))
    return result


def rows_of(
    bound: Bound,
    program: Program,
    table: pa.Table,
    batch: Batch,
    grouped: en.Entries,
    digests: Any,
    firsts: Any,
    filled: Mapping[str, Any],
    aggregates: Mapping[str, Any],
) -> pa.Table:
    """The rows of grouped matches: what all have in common, the columns in `filled`, and RETURN items.

    `firsts` is an event of each match, to read its key from.
    """
    schema = record.result_schema(bound, table.schema)
    count = grouped.bounds.size - 1
    rows = pa.array(batch.rows[firsts])
    columns = {
        record.MATCH_ID: _texts(digests, count),
        record.PATTERN: pa.repeat(bound.query.name, count),
        **{k: _gather(table.column(k), rows) for k in bound.key},
        record.EVENTS: _events_map(program, grouped, _ids(bound, table), batch.rows),
        **filled,
    }
    if record.SAFE not in filled:
        measures = Measures(bound, program, table, batch.rows, grouped, dict(aggregates))
        columns.update({m.name: measures.column(m.expr) for m in bound.query.measures})
    return pa.table([_cast(columns[f.name], f.type) for f in schema], schema=schema)


def _ties_by_id(grouped: en.Entries, batch: Batch, ids: Any) -> en.Entries:
    """The events of each step by time and, at one instant, by id, since the order of rows must not show.

    Only a row of COLLAPSED lists several events of one instant for a step.
    """
    if not np.any(batch.events.after - batch.events.instant > 1):
        return grouped
    taken = _gather(ids, pa.array(batch.rows[grouped.events]))
    rank = np.asarray(pc.rank(taken, sort_keys="ascending", tiebreaker="dense")).astype(np.int64)
    entry = np.repeat(np.arange(grouped.step.size), np.diff(grouped.items))
    order = np.lexsort((rank, batch.events.time[grouped.events], entry))
    return grouped._replace(events=grouped.events[order])


def _cast(column: Any, kind: pa.DataType) -> Any:
    return column if column.type == kind else column.cast(kind)


def first_and_last(out: KernelOutput, count: int) -> tuple[Any, Any]:
    """The first and last event of every match."""
    ends = out.ends[:count]
    begins = np.concatenate([np.zeros(1, np.int64), ends])[:count]
    return out.events[begins], out.events[ends - 1] if count else out.events[:0]


def _gather(column: Any, rows: Any) -> Any:
    taken = column.take(rows)
    taken = taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken
    return taken.cast(taken.type.value_type) if pa.types.is_dictionary(taken.type) else taken


def _ids(bound: Bound, table: pa.Table) -> Any:
    name = bound.schema.roles.id
    return pa.array(np.arange(table.num_rows, dtype=np.int64)) if name is None else table.column(name)


def ids_at(bound: Bound, table: pa.Table, rows: I64) -> Any:
    """The ids of these rows of the table."""
    return _gather(_ids(bound, table), pa.array(rows))


def digests_of(bound: Bound, program: Program, table: pa.Table, batch: Batch, grouped: en.Entries) -> Any:
    """The digest of every match; only ids that occur in matches are hashed."""
    ids, rows = _ids(bound, table), batch.rows
    used: Any = slice(None)
    if grouped.events.size < rows.size:
        marked = np.zeros(rows.size, np.bool_)
        marked[grouped.events] = True
        used = np.flatnonzero(marked)
    taken = _gather(ids, pa.array(rows[used]))
    event_hash = np.zeros(rows.size, np.uint64)
    if pa.types.is_integer(taken.type):
        event_hash[used] = en.hashes_of_ints(np.asarray(taken.cast(pa.int64(), safe=False).fill_null(0)))
    else:
        event_hash[used] = en.hashes_of_texts(*en.text_buffers(taken.cast(pa.string()).fill_null("")))
    names = pa.array(program.steps, pa.string())
    step_hash = en.hashes_of_texts(*en.text_buffers(names))
    return en.match_digests(grouped, step_hash, event_hash, record.seed_of(bound.query))


def _texts(digests: Any, count: int) -> Any:
    offsets = np.arange(0, 32 * count + 1, 32, dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(offsets), pa.py_buffer(digests)])


def _events_map(program: Program, grouped: en.Entries, ids: Any, rows: I64) -> Any:
    values = _gather(ids, pa.array(rows[grouped.events]))
    lists = pa.ListArray.from_arrays(pa.array(grouped.items), values)
    names = pc.take(pa.array(program.steps, pa.string()), pa.array(grouped.step))
    return pa.MapArray.from_arrays(pa.array(grouped.bounds), names, lists)
