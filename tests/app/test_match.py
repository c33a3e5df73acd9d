"""`whenabouts match` over real files: every format in and out."""

import csv as csv_of_python
import gzip
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from tests.app.conftest import CLIMB, SIGNATURES, signatures

FORMATS = ("csv", "jsonl", "parquet", "csv.gz", "jsonl.gz")


def encoded(table, name):
    """The bytes of a table in the format its name says."""
    out = io.BytesIO()
    if "parquet" in name:
        pq.write_table(table, out)
    elif "csv" in name:
        csv.write_csv(table, out)
    else:
        for row in table.to_pylist():
            out.write(json.dumps(row, default=lambda moment: moment.isoformat()).encode() + b"\n")
    content = out.getvalue()
    return gzip.compress(content) if name.endswith(".gz") else content


@pytest.fixture
def files(tmp_path, events):
    """The events in every format, by its name."""
    paths = {name: tmp_path / f"events.{name}" for name in FORMATS}
    for name, path in paths.items():
        path.write_bytes(encoded(events, name))
    return paths


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_matches(run, files, name):
    done = run("match", CLIMB, files[name])
    assert done.code == 0, done.err
    assert signatures(done.rows) == SIGNATURES
    whole = next(row for row in done.rows if row["events"] == SIGNATURES[0])
    assert (whole["start"], whole["end"]) == ("2024-05-31T12:00:00", "2024-05-31T12:00:05")
    assert (whole["b_v"], whole["took"], whole["node"]) == ([1.0, 2.5], 5.0, "n1")
    assert "6 events" in done.err
    assert "3 matches" in done.err
    assert "1 null key, 1 null time" in done.err


@pytest.mark.parametrize("name", FORMATS)
def test_standard_input_in_every_format(run, events, name):
    done = run("match", CLIMB, "-", stdin=encoded(events, name))
    assert signatures(done.rows) == SIGNATURES


def test_several_files_and_globs_are_one_table(run, tmp_path, events):
    pq.write_table(events.slice(0, 2), tmp_path / "part-1.parquet")
    csv.write_csv(events.slice(2, 2), tmp_path / "part-2.csv")
    (tmp_path / "rest.jsonl").write_bytes(encoded(events.slice(4), "jsonl"))
    done = run("match", CLIMB, tmp_path / "part-*", tmp_path / "rest.jsonl")
    assert signatures(done.rows) == SIGNATURES


def test_a_delta_table(run, tmp_path, events):
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake(tmp_path / "events", events.slice(0, 3))
    deltalake.write_deltalake(tmp_path / "events", events.slice(3), mode="append")
    done = run("match", CLIMB, tmp_path / "events")
    assert signatures(done.rows) == SIGNATURES


def test_output_as_parquet(run, files, tmp_path):
    done = run("match", CLIMB, files["csv"], "--output", tmp_path / "matches.parquet")
    assert (done.code, done.out) == (0, "")
    table = pq.read_table(tmp_path / "matches.parquet")
    assert table.schema.field("start").type == pa.timestamp("us")
    assert sorted((dict(e) for e in table["events"].to_pylist()), key=str) == SIGNATURES
    assert [p.name for p in tmp_path.iterdir() if p.name.endswith(".part")] == []


def test_output_as_csv_has_events_as_json(run, files):
    done = run("match", CLIMB, files["parquet"], "--format", "csv")
    rows = list(csv_of_python.DictReader(io.StringIO(done.out)))
    assert sorted((json.loads(row["events"]) for row in rows), key=str) == SIGNATURES
    assert rows[0]["start"] == "2024-05-31T12:00:00"


def test_output_as_json_lines_in_a_file(run, files, tmp_path):
    run("match", CLIMB, files["parquet"], "--output", tmp_path / "matches.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "matches.jsonl").read_text("utf-8").splitlines()]
    assert signatures(rows) == SIGNATURES


def test_json_is_one_object_and_nothing_else(run, files):
    done = run("match", CLIMB, files["csv"], "--json")
    assert done.err == ""
    assert done.json["ok"] is True
    assert signatures(done.json["matches"]) == SIGNATURES
    summary = done.json["summary"]
    assert summary["events"] == 6
    assert summary["matches"] == 3
    assert summary["bad_rows"] == {"null key": 1, "null time": 1}
    assert summary["dropped_starts"] == 0


def test_json_with_output_has_the_summary_only(run, files, tmp_path):
    done = run("match", CLIMB, files["csv"], "--json", "--output", tmp_path / "matches.csv")
    assert set(done.json) == {"ok", "summary"}


def test_bad_rows_are_kept(run, files, tmp_path):
    done = run("match", CLIMB, files["csv"], "--bad-rows", tmp_path / "bad.jsonl")
    bad = [json.loads(line) for line in (tmp_path / "bad.jsonl").read_text("utf-8").splitlines()]
    assert {row["id"]: row["reason"] for row in bad} == {4: "null key", 6: "null time"}
    assert "--bad-rows" not in done.err


def test_columns_can_have_other_names(run, events, tmp_path):
    renamed = events.rename_columns(["nr", "kind", "at", "node", "v"])
    pq.write_table(renamed, tmp_path / "e.parquet")
    names = ("--id", "nr", "--type", "kind", "--time", "at", "--name", "climb", "--granularity", "1 s")
    done = run("match", CLIMB.replace("c.time - a.time AS took", "c.v"), tmp_path / "e.parquet", *names)
    assert signatures(done.rows) == SIGNATURES
    assert {row["pattern"] for row in done.rows} == {"climb"}


def test_types_that_look_like_numbers_stay_text(run, tmp_path):
    (tmp_path / "e.csv").write_text("type,time\n1,1\n2,2\n")
    done = run("match", 'PATTERN SEQ("1" a, "2" b)', tmp_path / "e.csv")
    assert signatures(done.rows) == [{"a": [0], "b": [1]}]


@pytest.mark.parametrize("query", [CLIMB, CLIMB + " LIMIT 3"])
def test_limit(run, files, query):
    assert len(run("match", query, files["csv"], "--limit", "2").rows) == 2
    assert len(run("match", query, files["csv"], "--limit", "9").rows) == 3


def test_query_from_a_file(run, files, tmp_path):
    (tmp_path / "climb.sase").write_text(f"-- climbing\n{CLIMB}\n")
    assert signatures(run("match", "-q", tmp_path / "climb.sase", files["csv"]).rows) == SIGNATURES


def test_budget_fails_or_drops(run, tmp_path):
    rows = [("A", 0)] + [("B", i) for i in range(1, 60)] + [("C", 60)]
    (tmp_path / "e.csv").write_text("type,time\n" + "".join(f"{kind},{t}\n" for kind, t in rows))
    query = "PATTERN SEQ(A a, B+ b[], C c) WHERE sum(b[..i].time) > 0 AND skip_till_any_match WITHIN 100"
    failed = run("match", query, tmp_path / "e.csv", "--budget", "100", "--json")
    assert (failed.code, failed.json["error"]["code"]) == (1, "budget")
    dropped = run("match", query, tmp_path / "e.csv", "--budget", "100", "--on-budget", "drop", "--json")
    assert dropped.code == 0
    assert dropped.json["summary"]["dropped_starts"] == 1


def test_a_type_guessed_too_early_is_guessed_again(run, tmp_path):
    lines = ["id,type,time,v"] + [f"{i},A,{i},{i}" for i in range(150_000)] + ["150000,B,150000,0.5"]
    (tmp_path / "e.csv").write_text("\n".join(lines))
    done = run("match", "PATTERN SEQ(A a, B b) WHERE b.v < 0.6 WITHIN 3", tmp_path / "e.csv")
    assert signatures(done.rows) == [{"a": [149_998], "b": [150_000]}, {"a": [149_999], "b": [150_000]}]


@pytest.mark.spark
def test_spark_gives_the_same(run, files, tmp_path):
    for name in ("csv", "parquet"):
        done = run("match", CLIMB, files[name], "--engine", "spark", "--bad-rows", tmp_path / "bad.csv")
        assert done.code == 0, done.err
        assert signatures(done.rows) == SIGNATURES
        assert "1 null key, 1 null time" in done.err
        local = run("match", CLIMB, files[name])
        assert sorted(done.out.splitlines()) == sorted(local.out.splitlines())
