"""The reference of uncertain time against the rules of its spec, enumerated independently."""

import operator
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from tests.matching.brute_force import enumerate_matches
from tests.uncertain.brute_force import Negated, Pattern, Positive, matches_in_worlds
from tests.uncertain.random_cases import (
    PROFILES,
    SCHEMA,
    Limits,
    UncertainCase,
    random_uncertain_case,
)
from whenabouts.errors import UnsupportedError
from whenabouts.events.schema import Column, DType, Roles, Schema
from whenabouts.kernels.reference.matching import match
from whenabouts.kernels.reference.unordered import match_unordered
from whenabouts.kernels.reference.worlds import match_uncertain
from whenabouts.language.bind import bind
from whenabouts.language.sase import parse

OPERATORS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "!=": operator.ne,
    "=": operator.eq,
}
AGGREGATES = {"sum": sum, "max": max, "min": min, "count": len}
SMALL = {
    name: replace(limits, worlds=400)
    for name, limits in PROFILES.items()
    if name not in ("nested", "unordered", "wide")
}

# ------------------------------------------------------------------ a case in the words of the brute force


def described(case: UncertainCase, group: str) -> Pattern:
    """The pattern of a linear case; `group` is the kind of its closures."""
    positive = [slot for slot in case.slots if slot.kind != "absent"]
    names = [slot.steps[0][1] for slot in positive]
    gaps = [n for n, slot in enumerate(case.slots) if slot.kind == "absent"]
    amount, inclusive = case.window or (float("inf"), "")
    return Pattern(
        tuple(
            Positive(slot.steps[0][0], group if slot.many else "single", takes(case, names, j))
            for j, slot in enumerate(positive)
        ),
        amount + bool(inclusive),
        case.strategy == "skip_till_next_match",
        tuple(
            Negated(
                case.slots[n].steps[0][0], n - sum(g < n for g in gaps), forbids(case, names, case.slots[n].steps[0][1])
            )
            for n in gaps
        ),
        lambda groups: all(holds(c, dict(zip(names, groups, strict=True))) for c in hosted(case, names, len(names))),
    )


def terms(condition):
    return [t for t in (condition.left, condition.right) if not isinstance(t, int)]


def hosted(case, names, j):
    """The conditions that E_j decides: it is the last they mention, or follows a group they read as a whole."""
    for c in case.conditions:
        if all(t.name in names for t in terms(c)):
            places = [names.index(t.name) + (t.reads in AGGREGATES) for t in terms(c)]
            if max(places) == j:
                yield c


def takes(case, names, j):
    def test(prefix, mine, x):
        bound = dict(zip(names, (*prefix, (*mine, x)), strict=False))
        akin = not case.keyed or len({e["k"] for group in bound.values() for e in group}) == 1
        return akin and all(holds(c, bound) for c in hosted(case, names, j))

    return test


def forbids(case, names, name):
    def test(groups, x):
        bound = dict(zip(names, groups, strict=True)) | {name: (x,)}
        akin = not case.keyed or x["k"] == groups[0][0]["k"]
        return akin and all(holds(c, bound) for c in case.conditions if name in [t.name for t in terms(c)])

    return test


def holds(condition, bound):
    """For every element of a group that is read by element; against the previous one from the second on."""
    sides = [condition.left, condition.right]
    least = {t.name: 0 for t in terms(condition)} | {t.name: 1 for t in terms(condition) if t.reads == "previous"}
    places = [[(name, i) for i in range(first, len(bound[name]))] for name, first in least.items()]
    if any(t.reads in AGGREGATES for t in terms(condition)):
        whole = {t.name for t in terms(condition) if t.reads in AGGREGATES}
        places = [[(name, 0)] if name in whole else p for (name, _), p in zip(least.items(), places, strict=True)]
    for chosen in product(*places):
        at = dict(chosen)
        left, right = (
            side if isinstance(side, int) else value(side, bound[side.name], at[side.name]) for side in sides
        )
        if not OPERATORS[condition.op](left, right):
            return False
    return True


def value(term, group, i):
    if term.reads in AGGREGATES:
        return AGGREGATES[term.reads]([e["v"] for e in group])
    return group[i - (term.reads == "previous")]["v"]


# ------------------------------------------------------------------------------------------------- comparisons


def reference(case, *, closure_as_set=False):
    """{groups: (confidence, points)} of the reference."""
    found = match_uncertain(case.bound, case.events, case.pmfs, closure_as_set=closure_as_set)
    return {tuple(rows for _, rows in m.signature): (m.confidence, set(m.points)) for m in found}


def compared(case, group):
    """Checks one case and returns how many of its matches are neither certain nor impossible."""
    wanted = matches_in_worlds(described(case, group), case.events, case.pmfs)
    assert reference(case, closure_as_set=group == "set") == wanted, f"{case.text} {case.events}"
    return sum(confidence < 1 for confidence, _ in wanted.values())


@pytest.mark.parametrize("profile", SMALL)
def test_reference_equals_the_rules(profile):
    assert sum(compared(random_uncertain_case(seed, SMALL[profile]), "seq") for seed in range(40)) > 30


@pytest.mark.parametrize("strategy", ["skip_till_any_match", "skip_till_next_match"])
def test_unordered_groups_equal_the_rules(strategy):
    limits = Limits(ordered=False, worlds=400, strategies=(strategy,), slots=("step", "closure", "closure", "absent"))
    cases = [random_uncertain_case(seed, limits) for seed in range(80)]
    assert sum(compared(case, "set") for case in cases) > 60


# ---------------------------------------------------------------------------------- patterns that are not linear

EXACT = Schema(SCHEMA.columns | {"time": Column("time", DType.INT)}, Roles())


def test_reference_equals_enumeration_in_every_world():
    """Here the rules are those of docs/semantics.md, which tests/matching enumerates for exact time."""
    uncertain = 0
    for seed in range(40):
        case = random_uncertain_case(seed, replace(PROFILES["nested"], worlds=40, events=6))
        bound = bind(parse(case.text), EXACT)
        wanted = {}
        for world in product(*case.pmfs):
            probability = Fraction(1)
            for pmf, time in zip(case.pmfs, world, strict=True):
                probability *= pmf[time]
            drawn = [event | {"time": time} for event, time in zip(case.events, world, strict=True)]
            for signature in enumerate_matches(bound, drawn):
                wanted[signature] = wanted.get(signature, 0) + probability
        found = {m.signature: m.confidence for m in match_uncertain(case.bound, case.events, case.pmfs)}
        assert found == wanted, f"{case.text} {case.events}"
        uncertain += sum(confidence < 1 for confidence in wanted.values())
    assert uncertain > 25


def test_certain_times_are_exact_matching():
    """Every event at one instant: the exact matches with confidence 1."""
    for seed in range(60):
        case = random_uncertain_case(seed, replace(PROFILES["nested"], width=1, keys=2))
        bound = bind(parse(case.text), EXACT)
        exact = match(bound, [event | {"time": event["lower"]} for event in case.events])
        found = match_uncertain(case.bound, case.events, case.pmfs)
        assert [m.signature for m in found] == exact
        assert {m.confidence for m in found} <= {1}


# ------------------------------------------------------------------------------------------ unordered and ordered


def test_without_ties_next_groups_are_the_same_unordered_and_in_order():
    """Under skip till next match a group is everything relevant up to the next step, however it is bound."""
    limits = Limits(
        ordered=False, width=1, time=40, strategies=("skip_till_next_match",), slots=("step", "closure", "absent")
    )
    matched = 0
    for seed in range(300):
        case = random_uncertain_case(seed, limits)
        times = [event["lower"] for event in case.events]
        if len(set(times)) < len(times):
            continue
        bound = bind(parse(case.text), EXACT)
        drawn = [event | {"time": event["lower"]} for event in case.events]
        in_order = match(bound, drawn)
        sets = sorted(tuple((step, tuple(sorted(rows))) for step, rows in signature) for signature in in_order)
        assert match_unordered(bound, drawn) == sets, f"{case.text} {case.events}"
        matched += len(sets)
    assert matched > 80


@pytest.mark.parametrize(
    "text",
    [
        "SEQ(A a, B+ b[]) WHERE b[i].v > b[i-1].v",
        "SEQ(A a, B+ b[]) WHERE b[1].v > a.v",
        "SEQ(A a, B+ b[]) WHERE b[last].v > a.v",
        "SEQ(A a, B+ b[]) WHERE b[i].v > avg(b[..i-1].v)",
        "SEQ(A a, B+ b[]) WHERE first(b[].v) > 1",
        "SEQ(A a, B? b)",
        "SEQ(A a, B{2} b[])",
        "(A a | B b)",
        "AND(A a, B b)",
        "SEQ(A a, !SEQ(B b, C c), C d)",
        "SEQ(A a, B+ b[]) WHERE latest",
        "SEQ(A a, B+ b[]) WITHIN 5 CLOSURE PREFIXES",
        "SEQ(A a, B+ b[]) WITHIN 3 EVENTS",
    ],
)
def test_unordered_groups_refuse_what_they_do_not_define(text):
    bound = bind(parse(f"PATTERN {text}"), EXACT)
    with pytest.raises(UnsupportedError):
        match_unordered(bound, [])
