"""Uncertain times on Spark: the same bad rows for the same reasons as in one process, and TOP over all partitions."""

import datetime as dt

import pyarrow as pa
import pytest

import whenabouts as wa
from tests.spark.frames import as_rows, collected, comparable
from whenabouts.spark.batch import plan_on
from whenabouts.spark.times import FAR

pytestmark = pytest.mark.spark

EDGES = [None, 0, 1, 5, -3, FAR - 1, FAR, -FAR - 1, 2**62 - 1, 2**62, 2**63 - 1, -(2**63)]
PATTERN = "PATTERN SEQ(A a, B b) WHERE [k] AND {} WITHIN 10"
KNOWN = wa.ErrorTable("source", {"gps": 1})
SOURCES = wa.ErrorTable("source", {"gps": 1, "far": FAR}, default=2)


def table(**columns):
    """Rows of several types and keys, some of them NULL."""
    n = len(next(iter(columns.values())))
    return pa.table(
        {
            "id": list(range(n)),
            "type": [("A", "B", "X")[i % 3] for i in range(n)],
            "k": pa.array([None if i % 5 == 0 else i % 2 for i in range(n)], pa.int64()),
            "v": [i % 4 for i in range(n)],
            **columns,
        }
    )


PAIRS = [(a, b) for a in EDGES for b in EDGES]
FIRST, SECOND = (pa.array([p[i] for p in PAIRS], pa.int64()) for i in (0, 1))
MOMENTS = pa.array([None, *(dt.datetime(2024, 1, d) for d in (1, 2, 3))], pa.timestamp("us", "UTC")).take(
    pa.array([i % 4 for i in range(12)])
)
LATER = MOMENTS.take(pa.array([i % 3 for i in range(12)]))
DURATIONS = pa.array([None, 0, 5, -1, 2**62, 10**18] * 2, pa.int64()).cast(pa.duration("us"))
LISTS = [
    [1.0],
    [0.5, 0.5],
    [0.5, 0.6],
    [-1.0, 2.0],
    [float("nan")],
    [None],
    [],
    None,
    [0.25] * 4,
    [1.0, 0.0, 0.0],
    [1.0],
    [2.0],
]
CASES = {
    "two columns": (table(low=FIRST, high=SECOND), {"time": ("low", "high")}),
    "an error": (table(time=FIRST), {"error": 7}),
    "a large error": (table(time=FIRST), {"error": (3, FAR)}),
    "error columns": (table(time=FIRST, off=SECOND), {"error": "off"}),
    "a narrow column": (table(time=FIRST, off=pa.array([None, -1, 2] * 48, pa.int32())), {"error": ("off", 3)}),
    "sources": (table(time=FIRST, source=["gps", "far", None] * 48), {"error": SOURCES}),
    "known sources": (table(time=FIRST, source=["gps", "x", None] * 48), {"error": KNOWN}),
    "timestamps": (table(low=MOMENTS, high=LATER), {"time": ("low", "high"), "granularity": "1 s"}),
    "durations": (table(time=MOMENTS, off=DURATIONS), {"error": "off"}),
    "lists": (
        table(low=[0] * 12, high=pa.array([3] * 11 + [None], pa.int64()), p=pa.array(LISTS, pa.list_(pa.float64()))),
        {"time": ("low", "high"), "pmf": "p"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_bad_rows_are_those_of_one_process(spark, name):
    events, options = CASES[name]
    df = spark.createDataFrame(events)
    for condition in ("a.v > 0", "abs(a.v) > 0"):  # decided in Spark, decided in Python
        query = wa.query(PATTERN.format(condition), **options)
        expected = comparable([{"id": r["id"], "reason": r["reason"]} for r in as_rows(query.bad_rows(events))])
        assert len(expected) > 1
        found = query.bad_rows(df)
        assert found.columns == [*events.column_names, "reason"]
        assert comparable(collected(found.select("id", "reason"))) == expected


def test_all_columns_a_time_is_read_from_are_shipped(spark):
    for events, options in CASES.values():
        query = wa.query(PATTERN.format("a.v > 0"), **options)
        planned = plan_on(query, spark.createDataFrame(events).schema)
        assert set(query.options.roles.uncertainty_columns) <= set(planned.shipped)
        names = query.match(spark.createDataFrame(events)).columns
        assert names[-4:] == ["confidence_kind", "confidence_error", "ranges", "final_at"]


@pytest.mark.parametrize("partitions", [1, 7])
def test_top_is_the_same_for_every_number_of_partitions(spark, partitions):
    events = pa.table(
        {"id": range(60), "type": ["A", "B"] * 30, "time": range(60), "k": [i // 2 % 3 for i in range(60)]}
    )
    query = wa.query("PATTERN SEQ(A a, B b) WHERE [k] WITHIN 9 CONFIDENCE >= 1 TOP 5 BY CONFIDENCE")
    expected = as_rows(query.match(events))
    assert len(expected) == 5
    assert [row["match_id"] for row in expected] == sorted(row["match_id"] for row in expected)
    assert collected(query.match(spark.createDataFrame(events).repartition(partitions))) == expected


def test_unordered_closures_do_not_depend_on_the_order_of_rows(spark):
    """Many first instants are equal, so that only the ids say in which order a group is listed."""
    count = 60
    events = pa.table(
        {
            "id": range(count),
            "type": [("A", "B", "B", "C")[i % 4] for i in range(count)],
            "k": [i // 4 % 5 for i in range(count)],
            "v": [i % 3 for i in range(count)],
            "lower": [i // 20 * 9 + (0, 1, 1, 3)[i % 4] for i in range(count)],
            "upper": [i // 20 * 9 + (1, 2, 4, 4)[i % 4] for i in range(count)],
        }
    )
    shuffled = events.take(pa.array([(37 * i + 5) % count for i in range(count)]))
    for strategy in ("skip_till_any_match", "skip_till_next_match"):
        text = (
            f"PATTERN SEQ(A a, B+ b[], C c) WHERE [k] AND {strategy} WITHIN 8 CLOSURE set RETURN b[].v, sum(b[].v) AS s"
        )
        query = wa.query(text, time=("lower", "upper"))
        expected = comparable(as_rows(query.match(events)))
        assert len(expected) >= 15
        assert any("('b', [1, 2])" in row for row in expected)
        assert comparable(as_rows(query.match(shuffled))) == expected
        assert comparable(collected(query.match(spark.createDataFrame(shuffled).repartition(3)))) == expected
