"""The reference against the thesis, the specification's vectors, the examples of docs/semantics.md, and enumeration."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest

from tests.matching.brute_force import enumerate_matches
from tests.matching.random_queries import SCHEMA, Limits, random_case
from whenabouts.errors import UnsupportedError
from whenabouts.events.schema import Column, DType, Roles, Schema
from whenabouts.kernels.reference import values
from whenabouts.kernels.reference.functions import CALENDAR, LENIENT, STRICT, call
from whenabouts.kernels.reference.matching import match
from whenabouts.kernels.reference.results import collapsed, measures, totals
from whenabouts.language.aggregates import UserAggregate
from whenabouts.language.bind import bind
from whenabouts.language.sase import parse
from whenabouts.plan import expressions as ex
from whenabouts.plan.bound import Bound
from whenabouts.plan.pattern import Closure, Strategy
from whenabouts.plan.typing import FUNCTIONS


def script(text: str) -> list[dict]:
    """`a1@5:v=2,k=1` is event 1 of type A at time 5 with v = 2 and k = 1; a column not given is NULL."""
    events = []
    for word in text.split():
        name, _, rest = word.partition("@")
        time, _, columns = rest.partition(":")
        given = dict(pair.split("=") for pair in columns.split(",") if pair)
        numbers = {column: float(value) if column == "w" else int(value) for column, value in given.items()}
        events.append(
            {"id": int(name[1:]), "type": name[0].upper(), "time": int(time), "k": None, "v": None, "w": None} | numbers
        )
    return events


def bound(text: str, schema: Schema = SCHEMA) -> Bound:
    return bind(parse("PATTERN " + text), schema)


def matched(text: str, events: str | list[dict]) -> set[str]:
    """The matches as text, such as `a1 b2,3 c4`."""
    events = script(events) if isinstance(events, str) else events
    return {shown(signature, events) for signature in match(bound(text), events)}


def shown(signature, events) -> str:
    return " ".join(step + ",".join(str(events[row]["id"]) for row in rows) for step, rows in signature)


# ------------------------------------------------------------------------------------------------------- thesis

FIGURE = "a1@1 a2@2 b3@5 b4@6 c5@7"
BOTH = {"a1 b3,4 c5", "a2 b3,4 c5"}


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("strict_contiguity", {"a2 b3,4 c5"}),
        ("partition_contiguity", {"a2 b3,4 c5"}),
        ("skip_till_next_match", BOTH),
        ("skip_till_any_match", BOTH | {"a1 b3 c5", "a1 b4 c5", "a2 b3 c5", "a2 b4 c5"}),
        ("latest", {"a2 b3,4 c5"}),
    ],
)
def test_thesis_figure_4_1(strategy, expected):
    assert matched(f"SEQ(A a, B+ b[], C c) WHERE {strategy} WITHIN 10", FIGURE) == expected


LOADS = "r0@0 l1@1:w=0.1 l2@2:w=0.2 l3@3:w=0.15 l4@4:w=0.19 l5@5:w=0.25 e6@6"


@pytest.mark.parametrize("condition", ["b[i].w >= b[i-1].w", "b[i].w >= max(b[1..i-1].w)"])
def test_thesis_section_2_1_1_load_imbalance(condition):
    query = f"SEQ(R a, L+ b[], E c) WHERE {condition}"
    assert matched(query, LOADS) == {"a0 b1,2,5 c6"}
    found = matched(f"{query} AND skip_till_any_match", LOADS)
    assert {"a0 b1,2,5 c6", "a0 b1,3,4,5 c6"} <= found
    assert not any("2,3" in m or "2,4" in m for m in found)


def test_thesis_shoplifting():
    query = "SEQ(S a, !(C b), E c) WHERE [k] WITHIN 12"
    events = "s1@0:k=1 s2@1:k=2 c3@2:k=2 s4@3:k=3 e5@4:k=1 e6@5:k=2 e7@16:k=3"
    assert matched(query, events) == {"a1 c5"}


# ------------------------------------------------------------------------- specs of imprecise time, section 10


def confidences(text: str, uncertain: str) -> dict[str, Fraction]:
    """The probability of each match when every event has one of its instants, all equally likely."""
    names, ranges = zip(*(word.split("@") for word in uncertain.split()), strict=True)
    spans = [[int(t) for t in r.split("-")] for r in ranges]
    worlds = list(product(*(range(s[0], s[-1] + 1) for s in spans)))
    query, found = bound(text), {}
    for world in worlds:
        events = script(" ".join(f"{n}@{t}" for n, t in zip(names, world, strict=True)))
        for signature in match(query, events):
            key = shown(signature, events)
            found[key] = found.get(key, 0) + Fraction(1, len(worlds))
    return found


ANY = "WHERE skip_till_any_match"
VECTORS = [
    (f"SEQ(A a, B b, C c) {ANY} WITHIN 4", "a1@1-5 c2@3-5 b3@3-7 c4@4-6", {"a1 b3 c2": "1/15", "a1 b3 c4": "8/75"}),
    ("SEQ(A a, B b, C c) WITHIN 4", "a1@1-5 c2@3-5 b3@3-7 c4@4-6", {"a1 b3 c2": "14/225", "a1 b3 c4": "22/225"}),
    (f"SEQ(A a, B b) {ANY} WITHIN 3", "a1@1-10 b2@10", {"a1 b2": "1/5"}),
    (f"SEQ(A a, B b, C c) {ANY} WITHIN 2", "a1@1-9 b2@1-9 c3@1-9", {}),
    ("SEQ(A a, B b) WITHIN 9", "a0@0 b1@2 b2@2 b3@3", {"a0 b1": "1", "a0 b2": "1"}),
    ("SEQ(A a, B b) WITHIN 9", "a0@0-2 b1@3-5 b2@5-6", {"a0 b1": "1", "a0 b2": "1/6"}),
    ("SEQ(A a, B b, C c) WITHIN 8", "a0@0 b1@0-2 b2@1 c1@3-5 c2@2", {"a0 b1 c2": "1/3", "a0 b2 c2": "1"}),
    (
        "SEQ(A a, B b, B c) WITHIN 9",
        "a0@0-1 b1@2-4 b2@3-5 b3@1-6",
        {
            "a0 b1 c2": "25/54",
            "a0 b1 c3": "5/18",
            "a0 b2 c1": "1/12",
            "a0 b2 c3": "1/9",
            "a0 b3 c1": "2/9",
            "a0 b3 c2": "23/108",
        },
    ),
    (
        f"SEQ(A a, B+ b[], C c) {ANY} WITHIN 6",
        "a0@0-2 b1@1-3 b2@2-4 c3@3-6",
        {"a0 b1 c3": "1/2", "a0 b2 c3": "5/9", "a0 b1,2 c3": "19/108", "a0 b2,1 c3": "5/108"},
    ),
    ("SEQ(A a, !(N n), B b) WITHIN 6", "a0@0-2 n1@1-3 b2@3-5", {"a0 b2": "4/9"}),
    ("SEQ(A a, B b, !(N n)) WITHIN 4", "a0@0-1 b1@2-3 n2@2-6", {"a0 b1": "4/5"}),
    ("SEQ(!(N n), A a, B b) WITHIN 4", "a0@2-3 b1@4-5 n2@0-3", {"a0 b1": "3/4"}),
]


@pytest.mark.parametrize(("query", "events", "expected"), VECTORS)
def test_specification_vectors_over_all_possible_worlds(query, events, expected):
    assert confidences(query, events) == {match: Fraction(p) for match, p in expected.items()}


# ------------------------------------------------------------------------------ examples: query, events, matches

PREFIXES, SHORTEST = "CLOSURE PREFIXES", "CLOSURE SHORTEST"
EXAMPLES = {
    "ties: equal times are not ordered": ("SEQ(A a, B b, C c)", "a1@1 b2@2 c3@2", set()),
    "ties: nor inside a closure": (f"SEQ(A a, B+ b[]) {ANY}", "a1@1 b2@2 b3@2", {"a1 b2", "a1 b3"}),
    "ties: all at the first instant are next": ("SEQ(A a, B b)", "a0@0 b1@2 b2@2 b3@3", {"a0 b1", "a0 b2"}),
    "ties: branches of a closure": ("SEQ(A a, B+ b[], C c)", "a1@1 b2@2 b3@2 b4@3 c5@4", {"a1 b2,4 c5", "a1 b3,4 c5"}),
    "ties: the next step goes before a further element": (
        "SEQ(A a, B+ b[], C c)",
        "a1@1 b2@2 b3@3 c4@3 c5@4",
        {"a1 b2 c4"},
    ),
    "ties: but not before the first element of an optional closure": (
        "SEQ(A a, B* b[], C c)",
        "a1@1 b2@2 c3@2 c4@3",
        {"a1 c3", "a1 b2 c4"},
    ),
    "ties: an event that can be both starts both branches": (
        "SEQ(A a, B+ b[], B c)",
        "a1@1 b2@2 b3@3 b4@4",
        {"a1 b2 c3", "a1 b2,3 c4"},
    ),
    "ties: not so under contiguity": (
        "SEQ(A a, B+ b[], C c) WHERE partition_contiguity",
        "a1@1 b2@2 b3@3 c4@3 c5@4",
        {"a1 b2 c4", "a1 b2,3 c5"},
    ),
    "ties: do not interrupt contiguity": ("SEQ(A a, B b) WHERE strict_contiguity", "a1@1 x2@1 b3@2 x4@2", {"a1 b3"}),
    "types: an event is used once": ("SEQ(A a, A b)", "a1@1 a2@2 a3@3", {"a1 b2", "a2 b3"}),
    "types: any": ("SEQ(ANY a, B b)", "x1@1 b2@2 b3@3", {"a1 b2", "a2 b3"}),
    "AND: any order": ("AND(A a, B b, C c)", "b1@1 c2@2 a3@3", {"a3 b1 c2"}),
    "AND: parts do not interleave": (f"AND(SEQ(A a, B b), C c) {ANY}", "a1@1 c2@2 b3@3 c4@4", {"a1 b3 c4"}),
    "AND: an optional part may come last": ("AND(A a, B? b)", "a1@1 b2@2", {"a1 b2"}),
    "UNION: equal matches count once": ("A a UNION SEQ(A a, B? b) WHERE strict_contiguity", "a1@1", {"a1"}),
    "UNION: each by itself": ("A a UNION SEQ(A a, B b)", "a1@1 b2@2", {"a1", "a1 b2"}),
    "choice: which alternative is open until it matters": ("(A a | SEQ(A a, B b))", "a1@1 b2@2 a3@3", {"a1 b2", "a3"}),
    "choice: relevant is what some alternative takes": (
        "(SEQ(A a, B b) | SEQ(A a, C c))",
        "a1@1 b2@2 c3@3",
        {"a1 b2"},
    ),
    "groups: lists of every step": (
        "SEQ((SEQ(A a, B b))+, C c)",
        "a1@1 b2@2 a3@3 b4@4 c5@5",
        {"a1,3 b2,4 c5", "a3 b4 c5"},
    ),
    "groups: counts": (
        f"SEQ(A{{2,3}} a[], B b) {ANY}",
        "a1@1 a2@2 a3@3 b4@4",
        {"a1,2 b4", "a1,3 b4", "a2,3 b4", "a1,2,3 b4"},
    ),
    "window: less than W": ("SEQ(A a, B b) WITHIN 5", "a1@1 b2@5 a3@11 b4@16", {"a1 b2"}),
    "window: inclusive": ("SEQ(A a, B b) WITHIN 5 INCLUSIVE", "a1@1 b2@6 a3@11 b4@17", {"a1 b2"}),
    "window: events": ("SEQ(A a, B b) WITHIN 3 EVENTS", "a1@1 x2@2 b3@3 x4@3 a5@5 x6@6 b7@7", {"a5 b7"}),
    "window: events of the key": (
        "SEQ(A a, B b) WHERE [k] WITHIN 2 EVENTS",
        "a1@1:k=1 x2@2:k=2 b3@3:k=1 b4@4:k=2",
        {"a1 b3"},
    ),
    "ends: reported once": ("SEQ(A a, B+ b[])", "a1@1 b2@2 b3@3", {"a1 b2,3"}),
    "ends: an optional step": ("SEQ(A a, B? b)", "a1@1 a2@2 b3@3 a4@4", {"a1 b3", "a2 b3", "a4"}),
    "ends: with the window": ("SEQ(A a, B+ b[]) WITHIN 3", "a1@1 b2@2 b3@3 b4@4", {"a1 b2,3"}),
    "ends: with the next instant": (
        "SEQ(A a, B+ b[]) WHERE strict_contiguity",
        "a1@1 b2@2 b3@3 x4@4 b5@5",
        {"a1 b2,3"},
    ),
    "ends: what went on is not reported": ("SEQ(A a, (SEQ(B b, C c))*)", "a1@1 b2@2 c3@3 b4@4", set()),
    "ends: every prefix": (f"SEQ(A a, B* b[]) {PREFIXES}", "a1@1 b2@2 b3@3", {"a1", "a1 b2", "a1 b2,3"}),
    "ends: the shortest": (f"SEQ(A a, B{{2,}} b[]) {SHORTEST}", "a1@1 b2@2 b3@3 b4@4", {"a1 b2,3"}),
    "closures: stop early": (
        f"SEQ(A a, B+ b[], C c) {PREFIXES}",
        "a1@1 b2@2 b3@3 b4@4 c5@5",
        {"a1 b2 c5", "a1 b2,3 c5", "a1 b2,3,4 c5"},
    ),
    "closures: stopped for good": (
        f"SEQ(A a, (SEQ(B b, C c))+, D d) {PREFIXES}",
        "a1@1 b2@2 c3@3 b4@4 c5@5 d6@6",
        {"a1 b2 c3 d6", "a1 b2,4 c3,5 d6"},
    ),
    "closures: shortest": (f"SEQ(A a, B+ b[], C c) {SHORTEST}", "a1@1 b2@2 b3@3 c4@4", {"a1 b2 c4"}),
    "closures: any reports all whatever CLOSURE says": (
        f"SEQ(A a, B+ b[]) {ANY} {SHORTEST}",
        "a1@1 b2@2 b3@3",
        {"a1 b2", "a1 b3", "a1 b2,3"},
    ),
    "closures: leading, every start": ("SEQ(B+ b[], C c)", "b1@1 b2@2 c3@3", {"b1,2 c3", "b2 c3"}),
    "latest: replaces": ("SEQ(A a, B b) WHERE latest", "a1@1 a2@2 b3@3", {"a2 b3"}),
    "latest: does not consume": ("SEQ(A a, B b) WHERE latest", "a1@1 b2@2 b3@3", {"a1 b2", "a1 b3"}),
    "latest: in the middle": ("SEQ(A a, B b, C c) WHERE latest", "a1@1 b2@2 b3@3 c4@4 c5@5", {"a1 b3 c4", "a1 b3 c5"}),
    "latest: given the same prefix": (
        "SEQ(A a, B b, C c) WHERE b.v > a.v AND latest",
        "a1@1:v=3 b2@2:v=4 b3@3:v=2 c4@4",
        {"a1 b2 c4"},
    ),
    "latest: ties do not replace": ("SEQ(A a, B b) WHERE latest", "a1@1 a2@1 b3@2", {"a1 b3", "a2 b3"}),
    "latest: closures take all": (
        "SEQ(A a, B+ b[], C c) WHERE latest",
        "a1@1 b2@2 b3@3 c4@4 c5@5",
        {"a1 b2,3 c4", "a1 b2,3 c5"},
    ),
    "latest: a closure and a step at one instant": (
        "SEQ(A a, B+ b[], C c) WHERE latest",
        "a1@1 b2@2 b3@3 c4@3 c5@4",
        {"a1 b2 c4", "a1 b2,3 c5"},
    ),
    "latest: ends": ("SEQ(A a, B? b) WHERE latest", "a1@1 a2@2 b3@3", {"a1", "a2 b3"}),
}


@pytest.mark.parametrize(("query", "events", "expected"), EXAMPLES.values(), ids=EXAMPLES)
def test_examples(query, events, expected):
    assert matched(query, events) == expected


PREDICATES = {
    "the first element has no previous one": (
        "SEQ(A a, B+ b[]) WHERE b[i].v > b[i-1].v",
        "a1@1 b2@2:v=0 b3@3:v=0 b4@4:v=1",
        {"a1 b2,4"},
    ),
    "nor is it compared with itself": (
        "B+ b[] WHERE b[i].v != b[1].v",
        "b1@1:v=1 b2@2:v=1 b3@3:v=2",
        {"b1,3", "b2,3", "b3"},
    ),
    "nor with an average of nothing": (
        "SEQ(A a, B+ b[]) WHERE b[i].v > avg(b[..i-1].v)",
        "a1@1 b2@2:v=3 b3@3:v=1 b4@4:v=4",
        {"a1 b2,4"},
    ),
    "up to the element": ("SEQ(A a, B+ b[]) WHERE sum(b[..i].v) < 4", "a1@1 b2@2:v=2 b3@3:v=2 b4@4:v=1", {"a1 b2,4"}),
    "elements against a later step": (
        f"SEQ(B+ b[], C c) {ANY} AND b[i].v < c.v",
        "b1@1:v=1 b2@2:v=5 c3@3:v=3",
        {"b1 c3"},
    ),
    "decided late, not relevant for it": (
        "SEQ(B+ b[], C c) WHERE b[i].v < c.v",
        "b1@1:v=1 b2@2:v=5 c3@3:v=3 c4@4:v=6",
        {"b1,2 c4", "b2 c4"},
    ),
    "complete groups": (
        "SEQ(B+ b[], C c) WHERE avg(b[].v) > 2",
        "b1@1:v=1 b2@2:v=4 c3@3 b4@4:v=3 c5@5",
        {"b1,2 c3", "b2 c3", "b4 c5"},
    ),
    "complete groups at the end": ("SEQ(A a, B+ b[]) WHERE avg(b[].v) > 2", "a1@1 b2@2:v=4 b3@3:v=0", set()),
    "a stopped group is complete": (
        f"SEQ(A a, B+ b[]) WHERE avg(b[].v) > 2 {PREFIXES}",
        "a1@1 b2@2:v=4 b3@3:v=0",
        {"a1 b2"},
    ),
    "the last element": (
        "SEQ(B+ b[], C c) WHERE b[last].v = 2",
        "b1@1:v=1 b2@2:v=2 c3@3 b4@4:v=1 c5@5",
        {"b1,2 c3", "b2 c3"},
    ),
    "not bound, not asked": (
        "SEQ((A a | B b), C c) WHERE a.v = 1 AND b.v = 2",
        "a1@1:v=1 b2@2:v=1 b3@3:v=2 c4@4",
        {"a1 c4", "b3 c4"},
    ),
    "empty groups count 0": ("SEQ(A a, B* b[], C c) WHERE count(b[]) = 0", "a1@1 c2@2 a3@3 b4@4 c5@5", {"a1 c2"}),
    "empty groups have no average": ("SEQ(A a, B* b[], C c) WHERE avg(b[].v) > 0", "a1@1 c2@2", set()),
    "nulls are neither equal nor different": (
        "SEQ(A a, B b) WHERE NOT a.v = b.v AND skip_till_any_match",
        "a1@1:v=1 a2@2 b3@3:v=2",
        {"a1 b3"},
    ),
    "NaN is NULL": ("A a WHERE a.w IS NULL", "a1@1:w=nan a2@2:w=1 a3@3", {"a1", "a3"}),
    "aggregates ignore nulls": ("SEQ(B+ b[], C c) WHERE avg(b[].v) = 2", "b1@1:v=2 b2@2 c3@3", {"b1,2 c3"}),
    "keys: matches stay inside": ("SEQ(A a, B b) WHERE [k]", "a1@1:k=1 b2@2:k=2 b3@3:k=1", {"a1 b3"}),
    "keys: a null key is a bad row": ("SEQ(A a, B b) WHERE [k]", "a1@1 b2@2 a3@3:k=1 b4@4:k=1", {"a3 b4"}),
    "keys: contiguity per key": (
        "SEQ(A a, B b) WHERE [k] AND partition_contiguity",
        "a1@1:k=1 a2@2:k=2 b3@3:k=1",
        {"a1 b3"},
    ),
    "keys: strict contiguity looks at all": (
        "SEQ(A a, B b) WHERE [k] AND strict_contiguity",
        "a1@1:k=1 x2@2:k=2 b3@3:k=1",
        set(),
    ),
    "keys: strict, at one instant": (
        "SEQ(A a, B b) WHERE [k] AND strict_contiguity",
        "a1@1:k=1 b2@2:k=2 b3@2:k=1",
        {"a1 b3"},
    ),
}


@pytest.mark.parametrize(("query", "events", "expected"), PREDICATES.values(), ids=PREDICATES)
def test_predicates(query, events, expected):
    assert matched(query, events) == expected


ABSENCE = {
    "strictly between": ("SEQ(A a, !(N n), B b) WITHIN 6", "a1@0 n2@3 b3@3", {"a1 b3"}),
    "between": ("SEQ(A a, !(N n), B b)", "a1@0 n2@2 b3@3", set()),
    "plays no part in relevance": ("SEQ(A a, !(N n), B b)", "a1@0 n2@2 b3@3 b4@4", set()),
    "with a predicate on a later step": (
        f"SEQ(A a, !(N n), B b) {ANY} AND n.v = b.v",
        "a1@0 n2@1:v=5 b3@2:v=5 b4@3:v=6",
        {"a1 b4"},
    ),
    "agrees with the key": ("SEQ(A a, !(N n), B b) WHERE [k]", "a1@0:k=1 n2@1:k=2 b3@2:k=1", {"a1 b3"}),
    "agrees with the key under strict contiguity": (
        "SEQ(A a, B b, !(N n)) WHERE [k] AND strict_contiguity",
        "a1@0:k=1 b2@1:k=1 n3@2:k=2",
        {"a1 b2"},
    ),
    "leading, in the window of the last event": (
        "SEQ(!(N n), A a, B b) WITHIN 4",
        "n1@1 a2@2 b3@4 n4@6 a5@8 b6@10",
        {"a5 b6"},
    ),
    "leading, without a window": ("SEQ(!(N n), A a)", "a1@1 n2@2 a3@99", {"a1"}),
    "leading, in a window of events": (
        "SEQ(!(N n), A a, B b) WITHIN 3 EVENTS",
        "n1@1 a2@2 b3@3 n4@4 x5@5 a6@6 b7@7",
        {"a6 b7"},
    ),
    "trailing, in the window": ("SEQ(A a, !(N n)) WITHIN 3", "a1@1 n2@3 a3@4 n4@7", {"a3"}),
    "trailing, without a window": ("SEQ(A a, !(N n))", "a1@1 n2@99 a3@100", {"a3"}),
    "trailing, after a closure": ("SEQ(A a, B+ b[], !(N n))", "a1@1 b2@2 n3@3 b4@4", {"a1 b2,4"}),
    "a sequence": ("SEQ(A a, !SEQ(N n, M m), B b)", "a1@1 m2@2 n3@3 b4@4 a5@5 n6@6 m7@7 b8@8", {"a1 b4"}),
    "a sequence is ordered strictly": ("SEQ(A a, !SEQ(N n, M m), B b)", "a1@1 n2@2 m3@2 b4@4", {"a1 b4"}),
    "either of two": ("SEQ(A a, !(N n | M m), B b)", "a1@1 m2@2 b3@3 a4@4 b5@5", {"a4 b5"}),
    "reaches over a skipped step": ("SEQ(A a, B? b, !(N n), C c)", "a1@1 n2@2 c3@3 a4@4 n5@5 b6@6 c7@7", {"a4 b6 c7"}),
    "in every element of a group": (
        "SEQ((SEQ(A a, !(N n), B b))+, C c)",
        "a1@1 b2@2 a3@3 n4@4 b5@5 c6@6",
        set(),
    ),
    "what an unbound step decides does not count": (
        "SEQ(A a, B? b, !(N n), C c) WHERE n.v = b.v",
        "a1@1 n2@2:v=1 c3@3 a4@4 b5@5:v=2 n6@6:v=1 c7@7",
        {"a4 b5 c7"},
    ),
}


@pytest.mark.parametrize(("query", "events", "expected"), ABSENCE.values(), ids=ABSENCE)
def test_absence(query, events, expected):
    assert matched(query, events) == expected


def test_rows_without_a_time_are_set_aside():
    events = script("a1@1 x2@2 b3@3")
    events[1]["time"] = None
    assert matched("SEQ(A a, B b) WHERE strict_contiguity", events) == {"a1 b3"}


def test_times_are_rounded_down_to_the_granularity():
    columns = {**SCHEMA.columns, "time": Column("time", DType.TIME, "ms")}
    query = bind(parse("PATTERN SEQ(A a, B b)"), Schema(columns), granularity="1 s")
    events = script("a1@1100 b2@1900 b3@2000")
    assert [shown(m, events) for m in match(query, events)] == ["a1 b3"]


def test_uncertain_times_are_refused():
    schema = Schema({**SCHEMA.columns, "upper": Column("upper", DType.INT)}, Roles(upper="upper"))
    with pytest.raises(UnsupportedError):
        match(bound("SEQ(A a, B b)", schema), [])


# ------------------------------------------------------------------------------------------------------ results


def test_measures():
    query = bound(
        "SEQ(A a, B* b[], C? c, D d) RETURN a.v, d.time - a.time AS took, avg(b[].v) AS mean, b[].v AS list, "
        "b[last].v AS last, count(b[]) AS n, c.v AS nothing, a AS event"
    )
    events = script("a7@1:v=3 b8@2:v=1 b9@4:v=2 d10@9")
    (found,) = match(query, events)
    assert list(measures(query, found, events).values()) == [3, 8, 1.5, [1, 2], 2, 2, None, 7]
    events = script("a7@1:v=3 d10@9")
    (found,) = match(query, events)
    assert list(measures(query, found, events).values()) == [3, 8, None, [], None, 0, None, 7]


def test_totals():
    items = "RETURN TOTAL count(*) AS n, sum(b[].v) AS s, avg(b[].v) AS a, max(c.v) AS m"
    keyed = bound(f"SEQ(B+ b[], C c) WHERE [k] AND skip_till_any_match {items}")
    events = script("b1@1:v=1,k=1 b2@2:v=4,k=1 c3@3:v=7,k=1 b4@4:k=2 c5@5:k=2 b6@6:v=9,k=3")
    assert totals(keyed, match(keyed, events), events) == {
        (1,): {"n": 3, "s": 10, "a": 2.5, "m": 7},
        (2,): {"n": 1, "s": None, "a": None, "m": None},
    }
    assert totals(bound(f"SEQ(B+ b[], C c) {items}"), [], []) == {(): {"n": 0, "s": None, "a": None, "m": None}}


def test_collapsed_rows():
    query = bound(f"SEQ(A a, B+ b[], C c) {ANY} AND b[i].v >= b[i-1].v RETURN COLLAPSED")
    events = script("a1@1 b2@2:v=1 b3@3:v=2 c4@4 a5@11 b6@12:v=2 b7@13:v=1 c8@14")
    query_matches = match(query, events)
    rows = collapsed(query, query_matches, events)
    ids = [(events[r.start]["id"], shown(r.events, events), r.safe) for r in rows]
    assert ids == [(1, "a1 b2,3,6,7 c4,8", False), (5, "a5 b6,7 c8", False)]
    safe = bound(f"SEQ(A a, B+ b[], C c) {ANY} WITHIN 9 RETURN COLLAPSED")
    rows = collapsed(safe, match(safe, events), events)
    ids = [(events[r.start]["id"], shown(r.events, events), r.safe) for r in rows]
    assert ids == [(1, "a1 b2,3 c4", True), (5, "a5 b6,7 c8", True)]


def test_registered_aggregates():
    spread = UserAggregate(
        "spread", (math.inf, -math.inf), lambda s, x: (min(s[0], x), max(s[1], x)), lambda s: s[1] - s[0]
    )
    text = ex.Compare(">", ex.Aggregate("spread", ex.Attribute("b", "v", ex.Pick.EACH)), ex.Literal(1))
    plain = bound("SEQ(B* b[], C c)")
    query = Bound(ex.replace(plain.query, where=(text,)), plain.schema, plain.steps, plain.extent)
    events = script("b1@1:v=1 b2@2:v=3 c3@3 c4@4")
    assert [shown(m, events) for m in match(query, events, {"spread": spread})] == ["b1,2 c3"]


# ------------------------------------------------------------------------------------------------------- values


def value(text: str, **columns) -> object:
    row = {"id": 1, "type": "A", "time": 0, "k": None, "v": None, "w": None, **columns}
    query = bound(f"A a RETURN {text} AS x")
    return measures(query, (("a", (0,)),), [row])["x"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.v / 2", 3.5),
        ("a.v / 0", None),
        ("a.v % 4", 3),
        ("-a.v % 4", -3),
        ("a.v % 0", None),
        ("-5.5 % 2", -1.5),
        ("a.v + a.k", None),
        ("-a.v", -7),
        ("a.k = 1 OR a.v = 7", True),
        ("a.k = 1 OR a.v = 8", None),
        ("a.k = 1 AND a.v = 8", False),
        ("NOT a.k = 1", None),
        ("a.v IN (1, 7)", True),
        ("a.k IN (1, 7)", None),
        ("a.v NOT IN (1, 2)", True),
        ("a.v BETWEEN 1 AND 7", True),
        ("a.v NOT BETWEEN 1 AND a.k", None),
        ("a.v NOT BETWEEN 8 AND a.k", True),
        ("a.type LIKE '_'", True),
        ("a.type NOT LIKE 'A%'", False),
        ("'5% a_b' LIKE '5\\% a\\_b'", True),
        ("'5x' LIKE '5\\%'", False),
        ("a.k IS NULL", True),
        ("a.v IS NOT NULL", True),
        ("round(2.5)", 3.0),
        ("round(-2.5)", -3.0),
        ("floor(-2.5)", -3.0),
        ("ceil(2)", 2),
        ("sqrt(-1)", None),
        ("ln(0)", None),
        ("power(2, -1)", 0.5),
        ("power(-8, 0.5)", None),
        ("exp(1000)", math.inf),
        ("mod(-7, 2)", -1),
        ("sign(-0.5)", -1),
        ("coalesce(a.k, a.v)", 7),
        ("nullif(a.v, 7)", None),
        ("greatest(a.k, 3, 5)", 5),
        ("least(a.k, 3, 5)", 3),
        ("length(trim('  ab '))", 2),
        ("contains(upper('abc'), 'BC')", True),
    ],
)
def test_values(text, expected):
    found = value(text, v=7)
    assert found == expected
    assert type(found) is type(expected)


def test_calendar():
    friday = 1_717_160_521  # 2024-05-31 13:02:01 UTC
    assert [call(f, [friday * 1000], "ms") for f in ("hour", "minute", "day_of_week")] == [13, 2, 5]
    assert [call(f, [-1], "s") for f in ("hour", "minute", "day_of_week")] == [23, 59, 3]


def test_every_node_and_every_function_has_a_value():
    assert {*STRICT, *LENIENT, *CALENDAR} == set(FUNCTIONS)
    nodes = {node for node in vars(ex).values() if isinstance(node, type) and issubclass(node, ex.Expr)}
    assert set(values._RULES) == nodes - {ex.Expr, ex.DurationLiteral}


# ------------------------------------------------------------------------------------------------------- random

NEXT, LATEST = Strategy.NEXT, Strategy.LATEST
PROFILES = {
    "all": Limits(events=7),
    "ties": Limits(events=7, types=2, time=4, conditions=1, negation=False, strategies=(NEXT, LATEST)),
    "prefixes": Limits(events=6, types=2, closures=(Closure.PREFIXES,), negation=False, any_order=False),
    "absent": Limits(events=7, types=2, groups=False, union=False, parts=3),
    "conditions": Limits(events=7, types=2, parts=3, conditions=4, keys=2, values=3),
}
BATCH, BATCHES = 50, 8


@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("profile", PROFILES)
def test_against_enumeration(profile, batch):
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        case = random_case(seed, PROFILES[profile])
        assert match(case.bound, case.events) == enumerate_matches(case.bound, case.events), case


def test_the_order_of_rows_changes_nothing():
    for seed in range(100):
        case = random_case(seed)
        backwards = case.events[::-1]
        last = len(backwards) - 1
        turned = [
            tuple((step, tuple(last - row for row in rows)) for step, rows in m) for m in match(case.bound, backwards)
        ]
        assert sorted(turned) == match(case.bound, case.events), case
