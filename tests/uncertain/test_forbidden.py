"""Chains with forbidden regions: the sweep over cells against the sum over all instants, in fractions."""

import random
from collections import defaultdict
from fractions import Fraction

import pytest

from tests.uncertain.chances import Case, arrays, random_case, with_groups
from whenabouts.kernels.reference.forbidden import outcome
from whenabouts.kernels.signatures import compiled
from whenabouts.kernels.uncertain.forbidden import Effort, confidences
from whenabouts.kernels.uncertain.rules import rules
from whenabouts.kernels.uncertain.signatures_forbidden import CONFIDENCES
from whenabouts.kernels.uncertain.times import EXACT

USUAL = Effort()
TICKS = Effort(narrow=1 << 40)
CELLS = Effort(narrow=0)


def computed(cases: list[Case], effort: Effort = USUAL) -> list[tuple[float, float, int]]:
    """The kernel's answers, in order; one batch per window."""
    by_span = defaultdict(list)
    for i, case in enumerate(cases):
        by_span[case.span].append(i)
    found: list[tuple[float, float, int]] = [(0.0, 0.0, 0)] * len(cases)
    for span, indices in by_span.items():
        columns = compiled(confidences, CONFIDENCES)(*arrays([cases[i] for i in indices]), span, rules(), effort)
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
    assert agree(cases) > 100


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
    assert agree(cases) > 70


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


@pytest.mark.parametrize("widths", [(10, 40), (40, 120)])
def test_cells_equal_ticks(widths: tuple[int, int]) -> None:
    """Ticks one by one were compared with the definition above."""
    rng = random.Random(widths[0])
    cases = [wide_case(rng, widths) for _ in range(120)]
    positive = 0
    for case, ticks, cells in zip(cases, computed(cases, TICKS), computed(cases, CELLS), strict=True):
        assert ticks[2] == cells[2] == EXACT
        assert (ticks[0] == 0) == (cells[0] == 0), case
        assert abs(ticks[0] - cells[0]) < 1e-12, (case.chain, case.rows, case.span, ticks, cells)
        positive += ticks[0] > 0
    assert positive > 20
