"""Lossy readings: the settings of the thesis, and Bayes' rule by enumeration."""

import itertools
from fractions import Fraction

import pytest

from whenabouts.errors import WhenaboutsError
from whenabouts.timeline.detection import detection_gap, detection_pmf


@pytest.mark.parametrize(("rate", "ticks"), [(0.9, 10), (0.8, 14), (0.7, 19), (1.0, 1)])
def test_gaps_of_the_thesis(rate, ticks):
    assert detection_gap(rate) == ticks


def test_more_readings_shorten_the_gap():
    assert detection_gap(0.9, reads_per_tick=5) == 2
    assert detection_gap(0.9, reads_per_tick=0.5) == 20


@pytest.mark.parametrize("ticks", range(1, 7))
@pytest.mark.parametrize("rate", [Fraction(1, 4), Fraction(1, 2), Fraction(7, 8), Fraction(1)])
def test_the_pmf_is_bayes_rule(ticks, rate):
    """Enumerate the last tick and the outcome of every reading; keep what agrees with silence after tick 0."""
    weights = [Fraction(0)] * ticks
    for last, reads in itertools.product(range(ticks), itertools.product([True, False], repeat=ticks - 1)):
        probability = Fraction(1)
        for tick, read in enumerate(reads, start=1):
            chance = rate if tick <= last else Fraction(0)
            probability *= chance if read else 1 - chance
        if not any(reads):
            weights[last] += probability
    expected = [float(w / sum(weights)) for w in weights]
    assert detection_pmf(100, 100 + ticks, float(rate)) == pytest.approx(expected, rel=1e-12)


def test_the_pmf_adds_up():
    assert sum(detection_pmf(0, 5000, 0.001)) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    "misuse",
    [
        lambda: detection_pmf(5, 5, 0.9),
        lambda: detection_pmf(0, 5, 0.0),
        lambda: detection_pmf(0, 5, 1.1),
        lambda: detection_pmf(0, 5, 0.5, 0),
        lambda: detection_gap(0.5, negligible=0),
        lambda: detection_gap(float("nan")),
    ],
)
def test_misuse_is_one_of_our_errors(misuse):
    with pytest.raises(WhenaboutsError):
        misuse()
