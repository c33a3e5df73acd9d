"""Query text -> query: the one entry point of the pattern language.

Problem: parse text nobody vouches for, and explain what is wrong with it in plain words. Idea: an LALR(1) parser fed
token by token; its tables say at every point what would fit, which is what a syntax error prints. Nodes are built while
parsing, so no tree is walked recursively before its depth was checked. Reference: thesis 2.1 (SASE+).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

from lark import Lark, Token
from lark.exceptions import UnexpectedToken
from lark.lexer import Lexer

from whenabouts.errors import QueryError, WhenaboutsError
from whenabouts.language.check import check
from whenabouts.language.clause_rules import ClauseRules
from whenabouts.language.condition_rules import ConditionRules
from whenabouts.language.expected import explain
from whenabouts.language.pattern_rules import PatternRules
from whenabouts.language.tokens import tokenize
from whenabouts.plan.expressions import Pick, attributes
from whenabouts.plan.pattern import DEFAULT_NAME, Query, Step, steps_of_query, walk_pattern


def parse(text: str, name: str = DEFAULT_NAME) -> Query:
    """The query a text describes, checked as far as that is possible without a table."""
    if not isinstance(text, str):
        raise QueryError("syntax", f"a query is text, not {type(text).__name__}")
    try:
        query = replace(check(_read(tokenize(text))), name=name, text=text)
        _check_brackets_as_written(query, text)
    except WhenaboutsError as error:
        error.with_text(text)
        raise
    return query


class _Rules(PatternRules, ConditionRules, ClauseRules):
    """All grammar rules; keeps no state between calls."""


class _Inline:
    """Lark hands a rule its children as a list; ours take them as arguments."""

    def __init__(self, rules: _Rules) -> None:
        self.rules = rules

    def __getattr__(self, name: str) -> Callable[[list[Any]], Any]:
        rule = getattr(self.rules, name)
        return lambda children: rule(*children)


class _NoLexer(Lexer):
    """Tokens are fed to the parser; lark asks for a lexer all the same."""

    def __init__(self, _: object) -> None:
        pass

    def lex(self, _: object) -> Iterator[Token]:  # type: ignore[override]
        return iter(())


@cache
def _grammar() -> Lark:
    text = resources.files("whenabouts.language").joinpath("sase.lark").read_text("utf-8")
    return Lark(text, parser="lalr", lexer=_NoLexer, start="start", transformer=_Inline(_Rules()))


def _read(tokens: list[Token]) -> Query:
    parser: Any = _grammar().parse_interactive("")
    for position, token in enumerate(tokens):
        try:
            parser.feed_token(token)
        except UnexpectedToken:
            raise explain(tokens, position, _accepted(tokens[:position])) from None
    try:
        query: Query = parser.feed_token(Token("$END", ""))
    except UnexpectedToken:
        raise explain(tokens, len(tokens), _accepted(tokens)) from None
    return query


def _accepted(tokens: Iterable[Token]) -> set[str]:
    """What fits behind these tokens. They are read again: a parser that has failed may have forgotten some of it."""
    parser: Any = _grammar().parse_interactive("")
    for token in tokens:
        parser.feed_token(token)
    accepted: set[str] = parser.accepts()
    return accepted


def _check_brackets_as_written(query: Query, text: str) -> None:
    """`a[i].v` and `a[]` of a single step: plans do not keep the brackets, only the text shows them."""
    steps = steps_of_query(query)
    for pattern in query.patterns:
        for node in walk_pattern(pattern):
            if not isinstance(node, Step) or node.span is None or steps[node.name].many:
                continue
            if text[: node.span.end].endswith("]"):
                message = f"{node.name}[] stands for many events, but the pattern takes at most one"
                hint = f"write {node.name}, or B+ {node.name}[] for a closure"
                raise QueryError("wrong-reference", message, span=node.span, hint=hint)
    for expr in (*query.where, *(measure.expr for measure in query.measures)):
        for reference in attributes(expr):
            if reference.span is None or reference.pick is not Pick.CURRENT or steps[reference.step].many:
                continue
            behind = text[reference.span.start + len(reference.step) : reference.span.end]
            if behind.lstrip().startswith("["):
                message = f"{reference.step} is a single event, not a closure"
                hint = f"write {reference.step}.{reference.name}"
                raise QueryError("wrong-reference", message, span=reference.span, hint=hint)
