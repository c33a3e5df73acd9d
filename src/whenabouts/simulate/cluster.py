"""A day of a Hadoop-like cluster, with the answers to its monitoring queries.

Problem: to test and to measure an engine one needs events whose right answers are known without an engine.
Idea: schedule jobs (`cluster_work`), let every node report its load while they run (`cluster_readings`), and inject
what the queries of `cluster_queries` look for, together with near misses; `cluster_truth` keeps what was put where.
Invariants: the same configuration gives the same day; no two events have the same time; ordinary tasks run for at
least 32 s, so only an injected short task can max out a CPU within `WITHIN 15 seconds` (at the default sampling).
Reference: thesis section 4.3.5 (Hadoop case study) and Query 1 of the VLDB 2010 paper.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whenabouts.simulate.cluster_log import MILLISECOND, EventLog, Ints, Runs
from whenabouts.simulate.cluster_readings import Readings, ShortTasks, measure, run_short_tasks, ticks_within
from whenabouts.simulate.cluster_truth import (
    ClusterTruth,
    describe_jobs,
    find_hot_tasks,
    find_imbalanced,
    find_stragglers,
    measure_queue,
)
from whenabouts.simulate.cluster_work import BLOCKS_PER_MB, ClusterConfig, Tasks, Work, schedule_work

__all__ = ["SMALL", "ClusterConfig", "ClusterDay", "ClusterTruth", "simulate_cluster"]

SMALL = ClusterConfig(
    nodes=4,
    hours=1.0,
    jobs_per_hour=10.0,
    mappers_per_job=12,
    reducers_per_job=4,
    straggler_probability=0.15,
    imbalance_probability=0.1,
)
"""An hour of four nodes in which everything happens: a few thousand events."""


@dataclass(frozen=True, slots=True)
class ClusterDay:
    """Events in time order: id, type, time (exact), node, job_id, task_id, value, period (s), size (MB)."""

    events: pa.Table
    truth: ClusterTruth

    def only(self, *types: str) -> pa.Table:
        """The events of some types: among them contiguity is judged."""
        return self.events.filter(pc.is_in(self.events["type"], value_set=pa.array(types)))


def simulate_cluster(config: ClusterConfig) -> ClusterDay:
    """The events of a cluster day and the truth about them."""
    rng = np.random.default_rng(config.seed)
    work = schedule_work(config, rng)
    readings = measure(config, rng, work)
    short = run_short_tasks(config, rng, work, readings)
    first, stop = ticks_within(work.reducers, readings.period)
    loads = Runs.of(stop - first)
    ticks = first[loads.owner] + loads.rank

    log = EventLog()
    places = _log_jobs(log, work) | _log_reducers(log, work) | _log_readings(log, rng, readings, short)
    whose = {"job_id": work.reducers.job[loads.owner], "task_id": work.reducers.codes[loads.owner]}
    places["load"] = log.add("LoadStd", (ticks + 1) * readings.period, value=readings.load_std[ticks], **whose)
    names = {
        "node": [f"node{number:03d}" for number in range(config.nodes)],
        "job_id": [f"job_{number:05d}" for number in range(len(work.job_start))],
        "task_id": work.mappers.names("m") + work.reducers.names("r") + short.tasks.names("s"),
    }
    events, id_of = log.sort(names)
    ids = {name: id_of[where] for name, where in places.items()}
    truth = ClusterTruth(
        hot_tasks=find_hot_tasks(short, readings, ids, names),
        stragglers=find_stragglers(work, ids, names),
        imbalanced=find_imbalanced(work, loads, readings.load_std[ticks], ids, names),
        jobs=describe_jobs(work, ids, names),
        queue=measure_queue(work, events["time"], ids, names),
    )
    return ClusterDay(events, truth)


def _log_jobs(log: EventLog, work: Work) -> dict[str, Ints]:
    """Jobs and their mappers; what a mapper reports when it has finished follows within two milliseconds."""
    jobs, mappers = np.arange(len(work.job_start)), work.mappers
    start = log.add("JobStart", work.job_start, job_id=jobs)
    log.add("TaskStart", mappers.start, **_whose(mappers))
    log.add("TaskFinish", mappers.finish, **_whose(mappers))
    log.add("Mapper", mappers.finish + MILLISECOND, period=mappers.period, **_whose(mappers))
    size = work.output / BLOCKS_PER_MB
    written = log.add("DataIO", mappers.finish + 2 * MILLISECOND, size=size, node=mappers.node, job_id=mappers.job)
    end = log.add("JobEnd", work.job_end, job_id=jobs)
    return {"job_start": start, "job_end": end, "written": written}


def _log_reducers(log: EventLog, work: Work) -> dict[str, Ints]:
    """A reducer starts just after its task, pulls its data, and ends just before its task, which then reports."""
    reducers, pulls = work.reducers, work.pulls
    owner = pulls.runs.owner
    whose = _whose(reducers)
    of_pull = {name: codes[owner] for name, codes in whose.items()}
    start = log.add("ReducerStart", reducers.start, **whose)
    pull = log.add("DataPull", pulls.finish, period=pulls.period, **of_pull)
    of_pull.pop("task_id")  # data is queued for a job, not for a task
    consumed = log.add("DataIO", pulls.finish + MILLISECOND, size=-pulls.blocks / BLOCKS_PER_MB, **of_pull)
    end = log.add("ReducerEnd", reducers.finish, **whose)
    log.add("TaskStart", reducers.start - MILLISECOND, **whose)
    log.add("TaskFinish", reducers.finish + MILLISECOND, **whose)
    log.add("Reducer", reducers.finish + 2 * MILLISECOND, period=reducers.period, **whose)
    return {"reducer_start": start, "reducer_end": end, "pull": pull, "consumed": consumed}


def _log_readings(log: EventLog, rng: np.random.Generator, readings: Readings, short: ShortTasks) -> dict[str, Ints]:
    """Regular readings of all nodes, short tasks, and the peaks of the hot ones."""
    node = np.repeat(np.arange(len(readings.phase)), readings.cpu.shape[1])
    times = readings.times.ravel()
    cpu = log.add("CPU", times, value=readings.cpu.ravel(), node=node)
    log.add("Memory", times, value=readings.memory.ravel(), node=node)
    start = log.add("TaskStart", short.tasks.start, **_whose(short.tasks))
    finish = log.add("TaskFinish", short.tasks.finish, **_whose(short.tasks))
    height = np.round(rng.uniform(96, 100, len(short.hot)), 1)
    peak = log.add("CPU", short.peak, value=height, node=short.tasks.node[short.hot])
    return {"cpu": cpu, "short_start": start, "short_finish": finish, "peak": peak}


def _whose(tasks: Tasks) -> dict[str, Ints]:
    return {"node": tasks.node, "job_id": tasks.job, "task_id": tasks.codes}
