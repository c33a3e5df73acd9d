"""Choosing and calling the match loop.

One loop per essentially different strategy: `follow` for the deterministic ones, `graph` for skip till any match, and
the counting loops for RETURN TOTAL. Which one, and why, is decided here once per plan and shown by EXPLAIN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from whenabouts.errors import BudgetError
from whenabouts.kernels import follow, graph
from whenabouts.kernels.batch import Batch
from whenabouts.kernels.lower import Lowered, initial_registers
from whenabouts.kernels.signatures import FOLLOW, GRAPH, compiled
from whenabouts.kernels.types import Limits, Output
from whenabouts.plan.bound import Bound
from whenabouts.plan.pattern import Closure, Strategy

_FOLLOW = {
    Strategy.NEXT: follow.NEXT,
    Strategy.PARTITION: follow.PARTITION,
    Strategy.STRICT: follow.STRICT,
    Strategy.LATEST: follow.LATEST,
}


@dataclass(frozen=True, slots=True)
class Budget:
    """Bounds of one call and what happens at them."""

    partial: int = 1_000_000  # partial matches, or graph nodes and ranges, held at once
    matches: int = 20_000_000
    drop: bool = False  # give up a start that exceeds the budget (and count it) instead of failing


def remembers(lowered: Lowered) -> bool:
    """Whether partial matches must be told apart by more than their last event."""
    t = lowered.program.tables
    return bool(t.live_int.any() or t.live_float.any())


def limits_of(bound: Bound, budget: Budget, limit: int) -> Limits:
    extent = bound.extent
    span = -1 if extent is None else extent.span
    return Limits(span, int(extent is not None and extent.events), budget.partial, int(budget.drop), limit)


def matches(
    bound: Bound, lowered: Lowered, batch: Batch, budget: Budget, limit: int | None, aggregates: Mapping[str, Any]
) -> Output:
    """All matches of a batch, or `limit` of them."""
    bounded = budget.matches if limit is None else min(limit, budget.matches)
    limits = limits_of(bound, budget, bounded)
    c, t = lowered.conditions, lowered.program.tables
    ints, floats = initial_registers(lowered, aggregates)
    functions = (c.check, c.bind, c.final, c.forbid)
    if bound.query.strategy is Strategy.ANY:
        shared = int(not remembers(lowered))
        out, status = compiled(graph.match_any, GRAPH)(t, batch.events, limits, shared, *functions, ints, floats)
    else:
        prefixes = int(bound.query.closure is Closure.PREFIXES)
        strategy = _FOLLOW[bound.query.strategy]
        out, status = compiled(follow.follow, FOLLOW)(
            t, batch.events, limits, strategy, prefixes, *functions, ints, floats
        )
    out = Output(*(np.asarray(a) for a in out))
    if status == graph.OVER_BUDGET:
        raise over_budget(budget)
    if status == graph.OVER_LIMIT and limit is None:
        raise BudgetError(
            "budget",
            f"more than {budget.matches:,} matches",
            hint="add LIMIT, ask for RETURN COLLAPSED or RETURN TOTAL count(*), or raise max_matches",
        )
    return out


def over_budget(budget: Budget) -> BudgetError:
    return BudgetError(
        "budget",
        f"one window holds more than {budget.partial:,} partial matches",
        hint='narrow WITHIN or the conditions, raise budget=…, or give such starts up with on_budget="drop"',
    )
