"""How long something unseen may still have been there: times of events derived from lossy readings.

Model (thesis 3.7.3): a reader tries f times per tick; an object in range is read with probability p at each try,
independently. n misses in a row have probability (1 - p)^n; once that is negligible the object is taken to be gone.
"""

from __future__ import annotations

import math

from whenabouts.errors import QueryError

NEGLIGIBLE = 2e-10  # gives the settings of the thesis: 10, 14 and 19 readings for rates of 0.9, 0.8 and 0.7


def detection_gap(read_rate: float, reads_per_tick: float = 1.0, negligible: float = NEGLIGIBLE) -> int:
    """The ticks after which an object that was not read is gone: the least U with (1 - p)^(f U) <= negligible."""
    miss = _miss(read_rate, reads_per_tick)
    if not 0 < negligible < 1:
        raise QueryError("limit", f"a negligible probability lies between 0 and 1, not {negligible!r}")
    return 1 if miss == 0 else max(1, math.ceil(math.log(negligible) / math.log(miss)))


def detection_pmf(
    last_seen: int, first_not_seen: int, read_rate: float, reads_per_tick: float = 1.0
) -> tuple[float, ...]:
    """The distribution of the last tick at which an object was in range, for a column `pmf`.

    It was read at `last_seen`, and not afterwards; from `first_not_seen` on it is taken to be gone. Before looking,
    each of those U = first_not_seen - last_seen ticks is equally likely; having stayed k ticks longer means f k misses,
    so the mass of last_seen + k is proportional to (1 - p)^(f k). The interval is last_seen to first_not_seen - 1.
    Reversed, it is the arrival of an object that was not seen before.
    """
    ticks = first_not_seen - last_seen
    if ticks < 1:
        raise QueryError("limit", "an object cannot be missing before it was last seen", hint="first_not_seen is later")
    miss = _miss(read_rate, reads_per_tick)
    weights = [miss**k for k in range(ticks)]
    total = math.fsum(weights)
    return tuple(weight / total for weight in weights)


def _miss(read_rate: float, reads_per_tick: float) -> float:
    """The probability to miss an object for a whole tick."""
    if not 0 < read_rate <= 1:
        raise QueryError("limit", f"a read rate lies between 0 and 1, not {read_rate!r}")
    if not (reads_per_tick > 0 and math.isfinite(reads_per_tick)):
        raise QueryError("limit", f"a reader reads a positive number of times per tick, not {reads_per_tick!r}")
    return float((1.0 - read_rate) ** reads_per_tick)
