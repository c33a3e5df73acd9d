"""Truth at scale: a hundred thousand random questions over uncertain time, against every possible world in fractions.

Each variant is a family of patterns, and each call compares other cases: QUERIES queries, each compiled once and asked
of TABLES tables, in every way of evaluation in turn; families of sets read closures as CLOSURE set does. Compared are
the signatures, the ranges of all events, start and end, and the confidences to 1e-12. The column `events` counts the
cases of one call, the last columns add up all calls: 100,800 cases at full scale with `--repeats 3`. A mismatch is made
small, printed with its seed, and fails the run.
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
from tests.uncertain.engines import answers, as_sets, plan_for, same_confidences, table_of, truth
from tests.uncertain.random_cases import PROFILES, Limits, UncertainCase, random_uncertain_case, redrawn
from whenabouts.engine import Plan
from whenabouts.kernels.uncertain.run import Order
from whenabouts.plan.bound import Bound

NAME = "worlds"
QUERIES: dict[Scale, int] = {"tiny": 1, "full": 70}  # of each family, in each call
TABLES: dict[Scale, int] = {"tiny": 10, "full": 20}  # for each query
MOST_WORLDS, MANY_WORLDS = 200, 1_000  # of a table; of the first table of each query
ORDERS = (None, *Order)
SETS = ("unordered", "any closures", "next closures", "negation", "shared classes", "linear")
FAMILIES: dict[str, tuple[Limits, bool]] = {  # what is drawn, and whether closures are sets
    **{name: (limits, False) for name, limits in PROFILES.items()},
    **{f"{name}, sets": (replace(PROFILES[name], ordered=False, slots=with_closures), True)
       for name, with_closures in ((n, (*PROFILES[n].slots, "closure")) for n in SETS)},
}  # fmt: skip
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
class Question:
    """A query in one way of evaluation."""

    plan: Plan
    bound: Bound
    order: Order | None


@dataclass(frozen=True)
class Sizes:
    queries: int
    tables: int

    def __len__(self) -> int:
        return self.queries * self.tables


def load(scale: Scale) -> Sizes:
    return Sizes(QUERIES[scale], TABLES[scale])


def compared(family: str, seed: int, tables: int) -> Tally:
    """One query over its tables."""
    limits, sets = FAMILIES[family]
    many = replace(limits, worlds=MANY_WORLDS)
    first = random_uncertain_case(seed, many)
    bound = as_sets(first.bound) if sets else first.bound
    plan = plan_for(bound)
    if plan is None:
        return Tally(cases=tables, refused=tables)
    tally = Tally()
    for number in range(tables):
        case = first if number == 0 else redrawn(first, number, replace(many, worlds=MOST_WORLDS))
        order = ORDERS[(seed + number) % len(ORDERS)]
        order = None if sets and order is Order.POINTS else order  # which is refused
        tally += _judged(Question(plan, bound, order), case, f"{family!r}, seed {seed}, table {number}")
    return tally


def _judged(question: Question, case: UncertainCase, name: str) -> Tally:
    fault, confidence = _fault(question, case)
    uncertain = sum(value < 1 for value in confidence.values())
    if not fault:
        return Tally(1, 0, len(confidence), uncertain)
    small = _smallest(question, case)
    lines = (f"{name}, order {question.order}: {case.text}", *map(str, small.events), _fault(question, small)[0])
    return Tally(1, 0, len(confidence), uncertain, 1, "\n  ".join(lines) + "\n")


def _fault(question: Question, case: UncertainCase) -> tuple[str, dict[Any, float]]:
    """How the engine's answer differs from the truth, or nothing; and the truth."""
    confidence, wanted = truth(question.bound, case.events)
    try:
        ours, found = answers(question.plan, table_of(case.events), question.order)
    except Exception as error:  # noqa: BLE001 - whatever it is, the reference had an answer
        return f"{type(error).__name__}: {error}", confidence
    if not same_confidences(ours, confidence):
        return f"confidences {ours} instead of {confidence}", confidence
    return "" if found == wanted else f"{found} instead of {wanted}", confidence


def _smallest(question: Question, case: UncertainCase) -> UncertainCase:
    """The case without the events that the mismatch does not need."""
    for place in reversed(range(len(case.events))):
        fewer = replace(case, events=case.events[:place] + case.events[place + 1 :])
        if fewer.events and _fault(question, fewer)[0]:
            case = fewer
    return case


def _called(family: str, sizes: Sizes, times: int) -> Iterator[tuple[Tally, float]]:
    """Every call goes on with further seeds; its answer is the tally so far."""
    tally, spawn = Tally(), multiprocessing.get_context("spawn")
    first = FAMILY * list(FAMILIES).index(family)
    with ProcessPoolExecutor(PROCESSES, mp_context=spawn) as pool:
        for call in range(times):
            start = perf_counter()
            seeds = range(first + call * sizes.queries, first + (call + 1) * sizes.queries)
            tally = sum(pool.map(partial(compared, family, tables=sizes.tables), seeds), tally)
            yield tally, perf_counter() - start
            counts = ", ".join(f"{count:,} {name}" for name, count in figures(tally).items())
            print(f"{NAME}, {family}: {counts}", file=sys.stderr, flush=True)


VARIANTS = {family: SelfTimed(partial(_called, family)) for family in FAMILIES}


def check(sizes: Sizes, tally: Tally) -> None:
    if tally.mismatches:
        raise AssertionError(f"{tally.mismatches} of {tally.cases} cases\n{tally.reports}")


def figures(tally: Tally) -> dict[str, int]:
    return {name: getattr(tally, name) for name in ("cases", "refused", "matches", "uncertain", "mismatches")}


def conclusion(rows: list[Row]) -> str:
    total = {name: sum(row.figures[name] for row in rows) for name in rows[0].figures}
    return ", ".join(f"{name}={count:,}" for name, count in total.items())
