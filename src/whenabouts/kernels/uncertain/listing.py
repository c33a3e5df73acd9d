"""The confidence of one chain by listing all its instants: ENUMERATE of the spec of imprecise time, section 3.4.

Problem: with few ticks and many disturbers that keep several places, bits cost more than the instants themselves.
Idea: depth first over the instants; each disturber adds up its places on the way and is multiplied in as soon as it has
seen its last. Invariant: sums and products of masses only.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from whenabouts.kernels.types import aside
from whenabouts.kernels.uncertain.envelope import place_mass, step_mass
from whenabouts.kernels.uncertain.sweep import focus, group_mass, sole_member
from whenabouts.kernels.uncertain.times import mass_at


@aside
def listing_work(layout, count, n):
    """About how many products listing needs."""
    total, ways = 0.0, 1.0
    for i in range(count):
        ways *= layout.hi[i] - layout.lo[i] + 1
        total += ways * (n + 1)
    return 4.0 * total


@njit
def list_all(times, chains, m, layout, count, n, span):
    """The confidence; the layout is narrow and complete."""
    at, weight = np.empty(count, np.int64), np.ones(count + 1)
    sums = np.zeros((count + 1, n + 1))
    focus(layout, n, count, False)
    total, i = 0.0, 0
    at[0] = layout.lo[0] - 1
    while i >= 0:
        at[i] += 1
        latest = layout.hi[i] if span < 0 or i == 0 else min(layout.hi[i], at[0] + span)
        if at[i] > latest:
            i -= 1
            continue
        weight[i + 1] = weight[i] * enter(times, chains, m, layout, n, i, at, sums, span + 1)
        if weight[i + 1] == 0.0:
            continue
        if i == count - 1:
            total += weight[i + 1]
            continue
        i += 1
        at[i] = max(layout.lo[i], at[i - 1] + 1 - layout.body[i]) - 1
    return total


@aside
def enter(times, chains, m, layout, n, i, at, sums, window):
    """The factor of instant i, given those before it."""
    e = sole_member(chains, m, layout.node[i])
    factor = 1.0
    if e >= 0:
        factor = mass_at(times, e, at[i])
    elif layout.body[i]:
        factor = group_mass(times, chains, m, layout.node[i], at[i - 1], at[i])
    if factor == 0.0:
        return 0.0
    for x in range(n):
        if i < layout.head[x] or i > layout.tail[x]:
            continue
        mass = 0.0 if i == layout.head[x] else sums[i, x]
        if layout.places[x, i]:
            mass += place_mass(times, layout.event[x], layout.places[x, i], at[i], window)
        if i > 0 and layout.steps[x, i - 1]:
            mass += step_mass(times, layout.event[x], at[i - 1], at[i])
        sums[i + 1, x] = mass
        if i == layout.tail[x]:
            factor *= mass
    return factor
