"""Choosing how RETURN TOTAL is computed: the cheapest way that the query's conditions allow.

window product   no condition reads two events           constant work per event, any window
by rank          one closure, compared by rank; count(*)  logarithmic work per start and event
match graph      any condition                            the edges of each start's graph
one by one       absent parts judged at the end, or several ways to one match
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from whenabouts.kernels import ranked as rk
from whenabouts.kernels import totals as tt
from whenabouts.kernels.batch import Batch
from whenabouts.kernels.columns import evaluate
from whenabouts.kernels.lower import Lowered, initial_registers
from whenabouts.kernels.program import I64, NULL_INT
from whenabouts.kernels.run import Budget, limits_of, over_budget
from whenabouts.kernels.signatures import GRAPH_TOTALS, RANKED_TOTALS, WINDOW_TOTALS, compiled
from whenabouts.kernels.types import Values
from whenabouts.plan import expressions as ex
from whenabouts.plan.bound import Bound
from whenabouts.plan.expressions import Pick
from whenabouts.plan.pattern import Strategy
from whenabouts.plan.placement import Check

WINDOW, RANK, GRAPH, LISTING = "window product", "by rank", "match graph", "one by one"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The closure that can be counted by rank, and its comparisons."""

    position: int
    take: int
    leave: Mapping[int, int]  # position after the closure -> comparison
    element: ex.Expr  # the value of an element
    outside: ex.Expr | None  # the value it is compared with after the closure
    largest: bool  # it is the largest element that counts
    mirrored: bool  # the smallest instead of the largest


def way_of_counting(bound: Bound, lowered: Lowered, *, merge: bool, columns: int) -> str:
    """Which of the ways applies; `columns` is the number of summed columns."""
    placement, t = lowered.program.placement, lowered.program.tables
    if bound.query.strategy is not Strategy.ANY or merge or placement.late_guards:
        return LISTING
    between = any(placement.checks.values()) or any(placement.finals.values()) or any(placement.forbids.values())
    plain = bool(np.all(t.edges["plain"] == 1)) and not t.final_guards.size
    if not between and plain:
        return WINDOW
    if plain and not columns and comparison_of(lowered) is not None:
        return RANK
    return GRAPH


def count_matches(
    way: str,
    bound: Bound,
    lowered: Lowered,
    batch: Batch,
    values: Values,
    budget: Budget,
    aggregates: Mapping[str, Any],
) -> tuple[Any, Any, int]:
    """Weights per run, modulo 2^64 and as floats, and the number of starts given up."""
    limits, t = limits_of(bound, budget, -1), lowered.program.tables
    if way == WINDOW:
        return (*compiled(tt.window_totals, WINDOW_TOTALS)(t, batch.events, limits, values), 0)
    if way == RANK:
        compared = comparison_of(lowered)
        spec = ranks(compared, lowered, batch) if compared else None
        if spec is not None:
            ints, floats, status = compiled(rk.ranked_totals, RANKED_TOTALS)(t, batch.events, limits, spec)
            if status == rk.OK:
                return ints, floats, 0
    c = lowered.conditions
    ri, rf = initial_registers(lowered, aggregates)
    kernel = compiled(tt.graph_totals, GRAPH_TOTALS)
    ints, floats, dropped, status = kernel(t, batch.events, limits, values, c.check, c.bind, c.final, c.forbid, ri, rf)
    if status == tt.OVER_BUDGET:
        raise over_budget(budget)
    return ints, floats, int(dropped)


# --- by rank ---------------------------------------------------------------------------------------------------------

_COMPARISONS = {"<": rk.ABOVE, "<=": rk.ABOVE_OR_EQUAL, ">": rk.BELOW, ">=": rk.BELOW_OR_EQUAL}  # candidate op register
_MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def comparison_of(lowered: Lowered) -> Comparison | None:
    """The query as one closure compared by rank, if it is one."""
    automaton, placement = lowered.program.automaton, lowered.program.placement
    loops = [e for e in automaton.edges if e.loop >= 0]
    if len(loops) != 1 or loops[0].source != loops[0].target or any(placement.finals.values()):
        return None
    b = loops[0].source
    step = automaton.steps[b]
    if automaton.steps.count(step) != 1 or any(e.guards for e in automaton.edges if e.source == b):
        return None
    after = {e.target for e in automaton.edges if e.source == b and e.target != b}
    if any(e.source != b for e in automaton.edges if e.target in after):
        return None
    if any(checks for q, checks in placement.checks.items() if q != b and q not in after):
        return None
    read = [_compared(c, step, q) for q in (b, *sorted(after)) for c in placement.checks[q]]
    found = [r for r in read if r is not None]
    if not found or len(found) < len(read) or len({r.position for r in found}) < len(found):
        return None
    return _settled(b, found)


@dataclass(frozen=True, slots=True)
class _Compared:
    position: int
    op: str  # candidate op register
    candidate: ex.Expr
    element: ex.Expr
    register: str  # last, max, min


def _erased(expr: ex.Expr) -> ex.Expr:
    return ex.transform(expr, lambda n: ex.Attribute("", n.name) if isinstance(n, ex.Attribute) else n)


def _compared(check: Check, step: str, position: int) -> _Compared | None:
    """`b[i].v > b[i-1].v`, `b[i].v > max(b[..i-1].v)`, `c.v < max(b[].v)`, `c.v > b[last].v`, and turned around."""
    expr = check.expr
    if not isinstance(expr, ex.Compare) or expr.op not in _MIRROR or check.needs:
        return None
    for candidate, other, op in ((expr.left, expr.right, expr.op), (expr.right, expr.left, _MIRROR[expr.op])):
        picks = {(a.step, a.pick) for a in ex.attributes(candidate)}
        if len(picks) != 1 or any(isinstance(n, ex.Aggregate) for n in ex.walk(candidate)):
            continue
        ((_, pick),) = picks
        register, element = "last", other
        if isinstance(other, ex.Aggregate) and other.function in ("max", "min") and other.argument is not None:
            register, element = other.function, other.argument
        wanted = (Pick.PREVIOUS, Pick.EACH_BEFORE) if check.after_first else (Pick.LAST, Pick.EACH)
        own = {(a.step, a.pick) for a in ex.attributes(element)}
        if pick is Pick.CURRENT and own <= {(step, w) for w in wanted} and own:
            return _Compared(position, op, _erased(candidate), _erased(element), register)
    return None


def _settled(b: int, found: Sequence[_Compared]) -> Comparison | None:
    """One register must serve all: in a rising chain the last element is the largest, in a falling one the smallest."""
    if len({r.element for r in found}) > 1:
        return None
    takes = [r for r in found if r.position == b]
    leaves = [r for r in found if r.position != b]
    if any(r.candidate != r.element for r in takes) or len({r.candidate for r in leaves}) > 1:
        return None
    outside = leaves[0].candidate if leaves else None
    registers = {r.register for r in found} - {"last"}
    if takes:
        rising = takes[0].op in (">", ">=")
        if registers <= {"max" if rising else "min"}:
            by_position = {r.position: _COMPARISONS[r.op] for r in leaves}
            return Comparison(
                b, _COMPARISONS[takes[0].op], by_position, found[0].element, outside, largest=False, mirrored=False
            )
        return None
    mirrored = registers == {"min"}
    if len({r.register for r in found}) > 1:
        return None
    ops = {r.position: _COMPARISONS[_MIRROR[r.op] if mirrored else r.op] for r in leaves}
    return Comparison(b, rk.NONE, ops, found[0].element, outside, largest=bool(registers), mirrored=mirrored)


def ranks(compared: Comparison, lowered: Lowered, batch: Batch) -> rk.Ranked | None:
    """The comparison with the ranks of a batch; None if a value is NULL."""
    columns = {d.expr: d for d in lowered.program.derived}
    events, t = batch.events, lowered.program.tables

    def values(expr: ex.Expr) -> Any:
        d = columns[expr]
        return events.floats[d.slot] if d.dtype == "float" else events.ints[d.slot]

    bit = np.uint64(t.positions["step"][compared.position])
    inside = values(compared.element)
    elements = (events.bits >> bit) & np.uint64(1) != 0
    outside = inside if compared.outside is None else values(compared.outside)
    after = np.uint64(0)
    for q in compared.leave:
        after |= np.uint64(1) << np.uint64(t.positions["step"][q])
    followers = events.bits & after != 0
    if _has_null(inside[elements]) or _has_null(outside[followers]):
        return None
    both = np.concatenate([inside[elements], outside[followers]])
    distinct = np.unique(both)
    rank_in, rank_out = np.zeros(events.time.size, np.int64), np.zeros(events.time.size, np.int64)
    rank_in[elements] = np.searchsorted(distinct, inside[elements])
    rank_out[followers] = np.searchsorted(distinct, outside[followers])
    if compared.mirrored:
        rank_in, rank_out = distinct.size - 1 - rank_in, distinct.size - 1 - rank_out
    leave: I64 = np.array([compared.leave.get(int(e), rk.NONE) for e in t.edges["target"]], np.int64)
    size = max(int(distinct.size), 2)
    return rk.Ranked(compared.position, int(compared.largest), compared.take, leave, rank_in, rank_out, size)


def _has_null(values: Any) -> bool:
    return bool(np.isnan(values).any() if values.dtype.kind == "f" else (values == NULL_INT).any())


# --- values ----------------------------------------------------------------------------------------------------------


def values_of(bound: Bound, steps: Sequence[str], rows: I64, wanted: Sequence[ex.Expr], resolve: Any) -> Values:
    """The columns to sum, for every event of a batch."""
    n = rows.size
    ints, floats = np.zeros((len(wanted), n), np.int64), np.zeros((len(wanted), n))
    valid = np.zeros((len(wanted), n), np.uint8)
    bits = []
    for k, argument in enumerate(wanted):
        (step,) = ex.steps_of(argument)
        bits.append(steps.index(step))
        if isinstance(argument, ex.Attribute) and argument.name is None:
            valid[k] = 1
            continue
        column = evaluate(_erased(argument), resolve, bound.schema)
        column = pa.repeat(column, n) if isinstance(column, pa.Scalar) else column
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        valid[k] = np.asarray(column.is_valid())
        if pa.types.is_floating(column.type):
            floats[k] = np.asarray(column.fill_null(0.0))
        else:
            ints[k] = np.asarray(column.cast(pa.int64()).fill_null(0))
            floats[k] = ints[k]
    return Values(np.array(bits, np.int64), ints, floats, valid)
