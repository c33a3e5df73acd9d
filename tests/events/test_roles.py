"""What a user says about times, and what of it can be refused before there is a table."""

import copy
from datetime import timedelta

import pytest

import whenabouts as wa
from whenabouts.errors import WhenaboutsError
from whenabouts.events.roles import ErrorTable
from whenabouts.events.schema import Error, ErrorBySource, ErrorColumn, Roles, Shape

TEXT = "PATTERN SEQ(A a, B b) WITHIN 10"


def roles(**options):
    return wa.query(TEXT, **options).options.roles


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, Roles()),
        ({"time": "at"}, Roles(lower="at", upper="at")),
        ({"time": ("low", "high")}, Roles(lower="low", upper="high")),
        ({"time": ("low", "high"), "pmf": "p"}, Roles(lower="low", upper="high", pmf="p")),
        ({"error": 3}, Roles(error=Error(3, 3))),
        ({"error": "500 ms"}, Roles(error=Error("500 ms", "500 ms"))),
        ({"error": timedelta(seconds=1)}, Roles(error=Error("1000000 us", "1000000 us"))),
        ({"error": ("7 s", 8)}, Roles(error=Error("7 s", 8))),
        ({"error": "accuracy"}, Roles(error=Error(ErrorColumn("accuracy"), ErrorColumn("accuracy")))),
        ({"error": ("early", "late")}, Roles(error=Error(ErrorColumn("early"), ErrorColumn("late")))),
        ({"error": "5", "pmf": "p"}, Roles(pmf="p", error=Error("5", "5"))),
        ({"error": 1, "shape": "normal"}, Roles(error=Error(1, 1), shape=Shape("normal", 3.0))),
        ({"error": 1, "shape": ("normal", 2)}, Roles(error=Error(1, 1), shape=Shape("normal", 2.0))),
        (
            {"error": ErrorTable("source", {"gps": "1 s", "clock": (1, 2)}, default=60)},
            Roles(error=ErrorBySource("source", (("gps", Error("1 s", "1 s")), ("clock", Error(1, 2))), Error(60, 60))),
        ),
    ],
)
def test_options_become_roles(options, expected):
    found = roles(**options)
    assert found == expected
    assert hash(found) == hash(expected)
    assert copy.deepcopy(found) == expected
    assert found.exact == (options.keys() <= {"time"} and isinstance(options.get("time", ""), str))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"time": ("low", "high"), "error": 3}, "an error cannot be added"),
        ({"time": ("low", "high", "more")}, "one column, or two"),
        ({"time": 5}, "one column, or two"),
        ({"pmf": "p"}, "needs an interval"),
        ({"shape": "normal"}, "needs an interval"),
        ({"shape": "gauss", "error": 1}, "there is no shape"),
        ({"shape": ("triangular", 2), "error": 1}, "there is no shape"),
        ({"shape": ("normal", 0), "error": 1}, "standard deviations"),
        ({"shape": ("normal", 31), "error": 1}, "standard deviations"),
        ({"shape": ("normal", "2"), "error": 1}, "standard deviations"),
        ({"shape": "normal", "error": 1, "pmf": "p"}, "a second one"),
        ({"error": -1}, "negative"),
        ({"error": 2**63}, "64 bits"),
        ({"error": timedelta(seconds=-1)}, "negative"),
        ({"error": 0.5}, "an error is a length of time"),
        ({"error": True}, "an error is a length of time"),
        ({"error": ""}, "an error is a length of time"),
        ({"error": (1, 2, 3)}, "an error is a length of time"),
        ({"error": ErrorTable("source", {"gps": "accuracy"})}, "the error of a source"),
        ({"error": ErrorTable("source", {}, default=-1)}, "negative"),
    ],
)
def test_contradictions_are_refused(options, sentence):
    with pytest.raises(WhenaboutsError, match=sentence) as caught:
        roles(**options)
    assert str(caught.value)


def test_all_columns_that_say_when_are_known():
    assert roles(error=("off", 3), pmf="p").uncertainty_columns == ("time", "off", "p")
    assert roles(time=("low", "high")).uncertainty_columns == ("low", "high")
    assert roles(error=ErrorTable("source", {"gps": 1})).uncertainty_columns == ("time", "source")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"id": 5}, "id names a column, not 5"),
        ({"type": ["kind"]}, "type names a column"),
        ({"pmf": 1, "error": 3}, "pmf names a column"),
        ({"budget": "a"}, "budget is a whole number"),
        ({"budget": True}, "budget is a whole number"),
        ({"budget": 10**30}, "at most"),
        ({"budget": 1}, "budget must be at least 16"),
        ({"max_matches": 1.5}, "max_matches is a whole number"),
        ({"max_matches": 0}, "max_matches must be at least 1"),
        ({"on_budget": "pray"}, "is not a policy"),
    ],
)
def test_options_that_are_refused_at_once(options, sentence):
    with pytest.raises(WhenaboutsError, match=sentence):
        roles(**options)
