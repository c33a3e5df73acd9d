"""What the monitoring queries must find in a simulated cluster day.

Problem: an engine under test must not be judged by itself.
Idea: the simulator remembers where it put every event; the answers follow from that, column by column, without
matching a pattern. The tests recompute them from the events alone, by the definition of each query.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from whenabouts.simulate.cluster_log import Floats, Ints, Runs
from whenabouts.simulate.cluster_readings import Readings, ShortTasks
from whenabouts.simulate.cluster_work import BLOCKS_PER_MB, Tasks, Work

CALM_LIMIT = 70.0

Ids = Mapping[str, Ints]
Names = Mapping[str, list[str]]


@dataclass(frozen=True, slots=True)
class ClusterTruth:
    """The right answers in exact time. Integer columns named after an event hold ids of `ClusterDay.events`."""

    hot_tasks: pa.Table
    """Tasks that max out their node, one match each: task_id, node, start, peak, finish, calm."""
    stragglers: pa.Table
    """Reducers whose last pull takes over twice the average: task_id, start, pulls (list), period, mean_period."""
    imbalanced: pa.Table
    """Reducers during which the load imbalance never decreases: task_id, start, loads (list), end."""
    jobs: pa.Table
    """job_id, start, end; number (mappers), mean (mean_mapper) and maximum (max_mapper) period; also of reducers."""
    queue: pa.Table
    """MB written by mappers and not yet pulled by reducers after each DataIO: job_id, data_io, time, queued."""


def find_hot_tasks(short: ShortTasks, readings: Readings, ids: Ids, names: Names) -> pa.Table:
    """Hot tasks after which the next regular reading of the node is calm."""
    node, after = short.tasks.node[short.hot], short.slot[short.hot] + 1
    calm = readings.cpu[node, after] <= CALM_LIMIT
    tasks = short.hot[calm]
    found = pa.table(
        {
            "task_id": _named(names["task_id"], short.tasks.codes[tasks]),
            "node": _named(names["node"], node[calm]),
            "start": ids["short_start"][tasks],
            "peak": ids["peak"][calm],
            "finish": ids["short_finish"][tasks],
            "calm": ids["cpu"].reshape(readings.cpu.shape)[node, after][calm],
        }
    )
    return found.sort_by("start")


def find_stragglers(work: Work, ids: Ids, names: Names) -> pa.Table:
    """Reducers with a long last pull; no shorter prefix of their pulls, or of any other's, qualifies."""
    pulls = work.pulls
    who = np.flatnonzero(pulls.straggling)
    means = np.bincount(pulls.runs.owner, pulls.period) / pulls.runs.counts
    return pa.table(
        {
            "task_id": _named(names["task_id"], work.reducers.codes[who]),
            "start": ids["reducer_start"][who],
            "pulls": pulls.runs.lists(ids["pull"], who),
            "period": pulls.period[pulls.runs.last][who],
            "mean_period": means[who],
        }
    )


def find_imbalanced(work: Work, loads: Runs, values: Floats, ids: Ids, names: Names) -> pa.Table:
    """Reducers with at least one LoadStd and none below the one before: the skewed ones and who ran beside them."""
    falls = (np.diff(values) < 0) & (loads.rank[1:] > 0)
    fallen = np.bincount(loads.owner[1:], falls, len(loads.counts))
    who = np.flatnonzero((fallen == 0) & (loads.counts > 0))
    return pa.table(
        {
            "task_id": _named(names["task_id"], work.reducers.codes[who]),
            "start": ids["reducer_start"][who],
            "loads": loads.lists(ids["load"], who),
            "end": ids["reducer_end"][who],
        }
    )


def describe_jobs(work: Work, ids: Ids, names: Names) -> pa.Table:
    """How long the mappers and the reducers of each job take."""
    columns = {"job_id": pa.array(names["job_id"]), "start": ids["job_start"], "end": ids["job_end"]}
    return pa.table(columns | _periods("mapper", work.mappers) | _periods("reducer", work.reducers))


def measure_queue(work: Work, times: pa.ChunkedArray, ids: Ids, names: Names) -> pa.Table:
    """Running sum of the sizes of each job's DataIO events, in time order."""
    blocks = np.concatenate([work.output, -work.pulls.blocks])
    job = np.concatenate([work.mappers.job, work.reducers.job[work.pulls.runs.owner]])
    event = np.concatenate([ids["written"], ids["consumed"]])
    order = np.lexsort((event, job))
    queued = Runs.of(np.bincount(job)).cumulate(blocks[order] / BLOCKS_PER_MB)
    return pa.table(
        {
            "job_id": _named(names["job_id"], job[order]),
            "data_io": event[order],
            "time": times.take(pa.array(event[order] - 1)),
            "queued": queued,
        }
    )


def _periods(kind: str, tasks: Tasks) -> dict[str, Ints | Floats]:
    counts = np.bincount(tasks.job)
    longest = np.zeros(len(counts))
    np.maximum.at(longest, tasks.job, tasks.period)
    return {
        f"{kind}s": counts,
        f"mean_{kind}": np.bincount(tasks.job, tasks.period) / counts,
        f"max_{kind}": longest,
    }


def _named(names: list[str], codes: Ints) -> pa.Array:
    return pa.array(names, pa.string()).take(pa.array(codes))
