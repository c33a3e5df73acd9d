"""The match row: what every engine returns for a match (DESIGN section 2).

`match_id`, `pattern`, the key columns, `start`, `end`, `confidence`, `events` (step -> list of event ids), and the
RETURN columns. The id depends on the query's text and on which events play which step, on nothing else.

Over uncertain time (spec of imprecise time, sections 1 to 5) all times have the type of the lower time column, and
`start` is the earliest instant of the first event, `end` the latest of the last, over the worlds in which these events
are a match: both bounds are tight. There are four more columns behind `events`:

    confidence_kind   how `confidence` came about: "exact"; "bounded": the true value lies at most `confidence_error`
                      away, for certain; "estimated": the same, but with high probability only
    confidence_error  0 if exact
    ranges            step -> for each of its events, in the order of `events`, the first and the last instant at which
                      it happens in those worlds
    final_at          once every event still to come has a lower bound of at least this, the row changes no more; NULL:
                      it is final at once
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pyarrow as pa

from whenabouts.events.schema import DType, Schema
from whenabouts.plan.bound import Bound
from whenabouts.plan.expressions import Attribute, Expr, Pick
from whenabouts.plan.pattern import Measure, Output, Query
from whenabouts.plan.render import render
from whenabouts.plan.typing import infer
from whenabouts.plan.units import moment_of, unit_of

KIND, ERROR, RANGES, FINAL_AT = "confidence_kind", "confidence_error", "ranges", "final_at"
EXACT, BOUNDED, ESTIMATED = "exact", "bounded", "estimated"
MATCH_ID, PATTERN, START, END, CONFIDENCE, EVENTS, SAFE = (
    "match_id",
    "pattern",
    "start",
    "end",
    "confidence",
    "events",
    "safe",
)


def query_version(query: Query) -> str:
    """Sixteen hexadecimal digits that change with anything that decides which matches exist."""
    decisive = replace(query, measures=(), confidence=None, top=None, limit=None, output=Output.EACH)
    return hashlib.sha256(render(decisive).encode()).hexdigest()[:16]


def seed_of(query: Query) -> np.uint64:
    return np.uint64(int(query_version(query), 16))


def id_type(bound: Bound, table: pa.Schema) -> pa.DataType:
    """The type of event ids in results; a table without an id column uses row numbers."""
    if bound.schema.roles.id is None:
        return pa.int64()
    kind = table.field(bound.schema.roles.id).type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def result_schema(bound: Bound, table: pa.Schema) -> pa.Schema:
    """The Arrow schema of the result, known without matching anything."""
    query, fields = bound.query, []
    keys = [pa.field(k, _plain(table.field(k).type)) for k in bound.key]
    time = table.field(bound.schema.roles.lower).type
    ids = id_type(bound, table)
    if query.output is Output.TOTAL:
        fields = [pa.field(PATTERN, pa.string()), *keys]
        return pa.schema([*fields, *(pa.field(m.name, _total_type(m, bound.schema, table)) for m in query.measures)])
    fields = [pa.field(MATCH_ID, pa.string()), pa.field(PATTERN, pa.string()), *keys]
    fields += [pa.field(START, time), pa.field(END, time), pa.field(CONFIDENCE, pa.float64())]
    fields.append(pa.field(EVENTS, pa.map_(pa.string(), pa.list_(ids))))
    if not bound.schema.roles.exact:
        fields += uncertainty_fields(time)
    if query.output is Output.COLLAPSED:
        return pa.schema([*fields, pa.field(SAFE, pa.bool_())])
    return pa.schema([*fields, *(pa.field(m.name, measure_type(m.expr, bound, table)) for m in query.measures)])


def uncertainty_fields(time: pa.DataType) -> list[pa.Field]:
    """The further columns over uncertain time, whose times have this type."""
    span = pa.struct([pa.field("lower", time), pa.field("upper", time)])
    return [
        pa.field(KIND, pa.string()),
        pa.field(ERROR, pa.float64()),
        pa.field(RANGES, pa.map_(pa.string(), pa.list_(span))),
        pa.field(FINAL_AT, time),
    ]


def measure_type(expr: Expr, bound: Bound, table: pa.Schema) -> pa.DataType:
    """The Arrow type of a RETURN item."""
    if isinstance(expr, Attribute):
        kind = id_type(bound, table) if expr.name is None else _plain(table.field(expr.name).type)
        return pa.list_(kind) if expr.pick is Pick.EACH else kind
    return computed_type(expr, bound.schema, table)


def computed_type(expr: Expr, schema: Schema, table: pa.Schema) -> pa.DataType:
    """The Arrow type of a computed value: times and durations count what the columns they come from count."""
    dtype, unit = infer(expr, schema), unit_of(expr, schema)
    if dtype is DType.TIME and unit is not None:
        column = moment_of(expr, schema)
        kind = None if column is None else _plain(table.field(column.name).type)
        return pa.timestamp(unit, kind.tz if kind is not None and pa.types.is_timestamp(kind) else None)
    if dtype is DType.DURATION and unit is not None:
        return pa.duration(unit)
    return _COMPUTED[dtype]


_COMPUTED = {
    DType.INT: pa.int64(),
    DType.FLOAT: pa.float64(),
    DType.BOOL: pa.bool_(),
    DType.STRING: pa.string(),
    DType.NULL: pa.int64(),
    DType.TIME: pa.int64(),  # of a clock of plain integers
    DType.DURATION: pa.int64(),
}


def _total_type(measure: Measure, schema: Schema, table: pa.Schema) -> pa.DataType:
    """Over uncertain time a total is an expected value; of durations, in the unit of their column."""
    return computed_type(measure.expr, schema, table) if schema.roles.exact else pa.float64()


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
