"""The compiled loops against the reference: random queries over random streams, and what must not change an answer."""

import random
from dataclasses import replace

import pytest

from tests.matching.comparing import answered, expected, plan_for, table_of
from tests.matching.random_queries import Limits, random_case, streams
from whenabouts.plan.pattern import Strategy
from whenabouts.plan.rewrites import RULES

LARGER = Limits(events=14, time=20, keys=3)


@pytest.mark.parametrize("block", range(6))
def test_kernels_equal_the_reference(block: int) -> None:
    compared = matched = 0
    for seed in range(25 * block, 25 * block + 25):
        case = random_case(seed)
        plan = plan_for(case.bound)
        if plan is None:
            continue
        for events in streams(case, 12):
            wanted = expected(case.bound, events, plan.bound.key)
            assert answered(plan, table_of(events)) == wanted, f"seed {seed}: {case.query} {events}"
            compared += 1
            matched += bool(wanted)
    assert compared > 150
    assert matched > 50


@pytest.mark.parametrize("strategy", list(Strategy))
def test_larger_streams(strategy: Strategy) -> None:
    limits = replace(LARGER, strategies=(strategy,), events=10 if strategy is Strategy.ANY else 14)
    for seed in range(8):
        case = random_case(10_000 + seed, limits)
        plan = plan_for(case.bound)
        for events in streams(case, 6, limits) if plan else []:
            assert plan
            assert answered(plan, table_of(events)) == expected(case.bound, events, plan.bound.key), case.query


def test_the_order_of_rows_does_not_matter() -> None:
    for seed in range(25):
        case = random_case(20_000 + seed)
        plan = plan_for(case.bound)
        if plan is None or not case.events:
            continue
        shuffled = random.Random(seed).sample(case.events, len(case.events))
        assert answered(plan, table_of(shuffled)) == answered(plan, table_of(case.events)), case.query


@pytest.mark.parametrize("rule", [r.__name__ for r in RULES])
def test_every_rewrite_keeps_the_meaning(rule: str) -> None:
    for seed in range(20):
        case = random_case(30_000 + seed)
        plan, without = plan_for(case.bound), plan_for(case.bound, frozenset({rule}))
        if plan is None or without is None or not case.events:
            continue
        contiguous = case.query.strategy in (Strategy.PARTITION, Strategy.LATEST)
        if contiguous and plan.bound.key != without.bound.key:
            continue  # there, a key is more than a condition: it says what the stream is
        for events in streams(case, 4):
            table = table_of(events)
            assert answered(plan, table) == answered(without, table), case.query
