"""From a batch of uncertain events to possible matches with their confidences.

Three passes over the whole batch: `search` finds the candidate chains and what could spoil them, `chain` or `weighing`
computes confidences, `feasible` or `weighing` the ranges. A chain that turns out impossible is dropped here.
Invariant: the result does not depend on the order of evaluation; that is the planner's choice, by event frequencies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numba import njit, typeof, types

from whenabouts.errors import BudgetError
from whenabouts.kernels.batch import Batch
from whenabouts.kernels.lower import Lowered, initial_registers
from whenabouts.kernels.program import F64, I64
from whenabouts.kernels.run import Budget, over_budget
from whenabouts.kernels.signatures import EVENTS, FLOATS, FUNCTIONS, INTS, TABLES, compiled
from whenabouts.kernels.types import Output
from whenabouts.kernels.uncertain import chain as ch
from whenabouts.kernels.uncertain import found as fo
from whenabouts.kernels.uncertain import prefix as pf
from whenabouts.kernels.uncertain import reach as rc
from whenabouts.kernels.uncertain import signatures as us
from whenabouts.kernels.uncertain.search import search
from whenabouts.kernels.uncertain.supported import unordered
from whenabouts.kernels.uncertain.times import U8
from whenabouts.kernels.uncertain.weighing import Wanted, chains_at, entries_at, extents, free_weights, rows_at, weights
from whenabouts.plan.automaton import surely_bound
from whenabouts.plan.bound import Bound
from whenabouts.plan.pattern import Strategy

_EXAMPLE: Any = fo.new_found(1)
FOUND = typeof(_EXAMPLE)
TASK = typeof(pf.Task(0, 0, 0, 0, 0, 0, 0, 0))
SEARCH = types.Tuple((FOUND, types.int64))(TABLES, EVENTS, us.TIMES, INTS, TASK, *FUNCTIONS, INTS, FLOATS)


class Order(StrEnum):
    """How matches are looked for: chains of events in one of three orders, or point by point."""

    QUERY = "query_order"  # from each start event, along the pattern
    SELECTIVITY = "selectivity"  # the same, but only near events of the step that has fewest
    ANY_STATE = "any_state"  # for each event as it arrives, the chains it completes
    POINTS = "points"  # not by chains: every tick of every event (points.py)


@dataclass(frozen=True, slots=True)
class Choice:
    """An order of evaluation, the position it is steered by (-1: none), and why."""

    order: Order
    pivot: int
    reason: str


ALL = Wanted()
AT_ONCE, NEVER = rc.AT_ONCE, rc.NEVER  # see Possible.final
RARE = 0.25  # SELECTIVITY pays if the rarest step has fewer events than this share of the start steps'


def order_for(lowered: Lowered, batch: Batch, forced: Order | None = None) -> Choice:
    """The planner's choice, by the number of events that each step that every match has can take."""
    automaton = lowered.program.automaton
    ends = {p for p, _ in automaton.finals}
    everywhere = frozenset.intersection(*(surely_bound(automaton)[p] for p in ends)) if ends else frozenset()
    starts = {automaton.steps[e.target] for e in automaton.outgoing(-1)}
    counts = {s: _count(batch, lowered, s) for s in dict.fromkeys(automaton.steps)}
    rare = min((s for s in automaton.steps if s in everywhere), key=lambda s: counts[s], default=None)
    first = sum(counts[s] for s in starts)
    if forced is not None and forced is not Order.SELECTIVITY:
        return Choice(forced, -1, "as asked")
    if rare is not None and (forced or (rare not in starts and counts[rare] < RARE * first)):
        reason = f"{counts[rare]:,} events can be {rare}, {first:,} can be first"
        return Choice(Order.SELECTIVITY, automaton.steps.index(rare), reason)
    if forced:
        return Choice(Order.QUERY, -1, "no step is in every match")
    return Choice(Order.QUERY, -1, f"{first:,} events can be first, and no other step is far rarer")


def _count(batch: Batch, lowered: Lowered, step: str) -> int:
    bit = np.uint64(1) << np.uint64(lowered.program.steps.index(step))
    return int(np.count_nonzero(batch.events.bits & bit))


@njit(cache=True)
def reach_of(upper: I64, runs: I64) -> I64:
    """For every event the latest upper bound of its run's events up to it."""
    reach = upper.copy()
    for r in range(runs.size - 1):
        for i in range(runs[r] + 1, runs[r + 1]):
            reach[i] = max(reach[i], reach[i - 1])
    return reach


def candidates(
    bound: Bound, lowered: Lowered, batch: Batch, budget: Budget, choice: Choice, aggregates: Mapping[str, Any]
) -> fo.Found:
    """All chains that may be matches, with the events that could spoil them."""
    assert batch.times is not None  # noqa: S101 - the batch was prepared for this
    c, t = lowered.conditions, lowered.program.tables
    ints, floats = initial_registers(lowered, aggregates)
    span = -1 if bound.extent is None else bound.extent.span
    task = pf.Task(
        span, int(bound.query.strategy is Strategy.NEXT), budget.partial, int(budget.drop), budget.matches,
        choice.pivot, int(choice.order is Order.ANY_STATE), int(unordered(bound)),
    )  # fmt: skip
    reach = reach_of(batch.times.upper, batch.events.runs)
    found, status = compiled(search, SEARCH)(
        t, batch.events, batch.times, reach, task, c.check, c.bind, c.final, c.forbid, ints, floats
    )
    if status == pf.OVER_BUDGET:
        raise over_budget(budget)
    if status == pf.OVER_LIMIT:
        raise BudgetError(
            "budget",
            f"more than {budget.matches:,} possible matches",
            hint="narrow WITHIN or the conditions, ask for RETURN TOTAL count(*), or raise max_matches",
        )
    return fo.Found(*(np.asarray(a) for a in found))


# --- confidences and ranges ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Possible:
    """Chains of positive confidence, in ticks; one entry per event of a chain in `output`, `earliest` and `latest`."""

    output: Output
    confidence: F64
    error: F64
    kind: U8
    earliest: I64
    latest: I64
    final: I64  # the chain changes no more once nothing unseen can begin before; AT_ONCE, NEVER

    @property
    def start(self) -> I64:
        """The first instant of each chain."""
        ends = self.output.ends
        begins = np.concatenate([np.zeros(1, np.int64), ends])[: ends.size]
        return np.minimum.reduceat(self.earliest, begins) if ends.size else ends

    @property
    def end(self) -> I64:
        """The last instant of each chain."""
        ends = self.output.ends
        begins = np.concatenate([np.zeros(1, np.int64), ends])[: ends.size]
        return np.maximum.reduceat(self.latest, begins) if ends.size else ends


def is_disturbed(bound: Bound, lowered: Lowered) -> bool:
    """Whether events outside a chain can keep it from being a match."""
    return bound.query.strategy is Strategy.NEXT or bool(lowered.program.tables.parts.size)


def possible_matches(
    bound: Bound,
    lowered: Lowered,
    batch: Batch,
    budget: Budget,
    aggregates: Mapping[str, Any],
    *,
    wanted: Wanted = ALL,
    order: Order | None = None,
) -> Possible:
    """All chains that may be a match and are wanted."""
    found = candidates(bound, lowered, batch, budget, order_for(lowered, batch, order), aggregates)
    span = -1 if bound.extent is None else bound.extent.span
    groups = unordered(bound)
    chains, rows, regions = fo.chains_of(found, unordered=groups), fo.forbidders_of(found), fo.regions_of(found)
    times: Any = batch.times
    disturbed = is_disturbed(bound, lowered)
    if disturbed or groups:  # a group may be too large for `chain` alone
        weight = weights(times, chains, rows, span, wanted)
    else:
        weight = free_weights(times, chains, span)
    upper = weight.value + weight.error
    kept = np.flatnonzero((upper > 0.0) & (upper >= wanted.least))
    entries, chains = chains_at(chains, kept)
    _, ends = entries_at(found.ends, kept)
    if disturbed:
        rows, regions = rows_at(rows, kept), rows_at(regions, kept)
        earliest, latest, final = extents(times, chains, rows, regions, span)
    else:
        _, earliest, latest = compiled(ch.feasible_ranges, us.FEASIBLE_RANGES)(times, chains, span)
        final = np.full(kept.size, AT_ONCE, np.int64)
    fill = np.array([kept.size, entries.size, int(found.fill[3]), 0])
    output = Output(ends, chains.members, found.steps[entries], fill)
    return Possible(output, weight.value[kept], weight.error[kept], weight.kind[kept], earliest, latest, final)
