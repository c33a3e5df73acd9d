"""The clauses that choose among finished match rows: CONFIDENCE, TOP and LIMIT.

All three read rows only, so they mean the same over exact time, where every confidence is 1. TOP is the same for every
order of the rows and every partition: chosen again among the rows chosen by each part, the most confident remain.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from whenabouts.matches.record import CONFIDENCE, MATCH_ID
from whenabouts.plan.pattern import Output, Query


def chosen(query: Query, rows: pa.Table) -> pa.Table:
    """The rows a query asks for; with TOP, the most confident first, ties by match_id."""
    if query.output is Output.TOTAL:
        return rows
    if query.confidence is not None:
        enough = pc.greater if query.confidence.above else pc.greater_equal
        rows = rows.filter(enough(rows.column(CONFIDENCE), query.confidence.least))
    if query.top is not None:
        order = [(CONFIDENCE, "descending"), (MATCH_ID, "ascending")]
        rows = rows.take(pc.select_k_unstable(rows, min(query.top, rows.num_rows), order)) if rows.num_rows else rows
    return rows if query.limit is None else rows.slice(0, query.limit)
