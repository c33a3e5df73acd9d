"""The builder: the same plans as text, and the same refusals in the same words."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings

import whenabouts as wa
from tests.language.queries import drafts
from whenabouts.errors import WhenaboutsError
from whenabouts.language.builder import Draft, absent, all_of, any_of, call, seq, step, union
from whenabouts.language.check import check
from whenabouts.language.sase import parse
from whenabouts.plan.pattern import Strategy

A, B, C, N = step("A", "a"), step("B", "b"), step("C", "c"), step("N", "n")
AB = seq(A, B.plus())

SAME = [
    (A, "PATTERN A a"),
    (seq(step("A"), step("Task Start", "s"), step(None, "e")), 'PATTERN SEQ(A, "Task Start" s, ANY e)'),
    (
        seq(A.plus(), B.star(), C.optional(), N.times(2), step("D").at_least(2), step("E").times(2, 4)),
        "PATTERN SEQ(A+ a, B* b, C? c, N{2} n, D{2,} d, E{2,4} e)",
    ),
    (seq(seq(A, B).plus(), any_of(C, N).optional()), "PATTERN SEQ((SEQ(A a, B b))+, (C c | N n)?)"),
    (all_of(A, any_of(B)), "PATTERN AND(A a, (B b))"),
    (seq(A, absent(N), absent(seq(B, C)), step("D")), "PATTERN SEQ(A a, !(N n), !SEQ(B b, C c), D d)"),
    (union(A, seq(B, C)), "PATTERN A a UNION SEQ(B b, C c)"),
    (
        AB.where(A["v"] > 1, B["v"] != "x", B.i["v"] >= B.prev["v"], B.first["v"] < B.last["v"]),
        "PATTERN SEQ(A a, B+ b) WHERE a.v > 1 AND b.v != 'x' AND b[i].v >= b[i-1].v AND b[1].v < b[last].v",
    ),
    (
        AB.where((call("avg", B.all["v"]) > call("MAX", B.before["v"])) | (call("sum", B.upto["v"]) <= 2)),
        "PATTERN SEQ(A a, B+ b) WHERE avg(b[].v) > max(b[..i-1].v) OR sum(b[..i].v) <= 2",
    ),
    (
        AB.where((A["x"] == 1) & (A["y"] == 2) & ~((A["z"] == 3) | (A["z"] == 4) | (A["z"] == 5))),
        "PATTERN SEQ(A a, B+ b) WHERE a.x = 1 AND a.y = 2 AND NOT (a.z = 3 OR a.z = 4 OR a.z = 5)",
    ),
    (
        AB.where(A["s"].isin(["x", "y"]), ~A["v"].isin([1, 2.5]), A["v"].between(1, 2), ~A["v"].between(1, 2)),
        """PATTERN SEQ(A a, B+ b) WHERE a.s IN ('x', 'y') AND a.v NOT IN (1, 2.5)
        AND a.v BETWEEN 1 AND 2 AND a.v NOT BETWEEN 1 AND 2""",
    ),
    (
        AB.where(A["s"].like("x%"), ~A["s"].like("y"), A["s"].is_null(), ~A["s"].is_null(), A["ok"], ~A["ok"]),
        """PATTERN SEQ(A a, B+ b) WHERE a.s LIKE 'x%' AND a.s NOT LIKE 'y'
        AND a.s IS NULL AND a.s IS NOT NULL AND a.ok AND NOT a.ok""",
    ),
    (
        AB.where(1 + A["v"] - 2 > 3 - A["v"] * 2 / 4 % 5, 2 * A["v"] == 1 / A["v"], 7 % A["v"] == -A["v"]),
        "PATTERN SEQ(A a, B+ b) WHERE 1 + a.v - 2 > 3 - a.v * 2 / 4 % 5 AND 2 * a.v = 1 / a.v AND 7 % a.v = -a.v",
    ),
    (
        seq(A, C).where(C["time"] - A["time"] > timedelta(minutes=90), C["time"] > A["time"] + timedelta(days=-1)),
        "PATTERN SEQ(A a, C c) WHERE c.time - a.time > 90 minutes AND c.time > a.time + -1 day",
    ),
    (
        A.where(A["time"] > datetime(2024, 5, 31, 12, tzinfo=UTC), A["v"] == None, A["ok"] == True),  # noqa: E711, E712
        "PATTERN A a WHERE a.time > '2024-05-31 12:00:00+00:00' AND a.v = NULL AND a.ok = TRUE",
    ),
    (AB.key("k", "my key").key("k"), 'PATTERN SEQ(A a, B+ b) WHERE [k, "my key"]'),
    (AB.match_by("skip till any match"), "PATTERN SEQ(A a, B+ b) WHERE skip_till_any_match"),
    (AB.match_by(Strategy.LATEST), "PATTERN SEQ(A a, B+ b) WHERE latest"),
    (AB.within(10), "PATTERN SEQ(A a, B+ b) WITHIN 10"),
    (AB.within(15, "seconds", inclusive=True), "PATTERN SEQ(A a, B+ b) WITHIN 15 s INCLUSIVE"),
    (AB.within(20, "events"), "PATTERN SEQ(A a, B+ b) WITHIN 20 EVENTS"),
    (AB.within(timedelta(milliseconds=1500)), "PATTERN SEQ(A a, B+ b) WITHIN 1500 ms"),
    (AB.within(timedelta(microseconds=1)), "PATTERN SEQ(A a, B+ b) WITHIN 1 us"),
    (AB.closure("Shortest").limit(3), "PATTERN SEQ(A a, B+ b) CLOSURE shortest LIMIT 3"),
    (AB.closure("set").confidence(0.9), "PATTERN SEQ(A a, B+ b) CLOSURE set CONFIDENCE >= 0.9"),
    (AB.confidence(0.5, above=True).top(10), "PATTERN SEQ(A a, B+ b) TOP 10 BY CONFIDENCE CONFIDENCE > 0.5"),
    (AB.confidence(1), "PATTERN SEQ(A a, B+ b) CONFIDENCE >= 1"),
    (
        AB.returns(A, B, B.last, B.all["v"], A["v"], rise=call("max", B.all["v"]) - A["v"]),
        "PATTERN SEQ(A a, B+ b) RETURN a, b, b[last], b[].v, a.v, max(b[].v) - a.v AS rise",
    ),
    (
        AB.match_by("skip_till_any_match").collapsed(),
        "PATTERN SEQ(A a, B+ b) WHERE skip till any match RETURN COLLAPSED",
    ),
    (
        AB.total(call("count"), call("sum", B.all["v"]), mean=call("avg", A["v"])),
        "PATTERN SEQ(A a, B+ b) RETURN TOTAL count(*), sum(b[].v), avg(a.v) AS mean",
    ),
    (
        AB.where(call("coalesce", A["v"], 0) > call("abs", -1.5)),
        "PATTERN SEQ(A a, B+ b) WHERE coalesce(a.v, 0) > abs(-1.5)",
    ),
]
REFUSED = [
    (lambda: seq(A, A), "PATTERN SEQ(A a, A a)"),
    (A.star, "PATTERN A* a"),
    (lambda: absent(A), "PATTERN !(A a)"),
    (lambda: seq(A, absent(B.plus()), C), "PATTERN SEQ(A a, !(B+ b[]), C c)"),
    (lambda: all_of(A, absent(B)), "PATTERN AND(A a, !(B b))"),
    (lambda: A.times(0), "PATTERN A{0} a"),
    (lambda: A.times(4, 2), "PATTERN A{4,2} a"),
    (lambda: A.times(2000), "PATTERN A{2000} a"),
    (lambda: step("", "a"), 'PATTERN "" a'),
    (lambda: AB.where(step("X", "x")["v"] > 1), "PATTERN SEQ(A a, B+ b[]) WHERE x.v > 1"),
    (lambda: AB.where(B.all["v"] > 1), "PATTERN SEQ(A a, B+ b[]) WHERE b[].v > 1"),
    (lambda: AB.where(A.prev["v"] > 1), "PATTERN SEQ(A a, B+ b[]) WHERE a[i-1].v > 1"),
    (lambda: AB.where(call("avg", A["v"]) > 1), "PATTERN SEQ(A a, B+ b[]) WHERE avg(a.v) > 1"),
    (lambda: AB.where(call("avg", call("sum", B.all["v"])) > 1), "PATTERN SEQ(A a, B+ b) WHERE avg(sum(b[].v)) > 1"),
    (lambda: AB.where(call("absolute", A["v"]) > 1), "PATTERN SEQ(A a, B+ b[]) WHERE absolute(a.v) > 1"),
    (lambda: AB.where(call("abs", A["v"], 1) > 1), "PATTERN SEQ(A a, B+ b[]) WHERE abs(a.v, 1) > 1"),
    (lambda: AB.where(call("min", A["v"], 1) > 1), "PATTERN SEQ(A a, B+ b[]) WHERE min(a.v, 1) > 1"),
    (lambda: AB.where(A["v"].isin([None])), "PATTERN SEQ(A a, B+ b[]) WHERE a.v IN (NULL)"),
    (lambda: AB.where(A["v"] > 2**63), "PATTERN SEQ(A a, B+ b[]) WHERE a.v > 9223372036854775808"),
    (lambda: AB.where(A["v"] > float("inf")), "PATTERN SEQ(A a, B+ b[]) WHERE a.v > 1e999"),
    (lambda: seq(A, absent(N), C).returns(N), "PATTERN SEQ(A a, !(N n), C c) RETURN n"),
    (lambda: AB.returns(B.i["v"]), "PATTERN SEQ(A a, B+ b[]) RETURN b[i].v"),
    (lambda: AB.returns(A["v"] > 1), "PATTERN SEQ(A a, B+ b[]) RETURN a.v > 1"),
    (lambda: AB.returns(A["v"], A["v"]), "PATTERN SEQ(A a, B+ b[]) RETURN a.v, a.v"),
    (lambda: AB.returns(start=A["v"]), "PATTERN SEQ(A a, B+ b[]) RETURN a.v AS start"),
    (lambda: AB.total(A["v"]), "PATTERN SEQ(A a, B+ b[]) RETURN TOTAL a.v"),
    (lambda: AB.total(call("count")).limit(1), "PATTERN SEQ(A a, B+ b[]) RETURN TOTAL count(*) LIMIT 1"),
    (AB.collapsed, "PATTERN SEQ(A a, B+ b[]) RETURN COLLAPSED"),
    (lambda: AB.within(0), "PATTERN SEQ(A a, B+ b[]) WITHIN 0"),
    (lambda: AB.within(5, "m"), "PATTERN SEQ(A a, B+ b[]) WITHIN 5 m"),
    (lambda: AB.within(2.5, "events"), "PATTERN SEQ(A a, B+ b[]) WITHIN 2.5 EVENTS"),
    (lambda: AB.limit(0), "PATTERN SEQ(A a, B+ b[]) LIMIT 0"),
    (lambda: AB.top(0), "PATTERN SEQ(A a, B+ b[]) TOP 0 BY CONFIDENCE"),
    (lambda: AB.top(3).limit(5), "PATTERN SEQ(A a, B+ b[]) TOP 3 BY CONFIDENCE LIMIT 5"),
    (lambda: AB.total(call("count")).top(1), "PATTERN SEQ(A a, B+ b) RETURN TOTAL count(*) TOP 1 BY CONFIDENCE"),
    (lambda: AB.total(call("count")).confidence(0.5), "PATTERN SEQ(A a, B+ b) RETURN TOTAL count(*) CONFIDENCE >= 0.5"),
    (lambda: AB.confidence(1.5), "PATTERN SEQ(A a, B+ b[]) CONFIDENCE >= 1.5"),
    (lambda: AB.confidence(1, above=True), "PATTERN SEQ(A a, B+ b[]) CONFIDENCE > 1"),
]
MISUSED = [
    lambda: bool(A["v"] > 1),
    lambda: 1 < A["v"] < 5,
    lambda: A["v"] + object(),
    lambda: A["v"] == [1],
    lambda: A[1],
    lambda: A["v"].isin([]),
    lambda: A["v"].isin([A["w"]]),
    lambda: A["v"].like(5),
    lambda: step(5, "a"),
    lambda: step(None),
    lambda: seq(A, "B b"),
    lambda: seq(A, A.where(A["v"] > 1)),
    lambda: A.times("2"),
    lambda: A.limit(1.5),
    lambda: A.top(1.5),
    lambda: A.confidence("0.9"),
    lambda: A.confidence(least=True),
    lambda: A.confidence(float("nan")),
    lambda: A.confidence(-0.1),
    lambda: A.confidence(10**5000),
    lambda: A.limit(count=True),
    lambda: A.within("15 seconds"),
    lambda: A.within(float("nan")).build(),
    lambda: A.within(10**5000).build(),
    lambda: A.where(A["v"] > 10**5000).build(),
    lambda: A.where(A["v"] == "\0").build(),
    lambda: A.where(A["v"] == "\ud800").build(),
    lambda: A.key("").build(),
    lambda: A.returns(**{"": A["v"]}).build(),
    lambda: A.match_by("fast"),
    lambda: A.closure("some"),
    lambda: A.total(call("count")).returns(A),
    lambda: step("A", "within").build(),
    lambda: step("A", "a b").build(),
    lambda: seq().build(),
    lambda: any_of().build(),
    lambda: union().build(),
]


def identity(case: object) -> str:
    return case if isinstance(case, str) else ""


@pytest.mark.parametrize(("built", "text"), SAME, ids=identity)
def test_builder_and_text_give_the_same_query(built, text):
    assert built.build("q") == parse(text, "q")


def refusal(make):
    with pytest.raises(WhenaboutsError) as caught:
        make()
    return type(caught.value), caught.value.code, caught.value.message


@pytest.mark.parametrize(("make", "text"), REFUSED, ids=identity)
def test_builder_and_text_refuse_in_the_same_words(make, text):
    assert refusal(lambda: make().build()) == refusal(lambda: parse(text))


@pytest.mark.parametrize("misuse", MISUSED)
def test_misuse_is_one_of_our_errors(misuse):
    with pytest.raises(WhenaboutsError):
        misuse()


@settings(deadline=None, max_examples=30)
@given(drafts())
def test_checking_twice_changes_nothing(query):
    assert check(check(query)) == check(query)


def test_drafts_are_never_changed():
    draft = AB.where(A["v"] > 1)
    draft.within(5).limit(3)
    assert draft.build() == parse("PATTERN SEQ(A a, B+ b) WHERE a.v > 1")
    assert isinstance(draft, Draft)


@pytest.mark.parametrize("wrap", [lambda v: v + 1, lambda v: -v, lambda v: ~v, lambda v: call("abs", v)])
def test_endless_nesting_is_refused(wrap):
    value = A["v"]
    for _ in range(20_000):
        value = wrap(value)
    for make in (lambda: A.where(value == 1).build(), lambda: A.returns(value)):
        with pytest.raises(WhenaboutsError, match="above one another"):
            make()


@pytest.mark.parametrize("wrap", [seq, lambda p: p.plus(), lambda p: all_of(p, B), absent])
def test_endless_patterns_are_refused(wrap):
    part = A
    for _ in range(20_000):
        part = wrap(part)
    with pytest.raises(WhenaboutsError, match=r"nested more than|more than 60 steps"):
        part.build()


def test_values_print_and_do_not_hash():
    assert "Attribute" in repr(A["v"])
    with pytest.raises(TypeError):
        hash(A["v"])


@pytest.mark.parametrize(
    ("numpys", "plain"),
    [
        (np.float64(3), 3.0),
        (np.float32(0.5), 0.5),
        (np.int64(3), 3),
        (np.uint8(3), 3),
        (np.bool_(True), True),  # noqa: FBT003
        (np.str_("x"), "x"),
    ],
)
def test_numpy_scalars_are_pythons(numpys, plain):
    a = step("A", "a")
    for new, old in ((a["x"] == numpys, a["x"] == plain), (numpys == a["x"], plain == a["x"])):
        assert new.expr == old.expr
    for value in (new.expr.right, a["x"].isin([numpys]).expr.items[0], (a["x"] + numpys).expr.right):
        assert type(value.value) is type(plain)
    assert "np." not in str(wa.query(seq(a, step("B")).where(a["x"] == numpys)))


def test_numpy_numbers_in_clauses():
    ours, pythons = (
        seq(step("A").times(n(2)), step("B")).within(n(5)).confidence(n(1)).top(n(3)).build() for n in (np.int64, int)
    )
    assert str(ours) == str(pythons)
    with pytest.raises(WhenaboutsError, match="timedelta64"):
        seq(step("A", "a"), step("B")).where(step("A", "a")["x"] > np.timedelta64(3, "s"))
