"""Tables of matches -> JSON lines, CSV or Parquet.

Idea: Parquet takes the columns as they are. The text formats first get every column as something they can hold: times
as ISO 8601, durations as seconds, maps as objects (in CSV, as JSON text). Conversion is by column, not by match.
Invariant: a file appears under its name complete or not at all.
"""

from __future__ import annotations

import base64
import json
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc

from whenabouts.app.reading import FORMATS
from whenabouts.errors import DataError

ROWS_AT_ONCE = 5_000
WRITABLE = ("jsonl", "parquet", "csv")


def format_for(path: str) -> str:
    """The format a file is written in, by its suffix."""
    found = FORMATS.get(Path(path).suffix.lower())
    if found is None:
        hint = "end the name in .jsonl, .csv or .parquet, or pass --format"
        raise DataError("data", f"the name {path} does not say the format", hint=hint)
    return found


def write_file(table: pa.Table, path: str, kind: str) -> None:
    """Write a file under another name, then rename it; what is not a plain file (/dev/null) is written directly."""
    target = Path(path)
    if target.is_dir():
        raise DataError("data", f"{path} is a directory", hint="name a file in it")
    if not target.parent.is_dir():
        raise DataError("data", f"there is no directory {target.parent}", hint="create it first")
    direct = target.exists() and not target.is_file()
    part = target if direct else target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as out:
            _WRITERS[kind](table, out)
        if not direct:
            part.replace(target)
    except OSError as error:
        raise DataError("data", f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        if not direct:
            part.unlink(missing_ok=True)


def write_stream(table: pa.Table, out: IO[bytes], kind: str) -> None:
    _WRITERS[kind](table, out)
    out.flush()


def rows_of(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Rows of plain JSON values."""
    for start in range(0, table.num_rows, ROWS_AT_ONCE):
        piece = table.slice(start, ROWS_AT_ONCE)
        names = piece.column_names
        columns = [_values(piece.column(i)) for i in range(len(names))]
        for row in zip(*columns, strict=True):
            yield dict(zip(names, row, strict=True))


def _write_jsonl(table: pa.Table, out: IO[bytes]) -> None:
    for row in rows_of(table):
        out.write(json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def _write_csv(table: pa.Table, out: IO[bytes]) -> None:
    from pyarrow import csv

    for i, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            values = [None if v is None else json.dumps(v, ensure_ascii=False) for v in _values(table.column(i))]
            table = table.set_column(i, field.name, pa.array(values, pa.string()))
        else:
            table = table.set_column(i, field.name, _plain(table.column(i)))
    csv.write_csv(table, out)


def _write_parquet(table: pa.Table, out: IO[bytes]) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, out)


_WRITERS: dict[str, Callable[[pa.Table, IO[bytes]], None]] = {
    "jsonl": _write_jsonl,
    "csv": _write_csv,
    "parquet": _write_parquet,
}


def _values(column: Any) -> list[Any]:
    """A column as JSON values; what is nested is converted from the inside."""
    kind = column.type
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_map(kind):
        first, pieces = _pieces(column)
        keys, items = _values(column.keys.slice(*first)), _values(column.items.slice(*first))
        return [None if p is None else dict(zip(keys[p], items[p], strict=True)) for p in pieces]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        first, pieces = _pieces(column)
        inside = _values(column.values.slice(*first))
        return [None if p is None else inside[p] for p in pieces]
    if pa.types.is_struct(kind):
        names = [kind.field(i).name for i in range(kind.num_fields)]
        rows = zip(*(_values(column.field(i)) for i in range(kind.num_fields)), strict=True)
        there = column.is_valid().to_pylist()
        return [dict(zip(names, row, strict=True)) if ok else None for row, ok in zip(rows, there, strict=True)]
    if pa.types.is_floating(kind):
        return [None if v is None or not math.isfinite(v) else v for v in column.to_pylist()]
    return [_simple(v) for v in _plain(column).to_pylist()]


def _pieces(column: Any) -> tuple[tuple[int, int], list[slice | None]]:
    """Where the values below the lists or maps begin, how many they are, and which of them belong to each."""
    offsets = column.offsets.to_pylist()
    begin = offsets[0]
    ranges = zip(offsets, offsets[1:], column.is_valid().to_pylist(), strict=False)
    return (begin, offsets[-1] - begin), [slice(a - begin, b - begin) if there else None for a, b, there in ranges]


def _plain(column: Any) -> Any:
    """A column without times, durations, decimals and dictionaries."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _plain(column.cast(kind.value_type))
    if pa.types.is_timestamp(kind):
        return _iso(column)
    if pa.types.is_duration(kind):
        per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
        return pc.divide(column.cast(pa.int64()).cast(pa.float64(), safe=False), float(per_second))
    if pa.types.is_date(kind) or pa.types.is_time(kind) or pa.types.is_decimal(kind):
        return column.cast(pa.string())
    return column


def _iso(column: Any) -> Any:
    """2024-05-31T12:00:00.25, with a Z if the column has a zone; a fraction as short as it can be."""
    unit, zone = column.type.unit, column.type.tz
    if zone is not None:
        column = column.cast(pa.timestamp(unit, "UTC")).cast(pa.timestamp(unit))
    text = pc.replace_substring_regex(column.cast(pa.string()), " ", "T")
    if unit != "s":
        text = pc.replace_substring_regex(pc.replace_substring_regex(text, r"(\.\d*?)0+$", r"\1"), r"\.$", "")
    return pc.binary_join_element_wise(text, "Z", "") if zone is not None else text


def _simple(value: Any) -> Any:
    """What Arrow gives and JSON lacks."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return json.loads(json.dumps(value, default=str))
