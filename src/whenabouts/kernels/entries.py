"""Kernel output -> columns: grouping a match's events by step, stable ids, segmented reductions.

A kernel writes each match as a run of (event, step) pairs in time order. Results want, per match, one list per step.
The id of a match hashes (step name, event id) pairs, so it does not depend on engine, partitioning or row order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from whenabouts.kernels.folds import compiled_fold
from whenabouts.kernels.interrupts import uninterrupted
from whenabouts.kernels.program import I64


class Entries(NamedTuple):
    """Matches by step. Match m has entries bounds[m]..bounds[m+1], entry k the events items[k]..items[k+1]."""

    bounds: npt.NDArray[np.int32]
    step: npt.NDArray[np.uint8]
    items: npt.NDArray[np.int32]
    events: npt.NDArray[np.int32]


@uninterrupted
@njit(cache=True)
def entries_of(ends, events, steps, matches, step_count):
    """Group the events of each match by step, steps in order, time order kept inside a step."""
    total = ends[matches - 1] if matches else 0
    bounds = np.zeros(matches + 1, np.int32)
    entry_step = np.empty(total, np.uint8)
    items = np.empty(total + 1, np.int32)  # Arrow's offsets
    grouped = np.empty(total, np.int32)
    count = np.zeros(step_count, np.int64)
    place = np.zeros(step_count, np.int64)
    used = entry = begin = 0
    items[0] = 0
    for m in range(matches):
        end = ends[m]
        count[:] = 0
        for i in range(begin, end):
            count[steps[i]] += 1
        for s in range(step_count):
            if count[s]:
                place[s] = used
                used += count[s]
                entry_step[entry] = s
                entry += 1
                items[entry] = used
        for i in range(begin, end):
            grouped[place[steps[i]]] = events[i]
            place[steps[i]] += 1
        bounds[m + 1] = entry
        begin = end
    return Entries(bounds, entry_step[:entry], items[: entry + 1], grouped)


@njit(cache=True)
def entry_of_step(entries, step):
    """Per match the entry of the step, or -1."""
    n = entries.bounds.size - 1
    found = np.full(n, -1, np.int64)
    for m in range(n):
        for k in range(entries.bounds[m], entries.bounds[m + 1]):
            if entries.step[k] == step:
                found[m] = k
    return found


@njit(cache=True)
def events_of_step(entries, step):
    """The events of a step as a list per match: offsets and events."""
    where = entry_of_step(entries, step)
    offsets = np.zeros(where.size + 1, np.int64)
    for m in range(where.size):
        k = where[m]
        offsets[m + 1] = offsets[m] + (entries.items[k + 1] - entries.items[k] if k >= 0 else 0)
    events = np.empty(offsets[-1], np.int32)
    for m in range(where.size):
        k = where[m]
        if k >= 0:
            events[offsets[m] : offsets[m + 1]] = entries.events[entries.items[k] : entries.items[k + 1]]
    return offsets, events


@njit(cache=True)
def pick_of_step(entries, step, last):
    """The first or last event of a step per match, or -1."""
    where = entry_of_step(entries, step)
    picked = np.full(where.size, -1, np.int64)
    for m in range(where.size):
        k = where[m]
        if k >= 0:
            picked[m] = entries.events[entries.items[k + 1] - 1 if last else entries.items[k]]
    return picked


# --- ids -------------------------------------------------------------------------------------------------------------


@njit(cache=True, inline="always")
def mixed(x):
    """The finaliser of splitmix64: every input bit reaches every output bit."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True)
def hashes_of_ints(values):
    out = np.empty(values.size, np.uint64)
    for i in range(values.size):
        out[i] = mixed(np.uint64(values[i]) + np.uint64(0x9E3779B97F4A7C15))
    return out


@njit(cache=True)
def hashes_of_texts(offsets, data):
    out = np.empty(offsets.size - 1, np.uint64)
    for i in range(out.size):
        h = np.uint64(0xCBF29CE484222325)
        for j in range(offsets[i], offsets[i + 1]):
            h = (h ^ np.uint64(data[j])) * np.uint64(0x100000001B3)
        out[i] = mixed(h)
    return out


@njit(cache=True)
def match_digests(entries, step_hash, event_hash, seed):
    """32 hexadecimal digits per match, as one buffer."""
    n = entries.bounds.size - 1
    text = np.empty(32 * n, np.uint8)
    for m in range(n):
        a, b = seed, mixed(seed ^ np.uint64(0x9E3779B97F4A7C15))
        for k in range(entries.bounds[m], entries.bounds[m + 1]):
            name = step_hash[entries.step[k]]
            for i in range(entries.items[k], entries.items[k + 1]):
                h = event_hash[entries.events[i]]
                a = mixed(a * np.uint64(31) + (h ^ name))
                b = mixed(b * np.uint64(37) + (h + name * np.uint64(3)))
        for half in range(2):
            word = a if half == 0 else b
            for d in range(16):
                digit = (word >> np.uint64(60 - 4 * d)) & np.uint64(15)
                text[32 * m + 16 * half + d] = digit + (48 if digit < 10 else 87)
    return text


# --- reductions ------------------------------------------------------------------------------------------------------


@njit(cache=True)
def reduce_lists(offsets, values, valid, what):
    """Per list: sum (what 0), min (1) or max (2) of its valid values, and how many there are."""
    n = offsets.size - 1
    result = np.zeros(n, values.dtype)
    count = np.zeros(n, np.int64)
    for m in range(n):
        for i in range(offsets[m], offsets[m + 1]):
            if not valid[i]:
                continue
            v = values[i]
            if count[m] == 0:
                result[m] = v
            elif what == 0:
                result[m] += v
            elif (what == 1 and v < result[m]) or (what == 2 and v > result[m]):
                result[m] = v
            count[m] += 1
    return result, count


def fold_lists(offsets: I64, values: npt.NDArray[np.float64], valid: Any, aggregate: Any) -> Any:
    """A registered aggregate per list; the result is NaN where it is undefined or the list empty."""
    step, final = compiled_fold(aggregate)
    init = tuple(float(x) for x in aggregate.init)

    @njit
    def run(offsets, values, valid):
        out = np.empty(offsets.size - 1, np.float64)
        for m in range(out.size):
            state, some = init, False
            for i in range(offsets[m], offsets[m + 1]):
                if valid[i]:
                    state, some = step(state, values[i]), True
            out[m] = final(state) if some else np.nan
        return out

    return run(offsets, values, valid)


@njit(cache=True)
def distinct(digests, n):
    """The first occurrence of every digest (32 bytes each)."""
    size = 64
    while size < 2 * n:
        size *= 2
    table = np.full(size, -1, np.int64)
    keep = np.zeros(n, np.bool_)
    for m in range(n):
        h = np.uint64(14695981039346656037)
        for d in range(32):
            h = (h ^ np.uint64(digests[32 * m + d])) * np.uint64(1099511628211)
        slot = np.int64(h & np.uint64(size - 1))
        while table[slot] >= 0:
            other = table[slot]
            same = True
            for d in range(32):
                same = same and digests[32 * m + d] == digests[32 * other + d]
            if same:
                break
            slot = (slot + 1) & (size - 1)
        if table[slot] < 0:
            table[slot] = m
            keep[m] = True
    return keep


def text_buffers(column: Any) -> tuple[I64, npt.NDArray[np.uint8]]:
    """Offsets and bytes of an Arrow string array."""
    buffers = column.buffers()
    offsets = np.frombuffer(buffers[1], np.int32)[column.offset : column.offset + len(column) + 1].astype(np.int64)
    data = np.frombuffer(buffers[2], np.uint8) if buffers[2] is not None else np.zeros(0, np.uint8)
    return offsets, data
