"""Truth at scale: a hundred thousand random questions over uncertain time, against every possible world in fractions.

Each variant is a family of patterns, and each call compares other cases: QUERIES queries, each compiled once and asked
of TABLES tables, in every order of evaluation in turn. Compared are the signatures, the ranges of all events, start and
end, and the confidences to 1e-12. The column `events` counts the cases of one call, the last columns add up all calls:
100,800 cases at full scale with the usual repeats. A mismatch is made small, printed with its seed, and fails the run.
"""

import multiprocessing
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

from benchmarks.measure import Row, Scale, SelfTimed
from tests.uncertain.engines import answers, plan_for, same_confidences, table_of, truth
from tests.uncertain.random_cases import PROFILES, UncertainCase, random_uncertain_case, redrawn
from whenabouts.engine import Plan
from whenabouts.kernels.uncertain.run import Order

NAME = "worlds"
QUERIES: dict[Scale, int] = {"tiny": 1, "full": 70}  # of each family, in each call
TABLES: dict[Scale, int] = {"tiny": 10, "full": 20}  # for each query
MOST_WORLDS, MANY_WORLDS = 200, 1_000  # of a table; of the first table of each query
ORDERS = (None, Order.QUERY, Order.SELECTIVITY, Order.ANY_STATE)
PROCESSES = 2
FAMILY = 1_000_000  # the families' seeds are so far apart: many of them draw alike


@dataclass(frozen=True)
class Tally:
    """What some cases came to."""

    cases: int = 0
    refused: int = 0  # cases whose query the engine does not support, and says so
    matches: int = 0
    uncertain: int = 0  # matches with a confidence below 1
    mismatches: int = 0
    reports: str = ""

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(*(mine + its for mine, its in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True)
class Sizes:
    queries: int
    tables: int

    def __len__(self) -> int:
        return self.queries * self.tables


def load(scale: Scale) -> Sizes:
    return Sizes(QUERIES[scale], TABLES[scale])


def compared(profile: str, seed: int, tables: int) -> Tally:
    """One query over its tables."""
    many = replace(PROFILES[profile], worlds=MANY_WORLDS)
    first = random_uncertain_case(seed, many)
    plan = plan_for(first.bound)
    if plan is None:
        return Tally(cases=tables, refused=tables)
    tally = Tally()
    for number in range(tables):
        case = first if number == 0 else redrawn(first, number, replace(many, worlds=MOST_WORLDS))
        tally += _judged(plan, case, f"{profile!r}, seed {seed}, table {number}", ORDERS[(seed + number) % len(ORDERS)])
    return tally


def _judged(plan: Plan, case: UncertainCase, name: str, order: Order | None) -> Tally:
    fault, confidence = _fault(plan, case, order)
    uncertain = sum(value < 1 for value in confidence.values())
    if not fault:
        return Tally(1, 0, len(confidence), uncertain)
    small = _smallest(plan, case, order)
    lines = (f"{name}, order {order}: {case.text}", *map(str, small.events), _fault(plan, small, order)[0])
    return Tally(1, 0, len(confidence), uncertain, 1, "\n  ".join(lines) + "\n")


def _fault(plan: Plan, case: UncertainCase, order: Order | None) -> tuple[str, dict[Any, float]]:
    """How the engine's answer differs from the truth, or nothing; and the truth."""
    confidence, wanted = truth(case.bound, case.events)
    try:
        ours, found = answers(plan, table_of(case.events), order)
    except Exception as error:  # noqa: BLE001 - whatever it is, the reference had an answer
        return f"{type(error).__name__}: {error}", confidence
    if not same_confidences(ours, confidence):
        return f"confidences {ours} instead of {confidence}", confidence
    return "" if found == wanted else f"{found} instead of {wanted}", confidence


def _smallest(plan: Plan, case: UncertainCase, order: Order | None) -> UncertainCase:
    """The case without the events that the mismatch does not need."""
    for place in reversed(range(len(case.events))):
        fewer = replace(case, events=case.events[:place] + case.events[place + 1 :])
        if fewer.events and _fault(plan, fewer, order)[0]:
            case = fewer
    return case


def _called(profile: str, sizes: Sizes, times: int) -> Iterator[tuple[Tally, float]]:
    """Every call goes on with further seeds; its answer is the tally so far."""
    tally, spawn = Tally(), multiprocessing.get_context("spawn")
    family = FAMILY * list(PROFILES).index(profile)
    with ProcessPoolExecutor(PROCESSES, mp_context=spawn) as pool:
        for call in range(times):
            start = perf_counter()
            seeds = range(family + call * sizes.queries, family + (call + 1) * sizes.queries)
            tally = sum(pool.map(partial(compared, profile, tables=sizes.tables), seeds), tally)
            yield tally, perf_counter() - start
            counts = ", ".join(f"{count:,} {name}" for name, count in figures(tally).items())
            print(f"{NAME}, {profile}: {counts}", file=sys.stderr, flush=True)


VARIANTS = {profile: SelfTimed(partial(_called, profile)) for profile in PROFILES}


def check(sizes: Sizes, tally: Tally) -> None:
    if tally.mismatches:
        raise AssertionError(f"{tally.mismatches} of {tally.cases} cases\n{tally.reports}")


def figures(tally: Tally) -> dict[str, int]:
    return {name: getattr(tally, name) for name in ("cases", "refused", "matches", "uncertain", "mismatches")}


def conclusion(rows: list[Row]) -> str:
    total = {name: sum(row.figures[name] for row in rows) for name in rows[0].figures}
    return ", ".join(f"{name}={count:,}" for name, count in total.items())
