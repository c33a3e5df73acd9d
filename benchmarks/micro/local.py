"""One process, one core: sequences, V shapes, and sequences per key, over two million events."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import whenabouts as wa
from benchmarks.data import random_walk, uniform_types
from benchmarks.measure import Scale

NAME = "local"
SIZES: dict[Scale, int] = {"tiny": 20_000, "full": 2_000_000}
FALL_RISE = (
    "PATTERN SEQ({0} a, {0}+ d[], {0}+ u[]) WHERE d[1].v < a.v AND d[i].v < d[i-1].v"
    " AND u[1].v > d[last].v AND u[i].v > u[i-1].v AND partition_contiguity"
)


@dataclass(frozen=True)
class Streams:
    """The inputs of all variants; `wanted` is the number of matches of each, counted without whenabouts."""

    tables: dict[str, pa.Table]
    queries: dict[str, str]
    wanted: dict[str, int]

    def __len__(self) -> int:
        return next(iter(self.tables.values())).num_rows


def load(scale: Scale) -> Streams:
    n = SIZES[scale]
    walk = random_walk(n)
    tables = {"seq3": uniform_types(n), "v shape": walk}
    names = _types(tables["seq3"])[:3]
    seq3 = "PATTERN SEQ({} a, {} b, {} c)".format(*names)
    queries = {
        "seq3": f"{seq3} WHERE skip_till_any_match WITHIN 100",
        "v shape": FALL_RISE.format(_types(walk)[0]),
    }
    wanted = {"seq3": _count_seq3(tables["seq3"], names, 100), "v shape": _count_valleys(walk)}
    for keys in (1_000, 100_000):
        label = f"seq3, {keys:,} keys"
        tables[label] = uniform_types(n, keys=keys)
        queries[label] = f"{seq3} WHERE [key] AND skip_till_any_match WITHIN {100 * keys}"
        wanted[label] = _count_seq3(tables[label], names, 100 * keys)
    return Streams(tables, queries, wanted)


def _types(table: pa.Table) -> list[str]:
    return sorted(table.column("type").unique().to_pylist())


def _count_seq3(table: pa.Table, names: list[str], window: int) -> int:
    """By looking at every pair and triple of relevant events."""
    kinds = np.array(table.column("type").cast(pa.string()).to_pylist())
    relevant = np.flatnonzero(np.isin(kinds, names))
    time, key, kind = (
        np.asarray(table.column("time"))[relevant],
        np.asarray(table.column("key"))[relevant],
        kinds[relevant],
    )
    by_key: dict[int, list[tuple[int, str]]] = {}
    for k, t, x in zip(key.tolist(), time.tolist(), kind.tolist(), strict=True):
        by_key.setdefault(k, []).append((t, x))
    return sum(_triples(events, names, window) for events in by_key.values())


def _triples(events: list[tuple[int, str]], names: list[str], window: int) -> int:
    found = 0
    for i, (start, kind) in enumerate(events):
        if kind != names[0]:
            continue
        middles = 0
        for t, x in events[i + 1 :]:
            if t - start >= window:
                break
            middles += x == names[1]
            found += middles if x == names[2] else 0
    return found


def _count_valleys(walk: pa.Table) -> int:
    """Every event before a fall starts one match, if the fall ends with a rise and not with an equal price."""
    steps = np.diff(np.asarray(walk.column("v")))
    ends = np.append(np.flatnonzero(steps >= 0), steps.size)
    following = ends[np.searchsorted(ends, np.flatnonzero(steps < 0))]
    return int(np.count_nonzero(np.append(steps, 0.0)[following] > 0))


def ask(variant: str, streams: Streams) -> tuple[str, Any]:
    return variant, wa.query(streams.queries[variant]).match(streams.tables[variant])


VARIANTS: dict[str, Callable[[Streams], Any]] = {
    name: partial(ask, name) for name in ("seq3", "v shape", "seq3, 1,000 keys", "seq3, 100,000 keys")
}


def check(streams: Streams, answer: tuple[str, Any]) -> None:
    variant, rows = answer
    if rows.num_rows != streams.wanted[variant]:
        raise AssertionError(f"{variant}: {rows.num_rows} matches instead of {streams.wanted[variant]}")
