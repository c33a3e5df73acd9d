"""Skip till any match: one shared graph of all matches instead of one run per match.

Problem: a closure over n events has 2^n matches; runs must not be enumerated to find, limit or count them.
Idea: a node is (event, position, what later conditions still ask of the past). A node's predecessors are ranges of a
per-position chain of earlier nodes, so without conditions between events a node costs O(1). Matches are read backwards
from closing nodes, along predecessors whose latest possible start still fits the window: no dead ends if plain.
Invariant: every node lies on a way from a start; `reach` bounds the latest start of a chain, so pruning loses nothing.
Reference: thesis 4.2 (sharing, postponing); spec of imprecise time, sections 6 (DAG) and 7 (a, a').

Two ways to build it: *shared* over all starts of a run, if nothing in the past but the previous event is asked for;
else per start, from each start event over its window.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from whenabouts.kernels.guards import edge_blocked, end_blocked, late_blocked
from whenabouts.kernels.program import F64, I64, Records
from whenabouts.kernels.types import aside, ask, full, leaf, new_output, room, within

OK, OVER_BUDGET, OVER_LIMIT = 0, 1, 2
ROOT = -1  # "predecessor" of a node that starts a match


NODE = np.dtype(
    [
        ("event", "i8"),
        ("position", "i8"),
        ("previous", "i8"),  # next older node of the same position
        ("latest", "i8"),  # latest start of any way to the node
        ("reach", "i8"),  # largest `latest` in the chain from here down
        ("ranges", "i8"),  # first range of predecessors
    ]
)
# the chain of `previous` links from `begin` down to, not including, `stop`; entered over `edge`
RANGE = np.dtype([("begin", "i8"), ("stop", "i8"), ("next", "i8"), ("edge", "i8")])


class Graph(NamedTuple):
    """Nodes with their registers, and predecessor ranges."""

    nodes: Records
    ranges: Records
    ints: I64
    floats: F64
    table: I64  # hash table of the nodes of the current event
    head: I64  # position -> newest node of an earlier instant
    newest: I64  # position -> newest node, the current instant included
    stop: I64  # edge -> nodes up to this one are cut off by an absent event
    chain: I64  # per guard entry and link: newest node when that much of the absent chain had occurred
    fill: I64  # [nodes, ranges, 1 if out of space, slots of the hash table in use]


@njit
def new_graph(tables, ri, rf, budget):
    """An empty graph; memory for the whole budget is reserved, and touched only when used."""
    size, count, edges = budget + 2, tables.positions.size - 1, tables.edges.size
    ints, floats = np.empty((size, ri.size), np.int64), np.empty((size, rf.size), np.float64)
    table_size = 1024
    while table_size < 2 * size and tables.remembering[0]:
        table_size *= 2
    empty = np.full(count, -1, np.int64)
    chain = np.full((tables.guards.size + 1) * (tables.absent_bits.size + 1), -1, np.int64)
    return Graph(
        np.empty(size, NODE), np.empty(size, RANGE), ints, floats,
        np.full(table_size, -1, np.int64), empty, empty.copy(), np.full(edges, -1, np.int64), chain,
        np.array([0, 0, 0, 1024]),
    )  # fmt: skip


@leaf
def clear(graph):
    graph.head[:] = -1
    graph.newest[:] = -1
    graph.stop[:] = -1
    graph.chain[:] = -1
    graph.fill[:3] = 0


# --- building --------------------------------------------------------------------------------------------------------


@aside
def node_for(graph, tables, events, bind, e, q, ri, rf, first_new):
    """The node of event e at position q that continues the given registers: an equal one, or a new one."""
    new = graph.fill[0]
    ints, floats = graph.ints[new], graph.floats[new]
    for i in range(ints.size):
        ints[i] = ri[i]
    for i in range(floats.size):
        floats[i] = rf[i]
    ask(bind, tables.positions[q].step, e, events, ints, floats)
    if tables.positions[q].remembers == 0:
        old = graph.newest[q]
        if old >= 0 and graph.nodes[old].event == e:
            return old
    else:
        if 2 * (new - first_new) + 2 > graph.fill[3]:
            rehash(graph, tables, first_new)
        size = graph.fill[3]
        slot = np.int64(state_hash(graph, tables, q, new) % np.uint64(size))
        while True:
            old = graph.table[slot]
            if old < 0 or old >= new or graph.nodes[old].event != e:
                break
            if graph.nodes[old].position == q and same(graph, tables, q, old, new):
                return old
            slot = (slot + 1) % size
        graph.table[slot] = new
    node = graph.nodes[new]
    node.event, node.position, node.previous = e, q, graph.newest[q]
    node.latest, node.ranges = -1, -1
    graph.newest[q] = new
    graph.fill[0] = new + 1
    return new


@aside
def state_hash(graph, tables, q, node):
    """A hash of what tells partial matches at this position apart."""
    h = np.uint64(q + 1)
    for i in range(graph.ints.shape[1]):
        if tables.live_int[q, i]:
            h = (h ^ np.uint64(graph.ints[node, i])) * np.uint64(0x9E3779B97F4A7C15)
            h ^= h >> np.uint64(29)
    for i in range(graph.floats.shape[1]):
        if tables.live_float[q, i]:
            h = (h ^ np.uint64(graph.floats[node, i : i + 1].view(np.int64)[0])) * np.uint64(0x9E3779B97F4A7C15)
            h ^= h >> np.uint64(29)
    return h


@aside
def same(graph, tables, q, a, b):
    for i in range(graph.ints.shape[1]):
        if tables.live_int[q, i] and graph.ints[a, i] != graph.ints[b, i]:
            return False
    for i in range(graph.floats.shape[1]):
        if tables.live_float[q, i]:
            x, y = graph.floats[a, i], graph.floats[b, i]
            if x != y and not (np.isnan(x) and np.isnan(y)):
                return False
    return True


@aside
def rehash(graph, tables, first_new):
    """Use twice as many slots of the hash table; only nodes of the current event matter."""
    size = 2 * graph.fill[3]
    graph.fill[3] = size
    graph.table[:size] = -1
    for n in range(first_new, graph.fill[0]):
        slot = np.int64(state_hash(graph, tables, graph.nodes[n].position, n) % np.uint64(size))
        while graph.table[slot] >= 0:
            slot = (slot + 1) % size
        graph.table[slot] = n


@leaf
def add_range(graph, node, edge, begin, stop, latest):
    graph.nodes[node].latest = max(graph.nodes[node].latest, latest)
    r = graph.nodes[node].ranges
    if r >= 0 and graph.ranges[r].edge == edge and graph.ranges[r].stop == begin and begin >= 0:
        graph.ranges[r].stop = stop
        return
    new = graph.fill[1]
    graph.ranges[new].begin = begin
    graph.ranges[new].stop = stop
    graph.ranges[new].edge = edge
    graph.ranges[new].next = r
    graph.nodes[node].ranges = new
    graph.fill[1] = new + 1


@aside
def enter(graph, tables, events, check, bind, forbid, e, q, root, oldest, ri, rf, first_new):
    """Connect event e at position q to everything it can follow. `root` >= 0: the only event that may start."""
    number = tables.positions[q].checked
    space = graph.nodes.size - 2
    for k in range(tables.positions[q].in_lo, tables.positions[q].in_hi):
        edge = tables.into[k]
        if graph.fill[0] + graph.fill[1] >= space:
            graph.fill[2] = 1
            return
        p = tables.edges[edge].source
        if p == tables.positions.size - 1:
            allowed = root == e if root >= 0 else e >= oldest
            if allowed and (number < 0 or ask(check, number, e, events, ri, rf)):
                node = node_for(graph, tables, events, bind, e, q, ri, rf, first_new)
                add_range(graph, node, edge, ROOT, ROOT - 1, e)
            continue
        n, stop = graph.head[p], graph.stop[edge]
        asking = tables.edges[edge].asks == 1
        if number < 0 and not asking and tables.positions[q].remembers == 0:
            if n > stop and graph.nodes[n].reach >= oldest:
                node = node_for(graph, tables, events, bind, e, q, graph.ints[n], graph.floats[n], first_new)
                add_range(graph, node, edge, n, stop, graph.nodes[n].reach)
            continue
        while n > stop and graph.nodes[n].reach >= oldest:
            if graph.fill[0] + graph.fill[1] >= space:
                graph.fill[2] = 1
                return
            older = graph.nodes[n].previous
            if graph.nodes[n].latest >= oldest and (
                number < 0 or ask(check, number, e, events, graph.ints[n], graph.floats[n])
            ):
                ints, floats = graph.ints[n], graph.floats[n]
                if not asking or not edge_blocked(
                    tables, events, forbid, edge, graph.nodes[n].event, e, -1, ints, floats
                ):
                    node = node_for(graph, tables, events, bind, e, q, ints, floats, first_new)
                    add_range(graph, node, edge, n, older, graph.nodes[n].latest)
            n = older


@aside
def cut(graph, tables, events, j, end):
    """Absent events of the instant j..end-1 cut the nodes before them off from everything after them."""
    links = tables.absent_bits.size + 1
    for edge in range(tables.edges.size):
        p = tables.edges[edge].source
        if p == tables.positions.size - 1:
            continue
        for g in range(tables.edges[edge].guard_lo, tables.edges[edge].guard_hi):
            part = tables.guards[g]
            if tables.parts[part].late == 1:
                continue
            lo, hi = tables.parts[part].lo, tables.parts[part].hi
            for k in range(hi - lo - 1, -1, -1):  # backwards: a chain's links lie at different instants
                bit = tables.absent_bits[lo + k]
                if tables.asks[bit] >= 0:
                    break
                hit = False
                for x in range(j, end):
                    hit = hit or (events.bits[x] >> bit) & 1 == 1
                if hit:
                    node = graph.head[p] if k == 0 else graph.chain[g * links + k - 1]
                    if k == hi - lo - 1:
                        graph.stop[edge] = max(graph.stop[edge], node)
                    else:
                        graph.chain[g * links + k] = max(graph.chain[g * links + k], node)


@leaf
def add_instant(graph, tables, events, check, bind, forbid, j, end, root, oldest, ri, rf):
    """Add the events j..end-1, all at one instant: they follow earlier ones, never one another."""
    first = graph.fill[0]
    absent = False
    for e in range(j, end):
        first_new = graph.fill[0]
        bits = events.bits[e]
        for q in range(tables.positions.size - 1):
            if (bits >> tables.positions[q].step) & 1:
                enter(graph, tables, events, check, bind, forbid, e, q, root, oldest, ri, rf, first_new)
        for b in range(tables.absent_bits.size):
            absent = absent or (bits >> tables.absent_bits[b]) & 1 == 1
    if absent:
        cut(graph, tables, events, j, end)
    for n in range(first, graph.fill[0]):
        older = graph.nodes[n].previous
        graph.nodes[n].reach = max(graph.nodes[n].latest, graph.nodes[older].reach if older >= 0 else -1)
        graph.head[graph.nodes[n].position] = n


# --- reading matches -------------------------------------------------------------------------------------------------


# The way from a closing node back to the current node, as a stack: a node, the range it is read along, the next in it.
VISIT = np.dtype([("node", "i8"), ("along", "i8"), ("cursor", "i8")])


@leaf
def open_walk(graph, tables, events, final, close, walk):
    """Put the closing node on the stack if a match may end there; returns the depth, -1 if not."""
    position = tables.positions[graph.nodes[close].position]
    number, e = position.final_checked, graph.nodes[close].event
    if number >= 0 and not ask(final, number, e, events, graph.ints[close], graph.floats[close]):
        return -1
    first = graph.nodes[close].ranges
    walk[0].node, walk[0].along = close, first
    walk[0].cursor = graph.ranges[first].begin if first >= 0 else -1
    return 0


@leaf
def read_matches(graph, tables, events, limits, forbid, oldest, run, out, walk, edges, depth):
    """Append the matches along the walk that start at `oldest` or later.

    Returns the depth to go on from if the output is full, or -1 when all are read.
    """
    while depth >= 0:
        r, m = walk[depth].along, walk[depth].cursor
        if r < 0:
            depth -= 1
        elif m <= graph.ranges[r].stop or (m >= 0 and graph.nodes[m].reach < oldest):
            r = graph.ranges[r].next
            walk[depth].along = r
            walk[depth].cursor = graph.ranges[r].begin if r >= 0 else -1
        elif m == ROOT:
            if full(out, depth + 1):
                return depth
            walk[depth].cursor = ROOT - 1
            if graph.nodes[walk[depth].node].event >= oldest:
                write(graph, tables, events, limits, forbid, walk, depth, run, out, edges)
                if limits.limit >= 0 and out.fill[0] >= limits.limit:
                    return -1
        else:
            walk[depth].cursor = graph.nodes[m].previous
            if graph.nodes[m].latest >= oldest:
                depth += 1
                first = graph.nodes[m].ranges
                walk[depth].node, walk[depth].along, walk[depth].cursor = m, first, graph.ranges[first].begin
    return -1


@aside
def write(graph, tables, events, limits, forbid, walk, depth, run, out, edges):
    """Append the match on the stack, unless an absent part that needs the complete match forbids it."""
    n = depth + 1
    begin = out.fill[1]
    path = out.events[begin : begin + n]
    for i in range(n):
        node = graph.nodes[walk[depth - i].node]
        path[i] = node.event
        out.steps[begin + i] = tables.positions[node.position].step
    if tables.absent_bits.size > 0:
        close = walk[0].node
        ints, floats = graph.ints[close], graph.floats[close]
        q = graph.nodes[close].position
        for i in range(n):
            edges[i] = graph.ranges[walk[depth - i].along].edge
        if end_blocked(tables, events, limits, forbid, q, path[0], path[n - 1], run, -1, ints, floats) or late_blocked(
            tables, events, limits, forbid, path, edges, n, run, -1, ints, floats
        ):
            return
    out.ends[out.fill[0]] = begin + n
    out.fill[0] += 1
    out.fill[1] += n


@njit
def read_new(graph, tables, events, limits, final, forbid, since, oldest, run, out, walk, edges):
    """The matches that end with a node added since."""
    for n in range(since, graph.fill[0]):
        position = tables.positions[graph.nodes[n].position]
        if position.final_lo < position.final_hi and graph.nodes[n].latest >= oldest:
            depth = open_walk(graph, tables, events, final, n, walk)
            while depth >= 0:
                if full(out, depth + 1):
                    out = room(out, depth + 1)
                depth = read_matches(graph, tables, events, limits, forbid, oldest, run, out, walk, edges, depth)
            if limits.limit >= 0 and out.fill[0] >= limits.limit:
                break
    return out


def match_any(tables, events, limits, shared, check, bind, final, forbid, ri, rf):
    """All matches under skip till any match; returns the output and a status."""
    out = new_output(1024 + events.time.size // 2)  # untouched memory costs nothing, growing does
    walk, edges = np.empty(limits.budget + 2, VISIT), np.empty(limits.budget + 2, np.int64)
    graph = new_graph(tables, ri, rf, limits.budget)
    for r in range(events.runs.size - 1):
        run = (events.runs[r], events.runs[r + 1])
        if shared:
            out, status = match_shared(
                tables, events, limits, check, bind, final, forbid, ri, rf, run, graph, out, walk, edges
            )
        else:
            out, status = match_starts(
                tables, events, limits, check, bind, final, forbid, ri, rf, run, graph, out, walk, edges
            )
        if status != OK:
            return out, status
    return out, OK


@leaf
def closes(graph, tables, since):
    """Whether a match may end with a node added since."""
    for n in range(since, graph.fill[0]):
        position = tables.positions[graph.nodes[n].position]
        if position.final_lo < position.final_hi:
            return True
    return False


@njit
def match_shared(tables, events, limits, check, bind, final, forbid, ri, rf, run, graph, out, walk, edges):
    """One graph for all starts of a run. When it outgrows the budget, a new one begins a window further back."""
    clear(graph)
    j = oldest = floor = handled = run[0]
    while j < run[1]:
        end = events.after[j]
        while oldest < end and (oldest < floor or not within(events, limits, oldest, j)):
            oldest += 1
        since = graph.fill[0]
        add_instant(graph, tables, events, check, bind, forbid, j, end, -1, oldest, ri, rf)
        if graph.fill[2]:
            if j == handled:  # no progress since the last beginning: this window alone is too large
                if limits.drop == 0:
                    return out, OVER_BUDGET
                floor = (oldest + j) // 2 + 1
                out.fill[2] += floor - oldest
            handled = j
            oldest = max(oldest, floor)
            clear(graph)
            j = events.instant[min(oldest, j)]
            continue
        if j >= handled and closes(graph, tables, since):
            out = read_new(graph, tables, events, limits, final, forbid, since, oldest, run, out, walk, edges)
            if limits.limit >= 0 and out.fill[0] >= limits.limit:
                return out, OVER_LIMIT
        j = end
    return out, OK


@leaf
def build_start(tables, events, limits, check, bind, forbid, ri, rf, run, graph, s):
    """The graph of all ways that start with event s; False if it outgrows the budget."""
    clear(graph)
    add_instant(graph, tables, events, check, bind, forbid, s, s + 1, s, s, ri, rf)
    j = events.after[s]
    while j < run[1] and graph.fill[0] > 0 and within(events, limits, s, j):
        add_instant(graph, tables, events, check, bind, forbid, j, events.after[j], s, s, ri, rf)
        if graph.fill[2]:
            return False
        j = events.after[j]
    return True


@njit
def match_starts(tables, events, limits, check, bind, final, forbid, ri, rf, run, graph, out, walk, edges):
    """A graph per start, for conditions that remember more than the previous event."""
    for s in range(run[0], run[1]):
        if events.bits[s] & tables.positions[-1].out_mask == 0 or not within(events, limits, s, s):
            continue
        if not build_start(tables, events, limits, check, bind, forbid, ri, rf, run, graph, s):
            if limits.drop == 0:
                return out, OVER_BUDGET
            out.fill[2] += 1
            continue
        out = read_new(graph, tables, events, limits, final, forbid, 0, s, run, out, walk, edges)
        if limits.limit >= 0 and out.fill[0] >= limits.limit:
            return out, OVER_LIMIT
    return out, OK
