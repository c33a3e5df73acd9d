"""What conditions and RETURN items may say about the steps of a pattern.

Problem: `b.v` means one event for a single step, each element in WHERE for a closure, and nothing clear in RETURN.
Idea: walk an expression once, knowing whether the place is inside an aggregate, and hold every reference against the
shape of its step. Each refusal says what would be accepted instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, NoReturn

from whenabouts.errors import QueryError, Span, UnsupportedError, did_you_mean
from whenabouts.language import forms
from whenabouts.language.aggregates import REGISTERED, is_aggregate
from whenabouts.plan.expressions import Aggregate, Attribute, Call, Expr, In, Pick, children
from whenabouts.plan.pattern import StepInfo
from whenabouts.plan.render import render_expr
from whenabouts.plan.typing import AGGREGATES, FUNCTIONS, shorten

Steps = Mapping[str, StepInfo]
LISTS = (Pick.EACH, Pick.EACH_BEFORE, Pick.EACH_UPTO)
ITERATING = (Pick.CURRENT, Pick.PREVIOUS, Pick.EACH_BEFORE, Pick.EACH_UPTO)
TOTAL_AGGREGATES = ("count", "sum", "avg", "min", "max")


class Use(NamedTuple):
    """A reference and the aggregate it stands in, if any."""

    reference: Attribute
    aggregate: Aggregate | None


def check_condition(condition: Expr, steps: Steps) -> None:
    """One conjunct of WHERE."""
    if isinstance(condition, Attribute) and condition.name is None and condition.step not in steps:
        message = f"{condition.step} is neither a step nor a selection strategy"
        hint = did_you_mean(condition.step, (*steps, *forms.STRATEGIES))
        raise QueryError("unknown-name", message, span=condition.span, hint=hint)
    uses = list(_uses(condition, steps))
    for reference, aggregate in uses:
        if aggregate is None:
            _check_single(reference, steps)
    iterated = {u.reference.step for u in uses if u.reference.pick in ITERATING and steps[u.reference.step].many}
    absent = {u.reference.step for u in uses if steps[u.reference.step].absent}
    if not uses:
        message = f"the condition {_shown(condition)} mentions no step"
        raise UnsupportedError("unsupported", message, span=condition.span, hint="leave it out")
    if len(iterated) > 1:
        first, second = sorted(iterated)[:2]
        message = f"one condition runs over the elements of two closures, {first} and {second}"
        hint = f"compare with an aggregate such as max({second}[].v), or use [attr] for equality"
        raise UnsupportedError("unsupported", message, span=condition.span, hint=hint)
    if len(absent) > 1:
        message = f"one condition mentions several absent steps: {', '.join(sorted(absent))}"
        hint = "compare each absent step with steps that are not absent, or use [attr] for equality"
        raise UnsupportedError("unsupported", message, span=condition.span, hint=hint)


def check_item(expr: Expr, steps: Steps) -> None:
    """One RETURN item."""
    for reference, aggregate in _uses(expr, steps):
        info = steps[reference.step]
        shown = _shown(reference)
        if info.absent:
            message = f"{reference.step} is absent from every match: there is nothing to return"
            raise QueryError("wrong-reference", message, span=reference.span)
        if aggregate is None and reference.pick is Pick.EACH and expr is not reference:
            column = f"{reference.step}[].{reference.name or 'v'}"
            hint = f"return {column} on its own, or aggregate it: avg({column})"
            raise UnsupportedError("unsupported", "lists are not computed with", span=reference.span, hint=hint)
        if info.many and reference.pick in ITERATING:
            name = reference.name or "v"
            hint = f"write {info.name}[].{name}, {info.name}[last].{name} or avg({info.name}[].{name})"
            message = f"{shown}: a match has one row, but {info.name} has many events"
            raise QueryError("wrong-reference", message, span=reference.span, hint=hint)
        if not info.many:
            _check_not_indexed(reference)
        if aggregate is None and reference.name is None and expr is not reference:
            _refuse_event(reference, steps)


def check_total(expr: Expr, steps: Steps) -> None:
    """One item of RETURN TOTAL: an aggregate over all matches."""
    hint = "RETURN TOTAL count(*), sum(b[].v), avg(a.v), min(…), max(…)"
    if not isinstance(expr, Aggregate):
        message = f"RETURN TOTAL adds up over matches, {_shown(expr)} is no aggregate"
        raise QueryError("wrong-reference", message, span=expr.span, hint=hint)
    if expr.function not in TOTAL_AGGREGATES:
        message = f"{expr.function} depends on an order, which matches do not have"
        raise UnsupportedError("unsupported", message, span=expr.span, hint=hint)
    if expr.argument is None:
        return
    for reference in _argument(expr, steps, total=True):
        info = steps[reference.step]
        if info.absent:
            message = f"{info.name} is absent from every match: there is nothing to add up"
            raise QueryError("wrong-reference", message, span=reference.span)
        if info.many and reference.pick is not Pick.EACH:
            message = f"{_shown(reference)}: {info.name} has many events"
            hint = f"write {info.name}[].{reference.name}"
            raise QueryError("wrong-reference", message, span=reference.span, hint=hint)
        if not info.many:
            _check_not_indexed(reference)


# ---------------------------------------------------------------- the walk


def _uses(expr: Expr, steps: Steps) -> Iterator[Use]:
    """Every reference of an expression, with steps, functions and aggregates known to exist."""
    for node in _readers(expr):
        if isinstance(node, Aggregate):
            yield from (Use(reference, node) for reference in _argument(node, steps, total=False))
        else:
            _require_step(node, steps)
            yield Use(node, None)


def _readers(expr: Expr) -> Iterator[Attribute | Aggregate]:
    """References and aggregates from left to right; does not look into aggregates."""
    stack = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, Attribute | Aggregate):
            yield node
        elif isinstance(node, In):
            _check_items(node)
            stack.append(node.operand)
        else:
            if isinstance(node, Call):
                _check_call(node)
            stack.extend(reversed(list(children(node))))


def _argument(aggregate: Aggregate, steps: Steps, *, total: bool) -> list[Attribute]:
    """What an aggregate reads: elements of one group, all picked the same way."""
    function, argument = aggregate.function, aggregate.argument
    if not is_aggregate(function):
        _unknown_function(function, aggregate.span)
    if argument is None:
        hint = "count(b[]) counts the events of a closure b; RETURN TOTAL count(*) counts matches"
        raise QueryError("wrong-reference", "count(*) counts matches", span=aggregate.span, hint=hint)
    references: list[Attribute] = []
    for node in _readers(argument):
        if isinstance(node, Aggregate):
            message = f"{_shown(aggregate)}: an aggregate inside an aggregate"
            raise UnsupportedError("unsupported", message, span=node.span)
        info = _require_step(node, steps)
        references.append(node)
        first = references[0]
        if (node.step, node.pick) != (first.step, first.pick):
            message = f"{_shown(aggregate)} mixes {_shown(first)} and {_shown(node)}: an aggregate reads one group"
            raise UnsupportedError("unsupported", message, span=node.span)
        _check_argument(aggregate, node, info, total=total)
    if not references:
        message = f"{_shown(aggregate)} reads no events"
        raise QueryError("wrong-reference", message, span=aggregate.span, hint=f"write {function}(b[].v)")
    return references


# ---------------------------------------------------------------- single references


def _require_step(reference: Attribute, steps: Steps) -> StepInfo:
    info = steps.get(reference.step)
    if info is not None:
        return info
    if reference.name is None and reference.step.lower() in forms.STRATEGIES:
        raise forms.misplaced_strategy(reference.step, reference.span)
    message = f"no step is called {reference.step}"
    raise QueryError("unknown-name", message, span=reference.span, hint=did_you_mean(reference.step, steps))


def _check_single(reference: Attribute, steps: Steps) -> None:
    """A reference in WHERE outside aggregates."""
    info = steps[reference.step]
    if reference.name is None:
        _refuse_event(reference, steps)
    if reference.pick in LISTS and info.many:
        element = f"{info.name}[i].{reference.name}"
        message = f"{_shown(reference)} is a list, a condition needs one value"
        hint = f"write {element}, {info.name}[last].{reference.name} or avg({_shown(reference)})"
        raise QueryError("wrong-reference", message, span=reference.span, hint=hint)
    if not info.many or info.absent:
        _check_not_indexed(reference)


def _check_not_indexed(reference: Attribute) -> None:
    if reference.pick is not Pick.CURRENT:
        step, name = reference.step, reference.name
        message = f"{_shown(reference)}: {step} is a single event, not a closure"
        hint = f"write {step if name is None else f'{step}.{name}'}"
        raise QueryError("wrong-reference", message, span=reference.span, hint=hint)


def _check_argument(aggregate: Aggregate, reference: Attribute, info: StepInfo, *, total: bool) -> None:
    function, name, step = aggregate.function, reference.name, info.name
    if name is None and (function not in ("count", "first", "last") or aggregate.argument is not reference):
        message, group = f"{_shown(aggregate)}: {step} is an event, not a value", step + "[]" * info.many
        raise QueryError("wrong-reference", message, span=reference.span, hint=f"write {function}({group}.column)")
    if total:
        return
    if info.absent or not info.many:
        message = f"{_shown(aggregate)}: {step} is {'absent' if info.absent else 'a single event, not a closure'}"
        hint = None if info.absent or name is None else f"write {step}.{name}"
        raise QueryError("wrong-reference", message, span=reference.span, hint=hint)
    if reference.pick not in LISTS:
        column = "" if name is None else f".{name}"
        message = f"{_shown(aggregate)} reads one event instead of a group"
        hint = f"write {function}({step}[]{column}), or {function}({step}[..i-1]{column}) over those before {step}[i]"
        raise QueryError("wrong-reference", message, span=reference.span, hint=hint)


def _refuse_event(reference: Attribute, steps: Steps) -> NoReturn:
    step = reference.step
    message = f"{_shown(reference)} is an event, a condition or value needs one of its columns"
    index = "[i]" if steps[step].many else ""
    raise QueryError("wrong-reference", message, span=reference.span, hint=f"write {step}{index}.column")


# ---------------------------------------------------------------- calls


def _check_call(node: Call) -> None:
    misplaced = forms.misplaced(node)
    if misplaced is not None:
        raise misplaced
    function = FUNCTIONS.get(node.function)
    if function is None:
        _unknown_function(node.function, node.span)
    if not function.takes(len(node.arguments)):
        message = f"{node.function} takes {function.arity()}, {len(node.arguments)} are given"
        raise QueryError("type-mismatch", message, span=node.span, hint=function.sentence)


def _unknown_function(name: str, span: Span | None) -> NoReturn:
    hint = did_you_mean(name, [*FUNCTIONS, *AGGREGATES, *REGISTERED])
    raise QueryError("unknown-name", f"there is no function {name[:60]}", span=span, hint=hint)


def _check_items(node: In) -> None:
    for item in node.items:
        if item.value is None:
            message = "NULL in an IN list never equals anything"
            raise QueryError("type-mismatch", message, span=item.span or node.span, hint="test it with IS NULL")


def _shown(expr: Expr) -> str:
    return shorten(render_expr(expr))
