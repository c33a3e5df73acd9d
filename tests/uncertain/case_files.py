"""Case files over uncertain time: a query, its events and its matches with their confidence as text.

    # one sentence
    query    PATTERN SEQ(A a, B+ b[]) WITHIN 10
    closure  set
    events   a@1-5 | b1@5 v=3 | b2@3-5 pmf=1/4,0,3/4
    matches  a=a b=b1,b2 : 1/20 in 1-5 final 6 ; a=a b=b2 : 1/4

An event is its id, @ its first and last instant, and attributes; its type is the letters of the id. A match is its
events by step, : its confidence, `in` its range, and `final` the tau from which no event can change it (final now: no
event ever can); what is left out is not stated. `closure set`: groups are unordered. Cases are separated by one empty
line; a line that begins with white space continues the one before.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

FOLDER = Path(__file__).parent / "cases"
EVENT = re.compile(r"(?P<id>(?P<type>[a-z]+)\w*)@(?P<lower>\d+)(?:-(?P<upper>\d+))?")
MATCH = re.compile(
    r"(?P<steps>[^:]+?) : (?P<confidence>\S+)"
    r"(?: in (?P<start>\d+)-(?P<end>\d+))?(?: final (?P<final>\d+|now))?"
)

Steps = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Expected:
    """What a case says about one match; `final` None: from the beginning."""

    confidence: Fraction
    extent: tuple[int, int] | None
    final: int | Literal["not stated"] | None


@dataclass(frozen=True)
class UncertainMatchCase:
    """One case; `matches` by (step, ids), which stand in time order, or sorted where groups are unordered."""

    name: str
    sentence: str
    query: str
    closure_as_set: bool
    events: tuple[dict[str, Any], ...]
    matches: dict[Steps, Expected]


def all_cases() -> list[UncertainMatchCase]:
    return [case for path in sorted(FOLDER.glob("*.case")) for case in _cases(path)]


def _cases(path: Path) -> Iterator[UncertainMatchCase]:
    for number, block in enumerate(path.read_text().strip().split("\n\n"), 1):
        joined = re.sub(r"\n\s+", " ", block)
        fields = {name: rest.strip() for name, _, rest in (line.partition(" ") for line in joined.splitlines())}
        yield UncertainMatchCase(
            f"{path.stem}-{number}",
            fields["#"],
            fields["query"],
            {"set": True, "sequence": False}[fields.get("closure", "sequence")],
            tuple(_event(item) for item in fields["events"].split("|")),
            dict(_match(item.strip()) for item in fields["matches"].split(";") if item.strip()),
        )


def _event(text: str) -> dict[str, Any]:
    head, *attributes = text.split()
    found = EVENT.fullmatch(head)
    assert found, text
    lower, upper = int(found["lower"]), int(found["upper"] or found["lower"])
    given = dict(attribute.split("=", 1) for attribute in attributes)
    masses = given.pop("pmf", None)
    return {
        "id": found["id"],
        "type": found["type"].upper(),
        "lower": lower,
        "upper": upper,
        "pmf": None if masses is None else [float(Fraction(mass)) for mass in masses.split(",")],
        "k": None,
        "v": None,
    } | {name: int(number) for name, number in given.items()}


def _match(text: str) -> tuple[Steps, Expected]:
    found = MATCH.fullmatch(text)
    assert found, text
    pairs = (item.split("=") for item in found["steps"].split())
    steps = tuple((step, tuple(ids.split(","))) for step, ids in pairs)
    extent = (int(found["start"]), int(found["end"])) if found["start"] else None
    final = (
        {"now": None, None: "not stated"}[found["final"]] if found["final"] in ("now", None) else int(found["final"])
    )
    return steps, Expected(Fraction(found["confidence"]), extent, final)
