"""Confidences of candidate chains with forbidden regions, for a batch.

Problem: the probability that a chain happens in order, within the window, and that nothing outside it happens where it
must not. Idea: narrow the chain, keep only what can disturb it (envelope.py); then the cheapest of: arrays over few
ticks (straight.py; windowed.py where the window binds), a sweep over its instants (sweep.py), all instants one by one
(listing.py); beyond what may be spent, a certified interval (bounds.py) or an estimate (sampling.py), and it says so.
Positive or not is NP-complete, so something must give.
Invariant: the answer depends on the chain, its rows and the times of their events alone, not on the rest of the batch.
Reference: spec of imprecise time, section 3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from whenabouts.kernels.uncertain.bounds import interval
from whenabouts.kernels.uncertain.envelope import gather, lay_out, new_layout, tighten
from whenabouts.kernels.uncertain.exact import (
    choose,
    confidence,
    cut,
    cuts_needed,
    is_dense,
    is_simple,
    largest,
    most_ticks,
    prepare,
    roomy,
    wide_square,
    with_square,
)
from whenabouts.kernels.uncertain.feasible import first_of
from whenabouts.kernels.uncertain.listing import list_all, listing_work
from whenabouts.kernels.uncertain.sampling import estimate
from whenabouts.kernels.uncertain.straight import is_straight, new_square, straight
from whenabouts.kernels.uncertain.sweep import focus
from whenabouts.kernels.uncertain.times import BOUNDED, ESTIMATED, EXACT
from whenabouts.kernels.uncertain.windowed import all_starts, windowed_work

FREE, HARD = 3, 4  # what else than EXACT, BOUNDED or ESTIMATED a chain may be; see quick_confidences
REFUSED = 1e9


class Effort(NamedTuple):
    """What a confidence may cost."""

    narrow: int = 128  # ranges of up to so many ticks are kept tick by tick
    work: float = 2e7  # products for one confidence
    interval: float = 2e7  # products for an interval instead
    bits: float = 1.0  # how many times cheaper listing must be than a sweep
    square: float = 1.0  # how many times cheaper arrays over all ticks must be than a sweep; REFUSED: never
    wide: float = 0.005  # error above which an interval is not enough
    samples: int = 20_000


def confidences(times, chains, forbidders, span, rules, effort):
    """The confidence of every chain, its error and its kind (EXACT, BOUNDED, ESTIMATED)."""
    size = chains.ends.size
    value, error, kind = np.zeros(size), np.zeros(size), np.zeros(size, np.uint8)
    layout, tools = prepare(chains, forbidders)
    for m in range(size):
        count = lay_out(times, chains, m, layout)
        value[m], error[m], kind[m], tools = judge(
            times, chains, forbidders, m, layout, count, span, rules, effort, tools
        )
    return value, error, kind


def quick_confidences(times, chains, forbidders, span, effort):
    """The confidences that few ticks and simple disturbers make easy, and of every chain what it is.

    EXACT: this is its confidence. FREE: nothing disturbs it. HARD: `confidences` has to look at it.
    """
    size = chains.ends.size
    value, what = np.zeros(size), np.full(size, HARD, np.uint8)
    instants, disturbers = largest(chains, forbidders)
    layout, square = new_layout(instants, disturbers), new_square(instants, 1)
    for m in range(size):
        what[m] = FREE
        if forbidders.ends[m] == first_of(forbidders.ends, m):
            continue
        count = lay_out(times, chains, m, layout)
        n = close_in(times, forbidders, m, layout, count, span)
        if n < 0:
            what[m] = EXACT
        elif n > 0:
            what[m] = HARD
            if effort.square < REFUSED and is_simple(layout, count, n):
                square = wide_square(square, most_ticks(layout, count))
                if is_straight(layout, count, n, span):
                    value[m], what[m] = straight(times, chains, m, layout, count, n, span, square), EXACT
                elif span >= 0 and windowed_work(layout, count, n) < effort.work:
                    value[m], what[m] = all_starts(times, chains, m, layout, count, n, span, square), EXACT
    return value, what


@njit
def close_in(times, forbidders, m, layout, count, span):
    """Narrow the instants laid out and gather what can disturb them: how many events, or -1 if it is impossible."""
    if count == 0 or not tighten(layout, count, span):
        return -1
    return gather(times, forbidders, m, layout.node[count - 1] + 1, layout, count, span)


@njit
def judge(times, chains, forbidders, m, layout, count, span, rules, effort, tools):
    """Value, error and kind of one chain whose instants are laid out, and the tools, which may have grown."""
    n = close_in(times, forbidders, m, layout, count, span)
    if n < 0:
        return 0.0, 0.0, EXACT, tools
    simple = effort.square < REFUSED and is_simple(layout, count, n)
    if simple and is_straight(layout, count, n, span):
        tools = with_square(tools, most_ticks(layout, count))
        return straight(times, chains, m, layout, count, n, span, tools.square), 0.0, EXACT, tools
    dense = is_dense(layout, count, effort.narrow)
    nodes = most_ticks(layout, count)
    if not dense:
        tools = roomy(tools, cuts_needed(times, chains, m, layout, n), 0, 0)
        nodes = cut(times, chains, m, layout, count, n, tools.desk.cuts, span)
    alone, freely, rows, costs = choose(layout, tools.desk.cuts, count, n, span, dense)
    if simple and alone > layout.lo[0] and effort.square * windowed_work(layout, count, n) < min(costs, effort.work):
        focus(layout, n, count, False)
        tools = with_square(tools, most_ticks(layout, count))
        return all_starts(times, chains, m, layout, count, n, span, tools.square), 0.0, EXACT, tools
    if rows > 1 or costs > effort.work:
        listing = listing_work(layout, count, n)
        if listing <= effort.work and listing * effort.bits < costs:
            return list_all(times, chains, m, layout, count, n, span), 0.0, EXACT, tools
    if costs <= effort.work:
        tools = roomy(tools, 0, nodes, rows)
        value = confidence(
            times, chains, m, layout, count, n, rules, tools.desk, tools.source, tools.target, tools.outer,
            span, alone, freely, dense,
        )  # fmt: skip
        return value, 0.0, EXACT, tools
    value, error, tools = interval(
        times, chains, forbidders, m, layout, count, n, rules, tools, span, nodes, dense, effort.interval
    )
    if error == 0.0:
        return value, 0.0, EXACT, tools
    if error <= effort.wide:
        return value, error, BOUNDED, tools
    sampled, deviation = estimate(times, chains, m, layout, count, n, span, effort.samples)
    if deviation < error:
        return sampled, deviation, ESTIMATED, tools
    return value, error, BOUNDED, tools
