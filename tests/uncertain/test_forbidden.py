"""Chains with forbidden regions: the sweep over cells against the sum over all instants, in fractions."""

import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import comb

import numpy as np
import pytest

from tests.uncertain.chances import Case, arrays, random_case, with_groups
from whenabouts.kernels.reference.forbidden import Row, outcome
from whenabouts.kernels.signatures import compiled
from whenabouts.kernels.uncertain.forbidden import Effort, confidences
from whenabouts.kernels.uncertain.rules import rules
from whenabouts.kernels.uncertain.signatures_forbidden import CONFIDENCES
from whenabouts.kernels.uncertain.times import BOUNDED, ESTIMATED, EXACT, times_of
from whenabouts.kernels.uncertain.weighing import Wanted, weights

ALL = Wanted()
USUAL = Effort()
TICKS = Effort(narrow=1 << 40, bits=1e9, square=1e9, work=1e15)
CELLS = Effort(narrow=0, bits=1e9, square=1e9, work=1e15)
BITS, LISTS, SQUARES = Effort(bits=1e9, square=1e9), Effort(bits=0.0, square=1e9), Effort(bits=1e9, square=0.0)
LIMITED = Effort(work=0.0, wide=2.0)
SAMPLES = Effort(work=0.0, interval=0.0, samples=2000)


def computed(cases: list[Case], effort: Effort = USUAL) -> list[tuple[float, float, int]]:
    """The kernel's answers, in order; one batch per window."""
    by_span = defaultdict(list)
    for i, case in enumerate(cases):
        by_span[case.span].append(i)
    found: list[tuple[float, float, int]] = [(0.0, 0.0, 0)] * len(cases)
    for span, indices in by_span.items():
        chosen = arrays([cases[i] for i in indices])
        columns = compiled(confidences, CONFIDENCES)(*chosen, span, rules(), effort)
        if effort is USUAL:
            assert all(np.allclose(a, b, 0, 1e-12) for a, b in zip(weights(*chosen, span, ALL), columns, strict=True))
        for i, value, error, kind in zip(indices, *columns, strict=True):
            found[i] = (float(value), float(error), int(kind))
    return found


def agree(cases: list[Case], effort: Effort = USUAL) -> int:
    """Compare exact confidences; returns how many are possible."""
    possible = 0
    for case, (value, _, kind) in zip(cases, computed(cases, effort), strict=True):
        wanted = outcome(case.masses, case.chain, case.rows, case.span)
        assert kind == EXACT, case
        if wanted is None:
            assert value == 0, case
            continue
        possible += 1
        assert value > 0, case
        assert abs(value - float(wanted.confidence)) < 1e-12, (case, float(wanted.confidence), value)
    return possible


@pytest.mark.parametrize("seed", range(4))
def test_few_ticks(seed: int) -> None:
    rng = random.Random(seed)
    cases = [random_case(rng) for _ in range(700)]
    assert agree(cases, BITS) == agree(cases, LISTS) == agree(cases, SQUARES) > 100


@pytest.mark.parametrize("seed", range(2))
def test_few_ticks_by_cells(seed: int) -> None:
    rng = random.Random(50 + seed)
    cases = [random_case(rng) for _ in range(500)]
    assert agree(cases, CELLS) > 70


@pytest.mark.parametrize("seed", range(2))
def test_more_ticks(seed: int) -> None:
    rng = random.Random(100 + seed)
    cases = [random_case(rng, nodes=3, width=9) for _ in range(150)]
    assert agree(cases) > 20


@pytest.mark.parametrize("seed", range(3))
def test_groups(seed: int) -> None:
    rng = random.Random(200 + seed)
    cases = [with_groups(rng, random_case(rng, nodes=3, width=3)) for _ in range(500)]
    assert agree(cases, BITS) == agree(cases, LISTS) > 70


def wide_case(
    rng: random.Random, widths: tuple[int, int], *, nodes: int = 3, others: int = 6, lead: bool = True
) -> Case:
    """Uniform masses only, tens to thousands of ticks wide."""
    case = random_case(rng, nodes=nodes, others=others, lead=lead)
    stretch = rng.randint(*widths)
    case.masses = [
        wide((min(mass) + rng.random()) * stretch, max(1, (len(mass) + rng.random() - 0.5) * stretch))
        for mass in case.masses
    ]
    case.span = -1 if case.span < 0 else round((case.span + rng.random()) * stretch)
    return case


def wide(lower: float, width: float) -> dict[int, Fraction]:
    return dict.fromkeys(range(round(lower), round(lower) + max(1, round(width))), Fraction(1, max(1, round(width))))


@pytest.mark.parametrize("widths", [(10, 40), (40, 120), (200, 600)])
def test_cells_equal_ticks(widths: tuple[int, int]) -> None:
    """Ticks one by one were compared with the definition above."""
    rng = random.Random(widths[0])
    cases = [wide_case(rng, widths) for _ in range(200 if widths[1] < 200 else 25)]
    positive = 0
    for case, ticks, *others in zip(cases, *(computed(cases, way) for way in (TICKS, CELLS, SQUARES)), strict=True):
        for other in others:
            assert ticks[2] == other[2] == EXACT
            assert (ticks[0] == 0) == (other[0] == 0), case
            assert abs(ticks[0] - other[0]) < 1e-12, (case.chain, case.rows, case.span, ticks, other)
        positive += ticks[0] > 0
    assert positive > len(cases) // 6


def on_intervals(case: Case, lower: np.ndarray, upper: np.ndarray) -> tuple[float, int]:
    """Confidence and kind of a case whose events are uniform on these intervals."""
    _, chains, forbidders = arrays([replace(case, masses=[{0: Fraction(1)}] * lower.size)])
    times = times_of(lower, upper)
    value, _, kind = compiled(confidences, CONFIDENCES)(times, chains, forbidders, case.span, rules(), USUAL)
    return float(value[0]), int(kind[0])


def total(polynomial: Callable[[int], int], count: int, degree: int) -> int:
    """The sum over 1..count, from the differences at 1 (Newton)."""
    differences = [polynomial(d) for d in range(1, degree + 2)]
    result = 0
    for k in range(degree + 1):
        result += comb(count, k + 1) * differences[0]
        differences = [b - a for a, b in pairwise(differences)]
    return result


@pytest.mark.parametrize("span", [-1, 300_000, 999_999])
@pytest.mark.parametrize("disturbers", [0, 1, 5, 30])
def test_a_million_ticks(disturbers: int, span: int) -> None:
    """Only the distance d of the first two events matters: a sum over d, in whole numbers."""
    width = 1_000_000
    most = width - 1 if span < 0 else min(span, width - 1)
    pairs = total(lambda d: (width - d) * (width - d + 1) ** disturbers, most, disturbers + 1)
    triples = total(
        lambda d: ((most - d) * (width - d) - (most - d) * (most - d + 1) // 2) * (width - d + 1) ** disturbers,
        most,
        disturbers + 2,
    )
    for events, wanted in ((2, pairs), (3, triples)):
        rows = [Row(events + x, 0, from_last=True, high=1) for x in range(disturbers)]
        lower = np.zeros(events + disturbers, np.int64)
        value, kind = on_intervals(Case([], [[e] for e in range(events)], rows, span), lower, lower + width - 1)
        assert kind == EXACT
        assert abs(value - float(Fraction(wanted, width ** (events + disturbers)))) < 1e-12


def test_cells_do_not_depend_on_the_clock() -> None:
    """The same intervals in ever finer ticks converge; a thousand times the ticks must not cost more."""
    rng = random.Random(3)
    for _ in range(20):
        case = random_case(rng, nodes=3, width=3, lead=True)
        found = []
        for scale in (10_000, 100_000_000):
            lower = np.array([min(mass) for mass in case.masses]) * scale
            upper = lower + np.array([len(mass) for mass in case.masses]) * scale - 1
            span = case.span if case.span < 0 else case.span * scale
            found.append(on_intervals(replace(case, span=span), lower, upper))
        assert found[0][1] == found[1][1] == EXACT
        assert abs(found[0][0] - found[1][0]) < 2e-3


VECTORS = [  # spec of imprecise time, section 10: window - 1, chain, rows (event, gap), confidence
    (3, [(1, 5), (3, 7), (3, 5), (4, 6)], [0, 1, 2], [(3, 1)], Fraction(14, 225)),
    (3, [(1, 5), (3, 7), (3, 5), (4, 6)], [0, 1, 3], [(2, 1)], Fraction(22, 225)),
    (8, [(0, 2), (3, 5), (5, 6)], [0, 2], [(1, 0)], Fraction(1, 6)),
    (8, [(0, 1), (2, 4), (3, 5), (1, 6)], [0, 1, 2], [(3, 0), (3, 1)], Fraction(25, 54)),
    (8, [(0, 1), (2, 4), (3, 5), (1, 6)], [0, 3, 2], [(1, 0), (1, 1)], Fraction(23, 108)),
    (5, [(0, 2), (1, 3), (3, 5)], [0, 2], [(1, 0)], Fraction(4, 9)),
    (3, [(0, 1), (2, 3), (2, 6)], [0, 1], [(2, 1)], Fraction(4, 5)),
    (3, [(2, 3), (4, 5), (0, 3)], [0, 1], [(2, -1)], Fraction(3, 4)),
]


@pytest.mark.parametrize(("span", "bounds", "chain", "rows", "confidence"), VECTORS)
def test_examples(span, bounds, chain, rows, confidence) -> None:
    masses = [wide(lower, upper - lower + 1) for lower, upper in bounds]
    placed = [Row(event, gap, from_last=True, high=gap + 1) for event, gap in rows]
    case = Case(masses, [[e] for e in chain], placed, span)
    truth = outcome(case.masses, case.chain, case.rows, case.span)
    assert truth
    assert truth.confidence == confidence
    assert abs(computed([case])[0][0] - confidence) < 1e-12


def test_intervals_and_estimates() -> None:
    """With nothing to spend: the interval holds the confidence, the estimate is as near as it says."""
    rng = random.Random(7)
    cases = [random_case(rng, lead=False, width=5, others=8) for _ in range(1600)]
    cases += [with_groups(rng, random_case(rng, nodes=3, width=3)) for _ in range(200)]
    kinds = [0, 0, 0]
    for case, bounded, sampled in zip(cases, computed(cases, LIMITED), computed(cases, SAMPLES), strict=True):
        truth = outcome(case.masses, case.chain, case.rows, case.span)
        wanted = float(truth.confidence) if truth else 0.0
        for value, error, kind in (bounded, sampled):
            assert abs(value - wanted) <= error + 1e-12, (case, wanted, value, error, kind)
            kinds[kind] += 1
    assert kinds[BOUNDED] > 10
    assert kinds[ESTIMATED] > 20


def test_estimates_depend_on_the_chain_alone() -> None:
    rng = random.Random(8)
    cases = [random_case(rng, lead=False) for _ in range(300)]
    alone = [computed([case], SAMPLES)[0] for case in cases]
    assert computed(cases, SAMPLES) == alone
    assert any(kind == ESTIMATED for _, _, kind in alone)


@pytest.mark.parametrize("wanted", [Wanted(0.3), Wanted(best=5), Wanted(0.1, 20), Wanted(best=0)])
def test_what_is_wanted_keeps_its_confidence(wanted: Wanted) -> None:
    rng = random.Random(7)
    cases = [replace(random_case(rng), span=6) for _ in range(3000)]
    chosen = arrays(cases)
    every = weights(*chosen, 6, ALL).value
    found = weights(*chosen, 6, wanted).value
    least = max(wanted.least, np.sort(every)[-wanted.best] if wanted.best > 0 else 0.0)
    must = (every >= least) & (every > 0) & (wanted.best != 0)
    assert (found[must] == every[must]).all()
    assert ((found == every) | (found == 0)).all()
    assert (found > 0).sum() < (every > 0).sum()
