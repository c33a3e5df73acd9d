"""Which patterns can be matched over uncertain time, and which of them bind the same events in several orders.

Problem: a chain has one confidence, so it must not be found twice, and what spoils it must depend on the chain alone.
Idea: ask the automaton: under skip till next match a prefix must be explained in one way only, and no chain may be
explained in two. Signatures, however, may come about in several orders (AND, repeated groups): those are different
chains of one match, impossible together, so that their confidences add up.
"""

from __future__ import annotations

from collections import Counter

from whenabouts.errors import UnsupportedError
from whenabouts.plan.automaton import START, Automaton, ambiguous
from whenabouts.plan.bound import Bound
from whenabouts.plan.pattern import AllOf, Closure, Repeat, Step, Strategy, walk_pattern


def require_supported(bound: Bound, automaton: Automaton) -> None:
    """Refuse what has no single chain per match."""
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
    if bound.query.closure is Closure.SET and any(s.many for s in bound.steps.values()):
        raise UnsupportedError(
            "unsupported",
            "CLOSURE set is not matched yet",
            hint="leave it out: the orders of a closure are then matches of their own",
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
