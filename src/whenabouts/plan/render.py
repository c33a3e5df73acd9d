"""Plan -> text: the canonical spelling of patterns, expressions and queries.

Problem: EXPLAIN, errors, golden tests and the builder need one spelling of a query. Idea: print with as few brackets as
precedence allows, clauses in a fixed order, defaults left out. Invariant: `parse(render(query)) == query` for every
query that passed the shape checks, hence `render(parse(text))` is stable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from whenabouts.plan.expressions import (
    Aggregate,
    And,
    Arithmetic,
    Attribute,
    Between,
    Call,
    Compare,
    DurationLiteral,
    Expr,
    In,
    IsNull,
    Like,
    Literal,
    Negate,
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
    steps_of_query,
)

CLAUSE_WORDS = frozenset(
    ("PATTERN", "SEQ", "ANY", "UNION", "WHERE", "WITHIN", "CLOSURE", "RETURN", "COLLAPSED", "TOTAL", "LIMIT", "AS")
)
CONFIDENCE_WORDS = frozenset(("CONFIDENCE", "TOP", "BY"))
CONDITION_WORDS = frozenset(("AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "IS", "NULL", "TRUE", "FALSE"))
RESERVED_WORDS = CLAUSE_WORDS | CONFIDENCE_WORDS | CONDITION_WORDS
IDENTIFIER = re.compile(r"[^\W\d]\w*")

# How tightly an expression binds; an operand that binds less tightly than its place asks for gets brackets.
OR, AND, NOT, PREDICATE, SUM, TERM, UNARY, PRIMARY = range(1, 9)

ELEMENT = {
    Pick.CURRENT: "[i]",
    Pick.PREVIOUS: "[i-1]",
    Pick.FIRST: "[1]",
    Pick.LAST: "[last]",
    Pick.EACH: "[]",
    Pick.EACH_BEFORE: "[..i-1]",
    Pick.EACH_UPTO: "[..i]",
}
QUANTIFIERS = {(1, None): "+", (0, None): "*", (0, 1): "?"}


def render(query: Query) -> str:
    """The canonical text of a query, one clause per line."""
    closures = frozenset(name for name, info in steps_of_query(query).items() if info.many and not info.absent)
    lines = ["PATTERN " + " UNION ".join(render_pattern(p) for p in query.patterns)]
    conditions = _conditions(query, closures)
    if conditions:
        lines.append("WHERE " + " AND ".join(conditions))
    if query.window is not None:
        lines.append(f"WITHIN {render_window(query.window)}")
    if query.closure is not Closure.MAXIMAL:
        lines.append(f"CLOSURE {query.closure}")
    if query.confidence is not None:
        lines.append(f"CONFIDENCE {'>' if query.confidence.above else '>='} {query.confidence.least!r}")
    items = ", ".join(_measure(m, closures) for m in query.measures)
    keyword = {Output.EACH: "", Output.COLLAPSED: "COLLAPSED", Output.TOTAL: "TOTAL "}[query.output]
    if keyword or items:
        lines.append(f"RETURN {keyword}{items}")
    if query.top is not None:
        lines.append(f"TOP {query.top} BY CONFIDENCE")
    if query.limit is not None:
        lines.append(f"LIMIT {query.limit}")
    return "\n".join(lines)


def _conditions(query: Query, closures: frozenset[str]) -> list[str]:
    conditions = [f"[{quote_word(name)}]" for name in query.equivalence]
    strategy = [] if query.strategy is Strategy.NEXT else [str(query.strategy)]
    alone = len(query.where) == 1 and not conditions and not strategy
    conditions += [_Text(closures).at(0 if alone else NOT, condition) for condition in query.where]
    return conditions + strategy


def render_window(window: Window) -> str:
    """The extent as it stands behind WITHIN."""
    unit = "" if window.unit is None else f" {_unit(window.unit, window.amount)}"
    return f"{window.amount!r}{unit}{' INCLUSIVE' if window.inclusive else ''}"


def _measure(measure: Measure, closures: frozenset[str]) -> str:
    text = render_expr(measure.expr, closures)
    return text if measure.name == derived_name(measure.expr) else f"{text} AS {quote_name(measure.name)}"


# ---------------------------------------------------------------- patterns


def render_pattern(pattern: Pattern) -> str:
    """The canonical text of one pattern node."""
    match pattern:
        case Step(type_, name):
            return f"{render_type(type_)} {name}"
        case Sequence(parts):
            return f"SEQ({', '.join(map(render_pattern, parts))})"
        case AllOf(parts):
            return f"AND({', '.join(map(render_pattern, parts))})"
        case Choice(parts):
            return f"({' | '.join(map(render_pattern, parts))})"
        case Repeat(part, low, high):
            return _repeat(part, low, high)
        case Absent(part):
            return f"!{_bracketed(part)}"
        case _:
            raise AssertionError(f"not a pattern: {pattern!r}")


def _repeat(part: Pattern, low: int, high: int | None) -> str:
    quantifier = QUANTIFIERS.get((low, high))
    if quantifier is None:
        quantifier = f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"
    if isinstance(part, Step):
        many = "[]" if high is None or high > 1 else ""
        return f"{render_type(part.type)}{quantifier} {part.name}{many}"
    return _bracketed(part) + quantifier


def _bracketed(part: Pattern) -> str:
    text = render_pattern(part)
    return text if isinstance(part, Sequence | AllOf | Choice) else f"({text})"


def render_type(type_: str | None) -> str:
    """An event type as it stands in a pattern."""
    return "ANY" if type_ is None else quote_word(type_)


def quote_word(name: str) -> str:
    """A type or key column: quoted when it is not an identifier or is a word of the language."""
    return f'"{_doubled(name)}"' if name.upper() in RESERVED_WORDS else quote_name(name)


def quote_name(name: str) -> str:
    """A name in a place where words of the language are names, too: after a dot and after AS."""
    return name if IDENTIFIER.fullmatch(name) else f'"{_doubled(name)}"'


def _doubled(name: str) -> str:
    return name.replace('"', '""')


# ---------------------------------------------------------------- expressions


def render_expr(expr: Expr, closures: Iterable[str] = ()) -> str:
    """The canonical text of an expression; single elements of `closures` are written `b[i].v`."""
    return _Text(frozenset(closures)).at(0, expr)


class _Text:
    """Prints expressions; one rule per node kind, each giving the text and how tightly it binds."""

    def __init__(self, closures: frozenset[str]) -> None:
        self.closures = closures

    def at(self, least: int, expr: Expr) -> str:
        text, binding = RULES[type(expr)](self, expr)
        return text if binding >= least else f"({text})"

    def listed(self, items: Iterable[Expr]) -> str:
        return ", ".join(self.at(0, item) for item in items)

    def literal(self, expr: Literal) -> tuple[str, int]:
        value = expr.value
        if value is None or isinstance(value, bool):
            return {None: "NULL", True: "TRUE", False: "FALSE"}[value], PRIMARY
        if isinstance(value, str):
            return "'" + value.replace("'", "''") + "'", PRIMARY
        text = repr(value)
        return text, UNARY if text.startswith("-") else PRIMARY

    def duration(self, expr: DurationLiteral) -> tuple[str, int]:
        return f"{expr.amount!r} {_unit(expr.unit, expr.amount)}", PRIMARY

    def attribute(self, expr: Attribute) -> tuple[str, int]:
        plain = expr.pick is Pick.CURRENT and expr.step not in self.closures
        event = expr.step + ("" if plain else ELEMENT[expr.pick])
        return (event if expr.name is None else f"{event}.{quote_name(expr.name)}"), PRIMARY

    def aggregate(self, expr: Aggregate) -> tuple[str, int]:
        return f"{expr.function}({'*' if expr.argument is None else self.at(0, expr.argument)})", PRIMARY

    def call(self, expr: Call) -> tuple[str, int]:
        return f"{expr.function}({self.listed(expr.arguments)})", PRIMARY

    def arithmetic(self, expr: Arithmetic) -> tuple[str, int]:
        level = SUM if expr.op in "+-" else TERM
        return f"{self.at(level, expr.left)} {expr.op} {self.at(level + 1, expr.right)}", level

    def negate(self, expr: Negate) -> tuple[str, int]:
        return f"-{self.at(PRIMARY, expr.operand)}", UNARY  # two minus signs would start a comment

    def compare(self, expr: Compare) -> tuple[str, int]:
        return f"{self.at(SUM, expr.left)} {expr.op} {self.at(SUM, expr.right)}", PREDICATE

    def conjunction(self, expr: And) -> tuple[str, int]:
        return " AND ".join(self.at(NOT, item) for item in expr.items), AND

    def disjunction(self, expr: Or) -> tuple[str, int]:
        return " OR ".join(self.at(AND, item) for item in expr.items), OR

    def negation(self, expr: Not) -> tuple[str, int]:
        return f"NOT {self.at(NOT, expr.operand)}", NOT

    def in_list(self, expr: In) -> tuple[str, int]:
        return f"{self.operand(expr, 'IN')} ({self.listed(expr.items)})", PREDICATE

    def between(self, expr: Between) -> tuple[str, int]:
        limits = f"{self.at(SUM, expr.low)} AND {self.at(SUM, expr.high)}"
        return f"{self.operand(expr, 'BETWEEN')} {limits}", PREDICATE

    def like(self, expr: Like) -> tuple[str, int]:
        return f"{self.operand(expr, 'LIKE')} {self.at(0, Literal(expr.pattern))}", PREDICATE

    def is_null(self, expr: IsNull) -> tuple[str, int]:
        return f"{self.at(SUM, expr.operand)} IS {'NOT ' if expr.negated else ''}NULL", PREDICATE

    def operand(self, expr: In | Between | Like, keyword: str) -> str:
        return f"{self.at(SUM, expr.operand)} {'NOT ' if expr.negated else ''}{keyword}"


RULES: dict[type[Expr], Callable[[_Text, Any], tuple[str, int]]] = {
    Literal: _Text.literal,
    DurationLiteral: _Text.duration,
    Attribute: _Text.attribute,
    Aggregate: _Text.aggregate,
    Call: _Text.call,
    Arithmetic: _Text.arithmetic,
    Negate: _Text.negate,
    Compare: _Text.compare,
    And: _Text.conjunction,
    Or: _Text.disjunction,
    Not: _Text.negation,
    In: _Text.in_list,
    Between: _Text.between,
    Like: _Text.like,
    IsNull: _Text.is_null,
}


def _unit(unit: str, amount: float) -> str:
    if unit == "event":
        return "EVENTS"
    return unit if amount == 1 or unit in {"ns", "us", "ms"} else unit + "s"


# ---------------------------------------------------------------- names of result columns

OPERATOR_WORDS = {"+": "plus", "-": "minus", "*": "times", "/": "per", "%": "mod"}
PICK_WORDS = {Pick.FIRST: "first", Pick.LAST: "last"}
MAX_DERIVED_NAME = 63


def derived_name(expr: Expr) -> str | None:
    """The result column of a RETURN item without AS: `a.v` gives a_v, `avg(b[].v)` avg_b_v; None: it needs an AS."""
    words = _name_words(expr)
    name = "_".join(words) if words else ""
    return name if 0 < len(name) <= MAX_DERIVED_NAME else None


def _name_words(expr: Expr) -> list[str] | None:
    match expr:
        case Attribute(step, name, pick):
            return [word for word in (step, PICK_WORDS.get(pick), name) if word is not None]
        case Aggregate(function, None):
            return [function]
        case Aggregate(function, argument) if argument is not None:
            return _joined([function], argument)
        case Call(function, arguments):
            return _joined([function], *arguments)
        case Arithmetic(op, left, right):
            first = _joined([], left)
            return None if first is None else _joined([*first, OPERATOR_WORDS[op]], right)
        case Literal(value) if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return [str(value)]
        case _:
            return None


def _joined(words: list[str], *parts: Expr) -> list[str] | None:
    for part in parts:
        more = _name_words(part)
        if more is None:
            return None
        words = words + more
    return words
