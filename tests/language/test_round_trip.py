"""Canonical text: what is printed parses to the same query, and printing again changes nothing."""

import pytest
from hypothesis import given, settings

from tests.language.queries import queries
from whenabouts.language.sase import parse
from whenabouts.plan import expressions, pattern, render, typing
from whenabouts.plan.expressions import Aggregate, Arithmetic, Attribute, Expr, Literal, Negate, Not, Or, Pick


@settings(deadline=None, max_examples=300)
@given(queries())
def test_text_of_a_query_parses_to_it(query):
    text = render.render(query)
    again = parse(text)
    assert again == query, text
    assert render.render(again) == text


def subclasses(parent: type) -> set[type]:
    return {cls for module in (expressions, pattern) for cls in vars(module).values() if is_node(cls, parent)}


def is_node(cls: object, parent: type) -> bool:
    return isinstance(cls, type) and issubclass(cls, parent) and cls is not parent


def test_every_node_kind_is_printed_and_typed():
    assert set(render.RULES) == subclasses(Expr)
    assert set(typing.RULES) == subclasses(Expr)


def test_every_pattern_kind_is_printed():
    text = "PATTERN SEQ(A a, !(N n), (B b | C c), AND(D d, E e), F+ f[])"
    kinds = {type(node) for node in pattern.walk_pattern(parse(text).patterns[0])}
    assert kinds == subclasses(pattern.Pattern)
    with pytest.raises(AssertionError):
        render.render_pattern(pattern.Pattern())


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (Negate(Negate(Attribute("a", "v"))), "-(-a.v)"),
        (Arithmetic("-", Literal(1), Literal(-1)), "1 - -1"),
        (Not(Or((Attribute("a", "x"), Attribute("a", "y")))), "NOT (a.x OR a.y)"),
        (Aggregate("count", None), "count(*)"),
        (Attribute("b", "v", Pick.EACH_BEFORE), "b[..i-1].v"),
        (Attribute("b", "v"), "b[i].v"),
    ],
)
def test_expressions(expr, text):
    assert render.render_expr(expr, closures={"b"}) == text


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "a.v, c.time - a.time, a.v * 2, a.v / c.v, a.v % 2",
            "a_v c_time_minus_a_time a_v_times_2 a_v_per_c_v a_v_mod_2",
        ),
        ("avg(b[].v), b[last].v, b[1].v, b[].v, count(b[]), b, a", "avg_b_v b_last_v b_first_v b_v count_b b a"),
        ("abs(a.v), coalesce(a.v, 0), a.v AS x", "abs_a_v coalesce_a_v_0 x"),
    ],
)
def test_derived_names(text, names):
    query = parse(f"PATTERN SEQ(A a, B+ b[], C c) RETURN {text}")
    assert [m.name for m in query.measures] == names.split()


def test_long_names_are_not_derived():
    expr = Attribute("a", "x" * 70)
    assert render.derived_name(expr) is None
