"""The option `evaluation`: what it accepts, that it changes no match, and that EXPLAIN shows what is done and why."""

import pyarrow as pa
import pytest

import whenabouts as wa
from whenabouts.kernels.uncertain.run import Order

TEXT = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match WITHIN 10"
WAYS = ["auto", *map(str, Order)]
UNCERTAIN = {"time": ("lower", "upper")}


def rows(firsts):
    """Many that can be first, one that can be last."""
    some = [{"id": n, "type": "A", "lower": n, "upper": n + 3} for n in range(firsts)]
    return [*some, {"id": firsts, "type": "B", "lower": 4, "upper": 12}]


def test_an_unknown_way_is_refused():
    with pytest.raises(wa.WhenaboutsError, match="not a way of evaluation") as error:
        wa.query(TEXT, **UNCERTAIN, evaluation="point")
    assert "did you mean 'points'?" in str(error.value)


def test_over_exact_time_it_has_no_meaning():
    wa.query(TEXT, evaluation="auto")
    with pytest.raises(wa.WhenaboutsError, match="these times are exact"):
        wa.query(TEXT, evaluation="points")


@pytest.mark.parametrize("pattern", [TEXT, TEXT.replace("any", "next"), "PATTERN SEQ(A a, !(A n), B b) WITHIN 10"])
def test_every_way_gives_the_same_matches(pattern):
    found = [
        {row.pop("match_id"): row for row in wa.query(pattern, **UNCERTAIN, evaluation=way).match(rows(12))}
        for way in WAYS
    ]
    assert len(found[0]) > 3
    for other in found[1:]:
        assert other.keys() == found[0].keys()
        for i, row in other.items():
            assert row["confidence"] == pytest.approx(found[0][i]["confidence"], abs=1e-12)
            assert {**row, "confidence": 0} == {**found[0][i], "confidence": 0}


def explained(pattern, table, **options):
    return wa.query(pattern, **UNCERTAIN, **options).explain(table)


def test_explain_shows_the_choice_and_its_numbers():
    assert "order: selectivity (" in explained(TEXT, rows(12))
    assert "1 events can be b, 12 can be first" in explained(TEXT, rows(12))
    assert "order: query_order (" in explained(TEXT, rows(2))
    assert "order: any_state (as events arrive, what each of them completes): as asked" in explained(
        TEXT, rows(12), evaluation="any_state"
    )
    assert "no step is in every match" in explained("PATTERN (A a | B b)", rows(12), evaluation="selectivity")


def test_explain_of_a_schema_says_what_the_data_will_decide():
    schema = pa.Table.from_pylist(rows(1)).schema
    assert "order: chosen from the data" in explained(TEXT, schema)
    assert "order: any_state (" in explained(TEXT, schema, evaluation="any_state")
    total = explained(f"{TEXT} RETURN TOTAL count(*)", schema)
    assert "from sums of masses, no match is listed; the matches are listed if an event can be two steps" in total


def test_explain_says_how_confidences_are_computed():
    assert "exact: sums of polynomials" in explained(TEXT, rows(2))
    assert "a certified interval" in explained(TEXT.replace("any", "next"), rows(2))
    assert "a certified interval" in explained("PATTERN SEQ(A a, !(A n), B b) WHERE skip_till_any_match", rows(2))
    points = explained(TEXT, rows(2), evaluation="points")
    assert "17 points, 2,000,000 at most" in points
    assert "tick by tick" in points
    assert "several orders of the same events" in explained("PATTERN AND(A a, B b)", rows(2))


def test_explain_of_exact_time_is_not_concerned():
    text = wa.query(TEXT, time="lower").explain(rows(2))
    assert "one match graph shared by all starts" in text
    assert "event-based" not in text
