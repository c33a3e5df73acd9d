"""Computed values: the unit and zone of what they come from, whole numbers beyond 2**53, keys that are equal in SQL."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import whenabouts as wa
from whenabouts.errors import WhenaboutsError
from whenabouts.language import aggregates

UNITS = pa.table(
    {
        "type": ["A", "A", "B"],
        "time": pa.array([1, 2, 3], pa.timestamp("us", "Europe/Berlin")),
        "took": pa.array([1000, 2000, 3000], pa.duration("ms")),
        "when": pa.array([1704067200, 1704100000, 1704240000], pa.timestamp("s")),
        "day": pa.array([1, 2, 3], pa.date32()),
    }
)
BIG = 2**53 + 1
PAIR = "PATTERN SEQ(A a, B b) "


def pairs(**columns):
    """An A and a B with these columns."""
    return pa.table({"type": ["A", "B"], "time": [1, 2], **columns})


def returned(text, table):
    """The RETURN items of the first match, by the A at time 1."""
    row = wa.query(text).match(table)
    own = ("match_id", "pattern", "start", "end", "confidence", "events")
    return row.select([n for n in row.column_names if n not in own]).slice(0, 1)


def test_computed_durations_and_times_count_what_their_columns_count():
    found = returned(
        "PATTERN SEQ(A+ a[], B b) RETURN max(a[].took) AS m, sum(a[].took) AS s, b.took * 2 AS d, "
        "b.took - a[1].took AS e, max(a[].when) AS w, b.when - a[1].when AS x, b.took + 500 ms AS p, "
        "max(a[].day) AS day, hour(max(a[].when)) AS h",
        UNITS,
    )
    seconds = dt.timedelta(seconds=1)
    assert found.to_pylist() == [
        {
            "m": 2 * seconds,
            "s": 3 * seconds,
            "d": 6 * seconds,
            "e": 2 * seconds,
            "w": dt.datetime(2024, 1, 1, 9, 6, 40),
            "x": 172800 * seconds,
            "p": 3.5 * seconds,
            "day": dt.datetime(1970, 1, 3),
            "h": 9,
        }
    ]
    assert found.schema.field("x").type == pa.duration("s")


def test_totals_count_what_their_columns_count():
    found = returned("PATTERN SEQ(A a, B b) RETURN TOTAL sum(b.took) AS s, max(b.when) AS w, min(a.time) AS t", UNITS)
    assert found.schema.field("s").type == pa.duration("ms")
    assert found.schema.field("t").type == UNITS.schema.field("time").type
    (row,) = found.to_pylist()
    assert row["s"] == dt.timedelta(seconds=6)
    assert row["w"] == UNITS["when"][2].as_py()


def test_computed_times_keep_the_zone_of_their_column():
    found = returned("PATTERN SEQ(A+ a[], B b) RETURN b.time + 1 h AS later, max(a[].time) AS last", UNITS)
    assert set(found.schema.types) == {UNITS.schema.field("time").type}
    assert found.column("later").cast(pa.int64()).to_pylist() == [3 + 3_600_000_000]


@pytest.mark.parametrize(
    ("condition", "true"),
    [
        ("hour(a.time + 1 hour) = 1", True),
        ("minute(a.when + 90 s) = 1", True),
        ("hour(a.when + 90 minutes) = 1 AND a.when + 1 s IS NOT NULL", True),
        ("hour(a.when - 1 s) = 22", False),
    ],
)
def test_calendar_functions_of_sums(condition, true):
    assert (wa.query(f"PATTERN SEQ(A a, A c) WHERE {condition}").match(UNITS).num_rows == 1) is true


@pytest.mark.parametrize(
    "condition",
    [
        "a.v > 0.5",
        "a.v * 1.5 > 1",
        "a.v / 2 > 1",
        "a.v % 2.5 >= 0",
        "a.v IN (9007199254740992, 2.5)",
        "NOT a.v IN (1, 2.5)",
        "sqrt(a.v) > 2",
        "coalesce(a.v, 0.5) > 2",
        "greatest(a.v, 0.5, a.f) > 2 AND least(a.v, 0.5) = 0.5",
        "nullif(a.v, 0.5) > 1 AND nullif(a.f, a.v) = 0.25",
    ],
)
def test_integers_beyond_2_to_the_53_meet_floats(condition):
    table = pairs(v=pa.array([BIG, 1]), f=pa.array([0.25, 0.25]))
    assert wa.query(PAIR + "WHERE " + condition).match(table).num_rows == 1


def test_results_of_large_integers_and_floats():
    found = returned(PAIR + "RETURN a.v * 1.5 AS m, a.v / 2 AS h, coalesce(a.v, 0.5) AS c", pairs(v=pa.array([BIG, 1])))
    assert found.to_pylist() == [{"m": float(BIG) * 1.5, "h": float(BIG) / 2, "c": float(BIG)}]


@pytest.mark.parametrize(
    ("keys", "equal"),
    [
        (pa.array([Decimal(2**53), Decimal(2**53 + 1)], pa.decimal128(20, 0)), False),
        (pa.array([Decimal(2**53), Decimal(2**53)], pa.decimal128(20, 0)), True),
        (pa.array([Decimal(1), Decimal(2)], pa.decimal32(5, 0)), False),
        (pa.array([0.0, -0.0]), True),
        (pa.array([0.0, -0.0], pa.float32()), True),
        (pa.array([float("nan"), float("nan")]), False),
        (pa.array([2**64 - 1, 2**64 - 1], pa.uint64()), True),
        (pa.array([2**64 - 1, 2**64 - 2], pa.uint64()), False),
        (pa.array([2**64 - 1, 0], pa.uint64()), False),
        (pa.array(["x", "x"]).dictionary_encode(), True),
        (pa.array([dt.date(2024, 1, 1), dt.date(2024, 1, 2)]), False),
        (pa.array([1, 1], pa.timestamp("s")), True),
        (pa.array([True, False]), False),
        (pa.array([-100, 100], pa.int8()), False),
        (pa.array([200, 200], pa.uint8()), True),
    ],
)
@pytest.mark.parametrize("condition", ["[k]", "a.k = b.k"])
@pytest.mark.filterwarnings("ignore::whenabouts.engine.BadRowsWarning")
def test_keys_are_equal_where_sql_says_so(keys, equal, condition):
    assert wa.query(f"{PAIR} WHERE {condition}").match(pairs(k=keys)).num_rows == int(equal)


def test_a_column_with_the_name_of_a_result_column_can_still_be_compared():
    """It cannot be a key, which is a column of the result."""
    table = pairs(start=pa.array([7, 7]))
    rows = wa.query(PAIR + "WHERE a.start = b.start").match(table)
    assert rows.column("start").to_pylist() == [1]
    with pytest.raises(WhenaboutsError, match="the key column 'start'"):
        wa.query(PAIR + "WHERE [start]").check(table)
    with pytest.raises(WhenaboutsError, match="already has the key column 'k'"):
        wa.query(PAIR + "WHERE a.k = b.k RETURN a.type AS k").check(pairs(k=[1, 1]))


def test_unsigned_integers_beyond_63_bits_are_refused_by_name():
    table = pairs(v=pa.array([2**64 - 1, 2**64 - 1], pa.uint64()))
    with pytest.raises(WhenaboutsError, match="'v' holds 18446744073709551615"):
        wa.query(f"{PAIR} WHERE a.v > 1").match(table)


@pytest.mark.parametrize("kind", [int, str])
def test_collapsed_rows_do_not_depend_on_the_order_of_rows(kind):
    events = [{"id": kind(i), "type": t, "time": x} for i, t, x in [(1, "A", 1), (2, "B", 2), (3, "C", 3), (4, "C", 3)]]
    query = wa.query("PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_any_match RETURN COLLAPSED")
    (row,) = query.match(events)
    assert row["events"]["c"] == [kind(3), kind(4)]
    for seed in range(4):
        mixed = [events[i] for i in np.random.default_rng(seed).permutation(len(events))]
        assert query.match(mixed) == [row]


def test_an_empty_list_has_no_matches():
    run = wa.query(PAIR + "WHERE a.v > 1 RETURN a.v").run([])
    assert (run.matches, run.bad_rows, run.counters["events"]) == ([], [], 0)
    query = wa.query(PAIR + "WHERE [k] RETURN TOTAL count(*)")
    assert (query.match([]), query.bad_rows([])) == ([], [])
    with pytest.raises(WhenaboutsError, match="an empty list has no columns"):
        wa.query(PAIR + "RETURN TOTAL count(*)").match([])


def test_a_type_column_of_nulls_names_no_type():
    table = pa.table({"type": pa.nulls(2), "time": [1, 2]})
    assert wa.query(PAIR).match(table).num_rows == 0
    assert wa.query("PATTERN SEQ(ANY a, ANY b)").match(table).num_rows == 1


def test_two_columns_of_one_name():
    table = pa.Table.from_arrays([pa.array(["A"]), pa.array([1]), pa.array([2])], ["type", "time", "time"])
    with pytest.raises(WhenaboutsError, match="two columns named 'time'"):
        wa.query(PAIR).match(table)
    with pytest.raises(WhenaboutsError, match="several columns have one name: 'time' 2 times"):
        wa.query(PAIR).match(pd.DataFrame([["A", 1, 1]], columns=["type", "time", "time"]))


@pytest.mark.parametrize(
    ("step", "final", "sentence"),
    [
        (lambda s, v: (str(v).upper(), s[0]), lambda s: s[0], "step of the aggregate odd returns"),
        (lambda s, v: (s[0] + v.missing, s[1]), lambda s: s[0], "step of the aggregate odd cannot be compiled"),
        (lambda s, v: (s[0], v, v), lambda s: s[0], "step of the aggregate odd returns"),
        (lambda s, v: (s[0], v), lambda s: s, "final of the aggregate odd returns"),
        (lambda s, v: (s[0], v), lambda s: s[7], "final of the aggregate odd cannot be compiled"),
    ],
)
def test_aggregates_numba_cannot_compile(step, final, sentence):
    try:
        wa.aggregate("odd", init=(0.0, 0.0), step=step, final=final)
        for text in ("RETURN odd(b[].time) AS o", "WHERE odd(b[].time) > 1"):
            with pytest.raises(WhenaboutsError, match=sentence):
                wa.query("PATTERN SEQ(A a, B+ b[]) " + text).check(pairs())
        wa.query(PAIR).check(pairs())  # a query without it is none the worse
    finally:
        aggregates._REGISTERED.pop("odd", None)
