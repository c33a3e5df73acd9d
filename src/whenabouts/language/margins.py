"""Errors of recorded times -> units of the clock.

A query says `error="500 ms"` before any table is known; here the table's clock is. Conversions are exact: an error that
is no whole number of units of the clock is refused, since rounding it would make impossible what is possible. (A column
of durations finer than the clock is data and cannot be refused: interval ends are then rounded down.)
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import NoReturn

from whenabouts.errors import QueryError, SchemaError, did_you_mean
from whenabouts.events.schema import DType, Error, ErrorBySource, ErrorColumn, Reach, Schema
from whenabouts.language.clock import Clock
from whenabouts.language.durations import NANOSECONDS, clock_nanoseconds, parse_length
from whenabouts.language.limits import INT64_MAX


def settled(schema: Schema, clock: Clock) -> Schema:
    """The schema with every error of its times in units of the clock."""
    match schema.roles.error:
        case Error() as error:
            found: Error | ErrorBySource = _error(error, schema, clock)
        case ErrorBySource(column, errors, default) as by_source:
            _check_source(column, schema)
            cases = tuple((source, _error(error, schema, clock)) for source, error in errors)
            others = None if default is None else _error(default, schema, clock)
            found = replace(by_source, errors=cases, default=others)
        case None:
            return schema
    return replace(schema, roles=replace(schema.roles, error=found))


def _error(error: Error, schema: Schema, clock: Clock) -> Error:
    return Error(_reach(error.before, schema, clock), _reach(error.after, schema, clock))


def _reach(side: Reach, schema: Schema, clock: Clock) -> Reach:
    match side:
        case ErrorColumn(name):
            return _column(name, schema, clock)
        case str():
            amount, unit = parse_length(side, "an error", "error")
            return _whole(amount if unit is None else amount * NANOSECONDS[unit] / _unit(side, clock), side, clock)
        case _:
            return side


def _column(name: str, schema: Schema, clock: Clock) -> ErrorColumn:
    column = schema.columns.get(name)
    if column is None:
        _missing(name, schema)
    if column.dtype is DType.INT:
        return ErrorColumn(name)
    if column.dtype is not DType.DURATION or column.unit is None:
        message = f"the error column {name!r} holds {column.dtype} values"
        hint = "an error is a duration, or an integer in units of the time column; convert it in the table"
        raise SchemaError("schema", message, hint=hint)
    return ErrorColumn(name, clock_nanoseconds(column.unit) / _unit(f"the durations in {name!r}", clock))


def _check_source(name: str, schema: Schema) -> None:
    column = schema.columns.get(name)
    if column is None:
        _missing(name, schema)
    if column.dtype is not DType.STRING:
        message = f"the source column {name!r} holds {column.dtype} values, not strings"
        raise SchemaError("schema", message, hint="convert it in the table")


def _missing(name: str, schema: Schema) -> NoReturn:
    near = did_you_mean(name, schema.columns) or "the table has no columns"
    hint = f'a length of time starts with a digit: error="500 ms"; as a column, {near}'
    raise SchemaError("schema", f"the table has no column {name!r} for the error of times", hint=hint)


def _unit(what: str, clock: Clock) -> Fraction:
    return clock.nanoseconds_per_unit(what, None)


def _whole(units: Fraction, text: str, clock: Clock) -> int:
    if units.denominator != 1:
        message = f"the error {text!r} is not a whole number of units of the time column {clock.column!r}"
        raise QueryError("type-mismatch", message, hint="choose a multiple of the column's unit")
    if units > INT64_MAX:
        raise QueryError("limit", f"the error {text!r} does not fit into 64 bits")
    return int(units)
