"""Random tables with uncertain times, and what each row should become: row by row, in plain Python."""

import math
from fractions import Fraction

import pyarrow as pa
from hypothesis import strategies as st

import whenabouts as wa
from tests.timeline import literal_pmfs as literal
from whenabouts.engine import compile_query
from whenabouts.events.table import schema_of

TEXT = "PATTERN SEQ(A a, B b) WITHIN 10"
EDGE = 2**62
bounds = st.none() | st.integers(-30, 30) | st.sampled_from([EDGE - 1, EDGE, -EDGE, 1 - EDGE, 2**63 - 1, -(2**63)])
numbers = st.sampled_from([0.0, 0.25, 0.5, 0.5, 1.0, 1.0, -0.5, math.nan, math.inf, 1e-10])
pmfs = st.none() | st.lists(st.none() | numbers, max_size=4) | st.sampled_from([[1.0], [0.5, 0.5], [0.25] * 4])
errors = st.none() | st.integers(-3, 20) | st.sampled_from([EDGE, 2**63 - 1])


def interval_fault(lower, upper):
    if not (-EDGE < lower < EDGE and -EDGE < upper < EDGE):
        return "time out of range"
    return "lower > upper" if lower > upper else None


def of_columns(row, tick):
    """Two columns: the fault of a row, or its pmf by tick."""
    lower, upper = row["lower"], row["upper"]
    if lower is None or upper is None:
        return "null bound"
    fault = interval_fault(lower, upper)
    if fault is not None or "pmf" not in row:
        return fault or literal.Flat(lower // tick, upper // tick)
    masses = row["pmf"]
    if masses is None:
        return "null pmf"
    ticks, units = upper // tick - lower // tick + 1, upper - lower + 1
    if not masses or (ticks % len(masses) and units % len(masses)):
        return "pmf of wrong length"
    if any(m is None or not math.isfinite(m) or m < 0 for m in masses):
        return "negative or NaN mass"
    if abs(sum(map(Fraction, masses)) - 1) > Fraction(1e-9):
        return "pmf does not sum to 1"
    return literal.listed(lower, upper, tick, masses) if units < 1000 else "long"


def of_error(row, tick, before, after):
    """One column and an error: the fault of a row, or its pmf by tick."""
    time = row["time"]
    if time is None:
        return "null time"
    if before is None or after is None:
        return "null error"
    if before < 0 or after < 0:
        return "negative error"
    if max(abs(time), before, after) >= EDGE:
        return "time out of range"
    return interval_fault(time - before, time + after) or literal.Flat((time - before) // tick, (time + after) // tick)


def table_of(rows, kinds):
    """Columns of fixed types, also where every value is NULL."""
    arrays = {name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()}
    return pa.table(
        {"id": pa.array(range(len(rows)), pa.int64()), "type": pa.array(["A"] * len(rows), pa.string()), **arrays}
    )


def planned(table, **options):
    """The plan of the usual query with these options."""
    return plan_of(wa.query(TEXT, **options), table)


def plan_of(query, table):
    """The bound plan of a query over a table."""
    schema = schema_of(table.schema, query.options.roles)
    return compile_query(query.query, schema, query.options.granularity)
