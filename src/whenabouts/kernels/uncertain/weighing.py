"""Confidences and ranges of chains that other events can disturb, each by the least machine code that does it.

Problem: most chains are easy (nothing disturbs them, or few ticks), a few need everything there is, and all that takes
a minute to compile. Idea: the easy ones first; what is left goes, if there is any, to kernels compiled only then. A
chain is never more probable with disturbers than without, which bounds its confidence before anything else is known:
what stays below a threshold, or behind the best, is not looked at.
Invariant: the values are those of `forbidden.confidences` and `reach.reaches` for every chain kept.
Reference: spec of imprecise time, sections 3 and 11.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from whenabouts.kernels.program import F64, I64
from whenabouts.kernels.signatures import compiled
from whenabouts.kernels.uncertain import chain as ch
from whenabouts.kernels.uncertain import forbidden as fb
from whenabouts.kernels.uncertain import members as mr
from whenabouts.kernels.uncertain import reach as rc
from whenabouts.kernels.uncertain import signatures as us
from whenabouts.kernels.uncertain import signatures_forbidden as fs
from whenabouts.kernels.uncertain.rules import rules
from whenabouts.kernels.uncertain.times import EXACT, U8, Chains, Forbidders, Regions, Times
from whenabouts.kernels.uncertain.window import CHEAPEST


class Weights(NamedTuple):
    """Confidence, its error and its kind, per chain."""

    value: F64
    error: F64
    kind: U8


class Wanted(NamedTuple):
    """Which chains are worth a confidence."""

    least: float = 0.0  # at least so probable
    best: int = -1  # among the so many most probable, ties included; -1: all


def free_weights(times: Times, chains: Chains, span: int) -> Weights:
    """Of chains that nothing can disturb."""
    value = compiled(ch.confidences, us.CONFIDENCES)(times, chains, span, CHEAPEST)
    return Weights(value, np.zeros(value.size), np.full(value.size, EXACT, np.uint8))


def weights(times: Times, chains: Chains, rows: Forbidders, span: int, wanted: Wanted) -> Weights:
    """Of chains with forbidden regions; 0 where a bound shows that it is not wanted."""
    if wanted.least <= 0.0 and wanted.best < 0:
        return _weigh(times, chains, rows, span)
    bound = free_weights(times, chains, span).value
    bound[np.isnan(bound)] = 1.0
    order = np.argsort(-bound, kind="stable")
    order = order[: np.searchsorted(-bound[order], -wanted.least, side="right")]
    found = Weights(np.zeros(bound.size), np.zeros(bound.size), np.full(bound.size, EXACT, np.uint8))
    size, done = max(4 * wanted.best, 1024) if wanted.best >= 0 else order.size, 0
    while done < order.size and not _enough(found.value[order[:done]], wanted.best, bound[order[done]]):
        some = np.sort(order[done : done + size])
        _, chosen = chains_at(chains, some)
        part = _weigh(times, chosen, rows_at(rows, some), span)
        found.value[some], found.error[some], found.kind[some] = part
        done, size = done + size, 2 * size
    return found


def _enough(values: F64, best: int, bound: float) -> bool:
    """Whether none of the chains left can be among the best."""
    return 0 <= best <= values.size and (best == 0 or bool(np.partition(values, -best)[-best] > bound))


def _weigh(times: Times, chains: Chains, rows: Forbidders, span: int) -> Weights:
    value, kind = compiled(fb.quick_confidences, fs.QUICK_CONFIDENCES)(times, chains, rows, span, fb.Effort())
    error = np.zeros(value.size)
    free = np.flatnonzero(kind == fb.FREE)
    if free.size:
        value[free], kind[free] = free_weights(times, chains_at(chains, free)[1], span).value, EXACT
    hard = np.flatnonzero((kind == fb.HARD) | np.isnan(value))
    if hard.size:
        _, chosen = chains_at(chains, hard)
        value[hard], error[hard], kind[hard] = compiled(fb.confidences, fs.CONFIDENCES)(
            times, chosen, rows_at(rows, hard), span, rules(), fb.Effort()
        )
    return Weights(value, error, kind)


def extents(times: Times, chains: Chains, rows: Forbidders, regions: Regions, span: int) -> tuple[I64, I64, I64]:
    """First and last instant of every member, and `final` of every chain (see `reach.reaches`)."""
    first, last, final, closed = compiled(rc.quick_reaches, fs.QUICK_REACHES)(times, chains, rows, regions, span)
    rest = np.flatnonzero(closed == 0)
    if rest.size:
        _, chosen = chains_at(chains, rest)
        nodes, _ = entries_at(chains.ends, rest)
        first[nodes], last[nodes], final[rest] = compiled(rc.reaches, fs.REACHES)(
            times, chosen, rows_at(rows, rest), rows_at(regions, rest), span, rules(), fb.Effort()
        )
    if chains.members.size > first.size:
        first, last = compiled(mr.member_ranges, fs.MEMBER_RANGES)(
            times, chains, rows, first, last, span, rules(), fb.Effort()
        )
    return first, last, final


# --- some of the chains ----------------------------------------------------------------------------------------------


def entries_at(ends: I64, kept: I64) -> tuple[I64, I64]:
    """The entries of these groups, and where the groups end among them."""
    begins = np.concatenate([np.zeros(1, np.int64), ends])[kept]
    sizes = ends[kept] - begins
    new_ends = np.cumsum(sizes)
    return np.arange(int(sizes.sum()), dtype=np.int64) + np.repeat(begins - new_ends + sizes, sizes), new_ends


def chains_at(chains: Chains, kept: I64) -> tuple[I64, Chains]:
    """These chains, and which members of all they have."""
    nodes, ends = entries_at(chains.ends, kept)
    members, node_ends = entries_at(chains.node_ends, nodes)
    return members, Chains(ends, node_ends, chains.members[members])


def rows_at(rows: Any, kept: I64) -> Any:
    """The rows of these chains, of a Forbidders or a Regions."""
    entries, ends = entries_at(rows.ends, kept)
    return type(rows)(ends, *(column[entries] for column in rows[1:]))
