"""One question asked of files, in this process or on Spark: the same answer, the same account of it.

Idea: both engines give Arrow tables (matches, bad rows) and counters, so that nothing after this page knows which one
worked. Spark reads Parquet files itself; what it would read differently (CSV, JSON lines, Delta, ids that are row
numbers) goes through Arrow and a temporary Parquet file, so that a value means the same on both.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from whenabouts.app.reading import STDIN, expand, format_of, read_events, with_lists
from whenabouts.engine import PatternQuery, query
from whenabouts.errors import CODES, BudgetError, DataError, EnvironmentProblem, QueryError, WhenaboutsError
from whenabouts.events.schema import ErrorBySource
from whenabouts.plan.pattern import Output

LONGEST_NAME = 256  # of a file; asking the system about longer ones is an error
RAISED_IN_TASK = re.compile(
    r"whenabouts\.errors\.\w+: \[(?P<code>[\w-]+)\] (?P<message>[^\n]*)(?:\nhint: (?P<hint>[^\n]*))?"
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Matches, rows set aside, and numbers about both; a number Spark does not tell is None."""

    matches: pa.Table
    bad_rows: pa.Table
    counters: Mapping[str, int | None]
    seconds: float

    def summary(self) -> dict[str, Any]:
        reasons = Counter(self.bad_rows.column("reason").to_pylist())
        numbers = {name: self.counters.get(name) for name in ("events", "relevant", "matches")}
        dropped = self.counters.get("dropped_starts")
        return numbers | {"bad_rows": dict(reasons), "dropped_starts": dropped, "seconds": round(self.seconds, 3)}


def query_text(text: str | None, file: Path | None) -> str:
    """The text of a query given directly or as a file."""
    if file is not None:
        try:
            return file.read_text("utf-8-sig")
        except UnicodeDecodeError as error:
            raise DataError("data", f"{file} is not UTF-8 text", hint="-q takes a file with the query") from error
        except OSError as error:
            raise DataError("data", f"{file} cannot be read: {error.strerror}") from error
    if text is None:
        raise QueryError("syntax", "there is no query", hint="write it as the first argument, or name a file with -q")
    if len(text) < LONGEST_NAME and not any(c.isspace() for c in text) and Path(text).is_file():
        raise QueryError("syntax", f"{text} is a file, not a query", hint=f"to ask what is in it: -q {text}")
    return text


def limited(q: PatternQuery, limit: int | None) -> PatternQuery:
    """The query with at most `limit` matches; totals are few rows and are cut afterwards."""
    if limit is None or q.query.output is Output.TOTAL:
        return q
    if q.query.top is not None:
        return replace(q, query=replace(q.query, top=min(limit, q.query.top)))
    least = limit if q.query.limit is None else min(limit, q.query.limit)
    return replace(q, query=replace(q.query, limit=least))


def ask(q: PatternQuery, names: Sequence[str], kind: str | None, *, spark: bool) -> Outcome:
    """Read the inputs and match them."""
    if spark:
        with session_for("whenabouts") as session, spark_frame(session, q, names, kind) as frame:
            return match_on_spark(q, frame)
    return match_here(q, events_of(names, kind, q))


def events_of(names: Sequence[str], kind: str | None, q: PatternQuery) -> pa.Table:
    """The inputs, read as the query wants its columns."""
    return with_lists(read_events(names, kind=kind, texts=type_columns(q)), q.options.roles.pmf)


def match_here(q: PatternQuery, events: pa.Table) -> Outcome:
    start = time.perf_counter()
    run = q.run(events)
    return Outcome(run.matches, run.bad_rows, run.counters, time.perf_counter() - start)


def match_on_spark(q: PatternQuery, frame: Any) -> Outcome:
    """Three Spark jobs: the matches, the rows set aside, and how many there were."""
    start = time.perf_counter()
    with spark_errors():
        matches = q.match(frame).toArrow()
        seconds = time.perf_counter() - start
        bad = q.bad_rows(frame).toArrow()
        counters = {"events": frame.count(), "matches": matches.num_rows, "bad_rows": bad.num_rows}
    return Outcome(matches, bad, counters, seconds)


@contextmanager
def spark_errors() -> Iterator[None]:
    """What a task raised on purpose is raised here; anything else Spark says becomes one sentence."""
    try:
        yield
    except WhenaboutsError:
        raise
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark.", "py4j.")):
            raise
        known = RAISED_IN_TASK.search(str(error))
        if known and known["code"] in CODES:
            kind = BudgetError if known["code"] == "budget" else DataError
            raise kind(known["code"], known["message"], hint=known["hint"]) from error
        sentence = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        hint = "`whenabouts doctor` checks Java and Spark; --debug shows everything Spark said"
        raise EnvironmentProblem("environment", f"Spark failed: {sentence.strip()[:300]}", hint=hint) from error


def type_columns(q: PatternQuery) -> list[str]:
    """Columns that hold text even where it looks like numbers or times."""
    roles = q.options.roles
    sources = [roles.error.column] if isinstance(roles.error, ErrorBySource) else []
    return [*([] if roles.type is None else [roles.type]), *sources]


@contextmanager
def session_for(name: str) -> Iterator[Any]:
    """A local Spark session, stopped afterwards unless it was there before."""
    try:
        from pyspark.sql import SparkSession

        from whenabouts.spark.session import local_session
    except ImportError as error:
        hint = "pip install 'whenabouts[spark]'; `whenabouts doctor` checks the rest"
        raise EnvironmentProblem("environment", "Spark is not installed here", hint=hint) from error
    ours = SparkSession.getActiveSession() is None  # noqa: TID251 - only to know whether it is ours to stop
    with tempfile.TemporaryFile() as log, spark_errors():
        with _stderr_into(log):
            session = local_session(name, cores=2, spark__log__level="ERROR")
        try:
            yield session
        finally:
            if ours:
                session.stop()


@contextmanager
def _stderr_into(log: IO[bytes]) -> Iterator[None]:
    """The Java started meanwhile keeps writing there: its greetings are no news to the user."""
    sys.stderr.flush()
    kept = os.dup(2)
    os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextmanager
def spark_frame(session: Any, q: PatternQuery, names: Sequence[str], kind: str | None) -> Iterator[Any]:
    """The inputs as a Spark DataFrame."""
    sources = expand(names)
    if _spark_reads(sources, kind) and _has_id(sources, q):
        yield session.read.parquet(*(Path(s).absolute().as_uri() for s in sources))
        return
    table = events_of(sources, kind, q)
    with spark_table(session, with_row_numbers(table, q)) as frame:
        yield frame


@contextmanager
def spark_table(session: Any, table: pa.Table) -> Iterator[Any]:
    """An Arrow table as a Spark DataFrame, by way of a temporary file; nanoseconds become microseconds."""
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory(prefix="whenabouts-") as folder:
        path = Path(folder) / "events.parquet"
        pq.write_table(table, path, coerce_timestamps="us", allow_truncated_timestamps=True, row_group_size=100_000)
        yield session.read.parquet(path.as_uri())


def with_row_numbers(table: pa.Table, q: PatternQuery) -> pa.Table:
    """Rows have no order on Spark, so what counts them has to be a column."""
    if q.options.roles.id != "id" or "id" in table.column_names:
        return table
    return table.append_column("id", pa.array(range(table.num_rows), pa.int64()))


def _spark_reads(sources: Sequence[str], kind: str | None) -> bool:
    plain = all(s != STDIN and Path(s).is_file() for s in sources)
    return plain and all((kind or format_of(s)) == "parquet" for s in sources)


def _has_id(sources: Sequence[str], q: PatternQuery) -> bool:
    import pyarrow.parquet as pq

    try:
        return all(q.options.roles.id in pq.read_schema(s).names for s in sources)
    except (pa.ArrowException, OSError):
        return False  # reading it with Arrow explains what is wrong


def query_of(text: str, **options: Any) -> PatternQuery:
    """`whenabouts.query` without the options that were not given."""
    return query(text, **{name: value for name, value in options.items() if value is not None})


def schema_of_inputs(names: Sequence[str], kind: str | None, q: PatternQuery) -> pa.Schema:
    """The columns of the inputs; of a single Parquet file without reading its rows."""
    import pyarrow.parquet as pq

    sources = expand(names)
    if len(sources) == 1 and _spark_reads(sources, kind):
        try:
            return pq.read_schema(sources[0])
        except (pa.ArrowException, OSError):
            pass  # reading it whole explains what is wrong
    return events_of(sources, kind, q).schema
