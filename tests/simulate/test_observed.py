"""Observed events: the world, the reported times and the truth of a query, on an example to check by eye."""

import pyarrow as pa
import pytest

from whenabouts.simulate.observed import Observed, happened, signatures

QUERY = "PATTERN SEQ(A a, B b) WHERE b.v > a.v AND skip_till_{}_match WITHIN 5"
SCHEMA = pa.map_(pa.string(), pa.list_(pa.int64()))


@pytest.fixture
def observed():
    """Reported a1@2 b2@4 b3@5 b4@9; what happened is a1@3 b2@2 b3@7 b4@6."""
    table = pa.table(
        {
            "id": [1, 2, 3, 4],
            "type": ["A", "B", "B", "B"],
            "lower": [1, 2, 3, 6],
            "upper": [3, 6, 7, 12],
            "pmf": [[0.5, 0.25, 0.25], [0.2] * 5, [0.2] * 5, None],
            "v": [1.0, 2.0, 2.0, 2.0],
        }
    )
    return Observed(table, pa.array([3, 2, 7, 6]), pa.array([2, 4, 5, 9]))


def pairs(matches):
    return {tuple(ids[0] for _, ids in signature) for signature in signatures(matches)}


def test_world_and_reported_times_replace_the_intervals(observed):
    assert observed.world.column_names == observed.trusted.column_names == ["id", "type", "v", "time"]
    assert observed.world["time"].to_pylist() == [3, 2, 7, 6]
    assert observed.trusted["time"].to_pylist() == [2, 4, 5, 9]


def test_the_truth_is_the_exact_answer_about_the_world(observed):
    assert pairs(observed.truth(QUERY.format("any"))) == {(1, 3), (1, 4)}
    assert pairs(observed.truth(QUERY.format("next"))) == {(1, 4)}
    assert pairs(observed.trusting(QUERY.format("any"))) == {(1, 2), (1, 3)}
    assert pairs(observed.trusting(QUERY.format("next"))) == {(1, 2)}


def test_signatures_are_judged_by_their_events(observed):
    truth = observed.truth(QUERY.format("any"))
    possible = [(("a", (1,)), ("b", (number,))) for number in (2, 3, 4)]
    assert happened(possible, truth).tolist() == [False, True, True]
    assert happened([], truth).tolist() == []


def test_a_closure_is_part_of_the_signature_in_its_order():
    matches = pa.table({"events": pa.array([[("a", [1]), ("b", [3, 2])]], SCHEMA)})
    assert signatures(matches) == [(("a", (1,)), ("b", (3, 2)))]
    assert happened([(("a", (1,)), ("b", (2, 3)))], matches).tolist() == [False]
