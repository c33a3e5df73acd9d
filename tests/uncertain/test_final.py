"""When a match over uncertain time is final: no event from final_tau on can change it, and one right before it can."""

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from tests.uncertain.random_cases import PROFILES, SCHEMA, pmfs_of, random_uncertain_case
from whenabouts.errors import UnsupportedError
from whenabouts.kernels.reference.worlds import final_tau, match_uncertain
from whenabouts.language.bind import bind
from whenabouts.language.sase import parse

ANYWHERE = (-5, 1, 3, 5, 8, 12)


def matched(case, more, closure_as_set):
    """The matches by signature, with one more event if it is given as (type, lower, upper, v)."""
    events = list(case.events)
    if more is not None:
        kind, lower, upper, v = more
        events.append({"id": 1, "type": kind, "lower": lower, "upper": upper, "pmf": None, "k": 0, "v": v})
    found = match_uncertain(case.bound, events, pmfs_of(events), closure_as_set=closure_as_set)
    return {m.signature: m for m in found}


def check_final(case, *, closure_as_set):
    """Checks every match of a case and returns how many were (kept from a tau on, final at once, harmed before it)."""
    rng = random.Random(case.seed)
    types = sorted({kind for slot in case.slots for kind, _ in slot.steps})
    before = matched(case, None, closure_as_set)
    finals = {s: final_tau(case.bound, m, closure_as_set=closure_as_set) for s, m in before.items()}
    kept = at_once = harmed = 0
    for tau in sorted(set(finals.values()) - {None, float("inf")}) + [None] * (None in finals.values()):
        mine = [m for s, m in before.items() if finals[s] == tau]
        lowers = ANYWHERE if tau is None else (int(tau), int(tau) + 2)
        later = [(kind, at, at + rng.randrange(3), rng.randrange(3)) for kind in types for at in lowers]
        for found in (matched(case, more, closure_as_set) for more in later):
            assert all(found[m.signature] == m for m in mine), f"{case.text} {case.events} {tau}"
        kept, at_once = kept + len(mine) * (tau is not None), at_once + len(mine) * (tau is None)
        if tau is None or case.conditions:
            continue
        sooner = [matched(case, (kind, int(tau) - 1, int(tau) - 1, 0), closure_as_set) for kind in types]
        for m in mine:
            lowered = (found.get(m.signature) for found in sooner)
            assert any(x is None or x.confidence < m.confidence for x in lowered), f"{case.text} {case.events} {m}"
            harmed += 1
    return kept, at_once, harmed


@pytest.mark.parametrize("closure_as_set", [False, True], ids=["sequence", "set"])
def test_final_tau_is_sufficient_and_necessary(closure_as_set):
    limits = replace(PROFILES["linear"], worlds=100, conditions=1, events=5, ordered=False)
    cases = [random_uncertain_case(seed, limits) for seed in range(60)]
    counts = [check_final(case, closure_as_set=closure_as_set) for case in cases]
    kept, at_once, harmed = (sum(column) for column in zip(*counts, strict=True))
    assert min(kept, at_once, harmed) > 20


def test_without_a_window_a_trailing_region_never_ends():
    bound = bind(parse("PATTERN SEQ(A a, !(B b))"), SCHEMA)
    event = {"id": 1, "type": "A", "k": 0, "v": 0}
    (found,) = match_uncertain(bound, [event], [{0: Fraction(1)}])
    assert final_tau(bound, found) == float("inf")


@pytest.mark.parametrize("text", ["SEQ(A a, B b) UNION SEQ(A c, B d)", "AND(A a, B b)"])
def test_what_has_no_regions_is_refused(text):
    bound = bind(parse(f"PATTERN {text}"), SCHEMA)
    events = [{"id": 1, "type": "A", "k": 0, "v": 0}, {"id": 2, "type": "B", "k": 0, "v": 0}]
    found = match_uncertain(bound, events, [{0: Fraction(1)}, {1: Fraction(1, 2), 2: Fraction(1, 2)}])
    with pytest.raises(UnsupportedError):
        final_tau(bound, found[0])
