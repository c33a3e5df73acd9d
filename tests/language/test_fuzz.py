"""Fuzzing: whatever goes in, only errors of ours come out, and what passes keeps its promises."""

import time
from pathlib import Path

from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.language.case_files import HERE, read_cases
from tests.language.queries import COLUMN_NAMES, queries
from whenabouts.errors import WhenaboutsError
from whenabouts.events.schema import Column, DType, Roles, Schema
from whenabouts.language.bind import bind
from whenabouts.language.sase import parse
from whenabouts.language.tokens import SYMBOLS
from whenabouts.plan.expressions import Aggregate, Attribute, Between, DurationLiteral, walk
from whenabouts.plan.render import RESERVED_WORDS, render
from whenabouts.plan.typing import FUNCTIONS, infer

SECONDS = 1.0
CASES = [case.query for path in sorted(Path(HERE / "cases").glob("*.case")) for case in read_cases(path)]
PIECES = [
    *(f" {word} " for word in sorted(RESERVED_WORDS)),
    *SYMBOLS,
    *FUNCTIONS,
    *(
        "a",
        "b",
        "A",
        "b[i]",
        "b[i-1]",
        "b[]",
        "a.v",
        " ",
        "\n",
        "'",
        '"',
        "`",
        "/*",
        "*/",
        "--",
        "1",
        "2.5",
        "95%",
        "i",
    ),
    *("skip till any match", "latest", " seconds", " EVENTS", "count", "last", "\0", "é", "\u202e", "\ud800", "∞"),
]
texts = st.sampled_from(CASES)


@st.composite
def mutated(draw):
    """A known query with a few pieces removed, inserted, doubled or swapped."""
    text = draw(texts)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 8)))
        change = draw(st.sampled_from(["remove", "insert", "double", "cut"]))
        if change == "remove":
            text = text[:start] + text[end:]
        elif change == "insert":
            text = text[:start] + draw(st.sampled_from(PIECES)) + text[start:]
        elif change == "double":
            text = text[:end] + text[start:]
        else:
            text = text[:start]
    return text


anything = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=30).map("".join), mutated())


@settings(deadline=None, max_examples=1000)
@given(anything | anything.map("PATTERN SEQ(A a, B+ b[]) WHERE ".__add__))
def test_only_our_errors_escape_the_parser(text):
    started = time.process_time()
    try:
        query = parse(text)
    except WhenaboutsError as error:
        str(error)  # can be printed
    else:
        assert parse(render(query)) == query
    assert time.process_time() - started < SECONDS


def schemas(dtypes):
    """Tables with all columns random queries mention, in random types."""

    def build(chosen, unit, roles, clock):
        units = {DType.TIME: unit, DType.DURATION: unit}
        columns = {name: Column(name, dtype, units.get(dtype)) for name, dtype in chosen.items()}
        columns["time"] = Column("time", clock, unit if clock is DType.TIME else None)
        columns["type"] = Column("type", DType.STRING)
        return Schema(columns, roles)

    return st.builds(
        build,
        st.fixed_dictionaries(dict.fromkeys(COLUMN_NAMES, dtypes)),
        st.sampled_from(["s", "ms", "us", "ns"]),
        st.sampled_from([Roles(), Roles(id=None), Roles(upper="and"), Roles(type="s")]),
        st.sampled_from([DType.TIME, DType.TIME, DType.INT]),
    )


all_types = st.sampled_from([t for t in DType if t is not DType.NULL])
numbers = st.sampled_from([DType.INT, DType.FLOAT])
granularities = st.none() | st.sampled_from(["1 s", "100 ms", "7", "minute", "1 ns", "soon", "", "0 s"])


@settings(deadline=None, max_examples=300)
@given(queries(), schemas(all_types) | schemas(numbers), granularities)
def test_only_our_errors_escape_binding(query, schema, granularity):
    started = time.process_time()
    try:
        bound = bind(query, schema, granularity)
    except WhenaboutsError as error:
        event(error.message[:30])
    else:
        event("bound")
        check_bound(bound)
    assert time.process_time() - started < SECONDS


def check_bound(bound):
    """What docs and other rooms rely on after binding."""
    for condition in bound.query.where:
        assert infer(condition, bound.schema) in (DType.BOOL, DType.NULL)
    for item in bound.query.measures:
        infer(item.expr, bound.schema)
    for expr in (*bound.query.where, *(m.expr for m in bound.query.measures)):
        for node in walk(expr):
            assert not isinstance(node, Between | DurationLiteral)
            assert not (isinstance(node, Aggregate) and node.function in ("first", "last"))
            if isinstance(node, Attribute) and node.name is not None:
                assert node.name in bound.schema.columns
    assert bound.tick >= 1
    assert bound.extent is None or bound.extent.span >= 0
