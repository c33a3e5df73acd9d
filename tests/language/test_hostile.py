"""Texts nobody means well with: an error that can be printed, in well under a second, whatever the size."""

import time

import pytest

from whenabouts.errors import WhenaboutsError
from whenabouts.language import limits
from whenabouts.language.sase import parse

SECONDS = 1.0  # of processor time; about five times what the slowest needs
LONG = limits.MAX_TEXT - 1_000
WHERE = "PATTERN A a WHERE "

TEXTS = {
    "additions": WHERE + "a.v > " + "1+" * (LONG // 2) + "1",
    "additions within the token limit": WHERE + "a.v > " + "1+" * 12_000 + "1",
    "negations": WHERE + "NOT " * 24_000 + "a.v",
    "one negation too many": WHERE + "NOT " * limits.MAX_EXPRESSION_DEPTH + "a.v > 1",
    "exclamation marks": WHERE + "!" * 24_000 + "a.v",
    "absent absent": "PATTERN " + "!" * LONG + "A",
    "brackets in WHERE": WHERE + "(" * LONG,
    "brackets in PATTERN": "PATTERN " + "(" * LONG,
    "closed brackets": WHERE + ")" * LONG,
    "nested sequences": "PATTERN " + "SEQ(" * 10_000 + "A" + ")" * 10_000,
    "sequences as deep as brackets allow": "PATTERN " + "SEQ(" * 200 + "A" + ")" * 200,
    "nested calls": WHERE + "abs(" * 200 + "a.v" + ")" * 200 + " > 1",
    "nested sums": WHERE + "(1+" * 120 + "1" + ")" * 120 + " > a.v",
    "steps": "PATTERN SEQ(" + "A," * 12_000 + "B b)",
    "unions": "PATTERN A" + " UNION A" * 12_000,
    "conjuncts": WHERE + " AND ".join(["a.v>1"] * 4_000),
    "disjuncts": WHERE + " OR ".join(["a.v>1"] * 4_000),
    "constants": WHERE + "a.v IN (" + ",".join(["1"] * 12_000) + ")",
    "arguments": WHERE + "coalesce(" + ",".join(["1"] * 12_000) + ") = a.v",
    "keys": WHERE + "[" + ",".join(["k"] * 12_000) + "]",
    "items": "PATTERN A RETURN " + ", ".join(f"a.v AS c{i}" for i in range(5_100)),
    "open string": WHERE + "a.v = '" + "x" * LONG,
    "open string of quotes": WHERE + "a.v = '" + "''" * (LONG // 2),
    "open comment": "PATTERN A a /*" + "*" * LONG,
    "many open comments": "PATTERN A a " + "/*" * (LONG // 2),
    "digits": WHERE + "a.v = " + "9" * LONG,
    "exponent": WHERE + "a.v = 1e" + "9" * 300,
    "quantifier": "PATTERN A{" + "9" * 300 + "}",
    "nested quantifiers": "PATTERN (((A{1000} a){1000}){1000}){1000}",
    "quantifier chain": "PATTERN A" + "+" * LONG,
    "percent signs": WHERE + "a.v = " + "9%" * 12_000,
    "half strategies": WHERE + "skip till " * 9_000,
    "dots": WHERE + "a" + ".a" * 12_000,
    "indices": WHERE + "a" + "[a" * 12_000,
    "keywords": "PATTERN " + "WHERE " * 15_000,
    "comparisons": WHERE + "a.v = " * 1_000,
    "betweens": WHERE + "a.v BETWEEN " * 1_000 + "1",
    "ten million blanks": "PATTERN A a" + " " * 10_000_000,
    "control character": "PATTERN \x01",
    "NUL": "PATTERN A a WHERE a.v = 'x\0'",
    "surrogate": "PATTERN A a WHERE a.v = '\ud800'",
    "override": "PATTERN \u202e A",
    "zero width": "PATTERN \u200bA",
    "only blanks": " \n\t ",
    "nothing": "",
}
LEGAL = {
    "blanks": "PATTERN A a" + " " * LONG,
    "long name": "PATTERN " + "A" * LONG,
    "minus signs": WHERE + "a.v > " + "- " * 12_000 + "1",
    "largest IN list": WHERE + "a.v IN (" + ",".join(["1"] * limits.MAX_IN_ITEMS) + ")",
    "most steps": "PATTERN SEQ(" + ",".join(f"A a{i}" for i in range(limits.MAX_STEPS)) + ")",
    "deepest pattern": "PATTERN "
    + "SEQ(" * (limits.MAX_PATTERN_DEPTH - 1)
    + "A"
    + ")" * (limits.MAX_PATTERN_DEPTH - 1),
    "deepest expression": WHERE + "a.v > " + "1+" * (limits.MAX_EXPRESSION_DEPTH - 1) + "1",
    "most negations": WHERE + "NOT " * (limits.MAX_EXPRESSION_DEPTH - 1) + "a.v > 1",
    "a capital that is two letters": "PATTERN SEQ(ß a, ŉ b)",
}


@pytest.fixture(autouse=True, scope="module")
def _warm():
    parse("PATTERN A a")  # builds the grammar's tables


@pytest.mark.parametrize("name", TEXTS)
def test_hostile_text_is_refused_quickly(name):
    started = time.process_time()
    with pytest.raises(WhenaboutsError) as caught:
        parse(TEXTS[name])
    shown = str(caught.value)
    assert time.process_time() - started < SECONDS
    assert len(shown) < 1_000
    assert shown.isprintable() or "\n" in shown


@pytest.mark.parametrize("name", LEGAL)
def test_large_but_legal_text_is_read_quickly(name):
    started = time.process_time()
    parse(LEGAL[name])
    assert time.process_time() - started < SECONDS


@pytest.mark.parametrize("text", [None, 5, b"PATTERN A a", ["PATTERN A a"]])
def test_only_text_is_parsed(text):
    with pytest.raises(WhenaboutsError, match="a query is text"):
        parse(text)
