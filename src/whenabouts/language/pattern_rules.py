"""Grammar rules of the PATTERN clause: tokens in, pattern nodes out.

Called bottom-up by the parser while it reads, so deep patterns need no recursion here. Only what a single form can know
is decided here; whether the whole pattern makes sense is decided in check.py.
"""

from __future__ import annotations

from typing import NamedTuple

from lark import Token

from whenabouts.errors import QueryError, Span
from whenabouts.language.forms import cover
from whenabouts.language.tokens import is_identifier, span_of
from whenabouts.plan.pattern import Absent, AllOf, Choice, Pattern, Repeat, Sequence, Step

QUANTIFIERS: dict[str, tuple[int, int | None]] = {"+": (1, None), "*": (0, None), "?": (0, 1)}


class Quantifier(NamedTuple):
    """How often, and the last token of it."""

    low: int
    high: int | None
    last: Token


class Variable(NamedTuple):
    """A step's name, and the last token of it (the bracket of `b[]`)."""

    name: Token
    last: Token


def whole_number(token: Token, what: str) -> int:
    """The value of a NUMBER token that must have no fraction."""
    if not token.isdigit():
        raise QueryError("syntax", f"{what} is a whole number, not {token}", span=span_of(token))
    return int(token)


class PatternRules:
    """Methods are named after the rules and aliases of sase.lark."""

    def union(self, *children: Token | Pattern) -> tuple[Pattern, ...]:
        return tuple(child for child in children if isinstance(child, Pattern))

    def absent(self, mark: Token, part: Pattern) -> Pattern:
        return Absent(part, span=cover(mark, part))

    def step(self, type_: Token, *rest: Quantifier | Variable) -> Pattern:
        quantifier = next((r for r in rest if isinstance(r, Quantifier)), None)
        variable = next((r for r in rest if isinstance(r, Variable)), None)
        span = cover(type_, rest[-1].last if rest else type_)
        event_type = None if type_.type == "ANY" else str(type_)
        name = str(variable.name) if variable is not None else _default_name(type_)
        step = Step(event_type, name, span=span)
        return step if quantifier is None else Repeat(step, quantifier.low, quantifier.high, span=span)

    def sequence(self, *children: Token | Pattern | Quantifier) -> Pattern:
        parts, span = _parts(children)
        return _repeated(Sequence(parts, span=span), children[-1])

    def all_of(self, *children: Token | Pattern | Quantifier) -> Pattern:
        parts, span = _parts(children)
        return _repeated(AllOf(parts, span=span), children[-1])

    def group(self, *children: Token | Pattern | Quantifier) -> Pattern:
        parts, span = _parts(children)
        return _repeated(parts[0] if len(parts) == 1 else Choice(parts, span=span), children[-1])

    def type(self, token: Token) -> Token:
        return token

    def variable(self, name: Token, *brackets: Token) -> Variable:
        return Variable(name, brackets[-1] if brackets else name)

    def quantifier(self, *tokens: Token) -> Quantifier:
        if tokens[0] in QUANTIFIERS:
            return Quantifier(*QUANTIFIERS[tokens[0]], tokens[-1])
        numbers = [whole_number(t, "a quantifier") for t in tokens if t.type == "NUMBER"]
        open_end = len(numbers) == 1 and any(t.type == "COMMA" for t in tokens)
        return Quantifier(numbers[0], None if open_end else numbers[-1], tokens[-1])


def _parts(children: tuple[Token | Pattern | Quantifier, ...]) -> tuple[tuple[Pattern, ...], Span | None]:
    """The sub-patterns, and the span from the first token to the closing bracket."""
    tokens = [child for child in children if isinstance(child, Token)]
    return tuple(child for child in children if isinstance(child, Pattern)), cover(tokens[0], tokens[-1])


def _repeated(part: Pattern, last: Token | Pattern | Quantifier) -> Pattern:
    if not isinstance(last, Quantifier):
        return part
    span = None if part.span is None else Span(part.span.start, last.last.end_pos or part.span.end)
    return Repeat(part, last.low, last.high, span=span)


def _default_name(type_: Token) -> str:
    if type_.type == "ANY":
        raise QueryError("syntax", "this step needs a name", span=span_of(type_), hint="write ANY e")
    name = type_.lower()
    if not is_identifier(name):
        raise QueryError("syntax", "this step needs a name", span=span_of(type_), hint=f'write "{type_[:40]}" a')
    return name
