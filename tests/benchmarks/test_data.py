"""Named streams: repeatable, in time order, kept as Parquet."""

import pyarrow.parquet as pq
import pytest

from benchmarks import data


@pytest.mark.parametrize("stream", [data.uniform_types, data.kleene_stream, data.random_walk])
def test_streams_are_repeatable_and_cached_in_time_order(stream, monkeypatch, tmp_path):
    monkeypatch.setattr(data, "DATA", tmp_path)
    table = stream(1000, keys=7)
    assert table.column_names == ["id", "type", "time", "key", "v"]
    assert table.equals(stream(1000, keys=7))
    assert not table.equals(stream(1000, keys=7, seed=2))
    folder = data.parquet(stream, 1000, keys=7, files=3, row_group=100)
    assert len(list(folder.iterdir())) == 3
    assert pq.read_table(folder).equals(table)
    assert data.parquet(stream, 1000, keys=7, files=3, row_group=100) == folder


def test_imprecise_streams_have_bounds_around_the_tick_of_their_round():
    table = data.imprecise_types(1000, half_width=3, n_types=5, keys=10)
    assert table.column_names == ["id", "type", "key", "v", "lower", "upper"]
    lower, upper = (table[name].to_numpy() for name in ("lower", "upper"))
    assert ((lower + upper) // 2 == table["id"].to_numpy() // 10).all()
    assert set((upper - lower).tolist()) == {6}
    assert table["type"].equals(data.uniform_types(1000, n_types=5, keys=10)["type"])
