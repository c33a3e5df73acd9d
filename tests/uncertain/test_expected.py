"""Expected totals over all chains against the sum over every chain and every world."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tests.uncertain.chain_data import Segment, Segments, arrays, pmf, random_segments, same, tick_by_tick, uniform
from whenabouts.kernels.reference import chains as reference
from whenabouts.kernels.signatures import compiled
from whenabouts.kernels.uncertain.chain import confidences
from whenabouts.kernels.uncertain.expected import expected_totals
from whenabouts.kernels.uncertain.signatures import CONFIDENCES, EXPECTED_TOTALS
from whenabouts.kernels.uncertain.times import Chains
from whenabouts.kernels.uncertain.window import CHEAPEST, EACH, SLIDING

Entries = Sequence[Sequence[tuple[Segments, int]]]  # per class: times and values


def total(classes: Entries, span: int, method: int = CHEAPEST) -> float:
    entries = [entry for entries in classes for entry in entries]
    place = np.repeat(np.arange(len(classes)), [len(c) for c in classes])
    values = np.array([[v for _, v in entries]], np.float64)
    ((found,),) = compiled(expected_totals, EXPECTED_TOTALS)(
        arrays([e for e, _ in entries]), np.array([0, len(entries)]), place, values, len(classes), span, method
    )
    return float(found)


@pytest.mark.parametrize("values", [False, True])
def test_the_sum_over_all_chains(*, values: bool) -> None:
    rng = random.Random(values)
    totals = []
    for _ in range(300):
        classes = [
            [
                (random_segments(rng, rng.randint(0, 8), longest=4), rng.randint(0, 3) if values else 1)
                for _ in range(rng.randint(0 if rng.random() < 0.1 else 1, 3))
            ]
            for _ in range(rng.randint(1, 4))
        ]
        span = rng.choice((-1, 0, 2, 4, 7, 20))
        weighted = [[(pmf(e), Fraction(v)) for e, v in entries] for entries in classes]
        wanted = reference.expected_total(weighted, None if span < 0 else span)
        for method in (CHEAPEST, EACH, SLIDING):
            assert same(total(classes, span, method), wanted), (classes, span)
        totals.append(wanted)
    assert sum(t > 1 for t in totals) > 50
    assert sum(t == 0 for t in totals) > 30
    assert total([], 3) == 0


def test_many_events_at_any_granularity() -> None:
    """The sum of the confidences of all chains, with millions of ticks and tick by tick."""
    rng = random.Random(2)
    for unit in (1, 1_000_000):
        starts = [[rng.randint(0, 400) * unit for _ in range(12)] for _ in range(3)]
        events = [[uniform(s, s + rng.randint(1, 60) * unit - 1) for s in row] for row in starts]
        span = 90 * unit
        flat = [e for row in events for e in row]
        chosen = np.array([(a, 12 + b, 24 + c) for a, b, c in product(range(12), repeat=3)], np.int32)
        chains = Chains(np.arange(3, chosen.size + 1, 3), np.arange(1, chosen.size + 1), chosen.ravel())
        wanted = compiled(confidences, CONFIDENCES)(arrays(flat), chains, span, CHEAPEST).sum()
        assert wanted > 1
        assert total([[(e, 1) for e in row] for row in events], span) == pytest.approx(wanted, rel=1e-12)
        if unit == 1:
            fine = [[(tick_by_tick(e), 1) for e in row] for row in events]
            assert total(fine, span) == pytest.approx(wanted, rel=1e-12)


def test_a_window_that_is_empty_first_and_full_later() -> None:
    """What is cheaper is not judged by the first window."""
    classes = [[([Segment(t, t, 1)], 1) for t in (0, *range(10_000 + j, 22_000, 3))] for j in range(3)]
    span = 3_000
    first, _, last = ([e[0].start for e, _ in entries] for entries in classes)
    middle = np.array([e[0].start for e, _ in classes[1]])
    starts, ends = np.array(first)[:, None], np.array(last)[None, :]
    inside = (ends > starts) & (ends - starts <= span)
    between = np.searchsorted(middle, ends, "left") - np.searchsorted(middle, starts, "right")
    assert total(classes, span) == pytest.approx(int((between * inside).sum()), rel=1e-12)
