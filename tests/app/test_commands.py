"""check, explain, doctor, version and the documented options."""

import pyarrow.parquet as pq
import pytest
import typer

from tests.app.conftest import CLIMB
from tests.house.conftest import ROOT
from whenabouts.app import cli, doctor


@pytest.fixture
def path(tmp_path, events):
    pq.write_table(events, tmp_path / "events.parquet")
    return tmp_path / "events.parquet"


def test_check(run, path):
    assert "well-formed" in run("check", CLIMB).out
    assert "fits" in run("check", CLIMB, path).out
    told = run("check", CLIMB, path, "--json").json
    assert told["ok"] is True
    assert told["query"].startswith("PATTERN SEQ(A a, B+ b[], C c)")
    assert run("check", CLIMB.replace("[node]", "[nodes]"), path).code == 2


def test_explain(run, path):
    done = run("explain", CLIMB, path)
    assert done.code == 0
    assert "method" in done.out
    assert run("explain", CLIMB, path, "--json").json["plan"] + "\n" == done.out


def test_version_and_help(run):
    assert run("--version").out.startswith("whenabouts ")
    assert "Commands:" in run("--help").out
    nothing = run()
    assert (nothing.code, "Commands:" in nothing.out + nothing.err) == (2, True)


def test_doctor(run):
    done = run("doctor", "--no-spark")
    assert done.code == 0, done.out
    assert "gives the 3 matches it must" in done.out
    told = run("doctor", "--no-spark", "--json").json
    assert {f["subject"] for f in told["findings"]} >= {"Python", "packages", "kernel cache", "a local match"}
    assert all(f["state"] == "fine" for f in told["findings"])


def test_doctor_finds_problems(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    nowhere = tmp_path / "file" / "cache"
    assert doctor.check_cache(str(nowhere), [tmp_path]).state == "problem"
    assert doctor.check_cache(None, [nowhere]).state == "missing"
    assert doctor.check_cache(None, [nowhere, tmp_path]).state == "fine"
    states = {
        f.subject: (f.state, f.advice) for f in doctor.check_packages(["no-such<3", 'nor-this>1; extra == "spark"'])
    }
    assert states["no-such"] == ("problem", "pip install no-such")
    assert states["nor-this"] == ("missing", "pip install 'whenabouts[spark]'")
    monkeypatch.setattr(doctor, "find_java_home", lambda: None)
    assert "JAVA_HOME" in (doctor.check_java().advice or "")
    monkeypatch.setattr(doctor, "TINY_ANSWER", [])
    assert doctor.check_local().state == "problem"


def test_doctor_with_a_problem_fails(run, monkeypatch):
    monkeypatch.setattr(doctor, "TINY_ANSWER", [])
    done = run("doctor", "--no-spark", "--json")
    assert (done.code, done.json["ok"]) == (1, False)


@pytest.mark.spark
def test_doctor_starts_spark(run):
    done = run("doctor")
    assert done.code == 0, done.out
    assert "a Spark match" in done.out
    assert done.err == ""


def commands():
    """Every command with its options, and those of all."""
    group = typer.main.get_command(cli.app)
    yield "", group
    yield from group.commands.items()


@pytest.mark.parametrize(("name", "command"), list(commands()))
def test_every_command_and_option_is_documented(name, command):
    page = (ROOT / "docs" / "command-line.md").read_text("utf-8")
    if name:
        assert f"## {name}" in page
        page = page.partition(f"## {name}")[2].partition("\n## ")[0]
    for parameter in command.params:
        for option in (*parameter.opts, *parameter.secondary_opts):
            if option.startswith("-") and option != "--help":
                assert f"`{option}" in page, f"{name} {option} is not documented"
