"""The Spark session that benchmarks share: two tasks at a time in this machine, started on first use."""

from functools import cache
from typing import Any


def spark(partitions: int, *, exactly: bool = False) -> Any:
    """The session, shuffling into so many partitions from now on; unless exactly, Spark may unite small ones."""
    session = _session()
    session.conf.set("spark.sql.shuffle.partitions", partitions)
    session.conf.set("spark.sql.adaptive.coalescePartitions.enabled", not exactly)
    return session


@cache
def _session() -> Any:
    from whenabouts.spark.session import local_session  # most benchmarks need none

    session = local_session("benchmarks", cores=2)
    session.sparkContext.setLogLevel("ERROR")
    return session
