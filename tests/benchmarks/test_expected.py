"""The brute force that peers are held to, on events small enough to check by eye."""

import pyarrow as pa
import pytest

from benchmarks.expected import Event, answer, kleene_any, seq3_any, seq3_next, summary, vshape


def rows(types, values=None):
    return [Event(i, types[i], i, values[i] if values else 0.0) for i in range(len(types))]


@pytest.mark.parametrize(
    ("find", "events", "window", "matches"),
    [
        (kleene_any, rows("ABBC"), 3, [(0, 1, 3), (0, 2, 3), (0, 1, 2, 3)]),
        (kleene_any, rows("ABBC"), 2, []),
        (seq3_any, rows("ABBC"), 3, [(0, 1, 3), (0, 2, 3)]),
        (seq3_next, rows("ACBABCC"), 6, [(0, 2, 5), (3, 4, 5)]),
        (seq3_next, rows("ACBABCC"), 4, [(3, 4, 5)]),
        (vshape, rows("PPPPPP", [5, 4, 3, 6, 2, 4]), 9, [(0, 2, 3), (3, 4, 5)]),
        (vshape, rows("PPPPPP", [5, 4, 3, 6, 2, 4]), 2, [(1, 2, 3), (3, 4, 5)]),
    ],
)
def test_matches(find, events, window, matches):
    assert list(find(events, window)) == matches


def test_keys_are_matched_apart():
    table = pa.table({"id": [0, 1, 2], "type": ["A", "B", "C"], "time": [0, 1, 2], "key": [0, 1, 0], "v": [0.0] * 3})
    assert answer(seq3_any, table, 2).matches == 0
    assert answer(seq3_any, table.set_column(3, "key", [[0, 0, 0]]), 2) == summary([(0, 1, 2)])
