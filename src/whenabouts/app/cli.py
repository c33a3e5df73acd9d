"""The command line: `whenabouts match | check | explain | demo | doctor`.

Each command is a typed function; typer makes the options, and docs/command-line.md documents each of them (a test
compares). Invariants: results on stdout, words on stderr; exit code 0 for an answer, 1 when data, memory or the
environment stand in the way, 2 when the question is wrong; no traceback without --debug.
"""

from __future__ import annotations

import os
import sys
import warnings
from enum import StrEnum
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Annotated, Any

import typer

from whenabouts.app import asking
from whenabouts.app.exit_codes import DONE, FAILED, INTERRUPTED, PIPE_CLOSED, WRONG_QUESTION
from whenabouts.app.terminal import Terminal
from whenabouts.app.times import TimeOptions
from whenabouts.app.writing import format_for, rows_of, write_file, write_stream
from whenabouts.errors import EnvironmentProblem

app = typer.Typer(
    name="whenabouts",
    help="Pattern queries over events whose time cannot be trusted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


class Engine(StrEnum):
    LOCAL = "local"
    SPARK = "spark"


class Engines(StrEnum):
    LOCAL = "local"
    SPARK = "spark"
    BOTH = "both"


class Format(StrEnum):
    JSONL = "jsonl"
    PARQUET = "parquet"
    CSV = "csv"


class OnBudget(StrEnum):
    FAIL = "fail"
    DROP = "drop"


Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="[QUERY] INPUT...", help="The query (unless -q), then files, globs, Delta folders, or -."),
]
QueryFile = Annotated[Path | None, typer.Option("-q", "--query-file", help="A file with the text of the query.")]
Id = Annotated[str, typer.Option("--id", help="Column with the id of an event (default: the row number).")]
Type = Annotated[str, typer.Option("--type", help="Column with the type of an event.")]
Time = Annotated[str | None, typer.Option("--time", help="Column with the time of an event (default: time).")]
Lower = Annotated[str | None, typer.Option("--lower", help="Column with the first instant an event may have happened.")]
Upper = Annotated[str | None, typer.Option("--upper", help="Column with the last one; both instead of --time.")]
Error = Annotated[
    list[str] | None,
    typer.Option(
        "--error", metavar="LENGTH", help="How far --time may be off: '500 ms', '7 s,8 s' (before, after), or a column."
    ),
]
ErrorBy = Annotated[
    str | None, typer.Option("--error-by", help="Column with the source of an event; then --error SOURCE=LENGTH.")
]
Shape = Annotated[
    str | None, typer.Option("--shape", help="Of an uncertain time: uniform, triangular, normal (or normal,2).")
]
Pmf = Annotated[
    str | None, typer.Option("--pmf", help="Column with lists of probabilities, one per tick or per equal part.")
]
Granularity = Annotated[str | None, typer.Option(help="Length of a tick, such as '1 s' (default: the column's unit).")]
Evaluation = Annotated[
    str | None,
    typer.Option(help="How to evaluate uncertain times: auto, query_order, selectivity, any_state, points."),
]
InputFormat = Annotated[Format | None, typer.Option(help="Format of the inputs (default: by name, then by content).")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, errors too, and nothing else.")]


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - called by typer
    if wanted:
        print(f"whenabouts {version_of('whenabouts')}")  # noqa: T201
        raise typer.Exit


@app.callback()
def options_of_all(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Pattern queries over events whose time cannot be trusted."""


@app.command()
def match(  # noqa: PLR0913 - one per option
    *,
    words: Words = None,
    query_file: QueryFile = None,
    id: Id = "id",
    type: Type = "type",
    time: Time = None,
    lower: Lower = None,
    upper: Upper = None,
    error: Error = None,
    error_by: ErrorBy = None,
    shape: Shape = None,
    pmf: Pmf = None,
    granularity: Granularity = None,
    evaluation: Evaluation = None,
    name: Annotated[str | None, typer.Option(help="Name of the pattern in the matches.")] = None,
    engine: Annotated[Engine, typer.Option(help="Where to match.")] = Engine.LOCAL,
    input_format: InputFormat = None,
    output: Annotated[Path | None, typer.Option(help="Write matches to this file, not to stdout.")] = None,
    format: Annotated[Format | None, typer.Option(help="Format of the matches (default: by name, else jsonl).")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many matches.")] = None,
    budget: Annotated[int | None, typer.Option(help="Partial matches held at once, at most.")] = None,
    max_matches: Annotated[int | None, typer.Option(help="Fail beyond so many matches (default: 20 million).")] = None,
    on_budget: Annotated[OnBudget | None, typer.Option(help="What to do beyond: fail, or drop that start.")] = None,
    bad_rows: Annotated[Path | None, typer.Option(help="Write rows set aside to this file, with a reason.")] = None,
    json: Json = False,
) -> None:
    """Find the matches of a query in files of events."""
    terminal = _terminal(json=json)
    text, inputs = _text_and_inputs(words, query_file)
    if not inputs:
        raise typer.BadParameter("name at least one file of events, or - for standard input")
    kind = _output_format(output, format, json=json)
    format_for(str(bad_rows)) if bad_rows else None
    times = _times(time=time, lower=lower, upper=upper, error=error, error_by=error_by, shape=shape, pmf=pmf)
    limits = {"budget": budget, "max_matches": max_matches, "on_budget": on_budget, "evaluation": evaluation}
    q = asking.query_of(text, id=id, type=type, granularity=granularity, name=name, **times, **limits)
    with terminal.working("matching …"):
        outcome = asking.ask(asking.limited(q, limit), inputs, input_format, spark=engine is Engine.SPARK)
    matches = outcome.matches if limit is None else outcome.matches.slice(0, limit)
    if bad_rows is not None:
        write_file(outcome.bad_rows, str(bad_rows), format_for(str(bad_rows)))
    if output is not None:
        write_file(matches, str(output), kind)
    elif not json:
        write_stream(matches, sys.stdout.buffer, kind)
    shown = {"matches": list(rows_of(matches))} if json and output is None else {}
    terminal.answer(shown | {"summary": outcome.summary()})
    terminal.note(_sentence_about(outcome.summary(), saved=bad_rows is not None))


@app.command()
def check(  # noqa: PLR0913 - one per option
    *,
    words: Words = None,
    query_file: QueryFile = None,
    id: Id = "id",
    type: Type = "type",
    time: Time = None,
    lower: Lower = None,
    upper: Upper = None,
    error: Error = None,
    error_by: ErrorBy = None,
    shape: Shape = None,
    pmf: Pmf = None,
    granularity: Granularity = None,
    input_format: InputFormat = None,
    json: Json = False,
) -> None:
    """Say whether a query is well-formed and, given files of events, whether it fits their columns."""
    terminal = _terminal(json=json)
    text, inputs = _text_and_inputs(words, query_file)
    times = _times(time=time, lower=lower, upper=upper, error=error, error_by=error_by, shape=shape, pmf=pmf)
    q = asking.query_of(text, id=id, type=type, granularity=granularity, **times)
    if inputs:
        q.check(asking.schema_of_inputs(inputs, input_format, q))
    terminal.answer({"query": str(q), "inputs": inputs})
    terminal.say(f"the query is well-formed and fits {', '.join(inputs)}" if inputs else "the query is well-formed")


@app.command()
def explain(  # noqa: PLR0913 - one per option
    *,
    words: Words = None,
    query_file: QueryFile = None,
    id: Id = "id",
    type: Type = "type",
    time: Time = None,
    lower: Lower = None,
    upper: Upper = None,
    error: Error = None,
    error_by: ErrorBy = None,
    shape: Shape = None,
    pmf: Pmf = None,
    granularity: Granularity = None,
    evaluation: Evaluation = None,
    input_format: InputFormat = None,
    json: Json = False,
) -> None:
    """Print how a query would be matched in files of events: plan, method, bounds, program."""
    terminal = _terminal(json=json)
    text, inputs = _text_and_inputs(words, query_file)
    if not inputs:
        raise typer.BadParameter("name a file of events: the plan depends on its columns (check needs none)")
    times = _times(time=time, lower=lower, upper=upper, error=error, error_by=error_by, shape=shape, pmf=pmf)
    q = asking.query_of(text, id=id, type=type, granularity=granularity, evaluation=evaluation, **times)
    plan = q.explain(asking.schema_of_inputs(inputs, input_format, q))
    terminal.answer({"query": str(q), "plan": plan})
    terminal.say(plan)


@app.command()
def doctor(
    *,
    spark: Annotated[bool, typer.Option("--spark/--no-spark", help="Also start Spark.")] = True,
    json: Json = False,
) -> None:
    """Check this installation, and say what to do about each problem."""
    from whenabouts.app.doctor import examine

    raise typer.Exit(examine(_terminal(json=json), spark=spark))


@app.command()
def demo(
    *,
    engine: Annotated[Engines, typer.Option(help="Where to match.")] = Engines.BOTH,
    no_spark: Annotated[bool, typer.Option("--no-spark", help="The same as --engine local.")] = False,
    small: Annotated[bool, typer.Option("--small", help="An hour of four nodes, not a day of twenty.")] = False,
    json: Json = False,
) -> None:
    """Simulate a day of a cluster, find what went wrong in it, and compare with what is known."""
    from whenabouts.app.demo import show

    chosen = Engines.LOCAL if no_spark else engine
    raise typer.Exit(show(_terminal(json=json), engine=chosen.value, small=small))


def main(arguments: list[str] | None = None) -> None:
    """Run the command with these words, by default those of the command line, and leave with its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    sys.exit(_run(words))


def _run(words: list[str]) -> int:
    terminal = Terminal(json="--json" in words, debug=words[:1] == ["--debug"])
    warnings.showwarning = _show_warning
    if sys.stderr is None:  # a shell's 2>&-
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123 - as long as the process lives
    if sys.stdout is None:  # a shell's >&-
        return _without_output()
    try:
        code = app(words, prog_name="whenabouts", standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:  # newer versions of typer make this of an interruption, in silence
            raise KeyboardInterrupt
        return code if isinstance(code, int) else DONE
    except (BrokenPipeError, SystemExit) as left:  # typer makes the second of the first
        if isinstance(left, SystemExit) and not isinstance(left.__context__, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whatever is still buffered goes nowhere
        return PIPE_CLOSED
    except (KeyboardInterrupt, typer.Abort):
        print("interrupted", file=sys.stderr)  # noqa: T201
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last resort: a sentence, not a traceback
        return _show_help(error) or _failed(terminal, error)


def _without_output() -> int:
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - as long as the process lives
    hint = "send it to a file, or to /dev/null if nobody wants it"
    return Terminal().fail(EnvironmentProblem("environment", "standard output is closed", hint=hint))


def _failed(terminal: Terminal, error: Exception) -> int:
    """Explain an error; on stderr even with --json where stdout takes nothing (a full disk)."""
    try:
        code = terminal.fail(error)
        sys.stdout.flush()
    except OSError as full:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whatever is still buffered goes nowhere
        code = FAILED
        if terminal.json:
            sentence = f"standard output cannot be written: {full.strerror}"
            Terminal(debug=terminal.debug).fail(EnvironmentProblem("environment", sentence))
    return code


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"warning: {message}", file=sys.stderr)  # noqa: T201


def _show_help(error: Exception) -> int:
    """`whenabouts` alone is answered with the help; typer raises that as an error."""
    if type(error).__name__ != "NoArgsIsHelpError":
        return DONE
    print(error.format_message())  # type: ignore[attr-defined]  # noqa: T201
    return WRONG_QUESTION


def _terminal(*, json: bool) -> Terminal:
    return Terminal(json)


def _times(*, error: list[str] | None, **given: str | None) -> dict[str, Any]:
    """The options about time as arguments of `query`."""
    return TimeOptions(error=tuple(error or ()), **given).arguments()


def _text_and_inputs(words: list[str] | None, query_file: Path | None) -> tuple[str, list[str]]:
    words = words or []
    if query_file is not None:
        return asking.query_text(None, query_file), words
    return asking.query_text(words[0] if words else None, None), words[1:]


def _output_format(output: Path | None, chosen: Format | None, *, json: bool) -> str:
    """Decided before any work is done."""
    if chosen is None:
        return "jsonl" if output is None else format_for(str(output))
    if output is None and json:
        raise typer.BadParameter("--format needs --output when the answer is JSON")
    if output is None and chosen is Format.PARQUET and sys.stdout.isatty():
        raise typer.BadParameter("Parquet does not belong on a terminal: name a file with --output")
    return chosen.value


def _sentence_about(summary: dict[str, Any], *, saved: bool) -> str:
    """The account on stderr."""
    names = {"events": "event", "relevant": "relevant", "matches": "match"}
    parts = [
        f"{summary[name]:,} {one if summary[name] == 1 else name}"
        for name, one in names.items()
        if summary[name] is not None
    ]
    bad = summary["bad_rows"]
    if bad:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(bad.items()))
        parts.append(f"{sum(bad.values()):,} bad rows ({reasons}{'' if saved else '; --bad-rows FILE keeps them'})")
    if summary["dropped_starts"]:
        parts.append(f"{summary['dropped_starts']:,} starts dropped at the budget")
    return f"{'; '.join(parts)}; {summary['seconds']:.2f} s"


if __name__ == "__main__":
    main()
