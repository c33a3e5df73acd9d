"""Segments against literal probability mass functions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.timeline import literal_pmfs as literal
from whenabouts.events.schema import Shape
from whenabouts.timeline.distributions import (
    MOST_SEGMENTS,
    Lists,
    listed,
    shaped,
    taken,
    uniform,
    wrong_length,
    wrong_masses,
)
from whenabouts.timeline.shapes import mass_of_half

TRIANGULAR, NORMAL = Shape("triangular"), Shape("normal")
intervals = st.lists(st.tuples(st.integers(-50, 50), st.integers(0, MOST_SEGMENTS - 1)), min_size=1, max_size=8)


def arrays(pairs):
    lower = np.array([a for a, _ in pairs], np.int64)
    return lower, lower + np.array([n for _, n in pairs], np.int64)


def check(segments, event, pmf):
    """One event: the masses of its ticks, and those before and behind each segment."""
    expected = literal.support(pmf)
    found = literal.of_segments(segments, event)
    assert (segments.lower[event], segments.upper[event]) == (min(expected), max(expected))
    assert set(found) == set(range(min(expected), max(expected) + 1))
    for t, mass in found.items():
        assert mass == pytest.approx(float(pmf[t]), rel=1e-12, abs=0)
    for k in range(segments.first[event], segments.first[event + 1]):
        start, last = segments.start[k], k + 1 == segments.first[event + 1]
        end = segments.upper[event] + 1 if last else segments.start[k + 1]
        before, behind = (sum(m for t, m in expected.items() if test(t)) for test in (start.__gt__, end.__le__))
        assert segments.before[k] == pytest.approx(float(before), rel=1e-12, abs=0)
        assert segments.behind[k] == pytest.approx(float(behind), rel=1e-12, abs=0)


def test_uniform_is_one_segment_whatever_the_length():
    lower = np.array([0, -5, 10**15], np.int64)
    upper = np.array([0, 4, 10**18], np.int64)
    segments = uniform(lower, upper)
    assert segments.first.tolist() == [0, 1, 2, 3]
    assert segments.mass.tolist() == [1.0, 0.1, 1 / (10**18 - 10**15 + 1)]
    check(segments, 1, literal.uniform(-5, 4))


@settings(deadline=None, max_examples=150)
@given(intervals, st.data())
def test_triangular_is_exact_per_tick(pairs, data):
    lower, upper = arrays(pairs)
    peak = None
    if data.draw(st.booleans()):
        peak = np.array([data.draw(st.integers(a, a + n)) for a, n in pairs], np.int64)
    segments = shaped(TRIANGULAR, lower, upper, peak)
    for e in range(lower.size):
        check(segments, e, literal.triangular(int(lower[e]), int(upper[e]), None if peak is None else int(peak[e])))


def half_normal(x, sigmas):
    return math.erf(x * sigmas / math.sqrt(2)) / math.erf(sigmas / math.sqrt(2)) / 2


@settings(deadline=None, max_examples=100)
@given(intervals, st.floats(0.1, 6))
def test_normal_masses_are_differences_of_the_cut_normal(pairs, sigmas):
    lower, upper = arrays(pairs)
    segments = shaped(Shape("normal", sigmas), lower, upper)
    for e in range(lower.size):
        width = int(upper[e] - lower[e] + 1)
        places = [2 * i / width - 1 for i in range(width + 1)]
        areas = [math.copysign(half_normal(abs(p), sigmas), p) for p in places]
        found = literal.of_segments(segments, e)
        for i in range(width):
            assert found[lower[e] + i] == pytest.approx(areas[i + 1] - areas[i], abs=1e-13)
        assert math.fsum(found.values()) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("shape", [TRIANGULAR, NORMAL, Shape("normal", 30), Shape("normal", 0.1)])
@pytest.mark.parametrize("ticks", [MOST_SEGMENTS + 1, 1000, 4097, 10**9 + 7, 10**17])
def test_long_intervals_have_a_bounded_number_of_segments(shape, ticks):
    lower, upper = np.array([-7], np.int64), np.array([ticks - 8], np.int64)
    for peak in (None, np.array([-7]), np.array([-7 + ticks // 3])):
        segments = shaped(shape, lower, upper, peak)
        lengths = np.diff(np.append(segments.start, segments.upper + 1))
        assert 1 <= lengths.size <= MOST_SEGMENTS
        assert lengths.sum() == segments.upper[0] - segments.lower[0] + 1
        total = math.fsum((segments.mass * lengths).tolist())
        assert total == pytest.approx(1, abs=1e-11)
        assert segments.before[-1] + segments.mass[-1] * lengths[-1] == pytest.approx(total, rel=1e-12)
        assert segments.behind[0] + segments.mass[0] * lengths[0] == pytest.approx(total, rel=1e-12)


def test_a_long_triangle_has_the_mass_of_the_shape_in_each_part():
    pmf = literal.triangular(0, 999, 200)
    segments = shaped(TRIANGULAR, np.array([0]), np.array([999]), np.array([200]))
    ends = [*segments.start[1:].tolist(), 1000]
    for start, end, mass in zip(segments.start.tolist(), ends, segments.mass.tolist(), strict=True):
        assert mass * (end - start) == pytest.approx(float(sum(pmf[t] for t in range(start, end))), rel=1e-12)
    assert {b - a for a, b in zip(segments.start.tolist(), ends, strict=True)} <= {15, 16}


@pytest.mark.parametrize("shape", [Shape(), TRIANGULAR, NORMAL, Shape("normal", 20)])
def test_the_halves_of_a_shape_have_mass_one_and_rise(shape):
    places = np.linspace(0, 1, 101)
    parts = mass_of_half(shape, places[:-1], places[1:])
    assert parts.sum() == pytest.approx(1, abs=1e-14)
    assert (np.diff(parts) >= -1e-15).all()
    assert (parts > 0).all()


@st.composite
def masses(draw, size):
    """Fractions that add up to 1, with holes, exact as floats."""
    parts = [draw(st.sampled_from([0, 0, 1, 1, 2, 5])) for _ in range(size)]
    parts[draw(st.integers(0, size - 1))] += 128 - sum(parts) if sum(parts) < 128 else 0
    return [Fraction(p, sum(parts)) for p in parts]


@settings(deadline=None, max_examples=300)
@given(st.sampled_from([1, 1, 2, 3, 10]), st.data())
def test_lists_are_bins(tick, data):
    rows = []
    for _ in range(data.draw(st.integers(0, 5))):
        lower, length = data.draw(st.integers(-40, 40)), data.draw(st.integers(1, 40))
        upper = lower + length - 1
        rows.append((lower, upper, data.draw(masses(data.draw(st.integers(1, min(length, 12)))))))
    lower, upper = (np.array([r[i] for r in rows], np.int64) for i in (0, 1))
    counts = np.array([len(r[2]) for r in rows], np.int64)
    pmfs = [literal.listed(a, b, tick, m) for a, b, m in rows]
    wrong = wrong_length(lower, upper, tick, counts)
    assert wrong.tolist() == [pmf is None for pmf in pmfs]
    good = [r for r, pmf in zip(rows, pmfs, strict=True) if pmf is not None]
    event(f"{len(good)} good lists")
    values = np.array([float(m) for r in good for m in r[2]])
    lists = Lists(np.concatenate([[0], np.cumsum(counts[~wrong])]).astype(np.int64), values)
    segments = listed(lower[~wrong], upper[~wrong], tick, lists)
    assert segments.first.size == len(good) + 1
    for e, (a, b, m) in enumerate(good):
        check(segments, e, literal.listed(a, b, tick, m))


def one_list(numbers, lower=0, tick=1, upper=None):
    upper = lower + len(numbers) - 1 if upper is None else upper
    lists = Lists(np.array([0, len(numbers)]), np.array(numbers, np.float64))
    return listed(np.array([lower]), np.array([upper]), tick, lists)


def test_a_run_of_equal_masses_is_one_segment():
    segments = one_list([0.0, 0.1, 0.1, 0.1, 0.0, 0.0, 0.35, 0.35, 0.0], lower=10)
    assert (segments.lower[0], segments.upper[0]) == (11, 17)
    assert segments.start.tolist() == [11, 14, 16]
    assert segments.mass.tolist() == [0.1, 0.0, 0.35]


def test_impossible_ticks_have_no_mass_at_all():
    segments = one_list([0.1] * 10)
    assert segments.before.tolist() == [0.0]
    assert segments.behind.tolist() == [0.0]


def test_masses_are_never_changed():
    numbers = [0.5, 0.25, 0.25 + 5e-10]
    assert not any(flag.any() for flag in wrong_masses(Lists(np.array([0, 3]), np.array(numbers))))
    assert one_list(numbers).mass.tolist() == numbers


@pytest.mark.parametrize(
    ("numbers", "verdict"),
    [
        ([1.0], (False, False)),
        ([0.5, 0.5 + 2e-9], (False, True)),
        ([0.1] * 10, (False, False)),
        ([0.0], (False, True)),
        ([], (False, False)),
        ([1.5, -0.5], (True, False)),
        ([1.0, float("nan")], (True, False)),
        ([float("inf")], (True, False)),
    ],
)
def test_lists_are_judged(numbers, verdict):
    between = [[], numbers, [1.0], numbers]  # neighbours do not matter
    first = np.concatenate([[0], np.cumsum([len(n) for n in between])]).astype(np.int64)
    strange, unfinished = wrong_masses(Lists(first, np.array([x for n in between for x in n], np.float64)))
    assert list(zip(strange.tolist(), unfinished.tolist(), strict=True)) == [
        (False, False), verdict, (False, False), verdict,
    ]  # fmt: skip


@settings(deadline=None, max_examples=100)
@given(intervals, st.data())
def test_events_are_taken_in_any_order(pairs, data):
    lower, upper = arrays(pairs)
    segments = shaped(TRIANGULAR, lower, upper)
    which = np.array(data.draw(st.lists(st.integers(0, lower.size - 1), max_size=9)), np.int64)
    found = taken(segments, which)
    again = shaped(TRIANGULAR, lower[which], upper[which])
    for one, other in zip(found, again, strict=True):
        assert one.tolist() == other.tolist()


def test_no_events():
    nothing = np.zeros(0, np.int64)
    lists = Lists(np.zeros(1, np.int64), np.zeros(0))
    for segments in (uniform(nothing, nothing), shaped(NORMAL, nothing, nothing), listed(nothing, nothing, 3, lists)):
        assert [len(column) for column in segments] == [0, 0, 1, 0, 0, 0, 0]
