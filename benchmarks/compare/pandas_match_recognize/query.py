"""Child process: run one query with pandas-match-recognize and print one line of JSON per run.

usage: query.py (vshape|seq3) PATH WINDOW RUNS      WINDOW -1 is no bound
"""

import json
import sys
import time

import pyarrow.parquet as pq
from pandas_match_recognize import match_recognize  # type: ignore[import-not-found]

MATCH_RECOGNIZE = {
    "vshape": """
        SELECT * FROM events MATCH_RECOGNIZE (
          PARTITION BY key ORDER BY time
          MEASURES S.id AS id1, LAST(D.id) AS id2, U.id AS id3
          ONE ROW PER MATCH AFTER MATCH SKIP TO LAST U
          PATTERN (S D+ U)
          DEFINE D AS D.v < PREV(D.v), U AS U.v > PREV(U.v){within})""",
    "seq3": """
        SELECT * FROM events MATCH_RECOGNIZE (
          PARTITION BY key ORDER BY time
          MEASURES A.id AS id1, B.id AS id2, C.id AS id3, A.time AS first_time, C.time AS last_time
          ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW
          PATTERN (A X* B Y* C)
          DEFINE A AS A.type = 'A', X AS X.type != 'B', B AS B.type = 'B', Y AS Y.type != 'C', C AS C.type = 'C')""",
}
WITHIN = {"vshape": " AND U.time - S.time <= {window}"}


def main(query: str, path: str, window: int, runs: int) -> None:
    events = pq.read_table(path).to_pandas()
    events["type"] = events["type"].astype(str)
    within = WITHIN.get(query, "").format(window=window) if window >= 0 else ""
    sql = MATCH_RECOGNIZE[query].format(within=within)
    for _ in range(runs):
        start = time.perf_counter()
        found = match_recognize(sql, events)
        if window >= 0 and "last_time" in found:
            # The pattern fixes the B and the C of an A, so the window can wait; inside DEFINE it loses matches (0.2.5)
            found = found[found["last_time"] - found["first_time"] <= window]
        seconds = time.perf_counter() - start
        code = 0
        for match in zip(found["id1"], found["id2"], found["id3"], strict=True):
            one = 0
            for event_id in match:
                one = one * 31 + int(event_id) + 1
            code += one
        line = {"matches": len(found), "checksum": str(code % 2**64), "events": len(events), "seconds": seconds}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
