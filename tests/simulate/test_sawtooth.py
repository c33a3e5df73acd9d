"""The sawtooth stream: regular reports, uniform truth, and matches for patterns of every length."""

import numpy as np
import pyarrow.compute as pc
import pytest

from whenabouts.simulate.observed import signatures
from whenabouts.simulate.sawtooth import MODULI, TOP, sawtooth_query, simulate_sawtooth


@pytest.fixture(scope="module")
def stream():
    return simulate_sawtooth(30_000)


def id_tuples(matches):
    return {tuple(ids[0] for _, ids in signature) for signature in signatures(matches)}


def test_the_seed_decides_what_happened_but_not_what_is_observed(stream):
    again, other = simulate_sawtooth(30_000), simulate_sawtooth(30_000, seed=1)
    assert again.happened.equals(stream.happened)
    assert other.events.equals(stream.events)
    assert not other.happened.equals(stream.happened)


def test_values_rise_and_wrap_and_times_lie_around_their_reports(stream):
    columns = {name: stream.events[name].to_numpy() for name in ("id", "lower", "upper", "value")}
    assert (columns["id"] == np.arange(1, 30_001)).all()
    assert columns["value"][:3].tolist() == [1, 2, 3]
    assert columns["value"][TOP - 1 : TOP + 1].tolist() == [TOP, 1]
    assert (columns["lower"] == columns["id"] - 10).all()
    assert (columns["upper"] == columns["id"] + 10).all()
    assert (stream.reported.to_numpy() == columns["id"]).all()
    found = np.bincount(stream.happened.to_numpy() - columns["lower"])
    assert found.size == 21
    expected = 30_000 / 21
    assert ((found - expected) ** 2 / expected).sum() < 21 + 4 * np.sqrt(42)


def test_without_width_what_is_reported_happened():
    stream = simulate_sawtooth(100, half_width=0)
    assert stream.events["lower"].equals(stream.events["upper"])
    assert stream.happened.equals(stream.reported)


def test_a_negative_width_is_named():
    with pytest.raises(ValueError, match="half_width is -1"):
        simulate_sawtooth(10, half_width=-1)


@pytest.mark.parametrize("strategy", ["any", "next"])
@pytest.mark.parametrize("length", MODULI["dense"])
def test_patterns_of_every_length_have_matches(stream, length, strategy):
    text = sawtooth_query(MODULI["dense"][length], strategy=strategy)
    for matches in (stream.truth(text), stream.trusting(text)):
        per_event = matches.num_rows / stream.events.num_rows
        assert 0.15 < per_event < 0.25 if strategy == "any" else 0.03 < per_event < 0.06
    assert id_tuples(stream.truth(text)) != id_tuples(stream.trusting(text))


@pytest.mark.parametrize(("density", "least", "most"), [("sparse", 0.017, 0.032), ("rare", 0.0035, 0.011)])
@pytest.mark.parametrize("length", MODULI["sparse"])
def test_other_moduli_make_fewer(density, least, most, length):
    exact = simulate_sawtooth(30_000, half_width=0)
    per_event = exact.truth(sawtooth_query(MODULI[density][length])).num_rows / exact.events.num_rows
    assert least < per_event < most


@pytest.mark.parametrize("density", MODULI)
def test_moduli_are_different_primes(density):
    for length, moduli in MODULI[density].items():
        assert len(set(moduli)) == len(moduli) == length
        assert all(modulus % divisor for modulus in moduli for divisor in range(2, modulus))


def test_the_truth_follows_from_the_definition():
    stream = simulate_sawtooth(400, half_width=8)
    world = stream.world.to_pylist()
    relevant = [[row for row in world if row["value"] % modulus == 0] for modulus in (7, 5)]
    pairs = {
        (a["id"], b["id"])
        for a in relevant[0]
        for b in relevant[1]
        if a["time"] < b["time"] < a["time"] + 12 and a["id"] != b["id"]
    }
    assert id_tuples(stream.truth(sawtooth_query((7, 5), window=12))) == pairs
    times = {row["id"]: row["time"] for row in world}
    first = {(a, b) for a, b in pairs if not any(x == a and times[y] < times[b] for x, y in pairs)}
    assert id_tuples(stream.truth(sawtooth_query((7, 5), window=12, strategy="next"))) == first


def test_the_query_reads_as_in_the_paper():
    assert sawtooth_query(MODULI["dense"][2], window=50, strategy="next") == (
        "PATTERN SEQ(E e1, E e2)\nWHERE e1.value % 19 = 0 AND e2.value % 29 = 0 AND skip_till_next_match\nWITHIN 50"
    )


def test_a_million_events_are_quick():
    assert pc.max(simulate_sawtooth(1_000_000, half_width=50).events["upper"]).as_py() == 1_000_050
