"""Pattern queries over events whose time cannot be trusted."""

from whenabouts.engine import BadRowsWarning, PatternQuery, Run, query
from whenabouts.errors import QueryError, WhenaboutsError
from whenabouts.events.roles import ErrorTable
from whenabouts.language.aggregates import aggregate
from whenabouts.language.builder import absent, all_of, any_of, seq, step, union
from whenabouts.timeline.detection import detection_pmf

__all__ = [
    "BadRowsWarning",
    "ErrorTable",
    "PatternQuery",
    "QueryError",
    "Run",
    "WhenaboutsError",
    "absent",
    "aggregate",
    "all_of",
    "any_of",
    "detection_pmf",
    "query",
    "seq",
    "step",
    "union",
]
