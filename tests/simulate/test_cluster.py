"""A simulated cluster day: what its truth says is recomputed from the events alone, by the definition of each query."""

import re
from collections import defaultdict
from dataclasses import replace
from datetime import timedelta
from statistics import mean

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from whenabouts.simulate.cluster import SMALL, ClusterConfig, ClusterTruth, simulate_cluster
from whenabouts.simulate.cluster_queries import MONITORING, QUERIES

SEEDS = range(4)
OF_JOBS = {"JobStart", "JobEnd", "Mapper", "Reducer", "DataIO"}
OF_TASKS = {"TaskStart", "TaskFinish", "ReducerStart", "ReducerEnd", "DataPull", "LoadStd"}
OF_NODES = {"CPU", "Memory"}
TYPES = OF_JOBS | OF_TASKS | OF_NODES


@pytest.fixture(scope="module", params=SEEDS)
def day(request):
    return simulate_cluster(replace(SMALL, seed=request.param))


@pytest.fixture(scope="module")
def whole_day():
    return simulate_cluster(ClusterConfig())


@pytest.fixture(scope="module")
def rows(day):
    return day.events.to_pylist()


def grouped(rows, kind, key):
    """Events of a type by an attribute, in time order."""
    groups = defaultdict(list)
    for row in rows:
        if row["type"] == kind:
            groups[row[key]].append(row)
    return groups


def truth_tables(truth):
    return {name: getattr(truth, name) for name in ClusterTruth.__slots__}


def test_the_seed_decides(day, rows):
    config = replace(SMALL, seed=7)
    first, second = simulate_cluster(config), simulate_cluster(config)
    assert first.events.equals(second.events)
    assert all(table.equals(getattr(second.truth, name)) for name, table in truth_tables(first.truth).items())
    assert not first.events.equals(day.events)


def test_events_are_in_strict_time_order_with_unique_ids(whole_day):
    events = whole_day.events
    assert events["time"].type == pa.timestamp("us")
    assert set(pc.unique(events["type"]).to_pylist()) == TYPES
    for name in ("id", "type", "time"):
        assert events[name].null_count == 0
    for name in ("id", "time"):
        values = events[name].to_numpy()
        assert (values[1:] > values[:-1]).all()


def test_a_default_day_has_everything(whole_day):
    assert 250_000 <= whole_day.events.num_rows <= 300_000
    sizes = {name: table.num_rows for name, table in truth_tables(whole_day.truth).items()}
    assert sizes["jobs"] == 144
    assert sizes["hot_tasks"] > 100
    assert sizes["stragglers"] > 30
    assert sizes["imbalanced"] > 15
    assert sizes["queue"] == pc.sum(pc.equal(whole_day.events["type"], "DataIO")).as_py()


def test_each_type_has_the_attributes_its_queries_read(whole_day):
    wanted = {
        "node": OF_NODES | {"TaskStart", "TaskFinish"},
        "job_id": OF_JOBS | OF_TASKS,
        "task_id": OF_TASKS,
        "value": OF_NODES | {"LoadStd"},
        "period": {"Mapper", "Reducer", "DataPull"},
        "size": {"DataIO"},
    }
    for column, types in wanted.items():
        assert whole_day.only(*types)[column].null_count == 0
    for column in ("value", "period", "size"):
        assert len(whole_day.only(*TYPES - wanted[column])[column].drop_null()) == 0


def test_a_small_day_has_every_phenomenon(day):
    assert 2_000 < day.events.num_rows < 6_000
    assert all(table.num_rows for table in truth_tables(day.truth).values())


def test_hot_tasks_are_the_matches_of_max_cpu(day, rows):
    cpu, finishes = grouped(rows, "CPU", "node"), grouped(rows, "TaskFinish", "task_id")
    found = []
    for a in (row for row in rows if row["type"] == "TaskStart"):
        near = [e for e in cpu[a["node"]] if a["time"] < e["time"] < a["time"] + timedelta(seconds=15)]
        found += [
            {"task_id": a["task_id"], "node": a["node"]}
            | {"start": a["id"], "peak": b["id"], "finish": c["id"], "calm": d["id"]}
            for b in near
            for c in finishes[a["task_id"]]
            for d in near
            if b["value"] > 95 and d["value"] <= 70 and c["node"] == a["node"] and b["time"] < c["time"] < d["time"]
        ]
    assert found == day.truth.hot_tasks.to_pylist()


def test_only_short_tasks_have_peaks_and_some_are_near_misses(whole_day):
    peaks = pc.sum(pc.greater(whole_day.only("CPU")["value"], 95)).as_py()
    assert pc.sum(pc.greater(whole_day.only("CPU")["value"], 90)).as_py() == peaks > whole_day.truth.hot_tasks.num_rows


def test_stragglers_are_the_prefixes_that_q3_asks_for(day, rows):
    pulls = grouped(rows, "DataPull", "task_id")
    found = []
    for a in (row for row in rows if row["type"] == "ReducerStart"):
        near = [e for e in pulls[a["task_id"]] if a["time"] < e["time"] < a["time"] + timedelta(minutes=10)]
        for length in range(1, len(near) + 1):
            periods = [pull["period"] for pull in near[:length]]
            if periods[-1] > 2 * mean(periods):
                ids = [pull["id"] for pull in near[:length]]
                found.append((a["task_id"], a["id"], ids, periods[-1], pytest.approx(mean(periods))))
    expected = [tuple(row.values()) for row in day.truth.stragglers.to_pylist()]
    assert sorted(expected) == sorted(found, key=lambda match: match[0])


def test_imbalanced_reducers_have_no_falling_load_std(day, rows):
    loads, ends = grouped(rows, "LoadStd", "task_id"), grouped(rows, "ReducerEnd", "task_id")
    found = []
    for a in (row for row in rows if row["type"] == "ReducerStart"):
        (c,) = ends[a["task_id"]]
        assert c["time"] - a["time"] < timedelta(minutes=10)
        inside = loads[a["task_id"]]
        assert inside
        assert all(a["time"] < load["time"] < c["time"] for load in inside)
        values = [load["value"] for load in inside]
        if values == sorted(values):
            ids = [load["id"] for load in inside]
            found.append({"task_id": a["task_id"], "start": a["id"], "loads": ids, "end": c["id"]})
    by_start = day.truth.imbalanced.sort_by("start").to_pylist()
    assert found == by_start


def test_job_statistics(day, rows):
    starts, ends = grouped(rows, "JobStart", "job_id"), grouped(rows, "JobEnd", "job_id")
    tasks = {"mapper": grouped(rows, "Mapper", "job_id"), "reducer": grouped(rows, "Reducer", "job_id")}
    assert [row["job_id"] for row in day.truth.jobs.to_pylist()] == list(starts)
    for row in day.truth.jobs.to_pylist():
        (a,), (c,) = starts[row["job_id"]], ends[row["job_id"]]
        assert (row["start"], row["end"]) == (a["id"], c["id"])
        for kind, by_job in tasks.items():
            inside = [e["period"] for e in by_job[row["job_id"]] if a["time"] < e["time"] < c["time"]]
            assert row[f"{kind}s"] == len(inside) == len(by_job[row["job_id"]])
            assert row[f"mean_{kind}"] == pytest.approx(mean(inside))
            assert row[f"max_{kind}"] == max(inside)


def test_a_period_is_the_time_between_start_and_finish(rows):
    for start, finish, report in (("TaskStart", "TaskFinish", "Mapper"), ("ReducerStart", "ReducerEnd", "Reducer")):
        starts, finishes = grouped(rows, start, "task_id"), grouped(rows, finish, "task_id")
        for task, (event,) in grouped(rows, report, "task_id").items():
            lasted = finishes[task][0]["time"] - starts[task][0]["time"]
            assert event["period"] == pytest.approx(lasted.total_seconds(), abs=0.001)


def test_the_queue_grows_empties_and_is_never_negative(day, rows):
    queued, found = defaultdict(float), []
    for row in rows:
        if row["type"] == "DataIO":
            queued[row["job_id"]] += row["size"]
            found.append((row["job_id"], row["id"], row["time"], queued[row["job_id"]]))
    expected = [tuple(row.values()) for row in day.truth.queue.to_pylist()]
    assert sorted(found) == expected
    assert min(size for *_, size in expected) == 0
    assert set(queued.values()) == {0}


def test_phenomena_can_be_switched_off():
    quiet = simulate_cluster(
        replace(SMALL, short_tasks_per_job=0, straggler_probability=0, imbalance_probability=0)
    ).truth
    assert (quiet.hot_tasks.num_rows, quiet.stragglers.num_rows) == (0, 0)
    always = simulate_cluster(replace(SMALL, straggler_probability=1, imbalance_probability=1))
    reducers = always.only("ReducerStart").num_rows
    assert (always.truth.stragglers.num_rows, always.truth.imbalanced.num_rows) == (reducers, reducers)


@pytest.mark.parametrize("nodes", [1, 3])
def test_the_smallest_cluster_works(nodes):
    config = ClusterConfig(nodes=nodes, hours=0.01, jobs_per_hour=1, mappers_per_job=1, reducers_per_job=1)
    assert simulate_cluster(config).truth.jobs["mappers"].to_pylist() == [1]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"nodes": 0}, "nodes is 0, it must be positive"),
        ({"hot_probability": 1.5}, "hot_probability is 1.5, it must be between 0 and 1"),
        ({"short_tasks_per_job": -1}, "short_tasks_per_job is -1, it must not be negative"),
    ],
)
def test_a_wrong_setting_is_named(wrong, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        ClusterConfig(**wrong)


@pytest.mark.parametrize("name", QUERIES)
def test_queries_name_existing_types_columns_and_truths(name):
    query = MONITORING[name]
    assert query.question.endswith("?")
    assert query.truth in ClusterTruth.__slots__
    types = set(re.findall(r"([A-Z]\w*)\+? [a-z]\b", query.text.splitlines()[0]))
    assert types
    assert types <= TYPES
    columns = {"id", "type", "time", "node", "job_id", "task_id", "value", "period", "size"}
    assert set(re.findall(r"\b[a-z](?:\[[^]]*\])?\.(\w+)", query.text)) <= columns
