"""A query of a Spark DataFrame gives what it gives in one process."""

import datetime as dt
import random
import warnings
from dataclasses import replace
from functools import reduce
from itertools import count

import pyarrow as pa
import pytest

import whenabouts as wa
from tests.matching.random_queries import Limits, random_case
from tests.spark.frames import as_rows, collected, comparable
from whenabouts.errors import SchemaError, UnsupportedError
from whenabouts.plan.pattern import Strategy
from whenabouts.spark.batch import OneTaskWarning, key_report

pytestmark = pytest.mark.spark

EVENTS = pa.table(
    {
        "id": pa.array(range(600)),
        "type": ["ABBCBAABBCCC"[i % 12] for i in range(600)],
        "time": pa.array([i // 2 for i in range(600)]),
        "node": [f"node {i * i % 7}" for i in range(600)],
        "v": [None if i % 11 == 0 else float("nan") if i % 13 == 0 else i % 5 / 2 for i in range(600)],
    }
)
NODES = "PATTERN SEQ(A a, B+ b[], C c) WHERE [node] AND b[i].v >= 0.5 "


@pytest.fixture(scope="session")
def events(spark):
    return spark.createDataFrame(EVENTS).repartition(3).cache()


def same(query, df, table):
    """Whether both engines answer alike, and something."""
    local = as_rows(query.run(table).matches)
    assert local
    assert comparable(collected(query.match(df))) == comparable(local)


@pytest.mark.parametrize(
    "text",
    [
        NODES
        + "AND skip_till_any_match WITHIN 8 RETURN a.v, b[].v, avg(b[].v) AS mean, c.time - a.time AS took, b[last].id",
        NODES + "WITHIN 20",
        "PATTERN SEQ(A a, ANY e) WHERE [node] AND partition_contiguity WITHIN 20",
        "PATTERN SEQ(A a, !(B b), C c) WHERE [node] AND abs(b.v) > 0.5 WITHIN 30",
        "PATTERN SEQ(A a, C c) WHERE [node] AND c.v + 1 > 2 WITHIN 6 EVENTS",
        "PATTERN SEQ(A a, B b) WHERE [node, v] AND skip_till_any_match WITHIN 60",
    ],
)
def test_examples(events, text):
    same(wa.query(text), events, EVENTS)


@pytest.mark.parametrize("strategy", ["skip_till_next_match", "strict_contiguity"])
def test_without_key_one_task_matches_and_says_so(events, strategy):
    query = wa.query(f"PATTERN SEQ(A a, B+ b[]) WHERE b[i].v < 2 AND {strategy} WITHIN 12")
    with pytest.warns(OneTaskWarning, match="one task"):
        same(query, events, EVENTS)


def test_strict_contiguity_with_a_key_sees_all_events_as_one_stream(events):
    with pytest.warns(OneTaskWarning, match="strict_contiguity"):
        same(wa.query("PATTERN SEQ(B b, A a) WHERE [node] AND strict_contiguity WITHIN 50"), events, EVENTS)


INT = pa.int64()
SCHEMA = pa.schema({"id": INT, "type": pa.string(), "time": INT, "k": INT, "v": INT, "w": pa.float64(), "seed": INT})
CASES = 32  # queries, each over this many keys of random events of their own


def keyed_case(seed):
    """A random query with a key, over the events of many random cases, one key each."""
    limits = Limits(events=8, windows=("ticks", "inclusive", "events"))
    rng = random.Random(seed)
    strategies = [s for s in Strategy if s is not Strategy.STRICT]
    chosen = replace(limits, strategies=(strategies[seed % len(strategies)],))
    queries = (replace(random_case(seed + n, chosen).query, equivalence=("k",)) for n in count(step=10_000))
    query = next(q for q in queries if supported(q))
    rows = []
    for key in range(CASES):
        rows += [{**row, "k": key} for row in random_case(1000 * seed + key, limits).events]
    rng.shuffle(rows)
    rows = [{**row, "id": n, "seed": seed} for n, row in enumerate(rows)]
    rows += [{**row, "id": -n, "k": None} for n, row in enumerate(rows[:3], 1)]
    return wa.query(replace(query, name=f"case {seed}")), rows


def supported(query):
    try:
        wa.query(query).check(SCHEMA)
    except UnsupportedError:
        return False
    return True


@pytest.mark.parametrize("partitions", [1, 2, 5])
def test_random_queries(spark, partitions):
    """Queries of one job share nothing but the job: a second each would be the price of Spark, not of us."""
    cases = [keyed_case(partitions * 100 + n) for n in range(8)]
    spark.conf.set("spark.sql.shuffle.partitions", partitions)
    expected, frames, found = [], [], 0
    df = spark.createDataFrame(pa.Table.from_pylist([row for _, rows in cases for row in rows], SCHEMA)).repartition(3)
    for number, (query, rows) in enumerate(cases):
        table = pa.Table.from_pylist(rows, SCHEMA)
        run = query.run(table)
        found += run.matches.num_rows > 0
        expected += as_rows(run.matches)
        frames.append(query.match(df.where(df.seed == partitions * 100 + number)))
    assert found > len(cases) // 2
    assert comparable(collected(reduce(lambda x, y: x.union(y), frames))) == comparable(expected)


@pytest.mark.parametrize(
    "kind",
    [pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.date32()],
    ids=["instant", "without zone", "date"],
)
def test_times(spark, kind):
    start = dt.datetime(2024, 3, 10, 5, tzinfo=dt.UTC)  # clocks in New York change on that day
    step = dt.timedelta(days=1) if pa.types.is_date(kind) else dt.timedelta(minutes=7, microseconds=1)
    times = [start + n * step for n in range(40)]
    values = pa.array([t.replace(tzinfo=None) for t in times], pa.timestamp("us"))
    values = values.cast(kind) if pa.types.is_date(kind) else values.cast(pa.int64()).cast(kind)
    table = pa.table({"id": [f"e{n}" for n in range(40)], "type": ["AB"[n % 2] for n in range(40)], "at": values})
    table = table.append_column("k", pa.array([n % 3 for n in range(40)]))
    text = "PATTERN SEQ(A a, B b) WHERE [k] AND a.at > '2024-03-10 06:00:00' WITHIN 5 days"
    text += " RETURN a.at AS first, b.at - a.at AS took, b.id AS second"
    df = spark.createDataFrame(table)
    if kind == pa.timestamp("us"):  # Spark took it for the time in New York
        df = df.withColumn("at", df["at"].cast("timestamp_ntz"))
    same(wa.query(text, time="at"), df, table)


def test_odd_names_and_types(spark):
    table = pa.table(
        {
            "event.id": pa.array([1, 2, 3, 4], pa.int32()),
            "Kind`s": ["A", "B", "A", "B"],
            "t": pa.array([1, 2, 3, 4], pa.int16()),
            "k": pa.array([True, True, False, False]),
            "tags": [["x"], [], None, ["y"]],
        }
    )
    query = wa.query("PATTERN SEQ(A a, B b) WHERE [k] WITHIN 10", id="event.id", type="Kind`s", time="t")
    same(query, spark.createDataFrame(table), table)


def test_limit(events):
    query = wa.query(NODES + "AND skip_till_any_match WITHIN 20")
    limited = wa.query(NODES + "AND skip_till_any_match WITHIN 20 LIMIT 5")
    found = comparable(collected(limited.match(events)))
    assert len(found) == 5
    assert set(found) <= set(comparable(as_rows(query.match(EVENTS))))


def test_matching_is_a_transform_and_lazy(spark, events):
    query = wa.query(NODES + "WITHIN 20")
    broken = events.selectExpr("id", "node", "v", "type", "IF(id < 0, 0, raise_error('read')) AS time")
    assert broken.transform(query.match).columns == [
        "match_id", "pattern", "node", "start", "end", "confidence", "events",
    ]  # fmt: skip
    assert events.transform(query.match).where("start > 100").count() > 0


def test_bad_rows(spark):
    rows = [
        {"id": 1, "type": "A", "time": None, "k": 1, "v": 1},
        {"id": 2, "type": "A", "time": 2, "k": None, "v": 1},
        {"id": 3, "type": "X", "time": 3, "k": None, "v": 1},
        {"id": 4, "type": "A", "time": 4, "k": None, "v": 0},
        {"id": 5, "type": "A", "time": 5, "k": 1, "v": 1},
        {"id": 6, "type": "B", "time": 6, "k": 1, "v": 1},
        {"id": 7, "type": "B", "time": 2**63 - 1, "k": 1, "v": 1},
        {"id": 8, "type": "B", "time": -(2**62), "k": 1, "v": 1},
    ]
    df = spark.createDataFrame(rows, "id int, type string, time long, k int, v int")
    for condition in ("a.v > 0", "abs(a.v) > 0"):  # decided in Spark, decided in Python
        query = wa.query(f"PATTERN SEQ(A a, B b) WHERE [k] AND {condition} WITHIN 10")
        expected = {(row["id"], row["reason"]) for row in query.bad_rows(rows)}
        assert expected == {
            (1, "null time"),
            (2, "null key"),
            (7, "time out of range"),
            (8, "time out of range"),
        }
        assert {(row.id, row.reason) for row in query.bad_rows(df).collect()} == expected
        assert query.match(df).count() == 1


def test_explain_names_what_happens_where(events):
    text = wa.query("PATTERN SEQ(A a, B b) WHERE [node] AND a.v > 1 AND sqrt(b.v) > 1 WITHIN 10").explain(events)
    for part in (
        "a: type = A, a.v > 1.0",
        "b: type = B, [in Python: sqrt(b.v) > 1.0: Spark's sqrt may differ]",
        "columns to Python: id, time, node, v, bits",
        "shuffle by node into",
        "key_report",
    ):
        assert part in text


def test_key_report_counts_relevant_events(events):
    report = key_report(wa.query(NODES + "WITHIN 10"), events).collect()
    assert [row.events for row in report] == sorted((row.events for row in report), reverse=True)
    assert sum(row.events for row in report) < 600


def test_what_does_not_fit_is_said_while_planning(spark, events):
    query = wa.query(NODES + "WITHIN 10")
    with pytest.raises(SchemaError, match="identifies"):
        query.match(events.drop("id"))
    with pytest.raises(SchemaError, match="no column 'time'"):
        query.check(events.drop("time"))
    with pytest.raises(UnsupportedError, match="streaming"):
        query.match(spark.readStream.format("rate").load())


def test_registered_aggregates_travel(events):
    wa.aggregate(
        "spark_spread",
        init=(1e300, -1e300),
        step=lambda s, v: (min(s[0], v), max(s[1], v)),
        final=lambda s: s[1] - s[0],
    )
    text = "PATTERN SEQ(A a, B+ b[], C c) WHERE [node] AND spark_spread(b[].v) >= 0.5 WITHIN 60"
    same(wa.query(text + " RETURN spark_spread(b[].v) AS spread"), events, EVENTS)


@pytest.mark.parametrize("key", ["[node] AND ", ""], ids=["key", "no key"])
def test_totals(events, key):
    text = f"PATTERN SEQ(A a, B+ b[]) WHERE {key}skip_till_any_match WITHIN 9 "
    text += "RETURN TOTAL count(*) AS n, max(b[].v) AS high"
    query = wa.query(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OneTaskWarning)
        same(query, events, EVENTS)
        nothing = collected(query.match(events.where("id < 0")))
    assert nothing == ([] if key else [{"pattern": "match", "n": 0, "high": None}])


def test_collapsed(events):
    same(wa.query(NODES + "AND skip_till_any_match WITHIN 9 RETURN COLLAPSED"), events, EVENTS)
