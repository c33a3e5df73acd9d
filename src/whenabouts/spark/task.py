"""What runs in a Spark task: runs of keys in, match rows out.

Problem: a task receives small record batches cut anywhere; the kernel wants whole keys, and few, large calls. Idea:
hold batches back until enough rows are there, cut at the last change of the key, and match what is before it at once.
Invariant: no key is ever cut; memory is bounded by `ROWS` plus the rows of one key. No pyspark here but its pickler.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import cloudpickle

from whenabouts import engine
from whenabouts.kernels.batch import prepare
from whenabouts.kernels.run import Budget
from whenabouts.kernels.uncertain.run import Order
from whenabouts.plan import expressions as ex
from whenabouts.plan.bound import Bound
from whenabouts.spark.schema import arrow_unit

BITS = "whenabouts bits"  # the column of step bits that Spark computed
HASH = "whenabouts hash"  # of a key that is not one integer: what the rows are sorted by
ROWS = 500_000  # a kernel call gets at least these, unless the input ends
SLICE = 50_000  # rows of a result batch


@dataclass(frozen=True, slots=True)
class Parcel:
    """What travels to the workers, which lower it again: machine code does not travel."""

    bound: Bound
    remaining: Mapping[str, tuple[ex.Expr, ...]]  # the filters Spark could not evaluate
    aggregates: Mapping[str, Any]  # registered on the driver; workers do not know them


def pack(parcel: Parcel) -> bytes:
    """Pickle by value, so that aggregates defined in a notebook arrive."""
    return bytes(cloudpickle.dumps(parcel))  # type: ignore[no-untyped-call]


@lru_cache(maxsize=64)
def _plan(packed: bytes) -> engine.Plan:
    """Lower once per worker process."""
    parcel: Parcel = cloudpickle.loads(packed)
    plan = engine.plan_of(parcel.bound, parcel.aggregates)
    program = plan.lowered.program
    placement = replace(program.placement, filters=parcel.remaining)
    return replace(plan, lowered=replace(plan.lowered, program=replace(program, placement=placement)))


@dataclass(frozen=True, slots=True)
class MatchTask:
    """The function of mapInArrow."""

    packed: bytes
    budget: Budget
    sent: pa.Schema  # of what Spark ships, with the names the query uses
    cut_at: tuple[int, ...]  # the column the rows are sorted by; none: the whole input is one run
    answers_nothing: bool  # there is a result even if no row arrives
    order: Order | None  # of evaluation over uncertain time; None: chosen by the task for its own rows

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        plan = _plan(self.packed)
        left = plan.bound.query.limit
        nothing = True
        for table in runs_of_keys(batches, self.cut_at, ROWS):
            nothing = False
            rows = self.match(plan, table.rename_columns(self.sent.names))
            if left is not None:
                rows = rows.slice(0, left)
                left -= rows.num_rows
            yield from rows.to_batches(max_chunksize=SLICE)
            if left == 0:
                return
        if nothing and self.answers_nothing:
            yield from self.match(plan, self.sent.empty_table()).to_batches()

    def match(self, plan: engine.Plan, table: pa.Table) -> pa.Table:
        """The matches of whole keys, in units that Spark has."""
        bits = np.asarray(table.column(BITS)).astype(np.uint64)
        events = table.select([name for name in table.column_names if name not in (BITS, HASH)])
        rows, _, _ = engine.match_table(plan, events, self.budget, bits, self.order)
        return rows.cast(pa.schema([pa.field(f.name, arrow_unit(f.type)) for f in rows.schema]))


def runs_of_keys(batches: Iterator[pa.RecordBatch], keys: Sequence[int], rows: int) -> Iterator[pa.Table]:
    """Tables of at least `rows` rows, cut only where a key ends; the rows of a key are neighbours."""
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        cut = _last_change(held[-1], batch, keys) if held and keys and count + batch.num_rows >= rows else -1
        if cut >= 0:
            yield _table([*held, batch.slice(0, cut)])
            held, count, batch = [], 0, batch.slice(cut)  # noqa: PLW2901 - what is left of it
        held.append(batch)
        count += batch.num_rows
    if held:
        yield _table(held)


def _table(batches: list[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches(batches).combine_chunks()


def _last_change(before: pa.RecordBatch, batch: pa.RecordBatch, keys: Sequence[int]) -> int:
    """The last row of a batch whose key differs from that of the row before it; -1 if there is none."""
    changed = np.zeros(batch.num_rows, np.bool_)
    for key in keys:
        column = batch.column(key)
        last = before.column(key).slice(before.num_rows - 1)
        previous = pa.concat_arrays([last, column.slice(0, batch.num_rows - 1)])
        changed |= np.asarray(pc.fill_null(pc.not_equal(column, previous), fill_value=True))
    where = np.flatnonzero(changed)
    return int(where[-1]) if where.size else -1


@dataclass(frozen=True, slots=True)
class AsideTask:
    """The bad rows among rows without a time or a key, with the reason: a function of mapInArrow."""

    packed: bytes

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parcel: Parcel = cloudpickle.loads(self.packed)
        plan = engine.plan_of(parcel.bound, parcel.aggregates)  # with all filters: nothing is precomputed here
        for batch in batches:
            table = pa.Table.from_batches([batch])
            yield from engine.bad_rows(table, prepare(plan.bound, plan.lowered.program, table)).to_batches()
