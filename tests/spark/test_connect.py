"""The same over Spark Connect; in a process of its own, which cannot have a classic session as well."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.spark

PROGRAM = """
import whenabouts as wa
from whenabouts.spark import key_report, local_session, register

spark = local_session("connect", connect=True)
rows = [{"id": i, "type": "ABBC"[i % 4], "time": i, "node": i % 3, "v": float(i % 5)} for i in range(90)]
df = spark.createDataFrame(rows)
text = "PATTERN SEQ(A a, B+ b[], C c) WHERE [node] AND b[i].v >= 1 AND skip_till_any_match WITHIN 20"
query = wa.query(text)
expected = sorted(row["match_id"] for row in query.match(rows))
assert expected
assert sorted(row.match_id for row in query.match(df).collect()) == expected
assert query.bad_rows(df).count() == 0
assert wa.query(text, error=wa.ErrorTable("type", {"A": 1})).bad_rows(df).count() == sum(r["type"] != "A" for r in rows)
assert [row.match_id for row in wa.query(text + " TOP 3 BY CONFIDENCE").match(df).collect()] == expected[:3]
assert len(key_report(query, df).collect()) == 3
assert "shuffle by node" in query.explain(df)
register(spark)
df.createOrReplaceTempView("events")
answer = spark.sql(f"SELECT match_id FROM match_pattern('{text}', TABLE(events))")
assert sorted(row.match_id for row in answer.collect()) == expected
spark.stop()
print("same")
"""


def test_connect():
    environment = {**os.environ, "SPARK_TESTING": "1"}  # a free port instead of the one port of Connect
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.endswith("same\n"), done.stderr[-3000:]
