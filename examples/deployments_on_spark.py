"""Bad deployments in Parquet files, found on Spark and, for comparison, in this process: the same matches.

Run it: python examples/deployments_on_spark.py   (needs 'whenabouts[spark]' and Java 17 or newer)
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import whenabouts as wa
from whenabouts.spark.session import local_session

BROKEN = """
    PATTERN SEQ(Deploy d, !(Rollback r), Error{3} e[])
    WHERE   [service] AND e[i].code >= 500
    WITHIN  5 minutes
    RETURN  d.code AS release, e[last].time - d.time AS after
"""


def log(seed: int = 3, length: int = 100_000) -> pa.Table:
    """A day of deployments (code: the release), rollbacks and errors (code: the status) of 200 services."""
    random = np.random.default_rng(seed)
    kind = random.choice(["Deploy", "Rollback", "Error"], length, p=[0.02, 0.01, 0.97])
    return pa.table(
        {
            "id": np.arange(length),
            "type": kind,
            "time": pa.array(np.sort(random.integers(0, 86_400_000, length)) * 1000, pa.timestamp("us")),
            "service": [f"service-{number}" for number in random.integers(0, 200, length)],
            "code": np.where(kind == "Error", random.choice([404, 500, 503], length), random.integers(1, 99, length)),
        }
    )


def main() -> None:
    query = wa.query(BROKEN, name="bad deployment")
    here = query.match(log())
    with TemporaryDirectory() as folder:
        pq.write_table(log(), Path(folder) / "log.parquet")
        spark = local_session("deployments")
        frame = spark.read.parquet(Path(folder).as_uri())
        found = frame.transform(query.match)
        found.groupBy("service").count().orderBy("count", "service", ascending=[False, True]).show(3)
        ids = [row.match_id for row in found.select("match_id").collect()]
    print(f"{len(ids)} bad deployments on Spark, {here.num_rows} in this process")
    assert sorted(ids) == sorted(here["match_id"].to_pylist())


if __name__ == "__main__":
    main()
