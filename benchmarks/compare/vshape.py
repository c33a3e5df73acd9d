"""A price falls for a while, then rises: MATCH_RECOGNIZE (S D+ U) for each key of a random walk."""

from functools import partial

from benchmarks.cases import check, flink, load_case, pandas_match_recognize, whenabouts
from benchmarks.data import random_walk
from benchmarks.expected import vshape

NAME = "vshape"
QUERY = """
    SELECT * FROM events MATCH_RECOGNIZE (
      PARTITION BY key ORDER BY time
      MEASURES S.id AS first_id, LAST(D.id) AS bottom_id, U.id AS last_id
      ONE ROW PER MATCH AFTER MATCH SKIP TO LAST U
      PATTERN (S D+ U)
      DEFINE D AS D.v < PREV(D.v), U AS U.v > PREV(U.v) AND U.time - S.time <= {window})"""
VARIANTS = {
    "whenabouts": whenabouts(QUERY, language="match_recognize"),
    "flink sql, 2 slots": flink("sql", "vshape"),
    "flink sql, 2 slots, batch": flink("sql", "vshape", execution="batch"),
    "pandas-match-recognize": pandas_match_recognize("vshape"),
}
load = partial(load_case, random_walk, vshape)

__all__ = ["NAME", "VARIANTS", "check", "load"]
