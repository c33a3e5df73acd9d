"""Which rows may have no usable time? Asked in Spark, so that only those are handed to Python.

Problem: the faults of times have one definition, `events.times` and `kernels.uncertain.encode`; repeated in
Spark SQL they would drift apart. Idea: Spark finds a superset by plain comparisons, and the same code as in one process
gives the reason. Invariant: every row with a fault is suspect; nothing here can overflow or raise. Lists of masses are
not looked at in Spark: every row of a query with a pmf is suspect.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows
from pyspark.sql import types as st

from whenabouts.events.schema import Error, ErrorBySource, Roles
from whenabouts.events.times import LIMIT
from whenabouts.spark.schema import column

FAR = LIMIT // 2  # times and errors below it add up to less than LIMIT
YEARS, DAYS = 9999, 1_000_000  # far less than FAR microseconds


def suspect_times(roles: Roles, struct: st.StructType) -> Column:
    """A condition that holds for every row without a usable time, and for few others."""
    if roles.pmf is not None:
        return F.lit(True)
    return reduce(lambda x, y: x | y, _tests(roles, struct))


def _tests(roles: Roles, struct: st.StructType) -> Iterator[Column]:
    times = [struct[name] for name in roles.time_columns]
    yield from (column(f).isNull() | _far(f) for f in times)
    if len(times) == 2:
        yield column(times[0]) > column(times[1])
    if isinstance(roles.error, ErrorBySource):
        errors = [error for _, error in roles.error.errors]
        if roles.error.default is None:
            source = column(struct[roles.error.column])
            yield source.isNull() | ~source.isin([name for name, _ in roles.error.errors])
        else:
            errors.append(roles.error.default)
        yield F.lit(any(_is_far(error) for error in errors))
    elif roles.error is not None:
        yield F.lit(_is_far(roles.error))
        for name in roles.error_columns:
            found = column(struct[name])
            yield found.isNull() | _far(struct[name]) | (found < _nothing(struct[name]))


def _is_far(error: Error) -> bool:
    return any(isinstance(side, int) and side >= FAR for side in (error.before, error.after))


def _far(field: st.StructField) -> Column:
    """Whether a time or an error is so large that adding to it could leave the range of times."""
    found, kind = column(field), field.dataType
    if isinstance(kind, st.DayTimeIntervalType):
        return found > F.make_dt_interval(F.lit(DAYS))
    if isinstance(kind, st.LongType):
        return ~found.between(1 - FAR, FAR - 1)
    if isinstance(kind, st.ByteType | st.ShortType | st.IntegerType | st.NullType):
        return F.lit(False)
    return ~F.year(found).between(-YEARS, YEARS)


def _nothing(field: st.StructField) -> Column:
    is_duration = isinstance(field.dataType, st.DayTimeIntervalType)
    return F.make_dt_interval() if is_duration else F.lit(0).cast("bigint")
