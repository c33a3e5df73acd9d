"""Rows with uncertain times: each becomes what a slow reading says, or a bad row with one reason; none is lost."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import whenabouts as wa
from tests.events.random_times import TEXT, bounds, errors, of_columns, of_error, plan_of, planned, pmfs, table_of
from tests.timeline import literal_pmfs as literal
from whenabouts.errors import SchemaError
from whenabouts.events.times import FAULTS
from whenabouts.kernels.batch import prepare

INT, LIST = pa.int64(), pa.list_(pa.float64())
ticks = st.sampled_from([1, 1, 2, 7])


def check(table, expected, **options):
    """Every row is in the batch with its distribution, or bad for the reason expected."""
    plan = planned(table, **options)
    batch = prepare(plan.bound, plan.lowered.program, table)
    bad = {int(row): reason for reason, rows in batch.bad for row in rows}
    assert bad == {i: e for i, e in enumerate(expected) if isinstance(e, str) and e != "long"}
    assert sum(rows.size for _, rows in batch.bad) == len(bad)
    assert sorted([*bad, *batch.rows.tolist()]) == list(range(table.num_rows))
    assert batch.events.time.tolist() == batch.times.lower.tolist() == sorted(batch.times.lower.tolist())
    for e, row in enumerate(batch.rows.tolist()):
        check_event(batch.times, e, expected[row])
    for reason in bad.values():
        event(reason)
    return batch


def check_event(times, e, pmf):
    if isinstance(pmf, literal.Flat):
        assert (times.lower[e], times.upper[e]) == pmf
        assert times.mass[times.first[e] : times.first[e + 1]].tolist() == [1 / (pmf.upper - pmf.lower + 1)]
    elif pmf != "long":
        found = literal.of_segments(times, e)
        assert {t: float(m) for t, m in literal.support(pmf).items()} == pytest.approx(
            {t: m for t, m in found.items() if m > 0}, rel=1e-12
        )


@settings(deadline=None, max_examples=150)
@given(st.lists(st.fixed_dictionaries({"lower": bounds, "upper": bounds}), max_size=12), ticks)
def test_two_columns(rows, tick):
    table = table_of(rows, {"lower": INT, "upper": INT})
    check(table, [of_columns(r, tick) for r in rows], time=("lower", "upper"), granularity=str(tick))


@settings(deadline=None, max_examples=200)
@given(st.lists(st.fixed_dictionaries({"lower": bounds, "upper": bounds, "pmf": pmfs}), max_size=12), ticks)
def test_lists(rows, tick):
    table = table_of(rows, {"lower": INT, "upper": INT, "pmf": LIST})
    expected = [of_columns(r, tick) for r in rows]
    check(table, expected, time=("lower", "upper"), pmf="pmf", granularity=str(tick))


@settings(deadline=None, max_examples=150)
@given(st.lists(st.fixed_dictionaries({"time": bounds, "off": errors, "late": errors}), max_size=12), ticks)
def test_error_columns(rows, tick):
    table = table_of(rows, {"time": INT, "off": INT, "late": INT})
    granularity = str(tick)
    check(table, [of_error(r, tick, r["off"], r["off"]) for r in rows], error="off", granularity=granularity)
    check(table, [of_error(r, tick, 2, r["late"]) for r in rows], error=(2, "late"), granularity=granularity)
    check(table, [of_error(r, tick, 7, 7) for r in rows], error=7, granularity=granularity)


sources = st.none() | st.sampled_from(["gps", "clock", "sun"])


@settings(deadline=None, max_examples=100)
@given(st.lists(st.fixed_dictionaries({"time": bounds, "source": sources}), max_size=12), st.booleans())
def test_errors_by_source(rows, dictionary):
    known = {"gps": (1, 1), "clock": (7, 8)}
    kind = pa.dictionary(pa.int32(), pa.string()) if dictionary else pa.string()
    table = table_of(rows, {"time": INT, "source": kind})
    margins = {"gps": 1, "clock": (7, 8)}
    expected = [of_error(r, 1, *known.get(r["source"], (None, None))) for r in rows]
    check(table, expected, error=wa.ErrorTable("source", margins))
    expected = [of_error(r, 1, *known.get(r["source"], (0, 3))) for r in rows]
    check(table, expected, error=wa.ErrorTable("source", margins, default=(0, 3)))


@pytest.mark.parametrize("shape", ["triangular", "normal", ("normal", 2)])
def test_the_peak_of_a_shape_is_the_recorded_time(shape):
    table = table_of([{"time": 100}], {"time": INT})
    times = check_shape(table, shape, error=(2, 6))
    assert max(times, key=times.get) == 100
    assert (min(times), max(times)) == (98, 106)
    centred = check_shape(
        table_of([{"lower": 0, "upper": 8}], {"lower": INT, "upper": INT}), shape, time=("lower", "upper")
    )
    assert max(centred, key=centred.get) == 4


def check_shape(table, shape, **options):
    plan = planned(table, shape=shape, **options)
    times = literal.of_segments(prepare(plan.bound, plan.lowered.program, table).times, 0)
    assert sum(times.values()) == pytest.approx(1, abs=1e-12)
    return times


def test_timestamps_and_durations():
    """The clock counts ms, the error column us: both ends are rounded down to ms."""
    table = pa.table(
        {
            "id": [1, 2],
            "type": ["A", "A"],
            "ts": pa.array([10_000, 20_000], pa.timestamp("ms", "UTC")),
            "off": pa.array([1_500, None], pa.duration("us")),
        }
    )
    plan = planned(table, time="ts", error="off")
    batch = prepare(plan.bound, plan.lowered.program, table)
    assert (batch.times.lower.tolist(), batch.times.upper.tolist()) == ([9_998], [10_001])
    assert [(reason, rows.tolist()) for reason, rows in batch.bad] == [("null error", [1])]
    seconds = planned(table, time="ts", error=("7 s", "8 s"), granularity="1 s")
    times = prepare(seconds.bound, seconds.lowered.program, table).times
    assert list(zip(times.lower.tolist(), times.upper.tolist(), strict=True)) == [(3, 18), (13, 28)]


@pytest.mark.parametrize("kind", [pa.int32(), pa.uint64(), pa.date32(), pa.timestamp("ns"), pa.null()])
def test_types_of_time_columns(kind):
    values = [None, None] if kind == pa.null() else [3, None]
    table = pa.table({"type": ["A", "A"], "low": pa.array(values, kind), "high": pa.array(values, kind)})
    plan = planned(table, time=("low", "high"))
    batch = prepare(plan.bound, plan.lowered.program, table)
    assert batch.rows.size + sum(rows.size for _, rows in batch.bad) == 2


def test_unsigned_times_beyond_64_bits_are_out_of_range():
    table = pa.table({"type": ["A"], "low": pa.array([2**64 - 1], pa.uint64()), "high": pa.array([5], pa.uint64())})
    plan = planned(table, time=("low", "high"))
    assert prepare(plan.bound, plan.lowered.program, table).bad[0][0] == "time out of range"


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float64()), pa.large_list(pa.float64()), pa.list_(pa.float64(), 2), pa.list_(pa.int32())]
)
def test_types_of_pmf_columns(kind):
    lists = [[1, 0], None, [0, 1], [1, 1]]
    array = pa.chunked_array([pa.array(lists, kind).slice(0, 1), pa.array([[1, 1], *lists], kind).slice(2)])
    table = pa.table({"type": ["A"] * 4, "low": [0, 0, 2, 4], "high": [1, 1, 3, 5], "pmf": array})
    plan = planned(table, time=("low", "high"), pmf="pmf")
    batch = prepare(plan.bound, plan.lowered.program, table)
    assert (batch.times.lower.tolist(), batch.times.upper.tolist()) == ([0, 3], [0, 3])
    assert {r: rows.tolist() for r, rows in batch.bad} == {"null pmf": [1], "pmf does not sum to 1": [3]}


def test_bad_times_are_bad_whatever_the_type_of_the_event_and_keys_only_where_wanted():
    rows = [
        {"id": 1, "type": "A", "low": 1, "high": 2, "k": None},
        {"id": 2, "type": "X", "low": 1, "high": 2, "k": None},
        {"id": 3, "type": "X", "low": 2, "high": 1, "k": 1},
        {"id": 4, "type": "B", "low": None, "high": 1, "k": None},
        {"id": 5, "type": "B", "low": 1, "high": 1, "k": 5},
    ]
    query = wa.query("PATTERN SEQ(A a, B b) WHERE [k] WITHIN 10", time=("low", "high"))
    found = [(row["id"], row["reason"]) for row in query.bad_rows(rows)]
    assert sorted(found) == [(1, "null key"), (3, "lower > upper"), (4, "null bound")]


def test_the_order_of_keys_and_times_holds_for_distributions_too():
    rng = np.random.default_rng(1)
    lower = rng.integers(0, 50, 200)
    columns = {"low": lower, "high": lower + rng.integers(0, 9, 200), "k": rng.integers(0, 4, 200)}
    table = pa.table({"type": rng.choice(["A", "B"], 200).tolist(), **columns})
    query = wa.query("PATTERN SEQ(A a, B b) WHERE [k] WITHIN 10", time=("low", "high"), shape="triangular")
    plan = plan_of(query, table)
    batch = prepare(plan.bound, plan.lowered.program, table)
    assert batch.events.runs.size == 5
    for e, row in enumerate(batch.rows.tolist()):
        pmf = literal.triangular(int(columns["low"][row]), int(columns["high"][row]))
        assert literal.of_segments(batch.times, e) == pytest.approx({t: float(m) for t, m in pmf.items()}, rel=1e-12)


@pytest.mark.parametrize(
    ("columns", "options", "sentence"),
    [
        ({"low": [1]}, {"time": ("low", "high")}, "no column 'high' for the time"),
        ({"low": [1], "high": ["x"]}, {"time": ("low", "high")}, "'high' has type string"),
        ({"low": [1], "high": [0.5]}, {"time": ("low", "high")}, "'high' has type float"),
        ({"low": [1], "high": pa.array([1], pa.timestamp("s"))}, {"time": ("low", "high")}, "different units"),
        ({"low": [1], "high": [2]}, {"time": ("low", "high"), "pmf": "p"}, "no column 'p' for the pmf"),
        ({"low": [1], "high": [2], "p": [1.0]}, {"time": ("low", "high"), "pmf": "p"}, "'p' has type double"),
        ({"low": [1], "high": [2], "p": [["x"]]}, {"time": ("low", "high"), "pmf": "p"}, "'p' has type list"),
        (
            {"low": [1], "high": [2], "p": pa.array([[0.5]], pa.list_(pa.float32()))},
            {"time": ("low", "high"), "pmf": "p"},
            "too coarse",
        ),
        ({"time": [1]}, {"error": "off"}, "no column 'off' for the error"),
        ({"time": [1], "off": [0.5]}, {"error": "off"}, "'off' holds float values"),
        ({"time": [1], "s": [1]}, {"error": wa.ErrorTable("s", {"a": 1})}, "'s' holds int values, not strings"),
    ],
)
def test_what_does_not_fit_the_schema_is_said(columns, options, sentence):
    table = pa.table({"type": ["A"], **columns})
    with pytest.raises(SchemaError, match=sentence) as caught:
        wa.query(TEXT, **options).check(table)
    assert caught.value.hint


def test_reasons_are_distinct_sentences():
    assert len(set(FAULTS)) == len(FAULTS)
