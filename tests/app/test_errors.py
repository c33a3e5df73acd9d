"""Whatever goes wrong: a sentence, a code, the right exit code, and never a traceback."""

import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.app.conftest import CLIMB
from whenabouts.app import asking, cli

QUERY = "PATTERN SEQ(A a, B b)"


@pytest.fixture
def path(tmp_path, events):
    pq.write_table(events, tmp_path / "events.parquet")
    return tmp_path / "events.parquet"


def test_a_broken_query_has_a_caret(run, path):
    done = run("match", f"{QUERY} WHER a.v > 1", path)
    assert (done.code, done.out) == (2, "")
    assert "WHER a.v" in done.err
    assert "\n" + " " * (len("line 1: ") + len(QUERY) + 1) + "^^^^\n" in done.err
    assert "did you mean WHERE" in done.err


def test_a_missing_column_is_suggested(run, path):
    done = run("match", f"{QUERY} WHERE a.nod = 'n1'", path, "--json")
    assert (done.code, done.err) == (2, "")
    error = done.json["error"]
    assert done.json["ok"] is False
    assert error["code"] == "unknown-name"
    assert error["span"] == {"start": 28, "end": 33, "line": 1, "column": 29}
    assert "did you mean 'node'?" in error["hint"]


def test_a_missing_time_column_is_explained_in_options(run, path):
    done = run("match", QUERY, path, "--time", "tim")
    assert done.code == 2
    assert "--time COLUMN" in done.err
    assert "wa.query" not in done.err


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("e.csv", b"", "is empty"),
        ("e.parquet", b"id,type\n1,A\n", "it looks like csv; say so with --input-format csv"),
        ("e.parquet", b"PAR1 and no more", "is not readable as parquet"),
        ("e.jsonl", b'[{"id": 1}]', "one JSON array; write one object per line"),
        ("e.jsonl", b'{"time": 1}\n{"time": "x"}\n', "changed from number to string"),
        ("e.jsonl", b'{"time": ', "is not readable as jsonl"),
        ("e.csv", b"a,b\n1\n", "Expected 2 columns, got 1"),
        ("e.csv", b"a,a\n1,2\n", "two columns named 'a'"),
        ("e.csv", b"type,time\n\xff,1\n", "UTF8"),
        ("e.csv.gz", b"\x1f\x8b and no more", "cannot be decompressed"),
    ],
)
def test_unreadable_files(run, tmp_path, name, content, sentence):
    (tmp_path / name).write_bytes(content)
    done = run("match", QUERY, tmp_path / name)
    assert (done.code, done.out) == (1, "")
    assert "[data]" in done.err
    assert sentence in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["match", QUERY], 2, "name at least one file"),
        (["match"], 2, "there is no query"),
        (["match", QUERY, "nowhere.csv"], 1, "there is no file nowhere.csv"),
        (["match", QUERY, "nowhere-*.csv"], 1, "no file matches nowhere-*.csv"),
        (["match", QUERY, "."], 1, ". is a directory"),
        (["match", "-q", "nowhere.sase", "x.csv"], 1, "nowhere.sase cannot be read"),
        (["match", QUERY, "-", "-"], 1, "only once"),
        (["match", QUERY, "-", "--output", "matches.xls"], 1, "does not say the format"),
        (["match", QUERY, "-", "--bad-rows", "bad.xls"], 1, "does not say the format"),
        (["match", QUERY, "-", "--limit", "0"], 2, "--limit"),
        (["match", QUERY, "-", "--engine", "flink"], 2, "flink"),
        (["match", QUERY, "-", "--budget", "1"], 2, "budget must be at least 16"),
        (["explain", QUERY], 2, "name a file of events"),
        (["check", "PATTERN"], 2, "[syntax]"),
        (["frobnicate"], 2, "No such command"),
        (["match", "--frobnicate"], 2, "No such option"),
    ],
)
def test_wrong_command_lines(run, words, code, sentence):
    done = run(*words)
    assert (done.code, done.out) == (code, ""), done.err
    assert sentence in done.err
    as_json = run(*words, "--json")
    assert (as_json.code, as_json.err) == (code, "")
    assert sentence.strip("[]") in str(as_json.json["error"])


def test_a_query_that_is_a_file(run, tmp_path, path):
    (tmp_path / "q.sase").write_text(QUERY)
    assert "-q" in run("match", tmp_path / "q.sase", path).err


def test_a_near_file_name_is_suggested(run, path):
    assert "did you mean 'events.parquet'?" in run("match", QUERY, path.with_name("event.parquet")).err


def test_inputs_that_do_not_fit_together(run, tmp_path):
    pq.write_table(pa.table({"type": ["A"], "time": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"type": ["A"], "time": ["x"]}), tmp_path / "b.parquet")
    done = run("match", QUERY, tmp_path / "a.parquet", tmp_path / "b.parquet")
    assert (done.code, "do not have the same columns" in done.err) == (1, True)


def test_output_into_nowhere(run, tmp_path, path):
    for target in (tmp_path / "no" / "m.csv", tmp_path):
        done = run("match", CLIMB, path, "--output", target, "--format", "csv")
        assert done.code == 1
        assert "directory" in done.err


def test_a_defect_is_one_sentence_unless_debug(run, path, monkeypatch):
    def fall(*_, **__):
        raise RuntimeError("fell\nover")

    monkeypatch.setattr(asking, "ask", fall)
    done = run("match", QUERY, path)
    assert done.code == 1
    assert done.err == (
        "error: [internal] RuntimeError: fell\n"
        "hint: this is a defect of whenabouts; `whenabouts --debug COMMAND …` shows where it happened\n"
    )
    assert run("match", QUERY, path, "--json").json["error"]["code"] == "internal"
    assert "Traceback" in run("--debug", "match", QUERY, path).err


@pytest.mark.parametrize(
    ("error", "code"), [(KeyboardInterrupt, 130), (MemoryError, 1), (OSError(28, "No space left"), 1)]
)
def test_interruption_memory_and_disk(run, path, monkeypatch, error, code):
    def fall(*_, **__):
        raise error

    monkeypatch.setattr(asking, "ask", fall)
    done = run("match", QUERY, path)
    assert done.code == code
    assert done.err.count("\n") <= 2
    assert done.err.strip() == "interrupted" or error is not KeyboardInterrupt


def test_an_interruption_while_starting():
    """Arrow takes a while to import; instead of racing with it, another module in its place sends the signal."""
    program = (
        "import os, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'pyarrow':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from whenabouts.app.start import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (cli.INTERRUPTED, "", "interrupted\n")


def test_a_closed_pipe_ends_quietly(tmp_path):
    (tmp_path / "e.csv").write_text("type,time\n" + "".join(f"A,{2 * i}\nB,{2 * i + 1}\n" for i in range(20_000)))
    command = [sys.executable, "-m", "whenabouts.app.cli", "match", f"{QUERY} WITHIN 2", str(tmp_path / "e.csv")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == cli.PIPE_CLOSED


def test_what_a_spark_task_raises_is_told(monkeypatch):
    kind = type("PythonException", (Exception,), {"__module__": "pyspark.errors"})
    text = (
        "Traceback …\nwhenabouts.errors.BudgetError: [budget] more than 5 matches\nhint: add LIMIT\n\n\tat org.apache"
    )
    with pytest.raises(cli.asking.BudgetError) as told, asking.spark_errors():
        raise kind(text)
    assert (told.value.message, told.value.hint) == ("more than 5 matches", "add LIMIT")
    with pytest.raises(asking.EnvironmentProblem, match="Spark failed: out of space"), asking.spark_errors():
        raise kind("\nout of space\n\tat …")


@pytest.mark.parametrize("words", [["check", QUERY], ["check", QUERY, "--json"], ["check", "PATTERN", "--json"]])
@pytest.mark.parametrize(
    ("redirected", "sentence"),
    [(">/dev/full", "No space left on device"), (">&-", "standard output is closed"), (">&- 2>&-", "")],
)
def test_an_output_that_takes_nothing(words, redirected, sentence):
    shell = f'"$0" -m whenabouts.app.cli "$@" {redirected}'
    done = subprocess.run(["sh", "-c", shell, sys.executable, *words], check=False, capture_output=True, text=True)
    assert done.returncode in {1, 2}
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_an_input_that_is_closed():
    shell = f'"$0" -m whenabouts.app.cli check "{QUERY}" - <&-'
    done = subprocess.run(["sh", "-c", shell, sys.executable], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert "standard input is closed" in done.stderr


def test_a_query_file_with_a_byte_order_mark(run, tmp_path):
    (tmp_path / "q.sase").write_bytes(b"\xef\xbb\xbf" + QUERY.encode())
    assert run("check", "-q", tmp_path / "q.sase").code == 0


def test_a_format_that_does_not_exist(run):
    done = run("match", QUERY, "-", "--format", "xml", "--json")
    assert "Invalid value for '--format': 'xml' is not one of" in done.json["error"]["message"]
