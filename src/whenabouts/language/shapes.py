"""What a pattern may look like: names, absent parts, parts that can match nothing.

The allowed positions are those docs/semantics.md defines a meaning for. Everything here looks at the pattern alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from whenabouts.errors import QueryError, UnsupportedError
from whenabouts.language.bounds import check_text
from whenabouts.language.tokens import is_identifier
from whenabouts.plan.pattern import (
    Absent,
    AllOf,
    Choice,
    Pattern,
    Query,
    Repeat,
    Sequence,
    Step,
    parts_of,
    walk_pattern,
)
from whenabouts.plan.render import render_pattern
from whenabouts.plan.typing import shorten


class Occurrence(NamedTuple):
    """One place where a step name is declared; two alternatives may declare a name only with equal shapes."""

    step: Step
    many: bool
    absent: bool

    @property
    def shape(self) -> tuple[str | None, bool, bool]:
        return self.step.type, self.many, self.absent


def check_shapes(query: Query) -> None:
    """Refuse patterns without a defined meaning."""
    if not query.patterns:
        raise QueryError("invalid-pattern", "a query needs a pattern")
    for pattern in query.patterns:
        for node in walk_pattern(pattern):
            _check_node(node)
        if isinstance(pattern, Absent):
            _misplaced(pattern, "on its own it would match nothing")
        if _can_be_empty(pattern):
            message = f"{_shown(pattern)} can match no event at all"
            hint = "at least one step must be needed: B+ instead of B*"
            raise QueryError("invalid-pattern", message, span=pattern.span, hint=hint)
    _merged([_declared(pattern, many=False, absent=False) for pattern in query.patterns], alternatives=True)


def _check_node(node: Pattern) -> None:
    match node:
        case Step():
            _check_step(node)
        case Sequence(parts):
            if not parts:
                raise QueryError("invalid-pattern", "SEQ without steps", span=node.span)
            if all(isinstance(part, Absent) for part in parts):
                _misplaced(parts[0], "SEQ needs at least one step that is not absent")
        case Choice(parts) | AllOf(parts):
            if len(parts) < 2:
                raise QueryError("invalid-pattern", f"{_shown(node)} needs two parts", span=node.span)
            _check_parts(node, parts)
        case Repeat(part):
            _check_parts(node, (part,))
            if _can_be_empty(part):
                message = f"the repeated part {_shown(part)} can match no event at all"
                hint = "write B* instead of (B*)+ or (B?)*"
                raise UnsupportedError("unsupported", message, span=node.span, hint=hint)
        case Absent(part):
            _check_absent(node, part)


def _check_step(step: Step) -> None:
    if not is_identifier(step.name):
        message = f"{step.name[:40]!r} cannot name a step"
        hint = "letters, digits and _, no word of the language"
        raise QueryError("syntax", message, span=step.span, hint=hint)
    if step.type == "":
        raise QueryError("syntax", "an event type is empty", span=step.span, hint="ANY e takes every type")
    check_text(step.type or "", step.span)


def _check_parts(node: Pattern, parts: tuple[Pattern, ...]) -> None:
    where = {Choice: "in an alternative", AllOf: "in AND( … )", Repeat: "under a quantifier"}[type(node)]
    for part in parts:
        if isinstance(part, Absent):
            _misplaced(part, f"directly {where} it has no gap to be absent from")


def _misplaced(part: Pattern, why: str) -> None:
    message = f"{_shown(part)} stands where absence has no meaning: {why}"
    hint = "put it into a SEQ next to a step: SEQ(A a, !(N n), B b)"
    raise QueryError("invalid-pattern", message, span=part.span, hint=hint)


def _check_absent(node: Absent, part: Pattern) -> None:
    hint = "supported are !(C c), !SEQ(C c, D d) and !(C c | D d); several may follow one another"
    inner = parts_of(part) if isinstance(part, Sequence | Choice) else (part,)
    for item in inner:
        if isinstance(item, Step):
            continue
        kinds = {Absent: "another absent part", Repeat: "a closure", AllOf: "AND( … )"}
        message = f"{_shown(node)}: inside an absent part {kinds.get(type(item), 'nesting')} is not supported"
        raise UnsupportedError("unsupported", message, span=item.span or node.span, hint=hint)


def _can_be_empty(pattern: Pattern) -> bool:
    match pattern:
        case Repeat(part, low):
            return low == 0 or _can_be_empty(part)
        case Choice(parts):
            return any(_can_be_empty(part) for part in parts)
        case Sequence(parts) | AllOf(parts):
            return all(_can_be_empty(part) for part in parts)
        case _:
            return isinstance(pattern, Absent)


# ---------------------------------------------------------------- names


def _declared(pattern: Pattern, *, many: bool, absent: bool) -> dict[str, Occurrence]:
    """The names a pattern declares; refuses a name declared twice, except in alternatives with the same shape."""
    match pattern:
        case Step(_, name):
            return {name: Occurrence(pattern, many, absent)}
        case Repeat(part, _, high):
            return _declared(part, many=many or high is None or high > 1, absent=absent)
        case Absent(part):
            return _declared(part, many=many, absent=True)
        case _:
            declared = [_declared(part, many=many, absent=absent) for part in parts_of(pattern)]
            return _merged(declared, alternatives=isinstance(pattern, Choice))


def _merged(declared: list[dict[str, Occurrence]], *, alternatives: bool) -> dict[str, Occurrence]:
    result: dict[str, Occurrence] = {}
    for names in declared:
        for name, new in names.items():
            old = result.setdefault(name, new)
            if old is new or (alternatives and old.shape == new.shape):
                continue
            message = f"two steps are called {name}"
            hint = "give each step its own name: A a1, A a2"
            if alternatives:
                message += " but differ in " + " and ".join(_differences(old, new))
                hint = "alternatives may share a name only for the same type and shape"
            raise QueryError("duplicate-name", message, span=new.step.span, hint=hint)
    return result


def _differences(old: Occurrence, new: Occurrence) -> Iterator[str]:
    if old.step.type != new.step.type:
        yield "type"
    if old.many != new.many:
        yield "shape (single or closure)"
    if old.absent != new.absent:
        yield "absence"


def _shown(pattern: Pattern) -> str:
    return shorten(render_pattern(pattern))
