"""Apache Flink, installed from PyPI and Maven, run by our own FlinkPeer.java in one JVM.

`python -m benchmarks.compare.flink.flink_peer` installs it (400 MB); benchmarks never do that by themselves.
"""

import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.measure import NotMeasured
from benchmarks.peers import CACHE, PeerResult, run_peer

FLINK = "2.3.0"
HERE = Path(__file__).parent
HOME = CACHE / f"flink-{FLINK}"
Mode = Literal["cep", "sql"]
QUERIES: dict[Mode, tuple[str, ...]] = {"cep": ("kleene", "seq3"), "sql": ("vshape", "seq3")}
OPENED = ("util", "lang", "time")  # packages of java.base that Flink reflects on
HEAP = "8g"


def install() -> None:
    """Fetch Flink's jars with pip and what it needs for Parquet with Maven; again only after removing the folder."""
    if HOME.exists():
        return
    unfinished = CACHE / "flink.part"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    wheel = [f"apache-flink-libraries=={FLINK}", "--no-deps", "--dest", str(unfinished)]
    subprocess.run([sys.executable, "-m", "pip", "download", *wheel], check=True)
    (downloaded,) = unfinished.glob("*.whl")
    with zipfile.ZipFile(downloaded) as archive:
        for name in archive.namelist():
            if name.startswith("pyflink/lib/"):
                (unfinished / Path(name).name).write_bytes(archive.read(name))
    downloaded.unlink()
    maven = ["mvn", "--batch-mode", "--quiet", "--file", str(HERE / "pom.xml"), f"-Dflink.version={FLINK}"]
    subprocess.run([*maven, "dependency:copy-dependencies", f"-DoutputDirectory={unfinished}"], check=True)
    unfinished.rename(HOME)


@dataclass(frozen=True)
class FlinkJob:
    """A query of QUERIES[mode] over a folder of Parquet files; `window` bounds the last time minus the first."""

    mode: Mode
    query: str
    path: Path
    window: int | None = None
    parallelism: int = 2
    source: Literal["memory", "file"] = "memory"  # memory: loaded before the clock starts
    execution: Literal["streaming", "batch"] = "streaming"

    def __post_init__(self) -> None:
        if self.query not in QUERIES[self.mode]:
            raise ValueError(f"{self.mode} has no query {self.query}; there are {', '.join(QUERIES[self.mode])}")


def run_flink(job: FlinkJob, *, timeout: float = 120, runs: int = 1) -> PeerResult:
    """Run a job several times in one JVM; seconds exclude its start and job submission."""
    if not HOME.exists():
        raise NotMeasured("not installed: python -m benchmarks.compare.flink.flink_peer")
    opened = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in OPENED]
    java = ["java", f"-Xmx{HEAP}", *opened, "-cp", os.pathsep.join([str(_compiled()), f"{HOME}/*"]), "FlinkPeer"]
    window = -1 if job.window is None else job.window
    arguments = [job.mode, job.query, job.path, window, job.parallelism, job.source, job.execution, runs]
    return run_peer([*java, *map(str, arguments)], runs=runs, timeout=timeout)


def _compiled() -> Path:
    """The folder of FlinkPeer's classes, compiled again after a change."""
    program, classes = HERE / "FlinkPeer.java", CACHE / "flink-classes"
    compiled = classes / "FlinkPeer.class"
    if not compiled.exists() or compiled.stat().st_mtime < program.stat().st_mtime:
        subprocess.run(["javac", "-cp", f"{HOME}/*", "-d", str(classes), str(program)], check=True)
    return classes


if __name__ == "__main__":
    install()
