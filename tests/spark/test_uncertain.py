"""Matches over uncertain time on Spark: for every number of partitions those of one process, confidences and all."""

import random
from dataclasses import replace
from functools import reduce
from itertools import count

import pyarrow as pa
import pytest

import whenabouts as wa
from tests.spark.frames import as_rows, collected, comparable
from tests.uncertain.engines import plan_for
from tests.uncertain.random_cases import PROFILES, random_uncertain_case, redrawn

pytestmark = pytest.mark.spark

KEYS = 10
KINDS = ("next", "any closures", "negation", "next closures", "nested")
BAD = [
    {"lower": None},
    {"upper": None, "late": None},
    {"k": None},
    {"lower": 9, "upper": 8, "late": -1},
    {"pmf": [0.5, 0.6], "late": None},
]
INT = pa.int64()
SCHEMA = pa.schema(
    {
        **dict.fromkeys(("id", "k", "v", "case", "lower", "upper", "time", "early", "late"), INT),
        "type": pa.string(),
        "pmf": pa.list_(pa.float64()),
    }
)
FORMS = {
    "bounds": {"time": ("lower", "upper")},
    "lists": {"time": ("lower", "upper"), "pmf": "pmf"},
    "errors": {"error": ("early", "late")},
}


def keyed_case(seed, kind, form):
    """A random query with a key, and events of its own for each of several keys; some rows are bad."""
    limits = replace(PROFILES[kind], ordered=True, worlds=2_000)
    cases = (replace(random_uncertain_case(n, limits), keyed=True) for n in count(1000 * seed))
    case = next(c for c in cases if plan_for(c.bound) is not None and table_has_matches(c, limits, form))
    rng = random.Random(seed)
    rows = [{**row, "k": key} for key in range(KEYS) for row in redrawn(case, key, limits).events]
    rows += [{**rng.choice(rows), **fault} for fault in BAD]
    rng.shuffle(rows)
    return wa.query(case.text, name=f"case {seed}", **FORMS[form]), [
        complete(row, seed, number) for number, row in enumerate(rows)
    ]


def table_has_matches(case, limits, form):
    """Half of the keys or more."""
    rows = [{**row, "k": key} for key in range(KEYS) for row in redrawn(case, key, limits).events]
    table = pa.Table.from_pylist([complete(row, 0, number) for number, row in enumerate(rows)], SCHEMA)
    return wa.query(case.text, **FORMS[form]).match(table).num_rows >= KEYS // 2


def complete(row, seed, number):
    """All columns of a row: masses spelt out, and the same bounds as a time with an error to either side."""
    lower, upper = row["lower"], row["upper"]
    if lower is None or upper is None:
        return {**row, "id": number, "case": seed, "time": lower, "early": 0, "late": row.get("late")}
    width = max(upper - lower + 1, 1)
    time = lower + number % width
    masses = row["pmf"] or [1 / width] * width
    return {
        "time": time, "early": time - lower, "late": upper - time, **row, "pmf": masses, "id": number, "case": seed
    }  # fmt: skip


@pytest.fixture(scope="module")
def cases():
    """By number: a query, its rows, and the outcome in one process; every kind, in one of the forms."""
    found = {}
    for number, kind in enumerate(KINDS):
        query, rows = keyed_case(number, kind, list(FORMS)[number % len(FORMS)])
        found[number] = query, rows, query.run(pa.Table.from_pylist(rows, SCHEMA))
    assert all(min(run.matches.column("confidence").to_pylist()) < 1 for _, _, run in found.values())
    return found


@pytest.fixture(scope="module")
def df(spark, cases):
    rows = [row for _, rows, _ in cases.values() for row in rows]
    return spark.createDataFrame(pa.Table.from_pylist(rows, SCHEMA)).repartition(3).cache()


@pytest.mark.parametrize("partitions", [1, 2, 5, 16])
def test_random_queries(spark, cases, df, partitions):
    """All queries in one job, each over rows that come in no order."""
    spark.conf.set("spark.sql.shuffle.partitions", partitions)
    spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    frames = [query.match(df.where(df.case == number)) for number, (query, _, _) in cases.items()]
    found = collected(reduce(lambda x, y: x.union(y), frames))
    assert comparable(found) == comparable([row for _, _, run in cases.values() for row in as_rows(run.matches)])


def test_bad_rows(cases, df):
    frames = [query.bad_rows(df.where(df.case == number)) for number, (query, _, _) in cases.items()]
    expected = [row for _, _, run in cases.values() for row in as_rows(run.bad_rows)]
    assert len({row["reason"] for row in expected}) > 3
    assert comparable(collected(reduce(lambda x, y: x.union(y), frames))) == comparable(expected)
