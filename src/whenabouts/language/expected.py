"""Syntax errors in plain words: what was found, what would fit, and what was probably meant.

The parser's tables give the set of terminals that fit; groups of terminals that always come together are named by what
they begin (a value, a step, a clause). Hints are a list of (test, sentence), the first that applies is shown.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import NamedTuple

from lark import Token

from whenabouts.errors import QueryError, Span
from whenabouts.language.assembly import CLAUSES
from whenabouts.language.tokens import STRATEGY_STARTS, STRATEGY_WORDS, SYMBOLS, span_of
from whenabouts.plan.render import RESERVED_WORDS

# (all of these fit, how that is called, what it covers), most telling first
GROUPS: tuple[tuple[frozenset[str], str, frozenset[str]], ...] = tuple(
    (frozenset(needed.split()), phrase, frozenset(covered.split()))
    for needed, phrase, covered in (
        ("SEQ ANY BANG", "a step such as A a or SEQ( … )", "SEQ ANY AND BANG NOT LPAR NAME STRING QUOTED TICKED"),
        ("SEQ ANY", "a step such as A a or SEQ( … )", "SEQ ANY AND LPAR NAME STRING QUOTED TICKED"),
        (
            "NUMBER NAME LPAR NOT",
            "a condition or value",
            "NUMBER PERCENTAGE NAME LPAR NOT BANG STRING QUOTED MINUS PLUS TRUE FALSE NULL LSQB",
        ),
        (
            "NUMBER NAME LPAR MINUS",
            "a value",
            "NUMBER PERCENTAGE NAME LPAR STRING QUOTED MINUS PLUS TRUE FALSE NULL LSQB",
        ),
        ("NUMBER DOTS NAME", "an element such as i, i-1, 1 or last", "NUMBER DOTS NAME"),
        ("NAME QUOTED TICKED STRING ANY", "an event type", "NAME QUOTED TICKED STRING ANY"),
        ("NAME QUOTED TICKED", "a name", "NAME QUOTED TICKED"),
        ("PLUS STAR QUESTION", "a quantifier (+ * ? {2,4})", "PLUS STAR QUESTION LBRACE"),
        ("CMP PLUS STAR", "an operator", "CMP PLUS MINUS STAR SLASH PERCENT IN BETWEEN LIKE IS NOT"),
        ("PLUS STAR PERCENT", "an operator", "PLUS MINUS STAR SLASH PERCENT"),
        ("IN BETWEEN LIKE", "IN, BETWEEN or LIKE", "IN BETWEEN LIKE"),
        ("WHERE WITHIN", f"a clause ({', '.join(CLAUSES)})", " ".join(CLAUSES)),
        ("AND OR", "AND, OR", "AND OR"),
        ("NUMBER", "a number", "NUMBER"),
        ("CMP", "> or >=", "CMP"),  # behind CONFIDENCE; everywhere else it is one of the operators
    )
)
SIGN_WORDS = {kind: f"'{sign}'" for sign, (kind, _) in SYMBOLS.items() if kind not in ("CMP", "AND", "OR", "UNION")}
CLOSE = 0.66  # two of three letters in their order: SQE for SEQ
UNSAID = frozenset(("SEMICOLON", "BANG", "LBRACE"))
ENDS_NAME = frozenset(("COMMA", "RPAR", "BAR", "LSQB"))
CLOSING = {"LPAR": ")", "LSQB": "]", "LBRACE": "}"}


class Place(NamedTuple):
    """A token that does not fit, with everything before it and all that would."""

    tokens: list[Token]
    position: int
    accepted: set[str]

    @property
    def found(self) -> Token | None:
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    @property
    def before(self) -> Token | None:
        return self.tokens[self.position - 1] if self.position else None


def explain(tokens: list[Token], position: int, accepted: set[str]) -> QueryError:
    """The error for a token (or the end of the text) that does not fit."""
    place = Place(tokens, position, accepted)
    end = (tokens[-1].end_pos or 0) if tokens else 0
    span = Span(end, end + 1) if place.found is None else span_of(place.found)
    listed = _listed(accepted, name="a unit of time" if _behind(place) == "NUMBER" else "a name")
    message = f"{_found(place.found)} does not fit here: expected {listed}"
    return QueryError("syntax", message, span=span, hint=_hint(place))


def _found(token: Token | None) -> str:
    if token is None:
        return "the end of the query"
    if token.type in ("STRING", "QUOTED", "TICKED"):
        return f"the quoted text {str(token)[:40]!r}"
    if token.type == "PERCENTAGE":
        return f"{token}%"
    return f"{token.type} ({token})" if token.type in RESERVED_WORDS and token != token.type else str(token)[:60]


def _listed(accepted: set[str], name: str) -> str:
    left = set(accepted)
    phrases = []
    for needed, phrase, covered in GROUPS:
        if needed <= left:
            phrases.append(phrase)
            left -= covered
    left = left - UNSAID if phrases else left
    words = SIGN_WORDS | {"NAME": name}
    phrases += [words.get(kind, kind) for kind in sorted(left - {"$END"})]
    phrases += ["the end of the query"] if "$END" in left else []
    return phrases[0] if len(phrases) == 1 else ", ".join(phrases[:-1]) + " or " + phrases[-1]


# ---------------------------------------------------------------- hints


def _reserved(place: Place) -> str | None:
    found = place.found
    if found is None or found.type not in RESERVED_WORDS or "NAME" not in place.accepted:
        return None
    after = [token.type for token in place.tokens[place.position + 1 : place.position + 3]]
    if found.type in CLAUSES and not any(
        kind in ENDS_NAME for kind in (after[1:] if after[:1] == ["NAME"] else after[:1])
    ):
        return None
    if "QUOTED" in place.accepted:
        return f'{found.type} is a word of the language; as a name, write it in quotes: "{found}"'
    return f"{found.type} is a word of the language; choose another name"


def _misspelt(place: Place) -> str | None:
    words = sorted(place.accepted & RESERVED_WORDS)
    if place.found is None or place.found.type != "NAME":
        return None
    near = difflib.get_close_matches(place.found[:40].upper(), words, n=1, cutoff=0.6)
    return f"did you mean {near[0]}?" if near else None


def _misspelt_before(place: Place) -> str | None:
    """`SEQUENCE(A a)` and `PATTERN A a WERE a.v > 1`: the odd word is read as a name, what follows does not fit."""
    if place.found is None or (place.found.type != "LPAR" and "NAME" in place.accepted and _behind(place) != "NAME"):
        return None
    words = {"SEQUENCE": "SEQ", "ALL": "AND"} | {w: w for w in ("SEQ", *CLAUSES)}
    for before in reversed(place.tokens[max(0, place.position - 2) : place.position]):
        near = difflib.get_close_matches(before[:40].upper(), words, n=1, cutoff=CLOSE) if before.type == "NAME" else []
        if near:
            return f"did you mean {words[near[0]]} instead of {before}?"
    return None


def _half_strategy(place: Place) -> str | None:
    before = place.before
    if before is None or before.type != "NAME" or before.lower() not in STRATEGY_STARTS:
        return None
    return "the strategies are " + ", ".join(" ".join(words) for words in STRATEGY_WORDS) + ", latest"


def _unclosed(place: Place) -> str | None:
    if place.found is not None and place.found.type not in CLAUSES:
        return None
    opened: list[Token] = []
    for token in place.tokens[: place.position]:
        if token.type in CLOSING:
            opened.append(token)
        elif token.type in ("RPAR", "RSQB", "RBRACE") and opened:
            opened.pop()
    return f"a {opened[-1]} is still open; close it with {CLOSING[opened[-1].type]}" if opened else None


def _kind(place: Place) -> str:
    return "$END" if place.found is None else place.found.type


def _next(place: Place) -> str:
    return place.tokens[place.position + 1].type if place.position + 1 < len(place.tokens) else ""


def _behind(place: Place) -> str:
    return "" if place.before is None else place.before.type


HINTS: tuple[tuple[Callable[[Place], bool], str], ...] = (
    (lambda p: _kind(p) == "PERCENTAGE" and _behind(p) == "CMP", "95% is the number 95; write 0.95"),
    (
        lambda p: _kind(p) == "CONFIDENCE" and _next(p) == "CMP" and "NAME" in p.accepted,
        "CONFIDENCE is a clause of its own, behind the others: WHERE a.v > 1 WITHIN 10 CONFIDENCE >= 0.9",
    ),
    (lambda p: p.position == 0, "a query starts with PATTERN: PATTERN SEQ(A a, B b) WITHIN 10"),
    (lambda p: _kind(p) == "COMMA" and "BAR" in p.accepted, "a list of steps needs SEQ( … ) or AND( … )"),
    (lambda p: _kind(p) == "BAR" and "UNION" in p.accepted, "alternatives stand in brackets: (A a | B b)"),
    (lambda p: _kind(p) == "OR" and "BAR" in p.accepted, "alternatives are written (A a | B b)"),
    (
        lambda p: _kind(p) in ("PLUS", "STAR", "QUESTION", "LBRACE") and _behind(p) in ("NAME", "RSQB"),
        "a quantifier stands behind the type: B+ b[]",
    ),
    (lambda p: _kind(p) == "CMP" and "AND" in p.accepted, "write a.v < b.v AND b.v < c.v"),
    (
        lambda p: _kind(p) == "DOT" and "NUMBER" in (_behind(p), _next(p)),
        "a number needs a digit on both sides of the point: 0.5",
    ),
    (lambda p: _kind(p) == "RPAR" and _behind(p) == "COMMA", "leave out the comma before )"),
)


def _hint(place: Place) -> str | None:
    for special in (_half_strategy, _reserved, _unclosed, _misspelt, _misspelt_before):
        hint = special(place)
        if hint is not None:
            return hint
    return next((sentence for applies, sentence in HINTS if applies(place)), None)
