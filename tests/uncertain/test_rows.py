"""Times in match rows: every clock can hold and show them, also that a match is never final."""

import datetime as dt

import pyarrow as pa
import pytest

import whenabouts as wa

CLOCKS = [
    pa.int16(),
    pa.uint32(),
    pa.int64(),
    pa.date32(),
    pa.timestamp("s"),
    pa.timestamp("us", "Pacific/Auckland"),
    pa.timestamp("ns"),
]


@pytest.mark.parametrize("kind", CLOCKS, ids=str)
def test_never_final_is_a_time_that_can_be_shown(kind):
    if pa.types.is_date(kind):
        times = pa.array([dt.date(2024, 1, 1), dt.date(2024, 2, 1)], kind)
        error = "1 d"
    else:
        times = pa.array([10, 20], pa.int64()).cast(kind)
        error = 1
    table = pa.table({"id": [1, 2], "type": ["A", "B"], "time": times})
    query = wa.query("PATTERN SEQ(A a, B b, !(N n)) WHERE skip_till_any_match", error=error)
    (row,) = query.match(table).to_pylist()
    assert row["confidence"] == 1.0
    assert row["final_at"] > row["end"]
    if pa.types.is_integer(kind):
        assert row["final_at"] == min(2**62 - 1, {pa.int16(): 2**15 - 1, pa.uint32(): 2**32 - 1}.get(kind, 2**62))
    else:
        assert row["final_at"].year == (2262 if kind == pa.timestamp("ns") else 9999)


def test_rows_of_dicts_have_it_too():
    rows = [{"id": i, "type": kind, "time": dt.datetime(2024, 1, i)} for i, kind in ((1, "A"), (2, "B"))]
    (row,) = wa.query("PATTERN SEQ(A a, B b, !(N n)) WHERE skip_till_any_match", error="1 h").match(rows)
    assert row["final_at"] == dt.datetime(9999, 12, 31)


@pytest.mark.parametrize("shift", [0, -100])
def test_final_before_the_epoch(shift):
    events = [("A", 0, 1), ("B", 3, 5), ("B", 4, 6)]
    rows = [{"type": kind, "lower": shift + low, "upper": shift + high} for kind, low, high in events]
    found = wa.query("PATTERN SEQ(A a, B b) WITHIN 9", time=("lower", "upper"), id=None).match(rows)
    assert [row["final_at"] for row in found] == [shift + 5, shift + 5]
