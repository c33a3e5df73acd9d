"""When each event of an unordered group can happen, over all matches of its chain.

Problem: `reach` knows when a group begins and ends, which leaves open when each of its events can happen. Idea: fix the
event at one instant and ask whether the chain is still possible, from either end of what its group leaves it.
Invariant: a range is never too narrow; it is exact unless too many ends have to be tried, or one is too hard.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from whenabouts.kernels.uncertain.envelope import lay_out
from whenabouts.kernels.uncertain.exact import prepare
from whenabouts.kernels.uncertain.feasible import first_of
from whenabouts.kernels.uncertain.forbidden import judge
from whenabouts.kernels.uncertain.reach import TRIES, possible_instant
from whenabouts.kernels.uncertain.times import EXACT, Times


def member_ranges(times, chains, forbidders, first, last, span, rules, effort):
    """First and last instant of every member, from those of the nodes (`reaches`)."""
    earliest, latest = np.empty(chains.members.size, np.int64), np.empty(chains.members.size, np.int64)
    layout, tools = prepare(chains, forbidders)
    fixed = Times(
        times.lower.copy(), times.upper.copy(), times.first, times.start, times.mass, times.before, times.behind
    )
    for m in range(chains.ends.size):
        for n in range(first_of(chains.ends, m), chains.ends[m]):
            begin, end = first_of(chains.node_ends, n), chains.node_ends[n]
            for k in range(begin, end):
                e = chains.members[k]
                earliest[k], latest[k] = max(times.lower[e], first[n]), min(times.upper[e], last[n])
                if end == begin + 1:
                    continue
                earliest[k], tools = end_of(
                    times, fixed, chains, forbidders, m, layout, span, rules, effort, tools, e, earliest[k], latest[k],
                    1,
                )  # fmt: skip
                latest[k], tools = end_of(
                    times, fixed, chains, forbidders, m, layout, span, rules, effort, tools, e, latest[k], earliest[k],
                    -1,
                )  # fmt: skip
    return earliest, latest


@njit
def end_of(times, fixed, chains, forbidders, m, layout, span, rules, effort, tools, e, begin, bound, step):
    """The first instant from `begin` on towards `bound` at which event e can happen; `begin` if none is found."""
    t, found = begin, begin
    for _ in range(TRIES):
        t = possible_instant(times, e, t, step)
        if (bound - t) * step < 0:
            break
        fixed.lower[e], fixed.upper[e] = t, t
        count = lay_out(fixed, chains, m, layout)
        value, _, kind, tools = judge(fixed, chains, forbidders, m, layout, count, span, rules, effort, tools)
        found = t
        if value > 0.0 or kind != EXACT:
            break
        t += step
    fixed.lower[e], fixed.upper[e] = times.lower[e], times.upper[e]
    return found, tools
