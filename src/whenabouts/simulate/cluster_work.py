"""The jobs of a simulated cluster day: when each task runs, where, and what it moves.

Problem: monitoring events are only believable if they follow from work that is really done on the nodes.
Idea: jobs arrive more often at noon; each runs its mappers, then its reducers, which pull the map output and reduce.
Invariants: a reducer consumes only what mappers have written, and every job ends with nothing queued; a reducer lives
for less than 10 minutes; an ordinary data pull never takes twice the average of the pulls before and including it.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from whenabouts.simulate.cluster_log import Flags, Floats, Ints, Runs, micros, seconds

BLOCKS_PER_MB = 64  # data moves in blocks, a binary fraction of a MB, so that queue sizes add up exactly


class Workload(NamedTuple):
    """What the tasks of one kind of job are like, on average."""

    mapper_seconds: float
    mapper_mb: float
    pull_seconds: float
    reduce_seconds: float


# The case study's three (Table 4.4): Twitter (much map output), Worldcup U (long reducers), Worldcup S (in between).
WORKLOADS = (Workload(70, 640, 9, 140), Workload(42, 40, 5, 200), Workload(45, 300, 7, 110))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterConfig:
    """What to simulate. Jobs are submitted for `hours`; the day goes on until the last one has ended."""

    nodes: int = 20
    hours: float = 24.0
    jobs_per_hour: float = 6.0
    mappers_per_job: int = 40
    reducers_per_job: int = 6
    short_tasks_per_job: float = 3.0
    hot_probability: float = 0.4  # of a short task: it drives the CPU of its node above 95 %
    straggler_probability: float = 0.05  # of a reducer: its last data pull takes 5 to 8 times as long
    imbalance_probability: float = 0.02  # of a reducer: the load imbalance keeps growing while it runs
    sampling_seconds: float = 15.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("nodes", "hours", "jobs_per_hour", "mappers_per_job", "reducers_per_job", "sampling_seconds"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} is {getattr(self, name)}, it must be positive")
        for name in ("hot_probability", "straggler_probability", "imbalance_probability"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}, it must be between 0 and 1")
        if self.short_tasks_per_job < 0:
            raise ValueError(f"short_tasks_per_job is {self.short_tasks_per_job}, it must not be negative")


@dataclass(frozen=True, slots=True)
class Tasks:
    """Tasks of one kind; `first` is the position of the first one among the names of all tasks."""

    first: int
    job: Ints
    node: Ints
    start: Ints
    finish: Ints

    @property
    def period(self) -> Floats:
        """Seconds from start to finish."""
        return seconds(self.finish - self.start)

    @property
    def codes(self) -> Ints:
        """Positions among the names of all tasks."""
        return self.first + np.arange(len(self.job))

    def names(self, letter: str) -> list[str]:
        """One name for each task, unique for a letter."""
        return [f"task_{job:05d}_{letter}_{number:06d}" for number, job in enumerate(self.job)]


@dataclass(frozen=True, slots=True)
class Pulls:
    """Data pulls, one reducer after the other."""

    runs: Runs
    finish: Ints
    period: Floats
    blocks: Ints
    straggling: Flags  # per reducer


@dataclass(frozen=True, slots=True)
class Work:
    """Everything the cluster does for its jobs."""

    job_start: Ints
    job_end: Ints
    mappers: Tasks
    output: Ints  # blocks that each mapper writes when it finishes
    reducers: Tasks
    pulls: Pulls
    skewed: Flags  # reducers that load their node more and more


def schedule_work(config: ClusterConfig, rng: np.random.Generator) -> Work:
    """Submit the jobs and run their mappers and reducers."""
    jobs = max(1, round(config.jobs_per_hour * config.hours))
    uniform = np.sort(rng.random(jobs))
    # Density between 2/3 at both ends and 2 in the middle: a day is busiest at noon.
    submitted = uniform + 0.5 * np.sin(2 * np.pi * uniform) / (2 * np.pi)
    job_start = micros(submitted * config.hours * 3600)
    workload = np.array(WORKLOADS)[rng.integers(len(WORKLOADS), size=jobs)]

    mappers, output = _run_mappers(config, rng, job_start, workload)
    map_end = np.zeros(jobs, np.int64)
    np.maximum.at(map_end, mappers.job, mappers.finish)

    job = Runs.of(_task_counts(config.reducers_per_job, jobs, rng)).owner
    start = map_end[job] + micros(rng.uniform(1, 20, len(job)))
    straggling = rng.random(len(job)) < config.straggler_probability
    written = np.bincount(mappers.job, output, jobs).astype(np.int64)
    pulls = _pull_data(rng, start, workload[job, 2], straggling, job, written)
    finish = pulls.finish[pulls.runs.last] + micros(workload[job, 3] * rng.uniform(0.7, 1.3, len(job)))
    reducers = Tasks(len(mappers.job), job, rng.integers(config.nodes, size=len(job)), start, finish)

    job_end = np.zeros(jobs, np.int64)
    np.maximum.at(job_end, job, finish)
    job_end += micros(rng.uniform(0.5, 2.0, jobs))
    skewed = rng.random(len(job)) < config.imbalance_probability
    return Work(job_start, job_end, mappers, output, reducers, pulls, skewed)


def _task_counts(mean: int, jobs: int, rng: np.random.Generator) -> Ints:
    return rng.integers((mean + 1) // 2, mean + mean // 2 + 1, size=jobs)


def _run_mappers(
    config: ClusterConfig, rng: np.random.Generator, job_start: Ints, workload: Floats
) -> tuple[Tasks, Ints]:
    """Mappers are handed out over 2.5 s each on average; none is faster than 32 s (see the invariant in `cluster`)."""
    runs = Runs.of(_task_counts(config.mappers_per_job, len(job_start), rng))
    job, count = runs.owner, len(runs.owner)
    start = job_start[job] + micros(rng.uniform(1, 1 + 2.5 * runs.counts[job]))
    period = np.clip(workload[job, 0] * rng.lognormal(0, 0.25, count), 32, 240)
    output = np.rint(workload[job, 1] * rng.uniform(0.6, 1.4, count) * BLOCKS_PER_MB).astype(np.int64)
    return Tasks(0, job, rng.integers(config.nodes, size=count), start, start + micros(period)), output


def _pull_data(
    rng: np.random.Generator, start: Ints, usual: Floats, straggling: Flags, job: Ints, written: Ints
) -> Pulls:
    """Five to nine pulls per reducer, of 0.7 to 1.3 times the usual seconds; the last pull of a straggler of 5 to 8."""
    runs = Runs.of(rng.integers(5, 10, size=len(start)))
    count = len(runs.owner)
    slowness = rng.uniform(0.7, 1.3, count)
    # x is more than twice the average of n pulls when x > 2.6 (n - 1) / (n - 2), at most 3.5 here: no straggler hides.
    stretched = rng.uniform(5.0, 8.0, len(start))
    slowness[runs.last] = np.where(straggling, stretched, slowness[runs.last])
    period = np.round(usual[runs.owner] * slowness, 3)
    finish = start[runs.owner] + micros(runs.cumulate(period + rng.uniform(0.1, 1.0, count)))

    # A job's pulls cut its map output into pieces; rounding the cuts, not the pieces, keeps the sum.
    of_job = Runs.of(np.bincount(job[runs.owner], minlength=len(written)))
    cuts = of_job.cumulate(rng.uniform(0.5, 1.5, count))
    share = cuts / cuts[of_job.last][of_job.owner]
    edges = np.rint(share * written[of_job.owner]).astype(np.int64)
    blocks = np.diff(edges, prepend=0)
    blocks[of_job.rank == 0] = edges[of_job.rank == 0]
    return Pulls(runs, finish, period, blocks, straggling)
