"""The demo on an hour of four nodes, its judge, and its drawings."""

from datetime import datetime, timedelta

import pytest

from whenabouts.app import demo, truth
from whenabouts.app.timeline_text import Track, draw, short
from whenabouts.app.truth import Verdict, judge
from whenabouts.engine import query
from whenabouts.simulate.cluster import SMALL, simulate_cluster
from whenabouts.simulate.cluster_queries import QUERIES

START = datetime(2024, 5, 31, 12)


def at(*seconds):
    return [START + timedelta(seconds=s) for s in seconds]


def test_the_small_demo_is_right(run):
    done = run("demo", "--small", "--no-spark")
    assert done.code == 0, done.out
    for name in demo.ASKED:
        assert name in done.out
    assert done.out.count("●") > 10
    assert "Every answer agrees" in done.out
    told = run("demo", "--small", "--engine", "local", "--json").json
    assert told["ok"] is True
    assert all(q["truth"]["missed"] == q["truth"]["invented"] == 0 < q["matches"] for q in told["queries"])


@pytest.mark.spark
def test_both_engines_agree(run):
    done = run("demo", "--small", "--json")
    assert done.code == 0, done.out
    assert [q["equal"] for q in done.json["queries"]] == [True] * len(demo.ASKED)
    assert done.err == ""


def test_a_wrong_answer_is_noticed(run, monkeypatch):
    monkeypatch.setattr(demo, "judge", lambda *_: Verdict(1, 1, 0))
    done = run("demo", "--small", "--no-spark")
    assert done.code == 1
    assert "WRONG" in done.out
    assert "1 found, 1 missed" in done.out


def test_different_engines_are_noticed():
    day = simulate_cluster(SMALL)
    q = query(QUERIES["Q2"])
    matches = q.match(day.events)
    answer = demo.Answer(demo.MONITORING["Q2"], q, matches, matches, verdict=Verdict(1, 0, 0))
    assert answer.right
    answer.spark = matches.slice(1)
    assert (answer.equal, answer.right) == (False, False)


def test_the_judge_counts():
    day = simulate_cluster(SMALL)
    matches = query(QUERIES["Q3"]).match(day.events)
    number = day.truth.stragglers.num_rows
    assert judge("Q3", matches, day) == Verdict(number, 0, 0)
    assert judge("Q3", matches.slice(1), day) == Verdict(number - 1, 1, 0)
    wrong = matches.set_column(matches.column_names.index("period"), "period", [[0.0] * number])
    assert judge("Q3", wrong, day) == Verdict(0, number, number)
    assert set(truth.JUDGED) == set(QUERIES)


def test_a_timeline():
    tracks = [Track("a", "Start", at(0)), Track("b", "Load", at(5, 9, 10), ["1", "2.5", "3"]), Track("n", "None", [])]
    assert draw("a match", tracks, width=37).splitlines() == [
        "a match",
        "  a Start    ●······················",
        "  b Load ×3  ···········●········●·●",
        "                        1          3",
        "             12:00:00  10 s 12:00:10",
    ]


@pytest.mark.parametrize("width", [10, 30, 80, 200])
def test_a_timeline_is_never_too_wide_and_shows_every_event(width):
    tracks = [Track("a", "A", at(0)), Track("b", "B", at(*range(1, 30)), [str(i) for i in range(29)])]
    lines = draw("t", tracks, width).splitlines()
    assert max(map(len, lines)) <= max(width, 40)
    assert lines[1].count("●") == 1
    assert lines[2].count("●") + 2 * lines[2].count("◉") >= min(29, 20)


def test_a_timeline_of_one_instant_and_of_nothing():
    assert "●" in draw("t", [Track("a", "A", at(0))])
    assert draw("t", []) == "t"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.25, "0.25 s"), (42.5, "42.5 s"), (180, "3 min"), (185, "3 min 5 s"), (7800, "2 h 10 min"), (7200, "2 h")],
)
def test_lengths_of_time(seconds, text):
    assert short(timedelta(seconds=seconds)) == text
