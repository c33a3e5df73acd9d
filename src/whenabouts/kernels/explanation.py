"""EXPLAIN: what will happen, in the words of the plan."""

from __future__ import annotations

from whenabouts.kernels.batch import Batch, needs_all_events
from whenabouts.kernels.counting import LISTING, way_of_counting
from whenabouts.kernels.lower import Lowered
from whenabouts.kernels.run import Budget, remembers
from whenabouts.kernels.uncertain import explanation as uncertain
from whenabouts.kernels.uncertain.run import Order
from whenabouts.plan.bound import Bound
from whenabouts.plan.expressions import Aggregate
from whenabouts.plan.pattern import Output, Strategy
from whenabouts.plan.render import render, render_expr


def explanation(
    bound: Bound,
    lowered: Lowered,
    budget: Budget,
    *,
    merge: bool,
    order: Order | None = None,
    batch: Batch | None = None,
) -> str:
    """The plan as indented text: query, partitioning, filters, method with its reason, bounds, program, warnings.

    Over uncertain time the method depends on the order of evaluation, and that on the data, if a batch is given.
    """
    program = lowered.program
    if bound.schema.roles.exact:
        methods, held = method(bound, lowered, merge=merge), memory(bound, budget)
    else:
        methods, held = uncertain.method(bound, lowered, order, batch), uncertain.memory(budget, order)
    filters = [
        f"  {step} ({bound.steps[step].type or 'ANY'}): "
        + (" AND ".join(render_expr(f) for f in conditions) or "type only")
        for step, conditions in program.placement.filters.items()
    ]
    all_needed = needs_all_events(bound)
    sections = [
        ("query", render(bound.query).splitlines()),
        ("key", [f"  {', '.join(bound.key)}" if bound.key else "  none: all events are one stream"]),
        ("events", ["  all of a key are read" if all_needed else "  only relevant ones are kept", *filters]),
        ("columns", [f"  {render_expr(d.expr)} as {d.dtype.value}" for d in program.derived] or ["  none"]),
        ("method", [f"  {line}" for line in methods]),
        ("memory", [f"  {held}"]),
        ("program", [f"  {line}" for line in program.dump().splitlines()]),
        ("warnings", [f"  {w}" for w in bound.warnings]),
    ]  # fmt: skip
    return "\n".join(f"{title}\n" + "\n".join(lines) for title, lines in sections if lines)


def method(bound: Bound, lowered: Lowered, *, merge: bool) -> list[str]:
    """Which loop matches, and why."""
    lines = []
    if bound.query.output is Output.TOTAL:
        columns = {m.expr.argument for m in bound.query.measures if isinstance(m.expr, Aggregate)} - {None}
        way = way_of_counting(bound, lowered, merge=merge, columns=len(columns))
        return [f"count without listing: {way}" if way != LISTING else "list the matches and add up"]
    if bound.query.output is Output.COLLAPSED:
        return [
            "mark the events of each start's window that can take part; conditions between events are not looked at"
        ]
    if bound.query.strategy is not Strategy.ANY:
        lines.append(f"follow each start on its own ({bound.query.strategy.value})")
    elif remembers(lowered):
        lines.append("match graph per start: conditions remember more than the previous event")
    else:
        lines.append("one match graph shared by all starts of a key: conditions read at most the previous event")
    if merge:
        lines.append("equal matches are merged: several ways through the pattern bind the same steps")
    return lines


def memory(bound: Bound, budget: Budget) -> str:
    """What bounds the memory of a key."""
    then = "then the start is dropped and counted" if budget.drop else "then the query fails"
    at_once = f"at most {budget.partial:,} partial matches at once, {then}"
    if bound.extent is None:
        return f"no window: a key's relevant events are held to the end of the input; {at_once}"
    unit = "events" if bound.extent.events else "ticks"
    return f"a key's relevant events within {bound.extent.span} {unit} are held; {at_once}"
