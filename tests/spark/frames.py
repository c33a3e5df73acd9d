"""Tables for Spark, and coming back from it: local and Spark results in one form."""

import pyarrow as pa


def comparable(rows):
    """Match rows, local or collected, as a sorted list of texts; the order of rows means nothing."""
    plain = [row if isinstance(row, dict) else row.asDict() for row in rows]
    return sorted(
        repr(sorted((k, sorted(v.items()) if isinstance(v, dict) else v) for k, v in row.items())) for row in plain
    )


def collected(df):
    """A DataFrame's rows by way of Arrow, so that times are compared exactly."""
    return as_rows(df.toArrow())


def as_rows(table: pa.Table):
    """Rows as dicts, times as integers in microseconds, maps as dicts."""
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type
        if pa.types.is_timestamp(kind):
            column = column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())  # noqa: PLW2901
        elif pa.types.is_duration(kind):
            column = column.cast(pa.duration("us")).cast(pa.int64())  # noqa: PLW2901
        values = column.to_pylist()
        columns[name] = [dict(v) for v in values] if pa.types.is_map(kind) else values
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
