"""Case files: a query, its events and its matches as text.

    # one sentence
    query    PATTERN SEQ(A a, B b) WITHIN 10
    events   1 A | 2 B@5 v=3 | 3 B@5 k=x
    matches  a=1 b=2 ; a=1 b=3

An event is its id, its type, @ its time (default: the id), and attributes. Cases are separated by one empty
line; a line that begins with white space continues the one before.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class MatchCase:
    """One case; `matches` are sets of (step, ids)."""

    name: str
    sentence: str
    query: str
    events: tuple[dict[str, Any], ...]
    matches: frozenset[tuple[tuple[str, tuple[int, ...]], ...]]


def all_cases() -> list[MatchCase]:
    return [case for path in sorted(FOLDER.glob("*.case")) for case in _cases(path)]


def _cases(path: Path) -> Iterator[MatchCase]:
    for number, block in enumerate(path.read_text().strip().split("\n\n"), 1):
        fields: dict[str, str] = {}
        last = ""
        for line in block.splitlines():
            if line.startswith((" ", "\t")):
                fields[last] += " " + line.strip()
                continue
            last, _, rest = line.partition(" ")
            fields[last] = (fields[last] + " " if last in fields else "") + rest.strip()
        events = tuple(_event(item) for item in fields["events"].split("|"))
        names = {name for e in events for name in e}
        filled = tuple({name: e.get(name) for name in sorted(names)} for e in events)
        found = frozenset(_match(m) for m in fields.get("matches", "").split(";") if m.strip())
        yield MatchCase(f"{path.stem}-{number}", fields["#"], fields["query"], filled, found)


def _event(text: str) -> dict[str, Any]:
    ident, kind, *attributes = text.split()
    kind, _, time = kind.partition("@")
    event: dict[str, Any] = {"id": int(ident), "type": kind, "time": int(time or ident)}
    return event | {name: _value(value) for name, value in (a.split("=", 1) for a in attributes)}


def _value(text: str) -> Any:
    if text == "null":
        return None
    try:
        return float(text)
    except ValueError:
        return text


def _match(text: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
    pairs = (item.split("=") for item in text.split())
    return tuple(sorted((step, tuple(int(i) for i in ids.split(","))) for step, ids in pairs))
