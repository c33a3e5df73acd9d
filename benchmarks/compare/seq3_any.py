"""SEQ(A, B, C), skip till any match; ten events of a key in a window."""

from functools import partial

from benchmarks.cases import check, flink, load_case, whenabouts
from benchmarks.data import kleene_stream
from benchmarks.expected import seq3_any

NAME = "seq3_any"
QUERY = "PATTERN SEQ(A a, B b, C c) WHERE [key] AND skip_till_any_match WITHIN {window} INCLUSIVE"
VARIANTS = {
    "whenabouts": whenabouts(QUERY),
    "flink cep, 1 slot": flink("cep", "seq3", parallelism=1),
    "flink cep, 2 slots": flink("cep", "seq3"),
    "flink cep, 2 slots, from file": flink("cep", "seq3", source="file"),
}
load = partial(load_case, kleene_stream, seq3_any)

__all__ = ["NAME", "VARIANTS", "check", "load"]
