"""Pattern queries over events whose time cannot be trusted."""

from whenabouts.engine import BadRowsWarning, PatternQuery, Run, query
from whenabouts.errors import QueryError, WhenaboutsError
from whenabouts.language.aggregates import aggregate
from whenabouts.language.builder import absent, all_of, any_of, seq, step, union

__all__ = [
    "BadRowsWarning",
    "PatternQuery",
    "QueryError",
    "Run",
    "WhenaboutsError",
    "absent",
    "aggregate",
    "all_of",
    "any_of",
    "query",
    "seq",
    "step",
    "union",
]
