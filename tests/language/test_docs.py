"""docs/language.md: examples run, and its tables say what the code does."""

import re

import pytest

from tests.house.conftest import ROOT
from whenabouts.language import aggregates, limits
from whenabouts.language.sase import parse
from whenabouts.plan.pattern import Query
from whenabouts.plan.typing import ANY, FUNCTIONS, MOMENT, NUMBER, ORDERED, QUANTITY, TEXT

PAGE = (ROOT / "docs" / "language.md").read_text("utf-8")
SASE = re.findall(r"```sase\n(.*?)```", PAGE, re.DOTALL)
PYTHON = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
WORDS = {
    NUMBER: "number",
    QUANTITY: "number or duration",
    TEXT: "string",
    MOMENT: "time",
    ANY: "any",
    ORDERED: "ordered",
}
LIMITS = {
    "MAX_TEXT": "characters",
    "MAX_TOKENS": "words, numbers and signs",
    "MAX_BRACKETS": "brackets open at one place",
    "MAX_PATTERN_DEPTH": "patterns inside one another",
    "MAX_EXPRESSION_DEPTH": "operators above one another; a chain of additions counts one per +",
    "MAX_EXPRESSION_NODES": "parts of all conditions and RETURN items together",
    "MAX_STEPS": "steps",
    "MAX_ALL_OF": "parts of one AND( … )",
    "MAX_REPEAT": "numbers in quantifiers",
    "MAX_UNROLLED": "steps with nested quantifiers written out",
    "MAX_IN_ITEMS": "items of one IN list",
    "MAX_DIGITS": "characters of one number",
}


def function_row(name: str) -> str:
    function = FUNCTIONS[name]
    arguments = ", ".join(WORDS[p] for p in function.parameters) + (", …" if function.variadic else "")
    result = "type of the arguments" if function.result is None else str(function.result)
    return f"| `{name}` | {arguments} | {result} | {function.sentence} |"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_documented(name):
    assert function_row(name) in PAGE


@pytest.mark.parametrize("name", [name for name in vars(limits) if name.startswith("MAX_")])
def test_limits_are_documented(name):
    assert f"| {LIMITS[name]} | {getattr(limits, name):,} |" in PAGE


@pytest.fixture
def _own_aggregates(monkeypatch):
    """Whatever the page registers is forgotten afterwards."""
    before = dict(aggregates._REGISTERED)
    yield
    aggregates._REGISTERED.clear()
    aggregates._REGISTERED.update(before)


@pytest.mark.usefixtures("_own_aggregates")
def test_examples_run():
    names: dict[str, object] = {}
    for block in PYTHON:
        exec(block, names)  # noqa: S102 - our own page
    assert isinstance(names["query"], Query)
    queries = [text for block in SASE for text in re.split(r"\n(?=PATTERN)", block.strip())]
    assert len(queries) > 10
    for text in queries:
        parse(text)
    assert parse(queries[0]) == names["query"]
