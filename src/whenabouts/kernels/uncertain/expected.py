"""How many chains of one event of each class there are on average, without looking at any of them.

Problem: the candidates are exponentially many. Idea: expectations add up, so the chain of the *sums* of the masses of
each class has the expected number as its "confidence" (spec of imprecise time, section 7(d)); cells and sliding window
as for one chain. With values the chains are weighted: the expected SUM of an attribute of one class. Values must not be
negative; the positive and the negative part are two columns.
Invariant: no event is in two classes; sums are made anew by a tree when a segment begins or ends, never by taking away.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from whenabouts.kernels.program import F64, I64
from whenabouts.kernels.types import leaf
from whenabouts.kernels.uncertain.cells import lay_out, work_for
from whenabouts.kernels.uncertain.feasible import first_of
from whenabouts.kernels.uncertain.times import I32
from whenabouts.kernels.uncertain.window import in_window


class Classes(NamedTuple):
    """The candidates of each place of the chain: class j has the entries ends[j-1]..ends[j]-1."""

    ends: I64
    events: I32
    value: F64  # 1 to count


@leaf
def assign(tree, root, leaves, i, mass):
    """Set leaf i of the tree of sums that begins at `root` and has `leaves` leaves, a power of two."""
    node = leaves + i
    tree[root + node] = mass
    while node > 1:
        node >>= 1
        tree[root + node] = tree[root + 2 * node] + tree[root + 2 * node + 1]


@njit
def changes(times, classes):
    """When the mass of an entry changes: the ticks, the entry, and its new mass times its value."""
    count = 0
    for k in range(classes.events.size):
        count += times.first[classes.events[k] + 1] - times.first[classes.events[k]] + 1
    tick, entry, mass = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count)
    n = 0
    for k in range(classes.events.size):
        e = classes.events[k]
        for s in range(times.first[e], times.first[e + 1]):
            tick[n], entry[n], mass[n] = times.start[s], k, times.mass[s] * classes.value[k]
            n += 1
        tick[n], entry[n], mass[n] = times.upper[e] + 1, k, 0.0
        n += 1
    return tick, entry, mass


@njit
def cut_classes(classes, work_cells, tick, entry, mass):
    """Cut time into cells by the changes, and add up the masses of each class; returns how many cells there are."""
    length = classes.ends.size
    roots, leaves = np.zeros(length + 1, np.int64), np.ones(length, np.int64)
    place = np.empty(classes.events.size, np.int64)
    for j in range(length):
        low, high = first_of(classes.ends, j), classes.ends[j]
        while leaves[j] < high - low:
            leaves[j] *= 2
        roots[j + 1] = roots[j] + 2 * leaves[j]
        place[low:high] = j
    tree = np.zeros(roots[length])
    cells = -1
    for i in np.argsort(tick):
        if cells < 0 or tick[i] > work_cells.begin[cells]:
            cells += 1
            work_cells.begin[cells] = tick[i]
        j = place[entry[i]]
        assign(tree, roots[j], leaves[j], entry[i] - first_of(classes.ends, j), mass[i])
        for k in range(length):
            work_cells.mass[cells, k] = tree[roots[k] + 1]
    return cells


@njit
def expected_total(times, classes, span, method):
    """The expected sum, over all chains in the window, of the product of the values of their events."""
    length = classes.ends.size
    if length == 0 or classes.events.size == 0:
        return 0.0
    tick, entry, mass = changes(times, classes)
    work = work_for(length, length + 1, length, tick.size, (tick.size + 1) * (length + 1) * (length + 1), 0)
    cells = cut_classes(classes, work.cells, tick, entry, mass)
    work.sizes[:] = 1
    states, steps = lay_out(work, length)
    return in_window(work, length, states, steps, cells, span, method)


@njit
def classes_of(place, low, high, length):
    """Where the classes end, and the events of each, among the events low..high-1; the class of event e is place[e]."""
    ends = np.zeros(length, np.int64)
    for e in range(low, high):
        for j in range(place[e] if place[e] >= 0 else length, length):
            ends[j] += 1
    events, fill = np.empty(ends[length - 1] if length > 0 else 0, np.int32), np.zeros(length, np.int64)
    for j in range(1, length):
        fill[j] = ends[j - 1]
    for e in range(low, high):
        if place[e] >= 0:
            events[fill[place[e]]] = e
            fill[place[e]] += 1
    return ends, events


def expected_totals(times, runs, place, values, length, span, method):
    """For each run and each row of `values`, one number per event: the expected total of the run's chains.

    The class of event e is place[e], or none (-1), of `length` classes.
    """
    totals = np.zeros((runs.size - 1, values.shape[0]))
    for r in range(runs.size - 1):
        ends, events = classes_of(place, runs[r], runs[r + 1], length)
        for k in range(values.shape[0]):
            value = np.empty(events.size)
            for i in range(events.size):
                value[i] = values[k, events[i]]
            totals[r, k] = expected_total(times, Classes(ends, events, value), span, method)
    return totals
