"""RFID tracking: the pmf is that of missed readings, arrivals are drawn from it, and Query 5 finds what it defines."""

from collections import defaultdict
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from whenabouts.simulate.observed import signatures
from whenabouts.simulate.rfid import READERS, Reader, RfidConfig, simulate_rfid, tracking_query

SMALL = RfidConfig(tools=12, rounds=30, reader=READERS[2], hurried_probability=0.5, wrong_probability=0.3)


@pytest.fixture(scope="module")
def trace():
    return simulate_rfid(SMALL)


@pytest.fixture(scope="module")
def world(trace):
    return trace.observed.world.to_pylist()


def seconds(column):
    return column.to_numpy().astype("datetime64[s]").astype(np.int64)


def id_tuples(matches):
    return {tuple(ids[0] for _, ids in signature) for signature in signatures(matches)}


@pytest.mark.parametrize(("reader", "lost"), list(zip(READERS, (1e-10, 1.6e-10, 1.2e-10), strict=True)))
def test_the_settings_of_the_thesis_lose_next_to_nothing(reader, lost):
    assert reader.lost == pytest.approx(lost, rel=0.05)
    assert reader.pmf.size == reader.ticks
    assert reader.pmf.sum() == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("reader", [*READERS, Reader(0.5, 3), Reader(0.25, 1)])
def test_the_pmf_is_that_of_missed_readings(reader):
    rate = Fraction(reader.read_rate).limit_denominator(100)
    missed = [rate * (1 - rate) ** m for m in range(reader.ticks)]
    assert sum(missed) == 1 - (1 - rate) ** reader.ticks
    expected = [float(mass / sum(missed)) for mass in reversed(missed)]
    assert reader.pmf.tolist() == pytest.approx(expected)
    assert reader.pmf.argmax() == reader.ticks - 1


def test_the_seed_decides(trace):
    again, other = simulate_rfid(SMALL), simulate_rfid(replace(SMALL, seed=1))
    assert again.observed.events.equals(trace.observed.events)
    assert again.observed.happened.equals(trace.observed.happened)
    assert again.rounds.equals(trace.rounds)
    assert not other.observed.events.equals(trace.observed.events)


def test_events_are_listed_as_they_are_read(trace):
    events, reader = trace.observed.events, SMALL.reader
    assert events.num_rows == SMALL.tools * SMALL.rounds * SMALL.locations
    assert events["id"].to_pylist() == list(range(1, events.num_rows + 1))
    upper = seconds(events["upper"])
    assert (np.diff(upper) >= 0).all()
    assert (upper - seconds(events["lower"]) == reader.ticks - 1).all()
    assert (seconds(trace.observed.reported) == upper).all()
    assert events["pmf"].to_pylist() == [reader.pmf.tolist()] * events.num_rows


def test_arrivals_are_distributed_as_the_pmf_says():
    for reader in READERS:
        observed = simulate_rfid(RfidConfig(reader=reader)).observed
        missed = seconds(observed.events["upper"]) - seconds(observed.happened)
        assert missed.min() == 0
        assert missed.max() < reader.ticks
        expected = reader.pmf[::-1] * missed.size
        common = expected > 5
        found = np.bincount(missed, minlength=reader.ticks)
        assert ((found - expected)[common] ** 2 / expected[common]).sum() < common.sum() + 4 * np.sqrt(2 * common.sum())
        both = np.corrcoef(missed[1:], missed[:-1])[0, 1]
        assert abs(both) < 4 / np.sqrt(missed.size)


def test_a_wrong_round_has_two_locations_in_each_others_place(trace):
    rows = {row["id"]: row for row in trace.observed.events.to_pylist()}
    right = [f"Location{number}" for number in range(1, SMALL.locations + 1)]
    wrong = 0
    for stops in trace.rounds.to_pylist():
        events = [rows[i] for i in stops["events"]]
        assert {e["itemId"] for e in events} == {stops["itemId"]}
        locations = [e["location"] for e in events]
        assert sorted(locations) == right
        moved = sum(one != other for one, other in zip(locations, right, strict=True))
        assert moved == (2 if stops["wrong"] else 0)
        wrong += stops["wrong"]
    assert 0.2 < wrong / trace.rounds.num_rows < 0.4
    assert sorted(i for events in trace.rounds["events"].to_pylist() for i in events) == sorted(rows)


def test_no_window_reaches_from_one_round_into_the_next(trace):
    rows = {row["id"]: row for row in trace.observed.events.to_pylist()}
    rounds = trace.rounds.to_pylist()
    for one, other in pairwise(rounds):
        if one["itemId"] == other["itemId"]:
            assert one["round"] + 1 == other["round"]
            pause = rows[other["events"][0]]["lower"] - rows[one["events"][-1]]["upper"]
            assert pause >= timedelta(minutes=10)


def test_fewer_wrong_or_hurried_moves_on_request():
    calm = simulate_rfid(replace(SMALL, wrong_probability=0, hurried_probability=0))
    assert not any(calm.rounds["wrong"].to_pylist())
    upper = seconds(calm.observed.events["upper"])
    for ids in calm.rounds["events"].to_pylist():
        assert (np.diff(upper[np.array(ids) - 1]) >= 30).all()
    lost = simulate_rfid(replace(SMALL, wrong_probability=1))
    assert all(lost.rounds["wrong"].to_pylist())


@pytest.mark.parametrize("strategy", ["any", "next"])
def test_the_truth_of_query_5_follows_from_its_definition(trace, world, strategy):
    visits = defaultdict(list)
    for row in world:
        visits[row["itemId"], row["location"]].append(row)
    found = set()
    for tool in {row["itemId"] for row in world}:
        a_to_c = [visits[tool, f"Location{number}"] for number in (1, 2, 3)]
        for a, b, c in product(*a_to_c):
            if not a["time"] < b["time"] < c["time"] < a["time"] + timedelta(minutes=10):
                continue
            skipped = any(a["time"] < x["time"] < b["time"] for x in a_to_c[1])
            skipped |= any(b["time"] < x["time"] < c["time"] for x in a_to_c[2])
            if strategy == "any" or not skipped:
                found.add((a["id"], b["id"], c["id"]))
    truth = id_tuples(trace.observed.truth(tracking_query(strategy)))
    assert truth == found
    assert len(found) > 100
    assert id_tuples(trace.observed.trusting(tracking_query(strategy))) != truth


def test_a_trace_of_the_size_of_the_thesis_is_quick():
    assert simulate_rfid(RfidConfig(rounds=417)).observed.events.num_rows == 300_240


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tools": 0}, "there must be at least one tool"),
        ({"locations": 2}, "locations is 2, it must be at least 3"),
        ({"wrong_probability": 1.5}, "wrong_probability is 1.5, it must be between 0 and 1"),
        ({"reader": Reader(1.0, 10)}, "never reads, never misses, or has no tick"),
    ],
)
def test_a_wrong_setting_is_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        RfidConfig(**wrong)
