"""The reliability table: its band is the binomial's, its bins hold what belongs there, and errors show."""

from fractions import Fraction
from math import comb

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

from whenabouts.app.calibration import (
    apart,
    binomial_band,
    calibrated,
    describe_trusting,
    reliability,
    render,
    trusting_verdict,
)
from whenabouts.app.truth import Verdict


def table_of(rows):
    """Matches of SEQ(a, b) from (match_id, confidence, a, b)."""
    ids, confidences, *steps = zip(*rows, strict=True) if rows else ((), (), (), ())
    events = [[("a", [a]), ("b", [b])] for a, b in zip(*steps, strict=True)]
    return pa.table(
        {
            "match_id": pa.array(ids, pa.string()),
            "confidence": pa.array(confidences, pa.float64()),
            "events": pa.array(events, pa.map_(pa.string(), pa.list_(pa.int64()))),
        }
    )


def shown(renderable):
    console = Console(width=110)
    with console.capture() as capture:
        console.print(renderable)
    return capture.get()


@pytest.mark.parametrize("chance", [Fraction(1, 100), Fraction(1, 4), Fraction(1, 2), Fraction(97, 100)])
@pytest.mark.parametrize("trials", [1, 2, 7, 40, 113])
@pytest.mark.parametrize("outside", [Fraction(1, 20), Fraction(1, 1000)])
def test_the_band_holds_what_neither_tail_excludes(trials, chance, outside):
    mass = [comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(trials + 1)]
    plausible = [k for k in range(trials + 1) if min(sum(mass[: k + 1]), sum(mass[k:])) > outside / 2]
    least, most = binomial_band(trials, float(chance), float(outside))
    assert plausible == list(range(least, most + 1))
    assert sum(mass[least : most + 1]) >= 1 - outside


@pytest.mark.parametrize(("chance", "band"), [(0.0, (0, 0)), (1.0, (9, 9)), (1.0 + 1e-15, (9, 9)), (1e-18, (0, 0))])
def test_what_is_certain_has_no_band(chance, band):
    assert binomial_band(9, chance) == band


def test_a_band_of_many_trials_is_that_of_the_normal_distribution():
    least, most = binomial_band(1_000_000, 0.3)
    spread = 1.96 * np.sqrt(1_000_000 * 0.3 * 0.7)
    assert (least, most) == (pytest.approx(300_000 - spread, abs=2), pytest.approx(300_000 + spread, abs=2))


def test_every_confidence_falls_into_its_bin():
    confidence = np.array([0.0, 1e-17, 0.1, 0.3, 0.7, 0.69999, 0.8999, 0.9, 1.0, 1.0 + 2e-16])
    bins = reliability(confidence, np.array([0, 0, 1, 0, 1, 0, 1, 1, 1, 1], bool))
    assert [(b.low, b.matches, b.happened) for b in bins] == [
        (0.0, 2, 0),
        (0.1, 1, 1),
        (0.3, 1, 0),
        (0.6, 1, 0),
        (0.7, 1, 1),
        (0.8, 1, 1),
        (0.9, 3, 3),
    ]
    assert bins[-1].confidence == pytest.approx(2.9 / 3)
    assert bins[1].high == 0.2
    assert reliability(np.array([]), np.array([], bool)) == ()


def test_right_confidences_stay_in_the_band_and_wrong_ones_do_not():
    rng = np.random.default_rng(1)
    seen = left = 0
    for _ in range(300):
        confidence = rng.random(1000)
        bins = reliability(confidence, rng.random(1000) < confidence)
        seen += len(bins)
        left += sum(not b.inside for b in bins)
    assert seen == 3000
    assert 0 < left <= 0.05 * seen  # trials of unequal chances, and a discrete band: fewer than 5 % leave it
    confidence = rng.random(3000)
    assert sum(not b.inside for b in reliability(confidence, rng.random(3000) < np.sqrt(confidence))) >= 8


def test_matches_that_stand_apart_share_no_event():
    rng = np.random.default_rng(2)
    possible = [(("a", (int(a),)), ("b", tuple(map(int, b)))) for a, b in zip(*pairs(rng), strict=True)]
    ids = [f"{number:04d}" for number in rng.permutation(len(possible))]
    chosen = apart(possible, ids)
    used = [event for position in chosen for _, events in possible[position] for event in events]
    assert len(used) == len(set(used))
    for position in set(range(len(possible))).difference(chosen):
        earlier = [p for p in chosen if ids[p] < ids[position]]
        taken = {event for p in earlier for _, events in possible[p] for event in events}
        assert not taken.isdisjoint(event for _, events in possible[position] for event in events)


def pairs(rng):
    return rng.integers(0, 100, 200), rng.integers(100, 200, (200, 2))


MATCHES = table_of([("m1", 0.25, 1, 2), ("m0", 0.75, 1, 3), ("m2", 0.5, 4, 5), ("m3", 0.875, 6, 7)])
TRUTH = table_of([("t", 1.0, 1, 3), ("u", 1.0, 6, 7), ("v", 1.0, 8, 9)])


def test_sums_count_every_match_and_bins_those_that_share_no_event():
    found = calibrated(MATCHES, TRUTH)
    assert (found.matches, found.expected, found.happened, found.unforeseen) == (4, 2.375, 2, 1)
    assert [(b.low, b.matches, b.happened) for b in found.bins] == [(0.5, 1, 0), (0.7, 1, 1), (0.8, 1, 1)]
    assert found.inside == 3


def test_no_matches_and_no_truth_are_no_error():
    found = calibrated(table_of([]), table_of([]))
    assert (found.matches, found.expected, found.happened, found.unforeseen, found.bins) == (0, 0.0, 0, 0, ())
    assert "0 of 0 possible matches happened" in shown(render(found))


def test_trusting_timestamps_misses_and_invents():
    verdict = trusting_verdict(MATCHES.slice(0, 2), TRUTH)
    assert verdict == Verdict(found=1, missed=2, invented=1)
    assert describe_trusting(verdict) == (
        "An engine that trusts the timestamps returns 2 matches: "
        "1 never happened, and of the 3 that did, 2 are missing."
    )


@pytest.mark.parametrize(("missed", "said"), [(0, "none is"), (1, "1 is"), (1200, "1,200 are")])
def test_trusting_is_told_in_english(missed, said):
    assert f"that did, {said} missing." in describe_trusting(Verdict(10, missed, 3))


def test_the_table_shows_bins_and_sums():
    text = shown(render(calibrated(MATCHES, TRUTH)))
    assert "0.7 to 0.8" in text
    assert "2 of 4 possible matches happened, 2.4 were expected; 3 of 3 bins are inside the band. 1 that" in text
    wrong = table_of([(f"{k:02d}", 0.95, 2 * k, 2 * k + 1) for k in range(30)])
    assert "NO" in shown(render(calibrated(wrong, table_of([]))))
