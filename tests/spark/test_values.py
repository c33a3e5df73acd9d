"""Computed values, keys and totals on Spark: units, zones, large numbers and ties as in one process."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

import whenabouts as wa
from tests.spark.frames import as_rows, collected, comparable
from whenabouts.errors import QueryError

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore:one task")]

US = pa.timestamp("us", "UTC")
BIG = 2**53 + 1
EVENTS = pa.table(
    {
        "id": ["4", "3", "1", "2"],
        "type": ["C", "C", "A", "B"],
        "time": pa.array([3_600_000_000, 3_600_000_000, 1, 2], US),
        "took": pa.array([4, 3, 1000, 2000], pa.duration("us")),
        "day": pa.array([4, 3, 1, 2], pa.date32()),
        "v": [1, 1, BIG, BIG + 2],
        "zero": [0.0, -0.0, -0.0, 0.0],
        "digits": pa.array([Decimal(BIG - 1), Decimal(BIG), Decimal(BIG), Decimal(BIG)], pa.decimal128(20, 0)),
        "start": [1, 1, 1, 1],
    }
)


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(A+ a[], B b) RETURN max(a[].took) AS m, b.took * 2 AS d, max(a[].day) AS day, b.day AS own",
        "PATTERN SEQ(A+ a[], B b) RETURN max(a[].time) AS t, b.time + 1 h AS u, b.time - a[1].time AS e",
        "PATTERN SEQ(A a, B b) RETURN TOTAL sum(b.took) AS s, max(b.day) AS d, max(b.time) AS t",
        "PATTERN SEQ(A a, C c) WHERE hour(a.time + 1 hour) = 1 RETURN minute(c.time + 90 s) AS m",
        "PATTERN SEQ(A a, B b) WHERE a.v > 0.5 AND b.v % 2.5 >= 0 AND coalesce(a.v, 0.5) > 2 RETURN a.v * 1.5 AS p",
        "PATTERN SEQ(A a, B b) WHERE a.v IN (1, 2.5, 9007199254740992)",
        "PATTERN SEQ(A a, B b, C c) WHERE [zero] AND skip_till_any_match",
        "PATTERN SEQ(A a, B b, C c) WHERE [digits] AND skip_till_any_match",
        "PATTERN SEQ(A a, B b) WHERE a.start = b.start",
        "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_any_match RETURN COLLAPSED",
    ],
)
def test_the_same_values(spark, text):
    query = wa.query(text)
    local = as_rows(query.match(EVENTS))
    assert local
    df = spark.createDataFrame(EVENTS).repartition(3)
    assert comparable(collected(query.match(df))) == comparable(local)


def test_types_of_computed_values(spark):
    text = "PATTERN SEQ(A+ a[], B b) RETURN max(a[].time) AS t, max(a[].took) AS d, max(a[].day) AS day"
    types = {f.name: f.dataType.simpleString() for f in wa.query(text).match(spark.createDataFrame(EVENTS)).schema}
    assert (types["t"], types["d"], types["day"]) == ("timestamp", "interval day to second", "timestamp_ntz")


def test_a_key_with_the_name_of_a_result_column(spark):
    with pytest.raises(QueryError, match="the key column 'start'"):
        wa.query("PATTERN SEQ(A a, B b) WHERE [start]").match(spark.createDataFrame(EVENTS))


def test_types_nobody_has(spark):
    events = pa.table({"id": [1, 2], "type": pa.nulls(2), "time": [1, 2], "day": [dt.date(2024, 1, 1)] * 2})
    assert wa.query("PATTERN SEQ(A a, B b)").match(spark.createDataFrame(events)).count() == 0
