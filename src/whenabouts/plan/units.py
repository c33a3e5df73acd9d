"""What the integers of times and durations count: the unit of the column they were computed from.

Problem: kernels compute with bare integers, and a table may hold times in seconds next to durations in milliseconds.
Idea: values that meet in one expression share one unit, that of the columns it reads; binding refuses to mix units
(`language.coerce`), so the first column found speaks for all. Invariant: the unit of a bound expression is that of its
literals, of its value in a result, and of what a calendar function is given.
"""

from __future__ import annotations

from collections.abc import Iterator

from whenabouts.events.schema import DType, Schema
from whenabouts.plan.expressions import (
    Aggregate,
    And,
    Attribute,
    Between,
    Call,
    Compare,
    Expr,
    In,
    IsNull,
    Like,
    Not,
    Or,
    children,
)
from whenabouts.plan.typing import CALENDAR_FUNCTIONS

Truth = (Compare, In, Like, IsNull, And, Or, Not, Between)  # nodes that are true or false: a unit does not cross them


def domain(root: Expr) -> Iterator[Expr]:
    """The nodes that share one unit with the root: not beyond conditions, counts and calendar functions."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        opaque = isinstance(node, Call) and node.function in CALENDAR_FUNCTIONS and node is not root
        if opaque or (isinstance(node, Aggregate) and node.function == "count"):
            continue
        stack.extend(child for child in reversed(list(children(node))) if not isinstance(child, Truth))


def measured(root: Expr, schema: Schema) -> Iterator[Attribute]:
    """The columns of times and durations among them, and clocks of plain integers, in the order of the text."""
    for node in domain(root):
        if isinstance(node, Attribute) and node.name is not None:
            is_clock = node.name in schema.roles.time_columns
            if is_clock or schema.columns[node.name].dtype in (DType.TIME, DType.DURATION):
                yield node


def unit_of(root: Expr, schema: Schema) -> str | None:
    """The unit of a bound expression: that of the columns it reads, else that of the clock; None: ticks."""
    found = next(measured(root, schema), None)
    return schema.time_unit if found is None else schema.columns[found.name or ""].unit


def moment_of(root: Expr, schema: Schema) -> Attribute | None:
    """The first column of times a bound expression reads: its value has the time zone of that column."""
    return next((a for a in measured(root, schema) if schema.columns[a.name or ""].dtype is DType.TIME), None)
