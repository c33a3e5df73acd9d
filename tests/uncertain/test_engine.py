"""Matching over uncertain time against the possible worlds: random queries and tables, in every way of evaluation."""

from dataclasses import replace

import pytest

from tests.uncertain.case_files import UncertainMatchCase, all_cases
from tests.uncertain.engines import answers, as_sets, plan_for, same_confidences, table_of, truth
from tests.uncertain.random_cases import PROFILES, SCHEMA, Limits, random_uncertain_case
from whenabouts.engine import Plan, plan_of
from whenabouts.errors import UnsupportedError
from whenabouts.kernels.uncertain.run import Order
from whenabouts.language.bind import bind
from whenabouts.language.sase import parse
from whenabouts.plan.bound import Bound
from whenabouts.plan.pattern import Closure

SEEDS = 40
WORLDS = 1_000  # what takes the time is the reference
CASES = all_cases()
WAYS = (None, *Order)
EVENT_BASED = [order for order in WAYS if order is not Order.POINTS]
SETS = {
    "unordered": PROFILES["unordered"],
    "any closures": replace(PROFILES["any closures"], ordered=False),
    "next closures": replace(PROFILES["next closures"], ordered=False),
    "negation": replace(PROFILES["negation"], slots=("step", "closure", "absent"), ordered=False),
    "shared classes": replace(PROFILES["shared classes"], slots=("step", "closure", "absent"), ordered=False),
    "counted": Limits(
        strategies=("skip_till_any_match",), slots=("step", "closure", "counted", "absent"), ordered=False
    ),
}


@pytest.mark.parametrize("profile", [p for p in PROFILES if p != "unordered"])
def test_engine_equals_the_worlds(profile: str) -> None:
    compared = matched = 0
    for seed in range(SEEDS):
        case = random_uncertain_case(seed, replace(PROFILES[profile], worlds=WORLDS))
        plan = plan_for(case.bound)
        if plan is None:
            continue
        compared += 1
        matched += agree(plan, case.bound, case.events)
    assert compared > 0.8 * SEEDS
    assert matched > SEEDS / 2


@pytest.mark.parametrize("profile", SETS)
def test_unordered_closures_equal_the_worlds(profile: str) -> None:
    """Signatures, confidences, ranges of every event, and when a match is final."""
    compared = matched = groups = 0
    for seed in range(SEEDS):
        case = random_uncertain_case(seed, replace(SETS[profile], worlds=WORLDS))
        bound = as_sets(case.bound)
        plan = plan_for(bound)
        if plan is None:
            continue
        compared += 1
        matched += agree(plan, bound, case.events)
        groups += any(slot.many for slot in case.slots)
    assert compared > 0.8 * SEEDS
    assert min(matched, groups) > SEEDS / 3


def agree(plan: Plan, bound: Bound, events: list[dict]) -> int:
    """Compare in every way of evaluation there is; returns how many matches there are."""
    confidence, found = truth(bound, events)
    for order in WAYS if bound.query.closure is not Closure.SET else EVENT_BASED:
        ours, answer = answers(plan, table_of(events), order)
        assert same_confidences(ours, confidence), (order, bound.query.text, ours, confidence)
        assert answer == found, (order, bound.query.text)
    return len(found)


@pytest.mark.parametrize("order", [None, Order.POINTS])
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_case_files(case: UncertainMatchCase, order: Order | None) -> None:
    bound = bind(parse(case.query), SCHEMA)
    plan = plan_for(as_sets(bound) if case.closure_as_set else bound)
    if plan is None:
        assert case.sentence == "the same for unordered groups"  # sum(b[].v) is asked while b[] is under way
        return
    if case.closure_as_set and order is Order.POINTS:
        with pytest.raises(UnsupportedError, match="point"):
            answers(plan, table_of(case.events), order)
        return
    confidence, found = answers(plan, table_of(case.events), order)
    assert same_confidences(confidence, {s: float(e.confidence) for s, e in case.matches.items()})
    for steps, expected in case.matches.items():
        if expected.extent is not None:
            assert (found[steps].start, found[steps].end) == expected.extent
        if case.closure_as_set and expected.final != "not stated":
            assert found[steps].final == expected.final


NEXT, ANY = "skip_till_next_match", "skip_till_any_match"


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (f"SEQ(A a, B* b[]) WHERE {ANY}", "sequence of steps"),
        (f"SEQ(A a, (B b | C c)+) WHERE {ANY}", "sequence of steps"),
        (f"AND(A a, B+ b[]) WHERE {ANY}", "sequence of steps"),
        (f"SEQ(A a, B{{2,3}} b[]) WHERE {NEXT}", "counted closures"),
        (f"SEQ(A a, B+ b[], C c) WHERE c.v > sum(b[].v) AND {NEXT}", r"which of b\[\]"),
        (f"SEQ(A a, B+ b[], C c) WHERE b[i].v < c.v AND {NEXT}", r"which of b\[\]"),
        (f"SEQ(A a, B+ b[], C c) WHERE count(b[]) > 1 AND {NEXT}", r"which of b\[\]"),
    ],
)
def test_sets_that_are_not_defined_are_refused(pattern: str, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason) as error:
        plan_of(as_sets(bind(parse(f"PATTERN {pattern} WITHIN 9"), SCHEMA)), {})
    assert error.value.hint


def test_a_group_is_read_whole_once_another_step_lies_between() -> None:
    text = "PATTERN SEQ(A a, B+ b[], C c, D d) WHERE d.v > sum(b[].v) AND skip_till_next_match WITHIN 9"
    bound = as_sets(bind(parse(text), SCHEMA))
    times = {"A": (0, 0), "B": (1, 3), "C": (2, 5), "D": (5, 8)}
    events = [
        {"id": n, "type": t, "lower": times[t][0], "upper": times[t][1], "pmf": None, "k": 0, "v": v}
        for n, (t, v) in enumerate([("A", 0), ("B", 1), ("B", 2), ("C", 0), ("D", 2), ("D", 4)])
    ]
    plan = plan_for(bound)
    assert plan is not None
    assert agree(plan, bound, events) > 2


def test_large_groups_of_next_match_are_found_without_trying_all_subsets() -> None:
    """Forty events that certainly happen in the time of the group: one match, not a trillion candidates."""
    text = "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_next_match WITHIN 200"
    plan = plan_for(as_sets(bind(parse(text), SCHEMA)))
    assert plan is not None
    rows = [("A", 0, 1), *(("B", 2 * n, 2 * n + 3) for n in range(1, 41)), ("C", 90, 95)]
    events = [
        {"id": n, "type": t, "lower": lower, "upper": upper, "pmf": None, "k": 0, "v": 0}
        for n, (t, lower, upper) in enumerate(rows)
    ]
    for order in (None, Order.ANY_STATE):
        confidence, found = answers(plan, table_of(events), order)
        ids = (("a", (0,)), ("b", tuple(range(1, 41))), ("c", (41,)))
        assert same_confidences(confidence, {ids: 1.0})
        assert (found[ids].start, found[ids].end, found[ids].final) == (0, 95, 95)
