"""Every error whenabouts raises on purpose: a stable code, a sentence, where it happened, and what to do next.

One tree, so that `except WhenaboutsError` catches all of them. A message that concerns query text shows the line and a
caret; `CODES` is the list of codes (docs/errors.md explains each), and raising an unlisted code is itself an error.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from unicodedata import combining, east_asian_width

CODES: dict[str, str] = {
    "syntax": "The query text does not follow the grammar.",
    "limit": "The query is larger or deeper than the documented limits.",
    "unknown-name": "A step, column, function or option does not exist.",
    "duplicate-name": "Two things that must differ have the same name.",
    "type-mismatch": "An expression combines values whose types do not fit.",
    "wrong-reference": "A step is referred to in a way its shape does not allow (single step or closure).",
    "unsupported": "The query is meaningful, but not supported; the message names an equivalent that is.",
    "invalid-pattern": "The pattern cannot match anything or has no defined meaning.",
    "schema": "The table lacks a column the query needs, or the column has a type it cannot use.",
    "data": "The events contain something the query cannot work with.",
    "budget": "A bound on memory or on the number of matches was reached under the policy 'fail'.",
    "environment": "Something outside whenabouts (Java, Spark, an optional package) is missing or unfit.",
}


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open range of characters in the query text."""

    start: int
    end: int


class WhenaboutsError(Exception):
    """Base of all errors raised on purpose; `str(error)` is the complete, printable explanation."""

    def __init__(
        self, code: str, message: str, *, text: str | None = None, span: Span | None = None, hint: str | None = None
    ) -> None:
        if code not in CODES:
            raise AssertionError(f"unlisted error code {code!r}")
        self.code, self.message, self.text, self.span, self.hint = code, message, text, span, hint
        super().__init__(message)

    def __str__(self) -> str:
        lines = [f"[{self.code}] {self.message}"]
        if self.text is not None and self.span is not None:
            lines += caret_lines(self.text, self.span)
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)

    def with_text(self, text: str) -> WhenaboutsError:
        """Attach the query text, once it is known, so that the caret can be drawn."""
        if self.text is None:
            self.text = text
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.code, self.message, self.text, self.span, self.hint))


class QueryError(WhenaboutsError):
    """The query itself is wrong: syntax, names, types, shape."""


class UnsupportedError(QueryError):
    """The query is meaningful but not supported."""


class SchemaError(WhenaboutsError):
    """Query and table do not fit together."""


class DataError(WhenaboutsError):
    """The events contain something that cannot be set aside as a bad row."""


class BudgetError(WhenaboutsError):
    """A budget was exceeded and its policy is to fail."""


class EnvironmentProblem(WhenaboutsError):
    """Java, Spark or an optional package is missing or unfit."""


def _rebuild(
    kind: type[WhenaboutsError], code: str, message: str, text: str | None, span: Span | None, hint: str | None
) -> WhenaboutsError:
    return kind(code, message, text=text, span=span, hint=hint)


MAX_SHOWN_LINE = 160


def caret_lines(text: str, span: Span) -> list[str]:
    """The source line of `span` with carets below it; long lines are cut around the span."""
    start = min(max(span.start, 0), len(text))
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", start)
    line_end = len(text) if line_end < 0 else line_end
    number = text.count("\n", 0, start) + 1
    column = start - line_start
    width = max(1, min(span.end, line_end) - start)
    line = text[line_start:line_end].replace("\t", " ")
    shift = max(0, column - MAX_SHOWN_LINE // 2)
    shown = line[shift : shift + MAX_SHOWN_LINE]
    width = max(1, min(width, len(shown) - (column - shift)))
    shown = "".join(c if c.isprintable() else "\ufffd" for c in shown)
    prefix = f"line {number}: "
    at = column - shift
    return [prefix + shown, " " * (len(prefix) + _cells(shown[:at])) + "^" * _cells(shown[at : at + width].ljust(1))]


def _cells(text: str) -> int:
    """The columns of a terminal a text takes: ideographs take two, accents that combine none."""
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint that names what exists and, when one is near, the likely intent."""
    options = sorted(set(known))
    near = difflib.get_close_matches(name[:100].lower(), [o.lower() for o in options], n=1, cutoff=0.6)
    listed = ", ".join(options[:12]) + (", …" if len(options) > 12 else "")
    if near:
        original = next(o for o in options if o.lower() == near[0])
        return f"did you mean {original!r}? There is: {listed}"
    return f"there is: {listed}" if options else None
