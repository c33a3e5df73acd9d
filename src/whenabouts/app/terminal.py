"""What a command says: results on stdout, everything else on stderr, errors as text or as JSON.

Problem: the same command is read by people and by programs. Idea: one object knows which of the two listens; with
`--json` stdout carries exactly one JSON object, `{"ok": true, ...}` or `{"ok": false, "error": {...}}`.
Invariant: stdout never mixes results with words about them, and no traceback is shown unless asked for.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from whenabouts.app.exit_codes import FAILED, WRONG_QUESTION
from whenabouts.app.times import for_shell
from whenabouts.errors import QueryError, SchemaError, WhenaboutsError

PATIENCE = 10.0  # seconds
WHY_SO_LONG = "(the first query of its kind compiles its loops, for some minutes; after that they are kept on disk)"
PYDANTIC = "Value error, "  # how the library below typer begins a sentence
WIDE = 110  # columns, in a file and at most in a terminal


@dataclass(slots=True)
class Words:
    """What is going on, with a reason why it may take long once it does."""

    show: Callable[[str], None]
    patience: float = PATIENCE
    timer: threading.Timer | None = None

    def say(self, text: str) -> None:
        self.stop()
        self.show(text)
        self.timer = threading.Timer(self.patience, self.show, [f"{text}\n{WHY_SO_LONG}"])
        self.timer.daemon = True
        self.timer.start()

    def stop(self) -> None:
        if self.timer is not None:
            self.timer.cancel()


@dataclass(slots=True)
class Terminal:
    """Where one invocation speaks, and to whom."""

    json: bool = False
    debug: bool = False

    def say(self, text: str) -> None:
        """A result for people, or words about one: never mixed into JSON."""
        if not self.json:
            print(text)  # noqa: T201 - stdout is the product

    def note(self, text: str) -> None:
        """Words about the result."""
        if not self.json:
            print(text, file=sys.stderr)  # noqa: T201

    def answer(self, content: Mapping[str, Any], *, ok: bool = True) -> None:
        """The JSON object of this invocation."""
        if self.json:
            print(json.dumps({"ok": ok, **content}, ensure_ascii=False))  # noqa: T201

    def show(self, renderable: Any) -> None:
        """A table for people."""
        if not self.json:
            Console(width=self.width).print(renderable)

    @property
    def width(self) -> int:
        """Columns to fill: those of the terminal, or a fixed number for a file."""
        console = Console()
        return min(console.width, WIDE) if console.is_terminal else WIDE

    @contextmanager
    def working(self, what: str) -> Iterator[Callable[[str], None]]:
        """Show what takes long, where somebody watches; the function given changes the words."""
        if self.json or not sys.stderr.isatty():
            yield lambda _: None
            return
        with os.fdopen(os.dup(2), "w") as own, Console(file=own).status(what) as status:  # where Spark starts, 2 moves
            words = Words(status.update)
            try:
                words.say(what)
                yield words.say
            finally:
                words.stop()

    def fail(self, error: BaseException) -> int:
        """Explain an error; the exit code to leave with."""
        if self.debug:
            traceback.print_exception(error)
        explained = explain_error(error)
        if self.json:
            self.answer({"error": explained}, ok=False)
        elif isinstance(error, WhenaboutsError):
            print(f"error: {_in_options(error)}", file=sys.stderr)  # noqa: T201
        else:
            hint = f"\nhint: {explained['hint']}" if explained["hint"] else ""
            print(f"error: [{explained['code']}] {explained['message']}{hint}", file=sys.stderr)  # noqa: T201
        return WRONG_QUESTION if isinstance(error, QueryError | SchemaError) or _is_usage(error) else FAILED


def explain_error(error: BaseException) -> dict[str, Any]:
    """Code, message, span (with its place in the query text) and hint of any error."""
    if isinstance(error, WhenaboutsError):
        error, span = _in_options(error), None
        if error.span is not None:
            span = {"start": error.span.start, "end": error.span.end} | _place(error.text, error.span.start)
        return {"code": error.code, "message": error.message, "span": span, "hint": error.hint}
    if _is_usage(error):
        hint = "whenabouts --help lists the commands, whenabouts COMMAND --help their options"
        message = error.format_message().replace(PYDANTIC, "")  # type: ignore[attr-defined]
        return {"code": "usage", "message": message, "span": None, "hint": hint}
    if isinstance(error, MemoryError):
        hint = "match fewer files at once, or use --engine spark"
        return {"code": "budget", "message": "there is not enough memory", "span": None, "hint": hint}
    if isinstance(error, OSError) and error.strerror:
        name = f"{error.filename}: " if error.filename else ""
        return {"code": "environment", "message": f"{name}{error.strerror}", "span": None, "hint": None}
    sentence = str(error).strip().partition("\n")[0] or "no details"
    hint = "this is a defect of whenabouts; `whenabouts --debug COMMAND …` shows where it happened"
    return {"code": "internal", "message": f"{type(error).__name__}: {sentence}", "span": None, "hint": hint}


def _in_options(error: WhenaboutsError) -> WhenaboutsError:
    """The same error, in the words of this command line; what it shows of the query stays as it is."""
    hint = None if error.hint is None else for_shell(error.hint)
    return type(error)(error.code, for_shell(error.message), text=error.text, span=error.span, hint=hint)


def _is_usage(error: BaseException) -> bool:
    """Whether typer (or the click below older versions of it) rejects the command line."""
    return hasattr(error, "format_message") and hasattr(error, "exit_code")


def _place(text: str | None, offset: int) -> dict[str, int]:
    if text is None:
        return {}
    before = text[:offset]
    return {"line": before.count("\n") + 1, "column": offset - (before.rfind("\n") + 1) + 1}
