"""The case files over uncertain time, run by the reference."""

import pytest

from tests.uncertain.case_files import UncertainMatchCase, all_cases
from tests.uncertain.random_cases import SCHEMA, pmfs_of
from whenabouts.errors import UnsupportedError
from whenabouts.kernels.reference.linear import linear_of
from whenabouts.kernels.reference.worlds import final_tau, match_uncertain
from whenabouts.language.bind import bind
from whenabouts.language.sase import parse

CASES = all_cases()


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_reference(case: UncertainMatchCase) -> None:
    bound = bind(parse(case.query), SCHEMA)
    found = {
        tuple((step, tuple(case.events[row]["id"] for row in rows)) for step, rows in m.signature): m
        for m in match_uncertain(bound, case.events, pmfs_of(case.events), closure_as_set=case.closure_as_set)
    }
    assert {s: m.confidence for s, m in found.items()} == {s: e.confidence for s, e in case.matches.items()}
    for steps, expected in case.matches.items():
        if expected.extent is not None:
            assert (found[steps].start, found[steps].end) == expected.extent
        if expected.final != "not stated":
            assert final_tau(bound, found[steps], closure_as_set=case.closure_as_set) == expected.final


def test_cases_say_what_they_could() -> None:
    """Every linear case of ours states the range, and where a match is final; those of the spec state what it does."""
    for case in CASES:
        if case.name.startswith("traps"):
            assert all(e.extent is not None for e in case.matches.values()), case.name
            try:
                linear_of(parse(case.query).patterns[0])
            except UnsupportedError:
                continue
            assert all(e.final != "not stated" for e in case.matches.values()), case.name
