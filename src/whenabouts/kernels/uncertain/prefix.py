"""A prefix of a chain under way, and what it could go on to.

Problem: the search, and what is written down about a chain that it finds, read the same prefix. Idea: a stack with a
frame and a row of registers per event, and beside it the options that every frame still has.
Invariant: nothing here changes a prefix; `search` does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from whenabouts.kernels.program import F64, I64, Records
from whenabouts.kernels.types import leaf

DONE, FULL, OVER_BUDGET, OVER_LIMIT = 0, 1, 2, 3
FOREVER = np.int64(1) << np.int64(62)

# A prefix of a chain: its last event, how it got there, and what it can go on to: options[begin:end]. The event is in
# `node`, which has begun with frame `opener`: it cannot be complete before `low`, the node before it not before
# `before`, it has begun at `until` at the latest, and the chain at `start`. In a group events stand by their number.
FRAME = np.dtype(
    [
        (n, "i8")
        for n in (
            "event", "position", "edge", "further", "node", "opener", "before", "low", "until", "start", "begin", "end",
            "next",
        )
    ]
)  # fmt: skip
# What a prefix could take: `further` if the event only continues a closure; `joins` if it would join the group of the
# last event; `ready` if a chain can go on with it.
OPTION = np.dtype([(n, "i8") for n in ("event", "edge", "further", "joins", "ready")])
# A row of `Forbidders` while it is collected.
ROW = np.dtype([(n, "i8") for n in ("event", "low", "from_last", "high", "closed")])


class Stack(NamedTuple):
    """The prefix under way: a frame and a row of registers per event, and rows of forbidden regions."""

    frames: Records
    ints: I64
    floats: F64
    options: Records
    rows: Records


class Task(NamedTuple):
    """What to search for."""

    span: int  # last - first <= span ticks; -1: no window
    selective: int  # 1: skip till next match
    budget: int  # options and rows one start may hold at once
    drop: int  # 1: give up a start beyond its budget and count it
    limit: int  # chains to find at most; -1: all
    pivot: int  # the position whose events are rarest: starts are tried only near one of them; -1: all are tried
    arriving: int  # 1: for each event the chains it completes, in order of arrival (any state); 0: by their start
    unordered: int  # 1: the events of a closure are one node, a group


@leaf
def first_after(reach, run, t):
    """The first event of the run before which all end before tick t."""
    low, high = run[0], run[1]
    while low < high:
        middle = (low + high) >> 1
        if reach[middle] >= t:
            high = middle
        else:
            low = middle + 1
    return low


@leaf
def end_of_window(task, start):
    """The last instant of a chain whose first event happens at `start`."""
    return FOREVER if task.span < 0 else start + task.span


@leaf
def member(stack, depth, x):
    for i in range(depth + 1):
        if stack.frames[i].event == x:
            return True
    return False
