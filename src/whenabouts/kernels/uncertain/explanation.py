"""EXPLAIN over uncertain time: how candidates are looked for, what their confidence costs, how totals are got.

Given a schema alone it says what is decided by the data; given a batch, what was decided, and by which numbers.
"""

from __future__ import annotations

from typing import Any

from whenabouts.kernels.batch import Batch
from whenabouts.kernels.lower import Lowered
from whenabouts.kernels.run import Budget
from whenabouts.kernels.uncertain.forbidden import Effort
from whenabouts.kernels.uncertain.points import MOST_POINTS, point_count
from whenabouts.kernels.uncertain.run import Order, is_disturbed, order_for
from whenabouts.kernels.uncertain.supported import several_orders
from whenabouts.kernels.uncertain.totals import SHARED, why_list
from whenabouts.plan.bound import Bound
from whenabouts.plan.pattern import Output

ORDERS = {
    Order.QUERY: "along the pattern, from each event that can be first",
    Order.SELECTIVITY: "along the pattern, only near events of the rarest step",
    Order.ANY_STATE: "as events arrive, what each of them completes",
}


def method(bound: Bound, lowered: Lowered, order: Order | None, batch: Batch | None) -> list[str]:
    """How the query is matched, and why."""
    total = bound.query.output is Output.TOTAL
    reason = why_list(bound, lowered, order, batch) if total else None
    if total and reason is None:
        unsure = "" if batch is not None else f"; the matches are listed if {SHARED}"
        return [f"expected totals: from sums of masses, no match is listed{unsure}"]
    lines = [f"expected totals: the matches are listed and added up, because {reason}"] if total else []
    lines += _points(batch) if order is Order.POINTS else _chains(bound, lowered, order, batch)
    if several_orders(bound):
        lines.append("matches: several orders of the same events are one match, their confidences are added up")
    return lines


def _points(batch: Batch | None) -> list[str]:
    times: Any = None if batch is None else batch.times
    some = "" if times is None else f"{point_count(times):,} points, "
    return [
        f"point-based, as asked: a point per event and tick ({some}{MOST_POINTS:,} at most), matched like exact times",
        "confidence: added up over all point matches of a chain, tick by tick",
    ]


def _chains(bound: Bound, lowered: Lowered, order: Order | None, batch: Batch | None) -> list[str]:
    lines = ["event-based: a candidate is a chain of events that may happen in this order, within the window"]
    if batch is not None:
        choice = order_for(lowered, batch, order)
        lines.append(f"order: {choice.order} ({ORDERS[choice.order]}): {choice.reason}")
    elif order is None:
        lines.append("order: chosen from the data, by how many events each step can take")
    else:
        lines.append(f"order: {order} ({ORDERS[order]}): as asked")
    if is_disturbed(bound, lowered):
        lines += [
            "confidence: of each candidate, with the events that must stay out of its gaps: the cheaper of a sweep",
            f"  over its instants and a list of them; beyond {Effort().work:,.0f} products a certified interval or",
            "  an estimate, marked in confidence_kind and confidence_error",
        ]
    else:
        lines.append("confidence: of each candidate, exact: sums of polynomials, whatever the number of ticks")
    return lines


def memory(budget: Budget, order: Order | None) -> str:
    """What is held at once."""
    if order is Order.POINTS:
        return f"all points, and at most {budget.matches:,} point matches, then the query fails"
    then = "then the start is dropped and counted" if budget.drop else "then the query fails"
    return (
        f"all relevant events, at most {budget.matches:,} candidates, and for one start {budget.partial:,} ways on or "
        f"disturbers, {then}"
    )
