"""Text -> tokens for the grammar in sase.lark.

Problem: hostile or mistyped text must end in a plain sentence at the right place, quickly. Idea: one regular expression
without backtracking cuts the text; size and bracket depth are checked here, before anything is built. The few places
where words depend on their neighbours are settled on the token list: `skip till any match` becomes one name, `95%` one
number, and words of the language are names after a dot and after AS. Invariant: linear time, no recursion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from lark import Token

from whenabouts.errors import QueryError, Span
from whenabouts.language.limits import MAX_BRACKETS, MAX_DIGITS, MAX_TEXT, MAX_TOKENS
from whenabouts.plan.render import IDENTIFIER, RESERVED_WORDS

PIECE = re.compile(
    r"""(?P<SPACE>\s+|--[^\n]*|//[^\n]*|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)
      | (?P<NUMBER>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
      | (?P<NAME>[^\W\d]\w*)
      | (?P<STRING>'[^']*(?:''[^']*)*')
      | (?P<QUOTED>"[^"]*(?:""[^"]*)*")
      | (?P<TICKED>`[^`]*(?:``[^`]*)*`)
      | (?P<SYMBOL>\.\.|<=|>=|<>|!=|==|&&|\|\||/(?!\*)|[-+*%=<>!~(){}\[\],.;|?∧∨¬≥≤≠∪×−])
    """,
    re.VERBOSE,
)
SYMBOLS = {
    **dict.fromkeys(("=", "=="), ("CMP", "=")),
    **dict.fromkeys(("!=", "<>", "≠"), ("CMP", "!=")),
    **dict.fromkeys(("<=", "≤"), ("CMP", "<=")),
    **dict.fromkeys((">=", "≥"), ("CMP", ">=")),
    **dict.fromkeys(("&&", "∧"), ("AND", "AND")),
    **dict.fromkeys(("||", "∨"), ("OR", "OR")),
    **dict.fromkeys(("!", "~", "¬"), ("BANG", "!")),
    **dict.fromkeys(("*", "×"), ("STAR", "*")),
    **dict.fromkeys(("-", "−"), ("MINUS", "-")),
    **{symbol: ("CMP", symbol) for symbol in "<>"},
    "∪": ("UNION", "UNION"),
    "+": ("PLUS", "+"),
    "/": ("SLASH", "/"),
    "%": ("PERCENT", "%"),
    "(": ("LPAR", "("),
    ")": ("RPAR", ")"),
    "[": ("LSQB", "["),
    "]": ("RSQB", "]"),
    "{": ("LBRACE", "{"),
    "}": ("RBRACE", "}"),
    ",": ("COMMA", ","),
    ".": ("DOT", "."),
    "..": ("DOTS", ".."),
    ";": ("SEMICOLON", ";"),
    "|": ("BAR", "|"),
    "?": ("QUESTION", "?"),
}
QUOTES = {"STRING": "'", "QUOTED": '"', "TICKED": "`"}
STRATEGY_WORDS = {
    ("skip", "till", "any", "match"): "skip_till_any_match",
    ("skip", "till", "next", "match"): "skip_till_next_match",
    ("strict", "contiguity"): "strict_contiguity",
    ("partition", "contiguity"): "partition_contiguity",
}
STRATEGY_STARTS = frozenset(words[0] for words in STRATEGY_WORDS)
OPERANDS = frozenset(("NAME", "NUMBER", "STRING", "QUOTED", "TICKED", "LPAR"))
UNCLEAR_OPERANDS = frozenset(("MINUS", "PLUS"))
SURROGATE = re.compile("[\ud800-\udfff]")


def span_of(token: Token) -> Span:
    """Where a token stands in the text."""
    return Span(token.start_pos or 0, token.end_pos or 0)


def tokenize(text: str) -> list[Token]:
    """All tokens of a query text."""
    if len(text) > MAX_TEXT:
        message = f"the query has {len(text):,} characters, at most {MAX_TEXT:,} are allowed"
        raise QueryError("limit", message)
    _check_characters(text)
    pieces = list(islice(_pieces(text), MAX_TOKENS + 1))
    if len(pieces) > MAX_TOKENS:
        message = f"the query has more than {MAX_TOKENS:,} words, numbers and signs"
        raise QueryError("limit", message, span=span_of(pieces[-1]))
    _check_brackets(pieces)
    return _keywords(_percentages(_strategies(pieces)))


def _check_characters(text: str) -> None:
    nul = text.find("\0")
    if nul >= 0:
        raise QueryError("syntax", "the query contains a NUL character", span=Span(nul, nul + 1))
    surrogate = SURROGATE.search(text)
    if surrogate is not None:
        message = "the query contains half of a character (a lone surrogate)"
        raise QueryError("syntax", message, span=Span(*surrogate.span()))


def _pieces(text: str) -> Iterator[Token]:
    position = 0
    while position < len(text):
        found = PIECE.match(text, position)
        if found is None:
            raise _unreadable(text, position)
        kind, value = str(found.lastgroup), str(found[0])
        position = found.end()
        if kind == "SPACE":
            continue
        if kind == "SYMBOL":
            kind, value = SYMBOLS[value]
        elif kind in QUOTES:
            quote = QUOTES[kind]
            value = value[1:-1].replace(quote * 2, quote)
        elif kind == "NUMBER" and len(value) > MAX_DIGITS:
            message = f"a number has {len(value):,} characters, at most {MAX_DIGITS} are allowed"
            raise QueryError("limit", message, span=Span(*found.span()))
        yield Token(kind, value, start_pos=found.start(), end_pos=position)


def _unreadable(text: str, position: int) -> QueryError:
    character = text[position]
    span = Span(position, position + 1)
    if character in QUOTES.values():
        hint = f"close it with {character}; inside it, {character * 2} stands for one"
        return QueryError("syntax", "the quoted text that starts here never ends", span=span, hint=hint)
    if text.startswith("/*", position):
        return QueryError("syntax", "the comment that starts here never ends", span=span, hint="close it with */")
    shown = f"‘{character}’ " if character.isprintable() else ""
    straight = "use straight quotes: 'text'" if character in "‘’“”„«»´" else None
    message = f"the character {shown}(U+{ord(character):04X}) has no meaning here"
    return QueryError("syntax", message, span=span, hint=straight)


def _strategies(tokens: list[Token]) -> list[Token]:
    """`skip till any match`, in any case and with any white space, becomes one name."""
    result: list[Token] = []
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token.type == "NAME" and token.lower() in STRATEGY_STARTS:
            for words, name in STRATEGY_WORDS.items():
                group = tokens[position : position + len(words)]
                if tuple(t.lower() for t in group if t.type == "NAME") == words:
                    token = _joined("NAME", name, group[0], group[-1])
                    position += len(words) - 1
                    break
        result.append(token)
        position += 1
    return result


def _percentages(tokens: list[Token]) -> list[Token]:
    """`95%` is the number 95 unless an operand follows; then `%` is the remainder."""
    result: list[Token] = []
    for position, token in enumerate(tokens):
        before = result[-1] if result else None
        touches = before is not None and before.type == "NUMBER" and before.end_pos == token.start_pos
        if token.type == "PERCENT" and touches and before is not None:
            after = tokens[position + 1] if position + 1 < len(tokens) else None
            if after is not None and after.type in UNCLEAR_OPERANDS:
                message = f"{before}% before {after} can be read as a percentage and as a remainder"
                hint = f"write {before} {after} … for the percentage, mod({before}, …) for the remainder"
                raise QueryError("syntax", message, span=Span(before.start_pos or 0, after.end_pos or 0), hint=hint)
            if after is None or after.type not in OPERANDS or _reserved(after):
                result[-1] = _joined("PERCENTAGE", str(before), before, token)
                continue
        result.append(token)
    return result


def _keywords(tokens: list[Token]) -> list[Token]:
    result: list[Token] = []
    for token in tokens:
        any_name_fits = bool(result) and result[-1].type in ("DOT", "AS")
        keyword = _reserved(token) and not any_name_fits
        result.append(_joined(token.upper(), str(token), token, token) if keyword else token)
    return result


def _reserved(token: Token) -> bool:
    return token.type == "NAME" and token.upper() in RESERVED_WORDS


def _joined(kind: str, value: str, first: Token, last: Token) -> Token:
    return Token(kind, value, start_pos=first.start_pos, end_pos=last.end_pos)


def _check_brackets(tokens: list[Token]) -> None:
    depth = 0
    for token in tokens:
        if token.type in ("LPAR", "LSQB", "LBRACE"):
            depth += 1
            if depth > MAX_BRACKETS:
                message = f"more than {MAX_BRACKETS} brackets are open here"
                raise QueryError("limit", message, span=span_of(token))
        elif token.type in ("RPAR", "RSQB", "RBRACE"):
            depth -= 1


def is_identifier(name: str) -> bool:
    """Whether a name can stand for a step: an identifier that is no word of the language."""
    return IDENTIFIER.fullmatch(name) is not None and name.upper() not in RESERVED_WORDS
