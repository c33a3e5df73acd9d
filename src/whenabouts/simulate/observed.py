"""Events as they are observed, and what really happened.

Problem: a confidence is right if, of many matches with confidence 0.7, about 70 % happened. To test that, the truth
must be known, and the best an observer can know about it must be what the table says: a time for each event, alone.
Idea: what is observed comes first, and the truth is drawn from it, each time from its own distribution (errors of
Berkson's kind). The other way round, with observed = true + error, is no such test: a simulated peak lies within a
task by construction, so the tasks would tell where in its interval the peak is, which no engine takes into account.
Invariant: given everything in the table, the true times are independent and have exactly its distributions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from whenabouts.engine import query
from whenabouts.simulate.cluster_log import Flags

Signature = tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class Observed:
    """Events with uncertain time, and apart from them, row by row, the time that only the simulator knows."""

    events: pa.Table
    """What an engine is given: id, type, lower, upper (a closed interval), pmf unless uniform, attributes."""
    happened: pa.Array
    """When each event happened."""
    reported: pa.Array
    """When it happened for whoever takes what was reported for exact."""

    @property
    def world(self) -> pa.Table:
        """The events with a column `time`: the true one."""
        return self._timed(self.happened)

    @property
    def trusted(self) -> pa.Table:
        """The events with a column `time`: the reported one."""
        return self._timed(self.reported)

    def truth(self, text: str, granularity: str | None = None) -> pa.Table:
        """The matches of a query that really happened: its answer in exact time about the world."""
        return query(text, granularity=granularity).match(self.world)

    def trusting(self, text: str, granularity: str | None = None) -> pa.Table:
        """The answer of an engine that knows exact time only and takes reported times for true."""
        return query(text, granularity=granularity).match(self.trusted)

    def _timed(self, time: pa.Array) -> pa.Table:
        attributes = [name for name in self.events.column_names if name not in {"lower", "upper", "pmf"}]
        return self.events.select(attributes).append_column("time", time)


def signatures(matches: pa.Table) -> list[Signature]:
    """The events of each match, step by step: by these a match is the same one in another table of answers."""
    return [tuple((step, tuple(ids)) for step, ids in events) for events in matches["events"].to_pylist()]


def happened(possible: list[Signature], truth: pa.Table) -> Flags:
    """Which of these signatures are among the matches that really happened."""
    real = set(signatures(truth))
    return np.fromiter((signature in real for signature in possible), np.bool_, len(possible))
