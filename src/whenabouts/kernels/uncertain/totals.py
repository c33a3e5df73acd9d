"""RETURN TOTAL over uncertain time: whether the expected values need a list of matches, and how they are got without.

Problem: totals over all matches do not need the matches, but only where expectations add up class by class. Idea: that
is so if each event can be one step only and a match is any choice of one event per step in order and in the window
(spec of imprecise time, section 7(d)); every other query lists its matches. Decided here, and shown by EXPLAIN.
Invariant: both ways give the same numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whenabouts.kernels.batch import Batch
from whenabouts.kernels.lower import Lowered
from whenabouts.kernels.program import F64, I64
from whenabouts.kernels.signatures import compiled
from whenabouts.kernels.types import Values
from whenabouts.kernels.uncertain.expected import expected_totals
from whenabouts.kernels.uncertain.run import Order
from whenabouts.kernels.uncertain.signatures import EXPECTED_TOTALS
from whenabouts.kernels.uncertain.window import CHEAPEST
from whenabouts.plan.automaton import START, Automaton
from whenabouts.plan.bound import Bound
from whenabouts.plan.pattern import Strategy

SHARED = "an event can be two steps"


def why_list(bound: Bound, lowered: Lowered, order: Order | None, batch: Batch | None = None) -> str | None:
    """Why the matches must be listed to add them up; None if they need not be, as far as is known without a batch."""
    placement = lowered.program.placement
    if order is not None:
        return f"evaluation={str(order)!r} asks for it"
    if bound.query.strategy is not Strategy.ANY:
        return f"{bound.query.strategy} depends on the events left out"
    if placement.automaton.absents:
        return "parts must be absent"
    if not _is_sequence(placement.automaton):
        return "the pattern is not a sequence of single steps"
    if any(placement.checks.values()) or any(placement.finals.values()):
        return "conditions read several events"
    if batch is not None and bool(np.any(batch.events.bits & (batch.events.bits - np.uint64(1)))):
        return SHARED
    return None


def _is_sequence(automaton: Automaton) -> bool:
    """Whether the only way is from one position to the next."""
    last = len(automaton.steps) - 1
    ways = [(e.source, e.target) for e in automaton.edges]
    return ways == [(p - 1 if p else START, p) for p in range(last + 1)] and automaton.final_positions == {last}


def expected_weights(bound: Bound, lowered: Lowered, batch: Batch, values: Values) -> tuple[F64, F64, F64]:
    """Expected numbers over all matches: for each run that of matches; for each run and column of `values` two more.

    They are the number of values that are not NULL, and their sum.
    """
    times: Any = batch.times
    bits, wanted = batch.events.bits, values.step.size
    steps = [lowered.program.steps.index(step) for step in lowered.program.automaton.steps]
    place: I64 = np.full(bits.size, -1, np.int64)
    for j, step in enumerate(steps):
        place[(bits >> np.uint64(step)) & np.uint64(1) != 0] = j
    weights = np.ones((1 + 3 * wanted, bits.size))
    for k, step in enumerate(values.step):
        mine = place == steps.index(int(step))
        number = np.where(values.valid[k] != 0, values.floats[k], 0.0)
        for row, column in enumerate((values.valid[k], np.maximum(number, 0.0), np.maximum(-number, 0.0))):
            weights[1 + 3 * k + row, mine] = column[mine]
    span = -1 if bound.extent is None else bound.extent.span
    totals = compiled(expected_totals, EXPECTED_TOTALS)(
        times, batch.events.runs, place, weights, len(steps), span, CHEAPEST
    )
    return totals[:, 0], totals[:, 1::3], totals[:, 2::3] - totals[:, 3::3]
