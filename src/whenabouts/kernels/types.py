"""What the kernels pass to one another: the event arrays of a batch, and growable output buffers.

Events of one key stand together, in time order; `runs` holds the boundaries of the keys.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from whenabouts.kernels.program import F64, I64, U64, Records

# For functions inside a match loop. They allocate nothing, and without reference counts a call costs nanoseconds: each
# count is an atomic operation, and the arguments hold some thirty arrays. They are never called from Python, and what
# would make that possible takes a quarter of the time to compile.
INSIDE = {"_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
leaf = njit(forceinline=True, **INSIDE)
aside = njit(**INSIDE)  # the same, called: for what is rarely needed or needed in many places


class Events(NamedTuple):
    """A batch as the kernels see it: one entry per event, except `runs` (boundaries) and the matrices."""

    time: I64
    bits: U64  # which steps the event can be, by type and conditions on itself
    key: I64  # code of the key; asked only under strict contiguity
    runs: I64
    instant: I64  # index of the first event with the same key and time
    after: I64  # index of the first later event (end of the run if none)
    floats: F64  # derived columns, one row each
    ints: I64


@intrinsic
def _data(_, array):
    """Where the entries of an array begin."""

    def generate(context, builder, signature, arguments):
        return make_array(signature.args[0])(context, builder, arguments[0]).data

    return types.CPointer(array.dtype)(array), generate


@leaf
def ask(condition, number, event, events, ri, rf):
    """Call a compiled condition or update of a query with pointers: arrays would cost more than most conditions."""
    return condition(number, event, events.time.size, _data(events.floats), _data(events.ints), _data(ri), _data(rf))


class Limits(NamedTuple):
    """Window and bounds of one call."""

    span: int  # last - first <= span ticks; -1: no window
    events: int  # 1: span counts events instead
    budget: int  # partial matches (or graph nodes) one start may hold at once
    drop: int  # 1: give up a start beyond its budget and count it; 0: stop
    limit: int  # matches to find at most; -1: all


@njit(cache=True)
def instants(time, runs):
    """For every event, the range of events at the same time in its run."""
    n = time.size
    instant = np.empty(n, np.int64)
    after = np.empty(n, np.int64)
    for r in range(runs.size - 1):
        i = runs[r]
        while i < runs[r + 1]:
            j = i + 1
            while j < runs[r + 1] and time[j] == time[i]:
                j += 1
            for k in range(i, j):
                instant[k] = i
                after[k] = j
            i = j
    return instant, after


@leaf
def within(events, limits, first, last):
    """Whether the window can hold both events."""
    if limits.span < 0:
        return True
    if limits.events == 1:
        return events.after[last] - events.instant[first] <= limits.span
    return events.time[last] - events.time[first] <= limits.span


@njit
def grown(array, size):
    """The array, or a copy at least twice as long if it cannot hold `size` entries."""
    if size <= array.size:
        return array
    bigger = np.empty(max(size, 2 * array.size), array.dtype)
    bigger[: array.size] = array
    return bigger


FRAME = np.dtype(
    [
        ("event", "i8"),
        ("position", "i8"),
        ("parent", "i8"),
        ("edge", "i8"),
        ("stopped", "i8"),  # bit per closure that takes no further element
        ("since", "i8"),  # where to look for the next event
        ("group", "i8"),  # frames group..group_end-1 are the same prefix at different positions
        ("group_end", "i8"),
        ("state", "i8"),
    ]
)


class Frames(NamedTuple):
    """Partial matches of one start, as a stack: parents stand below their children. Registers have one row each."""

    stack: Records
    ints: I64
    floats: F64


class Values(NamedTuple):
    """The columns summed over: whose step they belong to, and their value for every event, both as int and float."""

    step: I64
    ints: I64
    floats: F64
    valid: npt.NDArray[np.uint8]


class Output(NamedTuple):
    """Matches so far: match m is events[ends[m-1]:ends[m]] in time order, each with its step."""

    ends: I64
    events: npt.NDArray[np.int32]
    steps: npt.NDArray[np.uint8]
    fill: I64  # [matches, entries, starts given up, events already handled]


@njit
def new_output(size):
    return Output(
        np.empty(size, np.int64), np.empty(4 * size, np.int32), np.empty(4 * size, np.uint8), np.zeros(4, np.int64)
    )


@leaf
def full(out, entries):
    """Whether one more match of so many entries might not fit."""
    return out.fill[0] >= out.ends.size or out.fill[1] + entries > out.events.size


@njit
def room(out, entries):
    """The output with space for one more match of so many entries."""
    matches, used = out.fill[0], out.fill[1]
    return Output(
        grown(out.ends, matches + 1), grown(out.events, used + entries), grown(out.steps, used + entries), out.fill
    )
