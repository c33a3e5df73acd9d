"""The monitoring queries for a simulated cluster day.

Each is the text of a query and the question it answers. Q1 to Q6 carry the numbers of the thesis (Tables 2.1 and 4.5;
Q5 needs events of a balance monitor, which the simulator does not have); `max_cpu` is Query 1 of the VLDB 2010 paper.
What they find in exact time is `ClusterDay.truth`, except for Q6: under skip_till_next_match it skips every LoadStd
that falls, so it reports each reducer with its longest greedy climb; `steady_imbalance` asks for no fall at all, by
contiguity among the events of a few types (`ClusterDay.only`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class MonitoringQuery:
    """A query, what it asks in words, and the table of `ClusterTruth` that has the answers."""

    question: str
    truth: str
    text: str
    among: tuple[str, ...] = ()  # ask only the events of these types; empty: all


def max_cpu(strategy: Literal["any", "next"], calm: float = 70.0) -> str:
    """Query 1 by the rule skip till any or next match; few readings are calm if that means a low load."""
    return f"""\
PATTERN SEQ(TaskStart a, CPU b, TaskFinish c, CPU d)
WHERE [node] AND a.task_id = c.task_id AND b.value > 95 AND d.value <= {calm:g} AND skip_till_{strategy}_match
WITHIN 15 seconds
RETURN a.task_id AS task, b.value AS peak"""


MONITORING: Mapping[str, MonitoringQuery] = {
    "Q1": MonitoringQuery(
        question="How long do the mappers of each job take, on average and at most?",
        truth="jobs",
        text="""\
PATTERN SEQ(JobStart a, Mapper+ b[], JobEnd c)
WHERE [job_id] AND skip_till_next_match
WITHIN 1 day
RETURN a.job_id AS job, avg(b[].period) AS mean_period, max(b[].period) AS max_period""",
    ),
    "Q2": MonitoringQuery(
        question="How long do the reducers of each job take, on average and at most?",
        truth="jobs",
        text="""\
PATTERN SEQ(JobStart a, Reducer+ b[], JobEnd c)
WHERE [job_id] AND skip_till_next_match
WITHIN 1 day
RETURN a.job_id AS job, avg(b[].period) AS mean_period, max(b[].period) AS max_period""",
    ),
    "Q3": MonitoringQuery(
        question="Which reducers are held up by a data pull that takes over twice the average of their pulls so far?",
        truth="stragglers",
        text="""\
PATTERN SEQ(ReducerStart a, DataPull+ b[])
WHERE [task_id] AND b[last].period > 2 * avg(b[].period) AND skip_till_next_match
WITHIN 10 minutes
CLOSURE PREFIXES
RETURN a.task_id AS task, b[last].period AS period, avg(b[].period) AS mean_period""",
    ),
    "Q4": MonitoringQuery(
        question="How much data of each job have mappers written and reducers not yet pulled, over time?",
        truth="queue",
        text="""\
PATTERN SEQ(JobStart a, DataIO+ b[])
WHERE [job_id] AND skip_till_next_match
WITHIN 1 day
CLOSURE PREFIXES
RETURN b[last].time AS moment, a.job_id AS job, a.time AS job_start, sum(b[].size) AS queued""",
    ),
    "Q6": MonitoringQuery(
        question="How far does the load imbalance climb while each reducer runs?",
        truth="imbalanced",
        text="""\
PATTERN SEQ(ReducerStart a, LoadStd+ b[], ReducerEnd c)
WHERE [task_id] AND b[i].value >= b[i-1].value AND skip_till_next_match
WITHIN 10 minutes
RETURN a.task_id AS task, count(b[]) AS climbs, b[last].value AS load_std""",
    ),
    "steady_imbalance": MonitoringQuery(
        question="During which reducers does the load imbalance never decrease?",
        truth="imbalanced",
        text="""\
PATTERN SEQ(ReducerStart a, LoadStd+ b[], ReducerEnd c)
WHERE [task_id] AND b[i].value >= b[i-1].value AND partition_contiguity
WITHIN 10 minutes
RETURN a.task_id AS task, count(b[]) AS climbs, b[last].value AS load_std""",
        among=("ReducerStart", "LoadStd", "ReducerEnd"),
    ),
    "max_cpu": MonitoringQuery(
        question="Which short task maxed out the CPU of its node, which calmed down when the task had finished?",
        truth="hot_tasks",
        text=max_cpu("any"),
    ),
}

QUERIES: Mapping[str, str] = {name: query.text for name, query in MONITORING.items()}
