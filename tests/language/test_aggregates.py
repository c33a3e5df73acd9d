"""Registered aggregates: names, shapes, and that a name never changes its meaning."""

import numpy as np
import pytest

from whenabouts.errors import WhenaboutsError
from whenabouts.events.schema import Column, DType, Schema
from whenabouts.language import aggregates
from whenabouts.language.aggregates import aggregate, registered
from whenabouts.language.bind import bind
from whenabouts.language.builder import call, seq, step
from whenabouts.language.sase import parse
from whenabouts.plan.expressions import Aggregate
from whenabouts.plan.typing import infer

QUERY = "PATTERN SEQ(A a, B+ b[]) WHERE spread(b[].v) > 1 WITHIN 5 RETURN SPREAD(b[].v)"


@pytest.fixture(autouse=True)
def _forget():
    yield
    for name in ("spread", "other"):
        aggregates._REGISTERED.pop(name, None)


def low_high(state, value):
    return min(state[0], value), max(state[1], value)


def difference(state):
    return state[1] - state[0]


def register(name="spread", init=(1e300, -1e300), step=low_high, final=difference):
    return aggregate(name, init=init, step=step, final=final)


def test_registered_aggregates_are_usable_in_text_and_builder():
    with pytest.raises(WhenaboutsError, match="no function spread"):
        parse(QUERY)
    added = register()
    assert registered()["spread"] is added
    query = parse(QUERY)
    assert isinstance(query.measures[0].expr, Aggregate)
    b = step("B", "b")
    spread = call("spread", b.all["v"])
    assert seq(step("A"), b.plus()).where(spread > 1).within(5).returns(spread).build() == query
    columns = {"id": DType.INT, "type": DType.STRING, "time": DType.INT, "v": DType.INT}
    bound = bind(query, Schema({name: Column(name, dtype) for name, dtype in columns.items()}))
    assert infer(bound.query.measures[0].expr, bound.schema) is DType.FLOAT


def test_order_dependent_totals_are_refused():
    register()
    with pytest.raises(WhenaboutsError, match="depends on an order"):
        parse("PATTERN SEQ(A a, B+ b[]) RETURN TOTAL spread(b[].v)")


def test_the_same_code_may_be_registered_again():
    first = register(step=lambda state, value: (state[0] + value, state[1]))
    again = register(step=lambda state, value: (state[0] + value, state[1]))
    assert again is first


@pytest.mark.parametrize(
    "change",
    [
        {"init": (0.0, 0.0)},
        {"final": lambda state: state[0]},
        {"step": lambda state, value: (state[0] + value, state[1])},
    ],
)
def test_other_code_under_the_same_name_is_refused(change):
    register()
    with pytest.raises(WhenaboutsError, match="registered already"):
        register(**change)


def test_captured_values_are_part_of_the_code():
    def scaled(factor):
        return lambda state: state[0] * factor

    register(final=scaled(2))
    register(final=scaled(2))
    with pytest.raises(WhenaboutsError, match="registered already"):
        register(final=scaled(3))


def test_captured_arrays_count_as_other_code():
    def looked_up(table):
        return lambda state: table[0] * state[0]

    register(final=looked_up(np.ones(2)))
    with pytest.raises(WhenaboutsError, match="registered already"):
        register(final=looked_up(np.ones(2)))


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "avg"},
        {"name": "abs"},
        {"name": "latest"},
        {"name": "Spread"},
        {"name": "a b"},
        {"name": "limit"},
        {"name": 5},
        {"init": [0.0]},
        {"init": ()},
        {"init": (0, 0)},
        {"init": (float("nan"),)},
        {"init": (0.0,) * 17},
        {"step": max},
        {"step": lambda state: state},
        {"step": lambda state, value=1: state},
        {"step": lambda state, *values: state},
        {"final": lambda state, value: 0.0},
        {"final": None},
    ],
)
def test_wrong_registrations_are_refused(wrong):
    with pytest.raises(WhenaboutsError):
        register(**wrong)
    assert "spread" not in registered()
