"""An observed cluster day: its truth is uniform and independent, so right confidences are calibrated."""

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from whenabouts.app.calibration import binomial_band, calibrated, trusting_verdict
from whenabouts.simulate.cluster import SMALL, ClusterConfig, simulate_cluster
from whenabouts.simulate.cluster_observed import MIXED, READINGS, Precision, observe
from whenabouts.simulate.cluster_queries import max_cpu
from whenabouts.simulate.observed import Observed, signatures

HALF_SECOND, WINDOW = 500, 15_000
TICK, TICKS = "100 ms", 150  # of the window
BUSY = ClusterConfig(nodes=12, hours=8.0, short_tasks_per_job=60)


@pytest.fixture(scope="module")
def day():
    return simulate_cluster(replace(BUSY, hours=2.0))


@pytest.fixture(scope="module")
def observed(day):
    return observe(day)


def milliseconds(column):
    return column.to_numpy().astype(np.int64)


def offsets(observed):
    return milliseconds(observed.happened) - milliseconds(observed.events["lower"])


def is_reading(observed):
    return np.isin(np.array(observed.events["type"].to_pylist()), READINGS)


def test_the_seed_decides_what_happened_but_not_what_is_observed(day, observed):
    again, other = observe(day, Precision()), observe(day, Precision(seed=1))
    assert again.happened.equals(observed.happened)
    assert other.events.equals(observed.events)
    assert not other.happened.equals(observed.happened)


def test_columns_are_those_of_the_day_with_bounds_for_time(day, observed):
    names = [name for name in observed.events.column_names if name not in {"lower", "upper"}]
    assert names == [name for name in day.events.column_names if name != "time"]
    assert all(observed.events[name].equals(day.events[name]) for name in names)
    assert observed.events["lower"].type == observed.world["time"].type == pa.timestamp("ms")


def test_true_times_lie_within_intervals_of_one_width_per_source(day, observed):
    lower, upper = (milliseconds(observed.events[name]) for name in ("lower", "upper"))
    width = np.where(is_reading(observed), 15_000, 2 * HALF_SECOND)
    assert (upper - lower + 1 == width).all()
    assert (lower % 100 == 0).all()
    true, centre = milliseconds(observed.happened), milliseconds(observed.reported)
    assert ((lower <= true) & (true <= upper)).all()
    assert (centre == lower + width // 2).all()
    logged = day.events["time"].to_numpy().astype("datetime64[ms]").astype(np.int64)
    assert ((logged - 100 < centre) & (centre <= logged)).all()


def test_nodes_may_be_read_with_different_precision(day):
    observed = observe(day, MIXED)
    width = milliseconds(observed.events["upper"]) - milliseconds(observed.events["lower"]) + 1
    node = np.array([int(name[4:]) if name else -1 for name in observed.events["node"].to_pylist()])
    radius = np.array(MIXED.reading_seconds)
    seconds = np.where(node < 0, radius.max(), radius[node % len(radius)])
    assert (width == np.where(is_reading(observed), 2000 * seconds, 2 * HALF_SECOND)).all()


@pytest.mark.parametrize("reading", [True, False])
def test_true_times_are_uniform_and_independent_of_everything(observed, reading):
    chosen = is_reading(observed) == reading
    where = offsets(observed)[chosen]
    width = 15_000 if reading else 2 * HALF_SECOND
    assert where.min() == 0
    assert where.max() == width - 1
    bins = 50
    found = np.bincount(where * bins // width, minlength=bins)
    assert chi_square(found, np.full(bins, where.size / bins)) < bins + 4 * np.sqrt(2 * bins)
    neighbours = np.bincount(where[1:] * 8 // width * 8 + where[:-1] * 8 // width, minlength=64)
    assert chi_square(neighbours, np.full(64, (where.size - 1) / 64)) < 64 + 4 * np.sqrt(128)
    others = [milliseconds(observed.reported)[chosen] % 15_000, np.arange(where.size)]
    others += [observed.events["value"].to_numpy()[chosen]] if reading else []
    for other in others:
        assert abs(np.corrcoef(where, other)[0, 1]) < 4 / np.sqrt(where.size)


def chi_square(found, expected):
    return float(((found - expected) ** 2 / expected).sum())


def by_node(rows, *types):
    nodes = defaultdict(list)
    for row in rows:
        if row["type"] in types:
            nodes[row["node"]].append(row)
    return nodes


def candidates(rows, near):
    """a, b, c, d of Query 1 but for their times, of which `near` says that a pair may be less than a window apart."""
    readings = by_node(rows, "CPU")
    finishes = {row["task_id"]: row for row in rows if row["type"] == "TaskFinish"}
    for a in (row for row in rows if row["type"] == "TaskStart"):
        c = finishes[a["task_id"]]
        if c["node"] == a["node"] and near(a, c):
            around = [r for r in readings[a["node"]] if near(a, r)]
            for b, d in product(around, around):
                if b["value"] > 95 and d["value"] <= 70:
                    yield a, b, c, d


def query_1(rows, strategy):
    """Query 1 by its definition, in exact time; ids of its matches."""
    span = np.timedelta64(WINDOW, "ms").item()
    readings, found = by_node(rows, "CPU"), set()
    for a, b, c, d in candidates(rows, lambda a, x: abs(x["time"] - a["time"]) < span):
        times = [e["time"] for e in (a, b, c, d)]
        skipped = [
            *(x for x in readings[a["node"]] if x["value"] > 95 and times[0] < x["time"] < times[1]),
            *(x for x in readings[a["node"]] if x["value"] <= 70 and times[2] < x["time"] < times[3]),
        ]
        if sorted(set(times)) == times and (strategy == "any" or not skipped):
            found.add(tuple(e["id"] for e in (a, b, c, d)))
    return found


def id_tuples(matches):
    return {tuple(ids[0] for _, ids in signature) for signature in signatures(matches)}


@pytest.mark.parametrize("strategy", ["any", "next"])
def test_the_truth_of_query_1_follows_from_its_definition(day, strategy):
    wide = observe(day, Precision(log_seconds=5.0))
    found = query_1(wide.world.to_pylist(), strategy)
    assert id_tuples(wide.truth(max_cpu(strategy))) == found
    assert len(found) > 20
    if strategy == "next":
        assert found < id_tuples(wide.truth(max_cpu("any")))


def test_who_trusts_the_log_sees_the_day_that_was_logged(day, observed):
    hot = day.truth.hot_tasks.select(["start", "peak", "finish", "calm"]).to_pylist()
    logged = {tuple(row.values()) for row in hot}
    for strategy in ("any", "next"):
        trusting = observed.trusting(max_cpu(strategy), TICK)
        assert id_tuples(trusting) == logged
        verdict = trusting_verdict(trusting, observed.truth(max_cpu(strategy), TICK))
        assert verdict.invented > verdict.missed > 0


def test_fewer_readings_are_calm_if_calm_means_less(day, observed):
    less, more = (id_tuples(observed.truth(max_cpu("any", calm))) for calm in (10.0, 70.0))
    assert set() < less < more


def chance(lower, upper, window):
    """P(t1 < t2 < … < tn and tn - t1 < window) of independent uniform times between closed bounds."""
    axis, starts = np.arange(min(lower), max(upper) + 1), np.arange(lower[0], upper[0] + 1)
    reached = (axis == starts[:, np.newaxis]).astype(float)
    for first, last in zip(lower[1:], upper[1:], strict=True):
        before = np.cumsum(reached, axis=1) - reached
        reached = before * ((axis >= first) & (axis <= last)) / (last - first + 1)
    return float(reached[axis - starts[:, np.newaxis] < window].sum()) / starts.size


@pytest.mark.parametrize("seed", range(20))
def test_chances_are_those_of_possible_worlds(seed):
    rng = np.random.default_rng(seed)
    lower = np.sort(rng.integers(0, 5, 4))
    upper = lower + rng.integers(0, 5, 4)
    window = int(rng.integers(4, 12))
    spans = [range(first, last + 1) for first, last in zip(lower, upper, strict=True)]
    worlds = list(product(*spans))
    good = sum(sorted(set(world)) == list(world) and world[-1] - world[0] < window for world in worlds)
    assert chance(lower, upper, window) == pytest.approx(float(Fraction(good, len(worlds))))


def possible_matches(observed):
    """Every possible match of Query 1 with its confidence, in ticks of 100 ms, by brute force."""
    lower, upper = (milliseconds(observed.events[name]) // 100 for name in ("lower", "upper"))
    rows = observed.events.select(["id", "type", "node", "task_id", "value"]).to_pylist()

    def near(a, x):
        one, other = a["id"] - 1, x["id"] - 1
        return lower[other] - upper[one] < TICKS and upper[other] > lower[one]

    found = []
    for match in candidates(rows, near):
        at = [e["id"] - 1 for e in match]
        confidence = chance(lower[at], upper[at], TICKS)
        if confidence > 0:
            events = [(step, [e["id"]]) for step, e in zip("abcd", match, strict=True)]
            found.append((f"{len(found) * 7919 % 100_003:06d}", confidence, events))
    ids, confidences, events = zip(*found, strict=True)
    kind = pa.map_(pa.string(), pa.list_(pa.int64()))
    return pa.table({"match_id": ids, "confidence": confidences, "events": pa.array(events, kind)})


def outside(calibration):
    """Bins that only chance of 1 in 1000 could explain."""
    found = []
    for b in calibration.bins:
        least, most = binomial_band(b.matches, b.confidence, 0.001)
        if not least <= b.happened <= most:
            found.append(b)
    return found


@pytest.fixture(scope="module")
def busy_day():
    return simulate_cluster(BUSY)


def test_right_confidences_are_calibrated(busy_day):
    observed = observe(busy_day, MIXED)
    calibration = calibrated(possible_matches(observed), observed.truth(max_cpu("any"), TICK))
    assert len(calibration.bins) == 10
    assert calibration.matches > 1000
    assert calibration.unforeseen == 0
    assert calibration.happened == pytest.approx(calibration.expected, rel=0.05)
    assert outside(calibration) == []


def test_true_times_first_would_favour_the_regular_day_of_the_simulator(busy_day):
    """Why `observe` draws the truth from the intervals: the other way round, far more happens than intervals tell."""
    first = observe(busy_day, MIXED)
    centre = milliseconds(first.reported)
    error = milliseconds(first.happened) - centre
    moved = {
        name: pa.array(milliseconds(first.events[name]) - error // 100 * 100, pa.timestamp("ms"))
        for name in ("lower", "upper")
    }
    events = first.events.drop(["lower", "upper"])
    for name, column in moved.items():
        events = events.append_column(name, column)
    backwards = Observed(events, first.reported, moved["lower"])
    calibration = calibrated(possible_matches(backwards), backwards.truth(max_cpu("any"), TICK))
    assert len(outside(calibration)) > 5
    assert calibration.happened > 1.2 * calibration.expected


def test_the_whole_day_is_quick_and_complete():
    day = simulate_cluster(ClusterConfig())
    observed = observe(day)
    assert observed.events.num_rows == len(observed.happened) == day.events.num_rows > 250_000


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tick_ms": 0}, "tick_ms is 0, it must be positive"),
        ({"reading_seconds": ()}, "reading_seconds is empty"),
        ({"log_seconds": 0.25}, "0.25 s is not a positive number of ticks of 100 ms"),
        ({"reading_seconds": (7.5, -1.0)}, "-1.0 s is not a positive number"),
    ],
)
def test_a_wrong_precision_is_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        Precision(**wrong)


def test_a_small_day_is_observed_too():
    observed = observe(simulate_cluster(SMALL), Precision(tick_ms=1))
    assert observed.events["lower"].null_count == 0
