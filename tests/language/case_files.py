"""Case files: queries with what they must give, as text anyone can add to.

    # why this case is here
    PATTERN SEQ(A, B)
    =>
    PATTERN SEQ(A a, B b)
    ===
    (next case)

`pytest tests/language --update-cases` rewrites what stands behind `=>`; review the difference.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent


class Case(NamedTuple):
    comment: str
    query: str
    expected: str


def read_cases(path: Path) -> list[Case]:
    """All cases of a file."""
    cases = []
    for block in path.read_text("utf-8").split("\n===\n"):
        query, _, expected = block.strip("\n").partition("\n=>")
        lines = query.split("\n")
        comments = [line for line in lines if line.startswith("#")]
        cases.append(Case("\n".join(comments), "\n".join(lines[len(comments) :]), expected.strip("\n")))
    return cases


def write_cases(path: Path, cases: list[Case]) -> None:
    """The same cases with other expectations."""
    blocks = ("\n".join(filter(None, (c.comment, c.query, "=>", c.expected))) for c in cases)
    path.write_text("\n\n===\n".join(blocks) + "\n", "utf-8")


def check_cases(path: Path, run: Callable[[str], str], *, update: bool) -> None:
    """Run every case of a file; with `update`, write down what came out."""
    cases = read_cases(path)
    actual = [case._replace(expected=run(case.query)) for case in cases]
    if update and actual != cases:
        write_cases(path, actual)
        return
    for case, now in zip(cases, actual, strict=True):
        assert now.expected == case.expected, f"{path.name}: {case.comment}\n{case.query}"
