"""Grammar rules of the clauses after PATTERN.

The clauses may stand in any order, each at most once; assembly.py makes a query of them.
"""

from __future__ import annotations

from lark import Token

from whenabouts.errors import QueryError, did_you_mean
from whenabouts.language.assembly import CLAUSES, Clause, Condition, Item, Returned, assemble
from whenabouts.language.bounds import check_confidence, check_limit
from whenabouts.language.condition_rules import number_value
from whenabouts.language.durations import unit_named
from whenabouts.language.forms import cover
from whenabouts.language.pattern_rules import whole_number
from whenabouts.language.tokens import span_of
from whenabouts.plan.expressions import Expr
from whenabouts.plan.pattern import Closure, Confidence, Output, Pattern, Query, Window


class ClauseRules:
    """Methods are named after the rules and aliases of sase.lark."""

    def start(self, _: Token, patterns: tuple[Pattern, ...], *rest: Clause | Token) -> Query:
        return assemble(patterns, [clause for clause in rest if isinstance(clause, Clause)])

    def where(self, keyword: Token, *rest: Token | Expr) -> Clause:
        conditions = [r for r in rest if isinstance(r, Expr)]
        return Clause(keyword, Condition(conditions[-1], conditions[0] if len(conditions) > 1 else None))

    def within(self, keyword: Token, amount: Token, *words: Token) -> Clause:
        plain = [w for w in words if w.lower() != "inclusive"]
        if len(plain) > 1 or len(words) - len(plain) > 1 or (plain and words[0] is not plain[0]):
            wrong = words[-1]
            message = f"{wrong} does not fit behind WITHIN"
            hint = "WITHIN 10, WITHIN 15 seconds, WITHIN 15 seconds INCLUSIVE or WITHIN 20 EVENTS"
            raise QueryError("syntax", message, span=span_of(wrong), hint=hint)
        unit: str | None = None
        if plain:
            is_events = plain[0].lower() in ("event", "events")
            unit = "event" if is_events else unit_named(str(plain[0]), span_of(plain[0]), (*CLAUSES, "INCLUSIVE"))
        span = cover(amount, words[-1] if words else amount)
        return Clause(keyword, Window(number_value(amount), unit, len(words) > len(plain), span=span))

    def closure(self, keyword: Token, mode: Token) -> Clause:
        try:
            return Clause(keyword, Closure(mode.lower()), cover(keyword, mode))
        except ValueError:
            hint = did_you_mean(mode, map(str, Closure))
            raise QueryError("unknown-name", f"CLOSURE {mode} does not exist", span=span_of(mode), hint=hint) from None

    def confidence(self, keyword: Token, sign: Token, number: Token) -> Clause:
        span = cover(sign, number)
        if sign not in (">", ">="):
            message = f"CONFIDENCE is a least confidence, {sign} does not fit"
            raise QueryError("syntax", message, span=span, hint="CONFIDENCE >= 0.9 or CONFIDENCE > 0.5")
        confidence = Confidence(float(number), sign == ">")
        check_confidence(confidence, span)
        return Clause(keyword, confidence, cover(keyword, number))

    def top(self, keyword: Token, number: Token, _: Token, last: Token) -> Clause:
        count = whole_number(number, "TOP")
        check_limit(count, span_of(number), "TOP")
        return Clause(keyword, count, cover(keyword, last))

    def collapsed(self, keyword: Token, last: Token) -> Clause:
        return Clause(keyword, Returned(Output.COLLAPSED), cover(keyword, last))

    def total(self, keyword: Token, *rest: Token | Item) -> Clause:
        return Clause(keyword, Returned(Output.TOTAL, tuple(r for r in rest if isinstance(r, Item))))

    def returned(self, keyword: Token, *rest: Token | Item) -> Clause:
        return Clause(keyword, Returned(Output.EACH, tuple(r for r in rest if isinstance(r, Item))))

    def limit(self, keyword: Token, number: Token) -> Clause:
        count = whole_number(number, "LIMIT")
        check_limit(count, span_of(number))
        return Clause(keyword, count)

    def item(self, expr: Expr, *rest: Token) -> Item:
        return Item(expr, str(rest[-1]) if rest else None)
