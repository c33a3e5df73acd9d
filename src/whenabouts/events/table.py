"""Tables of events in and out: any table becomes Arrow, results go back to the kind they came from.

Accepted: a list of dicts, a pyarrow Table or RecordBatch(es), and every eager data frame narwhals knows (pandas,
Polars, …). Spark DataFrames never come here: the spark room plans on them. No row is dropped here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import pyarrow as pa
from narwhals.exceptions import DuplicateError

from whenabouts.errors import DataError, SchemaError, did_you_mean
from whenabouts.events.schema import Column, DType, Roles, Schema

Restore = Callable[[pa.Table], Any]


def to_arrow(data: Any) -> tuple[pa.Table, Restore]:
    """The data as an Arrow table, and the way back from a result table to the kind of `data`."""
    if isinstance(data, pa.Table):
        return data, _same
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data]), _same
    if isinstance(data, pa.RecordBatchReader):
        return data.read_all(), _same
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return _from_rows(data), _to_rows
    try:
        frame = nw.from_native(data, eager_only=True)
    except TypeError as error:
        raise DataError(
            "data",
            f"a {type(data).__name__} is not a table of events",
            hint="pass a list of dicts, a pyarrow Table, a pandas or Polars DataFrame, or a Spark DataFrame",
        ) from error
    except DuplicateError as error:  # pandas allows that
        names = ", ".join(line.strip("- ") for line in str(error).splitlines()[1:])
        hint = "rename all but one of them"
        raise SchemaError("schema", f"several columns have one name: {names}", hint=hint) from error
    namespace = nw.get_native_namespace(frame)
    return frame.to_arrow(), lambda table: _to_frame(table, namespace)


def _same(table: pa.Table) -> pa.Table:
    return table


def _to_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Rows with `events` as a dict: {"a": [1], "b": [2, 3]}."""
    maps = [f.name for f in table.schema if pa.types.is_map(f.type)]
    rows: list[dict[str, Any]] = table.to_pylist()
    for row in rows:
        for name in maps:
            row[name] = dict(row[name])
    return rows


def _to_frame(table: pa.Table, namespace: Any) -> Any:
    if namespace.__name__ == "pandas":
        return table.to_pandas(maps_as_pydicts="strict")
    maps = [i for i, f in enumerate(table.schema) if pa.types.is_map(f.type)]
    for i in maps:  # data frames without a map type get a list of {key, value}
        kind = table.schema.field(i).type
        entries = pa.list_(pa.struct([pa.field("key", kind.key_type), pa.field("value", kind.item_type)]))
        table = table.set_column(i, table.schema.field(i).name, table.column(i).cast(entries))
    return nw.from_arrow(table, backend=namespace).to_native()


def _from_rows(rows: Sequence[Any]) -> pa.Table:
    names: dict[str, None] = {}
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise DataError("data", f"row {i} is a {type(row).__name__}, not a dict", hint="pass a list of dicts")
        names.update(dict.fromkeys(row))
    columns = {}
    for name in names:
        try:
            columns[name] = pa.array([row.get(name) for row in rows])
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise DataError(
                "data", f"column {name!r} mixes types: {error}", hint="give every row the same type in this column"
            ) from error
    return pa.table(columns)


def schema_of(arrow: pa.Schema, roles: Roles) -> Schema:
    """What the language sees of an Arrow schema; columns of other types (lists, structs, binary) are invisible."""
    columns: dict[str, Column] = {}
    seen: set[str] = set()
    for f in arrow:
        if f.name in seen:
            raise SchemaError("schema", f"the table has two columns named {f.name!r}", hint="rename one of them")
        seen.add(f.name)
        column = _column(f.name, f.type)
        if column is not None and f.name == roles.type and pa.types.is_null(f.type):
            column = Column(f.name, DType.STRING)  # no row has a type
        if column is not None:
            columns[f.name] = column
    roles = checked_roles(columns, list(arrow.names), roles)
    if roles.pmf is not None:
        _check_pmf(roles.pmf, arrow.field(roles.pmf).type)
    return Schema(columns, roles)


def checked_roles(columns: Mapping[str, Column], names: Sequence[str], roles: Roles) -> Roles:
    """The roles with columns that exist; the default id and type columns may be missing."""
    named = [("time", name) for name in roles.time_columns] + [("error", name) for name in roles.error_columns]
    for role, name in (*named, ("pmf", roles.pmf), ("id", roles.id), ("type", roles.type)):
        if name is None or name in names:
            continue
        if role == "id" and name == "id":
            roles = replace(roles, id=None)
        elif role == "type" and name == "type":
            roles = replace(roles, type=None)
        else:
            raise SchemaError(
                "schema",
                f"the table has no column {name!r} for the {role} of events",
                hint=f"name it: wa.query(text, {role}=…); {did_you_mean(name, names) or 'the table has no columns'}",
            )
    for name in roles.time_columns:
        _check_time(name, columns.get(name))
    lower, upper = columns[roles.lower], columns[roles.upper]
    if lower.unit != upper.unit:
        counts = " and ".join(f"{c.name!r} ({c.unit or 'plain integers'})" for c in (lower, upper))
        message = f"the time columns {counts} have different units"
        raise SchemaError("schema", message, hint="convert one of them in the table")
    if roles.type is not None and (roles.type not in columns or columns[roles.type].dtype is not DType.STRING):
        raise SchemaError("schema", f"the type column {roles.type!r} must hold strings", hint="convert it first")
    return roles


def _check_time(name: str, column: Column | None) -> None:
    if column is None or column.dtype not in (DType.INT, DType.TIME):
        what = f"has type {column.dtype.value}" if column is not None else "has a type without order"
        raise SchemaError(
            "schema",
            f"the time column {name!r} {what}",
            hint="time must be an integer or a timestamp; convert it first",
        )


def _check_pmf(name: str, kind: Any) -> None:
    is_list = any(is_kind(kind) for is_kind in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list))
    item = kind.value_type if is_list else None
    if item is not None and (pa.types.is_float32(item) or pa.types.is_float16(item)):
        message = f"the pmf column {name!r} holds {item} numbers, too coarse to add up to 1 within 1e-9"
        raise SchemaError("schema", message, hint="compute the masses with 64 bits; a cast comes too late")
    if item is None or not (pa.types.is_float64(item) or pa.types.is_integer(item) or pa.types.is_decimal(item)):
        message = f"the pmf column {name!r} has type {kind}"
        raise SchemaError("schema", message, hint="a pmf is a list of numbers per row, one per tick or per equal bin")


def _column(name: str, kind: Any) -> Column | None:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_boolean(kind):
        return Column(name, DType.BOOL)
    if pa.types.is_integer(kind):
        return Column(name, DType.INT)
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return Column(name, DType.FLOAT)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return Column(name, DType.STRING)
    if pa.types.is_timestamp(kind):
        return Column(name, DType.TIME, kind.unit)
    if pa.types.is_date(kind):
        return Column(name, DType.TIME, "s")
    if pa.types.is_duration(kind):
        return Column(name, DType.DURATION, kind.unit)
    if pa.types.is_null(kind):
        return Column(name, DType.INT)
    return None
