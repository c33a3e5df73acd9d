"""Random queries with random events, reproducible from a seed: what every matcher is compared on.

`random_case(seed, limits)` makes a query and a table; `Limits` says how large and of which kinds. The query passes the
checks of the language. Columns are id, type, time (integers, with ties), k (the key), v (integers) and w (multiples of
one half); with `nulls` k, v and w have NULLs and w has NaN. Steps are named a, b, c, … in source order; their types are
drawn independently, so that steps compete for events. Sums of floats are exact in any order. Most tables contain events
in the order the pattern wants, among others; rows are not in time order.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from whenabouts.errors import QueryError
from whenabouts.events.schema import Column, DType, Schema
from whenabouts.kernels.reference.ways import endings, residual_of, ways
from whenabouts.language.bind import bind
from whenabouts.language.check import check
from whenabouts.plan.bound import Bound
from whenabouts.plan.expressions import (
    Aggregate,
    Arithmetic,
    Attribute,
    Compare,
    Expr,
    IsNull,
    Literal,
    Not,
    Or,
    Pick,
)
from whenabouts.plan.pattern import (
    Absent,
    AllOf,
    Choice,
    Closure,
    Measure,
    Output,
    Pattern,
    Query,
    Repeat,
    Sequence,
    Step,
    Strategy,
    Window,
    parts_of,
    steps_of_query,
)

COLUMNS = {
    "id": DType.INT,
    "type": DType.STRING,
    "time": DType.INT,
    "k": DType.INT,
    "v": DType.INT,
    "w": DType.FLOAT,
}
SCHEMA = Schema({name: Column(name, dtype) for name, dtype in COLUMNS.items()})


@dataclass(frozen=True)
class Limits:
    """How large a case may be, and of what it is made."""

    events: int = 8
    parts: int = 4  # of the top-level sequence, absent ones included
    depth: int = 2  # how deep closures, alternatives and AND nest
    types: int = 3  # fewer types: more steps compete for an event
    keys: int = 3
    values: int = 4  # v is 0 … values - 1
    time: int = 12  # 0 … time; less than `events`: more ties
    conditions: int = 3
    strategies: tuple[Strategy, ...] = tuple(Strategy)
    closures: tuple[Closure, ...] = (Closure.MAXIMAL, Closure.PREFIXES, Closure.SHORTEST)  # those of exact time
    windows: tuple[str, ...] = ("none", "ticks", "inclusive", "events")
    groups: bool = True  # closures of sequences and alternatives
    any_order: bool = True
    negation: bool = True
    wildcards: bool = True  # ANY
    union: bool = True
    nulls: bool = True
    ambiguous: bool = True  # the same events can be bound to the same steps in several ways
    measures: int = 0  # RETURN items at most
    outputs: tuple[Output, ...] = (Output.EACH,)


@dataclass(frozen=True)
class Case:
    """A query over a table."""

    seed: int
    query: Query
    events: list[dict] = field(repr=False)
    schema: Schema = field(default=SCHEMA, repr=False)

    @property
    def bound(self) -> Bound:
        return bind(self.query, self.schema)


def random_case(seed: int, limits: Limits = Limits()) -> Case:
    """The case of this seed."""
    rng = random.Random(seed)
    queries = iter(lambda: _Queries(rng, limits).query(), None)
    query = next(query for query in queries if allowed(query))
    return Case(seed, query, _events(rng, limits, query))


def streams(case: Case, count: int, limits: Limits = Limits()) -> list[list[dict]]:
    """More streams for the query of a case, its own first."""
    rng = random.Random(case.seed)
    return [case.events, *(_events(rng, limits, case.query) for _ in range(count - 1))]


def allowed(query: Query) -> bool:
    """Whether the language gives the query a meaning."""
    try:
        check(query)
    except QueryError:
        return False
    return True


def _events(rng: random.Random, limits: Limits, query: Query) -> list[dict]:
    null = 0.12 if limits.nulls and rng.random() < 0.4 else 0.0
    keys = rng.choice([1, rng.randint(1, limits.keys)])

    def maybe(value):
        return None if rng.random() < null else value

    def half():
        return float("nan") if rng.random() < null else rng.randrange(2 * limits.values) / 2

    types = _types(rng, limits, query)
    span = rng.choice([limits.time, limits.time // 2, len(types) // 2])
    times = sorted(rng.randint(0, span) for _ in types)
    if rng.random() < 0.4 and len(types) <= limits.time:  # no ties
        times = sorted(rng.sample(range(limits.time + 1), len(types)))
    rows = [
        {
            "type": kind,
            "time": time,
            "k": maybe(rng.randrange(keys)),
            "v": maybe(rng.randrange(limits.values)),
            "w": maybe(half()),
        }
        for kind, time in zip(types, times, strict=True)
    ]
    rng.shuffle(rows)
    return [{"id": 100 + n, **row} for n, row in enumerate(rows)]


def _types(rng: random.Random, limits: Limits, query: Query) -> list[str | None]:
    """Types in time order: as the pattern wants them, or at random, or the first mixed with the second."""
    size = rng.randint(0, 1) if rng.random() < 0.02 else rng.randint(min(4, limits.events), limits.events)
    known = LETTERS[: limits.types + (rng.random() < 0.3)].upper()  # sometimes a type that no step has
    if rng.random() < 0.15:
        wanted = []
    else:
        wanted = _word(rng, rng.choice(query.patterns), known)
        while len(wanted) > size:
            del wanted[rng.randrange(len(wanted))]
    for _ in range(size - len(wanted)):
        wanted.insert(rng.randint(0, len(wanted)), rng.choice(known))
    return wanted


def _word(rng: random.Random, pattern: Pattern, known: str) -> list[str]:
    """The types of some events that match the shape of a pattern; now and then with what must be absent."""
    match pattern:
        case Step(kind, _):
            return [kind or rng.choice(known)]
        case Absent(part):
            return _word(rng, part, known) if rng.random() < 0.3 else []
        case Choice(parts):
            parts = (rng.choice(parts),)
        case AllOf(parts):
            parts = tuple(rng.sample(parts, len(parts)))
        case Repeat(part, low, high):
            parts = (part,) * rng.randint(low, low + 2 if high is None else high)
        case _:
            parts = parts_of(pattern)
    return [kind for part in parts for kind in _word(rng, part, known)]


LETTERS = "abcdefghijklmnopqrstuvwxyz"
OPS = ["=", "!=", "!=", "<", "<=", "<=", "<=", ">", ">=", ">=", ">="]
AGGREGATES = ["count", "sum", "avg", "min", "max", "first", "last"]


@dataclass
class _Queries:
    rng: random.Random
    limits: Limits
    named: int = 0

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def query(self) -> Query:
        patterns = (self.pattern(),)
        if self.limits.union and self.chance(0.08):
            longer = Sequence((patterns[0], Repeat(self.step(), 0, 1)))  # some matches come from both
            patterns += (longer if self.chance(0.4) else self.pattern(),)
        query = Query(
            patterns,
            equivalence=("k",) if self.chance(0.35) else (),
            strategy=self.rng.choice(self.limits.strategies),
            window=self.window(),
            closure=self.rng.choice(self.limits.closures),
            output=self.rng.choice(self.limits.outputs),
        )
        conditions = _Conditions(self.rng, self.limits, query)
        return replace(query, where=conditions.conditions(), measures=conditions.measures())

    def window(self) -> Window | None:
        long, short = self.limits.time, max(self.limits.time // 3, 1)
        match self.rng.choice(self.limits.windows):
            case "ticks":
                return Window(self.rng.randint(short, long + 1))
            case "inclusive":
                return Window(self.rng.randint(short, long), inclusive=True)
            case "events":
                return Window(self.rng.randint(1, self.limits.events), unit="event")
        return None

    # -- patterns

    def pattern(self) -> Pattern:
        while True:
            start = self.named
            pattern = self.sequence(self.rng.randint(1, self.limits.parts), self.limits.depth)
            if self.named - start <= 8 and allowed(Query((pattern,))) and (self.limits.ambiguous or clear(pattern)):
                return pattern
            self.named = start

    def sequence(self, size: int, depth: int) -> Pattern:
        parts = [self.absent() if self.absence(size) else self.part(depth) for _ in range(size)]
        return parts[0] if size == 1 and not isinstance(parts[0], Absent) else Sequence(tuple(parts))

    def absence(self, size: int) -> bool:
        return self.limits.negation and size > 1 and self.chance(0.15)

    def step(self) -> Step:
        self.named += 1
        name = f"s{self.named}" if self.named > len(LETTERS) else LETTERS[self.named - 1]
        if self.limits.wildcards and self.chance(0.06):
            return Step(None, name)
        return Step(self.rng.choice("ABCDEFGH"[: self.limits.types]), name)

    def absent(self) -> Absent:
        kind = self.rng.choice([None, None, None, Sequence, Choice])
        return Absent(self.step() if kind is None else kind((self.step(), self.step())))

    def part(self, depth: int) -> Pattern:
        kinds = ["step"] * 8 + ["closure"] * 6
        if depth > 0 and self.limits.groups:
            kinds += ["group"] * 2 + ["choice"] * 2
        if depth > 0 and self.limits.any_order:
            kinds += ["any order"]
        match self.rng.choice(kinds):
            case "closure":
                return self.repeat(self.step())
            case "group":
                return self.repeat(self.sequence(self.rng.randint(1, 2), depth - 1))
            case "choice":
                return Choice(self.alternatives(depth - 1))
            case "any order":
                return AllOf(tuple(self.part(depth - 1) for _ in range(self.rng.randint(2, 3))))
        return self.step()

    def alternatives(self, depth: int) -> tuple[Pattern, ...]:
        """Two or three; a later one may use a step of an earlier one."""
        parts = [self.sequence(self.rng.randint(1, 2), depth) for _ in range(self.rng.randint(2, 3))]
        if self.limits.ambiguous and self.chance(0.15) and isinstance(parts[0], Step):
            parts[1] = Sequence((parts[0], parts[1]))
        return tuple(parts)

    def repeat(self, part: Pattern) -> Repeat:
        counts = [(1, None)] * 4 + [(0, None)] * 2 + [(0, 1)] * 2 + [(2, 2), (1, 2), (2, None), (0, 2), (2, 3)]
        return Repeat(part, *self.rng.choice(counts))


@dataclass
class _Conditions:
    """Random conjuncts over the steps of a query."""

    rng: random.Random
    limits: Limits
    query: Query

    def __post_init__(self) -> None:
        self.steps = steps_of_query(self.query)
        self.bound = [s for s, info in self.steps.items() if not info.absent]
        self.many = [s for s in self.bound if self.steps[s].many]

    def conditions(self) -> tuple[Expr, ...]:
        return tuple(self.condition() for _ in range(self.rng.randint(0, self.limits.conditions)))

    def condition(self) -> Expr:
        kinds = [self.of_one, self.of_one, self.of_two, self.of_two]
        if self.many:
            kinds += [self.of_elements, self.of_elements, self.of_group, self.of_group]
        found = self.rng.choice(kinds)()
        match self.rng.randrange(20):
            case 0:
                return Not(found)
            case 1:
                return Or((found, self.of_one()))
        return found

    def column(self) -> str:
        return self.rng.choice(["v", "v", "w", "k"])

    def operator(self) -> str:
        return self.rng.choice(OPS)

    def number(self) -> Literal:
        return Literal(self.rng.randrange(self.limits.values))

    def of_one(self) -> Expr:
        attribute = Attribute(self.rng.choice(list(self.steps)), self.column())
        if self.chance(0.1):
            return IsNull(attribute, negated=self.chance(0.5))
        return Compare(self.operator(), attribute, self.number())

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def of_two(self) -> Expr:
        """An event, or each element, against another step's, or something about another step's group."""
        left = Attribute(self.rng.choice(list(self.steps)), self.column())
        others = [s for s in self.bound if s != left.step]
        if not others:
            return self.of_one()
        name = self.rng.choice(others)
        right: Expr = Attribute(name, left.name)
        if name in self.many:
            last, first = (Attribute(name, left.name, pick) for pick in (Pick.LAST, Pick.FIRST))
            element = [] if left.step in self.many else [right, right]
            right = self.rng.choice([*element, last, first, self.aggregate(name, Pick.EACH)])
        if self.chance(0.2):
            right = Arithmetic(self.rng.choice("+-"), right, self.number())
        return Compare(self.operator(), left, right)

    def of_elements(self) -> Expr:
        """An element against those before it."""
        name, column = self.rng.choice(self.many), self.column()
        match self.rng.randrange(5):
            case 0:
                right: Expr = Attribute(name, column, Pick.FIRST)
            case 1:
                right = self.aggregate(name, Pick.EACH_BEFORE)
            case 2:
                return Compare(self.operator(), self.aggregate(name, Pick.EACH_UPTO), self.number())
            case _:
                right = Attribute(name, column, Pick.PREVIOUS)
        return Compare(self.operator(), Attribute(name, column), right)

    def of_group(self) -> Expr:
        """The complete group."""
        name = self.rng.choice(self.many)
        last = Attribute(name, self.column(), Pick.LAST)
        left = self.rng.choice([self.aggregate(name, Pick.EACH), self.aggregate(name, Pick.EACH), last])
        right = self.rng.choice([self.number(), self.number(), Attribute(name, self.column())])
        return Compare(self.operator(), left, right)

    def aggregate(self, name: str, pick: Pick) -> Aggregate:
        function = self.rng.choice(AGGREGATES)
        column = None if function == "count" and self.chance(0.5) else self.rng.choice(["v", "w"])
        return Aggregate(function, Attribute(name, column, pick))

    def measures(self) -> tuple[Measure, ...]:
        if self.query.output is Output.COLLAPSED:
            return ()
        item = self.total if self.query.output is Output.TOTAL else self.item
        least = 1 if self.query.output is Output.TOTAL else 0
        count = self.rng.randint(least, max(self.limits.measures, least))
        return tuple(Measure(item(), f"m{n}") for n in range(count))

    def item(self) -> Expr:
        name = self.rng.choice(self.bound)
        if name not in self.many:
            found: Expr = Attribute(name, self.column())
            return Arithmetic(self.rng.choice("+-*/%"), found, self.number()) if self.chance(0.3) else found
        pick = self.rng.choice([Pick.EACH, Pick.FIRST, Pick.LAST])
        return self.rng.choice([Attribute(name, self.column(), pick), self.aggregate(name, Pick.EACH)])

    def total(self) -> Expr:
        function = self.rng.choice(["count", "sum", "avg", "min", "max"])
        name = self.rng.choice(self.bound)
        pick = Pick.EACH if name in self.many else Pick.CURRENT
        return Aggregate(function, None if function == "count" else Attribute(name, self.rng.choice("vw"), pick))


def clear(pattern: Pattern) -> bool:
    """Whether the same events can be bound to the same steps in one way only, whatever came before."""
    seen, stack = set(), [residual_of(pattern, Closure.MAXIMAL)]
    while stack:
        residual = stack.pop()
        found = ways(residual)
        if len({way.step for way in found}) < len(found) or len(endings(residual)) > 1:
            return False
        stack += {way.rest for way in found} - seen
        seen |= {way.rest for way in found}
    return True
