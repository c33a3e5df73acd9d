"""Random queries over events of uncertain time, reproducible from a seed: what matchers of uncertain time compare on.

`random_uncertain_case(seed, limits)` makes a query text and a table; `Limits` says how large and of which kinds, and
`PROFILES` names useful limits. A pattern is a sequence of slots: single steps, closures, absent steps, and, where asked
for, optional steps, counted closures, alternatives and AND. Columns are id, type, lower, upper, pmf (masses of lower …
upper, or None: uniform), k (the key) and v (integers). Masses are eighths, hence exact as floats; they may be zero
inside (holes) and at the ends. A table has at most `worlds` possible worlds, and rows are not in time order.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field, replace
from fractions import Fraction

from whenabouts.errors import QueryError
from whenabouts.events.schema import Column, DType, Roles, Schema
from whenabouts.language.bind import bind
from whenabouts.language.sase import parse
from whenabouts.plan.bound import Bound

COLUMNS = {
    "id": DType.INT,
    "type": DType.STRING,
    "lower": DType.INT,
    "upper": DType.INT,
    "k": DType.INT,
    "v": DType.INT,
}
SCHEMA = Schema({name: Column(name, dtype) for name, dtype in COLUMNS.items()}, Roles(lower="lower", upper="upper"))
EIGHTHS = 8
NAMES = "abcdefghijklm"


@dataclass(frozen=True)
class Limits:
    """How large a case may be, and of what it is made."""

    events: int = 7
    worlds: int = 5_000
    width: int = 5  # instants of an event, holes included
    time: int = 9  # 0 … time
    parts: int = 4  # slots of the pattern, absent ones included
    types: int = 3  # fewer: more steps compete for an event
    keys: int = 1
    values: int = 3
    conditions: int = 2
    strategies: tuple[str, ...] = ("skip_till_any_match", "skip_till_next_match")
    windows: tuple[str, ...] = ("ticks", "ticks", "ticks", "inclusive", "none")
    slots: tuple[str, ...] = ("step", "step", "closure", "absent")
    ordered: bool = True  # conditions may read the order within a closure
    pmfs: bool = True  # other than uniform
    holes: bool = True


LINEAR = Limits()
PROFILES = {
    "any": Limits(strategies=("skip_till_any_match",), slots=("step",)),
    "next": Limits(strategies=("skip_till_next_match",), slots=("step",)),
    "shared classes": Limits(slots=("step",), types=1),
    "any closures": Limits(strategies=("skip_till_any_match",), slots=("step", "closure")),
    "next closures": Limits(strategies=("skip_till_next_match",), slots=("step", "closure"), types=2),
    "negation": Limits(slots=("step", "step", "absent"), conditions=1),
    "linear": LINEAR,
    "unordered": Limits(ordered=False),
    "keys": Limits(keys=2, parts=3),
    "hole-free": Limits(holes=False),
    "wide": Limits(width=10, time=16),
    "nested": Limits(slots=("step", "step", "optional", "star", "counted", "choice", "and", "absent")),
}


@dataclass(frozen=True)
class Slot:
    """One part of the sequence: its kind, and (type, name) of the steps in it."""

    kind: str
    steps: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        typed = [f"{kind} {name}" for kind, name in self.steps]
        (kind, name), *_ = self.steps
        return {
            "step": f"{kind} {name}",
            "closure": f"{kind}+ {name}[]",
            "star": f"{kind}* {name}[]",
            "counted": f"{kind}{{2}} {name}[]",
            "optional": f"{kind}? {name}",
            "absent": f"!({kind} {name})",
            "choice": f"({' | '.join(typed)})",
            "and": f"AND({', '.join(typed)})",
        }[self.kind]

    @property
    def many(self) -> bool:
        return self.kind in ("closure", "star", "counted")


@dataclass(frozen=True)
class Term:
    """What one side of a condition reads of a step: its own v, the previous element's, or an aggregate of the group."""

    name: str
    many: bool
    reads: str = "own"

    def __str__(self) -> str:
        if self.reads == "own":
            return f"{self.name}[i].v" if self.many else f"{self.name}.v"
        return f"{self.name}[i-1].v" if self.reads == "previous" else f"{self.reads}({self.name}[].v)"


@dataclass(frozen=True)
class Condition:
    left: Term
    op: str
    right: Term | int

    def __str__(self) -> str:
        return f"{self.left} {self.op} {self.right}"


@dataclass(frozen=True)
class UncertainCase:
    """A query over a table, and what its text was made of."""

    seed: int
    slots: tuple[Slot, ...]
    conditions: tuple[Condition, ...]
    keyed: bool
    strategy: str
    window: tuple[int, str] | None  # amount, INCLUSIVE or nothing
    events: list[dict] = field(repr=False)

    @property
    def text(self) -> str:
        where = [*map(str, self.conditions), self.strategy]
        within = "" if self.window is None else f" WITHIN {self.window[0]} {self.window[1]}".rstrip()
        key = "[k] AND " if self.keyed else ""
        return f"PATTERN SEQ({', '.join(s.text for s in self.slots)}) WHERE {key}{' AND '.join(where)}{within}"

    @property
    def bound(self) -> Bound:
        return bind(parse(self.text), SCHEMA)

    @property
    def pmfs(self) -> list[dict[int, Fraction]]:
        return pmfs_of(self.events)

    @property
    def linear(self) -> bool:
        return all(slot.kind in ("step", "closure", "absent") for slot in self.slots)


def pmfs_of(events: list[dict]) -> list[dict[int, Fraction]]:
    """The exact distributions of the rows: positive masses only."""
    return [pmf_of(event["lower"], event["upper"], event["pmf"]) for event in events]


def pmf_of(lower: int, upper: int, masses: list[float] | None) -> dict[int, Fraction]:
    """The masses of lower … upper, uniform if there are none given."""
    instants = range(lower, upper + 1)
    if masses is None:
        return dict.fromkeys(instants, Fraction(1, len(instants)))
    return {t: Fraction(mass) for t, mass in zip(instants, masses, strict=True) if mass > 0}


def random_uncertain_case(seed: int, limits: Limits = LINEAR) -> UncertainCase:
    """The case of this seed."""
    rng = random.Random(seed)
    while True:
        case = _case(rng, limits, seed)
        try:
            parse(case.text)
        except QueryError:  # a pattern that could match nothing
            continue
        return case


def redrawn(case: UncertainCase, number: int, limits: Limits) -> UncertainCase:
    """The same query over another table: compiling a query takes longer than most comparisons."""
    rng = random.Random(f"{case.seed}, {number}")
    return replace(case, events=_events(rng, limits, case.slots))


def _case(rng: random.Random, limits: Limits, seed: int) -> UncertainCase:
    slots = _slots(rng, limits)
    count = rng.choice([0, rng.randint(0, limits.conditions)])
    conditions = tuple(_condition(rng, limits, slots) for _ in range(count))
    kind = rng.choice(limits.windows)
    amount = rng.randint(max(limits.time // 3, 1), limits.time + 1)
    window = None if kind == "none" else (amount, "INCLUSIVE" if kind == "inclusive" else "")
    keyed = limits.keys > 1 and rng.random() < 0.8
    return UncertainCase(
        seed, slots, conditions, keyed, rng.choice(limits.strategies), window, _events(rng, limits, slots)
    )


# ------------------------------------------------------------------------------------------------------ patterns


def _slots(rng: random.Random, limits: Limits) -> tuple[Slot, ...]:
    names = iter(NAMES)
    kinds = [rng.choice(limits.slots) for _ in range(rng.randint(min(2, limits.parts), limits.parts))]
    if all(kind == "absent" for kind in kinds):
        kinds[rng.randrange(len(kinds))] = "step"
    types = "ABCDEFGH"[: limits.types]
    ordered = rng.random() < 0.5  # each step with a type of its own, as far as there are enough

    def steps(place: int, count: int):
        for n in range(count):
            yield types[(place + n) % len(types)] if ordered else rng.choice(types), next(names)

    return tuple(Slot(kind, tuple(steps(n, 2 if kind in ("choice", "and") else 1))) for n, kind in enumerate(kinds))


def _condition(rng: random.Random, limits: Limits, slots: tuple[Slot, ...]) -> Condition:
    """Two terms, not both of absent steps, or a term and a number."""
    op, number = rng.choice(["<=", ">=", "!=", "="]), rng.randrange(limits.values)
    slot = rng.choice(slots)
    _, name = rng.choice(slot.steps)
    left = Term(name, slot.many)
    if slot.many and rng.random() < 0.6:
        if limits.ordered and rng.random() < 0.5:
            return Condition(left, rng.choice(["<", "<=", ">=", "!="]), Term(name, many=True, reads="previous"))
        left = Term(name, many=True, reads=rng.choice(["sum", "max", "min", "count"]))
    others = [(s, n) for s in slots for _, n in s.steps if n != name and s.kind != "absent"]
    if slot.kind == "absent":
        others = [(s, n) for s, n in others if not s.many]
    if not others or rng.random() < 0.35:
        return Condition(left, op, number)
    other, name = rng.choice(others)
    return Condition(left, rng.choice(["<=", ">=", "!="]), Term(name, other.many))


# -------------------------------------------------------------------------------------------------------- events


def _events(rng: random.Random, limits: Limits, slots: tuple[Slot, ...]) -> list[dict]:
    """Mostly in the order the pattern wants, closely enough to overlap; some events at random among them."""
    wanted = [kind for slot in slots for kind, _ in slot.steps if slot.kind != "absent" or rng.random() < 0.5]
    types = "ABCDEFGH"[: limits.types]
    count = rng.randint(min(4, limits.events), limits.events)
    while len(wanted) < count:
        wanted.insert(rng.randint(0, len(wanted)), rng.choice(types))
    while len(wanted) > count:
        del wanted[rng.randrange(len(wanted))]
    centres = sorted(rng.randint(0, limits.time) for _ in wanted)
    rows = [{"type": kind, **_time(rng, limits, centre)} for kind, centre in zip(wanted, centres, strict=True)]
    while math.prod(len(pmf) for pmf in pmfs_of(rows)) > limits.worlds:
        widest = max(rows, key=lambda row: row["upper"] - row["lower"])
        widest.update(_time(rng, limits, widest["lower"], widest["upper"] - widest["lower"]))
    rng.shuffle(rows)
    return [
        {"id": 100 + n, **row, "k": rng.randrange(limits.keys), "v": rng.randrange(limits.values)}
        for n, row in enumerate(rows)
    ]


def _time(rng: random.Random, limits: Limits, centre: int, width: int | None = None) -> dict:
    """An interval around a centre with a distribution."""
    width = rng.choice([1, *range(1, limits.width + 1)]) if width is None else max(width, 1)
    lower = max(centre - rng.randrange(width), 0)
    masses = _masses(rng, width, holes=limits.holes) if limits.pmfs and rng.random() < 0.5 else None
    return {"lower": lower, "upper": lower + width - 1, "pmf": masses}


def _masses(rng: random.Random, width: int, *, holes: bool) -> list[float]:
    """Eighths that add up to 1."""
    least = 0 if holes or width > EIGHTHS else 1
    counts = [least] * width
    allowed = [n for n in range(width) if rng.random() < 0.7] if holes else list(range(width))
    for _ in range(EIGHTHS - sum(counts)):
        counts[rng.choice(allowed or [0])] += 1
    return [count / EIGHTHS for count in counts]
