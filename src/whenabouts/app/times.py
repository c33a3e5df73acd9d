"""What the command line says about uncertain times -> the arguments of `whenabouts.query`.

Idea: an option has the name of the argument it stands for; only what a shell cannot write differs: two columns are two
options, the two sides of an error are joined by a comma, and an error per source is one `--error SOURCE=LENGTH` each.
Invariant: options that contradict one another are refused, none is silently ignored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from whenabouts.errors import QueryError
from whenabouts.events.roles import ErrorTable, Margin

IN_PYTHON = tuple(  # how messages name an argument of `query`, and the option that stands for it
    (re.compile(written), option)
    for written, option in (
        (r'wa\.query\(text, time=\("(\w+)", "(\w+)"\)\)', r"--lower \1 --upper \2"),
        (r"wa\.query\(text, (\w+)=[^)]*\)", r"--\1 COLUMN"),
        (r'\btime=\("(\w+)", "(\w+)"\)', r"--lower \1 --upper \2"),
        (r'\berrors=\{"(\w+)": "([^"]*)"\}', r"--error '\1=\2'"),
        (r'\berror=\("([^"]*)", "([^"]*)"\)', r"--error '\1,\2'"),
        (r'\b(time|error|shape|granularity)="([^"]*)"', r"--\1 '\2'"),
        (r"\berror=(\d+)", r"--error \1"),
        (r'\("normal", (\d+)\)', r"--shape normal,\1"),
        (r"\ban ErrorTable\b", "--error-by COLUMN"),
        (r'\bon_budget="(\w+)"', r"--on-budget \1"),
        (r"\bbudget=…", "--budget"),
        (r"\bmax_matches\b", "--max-matches"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeOptions:
    """The options about time, as given."""

    time: str | None
    lower: str | None
    upper: str | None
    error: Sequence[str]
    error_by: str | None
    shape: str | None
    pmf: str | None

    def arguments(self) -> dict[str, Any]:
        """The arguments of `query` they stand for; None where nothing was said."""
        return {
            "time": self._columns(),
            "error": self._error(),
            "shape": None if self.shape is None else shape_of_text(self.shape),
            "pmf": self.pmf,
        }

    def _columns(self) -> str | tuple[str, str] | None:
        if self.lower is None and self.upper is None:
            return self.time
        if self.lower is None or self.upper is None:
            given, missing = ("--lower", "--upper") if self.upper is None else ("--upper", "--lower")
            message = f"{given} names one end of the intervals, the other one is missing"
            raise QueryError("type-mismatch", message, hint=f"add {missing} COLUMN")
        if self.time is not None:
            message = "--time names an exact or recorded time, --lower and --upper an interval"
            raise QueryError("type-mismatch", message, hint="leave one of the two out")
        return self.lower, self.upper

    def _error(self) -> Margin | ErrorTable | None:
        if self.error_by is None:
            if len(self.error) > 1:
                message = f"--error is given {len(self.error)} times, which needs a column that says which one applies"
                raise QueryError("type-mismatch", message, hint="--error-by COLUMN --error 'SOURCE=LENGTH' …")
            return margin_of_text(self.error[0]) if self.error else None
        errors: dict[str, Margin] = {}
        default: Margin | None = None
        for text in self.error:
            source, equals, length = text.rpartition("=")
            if (equals and source in errors) or (not equals and default is not None):
                whose = f"the source {source!r}" if equals else "all other sources"
                raise QueryError("duplicate-name", f"there are two errors for {whose}", hint="leave one out")
            if equals:
                errors[source] = margin_of_text(length)
            else:
                default = margin_of_text(text)
        if not errors and default is None:
            message = f"--error-by {self.error_by} needs the errors of its sources"
            raise QueryError("type-mismatch", message, hint="--error 'gps=1 s' --error 'clock=20 ms' --error '1 min'")
        return ErrorTable(self.error_by, errors, default)


def margin_of_text(text: str) -> Margin:
    """`500 ms`, a column, or both sides: `7 s,8 s`."""
    sides = [side.strip() for side in text.split(",")]
    if len(sides) > 2:
        message = f"the error {text!r} has {len(sides)} parts"
        raise QueryError("syntax", message, hint="one for both sides, '500 ms', or two, before and after: '7 s,8 s'")
    return (sides[0], sides[1]) if len(sides) == 2 else sides[0]


def shape_of_text(text: str) -> str | tuple[str, float]:
    """`triangular`, or with the number of standard deviations: `normal,2`."""
    kind, comma, sigmas = (part.strip() for part in text.partition(","))
    if not comma:
        return kind
    try:
        return kind, float(sigmas)
    except ValueError:
        message = f"the shape {text!r} is cut off at {sigmas!r}, which is not a number"
        raise QueryError("syntax", message, hint="--shape normal,2 cuts off at 2 standard deviations") from None


def for_shell(text: str) -> str:
    """What a message says about Python, in options of this command line."""
    for written, option in IN_PYTHON:
        text = written.sub(option, text)
    return text
