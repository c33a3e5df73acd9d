"""Files of events -> one Arrow table.

Problem: what somebody passes may be missing, empty, a folder, in another format or in no format at all.
Idea: every source is a list of names; each name is expanded, its format decided (by its suffix, otherwise by its first
bytes), read whole with Arrow, and texts that are ISO 8601 times become timestamps in UTC and in microseconds
(nanoseconds only where the digits need them), the same for CSV and JSON lines.
Invariant: whatever cannot be read raises a DataError which names the file; nothing is read partially in silence.
"""

from __future__ import annotations

import glob
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from whenabouts.errors import DataError, EnvironmentProblem, did_you_mean

STDIN = "-"
FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
COMPRESSED = {".gz", ".bz2", ".zst", ".lz4"}
NULL_TEXTS = ["", "NULL", "null"]
ISO_TIME = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?$"
ISO_ZONE = r":\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)$"


def read_events(names: Sequence[str], *, kind: str | None = None, texts: Sequence[str] = ()) -> pa.Table:
    """All events of files, globs, Delta folders or standard input ("-"); `texts` are columns never to be guessed."""
    sources = expand(names)
    tables = [_read(source, kind, texts) for source in sources]
    if len(tables) == 1:
        return tables[0]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError(
            "data",
            f"the {len(tables)} inputs do not have the same columns: {_sentence(error)}",
            hint="match them one by one, or give the column the same type everywhere",
        ) from error


def with_lists(table: pa.Table, name: str | None) -> pa.Table:
    """The table with a column of texts such as `[0.5, 0.5]`, as CSV has them, as lists of numbers."""
    if name is None or name not in table.column_names or not pa.types.is_string(table.schema.field(name).type):
        return table
    column = table.column(name).combine_chunks().dictionary_encode()
    lists = [_numbers(text, name) for text in column.dictionary.to_pylist()]
    values = pa.array(lists, pa.list_(pa.float64())).take(column.indices)
    return table.set_column(table.column_names.index(name), name, values)


def _numbers(text: str, column: str) -> list[float | None]:
    try:
        return pa.array(json.loads(text), pa.float64()).to_pylist()
    except (ValueError, TypeError, RecursionError, pa.ArrowException):
        message = f"the column {column!r} holds {text[:40]!r}, which is not a list of numbers"
        raise DataError("data", message, hint="write lists as JSON: [0.25, 0.5, 0.25]") from None


def expand(names: Iterable[str]) -> list[str]:
    """Names with globs replaced by the files they stand for."""
    sources: list[str] = []
    for name in names:
        if name == STDIN or Path(name).exists():
            sources.append(name)
            continue
        found = sorted(glob.glob(name, recursive=True)) if glob.has_magic(name) else []  # noqa: PTH207 - any pattern
        if not found:
            raise _missing(name)
        sources += found
    if sources.count(STDIN) > 1:
        raise DataError("data", "standard input (-) can be read only once")
    return sources


def is_delta(source: str) -> bool:
    return (Path(source) / "_delta_log").is_dir()


def format_of(source: str, head: bytes = b"") -> str:
    """The format by suffix (below .gz and the like) or, failing that, by the first bytes."""
    suffixes = [s.lower() for s in Path(source).suffixes]
    while suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    if suffixes and suffixes[-1] in FORMATS and source != STDIN:
        return FORMATS[suffixes[-1]]
    if head.startswith(b"PAR1"):
        return "parquet"
    return "jsonl" if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")) else "csv"


def _read(source: str, kind: str | None, texts: Sequence[str]) -> pa.Table:
    name = "standard input" if source == STDIN else source
    if source != STDIN and Path(source).is_dir():
        return _read_delta(source)
    content, compression = _content(source, name)
    try:
        with pa.input_stream(content, compression=compression) as stream:
            plain = stream.read_buffer()
    except (OSError, pa.ArrowException) as error:
        raise DataError("data", f"{name} cannot be decompressed: {_sentence(error)}") from error
    if plain.size == 0:
        raise DataError("data", f"{name} is empty", hint="an input needs at least a header or one event")
    chosen = kind or format_of(source, plain.slice(0, min(plain.size, 4096)).to_pybytes())
    try:
        table = _READERS[chosen](plain, texts)
    except (pa.ArrowException, OSError, UnicodeDecodeError, OverflowError) as error:
        raise DataError(
            "data", f"{name} is not readable as {chosen}: {_sentence(error)}", hint=_advice(chosen, plain)
        ) from error
    return _checked(table, name)


def _content(source: str, name: str) -> tuple[Any, str | None]:
    """The bytes of a source, memory-mapped where possible, and how they are compressed."""
    try:
        content = pa.py_buffer(_standard_input()) if source == STDIN else _mapped(source)
    except OSError as error:
        raise DataError("data", f"{name} cannot be opened: {error.strerror or _sentence(error)}") from error
    magic = content.slice(0, min(content.size, 4)).to_pybytes()
    known = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4"}
    return content, next((c for start, c in known.items() if magic.startswith(start)), None)


def _standard_input() -> bytes:
    if sys.stdin is None:  # a shell's <&-
        raise DataError("data", "standard input is closed", hint="name a file instead of -")
    return sys.stdin.buffer.read()


def _mapped(source: str) -> pa.Buffer:
    path = Path(source)
    if not path.is_file() or path.stat().st_size == 0:  # a pipe such as <(…), or nothing to map
        return pa.py_buffer(path.read_bytes())
    with pa.memory_map(source) as file:
        return file.read_buffer()


def _read_parquet(content: pa.Buffer, _: Sequence[str]) -> pa.Table:
    import pyarrow.parquet as pq

    return pq.ParquetFile(pa.BufferReader(content)).read()


def _read_csv(content: pa.Buffer, texts: Sequence[str]) -> pa.Table:
    from pyarrow import csv

    convert = csv.ConvertOptions(
        column_types=dict.fromkeys(texts, pa.string()),
        null_values=NULL_TEXTS,
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )

    def read(block: int | None) -> pa.Table:
        options = csv.ReadOptions(block_size=block)
        return csv.read_csv(pa.BufferReader(content), read_options=options, convert_options=convert)

    table = _with_growing_blocks(read, content)
    for field in table.schema:
        if pa.types.is_binary(field.type):
            raise pa.ArrowInvalid(f"column {field.name!r} is not UTF-8 text")
    return timed(table, texts)


def _read_jsonl(content: pa.Buffer, texts: Sequence[str]) -> pa.Table:
    from pyarrow import json as arrow_json

    explicit = pa.schema([(name, pa.string()) for name in texts])
    parse = arrow_json.ParseOptions(explicit_schema=explicit, unexpected_field_behavior="infer")

    def read(block: int | None) -> pa.Table:
        options = arrow_json.ReadOptions(block_size=block)
        return arrow_json.read_json(pa.BufferReader(content), read_options=options, parse_options=parse)

    table = _with_growing_blocks(read, content)
    absent = [n for n in texts if n in table.column_names and table.column(n).null_count == table.num_rows]
    return timed(table.drop_columns(absent), texts)


def _with_growing_blocks(read: Callable[[int | None], pa.Table], content: pa.Buffer) -> pa.Table:
    """Types are guessed from the first block; where a later one contradicts, look at everything before guessing."""
    try:
        return read(None)
    except pa.ArrowInvalid:
        if not 2**20 < content.size < 2**31 - 1:
            raise
        return read(content.size)


_READERS: dict[str, Callable[[pa.Buffer, Sequence[str]], pa.Table]] = {
    "parquet": _read_parquet,
    "csv": _read_csv,
    "jsonl": _read_jsonl,
}


def timed(table: pa.Table, texts: Sequence[str] = ()) -> pa.Table:
    """The table with ISO 8601 texts as timestamps, and all timestamps in one unit."""
    for i, field in enumerate(table.schema):
        column = table.column(i)
        if pa.types.is_string(field.type) and field.name not in texts:
            column = _times_of(column)
        if pa.types.is_timestamp(column.type):
            table = table.set_column(i, field.name, _in_microseconds(column))
    return table


def _times_of(column: Any) -> Any:
    """Texts as timestamps if all of them are."""
    values = column.drop_null()
    if len(values) == 0 or not pc.all(pc.match_substring_regex(values, ISO_TIME)).as_py():
        return column
    zoned = pc.all(pc.match_substring_regex(values, ISO_ZONE)).as_py()
    try:
        return column.cast(pa.timestamp("ns", "UTC" if zoned else None))
    except pa.ArrowInvalid:  # no such day, or some with and some without a zone: then they are texts
        return column


def _in_microseconds(column: Any) -> Any:
    """Without a zone, in which Arrow's readers of CSV and JSON differ: it is UTC already."""
    for unit in ("us", "ns"):
        try:
            return column.cast(pa.timestamp(unit, column.type.tz)).cast(pa.timestamp(unit))
        except pa.ArrowInvalid:
            continue
    return column


def _read_delta(source: str) -> pa.Table:
    if not is_delta(source):
        hint = f"name its files, for example '{source.rstrip('/')}/*.parquet'; a Delta table has a folder _delta_log"
        raise DataError("data", f"{source} is a directory", hint=hint)
    try:
        import deltalake
    except ImportError as error:
        hint = "pip install 'whenabouts[archive]'"
        raise EnvironmentProblem(
            "environment", f"{source} is a Delta table, and deltalake is not installed", hint=hint
        ) from error
    try:
        return _checked(deltalake.DeltaTable(source).to_pyarrow_table(), source)
    except (deltalake.exceptions.DeltaError, pa.ArrowException, OSError) as error:
        raise DataError("data", f"{source} is not readable as a Delta table: {_sentence(error)}") from error


def _checked(table: pa.Table, name: str) -> pa.Table:
    twice = [column for column, count in Counter(table.column_names).items() if count > 1]
    if twice:
        raise DataError("data", f"{name} has two columns named {twice[0]!r}", hint="rename one of them")
    if not table.column_names:
        raise DataError("data", f"{name} has no columns")
    return table


def _missing(name: str) -> DataError:
    if glob.has_magic(name):
        return DataError("data", f"no file matches {name}")
    folder = Path(name).parent
    there = [p.name for p in folder.iterdir()] if folder.is_dir() else []
    hint = did_you_mean(Path(name).name, there) if there else None
    near = hint if hint and hint.startswith("did you mean") else None
    return DataError("data", f"there is no file {name}", hint=near.partition(" There is")[0] if near else None)


def _advice(kind: str, content: pa.Buffer) -> str | None:
    start = content.slice(0, min(content.size, 4096)).to_pybytes().lstrip()
    if kind == "jsonl" and start.startswith(b"["):
        return "this is one JSON array; write one object per line, for example with jq -c '.[]'"
    guess = format_of("", start)
    return f"it looks like {guess}; say so with --input-format {guess}" if guess != kind else None


def _sentence(error: BaseException) -> str:
    """What Arrow says, on one line."""
    return " ".join(str(error).split())[:300]
