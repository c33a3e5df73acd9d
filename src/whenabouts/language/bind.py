"""Query + schema -> bound query: names become columns, lengths of time become ticks.

Order: the roles of the schema, then names, then types as written, then plain values. Invariant: after binding every
attribute names a column of the schema (or the event itself), all conditions are true-or-false, and `plan.typing.infer`
accepts every expression.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from whenabouts.errors import QueryError, SchemaError, Span, UnsupportedError, WhenaboutsError, did_you_mean
from whenabouts.events.schema import DType, Schema
from whenabouts.language.assembly import place_of_key
from whenabouts.language.clock import clock_of, extent_of
from whenabouts.language.coerce import plain
from whenabouts.language.margins import settled
from whenabouts.language.uncertain import check_times
from whenabouts.plan.bound import Bound, Extent
from whenabouts.plan.expressions import (
    Aggregate,
    Arithmetic,
    Attribute,
    Expr,
    Negate,
    Pick,
    attributes,
    transform,
    walk,
)
from whenabouts.plan.pattern import Closure, Measure, Output, Query, Strategy, own_columns, steps_of_query
from whenabouts.plan.typing import infer, refuse_condition

PSEUDO = ("time", "timestamp", "type", "id")  # the role columns by what they are, unless columns have these names
UNBOUNDED = "without WITHIN a match may wait for its end forever, so nothing can be forgotten"
NO_EFFECT = "CLOSURE has no effect under skip_till_any_match, which reports all matches"
ONE_INSTANT = "the window is shorter than two ticks: only matches at one instant fit"


def bind(query: Query, schema: Schema, granularity: str | None = None) -> Bound:
    """Check a query against a table's columns and settle everything that depends on them."""
    try:
        return _bound(query, schema, granularity)
    except WhenaboutsError as error:
        if query.text is not None:
            error.with_text(query.text)
        raise


def _bound(query: Query, schema: Schema, granularity: str | None) -> Bound:
    _check_roles(query, schema)
    for key in query.equivalence:
        _require_column(key, schema, query.spans.get(place_of_key(key)))
    clock = clock_of(schema, granularity)
    _check_ticks(schema, granularity)
    schema = settled(schema, clock)
    where = []
    for condition in query.where:
        named = _named(condition, schema)
        kind = infer(named, schema, written=True)
        if kind not in (DType.BOOL, DType.NULL):
            refuse_condition(named, kind)
        where.append(plain(named, schema, clock))
    measures = []
    for item in query.measures:
        named = _named(item.expr, schema, returned=True)
        infer(named, schema, written=True)
        value = plain(named, schema, clock)
        measures.append(Measure(_grouped(value) if query.output is Output.TOTAL else value, item.name))
    _check_result_columns(query, schema)
    query = replace(query, where=tuple(where), measures=tuple(measures))
    check_times(query, schema)
    extent = None if query.window is None else extent_of(query.window, clock)
    return Bound(
        query,
        schema,
        steps_of_query(query),
        extent,
        clock.tick,
        query.equivalence,
        tuple(_warnings(query, extent)),
    )


# ---------------------------------------------------------------- roles


def _check_roles(query: Query, schema: Schema) -> None:
    roles = schema.roles
    if roles.id is not None and roles.id not in schema.columns:
        raise _missing("id", roles.id, schema, "or id=None for the row number")
    for name in roles.time_columns:
        column = schema.columns.get(name)
        if column is None:
            raise _missing("time", name, schema, 'or time=("lower", "upper") for an uncertain time')
        if column.dtype not in (DType.INT, DType.TIME):
            message = f"the time column {name!r} holds {column.dtype} values; times are integers or timestamps"
            raise SchemaError("schema", message, hint="convert it in the table")
    if schema.columns[roles.lower].unit != schema.columns[roles.upper].unit:
        message = f"the time columns {roles.lower!r} and {roles.upper!r} have different units"
        raise SchemaError("schema", message, hint="convert one of them in the table")
    typed = [info for info in steps_of_query(query).values() if info.type is not None]
    if typed:
        kind = None if roles.type is None else schema.columns.get(roles.type)
        if kind is None:
            raise _missing("type", roles.type, schema, "or ANY e for steps of any type")
        if kind.dtype is not DType.STRING:
            raise SchemaError("schema", f"the type column {kind.name!r} holds {kind.dtype} values, not strings")


def _check_ticks(schema: Schema, granularity: str | None) -> None:
    """A pmf is about ticks, which must not depend on the unit a table happens to count in (Spark: microseconds)."""
    if schema.roles.pmf is not None and schema.time_unit is not None and granularity is None:
        message = f"the pmf {schema.roles.pmf!r} is about ticks whose length is not said"
        hint = f'name their length: granularity="1 s" (the column {schema.roles.lower!r} counts {schema.time_unit})'
        raise QueryError("type-mismatch", message, hint=hint)


def _missing(role: str, name: str | None, schema: Schema, otherwise: str) -> SchemaError:
    what = f"no {role} column is named" if name is None else f"the table has no column {name!r} for the {role}"
    near = f"; {did_you_mean(name or role, schema.columns) or 'the table has no columns'}"
    return SchemaError("schema", what, hint=f'name the column: wa.query(…, {role}="…"), {otherwise}{near}')


# ---------------------------------------------------------------- names


def _named(expr: Expr, schema: Schema, *, returned: bool = False) -> Expr:
    """The expression with every attribute naming a column."""
    computed = {id(a) for n in walk(expr) if isinstance(n, Arithmetic | Negate) for a in attributes(n)}

    def rule(node: Expr) -> Expr:
        if not isinstance(node, Attribute) or node.name is None or node.name in schema.columns:
            return node
        return _role_column(node, node.name, schema, returned=returned, computed=id(node) in computed)

    return transform(expr, rule)


def _role_column(node: Attribute, name: str, schema: Schema, *, returned: bool, computed: bool) -> Attribute:
    roles = schema.roles
    if name in ("time", "timestamp"):
        if roles.lower == roles.upper:
            return replace(node, name=roles.lower)
        message = f"the time of {node.step} is an interval, not one value"
        lower, upper = f"{node.step}.{roles.lower}", f"{node.step}.{roles.upper}"
        hint = f"write {lower} or {upper}"
        if computed:
            hint = f"WITHIN bounds the length of a match; {lower} and {upper} can be compared and returned as they are"
        raise UnsupportedError("unsupported", message, span=node.span, hint=hint)
    if name == "type" and roles.type in schema.columns:
        return replace(node, name=roles.type)
    if name == "id" and roles.id is not None:
        return replace(node, name=roles.id)
    if name == "id" and returned:
        return replace(node, name=None)
    _require_column(name, schema, node.span)
    return node


def _require_column(name: str, schema: Schema, span: Span | None) -> None:
    if name not in schema.columns:
        hint = did_you_mean(name, schema.columns)
        raise QueryError("unknown-name", f"the table has no column {name[:60]!r}", span=span, hint=hint)


def _check_result_columns(query: Query, schema: Schema) -> None:
    own = own_columns(query.output, exact=schema.roles.exact)
    for key in query.equivalence:
        if key in own:
            message = f"the key column {key!r} has the name of a column every result has"
            raise QueryError(
                "duplicate-name", message, span=query.spans.get(place_of_key(key)), hint="rename it in the table"
            )
    for item in query.measures:
        if item.name in query.equivalence:
            message = f"the result already has the key column {item.name!r}"
            raise QueryError("duplicate-name", message, span=item.expr.span, hint="name the item: … AS other_name")


def _grouped(expr: Expr) -> Expr:
    """RETURN TOTAL reads a single step as a group of one."""
    if not isinstance(expr, Aggregate):
        return expr
    return transform(expr, lambda n: replace(n, pick=Pick.EACH) if isinstance(n, Attribute) else n)


# ---------------------------------------------------------------- warnings


def _warnings(query: Query, extent: Extent | None) -> Iterator[str]:
    steps = steps_of_query(query).values()
    contiguous = query.strategy in (Strategy.STRICT, Strategy.PARTITION)
    if extent is None and (any(info.many for info in steps) or (len(steps) > 1 and not contiguous)):
        yield UNBOUNDED
    if extent is not None and not extent.events and extent.span == 0 and len(steps) > 1:
        yield ONE_INSTANT
    if query.closure not in (Closure.MAXIMAL, Closure.SET) and query.strategy is Strategy.ANY:
        yield NO_EFFECT
