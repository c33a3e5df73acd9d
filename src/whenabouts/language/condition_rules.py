"""Grammar rules of conditions and values: tokens in, expression nodes out.

Called bottom-up by the parser while it reads, so long chains need no recursion here. References are taken as written;
whether a step exists and has the shape the reference assumes is decided in check.py.
"""

from __future__ import annotations

from typing import NamedTuple

from lark import Token

from whenabouts.errors import QueryError, Span, UnsupportedError
from whenabouts.language import forms
from whenabouts.language.durations import unit_named
from whenabouts.language.forms import cover
from whenabouts.language.tokens import span_of
from whenabouts.plan.expressions import (
    Aggregate,
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
    Not,
    Pick,
)
from whenabouts.plan.render import RESERVED_WORDS

ELEMENTS_HINT = "b[i] is each element, b[i-1] the one before, b[1] the first, b[last] the last, b[] all of them"
CONSTANTS = {"TRUE": True, "FALSE": False, "NULL": None}


class Event(NamedTuple):
    """`a`, `b[i]`, `b[]`: a step, which of its events, and the last token."""

    step: Token
    pick: Pick
    last: Token


class Place(NamedTuple):
    """What stands between the brackets of `b[ ]`; `owner` is the step of `b.LEN`."""

    pick: Pick
    owner: Token | None = None


def number_value(token: Token) -> int | float:
    """An integer, or a float if the number has a fraction or an exponent."""
    return int(token) if token.isdigit() else float(token)


def _tokens(children: tuple[Token | Expr, ...]) -> set[str]:
    return {child.type for child in children if isinstance(child, Token)}


def _values(children: tuple[Token | Expr, ...]) -> tuple[Expr, ...]:
    return tuple(child for child in children if isinstance(child, Expr))


class ConditionRules:
    """Methods are named after the rules and aliases of sase.lark."""

    # ---- conditions

    def disjunction(self, *children: Token | Expr) -> Expr:
        return forms.any_true(_values(children), cover(children[0], children[-1]))

    def conjunction(self, *children: Token | Expr) -> Expr:
        return forms.all_true(_values(children), cover(children[0], children[-1]))

    def negated(self, mark: Token, operand: Expr) -> Expr:
        return Not(operand, span=cover(mark, operand))

    def compare(self, left: Expr, op: Token, right: Expr) -> Expr:
        return Compare(str(op), left, right, span=cover(left, right))

    def in_list(self, operand: Expr, *rest: Token | Expr) -> Expr:
        items = []
        for item in _values(rest):
            if not isinstance(item, Literal):
                hint = "write x = a OR x = b for values that are not constant"
                raise UnsupportedError("unsupported", "IN takes constants only", span=item.span, hint=hint)
            items.append(item)
        return In(operand, tuple(items), "NOT" in _tokens(rest), span=cover(operand, rest[-1]))

    def between(self, operand: Expr, *rest: Token | Expr) -> Expr:
        low, high = _values(rest)
        return Between(operand, low, high, "NOT" in _tokens(rest), span=cover(operand, high))

    def like(self, operand: Expr, *rest: Token | Expr) -> Expr:
        pattern = rest[-1]
        if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
            span = pattern.span if isinstance(pattern, Expr) else None
            raise QueryError("type-mismatch", "LIKE takes a quoted pattern", span=span, hint="a.name LIKE 'disk%'")
        return Like(operand, pattern.value, "NOT" in _tokens(rest), span=cover(operand, pattern))

    def is_null(self, operand: Expr, *rest: Token) -> Expr:
        return IsNull(operand, "NOT" in _tokens(rest), span=cover(operand, rest[-1]))

    # ---- values

    def arithmetic(self, left: Expr, op: Token, right: Expr) -> Expr:
        return Arithmetic(str(op), left, right, span=cover(left, right))

    def minus(self, mark: Token, operand: Expr) -> Expr:
        return forms.negative(operand, cover(mark, operand))

    def plus(self, _: Token, operand: Expr) -> Expr:
        return operand

    def bracketed(self, _: Token, inner: Expr, __: Token) -> Expr:
        return inner

    def number(self, token: Token) -> Expr:
        return Literal(number_value(token), span=span_of(token))

    def duration(self, amount: Token, unit: Token) -> Expr:
        canonical = unit_named(str(unit), span_of(unit), tuple(RESERVED_WORDS))
        return DurationLiteral(number_value(amount), canonical, span=cover(amount, unit))

    def text(self, token: Token) -> Expr:
        return Literal(str(token), span=span_of(token))

    def constant(self, token: Token) -> Expr:
        return Literal(CONSTANTS[token.type], span=span_of(token))

    def call(self, name: Token, *rest: Token | Expr) -> Expr:
        return forms.call(str(name), _values(rest), cover(name, rest[-1]))

    def call_all(self, name: Token, *rest: Token) -> Expr:
        span = cover(name, rest[-1])
        if name.lower() != "count":
            raise QueryError("syntax", f"{name}(*) has no meaning", span=span, hint="only count(*) takes a star")
        return Aggregate("count", None, span=span)

    def equivalence(self, *children: Token) -> Expr:
        names = tuple(Literal(str(t), span=span_of(t)) for t in children if t.type not in ("LSQB", "RSQB", "COMMA"))
        return Call(forms.EQUIVALENCE, names, span=cover(children[0], children[-1]))

    # ---- references to events

    def event_itself(self, event: Event) -> Expr:
        return Attribute(str(event.step), None, event.pick, span=cover(event.step, event.last))

    def attribute(self, event: Event, _: Token, column: Token) -> Expr:
        return Attribute(str(event.step), str(column), event.pick, span=cover(event.step, column))

    def attribute_list(self, event: Event, *rest: Token) -> Expr:
        columns = (t for t in rest if t.type in ("NAME", "QUOTED", "TICKED"))
        items = tuple(Attribute(str(event.step), str(c), event.pick, span=cover(event.step, c)) for c in columns)
        return Call(forms.EXPANSION, items, span=cover(event.step, rest[-1]))

    def column(self, token: Token) -> Token:
        return token

    def event(self, step: Token, *rest: Token | Place) -> Event:
        if not rest:
            return Event(step, Pick.CURRENT, step)
        last = rest[-1]
        place = next((r for r in rest if isinstance(r, Place)), Place(Pick.EACH))
        if place.owner is not None and place.owner != step:
            message, hint = f"{step}[ ] is indexed by the length of {place.owner}", f"{step}[last] is the last one"
            raise QueryError("wrong-reference", message, span=span_of(place.owner), hint=hint)
        return Event(step, place.pick, last if isinstance(last, Token) else step)

    def place(self, token: Token) -> Place:
        picks = {"i": Pick.CURRENT, "last": Pick.LAST, "1": Pick.FIRST}
        pick = picks.get(token.lower())
        if pick is None:
            if token.type == "NUMBER":
                raise _unsupported_place(f"element {token} of a closure cannot be named", span_of(token))
            raise QueryError("syntax", f"[{token}] is not an element", span=span_of(token), hint=ELEMENTS_HINT)
        return Place(pick)

    def place_offset(self, name: Token, op: Token, number: Token) -> Place:
        if name.lower() == "i" and op == "-" and number == "1":
            return Place(Pick.PREVIOUS)
        span = cover(name, number)
        if name.lower() == "i" and op == "+":
            raise _unsupported_place("a condition looks back, not ahead", span, "compare b[i] with b[i-1]")
        raise _unsupported_place(f"[{name}{op}{number}] is not an element", span)

    def place_length(self, step: Token, _: Token, word: Token) -> Place:
        if word.lower() != "len":
            message = f"{step}.{word} is not an element"
            raise QueryError("syntax", message, span=cover(step, word), hint=ELEMENTS_HINT)
        return Place(Pick.LAST, step)

    def place_range(self, *tokens: Token) -> Place:
        start = tokens[0] if tokens[0].type == "NUMBER" else None
        dots = 0 if start is None else 1
        end = "".join(tokens[dots + 1 :]).lower()
        picks = {"i-1": Pick.EACH_BEFORE, "i": Pick.EACH_UPTO, "last": Pick.EACH}
        if (start is not None and start != "1") or end not in picks:
            hint = "b[..i-1] are the elements before the current one, b[..i] those up to it, b[] all of them"
            raise _unsupported_place("this range of elements is not supported", cover(tokens[0], tokens[-1]), hint)
        return Place(picks[end])


def _unsupported_place(message: str, span: Span | None, hint: str = ELEMENTS_HINT) -> UnsupportedError:
    return UnsupportedError("unsupported", message, span=span, hint=hint)
