"""Pattern queries in SQL: SELECT * FROM match_pattern('PATTERN SEQ(A a, B b) WHERE [node] WITHIN 10', TABLE(events)).

Problem: SQL wants a table function whose columns depend on the pattern. Idea: a Python table function whose `analyze`
binds the query to the table's schema, names the result's columns, and asks Spark for the columns it reads and for
partitions. A partition is a bucket of keys, not one key, since Python is called once per partition.
Invariant: the same rows as `query.match`; a query without a key is matched in one partition.

The price: table functions with `analyze` receive rows one by one (the Arrow kind has no `analyze` in Spark 4.3) and
without a filter before; the rows of a partition are held in memory. For large tables use `query.match(df)`, which
filters in Spark and moves batches.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows
from pyspark.sql import types as st
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult, PartitioningColumn, SelectedColumn

from whenabouts import engine
from whenabouts.errors import QueryError, SchemaError, did_you_mean
from whenabouts.language import aggregates as registry
from whenabouts.matches.record import result_schema
from whenabouts.spark.batch import columns_read, compiled_on, one_task
from whenabouts.spark.schema import quoted, spark_schema

NAME = "match_pattern"
OPTIONS = ("id", "type", "time", "lower", "upper", "error", "shape", "pmf", "granularity", "evaluation")
BUCKETS = 256  # partitions of keys: each is one call of the kernel
HELD = 10_000  # rows kept as Python objects before they become an Arrow batch


@dataclass
class Analysis(AnalyzeResult):
    """What `analyze` tells the tasks."""

    text: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    table: st.StructType = field(default_factory=st.StructType)


def register(spark: SparkSession) -> None:
    """Make `match_pattern` known to SQL in this session, with the aggregates registered so far that can travel."""
    known = _that_travel(registry.registered())

    class MatchPattern:
        """A local class, so that it travels by value and takes the aggregates along."""

        @staticmethod
        def analyze(pattern: AnalyzeArgument, events: AnalyzeArgument, **options: AnalyzeArgument) -> Analysis:
            _register_aggregates(known)
            return analyze(pattern, events, options)

        def __init__(self, analysis: Analysis) -> None:
            _register_aggregates(known)
            self.buffer = Buffer(analysis)

        def eval(self, pattern: str, events: Any, **options: Any) -> None:  # noqa: ARG002 - Spark names them
            self.buffer.add(events)

        def terminate(self) -> Iterator[tuple[Any, ...]]:
            return self.buffer.matches()

    spark.udtf.register(NAME, F.udtf(MatchPattern))  # type: ignore[arg-type]


def _that_travel(known: Mapping[str, registry.UserAggregate]) -> dict[str, registry.UserAggregate]:
    """Without what cannot be sent to a task, such as an aggregate that calls into a C library."""
    kept = {}
    for name, aggregate in known.items():
        try:
            cloudpickle.dumps(aggregate)  # type: ignore[no-untyped-call]
        except (pickle.PicklingError, AttributeError, TypeError, ValueError) as error:
            warnings.warn(f"{NAME} does without the aggregate {name}, which cannot be sent: {error}", stacklevel=3)
        else:
            kept[name] = aggregate
    return kept


def _register_aggregates(known: Mapping[str, registry.UserAggregate]) -> None:
    for a in known.values():
        registry.aggregate(a.name, init=a.init, step=a.step, final=a.final)


def analyze(pattern: AnalyzeArgument, events: AnalyzeArgument, options: Mapping[str, AnalyzeArgument]) -> Analysis:
    """Bind the query to the table; name the result's columns, the partitions, and the columns to read."""
    if not (pattern.isConstantExpression and isinstance(pattern.value, str)):
        raise QueryError("syntax", f"the first argument of {NAME} is the pattern, as a constant string")
    if not events.isTable:
        raise SchemaError("schema", f"the second argument of {NAME} is a table", hint=f"{NAME}('…', TABLE(events))")
    named = {name: _option(name, argument) for name, argument in options.items()}
    assert isinstance(events.dataType, st.StructType)  # noqa: S101 - a table has columns
    plan, arrow = compiled_on(_query(pattern.value, named), events.dataType)
    read = [events.dataType[name] for name in _read(plan, arrow)]
    keys = ", ".join(quoted(k) for k in plan.bound.key)
    whole = one_task(plan) is not None
    return Analysis(
        schema=spark_schema(result_schema(plan.bound, arrow)),
        withSinglePartition=whole,
        partitionBy=() if whole else (PartitioningColumn(f"pmod(hash({keys}), {BUCKETS})"),),
        select=[_selected(f) for f in read],
        text=pattern.value,
        options=named,
        table=st.StructType(read),
    )


def _selected(field: st.StructField) -> SelectedColumn:
    """Instants travel as numbers: as Python objects they would depend on the time zone of the worker."""
    name = quoted(field.name)
    if isinstance(field.dataType, st.TimestampType):
        return SelectedColumn(f"unix_micros({name})", alias=field.name)
    return SelectedColumn(name)


def _option(name: str, argument: AnalyzeArgument) -> str:
    if name not in OPTIONS:
        raise QueryError("unknown-name", f"{NAME} has no option {name!r}", hint=did_you_mean(name, OPTIONS))
    if not (argument.isConstantExpression and isinstance(argument.value, str)):
        raise QueryError("type-mismatch", f"{name} must be a constant string", hint=f"{name} => 'column'")
    return argument.value


def _query(text: str, options: Mapping[str, str]) -> engine.PatternQuery:
    """The query; lower and upper are the two columns of an interval."""
    given: dict[str, Any] = dict(options)
    ends = [given.pop(name, None) for name in ("lower", "upper")]
    if None not in ends:
        given["time"] = tuple(ends)
    elif any(ends):
        raise QueryError("type-mismatch", "one end of the intervals is missing", hint="lower => '…', upper => '…'")
    return engine.query(text, **given)


def _read(plan: engine.Plan, arrow: pa.Schema) -> list[str]:
    """The columns a partition reads: nothing is filtered before."""
    names = {*columns_read(plan, plan.lowered.program.placement.filters, arrow), plan.bound.schema.roles.type}
    return [n for n in arrow.names if n in names]


class Buffer:
    """The rows of one partition, as Arrow batches."""

    def __init__(self, analysis: Analysis) -> None:
        query = _query(analysis.text, analysis.options)
        self.order = query.options.evaluation
        self.plan, self.arrow = compiled_on(query, analysis.table)
        self.budget = query.options.budget
        self.rows: list[Any] = []
        self.batches: list[pa.RecordBatch] = []

    def add(self, row: Any) -> None:
        """Take one row."""
        self.rows.append(row)
        if len(self.rows) >= HELD:
            self._pack()

    def _pack(self) -> None:
        columns = list(zip(*self.rows, strict=True)) if self.rows else [() for _ in self.arrow]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, self.arrow, strict=True)]
        self.batches.append(pa.RecordBatch.from_arrays(arrays, schema=self.arrow))
        self.rows = []

    def matches(self) -> Iterator[tuple[Any, ...]]:
        """The matches of the partition as rows."""
        self._pack()
        table = pa.Table.from_batches(self.batches).combine_chunks()
        found, _, _ = engine.match_table(self.plan, table, self.budget, order=self.order)
        for batch in found.to_batches(max_chunksize=HELD):
            maps = [pa.types.is_map(f.type) for f in batch.schema]
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                yield tuple(dict(v) if m and v is not None else v for v, m in zip(row, maps, strict=True))
