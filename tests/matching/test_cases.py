"""The case files, run by the reference and by the kernels; tests/spark runs them on Spark."""

import pyarrow as pa
import pytest

import whenabouts as wa
from tests.matching.case_files import MatchCase, all_cases
from whenabouts.events.schema import Roles
from whenabouts.events.table import schema_of
from whenabouts.kernels.reference.matching import match
from whenabouts.language.bind import bind
from whenabouts.language.sase import parse
from whenabouts.plan.rewrites import rewrite

CASES = all_cases()


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_kernels(case: MatchCase) -> None:
    rows = wa.query(case.query).match(list(case.events))
    assert {tuple(sorted((s, tuple(ids)) for s, ids in r["events"].items())) for r in rows} == case.matches, (
        case.sentence
    )
    assert len(rows) == len(case.matches)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_reference(case: MatchCase) -> None:
    schema = schema_of(pa.Table.from_pylist(list(case.events)).schema, Roles())
    bound = rewrite(bind(parse(case.query), schema))
    found = match(bound, case.events)
    ids = {tuple(sorted((s, tuple(case.events[i]["id"] for i in rows)) for s, rows in f)) for f in found}
    assert ids == case.matches, case.sentence
