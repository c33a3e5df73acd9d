"""Every Python block in README.md and docs/*.md runs, and prints what stands below it; every program in examples/ runs.

A page is one program, top to bottom. A block marked `python spark` runs only with Spark. The expected output is a
`text` block directly below; `pytest tests/docs --update-cases` rewrites it.
"""

import contextlib
import io
import re
import runpy
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.house.conftest import ROOT
from whenabouts.language import aggregates

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROGRAMS = sorted((ROOT / "examples").glob("*.py"))
FENCE = re.compile(
    r"^```(?P<info>python[^\n]*)\n(?P<code>.*?)^```$(?:\n+^```text\n(?P<output>.*?)^```$)?", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Block:
    info: str
    code: str
    line: int
    output: str | None
    where: tuple[int, int]  # of the output in the page


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    return [
        Block(m["info"], m["code"], text[: m.start()].count("\n") + 2, m["output"], m.span("output"))
        for m in FENCE.finditer(text)
    ]


def named(paths: list[Path]) -> list:
    return [pytest.param(path, id=path.name) for path in paths]


def on_spark(path: Path) -> bool:
    """Whether a page or a program needs Spark."""
    text = path.read_text("utf-8")
    return "local_session" in text if path.suffix == ".py" else any("spark" in b.info for b in blocks_of(path))


@pytest.fixture
def _alone(tmp_path, monkeypatch):
    """In a directory of its own; registered aggregates are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    before = dict(aggregates._REGISTERED)
    yield
    aggregates._REGISTERED.clear()
    aggregates._REGISTERED.update(before)


@pytest.fixture(scope="module")
def _session():
    """One Java for all pages; what they call then gives them this session."""
    from whenabouts.app.asking import session_for

    with session_for("docs"):
        yield


def run_page(page: Path, *, spark: bool, update: bool) -> None:
    """Execute the blocks of a page in one namespace and compare what each prints."""
    names: dict[str, object] = {"__name__": "__main__"}
    wrong = []
    for block in blocks_of(page):
        if "spark" in block.info and not spark:
            continue
        code = compile("\n" * (block.line - 1) + block.code, str(page), "exec")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)  # noqa: S102 - our own page
        if block.output is not None and block.output.strip() != printed.getvalue().strip():
            wrong.append((block, printed.getvalue().rstrip() + "\n"))
    if update:
        rewrite(page, wrong)
    else:
        assert [(b.line, b.output, printed) for b, printed in wrong] == []


def rewrite(page: Path, wrong: list[tuple[Block, str]]) -> None:
    text = page.read_text("utf-8")
    for block, printed in reversed(wrong):
        text = text[: block.where[0]] + printed + text[block.where[1] :]
    page.write_text(text, "utf-8")


@pytest.mark.usefixtures("_alone")
@pytest.mark.parametrize("page", named(PAGES))
def test_pages_do_what_they_say(page, request):
    run_page(page, spark=False, update=request.config.getoption("--update-cases"))


@pytest.mark.spark
@pytest.mark.usefixtures("_alone", "_session")
@pytest.mark.parametrize("page", named([p for p in PAGES if on_spark(p)]))
def test_pages_do_what_they_say_on_spark(page, request):
    run_page(page, spark=True, update=request.config.getoption("--update-cases"))


@pytest.mark.usefixtures("_alone")
@pytest.mark.parametrize("program", named([p for p in PROGRAMS if not on_spark(p)]))
def test_programs_run(program):
    runpy.run_path(str(program), run_name="__main__")


@pytest.mark.spark
@pytest.mark.usefixtures("_alone", "_session")
@pytest.mark.parametrize("program", named([p for p in PROGRAMS if on_spark(p)]))
def test_programs_run_on_spark(program):
    runpy.run_path(str(program), run_name="__main__")


def test_no_block_escapes():
    for page in PAGES:
        text = page.read_text("utf-8")
        infos = re.findall(r"^\s*(?:```|~~~)\s*(py\w*[^\n]*)$", text, re.MULTILINE | re.IGNORECASE)
        assert infos == [b.info for b in blocks_of(page)], page.name
        assert set(infos) <= {"python", "python spark"}, page.name


def test_a_wrong_output_is_noticed_and_rewritten(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("a\n```python\nx = 1\n```\n\n```python\nprint(x)\n```\n\n```text\n2\n```\n")
    with pytest.raises(AssertionError):
        run_page(page, spark=False, update=False)
    run_page(page, spark=False, update=True)
    run_page(page, spark=False, update=False)
    assert "```text\n1\n```" in page.read_text()
