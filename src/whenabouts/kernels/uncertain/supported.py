"""Which patterns can be matched over uncertain time, and which of them bind the same events in several orders.

Problem: a chain has one confidence, so it must not be found twice, and what spoils it must depend on the chain alone.
Idea: ask the automaton: under skip till next match a prefix must be explained in one way only, and no chain may be
explained in two. Signatures, however, may come about in several orders (AND, repeated groups): those are different
chains of one match, impossible together, so that their confidences add up. CLOSURE set is defined for steps and
closures one after another (spec of imprecise time, section 1), and its regions are those of `Forbidders`: where it
depends on the instants within a group whether another event is relevant, there is no such region.
"""

from __future__ import annotations

from collections import Counter

from whenabouts.errors import UnsupportedError
from whenabouts.plan.automaton import START, Automaton, ambiguous
from whenabouts.plan.bound import Bound
from whenabouts.plan.expressions import steps_of
from whenabouts.plan.pattern import (
    Absent,
    AllOf,
    Closure,
    Pattern,
    Repeat,
    Sequence,
    Step,
    Strategy,
    walk_pattern,
)
from whenabouts.plan.placement import Placement


def require_supported(bound: Bound, placement: Placement) -> None:
    """Refuse what has no single chain per match."""
    automaton = placement.automaton
    if ambiguous(automaton):
        raise UnsupportedError(
            "unsupported",
            "over uncertain time no two ways through the pattern may bind the same steps in the same order",
            hint="give the steps of each alternative names of their own, or ask several queries",
        )
    ends = Counter(position for position, _ in automaton.finals)
    if bound.query.strategy is Strategy.NEXT and not _one_way_each(automaton):
        raise UnsupportedError(
            "unsupported",
            "over uncertain time skip_till_next_match needs a pattern in which each prefix is explained in one way",
            hint="write alternatives that begin with the same step as one: SEQ(A a, (B b | C c))",
        )
    if any(n > 1 for n in ends.values()):
        raise UnsupportedError(
            "unsupported", "over uncertain time a match may not end with one of several sets of absent parts",
            hint="ask two queries",
        )  # fmt: skip
    if unordered(bound):
        _require_sets(bound, placement)


def unordered(bound: Bound) -> bool:
    """Whether closures bind unordered groups."""
    return bound.query.closure is Closure.SET and any(s.many for s in bound.steps.values())


def _require_sets(bound: Bound, placement: Placement) -> None:
    """Refuse what CLOSURE set does not define."""
    for pattern in bound.query.patterns:
        _require_linear(pattern, counted=bound.query.strategy is Strategy.ANY)
    if bound.query.strategy is Strategy.NEXT:
        _require_timeless(bound, placement)


def _require_linear(pattern: Pattern, *, counted: bool) -> None:
    match pattern:
        case Sequence(parts):
            for part in parts:
                _require_linear(part, counted=counted)
        case Step() | Absent() | Repeat(Step(), 1, None):
            return
        case Repeat(Step(), low) if low > 0:
            if not counted:
                raise UnsupportedError(
                    "unsupported",
                    "skip_till_next_match takes all events it can: CLOSURE set has no counted closures there",
                    span=pattern.span,
                    hint="write + with a condition on count(b[].v), or skip_till_any_match",
                )
        case _:
            raise UnsupportedError(
                "unsupported",
                "CLOSURE set is defined for a sequence of steps, their closures and absent steps only",
                span=pattern.span,
                hint="leave it out: the orders of a closure are then matches of their own; or ask several queries",
            )


def _require_timeless(bound: Bound, placement: Placement) -> None:
    """Refuse conditions by which an event is relevant or not depending on how much of a group has happened."""
    automaton = placement.automaton
    for edge in automaton.edges:
        if edge.source == START:
            continue
        group, step = automaton.steps[edge.source], automaton.steps[edge.target]
        if group == step or not bound.steps[group].many:
            continue
        for check in placement.checks.get(edge.target, ()):
            if not check.needs and group in steps_of(check.expr):  # what it needs beside is bound later
                raise UnsupportedError(
                    "unsupported",
                    f"with CLOSURE set it is not known which of {group}[] have happened when {step} could be taken, "
                    "but this condition asks",
                    span=check.expr.span,
                    hint="use skip_till_any_match, leave CLOSURE set out, or read only steps before the closure",
                )


def _one_way_each(automaton: Automaton) -> bool:
    """Whether no two edges that leave one place bind the same step."""
    for p in range(START, len(automaton.steps)):
        ways = Counter((automaton.pattern[e.target], automaton.steps[e.target]) for e in automaton.outgoing(p))
        if any(n > 1 for n in ways.values()):
            return False
    return True


def several_orders(bound: Bound) -> bool:
    """Whether one signature can come about as several chains."""
    query = bound.query
    return len(query.patterns) > 1 or any(
        isinstance(node, AllOf) or (isinstance(node, Repeat) and not isinstance(node.part, Step))
        for pattern in query.patterns
        for node in walk_pattern(pattern)
    )
