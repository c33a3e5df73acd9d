"""What the nodes of a simulated cluster report, and the short tasks that hide between two of their readings.

Problem: Query 1 asks which task maxed out a CPU, and its answer must be certain although the load is random.
Idea: every node is read every 15 s at its own phase, and ordinary work is throttled. A short task starts just after a
reading of its node and finishes well before the next; if it is hot, gmond also reports the peak while it runs.
Invariants: regular readings stay at or below 90 %; a short task belongs to one slot between two readings of its node,
which it shares only with a cool companion that runs beside but never across the peak: a near miss.
"""

from dataclasses import dataclass

import numpy as np

from whenabouts.simulate.cluster_log import Floats, Ints, micros
from whenabouts.simulate.cluster_work import ClusterConfig, Tasks, Work

ORDINARY_LIMIT = 90.0


@dataclass(frozen=True, slots=True)
class Readings:
    """Regular readings: number k of node n is taken at `phase[n] + k * period`."""

    period: int
    phase: Ints
    cpu: Floats  # node x k
    memory: Floats
    load_std: Floats  # of each period, known at its end

    @property
    def times(self) -> Ints:
        """When each reading of each node is taken."""
        return self.phase[:, np.newaxis] + np.arange(self.cpu.shape[1]) * self.period


@dataclass(frozen=True, slots=True)
class ShortTasks:
    """Tasks between reading `slot` of their node and the next."""

    tasks: Tasks
    slot: Ints
    hot: Ints  # those with a peak
    peak: Ints  # its time, for each hot one


def measure(config: ClusterConfig, rng: np.random.Generator, work: Work) -> Readings:
    """Read every node regularly, from the first moment of the day until the last job has ended."""
    period = int(micros(config.sampling_seconds))
    phase = (2 * np.arange(config.nodes) + 1) * period // (2 * config.nodes)
    count = int(max(micros(config.hours * 3600), work.job_end.max()) // period) + 2
    shape = (config.nodes, count)
    mapping = _load(work.mappers, np.ones(len(work.output)), phase, period, count)
    reducing = _load(work.reducers, np.where(work.skewed, 45.0, 18.0), phase, period, count)
    cpu = _percent(8 + 32 * mapping + reducing + rng.normal(0, 4, shape), ORDINARY_LIMIT)
    memory = _percent(25 + 8 * mapping + 0.7 * reducing + rng.normal(0, 0.5, shape), 97)
    first, stop = ticks_within(work.reducers, period)
    load_std = _load_imbalance(rng, cpu, first[work.skewed], stop[work.skewed])
    return Readings(period, phase, cpu, memory, load_std)


def _percent(load: Floats, limit: float) -> Floats:
    clipped: Floats = np.clip(load, 0.5, limit)
    return np.round(clipped, 1)


def ticks_within(tasks: Tasks, period: int) -> tuple[Ints, Ints]:
    """First tick strictly within each task and the one after its last; tick k is at the end of period k."""
    first = tasks.start // period
    return first, np.maximum(first, -(-tasks.finish // period) - 1)


def _load(tasks: Tasks, weight: Floats, phase: Ints, period: int, count: int) -> Floats:
    """Total weight of the tasks that run on each node at each of its readings."""
    begin = np.maximum(-((phase[tasks.node] - tasks.start) // period), 0)
    end = np.maximum((tasks.finish - phase[tasks.node]) // period + 1, begin)
    change = np.zeros((len(phase), count + 1))
    np.add.at(change, (tasks.node, begin), weight)
    np.subtract.at(change, (tasks.node, end), weight)
    return np.cumsum(change, axis=1)[:, :count]


def _load_imbalance(rng: np.random.Generator, cpu: Floats, first: Ints, stop: Ints) -> Floats:
    """Spread of the load over the nodes, which only grows from tick `first` to before tick `stop` of a skewed task."""
    spread = cpu.std(axis=0)
    change = np.zeros(len(spread) + 1)
    np.add.at(change, first, 1)
    np.subtract.at(change, stop, 1)
    growing = np.cumsum(change)[:-1] > 0
    begins = growing & ~np.concatenate([[False], growing[:-1]])
    begin = np.maximum.accumulate(np.where(begins, np.arange(len(spread)), 0))
    growth = np.cumsum(rng.uniform(0.2, 1.5, len(spread)))
    return np.round(np.where(growing, spread[begin] + growth - growth[begin], spread), 3)


def run_short_tasks(config: ClusterConfig, rng: np.random.Generator, work: Work, readings: Readings) -> ShortTasks:
    """Run short tasks of random jobs on random nodes, some of them hot, some beside a hot one."""
    job, node, slot = _free_slots(config, rng, work, readings)
    count = len(job)
    # In parts of the sampling period: peaks are between 0.24 and 0.47, a companion runs up to 0.21 or from 0.50 on.
    start = rng.uniform(0.10, 0.20, count)
    finish = start + rng.uniform(0.35, 0.45, count)
    peak = start + (finish - start) * rng.uniform(0.4, 0.6, count)
    hot = np.flatnonzero(rng.random(count) < config.hot_probability)
    beside = hot[rng.random(len(hot)) < 0.5]
    early = rng.random(len(beside)) < 0.5
    near_start = np.where(early, rng.uniform(0.03, 0.06, len(beside)), rng.uniform(0.50, 0.55, len(beside)))
    near_finish = near_start + np.where(early, 0.15, rng.uniform(0.2, 0.25, len(beside)))

    everyone = np.concatenate([np.arange(count), beside])
    opens = (readings.phase[node] + slot * readings.period)[everyone]
    starts = opens + np.rint(np.concatenate([start, near_start]) * readings.period).astype(np.int64)
    finishes = opens + np.rint(np.concatenate([finish, near_finish]) * readings.period).astype(np.int64)
    first = len(work.mappers.job) + len(work.reducers.job)
    tasks = Tasks(first, job[everyone], node[everyone], starts, finishes)
    return ShortTasks(tasks, slot[everyone], hot, opens[hot] + np.rint(peak[hot] * readings.period).astype(np.int64))


def _free_slots(
    config: ClusterConfig, rng: np.random.Generator, work: Work, readings: Readings
) -> tuple[Ints, Ints, Ints]:
    """Job, node and slot for each short task: within the life of the job, no slot twice."""
    jobs = len(work.job_start)
    count = rng.poisson(config.short_tasks_per_job * jobs)
    job = rng.integers(jobs, size=count)
    node = rng.integers(config.nodes, size=count)
    moment = work.job_start[job] + rng.random(count) * (work.job_end - work.job_start)[job]
    slot = ((moment - readings.phase[node]) // readings.period).astype(np.int64)
    opens = readings.phase[node] + slot * readings.period
    fits = (opens >= work.job_start[job]) & (opens + readings.period <= work.job_end[job]) & (slot >= 0)
    job, node, slot = job[fits], node[fits], slot[fits]
    _, single = np.unique(node * readings.cpu.shape[1] + slot, return_index=True)
    single.sort()
    return job[single], node[single], slot[single]
