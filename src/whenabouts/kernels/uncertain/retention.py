"""How long an event over uncertain time can still matter: when a stream may forget it.

Problem: keep as few events as possible, and never one that an unseen event could make part of a match, or that a match
not final yet depends on. Idea: an event that is at least the j-th of a match lies j - 1 ticks behind its first one, so
all of the match, and all regions it watches, end within upper + W - j. An event that forbids must stay as long as a
match that it makes less probable in some worlds and that lies behind it in others: one width of an event longer; in
front of a match, one window longer still.
Invariant: matching what is kept gives every match that is not final, unchanged. Reference: spec of imprecise time,
section 5: E5, with the forbidders of waiting matches kept among the events.
"""

from __future__ import annotations

import numpy as np

from whenabouts.kernels.program import I64, U64, Program
from whenabouts.plan.automaton import START, Automaton
from whenabouts.plan.bound import Bound
from whenabouts.plan.pattern import Strategy

ALWAYS = np.iinfo(np.int64).max


def kept_until(bound: Bound, program: Program, bits: U64, upper: I64, widest: int) -> I64:
    """For each event the greatest frontier at which it can still matter; ALWAYS without a window.

    `bits` are the steps it can be, `widest` is the most ticks of an event kept.
    """
    if bound.extent is None:
        return np.full(upper.size, ALWAYS)
    until = np.full(upper.size, np.iinfo(np.int64).min)
    selective = bound.query.strategy is Strategy.NEXT
    for bit, step in enumerate(program.steps):
        here = (bits >> np.uint64(bit)) & np.uint64(1) == 1
        reach = _reach(program.automaton, step, bound.extent.span + 1)
        if step not in program.automaton.steps or (selective and _follows(program.automaton, step)):
            reach += widest - 1
        until[here] = np.maximum(until[here], upper[here] + reach)
    return until


def _follows(automaton: Automaton, step: str) -> bool:
    """Whether events of the step are chosen after others, which makes those passed over matter."""
    return any(e.source != START and automaton.steps[e.target] == step for e in automaton.edges)


def _reach(automaton: Automaton, step: str, window: int) -> int:
    """How far behind an event of this step the matches end that begin before it, or that it forbids in front."""
    if step in automaton.steps:
        return window - min(d for p, d in _depths(automaton).items() if automaton.steps[p] == step)
    leading = {g for e in automaton.outgoing(START) for g in e.guards}
    in_front = any(step in chain for part, chain in enumerate(automaton.absents) if part in leading)
    return 2 * window - 2 if in_front else window - 1


def _depths(automaton: Automaton) -> dict[int, int]:
    """The least number of events up to and including each position."""
    depth: dict[int, int] = {}
    ahead, events = {e.target for e in automaton.outgoing(START)}, 1
    while ahead:
        depth |= dict.fromkeys(ahead, events)
        ahead, events = {e.target for p in ahead for e in automaton.outgoing(p)} - depth.keys(), events + 1
    return depth
