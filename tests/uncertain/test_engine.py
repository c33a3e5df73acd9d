"""Matching over uncertain time against the possible worlds: random queries and tables, in every way of evaluation."""

from dataclasses import replace

import pytest

from tests.uncertain.case_files import UncertainMatchCase, all_cases
from tests.uncertain.engines import answers, plan_for, same_confidences, table_of, truth
from tests.uncertain.random_cases import PROFILES, SCHEMA, random_uncertain_case
from whenabouts.kernels.uncertain.run import Order
from whenabouts.language.bind import bind
from whenabouts.language.sase import parse

SEEDS = 40
WORLDS = 1_000  # what takes the time is the reference
CASES = [case for case in all_cases() if not case.closure_as_set]


@pytest.mark.parametrize("profile", [p for p in PROFILES if p != "unordered"])
def test_engine_equals_the_worlds(profile: str) -> None:
    compared = matched = 0
    for seed in range(SEEDS):
        case = random_uncertain_case(seed, replace(PROFILES[profile], worlds=WORLDS))
        plan = plan_for(case.bound)
        if plan is None:
            continue
        confidence, found = truth(case.bound, case.events)
        for order in (None, *Order):
            ours, answer = answers(plan, table_of(case.events), order)
            assert same_confidences(ours, confidence), (seed, order, case.text, ours, confidence)
            assert answer == found, (seed, order, case.text)
        compared += 1
        matched += len(found)
    assert compared > 0.8 * SEEDS
    assert matched > SEEDS / 2


@pytest.mark.parametrize("order", [None, Order.POINTS])
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_case_files(case: UncertainMatchCase, order: Order | None) -> None:
    plan = plan_for(bind(parse(case.query), SCHEMA))
    assert plan is not None
    confidence, found = answers(plan, table_of(case.events), order)
    assert same_confidences(confidence, {s: float(e.confidence) for s, e in case.matches.items()})
    for steps, expected in case.matches.items():
        if expected.extent is not None:
            assert (found[steps].start, found[steps].end) == expected.extent
