"""Runs of keys: no key is cut, no row is lost."""

import random

import pyarrow as pa
import pytest

from whenabouts.spark.task import runs_of_keys


@pytest.mark.parametrize("seed", range(50))
def test_keys_stay_whole(seed):
    rng = random.Random(seed)
    keys = sorted((rng.randrange(3), rng.choice("ab")) for _ in range(rng.randint(0, 60)))
    table = pa.table({"k": [k for k, _ in keys], "l": [x for _, x in keys], "n": list(range(len(keys)))})
    batches = table.to_batches(max_chunksize=rng.randint(1, 9)) if keys else []
    limit = rng.randint(1, 20)
    runs = list(runs_of_keys(iter(batches), [0, 1], limit))
    assert [n for run in runs for n in run.column("n").to_pylist()] == list(range(len(keys)))
    seen = [set(zip(run.column("k").to_pylist(), run.column("l").to_pylist(), strict=True)) for run in runs]
    assert sum(map(len, seen)) == len(set().union(*seen))


def test_without_a_key_everything_is_one_run():
    batches = pa.table({"n": list(range(100))}).to_batches(max_chunksize=7)
    assert [run.num_rows for run in runs_of_keys(iter(batches), [], 10)] == [100]
