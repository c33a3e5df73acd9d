"""Rewrites of bound queries: a list of rules, each a function Bound -> Bound that keeps the meaning.

Every rule can be switched off (`rewrite(bound, without={"name"})`), and the answers must stay the same: tests do so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from whenabouts.errors import QueryError
from whenabouts.plan.bound import Bound
from whenabouts.plan.expressions import And, Attribute, Between, Compare, Expr, Not, Pick, conjuncts, transform
from whenabouts.plan.pattern import StepInfo, Strategy, own_columns


def flatten_conjunctions(bound: Bound) -> Bound:
    """a AND (b AND c) in one item of WHERE becomes separate items, NOT (x OR y) two negations."""
    return _with_where(bound, (c for item in bound.query.where for c in conjuncts(item)))


def open_between(bound: Bound) -> Bound:
    """x BETWEEN l AND h -> x >= l AND x <= h, so that each side can be placed on its own."""

    def rule(expr: Expr) -> Expr:
        if not isinstance(expr, Between):
            return expr
        both = And((Compare(">=", expr.operand, expr.low), Compare("<=", expr.operand, expr.high)), span=expr.span)
        return Not(both, span=expr.span) if expr.negated else both

    return _with_where(bound, (transform(c, rule) for c in bound.query.where))


def infer_key(bound: Bound) -> Bound:
    """An equality chain over one column that ties all steps together is a key: a.k = b.k AND b.k = c.k -> [k].

    Optional steps may only hang on mandatory ones: were they links, a match without them would not be tied.
    Two steps must be mandatory: a match of one event is no equality, and may have a null key. A key is a column of the
    result: a column with the name of another one there (`start`) stays a condition.
    """
    columns = {c for pair in map(_equality, bound.query.where) if pair for c in (pair[0].name,) if c is not None}
    taken = own_columns(bound.query.output, exact=bound.schema.roles.exact)
    for column in sorted(columns.difference(taken)):
        if column not in bound.key and _ties_all(bound, column):
            _check_names(bound, column)
            bound = replace(bound, key=(*bound.key, column))
    return bound


def drop_key_equalities(bound: Bound) -> Bound:
    """Inside a partition its key is equal anyway; not under strict contiguity, where that is the whole input."""
    if bound.query.strategy is Strategy.STRICT:
        return bound

    def implied(item: Expr) -> bool:
        pair = _equality(item)
        return pair is not None and pair[0].name in bound.key

    return _with_where(bound, (item for item in bound.query.where if not implied(item)))


def _check_names(bound: Bound, key: str) -> None:
    """As for [key], whose meaning the conditions have: no RETURN item has the name of a key."""
    for item in bound.query.measures:
        if item.name == key:
            message = f"the result already has the key column {key!r}: WHERE makes it equal for all steps"
            raise QueryError("duplicate-name", message, span=item.expr.span, hint="name the item: … AS other_name")


Rule = Callable[[Bound], Bound]

RULES: tuple[Rule, ...] = (open_between, flatten_conjunctions, infer_key, drop_key_equalities)


def rewrite(bound: Bound, without: Collection[str] = ()) -> Bound:
    """Apply all rules in order, except those named in `without`."""
    for rule in RULES:
        if rule.__name__ not in without:
            bound = rule(bound)
    return bound


def _with_where(bound: Bound, items: Iterable[Expr]) -> Bound:
    return replace(bound, query=replace(bound.query, where=tuple(items)))


def _equality(item: Expr) -> tuple[Attribute, Attribute] | None:
    """The two sides of `x.k = y.k`, if the item is one."""
    if not (isinstance(item, Compare) and item.op == "="):
        return None
    left, right = item.left, item.right
    if isinstance(left, Attribute) and isinstance(right, Attribute) and left.name == right.name:
        return left, right
    return None


def _ties_all(bound: Bound, column: str) -> bool:
    """Whether equalities over `column` force all steps (absent ones included) to agree whenever they are bound."""
    steps = bound.steps
    pairs = [p for p in map(_equality, bound.query.where) if p and p[0].name == column]
    uniform = {name for name, info in steps.items() if not info.many}  # all elements known to agree
    for left, right in pairs:
        if left.step == right.step and {left.pick, right.pick} in (
            {Pick.CURRENT, Pick.PREVIOUS},
            {Pick.CURRENT, Pick.FIRST},
        ):
            uniform.add(left.step)
        elif left.step != right.step and left.pick is right.pick is Pick.CURRENT:
            uniform |= {a.step for a, b in ((left, right), (right, left)) if not steps[b.step].many}
    links = [(a.step, b.step) for a, b in pairs if a.step != b.step and {a.step, b.step} <= uniform]
    if not set(steps) <= uniform or len(steps) < 2:
        return False
    return _hang_together(steps.values(), links)


def _hang_together(steps: Iterable[StepInfo], links: list[tuple[str, str]]) -> bool:
    core = [s.name for s in steps if not s.optional and not s.absent]
    if len(core) < 2:
        return False
    tied, grown = {core[0]}, True
    while grown:
        new = {x for a, b in links for x, y in ((a, b), (b, a)) if y in tied and x in core} - tied
        tied |= new
        grown = bool(new)
    leaves = {x for a, b in links for x, y in ((a, b), (b, a)) if y in tied}
    return all(s.name in tied or s.name in leaves for s in steps)
