"""The demo on an hour of four nodes, its judge, and its drawings."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from whenabouts.app import demo_exact, demo_uncertain, truth
from whenabouts.app.answers import Answer, ask_here
from whenabouts.app.calibration import calibrated
from whenabouts.app.timeline_text import Interval, Track, draw, draw_intervals, short
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
    for name in (*demo_exact.ASKED, "max_cpu, next", "max_cpu, any", "tracking"):
        assert f"{name}:" in done.out
    assert done.out.count("●") > 10
    assert done.out.count("An engine that trusts the timestamps returns") == 3
    assert done.out.count("inside the band") == 3
    assert "Every answer agrees" in done.out
    assert max(map(len, done.out.splitlines())) <= 120
    told = run("demo", "--small", "--engine", "local", "--json").json
    assert told["ok"] is True
    assert all(q["truth"]["missed"] == q["truth"]["invented"] == 0 < q["matches"] for q in told["queries"])
    assert [part["query"] for part in told["uncertain"]] == ["max_cpu, next", "max_cpu, any", "tracking"]
    for part in told["uncertain"]:
        assert part["unforeseen"] == 0 < part["happened"] < part["matches"]
        assert part["bins_inside"] >= len(part["bins"]) - 1


@pytest.mark.spark
def test_both_engines_agree(run):
    done = run("demo", "--small", "--json")
    assert done.code == 0, done.out
    assert [q["equal"] for q in done.json["queries"]] == [True] * len(demo_exact.ASKED)
    assert [q["equal"] for q in done.json["uncertain"]] == [True] * 3
    assert done.err == ""


@pytest.mark.slow
def test_the_whole_day_fills_all_bins(run):
    told = run("demo", "--no-spark", "--json").json
    assert told["ok"] is True
    bins = {part["query"]: part["bins"] for part in told["uncertain"]}
    assert len(bins["max_cpu, any"]) == 10
    trusting = next(part["trusting"] for part in told["uncertain"] if part["query"] == "max_cpu, next")
    assert trusting["invented"] > trusting["found"] > trusting["missed"] > 0


def test_a_wrong_answer_is_noticed(run, monkeypatch):
    monkeypatch.setattr(demo_exact, "judge", lambda *_: Verdict(1, 1, 0))
    done = run("demo", "--small", "--no-spark")
    assert done.code == 1
    assert "WRONG" in done.out
    assert "1 found, 1 missed" in done.out


def test_different_engines_are_noticed():
    day = simulate_cluster(SMALL)
    q = query(QUERIES["Q2"])
    matches = q.match(day.events)
    answer = Answer("Q2", "?", q, day.events, matches, matches)
    judged = demo_exact.Judged(answer, Verdict(1, 0, 0))
    assert judged.right
    answer.spark = matches.slice(1)
    assert (answer.equal, judged.right) == (False, False)


@pytest.fixture(scope="module")
def parts():
    """The parts about uncertain time, asked here and judged."""
    parts = demo_uncertain.ask_about(simulate_cluster(SMALL), small=True)
    ask_here([part.answer for part in parts], lambda _: None)
    demo_uncertain.judge_all(parts)
    return parts


def changed(matches, confidences):
    return matches.set_column(matches.column_names.index("confidence"), "confidence", [confidences])


def test_other_confidences_on_the_other_engine_are_noticed(parts):
    part = parts[1]
    answer = replace(part.answer)
    answer.spark = answer.local
    assert answer.equal is True
    answer.spark = changed(answer.local, [c * (1 - 1e-9) for c in answer.local["confidence"].to_pylist()])
    assert answer.equal is False
    assert replace(part, answer=answer).right is False


def test_wrong_confidences_and_lost_matches_are_noticed(parts):
    part = parts[2]
    assert part.right
    matches = part.answer.matches
    for wrong in (changed(matches, [0.25] * matches.num_rows), matches.slice(1)):
        other = replace(part, answer=replace(part.answer, local=wrong))
        other.calibration = calibrated(wrong, part.observed.truth(part.text, part.granularity))
        flawed = other.calibration.unforeseen or other.calibration.inside < len(other.calibration.bins)
        assert flawed
    lost = replace(part, calibration=replace(part.calibration, unforeseen=1))
    outside = replace(part, calibration=replace(part.calibration, bins=()))
    assert (lost.right, outside.right) == (False, True)
    strays = tuple(replace(b, happened=b.matches + 1) for b in part.calibration.bins)
    assert replace(part, calibration=replace(part.calibration, bins=strays)).right is False


def test_a_match_is_drawn_with_its_intervals(parts):
    text = demo_uncertain.drawing(parts[1], "task {task_id}", 100)
    title, legend, *lines = text.splitlines()
    assert title.startswith("Task task_")
    assert "confidence 0." in title or "confidence 1." in title
    assert legend.startswith("It happened")
    assert [line.split()[0] for line in lines[:4]] == ["a", "b", "c", "d"]
    assert all(line.count("●") == 1 and "━" in line for line in lines[:4])
    none = replace(parts[1], answer=replace(parts[1].answer, local=parts[1].answer.local.slice(0, 0)))
    assert "no possible match" in demo_uncertain.drawing(none, "task", 100)


def test_intervals_as_text():
    one = Interval("a", "A", (at(0)[0], at(10)[0]), (at(4)[0], at(10)[0]), at(5)[0], at(8)[0])
    other = Interval("b", "B 7", (at(10)[0], at(20)[0]), (at(10)[0], at(12)[0]))
    assert draw_intervals("match", [one, other], 30).splitlines() == [
        "match",
        "  a A    ────━○━━●━━",
        "  b B 7            ━━────────",
        "         12:00:0020 s12:00:20",
    ]


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
