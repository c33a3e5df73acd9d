"""Modules of at most 600 lines, functions of at most 50 (kernels 120), few exemptions from complexity limits."""

import ast
import re

MODULE_LINES = 600
FUNCTION_LINES, KERNEL_LINES = 50, 120
EXEMPTIONS = 10
EXEMPTION = re.compile(r"#\s*noqa:.*\b(C901|PLR09\d\d)\b")


def too_long(modules: dict[str, str]) -> list[str]:
    """Modules and functions over their limit."""
    found = []
    for path, text in modules.items():
        if (lines := len(text.splitlines())) > MODULE_LINES:
            found.append(f"{path}: {lines} lines")
        limit = KERNEL_LINES if path.startswith("kernels/") else FUNCTION_LINES
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = node.end_lineno - node.lineno + 1
                if lines > limit:
                    found.append(f"{path}:{node.lineno}: {node.name} has {lines} lines")
    return found


def exemptions(modules: dict[str, str]) -> list[str]:
    """Lines which ask ruff to overlook complexity."""
    lines = ((path, line) for path, text in modules.items() for line in text.splitlines())
    return [f"{path}: {line.strip()}" for path, line in lines if EXEMPTION.search(line)]


def test_nothing_is_too_long(modules):
    assert too_long(modules) == []


def test_few_exemptions_from_complexity_limits(modules):
    assert len(exemptions(modules)) <= EXEMPTIONS, exemptions(modules)


def test_long_code_is_noticed():
    function = "def f():\n" + "    pass\n" * 60
    assert too_long({"plan/a.py": function, "kernels/a.py": function}) == ["plan/a.py:1: f has 61 lines"]
    assert too_long({"a.py": "\n" * 601}) == ["a.py: 601 lines"]
    assert exemptions({"a.py": "def f():  # noqa: " + "C901\n    pass"}) != []
