"""SEQ(A, B, C), skip till next match; row pattern engines write it with gaps: A X* B Y* C."""

from functools import partial

from benchmarks.cases import check, flink, load_case, pandas_match_recognize, whenabouts
from benchmarks.data import kleene_stream
from benchmarks.expected import seq3_next

NAME = "seq3_next"
QUERY = "PATTERN SEQ(A a, B b, C c) WHERE [key] AND skip_till_next_match WITHIN {window} INCLUSIVE"
VARIANTS = {
    "whenabouts": whenabouts(QUERY),
    "flink sql, 2 slots": flink("sql", "seq3"),
    "flink sql, 2 slots, batch": flink("sql", "seq3", execution="batch"),
    "pandas-match-recognize": pandas_match_recognize("seq3"),
}
load = partial(load_case, kleene_stream, seq3_next)

__all__ = ["NAME", "VARIANTS", "check", "load"]
