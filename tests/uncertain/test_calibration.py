"""Confidences over a full simulated day say how often a match happens: the reliability table of the engine itself.

One observed day, on which some nodes are read more often than others, so that confidences lie anywhere between 0 and 1.
What happened is drawn many times from what was observed. A bin is outside its 95 % band by chance in at most 1 of 20
cases, so one day (a fixed seed) has at least 9 of 10 bins inside, and many days have at least 92.5 % of theirs.
"""

from dataclasses import replace

import pytest

import whenabouts as wa
from whenabouts.app.calibration import calibrated
from whenabouts.simulate.cluster import ClusterConfig, simulate_cluster
from whenabouts.simulate.cluster_observed import MIXED, observe
from whenabouts.simulate.cluster_queries import max_cpu

pytestmark = pytest.mark.slow

TICK = "100 ms"
WORLDS = 20  # drawn of what may have happened on the day


@pytest.fixture(scope="module")
def day():
    return simulate_cluster(ClusterConfig(nodes=12, short_tasks_per_job=60))


@pytest.fixture(scope="module", params=["any", "next"])
def calibrations(request, day):
    """The same matches compared with each of the worlds."""
    text = max_cpu(request.param)
    matches = wa.query(text, time=("lower", "upper"), granularity=TICK).match(observe(day, MIXED).events)
    worlds = (observe(day, replace(MIXED, seed=seed)) for seed in range(WORLDS))
    return [calibrated(matches, world.truth(text, TICK)) for world in worlds]


def test_a_full_day_is_calibrated(day, calibrations):
    assert day.events.num_rows > 200_000
    calibration = calibrations[0]
    assert calibration.matches > 3_000
    assert len(calibration.bins) == 10
    assert min(b.matches for b in calibration.bins) > 50
    assert calibration.inside >= 9


def test_nothing_happens_that_was_not_possible(calibrations):
    assert [c.unforeseen for c in calibrations] == [0] * WORLDS


def test_many_days_are_calibrated(calibrations):
    bins = [b for c in calibrations for b in c.bins]
    assert len(bins) == 10 * WORLDS
    assert sum(b.inside for b in bins) >= 0.925 * len(bins)
    happened, expected = (sum(values) for values in zip(*((c.happened, c.expected) for c in calibrations), strict=True))
    assert happened == pytest.approx(expected, rel=0.01)


def test_confidences_that_are_wrong_are_noticed(day):
    """The test has power: confidences of another window would leave the bands."""
    text = max_cpu("any")
    observed = observe(day, MIXED)
    matches = wa.query(text, time=("lower", "upper"), granularity=TICK).match(observed.events)
    shorter = observed.truth(text.replace("15 seconds", "12 seconds"), TICK)
    assert calibrated(matches, shorter).inside < 8
