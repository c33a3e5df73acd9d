"""Uncertain time on the command line: the same answers as `wa.query`, in every format, and the same refusals."""

import csv as csv_of_python
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whenabouts as wa
from whenabouts.app.times import TimeOptions, for_shell, margin_of_text, shape_of_text

QUERY = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match WITHIN 5 seconds"
SECOND = 1_000_000


def moments(*seconds):
    return pa.array([None if s is None else s * SECOND for s in seconds], pa.timestamp("us"))


@pytest.fixture(scope="module")
def table():
    """Two events that overlap, one apart, one without a bound; every way to say how uncertain they are."""
    return pa.table(
        {
            "id": [1, 2, 3, 4],
            "type": ["A", "B", "B", "B"],
            "time": moments(2, 4, 30, 40),
            "lo": moments(0, 2, 30, 40),
            "hi": moments(3, 5, 31, None),
            "off": pa.array([2, 2, 1, 1], pa.int64()),
            "source": ["7", "7", "8", "9"],
            "mass": [[0.25] * 4, [0.0, 0.0, 0.5, 0.5], [1.0, 0.0], [1.0]],
        }
    )


@pytest.fixture(params=["parquet", "csv", "jsonl"])
def path(request, table, tmp_path):
    file = tmp_path / f"events.{request.param}"
    if request.param == "parquet":
        pq.write_table(table, file)
        return file
    rows = [{n: v.isoformat() if hasattr(v, "isoformat") else v for n, v in r.items()} for r in table.to_pylist()]
    with file.open("w", newline="") as out:
        if request.param == "jsonl":
            out.writelines(json.dumps(row) + "\n" for row in rows)
        else:
            writer = csv_of_python.DictWriter(out, table.column_names)
            writer.writeheader()
            writer.writerows({n: json.dumps(v) if isinstance(v, list) else v for n, v in row.items()} for row in rows)
    return file


TICK = ("--granularity", "1 s")
WAYS = {
    "two columns": (("--lower", "lo", "--upper", "hi"), {"time": ("lo", "hi")}),
    "an error": (("--error", "2 s"), {"error": "2 s"}),
    "two sides": (("--error", "2 s, 1 s"), {"error": ("2 s", "1 s")}),
    "a column": (("--time", "time", "--error", "off"), {"error": "off"}),
    "by source": (
        ("--error-by", "source", "--error", "7=2 s", "--error", "8=1 s,0 s", "--error", "1 min"),
        {"error": wa.ErrorTable("source", {"7": "2 s", "8": ("1 s", "0 s")}, "1 min")},
    ),
    "a shape": (("--error", "2 s", "--shape", "triangular"), {"error": "2 s", "shape": "triangular"}),
    "a cut": (("--error", "2 s", "--shape", "normal,2"), {"error": "2 s", "shape": ("normal", 2)}),
    "a pmf": (("--lower", "lo", "--upper", "hi", "--pmf", "mass"), {"time": ("lo", "hi"), "pmf": "mass"}),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings("ignore::whenabouts.engine.BadRowsWarning")
def test_every_way_is_that_of_the_library(run, table, path, way):
    words, options = WAYS[way]
    if way == "a column":  # of integers: units of the clock
        options = {"error": "off"}
    expected = wa.query(QUERY, granularity="1 s", **options).match(table).to_pylist()
    done = run("match", QUERY, path, *TICK, *words)
    assert done.code == 0, done.err
    found = [(row["match_id"], row["confidence"], row["confidence_kind"]) for row in done.rows]
    assert sorted(found) == sorted((r["match_id"], r["confidence"], r["confidence_kind"]) for r in expected)
    assert found


INTERVALS = ("--lower", "lo", "--upper", "hi")


def test_further_columns_as_text(run, path):
    done = run("match", QUERY, path, *TICK, *INTERVALS)
    (row,) = done.rows
    assert row["confidence"] == 0.75
    assert (row["confidence_kind"], row["confidence_error"], row["final_at"]) == ("exact", 0.0, None)
    assert row["ranges"] == {
        "a": [{"lower": "1970-01-01T00:00:00", "upper": "1970-01-01T00:00:03.999999"}],
        "b": [{"lower": "1970-01-01T00:00:02", "upper": "1970-01-01T00:00:05.999999"}],
    }
    assert (row["start"], row["end"]) == ("1970-01-01T00:00:00", "1970-01-01T00:00:05.999999")
    assert "1 null bound" in done.err
    as_csv = run("match", QUERY, path, *TICK, *INTERVALS, "--format", "csv")
    (line,) = csv_of_python.DictReader(io.StringIO(as_csv.out))
    assert json.loads(line["ranges"]) == row["ranges"]
    assert (line["confidence"], line["final_at"]) == ("0.75", "")


def test_further_columns_keep_their_types_in_parquet(run, path, tmp_path):
    run("match", QUERY, path, *TICK, *INTERVALS, "--output", tmp_path / "m.parquet")
    table = pq.read_table(tmp_path / "m.parquet")
    assert table.schema.field("ranges").type.item_type.value_type.field("lower").type == pa.timestamp("us")
    assert table.schema.field("final_at").type == pa.timestamp("us")
    assert table["confidence"].to_pylist() == [0.75]


def test_rows_chosen_by_confidence_and_expected_totals(run, path):
    for clause, count in (("CONFIDENCE >= 0.75", 1), ("CONFIDENCE > 0.9", 0), ("TOP 3 BY CONFIDENCE", 1)):
        assert len(run("match", f"{QUERY} {clause}", path, *TICK, *INTERVALS, "--limit", "2").rows) == count
    done = run("match", f"{QUERY} RETURN TOTAL count(*) AS n", path, *TICK, *INTERVALS)
    assert [row["n"] for row in done.rows] == [0.75]


def test_a_way_of_evaluation(run, path):
    rows = run("match", QUERY, path, *TICK, *INTERVALS, "--evaluation", "points").rows
    assert rows == run("match", QUERY, path, *TICK, *INTERVALS).rows
    assert "point-based, as asked" in run("explain", QUERY, path, *TICK, *INTERVALS, "--evaluation", "points").out
    wrong = run("match", QUERY, path, *TICK, *INTERVALS, "--evaluation", "point")
    assert wrong.code == 2
    assert "did you mean" in wrong.err


def test_bad_rows_say_why(run, path, tmp_path):
    run("match", QUERY, path, *TICK, *INTERVALS, "--bad-rows", tmp_path / "bad.jsonl")
    (bad,) = map(json.loads, (tmp_path / "bad.jsonl").read_text("utf-8").splitlines())
    assert (bad["id"], bad["reason"]) == (4, "null bound")


def test_check_and_explain_take_the_same_options(run, path):
    for words, _ in WAYS.values():
        assert "fits" in run("check", QUERY, path, *TICK, *words).out
        assert run("explain", QUERY, path, *TICK, *words).code == 0
    assert run("check", QUERY.replace("any", "next"), path, "--lower", "lo", "--upper", "high").code == 2


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:one task")
def test_the_same_on_spark(run, table, tmp_path):
    pq.write_table(table, tmp_path / "e.parquet")
    for way in ("two columns", "by source", "a pmf"):
        words = ("match", QUERY, tmp_path / "e.parquet", *TICK, *WAYS[way][0])
        here, there = run(*words), run(*words, "--engine", "spark")
        assert there.code == 0, there.err
        assert there.rows == here.rows


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--lower", "lo"], "--upper COLUMN"),
        (["--upper", "hi"], "--lower COLUMN"),
        ([*INTERVALS, "--time", "time"], "leave one of the two out"),
        ([*INTERVALS, "--error", "1 s"], "--time 'at', --error '500 ms'"),
        (["--pmf", "mass"], "--lower lower --upper upper"),
        (["--shape", "normal"], "--error '500 ms'"),
        (["--error", "1 s", "--shape", "norml"], "did you mean 'normal'"),
        (["--error", "1 s", "--shape", "norml"], "--shape normal,2"),
        (["--error", "1 s", "--shape", "normal,x"], "not a number"),
        (["--error", "1 s,2 s,3 s"], "has 3 parts"),
        (["--error", "1 s", "--error", "2 s"], "--error-by COLUMN"),
        (["--error", "-1 s"], "not an error"),
        (["--error", "1 lightyear"], "not a unit of time"),
        (["--error", "0.5 us"], "not a whole number of units"),
        (["--error", "of"], "did you mean 'off'"),
        (["--error-by", "source"], "needs the errors of its sources"),
        (["--error-by", "source", "--error", "a=1", "--error", "a=2"], "two errors for the source 'a'"),
        (["--error-by", "source", "--error", "1", "--error", "2"], "two errors for all other sources"),
        (["--error-by", "sorce", "--error", "1 s"], "did you mean 'source'"),
        (["--error-by", "source", "--error", "a=off"], "--error 'gps=1 s'"),
        (["--lower", "lo", "--upper", "hig"], "no column 'hig'"),
    ],
)
def test_wrong_options(run, table, tmp_path, words, sentence):
    pq.write_table(table, tmp_path / "e.parquet")
    done = run("match", QUERY, tmp_path / "e.parquet", *words)
    assert (done.code, done.out) == (2, "")
    assert sentence in done.err
    assert "wa." not in done.err
    assert "Traceback" not in done.err


def test_a_pmf_that_is_no_list(run, tmp_path):
    (tmp_path / "e.csv").write_text("type,lo,hi,mass\nA,1,2,half and half\nB,2,3,\n")
    done = run("match", "PATTERN SEQ(A a, B b)", tmp_path / "e.csv", *INTERVALS, "--pmf", "mass")
    assert done.code == 1
    assert "'half and half', which is not a list of numbers" in done.err


def test_values_of_options():
    assert margin_of_text("7 s , 8 s") == ("7 s", "8 s")
    assert shape_of_text(" normal , 2.5") == ("normal", 2.5)
    none = TimeOptions(time=None, lower=None, upper=None, error=(), error_by=None, shape=None, pmf=None)
    assert set(none.arguments().values()) == {None}


def test_what_is_said_in_python_is_said_in_options():
    assert for_shell('wa.query(text, time=("lower", "upper"))') == "--lower lower --upper upper"
    assert for_shell('either time="at", error="500 ms" or shape="normal"') == (
        "either --time 'at', --error '500 ms' or --shape 'normal'"
    )


def test_the_text_of_a_query_is_shown_as_it_is(run, table, tmp_path):
    pq.write_table(table, tmp_path / "e.parquet")
    text = 'PATTERN A a WHERE a.nothing = 1 AND error="disk"'
    assert text in run("match", text, tmp_path / "e.parquet").err
