"""The point-based engine against the event-based one: whole match rows, on cases too large for the possible worlds."""

from dataclasses import replace

import pyarrow as pa
import pytest

import whenabouts as wa
from tests.uncertain.engines import plan_for, table_of
from tests.uncertain.random_cases import PROFILES, random_uncertain_case
from whenabouts.engine import match_table
from whenabouts.kernels.run import Budget
from whenabouts.kernels.uncertain.run import Order

SEEDS = 30
LARGER = {"events": 10, "worlds": 10**9, "parts": 5}


def rows_of(plan, table, order):
    rows, _, _ = match_table(plan, table, Budget(), order=order)
    by_id = {row["match_id"]: row for row in rows.to_pylist()}
    assert len(by_id) == rows.num_rows
    return by_id


@pytest.mark.parametrize("profile", [p for p in PROFILES if p != "unordered"])
def test_both_engines_give_the_same_rows(profile):
    limits = replace(PROFILES[profile], **LARGER)
    compared = matched = 0
    for seed in range(1000, 1000 + SEEDS):
        case = random_uncertain_case(seed, limits)
        plan = plan_for(case.bound)
        if plan is None:
            continue
        table = table_of(case.events)
        events, points = (rows_of(plan, table, order) for order in (Order.QUERY, Order.POINTS))
        assert events.keys() == points.keys(), (seed, case.text)
        for found, other in ((events[i], points[i]) for i in events):
            assert found.pop("confidence") == pytest.approx(other.pop("confidence"), abs=1e-12), (seed, case.text)
            assert found == other, (seed, case.text)
        compared += 1
        matched += len(events)
    assert compared > 0.8 * SEEDS
    assert matched > SEEDS


def query(pattern, **options):
    return wa.query(pattern, time=("lower", "upper"), evaluation="points", **options)


def test_too_many_points_are_refused_with_a_way_out():
    rows = [
        {"id": 1, "type": "A", "lower": 0, "upper": 3_000_000},
        {"id": 2, "type": "B", "lower": 4_000_000, "upper": 4_000_000},
    ]
    with pytest.raises(wa.WhenaboutsError, match="have 3,000,002 instants") as error:
        query("PATTERN SEQ(A a, B b)").match(rows)
    assert 'evaluation="auto"' in str(error.value)
    assert "3,000,002 points" in query("PATTERN SEQ(A a, B b)").explain(rows)


@pytest.mark.parametrize("on_budget", ["fail", "drop"])
def test_too_many_point_matches_are_refused_even_if_starts_may_be_dropped(on_budget):
    rows = [{"id": n, "type": "A", "lower": 0, "upper": 9} for n in range(8)]
    asked = query("PATTERN A+ a[] WHERE skip_till_any_match WITHIN 10", max_matches=1000, on_budget=on_budget)
    with pytest.raises(wa.WhenaboutsError, match="point-based evaluation") as error:
        asked.match(rows)
    assert 'evaluation="auto"' in str(error.value)


@pytest.mark.parametrize("rows", [[], [{"id": 1, "type": "A", "lower": 0, "upper": 9}]], ids=["no events", "no match"])
def test_nothing_matches(rows):
    schema = pa.schema({"id": pa.int64(), "type": pa.string(), "lower": pa.int64(), "upper": pa.int64()})
    assert query("PATTERN SEQ(A a, B b)").match(pa.Table.from_pylist(rows, schema)).num_rows == 0
