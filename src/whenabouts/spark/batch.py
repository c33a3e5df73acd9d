"""A pattern query over a Spark DataFrame: one filter, one shuffle, one pass of Python over runs of keys.

Problem: matching wants all events of a key in one place, and Python is the slow side of Spark. Idea: Spark decides
which steps an event can be (`pushdown`), drops what no step can use, ships only the columns the kernel or the result
reads, and brings keys together; a task then matches hundreds of thousands of events per call (`task`).
Invariant: the same rows as in one process, for every number of partitions; nothing runs before the result is asked for.
Only public DataFrame calls, so it works over Spark Connect; the session is that of the DataFrame.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows
from pyspark.sql import types as st

from whenabouts import engine
from whenabouts.engine import PatternQuery, Plan
from whenabouts.errors import SchemaError, UnsupportedError
from whenabouts.events.schema import DType
from whenabouts.events.table import schema_of
from whenabouts.kernels.batch import needs_all_events
from whenabouts.kernels.explanation import explanation
from whenabouts.matches.record import CONFIDENCE, MATCH_ID, result_schema
from whenabouts.plan import expressions as ex
from whenabouts.plan.pattern import Output, Strategy
from whenabouts.spark.pushdown import Pushed, push
from whenabouts.spark.schema import arrow_schema, column, spark_schema
from whenabouts.spark.task import BITS, HASH, AsideTask, MatchTask, Parcel, pack
from whenabouts.spark.times import suspect_times


class OneTaskWarning(UserWarning):
    """One task matches the whole input: the query has no key, or strict contiguity sees all events as one stream."""


@dataclass(frozen=True, slots=True)
class SparkPlan:
    """How a query runs on a DataFrame."""

    plan: Plan
    struct: st.StructType
    arrow: pa.Schema
    pushed: Pushed
    shipped: tuple[str, ...]
    one_task: str | None  # the reason, if the whole input goes to one task

    @property
    def sortable(self) -> bool:
        """Whether the key is one integer."""
        key = self.plan.bound.key
        return len(key) == 1 and isinstance(self.struct[key[0]].dataType, st.IntegralType)

    @property
    def time(self) -> Column:
        return self.column(self.plan.bound.schema.roles.lower)

    def column(self, name: str) -> Column:
        return column(self.struct[name])

    @property
    def keyless(self) -> Column:
        """Whether a row lacks a key; NaN is read as NULL."""
        floats = {n for n, c in self.plan.bound.schema.columns.items() if c.dtype is DType.FLOAT}
        decimals = {f.name for f in self.struct if isinstance(f.dataType, st.DecimalType)}
        tests = [
            self.column(k).isNull() | F.isnan(self.column(k)) if k in floats - decimals else self.column(k).isNull()
            for k in self.plan.bound.key
        ]
        return reduce(lambda x, y: x | y, tests, F.lit(False))

    def packed(self) -> bytes:
        """What travels to the workers."""
        bound = self.plan.bound
        nodes = [n for e in (*bound.query.where, *_returned(self.plan)) for n in ex.walk(e)]
        used = {n.function for n in nodes if isinstance(n, ex.Aggregate)}
        return pack(Parcel(bound, self.pushed.remaining, {k: v for k, v in self.plan.aggregates.items() if k in used}))


def plan_on(query: PatternQuery, struct: st.StructType) -> SparkPlan:
    """How a query runs on a DataFrame of this schema."""
    plan, arrow = compiled_on(query, struct)
    pushed = push(plan.bound, plan.lowered.program, struct)
    return SparkPlan(plan, struct, arrow, pushed, columns_read(plan, pushed.remaining, arrow), one_task(plan))


def compiled_on(query: PatternQuery, struct: st.StructType) -> tuple[Plan, pa.Schema]:
    """The query compiled for a Spark schema, and the Arrow schema of the same columns."""
    arrow = arrow_schema(struct)
    schema = schema_of(arrow, query.options.roles)
    if schema.roles.id is None:
        raise SchemaError(
            "schema",
            "the events need a column that identifies them: rows of a Spark DataFrame have no stable number",
            hint='name it: wa.query(text, id="…"); or add one: df.withColumn("id", F.expr("uuid()")) and save it',
        )
    return engine.compile_query(query.query, schema, query.options.granularity), arrow


def one_task(plan: Plan) -> str | None:
    """Why the whole input must be matched in one task, if it must."""
    if plan.bound.query.strategy is Strategy.STRICT:
        return "under strict_contiguity all events are one stream"
    return None if plan.bound.key else "the query has no key such as WHERE [column]"


def _returned(plan: Plan) -> Iterator[ex.Expr]:
    return (m.expr for m in plan.bound.query.measures)


def columns_read(plan: Plan, filters: Mapping[str, tuple[ex.Expr, ...]], arrow: pa.Schema) -> tuple[str, ...]:
    """The columns a task reads that evaluates these filters, in the order of the table."""
    bound = plan.bound
    read = [d.expr for d in plan.lowered.program.derived]
    read += [e for items in filters.values() for e in items]
    names = {a.name for e in (*read, *_returned(plan)) for a in ex.attributes(e)}
    names |= {*bound.key, bound.schema.roles.id, *bound.schema.roles.uncertainty_columns}
    return tuple(n for n in arrow.names if n in names)


def match(query: PatternQuery, df: DataFrame) -> DataFrame:
    """The matches as a lazy DataFrame."""
    planned = plan_on(query, _static(df))
    if planned.one_task:
        warnings.warn(f"one task matches the whole input: {planned.one_task}", OneTaskWarning, stacklevel=3)
    bound = planned.plan.bound
    added = [BITS] if planned.one_task or planned.sortable else [HASH, BITS]
    sent = pa.schema([*(planned.arrow.field(n) for n in planned.shipped), *(pa.field(n, pa.int64()) for n in added)])
    cut_at = (
        () if planned.one_task else (_numbers(planned, bound.key)[0] if planned.sortable else len(planned.shipped),)
    )
    answers_nothing = bound.query.output is Output.TOTAL and not bound.key
    options = query.options
    task = MatchTask(
        planned.packed(), options.budget, sent, cut_at, answers_nothing=answers_nothing, order=options.evaluation
    )
    result = spark_schema(result_schema(bound, planned.arrow))
    matches = _arranged(planned, _events(planned, df)).mapInArrow(task, result)
    if bound.query.top is not None:  # each task has chosen its own already
        return matches.orderBy(F.desc(CONFIDENCE), MATCH_ID).limit(bound.query.top)
    return matches if bound.query.limit is None else matches.limit(bound.query.limit)


def _events(planned: SparkPlan, df: DataFrame) -> DataFrame:
    """The rows a task needs, with their bits; columns by number, since mapInArrow trips over dots in names."""
    bound = planned.plan.bound
    kept = df.where(planned.time.isNotNull())
    if bound.key and bound.query.strategy is not Strategy.STRICT:
        kept = kept.where(~planned.keyless)
    if planned.pushed.of_type is not None:
        kept = kept.where(planned.pushed.of_type)
    if not needs_all_events(bound):
        kept = kept.where(planned.pushed.bits != 0)
    columns = [planned.column(name).alias(_numbered(n)) for n, name in enumerate(planned.shipped)]
    if not (planned.one_task or planned.sortable):
        columns.append(F.xxhash64(*(planned.column(k) for k in bound.key)).alias(HASH))
    return kept.select(*columns, planned.pushed.bits.alias(BITS))


def _numbered(n: int) -> str:
    return f"c{n}"


def _numbers(planned: SparkPlan, names: Iterable[str]) -> list[int]:
    return [planned.shipped.index(name) for name in names]


def _arranged(planned: SparkPlan, events: DataFrame) -> DataFrame:
    """Keys together; as many partitions as spark.sql.shuffle.partitions says.

    Sorted by one integer, the key or its hash: Spark sorts those by radix, several times as fast as keys and times. The
    kernel brings the few events of a key into time order itself, and tells keys with equal hashes apart.
    """
    if planned.one_task:
        return events.repartition(1)
    keys = [_numbered(n) for n in _numbers(planned, planned.plan.bound.key)]
    return events.repartition(*keys).sortWithinPartitions(keys[0] if planned.sortable else HASH)


def check(query: PatternQuery, df: DataFrame) -> None:
    """Raise if the query does not fit the DataFrame."""
    plan_on(query, _static(df))


def bad_rows(query: PatternQuery, df: DataFrame) -> DataFrame:
    """The rows `match` sets aside, all their columns and a column `reason`; lazy."""
    planned = plan_on(query, _static(df))
    roles = planned.plan.bound.schema.roles
    relevant = planned.pushed.bits != 0
    suspects = df.where(suspect_times(roles, planned.struct) | (planned.keyless & relevant))
    struct = st.StructType([*planned.struct.fields, st.StructField("reason", st.StringType())])
    return suspects.mapInArrow(AsideTask(planned.packed()), struct)


def key_report(query: PatternQuery, df: DataFrame) -> DataFrame:
    """Relevant events per key, largest first: shows keys so large that one task waits for them."""
    planned = plan_on(query, _static(df))
    if not planned.plan.bound.key:
        raise UnsupportedError("unsupported", "a query without a key has no keys to report", hint="add WHERE [column]")
    events = _events(planned, df)
    keys = [F.col(_numbered(planned.shipped.index(k))).alias(k) for k in planned.plan.bound.key]
    return events.groupBy(*keys).agg(F.count(F.lit(1)).alias("events")).orderBy(F.desc("events"))


def explain(query: PatternQuery, df: DataFrame) -> str:
    """The local explanation, then what Spark does, what crosses to Python, and how keys come together."""
    planned = plan_on(query, _static(df))
    plan = planned.plan
    options = query.options
    local = explanation(plan.bound, plan.lowered, options.budget, merge=plan.merge, order=options.evaluation)
    if planned.one_task:
        shuffle = f"one task, because {planned.one_task}"
    else:
        partitions = df.sparkSession.conf.get("spark.sql.shuffle.partitions")
        shuffle = f"by {', '.join(plan.bound.key)} into {partitions} partitions (spark.sql.shuffle.partitions)"
    kept = "all rows are shipped" if needs_all_events(plan.bound) else "rows without any are dropped first"
    spark = [
        "spark",
        f"  bits computed in Spark, {kept}:",
        *(f"    {note}" for note in planned.pushed.notes),
        f"  columns to Python: {', '.join(planned.shipped)}, bits",
        f"  shuffle {shuffle}",
    ]
    if plan.bound.key:
        spark.append("  skew: whenabouts.spark.key_report(query, df) lists the largest keys")
    return "\n".join([local, *spark])


def _static(df: DataFrame) -> st.StructType:
    """The schema of a DataFrame that is no stream."""
    if df.isStreaming:
        raise UnsupportedError(
            "unsupported",
            "pattern queries over a streaming DataFrame are not supported yet",
            hint="ask the query of a batch DataFrame: spark.read instead of spark.readStream",
        )
    return df.schema
