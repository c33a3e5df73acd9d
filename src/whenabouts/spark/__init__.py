"""Everything that needs pyspark: batch, streaming, state, SQL, sources and sinks.

`register(spark)` makes match_pattern known to SQL, `key_report(query, df)` shows skew, `local_session()` starts Spark.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "OneTaskWarning": "batch",
    "key_report": "batch",
    "local_session": "session",
    "register": "sql",
}


def __getattr__(name: str) -> Any:
    """Import on first use: finding a Java (`spark.java`) needs no pyspark."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
