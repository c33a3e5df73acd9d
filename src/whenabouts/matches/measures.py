"""RETURN items, a column at a time.

An attribute of a step is gathered from the source table by the match's event of that step; an aggregate reduces the
list of values of a step's events; what remains is an expression over those columns, evaluated as for single events.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whenabouts.events.schema import Column, DType
from whenabouts.kernels import entries as en
from whenabouts.kernels.columns import evaluate, plain
from whenabouts.kernels.program import I64, Program
from whenabouts.matches.record import computed_type
from whenabouts.plan import expressions as ex
from whenabouts.plan.bound import Bound
from whenabouts.plan.expressions import Expr, Pick
from whenabouts.plan.typing import infer
from whenabouts.plan.units import unit_of

_REDUCE = {"sum": 0, "avg": 0, "min": 1, "max": 2}
_COMPUTED = "\0"  # step and first letter of the column of a placeholder for an aggregate; no query can contain it


class Measures:
    """Evaluates RETURN items for the matches of one kernel call."""

    def __init__(
        self,
        bound: Bound,
        program: Program,
        table: pa.Table,
        rows: I64,
        grouped: en.Entries,
        aggregates: dict[str, Any],
    ) -> None:
        self.bound, self.program, self.table, self.rows, self.grouped = bound, program, table, rows, grouped
        self.aggregates = aggregates
        self.count = grouped.bounds.size - 1
        self.schema = bound.schema  # grows by the columns of aggregates
        self.computed: dict[str, Any] = {}

    def column(self, expr: Expr) -> Any:
        """The column of one RETURN item, in its result type."""
        if isinstance(expr, ex.Attribute):
            return self._lists(expr) if expr.pick is Pick.EACH else self._original(expr)
        kind = computed_type(expr, self.bound.schema, self.table.schema)
        value = evaluate(ex.transform(expr, self._replace_aggregate), self._resolve, self.schema)
        if isinstance(value, pa.Scalar):
            value = pa.repeat(value, self.count)
        return pc.cast(value, kind)

    def _picked(self, a: ex.Attribute) -> Any:
        """Source row per match of the event an attribute reads, NULL where the step is not bound."""
        picked = en.pick_of_step(self.grouped, self.program.steps.index(a.step), a.pick is Pick.LAST)
        rows = self.rows[np.maximum(picked, 0)] if self.rows.size else picked
        return pa.array(rows, mask=picked < 0)

    def _source(self, name: str | None) -> Any:
        if name is not None:
            return self.table.column(name)
        ids = self.bound.schema.roles.id
        return pa.array(np.arange(self.table.num_rows, dtype=np.int64)) if ids is None else self.table.column(ids)

    def _original(self, a: ex.Attribute) -> Any:
        taken = _whole(self._source(a.name).take(self._picked(a)))
        return taken.cast(taken.type.value_type) if pa.types.is_dictionary(taken.type) else taken

    def _lists(self, a: ex.Attribute) -> Any:
        offsets, events = en.events_of_step(self.grouped, self.program.steps.index(a.step))
        values = _whole(self._source(a.name).take(pa.array(self.rows[events])))
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)

    def _resolve(self, a: ex.Attribute) -> Any:
        if a.step == _COMPUTED:
            return self.computed[a.name or ""]
        assert a.name is not None  # noqa: S101 - events themselves occur only as whole items
        return plain(self._original(a), self.bound.schema.columns[a.name])

    def _replace_aggregate(self, node: Expr) -> Expr:
        if not isinstance(node, ex.Aggregate):
            return node
        name = f"{_COMPUTED}{len(self.computed)}"
        self.computed[name] = self._aggregate(node)
        column = Column(name, infer(node, self.bound.schema), unit_of(node, self.bound.schema))
        self.schema = replace(self.schema, columns={**self.schema.columns, name: column})
        return ex.Attribute(_COMPUTED, name)

    def _aggregate(self, node: ex.Aggregate) -> Any:
        assert node.argument is not None  # noqa: S101 - count(*) belongs to RETURN TOTAL
        (step,) = ex.steps_of(node.argument)
        offsets, events = en.events_of_step(self.grouped, self.program.steps.index(step))
        if isinstance(node.argument, ex.Attribute) and node.argument.name is None:
            return pa.array(np.diff(offsets))
        rows = pa.array(self.rows[events])
        schema = self.bound.schema

        def of_elements(a: ex.Attribute) -> Any:
            return plain(_whole(self.table.column(a.name).take(rows)), schema.columns[a.name or ""])

        values = evaluate(node.argument, of_elements, schema)
        if isinstance(values, pa.Scalar):
            values = pa.repeat(values, len(events))
        return self._reduced(node.function, offsets, _whole(values), infer(node.argument, schema))

    def _reduced(self, function: str, offsets: I64, values: Any, dtype: DType) -> Any:
        valid = np.asarray(pc.is_valid(values))
        if function in self.aggregates:
            numbers = np.asarray(pc.fill_null(pc.cast(values, pa.float64(), safe=False), 0.0))
            result = en.fold_lists(offsets, numbers, valid, self.aggregates[function])
            return pa.array(result, mask=np.isnan(result))
        ranked = None
        if dtype is DType.STRING:
            ranked = values.unique().drop_null().sort()
            values = pc.index_in(values, value_set=ranked)
        kind = np.float64 if dtype is DType.FLOAT else np.int64
        numbers = np.asarray(pc.fill_null(values.cast(pa.from_numpy_dtype(kind)), 0)).astype(kind)
        result, counted = en.reduce_lists(offsets, numbers, valid, _REDUCE.get(function, 0))
        if function == "count":
            return pa.array(counted)
        if function in ("sum", "avg"):
            return _total(function, offsets, numbers, valid, result, counted)
        column = pa.array(result, mask=counted == 0)
        if ranked is not None:
            return ranked.take(column)
        return column.cast(pa.bool_()) if dtype is DType.BOOL else column


def _total(function: str, offsets: I64, numbers: Any, valid: Any, sums: Any, counted: I64) -> Any:
    """Sums or averages of lists; NULL where there is nothing to add, or no such number."""
    mean, beyond = sums / np.maximum(counted, 1), np.isnan(sums)
    longest = int(np.diff(offsets).max(initial=0))
    if sums.dtype.kind == "i" and numbers.size and longest * max(-int(numbers.min()), int(numbers.max())) >= 2**63:
        high, _ = en.reduce_lists(offsets, numbers >> 32, valid, 0)  # in halves, which have room for carries
        low, _ = en.reduce_lists(offsets, numbers & 0xFFFFFFFF, valid, 0)
        high, low = high + (low >> 32), low & 0xFFFFFFFF
        beyond = (high < -(2**31)) | (high >= 2**31)
        mean = (high * 2.0**32 + low) / np.maximum(counted, 1)
    if function == "sum":
        return pa.array(sums, mask=(counted == 0) | beyond)
    return pa.array(mean, mask=(counted == 0) | np.isnan(mean))


def _whole(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
