"""A small table of events, and the command line as a function."""

import json
import sys
from dataclasses import dataclass
from datetime import datetime, timedelta

import pyarrow as pa
import pytest

from whenabouts.app import cli

CLIMB = (
    "PATTERN SEQ(A a, B+ b[], C c) WHERE [node] AND b[i].v > b[i-1].v AND skip_till_any_match "
    "WITHIN 10 seconds RETURN b[].v, c.time - a.time AS took"
)
SIGNATURES = [{"a": [1], "b": [2, 3], "c": [5]}, {"a": [1], "b": [2], "c": [5]}, {"a": [1], "b": [3], "c": [5]}]


@dataclass
class Done:
    """What a finished command said."""

    code: int
    out: str
    err: str

    @property
    def rows(self):
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def json(self):
        (line,) = self.out.splitlines()
        return json.loads(line)


@pytest.fixture
def run(capfdbinary, monkeypatch):
    """Run the command line in this process, as `whenabouts` does."""

    def call(*words, stdin=b""):
        monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": type("B", (), {"read": lambda _: stdin})()}))
        with pytest.raises(SystemExit) as left:
            cli.main([str(word) for word in words])
        captured = capfdbinary.readouterr()
        return Done(left.value.code, captured.out.decode(), captured.err.decode())

    return call


@pytest.fixture(scope="session")
def events():
    """Six events of which one has no time and one no node."""
    start = datetime(2024, 5, 31, 12)
    times = [start + timedelta(seconds=i, milliseconds=250 * i) for i in range(6)]
    return pa.table(
        {
            "id": [1, 2, 3, 4, 5, 6],
            "type": ["A", "B", "B", "B", "C", "C"],
            "time": pa.array([*times[:5], None], pa.timestamp("us")),
            "node": ["n1", "n1", "n1", None, "n1", "n1"],
            "v": [0.0, 1.0, 2.5, 9.0, 0.5, 0.5],
        }
    )


def signatures(rows):
    """The events of each match, in the order of SIGNATURES."""
    return sorted((row["events"] for row in rows), key=str)
