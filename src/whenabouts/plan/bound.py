"""A query checked against a schema: what the matchers, the reference and EXPLAIN read.

`bind` (language) produces it, `rewrites` simplifies it, `kernels` lower it. After binding every attribute names an
existing column, every literal has the type it is compared with (times and durations are integer ticks of the schema's
clock), and only the node kinds listed in `plan.expressions` remain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from whenabouts.events.schema import Schema
from whenabouts.plan.pattern import Query, StepInfo


@dataclass(frozen=True, slots=True)
class Extent:
    """The window in whole units: last - first <= span ticks, or at most `span` events. INCLUSIVE is already applied."""

    span: int
    events: bool = False


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound query. `key` lists the columns on which all steps agree: the unit of partitioning."""

    query: Query
    schema: Schema
    steps: Mapping[str, StepInfo]
    extent: Extent | None
    tick: int = 1  # clock units of the time column per tick (granularity)
    key: tuple[str, ...] = ()
    warnings: tuple[str, ...] = field(default=(), compare=False)
