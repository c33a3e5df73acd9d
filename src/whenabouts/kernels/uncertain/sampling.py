"""An estimate of the confidence of one chain, for what is too hard to compute.

Problem: the exact confidence is #P-hard when chains and disturbers grow together. Idea: draw the instants of the chain
one after the other, each where order and window leave room, weigh the draw with the mass of that room, and multiply by
the exact probability that every disturber avoids its regions; only the chain is sampled (spec of imprecise time, 3.4).
Invariant: the random numbers are a function of the chain's times alone, so every engine gets the same estimate.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from whenabouts.kernels.types import aside, leaf
from whenabouts.kernels.uncertain.envelope import place_mass, step_mass
from whenabouts.kernels.uncertain.sweep import focus
from whenabouts.kernels.uncertain.times import segment_of

DOUBT = np.log(3.0 / 1e-3)  # the error holds in all but one of a thousand estimates
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@leaf
def mix(x):
    """Splitmix64: a well mixed word for every counter."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@aside
def seed_of(times, chains, m, layout, n):
    """A word that depends on the times of the chain and of its disturbers, from the first instant on."""
    word, origin = np.uint64(n + 1), layout.lo[0]
    for i in range(chains.ends[m - 1] if m > 0 else 0, chains.ends[m]):
        for j in range(chains.node_ends[i - 1] if i > 0 else 0, chains.node_ends[i]):
            e = chains.members[j]
            word = mix(word + np.uint64(times.lower[e] - origin))
            word = mix(word + np.uint64(times.upper[e] - origin) * GOLDEN)
    for x in range(n):
        e = layout.event[x]
        word = mix(word + np.uint64(times.lower[e] - origin))
        word = mix(word + np.uint64(times.upper[e] - origin) * GOLDEN)
    return word


@aside
def draw(times, e, lo, hi, u):
    """An instant of the event in lo..hi, and the mass of these; mass 0: none."""
    room = step_mass(times, e, lo - 1, hi)
    if room == 0.0:
        return lo, 0.0
    lo, hi = max(lo, times.lower[e]), min(hi, times.upper[e])
    left = u * room
    k = segment_of(times, e, lo)
    t = lo
    while t <= hi:
        end = min(hi, times.start[k + 1] - 1 if k + 1 < times.first[e + 1] else hi)
        mass = times.mass[k]
        if mass > 0.0:
            lo = t + min(np.int64(left / mass), end - t)
            if left < mass * (end - t + 1):
                break
            left -= mass * (end - t + 1)
        t = end + 1
        k += 1
    return lo, room


@njit
def estimate(times, chains, m, layout, count, n, span, samples):
    """The estimate and its error (empirical Bernstein bound)."""
    focus(layout, n, count, False)
    word, at = seed_of(times, chains, m, layout, n), np.empty(count, np.int64)
    mean, squares, counter = 0.0, 0.0, np.uint64(0)
    for sample in range(samples):
        weight, counter = drawn(times, chains, m, layout, count, span, at, word, counter)
        if weight > 0.0:
            weight *= avoidance(times, layout, count, n, at, span + 1)
        change = weight - mean
        mean += change / (sample + 1)
        squares += change * (weight - mean)
    variance = squares / max(samples - 1, 1)
    most = largest_weight(times, chains, m, layout, count)
    return mean, min(1.0, np.sqrt(2.0 * variance * DOUBT / samples) + 3.0 * most * DOUBT / samples)


@aside
def largest_weight(times, chains, m, layout, count):
    """No draw weighs more."""
    weight = 1.0
    for i in range(count):
        if i + 1 < count and layout.body[i + 1]:
            continue
        first = i - 1 if layout.body[i] else i
        node = layout.node[i] + (chains.ends[m - 1] if m > 0 else 0)
        for j in range(chains.node_ends[node - 1] if node > 0 else 0, chains.node_ends[node]):
            weight *= step_mass(times, chains.members[j], layout.lo[first] - 1, layout.hi[i])
    return weight


@aside
def drawn(times, chains, m, layout, count, span, at, word, counter):
    """Draw all members, write down the instants; returns the weight, 0 where there is no room."""
    weight, i, after = 1.0, 0, layout.lo[0]
    begin = chains.ends[m - 1] if m > 0 else 0
    for node in range(begin, chains.ends[m]):
        group = i + 1 < count and layout.body[i + 1]
        last = i + 1 if group else i
        hi = layout.hi[last] if span < 0 or i == 0 else min(layout.hi[last], at[0] + span)
        least, most = hi, layout.lo[i]
        for j in range(chains.node_ends[node - 1] if node > 0 else 0, chains.node_ends[node]):
            counter += np.uint64(1)
            u = np.float64(mix(word + counter * GOLDEN) >> np.uint64(11)) / 9007199254740992.0
            t, room = draw(times, chains.members[j], max(after, layout.lo[i]), hi, u)
            if room == 0.0:
                return 0.0, counter
            weight *= room
            least, most = min(least, t), max(most, t)
        at[i], at[last] = least, most
        if span >= 0 and most - at[0] > span:
            return 0.0, counter
        i, after = last + 1, most + 1
    return weight, counter


@aside
def avoidance(times, layout, count, n, at, window):
    """P(every disturber avoids its regions), given the instants."""
    product = 1.0
    for x in range(n):
        mass = 0.0
        for i in range(layout.head[x], layout.tail[x] + 1):
            if layout.places[x, i]:
                mass += place_mass(times, layout.event[x], layout.places[x, i], at[i], window)
            if layout.steps[x, i] and i + 1 < count:
                mass += step_mass(times, layout.event[x], at[i], at[i + 1])
        product *= mass
        if product == 0.0:
            break
    return product
