"""The compiled form of a query: plain arrays a kernel can read, and a listing a person can read.

A program holds the automaton as edge tables sorted by source and by target, the guards of each edge, which registers
stay alive after each position, and what the event columns mean. It knows nothing of strategies' loops or of strings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from whenabouts.events.schema import DType
from whenabouts.plan.automaton import START, Automaton
from whenabouts.plan.expressions import Expr
from whenabouts.plan.placement import Placement
from whenabouts.plan.render import render_expr

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]
F64 = npt.NDArray[np.float64]

NULL_INT = np.iinfo(np.int64).min  # NULL in integer columns; NaN is NULL in float columns


POSITION = np.dtype(
    [
        ("step", "i8"),  # index of the step = bit of the event masks
        ("many", "i8"),  # 1 if the step is a closure
        ("pattern", "i8"),  # which pattern of a UNION; each is followed on its own
        ("out_lo", "i8"),  # edges leaving
        ("out_hi", "i8"),
        ("in_lo", "i8"),  # edges entering: into[in_lo:in_hi]
        ("in_hi", "i8"),
        ("final_lo", "i8"),  # accepting ways
        ("final_hi", "i8"),
        ("checked", "i8"),  # number of the condition evaluated on entering, or -1
        ("final_checked", "i8"),  # number of the condition evaluated on accepting, or -1
        ("remembers", "i8"),  # 1 if partial matches here differ by more than their last event
        ("out_mask", "u8"),  # bits of the steps that can follow
    ]
)
EDGE = np.dtype([(n, "i8") for n in ("target", "source", "loop", "guard_lo", "guard_hi", "asks", "plain")])
WAY = np.dtype([("lo", "i8"), ("hi", "i8")])  # an accepting way: final_guards[lo:hi]
PART = np.dtype([("lo", "i8"), ("hi", "i8"), ("late", "i8")])  # an absent part: its chain of bits; judged at the end?

Records = npt.NDArray[np.void]


class Tables(NamedTuple):
    """The automaton for the kernels. The last position record stands for START; edges are sorted by source."""

    positions: Records
    edges: Records  # asks: 1 if a guard's absent step reads the match; plain: 1 if its guards are single absent events
    into: I64
    guards: I64
    ways: Records
    final_guards: I64
    parts: Records
    absent_bits: I64
    asks: I64  # bit -> number of the condition under which an absent step forbids, or -1
    live_int: I64  # (position, register) -> 1 if read later and not implied by the last event
    live_float: I64
    remembering: I64  # [1] if some position remembers more than its event


@dataclass(frozen=True, slots=True)
class Derived:
    """A column the kernel reads: an expression over one event, evaluated before matching."""

    expr: Expr  # attributes with step ""
    dtype: DType
    slot: int  # row in the integer or the float matrix


@dataclass(frozen=True, slots=True)
class Registers:
    """What a partial match remembers: event indices (int registers), running aggregates (int and float registers)."""

    ints: tuple[
        tuple[str, str, int], ...
    ]  # (kind, step, column slot): last, first, count, icount, sum, wraps, min, max
    floats: tuple[tuple[str, str, int], ...]  # sum, min, max, or a registered aggregate's state

    def int_slot(self, kind: str, step: str, column: int = -1) -> int:
        return self.ints.index((kind, step, column))

    def float_slot(self, kind: str, step: str, column: int = -1) -> int:
        return self.floats.index((kind, step, column))


@dataclass(frozen=True, slots=True)
class Program:
    """Everything the kernels need to know about a query."""

    placement: Placement
    steps: tuple[str, ...]  # bit order: bound steps first, then absent ones
    bound_steps: int
    tables: Tables
    derived: tuple[Derived, ...]
    registers: Registers

    @property
    def automaton(self) -> Automaton:
        return self.placement.automaton

    @property
    def conditions(self) -> int:
        """How many conditions read more than one event."""
        p = self.placement
        return sum(len(c) for group in (p.checks, p.finals, p.forbids) for c in group.values())

    def dump(self) -> str:
        """The program as text, one line per position and edge."""
        automaton, lines = self.automaton, []
        for p in range(START, len(automaton.steps)):
            name = "start" if p == START else f"{p} {automaton.steps[p]}"
            lines.append(name + self._final_note(p))
            checks = self.placement.checks.get(p, ())
            lines += [f"    check {render_expr(c.expr)}" + (" (not for the first)" * c.after_first) for c in checks]
            for e in automaton.outgoing(p):
                loop = f"  further element of closure {e.loop}" if e.loop >= 0 else ""
                guard = f"  without absent {', '.join(map(str, e.guards))}" if e.guards else ""
                lines.append(f"    -> {e.target} {automaton.steps[e.target]}{loop}{guard}")
            lines += [f"    at the end {render_expr(c.expr)}" for c in self.placement.finals.get(p, ())]
        return "\n".join(lines)

    def _final_note(self, p: int) -> str:
        ways = [g for q, g in self.automaton.finals if q == p]
        if not ways:
            return ""
        guarded = [f"without absent {', '.join(map(str, g))}" for g in ways if g]
        return "  [end" + (f" {' or '.join(guarded)}" if guarded else "") + "]"
