"""Counting all matches of one closure whose conditions compare elements by rank, in time linear in the window.

Problem: with `b[i].v > b[i-1].v` or `c.v < max(b[].v)` the number of partial matches to tell apart is the number of
distinct last (or largest) values. Idea: for one start, keep the counts of partial matches by that value's rank in a
segment tree; taking an element is a prefix sum, a point update and, for the largest value, a doubling of the suffix:
all in one descent. Every start is counted on its own, so the window is exact.
Invariant: counts are kept modulo 2^64 and as floats, as in `totals`; additions and products only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from whenabouts.kernels.program import F64, I64
from whenabouts.kernels.totals import blocked_edge
from whenabouts.kernels.types import aside, leaf, within

OK, UNFIT = 0, 1
NONE, BELOW, BELOW_OR_EQUAL, ABOVE, ABOVE_OR_EQUAL = 0, 1, 2, 3, 4  # register compared with the candidate's rank


class Ranked(NamedTuple):
    """How the closure at `position` is compared: `take` with its previous element, `leave` per edge with the group."""

    position: int
    largest: int  # 1: the register is the largest value so far; 0: the last one
    take: int
    leave: I64
    rank_in: I64  # per event: rank as an element of the closure
    rank_out: I64  # per event: rank as the event after it
    size: int  # number of ranks


class Tree(NamedTuple):
    """A segment tree of counts with pending factors for the subtrees."""

    sum_i: I64
    sum_f: F64
    factor_i: I64
    factor_f: F64


@leaf
def multiply(tree, node, times_i, times_f):
    """Multiply a subtree; an empty one keeps no factor, which would grow beyond all floats and make nothing a NaN."""
    if tree.sum_f[node] != 0.0:
        tree.sum_i[node] *= times_i
        tree.sum_f[node] *= times_f
        tree.factor_i[node] *= times_i
        tree.factor_f[node] *= times_f


@leaf
def push_down(tree, node):
    if tree.factor_f[node] != 1.0:
        for child in (2 * node, 2 * node + 1):
            multiply(tree, child, tree.factor_i[node], tree.factor_f[node])
        tree.factor_i[node], tree.factor_f[node] = 1, 1.0


@leaf
def enter(tree, leaves, rank, ci, cf, largest):
    """Put a count at a rank. With `largest`, every partial match up to the rank also takes the element."""
    gain_i, gain_f = ci, cf
    node, half = 1, leaves >> 1
    while node < leaves:
        push_down(tree, node)
        left = 2 * node
        if rank & half:
            if largest:
                gain_i += tree.sum_i[left]
                gain_f += tree.sum_f[left]
            node = left + 1
        else:
            if largest:  # a larger value stays the largest: with and without the element
                multiply(tree, left + 1, 2, 2.0)
            node = left
        half >>= 1
    if largest:
        gain_i += tree.sum_i[node]
        gain_f += tree.sum_f[node]
    tree.sum_i[node] += gain_i
    tree.sum_f[node] += gain_f
    node >>= 1
    while node:
        tree.sum_i[node] = tree.sum_i[2 * node] + tree.sum_i[2 * node + 1]
        tree.sum_f[node] = tree.sum_f[2 * node] + tree.sum_f[2 * node + 1]
        node >>= 1
    return gain_i, gain_f


@leaf
def count_where(tree, leaves, rank, comparison):
    """How many partial matches have a register that compares so with the rank."""
    if comparison == NONE:
        return tree.sum_i[1], tree.sum_f[1]
    below = comparison <= BELOW_OR_EQUAL
    found_i, found_f = np.int64(0), 0.0
    times_i, times_f = np.int64(1), 1.0
    node, half = 1, leaves >> 1
    while node < leaves:
        times_i *= tree.factor_i[node]
        times_f *= tree.factor_f[node]
        right = rank & half != 0
        if right == below:
            aside = 2 * node if right else 2 * node + 1
            found_i += times_i * tree.sum_i[aside]
            found_f += times_f * tree.sum_f[aside]
        node = 2 * node + right
        half >>= 1
    if comparison in (BELOW_OR_EQUAL, ABOVE_OR_EQUAL):
        found_i += times_i * tree.sum_i[node]
        found_f += times_f * tree.sum_f[node]
    return found_i, found_f


@aside
def forget(tree, leaves, rank):
    node = leaves + rank
    while node:
        tree.sum_i[node], tree.sum_f[node] = 0, 0.0
        tree.factor_i[node], tree.factor_f[node] = 1, 1.0
        node >>= 1


def ranked_totals(tables, events, limits, ranked):
    """The number of matches per run, modulo 2^64 and as a float; UNFIT if two elements share an instant."""
    runs, edges = events.runs.size - 1, tables.edges.size
    total_i, total_f = np.zeros((runs, 1), np.int64), np.zeros((runs, 1))
    leaves = 1
    while leaves < ranked.size:
        leaves *= 2
    tree = Tree(
        np.zeros(2 * leaves, np.int64), np.zeros(2 * leaves), np.ones(2 * leaves, np.int64), np.ones(2 * leaves)
    )
    ready_i, ready_f = np.zeros(edges, np.int64), np.zeros(edges)
    gain_i, gain_f = np.zeros(edges, np.int64), np.zeros(edges)
    for r in range(runs):
        for s in range(events.runs[r], events.runs[r + 1]):
            if events.bits[s] & tables.positions[-1].out_mask == 0 or not within(events, limits, s, s):
                continue
            ready_i[:] = 0
            ready_f[:] = 0.0
            end, fits = count_start(
                tables, events, limits, ranked, tree, leaves, s, events.runs[r + 1], ready_i, ready_f, gain_i, gain_f,
                total_i[r], total_f[r],
            )  # fmt: skip
            for e in range(s, end):
                if (events.bits[e] >> tables.positions[ranked.position].step) & 1:
                    forget(tree, leaves, ranked.rank_in[e])
            if not fits:
                return total_i, total_f, UNFIT
    return total_i, total_f, OK


@leaf
def count_start(
    tables, events, limits, ranked, tree, leaves, s, high, ready_i, ready_f, gain_i, gain_f, total_i, total_f
):
    """Add the matches of one start; returns where its window ends."""
    count = tables.positions.size - 1
    j = s
    while j < high and within(events, limits, s, j):
        end = s + 1 if j == s else events.after[j]
        gain_i[:] = 0
        gain_f[:] = 0.0
        pending, pending_i, pending_f = -1, np.int64(0), 0.0
        for e in range(j, end):
            for q in range(count):
                position = tables.positions[q]
                if not (events.bits[e] >> position.step) & 1:
                    continue
                ci, cf = np.int64(0), 0.0
                for k in range(position.in_lo, position.in_hi):
                    edge = tables.into[k]
                    source = tables.edges[edge].source
                    if source == count:
                        ci += e == s
                        cf += e == s
                    elif source == ranked.position:
                        if q != ranked.position:
                            ni, nf = count_where(tree, leaves, ranked.rank_out[e], ranked.leave[edge])
                            ci += ni
                            cf += nf
                        elif ranked.largest == 0:
                            ni, nf = count_where(tree, leaves, ranked.rank_in[e], ranked.take)
                            ci += ni
                            cf += nf
                    else:
                        ci += ready_i[edge]
                        cf += ready_f[edge]
                if q == ranked.position:
                    if cf == 0.0 and ranked.largest == 0:
                        continue
                    if pending >= 0:
                        return end, False
                    pending, pending_i, pending_f = e, ci, cf
                elif cf != 0.0:
                    for edge in range(position.out_lo, position.out_hi):
                        gain_i[edge] += ci
                        gain_f[edge] += cf
                    if position.final_lo < position.final_hi:
                        total_i[0] += ci
                        total_f[0] += cf
        if pending >= 0:
            ci, cf = enter(tree, leaves, ranked.rank_in[pending], pending_i, pending_f, ranked.largest == 1)
            if tables.positions[ranked.position].final_lo < tables.positions[ranked.position].final_hi:
                total_i[0] += ci
                total_f[0] += cf
        for edge in range(gain_i.size):
            if tables.guards.size and blocked_edge(tables, events, j, events.after[j], edge):
                ready_i[edge], ready_f[edge] = 0, 0.0
            ready_i[edge] += gain_i[edge]
            ready_f[edge] += gain_f[edge]
        j = events.after[j]
    return j, True
