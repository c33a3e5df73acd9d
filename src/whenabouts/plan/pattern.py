"""The shape of a pattern and the whole query as immutable data.

A query is what a user wrote, no more: nothing is resolved against a table here. `language` produces it from text or
from the builder, `plan.render` prints it back, `plan.bind` checks it against a schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from whenabouts.errors import Span
from whenabouts.plan.expressions import Expr

DEFAULT_NAME = "match"


@dataclass(frozen=True, slots=True)
class Pattern:
    """Base of all pattern nodes."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Step(Pattern):
    """One named event of a type; type None is ANY."""

    type: str | None
    name: str


@dataclass(frozen=True, slots=True)
class Sequence(Pattern):
    """SEQ(...): parts in strictly increasing time."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Choice(Pattern):
    """(A a | B b): exactly one of the parts."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class AllOf(Pattern):
    """AND(A a, B b): all parts, in any order, not interleaved."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Repeat(Pattern):
    """Closure: the part `low` to `high` times in a row (high None: no bound). `+` is (1, None), `?` is (0, 1)."""

    part: Pattern
    low: int
    high: int | None


@dataclass(frozen=True, slots=True)
class Absent(Pattern):
    """!(C c) or !SEQ(C c, D d): no occurrence in this gap."""

    part: Pattern


class Strategy(StrEnum):
    """Event selection strategy (thesis 2.1.1), and `latest`."""

    STRICT = "strict_contiguity"
    PARTITION = "partition_contiguity"
    NEXT = "skip_till_next_match"
    ANY = "skip_till_any_match"
    LATEST = "latest"


class Closure(StrEnum):
    """How much a closure takes under the deterministic strategies; SET says what a closure is over uncertain time.

    SET: an unordered selection of events, all between the neighbouring steps, in any order and perhaps tied. Without
    it a closure is a sequence in strictly increasing time: several orders of the same events are several matches. Over
    exact time every closure is a sequence, and SET is refused.
    """

    MAXIMAL = "maximal"
    PREFIXES = "prefixes"
    SHORTEST = "shortest"
    SET = "set"


class Output(StrEnum):
    """One row per match, one row per start event, or totals over all matches."""

    EACH = "each"
    COLLAPSED = "collapsed"
    TOTAL = "total"


OWN_COLUMNS = {
    Output.EACH: ("match_id", "pattern", "start", "end", "confidence", "events", "op"),
    Output.COLLAPSED: ("match_id", "pattern", "start", "end", "confidence", "events", "op", "safe"),
    Output.TOTAL: ("pattern",),
}
UNCERTAIN_COLUMNS = ("confidence_kind", "confidence_error", "ranges", "final_at")  # of rows, over uncertain time


def own_columns(output: Output, *, exact: bool) -> tuple[str, ...]:
    """The columns every result has, whose names keys and RETURN items cannot have."""
    return OWN_COLUMNS[output] + (() if exact or output is Output.TOTAL else UNCERTAIN_COLUMNS)


@dataclass(frozen=True, slots=True)
class Window:
    """WITHIN amount [unit] [INCLUSIVE]. unit None: ticks of the clock; "event": number of events."""

    amount: int | float
    unit: str | None = None
    inclusive: bool = False
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Confidence:
    """CONFIDENCE >= least, or > least if `above`: rows of matches that are less probable are left out.

    The confidence of a match is the probability that its events are a match; over exact time it is 1.
    """

    least: float
    above: bool = False


@dataclass(frozen=True, slots=True)
class Measure:
    """One item of RETURN; the name is the alias or derived from the expression."""

    expr: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Query:
    """A whole query. `patterns` has more than one item for UNION; `where` holds the top-level conjuncts."""

    patterns: tuple[Pattern, ...]
    where: tuple[Expr, ...] = ()
    equivalence: tuple[str, ...] = ()  # [attr]: equal for all steps, absent ones included
    strategy: Strategy = Strategy.NEXT
    window: Window | None = None
    closure: Closure = Closure.MAXIMAL
    output: Output = Output.EACH
    measures: tuple[Measure, ...] = ()
    confidence: Confidence | None = None
    top: int | None = None  # TOP k BY CONFIDENCE: the k most confident rows of all keys, ties by match_id
    limit: int | None = None
    name: str = DEFAULT_NAME
    text: str | None = field(default=None, compare=False, repr=False)  # as written, for carets
    spans: Mapping[str, Span] = field(default_factory=dict, compare=False, repr=False)  # of clauses and [keys]


def parts_of(pattern: Pattern) -> tuple[Pattern, ...]:
    """The direct sub-patterns."""
    match pattern:
        case Sequence(parts) | Choice(parts) | AllOf(parts):
            return parts
        case Repeat(part) | Absent(part):
            return (part,)
        case _:
            return ()


def walk_pattern(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern and everything below it, parents first, in source order."""
    yield pattern
    for part in parts_of(pattern):
        yield from walk_pattern(part)


@dataclass(frozen=True, slots=True)
class StepInfo:
    """What a pattern says about one step name."""

    name: str
    type: str | None
    many: bool  # under a Repeat that allows more than one: referred to as b[]
    optional: bool  # some match may lack it
    absent: bool  # declared inside Absent
    span: Span | None


def steps_of_query(query: Query) -> dict[str, StepInfo]:
    """Every step by name, in order of first appearance; the same name in two alternatives is one step."""
    found: dict[str, StepInfo] = {}

    def visit(pattern: Pattern, *, many: bool, optional: bool, absent: bool) -> None:
        match pattern:
            case Step(type_, name):
                old = found.get(name)
                if old is not None:
                    many, optional = many or old.many, optional and old.optional
                found[name] = StepInfo(name, type_, many, optional, absent, old.span if old else pattern.span)
            case Repeat(part, low, high):
                visit(part, many=many or high is None or high > 1, optional=optional or low == 0, absent=absent)
            case Choice(parts):
                for part in parts:
                    visit(part, many=many, optional=optional or len(parts) > 1, absent=absent)
            case Absent(part):
                visit(part, many=many, optional=optional, absent=True)
            case _:
                for part in parts_of(pattern):
                    visit(part, many=many, optional=optional, absent=absent)

    for pattern in query.patterns:
        visit(pattern, many=False, optional=len(query.patterns) > 1, absent=False)
    return found
