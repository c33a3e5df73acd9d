"""The option `evaluation` on Spark: the tasks do what was asked, and the matches are those of one process."""

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

import whenabouts as wa
from tests.spark.frames import as_rows, collected

pytestmark = pytest.mark.spark

TEXT = "PATTERN SEQ(A a, B b) WHERE [k] AND skip_till_any_match WITHIN 10"
TIME = {"time": ("lower", "upper")}
EVENTS = pa.table(
    {
        "id": range(40),
        "type": ["A", "B"] * 20,
        "lower": range(40),
        "upper": [n + 1 + n % 3 for n in range(40)],
        "k": [n // 2 % 3 for n in range(40)],
    }
)


def by_id(rows):
    return {row["match_id"]: row for row in rows}


@pytest.mark.parametrize("evaluation", ["auto", "any_state", "points"])
def test_the_matches_are_those_of_one_process(spark, evaluation):
    query = wa.query(TEXT, **TIME, evaluation=evaluation)
    expected, found = by_id(as_rows(query.match(EVENTS))), by_id(collected(query.match(spark.createDataFrame(EVENTS))))
    assert len(expected) > 20
    assert found == expected


def test_tasks_evaluate_as_asked(spark):
    """Only point by point are two million ticks too many."""
    events = pa.table({"id": [1, 2], "type": ["A", "B"], "lower": [0, 9], "upper": [5_000_000, 9], "k": [1, 1]})
    df = spark.createDataFrame(events)
    assert wa.query(TEXT, **TIME).match(df).count() == 1
    query = wa.query(TEXT, **TIME, evaluation="points")
    assert "point-based, as asked" in query.explain(df)
    with pytest.raises(PySparkException, match="point-based evaluation takes"):
        query.match(df).collect()


def test_totals_without_a_list(spark):
    query = wa.query(f"{TEXT} RETURN TOTAL count(*) AS n, sum(b.id) AS s", **TIME)
    found = collected(query.match(spark.createDataFrame(EVENTS)))
    expected = as_rows(query.match(EVENTS))
    assert {row["k"]: row for row in found} == {row["k"]: row for row in expected}
    assert len(found) == 3
