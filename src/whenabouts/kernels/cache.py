"""Where compiled loops are kept.

Problem: Numba keeps machine code beside the sources or below the home directory, and refuses to import a cached
function where it can write to neither, as in many containers and Spark executors. Idea: look first, and name a
directory of our own among the temporary files then. Invariant: nobody else can write there: the files hold code.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numba


def choose_cache_directory() -> None:
    """Give Numba a directory if it has none it can use; a directory somebody has named is left alone."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    config: Any = numba.config
    if config.CACHE_DIR or writable(Path(__file__).parent / "__pycache__") or writable(home / "numba"):
        return
    config.CACHE_DIR = str(private_directory())


def writable(directory: Path) -> bool:
    """Whether files can be made there; a missing directory is made."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=directory).close()
    except OSError:
        return False
    return True


def private_directory() -> Path:
    """One directory for all processes of this user; one for this process where another user was there first."""
    shared = Path(tempfile.gettempdir()) / f"whenabouts-{os.getuid()}"
    try:
        shared.mkdir(mode=0o700, exist_ok=True)
        found = shared.lstat()
    except OSError:
        return Path(tempfile.mkdtemp(prefix="whenabouts-"))
    ours = shared.is_dir() and not shared.is_symlink() and found.st_uid == os.getuid() and not found.st_mode & 0o077
    return shared if ours else Path(tempfile.mkdtemp(prefix="whenabouts-"))
