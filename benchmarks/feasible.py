"""Which chains of uncertain events are possible, and which of them some world leaves undisturbed: NumPy, no whenabouts.

An event is its number n and happens at any whole instant from n - half_width to n + half_width. `classes[j]` are the
numbers of the events that can be step j, in order. A chain needs t_1 < t_2 < .. and t_l - t_1 <= span.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

I64 = NDArray[np.int64]


def chains(classes: Sequence[I64], half_width: int, span: int) -> I64:
    """All possible chains, one per row, in lexicographic order.

    In a prefix of j events every event happens as early as it can at `low` for the last; the first event happens at
    `high` at the latest, lest one of the others came too late for what follows it.
    """
    found = classes[0].reshape(-1, 1)
    low, high = classes[0] - half_width, classes[0] + half_width
    for j, events in enumerate(classes[1:], start=1):
        begins = np.searchsorted(events, low + 1 - half_width)
        ends = np.searchsorted(events, high + span + half_width, side="right")
        owner = np.repeat(np.arange(len(found)), ends - begins)
        place = np.arange(owner.size) - np.repeat(np.cumsum(ends - begins) - ends, ends - begins)
        event = events[place]
        earliest = np.maximum(low[owner] + 1, event - half_width)
        latest = np.minimum(high[owner], event + half_width - j)
        kept = (earliest <= event + half_width) & (earliest - latest <= span) & (found[owner] != event[:, None]).all(1)
        found = np.column_stack([found[owner][kept], event[kept]])
        low, high = earliest[kept], latest[kept]
    return found


def undisturbed(found: I64, classes: Sequence[I64], half_width: int, span: int) -> NDArray[np.bool_]:
    """Which chains are matches of skip till next match in some world.

    An event that could be step j disturbs if it is strictly between t_{j-1} and t_j, which it is in every world
    exactly if its whole interval is. For each first instant the others are possible in intervals: step j from one
    after the earliest t_{j-1} to where the first interval that begins behind the latest t_{j-1} ends.
    """
    possible = np.zeros(len(found), np.bool_)
    for shift in range(-half_width, half_width + 1):
        start = found[:, 0] + shift
        low, high = start, start
        alive = np.ones(len(found), np.bool_)
        for j, events in enumerate(classes[1:], start=1):
            behind = _ends_behind(events, high, found[:, j], half_width)
            low = np.maximum(low + 1, found[:, j] - half_width)
            high = np.minimum(behind, found[:, j] + half_width)
            alive &= low <= high
        possible |= alive & (low - start <= span)
    return possible


def _ends_behind(events: I64, instant: I64, own: I64, half_width: int) -> I64:
    """When the first of the events that begin after the instant has surely happened; other than one's own."""
    padded = np.concatenate([events, np.full(2, np.iinfo(np.int64).max // 2)])
    place = np.searchsorted(events, instant + half_width, side="right")
    place += padded[place] == own
    return padded[place] + half_width
