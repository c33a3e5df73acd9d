"""Counting and summing over all matches without listing one (RETURN TOTAL), for skip till any match.

Problem: the number of matches is exponential in the window; their count, sums, minima and maxima are not hard.
Idea: an instant acts on the weights of the partial matches (one weight per edge of the automaton: "what stands ready to
go over it") as a linear map. The maps of the instants inside the window are multiplied, and the product slides with two
stacks: no subtraction, constant work per event whatever the window. A weight is (count, and per summed column: number,
sum, min, max), the semiring of the spec of imprecise time, section 7(b).
Invariant: counts and sums are kept twice, modulo 2^64 and as a float; where the two are close, the former is exact.
Conditions between events need more than an edge to stand on: `graph_totals` sums along the match graph of each start.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from whenabouts.kernels.graph import build_start, new_graph
from whenabouts.kernels.guards import end_blocked
from whenabouts.kernels.types import aside, ask, leaf, within

OK, OVER_BUDGET = 0, 1
FIELDS = 4  # per summed column: number, sum, min, max


@leaf
def cleared(ints, floats):
    """Set weights (any number of them) to "no match"."""
    ints[:] = 0
    floats[:] = 0.0
    for k in range((ints.shape[-1] - 1) // FIELDS):
        ints[..., 3 + FIELDS * k] = np.int64(0x7FFFFFFFFFFFFFFF)
        ints[..., 4 + FIELDS * k] = -np.int64(0x7FFFFFFFFFFFFFFF) - 1
        floats[..., 3 + FIELDS * k] = np.inf
        floats[..., 4 + FIELDS * k] = -np.inf


@leaf
def add(di, df, si, sf):
    """d += s: either kind of match."""
    di[0] += si[0]
    df[0] += sf[0]
    for o in range(1, di.size, FIELDS):
        di[o] += si[o]
        di[o + 1] += si[o + 1]
        di[o + 2] = min(di[o + 2], si[o + 2])
        di[o + 3] = max(di[o + 3], si[o + 3])
        df[o] += sf[o]
        df[o + 1] += sf[o + 1]
        df[o + 2] = min(df[o + 2], sf[o + 2])
        df[o + 3] = max(df[o + 3], sf[o + 3])


@leaf
def add_event(di, df, si, sf, values, step, e):
    """d += s, each match of s extended by event e for the step."""
    if sf[0] == 0.0:
        return
    add(di, df, si, sf)
    for k in range(values.step.size):
        if values.step[k] == step and values.valid[k, e]:
            o = 1 + FIELDS * k
            vi, vf = values.ints[k, e], values.floats[k, e]
            di[o] += si[0]
            di[o + 1] += vi * si[0]
            di[o + 2] = min(di[o + 2], vi)
            di[o + 3] = max(di[o + 3], vi)
            df[o] += sf[0]
            df[o + 1] += vf * sf[0]
            df[o + 2] = min(df[o + 2], vf)
            df[o + 3] = max(df[o + 3], vf)


@leaf
def add_product(di, df, ai, af, bi, bf):
    """d += a b: every match of a continued by every match of b."""
    if af[0] == 0.0 or bf[0] == 0.0:
        return
    di[0] += ai[0] * bi[0]
    df[0] += af[0] * bf[0]
    for o in range(1, di.size, FIELDS):
        for f in range(2):
            di[o + f] += ai[o + f] * bi[0] + ai[0] * bi[o + f]
            df[o + f] += af[o + f] * bf[0] + af[0] * bf[o + f]
        di[o + 2] = min(di[o + 2], min(ai[o + 2], bi[o + 2]))
        di[o + 3] = max(di[o + 3], max(ai[o + 3], bi[o + 3]))
        df[o + 2] = min(df[o + 2], min(af[o + 2], bf[o + 2]))
        df[o + 3] = max(df[o + 3], max(af[o + 3], bf[o + 3]))


# --- without conditions between events -------------------------------------------------------------------------------


@aside
def advance(tables, events, values, j, end, xi, xf, gi, gf, delta_i, delta_f):
    """Apply the instant j..end-1 to a row of weights, one per edge and one for START."""
    count, edges = tables.positions.size - 1, tables.edges.size
    cleared(delta_i, delta_f)
    changed = False
    for e in range(j, end):
        for q in range(count):
            position = tables.positions[q]
            if not (events.bits[e] >> position.step) & 1:
                continue
            cleared(gi, gf)
            for k in range(position.in_lo, position.in_hi):
                edge = tables.into[k]
                state = edges if tables.edges[edge].source == count else edge
                add_event(gi, gf, xi[state], xf[state], values, position.step, e)
            if gf[0] != 0.0:
                changed = True
                for edge in range(position.out_lo, position.out_hi):
                    add(delta_i[edge], delta_f[edge], gi, gf)
    cut_edges(tables, events, j, end, xi, xf)
    if changed:
        for edge in range(edges):
            if delta_f[edge, 0] != 0.0:
                add(xi[edge], xf[edge], delta_i[edge], delta_f[edge])


@aside
def blocked_edge(tables, events, j, end, edge):
    """Whether an absent event of the instant lies on the edge; chains of absent events do not come here."""
    for g in range(tables.edges[edge].guard_lo, tables.edges[edge].guard_hi):
        bit = tables.absent_bits[tables.parts[tables.guards[g]].lo]
        for x in range(j, end):
            if (events.bits[x] >> bit) & 1:
                return True
    return False


@aside
def cut_edges(tables, events, j, end, xi, xf):
    if tables.guards.size == 0:
        return
    for edge in range(tables.edges.size):
        if blocked_edge(tables, events, j, end, edge):
            cleared(xi[edge], xf[edge])


@aside
def precede(tables, events, values, j, end, pi, pf, ti, tf):
    """Put the instant in front of a product of later ones, P := A P, row by row; t is scratch, a row per position."""
    count, edges = tables.positions.size - 1, tables.edges.size
    size = edges + 1
    cleared(ti, tf)
    for q in range(count):  # what follows once position q is taken
        position = tables.positions[q]
        for edge in range(position.out_lo, position.out_hi):
            for c in range(size):
                add(ti[q, c], tf[q, c], pi[edge, c], pf[edge, c])
    for state in range(size):
        if state < edges:
            if blocked_edge(tables, events, j, end, state):
                cleared(pi[state], pf[state])
            if tables.edges[state].source == count:
                continue
            first, last = state, state + 1
        else:
            first, last = tables.positions[count].out_lo, tables.positions[count].out_hi
        for edge in range(first, last):
            q = tables.edges[edge].target
            step = tables.positions[q].step
            for e in range(j, end):
                if (events.bits[e] >> step) & 1:
                    for c in range(size):
                        add_event(pi[state, c], pf[state, c], ti[q, c], tf[q, c], values, step, e)


@njit
def longer(stack, size):
    """The stack with space for one more entry."""
    if size < stack.shape[0]:
        return stack
    bigger = np.empty((2 * size, stack.shape[1], stack.shape[2]), stack.dtype)
    bigger[:size] = stack
    return bigger


@aside
def identity(pi, pf):
    cleared(pi, pf)
    for s in range(pi.shape[0]):
        pi[s, s, 0] = 1
        pf[s, s, 0] = 1.0


def window_totals(tables, events, limits, values):
    """Totals per run when no condition reads two events; returns the weights of all matches of each run."""
    runs, width = events.runs.size - 1, 1 + FIELDS * values.step.size
    count, edges = tables.positions.size - 1, tables.edges.size
    size = edges + 1
    total_i, total_f = np.empty((runs, width), np.int64), np.empty((runs, width))
    cleared(total_i, total_f)
    back_i, back_f = np.empty((size, size, width), np.int64), np.empty((size, size, width))
    prod_i, prod_f = np.empty((size, size, width), np.int64), np.empty((size, size, width))
    row_i, row_f = np.empty((size, width), np.int64), np.empty((size, width))
    delta_i, delta_f = np.empty((size, width), np.int64), np.empty((size, width))
    after_i, after_f = np.empty((count, size, width), np.int64), np.empty((count, size, width))
    gain_i, gain_f = np.empty(width, np.int64), np.empty(width)
    front_i, front_f = np.empty((16, size, width), np.int64), np.empty((16, size, width))
    for r in range(runs):
        low, high = events.runs[r], events.runs[r + 1]
        identity(back_i, back_f)
        j = oldest = turned = low  # the front holds products from `oldest` on up to `turned`, the back from there to j
        depth = 0  # entries of the front that are still in the window; the last one begins at `oldest`
        while j < high:
            end = events.after[j]
            while oldest < end and not within(events, limits, oldest, j):
                depth -= oldest < turned
                oldest = events.after[oldest]
            if oldest > turned:  # the front is used up: turn the back over
                k, depth, turned = j, 0, j
                identity(prod_i, prod_f)
                while k > oldest:
                    k = events.instant[k - 1]
                    precede(tables, events, values, k, events.after[k], prod_i, prod_f, after_i, after_f)
                    front_i, front_f = longer(front_i, depth), longer(front_f, depth)
                    front_i[depth], front_f[depth] = prod_i[edges], prod_f[edges]
                    depth += 1
                identity(back_i, back_f)
            cleared(row_i, row_f)
            if depth > 0:
                for s in range(size):
                    for c in range(size):
                        add_product(
                            row_i[c], row_f[c], front_i[depth - 1, s], front_f[depth - 1, s], back_i[s, c], back_f[s, c]
                        )
            else:
                row_i[:], row_f[:] = back_i[edges], back_f[edges]
            if within(events, limits, j, j):
                for e in range(j, end):
                    close_instant(tables, events, values, e, row_i, row_f, total_i[r], total_f[r])
            for s in range(size):
                advance(tables, events, values, j, end, back_i[s], back_f[s], gain_i, gain_f, delta_i, delta_f)
            j = end
    return total_i, total_f


@aside
def close_instant(tables, events, values, e, xi, xf, total_i, total_f):
    """Add the matches that end with event e."""
    count, edges = tables.positions.size - 1, tables.edges.size
    for q in range(count):
        position = tables.positions[q]
        if position.final_lo == position.final_hi or not (events.bits[e] >> position.step) & 1:
            continue
        for k in range(position.in_lo, position.in_hi):
            edge = tables.into[k]
            state = edges if tables.edges[edge].source == count else edge
            add_event(total_i, total_f, xi[state], xf[state], values, position.step, e)


# --- along the match graph -------------------------------------------------------------------------------------------


def graph_totals(tables, events, limits, values, check, bind, final, forbid, ri, rf):
    """Totals per run from the match graph of each start; returns the weights, starts given up, and a status."""
    runs, width = events.runs.size - 1, 1 + FIELDS * values.step.size
    total_i, total_f = np.empty((runs, width), np.int64), np.empty((runs, width))
    cleared(total_i, total_f)
    weight_i, weight_f = np.empty((256, width), np.int64), np.empty((256, width))
    one_i, one_f = np.empty(width, np.int64), np.empty(width)
    gain_i, gain_f = np.empty(width, np.int64), np.empty(width)
    graph = new_graph(tables, ri, rf, limits.budget)
    dropped = 0
    for r in range(runs):
        run = (events.runs[r], events.runs[r + 1])
        for s in range(run[0], run[1]):
            if events.bits[s] & tables.positions[-1].out_mask == 0 or not within(events, limits, s, s):
                continue
            if not build_start(tables, events, limits, check, bind, forbid, ri, rf, run, graph, s):
                if limits.drop == 0:
                    return total_i, total_f, dropped, OVER_BUDGET
                dropped += 1
                continue
            if graph.fill[0] > weight_i.shape[0]:
                weight_i, weight_f = (
                    np.empty((2 * graph.fill[0], width), np.int64),
                    np.empty((2 * graph.fill[0], width)),
                )
            for n in range(graph.fill[0]):
                node = graph.nodes[n]
                cleared(gain_i, gain_f)
                x = node.ranges
                while x >= 0:
                    m = graph.ranges[x].begin
                    if m == -1 and graph.ranges[x].stop == -2:
                        cleared(one_i, one_f)
                        one_i[0], one_f[0] = 1, 1.0
                        add(gain_i, gain_f, one_i, one_f)
                    while m > graph.ranges[x].stop and m >= 0:
                        add(gain_i, gain_f, weight_i[m], weight_f[m])
                        m = graph.nodes[m].previous
                    x = graph.ranges[x].next
                cleared(weight_i[n], weight_f[n])
                position = tables.positions[node.position]
                add_event(weight_i[n], weight_f[n], gain_i, gain_f, values, position.step, node.event)
                if position.final_lo < position.final_hi:
                    number = position.final_checked
                    ints, floats = graph.ints[n], graph.floats[n]
                    if number >= 0 and not ask(final, number, node.event, events, ints, floats):
                        continue
                    q, last = node.position, node.event
                    if not end_blocked(tables, events, limits, forbid, q, s, last, run, -1, ints, floats):
                        add(total_i[r], total_f[r], weight_i[n], weight_f[n])
    return total_i, total_f, dropped, OK
