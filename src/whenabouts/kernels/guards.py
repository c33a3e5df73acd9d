"""Absent parts: does a forbidden event (or chain of events) occur in a range of a run?

Ranges are half-open event indices, so ties with the neighbours fall outside by construction (docs/semantics.md, 4).
Chains are searched greedily: their conditions read the match, never one another, so the earliest occurrence decides.
"""

from __future__ import annotations

from whenabouts.kernels.types import aside, ask, leaf, within


@aside
def occurs(tables, events, forbid, part, lo, hi, key, ri, rf):
    """Whether the absent part occurs within events lo..hi-1; `key` >= 0 restricts it to events of that key."""
    link = tables.parts[part].lo
    end = tables.parts[part].hi
    x = lo
    while x < hi:
        bit = tables.absent_bits[link]
        if (events.bits[x] >> bit) & 1 and (key < 0 or events.key[x] == key):
            asks = tables.asks[bit]
            if asks < 0 or ask(forbid, asks, x, events, ri, rf):
                link += 1
                if link == end:
                    return True
                x = events.after[x]
                continue
        x += 1
    return False


@leaf
def edge_blocked(tables, events, forbid, edge, before, candidate, key, ri, rf):
    """Whether a guard of the edge that can be judged at once is violated between the two events."""
    for g in range(tables.edges[edge].guard_lo, tables.edges[edge].guard_hi):
        part = tables.guards[g]
        if tables.parts[part].late == 0:
            lo, hi = events.after[before], events.instant[candidate]
            if occurs(tables, events, forbid, part, lo, hi, key, ri, rf):
                return True
    return False


@aside
def late_blocked(tables, events, limits, forbid, path, edges, n, run, key, ri, rf):
    """Whether a guard that needs the complete match is violated; path[0..n) and the edge into each of its events."""
    for i in range(n):
        edge = edges[i]
        for g in range(tables.edges[edge].guard_lo, tables.edges[edge].guard_hi):
            part = tables.guards[g]
            if tables.parts[part].late == 0:
                continue
            if i > 0:
                lo, hi = events.after[path[i - 1]], events.instant[path[i]]
            else:
                lo = hi = events.instant[path[0]]
                while lo > run[0] and within(events, limits, lo - 1, path[n - 1]):
                    lo -= 1
            if occurs(tables, events, forbid, part, lo, hi, key, ri, rf):
                return True
    return False


@aside
def end_blocked(tables, events, limits, forbid, position, first, last, run, key, ri, rf):
    """Whether every accepting way of the position is closed by a forbidden event after the match."""
    for way in range(tables.positions[position].final_lo, tables.positions[position].final_hi):
        blocked = False
        for g in range(tables.ways[way].lo, tables.ways[way].hi):
            lo = events.after[last]
            hi = lo
            while hi < run[1] and within(events, limits, first, hi):
                hi += 1
            if occurs(tables, events, forbid, tables.final_guards[g], lo, hi, key, ri, rf):
                blocked = True
        if not blocked:
            return False
    return True
