"""SEQ(A, B+, C), skip till any match: every choice of Bs, listed and counted; ten events of a key in a window."""

from functools import partial

from benchmarks.cases import check, flink, load_case, whenabouts
from benchmarks.data import kleene_stream
from benchmarks.expected import kleene_any

NAME = "kleene_any"
QUERY = "PATTERN SEQ(A a, B+ b[], C c) WHERE [key] AND skip_till_any_match WITHIN {window} INCLUSIVE"
VARIANTS = {
    "whenabouts": whenabouts(QUERY),
    "whenabouts, counted": whenabouts(f"{QUERY} RETURN TOTAL count(*) AS n"),
    "flink cep, 2 slots": flink("cep", "kleene"),
}
load = partial(load_case, kleene_stream, kleene_any)

__all__ = ["NAME", "VARIANTS", "check", "load"]
