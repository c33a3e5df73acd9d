"""The generator of uncertain cases keeps its promises."""

import math

import pytest

from tests.uncertain.random_cases import EIGHTHS, PROFILES, SCHEMA, random_uncertain_case
from whenabouts.kernels.reference.worlds import match_uncertain


@pytest.mark.parametrize("profile", PROFILES)
def test_cases_are_within_their_limits_and_rarely_empty(profile):
    limits = PROFILES[profile]
    matched = uncertain = 0
    for seed in range(40):
        case = random_uncertain_case(seed, limits)
        assert case == random_uncertain_case(seed, limits)
        assert math.prod(map(len, case.pmfs)) <= limits.worlds
        assert len(case.events) <= limits.events
        for event, pmf in zip(case.events, case.pmfs, strict=True):
            assert sum(pmf.values()) == 1
            assert {*SCHEMA.columns, "pmf"} == event.keys()
            assert event["pmf"] is None or all(mass * EIGHTHS == int(mass * EIGHTHS) for mass in event["pmf"])
        if math.prod(map(len, case.pmfs)) <= 300:
            found = match_uncertain(case.bound, case.events, case.pmfs)
            matched += bool(found)
            uncertain += any(m.confidence < 1 for m in found)
    assert matched > 12
    assert uncertain > 8


def test_all_kinds_of_times_and_slots_occur():
    cases = [random_uncertain_case(seed, PROFILES["nested"]) for seed in range(60)]
    assert {slot.kind for case in cases for slot in case.slots} == set(PROFILES["nested"].slots)
    pmfs = [pmf for case in cases for pmf in case.pmfs]
    assert any(max(pmf) - min(pmf) >= len(pmf) for pmf in pmfs)  # a hole
    assert any(len(set(pmf.values())) > 1 for pmf in pmfs)
    assert any(event["pmf"] and event["pmf"][0] == 0 for case in cases for event in case.events)
    hole_free = [pmf for seed in range(40) for pmf in random_uncertain_case(seed, PROFILES["hole-free"]).pmfs]
    assert all(max(pmf) - min(pmf) < len(pmf) for pmf in hole_free)
