"""Case files of the language: text -> canonical text or error; text and schema -> bound query or error."""

import re

import pytest

from tests.language.case_files import HERE, check_cases
from whenabouts.errors import WhenaboutsError
from whenabouts.events.roles import ErrorTable, shape_of, time_roles
from whenabouts.events.schema import Column, DType, Error, ErrorBySource, ErrorColumn, Reach, Roles, Schema
from whenabouts.language.bind import bind
from whenabouts.language.sase import parse
from whenabouts.plan.render import render

PARSED = sorted((HERE / "cases").glob("*.case"))
BOUND = sorted((HERE / "bound").glob("*.case"))
COLUMN = re.compile(r"(\w+):(\w+)(?:\[(\w+)\])?")


def parsed(text: str) -> str:
    """The canonical text of a query, or its error."""
    try:
        query = parse(text)
    except WhenaboutsError as error:
        return str(error)
    canonical = render(query)
    assert parse(canonical) == query
    assert render(parse(canonical)) == canonical
    return canonical


def schema_of(line: str) -> Schema:
    """`schema id:int ts:time[us] v:float | time=ts` as a schema; `id=-` is the row number."""
    columns, _, roles = line.partition("|")
    named = dict(part.split("=") for part in roles.split())
    time = pair(named.get("time", "time"))
    error = pair(named["error"]) if "error" in named else None
    if "source" in named:  # source=gps:1s,clock:20ms/column
        cases, _, column = named["source"].partition("/")
        error = ErrorTable(column, dict(case.split(":") for case in cases.split(",")), default=error)
    plain = Roles(
        id=None if named.get("id") == "-" else named.get("id", "id"),
        type=None if named.get("type") == "-" else named.get("type", "type"),
    )
    return Schema(
        {name: Column(name, DType(dtype), unit or None) for name, dtype, unit in COLUMN.findall(columns)},
        time_roles(plain, time, named.get("pmf"), error, shape_of(named.get("shape", "uniform"))),
    )


def pair(text: str) -> str | tuple[str, str]:
    """`low,high` as two texts."""
    one, comma, other = text.partition(",")
    return (one, other) if comma else one


def bound(text: str) -> str:
    """What binding makes of a query, or its error."""
    line, _, query = text.partition("\n")
    granularity = None
    if query.startswith("granularity"):
        length, _, query = query.partition("\n")
        granularity = length.removeprefix("granularity").strip()
    try:
        found = bind(parse(query), schema_of(line.removeprefix("schema")), granularity)
    except WhenaboutsError as error:
        return str(error)
    lines = [render(found.query)]
    if found.extent is not None:
        lines.append(f"extent {found.extent.span} {'events' if found.extent.events else 'ticks'}")
    lines += [f"tick {found.tick}"] if found.tick != 1 else []
    lines += [f"key {', '.join(found.key)}"] if found.key else []
    lines += [f"error {shown(found.schema.roles.error)}"] if found.schema.roles.error else []
    return "\n".join([*lines, *(f"warning {warning}" for warning in found.warnings)])


def shown(error: Error | ErrorBySource | None) -> str:
    """An error in units of the clock, as text."""
    match error:
        case Error(before, after):
            return f"-{side(before)} +{side(after)}"
        case ErrorBySource(column, cases, default):
            listed = ", ".join(f"{source}: {shown(case)}" for source, case in cases)
            return f"by {column}: {listed}; others: {shown(default)}"
    return "none"


def side(reach: Reach) -> str:
    return f"{reach.name} * {reach.per_unit}" if isinstance(reach, ErrorColumn) else repr(reach)


@pytest.mark.parametrize("path", PARSED, ids=lambda path: path.stem)
def test_parsed(path, request):
    check_cases(path, parsed, update=request.config.getoption("update_cases"))


@pytest.mark.parametrize("path", BOUND, ids=lambda path: path.stem)
def test_bound(path, request):
    check_cases(path, bound, update=request.config.getoption("update_cases"))


def test_there_are_cases():
    assert PARSED
    assert BOUND
