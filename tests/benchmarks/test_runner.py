"""The benchmark runner checks answers, and results say what they must."""

import re
import subprocess
from dataclasses import replace
from itertools import count

import pytest

from benchmarks import report, run
from benchmarks.measure import Benchmark, NotMeasured, Row, SelfTimed, WrongAnswer, measure


def check_sum(data, answer):
    assert answer == sum(data), f"{answer} is not the sum"


def benchmark(**variants):
    return Benchmark("sums", lambda scale: list(range(10 if scale == "tiny" else 1000)), check_sum, variants)


def absent(_):
    raise NotMeasured("not installed")


def test_a_wrong_answer_is_named():
    with pytest.raises(WrongAnswer, match="sums, careless: 9 is not the sum"):
        measure(benchmark(sum=sum, careless=max), "tiny", 1)


def test_an_answer_that_goes_wrong_later_is_noticed():
    calls = count()
    with pytest.raises(WrongAnswer, match="sums, forgetful"):
        measure(benchmark(forgetful=lambda data: sum(data) if next(calls) < 3 else 0), "tiny", 5)


def test_rows_keep_the_first_call_apart():
    calls = count()
    (row,) = measure(benchmark(counted=lambda data: (next(calls), sum(data))[1]), "full", 5)
    assert (row.events, len(row.seconds), next(calls)) == (1000, 5, 6)
    assert row.first > 0


def test_self_timed_variants_and_ratios():
    def elsewhere(seconds):
        return SelfTimed(lambda data, times: [(sum(data), 9.0)] + [(sum(data), seconds)] * (times - 1))

    absent_row, slow, fast = measure(benchmark(gone=absent, slow=elsewhere(2.0), fast=elsewhere(0.5)), "tiny", 3)
    assert (absent_row.seconds, absent_row.note) == ((), "not installed")
    assert (slow.first, slow.seconds, slow.ratio) == (9.0, (2.0, 2.0, 2.0), 1.0)
    assert fast.ratio == 4.0


def test_results_have_a_header_and_aligned_columns():
    rows = [
        Row("sums", "fast", 1000, (0.5, 0.1, 0.2), 3.0, 1.0),
        Row("sums", "peer", 1000, note="did not finish in 120 s"),
    ]
    header, _, table = report.report("python -m benchmarks.run --only sums", rows).partition("\n\n")
    assert [line.split()[0] for line in header.splitlines()] == ["command", "machine", "versions", "commit", "date"]
    assert re.search(r"^versions  python 3\S+, (no )?pyspark.*pyarrow \d.*numba \d", header, re.MULTILINE)
    titles, fast, peer = table.splitlines()
    assert fast.split() == ["sums", "fast", "1,000", "0.2000", "0.1000", "0.5000", "3.0000", "5,000", "1.00"]
    assert peer.split(maxsplit=3) == ["sums", "peer", "1,000", "did not finish in 120 s"]
    assert titles.index("events/s") + len("events/s") == fast.index("5,000") + len("5,000")


def test_the_commit_is_that_of_the_code_whatever_results_were_rewritten(monkeypatch, tmp_path):
    results, code = tmp_path / "benchmarks/results/sums.txt", tmp_path / "benchmarks/report.py"
    results.parent.mkdir(parents=True)
    for file in (results, code):
        file.write_text("old")
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false")
    for command in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-qm", "all")):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    monkeypatch.setattr(report, "__file__", str(code))
    results.write_text("new")
    assert re.search(r"^commit    [0-9a-f]{7,}$", report.report("", [Row("sums", "all", 1)]), re.MULTILINE)
    code.write_text("new")
    assert re.search(r"^commit .* and uncommitted changes$", report.report("", [Row("sums", "all", 1)]), re.MULTILINE)


def test_figures_have_columns_and_conclusions_follow_the_table(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(run, "RESULTS", tmp_path)
    told = replace(
        benchmark(sum=sum, gone=absent),
        figures=lambda answer: {"total": answer},
        conclusion=lambda rows: f"{len(rows)} rows",
        plots=lambda rows: {"sums_by_size": "<svg/>"},
    )
    monkeypatch.setattr(run, "found", lambda: iter([told]))
    assert run.main(["--repeats", "1", "--write"]) == 0
    written = (tmp_path / "sums.txt").read_text()
    assert written.endswith(capsys.readouterr().out.rstrip("\n") + "\n")
    titles, row, other, _, last = written.partition("\n\n")[2].splitlines()
    assert titles.split()[-2:] == ["ratio", "total"]
    assert row.split()[-1] == "499,500"
    assert other.endswith("not installed")
    assert last == "2 rows"
    assert (tmp_path / "sums_by_size.svg").read_text() == "<svg/>"


@pytest.fixture
def results(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "RESULTS", tmp_path)
    return tmp_path


def test_only_right_answers_are_written(monkeypatch, results, capsys):
    monkeypatch.setattr(run, "found", lambda: iter([benchmark(sum=sum)]))
    assert run.main(["--only", "sums", "--repeats", "1", "--write"]) == 0
    written = (results / "sums.txt").read_text()
    assert "command   python -m benchmarks.run --only sums --repeats 1 --write" in written

    monkeypatch.setattr(run, "found", lambda: iter([benchmark(careless=max)]))
    assert run.main(["--only", "sums", "--repeats", "1", "--write"]) == 1
    assert "wrong answer: sums, careless" in capsys.readouterr().err
    assert (results / "sums.txt").read_text() == written


@pytest.mark.parametrize("arguments", [["--scale", "tiny", "--write"], ["--only", "nothing"], ["--repeats", "0"]])
def test_senseless_options_are_refused(arguments, results, capsys):
    with pytest.raises(SystemExit):
        run.main(arguments)
    assert "error:" in capsys.readouterr().err


def test_every_benchmark_has_a_name_of_its_own():
    names = [found.name for found in run.found()]
    assert len(names) == len(set(names))
