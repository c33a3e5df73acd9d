"""Chains of uncertain times: the kernels against every possible world, and at granularities no enumeration reaches."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import prod

import numpy as np
import pytest

from benchmarks.increasing import Weights, counted, interpolated, scaled
from tests.uncertain.chain_data import (
    Case,
    Segment,
    Segments,
    arrays,
    nodes_of,
    one_chain,
    random_case,
    random_segments,
    same,
    tick_by_tick,
    uniform,
)
from whenabouts.kernels.reference import chains as reference
from whenabouts.kernels.signatures import compiled
from whenabouts.kernels.uncertain import chain, feasible
from whenabouts.kernels.uncertain.signatures import CONFIDENCES, FEASIBLE_RANGES
from whenabouts.kernels.uncertain.times import Chains
from whenabouts.kernels.uncertain.window import CHEAPEST, EACH, SLIDING

METHODS = (CHEAPEST, EACH, SLIDING, chain.TICKS)


def confidence(events: Sequence[Segments], sizes: Sequence[int], span: int, method: int = CHEAPEST) -> float:
    return float(compiled(chain.confidences, CONFIDENCES)(arrays(events), one_chain(sizes), span, method)[0])


def check(case: Case) -> Fraction:
    wanted = reference.confidence(case.chain, case.within)
    for method in METHODS:
        found = confidence(case.events, case.sizes, case.span, method)
        assert same(found, wanted), (case, method, found, wanted)
    return wanted


@pytest.mark.parametrize("block", range(4))
def test_confidence_is_the_probability_of_the_worlds(block: int) -> None:
    rng = random.Random(block)
    confidences = [check(random_case(rng)) for _ in range(2000)]
    assert sum(0 < c < 1 for c in confidences) > 800
    assert sum(c == 0 for c in confidences) > 200
    assert max(confidences) == 1


@pytest.mark.parametrize("block", range(3))
def test_confidence_with_groups(block: int) -> None:
    rng = random.Random(100 + block)
    confidences = [check(random_case(rng, groups=True)) for _ in range(1500)]
    assert sum(0 < c < 1 for c in confidences) > 500
    assert sum(c == 0 for c in confidences) > 60


@pytest.mark.parametrize("groups", [False, True])
@pytest.mark.parametrize("holes", [False, True])
def test_ranges(*, groups: bool, holes: bool) -> None:
    rng = random.Random(200 + 2 * groups + holes)
    loop = compiled(chain.feasible_ranges, FEASIBLE_RANGES)
    seen = {True: 0, False: 0}
    for _ in range(400):
        case = random_case(rng, groups=groups, holes=holes)
        possible, earliest, latest = loop(arrays(case.events), one_chain(case.sizes), case.span)
        wanted = reference.ranges(case.chain, case.within)
        found = list(zip(earliest.tolist(), latest.tolist(), strict=True)) if possible[0] else None
        assert found == wanted, case
        seen[wanted is not None] += 1
    assert min(seen.values()) > 40


def test_many_chains_in_one_call() -> None:
    """Chains of different shape one after the other use the same space."""
    rng = random.Random(300)
    cases = [random_case(rng, groups=rng.random() < 0.5)._replace(span=6) for _ in range(300)]
    times = arrays([e for case in cases for e in case.events])
    sizes = [s for case in cases for s in case.sizes]
    ends = np.cumsum([len(case.sizes) for case in cases]).astype(np.int64)
    chains = Chains(ends, np.cumsum(sizes).astype(np.int64), np.arange(sum(sizes), dtype=np.int32))
    for method in METHODS:
        found = compiled(chain.confidences, CONFIDENCES)(times, chains, 6, method)
        assert found.tolist() == [confidence(c.events, c.sizes, 6, method) for c in cases]
    assert compiled(chain.confidences, CONFIDENCES)(times, chains._replace(ends=ends[:0]), 6, CHEAPEST).size == 0


@pytest.mark.parametrize("holes", [False, True])
def test_prefixes_stay_possible_exactly_as_long_as_something_can_follow(*, holes: bool) -> None:
    rng = random.Random(400 + holes)
    seen = {True: 0, False: 0}
    for _ in range(300):
        case = random_case(rng, groups=True, holes=holes)
        rest = rng.randint(0, 3)
        kept = _kept(case, rest)
        wanted = any(
            case.span < 0 or last + rest - start <= case.span for start, last in _extents(case.chain, case.within)
        )
        assert kept == wanted if not holes else kept >= wanted, (case, rest)
        seen[wanted] += 1
    assert min(seen.values()) > 50


def _kept(case: Case, rest: int) -> bool:
    """Whether the incremental test accepts every step of the way; inner kernels have no entry from Python."""
    rest += len(case.sizes)
    last, latest, member = feasible.EARLIEST, feasible.LATEST, 0
    for depth, size in enumerate(case.sizes):
        before, rest = last, rest - 1
        for i in range(size):
            lower, upper = case.events[member][0].start, case.events[member][-1].end
            if i == 0:
                last, latest = feasible.extend.py_func(before, latest, depth, lower, upper)
            else:
                last, latest = feasible.join.py_func(before, last, latest, depth, lower, upper)
            if not feasible.possible.py_func(before, last, latest, depth, upper, rest, case.span):
                return False
            member += 1
    return True


def _extents(nodes: reference.Chain, span: int | None) -> list[tuple[int, int]]:
    return [(min(w.instants), max(w.instants)) for w in reference.worlds(nodes, span)]


def test_a_prefix_is_at_least_as_likely() -> None:
    rng = random.Random(500)
    for _ in range(300):
        case = random_case(rng, groups=True)
        bounds = [
            confidence(case.events, case.sizes[:n], case.span) for n in range(1, len(case.sizes) + 1)
        ]  # fmt: skip
        assert all(longer <= shorter * (1 + 1e-12) for shorter, longer in pairwise(bounds)), case


def test_segments_and_single_ticks_are_the_same_distribution() -> None:
    rng = random.Random(600)
    for _ in range(60):
        sizes = [rng.choice((1, 1, 1, 2)) for _ in range(rng.randint(1, 5))]
        events = [random_segments(rng, rng.randint(0, 60), longest=90) for _ in range(sum(sizes))]
        span = rng.choice((-1, 20, 60, 100))
        wanted = confidence(events, sizes, span, EACH)
        for method in METHODS:
            fine = confidence([tick_by_tick(e) for e in events], sizes, span, method)
            assert fine == pytest.approx(wanted, rel=1e-12, abs=0), (events, sizes, span)
        later = [[Segment(s.start + 10**15, s.end + 10**15, s.weight) for s in e] for e in events]
        assert confidence(later, sizes, span) == pytest.approx(wanted, rel=1e-12, abs=0)


@pytest.mark.parametrize("reach", [-1, 1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_millions_of_ticks(seed: int, reach: int) -> None:
    rng = random.Random(700 + seed)
    length = 6 if seed else 4
    units = [(i // 2 + rng.randint(0, 1), i // 2 + rng.randint(1, 3)) for i in range(length)]

    def number(ticks: int) -> int:
        bounds, span = scaled(units, reach, 7, ticks)
        return counted([Weights.uniform(*b) for b in bounds], span)

    check_clocks([1] * length, units, reach, number)


@pytest.mark.parametrize("reach", [-1, 1, 2, 3])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_groups_and_millions_of_ticks(size: int, reach: int) -> None:
    rng = random.Random(800 + size)
    units = [(0, 1), *((a, a + 1) for a in (rng.randint(0, 2) for _ in range(size))), (2, 3)]

    def number(ticks: int) -> int:
        """By the lengths of what is left of each member between a first and a last instant."""
        (first, *group, last), span = scaled(units, reach, 7, ticks)
        return sum(
            prod(max(0, min(b, t - 1) - max(a, s + 1) + 1) for a, b in group)
            for s in range(first[0], first[1] + 1)
            for t in range(max(s + 1, last[0]), min(last[1], s + span if span >= 0 else last[1]) + 1)
        )

    check_clocks([1, size, 1], units, reach, number)


def check_clocks(
    sizes: Sequence[int], units: Sequence[tuple[int, int]], reach: int, number: Callable[[int], int]
) -> None:
    """Compare confidences on fine clocks with the polynomial that goes through the numbers of tuples on coarse ones."""
    points = [(ticks, number(ticks)) for ticks in range(14, 14 + len(units) + 3)]
    support, more = points[: len(units) + 1], points[len(units) + 1 :]
    assert [interpolated(support, ticks) for ticks, _ in more] == [n for _, n in more]
    assert points[0][1] > 0
    for ticks in (100, 5_000_000, 10**12):
        bounds, span = scaled(units, reach, 7, ticks)
        wanted = interpolated(support, ticks) / prod(b - a + 1 for a, b in bounds)
        for method in (CHEAPEST, EACH, SLIDING):
            found = confidence([uniform(*b) for b in bounds], sizes, span, method)
            assert same(found, wanted), (units, ticks, span, method, found, float(wanted))


def test_groups_that_take_too_long() -> None:
    """Neither the subsets of a large group nor millions of ticks: no number rather than an hour."""
    wide = [uniform(0, 10**7)] * 12
    assert np.isnan(confidence(wide, [1, 10, 1], -1))
    assert confidence(wide, [1, 9, 2], 0) == 0.0
    apart = (
        [uniform(0, 10**7)] + [uniform(k * 10**7, (k + 3) * 10**7) for k in range(40)] + [uniform(41 * 10**7, 10**9)]
    )
    assert 0 < confidence(apart, [1, 40, 1], -1) < 1
    assert confidence([uniform(0, 9)] + [uniform(9, 40)] * 30 + [uniform(40, 60)], [1, 30, 1], -1) > 0


def test_what_is_certain_or_impossible() -> None:
    assert confidence([uniform(0, 9), uniform(10, 99)], [1, 1], -1) == 1.0
    assert confidence([uniform(5, 9), uniform(1, 5)], [1, 1], -1) == 0.0
    assert confidence([uniform(0, 9), uniform(0, 9), uniform(0, 9)], [1, 1, 1], 1) == 0.0
    assert confidence([uniform(3, 3)] * 2, [2], 0) == 1.0
    assert confidence([uniform(0, 10**15), uniform(0, 10**15)], [1, 1], 0) == 0.0


def test_the_published_examples() -> None:
    """Test vectors 1 and 3 and the unordered closure of 9 (spec of imprecise time, section 10)."""
    a, b, c2, c4 = uniform(1, 5), uniform(3, 7), uniform(3, 5), uniform(4, 6)
    assert same(confidence([a, b, c2], [1, 1, 1], 3), Fraction(1, 15))
    assert same(confidence([a, b, c4], [1, 1, 1], 3), Fraction(8, 75))
    assert same(confidence([uniform(1, 10), uniform(10, 10)], [1, 1], 2), Fraction(1, 5))
    closure = [uniform(0, 2), uniform(1, 3), uniform(2, 4), uniform(3, 6)]
    assert same(confidence(closure, [1, 2, 1], 5), Fraction(13, 36))
    assert same(confidence(closure, [1, 1, 1, 1], 5), Fraction(19, 108))
    assert nodes_of(closure, [1, 2, 1])[1][1] == {t: Fraction(1, 3) for t in (2, 3, 4)}
