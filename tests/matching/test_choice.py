"""CONFIDENCE, TOP and LIMIT choose among rows; rows over uncertain time have four more columns."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whenabouts as wa
from whenabouts.engine import compile_query
from whenabouts.events.table import schema_of
from whenabouts.language.sase import parse
from whenabouts.matches.choice import chosen
from whenabouts.matches.record import query_version, result_schema

confidences = st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), max_size=12)
thresholds = st.none() | st.tuples(st.sampled_from([">", ">="]), st.sampled_from([0.0, 0.25, 0.5, 0.99]))


@settings(deadline=None, max_examples=200)
@given(confidences, thresholds, st.none() | st.integers(1, 14), st.integers(0, 12))
def test_chosen_rows(values, threshold, top, cut):
    text = "PATTERN A a"
    rows = [(value, f"id{i * 7 % 13:02}") for i, value in enumerate(values)]
    if threshold is not None:
        text += f" CONFIDENCE {threshold[0]} {threshold[1]}"
    expected = [
        (value, name)
        for value, name in rows
        if threshold is None or value > threshold[1] or (threshold[0] == ">=" and value == threshold[1])
    ]
    if top is not None:
        text += f" TOP {top} BY CONFIDENCE"
        expected = sorted(expected, key=lambda row: (-row[0], row[1]))[:top]
    query, kinds = parse(text), pa.schema([("confidence", pa.float64()), ("match_id", pa.string())])
    table = pa.Table.from_pylist([dict(zip(kinds.names, row, strict=True)) for row in rows], kinds)
    assert [tuple(row.values()) for row in chosen(query, table).to_pylist()] == expected
    parts = pa.concat_tables([chosen(query, table.slice(0, cut)), chosen(query, table.slice(cut))])
    assert [tuple(row.values()) for row in chosen(query, parts).to_pylist()] == expected


def test_over_exact_time_every_match_is_certain():
    rows = [{"id": i, "type": "AB"[i % 2], "time": i} for i in range(10)]
    text = "PATTERN SEQ(A a, B b) WITHIN 5"
    everything = wa.query(text).match(rows)
    assert wa.query(text + " CONFIDENCE >= 1").match(rows) == everything
    top = wa.query(text + " TOP 3 BY CONFIDENCE").match(rows)
    assert top == sorted(everything, key=lambda row: row["match_id"])[:3]


def test_choosing_does_not_change_the_identity_of_a_match():
    texts = ["PATTERN A a", "PATTERN A a CONFIDENCE > 0.5", "PATTERN A a TOP 3 BY CONFIDENCE", "PATTERN A a LIMIT 3"]
    assert len({query_version(parse(text)) for text in texts}) == 1
    assert query_version(parse("PATTERN A a CLOSURE set")) != query_version(parse("PATTERN A a"))


@pytest.mark.parametrize("kind", [pa.int64(), pa.timestamp("us", "UTC")])
def test_columns_over_uncertain_time(kind):
    columns = {"id": pa.int64(), "type": pa.string(), "low": kind, "high": kind, "v": pa.int64()}
    schema = pa.schema(list(columns.items()))

    def found(text):
        query = wa.query(text, time=("low", "high"))
        bound = compile_query(query.query, schema_of(schema, query.options.roles)).bound
        return result_schema(bound, schema)

    each = found("PATTERN SEQ(A a, B b) WITHIN 5 RETURN a.v")
    assert each.names[2:] == [
        "start", "end", "confidence", "events", "confidence_kind", "confidence_error", "ranges", "final_at", "a_v",
    ]  # fmt: skip
    span = pa.struct([("lower", kind), ("upper", kind)])
    assert each.field("ranges").type == pa.map_(pa.string(), pa.list_(span))
    assert {each.field(name).type for name in ("start", "end", "final_at")} == {kind}
    total = found("PATTERN SEQ(A a, B+ b[]) WITHIN 5 RETURN TOTAL count(*) AS n, sum(b[].v) AS s")
    assert total.types == [pa.string(), pa.float64(), pa.float64()]
