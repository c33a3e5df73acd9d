"""Sizes of a query: checked first and without recursion, so that every later walker may recurse.

Holds for text and for queries built in Python alike; limits.py has the numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from whenabouts.errors import QueryError, Span
from whenabouts.language import limits
from whenabouts.language.tokens import SURROGATE
from whenabouts.plan.expressions import Attribute, DurationLiteral, Expr, In, Like, Literal, children
from whenabouts.plan.pattern import AllOf, Confidence, Pattern, Repeat, Step, parts_of


def check_size(patterns: Iterable[Pattern], exprs: Iterable[Expr | None]) -> None:
    """Refuse what is too deep, too many or does not fit into 64 bits."""
    _check_patterns(patterns)
    nodes = 0
    for expr in exprs:
        if expr is not None:
            nodes += _check_expression(expr)
            if nodes > limits.MAX_EXPRESSION_NODES:
                message = f"the conditions and RETURN items have more than {limits.MAX_EXPRESSION_NODES:,} parts"
                raise QueryError("limit", message, span=expr.span)


def _check_patterns(patterns: Iterable[Pattern]) -> None:
    stack = [(pattern, 1, 1) for pattern in patterns]
    steps = unrolled = 0
    while stack:
        node, depth, times = stack.pop()
        if depth > limits.MAX_PATTERN_DEPTH:
            message = f"patterns are nested more than {limits.MAX_PATTERN_DEPTH} deep"
            raise QueryError("limit", message, span=node.span)
        if isinstance(node, AllOf) and len(node.parts) > limits.MAX_ALL_OF:
            raise QueryError("limit", f"AND has more than {limits.MAX_ALL_OF} parts", span=node.span)
        if isinstance(node, Repeat):
            _check_quantifier(node)
            times *= max(node.low, node.high or 1)
        if isinstance(node, Step):
            steps += 1
            unrolled += times
        if steps > limits.MAX_STEPS:
            raise QueryError("limit", f"the pattern has more than {limits.MAX_STEPS} steps", span=node.span)
        if unrolled > limits.MAX_UNROLLED:
            message = f"with its quantifiers written out the pattern has more than {limits.MAX_UNROLLED:,} steps"
            raise QueryError("limit", message, span=node.span)
        stack.extend((part, depth + 1, times) for part in reversed(parts_of(node)))


def _check_quantifier(node: Repeat) -> None:
    high = node.low if node.high is None else node.high
    if max(node.low, high) > limits.MAX_REPEAT:
        raise QueryError("limit", f"a quantifier is larger than {limits.MAX_REPEAT:,}", span=node.span)
    if node.low < 0 or high < node.low or node.high == 0:
        message = "this quantifier allows nothing"
        raise QueryError("invalid-pattern", message, span=node.span, hint="write {2,4} for two to four")


def _check_expression(root: Expr) -> int:
    """The number of nodes; items of IN lists have their own limit."""
    stack = [(root, 1)]
    nodes = 0
    while stack:
        node, depth = stack.pop()
        nodes += 1
        if depth > limits.MAX_EXPRESSION_DEPTH and next(children(node), None) is not None:
            message = f"more than {limits.MAX_EXPRESSION_DEPTH} operators stand above one another in an expression"
            hint = "a chain of additions counts one per +"
            raise QueryError("limit", message, span=_short(root.span), hint=hint)
        _check_leaf(node)
        if isinstance(node, In):
            if len(node.items) > limits.MAX_IN_ITEMS:
                message = f"an IN list has more than {limits.MAX_IN_ITEMS:,} items"
                raise QueryError("limit", message, span=_short(node.span))
            for item in node.items:
                _check_leaf(item)
            stack.append((node.operand, depth + 1))
        else:
            stack.extend((child, depth + 1) for child in children(node))
    return nodes


def _check_leaf(node: Expr) -> None:
    match node:
        case Literal(value) | DurationLiteral(value):
            if isinstance(value, str):
                check_text(value, node.span)
            elif value is not None and not isinstance(value, bool):
                _check_number(value, node.span)
        case Like(_, pattern):
            check_text(pattern, node.span)
        case Attribute(_, name) if name is not None:
            check_text(name, node.span)


def _check_number(value: float, span: Span | None) -> None:
    if isinstance(value, int):
        if not limits.INT64_MIN <= value <= limits.INT64_MAX:
            hint = "integers have 64 bits; write 1e20 for a float"
            raise QueryError("limit", "this integer is too large", span=span, hint=hint)
    elif not math.isfinite(value):
        raise QueryError("limit", "this number is too large for a float", span=span)


def check_limit(count: int, span: Span | None = None, clause: str = "LIMIT") -> None:
    """LIMIT and TOP ask for at least one match."""
    if not 1 <= count <= limits.INT64_MAX:
        raise QueryError("limit", f"{clause} must be at least 1 and fit into 64 bits", span=span)


def check_confidence(confidence: Confidence, span: Span | None = None) -> None:
    """CONFIDENCE asks for a probability that some match can have."""
    if not 0 <= confidence.least <= 1:  # also refuses NaN
        hint = "write a fraction: CONFIDENCE >= 0.9"
        raise QueryError("limit", "a confidence lies between 0 and 1", span=span, hint=hint)
    if confidence.above and confidence.least == 1:
        raise QueryError("limit", "no confidence is above 1", span=span, hint="CONFIDENCE >= 1 keeps what is certain")


def check_text(text: str, span: Span | None = None) -> None:
    """Names and strings hold whole characters and no NUL; everything else is allowed."""
    if "\0" in text or SURROGATE.search(text):
        raise QueryError("syntax", "a name or string contains NUL or half of a character", span=span)
    if len(text) > limits.MAX_TEXT:
        raise QueryError("limit", f"a name or string has more than {limits.MAX_TEXT:,} characters", span=span)


def _short(span: Span | None) -> Span | None:
    """The start of a long span: a caret line below thousands of characters helps nobody."""
    return None if span is None else Span(span.start, min(span.end, span.start + 40))
