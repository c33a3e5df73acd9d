"""RETURN TOTAL and RETURN COLLAPSED against the reference, for each way of counting."""

import math
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

import whenabouts as wa
from tests.matching.comparing import plan_for, table_of
from tests.matching.random_queries import Case, Limits, random_case
from whenabouts.engine import match_table
from whenabouts.kernels.counting import GRAPH, LISTING, RANK, WINDOW, way_of_counting
from whenabouts.kernels.reference.matching import match as reference
from whenabouts.kernels.reference.results import collapsed, totals
from whenabouts.kernels.run import Budget
from whenabouts.language.bind import bind
from whenabouts.language.sase import parse
from whenabouts.plan.bound import Bound
from whenabouts.plan.expressions import Aggregate, Attribute, Pick
from whenabouts.plan.pattern import Measure, Output, Strategy

COUNT = Measure(Aggregate("count", None), "n")


def case_of(seed: int) -> tuple[Case, Bound]:
    rng = random.Random(seed)
    limits = Limits(
        strategies=(Strategy.ANY,),
        conditions=rng.choice([0, 0, 1, 2]),
        ambiguous=rng.random() < 0.2,
        negation=rng.random() < 0.5,
    )
    case = random_case(seed, limits)
    steps = [s for s, info in case.bound.steps.items() if not info.absent]
    measures = [COUNT]
    for k in range(rng.randint(0, 3)):
        column = rng.choice(["v", "w", None])
        function = rng.choice(["sum", "avg", "min", "max", "count"]) if column else "count"
        measures.append(Measure(Aggregate(function, Attribute(rng.choice(steps), column, Pick.EACH)), f"m{k}"))
    query = replace(case.query, output=Output.TOTAL, measures=tuple(measures))
    return case, replace(case.bound, query=query)


def close(a: Any, b: Any) -> bool:
    return a is b if a is None or b is None else math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


def test_totals_equal_the_reference() -> None:
    ways: Counter[str] = Counter()
    for seed in range(60):
        case, bound = case_of(seed)
        plan = plan_for(bound)
        if plan is None or not case.events:
            continue
        ways[way_of_counting(plan.bound, plan.lowered, merge=plan.merge, columns=len(bound.query.measures) - 1)] += 1
        rows, _, _ = match_table(plan, table_of(case.events), Budget())
        wanted = totals(replace(bound, key=plan.bound.key), reference(bound, case.events), case.events)
        found = {tuple(r[k] for k in plan.bound.key): r for r in rows.to_pylist()}
        assert set(found) == set(wanted), case.query
        for key, row in wanted.items():
            assert all(close(found[key][name], value) for name, value in row.items()), (case.query, found[key], row)
    assert min(ways[w] for w in (WINDOW, GRAPH, LISTING)) > 2


def test_collapsed_rows_cover_their_matches_and_know_when_they_are_safe() -> None:
    for seed in range(40):
        case, bound = case_of(seed)
        plan = plan_for(replace(bound, query=replace(bound.query, output=Output.COLLAPSED, measures=())))
        if plan is None or not case.events:
            continue
        rows, _, _ = match_table(plan, table_of(case.events), Budget())
        listed = [({s: set(ids) for s, ids in r["events"]}, r["safe"], r["start"]) for r in rows.to_pylist()]
        for row in collapsed(bound, reference(bound, case.events), case.events):
            start = case.events[row.start]
            wanted = {step: {case.events[i]["id"] for i in those} for step, those in row.events}
            of_start = [
                (e, safe)
                for e, safe, time in listed
                if time == start["time"] and any(start["id"] in v for v in e.values())
            ]
            covering = [
                safe for events, safe in of_start if all(ids <= events.get(s, set()) for s, ids in wanted.items())
            ]
            assert covering, case.query
            assert all(row.safe for safe in covering if safe), case.query


RANKED = [
    "b[i].v > b[i-1].v",
    "b[i].v <= b[i-1].v",
    "b[i].v > max(b[..i-1].v)",
    "b[i].v <= min(b[..i-1].v)",
    "c.v < max(b[].v)",
    "c.v >= max(b[].v)",
    "min(b[].v) < c.v",
    "c.v > b[last].v",
    "b[i].v >= b[i-1].v AND c.v < max(b[].v)",
    "b[i].v < b[i-1].v AND c.v <= b[last].v",
]


@pytest.mark.parametrize("condition", RANKED)
@pytest.mark.parametrize("pattern", ["SEQ(A a, B+ b[], C c)", "SEQ(A a, B+ b[], C c, D d)"])
def test_counting_by_rank(condition: str, pattern: str) -> None:
    text = f"PATTERN {pattern} WHERE {condition} AND skip_till_any_match WITHIN 12 RETURN TOTAL count(*)"
    bound = bind(parse(text), random_case(0).bound.schema)
    plan = plan_for(bound)
    assert plan is not None
    for seed in range(20):
        rng = random.Random(seed)
        events = [
            {"id": i, "type": rng.choice("AABBBCCD"), "time": i, "k": 0, "v": rng.randrange(5), "w": 0.0}
            for i in range(14)
        ]
        assert way_of_counting(plan.bound, plan.lowered, merge=plan.merge, columns=0) == RANK
        rows, _, _ = match_table(plan, table_of(events), Budget())
        assert rows.column("count").to_pylist() == [len(reference(bound, events))]


def test_counts_beyond_64_bits_are_null_and_averages_are_not() -> None:
    events = [{"id": i, "type": "ABC"[(i > 0) + (i == 99)], "time": i, "v": 2.0} for i in range(100)]
    query = wa.query(
        "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_any_match RETURN TOTAL count(*), avg(b[].v) AS mean"
    )
    assert query.match(events) == [{"pattern": "match", "count": None, "mean": 2.0}]


def test_counting_by_rank_over_many_starts() -> None:
    """What was doubled for one start must not outlive it: beyond 2^1024 nothing times it is no number."""
    rng = random.Random(3)
    events = [{"id": i, "type": "ABBC"[i % 4], "time": i, "v": rng.random()} for i in range(12_000)]
    text = "PATTERN SEQ(A a, B+ b[], C c) WHERE c.v < max(b[].v) AND skip_till_any_match WITHIN 8"
    (row,) = wa.query(f"{text} RETURN TOTAL count(*)").match(events)
    assert row["count"] == len(wa.query(text).match(events))
