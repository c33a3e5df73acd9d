"""SEQ(A, B+, C) under skip till any match while the window grows from 25 to 100,000 events: counted and collapsed.

The thesis' microbenchmark (4.3.2) with one predicate of each class. Windows hold W events, of which one in SPARSE is
relevant (as under the thesis' selective predicates), so that inconsistent predicates can be counted at all up to the
budget. The exponent of seconds over W stands below the table.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import whenabouts as wa
from benchmarks.data import uniform_types
from benchmarks.measure import NotMeasured, Row, Scale

NAME = "kleene_window"
WINDOWS: dict[Scale, tuple[int, ...]] = {"tiny": (25, 100), "full": (25, 100, 1_000, 10_000, 100_000)}
SIZES: dict[Scale, int] = {"tiny": 3_000, "full": 200_000}
SPARSE = 60  # of so many types three are asked for
CLASSES: Mapping[str, str] = {
    "true-false consistent": "b[i].v > 0.1",
    "true consistent": "b[i].v > max(b[..i-1].v)",
    "false consistent": "c.v < max(b[].v)",
    "inconsistent": "b[i].v > avg(b[..i-1].v)",
}
RETURNS = {"count": "RETURN TOTAL count(*)", "collapsed": "RETURN COLLAPSED"}
INCONSISTENT_UP_TO = 1_000  # exact counting is exponential in the worst case; beyond, it would hit the budget


@dataclass(frozen=True)
class Streams:
    events: pa.Table
    scale: Scale

    def __len__(self) -> int:
        return int(self.events.num_rows)


def load(scale: Scale) -> Streams:
    return Streams(uniform_types(SIZES[scale], n_types=SPARSE), scale)


def ask(kind: str, form: str, window: int, streams: Streams) -> tuple[str, str, int, Any]:
    if window not in WINDOWS[streams.scale]:
        raise NotMeasured(f"not at scale {streams.scale}")
    text = (
        f"PATTERN SEQ(A a, B+ b[], C c) WHERE {CLASSES[kind]} AND skip_till_any_match WITHIN {window} {RETURNS[form]}"
    )
    try:
        return kind, form, window, wa.query(text).match(streams.events)
    except wa.WhenaboutsError as error:
        if error.code != "budget":
            raise
        raise NotMeasured("over the budget, as exact counting may be") from error


def _variants() -> dict[str, Callable[[Streams], Any]]:
    found = {}
    for kind in CLASSES:
        for form in RETURNS:
            for window in sorted({w for windows in WINDOWS.values() for w in windows}):
                if not (kind == "inconsistent" and form == "count" and window > INCONSISTENT_UP_TO):
                    found[f"{kind}, {form}, W={window:,}"] = partial(ask, kind, form, window)
    return found


VARIANTS = _variants()


def check(streams: Streams, answer: tuple[str, str, int, Any]) -> None:
    """Small windows: compare with the matches listed. All: a start has a row exactly if it can have a match."""
    kind, form, window, rows = answer
    if form == "collapsed":
        if rows.num_rows != _starts(streams.events, window, kind):
            raise AssertionError(f"{rows.num_rows} rows instead of {_starts(streams.events, window, kind)}")
    elif window <= 100:
        listing = f"PATTERN SEQ(A a, B+ b[], C c) WHERE {CLASSES[kind]} AND skip_till_any_match WITHIN {window}"
        wanted = wa.query(listing).match(streams.events).num_rows
        if rows.column("count").to_pylist() != [wanted]:
            raise AssertionError(f"{rows.column('count').to_pylist()} matches instead of {wanted}")


def _starts(events: pa.Table, window: int, kind: str) -> int:
    """Starts with a B (that passes its own condition) and then a C in the window."""
    types = np.asarray(events.column("type").combine_chunks().indices)
    names = events.column("type").combine_chunks().dictionary.to_pylist()
    a, b, c = (types == names.index(x) for x in "ABC")
    if kind == "true-false consistent":
        b &= np.asarray(events.column("v")) > 0.1
    time_of = np.asarray(events.column("time"))
    b_at, c_at = np.flatnonzero(b), np.flatnonzero(c)
    starts = np.flatnonzero(a)
    first_b = np.append(b_at, len(types))[np.searchsorted(b_at, starts)]
    first_c = np.append(c_at, len(types))[np.searchsorted(c_at, first_b)]
    reached = first_c < len(types)
    return int(np.count_nonzero(time_of[first_c[reached]] - time_of[starts[reached]] < window))


def conclusion(rows: list[Row]) -> str:
    """The exponent of seconds over W, fitted for every class and form."""
    lines = []
    for kind in CLASSES:
        for form in RETURNS:
            label = f"{kind}, {form}"
            timed = [row for row in rows if row.variant.startswith(f"{label}, W=") and row.seconds]
            windows = [int(row.variant.split("=")[1].replace(",", "")) for row in timed]
            if len(windows) > 1:
                exponent = float(np.polyfit(np.log(windows), np.log([row.median for row in timed]), 1)[0])
                lines.append(f"{label:40} W^{exponent:.2f} from {windows[0]:,} to {windows[-1]:,}")
    return "\n".join(lines)
