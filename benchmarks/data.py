"""Named event streams: seeded, vectorised, and cached as Parquet under benchmarks/data/.

Every stream has the columns id, type, time, key and v; time counts up by one from event to event, so nothing is tied.
Those of uncertain time have the columns lower and upper instead of time.
"""

import shutil
import string
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

DATA = Path(__file__).parent / "data"
VERSION = 1  # part of every cached name: raise it when a generator changes what it makes


def uniform_types(n: int, *, n_types: int = 100, keys: int = 1, seed: int = 1) -> pa.Table:
    """Types and keys drawn uniformly: a query on A, B and C finds 3 in `n_types` events relevant."""
    random = np.random.default_rng(seed)
    types, key = random.integers(n_types, size=n), random.integers(keys, size=n)
    return _table(types, n_types, key, random.random(n))


def kleene_stream(n: int, *, keys: int = 1, types: int = 3, seed: int = 1) -> pa.Table:
    """Every event relevant, keys in turn: a window of w * `keys` holds w events of each key."""
    random = np.random.default_rng(seed)
    return _table(random.integers(types, size=n), types, np.arange(n) % keys, random.random(n))


def imprecise_types(n: int, *, half_width: int, n_types: int = 20, keys: int = 1, seed: int = 1) -> pa.Table:
    """Types and keys drawn uniformly, one event of each key per tick; bounds instead of a time."""
    drawn = uniform_types(n, n_types=n_types, keys=keys, seed=seed)
    tick, columns = np.arange(n) // keys, {name: drawn[name] for name in ("id", "type", "key", "v")}
    return pa.table({**columns, "lower": tick - half_width, "upper": tick + half_width})


def random_walk(n: int, *, keys: int = 1, seed: int = 1) -> pa.Table:
    """One price series per key, keys in turn; every event has the same type."""
    steps = np.random.default_rng(seed).normal(size=(-(-n // keys), keys))
    price = np.round(100 + steps.cumsum(axis=0).ravel()[:n], 2)
    return _table(np.zeros(n, np.int64), 1, np.arange(n) % keys, price)


def parquet(
    stream: Callable[..., pa.Table], n: int, *, files: int = 1, row_group: int = 1 << 20, **parameters: Any
) -> Path:
    """The folder that holds `stream(n, **parameters)`, cut by time into `files` files; made on first use."""
    settings = {"n": n, **parameters, "files": files, "row_group": row_group, "v": VERSION}
    folder = DATA / "-".join([stream.__name__, *(f"{name}{value}" for name, value in settings.items())])
    if not folder.exists():
        unfinished = folder.with_suffix(".part")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        table, cuts = stream(n, **parameters), [n * i // files for i in range(files + 1)]
        for i, (start, stop) in enumerate(pairwise(cuts)):
            part = unfinished / f"part-{i:04}.parquet"
            pq.write_table(table.slice(start, stop - start), part, row_group_size=row_group)
        unfinished.rename(folder)
    return folder


_ten_million = partial(parquet, n=10_000_000, files=8)

SETS: dict[str, Callable[[], Path]] = {
    "10m-1k-keys-3-percent": partial(_ten_million, uniform_types, n_types=100, keys=1_000),
    "10m-1k-keys-all": partial(_ten_million, uniform_types, n_types=3, keys=1_000),
    "10m-100k-keys-3-percent": partial(_ten_million, uniform_types, n_types=100, keys=100_000),
    "10m-100k-keys-all": partial(_ten_million, uniform_types, n_types=3, keys=100_000),
}
"""Parquet sets of 10 M events by number of keys and by share of events that a query on A, B and C can use."""


def _table(type_index: NDArray[np.int64], n_types: int, key: NDArray[np.int64], v: NDArray[np.float64]) -> pa.Table:
    names = [*string.ascii_uppercase, *(f"T{i}" for i in range(26, n_types))][:n_types]
    order = np.arange(len(key))
    types = pa.DictionaryArray.from_arrays(type_index.astype(np.int32), names)
    return pa.table({"id": order, "type": types, "time": order, "key": key, "v": v})
