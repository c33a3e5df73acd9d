"""match_pattern in SQL gives what query.match gives."""

import ctypes
import datetime as dt

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException

import whenabouts as wa
from tests.spark.frames import as_rows, collected, comparable
from whenabouts.language import aggregates
from whenabouts.spark import register

pytestmark = pytest.mark.spark

EVENTS = pa.table(
    {
        "id": pa.array(range(90)),
        "kind": ["ABBC"[i % 4] for i in range(90)],
        "at": pa.array([dt.datetime(2024, 3, 10, 5, i, tzinfo=dt.UTC) for i in range(60)] * 2)[:90],
        "node": [None if i % 20 == 0 else i % 7 for i in range(90)],
        "v": [float("nan") if i % 9 == 0 else i / 2 for i in range(90)],
    }
)
TEXT = "PATTERN SEQ(A a, B+ b[], C c) WHERE [node] AND b[i].v >= 3.5 AND skip_till_any_match WITHIN 40 minutes"
ROLES = "type => ''kind'', time => ''at''".replace("''", "'")


@pytest.fixture(scope="module")
def events(spark):
    register(spark)
    spark.createDataFrame(EVENTS).repartition(3).createOrReplaceTempView("events_in_sql")
    return "TABLE(events_in_sql)"


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        TEXT + " RETURN a.at AS first, b[].v, c.at - a.at AS took",
        TEXT.replace("[node] AND", "").replace("40", "8"),
    ],
    ids=["key", "return", "no key"],
)
def test_same_rows_as_match(spark, events, text):
    local = as_rows(wa.query(text, type="kind", time="at").run(EVENTS).matches)
    assert local
    answer = spark.sql(f"SELECT * FROM match_pattern('{text}', {events}, {ROLES})")  # noqa: S608 - a test
    assert comparable(collected(answer)) == comparable(local)


def test_uncertain_time(spark, events):
    """The columns of the intervals are named one by one; everything else is as for wa.query."""
    text = TEXT.replace("B+ b[]", "B b").replace("b[i]", "b") + " CONFIDENCE > 0.2"
    local = as_rows(wa.query(text, type="kind", time="at", error="90 s", granularity="1 min").run(EVENTS).matches)
    assert local
    options = "type => 'kind', time => 'at', error => '90 s', granularity => '1 min', evaluation => 'any_state'"
    answer = spark.sql(f"SELECT * FROM match_pattern('{text}', {events}, {options})")  # noqa: S608 - a test
    assert comparable(collected(answer)) == comparable(local)
    with pytest.raises(AnalysisException, match="one end of the intervals is missing"):
        spark.sql(f"SELECT * FROM match_pattern('{text}', {events}, type => 'kind', lower => 'at')")  # noqa: S608


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (f"'{TEXT}', {{}}", "no column 'time'"),
        ("'PATTERN SEQ(A a, B b) WERE x', {}, " + ROLES, "did you mean WHERE"),
        (f"'{TEXT}', {{}}, {ROLES}, color => 'red'", "no option 'color'"),
    ],
)
def test_mistakes_are_explained_while_planning(spark, events, call, message):
    with pytest.raises(AnalysisException, match=message):
        spark.sql(f"SELECT * FROM match_pattern({call.format(events)})")  # noqa: S608 - a test


def test_an_aggregate_that_cannot_travel_is_left_out(spark, events):
    where = ctypes.CDLL(None)["abs"]
    where.argtypes, where.restype = [ctypes.c_int], ctypes.c_int
    aggregates.aggregate(
        "in_c", init=(0.0,), step=lambda state, _: (state[0] + where(1),), final=lambda state: state[0]
    )
    try:
        with pytest.warns(UserWarning, match="does without the aggregate in_c"):
            register(spark)
    finally:
        del aggregates._REGISTERED["in_c"]
    assert spark.sql(f"SELECT * FROM match_pattern('{TEXT}', {events}, {ROLES})").count()  # noqa: S608 - a test
