"""Peers are timed run by run, ended when they take too long, and held to the brute force."""

import sys

import pyarrow.parquet as pq
import pytest

from benchmarks import data
from benchmarks.compare.flink import flink_peer
from benchmarks.compare.pandas_match_recognize import pandas_peer
from benchmarks.expected import answer, kleene_any, seq3_any, seq3_next, vshape
from benchmarks.measure import NotMeasured
from benchmarks.peers import run_peer

FINDS = {"kleene": kleene_any, "vshape": vshape}
ANSWERS = """
import json, sys, time
for run, pause in enumerate(map(float, sys.argv[1:])):
    time.sleep(pause)
    print(json.dumps({"matches": 2, "checksum": "7", "events": 5, "seconds": run}), flush=True)
"""


def test_a_peer_answers_run_by_run():
    result = run_peer([sys.executable, "-c", ANSWERS, "0", "0"], runs=2, timeout=60)
    assert result.runs() == [((2, 7), 0), ((2, 7), 1)]
    assert (result.events, result.problem) == (5, "")


def test_a_peer_that_takes_too_long_is_ended():
    result = run_peer([sys.executable, "-c", ANSWERS, "60"], runs=1, timeout=0.5)
    assert (result.seconds, result.problem) == ((), "did not finish in 0.5 s")
    assert result.total_seconds < 30
    with pytest.raises(NotMeasured, match=r"did not finish in 0\.5 s"):
        result.runs()


def test_a_peer_that_fails_says_why():
    with pytest.raises(RuntimeError, match="no such query"):
        run_peer([sys.executable, "-c", "raise SystemExit('no such query')"], runs=1, timeout=60)


@pytest.mark.slow
@pytest.mark.skipif(not flink_peer.HOME.exists(), reason="Flink is not installed")
@pytest.mark.parametrize("source", ["memory", "file"])
@pytest.mark.parametrize("execution", ["streaming", "batch"])
@pytest.mark.parametrize(
    ("mode", "query"), [(mode, query) for mode, queries in flink_peer.QUERIES.items() for query in queries]
)
@pytest.mark.parametrize("window", [25, 50])
def test_flink_answers_like_brute_force(mode, query, source, execution, window):
    stream, find = case_of(mode, query)
    folder = data.parquet(stream, 3000, keys=5, files=4)
    job = flink_peer.FlinkJob(mode, query, folder, window, source=source, execution=execution)
    result = flink_peer.run_flink(job, runs=2)
    assert result.runs()[0][0] == answer(find, pq.read_table(folder), window)
    assert result.events == 3000


@pytest.mark.slow
@pytest.mark.skipif(not pandas_peer.HOME.exists(), reason="pandas-match-recognize is not installed")
@pytest.mark.parametrize("query", pandas_peer.QUERIES)
@pytest.mark.parametrize("window", [25, 50])
def test_pandas_answers_like_brute_force(query, window):
    stream, find = case_of("sql", query)
    folder = data.parquet(stream, 3000, keys=5, files=4)
    result = pandas_peer.run_pandas(query, folder, window)
    assert result.summary == answer(find, pq.read_table(folder), window)


def case_of(mode, query):
    if query == "seq3":
        return data.kleene_stream, seq3_any if mode == "cep" else seq3_next
    return data.random_walk if query == "vshape" else data.kleene_stream, FINDS[query]
