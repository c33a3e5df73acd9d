"""Types of expressions, as written and after binding."""

import pytest

from whenabouts.errors import WhenaboutsError
from whenabouts.events.schema import Column, DType, Roles, Schema
from whenabouts.language.sase import parse
from whenabouts.plan.expressions import Arithmetic, Attribute, Compare, Literal
from whenabouts.plan.typing import AGGREGATES, FUNCTIONS, infer

TYPES = {"id": DType.INT, "type": DType.STRING, "n": DType.INT, "v": DType.FLOAT, "s": DType.STRING, "ok": DType.BOOL}
CLOCK = Schema(
    {
        **{name: Column(name, dtype) for name, dtype in TYPES.items()},
        "time": Column("time", DType.TIME, "us"),
        "dur": Column("dur", DType.DURATION, "us"),
    }
)
TICKS = Schema({**CLOCK.columns, "time": Column("time", DType.INT)})


def item(text: str):
    return parse(f"PATTERN SEQ(A a, B+ b[], C c) RETURN {text} AS x").measures[0].expr


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("a.n + 1", "int"),
        ("a.n / 2", "float"),
        ("a.n * 2.0", "float"),
        ("a.n % 7", "int"),
        ("-a.v", "float"),
        ("NULL", "null"),
        ("NULL + 1", "int"),
        ("1 / NULL", "float"),
        ("a.time - c.time", "duration"),
        ("a.time + 5 s", "time"),
        ("5 s + a.time", "time"),
        ("a.time - 5 s", "time"),
        ("a.time % 1 h", "duration"),
        ("a.dur + a.dur", "duration"),
        ("a.dur * 2", "duration"),
        ("a.dur * 0.5", "float"),
        ("a.dur / 5 s", "float"),
        ("a.dur / 2", "float"),
        ("a.dur + 0.5 * a.dur", "float"),
        ("a.v > 1", "bool"),
        ("a.ok AND NOT a.ok OR NULL", "bool"),
        ("a.time > '2024-01-01'", "bool"),
        ("a.dur > 1.5 * avg(b[].dur)", "bool"),
        ("avg(b[].n)", "float"),
        ("avg(b[].dur)", "float"),
        ("sum(b[].n)", "int"),
        ("sum(b[].dur)", "duration"),
        ("min(b[].time)", "time"),
        ("max(b[].v)", "float"),
        ("count(b[])", "int"),
        ("count(b[].s)", "int"),
        ("first(b[].s)", "string"),
        ("last(b[].time)", "time"),
        ("b[].ok", "bool"),
        ("b[]", "int"),
        ("abs(a.dur)", "duration"),
        ("round(a.n)", "int"),
        ("round(a.v)", "float"),
        ("sign(a.dur)", "int"),
        ("coalesce(NULL, a.n, 2.5)", "float"),
        ("greatest(a.time, a.time)", "time"),
        ("nullif(a.s, 'x')", "string"),
        ("hour(a.time)", "int"),
        ("length(trim(a.s))", "int"),
    ],
)
def test_types_as_written(text, dtype):
    assert infer(item(text), CLOCK, written=True) == dtype


@pytest.mark.parametrize("text", ["a.time > 5", "a.dur > 5", "a.dur + 5", "a.time + 5", "a.dur > 5.0", "a.v > 5 s"])
def test_numbers_are_no_times_as_written(text):
    with pytest.raises(WhenaboutsError):
        infer(item(text), CLOCK, written=True)
    assert infer(item(text), CLOCK)  # after binding literals are plain numbers


@pytest.mark.parametrize("text", ["a.time - c.time > 5", "a.time + 5 > 2", "a.time - c.time > 5 s", "a.time % 60 = 0"])
def test_on_a_clock_of_integers_numbers_are_times(text):
    assert infer(item(text), TICKS, written=True) == "bool"


def test_row_numbers_are_integers():
    assert infer(Attribute("a", None), Schema(CLOCK.columns, Roles(id=None))) is DType.INT


def test_unknown_columns_are_named():
    with pytest.raises(WhenaboutsError, match="no column 'w'"):
        infer(Attribute("a", "w"), CLOCK)


def test_shared_nodes_are_typed_once():
    expr = Attribute("a", "n")
    for _ in range(60):  # 2**60 visits, were each side typed anew
        expr = Arithmetic("+", expr, expr)
    assert infer(Compare(">", expr, Literal(1)), CLOCK) is DType.BOOL


def test_no_aggregate_is_a_function():
    assert not set(AGGREGATES) & set(FUNCTIONS)
