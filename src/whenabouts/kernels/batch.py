"""A table of events -> the arrays a kernel reads.

Idea: find out cheaply which rows matter (type and conditions on one event give a bit per step), and only then touch
other columns, sort, and evaluate derived columns. Rows that cannot take part are dropped here unless the strategy or an
EVENTS window has to see them. Rows without a usable time, or with a null key where a step wants them, are set aside as
bad. Invariant: events of a key are contiguous and in time order (over uncertain time: in the order of the first tick at
which they may have happened); `rows` leads back to the source row of every event.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from whenabouts.errors import DataError
from whenabouts.events.schema import DType
from whenabouts.events.times import bad_rows_of, exact_faults
from whenabouts.kernels.columns import evaluate, plain, without_nan
from whenabouts.kernels.program import F64, I64, NULL_INT, U64, Program
from whenabouts.kernels.types import Events, instants
from whenabouts.kernels.uncertain.encode import encode, readings_of, reordered
from whenabouts.kernels.uncertain.times import Times
from whenabouts.plan import expressions as ex
from whenabouts.plan.bound import Bound
from whenabouts.plan.expressions import Expr
from whenabouts.plan.pattern import Strategy
from whenabouts.plan.render import render_expr

NULL_KEY = "null key"


@dataclass(frozen=True, slots=True)
class Batch:
    """Events ready for matching."""

    events: Events
    rows: I64
    bad: tuple[tuple[str, I64], ...]  # reason -> source rows
    times: Times | None = None  # of the same events, over uncertain time


def needs_all_events(bound: Bound) -> bool:
    """Whether events irrelevant to every step still decide which matches exist."""
    contiguous = bound.query.strategy in (Strategy.STRICT, Strategy.PARTITION)
    return contiguous or (bound.extent is not None and bound.extent.events)


def step_expressions(filters: Iterable[Expr]) -> tuple[Expr, ...]:
    """A step's conditions with the step's name erased, so that they read plain columns."""
    return tuple(
        ex.transform(f, lambda n: ex.Attribute("", n.name) if isinstance(n, ex.Attribute) else n) for f in filters
    )


def prepare(bound: Bound, program: Program, table: pa.Table, given: U64 | None = None) -> Batch:
    """Select, sort and encode the events of a table.

    `given` are bits the caller has computed already, by types and by the filters the program does not list any more.
    """
    rows, bits = _relevant(bound, program, table, given)
    readings = None if bound.schema.roles.exact else readings_of(bound, table)
    fault = exact_faults(table.column(bound.schema.roles.lower)) if readings is None else readings.fault
    bad = [] if fault is None else bad_rows_of(fault)
    if fault is not None and bad:
        keep = fault[rows] == 0
        rows, bits = rows[keep], bits[keep]
    codes, valid = _key_codes(bound, table, rows)
    if valid is not None:
        lost = rows[~valid & (bits != 0)]
        if lost.size:
            bad.append((NULL_KEY, lost))
        keep = valid | (bits == 0) if bound.query.strategy is Strategy.STRICT else valid
        rows, bits, codes = rows[keep], bits[keep], codes[keep]
    times = None if readings is None else encode(bound, readings, rows)
    time = _ticks(bound, table, rows) if times is None else times.lower
    keyed = bool(bound.key) and codes.size > 0 and bound.query.strategy is not Strategy.STRICT
    order, runs = _arrangement(time, codes if keyed else None)
    if order is not None:
        rows, bits, codes, time = rows[order], bits[order], codes[order], time[order]
        times = None if times is None else reordered(times, order)
    floats, ints = _matrices(bound, program, table, rows)
    instant, after = instants(time, runs)
    return Batch(Events(time, bits, codes, runs, instant, after, floats, ints), rows, tuple(bad), times)


def _relevant(bound: Bound, program: Program, table: pa.Table, given: U64 | None) -> tuple[I64, U64]:
    """The rows to look at, and which steps each can be."""
    rows, bits = _typed(bound, program, table) if given is None else (np.arange(table.num_rows, dtype=np.int64), given)
    for b, step in enumerate(program.steps):
        conditions = step_expressions(program.placement.filters[step])
        if conditions:
            _clear_false(bound, table, rows, bits, np.uint64(1 << b), conditions)
    if not needs_all_events(bound):
        some = bits != 0
        if not some.all():
            rows, bits = rows[some], bits[some]
    return rows, bits


def _typed(bound: Bound, program: Program, table: pa.Table) -> tuple[I64, U64]:
    """The rows to look at, and which steps each can be by its type."""
    types = [bound.steps[s].type for s in program.steps]
    named = sorted({t for t in types if t is not None})
    of_type = {t: np.uint64(sum(1 << b for b, x in enumerate(types) if x == t)) for t in named}
    of_any = np.uint64(sum(1 << b for b, x in enumerate(types) if x is None))
    by_code = np.array([of_any, *(of_any | of_type[t] for t in named)], np.uint64)
    codes = type_codes(table, bound.schema.roles.type, named)
    keep_all = needs_all_events(bound) or of_any != 0
    if codes is None:
        rows: I64 = np.arange(table.num_rows, dtype=np.int64)
        bits = np.full(table.num_rows, of_any, np.uint64)
    elif keep_all:
        rows = np.arange(table.num_rows, dtype=np.int64)
        bits = by_code[codes]
    else:
        rows = np.flatnonzero(codes)
        bits = by_code[codes[rows]]
    return rows, bits


def type_codes(table: pa.Table, column: str | None, named: list[str]) -> Any:
    """Per row 1 + the index of its type in `named`, 0 for all others; None if no step names a type."""
    if not named or column is None:
        return None
    values = table.column(column)
    wanted = pa.array(named, pa.string())
    parts = []
    for chunk in values.chunks:
        if pa.types.is_dictionary(chunk.type):
            lookup = pc.index_in(chunk.dictionary.cast(pa.string()), value_set=wanted)
            table_of = np.append(_filled(lookup) + 1, 0).astype(np.int8 if len(named) < 127 else np.int64)
            indices = chunk.indices
            parts.append(table_of[_filled(indices)])
        else:
            found = pc.index_in(chunk.cast(pa.string()), value_set=wanted)
            parts.append((_filled(found) + 1).astype(np.int8 if len(named) < 127 else np.int64))
    return np.concatenate(parts) if parts else np.zeros(0, np.int8)


def _filled(indices: Any) -> Any:
    """Arrow indices as numpy, NULL as -1."""
    return np.asarray(pc.fill_null(indices, -1) if indices.null_count else indices)


def _clear_false(
    bound: Bound, table: pa.Table, rows: I64, bits: U64, bit: np.uint64, conditions: tuple[Expr, ...]
) -> None:
    """Take the bit from the rows where a condition is not true."""
    having = np.flatnonzero(bits & bit)
    if having.size == 0:
        return
    source = rows[having]
    true = np.ones(having.size, np.bool_)
    for c in conditions:
        value = evaluate(c, resolver(bound, table, source), bound.schema)
        true &= _true(value, having.size)
    bits[having[~true]] &= ~bit


def _true(value: Any, n: int) -> Any:
    if isinstance(value, pa.Scalar):
        return np.full(n, value.as_py() is True)
    return np.asarray(pc.fill_null(value, fill_value=False))


def resolver(bound: Bound, table: pa.Table, rows: I64) -> Any:
    """Attributes as columns of the given rows, each column taken once."""
    taken: dict[str, Any] = {}
    everything = _all_in_order(rows, table)

    def resolve(attribute: ex.Attribute) -> Any:
        name = attribute.name or ""
        if name not in taken:
            taken[name] = plain(_column(table, name, rows, everything=everything), bound.schema.columns[name])
        return taken[name]

    return resolve


def _column(table: pa.Table, name: str, rows: I64, *, everything: bool | None = None) -> Any:
    everything = _all_in_order(rows, table) if everything is None else everything
    column = table.column(name) if everything else table.column(name).take(pa.array(rows))
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _all_in_order(rows: I64, table: pa.Table) -> bool:
    return rows.size == table.num_rows and bool(np.all(rows[1:] > rows[:-1]))


def _key_codes(bound: Bound, table: pa.Table, rows: I64) -> tuple[I64, Any]:
    """A small integer per row for its key, and which rows have one (None: all)."""
    codes: I64 = np.zeros(rows.size, np.int64)
    valid: Any = None
    for i, name in enumerate(bound.key):
        column = identity(_column(table, name, rows))
        if column.null_count:
            here = np.asarray(pc.is_valid(column))
            valid = here if valid is None else valid & here
        one = _codes_of(column)
        if i == 0:
            codes = one
        else:
            width = int(one.max(initial=0)) + 1
            codes = codes * width + one
            codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    return codes, valid


def identity(column: Any) -> Any:
    """Key values in a form that is equal where SQL says so: NaN is NULL, 0.0 is -0.0, decimals keep all digits."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        return pc.add(without_nan(column.cast(pa.float64())), 0.0)
    if pa.types.is_integer(column.type) and not pa.types.is_uint64(column.type):
        return column.cast(pa.int64())
    if pa.types.is_decimal(column.type) and column.type.bit_width < 128:
        return column.cast(pa.decimal128(column.type.precision, column.type.scale))  # narrower ones have no kernels
    return column


def _codes_of(column: Any) -> I64:
    """Dense codes of one key column; a compact range of integers is its own code."""
    if pa.types.is_integer(column.type) and len(column):
        values = np.asarray(pc.fill_null(column, 0) if column.null_count else column)
        low, high = int(values.min()), int(values.max())
        if high - low < max(4 * values.size, 1024):
            return (values - low).astype(np.int64)
    encoded = column.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return _filled(encoded.indices).astype(np.int64).clip(0)


def _ticks(bound: Bound, table: pa.Table, rows: I64) -> I64:
    column = table.column(bound.schema.roles.lower)
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("s"))
    column = pc.cast(column, pa.int64(), safe=False)  # what does not fit is set aside already
    if column.null_count == 0 and _all_in_order(rows, table):
        time = np.asarray(column.combine_chunks())
    else:
        time = np.asarray(pc.fill_null(column, 0))[rows]
    time = np.array(time, np.int64)  # Arrow memory is read-only, and the kernels take one kind of array
    return time // bound.tick if bound.tick > 1 else time


def _arrangement(time: I64, codes: I64 | None) -> tuple[I64 | None, I64]:
    """The order that brings keys together and their events into time order (None: as they are), and the runs of keys.

    Usually events come in time order, or, in a Spark task, by key and almost in time order: sorting is the exception.
    """
    if codes is None:
        return _time_order(time), np.array([0, time.size], np.int64)
    count = int(codes.max()) + 1
    order, runs = by_key(codes, count)
    if np.array_equal(order, np.arange(order.size)):
        order = None
    if ascending(time if order is None else time[order], runs):
        return order, runs
    by_time = np.argsort(time, kind="stable")
    order, runs = by_key(codes[by_time], count)
    return by_time[order], runs


def _time_order(time: I64) -> I64 | None:
    if time.size < 2 or bool(np.all(time[1:] >= time[:-1])):
        return None
    return np.argsort(time, kind="stable")


@njit(cache=True)
def ascending(time, runs):
    """Whether the times of every run ascend."""
    for r in range(runs.size - 1):
        for i in range(runs[r] + 1, runs[r + 1]):
            if time[i] < time[i - 1]:
                return False
    return True


@njit(cache=True)
def by_key(codes, count):
    """A stable counting sort by key: the order, and the boundaries of the non-empty keys."""
    ends = np.zeros(count + 1, np.int64)
    for c in codes:
        ends[c + 1] += 1
    used = 0
    for c in range(count):
        used += ends[c + 1] > 0
        ends[c + 1] += ends[c]
    runs = np.empty(used + 1, np.int64)
    runs[0] = 0
    k = 0
    for c in range(count):
        if ends[c + 1] > ends[c]:
            k += 1
            runs[k] = ends[c + 1]
    order = np.empty(codes.size, np.int64)
    for i in range(codes.size):
        order[ends[codes[i]]] = i
        ends[codes[i]] += 1
    return order, runs


def _with_null(value: Any, expr: Expr) -> I64:
    """Whole numbers with NULL_INT for NULL; that number itself is refused rather than taken for NULL."""
    encoded: I64 = np.asarray(pc.fill_null(value, NULL_INT) if value.null_count else value)
    if encoded.size and encoded.min() == NULL_INT and np.count_nonzero(encoded == NULL_INT) > value.null_count:
        raise DataError(
            "data",
            f"the value {NULL_INT} of {render_expr(expr)} cannot be told from NULL in a condition on several events",
            span=expr.span,
            hint="turn it into NULL or another number first",
        )
    return encoded


def _matrices(bound: Bound, program: Program, table: pa.Table, rows: I64) -> tuple[F64, I64]:
    """The derived columns: floats (NaN for NULL) and everything else as integers; strings by their rank."""
    resolve = resolver(bound, table, rows)
    n = rows.size
    floats = np.empty((sum(d.dtype is DType.FLOAT for d in program.derived), n), np.float64)
    ints = np.empty((len(program.derived) - floats.shape[0], n), np.int64)
    texts = []
    for d in program.derived:
        value = evaluate(d.expr, resolve, bound.schema)
        if isinstance(value, pa.Scalar):
            value = pa.repeat(value, n)
        if isinstance(value, pa.ChunkedArray):
            value = value.combine_chunks()
        if d.dtype is DType.FLOAT:
            floats[d.slot] = np.asarray(pc.fill_null(pc.cast(value, pa.float64(), safe=False), np.nan))
        elif d.dtype is DType.STRING:
            texts.append((d.slot, value))
        else:
            ints[d.slot] = _with_null(value.cast(pa.int64()), d.expr)
    if texts:
        everything = pa.chunked_array([v.unique() for _, v in texts]).unique()
        ranked = everything.drop_null().sort()
        for slot, value in texts:
            ints[slot] = np.asarray(pc.fill_null(pc.index_in(value, value_set=ranked).cast(pa.int64()), NULL_INT))
    return floats, ints
