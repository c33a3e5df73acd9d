"""The PyPI package pandas-match-recognize, in a process and folder of its own.

It wants an older NumPy and installs a top-level package named `src`, so it must not enter the project's environment.
`python -m benchmarks.compare.pandas_match_recognize.pandas_peer` installs it; benchmarks never do that by themselves.
"""

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.measure import NotMeasured
from benchmarks.peers import CACHE, PeerResult, run_peer

VERSION = "0.2.5"
HOME = CACHE / f"pandas-match-recognize-{VERSION}"
QUERIES = ("vshape", "seq3")


def install() -> None:
    """Install the package with the dependencies it wants into a folder of the cache."""
    if not HOME.exists():
        package = f"pandas-match-recognize=={VERSION}"
        subprocess.run([sys.executable, "-m", "pip", "install", "--target", str(HOME), package], check=True)


def run_pandas(query: str, path: Path, window: int | None = None, timeout: float = 120, runs: int = 1) -> PeerResult:
    """Run a query of QUERIES over a folder of Parquet files, loaded into pandas before the clock starts."""
    if query not in QUERIES:
        raise ValueError(f"there is no query {query}; there are {', '.join(QUERIES)}")
    if not HOME.exists():
        raise NotMeasured("not installed: python -m benchmarks.compare.pandas_match_recognize.pandas_peer")
    bound = "-1" if window is None else str(window)
    command = [sys.executable, str(Path(__file__).with_name("query.py")), query, str(path), bound, str(runs)]
    return run_peer(command, runs=runs, timeout=timeout, env={**os.environ, "PYTHONPATH": str(HOME)})


if __name__ == "__main__":
    install()
