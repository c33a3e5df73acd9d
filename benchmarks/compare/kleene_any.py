"""SEQ(A, B+, C), skip till any match: every choice of Bs, all of them listed; ten events of a key in a window."""

from functools import partial

from benchmarks.cases import check, flink, load_case, whenabouts
from benchmarks.data import kleene_stream
from benchmarks.expected import kleene_any

NAME = "kleene_any"
QUERY = "PATTERN SEQ(A a, B+ b[], C c) WHERE [key] AND skip_till_any_match WITHIN {window} INCLUSIVE"
VARIANTS = {
    "whenabouts": whenabouts(QUERY),
    "flink cep, 1 slot": flink("cep", "kleene", parallelism=1),
    "flink cep, 2 slots": flink("cep", "kleene"),
    "flink cep, 2 slots, from file": flink("cep", "kleene", source="file"),
    "flink cep, 2 slots, batch": flink("cep", "kleene", execution="batch"),
}
load = partial(load_case, kleene_stream, kleene_any)

__all__ = ["NAME", "VARIANTS", "check", "load"]
