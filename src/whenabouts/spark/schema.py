"""Spark's types and Arrow's: what a DataFrame looks like to a query, and what its matches look like to Spark.

Problem: binding a query and naming the result's columns must not read any data. Idea: translate the DataFrame's schema
to Arrow, bind against that as for a local table, and translate the Arrow schema of the result back.
Invariant: a column crosses to Python with the Arrow type stated here, up to the time zone, which only labels.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows
from pyspark.sql import types as st

from whenabouts.errors import SchemaError, UnsupportedError

_PLAIN: tuple[tuple[type[st.DataType], pa.DataType], ...] = (
    (st.ByteType, pa.int8()),
    (st.ShortType, pa.int16()),
    (st.IntegerType, pa.int32()),
    (st.LongType, pa.int64()),
    (st.FloatType, pa.float32()),
    (st.DoubleType, pa.float64()),
    (st.BooleanType, pa.bool_()),
    (st.StringType, pa.string()),
    (st.DateType, pa.date32()),
    (st.TimestampType, pa.timestamp("us", "UTC")),
    (st.TimestampNTZType, pa.timestamp("us")),
    (st.DayTimeIntervalType, pa.duration("us")),
    (st.NullType, pa.null()),
)
_INTEGERS = {8: st.ByteType(), 16: st.ShortType(), 32: st.IntegerType(), 64: st.LongType()}


def arrow_schema(struct: st.StructType) -> pa.Schema:
    """The Arrow schema of a DataFrame; types no query can read appear as binary, which is invisible to queries."""
    seen: set[str] = set()
    for f in struct.fields:
        if f.name in seen:
            raise SchemaError("schema", f"the DataFrame has two columns named {f.name!r}", hint="rename one of them")
        seen.add(f.name)
    return pa.schema([pa.field(f.name, _to_arrow(f.dataType)) for f in struct.fields])


def _to_arrow(kind: st.DataType) -> pa.DataType:
    if isinstance(kind, st.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, st.ArrayType):
        return pa.list_(_to_arrow(kind.elementType))
    return next((arrow for spark, arrow in _PLAIN if isinstance(kind, spark)), pa.binary())


def spark_schema(schema: pa.Schema) -> st.StructType:
    """The schema of the DataFrame that holds an Arrow table of this schema."""
    return st.StructType([st.StructField(f.name, _to_spark(f.type)) for f in schema])


def _to_spark(kind: pa.DataType) -> st.DataType:
    if pa.types.is_map(kind):
        return st.MapType(_to_spark(kind.key_type), _to_spark(kind.item_type))
    if pa.types.is_list(kind):
        return st.ArrayType(_to_spark(kind.value_type))
    if pa.types.is_struct(kind):
        return st.StructType([st.StructField(f.name, _to_spark(f.type)) for f in kind])
    if pa.types.is_integer(kind):
        return _INTEGERS[kind.bit_width]
    if pa.types.is_decimal(kind):
        return st.DecimalType(kind.precision, kind.scale)
    if pa.types.is_timestamp(kind):
        return st.TimestampType() if kind.tz else st.TimestampNTZType()
    if pa.types.is_duration(kind):
        return st.DayTimeIntervalType()
    for spark, arrow in _PLAIN:
        if arrow == kind:
            return spark()
    raise UnsupportedError("unsupported", f"Spark has no column type for {kind}")


def arrow_unit(kind: pa.DataType) -> pa.DataType:
    """The same Arrow type in microseconds, the only unit of Spark."""
    if pa.types.is_map(kind):
        return pa.map_(arrow_unit(kind.key_type), arrow_unit(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(arrow_unit(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, arrow_unit(f.type)) for f in kind])
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_duration(kind):
        return pa.duration("us")
    return kind


def column(field: st.StructField) -> Column:
    """The column of a field, whatever its name; strings compare by their bytes, whatever their collation."""
    found = F.col(quoted(field.name))
    collation = getattr(field.dataType, "collation", "UTF8_BINARY")
    return found if collation == "UTF8_BINARY" else F.collate(found, "UTF8_BINARY")


def quoted(name: str) -> str:
    """A column name as Spark SQL reads it."""
    return "`" + name.replace("`", "``") + "`"
