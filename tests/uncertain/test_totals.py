"""RETURN TOTAL over uncertain time: the same expected values from sums of masses, from a list, and from the worlds."""

import random
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from math import comb

import pytest

import whenabouts as wa
from tests.uncertain.engines import plan_for, table_of
from tests.uncertain.random_cases import PROFILES, SCHEMA, pmfs_of, random_uncertain_case
from whenabouts.engine import match_table
from whenabouts.kernels.batch import prepare
from whenabouts.kernels.reference.worlds import match_uncertain
from whenabouts.kernels.run import Budget
from whenabouts.kernels.uncertain.run import Order
from whenabouts.kernels.uncertain.totals import why_list
from whenabouts.language.bind import bind
from whenabouts.language.sase import parse

RETURN = " RETURN TOTAL count(*) AS n, sum(a.v) AS first, count(b.v) AS known, sum(b.v) AS second"
LIMITS = replace(PROFILES["any"], types=4, keys=2, conditions=1, worlds=2000)
SEEDS = 150


def totals_of(plan, table, order):
    rows, _, _ = match_table(plan, table, Budget(), order=order)
    return {row.get("k"): tuple(row[name] for name in ("n", "first", "known", "second")) for row in rows.to_pylist()}


def expectation(case, events):
    """Every match of every world, weighed by its confidence."""
    found = defaultdict(lambda: [Fraction(0)] * 4)
    if not case.keyed:
        found[None] = [Fraction(0)] * 4
    for m in match_uncertain(case.bound, events, pmfs_of(events)):
        rows = {step: events[row] for step, (row,) in m.signature}
        a, b = rows["a"]["v"], rows["b"]["v"]
        key = rows["a"]["k"] if case.keyed else None
        one = (1, a or 0, b is not None, b or 0)
        found[key] = [total + m.confidence * x for total, x in zip(found[key], one, strict=True)]
    return {key: tuple(map(float, totals)) for key, totals in found.items()}


def test_all_ways_agree():
    ways = {True: 0, False: 0}
    for seed in range(SEEDS):
        case = random_uncertain_case(seed, LIMITS)
        rng = random.Random(seed)
        events = [{**e, "v": rng.choice((None, -3, -1, 0, 2, 5))} for e in case.events]
        bound = bind(parse(case.text + RETURN), SCHEMA)
        plan, table = plan_for(bound), table_of(events)
        wanted = expectation(case, events)
        batch = prepare(plan.bound, plan.lowered.program, table)
        listed = why_list(plan.bound, plan.lowered, None, batch) is not None
        for order in (None, Order.QUERY) if listed else (None, Order.QUERY, Order.POINTS):
            found = totals_of(plan, table, order)
            assert found.keys() == wanted.keys(), (seed, order, case.text)
            for key, totals in found.items():
                assert totals == pytest.approx(wanted[key], abs=1e-12), (seed, order, case.text)
        ways[listed] += any(n > 0 for n, *_ in wanted.values())
    assert min(ways.values()) > 15


def test_more_candidates_than_could_be_listed():
    """Each of the 171,700 combinations in order counts once; nothing is uncertain, so that the number is known."""
    size = 100
    rows = [
        {"id": 3 * n + j, "type": kind, "lower": 3 * n + j, "upper": 3 * n + j, "v": -1.5}
        for n in range(size)
        for j, kind in enumerate("ABC")
    ]
    text = "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match RETURN TOTAL count(*) AS n, sum(c.v) AS s"
    options = {"time": ("lower", "upper"), "max_matches": 1000}
    ((row,),) = [wa.query(text, **options).match(rows)]
    expected = comb(size + 2, 3)  # i <= j <= k
    assert (row["n"], row["s"]) == pytest.approx((expected, -1.5 * expected), rel=1e-12)
    with pytest.raises(wa.WhenaboutsError, match="more than 1,000 possible matches"):
        wa.query(text, **options, evaluation="query_order").match(rows)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("SEQ(A a, B b) WHERE skip_till_next_match", "skip_till_next_match depends on the events left out"),
        ("SEQ(A a, !(C c), B b) WHERE skip_till_any_match", "parts must be absent"),
        ("SEQ(A a, B+ b[]) WHERE skip_till_any_match", "the pattern is not a sequence of single steps"),
        ("SEQ(A a, B b) WHERE a.v < b.v AND skip_till_any_match", "conditions read several events"),
        ("SEQ(A a, A b) WHERE skip_till_any_match", "an event can be two steps"),
        ("SEQ(A a, B b) WHERE skip_till_any_match", None),
    ],
)
def test_explain_says_whether_matches_are_listed(pattern, reason):
    rows = [
        {"id": 1, "type": "A", "lower": 0, "upper": 2, "v": 1},
        {"id": 2, "type": "B", "lower": 1, "upper": 2, "v": 1},
    ]
    text = wa.query(f"PATTERN {pattern} RETURN TOTAL count(*)", time=("lower", "upper")).explain(rows)
    without = "expected totals: from sums of masses, no match is listed"
    assert (without if reason is None else f"the matches are listed and added up, because {reason}") in text
    asked = wa.query(f"PATTERN {pattern} RETURN TOTAL count(*)", time=("lower", "upper"), evaluation="any_state")
    assert "because evaluation='any_state' asks for it" in asked.explain(rows)
